//! Redo operations: what a mini-transaction may do to a page. Each is *physiological*: it names one
//! page and is a deterministic function of that page's bytes. Run time and recovery share [`Op::apply`].

use crate::error::Result;
use crate::page::{PageNo, PageType};
use crate::space::{FileId, SpaceId};

/// One change to one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<'a> {
    /// Formats the page: zeroes the body, sets type, and for B+tree pages an empty slotted page of
    /// this level (0 = leaf). Needs nothing of the old contents.
    Init {
        /// New type.
        kind: PageType,
        /// B+tree level.
        level: u8,
    },
    /// Overwrites bytes at `offset` (from the start of the page; never the header).
    Bytes {
        /// Offset in the page.
        offset: u16,
        /// New bytes.
        data: &'a [u8],
    },
    /// Inserts a record at `slot`, moving later slots up.
    Insert {
        /// Slot number.
        slot: u16,
        /// Key bytes.
        key: &'a [u8],
        /// Value bytes.
        value: &'a [u8],
    },
    /// Removes the record at `slot`.
    Remove {
        /// Slot number.
        slot: u16,
    },
    /// Overwrites bytes `offset..` of the value of the record at `slot`; the length stays.
    Patch {
        /// Slot number.
        slot: u16,
        /// Offset within the value.
        offset: u16,
        /// New bytes.
        data: &'a [u8],
    },
    /// Replaces the value at `slot`: keeps its first `prefix` and last `suffix` bytes around `data`.
    Splice {
        /// Slot number.
        slot: u16,
        /// Bytes kept at the front.
        prefix: u16,
        /// Bytes kept at the back.
        suffix: u16,
        /// Bytes between.
        data: &'a [u8],
    },
    /// Removes every record from `slot` on.
    Truncate {
        /// First slot removed.
        slot: u16,
    },
    /// Appends records after the last slot (the receiving half of a split or merge). `data` is a run
    /// of `key_len: u16, value_len: u16, key, value`.
    Append {
        /// The encoded records.
        data: &'a [u8],
    },
    /// Replaces the whole body (bytes after the header), e.g. by a bulk builder.
    Image {
        /// Page type.
        kind: PageType,
        /// The body, cut after its last non-zero byte.
        body: &'a [u8],
    },
    /// Marks the page free.
    Free,
}

/// Where an operation applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Space.
    pub space: SpaceId,
    /// File it lives in.
    pub file: FileId,
    /// Page.
    pub page: PageNo,
}

impl Op<'_> {
    /// Applies to a page of `PAGE_SIZE` bytes. `target` fills the header on `Init` and `Image`.
    pub fn apply(&self, _target: Target, _page: &mut [u8]) {
        todo!()
    }
    /// Appends `target` and the operation to a group's payload.
    pub fn encode(&self, _target: Target, _out: &mut Vec<u8>) {
        todo!()
    }
}

/// Iterates over the operations of a group's payload.
pub fn decode(_payload: &[u8]) -> impl Iterator<Item = Result<(Target, Op<'_>)>> {
    std::iter::empty()
}
