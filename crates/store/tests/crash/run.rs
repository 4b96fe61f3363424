//! Runs statements of a script, and compares a database with its model.

use crate::common::*;
use crate::script::{COPY, Model, Op, Tables, model_of};
use millpond_store::engine::{CopyDatabase, NewTable, Place};
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn execute(db: &Engine, op: &Op) -> Result<()> {
    execute_by(db, op, &db.owner())
}

/// Runs statements in an open transaction.
fn within(db: &Engine, ops: &[Op], owner: &Arc<Owner>, open: &mut Option<Txn>) -> Result<()> {
    for op in ops {
        match (op, &mut *open) {
            (Op::Undone(ops), Some(txn)) => {
                let before = txn.savepoint();
                within(db, ops, owner, open)?;
                db.rollback_to(open.as_mut().unwrap(), before)?;
            }
            (Op::Rows(t, rows, _), Some(txn)) => put_all(db, txn, t, rows)?,
            _ => {
                let lent = db.lend(owner, open)?;
                let done = execute_by(db, op, owner);
                *open = lent.take_back();
                done?;
            }
        }
    }
    Ok(())
}

fn put_all(db: &Engine, txn: &mut Txn, t: &str, rows: &[(i64, Option<Vec<u8>>)]) -> Result<()> {
    let t = db.open_table(txn, D, t)?;
    let mut rows = rows.iter();
    rows.try_for_each(|(id, row)| put(&t, txn, *id, row.as_deref()))
}

fn execute_by(db: &Engine, op: &Op, owner: &Arc<Owner>) -> Result<()> {
    match op {
        Op::Within(ops, commit) => {
            let mut open = Some(db.begin(owner, Isolation::RepeatableRead));
            let done = within(db, ops, owner, &mut open);
            let txn = open.unwrap();
            match done {
                Ok(()) if *commit => db.commit(txn),
                Ok(()) => db.rollback(txn),
                Err(e) => {
                    let _ = db.rollback(txn);
                    Err(e)
                }
            }
        }
        Op::Undone(_) => Err(Error::Invalid("it is part of a transaction".into())),
        Op::CreateDatabase => db.create_database(owner, D, b"utf8"),
        Op::DropDatabase => db.drop_database(owner, D).map(drop),
        Op::Copy(rows) => copy(db, (D, COPY), *rows),
        Op::CopyBack => copy(db, (COPY, D), true),
        Op::DropCopy => db.drop_database(owner, COPY).map(drop),
        Op::Create(t, own) => {
            let mut t = table(t, &[("PRIMARY", true, &[0]), ("n", false, &[1])]);
            t.place = Some(Place::file_per_table(*own));
            db.create_table(owner, t)
        }
        Op::CreateTablespace(name) => db.create_tablespace(owner, name, None, b""),
        Op::RenameTablespace(from, to) => db.rename_tablespace(owner, from, to),
        Op::DropTablespace(name) => db.drop_tablespace(owner, name),
        Op::CreateIn(t, tablespace) => {
            let mut t = table(t, &[("PRIMARY", true, &[0]), ("n", false, &[1])]);
            let found = db.tablespace(tablespace)?;
            let gone = || Error::NoSuchTablespace(tablespace.to_string());
            t.place = Some(Place::In(found.ok_or_else(gone)?.file));
            db.create_table(owner, t)
        }
        Op::Drop(names) => {
            let names: Vec<_> = names.iter().map(|n| (D.into(), n.to_string())).collect();
            db.drop_tables(owner, &names)
        }
        Op::Truncate(t) => db.truncate_table(owner, D, t),
        Op::Rename(from, to) => {
            let name = |n: &str| (D.to_string(), n.to_string());
            db.rename_tables(owner, &[(name(from), name(to))])
        }
        Op::CreateIndex(t) => {
            let x = ("x".into(), true, vec![1, 0]);
            db.create_index(owner, D, t, x, b"with x".to_vec())
        }
        Op::DropIndex(t) => db.drop_index(owner, D, t, "x", b"without x".to_vec()),
        Op::Rebuild(t, order) => rebuild(db, owner, t, *order),
        Op::Fill(t, rows, commit) => fill(db, owner, t, rows, *commit),
        Op::Rows(t, rows, commit) => {
            let mut txn = db.begin(owner, Isolation::RepeatableRead);
            match put_all(db, &mut txn, t, rows) {
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

pub fn copy(db: &Engine, (from, to): (&str, &str), rows: bool) -> Result<()> {
    let what = CopyDatabase { from, to, rows };
    db.copy_database(&db.owner(), what, &mut AsTheyAre)
        .map(drop)
}

/// A table in the making, and one whose place another has taken: the layer above drops both when it opens the database.
pub const WORK: [&str; 2] = ["new", "old"];

pub fn rebuild(db: &Engine, owner: &Arc<Owner>, name: &str, order: RowOrder) -> Result<()> {
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
    db.create_table(&db.deputy(owner), new)?;
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
    db.drop_if_undone(owner, &full(WORK[0]));
    db.drop_tables(owner, &[full(WORK[1])])
}

/// Fills a table as one statement that is its whole transaction.
pub fn fill(
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
pub fn clear_work(db: &Engine) -> Result<()> {
    let tables = db.tables(D).unwrap_or_default();
    for name in WORK.iter().filter(|n| tables.iter().any(|t| t == *n)) {
        let name = (D.to_string(), name.to_string());
        db.drop_tables(&db.owner(), &[name])?;
    }
    Ok(())
}

pub fn put(t: &Table, txn: &mut Txn, id: i64, new: Option<&[u8]>) -> Result<()> {
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

pub fn small(drop_algorithm: DropAlgorithm) -> Options {
    Options {
        log_bytes: 1 << 20,
        drop_algorithm,
        drop_at_once: 1,
        ..options()
    }
}

/// Another algorithm for DROP at each turn.
pub fn algorithm(turn: u64) -> DropAlgorithm {
    let all = DropAlgorithm::ALL;
    all[(turn % all.len() as u64) as usize]
}

/// Reads the whole database back, without what is in the making.
pub fn contents(db: &Engine) -> Model {
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

pub fn tables_of(db: &Engine, database: &str) -> Tables {
    let mut tables = Tables::new();
    let names = db.tables(database).unwrap();
    for name in names.into_iter().filter(|n| !WORK.contains(&&**n)) {
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
pub fn run_until_cut(db: &Engine, script: &[Op]) -> (Model, Model) {
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

/// Whether a database holds what one of the models does.
pub fn is_one_of<const N: usize>(found: &Model, models: [&Model; N]) -> bool {
    let sorted = |m: &Model| {
        let mut m = m.clone();
        m.tablespaces.sort();
        m
    };
    let found = sorted(found);
    models.into_iter().any(|m| sorted(m) == found)
}

pub fn verify(disk: &SimStorage, before: &Model, after: &Model, at: u64) {
    let db = open_with(disk, small(algorithm(at))).unwrap_or_else(|e| panic!("cut {at}: {e}"));
    clear_work(&db).unwrap();
    assert!(
        is_one_of(&contents(&db), [before, after]),
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
