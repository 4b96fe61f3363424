//! Copying an open database.
//!
//! 1. *Begin.* The log is retained from its checkpoint on: the start LSN. Extents that are published are noted from now on.
//! 2. *Pages and log, side by side.* A thread copies the log as it becomes durable. The caller's thread copies each file's pages as they
//!    are on the disk, a mebibyte at a time, into buffers of its own; the pool is not touched.
//! 3. *End.* Extents published meanwhile are copied once more, the last of them while nobody publishes others. Where the log ends then
//!    is the end LSN. The log is copied up to there, and everything made durable.
//! 4. *Manifest.* It makes the backup one.
//!
//! **Why it is enough.** What restoring does is what recovery would do after a crash at the end LSN, with the start LSN for a checkpoint; it wants each page
//! to be, by itself, in a state that the disk held once in between, and the log to be whole. `docs/backup.md` has it in full.
//!
//! **Failure.** An error ends the backup, and what it wrote is removed; the database is not concerned. One that was killed or lost its power leaves
//! files without a manifest, which nothing takes for a backup.
//!
//! **Locks.** None while anything is read or written, but: pages' writers are held up while a page that was found torn four times is
//! read once more; who publishes extents waits while the last ones are copied.

use super::manifest::Manifest;
use super::pages::{CHUNK_PAGES, Writer};
use super::{BackupOptions, FILES, LOG, MANIFEST, OnProgress, PAGES, Progress};
use crate::crypt::{self, Encrypted};
use crate::error::{Error, Result};
use crate::io::{File, Storage};
use crate::log::{Log, Retained};
use crate::page::{Lsn, PAGE_SIZE, PageNo, page_lsn};
use crate::pool::{Extents, Found, Pager, Source, Watch};
use crate::space::EXTENT_PAGES;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Bytes of log copied at a time.
const LOG_STEP: usize = 1 << 20;
/// The log's copier looks for more after this.
const LOG_PAUSE: Duration = Duration::from_millis(20);
/// Longest sleep of a backup that is held back, between two looks at whether it is to end.
const NAP: Duration = Duration::from_millis(50);
/// Times that what was published is copied while others publish more.
const ROUNDS: u32 = 8;

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// Refuses a directory in which there is anything.
fn check_empty(to: &dyn Storage) -> Result<()> {
    let there = to
        .list("")
        .map_err(|e| Error::io("list the directory", &e))?;
    match there.first() {
        Some(name) => {
            let what = format!("the directory is not empty: there is {name}");
            Err(Error::Invalid(what))
        }
        None => Ok(()),
    }
}

/// Makes the empty directory of a backup one whose files are encrypted. If it fails nothing is there.
pub(crate) type Encrypt<'e, 't> = &'e dyn Fn() -> Result<Encrypted<&'t dyn Storage>>;

/// Copies the database into `to`, which is empty; encrypted, if the database is.
pub(crate) fn take<'t>(
    pager: &Pager,
    to: &'t dyn Storage,
    encrypt: Option<Encrypt<'_, 't>>,
    options: &BackupOptions,
    progress: OnProgress<'_>,
) -> Result<Manifest> {
    // From here on no other backup of this database writes to the directory, nor removes what is there.
    let watch = pager.watch_published()?;
    check_empty(to)?;
    let encrypted = encrypt.map(|encrypt| encrypt()).transpose()?;
    let within = encrypted.as_ref().map_or(to, |e| e as &dyn Storage);
    let done = Take::begin(pager, within, options, progress).and_then(|take| take.run(&watch));
    if done.is_err() {
        remove(to, options);
    }
    done
}

/// Removes what a failed backup wrote, as far as that goes.
fn remove(to: &dyn Storage, options: &BackupOptions) {
    let files = options.files.iter().map(|(n, _)| format!("{FILES}/{n}"));
    let all = [MANIFEST, PAGES, LOG].map(String::from).into_iter();
    for name in all.chain(files) {
        if to.exists(&name) {
            let _ = to.remove(&name);
        }
    }
    crypt::remove(to);
    let _ = to.sync_folder("");
}

struct Take<'a> {
    pager: &'a Pager,
    to: &'a dyn Storage,
    options: &'a BackupOptions,
    progress: OnProgress<'a>,
    writer: Writer,
    retained: Retained,
    log: LogCopy,
    began: Instant,
    state: Progress,
}

impl<'a> Take<'a> {
    fn begin(
        pager: &'a Pager,
        to: &'a dyn Storage,
        options: &'a BackupOptions,
        progress: OnProgress<'a>,
    ) -> Result<Take<'a>> {
        Ok(Take {
            pager,
            to,
            options,
            progress,
            writer: Writer::create(to)?,
            retained: pager.log().retain(),
            log: LogCopy::create(to)?,
            began: Instant::now(),
            state: Progress::default(),
        })
    }

    fn run(mut self, watch: &Watch<'_>) -> Result<Manifest> {
        let began = now_ms();
        let start = self.retained.at();
        let history = self.pager.history()?;
        if let Some(base) = &self.options.base
            && (base.history != history || base.end > self.pager.log().durable_lsn())
        {
            return Err(Error::Invalid(
                "the base of the backup is another database's, or of before this one was restored"
                    .into(),
            ));
        }
        let (end, since) = self.beside_log(watch)?;
        self.writer.finish()?;
        for (name, bytes) in &self.options.files {
            self.file(name, bytes)?;
        }
        let io = |e| Error::io("sync the directory", &e);
        self.to.sync_folder("").map_err(io)?;
        let mut manifest = Manifest {
            history,
            start,
            end,
            since,
            base: self.options.base.as_ref().map(|b| (b.end, b.crc)),
            redo_bytes: self.pager.ring_bytes(),
            chunks: self.writer.chunks,
            pages_bytes: self.writer.bytes,
            pages_crc: self.writer.crc,
            pages: self.writer.pages,
            began,
            ended: now_ms(),
            crc: 0,
        };
        manifest.write(self.to)?;
        Ok(manifest)
    }

    /// Copies pages while a thread copies the log; both are durable up to the end.
    fn beside_log(&mut self, watch: &Watch<'_>) -> Result<(Lsn, Lsn)> {
        // Borrowed apart from the rest, which this thread goes on with.
        let log = std::mem::take(&mut self.log);
        let retained = &self.retained;
        let (pager, shared) = (self.pager, LogShared::default());
        let copied = std::thread::scope(|scope| {
            let copier = std::thread::Builder::new()
                .name("backup-log".into())
                .spawn_scoped(scope, || {
                    let done = log.run(pager.log(), retained, &shared);
                    shared.ended.store(true, Ordering::Release);
                    done
                })
                .map_err(|e| Error::io("start a thread that copies the log", &e))?;
            let _ending = Ending(&shared);
            let mut pages = Pages {
                pager,
                writer: &mut self.writer,
                since: self.options.base.as_ref().map_or(0, |b| b.since),
                buf: vec![0; CHUNK_PAGES * PAGE_SIZE],
                bytes_per_sec: self.options.bytes_per_sec,
                began: self.began,
                state: &mut self.state,
                progress: &mut *self.progress,
                log: &shared,
            };
            let ended = pages.run(watch);
            match &ended {
                Ok((end, _)) => shared.end.store(*end, Ordering::Release),
                Err(_) => shared.stop.store(true, Ordering::Release),
            }
            let logged = copier
                .join()
                .unwrap_or_else(|_| Err(Error::Invalid("the copy of the log panicked".into())));
            // What became of the log is why the pages were given up, if both failed.
            logged.and(ended)
        })?;
        Ok(copied)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = format!("{FILES}/{name}");
        let io = |e| Error::io(format!("write {path}"), &e);
        let file = self.to.open(&path, true).map_err(io)?;
        file.write_at(bytes, 0).map_err(io)?;
        file.sync().map_err(io)?;
        self.to.sync_folder(FILES).map_err(io)
    }
}

/// What the two threads tell each other.
struct LogShared {
    /// Where the log's copy is to end, as soon as that is known.
    end: AtomicU64,
    /// How far it is.
    at: AtomicU64,
    /// It is to end without success.
    stop: AtomicBool,
    /// It has ended.
    ended: AtomicBool,
}

impl Default for LogShared {
    fn default() -> LogShared {
        LogShared {
            end: AtomicU64::new(u64::MAX),
            at: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }
}

/// Ends the log's copy if this thread panics, which would wait for it.
struct Ending<'s>(&'s LogShared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Ordering::Release);
        }
    }
}

/// The copy of the log.
#[derive(Default)]
struct LogCopy(Option<Arc<dyn File>>);

impl LogCopy {
    fn create(to: &dyn Storage) -> Result<LogCopy> {
        let file = to.open(LOG, true);
        Ok(LogCopy(Some(
            file.map_err(|e| Error::io(format!("create {LOG}"), &e))?,
        )))
    }

    /// Copies what becomes durable until the end is reached, and makes it durable.
    fn run(self, log: &Log, retained: &Retained, shared: &LogShared) -> Result<()> {
        let io = |e| Error::io(format!("write {LOG}"), &e);
        let file = self.0.expect("run once");
        let start = retained.at();
        loop {
            if shared.stop.load(Ordering::Acquire) {
                return Ok(());
            }
            let at = retained.at();
            let end = shared.end.load(Ordering::Acquire);
            if at >= end {
                return file.sync().map_err(io);
            }
            if end != u64::MAX {
                log.sync_to(end)?;
            }
            let most = usize::try_from(end - at)
                .unwrap_or(usize::MAX)
                .min(LOG_STEP);
            let bytes = log.read_retained(retained, most)?;
            if bytes.is_empty() {
                if let Some(why) = log.stopped() {
                    return Err(Error::Stopped(why));
                }
                retained.pause(LOG_PAUSE);
                continue;
            }
            file.write_at(&bytes, at - start).map_err(io)?;
            retained.advance(at + bytes.len() as u64);
            shared.at.store(retained.at(), Ordering::Release);
        }
    }
}

/// The copying of pages.
struct Pages<'a> {
    pager: &'a Pager,
    writer: &'a mut Writer,
    /// Pages with a lower LSN are left out.
    since: Lsn,
    buf: Vec<u8>,
    bytes_per_sec: u64,
    began: Instant,
    state: &'a mut Progress,
    progress: OnProgress<'a>,
    log: &'a LogShared,
}

impl Pages<'_> {
    fn run(&mut self, watch: &Watch<'_>) -> Result<(Lsn, Lsn)> {
        let files = self.pager.files_to_copy()?;
        for id in &files {
            if let Some(source) = self.pager.source(*id)? {
                self.state.of += source.len()?.0;
            }
        }
        for id in files {
            if let Some(source) = self.pager.source(id)? {
                self.copy_file(&source)?;
            }
        }
        for _ in 0..ROUNDS {
            let published = watch.published();
            if published.is_empty() {
                break;
            }
            self.copy_again(published)?;
        }
        watch.end(|last| self.copy_again(last))
    }

    fn copy_file(&mut self, source: &Source) -> Result<()> {
        let (len, fixed) = source.len()?;
        let pages = PageNo::try_from(len / PAGE_SIZE as u64).unwrap_or(PageNo::MAX);
        let mut first = 0;
        while first < pages {
            let count = (pages - first).min(CHUNK_PAGES as u32);
            let there = self.copy(source, first, count)?;
            first += count;
            self.step(u64::from(count) * PAGE_SIZE as u64)?;
            if there < count {
                // The rest was cut off meanwhile.
                break;
            }
        }
        match fixed {
            true => Ok(()),
            false => self.writer.length(source.id, len),
        }
    }

    /// Extents whose pages came past the log after they had been copied.
    fn copy_again(&mut self, extents: Vec<Extents>) -> Result<()> {
        for (id, first, len) in extents {
            let Some(source) = self.pager.source(id)? else {
                continue;
            };
            let end = (first + len) * EXTENT_PAGES;
            let mut page = first * EXTENT_PAGES;
            while page < end {
                let count = (end - page).min(CHUNK_PAGES as u32);
                self.copy(&source, page, count)?;
                page += count;
                self.step(0)?;
            }
        }
        Ok(())
    }

    /// Copies pages; how many the file had.
    fn copy(&mut self, source: &Source, first: PageNo, count: u32) -> Result<u32> {
        let buf = &mut self.buf[..count as usize * PAGE_SIZE];
        let found = self.pager.read_pages(source, first, buf)?;
        for ((found, page), no) in found.iter().zip(buf.chunks_exact(PAGE_SIZE)).zip(first..) {
            if *found == Found::Page && page_lsn(page) >= self.since {
                self.writer.add(source.id, no, page)?;
            }
        }
        Ok(found.len() as u32)
    }

    /// Tells how far it is, and waits if it is too fast.
    fn step(&mut self, bytes: u64) -> Result<()> {
        self.state.bytes += bytes;
        loop {
            self.state.log = self.log.at.load(Ordering::Acquire);
            (self.progress)(self.state)?;
            if self.log.ended.load(Ordering::Acquire) {
                // It has not been told an end, so it has failed; how, it says itself.
                return Err(Error::Interrupted);
            }
            if self.bytes_per_sec == 0 {
                return Ok(());
            }
            let due = self.writer.bytes as f64 / self.bytes_per_sec as f64;
            let ahead = due - self.began.elapsed().as_secs_f64();
            if ahead <= 0.0 {
                return Ok(());
            }
            std::thread::sleep(NAP.min(Duration::from_secs_f64(ahead)));
        }
    }
}
