//! General tablespaces: files that tables share and that outlast them.

mod common;
use common::*;
use millpond_store::engine::{NewTable, Place};
use millpond_store::io::sim::SimStorage;
use millpond_store::space::FileId;
use millpond_store::*;

fn file_of(db: &Engine, name: &str) -> FileId {
    db.tablespace(name).unwrap().unwrap().file
}

fn table_in(name: &str, file: FileId) -> NewTable {
    let mut t = table(name, &[("PRIMARY", true, &[0]), ("n", false, &[1])]);
    t.place = Some(Place::In(file));
    t
}

fn fill(s: &mut Session, name: &str, rows: i64, pad: usize) {
    let t = s.open(name);
    for i in 0..rows {
        let pad = vec![7; pad];
        s.insert(&t, &row(&[Some(&int(i)), Some(&int(-i)), Some(&pad)]))
            .unwrap();
    }
    s.commit();
}

fn count(s: &mut Session, name: &str) -> usize {
    let t = s.open(name);
    let rows = s.rows(&t, 1).len();
    s.commit();
    rows
}

fn files(disk: &SimStorage) -> Vec<String> {
    let tables = |n: &String| n.starts_with("tables/");
    disk.files()
        .into_iter()
        .map(|f| f.0)
        .filter(tables)
        .collect()
}

#[test]
fn names_and_data_files_are_taken_once() {
    let db = Db::new();
    let (engine, owner) = (&db.engine, db.engine.owner());
    assert!(engine.tablespaces().unwrap().is_empty());
    assert!(matches!(
        engine.drop_tablespace(&owner, "a"),
        Err(Error::NoSuchTablespace(_))
    ));
    engine
        .create_tablespace(&owner, "a", Some("a.ibd"), b"16")
        .unwrap();
    let again = |name: &str, file: Option<&str>| engine.create_tablespace(&owner, name, file, b"");
    assert!(matches!(
        again("a", Some("b.ibd")),
        Err(Error::TablespaceExists(_))
    ));
    assert!(matches!(
        again("b", Some("a.ibd")),
        Err(Error::DuplicateDatafile(_))
    ));
    again("A", None).unwrap();
    again("c", None).unwrap();
    assert!(matches!(
        engine.rename_tablespace(&owner, "a", "A"),
        Err(Error::TablespaceExists(_))
    ));
    engine.rename_tablespace(&owner, "a", "b").unwrap();
    assert_eq!(engine.tablespace("a").unwrap(), None);
    let b = engine.tablespace("b").unwrap().unwrap();
    assert_eq!((&*b.datafile, &*b.options), ("a.ibd", &b"16"[..]));
    assert_eq!(engine.tablespace_of(b.file).unwrap().unwrap(), "b");
    let names: Vec<_> = engine.tablespaces().unwrap();
    let names: Vec<_> = names.iter().map(|t| &*t.name).collect();
    assert_eq!(names, ["A", "b", "c"]);
    engine.drop_tablespace(&owner, "b").unwrap();
    again("b", Some("a.ibd")).unwrap();
    assert!(file_of(engine, "b") != b.file);
    db.check();
}

/// A table that goes leaves the file there, shorter; the tablespace takes it along. Neither while there are tables.
#[test]
fn tables_come_and_go() {
    let disk = SimStorage::new();
    let db = Db::on(disk.clone());
    let owner = db.engine.owner();
    db.engine
        .create_tablespace(&owner, "ts", None, b"")
        .unwrap();
    let file = file_of(&db.engine, "ts");
    let mut s = db.session();
    s.create(table_in("kept", file));
    s.create(table_in("large", file));
    assert!(files(&disk).is_empty(), "no page, no file");
    fill(&mut s, "kept", 20, 10);
    fill(&mut s, "large", 3000, 8000);
    assert_eq!(files(&disk), [file.name()]);
    let not_empty = |db: &Db| {
        let dropped = db.engine.drop_tablespace(&db.engine.owner(), "ts");
        assert!(matches!(dropped, Err(Error::TablespaceNotEmpty(_))));
    };
    not_empty(&db);
    let long = db.engine.file_room(file).unwrap().0;
    assert!(long > 24 << 20, "{long}");

    // A new incarnation in the same file, and what the old one had is free.
    db.engine.truncate_table(&owner, D, "large").unwrap();
    db.check();
    assert_eq!((count(&mut s, "kept"), count(&mut s, "large")), (20, 0));
    assert_eq!(s.open("large").def().file, file);
    s.commit();
    let start = std::time::Instant::now();
    while db.engine.file_room(file).unwrap().0 > long - (8 << 20) {
        assert!(start.elapsed().as_secs() < 60, "the file stays long");
        std::thread::yield_now();
    }
    let gone = |n: &str| (D.to_string(), n.to_string());
    db.engine.drop_tables(&owner, &[gone("large")]).unwrap();
    not_empty(&db);
    drop(s);

    let db = db.crash();
    let mut s = db.session();
    assert_eq!(count(&mut s, "kept"), 20);
    assert_eq!(db.engine.drop_database(&s.owner, D).unwrap(), 1);
    db.engine.drop_tablespace(&s.owner, "ts").unwrap();
    db.check();
    assert!(files(&disk).is_empty());
    let mut late = table_in("late", file);
    late.database = "e".into();
    db.engine.create_database(&s.owner, "e", b"").unwrap();
    assert!(matches!(
        db.engine.create_table(&s.owner, late),
        Err(Error::NoSuchTablespace(_))
    ));
}

/// Whoever comes first, no table is ever in a tablespace that is not there.
#[test]
fn tables_made_while_their_tablespace_is_dropped() {
    let db = Db::new();
    let engine = &db.engine;
    engine.create_database(&engine.owner(), D, b"").unwrap();
    for round in 0..60 {
        let owner = engine.owner();
        engine.create_tablespace(&owner, "ts", None, b"").unwrap();
        let file = file_of(engine, "ts");
        let (made, dropped) = std::thread::scope(|s| {
            let make = s.spawn(|| engine.create_table(&engine.owner(), table_in("t", file)));
            let rename = s.spawn(|| engine.rename_tablespace(&engine.owner(), "ts", "other"));
            let dropped = engine.drop_tablespace(&owner, "ts");
            let name = match rename.join().unwrap() {
                Ok(()) => "other",
                Err(_) => "ts",
            };
            let made = make.join().unwrap();
            let gone = engine.tablespace(name).unwrap().is_none();
            assert_eq!(gone, dropped.is_ok());
            (made, dropped)
        });
        if made.is_ok() {
            assert!(dropped.is_err(), "round {round}");
            let t = [(D.to_string(), "t".to_string())];
            engine.drop_tables(&owner, &t).unwrap();
        }
        for t in engine.tablespaces().unwrap() {
            engine.drop_tablespace(&owner, &t.name).unwrap();
        }
    }
    db.check();
}
