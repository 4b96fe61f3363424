//! Empty tables that a transaction fills in bulk: what comes of it is what inserting row by row gives, for every view, whatever becomes of
//! the transaction.

mod common;
use common::*;
use millpond_store::engine::Place;
use millpond_store::io::sim::{OpKind, Step};
use millpond_store::*;
use std::sync::Arc;

const INDEXES: [(&str, bool, &[u8]); 3] = [
    ("PRIMARY", true, &[0]),
    ("v", false, &[1]),
    ("u", true, &[2]),
];

const LEVELS: [Isolation; 4] = [
    Isolation::ReadUncommitted,
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

/// Most rows are short, some take overflow pages.
fn a_row(id: i64, v: i64) -> Vec<u8> {
    let pad = match id % 97 {
        5 => 60_000,
        11 => 9_000,
        _ => (id % 60) as usize,
    };
    row(&[
        Some(&int(id)),
        Some(&int(v)),
        Some(&int(id * 3)),
        Some(&vec![7; pad]),
    ])
}

fn new_table(own_file: bool) -> engine::NewTable {
    let mut new = table("t", &INDEXES);
    new.place = Some(Place::file_per_table(own_file));
    new
}

/// Begins to fill a table, if that can be.
fn begin<'e>(s: &mut Session, engine: &'e Engine) -> Result<Option<(Load, TableFill<'e>)>> {
    let txn = s.txn();
    let t = engine.open_table_for_write(txn, D, "t")?;
    engine.fill(txn, &t, RowOrder::Any)
}

fn add(load: &mut Load, ids: &[i64]) -> Result<()> {
    ids.iter().try_for_each(|&id| load.add(&a_row(id, id % 10)))
}

/// Fills the table as a statement does; it is committed then, or has failed and is rolled back.
fn fill(s: &mut Session, ids: &[i64]) -> Result<()> {
    let engine = s.engine.clone();
    let filled = (|| {
        let (mut load, fill) = begin(s, &engine)?.expect("the table is new and free");
        add(&mut load, ids)?;
        let rows = load.finish().map_err(|refused| refused.error)?;
        fill.publish(s.txn.as_mut().unwrap())?;
        Ok((fill, rows))
    })();
    match filled {
        Ok((fill, rows)) => {
            assert_eq!(rows, ids.len() as u64);
            fill.commit(s.txn.take().unwrap(), rows)
        }
        Err(e) => {
            s.rollback();
            Err(e)
        }
    }
}

/// What each index has, and batches of it, sorted by id.
fn seen(s: &mut Session, t: &Table) -> Vec<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for index in 0..t.def().indexes.len() {
        let mut rows = s.rows(t, index);
        rows.sort();
        all.push(rows);
        let engine = s.engine.clone();
        let txn = s.txn();
        if let Some(snapshot) = engine.snapshot(txn) {
            let mut batches = t
                .scan_batches(snapshot, index, everything(), Fetch::Row)
                .unwrap();
            let mut rows = Vec::new();
            while let Some(batch) = batches.next().unwrap() {
                rows.extend(batch.iter().map(|r| r.row.to_vec()));
            }
            rows.sort();
            assert_eq!(&rows, all.last().unwrap());
        }
        let keys = [int_key(3), int_key(3), int_key(9)];
        let found = s.get(t, index, &keys[index]);
        assert_eq!(found.is_some(), !all[index].is_empty(), "index {index}");
    }
    all
}

fn want(ids: &[i64]) -> Vec<Vec<u8>> {
    let mut rows: Vec<_> = ids.iter().map(|&id| a_row(id, id % 10)).collect();
    rows.sort();
    rows
}

fn holds(s: &mut Session, ids: &[i64]) {
    let t = s.open("t");
    assert_eq!(seen(s, &t), vec![want(ids); 3]);
    s.commit();
}

fn counted(db: &Db, name: &str) -> u64 {
    db.engine.status().counter(name)
}

#[test]
fn rows_are_there_with_the_commit_and_after_a_crash() {
    for own_file in [false, true] {
        for count in [1, 4, 20_000] {
            let db = Db::new();
            let mut s = db.session();
            s.create(new_table(own_file));
            let ids: Vec<i64> = (3..3 + count).rev().collect();
            fill(&mut s, &ids).unwrap();
            holds(&mut s, &ids);
            drop(s);
            let db = db.crash();
            db.check();
            let mut s = db.session();
            holds(&mut s, &ids);
            // They change and go as others do, with their chains.
            let t = s.open("t");
            for id in [3, 5, 11, 102] {
                assert_eq!(s.delete(&t, &int_key(id)).unwrap(), ids.contains(&id));
            }
            s.rollback();
            drop(t);
            holds(&mut s, &ids);
            let t = s.open("t");
            for &id in &ids {
                assert!(s.delete(&t, &int_key(id)).unwrap());
            }
            s.insert(&t, &a_row(3, 3)).unwrap();
            s.commit();
            drop(t);
            holds(&mut s, &[3]);
            let owner = db.engine.owner();
            drop(s);
            let name = (D.to_string(), "t".to_string());
            db.engine.drop_tables(&owner, &[name]).unwrap();
            db.check();
        }
    }
}

/// A view from before the load, or from while it was under way, has an empty table at each level, by each index, and keeps it while the rows
/// change and what nobody needs is purged; one made later has the rows.
#[test]
fn older_views_see_no_row() {
    let ids: Vec<i64> = (0..2_000).collect();
    let db = Db::new();
    let mut s = db.session();
    s.create(new_table(false));
    let mut before: Vec<Session> = LEVELS.map(|level| db.at(level)).into();
    for b in &mut before {
        let engine = b.engine.clone();
        engine.snapshot(b.begin());
    }
    let engine = db.engine.clone();
    let (mut load, filler) = begin(&mut s, &engine).unwrap().unwrap();
    add(&mut load, &ids).unwrap();
    let mut during: Vec<Session> = LEVELS.map(|level| db.at(level)).into();
    for b in &mut during {
        let engine = b.engine.clone();
        engine.snapshot(b.begin());
    }
    let rows = load.finish().unwrap();
    filler.publish(s.txn.as_mut().unwrap()).unwrap();
    filler.commit(s.txn.take().unwrap(), rows).unwrap();
    let check = |views: &mut Vec<Session>, want_now: &[Vec<u8>]| {
        for b in views {
            let keeps = matches!(
                b.isolation,
                Isolation::RepeatableRead | Isolation::Serializable
            );
            let t = {
                // READ COMMITTED has another view with each statement.
                let engine = b.engine.clone();
                engine.open_table(b.txn(), D, "t").unwrap()
            };
            let want = if keeps { Vec::new() } else { want_now.to_vec() };
            assert_eq!(seen(b, &t), vec![want; 3], "{:?}", b.isolation);
            // The newest version is locked, though it is not seen.
            let share = ReadMode::Locking(LockMode::Shared, WaitPolicy::Wait);
            let locked = b.read(&t, 2, &int_key(9), share).unwrap();
            assert!(locked.is_some());
        }
    };
    check(&mut before, &want(&ids));
    check(&mut during, &want(&ids));
    for b in before.iter_mut().chain(&mut during) {
        // Row locks would be in the way now.
        let level = b.isolation;
        if !matches!(level, Isolation::RepeatableRead) {
            b.commit();
        }
    }
    let mut views: Vec<Session> = before.into_iter().chain(during).collect();
    views.retain(|b| b.isolation == Isolation::RepeatableRead);
    // Id 3 is locked by the views: it stays.
    let t = s.open("t");
    for id in (0..2_000).filter(|id| *id != 3) {
        match id % 3 {
            0 => assert!(s.delete(&t, &int_key(id)).unwrap()),
            1 => assert!(s.update(&t, &int_key(id), |_| a_row(id, 77)).unwrap()),
            _ => {}
        }
    }
    s.commit();
    drop(t);
    check(&mut views, &[]);
    // A transaction sees what it writes itself, whatever it does not see beside.
    let b = &mut views[0];
    let t = b.open("t");
    b.insert(&t, &a_row(5_000, 1)).unwrap();
    assert_eq!(b.rows(&t, 0), [a_row(5_000, 1)]);
    assert!(b.update(&t, &int_key(8), |_| a_row(8, 5)).unwrap());
    let mut rows = b.rows(&t, 1);
    rows.sort();
    assert_eq!(rows, [a_row(8, 5), a_row(5_000, 1)]);
    drop(t);
    for mut b in views {
        b.rollback();
    }
    drop(s);
    drop(engine);
    db.check();
}

/// A view that may not read what a TRUNCATE took away may not after a load either.
#[test]
fn views_from_before_a_truncate_are_refused_still() {
    let db = Db::new();
    let mut s = db.session();
    s.create(new_table(false));
    fill(&mut s, &[3, 4]).unwrap();
    let mut old = db.session();
    let engine = old.engine.clone();
    engine.snapshot(old.begin());
    engine.truncate_table(&s.owner, D, "t").unwrap();
    fill(&mut s, &[3, 4, 5]).unwrap();
    let t = old.open("t");
    let scan = old.scan(
        &t,
        0,
        everything(),
        Direction::Forward,
        ReadMode::Consistent,
    );
    assert!(matches!(scan, Err(Error::DefinitionChanged(_))));
    old.commit();
    holds(&mut s, &[3, 4, 5]);
}

/// Whatever ends it before its commit, the table stays empty and can be filled again, and nothing stays in the files.
#[test]
fn what_fails_leaves_an_empty_table() {
    for own_file in [false, true] {
        let db = Db::new();
        let mut s = db.session();
        s.create(new_table(own_file));
        let ids: Vec<i64> = (3..6_000).collect();
        let bytes = || -> u64 {
            let files = db.disk.files();
            let data = files
                .iter()
                .filter(|(n, _)| n == "data" || n.starts_with("tables/"));
            data.map(|f| f.1).sum()
        };
        let mut lengths = Vec::new();
        for round in 0..8 {
            let engine = s.engine.clone();
            let (mut load, fill) = begin(&mut s, &engine).unwrap().unwrap();
            let some = &ids[..if round % 2 == 0 { 40 } else { ids.len() }];
            match round {
                0 | 1 => {
                    // A row that is refused.
                    add(&mut load, some).unwrap();
                    drop(load);
                }
                2 | 3 => {
                    add(&mut load, some).unwrap();
                    load.add(&a_row(some[7], 0)).unwrap();
                    let refused = load.finish().unwrap_err();
                    assert!(matches!(refused.error, Error::DuplicateKey { .. }));
                    assert!(refused.row.is_some());
                }
                4 => {
                    add(&mut load, some).unwrap();
                    load.finish().unwrap();
                }
                5 => {
                    s.owner.kill();
                    assert!(matches!(add(&mut load, some), Err(Error::Interrupted)));
                    drop(load);
                    s.owner = db.engine.owner();
                }
                _ => {
                    db.disk.on_step(move |kind, name| {
                        let data = name == "data" || name.starts_with("tables/");
                        let mine = std::thread::current().name() != Some("page-cleaner");
                        match kind == OpKind::SetLen && data && mine {
                            true => Step::Full,
                            false => Step::Go,
                        }
                    });
                    let added =
                        add(&mut load, &ids).and_then(|()| add(&mut load, &[ids.len() as i64 + 9]));
                    let done = added.and_then(|()| load.finish().map_err(|r| r.error));
                    db.disk.clear_hook();
                    // Where the files have room from before it works.
                    assert!(
                        done.is_ok() || matches!(done, Err(Error::Io { .. })),
                        "{done:?}"
                    );
                }
            }
            drop(fill);
            s.rollback();
            holds(&mut s, &[]);
            db.check();
            lengths.push(bytes());
        }
        assert!(lengths[7] <= lengths[1] * 3 / 2, "{lengths:?}");
        fill(&mut s, &ids).unwrap();
        holds(&mut s, &ids);
        drop(s);
        db.check();
        db.crash().check();
    }
}

/// What is not certain to be new and free is not filled in bulk, and is not locked for having been asked.
#[test]
fn only_tables_that_were_never_written_to_and_that_nobody_uses() {
    let db = Db::new();
    let engine = db.engine.clone();
    let mut s = db.session();
    s.create(new_table(false));
    s.create(table("other", &INDEXES));
    let mut other = db.session();
    other.owner.set_metadata_timeout(0);
    let refuses = |s: &mut Session, what: &str| {
        assert!(begin(s, &engine).unwrap().is_none(), "{what}");
        // Others still come.
        let mut other = db.session();
        other.owner.set_metadata_timeout(0);
        other.open("t");
        other.commit();
        s.rollback();
    };
    // Somebody has it open.
    other.open("t");
    refuses(&mut s, "in use");
    other.commit();
    // The transaction has written elsewhere.
    let o = s.open("other");
    s.insert(&o, &a_row(1, 1)).unwrap();
    refuses(&mut s, "not its first change");
    drop(o);
    // It is only read.
    let t = s.open("t");
    assert!(engine.fill(s.txn(), &t, RowOrder::Any).unwrap().is_none());
    s.commit();
    drop(t);
    // While it is being filled nobody else comes; the owner itself may.
    let (load, fill) = begin(&mut s, &engine).unwrap().unwrap();
    let opened = engine.open_table(other.txn(), D, "t");
    assert!(matches!(opened, Err(Error::LockWaitTimeout)));
    other.commit();
    s.open("t");
    drop(load);
    drop(fill);
    s.rollback();
    // A row was there, if only for a moment; it is there; a view sees it that is older than its end.
    let t = s.open("t");
    s.insert(&t, &a_row(1, 1)).unwrap();
    s.rollback();
    let (load, fill) = begin(&mut s, &engine).unwrap().unwrap();
    drop(load);
    drop(fill);
    s.rollback();
    s.insert(&t, &a_row(1, 1)).unwrap();
    s.commit();
    refuses(&mut s, "written to");
    let o = other.open("other");
    assert!(other.rows(&o, 0).is_empty());
    assert!(s.delete(&t, &int_key(1)).unwrap());
    s.commit();
    refuses(&mut s, "seen by an older view");
    other.commit();
    db.settled();
    let (load, fill) = begin(&mut s, &engine).unwrap().unwrap();
    drop(load);
    drop(fill);
    s.rollback();
    // It has a root since.
    s.insert(&t, &a_row(5, 1)).unwrap();
    s.rollback();
    refuses(&mut s, "has had a long row");
    drop((t, o));
    // A new incarnation was never written to.
    engine.truncate_table(&s.owner, D, "t").unwrap();
    let (load, fill) = begin(&mut s, &engine).unwrap().unwrap();
    drop(load);
    drop(fill);
    s.rollback();
    db.check();
}

/// Hidden row ids go on behind those that were loaded, even if some were given out before.
#[test]
fn hidden_row_ids_go_on() {
    let db = Db::new();
    let mut s = db.session();
    let mut new = table("t", &[("GEN", true, &[]), ("v", false, &[1])]);
    new.hidden_row_id = true;
    s.create(new);
    let engine = db.engine.clone();
    let (mut load, fill) = begin(&mut s, &engine).unwrap().unwrap();
    add(&mut load, &[9, 8, 7]).unwrap();
    let rows = load.finish().unwrap();
    fill.publish(s.txn.as_mut().unwrap()).unwrap();
    fill.commit(s.txn.take().unwrap(), rows).unwrap();
    let t = s.open("t");
    s.insert(&t, &a_row(6, 0)).unwrap();
    s.commit();
    let rows = s.rows(&t, 0);
    let ids: Vec<_> = rows.iter().map(|r| fields(r)[0].clone().unwrap()).collect();
    assert_eq!(ids, [9, 8, 7, 6].map(int));
    s.commit();
    drop(t);
    db.check();
}

/// The table's counter is the one it had, and what the load used up stays used up, whatever becomes of it.
#[test]
fn auto_increment_goes_on() {
    let db = Db::new();
    let mut s = db.session();
    let mut new = new_table(false);
    new.auto_increment = 100;
    s.create(new);
    let engine = db.engine.clone();
    for commit in [false, true] {
        let t = s.open("t");
        s.commit();
        let (mut load, fill) = begin(&mut s, &engine).unwrap().unwrap();
        let from = t.auto_increment(50, 1, 1).unwrap();
        assert_eq!(from, if commit { 150 } else { 100 });
        add(&mut load, &[from as i64]).unwrap();
        let rows = load.finish().unwrap();
        if commit {
            fill.publish(s.txn.as_mut().unwrap()).unwrap();
            fill.commit(s.txn.take().unwrap(), rows).unwrap();
        } else {
            drop(fill);
            s.rollback();
        }
    }
    let t = s.open("t");
    assert_eq!(t.auto_increment(1, 1, 1).unwrap(), 200);
    s.commit();
    drop((t, s, engine));
    let db = db.crash();
    let mut s = db.session();
    let t = s.open("t");
    assert!(t.auto_increment(1, 1, 1).unwrap() > 200);
    s.commit();
}

/// The log hears of pages past it once, and no row is in it.
#[test]
fn the_log_gets_next_to_nothing() {
    let db = Db::new();
    let mut s = db.session();
    s.create(new_table(false));
    let before = counted(&db, "Innodb_os_log_written");
    let ids: Vec<i64> = (0..30_000).collect();
    fill(&mut s, &ids).unwrap();
    let log = counted(&db, "Innodb_os_log_written") - before;
    assert!(log < 1 << 20, "{log} bytes");
    holds(&mut s, &ids);
    let t: Arc<Table> = s.open("t");
    assert_eq!(t.changes().rows, 30_000);
    s.commit();
}
