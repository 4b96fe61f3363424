//! Dropping spaces; what belongs to them.

use super::Pager;
use super::core::Core;
use super::discard::{Dead, DropAlgorithm};
use super::room::patiently;
use crate::error::{Error, Result};
use crate::log::op::{Op, Target};
use crate::page::{Lsn, PAGE_SIZE, PageNo};
use crate::space::{EXTENT_PAGES, FileId, Space, SpaceId};
use smallvec::SmallVec;
use std::io::ErrorKind::NotFound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How many of the gone one group names: some KiB.
const GONE_A_GROUP: usize = 128;

impl Core {
    /// Logs that spaces (or, for [`SpaceId::FILE`], whole files) are gone: recovery does nothing for them. Hold no latch.
    pub(super) fn log_gone(&self, gone: &[(SpaceId, FileId)]) -> Result<Lsn> {
        let mut end = 0;
        for some in gone.chunks(GONE_A_GROUP) {
            let _room = self.room_for_group()?;
            let mut group = Vec::with_capacity(some.len() * 16);
            for &(space, file) in some {
                let page = 0;
                let target = Target { space, file, page };
                Op::Free.encode(target, None, &mut group);
            }
            (end, ()) = self.log.append(&group, |_, _| ());
            self.stale_lsn.fetch_max(end, Ordering::AcqRel);
            self.after_append(end);
        }
        Ok(end)
    }

    fn spaces_die(&self, spaces: &[Arc<Space>]) {
        let live = spaces.iter().filter(|s| {
            debug_assert!(!s.id.is_temporary(), "see `drop_temporary_space`");
            !s.is_dropped()
        });
        let live: SmallVec<[(SpaceId, FileId); 4]> = live.map(|s| (s.id, s.file)).collect();
        // First the log record, so that a checkpoint that passes pages given up unwritten knows it. If there can be no record,
        // the log has stopped, and no checkpoint passes anything any more.
        if let Err(e) = patiently(|| self.log_gone(&live)) {
            tracing::warn!("spaces die without a note in the log: {e}");
        }
        for space in spaces {
            self.flag_dropped(space);
        }
    }

    /// Flips a space's flag; its frames are stale from now on. `false` if it was flipped before.
    pub(super) fn flag_dropped(&self, space: &Space) -> bool {
        let Some(frames) = space.set_dropped() else {
            return false;
        };
        self.stale_frames
            .fetch_add(i64::from(frames), Ordering::Relaxed);
        true
    }
}

impl Pager {
    /// Gets or makes the shared header of a space. The same object is returned while any frame or
    /// handle still refers to it.
    pub fn space(&self, id: SpaceId, file: FileId) -> Arc<Space> {
        self.core().space(id, file)
    }

    /// The spaces of one table or partition die. From now on their cached pages are neither
    /// served nor written. Call it when the drop is durable, with no latch held.
    ///
    /// That is all in O(1), for their flags are flipped; then the chosen [`DropAlgorithm`] does what it does about the frames.
    pub fn drop_spaces(&self, spaces: &[Arc<Space>]) {
        let core = self.core();
        core.spaces_die(spaces);
        core.discard(&Dead::new(spaces));
    }

    /// A table or partition dies that never had a page. The versions of old looked for its pages all the same, for it
    /// had a tablespace there.
    pub fn drop_empty(&self) {
        self.core().discard(&Dead::new(&[]));
    }

    /// A space dies that never had a page: there is nothing to be noted in the log, nor a frame to be looked for.
    pub fn drop_pageless(&self, space: &Space) {
        self.core().flag_dropped(space);
    }

    /// [`Pager::drop_spaces`] of one.
    pub fn drop_space(&self, space: &Arc<Space>) {
        if !space.is_dropped() {
            self.drop_spaces(std::slice::from_ref(space));
        }
    }

    /// Sees to it that a space is marked as dropped, for those who come to bury it: its table was dropped before, perhaps
    /// before the last start. Frames are looked for only if there are any, which is so if nobody dropped it in this life.
    pub fn ensure_dropped(&self, space: &Arc<Space>) {
        match space.cached() {
            0 => self.core().spaces_die(std::slice::from_ref(space)),
            _ => self.drop_space(space),
        }
    }

    /// Chooses what is done about frames of spaces that are dropped from now on.
    pub fn set_drop_algorithm(&self, algorithm: DropAlgorithm) {
        self.core().discards.choose(algorithm);
    }

    /// What is done about frames of dropped spaces.
    pub fn drop_algorithm(&self) -> DropAlgorithm {
        self.core().discards.chosen()
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

    /// Pages used in the space's own extents (its root is not among them), and pages that these extents have.
    pub fn space_room(&self, space: &Arc<Space>) -> Result<(u64, u64)> {
        let file = match space.data(&self.core().files, false) {
            Ok(f) => f,
            Err(Error::Io { kind: NotFound, .. }) => return Ok((0, 0)),
            Err(e) => return Err(e),
        };
        let alloc = file.alloc().lock();
        let pages = alloc.extent_count(space.id) * u64::from(EXTENT_PAGES);
        Ok((alloc.pages_of(space.id), pages))
    }

    /// Handles of tables' files that are open, and that may be.
    pub fn open_files(&self) -> (usize, usize) {
        let handles = self.core().files.handles();
        (handles.count(), handles.limit())
    }

    /// Changes how many handles of tables' files may be open.
    pub fn set_open_files(&self, most: usize) {
        self.core().files.handles().set_limit(most);
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

    /// Files of general tablespaces that are in use.
    pub fn general_files(&self) -> Vec<FileId> {
        self.core().files.general()
    }

    /// Bytes of a file, and of those in extents that are nobody's; 0 if it is not there.
    pub fn file_room(&self, file: FileId) -> Result<(u64, u64)> {
        let file = match self.core().files.get(file, false) {
            Ok(f) => f,
            Err(Error::Io { kind: NotFound, .. }) => return Ok((0, 0)),
            Err(e) => return Err(e),
        };
        let alloc = file.alloc().lock();
        let bytes = |extents: u32| u64::from(extents) * u64::from(EXTENT_PAGES) * PAGE_SIZE as u64;
        Ok((bytes(alloc.extents()), bytes(alloc.free_extents())))
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
