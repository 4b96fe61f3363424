//! Those that are to answer the same: Millpond and MySQL, or Millpond twice, where the second prepares what it is asked. MariaDB is asked
//! besides, to count where it answers otherwise.

use super::compare::{Answer, Difference, ask, difference};
use super::known::Known;
use super::messages::in_our_words;
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
    /// MySQL's URL, and MariaDB's.
    peer: Option<String>,
    second: Option<String>,
    pair: Option<(Box<dyn Engine>, Box<dyn Engine>)>,
    /// MariaDB, until its database differs.
    mariadb: Option<Box<dyn Engine>>,
}

/// What a statement came to.
pub struct Verdict {
    pub failed: bool,
    /// From MySQL's answer, and whether a rule explains it.
    pub difference: Option<(Difference, bool)>,
    /// Whether MariaDB answers as Millpond does; `None` if it wasn't asked.
    pub as_mariadb: Option<bool>,
}

impl Twins {
    pub fn new() -> Twins {
        Twins {
            here: TestDb::new(),
            prepared: TestDb::new(),
            peer: std::env::var("MILLPOND_RANDOM_PEER").ok(),
            second: std::env::var("MILLPOND_RANDOM_SECOND").ok(),
            pair: None,
            mariadb: None,
        }
    }

    /// New sessions in an empty database.
    pub fn begin(&mut self) {
        // The sessions before first, with their locks.
        (self.pair, self.mariadb) = (None, None);
        let here: Box<dyn Engine> = Box::new(Embedded::connect(&self.here));
        let there: Box<dyn Engine> = match &self.peer {
            Some(url) => Box::new(Peer::connect(url)),
            None => Box::new(Preparing(Embedded::connect(&self.prepared))),
        };
        let mut pair = (here, there);
        let second = self.second.as_deref();
        let mut mariadb = second.map(|url| Box::new(Peer::connect(url)) as Box<dyn Engine>);
        for engine in [&mut pair.0, &mut pair.1].into_iter().chain(&mut mariadb) {
            for sql in [
                format!("DROP DATABASE IF EXISTS {DATABASE}"),
                format!("CREATE DATABASE {DATABASE} COLLATE utf8mb4_0900_ai_ci"),
                format!("USE {DATABASE}"),
            ] {
                engine.run(&sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            }
            // Not all have all.
            SETTINGS.iter().for_each(|sql| drop(engine.run(sql)));
        }
        if let Some(engine) = &mut mariadb {
            engine.run(ROUNDS).expect("a mode");
        }
        self.pair = Some(pair);
        self.mariadb = mariadb;
    }

    /// Another session on Millpond, whose questions leave no trace in the one under test.
    pub fn observer(&self) -> Embedded {
        let mut observer = Embedded::connect(&self.here);
        observer
            .run(&format!("USE {DATABASE}"))
            .expect("a database");
        observer
    }

    /// Runs a statement on all.
    pub fn run(&mut self, sql: &str, known: &Known) -> Verdict {
        let (here_engine, there_engine) = self.pair.as_mut().expect("begun");
        let mut engines: Vec<&mut dyn Engine> = vec![&mut **here_engine, &mut **there_engine];
        engines.extend(self.mariadb.iter_mut().map(|e| &mut **e as &mut dyn Engine));
        let mut answers = ask(engines, sql).into_iter();
        let (mut here, mut there) = (answers.next().expect("one"), answers.next().expect("two"));
        if let Err(f) = &here.outcome {
            assert!(![1105, 1815].contains(&f.code), "{sql}: {f:?}");
        }
        if std::env::var_os("MILLPOND_RANDOM_SHOW").is_some() {
            let error = here.outcome.as_ref().err();
            let error = error.map(|e| format!("-- {} {}", e.code, e.message));
            println!("{sql};\n{}", error.unwrap_or_default());
        }
        let as_mariadb = answers.next().map(|a| self.as_mariadb(sql, &here, a));
        if self.peer.is_some() {
            known.leave_out(sql, &mut here, &mut there);
        }
        let difference = difference(&here, &there).map(|d| {
            let is_known = self.peer.is_some() && known.is(sql, &d);
            (d, is_known)
        });
        Verdict {
            failed: here.outcome.is_err(),
            difference,
            as_mariadb,
        }
    }

    /// Whether MariaDB answers the same. Where its database is another one from now on it is asked no more.
    fn as_mariadb(&mut self, sql: &str, here: &Answer, mut there: Answer) -> bool {
        if sql.starts_with("SET sql_mode")
            && let Some(engine) = &mut self.mariadb
        {
            engine.run(ROUNDS).expect("a mode");
        }
        let mut here = here.clone();
        in_our_words(&mut here);
        in_our_words(&mut there);
        let difference = difference(&here, &there);
        let reads = ["SELECT", "SHOW", "DO "].iter().any(|w| sql.starts_with(w));
        if !reads && difference.as_ref().is_some_and(Difference::deep) {
            self.mariadb = None;
        }
        difference.is_none()
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
        let warned = self.0.run("PREPARE prepared FROM @prepared")?.warnings;
        if warned > 0 {
            // Of what is deprecated EXECUTE doesn't warn again.
            return self.0.run(sql);
        }
        self.0.run("EXECUTE prepared")
    }
}
