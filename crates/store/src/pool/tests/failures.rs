//! Failing disks, damaged files, full disks, scans.

use super::*;
use crate::io::sim::{OpKind, Step};
use crate::page::PAGE_SIZE;
use crate::pool::cleaner::Failing;
use crate::pool::core::Lookup;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn damaged_pages_are_named() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let id = pager.new_space_id().unwrap();
    let space = pager.space(id, FileId::SHARED);
    let pages: Vec<_> = (0..4)
        .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
        .collect();
    pager.close().unwrap();
    drop((pager, space));
    let at = |i: usize| u64::from(pages[i]) * PAGE_SIZE as u64;
    disk.corrupt("data", at(0) + 5000, &[0xff]);
    disk.corrupt("data", at(1), &[0; PAGE_SIZE]);
    // Without this the last batch would be put back.
    disk.corrupt("doublewrite", 0, &[0; 8]);
    // Another page's contents, intact.
    let file = crate::io::Storage::open(&disk, "data", false).unwrap();
    let mut other = vec![0; PAGE_SIZE];
    file.read_at(&mut other, at(3)).unwrap();
    disk.corrupt("data", at(2), &other);
    disk.kill();
    let pager = reopen(&disk);
    let space = pager.space(id, FileId::SHARED);
    let why = |i: usize| match pager.fetch(&space, pages[i]).err() {
        Some(Error::Corrupt(s)) => s,
        e => panic!("{e:?}"),
    };
    let place = |i: usize| format!("data, page {}: ", pages[i]);
    assert!(why(0).starts_with(&(place(0) + "checksum")));
    assert_eq!(why(1), place(1) + "it was never written (all zero)");
    assert_eq!(
        why(2),
        format!("{}it says it is page {}", place(2), pages[3])
    );
    // Asked again, the same; its neighbour is fine; and the check finds all three.
    assert!(why(0).starts_with(&(place(0) + "checksum")));
    assert_eq!(get(&pager, &space, pages[3]), 3);
    let bad: Vec<_> = problems(&pager, FileId::SHARED)
        .into_iter()
        .map(|p| p.page)
        .collect();
    assert_eq!(bad, pages[..3]);
}

#[test]
fn a_page_lost_from_disk_is_rebuilt_from_the_log_if_the_log_holds_all_of_it() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let id = pager.new_space_id().unwrap();
    let space = pager.space(id, FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Extent, 1);
    let end = set(&pager, &space, page, 2);
    pager.log().sync_to(end).unwrap();
    drop((pager, space));
    disk.kill();
    let len = disk.files().iter().find(|f| f.0 == "data").unwrap().1;
    assert!(len > u64::from(page) * PAGE_SIZE as u64);
    disk.corrupt("data", u64::from(page) * PAGE_SIZE as u64, &[9; 100]);
    let pager = reopen(&disk);
    assert_eq!(pager.recovery().broken, []);
    let space = pager.space(id, FileId::SHARED);
    assert_eq!(get(&pager, &space, page), 2);
}

#[test]
fn the_first_failed_write_stops_commits_and_reads_go_on() {
    for failing in [OpKind::Write, OpKind::Sync] {
        let disk = SimStorage::new();
        let pager = create(&disk);
        let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
        let pages: Vec<_> = (0..50)
            .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
            .collect();
        disk.on_step(move |kind, name| {
            if kind == failing && name == "data" {
                Step::Fail
            } else {
                Step::Go
            }
        });
        assert!(pager.flush().is_err());
        let why = pager.log().stopped().unwrap();
        assert!(why.contains("data"), "{why}");
        for (i, p) in pages.iter().enumerate() {
            assert_eq!(get(&pager, &space, *p), i as u64);
        }
        let end = set(&pager, &space, pages[0], 1);
        assert!(matches!(
            pager.log().commit_wait(end),
            Err(Error::Stopped(_))
        ));
        assert!(matches!(pager.close(), Err(Error::Stopped(_))));
        drop((pager, space));
        disk.restart(|| false);
        let pager = reopen(&disk);
        assert_eq!(problems(&pager, FileId::SHARED), []);
    }
}

#[test]
fn a_full_disk_is_an_error_of_the_allocation_alone() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let first = new_page(&pager, &space, AllocKind::Extent, 1);
    let full = Arc::new(AtomicBool::new(true));
    let seen = full.clone();
    disk.on_step(move |kind, _| {
        if kind == OpKind::SetLen && seen.load(Ordering::Relaxed) {
            Step::Full
        } else {
            Step::Go
        }
    });
    let mut pages = vec![first];
    let error = loop {
        let mut m = pager.mtr(1).unwrap();
        match m.alloc(&space, AllocKind::Extent, 0, INIT) {
            Ok(h) => {
                put(&mut m, h, 1);
                pages.push(m.page_no(h));
                m.commit();
            }
            Err(e) => break e,
        }
    };
    assert!(
        matches!(
            &error,
            Error::Io {
                kind: ErrorKind::StorageFull,
                ..
            }
        ),
        "{error}"
    );
    assert!(pager.mtr_in(&space, 5).is_err());
    let used = pager.space_pages(&space).unwrap();
    assert_eq!(used, pages.len() as u64);
    for p in &pages {
        assert_eq!(get(&pager, &space, *p), 1);
    }
    full.store(false, Ordering::Relaxed);
    new_page(&pager, &space, AllocKind::Extent, 2);
    assert_eq!(problems(&pager, FileId::SHARED), []);
}

#[test]
fn a_missing_table_file_is_named_and_disturbs_nobody() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let file = pager.new_file_id().unwrap();
    let space = pager.space(pager.new_space_id().unwrap(), file);
    let page = new_page(&pager, &space, AllocKind::Root, 1);
    let id = space.id;
    pager.flush().unwrap();
    let end = set(&pager, &space, page, 2);
    pager.log().sync_to(end).unwrap();
    drop((pager, space));
    disk.kill();
    crate::io::Storage::remove(&disk, &file.name()).unwrap();
    let pager = reopen(&disk);
    let space = pager.space(id, file);
    let e = pager.fetch(&space, page).err().unwrap();
    assert!(e.to_string().contains(&file.name()), "{e}");
    // Dropping it is still possible.
    pager.drop_space(&space);
    pager.free_space(&space, 0).unwrap();
    pager.delete_file(file, &mut AtOnce).unwrap();
}

#[test]
fn a_scan_does_not_displace_what_is_used_again() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let id = pager.new_space_id().unwrap();
    let space = pager.space(id, FileId::SHARED);
    let pages: Vec<_> = (0..1500)
        .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
        .collect();
    pager.close().unwrap();
    drop((pager, space));
    disk.kill();
    let pager = reopen(&disk);
    let space = pager.space(id, FileId::SHARED);
    let fetch = |pages: &[PageNo]| {
        for p in pages {
            pager.fetch(&space, *p).unwrap();
        }
    };
    // Once the pool is full, evicting keeps the list's clock in motion; using an old page that has been there for a
    // while makes it young (some became so while the list grew). The scans use each page once.
    let (hot, scanned) = pages.split_at(60);
    fetch(&scanned[..250]);
    fetch(hot);
    for others in scanned[250..370].chunks(30) {
        fetch(others);
        pager.core().age_everything();
        fetch(hot);
    }
    assert!(pager.stats().made_young > 0, "{:?}", pager.stats());
    fetch(&scanned[370..]);
    let before = pager.stats();
    assert_eq!(before.reads, 1500, "{before:?}");
    fetch(hot);
    assert_eq!(pager.stats().reads, 1500, "{:?}", pager.stats());
}

#[test]
fn a_log_far_smaller_than_what_is_written_never_runs_over() {
    let disk = SimStorage::new();
    let opts = PagerOptions {
        log_bytes: 1 << 20,
        ..options()
    };
    let pager = Pager::create(Arc::new(disk.clone()), opts).unwrap();
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let pages: Vec<_> = (0..64)
        .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
        .collect();
    std::thread::scope(|s| {
        for t in 0..8 {
            let (pager, space, pages) = (&pager, &space, &pages);
            s.spawn(move || {
                for i in 0..100 {
                    let page = pages[t * 8 + i % 8];
                    let (mut m, h) = latch(pager, space, page);
                    let data = vec![i as u8; 12000];
                    m.apply(
                        h,
                        Op::Bytes {
                            offset: 200,
                            data: &data,
                        },
                    );
                    m.commit();
                }
            });
        }
    });
    assert!(pager.stats().checkpoints > 5, "{:?}", pager.stats());
    assert_eq!(problems(&pager, FileId::SHARED), []);
}

/// What says that spaces are gone waits for room in the log, like everything else that is appended.
#[test]
fn many_spaces_die_at_once_and_the_log_does_not_run_over() {
    let disk = SimStorage::new();
    let opts = PagerOptions {
        log_bytes: 1 << 20,
        ..options()
    };
    let pager = Pager::create(Arc::new(disk.clone()), opts).unwrap();
    let kept = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &kept, AllocKind::Root, 1);
    let first = 1 << 40;
    let dead: Vec<_> = (first..first + 200_000)
        .map(|id| pager.space(SpaceId(id), FileId::SHARED))
        .collect();
    // No page is written meanwhile, so no checkpoint moves.
    let writing = pager.core().writing.lock();
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        let dying = s.spawn(|| {
            pager.drop_spaces(&dead);
            done.store(true, Ordering::Relaxed);
        });
        while !dying.is_finished() && !pager.core().log_room.is_waited_for() {
            std::thread::yield_now();
        }
        assert!(!done.load(Ordering::Relaxed), "the log is large enough");
        drop(writing);
    });
    assert!(dead.iter().all(|s| s.is_dropped()));
    let end = set(&pager, &kept, page, 2);
    pager.log().sync_to(end).unwrap();
    let id = kept.id;
    drop((pager, kept, dead));
    disk.kill();
    let pager = reopen(&disk);
    let kept = pager.space(id, FileId::SHARED);
    assert_eq!(get(&pager, &kept, page), 2);
}

/// Writers need frames and room in the log, which nobody makes any more: they are told.
#[test]
fn writers_learn_that_the_page_cleaner_panicked() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Root, 1);
    disk.on_step(|kind, name| {
        assert!(kind != OpKind::Write || name != "doublewrite");
        Step::Go
    });
    let write = || {
        let _pin = pager.pin(&space, page)?;
        let mut m = pager.mtr(0)?;
        let h = m.try_latch(&space, page).unwrap();
        let data = &[1; 12000];
        m.apply(h, Op::Bytes { offset: 200, data });
        Ok::<_, Error>(m.commit())
    };
    let told = |e: Error| assert!(e.to_string().contains("the page cleaner panicked"), "{e}");
    // Ten times as much as the log takes.
    told((0..3500).find_map(|_| write().err()).unwrap());
    let more = || {
        let mut m = pager.mtr(1)?;
        m.alloc(&space, AllocKind::Extent, 0, INIT)?;
        Ok::<_, Error>(m.commit())
    };
    told((0..1000).find_map(|_| more().err()).unwrap());
    told(pager.close().unwrap_err());
}

/// As if everybody else in the process had taken descriptors: those of tables are closed, and cannot be opened again.
fn take_descriptors(disk: &SimStorage, pager: &Pager) {
    disk.set_handle_limit(Some(1));
    assert!(pager.core().sync_folder("tables").is_err());
}

#[test]
fn a_lack_of_descriptors_puts_writes_off() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let file = pager.new_file_id().unwrap();
    let space = pager.space(pager.new_space_id().unwrap(), file);
    let page = new_page(&pager, &space, AllocKind::Root, 1);
    let refused = |e: Error, what: &str| {
        assert!(e.to_string().contains(what), "{e}");
        assert_eq!(pager.log().stopped(), None);
        assert!(pager.log().checkpoint_lsn() < pager.log().end_lsn());
        disk.set_handle_limit(None);
        pager.flush().unwrap();
        assert_eq!(pager.log().checkpoint_lsn(), pager.log().end_lsn());
    };
    take_descriptors(&disk, &pager);
    refused(pager.flush().unwrap_err(), "sync folder 'tables'");
    set(&pager, &space, page, 2);
    take_descriptors(&disk, &pager);
    refused(pager.flush().unwrap_err(), &format!("open {}", file.name()));
    // A page of the file's bookkeeping alone.
    new_page(&pager, &space, AllocKind::Root, 3);
    set(&pager, &space, page, 4);
    take_descriptors(&disk, &pager);
    refused(pager.flush().unwrap_err(), &format!("open {}", file.name()));
    let id = space.id;
    pager.close().unwrap();
    drop((pager, space));
    disk.kill();
    let pager = reopen(&disk);
    assert_eq!(pager.recovery().groups, 0);
    assert_eq!(get(&pager, &pager.space(id, file), page), 4);
    assert_eq!(problems(&pager, file), []);
}

/// A file that cannot be opened holds the checkpoint. Whoever waits for room in the log is told so, transactions
/// can end, closing fails, and nothing is lost.
#[test]
fn a_log_that_stays_full_is_an_error_to_writers() {
    let disk = SimStorage::new();
    let opts = PagerOptions {
        log_bytes: 1 << 20,
        ..options()
    };
    let pager = Pager::create(Arc::new(disk.clone()), opts).unwrap();
    let file = pager.new_file_id().unwrap();
    let space = pager.space(pager.new_space_id().unwrap(), file);
    let other = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Root, 1);
    let busy = new_page(&pager, &other, AllocKind::Root, 1);
    pager.flush().unwrap();
    take_descriptors(&disk, &pager);
    disk.set_handle_limit(None);
    let name = file.name();
    disk.shut(Some(&name));
    let end = set(&pager, &space, page, 2);
    pager.log().sync_to(end).unwrap();
    let write = || {
        let _pin = pager.pin(&other, busy).unwrap();
        let mut m = pager.mtr_in(&other, 0)?;
        let h = m.try_latch(&other, busy).unwrap();
        let data = &[1; 12000];
        m.apply(h, Op::Bytes { offset: 200, data });
        Ok::<_, Error>(m.commit())
    };
    // Ten times as much as the log takes.
    let e = (0..1000).find_map(|_| write().err()).unwrap().to_string();
    assert!(e.starts_with("the redo log is full"), "{e}");
    assert!(e.contains(&name), "{e}");
    assert_eq!(pager.log().stopped(), None);
    let e = pager.flush().unwrap_err().to_string();
    assert!(e.contains(&name), "{e}");
    // What a transaction needs to end is kept free.
    for _ in 0..3 {
        patiently(write).unwrap();
    }
    assert!(write().is_err());
    disk.shut(None);
    pager.flush().unwrap();
    write().unwrap();
    let (id, disk2) = (space.id, disk.clone());
    drop((pager, space, other));
    disk2.kill();
    let pager = reopen(&disk2);
    assert_eq!(get(&pager, &pager.space(id, file), page), 2);
}

/// Whether a page in the pool has changes that are not in place.
fn is_dirty(pager: &Pager, space: &Space, page: PageNo) -> bool {
    let core = pager.core();
    let Lookup::Pinned(n) = core.lookup(space.id.0, page) else {
        return false;
    };
    let dirty = core.is_dirty(n);
    core.unpin(n);
    dirty
}

/// Most of the pool are changed pages of one file that cannot be opened: the oldest, and at the tail of the LRU list. Those of
/// others are written all the same, and give their frames to new ones.
#[test]
fn one_file_that_cannot_be_opened_is_passed_over() {
    const STUCK: u64 = 1200;
    let disk = SimStorage::new();
    let opts = PagerOptions {
        pool_bytes: 24 << 20,
        ..options()
    };
    let pager = Pager::create(Arc::new(disk.clone()), opts).unwrap();
    let file = pager.new_file_id().unwrap();
    let space = pager.space(pager.new_space_id().unwrap(), file);
    let other = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let stuck: Vec<_> = (0..STUCK)
        .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
        .collect();
    pager.flush().unwrap();
    take_descriptors(&disk, &pager);
    disk.set_handle_limit(None);
    disk.shut(Some(&file.name()));
    for p in &stuck {
        set(&pager, &space, *p, 4711);
    }
    let healthy = new_page(&pager, &other, AllocKind::Extent, 1);
    let (core, end) = (pager.core(), pager.log().end_lsn());
    // The cleaner may have it latched at the first attempt.
    let cleaned = (0..10).any(|_| {
        core.write_oldest(end, 100, &mut Failing::default())
            .unwrap();
        !is_dirty(&pager, &other, healthy)
    });
    assert!(cleaned);
    assert!(is_dirty(&pager, &space, stuck[0]));
    let why = core.no_frame();
    assert!(why.is_passing());
    assert!(why.to_string().contains(&file.name()), "{why}");
    let many: Vec<_> = (0..1000)
        .map(|i| new_page(&pager, &other, AllocKind::Extent, i))
        .collect();
    for (i, p) in many.iter().enumerate() {
        assert_eq!(get(&pager, &other, *p), i as u64);
    }
    assert!(stuck.iter().all(|p| is_dirty(&pager, &space, *p)));
    assert_eq!(pager.log().stopped(), None);
    for i in core.instances.iter() {
        i.check(&core.arena);
    }
    disk.shut(None);
    pager.flush().unwrap();
    assert!(!stuck.iter().any(|p| is_dirty(&pager, &space, *p)));
}

fn bytes_of(disk: &SimStorage, name: &str) -> Vec<u8> {
    let file = crate::io::Storage::open(disk, name, false).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// No crash takes what was durable before a page was written. A log that lacks it is damaged, and nothing is done to the rest.
#[test]
fn a_log_that_ends_before_what_pages_hold_is_refused() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Extent, 1);
    pager.log().tick().unwrap();
    let before = bytes_of(&disk, "redo");
    let end = set(&pager, &space, page, 2);
    pager
        .core()
        .write_oldest(end, 100, &mut Failing::default())
        .unwrap();
    drop((pager, space));
    disk.kill();
    let whole = disk.copy();
    disk.corrupt("redo", 0, &before);
    let damaged = disk.copy();
    let opened = Pager::open(Arc::new(disk.clone()), options());
    let Err(Error::Corrupt(why)) = opened.map(drop) else {
        panic!("it was opened");
    };
    assert!(why.starts_with("file redo is damaged"), "{why}");
    for (name, _) in damaged.files() {
        assert!(
            bytes_of(&disk, &name) == bytes_of(&damaged, &name),
            "{name}"
        );
    }
    assert_eq!(problems(&reopen(&whole), FileId::SHARED), []);
}
