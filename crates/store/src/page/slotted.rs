//! Slotted page: sorted records of (key, value) in one page, used by B+tree leaves and inner nodes.
//! Pure functions over a page's bytes; they are called at run time and, with the same arguments,
//! by recovery, so their effect on the bytes must be a function of the page and the arguments only.

/// Formats an empty slotted page of this level (0 = leaf); the page header is the caller's.
pub fn init(_page: &mut [u8], _level: u8) {
    todo!()
}
/// Inserts a record at `slot`. The caller has checked that it fits.
pub fn insert(_page: &mut [u8], _slot: u16, _key: &[u8], _value: &[u8]) {
    todo!()
}
/// Removes the record at `slot`.
pub fn remove(_page: &mut [u8], _slot: u16) {
    todo!()
}
/// Overwrites `data.len()` bytes of the value at `slot`, from `offset`.
pub fn patch(_page: &mut [u8], _slot: u16, _offset: u16, _data: &[u8]) {
    todo!()
}
/// Replaces the middle of the value at `slot`.
pub fn splice(_page: &mut [u8], _slot: u16, _prefix: u16, _suffix: u16, _data: &[u8]) {
    todo!()
}
/// Removes the records from `slot` on.
pub fn truncate(_page: &mut [u8], _slot: u16) {
    todo!()
}
/// Appends records encoded as `key_len: u16, value_len: u16, key, value`.
pub fn append(_page: &mut [u8], _records: &[u8]) {
    todo!()
}
