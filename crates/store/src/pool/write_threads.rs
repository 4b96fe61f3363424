//! Several calls to the disk at a time.
//!
//! A batch's pages lie here and there, and each write past the operating system's cache waits for the disk. So some threads, and the
//! caller among them, take a batch's writes one by one until none is left; likewise its syncs, where it has several
//! files. (InnoDB's `innodb_write_io_threads`.) The threads start with the first batch that has use for them.
//!
//! **Locks.** `state` is a leaf, held for moments. **Failure.** The first error ends the taking; calls under way are waited
//! for. Its caller is told. A panic on one of the threads is an error, too. A thread that cannot be started is done without.

use crate::error::{Error, Result};
use crate::io::{AlignedBuf, File};
use crate::space::FileId;
use parking_lot::{Condvar, Mutex};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// One call.
pub(super) struct Job {
    pub id: FileId,
    pub file: Arc<dyn File>,
    pub what: What,
}

/// What a call does.
pub(super) enum What {
    /// Writes this part of the batch's memory at an offset.
    Write(Range<usize>, u64),
    Sync,
}

/// Jobs over the same memory.
struct Batch {
    memory: Arc<AlignedBuf>,
    jobs: Vec<Job>,
    next: AtomicUsize,
    failure: Mutex<Option<Error>>,
}

#[derive(Default)]
struct State {
    batch: Option<Arc<Batch>>,
    /// Threads that are at it.
    inside: usize,
    closing: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is a batch, or the end.
    work: Condvar,
    /// A thread is done with the batch.
    left: Condvar,
}

/// The threads.
pub(super) struct WriteThreads {
    /// How many there should be.
    wanted: usize,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

impl Batch {
    /// Does jobs until none is left.
    fn work(&self) {
        while let Some(job) = self.jobs.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let (what, done) = match &job.what {
                What::Write(part, at) => {
                    let bytes = &self.memory[part.clone()];
                    ("write", job.file.write_direct(bytes, *at))
                }
                What::Sync => ("sync", job.file.sync()),
            };
            if let Err(e) = done {
                self.fail(Error::io(format!("{what} {}", job.id.name()), &e));
            }
        }
    }

    /// No job is begun any more, and the caller learns why.
    fn fail(&self, why: Error) {
        self.next.store(self.jobs.len(), Ordering::Relaxed);
        self.failure.lock().get_or_insert(why);
    }
}

impl Shared {
    fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            if state.closing {
                return;
            }
            let Some(batch) = state.batch.clone() else {
                self.work.wait(&mut state);
                continue;
            };
            if batch.next.load(Ordering::Relaxed) >= batch.jobs.len() {
                drop(batch);
                self.work.wait(&mut state);
                continue;
            }
            state.inside += 1;
            drop(state);
            // The thread lives on: the caller waits until it is counted as gone.
            if catch_unwind(AssertUnwindSafe(|| batch.work())).is_err() {
                batch.fail(Error::Stopped("a page writer panicked".into()));
            }
            // Before it is counted as gone: the memory is the caller's alone again when all are.
            drop(batch);
            state = self.state.lock();
            state.inside -= 1;
            self.left.notify_one();
        }
    }
}

impl WriteThreads {
    /// Up to `wanted` threads beside the caller's.
    pub fn new(wanted: usize) -> WriteThreads {
        WriteThreads {
            wanted,
            threads: Vec::new(),
            shared: Arc::default(),
        }
    }

    /// Does all jobs, in any order. Afterwards nobody else refers to `memory`.
    pub fn run(&mut self, memory: &Arc<AlignedBuf>, jobs: Vec<Job>) -> Result<()> {
        let batch = Batch {
            memory: memory.clone(),
            jobs,
            next: AtomicUsize::new(0),
            failure: Mutex::new(None),
        };
        let helpers = self.wanted.min(batch.jobs.len().saturating_sub(1));
        if helpers == 0 {
            batch.work();
            return batch.failure.into_inner().map_or(Ok(()), Err);
        }
        self.start(helpers);
        let batch = Arc::new(batch);
        self.shared.state.lock().batch = Some(batch.clone());
        for _ in 0..helpers {
            self.shared.work.notify_one();
        }
        batch.work();
        let mut state = self.shared.state.lock();
        state.batch = None;
        while state.inside > 0 {
            self.shared.left.wait(&mut state);
        }
        drop(state);
        let failure = batch.failure.lock().take();
        failure.map_or(Ok(()), Err)
    }

    fn start(&mut self, wanted: usize) {
        while self.threads.len() < wanted {
            let shared = self.shared.clone();
            let thread = std::thread::Builder::new()
                .name("page-writer".into())
                .spawn(move || shared.serve());
            match thread {
                Ok(t) => self.threads.push(t),
                Err(_) => return,
            }
        }
    }
}

impl Drop for WriteThreads {
    fn drop(&mut self) {
        self.shared.state.lock().closing = true;
        self.shared.work.notify_all();
        for t in self.threads.drain(..) {
            let _ = t.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::{SimStorage, Step};
    use crate::io::{DIRECT_ALIGN, Storage};

    fn memory() -> Arc<AlignedBuf> {
        let mut memory = AlignedBuf::new(64 * DIRECT_ALIGN);
        for (i, sector) in memory.chunks_exact_mut(DIRECT_ALIGN).enumerate() {
            sector.fill(i as u8);
        }
        Arc::new(memory)
    }

    fn writes(file: &Arc<dyn File>) -> Vec<Job> {
        // The other way round.
        let job = |i: usize| Job {
            id: FileId::SHARED,
            file: file.clone(),
            what: What::Write(
                i * DIRECT_ALIGN..(i + 1) * DIRECT_ALIGN,
                ((63 - i) * DIRECT_ALIGN) as u64,
            ),
        };
        (0..64).map(job).collect()
    }

    #[test]
    fn every_job_is_done_once_whoever_does_it() {
        for wanted in [0, 1, 3] {
            let storage = SimStorage::new();
            let file = storage.open("data", true).unwrap();
            file.set_len(64 * DIRECT_ALIGN as u64).unwrap();
            let mut memory = memory();
            let mut threads = WriteThreads::new(wanted);
            for _ in 0..200 {
                threads.run(&memory, writes(&file)).unwrap();
                assert!(Arc::get_mut(&mut memory).is_some());
            }
            let mut read = vec![0; 64 * DIRECT_ALIGN];
            file.read_at(&mut read, 0).unwrap();
            for (i, sector) in read.chunks_exact(DIRECT_ALIGN).enumerate() {
                assert!(sector.iter().all(|b| *b == 63 - i as u8));
            }
        }
    }

    /// A file at which the threads panic. The caller's own writes wait for that.
    #[derive(Default)]
    struct Trap {
        sprung: Mutex<bool>,
        changed: Condvar,
    }

    impl File for Trap {
        fn read_at(&self, _: &mut [u8], _: u64) -> std::io::Result<()> {
            unreachable!()
        }
        fn write_at(&self, _: &[u8], _: u64) -> std::io::Result<()> {
            let mut sprung = self.sprung.lock();
            if std::thread::current().name() == Some("page-writer") {
                *sprung = true;
                self.changed.notify_all();
                panic!("as a test wants it");
            }
            while !*sprung {
                self.changed.wait(&mut sprung);
            }
            Ok(())
        }
        fn sync(&self) -> std::io::Result<()> {
            unreachable!()
        }
        fn len(&self) -> std::io::Result<u64> {
            unreachable!()
        }
        fn set_len(&self, _: u64) -> std::io::Result<()> {
            unreachable!()
        }
    }

    #[test]
    fn a_panic_is_told_and_leaves_the_thread_at_work() {
        let mut memory = memory();
        let mut threads = WriteThreads::new(1);
        for _ in 0..2 {
            let trap: Arc<dyn File> = Arc::new(Trap::default());
            let e = threads.run(&memory, writes(&trap)).unwrap_err();
            assert!(e.to_string().contains("panicked"), "{e}");
            assert!(Arc::get_mut(&mut memory).is_some());
        }
    }

    #[test]
    fn the_first_error_is_told() {
        for wanted in [0, 3] {
            let storage = SimStorage::new();
            let file = storage.open("data", true).unwrap();
            let mut memory = memory();
            let mut threads = WriteThreads::new(wanted);
            let mut calls = 0;
            storage.on_step(move |_, _| {
                calls += 1;
                if calls > 10 { Step::Fail } else { Step::Go }
            });
            let e = threads.run(&memory, writes(&file)).unwrap_err();
            assert!(e.to_string().contains("write data"), "{e}");
            assert!(Arc::get_mut(&mut memory).is_some());
            storage.clear_hook();
            threads.run(&memory, writes(&file)).unwrap();
        }
    }
}
