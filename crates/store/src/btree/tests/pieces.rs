//! Fill, merging, bulk building, estimates, errors.

use super::*;
use crate::error::Error;
use crate::page::slotted::CAPACITY;

fn number(n: u64) -> [u8; 8] {
    (n | 1 << 63).to_be_bytes()
}

/// Share of the leaves' bytes in use, percent.
fn fill(c: &Checked) -> u64 {
    c.leaf_bytes * 100 / (c.leaves * CAPACITY as u64)
}

#[test]
fn ascending_and_descending_inserts_fill_pages() {
    let pager = new_pager();
    let up = new_tree(&pager, 2000);
    let down = new_tree(&pager, 2001);
    let random = new_tree(&pager, 2002);
    let mut rng = Rng::new(1);
    for n in 0..10_000 {
        put(&up, &number(n), &[7; 100]);
        put(&down, &number(1_000_000 - n), &[7; 100]);
        put(&random, &number(rng.next() >> 1), &[7; 100]);
    }
    let (up, down, random) = (checked(&up), checked(&down), checked(&random));
    assert!(fill(&up) > 97, "{up:?}");
    assert!(fill(&down) > 97, "{down:?}");
    assert!((60..80).contains(&fill(&random)), "{random:?}");
    assert_eq!(up.depth, 2);
}

#[test]
fn groups_that_ascend_by_turns_fill_pages() {
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let key = |group: u64, n: u64| [group.to_be_bytes(), number(n)].concat();
    for n in 0..2000 {
        for group in 0..20 {
            put(&tree, &key(group, n), &[7; 100]);
        }
    }
    assert!(fill(&checked(&tree)) > 83, "{:?}", checked(&tree));
    // A group at a time is filled in any order: as ever.
    let mixed = new_tree(&pager, 2001);
    let mut rng = Rng::new(3);
    for group in 0..60 {
        for _ in 0..400 {
            put(&mixed, &key(group, rng.next() >> 20), &[7; 100]);
        }
    }
    assert!(fill(&checked(&mixed)) > 55, "{:?}", checked(&mixed));
}

/// As `t1, t10, t100, t2` are made in the order of their numbers: in the middle of what is there, and past some of it.
#[test]
fn numbered_names_by_turns_fill_pages() {
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    for n in 0..1000 {
        for group in 0..20 {
            put(&tree, format!("s{group}.t{n}\0").as_bytes(), &[7; 100]);
        }
    }
    assert!(fill(&checked(&tree)) > 70, "{:?}", checked(&tree));
}

#[test]
fn nearly_ascending_inserts_fill_pages() {
    // As of several sessions that take numbers in order and insert them a little out of order.
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let mut rng = Rng::new(2);
    let mut window: Vec<u64> = (0..4).collect();
    for n in 4..10_000 {
        let at = rng.below(window.len());
        put(&tree, &number(window[at]), &[7; 100]);
        window[at] = n;
    }
    assert!(fill(&checked(&tree)) > 80, "{:?}", checked(&tree));
}

/// The first leaf of two is full, and a long entry behind all of it goes into the next one, and with it what is behind that. The first leaf stays
/// as it was, and so a hint of there would be good.
#[test]
fn a_hint_is_refused_where_the_next_leaf_has_taken_over() {
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let end = 100;
    for n in 0..end {
        put(&tree, &number(n << 32), &[7; 250]);
    }
    let hint = |key: &[u8]| tree.get_with_hint(key, |_| ()).unwrap().1;
    let page = |n: u64| hint(&number(n << 32)).unwrap().page;
    let last = (0..end).rev().find(|n| page(*n) != page(end - 1)).unwrap();
    let (long, short) = (number((last << 32) + 1), number((last << 32) + 2));
    let before = hint(&short);
    assert_eq!(before.unwrap().page, page(last));
    put(&tree, &long, &[7; 3000]);
    assert_eq!(hint(&number(last << 32)).unwrap().lsn, before.unwrap().lsn);
    assert_eq!(hint(&short).unwrap().page, page(end - 1));
    let insert = |e: &mut LeafEdit<'_, '_>| {
        e.insert(&[1]);
        Ok(())
    };
    tree.edit_at(before, &short, 1, insert).unwrap();
    assert_eq!(tree.get(&short, <[u8]>::to_vec).unwrap(), Some(vec![1]));
    assert_eq!(checked(&tree).records, end + 2);
}

#[test]
fn a_queue_gives_its_pages_back() {
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let mut most = 0;
    for n in 0..20_000 {
        put(&tree, &number(n), &[7; 100]);
        if n >= 500 {
            assert!(delete(&tree, &number(n - 500)));
        }
        if n % 5000 == 4999 {
            let c = checked(&tree);
            assert_eq!(c.records, 500);
            most = most.max(c.leaves + c.inner_pages);
        }
    }
    assert!(most <= 10, "{most} pages");
}

#[test]
fn emptied_inner_pages_go_too() {
    // Long keys make a high tree of few records.
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let key = |n: u32| [&[b'k'; 3000][..], &n.to_be_bytes()].concat();
    for n in 0..600 {
        put(&tree, &key(n), b"v");
    }
    assert!(checked(&tree).depth >= 4);
    // A hole from the middle outwards.
    for n in (100..300).rev().chain(300..500) {
        assert!(delete(&tree, &key(n)));
        if n % 50 == 0 {
            checked(&tree);
        }
    }
    let c = checked(&tree);
    assert_eq!(c.records, 200);
    assert!(c.leaves <= 110, "{c:?}");
    for n in (0..100).chain(500..600) {
        assert!(get(&tree, &key(n)).is_some());
    }
}

#[test]
fn the_root_keeps_its_number_field() {
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let root = tree.root();
    let mut mtr = pager.mtr(0).unwrap();
    let h = mtr.try_latch(tree.space(), root).unwrap();
    let data = 42u64.to_le_bytes();
    mtr.apply(
        h,
        crate::log::op::Op::Bytes {
            offset: slotted::NUMBER_AT as u16,
            data: &data,
        },
    );
    mtr.commit();
    for n in 0..3000 {
        put(&tree, &number(n), &[7; 200]);
    }
    assert!(checked(&tree).depth > 1);
    assert_eq!(
        slotted::number(&pager.fetch(tree.space(), root).unwrap()),
        42
    );
    for n in 0..3000 {
        delete(&tree, &number(n));
    }
    assert_eq!(checked(&tree).depth, 1);
    assert_eq!(
        slotted::number(&pager.fetch(tree.space(), root).unwrap()),
        42
    );
    assert_eq!(tree.root(), root);
}

#[test]
fn an_empty_tree_reads_as_empty() {
    let pager = new_pager();
    let tree = Tree::new(&pager, pager.space(SpaceId(2000), FileId::SHARED), 0);
    assert_eq!(get(&tree, b"k"), None);
    assert!(scan(&tree, Dir::Backward).is_empty());
    assert_eq!(tree.estimate_total().unwrap(), 0);
    assert_eq!(tree.check(), Checked::default());
    assert!(matches!(
        tree.edit(b"k", 0, |_| Ok(())),
        Err(Error::Invalid(_))
    ));
}

#[test]
fn oversize_is_refused_and_a_failed_edit_changes_nothing() {
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let long = vec![1; MAX_KEY + 1];
    assert!(matches!(
        tree.edit(&long, 0, |_| Ok(())),
        Err(Error::KeyTooLong(_))
    ));
    let too_much = tree.edit(&long[1..], MAX_ENTRY - MAX_KEY + 1, |_| Ok(()));
    assert!(matches!(too_much, Err(Error::RowTooLarge(_))));
    let failed: Result<()> = tree.edit(b"k", 10, |_| Err(Error::Interrupted));
    assert!(matches!(failed, Err(Error::Interrupted)));
    put(&tree, b"k", b"v");
    assert_eq!(get(&tree, b"k").unwrap(), b"v");
}

#[test]
fn bulk_building_packs_pages() {
    let pager = new_pager();
    for (id, n) in [0u64, 1, 100, 150, 20_000, 60_000].into_iter().enumerate() {
        let space = pager.space(SpaceId(3000 + id as u64), FileId::SHARED);
        let records = (0..n).map(|i| (number(i * 2).to_vec(), vec![i as u8; 60]));
        let root = Tree::bulk(&pager, &space, &mut FromIter::new(records)).unwrap();
        assert_eq!(root == 0, n == 0);
        let tree = Tree::new(&pager, space, root);
        let c = checked(&tree);
        assert_eq!(c.records, n);
        if n >= 20_000 {
            assert!((90..=95).contains(&fill(&c)), "{c:?}");
        }
        if n > 0 && n <= 20_000 {
            for i in 0..n {
                assert_eq!(get(&tree, &number(i * 2)), Some(vec![i as u8; 60]));
                put(&tree, &number(i * 2 + 1), &[1; 60]);
            }
            assert_eq!(checked(&tree).records, 2 * n);
        }
    }
}

#[test]
fn bulk_building_takes_the_largest_entries_and_refuses_disorder() {
    let pager = new_pager();
    let space = pager.space(SpaceId(3000), FileId::SHARED);
    let key = |n: u32| [&[b'k'; MAX_KEY - 4][..], &n.to_be_bytes()].concat();
    let records = (0..200).map(|n| (key(n), vec![1; MAX_ENTRY - MAX_KEY]));
    let root = Tree::bulk(&pager, &space, &mut FromIter::new(records)).unwrap();
    let tree = Tree::new(&pager, space, root);
    assert_eq!(checked(&tree).records, 200);
    let space = pager.space(SpaceId(3001), FileId::SHARED);
    let twice = [7, 7].map(|n| (key(n), vec![]));
    let built = Tree::bulk(&pager, &space, &mut FromIter::new(twice.into_iter()));
    assert!(matches!(built, Err(Error::Invalid(_))));
}

#[test]
fn estimates_are_near() {
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    let mut rng = Rng::new(5);
    let mut keys: Vec<u64> = (0..30_000).map(|_| rng.next() >> 1).collect();
    for k in &keys {
        put(&tree, &number(*k), &[3; 50]);
    }
    keys.sort_unstable();
    let near = |estimate: u64, truth: u64| {
        let slack = 150.0 + truth as f64 * 0.4;
        (estimate as f64 - truth as f64).abs() <= slack
    };
    let total = tree.estimate_total().unwrap();
    assert!(near(total, 30_000), "{total}");
    let mut error = 0.0;
    for _ in 0..200 {
        let (a, b) = (rng.below(30_000), rng.below(30_000));
        let (a, b) = (a.min(b), a.max(b));
        let (low, high) = (number(keys[a]), number(keys[b]));
        let n = tree
            .estimate(Bound::Included(&low), Bound::Included(&high))
            .unwrap();
        let truth = (b - a) as u64 + 1;
        assert!(near(n, truth), "{n} for {truth}");
        error += n.abs_diff(truth) as f64 / 200.0;
        let none = tree
            .estimate(Bound::Excluded(&high), Bound::Excluded(&low))
            .unwrap();
        assert!(none <= 1);
    }
    // Of ranges of 10,000 entries on average.
    assert!(error < 1200.0, "{error}");
    let one = number(keys[77]);
    assert_eq!(
        tree.estimate(Bound::Included(&one), Bound::Included(&one))
            .unwrap(),
        1
    );
    let all = tree.estimate(Bound::Unbounded, Bound::Unbounded).unwrap();
    assert!(near(all, 30_000), "{all}");
}

#[test]
fn check_notices_damage() {
    use crate::log::op::Op;
    let pager = new_pager();
    let tree = new_tree(&pager, 2000);
    for n in 0..2000 {
        put(&tree, &number(n), &[7; 100]);
    }
    checked(&tree);
    let leaf = |n: u64| {
        let leaf = tree
            .leaf(|page| slotted::search_child(page, &number(n)))
            .unwrap();
        (
            crate::page::page_no(&leaf),
            slotted::search(&leaf, &number(n)).unwrap(),
        )
    };
    let (page, slot) = leaf(1000);
    let damage = |page: PageNo, op: Op<'_>| {
        let mut mtr = pager.mtr(0).unwrap();
        let h = mtr.try_latch(tree.space(), page).unwrap();
        mtr.apply(h, op);
        mtr.commit();
    };
    // A key moved to where a descent does not find it.
    damage(page, Op::Remove { slot });
    let key = number(999_999);
    let n = slotted::count(&pager.fetch(tree.space(), page).unwrap());
    damage(
        page,
        Op::Insert {
            slot: n,
            key: &key,
            value: b"",
        },
    );
    let problems = tree.check().problems;
    assert!(
        problems.iter().any(|p| p.contains("separator after")),
        "{problems:?}"
    );
    damage(page, Op::Remove { slot: n });
    checked(&tree);
    // A broken link.
    damage(
        page,
        Op::Bytes {
            offset: slotted::LEFT_AT as u16,
            data: &[9, 9, 0, 0],
        },
    );
    assert_eq!(tree.check().problems.len(), 1);
}

/// What trees remember of frames is in an account of the pool's: those that come late get none and work all the same, and a tree that goes
/// gives its own back.
#[test]
fn memory_for_hints_is_bounded() {
    let pager = Pager::create(
        Arc::new(SimStorage::new()),
        super::options(crate::pool::MIN_POOL_BYTES),
    )
    .unwrap();
    let mut trees = Vec::new();
    for id in 0..12 {
        let tree = new_tree(&pager, 1000 + id);
        // Four keys of this length fill a page above leaves: soon there are three levels.
        let key = |i: u32| {
            let mut key = vec![7; MAX_KEY - 4];
            key.extend_from_slice(&i.to_be_bytes());
            key
        };
        for i in 0..40 {
            put(&tree, &key(i), b"value");
        }
        let found = tree.get(&key(3), |v| v.to_vec()).unwrap();
        assert_eq!(found.unwrap(), b"value");
        trees.push(tree);
    }
    let has = |tree: &Tree| tree.frames.iter().any(|f| f.get().is_some());
    assert!(has(&trees[0]) && !has(&trees[11]));
    assert!(!pager.take_hint_bytes(256 << 10));
    trees.clear();
    // A mebibyte, to the last byte.
    assert!(pager.take_hint_bytes(1 << 20));
    assert!(!pager.take_hint_bytes(1));
}
