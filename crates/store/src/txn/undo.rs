//! Undo lanes.

use super::{RollPtr, TrxId, Txn};
use crate::pool::Mtr;

/// Longest payload of one undo record (bytes).
pub const MAX_PAYLOAD: usize = 12 * 1024;

/// Room for one undo record, with the page pinned: appending cannot fail.
pub struct UndoRoom<'t> {
    _txn: &'t mut Txn,
}

impl UndoRoom<'_> {
    /// The transaction's id, which goes into the row.
    pub fn trx_id(&self) -> TrxId {
        todo!()
    }
    /// The transaction.
    pub fn txn(&mut self) -> &mut Txn {
        todo!()
    }
    /// Appends the record in the row change's mini-transaction; its address goes into the row. Call it once,
    /// with a payload no longer than reserved; latches the undo page (tree latches may be held).
    pub fn append(&mut self, _mtr: &mut Mtr<'_>, _insert: bool, _payload: &[u8]) -> RollPtr {
        todo!()
    }
}
