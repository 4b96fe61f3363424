//! Kills a real server with SIGKILL at random moments under mixed DML and DDL, and compares what the
//! next start finds with a model of what was acknowledged.
//!
//! Each worker owns a database, tables with cascades, triggers, a FULLTEXT index and JSON documents, and a range of rows of one
//! shared table, and keeps a model of all. After
//! a kill, its data must equal the last acknowledged commit, or, where a COMMIT, an autocommitted statement or a
//! DDL statement was in flight, either side of it; never anything between. Of a transaction that was prepared (XA), the next start must know, unless
//! its end had been asked for; it is committed or rolled back then. Money moved between accounts of
//! all workers must add up. `millpond check` must find every page and tree clean. Each life of the server drops tables by
//! another `millpond_drop_algorithm`.
//!
//! `MILLPOND_KILL_ROUNDS` sets the number of rounds (default 15), `MILLPOND_KILL_SEED` repeats a run.

mod model;
mod related;
#[path = "../../../session/tests/support/rng.rs"]
mod rng;
#[path = "../support/server.rs"]
mod server;
mod worker;

use millpond_store::DropAlgorithm;
use server::Server;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use worker::Worker;

const WORKERS: usize = 4;

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

#[test]
fn sigkill_loses_nothing_acknowledged() {
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    let seed = env("MILLPOND_KILL_SEED", clock);
    let rounds = env("MILLPOND_KILL_ROUNDS", 15);
    println!("MILLPOND_KILL_SEED={seed} MILLPOND_KILL_ROUNDS={rounds}");
    let mut rng = rng::Rng(seed);
    let data = tempfile::tempdir().unwrap();

    let drop_algorithm = |round: u64| {
        let names = DropAlgorithm::NAMES;
        names[(seed.wrapping_add(round) % names.len() as u64) as usize]
    };
    let mut server = Server::start(data.path(), drop_algorithm(0));
    worker::create_shared(&mut server.connect(), WORKERS);
    let mut workers: Vec<Worker> = (0..WORKERS)
        .map(|i| Worker::new(i, rng.next(), &mut server.connect()))
        .collect();

    let (mut statements, mut commits, mut found) = (0, 0, 0);
    for round in 0..rounds {
        let running_for = Duration::from_millis(30 + rng.below(370));
        let started = Instant::now();
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut w| {
                let conn = server.connect();
                std::thread::spawn(move || {
                    w.run_until_cut(conn);
                    w
                })
            })
            .collect();
        // Not synchronisation: the length of life is the random variable of the experiment.
        std::thread::park_timeout(running_for.saturating_sub(started.elapsed()));
        server.kill();
        workers = threads.into_iter().map(|t| t.join().unwrap()).collect();

        if round % 5 == 4 {
            server::check(data.path());
        }
        server = Server::start(data.path(), drop_algorithm(round + 1));
        let mut conn = server.connect();
        for w in &mut workers {
            if let Err(e) = w.verify(&mut conn) {
                panic!("round {round}, seed {seed}, worker {}: {e}", w.id);
            }
        }
        worker::verify_accounts(&mut conn, WORKERS)
            .unwrap_or_else(|e| panic!("round {round}, seed {seed}: {e}"));
        statements = workers.iter().map(|w| w.statements).sum();
        commits = workers.iter().map(|w| w.commits).sum();
        found = workers.iter().map(|w| w.found).sum();
    }
    server.stop();
    server::check(data.path());
    println!(
        "{rounds} kills, {statements} statements, {commits} commits acknowledged, {found} found prepared"
    );
    assert!(commits > rounds, "the load must have got somewhere");
}
