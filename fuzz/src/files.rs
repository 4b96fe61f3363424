//! A database whose files were changed. Checksums of pages are made right again, so that whoever reads what is on them is reached.

use std::sync::LazyLock;

use millpond_store::io::sim::SimStorage;

use crate::database::{Sink, connect, fill, open};

const PAGE: usize = 16_384;

/// What is done with it then.
const WORK: &[&str] = &[
    "USE base",
    "SELECT * FROM a",
    "SELECT k, name FROM a FORCE INDEX (by_name) WHERE name > 'a'",
    "SELECT * FROM t1",
    "SELECT a FROM t1 FORCE INDEX (a) WHERE a > 0",
    "SELECT id, words, ST_AsText(place) FROM t2",
    "SELECT id FROM t2 WHERE MATCH (words) AGAINST ('pond')",
    "SELECT id FROM t2 WHERE MBRContains(ST_GeomFromText('POLYGON((0 0,0 9,9 9,9 0,0 0))'), place)",
    "SELECT id, MD5(v) FROM parts",
    "SELECT * FROM v1",
    "CALL p1(3)",
    "SELECT f1(1)",
    "SHOW CREATE TABLE t1",
    "SELECT * FROM information_schema.columns WHERE table_schema = 'base'",
    "CHECK TABLE a, t1, t2, parts",
    "INSERT INTO a (k, name) VALUES (1000, 'new')",
    "INSERT INTO t1 (a, b) VALUES (2, 'new')",
    "UPDATE a SET name = CONCAT(name, 'z') WHERE k < 50",
    "DELETE FROM t1",
    "ALTER TABLE t2 ADD COLUMN more INT",
    "TRUNCATE TABLE parts",
    "DROP TABLE a",
    "DROP DATABASE base",
];

struct Original {
    disk: SimStorage,
    /// Blocks of files that hold something: name, offset, length.
    used: Vec<(String, usize, usize)>,
}

static ORIGINAL: LazyLock<Original> = LazyLock::new(|| {
    let disk = SimStorage::new();
    let instance = open(&disk, &[]).expect("an empty disk opens");
    fill(&instance);
    instance.close().expect("it closes");
    let disk = disk.copy();
    let mut used = Vec::new();
    for (name, _) in disk.files() {
        let bytes = disk.bytes(&name);
        for (n, block) in bytes.chunks(PAGE).enumerate() {
            if block.iter().any(|b| *b != 0) {
                used.push((name.clone(), n * PAGE, block.len()));
            }
        }
    }
    Original { disk, used }
});

/// Whether a block has a page's checksum: CRC-32C of all behind it.
fn is_sealed(block: &[u8]) -> bool {
    block.len() == PAGE && block[..4] == crc32c::crc32c(&block[4..]).to_le_bytes()
}

/// Changes: a block (u16), a place in it (u16), how many bytes (u8: up to 15, or to be put together with what is there), the bytes.
fn change(disk: &SimStorage, mut data: &[u8]) {
    while let Some((head, rest)) = data.split_first_chunk::<5>() {
        let block = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let (name, start, len) = &ORIGINAL.used[block % ORIGINAL.used.len()];
        let place = usize::from(u16::from_le_bytes([head[2], head[3]])) % len;
        let many = usize::from(head[4] & 15).min(rest.len()).min(len - place);
        let mut bytes = disk.bytes(name)[*start..start + len].to_vec();
        let sealed = is_sealed(&bytes);
        for (to, from) in bytes[place..].iter_mut().zip(&rest[..many]) {
            match head[4] & 16 {
                0 => *to = *from,
                _ => *to ^= *from,
            }
        }
        if sealed {
            let crc = crc32c::crc32c(&bytes[4..]);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
        }
        disk.corrupt(name, *start as u64, &bytes);
        data = &rest[many..];
    }
}

/// Opens what such changes leave, and works with it.
pub fn run(data: &[u8]) {
    let disk = ORIGINAL.disk.copy();
    change(&disk, data);
    let Ok(instance) = open(&disk, &[]) else {
        return;
    };
    if let Ok(mut session) = connect(&instance) {
        for sql in WORK {
            let _ = session.execute(sql, &mut Sink::default());
        }
    }
    let _ = instance.close();
}
