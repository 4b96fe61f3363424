//! A client that runs random transactions and writes down what it saw.

use crate::bank;
use crate::history::{Element, Interval, Key, Level, Op, Outcome, Seen, Txn};
use crate::rng::Rng;
use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Error, OptsBuilder, Params, Value, from_value};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The lists lie in this many tables, by the remainder of their key.
pub const TABLES: u32 = 3;
/// How many lists are appended to at a time, and how long each gets, about.
const ACTIVE: u32 = 6;
const LENGTH: u32 = 40;

/// What the clients of a history have in common.
pub struct Shared {
    pub level: Level,
    pub opts: OptsBuilder,
    pub began: Instant,
    pub stop: AtomicBool,
    next_element: AtomicU32,
    /// The clients' connections, for those who kill some.
    pub connections: Mutex<BTreeMap<usize, u32>>,
}

impl Shared {
    pub fn new(level: Level, opts: OptsBuilder) -> Shared {
        Shared {
            level,
            opts,
            began: Instant::now(),
            stop: AtomicBool::new(false),
            next_element: AtomicU32::new(1),
            connections: Mutex::default(),
        }
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }
}

/// Why a statement has no answer.
pub enum Failed {
    /// The server refused; the transaction may be gone.
    Refused,
    /// The connection is gone.
    Cut,
}

pub struct Client<'a> {
    pub shared: &'a Shared,
    pub rng: Rng,
    pub txns: Vec<Txn>,
    /// What can't be, found by a transaction itself.
    pub wrong: Option<String>,
    id: usize,
    conn: Option<Conn>,
}

impl<'a> Client<'a> {
    pub fn new(shared: &'a Shared, id: usize, rng: Rng) -> Client<'a> {
        Client {
            shared,
            rng,
            txns: Vec::new(),
            wrong: None,
            id,
            conn: None,
        }
    }

    /// Works until all are to stop, or something is wrong.
    pub fn run(&mut self) {
        while !self.shared.stopped() && self.wrong.is_none() {
            if self.conn.is_none() {
                self.connect();
                continue;
            }
            if self.rng.below(4) == 0 {
                let _ = bank::transaction(self);
            } else {
                let txn = self.transaction();
                self.txns.push(txn);
            }
        }
    }

    fn connect(&mut self) {
        let Ok(mut conn) = Conn::new(self.shared.opts.clone()) else {
            std::thread::park_timeout(Duration::from_millis(5));
            return;
        };
        let level = self.shared.level.sql();
        let setup = [
            "USE isolation".into(),
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
            "SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 2".into(),
        ];
        if setup.iter().all(|sql| conn.query_drop(sql).is_ok()) {
            let id = conn.connection_id();
            self.shared.connections.lock().unwrap().insert(self.id, id);
            self.conn = Some(conn);
        }
    }

    fn sort_out<T>(&mut self, sql: &str, result: Result<T, Error>) -> Result<T, Failed> {
        result.map_err(|e| match e {
            // The server, or the connection, is on its way down.
            Error::MySqlError(e) if [1053, 1927, 2013].contains(&e.code) => self.cut(),
            // A duplicate key (two inserted a list at a time), a lock that took too long, a deadlock, KILL QUERY, a table whose definition
            // changed after the read view was made.
            Error::MySqlError(e) if [1062, 1205, 1213, 1317, 1412].contains(&e.code) => {
                Failed::Refused
            }
            Error::MySqlError(e) => {
                self.wrong = Some(format!("error {}: {}, to {sql}", e.code, e.message));
                Failed::Refused
            }
            _ => self.cut(),
        })
    }

    fn cut(&mut self) -> Failed {
        self.shared.connections.lock().unwrap().remove(&self.id);
        self.conn = None;
        Failed::Cut
    }

    /// Runs a statement, as text or prepared; its parameters are numbers.
    pub fn ask<T: FromRow>(
        &mut self,
        sql: &str,
        params: &[i64],
    ) -> Result<(Vec<T>, Interval), Failed> {
        let prepared = !params.is_empty() && self.rng.below(2) == 0;
        let from = self.shared.now();
        let Some(conn) = &mut self.conn else {
            return Err(Failed::Cut);
        };
        let result = if prepared {
            let params = params.iter().map(|p| Value::Int(*p)).collect();
            conn.exec(sql, Params::Positional(params))
        } else {
            let mut pieces = sql.split('?');
            let mut text = pieces.next().unwrap_or_default().to_string();
            for (piece, param) in pieces.zip(params) {
                text += &param.to_string();
                text += piece;
            }
            conn.query(text)
        };
        let interval = (from, self.shared.now());
        Ok((self.sort_out(sql, result)?, interval))
    }

    pub fn run_sql(&mut self, sql: &str, params: &[i64]) -> Result<Interval, Failed> {
        self.ask::<mysql::Row>(sql, params)
            .map(|(_, interval)| interval)
    }

    /// Rows that the last statement changed.
    pub fn affected(&self) -> u64 {
        self.conn.as_ref().map_or(0, Conn::affected_rows)
    }

    /// Ends what is open after a refusal.
    pub fn roll_back(&mut self) {
        let _ = self.run_sql("ROLLBACK", &[]);
    }

    fn transaction(&mut self) -> Txn {
        let mut txn = Txn::new();
        if self.rng.below(6) == 0 {
            self.autocommitted(&mut txn);
            return txn;
        }
        match self.operations(&mut txn) {
            Ok(()) => self.commit(&mut txn),
            Err(Failed::Refused) => self.roll_back(),
            Err(Failed::Cut) => {}
        }
        txn
    }

    fn autocommitted(&mut self, txn: &mut Txn) {
        let appends = self.rng.below(2) == 0;
        let from = self.shared.now();
        let done = if appends {
            self.append(txn, true)
        } else {
            self.read(txn)
        };
        txn.commit = (from, self.shared.now());
        txn.outcome = match done {
            Ok(()) => Outcome::Committed,
            Err(Failed::Cut) if appends => {
                txn.commit.1 = u64::MAX;
                Outcome::Unknown
            }
            // It may have been done before the kill was noticed.
            Err(Failed::Refused) if appends => {
                txn.commit.1 = u64::MAX;
                Outcome::Unknown
            }
            Err(_) => Outcome::Aborted,
        };
    }

    fn operations(&mut self, txn: &mut Txn) -> Result<(), Failed> {
        if self.shared.level == Level::RepeatableRead && self.rng.below(4) == 0 {
            txn.snapshot = Some(self.run_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT", &[])?);
        } else {
            self.run_sql("BEGIN", &[])?;
        }
        let mut savepoint = false;
        for _ in 0..1 + self.rng.below(5) {
            match self.rng.below(16) {
                // Before InnoDB has begun there is nothing to go back to: it would end its transaction, with locks and read view.
                0 if !txn.ops.is_empty() => {
                    self.run_sql("SAVEPOINT s", &[])?;
                    txn.ops.push(Op::Savepoint);
                    savepoint = true;
                }
                1 if savepoint => {
                    self.run_sql("ROLLBACK TO SAVEPOINT s", &[])?;
                    txn.ops.push(Op::RollbackToSavepoint);
                }
                2..9 => self.append(txn, false)?,
                _ => self.read(txn)?,
            }
        }
        Ok(())
    }

    fn commit(&mut self, txn: &mut Txn) {
        if self.rng.below(12) == 0 {
            return self.roll_back();
        }
        let from = self.shared.now();
        match self.run_sql("COMMIT", &[]) {
            Ok(interval) => (txn.outcome, txn.commit) = (Outcome::Committed, interval),
            Err(_) => (txn.outcome, txn.commit) = (Outcome::Unknown, (from, u64::MAX)),
        }
    }

    fn key(&mut self) -> Key {
        let window = self.shared.next_element.load(Ordering::Relaxed) / LENGTH;
        window + self.rng.below(u64::from(ACTIVE)) as u32
    }

    fn append(&mut self, txn: &mut Txn, alone: bool) -> Result<(), Failed> {
        let key = self.key();
        let element: Element = self.shared.next_element.fetch_add(1, Ordering::Relaxed);
        // Before it is sent: whoever sees it must find its writer, whatever comes of it.
        txn.ops.push(Op::Append(key, element));
        let (t, k, e) = (key % TABLES, i64::from(key), i64::from(element));
        let by = match self.rng.below(3) {
            0 => "id",
            1 => "sk",
            _ => "",
        };
        if !alone && !by.is_empty() {
            let update =
                format!("UPDATE list{t} SET n = n + 1, v = CONCAT(v, ',', ?) WHERE {by} = ?");
            self.run_sql(&update, &[e, k])?;
            if self.affected() > 0 {
                return Ok(());
            }
            let insert = format!("INSERT INTO list{t} (id, sk, n, v) VALUES (?, ?, 1, ?)");
            return self.run_sql(&insert, &[k, k, e]).map(drop);
        }
        let either = format!(
            "INSERT INTO list{t} (id, sk, n, v) VALUES (?, ?, 1, ?) ON DUPLICATE KEY UPDATE n = n + 1, v = CONCAT(v, ',', ?)"
        );
        self.run_sql(&either, &[k, k, e, e]).map(drop)
    }

    fn read(&mut self, txn: &mut Txn) -> Result<(), Failed> {
        let a = self.key();
        let (t, k) = (a % TABLES, i64::from(a));
        let lock = match self.rng.below(5) {
            0 => " FOR UPDATE",
            1 => " LOCK IN SHARE MODE",
            _ => "",
        };
        let (keys, sql, params) = match self.rng.below(6) {
            0 => (
                vec![a],
                format!("SELECT id, v FROM list{t} WHERE id = ?{lock}"),
                vec![k],
            ),
            1 => (
                vec![a],
                format!("SELECT id, v FROM list{t} WHERE sk = ?{lock}"),
                vec![k],
            ),
            2 => (
                vec![a],
                format!("SELECT sk, n FROM list{t} WHERE sk = ?{lock}"),
                vec![k],
            ),
            3 => {
                let keys: Vec<Key> = (0..3).map(|i| a + i * TABLES).collect();
                let sql = format!("SELECT id, v FROM list{t} WHERE id BETWEEN ? AND ?{lock}");
                (keys, sql, vec![k, k + 2 * i64::from(TABLES)])
            }
            4 => {
                let keys: Vec<Key> = (0..3).map(|i| a + i * TABLES).collect();
                let sql = format!(
                    "SELECT sk, n FROM list{t} WHERE sk >= ? AND sk <= ? ORDER BY sk DESC{lock}"
                );
                (keys, sql, vec![k, k + 2 * i64::from(TABLES)])
            }
            _ => {
                // Tables of one statement are read at one moment, if plainly.
                let b = a + 1;
                let u = b % TABLES;
                let sql = format!(
                    "SELECT id, v FROM list{t} WHERE id = ? UNION ALL SELECT id, v FROM list{u} WHERE id = ?"
                );
                (vec![a, b], sql, vec![k, k + 1])
            }
        };
        let locking = sql.ends_with(" FOR UPDATE") || sql.ends_with(" LOCK IN SHARE MODE");
        let (rows, interval): (Vec<(Key, Value)>, _) = self.ask(&sql, &params)?;
        let found: BTreeMap<Key, Value> = rows.into_iter().collect();
        let lists = keys.iter().map(|key| (*key, seen(found.get(key), &sql)));
        let lists = lists.collect();
        if !locking && txn.snapshot.is_none() {
            txn.snapshot = Some(interval);
        }
        txn.ops.push(Op::Read {
            locking,
            lists,
            interval,
        });
        Ok(())
    }
}

fn seen(column: Option<&Value>, sql: &str) -> Seen {
    match column {
        None => Seen::List(Vec::new()),
        Some(n) if sql.starts_with("SELECT sk") => Seen::Length(from_value(n.clone())),
        Some(v) => Seen::List(elements(&from_value::<String>(v.clone()))),
    }
}

pub fn elements(v: &str) -> Vec<Element> {
    let numbers = v.split(',').map(|e| e.parse().expect("numbers"));
    numbers.collect()
}
