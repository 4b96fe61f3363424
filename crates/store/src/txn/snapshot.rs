//! What the reads of one transaction see, for several threads at once.

use super::{ReadView, Txn};

/// What a consistent read needs of its transaction: the read view, with the transaction's own id in it. Copies of it may go to other
/// threads. While one is in use the transaction is borrowed, so it neither writes nor ends, nor gives its view back, and purge
/// leaves alone what the view may need.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'t> {
    view: &'t ReadView,
}

impl<'t> Snapshot<'t> {
    #[inline]
    pub(crate) fn view(self) -> &'t ReadView {
        self.view
    }
}

impl Txn {
    /// What its consistent reads see, if its view is open ([`crate::Engine::snapshot`] opens it). At READ UNCOMMITTED there is
    /// none.
    #[inline]
    pub fn snapshot(&self) -> Option<Snapshot<'_>> {
        self.view.as_ref().map(|view| Snapshot { view })
    }
}
