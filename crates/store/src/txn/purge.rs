//! Purge: hands finished transactions' records to the [`UndoHandler`] once every view sees them, and frees the
//! undo pages it leaves.
//!
//! **What may be purged.** A transaction that the oldest view sees: no view, open now or later, asks for the versions
//! before it. Lanes are taken in the order of their first transactions' numbers, but nothing depends on the order: a
//! lane is walked by one thread at a time, and what the handler does to a row depends only on the row and the record.
//!
//! **Positions.** In memory, one per lane. On disk only the lane's first page: after a crash the records of that page
//! are purged again, which is harmless.
//!
//! **Life of a lane here:** *idle* (nothing to purge that purge knows of), *queued* (in the heap, under the
//! number of its first unpurged transaction), *taken* by a thread, or parked. The end of a transaction makes an idle lane queued; a
//! thread that has come to the end of a lane makes it idle unless it has become longer meanwhile.
//!
//! **Failure.** A lane in which something fails, a page that cannot be read, say, is *parked*: left alone for a while, then tried again,
//! while the others are served. Once the log has stopped nothing is purged any more, but the threads go on undoing transactions that
//! were dropped unfinished, in memory, or else leave them to recovery: their locks must go. A panic is a failure like any other
//! (`guard`): no thread ends by it.
//!
//! Threads sleep until enough transactions have ended or some time has passed.
//! They hold no latch and no mutex while calling the handler.

use super::guard::guarded;
use super::sys::TxnSystem;
use super::undo::lanes::{Lane, UndoFile, corrupt};
use super::undo::page::{Header, Position, RECORDS_AT, Record, record_at};
use super::{ReadView, RollPtr, TrxId, Txn, UndoHandler};
use crate::error::Result;
use crate::page::{PAGE_SIZE, PageNo};
use crate::wait::{self, Class};
use parking_lot::{Condvar, Mutex};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Transactions that end before sleeping threads are woken.
const WAKE_AFTER: u32 = 64;
/// How long a thread sleeps unless woken: at first and at most while something is left to purge; at most if
/// nothing is, so that the leavings of the last few transactions do not wait for others to follow.
const NAP_FIRST: Duration = Duration::from_millis(10);
const NAP_LONGEST: Duration = Duration::from_secs(1);
/// How long a lane is parked after its first failure, and after many.
const PARK_FIRST: Duration = Duration::from_millis(100);
const PARK_LONGEST: Duration = Duration::from_secs(60);
/// Undo pages a thread walks in one lane before it looks at the others.
const PAGES_PER_TURN: u32 = 64;

/// Purge's part of the transaction system.
#[derive(Default)]
pub(super) struct Purge {
    state: wait::Mutex<State, { Class::Purge as usize }>,
    wake: Condvar,
    stop: AtomicBool,
    /// Finished transactions not purged yet.
    history: AtomicU64,
    purged: AtomicU64,
    /// Held by the thread that moves lanes.
    moving: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Number and id of a lane's first unpurged transaction, lane.
type Queued = (u64, TrxId, u32);

#[derive(Default)]
struct State {
    /// Lanes no transaction has; the last is taken first.
    free: Vec<Lane>,
    heads: Vec<Head>,
    /// Queued lanes.
    queue: BinaryHeap<Reverse<Queued>>,
    /// Parked lanes, and until when.
    parked: Vec<(Instant, Queued)>,
    /// Ends since a thread was woken.
    ended: u32,
    sleeping: u32,
    abandoned: Vec<Txn>,
}

/// Where purge is in a lane.
#[derive(Clone, Copy)]
struct Head {
    at: Position,
    /// The transaction whose records are being purged; 0: a BEGIN comes next.
    trx: TrxId,
    /// Whether that transaction still counts as history.
    counted: bool,
    /// How often the lane has become longer since opening: transactions ended in it, and it was moved.
    grown: u64,
    idle: bool,
    /// Failures since something was last purged.
    failures: u32,
}

/// Why a thread left a lane.
enum Left {
    /// At the end of the lane, or at an unfinished transaction.
    End,
    /// At a transaction that is finished: its number and id.
    At(u64, TrxId),
    /// Something failed there.
    Failing(u64, TrxId),
}

impl State {
    /// The lane whose turn it is.
    fn next(&mut self) -> Option<Queued> {
        if !self.parked.is_empty() {
            let now = Instant::now();
            let due = self.parked.extract_if(.., |(until, _)| *until <= now);
            self.queue.extend(due.map(|(_, queued)| Reverse(queued)));
        }
        self.queue.pop().map(|Reverse(queued)| queued)
    }
}

impl Purge {
    /// Takes a lane found at open. One with an unfinished transaction comes back.
    pub(super) fn adopt(
        &self,
        lane: Lane,
        first: PageNo,
        purging: TrxId,
        history: u64,
        free: bool,
    ) -> Option<Lane> {
        let mut state = self.state.lock();
        let offset = RECORDS_AT as u16;
        let head = Head {
            at: Position {
                page: first,
                offset,
            },
            trx: purging,
            counted: false,
            grown: 0,
            idle: false,
            failures: 0,
        };
        // Lanes before it that could not be read are nobody's.
        state
            .heads
            .resize(lane.no as usize, Head { idle: true, ..head });
        state.heads.push(head);
        // What is there is found out by the first visit.
        state.queue.push(Reverse((0, 0, lane.no)));
        self.history.fetch_add(history, Ordering::Relaxed);
        if free {
            state.free.push(lane);
            return None;
        }
        Some(lane)
    }

    /// A lane for a transaction.
    #[inline]
    pub(super) fn take_lane(&self, undo: &UndoFile) -> Result<Lane> {
        if let Some(lane) = self.state.lock().free.pop() {
            return Ok(lane);
        }
        let lane = undo.new_lane()?;
        let mut state = self.state.lock();
        let no = lane.no as usize;
        let head = Head {
            at: Position::NONE,
            trx: 0,
            counted: false,
            grown: 0,
            idle: true,
            failures: 0,
        };
        if state.heads.len() <= no {
            // Lanes made at the same time may arrive out of order.
            state.heads.resize(no + 1, head);
        }
        state.heads[no].at = Position {
            page: lane.tail,
            offset: RECORDS_AT as u16,
        };
        Ok(lane)
    }

    /// A transaction is about to leave the active set, and to be history. Purge may come to it the moment that it has, so it is
    /// counted before.
    pub(super) fn ending(&self) {
        self.history.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes a lane back from a transaction that has ended. `number` 0: it wrote nothing.
    #[inline]
    pub(super) fn give_lane(&self, lane: Lane, number: u64, trx: TrxId) {
        let mut state = self.state.lock();
        let no = lane.no;
        state.free.push(lane);
        if number == 0 {
            return;
        }
        let head = &mut state.heads[no as usize];
        head.grown += 1;
        if head.idle {
            head.idle = false;
            state.queue.push(Reverse((number, trx, no)));
        }
        state.ended += 1;
        if state.sleeping > 0 && state.ended >= WAKE_AFTER {
            state.ended = 0;
            self.wake.notify_one();
        }
    }

    pub(super) fn abandoned(&self, txn: Txn) {
        self.state.lock().abandoned.push(txn);
        self.wake.notify_one();
    }

    /// The transaction at a lane's head has been purged: it is history no longer.
    fn done_with(&self, head: &mut Head) {
        if std::mem::take(&mut head.counted) {
            self.history.fetch_sub(1, Ordering::Relaxed);
            self.purged.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl TxnSystem {
    /// Starts `threads` purge threads.
    pub fn start_purge(self: &Arc<Self>, handler: Arc<dyn UndoHandler>, threads: usize) {
        self.purge.stop.store(false, Ordering::Release);
        let mut list = self.purge.threads.lock();
        for i in 0..threads {
            let (sys, handler) = (self.clone(), handler.clone());
            let thread = std::thread::Builder::new()
                .name(format!("purge-{i}"))
                .spawn(move || sys.purge_loop(&*handler));
            match thread {
                Ok(thread) => list.push(thread),
                Err(e) => tracing::error!("cannot start a purge thread: {e}"),
            }
        }
    }

    /// Stops and joins them.
    pub fn stop_purge(&self) {
        {
            // Under the mutex, so that no thread falls asleep after having looked at the flag.
            let _state = self.purge.state.lock();
            self.purge.stop.store(true, Ordering::Release);
            self.purge.wake.notify_all();
        }
        for thread in self.purge.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a purge thread panicked");
            }
        }
    }

    /// Finished transactions not purged yet.
    pub fn history_length(&self) -> u64 {
        self.purge.history.load(Ordering::Relaxed)
    }

    /// Transactions purged since opening.
    pub fn purged(&self) -> u64 {
        self.purge.purged.load(Ordering::Relaxed)
    }

    pub(super) fn stopping(&self) -> bool {
        self.purge.stop.load(Ordering::Acquire)
    }

    fn purge_loop(&self, handler: &dyn UndoHandler) {
        let mut nap = NAP_FIRST;
        let mut view = self.views.oldest(&self.registry);
        let mut buffer = vec![0; PAGE_SIZE];
        // Nothing can be written any more: history stays, data is unharmed.
        let mut over = false;
        while !self.stopping() {
            self.undo_abandoned(handler);
            if !over {
                match guarded(|| self.purge_next(handler, &mut view, &mut buffer)) {
                    Ok(true) => {
                        nap = NAP_FIRST;
                        continue;
                    }
                    Ok(false) => {
                        if let Err(e) = guarded(|| self.lower_lanes()) {
                            tracing::warn!("the undo file stays long: {e}");
                        }
                    }
                    Err(e) if self.undo.pager.log().stopped().is_some() => {
                        tracing::error!("purge has stopped: {e}");
                        over = true;
                    }
                    Err(e) => tracing::error!("purge has failed, and goes on: {e}"),
                }
            }
            self.nap(&mut nap, over);
        }
    }

    /// Sleeps until woken or for as long as it is time for; longest if there is nothing to purge, or purge is `over`.
    fn nap(&self, nap: &mut Duration, over: bool) {
        let mut state = self.purge.state.lock();
        if self.stopping() || !state.abandoned.is_empty() {
            return;
        }
        state.sleeping += 1;
        if over || state.queue.is_empty() {
            *nap = NAP_LONGEST;
        }
        self.purge.wake.wait_for(&mut state, *nap);
        *nap = (*nap * 2).min(NAP_LONGEST);
        state.sleeping -= 1;
    }

    /// If most of the undo file is free, lets idle lanes go on near its beginning, so that its end can be cut off. A
    /// lane leaves its tail page as it leaves a full one, and purge frees that in its turn.
    pub(super) fn lower_lanes(&self) -> Result<()> {
        let Some(_moving) = self.purge.moving.try_lock() else {
            return Ok(());
        };
        let ceiling = self.undo.review_ceiling()?;
        if ceiling == PageNo::MAX {
            return Ok(());
        }
        loop {
            let high = |l: &Lane| l.tail >= ceiling;
            let mut lane = {
                let mut state = self.purge.state.lock();
                match state.free.iter().position(high) {
                    Some(i) => state.free.remove(i),
                    None => return Ok(()),
                }
            };
            let moved = self.undo.add_page(&mut lane, Position::NONE, 0);
            let low = lane.tail < ceiling;
            let mut state = self.purge.state.lock();
            let no = lane.no;
            // At the bottom: those at hand stay hot.
            state.free.insert(0, lane);
            let head = &mut state.heads[no as usize];
            // For a thread that is at its old end just now.
            head.grown += 1;
            if std::mem::take(&mut head.idle) {
                state.queue.push(Reverse((0, 0, no)));
            }
            drop(state);
            moved?;
            if !low {
                return Ok(());
            }
        }
    }

    fn undo_abandoned(&self, handler: &dyn UndoHandler) {
        loop {
            let Some(txn) = self.purge.state.lock().abandoned.pop() else {
                return;
            };
            let id = txn.id();
            if let Err(e) = self.rollback(txn, handler) {
                tracing::error!("rolling back abandoned transaction {id}: {e}");
            }
            handler.ended(id);
        }
    }

    /// Purges in the lane whose turn it is. `false`: there is nothing to do now. An error if there never will be.
    pub(super) fn purge_next(
        &self,
        handler: &dyn UndoHandler,
        view: &mut ReadView,
        buffer: &mut [u8],
    ) -> Result<bool> {
        let next = self.purge.state.lock().next();
        let Some((number, id, lane)) = next else {
            return Ok(false);
        };
        if !view.sees(id) {
            *view = self.views.oldest(&self.registry);
        }
        if !view.sees(id) {
            self.return_lane(lane, None, Left::At(number, id));
            return Ok(false);
        }
        let mut head = self.purge.state.lock().heads[lane as usize];
        match guarded(|| self.purge_lane(handler, view, buffer, lane, &mut head)) {
            Ok(left) => {
                head.failures = 0;
                self.return_lane(lane, Some(head), left);
                Ok(true)
            }
            Err(e) => {
                head.failures += 1;
                self.return_lane(lane, Some(head), Left::Failing(number, id));
                if self.undo.pager.log().stopped().is_some() {
                    return Err(e);
                }
                tracing::error!(lane, "history is not purged for now: {e}");
                Ok(true)
            }
        }
    }

    fn return_lane(&self, lane: u32, moved: Option<Head>, left: Left) {
        let mut state = self.purge.state.lock();
        let head = &mut state.heads[lane as usize];
        let mut grown_meanwhile = false;
        if let Some(moved) = moved {
            grown_meanwhile = head.grown != moved.grown;
            head.at = moved.at;
            head.trx = moved.trx;
            head.counted = moved.counted;
            head.failures = moved.failures;
        }
        let failures = head.failures;
        match left {
            Left::At(number, id) => state.queue.push(Reverse((number, id, lane))),
            Left::Failing(number, id) => {
                let wait = PARK_FIRST * (1 << failures.min(16));
                let until = Instant::now() + wait.min(PARK_LONGEST);
                state.parked.push((until, (number, id, lane)));
            }
            // Its number is not known here: it is looked up at the lane's turn.
            Left::End if grown_meanwhile => state.queue.push(Reverse((0, 0, lane))),
            Left::End => head.idle = true,
        }
    }

    /// Walks a lane from `head` on as far as the view allows.
    fn purge_lane(
        &self,
        handler: &dyn UndoHandler,
        view: &ReadView,
        buffer: &mut [u8],
        lane: u32,
        head: &mut Head,
    ) -> Result<Left> {
        let mut pages = 0;
        loop {
            // A copy of what is left of the page: no latch is held while the handler works.
            let page_no = head.at.page;
            let next_page = {
                let page = self.undo.fetch(page_no)?;
                let header = Header::read(&page);
                if header.lane != lane {
                    return Err(corrupt(page_no, &format!("it is not of lane {lane}")));
                }
                let from = head.at.offset as usize;
                buffer[from..].copy_from_slice(&page[from..]);
                header.next
            };
            loop {
                if self.stopping() {
                    return Ok(Left::At(0, 0));
                }
                let at = head.at;
                let record = record_at(buffer, at.offset as usize);
                let Some((record, next)) = record.map_err(|what| corrupt(page_no, &what))? else {
                    break;
                };
                match record {
                    Record::Begin { trx, number } => {
                        self.purge.done_with(head);
                        if number == 0 {
                            return Ok(Left::End);
                        }
                        if !view.sees(trx) {
                            return Ok(Left::At(number, trx));
                        }
                        (head.trx, head.counted) = (trx, true);
                    }
                    Record::Row { undone: true, .. } | Record::Prepared { .. } => {}
                    Record::Row {
                        insert, payload, ..
                    } => {
                        let at: RollPtr = at.roll_ptr(insert);
                        handler.purge(head.trx, at, payload, view)?;
                    }
                }
                head.at.offset = next as u16;
            }
            if next_page == 0 {
                self.purge.done_with(head);
                return Ok(Left::End);
            }
            self.undo.free_first(lane, page_no, next_page)?;
            head.at = Position {
                page: next_page,
                offset: RECORDS_AT as u16,
            };
            pages += 1;
            if pages == PAGES_PER_TURN {
                return Ok(Left::At(0, 0));
            }
        }
    }
}
