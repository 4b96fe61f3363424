//! The two that are to answer the same: Millpond and a peer, or Millpond twice, where the second prepares what it is asked.

use super::compare::{Difference, ask, difference};
use super::known::Known;
use crate::engine::{Embedded, Engine, Failure, Outcome, Peer};
use crate::support::TestDb;

const DATABASE: &str = "rs";
/// What the servers' defaults differ in.
const SETTINGS: &[&str] = &[
    "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
    "SET timestamp = 1700000000.123456",
    "SET group_concat_max_len = 1024",
    "SET max_error_count = 64",
    "SET max_recursive_iterations = 1000",
    "SET cte_max_recursion_depth = 1000",
    "SET innodb_lock_wait_timeout = 1",
];

/// MySQL rounds fractions of seconds, MariaDB if it is told to.
const ROUNDS: &str = "SET sql_mode = CONCAT(@@sql_mode, ',TIME_ROUND_FRACTIONAL')";

pub struct Twins {
    here: TestDb,
    /// Where the statements are prepared.
    prepared: TestDb,
    peer: Option<String>,
    pair: Option<(Box<dyn Engine>, Box<dyn Engine>)>,
}

impl Twins {
    pub fn new() -> Twins {
        Twins {
            here: TestDb::new(),
            prepared: TestDb::new(),
            peer: std::env::var("MILLPOND_RANDOM_PEER").ok(),
            pair: None,
        }
    }

    /// New sessions in an empty database.
    pub fn begin(&mut self) {
        // The sessions before first, with their locks.
        self.pair = None;
        let here: Box<dyn Engine> = Box::new(Embedded::connect(&self.here));
        let there: Box<dyn Engine> = match &self.peer {
            Some(url) => Box::new(Peer::connect(url)),
            None => Box::new(Preparing(Embedded::connect(&self.prepared))),
        };
        let mut pair = (here, there);
        for engine in [&mut pair.0, &mut pair.1] {
            for sql in [
                format!("DROP DATABASE IF EXISTS {DATABASE}"),
                format!("CREATE DATABASE {DATABASE} COLLATE utf8mb4_0900_ai_ci"),
                format!("USE {DATABASE}"),
            ] {
                engine.run(&sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            }
            // Not both have all.
            SETTINGS.iter().for_each(|sql| drop(engine.run(sql)));
        }
        if self.peer.is_some() {
            pair.1.run(ROUNDS).expect("a mode");
        }
        self.pair = Some(pair);
    }

    /// Another session on Millpond, whose questions leave no trace in the one under test.
    pub fn observer(&self) -> Embedded {
        let mut observer = Embedded::connect(&self.here);
        observer
            .run(&format!("USE {DATABASE}"))
            .expect("a database");
        observer
    }

    /// Runs a statement on both. Gives whether it failed, and a difference with whether that is known.
    pub fn run(&mut self, sql: &str, known: &Known) -> (bool, Option<(Difference, bool)>) {
        let peer = self.peer.is_some();
        let (here_engine, there_engine) = self.pair.as_mut().expect("begun");
        let [mut here, mut there] = ask([&mut **here_engine, &mut **there_engine], sql);
        if let Err(f) = &here.outcome {
            assert!(![1105, 1815].contains(&f.code), "{sql}: {f:?}");
        }
        if peer && sql.starts_with("SET sql_mode") {
            there_engine.run(ROUNDS).expect("a mode");
        }
        if std::env::var_os("MILLPOND_RANDOM_SHOW").is_some() {
            let error = here.outcome.as_ref().err();
            let error = error.map(|e| format!("-- {} {}", e.code, e.message));
            println!("{sql};\n{}", error.unwrap_or_default());
        }
        if peer {
            known.leave_out(sql, &mut here, &mut there);
        }
        let difference = difference(&here, &there);
        let judged = difference.map(|d| {
            let is_known = peer && known.is(sql, &d);
            (d, is_known)
        });
        (here.outcome.is_err(), judged)
    }
}

/// A session that prepares what can be prepared.
struct Preparing(Embedded);

impl Engine for Preparing {
    fn run(&mut self, sql: &str) -> Result<Outcome, Failure> {
        let word = sql
            .split_whitespace()
            .next()
            .unwrap_or("")
            .to_ascii_uppercase();
        let can = [
            "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "DO", "WITH", "VALUES",
        ];
        // What was before is gone with PREPARE.
        let before = ["ROW_COUNT", "FOUND_ROWS", "@@warning_count"];
        if !can.contains(&word.as_str()) || before.iter().any(|b| sql.contains(b)) {
            return self.0.run(sql);
        }
        // In hexadecimal digits, which mean the same in every sql_mode.
        let digits: String = sql.bytes().map(|b| format!("{b:02x}")).collect();
        self.0.run(&format!(
            "SET @prepared = CONVERT(X'{digits}' USING utf8mb4)"
        ))?;
        self.0.run("PREPARE prepared FROM @prepared")?;
        self.0.run("EXECUTE prepared")
    }
}
