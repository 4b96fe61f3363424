//! What becomes of DDL and of what it leaves behind when a thread panics in the middle; a lock that comes at an awkward moment.

mod small;

use super::ddl::Dead;
use super::*;
use crate::catalog::KeyCodec;
use crate::io::SimStorage;
use crate::space::{FileId, SpaceId};
use crate::txn::{Lock, LockMode, WaitPolicy};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A row is its key.
struct Whole;

impl KeyCodec for Whole {
    fn key(&self, _: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.extend_from_slice(row);
        Ok(false)
    }
}

impl CodecFactory for Whole {
    fn codec(&self, _: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        Ok(Arc::new(Whole))
    }
}

fn new_table(name: &str, own_file: bool) -> NewTable {
    NewTable {
        database: "d".into(),
        name: name.into(),
        hidden_row_id: false,
        place: Some(Place::file_per_table(own_file)),
        indexes: vec![("PRIMARY".into(), true, Vec::new())],
        body: Vec::new(),
        auto_increment: 0,
    }
}

/// An engine with a database `d` and a table `t` with a row.
fn engine(own_file: bool) -> (Engine, Arc<Owner>) {
    let options = Options {
        pool_bytes: 5 << 20,
        log_bytes: 1 << 20,
        reclaim_bytes_per_sec: 0,
        ..Options::default()
    };
    let engine = Engine::open(Arc::new(SimStorage::new()), options, Arc::new(Whole)).unwrap();
    let owner = engine.owner();
    engine.create_database(&owner, "d", b"").unwrap();
    engine
        .create_table(&owner, new_table("t", own_file))
        .unwrap();
    let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
    let table = engine.open_table(&mut txn, "d", "t").unwrap();
    table.insert(&mut txn, b"row").unwrap();
    engine.commit(txn).unwrap();
    (engine, owner)
}

fn counter(engine: &Engine, name: &str) -> u64 {
    let counters = engine.status().counters;
    counters.iter().find(|(n, _)| *n == name).unwrap().1
}

fn wait_until(f: impl Fn() -> bool) {
    let start = Instant::now();
    while !f() {
        assert!(start.elapsed().as_secs() < 30, "it does not happen");
        std::thread::yield_now();
    }
}

/// The DDL is durable, so its graves count and are dug up, though nobody came to say so.
#[test]
fn a_panic_after_the_commit_leaves_nothing_in_the_graveyard() {
    for own_file in [false, true] {
        let (engine, owner) = engine(own_file);
        let inner = &engine.0;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            inner.ddl(&owner, |txn, after| {
                inner.lock_tables(txn, [("d", "t")].into_iter())?;
                inner.drop_row(txn, "d", "t", after)?;
                assert_eq!(inner.reclaimer.shared().graves(), 1);
                // Burying this panics.
                after.dead.push(Dead {
                    table: 0,
                    spaces: vec![(SpaceId(SpaceId::TEMPORARY), FileId::TEMP)],
                    small: Vec::new(),
                    gone: true,
                    partitioned: false,
                });
                Ok(())
            })
        }));
        assert!(dropped.is_err());
        wait_until(|| counter(&engine, "Millpond_spaces_reclaimed") == 1);
        assert_eq!(counter(&engine, "Millpond_graveyard_spaces"), 0);
        assert!(inner.catalog.graves().unwrap().is_empty());
        assert!(engine.tables("d").unwrap().is_empty());
    }
}

/// Others open tables until the cache has too many, while DDL has the row of one in hand.
#[test]
fn ddl_keeps_the_counter_of_a_table_that_nobody_uses() {
    let (engine, owner) = engine(false);
    let inner = &engine.0;
    let other = engine.owner();
    let open = |name: &str| {
        let mut txn = engine.begin(&other, Isolation::RepeatableRead);
        let table = engine.open_table(&mut txn, "d", name).unwrap();
        engine.commit(txn).unwrap();
        table
    };
    open("t").auto_increment_init(100);
    let names: Vec<String> = (0..70).map(|i| format!("t{i}")).collect();
    for name in &names {
        // All in one shard of the cache.
        let ids = inner.pager.counter(super::ddl::TABLE_IDS);
        ids.fetch_add(63).unwrap();
        engine.create_table(&owner, new_table(name, false)).unwrap();
    }
    for body in 0..3u8 {
        let changed = inner.ddl(&owner, |txn, after| {
            inner.lock_tables(txn, [("d", "t")].into_iter())?;
            let found = inner.find(txn, "d", "t")?;
            names.iter().for_each(|name| drop(open(name)));
            let mut new = found.row.clone();
            new.version += 1;
            new.def.body = vec![body];
            inner.replace(txn, &found, &new, after)?;
            names.iter().for_each(|name| drop(open(name)));
            // One is undone.
            if body == 1 {
                Err(Error::Interrupted)
            } else {
                Ok(())
            }
        });
        assert_eq!(changed.is_ok(), body != 1);
        names.iter().for_each(|name| drop(open(name)));
        assert_eq!(open("t").auto_increment_peek(), Some(100), "{body}");
    }
}

/// Graves that were never committed do not count.
#[test]
fn a_failure_or_a_panic_before_the_commit_digs_no_grave() {
    let (engine, owner) = engine(false);
    let inner = &engine.0;
    for panics in [false, true] {
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            inner.ddl(&owner, |txn, after| {
                inner.drop_row(txn, "d", "t", after)?;
                assert!(!panics, "a bug");
                Err::<(), _>(Error::Interrupted)
            })
        }));
        assert_eq!(dropped.is_err(), panics);
        assert_eq!(counter(&engine, "Millpond_graveyard_spaces"), 0);
    }
    wait_until(|| engine.0.sys.transactions().is_empty());
    assert_eq!(engine.tables("d").unwrap(), ["t"]);
}

/// Who inserts anew what it has itself deleted does not wait for one whose lock was granted without a look at the row: that one
/// waits for it.
#[test]
fn a_row_of_ones_own_is_inserted_again_beside_anothers_lock() {
    let (engine, owner) = engine(false);
    let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
    let table = engine.open_table(&mut txn, "d", "t").unwrap();
    table.insert(&mut txn, b"new").unwrap();
    let (locks, space) = (engine.0.sys.locks(), table.indexes[0].space);
    let other = engine.owner();
    let (mode, wait) = (LockMode::Exclusive, WaitPolicy::Wait);
    let blind = locks.lock(&other, space, b"new", mode, wait).unwrap();
    assert_eq!(blind, Lock::New);
    table.delete(&mut txn, b"new", b"new").unwrap();
    owner.set_row_timeout(0);
    table.insert(&mut txn, b"new").unwrap();
    engine.commit(txn).unwrap();
    locks.unlock(&other, space, b"new");
}

/// Pages whose checksum is right and whose records are not: every read tells, none panics, and what is sound is served.
#[test]
fn damaged_records_are_errors() {
    const PAGE: usize = crate::page::PAGE_SIZE;
    let disk = SimStorage::new();
    let options = Options {
        pool_bytes: 5 << 20,
        log_bytes: 1 << 20,
        ..Options::default()
    };
    let open = |disk: &SimStorage| {
        let engine = Engine::open(Arc::new(disk.clone()), options.clone(), Arc::new(Whole));
        engine.unwrap()
    };
    {
        let engine = open(&disk);
        let owner = engine.owner();
        engine.create_database(&owner, "d", b"").unwrap();
        for name in ["t", "u"] {
            let mut def = new_table(name, true);
            def.indexes.push(("n".into(), false, Vec::new()));
            engine.create_table(&owner, def).unwrap();
            let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
            let table = engine.open_table(&mut txn, "d", name).unwrap();
            for i in 0..300u32 {
                table.insert(&mut txn, &i.to_be_bytes()).unwrap();
            }
            engine.commit(txn).unwrap();
        }
        engine.close().unwrap();
    }
    disk.kill();
    let read = |engine: &Engine, name: &str| -> Vec<Result<usize>> {
        let owner = engine.owner();
        let all = || crate::KeyRange {
            lower: std::ops::Bound::Unbounded,
            upper: std::ops::Bound::Unbounded,
        };
        let locking = crate::ReadMode::Locking(LockMode::Exclusive, WaitPolicy::NoWait);
        let mut results = Vec::new();
        for mode in [crate::ReadMode::Consistent, locking] {
            for index in 0..2 {
                let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
                let table = engine.open_table(&mut txn, "d", name).unwrap();
                let scanned = || -> Result<usize> {
                    let dir = crate::Direction::Forward;
                    let mut scan =
                        table.scan(&mut txn, index, all(), dir, mode, crate::Fetch::Row)?;
                    let mut n = 0;
                    while scan.next(&mut txn)?.is_some() {
                        n += 1;
                    }
                    Ok(n)
                };
                results.push({ scanned }());
                let (mut key, mut row) = (Vec::new(), Vec::new());
                for i in [0u32, 150, 299] {
                    let at = i.to_be_bytes();
                    let got = table.get(&mut txn, index, &at, mode, &mut key, &mut row);
                    results.push(got.map(usize::from));
                }
                engine.rollback(txn).unwrap();
            }
        }
        results
    };
    let mut told = 0;
    for seed in 0..60u64 {
        let disk = disk.copy();
        let mut random = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 16) % n
        };
        let file = {
            let engine = open(&disk);
            let file = engine.table_def("d", "t").unwrap().file.name();
            engine.close().unwrap();
            file
        };
        disk.kill();
        let mut bytes = disk.bytes(&file);
        for page in bytes.chunks_mut(PAGE).skip(2) {
            let is_leaf = crate::page::page_type(page) == Some(crate::page::PageType::Leaf);
            let count = u64::from(crate::page::slotted::count(page));
            if !is_leaf || count == 0 {
                continue;
            }
            let slot = below(count);
            let at = usize::from(crate::page::slotted::offset(page, slot as u16));
            match seed % 4 {
                // A value's length.
                0 => page[at] = below(16) as u8,
                // A slot.
                1 => page[64 + slot as usize * 8 + below(4) as usize] ^= 1 << below(8),
                // Flags, or the length of the key part.
                2 => page[at + 2 + 4 + below(9) as usize] ^= 1 << below(8),
                // The header.
                _ => page[34 + below(6) as usize] ^= 1 << below(8),
            }
            crate::space::layout::seal(page);
        }
        let copies = disk.bytes("doublewrite").len();
        disk.corrupt("doublewrite", 0, &vec![0; copies]);
        disk.corrupt(&file, 0, &bytes);
        let engine = open(&disk);
        let results = read(&engine, "t");
        told += results
            .iter()
            .filter(|r| matches!(r, Err(Error::Corrupt(_))))
            .count();
        assert!(read(&engine, "u").iter().all(Result::is_ok));
        assert_eq!(engine.stopped(), None);
    }
    assert!(told > 100, "{told}");
}

/// Entries that are missing, too many or another row's are found, whatever their number, and named by their index.
#[test]
fn a_check_compares_indexes_with_rows() {
    use crate::table::FaultKind;
    use crate::table::format::SEC_VALUE;
    let (engine, owner) = engine(false);
    let mut def = new_table("i", false);
    def.indexes.push(("n".into(), false, Vec::new()));
    engine.create_table(&owner, def).unwrap();
    let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
    let table = engine.open_table(&mut txn, "d", "i").unwrap();
    for i in 0..1000u32 {
        table.insert(&mut txn, &i.to_be_bytes()).unwrap();
    }
    let gone = 7u32.to_be_bytes();
    table.delete(&mut txn, &gone, &gone).unwrap();
    engine.commit(txn).unwrap();
    let faults = || {
        let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
        let (mut rows, mut entries) = (0, 0);
        let faults = table.check_indexes(&mut txn, &mut |what| {
            match what {
                crate::Checked::Row(_) => rows += 1,
                crate::Checked::Entry => entries += 1,
            }
            Ok::<(), Error>(())
        });
        engine.commit(txn).unwrap();
        (faults.unwrap(), rows, entries)
    };
    let (none, rows, entries) = faults();
    assert!(none.is_empty(), "{none:?}");
    assert_eq!((rows, entries), (999, 999));

    let tree = &table.indexes[1].tree;
    let entry = |own: u32, row: u32| [own.to_be_bytes(), row.to_be_bytes()].concat();
    let mut live = [0; SEC_VALUE + 6];
    let len = crate::table::entries::live_entry(4, 0).write(&mut live);
    let live = &live[..len];
    let put = |key: &[u8]| {
        let put = tree.edit(key, live.len(), |e| {
            e.insert(live);
            Ok(())
        });
        put.unwrap();
    };
    let take = |key: &[u8]| {
        let taken = tree.edit(key, 0, |e| {
            e.remove();
            Ok(())
        });
        taken.unwrap();
    };
    let kind = || {
        let (mut faults, ..) = faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].index, 1);
        assert!(!engine.check().unwrap().is_empty());
        faults.remove(0).kind
    };
    take(&entry(500, 500));
    let (entries, wanted) = (998, 999);
    assert!(
        matches!(kind(), FaultKind::Count { entries: e, wanted: w } if (e, w) == (entries, wanted))
    );
    // As many as there should be: one of another row, then one of a row that is gone.
    put(&entry(500, 501));
    assert!(matches!(kind(), FaultKind::Unreadable(Error::Corrupt(_))));
    take(&entry(500, 501));
    put(&entry(500, 2000));
    assert!(matches!(kind(), FaultKind::Unreadable(Error::Corrupt(_))));
    take(&entry(500, 2000));
    put(&entry(500, 500));
    assert!(faults().0.is_empty());
    assert!(engine.check().unwrap().is_empty());
    // An error of who looks on ends it.
    let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
    let ended = table.check_indexes(&mut txn, &mut |_| Err(Error::Interrupted));
    assert!(matches!(ended, Err(Error::Interrupted)));
    engine.rollback(txn).unwrap();
}

/// A transaction that goes on locks tables in the order of its statements, DDL by their names.
#[test]
fn ddl_gives_back_what_a_transaction_that_it_waits_for_wants() {
    let (engine, owner) = engine(false);
    let inner = &engine.0;
    engine.create_table(&owner, new_table("a", false)).unwrap();
    let mdl = inner.sys.mdl();
    let [a, t] = ["a", "t"].map(|name| mdl.get(&full_name("d", name)));
    let writer = engine.owner();
    let nothing = mdl.mark(&writer);
    let goes_on_beside = |ddl: &(dyn Fn() -> Result<()> + Sync)| {
        mdl.lock(&writer, &t, MdlMode::Write).unwrap();
        std::thread::scope(|s| {
            let ddl = s.spawn(ddl);
            wait_until(|| inner.sys.locks().stats().metadata_waiting == 1);
            mdl.lock(&writer, &a, MdlMode::Shared).unwrap();
            mdl.release_since(&writer, &nothing);
            ddl.join().unwrap().unwrap();
        });
    };
    goes_on_beside(&|| {
        let names = [("d", "a"), ("d", "t")];
        inner.ddl(&owner, |txn, _| inner.lock_tables(txn, names.into_iter()))
    });
    goes_on_beside(&|| {
        let names = ["a", "t"].map(|name| (("d".to_string(), name.to_string()), true));
        inner.lock_tables_lasting(&owner, &names)
    });
    mdl.release_lasting(&owner);
    assert_eq!(counter(&engine, "Innodb_deadlocks"), 0);
}

/// What DDL held before it asked for more is not given back, so no retreat ends such a deadlock.
#[test]
fn ddl_is_told_of_a_deadlock_through_what_it_held_before() {
    let (engine, owner) = engine(false);
    let inner = &engine.0;
    let mdl = inner.sys.mdl();
    let [a, t] = ["a", "t"].map(|name| mdl.get(&full_name("d", name)));
    let writer = engine.owner();
    let nothing = mdl.mark(&writer);
    mdl.lock(&writer, &t, MdlMode::Write).unwrap();
    std::thread::scope(|s| {
        let waiting = s.spawn(|| {
            wait_until(|| mdl.holds(&owner, &a, MdlMode::Exclusive));
            let locked = mdl.lock(&writer, &a, MdlMode::Shared);
            mdl.release_since(&writer, &nothing);
            locked
        });
        let told = inner.ddl(&owner, |txn, _| {
            mdl.lock(txn.owner(), &a, MdlMode::Exclusive)?;
            wait_until(|| inner.sys.locks().stats().metadata_waiting == 1);
            inner.lock_tables(txn, [("d", "t")].into_iter())
        });
        assert!(matches!(told, Err(Error::Deadlock)));
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(counter(&engine, "Innodb_deadlocks"), 1);
}
