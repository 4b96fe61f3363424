//! Redo at open: brings the data files to the state that the log describes.
//!
//! 1. The log is synced, and the names of files, for whoever wrote them may have been killed before. The log is scanned once for what need not be redone: spaces that were dropped, files that were deleted,
//!    pages that were freed (up to where they were). Their pages may never have been written, so redoing the
//!    operations before would work on wrong contents. A log that ends before what pages were written for is refused.
//! 2. Torn pages are put back from the doublewrite file, and the last batch is made durable.
//! 3. The log is scanned again, a chunk at a time. A chunk's operations are sorted by page; workers, each with its own
//!    pages, apply those that are younger than the page. Changed pages stay in the workers' caches, up to a budget, and
//!    are written through the doublewrite file. A page's LSN once read is remembered, so a page that was on disk in its
//!    last state is read once at most.
//!
//! Recovery does not use the buffer pool, and can be interrupted and repeated at any point: an operation is
//! applied to a page only if the page's LSN is below the end of the operation's group.
//!
//! A page that is broken in place and not wholly rewritten by the log is left as it is; reading it will say so.
//! It does not keep everything else from being opened.

use super::direct::UNLOGGED;
use super::doublewrite::{Doublewrite, Place};
use crate::error::{Error, Result};
use crate::io::{File, Storage};
use crate::log::op::{Decoder, Op, Target, decode};
use crate::log::stream::{self, Stream};
use crate::log::{GroupVisitor, Log};
use crate::page::{Lsn, PAGE_SIZE, PageNo, PageType, page_lsn, page_space, put_u64};
use crate::space::layout;
use crate::space::{FileId, SpaceId};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Pages of one stretch of a file go to the same worker, so that it reads and writes them in order.
const STRETCH: u32 = 64;
/// Most bytes of log taken at a time (offsets are u32).
const MAX_CHUNK: usize = 512 << 20;

/// What recovery did.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Where redo started and ended.
    pub from: Lsn,
    /// End of the log.
    pub to: Lsn,
    /// Groups found.
    pub groups: u64,
    /// Operations applied.
    pub applied: u64,
    /// Pages written.
    pub pages_written: u64,
    /// Torn pages put back from the doublewrite file.
    pub restored: u64,
    /// Pages left broken: file name and page number.
    pub broken: Vec<(String, PageNo)>,
}

/// What need not be redone.
#[derive(Default)]
struct Gone {
    spaces: HashSet<u64>,
    files: HashSet<u64>,
    /// Start of the last group that freed the page.
    freed: HashMap<(u64, PageNo), Lsn>,
    /// Files made by the log: to be created if missing.
    created: HashSet<u64>,
    /// Files that the log has images of pages of.
    imaged: HashSet<u64>,
    /// Start of the first group that says that pages were published which the log has not.
    unlogged: Option<Lsn>,
}

impl Gone {
    fn note(&mut self, start: Lsn, target: Target, op: &Op<'_>) {
        match op {
            Op::Free if target.page == 0 => {
                if target.space == SpaceId::FILE {
                    self.files.insert(target.file.0);
                } else {
                    self.spaces.insert(target.space.0);
                }
            }
            Op::Free => {
                self.freed.insert((target.file.0, target.page), start);
            }
            Op::Init {
                kind: PageType::FileHeader,
                ..
            } => {
                self.created.insert(target.file.0);
            }
            Op::Image { .. } => {
                self.imaged.insert(target.file.0);
            }
            op if *op == UNLOGGED && target.page == 0 && target.file == FileId::SHARED => {
                self.unlogged.get_or_insert(start);
            }
            _ => {}
        }
    }

    fn skips(&self, start: Lsn, target: Target) -> bool {
        self.spaces.contains(&target.space.0)
            || self.files.contains(&target.file.0)
            || target.page == 0 && target.space != SpaceId::FILE
            || self
                .freed
                .get(&(target.file.0, target.page))
                .is_some_and(|freed| start <= *freed)
    }
}

struct Group {
    end: Lsn,
    /// Range of the payload in the chunk.
    to: u32,
}

/// An operation in the chunk; sorts by page, then in log order.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct OpAt {
    file: u64,
    page: PageNo,
    at: u32,
    group: u32,
    space: u64,
}

#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    groups: Vec<Group>,
    /// Per worker.
    ops: Vec<Vec<OpAt>>,
}

/// What the workers share.
struct Shared<'a> {
    storage: &'a dyn Storage,
    gone: &'a Gone,
    files: Mutex<HashMap<u64, Option<Arc<dyn File>>>>,
    doublewrite: Mutex<&'a mut Doublewrite>,
}

struct Cached {
    bytes: Box<[u8]>,
    changed: bool,
}

/// One worker's pages.
#[derive(Default)]
struct Worker {
    cache: HashMap<(u64, PageNo), Cached>,
    /// LSNs of pages as they are on disk.
    known: HashMap<(u64, PageNo), Lsn>,
    broken: HashSet<(u64, PageNo)>,
    budget_pages: usize,
    applied: u64,
    written: u64,
}

/// Redoes the log from `from` on. `memory` bounds what pages and log together take, roughly.
pub(crate) fn recover(
    storage: &dyn Storage,
    log: &Log,
    from: Lsn,
    memory: usize,
    doublewrite: &mut Doublewrite,
) -> Result<RecoveryReport> {
    log.settle()?;
    settle_names(storage)?;
    let (gone, mut report) = look(from, |visit| log.walk(from, visit))?;
    // Nothing has been changed so far.
    Doublewrite::check(storage, report.to)?;
    if let Some(lsn) = log.resumes_after(report.to)? {
        let end = report.to;
        tracing::warn!(
            "the redo log ends at LSN {end}, but goes on at LSN {lsn}: the last commits were being written at the crash, or the \
             file is damaged there; what lies behind is not redone"
        );
    }
    report.restored = Doublewrite::restore(storage)? as u64;
    if report.groups == 0 {
        log.scan(from, &mut |_, _, _| Ok(()))?;
        return Ok(report);
    }
    redo(storage, &gone, memory, doublewrite, &mut report, |visit| {
        log.scan(from, visit)
    })?;
    Ok(report)
}

/// Redoes a copy of the log, `len` bytes from `from` on, on copies of files. All of it must be there. `alone`: nobody has copied pages
/// meanwhile, so it must have those that are written past it, too. The report, and the epoch of the last group (`epoch`: that none is below).
pub(crate) fn redo_copy(
    storage: &dyn Storage,
    stream: &dyn Stream,
    (from, len): (Lsn, u64),
    alone: bool,
    epoch: u32,
    memory: usize,
) -> Result<(RecoveryReport, u32)> {
    let mut last = epoch;
    let (mut gone, mut report) = look(from, |visit| {
        let (end, epoch) = stream::walk(stream, from, len, epoch, visit)?;
        last = epoch;
        Ok(end)
    })?;
    if report.to != from + len {
        let (to, end) = (report.to, from + len);
        let what = format!("the copy of the log ends at LSN {to}, not at {end}");
        return Err(Error::Corrupt(what));
    }
    if alone && let Some(lsn) = gone.unlogged {
        return Err(Error::Invalid(format!(
            "at LSN {lsn} a table was built in bulk while the log was not archived: an earlier LSN, or a later backup, can be restored"
        )));
    }
    // A build's images come before its file's header.
    gone.created.extend(&gone.imaged);
    if report.groups > 0 {
        let mut doublewrite = Doublewrite::open(storage)?;
        redo(
            storage,
            &gone,
            memory,
            &mut doublewrite,
            &mut report,
            |visit| stream::walk(stream, from, len, epoch, visit).map(drop),
        )?;
    }
    Ok((report, last))
}

/// Reads the log once for what need not be redone.
fn look(
    from: Lsn,
    walk: impl FnOnce(GroupVisitor<'_>) -> Result<Lsn>,
) -> Result<(Gone, RecoveryReport)> {
    let mut report = RecoveryReport {
        from,
        ..RecoveryReport::default()
    };
    let mut gone = Gone::default();
    report.to = walk(&mut |start, _, payload| {
        report.groups += 1;
        for op in decode(payload) {
            let (target, op) = op?;
            gone.note(start, target, &op);
        }
        Ok(())
    })?;
    Ok((gone, report))
}

/// Reads the log again, and redoes it.
fn redo(
    storage: &dyn Storage,
    gone: &Gone,
    memory: usize,
    doublewrite: &mut Doublewrite,
    report: &mut RecoveryReport,
    walk: impl FnOnce(GroupVisitor<'_>) -> Result<()>,
) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(1, 4));
    let shared = Shared {
        storage,
        gone,
        files: Mutex::default(),
        doublewrite: Mutex::new(doublewrite),
    };
    let budget_pages = (memory / 2 / PAGE_SIZE / threads).max(64);
    let mut workers: Vec<Worker> = (0..threads)
        .map(|_| Worker {
            budget_pages,
            ..Worker::default()
        })
        .collect();
    let chunk_bytes = (memory / 4).clamp(1 << 20, MAX_CHUNK);
    let mut chunk = Chunk {
        ops: vec![Vec::new(); threads],
        ..Chunk::default()
    };
    walk(&mut |start, end, payload| {
        if chunk.bytes.len() + payload.len() > chunk_bytes || chunk.weight() > chunk_bytes {
            chunk.apply(&shared, &mut workers)?;
        }
        chunk.push(gone, start, end, payload)
    })?;
    chunk.apply(&shared, &mut workers)?;
    for w in &mut workers {
        w.flush(&shared)?;
        report.applied += w.applied;
        report.pages_written += w.written;
        let broken = w.broken.iter().map(|(f, no)| (FileId(*f).name(), *no));
        report.broken.extend(broken);
    }
    report.broken.sort();
    for (file, page) in &report.broken {
        tracing::error!("{file}, page {page} is broken and could not be recovered from the log");
    }
    for folder in ["", "tables"] {
        let any = gone
            .created
            .iter()
            .any(|f| FileId(*f).folder() == folder && !gone.files.contains(f));
        if any {
            storage
                .sync_folder(folder)
                .map_err(|e| Error::io(format!("sync folder '{folder}'"), &e))?;
        }
    }
    Ok(())
}

/// Makes durable which files there are. One that a killed process made, and of which its log says nothing yet, would pass for a
/// durable one, be written to, and be gone after a power cut.
fn settle_names(storage: &dyn Storage) -> Result<()> {
    for folder in ["", "tables"] {
        match storage.sync_folder(folder) {
            // There may be no tables with a file of their own.
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(format!("sync folder '{folder}'"), &e));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Chunk {
    /// Bytes that the operations' index takes.
    fn weight(&self) -> usize {
        let ops: usize = self.ops.iter().map(Vec::len).sum();
        ops * std::mem::size_of::<OpAt>()
    }

    fn push(&mut self, gone: &Gone, start: Lsn, end: Lsn, payload: &[u8]) -> Result<()> {
        let base = self.bytes.len();
        let group = self.groups.len() as u32;
        let mut decoder = decode(payload);
        loop {
            let at = (base + decoder.position()) as u32;
            let Some(item) = decoder.next() else {
                break;
            };
            let (target, op) = item?;
            if gone.skips(start, target) || op == Op::Free {
                continue;
            }
            let workers = self.ops.len();
            let stretch = target.file.0.wrapping_mul(31) + u64::from(target.page / STRETCH);
            self.ops[stretch as usize % workers].push(OpAt {
                file: target.file.0,
                page: target.page,
                at,
                group,
                space: target.space.0,
            });
        }
        self.bytes.extend_from_slice(payload);
        self.groups.push(Group {
            end,
            to: self.bytes.len() as u32,
        });
        Ok(())
    }

    /// Applies the chunk and empties it.
    fn apply(&mut self, shared: &Shared<'_>, workers: &mut [Worker]) -> Result<()> {
        for ops in &mut self.ops {
            ops.sort_unstable();
        }
        let (bytes, groups) = (&self.bytes, &self.groups);
        std::thread::scope(|scope| {
            let handles: Vec<_> = workers
                .iter_mut()
                .zip(&self.ops)
                .map(|(w, ops)| scope.spawn(move || w.apply(shared, bytes, groups, ops)))
                .collect();
            let mut result = Ok(());
            for h in handles {
                let r = h
                    .join()
                    .unwrap_or_else(|_| Err(Error::Corrupt("redo does not fit a page".into())));
                result = result.and(r);
            }
            result
        })?;
        self.bytes.clear();
        self.groups.clear();
        self.ops.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

impl Shared<'_> {
    /// The file; `None` if it is missing though the log did not make it.
    fn file(&self, id: u64) -> Result<Option<Arc<dyn File>>> {
        let mut files = self.files.lock();
        if let Some(f) = files.get(&id) {
            return Ok(f.clone());
        }
        if files.len() >= self.storage.handle_limit() / 2 {
            // Whoever is at one keeps it open.
            files.clear();
        }
        let name = FileId(id).name();
        let create = self.gone.created.contains(&id);
        let file = if create || self.storage.exists(&name) {
            let opened = self.storage.open(&name, create);
            Some(opened.map_err(|e| Error::io(format!("open {name}"), &e))?)
        } else {
            tracing::error!("{name} is missing; what the log says about it is skipped");
            None
        };
        files.insert(id, file.clone());
        Ok(file)
    }
}

impl Worker {
    fn apply(
        &mut self,
        shared: &Shared<'_>,
        bytes: &[u8],
        groups: &[Group],
        ops: &[OpAt],
    ) -> Result<()> {
        for ops in ops.chunk_by(|a, b| a.file == b.file && a.page == b.page) {
            self.apply_page(shared, bytes, groups, ops)?;
            if self.cache.len() >= self.budget_pages {
                self.flush(shared)?;
            }
        }
        Ok(())
    }

    /// Applies a chunk's operations on one page.
    fn apply_page(
        &mut self,
        shared: &Shared<'_>,
        bytes: &[u8],
        groups: &[Group],
        ops: &[OpAt],
    ) -> Result<()> {
        let key = (ops[0].file, ops[0].page);
        let newest = groups[ops[ops.len() - 1].group as usize].end;
        if self.known.get(&key).is_some_and(|lsn| newest <= *lsn) {
            return Ok(());
        }
        let cached = match self.cache.entry(key) {
            std::collections::hash_map::Entry::Occupied(e) => e.into_mut(),
            std::collections::hash_map::Entry::Vacant(e) => {
                let Some(file) = shared.file(key.0)? else {
                    return Ok(());
                };
                let bytes = read(&*file, key)?;
                self.known.insert(key, page_lsn(&bytes));
                e.insert(Cached {
                    bytes,
                    changed: false,
                })
            }
        };
        let page = &mut cached.bytes;
        let base = page_lsn(page);
        // A page of zeros is one that is broken or was never written: only a full format makes it usable.
        let mut valid = page_space(page) != 0;
        let mut lsn = base;
        for op in ops {
            let group = &groups[op.group as usize];
            if group.end <= base {
                continue;
            }
            let target = Target {
                space: SpaceId(op.space),
                file: FileId(op.file),
                page: op.page,
            };
            let payload = &bytes[..group.to as usize];
            let Some(decoded) = Decoder::resume(payload, op.at as usize, target).next() else {
                continue;
            };
            let (_, redo) = decoded?;
            if redo.overwrites() {
                valid = true;
                self.broken.remove(&key);
            } else if !valid || page_space(page) != op.space {
                self.broken.insert(key);
                continue;
            }
            redo.apply(target, page);
            cached.changed = true;
            lsn = group.end;
            self.applied += 1;
        }
        put_u64(page, 8, lsn);
        if !cached.changed {
            self.cache.remove(&key);
        }
        Ok(())
    }

    /// Writes what changed and empties the cache.
    fn flush(&mut self, shared: &Shared<'_>) -> Result<()> {
        let mut pages: Vec<_> = self.cache.drain().filter(|(_, c)| c.changed).collect();
        pages.sort_unstable_by_key(|(k, _)| *k);
        let most = shared.doublewrite.lock().room();
        for batch in pages.chunks(most) {
            let mut dw = shared.doublewrite.lock();
            for ((id, page), cached) in batch {
                let Some(file) = shared.file(*id)? else {
                    continue;
                };
                self.known.insert((*id, *page), page_lsn(&cached.bytes));
                let place = Place {
                    id: FileId(*id),
                    file,
                    page: *page,
                };
                dw.add(place).copy_from_slice(&cached.bytes);
            }
            self.written += batch.len() as u64;
            dw.write()?;
        }
        Ok(())
    }
}

/// A page as it is on disk; zeros if it is broken or beyond the end.
fn read(file: &dyn File, (id, page): (u64, PageNo)) -> Result<Box<[u8]>> {
    let mut bytes = vec![0; PAGE_SIZE].into_boxed_slice();
    match file.read_at(&mut bytes, u64::from(page) * PAGE_SIZE as u64) {
        Ok(()) => {
            if layout::verify(&bytes, 0, page).is_err() {
                bytes.fill(0);
            }
        }
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => bytes.fill(0),
        Err(e) => {
            let name = FileId(id).name();
            return Err(Error::io(format!("read page {page} of {name}"), &e));
        }
    }
    Ok(bytes)
}
