//! General tablespaces and which tables are in them: a table of the catalog's own, made when the first tablespace is.
//!
//! | key | row |
//! |---|---|
//! | 1, name | file, data file, the layer above's options |
//! | 2, file | name |
//! | 3, data file | name |
//! | 4, file, table id | |
//!
//! All of them are kept by the transactions that make and drop tablespaces and the tables in them (`engine::tablespaces`), so that
//! whether a tablespace is empty, and whose a file is, takes one look however many tables there are.

use super::{CATALOG_DATABASE, Catalog, lookup, scan};
use crate::error::{Error, Result};
use crate::space::FileId;
use crate::table::format::{Reader, put_bytes, put_varint};
use crate::table::{Fetch, Table};
use crate::txn::Txn;
use std::sync::Arc;

/// The table.
pub(crate) const TABLESPACES: &str = "tablespaces";

/// A general tablespace: a file that many tables share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tablespace {
    /// Its name; case counts.
    pub name: String,
    /// Its file.
    pub file: FileId,
    /// What the layer above calls the file; no two tablespaces have the same.
    pub datafile: String,
    /// The layer above's options, opaque here.
    pub options: Vec<u8>,
}

/// First bytes of keys.
const NAME: u8 = 1;
const FILE: u8 = 2;
const DATAFILE: u8 = 3;
const MEMBER: u8 = 4;

fn text_key(kind: u8, text: &str) -> Vec<u8> {
    [&[kind], text.as_bytes()].concat()
}

fn file_key(kind: u8, file: FileId) -> Vec<u8> {
    [&[kind][..], &file.0.to_be_bytes()].concat()
}

fn member_key(file: FileId, table: u64) -> Vec<u8> {
    let mut key = file_key(MEMBER, file);
    key.extend_from_slice(&table.to_be_bytes());
    key
}

/// A row: its key as a byte string, and what follows it.
fn row_of(key: &[u8], rest: &[&[u8]]) -> Vec<u8> {
    let mut row = Vec::new();
    put_bytes(&mut row, key);
    for part in rest {
        put_bytes(&mut row, part);
    }
    row
}

fn text(bytes: &[u8]) -> Result<String> {
    let corrupt = |_| Error::Corrupt("a tablespace's name is not UTF-8".into());
    String::from_utf8(bytes.to_vec()).map_err(corrupt)
}

fn encode(t: &Tablespace) -> Vec<u8> {
    let mut file = Vec::new();
    put_varint(&mut file, t.file.0);
    let rest = [&file, t.datafile.as_bytes(), &t.options];
    row_of(&text_key(NAME, &t.name), &rest)
}

fn decode(row: &[u8]) -> Result<Tablespace> {
    let mut r = Reader(row);
    let name = r.bytes()?;
    let mut file = Reader(r.bytes()?);
    Ok(Tablespace {
        name: text(name.get(1..).unwrap_or_default())?,
        file: FileId(file.varint()?),
        datafile: text(r.bytes()?)?,
        options: r.bytes()?.to_vec(),
    })
}

impl Catalog {
    /// The table of tablespaces, if there is one yet.
    pub fn tablespace_table(&self) -> Option<&Arc<Table>> {
        self.tablespaces.get()
    }

    /// Finds the table of tablespaces if it is there: at open, and after it was made.
    pub fn find_tablespaces(&self) -> Result<()> {
        if self.tablespaces.get().is_none() {
            match self.open_table(CATALOG_DATABASE, TABLESPACES) {
                Ok(table) => {
                    let _ = self.tablespaces.set(table);
                }
                Err(Error::NoSuchTable(_)) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The tablespace of a name.
    pub fn tablespace(&self, txn: &mut Txn, name: &str) -> Result<Option<Tablespace>> {
        let Some(table) = self.tablespaces.get() else {
            return Ok(None);
        };
        let found = lookup(table, txn, 0, &text_key(NAME, name))?;
        found.map(|(_, row)| decode(&row)).transpose()
    }

    /// The name of the tablespace whose a file is.
    pub fn tablespace_name(&self, txn: &mut Txn, file: FileId) -> Result<Option<String>> {
        let Some(table) = self.tablespaces.get() else {
            return Ok(None);
        };
        let Some((_, row)) = lookup(table, txn, 0, &file_key(FILE, file))? else {
            return Ok(None);
        };
        let mut r = Reader(&row);
        r.bytes()?;
        Ok(Some(text(r.bytes()?)?))
    }

    /// All tablespaces, by name.
    pub fn all_tablespaces(&self, txn: &mut Txn) -> Result<Vec<Tablespace>> {
        let mut all = Vec::new();
        let Some(table) = self.tablespaces.get() else {
            return Ok(all);
        };
        let mut scan = scan(table, txn, vec![NAME], Fetch::Row)?;
        while let Some(row) = scan.next(txn)? {
            all.push(decode(row.row)?);
        }
        Ok(all)
    }

    /// Whether any table is in a tablespace's file.
    pub fn has_members(&self, txn: &mut Txn, file: FileId) -> Result<bool> {
        let Some(table) = self.tablespaces.get() else {
            return Ok(false);
        };
        let mut scan = scan(table, txn, file_key(MEMBER, file), Fetch::Key)?;
        Ok(scan.next(txn)?.is_some())
    }

    /// Whether a table is noted as one in a tablespace's file.
    pub fn is_member(&self, txn: &mut Txn, file: FileId, table: u64) -> Result<bool> {
        match self.tablespaces.get() {
            Some(all) => Ok(lookup(all, txn, 0, &member_key(file, table))?.is_some()),
            None => Ok(false),
        }
    }

    /// Notes that a table is in a tablespace's file, or that it is no more.
    pub fn set_member(&self, txn: &mut Txn, file: FileId, table: u64, is: bool) -> Result<()> {
        let all = self.need_tablespaces()?;
        let key = member_key(file, table);
        let row = row_of(&key, &[]);
        match is {
            true => all.insert(txn, &row),
            false => all.delete(txn, &key, &row),
        }
    }

    /// Adds a tablespace: errors [`Error::TablespaceExists`], [`Error::DuplicateDatafile`].
    pub fn add_tablespace(&self, txn: &mut Txn, t: &Tablespace) -> Result<()> {
        let all = self.need_tablespaces()?;
        let taken = |e, error: fn(String) -> Error| match e {
            Error::DuplicateKey { .. } => error(t.name.clone()),
            e => e,
        };
        all.insert(txn, &encode(t))
            .map_err(|e| taken(e, Error::TablespaceExists))?;
        let name = t.name.as_bytes();
        let datafile = row_of(&text_key(DATAFILE, &t.datafile), &[name]);
        all.insert(txn, &datafile)
            .map_err(|e| taken(e, Error::DuplicateDatafile))?;
        all.insert(txn, &row_of(&file_key(FILE, t.file), &[name]))
    }

    /// Removes a tablespace, which is locked and has been read.
    pub fn remove_tablespace(&self, txn: &mut Txn, t: &Tablespace) -> Result<()> {
        let all = self.need_tablespaces()?;
        let name = t.name.as_bytes();
        all.delete(txn, &text_key(NAME, &t.name), &encode(t))?;
        let keys = [text_key(DATAFILE, &t.datafile), file_key(FILE, t.file)];
        keys.iter()
            .try_for_each(|key| all.delete(txn, key, &row_of(key, &[name])))
    }

    fn need_tablespaces(&self) -> Result<&Arc<Table>> {
        let none = || Error::Invalid("there is no table of tablespaces".into());
        self.tablespaces.get().ok_or_else(none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_round_trip() {
        let t = Tablespace {
            name: "tér".into(),
            file: FileId::general(77),
            datafile: "tér.ibd".into(),
            options: vec![1, 0, 255],
        };
        let row = encode(&t);
        assert_eq!(decode(&row).unwrap(), t);
        let key = text_key(NAME, "tér");
        assert_eq!(super::super::references::key_of(&row).unwrap(), key);
        for cut in 0..row.len() {
            assert!(decode(&row[..cut]).is_err(), "{cut}");
        }
        let member = member_key(t.file, 5);
        assert!(member.starts_with(&file_key(MEMBER, t.file)));
        assert!(!member.starts_with(&file_key(MEMBER, FileId::general(78))));
    }
}
