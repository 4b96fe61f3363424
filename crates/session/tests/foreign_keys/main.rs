//! Random statements over tables that refer to each other by every rule: one after the other they answer as a peer does, at the
//! same time on several threads they leave no row without its parent, and a crash leaves all of a cascade or nothing.
//!
//! `MILLPOND_RANDOM_STATEMENTS` sets how many (default 1500), `MILLPOND_RANDOM_SEED` repeats a run, `MILLPOND_RANDOM_PEER` is a
//! peer's URL (`scripts/random-foreign-keys`).

#[path = "../support/engine.rs"]
mod engine;
mod graph;
mod locks;
#[path = "../support/rng.rs"]
mod rng;
#[path = "../support/mod.rs"]
mod support;

use engine::{Embedded, Engine, Peer};
use rng::Rng;
use support::TestDb;

/// Statements between two looks at all rows.
const STATEMENTS_A_LOOK: u64 = 10;
/// After so many the tables are empty again.
const STATEMENTS_A_LIFE: u64 = 1000;

fn env(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn seed() -> u64 {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seed = env("MILLPOND_RANDOM_SEED", clock.as_nanos() as u64);
    println!("MILLPOND_RANDOM_SEED={seed}");
    seed
}

fn all(e: &mut dyn Engine, statements: &[String]) {
    for sql in statements {
        e.run(sql).unwrap_or_else(|f| panic!("{sql}: {f:?}"));
    }
}

fn no_orphans(e: &mut dyn Engine, after: &str) {
    for sql in graph::orphans() {
        let count = e.run(&sql).expect("a count").rows;
        assert_eq!(count, [[Some(b"0".to_vec())]], "{after}\n{sql}");
    }
}

/// Errors that have other numbers there.
fn code_here(code: u16) -> u16 {
    match code {
        1296 => 3008,
        other => other,
    }
}

/// Rows affected, or the error's number.
fn answer(e: &mut dyn Engine, sql: &str) -> Result<u64, u16> {
    match e.run(sql) {
        Ok(done) => Ok(done.affected),
        Err(f) => Err(code_here(f.code)),
    }
}

fn contents(e: &mut dyn Engine) -> Vec<Vec<engine::Row>> {
    let table = |t| format!("SELECT * FROM t{t} ORDER BY id");
    (0..graph::TABLES)
        .map(|t| e.run(&table(t)).expect("rows").rows)
        .collect()
}

#[test]
fn statements_one_after_the_other() {
    let count = env("MILLPOND_RANDOM_STATEMENTS", 1500);
    let mut rng = Rng(seed());
    let db = TestDb::new();
    let mut own = Embedded::connect(&db);
    let peer = std::env::var("MILLPOND_RANDOM_PEER").ok();
    let mut peer = peer.map(|url| Peer::connect(&url));
    let start: Vec<String> = ["CREATE DATABASE IF NOT EXISTS keys_test", "USE keys_test"]
        .map(String::from)
        .into();
    all(&mut own, &start);
    if let Some(peer) = &mut peer {
        all(peer, &start);
    }
    let mut since = Vec::new();
    let mut codes = std::collections::BTreeMap::new();
    for n in 0..count {
        if n % STATEMENTS_A_LIFE == 0 {
            since.clear();
            for statements in [graph::dropped(), graph::tables()] {
                all(&mut own, &statements);
                if let Some(peer) = &mut peer {
                    all(peer, &statements);
                }
            }
        }
        let sql = graph::statement(&mut rng);
        since.push(format!("{sql};"));
        let here = answer(&mut own, &sql);
        *codes.entry(here.err()).or_insert(0u32) += 1;
        if let Some(peer) = &mut peer {
            let there = answer(peer, &sql);
            assert_eq!(
                here,
                there,
                "here and there, statement {n}:\n{}",
                since.join("\n")
            );
        }
        if n % STATEMENTS_A_LOOK == 0 || n + 1 == count {
            no_orphans(&mut own, &since.join("\n"));
            if let Some(peer) = &mut peer {
                let (here, there) = (contents(&mut own), contents(peer));
                assert_eq!(
                    here,
                    there,
                    "here and there, statement {n}:\n{}",
                    since.join("\n")
                );
            }
        }
    }
    println!("{count} statements; by error: {codes:?}");
}

#[test]
fn statements_at_the_same_time() {
    const THREADS: u64 = 8;
    let count = env("MILLPOND_RANDOM_STATEMENTS", 1500);
    let seed = seed();
    let db = TestDb::new();
    let start: Vec<String> = ["CREATE DATABASE IF NOT EXISTS keys_test", "USE keys_test"]
        .map(String::from)
        .into();
    let mut own = Embedded::connect(&db);
    all(&mut own, &start);
    all(&mut own, &graph::tables());
    std::thread::scope(|s| {
        for n in 0..THREADS {
            let db = &db;
            s.spawn(move || {
                let mut rng = Rng(seed.wrapping_add(n));
                let mut e = Embedded::connect(db);
                e.run("USE keys_test").expect("use");
                let isolation = ["REPEATABLE READ", "READ COMMITTED"][(n % 2) as usize];
                e.run(&format!(
                    "SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"
                ))
                .expect("set");
                for _ in 0..count / THREADS {
                    let several = rng.below(4) == 0;
                    if several {
                        e.run("BEGIN").expect("begin");
                    }
                    for _ in 0..if several { 3 } else { 1 } {
                        let sql = graph::statement(&mut rng);
                        if let Err(f) = e.run(&sql) {
                            let expected = [1062, 1205, 1213, 1451, 1452, 1761, 3008];
                            assert!(expected.contains(&f.code), "{sql}: {f:?}");
                        }
                    }
                    if several {
                        let end = ["COMMIT", "COMMIT", "ROLLBACK"][rng.below(3) as usize];
                        e.run(end).expect("an end");
                    }
                }
            });
        }
    });
    no_orphans(&mut own, "at the same time");
    let problems = db.instance().engine().check().expect("a check");
    assert_eq!(problems, Vec::<String>::new());
}
