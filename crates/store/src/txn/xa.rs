//! Prepared transactions: what has passed the first phase of two-phase commit (X/Open's XA) and may be ended by anybody, now or after a crash.
//!
//! **Order.** (1) PREPARED, with the XID, goes behind the transaction's undo records, in the redo log behind all that it did; (2) its read view is
//! closed, and the transaction belongs to the registry here: its session has another owner from then on ([`Owner::succeed`]); (3) the log is made
//! durable; (4) whoever asked is told. So what is acknowledged is found again, wholly, and what is not may be found or not.
//! An end takes it out of the registry, where its XID stays taken until it is over: two sessions cannot both end it, nor a third prepare
//! another under its XID whose fate recovery would mix up with this one's. COMMIT is any transaction's: the number goes into BEGIN. ROLLBACK first withdraws
//! PREPARED and then undoes: recovery finds no prepared transaction of which something has been undone. Its answer waits until the withdrawal is durable.
//!
//! **Recovery.** An unfinished transaction whose last record is a PREPARED that has not been withdrawn is prepared: active again under an owner of its own, and
//! never rolled back by itself, whether the database was closed or crashed. Its rows are locked by its id in them, as any unfinished transaction's are
//! ([`TxnSystem::convert_implicit`]); so are the keys that it inserted or marked as deleted, which uniqueness and foreign keys ask about. Locks
//! on what it had only read are gone, as in InnoDB. The tables that it changed are locked as by a statement that writes them
//! before the first statement runs (`engine/prepared`): DDL waits. With `innodb_force_recovery` it stays as it is, and is found by the next opening.
//!
//! **Beside others.** It is in the active set: no view sees it, however long it takes, and purge, whose horizon is made of views, goes by it in every
//! lane but its own, which nobody else has. A checkpoint needs nothing of it: PREPARED is in an undo page, and undo pages are flushed as any are.
//!
//! Lock order: the registry's mutex is taken alone.

use super::sys::TxnSystem;
use super::undo::page::Position;
use super::{Txn, UndoHandler};
use crate::error::{Error, Result};
use crate::page::Lsn;
use crate::pool::patiently;
use std::collections::BTreeMap;
use std::fmt;

/// The longest global transaction id and the longest branch qualifier (bytes).
pub const MAX_XID_PART: usize = 64;
/// Bytes of an encoded XID before its texts.
const XID_HEADER: usize = 10;

/// X/Open's identifier of a transaction branch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// Global transaction id: at most [`MAX_XID_PART`] bytes.
    pub global: Vec<u8>,
    /// Branch qualifier: at most [`MAX_XID_PART`] bytes.
    pub branch: Vec<u8>,
    /// Whose format the texts are in. Two transactions must not differ in it alone.
    pub format: i64,
}

/// As SQL would write it, whatever its bytes are: `X'6162',X'',1`.
impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for text in [&self.global, &self.branch] {
            f.write_str("X'")?;
            text.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
            f.write_str("',")?;
        }
        write!(f, "{}", self.format)
    }
}

impl Xid {
    /// `format i64, length of global u8, of branch u8`, then both.
    fn encode(&self) -> Result<Vec<u8>> {
        let (global, branch) = (self.global.len(), self.branch.len());
        if global > MAX_XID_PART || branch > MAX_XID_PART {
            return Err(Error::Invalid(format!(
                "an XID of {global} and {branch} bytes"
            )));
        }
        let mut out = Vec::with_capacity(XID_HEADER + global + branch);
        out.extend_from_slice(&self.format.to_le_bytes());
        out.extend_from_slice(&[global as u8, branch as u8]);
        out.extend_from_slice(&self.global);
        out.extend_from_slice(&self.branch);
        Ok(out)
    }

    /// `None`: it is none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Xid> {
        let (header, texts) = bytes.split_at_checked(XID_HEADER)?;
        let (format, lengths) = header.split_first_chunk()?;
        let (global, branch) = texts.split_at_checked(lengths[0] as usize)?;
        (branch.len() == lengths[1] as usize).then(|| Xid {
            format: i64::from_le_bytes(*format),
            global: global.to_vec(),
            branch: branch.to_vec(),
        })
    }
}

/// The registry; `None`: it is being ended.
pub(super) type Prepared = BTreeMap<Xid, Option<Txn>>;

impl TxnSystem {
    /// Prepares, under an XID that no other is prepared under. The wait for the log, if there is to be one, is left to the caller, with the LSN
    /// returned (0: there is nothing to wait for). On failure nothing has been done, and the transaction comes back to be rolled back.
    pub fn prepare(&self, mut txn: Txn, xid: Xid) -> std::result::Result<Lsn, Box<(Txn, Error)>> {
        match self.write_prepared(&mut txn, &xid) {
            Ok(lsn) => {
                self.close_view(&mut txn);
                txn.owner.set_apart();
                self.prepared.lock().insert(xid, Some(txn));
                // If the log has stopped, waiting for it says so.
                Ok(self.undo.pager.log().commit_later(lsn).unwrap_or(lsn))
            }
            Err(e) => Err(Box::new((txn, e))),
        }
    }

    fn write_prepared(&self, txn: &mut Txn, xid: &Xid) -> Result<Lsn> {
        if txn.undo.stuck {
            let what =
                "a transaction that could not be rolled back to a savepoint cannot be prepared";
            return Err(Error::Invalid(what.into()));
        }
        if self.is_taken(xid) {
            return Err(Error::Invalid("the XID is taken".into()));
        }
        let bytes = xid.encode()?;
        patiently(|| self.reserve(txn, bytes.len())?.append_prepared(&bytes))
    }

    /// Commits, as [`TxnSystem::commit`] does; `false`: nothing is prepared under the XID, or somebody is ending it.
    pub fn commit_prepared(&self, xid: &Xid) -> Result<bool> {
        self.end_prepared(xid, |txn| self.commit_no_wait(txn))
    }

    /// Rolls back, durably; `false`: nothing is prepared under the XID, or somebody is ending it.
    pub fn rollback_prepared(&self, xid: &Xid, handler: &dyn UndoHandler) -> Result<bool> {
        self.end_prepared(xid, |mut txn| {
            let withdrawn = self.persist(txn.id, || self.withdraw(&txn.undo))?;
            txn.undo.prepared = Position::NONE;
            self.rollback(txn, handler)?;
            Ok(withdrawn)
        })
    }

    fn end_prepared(&self, xid: &Xid, end: impl FnOnce(Txn) -> Result<Lsn>) -> Result<bool> {
        let Some(txn) = self.prepared.lock().get_mut(xid).and_then(Option::take) else {
            return Ok(false);
        };
        let ended = end(txn);
        self.prepared.lock().remove(xid);
        self.undo.pager.log().commit_wait(ended?)?;
        Ok(true)
    }

    /// XIDs of prepared transactions that nobody is ending, in order.
    pub fn prepared(&self) -> Vec<Xid> {
        let prepared = self.prepared.lock();
        let each = prepared.iter().filter(|(_, txn)| txn.is_some());
        each.map(|(xid, _)| xid.clone()).collect()
    }

    /// Whether a transaction is prepared under the XID, or one that differs in its format alone.
    pub fn is_taken(&self, xid: &Xid) -> bool {
        let first = Xid {
            format: i64::MIN,
            ..xid.clone()
        };
        let prepared = self.prepared.lock();
        let next = prepared.range(first..).next();
        next.is_some_and(|(x, _)| x.global == xid.global && x.branch == xid.branch)
    }

    /// Prepared transactions as they were found at open, for the caller to make ready before anybody else knows of them.
    pub(crate) fn each_prepared(
        &self,
        f: &mut dyn FnMut(&Xid, &mut Txn) -> Result<()>,
    ) -> Result<()> {
        let mut prepared = self.prepared.lock();
        let mut each = prepared.iter_mut();
        each.try_for_each(|(xid, txn)| txn.as_mut().map_or(Ok(()), |txn| f(xid, txn)))
    }

    /// Lets go of all prepared transactions: they stay so until the next opening.
    pub(crate) fn leave_prepared(&self) {
        let left = std::mem::take(&mut *self.prepared.lock());
        left.into_values()
            .flatten()
            .for_each(|t| self.leave_unfinished(t));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_xid_survives_encoding() {
        let xid = Xid {
            format: -3,
            global: vec![0; MAX_XID_PART],
            branch: b"b".to_vec(),
        };
        assert!(xid.to_string().ends_with("00',X'62',-3"), "{xid}");
        let mut bytes = xid.encode().unwrap();
        assert_eq!(Xid::decode(&bytes), Some(xid.clone()));
        bytes.pop();
        assert_eq!(Xid::decode(&bytes), None);
        assert_eq!(Xid::decode(&bytes[..5]), None);
        let long = Xid {
            branch: vec![1; MAX_XID_PART + 1],
            ..xid
        };
        assert!(long.encode().is_err());
    }
}
