//! Isolation, watched from outside: clients append to lists and move money at each of the four levels, beside statements that change
//! definitions, KILL and a SIGKILL of the server, and what they saw is held against what the level allows.
//!
//! `check` says what that is; the checker itself is tested with histories written by hand. The bank (`bank`) adds ranges and
//! rows that come and go.
//!
//! `MILLPOND_ISOLATION_SECONDS` says how long (8 unless told), `MILLPOND_ISOLATION_SEED` repeats the choices, and
//! `MILLPOND_ISOLATION_PEER` names another server (a URL), which is not killed: what the checker says of InnoDB.

mod bank;
mod beside;
mod check;
mod client;
mod graph;
mod history;
mod known;
#[path = "../../../session/tests/support/rng.rs"]
mod rng;
#[path = "../support/server.rs"]
mod server;

use check::Summary;
use client::{Client, Shared, TABLES};
use history::{History, Key, Level, Txn};
use millpond_store::DropAlgorithm;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};
use rng::Rng;
use server::Server;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CLIENTS: usize = 8;
/// How long the clients of a history run.
const HISTORY: Duration = Duration::from_secs(2);

fn env(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn algorithm(rng: &mut Rng) -> &'static str {
    let names = DropAlgorithm::NAMES;
    names[rng.below(names.len() as u64) as usize]
}

/// Where the histories are made.
enum Target {
    Millpond(Option<Server>, tempfile::TempDir),
    Peer(OptsBuilder),
}

impl Target {
    fn opts(&self) -> OptsBuilder {
        match self {
            Target::Millpond(server, _) => server.as_ref().expect("it runs").opts(),
            Target::Peer(opts) => opts.clone(),
        }
    }

    /// SIGKILL and a new start, with another way to drop tables.
    fn kill(&mut self, rng: &mut Rng) {
        if let Target::Millpond(server, data) = self {
            server.take().expect("it runs").kill();
            let mut next = Server::start(data.path(), algorithm(rng));
            next.connect();
            *server = Some(next);
        }
    }
}

#[test]
fn only_what_the_level_allows() {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = env("MILLPOND_ISOLATION_SEED", clock.as_nanos() as u64);
    let seconds = env("MILLPOND_ISOLATION_SECONDS", 8);
    println!("MILLPOND_ISOLATION_SEED={seed} MILLPOND_ISOLATION_SECONDS={seconds}");
    let mut rng = Rng(seed);
    let mut target = match std::env::var("MILLPOND_ISOLATION_PEER") {
        Ok(url) => Target::Peer(OptsBuilder::from_opts(Opts::from_url(&url).unwrap())),
        Err(_) => {
            let data = tempfile::tempdir().unwrap();
            let server = Server::start(data.path(), algorithm(&mut rng));
            Target::Millpond(Some(server), data)
        }
    };
    let began = Instant::now();
    let mut sums: HashMap<&str, (usize, Summary)> = HashMap::new();
    while began.elapsed().as_secs() < seconds {
        for level in Level::ALL {
            let history = make(level, &mut target, &mut rng);
            let summary = check::check(&history).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            let (histories, sum) = sums.entry(level.sql()).or_default();
            *histories += 1;
            sum.committed += summary.committed;
            sum.reads += summary.reads;
            sum.allowed += summary.allowed;
            sum.unknown.0 += summary.unknown.0;
            sum.unknown.1 += summary.unknown.1;
        }
    }
    for level in Level::ALL {
        let (histories, s) = &sums[level.sql()];
        println!(
            "{}: {histories} histories, {} commits and {} reads of lists agree, {} of {} commits without an answer found, {} commits no serial order has",
            level.sql(),
            s.committed,
            s.reads,
            s.unknown.0,
            s.unknown.1,
            s.allowed
        );
        assert!(s.committed > 100, "the clients must have got somewhere");
    }
    if let Target::Millpond(Some(server), data) = target {
        server.stop();
        server::check(data.path());
    }
}

fn make(level: Level, target: &mut Target, rng: &mut Rng) -> History {
    let mut conn = match target {
        Target::Millpond(server, _) => server.as_mut().expect("it runs").connect(),
        Target::Peer(opts) => Conn::new(opts.clone()).unwrap(),
    };
    set_up(&mut conn);
    let shared = Shared::new(level, target.opts());
    let dies = Duration::from_millis(200 + rng.below(HISTORY.as_millis() as u64 - 200));
    let seeds: Vec<u64> = (0..=CLIENTS).map(|_| rng.next()).collect();
    let txns = std::thread::scope(|s| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|id| {
                let mut client = Client::new(&shared, id, Rng(seeds[id]));
                s.spawn(move || {
                    client.run();
                    (client.txns, client.wrong)
                })
            })
            .collect();
        let definitions = s.spawn(|| beside::run(&shared, Rng(seeds[CLIENTS])));
        // Not synchronisation: how long the server lives, and the clients run, is part of the experiment.
        std::thread::park_timeout(dies.saturating_sub(shared.began.elapsed()));
        target.kill(rng);
        std::thread::park_timeout(HISTORY.saturating_sub(shared.began.elapsed()));
        shared.stop.store(true, Ordering::Relaxed);
        let mut txns: Vec<Txn> = Vec::new();
        for client in clients {
            let (of_client, wrong) = client.join().unwrap();
            if let Some(wrong) = wrong {
                panic!("{}: {wrong}", level.sql());
            }
            txns.extend(of_client);
        }
        definitions.join().unwrap();
        txns
    });
    let mut conn = Conn::new(target.opts()).unwrap();
    conn.query_drop("USE isolation").unwrap();
    let lists = lists(&mut conn);
    History { level, txns, lists }
}

fn set_up(conn: &mut Conn) {
    let mut statements = vec![
        "DROP DATABASE IF EXISTS isolation".into(),
        "CREATE DATABASE isolation".into(),
        "USE isolation".into(),
        "CREATE TABLE account (id INT PRIMARY KEY, owner INT NOT NULL, balance INT NOT NULL, KEY owner (owner, balance))".into(),
        bank::fill(),
    ];
    for t in 0..TABLES {
        statements.push(format!(
            "CREATE TABLE list{t} (id INT PRIMARY KEY, sk INT NOT NULL, n INT NOT NULL, v TEXT NOT NULL, KEY sk (sk, n))"
        ));
    }
    for sql in statements {
        conn.query_drop(sql).unwrap();
    }
}

/// All lists, and all money, once whoever was killed in the middle is gone too: shared locks wait for that.
fn lists(conn: &mut Conn) -> HashMap<Key, Vec<u32>> {
    let total: i64 = (conn.query_first("SELECT SUM(balance) FROM account LOCK IN SHARE MODE"))
        .unwrap()
        .unwrap();
    assert_eq!(total, bank::TOTAL, "money in the end");
    let mut lists = HashMap::new();
    for t in 0..TABLES {
        let rows: Vec<(Key, usize, String)> = conn
            .query(format!("SELECT id, n, v FROM list{t} LOCK IN SHARE MODE"))
            .unwrap();
        for (key, n, v) in rows {
            let list = client::elements(&v);
            assert_eq!(list.len(), n, "list {key}");
            lists.insert(key, list);
        }
    }
    lists
}
