//! ALTERs in a row on one table, instant ones and others, VIRTUAL columns among its columns, with rows changed and the power cut in between: the rows are a model's. An
//! instant one writes no row, and a snapshot that is older reads on.
//!
//! `MILLPOND_ALTERS` sets how many (default 40), `MILLPOND_RANDOM_SEED` repeats a run.

use std::collections::BTreeMap;

use millpond_session::{Instance, SqlResult};
use millpond_store::io::sim::SimStorage;

use crate::rng::Rng;
use crate::support::{Answer, Client, power};

/// Rows of the table by key: a value for each column but the key.
type Rows = BTreeMap<u64, Vec<Option<String>>>;

/// Keys of rows are below it.
const IDS: u64 = 800;

const SHOW: &str = "SHOW CREATE TABLE t";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Int,
    BigInt,
    Decimal,
    /// So many characters.
    VarChar(u64),
    Text,
    /// So many members.
    Enum(u64),
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    kind: Kind,
    nullable: bool,
    default: Option<String>,
    /// The column that it is computed from, if it is VIRTUAL: rows of the model have no value in it.
    of: Option<String>,
}

/// Digits or characters that any value of a VIRTUAL column fits in.
const COMPUTED_LENGTH: u64 = 400;

impl Column {
    /// The value of a VIRTUAL column over its base's.
    fn computed(&self, base: &Option<String>) -> Option<String> {
        let base = base.as_ref()?;
        Some(match self.kind {
            Kind::BigInt => (base.parse::<i64>().expect("a number") * 2 + 1).to_string(),
            _ => format!("{base}!"),
        })
    }

    fn definition(&self) -> String {
        let ty = match self.kind {
            Kind::Int => "INT".to_string(),
            Kind::BigInt => "BIGINT".to_string(),
            Kind::Decimal => "DECIMAL(12,3)".to_string(),
            Kind::VarChar(n) => format!("VARCHAR({n})"),
            Kind::Text => "TEXT".to_string(),
            Kind::Enum(n) => {
                let members: Vec<String> = (0..n).map(|m| format!("'m{m}'")).collect();
                format!("ENUM({})", members.join(","))
            }
        };
        match (&self.of, self.kind) {
            (Some(base), Kind::BigInt) => return format!("{} {ty} AS ({base} * 2 + 1)", self.name),
            (Some(base), _) => return format!("{} {ty} AS (CONCAT({base}, '!'))", self.name),
            (None, _) => {}
        }
        let null = if self.nullable { "" } else { " NOT NULL" };
        match &self.default {
            Some(d) => format!("{} {ty}{null} DEFAULT '{d}'", self.name),
            None => format!("{} {ty}{null}", self.name),
        }
    }

    /// What a row has in it that is not given a value; or was there before it.
    fn missing(&self) -> Option<String> {
        match (&self.default, self.nullable) {
            (Some(d), _) => Some(d.clone()),
            (None, true) => None,
            (None, false) => Some(match self.kind {
                Kind::Int | Kind::BigInt => "0".into(),
                Kind::Decimal => "0.000".into(),
                Kind::VarChar(_) | Kind::Text => String::new(),
                Kind::Enum(_) => "m0".into(),
            }),
        }
    }

    fn value(&self, rng: &mut Rng) -> Option<String> {
        if self.nullable && rng.below(5) == 0 {
            return None;
        }
        Some(match self.kind {
            Kind::Int | Kind::BigInt => format!("{}", rng.below(2000) as i64 - 1000),
            Kind::Decimal => format!("{}.{:03}", rng.below(1000), rng.below(1000)),
            Kind::VarChar(n) => "v".repeat(rng.below(n + 1) as usize),
            // Now and then more than a page holds.
            Kind::Text if rng.below(6) == 0 => "t".repeat(8000 + rng.below(20_000) as usize),
            Kind::Text => "t".repeat(rng.below(60) as usize),
            Kind::Enum(n) => format!("m{}", rng.below(n)),
        })
    }

    /// An ALTER COLUMN gives it one it hasn't.
    fn new_default(&self, rng: &mut Rng) -> Option<String> {
        let not_null = Column {
            nullable: false,
            ..self.clone()
        };
        match self.kind {
            Kind::Text => None,
            _ => not_null.value(rng),
        }
    }
}

/// A row as it is read: with the values of VIRTUAL columns.
fn as_read(columns: &[Column], id: u64, row: &[Option<String>]) -> Vec<String> {
    let value = |(c, v): (&Column, &Option<String>)| match &c.of {
        None => v.clone(),
        Some(base) => {
            let at = columns.iter().position(|c| c.name == *base);
            c.computed(&row[at.expect("the base is there")])
        }
    };
    let values = columns.iter().zip(row).map(value);
    let values = values.map(|v| v.unwrap_or("NULL".into()));
    std::iter::once(id.to_string()).chain(values).collect()
}

fn literal(v: &Option<String>) -> String {
    v.as_ref().map_or("NULL".into(), |v| format!("'{v}'"))
}

/// The table as it should be. Column `id`, the key, is first and is not among `columns`.
#[derive(Clone, Debug, Default)]
struct Model {
    columns: Vec<Column>,
    /// Indexes: name, and the column's.
    keys: Vec<(String, String)>,
    rows: Rows,
    /// What an open snapshot of another session sees.
    snapshot: Option<Rows>,
    names: u64,
}

impl Model {
    fn new_name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn is_key(&self, name: &str) -> bool {
        self.keys.iter().any(|(_, c)| c == name)
    }

    fn all_rows(&mut self) -> impl Iterator<Item = &mut Vec<Option<String>>> {
        let seen = self.snapshot.iter_mut().flat_map(|s| s.values_mut());
        self.rows.values_mut().chain(seen)
    }

    /// Whether a VIRTUAL column is computed from one.
    fn is_base(&self, name: &str) -> bool {
        self.columns.iter().any(|c| c.of.as_deref() == Some(name))
    }

    /// Positions of columns that are given values.
    fn stored(&self) -> Vec<usize> {
        let all = self.columns.iter().enumerate();
        all.filter(|(_, c)| c.of.is_none())
            .map(|(at, _)| at)
            .collect()
    }

    /// A VIRTUAL column over another that the statement leaves alone.
    fn virtual_column(&mut self, touched: &[String], rng: &mut Rng) -> Option<Column> {
        let over = |c: &&Column| {
            let kind = matches!(c.kind, Kind::Int | Kind::BigInt | Kind::VarChar(_));
            kind && c.of.is_none() && !touched.contains(&c.name)
        };
        let bases: Vec<Column> = self.columns.iter().filter(over).cloned().collect();
        if bases.is_empty() || rng.below(2) == 0 {
            return None;
        }
        let base = &bases[rng.below(bases.len() as u64) as usize];
        Some(Column {
            name: self.new_name("v"),
            kind: match base.kind {
                Kind::VarChar(_) => Kind::VarChar(COMPUTED_LENGTH),
                _ => Kind::BigInt,
            },
            nullable: true,
            default: None,
            of: Some(base.name.clone()),
        })
    }

    fn random_column(&mut self, touched: &[String], rng: &mut Rng) -> Column {
        if let Some(column) = self.virtual_column(touched, rng) {
            return column;
        }
        let kind = match rng.below(6) {
            0 => Kind::Int,
            1 => Kind::BigInt,
            2 => Kind::Decimal,
            3 => Kind::VarChar(1 + rng.below(40)),
            4 => Kind::Text,
            _ => Kind::Enum(1 + rng.below(5)),
        };
        let mut column = Column {
            name: self.new_name("c"),
            kind,
            nullable: rng.below(2) == 0,
            default: None,
            of: None,
        };
        if rng.below(2) == 0 {
            column.default = column.new_default(rng);
        }
        column
    }

    /// A place for a column, as a position among the columns and as a clause.
    fn place(&self, touched: &[String], rng: &mut Rng) -> Option<(usize, String)> {
        let at = rng.below(self.columns.len() as u64 + 1) as usize;
        match at {
            0 => Some((0, " AFTER id".into())),
            at if touched.contains(&self.columns[at - 1].name) => None,
            at => Some((at, format!(" AFTER {}", self.columns[at - 1].name))),
        }
    }

    /// One clause of an instant ALTER; `None`: not this one.
    fn instant(&mut self, touched: &mut Vec<String>, rng: &mut Rng) -> Option<String> {
        if self.columns.is_empty() || rng.below(3) == 0 {
            let (at, clause) = self.place(touched, rng)?;
            let column = self.random_column(touched, rng);
            touched.extend(column.of.clone());
            let clause = format!("ADD COLUMN {}{clause}", column.definition());
            for row in self.all_rows() {
                row.insert(at, column.missing());
            }
            touched.push(column.name.clone());
            self.columns.insert(at, column);
            return Some(clause);
        }
        let at = rng.below(self.columns.len() as u64) as usize;
        let column = self.columns[at].clone();
        let name = column.name.clone();
        if touched.contains(&name) {
            return None;
        }
        touched.push(name.clone());
        touched.extend(column.of.clone());
        match rng.below(6) {
            0 if !self.is_key(&name) && !self.is_base(&name) => {
                self.columns.remove(at);
                self.all_rows().for_each(|row| drop(row.remove(at)));
                Some(format!("DROP COLUMN {name}"))
            }
            1 if !self.is_base(&name) => {
                let new = self.new_name("r");
                for (_, c) in self.keys.iter_mut().filter(|(_, c)| *c == name) {
                    c.clone_from(&new);
                }
                self.columns[at].name.clone_from(&new);
                touched.push(new.clone());
                Some(format!("RENAME COLUMN {name} TO {new}"))
            }
            2 => {
                // Elsewhere, among the others.
                self.columns.remove(at);
                let Some((to, clause)) = self.place(touched, rng) else {
                    self.columns.insert(at, column);
                    return None;
                };
                self.columns.insert(to, column.clone());
                for row in self.all_rows() {
                    let v = row.remove(at);
                    row.insert(to, v);
                }
                Some(format!("MODIFY COLUMN {}{clause}", column.definition()))
            }
            3 if column.of.is_none() => {
                let column = &mut self.columns[at];
                column.kind = match column.kind {
                    Kind::VarChar(n) if n < 100 => Kind::VarChar(n + rng.below(100)),
                    Kind::Enum(n) => Kind::Enum(n + 1 + rng.below(3)),
                    _ => return None,
                };
                Some(format!("MODIFY COLUMN {}", column.definition()))
            }
            4 if column.of.is_none() => {
                let default = column.new_default(rng)?;
                self.columns[at].default = Some(default.clone());
                Some(format!("ALTER COLUMN {name} SET DEFAULT '{default}'"))
            }
            5 if !column.nullable && !self.is_key(&name) => {
                self.columns[at].nullable = true;
                Some(format!("MODIFY COLUMN {}", self.columns[at].definition()))
            }
            _ => None,
        }
    }

    /// The clauses of an ALTER, and whether it is an instant one.
    fn alter(&mut self, rng: &mut Rng) -> (String, bool) {
        loop {
            match rng.below(12) {
                0 => return ("FORCE".into(), false),
                1 if self.keys.len() < 3 => {
                    let mut columns = self.columns.iter();
                    let column = columns.find(|c| c.kind != Kind::Text && !self.is_key(&c.name));
                    let Some(column) = column.map(|c| c.name.clone()) else {
                        continue;
                    };
                    let name = self.new_name("k");
                    self.keys.push((name.clone(), column.clone()));
                    return (format!("ADD KEY {name} ({column})"), false);
                }
                2 if !self.keys.is_empty() => {
                    let (name, _) = self.keys.remove(rng.below(self.keys.len() as u64) as usize);
                    return (format!("DROP KEY {name}"), false);
                }
                3 => {
                    let mut columns = self.columns.iter_mut();
                    let Some(column) = columns.find(|c| c.kind == Kind::Int) else {
                        continue;
                    };
                    column.kind = Kind::BigInt;
                    return (format!("MODIFY COLUMN {}", column.definition()), false);
                }
                _ => {}
            }
            let mut touched = Vec::new();
            let clauses: Vec<String> = (0..=rng.below(3))
                .filter_map(|_| self.instant(&mut touched, rng))
                .collect();
            if !clauses.is_empty() {
                return (clauses.join(", "), true);
            }
        }
    }

    /// A statement that changes rows.
    fn change(&mut self, rng: &mut Rng) -> String {
        let ids: Vec<u64> = self.rows.keys().copied().collect();
        let some = (!ids.is_empty()).then(|| ids[rng.below(ids.len() as u64) as usize]);
        // At most half of the ids are taken, so that a free one is soon found.
        let full = ids.len() as u64 >= IDS / 2;
        match (if full { 0 } else { rng.below(4) }, some) {
            (0, Some(id)) => {
                self.rows.remove(&id);
                format!("DELETE FROM t WHERE id = {id}")
            }
            (1, Some(id)) if !self.stored().is_empty() => {
                let stored = self.stored();
                let at = stored[rng.below(stored.len() as u64) as usize];
                let v = self.columns[at].value(rng);
                let set = format!("{} = {}", self.columns[at].name, literal(&v));
                self.rows.get_mut(&id).expect("there")[at] = v;
                format!("UPDATE t SET {set} WHERE id = {id}")
            }
            _ => {
                let mut drawn = (0..).map(|_| rng.below(IDS));
                let id = drawn.find(|id| !ids.contains(id));
                let id = id.expect("a free one");
                let (mut names, mut values) = (vec!["id".to_string()], vec![id.to_string()]);
                let mut row = Vec::new();
                for c in &self.columns {
                    if c.of.is_some() {
                        row.push(None);
                        continue;
                    }
                    let may_miss = c.nullable || c.default.is_some();
                    if may_miss && rng.below(3) == 0 {
                        row.push(c.missing());
                        continue;
                    }
                    let v = c.value(rng);
                    names.push(c.name.clone());
                    values.push(literal(&v));
                    row.push(v);
                }
                self.rows.insert(id, row);
                let (names, values) = (names.join(", "), values.join(", "));
                format!("INSERT INTO t ({names}) VALUES ({values})")
            }
        }
    }
}

/// An instance on a disk that may lose its power.
struct Db {
    storage: SimStorage,
    instance: Instance,
    writer: Client,
    reader: Client,
}

impl Db {
    fn open(storage: SimStorage) -> Db {
        let instance = power::open(&storage);
        let (writer, reader) = (power::client(&instance), power::client(&instance));
        Db {
            storage,
            instance,
            writer,
            reader,
        }
    }

    /// Opens the disk again after the power was cut.
    fn reopen(self, rng: &mut Rng) -> Db {
        let Db {
            storage,
            instance,
            writer,
            reader,
        } = self;
        drop((writer, reader, instance));
        storage.restart(|| rng.below(2) == 0);
        Db::open(storage)
    }

    /// Cuts the power after some more writes and syncs.
    fn cut_soon(&self, rng: &mut Rng) {
        power::cut_after(&self.storage, rng.below(40));
    }
}

fn try_run(c: &mut Client, sql: &str) -> SqlResult<Vec<Answer>> {
    c.run(sql)
}

/// Holds what a session reads to what it should see.
fn compare(c: &mut Client, columns: &[Column], rows: &Rows, what: &str) {
    let found = c.ok("SELECT * FROM t ORDER BY id");
    let names: Vec<&str> = columns.iter().map(|c| &*c.name).collect();
    assert_eq!(&found.headings()[1..], names, "{what}");
    let each = rows.iter();
    let expected: Vec<Vec<String>> = each.map(|(id, row)| as_read(columns, *id, row)).collect();
    assert_eq!(found.rows.len(), expected.len(), "{what}");
    for (found, expected) in found.rows.iter().zip(&expected) {
        assert_eq!(found, expected, "{what}");
    }
}

/// Whether a session sees these rows in these columns.
fn sees(c: &mut Client, model: &Model) -> bool {
    let found = c.ok("SELECT * FROM t ORDER BY id");
    let names: Vec<&str> = model.columns.iter().map(|c| &*c.name).collect();
    let each = model.rows.iter();
    let expected = each.map(|(id, row)| as_read(&model.columns, *id, row));
    found.headings()[1..] == names && found.rows.iter().cloned().eq(expected)
}

struct Run {
    rng: Rng,
    db: Option<Db>,
    model: Model,
    trace: Vec<String>,
}

impl Run {
    fn db(&mut self) -> &mut Db {
        self.db.as_mut().expect("open")
    }

    fn crash(&mut self) {
        self.trace.push("-- power cut".into());
        let db = self.db.take().expect("open");
        db.storage.cut();
        self.db = Some(db.reopen(&mut self.rng));
        self.model.snapshot = None;
    }

    /// After a cut in the middle of something: it is done, as `is_done` sees then, or not.
    fn settle(
        &mut self,
        before: Model,
        after: Model,
        is_done: impl Fn(&mut Client, &Model) -> bool,
    ) {
        self.crash();
        let done = is_done(&mut self.db().writer, &after);
        self.trace.push(format!("-- done: {done}"));
        self.model = if done { after } else { before };
        self.model.snapshot = None;
    }

    /// What the catalog knows the table by, as rows that are written anew are another one's; and how many rows were written, the
    /// catalog's own among them.
    fn written(&mut self) -> (u64, u64) {
        let db = self.db.as_mut().expect("open");
        let def = db.instance.engine().table_def("test", "t");
        let status = db.instance.engine().status();
        let rows = status
            .counters
            .iter()
            .filter(|(name, _)| name.starts_with("Innodb_rows_") && *name != "Innodb_rows_read");
        (def.expect("a table").id, rows.map(|(_, n)| n).sum())
    }

    /// A transaction of some changes; it may be undone, or the power may go.
    fn transaction(&mut self) {
        let before = self.model.clone();
        let cut = self.rng.below(12) == 0;
        if cut {
            let db = self.db.as_ref().expect("open");
            db.cut_soon(&mut self.rng);
        }
        let mut statements = vec!["BEGIN".to_string()];
        for _ in 0..=self.rng.below(12) {
            statements.push(self.model.change(&mut self.rng));
        }
        let undone = self.rng.below(4) == 0;
        statements.push(if undone { "ROLLBACK" } else { "COMMIT" }.into());
        for sql in &statements {
            self.trace.push(sql.chars().take(300).collect());
            if let Err(e) = try_run(&mut self.db().writer, sql) {
                assert!(cut, "{sql}: {e:?}");
                let after = if undone {
                    before.clone()
                } else {
                    self.model.clone()
                };
                return self.settle(before, after, sees);
            }
        }
        if undone {
            let snapshot = self.model.snapshot.take();
            self.model = before;
            self.model.snapshot = snapshot;
        }
        if cut {
            self.crash();
        }
    }

    fn alter(&mut self) {
        let mut after = self.model.clone();
        let (clauses, instant) = after.alter(&mut self.rng);
        let algorithm = if instant { ", ALGORITHM=INSTANT" } else { "" };
        let sql = format!("ALTER TABLE t {clauses}{algorithm}");
        self.trace.push(sql.clone());
        if !instant && self.model.snapshot.take().is_some() {
            after.snapshot = None;
            self.db().reader.ok("COMMIT");
        }
        if self.rng.below(6) == 0 {
            let shown = self.db().writer.rows(SHOW);
            let db = self.db.as_ref().expect("open");
            db.cut_soon(&mut self.rng);
            let done = try_run(&mut self.db().writer, &sql);
            let before = self.model.clone();
            // Of some changes only the definition tells.
            let is_done = |c: &mut Client, _: &Model| c.rows(SHOW) != shown;
            // One that was answered is durable.
            match done {
                Ok(_) => {
                    self.model = after;
                    self.crash();
                }
                Err(_) => self.settle(before, after, is_done),
            }
            return;
        }
        let (table, rows) = self.written();
        self.db().writer.ok(&sql);
        let (table_now, rows_now) = self.written();
        if instant {
            assert_eq!(table_now, table, "{sql}");
            let many = self.model.rows.len() > 20;
            assert!(!many || rows_now - rows < 10, "{sql}: {}", rows_now - rows);
        }
        self.model = after;
    }

    fn check(&mut self) {
        let Run { db, model, .. } = self;
        let db = db.as_mut().expect("open");
        compare(&mut db.writer, &model.columns, &model.rows, "rows");
        if let Some(rows) = &model.snapshot {
            compare(&mut db.reader, &model.columns, rows, "a snapshot");
        }
        let snapshot = model.snapshot.is_some();
        let readers = [Some(&mut db.writer), snapshot.then_some(&mut db.reader)];
        for reader in readers.into_iter().flatten() {
            for (key, column) in &model.keys {
                let sql =
                    format!("SELECT id, {column} FROM t FORCE INDEX ({key}) ORDER BY {column}, id");
                let mut through_key = reader.rows(&sql);
                through_key.sort();
                let mut plain = reader.rows(&format!("SELECT id, {column} FROM t"));
                plain.sort();
                assert_eq!(through_key, plain, "{sql}");
            }
        }
        let sound = db.writer.ok("CHECK TABLE t");
        assert_eq!(sound.rows[0].last().map(String::as_str), Some("OK"));
    }
}

#[test]
fn random_alters_agree_with_the_model() {
    let number = |name: &str, default: u64| {
        let set = std::env::var(name).ok().and_then(|v| v.parse().ok());
        set.unwrap_or(default)
    };
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = number("MILLPOND_RANDOM_SEED", clock.unwrap().as_nanos() as u64);
    let alters = number("MILLPOND_ALTERS", 40);
    println!("MILLPOND_RANDOM_SEED={seed} MILLPOND_ALTERS={alters}");
    let mut run = Run {
        rng: Rng(seed),
        db: Some(Db::open(SimStorage::new())),
        model: Model::default(),
        trace: Vec::new(),
    };
    run.db()
        .writer
        .ok("CREATE TABLE t (id INT UNSIGNED PRIMARY KEY)");
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..40 {
            run.transaction();
        }
        for _ in 0..alters {
            run.transaction();
            if run.rng.below(2) == 0 {
                // It reads nothing before the ALTER: that would keep the table as it is.
                run.db()
                    .reader
                    .ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
                run.model.snapshot = Some(run.model.rows.clone());
                run.trace.push("-- a snapshot".into());
            }
            run.transaction();
            run.alter();
            run.transaction();
            run.check();
            if run.model.snapshot.take().is_some() {
                run.db().reader.ok("COMMIT");
            }
        }
        run.db().writer.ok("OPTIMIZE TABLE t");
        run.check();
    }));
    if let Err(e) = done {
        let last = run.trace.len().saturating_sub(60);
        println!("seed {seed}\n{}", run.trace[last..].join("\n"));
        std::panic::resume_unwind(e);
    }
}
