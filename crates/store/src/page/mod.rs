//! Page header and identity. Every page of every file is [`PAGE_SIZE`] bytes and opens with the
//! same 32-byte header (little-endian):
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of bytes 4..[`PAGE_SIZE`], written just before the page goes to disk |
//! | 4 | 4 | page number |
//! | 8 | 8 | LSN: end of the last redo group that changed the page |
//! | 16 | 8 | space id |
//! | 24 | 2 | page type ([`PageType`]) |
//! | 26 | 6 | reserved, zero |

pub mod slotted;

/// Bytes in a page.
pub const PAGE_SIZE: usize = 16 * 1024;
/// Bytes in the page header; the body starts here.
pub const PAGE_HEADER: usize = 32;

/// Log sequence number: a position in the endless redo stream, in bytes.
pub type Lsn = u64;

/// Page number within a file. Page 0 of every file is its file header, so 0 also means "none".
pub type PageNo = u32;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum PageType {
    /// Never initialised (all zero) or freed.
    Free = 0,
    /// File header (page 0).
    FileHeader = 1,
    /// Allocation map.
    AllocMap = 2,
    /// B+tree leaf.
    Leaf = 3,
    /// B+tree inner node.
    Inner = 4,
    /// Overflow page of a long value.
    Overflow = 5,
    /// Undo records.
    Undo = 6,
    /// Undo lane directory.
    UndoDirectory = 7,
}

impl PageType {
    /// Decodes the header field.
    pub fn from_u16(v: u16) -> Option<PageType> {
        Some(match v {
            0 => PageType::Free,
            1 => PageType::FileHeader,
            2 => PageType::AllocMap,
            3 => PageType::Leaf,
            4 => PageType::Inner,
            5 => PageType::Overflow,
            6 => PageType::Undo,
            7 => PageType::UndoDirectory,
            _ => return None,
        })
    }
}

/// Reads a little-endian u16 at `at`.
#[inline]
pub fn get_u16(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(b[at..at + 2].try_into().unwrap())
}
/// Reads a little-endian u32 at `at`.
#[inline]
pub fn get_u32(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap())
}
/// Reads a little-endian u64 at `at`.
#[inline]
pub fn get_u64(b: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(b[at..at + 8].try_into().unwrap())
}
/// Writes a little-endian u16 at `at`.
#[inline]
pub fn put_u16(b: &mut [u8], at: usize, v: u16) {
    b[at..at + 2].copy_from_slice(&v.to_le_bytes());
}
/// Writes a little-endian u32 at `at`.
#[inline]
pub fn put_u32(b: &mut [u8], at: usize, v: u32) {
    b[at..at + 4].copy_from_slice(&v.to_le_bytes());
}
/// Writes a little-endian u64 at `at`.
#[inline]
pub fn put_u64(b: &mut [u8], at: usize, v: u64) {
    b[at..at + 8].copy_from_slice(&v.to_le_bytes());
}

/// LSN field of a page.
#[inline]
pub fn page_lsn(page: &[u8]) -> Lsn {
    get_u64(page, 8)
}
/// Page number field of a page.
#[inline]
pub fn page_no(page: &[u8]) -> PageNo {
    get_u32(page, 4)
}
/// Space id field of a page.
#[inline]
pub fn page_space(page: &[u8]) -> u64 {
    get_u64(page, 16)
}
/// Type field of a page.
#[inline]
pub fn page_type(page: &[u8]) -> Option<PageType> {
    PageType::from_u16(get_u16(page, 24))
}
