//! The memory of the table: a mapping of its own, which costs nothing where it was never used.

use super::table::Bucket;
use std::io;

/// Zeroed buckets.
pub(super) struct Memory {
    at: *mut Bucket,
    count: usize,
    mapping: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: buckets are made of atomics, and the memory is touched through them only.
unsafe impl Sync for Memory {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Memory {}

const HUGE: usize = 2 << 20;

impl Memory {
    pub fn new(count: usize) -> io::Result<Memory> {
        let bytes = count * size_of::<Bucket>() + HUGE;
        // SAFETY: a fresh anonymous mapping; no existing memory is involved.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let raw = mapping.cast::<u8>();
        // SAFETY: less than `HUGE` bytes, which the mapping has beyond the buckets.
        let at = unsafe { raw.add(raw.align_offset(HUGE)) };
        let memory = Memory {
            at: at.cast(),
            count,
            mapping,
            bytes,
        };
        // Lookups go anywhere: with small pages each would miss the processor's address cache too.
        #[cfg(target_os = "linux")]
        memory.advise(libc::MADV_HUGEPAGE);
        Ok(memory)
    }

    /// Buckets.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub fn get(&self, n: usize) -> &Bucket {
        assert!(n < self.count);
        // SAFETY: in bounds and aligned. All-zero bytes are a valid bucket, and so is whatever was stored through it.
        unsafe { &*self.at.add(n) }
    }

    /// Gives the memory back to the system. All buckets hold zeroes and nobody writes any, so nobody can tell.
    pub fn release(&self) {
        #[cfg(target_os = "linux")]
        self.advise(libc::MADV_DONTNEED);
    }

    #[cfg(target_os = "linux")]
    fn advise(&self, advice: libc::c_int) {
        let len = self.count * size_of::<Bucket>();
        // SAFETY: within the mapping, from its first bucket on. Either advice leaves zeroes zeroes. Failure only costs memory
        // or speed.
        unsafe { libc::madvise(self.at.cast(), len, advice) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; no reference outlives `self`.
        unsafe { libc::munmap(self.mapping, self.bytes) };
    }
}
