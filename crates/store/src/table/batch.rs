//! Ranges of rows by batches, as a snapshot sees them: what reads much, on one thread or several.
//!
//! Leaves are copied whole, each under its latch, into memory that the scan keeps; whose versions the view sees is decided in the copies, where
//! rows stay. What an entry alone doesn't tell (older versions, tails of long rows, rows behind secondary entries) is fetched
//! afterwards and stored behind the copies. So no latch is held while anybody works on a batch.
//!
//! The work of one call is bounded, whatever of it turns out to be invisible: a batch may be empty with more to come.

use super::range::Span;
use super::visible::{Look, Open, State, look_clustered, look_secondary};
use super::{Direction, Fetch, KeyRange, ScanRow, Table};
use crate::btree::{Cursor, ReadAhead, ScanEnd};
use crate::error::Result;
use crate::page::{PAGE_SIZE, slotted};
use crate::txn::{ReadView, Snapshot};
use parking_lot::Mutex;
use std::ops::{Bound, Range};

/// Rows that a batch has at most.
pub const BATCH_ROWS: usize = 1024;
/// Leaves copied for a batch.
const BATCH_LEAVES: usize = 8;
/// A batch ends when this much was stored behind the leaves, bytes.
const FETCHED_BYTES: usize = 128 << 10;
/// A batch ends when so many of its entries took more than a look: each may read pages and walk back through versions, and whoever
/// kills the statement waits for a batch.
const FETCHED_ROWS: usize = 128;

/// A batch's memory larger than this is not kept.
const KEEP_BYTES: usize = BATCH_LEAVES * PAGE_SIZE + 2 * FETCHED_BYTES;
/// Sets of buffers kept for later scans.
const KEEP_SETS: usize = 32;

/// Sets that nobody uses. A leaf: nothing is called while it is locked.
static FREE: Mutex<Vec<Buffers>> = Mutex::new(Vec::new());

/// A row of a batch: places in its memory.
#[derive(Clone, Copy, Debug)]
struct Item {
    key: u32,
    key_len: u16,
    /// Bytes of the index's own key part.
    own: u16,
    /// The row; of an entry that is not complete, its value.
    row: u32,
    row_len: u32,
}

/// An item that is not complete.
#[derive(Clone, Copy, Debug)]
struct Pending {
    item: u32,
    state: State,
}

#[derive(Default)]
struct Buffers {
    /// Copies of leaves, [`PAGE_SIZE`] each, then rows that were fetched.
    bytes: Vec<u8>,
    items: Vec<Item>,
    pending: Vec<Pending>,
    row: Vec<u8>,
    key: Vec<u8>,
}

/// A scan over a range of one index, by batches, forward, of one view.
pub struct BatchScan<'t> {
    table: &'t Table,
    view: &'t ReadView,
    index: usize,
    fetch: Fetch,
    span: Span,
    cursor: Cursor,
    ahead: ReadAhead,
    buffers: Buffers,
    /// Leaves that there is memory for in `bytes`, and copies there are.
    blocks: usize,
    copies: usize,
    /// Slots of the last copy that have not been looked at.
    slots: Range<u16>,
    /// The tree has nothing more in range.
    done: bool,
    /// Items given, and pending ones dealt with.
    given: usize,
    dealt: usize,
    read: u64,
}

/// Rows of a [`BatchScan`], in the index's order; valid until its next call.
#[derive(Clone, Copy)]
pub struct RowBatch<'b> {
    bytes: &'b [u8],
    items: &'b [Item],
    clustered: bool,
}

impl<'b> RowBatch<'b> {
    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// A row; empty under [`Fetch::Key`].
    #[inline]
    pub fn row(&self, at: usize) -> &'b [u8] {
        let item = self.items[at];
        &self.bytes[item.row as usize..][..item.row_len as usize]
    }

    /// The index's own key part.
    #[inline]
    pub fn key(&self, at: usize) -> &'b [u8] {
        let item = self.items[at];
        &self.bytes[item.key as usize..][..usize::from(item.own)]
    }

    /// The clustered key.
    #[inline]
    pub fn clustered_key(&self, at: usize) -> &'b [u8] {
        let item = self.items[at];
        let whole = &self.bytes[item.key as usize..][..usize::from(item.key_len)];
        match self.clustered {
            true => whole,
            false => &whole[usize::from(item.own)..],
        }
    }

    /// All rows, with their keys.
    pub fn iter(self) -> impl ExactSizeIterator<Item = ScanRow<'b>> {
        (0..self.len()).map(move |at| ScanRow {
            key: self.key(at),
            clustered_key: self.clustered_key(at),
            row: self.row(at),
        })
    }
}

impl Table {
    /// Opens a scan by batches; any number of them may read one snapshot at a time. Refused as [`Table::scan`] is if the index is
    /// younger than the view.
    pub fn scan_batches<'t>(
        &'t self,
        snapshot: Snapshot<'t>,
        index: usize,
        range: KeyRange,
        fetch: Fetch,
    ) -> Result<BatchScan<'t>> {
        let view = snapshot.view();
        self.check_age(view, index)?;
        let span = Span::of(range);
        let cursor = Cursor::new(span.lower(), Direction::Forward);
        let mut buffers = FREE.lock().pop().unwrap_or_default();
        buffers.items.clear();
        buffers.pending.clear();
        let blocks = (buffers.bytes.len() / PAGE_SIZE).min(BATCH_LEAVES);
        Ok(BatchScan {
            table: self,
            view,
            index,
            fetch,
            done: span.empty,
            span,
            cursor,
            ahead: ReadAhead::default(),
            buffers,
            blocks,
            copies: 0,
            slots: 0..0,
            given: 0,
            dealt: 0,
            read: 0,
        })
    }
}

impl Drop for BatchScan<'_> {
    fn drop(&mut self) {
        self.table.count_scanned(self.index, &self.span, self.read);
        let buffers = std::mem::take(&mut self.buffers);
        if buffers.bytes.capacity() + buffers.row.capacity() <= KEEP_BYTES {
            let mut free = FREE.lock();
            if free.len() < KEEP_SETS {
                free.push(buffers);
            }
        }
    }
}

impl BatchScan<'_> {
    /// The next batch, or `None` at the end. It may be empty: so much of the range has no row for the view.
    #[expect(clippy::should_implement_trait, reason = "the batch borrows the scan")]
    pub fn next(&mut self) -> Result<Option<RowBatch<'_>>> {
        if self.given == self.buffers.items.len() {
            if self.done && self.slots.is_empty() {
                return Ok(None);
            }
            self.fill()?;
        }
        let rows = self.complete()?;
        self.read += rows.len() as u64;
        Ok(Some(RowBatch {
            bytes: &self.buffers.bytes,
            items: &self.buffers.items[rows],
            clustered: self.index == 0,
        }))
    }

    /// Looks at further entries, as many as a batch has or as leaves may be copied for.
    fn fill(&mut self) -> Result<()> {
        (self.given, self.dealt) = (0, 0);
        let b = &mut self.buffers;
        b.items.clear();
        b.pending.clear();
        b.bytes.truncate(self.blocks * PAGE_SIZE);
        if self.slots.is_empty() {
            self.copies = 0;
        } else if self.copies > 1 {
            let last = (self.copies - 1) * PAGE_SIZE;
            b.bytes.copy_within(last..last + PAGE_SIZE, 0);
            self.copies = 1;
        }
        loop {
            self.look()?;
            let full = self.buffers.items.len() == BATCH_ROWS || self.copies == BATCH_LEAVES;
            if full || self.done {
                return Ok(());
            }
            self.copy()?;
        }
    }

    /// Copies the next leaf.
    fn copy(&mut self) -> Result<()> {
        if self.copies == self.blocks {
            self.blocks += 1;
            self.buffers.bytes.resize(self.blocks * PAGE_SIZE, 0);
        }
        let at = self.copies * PAGE_SIZE;
        let page = &mut self.buffers.bytes[at..at + PAGE_SIZE];
        let tree = &self.table.indexes[self.index].tree;
        let Some((first, end)) = self.cursor.copy_leaf(tree, page)? else {
            self.done = true;
            return Ok(());
        };
        self.copies += 1;
        self.done = end == ScanEnd::End;
        let mut count = slotted::count(page);
        if let Bound::Excluded(high) = self.span.upper()
            && slotted::key(page, count - 1) >= high
        {
            let (Ok(slot) | Err(slot)) = slotted::search(page, high);
            count = slot;
            self.done = true;
        }
        self.slots = first.min(count)..count;
        if !self.done {
            let (right, high) = (slotted::right(page), self.span.high.as_deref());
            self.ahead.step(tree, self.cursor.key(), right, high);
        }
        Ok(())
    }

    /// Looks at the last copy's remaining entries until the batch is full.
    fn look(&mut self) -> Result<()> {
        if self.slots.is_empty() {
            return Ok(());
        }
        let (view, fetch) = (Some(self.view), self.fetch);
        let upgrades = self.table.upgrader();
        let sound = match self.index {
            0 => self.look_with(|key, value| look_clustered(upgrades, view, fetch, key, value)),
            _ => self.look_with(|key, value| look_secondary(view, fetch, key, value)),
        };
        match sound {
            true => Ok(()),
            false => Err(self.table.corrupt_index(self.index, "has a damaged entry")),
        }
    }

    /// `false`: there is a damaged entry.
    #[inline(always)]
    fn look_with(&mut self, look: impl for<'v> Fn(&[u8], &'v [u8]) -> Look<'v>) -> bool {
        let Buffers {
            bytes,
            items,
            pending,
            ..
        } = &mut self.buffers;
        let base = (self.copies - 1) * PAGE_SIZE;
        let page = &bytes[base..base + PAGE_SIZE];
        while self.slots.start < self.slots.end && items.len() < BATCH_ROWS {
            let slot = self.slots.start;
            self.slots.start += 1;
            let (key, value) = slotted::entry(page, slot);
            let (state, own, kept) = match look(key, value) {
                Look::Gone => continue,
                Look::Damaged => return false,
                Look::Row { state, own, value } => (state, own, value.len()),
            };
            if state != State::Ready {
                let item = items.len() as u32;
                pending.push(Pending { item, state });
            }
            let at = base + slotted::key_offset(page, slot);
            // What is kept of the value is its end, or nothing.
            let end = at + key.len() + value.len();
            items.push(Item {
                key: at as u32,
                key_len: key.len() as u16,
                own,
                row: (end - kept) as u32,
                row_len: kept as u32,
            });
        }
        true
    }

    /// Completes entries as far as a batch goes; the items that make it.
    fn complete(&mut self) -> Result<Range<usize>> {
        let Buffers {
            bytes,
            items,
            pending,
            row,
            key,
        } = &mut self.buffers;
        let copies = self.blocks * PAGE_SIZE;
        bytes.truncate(copies);
        if bytes.capacity() > KEEP_BYTES {
            bytes.shrink_to(KEEP_BYTES);
        }
        let from = self.given;
        // Items up to `next` have been dealt with, and those to be given lie before `kept`.
        let (mut next, mut kept) = (from, from);
        let mut fetched = 0;
        while self.dealt < pending.len()
            && fetched < FETCHED_ROWS
            && bytes.len() < copies + FETCHED_BYTES
        {
            let Pending { item: at, state } = pending[self.dealt];
            // What is at hand needs no more than a copy.
            fetched += usize::from(state != State::Earlier);
            let at = at as usize;
            items.copy_within(next..at, kept);
            kept += at - next;
            next = at + 1;
            self.dealt += 1;
            let mut item = items[at];
            let entry = Open {
                state,
                key: &bytes[item.key as usize..][..usize::from(item.key_len)],
                own: usize::from(item.own),
                value: &bytes[item.row as usize..][..item.row_len as usize],
            };
            if !self
                .table
                .complete(Some(self.view), self.index, entry, row, key)?
            {
                continue;
            }
            item.row = bytes.len() as u32;
            item.row_len = 0;
            if self.fetch == Fetch::Row {
                bytes.extend_from_slice(row);
                item.row_len = row.len() as u32;
            }
            items[kept] = item;
            kept += 1;
        }
        let to = pending
            .get(self.dealt)
            .map_or(items.len(), |p| p.item as usize);
        items.copy_within(next..to, kept);
        kept += to - next;
        self.given = to;
        Ok(from..kept)
    }
}
