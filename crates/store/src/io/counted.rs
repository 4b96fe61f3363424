//! A storage that counts what is done to its files: how often, how many bytes, how long it took.
//!
//! **Owns** the counters of every file that was opened and has not been removed, and the sums of those removed, by kind of file.
//! **Promises.** An operation costs two readings of the clock and additions to counters of its file; no lock is taken but to open and to
//! remove a file. What a thread does is counted by itself too ([`of_thread`]).
//! **Locks**: the list of files is behind a mutex, a leaf. **Fails** as the storage beneath does, no more.

use super::{File, Storage};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// What files are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Tables, the dictionary, undo records.
    Data,
    /// The redo log.
    Log,
    /// The doublewrite file.
    Doublewrite,
    /// Temporary tables, and what sorts and computed tables put on disk.
    Temporary,
}

impl FileKind {
    /// All of them.
    pub const ALL: [FileKind; 4] = [
        FileKind::Data,
        FileKind::Log,
        FileKind::Doublewrite,
        FileKind::Temporary,
    ];

    fn of(name: &str) -> FileKind {
        match name {
            "redo" => FileKind::Log,
            "doublewrite" => FileKind::Doublewrite,
            "temp" => FileKind::Temporary,
            _ if name.starts_with("tmp/") => FileKind::Temporary,
            _ => FileKind::Data,
        }
    }
}

/// Operations of one sort on a file. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpStats {
    /// How many.
    pub count: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// How long all took.
    pub ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl OpStats {
    /// Adds others.
    pub fn add(&mut self, o: &OpStats) {
        if o.count == 0 {
            return;
        }
        self.min_ns = match self.count {
            0 => o.min_ns,
            _ => self.min_ns.min(o.min_ns),
        };
        self.max_ns = self.max_ns.max(o.max_ns);
        self.count += o.count;
        self.bytes += o.bytes;
        self.ns += o.ns;
    }
}

/// What was done to a file, or to all of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// Reads.
    pub reads: OpStats,
    /// Writes.
    pub writes: OpStats,
    /// Syncs, changes of the length.
    pub others: OpStats,
}

impl FileStats {
    /// Adds what was done to another.
    pub fn add(&mut self, o: &FileStats) {
        self.reads.add(&o.reads);
        self.writes.add(&o.writes);
        self.others.add(&o.others);
    }
}

/// A file that was opened.
#[derive(Clone, Debug)]
pub struct FileLook {
    /// Its name in the storage.
    pub name: String,
    /// What it is for.
    pub kind: FileKind,
    /// How many times it is open.
    pub open: u64,
    /// What was done to it.
    pub stats: FileStats,
}

#[derive(Default)]
struct Op {
    count: AtomicU64,
    bytes: AtomicU64,
    ns: AtomicU64,
    /// 0: there was none.
    min_ns: AtomicU64,
    max_ns: AtomicU64,
}

impl Op {
    fn add(&self, bytes: u64, ns: u64) {
        let ns = ns.max(1);
        self.count.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.ns.fetch_add(ns, Relaxed);
        let min = self.min_ns.load(Relaxed);
        if min == 0 || ns < min {
            let lower = |now: u64| (now == 0 || ns < now).then_some(ns);
            let _ = self.min_ns.fetch_update(Relaxed, Relaxed, lower);
        }
        if ns > self.max_ns.load(Relaxed) {
            self.max_ns.fetch_max(ns, Relaxed);
        }
    }
    fn read(&self) -> OpStats {
        OpStats {
            count: self.count.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            ns: self.ns.load(Relaxed),
            min_ns: self.min_ns.load(Relaxed),
            max_ns: self.max_ns.load(Relaxed),
        }
    }
    fn reset(&self) {
        for a in [
            &self.count,
            &self.bytes,
            &self.ns,
            &self.min_ns,
            &self.max_ns,
        ] {
            a.store(0, Relaxed);
        }
    }
}

#[derive(Default)]
struct Counters {
    reads: Op,
    writes: Op,
    others: Op,
    open: AtomicU64,
}

impl Counters {
    fn read(&self) -> FileStats {
        FileStats {
            reads: self.reads.read(),
            writes: self.writes.read(),
            others: self.others.read(),
        }
    }
}

thread_local! {
    static OF_THREAD: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Operations that this thread has done on counted files, and the nanoseconds that they took.
#[inline]
pub fn of_thread() -> (u64, u64) {
    OF_THREAD.get()
}

/// The counters of a storage's files.
#[derive(Default)]
pub struct FileCounts {
    files: Mutex<HashMap<String, Arc<Counters>>>,
    removed: Mutex<[FileStats; FileKind::ALL.len()]>,
}

impl FileCounts {
    /// Every file that was opened and is still there, by name.
    pub fn files(&self) -> Vec<FileLook> {
        let files = self.files.lock();
        let look = |(name, c): (&String, &Arc<Counters>)| FileLook {
            name: name.clone(),
            kind: FileKind::of(name),
            open: c.open.load(Relaxed),
            stats: c.read(),
        };
        let mut all: Vec<FileLook> = files.iter().map(look).collect();
        drop(files);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// What was done to all files of each kind, those removed among them.
    pub fn kinds(&self) -> [(FileKind, FileStats); FileKind::ALL.len()] {
        let removed = *self.removed.lock();
        let mut sums = FileKind::ALL.map(|k| (k, removed[k as usize]));
        for (name, c) in self.files.lock().iter() {
            sums[FileKind::of(name) as usize].1.add(&c.read());
        }
        sums
    }

    /// Sets all to zero.
    pub fn reset(&self) {
        *self.removed.lock() = Default::default();
        for c in self.files.lock().values() {
            [&c.reads, &c.writes, &c.others]
                .into_iter()
                .for_each(Op::reset);
        }
    }

    fn counters(&self, name: &str) -> Arc<Counters> {
        let mut files = self.files.lock();
        let counters = files.entry_ref(name).or_default();
        counters.open.fetch_add(1, Relaxed);
        counters.clone()
    }

    fn remove(&self, name: &str) {
        if let Some(c) = self.files.lock().remove(name) {
            self.removed.lock()[FileKind::of(name) as usize].add(&c.read());
        }
    }
}

/// Another storage, whose files are counted.
pub struct Counted {
    storage: Arc<dyn Storage>,
    counts: Arc<FileCounts>,
}

impl Counted {
    /// Counts what is done to the files of a storage.
    pub fn new(storage: Arc<dyn Storage>) -> Counted {
        let counts = Arc::default();
        Counted { storage, counts }
    }
    /// The counters.
    pub fn counts(&self) -> &Arc<FileCounts> {
        &self.counts
    }
    fn wrap(&self, name: &str, file: Arc<dyn File>) -> Arc<dyn File> {
        let counters = self.counts.counters(name);
        Arc::new(CountedFile { file, counters })
    }
}

impl Storage for Counted {
    fn open(&self, name: &str, create: bool) -> io::Result<Arc<dyn File>> {
        let file = self.storage.open(name, create)?;
        Ok(self.wrap(name, file))
    }
    fn open_direct(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let file = self.storage.open_direct(name)?;
        Ok(self.wrap(name, file))
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.storage.remove(name)?;
        self.counts.remove(name);
        Ok(())
    }
    fn exists(&self, name: &str) -> bool {
        self.storage.exists(name)
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.storage.list(folder)
    }
    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        self.storage.sync_folder(folder)
    }
    fn lock(&self) -> io::Result<()> {
        self.storage.lock()
    }
    fn write_threads(&self) -> usize {
        self.storage.write_threads()
    }
    fn handle_limit(&self) -> usize {
        self.storage.handle_limit()
    }
}

struct CountedFile {
    file: Arc<dyn File>,
    counters: Arc<Counters>,
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Relaxed);
    }
}

/// Does and counts an operation of so many bytes.
fn timed<R>(op: &Op, bytes: usize, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    let start = Instant::now();
    let done = work();
    let ns = start.elapsed().as_nanos() as u64;
    op.add(bytes as u64, ns);
    let (count, all_ns) = OF_THREAD.get();
    OF_THREAD.set((count.wrapping_add(1), all_ns.wrapping_add(ns)));
    done
}

impl File for CountedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = buf.len();
        timed(&self.counters.reads, bytes, || {
            self.file.read_at(buf, offset)
        })
    }
    fn will_read(&self, offset: u64, len: u64) {
        self.file.will_read(offset, len);
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        timed(&self.counters.writes, buf.len(), || {
            self.file.write_at(buf, offset)
        })
    }
    fn write_direct(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        timed(&self.counters.writes, buf.len(), || {
            self.file.write_direct(buf, offset)
        })
    }
    fn sync(&self) -> io::Result<()> {
        timed(&self.counters.others, 0, || self.file.sync())
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn is_fixed(&self) -> bool {
        self.file.is_fixed()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        timed(&self.counters.others, 0, || self.file.set_len(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::SimStorage;

    #[test]
    fn what_is_done_is_counted() {
        let storage = Counted::new(Arc::new(SimStorage::new()));
        let counts = storage.counts().clone();
        let before = of_thread().0;
        let file = storage.open("tables/7", true).unwrap();
        file.write_at(&[1; 100], 0).unwrap();
        file.write_at(&[1; 50], 100).unwrap();
        file.sync().unwrap();
        file.read_at(&mut [0; 20], 0).unwrap();
        assert_eq!(of_thread().0 - before, 4);
        let look = counts.files().remove(0);
        assert_eq!(
            (&*look.name, look.kind, look.open),
            ("tables/7", FileKind::Data, 1)
        );
        let s = look.stats;
        assert_eq!((s.reads.count, s.reads.bytes), (1, 20));
        assert_eq!((s.writes.count, s.writes.bytes), (2, 150));
        assert_eq!(s.others.count, 1);
        assert!(s.writes.min_ns > 0 && s.writes.min_ns <= s.writes.max_ns);
        assert!(s.writes.max_ns <= s.writes.ns);
        drop(file);
        assert_eq!(counts.files()[0].open, 0);
        storage.remove("tables/7").unwrap();
        assert!(counts.files().is_empty());
        // What was done to it was done.
        assert_eq!(counts.kinds()[0].1.writes.bytes, 150);
        counts.reset();
        assert_eq!(counts.kinds()[0].1, FileStats::default());
        assert_eq!(FileKind::of("tmp/sort-1"), FileKind::Temporary);
        assert_eq!(FileKind::of("redo"), FileKind::Log);
    }
}
