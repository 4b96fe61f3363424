//! Trees that die while they are in the adaptive hash index, by every algorithm there is.

use super::*;
use crate::pool::DropAlgorithm;
use std::sync::atomic::{AtomicBool, Ordering};

fn number(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

fn filled(pager: &Arc<Pager>, id: u64, rows: u64) -> Tree {
    let tree = new_tree(pager, id);
    for n in 0..rows {
        put(&tree, &number(n), &(id + n).to_le_bytes());
    }
    // All come into the hash index.
    for n in (0..rows).chain(0..rows) {
        assert_eq!(
            get(&tree, &number(n)),
            Some((id + n).to_le_bytes().to_vec())
        );
    }
    tree
}

/// All but the default remove the entries of the tree, and of no other; large or one page, hashed or not.
#[test]
fn the_old_ones_clear_the_hash_index() {
    for algorithm in DropAlgorithm::ALL {
        let pager = new_pager();
        pager.set_drop_algorithm(algorithm);
        let index = pager.hash_index();
        let stay = filled(&pager, 4000, 500);
        let mut id = 4000;
        for rows in [20, 0, 5000] {
            id += 10_000;
            let before = index.entries();
            let gone = filled(&pager, id, rows);
            let own = index.entries() - before;
            assert!(own as u64 >= rows * 9 / 10);
            pager.drop_space(gone.space());
            let kept = match algorithm {
                DropAlgorithm::Millpond => own,
                _ => 0,
            };
            assert_eq!(index.entries() - before, kept, "{algorithm:?}, {rows} rows");
            assert!(gone.get(&number(1), |_| ()).is_err());
        }
        let before = pager.stats().hash_searches;
        for n in 0..500 {
            assert!(get(&stay, &number(n)).is_some());
        }
        let served = pager.stats().hash_searches - before;
        assert!(
            served >= 450,
            "{algorithm:?}: {served} of another's entries left"
        );
    }
}

/// Lookups through the index go on beside the drops, of what stays and of what goes.
#[test]
fn lookups_beside_drops() {
    for algorithm in DropAlgorithm::ALL {
        let disk = Arc::new(SimStorage::new());
        let pager = Pager::create(disk, options(crate::pool::MIN_POOL_BYTES)).unwrap();
        pager.set_drop_algorithm(algorithm);
        let stay = filled(&pager, 5000, 3000);
        let next: parking_lot::RwLock<Option<(Arc<Tree>, Arc<AtomicBool>)>> = Default::default();
        let done = AtomicBool::new(false);
        std::thread::scope(|s| {
            let (stay, next, done) = (&stay, &next, &done);
            for t in 0..3 {
                s.spawn(move || {
                    let mut rng = Rng::new(t + 1);
                    while !done.load(Ordering::Relaxed) {
                        let n = rng.next() % 3000;
                        let found = get(stay, &number(n));
                        assert_eq!(found, Some((5000 + n).to_le_bytes().to_vec()));
                        let Some((tree, gone)) = next.read().clone() else {
                            continue;
                        };
                        let gone = gone.load(Ordering::Acquire);
                        let n = rng.next() % 400;
                        if let Ok(found) = tree.get(&number(n), <[u8]>::to_vec) {
                            assert!(!gone, "a record of a dead space was found");
                            let id = tree.space().id.0;
                            assert_eq!(found, Some((id + n).to_le_bytes().to_vec()));
                        }
                    }
                });
            }
            let drops = s.spawn(|| {
                for round in 0..15 {
                    let tree = Arc::new(filled(&pager, 100_000 + round * 1000, 400));
                    let gone = Arc::new(AtomicBool::new(false));
                    *next.write() = Some((tree.clone(), gone.clone()));
                    for n in 0..400 {
                        get(&tree, &number(n));
                    }
                    pager.drop_space(tree.space());
                    gone.store(true, Ordering::Release);
                    pager.free_space(tree.space(), tree.root()).unwrap();
                }
            });
            let ended = drops.join();
            done.store(true, Ordering::Relaxed);
            ended.unwrap();
        });
        checked(&stay);
    }
}
