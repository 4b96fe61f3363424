//! The log archived as it grows, and databases brought to any LSN with it.

use crate::common::*;
use crate::workload::*;
use millpond_store::backup::{Archive, Until, restore};
use millpond_store::io::Storage;
use millpond_store::io::sim::{SimStorage, Step};
use millpond_store::*;
use std::sync::Arc;

#[test]
fn a_backup_is_brought_to_any_point_of_the_archive() {
    let db = Db::new();
    let archived = SimStorage::new();
    let archive = db.engine.archive_log(Arc::new(archived.clone())).unwrap();
    beside_work(&db.engine, 3, |history| {
        for _ in 0..5 {
            let (backup, manifest) = take(&db.engine, None).unwrap();
            history.wait_for(20);
            let to = db.engine.log_end();
            db.engine.wait_durable(to).unwrap();
            wait_until(|| archive.status().lsn >= to);
            let between = manifest.end + (to - manifest.end) / 2;
            for lsn in [manifest.end, between, to] {
                let got = verify(&[&backup], Some((&archived, Until::Lsn(lsn))), history);
                assert!(got <= lsn && got >= manifest.end);
            }
            assert!(verify(&[&backup], Some((&archived, Until::End)), history) >= to);
        }
    });
    assert_eq!(archive.status().gaps, 0);
}

#[test]
fn the_archive_goes_on_after_a_crash_and_over_failures() {
    let mut db = Db::new();
    let archived = SimStorage::new();
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let (backup, _) = take(&db.engine, None).unwrap();
    for round in 0..4 {
        let archive = db.engine.archive_log(Arc::new(archived.clone())).unwrap();
        if round == 1 {
            // It fails for a moment.
            let mut n = 0;
            archived.on_step(move |_, _| {
                n += 1;
                match n {
                    1..3 => Step::Fail,
                    _ => Step::Go,
                }
            });
        }
        let mut s = db.session();
        for id in 0..100 {
            let t = s.open("t");
            let row = row(&[Some(&int(round * 100 + id)), Some(&[7; 500])]);
            s.insert(&t, &row).unwrap();
            s.commit();
        }
        if round > 0 {
            let to = db.engine.log_end();
            db.engine.wait_durable(to).unwrap();
            wait_until(|| archive.status().lsn >= to);
        }
        drop(s);
        // What was not archived is, after the crash.
        drop(archive);
        db = db.crash();
    }
    let archive = db.engine.archive_log(Arc::new(archived.clone())).unwrap();
    let lsn = db.engine.log_end();
    db.engine.wait_durable(lsn).unwrap();
    wait_until(|| archive.status().lsn >= lsn);
    assert_eq!(archive.status().gaps, 0);
    drop(archive);
    let to = SimStorage::new();
    restore(&[&backup], Some(&archived), Until::Lsn(lsn), &to).unwrap();
    let restored = Db::on(to);
    let mut s = restored.session();
    let t = s.open("t");
    assert_eq!(s.rows(&t, 0).len(), 400);
}

/// Over a rotation and a crash: both master keys are in the keyring, and the last one opens all.
#[test]
fn an_encrypted_database_has_an_encrypted_archive() {
    let db = Db::encrypted();
    let archived = SimStorage::new();
    let (mut backup, mut last) = (None, 0);
    let db = beside_archive(db, &archived, |db, archive, history| {
        let (taken, manifest) = take(&db.engine, None).unwrap();
        history.wait_for(10);
        db.engine.rotate_master_key().unwrap();
        history.wait_for(10);
        let to = db.engine.log_end();
        db.engine.wait_durable(to).unwrap();
        wait_until(|| archive.status().lsn >= to);
        for lsn in [manifest.end, to] {
            verify(&[&taken], Some((&archived, Until::Lsn(lsn))), history);
        }
        (backup, last) = (Some(taken), to);
    });
    assert!(crypt::is_encrypted(&archived));
    let old = crypt::as_it_is(Arc::new(archived.clone()), Some(&TestKeys::default()));
    assert!(old.is_err(), "by the key before the rotation");
    // It goes on after a crash.
    let db = db.crash();
    drop(db.engine.archive_log(Arc::new(archived.clone())).unwrap());
    let to = SimStorage::new();
    let again = restored(&[&backup.unwrap()], Some((&archived, Until::End)), &to).unwrap();
    assert!(again.lsn >= last);
    Db::on(to).check();
    // A plain archive is none of an encrypted database.
    let plain = SimStorage::new();
    let other = Db::new();
    other
        .session()
        .create(table("t", &[("PRIMARY", true, &[0])]));
    drop(other.engine.archive_log(Arc::new(plain.clone())).unwrap());
    let refused = db.engine.archive_log(Arc::new(plain)).err().unwrap();
    assert!(refused.to_string().contains("not encrypted"), "{refused}");
}

/// Neither a database without keys nor one whose archive says no longer whose it is writes over the segments that are there.
#[test]
fn an_archive_that_cannot_be_read_is_left_alone() {
    let create = |db: &Db| db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let archived = |db: &Db| {
        let to = SimStorage::new();
        create(db);
        drop(db.engine.archive_log(Arc::new(to.clone())).unwrap());
        to
    };
    let refused = |db: &Db, to: &SimStorage, why: &str| {
        let before = to.copy();
        let e = db.engine.archive_log(Arc::new(to.clone())).err();
        let e = e.expect("refused").to_string();
        assert!(e.contains(why), "{e}");
        assert_eq!(to.files(), before.files());
        for (name, _) in before.files() {
            assert!(to.bytes(&name) == before.bytes(&name), "{name}");
        }
    };
    let (plain, encrypted) = (Db::new(), Db::encrypted());
    let to = archived(&encrypted);
    refused(&plain, &to, "the archive is encrypted");
    drop(encrypted.engine.archive_log(Arc::new(to)).unwrap());
    let to = archived(&plain);
    let history = to.bytes("history");
    to.corrupt("history", 3, &[!history[3]]);
    refused(&plain, &to, "history of the archive: checksum");
    // One whose making was cut short is a new one's.
    for len in [0, 11, 12] {
        let to = SimStorage::new();
        to.open("history", true).unwrap().set_len(len).unwrap();
        drop(plain.engine.archive_log(Arc::new(to.clone())).unwrap());
        assert!(to.bytes("history") == history, "{len} bytes");
    }
}

fn beside_archive(db: Db, archived: &SimStorage, f: impl FnOnce(&Db, &Archive, &History)) -> Db {
    let archive = db.engine.archive_log(Arc::new(archived.clone())).unwrap();
    beside_work(&db.engine, 8, |history| f(&db, &archive, history));
    drop(archive);
    db
}

#[test]
fn until_a_time_or_beyond_what_there_is() {
    let db = Db::new();
    let archived = SimStorage::new();
    let archive = db.engine.archive_log(Arc::new(archived.clone())).unwrap();
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let (backup, manifest) = take(&db.engine, None).unwrap();
    let mut s = db.session();
    let t = s.open("t");
    s.insert(&t, &row(&[Some(&int(1)), Some(b"late")])).unwrap();
    s.commit();
    let last = db.engine.log_end();
    db.engine.wait_durable(last).unwrap();
    // Its last word notes the time.
    drop(archive);
    let to = |until| restore(&[&backup], Some(&archived), until, &SimStorage::new());
    assert!(to(Until::Time(u64::MAX)).unwrap().lsn >= last);
    assert!(to(Until::Lsn(last)).unwrap().lsn <= last);
    let refused = |until, why: &str| {
        let e = to(until).unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    };
    refused(Until::Time(1), "before that time");
    refused(Until::Lsn(manifest.end - 1), "an earlier backup");
    refused(Until::Lsn(u64::MAX), "ends at LSN");
    // It goes on as a history of its own.
    let restored = SimStorage::new();
    restore(&[&backup], Some(&archived), Until::End, &restored).unwrap();
    let restored = Db::on(restored);
    let again = restored.engine.archive_log(Arc::new(archived.clone()));
    assert!(again.is_err());
    let own = SimStorage::new();
    drop(restored.engine.archive_log(Arc::new(own.clone())).unwrap());
    assert!(restore(&[&backup], Some(&own), Until::End, &SimStorage::new()).is_err());
    // The directory is this database's.
    let other = Db::new();
    assert!(
        other
            .engine
            .archive_log(Arc::new(archived.clone()))
            .is_err()
    );
}

/// Pages of a table that is filled in bulk are not in the log by themselves.
#[test]
fn what_was_built_in_bulk_is_in_the_archive_or_missed() {
    let db = Db::new();
    let archived = SimStorage::new();
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let archive = db.engine.archive_log(Arc::new(archived.clone())).unwrap();
    let (backup, _) = take(&db.engine, None).unwrap();
    let fill = |name: &str| {
        let owner = db.engine.owner();
        let mut txn = db.engine.begin(&owner, Isolation::RepeatableRead);
        let t = db.engine.open_table_for_write(&mut txn, D, name).unwrap();
        let (mut load, fill) = db
            .engine
            .fill(&mut txn, &t, RowOrder::Any)
            .unwrap()
            .unwrap();
        for id in 0..1000 {
            load.add(&row(&[Some(&int(id)), Some(&[7; 1000])])).unwrap();
        }
        let rows = load.finish().map_err(|refused| refused.error).unwrap();
        fill.publish(&mut txn).unwrap();
        fill.commit(txn, rows).unwrap();
    };
    fill("t");
    let restored = |until| {
        let to = SimStorage::new();
        restore(&[&backup], Some(&archived), until, &to)?;
        Ok::<Db, Error>(Db::on(to))
    };
    drop(archive);
    let before = db.engine.log_end();
    let there = restored(Until::End).unwrap();
    let mut s = there.session();
    let t = s.open("t");
    assert_eq!(s.rows(&t, 0).len(), 1000);
    s.commit();
    there.check();
    // Nobody archives this.
    db.session().create(table("u", &[("PRIMARY", true, &[0])]));
    fill("u");
    let archive = db.engine.archive_log(Arc::new(archived.clone())).unwrap();
    drop(archive);
    let e = restored(Until::End).err().unwrap();
    assert!(e.to_string().contains("in bulk"), "{e}");
    restored(Until::Lsn(before)).unwrap();
}
