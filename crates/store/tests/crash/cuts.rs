//! A power cut at every write: what was acknowledged is there, the statement under way wholly or not at all.

use crate::common::{self, *};
use crate::run::{algorithm, contents, execute, is_one_of, run_until_cut, small, verify};
use crate::script::*;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `CRASH_SEED=n` lets other writes survive.
fn seed() -> u64 {
    let wanted = std::env::var("CRASH_SEED").ok();
    wanted.and_then(|s| s.parse().ok()).unwrap_or(0)
}

fn cut_once(at: u64, options: &Options, script: &[Op]) -> bool {
    let disk = SimStorage::new();
    let steps = cut_at(&disk, at);
    let (before, after) = match open_with(&disk, options.clone()) {
        Ok(db) => run_until_cut(&db, script),
        Err(_) => Default::default(),
    };
    let finished = steps.load(Ordering::Relaxed) <= at;
    let mut coin = Rng(at + 1 + (seed() << 32));
    disk.restart(|| coin.chance(50));
    let begun = before != Model::default();
    let expected = begun && options.keyring.is_some();
    assert!(!expected || crypt::is_encrypted(&disk), "cut {at}");
    verify(&disk, &before, &after, at);
    finished
}

/// Nothing is lost or half done, whichever algorithm does the drops.
mod every_write {
    use super::*;

    macro_rules! with {
        ($($name:ident: $algorithm:ident,)*) => {
            $(#[test]
            fn $name() {
                every_cut(DropAlgorithm::$algorithm, &script());
            })*
            mod encrypted {
                use super::*;
                $(#[test]
                fn $name() {
                    let options = small(DropAlgorithm::$algorithm);
                    every_cut_with(&common::encrypted(options), &script());
                })*
            }
        };
    }
    with! {
        full_scan: FullScan,
        lazy_mark: LazyMark,
        cleaner: Cleaner,
        flush_list: FlushList,
        stale: Stale,
        millpond: Millpond,
    }
}

#[test]
fn fills_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &fill_script());
}

#[test]
fn small_tables_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &small_script());
}

#[test]
fn copies_at_every_write() {
    // Databases go at once, with one grave for what was made as a copy.
    let at_once = Options {
        drop_at_once: 100,
        ..small(DropAlgorithm::Millpond)
    };
    every_cut_with(&at_once, &copies_script());
}

#[test]
fn transactions_of_ddl_at_every_write() {
    // A database goes with its tables at once.
    let at_once = Options {
        drop_at_once: 100,
        ..small(DropAlgorithm::Millpond)
    };
    every_cut_with(&at_once, &transactions_script());
}

#[test]
fn tablespaces_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &tablespaces_script());
}

#[test]
fn dropped_databases_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &dropped_script());
}

fn every_cut(algorithm: DropAlgorithm, script: &[Op]) {
    every_cut_with(&small(algorithm), script);
}

/// With the power on each statement does what the model does.
fn runs_through(options: &Options, script: &[Op]) {
    let db = open_with(&SimStorage::new(), options.clone()).unwrap();
    let mut m = Model::default();
    for (n, op) in script.iter().enumerate() {
        execute(&db, op).unwrap_or_else(|e| panic!("statement {n}: {e}"));
        m = model_of(op, &m);
        assert!(is_one_of(&contents(&db), [&m]), "statement {n}");
    }
}

fn every_cut_with(options: &Options, script: &[Op]) {
    runs_through(options, script);
    let mut at = 0;
    while !cut_once(at, options, script) {
        at += 1;
    }
    assert!(at > 50, "the script writes more often than {at} times");
}

/// The power goes again, or the process is killed, while recovery from the first cut is at work.
#[test]
fn recovery_can_be_cut_short() {
    cut_recovery_short(small);
}

#[test]
fn recovery_of_what_is_encrypted_can_be_cut_short() {
    cut_recovery_short(|algorithm| encrypted(small(algorithm)));
}

fn cut_recovery_short(options: impl Fn(DropAlgorithm) -> Options) {
    for first in (20..200).step_by(23) {
        let disk = SimStorage::new();
        cut_at(&disk, first);
        let (before, after) = match open_with(&disk, options(algorithm(first))) {
            Ok(db) => run_until_cut(&db, &script()),
            Err(_) => Default::default(),
        };
        let mut coin = Rng(first + (seed() << 32));
        let mut end = || match coin.chance(50) {
            true => disk.kill(),
            false => disk.restart(|| coin.chance(50)),
        };
        end();
        for second in 0..12 {
            cut_at(&disk, second);
            drop(open_with(&disk, options(algorithm(second))));
            end();
        }
        disk.restart(|| coin.chance(50));
        verify(&disk, &before, &after, first);
    }
}

/// A disk that fails writes but keeps power: the engine stops, reads go on, and reopening finds what was acknowledged.
#[test]
fn a_failing_disk_stops_the_engine() {
    for at in (30..150).step_by(17) {
        let disk = SimStorage::new();
        let left = Arc::new(AtomicU64::new(at));
        let count = left.clone();
        disk.on_step(move |kind, _| {
            let less = |n: u64| n.checked_sub(1);
            let late = kind != OpKind::Read
                && count
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
                    .is_err();
            if late { Step::Fail } else { Step::Go }
        });
        let db = open_with(&disk, small(algorithm(at))).unwrap();
        let (before, after) = run_until_cut(&db, &script());
        // The script may have ended before.
        left.store(0, Ordering::Relaxed);
        let owner = db.owner();
        // What failed may have been a mere growing of a file; a commit's failure is final.
        assert!(db.create_database(&owner, "more", b"").is_err());
        assert!(db.stopped().is_some(), "step {at}");
        assert!(matches!(
            db.create_database(&owner, "yet more", b""),
            Err(Error::Stopped(_))
        ));
        drop(db);
        disk.clear_hook();
        disk.kill();
        verify(&disk, &before, &after, at);
    }
}

/// Keys that do not fit into an update's undo record lie in one before it, which no roll pointer names. Recovery, which
/// begins at the transaction's last record, must not undo that one a second time, after what came before it is undone.
#[test]
fn keys_restored_before_a_crash_are_not_restored_again() {
    let db = Db::new();
    let (mut a, mut b) = (db.session(), db.session());
    let mut indexes: Vec<(&str, bool, &[u8])> = vec![("PRIMARY", true, &[0])];
    let more: [(&str, &[u8]); 5] = [
        ("k", &[1]),
        ("l", &[2]),
        ("m", &[3]),
        ("n", &[4]),
        ("o", &[5]),
    ];
    indexes.extend(more.map(|(name, field)| (name, false, field)));
    a.create(table("t", &indexes));
    let a_row = |id: i64, x: u8, len: usize| {
        let (id, long) = (int(id), vec![x; len]);
        let mut all = vec![Some(&id[..])];
        all.extend([Some(&long[..]); 5]);
        row(&all)
    };
    let t = a.open("t");
    a.insert(&t, &a_row(1, b'a', 1)).unwrap();
    a.commit();

    let t = a.open("t");
    let start = a.txn().savepoint();
    a.update(&t, &int_key(1), |_| a_row(1, b'b', 3000)).unwrap();
    a.update(&t, &int_key(1), |_| a_row(1, b'c', 1)).unwrap();
    let records = a.txn().savepoint().undo_count;
    assert_eq!(records, 4, "a chain, an update, keys, an update");
    db.engine.rollback_to(a.txn(), start).unwrap();
    // The log goes to the disk with another's commit.
    let u = b.open("t");
    b.insert(&u, &a_row(2, b'z', 1)).unwrap();
    b.commit();
    std::mem::forget(a.txn.take());
    drop((t, u, a, b));

    let db = db.crash();
    let mut a = db.session();
    let t = a.open("t");
    let all = [a_row(1, b'a', 1), a_row(2, b'z', 1)];
    for index in 0..=5 {
        assert_eq!(a.rows(&t, index), all, "{index}");
    }
    a.commit();
    drop(t);
    db.check();
}
