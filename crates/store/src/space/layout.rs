//! Bytes of a data file's bookkeeping pages, and the checksum every page carries.
//!
//! Page 0 of a file is its header, page 1 its first allocation map; the map of extents `1000 k ..` is
//! page `8000 k + 1`, in the first of the extents it describes. See `docs/file-format.md`.

use super::{FileId, MAP_PAGES, SpaceId};
use crate::page::{
    Lsn, PAGE_SIZE, PageNo, PageType, get_u32, get_u64, page_no, page_space, page_type, put_u16,
    put_u32, put_u64,
};

/// First bytes of a file header's body.
pub const MAGIC: u64 = u64::from_le_bytes(*b"MILLPOND");
/// Version of the whole directory's format.
pub const FORMAT_VERSION: u32 = 4;

pub const MAGIC_AT: usize = 32;
pub const VERSION_AT: usize = 40;
/// Root page of the shared tree of small indexes (shared file only); 0: there is none.
pub const SHARED_ROOT_AT: usize = 44;
pub const FILE_ID_AT: usize = 48;
/// How many allocation maps count, once the file has been cut; 0: all.
pub const MAPS_AT: usize = 56;
/// Counters' high-water marks (shared file only), 8 bytes each.
pub const COUNTERS_AT: usize = 64;
/// Persistent counters.
pub const COUNTERS: usize = 16;
/// The last of them is none: a random number that names the database's history (0: nobody has asked for it yet).
pub const HISTORY: usize = COUNTERS - 1;

/// Extent entries of a map page start here.
pub const ENTRIES_AT: usize = 64;
/// Bytes of an extent's entry: owner u64, used pages u8, 7 reserved.
pub const ENTRY: usize = 16;
/// Bytes of an entry that an allocation changes.
pub const ENTRY_USED: usize = 9;

/// Page number of map `k`.
pub fn map_page(k: u32) -> PageNo {
    k * MAP_PAGES + 1
}

/// Whether the page is a file's bookkeeping, by its position.
pub fn is_bookkeeping(page: PageNo) -> bool {
    page == 0 || page % MAP_PAGES == 1
}

/// Offset of an extent's entry in its map page.
pub fn entry_at(index: u32) -> usize {
    ENTRIES_AT + index as usize * ENTRY
}

/// Encodes the changing part of an entry.
pub fn entry_bytes(owner: u64, used: u8) -> [u8; ENTRY_USED] {
    let mut b = [0; ENTRY_USED];
    b[..8].copy_from_slice(&owner.to_le_bytes());
    b[8] = used;
    b
}

/// Decodes an entry.
pub fn read_entry(page: &[u8], index: u32) -> (u64, u8) {
    let at = entry_at(index);
    (get_u64(page, at), page[at + 8])
}

/// What a file header's body begins with. `shared_root`: of the tree of small indexes, 0 if there is none.
pub fn header_bytes(file: FileId, shared_root: PageNo) -> [u8; 24] {
    let mut b = [0; 24];
    b[..8].copy_from_slice(&MAGIC.to_le_bytes());
    b[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    b[12..16].copy_from_slice(&shared_root.to_le_bytes());
    b[16..].copy_from_slice(&file.0.to_le_bytes());
    b
}

/// Starts a bookkeeping page: zeroes it and writes the page header but for the checksum.
pub fn start(page: &mut [u8], no: PageNo, kind: PageType, lsn: Lsn) {
    page.fill(0);
    put_u32(page, 4, no);
    put_u64(page, 8, lsn);
    put_u64(page, 16, SpaceId::FILE.0);
    put_u16(page, 24, kind as u16);
}

/// Writes the checksum, just before the page goes to disk.
pub fn seal(page: &mut [u8]) {
    let crc = crc32c::crc32c(&page[4..PAGE_SIZE]);
    put_u32(page, 0, crc);
}

/// Whether the checksum is right. An all-zero page fails.
pub fn is_sealed(page: &[u8]) -> bool {
    get_u32(page, 0) == crc32c::crc32c(&page[4..PAGE_SIZE])
}

/// Whether every byte is zero: never written.
pub fn is_zero(page: &[u8]) -> bool {
    // SAFETY: any bytes are valid u64s, and alignment is what `align_to` takes care of.
    let (head, words, tail) = unsafe { page.align_to::<u64>() };
    words.iter().all(|w| *w == 0) && head.iter().chain(tail).all(|b| *b == 0)
}

/// What is wrong with a page read as (`space`, `no`), if anything. `space` 0 stands for any.
pub fn verify(page: &[u8], space: u64, no: PageNo) -> Result<(), String> {
    if !is_sealed(page) {
        if is_zero(page) {
            return Err("it was never written (all zero)".into());
        }
        return Err(format!(
            "checksum {:08x} does not match the contents",
            get_u32(page, 0)
        ));
    }
    if page_no(page) != no {
        return Err(format!("it says it is page {}", page_no(page)));
    }
    if space != 0 && page_space(page) != space {
        return Err(format!(
            "it belongs to space {}, not {space}",
            page_space(page)
        ));
    }
    if page_type(page).is_none() {
        return Err("its type is unknown".into());
    }
    Ok(())
}
