//! Tests of the page layer as a whole.

mod crash;
mod discard;
mod failures;
mod populate;
mod room;
mod shrink;
mod threads;
mod unlogged;

use super::*;
use crate::hash_index::HashOptions;
use crate::io::SimStorage;
use crate::log::op::Op;
use crate::page::{PageNo, PageType, get_u64, page_space, page_type};
use crate::space::{AllocKind, Space, SpaceId};

const INIT: Op<'static> = Op::Init {
    kind: PageType::Undo,
    level: 0,
};

fn options() -> PagerOptions {
    PagerOptions {
        pool_bytes: MIN_POOL_BYTES,
        instances: 0,
        log_bytes: 4 << 20,
        flush_at_commit: FlushAtCommit::Sync,
        hash_index: HashOptions::default(),
    }
}

fn create(disk: &SimStorage) -> Arc<Pager> {
    Pager::create(Arc::new(disk.clone()), options()).unwrap()
}

fn reopen(disk: &SimStorage) -> Arc<Pager> {
    Pager::open(Arc::new(disk.clone()), options()).unwrap()
}

/// Allocates a page and writes a number to it.
fn new_page(pager: &Pager, space: &Arc<Space>, how: AllocKind, value: u64) -> PageNo {
    let mut m = pager.mtr_in(space, 1).unwrap();
    let h = m.alloc(space, how, 0, INIT).unwrap();
    put(&mut m, h, value);
    let no = m.page_no(h);
    m.commit();
    no
}

fn put(m: &mut Mtr<'_>, h: PageH, value: u64) {
    let data = value.to_le_bytes();
    m.apply(
        h,
        Op::Bytes {
            offset: 100,
            data: &data,
        },
    );
}

/// Latches a page exclusively, reading it in if need be.
fn latch<'a>(pager: &'a Pager, space: &Arc<Space>, page: PageNo) -> (Mtr<'a>, PageH) {
    loop {
        let _pin = pager.pin(space, page).unwrap();
        let mut m = pager.mtr_in(space, 0).unwrap();
        if let Some(h) = m.try_latch(space, page) {
            return (m, h);
        }
    }
}

fn set(pager: &Pager, space: &Arc<Space>, page: PageNo, value: u64) -> crate::page::Lsn {
    let (mut m, h) = latch(pager, space, page);
    put(&mut m, h, value);
    m.commit()
}

fn get(pager: &Pager, space: &Arc<Space>, page: PageNo) -> u64 {
    get_u64(&pager.fetch(space, page).unwrap(), 100)
}

fn free(pager: &Pager, space: &Arc<Space>, page: PageNo) {
    let (mut m, h) = latch(pager, space, page);
    m.free(h).unwrap();
    m.commit();
}

fn problems(pager: &Pager, file: FileId) -> Vec<CheckedPage> {
    let all = pager.check_file(file).unwrap();
    all.filter(|p| p.found.is_err()).collect()
}

#[test]
fn pages_come_back_after_close_and_after_kill() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let id = pager.new_space_id().unwrap();
    let space = pager.space(id, FileId::SHARED);
    let root = new_page(&pager, &space, AllocKind::Root, 1);
    let pages: Vec<_> = (0..100)
        .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
        .collect();
    assert_eq!(pager.space_pages(&space).unwrap(), 100);
    pager.close().unwrap();
    drop((pager, space));
    let pager = reopen(&disk);
    assert_eq!(pager.recovery().groups, 0);
    let space = pager.space(id, FileId::SHARED);
    assert_eq!(get(&pager, &space, root), 1);
    for (i, p) in pages.iter().enumerate() {
        assert_eq!(get(&pager, &space, *p), i as u64);
    }
    let end = set(&pager, &space, pages[7], 4711);
    pager.log().sync_to(end).unwrap();
    set(&pager, &space, pages[8], 4712);
    drop((pager, space));
    disk.restart(|| false);
    let pager = reopen(&disk);
    let space = pager.space(id, FileId::SHARED);
    assert_eq!(get(&pager, &space, pages[7]), 4711);
    assert_eq!(get(&pager, &space, pages[8]), 8);
    assert_eq!(problems(&pager, FileId::SHARED), []);
    assert_eq!(pager.space_pages(&space).unwrap(), 100);
}

#[test]
fn more_pages_than_frames() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let pages: Vec<_> = (0..2000)
        .map(|i| new_page(&pager, &space, AllocKind::Extent, i))
        .collect();
    for (i, p) in pages.iter().enumerate() {
        assert_eq!(get(&pager, &space, *p), i as u64);
    }
    let s = pager.stats();
    assert!(s.evicted > 1500 && s.reads > 1500, "{s:?}");
    assert_eq!(problems(&pager, FileId::SHARED), []);
}

#[test]
fn hints_find_the_page_and_notice_when_it_is_gone() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let page = new_page(&pager, &space, AllocKind::Root, 5);
    let hint = pager.fetch(&space, page).unwrap().hint();
    let hint = FrameHint::from_bits(hint.to_bits());
    assert_eq!(
        get_u64(&pager.try_fetch_hint(hint, &space, page).unwrap(), 100),
        5
    );
    assert!(pager.try_fetch_hint(hint, &space, page + 1).is_none());
    let other = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    assert!(pager.try_fetch_hint(hint, &other, page).is_none());
    let mut m = pager.mtr(0).unwrap();
    let h = m.try_latch_hint(hint, &space, page).unwrap();
    assert_eq!(m.page_no(h), page);
    m.commit();
    pager.drop_space(&space);
    assert!(pager.try_fetch_hint(hint, &space, page).is_none());
    assert!(pager.try_fetch(&space, page).is_none());
    assert!(pager.fetch(&space, page).is_err());
}

#[test]
fn a_freed_page_reads_as_free_and_is_used_again() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let space = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let a = new_page(&pager, &space, AllocKind::Extent, 1);
    let b = new_page(&pager, &space, AllocKind::Extent, 2);
    free(&pager, &space, a);
    assert!(pager.try_fetch(&space, a).is_none());
    assert_eq!(
        page_type(&pager.fetch(&space, a).unwrap()),
        Some(PageType::Free)
    );
    assert_eq!(new_page(&pager, &space, AllocKind::Extent, 3), a);
    assert_eq!(get(&pager, &space, a), 3);
    free(&pager, &space, a);
    free(&pager, &space, b);
    assert_eq!(pager.space_pages(&space).unwrap(), 0);
    // The whole extent is anybody's now.
    let other = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    assert_eq!(new_page(&pager, &other, AllocKind::Extent, 9), a);
    assert_eq!(
        page_type(&pager.fetch(&space, a).unwrap()),
        Some(PageType::Free)
    );
    assert_eq!(page_space(&pager.fetch(&other, a).unwrap()), other.id.0);
    assert_eq!(problems(&pager, FileId::SHARED), []);
}

#[test]
fn a_dropped_space_makes_room_for_another_at_the_same_place() {
    let disk = SimStorage::new();
    let pager = create(&disk);
    let old = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    let root = new_page(&pager, &old, AllocKind::Root, 1);
    let pages: Vec<_> = (0..50)
        .map(|i| new_page(&pager, &old, AllocKind::Extent, i))
        .collect();
    pager.drop_space(&old);
    pager.free_space(&old, root).unwrap();
    let new = pager.space(pager.new_space_id().unwrap(), FileId::SHARED);
    assert_eq!(new_page(&pager, &new, AllocKind::Root, 7), root);
    let again: Vec<_> = (0..50)
        .map(|i| new_page(&pager, &new, AllocKind::Extent, 1000 + i))
        .collect();
    assert_eq!(
        again.iter().collect::<std::collections::BTreeSet<_>>(),
        pages.iter().collect()
    );
    pager.flush().unwrap();
    assert!(pager.stats().discarded > 0);
    assert_eq!(problems(&pager, FileId::SHARED), []);
    drop((pager, old));
    disk.restart(|| false);
    let pager = reopen(&disk);
    let new = pager.space(new.id, FileId::SHARED);
    assert_eq!(get(&pager, &new, root), 7);
    for (i, p) in again.iter().enumerate() {
        assert_eq!(get(&pager, &new, *p), 1000 + i as u64);
    }
}

#[test]
fn ids_and_counters_never_repeat() {
    let disk = SimStorage::new();
    let mut last = (0, 0, 0);
    for round in 0..4 {
        let pager = if round == 0 {
            create(&disk)
        } else {
            reopen(&disk)
        };
        for _ in 0..1000 {
            let now = (
                pager.new_space_id().unwrap().0,
                pager.new_file_id().unwrap().0,
                pager.counter(3).fetch_add(100).unwrap(),
            );
            assert!(now.0 > last.0 && now.1 > last.1 && now.2 >= last.2 + 100 || last.2 == 0);
            assert!(now.0 >= SpaceId::FIRST_USER && now.1 > FileId::UNDO.0);
            last = now;
        }
        drop(pager);
        disk.restart(|| false);
    }
}

/// A small deterministic generator.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
