//! What DROP leaves behind comes home: at the rate asked for, step by step, and at once when the disk is full.

mod common;
use common::*;
use millpond_store::engine::{GraveInfo, GraveState, Place};
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const TWO: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0]), ("n", false, &[1])];

fn graves(e: &Engine) -> Vec<GraveInfo> {
    let mut all = Vec::new();
    e.each_grave(&mut |g| {
        all.push(g);
        ControlFlow::Continue(())
    })
    .unwrap();
    all
}

fn slow(disk: &SimStorage) -> Db {
    let options = Options {
        reclaim_bytes_per_sec: 1,
        ..options()
    };
    Db {
        engine: open_with(disk, options).unwrap(),
        disk: disk.clone(),
    }
}

/// A table with rows of 4,000 bytes.
fn fill(db: &Db, name: &str, own_file: bool, rows: std::ops::Range<i64>) -> Result<()> {
    let mut s = db.session();
    let mut def = table(name, TWO);
    def.place = Some(Place::file_per_table(own_file));
    if !db
        .engine
        .tables(D)
        .is_ok_and(|t| t.iter().any(|t| t == name))
    {
        s.create(def);
    }
    let t = s.open(name);
    for i in rows {
        let pad = vec![i as u8; 4000];
        let row = row(&[Some(&int(i)), Some(&int(i)), Some(&pad)]);
        if let Err(e) = s.insert(&t, &row) {
            s.rollback();
            return Err(e);
        }
    }
    s.commit();
    Ok(())
}

fn drop_table(db: &Db, name: &str) {
    let names = [(D.to_string(), name.to_string())];
    db.engine.drop_tables(&db.engine.owner(), &names).unwrap();
}

fn rows_in(db: &Db, name: &str) -> usize {
    let mut s = db.session();
    let t = s.open(name);
    let n = s.rows(&t, 0).len();
    s.commit();
    n
}

fn length(disk: &SimStorage, file: &str) -> Option<u64> {
    let files: HashMap<String, u64> = disk.files().into_iter().collect();
    files.get(file).copied()
}

/// At a byte a second a grave is there to be looked at, over a restart too; without a limit it goes.
#[test]
fn the_rate_is_obeyed_and_seen() {
    for own in [false, true] {
        let db = slow(&SimStorage::new());
        fill(&db, "t", own, 0..1500).unwrap();
        let file = db.engine.table_def(D, "t").unwrap().file.name();
        drop_table(&db, "t");
        let counter = |n: &str| db.engine.status().counter(n);
        // The first step is free; whoever takes it waits a day for the next.
        wait_until(|| counter("Millpond_reclaimed_bytes") > 0);
        let seen = graves(&db.engine);
        assert_eq!(seen.len() as u64, counter("Millpond_graveyard_spaces"));
        assert_eq!(seen.len(), if own { 1 } else { 2 });
        let bytes: u64 = seen.iter().map(|g| g.bytes).sum();
        assert!(bytes > 4 << 20, "{bytes}");
        assert_eq!(counter("Millpond_graveyard_bytes"), bytes);
        let current = seen.iter().filter(|g| g.state == GraveState::Reclaiming);
        assert_eq!(current.count(), 1);
        for g in &seen {
            assert_eq!(g.database.as_deref(), Some(D));
            assert_eq!(g.table.as_deref(), Some("t"));
            assert_eq!(g.index.is_none(), own);
            assert_eq!(g.file, file);
            assert!(g.since.is_some());
        }
        assert_eq!(counter("Millpond_spaces_reclaimed"), 0);
        let disk = db.disk.clone();
        db.engine.close().unwrap();
        drop(db);
        disk.kill();
        let db = slow(&disk);
        let counter = |n: &str| db.engine.status().counter(n);
        assert_eq!(counter("Millpond_graveyard_spaces"), seen.len() as u64);
        db.engine.set_reclaim_rate(0);
        db.check();
        assert!(graves(&db.engine).is_empty());
        assert_eq!(counter("Millpond_graveyard_spaces"), 0);
        assert_eq!(counter("Millpond_graveyard_bytes"), 0);
        assert_eq!(counter("Millpond_spaces_reclaimed"), seen.len() as u64);
        assert_eq!(length(&disk, &file).is_none(), own);
    }
}

/// A table's file is cut shorter in steps of a mebibyte before it is removed.
#[test]
fn a_file_is_never_removed_whole() {
    let db = slow(&SimStorage::new());
    fill(&db, "t", true, 0..1500).unwrap();
    let file = db.engine.table_def(D, "t").unwrap().file.name();
    let before = length(&db.disk, &file).unwrap();
    let cuts = Arc::new(AtomicU64::new(0));
    let (count, name) = (cuts.clone(), file.clone());
    let at_removal = Arc::new(AtomicU64::new(0));
    let at_end = at_removal.clone();
    db.disk.on_step(move |kind, file| {
        match kind {
            OpKind::SetLen if file == name => drop(count.fetch_add(1, Ordering::Relaxed)),
            OpKind::Remove if file == name => {
                at_end.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
            }
            _ => {}
        }
        Step::Go
    });
    // As slow as steps are small, but no slower than a test may take.
    db.engine.set_reclaim_rate(16 << 20);
    drop_table(&db, "t");
    db.settled();
    assert_eq!(length(&db.disk, &file), None);
    let steps = at_removal.load(Ordering::Relaxed);
    assert_eq!(steps, cuts.load(Ordering::Relaxed));
    assert_eq!(steps, before.div_ceil(1 << 20) - 1);
    db.check();
}

/// The power goes at every step of giving back a file, dead indexes in it and a dead table beside it.
#[test]
fn giving_back_survives_a_cut_at_every_step() {
    let build = |disk: &SimStorage| {
        let db = slow(disk);
        fill(&db, "own", true, 0..700).unwrap();
        fill(&db, "shared", false, 0..300).unwrap();
        fill(&db, "kept", false, 0..20).unwrap();
        db
    };
    for at in 0.. {
        let disk = SimStorage::new();
        let db = build(&disk);
        let left = Arc::new(AtomicU64::new(at));
        let count = left.clone();
        disk.on_step(move |kind, _| {
            let less = |n: u64| n.checked_sub(1);
            let changes = kind != OpKind::Read;
            let over = changes
                && count
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
                    .is_err();
            if over { Step::Cut } else { Step::Go }
        });
        let owner = db.engine.owner();
        let e = &db.engine;
        let names = ["own", "shared"].map(|n| (D.to_string(), n.to_string()));
        let dropped = e
            .drop_index(&owner, D, "own", "n", b"less".to_vec())
            .and_then(|()| e.drop_tables(&owner, &names));
        // Steps of a mebibyte.
        e.set_reclaim_rate(20 << 20);
        if dropped.is_ok() {
            wait_until(|| disk.is_cut() || e.status().counter("Millpond_reclaimer_active") == 0);
        }
        let finished = !disk.is_cut();
        drop(db);
        let mut coin = Rng(at + 1);
        disk.restart(|| coin.chance(50));
        let db = Db::on(disk);
        if dropped.is_ok() {
            assert_eq!(db.engine.tables(D).unwrap(), ["kept"]);
        }
        db.check();
        assert_eq!(graves(&db.engine).len(), 0, "step {at}");
        assert_eq!(rows_in(&db, "kept"), 20);
        let own = db.engine.tables(D).unwrap().contains(&"own".to_string());
        let files = db.disk.files();
        let there = files.iter().any(|(n, _)| n.starts_with("tables/"));
        assert_eq!(there, own, "step {at}");
        if finished {
            assert!(at > 10, "{at} steps");
            break;
        }
    }
}

/// After a huge transaction, and after its table is gone, the undo and the shared file become short again, and everything works on
/// and is there after a crash.
#[test]
fn files_shrink_when_their_ends_are_free() {
    let db = Db::new();
    fill(&db, "kept", false, 0..20).unwrap();
    fill(&db, "big", false, 0..3000).unwrap();
    // Lanes in use by others meanwhile, so that the huge one's end is not the only one high up.
    let mut others: Vec<Session> = (0..3).map(|_| db.session()).collect();
    let mut s = db.session();
    let t = s.open("big");
    for round in 0..3 {
        for i in 0..3000i64 {
            let changed = s.update(&t, &int_key(i), |_| {
                let pad = vec![(i + round) as u8 ^ 0x55; 4000];
                row(&[Some(&int(i)), Some(&int(i)), Some(&pad)])
            });
            assert!(changed.unwrap());
        }
        let o = &mut others[round as usize];
        let kept = o.open("kept");
        o.insert(&kept, &row(&[Some(&int(100 + round)), None, None]))
            .unwrap();
    }
    assert!(length(&db.disk, "undo").unwrap() > 32 << 20);
    s.commit();
    others.iter_mut().for_each(Session::commit);
    wait_until(|| length(&db.disk, "undo").unwrap() <= 12 << 20);
    fill(&db, "bigger", false, 0..5000).unwrap();
    drop_table(&db, "big");
    drop_table(&db, "bigger");
    let before = length(&db.disk, "data").unwrap();
    assert!(before > 32 << 20);
    wait_until(|| length(&db.disk, "data").unwrap() < before / 2);
    for i in 0..3 {
        fill(&db, "kept", false, 200 + i * 10..210 + i * 10).unwrap();
    }
    db.check();
    let db = db.crash();
    assert_eq!(rows_in(&db, "kept"), 53);
    fill(&db, "again", false, 0..1000).unwrap();
    db.check();
    let db = db.crash();
    assert_eq!((rows_in(&db, "kept"), rows_in(&db, "again")), (53, 1000));
    db.check();
}

/// A full disk: whoever needs space gets what is in the graveyard before an error, however slow the rate.
#[test]
fn a_full_disk_takes_the_graveyard_first() {
    for own in [false, true] {
        let db = slow(&SimStorage::new());
        fill(&db, "dead", own, 0..1000).unwrap();
        fill(&db, "alive", own, 0..10).unwrap();
        drop_table(&db, "dead");
        let used: u64 = db.disk.files().iter().map(|(_, n)| n).sum();
        db.disk.set_capacity(Some(used));
        // Much less than is in the graveyard, much more than is free.
        fill(&db, "alive", own, 10..800).unwrap();
        assert_eq!(rows_in(&db, "alive"), 800);
        // With the graveyard empty full is full.
        let e = loop {
            let n = rows_in(&db, "alive") as i64;
            if let Err(e) = fill(&db, "alive", own, n..n + 100) {
                break e;
            }
        };
        assert!(e.is_full(), "{e}");
        assert!(graves(&db.engine).is_empty());
        assert_eq!(db.engine.stopped(), None);
        db.disk.set_capacity(None);
        fill(&db, "alive", own, 5000..5010).unwrap();
        db.check();
    }
}

/// What cannot be given back for now keeps nothing else waiting.
#[test]
fn a_grave_that_cannot_be_dug_up_is_passed_by() {
    let db = Db::new();
    for name in ["stuck", "other"] {
        fill(&db, name, true, 0..10).unwrap();
    }
    fill(&db, "shared", false, 0..10).unwrap();
    let file = |name: &str| db.engine.table_def(D, name).unwrap().file.name();
    let (stuck, other) = (file("stuck"), file("other"));
    let failing = stuck.clone();
    db.disk.on_step(move |kind, name| match kind {
        OpKind::Remove if name == failing => Step::Fail,
        _ => Step::Go,
    });
    let names = ["stuck", "other", "shared"].map(|n| (D.to_string(), n.to_string()));
    db.engine.drop_tables(&db.engine.owner(), &names).unwrap();
    wait_until(|| graves(&db.engine).len() == 1 && length(&db.disk, &other).is_none());
    assert!(length(&db.disk, &stuck).is_some());
    let counter = |n: &str| db.engine.status().counter(n);
    assert_eq!(counter("Millpond_graveyard_spaces"), 1);
    db.disk.clear_hook();
    // The next DROP has all graves looked at again.
    fill(&db, "last", false, 0..10).unwrap();
    drop_table(&db, "last");
    wait_until(|| counter("Millpond_graveyard_spaces") == 0);
    assert_eq!(length(&db.disk, &stuck), None);
    db.check();
}

/// A check finds no fault with a graveyard that shrinks meanwhile, as it does after a start.
#[test]
fn a_check_beside_the_reclaimer() {
    let db = slow(&SimStorage::new());
    let names: Vec<String> = (0..24).map(|i| format!("k{i}")).collect();
    let mut indexes: Vec<(&str, bool, &[u8])> = vec![("PRIMARY", true, &[0])];
    indexes.extend(names.iter().map(|n| (n.as_str(), false, &[1u8][..])));
    let mut s = db.session();
    for i in 0..200 {
        s.create(table(&format!("t{i}"), &indexes));
        let t = s.open(&format!("t{i}"));
        s.insert(&t, &ints(&[1, 2])).unwrap();
        s.commit();
    }
    drop(s);
    // DROP DATABASE would dig one grave for all of them.
    let all: Vec<_> = (0..200).map(|i| (D.into(), format!("t{i}"))).collect();
    db.engine.drop_tables(&db.engine.owner(), &all).unwrap();
    assert!(db.engine.status().counter("Millpond_graveyard_spaces") > 4500);
    db.disk.kill();
    // Leaves of the graveyard are freed while the check is under way.
    let options = Options {
        reclaim_bytes_per_sec: 0,
        ..options()
    };
    let again = Db {
        engine: open_with(&db.disk, options).unwrap(),
        disk: db.disk.clone(),
    };
    assert_eq!(again.engine.check().unwrap(), [] as [String; 0]);
}

/// Tables are dropped and truncated while purge works on their history, while an abandoned transaction on them is rolled
/// back in the background, while checkpoints pass (the log is small), and while a snapshot older than all of it is open.
#[test]
fn drops_meet_purge_rollback_checkpoints_and_long_reads() {
    let disk = SimStorage::new();
    let options = Options {
        log_bytes: 1 << 20,
        reclaim_bytes_per_sec: 0,
        ..options()
    };
    let db = Db {
        engine: open_with(&disk, options).unwrap(),
        disk,
    };
    fill(&db, "kept", false, 0..50).unwrap();
    let mut reader = db.session();
    let kept = reader.open("kept");
    assert_eq!(reader.rows(&kept, 0).len(), 50);
    let checkpoint = || {
        let status = db.engine.status();
        status.counter("Innodb_redo_log_checkpoint_lsn")
    };
    let before = checkpoint();
    for round in 0..12i64 {
        let own = round % 2 == 1;
        fill(&db, "t", own, 0..150).unwrap();
        let mut s = db.session();
        let t = s.open("t");
        for i in 0..100 {
            s.update(&t, &int_key(i), |_| {
                row(&[Some(&int(i)), Some(&int(-i)), Some(&[9; 3000])])
            })
            .unwrap();
        }
        if round % 3 == 0 {
            s.commit();
        } else {
            // Whoever drops the table waits for the metadata lock until all of it is undone.
            drop(s);
        }
        fill(&db, "kept", false, 100 + round..101 + round).unwrap();
        if round % 4 == 3 {
            db.engine
                .truncate_table(&db.engine.owner(), D, "t")
                .unwrap();
            assert_eq!(rows_in(&db, "t"), 0);
        }
        drop_table(&db, "t");
        assert_eq!(reader.rows(&kept, 0).len(), 50);
    }
    assert!(checkpoint() > before);
    let refused = db.engine.open_table(reader.txn(), D, "t");
    assert!(matches!(refused, Err(Error::NoSuchTable(_))));
    reader.commit();
    drop((reader, kept));
    db.check();
    let db = db.crash();
    assert_eq!(rows_in(&db, "kept"), 62);
    db.check();
}
