//! Scans by batches: they give what a scan row by row gives, of one view, on several threads, whatever others do meanwhile.

mod common;
use common::*;
use millpond_store::io::{File, SimStorage, Storage};
use millpond_store::*;
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const IDS: u64 = 900;
const INDEXES: usize = 3;

/// Key, clustered key and row.
type Found = (Vec<u8>, Vec<u8>, Vec<u8>);

fn found(r: ScanRow<'_>) -> Found {
    (r.key.to_vec(), r.clustered_key.to_vec(), r.row.to_vec())
}

fn new_table() -> engine::NewTable {
    table(
        "t",
        &[
            ("PRIMARY", true, &[0]),
            ("v", false, &[1]),
            ("u", true, &[2]),
        ],
    )
}

fn a_row(rng: &mut Rng, id: i64) -> Vec<u8> {
    let pad = match rng.below(40) {
        0 => 20_000 + rng.below(20_000) as usize,
        1..5 => 2000,
        n => 2 * n as usize,
    };
    let (v, u) = (int(rng.below(30) as i64), int(id * 3 + rng.below(3) as i64));
    let pad = vec![rng.below(256) as u8; pad];
    row(&[Some(&int(id)), Some(&v), Some(&u), Some(&pad)])
}

/// Changes random rows; some of it is rolled back.
fn change(s: &mut Session, t: &Table, rng: &mut Rng) {
    for _ in 0..1 + rng.below(20) {
        let id = rng.below(IDS) as i64;
        let done = match rng.below(5) {
            0 | 1 => s.insert(t, &a_row(rng, id)).map(|()| true),
            2 | 3 => {
                let new = a_row(rng, id);
                s.update(t, &int_key(id), |_| new)
            }
            _ => s.delete(t, &int_key(id)),
        };
        match done {
            Ok(_) | Err(Error::DuplicateKey { .. }) => {}
            Err(Error::Deadlock | Error::LockWaitTimeout) => return s.rollback(),
            Err(e) => panic!("{e}"),
        }
    }
    match rng.chance(70) {
        true => s.commit(),
        false => s.rollback(),
    }
}

fn key_in(rng: &mut Rng, index: usize) -> Vec<u8> {
    int_key(match index {
        0 => rng.below(IDS) as i64,
        1 => rng.below(30) as i64,
        _ => rng.below(3 * IDS) as i64,
    })
}

fn some_range(rng: &mut Rng, index: usize) -> KeyRange {
    let mut bound = || match rng.below(5) {
        0 | 1 => Bound::Unbounded,
        2 => Bound::Excluded(key_in(rng, index)),
        _ => Bound::Included(key_in(rng, index)),
    };
    KeyRange {
        lower: bound(),
        upper: bound(),
    }
}

fn row_by_row(
    txn: &mut Txn,
    t: &Table,
    index: usize,
    range: &KeyRange,
    fetch: Fetch,
) -> Vec<Found> {
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    let mut scan = t.scan(txn, index, range.clone(), dir, mode, fetch).unwrap();
    let mut all = Vec::new();
    while let Some(r) = scan.next(txn).unwrap() {
        all.push(found(r));
    }
    all
}

fn by_batches(
    snapshot: Snapshot<'_>,
    t: &Table,
    index: usize,
    range: KeyRange,
    fetch: Fetch,
) -> Vec<Found> {
    let mut scan = t.scan_batches(snapshot, index, range, fetch).unwrap();
    let mut all = Vec::new();
    while let Some(batch) = scan.next().unwrap() {
        assert!(batch.len() <= BATCH_ROWS);
        all.extend(batch.iter().map(found));
    }
    assert!(scan.next().unwrap().is_none());
    all
}

/// A table with random rows, and sessions that go on changing them while `f` runs.
fn beside_writers(seed: u64, f: impl FnOnce(&Db)) {
    let db = Db::new();
    db.engine
        .set_flush_at_commit(log::FlushAtCommit::EverySecond);
    let mut s = db.session();
    s.create(new_table());
    let t = s.open("t");
    let mut rng = Rng(seed);
    for id in 0..IDS as i64 {
        if rng.chance(70) {
            s.insert(&t, &a_row(&mut rng, id)).unwrap();
        }
    }
    s.commit();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (db, stop) = (&db, &stop);
        for n in 0..2 {
            scope.spawn(move || {
                let mut rng = Rng(seed * 10 + n);
                let mut s = db.at(Isolation::ReadCommitted);
                s.owner.set_row_timeout(1);
                let t = s.open("t");
                while !stop.load(Ordering::Relaxed) {
                    change(&mut s, &t, &mut rng);
                }
            });
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(db)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    db.check();
}

#[test]
fn batches_are_what_a_scan_gives() {
    beside_writers(5, |db| {
        let mut rng = Rng(77);
        for level in [
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
            Isolation::Serializable,
        ] {
            for round in 0..12 {
                let mut s = db.at(level);
                s.owner.set_row_timeout(0);
                let t = s.open("t");
                if round % 3 == 0 {
                    // Changes of its own, before the view and after.
                    let id = IDS as i64 + 10;
                    s.insert(&t, &a_row(&mut rng, id)).unwrap();
                    s.insert(&t, &a_row(&mut rng, id + 1)).unwrap();
                    assert!(!s.rows(&t, 0).is_empty());
                    let new = a_row(&mut rng, id);
                    s.update(&t, &int_key(id), |_| new).unwrap();
                    s.delete(&t, &int_key(id + 1)).unwrap();
                }
                let txn = s.txn();
                for _ in 0..6 {
                    let index = rng.below(INDEXES as u64) as usize;
                    let range = some_range(&mut rng, index);
                    let fetch = [Fetch::Row, Fetch::Key][rng.below(2) as usize];
                    let expected = row_by_row(txn, &t, index, &range, fetch);
                    let snapshot = txn.snapshot().unwrap();
                    let given = by_batches(snapshot, &t, index, range.clone(), fetch);
                    assert_eq!(given.len(), expected.len(), "{level:?} {index} {range:?}");
                    assert!(given == expected, "{level:?} {index} {fetch:?} {range:?}");
                }
                s.rollback();
            }
        }
    });
}

#[test]
fn threads_share_a_snapshot() {
    beside_writers(6, |db| {
        let mut rng = Rng(99);
        for round in 0..20 {
            let mut s = db.at(Isolation::RepeatableRead);
            let t = s.open("t");
            let index = round % INDEXES;
            let range = match round % 4 {
                0 => some_range(&mut rng, index),
                _ => everything(),
            };
            let txn = s.txn();
            let expected = row_by_row(txn, &t, index, &range, Fetch::Row);
            let snapshot = db.engine.snapshot(txn).unwrap();
            let parts = t.split(index, &range, 8).unwrap();
            let t = &t;
            let given: Vec<Found> = std::thread::scope(|scope| {
                let workers: Vec<_> = parts
                    .into_iter()
                    .map(|part| {
                        scope.spawn(move || by_batches(snapshot, t, index, part, Fetch::Row))
                    })
                    .collect();
                let all = workers.into_iter().map(|w| w.join().unwrap());
                all.collect::<Vec<_>>().concat()
            });
            assert!(given == expected);
            s.commit();
        }
    });
}

#[test]
fn a_snapshot_goes_to_other_threads() {
    fn shareable<T: Copy + Send + Sync>(_: T) {}
    let db = Db::new();
    let mut s = db.session();
    s.create(new_table());
    let t = s.open("t");
    let txn = s.txn();
    assert!(txn.snapshot().is_none(), "nothing has been read yet");
    let snapshot = db.engine.snapshot(txn).unwrap();
    shareable(snapshot);
    // A table that never had a row.
    let rows = by_batches(snapshot, &t, 0, everything(), Fetch::Row);
    assert!(rows.is_empty());
    assert_eq!(t.split(0, &everything(), 4).unwrap(), [everything()]);
    let mut dirty = db.at(Isolation::ReadUncommitted);
    assert!(db.engine.snapshot(dirty.txn()).is_none());
}

/// An index made after the view doesn't have what the view may see.
#[test]
fn young_indexes_are_refused() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0])]));
    s.create(table("other", &[("PRIMARY", true, &[0])]));
    let t = s.open("t");
    s.insert(&t, &ints(&[1, 1])).unwrap();
    s.commit();
    let mut old = db.session();
    let other = old.open("other");
    old.rows(&other, 0);
    let (e, o) = (&db.engine, db.engine.owner());
    e.create_index(&o, D, "t", ("v".into(), false, vec![1]), b"".to_vec())
        .unwrap();
    let t = old.open("t");
    let snapshot = old.txn.as_ref().unwrap().snapshot().unwrap();
    let scan = t.scan_batches(snapshot, 1, everything(), Fetch::Key);
    assert!(matches!(scan.err(), Some(Error::DefinitionChanged(_))));
    let rows = by_batches(snapshot, &t, 0, everything(), Fetch::Row);
    assert_eq!(rows.len(), 1);
    let scan = t.scan_batches(snapshot, 2, everything(), Fetch::Key);
    assert!(matches!(scan.err(), Some(Error::NoSuchIndex(_))));
}

/// What a call does is bounded: by rows, by the bytes of long rows, by what it finds gone.
#[test]
fn batches_are_bounded() {
    let db = Db::new();
    db.engine
        .set_flush_at_commit(log::FlushAtCommit::EverySecond);
    let mut s = db.session();
    s.create(table("t", &[("PRIMARY", true, &[0])]));
    let t = s.open("t");
    for id in 0..6000 {
        s.insert(&t, &ints(&[id])).unwrap();
    }
    let long = vec![7; 50_000];
    for id in 6000..6040 {
        s.insert(&t, &row(&[Some(&int(id)), Some(&long)])).unwrap();
    }
    s.commit();
    // Somebody still sees them, so they stay, marked.
    let mut old = db.session();
    old.open("t");
    assert_eq!(old.rows(&t, 0).len(), 6040);
    let mut s = db.session();
    let t = s.open("t");
    for id in 100..5900 {
        assert!(s.delete(&t, &int_key(id)).unwrap());
    }
    s.commit();
    for (session, rows) in [(&mut s, 240), (&mut old, 6040)] {
        let snapshot = db.engine.snapshot(session.txn()).unwrap();
        let mut scan = t
            .scan_batches(snapshot, 0, everything(), Fetch::Row)
            .unwrap();
        let (mut all, mut empty) = (0, 0);
        while let Some(batch) = scan.next().unwrap() {
            all += batch.len();
            empty += usize::from(batch.is_empty());
            assert!(batch.len() <= BATCH_ROWS);
            let bytes: usize = batch.iter().map(|r| r.row.len()).sum();
            assert!(bytes < 256 << 10, "{bytes} bytes in a batch");
        }
        assert_eq!(all, rows);
        assert_eq!(empty > 0, rows == 240);
    }
}

/// The ranges follow on each other, and are the range.
fn check_parts(range: &KeyRange, parts: &[KeyRange]) {
    assert_eq!(parts[0].lower, range.lower);
    assert_eq!(parts[parts.len() - 1].upper, range.upper);
    for pair in parts.windows(2) {
        let (Bound::Excluded(end), Bound::Included(start)) = (&pair[0].upper, &pair[1].lower)
        else {
            panic!("{pair:?}");
        };
        assert_eq!(start, end);
    }
    let starts: Vec<_> = parts[1..].iter().map(|p| p.lower.clone()).collect();
    let key = |b: &Bound<Vec<u8>>| match b {
        Bound::Included(k) | Bound::Excluded(k) => k.clone(),
        Bound::Unbounded => panic!("a part without a start"),
    };
    assert!(starts.windows(2).all(|w| key(&w[0]) < key(&w[1])));
}

/// A table of three levels, keys in random order.
fn many_rows(db: &Db) -> Arc<Table> {
    db.engine
        .set_flush_at_commit(log::FlushAtCommit::EverySecond);
    let mut s = db.session();
    s.create(new_table());
    let t = s.open("t");
    let pad = [7; 500];
    for n in 0..20_000i64 {
        let id = n * 7919 % 20_011;
        let fields = [int(id), int(id % 1000), int(id)];
        let row = row(&[
            Some(&fields[0]),
            Some(&fields[1]),
            Some(&fields[2]),
            Some(&pad),
        ]);
        s.insert(&t, &row).unwrap();
        if n % 1000 == 999 {
            s.commit();
        }
    }
    s.open("t")
}

#[test]
fn parts_are_even_and_read_no_leaf() {
    let db = Db::new();
    drop(many_rows(&db));
    let db = db.crash();
    // What purge reads counts too.
    db.settled();
    let mut s = db.session();
    let t = s.open("t");
    for index in 0..INDEXES {
        let reads = || db.engine.status().counter("Innodb_buffer_pool_reads");
        let before = reads();
        for parts in [2, 3, 16] {
            let split = t.split(index, &everything(), parts).unwrap();
            assert_eq!(split.len(), parts);
        }
        assert!(reads() - before < 12, "{} pages read", reads() - before);
    }
    let mut rng = Rng(3);
    for round in 0..60 {
        let index = round % INDEXES;
        let mut range = everything();
        if round >= 6 {
            range = some_range(&mut rng, index);
        }
        let wanted = 1 + rng.below(24) as usize;
        let parts = t.split(index, &range, wanted).unwrap();
        check_parts(&range, &parts);
        assert!(parts.len() <= wanted);
        let snapshot = db.engine.snapshot(s.txn.as_mut().unwrap()).unwrap();
        let mut sizes = Vec::new();
        let mut all = Vec::new();
        for part in parts {
            let rows = by_batches(snapshot, &t, index, part, Fetch::Key);
            sizes.push(rows.len());
            all.extend(rows);
        }
        if round < 6 {
            let even = 20_000 / wanted;
            let about = even / 3..even * 3;
            assert!(sizes.iter().all(|n| about.contains(n)), "{sizes:?}");
        }
        let whole = by_batches(snapshot, &t, index, range, Fetch::Key);
        assert!(all == whole);
    }
}

/// What was said of files, and read of them: places in them, in pages.
#[derive(Default)]
struct Seen {
    announced: HashSet<(String, u64)>,
    /// Pages read, and whether that was announced.
    read: Vec<bool>,
}

/// A disk that notes what it is told will be read.
struct Watched {
    disk: SimStorage,
    seen: Arc<Mutex<Seen>>,
}

struct WatchedFile {
    file: Arc<dyn File>,
    name: String,
    seen: Arc<Mutex<Seen>>,
}

impl Storage for Watched {
    fn open(&self, name: &str, create: bool) -> std::io::Result<Arc<dyn File>> {
        Ok(Arc::new(WatchedFile {
            file: self.disk.open(name, create)?,
            name: name.into(),
            seen: self.seen.clone(),
        }))
    }
    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.disk.remove(name)
    }
    fn exists(&self, name: &str) -> bool {
        self.disk.exists(name)
    }
    fn list(&self, folder: &str) -> std::io::Result<Vec<String>> {
        self.disk.list(folder)
    }
    fn sync_folder(&self, folder: &str) -> std::io::Result<()> {
        self.disk.sync_folder(folder)
    }
    fn lock(&self) -> std::io::Result<()> {
        self.disk.lock()
    }
}

impl File for WatchedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        if buf.len() == page::PAGE_SIZE {
            let place = (self.name.clone(), offset / page::PAGE_SIZE as u64);
            let mut seen = self.seen.lock().unwrap();
            let announced = seen.announced.contains(&place);
            seen.read.push(announced);
        }
        self.file.read_at(buf, offset)
    }
    fn will_read(&self, offset: u64, len: u64) {
        let page = page::PAGE_SIZE as u64;
        let mut seen = self.seen.lock().unwrap();
        for at in offset / page..(offset + len) / page {
            seen.announced.insert((self.name.clone(), at));
        }
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
        self.file.write_at(buf, offset)
    }
    fn sync(&self) -> std::io::Result<()> {
        self.file.sync()
    }
    fn len(&self) -> std::io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.file.set_len(len)
    }
}

/// Leaves are announced before they are read, wherever they lie, and none beyond the range; what the pool has is not.
#[test]
fn leaves_are_read_ahead() {
    let db = Db::new();
    drop(many_rows(&db));
    db.engine.close().unwrap();
    let Db { engine, disk } = db;
    drop(engine);
    disk.kill();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let watched = Watched {
        disk: disk.clone(),
        seen: seen.clone(),
    };
    let options = Options {
        pool_bytes: 64 << 20,
        ..options()
    };
    let engine = Engine::open(Arc::new(watched), options, Arc::new(ToyCodecs)).unwrap();
    let db = Db { engine, disk };
    let mut s = db.session();
    let t = s.open("t");
    let snapshot = db.engine.snapshot(s.txn.as_mut().unwrap()).unwrap();
    // Some thirty rows: two or three leaves.
    *seen.lock().unwrap() = Seen::default();
    let rows = by_batches(snapshot, &t, 0, range(5000, 5030), Fetch::Row);
    assert!(rows.len() > 25);
    let announced = std::mem::take(&mut *seen.lock().unwrap()).announced;
    assert!(announced.len() < 4, "{}", announced.len());
    let rows = by_batches(snapshot, &t, 0, everything(), Fetch::Row);
    assert_eq!(rows.len(), 20_000);
    let first = std::mem::take(&mut *seen.lock().unwrap());
    let ahead = first.read.iter().filter(|a| **a).count();
    assert!(first.read.len() > 600, "{} leaves", first.read.len());
    assert!(
        ahead * 100 > first.read.len() * 98,
        "{ahead} of {}",
        first.read.len()
    );
    by_batches(snapshot, &t, 0, everything(), Fetch::Row);
    assert!(seen.lock().unwrap().announced.is_empty());
}
