//! A log file that sessions write to without waiting for it: the slow query log's and the audit log's.
//!
//! Entries are appended to a buffer of bounded size under a short mutex. A thread takes the whole buffer, writes it, and rests for a moment
//! before it looks again, so that under load it writes a few times a second and nobody has to wake it; when
//! nothing came it sleeps until somebody logs. It begins with the log and ends with the instance.
//!
//! Changing files goes through that thread: it first writes what was logged before into the old one. A file that has reached its
//! size is renamed, by the time, and a new one begun.
//!
//! **Fails** softly: when the disk is full or cannot keep up, entries are lost, counted ([`LogFile::lost`]) and complained of in
//! the server's log; sessions go on. **Locks**: `target` before the buffer's mutex, a leaf; no I/O is done under the latter.

use millpond_sql::value::Zone;
use millpond_sql::value::time::DateTime;
use parking_lot::{Condvar, Mutex};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes that may wait to be written; an entry that is larger by itself is taken when nothing else waits.
const MOST_BYTES: usize = 8 << 20;
/// A buffer this full wakes a resting writer.
const WAKE_BYTES: usize = 256 << 10;
/// A buffer that grew beyond this is not kept.
const KEEP_BYTES: usize = 1 << 20;
/// How long the writer rests after writing.
const REST: Duration = Duration::from_millis(50);
/// Between two complaints about lost entries.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// Where a log goes.
#[derive(Clone)]
struct Target {
    path: PathBuf,
    /// What a file begins with.
    head: String,
}

impl Target {
    /// Opens it, for nobody else to read if it is made.
    fn open(&self) -> io::Result<Open> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        let bytes = file.metadata()?.len();
        let target = self.clone();
        Ok(Open {
            file,
            bytes,
            target,
        })
    }
}

/// A file that is written to.
struct Open {
    file: File,
    bytes: u64,
    target: Target,
}

/// `None` closes the file.
type Switch = Option<Target>;

/// See the module.
pub(crate) struct LogFile {
    on: AtomicBool,
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// What the open file is, to open it again. Held across opening, so that files are switched one at a time.
    target: Mutex<Option<Target>>,
}

struct Shared {
    /// What messages call it.
    name: &'static str,
    /// Bytes at which a file is renamed and a new one begun; 0: never.
    rotate_at: AtomicU64,
    /// Of the open file.
    bytes: AtomicU64,
    state: Mutex<State>,
    /// The writer waits here.
    work: Condvar,
    /// Those who switch files wait here.
    switched: Condvar,
    lost: AtomicU64,
}

#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    /// Entries in it.
    entries: u64,
    /// The database that the last entry's reader is in.
    database: Option<String>,
    /// The writer sleeps until woken.
    asleep: bool,
    /// The file to turn to, and the number of that order.
    switch: Option<Switch>,
    ordered: u64,
    done: u64,
    /// Why the file of the last order couldn't be opened.
    failed: Option<io::Error>,
    stop: bool,
}

impl LogFile {
    /// One that is off. `name`: what messages call it.
    pub fn new(name: &'static str) -> LogFile {
        let shared = Shared {
            name,
            rotate_at: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            state: Mutex::default(),
            work: Condvar::new(),
            switched: Condvar::new(),
            lost: AtomicU64::new(0),
        };
        LogFile {
            on: AtomicBool::new(false),
            shared: Arc::new(shared),
            writer: Mutex::default(),
            target: Mutex::default(),
        }
    }

    /// Whether entries are wanted.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Turns the log on, into this file, which gets `head` first. On failure everything is as it was.
    pub fn start(&self, path: &Path, head: String) -> io::Result<()> {
        let mut target = self.target.lock();
        let new = Target {
            path: path.to_path_buf(),
            head,
        };
        self.switch(Some(new.clone()))?;
        *target = Some(new);
        self.on.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Turns the log off: what has been logged is written, and the file closed.
    pub fn stop(&self) -> io::Result<()> {
        let mut target = self.target.lock();
        self.on.store(false, Ordering::Relaxed);
        if target.take().is_some() {
            self.switch(None)?;
        }
        Ok(())
    }

    /// Closes the file and opens it by its name again, which may be another file now.
    pub fn reopen(&self) -> io::Result<()> {
        let target = self.target.lock();
        match &*target {
            Some(t) => self.switch(Some(t.clone())),
            None => Ok(()),
        }
    }

    /// Has files of this size renamed, and new ones begun; 0: none.
    pub fn rotate_at(&self, bytes: u64) {
        self.shared.rotate_at.store(bytes, Ordering::Relaxed);
    }

    /// The size of the open file, as far as it is written.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Appends an entry: `before`, a USE if the database is another than the last entry's, `after`.
    pub fn push(&self, before: &[u8], database: Option<&str>, after: &[u8]) {
        let mut s = self.shared.state.lock();
        let len = before.len() + after.len();
        if !s.buffer.is_empty() && s.buffer.len() + len > MOST_BYTES {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        s.buffer.extend_from_slice(before);
        if let Some(name) = database
            && s.database.as_deref() != Some(name)
        {
            s.buffer.extend_from_slice(b"use ");
            s.buffer.extend_from_slice(name.as_bytes());
            s.buffer.extend_from_slice(b";\n");
            s.database = Some(name.to_string());
        }
        s.buffer.extend_from_slice(after);
        s.entries += 1;
        let full = s.buffer.len() >= WAKE_BYTES && s.buffer.len() - len < WAKE_BYTES;
        if s.asleep || full {
            s.asleep = false;
            self.shared.work.notify_one();
        }
    }

    /// Has the writer finish the open file and turn to another; returns when it has, or has gone on with the one it had, for the other
    /// can't be opened. Fails too if there is no writer and none can be started. Callers come one at a time.
    fn switch(&self, to: Switch) -> io::Result<()> {
        self.start_writer()?;
        let mut s = self.shared.state.lock();
        s.switch = Some(to);
        s.ordered += 1;
        let mine = s.ordered;
        s.asleep = false;
        self.shared.work.notify_one();
        while s.done < mine {
            self.shared.switched.wait(&mut s);
        }
        s.failed.take().map_or(Ok(()), Err)
    }

    /// Entries that were lost.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    fn start_writer(&self) -> io::Result<()> {
        let mut writer = self.writer.lock();
        if writer.is_none() {
            let shared = self.shared.clone();
            let run = move || Writer::new(&shared).run();
            *writer = Some(
                std::thread::Builder::new()
                    .name(self.shared.name.replace(' ', "-"))
                    .spawn(run)?,
            );
        }
        Ok(())
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.work.notify_one();
        if let Some(writer) = self.writer.lock().take() {
            // It has nothing to say but what it has logged.
            let _ = writer.join();
        }
    }
}

/// The thread's own.
struct Writer<'s> {
    shared: &'s Shared,
    file: Option<Open>,
    failing: bool,
    /// A file of this size couldn't be renamed; the next try is when it has grown by as much again.
    stuck_at: u64,
    complained: Option<Instant>,
    told: u64,
}

/// What the writer found to do.
struct Work {
    buffer: Vec<u8>,
    entries: u64,
    switch: Option<(Switch, u64)>,
    stop: bool,
}

impl<'s> Writer<'s> {
    fn new(shared: &'s Shared) -> Writer<'s> {
        Writer {
            shared,
            file: None,
            failing: false,
            stuck_at: 0,
            complained: None,
            told: 0,
        }
    }

    fn run(mut self) {
        let mut spare = Vec::new();
        loop {
            let mut work = self.next(std::mem::take(&mut spare));
            self.write(&work.buffer, work.entries);
            if work.entries > 0 {
                self.rotate();
            }
            if let Some((to, order)) = work.switch {
                // Here and not by who asks: meanwhile the name may have become another file's.
                let opened = to.map(|target| target.open()).transpose();
                let failed = opened.map(|open| self.turn_to(open)).err();
                let mut s = self.shared.state.lock();
                (s.failed, s.done) = (failed, order);
                self.shared.switched.notify_all();
            }
            self.complain();
            if work.stop {
                return;
            }
            if work.buffer.capacity() <= KEEP_BYTES {
                work.buffer.clear();
                spare = work.buffer;
            }
        }
    }

    /// Waits for work and takes all there is.
    fn next(&self, spare: Vec<u8>) -> Work {
        let mut s = self.shared.state.lock();
        // Entries that come now and then go out at once; those that come all the time, together.
        if s.switch.is_none() && !s.stop && s.buffer.len() < WAKE_BYTES {
            self.shared.work.wait_for(&mut s, REST);
        }
        while s.buffer.is_empty() && s.switch.is_none() && !s.stop {
            s.asleep = true;
            self.shared.work.wait(&mut s);
        }
        s.asleep = false;
        let switch = s.switch.take().map(|to| (to, s.ordered));
        if switch.is_some() {
            // A new file's reader is in no database.
            s.database = None;
        }
        Work {
            buffer: std::mem::replace(&mut s.buffer, spare),
            entries: std::mem::take(&mut s.entries),
            switch,
            stop: s.stop,
        }
    }

    fn write(&mut self, bytes: &[u8], entries: u64) {
        let Some(open) = &mut self.file else {
            // Logged by a statement that began before the log was turned off.
            return;
        };
        if bytes.is_empty() {
            return;
        }
        // What was cut off by the last failure ends here.
        let begun = if self.failing { &b"\n"[..] } else { b"" };
        let file = &mut open.file;
        let written = file.write_all(begun).and_then(|()| file.write_all(bytes));
        match written {
            Ok(()) => {
                open.bytes += (begun.len() + bytes.len()) as u64;
                self.shared.bytes.store(open.bytes, Ordering::Relaxed);
                if std::mem::take(&mut self.failing) {
                    tracing::info!("the {} is being written again", self.shared.name);
                }
            }
            Err(e) => {
                self.shared.lost.fetch_add(entries, Ordering::Relaxed);
                self.shared.state.lock().database = None;
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!(error = %e, "cannot write the {}", self.shared.name);
                }
            }
        }
    }

    /// Renames a file that has reached its size, and begins a new one. One that can't be renamed is gone on with.
    fn rotate(&mut self) {
        let most = self.shared.rotate_at.load(Ordering::Relaxed);
        let Some(open) = &self.file else { return };
        if most == 0 || open.bytes < most.saturating_add(self.stuck_at) {
            return;
        }
        let target = open.target.clone();
        let renamed = match rename(&target.path) {
            // It was renamed before, and no new one could be opened; or it was taken away.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        };
        match renamed.and_then(|()| target.open()) {
            Ok(new) => self.turn_to(Some(new)),
            Err(e) => {
                self.stuck_at = open.bytes;
                tracing::error!(error = %e, "cannot rotate the {}", self.shared.name);
            }
        }
    }

    fn turn_to(&mut self, to: Option<Open>) {
        (self.failing, self.stuck_at) = (false, 0);
        let bytes = to.as_ref().map_or(0, |open| open.bytes);
        self.shared.bytes.store(bytes, Ordering::Relaxed);
        let head = to.as_ref().map(|open| open.target.head.clone());
        self.file = to;
        self.write(head.unwrap_or_default().as_bytes(), 0);
    }

    fn complain(&mut self) {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let lately = |at: Instant| at.elapsed() < COMPLAIN_EVERY;
        if lost > self.told && !self.complained.is_some_and(lately) {
            let (lost, name) = (lost - self.told, self.shared.name);
            tracing::warn!(lost, "entries of the {name} were lost");
            self.told += lost;
            self.complained = Some(Instant::now());
        }
    }
}

/// `audit.log` becomes `audit.20261124T001533.log`, or `...-1.log` if that is there.
fn rename(path: &Path) -> io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |d| d.as_secs());
    let time = DateTime::from_unix(seconds as i64, 0, Zone::UTC).unwrap_or_default();
    let date = time.date;
    let stamp = format!(
        "{:04}{:02}{:02}T{:02}{:02}{:02}",
        date.year, date.month, date.day, time.hour, time.minute, time.second
    );
    let part = |p: Option<&std::ffi::OsStr>| p.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, suffix) = (part(path.file_stem()), part(path.extension()));
    let dot = if suffix.is_empty() { "" } else { "." };
    let names = (0u32..).map(|n| match n {
        0 => format!("{stem}.{stamp}{dot}{suffix}"),
        n => format!("{stem}.{stamp}-{n}{dot}{suffix}"),
    });
    let free = names
        .map(|name| path.with_file_name(name))
        .find(|to| !to.exists());
    std::fs::rename(path, free.expect("there are names enough"))
}

/// Whether a path is that of a log's file, or has a name that a full one of its files has.
pub(crate) fn is_of(path: &Path, log: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    if let (Some(a), Some(b)) = (file(path), file(log))
        && a == b
    {
        return true;
    }
    let path = resolved(path);
    if path == resolved(log) {
        return true;
    }
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
        return false;
    };
    let part = |p: Option<&OsStr>| p.unwrap_or_default().as_bytes().to_vec();
    let (stem, suffix) = (part(log.file_stem()), part(log.extension()));
    let rest = name
        .as_bytes()
        .strip_prefix(&stem[..])
        .and_then(|n| n.strip_suffix(&suffix[..]));
    let log_folder = log.parent().map(resolved);
    log_folder.as_deref() == Some(folder) && rest.is_some_and(|n| n.starts_with(b"."))
}

/// Whether a log may be written at a path: not where options are read from (`.cnf` and `.ini`, as in MySQL), and in the data directory only
/// to names that no file of the database has.
pub(crate) fn is_for_logs(path: &Path, data: &Path) -> bool {
    let path = resolved(path);
    let suffix = path.extension().unwrap_or_default().to_ascii_lowercase();
    match path.starts_with(resolved(data)) {
        true => suffix == "log",
        false => suffix != "cnf" && suffix != "ini",
    }
}

/// A path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let whole = path.canonicalize().ok();
    let new = || {
        let folder = path.parent()?.canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    whole.or_else(new).unwrap_or_else(|| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder of its own.
    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_file_that_was_taken_away_is_begun_anew() {
        let dir = folder();
        let path = dir.path().join("a.log");
        let log = LogFile::new("test log");
        log.start(&path, String::new()).unwrap();
        log.rotate_at(4);
        // As it is when it was renamed and no new one could be opened.
        fs::remove_file(&path).unwrap();
        log.push(b"lost with its file\n", None, b"");
        let end = Instant::now() + Duration::from_secs(20);
        while !path.exists() {
            assert!(Instant::now() < end, "no new file");
            std::thread::sleep(Duration::from_millis(10));
        }
        log.push(b"1\n", None, b"");
        log.stop().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1\n");
        assert_eq!(log.lost(), 0);
    }

    #[test]
    fn logs_are_written_to_no_file_of_the_database() {
        let (data, other) = (folder(), folder());
        let is = |path: PathBuf| is_for_logs(&path, data.path());
        fs::write(data.path().join("redo"), "").unwrap();
        fs::create_dir(data.path().join("tables")).unwrap();
        for name in [
            "redo",
            "undo",
            "mysqld-auto.cnf",
            "ca.pem",
            "tables/1",
            "./tables/../redo",
        ] {
            assert!(!is(data.path().join(name)), "{name}");
        }
        assert!(is(data.path().join("slow.log")) && is(data.path().join("a.b.LOG")));
        assert!(is(other.path().join("slow.txt")) && is(PathBuf::from("/dev/full")));
        assert!(!is(other.path().join("my.cnf")) && !is(other.path().join("php.INI")));
        let link = other.path().join("link");
        std::os::unix::fs::symlink(data.path().join("redo"), &link).unwrap();
        assert!(!is(link));
    }

    #[test]
    fn a_log_s_files_are_known() {
        let dir = folder();
        let at = |name: &str| dir.path().join(name);
        let log = at("audit.log");
        let is = |name: &str| is_of(&at(name), &log);
        fs::create_dir(at("sub")).unwrap();
        for _ in 0..2 {
            assert!(is("audit.log") && is("./sub/../audit.log"));
            assert!(is("audit.20261124T001533.log") && is("audit.20261124T001533-1.log"));
            assert!(!is("audit.log2") && !is("audits.log") && !is("slow.log"));
            assert!(!is("sub/audit.log"));
            // And with a file that is there.
            fs::write(&log, "").unwrap();
        }
        std::os::unix::fs::symlink(&log, at("link")).unwrap();
        fs::hard_link(&log, at("other")).unwrap();
        assert!(is("link") && is("other"));
    }
}
