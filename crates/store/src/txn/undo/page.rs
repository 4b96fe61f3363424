//! Bytes of undo pages and of the lane directory.
//!
//! Undo page, after the page header:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 32 | 4 | lane |
//! | 36 | 4 | previous page of the lane; 0 if purge has freed it or there was none |
//! | 40 | 4 | next page; 0: this is the tail |
//! | 44 | 4 | page of the BEGIN in force where this page begins; 0: none |
//! | 48 | 2 | its offset |
//! | 50 | 2 | zero |
//! | 52 | 4 | BEGINs of the lane before this page (wrapping) |
//! | 56 | 8 | transaction id of the BEGIN in force |
//! | 64 | | records, one after the other, then zeroes |
//!
//! Record: `length u16` (of the whole record; 0 or less than two bytes left: end of page), `kind u8`, then for
//! BEGIN `trx id u64, trx number u64` (0 while active), for a row record the position of the transaction's previous
//! record (`page u32, offset u16`; BEGIN's for the first) and the payload. Rollback turns the kind of a change it has
//! undone into another, by which purge knows that the version the record keeps is in force again.
//!
//! A prepared transaction's last record is PREPARED: as a row record, with its XID ([`Xid`](crate::txn::Xid)) for a payload. Its rollback begins
//! by turning that record's kind into another: from then on the transaction is one that was left unfinished. Builds that know no such
//! record refuse the lane as damaged.
//!
//! Directory page: `next directory page u32` at 32, `lanes u32` at 36, then per lane `first page u32, tail page u32`
//! from 40.

use super::super::RollPtr;
use crate::page::{PAGE_SIZE, PageNo, get_u16, get_u32, get_u64};

pub(super) const LANE_AT: usize = 32;
pub(super) const PREV_AT: usize = 36;
pub(super) const NEXT_AT: usize = 40;
/// Records start here.
pub(in super::super) const RECORDS_AT: usize = 64;

pub(super) const DIR_NEXT_AT: usize = 32;
pub(super) const DIR_LANES_AT: usize = 36;
pub(super) const DIR_ENTRIES_AT: usize = 40;
/// Bytes of a lane's directory entry.
pub(super) const DIR_ENTRY: usize = 8;
/// Lanes that one directory page describes.
pub(super) const DIR_LANES: u32 = ((PAGE_SIZE - DIR_ENTRIES_AT) / DIR_ENTRY) as u32;

/// Bytes of a BEGIN record.
pub(super) const BEGIN_BYTES: usize = 19;
/// Offset of the trx number within it.
pub(super) const BEGIN_NUMBER: usize = 11;
/// Bytes of a row record before its payload.
pub(super) const ROW_HEADER: usize = 9;

const KIND_BEGIN: u8 = 1;
const KIND_CHANGE: u8 = 2;
const KIND_INSERT: u8 = 3;
pub(super) const KIND_UNDONE: u8 = 4;
const KIND_PREPARED: u8 = 5;
pub(super) const KIND_WITHDRAWN: u8 = 6;
/// Offset of the kind within a record.
pub(super) const KIND_AT: usize = 2;

const INSERT_BIT: u64 = 1 << 63;

/// Where a record is. `NONE` (page 0): nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Position {
    pub page: PageNo,
    pub offset: u16,
}

impl Position {
    pub(in super::super) const NONE: Position = Position { page: 0, offset: 0 };

    pub(in super::super) fn of(at: RollPtr) -> Position {
        Position {
            page: (at.0 >> 16) as u32,
            offset: at.0 as u16,
        }
    }

    pub(in super::super) fn roll_ptr(self, insert: bool) -> RollPtr {
        let insert = if insert { INSERT_BIT } else { 0 };
        RollPtr(u64::from(self.page) << 16 | u64::from(self.offset) | insert)
    }
}

/// A decoded record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Record<'a> {
    Begin {
        trx: u64,
        /// 0: active.
        number: u64,
    },
    Row {
        insert: bool,
        /// Rolled back.
        undone: bool,
        previous: Position,
        payload: &'a [u8],
    },
    Prepared {
        /// Its rollback has begun.
        withdrawn: bool,
        previous: Position,
        xid: &'a [u8],
    },
}

/// Header fields of an undo page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Header {
    pub lane: u32,
    pub prev: PageNo,
    pub next: PageNo,
    /// The BEGIN in force where the page begins.
    pub begin: Position,
    pub begins: u32,
    pub trx: u64,
}

impl Header {
    pub(in super::super) fn read(page: &[u8]) -> Header {
        Header {
            lane: get_u32(page, LANE_AT),
            prev: get_u32(page, PREV_AT),
            next: get_u32(page, NEXT_AT),
            begin: Position {
                page: get_u32(page, 44),
                offset: get_u16(page, 48),
            },
            begins: get_u32(page, 52),
            trx: get_u64(page, 56),
        }
    }

    /// The bytes from `LANE_AT` to `RECORDS_AT`.
    pub(super) fn encode(&self) -> [u8; RECORDS_AT - LANE_AT] {
        let mut b = [0; RECORDS_AT - LANE_AT];
        b[..4].copy_from_slice(&self.lane.to_le_bytes());
        b[4..8].copy_from_slice(&self.prev.to_le_bytes());
        b[8..12].copy_from_slice(&self.next.to_le_bytes());
        b[12..16].copy_from_slice(&self.begin.page.to_le_bytes());
        b[16..18].copy_from_slice(&self.begin.offset.to_le_bytes());
        b[20..24].copy_from_slice(&self.begins.to_le_bytes());
        b[24..32].copy_from_slice(&self.trx.to_le_bytes());
        b
    }
}

pub(super) fn put_begin(out: &mut Vec<u8>, trx: u64) {
    out.extend_from_slice(&(BEGIN_BYTES as u16).to_le_bytes());
    out.push(KIND_BEGIN);
    out.extend_from_slice(&trx.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
}

pub(super) fn put_row(out: &mut Vec<u8>, insert: bool, previous: Position, payload: &[u8]) {
    out.extend_from_slice(&((ROW_HEADER + payload.len()) as u16).to_le_bytes());
    out.push(if insert { KIND_INSERT } else { KIND_CHANGE });
    out.extend_from_slice(&previous.page.to_le_bytes());
    out.extend_from_slice(&previous.offset.to_le_bytes());
    out.extend_from_slice(payload);
}

pub(super) fn put_prepared(out: &mut Vec<u8>, previous: Position, xid: &[u8]) {
    let kind_at = out.len() + KIND_AT;
    put_row(out, false, previous, xid);
    out[kind_at] = KIND_PREPARED;
}

/// Reads the record at `offset` of a whole page (or of a copy of its first bytes): the record and where the next
/// one starts. `Ok(None)`: no more records here. `Err`: the bytes are no record.
pub(in super::super) fn record_at(
    page: &[u8],
    offset: usize,
) -> Result<Option<(Record<'_>, usize)>, String> {
    let bad = |what: &str| Err(format!("offset {offset}: {what}"));
    if offset < RECORDS_AT {
        return bad("no record can be here");
    }
    if offset + 2 > PAGE_SIZE {
        return Ok(None);
    }
    let len = get_u16(page, offset) as usize;
    if len == 0 {
        return Ok(None);
    }
    let next = offset + len;
    if next > PAGE_SIZE || len < ROW_HEADER {
        return bad("the record's length is impossible");
    }
    let b = &page[offset..next];
    let record = match b[2] {
        KIND_BEGIN if len == BEGIN_BYTES => Record::Begin {
            trx: get_u64(b, 3),
            number: get_u64(b, BEGIN_NUMBER),
        },
        kind @ (KIND_CHANGE | KIND_INSERT | KIND_UNDONE) => Record::Row {
            insert: kind == KIND_INSERT,
            undone: kind == KIND_UNDONE,
            previous: Position {
                page: get_u32(b, 3),
                offset: get_u16(b, 7),
            },
            payload: &b[ROW_HEADER..],
        },
        kind @ (KIND_PREPARED | KIND_WITHDRAWN) => Record::Prepared {
            withdrawn: kind == KIND_WITHDRAWN,
            previous: Position {
                page: get_u32(b, 3),
                offset: get_u16(b, 7),
            },
            xid: &b[ROW_HEADER..],
        },
        _ => return bad("the record's kind is unknown"),
    };
    Ok(Some((record, next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_headers_survive_encoding() {
        let mut page = vec![0; PAGE_SIZE];
        let header = Header {
            lane: 7,
            prev: 3,
            next: 0,
            begin: Position {
                page: 9,
                offset: 64,
            },
            begins: 12,
            trx: 1 << 40,
        };
        page[LANE_AT..RECORDS_AT].copy_from_slice(&header.encode());
        assert_eq!(Header::read(&page), header);
        let mut out = Vec::new();
        put_begin(&mut out, 55);
        let begin = Position {
            page: 4,
            offset: RECORDS_AT as u16,
        };
        put_row(&mut out, true, begin, b"abc");
        page[RECORDS_AT..RECORDS_AT + out.len()].copy_from_slice(&out);
        let (first, next) = record_at(&page, RECORDS_AT).unwrap().unwrap();
        assert_eq!(first, Record::Begin { trx: 55, number: 0 });
        let (second, end) = record_at(&page, next).unwrap().unwrap();
        assert_eq!(
            second,
            Record::Row {
                insert: true,
                undone: false,
                previous: begin,
                payload: b"abc"
            }
        );
        assert_eq!(record_at(&page, end).unwrap(), None);
        assert_eq!(record_at(&page, PAGE_SIZE - 1).unwrap(), None);
        page[RECORDS_AT] = 255;
        page[RECORDS_AT + 1] = 255;
        assert!(record_at(&page, RECORDS_AT).is_err());
        let at = begin.roll_ptr(true);
        assert_eq!(Position::of(at), begin);
        assert_ne!(at, begin.roll_ptr(false));
    }
}
