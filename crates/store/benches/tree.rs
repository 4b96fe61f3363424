//! What a tree costs per call, in processor time of the calling thread:
//! `cargo bench -p millpond-store --bench tree [rows [bytes of a value]]`.

use millpond_store::btree::{Cursor, Dir, FromIter, Records, ScanEnd, Tree};
use millpond_store::hash_index::HashOptions;
use millpond_store::io::RealStorage;
use millpond_store::log::FlushAtCommit;
use millpond_store::pool::{Pager, PagerOptions};
use millpond_store::sort::Sorter;
use millpond_store::space::{FileId, SpaceId};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

const READS: u64 = 2_000_000;

fn key(n: u64) -> [u8; 8] {
    (n | 1 << 63).to_be_bytes()
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Processor time this thread has used: other processes on the machine take none of it.
fn now() -> Duration {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `t` only.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    assert_eq!(rc, 0);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

fn report(what: &str, calls: u64, took: Duration) {
    println!("{what:44} {:8.1} ns", took.as_nanos() as f64 / calls as f64);
}

/// Repeats a call with random numbers below `rows`; the best of three rounds counts.
fn measure(what: &str, rows: u64, calls: u64, mut call: impl FnMut(u64)) {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let rounds = (0..3).map(|_| {
        let start = now();
        for _ in 0..calls {
            call(random(&mut state) % rows);
        }
        now() - start
    });
    report(what, calls, rounds.min().unwrap_or_default());
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|a| a.parse().ok());
    let rows = numbers.next().unwrap_or(1_000_000u64);
    let bytes = numbers.next().map_or(100, |n| n as usize).max(8);
    let folder = std::env::temp_dir().join(format!("millpond-bench-{}", std::process::id()));
    let storage = Arc::new(RealStorage::new(&folder).expect("a temporary folder"));
    let options = PagerOptions {
        pool_bytes: 512 << 20,
        instances: 0,
        log_bytes: 1 << 30,
        flush_at_commit: FlushAtCommit::EverySecond,
        hash_index: HashOptions::default(),
    };
    let pager = Pager::create(storage.clone(), options).expect("a database");
    run(&pager, storage, rows, bytes);
    drop(pager);
    std::fs::remove_dir_all(&folder).expect("to remove the folder");
}

fn run(pager: &Arc<Pager>, storage: Arc<RealStorage>, rows: u64, bytes: usize) {
    let space = pager.space(SpaceId(SpaceId::FIRST_USER), FileId::SHARED);
    let tree = Tree::new(pager, space, 0);
    let mut mtr = pager.mtr(1).unwrap();
    tree.set_root(tree.alloc_root(&mut mtr).unwrap());
    mtr.commit();
    let value = vec![7u8; bytes];
    let insert = |tree: &Tree, n: u64| {
        let edit = tree.edit(&key(n), value.len(), |e| {
            e.insert(&value);
            Ok(())
        });
        edit.unwrap();
    };
    let start = now();
    (0..rows).for_each(|n| insert(&tree, n));
    report("insert, ascending", rows, now() - start);
    println!("{:?}", tree.check());

    let get = |n: u64| {
        let byte = tree.get(&key(n), |v| v[bytes / 2]).unwrap();
        assert_eq!(byte, Some(7));
    };
    for (on, how) in [(false, "off"), (true, "on")] {
        pager.set_hash_index(on);
        measure(&format!("get, random, hash index {how}"), rows, READS, get);
        let what = format!("get, 1000 hot rows, hash index {how}");
        measure(&what, 1000, READS, get);
        let what = format!("get, random, each of two threads, {how}");
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| measure(&what, rows, READS, get));
            }
        });
    }
    let stats = pager.stats();
    let (hash, tree_searches) = (stats.hash_searches, stats.tree_searches);
    println!("searches: {hash} by hash, {tree_searches} down the tree");
    measure("patch, random", rows, READS / 4, |n| {
        let edit = tree.edit(&key(n), 0, |e| {
            e.patch(0, &[7; 8]);
            Ok(())
        });
        edit.unwrap();
    });
    measure("patch of a known key, random", rows, READS / 4, |n| {
        let edit = tree.edit_known(&key(n), 0, |e| {
            e.patch(0, &[7; 8]);
            Ok(())
        });
        edit.unwrap();
    });
    measure("get and patch by hint, random", rows, READS / 4, |n| {
        let (_, hint) = tree.get_with_hint(&key(n), |v| v[0]).unwrap();
        let edit = tree.edit_at(hint, &key(n), 0, |e| {
            e.patch(0, &[7; 8]);
            Ok(())
        });
        edit.unwrap();
    });
    for (what, stop) in [
        ("scan, leaf by leaf, a row", false),
        ("scan, row by row, a row", true),
    ] {
        let start = now();
        let mut cursor = Cursor::new(Bound::Unbounded, Dir::Forward);
        let mut sum = 0u64;
        let flow = if stop {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        };
        while cursor
            .scan(&tree, &mut |_, v| {
                sum += u64::from(v[0]);
                flow
            })
            .unwrap()
            != ScanEnd::End
        {}
        assert_eq!(sum, 7 * rows);
        report(what, rows, now() - start);
    }
    measure("range estimate", rows, 20_000, |n| {
        let (low, high) = (key(n), key(n + 10_000));
        tree.estimate(Bound::Included(&low), Bound::Included(&high))
            .unwrap();
    });

    let start = now();
    let mut sorter = Sorter::new(storage, 16 << 20);
    let mut state = 7;
    for _ in 0..rows {
        sorter
            .add(&key(random(&mut state) >> 1), &value, &|| Ok(()))
            .unwrap();
    }
    let mut sorted = sorter.finish(&|| Ok(())).unwrap();
    let mut records = 0;
    let mut unique = Vec::with_capacity(rows as usize);
    while let Some((k, v)) = sorted.next().unwrap() {
        records += 1;
        unique.push((k.to_vec(), v.to_vec()));
    }
    assert_eq!(records, rows);
    report("sort, 16 MiB, a record", rows, now() - start);
    unique.dedup_by(|a, b| a.0 == b.0);
    let space = pager.space(SpaceId(SpaceId::FIRST_USER + 1), FileId::SHARED);
    let start = now();
    let root = Tree::bulk(pager, &space, &mut FromIter::new(unique.into_iter())).unwrap();
    report("bulk build, a record", rows, now() - start);
    assert!(root > 0);
}
