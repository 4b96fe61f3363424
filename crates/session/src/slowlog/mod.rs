//! The slow query log: MySQL's file, written so that no query ever waits for it.
//!
//! | file | owns |
//! |---|---|
//! | `format` | the text of an entry, of the head of a file, of a prepared statement with its values |
//! | `queue` | entries on their way, and the thread that writes them |
//!
//! **Promises.** A statement that is logged formats its entry and copies it into a buffer under a short mutex. A thread
//! writes the buffer out; it begins with the log and ends with the instance. While the log is off nobody comes here.
//! **Fails** softly: when the disk is full or cannot keep up, entries are lost, counted (`Millpond_slow_log_lost` in SHOW STATUS)
//! and complained of in the server's log; queries go on.
//! **Locks**: the queue's mutex, a leaf. No I/O is done under it.

mod format;
mod queue;

pub(crate) use format::{Entry, head, with_values};
use parking_lot::Mutex;
use queue::Queue;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// An instance's slow query log.
#[derive(Default)]
pub(crate) struct SlowLog {
    on: AtomicBool,
    /// Whether ALTER TABLE, CREATE INDEX and their like are logged too (`log_slow_admin_statements`).
    admin: AtomicBool,
    queue: Queue,
    /// What the open file is, to open it again. Held across opening, so that files are switched one at a time.
    target: Mutex<Option<Target>>,
}

struct Target {
    path: PathBuf,
    head: String,
}

fn open(target: &Target) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&target.path)
}

impl SlowLog {
    /// Whether statements are to be logged.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Whether administrative statements are slow queries.
    pub fn has_admin(&self) -> bool {
        self.admin.load(Ordering::Relaxed)
    }

    /// `log_slow_admin_statements`.
    pub fn set_admin(&self, on: bool) {
        self.admin.store(on, Ordering::Relaxed);
    }

    /// Turns the log on, into this file, which gets `head` first. On failure everything is as it was.
    pub fn start(&self, path: &Path, head: String) -> io::Result<()> {
        let mut target = self.target.lock();
        let new = Target {
            path: path.to_path_buf(),
            head,
        };
        self.queue.switch(Some((open(&new)?, new.head.clone())))?;
        *target = Some(new);
        self.on.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Turns the log off: what has been logged is written, and the file closed.
    pub fn stop(&self) -> io::Result<()> {
        let mut target = self.target.lock();
        self.on.store(false, Ordering::Relaxed);
        if target.take().is_some() {
            self.queue.switch(None)?;
        }
        Ok(())
    }

    /// FLUSH SLOW LOGS: closes the file and opens it by its name again, which may be another file now.
    pub fn reopen(&self) -> io::Result<()> {
        let target = self.target.lock();
        match &*target {
            Some(t) => self.queue.switch(Some((open(t)?, t.head.clone()))),
            None => Ok(()),
        }
    }

    /// Logs an entry.
    pub fn log(&self, entry: &Entry<'_>) {
        let (before, after) = entry.format();
        self.queue.push(&before, entry.database, &after);
    }

    /// Entries that were lost.
    pub fn lost(&self) -> u64 {
        self.queue.lost()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(statement: &str) -> Entry<'_> {
        Entry {
            end_us: 1_700_000_000_000_000,
            start_s: 1_700_000_000,
            user: "root",
            host: "localhost",
            id: 8,
            query_ns: 123_000,
            lock_ns: 0,
            rows_sent: 1,
            rows_examined: 1,
            database: Some("d"),
            statement,
        }
    }

    fn count(path: &Path, what: &str) -> usize {
        std::fs::read_to_string(path).unwrap().matches(what).count()
    }

    #[test]
    fn entries_reach_the_file_and_files_can_be_switched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slow.log");
        let moved = dir.path().join("slow.log.1");
        let log = SlowLog::default();
        assert!(!log.is_on());
        log.start(&path, "head\n".into()).unwrap();
        for _ in 0..1000 {
            log.log(&entry("SELECT 1"));
        }
        std::fs::rename(&path, &moved).unwrap();
        log.reopen().unwrap();
        assert_eq!(count(&moved, "SELECT 1;\n"), 1000);
        assert_eq!((count(&moved, "head\n"), count(&moved, "use d;\n")), (1, 1));
        log.log(&entry("SELECT 2"));
        log.stop().unwrap();
        assert!(!log.is_on());
        assert_eq!((count(&path, "head\n"), count(&path, "use d;\n")), (1, 1));
        assert_eq!(count(&path, "SELECT 2;\n"), 1);
        // What is dropped writes what it holds.
        log.start(&path, "head\n".into()).unwrap();
        log.log(&entry("SELECT 3"));
        drop(log);
        assert_eq!(count(&path, "SELECT 3;\n"), 1);
    }

    #[test]
    fn many_sessions_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slow.log");
        let log = SlowLog::default();
        log.start(&path, String::new()).unwrap();
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..500).for_each(|_| log.log(&entry("SELECT 1"))));
            }
            s.spawn(|| (0..20).for_each(|_| log.reopen().unwrap()));
        });
        log.stop().unwrap();
        assert_eq!(count(&path, "SELECT 1;\n"), 2000);
        assert_eq!(log.lost(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_loses_entries_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slow.log");
        let log = SlowLog::default();
        log.start(Path::new("/dev/full"), "head\n".into()).unwrap();
        log.log(&entry("SELECT 1"));
        log.log(&entry("SELECT 1"));
        // Turning to another file writes, in vain, what there is for this one.
        log.start(&path, "head\n".into()).unwrap();
        assert_eq!(log.lost(), 2);
        log.log(&entry("SELECT 2"));
        log.stop().unwrap();
        assert_eq!(count(&path, "SELECT 2;\n"), 1);
        assert!(log.start(dir.path(), String::new()).is_err());
        assert!(!log.is_on());
    }
}
