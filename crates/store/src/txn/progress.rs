//! How far a statement that writes or sorts a whole table has come, for others to look at while it runs.
//!
//! The statement's owner has one. Whoever carries the statement out begins it ([`Progress::begin`]), says which stage comes next and how many rows
//! or entries are done; where nothing has begun, all of that is lost. Threads that work for the statement say so too.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A stage of a statement that writes a table anew or builds an index, as InnoDB divides them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DdlStage {
    /// Rows are read, and their keys given to the sorts.
    Read,
    /// Sorted runs are merged.
    MergeSort,
    /// Trees are built.
    Insert,
    /// What was built is made durable.
    Flush,
    /// Changes made meanwhile are applied to an index.
    LogApplyIndex,
    /// Changes made meanwhile are applied to a table.
    LogApplyTable,
    /// What was built takes its place.
    End,
    /// No table's: pages are copied for a backup.
    Backup,
}

impl DdlStage {
    /// All of them.
    pub const ALL: [DdlStage; 8] = [
        DdlStage::Read,
        DdlStage::MergeSort,
        DdlStage::Insert,
        DdlStage::Flush,
        DdlStage::LogApplyIndex,
        DdlStage::LogApplyTable,
        DdlStage::End,
        DdlStage::Backup,
    ];

    /// InnoDB's name of it.
    pub fn name(self) -> &'static str {
        match self {
            DdlStage::Read => "read PK and internal sort",
            DdlStage::MergeSort => "merge sort",
            DdlStage::Insert => "insert",
            DdlStage::Flush => "flush",
            DdlStage::LogApplyIndex => "log apply index",
            DdlStage::LogApplyTable => "log apply table",
            DdlStage::End => "end",
            DdlStage::Backup => "backup",
        }
    }
}

#[derive(Clone, Copy)]
struct Running {
    stage: DdlStage,
    since: Instant,
    number: u64,
}

/// What others see of it.
#[derive(Clone, Copy, Debug)]
pub struct ProgressLook {
    /// The stage.
    pub stage: DdlStage,
    /// When it began.
    pub since: Instant,
    /// How many stages the owner's statements have begun, with this one.
    pub number: u64,
    /// Rows and entries that are done, in all stages.
    pub completed: u64,
    /// How many there are likely to be; not below those that are done.
    pub estimated: u64,
}

impl ProgressLook {
    /// Hundredths of the work that are done.
    pub fn percent(&self) -> u64 {
        self.completed * 100 / self.estimated.max(1)
    }
}

/// See the module.
#[derive(Default)]
pub struct Progress {
    running: Mutex<Option<Running>>,
    completed: AtomicU64,
    estimated: AtomicU64,
    number: AtomicU64,
}

/// A statement's progress is seen until this is dropped.
#[must_use]
pub struct Seen<'p>(&'p Progress);

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() = None;
    }
}

impl Progress {
    /// Begins: nothing of about so many rows and entries is done.
    pub fn begin(&self, estimated: u64) -> Seen<'_> {
        self.begin_in(DdlStage::Read, estimated)
    }

    /// The same in a stage.
    pub fn begin_in(&self, stage: DdlStage, estimated: u64) -> Seen<'_> {
        self.completed.store(0, Ordering::Relaxed);
        self.estimated.store(estimated, Ordering::Relaxed);
        *self.running.lock() = Some(self.next(stage));
        Seen(self)
    }

    fn next(&self, stage: DdlStage) -> Running {
        Running {
            stage,
            since: Instant::now(),
            number: self.number.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    /// Another stage, if that is not the one there is.
    pub fn enter(&self, stage: DdlStage) {
        let mut running = self.running.lock();
        if running.is_some_and(|r| r.stage != stage) {
            *running = Some(self.next(stage));
        }
    }

    /// So many rows or entries more are done.
    #[inline]
    pub fn add(&self, done: u64) {
        self.completed.fetch_add(done, Ordering::Relaxed);
    }

    /// So much is done of so much, of a backup: in bytes.
    pub fn set(&self, completed: u64, estimated: u64) {
        self.completed.store(completed, Ordering::Relaxed);
        self.estimated.store(estimated, Ordering::Relaxed);
    }

    /// How far it is, if it is under way.
    pub fn look(&self) -> Option<ProgressLook> {
        let running = (*self.running.lock())?;
        let completed = self.completed.load(Ordering::Relaxed);
        Some(ProgressLook {
            stage: running.stage,
            since: running.since,
            number: running.number,
            completed,
            estimated: self.estimated.load(Ordering::Relaxed).max(completed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_begun_is_seen() {
        let progress = Progress::default();
        progress.enter(DdlStage::Insert);
        progress.add(5);
        assert!(progress.look().is_none());
        let seen = progress.begin(200);
        let look = progress.look().unwrap();
        assert_eq!((look.stage, look.number), (DdlStage::Read, 1));
        assert_eq!((look.completed, look.percent()), (0, 0));
        progress.add(100);
        progress.enter(DdlStage::Insert);
        progress.enter(DdlStage::Insert);
        let look = progress.look().unwrap();
        assert_eq!(
            (look.stage, look.number, look.percent()),
            (DdlStage::Insert, 2, 50)
        );
        // An estimate that was too low.
        progress.add(400);
        let look = progress.look().unwrap();
        assert_eq!(
            (look.completed, look.estimated, look.percent()),
            (500, 500, 100)
        );
        drop(seen);
        assert!(progress.look().is_none());
    }
}
