//! What row operations and DDL cost, in processor time of the calling thread unless said otherwise:
//! `cargo bench -p millpond-store --bench rows [rows]`. The table is sysbench's: id, k, c and pad in 190 bytes,
//! an index on k.

use millpond_store::engine::{NewTable, Place};
use millpond_store::io::RealStorage;
use millpond_store::log::FlushAtCommit;
use millpond_store::*;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROW: usize = 190;

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

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Processor time this thread has used: other processes on the machine take none of it.
fn now() -> Duration {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `t` only.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    assert_eq!(rc, 0);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Repeats a call with random ids; the best of three rounds counts.
fn measure(what: &str, rows: u32, calls: u32, mut call: impl FnMut(u32)) {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let rounds = (0..3).map(|_| {
        let start = now();
        for _ in 0..calls {
            call((random(&mut state) >> 20) as u32 % rows);
        }
        now() - start
    });
    let best = rounds.min().unwrap_or_default();
    println!(
        "{what:52} {:9.1} ns",
        best.as_nanos() as f64 / f64::from(calls)
    );
}

/// One connection with its table and buffers.
struct Session {
    engine: Engine,
    owner: Arc<Owner>,
    table: Arc<Table>,
    key: Vec<u8>,
    row: Vec<u8>,
}

const LOCK: ReadMode = ReadMode::Locking(LockMode::Exclusive, WaitPolicy::Wait);

impl Session {
    fn new(engine: &Engine) -> Session {
        Session::of(engine, "t")
    }

    fn of(engine: &Engine, table: &str) -> Session {
        let owner = engine.owner();
        let mut txn = engine.begin(&owner, Isolation::RepeatableRead);
        let table = engine.open_table(&mut txn, "b", table).unwrap();
        engine.commit(txn).unwrap();
        Session {
            engine: engine.clone(),
            owner,
            table,
            key: Vec::new(),
            row: Vec::new(),
        }
    }

    fn run(&mut self, f: impl FnOnce(&Table, &mut Txn, &mut Vec<u8>, &mut Vec<u8>)) {
        let mut txn = self.engine.begin(&self.owner, Isolation::RepeatableRead);
        assert!(self.table.pin(&mut txn).unwrap());
        f(&self.table, &mut txn, &mut self.key, &mut self.row);
        self.engine.commit(txn).unwrap();
    }

    fn change(&mut self, id: u32, f: impl FnOnce(&mut [u8])) {
        self.run(|t, txn, key, old| {
            if t.get(txn, 0, &id.to_be_bytes(), LOCK, key, old).unwrap() {
                let mut new: [u8; ROW] = old[..].try_into().unwrap();
                f(&mut new);
                t.update(txn, key, old, &new).unwrap();
            }
        });
    }
}

fn reads(s: &mut Session, rows: u32) {
    let consistent = ReadMode::Consistent;
    measure("transaction of nothing", rows, 1_000_000, |_| {
        s.run(|_, _, _, _| {})
    });
    for (on, how) in [(false, "off"), (true, "on")] {
        s.engine.set_hash_index(on);
        point_selects(s, rows, how);
    }
    for (what, index, fetch) in [
        ("range of 100 rows by primary key", 0, Fetch::Row),
        ("range of 100 keys of the index", 1, Fetch::Key),
        ("range of 100 rows by the index", 1, Fetch::Row),
    ] {
        measure(what, rows - 100, 20_000, |id| {
            s.run(|t, txn, _, _| {
                let range = KeyRange {
                    lower: Bound::Included(id.to_be_bytes().to_vec()),
                    upper: Bound::Included((id + 99).to_be_bytes().to_vec()),
                };
                let dir = Direction::Forward;
                let mut scan = t.scan(txn, index, range, dir, consistent, fetch).unwrap();
                while scan.next(txn).unwrap().is_some() {}
            });
        });
    }
    measure("locking read by primary key", rows, 300_000, |id| {
        s.run(|t, txn, key, row| {
            assert!(t.get(txn, 0, &id.to_be_bytes(), LOCK, key, row).unwrap());
        });
    });
}

/// Lookups with the adaptive hash index off or on, as `how` says.
fn point_selects(s: &mut Session, rows: u32, how: &str) {
    let consistent = ReadMode::Consistent;
    let what = format!("point select by primary key, hash index {how}");
    measure(&what, rows, 1_000_000, |id| {
        s.run(|t, txn, key, row| {
            assert!(
                t.get(txn, 0, &id.to_be_bytes(), consistent, key, row)
                    .unwrap()
            );
        });
    });
    s.run(|t, txn, key, row| {
        let what = format!("the same within one transaction, hash index {how}");
        measure(&what, rows, 1_000_000, |id| {
            assert!(
                t.get(txn, 0, &id.to_be_bytes(), consistent, key, row)
                    .unwrap()
            );
        });
        let what = format!("rows by one key of the index, hash index {how}");
        measure(&what, rows, 200_000, |id| {
            let k = id.wrapping_mul(2_654_435_761) % rows;
            let range = KeyRange {
                lower: Bound::Included(k.to_be_bytes().to_vec()),
                upper: Bound::Included(k.to_be_bytes().to_vec()),
            };
            let dir = Direction::Forward;
            let mut scan = t.scan(txn, 1, range, dir, consistent, Fetch::Row).unwrap();
            while scan.next(txn).unwrap().is_some() {}
        });
    });
}

fn writes(s: &mut Session, rows: u32) {
    s.engine.set_flush_at_commit(FlushAtCommit::EverySecond);
    measure("update without index", rows, 100_000, |id| {
        s.change(id, |new| {
            new[100..108].copy_from_slice(&id.to_ne_bytes().repeat(2))
        });
    });
    measure("update of the indexed column", rows, 100_000, |id| {
        s.change(id, |new| {
            new[4..8].copy_from_slice(&(id ^ 0x5555).to_be_bytes())
        });
    });
    let mut next = rows;
    measure("insert at the end", rows, 100_000, |k| {
        next += 1;
        s.run(|t, txn, _, _| t.insert(txn, &row(next, k)).unwrap());
    });
    measure("delete", rows, 50_000, |id| {
        s.run(|t, txn, key, old| {
            if t.get(txn, 0, &id.to_be_bytes(), LOCK, key, old).unwrap() {
                t.delete(txn, key, old).unwrap();
            }
        });
    });
}

/// Tables of ten rows, beside a thousand others: on a page that they share, and with pages of their own.
fn little(engine: &Engine) {
    engine.set_flush_at_commit(FlushAtCommit::EverySecond);
    let owner = engine.owner();
    for (own_file, how) in [(false, "shared"), (true, "own root")] {
        let beside = if own_file { 0 } else { 1000 };
        for n in 0..=beside {
            let mut table = new_table(format!("little{own_file}{n}"));
            table.place = Some(Place::file_per_table(own_file));
            engine.create_table(&owner, table).unwrap();
            Session::of(engine, &format!("little{own_file}{n}")).run(|t, txn, _, _| {
                (0..10).for_each(|id| t.insert(txn, &row(id, id)).unwrap());
            });
        }
        let mut s = Session::of(engine, &format!("little{own_file}{}", beside / 2));
        s.run(|t, txn, key, row| {
            measure(&format!("ten rows, {how}: get"), 10, 1_000_000, |id| {
                let mode = ReadMode::Consistent;
                assert!(t.get(txn, 0, &id.to_be_bytes(), mode, key, row).unwrap());
            });
            measure(
                &format!("ten rows, {how}: all of them"),
                10,
                200_000,
                |_| {
                    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
                    let range = KeyRange {
                        lower: Bound::Unbounded,
                        upper: Bound::Unbounded,
                    };
                    let mut scan = t.scan(txn, 0, range, dir, mode, Fetch::Row).unwrap();
                    while scan.next(txn).unwrap().is_some() {}
                },
            );
        });
        measure(&format!("ten rows, {how}: update"), 10, 100_000, |id| {
            s.change(id, |new| {
                new[100..108].copy_from_slice(&id.to_ne_bytes().repeat(2))
            });
        });
        let mut next = 10;
        measure(
            &format!("ten rows, {how}: insert and delete"),
            10,
            30_000,
            |k| {
                next += 1;
                s.run(|t, txn, _, _| t.insert(txn, &row(next, k)).unwrap());
                s.run(|t, txn, key, old| {
                    assert!(t.get(txn, 0, &next.to_be_bytes(), LOCK, key, old).unwrap());
                    t.delete(txn, key, old).unwrap();
                });
            },
        );
    }
}

/// Durable work by several threads, in wall time.
fn durable(
    engine: &Engine,
    what: &str,
    threads: u32,
    each: u32,
    f: impl Fn(&mut Session, u32) + Sync,
) {
    engine.set_flush_at_commit(FlushAtCommit::Sync);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for n in 0..threads {
            let f = &f;
            scope.spawn(move || {
                let mut s = Session::new(engine);
                for i in 0..each {
                    f(&mut s, n * each + i);
                }
            });
        }
    });
    let rate = f64::from(threads * each) / start.elapsed().as_secs_f64();
    println!("{what:44} {threads} threads {rate:9.0} /s");
}

fn new_table(name: String) -> NewTable {
    NewTable {
        database: "b".into(),
        name,
        hidden_row_id: false,
        place: None,
        indexes: vec![
            ("PRIMARY".into(), true, Vec::new()),
            ("k".into(), false, Vec::new()),
        ],
        body: vec![7; 300],
        auto_increment: 0,
    }
}

fn main() {
    let rows: u32 = std::env::args()
        .skip(1)
        .find_map(|a| a.parse().ok())
        .unwrap_or(500_000);
    let folder = std::env::temp_dir().join(format!("millpond-rows-{}", std::process::id()));
    let storage = RealStorage::new(&folder).unwrap();
    let options = Options {
        pool_bytes: 512 << 20,
        log_bytes: 1 << 30,
        flush_at_commit: FlushAtCommit::EverySecond,
        ..Options::default()
    };
    let engine = Engine::open(Arc::new(storage), options, Arc::new(Fixed)).unwrap();
    let owner = engine.owner();
    engine.create_database(&owner, "b", b"").unwrap();
    engine.create_table(&owner, new_table("t".into())).unwrap();
    little(&engine);
    let mut s = Session::new(&engine);
    let start = now();
    for from in (0..rows).step_by(1000) {
        s.run(|t, txn, _, _| {
            for id in from..rows.min(from + 1000) {
                t.insert(txn, &row(id, id.wrapping_mul(2_654_435_761) % rows))
                    .unwrap();
            }
        });
    }
    let each = (now() - start).as_nanos() as f64 / f64::from(rows);
    println!("{:52} {each:9.1} ns", "load, 1000 rows a transaction");
    reads(&mut s, rows);
    writes(&mut s, rows);
    let history = |e: &Engine| {
        let counters = e.status().counters;
        let found = counters
            .iter()
            .find(|(n, _)| *n == "Innodb_history_list_length");
        found.map_or(0, |(_, n)| *n)
    };
    let (left, start) = (history(&engine), Instant::now());
    while history(&engine) > 0 {
        std::thread::yield_now();
    }
    println!(
        "{left} transactions left to purge, done in {:?}",
        start.elapsed()
    );
    let free = 100_000_000;
    durable(&engine, "durable insert", 1, 5_000, |s, i| {
        s.run(|t, txn, _, _| t.insert(txn, &row(free + i, i)).unwrap());
    });
    durable(&engine, "durable insert", 8, 2_000, |s, i| {
        s.run(|t, txn, _, _| t.insert(txn, &row(2 * free + i, i)).unwrap());
    });
    for threads in [1, 8] {
        let name = |i: u32| format!("t{threads}_{i}");
        durable(&engine, "CREATE TABLE", threads, 4000 / threads, |s, i| {
            s.engine.create_table(&s.owner, new_table(name(i))).unwrap();
        });
        durable(&engine, "DROP TABLE", threads, 4000 / threads, |s, i| {
            s.engine
                .drop_tables(&s.owner, &[("b".into(), name(i))])
                .unwrap();
        });
    }
    engine.set_flush_at_commit(FlushAtCommit::EverySecond);
    engine.create_database(&owner, "many", b"").unwrap();
    for i in 0..30_000 {
        let table = NewTable {
            database: "many".into(),
            ..new_table(format!("t{i}"))
        };
        engine.create_table(&owner, table).unwrap();
    }
    let start = Instant::now();
    engine.drop_database(&owner, "many").unwrap();
    println!("DROP DATABASE of 30,000 tables: {:?}", start.elapsed());
    drop((s, engine));
    std::fs::remove_dir_all(folder).unwrap();
}
