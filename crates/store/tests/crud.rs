//! Rows in and out: sizes, keys, threads.

mod common;
use common::*;
use millpond_store::*;
use std::ops::Bound;

#[test]
fn rows_come_back() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table(
        "t",
        &[
            ("PRIMARY", true, &[0]),
            ("b", false, &[1]),
            ("c", true, &[2]),
        ],
    ));
    let t = s.open("t");
    for i in 0..1000 {
        s.insert(&t, &ints(&[i, i % 10, 10_000 - i])).unwrap();
    }
    s.commit();
    assert_eq!(ints_of(&s.get(&t, 0, &int_key(7)).unwrap()), [7, 7, 9993]);
    assert_eq!(
        ints_of(&s.get(&t, 2, &int_key(9001)).unwrap()),
        [999, 9, 9001]
    );
    assert!(s.get(&t, 0, &int_key(1000)).is_none());
    assert_eq!(s.rows(&t, 0).len(), 1000);
    let between = |t: &Table, s: &mut Session, lower, upper| {
        let range = KeyRange { lower, upper };
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        s.scan(t, 1, range, dir, mode).unwrap().len()
    };
    let (three, five) = (int_key(3), int_key(5));
    let (inc, exc) = (Bound::Included, Bound::Excluded);
    assert_eq!(
        between(&t, &mut s, inc(three.clone()), inc(five.clone())),
        300
    );
    assert_eq!(
        between(&t, &mut s, exc(three.clone()), inc(five.clone())),
        200
    );
    assert_eq!(
        between(&t, &mut s, inc(three.clone()), exc(five.clone())),
        200
    );
    assert_eq!(between(&t, &mut s, exc(three.clone()), exc(five)), 100);
    assert_eq!(between(&t, &mut s, exc(three.clone()), exc(three)), 0);
    let estimate = t.estimate_rows();
    assert!((500..2000).contains(&estimate), "{estimate}");
    let of_range = t.estimate_range(0, &range(100, 299)).unwrap();
    assert!((100..400).contains(&of_range), "{of_range}");
    s.commit();
    db.check();
}

/// Covering reads give keys and clustered keys without rows.
#[test]
fn keys_alone() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("b", false, &[1])]));
    let t = s.open("t");
    for i in 0..50 {
        s.insert(&t, &ints(&[i, 100 - i])).unwrap();
    }
    for index in 0..2 {
        for mode in [
            ReadMode::Consistent,
            ReadMode::Locking(LockMode::Shared, WaitPolicy::Wait),
        ] {
            let txn = s.txn();
            let (dir, fetch) = (Direction::Backward, Fetch::Key);
            let mut scan = t.scan(txn, index, everything(), dir, mode, fetch).unwrap();
            let mut n = 0;
            while let Some(r) = scan.next(txn).unwrap() {
                let id = if index == 0 { 49 - n } else { n };
                let b = if index == 0 { id } else { 100 - id };
                assert_eq!(
                    (r.key, r.clustered_key),
                    (&int_key(b)[..], &int_key(id)[..])
                );
                assert!(r.row.is_empty());
                n += 1;
            }
            assert_eq!(n, 50);
        }
    }
}

#[test]
fn rows_of_all_sizes() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("n", false, &[1])]));
    let t = s.open("t");
    let sizes = [
        0,
        1,
        1000,
        1024,
        7900,
        7950,
        7960,
        8000,
        8100,
        16_000,
        16_400,
        65_535,
        1 << 20,
        5 << 20,
    ];
    let make = |id: i64, size: usize| {
        let pad: Vec<u8> = (0..size).map(|i| (i * 31 + id as usize) as u8).collect();
        row(&[Some(&int(id)), Some(&int(size as i64)), Some(&pad)])
    };
    for (id, size) in sizes.iter().enumerate() {
        s.insert(&t, &make(id as i64, *size)).unwrap();
    }
    s.commit();
    let rows = s.rows(&t, 0);
    for (id, size) in sizes.iter().enumerate() {
        assert!(rows[id] == make(id as i64, *size), "{size}");
    }
    // Every size becomes every other one, is taken back, and becomes it for good.
    for round in 0..sizes.len() {
        let size = |id: usize| sizes[(id + round) % sizes.len()];
        for commit in [false, true] {
            for id in 0..sizes.len() {
                s.update(&t, &int_key(id as i64), |_| make(id as i64, size(id)))
                    .unwrap();
            }
            if commit {
                s.commit();
            } else {
                s.rollback();
            }
        }
    }
    let rows = s.rows(&t, 1);
    assert_eq!(rows.len(), sizes.len());
    s.commit();
    assert!(matches!(
        s.insert(&t, &make(99, 65 << 20)),
        Err(Error::RowTooLarge(_))
    ));
    s.rollback();
    db.check();
    for id in 0..sizes.len() {
        s.delete(&t, &int_key(id as i64)).unwrap();
    }
    s.commit();
    assert!(s.rows(&t, 0).is_empty());
    s.commit();
    db.check();
}

/// So many and so long keys that an undo record cannot name them all.
#[test]
fn wide_rows_with_many_indexes() {
    let db = Db::new();
    let mut s = db.session();
    let mut indexes: Vec<(String, Vec<u8>)> = vec![("PRIMARY".into(), vec![0])];
    indexes.extend((1..21).map(|i| (format!("i{i}"), vec![i as u8])));
    let defs: Vec<(&str, bool, &[u8])> = indexes
        .iter()
        .map(|(n, f)| (n.as_str(), n == "PRIMARY" || n.ends_with('3'), f.as_slice()))
        .collect();
    s.create(table("t", &defs));
    let t = s.open("t");
    let make = |id: i64, n: u8| {
        let wide: Vec<Vec<u8>> = (0..20).map(|i| vec![n + i; 1000]).collect();
        let id = int(id);
        let mut f = vec![Some(&id[..])];
        f.extend(wide.iter().map(|w| Some(&w[..])));
        row(&f)
    };
    s.insert(&t, &make(1, 1)).unwrap();
    s.insert(&t, &make(2, 100)).unwrap();
    s.commit();
    s.update(&t, &int_key(1), |_| make(1, 30)).unwrap();
    s.delete(&t, &int_key(2)).unwrap();
    s.insert(&t, &make(2, 101)).unwrap();
    s.rollback();
    assert_eq!(s.rows(&t, 7), [make(1, 1), make(2, 100)]);
    s.commit();
    // The third index is unique: the rows may not meet there, and nothing of the attempt stays.
    let clash = s.update(&t, &int_key(1), |_| make(1, 100));
    assert!(
        matches!(clash, Err(Error::DuplicateKey { index: 3 })),
        "{clash:?}"
    );
    s.update(&t, &int_key(1), |_| make(1, 30)).unwrap();
    s.commit();
    s.delete(&t, &int_key(2)).unwrap();
    s.commit();
    assert_eq!(s.rows(&t, 20), [make(1, 30)]);
    s.commit();
    db.check();
    let long_key = row(&[Some(&[7u8; 4000][..]); 21]);
    assert!(matches!(s.insert(&t, &long_key), Err(Error::KeyTooLong(_))));
    s.rollback();
    db.crash().check();
}

/// Changing a row's clustered key moves it, onto delete-marked ones too.
#[test]
fn keys_change_hands() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("n", true, &[1])]));
    let t = s.open("t");
    for i in 0..3 {
        s.insert(&t, &ints(&[i, i])).unwrap();
    }
    s.commit();
    let mut reader = db.session();
    reader.open("t");
    assert_eq!(reader.rows(&t, 1).len(), 3);
    s.open("t");
    // 0 -> 10, 1 -> 0, 10 -> 1: the first two have swapped keys but not values.
    s.update(&t, &int_key(0), |_| ints(&[10, 0])).unwrap();
    s.update(&t, &int_key(1), |_| ints(&[0, 1])).unwrap();
    s.update(&t, &int_key(10), |_| ints(&[1, 0])).unwrap();
    assert_eq!(s.ints(&t, 0), [[0, 1], [1, 0], [2, 2]]);
    assert_eq!(s.ints(&t, 1), [[1, 0], [0, 1], [2, 2]]);
    let clash = s.update(&t, &int_key(0), |_| ints(&[2, 9]));
    assert!(matches!(clash, Err(Error::DuplicateKey { index: 0 })));
    assert_eq!(s.ints(&t, 1), [[1, 0], [0, 1], [2, 2]]);
    s.commit();
    for index in 0..2 {
        assert_eq!(reader.ints(&t, index), [[0, 0], [1, 1], [2, 2]]);
    }
    reader.commit();
    db.check();
}

/// Threads move money between accounts, with and without deadlocks; the sum stays what every reader sees.
#[test]
fn money_is_neither_made_nor_lost() {
    const ACCOUNTS: i64 = 40;
    const THREADS: u64 = 6;
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("sum", false, &[1])]));
    let t = s.open("t");
    for i in 0..ACCOUNTS {
        s.insert(&t, &ints(&[i, 1000])).unwrap();
    }
    s.commit();
    db.engine
        .set_flush_at_commit(log::FlushAtCommit::EverySecond);
    std::thread::scope(|scope| {
        for n in 0..THREADS {
            let (db, t) = (&db, &t);
            scope.spawn(move || {
                let mut rng = Rng(n + 1);
                let mut s = db.at(match n % 3 {
                    0 => Isolation::ReadCommitted,
                    _ => Isolation::RepeatableRead,
                });
                for _ in 0..150 {
                    s.open("t");
                    let (a, b) = (rng.below(40) as i64, rng.below(40) as i64);
                    let move_it = (|| {
                        let add = |d: i64| {
                            move |r: &[u8]| {
                                let r = ints_of(r);
                                ints(&[r[0], r[1] + d])
                            }
                        };
                        s.update(t, &int_key(a), add(-5))?;
                        s.update(t, &int_key(b), add(5))?;
                        // Some rows are deleted and inserted anew.
                        if rng.chance(20) {
                            let row = s.get(t, 0, &int_key(a)).unwrap();
                            s.delete(t, &int_key(a))?;
                            s.insert(t, &row)?;
                        }
                        Ok(())
                    })();
                    match move_it {
                        Ok(()) if rng.chance(80) => s.commit(),
                        Ok(()) | Err(Error::Deadlock) => s.rollback(),
                        Err(e) => panic!("{e}"),
                    }
                }
            });
        }
        for n in 0..2 {
            let (db, t) = (&db, &t);
            scope.spawn(move || {
                let mut s = db.session();
                for _ in 0..100 {
                    s.open("t");
                    let rows = s.ints(t, n);
                    assert_eq!(rows.len() as i64, ACCOUNTS);
                    assert_eq!(rows.iter().map(|r| r[1]).sum::<i64>(), ACCOUNTS * 1000);
                    s.commit();
                }
            });
        }
    });
    let sum: i64 = s.ints(&t, 1).iter().map(|r| r[1]).sum();
    assert_eq!(sum, ACCOUNTS * 1000);
    s.commit();
    db.check();
}

/// The undo record of an update leads back to the row that the caller has read: it must be the one that is there.
#[test]
fn an_update_of_another_row_than_the_one_there_is_refused() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("n", false, &[1])]));
    let t = s.open("t");
    s.insert(&t, &ints(&[1, 5, 7])).unwrap();
    s.commit();
    for old in [ints(&[1, 5, 8]), ints(&[1, 5]), ints(&[1, 5, 7, 9])] {
        let refused = t.update(s.txn(), &int_key(1), &old, &ints(&[1, 5, 11]));
        assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
    }
    assert_eq!(s.ints(&t, 0), [[1, 5, 7]]);
    s.commit();
    db.check();
}
