//! DROP DATABASE of many tables, which follow in the background: nothing of them is to be seen, whatever is made under their names
//! meanwhile; who uses a table is waited for.

mod common;
use common::*;
use millpond_store::engine::{NewTable, PartitionChange, Place};
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TWO: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0]), ("n", false, &[1])];

/// An engine that drops no table of a database at once.
fn open_lazy(disk: &SimStorage) -> Engine {
    let options = Options {
        drop_at_once: 0,
        ..options()
    };
    open_with(disk, options).unwrap()
}

fn lazy() -> Db {
    let disk = SimStorage::new();
    Db {
        engine: open_lazy(&disk),
        disk,
    }
}

fn in_database(database: &str, name: &str) -> NewTable {
    NewTable {
        database: database.into(),
        ..table(name, TWO)
    }
}

fn name(database: &str, table: &str) -> (String, String) {
    (database.into(), table.into())
}

/// Keeps the background from doing anything until it is dropped.
struct Held<'e>(&'e Engine, Arc<Owner>);

impl<'e> Held<'e> {
    fn new(engine: &'e Engine) -> Held<'e> {
        let owner = engine.owner();
        engine.lock_everything(&owner).unwrap();
        Held(engine, owner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.unlock_tables(&self.1);
    }
}

fn fill(s: &mut Session, name: &str, value: i64) {
    let t = s.open(name);
    s.insert(&t, &ints(&[value, value])).unwrap();
    s.commit();
}

fn rows(s: &mut Session, name: &str) -> Vec<Vec<i64>> {
    let t = s.open(name);
    let rows = s.ints(&t, 0);
    s.commit();
    rows
}

/// What is listed, read and counted while dropped tables are there, and after they have gone.
#[test]
fn dropped_tables_are_not_to_be_seen() {
    let db = lazy();
    let mut s = db.session();
    let e = &db.engine;
    for n in 0..300 {
        s.create(table(&format!("t{n:03}"), TWO));
    }
    fill(&mut s, "t000", 1);
    fill(&mut s, "t299", 1);
    s.create(in_database("e", "t000"));
    assert_eq!(e.drop_database(&s.owner, D).unwrap(), 300);
    let look = |there: &[&str]| {
        assert_eq!(e.databases().unwrap(), [D, "e"]);
        assert_eq!(e.tables(D).unwrap(), there);
        assert!(matches!(e.table_def(D, "t299"), Err(Error::NoSuchTable(_))));
        let mut all = Vec::new();
        e.each_table(&mut |def, _| all.push(def.name.clone()))
            .unwrap();
        assert_eq!(all.len(), there.len() + 1, "{all:?}");
        let mut other = db.session();
        let missing = e.open_table(other.txn(), D, "t299").map(drop);
        assert!(matches!(missing, Err(Error::NoSuchTable(_))));
        other.commit();
    };
    assert!(matches!(e.tables(D), Err(Error::NoSuchDatabase(_))));
    assert!(matches!(
        e.drop_database(&s.owner, D),
        Err(Error::NoSuchDatabase(_))
    ));
    e.create_database(&s.owner, D, b"other").unwrap();
    look(&[]);
    s.create(table("t000", TWO));
    look(&["t000"]);
    fill(&mut s, "t000", 2);
    assert_eq!(rows(&mut s, "t000"), [[2, 2]]);
    db.check();
    assert_eq!(e.status().counter("Millpond_graveyard_spaces"), 0);
    look(&["t000"]);
    assert_eq!(rows(&mut s, "t000"), [[2, 2]]);
    assert_eq!(e.database(D).unwrap(), b"other");
}

/// What a killed process has not removed a later opening does, but not one for a damaged database.
#[test]
fn a_later_opening_goes_on() {
    let db = lazy();
    let mut s = db.session();
    for n in 0..600 {
        let mut t = table(&format!("t{n}"), TWO);
        t.place = Some(Place::file_per_table(n % 100 == 0));
        s.create(t);
        if n % 50 == 0 {
            fill(&mut s, &format!("t{n}"), 1);
        }
    }
    assert_eq!(db.engine.drop_database(&s.owner, D).unwrap(), 600);
    let Db { engine, disk } = db;
    drop((s, engine));
    disk.kill();
    let damaged = Options {
        force_recovery: 2,
        ..options()
    };
    let engine = open_with(&disk, damaged).unwrap();
    assert!(engine.databases().unwrap().is_empty());
    assert_eq!(
        engine.status().counter("Millpond_dropped_tables_removed"),
        0
    );
    drop(engine);
    disk.kill();
    let db = Db {
        engine: open_lazy(&disk),
        disk,
    };
    db.check();
    let files = db.disk.files();
    assert!(
        !files.iter().any(|f| f.0.starts_with("tables/")),
        "{files:?}"
    );
}

#[test]
fn what_is_made_meanwhile_stays() {
    let db = lazy();
    let mut s = db.session();
    let e = &db.engine;
    let partitions = ["p0".to_string(), "p1".to_string()];
    for round in 0..20 {
        for n in ["a", "b", "own"] {
            let mut t = table(n, TWO);
            t.place = Some(Place::file_per_table(n == "own"));
            s.create(t);
            fill(&mut s, n, round);
        }
        e.create_partitioned(&s.owner, table("part", TWO), &partitions, b"p")
            .unwrap();
        let changes = [PartitionChange::Add("p2".into())];
        e.alter_partitions(&s.owner, (D, "part"), &changes, b"body".to_vec(), b"p")
            .unwrap();
        e.truncate_table(&s.owner, D, "b").unwrap();
        e.rename_tables(&s.owner, &[(name(D, "a"), name(D, "x"))])
            .unwrap();
        assert_eq!(e.tables(D).unwrap(), ["b", "own", "part", "x"]);
        assert_eq!(rows(&mut s, "x"), [[round, round]]);
        assert_eq!(rows(&mut s, "own"), [[round, round]]);
        assert!(rows(&mut s, "b").is_empty());
        assert_eq!(e.drop_database(&s.owner, D).unwrap(), 4);
        if round % 3 == 0 {
            db.settled();
        }
    }
    db.check();
    assert!(e.databases().unwrap().is_empty());
    let files = db.disk.files();
    assert!(
        !files.iter().any(|f| f.0.starts_with("tables/")),
        "{files:?}"
    );
}

/// A table that is older than the database it comes to is none of those that were dropped there.
#[test]
fn older_tables_come_from_elsewhere() {
    let db = lazy();
    let mut s = db.session();
    let e = &db.engine;
    s.create(in_database("e", "old"));
    let partitions = ["p0".to_string()];
    e.create_partitioned(&s.owner, in_database("e", "part"), &partitions, b"p")
        .unwrap();
    for n in 0..600 {
        s.create(table(&format!("t{n}"), TWO));
    }
    e.drop_database(&s.owner, D).unwrap();
    e.create_database(&s.owner, D, b"").unwrap();
    let pairs = [
        (name("e", "old"), name(D, "t0")),
        (name("e", "part"), name(D, "t1")),
    ];
    e.rename_tables(&s.owner, &pairs).unwrap();
    assert_eq!(e.tables(D).unwrap(), ["t0", "t1"]);
    fill(&mut s, "t0", 7);
    db.check();
    assert_eq!(e.tables(D).unwrap(), ["t0", "t1"]);
    assert_eq!(rows(&mut s, "t0"), [[7, 7]]);
    assert_eq!(e.drop_database(&s.owner, D).unwrap(), 2);
    db.check();
}

/// Who uses a table is waited for; the wait ends with KILL or in time, and nothing has happened then.
#[test]
fn users_are_waited_for() {
    let db = lazy();
    let mut s = db.session();
    let e = &db.engine;
    for n in 0..50 {
        s.create(table(&format!("t{n}"), TWO));
    }
    fill(&mut s, "t7", 1);
    let t = s.open("t7");
    assert_eq!(s.ints(&t, 0), [[1, 1]]);

    let dropper = e.owner();
    dropper.set_metadata_timeout(0);
    assert!(matches!(
        e.drop_database(&dropper, D),
        Err(Error::LockWaitTimeout)
    ));
    assert_eq!(e.tables(D).unwrap().len(), 50);
    dropper.set_metadata_timeout(100);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| e.drop_database(&dropper, D));
        wait_until(|| !e.waits().is_empty());
        dropper.kill();
        assert!(matches!(waits.join().unwrap(), Err(Error::Interrupted)));
    });
    // Killed before it began to wait.
    assert!(matches!(
        e.drop_database(&dropper, D),
        Err(Error::Interrupted)
    ));
    dropper.clear_kill();
    assert_eq!(e.tables(D).unwrap().len(), 50);
    assert!(t.pin(s.txn()).unwrap() || !Arc::ptr_eq(&t, &s.open("t7")));

    // Who comes to a table that is not open meanwhile waits, and finds the database gone.
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| e.drop_database(&dropper, D));
        wait_until(|| !e.waits().is_empty());
        let mut late = db.session();
        let opens = scope.spawn(move || {
            let found = late
                .engine
                .clone()
                .open_table(late.txn(), D, "t9")
                .map(drop);
            late.commit();
            found
        });
        wait_until(|| e.waits().len() == 2);
        std::thread::sleep(Duration::from_millis(5));
        assert!(!waits.is_finished() && !opens.is_finished());
        assert_eq!(s.ints(&t, 0), [[1, 1]]);
        s.commit();
        assert_eq!(waits.join().unwrap().unwrap(), 50);
        assert!(matches!(
            opens.join().unwrap(),
            Err(Error::NoSuchDatabase(_))
        ));
    });
    assert!(!t.pin(s.txn()).unwrap());
    s.commit();
    db.check();
}

/// While somebody keeps everything as it is, the background waits; so does who would be taken for a dropped table.
#[test]
fn the_background_keeps_still() {
    let db = lazy();
    let s = db.session();
    let e = &db.engine;
    s.create(in_database("e", "old"));
    for n in 0..20 {
        s.create(table(&format!("t{n}"), TWO));
    }
    e.drop_database(&s.owner, D).unwrap();
    db.settled();
    let removed = e.status().counter("Millpond_dropped_tables_removed");
    assert_eq!(removed, 20);
    let held = Held::new(e);
    let dropping = e.owner();
    std::thread::scope(|scope| {
        let drops = scope.spawn(|| e.drop_database(&dropping, "e"));
        wait_until(|| !e.waits().is_empty());
        dropping.kill();
        assert!(matches!(drops.join().unwrap(), Err(Error::Interrupted)));
    });
    drop(held);
    assert_eq!(e.tables("e").unwrap(), ["old"]);
    e.close().unwrap();
}

/// Undo of a dropped table may be purged while its row is still there; views that are older see neither more nor less.
#[test]
fn history_of_dropped_tables_is_purged() {
    let db = lazy();
    let mut s = db.session();
    let e = &db.engine;
    for n in 0..300 {
        s.create(table(&format!("t{n}"), TWO));
    }
    s.create(in_database("e", "other"));
    let mut reader = db.session();
    e.snapshot(reader.txn());
    for n in 0..300 {
        let t = s.open(&format!("t{n}"));
        s.insert(&t, &ints(&[1, 1])).unwrap();
        s.commit();
        s.delete(&t, &int_key(1)).unwrap();
        s.commit();
    }
    e.drop_database(&s.owner, D).unwrap();
    reader.commit();
    db.check();
}

/// Sessions that make, fill and drop the same databases over and over, beside others that read what they find.
#[test]
fn beside_others() {
    let db = lazy();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let db = &db;
            scope.spawn(move || {
                let s = db.session();
                for round in 0..40 {
                    for n in 0..12 {
                        match db.engine.create_database(&s.owner, D, b"") {
                            Ok(()) | Err(Error::DatabaseExists(_)) => {}
                            Err(e) => panic!("{e}"),
                        }
                        match db
                            .engine
                            .create_table(&s.owner, table(&format!("t{n}"), TWO))
                        {
                            Ok(()) | Err(Error::TableExists(_) | Error::NoSuchDatabase(_)) => {}
                            Err(e) => panic!("worker {worker}, round {round}: {e}"),
                        }
                    }
                    match db.engine.drop_database(&s.owner, D) {
                        Ok(_) | Err(Error::NoSuchDatabase(_)) => {}
                        Err(e) => panic!("worker {worker}, round {round}: {e}"),
                    }
                }
            });
        }
        let (db, stop) = (&db, &stop);
        let writer = scope.spawn(move || {
            let mut s = db.session();
            let mut written = 0;
            for i in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let engine = db.engine.clone();
                let name = format!("t{}", i % 12);
                let done = engine
                    .open_table_for_write(s.txn(), D, &name)
                    .and_then(|t| t.insert(s.txn(), &ints(&[i, i])));
                match done {
                    Ok(()) => written += 1,
                    Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_) | Error::Deadlock) => {}
                    Err(e) => panic!("{e}"),
                }
                s.commit();
            }
            written
        });
        // The others end by themselves.
        scope.spawn(move || {
            wait_until(|| {
                db.engine
                    .status()
                    .counter("Millpond_dropped_tables_removed")
                    > 100
            });
            stop.store(true, Ordering::Relaxed);
        });
        assert!(writer.join().unwrap() > 0);
    });
    db.check();
}

/// A disk that is full has room again once a database with many tables is dropped: what follows in the background needs little at a time.
#[test]
fn dropping_makes_room_on_a_full_disk() {
    let db = lazy();
    let (mut s, e) = (db.session(), &db.engine);
    let long = |id: i64| row(&[Some(&int(id)), Some(&int(id)), Some(&[7; 3000])]);
    for n in 0..400 {
        let name = format!("t{n}");
        s.create(table(&name, TWO));
        let t = s.open(&name);
        s.insert(&t, &long(n)).unwrap();
        s.commit();
    }
    s.create(in_database("e", "other"));
    db.settled();
    db.disk.set_capacity(Some(0));
    let mut fill = || -> Result<i64> {
        let t = e.open_table_for_write(s.txn(), "e", "other")?;
        for id in 0.. {
            if let Err(e) = s.insert(&t, &long(id)) {
                s.rollback();
                return match e.is_full() {
                    true => Ok(id),
                    false => Err(e),
                };
            }
        }
        unreachable!()
    };
    let before = fill().unwrap();
    assert_eq!(e.drop_database(&e.owner(), D).unwrap(), 400);
    db.settled();
    let after = fill().unwrap();
    assert!(after > before + 300, "{before} rows and {after}");
    db.disk.set_capacity(None);
    db.check();
}
