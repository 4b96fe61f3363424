//! A shared data file that is a block device, or otherwise of a length that does not change, and one that may only get so long.

mod common;
use common::*;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::io::{Bound, Bounded, RealStorage, Storage};
use millpond_store::space::FileId;
use millpond_store::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DEVICE: u64 = 6 << 20;

fn padded(i: i64) -> Vec<u8> {
    row(&[Some(&int(i)), Some(&[7; 3000])])
}

/// Inserts until there is no room; how many rows there are.
fn fill(engine: &Engine, name: &str) -> i64 {
    let owner = engine.owner();
    for i in 0.. {
        let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
        let t = engine.open_table(&mut txn, D, name).unwrap();
        match t.insert(&mut txn, &padded(i)) {
            Ok(()) => engine.commit(txn).unwrap(),
            Err(e) => {
                assert!(e.is_full(), "{e}");
                engine.rollback(txn).unwrap();
                return i;
            }
        }
    }
    unreachable!()
}

fn rows(engine: &Engine, name: &str) -> usize {
    let owner = engine.owner();
    let mut s = Session {
        engine: engine.clone(),
        owner,
        txn: None,
        isolation: Isolation::RepeatableRead,
    };
    let t = s.open(name);
    let rows = s.rows(&t, 0).len();
    s.commit();
    rows
}

fn try_create(engine: &Engine, name: &str) -> Result<()> {
    let owner = engine.owner();
    match engine.create_database(&owner, D, b"") {
        Ok(()) | Err(Error::DatabaseExists(_)) => {}
        Err(e) => return Err(e),
    }
    let t = table(name, &[("PRIMARY", true, &[0])]);
    engine.create_table(&owner, t)
}

fn create(engine: &Engine, name: &str) {
    try_create(engine, name).unwrap();
}

fn drop_one(engine: &Engine, name: &str) {
    let name = (D.to_string(), name.to_string());
    engine.drop_tables(&engine.owner(), &[name]).unwrap();
}

fn settle_and_check(engine: &Engine) {
    wait_until(|| engine.status().counter("Millpond_reclaimer_active") == 0);
    assert_eq!(engine.check().unwrap(), [""; 0]);
}

/// Full, emptied and full again: as many rows each time.
fn full_and_empty(engine: &Engine) {
    create(engine, "a");
    let first = fill(engine, "a");
    assert!(first > 200, "{first}");
    assert_eq!(rows(engine, "a") as i64, first);
    drop_one(engine, "a");
    create(engine, "a");
    let again = fill(engine, "a");
    assert!(again > first * 9 / 10, "{again} and {first}");
    settle_and_check(engine);
}

#[test]
fn a_device_is_full_when_it_is_full() {
    let disk = SimStorage::new();
    disk.set_device("data", DEVICE);
    let db = Db::on(disk.clone());
    assert_eq!(db.engine.file_room(FileId::SHARED).unwrap().0, DEVICE);
    full_and_empty(&db.engine);
    let had = rows(&db.engine, "a");
    let db = db.crash();
    assert_eq!(rows(&db.engine, "a"), had);
    // What is free at the end stays there.
    drop_one(&db.engine, "a");
    settle_and_check(&db.engine);
    create(&db.engine, "b");
    fill(&db.engine, "b");
    db.engine.close().unwrap();
    let data = disk.files().into_iter().find(|(n, _)| n == "data");
    assert_eq!(data.unwrap().1, DEVICE);
}

/// The device holds something of somebody else's when the database is made, however often that is cut short.
#[test]
fn making_a_database_on_a_device_can_be_cut_short() {
    for at in 0.. {
        let disk = SimStorage::new();
        disk.set_device("data", 4 << 20);
        let steps = Arc::new(AtomicU64::new(0));
        let count = steps.clone();
        disk.on_step(move |kind, _| match kind {
            OpKind::Read => Step::Go,
            _ if count.fetch_add(1, Ordering::Relaxed) == at => Step::Cut,
            _ => Step::Go,
        });
        let made = open(&disk).and_then(|engine| try_create(&engine, "t"));
        let mut coin = Rng(at + 1);
        let finished = steps.load(Ordering::Relaxed) <= at;
        disk.restart(|| coin.chance(50));
        let db = Db::on(disk);
        match db.engine.table_def(D, "t") {
            Ok(_) => {}
            Err(_) => {
                assert!(made.is_err(), "cut {at}: a table is lost");
                create(&db.engine, "t");
            }
        }
        settle_and_check(&db.engine);
        if finished {
            break;
        }
    }
}

#[test]
fn files_of_a_bounded_length() {
    let fixed = 5 << 20;
    for bound in [Bound::Fixed(fixed), Bound::Most(fixed)] {
        let disk = SimStorage::new();
        let bounded = || Arc::new(Bounded::new(Arc::new(disk.clone()), "data", bound));
        let engine = Engine::open(bounded(), options(), Arc::new(ToyCodecs)).unwrap();
        full_and_empty(&engine);
        let had = rows(&engine, "a");
        drop(engine);
        disk.kill();
        let engine = Engine::open(bounded(), options(), Arc::new(ToyCodecs)).unwrap();
        assert_eq!(rows(&engine, "a"), had);
        drop_one(&engine, "a");
        settle_and_check(&engine);
        engine.close().unwrap();
        let len = bounded().open("data", false).unwrap().len().unwrap();
        assert!(len <= fixed && (bound == Bound::Most(fixed) || len == fixed));
    }
}

/// A loop device that is gone when this is dropped, with its file.
struct Loop {
    folder: PathBuf,
    device: PathBuf,
}

impl Loop {
    /// `None` where there are no loop devices to be had: says why.
    fn new(bytes: u64) -> Option<Loop> {
        let folder = std::env::temp_dir().join(format!("millpond-loop-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let image = folder.join("image");
        std::fs::write(&image, vec![0x5a; bytes as usize]).unwrap();
        let made = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(&image)
            .output();
        let why = match made {
            Ok(out) if out.status.success() => {
                let device = String::from_utf8(out.stdout).unwrap();
                let device = PathBuf::from(device.trim());
                return Some(Loop { folder, device });
            }
            Ok(out) => String::from_utf8_lossy(&out.stderr).into_owned(),
            Err(e) => e.to_string(),
        };
        println!("skipped: no loop device: {why}");
        let _ = std::fs::remove_dir_all(&folder);
        None
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.device).status();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_real_block_device() {
    let bytes = 8 << 20;
    let Some(looped) = Loop::new(bytes) else {
        return;
    };
    let folder = looped.folder.join("db");
    let on = |device: &Path, new| RealStorage::new(&folder)?.on_device("data", device, new);
    let open =
        |storage: RealStorage| Engine::open(Arc::new(storage), options(), Arc::new(ToyCodecs));
    let refused = |storage: std::io::Result<RealStorage>| storage.err().unwrap().to_string();
    assert!(refused(on(&looped.device, false)).contains("no file data yet"));
    assert!(refused(on(&looped.folder.join("image"), true)).contains("no block device"));
    let engine = open(on(&looped.device, true).unwrap()).unwrap();
    assert_eq!(engine.file_room(FileId::SHARED).unwrap().0, bytes);
    full_and_empty(&engine);
    let had = rows(&engine, "a");
    // Another database finds it taken.
    let other = looped.folder.join("other");
    let taken = RealStorage::new(&other)
        .unwrap()
        .on_device("data", &looped.device, true)
        .unwrap();
    assert!(taken.lock().is_err());
    engine.close().unwrap();
    drop(engine);
    assert!(refused(on(&looped.device, true)).contains("there already"));
    for storage in [
        on(&looped.device, false).unwrap(),
        RealStorage::new(&folder).unwrap(),
    ] {
        let engine = open(storage).unwrap();
        assert_eq!(rows(&engine, "a"), had);
        assert_eq!(engine.check().unwrap(), [""; 0]);
        engine.close().unwrap();
    }
}
