//! CREATE DATABASE ... LIKE: what is in the copy, who waits, and what is left when it comes to nothing.

mod common;
use common::*;
use millpond_store::engine::{
    CopiedParts, CopiedTable, CopyDatabase, NewTable, PartitionChange, Place,
};
use millpond_store::io::sim::{OpKind, Step};
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const TWO: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0]), ("n", false, &[1])];

const WITH_ROWS: CopyDatabase<'_> = CopyDatabase {
    from: D,
    to: "x",
    rows: true,
};

fn copy(db: &Db, what: CopyDatabase<'_>) -> Result<usize> {
    let e = &db.engine;
    e.copy_database(&e.owner(), what, &mut AsTheyAre)
}

fn fill(s: &mut Session, name: &str, keys: std::ops::Range<i64>) {
    let t = s.open(name);
    for k in keys {
        s.insert(&t, &ints(&[k, k * 10])).unwrap();
    }
    s.commit();
}

/// Rows of a table of any database, by an index.
fn rows(s: &mut Session, database: &str, name: &str, index: usize) -> Vec<Vec<i64>> {
    let engine = s.engine.clone();
    let t = engine.open_table(s.txn(), database, name).unwrap();
    let rows = s.ints(&t, index);
    s.commit();
    rows
}

#[test]
fn a_copy_is_a_database_of_its_own() {
    let db = Db::new();
    let mut s = db.session();
    for n in 0..40 {
        let name = format!("t{n:02}");
        s.create(table(&name, TWO));
        fill(&mut s, &name, 0..n % 7);
    }
    let e = &db.engine;
    assert_eq!(copy(&db, WITH_ROWS).unwrap(), 40);
    assert_eq!(e.tables("x").unwrap(), e.tables(D).unwrap());
    for n in 0..40i64 {
        let name = format!("t{n:02}");
        let expected: Vec<Vec<i64>> = (0..n % 7).map(|k| vec![k, k * 10]).collect();
        for index in 0..2 {
            assert_eq!(rows(&mut s, "x", &name, index), expected, "{name}");
        }
        let (old, new) = (
            e.table_def(D, &name).unwrap(),
            e.table_def("x", &name).unwrap(),
        );
        assert!(old.id != new.id && old.indexes[0].space != new.indexes[0].space);
    }
    // What is written to one is not in the other.
    fill(&mut s, "t06", 100..103);
    assert_eq!(rows(&mut s, "x", "t06", 0).len(), 6);
    e.drop_database(&e.owner(), D).unwrap();
    assert_eq!(rows(&mut s, "x", "t06", 0).len(), 6);
    db.check();
    let db = db.crash();
    let mut s = db.session();
    assert_eq!(rows(&mut s, "x", "t06", 1).len(), 6);
    // All of its indexes have one grave.
    let reclaimed = || db.engine.status().counter("Millpond_spaces_reclaimed");
    db.settled();
    let before = reclaimed();
    db.engine.drop_database(&db.engine.owner(), "x").unwrap();
    db.check();
    assert_eq!(reclaimed() - before, 1);
}

/// Definitions alone, and what a copy of a copy is.
#[test]
fn without_rows() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", TWO));
    fill(&mut s, "t", 0..5);
    let what = CopyDatabase {
        rows: false,
        ..WITH_ROWS
    };
    copy(&db, what).unwrap();
    assert!(rows(&mut s, "x", "t", 0).is_empty());
    let other = CopyDatabase {
        from: "x",
        to: "a",
        rows: true,
    };
    copy(&db, other).unwrap();
    assert!(rows(&mut s, "a", "t", 0).is_empty());
    db.check();
}

#[test]
fn what_is_not_there_and_what_is() {
    let db = Db::new();
    let s = db.session();
    s.create(table("t", TWO));
    let from = |from, to| CopyDatabase {
        from,
        to,
        rows: true,
    };
    let missing = copy(&db, from("y", "x"));
    assert!(matches!(missing, Err(Error::NoSuchDatabase(n)) if n == "y"));
    let there = copy(&db, from(D, D));
    assert!(matches!(there, Err(Error::DatabaseExists(_))));
    copy(&db, from(D, "x")).unwrap();
    let there = copy(&db, from(D, "x"));
    assert!(matches!(there, Err(Error::DatabaseExists(_))));
    assert!(copy(&db, from("#catalog", "z")).is_err());
    db.check();
}

/// Trees with pages of their own, long rows, deleted ones, partitions, files and hidden row ids.
#[test]
fn large_and_odd_tables() {
    let db = Db::new();
    let mut s = db.session();
    let e = db.engine.clone();
    s.create(table("large", TWO));
    fill(&mut s, "large", 0..4000);
    let t = s.open("large");
    for k in (0..4000).step_by(3) {
        s.delete(&t, &int_key(k)).unwrap();
    }
    s.update(&t, &int_key(1), |_| ints(&[1, 77])).unwrap();
    s.commit();
    let hidden = NewTable {
        hidden_row_id: true,
        ..table("hidden", &[("GEN", true, &[]), ("n", false, &[1])])
    };
    s.create(hidden);
    fill(&mut s, "hidden", 0..4);
    for place in [true, false] {
        let name = if place { "own" } else { "long" };
        s.create(NewTable {
            place: Some(Place::file_per_table(place)),
            ..table(name, TWO)
        });
        let t = s.open(name);
        for k in 0..5 {
            let long = vec![k as u8; 30_000];
            let r = row(&[Some(&int(k)), Some(&int(-k)), Some(&long)]);
            s.insert(&t, &r).unwrap();
        }
        s.commit();
    }
    let parts = ["p0".to_string(), "p1".to_string()];
    e.create_partitioned(&s.owner, table("parted", TWO), &parts, b"part")
        .unwrap();
    let all = s.open("parted");
    let p1 = e.partition(&all, 1, 2, "p1").unwrap();
    s.insert(&p1, &ints(&[4, 40])).unwrap();
    s.commit();
    assert_eq!(copy(&db, WITH_ROWS).unwrap(), 5);
    for (name, index) in [("large", 0), ("large", 1), ("hidden", 0), ("hidden", 1)] {
        let (old, new) = (rows(&mut s, D, name, index), rows(&mut s, "x", name, index));
        assert_eq!(old, new, "{name}");
    }
    assert_eq!(rows(&mut s, "x", "large", 0).len(), 2666);
    for name in ["own", "long"] {
        let t = e.open_table(s.txn(), "x", name).unwrap();
        for k in 0..5 {
            let found = fields(&s.get(&t, 0, &int_key(k)).unwrap());
            assert_eq!(found[2].as_deref(), Some(&vec![k as u8; 30_000][..]));
        }
        s.commit();
    }
    let all = e.open_table(s.txn(), "x", "parted").unwrap();
    let p1 = e.partition(&all, 1, 2, "p1").unwrap();
    assert_eq!(s.ints(&p1, 0), [[4, 40]]);
    s.commit();
    // A hidden row id goes on behind those that were copied.
    let t = e.open_table(s.txn(), "x", "hidden").unwrap();
    s.insert(&t, &ints(&[9, 90])).unwrap();
    s.commit();
    let change = [PartitionChange::Drop("p1".into())];
    e.alter_partitions(
        &s.owner,
        ("x", "parted"),
        &change,
        b"body".to_vec(),
        b"part",
    )
    .unwrap();
    db.check();
    let db = db.crash();
    let mut s = db.session();
    assert_eq!(rows(&mut s, "x", "hidden", 0).len(), 5);
    assert_eq!(rows(&mut s, "x", "large", 1).len(), 2666);
    db.engine.drop_database(&s.owner, "x").unwrap();
    db.check();
}

/// Writers are waited for and wait; what they have not committed is not copied. Readers go on, and an older view is refused the copy.
#[test]
fn a_copy_is_of_one_moment() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", TWO));
    fill(&mut s, "t", 0..3);
    let mut viewer = db.session();
    let t = viewer.open("t");
    assert_eq!(viewer.ints(&t, 0).len(), 3);
    let engine = db.engine.clone();
    let t = engine.open_table_for_write(s.txn(), D, "t").unwrap();
    s.insert(&t, &ints(&[7, 70])).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let (copying, told) = (engine.clone(), done.clone());
    let copier = std::thread::spawn(move || {
        let copied = copying.copy_database(&copying.owner(), WITH_ROWS, &mut AsTheyAre);
        told.store(true, Ordering::SeqCst);
        copied
    });
    wait_until(|| !engine.waits().is_empty() || done.load(Ordering::SeqCst));
    assert!(!done.load(Ordering::SeqCst));
    assert!(engine.databases().unwrap().iter().all(|d| d != "x"));
    s.rollback();
    copier.join().unwrap().unwrap();
    assert_eq!(rows(&mut s, "x", "t", 0).len(), 3);
    let copied = engine.open_table(viewer.txn(), "x", "t").unwrap();
    let read = viewer.read(&copied, 0, &int_key(1), ReadMode::Consistent);
    assert!(matches!(read, Err(Error::DefinitionChanged(_))), "{read:?}");
    viewer.commit();
    db.check();
}

/// The counter goes on where the model's is, which nobody has saved.
#[test]
fn numbers_go_on() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", TWO));
    let t = s.open("t");
    t.auto_increment_init(1);
    assert_eq!(t.auto_increment(41, 1, 1).unwrap(), 1);
    s.commit();
    copy(&db, WITH_ROWS).unwrap();
    let engine = db.engine.clone();
    let copied = engine.open_table(s.txn(), "x", "t").unwrap();
    assert_eq!(copied.auto_increment(1, 1, 1).unwrap(), 42);
    assert_eq!(t.auto_increment(1, 1, 1).unwrap(), 42);
    s.commit();
    db.check();
}

/// A layer above that refuses the last table.
struct Refusing(&'static str);

impl CopiedParts for Refusing {
    fn table(&mut self, def: &TableDef) -> Result<CopiedTable> {
        match def.name == self.0 {
            true => Err(Error::Invalid("refused".into())),
            false => AsTheyAre.table(def),
        }
    }
    fn object(&mut self, object: &Object) -> Result<Vec<u8>> {
        Ok(object.body.clone())
    }
}

/// A refusal, a KILL and a disk that is full leave nothing.
#[test]
fn failures_leave_nothing() {
    let db = Db::new();
    let mut s = db.session();
    let e = db.engine.clone();
    for name in ["a", "b", "z"] {
        s.create(table(name, TWO));
        fill(&mut s, name, 0..4);
    }
    s.create(table("large", TWO));
    fill(&mut s, "large", 0..3000);
    let refused = e.copy_database(&e.owner(), WITH_ROWS, &mut Refusing("z"));
    assert!(matches!(refused, Err(Error::Invalid(_))));
    let owner = e.owner();
    owner.kill();
    let killed = e.copy_database(&owner, WITH_ROWS, &mut AsTheyAre);
    assert!(matches!(killed, Err(Error::Interrupted)), "{killed:?}");
    assert_eq!(e.databases().unwrap(), [D]);
    db.check();
    for name in ["own", "more"] {
        s.create(NewTable {
            place: Some(Place::file_per_table(name == "own")),
            ..table(name, TWO)
        });
        fill(&mut s, name, 0..3000);
    }
    for (kind, step) in [
        (OpKind::Write, Step::Fail),
        (OpKind::Sync, Step::Fail),
        (OpKind::SetLen, Step::Full),
    ] {
        let mut failures = 0;
        // From the nth call on, until there are not so many.
        while !made_but_for(&db, kind, step, failures) {
            failures += 1;
            assert_eq!(e.databases().unwrap(), [D], "{kind:?} {failures}");
            db.check();
        }
        assert!(failures > 0 || kind == OpKind::SetLen, "{kind:?}");
        e.drop_database(&e.owner(), "x").unwrap();
        db.check();
    }
}

/// Makes a copy while calls of a kind on files of tables fail from the nth on; whether that came to pass.
fn made_but_for(db: &Db, kind: OpKind, step: Step, nth: u64) -> bool {
    let calls = AtomicU64::new(0);
    db.disk.on_step(move |k, name| {
        let cleaner = std::thread::current().name() == Some("page-cleaner");
        let data = name == "data" || name.starts_with("tables/");
        match k == kind && !cleaner && data && calls.fetch_add(1, Ordering::SeqCst) >= nth {
            true => step,
            false => Step::Go,
        }
    });
    let made = copy(db, WITH_ROWS);
    db.disk.clear_hook();
    made.is_ok()
}

/// Sessions make copies and drop them at once, as tests that run in parallel do, while the model itself changes.
#[test]
fn many_at_a_time() {
    const THREADS: i64 = 4;
    let db = Db::new();
    let s = db.session();
    let mut filler = db.session();
    for n in 0..12 {
        let name = format!("t{n:02}");
        s.create(table(&name, TWO));
        fill(&mut filler, &name, 0..n);
    }
    let (engine, stop) = (db.engine.clone(), Arc::new(AtomicBool::new(false)));
    let ended = stop.clone();
    let changer = std::thread::spawn(move || {
        let owner = engine.owner();
        let names = ["a", "z"].map(|n| (D.to_string(), n.to_string()));
        while !ended.load(Ordering::SeqCst) {
            for (_, name) in &names {
                engine.create_table(&owner, table(name, TWO)).unwrap();
            }
            engine.drop_tables(&owner, &names).unwrap();
        }
    });
    let threads = (0..THREADS).map(|n| {
        let mut s = db.session();
        std::thread::spawn(move || {
            let (engine, name) = (s.engine.clone(), format!("x{n}"));
            for turn in 0..25 {
                let what = CopyDatabase {
                    to: &name,
                    ..WITH_ROWS
                };
                let tables = engine.copy_database(&s.owner, what, &mut AsTheyAre);
                assert!((12..=14).contains(&tables.unwrap()));
                let t = engine.open_table(s.txn(), &name, "t07").unwrap();
                for k in 0..20 {
                    s.insert(&t, &ints(&[1000 + k, n * 100 + turn])).unwrap();
                }
                s.commit();
                assert_eq!(rows(&mut s, &name, "t07", 0).len(), 27);
                assert_eq!(rows(&mut s, &name, "t11", 1).len(), 11);
                if turn < 24 {
                    engine.drop_database(&s.owner, &name).unwrap();
                }
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    stop.store(true, Ordering::SeqCst);
    changer.join().unwrap();
    let mut s = db.session();
    for n in 0..THREADS {
        let found = rows(&mut s, &format!("x{n}"), "t07", 0);
        assert!(found[7..].iter().all(|r| r[1] == n * 100 + 24));
    }
    db.check();
}
