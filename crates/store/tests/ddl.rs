//! Definitions: made, changed, dropped, remembered.

mod common;
use common::*;
use millpond_store::engine::{Place, Redefinition};
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::sync::Arc;

const TWO: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0]), ("v", false, &[1])];

fn name(n: &str) -> (String, String) {
    (D.into(), n.into())
}

fn filled(db: &Db, t: &str, rows: i64) -> Session {
    let mut s = db.session();
    s.create(table(t, TWO));
    let t = s.open(t);
    for i in 0..rows {
        s.insert(&t, &ints(&[i, i * 10])).unwrap();
    }
    s.commit();
    s
}

#[test]
fn names_and_errors() {
    let db = Db::new();
    let s = db.session();
    let (e, o) = (&db.engine, &s.owner);
    assert!(matches!(
        e.create_table(o, table("t", TWO)),
        Err(Error::NoSuchDatabase(_))
    ));
    e.create_database(o, D, b"utf8").unwrap();
    assert!(matches!(
        e.create_database(o, D, b""),
        Err(Error::DatabaseExists(_))
    ));
    assert_eq!(e.database(D).unwrap(), b"utf8");
    e.create_table(o, table("t", TWO)).unwrap();
    e.create_table(o, table("T", TWO)).unwrap();
    assert!(matches!(e.create_table(o, table("t", TWO)), Err(Error::TableExists(n)) if n == "d.t"));
    assert!(matches!(
        e.create_table(o, table("", TWO)),
        Err(Error::Invalid(_))
    ));
    assert_eq!(e.tables(D).unwrap(), ["T", "t"]);
    let def = e.table_def(D, "t").unwrap();
    assert_eq!((def.body.as_slice(), def.indexes.len()), (&b"body"[..], 2));
    assert!(matches!(e.table_def(D, "x"), Err(Error::NoSuchTable(_))));
    assert!(matches!(e.tables("x"), Err(Error::NoSuchDatabase(_))));

    let both = [name("t"), name("x")];
    assert!(matches!(e.drop_tables(o, &both), Err(Error::NoSuchTable(n)) if n == "d.x"));
    assert_eq!(e.tables(D).unwrap().len(), 2);
    e.drop_tables(o, &[name("t"), name("T")]).unwrap();
    assert!(e.tables(D).unwrap().is_empty());
    assert_eq!(e.drop_database(o, D).unwrap(), 0);
    assert!(matches!(
        e.drop_database(o, D),
        Err(Error::NoSuchDatabase(_))
    ));
    assert!(e.databases().unwrap().is_empty());
    db.check();
}

#[test]
fn a_dropped_database_takes_its_tables_along() {
    let db = Db::new();
    let mut s = filled(&db, "a", 10);
    filled(&db, "b", 0);
    let (e, o) = (&db.engine, s.owner.clone());
    e.create_database(&o, "d2", b"").unwrap();
    e.create_table(
        &o,
        engine::NewTable {
            database: "d2".into(),
            ..table("a", TWO)
        },
    )
    .unwrap();
    assert_eq!(e.drop_database(&o, D).unwrap(), 2);
    assert_eq!(e.databases().unwrap(), ["d2"]);
    assert_eq!(e.tables("d2").unwrap(), ["a"]);
    let r = e.open_table(s.txn(), D, "a");
    assert!(matches!(r, Err(Error::NoSuchDatabase(_))));
    s.rollback();
    db.check();
}

#[test]
fn renames_happen_in_order() {
    let db = Db::new();
    let mut s = filled(&db, "a", 3);
    filled(&db, "b", 5);
    let (e, o) = (&db.engine, s.owner.clone());
    let swap = [
        (name("a"), name("tmp")),
        (name("b"), name("a")),
        (name("tmp"), name("b")),
    ];
    e.rename_tables(&o, &swap).unwrap();
    let (a, b) = (s.open("a"), s.open("b"));
    assert_eq!((s.rows(&a, 1).len(), s.rows(&b, 1).len()), (5, 3));
    s.commit();
    // The second pair fails, so the first is undone.
    let bad = [(name("a"), name("c")), (name("b"), name("c"))];
    assert!(matches!(
        e.rename_tables(&o, &bad),
        Err(Error::TableExists(_))
    ));
    assert_eq!(e.tables(D).unwrap(), ["a", "b"]);
    let bad = [(name("a"), ("nowhere".into(), "a".into()))];
    assert!(matches!(
        e.rename_tables(&o, &bad),
        Err(Error::NoSuchDatabase(_))
    ));
    s.open("a");
    s.insert(&a, &ints(&[7, 7])).unwrap();
    s.commit();
    let db = db.crash();
    let mut s = db.session();
    let a = s.open("a");
    assert_eq!(s.rows(&a, 0).len(), 6);
    s.commit();
    db.check();
}

/// A plan that keeps a table learns of DDL when it pins it.
#[test]
fn pins_notice_ddl() {
    let db = Db::new();
    let mut s = filled(&db, "t", 3);
    let (e, o) = (db.engine.clone(), db.engine.owner());
    type Ddl<'e> = Box<dyn Fn() + 'e>;
    let changes: Vec<Ddl> = vec![
        Box::new(|| e.truncate_table(&o, D, "t").unwrap()),
        Box::new(|| e.rename_tables(&o, &[(name("t"), name("u"))]).unwrap()),
        Box::new(|| e.rename_tables(&o, &[(name("u"), name("t"))]).unwrap()),
        Box::new(|| {
            e.redefine_table(
                &o,
                (D, "t"),
                &Redefinition::of_body(b"new".to_vec()),
                None,
                &[],
            )
            .unwrap()
        }),
        Box::new(|| e.drop_index(&o, D, "t", "v", b"less".to_vec()).unwrap()),
        Box::new(|| e.drop_tables(&o, &[name("t")]).unwrap()),
    ];
    for (i, change) in changes.iter().enumerate() {
        let at = if i == 2 { "u" } else { "t" };
        let t = s.open(at);
        s.commit();
        assert!(t.pin(s.txn()).unwrap());
        s.commit();
        change();
        assert!(!t.pin(s.txn()).unwrap(), "change {i}");
        s.commit();
    }
}

#[test]
fn ddl_waits_for_transactions_and_they_for_it() {
    let db = Db::new();
    let mut s = filled(&db, "t", 3);
    let t = s.open("t");
    assert_eq!(s.rows(&t, 0).len(), 3);
    let other = db.engine.owner();
    other.set_metadata_timeout(0);
    let timed_out = |r: Result<()>| assert!(matches!(r, Err(Error::LockWaitTimeout)), "{r:?}");
    timed_out(db.engine.drop_tables(&other, &[name("t")]));
    timed_out(db.engine.truncate_table(&other, D, "t"));
    other.set_metadata_timeout(100);
    let (engine, owner) = (db.engine.clone(), other.clone());
    let drop_it = std::thread::spawn(move || engine.drop_tables(&owner, &[name("t")]));
    assert_eq!(s.rows(&t, 1).len(), 3);
    s.commit();
    drop_it.join().unwrap().unwrap();
    assert!(matches!(
        db.engine.table_def(D, "t"),
        Err(Error::NoSuchTable(_))
    ));
}

#[test]
fn truncate_starts_anew() {
    let db = Db::new();
    let mut s = filled(&db, "t", 500);
    let t = s.open("t");
    t.auto_increment_init(501);
    s.commit();
    db.engine.truncate_table(&s.owner, D, "t").unwrap();
    let t = s.open("t");
    assert!(s.rows(&t, 0).is_empty() && s.rows(&t, 1).is_empty());
    assert_eq!(t.auto_increment_peek(), None);
    s.insert(&t, &ints(&[1, 1])).unwrap();
    s.commit();
    let db = db.crash();
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(s.ints(&t, 1), [[1, 1]]);
    s.commit();
    db.check();
}

#[test]
fn an_index_is_built_from_the_rows() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0])]));
    let t = s.open("t");
    for i in 0..3000 {
        let pad = vec![7; if i % 500 == 0 { 20_000 } else { 50 }];
        let parity = int(i % 2);
        let other = int((i * 7) % 3000);
        let new = row(&[Some(&int(i)), Some(&other), Some(&pad), Some(&parity)]);
        s.insert(&t, &new).unwrap();
    }
    s.delete(&t, &int_key(5)).unwrap();
    s.commit();
    let (e, o) = (&db.engine, s.owner.clone());
    let make = |n: &str, unique, body: &[u8]| {
        e.create_index(&o, D, "t", (n.into(), unique, body.to_vec()), b"b".to_vec())
    };
    make("v", true, &[1]).unwrap();
    let t = s.open("t");
    let sorted: Vec<Vec<u8>> = s.rows(&t, 1);
    assert_eq!(sorted.len(), 2999);
    assert!(sorted.iter().map(|r| fields(r)[1].clone()).is_sorted());
    let row_7 = s.get(&t, 1, &int_key(7)).unwrap();
    assert_eq!(fields(&row_7)[0], Some(int(1)));
    let duplicate = row(&[Some(&int(9999)), Some(&int(7)), Some(b""), None]);
    assert!(matches!(
        s.insert(&t, &duplicate),
        Err(Error::DuplicateKey { index: 1 })
    ));
    s.commit();
    // Not unique: nothing of the attempt stays.
    assert!(matches!(
        make("parity", true, &[3]),
        Err(Error::DuplicateRow { index: 2, .. })
    ));
    assert_eq!(e.table_def(D, "t").unwrap().indexes.len(), 2);
    // Some rows have a pad that no key can hold.
    assert!(matches!(
        make("pad", false, &[2]),
        Err(Error::KeyTooLong(_))
    ));
    make("parity", false, &[3]).unwrap();
    e.drop_index(&o, D, "t", "v", b"c".to_vec()).unwrap();
    let t = s.open("t");
    assert_eq!(t.def().indexes[1].name, "parity");
    s.delete(&t, &int_key(1)).unwrap();
    s.commit();
    assert_eq!(s.rows(&t, 1).len(), 2998);
    s.commit();
    db.check();
    db.crash().check();
}

/// A view older than an index cannot read through it: it lacks entries of older versions.
#[test]
fn older_views_do_not_use_a_new_index() {
    let db = Db::new();
    let s = filled(&db, "t", 3);
    filled(&db, "other", 1);
    let mut old = db.session();
    db.engine.snapshot(old.begin());
    db.engine
        .drop_index(&s.owner, D, "t", "v", b"".to_vec())
        .unwrap();
    let v = ("v".into(), false, vec![1]);
    db.engine
        .create_index(&s.owner, D, "t", v, b"".to_vec())
        .unwrap();
    let t = old.open("t");
    assert_eq!(old.rows(&t, 0).len(), 3);
    let through = old.read(&t, 1, &int_key(10), ReadMode::Consistent);
    assert!(matches!(through, Err(Error::DefinitionChanged(_))));
    old.commit();
    assert_eq!(old.rows(&t, 1).len(), 3);
}

#[test]
fn rows_without_a_key_get_hidden_ones() {
    let db = Db::new();
    let mut s = db.session();
    let hidden = engine::NewTable {
        hidden_row_id: true,
        ..table("t", &[("GEN_CLUST_INDEX", true, &[]), ("v", false, &[0])])
    };
    s.create(hidden);
    let t = s.open("t");
    for i in [3, 1, 2, 1] {
        s.insert(&t, &ints(&[i])).unwrap();
    }
    s.commit();
    assert_eq!(s.ints(&t, 0), [[3], [1], [2], [1]]);
    assert_eq!(s.ints(&t, 1), [[1], [1], [2], [3]]);
    s.commit();
    let db = db.crash();
    let mut s = db.session();
    let t = s.open("t");
    s.insert(&t, &ints(&[9])).unwrap();
    s.commit();
    assert_eq!(s.ints(&t, 0), [[3], [1], [2], [1], [9]]);
    s.commit();
    db.check();
}

/// A value is inserted while somebody who has read the largest one, but not that, sets the counter up.
#[test]
fn auto_increment_starts_above_what_is_inserted_meanwhile() {
    let db = Db::new();
    let mut s = filled(&db, "t", 0);
    let t = s.open("t");
    t.auto_increment_seen(20);
    t.auto_increment_init(11);
    assert_eq!(t.auto_increment(1, 1, 1).unwrap(), 21);
    s.commit();
}

/// After a clean close the counter goes on; after a crash the layer above must look at the rows.
#[test]
fn auto_increment_never_goes_back() {
    let db = Db::new();
    let mut s = filled(&db, "t", 0);
    let t = s.open("t");
    assert_eq!(t.auto_increment_peek(), None);
    t.auto_increment_init(5);
    t.auto_increment_init(50);
    assert_eq!(t.auto_increment(3, 1, 1).unwrap(), 5);
    assert_eq!(t.auto_increment(1, 10, 3).unwrap(), 13);
    t.auto_increment_seen(100);
    t.auto_increment_seen(20);
    assert_eq!(t.auto_increment_peek(), Some(101));
    s.commit();
    assert!(db.engine.close().is_ok());
    let Db { engine, disk } = db;
    drop((engine, s, t));
    disk.kill();
    let db = Db::on(disk);
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(t.auto_increment_peek(), Some(101));
    s.commit();
    // A rename keeps it, though nobody opens the table by its new name before the engine closes.
    db.engine
        .rename_tables(&s.owner, &[(name("t"), name("v"))])
        .unwrap();
    assert_eq!(s.open("v").auto_increment(1, 1, 1).unwrap(), 101);
    s.commit();
    db.engine
        .rename_tables(&s.owner, &[(name("v"), name("u"))])
        .unwrap();
    assert!(db.engine.close().is_ok());
    let Db { engine, disk } = db;
    drop((engine, s, t));
    disk.kill();
    let db = Db::on(disk);
    let mut s = db.session();
    let t = s.open("u");
    assert_eq!(t.auto_increment_peek(), Some(102));
    assert_eq!(t.auto_increment(1, 1, 1).unwrap(), 102);
    s.insert(&t, &ints(&[102, 0])).unwrap();
    s.commit();
    drop((s, t));
    let db = db.crash();
    let mut s = db.session();
    let t = s.open("u");
    let next = t.auto_increment_peek().unwrap();
    assert!((103..200).contains(&next), "{next}");
    s.commit();
}

/// What was told to a client is not given to another after a crash, though its row is gone, or was never there.
#[test]
fn auto_increment_values_do_not_come_back_after_a_crash() {
    let mut db = Db::new();
    let mut s = filled(&db, "t", 0);
    let mut last = 0;
    s.open("t").auto_increment_init(1);
    s.commit();
    for round in 0..6 {
        let t = s.open("t");
        for i in 0..100 {
            let id = t.auto_increment(1 + i % 3, 1, 1).unwrap();
            assert!(id > last, "{id} comes after {last}");
            last = id + i % 3;
            if i == 50 {
                // Given by a user.
                last += 1000;
                t.auto_increment_seen(last);
            }
        }
        s.insert(&t, &ints(&[last as i64, 0])).unwrap();
        match round % 3 {
            0 => s.commit(),
            1 => {
                s.commit();
                assert!(s.delete(&t, &int_key(last as i64)).unwrap());
                s.commit();
            }
            _ => {
                s.rollback();
                // Makes the log durable, as a commit of the row would have.
                s.txn();
                s.insert(&t, &ints(&[-round, 0])).unwrap();
                s.commit();
            }
        }
        drop((t, s));
        db = db.crash();
        s = db.session();
    }
    let t = s.open("t");
    let next = t.auto_increment_peek().unwrap();
    assert!(next > last && next < last + 200, "{next} after {last}");
    s.commit();
}

#[test]
fn dead_space_comes_home() {
    let db = Db::new();
    let mut s = db.session();
    let mut sizes = Vec::new();
    for round in 0..6 {
        let mut t = table("t", TWO);
        t.place = Some(Place::file_per_table(round % 2 == 1));
        s.create(t);
        let t = s.open("t");
        for i in 0..300 {
            let long = vec![1; if i % 50 == 0 { 40_000 } else { 500 }];
            s.insert(&t, &row(&[Some(&int(i)), Some(&int(i)), Some(&long)]))
                .unwrap();
        }
        s.commit();
        if round == 3 {
            db.engine.truncate_table(&s.owner, D, "t").unwrap();
        }
        db.engine.drop_tables(&s.owner, &[name("t")]).unwrap();
        db.settled();
        db.check();
        let files = db.disk.files();
        assert!(
            files.iter().all(|(n, _)| !n.starts_with("tables/")),
            "{files:?}"
        );
        sizes.push(files.iter().find(|(n, _)| n == "data").unwrap().1);
    }
    assert_eq!(sizes[0], sizes[4], "{sizes:?}");
}

/// What a crash leaves in the graveyard is dug up after it.
#[test]
fn graves_survive_a_crash() {
    for own_file in [false, true] {
        let db = Db::new();
        let mut s = db.session();
        let mut t = table("t", TWO);
        t.place = Some(Place::file_per_table(own_file));
        s.create(t);
        let t = s.open("t");
        for i in 0..2000 {
            s.insert(&t, &ints(&[i, i])).unwrap();
        }
        s.commit();
        db.engine.drop_tables(&s.owner, &[name("t")]).unwrap();
        drop((s, t));
        let db = db.crash();
        db.settled();
        db.check();
        let files = db.disk.files();
        assert!(
            files.iter().all(|(n, _)| !n.starts_with("tables/")),
            "{files:?}"
        );
    }
}

/// More tables than the cache keeps.
#[test]
fn many_tables_are_opened_in_turn() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t0", TWO));
    db.engine
        .set_flush_at_commit(log::FlushAtCommit::EverySecond);
    let n = 4500;
    for i in 1..n {
        db.engine
            .create_table(&s.owner, table(&format!("t{i}"), TWO))
            .unwrap();
    }
    let kept: Vec<Arc<Table>> = (0..20).map(|i| s.open(&format!("t{i}"))).collect();
    for t in &kept {
        t.auto_increment_init(7);
    }
    s.commit();
    for i in 0..n {
        let t = s.open(&format!("t{i}"));
        if i % 100 == 0 {
            s.insert(&t, &ints(&[i, i])).unwrap();
            t.auto_increment_init(9);
        }
        s.commit();
    }
    let open = db.engine.status().counter("Millpond_open_tables");
    assert!(open <= millpond_store::engine::TABLE_CACHE as u64, "{open}");
    for (i, t) in kept.iter().enumerate() {
        assert!(t.pin(s.txn()).unwrap());
        assert!(Arc::ptr_eq(t, &s.open(&format!("t{i}"))));
    }
    s.commit();
    for i in (100..n).step_by(100) {
        let t = s.open(&format!("t{i}"));
        assert_eq!(s.ints(&t, 0), [[i, i]]);
        assert_eq!(t.auto_increment_peek(), Some(9), "t{i}");
        s.commit();
    }
    assert_eq!(db.engine.drop_database(&s.owner, D).unwrap(), n as usize);
    db.check();
}

/// What is looked for stays open, what was not for longest is closed, by number or by bytes.
#[test]
fn tables_looked_for_stay_open() {
    let by_number = Options {
        table_cache: 256,
        ..options()
    };
    let by_bytes = Options {
        table_cache_bytes: 1 << 20,
        ..options()
    };
    for options in [by_number, by_bytes] {
        let disk = SimStorage::new();
        let engine = open_with(&disk, options).unwrap();
        let db = Db { engine, disk };
        let mut s = db.session();
        s.create(table("hot", TWO));
        s.create(table("cold", TWO));
        let hot = Arc::downgrade(&s.open("hot"));
        let cold = Arc::downgrade(&s.open("cold"));
        s.commit();
        let n = 1500;
        db.engine
            .set_flush_at_commit(log::FlushAtCommit::EverySecond);
        for i in 0..n {
            s.create(table(&format!("t{i}"), TWO));
            s.open(&format!("t{i}"));
            s.commit();
            s.open("hot");
            s.commit();
        }
        assert!(hot.upgrade().is_some());
        assert!(cold.upgrade().is_none());
        let status = db.engine.status();
        let (tables, bytes) = (
            status.counter("Millpond_open_tables"),
            status.counter("Millpond_open_table_bytes"),
        );
        assert!((100..=256).contains(&tables), "{tables} tables");
        assert!((1 << 18..=1 << 20).contains(&bytes), "{bytes} bytes");
        // Fewer from now on.
        db.engine.set_table_cache(64);
        for i in 0..n {
            s.open(&format!("t{i}"));
            s.commit();
        }
        let tables = db.engine.status().counter("Millpond_open_tables");
        assert!(tables <= 64, "{tables} tables");
        db.check();
    }
}

#[test]
fn two_engines_do_not_share_a_directory() {
    let db = Db::new();
    assert!(matches!(open(&db.disk), Err(Error::Locked(_))));
    let mut s = db.session();
    s.create(table("t", TWO));
    let t = s.open("t");
    s.insert(&t, &ints(&[1, 1])).unwrap();
    assert!(matches!(db.engine.close(), Err(Error::Invalid(_))));
    s.rollback();
    db.engine.close().unwrap();
}

#[test]
fn verification_finds_damage() {
    let db = Db::new();
    let s = filled(&db, "t", 2000);
    db.check();
    let root = db.engine.table_def(D, "t").unwrap().indexes[1].root;
    db.engine.close().unwrap();
    let Db { engine, disk } = db;
    drop((engine, s));
    disk.kill();
    // A later batch takes the copies in the doublewrite file away, which would mend the page.
    let db = Db::on(disk);
    filled(&db, "other", 1);
    db.engine.close().unwrap();
    let Db { engine, disk } = db;
    drop(engine);
    disk.corrupt("data", u64::from(root) * 16384 + 5000, &[1, 2, 3, 4]);
    disk.kill();
    let db = Db::on(disk);
    let problems = db.engine.check().unwrap();
    assert!(
        problems.iter().any(|p| p.contains(&format!("page {root}"))),
        "{problems:#?}"
    );
    // What is sound is served, what is not is an error.
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(s.rows(&t, 0).len(), 2000);
    let broken = s.scan(
        &t,
        1,
        everything(),
        Direction::Forward,
        ReadMode::Consistent,
    );
    assert!(matches!(broken, Err(Error::Corrupt(_))), "{broken:?}");
}

#[test]
fn the_report_has_its_sections() {
    let db = Db::new();
    let mut s = filled(&db, "t", 10);
    let t = s.open("t");
    s.insert(&t, &ints(&[77, 0])).unwrap();
    let status = db.engine.status();
    for section in [
        "BACKGROUND THREAD",
        "SEMAPHORES",
        "TRANSACTIONS",
        "FILE I/O",
        "LOG",
        "BUFFER POOL AND MEMORY",
        "ROW OPERATIONS",
    ] {
        assert!(
            status.report.contains(&format!("\n{section}\n")),
            "{section}"
        );
    }
    assert!(status.report.contains("ACTIVE"));
    assert_eq!(status.counter("Innodb_buffer_pool_pages_total"), 320);
    // The catalog's own rows count too.
    assert!(status.counter("Innodb_rows_inserted") >= 11);
}

/// A snapshot older than a TRUNCATE, or than a table rebuilt under its name, is refused rather than shown an empty
/// table; newer ones and locking reads are not.
#[test]
fn old_snapshots_do_not_see_truncated_tables_as_empty() {
    let db = Db::new();
    filled(&db, "t", 3);
    filled(&db, "u", 2);
    let e = db.engine.clone();
    let o = e.owner();
    let open_snapshot = || {
        let mut s = db.session();
        let engine = s.engine.clone();
        engine.snapshot(s.begin());
        s
    };
    let refused = |s: &mut Session| {
        let t = s.open("t");
        for index in 0..2 {
            let by_key = s.read(&t, index, &int_key(1), ReadMode::Consistent);
            assert!(matches!(by_key, Err(Error::DefinitionChanged(n)) if n == "t"));
            let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
            let all = s.scan(&t, index, everything(), dir, mode);
            assert!(matches!(all, Err(Error::DefinitionChanged(_))));
        }
        let mode = ReadMode::Locking(LockMode::Shared, WaitPolicy::Wait);
        s.read(&t, 0, &int_key(1), mode).unwrap();
        s.rollback();
    };
    let (mut before, mut early) = (open_snapshot(), db.at(Isolation::ReadCommitted));
    early.txn();
    e.truncate_table(&o, D, "t").unwrap();
    let mut after = open_snapshot();
    refused(&mut before);
    for s in [&mut after, &mut early] {
        let t = s.open("t");
        assert!(s.rows(&t, 0).is_empty() && s.rows(&t, 1).is_empty());
        s.rollback();
    }
    // As ALTER does: a copy of the rows takes the name.
    let mut before = open_snapshot();
    let pairs = [(name("t"), name("old")), (name("u"), name("t"))];
    e.place_table(&o, &pairs).unwrap();
    refused(&mut before);
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(s.rows(&t, 1).len(), 2);
    s.commit();
    // A mere change of names is none.
    let mut before = open_snapshot();
    let pairs = [(name("t"), name("u")), (name("u"), name("t"))];
    e.rename_tables(&o, &pairs).unwrap();
    let t = before.open("t");
    assert_eq!(before.rows(&t, 1).len(), 2);
    before.commit();
    db.check();
}

/// Tables locked for a change of several steps are unlocked when one of them panics.
#[test]
fn a_panic_between_the_steps_of_a_change_unlocks_its_tables() {
    let db = Db::new();
    let (one, other) = (db.session(), db.session());
    one.create(table("t", &[("PRIMARY", true, &[0])]));
    let names = [((D.to_string(), "t".to_string()), true)];
    let changed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _held = db.engine.hold_tables(&one.owner, &names).unwrap();
        panic!("a bug");
    }));
    assert!(changed.is_err());
    other.owner.set_metadata_timeout(0);
    db.engine.truncate_table(&other.owner, D, "t").unwrap();
}
