//! Index builds while rows change. A codec that calls back when the new index's keys are made lets tests do things in the middle of
//! a build, again and again, without a second thread.

mod common;
use common::*;
use millpond_store::engine::Beside;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;

/// Name of the index that is built.
const NEW: &str = "new";

/// What is called; whether it is to be called again. Not called from within itself.
type Callback = Box<dyn FnMut() -> bool + Send>;

#[derive(Clone, Default)]
struct Hook(Arc<Mutex<Option<Callback>>>);

impl Hook {
    fn set(&self, f: impl FnMut() -> bool + Send + 'static) {
        *self.0.lock() = Some(Box::new(f));
    }
    fn clear(&self) {
        *self.0.lock() = None;
    }
    fn call(&self) {
        let taken = self.0.lock().take();
        if let Some(mut f) = taken
            && f()
        {
            *self.0.lock() = Some(f);
        }
    }
}

struct HookCodec {
    inner: Arc<dyn KeyCodec>,
    new: Option<usize>,
    hook: Hook,
}

impl KeyCodec for HookCodec {
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        if Some(index) == self.new {
            self.hook.call();
        }
        self.inner.key(index, row, out)
    }
}

impl CodecFactory for Hook {
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        Ok(Arc::new(HookCodec {
            inner: ToyCodecs.codec(def)?,
            new: def.indexes.iter().position(|i| i.name == NEW),
            hook: self.clone(),
        }))
    }
}

fn open_hooked(disk: &SimStorage, hook: &Hook) -> Result<Db> {
    Ok(Db {
        engine: Engine::open(Arc::new(disk.clone()), options(), Arc::new(hook.clone()))?,
        disk: disk.clone(),
    })
}

/// A database with table `t` of `n` rows and an index on the value, which is ten times the id.
fn filled(n: i64) -> (Db, Hook) {
    let hook = Hook::default();
    let db = open_hooked(&SimStorage::new(), &hook).unwrap();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("v", false, &[1])]));
    let t = s.open("t");
    for id in 0..n {
        s.insert(&t, &a_row(id, id * 10, 10)).unwrap();
    }
    s.commit();
    (db, hook)
}

fn a_row(id: i64, v: i64, pad: usize) -> Vec<u8> {
    row(&[Some(&int(id)), Some(&int(v)), Some(&vec![7; pad])])
}

fn build(db: &Db, unique: bool, beside: Beside) -> Result<()> {
    build_by(db, &db.engine.owner(), unique, beside)
}

fn build_by(db: &Db, owner: &Arc<Owner>, unique: bool, beside: Beside) -> Result<()> {
    let index = (NEW.to_string(), unique, vec![1]);
    let body = b"with new".to_vec();
    db.engine
        .create_index_beside(owner, (D, "t"), index, body, beside)
}

fn drop_new(db: &Db) {
    let owner = db.engine.owner();
    let body = b"without".to_vec();
    db.engine.drop_index(&owner, D, "t", NEW, body).unwrap();
}

fn has_new(db: &Db) -> bool {
    let def = db.engine.table_def(D, "t").unwrap();
    def.indexes.iter().any(|i| i.name == NEW)
}

/// The new index leads to the same rows as the clustered one.
fn agrees(db: &Db) {
    let mut s = db.session();
    let t = s.open("t");
    let at = t.def().indexes.len() - 1;
    assert_eq!(t.def().indexes[at].name, NEW);
    let key = |row: &Vec<u8>| (fields(row)[1].clone(), fields(row)[0].clone());
    let mut rows = s.rows(&t, 0);
    rows.sort_by_key(key);
    assert_eq!(s.rows(&t, at), rows);
    s.commit();
    db.check();
}

/// Runs `meanwhile` while a build in another thread stands still. It goes on when `meanwhile` says so, or has ended.
fn paused<R: Send>(
    db: &Db,
    hook: &Hook,
    build: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce(&dyn Fn()),
) -> R {
    let (stands, is_there) = channel();
    let (go, may_go) = channel();
    hook.set(move || {
        stands.send(()).unwrap();
        may_go.recv().unwrap();
        false
    });
    std::thread::scope(|scope| {
        let builder = scope.spawn(build);
        is_there.recv().unwrap();
        assert!(db.engine.waits().is_empty());
        meanwhile(&|| go.send(()).unwrap());
        // Nobody listens if it goes on already.
        let _ = go.send(());
        builder.join().unwrap()
    })
}

/// Reads and writes, undone ones too, go on in the middle of a build.
#[test]
fn rows_change_during_a_build() {
    let (db, hook) = filled(500);
    paused(
        &db,
        &hook,
        || build(&db, false, Beside::Writes).unwrap(),
        |_| {
            let mut s = db.session();
            s.owner.set_metadata_timeout(0);
            let t = s.open("t");
            assert_eq!(s.rows(&t, 1).len(), 500);
            s.insert(&t, &a_row(1000, 55, 10)).unwrap();
            s.insert(&t, &a_row(1001, 55, 20_000)).unwrap();
            s.delete(&t, &int_key(3)).unwrap();
            s.update(&t, &int_key(4), |_| a_row(4, -4, 10)).unwrap();
            s.update(&t, &int_key(5), |_| a_row(5, 5, 30_000)).unwrap();
            s.update(&t, &int_key(6), |_| a_row(2006, 60, 10)).unwrap();
            s.commit();
            let t = s.open("t");
            s.delete(&t, &int_key(3)).unwrap();
            s.insert(&t, &a_row(3, 33, 10)).unwrap();
            s.delete(&t, &int_key(1001)).unwrap();
            s.update(&t, &int_key(5), |_| a_row(5, 6, 40_000)).unwrap();
            s.commit();
            let t = s.open("t");
            s.insert(&t, &a_row(1002, 77, 50_000)).unwrap();
            s.delete(&t, &int_key(5)).unwrap();
            s.insert(&t, &a_row(5, 88, 10)).unwrap();
            s.update(&t, &int_key(4), |_| a_row(4, 4, 10)).unwrap();
            s.delete(&t, &int_key(9)).unwrap();
            s.rollback();
            let t = s.open("t");
            s.update(&t, &int_key(10), |_| a_row(10, 1, 10)).unwrap();
            let savepoint = s.txn().savepoint();
            s.update(&t, &int_key(10), |_| a_row(10, 2, 10)).unwrap();
            s.delete(&t, &int_key(11)).unwrap();
            s.insert(&t, &a_row(1003, 3, 10)).unwrap();
            let engine = db.engine.clone();
            engine.rollback_to(s.txn(), savepoint).unwrap();
            s.commit();
        },
    );
    agrees(&db);
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(s.rows(&t, 0).len(), 501);
    assert!(s.get(&t, 2, &int_key(6)).is_some());
    assert!(s.get(&t, 2, &int_key(88)).is_none());
    s.commit();
    db.crash().check();
}

/// What a transaction that is still open does belongs to the build too: it is waited for.
#[test]
fn the_end_of_a_build_waits_for_open_transactions() {
    for commit in [true, false] {
        let (db, hook) = filled(100);
        let mut late = db.session();
        let mut old = db.session();
        let t = late.open("t");
        late.commit();
        let by = || build(&db, true, Beside::Writes);
        let built = paused(&db, &hook, by, |go| {
            assert!(t.pin_for_write(late.txn()).unwrap());
            late.update(&t, &int_key(7), |_| a_row(7, 7, 10)).unwrap();
            // A view made during the build.
            db.engine.snapshot(old.begin());
            go();
            wait_until(|| !db.engine.waits().is_empty());
            late.update(&t, &int_key(7), |_| a_row(7, 8, 10)).unwrap();
            late.delete(&t, &int_key(8)).unwrap();
            late.insert(&t, &a_row(500, 80, 10)).unwrap();
            match commit {
                true => late.commit(),
                false => late.rollback(),
            }
        });
        built.unwrap();
        let t = old.open("t");
        let through = old.read(&t, 2, &int_key(70), ReadMode::Consistent);
        assert!(matches!(through, Err(Error::DefinitionChanged(_))));
        assert_eq!(old.rows(&t, 0).len(), 100);
        old.commit();
        let found = late.get(&old.open("t"), 2, &int_key(8));
        assert_eq!(found.is_some(), commit);
        late.commit();
        old.commit();
        agrees(&db);
    }
}

/// Changes that the builder has looked at before they are undone: of each kind, of rows short and long, with and without another
/// index on what they change.
#[test]
fn what_is_undone_late_is_undone_in_the_index() {
    for (pad, other_index) in [(10, true), (30_000, true), (10, false), (30_000, false)] {
        let (db, hook) = filled(500);
        if !other_index {
            let owner = db.engine.owner();
            let body = b"no v".to_vec();
            db.engine.drop_index(&owner, D, "t", "v", body).unwrap();
        }
        let mut late = db.session();
        let by = || build(&db, true, Beside::Writes);
        let built = paused(&db, &hook, by, |go| {
            let t = late.open("t");
            for id in 0..10 {
                let key = int_key(id);
                late.update(&t, &key, |_| a_row(id, -id - 1, pad)).unwrap();
                late.delete(&t, &int_key(100 + id)).unwrap();
                late.insert(&t, &a_row(1000 + id, 7 + id * 10, pad))
                    .unwrap();
                // Deleted and there again, with another key.
                late.delete(&t, &int_key(200 + id)).unwrap();
                late.insert(&t, &a_row(200 + id, -1000 - id, pad)).unwrap();
            }
            // More than is left for the end.
            change(&db, 300..450);
            go();
            wait_until(|| !db.engine.waits().is_empty());
            late.rollback();
        });
        built.unwrap();
        agrees(&db);
    }
}

/// A table whose rows have all gone still gets those that come during the build.
#[test]
fn an_emptied_table_fills_during_a_build() {
    let (db, hook) = filled(1);
    paused(
        &db,
        &hook,
        || build(&db, true, Beside::Writes).unwrap(),
        |_| {
            let mut s = db.session();
            let t = s.open("t");
            s.delete(&t, &int_key(0)).unwrap();
            for id in 1..50 {
                s.insert(&t, &a_row(id, id, 10)).unwrap();
            }
            s.commit();
        },
    );
    agrees(&db);
    let (db, _) = filled(1);
    let mut s = db.session();
    let t = s.open("t");
    s.delete(&t, &int_key(0)).unwrap();
    s.commit();
    build(&db, true, Beside::Writes).unwrap();
    let t = s.open("t");
    s.insert(&t, &a_row(5, 5, 10)).unwrap();
    s.commit();
    agrees(&db);
}

#[test]
fn a_build_may_keep_writers_or_everybody_out() {
    for (beside, reads) in [(Beside::Reads, true), (Beside::Nothing, false)] {
        let (db, hook) = filled(100);
        let mut s = db.session();
        let t = s.open("t");
        s.commit();
        paused(
            &db,
            &hook,
            || build(&db, false, beside).unwrap(),
            |_| {
                s.owner.set_metadata_timeout(0);
                assert_eq!(t.pin(s.txn()).is_ok(), reads);
                assert!(matches!(
                    t.pin_for_write(s.txn()),
                    Err(Error::LockWaitTimeout)
                ));
                s.rollback();
            },
        );
        agrees(&db);
    }
}

#[test]
fn other_definitions_wait_for_a_build() {
    let (db, hook) = filled(100);
    paused(
        &db,
        &hook,
        || build(&db, false, Beside::Writes).unwrap(),
        |_| {
            let owner = db.engine.owner();
            owner.set_metadata_timeout(0);
            let name = (D.to_string(), "t".to_string());
            for refused in [
                db.engine.drop_tables(&owner, std::slice::from_ref(&name)),
                db.engine.truncate_table(&owner, D, "t"),
                db.engine.lock_tables(&owner, &[(name, true)]),
                build_by(&db, &owner, false, Beside::Writes),
                db.engine.drop_database(&owner, D).map(drop),
            ] {
                assert!(matches!(refused, Err(Error::LockWaitTimeout)));
            }
        },
    );
    agrees(&db);
}

/// Two rows may have a key in common for a while, but not at the end.
#[test]
fn duplicates_at_the_end_fail_a_unique_build() {
    let (db, hook) = filled(200);
    let unique = || build(&db, true, Beside::Writes);
    let change = |f: &dyn Fn(&mut Session, &Table)| {
        let mut s = db.session();
        let t = s.open("t");
        f(&mut s, &t);
        s.commit();
    };
    let lasting = paused(&db, &hook, unique, |_| {
        change(&|s, t| s.insert(t, &a_row(1000, 50, 10)).unwrap());
    });
    assert!(matches!(lasting, Err(Error::DuplicateKey { index: 2 })));
    assert!(!has_new(&db));
    db.check();
    change(&|s, t| assert!(s.delete(t, &int_key(1000)).unwrap()));
    let passing = paused(&db, &hook, unique, |_| {
        change(&|s, t| s.insert(t, &a_row(1000, 50, 10)).unwrap());
        change(&|s, t| assert!(s.update(t, &int_key(5), |_| a_row(5, 51, 10)).unwrap()));
        let mut s = db.session();
        let t = s.open("t");
        s.insert(&t, &a_row(1001, 60, 10)).unwrap();
        s.rollback();
        // NULL is like nothing.
        let null = |id| row(&[Some(&int(id)), None, Some(b"")]);
        change(&|s, t| s.insert(t, &null(2000)).unwrap());
        change(&|s, t| s.insert(t, &null(2001)).unwrap());
    });
    passing.unwrap();
    agrees(&db);
}

/// The rows `ids` get other values.
fn change(db: &Db, ids: std::ops::Range<i64>) {
    let mut s = db.session();
    let t = s.open("t");
    for id in ids {
        s.update(&t, &int_key(id), |_| a_row(id, id * 10 + 1, 10))
            .unwrap();
        s.update(&t, &int_key(id), |_| a_row(id, id * 10 + 2, 10))
            .unwrap();
    }
    s.commit();
}

/// A failed build leaves the table as it was, to be changed and built upon.
fn nothing_is_left(db: &Db) {
    assert!(!has_new(db));
    change(db, 0..10);
    db.check();
    build(db, false, Beside::Writes).unwrap();
    agrees(db);
}

#[test]
fn a_killed_build_leaves_nothing() {
    let (db, hook) = filled(3000);
    let owner = db.engine.owner();
    let by = || build_by(&db, &owner, false, Beside::Writes);
    let killed = paused(&db, &hook, by, |_| owner.kill());
    assert!(matches!(killed, Err(Error::Interrupted)), "{killed:?}");
    nothing_is_left(&db);
    drop_new(&db);

    // Or while it waits for the lock.
    owner.clear_kill();
    let mut late = db.session();
    let killed = paused(&db, &hook, by, |go| {
        let t = late.open("t");
        late.delete(&t, &int_key(1)).unwrap();
        go();
        wait_until(|| !db.engine.waits().is_empty());
        owner.kill();
    });
    assert!(matches!(killed, Err(Error::Interrupted)), "{killed:?}");
    late.rollback();
    nothing_is_left(&db);
}

#[test]
fn a_build_that_falls_behind_fails() {
    let (db, hook) = filled(2000);
    db.engine.set_row_log_limit(10_000);
    let by = || build(&db, false, Beside::Writes);
    let failed = paused(&db, &hook, by, |_| change(&db, 0..500));
    assert!(matches!(failed, Err(Error::RowLogFull)), "{failed:?}");
    nothing_is_left(&db);
    drop_new(&db);
    // The limit may be raised in the middle.
    let passed = paused(&db, &hook, by, |_| {
        db.engine.set_row_log_limit(engine::ROW_LOG_BYTES);
        change(&db, 0..500);
    });
    passed.unwrap();
    agrees(&db);
}

#[test]
fn a_build_waits_for_its_lock_as_long_as_it_may() {
    let (db, hook) = filled(100);
    let owner = db.engine.owner();
    owner.set_metadata_timeout(0);
    let mut late = db.session();
    let by = || build_by(&db, &owner, false, Beside::Writes);
    let failed = paused(&db, &hook, by, |_| {
        let t = late.open("t");
        late.delete(&t, &int_key(1)).unwrap();
    });
    assert!(matches!(failed, Err(Error::LockWaitTimeout)), "{failed:?}");
    late.rollback();
    nothing_is_left(&db);
}

/// While a transaction keeps a build from ending, others use the table.
#[test]
fn a_build_that_waits_lets_others_pass() {
    let (db, hook) = filled(100);
    let (mut late, mut other) = (db.session(), db.session());
    other.owner.set_metadata_timeout(20);
    let t = other.open("t");
    other.commit();
    let by = || build(&db, false, Beside::Writes);
    let built = paused(&db, &hook, by, |go| {
        assert!(t.pin_for_write(late.txn()).unwrap());
        late.delete(&t, &int_key(1)).unwrap();
        go();
        for id in 200..205 {
            wait_until(|| !db.engine.waits().is_empty());
            assert!(t.pin_for_write(other.txn()).unwrap());
            other.insert(&t, &a_row(id, id, 10)).unwrap();
            other.commit();
        }
        late.commit();
    });
    built.unwrap();
    agrees(&db);
}

/// A wait for the lock that closes a circle is given up, and begun again.
#[test]
fn a_build_gets_out_of_the_way_of_a_deadlock() {
    let (db, hook) = filled(100);
    db.session().create(table("u", &[("PRIMARY", true, &[0])]));
    let (mut a, mut b) = (db.session(), db.session());
    let (t, u) = (b.open("t"), b.open("u"));
    b.commit();
    b.owner.set_metadata_timeout(60);
    let by = || build(&db, false, Beside::Writes);
    let built = paused(&db, &hook, by, |go| {
        assert!(t.pin_for_write(a.txn()).unwrap());
        a.update(&t, &int_key(1), |_| a_row(1, 1, 10)).unwrap();
        assert!(u.pin_for_write(b.txn()).unwrap());
        b.insert(&u, &a_row(1, 1, 10)).unwrap();
        b.insert(&u, &a_row(2, 2, 10)).unwrap();
        assert!(u.pin_for_write(a.txn()).unwrap());
        go();
        wait_until(|| db.engine.waits().len() == 1);
        std::thread::scope(|scope| {
            let (t, u) = (&t, &u);
            let b = &mut b;
            let second = scope.spawn(move || {
                // Stands behind the build for a while.
                assert!(t.pin_for_write(b.txn()).unwrap());
                b.update(t, &int_key(2), |_| a_row(2, 2, 10)).unwrap();
                b.commit();
            });
            // Waits for the second, and the build for this.
            a.insert(u, &a_row(1, 1, 10)).unwrap_err();
            second.join().unwrap();
        });
        a.commit();
    });
    built.unwrap();
    agrees(&db);
    // Nobody has lost anything.
    assert_eq!(deadlocks(&db), 0);
}

/// A build that keeps writers out does not wait for one that waits for it.
#[test]
fn a_reader_that_wants_to_write_ends_a_deadlock_with_a_build() {
    let (db, hook) = filled(100);
    let mut late = db.session();
    late.owner.set_metadata_timeout(60);
    let built = paused(
        &db,
        &hook,
        || build(&db, false, Beside::Reads),
        |go| {
            let t = late.open("t");
            go();
            let refused = t.pin_for_write(late.txn());
            assert!(matches!(refused, Err(Error::Deadlock)), "{refused:?}");
            late.rollback();
        },
    );
    built.unwrap();
    agrees(&db);
    assert_eq!(deadlocks(&db), 1);
}

fn deadlocks(db: &Db) -> u64 {
    let status = db.engine.status();
    let mut counters = status.counters.iter();
    counters
        .find(|(name, _)| *name == "Innodb_deadlocks")
        .unwrap()
        .1
}

/// Rows by id.
type Rows = BTreeMap<i64, Vec<u8>>;

/// One session that changes rows in the middle of builds, and knows what should be there.
struct Changer {
    s: Session,
    rng: Rng,
    committed: Rows,
    /// What the open transaction makes of it, or the one whose commit has failed.
    now: Rows,
}

impl Changer {
    fn new(db: &Db, seed: u64) -> Changer {
        let s = db.session();
        s.owner.set_metadata_timeout(0);
        Changer {
            s,
            rng: Rng(seed),
            committed: Rows::new(),
            now: Rows::new(),
        }
    }

    /// A few changes, and perhaps the end of the transaction.
    fn step(&mut self) -> Result<()> {
        let engine = self.s.engine.clone();
        let t = match engine.open_table(self.s.txn(), D, "t") {
            // The build is at its end.
            Err(Error::LockWaitTimeout) => return Ok(()),
            t => t?,
        };
        for _ in 0..self.rng.below(4) {
            let (savepoint, before) = (self.s.txn().savepoint(), self.now.clone());
            for _ in 0..=self.rng.below(3) {
                self.change(&t)?;
            }
            if self.rng.chance(30) {
                engine.rollback_to(self.s.txn(), savepoint)?;
                self.now = before;
            }
        }
        match self.rng.below(4) {
            0 | 1 => self.commit()?,
            2 => {
                engine.rollback(self.s.txn.take().unwrap())?;
                self.now.clone_from(&self.committed);
            }
            _ => {}
        }
        Ok(())
    }

    fn change(&mut self, t: &Table) -> Result<()> {
        let id = self.rng.below(40) as i64;
        let pad = match self.rng.below(10) {
            0 => 20_000,
            _ => self.rng.below(50) as usize,
        };
        // Long keys, so that much of the log is settled before the end.
        let v = int(self.rng.below(60) as i64).repeat(100);
        let new = row(&[Some(&int(id)), Some(&v), Some(&vec![7; pad])]);
        let there = self.now.contains_key(&id);
        if self.rng.chance(30) {
            assert_eq!(self.s.delete(t, &int_key(id))?, there);
            self.now.remove(&id);
            return Ok(());
        }
        match there {
            true => drop(self.s.update(t, &int_key(id), |_| new.clone())?),
            false => self.s.insert(t, &new)?,
        }
        self.now.insert(id, new);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if let Some(txn) = self.s.txn.take() {
            self.s.engine.commit(txn)?;
        }
        self.committed.clone_from(&self.now);
        Ok(())
    }
}

/// Everything is as the changer left it.
fn is_as_left(db: &Db, c: &Changer) -> bool {
    let mut s = db.session();
    let t = s.open("t");
    let rows = s.rows(&t, 0);
    s.commit();
    rows.iter().eq(c.committed.values()) || rows.iter().eq(c.now.values())
}

/// Random changes at random moments of builds, one after the other.
#[test]
fn builds_and_changes_take_turns() {
    let (db, hook) = filled(0);
    let changer = Arc::new(Mutex::new(Changer::new(&db, 5)));
    for _ in 0..20 {
        changer.lock().step().unwrap();
    }
    changer.lock().commit().unwrap();
    let owner = db.engine.owner();
    owner.set_metadata_timeout(0);
    let mut built = 0;
    while built < 12 {
        let c = changer.clone();
        let mut steps = 40;
        hook.set(move || {
            let mut c = c.lock();
            if c.rng.chance(20) {
                c.step().unwrap();
                steps -= 1;
            }
            steps > 0
        });
        let done = build_by(&db, &owner, false, Beside::Writes);
        hook.clear();
        let mut c = changer.lock();
        match done {
            Ok(()) => built += 1,
            // Its transaction was open at the end.
            Err(Error::LockWaitTimeout) => {}
            Err(e) => panic!("{e}"),
        }
        c.commit().unwrap();
        assert!(is_as_left(&db, &c));
        if has_new(&db) {
            agrees(&db);
            for _ in 0..5 {
                c.step().unwrap();
            }
            c.commit().unwrap();
            agrees(&db);
            drop_new(&db);
        }
    }
}

/// The power goes at any write of a build with changes beside it.
#[test]
fn a_power_cut_leaves_the_rows_and_a_whole_index_or_none() {
    let mut at = 0;
    let mut indexes = 0;
    loop {
        let (db, hook) = filled(0);
        let changer = Arc::new(Mutex::new(Changer::new(&db, 77)));
        for _ in 0..10 {
            changer.lock().step().unwrap();
        }
        changer.lock().commit().unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let count = steps.clone();
        db.disk.on_step(move |kind, _| match kind {
            OpKind::Read => Step::Go,
            _ if count.fetch_add(1, Ordering::Relaxed) == at => Step::Cut,
            _ => Step::Go,
        });
        let c = changer.clone();
        let mut calls = 0;
        hook.set(move || {
            let mut c = c.lock();
            // Nothing is open when the build ends.
            calls += 1;
            calls < 40 && c.step().and_then(|()| c.commit()).is_ok()
        });
        let built = build(&db, false, Beside::Writes);
        hook.clear();
        let finished = steps.load(Ordering::Relaxed) <= at;
        assert!(built.is_ok() || !finished);
        let disk = db.disk.clone();
        if let Some(txn) = changer.lock().s.txn.take() {
            let _ = db.engine.rollback(txn);
        }
        changer.lock().s = {
            drop(db);
            let mut coin = Rng(at + 1);
            disk.restart(|| coin.chance(50));
            let db = open_hooked(&disk, &hook).unwrap();
            db.session()
        };
        let db = Db {
            engine: changer.lock().s.engine.clone(),
            disk,
        };
        assert!(is_as_left(&db, &changer.lock()), "cut {at}");
        db.check();
        if has_new(&db) {
            indexes += 1;
            agrees(&db);
        }
        if finished {
            break;
        }
        at += 1;
    }
    assert!(at > 20 && indexes > 0, "{at} cuts, {indexes} indexes");
}

/// Builds with threads beside them that change rows and undo much of it.
#[test]
fn builds_amid_threads() {
    let (db, _) = filled(300);
    db.engine
        .set_flush_at_commit(log::FlushAtCommit::EverySecond);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (db, stop) = (&db, &stop);
        let workers: Vec<_> = (0..3)
            .map(|n| {
                scope.spawn(move || {
                    let mut rng = Rng(n + 1);
                    while !stop.load(Ordering::Relaxed) {
                        change_some(&mut db.session(), &mut rng);
                    }
                })
            })
            .collect();
        let builds = scope.spawn(move || {
            for round in 0..6 {
                build(db, false, Beside::Writes).unwrap();
                if round < 5 {
                    drop_new(db);
                }
            }
        });
        let built = builds.join();
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|w| w.join().unwrap());
        built.unwrap();
    });
    agrees(&db);
}

fn change_some(s: &mut Session, rng: &mut Rng) {
    let done = (|| -> Result<()> {
        let engine = s.engine.clone();
        let t = engine.open_table(s.txn(), D, "t")?;
        for _ in 0..=rng.below(6) {
            let id = rng.below(400) as i64;
            let new = a_row(id, rng.below(50) as i64, rng.below(40) as usize);
            let savepoint = s.txn().savepoint();
            match rng.below(3) {
                0 => match s.insert(&t, &new) {
                    Err(Error::DuplicateKey { index: 0 }) => {}
                    r => r?,
                },
                1 => drop(s.update(&t, &int_key(id), |_| new)?),
                _ => drop(s.delete(&t, &int_key(id))?),
            }
            if rng.chance(20) {
                engine.rollback_to(s.txn(), savepoint)?;
            }
        }
        Ok(())
    })();
    match done {
        Ok(()) if rng.chance(60) => s.commit(),
        Ok(()) | Err(Error::Deadlock) => s.rollback(),
        Err(e) => panic!("{e}"),
    }
}
