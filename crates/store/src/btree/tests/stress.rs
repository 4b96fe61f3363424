//! Threads on one tree.

use super::*;
use crate::pool::MIN_POOL_BYTES;
use std::sync::atomic::{AtomicBool, AtomicU64};

const WRITERS: u64 = 4;

/// Keys of different writers interleave, so that they meet in the same leaves.
fn key(n: u64, writer: u64) -> [u8; 8] {
    ((n * (WRITERS + 1) + writer) | 1 << 63).to_be_bytes()
}

/// The writer that never comes: its keys are there from the beginning to the end.
const FIXED: u64 = WRITERS;

#[test]
fn threads_do_not_disturb_each_other() {
    run(&new_pager(), 30);
}

#[test]
fn nor_do_they_when_most_pages_are_not_resident() {
    let disk = Arc::new(SimStorage::new());
    let pager = Pager::create(disk, options(MIN_POOL_BYTES)).unwrap();
    run(&pager, 2500);
}

/// Values up to `longest` bytes.
fn run(pager: &Arc<Pager>, longest: usize) {
    let tree = new_tree(pager, 2000);
    let range = 3000;
    let fixed: Vec<u64> = (0..range).step_by(10).collect();
    for n in &fixed {
        put(&tree, &key(*n, FIXED), &[1; 30]);
    }
    let stop = AtomicBool::new(false);
    let left = AtomicU64::new(WRITERS);
    std::thread::scope(|s| {
        for writer in 0..WRITERS {
            let (tree, stop, left) = (&tree, &stop, &left);
            s.spawn(move || {
                let mut mine = std::collections::BTreeMap::new();
                let mut rng = Rng::new(100 + writer);
                for phase in 0..6 {
                    // Alternately mostly growing and mostly shrinking.
                    for _ in 0..2500 {
                        let n = rng.next() % range;
                        let k = key(n, writer);
                        assert_eq!(get(tree, &k), mine.get(&n).cloned());
                        if rng.below(10) < if phase % 2 == 0 { 7 } else { 1 } {
                            let len = rng.below(longest);
                            let v = rng.bytes(len);
                            put(tree, &k, &v);
                            mine.insert(n, v);
                        } else {
                            assert_eq!(delete(tree, &k), mine.remove(&n).is_some());
                        }
                    }
                }
                for (n, v) in &mine {
                    assert_eq!(get(tree, &key(*n, writer)).as_ref(), Some(v));
                }
                for n in mine.keys() {
                    assert!(delete(tree, &key(*n, writer)));
                }
                if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    stop.store(true, Ordering::SeqCst);
                }
            });
        }
        for dir in [Dir::Forward, Dir::Backward] {
            let (tree, stop, fixed) = (&tree, &stop, &fixed);
            s.spawn(move || {
                let mut rng = Rng::new(7);
                loop {
                    let last_round = stop.load(Ordering::SeqCst);
                    let mut keys: Vec<[u8; 8]> = Vec::new();
                    let mut cursor = Cursor::new(Bound::Unbounded, dir);
                    loop {
                        let end = cursor.scan(tree, &mut |k, _| {
                            keys.push(k.try_into().unwrap());
                            if rng.below(30) == 0 {
                                ControlFlow::Break(())
                            } else {
                                ControlFlow::Continue(())
                            }
                        });
                        if end.unwrap() == ScanEnd::End {
                            break;
                        }
                    }
                    if dir == Dir::Backward {
                        keys.reverse();
                    }
                    assert!(keys.windows(2).all(|w| w[0] < w[1]), "out of order");
                    for n in fixed {
                        assert!(
                            keys.binary_search(&key(*n, FIXED)).is_ok(),
                            "{n} was missed"
                        );
                    }
                    if last_round {
                        break;
                    }
                }
            });
        }
    });
    assert_eq!(checked(&tree).records, fixed.len() as u64);
}
