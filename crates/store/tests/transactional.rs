//! DDL within open transactions: kept or undone with them, and nobody else's until then.

mod common;

use common::*;
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn name(n: &str) -> (String, String) {
    (D.into(), n.into())
}

fn pairs(n: &str) -> engine::NewTable {
    table(n, &[("PRIMARY", true, &[0]), ("n", false, &[1])])
}

impl SessionDdl for Session {
    fn ddl<R>(&mut self, f: impl FnOnce(&Engine, &Arc<Owner>) -> Result<R>) -> Result<R> {
        self.txn();
        let (engine, owner) = (self.engine.clone(), self.owner.clone());
        let lent = engine.lend(&owner, &mut self.txn)?;
        let done = f(&engine, &owner);
        self.txn = lent.take_back();
        done
    }
    fn names(&mut self) -> Vec<String> {
        let _behalf = self.engine.on_behalf(self.txn.as_ref());
        self.engine.tables(D).unwrap()
    }
    fn fill(&mut self, t: &str, ids: std::ops::Range<i64>) {
        let t = self.open(t);
        for i in ids {
            self.insert(&t, &ints(&[i, i * 10])).unwrap();
        }
    }
    fn count(&mut self, t: &str) -> usize {
        let t = self.open(t);
        self.rows(&t, 0).len()
    }
}

/// What a session does with definitions in its open transaction.
trait SessionDdl {
    /// A statement of DDL.
    fn ddl<R>(&mut self, f: impl FnOnce(&Engine, &Arc<Owner>) -> Result<R>) -> Result<R>;
    /// The tables that it sees.
    fn names(&mut self) -> Vec<String>;
    fn fill(&mut self, t: &str, ids: std::ops::Range<i64>);
    fn count(&mut self, t: &str) -> usize;
}

/// A database with a table `t` of three rows.
fn begun() -> (Db, Session, Session) {
    let db = Db::new();
    let (mut a, b) = (db.session(), db.session());
    a.create(pairs("t"));
    a.fill("t", 0..3);
    a.commit();
    b.owner.set_metadata_timeout(0);
    (db, a, b)
}

#[test]
fn a_rollback_leaves_nothing() {
    for own in [false, true] {
        let (db, mut a, b) = begun();
        let mut new = pairs("new");
        new.place = Some(engine::Place::file_per_table(own));
        a.ddl(|e, o| e.create_table(o, new)).unwrap();
        a.fill("new", 0..300);
        let index = ("x".into(), true, vec![1, 0]);
        a.ddl(|e, o| e.create_index(o, D, "new", index, b"x".to_vec()))
            .unwrap();
        a.fill("new", 300..400);
        assert_eq!(a.count("new"), 400);
        a.ddl(|e, o| e.drop_tables(o, &[name("t")])).unwrap();
        assert_eq!(a.names(), ["new"]);
        assert_eq!(b.engine.tables(D).unwrap(), ["t"]);
        a.rollback();
        assert_eq!(a.names(), ["t"]);
        assert_eq!(a.count("t"), 3);
        a.commit();
        db.check();
        assert_eq!(db.engine.status().counter("Millpond_graveyard_spaces"), 0);
    }
}

#[test]
fn others_see_all_or_nothing_at_commit() {
    let (db, mut a, mut b) = begun();
    a.ddl(|e, o| e.create_table(o, pairs("new"))).unwrap();
    a.fill("new", 0..5);
    a.ddl(|e, o| e.rename_tables(o, &[(name("t"), name("u"))]))
        .unwrap();
    assert_eq!(a.names(), ["new", "u"]);
    assert_eq!(b.engine.tables(D).unwrap(), ["t"]);
    assert!(b.engine.table_def(D, "u").is_err());
    // Whoever uses one of the names waits.
    for n in ["t", "u", "new"] {
        let engine = b.engine.clone();
        let opened = engine.open_table(b.txn(), D, n);
        assert!(matches!(opened, Err(Error::LockWaitTimeout)), "{n}");
    }
    b.rollback();
    a.commit();
    assert_eq!(b.engine.tables(D).unwrap(), ["new", "u"]);
    assert_eq!((b.count("new"), b.count("u")), (5, 3));
    b.commit();
    db.check();
}

#[test]
fn a_failing_statement_undoes_itself_alone() {
    let (db, mut a, _) = begun();
    a.ddl(|e, o| e.create_table(o, pairs("new"))).unwrap();
    a.fill("new", 0..2);
    let again = a.ddl(|e, o| e.create_table(o, pairs("t")));
    assert!(matches!(again, Err(Error::TableExists(_))));
    let some = a.ddl(|e, o| e.drop_tables(o, &[name("new"), name("none")]));
    assert!(matches!(some, Err(Error::NoSuchTable(_))));
    assert_eq!(a.count("new"), 2);
    a.fill("new", 2..4);
    // Two rows have a key in common.
    let t = a.open("new");
    a.insert(&t, &ints(&[9, 10])).unwrap();
    drop(t);
    let index = ("x".into(), true, vec![1]);
    let unique = a.ddl(|e, o| e.create_index(o, D, "new", index, b"x".to_vec()));
    assert!(matches!(unique, Err(Error::DuplicateRow { .. })));
    assert_eq!(a.open("new").def().indexes.len(), 2);
    a.commit();
    assert_eq!(a.count("new"), 5);
    a.commit();
    db.check();
}

#[test]
fn savepoints_undo_definitions() {
    let (db, mut a, b) = begun();
    a.ddl(|e, o| e.create_table(o, pairs("new"))).unwrap();
    a.fill("new", 0..3);
    let before = a.txn().savepoint();
    a.ddl(|e, o| e.truncate_table(o, D, "new")).unwrap();
    a.fill("new", 7..9);
    a.ddl(|e, o| e.drop_index(o, D, "t", "n", b"without".to_vec()))
        .unwrap();
    a.fill("t", 20..30);
    a.ddl(|e, o| e.rename_tables(o, &[(name("new"), name("other"))]))
        .unwrap();
    assert_eq!(a.count("other"), 2);
    let engine = a.engine.clone();
    engine.rollback_to(a.txn(), before).unwrap();
    assert_eq!(a.names(), ["new", "t"]);
    assert_eq!((a.count("new"), a.count("t")), (3, 3));
    assert_eq!(a.open("t").def().indexes.len(), 2);
    a.fill("t", 3..5);
    a.fill("new", 3..5);
    a.commit();
    assert_eq!(b.engine.tables(D).unwrap(), ["new", "t"]);
    let (t, new) = (a.open("t"), a.open("new"));
    assert_eq!((a.rows(&t, 1).len(), a.rows(&new, 1).len()), (5, 5));
    a.commit();
    drop((t, new));
    db.check();
}

/// An index goes with a savepoint while the file that it is in is the transaction's own.
#[test]
fn an_undone_index_gives_its_pages_back_to_a_file_that_stays() {
    let (db, mut a, _) = begun();
    let mut new = pairs("new");
    new.place = Some(engine::Place::OwnFile);
    a.ddl(|e, o| e.create_table(o, new)).unwrap();
    a.fill("new", 0..9);
    let before = a.txn().savepoint();
    let x = ("x".into(), true, vec![1, 0]);
    a.ddl(|e, o| e.create_index(o, D, "new", x, b"with".to_vec()))
        .unwrap();
    let engine = a.engine.clone();
    engine.rollback_to(a.txn(), before).unwrap();
    // The file's grave is left.
    wait_until(|| engine.status().counter("Millpond_graveyard_spaces") == 1);
    a.commit();
    assert_eq!(a.count("new"), 9);
    a.commit();
    db.check();
}

#[test]
fn a_crash_undoes_what_was_open() {
    for own in [false, true] {
        let (db, mut a, b) = begun();
        let mut new = pairs("new");
        new.place = Some(engine::Place::file_per_table(own));
        a.ddl(|e, o| e.create_table(o, new)).unwrap();
        a.fill("new", 0..200);
        a.ddl(|e, o| e.truncate_table(o, D, "t")).unwrap();
        a.fill("t", 5..9);
        a.ddl(|e, o| e.drop_index(o, D, "t", "n", b"without".to_vec()))
            .unwrap();
        a.fill("t", 10..19);
        // The log goes to the disk with another's commit.
        b.owner.set_metadata_timeout(10);
        let owner = b.owner.clone();
        b.engine.create_database(&owner, "other", b"").unwrap();
        std::mem::forget(a.txn.take());
        drop((a, b));
        let db = db.crash();
        let mut a = db.session();
        assert_eq!(a.names(), ["t"]);
        let t = a.open("t");
        assert_eq!((a.rows(&t, 0).len(), a.rows(&t, 1).len()), (3, 3));
        a.commit();
        drop(t);
        db.check();
        assert_eq!(db.engine.status().counter("Millpond_graveyard_spaces"), 0);
    }
}

#[test]
fn a_transaction_that_is_let_go_is_undone() {
    let (db, mut a, mut b) = begun();
    a.ddl(|e, o| e.create_table(o, pairs("new"))).unwrap();
    a.fill("new", 0..50);
    a.ddl(|e, o| e.drop_tables(o, &[name("t")])).unwrap();
    drop(a.txn.take());
    b.owner.set_metadata_timeout(30);
    assert_eq!(b.count("t"), 3);
    b.commit();
    assert_eq!(b.names(), ["t"]);
    db.check();
}

#[test]
fn whoever_waits_in_a_cycle_is_rolled_back() {
    let (db, mut a, mut b) = begun();
    b.owner.set_metadata_timeout(30);
    a.ddl(|e, o| e.create_table(o, pairs("x"))).unwrap();
    b.ddl(|e, o| e.create_table(o, pairs("y"))).unwrap();
    let waits = std::thread::spawn(move || {
        let done = a.ddl(|e, o| e.drop_tables(o, &[name("y")]));
        (a, done)
    });
    wait_until(|| !db.engine.waits().is_empty());
    let other = b.ddl(|e, o| e.drop_tables(o, &[name("x")]));
    // One is the victim; the other goes on once that one is rolled back.
    let deadlocked = matches!(other, Err(Error::Deadlock));
    if deadlocked {
        b.rollback();
    }
    let (mut a, done) = waits.join().unwrap();
    match deadlocked {
        // The other's table is gone with it.
        true => assert!(matches!(done, Err(Error::NoSuchTable(_)))),
        false => assert!(matches!(done, Err(Error::Deadlock))),
    }
    a.rollback();
    if !deadlocked {
        b.rollback();
    }
    assert_eq!(db.engine.tables(D).unwrap(), ["t"]);
    db.check();
}

#[test]
fn counters_go_on() {
    let (db, mut a, _) = begun();
    a.ddl(|e, o| e.create_table(o, pairs("new"))).unwrap();
    let t = a.open("new");
    assert_eq!(t.auto_increment(3, 1, 1).unwrap(), 1);
    drop(t);
    a.ddl(|e, o| e.drop_index(o, D, "new", "n", b"without".to_vec()))
        .unwrap();
    assert_eq!(a.open("new").auto_increment(1, 1, 1).unwrap(), 4);
    a.commit();
    let t = a.open("new");
    assert_eq!(t.auto_increment(1, 1, 1).unwrap(), 5);
    a.commit();
    // A change that is undone takes no number back.
    a.ddl(|e, o| e.rename_tables(o, &[(name("new"), name("other"))]))
        .unwrap();
    let other = a.open("other");
    assert_eq!(other.auto_increment(100, 1, 1).unwrap(), 6);
    a.rollback();
    drop(other);
    let t = a.open("new");
    assert_eq!(t.auto_increment(1, 1, 1).unwrap(), 106);
    a.fill("t", 5..6);
    a.commit();
    drop((t, a));
    let db = db.crash();
    let mut a = db.session();
    assert!(a.open("new").auto_increment(1, 1, 1).unwrap() > 106);
    a.commit();
    db.check();
}

/// Rows by table.
type Model = BTreeMap<String, BTreeMap<i64, i64>>;

fn model_of(db: &Engine) -> Model {
    let mut a = Session {
        engine: db.clone(),
        owner: db.owner(),
        txn: None,
        isolation: Isolation::RepeatableRead,
    };
    seen(&mut a)
}

/// What a session sees, by the table and by each of its indexes.
fn seen(a: &mut Session) -> Model {
    let open = a.txn.is_some();
    let mut found = Model::new();
    for n in a.names() {
        let t = a.open(&n);
        let rows = a.ints(&t, 0);
        for index in 1..t.def().indexes.len() {
            assert_eq!(a.rows(&t, index).len(), rows.len(), "{n}");
        }
        let each = rows.into_iter().map(|r| (r[0], r[1]));
        found.insert(n, each.collect());
    }
    if !open && a.txn.is_some() {
        a.commit();
    }
    found
}

/// One statement, chosen at random; what it does to the model.
fn step(a: &mut Session, rng: &mut Rng, m: &mut Model) {
    const NAMES: [&str; 4] = ["p", "q", "r", "s"];
    let n = NAMES[rng.below(4) as usize];
    let there = m.contains_key(n);
    match rng.below(9) {
        0 | 1 => {
            let mut new = pairs(n);
            new.place = Some(engine::Place::file_per_table(rng.chance(20)));
            let made = a.ddl(|e, o| e.create_table(o, new));
            assert_eq!(made.is_ok(), !there, "{made:?}");
            m.entry(n.into()).or_default();
        }
        2 => {
            let dropped = a.ddl(|e, o| e.drop_tables(o, &[name(n)]));
            assert_eq!(dropped.is_ok(), there, "{dropped:?}");
            m.remove(n);
        }
        3 => {
            let done = a.ddl(|e, o| e.truncate_table(o, D, n));
            assert_eq!(done.is_ok(), there, "{done:?}");
            if let Some(rows) = m.get_mut(n) {
                rows.clear();
            }
        }
        4 => {
            let to = NAMES[rng.below(4) as usize];
            let done = a.ddl(|e, o| e.rename_tables(o, &[(name(n), name(to))]));
            assert_eq!(done.is_ok(), there && !m.contains_key(to), "{done:?}");
            if done.is_ok() {
                let rows = m.remove(n).unwrap();
                m.insert(to.into(), rows);
            }
        }
        5 if there => {
            let has = a.open(n).def().indexes.iter().any(|i| i.name == "x");
            let done = a.ddl(|e, o| match has {
                true => e.drop_index(o, D, n, "x", b"without".to_vec()),
                false => {
                    let x = ("x".into(), true, vec![1, 0]);
                    e.create_index(o, D, n, x, b"with".to_vec())
                }
            });
            done.unwrap();
        }
        _ if there => {
            let t = a.open(n);
            let rows = m.get_mut(n).unwrap();
            for _ in 0..rng.below(20) {
                let (id, v) = (rng.below(60) as i64, rng.below(1000) as i64);
                let key = int_key(id);
                let there = rows.contains_key(&id);
                if there && rng.chance(30) {
                    assert!(a.delete(&t, &key).unwrap());
                    rows.remove(&id);
                    continue;
                }
                match there {
                    true => assert!(a.update(&t, &key, |_| ints(&[id, v])).unwrap()),
                    false => a.insert(&t, &ints(&[id, v])).unwrap(),
                }
                rows.insert(id, v);
            }
        }
        _ => {}
    }
}

#[test]
fn transactions_of_all_kinds_do_what_the_model_does() {
    for seed in 1..10 {
        let mut rng = Rng(seed * 7919);
        let mut db = Db::new();
        let mut a = db.session();
        a.engine.create_database(&a.owner.clone(), D, b"").unwrap();
        let mut committed = Model::new();
        for turn in 0..25 {
            let mut m = committed.clone();
            a.begin();
            let mut saved: Option<(Savepoint, Model)> = None;
            for _ in 0..rng.below(12) {
                step(&mut a, &mut rng, &mut m);
                if rng.chance(15) {
                    saved = Some((a.txn().savepoint(), m.clone()));
                } else if rng.chance(15)
                    && let Some((to, then)) = saved.clone()
                {
                    let engine = a.engine.clone();
                    engine.rollback_to(a.txn(), to).unwrap();
                    m = then;
                }
                assert_eq!(seen(&mut a), m, "seed {seed}, turn {turn}");
            }
            match rng.below(10) {
                0..5 => {
                    a.commit();
                    committed = m;
                }
                5..9 => a.rollback(),
                _ => {
                    std::mem::forget(a.txn.take());
                    drop(a);
                    db = db.crash();
                    a = db.session();
                }
            }
            assert_eq!(model_of(&db.engine), committed, "seed {seed}, turn {turn}");
        }
        drop(a);
        db.check();
    }
}

/// One statement of several sessions' at a time, on the same few names; an error ends the transaction.
fn any_step(a: &mut Session, rng: &mut Rng) -> Result<()> {
    const NAMES: [&str; 3] = ["p", "q", "r"];
    let n = NAMES[rng.below(3) as usize];
    let to = NAMES[rng.below(3) as usize];
    match rng.below(10) {
        0 | 1 => {
            let mut new = pairs(n);
            new.place = Some(engine::Place::file_per_table(rng.chance(30)));
            a.ddl(|e, o| e.create_table(o, new))
        }
        2 => a.ddl(|e, o| e.drop_tables(o, &[name(n)])),
        3 => a.ddl(|e, o| e.truncate_table(o, D, n)),
        4 => a.ddl(|e, o| e.rename_tables(o, &[(name(n), name(to))])),
        5 => {
            let x = ("x".into(), true, vec![1, 0]);
            a.ddl(|e, o| e.create_index(o, D, n, x, b"with".to_vec()))
        }
        6 => a.ddl(|e, o| e.drop_index(o, D, n, "x", b"without".to_vec())),
        _ => {
            let engine = a.engine.clone();
            let t = engine.open_table(a.txn(), D, n)?;
            for _ in 0..rng.below(12) {
                let (id, v) = (rng.below(40) as i64, rng.below(1000) as i64);
                if !a.update(&t, &int_key(id), |_| ints(&[id, v]))? {
                    a.insert(&t, &ints(&[id, v]))?;
                } else if rng.chance(40) {
                    a.delete(&t, &int_key(id))?;
                }
            }
            Ok(())
        }
    }
}

#[test]
fn transactions_beside_each_other_leave_a_sound_database() {
    for seed in 1..5 {
        let db = Db::new();
        let owner = db.engine.owner();
        db.engine.create_database(&owner, D, b"").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let db = &db;
                scope.spawn(move || {
                    let mut rng = Rng(seed * 1000 + thread * 77 + 1);
                    let mut a = db.session();
                    a.owner.set_metadata_timeout(1);
                    a.owner.set_row_timeout(1);
                    for _ in 0..40 {
                        a.begin();
                        let mut saved = a.txn().savepoint();
                        let mut whole = rng.chance(60);
                        for _ in 0..rng.below(8) {
                            match any_step(&mut a, &mut rng) {
                                Err(Error::Deadlock | Error::LockWaitTimeout) => {
                                    whole = false;
                                    break;
                                }
                                // It has undone itself, or is undone.
                                Err(_) => {
                                    let engine = a.engine.clone();
                                    engine.rollback_to(a.txn(), saved).unwrap();
                                }
                                Ok(()) if rng.chance(50) => saved = a.txn().savepoint(),
                                Ok(()) => {}
                            }
                        }
                        match whole {
                            true => a.commit(),
                            false => a.rollback(),
                        }
                    }
                });
            }
        });
        let found = model_of(&db.engine);
        let db = match seed % 2 {
            0 => db,
            _ => db.crash(),
        };
        assert_eq!(model_of(&db.engine), found, "seed {seed}");
        db.check();
        assert_eq!(db.engine.status().counter("Millpond_graveyard_spaces"), 0);
    }
}
