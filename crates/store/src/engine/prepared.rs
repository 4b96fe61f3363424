//! Prepared transactions of before the database was opened: they get the metadata locks of the tables that they changed, as statements that write
//! these have them, before anybody else may lock anything.
//!
//! A table that cannot be opened goes without: it can only be dropped, and undo passes by what is gone. Undo that cannot be read is an error, for it
//! isn't known what is to be locked.

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::table::payload::Undo;
use crate::txn::{MdlMode, Txn, TxnSystem};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Locks the tables of all prepared transactions. `force`: these stay as they are instead, for the next opening to find.
pub(super) fn lock_tables(sys: &TxnSystem, catalog: &Catalog, force: bool) -> Result<()> {
    if force {
        for xid in sys.prepared() {
            tracing::warn!(%xid, "a prepared transaction stays as it is");
        }
        sys.leave_prepared();
        return Ok(());
    }
    sys.each_prepared(&mut |xid, txn| {
        let tables = changed_tables(sys, txn).map_err(|e| match e {
            Error::Corrupt(why) => Error::Corrupt(format!(
                "what a prepared transaction has done cannot be read: {why}; with innodb_force_recovery=1 the rest can be read"
            )),
            e => e,
        })?;
        tracing::info!(id = txn.id(), %xid, "found a prepared transaction");
        for id in tables {
            match catalog.by_id(id) {
                Ok(None) => {}
                Ok(Some(table)) => {
                    if let Some(lock) = &table.mdl {
                        sys.mdl().lock(txn.owner(), lock, MdlMode::Write)?;
                    }
                }
                Err(Error::Corrupt(why)) => {
                    tracing::error!(id, "a table changed by a prepared transaction is not locked: {why}");
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    })
}

/// Ids of the tables that a transaction has changed.
fn changed_tables(sys: &TxnSystem, txn: &Txn) -> Result<HashSet<u64>> {
    let mut tables = HashSet::new();
    let mut bad = None;
    sys.visit_undo(txn, &mut |_, payload| match Undo::read(payload) {
        Ok((table, _)) => {
            tables.insert(table);
            ControlFlow::Continue(())
        }
        Err(e) => {
            bad = Some(e);
            ControlFlow::Break(())
        }
    })?;
    bad.map_or(Ok(tables), Err)
}
