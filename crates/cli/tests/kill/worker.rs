//! A client that changes things at random and remembers what was acknowledged.

use crate::model::{Rows, Table, World};
use crate::related::{self, Related};
use crate::rng::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, Error};

/// Ids of a worker's own rows in a table.
const IDS: u64 = 400;
/// Distance between the workers' id ranges in the shared table.
const STRIDE: i64 = 1_000_000;
const ACCOUNT_MONEY: i64 = 1000;

pub struct Worker {
    pub id: usize,
    pub statements: u64,
    pub commits: u64,
    /// Transactions that the server has found prepared.
    pub found: u64,
    rng: Rng,
    /// Surely committed.
    committed: World,
    /// Possibly committed: a commit was in flight when the server died.
    maybe: Option<World>,
    prepared: Option<Prepared>,
    next_name: u64,
}

/// A transaction on its way through two-phase commit.
struct Prepared {
    xid: String,
    /// What there is once it is committed.
    after: World,
    /// XA PREPARE was acknowledged.
    sure: bool,
    /// What was asked for then, if anything: to commit it or not.
    ending: Option<bool>,
}

/// What a statement attempt came to.
enum Did {
    Done,
    /// The transaction is gone (deadlock, timeout with rollback), the server is not.
    RolledBack,
    Cut,
}

fn outcome(r: Result<(), Error>) -> Did {
    match r {
        Ok(()) => Did::Done,
        Err(Error::MySqlError(e)) if e.code == 1213 || e.code == 1205 => Did::RolledBack,
        // What a dying server may still say: it is going down, the statement was interrupted.
        Err(Error::MySqlError(e)) if [1053, 1317, 2013].contains(&e.code) => Did::Cut,
        Err(Error::MySqlError(e)) => panic!("unexpected error {}: {}", e.code, e.message),
        Err(_) => Did::Cut,
    }
}

impl Worker {
    pub fn new(id: usize, seed: u64, conn: &mut Conn) -> Worker {
        conn.query_drop(format!("CREATE DATABASE w{id}")).unwrap();
        related::create(conn, id);
        let (rng, committed) = (Rng(seed), World::default());
        Worker {
            id,
            statements: 0,
            commits: 0,
            found: 0,
            rng,
            committed,
            maybe: None,
            prepared: None,
            next_name: 0,
        }
    }

    /// Works until the connection breaks.
    pub fn run_until_cut(&mut self, mut conn: Conn) {
        if conn.query_drop(format!("USE w{}", self.id)).is_err() {
            return;
        }
        while !matches!(self.step(&mut conn), Did::Cut) {}
    }

    fn step(&mut self, conn: &mut Conn) -> Did {
        match self.rng.below(20) {
            0..3 => self.ddl(conn),
            3..5 => self.transfer(conn),
            5..13 => self.transaction(conn),
            _ => {
                let mut world = self.committed.clone();
                let Some(sql) = self.change(&mut world) else {
                    return Did::Done;
                };
                self.committing(conn, &sql, world)
            }
        }
    }

    /// Runs a statement that commits by itself and moves the model to `after`.
    fn committing(&mut self, conn: &mut Conn, sql: &str, after: World) -> Did {
        self.statements += 1;
        self.maybe = Some(after);
        let did = outcome(conn.query_drop(sql));
        match did {
            Did::Done => {
                self.committed = self.maybe.take().expect("set above");
                self.commits += 1;
            }
            Did::RolledBack => self.maybe = None,
            Did::Cut => {}
        }
        did
    }

    fn transaction(&mut self, conn: &mut Conn) -> Did {
        let mut world = self.committed.clone();
        let xid = (self.rng.below(3) == 0).then(|| format!("w{}-{}", self.id, self.statements));
        let begin = match &xid {
            Some(xid) => format!("XA START '{xid}'"),
            None => "BEGIN".into(),
        };
        if !matches!(outcome(conn.query_drop(begin)), Did::Done) {
            return Did::Cut;
        }
        let mut saved = None;
        for _ in 0..1 + self.rng.below(12) {
            let sql = match self.rng.below(12) {
                0 => {
                    saved = Some(world.clone());
                    "SAVEPOINT s".to_string()
                }
                1 if saved.is_some() => {
                    world = saved.clone().expect("just seen");
                    "ROLLBACK TO s".to_string()
                }
                _ => match self.change(&mut world) {
                    Some(sql) => sql,
                    None => continue,
                },
            };
            self.statements += 1;
            match outcome(conn.query_drop(&sql)) {
                Did::Done => {}
                Did::RolledBack => return give_up(conn, xid.as_deref()),
                Did::Cut => return Did::Cut,
            }
        }
        if self.rng.below(6) == 0 {
            return give_up(conn, xid.as_deref());
        }
        match xid {
            Some(xid) => self.two_phases(conn, xid, world),
            None => self.committing(conn, "COMMIT", world),
        }
    }

    fn two_phases(&mut self, conn: &mut Conn, xid: String, after: World) -> Did {
        if !matches!(
            outcome(conn.query_drop(format!("XA END '{xid}'"))),
            Did::Done
        ) {
            return Did::Cut;
        }
        let prepare = format!("XA PREPARE '{xid}'");
        let commit = self.rng.below(3) > 0;
        let end = if commit { "COMMIT" } else { "ROLLBACK" };
        let end = format!("XA {end} '{xid}'");
        let prepared = self.prepared.insert(Prepared {
            xid,
            after: after.clone(),
            sure: false,
            ending: None,
        });
        match outcome(conn.query_drop(prepare)) {
            Did::Done => prepared.sure = true,
            did => return did,
        }
        prepared.ending = Some(commit);
        let did = match commit {
            true => self.committing(conn, &end, after),
            false => outcome(conn.query_drop(end)),
        };
        if matches!(did, Did::Done) {
            self.prepared = None;
        }
        did
    }

    /// A random change to one of the worker's tables or its part of the shared one.
    fn change(&mut self, world: &mut World) -> Option<String> {
        if self.rng.below(3) == 0 {
            return world.related.change(&mut self.rng, self.id);
        }
        let tables: Vec<String> = world.tables.keys().cloned().collect();
        let pick = self.rng.below(tables.len() as u64 + 1) as usize;
        let base = if pick == tables.len() {
            self.id as i64 * STRIDE
        } else {
            0
        };
        let (name, rows): (String, &mut Rows) = match tables.get(pick) {
            Some(t) => (
                t.clone(),
                &mut world.tables.get_mut(t).expect("its key").rows,
            ),
            None => ("shared.t".into(), &mut world.shared),
        };
        let id = base + self.rng.below(IDS) as i64;
        let (k, len) = (self.rng.below(50) as i64, 1 + self.rng.below(400) as usize);
        // Now and then a row that needs overflow pages.
        let len = if self.rng.below(60) == 0 {
            20_000 + len
        } else {
            len
        };
        let c = char::from(b'a' + self.rng.below(26) as u8)
            .to_string()
            .repeat(len);
        Some(match self.rng.below(10) {
            0..3 => {
                let mut values = Vec::new();
                for i in id..id + 1 + self.rng.below(8) as i64 {
                    rows.insert(i, (k, c.clone()));
                    values.push(format!("({i},{k},'{c}')"));
                }
                format!("REPLACE INTO {name} VALUES {}", values.join(","))
            }
            3..6 => {
                if let Some(row) = rows.get_mut(&id) {
                    row.0 = k;
                    row.1.clone_from(&c);
                }
                format!("UPDATE {name} SET k = {k}, c = '{c}' WHERE id = {id}")
            }
            6 => {
                let end = id + self.rng.below(40) as i64;
                for (_, row) in rows.range_mut(id..=end) {
                    row.0 += 1;
                }
                format!("UPDATE {name} SET k = k + 1 WHERE id BETWEEN {id} AND {end}")
            }
            7 => {
                rows.remove(&id);
                format!("DELETE FROM {name} WHERE id = {id}")
            }
            8 => {
                let end = base + IDS as i64;
                rows.retain(|i, row| !(*i >= base && *i <= end && row.0 == k));
                format!("DELETE FROM {name} WHERE k = {k} AND id BETWEEN {base} AND {end}")
            }
            _ => {
                rows.entry(id).or_insert((k, c.clone())).0 = k;
                format!(
                    "INSERT INTO {name} VALUES ({id},{k},'{c}') ON DUPLICATE KEY UPDATE k = {k}"
                )
            }
        })
    }

    fn ddl(&mut self, conn: &mut Conn) -> Did {
        let mut world = self.committed.clone();
        let tables: Vec<String> = world.tables.keys().cloned().collect();
        let sql = if tables.len() < 2 || (tables.len() < 6 && self.rng.below(3) == 0) {
            self.next_name += 1;
            let name = format!("t{}", self.next_name);
            let mut table = Table::default();
            if self.rng.below(3) == 0 {
                table.ends = vec![100, 200, 300, i64::MAX];
            }
            let by = match table.ends.as_slice() {
                [] => String::new(),
                ends => format!(" PARTITION BY RANGE (id) ({})", definitions(ends)),
            };
            world.tables.insert(name.clone(), table);
            format!(
                "CREATE TABLE {name} (id INT PRIMARY KEY, k INT NOT NULL, c TEXT, KEY k (k)){by}"
            )
        } else {
            let name = tables[self.rng.below(tables.len() as u64) as usize].clone();
            let table = world.tables.get_mut(&name).expect("its key");
            match self.rng.below(5) {
                1..4 if table.ends.len() > 1 => change_partitions(&mut self.rng, &name, table),
                0 => {
                    world.tables.remove(&name);
                    format!("DROP TABLE {name}")
                }
                1 => {
                    world.tables.get_mut(&name).expect("its key").rows.clear();
                    format!("TRUNCATE TABLE {name}")
                }
                2 => {
                    self.next_name += 1;
                    let to = format!("t{}", self.next_name);
                    let table = world.tables.remove(&name).expect("its key");
                    world.tables.insert(to.clone(), table);
                    format!("RENAME TABLE {name} TO {to}")
                }
                _ => {
                    let table = world.tables.get_mut(&name).expect("its key");
                    table.indexed = !table.indexed;
                    match table.indexed {
                        true => format!("CREATE INDEX extra ON {name} (k, id)"),
                        false => format!("DROP INDEX extra ON {name}"),
                    }
                }
            }
        };
        self.committing(conn, &sql, world)
    }

    /// Moves money between two accounts: workers meet here, deadlocks included.
    fn transfer(&mut self, conn: &mut Conn) -> Did {
        let n = self.rng.below(9) as i64 + 1;
        let (from, to) = (self.rng.below(8), self.rng.below(8));
        self.statements += 2;
        let r = conn
            .query_drop("BEGIN")
            .and_then(|()| {
                let sql =
                    format!("UPDATE shared.accounts SET money = money - {n} WHERE id = {from}");
                conn.query_drop(sql)
            })
            .and_then(|()| {
                let sql = format!("UPDATE shared.accounts SET money = money + {n} WHERE id = {to}");
                conn.query_drop(sql)
            })
            .and_then(|()| conn.query_drop("COMMIT"));
        match outcome(r) {
            Did::RolledBack => outcome(conn.query_drop("ROLLBACK")),
            did => did,
        }
    }

    /// Ends the transaction that the server has found prepared, if it may have, and must have where nobody had asked for its end.
    fn settle_prepared(&mut self, conn: &mut Conn) -> Result<(), String> {
        let all: Vec<(i64, i64, i64, String)> =
            conn.query("XA RECOVER").map_err(|e| e.to_string())?;
        let mine = format!("w{}-", self.id);
        let mut found = all.into_iter().map(|row| row.3);
        let found = found.find(|xid| xid.starts_with(&mine));
        let (prepared, xid) = match (self.prepared.take(), found) {
            (None, None) => return Ok(()),
            (Some(p), Some(xid)) if p.xid == xid => (p, xid),
            (Some(p), None) if !p.sure => return Ok(()),
            (Some(p), None) if p.ending.is_some() => {
                if p.ending == Some(true) {
                    self.committed = p.after;
                }
                self.maybe = None;
                return Ok(());
            }
            (p, found) => {
                let wanted = p.map(|p| p.xid);
                return Err(format!("prepared are {found:?} instead of {wanted:?}"));
            }
        };
        self.found += 1;
        let commit = self.rng.below(2) == 0;
        let end = if commit { "COMMIT" } else { "ROLLBACK" };
        conn.query_drop(format!("XA {end} '{xid}'"))
            .map_err(|e| e.to_string())?;
        if commit {
            self.committed = prepared.after;
        }
        self.maybe = None;
        Ok(())
    }

    /// Compares the database with the model and settles what was in doubt.
    pub fn verify(&mut self, conn: &mut Conn) -> Result<(), String> {
        self.settle_prepared(conn)?;
        let found = self.read(conn)?;
        if found == self.committed {
            self.maybe = None;
            return Ok(());
        }
        let doubt = match self.maybe.take() {
            Some(maybe) if maybe == found => {
                self.committed = found;
                return Ok(());
            }
            Some(maybe) => format!(
                "; against the commit in flight: {}",
                found.difference(&maybe)
            ),
            None => String::new(),
        };
        Err(format!(
            "found {}{doubt}",
            found.difference(&self.committed)
        ))
    }

    fn read(&self, conn: &mut Conn) -> Result<World, String> {
        let mut world = World {
            related: Related::read(conn, self.id)?,
            ..World::default()
        };
        let text = |e: Error| e.to_string();
        let names: Vec<String> = conn
            .query(format!("SHOW TABLES FROM w{}", self.id))
            .map_err(text)?;
        for name in names {
            let full = format!("w{}.{name}", self.id);
            let rows = read_rows(conn, &full, "")?;
            let indexes: Vec<mysql::Row> = conn
                .query(format!("SHOW INDEX FROM {full}"))
                .map_err(text)?;
            let named = |r: &mysql::Row| r.get::<String, _>("Key_name").unwrap() == "extra";
            let ends = read_ends(conn, &format!("w{}", self.id), &name)?;
            world.tables.insert(
                name,
                Table {
                    ends,
                    rows,
                    indexed: indexes.iter().any(named),
                },
            );
        }
        let base = self.id as i64 * STRIDE;
        let mine = format!("WHERE id BETWEEN {base} AND {}", base + STRIDE - 1);
        world.shared = read_rows(conn, "shared.t", &mine)?;
        Ok(world)
    }
}

/// Rolls an open transaction back.
fn give_up(conn: &mut Conn, xid: Option<&str>) -> Did {
    let Some(xid) = xid else {
        return outcome(conn.query_drop("ROLLBACK"));
    };
    match conn.query_drop(format!("XA END '{xid}'")) {
        // What a deadlock has cost says so.
        Err(Error::MySqlError(e)) if e.code == 1614 => {}
        ended => match outcome(ended) {
            Did::Done => {}
            did => return did,
        },
    }
    outcome(conn.query_drop(format!("XA ROLLBACK '{xid}'")))
}

/// Partitions that end there, each named after its end.
fn definitions(ends: &[i64]) -> String {
    let one = |end: &i64| match *end {
        i64::MAX => "PARTITION pmax VALUES LESS THAN MAXVALUE".to_string(),
        end => format!("PARTITION p{end} VALUES LESS THAN ({end})"),
    };
    ends.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A random change to a partitioned table's partitions.
fn change_partitions(rng: &mut Rng, name: &str, table: &mut Table) -> String {
    let at = rng.below(table.ends.len() as u64) as usize;
    let start = if at == 0 {
        i64::MIN
    } else {
        table.ends[at - 1]
    };
    let end = table.ends[at];
    let partition = match end {
        i64::MAX => "pmax".to_string(),
        end => format!("p{end}"),
    };
    let inside = |id: &i64| *id >= start && *id < end;
    match rng.below(4) {
        0 if end != i64::MAX => {
            table.rows.retain(|id, _| !inside(id));
            table.ends.remove(at);
            format!("ALTER TABLE {name} DROP PARTITION {partition}")
        }
        1 => {
            table.rows.retain(|id, _| !inside(id));
            format!("ALTER TABLE {name} TRUNCATE PARTITION {partition}")
        }
        _ => {
            let first = start.max(0) + 1;
            let middle = first + rng.below(60) as i64;
            if middle >= end {
                return format!("ALTER TABLE {name} REBUILD PARTITION {partition}");
            }
            let parts = definitions(&[middle, end]);
            table.ends.insert(at, middle);
            format!("ALTER TABLE {name} REORGANIZE PARTITION {partition} INTO ({parts})")
        }
    }
}

/// Where a table's partitions end.
fn read_ends(conn: &mut Conn, database: &str, table: &str) -> Result<Vec<i64>, String> {
    let ends: Vec<Option<String>> = conn
        .query(format!(
            "SELECT PARTITION_DESCRIPTION FROM information_schema.PARTITIONS
             WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = '{table}' ORDER BY PARTITION_ORDINAL_POSITION"
        ))
        .map_err(|e| e.to_string())?;
    let number = |end: String| match &*end {
        "MAXVALUE" => Ok(i64::MAX),
        end => end
            .parse()
            .map_err(|_| format!("a partition ends at {end}")),
    };
    ends.into_iter().flatten().map(number).collect()
}

/// The rows by the clustered index, after comparing them with what the index on `k` finds.
fn read_rows(conn: &mut Conn, table: &str, filter: &str) -> Result<Rows, String> {
    let text = |e: Error| e.to_string();
    let rows: Vec<(i64, i64, String)> = conn
        .query(format!("SELECT id, k, c FROM {table} {filter}"))
        .map_err(text)?;
    let and = if filter.is_empty() { "WHERE" } else { "AND" };
    let by_k: Vec<(i64, i64)> = conn
        .query(format!(
            "SELECT id, k FROM {table} FORCE INDEX (k) {filter} {and} k > -1"
        ))
        .map_err(text)?;
    let mut a: Vec<_> = rows.iter().map(|r| (r.0, r.1)).collect();
    let mut b = by_k;
    a.sort_unstable();
    b.sort_unstable();
    if a != b {
        return Err(format!(
            "{table}: index k has {} entries, the table {} rows",
            b.len(),
            a.len()
        ));
    }
    Ok(rows.into_iter().map(|(id, k, c)| (id, (k, c))).collect())
}

/// The tables that all workers share.
pub fn create_shared(conn: &mut Conn, workers: usize) {
    conn.query_drop("CREATE DATABASE shared").unwrap();
    conn.query_drop(
        "CREATE TABLE shared.t (id INT PRIMARY KEY, k INT NOT NULL, c TEXT, KEY k (k))",
    )
    .unwrap();
    conn.query_drop("CREATE TABLE shared.accounts (id INT PRIMARY KEY, money INT NOT NULL)")
        .unwrap();
    for id in 0..2 * workers {
        let sql = format!("INSERT INTO shared.accounts VALUES ({id}, {ACCOUNT_MONEY})");
        conn.query_drop(sql).unwrap();
    }
}

/// No transfer is half there.
pub fn verify_accounts(conn: &mut Conn, workers: usize) -> Result<(), String> {
    let sum: Option<i64> = conn
        .query_first("SELECT SUM(money) FROM shared.accounts")
        .map_err(|e| e.to_string())?;
    let expected = ACCOUNT_MONEY * 2 * workers as i64;
    if sum == Some(expected) {
        Ok(())
    } else {
        Err(format!("accounts hold {sum:?}, not {expected}"))
    }
}
