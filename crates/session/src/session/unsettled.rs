//! Commits that are not durable yet when their statement ends: the caller withholds the answer instead of the session
//! waiting for the log.
//!
//! Only a caller that asked for it ([`Session::leave_commits_unsettled`]) meets them, and only after a statement that is
//! the last of its text and whose answer is a single OK. The caller then takes the [`Unsettled`] and either waits
//! ([`Session::settle`]) or leaves it to whoever makes the log durable ([`Instance::when_settled`]). In the stall record
//! such a statement ends when it is settled. While the slow query log is on there are none: it is written by the session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use millpond_store::OnDurable;

use super::Session;
use crate::digests::{Done, Tally};
use crate::instance::Instance;
use crate::registry::Seat;
use crate::watch::{Running, StatementKind};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::store_error::store_error;

/// A statement that is done but for its commit's durability.
#[derive(Clone, Debug)]
pub struct Unsettled {
    lsn: u64,
    running: Running,
    /// It is a slow query if it takes longer than this.
    slow_after_ns: u64,
    counts: Option<Counts>,
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counts").field("done", &self.done).finish()
    }
}

/// What is to be counted of such a statement, and where.
#[derive(Clone)]
pub(super) struct Counts {
    pub done: Done,
    pub tally: Arc<Tally>,
    /// The session's, which begins no other statement before.
    pub seat: Arc<Seat>,
    /// Its text, if it is to be the digest's sample.
    pub sample: Option<Arc<str>>,
}

/// A session's part in it.
#[derive(Default)]
pub(super) struct Deferral {
    /// The caller can deal with it.
    pub wanted: bool,
    /// The statement that runs may end unsettled.
    pub allowed: bool,
    /// How far the log must be durable before the statement's end may be told; 0: it may.
    pub lsn: u64,
    /// What is counted then.
    pub counts: Option<Counts>,
}

impl StatementKind {
    /// Whether success is answered by an OK and nothing else.
    #[inline]
    fn is_answered_by_ok(self) -> bool {
        use StatementKind::{Commit, Delete, Insert, Replace, Update};
        matches!(self, Insert | Replace | Update | Delete | Commit)
    }
}

impl Session {
    /// From now on commits may be unsettled when a statement ends; after each the caller must ask
    /// [`Session::take_unsettled`].
    pub fn leave_commits_unsettled(&mut self) {
        self.unsettled.wanted = true;
    }

    /// Called where a statement's kind is known.
    #[inline]
    pub(super) fn allow_unsettled(&mut self, kind: StatementKind, more: bool) {
        self.unsettled.allowed = self.unsettled.wanted
            && !more
            && kind.is_answered_by_ok()
            && !self.instance.0.slow_log.is_on();
    }

    /// What the last statement's end waits for, if anything.
    #[inline]
    pub fn take_unsettled(&mut self) -> Option<Unsettled> {
        if self.unsettled.lsn == 0 {
            return None;
        }
        Some(Unsettled {
            lsn: std::mem::take(&mut self.unsettled.lsn),
            running: self.current.running,
            slow_after_ns: self.slow_after_ns(),
            counts: self.unsettled.counts.take(),
        })
    }

    /// Waits.
    pub fn settle(&self, unsettled: Unsettled) -> SqlResult<()> {
        let engine = self.instance.engine();
        let done = engine.wait_durable(unsettled.lsn);
        self.instance.settled(unsettled);
        done.map_err(|e| store_error(e, ""))
    }
}

impl Instance {
    /// Tells `who` when it is settled; that must call [`Instance::settled`].
    pub fn when_settled(&self, unsettled: &Unsettled, who: Arc<dyn OnDurable>) {
        self.0.engine.when_durable(unsettled.lsn, who);
    }

    /// Records the statement's end.
    pub fn settled(&self, unsettled: Unsettled) {
        let watch = &self.0.watch;
        let end_ns = watch.now_ns();
        let ns = watch.finish(unsettled.running, end_ns);
        if let Some(mut counts) = unsettled.counts {
            counts.done.ns = ns;
            counts.done.end_us = watch.wall_us(end_ns);
            match &counts.sample {
                Some(text) => counts.tally.count(&counts.done, text),
                None => counts.tally.add(&counts.done),
            }
            counts.seat.work.add(counts.tally.kind, &counts.done);
        }
        if ns > unsettled.slow_after_ns {
            self.0.slow_unsettled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The error for a client whose commit could not be made durable.
pub fn commit_error(e: millpond_store::Error) -> SqlError {
    store_error(e, "")
}
