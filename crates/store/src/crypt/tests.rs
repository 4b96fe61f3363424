//! The storage against a model, its disk after power cuts, and its header through rotations.

use super::*;
use crate::io::SECTOR;
use crate::io::sim::{OpKind, SimStorage, Step};
use parking_lot::Mutex;
use std::fmt;

/// A keyring that takes its time, in which another thread asks for the id of the key in use.
struct Slow(Keys, Arc<OnDisk>);

impl fmt::Debug for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Keyring for Slow {
    fn keys(&self) -> Result<Vec<MasterKey>> {
        let (tell, told) = std::sync::mpsc::channel();
        let storage = self.1.clone();
        std::thread::spawn(move || tell.send(storage.master_id()));
        let id = told.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(id.as_deref(), Ok("key 1"), "nobody waits for a keyring");
        self.0.keys()
    }
    fn rotate(&self) -> Result<MasterKey> {
        self.0.rotate()
    }
}

#[test]
fn nobody_waits_for_a_keyring() {
    let storage = Arc::new(made(&SimStorage::new()));
    let slow = Slow(Keys::some(2), storage.clone());
    storage.check_keyring(&slow).unwrap();
}

/// Keys in memory: the first so many of an endless row.
#[derive(Debug, Default)]
struct Keys(Mutex<Vec<MasterKey>>);

impl Keys {
    fn some(count: u8) -> Keys {
        let key = |n: u8| MasterKey {
            id: format!("key {n}"),
            key: [n; KEY],
        };
        Keys(Mutex::new((1..=count).map(key).collect()))
    }
    fn only(nth: usize, of: u8) -> Keys {
        let all = Keys::some(of);
        let one = all.0.lock().remove(nth);
        Keys(Mutex::new(vec![one]))
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the test's keyring")
    }
}

impl Keyring for Keys {
    fn keys(&self) -> Result<Vec<MasterKey>> {
        Ok(self.0.lock().clone())
    }
    fn rotate(&self) -> Result<MasterKey> {
        let n = self.0.lock().len() as u8 + 1;
        *self.0.lock() = Keys::some(n).0.into_inner();
        self.current()
    }
}

type OnDisk = Encrypted<Arc<dyn Storage>>;

fn beneath(disk: &SimStorage) -> Arc<dyn Storage> {
    Arc::new(disk.clone())
}

fn made(disk: &SimStorage) -> OnDisk {
    Encrypted::create(beneath(disk), &Keys::some(1)).unwrap()
}

fn opened(disk: &SimStorage, keys: &Keys) -> Result<OnDisk> {
    Encrypted::open(beneath(disk), keys)
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}

#[test]
fn files_hold_what_was_written_wherever() {
    let disk = SimStorage::new();
    let file = made(&disk).open("tables/7", true).unwrap();
    let mut rng = Rng(5);
    let mut model: Vec<u8> = Vec::new();
    for step in 0..400 {
        let (at, len) = match step % 4 {
            0 => (rng.below(40) * SECTOR, rng.below(8) * SECTOR),
            _ => (rng.below(20_000), rng.below(3000)),
        };
        let bytes = rng.bytes(len);
        file.write_at(&bytes, at as u64).unwrap();
        let end = (at + len).next_multiple_of(SECTOR);
        if model.len() < end && len > 0 {
            model.resize(end, 0);
        }
        if len > 0 {
            model[at..at + len].copy_from_slice(&bytes);
        }
        if step % 50 == 49 {
            let len = rng.below(40) * SECTOR;
            model.resize(len, 0);
            file.set_len(len as u64).unwrap();
        }
        assert_eq!(file.len().unwrap(), model.len() as u64);
        let from = rng.below(model.len() + 1);
        let mut read = vec![0; rng.below(model.len() - from + 1)];
        file.read_at(&mut read, from as u64).unwrap();
        assert!(read == model[from..from + read.len()], "step {step}");
    }
    let mut all = vec![0; model.len()];
    file.read_at(&mut all, 0).unwrap();
    assert!(all == model);
    let more = file.read_at(&mut [0; 2], model.len() as u64 - 1);
    assert_eq!(more.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    assert!(file.set_len(100).is_err());
}

#[test]
fn long_writes_go_down_in_pieces() {
    let disk = SimStorage::new();
    let storage = made(&disk);
    let file = storage.open("data", true).unwrap();
    let bytes = Rng(1).bytes((5 << 19) + 700);
    for at in [0, 3 * SECTOR as u64, 12345] {
        file.write_at(&bytes, at).unwrap();
        let mut read = vec![0; bytes.len()];
        file.read_at(&mut read, at).unwrap();
        assert!(read == bytes);
    }
    // Past the cache: the simulated disk refuses what is not aligned.
    let direct = storage.open_direct("data").unwrap();
    direct.write_direct(&bytes[..3 << 19], 512).unwrap();
    direct.write_at(&bytes[..SECTOR], 512).unwrap();
    let mut read = vec![0; 3 << 19];
    file.read_at(&mut read, 512).unwrap();
    assert!(read == bytes[..3 << 19]);
}

/// A write tears where it tears without encryption: each sector is the old one or the new.
#[test]
fn a_power_cut_leaves_whole_sectors() {
    const SECTORS: usize = 24;
    for seed in 0..40 {
        let disk = SimStorage::new();
        let mut rng = Rng(seed);
        let storage = made(&disk);
        let file = storage.open("data", true).unwrap();
        let mut states = vec![vec![0; SECTORS * SECTOR]];
        file.set_len((SECTORS * SECTOR) as u64).unwrap();
        file.sync().unwrap();
        storage.sync_folder("").unwrap();
        for n in 0..4 {
            let (at, len) = (rng.below(SECTORS * SECTOR / 2), rng.below(5000) + 1);
            let mut new: Vec<u8> = states[states.len() - 1].clone();
            new[at..at + len].fill(n + 1);
            file.write_at(&new[at..at + len], at as u64).unwrap();
            states.push(new);
            if n == 1 && seed % 2 == 0 {
                file.sync().unwrap();
                states.drain(..states.len() - 1);
            }
        }
        disk.restart(|| rng.below(2) == 0);
        let mut found = vec![0; SECTORS * SECTOR];
        let storage = opened(&disk, &Keys::some(1)).unwrap();
        storage
            .open("data", false)
            .unwrap()
            .read_at(&mut found, 0)
            .unwrap();
        for (n, sector) in found.chunks(SECTOR).enumerate() {
            let at = n * SECTOR..(n + 1) * SECTOR;
            assert!(
                states.iter().any(|s| s[at.clone()] == *sector),
                "seed {seed}, sector {n}"
            );
        }
    }
}

#[test]
fn every_place_has_a_cipher_of_its_own() {
    let disk = SimStorage::new();
    let text = [b'x'; 2 * SECTOR];
    let mut seen = Vec::new();
    let mut write = |disk: &SimStorage, storage: &OnDisk, name: &str| {
        storage
            .open(name, true)
            .unwrap()
            .write_at(&text, 0)
            .unwrap();
        let bytes = disk.bytes(name);
        seen.extend(bytes.chunks(16).map(<[u8]>::to_vec));
    };
    let storage = made(&disk);
    write(&disk, &storage, "data");
    write(&disk, &storage, "redo");
    write(&disk, &storage, "tables/8");
    write(&disk, &storage, "temp");
    write(&disk, &storage, "tmp/sort-1");
    // Temporary files' keys are the process's.
    let again = opened(&disk, &Keys::some(1)).unwrap();
    write(&disk, &again, "temp");
    let mut read = [0; SECTOR];
    storage
        .open("temp", false)
        .unwrap()
        .read_at(&mut read, 0)
        .unwrap();
    assert!(read != text[..SECTOR], "the other process's");
    let other = SimStorage::new();
    write(&other, &made(&other), "data");
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all, "equal text shows nowhere");
    // A file that stays is the same under the same name.
    again
        .open("data", false)
        .unwrap()
        .read_at(&mut read, 512)
        .unwrap();
    assert!(read == text[..SECTOR]);
}

#[test]
fn what_a_backup_says_of_itself_is_in_the_clear() {
    let disk = SimStorage::new();
    let storage = made(&disk);
    for name in ["backup.manifest", "files/mysqld-auto.cnf"] {
        storage
            .open(name, true)
            .unwrap()
            .write_at(b"text", 0)
            .unwrap();
        assert_eq!(disk.bytes(name), b"text");
    }
    assert!(
        !storage
            .list("")
            .unwrap()
            .contains(&header::NAME.to_string())
    );
}

/// Keys that follow from others, and wrapped ones, are the file format's; the second is of RFC 3394, 4.6.
#[test]
fn derived_and_wrapped_keys_stay_what_they_are() {
    let secret: [u8; 32] = std::array::from_fn(|n| n as u8);
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    assert_eq!(
        hex(&derive(&secret, "millpond file", b"data")),
        "5faae78f1d98acb8083465c01516e9b4d51f0e47b17bcddd5d5c7dd3abce88219914a4e645da1a40fc870cec68473f7de9737d40066bedf4f2a4c582a50c2e7c"
    );
    let kek = aes_kw::KekAes256::from(secret);
    let data: Vec<u8> = (0..16).map(|n| n * 0x11).chain(0..16).collect();
    let mut wrapped = [0; 40];
    kek.wrap(&data, &mut wrapped).unwrap();
    assert_eq!(
        hex(&wrapped),
        "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
    );
}

/// Opens a disk with all keys, and says whether what was written is there.
fn is_readable(disk: &SimStorage, keys: &Keys) -> bool {
    let storage = opened(disk, keys).unwrap().settle().unwrap();
    let mut read = [0; 5];
    storage
        .open("data", false)
        .unwrap()
        .read_at(&mut read, 0)
        .unwrap();
    read == *b"heron"
}

fn written() -> SimStorage {
    let disk = SimStorage::new();
    let storage = made(&disk);
    let file = storage.open("data", true).unwrap();
    file.write_at(b"heron", 0).unwrap();
    file.sync().unwrap();
    storage.sync_folder("").unwrap();
    disk
}

#[test]
fn rotations_can_be_cut_anywhere() {
    let keys = Keys::some(2);
    let mut cuts = 0;
    for at in 0.. {
        let disk = written();
        let storage = opened(&disk, &keys).unwrap();
        let mut n = 0;
        disk.on_step(move |kind, _| {
            n += u32::from(kind != OpKind::Read);
            match n == at + 1 {
                true => Step::Cut,
                false => Step::Go,
            }
        });
        let done = storage.rewrap(&keys.current().unwrap());
        let mut rng = Rng(at.into());
        disk.restart(|| rng.below(2) == 0);
        assert!(is_readable(&disk, &keys), "cut {at}");
        // Opening has completed what was cut short: one of the keys is enough.
        let alone = [0, 1].map(|n| opened(&disk, &Keys::only(n, 2)).is_ok());
        assert!(alone[0] != alone[1], "cut {at}: {alone:?}");
        if done.is_ok() {
            assert!(alone[1], "it was answered");
            break;
        }
        cuts += 1;
    }
    assert!(cuts >= 4, "two writes and two syncs");
}

#[test]
fn a_failed_rotation_can_be_tried_again() {
    let keys = Keys::some(3);
    for failing in 0..5 {
        let disk = written();
        let storage = opened(&disk, &keys).unwrap();
        let mut n = 0;
        disk.on_step(move |_, _| {
            n += 1;
            match n == failing + 1 {
                true => Step::Fail,
                false => Step::Go,
            }
        });
        let all = keys.keys().unwrap();
        assert!(storage.rewrap(&all[1]).is_err(), "operation {failing}");
        assert!(is_readable(&disk.copy(), &keys), "operation {failing}");
        storage.rewrap(&all[2]).unwrap();
        assert_eq!(storage.master_id(), "key 3");
        disk.restart(|| false);
        assert!(is_readable(&disk, &Keys::only(2, 3)), "operation {failing}");
    }
}

/// A block that is lost leaves the other.
#[test]
fn a_damaged_header_is_passed_by_or_told() {
    let keys = Keys::some(1);
    for offset in [0, 4096] {
        let disk = written();
        disk.corrupt(header::NAME, offset + 40, b"damaged");
        assert!(is_readable(&disk, &keys));
        // It was written anew.
        disk.corrupt(header::NAME, 4096 - offset + 40, b"damaged");
        assert!(is_readable(&disk, &keys));
    }
    let disk = written();
    disk.corrupt(header::NAME, 40, b"damaged");
    disk.corrupt(header::NAME, 4136, b"damaged");
    let e = opened(&disk, &keys).err().unwrap().to_string();
    assert!(e.contains("neither block"), "{e}");
}

/// A block that cannot be read is passed by too, even if it cannot be written anew. Without another one nothing is made in its place.
#[test]
fn a_block_that_cannot_be_read_is_passed_by_or_told() {
    let keys = Keys::some(1);
    for failing in [0, 1] {
        for (mended, new) in [(true, true), (true, false), (false, true), (false, false)] {
            let disk = written();
            let mut reads = 0;
            disk.on_step(move |kind, name| {
                let header = name == header::NAME;
                reads += i32::from(kind == OpKind::Read && header);
                let fails = match kind {
                    // Whoever opens it reads both blocks.
                    OpKind::Read => reads % 2 == failing,
                    _ => !mended,
                };
                match header && fails {
                    true => Step::Fail,
                    false => Step::Go,
                }
            });
            let found = of_database(beneath(&disk), Some(&keys), new);
            drop(found.unwrap().expect("it has keys"));
            disk.clear_hook();
            assert!(is_readable(&disk, &keys), "read {failing}, {mended}");
        }
    }
    for other in [0, 4096] {
        let disk = written();
        disk.corrupt(header::NAME, other + 40, b"damaged");
        let mut reads = 0;
        disk.on_step(move |kind, name| {
            assert_eq!(kind, OpKind::Read, "{name}");
            reads += 1;
            // The block at 4096 is read first.
            match (reads == 1) == (other == 0) {
                true => Step::Fail,
                false => Step::Go,
            }
        });
        let e = of_database(beneath(&disk), Some(&keys), true);
        let e = e.err().expect("refused").to_string();
        assert!(e.contains("read file encryption"), "{e}");
    }
}

#[test]
fn without_the_key_nothing_is_changed() {
    let disk = written();
    disk.on_step(panic_unless_read);
    let mut alien = Keys::some(1).keys().unwrap();
    alien[0].key[5] ^= 1;
    for (keys, why) in [
        (Keys::default(), "is not there"),
        (Keys::only(1, 2), "is not there"),
        (Keys(Mutex::new(alien)), "is another one under that name"),
    ] {
        let refused = of_database(beneath(&disk), Some(&keys), false);
        let e = refused.err().expect("refused").to_string();
        assert!(e.contains("'key 1'") && e.contains(why), "{e}");
    }
    let refused = of_database(beneath(&disk), None, false);
    assert!(
        refused
            .err()
            .expect("refused")
            .to_string()
            .contains("there is no keyring")
    );
    let plain = SimStorage::new();
    plain.open("redo", true).unwrap();
    plain.on_step(panic_unless_read);
    let refused = of_database(beneath(&plain), Some(&Keys::some(1)), false);
    assert!(
        refused
            .err()
            .expect("refused")
            .to_string()
            .contains("is not encrypted")
    );
}

fn panic_unless_read(kind: OpKind, name: &str) -> Step {
    assert_eq!(kind, OpKind::Read, "{name}");
    Step::Go
}
