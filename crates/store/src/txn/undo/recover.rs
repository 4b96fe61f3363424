//! What a crash left: read from the directory and the tail page of each lane (and the page of its last
//! BEGIN).

use super::super::sys::TxnSystem;
use super::super::{Isolation, TrxId, Txn, Xid};
use super::UndoState;
use super::lanes::{Lane, LaneEntry, UndoFile, corrupt};
use super::page::{Header, Position, RECORDS_AT, Record, record_at};
use crate::error::Result;
use std::sync::Arc;

/// A lane as found at open.
pub(in super::super) struct FoundLane {
    pub lane: Lane,
    pub first: u32,
    /// The transaction that purge was in the middle of: its BEGIN has been freed. 0: none.
    pub purging: TrxId,
    /// Finished transactions from the first page on.
    pub history: u64,
    /// The unfinished transaction in the lane.
    pub unfinished: Option<Unfinished>,
}

pub(in super::super) struct Unfinished {
    pub id: TrxId,
    pub begin: Position,
    pub last: Position,
    /// Its PREPARED, if it is prepared.
    pub prepared: Option<(Position, Xid)>,
}

/// What a page's records come to.
struct Scanned {
    header: Header,
    end: usize,
    /// BEGINs in the page.
    begins: u32,
    /// The last BEGIN: position, id, number.
    begin: Option<(Position, TrxId, u64)>,
    /// The last row record after it; of a prepared transaction the one before PREPARED, wherever that is.
    last: Option<Position>,
    /// The PREPARED after it.
    prepared: Option<(Position, Xid)>,
}

impl UndoFile {
    fn scan(&self, no: u32, lane: u32) -> Result<Scanned> {
        let page = self.fetch(no)?;
        let header = Header::read(&page);
        if header.lane != lane {
            return Err(corrupt(no, &format!("it is not of lane {lane}")));
        }
        let mut scanned = Scanned {
            header,
            end: RECORDS_AT,
            begins: 0,
            begin: None,
            last: None,
            prepared: None,
        };
        while let Some((record, next)) =
            record_at(&page, scanned.end).map_err(|what| corrupt(no, &what))?
        {
            let here = Position {
                page: no,
                offset: scanned.end as u16,
            };
            match record {
                Record::Begin { trx, number } => {
                    scanned.begins += 1;
                    scanned.begin = Some((here, trx, number));
                    scanned.last = None;
                    scanned.prepared = None;
                }
                Record::Row { .. } => scanned.last = Some(here),
                Record::Prepared {
                    withdrawn,
                    previous,
                    xid,
                } => {
                    scanned.last = Some(previous);
                    if !withdrawn {
                        let xid = Xid::decode(xid).ok_or_else(|| corrupt(no, "a bad XID"))?;
                        scanned.prepared = Some((here, xid));
                    }
                }
            }
            scanned.end = next;
        }
        Ok(scanned)
    }

    pub(in super::super) fn examine(&self, entry: &LaneEntry) -> Result<FoundLane> {
        let tail = self.scan(entry.tail, entry.no)?;
        let first = match entry.first == entry.tail {
            true => tail.header,
            false => Header::read(&self.fetch(entry.first)?),
        };
        let begins = tail.header.begins.wrapping_add(tail.begins);
        let mut history = u64::from(begins.wrapping_sub(first.begins));
        let end = tail.end;
        let unfinished = self.unfinished(entry, &first, tail)?;
        if unfinished.is_some() {
            history = history.saturating_sub(1);
        }
        Ok(FoundLane {
            lane: Lane {
                no: entry.no,
                tail: entry.tail,
                end,
                begins,
                scratch: Vec::new(),
            },
            first: entry.first,
            purging: if first.begin == Position::NONE {
                0
            } else {
                first.trx
            },
            history,
            unfinished,
        })
    }

    fn unfinished(
        &self,
        entry: &LaneEntry,
        first: &Header,
        tail: Scanned,
    ) -> Result<Option<Unfinished>> {
        let (begin, id, number) = match tail.begin {
            Some(begin) => begin,
            None if tail.header.begin == Position::NONE => return Ok(None),
            // The BEGIN lies before the first page: purge has freed it, so its transaction is finished.
            None if first.trx == tail.header.trx => return Ok(None),
            None => {
                let at = tail.header.begin;
                let (trx, number) = self.read_begin(at)?;
                if trx != tail.header.trx {
                    return Err(corrupt(at.page, "the BEGIN is of another transaction"));
                }
                (at, trx, number)
            }
        };
        if number != 0 {
            return Ok(None);
        }
        // Its last record is in the tail, or before it where the crash came right after adding a page.
        let (mut last, mut prepared) = (tail.last, tail.prepared);
        let mut page = tail.header.prev;
        while last.is_none() && page != 0 {
            let scanned = self.scan(page, entry.no)?;
            (last, prepared) = (scanned.last, scanned.prepared);
            page = scanned.header.prev;
        }
        let last = last.ok_or_else(|| corrupt(entry.tail, "a BEGIN has no row record"))?;
        Ok(Some(Unfinished {
            id,
            begin,
            last,
            prepared,
        }))
    }
}

impl TxnSystem {
    /// The transaction object of an unfinished transaction: active, under an owner of its own.
    pub(in super::super) fn resurrect(self: &Arc<Self>, lane: Lane, found: &Unfinished) -> Txn {
        let owner = self.owner();
        owner.set_apart();
        {
            let mut held = owner.held.lock();
            held.trx = found.id;
            held.touch();
        }
        self.views.resurrect(found.id, &owner);
        let mut txn = self.begin(&owner, Isolation::RepeatableRead);
        txn.id = found.id;
        txn.undo = UndoState {
            lane: Some(lane),
            begin: found.begin,
            begin_hint: None,
            last: found.last,
            count: 0,
            prepared: (found.prepared.as_ref()).map_or(Position::NONE, |(at, _)| *at),
            stuck: false,
        };
        txn
    }
}
