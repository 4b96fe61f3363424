//! What a crash leaves unfinished is rolled back beside everything else; what cannot be is kept apart; `force_recovery`.

mod common;
use common::*;
use millpond_store::engine::Place;
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::sync::Arc;

const TWO: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0]), ("n", true, &[1])];
const PAGE: u64 = 16 << 10;

fn unfinished(db: &Db) -> u64 {
    db.engine
        .status()
        .counter("Millpond_unfinished_transactions")
}

fn drop_table(db: &Db, name: &str) -> Result<()> {
    let names = [(D.to_string(), name.to_string())];
    let owner = db.engine.owner();
    owner.set_metadata_timeout(0);
    db.engine.drop_tables(&owner, &names)
}

fn length(disk: &SimStorage, file: &str) -> u64 {
    disk.files().iter().find(|(n, _)| n == file).unwrap().1
}

/// Damages every page of a file from this one on, with no copy left of what was written last.
fn damage(disk: &SimStorage, file: &str, from: u64) {
    let copies = length(disk, "doublewrite") as usize;
    disk.corrupt("doublewrite", 0, &vec![0; copies]);
    for page in from..length(disk, file) / PAGE {
        disk.corrupt(file, page * PAGE + 100, &[0x5a; 300]);
    }
}

/// Tables `a` and `b`, each in its file and durable there, and a crash in a transaction that has changed rows of both.
fn crashed() -> (SimStorage, String) {
    let db = Db::new();
    let mut s = db.session();
    for name in ["a", "b"] {
        let mut def = table(name, TWO);
        def.place = Some(Place::OwnFile);
        s.create(def);
        let t = s.open(name);
        for i in 0..100 {
            s.insert(&t, &ints(&[i, i])).unwrap();
        }
        s.commit();
    }
    let file = db.engine.table_def(D, "a").unwrap().file.name();
    db.settled();
    db.engine.close().unwrap();
    let db = {
        drop(s);
        db.crash()
    };
    let mut s = db.session();
    let (a, b) = (s.open("a"), s.open("b"));
    for i in 0..50 {
        for t in [&b, &a, &b] {
            assert!(
                s.update(t, &int_key(i), |r| ints(&[i, ints_of(r)[1] + 1000]))
                    .unwrap()
            );
        }
        s.delete(&b, &int_key(i + 50)).unwrap();
        s.insert(&b, &ints(&[i + 500, i + 500])).unwrap();
    }
    // Makes the log durable.
    let mut other = db.session();
    let t = other.open("b");
    other.insert(&t, &ints(&[200, 200])).unwrap();
    other.commit();
    let disk = db.disk.clone();
    drop((a, b, t, s, other, db));
    disk.kill();
    (disk, file)
}

fn expected_b() -> Vec<Vec<i64>> {
    (0..100).chain([200]).map(|i| vec![i, i]).collect()
}

/// `b` is as it was before the transaction, by both indexes.
fn b_is_whole(db: &Db) {
    let mut s = db.session();
    let b = s.open("b");
    assert_eq!(s.ints(&b, 0), expected_b());
    assert_eq!(s.ints(&b, 1), expected_b());
    s.commit();
}

/// The damaged table is refused by name and can be dropped; everything else is served; in the end nothing is left.
#[test]
fn a_damaged_page_keeps_its_table_apart() {
    for reopen in [false, true] {
        let (disk, file) = crashed();
        damage(&disk, &file, 2);
        let mut db = Db::on(disk);
        for again in [reopen, false] {
            b_is_whole(&db);
            wait_until(|| db.engine.status().counter("Millpond_quarantined_tables") == 1);
            let mut s = db.session();
            let engine = db.engine.clone();
            for opened in [
                engine.open_table(s.txn(), D, "a"),
                engine.open_table_for_write(s.txn(), D, "a"),
            ] {
                match opened.map(drop) {
                    Err(Error::Corrupt(what)) => assert!(what.contains("d.a"), "{what}"),
                    other => panic!("{other:?}"),
                }
            }
            s.commit();
            // What it had done to other tables is undone, and may be changed.
            let b = s.open("b");
            s.owner.set_row_timeout(10);
            for i in [0, 49, 50, 99] {
                assert!(s.update(&b, &int_key(i), |r| r.to_vec()).unwrap());
            }
            s.commit();
            assert_eq!(unfinished(&db), 1);
            if again {
                drop((b, s));
                drop(engine);
                db.engine.close().unwrap();
                db = db.crash();
            }
        }
        drop_table(&db, "a").unwrap();
        wait_until(|| unfinished(&db) == 0);
        assert_eq!(db.engine.status().counter("Millpond_quarantined_tables"), 0);
        let mut s = db.session();
        s.create(table("a", TWO));
        let a = s.open("a");
        s.insert(&a, &ints(&[1, 1])).unwrap();
        s.commit();
        b_is_whole(&db);
        db.check();
    }
}

/// A whole partitioned table is refused, by who has it in a plan too.
#[test]
fn a_damaged_partition_keeps_its_table_apart() {
    let db = Db::new();
    let mut s = db.session();
    let mut def = table("p", TWO);
    def.place = Some(Place::OwnFile);
    s.create(table("unused", TWO));
    let parts = ["x", "y"].map(String::from);
    db.engine
        .create_partitioned(&s.owner, def, &parts, b"part")
        .unwrap();
    let p = s.open("p");
    for (at, part) in parts.iter().enumerate() {
        let t = db.engine.partition(&p, at, 2, part).unwrap();
        for i in 0..10 {
            s.insert(&t, &ints(&[i, i])).unwrap();
        }
    }
    s.commit();
    let file = db
        .engine
        .partition(&p, 0, 2, "x")
        .unwrap()
        .def()
        .file
        .name();
    db.settled();
    db.engine.close().unwrap();
    drop((p, s));
    let db = db.crash();
    let mut s = db.session();
    let p = s.open("p");
    for (at, part) in parts.iter().enumerate() {
        let t = db.engine.partition(&p, at, 2, part).unwrap();
        assert!(s.update(&t, &int_key(3), |_| ints(&[3, 33])).unwrap());
    }
    // Makes the log durable.
    let other = db.session();
    other.create(table("w", TWO));
    let disk = db.disk.clone();
    drop((p, s, other, db));
    disk.kill();
    damage(&disk, &file, 2);
    let db = Db::on(disk);
    let mut s = db.session();
    wait_until(|| db.engine.status().counter("Millpond_quarantined_tables") == 3);
    assert!(matches!(
        db.engine.open_table(s.txn(), D, "p"),
        Err(Error::Corrupt(_))
    ));
    s.commit();
    drop_table(&db, "p").unwrap();
    wait_until(|| unfinished(&db) == 0);
    db.check();
}

#[test]
fn forced_recovery_reads_and_drops_but_changes_no_rows() {
    for force in 1..=3 {
        let (disk, file) = crashed();
        damage(&disk, &file, 2);
        let forced = Options {
            force_recovery: force,
            ..options()
        };
        let db = Db {
            engine: open_with(&disk, forced).unwrap(),
            disk: disk.clone(),
        };
        b_is_whole(&db);
        let mut s = db.session();
        let b = s.open("b");
        let refused = [
            s.insert(&b, &ints(&[300, 300])),
            s.update(&b, &int_key(200), |r| r.to_vec()).map(drop),
            s.delete(&b, &int_key(200)).map(drop),
        ];
        for r in refused {
            assert!(matches!(r, Err(Error::ForcedRecovery)), "{r:?}");
        }
        s.rollback();
        let counter = |n| db.engine.status().counter(n);
        if force == 3 {
            // Nothing is undone, so no damage is met but by who looks.
            assert_eq!(
                (unfinished(&db), counter("Millpond_quarantined_tables")),
                (1, 0)
            );
            let a = s.open("a");
            assert!(matches!(
                s.read(&a, 0, &int_key(1), ReadMode::Consistent),
                Err(Error::Corrupt(_))
            ));
            s.commit();
        } else {
            wait_until(|| counter("Millpond_quarantined_tables") == 1);
        }
        drop_table(&db, "a").unwrap();
        db.engine.close().unwrap();
        drop((b, s, db));
        disk.kill();
        let db = Db::on(disk);
        db.settled();
        assert_eq!(db.engine.tables(D).unwrap(), ["b"]);
        b_is_whole(&db);
        db.check();
    }
}

#[test]
fn levels_beyond_are_refused() {
    for force in [4, 6, 255] {
        let disk = SimStorage::new();
        let forced = Options {
            force_recovery: force,
            ..options()
        };
        match open_with(&disk, forced) {
            Err(Error::Invalid(what)) => assert!(what.contains("innodb_force_recovery"), "{what}"),
            other => panic!("{:?}", other.map(drop)),
        }
        assert!(disk.files().is_empty());
    }
}

/// Damaged undo: the database is not opened for writing, for what is to be undone is not known; it can be read.
#[test]
fn damaged_undo_can_be_passed_by() {
    let (disk, _) = crashed();
    {
        // So that redo has nothing to mend the pages with.
        let forced = Options {
            force_recovery: 3,
            ..options()
        };
        let engine = open_with(&disk, forced).unwrap();
        engine.close().unwrap();
    }
    disk.kill();
    // The directory stays.
    damage(&disk, "undo", 3);
    match open(&disk).map(drop) {
        Err(Error::Corrupt(what)) => assert!(what.contains("innodb_force_recovery=1"), "{what}"),
        other => panic!("{other:?}"),
    }
    disk.kill();
    let forced = Options {
        force_recovery: 1,
        ..options()
    };
    let engine = open_with(&disk, forced).unwrap();
    let db = Db { engine, disk };
    let mut s = db.session();
    let b: Arc<Table> = s.open("b");
    assert_eq!(s.ints(&b, 0).len(), 101, "rows of the lost transaction");
    s.commit();
}
