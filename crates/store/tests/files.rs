//! Files: those of tables, many more than the process may have open; those that a database cannot be without.

mod common;
use common::*;
use millpond_store::engine::Place;
use millpond_store::io::Storage;
use millpond_store::io::sim::SimStorage;
use millpond_store::{Engine, Isolation};
use millpond_store::{Error, Options};
use std::sync::Arc;

const TABLES: i64 = 600;
/// Half of them for tables; a batch being written keeps up to 192 at work.
const HANDLES: usize = 450;

fn name(i: i64) -> String {
    format!("t{i}")
}

fn put(s: &mut Session, i: i64, key: i64) {
    let t = s.open(&name(i));
    s.insert(&t, &ints(&[key, i])).unwrap();
    s.commit();
}

fn rows(s: &mut Session, i: i64) -> Vec<Vec<i64>> {
    let t = s.open(&name(i));
    let rows = s.ints(&t, 0);
    s.commit();
    rows
}

/// Handles are closed and opened again as tables are used, written back and dropped, and in recovery.
#[test]
fn more_tables_than_handles() {
    let disk = SimStorage::new();
    disk.set_handle_limit(Some(HANDLES));
    let db = Db::on(disk.clone());
    let mut s = db.session();
    for i in 0..TABLES {
        let mut t = table(&name(i), &[("PRIMARY", true, &[0])]);
        t.place = Some(Place::OwnFile);
        s.create(t);
        put(&mut s, i, 0);
        assert!(disk.handles() <= HANDLES);
    }
    for round in 1..3 {
        for i in 0..TABLES {
            put(&mut s, (i * 7) % TABLES, round);
        }
        let open = db.engine.status().counter("Innodb_num_open_files");
        assert!(open as usize <= HANDLES / 2, "{open}");
    }
    drop(s);
    // All of them are in the log.
    let db = db.crash();
    let mut s = db.session();
    for i in 0..TABLES {
        let expected: Vec<Vec<i64>> = (0..3).map(|k| vec![k, i]).collect();
        assert_eq!(rows(&mut s, i), expected);
    }
    db.check();
    db.engine.close().unwrap();
    drop((s, db));
    disk.kill();
    let db = Db::on(disk.clone());
    let mut s = db.session();
    for i in 0..TABLES {
        assert_eq!(rows(&mut s, i).len(), 3);
    }
    assert_eq!(db.engine.drop_database(&s.owner, D).unwrap() as i64, TABLES);
    db.check();
    assert!(!disk.files().iter().any(|(n, _)| n.starts_with("tables/")));
    assert!(disk.handles() <= HANDLES);
}

/// A rollback that needs a table's file, while others have all descriptors, goes on when there are some again.
#[test]
fn a_rollback_without_descriptors_is_put_off() {
    let disk = SimStorage::new();
    disk.set_handle_limit(Some(40));
    let db = Db::on(disk.clone());
    let (mut s, mut other) = (db.session(), db.session());
    let apart = |i| {
        let mut t = table(&name(i), &[("PRIMARY", true, &[0])]);
        t.place = Some(Place::OwnFile);
        t
    };
    s.create(apart(0));
    s.create(table(&name(1), &[("PRIMARY", true, &[0])]));
    put(&mut s, 0, 0);
    let t = s.open(&name(0));
    s.insert(&t, &ints(&[1, 0])).unwrap();
    // More than the pool takes: the row's page leaves it.
    let large = other.open(&name(1));
    for i in 0..2000 {
        let fields = [Some(&int(i)[..]), Some(&[7; 6000])];
        other.insert(&large, &row(&fields)).unwrap();
        other.commit();
    }
    // More than may be open: the first one's file is closed.
    for i in 2..30 {
        other.create(apart(i));
        put(&mut other, i, 0);
    }
    disk.set_handle_limit(Some(1));
    std::thread::scope(|scope| {
        let undone = scope.spawn(|| s.rollback());
        for _ in 0..10_000 {
            std::thread::yield_now();
        }
        disk.set_handle_limit(None);
        undone.join().unwrap();
    });
    assert_eq!(db.engine.stopped(), None);
    assert_eq!(rows(&mut s, 0), [[0, 0]]);
    db.check();
}

fn bytes_of(disk: &SimStorage, name: &str) -> Vec<u8> {
    let file = disk.open(name, false).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// A directory that has lost one of its files is not taken for a new or an empty database, and stays as it is.
#[test]
fn a_lost_file_is_named_and_nothing_is_changed() {
    for clean in [true, false] {
        let db = Db::new();
        let mut s = db.session();
        s.create(table(&name(0), &[("PRIMARY", true, &[0])]));
        put(&mut s, 0, 1);
        if clean {
            db.engine.close().unwrap();
        }
        let disk = db.disk.clone();
        drop((s, db));
        disk.kill();
        for lost in ["data", "undo", "redo"] {
            let disk = disk.copy();
            disk.remove(lost).unwrap();
            let before = disk.copy();
            let Err(Error::Corrupt(why)) = open(&disk).map(drop) else {
                panic!("it was opened without {lost}");
            };
            assert!(why.starts_with(&format!("file {lost}")), "{why}");
            let after = disk.files();
            assert_eq!(after, before.files());
            for (name, _) in after {
                assert!(bytes_of(&disk, &name) == bytes_of(&before, &name), "{name}");
            }
        }
        let db = Db::on(disk);
        assert_eq!(rows(&mut db.session(), 0), [[1, 0]]);
    }
}

/// A log that is too small is refused by its size, also where there is one already.
#[test]
fn a_log_below_the_minimum_is_refused() {
    let disk = SimStorage::new();
    let small = || Options {
        log_bytes: 1 << 10,
        ..options()
    };
    for _ in 0..2 {
        let files = disk.files();
        let Err(Error::Invalid(why)) = open_with(&disk, small()).map(drop) else {
            panic!("it was opened");
        };
        assert!(why.ends_with("below the minimum of 1048576"), "{why}");
        assert_eq!(disk.files(), files);
        Db::on(disk.clone()).engine.close().unwrap();
        disk.kill();
    }
}

/// Nobody but the owner reads the files.
#[test]
fn files_are_the_owners() {
    use std::os::unix::fs::PermissionsExt;
    let root = std::env::temp_dir().join(format!("millpond-modes-{}", std::process::id()));
    let data = root.join("deep").join("data");
    {
        let storage = millpond_store::io::real::RealStorage::new(&data).unwrap();
        let engine = Engine::open(Arc::new(storage), options(), Arc::new(ToyCodecs)).unwrap();
        let owner = engine.owner();
        engine.create_database(&owner, D, b"").unwrap();
        let mut def = table("t", &[("PRIMARY", true, &[0])]);
        def.place = Some(Place::OwnFile);
        engine.create_table(&owner, def).unwrap();
        let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
        let t = engine.open_table(&mut txn, D, "t").unwrap();
        t.insert(&mut txn, &ints(&[1])).unwrap();
        engine.commit(txn).unwrap();
        engine.close().unwrap();
    }
    let (mut folders, mut seen) = (vec![data.clone()], 0);
    while let Some(folder) = folders.pop() {
        let mode = |p: &std::path::Path| p.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                seen += 1;
            }
        }
    }
    std::fs::remove_dir_all(&root).unwrap();
    assert!(seen > 4, "{seen}");
}
