//! Giving space back: a dropped space's extents to its file; a dropped table's file, and what is free at a file's end, to
//! the file system.
//!
//! Everything goes in steps, each as large as a [`Pace`] allows and each of which may be the last: what is left is given
//! back by calling again, also after a crash. Hold no latch.

use super::Pager;
use super::core::{Core, DirtyMeta};
use crate::error::{Error, Result};
use crate::page::{PAGE_SIZE, PageNo};
use crate::space::alloc::{Change, Writer};
use crate::space::file::DataFile;
use crate::space::{EXTENT_PAGES, FileId, Space, SpaceId};
use std::io::ErrorKind::NotFound;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of an extent.
pub const EXTENT_BYTES: u64 = EXTENT_PAGES as u64 * PAGE_SIZE as u64;
/// Most extents freed in one mini-transaction.
const EXTENTS_A_STEP: u64 = 64;
/// Least and most by which a file is shortened at a time: the one so that a slow pace does not mean a million system
/// calls, the other because a file system may hold others up while it takes back what it is given.
const CUT_STEP: std::ops::RangeInclusive<u64> = (1 << 20)..=(64 << 20);

/// How fast space is given back.
pub trait Pace {
    /// Bytes that the next step should free at most. A step frees one unit at least.
    fn step_bytes(&mut self) -> u64;
    /// So many bytes were freed. Waits as long as the pace demands; `Break`: leave the rest for later.
    fn freed(&mut self, bytes: u64) -> ControlFlow<()>;
}

/// As fast as it goes.
pub struct AtOnce;

impl Pace for AtOnce {
    fn step_bytes(&mut self) -> u64 {
        u64::MAX
    }
    fn freed(&mut self, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Core {
    /// Makes likely that `pages` pages can be allocated for the space without growing its file, which is made if it is
    /// missing. On a full disk dead spaces are given back first. Hold no latch.
    pub(super) fn make_room(&self, space: &Space, pages: u32) -> Result<()> {
        let need = super::room::need();
        loop {
            let file = space.data(&self.files, true);
            // With a root it takes no more pages from fragment extents.
            let fragments = space.root() == 0;
            match file.and_then(|file| file.ensure(space.id, pages, need, fragments)) {
                Err(e) if e.is_full() && self.files.relief(space.file) => {}
                done => return done,
            }
        }
    }
}

impl Core {
    /// Cuts up to `most` vacant extents off a file's end, leaving `spare` vacant ones; the bytes cut.
    fn cut_step(&self, file: &Arc<DataFile>, spare: u32, most: u32) -> Result<Option<u64>> {
        let _room = self.room_for_group()?;
        // No page in that part of the file is being written. First, lest who makes the file longer wait for a batch.
        let writing = self.writing.lock();
        let _growing = file.hold_growth();
        let mut alloc = file.alloc().lock();
        let had = alloc.extents();
        let vacant = alloc.vacant_tail(spare.saturating_add(most));
        let cut = vacant.saturating_sub(spare).min(most);
        if cut == 0 {
            return Ok(None);
        }
        let (mut group, mut touched) = (Vec::new(), Vec::new());
        let mut writer = Writer {
            file: file.id,
            previous: &mut None,
            out: &mut group,
        };
        alloc.cut(had - cut, &mut writer, &mut |slot| touched.push(slot));
        let mut end = self.log.end_lsn();
        if !group.is_empty() {
            (end, ()) = self.log.append(&group, |start, end| {
                for slot in touched {
                    if alloc.stamp(slot, start, end) {
                        let (file, oldest) = (file.clone(), start);
                        let dirty = DirtyMeta { file, oldest };
                        self.dirty_meta.lock().insert((dirty.file.id, slot), dirty);
                    }
                }
            });
            // Map pages are given up unwritten.
            self.stale_lsn.fetch_max(end, Ordering::AcqRel);
        }
        let gone = |id: FileId, slot| id == file.id && !alloc.has_slot(slot);
        self.dirty_meta
            .lock()
            .retain(|(id, slot), _| !gone(*id, *slot));
        drop(alloc);
        drop(writing);
        self.after_append(end);
        // What freed the pages is durable before they go.
        self.log.sync_to(end)?;
        file.cut(had)?;
        Ok(Some(u64::from(cut) * EXTENT_BYTES))
    }
}

impl Pager {
    /// Cuts off what is free at a file's end but for `spare` bytes, step by step. Whether all of it is cut.
    pub fn shrink_file(&self, file: FileId, spare: u64, pace: &mut dyn Pace) -> Result<bool> {
        let file = self.core().files.get(file, false)?;
        if file.is_fixed() {
            return Ok(true);
        }
        let spare = u32::try_from(spare / EXTENT_BYTES).unwrap_or(u32::MAX);
        loop {
            let step = pace.step_bytes().clamp(*CUT_STEP.start(), *CUT_STEP.end());
            let most = (step / EXTENT_BYTES) as u32;
            let Some(bytes) = self.core().cut_step(&file, spare, most)? else {
                return Ok(true);
            };
            if pace.freed(bytes).is_break() {
                return Ok(false);
            }
        }
    }

    /// A file's bytes, and of those the free ones at its end, counted up to `most`; none, if they can't be cut off.
    pub fn free_tail(&self, file: FileId, most: u64) -> Result<(u64, u64)> {
        let file = self.core().files.get(file, false)?;
        let most = match file.is_fixed() {
            true => 0,
            false => u32::try_from(most / EXTENT_BYTES).unwrap_or(u32::MAX),
        };
        let alloc = file.alloc().lock();
        let bytes = |extents: u32| u64::from(extents) * EXTENT_BYTES;
        Ok((bytes(alloc.extents()), bytes(alloc.vacant_tail(most))))
    }

    /// Installs what gives dead spaces back at once when a file, which it is told, cannot grow. It says whether it has given anything back;
    /// it is called with no latch held, but perhaps with the undo directory's mutex or a table's AUTO_INCREMENT counter.
    pub fn set_relief(&self, relief: impl Fn(FileId) -> bool + Send + Sync + 'static) {
        self.core().files.set_relief(Box::new(relief));
    }

    /// Gives a dropped space's own extents back to its file, in steps that are each a mini-transaction. Whether all are
    /// free now. The root page is left: see [`super::Mtr::free_root`].
    pub fn free_extents(&self, space: &Arc<Space>, pace: &mut dyn Pace) -> Result<bool> {
        let core = self.core();
        if !space.is_dropped() {
            let what = format!("space {} is in use: not freed", space.id.0);
            return Err(Error::Invalid(what));
        }
        let file = match space.data(&core.files, false) {
            Ok(f) => f.clone(),
            Err(Error::Io { kind: NotFound, .. }) => return Ok(true),
            Err(e) => return Err(e),
        };
        if file.alloc().lock().extent_count(space.id) == 0 {
            return Ok(true);
        }
        // Pages of the space that were being written when it was dropped must not land on a successor.
        drop(core.writing.lock());
        loop {
            let most = (pace.step_bytes() / EXTENT_BYTES).clamp(1, EXTENTS_A_STEP);
            let extents = file.alloc().lock().extents_of(space.id, most as usize);
            if extents.is_empty() {
                return Ok(true);
            }
            let bytes = extents.len() as u64 * EXTENT_BYTES;
            let mut mtr = self.mtr(0)?;
            for e in extents {
                mtr.change(file.clone(), Change::FreeExtent(e));
            }
            mtr.commit();
            if pace.freed(bytes).is_break() {
                return Ok(false);
            }
        }
    }

    /// [`Pager::free_extents`] and then the root page (0: none), in a mini-transaction of its own. After a crash
    /// in between two calls the root page may already be somebody else's, so the caller must know whether it was
    /// freed; freeing it together with what remembers it, by [`super::Mtr::free_root`], saves that.
    pub fn free_space(&self, space: &Arc<Space>, root: PageNo) -> Result<()> {
        self.free_extents(space, &mut AtOnce)?;
        if root != 0 {
            self.settle_writes();
            let mut mtr = self.mtr(0)?;
            mtr.free_root(space.file, root)?;
            mtr.commit();
        }
        Ok(())
    }

    /// Waits for the writes of pages that are under way. Pages of spaces that were dropped before are written no more after
    /// that.
    pub fn settle_writes(&self) {
        drop(self.core().writing.lock());
    }

    /// Deletes a table's file, whose spaces are dropped. Whether it is gone, durably. Deleting a file that is not there (any
    /// more) is no error.
    pub fn delete_file(&self, file: FileId, pace: &mut dyn Pace) -> Result<bool> {
        self.doom_files(&[file])?;
        let gone = self.cut_away(file, pace)?;
        if gone {
            self.core().sync_folder(file.folder())?;
        }
        Ok(gone)
    }

    /// Logs, durably, that these files of tables are about to be deleted: recovery does nothing for them any more.
    pub fn doom_files(&self, files: &[FileId]) -> Result<()> {
        let core = self.core();
        let lasting = |f: &&FileId| matches!(**f, FileId::SHARED | FileId::UNDO | FileId::TEMP);
        if let Some(file) = files.iter().find(lasting) {
            return Err(Error::Invalid(format!("{} cannot be deleted", file.name())));
        }
        let gone: Vec<_> = files.iter().map(|&file| (SpaceId::FILE, file)).collect();
        core.log.sync_to(core.log_gone(&gone)?)
    }

    /// Cuts a doomed file shorter step by step, then removes it. Whether it is gone, which is durable once
    /// [`Pager::sync_tables`] has returned.
    pub fn cut_away(&self, file: FileId, pace: &mut dyn Pace) -> Result<bool> {
        let core = self.core();
        let name = file.name();
        let handle = {
            let _writing = core.writing.lock();
            let open = core.files.forget(file);
            core.dirty_meta.lock().retain(|(id, _), _| *id != file);
            open.and_then(|f| f.close())
        };
        let storage = core.files.storage();
        let failed = |what: &str, e: &std::io::Error| Error::io(format!("{what} {name}"), e);
        let handle = match handle {
            Some(h) => h,
            None if !storage.exists(&name) => return Ok(true),
            None => storage.open(&name, false).map_err(|e| failed("open", &e))?,
        };
        let mut len = handle.len().map_err(|e| failed("length of", &e))?;
        loop {
            let step = pace.step_bytes().clamp(*CUT_STEP.start(), *CUT_STEP.end());
            if len <= step {
                break;
            }
            len -= step;
            handle.set_len(len).map_err(|e| failed("shorten", &e))?;
            if pace.freed(step).is_break() {
                return Ok(false);
            }
        }
        drop(handle);
        match storage.remove(&name) {
            Err(e) if e.kind() != NotFound => return Err(failed("remove", &e)),
            _ => {}
        }
        // It is gone: whether to stop is for whoever goes on with something else.
        let _ = pace.freed(len);
        Ok(true)
    }

    /// Makes durable which of the tables' files there are.
    pub fn sync_tables(&self) -> Result<()> {
        match self.core().sync_folder("tables") {
            // There never was one.
            Err(Error::Io { kind: NotFound, .. }) => Ok(()),
            done => done,
        }
    }
}
