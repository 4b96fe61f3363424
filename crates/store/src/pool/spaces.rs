//! Dropping spaces, giving their pages back, deleting files.

use super::Pager;
use super::core::Core;
use crate::error::{Error, Result};
use crate::log::op::{Op, Target};
use crate::page::{Lsn, PageNo};
use crate::space::alloc::Change;
use crate::space::{FileId, Space, SpaceId};
use std::io::ErrorKind::NotFound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Extents freed in one mini-transaction.
const EXTENTS_A_STEP: usize = 64;
/// A file is shortened by this much at a time before it is removed.
const CUT_STEP: u64 = 64 << 20;

impl Core {
    /// Logs that a space (or, for [`SpaceId::FILE`], a whole file) is gone: recovery does nothing for it.
    fn log_gone(&self, space: SpaceId, file: FileId) -> Lsn {
        let mut group = Vec::with_capacity(32);
        let target = Target {
            space,
            file,
            page: 0,
        };
        Op::Free.encode(target, None, &mut group);
        let (end, ()) = self.log.append(&group, |_, _| ());
        self.stale_lsn.fetch_max(end, Ordering::AcqRel);
        self.after_append(end);
        end
    }
}

impl Pager {
    /// Gets or makes the shared header of a space. The same object is returned while any frame or
    /// handle still refers to it.
    pub fn space(&self, id: SpaceId, file: FileId) -> Arc<Space> {
        self.core().space(id, file)
    }

    /// Flips the dropped flag. O(1): nothing is searched, and nothing waited for. From now on the space's
    /// cached pages are neither served nor written. Call it when the drop is durable.
    pub fn drop_space(&self, space: &Arc<Space>) {
        let core = self.core();
        debug_assert!(!space.id.is_temporary(), "see `drop_temporary_space`");
        if space.is_dropped() {
            return;
        }
        // First the log record, so that a checkpoint that passes pages given up unwritten knows it.
        core.log_gone(space.id, space.file);
        if space.set_dropped() {
            let frames = space.frames.load(Ordering::Relaxed);
            core.stale_frames
                .fetch_add(i64::from(frames), Ordering::Relaxed);
        }
    }

    /// Gives a dropped space's own extents back to its file, in steps that are each a mini-transaction; `pause` is called
    /// between steps. What a crash leaves is freed by calling it again. Hold no latch. The root
    /// page is left: see [`super::Mtr::free_root`].
    pub fn free_extents(&self, space: &Arc<Space>, mut pause: impl FnMut()) -> Result<()> {
        let core = self.core();
        if !space.is_dropped() {
            let what = format!("space {} is in use: not freed", space.id.0);
            return Err(Error::Invalid(what));
        }
        // Pages of the space that were being written when it was dropped must not land on a successor.
        drop(core.writing.lock());
        let file = match space.data(&core.files, false) {
            Ok(f) => f.clone(),
            Err(Error::Io { kind: NotFound, .. }) => return Ok(()),
            Err(e) => return Err(e),
        };
        loop {
            let extents = file.alloc().lock().extents_of(space.id, EXTENTS_A_STEP);
            if extents.is_empty() {
                return Ok(());
            }
            let mut mtr = self.mtr(0)?;
            for e in extents {
                mtr.change(file.clone(), Change::FreeExtent(e));
            }
            mtr.commit();
            pause();
        }
    }

    /// [`Pager::free_extents`] and then the root page (0: none), in a mini-transaction of its own. After a crash
    /// in between two calls the root page may already be somebody else's, so the caller must know whether it was
    /// freed; freeing it together with what remembers it, by [`super::Mtr::free_root`], saves that.
    pub fn free_space(&self, space: &Arc<Space>, root: PageNo) -> Result<()> {
        self.free_extents(space, || ())?;
        if root != 0 {
            let mut mtr = self.mtr(0)?;
            mtr.free_root(space.file, root)?;
            mtr.commit();
        }
        Ok(())
    }

    /// Table files that exist, whether or not anything refers to them: a crash can leave one that nothing does.
    pub fn table_files(&self) -> Result<Vec<FileId>> {
        let names = self.core().files.storage().list("tables");
        let names = match names {
            Err(e) if e.kind() == NotFound => return Ok(Vec::new()),
            names => names.map_err(|e| Error::io("list tables", &e))?,
        };
        let ids = names.iter().filter_map(|n| n.parse().ok());
        Ok(ids.map(FileId).collect())
    }

    /// Whether the page is taken and surely the space's, in an extent of its own (its root is not). For those who hold a
    /// page number from long ago; hold no latch.
    pub fn owns(&self, space: &Arc<Space>, page: PageNo) -> Result<bool> {
        let file = space.data(&self.core().files, false)?;
        Ok(file.alloc().lock().owns(space.id, page))
    }

    /// Pages used in the space's own extents (its root is not among them).
    pub fn space_pages(&self, space: &Arc<Space>) -> Result<u64> {
        let file = match space.data(&self.core().files, false) {
            Ok(f) => f,
            Err(Error::Io { kind: NotFound, .. }) => return Ok(0),
            Err(e) => return Err(e),
        };
        Ok(file.alloc().lock().pages_of(space.id))
    }

    /// Deletes a table's file: its spaces are dropped. A big file is cut shorter step by step, then removed.
    /// Deleting a file that is not there (any more) is no error. Hold no latch.
    pub fn delete_file(&self, file: FileId) -> Result<()> {
        if matches!(file, FileId::SHARED | FileId::UNDO | FileId::TEMP) {
            return Err(Error::Invalid(format!("{} cannot be deleted", file.name())));
        }
        let core = self.core();
        let end = core.log_gone(SpaceId::FILE, file);
        core.log.sync_to(end)?;
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
            None if !storage.exists(&name) => return Ok(()),
            None => storage.open(&name, false).map_err(|e| failed("open", &e))?,
        };
        let mut len = handle.len().map_err(|e| failed("length of", &e))?;
        while len > CUT_STEP {
            len -= CUT_STEP;
            handle.set_len(len).map_err(|e| failed("shorten", &e))?;
        }
        drop(handle);
        match storage.remove(&name) {
            Err(e) if e.kind() != NotFound => Err(failed("remove", &e)),
            _ => core.sync_folder(file.folder()),
        }
    }
}
