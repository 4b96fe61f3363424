//! A power cut at every write of a scripted run: what was acknowledged is there, the statement under way wholly
//! or not at all, and everything checks clean.

mod common;
use common::*;
use millpond_store::engine::{CopyDatabase, NewTable, Place};
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows by the first field.
type Rows = BTreeMap<i64, Vec<u8>>;

/// Names of indexes, and rows, by table.
type Tables = BTreeMap<String, (Vec<String>, Rows)>;

/// Databases by name, of which one has tables; and another that is made of it, or of which it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    databases: Vec<String>,
    tablespaces: Vec<String>,
    tables: Tables,
    copy: Option<Tables>,
}

/// The other one.
const COPY: &str = "copy";

/// One statement of the script.
enum Op {
    CreateDatabase,
    DropDatabase,
    /// Another database is made like it, with rows or without.
    Copy(bool),
    /// It is made like the other one, with rows.
    CopyBack,
    DropCopy,
    Create(&'static str, bool),
    CreateTablespace(&'static str),
    RenameTablespace(&'static str, &'static str),
    DropTablespace(&'static str),
    /// A table in a tablespace.
    CreateIn(&'static str, &'static str),
    Drop(&'static [&'static str]),
    Truncate(&'static str),
    Rename(&'static str, &'static str),
    CreateIndex(&'static str),
    DropIndex(&'static str),
    /// Written anew in bulk; in the order of the clustered key, or as if in any other.
    Rebuild(&'static str, RowOrder),
    /// An empty table filled in bulk by a transaction, which ends like this.
    Fill(&'static str, Vec<(i64, Option<Vec<u8>>)>, bool),
    /// A transaction: table, rows by key (`None`: delete), committed or not.
    Rows(&'static str, Vec<(i64, Option<Vec<u8>>)>, bool),
}

fn a_row(id: i64, n: i64, pad: usize) -> Vec<u8> {
    let pad: Vec<u8> = (0..pad).map(|i| (i as i64 * n) as u8).collect();
    row(&[Some(&int(id)), Some(&int(n)), Some(&pad)])
}

fn put_rows(ids: std::ops::Range<i64>, n: i64, pad: usize) -> Vec<(i64, Option<Vec<u8>>)> {
    ids.map(|i| (i, Some(a_row(i, n + i, pad)))).collect()
}

/// Tables in tablespaces: made, filled, written anew, emptied and dropped there, and the tablespaces renamed and dropped.
fn tablespaces_script() -> Vec<Op> {
    vec![
        Op::CreateDatabase,
        Op::CreateTablespace("ts"),
        Op::CreateIn("a", "ts"),
        Op::Rows("a", put_rows(0..10, 0, 10), true),
        Op::CreateIn("b", "ts"),
        Op::Rows("b", put_rows(0..6, 1, 20_000), true),
        Op::CreateIndex("a"),
        Op::Rebuild("b", RowOrder::Clustered),
        Op::CreateTablespace("other"),
        Op::RenameTablespace("ts", "space"),
        Op::Truncate("a"),
        Op::Rows("a", put_rows(2..5, 3, 3000), true),
        Op::DropTablespace("other"),
        Op::Drop(&["a", "b"]),
        Op::DropTablespace("space"),
        Op::CreateTablespace("space"),
        Op::CreateIn("a", "space"),
        Op::Rows("a", put_rows(0..3, 0, 10), true),
        Op::DropDatabase,
        Op::DropTablespace("space"),
    ]
}

/// Empty tables filled in bulk: in the shared file and files of their own, with pages past the log and without, and chains.
fn fill_script() -> Vec<Op> {
    let many = || put_rows(0..200, 0, 1200);
    vec![
        Op::CreateDatabase,
        Op::Create("few", false),
        Op::Fill("few", put_rows(0..3, 0, 10), true),
        Op::Rows("few", put_rows(2..6, 1, 20_000), true),
        Op::Create("a", false),
        Op::CreateIndex("a"),
        Op::Fill("a", many(), false),
        Op::Fill("a", put_rows(0..4, 3, 40_000), false),
        Op::Fill("a", many(), true),
        Op::Rows("a", put_rows(5..9, 3, 9_000), true),
        Op::Create("own", true),
        Op::Fill("own", many(), false),
        Op::Fill("own", put_rows(0..120, 2, 2000), true),
        Op::Rows("own", put_rows(100..110, 1, 200), false),
        Op::Truncate("own"),
        Op::Fill("own", put_rows(0..4, 2, 50_000), true),
        Op::Rename("own", "b"),
        Op::Truncate("a"),
        Op::Fill("a", put_rows(0..50, 2, 600), true),
        Op::Drop(&["b", "few"]),
        Op::Create("own", true),
        Op::Fill("own", put_rows(0..2, 2, 50), true),
    ]
}

/// Databases made of others, with small tables and large ones, chains, files of their own and tablespaces, and changed and dropped then.
fn copies_script() -> Vec<Op> {
    let gone = |ids: std::ops::Range<i64>| ids.map(|i| (i, None)).collect::<Vec<_>>();
    vec![
        Op::CreateDatabase,
        Op::Copy(true),
        Op::DropCopy,
        Op::Create("a", false),
        Op::Rows("a", put_rows(0..6, 0, 40), true),
        Op::Rows("a", gone(1..3), true),
        Op::Create("b", false),
        Op::Rows("b", put_rows(0..9, 1, 30), true),
        Op::CreateIndex("b"),
        Op::Create("empty", false),
        Op::Copy(true),
        Op::Rows("a", put_rows(3..9, 2, 30), true),
        Op::DropDatabase,
        Op::CopyBack,
        Op::DropCopy,
        Op::CreateTablespace("ts"),
        Op::CreateIn("in", "ts"),
        Op::Rows("in", put_rows(0..3, 4, 9000), true),
        Op::Create("own", true),
        Op::Rows("own", put_rows(0..3, 5, 20_000), true),
        Op::Create("large", false),
        Op::Fill("large", put_rows(0..120, 6, 1200), true),
        Op::Rows("large", put_rows(3..5, 7, 20_000), true),
        Op::Rows("large", gone(7..9), true),
        Op::Copy(true),
        Op::DropDatabase,
        Op::CopyBack,
        Op::Rows("large", put_rows(100..104, 9, 300), true),
        Op::DropCopy,
        Op::Rows("in", put_rows(2..5, 9, 300), true),
    ]
}

/// Databases dropped with their tables to follow, and made again with tables of the same names meanwhile.
fn dropped_script() -> Vec<Op> {
    let few = |n| put_rows(0..4, n, 10);
    vec![
        Op::CreateDatabase,
        Op::CreateTablespace("ts"),
        Op::Create("a", false),
        Op::Rows("a", few(0), true),
        Op::Create("own", true),
        Op::Rows("own", put_rows(0..3, 1, 20_000), true),
        Op::CreateIn("b", "ts"),
        Op::Rows("b", few(2), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("own", false),
        Op::Rows("own", few(3), true),
        Op::Create("c", true),
        Op::Rows("c", few(4), true),
        Op::Rename("own", "a"),
        Op::CreateIn("b", "ts"),
        Op::Rows("b", put_rows(0..3, 5, 9000), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("b", true),
        Op::Create("c", false),
        Op::Rows("c", few(6), true),
        Op::DropTablespace("ts"),
        Op::Drop(&["b"]),
    ]
}

/// Small tables side by side: some outgrow their page, some are emptied, dropped, rebuilt and get indexes while they are small.
fn small_script() -> Vec<Op> {
    let put = put_rows;
    let gone = |ids: std::ops::Range<i64>| ids.map(|i| (i, None)).collect::<Vec<_>>();
    vec![
        Op::CreateDatabase,
        Op::Create("a", false),
        Op::Create("b", false),
        Op::Create("c", false),
        Op::Create("d", false),
        Op::Rows("b", put(0..6, 0, 400), true),
        Op::Rows("a", put(0..6, 1, 400), true),
        Op::Rows("c", put(0..6, 2, 400), true),
        Op::Rows("d", put(0..4, 3, 10), true),
        // They move out: as a leaf is full, though it is undone then, and for a long row, and a longer one.
        Op::Rows("b", put(6..30, 4, 400), false),
        Op::Rows("a", put(3..30, 5, 300), true),
        Op::Rows("c", put(2..4, 6, 5000), false),
        Op::Rows("c", gone(0..3), true),
        Op::Create("e", false),
        Op::Rows("e", put(0..3, 7, 30_000), true),
        Op::Create("f", false),
        Op::Rows("f", put(0..9, 8, 40), true),
        Op::Rows("f", gone(2..7), true),
        Op::Rows("f", put(3..6, 8, 60), false),
        Op::CreateIndex("f"),
        Op::Rows("f", put(1..4, 9, 20), true),
        Op::DropIndex("f"),
        Op::Rebuild("f", RowOrder::Clustered),
        Op::Rows("f", put(2..12, 9, 30), true),
        Op::Truncate("d"),
        Op::Rows("d", put(0..4, 3, 10), true),
        Op::Truncate("b"),
        Op::Drop(&["a", "d"]),
        Op::Create("a", false),
        Op::CreateIndex("a"),
        Op::Fill("a", put(0..5, 1, 30), false),
        Op::Fill("a", put(0..5, 1, 30), true),
        Op::Rows("a", put(3..8, 2, 30), true),
        Op::Rename("a", "g"),
        Op::Rows("g", put(5..9, 3, 3500), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("a", false),
        Op::Rows("a", put(0..2, 0, 10), true),
    ]
}

fn script() -> Vec<Op> {
    let put = put_rows;
    let gone = |ids: std::ops::Range<i64>| ids.map(|i| (i, None)).collect::<Vec<_>>();
    vec![
        Op::CreateDatabase,
        Op::Create("a", false),
        Op::Rows("a", put(0..20, 0, 10), true),
        Op::Create("own", true),
        Op::Rows("own", put(0..3, 0, 3000), true),
        Op::Rows("a", put(5..8, 100, 20_000), true),
        Op::Rows("a", put(6..12, 50, 40_000), false),
        Op::Rows("a", gone(3..7), true),
        Op::Rows("a", gone(7..9), false),
        Op::Rows("a", put(2..7, 7, 200), true),
        Op::CreateIndex("a"),
        Op::Rows("a", put(0..5, 1, 30_000), true),
        Op::Rebuild("a", RowOrder::Clustered),
        Op::DropIndex("a"),
        Op::Rows("a", put(3..9, 4, 20_000), true),
        Op::Rows("own", put(40..100, 9, 2500), true),
        Op::Rebuild("own", RowOrder::Any),
        Op::Truncate("own"),
        Op::Rows("own", put(1..3, 5, 60_000), true),
        Op::Rebuild("own", RowOrder::Clustered),
        Op::Rename("a", "b"),
        Op::Create("a", false),
        Op::Rows("a", put(0..2, 0, 10), true),
        Op::Drop(&["a", "own"]),
        Op::CreateIndex("b"),
        Op::Rows("b", put(30..34, 3, 5000), true),
        Op::DropDatabase,
        Op::CreateDatabase,
        Op::Create("a", true),
        Op::Rows("a", put(0..2, 0, 10), true),
    ]
}

fn model_of(op: &Op, m: &Model) -> Model {
    let mut m = m.clone();
    match op {
        Op::CreateDatabase => m.databases.push(D.into()),
        Op::DropDatabase => {
            m.databases.retain(|d| d != D);
            m.tables.clear();
        }
        Op::Copy(rows) => {
            m.databases.insert(0, COPY.into());
            let mut tables = m.tables.clone();
            if !rows {
                tables.values_mut().for_each(|t| t.1.clear());
            }
            m.copy = Some(tables);
        }
        Op::CopyBack => {
            m.databases.push(D.into());
            m.tables = m.copy.clone().unwrap();
        }
        Op::DropCopy => {
            m.databases.retain(|d| d != COPY);
            m.copy = None;
        }
        Op::CreateTablespace(name) => m.tablespaces.push((*name).into()),
        Op::DropTablespace(name) => m.tablespaces.retain(|t| t != name),
        Op::RenameTablespace(from, to) => {
            m.tablespaces.retain(|t| t != from);
            m.tablespaces.push((*to).into());
        }
        Op::Create(t, _) | Op::CreateIn(t, _) => {
            let indexes = vec!["PRIMARY".into(), "n".into()];
            m.tables.insert((*t).into(), (indexes, BTreeMap::new()));
        }
        Op::Drop(names) => names.iter().for_each(|t| drop(m.tables.remove(*t))),
        Op::Truncate(t) => m.tables.get_mut(*t).unwrap().1.clear(),
        Op::Rename(from, to) => {
            let t = m.tables.remove(*from).unwrap();
            m.tables.insert((*to).into(), t);
        }
        Op::CreateIndex(t) => m.tables.get_mut(*t).unwrap().0.push("x".into()),
        Op::DropIndex(t) => m.tables.get_mut(*t).unwrap().0.retain(|i| i != "x"),
        Op::Rows(_, _, false) | Op::Fill(_, _, false) | Op::Rebuild(..) => {}
        Op::Rows(t, rows, true) | Op::Fill(t, rows, true) => {
            let t = &mut m.tables.get_mut(*t).unwrap().1;
            for (id, row) in rows {
                match row {
                    Some(row) => drop(t.insert(*id, row.clone())),
                    None => drop(t.remove(id)),
                }
            }
        }
    }
    m
}

fn execute(db: &Engine, op: &Op) -> Result<()> {
    let owner = db.owner();
    match op {
        Op::CreateDatabase => db.create_database(&owner, D, b"utf8"),
        Op::DropDatabase => db.drop_database(&owner, D).map(drop),
        Op::Copy(rows) => copy(db, (D, COPY), *rows),
        Op::CopyBack => copy(db, (COPY, D), true),
        Op::DropCopy => db.drop_database(&owner, COPY).map(drop),
        Op::Create(t, own) => {
            let mut t = table(t, &[("PRIMARY", true, &[0]), ("n", false, &[1])]);
            t.place = Some(Place::file_per_table(*own));
            db.create_table(&owner, t)
        }
        Op::CreateTablespace(name) => db.create_tablespace(&owner, name, None, b""),
        Op::RenameTablespace(from, to) => db.rename_tablespace(&owner, from, to),
        Op::DropTablespace(name) => db.drop_tablespace(&owner, name),
        Op::CreateIn(t, tablespace) => {
            let mut t = table(t, &[("PRIMARY", true, &[0]), ("n", false, &[1])]);
            let found = db.tablespace(tablespace)?;
            let gone = || Error::NoSuchTablespace(tablespace.to_string());
            t.place = Some(Place::In(found.ok_or_else(gone)?.file));
            db.create_table(&owner, t)
        }
        Op::Drop(names) => {
            let names: Vec<_> = names.iter().map(|n| (D.into(), n.to_string())).collect();
            db.drop_tables(&owner, &names)
        }
        Op::Truncate(t) => db.truncate_table(&owner, D, t),
        Op::Rename(from, to) => {
            let name = |n: &str| (D.to_string(), n.to_string());
            db.rename_tables(&owner, &[(name(from), name(to))])
        }
        Op::CreateIndex(t) => {
            let x = ("x".into(), true, vec![1, 0]);
            db.create_index(&owner, D, t, x, b"with x".to_vec())
        }
        Op::DropIndex(t) => db.drop_index(&owner, D, t, "x", b"without x".to_vec()),
        Op::Rebuild(t, order) => rebuild(db, &owner, t, *order),
        Op::Fill(t, rows, commit) => fill(db, &owner, t, rows, *commit),
        Op::Rows(t, rows, commit) => {
            let mut txn = db.begin(&owner, Isolation::RepeatableRead);
            let done = (|| {
                let t = db.open_table(&mut txn, D, t)?;
                rows.iter()
                    .try_for_each(|(id, row)| put(&t, &mut txn, *id, row.as_deref()))
            })();
            match done {
                Ok(()) if *commit => db.commit(txn),
                Ok(()) => db.rollback(txn),
                Err(e) => {
                    let _ = db.rollback(txn);
                    Err(e)
                }
            }
        }
    }
}

fn copy(db: &Engine, (from, to): (&str, &str), rows: bool) -> Result<()> {
    let what = CopyDatabase { from, to, rows };
    db.copy_database(&db.owner(), what, &mut AsTheyAre)
        .map(drop)
}

/// A table in the making, and one whose place another has taken: the layer above drops both when it opens the database.
const WORK: [&str; 2] = ["new", "old"];

fn rebuild(db: &Engine, owner: &Arc<Owner>, name: &str, order: RowOrder) -> Result<()> {
    let held = [((D.to_string(), name.to_string()), true)];
    let _held = db.hold_tables(owner, &held)?;
    let def = db.table_def(D, name)?;
    let new = NewTable {
        database: D.into(),
        name: WORK[0].into(),
        hidden_row_id: false,
        place: Some(Place::of(def.file)),
        indexes: def
            .indexes
            .iter()
            .map(|i| (i.name.clone(), i.unique, i.body.clone()))
            .collect(),
        body: def.body,
        auto_increment: 0,
    };
    db.create_table(owner, new)?;
    let mut txn = db.begin(owner, Isolation::ReadCommitted);
    let filled = (|| {
        let old = db.open_table(&mut txn, D, name)?;
        let new = db.open_table(&mut txn, D, WORK[0])?;
        let mut load = db.load(owner, &new, order)?;
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = old.scan(&mut txn, 0, everything(), dir, mode, Fetch::Row)?;
        while let Some(r) = scan.next(&mut txn)? {
            load.add(r.row)?;
        }
        drop(scan);
        load.finish().map_err(|refused| refused.error)
    })();
    db.commit(txn)?;
    filled?;
    let full = |n: &str| (D.to_string(), n.to_string());
    db.place_table(
        owner,
        &[(full(name), full(WORK[1])), (full(WORK[0]), full(name))],
    )?;
    db.drop_tables(owner, &[full(WORK[1])])
}

/// Fills a table as one statement that is its whole transaction.
fn fill(
    db: &Engine,
    owner: &Arc<Owner>,
    name: &str,
    rows: &[(i64, Option<Vec<u8>>)],
    commit: bool,
) -> Result<()> {
    let mut txn = db.begin(owner, Isolation::RepeatableRead);
    let loaded = (|| {
        let t = db.open_table_for_write(&mut txn, D, name)?;
        let begun = db.fill(&mut txn, &t, RowOrder::Any)?;
        let (mut load, fill) = begun.expect("the table was never written to");
        for (_, row) in rows {
            load.add(row.as_ref().unwrap())?;
        }
        let rows = load.finish().map_err(|refused| refused.error)?;
        fill.publish(&mut txn)?;
        Ok((fill, rows))
    })();
    match loaded {
        Ok((fill, rows)) if commit => fill.commit(txn, rows),
        Ok((fill, _)) => {
            // A statement that publishes commits; one that is cut short before is rolled back.
            let done = db.rollback(txn);
            drop(fill);
            done
        }
        Err(e) => {
            let _ = db.rollback(txn);
            Err(e)
        }
    }
}

/// Drops what was in the making.
fn clear_work(db: &Engine) {
    let tables = db.tables(D).unwrap_or_default();
    for name in WORK.iter().filter(|n| tables.iter().any(|t| t == *n)) {
        let name = (D.to_string(), name.to_string());
        db.drop_tables(&db.owner(), &[name]).unwrap();
    }
}

fn put(t: &Table, txn: &mut Txn, id: i64, new: Option<&[u8]>) -> Result<()> {
    let (mut ck, mut old) = (Vec::new(), Vec::new());
    let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
    let there = t.get(txn, 0, &int_key(id), mode, &mut ck, &mut old)?;
    match (there, new) {
        (true, Some(new)) => t.update(txn, &ck, &old, new),
        (true, None) => t.delete(txn, &ck, &old),
        (false, Some(new)) => t.insert(txn, new),
        (false, None) => Ok(()),
    }
}

fn small(drop_algorithm: DropAlgorithm) -> Options {
    Options {
        log_bytes: 1 << 20,
        drop_algorithm,
        drop_at_once: 1,
        ..options()
    }
}

/// Another algorithm for DROP at each turn.
fn algorithm(turn: u64) -> DropAlgorithm {
    let all = DropAlgorithm::ALL;
    all[(turn % all.len() as u64) as usize]
}

/// Reads the whole database back.
fn contents(db: &Engine) -> Model {
    let mut m = Model {
        databases: db.databases().unwrap(),
        ..Model::default()
    };
    let tablespaces = db.tablespaces().unwrap();
    m.tablespaces = tablespaces.into_iter().map(|t| t.name).collect();
    if m.databases.iter().any(|d| d == D) {
        m.tables = tables_of(db, D);
    }
    if m.databases.iter().any(|d| d == COPY) {
        m.copy = Some(tables_of(db, COPY));
    }
    m
}

fn tables_of(db: &Engine, database: &str) -> Tables {
    let mut tables = Tables::new();
    for name in db.tables(database).unwrap() {
        let owner = db.owner();
        let mut txn = db.begin(&owner, Isolation::RepeatableRead);
        let t = db.open_table(&mut txn, database, &name).unwrap();
        let mut rows = BTreeMap::new();
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = t
            .scan(&mut txn, 0, everything(), dir, mode, Fetch::Row)
            .unwrap();
        while let Some(r) = scan.next(&mut txn).unwrap() {
            let id = fields(r.row)[0].clone().unwrap();
            let id = u64::from_be_bytes(id.try_into().unwrap()) ^ (1 << 63);
            rows.insert(id as i64, r.row.to_vec());
        }
        drop(scan);
        let indexes = t.def().indexes.iter().map(|i| i.name.clone()).collect();
        tables.insert(name, (indexes, rows));
        db.commit(txn).unwrap();
    }
    tables
}

/// Runs the script until the power goes: the model before and after the statement that failed.
fn run_until_cut(db: &Engine, script: &[Op]) -> (Model, Model) {
    let mut m = Model::default();
    for op in script {
        let after = model_of(op, &m);
        if execute(db, op).is_err() {
            return (m, after);
        }
        m = after;
    }
    (m.clone(), m)
}

fn verify(disk: &SimStorage, before: &Model, after: &Model, at: u64) {
    let db = open_with(disk, small(algorithm(at))).unwrap_or_else(|e| panic!("cut {at}: {e}"));
    clear_work(&db);
    let mut found = contents(&db);
    found.tablespaces.sort();
    let is = |m: &Model| {
        let mut m = m.clone();
        m.tablespaces.sort();
        m == found
    };
    assert!(
        is(before) || is(after),
        "cut {at}: the wrong rows or tables"
    );
    let db = Db {
        engine: db,
        disk: disk.clone(),
    };
    db.settled();
    let problems = db.engine.check().unwrap();
    assert!(problems.is_empty(), "cut {at}: {problems:#?}");
}

/// Counts the steps that change the disk, and cuts the power at number `at`.
fn cut_at(disk: &SimStorage, at: u64) -> Arc<AtomicU64> {
    let steps = Arc::new(AtomicU64::new(0));
    let count = steps.clone();
    disk.on_step(move |kind, _| {
        if kind == OpKind::Read {
            return Step::Go;
        }
        match count.fetch_add(1, Ordering::Relaxed) {
            n if n == at => Step::Cut,
            _ => Step::Go,
        }
    });
    steps
}

/// `CRASH_SEED=n` lets other writes survive.
fn seed() -> u64 {
    let wanted = std::env::var("CRASH_SEED").ok();
    wanted.and_then(|s| s.parse().ok()).unwrap_or(0)
}

fn cut_once(at: u64, algorithm: DropAlgorithm, script: &[Op]) -> bool {
    let disk = SimStorage::new();
    let steps = cut_at(&disk, at);
    let (before, after) = match open_with(&disk, small(algorithm)) {
        Ok(db) => run_until_cut(&db, script),
        Err(_) => Default::default(),
    };
    let finished = steps.load(Ordering::Relaxed) <= at;
    let mut coin = Rng(at + 1 + (seed() << 32));
    disk.restart(|| coin.chance(50));
    verify(&disk, &before, &after, at);
    finished
}

/// Nothing is lost or half done, whichever algorithm does the drops.
mod every_write {
    use super::*;

    macro_rules! with {
        ($($name:ident: $algorithm:ident,)*) => {
            $(#[test]
            fn $name() {
                every_cut(DropAlgorithm::$algorithm, &script());
            })*
        };
    }
    with! {
        full_scan: FullScan,
        lazy_mark: LazyMark,
        cleaner: Cleaner,
        flush_list: FlushList,
        stale: Stale,
        millpond: Millpond,
    }
}

#[test]
fn fills_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &fill_script());
}

#[test]
fn small_tables_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &small_script());
}

#[test]
fn copies_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &copies_script());
}

#[test]
fn tablespaces_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &tablespaces_script());
}

#[test]
fn dropped_databases_at_every_write() {
    every_cut(DropAlgorithm::Millpond, &dropped_script());
}

fn every_cut(algorithm: DropAlgorithm, script: &[Op]) {
    let mut at = 0;
    while !cut_once(at, algorithm, script) {
        at += 1;
    }
    assert!(at > 50, "the script writes more often than {at} times");
}

/// The power goes again, or the process is killed, while recovery from the first cut is at work.
#[test]
fn recovery_can_be_cut_short() {
    for first in (20..200).step_by(23) {
        let disk = SimStorage::new();
        cut_at(&disk, first);
        let (before, after) = match open_with(&disk, small(algorithm(first))) {
            Ok(db) => run_until_cut(&db, &script()),
            Err(_) => Default::default(),
        };
        let mut coin = Rng(first + (seed() << 32));
        let mut end = || match coin.chance(50) {
            true => disk.kill(),
            false => disk.restart(|| coin.chance(50)),
        };
        end();
        for second in 0..12 {
            cut_at(&disk, second);
            drop(open_with(&disk, small(algorithm(second))));
            end();
        }
        disk.restart(|| coin.chance(50));
        verify(&disk, &before, &after, first);
    }
}

/// A disk that fails writes but keeps power: the engine stops, reads go on, and reopening finds what was acknowledged.
#[test]
fn a_failing_disk_stops_the_engine() {
    for at in (30..150).step_by(17) {
        let disk = SimStorage::new();
        let left = Arc::new(AtomicU64::new(at));
        let count = left.clone();
        disk.on_step(move |kind, _| {
            let less = |n: u64| n.checked_sub(1);
            let late = kind != OpKind::Read
                && count
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
                    .is_err();
            if late { Step::Fail } else { Step::Go }
        });
        let db = open_with(&disk, small(algorithm(at))).unwrap();
        let (before, after) = run_until_cut(&db, &script());
        // The script may have ended before.
        left.store(0, Ordering::Relaxed);
        let owner = db.owner();
        // What failed may have been a mere growing of a file; a commit's failure is final.
        assert!(db.create_database(&owner, "more", b"").is_err());
        assert!(db.stopped().is_some(), "step {at}");
        assert!(matches!(
            db.create_database(&owner, "yet more", b""),
            Err(Error::Stopped(_))
        ));
        drop(db);
        disk.clear_hook();
        disk.kill();
        verify(&disk, &before, &after, at);
    }
}

/// Keys that do not fit into an update's undo record lie in one before it, which no roll pointer names. Recovery, which
/// begins at the transaction's last record, must not undo that one a second time, after what came before it is undone.
#[test]
fn keys_restored_before_a_crash_are_not_restored_again() {
    let db = Db::new();
    let (mut a, mut b) = (db.session(), db.session());
    let mut indexes: Vec<(&str, bool, &[u8])> = vec![("PRIMARY", true, &[0])];
    let more: [(&str, &[u8]); 5] = [
        ("k", &[1]),
        ("l", &[2]),
        ("m", &[3]),
        ("n", &[4]),
        ("o", &[5]),
    ];
    indexes.extend(more.map(|(name, field)| (name, false, field)));
    a.create(table("t", &indexes));
    let a_row = |id: i64, x: u8, len: usize| {
        let (id, long) = (int(id), vec![x; len]);
        let mut all = vec![Some(&id[..])];
        all.extend([Some(&long[..]); 5]);
        row(&all)
    };
    let t = a.open("t");
    a.insert(&t, &a_row(1, b'a', 1)).unwrap();
    a.commit();

    let t = a.open("t");
    let start = a.txn().savepoint();
    a.update(&t, &int_key(1), |_| a_row(1, b'b', 3000)).unwrap();
    a.update(&t, &int_key(1), |_| a_row(1, b'c', 1)).unwrap();
    let records = a.txn().savepoint().undo_count;
    assert_eq!(records, 4, "a chain, an update, keys, an update");
    db.engine.rollback_to(a.txn(), start).unwrap();
    // The log goes to the disk with another's commit.
    let u = b.open("t");
    b.insert(&u, &a_row(2, b'z', 1)).unwrap();
    b.commit();
    std::mem::forget(a.txn.take());
    drop((t, u, a, b));

    let db = db.crash();
    let mut a = db.session();
    let t = a.open("t");
    let all = [a_row(1, b'a', 1), a_row(2, b'z', 1)];
    for index in 0..=5 {
        assert_eq!(a.rows(&t, index), all, "{index}");
    }
    a.commit();
    drop(t);
    db.check();
}
