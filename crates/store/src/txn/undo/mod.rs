//! Undo: lanes of records, appended by transactions, read by consistent reads and rollback, walked by purge.
//!
//! | file | owns |
//! |---|---|
//! | `page` | the bytes |
//! | `lanes` | lanes, their pages, the directory |
//! | `recover` | what a crash left: lanes, unfinished transactions |
//!
//! A transaction owns a lane from its first write to its end. Its BEGIN record and first row record are one redo
//! operation in the mini-transaction of the first row change; committing overwrites 8 bytes of BEGIN, preparing appends one record more. Records are
//! never moved or cut off; a reader needs only the page's shared latch.
//!
//! Promises: a record named by a roll pointer stays readable while its transaction is unfinished or some open view
//! does not see it. Never does: interpret payloads, or allocate under a tree latch (see [`TxnSystem::reserve`]).

pub(super) mod lanes;
pub(super) mod page;
pub(super) mod recover;

use super::sys::TxnSystem;
use super::{RollPtr, TrxId, Txn, UndoHandler};
use crate::error::{Error, Result};
use crate::page::{Lsn, PAGE_SIZE, PageType, page_type};
use crate::pool::{FrameHint, Mtr, PageRead, Pin};
use lanes::{Lane, UndoFile, corrupt, latch, put};
use page::{
    BEGIN_BYTES, BEGIN_NUMBER, KIND_AT, KIND_UNDONE, KIND_WITHDRAWN, Position, ROW_HEADER, Record,
    put_begin, put_prepared, put_row, record_at,
};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

/// Longest payload of one undo record (bytes).
pub const MAX_PAYLOAD: usize = 12 * 1024;

/// A transaction's undo.
#[derive(Default)]
pub(super) struct UndoState {
    pub lane: Option<Lane>,
    /// Its BEGIN; `NONE` before the first record.
    pub begin: Position,
    /// Where BEGIN's page was when it was written.
    pub begin_hint: Option<FrameHint>,
    /// Its newest record that is not undone; BEGIN itself: none.
    pub last: Position,
    /// Row records that are not undone.
    pub count: u64,
    /// Its PREPARED; `NONE`: it is not prepared.
    pub prepared: Position,
    /// Undoing some of it has failed: it can only be undone, not be committed.
    pub stuck: bool,
}

/// How far a transaction that a crash left unfinished has been walked back ([`TxnSystem::undo_some`]).
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    at: Position,
    /// Whether a record was passed by that is not undone.
    pub left: bool,
}

/// A row record without its payload.
struct RowRecord {
    insert: bool,
    /// Rolled back.
    undone: bool,
    previous: Position,
}

/// Room for one undo record, with the page pinned: appending cannot fail.
pub struct UndoRoom<'t> {
    sys: &'t TxnSystem,
    txn: &'t mut Txn,
    pin: Pin<'t>,
    /// Payload bytes promised.
    bytes: usize,
}

impl UndoRoom<'_> {
    /// The transaction's id, which goes into the row.
    #[inline]
    pub fn trx_id(&self) -> TrxId {
        self.txn.id()
    }

    /// The transaction.
    pub fn txn(&mut self) -> &mut Txn {
        self.txn
    }

    /// Appends the record in the row change's mini-transaction; its address goes into the row. Call it once,
    /// with a payload no longer than reserved; latches the undo page (tree latches may be held).
    pub fn append(&mut self, mtr: &mut Mtr<'_>, insert: bool, payload: &[u8]) -> RollPtr {
        let at = self.put(mtr, payload.len(), |out, last| {
            put_row(out, insert, last, payload)
        });
        let undo = &mut self.txn.undo;
        undo.last = at;
        undo.count += 1;
        self.txn.owner.changes.store(undo.count, Ordering::Relaxed);
        at.roll_ptr(insert)
    }

    /// Appends PREPARED instead, in a mini-transaction of its own; where that ends.
    pub(super) fn append_prepared(mut self, xid: &[u8]) -> Result<Lsn> {
        let sys = self.sys;
        let mut mtr = sys.undo.pager.mtr(0)?;
        let at = self.put(&mut mtr, xid.len(), |out, last| {
            put_prepared(out, last, xid)
        });
        self.txn.undo.prepared = at;
        Ok(mtr.commit())
    }

    /// Appends a record, which `write` encodes given the one before, and before it BEGIN if this is the transaction's first.
    #[inline]
    fn put(
        &mut self,
        mtr: &mut Mtr<'_>,
        bytes: usize,
        write: impl FnOnce(&mut Vec<u8>, Position),
    ) -> Position {
        assert!(bytes <= self.bytes, "longer than reserved");
        let id = self.txn.id();
        let undo = &mut self.txn.undo;
        let lane = undo.lane.as_mut().expect("reserved with a lane");
        let offset = lane.end;
        lane.scratch.clear();
        let here = |at: usize| Position {
            page: lane.tail,
            offset: at as u16,
        };
        let mut at = offset;
        if undo.begin == Position::NONE {
            put_begin(&mut lane.scratch, id);
            undo.begin = here(at);
            undo.begin_hint = Some(self.pin.hint());
            undo.last = undo.begin;
            lane.begins = lane.begins.wrapping_add(1);
            at += BEGIN_BYTES;
        }
        write(&mut lane.scratch, undo.last);
        let record = here(at);
        // One append per reservation: a second one might not fit.
        self.bytes = 0;
        lane.end = offset + lane.scratch.len();
        debug_assert!(lane.end <= PAGE_SIZE);
        let page = mtr
            .try_latch_hint(self.pin.hint(), &self.sys.undo.space, lane.tail)
            .expect("the lane's tail is pinned");
        put(mtr, page, offset, &lane.scratch);
        record
    }
}

impl TxnSystem {
    /// Prepares the next append of one record of `bytes` payload (at most [`MAX_PAYLOAD`]): assigns
    /// id and lane at the first write, allocates an undo page if the current one is full. Hold no latch.
    pub fn reserve<'t>(&'t self, txn: &'t mut Txn, bytes: usize) -> Result<UndoRoom<'t>> {
        if bytes > MAX_PAYLOAD {
            return Err(Error::Invalid(format!("undo record of {bytes} bytes")));
        }
        if txn.guest {
            let what = "who reads beside a statement of DDL writes nothing";
            return Err(Error::Invalid(what.into()));
        }
        self.ensure_id(txn)?;
        let id = txn.id();
        let undo = &mut txn.undo;
        if undo.lane.is_none() {
            undo.lane = Some(self.purge.take_lane(&self.undo)?);
        }
        let lane = undo.lane.as_mut().expect("taken above");
        let (begun, need) = match undo.begin == Position::NONE {
            true => (0, BEGIN_BYTES + ROW_HEADER + bytes),
            false => (id, ROW_HEADER + bytes),
        };
        if lane.end + need > PAGE_SIZE {
            self.undo.add_page(lane, undo.begin, begun)?;
        }
        let pin = self.undo.pager.pin(&self.undo.space, lane.tail)?;
        Ok(UndoRoom {
            sys: self,
            txn,
            pin,
            bytes,
        })
    }

    /// Copies the payload of an undo record out. Valid as long as some open view does not see the record's
    /// transaction, or for a transaction's own records. Hold no latch.
    pub fn read_undo(&self, at: RollPtr, out: &mut Vec<u8>) -> Result<()> {
        self.undo.read_row(Position::of(at), out)?;
        Ok(())
    }

    /// Visits a transaction's undo payloads, newest first.
    pub fn visit_undo(
        &self,
        txn: &Txn,
        f: &mut dyn FnMut(RollPtr, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut payload = Vec::new();
        let mut at = txn.undo.last;
        while at != txn.undo.begin {
            let row = self.undo.read_row(at, &mut payload)?;
            if f(at.roll_ptr(row.insert), &payload).is_break() {
                break;
            }
            at = row.previous;
        }
        Ok(())
    }

    /// Undoes the transaction's records back to `until`, newest first. What is marked as undone already, which only
    /// recovery comes upon, is passed by: the mark lies in the log after all that undid the record and before what undid
    /// the records older than it, and for one about keys alone no roll pointer tells that they have been undone since.
    pub(super) fn undo_until(
        &self,
        txn: &mut Txn,
        until: Position,
        handler: &dyn UndoHandler,
    ) -> Result<()> {
        let mut payload = Vec::new();
        while txn.undo.last != until {
            let at = txn.undo.last;
            let row = self.undo.read_row(at, &mut payload)?;
            if !row.undone {
                handler.undo(txn.id(), at.roll_ptr(row.insert), &payload)?;
                if !row.insert {
                    self.undo.mark_undone(at)?;
                }
            }
            txn.undo.last = row.previous;
            txn.undo.count = txn.undo.count.saturating_sub(1);
        }
        txn.owner.changes.store(txn.undo.count, Ordering::Relaxed);
        Ok(())
    }

    /// A walk back through all that the transaction has done.
    pub(crate) fn walk(&self, txn: &Txn) -> Walk {
        Walk {
            at: txn.undo.last,
            left: false,
        }
    }

    /// Walks up to `most` records on, newest first, marking those as undone of which `undo` says that they are. Whether the
    /// walk has come to the transaction's beginning. After a failure it stands at the record that failed.
    pub(crate) fn undo_some(
        &self,
        txn: &Txn,
        walk: &mut Walk,
        most: u32,
        undo: &mut dyn FnMut(RollPtr, &[u8]) -> Result<bool>,
    ) -> Result<bool> {
        let mut payload = Vec::new();
        for _ in 0..most {
            if walk.at == txn.undo.begin {
                break;
            }
            let row = self.undo.read_row(walk.at, &mut payload)?;
            if !row.undone {
                let done = undo(walk.at.roll_ptr(row.insert), &payload)?;
                walk.left |= !done;
                if done && !row.insert {
                    self.undo.mark_undone(walk.at)?;
                }
            }
            walk.at = row.previous;
        }
        Ok(walk.at == txn.undo.begin)
    }

    /// Takes PREPARED back: from here on recovery rolls the transaction back.
    pub(super) fn withdraw(&self, undo: &UndoState) -> Result<Lsn> {
        self.undo.set_kind(undo.prepared, KIND_WITHDRAWN)
    }

    /// Writes the number into the transaction's BEGIN: from here on recovery takes it as committed.
    pub(super) fn write_number(&self, undo: &UndoState, number: u64) -> Result<Lsn> {
        let UndoFile { pager, space, .. } = &self.undo;
        let page_no = undo.begin.page;
        let write = |mut mtr: Mtr<'_>, page| {
            let at = undo.begin.offset as usize + BEGIN_NUMBER;
            put(&mut mtr, page, at, &number.to_le_bytes());
            mtr.commit()
        };
        // Nearly always it is still where it was.
        let mut mtr = pager.mtr(0)?;
        if let Some(hint) = undo.begin_hint
            && let Some(page) = mtr.try_latch_hint(hint, space, page_no)
        {
            return Ok(write(mtr, page));
        }
        drop(mtr);
        let _pin = pager.pin(space, page_no)?;
        let mut mtr = pager.mtr(0)?;
        let page = latch(&mut mtr, space, page_no)?;
        Ok(write(mtr, page))
    }
}

impl UndoFile {
    /// Notes that a change has been rolled back. Purge leaves it alone then: what the record keeps is no old version
    /// but the one in force. So does a rollback that recovery begins anew. If a crash comes first, the change is undone
    /// once more, to no effect: none older has been undone yet.
    fn mark_undone(&self, at: Position) -> Result<()> {
        self.set_kind(at, KIND_UNDONE)?;
        Ok(())
    }

    /// Makes a record one of another kind.
    fn set_kind(&self, at: Position, kind: u8) -> Result<Lsn> {
        let _pin = self.pager.pin(&self.space, at.page)?;
        let mut mtr = self.pager.mtr(0)?;
        let page = latch(&mut mtr, &self.space, at.page)?;
        put(&mut mtr, page, at.offset as usize + KIND_AT, &[kind]);
        Ok(mtr.commit())
    }

    /// Fetches an undo page.
    pub(super) fn fetch(&self, page: u32) -> Result<PageRead<'_>> {
        let read = self.pager.fetch(&self.space, page)?;
        if page_type(&read) != Some(PageType::Undo) {
            return Err(corrupt(page, "it is no undo page"));
        }
        Ok(read)
    }

    /// Copies a row record's payload; what else it says.
    fn read_row(&self, at: Position, out: &mut Vec<u8>) -> Result<RowRecord> {
        let page = self.fetch(at.page)?;
        match record_at(&page, at.offset as usize) {
            Ok(Some((
                Record::Row {
                    insert,
                    undone,
                    previous,
                    payload,
                },
                _,
            ))) => {
                out.clear();
                out.extend_from_slice(payload);
                Ok(RowRecord {
                    insert,
                    undone,
                    previous,
                })
            }
            Ok(_) => {
                let what = format!("offset {}: no row record is here", at.offset);
                Err(corrupt(at.page, &what))
            }
            Err(what) => Err(corrupt(at.page, &what)),
        }
    }

    /// Trx id and number of a BEGIN.
    fn read_begin(&self, at: Position) -> Result<(TrxId, u64)> {
        let page = self.fetch(at.page)?;
        match record_at(&page, at.offset as usize) {
            Ok(Some((Record::Begin { trx, number }, _))) => Ok((trx, number)),
            Ok(_) => {
                let what = format!("offset {}: no BEGIN is here", at.offset);
                Err(corrupt(at.page, &what))
            }
            Err(what) => Err(corrupt(at.page, &what)),
        }
    }
}
