//! `cleaner`: MySQL 5.6.2, whose page cleaner ("cleaning thread") was to spare the sessions the work.
//!
//! **Source.** Percona's article of April 2011, which measured 5.6.2 at three quarters of 5.1.56's time and credits the cleaning
//! thread. We found no account of what that milestone did in detail, so this is a reading of the article: one scan where
//! there were two, in batches, by the page cleaner.
//!
//! **Steps.** DROP leaves its spaces with the page cleaner, wakes it, and waits. The cleaner, between two batches of writes at
//! the latest, scans each instance's LRU list once, [`BATCH`] frames under the pool mutex at a time, and evicts the
//! spaces' pages. Those with hash index entries it frees of them between two batches, because that needs page latches, and evicts
//! them then. It remembers its place in the list, which whoever unlinks that frame moves on.
//!
//! **Locks** the pool mutex (`scan::Pool`) for up to [`BATCH`] frames at a time: no long stall, but as many short ones as the
//! pool is large. DROP waits for the whole scan, and for the write under way before it; DROPs come one after the other.
//!
//! **Cost**: the length of the LRU list, for an empty table too, and two thread switches.
//!
//! **The model** leaves pages that are pinned when the scan comes by to the spaces' flags.

use super::scan::{Pinned, Pool};
use super::{Core, Dead, Discard, PageWork};
use crate::pool::lists::Instance;
use crate::wait::{self, Class};
use parking_lot::{Condvar, Mutex};
use std::time::Instant;

/// Frames the cleaner looks at before it lets go of the pool mutex.
const BATCH: usize = 1024;

pub(super) struct Cleaner;

impl Discard for Cleaner {
    fn discard(&self, core: &Core, dead: &Dead) {
        self.timed(core, dead);
    }

    fn timed(&self, core: &Core, dead: &Dead) -> PageWork {
        let began = core.discards.for_cleaner.ask(core, &dead.ids);
        PageWork::since(began.unwrap_or_else(Instant::now))
    }

    fn has_pool_mutex(&self) -> bool {
        true
    }
}

/// What a DROP asks of the page cleaner. One at a time: who asks holds `one_at_a_time`.
#[derive(Default)]
pub(super) struct Request {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// Ids of dead spaces to look for; taken by the cleaner.
    asked: Option<Box<[u64]>>,
    /// From asking to the end of the search.
    pending: bool,
    /// When the cleaner began with it.
    began: Option<Instant>,
    /// There is no cleaner any more.
    closed: bool,
}

impl Request {
    /// Waits until it is done; when the cleaner began with it, if there is one.
    fn ask(&self, core: &Core, ids: &[u64]) -> Option<Instant> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        debug_assert!(!state.pending);
        state.asked = Some(ids.into());
        state.pending = true;
        core.cleaner.wake();
        while state.pending && !state.closed {
            wait::during(Class::Discard, || self.done.wait(&mut state));
        }
        state.began.take()
    }

    pub fn serve(&self, core: &Core) {
        let ids = {
            let mut state = self.state.lock();
            let Some(ids) = state.asked.take() else {
                return;
            };
            state.began = Some(Instant::now());
            ids
        };
        evict_in_batches(core, &Dead::by_ids(&ids));
        self.state.lock().pending = false;
        self.done.notify_all();
    }

    pub fn close(&self) {
        self.state.lock().closed = true;
        self.done.notify_all();
    }
}

fn evict_in_batches(core: &Core, dead: &Dead) {
    for instance in &core.instances {
        Pool::lock(instance).scan_from_tail();
        while evict_batch(core, instance, dead) {
            core.wake_frame_waiters();
        }
        core.wake_frame_waiters();
    }
}

/// Goes on with the scan; whether there is more.
fn evict_batch(core: &Core, instance: &Instance, dead: &Dead) -> bool {
    let mut hashed = Pinned::default();
    let mut ended = false;
    let mut pool = Pool::lock(instance);
    for _ in 0..BATCH {
        let Some(n) = pool.scan_next(&core.arena) else {
            ended = true;
            break;
        };
        if !dead.owns(core.arena.frame(n)) {
            continue;
        }
        if core.hash_entries(n) > 0 {
            hashed.pin(core, n);
        } else {
            pool.evict(core, n);
        }
    }
    drop(pool);
    let hashed = hashed.unhash(core);
    if !hashed.is_empty() {
        let mut pool = Pool::lock(instance);
        for n in hashed {
            if dead.owns(core.arena.frame(n)) {
                pool.evict(core, n);
            }
        }
    }
    !ended
}
