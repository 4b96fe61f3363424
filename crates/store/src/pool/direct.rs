//! Pages written past the pool and the log: those of trees that are built where nobody can see them.
//!
//! A tree that is built bottom-up (`btree::bulk`) writes each page once. Were its pages to pass through the pool they would push out what
//! others have cached, be in the log as images, and be written twice more by the cleaner. So they are gathered in chunks of [`CHUNK_PAGES`], and a
//! thread writes those, each with one call, past the operating system's cache where that can be had. No doublewrite: who tears
//! such a write has lost a page that nobody knows.
//!
//! Steps: (1) [`DirectPages::take`] picks pages in memory, whole runs of extents at a time (`FileAlloc::take_run`); the log does
//! not know of it. (2) [`DirectPages::put`] takes a page's final contents. (3) [`Direct::publish`], when all is put: the last chunks are written,
//! the file is synced, once, and only then the allocation maps are changed, in logged mini-transactions. (4) The caller writes, logged as ever,
//! the one page of each tree that names all others, its root, and then whatever makes the tree known.
//!
//! **Invariants.**
//! * *Data before its record:* all pages, and the file's length and name, are durable before the first group is appended that says anything
//!   of them. So wherever a crash cuts the log, what it knows of is there. Redo never has to make such a page: there is no group that formats it.
//! * *The record of what was there before, before data:* an extent that is taken may have been freed a moment ago by a group that is not
//!   durable, and belong to its former owner again after a crash. So the log is durable up to the end that it had when the extent was taken
//!   before anything is written there; and writes in place of former pages there, copied before they were freed, are waited for (`Core::writing`).
//! * *LSN:* that same end is the page's LSN. It is not above the durable end of the log, as no page's on disk ever is: else, after a
//!   crash, the log would count on from below it, and redo take a later page at that place for newer than the groups that make it. It is not below the
//!   end of any group of an earlier life of the page, so none is applied to it; and it is below the end of all groups to come, so
//!   all of those are. From (4) on such a page is one like any other: what changes it is logged, and it is written with doublewrite.
//! * *Checkpoints:* the pages are never dirty, so no checkpoint waits for them or passes anything of theirs. The map pages, dirty as of
//!   (3), hold checkpoints back as ever.
//! * *Backups* copy files while this goes on; see [`super::published`]. While the log is archived each page's image is appended once it is
//!   written. No redo needs it here; its LSN is above the page's and below that of all groups to come about it.
//! * *Space:* what was taken and not published is given back when the [`Direct`] is dropped, after its last write has ended. A crash forgets it: by the
//!   log these extents are free, and a free page may hold anything. A build's space that was published, wholly or in part, goes as any dropped
//!   space does; its maker sees to that (a grave, or a table that nobody placed).
//!
//! **Failure.** A write or sync that fails is an error of whoever builds, and nothing else: nobody needs what was written. The handle is one of
//! its own, so that a failed sync is not taken from those who sync the file for pages of theirs. After an error a `Direct` is
//! good for nothing but being dropped.
//!
//! **Locks.** `state` is held while a run of extents is picked, which may grow the file, and while the thread is joined; no latch is held by
//! anybody who calls this. The thread takes `Core::writing` and waits for the log, and holds neither while it writes.

use super::Pager;
use super::core::Core;
use crate::error::{Error, Result};
use crate::io::{AlignedBuf, File};
use crate::log::op::{Op, Target};
use crate::page::{Lsn, PAGE_HEADER, PAGE_SIZE, PageNo, PageType, page_space, page_type, put_u64};
use crate::space::alloc::{Change, Need};
use crate::space::file::DataFile;
use crate::space::{EXTENT_PAGES, FileId, Space, SpaceId, layout};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Pages written with one call, at most: a mebibyte.
const CHUNK_PAGES: u32 = 64;
/// Chunks that may wait to be written.
const WAITING: usize = 2;
/// Extents that a space takes at a time: at first, and at most.
const RUN_FIRST: u32 = CHUNK_PAGES / EXTENT_PAGES;
const RUN_MOST: u32 = 64;
/// Extents whose allocation one mini-transaction logs: some KiB.
const EXTENTS_A_GROUP: usize = 256;
/// Extents given back under one hold of the allocation state.
const EXTENTS_A_STEP: u32 = 64;

/// Pages, one behind the other, that are filled and then written.
struct Chunk {
    first: PageNo,
    /// Pages it has, and that have been put.
    pages: u32,
    put: u32,
    bytes: AlignedBuf,
    lsn: Lsn,
}

/// A run of extents taken for a space.
struct Run {
    first: u32,
    len: u32,
    /// The log's end then.
    lsn: Lsn,
}

struct Writer {
    queue: SyncSender<Chunk>,
    thread: JoinHandle<Result<Arc<dyn File>>>,
}

#[derive(Default)]
struct State {
    /// The file, once something was taken.
    file: Option<Arc<DataFile>>,
    /// First extents and lengths of all runs taken.
    runs: Vec<(u32, u32)>,
    writer: Option<Writer>,
    /// Why the thread has ended.
    failure: Option<Error>,
    published: bool,
}

/// What one build writes to one file, perhaps for several spaces and by several threads. It costs nothing before a page is taken.
pub struct Direct {
    pager: Arc<Pager>,
    id: FileId,
    /// Its number among the builds under way.
    build: u64,
    /// The log is archived, so it has to have the pages.
    logged: bool,
    state: Mutex<State>,
    /// Memory of chunks that were written.
    spare: Arc<Mutex<Vec<AlignedBuf>>>,
}

impl Direct {
    /// Writes to the file of these spaces, which are logged ones.
    pub fn new(pager: &Arc<Pager>, file: FileId) -> Arc<Direct> {
        debug_assert!(
            file != FileId::TEMP,
            "nothing is gained with unlogged pages"
        );
        let core = pager.core();
        let (build, logged) = core.published.begin(|| core.log.end_lsn());
        Arc::new(Direct {
            build,
            logged,
            pager: pager.clone(),
            id: file,
            state: Mutex::default(),
            spare: Arc::default(),
        })
    }

    /// Takes a run of extents.
    fn take_run(&self, space: &Arc<Space>, want: u32) -> Result<Run> {
        let core = self.pager.core();
        let mut state = self.state.lock();
        loop {
            let file = space.data(&core.files, true)?;
            match file.allocate_run(space.id, want, Need::Growth) {
                Err(e) if e.is_full() && core.files.relief(self.id) => {}
                Err(e) => return Err(e),
                Ok((first, len)) => {
                    state.file.get_or_insert_with(|| file.clone());
                    state.runs.push((first, len));
                    // Whatever freed the extents is in the log by now.
                    let lsn = core.log.end_lsn();
                    return Ok(Run { first, len, lsn });
                }
            }
        }
    }

    /// Gives back the end of a run, of which nothing was put, from this page on.
    fn give_back(&self, from: PageNo, end: PageNo) {
        let mut state = self.state.lock();
        let Some(file) = state.file.clone() else {
            return;
        };
        let mut alloc = file.alloc().lock();
        (from..end).for_each(|page| alloc.untake(page));
        drop(alloc);
        let (kept, last) = (from.div_ceil(EXTENT_PAGES), end / EXTENT_PAGES);
        if let Some(run) = state.runs.iter_mut().find(|r| r.0 + r.1 == last) {
            run.1 = kept - run.0;
        }
    }

    /// Where chunks are given to be written.
    fn queue(&self) -> Result<SyncSender<Chunk>> {
        let mut state = self.state.lock();
        if let Some(writer) = &state.writer {
            return Ok(writer.queue.clone());
        }
        if let Some(e) = &state.failure {
            return Err(e.clone());
        }
        let Some(file) = state.file.clone() else {
            return Err(Error::Invalid("a chunk of no file".into()));
        };
        let (queue, chunks) = sync_channel(WAITING);
        let (pager, spare) = (self.pager.clone(), self.spare.clone());
        let logged = self.logged;
        let thread = std::thread::Builder::new()
            .name("load-write".into())
            .spawn(move || write(&pager, &file, &chunks, &spare, logged))
            .map_err(|e| Error::io("start a thread that writes pages", &e))?;
        state.writer = Some(Writer {
            queue: queue.clone(),
            thread,
        });
        Ok(queue)
    }

    /// Ends the thread, once whoever has its queue has let go of it: the handle it wrote through, if it wrote anything.
    fn join(&self, state: &mut State) -> Result<Option<Arc<dyn File>>> {
        if let Some(Writer { queue, thread }) = state.writer.take() {
            drop(queue);
            let panicked = || Error::Invalid("a thread that writes pages has panicked".into());
            match thread.join().unwrap_or_else(|_| Err(panicked())) {
                Ok(handle) => return Ok(Some(handle)),
                Err(e) => state.failure = Some(e),
            }
        }
        state.failure.clone().map_or(Ok(None), Err)
    }

    /// Makes what was put durable, and then the space's own by the log. All [`DirectPages`] are finished.
    pub fn publish(&self) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(handle) = self.join(&mut state)? {
            handle
                .sync()
                .map_err(|e| Error::io(format!("sync {}", self.id.name()), &e))?;
        }
        let Some(file) = state.file.clone() else {
            return Ok(());
        };
        let runs = std::mem::take(&mut state.runs);
        state.published = true;
        let _noted = self.pager.core().published.note(self.id, &runs);
        if !self.logged && !runs.is_empty() {
            self.pager.core().log_unlogged()?;
        }
        let extents: Vec<u32> = runs
            .into_iter()
            .flat_map(|(first, len)| first..first + len)
            .collect();
        for some in extents.chunks(EXTENTS_A_GROUP) {
            let mut mtr = self.pager.mtr(0)?;
            for &e in some {
                mtr.change(file.clone(), Change::TakeExtent(e));
            }
            mtr.commit();
        }
        Ok(())
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.pager.core().published.end(self.build);
        let mut state = std::mem::take(&mut *self.state.lock());
        // Nobody is interested in what became of it, but nothing is given back that is being written.
        let _ = self.join(&mut state);
        let Some(file) = state.file.filter(|_| !state.published) else {
            return;
        };
        for (first, len) in state.runs {
            for from in (first..first + len).step_by(EXTENTS_A_STEP as usize) {
                let mut alloc = file.alloc().lock();
                (from..(from + EXTENTS_A_STEP).min(first + len))
                    .for_each(|e| alloc.untake_extent(e));
            }
        }
    }
}

impl Core {
    /// Logs pages as they are.
    fn log_images(&self, file: FileId, first: PageNo, pages: &[u8]) -> Result<()> {
        let mut group = Vec::with_capacity(PAGE_SIZE);
        for (bytes, page) in pages.chunks_exact(PAGE_SIZE).zip(first..) {
            let Some(kind) = page_type(bytes) else {
                return Err(Error::Corrupt(format!(
                    "page {page} was put without a type"
                )));
            };
            let space = SpaceId(page_space(bytes));
            let target = Target { space, file, page };
            let body = &bytes[PAGE_HEADER..];
            let cut = body.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1);
            let body = &body[..cut];
            group.clear();
            Op::Image { kind, body }.encode(target, None, &mut group);
            let _room = self.room_for_group()?;
            let (end, ()) = self.log.append(&group, |_, _| ());
            self.after_append(end);
        }
        Ok(())
    }

    /// Notes in the log that pages are published which it has not: an operation that changes nothing ([`UNLOGGED`]).
    fn log_unlogged(&self) -> Result<()> {
        let _room = self.room_for_group()?;
        let mut group = Vec::new();
        let target = Target {
            space: SpaceId::FILE,
            file: FileId::SHARED,
            page: 0,
        };
        UNLOGGED.encode(target, None, &mut group);
        let (end, ()) = self.log.append(&group, |_, _| ());
        self.after_append(end);
        Ok(())
    }
}

/// Of the shared file's header: pages were published that the log has not.
pub(super) const UNLOGGED: Op<'static> = Op::Bytes {
    offset: PAGE_HEADER as u16,
    data: &[],
};

/// The thread: writes chunks as they come. The handle it wrote through.
fn write(
    pager: &Pager,
    file: &DataFile,
    chunks: &Receiver<Chunk>,
    spare: &Mutex<Vec<AlignedBuf>>,
    logged: bool,
) -> Result<Arc<dyn File>> {
    let core = pager.core();
    if !file.is_settled() {
        let folder = file.id.folder();
        let synced = core.files.handles().sync_folder(folder);
        synced.map_err(|e| Error::io(format!("sync folder '{folder}'"), &e))?;
        file.settle();
    }
    let handle = core.files.handles().open_direct(file.id)?;
    // Up to here the log is durable, and nothing that was copied before is being written.
    let mut settled = None;
    for mut chunk in chunks {
        if settled.is_none_or(|lsn| lsn < chunk.lsn) {
            core.log.sync_to(chunk.lsn)?;
            pager.settle_writes();
            settled = Some(chunk.lsn);
        }
        let len = chunk.put as usize * PAGE_SIZE;
        let bytes = &mut chunk.bytes[..len];
        bytes.chunks_exact_mut(PAGE_SIZE).for_each(layout::seal);
        handle
            .write_at(bytes, u64::from(chunk.first) * PAGE_SIZE as u64)
            .map_err(|e| Error::io(format!("write {}", file.name), &e))?;
        if logged {
            core.log_images(file.id, chunk.first, &chunk.bytes[..len])?;
        }
        spare.lock().push(chunk.bytes);
    }
    Ok(handle)
}

/// The pages of one space, taken one after the other and put in any order.
pub struct DirectPages {
    direct: Arc<Direct>,
    space: Arc<Space>,
    queue: Option<SyncSender<Chunk>>,
    /// Pages of the last run that were not taken: the next, and the end.
    next: PageNo,
    end: PageNo,
    lsn: Lsn,
    /// Extents of all runs.
    extents: u32,
    /// Chunks that lack pages, in order.
    chunks: Vec<Chunk>,
}

impl DirectPages {
    /// None so far.
    pub fn new(direct: &Arc<Direct>, space: &Arc<Space>) -> DirectPages {
        debug_assert_eq!(space.file, direct.id);
        DirectPages {
            direct: direct.clone(),
            space: space.clone(),
            queue: None,
            next: 0,
            end: 0,
            lsn: 0,
            extents: 0,
            chunks: Vec::new(),
        }
    }

    /// The number of a page that is then to be put.
    pub fn take(&mut self) -> Result<PageNo> {
        if self.next == self.end {
            let want = self.extents.clamp(RUN_FIRST, RUN_MOST);
            let run = self.direct.take_run(&self.space, want)?;
            self.extents += run.len;
            self.next = run.first * EXTENT_PAGES;
            self.end = (run.first + run.len) * EXTENT_PAGES;
            self.lsn = run.lsn;
            self.open_chunk();
        } else if self
            .chunks
            .last()
            .is_none_or(|c| c.first + c.pages == self.next)
        {
            self.open_chunk();
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    fn open_chunk(&mut self) {
        let spare = self.direct.spare.lock().pop();
        self.chunks.push(Chunk {
            first: self.next,
            pages: CHUNK_PAGES.min(self.end - self.next),
            put: 0,
            bytes: spare.unwrap_or_else(|| AlignedBuf::new(CHUNK_PAGES as usize * PAGE_SIZE)),
            lsn: self.lsn,
        });
    }

    /// What a page that was taken holds, from its body, cut after the last byte that is not zero.
    pub fn put(&mut self, page: PageNo, kind: PageType, body: &[u8]) -> Result<()> {
        let within = |c: &Chunk| (c.first..c.first + c.pages).contains(&page);
        let Some(at) = self.chunks.iter().position(within) else {
            return Err(Error::Invalid(format!("page {page} was not taken")));
        };
        let chunk = &mut self.chunks[at];
        let from = (page - chunk.first) as usize * PAGE_SIZE;
        let bytes = &mut chunk.bytes[from..from + PAGE_SIZE];
        let target = Target {
            space: self.space.id,
            file: self.space.file,
            page,
        };
        Op::Image { kind, body }.apply(target, bytes);
        put_u64(bytes, 8, chunk.lsn);
        chunk.put += 1;
        if chunk.put == chunk.pages {
            let chunk = self.chunks.remove(at);
            self.send(chunk)?;
        }
        Ok(())
    }

    fn send(&mut self, chunk: Chunk) -> Result<()> {
        let queue = match &self.queue {
            Some(queue) => queue,
            None => self.queue.insert(self.direct.queue()?),
        };
        if queue.send(chunk).is_ok() {
            return Ok(());
        }
        // The thread has failed.
        self.queue = None;
        let mut state = self.direct.state.lock();
        self.direct.join(&mut state)?;
        Err(Error::Invalid(
            "a thread that writes pages has ended".into(),
        ))
    }

    /// All that was taken is put: has the last chunks written, and gives back what was not taken.
    pub fn finish(mut self) -> Result<()> {
        if self.next < self.end {
            self.direct.give_back(self.next, self.end);
        }
        for mut chunk in std::mem::take(&mut self.chunks) {
            chunk.pages = self.next.clamp(chunk.first, chunk.first + chunk.pages) - chunk.first;
            if chunk.put != chunk.pages {
                return Err(Error::Invalid("pages were taken and not put".into()));
            }
            self.send(chunk)?;
        }
        Ok(())
    }
}
