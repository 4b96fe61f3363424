//! Bits that turn over while nobody looks, anywhere in the files of a database that was closed and of one that was killed. A start may
//! refuse what it finds, and so may a statement, each in words; what is answered is what it was, and nothing panics or hangs.
//!
//! `MILLPOND_FLIPS` sets how many bits are tried (default 100), `MILLPOND_RANDOM_SEED` repeats a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use millpond_session::Instance;
use millpond_store::crypt;
use millpond_store::io::sim::SimStorage;

use crate::rng::Rng;
use crate::support::power::Keys;
use crate::support::{Answer, Client, power};

const STATEMENTS: &[&str] = &[
    "CREATE TABLE small (id INT PRIMARY KEY, name VARCHAR(20), KEY by_name (name))",
    "INSERT INTO small VALUES (1, 'heron'), (2, 'pike'), (3, NULL)",
    "CREATE TABLE wide (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, pad VARCHAR(400), long_text LONGTEXT, KEY by_k (k))",
    "INSERT INTO wide (k, pad, long_text) VALUES (7, REPEAT('x', 300), REPEAT('y', 40000))",
    "INSERT INTO wide (k, pad, long_text) SELECT k + 1, pad, 'short' FROM wide",
    "INSERT INTO wide (k, pad, long_text) SELECT k * 3, pad, 'short' FROM wide",
    "INSERT INTO wide (k, pad, long_text) SELECT k * 5, pad, 'short' FROM wide",
    "INSERT INTO wide (k, pad, long_text) SELECT k * 7, pad, 'short' FROM wide",
    "INSERT INTO wide (k, pad, long_text) SELECT k * 11, pad, 'short' FROM wide",
    "INSERT INTO wide (k, pad, long_text) SELECT k * 13, pad, 'short' FROM wide",
    "INSERT INTO wide (k, pad, long_text) SELECT k * 17, pad, 'short' FROM wide",
    "CREATE TABLE documents (id INT PRIMARY KEY, j JSON, words VARCHAR(100), place POINT NOT NULL SRID 0, FULLTEXT KEY f (words), SPATIAL KEY s (place))",
    "INSERT INTO documents VALUES (1, '{\"a\": [1, 2, 3]}', 'heron pond', POINT(1, 2)), (2, '[]', 'pike pond', POINT(3, 4))",
    "CREATE TABLE years (y INT NOT NULL, v INT) PARTITION BY RANGE (y) (PARTITION a VALUES LESS THAN (2000), PARTITION b VALUES LESS THAN MAXVALUE)",
    "INSERT INTO years VALUES (1999, 1), (2000, 2), (2026, 3)",
    "CREATE VIEW v AS SELECT id, name FROM small WHERE id > 1",
    "CREATE TRIGGER t BEFORE INSERT ON small FOR EACH ROW SET NEW.name = UPPER(NEW.name)",
    "CREATE TABLE gone (id INT PRIMARY KEY, pad VARCHAR(400))",
    "INSERT INTO gone SELECT id, pad FROM wide",
    "DROP TABLE gone",
    "UPDATE wide SET pad = 'changed' WHERE id % 7 = 0",
    "DELETE FROM wide WHERE id % 11 = 0",
];

const QUESTIONS: &[&str] = &[
    "SELECT * FROM small ORDER BY id",
    "SELECT name FROM small FORCE INDEX (by_name) WHERE name > 'a' ORDER BY name",
    "SELECT COUNT(*), SUM(id), SUM(k), SUM(LENGTH(pad)), MAX(LENGTH(long_text)) FROM wide FORCE INDEX (PRIMARY)",
    "SELECT COUNT(*), SUM(k), SUM(id) FROM wide FORCE INDEX (by_k) WHERE k > 0",
    "SELECT MD5(long_text) FROM wide WHERE id = 1",
    "SELECT id, j, words, ST_AsText(place) FROM documents ORDER BY id",
    "SELECT id FROM documents WHERE MATCH (words) AGAINST ('pond') ORDER BY id",
    "SELECT id FROM documents WHERE MBRContains(ST_GeomFromText('POLYGON((0 0,0 9,9 9,9 0,0 0))'), place) ORDER BY id",
    "SELECT * FROM years ORDER BY y",
    "SELECT * FROM v ORDER BY id",
    "SHOW TABLES",
    "SHOW CREATE TABLE wide",
];

/// What follows the questions: writes, and all tables dropped. It may be refused.
const WORK: &[&str] = &[
    "INSERT INTO small VALUES (9, 'eel')",
    "UPDATE wide SET k = k + 1",
    "DELETE FROM documents",
    "CHECK TABLE wide",
    "DROP TABLE small, wide, documents, years",
];

/// Bytes of which one at least is not zero.
const BLOCK: usize = 512;

/// What is on a disk, and what is answered there. (After a crash an AUTO_INCREMENT counter goes on further ahead.)
struct Disk {
    storage: SimStorage,
    /// The blocks that hold something.
    used: Vec<(String, u64)>,
    answers: Vec<Vec<Vec<String>>>,
}

impl Disk {
    fn of(storage: SimStorage) -> Disk {
        let instance = power::open(&storage.copy());
        let mut c = power::client(&instance);
        let answers = QUESTIONS.iter().map(|q| c.ok(q).rows).collect();
        Disk {
            used: used_blocks(&storage),
            answers,
            storage,
        }
    }
}

/// Two disks with the same database: one closed, one whose server was killed, so that it has to be recovered.
struct Original {
    closed: Disk,
    killed: Disk,
}

static ORIGINAL: LazyLock<Original> = LazyLock::new(|| original(power::open));
static ENCRYPTED: LazyLock<Original> = LazyLock::new(|| original(power::open_encrypted));

fn original(open: fn(&SimStorage) -> Instance) -> Original {
    let disk = SimStorage::new();
    let instance = open(&disk);
    let mut c = power::client(&instance);
    for sql in STATEMENTS {
        c.ok(sql);
    }
    let killed = disk.copy();
    drop(c);
    instance.close().expect("close");
    Original {
        closed: Disk::of(disk.copy()),
        killed: Disk::of(killed),
    }
}

/// Blocks of files that hold something, where a bit is worth turning over: much of a small database was never written, or is zeros once it is
/// decrypted.
fn used_blocks(disk: &SimStorage) -> Vec<(String, u64)> {
    let decrypted = crypt::as_it_is(Arc::new(disk.clone()), Some(&Keys)).expect("the keys");
    let mut used = Vec::new();
    for (name, len) in disk.files() {
        let mut bytes = vec![0; len as usize];
        let file = decrypted.open(&name, false).expect("open");
        file.read_at(&mut bytes, 0).expect("read");
        for (n, block) in bytes.chunks(BLOCK).enumerate() {
            if block.iter().any(|b| *b != 0) {
                used.push((name.clone(), (n * BLOCK) as u64));
            }
        }
    }
    used
}

/// Turns one bit over; where.
fn flip(disk: &SimStorage, blocks: &[(String, u64)], rng: &mut Rng) -> (String, u64, u8) {
    let (name, start) = &blocks[rng.below(blocks.len() as u64) as usize];
    let bytes = disk.bytes(name);
    let at = start + rng.below(BLOCK.min(bytes.len() - *start as usize) as u64);
    let bit = rng.below(8) as u8;
    disk.corrupt(name, at, &[bytes[at as usize] ^ (1 << bit)]);
    (name.clone(), at, bit)
}

/// What a session is told of one of the tables: rows, or an error.
fn ask(c: &mut Client, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let answers = c.run(sql).map_err(|e| e.to_string())?;
    Ok(answers
        .into_iter()
        .next_back()
        .map(|a: Answer| a.rows)
        .unwrap_or_default())
}

/// How often what happened.
#[derive(Debug, Default)]
struct Tally {
    harmless: u32,
    statements_refused: u32,
    starts_refused: u32,
}

/// Asks everything of what is on the disk. `may_lack`: the last statements may be missing, for the log's end was hit.
fn look(
    instance: &Instance,
    answers: &[Vec<Vec<String>>],
    tally: &mut Tally,
    where_: &str,
    may_lack: bool,
) {
    let info = millpond_session::ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        database: Some("test".into()),
        ..Default::default()
    };
    let Ok(session) = instance.connect(info) else {
        tally.statements_refused += 1;
        return;
    };
    let mut c = Client(session);
    let mut refused = false;
    for (sql, expected) in QUESTIONS.iter().zip(answers) {
        match ask(&mut c, sql) {
            Ok(rows) => assert!(
                may_lack || rows == *expected,
                "{where_}: {sql}: {rows:?}, not {expected:?}"
            ),
            Err(e) => {
                assert!(!e.is_empty(), "{where_}: {sql}");
                refused = true;
            }
        }
    }
    for sql in WORK {
        refused |= c.run(sql).is_err();
    }
    match refused {
        true => tally.statements_refused += 1,
        false => tally.harmless += 1,
    }
}

fn rot(original: &Original, seed: u64, tally: &mut Tally) {
    let mut rng = Rng(seed);
    let killed = rng.below(2) == 1;
    let whole = match killed {
        true => &original.killed,
        false => &original.closed,
    };
    let disk = whole.storage.copy();
    let (file, at, bit) = flip(&disk, &whole.used, &mut rng);
    let where_ = format!("seed {seed}: {file}, byte {at}, bit {bit}, killed: {killed}");
    let tried = catch_unwind(AssertUnwindSafe(|| match power::try_open(&disk) {
        Ok(instance) => {
            // A damaged group at the log's end can't be told from one that a power cut tore.
            let may_lack = killed && file == "redo";
            look(&instance, &whole.answers, tally, &where_, may_lack);
            let _ = instance.close();
        }
        Err(e) => {
            assert!(!e.to_string().is_empty());
            tally.starts_refused += 1;
        }
    }));
    assert!(tried.is_ok(), "{where_}");
}

#[test]
fn a_bit_that_turns_over_is_refused_or_harmless() {
    rot_some(&ORIGINAL);
}

/// It turns sixteen bytes to noise.
#[test]
fn a_bit_that_turns_over_where_all_is_encrypted() {
    rot_some(&ENCRYPTED);
}

fn rot_some(original: &Original) {
    let number =
        |name: &str, or: u64| std::env::var(name).map_or(or, |v| v.parse().expect("a number"));
    let mut tally = Tally::default();
    let mut rng = Rng(number("MILLPOND_RANDOM_SEED", 1));
    for _ in 0..number("MILLPOND_FLIPS", 100) {
        rot(original, rng.next(), &mut tally);
    }
    eprintln!("{tally:?}");
    assert!(tally.harmless > 0 && tally.statements_refused + tally.starts_refused > 0);
}
