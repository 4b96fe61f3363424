//! Offline verification: every used page of a file against checksum, identity and allocation maps.

use super::Pager;
use crate::error::{Error, Result};
use crate::page::{PAGE_SIZE, PageNo, PageType, page_space, page_type};
use crate::space::{FileId, SpaceId, layout};

/// A page that [`Pager::check_file`] looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedPage {
    /// Its number.
    pub page: PageNo,
    /// Owner of its extent by the allocation map: a space, or 1 for fragment extents.
    pub owner: u64,
    /// Space and type it says it is, or what is wrong with it.
    pub found: std::result::Result<(SpaceId, PageType), String>,
}

impl Pager {
    /// Writes everything out, then reads every page of the file that the allocation maps call used, and verifies checksum,
    /// page number and owner. For a database at rest.
    pub fn check_file(&self, file: FileId) -> Result<impl Iterator<Item = CheckedPage> + use<>> {
        self.flush()?;
        let file = self.core().files.get(file, false)?;
        let pages = file.alloc().lock().used_pages();
        let mut buf = vec![0; PAGE_SIZE];
        Ok(pages.into_iter().map(move |(page, owner)| {
            let found = file
                .read_raw(page, &mut buf)
                .map_err(|e: Error| e.to_string())
                .and_then(|()| layout::verify(&buf, 0, page))
                .and_then(|()| owned(&buf, page, owner));
            CheckedPage { page, owner, found }
        }))
    }

    /// Pages of a file that its allocation maps call used, with the owner of each page's extent (1: fragment extents,
    /// which hold roots and the file's own pages).
    pub fn used_pages(&self, file: FileId) -> Result<Vec<(PageNo, u64)>> {
        let file = self.core().files.get(file, false)?;
        let pages = file.alloc().lock().used_pages();
        Ok(pages)
    }
}

fn owned(page: &[u8], no: PageNo, owner: u64) -> std::result::Result<(SpaceId, PageType), String> {
    let space = page_space(page);
    let kind = page_type(page).ok_or("its type is unknown")?;
    let expected = if layout::is_bookkeeping(no) {
        Some(SpaceId::FILE.0)
    } else {
        // Fragment extents hold roots of any space.
        (owner != SpaceId::FILE.0).then_some(owner)
    };
    if let Some(e) = expected
        && e != space
    {
        return Err(format!("it belongs to space {space}, by its place to {e}"));
    }
    if kind == PageType::Free {
        return Err("it is used by the allocation map, but free by its type".into());
    }
    Ok((SpaceId(space), kind))
}
