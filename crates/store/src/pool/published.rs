//! Extents whose pages were written past the log, for a backup that copies files meanwhile, and for an archive of the log.
//!
//! A copy of such a page that was made before the page was there can't be mended from the log. So while a backup runs, whoever
//! publishes extents ([`super::direct`]) notes them first, and the backup copies them once more. What was published
//! before the backup began was in place when it began.
//!
//! A page's LSN may be much older than its publication. [`Published::oldest`] is not above that of any page that is yet to be
//! published, so an incremental backup knows from which LSN on a page may have come without a word in the log.
//!
//! While the log is archived, pages that are written past it are in it all the same, as images ([`super::direct`]): nothing else would bring them
//! into a database that is made of an older backup and the archive. A build that does without says so in the log.
//!
//! Locks: `gate` is held shared from the note to the last group, in which the log is appended to and waited for; a backup holds it
//! exclusively when it decides where it ends. `state` is a leaf.

use crate::error::{Error, Result};
use crate::page::Lsn;
use crate::space::FileId;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::BTreeMap;

/// Extents of a file: the first, and how many.
pub(crate) type Extents = (FileId, u32, u32);

#[derive(Default)]
pub(crate) struct Published {
    gate: RwLock<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Where the log ended when each build that is not done began.
    builds: BTreeMap<u64, Lsn>,
    /// The log is archived.
    archived: bool,
    /// What was published since a backup began, or since it last asked.
    notes: Option<Vec<Extents>>,
}

impl Published {
    /// A build begins, before it takes an extent: its number, and whether it is to log its pages.
    pub fn begin(&self, end: impl FnOnce() -> Lsn) -> (u64, bool) {
        let mut state = self.state.lock();
        let id = state.next;
        state.next += 1;
        state.builds.insert(id, end());
        (id, state.archived)
    }

    /// Has builds log their pages from now on, or no longer. They can't begin to in the middle.
    pub fn set_archived(&self, on: bool) -> Result<()> {
        let mut state = self.state.lock();
        if on && !state.builds.is_empty() {
            let what = "the log cannot be archived while tables are being built";
            return Err(Error::Invalid(what.into()));
        }
        state.archived = on;
        Ok(())
    }

    /// It has ended.
    pub fn end(&self, id: u64) {
        self.state.lock().builds.remove(&id);
    }

    /// The LSN that no page has a lower one of that is yet to be published.
    pub fn oldest(&self, end: Lsn) -> Lsn {
        let state = self.state.lock();
        let least = state.builds.values().copied().min();
        least.map_or(end, |l| l.min(end))
    }

    /// These extents' pages are in place, durably, and the log is about to say so, while the guard is there.
    pub fn note(&self, file: FileId, runs: &[(u32, u32)]) -> RwLockReadGuard<'_, ()> {
        let gate = self.gate.read();
        if let Some(notes) = &mut self.state.lock().notes {
            notes.extend(runs.iter().map(|&(first, len)| (file, first, len)));
        }
        gate
    }

    /// A backup begins; there is one at a time.
    pub fn watch(&self) -> Result<()> {
        let mut state = self.state.lock();
        if state.notes.is_some() {
            return Err(Error::BackupRuns);
        }
        state.notes = Some(Vec::new());
        Ok(())
    }

    /// It has ended.
    pub fn unwatch(&self) {
        self.state.lock().notes = None;
    }

    /// What was noted since it last asked.
    pub fn take(&self) -> Vec<Extents> {
        let mut state = self.state.lock();
        state.notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps others from publishing while the guard is there.
    pub fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write()
    }
}
