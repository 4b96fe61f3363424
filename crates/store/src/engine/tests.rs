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
    let table = NewTable {
        database: "d".into(),
        name: "t".into(),
        hidden_row_id: false,
        file_per_table: Some(own_file),
        indexes: vec![("PRIMARY".into(), true, Vec::new())],
        body: Vec::new(),
        auto_increment: 0,
    };
    engine.create_table(&owner, table).unwrap();
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
