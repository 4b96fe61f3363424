//! XIDs of the XA transactions that sessions have: begun and not ended, or prepared and not left yet.
//!
//! Those that are prepared are in the store's registry besides, and there alone once their sessions have left them. One that is being prepared is in both for a
//! moment, so an XID is never free while somebody has a transaction under it. As in MySQL, XIDs that differ in their format alone count as the
//! same here.

use std::collections::HashSet;

use parking_lot::Mutex;

use millpond_store::{Engine, Xid};

/// See the module.
#[derive(Default)]
pub(crate) struct Branches(Mutex<HashSet<(Vec<u8>, Vec<u8>)>>);

fn texts(xid: &Xid) -> (Vec<u8>, Vec<u8>) {
    (xid.global.clone(), xid.branch.clone())
}

impl Branches {
    /// A session begins a transaction; `false` if there is one under its XID.
    pub fn attach(&self, engine: &Engine, xid: &Xid) -> bool {
        let mut attached = self.0.lock();
        // Under the mutex: one that is being prepared leaves this list after it has come into the other.
        !engine.is_taken(xid) && attached.insert(texts(xid))
    }

    /// It has ended it, or leaves it to others.
    pub fn detach(&self, xid: &Xid) {
        self.0.lock().remove(&texts(xid));
    }

    /// Whether a session has it.
    pub fn is_attached(&self, xid: &Xid) -> bool {
        self.0.lock().contains(&texts(xid))
    }
}
