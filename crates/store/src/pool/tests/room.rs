//! Room in the log, when many mini-transactions are under way as it gets tight.

use super::*;
use crate::pool::core::TAIL_DEPTH_WAITING;

/// Some KiB of log.
fn fill_page(m: &mut Mtr<'_>, h: PageH) {
    let data = &[1; 12000];
    m.apply(h, Op::Bytes { offset: 200, data });
}

/// Appends until mini-transactions must reserve. The caller holds `writing`, so that no checkpoint moves.
fn tighten(pager: &Pager, space: &Arc<Space>, page: PageNo) {
    while !pager.core().log_room.is_tight() {
        let (mut m, h) = latch(pager, space, page);
        fill_page(&mut m, h);
        m.commit();
    }
}

/// Threads that begin while there is plenty wait for frames until there is not. Together they append twice what is left.
#[test]
fn who_has_waited_for_frames_looks_at_the_log_again() {
    const THREADS: u32 = 16;
    let disk = SimStorage::new();
    let pager = create(&disk);
    let core = pager.core();
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Root, 1);
    let writing = core.writing.lock();
    let _pin = pager.pin(&space, page).unwrap();
    let mut frames = Vec::new();
    while let Some(n) = core.try_take(0, TAIL_DEPTH_WAITING) {
        frames.push(n);
    }
    std::thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                let mut m = pager.mtr(1).unwrap();
                let h = m.alloc(&space, AllocKind::Extent, 0, INIT).unwrap();
                (0..10).for_each(|_| fill_page(&mut m, h));
                m.commit();
            });
        }
        while core.frame_waiters() < THREADS {
            std::thread::yield_now();
        }
        tighten(&pager, &space, page);
        core.give(&frames);
        while !core.log_room.is_waited_for() {
            std::thread::yield_now();
        }
        drop(writing);
    });
    assert_eq!(pager.space_pages(&space).unwrap(), u64::from(THREADS));
}

/// Mini-transactions that began while there was plenty, and stand in line for a latch, say, find room when they come to append.
#[test]
fn room_is_left_to_those_who_began_before() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let core = pager.core();
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Root, 1);
    // What they may append is a quarter of the log.
    let inside: Vec<_> = (0..8).map(|_| pager.mtr(0).unwrap()).collect();
    let writing = core.writing.lock();
    tighten(&pager, &space, page);
    std::thread::scope(|s| {
        let later = s.spawn(|| pager.mtr(0).map(drop));
        while !later.is_finished() && !core.log_room.is_waited_for() {
            std::thread::yield_now();
        }
        // It looks at the room with this locked.
        core.log_room.wake();
        assert!(core.log_room.is_waited_for(), "not for the others");
        drop(inside);
        later.join().unwrap().unwrap();
    });
    drop(writing);
}
