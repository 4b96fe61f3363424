//! Buffer pool and mini-transactions: the page layer that trees, undo and catalog are written on.
//!
//! * [`Pager`] is the whole page layer: storage, log, files, spaces, frames, cleaner, checkpoints.
//! * [`PageRead`] is a pinned page under a shared latch.
//! * [`Mtr`] is a mini-transaction: exclusive latches on some pages, the redo group describing what
//!   it did to them, all released at commit after the group is in the log buffer. What one `Mtr`
//!   does is there wholly or not at all after a crash.
//!
//! Rules: no latch is held across I/O or a lock wait. Latches are taken tree pages first (top down,
//! left to right), then undo pages. `fetch`/`pin` may do I/O and are called with no latch held; `try_*` never do
//! I/O.
//!
//! | file | owns |
//! |---|---|
//! | `frame` | frames, their life, the memory behind them |
//! | `lists` | LRU, free and flush lists of an instance |
//! | `core` | page table; getting, evicting and reading pages |
//! | `ahead` | reading ahead |
//! | `guard` | pins, shared latches, hints |
//! | `hashed` | looking pages up through the adaptive hash index |
//! | `mtr` | mini-transactions |
//! | `populate` | memory ahead of need |
//! | `room` | log space for mini-transactions under way |
//! | `cleaner` | the page cleaner: its rounds and pace, batches, checkpoints |
//! | `doublewrite` | torn-page protection |
//! | `write_threads` | several calls to the disk at a time |
//! | `recovery` | redo at open |
//! | `spaces` | dropping spaces |
//! | `giveback` | freeing spaces and deleting files, step by step |
//! | `discard` | what is done about frames of dropped spaces, by choice |
//! | `counters` | numbers that are never given out twice |
//! | `shared_root` | where the tree is that small indexes share |
//! | `check` | offline verification of files |
//! | `trouble` | pages that cannot be written for now |
//! | `unlogged` | pages of temporary tables |
//! | `direct` | pages of trees that are built, written past the pool and the log |
//! | `published` | which of these a backup has to copy once more |
//! | `backup` | reading pages for a backup |
//! | `stats` | numbers about all that |
//!
//! **Failure.** A page that cannot be read, or is not what it should be, is an error to whoever asks, naming file and page.
//! A failed write or sync stops the engine (`Log::stop`): what is in memory can still be read.

mod ahead;
mod backup;
mod check;
mod cleaner;
mod core;
mod counters;
mod direct;
mod discard;
mod doublewrite;
mod frame;
mod giveback;
mod guard;
mod hashed;
mod lists;
mod look;
mod mtr;
mod populate;
mod published;
mod recovery;
mod room;
mod shared_root;
mod spaces;
mod stats;
#[cfg(test)]
mod tests;
mod trouble;
mod unlogged;
mod write_threads;

pub(crate) use self::backup::{Found, Source, Watch};
pub use self::check::CheckedPage;
pub use self::cleaner::{IO_CAPACITY, IO_CAPACITY_MAX};
pub use self::counters::Counter;
pub(crate) use self::counters::new_history;
pub use self::direct::{Direct, DirectPages};
pub use self::discard::{DropAlgorithm, PageWork};
pub use self::giveback::{AtOnce, EXTENT_BYTES, Pace};
pub use self::guard::{FrameHint, PageRead, Pin};
pub use self::look::{InstanceLook, InstanceStats};
pub use self::mtr::{Mtr, PageH};
pub(crate) use self::published::Extents;
pub use self::recovery::RecoveryReport;
pub(crate) use self::recovery::redo_copy;
pub(crate) use self::room::patiently;
pub use self::stats::PoolStats;
pub use self::unlogged::UnloggedStats;

use self::core::Core;
use self::doublewrite::Doublewrite;
use self::frame::Arena;
use crate::error::{Error, Result};
use crate::hash_index::{HashIndex, HashOptions};
use crate::io::Storage;
use crate::log::{FlushAtCommit, Log};
use crate::page::PAGE_SIZE;
use crate::space::FileId;
use crate::space::files::Files;
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Smallest pool.
pub const MIN_POOL_BYTES: usize = 5 << 20;
/// Instances are not made smaller than this by the automatic choice.
const AUTO_INSTANCE_BYTES: usize = 1 << 30;

/// Memory that recovery may use beyond the pool's size.
const RECOVERY_BYTES: usize = 128 << 20;

/// How to open the page layer.
#[derive(Clone, Debug)]
pub struct PagerOptions {
    /// Buffer pool, bytes (at least [`MIN_POOL_BYTES`]).
    pub pool_bytes: usize,
    /// Buffer pool instances; 0 chooses.
    pub instances: usize,
    /// Redo log capacity, bytes (of a new log; an existing one keeps its own).
    pub log_bytes: u64,
    /// When commits reach the disk.
    pub flush_at_commit: FlushAtCommit,
    /// Adaptive hash index.
    pub hash_index: HashOptions,
}

/// The page layer. One per open database; shared by `Arc`. Dropping the last handle ends its thread without writing
/// anything more, as a crash would; [`Pager::close`] is the clean way.
pub struct Pager {
    core: Arc<Core>,
    cleaner: Mutex<Option<JoinHandle<()>>>,
    log_writer: Mutex<Option<JoinHandle<()>>>,
    populating: Mutex<Option<JoinHandle<()>>>,
    recovery: RecoveryReport,
}

impl Pager {
    /// Creates an empty database in `storage`, whose lock the caller holds.
    pub fn create(storage: Arc<dyn Storage>, opts: PagerOptions) -> Result<Arc<Pager>> {
        let doublewrite = Doublewrite::open(&*storage)?;
        let log = Log::create(&*storage, opts.log_bytes, opts.flush_at_commit)?;
        Pager::start(
            storage,
            opts,
            log,
            doublewrite,
            RecoveryReport::default(),
            true,
        )
    }

    /// Opens an existing database and recovers what its log holds. The caller holds the storage's lock.
    pub fn open(storage: Arc<dyn Storage>, opts: PagerOptions) -> Result<Arc<Pager>> {
        // Its making was cut short.
        let fresh = !Log::was_used(&*storage)?;
        let mut doublewrite = Doublewrite::open(&*storage)?;
        let (log, found) = Log::open(&*storage, opts.flush_at_commit)?;
        // The pool is not in use yet.
        let memory = opts.pool_bytes + RECOVERY_BYTES;
        let report =
            recovery::recover(&*storage, &log, found.checkpoint, memory, &mut doublewrite)?;
        log.write_checkpoint(log.end_lsn(), &[])?;
        Pager::start(storage, opts, log, doublewrite, report, fresh)
    }

    fn start(
        storage: Arc<dyn Storage>,
        opts: PagerOptions,
        log: Log,
        doublewrite: Doublewrite,
        recovery: RecoveryReport,
        fresh: bool,
    ) -> Result<Arc<Pager>> {
        if opts.pool_bytes < MIN_POOL_BYTES {
            return Err(Error::Invalid(format!(
                "a buffer pool of {} bytes is below the minimum of {MIN_POOL_BYTES}",
                opts.pool_bytes
            )));
        }
        let frames = u32::try_from(opts.pool_bytes / PAGE_SIZE)
            .map_err(|_| Error::Invalid("the buffer pool is too large".into()))?;
        let instances = match opts.instances {
            0 => (opts.pool_bytes / AUTO_INSTANCE_BYTES).clamp(1, 8),
            n => n.clamp(1, 64),
        };
        let arena = Arena::new(frames)
            .map_err(|e| Error::io(format!("map {} bytes of buffer pool", opts.pool_bytes), &e))?;
        let hash = HashIndex::new(opts.hash_index, opts.pool_bytes)
            .map_err(|e| Error::io("map memory for the adaptive hash index", &e))?;
        let files = Files::new(storage.clone());
        if fresh {
            files.set_fresh();
        }
        let core = Core::new(files, log, arena, hash, instances, doublewrite);
        let core = Arc::new(core);
        for id in [FileId::SHARED, FileId::UNDO] {
            core.files.get(id, true)?;
        }
        core.sync_folder("")?;
        core.remove_unlogged()?;
        core.load_counters()?;
        let for_cleaner = core.clone();
        let cleaner = std::thread::Builder::new()
            .name("page-cleaner".into())
            .spawn(move || cleaner::run(&for_cleaner))
            .map_err(|e| Error::io("start the page cleaner", &e))?;
        let pager = Arc::new(Pager {
            core: core.clone(),
            cleaner: Mutex::new(Some(cleaner)),
            log_writer: Mutex::default(),
            populating: Mutex::default(),
            recovery,
        });
        let for_memory = core.clone();
        let populating = std::thread::Builder::new()
            .name("memory".into())
            .spawn(move || for_memory.populate())
            .map_err(|e| Error::io("start the thread that populates memory", &e))?;
        *pager.populating.lock() = Some(populating);
        core.log.expect_service();
        let log_writer = std::thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || core.log.serve())
            .map_err(|e| Error::io("start the log's writer", &e))?;
        *pager.log_writer.lock() = Some(log_writer);
        Ok(pager)
    }

    #[inline]
    fn core(&self) -> &Core {
        &self.core
    }

    /// The log.
    #[inline]
    pub fn log(&self) -> &Log {
        &self.core.log
    }

    /// Lets people know, now and then, that the end of a transaction waits because of this.
    pub(crate) fn end_waits(&self, transaction: u64, why: &Error) {
        self.core.trouble.end_waits(transaction, why);
    }

    /// Changes how many pages a second the cleaner writes where it has a choice, and where it is in a hurry. (The second
    /// counts where it is higher.)
    pub fn set_io_capacity(&self, pages: u64, most: u64) {
        self.core.write_limits.set(pages, most);
    }

    /// What recovery did at [`Pager::open`].
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// Writes everything that is dirty now, and a checkpoint. Hold no latch.
    pub fn flush(&self) -> Result<()> {
        self.core.flush_all()
    }

    /// Writes everything, checkpoints, and ends the background thread. Nobody else uses the pager any more.
    pub fn close(&self) -> Result<()> {
        let flushed = self.core.flush_all();
        self.stop_populating();
        self.stop_cleaner();
        self.stop_log_writer();
        flushed.and_then(|()| self.core.remove_unlogged())
    }

    fn stop_cleaner(&self) {
        self.core.cleaner.stop();
        self.end(&self.cleaner, "the page cleaner panicked");
    }

    fn stop_log_writer(&self) {
        self.core.log.end_service();
        self.end(&self.log_writer, "the log's writer panicked");
    }

    fn stop_populating(&self) {
        self.core.wanted.stop();
        self.end(
            &self.populating,
            "the thread that populates memory panicked",
        );
    }

    /// Waits for a thread that has been told to end. The last to use the pager may be somebody whom that very thread has just told of
    /// a commit: then it ends by itself.
    fn end(&self, thread: &Mutex<Option<JoinHandle<()>>>, panicked: &str) {
        let thread = thread.lock().take();
        if let Some(t) = thread
            && t.thread().id() != std::thread::current().id()
            && t.join().is_err()
        {
            self.core.log.stop(panicked);
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.stop_populating();
        self.stop_cleaner();
        self.stop_log_writer();
    }
}
