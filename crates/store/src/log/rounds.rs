//! Group commit: who writes, who waits.
//!
//! A **round** takes everything appended so far, writes it, and mostly syncs. Whoever needs more to be written than rounds
//! have taken runs one; the others wait. While rounds are for [`FEW`] committers at most, up to [`SLOTS`] are under way at a time:
//! disks do several syncs in little more time than one, so a commit need not wait for the round before it. Beyond that, one at
//! a time: a round costs the system more CPU time than a commit, and what waits for it shares the next one.
//!
//! 1. *Taking* (under `rounds`): the log is filled up to a whole sector by an empty group, so that no two rounds write the same
//!    sector. When room is scarce it isn't; the next round then begins once all before it are written, and
//!    writes the shared sector again.
//! 2. *Writing*, holding nothing. `written` is the end of the last round before which all are written.
//! 3. *Syncing*, holding nothing: makes durable what was `written` when it began. A round that need not sync does so if a
//!    later round that overtook it promised to.
//! 4. Those whose bytes got where they wanted them are woken or called, and one of the rest may begin a round.
//!
//! A round is begun beside others only when as many wait for it as the last one was for, so that overlapping rounds don't
//! crumble.
//!
//! **Callers.** A thread that has something better to do than to wait leaves an [`OnDurable`] ([`Log::when_durable`]). If nobody
//! else is at work it runs the round itself. Otherwise whoever completes a round calls it, and the log's own thread
//! ([`Log::serve`]) runs rounds for those that are left.
//!
//! **Locks.** `rounds`; the log's mutex is taken inside it for a moment to take the buffer, never the other way round.
//!
//! **Failure.** The first failed write or sync stops the log and wakes everybody. A sync that succeeds afterwards acknowledges
//! nothing more: the failed one may have been about the same bytes. So does a panic in a round, which nobody would
//! complete. After [`Log::end_service`] callers run rounds themselves.

use super::file::SLOTS;
use super::{GROUP_HEADER, Log, group_head};
use crate::error::{Error, Result};
use crate::io::SECTOR;
use crate::page::Lsn;
use crate::wait::{self, Class};
use parking_lot::MutexGuard;
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

/// Committers a round may be for if another is to be begun beside it. Measured with 2 to 64 sysbench clients on two
/// cores: beyond it, rounds side by side cost a third more CPU time per commit and complete no more commits.
const FEW: usize = 2;
/// Buffers that grew beyond this are not kept.
const KEEP_BYTES: usize = 16 << 20;
/// Set in a group's length: it says nothing, and fills up a sector.
pub(super) const FILLER: u32 = 1 << 31;

/// The rounds under way and those who wait for them.
pub(super) struct Rounds {
    /// Where the next round begins.
    taken: Lsn,
    /// What rounds that sync have taken.
    promised: Lsn,
    /// The start of the sector that `taken` lies in.
    tail: Vec<u8>,
    /// Taken and not `written`, oldest first.
    flights: VecDeque<Flight>,
    next_flight: u64,
    free: SmallVec<[usize; SLOTS]>,
    waiting: Vec<Waiter>,
    /// How many waited for the round that began last.
    last_size: usize,
    /// The log's thread has nothing to do.
    idle: bool,
    closing: bool,
    /// The log's thread is in [`Log::serve`], or about to be.
    serving: bool,
    /// Outcomes that are for the log's thread to tell.
    untold: Vec<(Arc<dyn OnDurable>, Result<()>)>,
}

struct Flight {
    id: u64,
    end: Lsn,
    written: bool,
}

struct Waiter {
    lsn: Lsn,
    sync: bool,
    who: Who,
}

#[derive(Clone)]
enum Who {
    Thread(Arc<Parked>),
    Call(Arc<dyn OnDurable>),
}

/// What is told when a commit is durable.
pub trait OnDurable: Send + Sync {
    /// The commit is durable, or (an error) may not be. Called once, on any thread, no lock being held (who runs a round while it holds
    /// one leaves it to the log's own thread); it must not wait for long, for others' commits wait for it.
    fn done(self: Arc<Self>, outcome: Result<()>);
}

/// A thread's place to wait at.
struct Parked {
    thread: Thread,
    woken: AtomicBool,
}

thread_local! {
    static PARKED: Arc<Parked> = Arc::new(Parked {
        thread: std::thread::current(),
        woken: AtomicBool::new(false),
    });
}

impl Parked {
    fn wait(&self) {
        while !self.woken.load(Ordering::Acquire) {
            std::thread::park();
        }
    }
}

/// Told when no lock is held any more.
type Due = SmallVec<[Who; 8]>;

thread_local! {
    /// The thread holds locks: what it runs a round for, it leaves to others to tell callers of.
    static HOLDING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, in which this thread calls no [`OnDurable`] while the log's own thread is there to do it.
pub(super) fn holding<R>(f: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            HOLDING.set(self.0);
        }
    }
    let _before = Before(HOLDING.replace(true));
    f()
}

fn call(who: Arc<dyn OnDurable>, outcome: Result<()>) {
    // Whatever becomes of one, the others have to be told.
    let _ = catch_unwind(AssertUnwindSafe(|| who.done(outcome)));
}

impl Rounds {
    /// `end` is where the log ends; `tail` is what its last sector holds of it.
    pub fn new(end: Lsn, tail: Vec<u8>) -> Rounds {
        debug_assert_eq!(end % SECTOR as u64, tail.len() as u64);
        Rounds {
            taken: end,
            promised: end,
            tail,
            flights: VecDeque::new(),
            next_flight: 0,
            free: (0..SLOTS).collect(),
            waiting: Vec::new(),
            last_size: 0,
            idle: false,
            closing: false,
            serving: false,
            untold: Vec::new(),
        }
    }

    /// How many wait for a round that has not begun.
    fn uncovered(&self) -> usize {
        let new = |w: &&Waiter| !self.covers(w.lsn, w.sync);
        self.waiting.iter().filter(new).count()
    }

    /// Whether a round may begin now for so many.
    fn may_start(&self, size: usize) -> bool {
        let alone = self.free.len() == SLOTS;
        let shares_sector = !self.tail.is_empty() && !self.flights.is_empty();
        let few = self.last_size <= FEW && size >= self.last_size;
        alone || (few && !self.free.is_empty() && !shares_sector)
    }

    /// Whether a round under way will do.
    fn covers(&self, lsn: Lsn, sync: bool) -> bool {
        lsn <= if sync { self.promised } else { self.taken }
    }

    /// Takes those out of the list who have what they want, and a thread that may begin a round for the rest. If
    /// only callers are left, the log's thread is to do it: `true`.
    fn due(&mut self, written: Lsn, durable: Lsn) -> (Due, bool) {
        let mut due = Due::new();
        self.waiting.retain(|w| {
            let there = w.lsn <= if w.sync { durable } else { written };
            if there {
                due.push(w.who.clone());
            }
            !there
        });
        let left = self.uncovered();
        if left == 0 || !self.may_start(left) {
            return (due, false);
        }
        let thread = |w: &Waiter| !self.covers(w.lsn, w.sync) && matches!(w.who, Who::Thread(_));
        match self.waiting.iter().position(thread) {
            Some(at) => {
                due.push(self.waiting.swap_remove(at).who);
                (due, false)
            }
            None => (due, self.idle),
        }
    }

    fn everybody(&mut self) -> Due {
        self.waiting.drain(..).map(|w| w.who).collect()
    }
}

/// Stops the log when dropped: a round panicked.
struct Ending<'l>(&'l Log);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.stop("writing the log panicked");
        self.0.give_up(self.0.rounds.lock());
    }
}

impl Log {
    /// Waits until everything up to `lsn` is written, and synced if `sync`; runs a round where it has to.
    pub(super) fn flush_to(&self, lsn: Lsn, sync: bool) -> Result<()> {
        if self.reached(sync) >= lsn {
            return self.check();
        }
        let mut rounds = self.rounds.lock();
        loop {
            if let Err(e) = self.check() {
                self.give_up(rounds);
                return Err(e);
            }
            if self.reached(sync) >= lsn {
                return Ok(());
            }
            if !rounds.covers(lsn, sync) && rounds.may_start(rounds.uncovered() + 1) {
                rounds.last_size = rounds.uncovered() + 1;
                self.round(rounds, sync)?;
                rounds = self.rounds.lock();
                continue;
            }
            let parked = PARKED.with(Arc::clone);
            parked.woken.store(false, Ordering::Relaxed);
            rounds.waiting.push(Waiter {
                lsn,
                sync,
                who: Who::Thread(parked.clone()),
            });
            drop(rounds);
            wait::during_long(Class::LogRound, || parked.wait());
            if self.reached(sync) >= lsn {
                return Ok(());
            }
            rounds = self.rounds.lock();
        }
    }

    /// Tells `who` when everything up to `lsn` is durable, or can't be. May do so at once, and may run a round, which
    /// tells others too.
    pub fn when_durable(&self, lsn: Lsn, who: Arc<dyn OnDurable>) {
        if self.reached(true) >= lsn {
            return who.done(self.check());
        }
        let mut rounds = self.rounds.lock();
        if self.stopped.load(Ordering::Acquire) || self.reached(true) >= lsn {
            drop(rounds);
            return who.done(self.check());
        }
        if rounds.closing {
            // Nobody is left to do it for others.
            drop(rounds);
            return who.done(self.flush_to(lsn, true));
        }
        rounds.waiting.push(Waiter {
            lsn,
            sync: true,
            who: Who::Call(who),
        });
        let size = rounds.uncovered();
        if size > 0 && rounds.may_start(size) {
            rounds.last_size = size;
            // An error is told to those who wait.
            let _ = self.round(rounds, true);
        }
    }

    /// Runs rounds for callers of [`Log::when_durable`] until [`Log::end_service`]. The log's own thread is in here.
    pub fn serve(&self) {
        let mut rounds = self.rounds.lock();
        rounds.serving = true;
        loop {
            if !rounds.untold.is_empty() {
                let untold = std::mem::take(&mut rounds.untold);
                drop(rounds);
                untold
                    .into_iter()
                    .for_each(|(who, outcome)| call(who, outcome));
                rounds = self.rounds.lock();
                continue;
            }
            let size = rounds.uncovered();
            if rounds.closing && size == 0 {
                rounds.serving = false;
                return;
            }
            if size > 0 && self.stopped.load(Ordering::Acquire) {
                self.give_up(rounds);
                rounds = self.rounds.lock();
                continue;
            }
            if size > 0 && rounds.may_start(size) {
                rounds.last_size = size;
                // An error is told to those who wait.
                let _ = self.round(rounds, true);
                rounds = self.rounds.lock();
                continue;
            }
            rounds.idle = true;
            self.wanted.wait(&mut rounds);
            rounds.idle = false;
        }
    }

    /// A thread is about to enter [`Log::serve`]: it may be left callers from now on.
    pub fn expect_service(&self) {
        self.rounds.lock().serving = true;
    }

    /// Ends [`Log::serve`] when it has served those who wait, now or as soon as it begins.
    pub fn end_service(&self) {
        self.rounds.lock().closing = true;
        self.wanted.notify_one();
    }

    fn tell(&self, all: Due, outcome: impl Fn() -> Result<()>) {
        let mut later = Vec::new();
        for who in all {
            match who {
                Who::Thread(p) => {
                    p.woken.store(true, Ordering::Release);
                    p.thread.unpark();
                }
                Who::Call(c) if HOLDING.get() => later.push((c, outcome())),
                Who::Call(c) => call(c, outcome()),
            }
        }
        if later.is_empty() {
            return;
        }
        let mut rounds = self.rounds.lock();
        if rounds.serving {
            rounds.untold.append(&mut later);
            drop(rounds);
            self.wanted.notify_one();
            return;
        }
        drop(rounds);
        later
            .into_iter()
            .for_each(|(who, outcome)| call(who, outcome));
    }

    /// The log has stopped: so everybody is told.
    fn give_up(&self, mut rounds: MutexGuard<'_, Rounds>) {
        let all = rounds.everybody();
        drop(rounds);
        self.tell(all, || self.check());
    }

    /// Tells whom a step of a round has brought where they wanted, and sees to it that the rest goes on.
    fn advance(&self, mut rounds: MutexGuard<'_, Rounds>) {
        let (due, wanted) = rounds.due(self.reached(false), self.reached(true));
        drop(rounds);
        if wanted {
            self.wanted.notify_one();
        }
        self.tell(due, || Ok(()));
    }

    fn reached(&self, sync: bool) -> Lsn {
        let reached = if sync { &self.durable } else { &self.written };
        reached.load(Ordering::Acquire)
    }

    /// Runs a round.
    fn round<'a>(&'a self, rounds: MutexGuard<'a, Rounds>, sync: bool) -> Result<()> {
        let ending = Ending(self);
        let ended = self.run_round(rounds, sync);
        // Not by its drop, which would take a panic that this thread is cleaning up after for one of the round.
        std::mem::forget(ending);
        ended
    }

    fn run_round<'a>(&'a self, mut rounds: MutexGuard<'a, Rounds>, mut sync: bool) -> Result<()> {
        let slot = rounds.free.pop().expect("a round may begin");
        let (taken, end) = self.take_buffer();
        let before = std::mem::take(&mut rounds.tail);
        keep_tail(&mut rounds.tail, &before, &taken, end);
        rounds.taken = end;
        if sync {
            rounds.promised = end;
        }
        let id = rounds.next_flight;
        if !taken.is_empty() {
            rounds.next_flight += 1;
            rounds.flights.push_back(Flight {
                id,
                end,
                written: false,
            });
            drop(rounds);
            let start = end - taken.len() as u64;
            let write = || self.file.write(slot, &before, &taken, start);
            let result = wait::during_long(Class::LogFile, write);
            self.stats.writes.fetch_add(1, Ordering::Relaxed);
            self.give_buffer(taken);
            rounds = self.rounds.lock();
            if let Err(e) = result {
                return self.failed(rounds, e);
            }
            self.written_by(&mut rounds, id);
            sync |= rounds.promised >= end;
        }
        let covered = self.written.load(Ordering::Acquire);
        if sync {
            self.advance(rounds);
            self.stats.syncs.fetch_add(1, Ordering::Relaxed);
            let result = wait::during_long(Class::LogFile, || self.file.sync(slot));
            rounds = self.rounds.lock();
            if let Err(e) = result {
                return self.failed(rounds, e);
            }
            // Another round's failed sync may have been about these bytes, too.
            if let Err(e) = self.check() {
                self.give_up(rounds);
                return Err(e);
            }
            self.durable.fetch_max(covered, Ordering::AcqRel);
        }
        rounds.free.push(slot);
        self.advance(rounds);
        Ok(())
    }

    /// Marks a flight as written, and moves `written` on.
    fn written_by(&self, rounds: &mut Rounds, id: u64) {
        let first = rounds.flights.front().map_or(id, |f| f.id);
        rounds.flights[(id - first) as usize].written = true;
        while let Some(f) = rounds.flights.front()
            && f.written
        {
            self.written.fetch_max(f.end, Ordering::AcqRel);
            rounds.flights.pop_front();
        }
    }

    #[cold]
    fn failed(&self, rounds: MutexGuard<'_, Rounds>, e: Error) -> Result<()> {
        self.stop(&e.to_string());
        self.give_up(rounds);
        Err(e)
    }

    /// The bytes appended and not taken, filled up to a whole sector if there is room to spare, and their end.
    fn take_buffer(&self) -> (Vec<u8>, Lsn) {
        let mut ring = self.ring.lock();
        let sectors = ring.end.next_multiple_of(SECTOR as u64);
        if sectors != ring.end && !ring.buf.is_empty() && self.room() > self.capacity() / 4 {
            let mut fill = (sectors - ring.end) as usize;
            if fill < GROUP_HEADER {
                fill += SECTOR;
            }
            let zeroes = [0; SECTOR];
            let payload = &zeroes[..fill - GROUP_HEADER];
            let (len, crc) = (payload.len() as u32 | FILLER, crc32c::crc32c(payload));
            let head = group_head(ring.end, len, ring.epoch, crc);
            ring.buf.extend_from_slice(&head);
            ring.buf.extend_from_slice(payload);
            ring.end += fill as u64;
            self.end.store(ring.end, Ordering::Release);
        }
        let spare = std::mem::take(&mut ring.spare);
        (std::mem::replace(&mut ring.buf, spare), ring.end)
    }

    fn give_buffer(&self, mut taken: Vec<u8>) {
        if taken.capacity() <= KEEP_BYTES {
            taken.clear();
            self.ring.lock().spare = taken;
        }
    }
}

/// Sets `tail` to what the sector in which `end` lies holds after `before` and `taken` were written.
fn keep_tail(tail: &mut Vec<u8>, before: &[u8], taken: &[u8], end: Lsn) {
    let n = (end % SECTOR as u64) as usize;
    match taken.len().checked_sub(n) {
        Some(from) => tail.extend_from_slice(&taken[from..]),
        None => {
            let from_before = n - taken.len();
            tail.extend_from_slice(&before[before.len() - from_before..]);
            tail.extend_from_slice(taken);
        }
    }
}
