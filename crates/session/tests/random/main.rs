//! Random statements on several interleaved sessions, compared step by step with a model in memory: rows, a
//! unique and a plain secondary index, transactions with snapshots and savepoints, on the smallest
//! buffer pool, with a restart now and then.
//!
//! Statements that would wait for another session's lock are not issued: the model knows who has touched
//! which row and which unique value. (Waiting is the isolation and lock tests' subject.)
//!
//! `MILLPOND_RANDOM_STEPS` sets the number of steps (default 4,000), `MILLPOND_RANDOM_SEED` repeats a run.

mod db;
mod model;
#[path = "../support/rng.rs"]
mod rng;

use db::Db;
use model::{Document, Model, Row};
use rng::Rng;

const SESSIONS: usize = 4;
const IDS: i64 = 150;
/// Statements shown when a step fails.
const TRACE: usize = 400;

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

#[test]
fn random_statements_agree_with_the_model() {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seed = env("MILLPOND_RANDOM_SEED", clock.as_nanos() as u64);
    let steps = env("MILLPOND_RANDOM_STEPS", 4000);
    println!("MILLPOND_RANDOM_SEED={seed} MILLPOND_RANDOM_STEPS={steps}");
    let folder = tempfile::tempdir().unwrap();
    let mut db = Db::open(folder.path(), SESSIONS);
    db.run(0, "CREATE DATABASE r").unwrap();
    db.run(
        0,
        "CREATE TABLE r.t (id INT PRIMARY KEY, k INT, u INT, b BIT(7), j JSON, c TEXT, KEY k (k, id), KEY b (b), UNIQUE KEY u (u))",
    )
    .unwrap();
    let mut run = Run {
        sessions: SESSIONS,
        rng: Rng(seed),
        model: Model::new(SESSIONS),
        db,
        trace: Vec::new(),
    };
    for step in 0..steps {
        if run.trace.len() > TRACE {
            run.trace.drain(..TRACE / 2);
        }
        if let Err(e) = run.step() {
            panic!("step {step}, seed {seed}: {e}\n{}", run.trace.join("\n"));
        }
        if step % 1000 == 999 {
            for s in 0..SESSIONS {
                run.end(s, true).unwrap();
            }
            run.db.reopen(folder.path(), SESSIONS);
            run.compare_all(0)
                .unwrap_or_else(|e| panic!("after restart, seed {seed}: {e}"));
        }
    }
}

/// One session on a temporary table, which hides a table of that name and is changed now and then.
#[test]
fn random_statements_on_a_temporary_table_agree_with_the_model() {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seed = env("MILLPOND_RANDOM_SEED", clock.as_nanos() as u64);
    let steps = env("MILLPOND_RANDOM_STEPS", 4000);
    println!("MILLPOND_RANDOM_SEED={seed} MILLPOND_RANDOM_STEPS={steps}");
    let folder = tempfile::tempdir().unwrap();
    let mut db = Db::open(folder.path(), 2);
    for sql in [
        "CREATE DATABASE r",
        "CREATE TABLE r.t (hidden INT)",
        "CREATE TEMPORARY TABLE r.t (id INT PRIMARY KEY, k INT, u INT, b BIT(7), j JSON, c TEXT, KEY k (k, id), KEY b (b), UNIQUE KEY u (u))",
    ] {
        db.run(0, sql).unwrap();
    }
    let mut run = Run {
        sessions: 1,
        rng: Rng(seed),
        model: Model::new(1),
        db,
        trace: Vec::new(),
    };
    for step in 0..steps {
        if run.trace.len() > TRACE {
            run.trace.drain(..TRACE / 2);
        }
        let changed = match (step % 500, step / 500 % 3) {
            (499, 0) => run.alter("ALTER TABLE r.t FORCE"),
            (499, 1) => run.alter("ALTER TABLE r.t DROP KEY k"),
            (499, _) => run.alter("ALTER TABLE r.t ADD COLUMN x INT DEFAULT 7"),
            _ => Ok(()),
        };
        if let Err(e) = changed.and_then(|()| run.step()) {
            panic!("step {step}, seed {seed}: {e}\n{}", run.trace.join("\n"));
        }
    }
    let hidden = run.db.run(1, "SELECT count(*) FROM r.t").unwrap();
    assert_eq!(hidden, [[Some("0".to_string())]]);
}

/// One session on a table whose keys are of VIRTUAL columns and an expression, which come and go.
#[test]
fn random_statements_on_computed_keys_agree_with_the_model() {
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seed = env("MILLPOND_RANDOM_SEED", clock.as_nanos() as u64);
    let steps = env("MILLPOND_RANDOM_STEPS", 4000);
    println!("MILLPOND_RANDOM_SEED={seed} MILLPOND_RANDOM_STEPS={steps}");
    let folder = tempfile::tempdir().unwrap();
    let mut db = Db::open(folder.path(), 1);
    db.run(0, "CREATE DATABASE r").unwrap();
    db.run(
        0,
        "CREATE TABLE r.t (id INT PRIMARY KEY, k INT, u INT, b BIT(7), j JSON, c TEXT, v INT AS (k) VIRTUAL INVISIBLE, \
         w INT AS (u + 0) VIRTUAL INVISIBLE, KEY k (v, id), KEY b (b), UNIQUE KEY u (w), KEY f ((k * 2)))",
    )
    .unwrap();
    let mut run = Run {
        sessions: 1,
        rng: Rng(seed),
        model: Model::new(1),
        db,
        trace: Vec::new(),
    };
    for step in 0..steps {
        if run.trace.len() > TRACE {
            run.trace.drain(..TRACE / 2);
        }
        let changed = match (step % 200, step / 200 % 5) {
            (199, 0) => run.alter("ALTER TABLE r.t ADD COLUMN y BIGINT AS (k * u) INVISIBLE FIRST"),
            (199, 1) => run.alter("ALTER TABLE r.t ADD KEY y (y)"),
            (199, 2) => run.alter("ALTER TABLE r.t FORCE"),
            (199, 3) => run.alter("ALTER TABLE r.t DROP KEY y"),
            (199, _) => run.alter("ALTER TABLE r.t DROP COLUMN y"),
            _ => Ok(()),
        };
        if let Err(e) = changed.and_then(|()| run.step()) {
            panic!("step {step}, seed {seed}: {e}\n{}", run.trace.join("\n"));
        }
        if step % 50 == 49 {
            run.end(0, true).unwrap();
            for (key, column) in [("k", "v"), ("u", "w")] {
                let of =
                    |through: &str| format!("SELECT {column}, id FROM r.t {through} ORDER BY 1, 2");
                let by_key = run.db.run(0, &of(&format!("FORCE INDEX ({key})"))).unwrap();
                assert_eq!(by_key, run.db.run(0, &of("")).unwrap(), "seed {seed}");
            }
            let checked = run.db.run(0, "CHECK TABLE r.t").unwrap();
            let said = checked[0].last().cloned().flatten();
            assert_eq!(said.as_deref(), Some("OK"), "seed {seed}");
        }
        if step % 1000 == 999 {
            run.db.reopen(folder.path(), 1);
        }
    }
}

/// Whether a row (id, rest) matches a filter.
type Keep = dyn Fn(i64, &Row) -> bool;
/// What an UPDATE does to a row.
type Change = dyn Fn(&mut Row);

struct Run {
    sessions: usize,
    rng: Rng,
    model: Model,
    db: Db,
    trace: Vec<String>,
}

impl Run {
    fn step(&mut self) -> Result<(), String> {
        let s = self.rng.below(self.sessions as u64) as usize;
        if !self.model.in_transaction(s) && self.rng.below(3) > 0 {
            self.exec(s, "BEGIN")?;
            self.model.begin(s);
        }
        match self.rng.below(16) {
            0..4 => self.insert(s),
            4..7 => self.update(s),
            7..9 => self.delete(s),
            9 => self.savepoint(s),
            10..12 => self.read(s),
            12 => self.compare_all(s),
            13 => self.locking_read(s),
            _ => {
                let commit = self.rng.below(4) > 0;
                self.end(s, commit)
            }
        }
    }

    /// Changes the table, which commits, and what the change leaves is put right.
    fn alter(&mut self, sql: &str) -> Result<(), String> {
        self.exec(0, sql)?;
        if sql.ends_with("DROP KEY k") {
            self.exec(0, "CREATE INDEX k ON r.t (k, id)")?;
        } else if sql.contains("ADD COLUMN x") {
            self.exec(0, "ALTER TABLE r.t DROP COLUMN x")?;
        }
        if self.model.in_transaction(0) {
            self.model.end(0, true);
        }
        self.compare_all(0)
    }

    fn exec(&mut self, s: usize, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        self.trace.push(format!(
            "T{s}: {}",
            sql.chars().take(200).collect::<String>()
        ));
        self.db.run(s, sql).map_err(|e| format!("{sql:.200}: {e}"))
    }

    /// Runs a write whose only legal failure is a duplicate key, and says whether it failed so.
    fn write(&mut self, s: usize, sql: &str) -> Result<bool, String> {
        self.trace.push(format!(
            "T{s}: {}",
            sql.chars().take(200).collect::<String>()
        ));
        match self.db.run(s, sql) {
            Ok(_) => Ok(true),
            Err(e) if e.code == 1062 => Ok(false),
            Err(e) => Err(format!("{sql:.200}: {e}")),
        }
    }

    fn row(&mut self) -> Row {
        let len = match self.rng.below(40) {
            0 => 9_000 + self.rng.below(20_000),
            1..4 => 2_000,
            _ => self.rng.below(200),
        };
        let letter = char::from(b'a' + self.rng.below(26) as u8);
        Row {
            k: (self.rng.below(5) > 0).then(|| self.rng.below(12) as i64),
            u: (self.rng.below(3) > 0).then(|| self.rng.below(400) as i64),
            b: (self.rng.below(5) > 0).then(|| self.rng.below(128) as u8),
            j: (self.rng.below(5) > 0).then(|| Document {
                n: self.rng.below(20) as i64,
                s: self.rng.below(if len > 1_000 { 9_000 } else { 40 }) as usize,
            }),
            c: letter.to_string().repeat(len as usize),
        }
    }

    fn insert(&mut self, s: usize) -> Result<(), String> {
        let mut rows = Vec::new();
        for _ in 0..1 + self.rng.below(4) {
            rows.push((self.rng.below(IDS as u64) as i64, self.row()));
        }
        let free = rows
            .iter()
            .all(|(id, row)| self.model.may_touch(s, *id) && self.model.may_use(s, row.u));
        if !free {
            return Ok(());
        }
        let values: Vec<_> = rows.iter().map(|(id, r)| r.values(*id)).collect();
        let done = self.write(s, &format!("INSERT INTO r.t VALUES {}", values.join(",")))?;
        if done != self.model.insert(s, rows) {
            return Err(format!("INSERT went through: {done}; the model disagrees"));
        }
        Ok(())
    }

    fn update(&mut self, s: usize) -> Result<(), String> {
        let from = self.rng.below(IDS as u64) as i64;
        let one = self.rng.below(2) == 0;
        let to = if one {
            from
        } else {
            (from + self.rng.below(12) as i64).min(IDS - 1)
        };
        if !(from..=to).all(|id| self.model.may_touch(s, id)) {
            return Ok(());
        }
        let row = self.row();
        if one && self.rng.below(4) == 0 {
            // The primary key itself moves.
            let target = self.rng.below(IDS as u64) as i64;
            if !self.model.may_touch(s, target) || !self.model.may_use_of(s, from) {
                return Ok(());
            }
            let done = self.write(
                s,
                &format!("UPDATE r.t SET id = {target} WHERE id = {from}"),
            )?;
            let expected = self.model.move_row(s, from, target);
            return if done == expected {
                Ok(())
            } else {
                Err("moving a row: model disagrees".into())
            };
        }
        let (sql, change): (String, Box<Change>) = match self.rng.below(5) {
            3 => ("b = b ^ 85".into(), Box::new(|r| r.b = r.b.map(|b| b ^ 85))),
            4 => {
                let n = self.rng.below(20) as i64;
                let change = move |r: &mut Row| {
                    if let Some(j) = &mut r.j {
                        j.n = n;
                    }
                };
                (format!("j = JSON_SET(j, '$.n', {n})"), Box::new(change))
            }
            0 => ("k = k + 1".into(), Box::new(|r| r.k = r.k.map(|k| k + 1))),
            1 => (
                format!("c = '{}'", row.c),
                Box::new(move |r| r.c.clone_from(&row.c)),
            ),
            _ if one && self.model.may_use(s, row.u) && self.model.may_use_of(s, from) => {
                let sql = row.u.map_or("u = NULL".into(), |u| format!("u = {u}"));
                (sql, Box::new(move |r| r.u = row.u))
            }
            _ => return Ok(()),
        };
        let sql = format!("UPDATE r.t SET {sql} WHERE id BETWEEN {from} AND {to}");
        let done = self.write(s, &sql)?;
        let expected = self.model.update(s, from, to, &*change);
        if done == expected {
            Ok(())
        } else {
            Err("UPDATE: model disagrees".into())
        }
    }

    fn delete(&mut self, s: usize) -> Result<(), String> {
        let from = self.rng.below(IDS as u64) as i64;
        let to = (from + self.rng.below(6) as i64).min(IDS - 1);
        if !(from..=to).all(|id| self.model.may_touch(s, id) && self.model.may_use_of(s, id)) {
            return Ok(());
        }
        self.write(
            s,
            &format!("DELETE FROM r.t WHERE id >= {from} AND id <= {to}"),
        )?;
        self.model.delete(s, from, to);
        Ok(())
    }

    fn savepoint(&mut self, s: usize) -> Result<(), String> {
        if !self.model.in_transaction(s) {
            return Ok(());
        }
        if self.model.has_savepoint(s) && self.rng.below(2) == 0 {
            self.exec(s, "ROLLBACK TO SAVEPOINT a")?;
            self.model.rollback_to_savepoint(s);
        } else {
            self.exec(s, "SAVEPOINT a")?;
            self.model.savepoint(s);
        }
        Ok(())
    }

    /// A consistent read through one of the indexes.
    fn read(&mut self, s: usize) -> Result<(), String> {
        let view = self.model.view(s);
        let n = self.rng.below(12) as i64;
        let (filter, hint, keep): (String, &str, Box<Keep>) = match self.rng.below(6) {
            4 => {
                let from = self.rng.below(128) as u8;
                let keep = move |_, r: &Row| r.b.is_some_and(|b| b >= from && b < from + 9);
                let filter = format!("b >= {from} AND b < {}", from + 9);
                (filter, "FORCE INDEX (b)", Box::new(keep))
            }
            5 => (
                format!("j->'$.n' = {n}"),
                "",
                Box::new(move |_, r| r.j.as_ref().is_some_and(|j| j.n == n)),
            ),
            0 => (
                format!("k = {n}"),
                "FORCE INDEX (k)",
                Box::new(move |_, r| r.k == Some(n)),
            ),
            1 => {
                let m = n + 3;
                let keep = move |_, r: &Row| r.k.is_some_and(|k| k >= n && k < m);
                (
                    format!("k >= {n} AND k < {m}"),
                    "FORCE INDEX (k)",
                    Box::new(keep),
                )
            }
            2 => {
                let u = self.rng.below(400) as i64;
                (format!("u = {u}"), "", Box::new(move |_, r| r.u == Some(u)))
            }
            _ => {
                let id = self.rng.below(IDS as u64) as i64;
                (format!("id = {id}"), "", Box::new(move |i, _| i == id))
            }
        };
        let sql =
            format!("SELECT id, k, u, b + 0, j, c FROM r.t {hint} WHERE {filter} ORDER BY id");
        let found = self.exec(s, &sql)?;
        let expected: Vec<_> = view
            .iter()
            .filter(|(id, r)| keep(**id, r))
            .map(|(id, r)| r.cells(*id))
            .collect();
        db::same(&found, &expected)
    }

    /// The whole table, by the clustered index and backwards by a covering secondary one.
    fn compare_all(&mut self, s: usize) -> Result<(), String> {
        let view = self.model.view(s);
        let found = self.exec(s, "SELECT id, k, u, b + 0, j, c FROM r.t ORDER BY id")?;
        let expected: Vec<_> = view.iter().map(|(id, r)| r.cells(*id)).collect();
        db::same(&found, &expected)?;
        let sql = "SELECT id, k FROM r.t FORCE INDEX (k) WHERE k >= 0 ORDER BY k DESC, id DESC";
        let found = self.exec(s, sql)?;
        let mut keys: Vec<_> = view
            .iter()
            .filter_map(|(id, r)| Some((r.k?, *id)))
            .collect();
        keys.sort_unstable_by(|a, b| b.cmp(a));
        let expected: Vec<_> = keys
            .iter()
            .map(|(k, id)| vec![Some(id.to_string()), Some(k.to_string())])
            .collect();
        db::same(&found, &expected)
    }

    fn locking_read(&mut self, s: usize) -> Result<(), String> {
        let id = self.rng.below(IDS as u64) as i64;
        if !self.model.may_touch(s, id) {
            return Ok(());
        }
        let found = self.exec(
            s,
            &format!("SELECT id, k, u, b + 0, j, c FROM r.t WHERE id = {id} FOR UPDATE"),
        )?;
        let newest = self.model.lock(s, id);
        db::same(
            &found,
            &newest.map(|r| vec![r.cells(id)]).unwrap_or_default(),
        )
    }

    fn end(&mut self, s: usize, commit: bool) -> Result<(), String> {
        self.exec(s, if commit { "COMMIT" } else { "ROLLBACK" })?;
        self.model.end(s, commit);
        Ok(())
    }
}
