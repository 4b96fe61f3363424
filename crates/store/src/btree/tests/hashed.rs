//! Trees searched through the adaptive hash index; the model and stress tests use it throughout as well.

use super::*;
use crate::hash_index::KeyPart;
use crate::pool::MIN_POOL_BYTES;

fn number(n: u64) -> [u8; 8] {
    (n | 1 << 63).to_be_bytes()
}

fn filled(pager: &Arc<Pager>, id: u64, rows: u64) -> Tree {
    let tree = new_tree(pager, id);
    for n in 0..rows {
        put(&tree, &number(n), &n.to_le_bytes());
    }
    tree
}

/// Whether it is all but a few: now and then two keys cannot be told apart by their entries and take turns.
fn nearly(all: u64, of: u64) -> bool {
    (all - all / 200..=all).contains(&of)
}

/// How many of the lookups of these keys the index served; all must find their record.
fn served(tree: &Tree, keys: impl Iterator<Item = u64>) -> u64 {
    let before = tree.pager.stats().hash_searches;
    for n in keys {
        assert_eq!(get(tree, &number(n)), Some(n.to_le_bytes().to_vec()));
    }
    tree.pager.stats().hash_searches - before
}

#[test]
fn lookups_use_it_from_the_second_on() {
    let pager = new_pager();
    let tree = filled(&pager, 3000, 5000);
    assert_eq!(served(&tree, 0..1), 0);
    assert_eq!(served(&tree, 0..1), 1);
    served(&tree, 0..5000);
    let searches = pager.stats().tree_searches;
    let by_hash = served(&tree, 0..5000);
    assert!(nearly(5000, by_hash), "{by_hash}");
    assert_eq!(pager.stats().tree_searches, searches + 5000 - by_hash);
    pager.hash_index().set_on(false);
    assert_eq!(pager.hash_index().entries(), 0);
    let searches = pager.stats().tree_searches;
    assert_eq!(served(&tree, 0..5000), 0);
    assert_eq!(pager.stats().tree_searches, searches + 5000);
}

#[test]
fn edits_of_known_keys_use_it() {
    let pager = new_pager();
    let tree = filled(&pager, 3007, 2000);
    served(&tree, 0..2000);
    let before = pager.stats();
    for n in 0..2000u64 {
        let edit = tree.edit_known(&number(n), 0, |e| {
            assert_eq!(e.value(), Some(&n.to_le_bytes()[..]));
            e.patch(0, &(n + 1).to_le_bytes());
            Ok(())
        });
        edit.unwrap();
    }
    let by_hash = pager.stats().hash_searches - before.hash_searches;
    assert!(nearly(2000, by_hash), "{by_hash}");
    // Growth beyond what fits splits, as ever.
    for n in 0..2000 {
        put(&tree, &number(n), &[n as u8; 301]);
    }
    for n in 0..2000 {
        assert_eq!(get(&tree, &number(n)), Some(vec![n as u8; 301]));
    }
    checked(&tree);
}

#[test]
fn it_survives_splits_merges_and_removals() {
    let pager = new_pager();
    let tree = filled(&pager, 3001, 2000);
    served(&tree, 0..2000);
    // Leaves split, records move within and between them.
    for n in 0..2000 {
        let mut key = number(n).to_vec();
        key.push(1);
        put(&tree, &key, &[7; 300]);
    }
    served(&tree, 0..2000);
    assert!(nearly(2000, served(&tree, 0..2000)));
    for n in 0..2000 {
        let mut key = number(n).to_vec();
        key.push(1);
        assert!(delete(&tree, &key));
        assert_eq!(get(&tree, &key), None);
    }
    served(&tree, 0..2000);
    assert!(nearly(2000, served(&tree, 0..2000)));
    // What the index may say of a key that is gone: nothing, or that it is not there.
    for n in 0..2000 {
        assert!(delete(&tree, &number(n)));
    }
    for n in 0..2000 {
        assert_eq!(get(&tree, &number(n)), None);
    }
    checked(&tree);
}

#[test]
fn pages_that_come_and_go_are_found_again() {
    let disk = Arc::new(SimStorage::new());
    let pager = Pager::create(disk, options(MIN_POOL_BYTES)).unwrap();
    let tree = new_tree(&pager, 3002);
    // Some 2,000 leaves for 320 frames.
    let rows = 8000u64;
    for n in 0..rows {
        put(&tree, &number(n), &vec![n as u8; 4000]);
    }
    let mut rng = Rng::new(5);
    for round in 0..20_000u64 {
        // Half of them from a few hot leaves.
        let n = if round % 2 == 0 {
            rng.next() % 200
        } else {
            rng.next() % rows
        };
        assert_eq!(get(&tree, &number(n)), Some(vec![n as u8; 4000]));
    }
    let stats = pager.stats();
    assert!(stats.evicted > 2000, "{stats:?}");
    assert!(stats.hash_searches > 1000, "{stats:?}");
}

#[test]
fn a_dropped_space_is_not_served() {
    let pager = new_pager();
    let tree = filled(&pager, 3003, 1000);
    served(&tree, 0..1000);
    let entries = pager.hash_index().entries();
    assert!(entries >= 1000);
    pager.drop_space(tree.space());
    let before = pager.stats().hash_searches;
    for n in 0..1000 {
        assert!(tree.get(&number(n), |_| ()).is_err());
    }
    assert_eq!(pager.stats().hash_searches, before);
    // Nobody went looking for the entries.
    assert_eq!(pager.hash_index().entries(), entries);
    // A successor finds its own only.
    let next = new_tree(&pager, 3004);
    for n in 0..1000 {
        assert_eq!(get(&next, &number(n)), None);
    }
    for n in 0..1000 {
        put(&next, &number(n), &n.to_le_bytes());
    }
    served(&next, 0..1000);
    assert!(nearly(1000, served(&next, 0..1000)));
}

#[test]
fn entries_of_a_page_can_be_removed() {
    let pager = new_pager();
    let tree = filled(&pager, 3005, 3000);
    served(&tree, 0..3000);
    let entries = pager.hash_index().entries();
    let leaf = {
        let (leaf, _) = tree.find(&number(1500)).unwrap();
        (crate::page::page_no(&leaf), slotted::count(&leaf))
    };
    let removed = pager.drop_hash_entries(tree.space(), leaf.0);
    assert_eq!(removed, usize::from(leaf.1));
    assert_eq!(pager.hash_index().entries(), entries - removed);
    assert_eq!(pager.drop_hash_entries(tree.space(), leaf.0), 0);
    assert_eq!(served(&tree, 1500..1501), 0);
    assert_eq!(served(&tree, 1500..1501), 1);
    assert_eq!(pager.hash_index().entries(), entries);
    // A dead space's pages too.
    pager.drop_space(tree.space());
    assert_eq!(pager.drop_hash_entries(tree.space(), leaf.0), removed);
}

/// Entries of a secondary index: own key of four bytes, then a number; the length stands at the value's start.
#[test]
fn the_first_of_equals_is_found_wherever_it_is() {
    let pager = new_pager();
    let tree = new_tree(&pager, 3006).looked_up_by(KeyPart::LengthAt(0));
    let mut model = std::collections::BTreeSet::new();
    let mut rng = Rng::new(11);
    let mut resume = Vec::new();
    for round in 0..30_000 {
        let own = (rng.below(300) as u32).to_be_bytes();
        let mut entry = own.to_vec();
        // Some have many equals: whole leaves of them.
        let spread = if own[3].is_multiple_of(16) { 2000 } else { 4 };
        entry.extend_from_slice(&(rng.below(spread) as u32).to_be_bytes());
        match rng.below(if round < 15_000 { 3 } else { 6 }) {
            0 | 1 => {
                put(&tree, &entry, &[4, 0]);
                model.insert(entry);
            }
            2 => {
                delete(&tree, &entry);
                model.remove(&entry);
            }
            _ => {
                let mut found = None;
                tree.scan_leaf_of(&own, &mut resume, &mut |k, _| {
                    found = Some(k.to_vec());
                    ControlFlow::Break(())
                })
                .unwrap();
                let expected = model.range(own.to_vec()..).next().cloned();
                assert_eq!(found, expected);
            }
        }
    }
    assert!(pager.stats().hash_searches > 2000, "{:?}", pager.stats());
    checked(&tree);
}
