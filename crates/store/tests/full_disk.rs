//! Ends of transactions on a full disk: they wait for room, nobody else is held up, and nothing is lost.

mod common;
use common::*;
use millpond_store::engine::Place;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const ONE: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0])];
const LONG: usize = 700;

fn padded(id: i64, pad: usize) -> Vec<u8> {
    row(&[Some(&int(id)), Some(&vec![id as u8; pad])])
}

/// Ids and lengths of a table's rows.
fn contents(s: &mut Session, t: &Table) -> BTreeMap<i64, usize> {
    let one = |r: &Vec<u8>| {
        let f = fields(r);
        let id: [u8; 8] = f[0].clone().unwrap().try_into().unwrap();
        let id = (u64::from_be_bytes(id) ^ (1 << 63)) as i64;
        (id, f[1].as_ref().unwrap().len())
    };
    let found = s.rows(t, 0).iter().map(one).collect();
    s.commit();
    found
}

fn create(s: &Session, name: &str, own_file: bool) {
    let mut def = table(name, ONE);
    def.place = Some(Place::file_per_table(own_file));
    s.create(def);
}

fn insert(s: &mut Session, t: &Table, ids: impl Iterator<Item = i64>) -> Result<()> {
    for i in ids {
        if let Err(e) = s.insert(t, &padded(i, LONG)) {
            s.rollback();
            return Err(e);
        }
    }
    s.commit();
    Ok(())
}

/// Leaves a transaction open that has made every row of `t` short; others have filled the pages since. Returns what `t` is to hold
/// without it.
fn shrunk(db: &Db, rows: i64, own_file: bool) -> (Session, BTreeMap<i64, usize>) {
    let (mut s, mut other) = (db.session(), db.session());
    create(&s, "t", own_file);
    create(&s, "u", own_file);
    let t = s.open("t");
    insert(&mut s, &t, (0..rows).map(|i| i * 10)).unwrap();
    let u = s.open("u");
    insert(&mut s, &u, 0..4).unwrap();
    for i in 0..rows {
        assert!(
            s.update(&t, &int_key(i * 10), |_| padded(i * 10, 1))
                .unwrap()
        );
    }
    insert(&mut other, &t, (0..rows).map(|i| i * 10 + 5)).unwrap();
    let all = (0..rows).flat_map(|i| [(i * 10, LONG), (i * 10 + 5, LONG)]);
    (s, all.collect())
}

/// The same with so long rows, and so many short ones among them since, that hardly a page has room for what is to come back.
fn shrunk_far(db: &Db) -> (Session, BTreeMap<i64, usize>) {
    const ROWS: i64 = 1000;
    let (mut s, mut other) = (db.session(), db.session());
    create(&s, "t", false);
    create(&s, "u", false);
    let t = s.open("t");
    for i in 0..ROWS {
        s.insert(&t, &padded(i * 30, 7000)).unwrap();
    }
    s.commit();
    let u = s.open("u");
    insert(&mut s, &u, 0..4).unwrap();
    let mut all = BTreeMap::new();
    for i in 0..ROWS {
        assert!(
            s.update(&t, &int_key(i * 30), |_| padded(i * 30, 1))
                .unwrap()
        );
        all.insert(i * 30, 7000);
    }
    for i in (0..ROWS * 30).filter(|i| i % 30 != 0) {
        other.insert(&t, &padded(i, 80)).unwrap();
        all.insert(i, 80);
    }
    other.commit();
    (s, all)
}

/// Fills up what there is room for.
fn fill(db: &Db, name: &str, own_file: bool) {
    let mut s = db.session();
    create(&s, name, own_file);
    let t = s.open(name);
    s.commit();
    for i in 0.. {
        match insert(&mut s, &t, i..i + 1) {
            Ok(()) => {}
            Err(e) if e.is_full() => return,
            Err(e) => panic!("{e}"),
        }
    }
}

/// Others go on as far as they need no room.
fn goes_on(db: &Db) {
    assert_eq!(db.engine.stopped(), None);
    let mut s = db.session();
    let u = s.open("u");
    assert!(s.update(&u, &int_key(1), |_| padded(1, LONG)).unwrap());
    s.commit();
    assert_eq!(contents(&mut s, &u).len(), 4);
}

#[test]
fn a_rollback_waits_for_room() {
    for own_file in [false, true] {
        let db = Db::new();
        let (mut s, expected) = shrunk(&db, 1500, own_file);
        db.disk.set_capacity(Some(0));
        fill(&db, "filler", own_file);
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let end = scope.spawn(|| {
                s.rollback();
                ended.store(true, Ordering::Release);
            });
            for _ in 0..200 {
                goes_on(&db);
            }
            assert!(!ended.load(Ordering::Acquire), "there was room");
            db.disk.set_capacity(None);
            end.join().unwrap();
        });
        goes_on(&db);
        let t = s.open("t");
        assert_eq!(contents(&mut s, &t), expected);
        db.check();
    }
}

/// What files keep back is enough for a few rows, however full the disk is.
#[test]
fn small_rollbacks_need_no_room() {
    let db = Db::new();
    let (mut s, expected) = shrunk(&db, 100, false);
    db.disk.set_capacity(Some(0));
    fill(&db, "filler", false);
    let finished = std::thread::scope(|scope| {
        let end = scope.spawn(|| s.rollback());
        let start = std::time::Instant::now();
        while !end.is_finished() && start.elapsed().as_secs() < 30 {
            std::thread::yield_now();
        }
        let finished = end.is_finished();
        db.disk.set_capacity(None);
        finished
    });
    assert!(finished, "the rollback waited for room");
    let t = s.open("t");
    assert_eq!(contents(&mut s, &t), expected);
    db.check();
}

/// A restart on a full disk: everything is served that needs no room; what the unfinished transaction has changed stays locked, and its
/// table as it is; a clean close is possible; with room again the rollback ends.
#[test]
fn a_restart_on_a_full_disk() {
    let db = Db::new();
    let (s, expected) = shrunk_far(&db);
    db.disk.set_capacity(Some(0));
    fill(&db, "filler", false);
    drop(s);
    let mut db = db.crash();
    for close in [true, false] {
        goes_on(&db);
        let unfinished = || {
            db.engine
                .status()
                .counter("Millpond_unfinished_transactions")
        };
        assert_eq!(unfinished(), 1);
        let mut s = db.session();
        s.owner.set_row_timeout(0);
        s.owner.set_metadata_timeout(0);
        let t = s.open("t");
        assert_eq!(contents(&mut s, &t), expected);
        // The oldest of its changes is undone last.
        let change = s.update(&t, &int_key(0), |_| padded(0, 2));
        assert!(matches!(change, Err(Error::LockWaitTimeout)), "{change:?}");
        s.rollback();
        let names = [(D.to_string(), "t".to_string())];
        let dropped = db.engine.drop_tables(&s.owner, &names);
        assert!(
            matches!(dropped, Err(Error::LockWaitTimeout)),
            "{dropped:?}"
        );
        if close {
            drop((t, s));
            db.engine.close().unwrap();
            db = db.crash();
        }
    }
    db.disk.set_capacity(None);
    db.settled();
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(contents(&mut s, &t), expected);
    assert!(s.update(&t, &int_key(0), |_| padded(0, 2)).unwrap());
    s.rollback();
    db.check();
}

/// A restart on a disk that is full but for the graveyard: the reclaimer is there before it is needed.
#[test]
fn the_graveyard_helps_at_a_restart() {
    let db = Db::new();
    let (s, expected) = shrunk(&db, 1500, false);
    {
        let mut s = db.session();
        create(&s, "dead", false);
        let t = s.open("dead");
        insert(&mut s, &t, 0..3000).unwrap();
    }
    db.disk.set_capacity(Some(0));
    fill(&db, "filler", false);
    // A byte a second: nothing comes home unasked.
    db.engine.set_reclaim_rate(1);
    let names = [(D.to_string(), "dead".to_string())];
    db.engine.drop_tables(&db.engine.owner(), &names).unwrap();
    let disk = db.disk.clone();
    drop((s, db));
    disk.kill();
    let slow = Options {
        reclaim_bytes_per_sec: 1,
        ..options()
    };
    let engine = open_with(&disk, slow).unwrap();
    let db = Db { engine, disk };
    wait_until(|| {
        db.engine
            .status()
            .counter("Millpond_unfinished_transactions")
            == 0
    });
    let mut s = db.session();
    let t = s.open("t");
    assert_eq!(contents(&mut s, &t), expected);
    db.engine.set_reclaim_rate(0);
    db.check();
}

/// Files cannot grow for `times` from the `at`-th time on.
fn full_for_a_while(disk: &SimStorage, at: u64, times: u64) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let seen = count.clone();
    disk.on_step(move |kind, _| {
        if kind != OpKind::SetLen {
            return Step::Go;
        }
        let n = seen.fetch_add(1, Ordering::Relaxed);
        match (at..at + times).contains(&n) {
            true => Step::Full,
            false => Step::Go,
        }
    });
    count
}

/// Whatever growth fails, for however long, a rollback ends and nothing else is changed by it; by a restart too.
#[test]
fn every_growth_may_fail() {
    for (own_file, restart) in [(false, false), (true, false), (false, true), (true, true)] {
        for at in 0.. {
            let db = Db::new();
            let (s, expected) = shrunk(&db, 120, own_file);
            let mut s = Some(s);
            let db = if restart {
                let disk = db.disk.clone();
                drop((s.take(), db));
                disk.kill();
                full_for_a_while(&disk, at, 9);
                Db::on(disk)
            } else {
                full_for_a_while(&db.disk, at, 9);
                db
            };
            let filled = AtomicU64::new(0);
            std::thread::scope(|scope| {
                scope.spawn(|| s.take().map(|mut s| s.rollback()));
                scope.spawn(|| {
                    let mut s = db.session();
                    create(&s, "beside", own_file);
                    let t = s.open("beside");
                    while let Err(e) = insert(&mut s, &t, 0..300) {
                        assert!(e.is_full(), "{e}");
                    }
                    filled.store(300, Ordering::Relaxed);
                });
            });
            db.settled();
            assert_eq!(db.engine.stopped(), None);
            let mut s = db.session();
            let t = s.open("t");
            assert_eq!(contents(&mut s, &t), expected);
            let count = full_for_a_while(&db.disk, u64::MAX - 9, 9);
            drop(count);
            db.check();
            if at > 8 {
                break;
            }
        }
    }
}

/// Writers on a disk that is full for a while: they are told so, and once there is room they go on, without a restart.
#[test]
fn writers_on_a_full_disk_go_on_afterwards() {
    let db = Db::new();
    for n in 0..4 {
        create(&db.session(), &format!("w{n}"), n % 2 == 1);
    }
    let (full, stop) = ([const { AtomicU64::new(0) }; 4], AtomicBool::new(false));
    let commits = [const { AtomicU64::new(0) }; 4];
    let work = |n: usize| {
        let mut s = db.session();
        let t = s.open(&format!("w{n}"));
        s.commit();
        let (mut rng, mut model) = (Rng(n as u64 + 1), BTreeMap::new());
        while !stop.load(Ordering::Relaxed) {
            let mut next = model.clone();
            let mut failed = None;
            // Ever more rows, so that they need more room than there is however long the disk has had some.
            let ids = 500 + 4 * commits[n].load(Ordering::Relaxed);
            for _ in 0..8 {
                let id = rng.below(ids) as i64;
                let pad = rng.below(1500) as usize;
                let done = if next.contains_key(&id) && rng.chance(20) {
                    next.remove(&id);
                    s.delete(&t, &int_key(id)).map(drop)
                } else if next.insert(id, pad).is_some() {
                    s.update(&t, &int_key(id), |_| padded(id, pad)).map(drop)
                } else {
                    s.insert(&t, &padded(id, pad))
                };
                failed = done.err();
                if failed.is_some() {
                    break;
                }
            }
            if let Some(e) = failed {
                assert!(e.is_full(), "{e}");
                full[n].fetch_add(1, Ordering::Relaxed);
                s.rollback();
            } else if rng.chance(30) {
                s.rollback();
            } else {
                s.commit();
                model = next;
                commits[n].fetch_add(1, Ordering::Relaxed);
            }
        }
        (t, model)
    };
    // However this ends: who goes on for ever is joined.
    struct Stop<'s>(&'s AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let end = Stop(&stop);
        let work = &work;
        let writers: Vec<_> = (0..4).map(|n| scope.spawn(move || work(n))).collect();
        for _ in 0..3 {
            db.disk.set_capacity(Some(0));
            let before: u64 = full.iter().map(|n| n.load(Ordering::Relaxed)).sum();
            wait_until(|| full.iter().map(|n| n.load(Ordering::Relaxed)).sum::<u64>() > before + 3);
            db.disk.set_capacity(None);
            let before: Vec<u64> = commits.iter().map(|n| n.load(Ordering::Relaxed)).collect();
            wait_until(|| {
                let now = commits.iter().map(|n| n.load(Ordering::Relaxed));
                now.zip(&before).all(|(now, before)| now > *before)
            });
        }
        drop(end);
        for writer in writers {
            let (t, model) = writer.join().unwrap();
            assert_eq!(contents(&mut db.session(), &t), model);
        }
    });
    assert_eq!(db.engine.stopped(), None);
    db.check();
}
