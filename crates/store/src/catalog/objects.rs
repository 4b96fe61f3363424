//! Stored objects that are no tables (routines, triggers, events): a table of the catalog's own, by database, kind and name.
//!
//! What an object is, is the layer above's: here it is bytes under a key. Like the table of statistics this is an ordinary table under a
//! name that no user can give, made when the first object is, so a database without any has nothing of it and earlier ones need
//! no change.
//!
//! An object may be of a table (a trigger is): then a second row, a *link*, says so under the table's name, and the object goes with the
//! table and follows it to another name.
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

/// An object as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is found by.
    pub key: ObjectKey,
    /// The table that it is of; empty if it is of none.
    pub table: String,
    /// The layer above's bytes.
    pub body: Vec<u8>,
}

/// Stands where other keys have their kind, in those of links.
const LINK: u8 = 0;

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

/// What the keys of a table's links begin with.
fn links_prefix(database: &str, table: &str) -> Vec<u8> {
    let mut key = database_prefix(database);
    key.push(LINK);
    key.extend_from_slice(table.as_bytes());
    key.push(0);
    key
}

/// Key of the link of a table's object.
fn link(table: &str, key: &ObjectKey) -> Vec<u8> {
    let mut bytes = links_prefix(&key.database, table);
    bytes.push(key.kind);
    bytes.extend_from_slice(key.name.as_bytes());
    bytes.push(0);
    bytes
}

fn row_of(key: &[u8], table: &str, body: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(key.len() + table.len() + body.len() + 8);
    put_bytes(&mut row, key);
    put_bytes(&mut row, table.as_bytes());
    row.extend_from_slice(body);
    row
}

/// The table and the body of a row.
fn parts_of(row: &[u8]) -> Result<(String, &[u8])> {
    let mut reader = Reader(row);
    reader.bytes()?;
    let table = String::from_utf8(reader.bytes()?.to_vec());
    let table = table.map_err(|_| Error::Corrupt("a row of objects names no table".into()))?;
    Ok((table, reader.0))
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
    pub fn object(&self, txn: &mut Txn, key: &ObjectKey) -> Result<Option<Object>> {
        let Some(objects) = self.objects.get() else {
            return Ok(None);
        };
        let Some((_, row)) = super::lookup(objects, txn, 0, &key.bytes())? else {
            return Ok(None);
        };
        let (table, body) = parts_of(&row)?;
        Ok(Some(Object {
            key: key.clone(),
            table,
            body: body.to_vec(),
        }))
    }

    /// The keys of a table's objects.
    pub fn objects_of(&self, txn: &mut Txn, database: &str, table: &str) -> Result<Vec<ObjectKey>> {
        let mut keys = Vec::new();
        let Some(objects) = self.objects.get() else {
            return Ok(keys);
        };
        let prefix = links_prefix(database, table);
        let length = prefix.len();
        let mut scan = scan(objects, txn, prefix, Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            let mut key = database_prefix(database);
            key.extend_from_slice(&key_of(row.row)?[length..]);
            keys.push(ObjectKey::of(&key)?);
        }
        Ok(keys)
    }

    /// Visits the objects of a database (`None`: of all), by key.
    pub fn each_object(
        &self,
        txn: &mut Txn,
        database: Option<&str>,
        f: &mut dyn FnMut(Object) -> Result<()>,
    ) -> Result<()> {
        let Some(table) = self.objects.get() else {
            return Ok(());
        };
        let prefix = database.map(database_prefix).unwrap_or_default();
        let mut scan = scan(table, txn, prefix, Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            let key = key_of(row.row)?;
            let kind = key.iter().position(|&b| b == 0);
            if kind.and_then(|end| key.get(end + 1)) == Some(&LINK) {
                continue;
            }
            let (table, body) = parts_of(row.row)?;
            f(Object {
                key: ObjectKey::of(key)?,
                table,
                body: body.to_vec(),
            })?;
        }
        Ok(())
    }

    /// Makes of an object what `change` makes of it, which nobody else changes until the transaction ends; `None` is none. `of`: the table
    /// that it is of from now on; empty: none.
    pub fn change_object(
        &self,
        txn: &mut Txn,
        key: &ObjectKey,
        of: &str,
        change: &mut super::ChangeBody<'_>,
    ) -> Result<()> {
        let Some(objects) = self.objects.get() else {
            return Err(Error::Invalid("there is no table of objects".into()));
        };
        let bytes = key.bytes();
        let old = crate::engine::lock_row(objects, txn, &bytes)?;
        let before = old.as_deref().map(parts_of).transpose()?;
        let body = change(before.as_ref().map(|(_, body)| *body));
        let was_of = before.map_or(String::new(), |(table, _)| table);
        let is_of = if body.is_some() { of } else { "" };
        match (&old, body) {
            (None, None) => {}
            (None, Some(body)) => objects.insert(txn, &row_of(&bytes, of, &body))?,
            (Some(old), Some(body)) => {
                objects.update(txn, &bytes, old, &row_of(&bytes, of, &body))?;
            }
            (Some(old), None) => objects.delete(txn, &bytes, old)?,
        }
        if was_of == is_of {
            return Ok(());
        }
        if !was_of.is_empty() {
            let link = link(&was_of, key);
            if let Some(row) = crate::engine::lock_row(objects, txn, &link)? {
                objects.delete(txn, &link, &row)?;
            }
        }
        match is_of {
            "" => Ok(()),
            table => objects.insert(txn, &row_of(&link(table, key), "", &[])),
        }
    }

    /// Removes a table's objects.
    pub fn drop_objects_of(&self, txn: &mut Txn, database: &str, table: &str) -> Result<()> {
        for key in self.objects_of(txn, database, table)? {
            self.change_object(txn, &key, "", &mut |_| None)?;
        }
        Ok(())
    }

    /// Hands a table's objects on to its new name in the database.
    pub fn move_objects(&self, txn: &mut Txn, database: &str, from: &str, to: &str) -> Result<()> {
        for key in self.objects_of(txn, database, from)? {
            self.change_object(txn, &key, to, &mut |body| body.map(<[u8]>::to_vec))?;
        }
        Ok(())
    }

    /// Removes all objects of a database.
    pub fn drop_objects(&self, txn: &mut Txn, database: &str) -> Result<()> {
        let mut keys = Vec::new();
        self.each_object(txn, Some(database), &mut |object| {
            keys.push(object.key);
            Ok(())
        })?;
        for key in keys {
            self.change_object(txn, &key, "", &mut |_| None)?;
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
        let row = row_of(&key("d", 1, "p").bytes(), "t", b"body");
        assert_eq!(key_of(&row).unwrap(), key("d", 1, "p").bytes());
        assert_eq!(parts_of(&row).unwrap(), ("t".into(), &b"body"[..]));
        let linked = link("t", &key("d", 1, "p"));
        assert!(linked.starts_with(&links_prefix("d", "t")));
        assert!(!linked.starts_with(&links_prefix("d", "")));
    }
}
