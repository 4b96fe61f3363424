//! Memory is there before it is needed, and not much of it.

use super::*;

/// How many of these frames have memory.
fn resident(pager: &Pager, frames: std::ops::Range<u32>) -> usize {
    let arena = &pager.core().arena;
    let has = |n: &u32| {
        let mut pages = [0u8; PAGE_SIZE / 4096];
        // SAFETY: a frame's page is mapped and begins on a page of the system's; the answer has a byte for each of those.
        let rc = unsafe { libc::mincore(arena.page(*n).cast(), PAGE_SIZE, pages.as_mut_ptr()) };
        rc == 0 && pages.iter().all(|p| p & 1 == 1)
    };
    frames.filter(has).count()
}

#[cfg(target_os = "linux")]
#[test]
fn frames_are_populated_ahead_of_their_use() {
    const STEP: u32 = 128;
    let disk = SimStorage::new();
    let options = PagerOptions {
        pool_bytes: 64 << 20,
        ..options()
    };
    let pager = Pager::create(Arc::new(disk), options).unwrap();
    let until = |frames: std::ops::Range<u32>| {
        let begun = std::time::Instant::now();
        while resident(&pager, frames.clone()) < frames.len() {
            assert!(
                begun.elapsed().as_secs() < 30,
                "{frames:?} are not populated"
            );
            std::thread::yield_now();
        }
    };
    until(0..STEP);
    // Nearly nothing is used, so there is no more than two huge pages.
    assert_eq!(resident(&pager, 3 * STEP..4096), 0);
    let space = pager.space(SpaceId(100), FileId::SHARED);
    for _ in 0..4 * STEP {
        new_page(&pager, &space, AllocKind::Extent, 1);
    }
    // As far again as half of that.
    until(0..5 * STEP);
    assert_eq!(resident(&pager, 9 * STEP..4096), 0);
}
