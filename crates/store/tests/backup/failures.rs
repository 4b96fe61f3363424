//! Backups that fail harm nobody, and are not taken for finished ones.

use crate::common::*;
use crate::workload::*;
use millpond_store::backup::{BackupOptions, Manifest};
use millpond_store::io::Storage;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn filled() -> Db {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0])]));
    let t = s.open("t");
    for id in 0..300 {
        s.insert(&t, &row(&[Some(&int(id)), Some(&[7; 1000])]))
            .unwrap();
    }
    s.commit();
    db
}

/// The database is as it was, and can be written to.
fn unharmed(db: &Db, id: i64) {
    let mut s = db.session();
    let t = s.open("t");
    s.insert(&t, &row(&[Some(&int(id)), Some(b"more")]))
        .unwrap();
    s.commit();
    assert!(s.rows(&t, 0).len() > 300);
    s.commit();
}

#[test]
fn each_failure_of_the_target_is_the_backups_alone() {
    let db = filled();
    for (round, step) in [Step::Fail, Step::Full, Step::Cut].into_iter().enumerate() {
        for failing in 0.. {
            let to = SimStorage::new();
            let mut n = 0;
            to.on_step(move |_, _| {
                n += 1;
                match n > failing {
                    true => step,
                    false => Step::Go,
                }
            });
            let done = db
                .engine
                .backup(&to, &BackupOptions::default(), &mut |_| Ok(()));
            to.restart(|| false);
            if done.is_ok() {
                assert!(failing > 5, "there is more to it than that");
                Manifest::read(&to).unwrap();
                break;
            }
            assert!(Manifest::read(&to).is_err(), "{step:?} at {failing}");
        }
        unharmed(&db, 1000 + round as i64);
    }
    db.check();
}

#[test]
fn what_a_failed_or_killed_backup_wrote_is_removed() {
    let db = filled();
    let to = SimStorage::new();
    to.set_capacity(Some(200_000));
    let options = BackupOptions::default();
    let full = db.engine.backup(&to, &options, &mut |_| Ok(()));
    assert!(full.unwrap_err().is_full());
    assert!(to.files().is_empty(), "{:?}", to.files());
    to.set_capacity(None);
    let killed = db
        .engine
        .backup(&to, &options, &mut |_| Err(Error::Interrupted));
    assert!(matches!(killed, Err(Error::Interrupted)));
    assert!(to.files().is_empty(), "{:?}", to.files());
    // The same directory will do.
    db.engine.backup(&to, &options, &mut |_| Ok(())).unwrap();
    unharmed(&db, 1000);
}

/// The tests' keys, from a keyring in whose time something else happens.
#[derive(Default)]
struct Busy {
    keys: TestKeys,
    beside: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.keys.fmt(f)
    }
}

impl std::fmt::Display for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.keys.fmt(f)
    }
}

impl crypt::Keyring for Busy {
    fn keys(&self) -> Result<Vec<crypt::MasterKey>> {
        let beside = self.beside.lock().unwrap().take();
        if let Some(beside) = beside {
            beside();
        }
        self.keys.keys()
    }
    fn rotate(&self) -> Result<crypt::MasterKey> {
        self.keys.rotate()
    }
}

/// Neither a second backup into the directory of one that is being made nor one into the directory of one that is there touches its header.
#[test]
fn another_backup_into_the_same_directory_leaves_its_key_alone() {
    let keyring = Arc::new(Busy::default());
    let disk = SimStorage::new();
    let with = Options {
        keyring: Some(keyring.clone()),
        ..options()
    };
    let engine = open_with(&disk, with).unwrap();
    let db = Db { engine, disk };
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let to = SimStorage::new();
    let second = |engine: &Engine, to: &SimStorage| {
        let before = to.copy();
        let done = engine.backup(to, &BackupOptions::default(), &mut |_| Ok(()));
        assert_eq!(to.files(), before.files());
        for (name, _) in before.files() {
            assert!(to.bytes(&name) == before.bytes(&name), "{name}");
        }
        done.expect_err("it is refused")
    };
    // While the first asks for keys, and while it copies.
    let seen = Arc::new(AtomicUsize::new(0));
    let beside = {
        let (engine, to, seen) = (db.engine.clone(), to.clone(), seen.clone());
        move || {
            let refused = second(&engine, &to);
            assert!(matches!(refused, Error::BackupRuns), "{refused}");
            seen.fetch_add(1, Ordering::Relaxed);
        }
    };
    *keyring.beside.lock().unwrap() = Some(Box::new(beside.clone()));
    let first = db.engine.backup(&to, &BackupOptions::default(), &mut |_| {
        if seen.load(Ordering::Relaxed) < 3 {
            beside();
        }
        Ok(())
    });
    first.unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 3);
    let refused = second(&db.engine, &to);
    assert!(refused.to_string().contains("not empty"), "{refused}");
    let made = SimStorage::new();
    restored(&[&to], None, &made).unwrap();
    Db::on(made).check();
}

#[test]
fn a_power_cut_of_the_database_leaves_it_and_no_backup() {
    for cut in (0..40).step_by(3) {
        let db = filled();
        let to = SimStorage::new();
        let mut n = 0;
        db.disk.on_step(move |_, _| {
            n += 1;
            match n > cut {
                true => Step::Cut,
                false => Step::Go,
            }
        });
        let mut s = db.session();
        let done = db.engine.backup(&to, &BackupOptions::default(), &mut |_| {
            // Somebody else is at work.
            s.engine.create_database(&s.owner, "another", b"").ok();
            Ok(())
        });
        assert_eq!(done.is_ok(), Manifest::read(&to).is_ok());
        let disk = db.disk.clone();
        s.txn = None;
        drop((s, db));
        disk.restart(|| cut % 2 == 0);
        let db = Db::on(disk);
        unharmed(&db, 1000);
        db.check();
    }
}

#[test]
fn a_damaged_page_that_is_in_use_is_told() {
    let db = filled();
    db.engine.close().unwrap();
    let disk = db.disk.clone();
    drop(db);
    disk.kill();
    // It could be mended from there.
    disk.remove("doublewrite").unwrap();
    let data = disk.bytes("data");
    let space = |page: &[u8]| u64::from_le_bytes(page[16..24].try_into().unwrap());
    let leaf_of_a_table = |page: &[u8]| page[24] == 3 && space(page) >= 1024;
    let page = data.chunks_exact(16384).rposition(leaf_of_a_table).unwrap();
    disk.corrupt("data", page as u64 * 16384 + 12_000, b"rot");
    let engine = open(&disk).unwrap();
    let e = take(&engine, None).err().unwrap().to_string();
    assert!(e.contains(&format!("data, page {page}: checksum")), "{e}");
}

/// A target that takes nothing must not keep others from writing for ever.
#[test]
fn a_log_that_fills_up_goes_on_without_the_backup() {
    let disk = SimStorage::new();
    let options = Options {
        log_bytes: 1 << 20,
        ..options()
    };
    let engine = open_with(&disk, options).unwrap();
    let db = Db { engine, disk };
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let to = SimStorage::new();
    let hold = std::sync::Arc::new(std::sync::Mutex::new(()));
    let held = hold.lock().unwrap();
    let waits = hold.clone();
    to.on_step(move |kind, name| {
        if kind == OpKind::Write && name == "backup.log" {
            drop(waits.lock());
        }
        Step::Go
    });
    std::thread::scope(|scope| {
        let backup = scope.spawn(|| {
            db.engine.backup(&to, &BackupOptions::default(), &mut |_| {
                drop(hold.lock());
                Ok(())
            })
        });
        let mut s = db.session();
        // Three times the log.
        for id in 0..750 {
            let t = s.open("t");
            s.insert(&t, &row(&[Some(&int(id)), Some(&[7; 4000])]))
                .unwrap();
            s.commit();
        }
        drop(held);
        let e = backup.join().unwrap().unwrap_err();
        assert!(e.to_string().contains("redo log"), "{e}");
    });
    assert!(to.files().is_empty());
    db.check();
}
