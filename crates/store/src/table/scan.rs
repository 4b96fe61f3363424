//! Ranges of rows.
//!
//! A **consistent** scan copies a batch of entries out of one leaf at a time, small at first so that a short
//! query pays little, and resolves what its view does not see afterwards, with no latch held.
//!
//! A **locking** scan goes entry by entry, for it must not lock beyond what its caller looks at. Under the leaf's
//! latch it first locks the gap behind it (REPEATABLE READ and above), so that nothing can slip in, then tries the record's lock. On a
//! conflict it lets the latch go, waits and looks again. Where the cursor changed leaves, or found none, something may have
//! come to be at the end of the leaf before; with the gap locked now, a second look settles it.

use super::context::Index;
use super::counts::RowOp;
use super::format::{RowHeader, SecValue, cut_short};
use super::range::Span;
use super::read::{RecordLock, Request, RowLock};
use super::visible::{Look, Open, State, look_clustered, look_secondary};
use super::{Direction, Fetch, KeyRange, ReadMode, ScanRow, Table};
use crate::btree::{Cursor, ScanEnd};
use crate::error::Result;
use crate::txn::{Lock, Owner, Txn, TxnSystem};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::mem::{replace, take};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Entries of the first batch; each further batch is larger.
const FIRST_BATCH: usize = 8;
const BATCH_GROWTH: usize = 8;
/// A batch ends when it has copied this much.
const BATCH_BYTES: usize = 64 << 10;

/// An entry of a batch; its bytes are `key` and then `value` from `at` on.
#[derive(Clone, Copy, Debug)]
struct Item {
    at: u32,
    key: u16,
    /// Bytes of the index's own key part.
    own: u16,
    value: u32,
    state: State,
}

/// Memory of a scan, kept by the thread between scans.
struct Buffers {
    cursor: Cursor,
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// The batch's memory while a large one is lent.
    small: Batched,
    row: Vec<u8>,
    key: Vec<u8>,
    /// The key that the locking scan last passed.
    last: Vec<u8>,
    /// The gap up to here was locked before the scan looked again.
    fence: Vec<u8>,
}

impl Buffers {
    /// Takes a large batch, if there is one, in the place of a small one that holds nothing.
    fn grow(&mut self) {
        if self.bytes.capacity() <= KEEP_BYTES
            && let Some((bytes, items)) = BATCHES.lock().pop()
        {
            self.small = (
                replace(&mut self.bytes, bytes),
                replace(&mut self.items, items),
            );
        }
    }
    /// Gives up what is too large for one thread to keep.
    fn shrink(&mut self) {
        let items = self.items.capacity() * size_of::<Item>();
        if self.bytes.capacity().max(items) > KEEP_BYTES {
            let small = take(&mut self.small);
            let mut bytes = replace(&mut self.bytes, small.0);
            let mut items = replace(&mut self.items, small.1);
            bytes.clear();
            items.clear();
            if bytes.capacity() <= 2 * BATCH_BYTES {
                let mut batches = BATCHES.lock();
                if batches.len() < KEEP_BATCHES {
                    batches.push((bytes, items));
                }
            }
        }
        for v in [
            &mut self.row,
            &mut self.key,
            &mut self.last,
            &mut self.fence,
        ] {
            if v.capacity() > KEEP_BYTES {
                *v = Vec::new();
            }
        }
    }
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers {
            cursor: Cursor::new(Bound::Unbounded, Direction::Forward),
            bytes: Vec::new(),
            items: Vec::new(),
            small: Batched::default(),
            row: Vec::new(),
            key: Vec::new(),
            last: Vec::new(),
            fence: Vec::new(),
        }
    }
}

/// A thread keeps buffers of up to this size between scans. Larger batches are lent by all threads to each other.
const KEEP_BYTES: usize = 4 << 10;
const KEEP_SETS: usize = 4;
/// Batches kept for whoever has more to read than a few rows.
const KEEP_BATCHES: usize = 32;

/// Memory of a batch.
type Batched = (Vec<u8>, Vec<Item>);

/// Batches that nobody uses. A leaf: nothing is called while it is locked.
static BATCHES: Mutex<Vec<Batched>> = Mutex::new(Vec::new());

/// Boxed, so that lending a set moves a pointer.
type FreeSets = Vec<Box<Buffers>>;

thread_local! {
    static FREE: RefCell<FreeSets> = const { RefCell::new(Vec::new()) };
}

/// A condition on an entry of a secondary index: key of the index, clustered key.
pub type EntryFilter<'f> = dyn FnMut(&[u8], &[u8]) -> bool + 'f;

/// A scan over one index.
pub struct Scan<'t> {
    table: &'t Table,
    index: usize,
    span: Span,
    dir: Direction,
    mode: ReadMode,
    fetch: Fetch,
    buffers: Option<Box<Buffers>>,
    /// Next item of the batch.
    next: usize,
    batch: usize,
    /// The tree has nothing more in range.
    done: bool,
    /// Locking: whether `last` is set.
    passed: bool,
    /// Locking: the gap up to the end of the range is locked.
    end_locked: bool,
    /// Locking: a lock that was granted anew for the row last returned.
    new_lock: bool,
    read: u64,
}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        self.table.count_scanned(self.index, &self.span, self.read);
        let Some(mut b) = self.buffers.take() else {
            return;
        };
        b.shrink();
        let _ = FREE.try_with(|f| {
            let mut free = f.borrow_mut();
            if free.len() < KEEP_SETS {
                free.push(b);
            }
        });
    }
}

impl Table {
    /// Opens a scan.
    pub fn scan<'t>(
        &'t self,
        txn: &mut Txn,
        index: usize,
        range: KeyRange,
        dir: Direction,
        mode: ReadMode,
        fetch: Fetch,
    ) -> Result<Scan<'t>> {
        if mode == ReadMode::Consistent {
            self.view_of(txn, index)?;
        } else {
            self.index(index)?;
        }
        let equality = matches!(
            (&range.lower, &range.upper),
            (Bound::Included(low), Bound::Included(high)) if low == high
        );
        let span = Span::of(range);
        let free = FREE.try_with(|f| f.borrow_mut().pop());
        let mut buffers = free.ok().flatten().unwrap_or_default();
        let from = match (dir, &span) {
            (Direction::Forward, s) => s.lower(),
            (Direction::Backward, s) => s.upper(),
        };
        match from {
            Bound::Included(key) if equality && dir == Direction::Forward => {
                buffers.cursor.reset_to_first(key);
            }
            _ => buffers.cursor.reset(from, dir),
        }
        buffers.items.clear();
        Ok(Scan {
            table: self,
            index,
            done: span.empty,
            span,
            dir,
            mode,
            fetch,
            buffers: Some(buffers),
            next: 0,
            batch: FIRST_BATCH,
            passed: false,
            end_locked: false,
            new_lock: false,
            read: 0,
        })
    }
}

impl Table {
    /// Counts the rows that a scan has read.
    pub(super) fn count_scanned(&self, index: usize, span: &Span, rows: u64) {
        let whole = index == 0 && span.low.is_empty() && span.high.is_none();
        let op = if whole { RowOp::Passed } else { RowOp::Read };
        if rows > 0 {
            self.indexes[index].counts.add(op, rows);
        }
    }
}

impl Scan<'_> {
    /// The next row, or `None`.
    #[inline]
    pub fn next(&mut self, txn: &mut Txn) -> Result<Option<ScanRow<'_>>> {
        self.next_where(txn, None)
    }

    /// The next row whose entry a condition lets pass, or `None`. It is asked of entries of a secondary index whose rows would have to
    /// be fetched or locked: key of the index, clustered key. An entry it turns down costs neither (index condition pushdown), but the
    /// gap before it is locked as ever, so that no row comes to be where it was looked for. It may be asked of entries that turn
    /// out to be of no row that is seen; rows that need no fetching may come unasked.
    #[inline]
    pub fn next_where(
        &mut self,
        txn: &mut Txn,
        only: Option<&mut EntryFilter<'_>>,
    ) -> Result<Option<ScanRow<'_>>> {
        match self.mode {
            ReadMode::Consistent => self.next_consistent(txn, only),
            ReadMode::Locking(mode, policy) => {
                self.next_locked(txn, Request { mode, policy }, only)
            }
        }
    }

    /// Under READ COMMITTED, releases the lock of the row last returned (it did not match).
    pub fn unlock_row(&mut self, txn: &mut Txn) {
        let Some(b) = &self.buffers else { return };
        if !self.new_lock || self.table.locks_gaps(txn) {
            return;
        }
        self.new_lock = false;
        self.table.unlock_record(txn.owner(), &b.key);
    }

    fn next_consistent(
        &mut self,
        txn: &mut Txn,
        mut only: Option<&mut EntryFilter<'_>>,
    ) -> Result<Option<ScanRow<'_>>> {
        let view = self.table.ctx.sys.view(txn);
        let b = self.buffers.as_mut().expect("present until drop");
        loop {
            let Some(&item) = b.items.get(self.next) else {
                if self.done {
                    return Ok(None);
                }
                b.items.clear();
                b.bytes.clear();
                if self.batch > FIRST_BATCH {
                    b.grow();
                }
                let mut batch = Batch {
                    bytes: &mut b.bytes,
                    items: &mut b.items,
                    want: self.batch,
                    ended: false,
                    damaged: false,
                };
                let (clustered, tree) = (self.index == 0, &self.table.indexes[self.index].tree);
                let upgrades = self.table.upgrader();
                let end = b.cursor.scan(tree, &mut |key, value| {
                    if out_of_range(&self.span, self.dir, key) {
                        batch.ended = true;
                        return ControlFlow::Break(());
                    }
                    let look = if clustered {
                        look_clustered(upgrades, view, self.fetch, key, value)
                    } else {
                        look_secondary(view, self.fetch, key, value)
                    };
                    batch.take(key, look)
                })?;
                if batch.damaged {
                    return Err(self.table.corrupt_index(self.index, "has a damaged entry"));
                }
                self.done = batch.ended || end == ScanEnd::End;
                self.batch = self.batch.saturating_mul(BATCH_GROWTH);
                self.next = 0;
                continue;
            };
            self.next += 1;
            let at = item.at as usize;
            let key = at..at + usize::from(item.key);
            let value = key.end..key.end + item.value as usize;
            let clustered = if self.index == 0 {
                key.clone()
            } else {
                at + usize::from(item.own)..key.end
            };
            if item.state != State::Ready {
                if matches!(item.state, State::Sure | State::Maybe)
                    && let Some(only) = &mut only
                    && !only(
                        &b.bytes[at..at + usize::from(item.own)],
                        &b.bytes[clustered.clone()],
                    )
                {
                    continue;
                }
                let Buffers {
                    bytes, row, key: k, ..
                } = &mut **b;
                let entry = Open {
                    state: item.state,
                    key: &bytes[key.clone()],
                    own: usize::from(item.own),
                    value: &bytes[value.clone()],
                };
                if !self.table.complete(view, self.index, entry, row, k)? {
                    continue;
                }
            }
            self.read += 1;
            let b: &Buffers = b;
            return Ok(Some(ScanRow {
                key: &b.bytes[at..at + usize::from(item.own)],
                clustered_key: &b.bytes[clustered],
                row: match self.fetch {
                    Fetch::Key => &[],
                    Fetch::Row if item.state == State::Ready => &b.bytes[value],
                    Fetch::Row => &b.row,
                },
            }));
        }
    }

    fn next_locked(
        &mut self,
        txn: &mut Txn,
        request: Request,
        only: Option<&mut EntryFilter<'_>>,
    ) -> Result<Option<ScanRow<'_>>> {
        self.new_lock = false;
        if self.done {
            return Ok(None);
        }
        if self.table.mdl.is_some() {
            self.table.ctx.sys.locks().room()?;
        }
        let gaps = self.table.locks_gaps(txn);
        if self.index == 0 {
            self.next_locked_clustered(txn, request, gaps)
        } else {
            self.next_locked_secondary(txn, request, gaps, only)
        }
    }

    fn next_locked_clustered(
        &mut self,
        txn: &mut Txn,
        request: Request,
        gaps: bool,
    ) -> Result<Option<ScanRow<'_>>> {
        let table = self.table;
        let index = &*table.indexes[0];
        // A record waited for: its lock is new, and ours even if the row is gone by now.
        let mut waited: Option<Vec<u8>> = None;
        let b = self.buffers.as_mut().expect("present until drop");
        loop {
            let me = txn.id();
            let owner = txn.owner();
            let mut found = RecordLock::Marked;
            let step = step(
                Step {
                    sys: &table.ctx.sys,
                    index,
                    span: &self.span,
                    dir: self.dir,
                    gaps,
                    owner,
                },
                b,
                &mut self.passed,
                &mut self.end_locked,
                &mut |key, value, b_key, b_row| {
                    found = table.try_lock_value(owner, me, key, value, request.mode);
                    if found == RecordLock::Marked {
                        return false;
                    }
                    b_key.clear();
                    b_key.extend_from_slice(key);
                    b_row.clear();
                    b_row.extend_from_slice(value);
                    true
                },
            )?;
            if let Some(w) =
                waited.take_if(|w| !step || found != RecordLock::Conflict && *w != b.key)
                && !gaps
            {
                // The row waited for is gone.
                table.unlock_record(owner, &w);
            }
            if !step {
                self.done = true;
                return Ok(None);
            }
            match found {
                RecordLock::Granted(new) => {
                    self.new_lock = new || waited.is_some();
                    let header = RowHeader::read(&b.row).ok_or_else(cut_short)?;
                    if self.fetch == Fetch::Row {
                        table.strip(header, &mut b.row)?;
                    } else {
                        b.row.clear();
                    }
                    pass(b, &mut self.passed);
                    self.read += 1;
                    return Ok(Some(ScanRow {
                        key: &b.key,
                        clustered_key: &b.key,
                        row: &b.row,
                    }));
                }
                RecordLock::Conflict => {
                    let (mode, policy) = (request.mode, request.policy);
                    let locks = table.ctx.sys.locks();
                    match locks.lock(owner, index.space, &b.key, mode, policy)? {
                        Lock::New => waited = Some(b.key.clone()),
                        Lock::Held => {}
                        Lock::Skipped => {
                            pass(b, &mut self.passed);
                            continue;
                        }
                    }
                    // Look at it again from the key before.
                    rewind(b, &self.span, self.dir, self.passed);
                }
                RecordLock::Marked => {}
                RecordLock::Damaged => return Err(table.corrupt_index(0, "has a damaged entry")),
            }
        }
    }

    fn next_locked_secondary(
        &mut self,
        txn: &mut Txn,
        request: Request,
        gaps: bool,
        mut only: Option<&mut EntryFilter<'_>>,
    ) -> Result<Option<ScanRow<'_>>> {
        let table = self.table;
        let index = &*table.indexes[self.index];
        let b = self.buffers.as_mut().expect("present until drop");
        loop {
            let (mut own, mut damaged) = (0, false);
            let me = txn.id();
            let found = step(
                Step {
                    sys: &table.ctx.sys,
                    index,
                    span: &self.span,
                    dir: self.dir,
                    gaps,
                    owner: txn.owner(),
                },
                b,
                &mut self.passed,
                &mut self.end_locked,
                &mut |key, value, b_key, _| {
                    let value = SecValue::read(value);
                    let Some(value) = value.filter(|v| usize::from(v.key_len) <= key.len()) else {
                        damaged = true;
                        return true;
                    };
                    // One that an unfinished transaction marked may come back.
                    if value.marked() && (value.trx == me || !table.ctx.sys.is_active(value.trx)) {
                        return false;
                    }
                    own = usize::from(value.key_len);
                    b_key.clear();
                    b_key.extend_from_slice(key);
                    true
                },
            )?;
            if damaged {
                return Err(table.corrupt_index(self.index, "has a damaged entry"));
            }
            if !found {
                self.done = true;
                return Ok(None);
            }
            // `last` keeps the whole entry, `key` the clustered key alone, by which the row is locked.
            pass(b, &mut self.passed);
            b.key.drain(..own);
            if let Some(only) = &mut only
                && !only(&b.last[..own], &b.key)
            {
                continue;
            }
            match table.lock_row(txn, &b.key, request, false, Some(&mut b.row))? {
                RowLock::Granted(new) => {
                    let entry = &b.last[..own];
                    if !table.has_key(self.index, &b.row, entry, &mut b.bytes)? {
                        if new && !gaps {
                            table.unlock_record(txn.owner(), &b.key);
                        }
                        continue;
                    }
                    self.new_lock = new;
                    self.read += 1;
                    return Ok(Some(ScanRow {
                        key: &b.last[..own],
                        clustered_key: &b.key,
                        row: if self.fetch == Fetch::Row {
                            &b.row
                        } else {
                            &[]
                        },
                    }));
                }
                RowLock::Absent | RowLock::Skipped => {}
            }
        }
    }
}

fn out_of_range(span: &Span, dir: Direction, key: &[u8]) -> bool {
    match dir {
        Direction::Forward => span.ends_before(key),
        Direction::Backward => span.starts_after(key),
    }
}

/// The key in `b.key` has been dealt with.
fn pass(b: &mut Buffers, passed: &mut bool) {
    b.last.clear();
    b.last.extend_from_slice(&b.key);
    *passed = true;
}

/// Puts the cursor behind the key last passed.
fn rewind(b: &mut Buffers, span: &Span, dir: Direction, passed: bool) {
    let from = match (passed, dir) {
        (true, _) => Bound::Excluded(&b.last[..]),
        (false, Direction::Forward) => span.lower(),
        (false, Direction::Backward) => span.upper(),
    };
    b.cursor.reset(from, dir);
}

/// What a locking scan's step works with.
struct Step<'s> {
    sys: &'s TxnSystem,
    index: &'s Index,
    span: &'s Span,
    dir: Direction,
    gaps: bool,
    owner: &'s Arc<Owner>,
}

/// Moves a locking scan to the next entry that `take` accepts; `false` at the end. `take` sees key and
/// value under the leaf's latch and may fill the key and row buffers. Gaps passed are locked on the way.
#[expect(clippy::type_complexity)]
fn step(
    s: Step<'_>,
    b: &mut Buffers,
    passed: &mut bool,
    end_locked: &mut bool,
    take: &mut dyn FnMut(&[u8], &[u8], &mut Vec<u8>, &mut Vec<u8>) -> bool,
) -> Result<bool> {
    let locks = s.sys.locks();
    let mut fenced = false;
    loop {
        let (mut taken, mut ended, mut unsure) = (false, false, false);
        let end = {
            let Buffers {
                cursor,
                row,
                key: b_key,
                last,
                fence,
                ..
            } = b;
            let mut first = true;
            let gap_from = |last: &[u8], passed: bool, key: Option<&[u8]>| {
                let end = match key {
                    Some(k) => Bound::Included(k),
                    None if s.dir == Direction::Forward => s.span.upper(),
                    None => s.span.lower(),
                };
                let start = match (passed, s.dir) {
                    (true, _) => Bound::Excluded(last),
                    (false, Direction::Forward) => s.span.lower(),
                    (false, Direction::Backward) => s.span.upper(),
                };
                let (lower, upper) = match s.dir {
                    Direction::Forward => (start, end),
                    Direction::Backward => (end, start),
                };
                locks.lock_gap(s.owner, s.index.space, lower, upper);
            };
            let end = cursor.scan_crossing(&s.index.tree, &mut |key, value, crossed| {
                if out_of_range(s.span, s.dir, key) {
                    ended = true;
                    if s.gaps && !*end_locked {
                        gap_from(last, *passed, None);
                        *end_locked = true;
                        unsure = crossed && first;
                    }
                    return ControlFlow::Break(());
                }
                if s.gaps && !*end_locked {
                    gap_from(last, *passed, Some(key));
                    let locked_before = fenced
                        && match s.dir {
                            Direction::Forward => key <= fence.as_slice(),
                            Direction::Backward => key >= fence.as_slice(),
                        };
                    if crossed && first && !locked_before {
                        fence.clear();
                        fence.extend_from_slice(key);
                        (fenced, unsure) = (true, true);
                        return ControlFlow::Break(());
                    }
                }
                first = false;
                if take(key, value, b_key, row) {
                    taken = true;
                    return ControlFlow::Break(());
                }
                last.clear();
                last.extend_from_slice(key);
                *passed = true;
                ControlFlow::Continue(())
            })?;
            if end == ScanEnd::End && !taken && s.gaps && !*end_locked {
                gap_from(last, *passed, None);
                *end_locked = true;
                unsure = true;
            }
            end
        };
        if taken {
            return Ok(true);
        }
        if unsure {
            rewind(b, s.span, s.dir, *passed);
            continue;
        }
        if ended || end == ScanEnd::End {
            return Ok(false);
        }
    }
}

/// A batch being filled under a leaf's latch.
struct Batch<'b> {
    bytes: &'b mut Vec<u8>,
    items: &'b mut Vec<Item>,
    want: usize,
    ended: bool,
    /// An entry is not what it must be.
    damaged: bool,
}

impl Batch<'_> {
    #[inline]
    fn take(&mut self, key: &[u8], look: Look<'_>) -> ControlFlow<()> {
        match look {
            Look::Gone => ControlFlow::Continue(()),
            Look::Damaged => {
                self.damaged = true;
                ControlFlow::Break(())
            }
            Look::Row { state, own, value } => self.push(key, own, value, state),
        }
    }

    #[inline]
    fn push(&mut self, key: &[u8], own: u16, value: &[u8], state: State) -> ControlFlow<()> {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.items.push(Item {
            at,
            key: key.len() as u16,
            own,
            value: value.len() as u32,
            state,
        });
        if self.items.len() >= self.want || self.bytes.len() >= BATCH_BYTES {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
