//! The log, copied away as it grows.
//!
//! An archive is a directory of *segments*, `log.<LSN of the first byte>`: bytes of the log as they are, whole groups, [`SEGMENT_BYTES`] and a little more
//! each. Beside each is `times.<the same>`: records of 20 bytes, `milliseconds since 1970 u64, LSN u64, CRC-32C u32`, one a second while something is
//! logged: what was durable then. The file `history` names the history of the database whose log it is (u64, CRC-32C u32).
//!
//! A thread copies what is durable. The log is retained from where the archive is durable, so nothing is missing; but no writer waits for
//! a directory that is full or slow ([`crate::log::Retained`]). If the log had to go on without it the archive has a *gap*: it goes on in another
//! segment, says so in the server's log and in its status, and a backup taken before the gap can't be brought past it.
//!
//! After a restart the archive goes on where it ended: what a crash left uncopied is in the log still.
//!
//! While there is one, pages that trees in bulk are made of, which are written past the log, are in it too.
//!
//! **Failure.** An error of the directory is told, and the archive tries again; nobody else is concerned.

use super::restore::Copy;
use super::take::now_ms;
use crate::error::{Error, Result};
use crate::io::{File, Storage};
use crate::log::{Retained, stream};
use crate::page::{Lsn, get_u32, get_u64, put_u32, put_u64};
use crate::pool::Pager;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A segment is ended at the first group from here on.
const SEGMENT_BYTES: u64 = 64 << 20;
/// Bytes copied at a time.
const STEP: usize = 1 << 20;
/// The thread looks for more after this.
const PAUSE: Duration = Duration::from_millis(50);
/// What was copied is synced after this, or after so many bytes.
const SYNC: Duration = Duration::from_millis(500);
const SYNC_BYTES: u64 = 8 << 20;
/// Times are noted this often.
const MARK: Duration = Duration::from_secs(1);
/// After an error the thread tries again this much later.
const RETRY: Duration = Duration::from_secs(1);
const MARK_BYTES: usize = 20;

/// How an archive is doing.
#[derive(Clone, Debug, Default)]
pub struct ArchiveStatus {
    /// Everything below this is archived, durably.
    pub lsn: Lsn,
    /// Gaps since it was started.
    pub gaps: u64,
    /// Why it does not go on for now.
    pub trouble: Option<String>,
}

/// A running archive. It ends when this is dropped, having copied what is durable by then.
pub struct Archive {
    pager: Arc<Pager>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    status: Mutex<ArchiveStatus>,
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that archives the log panicked");
        }
        let _ = self.pager.set_archived(false);
    }
}

impl Archive {
    /// Archives the log of an open database into `to`. Fails if what is there is of another database, or of another history of it.
    pub(crate) fn start(pager: &Arc<Pager>, to: Arc<dyn Storage>) -> Result<Archive> {
        let (log, history) = (pager.log(), pager.history()?);
        let known = history_of(&*to)?;
        let last = segments(&*to, Lsn::MAX)?.pop();
        let end = last.as_ref().map_or(0, |last| last.end);
        if known.is_some_and(|known| known != history) || end > log.durable_lsn() {
            return Err(Error::Invalid(
                "the archive is another database's, or of before this one was restored; it takes a directory of its own".into(),
            ));
        }
        if known.is_none() {
            write_history(&*to, history)?;
        }
        let retained = match &last {
            Some(last) => log.retain_from(last.end),
            None => log.retain(),
        };
        pager.set_archived(true)?;
        let shared = Arc::new(Shared::default());
        shared.status.lock().lsn = retained.at();
        if let Some(last) = &last
            && retained.at() > last.end
        {
            shared.gap(last.end, retained.at());
        }
        let worker = Worker {
            pager: pager.clone(),
            to,
            shared: shared.clone(),
            synced: retained.at(),
            at: retained.at(),
            retained,
            segment: None,
            synced_at: Instant::now(),
            marked_at: None,
            marked: 0,
        };
        let thread = std::thread::Builder::new()
            .name("log-archive".into())
            .spawn(move || worker.run())
            .map_err(|e| {
                let _ = pager.set_archived(false);
                Error::io("start the thread that archives the log", &e)
            })?;
        Ok(Archive {
            pager: pager.clone(),
            shared,
            thread: Some(thread),
        })
    }

    /// How it is doing.
    pub fn status(&self) -> ArchiveStatus {
        self.shared.status.lock().clone()
    }
}

impl Shared {
    fn gap(&self, from: Lsn, to: Lsn) {
        self.status.lock().gaps += 1;
        tracing::error!(
            "the archived log has a gap from LSN {from} to {to}: backups from before it cannot be brought past it, so make another"
        );
    }
}

struct Worker {
    pager: Arc<Pager>,
    to: Arc<dyn Storage>,
    shared: Arc<Shared>,
    /// Stands at `synced`.
    retained: Retained,
    synced: Lsn,
    /// Copied up to here.
    at: Lsn,
    segment: Option<Open>,
    synced_at: Instant,
    /// The time was last noted then, of this LSN.
    marked_at: Option<Instant>,
    marked: Lsn,
}

/// The segment being written.
struct Open {
    file: Arc<dyn File>,
    times: Arc<dyn File>,
    start: Lsn,
    marks: u64,
}

impl Worker {
    fn run(mut self) {
        loop {
            let stop = self.shared.stop.load(Ordering::Acquire);
            let mut done = self.copy(stop);
            if self.retained.is_lost() {
                done = self.go_on();
            }
            let trouble = done.err().map(|e| e.to_string());
            let mut status = self.shared.status.lock();
            if let Some(why) = &trouble
                && status.trouble.as_ref() != Some(why)
            {
                tracing::error!("the log is not being archived: {why}");
            }
            status.lsn = self.synced;
            status.trouble.clone_from(&trouble);
            drop(status);
            if stop {
                return;
            }
            match trouble {
                None => self.retained.pause(PAUSE),
                Some(_) => std::thread::sleep(RETRY),
            }
        }
    }

    /// The log went on without the archive.
    fn go_on(&mut self) -> Result<()> {
        let from = self.synced;
        self.retained = self.pager.log().retain();
        self.segment = None;
        (self.synced, self.at) = (self.retained.at(), self.retained.at());
        self.shared.gap(from, self.at);
        Ok(())
    }

    /// Copies what is durable. `last`: makes it durable, whatever the time.
    fn copy(&mut self, last: bool) -> Result<()> {
        if self.at < self.synced || self.segment.is_none() {
            self.at = self.synced;
        }
        let now = loop {
            let log = self.pager.log();
            let bytes = log.read_retained_at(&self.retained, self.at, STEP)?;
            // All of it is durable by now.
            let now = now_ms();
            if !bytes.is_empty() {
                let open = match &mut self.segment {
                    Some(open) => open,
                    None => {
                        let open = Open::create(&*self.to, self.at)?;
                        self.segment.insert(open)
                    }
                };
                let written = open.file.write_at(&bytes, self.at - open.start);
                if let Err(e) = written {
                    return Err(self.failed("write", &e));
                }
                self.at += bytes.len() as u64;
            }
            if bytes.len() < STEP {
                break now;
            }
        };
        // A group ends here, so that another segment may begin here.
        let due = self.at - self.synced >= SYNC_BYTES || self.synced_at.elapsed() >= SYNC;
        if self.at > self.synced && (due || last) {
            self.sync()?;
        }
        self.mark(now, last)
    }

    /// What was not synced is copied once more, into another segment.
    fn failed(&mut self, what: &str, e: &std::io::Error) -> Error {
        let start = self.segment.take().map_or(0, |open| open.start);
        self.at = self.synced;
        Error::io(format!("{what} {}", log_name(start)), e)
    }

    fn sync(&mut self) -> Result<()> {
        let Some(open) = &self.segment else {
            return Ok(());
        };
        if let Err(e) = open.file.sync() {
            return Err(self.failed("sync", &e));
        }
        self.synced = self.at;
        self.synced_at = Instant::now();
        self.retained.advance(self.synced);
        Ok(())
    }

    /// Notes the time, and ends the segment if it is long enough.
    fn mark(&mut self, now: u64, last: bool) -> Result<()> {
        let due = last || self.marked_at.is_none_or(|at| at.elapsed() >= MARK);
        let due = due && self.at > self.marked;
        let Some(open) = self.segment.as_mut().filter(|_| due) else {
            return Ok(());
        };
        let mut mark = [0; MARK_BYTES];
        put_u64(&mut mark, 0, now);
        put_u64(&mut mark, 8, self.at);
        let crc = crc32c::crc32c(&mark[..16]);
        put_u32(&mut mark, 16, crc);
        let written = open.times.write_at(&mark, open.marks * MARK_BYTES as u64);
        if let Err(e) = written.and_then(|()| open.times.sync()) {
            return Err(self.failed("note the time beside", &e));
        }
        open.marks += 1;
        self.marked = self.at;
        self.marked_at = Some(Instant::now());
        if self.at - open.start >= SEGMENT_BYTES {
            self.sync()?;
            self.segment = None;
        }
        Ok(())
    }
}

/// The file that says whose log it is.
const HISTORY: &str = "history";

/// The history whose log an archive has; `None`: it is new. One that is there and says nothing is an error, for the segments beside it are
/// somebody's.
pub(super) fn history_of(from: &dyn Storage) -> Result<Option<u64>> {
    if !from.exists(HISTORY) {
        return Ok(None);
    }
    let io = |e| Error::io(format!("read {HISTORY}"), &e);
    let file = from.open(HISTORY, false).map_err(io)?;
    let mut bytes = [0; 12];
    match file.read_at(&mut bytes, 0) {
        // Its making was cut short.
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        done => done.map_err(io)?,
    }
    match crc32c::crc32c(&bytes[..8]) == get_u32(&bytes, 8) {
        true => Ok(Some(get_u64(&bytes, 0))),
        // The file was made longer, and a cut came before it was written.
        false if bytes == [0; 12] => Ok(None),
        false => {
            let what = format!("file {HISTORY} of the archive: checksum; nothing was changed");
            Err(Error::Corrupt(what))
        }
    }
}

fn write_history(to: &dyn Storage, history: u64) -> Result<()> {
    let io = |e| Error::io(format!("write {HISTORY}"), &e);
    let mut bytes = [0; 12];
    put_u64(&mut bytes, 0, history);
    let crc = crc32c::crc32c(&bytes[..8]);
    put_u32(&mut bytes, 8, crc);
    let file = to.open(HISTORY, true).map_err(io)?;
    file.write_at(&bytes, 0).map_err(io)?;
    file.sync().map_err(io)?;
    to.sync_folder("").map_err(io)
}

fn log_name(start: Lsn) -> String {
    format!("log.{start:020}")
}

fn times_name(start: Lsn) -> String {
    format!("times.{start:020}")
}

impl Open {
    /// Begins a segment. One that begins there already ends there: nothing of it was whole.
    fn create(to: &dyn Storage, start: Lsn) -> Result<Open> {
        let open = |name: String| {
            let file = to.open(&name, true).and_then(|f| f.set_len(0).map(|()| f));
            file.map_err(|e| Error::io(format!("create {name}"), &e))
        };
        let open = Open {
            file: open(log_name(start))?,
            times: open(times_name(start))?,
            start,
            marks: 0,
        };
        let synced = to.sync_folder("");
        synced.map_err(|e| Error::io("sync the archive's directory", &e))?;
        Ok(open)
    }
}

/// A segment that is there.
pub(super) struct Segment {
    pub start: Lsn,
    /// The end of its last whole group.
    pub end: Lsn,
}

impl Segment {
    pub fn open(&self, from: &dyn Storage) -> Result<Copy> {
        let name = log_name(self.start);
        let file = from.open(&name, false);
        Ok(Copy {
            file: file.map_err(|e| Error::io(format!("open {name}"), &e))?,
            name,
            start: self.start,
        })
    }
}

/// The starts of the segments there are, in order.
fn starts(from: &dyn Storage) -> Result<Vec<Lsn>> {
    let names = from.list("");
    let names = names.map_err(|e| Error::io("list the archive", &e))?;
    let starts = names
        .iter()
        .filter_map(|n| n.strip_prefix("log.")?.parse().ok());
    let mut starts: Vec<Lsn> = starts.collect();
    starts.sort_unstable();
    Ok(starts)
}

/// The segments that have log from `since` on, in order; the last one anyway. Each is read, for a crash may have cut it short; where a failure
/// had one written twice the second begins before the end of the first.
pub(super) fn segments(from: &dyn Storage, since: Lsn) -> Result<Vec<Segment>> {
    let mut all = Vec::new();
    let starts = starts(from)?;
    for (n, &start) in starts.iter().enumerate() {
        if starts.get(n + 1).is_some_and(|next| *next <= since) {
            continue;
        }
        let mut segment = Segment { start, end: start };
        let copy = segment.open(from)?;
        let len = copy.file.len();
        let len = len.map_err(|e| Error::io(format!("length of {}", copy.name), &e))?;
        let ignore = &mut |_, _, _: &[u8]| Ok(());
        segment.end = stream::walk(&copy, start, len, 0, ignore)?.0;
        all.push(segment);
    }
    Ok(all)
}

/// What was durable at a time; `None`: that is not known.
pub(super) fn lsn_at(from: &dyn Storage, ms: u64) -> Result<Option<Lsn>> {
    let mut found = None;
    for start in starts(from)? {
        let name = times_name(start);
        let io = |e| Error::io(format!("read {name}"), &e);
        if !from.exists(&name) {
            continue;
        }
        let file = from.open(&name, false).map_err(io)?;
        let mut bytes = vec![0; file.len().map_err(io)? as usize];
        file.read_at(&mut bytes, 0).map_err(io)?;
        for mark in bytes.chunks_exact(MARK_BYTES) {
            let whole = crc32c::crc32c(&mark[..16]) == get_u32(mark, 16);
            if whole && get_u64(mark, 0) <= ms {
                found = found.max(Some(get_u64(mark, 8)));
            }
        }
    }
    Ok(found)
}
