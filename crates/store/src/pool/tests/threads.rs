//! Many threads on a small pool.

use super::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Every thread owns some pages of a set far larger than the pool, changes and reads them, and now and then
/// allocates with several frames reserved.
#[test]
fn sixty_four_threads_share_the_smallest_pool() {
    const THREADS: u64 = 64;
    const PAGES: u64 = 15;
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    std::thread::scope(|s| {
        for t in 0..THREADS {
            let (pager, space) = (&pager, &space);
            s.spawn(move || {
                let mut rng = Rng::new(t + 1);
                let mut mine: Vec<(PageNo, u64)> = (0..PAGES)
                    .map(|i| {
                        (
                            new_page(pager, space, AllocKind::Extent, (t << 32) | i),
                            (t << 32) | i,
                        )
                    })
                    .collect();
                for i in 0..150 {
                    let at = rng.below(mine.len());
                    let (page, value) = mine[at];
                    assert_eq!(get(pager, space, page), value);
                    match rng.below(6) {
                        0 => {
                            // Four frames at once.
                            let _pin = pager.pin(space, page).unwrap();
                            let mut m = pager.mtr(4).unwrap();
                            let h = m.alloc(space, AllocKind::Extent, page, INIT).unwrap();
                            put(&mut m, h, (t << 32) | (1000 + i));
                            mine.push((m.page_no(h), (t << 32) | (1000 + i)));
                            m.commit();
                        }
                        1 if mine.len() > 5 => {
                            free(pager, space, page);
                            mine.remove(at);
                        }
                        _ => {
                            set(pager, space, page, (t << 32) | (5000 + i));
                            mine[at].1 = (t << 32) | (5000 + i);
                        }
                    }
                }
                for (page, value) in mine {
                    assert_eq!(get(pager, space, page), value);
                }
            });
        }
    });
    assert!(pager.stats().evicted > 500, "{:?}", pager.stats());
    assert_eq!(problems(&pager, FileId::SHARED), []);
}

/// Threads that read one missing page at once read it once.
#[test]
fn concurrent_readers_of_a_missing_page_share_one_read() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let id = pager.new_space_id().unwrap();
    let space = pager.space(id, FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Root, 77);
    pager.close().unwrap();
    drop((pager, space));
    for _ in 0..20 {
        let pager = reopen(&disk);
        let space = pager.space(id, FileId::SHARED);
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    barrier.wait();
                    assert_eq!(get(&pager, &space, page), 77);
                });
            }
        });
        assert_eq!(pager.stats().reads, 1);
        drop((pager, space));
        disk.kill();
    }
}

/// No page is ever in two hands: each thread writes its mark into what it was given and finds it again.
#[test]
fn allocation_never_assigns_a_page_twice() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let spaces: Vec<_> = (0..3)
        .map(|_| pager.space(pager.new_space_id().unwrap(), FileId::SHARED))
        .collect();
    let next = AtomicU64::new(1);
    let held: Vec<Vec<(usize, PageNo)>> = std::thread::scope(|s| {
        let handles: Vec<_> = (0..8)
            .map(|t| {
                let (pager, spaces, next) = (&pager, &spaces, &next);
                s.spawn(move || {
                    let mut rng = Rng::new(100 + t);
                    let mut mine: Vec<(usize, PageNo, u64)> = Vec::new();
                    for _ in 0..400 {
                        if mine.len() > 30 || !mine.is_empty() && rng.one_in(3) {
                            let (k, page, value) = mine.swap_remove(rng.below(mine.len()));
                            assert_eq!(get(pager, &spaces[k], page), value);
                            free(pager, &spaces[k], page);
                        } else {
                            let k = rng.below(spaces.len());
                            let how = if rng.one_in(4) {
                                AllocKind::Root
                            } else {
                                AllocKind::Extent
                            };
                            let value = next.fetch_add(1, Ordering::Relaxed);
                            let page = new_page(pager, &spaces[k], how, value);
                            mine.push((k, page, value));
                        }
                    }
                    for (k, page, value) in &mine {
                        assert_eq!(get(pager, &spaces[*k], *page), *value);
                    }
                    mine.into_iter().map(|(k, page, _)| (k, page)).collect()
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });
    let all: Vec<PageNo> = held.iter().flatten().map(|(_, p)| *p).collect();
    let distinct: BTreeSet<PageNo> = all.iter().copied().collect();
    assert_eq!(all.len(), distinct.len());
    assert_eq!(problems(&pager, FileId::SHARED), []);
    let used: BTreeSet<PageNo> = pager
        .used_pages(FileId::SHARED)
        .unwrap()
        .into_iter()
        .map(|(p, _)| p)
        .filter(|p| !crate::space::layout::is_bookkeeping(*p))
        .collect();
    assert_eq!(used, distinct);
}

/// Spaces come and go beside readers and writers of another; what belongs to the other is never touched.
#[test]
fn drops_beside_traffic() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let stay = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let pages: Vec<_> = (0..200)
        .map(|i| new_page(&pager, &stay, AllocKind::Extent, i))
        .collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        for t in 0..2 {
            let (pager, stay, pages, done) = (&pager, &stay, &pages, &done);
            s.spawn(move || {
                let mut rng = Rng::new(t + 50);
                while !done.load(Ordering::Relaxed) {
                    let i = rng.below(pages.len());
                    if rng.one_in(3) {
                        set(pager, stay, pages[i], i as u64);
                    } else {
                        assert_eq!(get(pager, stay, pages[i]), i as u64);
                    }
                }
            });
        }
        let droppers: Vec<_> = (0..2u64)
            .map(|t| {
                let pager = &pager;
                s.spawn(move || {
                    for round in 0..15 {
                        let file = if round % 3 == 0 {
                            pager.new_file_id().unwrap()
                        } else {
                            FileId::SHARED
                        };
                        let space = pager.space(pager.new_space_id().unwrap(), file);
                        let root = new_page(pager, &space, AllocKind::Root, t);
                        let own: Vec<_> = (0..60)
                            .map(|i| new_page(pager, &space, AllocKind::Extent, (t << 20) | i))
                            .collect();
                        for (i, p) in own.iter().enumerate() {
                            assert_eq!(get(pager, &space, *p), (t << 20) | i as u64);
                        }
                        pager.drop_space(&space);
                        if file == FileId::SHARED {
                            pager.free_space(&space, root).unwrap();
                        } else {
                            pager.delete_file(file, &mut AtOnce).unwrap();
                        }
                    }
                })
            })
            .collect();
        for d in droppers {
            d.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(problems(&pager, FileId::SHARED), []);
    let used = pager.used_pages(FileId::SHARED).unwrap();
    assert_eq!(used.len(), pages.len() + 2);
    assert!(
        disk.files()
            .iter()
            .all(|(name, _)| !name.starts_with("tables/"))
    );
}
