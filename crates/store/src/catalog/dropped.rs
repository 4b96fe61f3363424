//! Databases that were dropped and whose tables are still to follow.
//!
//! DROP DATABASE of a large database leaves its tables' rows where they are and puts a *mark* beside them: a row of the table of databases
//! under a name that no user can give, a zero byte before the database's, with a table id in it. Tables of that database with lower ids
//! were dropped with it; ids ascend and none comes back, so what is made later under the same names is told apart by them. Whoever looks
//! for a table here does not find one that was dropped so, and the mark is read by the same view as the table's row. A thread removes
//! the tables, then the mark (`engine::dropped`).
//!
//! **Never** is a mark there for a table that somebody uses, or for one that came to the database by its present name and is older than
//! the mark: `engine::drop_database` sees to that.

use super::row;
use super::{CATALOG_DATABASE, Catalog, TableDef, lookup, scan};
use crate::error::Result;
use crate::table::format::{Reader, put_varint};
use crate::table::{Direction, Fetch, KeyRange, ReadMode};
use crate::txn::Txn;
use std::ops::Bound;

/// A mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub database: String,
    /// Tables of the database with ids below this were dropped.
    pub below: u64,
}

/// What the names of marks begin with.
const MARK: char = '\0';

/// Whether a name in the table of databases is a mark's.
pub(super) fn is_mark(name: &str) -> bool {
    name.starts_with(MARK)
}

fn mark_name(database: &str) -> String {
    format!("{MARK}{database}")
}

fn mark_key(database: &str) -> Vec<u8> {
    let mut key = mark_name(database).into_bytes();
    key.push(0);
    key
}

fn mark_row(mark: &Dropped) -> Vec<u8> {
    let mut body = Vec::new();
    put_varint(&mut body, mark.below);
    row::encode_database(&mark_name(&mark.database), &body)
}

fn below_of(row: &[u8]) -> Result<u64> {
    Reader(&row::database_body(row)?).varint()
}

impl Catalog {
    /// Tables of the database with ids below this were dropped; 0: none.
    pub fn dropped_below(&self, txn: &mut Txn, database: &str) -> Result<u64> {
        if database == CATALOG_DATABASE {
            return Ok(0);
        }
        match lookup(&self.databases, txn, 0, &mark_key(database))? {
            Some((_, row)) => below_of(&row),
            None => Ok(0),
        }
    }

    /// Whether a table was dropped with its database, though its row is there.
    pub fn is_dropped(&self, txn: &mut Txn, def: &TableDef) -> Result<bool> {
        Ok(def.id < self.dropped_below(txn, &def.database)?)
    }

    /// All marks, by database.
    pub fn dropped(&self, txn: &mut Txn) -> Result<Vec<Dropped>> {
        let mut all = Vec::new();
        let prefix = MARK.to_string().into_bytes();
        let mut scan = scan(&self.databases, txn, prefix, Fetch::Row)?;
        while let Some(found) = scan.next(txn)? {
            let name = row::name_of(found.clustered_key)?;
            all.push(Dropped {
                database: name[MARK.len_utf8()..].into(),
                below: below_of(found.row)?,
            });
        }
        Ok(all)
    }

    /// Puts a mark, in the place of an earlier one, which it covers.
    pub fn mark_dropped(&self, txn: &mut Txn, mark: &Dropped) -> Result<()> {
        let key = mark_key(&mark.database);
        match crate::engine::lock_row(&self.databases, txn, &key)? {
            Some(old) => self.databases.update(txn, &key, &old, &mark_row(mark)),
            None => self.databases.insert(txn, &mark_row(mark)),
        }
    }

    /// Removes a mark, unless there is another in its place.
    pub fn unmark_dropped(&self, txn: &mut Txn, mark: &Dropped) -> Result<()> {
        let key = mark_key(&mark.database);
        match crate::engine::lock_row(&self.databases, txn, &key)? {
            Some(row) if row == mark_row(mark) => self.databases.delete(txn, &key, &row),
            _ => Ok(()),
        }
    }

    /// Keys of up to `most` rows of dropped tables and partitions, in order, from the one after `after` on.
    pub fn dropped_tables(
        &self,
        txn: &mut Txn,
        mark: &Dropped,
        after: Option<&[u8]>,
        most: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let prefix = row::database_key(&mark.database)?;
        let range = KeyRange {
            lower: match after {
                // Not `Excluded`: the keys of a table's partitions begin with its own.
                Some(key) => Bound::Included([key, &[0]].concat()),
                None => Bound::Included(prefix.clone()),
            },
            upper: Bound::Included(prefix),
        };
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = self.tables.scan(txn, 0, range, dir, mode, Fetch::Row)?;
        let mut keys = Vec::new();
        while keys.len() < most
            && let Some(found) = scan.next(txn)?
        {
            if row::table_id(found.row)? < mark.below {
                keys.push(found.clustered_key.to_vec());
            }
        }
        Ok(keys)
    }
}
