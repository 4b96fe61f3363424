//! The C library's allocator, told to give memory back.
//!
//! glibc maps large blocks one by one, but stops doing so: the first that is freed raises the bound from 128 KiB to its own size, up to
//! 32 MiB, and that from which free memory at the end of an arena goes back to the system to twice as much. Buffers of statements are
//! that large. They then lie in the arenas of the threads that made them, of which there are eight per core, and what one has freed
//! stays resident while others allocate: with ten statements at a time twice what the memory account allows. Set by hand, both
//! bounds stay where they are.

/// Blocks of so many bytes are mapped one by one, and unmapped when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: i32 = 256 << 10;
/// Free memory at the end of an arena that is kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 2 << 20;

/// Sets both bounds, where there is this allocator. Before any other thread runs.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (bound, bytes) in [
        (libc::M_MMAP_THRESHOLD, MAPPED_BYTES),
        (libc::M_TRIM_THRESHOLD, KEPT_BYTES),
    ] {
        // SAFETY: takes two numbers and changes a parameter of the allocator; no other thread allocates yet.
        unsafe { libc::mallopt(bound, bytes) };
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    /// Bytes of this process that are resident.
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages = text.split(' ').nth(1).unwrap();
        pages.parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn freed_buffers_do_not_stay_resident() {
        give_memory_back();
        // Freeing the first would raise the bounds, and the rest would lie in an arena.
        drop(std::hint::black_box(vec![1u8; 16 << 20]));
        let before = resident();
        let buffers: Vec<Vec<u8>> = (0..256).map(|_| vec![1u8; 1 << 20]).collect();
        // Lies behind them.
        let last = std::hint::black_box(vec![1u8; 1000]);
        assert!(resident() > before + (200 << 20));
        drop(std::hint::black_box(buffers));
        let after = resident();
        drop(last);
        assert!(after < before + (64 << 20), "{before} {after}");
    }
}
