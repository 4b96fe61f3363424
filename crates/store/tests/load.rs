//! Tables filled in bulk: what comes out is what inserting row by row gives.

mod common;
use common::*;
use millpond_store::engine::Place;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::sync::Arc;

const INDEXES: [(&str, bool, &[u8]); 3] = [
    ("PRIMARY", true, &[0]),
    ("v", false, &[1]),
    ("u", true, &[2]),
];

fn a_row(id: i64, v: i64, pad: usize) -> Vec<u8> {
    row(&[
        Some(&int(id)),
        Some(&int(v)),
        Some(&int(id * 3)),
        Some(&vec![7; pad]),
    ])
}

/// The pad of a row: most are short, some take overflow pages.
fn pad(id: i64) -> usize {
    match id % 97 {
        5 => 100_000,
        11 => 9_000,
        _ => (id % 60) as usize,
    }
}

fn load(s: &mut Session, t: &Arc<Table>, order: RowOrder, ids: &[i64]) -> Result<()> {
    let mut load = s.engine.load(&s.owner, t, order)?;
    for &id in ids {
        load.add(&a_row(id, id % 10, pad(id)))?;
    }
    let rows = load.finish().map_err(|refused| refused.error)?;
    assert_eq!(rows, ids.len() as u64);
    Ok(())
}

/// Gives the table in the making its name.
fn place(db: &Db, name: &str) {
    let full = |n: &str| (D.to_string(), n.to_string());
    let pairs = [(full("work"), full(name))];
    db.engine.place_table(&db.engine.owner(), &pairs).unwrap();
}

/// The same rows by each index; more can be written.
fn holds(s: &mut Session, t: &Table, ids: &[i64]) {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let want: Vec<Vec<u8>> = sorted
        .iter()
        .map(|&id| a_row(id, id % 10, pad(id)))
        .collect();
    assert_eq!(s.rows(t, 0), want);
    for index in 1..t.def().indexes.len() {
        let mut rows = s.rows(t, index);
        rows.sort();
        let mut want = want.clone();
        want.sort();
        assert_eq!(rows, want, "index {index}");
    }
    s.commit();
}

#[test]
fn rows_come_in_any_order_or_that_of_the_key() {
    for own_file in [false, true] {
        for count in [0, 1, 3, 20_000] {
            let db = Db::new();
            let mut s = db.session();
            let ascending: Vec<i64> = (0..count).collect();
            let mut shuffled = ascending.clone();
            let mut rng = Rng(count as u64);
            for at in (1..shuffled.len()).rev() {
                shuffled.swap(at, rng.below(at as u64 + 1) as usize);
            }
            for (name, order, ids) in [
                ("a", RowOrder::Clustered, &ascending),
                ("b", RowOrder::Any, &shuffled),
            ] {
                let mut new = table("work", &INDEXES);
                new.place = Some(Place::file_per_table(own_file));
                s.create(new);
                let t = s.open("work");
                load(&mut s, &t, order, ids).unwrap();
                holds(&mut s, &t, ids);
                drop(t);
                place(&db, name);
            }
            drop(s);
            let db = db.crash();
            db.check();
            let mut s = db.session();
            for (name, ids) in [("a", &ascending), ("b", &shuffled)] {
                let t = s.open(name);
                holds(&mut s, &t, ids);
                // Rows, and their chains, change and go as others do.
                for id in [0, 5, 11, 102] {
                    let there = ids.contains(&id);
                    assert_eq!(s.delete(&t, &int_key(id)).unwrap(), there, "{name} {id}");
                }
                s.insert(&t, &a_row(5, 5, pad(5))).unwrap();
                s.commit();
            }
            drop(s);
            db.check();
        }
    }
}

#[test]
fn rows_without_a_key_are_numbered() {
    let db = Db::new();
    let mut s = db.session();
    let mut new = table("h", &[("GEN", true, &[]), ("v", false, &[1])]);
    new.hidden_row_id = true;
    s.create(new);
    let t = s.open("h");
    let ids: Vec<i64> = (0..500).rev().collect();
    load(&mut s, &t, RowOrder::Any, &ids).unwrap();
    let first = |r: &Vec<u8>| fields(r)[0].clone();
    let found: Vec<_> = s.rows(&t, 0).iter().map(first).collect();
    let want: Vec<_> = ids.iter().map(|&id| Some(int(id))).collect();
    assert_eq!(found, want);
    s.insert(&t, &a_row(1000, 1, 1)).unwrap();
    s.commit();
    assert_eq!(s.rows(&t, 0).last().map(first), Some(Some(int(1000))));
    s.commit();
    drop(s);
    db.check();
}

/// The row that is in the way is named; what was written goes with the table.
#[test]
fn duplicates_are_found() {
    let db = Db::new();
    let mut s = db.session();
    for (index, order) in [
        (0, RowOrder::Clustered),
        (0, RowOrder::Any),
        (2, RowOrder::Clustered),
        (2, RowOrder::Any),
    ] {
        s.create(table("t", &INDEXES));
        let t = s.open("t");
        let mut load = s.engine.load(&s.owner, &t, order).unwrap();
        let second = match index {
            0 => a_row(299, 3, 40),
            _ => row(&[
                Some(&int(300)),
                None,
                Some(&int(299 * 3)),
                Some(&[1; 50_000]),
            ]),
        };
        let mut refused = None;
        for r in (0..300)
            .map(|id| a_row(id, 0, pad(id)))
            .chain([second.clone()])
        {
            if let Err(e) = load.add(&r) {
                refused = Some((e, r));
            }
        }
        let (error, row) = match refused {
            Some((e, r)) => {
                drop(load);
                (e, Some(r))
            }
            None => {
                let refused = load.finish().unwrap_err();
                (refused.error, refused.row)
            }
        };
        assert!(
            matches!(error, Error::DuplicateKey { index: i } if i == index),
            "{error:?}"
        );
        assert_eq!(row, Some(second), "{index} {order:?}");
        s.commit();
        drop(t);
        let owner = db.engine.owner();
        let name = (D.to_string(), "t".to_string());
        db.engine.drop_tables(&owner, &[name]).unwrap();
    }
    drop(s);
    db.check();
}

#[test]
fn a_load_can_be_killed() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &INDEXES));
    let t = s.open("t");
    let mut load = s.engine.load(&s.owner, &t, RowOrder::Clustered).unwrap();
    for id in 0..5000 {
        load.add(&a_row(id, id, 10)).unwrap();
    }
    s.owner.kill();
    assert!(matches!(
        load.finish().unwrap_err().error,
        Error::Interrupted
    ));
    s.rollback();
    drop(s);
    let owner = db.engine.owner();
    drop(t);
    db.engine
        .drop_tables(&owner, &[(D.to_string(), "t".to_string())])
        .unwrap();
    db.check();
}

/// A load beside a table whose pages are cached: none of them goes, the pool gets next to nothing of the new table, and the log even less.
#[test]
fn a_load_leaves_pool_and_log_alone() {
    for own_file in [false, true] {
        let db = Db::new();
        let mut s = db.session();
        let mut hot = table("hot", &INDEXES[..1]);
        hot.place = Some(Place::file_per_table(own_file));
        s.create(hot);
        let t = s.open("hot");
        for id in 0..2000 {
            s.insert(&t, &row(&[Some(&int(id)), Some(&[1; 1000])]))
                .unwrap();
        }
        s.commit();
        let read = |s: &mut Session| {
            let t = s.open("hot");
            assert_eq!(s.rows(&t, 0).len(), 2000);
            s.commit();
        };
        read(&mut s);
        let count = |name: &str| db.engine.status().counter(name);
        let numbers = || {
            [
                "Innodb_buffer_pool_reads",
                "Innodb_pages_created",
                "Innodb_os_log_written",
            ]
            .map(count)
        };
        let mut new = table("work", &INDEXES);
        new.place = Some(Place::file_per_table(own_file));
        s.create(new);
        let t = s.open("work");
        let before = numbers();
        // Four times the pool.
        let ids: Vec<i64> = (0..10_000).collect();
        let mut load = s.engine.load(&s.owner, &t, RowOrder::Clustered).unwrap();
        for &id in &ids {
            load.add(&a_row(id, id % 10, 2000)).unwrap();
        }
        load.finish().unwrap();
        s.commit();
        read(&mut s);
        let after = numbers();
        assert_eq!(after[0], before[0], "pages read again");
        assert!(after[1] - before[1] < 50, "{} pages", after[1] - before[1]);
        assert!(
            after[2] - before[2] < 1 << 20,
            "{} of log",
            after[2] - before[2]
        );
        let t = s.open("work");
        assert_eq!(s.rows(&t, 0).len(), ids.len());
        assert_eq!(s.rows(&t, 2).len(), ids.len());
        s.commit();
        drop((t, s));
        db.check();
        db.crash().check();
    }
}

/// Fails what the load's own threads do to a file, from the call on that is counted down to.
fn fail(db: &Db, kind: OpKind, mut calls: u64, step: Step) {
    db.disk.on_step(move |k, name| {
        let cleaner = std::thread::current().name() == Some("page-cleaner");
        let data = name == "data" || name.starts_with("tables/");
        if k != kind || cleaner || !data {
            return Step::Go;
        }
        calls = calls.saturating_sub(1);
        if calls == 0 { step } else { Step::Go }
    });
}

/// What cannot be written or synced is the statement's error: the engine goes on, and what was taken is free again.
#[test]
fn a_load_that_cannot_be_written_fails_alone() {
    for own_file in [false, true] {
        let db = Db::new();
        let mut s = db.session();
        let mut lengths = Vec::new();
        for (kind, calls, step) in [
            (OpKind::Write, 1, Step::Fail),
            (OpKind::Write, 3, Step::Full),
            (OpKind::SetLen, 1, Step::Full),
            (OpKind::Sync, 1, Step::Fail),
            (OpKind::Sync, 1, Step::Fail),
        ] {
            let mut new = table("work", &INDEXES);
            new.place = Some(Place::file_per_table(own_file));
            s.create(new);
            let t = s.open("work");
            let mut load = s.engine.load(&s.owner, &t, RowOrder::Clustered).unwrap();
            fail(&db, kind, calls, step);
            let added = (0..10_000).try_for_each(|id| load.add(&a_row(id, id % 10, 2000)));
            let done = added.and_then(|()| load.finish().map_err(|r| r.error));
            assert!(matches!(done, Err(Error::Io { .. })), "{kind:?}: {done:?}");
            db.disk.clear_hook();
            s.commit();
            assert_eq!(db.engine.stopped(), None);
            drop(t);
            let owner = db.engine.owner();
            let name = (D.to_string(), "work".to_string());
            db.engine.drop_tables(&owner, &[name]).unwrap();
            db.check();
            let bytes: u64 = db
                .disk
                .files()
                .iter()
                .filter(|(n, _)| n == "data" || n.starts_with("tables/"))
                .map(|f| f.1)
                .sum();
            lengths.push(bytes);
        }
        // No file is left, and of the shared one the same part is used again.
        assert!(lengths[4] <= lengths[3] * 3 / 2, "{lengths:?}");
    }
}

/// Pages that were another table's a moment ago: whatever the log still holds of their earlier life does not touch them after a crash, and
/// what is changed afterwards is redone.
#[test]
fn a_load_takes_pages_that_have_just_been_freed() {
    for seed in 0..20 {
        let db = Db::new();
        let mut s = db.session();
        s.create(table("before", &INDEXES));
        let t = s.open("before");
        for id in 0..400 {
            s.insert(&t, &a_row(id, id, 2000)).unwrap();
        }
        s.commit();
        drop(t);
        let owner = db.engine.owner();
        let name = (D.to_string(), "before".to_string());
        db.engine.drop_tables(&owner, &[name]).unwrap();
        db.settled();
        s.create(table("work", &INDEXES));
        let t = s.open("work");
        let ids: Vec<i64> = (0..600).collect();
        load(&mut s, &t, RowOrder::Clustered, &ids).unwrap();
        s.commit();
        drop(t);
        place(&db, "after");
        let t = s.open("after");
        for id in (0..600).step_by(7) {
            assert!(s.delete(&t, &int_key(id)).unwrap());
        }
        s.commit();
        drop((t, s));
        let disk = db.disk.clone();
        disk.cut();
        drop(db);
        let mut coin = Rng(seed + 1);
        disk.restart(|| coin.chance(50));
        let db = Db::on(disk);
        db.check();
        let mut s = db.session();
        let t = s.open("after");
        let left: Vec<i64> = ids.into_iter().filter(|id| id % 7 != 0).collect();
        holds(&mut s, &t, &left);
    }
}

/// Sorts that do not fit into their memory write runs, which go with the load, however it ends.
#[test]
fn sorts_share_little_memory() {
    let disk = SimStorage::new();
    let little = Options {
        sort_bytes: 300 << 10,
        ddl_bytes: 1,
        ..options()
    };
    let db = Db {
        engine: open_with(&disk, little).unwrap(),
        disk,
    };
    let runs = || {
        let files = db.disk.files();
        files.iter().filter(|(n, _)| n.starts_with("tmp/")).count()
    };
    let mut s = db.session();
    let ids: Vec<i64> = (0..12_000).rev().collect();
    for whole in [false, true] {
        s.create(table("work", &INDEXES));
        let t = s.open("work");
        if whole {
            load(&mut s, &t, RowOrder::Any, &ids).unwrap();
            holds(&mut s, &t, &ids);
        } else {
            let mut load = s.engine.load(&s.owner, &t, RowOrder::Any).unwrap();
            for &id in &ids {
                load.add(&a_row(id, id, 20)).unwrap();
            }
            assert!(runs() > 0);
            drop(load);
            s.commit();
        }
        assert_eq!(runs(), 0);
        drop(t);
        let owner = db.engine.owner();
        let name = (D.to_string(), "work".to_string());
        db.engine.drop_tables(&owner, &[name]).unwrap();
    }
    drop(s);
    db.check();
}
