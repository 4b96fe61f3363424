//! The slow query log: MySQL's file, written so that no query ever waits for it ([`LogFile`]).
//!
//! A statement that is logged formats its entry (`format`) and hands it over. While the log is off nobody comes here. Entries that are lost are
//! counted (`Millpond_slow_log_lost` in SHOW STATUS).

mod format;

use crate::logfile::LogFile;
pub(crate) use format::{Entry, head, with_values};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

/// An instance's slow query log.
pub(crate) struct SlowLog {
    file: LogFile,
    /// Whether ALTER TABLE, CREATE INDEX and their like are logged too (`log_slow_admin_statements`).
    admin: AtomicBool,
}

impl Default for SlowLog {
    fn default() -> SlowLog {
        SlowLog {
            file: LogFile::new("slow query log"),
            admin: AtomicBool::new(false),
        }
    }
}

impl Deref for SlowLog {
    type Target = LogFile;
    fn deref(&self) -> &LogFile {
        &self.file
    }
}

impl SlowLog {
    /// Whether administrative statements are slow queries.
    pub fn has_admin(&self) -> bool {
        self.admin.load(Ordering::Relaxed)
    }

    /// `log_slow_admin_statements`.
    pub fn set_admin(&self, on: bool) {
        self.admin.store(on, Ordering::Relaxed);
    }

    /// Logs an entry.
    pub fn log(&self, entry: &Entry<'_>) {
        let (before, after) = entry.format();
        self.file.push(&before, entry.database, &after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

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
