//! Databases that are encrypted: with the right keys, without, and on a real disk.

mod common;

use common::*;
use millpond_store::crypt::{FileKeyring, Keyring, is_encrypted};
use millpond_store::engine::Place;
use millpond_store::io::RealStorage;
use millpond_store::io::sim::{SimStorage, Step};
use millpond_store::*;
use std::path::Path;
use std::sync::Arc;

fn written(db: &Db, ids: std::ops::Range<i64>) {
    let mut s = db.session();
    let t = s.open("t");
    for id in ids {
        s.insert(&t, &ints(&[id, id * id])).unwrap();
    }
    s.commit();
}

fn rows(db: &Db) -> usize {
    let mut s = db.session();
    let t = s.open("t");
    s.rows(&t, 0).len()
}

fn filled(db: Db) -> Db {
    db.session().create(table("t", &[("PRIMARY", true, &[0])]));
    written(&db, 0..100);
    db
}

#[test]
fn it_opens_by_its_keyring_alone() {
    let db = filled(Db::encrypted());
    assert_eq!(db.engine.master_key_id().as_deref(), Some("key 0"));
    let disk = db.disk.clone();
    drop(db);
    disk.kill();
    let before = disk.copy();
    let refused = |options: Options, why: &str| {
        let engine = Engine::open(Arc::new(disk.clone()), options, Arc::new(ToyCodecs));
        let e = engine.err().expect("refused").to_string();
        assert!(e.contains(why), "{e}");
        disk.kill();
        for (name, _) in before.files() {
            assert!(disk.bytes(&name) == before.bytes(&name), "{name}");
        }
        assert_eq!(disk.files(), before.files());
    };
    refused(options(), "there is no keyring");
    let alien = std::env::temp_dir().join(format!("millpond-alien-{}", std::process::id()));
    let keyring = FileKeyring::new(&alien);
    keyring.rotate().unwrap();
    let with = Options {
        keyring: Some(Arc::new(keyring)),
        ..options()
    };
    refused(with, "'key 0'");
    std::fs::remove_file(&alien).unwrap();
    assert_eq!(rows(&Db::on(disk)), 100);
    // And one without keys by none.
    let plain = filled(Db::new());
    assert_eq!(plain.engine.master_key_id(), None);
    assert!(plain.engine.rotate_master_key().is_err());
    let disk = plain.disk.clone();
    drop(plain);
    disk.kill();
    let e = open_with(&disk, encrypted(options())).err().unwrap();
    assert!(e.to_string().contains("is not encrypted"), "{e}");
    assert!(!is_encrypted(&disk));
    disk.kill();
    assert_eq!(rows(&Db::on(disk)), 100);
}

#[test]
fn the_master_key_is_rotated_while_rows_change() {
    let db = filled(Db::encrypted());
    for n in 1..=5 {
        db.engine.rotate_master_key().unwrap();
        assert_eq!(db.engine.master_key_id(), Some(format!("key {n}")));
        written(&db, n * 100..n * 100 + 100);
    }
    // One that fails is the statement's error alone.
    db.disk.on_step(|_, name| match name {
        "encryption" => Step::Fail,
        _ => Step::Go,
    });
    assert!(db.engine.rotate_master_key().is_err());
    written(&db, 600..700);
    db.disk.clear_hook();
    db.engine.rotate_master_key().unwrap();
    let db = db.crash();
    assert_eq!(rows(&db), 700);
    db.check();
    // The first key opens nothing any more.
    let disk = db.disk.clone();
    drop(db);
    disk.kill();
    assert!(open_with(&disk, encrypted(options())).is_err());
}

/// A file system that is not mounted, say: another keyring in its place would hide that the old one is missing, and be hidden by it.
#[test]
fn a_keyring_that_is_lost_is_not_made_anew() {
    let path = std::env::temp_dir().join(format!("millpond-lost-{}", std::process::id()));
    let keyring = FileKeyring::new(&path);
    let disk = SimStorage::new();
    let with = || Options {
        keyring: Some(Arc::new(keyring.clone())),
        ..options()
    };
    let db = filled(Db {
        engine: open_with(&disk, with()).unwrap(),
        disk: disk.clone(),
    });
    let kept = path.with_extension("kept");
    std::fs::rename(&path, &kept).unwrap();
    let backup = |to: &SimStorage| {
        let options = backup::BackupOptions::default();
        db.engine.backup(to, &options, &mut |_| Ok(())).map(drop)
    };
    let archive = || db.engine.archive_log(Arc::new(SimStorage::new())).map(drop);
    for other in [false, true] {
        if other {
            keyring.rotate().unwrap();
        }
        let to = SimStorage::new();
        for refused in [db.engine.rotate_master_key(), backup(&to), archive()] {
            let e = refused.unwrap_err().to_string();
            assert!(
                e.contains("is not there") || e.contains("no longer the key"),
                "{e}"
            );
        }
        assert_eq!(to.files(), []);
        assert_eq!(path.exists(), other);
    }
    std::fs::rename(&kept, &path).unwrap();
    db.engine.rotate_master_key().unwrap();
    backup(&SimStorage::new()).unwrap();
    drop(db);
    disk.kill();
    let db = Db {
        engine: open_with(&disk, with()).unwrap(),
        disk,
    };
    assert_eq!(rows(&db), 100);
    std::fs::remove_file(&path).unwrap();
}

/// All files in a directory and those below it.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Past the cache, where the system lets it, from memory that is aligned.
#[test]
fn on_a_real_disk() {
    const MARK: &[u8] = b"a miller who sings to his herons";
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let root = root.join(format!("encrypted-{}", std::process::id()));
    let data = root.join("data");
    for keyring in [None, Some(FileKeyring::new(root.join("keys")))] {
        let options = || Options {
            keyring: keyring.clone().map(|k| Arc::new(k) as Arc<dyn Keyring>),
            ..options()
        };
        let open = || {
            let storage = RealStorage::new(&data).unwrap();
            Engine::open(Arc::new(storage), options(), Arc::new(ToyCodecs)).unwrap()
        };
        let count = 3000;
        for round in 0..3 {
            let engine = open();
            let owner = engine.owner();
            if round == 0 {
                engine.create_database(&owner, D, b"").unwrap();
                let mut def = table("t", &[("PRIMARY", true, &[0])]);
                def.place = Some(Place::OwnFile);
                engine.create_table(&owner, def).unwrap();
            }
            let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
            let t = engine.open_table(&mut txn, D, "t").unwrap();
            for id in 0..count {
                let long = MARK.repeat(1 + id as usize % 60);
                let row = row(&[Some(&int(round * count + id)), Some(&long)]);
                t.insert(&mut txn, &row).unwrap();
            }
            engine.commit(txn).unwrap();
            drop(t);
            match round {
                1 => drop(engine),
                _ => engine.close().unwrap(),
            }
        }
        let engine = open();
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        let seen = |path: &Path| {
            let bytes = std::fs::read(path).unwrap();
            let first = bytes.iter().enumerate().filter(|(_, b)| **b == MARK[0]);
            first
                .into_iter()
                .any(|(at, _)| bytes[at..].starts_with(MARK))
        };
        let found = files(&data).iter().filter(|path| seen(path)).count();
        match keyring.is_some() {
            true => assert_eq!(found, 0),
            false => assert!(found >= 3, "table, log and doublewrite: {found}"),
        }
        drop(engine);
        std::fs::remove_dir_all(&data).unwrap();
    }
    std::fs::remove_dir_all(&root).unwrap();
}
