//! Temporary tables: nothing logged, nothing left, everything else as with other tables.

mod common;
use common::*;
use millpond_store::engine::{NewTable, Redefinition, TemporaryChange};
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn definition() -> NewTable {
    table(
        "t",
        &[
            ("PRIMARY", true, &[0]),
            ("b", false, &[1]),
            ("c", true, &[2]),
        ],
    )
}

fn a_row(id: i64, b: i64, c: Option<i64>, pad: &[u8]) -> Vec<u8> {
    row(&[
        Some(&int(id)),
        Some(&int(b)),
        c.map(int).as_deref(),
        Some(pad),
    ])
}

fn lsn(engine: &Engine) -> u64 {
    engine.status().counter("Innodb_redo_log_current_lsn")
}

fn used(engine: &Engine) -> u64 {
    engine.status().counter("Millpond_temp_file_used_bytes")
}

/// A database in which nothing goes on by itself any more.
fn at_rest() -> Db {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("base", &[("PRIMARY", true, &[0])]));
    let base = s.open("base");
    s.insert(&base, &ints(&[1])).unwrap();
    s.commit();
    db.settled();
    db
}

#[test]
fn they_write_no_redo_and_hold_no_commit_up() {
    let db = at_rest();
    let synced = Arc::new(AtomicU64::new(0));
    let before = lsn(&db.engine);
    let count = synced.clone();
    db.disk.on_step(move |kind, name| {
        if name == "temp" && matches!(kind, OpKind::Sync | OpKind::SyncFolder) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Step::Go
    });
    let mut s = db.session();
    let t = db.engine.create_temporary(definition()).unwrap();
    for id in 0..500 {
        s.insert(&t, &a_row(id, id % 7, Some(id), &[id as u8; 100]))
            .unwrap();
        if id % 50 == 0 {
            s.commit();
        }
    }
    s.insert(&t, &a_row(1000, 0, None, &[9; 50_000])).unwrap();
    s.commit();
    s.update(&t, &int_key(3), |_| a_row(3, 99, None, b"new"))
        .unwrap();
    s.delete(&t, &int_key(4)).unwrap();
    let point = s.txn().savepoint();
    s.delete(&t, &int_key(5)).unwrap();
    let engine = db.engine.clone();
    engine.rollback_to(s.txn(), point).unwrap();
    s.rollback();
    assert_eq!(s.rows(&t, 0).len(), 501);
    s.commit();
    let add = TemporaryChange::AddIndex(("d".into(), false, vec![1, 2]), b"x".to_vec());
    let t = db.engine.alter_temporary(&s.owner, &t, add).unwrap();
    assert_eq!(s.rows(&t, 3).len(), 501);
    s.commit();
    let less = TemporaryChange::DropIndex("b".into(), b"y".to_vec());
    let t = db.engine.alter_temporary(&s.owner, &t, less).unwrap();
    let t = db.engine.truncate_temporary(&t).unwrap();
    assert_eq!(s.rows(&t, 1), [] as [Vec<u8>; 0]);
    s.insert(&t, &a_row(1, 1, Some(1), b"")).unwrap();
    s.commit();
    db.engine.drop_temporary(&t);
    assert_eq!(lsn(&db.engine), before, "something was logged");
    assert_eq!(db.engine.status().counter("Innodb_history_list_length"), 0);
    assert_eq!(used(&db.engine), 0);
    wait_until(|| db.engine.status().counter("Millpond_temp_file_bytes") == 0);
    assert_eq!(synced.load(Ordering::Relaxed), 0);
    db.check();
}

#[test]
fn a_changed_definition_has_the_rows_and_the_old_object_is_invalid() {
    let db = at_rest();
    let mut s = db.session();
    let t = db.engine.create_temporary(definition()).unwrap();
    assert!(t.is_temporary() && t.pin_for_write(s.txn()).unwrap());
    for id in 0..100 {
        s.insert(&t, &a_row(id, id % 10, Some(id), b"x")).unwrap();
    }
    s.commit();
    // A unique index that cannot be leaves everything as it was.
    let before = used(&db.engine);
    let add = TemporaryChange::AddIndex(("u".into(), true, vec![1]), b"x".to_vec());
    let error = db.engine.alter_temporary(&s.owner, &t, add).err().unwrap();
    assert!(
        matches!(error, Error::DuplicateRow { index: 3, .. }),
        "{error:?}"
    );
    assert!(t.pin(s.txn()).unwrap());
    assert_eq!(used(&db.engine), before);
    s.commit();
    let rename = TemporaryChange::Rename("e".into(), "u".into());
    let new = db.engine.alter_temporary(&s.owner, &t, rename).unwrap();
    assert_eq!(new.def().name, "u");
    assert!(!t.pin(s.txn()).unwrap() && new.pin(s.txn()).unwrap());
    drop(t);
    assert_eq!(s.rows(&new, 1).len(), 100);
    s.commit();
    // The last one who knows the table takes its pages along.
    assert!(used(&db.engine) > 0);
    drop(new);
    assert_eq!(used(&db.engine), 0);
}

#[test]
fn two_sessions_changes_and_readers_do_not_meet() {
    let db = at_rest();
    let (mut a, mut b) = (db.session(), db.session());
    let ta = db.engine.create_temporary(definition()).unwrap();
    let tb = db.engine.create_temporary(definition()).unwrap();
    a.insert(&ta, &a_row(1, 1, Some(1), b"a")).unwrap();
    b.insert(&tb, &a_row(1, 2, Some(1), b"b")).unwrap();
    assert_eq!(
        fields(&a.get(&ta, 0, &int_key(1)).unwrap())[3],
        Some(b"a".to_vec())
    );
    assert_eq!(
        fields(&b.get(&tb, 2, &int_key(1)).unwrap())[3],
        Some(b"b".to_vec())
    );
    a.rollback();
    assert_eq!(a.get(&ta, 0, &int_key(1)), None);
    // Neither has locked anything, nor has it an id.
    let locking = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::NoWait);
    assert_eq!(
        b.scan(&tb, 1, everything(), Direction::Backward, locking)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(b.txn().id(), 0);
    assert_eq!(db.engine.status().counter("Innodb_row_lock_waits"), 0);
    b.commit();
    assert_eq!(b.rows(&tb, 0).len(), 1);
}

#[test]
fn a_transaction_mixes_both_kinds_of_tables() {
    let db = at_rest();
    let mut s = db.session();
    let base = s.open("base");
    let t = db.engine.create_temporary(definition()).unwrap();
    let engine = db.engine.clone();
    s.insert(&t, &a_row(1, 1, Some(1), b"")).unwrap();
    s.insert(&base, &ints(&[2])).unwrap();
    let point = s.txn().savepoint();
    s.insert(&base, &ints(&[3])).unwrap();
    s.insert(&t, &a_row(2, 1, Some(2), b"")).unwrap();
    engine.rollback_to(s.txn(), point).unwrap();
    // A duplicate fails alone.
    let failed = s.insert(&t, &a_row(9, 1, Some(1), b""));
    assert!(matches!(failed, Err(Error::DuplicateKey { index: 2 })));
    assert_eq!(s.ints(&base, 0), [[1], [2]]);
    assert_eq!(s.rows(&t, 1).len(), 1);
    s.rollback();
    assert_eq!(s.ints(&base, 0), [[1]]);
    assert_eq!(s.rows(&t, 0).len(), 0);
    s.insert(&base, &ints(&[2])).unwrap();
    s.insert(&t, &a_row(1, 1, Some(1), b"")).unwrap();
    s.commit();
    // One that is given up by its owner is undone.
    s.insert(&t, &a_row(2, 1, Some(2), b"")).unwrap();
    s.update(&t, &int_key(1), |_| a_row(7, 1, Some(1), b"moved"))
        .unwrap();
    s.txn = None;
    assert_eq!(s.rows(&t, 0), [a_row(1, 1, Some(1), b"")]);
    s.commit();
    drop(t);
    drop((s, base));
    let db = db.crash();
    let mut s = db.session();
    let base = s.open("base");
    assert_eq!(s.ints(&base, 0), [[1], [2]]);
    s.commit();
    db.check();
}

#[test]
fn a_transaction_larger_than_the_pool_is_undone() {
    let db = at_rest();
    let mut s = db.session();
    let t = db.engine.create_temporary(definition()).unwrap();
    let rows = 4000;
    let pad = |n: i64| vec![n as u8; 1500 + (n % 100) as usize * 10];
    for id in 0..rows {
        s.insert(&t, &a_row(id, id % 50, Some(id), &pad(id)))
            .unwrap();
    }
    s.insert(&t, &a_row(rows, 0, None, &vec![7; 3 << 20]))
        .unwrap();
    s.commit();
    let before = s.rows(&t, 0);
    s.commit();
    let used_before = used(&db.engine);
    for id in 0..rows {
        match id % 3 {
            0 => {
                s.delete(&t, &int_key(id)).unwrap();
            }
            1 => {
                let new = a_row(id, id % 13, None, &pad(id + 1));
                s.update(&t, &int_key(id), |_| new).unwrap();
            }
            _ => {
                let new = a_row(id + 100_000, id, Some(-id), &pad(id));
                s.update(&t, &int_key(id), |_| new).unwrap();
            }
        }
    }
    s.delete(&t, &int_key(rows)).unwrap();
    assert!(db.engine.status().counter("Millpond_temp_pages_written") > 500);
    s.rollback();
    assert_eq!(s.rows(&t, 0), before);
    for index in 1..3 {
        assert_eq!(s.rows(&t, index).len(), before.len());
    }
    s.commit();
    // Of two tables one goes before the rollback.
    for id in 0..rows {
        s.delete(&t, &int_key(id)).unwrap();
    }
    let copy = db.engine.create_temporary(definition()).unwrap();
    s.insert(&copy, &a_row(1, 1, None, b"")).unwrap();
    db.engine.drop_temporary(&copy);
    s.rollback();
    assert_eq!(s.rows(&t, 0), before);
    s.commit();
    // The undo's pages are free again, and the rows take about what they took.
    assert!(used(&db.engine) < used_before * 2);
    for id in 0..rows {
        s.delete(&t, &int_key(id)).unwrap();
    }
    let reads = db.engine.status().counter("Innodb_buffer_pool_reads");
    db.engine.drop_temporary(&t);
    s.rollback();
    // What is gone is not undone, so none of the undo is read.
    assert_eq!(
        db.engine.status().counter("Innodb_buffer_pool_reads"),
        reads
    );
    assert_eq!(used(&db.engine), 0);
}

#[test]
fn a_full_disk_costs_the_table_and_nobody_else() {
    let db = at_rest();
    let mut s = db.session();
    let mut other = db.session();
    let base = other.open("base");
    other.commit();
    let full = Arc::new(AtomicBool::new(false));
    let is_full = full.clone();
    db.disk.on_step(move |kind, name| {
        let temp = name == "temp" && kind == OpKind::Write;
        if temp && is_full.load(Ordering::Relaxed) {
            return Step::Full;
        }
        Step::Go
    });
    let t = db.engine.create_temporary(definition()).unwrap();
    for id in 0..1000 {
        s.insert(&t, &a_row(id, id, Some(id), &[1; 3000])).unwrap();
    }
    s.commit();
    full.store(true, Ordering::Relaxed);
    let mut failed = None;
    for id in 1000..20_000 {
        if let Err(e) = s.insert(&t, &a_row(id, id, Some(id), &[1; 3000])) {
            failed = Some(e.to_string());
            break;
        }
    }
    assert!(failed.unwrap().contains("temporary table is lost"));
    s.rollback();
    let lost = s.read(&t, 0, &int_key(1), ReadMode::Consistent);
    assert!(lost.is_err());
    s.rollback();
    db.engine.drop_temporary(&t);
    full.store(false, Ordering::Relaxed);
    other.insert(&base, &ints(&[5])).unwrap();
    other.commit();
    assert_eq!(used(&db.engine), 0);
    let t = db.engine.create_temporary(definition()).unwrap();
    s.insert(&t, &a_row(1, 1, Some(1), b"")).unwrap();
    s.commit();
    drop((t, s, other, base));
    db.check();
}

/// A row as the model has it: b, c, pad.
type Model = BTreeMap<i64, (i64, Option<i64>, Vec<u8>)>;

fn bytes_of(id: i64, r: &(i64, Option<i64>, Vec<u8>)) -> Vec<u8> {
    a_row(id, r.0, r.1, &r.2)
}

struct World {
    db: Db,
    s: Session,
    t: Arc<Table>,
    rng: Rng,
    committed: Model,
    now: Model,
    points: Vec<(Savepoint, Model)>,
    /// Columns of each index.
    indexes: Vec<Vec<u8>>,
}

const IDS: u64 = 2500;

impl World {
    fn new(seed: u64) -> World {
        let db = at_rest();
        let levels = [
            Isolation::ReadUncommitted,
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
        ];
        let s = db.at(levels[seed as usize % 3]);
        World {
            t: db.engine.create_temporary(definition()).unwrap(),
            s,
            db,
            rng: Rng(seed * 77 + 5),
            committed: Model::new(),
            now: Model::new(),
            points: Vec::new(),
            indexes: vec![vec![0], vec![1], vec![2]],
        }
    }

    fn a_new_row(&mut self) -> (i64, (i64, Option<i64>, Vec<u8>)) {
        let r = &mut self.rng;
        let c = r.chance(80).then(|| r.below(IDS * 2) as i64);
        let len = match r.below(40) {
            0 => 20_000 + r.below(60_000),
            1..4 => r.below(9000),
            _ => 3000 + r.below(4500),
        };
        let pad = vec![r.next() as u8; len as usize];
        (r.below(IDS) as i64, (r.below(30) as i64, c, pad))
    }

    fn is_taken(&self, c: Option<i64>, except: Option<i64>) -> bool {
        let mut rows = self.now.iter().filter(|(id, _)| Some(**id) != except);
        c.is_some() && rows.any(|(_, r)| r.1 == c)
    }

    fn insert(&mut self) {
        let (id, new) = self.a_new_row();
        let done = self.s.insert(&self.t, &bytes_of(id, &new));
        match (self.now.contains_key(&id), self.is_taken(new.1, None)) {
            (true, _) => assert!(matches!(done, Err(Error::DuplicateKey { index: 0 }))),
            (_, true) => {
                let c = self.indexes.iter().position(|i| *i == [2]);
                let failed = matches!(done, Err(Error::DuplicateKey { index }) if Some(index) == c);
                assert!(failed, "{done:?}");
            }
            _ => {
                done.unwrap();
                self.now.insert(id, new);
            }
        }
    }

    fn update(&mut self) {
        let (from, mut new) = self.a_new_row();
        let to = match self.rng.chance(20) {
            true => self.rng.below(IDS) as i64,
            false => from,
        };
        if let Some(old) = self.now.get(&from)
            && self.rng.chance(50)
        {
            // Part of it only.
            new = (new.0, old.1, old.2.clone());
        }
        let bytes = bytes_of(to, &new);
        let done = self.s.update(&self.t, &int_key(from), |_| bytes);
        let there = self.now.contains_key(&from);
        if !there {
            assert!(!done.unwrap());
        } else if to != from && self.now.contains_key(&to) || self.is_taken(new.1, Some(from)) {
            assert!(matches!(done, Err(Error::DuplicateKey { .. })), "{done:?}");
        } else {
            assert!(done.unwrap());
            self.now.remove(&from);
            self.now.insert(to, new);
        }
    }

    fn delete(&mut self) {
        let id = self.rng.below(IDS) as i64;
        let done = self.s.delete(&self.t, &int_key(id)).unwrap();
        assert_eq!(done, self.now.remove(&id).is_some());
    }

    fn end(&mut self, commit: bool) {
        self.s.txn();
        if commit {
            self.s.commit();
            self.committed = self.now.clone();
        } else {
            self.s.rollback();
            self.now = self.committed.clone();
        }
        self.points.clear();
    }

    fn savepoint(&mut self) {
        let engine = self.db.engine.clone();
        if self.points.is_empty() || self.rng.chance(60) {
            let point = self.s.txn().savepoint();
            self.points.push((point, self.now.clone()));
            return;
        }
        let at = self.rng.below(self.points.len() as u64) as usize;
        self.points.truncate(at + 1);
        let (point, model) = &self.points[at];
        engine.rollback_to(self.s.txn(), *point).unwrap();
        self.now = model.clone();
    }

    fn alter(&mut self) {
        self.end(true);
        let change = match self.rng.below(10) {
            0 => {
                self.t = self.db.engine.truncate_temporary(&self.t).unwrap();
                self.now.clear();
                self.committed.clear();
                return;
            }
            1..4 => TemporaryChange::Redefine(Redefinition::of_body(vec![1, 2, 3])),
            _ => match self.indexes.iter().position(|i| *i == [1, 2]) {
                Some(at) => {
                    self.indexes.remove(at);
                    TemporaryChange::DropIndex("x".into(), vec![])
                }
                None => {
                    self.indexes.push(vec![1, 2]);
                    TemporaryChange::AddIndex(("x".into(), false, vec![1, 2]), vec![])
                }
            },
        };
        let owner = self.s.owner.clone();
        self.t = self
            .db
            .engine
            .alter_temporary(&owner, &self.t, change)
            .unwrap();
    }

    fn key(&self, index: usize, id: i64, r: &(i64, Option<i64>, Vec<u8>)) -> Vec<u8> {
        let fields = [Some(int(id)), Some(int(r.0)), r.1.map(int)];
        let parts = self.indexes[index].iter();
        let parts: Vec<_> = parts.map(|n| fields[*n as usize].as_deref()).collect();
        key_of(&parts)
    }

    /// Scans in both directions, both ways of reading, and a lookup.
    fn read(&mut self) {
        let index = self.rng.below(self.indexes.len() as u64) as usize;
        let locking = ReadMode::Locking(LockMode::Shared, WaitPolicy::Wait);
        let mode = match self.rng.chance(50) {
            true => ReadMode::Consistent,
            false => locking,
        };
        let mut want: Vec<_> = self
            .now
            .iter()
            .map(|(id, r)| (self.key(index, *id, r), *id))
            .collect();
        want.sort();
        let (mut range, mut dir) = (everything(), Direction::Forward);
        if self.rng.chance(60) && !want.is_empty() {
            let at = self.rng.below(want.len() as u64) as usize;
            let low = want[at].0.clone();
            want.retain(|(k, _)| *k >= low);
            range.lower = Bound::Included(low);
        }
        if self.rng.chance(50) {
            dir = Direction::Backward;
            want.reverse();
        }
        let got = self.s.scan(&self.t, index, range, dir, mode).unwrap();
        let mut want: Vec<_> = want
            .into_iter()
            .map(|(k, id)| (k, bytes_of(id, &self.now[&id])))
            .collect();
        let mut got: Vec<_> = got
            .into_iter()
            .map(|row| {
                let f = fields(&row);
                let parts: Vec<_> = self.indexes[index]
                    .iter()
                    .map(|n| f[*n as usize].as_deref())
                    .collect();
                (key_of(&parts), row)
            })
            .collect();
        let in_order = got.windows(2).all(|w| match dir {
            Direction::Forward => w[0].0 <= w[1].0,
            Direction::Backward => w[0].0 >= w[1].0,
        });
        assert!(in_order);
        want.sort();
        got.sort();
        assert!(
            want == got,
            "index {index}: {} rows for {}",
            got.len(),
            want.len()
        );
        let id = self.rng.below(IDS) as i64;
        let found = self.s.read(&self.t, 0, &int_key(id), mode).unwrap();
        assert_eq!(found, self.now.get(&id).map(|r| bytes_of(id, r)));
    }
}

#[test]
fn a_random_run_agrees_with_a_model() {
    let seeds = std::env::var("MILLPOND_SEEDS").map_or(3, |s| s.parse().unwrap());
    let mut written = 0;
    for seed in 0..seeds {
        let mut w = World::new(seed);
        let before = lsn(&w.db.engine);
        for step in 0..4000 {
            match w.rng.below(100) {
                0..45 => w.insert(),
                45..65 => w.update(),
                65..80 => w.delete(),
                80..84 => {
                    let commit = w.rng.chance(60);
                    w.end(commit);
                }
                84..92 => w.savepoint(),
                92 if step % 16 == 0 => w.alter(),
                _ => w.read(),
            }
        }
        w.end(true);
        for _ in 0..20 {
            w.read();
        }
        w.end(true);
        assert_eq!(lsn(&w.db.engine), before);
        let status = w.db.engine.status();
        written += status.counter("Millpond_temp_pages_written");
        let World { db, t, s, .. } = w;
        drop((t, s));
        assert_eq!(used(&db.engine), 0);
        db.check();
    }
    assert!(written > 0, "all of it fit the pool");
}

/// Commits base rows one by one beside a temporary table larger than the pool, counting them.
fn crash_script(db: &Engine, acknowledged: &AtomicU64) -> Result<()> {
    let owner = db.owner();
    db.create_database(&owner, D, b"")?;
    db.create_table(&owner, table("base", &[("PRIMARY", true, &[0])]))?;
    let t = db.create_temporary(definition())?;
    for id in 1..=12 {
        let mut txn = db.begin(&owner, Isolation::RepeatableRead);
        for i in 0..40 {
            let id = id * 100 + i;
            t.insert(&mut txn, &a_row(id, id, Some(id), &[3; 12_000]))?;
        }
        let base = db.open_table(&mut txn, D, "base")?;
        base.insert(&mut txn, &ints(&[id]))?;
        db.commit(txn)?;
        acknowledged.store(id as u64, Ordering::Relaxed);
    }
    db.drop_temporary(&t);
    Ok(())
}

/// Runs the script with the power cut at a step; how many steps there were, and rows acknowledged.
fn run_and_cut(cut_at: u64) -> (u64, u64, SimStorage) {
    let disk = SimStorage::new();
    let steps = Arc::new(AtomicU64::new(0));
    let acknowledged = AtomicU64::new(0);
    let count = steps.clone();
    disk.on_step(move |kind, _| {
        if kind == OpKind::Read || count.fetch_add(1, Ordering::Relaxed) != cut_at {
            return Step::Go;
        }
        Step::Cut
    });
    let ran = open(&disk).and_then(|db| crash_script(&db, &acknowledged));
    assert!(ran.is_ok() || disk.is_cut());
    let steps = steps.load(Ordering::Relaxed);
    (steps, acknowledged.load(Ordering::Relaxed), disk)
}

#[test]
fn a_power_cut_at_any_step_leaves_nothing_and_loses_no_commit() {
    let (steps, all, _) = run_and_cut(u64::MAX);
    assert_eq!(all, 12);
    let cuts = std::env::var("MILLPOND_CUTS").map_or(40, |c| c.parse().unwrap());
    for cut_at in (0..steps).step_by((steps / cuts).max(1) as usize) {
        let (_, acknowledged, disk) = run_and_cut(cut_at);
        let mut coin = Rng(cut_at + 1);
        disk.restart(|| coin.chance(50));
        let db = Db::on(disk);
        let temp = db.disk.files().iter().any(|f| f.0 == "temp");
        assert!(
            !temp,
            "cut at {cut_at}: the file of temporary tables is there"
        );
        let mut s = db.session();
        let mut there = Vec::new();
        if db.engine.table_def(D, "base").is_ok() {
            let base = s.open("base");
            there = s.ints(&base, 0);
            s.commit();
        }
        let n = there.len() as u64;
        assert!(
            n == acknowledged || n == acknowledged + 1,
            "cut at {cut_at}"
        );
        assert!((1..).zip(&there).all(|(i, row)| *row == [i]));
        drop(s);
        db.check();
    }
}
