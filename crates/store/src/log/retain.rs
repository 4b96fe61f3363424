//! Keeping parts of the log from being overwritten, for who copies it while it is written.
//!
//! A [`Retained`] stands at an LSN; no checkpoint passes it, so the ring keeps everything from there on. Whoever holds one reads what
//! is durable ([`Log::read_retained`]), puts it somewhere safe, and moves on ([`Retained::advance`]).
//!
//! **Nobody waits for long.** If the log is so full that others wait for room, and it is a `Retained` that keeps the checkpoint
//! back, it has [`PATIENCE`]; then it is *lost*: the checkpoint passes it, and its holder gets an error at the next read.
//!
//! Locks: `pins` is a leaf, taken inside the checkpoint's mutex.

use super::Log;
use crate::error::{Error, Result};
use crate::page::Lsn;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long others wait for room because of a part that is retained.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Default)]
pub(super) struct Pins {
    state: Mutex<State>,
    /// The log fills up.
    hurry: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    pins: BTreeMap<u64, Pin>,
}

struct Pin {
    at: Lsn,
    /// Since when others have waited because of it.
    awaited: Option<Instant>,
    lost: bool,
}

/// The log is kept from here on, until this is dropped.
pub struct Retained {
    pins: Arc<Pins>,
    id: u64,
}

impl Drop for Retained {
    fn drop(&mut self) {
        self.pins.state.lock().pins.remove(&self.id);
    }
}

impl Retained {
    fn with<R>(&self, f: impl FnOnce(&mut Pin) -> R) -> R {
        let mut state = self.pins.state.lock();
        f(state.pins.get_mut(&self.id).expect("there until dropped"))
    }

    /// Where it stands.
    pub fn at(&self) -> Lsn {
        self.with(|pin| pin.at)
    }

    /// What lies before `lsn` need not be kept any more.
    pub fn advance(&self, lsn: Lsn) {
        self.with(|pin| {
            pin.at = pin.at.max(lsn);
            pin.awaited = None;
        });
    }

    /// Waits for so long, or until the log fills up and it were well to move on.
    pub fn pause(&self, most: Duration) {
        let mut state = self.pins.state.lock();
        self.pins.hurry.wait_for(&mut state, most);
    }

    /// Whether the log has gone on without it.
    pub fn is_lost(&self) -> bool {
        self.with(|pin| pin.lost)
    }

    fn check(&self) -> Result<()> {
        match self.is_lost() {
            false => Ok(()),
            true => Err(lost()),
        }
    }
}

fn lost() -> Error {
    Error::Invalid(
        "the redo log was written faster than it was copied, and had to be reused; a larger one gives more time".into(),
    )
}

impl Pins {
    /// How far a checkpoint at `lsn` may go.
    fn limit(&self, lsn: Lsn) -> Lsn {
        let state = self.state.lock();
        let held = state.pins.values().filter(|p| !p.lost).map(|p| p.at);
        held.min().map_or(lsn, |at| at.min(lsn))
    }
}

impl Log {
    /// Keeps the log from the present checkpoint on.
    pub fn retain(&self) -> Retained {
        self.retain_from(Lsn::MAX)
    }

    /// The same from `lsn` on, where a group begins, if that is before the checkpoint. What lies between may be overwritten all the same;
    /// who reads it finds out.
    pub fn retain_from(&self, lsn: Lsn) -> Retained {
        // No checkpoint is written meanwhile.
        let checkpoint = self.checkpoint.lock();
        let mut state = self.pins.state.lock();
        let id = state.next;
        state.next += 1;
        let pin = Pin {
            at: checkpoint.lsn.min(lsn),
            awaited: None,
            lost: false,
        };
        state.pins.insert(id, pin);
        drop(state);
        Retained {
            pins: self.pins.clone(),
            id,
        }
    }

    /// How far a checkpoint at `lsn` may go because of what is retained. `full`: others wait for room in the log.
    pub fn checkpoint_limit(&self, lsn: Lsn, full: bool) -> Lsn {
        let mut state = self.pins.state.lock();
        let mut hurry = false;
        for pin in state.pins.values_mut().filter(|p| !p.lost) {
            if !full || pin.at >= lsn {
                pin.awaited = None;
                continue;
            }
            let since = *pin.awaited.get_or_insert_with(Instant::now);
            pin.lost = since.elapsed() >= PATIENCE;
            hurry = true;
        }
        drop(state);
        if hurry {
            self.pins.hurry.notify_all();
        }
        self.limit_checkpoint(lsn)
    }

    pub(super) fn limit_checkpoint(&self, lsn: Lsn) -> Lsn {
        self.pins.limit(lsn)
    }

    /// What is durable of the log from where `retained` stands, `most` bytes of it.
    pub fn read_retained(&self, retained: &Retained, most: usize) -> Result<Vec<u8>> {
        self.read_retained_at(retained, retained.at(), most)
    }

    /// The same from `from` on, which is not before that.
    pub fn read_retained_at(&self, retained: &Retained, from: Lsn, most: usize) -> Result<Vec<u8>> {
        let there = self.durable_lsn().saturating_sub(from);
        let mut bytes = vec![0; usize::try_from(there).unwrap_or(usize::MAX).min(most)];
        self.file.read(&mut bytes, from)?;
        // If it was lost meanwhile something else may have been read.
        retained.check()?;
        match self.end_lsn() - from <= self.capacity() {
            true => Ok(bytes),
            false => Err(lost()),
        }
    }
}
