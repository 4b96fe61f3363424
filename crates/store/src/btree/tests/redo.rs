//! What the log says makes the same pages, and the same tree.

use super::*;
use crate::log::Log;
use crate::log::op::decode;
use crate::page::{PAGE_HEADER, PAGE_SIZE, PageType, get_u16};
use std::collections::BTreeMap;

/// Edits of every kind, among them some that split, merge and free.
fn work(tree: &Tree, seed: u64, steps: usize) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rng = Rng::new(seed);
    let mut model = BTreeMap::new();
    for n in 0..steps {
        let key = format!("key {}", rng.below(1500)).into_bytes();
        let grows = n < steps * 2 / 3;
        if rng.below(10) < if grows { 8 } else { 1 } {
            let len = rng.below(700);
            let value = rng.bytes(len);
            put(tree, &key, &value);
            model.insert(key, value);
        } else {
            assert_eq!(delete(tree, &key), model.remove(&key).is_some());
        }
    }
    model
}

#[test]
fn applying_the_log_to_nothing_gives_the_same_bytes() {
    let disk = SimStorage::new();
    let pager = Pager::create(Arc::new(disk.clone()), options(64 << 20)).unwrap();
    let tree = new_tree(&pager, 2000);
    work(&tree, 1, 9000);
    let records = (0..6000u32).map(|n| (n.to_be_bytes().to_vec(), vec![7; 90]));
    let packed = pager.space(SpaceId(2001), FileId::SHARED);
    Tree::bulk(&pager, &packed, &mut FromIter::new(records)).unwrap();
    pager.log().sync_to(pager.log().end_lsn()).unwrap();

    let (log, found) = Log::open(&disk, FlushAtCommit::EverySecond).unwrap();
    let mut pages: BTreeMap<(u64, PageNo), Vec<u8>> = BTreeMap::new();
    let visit = &mut |_, _, payload: &[u8]| -> Result<()> {
        for op in decode(payload) {
            let (target, op) = op?;
            let page = pages.entry((target.space.0, target.page));
            op.apply(target, page.or_insert_with(|| vec![0; PAGE_SIZE]));
        }
        Ok(())
    };
    log.scan(found.checkpoint, visit).unwrap();

    let mut compared = 0;
    for ((space, no), page) in pages {
        let space = match space {
            2000 => tree.space(),
            2001 => &packed,
            _ => continue,
        };
        let held = pager.fetch(space, no).unwrap();
        if get_u16(&page, 24) == PageType::Free as u16 {
            continue;
        }
        // The header's checksum and LSN are not the operations' doing.
        assert!(held[16..] == page[16..], "page {no}");
        assert!(held[PAGE_HEADER..].iter().any(|b| *b != 0));
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn the_tree_survives_a_crash() {
    for seed in 0..4 {
        let disk = SimStorage::new();
        let pager = Pager::create(Arc::new(disk.clone()), options(64 << 20)).unwrap();
        let tree = new_tree(&pager, 2000);
        let model = work(&tree, seed, 2000 + 700 * seed as usize);
        let root = tree.root();
        pager.log().sync_to(pager.log().end_lsn()).unwrap();
        let mut rng = Rng::new(seed);
        disk.cut();
        drop((tree, pager));
        disk.restart(|| rng.below(2) == 0);

        let pager = Pager::open(Arc::new(disk), options(64 << 20)).unwrap();
        let space = pager.space(SpaceId(2000), FileId::SHARED);
        let tree = Tree::new(&pager, space, root);
        assert_eq!(checked(&tree).records, model.len() as u64);
        assert!(scan(&tree, Dir::Forward).into_iter().eq(model));
        put(&tree, b"after", b"it");
    }
}

#[test]
fn a_crash_between_any_two_mini_transactions_leaves_a_tree_in_order() {
    // The log is cut at every group's end: whatever the last edit split or merged is there or not.
    let disk = SimStorage::new();
    let pager = Pager::create(Arc::new(disk.clone()), options(64 << 20)).unwrap();
    let tree = new_tree(&pager, 2000);
    let root = tree.root();
    let key = |n: u32| [&[b'k'; 2000][..], &n.to_be_bytes()].concat();
    for n in 0..60 {
        put(&tree, &key(n * 7 % 60), &[1; 900]);
    }
    for n in 0..60 {
        assert!(delete(&tree, &key(n * 11 % 60)));
    }
    pager.log().sync_to(pager.log().end_lsn()).unwrap();

    let (log, found) = Log::open(&disk, FlushAtCommit::EverySecond).unwrap();
    let mut groups: Vec<Vec<u8>> = Vec::new();
    let visit = &mut |_, _, payload: &[u8]| -> Result<()> {
        groups.push(payload.to_vec());
        Ok(())
    };
    log.scan(found.checkpoint, visit).unwrap();
    assert!(groups.len() > 150);

    let mut pages: BTreeMap<PageNo, Vec<u8>> = BTreeMap::new();
    let (mut depths, mut seen) = (Vec::new(), 0);
    for group in groups {
        for op in decode(&group) {
            let (target, op) = op.unwrap();
            if target.space.0 == 2000 {
                let page = pages.entry(target.page);
                op.apply(target, page.or_insert_with(|| vec![0; PAGE_SIZE]));
            }
        }
        if let Some(page) = pages.get(&root) {
            depths.push(slotted::level(page));
            let mut leaves = Vec::new();
            let n = walk(&pages, root, &[], None, &mut leaves);
            for pair in leaves.windows(2) {
                assert_eq!(slotted::right(&pages[&pair[0]]), pair[1]);
                assert_eq!(slotted::left(&pages[&pair[1]]), pair[0]);
            }
            seen = seen.max(n);
        }
    }
    assert_eq!(
        (seen, depths.iter().max(), depths.last()),
        (60, Some(&2), Some(&0))
    );
}

/// Checks a subtree of pages at hand; returns its entries, and its leaves in order.
fn walk(
    pages: &BTreeMap<PageNo, Vec<u8>>,
    no: PageNo,
    low: &[u8],
    high: Option<&[u8]>,
    leaves: &mut Vec<PageNo>,
) -> usize {
    let page = &pages[&no][..];
    slotted::check(page).unwrap();
    let n = slotted::count(page);
    let level = slotted::level(page);
    let keys = (u16::from(level > 0)..n).map(|slot| slotted::key(page, slot));
    for key in keys {
        assert!(key >= low && high.is_none_or(|high| key < high));
    }
    if level == 0 {
        leaves.push(no);
        return usize::from(n);
    }
    let mut entries = 0;
    for slot in 0..n {
        let low = if slot == 0 {
            low
        } else {
            slotted::key(page, slot)
        };
        let high = if slot + 1 < n {
            Some(slotted::key(page, slot + 1))
        } else {
            high
        };
        let child = slotted::child(page, slot);
        assert_eq!(slotted::level(&pages[&child]) + 1, level);
        entries += walk(pages, child, low, high, leaves);
    }
    entries
}
