//! Tables that hold little share pages until they outgrow them.

mod common;
use common::*;
use millpond_store::space::FileId;
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TWO: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0]), ("n", false, &[1])];

fn a_row(id: i64, n: i64, pad: usize) -> Vec<u8> {
    row(&[Some(&int(id)), Some(&int(n)), Some(&vec![7; pad])])
}

/// Pages of the shared file.
fn pages(db: &Db) -> u64 {
    let (bytes, free) = db.engine.file_room(FileId::SHARED).unwrap();
    (bytes - free) / Table::PAGE_BYTES
}

/// A thousand tables with two indexes and a row each take a few pages, before and after a crash, and give them back.
#[test]
fn tables_with_a_row_share_pages() {
    let db = Db::new();
    let mut s = db.session();
    let names: Vec<String> = (0..1000).map(|n| format!("t{n:04}")).collect();
    names.iter().for_each(|name| s.create(table(name, TWO)));
    let before = pages(&db);
    for (n, name) in names.iter().enumerate() {
        let t = s.open(name);
        s.insert(&t, &a_row(n as i64, 1, 10)).unwrap();
        s.commit();
    }
    let took = pages(&db) - before;
    // 2,000 entries of some 60 bytes, where each had a page.
    assert!(took < 24, "{took} pages");
    drop(s);
    db.check();
    let db = db.crash();
    let mut s = db.session();
    for (n, name) in names.iter().enumerate() {
        let t = s.open(name);
        for index in 0..2 {
            assert_eq!(s.rows(&t, index), [a_row(n as i64, 1, 10)]);
        }
        let size = t.size().unwrap();
        assert!((40..200).contains(&size.data) && size.free == 0, "{size:?}");
        assert_eq!((t.index_pages(0).unwrap(), t.estimate_rows()), (1, 1));
        s.commit();
    }
    drop(s);
    db.check();
    assert_eq!(
        db.engine.drop_database(&db.engine.owner(), D).unwrap(),
        1000
    );
    db.check();
    let left = pages(&db);
    assert!(
        left < before + 16,
        "{before} pages, {took} more, {left} left"
    );
}

/// What was small when it was dropped or emptied leaves nothing, though it is forgotten before it is removed.
#[test]
fn graves_of_small_tables_are_dug_up() {
    let db = Db::new();
    let mut s = db.session();
    for name in ["a", "b", "c"] {
        s.create(table(name, TWO));
        let t = s.open(name);
        (0..5).for_each(|id| s.insert(&t, &a_row(id, id, 10)).unwrap());
        s.commit();
    }
    let e = &db.engine;
    e.truncate_table(&s.owner, D, "a").unwrap();
    e.drop_tables(&s.owner, &[(D.into(), "b".into())]).unwrap();
    e.drop_index(&s.owner, D, "c", "n", Vec::new()).unwrap();
    let t = s.open("a");
    assert!(s.rows(&t, 0).is_empty() && t.size().unwrap() == TableSize::default());
    s.insert(&t, &a_row(9, 9, 10)).unwrap();
    s.commit();
    db.settled();
    let reclaimed = e.status().counter("Millpond_spaces_reclaimed");
    assert_eq!(reclaimed, 5);
    assert_eq!(e.status().counter("Millpond_graveyard_spaces"), 0);
    db.check();
    let c = s.open("c");
    assert_eq!(s.rows(&c, 0).len(), 5);
    s.commit();
}

#[derive(Clone, Default)]
struct State {
    rows: BTreeMap<i64, Vec<u8>>,
}

fn contents(s: &mut Session, name: &str) -> Vec<Vec<Vec<u8>>> {
    let t = s.open(name);
    let all = (0..2).map(|index| s.rows(&t, index)).collect();
    s.commit();
    all
}

fn compare(db: &Db, model: &BTreeMap<String, State>) {
    let mut s = db.session();
    let names: Vec<String> = model.keys().cloned().collect();
    assert_eq!(db.engine.tables(D).unwrap(), names);
    for (name, state) in model {
        let rows: Vec<Vec<u8>> = state.rows.values().cloned().collect();
        let mut by_n = rows.clone();
        by_n.sort_by_key(|r| {
            let f = fields(r);
            (f[1].clone(), f[0].clone())
        });
        assert_eq!(contents(&mut s, name), [rows, by_n], "{name}");
    }
}

/// Random transactions, drops, truncates, renames and crashes over tables that share leaves, against a model.
#[test]
fn many_tables_against_a_model() {
    for seed in 1..6 {
        let mut db = Db::new();
        let mut rng = Rng(seed * 7919);
        db.engine
            .create_database(&db.engine.owner(), D, b"")
            .unwrap();
        let mut model: BTreeMap<String, State> = BTreeMap::new();
        let mut made = 0;
        for step in 0..700 {
            let name = match rng.below(model.len() as u64 + 1) as usize {
                at if at < model.len() && !(model.len() < 30 && rng.chance(20)) => {
                    model.keys().nth(at).unwrap().clone()
                }
                _ => {
                    made += 1;
                    let name = format!("t{made}");
                    db.session().create(table(&name, TWO));
                    model.insert(name.clone(), State::default());
                    name
                }
            };
            let owner = db.engine.owner();
            let full = |name: &str| (D.to_string(), name.to_string());
            match rng.below(40) {
                0 => {
                    db.engine.drop_tables(&owner, &[full(&name)]).unwrap();
                    model.remove(&name);
                }
                1 => {
                    db.engine.truncate_table(&owner, D, &name).unwrap();
                    model.insert(name, State::default());
                }
                2 => {
                    made += 1;
                    let new = format!("t{made}");
                    let pair = (full(&name), full(&new));
                    db.engine.rename_tables(&owner, &[pair]).unwrap();
                    let state = model.remove(&name).unwrap();
                    model.insert(new, state);
                }
                3 if step % 3 == 0 => db = db.crash(),
                _ => {
                    // Some tables grow, others hardly do.
                    let grows = name.len() + name.bytes().map(usize::from).sum::<usize>();
                    let ids = [4, 12, 90][grows % 3];
                    let pad = [10, 60, 200][grows / 3 % 3];
                    let mut s = db.session();
                    let t = s.open(&name);
                    let state = model.get_mut(&name).unwrap();
                    let before = state.clone();
                    let mut saved = (s.txn().savepoint(), state.clone());
                    for _ in 0..=rng.below(12) {
                        let id = rng.below(ids) as i64;
                        let len = match rng.below(60) {
                            0 => 3500,
                            1 if grows % 5 == 0 => 20_000,
                            _ => rng.below(pad) as usize,
                        };
                        let new = a_row(id, rng.below(9) as i64, len);
                        let there = state.rows.contains_key(&id);
                        match (there, rng.below(10)) {
                            (true, 0..=2) => {
                                assert!(s.delete(&t, &int_key(id)).unwrap());
                                state.rows.remove(&id);
                            }
                            (true, _) => {
                                assert!(s.update(&t, &int_key(id), |_| new.clone()).unwrap());
                                state.rows.insert(id, new);
                            }
                            (false, _) => {
                                s.insert(&t, &new).unwrap();
                                state.rows.insert(id, new);
                            }
                        }
                        if rng.chance(10) {
                            let engine = db.engine.clone();
                            engine.rollback_to(s.txn(), saved.0).unwrap();
                            *state = saved.1.clone();
                        } else if rng.chance(10) {
                            saved = (s.txn().savepoint(), state.clone());
                        }
                    }
                    match rng.below(10) {
                        0..=6 => s.commit(),
                        7 | 8 => {
                            s.rollback();
                            *state = before;
                        }
                        _ => {
                            // It is unfinished, and in the log, when the process dies.
                            *state = before;
                            let durable = format!("x{step}");
                            db.engine.create_database(&owner, &durable, b"").unwrap();
                            std::mem::forget(s.txn.take());
                            drop((t, s));
                            db = db.crash();
                        }
                    }
                }
            }
            if step % 100 == 99 {
                compare(&db, &model);
                db.check();
            }
        }
        compare(&db, &model);
        db.check();
        compare(&db.crash(), &model);
    }
}

/// Transactions at several tables whose rows lie side by side, while these outgrow their pages and others are made and dropped.
#[test]
fn sessions_beside_moves() {
    let db = Db::new();
    let names: Vec<String> = (0..6).map(|n| format!("t{n}")).collect();
    let s = db.session();
    names.iter().for_each(|name| s.create(table(name, TWO)));
    drop(s);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u64)
            .map(|writer| {
                let (db, names) = (&db, &names);
                scope.spawn(move || {
                    let mut s = db.session();
                    let mut rng = Rng(writer + 77);
                    let mut mine: BTreeMap<(usize, i64), Vec<u8>> = BTreeMap::new();
                    for _ in 0..400 {
                        let at = rng.below(6) as usize;
                        let t = s.open(&names[at]);
                        let before = mine.clone();
                        for _ in 0..3 {
                            let id = (rng.below(120 / (at as u64 + 1)) * 3 + writer) as i64;
                            let new = a_row(id, rng.below(5) as i64, rng.below(150) as usize);
                            match mine.contains_key(&(at, id)) {
                                true if rng.chance(30) => {
                                    assert!(s.delete(&t, &int_key(id)).unwrap());
                                    mine.remove(&(at, id));
                                }
                                true => {
                                    let done = s.update(&t, &int_key(id), |_| new.clone());
                                    assert!(done.unwrap());
                                    mine.insert((at, id), new);
                                }
                                false => {
                                    s.insert(&t, &new).unwrap();
                                    mine.insert((at, id), new);
                                }
                            }
                        }
                        if rng.chance(20) {
                            s.rollback();
                            mine = before;
                        } else {
                            s.commit();
                        }
                    }
                    mine
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut s = db.session();
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                let name = &names[n % 6];
                let t = s.open(name);
                let by_key = s.rows(&t, 0);
                let mut by_n = s.rows(&t, 1);
                by_n.sort();
                let mut sorted = by_key.clone();
                sorted.sort();
                assert_eq!(sorted, by_n, "{name}");
                let (dir, mode) = (Direction::Backward, ReadMode::Consistent);
                let mut back = s.scan(&t, 0, everything(), dir, mode).unwrap();
                back.reverse();
                assert_eq!(back, by_key);
                s.commit();
                n += 1;
            }
        });
        let ddl = scope.spawn(|| {
            let mut s = db.session();
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                let name = format!("u{n}");
                s.create(table(&name, TWO));
                let t = s.open(&name);
                (0..n % 40).for_each(|id| s.insert(&t, &a_row(id, 1, 50)).unwrap());
                s.commit();
                drop(t);
                let e = &db.engine;
                if n % 3 == 0 {
                    e.truncate_table(&s.owner, D, &name).unwrap();
                }
                e.drop_tables(&s.owner, &[(D.into(), name)]).unwrap();
            }
        });
        let mut all: Vec<BTreeMap<i64, Vec<u8>>> = vec![BTreeMap::new(); 6];
        for writer in writers {
            for ((at, id), row) in writer.join().unwrap() {
                all[at].insert(id, row);
            }
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        ddl.join().unwrap();
        let mut s = db.session();
        for (name, rows) in names.iter().zip(all) {
            let rows: Vec<_> = rows.into_values().collect();
            assert_eq!(contents(&mut s, name)[0], rows);
        }
        let t: Arc<Table> = s.open("t0");
        assert!(t.size().unwrap().data >= Table::PAGE_BYTES, "it moved out");
        s.commit();
    });
    db.check();
    db.crash().check();
}

/// Bulk fills, tables written anew and new indexes share pages as well if little comes of them, and have their own if not.
#[test]
fn what_is_built_small_shares_pages_too() {
    for many in [false, true] {
        let db = Db::new();
        let e = db.engine.clone();
        let mut s = db.session();
        let count = if many { 400 } else { 8 };
        let rows: Vec<Vec<u8>> = (0..count).map(|id| a_row(id, id % 5, 60)).collect();
        let is_small = |t: &Table, index: usize| {
            let size = t.size().unwrap();
            [size.data, size.indexes][index] < Table::PAGE_BYTES
        };
        // A statement that fills an empty table.
        s.create(table("filled", TWO));
        let t = e.open_table_for_write(s.txn(), D, "filled").unwrap();
        let (mut load, fill) = e.fill(s.txn(), &t, RowOrder::Any).unwrap().unwrap();
        rows.iter().for_each(|row| load.add(row).unwrap());
        let loaded = load.finish().map_err(|r| r.error).unwrap();
        fill.publish(s.txn()).unwrap();
        fill.commit(s.txn.take().unwrap(), loaded).unwrap();
        drop(t);
        // A table written anew takes the place of another.
        s.create(table("new", TWO));
        s.create(table("t", TWO));
        let new = s.open("new");
        let mut load = e.load(&s.owner, &new, RowOrder::Clustered).unwrap();
        rows.iter().for_each(|row| load.add(row).unwrap());
        load.finish().map_err(|r| r.error).unwrap();
        s.commit();
        drop(new);
        let full = |n: &str| (D.to_string(), n.to_string());
        let places = [(full("t"), full("old")), (full("new"), full("t"))];
        e.place_table(&s.owner, &places).unwrap();
        // An index of rows that are there.
        let x = ("x".into(), true, vec![1, 0]);
        e.create_index(&s.owner, D, "t", x, b"with x".to_vec())
            .unwrap();
        db.check();
        drop(s);
        let db = db.crash();
        let mut s = db.session();
        for (name, indexes) in [("filled", 2), ("t", 3)] {
            let t = s.open(name);
            assert_eq!(s.rows(&t, 0), rows);
            (1..indexes).for_each(|index| assert_eq!(s.rows(&t, index).len(), rows.len()));
            assert_eq!([is_small(&t, 0), is_small(&t, 1)], [!many; 2], "{name}");
            s.insert(&t, &a_row(1000, 1, 60)).unwrap();
            s.commit();
        }
        drop(s);
        db.check();
    }
}

/// What was built when the power went, or was given up, leaves nothing.
#[test]
fn what_was_not_finished_leaves_nothing() {
    let db = Db::new();
    let e = db.engine.clone();
    let mut s = db.session();
    s.create(table("t", TWO));
    for end in 0..2 {
        let t = e.open_table_for_write(s.txn(), D, "t").unwrap();
        let (mut load, fill) = e.fill(s.txn(), &t, RowOrder::Any).unwrap().unwrap();
        (0..5).for_each(|id| load.add(&a_row(id, 1, 10)).unwrap());
        load.finish().map_err(|r| r.error).unwrap();
        if end == 0 {
            drop(fill);
            s.rollback();
            db.check();
        } else {
            fill.publish(s.txn()).unwrap();
            // Durable with what others do, but not committed.
            e.create_database(&e.owner(), "other", b"").unwrap();
            std::mem::forget(fill);
            std::mem::forget(s.txn.take());
        }
    }
    drop((s, e));
    let db = db.crash();
    db.check();
    let mut s = db.session();
    let t = s.open("t");
    assert!(s.rows(&t, 0).is_empty() && t.size().unwrap() == TableSize::default());
    // A second index of the same values is not made.
    (0..5).for_each(|id| s.insert(&t, &a_row(id, 1, 10)).unwrap());
    s.commit();
    drop(t);
    let x = ("x".into(), true, vec![1]);
    let made = db.engine.create_index(&s.owner, D, "t", x, Vec::new());
    assert!(matches!(made, Err(Error::DuplicateRow { .. })), "{made:?}");
    db.check();
}
