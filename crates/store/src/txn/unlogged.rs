//! What a transaction did to temporary tables, so that it can be undone: an undo log of its own that is never logged.
//!
//! A temporary table is seen by one session, whose transactions follow one another. So every row in it was
//! written by a transaction that has ended or by the one running: its newest version is the one that any view of
//! the session's sees. No older version is ever asked for, by readers or by purge; undo is for rollback alone, and is
//! forgotten at the commit. No lane, no BEGIN, no number, no id: a transaction that changes temporary tables
//! only writes nothing and waits for nothing.
//!
//! **Form.** One stack of bytes. The end of it is in memory; what exceeds [`SPILL_BYTES`] goes to pages of a temporary
//! space (`pool/unlogged`), and comes back from there when rollback gets that far. A record is the payload, then
//! `handler u32, payload length u32`, so that it can be read from behind. Records may span pages.
//!
//! **Failure.** A change whose record cannot be kept is not made. If records cannot be read back (the disk of the file `temp`
//! was full), the tables they are about are given up ([`UnloggedHandler::lose`]): they cannot be
//! trusted any more, and nobody else is concerned.

use crate::error::{Error, Result};
use crate::log::op::Op;
use crate::page::{PAGE_HEADER, PAGE_SIZE, PageNo, PageType, get_u32};
use crate::pool::Pager;
use crate::space::{AllocKind, Space};
use std::sync::Arc;

/// Bytes kept in memory; whole pages of what is beyond are written.
const SPILL_BYTES: usize = 256 << 10;
/// Bytes of the stack in one page.
const PER_PAGE: usize = PAGE_SIZE - PAGE_HEADER;
/// Pages written or freed in one mini-transaction.
const PAGES_PER_STEP: usize = 8;
/// Bytes after a record's payload.
const TRAILER: usize = 8;

/// Undoes records of one temporary table.
pub(crate) trait UnloggedHandler: Send + Sync {
    /// Undoes one record; no latch is held.
    fn undo(&self, payload: &[u8]) -> Result<()>;
    /// Whether the table was dropped, so that there is nothing to undo.
    fn is_gone(&self) -> bool;
    /// The table's contents are not what they should be: nobody may use it any more.
    fn lose(&self);
}

/// See the module.
pub(crate) struct UnloggedUndo {
    pager: Arc<Pager>,
    /// Whose records these are, by their tables' ids.
    handlers: Vec<(u64, Arc<dyn UnloggedHandler>)>,
    /// The stack's end.
    tail: Vec<u8>,
    /// Pages with what comes before it, the lowest first.
    pages: Vec<PageNo>,
    space: Option<Arc<Space>>,
    /// How high the stack was when it could not be undone and was given up, so that savepoints from before are still
    /// below all that came since.
    given_up: u64,
}

impl UnloggedUndo {
    pub fn new(pager: &Arc<Pager>) -> UnloggedUndo {
        UnloggedUndo {
            pager: pager.clone(),
            handlers: Vec::new(),
            tail: Vec::new(),
            pages: Vec::new(),
            space: None,
            given_up: 0,
        }
    }

    fn height(&self) -> u64 {
        (self.pages.len() * PER_PAGE + self.tail.len()) as u64
    }

    /// How high the stack is, in bytes.
    pub fn position(&self) -> u64 {
        self.given_up + self.height()
    }

    /// Pushes a record, its payload in parts, about table `id`, which is handled by what `handler` returns. On error the
    /// caller must not make the change; undoing the record does no harm.
    pub fn push(
        &mut self,
        id: u64,
        handler: impl FnOnce() -> Arc<dyn UnloggedHandler>,
        payload: &[&[u8]],
    ) -> Result<()> {
        let no = match self.handlers.iter().rposition(|(i, _)| *i == id) {
            Some(no) => no,
            None => {
                self.handlers.push((id, handler()));
                self.handlers.len() - 1
            }
        };
        let start = self.tail.len();
        for part in payload {
            self.tail.extend_from_slice(part);
        }
        let len = (self.tail.len() - start) as u32;
        self.tail.extend_from_slice(&(no as u32).to_le_bytes());
        self.tail.extend_from_slice(&len.to_le_bytes());
        if self.tail.len() >= SPILL_BYTES {
            self.spill()?;
        }
        Ok(())
    }

    /// Undoes records until the stack is as high as it was at `position`.
    pub fn undo_to(&mut self, position: u64) {
        if position == 0 && self.handlers.iter().all(|(_, h)| h.is_gone()) {
            self.forget();
            return;
        }
        if let Err(e) = self.try_undo_to(position) {
            tracing::error!("changes to temporary tables cannot be undone: {e}");
            for (_, handler) in &self.handlers {
                handler.lose();
            }
            self.given_up = self.position();
            self.forget();
        }
    }

    /// Empties the stack.
    fn forget(&mut self) {
        self.handlers.clear();
        self.tail = Vec::new();
        self.pages = Vec::new();
        self.give_back();
    }

    fn try_undo_to(&mut self, position: u64) -> Result<()> {
        while self.position() > position && self.height() > 0 {
            self.bring(TRAILER)?;
            let at = self.tail.len() - TRAILER;
            let (no, len) = (get_u32(&self.tail, at), get_u32(&self.tail, at + 4));
            let whole = len as usize + TRAILER;
            self.bring(whole)?;
            let start = self.tail.len() - whole;
            let (_, handler) = &self.handlers[no as usize];
            if let Err(e) = handler.undo(&self.tail[start..start + len as usize]) {
                tracing::error!(
                    "a temporary table is lost, for a change to it cannot be undone: {e}"
                );
                handler.lose();
            }
            self.tail.truncate(start);
        }
        Ok(())
    }

    /// Writes whole pages of the tail, lowest first.
    fn spill(&mut self) -> Result<()> {
        let space = self
            .space
            .get_or_insert_with(|| self.pager.new_temporary_space())
            .clone();
        let whole = self.tail.len() / PER_PAGE;
        let mut written = 0;
        let mut result = Ok(());
        while written < whole && result.is_ok() {
            let step = (whole - written).min(PAGES_PER_STEP);
            result = self.write_pages(&space, written, step);
            if result.is_ok() {
                written += step;
            }
        }
        self.tail.drain(..written * PER_PAGE);
        result
    }

    /// Writes `count` pages from the tail's page `from` on; all or none.
    fn write_pages(&mut self, space: &Arc<Space>, from: usize, count: usize) -> Result<()> {
        let mut mtr = self.pager.mtr_in(space, count)?;
        let mut made = Vec::with_capacity(count);
        let mut near = self.pages.last().copied().unwrap_or(0);
        for body in self.tail[from * PER_PAGE..]
            .chunks_exact(PER_PAGE)
            .take(count)
        {
            let kind = PageType::Undo;
            match mtr.alloc(space, AllocKind::Extent, near, Op::Image { kind, body }) {
                Ok(h) => {
                    near = mtr.page_no(h);
                    made.push(h);
                }
                Err(e) => {
                    for h in made {
                        mtr.free(h)?;
                    }
                    mtr.commit();
                    return Err(e);
                }
            }
        }
        self.pages.extend(made.iter().map(|h| mtr.page_no(*h)));
        mtr.commit();
        Ok(())
    }

    /// Makes the tail at least `bytes` long, from the pages before it.
    fn bring(&mut self, bytes: usize) -> Result<()> {
        if self.tail.len() >= bytes {
            return Ok(());
        }
        let Some(space) = self.space.clone() else {
            return Err(Error::Corrupt("unlogged undo is cut short".into()));
        };
        let need = (bytes - self.tail.len()).div_ceil(PER_PAGE);
        // More at once, or the next record would ask again.
        let count = need.max(SPILL_BYTES / 2 / PER_PAGE).min(self.pages.len());
        let from = self.pages.len() - count;
        let mut brought = Vec::with_capacity(count * PER_PAGE + self.tail.len());
        for page in &self.pages[from..] {
            brought.extend_from_slice(&self.pager.fetch(&space, *page)?[PAGE_HEADER..]);
        }
        brought.extend_from_slice(&self.tail);
        self.tail = brought;
        for pages in self.pages.split_off(from).chunks(PAGES_PER_STEP) {
            self.free(&space, pages)?;
        }
        if self.tail.len() < bytes {
            return Err(Error::Corrupt("unlogged undo is cut short".into()));
        }
        Ok(())
    }

    fn free(&self, space: &Arc<Space>, pages: &[PageNo]) -> Result<()> {
        for page in pages {
            let _pin = self.pager.pin(space, *page)?;
            let mut mtr = self.pager.mtr_in(space, 0)?;
            if let Some(h) = mtr.try_latch(space, *page) {
                mtr.free(h)?;
                mtr.commit();
            }
        }
        Ok(())
    }

    fn give_back(&mut self) {
        if let Some(space) = self.space.take() {
            self.pager.drop_temporary_space(&space, 0);
        }
    }
}

impl Drop for UnloggedUndo {
    fn drop(&mut self) {
        self.give_back();
    }
}
