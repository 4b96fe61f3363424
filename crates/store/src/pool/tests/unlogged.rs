//! Pages of temporary tables: nothing is logged, nothing is held up, nothing is left.

use super::*;
use crate::io::sim::{OpKind, Step};
use crate::page::PAGE_SIZE;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Waits for something that the cleaner does.
fn eventually(what: &str, mut f: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !f() {
        assert!(Instant::now() < end, "{what} does not come about");
        std::thread::yield_now();
    }
}

fn file_len(disk: &SimStorage, name: &str) -> Option<u64> {
    let files = disk.files();
    files.iter().find(|f| f.0 == name).map(|f| f.1)
}

#[test]
fn nothing_is_logged_or_synced_and_a_checkpoint_passes_by() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    // The counters' marks and the file's header are settled.
    let logged = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    new_page(&pager, &logged, AllocKind::Root, 1);
    pager.flush().unwrap();
    let before = pager.stats();
    let syncs = Arc::new(AtomicUsize::new(0));
    let seen = syncs.clone();
    disk.on_step(move |kind, name| {
        if name == "temp" && kind == OpKind::Sync {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        Step::Go
    });
    let space = pager.new_temporary_space();
    let root = new_page(&pager, &space, AllocKind::Root, 7);
    let pages: Vec<_> = (0..40)
        .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
        .collect();
    for (p, v) in pages.iter().zip(100..) {
        set(&pager, &space, *p, v);
    }
    free(&pager, &space, pages[3]);
    assert_eq!(get(&pager, &space, root), 7);
    assert_eq!(get(&pager, &space, pages[5]), 105);
    let after = pager.stats();
    assert_eq!(after.lsn, before.lsn, "something was logged");
    assert_eq!(after.dirty, 0, "an unlogged page is in a flush list");
    // A checkpoint at the log's end is possible though they are dirty.
    set(&pager, &logged, root_of(&pager, &logged), 2);
    pager.flush().unwrap();
    let flushed = pager.stats();
    assert_eq!(flushed.checkpoint_lsn, flushed.lsn);
    assert_eq!(pager.unlogged_stats().written, 0);
    pager.drop_temporary_space(&space, root);
    pager.drop_temporary_space(&space, root);
    assert_eq!(pager.stats().lsn, flushed.lsn);
    assert_eq!(pager.unlogged_stats().used_bytes, 0);
    eventually("an empty file", || pager.unlogged_stats().file_bytes == 0);
    assert_eq!(file_len(&disk, "temp"), Some(0));
    assert!(pager.fetch(&space, pages[5]).is_err());
    assert_eq!(syncs.load(Ordering::Relaxed), 0);
    pager.close().unwrap();
    assert_eq!(file_len(&disk, "temp"), None);
}

/// The one page of a space.
fn root_of(pager: &Pager, space: &Space) -> PageNo {
    let used = pager.used_pages(FileId::SHARED).unwrap();
    let mut pages = used.into_iter().map(|(page, _)| page);
    pages
        .find(|p| {
            let read = pager.fetch(&pager.space(space.id, space.file), *p);
            read.is_ok_and(|r| page_space(&r) == space.id.0)
        })
        .unwrap()
}

#[test]
fn a_page_taken_again_has_another_stamp() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.new_temporary_space();
    let stamp = |p| crate::page::page_lsn(&pager.fetch(&space, p).unwrap());
    let page = new_page(&pager, &space, AllocKind::Extent, 1);
    let first = stamp(page);
    set(&pager, &space, page, 1);
    let second = stamp(page);
    free(&pager, &space, page);
    assert_eq!(new_page(&pager, &space, AllocKind::Extent, 1), page);
    assert!(first < second && second < stamp(page));
}

#[test]
#[should_panic(expected = "mixes logged and unlogged pages")]
fn a_mini_transaction_is_one_or_the_other() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let logged = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &logged, AllocKind::Root, 1);
    let space = pager.new_temporary_space();
    new_page(&pager, &space, AllocKind::Root, 1);
    let _pin = pager.pin(&logged, page).unwrap();
    let mut m = pager.mtr_in(&space, 1).unwrap();
    m.try_latch(&logged, page);
}

#[test]
fn more_pages_than_the_pool_has_come_back_from_the_file() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let frames = (MIN_POOL_BYTES / PAGE_SIZE) as u64;
    let spaces = [pager.new_temporary_space(), pager.new_temporary_space()];
    let logged = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let mut pages = Vec::new();
    let mut others = Vec::new();
    for i in 0..frames * 3 {
        let space = &spaces[(i % 2) as usize];
        pages.push(new_page(&pager, space, AllocKind::Extent, i));
        if i % 10 == 0 {
            others.push((new_page(&pager, &logged, AllocKind::Extent, i), i));
        }
    }
    assert!(pager.unlogged_stats().written > frames);
    for round in 0..2 {
        for (i, page) in (0..).zip(&pages) {
            let space = &spaces[(i % 2) as usize];
            let want = if round == 1 && i % 3 == 0 { i + 9 } else { i };
            assert_eq!(get(&pager, space, *page), want);
            if round == 0 && i % 3 == 0 {
                set(&pager, space, *page, i + 9);
            }
        }
    }
    for (page, value) in &others {
        assert_eq!(get(&pager, &logged, *page), *value);
    }
    // One of them goes; the other stays as it is, and what is free at the end is cut.
    let full = pager.unlogged_stats();
    pager.drop_temporary_space(&spaces[0], 0);
    assert!(pager.unlogged_stats().used_bytes < full.used_bytes * 3 / 4);
    assert_eq!(get(&pager, &spaces[1], pages[1]), 1);
    pager.drop_temporary_space(&spaces[1], 0);
    eventually("an empty file", || pager.unlogged_stats().file_bytes == 0);
    // The file grows anew.
    let space = pager.new_temporary_space();
    let page = new_page(&pager, &space, AllocKind::Root, 77);
    assert_eq!(get(&pager, &space, page), 77);
    assert_eq!(problems(&pager, FileId::SHARED), []);
}

#[test]
fn a_write_that_fails_costs_the_table_and_nobody_else() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let frames = (MIN_POOL_BYTES / PAGE_SIZE) as u64;
    let logged = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let mine = new_page(&pager, &logged, AllocKind::Root, 5);
    let failing = Arc::new(AtomicBool::new(true));
    let flag = failing.clone();
    disk.on_step(move |kind, name| {
        if name == "temp" && kind == OpKind::Write && flag.load(Ordering::Relaxed) {
            return Step::Full;
        }
        Step::Go
    });
    let space = pager.new_temporary_space();
    let page = new_page(&pager, &space, AllocKind::Extent, 1);
    let mut error = None;
    for i in 0..frames * 2 {
        let Ok(mut m) = pager.mtr_in(&space, 1) else {
            break;
        };
        match m.alloc(&space, AllocKind::Extent, 0, INIT) {
            Ok(h) => put(&mut m, h, i),
            Err(e) => {
                error = Some(e);
                break;
            }
        }
        m.commit();
        if let Err(e) = pager.fetch(&space, page) {
            error = Some(e);
            break;
        }
    }
    let error = error.expect("its pages could not be written").to_string();
    assert!(error.contains("temporary table is lost"), "{error}");
    // The engine goes on.
    failing.store(false, Ordering::Relaxed);
    assert!(pager.log().stopped().is_none());
    set(&pager, &logged, mine, 6);
    pager.flush().unwrap();
    pager.drop_temporary_space(&space, 0);
    assert_eq!(pager.unlogged_stats().used_bytes, 0);
    let space = pager.new_temporary_space();
    for i in 0..frames * 2 {
        new_page(&pager, &space, AllocKind::Extent, i);
    }
    assert_eq!(get(&pager, &logged, mine), 6);
}

#[test]
fn a_crash_leaves_nothing_of_them() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let id = pager.new_space_id().unwrap();
    let logged = pager.space(id, FileId::SHARED);
    let mine = new_page(&pager, &logged, AllocKind::Root, 5);
    let space = pager.new_temporary_space();
    let frames = (MIN_POOL_BYTES / PAGE_SIZE) as u64;
    for i in 0..frames * 2 {
        new_page(&pager, &space, AllocKind::Extent, i);
    }
    let end = set(&pager, &logged, mine, 6);
    pager.log().sync_to(end).unwrap();
    assert!(file_len(&disk, "temp").unwrap() > 0);
    drop((pager, logged, space));
    disk.kill();
    let pager = reopen(&disk);
    assert_eq!(file_len(&disk, "temp"), None);
    assert_eq!(pager.recovery().broken, []);
    let logged = pager.space(id, FileId::SHARED);
    assert_eq!(get(&pager, &logged, mine), 6);
    // Ids begin anew, and the file with them.
    let space = pager.new_temporary_space();
    let page = new_page(&pager, &space, AllocKind::Extent, 3);
    assert_eq!(get(&pager, &space, page), 3);
}
