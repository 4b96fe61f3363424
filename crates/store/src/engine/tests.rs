//! What becomes of DDL and of what it leaves behind when a thread panics in the middle; a lock that comes at an awkward moment.

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
        file_per_table: Some(own_file),
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
        let changed = inner.ddl(&owner, |txn, _| {
            inner.lock_tables(txn, [("d", "t")].into_iter())?;
            let found = inner.find(txn, "d", "t")?;
            names.iter().for_each(|name| drop(open(name)));
            let mut new = found.row.clone();
            new.version += 1;
            new.def.body = vec![body];
            inner.replace(txn, &found, &new)?;
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
