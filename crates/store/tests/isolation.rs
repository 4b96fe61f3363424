//! The isolation levels: what is seen, what waits, what is refused.

mod common;
use common::*;
use millpond_store::*;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::mpsc;

const FOR_UPDATE: ReadMode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
const FOR_SHARE: ReadMode = ReadMode::Locking(LockMode::Shared, WaitPolicy::Wait);
const NOWAIT: ReadMode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::NoWait);
const SKIP: ReadMode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::SkipLocked);

/// A table of (id, value) with rows (1, 10) and (2, 20), and an index on the value.
fn two_rows() -> Db {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("v", false, &[1])]));
    let t = s.open("t");
    s.insert(&t, &ints(&[1, 10])).unwrap();
    s.insert(&t, &ints(&[2, 20])).unwrap();
    s.commit();
    db
}

/// Two sessions at a level with the table open; waits end at once.
fn pair(db: &Db, isolation: Isolation) -> (Session, Session, Arc<Table>) {
    let (mut a, mut b) = (db.at(isolation), db.at(isolation));
    a.owner.set_row_timeout(0);
    b.owner.set_row_timeout(0);
    let t = a.open("t");
    b.open("t");
    (a, b, t)
}

fn set(s: &mut Session, t: &Table, id: i64, value: i64) -> Result<bool> {
    s.update(t, &int_key(id), |_| ints(&[id, value]))
}

fn value(s: &mut Session, t: &Table, id: i64) -> Option<i64> {
    Some(ints_of(&s.get(t, 0, &int_key(id))?)[1])
}

fn all() -> [Isolation; 4] {
    [
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ]
}

fn timed_out<T: std::fmt::Debug>(r: Result<T>) -> bool {
    matches!(r, Err(Error::LockWaitTimeout))
}

#[test]
fn dirty_writes_are_refused_at_all_levels() {
    for level in all() {
        let db = two_rows();
        let (mut a, mut b, t) = pair(&db, level);
        set(&mut a, &t, 1, 11).unwrap();
        assert!(timed_out(set(&mut b, &t, 1, 12)), "{level:?}");
        a.commit();
        set(&mut b, &t, 1, 12).unwrap();
        b.commit();
        let mut c = db.session();
        assert_eq!(value(&mut c, &t, 1), Some(12));
    }
}

#[test]
fn uncommitted_rows_are_seen_at_read_uncommitted_only() {
    for level in all() {
        let db = two_rows();
        let (mut a, mut b, t) = pair(&db, level);
        set(&mut a, &t, 1, 101).unwrap();
        a.insert(&t, &ints(&[3, 30])).unwrap();
        a.delete(&t, &int_key(2)).unwrap();
        let dirty = level == Isolation::ReadUncommitted;
        let seen = b.ints(&t, 0);
        let by_value = b.ints(&t, 1);
        let expected = if dirty {
            vec![vec![1, 101], vec![3, 30]]
        } else {
            vec![vec![1, 10], vec![2, 20]]
        };
        assert_eq!(seen, expected, "{level:?}");
        let mut expected = expected;
        expected.sort_by_key(|r| r[1]);
        assert_eq!(by_value, expected, "{level:?}");
        a.rollback();
        assert_eq!(b.ints(&t, 0), [[1, 10], [2, 20]]);
    }
}

#[test]
fn reads_repeat_from_repeatable_read_on() {
    for level in all() {
        let db = two_rows();
        let (mut a, mut b, t) = pair(&db, level);
        assert_eq!(value(&mut b, &t, 1), Some(10));
        set(&mut a, &t, 1, 11).unwrap();
        a.insert(&t, &ints(&[3, 30])).unwrap();
        a.delete(&t, &int_key(2)).unwrap();
        a.commit();
        let repeats = matches!(level, Isolation::RepeatableRead | Isolation::Serializable);
        let expected = if repeats {
            vec![vec![1, 10], vec![2, 20]]
        } else {
            vec![vec![1, 11], vec![3, 30]]
        };
        for index in 0..2 {
            assert_eq!(b.ints(&t, index), expected, "{level:?}");
        }
        b.commit();
        assert_eq!(b.ints(&t, 0), [[1, 11], [3, 30]]);
    }
}

/// A consistent read sees its snapshot, a locking one what is there now.
#[test]
fn locking_reads_see_the_present() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::RepeatableRead);
    assert_eq!(value(&mut b, &t, 1), Some(10));
    set(&mut a, &t, 1, 11).unwrap();
    a.commit();
    let row = b.read(&t, 0, &int_key(1), FOR_UPDATE).unwrap().unwrap();
    assert_eq!(ints_of(&row), [1, 11]);
    assert_eq!(value(&mut b, &t, 1), Some(10));
    // Its own change is in its view, whatever the snapshot.
    set(&mut b, &t, 1, 12).unwrap();
    assert_eq!(value(&mut b, &t, 1), Some(12));
}

#[test]
fn phantoms_are_kept_out_by_gap_locks() {
    for dir in [Direction::Forward, Direction::Backward] {
        for index in 0..2 {
            for level in all() {
                let db = two_rows();
                let (mut a, mut b, t) = pair(&db, level);
                let range = if index == 0 {
                    range(0, 5)
                } else {
                    range(5, 45)
                };
                let rows = a.scan(&t, index, range.clone(), dir, FOR_SHARE).unwrap();
                assert_eq!(rows.len(), 2);
                let gaps = matches!(level, Isolation::RepeatableRead | Isolation::Serializable);
                for (id, v) in [(0, 15), (3, 30), (4, 5), (5, 45)] {
                    let r = b.insert(&t, &ints(&[id, v]));
                    assert_eq!(timed_out(r), gaps, "{level:?} {index} {dir:?} {id}");
                }
                // Beyond the range nothing is locked.
                b.insert(&t, &ints(&[6, 46])).unwrap();
                b.insert(&t, &ints(&[-1, 4])).unwrap();
            }
        }
    }
}

#[test]
fn an_update_into_a_locked_range_of_a_secondary_index_waits() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::RepeatableRead);
    let rows = a
        .scan(&t, 1, range(15, 40), Direction::Forward, FOR_UPDATE)
        .unwrap();
    assert_eq!(rows.len(), 1);
    assert!(timed_out(set(&mut b, &t, 1, 30)));
    // Nothing of the refused update is left.
    assert_eq!(value(&mut b, &t, 1), Some(10));
    assert_eq!(b.ints(&t, 1), [[1, 10], [2, 20]]);
    set(&mut b, &t, 1, 12).unwrap();
    b.commit();
    a.commit();
    db.check();
}

/// A unique lookup locks the row alone if it finds one, and the place if not.
#[test]
fn unique_lookups_lock_exactly() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::RepeatableRead);
    assert!(a.read(&t, 0, &int_key(2), FOR_UPDATE).unwrap().is_some());
    assert!(a.read(&t, 0, &int_key(7), FOR_UPDATE).unwrap().is_none());
    b.insert(&t, &ints(&[3, 0])).unwrap();
    b.insert(&t, &ints(&[6, 0])).unwrap();
    assert!(timed_out(b.insert(&t, &ints(&[7, 0]))));
    assert!(timed_out(b.delete(&t, &int_key(2))));
    // Two owners may lock the same gap.
    assert!(b.read(&t, 0, &int_key(7), FOR_UPDATE).unwrap().is_none());
    assert!(timed_out(a.insert(&t, &ints(&[7, 0]))));
    b.rollback();
    a.insert(&t, &ints(&[7, 0])).unwrap();
}

#[test]
fn nowait_and_skip_locked() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::RepeatableRead);
    b.owner.set_row_timeout(1000);
    set(&mut a, &t, 1, 11).unwrap();
    assert!(matches!(
        b.read(&t, 0, &int_key(1), NOWAIT),
        Err(Error::LockNotAvailable)
    ));
    for index in 0..2 {
        let rows = b.scan(&t, index, everything(), Direction::Forward, SKIP);
        let rows: Vec<_> = rows.unwrap().iter().map(|r| ints_of(r)).collect();
        assert_eq!(rows, [[2, 20]]);
    }
}

/// READ COMMITTED gives locks of rows back that did not match; REPEATABLE READ keeps them.
#[test]
fn rows_that_do_not_match_are_unlocked_at_read_committed() {
    for (level, kept) in [
        (Isolation::ReadCommitted, false),
        (Isolation::RepeatableRead, true),
    ] {
        let db = two_rows();
        let (mut a, mut b, t) = pair(&db, level);
        let txn = a.txn();
        let dir = Direction::Forward;
        let mut scan = t
            .scan(txn, 0, everything(), dir, FOR_UPDATE, Fetch::Row)
            .unwrap();
        while scan.next(txn).unwrap().is_some() {
            scan.unlock_row(txn);
        }
        drop(scan);
        assert_eq!(timed_out(set(&mut b, &t, 1, 11)), kept, "{level:?}");
    }
}

#[test]
fn rows_changed_by_oneself_stay_locked() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::ReadCommitted);
    set(&mut a, &t, 1, 11).unwrap();
    let txn = a.txn();
    let dir = Direction::Forward;
    let mut scan = t
        .scan(txn, 0, range(1, 1), dir, FOR_UPDATE, Fetch::Row)
        .unwrap();
    assert!(scan.next(txn).unwrap().is_some());
    scan.unlock_row(txn);
    drop(scan);
    assert!(timed_out(set(&mut b, &t, 1, 12)));
}

#[test]
fn duplicates_wait_for_whoever_is_in_the_way() {
    let db = two_rows();
    let s = db.session();
    s.create(table("u", &[("PRIMARY", true, &[0]), ("v", true, &[1])]));
    let (mut a, mut b, _) = pair(&db, Isolation::RepeatableRead);
    let u = a.open("u");
    b.open("u");
    a.insert(&u, &ints(&[1, 10])).unwrap();
    assert!(timed_out(b.insert(&u, &ints(&[1, 11]))));
    assert!(timed_out(b.insert(&u, &ints(&[2, 10]))));
    assert_eq!(b.rows(&u, 0).len(), 0);
    a.commit();
    let duplicate = |r: Result<()>, at: usize| {
        assert!(
            matches!(r, Err(Error::DuplicateKey { index }) if index == at),
            "{r:?}"
        );
    };
    duplicate(b.insert(&u, &ints(&[1, 11])), 0);
    duplicate(b.insert(&u, &ints(&[2, 10])), 1);
    // The row in the way is locked shared now.
    assert!(timed_out(a.delete(&u, &int_key(1))));
    b.rollback();
    // A deleted row is in the way until its transaction ends.
    a.delete(&u, &int_key(1)).unwrap();
    assert!(timed_out(b.insert(&u, &ints(&[2, 10]))));
    a.commit();
    b.insert(&u, &ints(&[2, 10])).unwrap();
    b.insert(&u, &ints(&[1, 11])).unwrap();
    b.commit();
    db.check();
}

#[test]
fn find_duplicate_locks_the_row_in_the_way() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::RepeatableRead);
    let (mut key, mut old) = (Vec::new(), Vec::new());
    let new = ints(&[2, 99]);
    assert!(
        t.find_duplicate(a.txn(), 0, &new, &mut key, &mut old)
            .unwrap()
    );
    assert_eq!(key, int_key(2));
    assert_eq!(ints_of(&old), [2, 20]);
    assert!(timed_out(b.read(&t, 0, &int_key(2), FOR_SHARE)));
}

/// Each waits for the other: one of them is told, and the other goes on.
#[test]
fn a_deadlock_has_one_victim() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::RepeatableRead);
    a.owner.set_row_timeout(100);
    b.owner.set_row_timeout(100);
    set(&mut a, &t, 1, 11).unwrap();
    set(&mut b, &t, 2, 22).unwrap();
    let (tell, told) = mpsc::channel();
    let t2 = t.clone();
    let other = std::thread::spawn(move || {
        tell.send(()).unwrap();
        let r = set(&mut b, &t2, 1, 12);
        match r {
            Ok(true) => b.commit(),
            Err(Error::Deadlock) => b.rollback(),
            r => panic!("{r:?}"),
        }
        r.is_ok()
    });
    told.recv().unwrap();
    let r = set(&mut a, &t, 2, 21);
    match r {
        Ok(true) => a.commit(),
        Err(Error::Deadlock) => a.rollback(),
        ref r => panic!("{r:?}"),
    }
    let b_won = other.join().unwrap();
    assert_ne!(r.is_ok(), b_won);
    let mut c = db.session();
    let expected = if b_won {
        [[1, 12], [2, 22]]
    } else {
        [[1, 11], [2, 21]]
    };
    assert_eq!(c.ints(&t, 0), expected);
}

#[test]
fn a_waiter_gets_the_row_as_it_is_after_the_wait() {
    for level in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let db = two_rows();
        let (mut a, mut b, t) = pair(&db, level);
        b.owner.set_row_timeout(100);
        a.delete(&t, &int_key(1)).unwrap();
        set(&mut a, &t, 2, 5).unwrap();
        let t2 = t.clone();
        let waiter = std::thread::spawn(move || {
            let rows = b
                .scan(&t2, 1, everything(), Direction::Forward, FOR_UPDATE)
                .unwrap();
            rows.iter().map(|r| ints_of(r)).collect::<Vec<_>>()
        });
        wait_until(|| db.engine.status().counter("Innodb_row_lock_current_waits") == 1);
        a.commit();
        assert_eq!(waiter.join().unwrap(), [[2, 5]], "{level:?}");
    }
}

#[test]
fn killing_ends_a_wait() {
    let db = two_rows();
    let (mut a, mut b, t) = pair(&db, Isolation::RepeatableRead);
    b.owner.set_row_timeout(100);
    set(&mut a, &t, 1, 11).unwrap();
    let owner = b.owner.clone();
    let waiter = std::thread::spawn(move || set(&mut b, &t, 1, 12));
    wait_until(|| db.engine.status().counter("Innodb_row_lock_current_waits") == 1);
    owner.kill();
    assert!(matches!(waiter.join().unwrap(), Err(Error::Interrupted)));
}

/// A long reader keeps its versions whatever writers and purge do, inline and in overflow chains.
#[test]
fn a_snapshot_outlives_many_versions() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0]), ("n", false, &[1])]));
    let t = s.open("t");
    let long = |n: i64, len: usize| row(&[Some(&int(1)), Some(&int(n)), Some(&vec![n as u8; len])]);
    s.insert(&t, &long(0, 30_000)).unwrap();
    s.commit();
    let mut readers = Vec::new();
    for n in 1..40 {
        let mut r = db.session();
        r.open("t");
        let txn = r.txn();
        db.engine.snapshot(txn);
        readers.push((n - 1, r));
        s.open("t");
        s.update(&t, &int_key(1), |_| {
            long(n, if n % 3 == 0 { 100 } else { 30_000 })
        })
        .unwrap();
        if n % 5 == 0 {
            s.rollback();
            readers.push((n - 1, db.session()));
            readers.pop();
            s.open("t");
            s.update(&t, &int_key(1), |_| long(n, 20)).unwrap();
        }
        s.commit();
    }
    for (n, r) in &mut readers {
        let by_key = fields(&r.get(&t, 0, &int_key(1)).unwrap());
        assert_eq!(by_key[1], Some(int(*n)));
        assert!(by_key[2].as_ref().unwrap().iter().all(|b| *b == *n as u8));
        let by_n = r.scan(
            &t,
            1,
            KeyRange {
                lower: Bound::Included(int_key(*n)),
                upper: Bound::Included(int_key(*n)),
            },
            Direction::Forward,
            ReadMode::Consistent,
        );
        assert_eq!(by_n.unwrap().len(), 1, "{n}");
        assert_eq!(r.rows(&t, 1).len(), 1);
    }
    drop(readers);
    db.check();
}

#[test]
fn savepoints_nest() {
    let db = two_rows();
    let mut s = db.session();
    let t = s.open("t");
    let first = s.txn().savepoint();
    set(&mut s, &t, 1, 11).unwrap();
    let second = s.txn().savepoint();
    set(&mut s, &t, 1, 12).unwrap();
    s.delete(&t, &int_key(2)).unwrap();
    s.insert(&t, &ints(&[2, 21])).unwrap();
    s.insert(&t, &ints(&[3, 30])).unwrap();
    let engine = db.engine.clone();
    engine.rollback_to(s.txn(), second).unwrap();
    assert_eq!(s.ints(&t, 1), [[1, 11], [2, 20]]);
    set(&mut s, &t, 2, 22).unwrap();
    engine.rollback_to(s.txn(), first).unwrap();
    assert_eq!(s.ints(&t, 1), [[1, 10], [2, 20]]);
    set(&mut s, &t, 2, 23).unwrap();
    s.commit();
    assert_eq!(s.ints(&t, 1), [[1, 10], [2, 23]]);
    s.commit();
    db.check();
}

/// Two wait for the same key, both get a shared lock when its inserter gives up, and then neither may have it
/// while the other holds on: as in InnoDB one is the victim.
#[test]
fn two_who_waited_for_a_key_cannot_both_have_it() {
    for deleted in [false, true] {
        let db = two_rows();
        let mut a = db.session();
        let t = a.open("t");
        if deleted {
            a.delete(&t, &int_key(1)).unwrap();
        } else {
            a.insert(&t, &ints(&[5, 50])).unwrap();
        }
        let id = if deleted { 1 } else { 5 };
        let others: Vec<_> = (0..2)
            .map(|n| {
                let (mut s, t) = (db.session(), t.clone());
                std::thread::spawn(move || {
                    s.open("t");
                    let r = s.insert(&t, &ints(&[id, 60 + n]));
                    match r {
                        Ok(()) => s.commit(),
                        Err(Error::Deadlock) => s.rollback(),
                        ref r => panic!("{r:?}"),
                    }
                    r.is_ok()
                })
            })
            .collect();
        wait_until(|| {
            let status = db.engine.status();
            status.counter("Innodb_row_lock_current_waits") == 2
        });
        if deleted {
            a.commit();
        } else {
            a.rollback();
        }
        let won: Vec<bool> = others.into_iter().map(|o| o.join().unwrap()).collect();
        assert!(won[0] != won[1], "{won:?}");
        assert!(value(&mut a, &t, id).unwrap() >= 60);
        a.commit();
        db.check();
    }
}

/// Row locks have so much memory and no more: whoever wants another is told, and others have room once he has rolled back.
#[test]
fn row_locks_are_limited() {
    let disk = millpond_store::io::sim::SimStorage::new();
    let options = Options {
        lock_bytes: 1 << 20,
        ..options()
    };
    let engine = open_with(&disk, options).unwrap();
    let db = Db { engine, disk };
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0])]));
    let t = s.open("t");
    for i in 0..40_000 {
        s.insert(&t, &ints(&[i])).unwrap();
        if i % 1000 == 0 {
            s.commit();
        }
    }
    s.commit();
    let all = |s: &mut Session, range| {
        let mode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);
        s.scan(&t, 0, range, Direction::Forward, mode)
    };
    let full = all(&mut s, everything());
    assert!(
        matches!(full, Err(Error::LockTableFull)),
        "{:?}",
        full.map(|r| r.len())
    );
    let changed = s.update(&t, &int_key(39_999), |_| ints(&[39_999]));
    assert!(matches!(changed, Err(Error::LockTableFull)), "{changed:?}");
    // Who locks nothing is not concerned.
    let mut other = db.session();
    assert_eq!(other.rows(&t, 0).len(), 40_000);
    s.rollback();
    assert_eq!(all(&mut other, range(0, 999)).unwrap().len(), 1000);
    other.commit();
}
