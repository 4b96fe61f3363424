//! Prepared transactions: ended by anybody, beside others, over crashes and power cuts at every write.

mod common;
use common::*;
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

fn xid(n: i64) -> Xid {
    Xid {
        global: vec![b'g'; 1 + n as usize],
        branch: b"branch".to_vec(),
        format: n,
    }
}

fn prepare(s: &mut Session, n: i64) {
    let lsn = s.engine.prepare(s.txn.take().unwrap(), xid(n));
    let lsn = lsn.map_err(|back| back.1).unwrap();
    s.engine.wait_durable(lsn).unwrap();
    let owner = s.engine.owner();
    owner.succeed(&s.owner);
    s.owner = owner;
}

fn with_rows(db: &Db, rows: &[[i64; 2]]) -> Session {
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("v", true, &[1])]));
    let t = s.open("t");
    for row in rows {
        s.insert(&t, &ints(row)).unwrap();
    }
    s.commit();
    s
}

/// Changes a row, deletes one and inserts one.
fn change(s: &mut Session) {
    let engine = s.engine.clone();
    let t = engine.open_table_for_write(s.txn(), D, "t").unwrap();
    s.update(&t, &int_key(1), |_| ints(&[1, 100])).unwrap();
    s.delete(&t, &int_key(2)).unwrap();
    s.insert(&t, &ints(&[4, 40])).unwrap();
}

const BEFORE: [[i64; 2]; 3] = [[1, 10], [2, 20], [3, 30]];
const AFTER: [[i64; 2]; 3] = [[1, 100], [3, 30], [4, 40]];

fn shows(db: &Db, want: &[[i64; 2]]) {
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(s.ints(&t, 0), want);
    assert_eq!(s.rows(&t, 1).len(), want.len());
    s.commit();
}

/// What it changed is locked, by row and by key, and nothing else is.
fn is_locked(db: &Db) {
    let mode = ReadMode::Locking(LockMode::Shared, WaitPolicy::NoWait);
    let mut s = db.session();
    for (key, locked) in [(1, true), (2, true), (3, false), (4, true)] {
        let t = s.open("t");
        let got = s.read(&t, 0, &int_key(key), mode);
        let refused = matches!(got, Err(Error::LockNotAvailable));
        assert_eq!(refused, locked, "{key}: {got:?}");
        s.rollback();
    }
    s.owner.set_row_timeout(0);
    for row in [[2, 7], [4, 7], [8, 100], [8, 20], [8, 40]] {
        let t = s.open("t");
        let got = s.insert(&t, &ints(&row));
        assert!(matches!(got, Err(Error::LockWaitTimeout)), "{row:?}");
        s.rollback();
    }
    s.owner.set_metadata_timeout(0);
    let name = (D.to_string(), "t".to_string());
    let dropped = db.engine.drop_tables(&s.owner, &[name]);
    assert!(matches!(dropped, Err(Error::LockWaitTimeout)));
    let locked = db.engine.lock_everything(&s.owner);
    assert!(matches!(locked, Err(Error::LockWaitTimeout)));
    db.engine.unlock_tables(&s.owner);
}

#[test]
fn anybody_may_end_it() {
    for commit in [true, false] {
        let db = Db::new();
        let mut a = with_rows(&db, &BEFORE);
        change(&mut a);
        prepare(&mut a, 1);
        assert_eq!(db.engine.prepared(), [xid(1)]);
        let other = Xid {
            format: 77,
            ..xid(1)
        };
        assert!(db.engine.is_taken(&xid(1)) && db.engine.is_taken(&other));
        assert!(!db.engine.is_taken(&xid(2)) && !db.engine.commit_prepared(&other).unwrap());
        is_locked(&db);
        // Whoever prepared it has nothing of it any more.
        let t = a.open("t");
        assert_eq!(a.ints(&t, 0), BEFORE);
        a.insert(&t, &ints(&[9, 90])).unwrap();
        a.rollback();
        drop(a);
        shows(&db, &BEFORE);
        assert!(!db.engine.commit_prepared(&xid(2)).unwrap());
        assert!(!db.engine.rollback_prepared(&xid(2)).unwrap());
        let ended = match commit {
            true => db.engine.commit_prepared(&xid(1)),
            false => db.engine.rollback_prepared(&xid(1)),
        };
        assert!(ended.unwrap());
        assert!(!db.engine.commit_prepared(&xid(1)).unwrap());
        assert_eq!(db.engine.prepared(), []);
        shows(&db, if commit { &AFTER } else { &BEFORE });
        db.check();
        db.engine.close().unwrap();
    }
}

#[test]
fn it_survives_crashes_and_clean_ends() {
    for commit in [true, false] {
        let db = Db::new();
        let mut a = with_rows(&db, &BEFORE);
        change(&mut a);
        prepare(&mut a, 1);
        // One that is not prepared goes.
        let t = a.open("t");
        a.insert(&t, &ints(&[9, 90])).unwrap();
        std::mem::forget(a.txn.take());
        drop((t, a));
        let db = db.crash();
        db.settled();
        assert_eq!(db.engine.prepared(), [xid(1)]);
        shows(&db, &BEFORE);
        is_locked(&db);
        // Nor does an end of the server end it.
        db.engine.close().unwrap();
        let db = db.crash();
        assert_eq!(db.engine.prepared(), [xid(1)]);
        is_locked(&db);
        // Others go on beside it, and what they leave is purged.
        let mut s = db.session();
        let t = s.open("t");
        s.update(&t, &int_key(3), |_| ints(&[3, 31])).unwrap();
        s.commit();
        s.update(&t, &int_key(3), |_| ints(&[3, 30])).unwrap();
        s.commit();
        drop((t, s));
        db.settled();
        match commit {
            true => assert!(db.engine.commit_prepared(&xid(1)).unwrap()),
            false => assert!(db.engine.rollback_prepared(&xid(1)).unwrap()),
        }
        let want = if commit { &AFTER } else { &BEFORE };
        shows(&db, want);
        let db = db.crash();
        assert_eq!(db.engine.prepared(), []);
        shows(&db, want);
        let mut s = db.session();
        let name = (D.to_string(), "t".to_string());
        db.check();
        db.engine.drop_tables(&s.owner, &[name]).unwrap();
        assert!(db.engine.open_table(s.txn(), D, "t").is_err());
    }
}

#[test]
fn one_that_changed_nothing_is_kept_too() {
    let db = Db::new();
    let mut a = db.session();
    a.begin();
    prepare(&mut a, 3);
    a.begin();
    prepare(&mut a, 4);
    drop(a);
    let db = db.crash();
    assert_eq!(db.engine.prepared(), [xid(3), xid(4)]);
    assert!(db.engine.commit_prepared(&xid(3)).unwrap());
    assert!(db.engine.rollback_prepared(&xid(4)).unwrap());
    let db = db.crash();
    assert_eq!(db.engine.prepared(), []);
    db.check();
}

#[test]
fn old_views_read_on_after_it_is_committed() {
    let db = Db::new();
    let mut a = with_rows(&db, &BEFORE);
    let mut old = db.session();
    let seen = old.open("t");
    assert_eq!(old.ints(&seen, 0), BEFORE);
    change(&mut a);
    prepare(&mut a, 1);
    assert!(db.engine.commit_prepared(&xid(1)).unwrap());
    assert_eq!(old.ints(&seen, 0), BEFORE);
    old.commit();
    shows(&db, &AFTER);
    drop((seen, old, a));
    db.check();
}

#[test]
fn what_was_rolled_back_to_a_savepoint_stays_so() {
    let db = Db::new();
    let mut a = with_rows(&db, &BEFORE);
    change(&mut a);
    let here = a.txn().savepoint();
    let t = a.open("t");
    a.update(&t, &int_key(3), |_| ints(&[3, 300])).unwrap();
    a.insert(&t, &ints(&[5, 50])).unwrap();
    db.engine.rollback_to(a.txn(), here).unwrap();
    prepare(&mut a, 1);
    drop((t, a));
    let db = db.crash();
    is_locked(&db);
    assert!(db.engine.commit_prepared(&xid(1)).unwrap());
    shows(&db, &AFTER);
    db.check();
}

#[test]
fn an_xid_is_taken_once() {
    let db = Db::new();
    let mut a = with_rows(&db, &BEFORE);
    change(&mut a);
    prepare(&mut a, 1);
    let txn = a.engine.begin(&a.owner, Isolation::RepeatableRead);
    let (txn, e) = *db.engine.prepare(txn, xid(1)).unwrap_err();
    assert!(matches!(e, Error::Invalid(_)));
    db.engine.rollback(txn).unwrap();
    assert!(db.engine.rollback_prepared(&xid(1)).unwrap());
    shows(&db, &BEFORE);
}

/// A damaged database is opened without ending what is prepared, which the next opening finds.
#[test]
fn a_forced_opening_leaves_it() {
    let db = Db::new();
    let mut a = with_rows(&db, &BEFORE);
    change(&mut a);
    prepare(&mut a, 1);
    drop(a);
    let disk = db.disk.clone();
    drop(db);
    disk.kill();
    for force_recovery in 1..=3 {
        let options = Options {
            force_recovery,
            ..options()
        };
        let engine = open_with(&disk, options).unwrap();
        assert_eq!(engine.prepared(), []);
        let forced = Db {
            engine,
            disk: disk.clone(),
        };
        shows(&forced, &BEFORE);
        drop(forced);
        disk.kill();
    }
    let db = Db::on(disk);
    is_locked(&db);
    assert!(db.engine.commit_prepared(&xid(1)).unwrap());
    shows(&db, &AFTER);
}

/// Rows by the first field, of each of two tables.
type Rows = [BTreeMap<i64, Vec<u8>>; 2];
/// New rows by key; `None`: deleted.
type Change = (usize, Vec<(i64, Option<Vec<u8>>)>);

enum Op {
    Create(usize),
    /// A transaction, committed or not.
    Rows(Change, bool),
    Prepare(i64, Vec<Change>),
    /// A prepared one ends, committed or not.
    End(i64, bool),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    tables: usize,
    rows: Rows,
    prepared: BTreeMap<i64, Vec<Change>>,
}

const NAMES: [&str; 2] = ["a", "b"];

fn a_row(id: i64, n: i64, pad: usize) -> Vec<u8> {
    let pad: Vec<u8> = (0..pad).map(|i| (i as i64 * n) as u8).collect();
    row(&[Some(&int(id)), Some(&int(n)), Some(&pad)])
}

fn put(table: usize, ids: std::ops::Range<i64>, n: i64, pad: usize) -> Change {
    let rows = ids.map(|i| (i, Some(a_row(i, n + i, pad))));
    (table, rows.collect())
}

fn gone(table: usize, ids: std::ops::Range<i64>) -> Change {
    (table, ids.map(|i| (i, None)).collect())
}

/// Prepared transactions of one record and of many pages, several at a time, one without changes, ended in another order than prepared.
fn script() -> Vec<Op> {
    vec![
        Op::Create(0),
        Op::Rows(put(0, 0..40, 0, 100), true),
        Op::Prepare(1, vec![put(0, 0..3, 7, 50)]),
        Op::Create(1),
        Op::Prepare(2, vec![gone(0, 5..9), put(1, 0..5, 1, 9000)]),
        Op::Rows(put(0, 20..24, 3, 20_000), true),
        Op::End(2, true),
        Op::Prepare(3, Vec::new()),
        Op::Rows(put(0, 30..36, 4, 3000), false),
        Op::End(1, false),
        Op::Prepare(1, vec![put(0, 0..3, 9, 30_000), put(1, 2..90, 5, 700)]),
        Op::Rows(put(0, 10..14, 2, 10), true),
        Op::End(3, false),
        Op::Prepare(4, vec![gone(0, 20..23)]),
        Op::End(1, false),
        Op::Rows(gone(1, 0..2), true),
        Op::Prepare(3, Vec::new()),
        Op::End(4, true),
        Op::Prepare(5, vec![put(1, 7..12, 2, 15_000)]),
        Op::End(3, true),
        Op::Rows(put(0, 0..6, 1, 800), true),
    ]
}

fn apply(rows: &mut Rows, (table, change): &Change) {
    for (id, row) in change {
        match row {
            Some(row) => drop(rows[*table].insert(*id, row.clone())),
            None => drop(rows[*table].remove(id)),
        }
    }
}

impl Model {
    fn end(&mut self, n: i64, commit: bool) {
        let changes = self.prepared.remove(&n).unwrap();
        if commit {
            changes.iter().for_each(|c| apply(&mut self.rows, c));
        }
    }

    fn after(&self, op: &Op) -> Model {
        let mut m = self.clone();
        match op {
            Op::Create(_) => m.tables += 1,
            Op::Rows(_, false) => {}
            Op::Rows(change, true) => apply(&mut m.rows, change),
            Op::Prepare(n, changes) => drop(m.prepared.insert(*n, changes.clone())),
            Op::End(n, commit) => m.end(*n, *commit),
        }
        m
    }
}

fn change_rows(db: &Engine, txn: &mut Txn, (table, rows): &Change) -> Result<()> {
    let t = db.open_table(txn, D, NAMES[*table])?;
    let (mut ck, mut old) = (Vec::new(), Vec::new());
    for (id, new) in rows {
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        let there = t.get(txn, 0, &int_key(*id), mode, &mut ck, &mut old)?;
        match (there, new) {
            (true, Some(new)) => t.update(txn, &ck, &old, new)?,
            (true, None) => t.delete(txn, &ck, &old)?,
            (false, Some(new)) => t.insert(txn, new)?,
            (false, None) => {}
        }
    }
    Ok(())
}

fn execute(db: &Engine, op: &Op) -> Result<()> {
    let owner = db.owner();
    match op {
        Op::Create(n) => {
            if *n == 0 {
                db.create_database(&owner, D, b"")?;
            }
            let t = table(NAMES[*n], &[("PRIMARY", true, &[0]), ("n", false, &[1])]);
            db.create_table(&owner, t)
        }
        Op::Rows(change, commit) => {
            let mut txn = db.begin(&owner, Isolation::RepeatableRead);
            match change_rows(db, &mut txn, change) {
                Ok(()) if *commit => db.commit(txn),
                done => db.rollback(txn).and(done),
            }
        }
        Op::Prepare(n, changes) => {
            let mut txn = db.begin(&owner, Isolation::RepeatableRead);
            let done = (changes.iter()).try_for_each(|c| change_rows(db, &mut txn, c));
            let lsn = done.and_then(|()| {
                db.prepare(txn, xid(*n)).map_err(|back| {
                    let (txn, e) = *back;
                    let _ = db.rollback(txn);
                    e
                })
            })?;
            db.wait_durable(lsn)
        }
        Op::End(n, commit) => {
            let found = match commit {
                true => db.commit_prepared(&xid(*n))?,
                false => db.rollback_prepared(&xid(*n))?,
            };
            assert!(found, "{n}");
            Ok(())
        }
    }
}

fn rows_of(db: &Engine) -> (usize, Rows) {
    let mut all = Rows::default();
    let tables = db.tables(D).unwrap_or_default();
    for name in &tables {
        let n = NAMES.iter().position(|n| n == name).unwrap();
        let owner = db.owner();
        let mut txn = db.begin(&owner, Isolation::RepeatableRead);
        let t = db.open_table(&mut txn, D, name).unwrap();
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = t
            .scan(&mut txn, 0, everything(), dir, mode, Fetch::Row)
            .unwrap();
        while let Some(r) = scan.next(&mut txn).unwrap() {
            let id = fields(r.row)[0].clone().unwrap();
            let id = u64::from_be_bytes(id.try_into().unwrap()) ^ (1 << 63);
            all[n].insert(id as i64, r.row.to_vec());
        }
        drop(scan);
        db.commit(txn).unwrap();
    }
    (tables.len(), all)
}

fn small() -> Options {
    Options {
        log_bytes: 1 << 20,
        ..options()
    }
}

/// Runs the script until the power goes: the model before and after the statement that failed.
fn run_until_cut(disk: &SimStorage) -> (Model, Model) {
    let mut m = Model::default();
    let Ok(db) = open_with(disk, small()) else {
        return (m.clone(), m);
    };
    for op in script() {
        let after = m.after(&op);
        if execute(&db, &op).is_err() {
            return (m, after);
        }
        m = after;
    }
    (m.clone(), m)
}

/// What is there is as before or after the statement that failed. The prepared transactions are ended then, each wholly.
fn verify(disk: &SimStorage, before: &Model, after: &Model, at: u64) {
    let engine = open_with(disk, small()).unwrap_or_else(|e| panic!("cut {at}: {e}"));
    let found = engine.prepared();
    let (tables, rows) = rows_of(&engine);
    let is = |m: &&Model| {
        let prepared: Vec<Xid> = m.prepared.keys().map(|n| xid(*n)).collect();
        m.tables == tables && m.rows == rows && prepared == found
    };
    let model = [before, after].into_iter().find(is);
    let mut model = model
        .unwrap_or_else(|| panic!("cut {at}: the wrong rows, or {found:?} prepared"))
        .clone();
    let open: Vec<i64> = model.prepared.keys().copied().collect();
    for n in open {
        let commit = (at + n as u64).is_multiple_of(2);
        execute(&engine, &Op::End(n, commit)).unwrap();
        model.end(n, commit);
    }
    assert!(rows_of(&engine).1 == model.rows, "cut {at}: half an end");
    Db {
        engine,
        disk: disk.clone(),
    }
    .check();
}

fn seed() -> u64 {
    let wanted = std::env::var("CRASH_SEED").ok();
    wanted.and_then(|s| s.parse().ok()).unwrap_or(0)
}

/// Nothing that was acknowledged is lost, nothing is half there, wherever the power goes. `CRASH_SEED=n` lets other writes survive.
#[test]
fn at_every_write() {
    for at in 0.. {
        let disk = SimStorage::new();
        let steps = cut_at(&disk, at);
        let (before, after) = run_until_cut(&disk);
        let finished = steps.load(Ordering::Relaxed) <= at;
        let mut coin = Rng(at + 1 + (seed() << 32));
        disk.restart(|| coin.chance(50));
        verify(&disk, &before, &after, at);
        if finished {
            assert!(at > 50, "the script writes more often than {at} times");
            return;
        }
    }
}

/// The power goes again while recovery is at work, and while what recovery found is being ended.
#[test]
fn recovery_and_ends_can_be_cut_short() {
    for first in (15..150).step_by(13) {
        let disk = SimStorage::new();
        cut_at(&disk, first);
        let (before, mut after) = run_until_cut(&disk);
        let mut coin = Rng(first + (seed() << 32));
        disk.restart(|| coin.chance(50));
        for second in 0..8 {
            cut_at(&disk, second);
            drop(open_with(&disk, small()));
            disk.restart(|| coin.chance(50));
        }
        disk.clear_hook();
        // One of those that are there in any case is rolled back, and the power goes meanwhile.
        let Some(n) = before.prepared.keys().copied().next_back() else {
            verify(&disk, &before, &after, first);
            continue;
        };
        if !after.prepared.contains_key(&n) {
            verify(&disk, &before, &after, first);
            continue;
        }
        let engine = open_with(&disk, small()).unwrap();
        let (tables, rows) = rows_of(&engine);
        let is_before = before.tables == tables
            && before.rows == rows
            && before.prepared.len() == engine.prepared().len();
        let now = if is_before { before } else { after };
        cut_at(&disk, first % 5);
        let ended = execute(&engine, &Op::End(n, false));
        after = now.after(&Op::End(n, false));
        drop(engine);
        disk.restart(|| coin.chance(50));
        let now = if ended.is_ok() { after.clone() } else { now };
        verify(&disk, &now, &after, first);
    }
}
