//! Which table an undo record is about: the engine's [`UndoHandler`].

use super::Catalog;
use crate::error::Result;
use crate::table::payload::Undo;
use crate::txn::{ReadView, RollPtr, TrxId, UndoHandler};
use std::sync::Arc;

/// Undoes and purges records of any table. Records of a table that is gone are skipped: its pages went
/// with it.
pub(crate) struct Handler(pub Arc<Catalog>);

impl UndoHandler for Handler {
    fn undo(&self, trx: TrxId, at: RollPtr, payload: &[u8]) -> Result<()> {
        let (table, undo) = Undo::read(payload)?;
        // Before and after: what is opened in between is of neither.
        let defines = table == self.0.tables.def.id;
        if defines {
            self.0.undoing(trx);
        }
        let Some(t) = self.0.for_undo(trx, table)? else {
            return Ok(());
        };
        let done = t.undo(trx, at, &undo);
        if defines {
            self.0.undoing(trx);
        }
        done
    }

    fn ended(&self, trx: TrxId) {
        self.0.end_pending(trx);
    }

    fn purge(&self, trx: TrxId, at: RollPtr, payload: &[u8], oldest: &ReadView) -> Result<()> {
        let (table, undo) = Undo::read(payload)?;
        if undo.leaves_nothing() {
            return Ok(());
        }
        let Some(t) = self.0.by_id(table)? else {
            return Ok(());
        };
        let _maintenance = t.core.maintenance.read();
        t.purge(trx, at, &undo, oldest)
    }
}
