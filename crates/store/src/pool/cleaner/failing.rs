//! Files that cannot be written for now, as far as a round of the cleaner has found out.
//!
//! What belongs to them is passed over until the round ends: the oldest pages and the LRU list's tail may be full of it, and those of
//! other files behind would never be reached.

use super::super::frame::{DETACHED, DIRTY, DOOMED, Frame};
use crate::error::Error;
use crate::space::FileId;
use hashbrown::HashSet;
use std::sync::atomic::Ordering;

/// See the module.
#[derive(Default)]
pub(crate) struct Failing {
    files: HashSet<FileId>,
    /// Why the last of them.
    pub why: Option<Error>,
}

impl Failing {
    pub fn add(&mut self, file: FileId, why: Error) {
        self.files.insert(file);
        self.why = Some(why);
    }

    pub fn has(&self, file: FileId) -> bool {
        !self.files.is_empty() && self.files.contains(&file)
    }

    /// How many files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether a frame is dirty and cannot become clean. Stale ones can: they are given up unwritten.
    ///
    /// # Safety
    /// As for [`Frame::space`].
    pub unsafe fn holds(&self, f: &Frame) -> bool {
        if self.files.is_empty()
            || f.word.load(Ordering::Acquire) & (DIRTY | DETACHED | DOOMED) != DIRTY
        {
            return false;
        }
        // SAFETY: the caller's promise.
        let space = unsafe { f.space() };
        self.has(space.file) && !space.is_dropped()
    }
}
