//! Dropping spaces; what belongs to them.

use super::Pager;
use super::core::Core;
use crate::error::{Error, Result};
use crate::log::op::{Op, Target};
use crate::page::{Lsn, PageNo};
use crate::space::{FileId, Space, SpaceId};
use std::io::ErrorKind::NotFound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Core {
    /// Logs that a space (or, for [`SpaceId::FILE`], a whole file) is gone: recovery does nothing for it.
    pub(super) fn log_gone(&self, space: SpaceId, file: FileId) -> Lsn {
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

    /// Extents that the space owns, of which some pages may be free.
    pub fn space_extents(&self, space: SpaceId, file: FileId) -> Result<u64> {
        let file = match self.core().files.get(file, false) {
            Ok(f) => f,
            Err(Error::Io { kind: NotFound, .. }) => return Ok(0),
            Err(e) => return Err(e),
        };
        Ok(file.alloc().lock().extent_count(space))
    }

    /// Length of a file on disk, bytes; 0 if it is not there.
    pub fn file_bytes(&self, file: FileId) -> Result<u64> {
        let name = file.name();
        let handle = match self.core().files.storage().open(&name, false) {
            Ok(h) => h,
            Err(e) if e.kind() == NotFound => return Ok(0),
            Err(e) => return Err(Error::io(format!("open {name}"), &e)),
        };
        let len = handle.len();
        len.map_err(|e| Error::io(format!("length of {name}"), &e))
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
}
