//! What the layer above has found out about tables: a table of the catalog's own, by table id.
//!
//! Its row for a table is beside the table's definition, not part of it: writing it changes no version, makes no open object
//! invalid and needs a shared metadata lock only. It is an ordinary table under a name that no user can give, made when there is
//! something to keep for the first time, so a database without statistics has nothing of it and earlier ones need no change.
//!
//! **Promises.** A row goes with its table, in the transaction that drops it. TRUNCATE hands it on to the new incarnation; the layer above
//! tells by the ids in it what still holds.

use super::{Catalog, lookup};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::txn::Txn;
use std::sync::Arc;

/// The database of the catalog's own tables that are made when they are needed: listed nowhere, closed to everybody.
pub const CATALOG_DATABASE: &str = "#catalog";
/// The table.
pub(crate) const STATISTICS: &str = "statistics";

/// Makes what is to be kept (`None`: nothing) of what is.
pub type ChangeBody<'a> = dyn FnMut(Option<&[u8]>) -> Option<Vec<u8>> + 'a;

/// Bytes of a row's key, the table's id.
const KEY: usize = 8;

/// Key of a row.
pub(super) fn key_of(row: &[u8]) -> Result<&[u8]> {
    row.get(..KEY)
        .ok_or_else(|| Error::Corrupt("a row of statistics is cut short".into()))
}

fn row_of(id: u64, body: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(KEY + body.len());
    row.extend_from_slice(&id.to_be_bytes());
    row.extend_from_slice(body);
    row
}

impl Catalog {
    /// The table of statistics, if there is one yet.
    pub fn statistics(&self) -> Option<&Arc<Table>> {
        self.statistics.get()
    }

    /// Finds the table of statistics if it is there: at open, and after it was made.
    pub fn find_statistics(&self) -> Result<()> {
        if self.statistics.get().is_none() {
            match self.open_table(CATALOG_DATABASE, STATISTICS) {
                Ok(table) => {
                    let _ = self.statistics.set(table);
                }
                Err(Error::NoSuchTable(_)) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// What is kept for a table.
    pub fn statistics_of(&self, txn: &mut Txn, id: u64) -> Result<Option<Vec<u8>>> {
        let Some(table) = self.statistics.get() else {
            return Ok(None);
        };
        let found = lookup(table, txn, 0, &id.to_be_bytes())?;
        Ok(found.map(|(_, mut row)| row.split_off(KEY.min(row.len()))))
    }

    /// Keeps `body` for a table in place of what was kept; `None`: nothing.
    pub fn keep_statistics(&self, txn: &mut Txn, id: u64, body: Option<&[u8]>) -> Result<()> {
        if body.is_none() && self.statistics.get().is_none() {
            return Ok(());
        }
        self.change_statistics(txn, id, &mut |_| body.map(<[u8]>::to_vec))
    }

    /// Keeps what `change` makes of what is kept, which nobody else changes until the transaction ends. Where nothing was kept it may be asked
    /// again, with what another transaction has kept meanwhile.
    pub fn change_statistics(
        &self,
        txn: &mut Txn,
        id: u64,
        change: &mut ChangeBody<'_>,
    ) -> Result<()> {
        let Some(table) = self.statistics.get() else {
            return Err(Error::Invalid("there is no table of statistics".into()));
        };
        let key = id.to_be_bytes();
        loop {
            let old = crate::engine::lock_row(table, txn, &key)?;
            let body = change(old.as_ref().and_then(|row| row.get(KEY..)));
            return match (old, body) {
                (None, None) => Ok(()),
                (None, Some(body)) => match table.insert(txn, &row_of(id, &body)) {
                    // What is not there can't be locked: somebody else was first.
                    Err(Error::DuplicateKey { .. }) => continue,
                    done => done,
                },
                (Some(old), Some(body)) => table.update(txn, &key, &old, &row_of(id, &body)),
                (Some(old), None) => table.delete(txn, &key, &old),
            };
        }
    }

    /// Hands what is kept for a table on to its new incarnation.
    pub fn move_statistics(&self, txn: &mut Txn, from: u64, to: u64) -> Result<()> {
        if let Some(body) = self.statistics_of(txn, from)? {
            self.keep_statistics(txn, from, None)?;
            self.keep_statistics(txn, to, Some(&body))?;
        }
        Ok(())
    }
}
