//! Random queries of one to five tables, with joins, derived tables, subqueries, groups and unions, held to what must be true of
//! their answers (check.rs), or compared with a peer's. What fails is reduced and printed as a script.
//!
//! `MILLPOND_RANDOM_QUERIES` sets the number of queries (default 150), `MILLPOND_RANDOM_SEED` repeats a run,
//! `MILLPOND_RANDOM_PEER` is a peer's URL (`scripts/random-peers`), `MILLPOND_RANDOM_ALL` goes on after a difference.

mod check;
#[path = "../support/engine.rs"]
mod engine;
mod generate;
mod query;
#[path = "../random_statements/mod.rs"]
mod random_statements;
#[path = "../support/rng.rs"]
mod rng;
mod schema;
mod shrink;
#[path = "../support/mod.rs"]
mod support;

use std::fmt::Write;

use check::{Databases, Difference};
use engine::{Embedded, Engine, Peer};
use rng::Rng;
use schema::Relation;
use shrink::Case;
use support::TestDb;

/// Queries over one set of tables.
const QUERIES_A_SCHEMA: u64 = 30;
/// Candidates tried to reduce one failure.
const TRIES: u32 = 4000;

fn env(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn random_queries_agree_with_themselves() {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seed = env("MILLPOND_RANDOM_SEED", clock.as_nanos() as u64);
    let queries = env("MILLPOND_RANDOM_QUERIES", 150);
    println!("MILLPOND_RANDOM_SEED={seed} MILLPOND_RANDOM_QUERIES={queries}");
    let go_on = std::env::var_os("MILLPOND_RANDOM_ALL").is_some();

    let db = TestDb::new();
    let peer = std::env::var("MILLPOND_RANDOM_PEER").ok();
    // Without indexes all is read from end to end: there by batches, on several threads, here row by row.
    let mut plain = Embedded::connect(&db);
    plain
        .run("SET millpond_batch_rows = 0, millpond_parallel_workers = 2")
        .expect("set");
    let mut databases = Databases {
        keyed: Box::new(Embedded::connect(&db)),
        plain: Box::new(plain),
        peer: peer.map(|url| Box::new(Peer::connect(&url)) as Box<dyn Engine>),
    };
    let mut rng = Rng(seed);
    let mut relations = Vec::new();
    let (mut ran, mut wrong) = (0, 0);
    for n in 0..queries {
        if n % QUERIES_A_SCHEMA == 0 {
            relations = (0..2 + rng.below(4))
                .map(|t| Relation::new(&mut rng, format!("r{t}")))
                .collect();
            fill(&mut databases, &relations);
        }
        // Peers convert otherwise where they use an index.
        let mixed = databases.peer.is_none();
        let query = generate::query(&mut rng, &relations, mixed);
        match databases.check(&query) {
            Ok(fine) => ran += u64::from(fine),
            Err(difference) => {
                let case = Case {
                    relations: relations.clone(),
                    query,
                };
                let report = reduced(&mut databases, case, &difference);
                assert!(go_on, "query {n}, seed {seed}: {report}");
                println!("query {n}, seed {seed}: {report}");
                wrong += 1;
                fill(&mut databases, &relations);
            }
        }
    }
    println!("{ran} of {queries} queries ran");
    assert_eq!(wrong, 0, "differences");
    // Else the generator no longer makes queries that mean something.
    assert!(ran * 10 >= queries * 9, "{ran} of {queries} queries ran");
}

fn fill(databases: &mut Databases, relations: &[Relation]) {
    let case = Case {
        relations: relations.to_vec(),
        query: generate::query(&mut Rng(0), relations, false),
    };
    databases.fill(&case).unwrap_or_else(|e| panic!("{e:?}"));
}

/// The smallest case with a difference of the same sort, as a script.
fn reduced(databases: &mut Databases, case: Case, first: &Difference) -> String {
    let mut last = format!("{first:#?}");
    let mut fails = |c: &Case| {
        let filled = databases.fill(c).is_ok();
        match filled.then(|| databases.check(&c.query)) {
            Some(Err(d)) if d.rows == first.rows && d.what == first.what => {
                last = format!(
                    "{}\n  {};\n  -- {}\n  {};\n  -- {}",
                    d.what, d.sql[0], d.answers[0], d.sql[1], d.answers[1]
                );
                true
            }
            _ => false,
        }
    };
    let case = shrink::shrink(case, TRIES, &mut fails);
    let mut script = String::new();
    for sql in case.relations.iter().flat_map(|r| r.script(true)) {
        let _ = writeln!(script, "  {sql};");
    }
    format!("{last}\n{script}")
}
