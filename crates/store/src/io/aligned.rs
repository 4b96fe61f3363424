//! Memory that disks can be written from without a copy.

use super::DIRECT_ALIGN;

/// Bytes that start at a multiple of [`DIRECT_ALIGN`]; zeroes at first.
pub struct AlignedBuf {
    /// Larger than what is used, and never grown, so that it stays where it is.
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuf {
    /// A buffer of `len` bytes.
    pub fn new(len: usize) -> AlignedBuf {
        let bytes = vec![0; len + DIRECT_ALIGN];
        let start = bytes.as_ptr().align_offset(DIRECT_ALIGN);
        assert!(
            start <= DIRECT_ALIGN,
            "a byte's address can always be aligned"
        );
        AlignedBuf { bytes, start, len }
    }
}

impl std::ops::Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl std::ops::DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_as_long_as_asked() {
        for len in [0, 1, 512, 100_000] {
            let mut b = AlignedBuf::new(len);
            assert_eq!(b.len(), len);
            assert_eq!(b.as_ptr().align_offset(DIRECT_ALIGN), 0);
            b.fill(7);
        }
    }
}
