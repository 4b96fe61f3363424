//! Round after round.

use crate::common::*;
use crate::workload::*;
use millpond_store::backup::{BackupOptions, Manifest, restore};
use millpond_store::io::sim::SimStorage;
use millpond_store::*;
use std::sync::Arc;

#[test]
fn fifty_backups_beside_dml_and_ddl_are_what_was_committed_where_they_end() {
    let db = Db::new();
    beside_work(&db.engine, 1, |history| {
        for _ in 0..50 {
            history.wait_for(3);
            let (backup, manifest) = take(&db.engine, None).unwrap();
            assert_eq!(verify(&[&backup], None, history), manifest.end);
        }
    });
    db.check();
}

#[test]
fn incremental_backups_bring_the_one_before_further() {
    let db = Db::new();
    beside_work(&db.engine, 2, |history| {
        for _ in 0..4 {
            let mut chain: Vec<(SimStorage, Manifest)> = Vec::new();
            for _ in 0..4 {
                history.wait_for(10);
                let base = chain.last().map(|(_, manifest)| manifest);
                chain.push(take(&db.engine, base).unwrap());
                let all: Vec<&SimStorage> = chain.iter().map(|(backup, _)| backup).collect();
                verify(&all, None, history);
            }
        }
    });
}

/// Each with keys of its own, and another master key at each round.
#[test]
fn encrypted_backups_are_what_was_committed_where_they_end() {
    let db = Db::encrypted();
    beside_work(&db.engine, 6, |history| {
        let mut chain: Vec<(SimStorage, Manifest)> = Vec::new();
        for _ in 0..8 {
            history.wait_for(5);
            db.engine.rotate_master_key().unwrap();
            let base = chain.last().map(|(_, manifest)| manifest);
            chain.push(take(&db.engine, base).unwrap());
            let all: Vec<&SimStorage> = chain.iter().map(|(backup, _)| backup).collect();
            verify(&all, None, history);
            chain.truncate(chain.len() % 4);
        }
    });
    db.check();
    let (backup, _) = take(&db.engine, None).unwrap();
    let to = SimStorage::new();
    let storage: Arc<dyn io::Storage> = Arc::new(backup.clone());
    assert!(crypt::as_it_is(storage.clone(), None).is_err());
    assert!(crypt::as_it_is(storage, Some(&TestKeys::default())).is_err());
    // Of an encrypted backup comes a plain database, if that is what is wanted, and the other way round.
    let source = crypt::as_it_is(Arc::new(backup), Some(&TestKeys::many())).unwrap();
    restore(&[&*source], None, backup::Until::End, &to).unwrap();
    let plain = Db::on(to.clone());
    assert!(!crypt::is_encrypted(&to));
    plain.check();
    let (backup, _) = take(&plain.engine, None).unwrap();
    assert!(!crypt::is_encrypted(&backup));
    let to = SimStorage::new();
    let beneath: &dyn io::Storage = &to;
    let again = crypt::Encrypted::create(beneath, &TestKeys::many()).unwrap();
    restore(&[&backup], None, backup::Until::End, &again).unwrap();
    Db::on(to).check();
}

#[test]
fn an_incremental_backup_has_what_changed() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0])]));
    let t = s.open("t");
    for id in 0..2000 {
        let pad = [7; 1000];
        s.insert(&t, &row(&[Some(&int(id)), Some(&pad)])).unwrap();
    }
    s.commit();
    drop((s, t));
    let db = reopened(db);
    let (_, full) = take(&db.engine, None).unwrap();
    let mut s = db.session();
    let t = s.open("t");
    s.delete(&t, &int_key(5)).unwrap();
    s.commit();
    drop((s, t));
    let db = reopened(db);
    let (_, more) = take(&db.engine, Some(&full)).unwrap();
    assert!(full.pages > 125, "{full:?}");
    assert!((1..full.pages / 3).contains(&more.pages), "{more:?}");
    // Of another database.
    let other = Db::new();
    assert!(take(&other.engine, Some(&full)).is_err());
    // Of another history: the restored one goes on by itself.
    let (last, _) = take(&db.engine, None).unwrap();
    let each: [&dyn io::Storage; 1] = [&last];
    let to = SimStorage::new();
    restore(&each, None, backup::Until::End, &to).unwrap();
    let restored = Db::on(to);
    let e = take(&restored.engine, Some(&full)).err().unwrap();
    assert!(e.to_string().contains("restored"), "{e}");
    let (_, own) = take(&restored.engine, None).unwrap();
    let restored = restored.crash();
    take(&restored.engine, Some(&own)).unwrap();
}

/// All pages are on the disk, so that a backup has them rather than the log.
fn reopened(db: Db) -> Db {
    db.settled();
    db.engine.close().unwrap();
    let disk = db.disk.clone();
    drop(db);
    disk.kill();
    Db::on(disk)
}

#[test]
fn what_is_not_a_backup_or_not_in_order_is_refused() {
    let db = Db::new();
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let (full, manifest) = take(&db.engine, None).unwrap();
    let (more, _) = take(&db.engine, Some(&manifest)).unwrap();
    let refused = |backups: &[&SimStorage], why: &str| {
        let each: Vec<&dyn io::Storage> = backups.iter().map(|b| *b as _).collect();
        let done = restore(&each, None, backup::Until::End, &SimStorage::new());
        let e = done.unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    };
    refused(&[], "no backup");
    refused(&[&SimStorage::new()], "no finished backup");
    refused(&[&more], "incremental");
    refused(&[&full, &full], "full one");
    refused(&[&full, &more, &more], "not based on");
    // A byte of each file.
    for (name, len) in full.files() {
        let damaged = full.copy();
        let at = len / 2;
        let old = damaged.bytes(&name)[at as usize];
        damaged.corrupt(&name, at, &[old ^ 1]);
        let each: [&dyn io::Storage; 1] = [&damaged];
        let done = restore(&each, None, backup::Until::End, &SimStorage::new());
        assert!(done.is_err(), "{name}");
    }
    // It must not be mixed up with what is there.
    let e = db
        .engine
        .backup(&full, &BackupOptions::default(), &mut |_| Ok(()))
        .unwrap_err();
    assert!(e.to_string().contains("not empty"), "{e}");
    let each: [&dyn io::Storage; 1] = [&full];
    assert!(restore(&each, None, backup::Until::End, &db.disk).is_err());
}

#[test]
fn one_at_a_time_with_progress() {
    let db = Db::new();
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    let mut seen = Vec::new();
    let options = BackupOptions {
        files: vec![("settings".into(), b"x=1".to_vec())],
        ..BackupOptions::default()
    };
    let to = SimStorage::new();
    let engine = db.engine.clone();
    db.engine
        .backup(&to, &options, &mut |progress| {
            seen.push(progress.bytes);
            let beside = take(&engine, None);
            assert!(matches!(beside, Err(Error::BackupRuns)));
            Ok(())
        })
        .unwrap();
    assert!(seen.is_sorted() && seen.last() > Some(&0), "{seen:?}");
    let each: [&dyn io::Storage; 1] = [&to];
    let restored = restore(&each, None, backup::Until::End, &SimStorage::new()).unwrap();
    assert_eq!(restored.files, [("settings".into(), b"x=1".to_vec())]);
    take(&db.engine, None).unwrap();
}
