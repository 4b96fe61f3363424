//! Which tables refer to which by their names: a table of the catalog's own, so that whoever looks for the tables that refer to
//! one reads those and no other.
//!
//! What a definition refers to is in its body, which the layer above reads ([`CodecFactory::references`]). This is an index of that,
//! kept by each transaction that changes definitions (`engine::references`): an entry per table referred to, and one per constraint,
//! whose names are unique in a database among those of their kind. It is an ordinary table under a name that no user can give, made when the
//! first constraint is, so a database without any has nothing of it.
//!
//! [`CodecFactory::references`]: super::CodecFactory::references

use super::{CATALOG_DATABASE, Catalog, scan};
use crate::error::{Error, Result};
use crate::table::format::{Reader, put_bytes};
use crate::table::{Fetch, ReadMode, Table};
use crate::txn::{LockMode, Txn, WaitPolicy};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The table.
pub(crate) const REFERENCES: &str = "references";

/// What a definition says about other tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Tables it refers to (database, name), which need not exist.
    pub parents: Vec<(String, String)>,
    /// Its constraints by name.
    pub constraints: Vec<Constraint>,
}

/// A constraint's name, unique in its database among those of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// Of which names it is one.
    pub kind: ConstraintKind,
    /// The name as it was given.
    pub name: String,
    /// The name as it is compared.
    pub compared: String,
}

/// Kinds of constraints whose names are a database's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// Foreign keys.
    ForeignKey,
    /// Conditions on rows.
    Check,
}

/// First byte of keys: a table referred to, the name of a constraint of one kind or the other.
const PARENT: u8 = 1;
const FOREIGN_KEY: u8 = 2;
const CHECK: u8 = 3;

fn put_name(key: &mut Vec<u8>, name: &str) {
    key.extend_from_slice(name.as_bytes());
    key.push(0);
}

/// What the keys of all that refers to a table begin with.
fn children_key(database: &str, name: &str) -> Vec<u8> {
    let mut key = vec![PARENT];
    put_name(&mut key, database);
    put_name(&mut key, name);
    key
}

/// Key: `child` refers to `parent`.
pub(crate) fn parent_key(parent: &(String, String), child: (&str, &str)) -> Vec<u8> {
    let mut key = children_key(&parent.0, &parent.1);
    put_name(&mut key, child.0);
    put_name(&mut key, child.1);
    key
}

/// Key: a database has a constraint of this name.
pub(crate) fn constraint_key(database: &str, constraint: &Constraint) -> Vec<u8> {
    let mut key = vec![match constraint.kind {
        ConstraintKind::ForeignKey => FOREIGN_KEY,
        ConstraintKind::Check => CHECK,
    }];
    put_name(&mut key, database);
    put_name(&mut key, &constraint.compared);
    key
}

/// The table referred to, of an entry's key.
pub(crate) fn parent_of(key: &[u8]) -> Option<(String, String)> {
    names(key.strip_prefix(&[PARENT])?, 0)
}

/// Two names from the `at`-th on.
fn names(key: &[u8], at: usize) -> Option<(String, String)> {
    let mut parts = key.split(|&b| b == 0).skip(at);
    let name = |b: &[u8]| String::from_utf8(b.to_vec()).ok();
    Some((name(parts.next()?)?, name(parts.next()?)?))
}

/// The row of a key.
fn row_of(key: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(key.len() + 2);
    put_bytes(&mut row, key);
    row
}

/// Key of a row.
pub(super) fn key_of(row: &[u8]) -> Result<&[u8]> {
    Reader(row).bytes()
}

/// What a database's tables have to do with references.
#[derive(Default)]
pub(crate) struct DatabaseReferences {
    /// Keys of all entries that go with the database.
    pub keys: Vec<Vec<u8>>,
    /// Tables of other databases that its tables refer to or that refer to one of them.
    pub related: BTreeSet<(String, String)>,
    /// The first of its tables to which one of another database refers, and that.
    pub referenced: Option<((String, String), (String, String))>,
}

impl Catalog {
    /// The table of references, if there is one yet.
    pub fn references(&self) -> Option<&Arc<Table>> {
        self.references.get()
    }

    /// Finds the table of references if it is there: at open, and after it was made.
    pub fn find_references(&self) -> Result<()> {
        if self.references.get().is_none() {
            match self.open_table(CATALOG_DATABASE, REFERENCES) {
                Ok(table) => {
                    let _ = self.references.set(table);
                }
                Err(Error::NoSuchTable(_)) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The tables that refer to one, by name.
    pub fn children(
        &self,
        txn: &mut Txn,
        database: &str,
        name: &str,
    ) -> Result<Vec<(String, String)>> {
        let mut children = Vec::new();
        let Some(table) = self.references.get() else {
            return Ok(children);
        };
        let prefix = children_key(database, name);
        let mut scan = scan(table, txn, prefix, Fetch::Key)?;
        while let Some(row) = scan.next(txn)? {
            let child = names(row.clustered_key, 2);
            children.push(
                child.ok_or_else(|| Error::Corrupt("a row of references names no table".into()))?,
            );
        }
        Ok(children)
    }

    /// Visits what refers to tables of a database, and those: parent, child.
    pub fn each_child_in(
        &self,
        txn: &mut Txn,
        database: &str,
        f: &mut dyn FnMut((String, String), (String, String)) -> Result<()>,
    ) -> Result<()> {
        let Some(table) = self.references.get() else {
            return Ok(());
        };
        let mut prefix = vec![PARENT];
        put_name(&mut prefix, database);
        let mut scan = scan(table, txn, prefix, Fetch::Key)?;
        while let Some(row) = scan.next(txn)? {
            let key = row.clustered_key;
            let Some((parent, child)) = parent_of(key).zip(names(key, 2)) else {
                return Err(Error::Corrupt("a row of references names no table".into()));
            };
            f(parent, child)?;
        }
        Ok(())
    }

    /// What is to be done about references when a database goes. Reads the entries of all references there are, for they are ordered by what is referred
    /// to; `each` is called now and then.
    pub fn references_of_database(
        &self,
        txn: &mut Txn,
        database: &str,
        each: &mut dyn FnMut() -> Result<()>,
    ) -> Result<DatabaseReferences> {
        let mut found = DatabaseReferences::default();
        let Some(table) = self.references.get() else {
            return Ok(found);
        };
        let cut = || Error::Corrupt("a row of references names no table".into());
        let mut all = scan(table, txn, vec![PARENT], Fetch::Key)?;
        while let Some(row) = all.next(txn)? {
            each()?;
            let key = row.clustered_key;
            let mut databases = key[1..].split(|&b| b == 0).step_by(2);
            let is_ours = |name: Option<&[u8]>| name == Some(database.as_bytes());
            let (to_us, by_us) = (is_ours(databases.next()), is_ours(databases.next()));
            if by_us {
                found.keys.push(key.to_vec());
            }
            if to_us != by_us {
                let parent = parent_of(key).ok_or_else(cut)?;
                let child = names(&key[1..], 2).ok_or_else(cut)?;
                if to_us && found.referenced.is_none() {
                    found.referenced = Some((parent.clone(), child.clone()));
                }
                found.related.insert(if to_us { child } else { parent });
            }
        }
        drop(all);
        for kind in [FOREIGN_KEY, CHECK] {
            let mut prefix = vec![kind];
            put_name(&mut prefix, database);
            let mut own = scan(table, txn, prefix, Fetch::Key)?;
            while let Some(row) = own.next(txn)? {
                each()?;
                found.keys.push(row.clustered_key.to_vec());
            }
        }
        Ok(found)
    }

    /// Adds an entry; a duplicate is one of `DuplicateKey`.
    pub fn add_reference(&self, txn: &mut Txn, key: &[u8]) -> Result<()> {
        match self.references.get() {
            Some(table) => table.insert(txn, &row_of(key)),
            None => Err(Error::Invalid("there is no table of references".into())),
        }
    }

    /// Removes an entry, if it is there.
    pub fn remove_reference(&self, txn: &mut Txn, key: &[u8]) -> Result<()> {
        let Some(table) = self.references.get() else {
            return Ok(());
        };
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        let (mut at, mut row) = (Vec::new(), Vec::new());
        match table.get(txn, 0, key, mode, &mut at, &mut row)? {
            true => table.delete(txn, key, &row),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_their_names() {
        let parent = ("d".to_string(), "p".to_string());
        let key = parent_key(&parent, ("e", "c"));
        assert!(key.starts_with(&children_key("d", "p")));
        assert!(!key.starts_with(&children_key("d", "")));
        assert_eq!(parent_of(&key), Some(parent));
        assert_eq!(names(&key, 2), Some(("e".into(), "c".into())));
        let key_as = |kind| {
            let (name, compared) = ("FK".to_string(), "fk".to_string());
            let constraint = Constraint {
                kind,
                name,
                compared,
            };
            constraint_key("d", &constraint)
        };
        let key = key_as(ConstraintKind::ForeignKey);
        assert!(key.ends_with(b"d\0fk\0"));
        assert_ne!(key, key_as(ConstraintKind::Check));
        assert_eq!(parent_of(&key), None);
        assert_eq!(key_of(&row_of(&key)).unwrap(), key);
    }
}
