//! Stored objects that are no tables (routines, triggers, events): a table of the catalog's own, by database, kind and name.
//!
//! What an object is, is the layer above's: here it is bytes under a key. Like the table of statistics this is an ordinary table under a
//! name that no user can give, made when the first object is, so a database without any has nothing of it and earlier ones need
//! no change.
//!
//! **Promises.** An object's row comes, changes and goes by a transaction of DDL, wholly or not at all, a crash included; it goes with its database, in
//! the transaction that drops that. **Never** locks an object for those who use it: they read a definition once, as it was committed,
//! and go by it.

use super::{CATALOG_DATABASE, Catalog, scan};
use crate::error::{Error, Result};
use crate::table::format::{Reader, put_bytes};
use crate::table::{Fetch, Table};
use crate::txn::Txn;
use std::sync::Arc;

/// The table.
pub(crate) const OBJECTS: &str = "objects";

/// What an object is found by. Names are compared byte by byte: the caller gives them in the case in which they are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its database.
    pub database: String,
    /// Which of the layer above's kinds; not 0.
    pub kind: u8,
    /// Its name, unique among those of its kind in its database.
    pub name: String,
}

impl ObjectKey {
    fn bytes(&self) -> Vec<u8> {
        let mut key = database_prefix(&self.database);
        key.push(self.kind);
        key.extend_from_slice(self.name.as_bytes());
        key.push(0);
        key
    }
    fn of(key: &[u8]) -> Result<ObjectKey> {
        let cut = || Error::Corrupt("a row of objects is cut short".into());
        let end = key.iter().position(|&b| b == 0).ok_or_else(cut)?;
        let (kind, name) = key[end + 1..].split_first().ok_or_else(cut)?;
        let name = name.strip_suffix(&[0]).ok_or_else(cut)?;
        let text = |b: &[u8]| String::from_utf8(b.to_vec()).map_err(|_| cut());
        Ok(ObjectKey {
            database: text(&key[..end])?,
            kind: *kind,
            name: text(name)?,
        })
    }
}

/// What the keys of a database's objects begin with.
fn database_prefix(database: &str) -> Vec<u8> {
    let mut key = database.as_bytes().to_vec();
    key.push(0);
    key
}

/// Key of a row.
pub(super) fn key_of(row: &[u8]) -> Result<&[u8]> {
    Reader(row).bytes()
}

fn row_of(key: &[u8], body: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(key.len() + body.len() + 4);
    put_bytes(&mut row, key);
    row.extend_from_slice(body);
    row
}

fn body_of(row: &[u8]) -> Result<&[u8]> {
    let mut reader = Reader(row);
    reader.bytes()?;
    Ok(reader.0)
}

impl Catalog {
    /// The table of objects, if there is one yet.
    pub fn objects(&self) -> Option<&Arc<Table>> {
        self.objects.get()
    }

    /// Finds the table of objects if it is there: at open, and after it was made.
    pub fn find_objects(&self) -> Result<()> {
        if self.objects.get().is_none() {
            match self.open_table(CATALOG_DATABASE, OBJECTS) {
                Ok(table) => {
                    let _ = self.objects.set(table);
                }
                Err(Error::NoSuchTable(_)) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// An object as it is committed.
    pub fn object(&self, txn: &mut Txn, key: &ObjectKey) -> Result<Option<Vec<u8>>> {
        let Some(table) = self.objects.get() else {
            return Ok(None);
        };
        let found = super::lookup(table, txn, 0, &key.bytes())?;
        found
            .map(|(_, row)| body_of(&row).map(<[u8]>::to_vec))
            .transpose()
    }

    /// Visits the objects of a database (`None`: of all), by key.
    pub fn each_object(
        &self,
        txn: &mut Txn,
        database: Option<&str>,
        f: &mut dyn FnMut(ObjectKey, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(table) = self.objects.get() else {
            return Ok(());
        };
        let prefix = database.map(database_prefix).unwrap_or_default();
        let mut scan = scan(table, txn, prefix, Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            f(ObjectKey::of(key_of(row.row)?)?, body_of(row.row)?)?;
        }
        Ok(())
    }

    /// Makes of an object what `change` makes of it, which nobody else changes until the transaction ends; `None` is none.
    pub fn change_object(
        &self,
        txn: &mut Txn,
        key: &ObjectKey,
        change: &mut super::ChangeBody<'_>,
    ) -> Result<()> {
        let Some(table) = self.objects.get() else {
            return Err(Error::Invalid("there is no table of objects".into()));
        };
        let key = key.bytes();
        let old = crate::engine::lock_row(table, txn, &key)?;
        let before = old.as_deref().map(body_of).transpose()?;
        let body = change(before);
        match (&old, body) {
            (None, None) => Ok(()),
            (None, Some(body)) => table.insert(txn, &row_of(&key, &body)),
            (Some(old), Some(body)) => table.update(txn, &key, old, &row_of(&key, &body)),
            (Some(old), None) => table.delete(txn, &key, old),
        }
    }

    /// Removes all objects of a database.
    pub fn drop_objects(&self, txn: &mut Txn, database: &str) -> Result<()> {
        let mut keys = Vec::new();
        self.each_object(txn, Some(database), &mut |key, _| {
            keys.push(key);
            Ok(())
        })?;
        for key in keys {
            self.change_object(txn, &key, &mut |_| None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_return() {
        let key = |database: &str, kind, name: &str| ObjectKey {
            database: database.into(),
            kind,
            name: name.into(),
        };
        for k in [key("d", 1, "p"), key("d", 2, ""), key("", 255, "x y")] {
            assert_eq!(ObjectKey::of(&k.bytes()).unwrap(), k);
            assert!(k.bytes().starts_with(&database_prefix(&k.database)));
        }
        assert!(!key("da", 1, "p").bytes().starts_with(&database_prefix("d")));
        let row = row_of(&key("d", 1, "p").bytes(), b"body");
        assert_eq!(key_of(&row).unwrap(), key("d", 1, "p").bytes());
        assert_eq!(body_of(&row).unwrap(), b"body");
    }
}
