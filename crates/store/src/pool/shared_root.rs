//! Where the tree is that small indexes share: its root's number is in the shared file's header, and comes there together with
//! the page and with the format version that keeps servers away which would not look into it.

use super::Pager;
use crate::error::Result;
use crate::log::op::Op;
use crate::page::{PageNo, PageType};
use crate::space::alloc::Change;
use crate::space::{AllocKind, FileId, Space};
use std::sync::Arc;

impl Pager {
    /// Root of the tree that small indexes share; 0: there is none yet.
    pub fn shared_root(&self) -> Result<PageNo> {
        let file = self.core().files.get(FileId::SHARED, true)?;
        let root = file.alloc().lock().shared_root();
        Ok(root)
    }

    /// Makes that tree, which nobody else does meanwhile, in a space of the shared file; its root. Hold no latch.
    pub fn make_shared_root(&self, space: &Arc<Space>) -> Result<PageNo> {
        let mut mtr = self.mtr_in(space, 1)?;
        let init = Op::Init {
            kind: PageType::Leaf,
            level: 0,
        };
        let h = mtr.alloc(space, AllocKind::Root, 0, init)?;
        let root = mtr.page_no(h);
        let file = self.core().files.get(FileId::SHARED, true);
        // The page was allocated in it.
        mtr.change(file.expect("an open file"), Change::SharedRoot(root));
        mtr.commit();
        Ok(root)
    }
}
