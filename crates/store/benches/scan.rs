//! What a scan of a whole table costs a row, row by row and by batches: processor time of all threads, and how fast it is by the clock:
//! `cargo bench -p millpond-store --bench scan [rows] [folder]`. Rows have 120 bytes, the table an index of 4 bytes. The last lines read
//! the table from disk into a pool a tenth of its size, the system having forgotten its files.

use millpond_store::engine::NewTable;
use millpond_store::io::RealStorage;
use millpond_store::log::FlushAtCommit;
use millpond_store::*;
use std::ops::Bound;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROW: usize = 120;

struct Fixed;

impl KeyCodec for Fixed {
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.extend_from_slice(&row[index * 4..index * 4 + 4]);
        Ok(false)
    }
}

impl CodecFactory for Fixed {
    fn codec(&self, _: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        Ok(Arc::new(Fixed))
    }
}

fn row(id: u32, k: u32) -> [u8; ROW] {
    let mut row = [b'x'; ROW];
    row[..4].copy_from_slice(&id.to_be_bytes());
    row[4..8].copy_from_slice(&k.to_be_bytes());
    row
}

fn everything() -> KeyRange {
    KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    }
}

fn open(folder: &Path, pool_bytes: usize) -> Engine {
    let storage = RealStorage::new(folder).unwrap();
    let options = Options {
        pool_bytes,
        log_bytes: 1 << 30,
        flush_at_commit: FlushAtCommit::EverySecond,
        ..Options::default()
    };
    Engine::open(Arc::new(storage), options, Arc::new(Fixed)).unwrap()
}

/// Rows in the order of the key (`ordered`), or in an order in which every leaf is split many times.
fn load(engine: &Engine, name: &str, rows: u32, ordered: bool) {
    let owner = engine.owner();
    let table = NewTable {
        database: "b".into(),
        name: name.into(),
        hidden_row_id: false,
        place: None,
        indexes: vec![
            ("PRIMARY".into(), true, Vec::new()),
            ("k".into(), false, Vec::new()),
        ],
        body: vec![7; 300],
        auto_increment: 0,
    };
    engine.create_table(&owner, table).unwrap();
    let mut n = 0;
    while n < rows {
        let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
        let table = engine.open_table(&mut txn, "b", name).unwrap();
        for _ in 0..1000.min(rows - n) {
            let mixed = n.wrapping_mul(2_654_435_761);
            let (id, k) = if ordered { (n, mixed) } else { (mixed, n) };
            table.insert(&mut txn, &row(id, k)).unwrap();
            n += 1;
        }
        engine.commit(txn).unwrap();
    }
}

/// Calls `f` with a transaction and a table.
fn with(engine: &Engine, name: &str, f: impl FnOnce(&mut Txn, &Table)) {
    let owner = engine.owner();
    let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
    let table = engine.open_table(&mut txn, "b", name).unwrap();
    f(&mut txn, &table);
    engine.commit(txn).unwrap();
}

/// Processor time this process has used: other processes on the machine take none of it.
fn now() -> Duration {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `t` only.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut t) };
    assert_eq!(rc, 0);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Processor and wall time a row, of the best of `rounds`. `f` returns how many rows it read.
fn measure(what: &str, rounds: u32, rows: u32, mut f: impl FnMut() -> u64) {
    let one = |_| {
        let (start, from) = (now(), Instant::now());
        assert_eq!(f(), u64::from(rows));
        (now() - start, from.elapsed())
    };
    let (cpu, wall) = (0..rounds).map(one).min().unwrap_or_default();
    let each = |d: Duration| d.as_nanos() as f64 / f64::from(rows);
    let (cpu, rate) = (each(cpu), ROW as f64 * 1e3 / each(wall));
    println!("{what:62} {cpu:8.1} ns, {rate:6.0} MB/s");
}

/// Reads all rows row by row, a byte of each.
fn row_by_row(txn: &mut Txn, table: &Table, index: usize, fetch: Fetch) -> u64 {
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    let mut scan = table
        .scan(txn, index, everything(), dir, mode, fetch)
        .unwrap();
    let (mut n, mut sum) = (0, 0u64);
    while let Some(r) = scan.next(txn).unwrap() {
        n += 1;
        sum += u64::from(r.row.get(60).copied().unwrap_or(r.key[3]));
    }
    std::hint::black_box(sum);
    n
}

/// Reads all rows of a range by batches, a byte of each.
fn by_batches(
    snapshot: Snapshot<'_>,
    table: &Table,
    index: usize,
    range: KeyRange,
    fetch: Fetch,
) -> u64 {
    let mut scan = table.scan_batches(snapshot, index, range, fetch).unwrap();
    let (mut n, mut sum) = (0, 0u64);
    while let Some(batch) = scan.next().unwrap() {
        n += batch.len() as u64;
        for at in 0..batch.len() {
            let byte = match fetch {
                Fetch::Row => batch.row(at)[60],
                Fetch::Key => batch.key(at)[3],
            };
            sum += u64::from(byte);
        }
    }
    std::hint::black_box(sum);
    n
}

fn cached(engine: &Engine, rows: u32) {
    for (name, index, fetch, what) in [
        ("ordered", 0, Fetch::Row, "rows by primary key"),
        ("mixed", 0, Fetch::Row, "rows by primary key, mixed leaves"),
        ("ordered", 0, Fetch::Key, "primary keys"),
        ("ordered", 1, Fetch::Key, "keys of the index"),
        ("ordered", 1, Fetch::Row, "rows by the index"),
    ] {
        with(engine, name, |txn, table| {
            measure(&format!("{what}, row by row"), 3, rows, || {
                row_by_row(txn, table, index, fetch)
            });
            let snapshot = engine.snapshot(txn).unwrap();
            measure(&format!("{what}, by batches"), 3, rows, || {
                by_batches(snapshot, table, index, everything(), fetch)
            });
            let what = format!("{what}, by batches, 2 threads, 32 parts");
            measure(&what, 3, rows, || {
                let parts = table.split(index, &everything(), 32).unwrap();
                let parts = std::sync::Mutex::new(parts.into_iter());
                let work = || {
                    let next = || parts.lock().unwrap().next();
                    std::iter::from_fn(next)
                        .map(|part| by_batches(snapshot, table, index, part, fetch))
                        .sum::<u64>()
                };
                std::thread::scope(|s| {
                    let other = s.spawn(work);
                    work() + other.join().unwrap()
                })
            });
        });
    }
    with(engine, "ordered", |_, table| {
        let start = Instant::now();
        let parts = table.split(0, &everything(), 64).unwrap();
        println!("split into {} parts: {:?}", parts.len(), start.elapsed());
    });
}

/// Has the system forget what it knows of the database's files.
fn forget_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            forget_files(&path);
            continue;
        }
        let file = std::fs::File::open(path).unwrap();
        file.sync_all().unwrap();
        // SAFETY: a system call on an open descriptor; no memory is passed.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }
}

fn cold(folder: &Path, rows: u32) {
    let pool = (rows as usize * ROW / 10).max(8 << 20);
    for name in ["ordered", "mixed"] {
        for batches in [false, true] {
            let engine = open(folder, pool);
            forget_files(folder);
            let how = if batches { "by batches" } else { "row by row" };
            with(&engine, name, |txn, table| {
                let what = format!("{name} table read from disk, {how}");
                measure(&what, 1, rows, || match batches {
                    false => row_by_row(txn, table, 0, Fetch::Row),
                    true => {
                        let snapshot = engine.snapshot(txn).unwrap();
                        by_batches(snapshot, table, 0, everything(), Fetch::Row)
                    }
                });
            });
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rows: u32 = args
        .iter()
        .find_map(|a| a.parse().ok())
        .unwrap_or(2_000_000);
    let folder = args
        .iter()
        .find(|a| a.starts_with('/'))
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join(format!("millpond-scan-{}", std::process::id()));
    let engine = open(&folder, rows as usize * ROW * 5 + (64 << 20));
    engine.create_database(&engine.owner(), "b", b"").unwrap();
    load(&engine, "ordered", rows, true);
    load(&engine, "mixed", rows, false);
    cached(&engine, rows);
    engine.close().unwrap();
    drop(engine);
    cold(&folder, rows);
    std::fs::remove_dir_all(folder).unwrap();
}
