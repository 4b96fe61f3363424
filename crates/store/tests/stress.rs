//! Threads that change rows beside threads that change definitions, on a small pool. Whatever the order, every
//! statement ends as it should and everything checks clean, before and after a crash.

mod common;
use common::*;
use millpond_store::engine::{Place, Redefinition};
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const TABLES: u64 = 6;

fn steps() -> u64 {
    let wanted = std::env::var("STRESS_STEPS").ok();
    wanted.and_then(|s| s.parse().ok()).unwrap_or(250)
}

fn define(n: u64, rng: &mut Rng) -> engine::NewTable {
    let mut t = table(
        &format!("t{n}"),
        &[
            ("PRIMARY", true, &[0]),
            ("v", false, &[1]),
            ("u", true, &[2]),
        ],
    );
    t.place = Some(Place::file_per_table(rng.chance(40)));
    t
}

fn a_row(rng: &mut Rng, id: i64) -> Vec<u8> {
    let pad = match rng.below(30) {
        0 => 20_000,
        1..5 => 3000,
        _ => 40,
    };
    let (v, u) = (int(rng.below(20) as i64), int(id * 3 + rng.below(3) as i64));
    row(&[
        Some(&int(id)),
        Some(&v),
        Some(&u),
        Some(&vec![id as u8; pad]),
    ])
}

/// Errors that the neighbours' work may cause.
fn expected(e: &Error) -> bool {
    matches!(
        e,
        Error::Deadlock
            | Error::LockWaitTimeout
            | Error::NoSuchTable(_)
            | Error::TableExists(_)
            | Error::NoSuchIndex(_)
            | Error::DuplicateKey { .. }
            | Error::DefinitionChanged(_)
    )
}

fn change_rows(db: &Db, seed: u64) {
    let mut rng = Rng(seed);
    let mut s = db.at(match seed % 2 {
        0 => Isolation::ReadCommitted,
        _ => Isolation::RepeatableRead,
    });
    s.owner.set_row_timeout(1);
    let mut kept: Option<Arc<Table>> = None;
    for _ in 0..steps() {
        let done = (|| {
            // A plan's table, as long as nobody changes it.
            let t = match kept.take() {
                Some(t) if rng.chance(60) && t.pin(s.txn())? => t,
                _ => {
                    let name = format!("t{}", rng.below(TABLES));
                    let engine = s.engine.clone();
                    engine.open_table(s.txn(), D, &name)?
                }
            };
            for _ in 0..rng.below(6) {
                let id = rng.below(60) as i64;
                match rng.below(5) {
                    0 | 1 => match s.insert(&t, &a_row(&mut rng, id)) {
                        Err(Error::DuplicateKey { .. }) => {}
                        r => r?,
                    },
                    2 => {
                        let new = a_row(&mut rng, id);
                        s.update(&t, &int_key(id), |_| new).map(drop)?;
                    }
                    3 => drop(s.delete(&t, &int_key(id))?),
                    _ => {
                        let index = rng.below(t.def().indexes.len() as u64) as usize;
                        let (dir, mode) = (Direction::Backward, ReadMode::Consistent);
                        let rows = s.scan(&t, index, everything(), dir, mode)?;
                        let rows_by_key = s.rows(&t, 0);
                        if s.isolation == Isolation::RepeatableRead {
                            assert_eq!(rows.len(), rows_by_key.len());
                        }
                    }
                }
            }
            kept = Some(t);
            Ok(())
        })();
        match done {
            Ok(()) if rng.chance(70) => s.commit(),
            Ok(()) => s.rollback(),
            Err(e) => {
                assert!(expected(&e), "{e}");
                s.rollback();
            }
        }
    }
}

fn change_definitions(db: &Db, seed: u64, stop: &AtomicBool, done: &AtomicU64) {
    let mut rng = Rng(seed);
    let (e, o) = (&db.engine, db.engine.owner());
    o.set_metadata_timeout(1);
    let name = |n: u64| (D.to_string(), format!("t{n}"));
    while !stop.load(Ordering::Relaxed) {
        let n = rng.below(TABLES);
        let (_, t) = name(n);
        let result = match rng.below(12) {
            0 | 1 => e.drop_tables(&o, &[name(n)]),
            2..5 => e.create_table(&o, define(n, &mut rng)),
            5 => e.truncate_table(&o, D, &t),
            6 => e.rename_tables(&o, &[(name(n), name((n + 1) % TABLES))]),
            7 => e.drop_index(&o, D, &t, "v", b"".to_vec()),
            8 | 9 => match e.table_def(D, &t) {
                Ok(def) if def.indexes.iter().all(|i| i.name != "v") => {
                    e.create_index(&o, D, &t, ("v".into(), false, vec![1]), b"".to_vec())
                }
                other => other.map(drop),
            },
            10 => {
                let tables = e.tables(D).unwrap();
                assert!(tables.is_sorted());
                Ok(())
            }
            _ => e.redefine_table(
                &o,
                (D, &t),
                &Redefinition::of_body(vec![n as u8]),
                None,
                &[],
            ),
        };
        match result {
            Ok(()) => drop(done.fetch_add(1, Ordering::Relaxed)),
            Err(e) => assert!(expected(&e), "{e}"),
        }
    }
}

fn run(seed: u64) {
    let mut db = Db::new();
    let mut rng = Rng(seed);
    db.engine
        .set_flush_at_commit(log::FlushAtCommit::EverySecond);
    for n in 0..TABLES {
        db.session().create(define(n, &mut rng));
    }
    for round in 0..2 {
        let (stop, changes) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let (db, stop, changes) = (&db, &stop, &changes);
            let workers: Vec<_> = (0..4)
                .map(|n| scope.spawn(move || change_rows(db, seed + round * 100 + n)))
                .collect();
            for n in 0..2 {
                scope.spawn(move || change_definitions(db, seed + 50 + n, stop, changes));
            }
            let results: Vec<_> = workers.into_iter().map(|w| w.join()).collect();
            stop.store(true, Ordering::Relaxed);
            for r in results {
                r.unwrap();
            }
        });
        assert!(changes.into_inner() > 0);
        db.check();
        db = db.crash();
        db.check();
    }
}

#[test]
fn rows_and_definitions_change_side_by_side() {
    run(11);
}
