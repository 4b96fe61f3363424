//! Tables searched through the adaptive hash index while rows and definitions change: what it serves is what is there. The
//! other tests use it as well (see `common::options`).

mod common;
use common::*;
use millpond_store::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system allocator; counting touches no memory of its own but a
// constant-initialised thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const HASH: &str = "Innodb_adaptive_hash_hash_searches";
const ENTRIES: &str = "Millpond_adaptive_hash_entries";

fn name(n: &str) -> (String, String) {
    (D.into(), n.into())
}

/// A table of id, v = 7 * id, u = -id, with an index on v and a unique one on u.
fn define(name: &str) -> engine::NewTable {
    let unique: (&str, bool, &[u8]) = ("u", true, &[2]);
    table(name, &[("PRIMARY", true, &[0]), ("v", false, &[1]), unique])
}

fn a_row(id: i64, add: i64) -> Vec<u8> {
    ints(&[id, 7 * id + add, -id, add])
}

fn fill(s: &mut Session, t: &Table, rows: i64, add: i64) {
    for id in 0..rows {
        s.insert(t, &a_row(id, add)).unwrap();
    }
    s.commit();
}

/// Looks a row up by each of its keys; they must agree. What `add` was, if it is there.
fn look(s: &mut Session, t: &Table, id: i64) -> Option<i64> {
    let found = s.get(t, 0, &int_key(id));
    assert_eq!(s.get(t, 2, &int_key(-id)), found);
    let row = ints_of(&found?);
    assert_eq!((row[0], row[2]), (id, -id));
    let mut ids = Vec::new();
    let v = range(row[1], row[1]);
    let mode = ReadMode::Consistent;
    let mut scan = t
        .scan(s.txn(), 1, v, Direction::Forward, mode, Fetch::Row)
        .unwrap();
    while let Some(found) = scan.next(s.txn.as_mut().unwrap()).unwrap() {
        ids.push(ints_of(found.row)[0]);
    }
    assert!(ids.contains(&id));
    Some(row[3])
}

fn hash_searches(db: &Db) -> u64 {
    db.engine.status().counter(HASH)
}

#[test]
fn every_full_key_is_served() {
    let db = Db::new();
    let mut s = db.session();
    s.create(define("t"));
    let t = s.open("t");
    fill(&mut s, &t, 400, 5);
    for _ in 0..2 {
        (0..400).for_each(|id| assert_eq!(look(&mut s, &t, id), Some(5)));
    }
    let before = hash_searches(&db);
    (0..400).for_each(|id| assert_eq!(look(&mut s, &t, id), Some(5)));
    // Five searches each: by the primary key, and by each index and then the primary key. Not those for
    // the first of a leaf of an index.
    let served = hash_searches(&db) - before;
    assert!((1900..=2000).contains(&served), "{served}");
    s.commit();
    db.engine.set_hash_index(false);
    assert_eq!(db.engine.status().counter(ENTRIES), 0);
    let before = hash_searches(&db);
    (0..400).for_each(|id| assert_eq!(look(&mut s, &t, id), Some(5)));
    assert_eq!(hash_searches(&db), before);
    let report = db.engine.status().report;
    assert!(report.contains("INSERT BUFFER AND ADAPTIVE HASH INDEX"));
    assert!(report.contains("Adaptive hash index is off"));
    assert!(report.contains("hash searches/s"));
}

#[test]
fn lookups_allocate_nothing() {
    let db = Db::new();
    let mut s = db.session();
    s.create(define("t"));
    let t = s.open("t");
    fill(&mut s, &t, 400, 5);
    let keys: Vec<_> = (0..400).map(|id| (int_key(id), int_key(-id))).collect();
    let (mut ck, mut row) = (Vec::new(), Vec::new());
    let mode = ReadMode::Consistent;
    for round in 0..4 {
        let searches = hash_searches(&db);
        let before = ALLOCATIONS.with(Cell::get);
        for (id, u) in &keys {
            let txn = s.txn();
            assert!(t.get(txn, 0, id, mode, &mut ck, &mut row).unwrap());
            assert!(t.get(txn, 2, u, mode, &mut ck, &mut row).unwrap());
        }
        let allocated = ALLOCATIONS.with(Cell::get) - before;
        if round > 1 {
            assert_eq!(allocated, 0);
            assert!(hash_searches(&db) - searches > 1100);
        }
    }
    s.commit();
}

#[test]
fn entries_of_an_earlier_table_are_never_served() {
    let db = Db::new();
    let mut s = db.session();
    s.create(define("t"));
    for round in 0..12 {
        let t = s.open("t");
        s.commit();
        for id in 0..300 {
            assert_eq!(look(&mut s, &t, id), None, "round {round}");
        }
        s.commit();
        fill(&mut s, &t, 300, round);
        for _ in 0..2 {
            (0..300).for_each(|id| assert_eq!(look(&mut s, &t, id), Some(round)));
        }
        s.commit();
        let entries = db.engine.status().counter(ENTRIES);
        let before = hash_searches(&db);
        match round % 3 {
            0 => db.engine.truncate_table(&s.owner, D, "t").unwrap(),
            1 => {
                db.engine.drop_tables(&s.owner, &[name("t")]).unwrap();
                s.create(define("t"));
            }
            // As a rebuild does: another takes its name.
            _ => {
                s.create(define("next"));
                let renames = [(name("t"), name("old")), (name("next"), name("t"))];
                db.engine.rename_tables(&s.owner, &renames).unwrap();
                db.engine.drop_tables(&s.owner, &[name("old")]).unwrap();
            }
        }
        // None of it looked for entries: they are there, dead.
        let status = db.engine.status();
        assert!(status.counter(ENTRIES) >= entries);
        assert!(hash_searches(&db) - before < 50);
        drop(t);
    }
    db.check();
}

#[test]
fn an_index_that_is_built_anew_starts_afresh() {
    let db = Db::new();
    let mut s = db.session();
    s.create(define("t"));
    let t = s.open("t");
    fill(&mut s, &t, 300, 0);
    for _ in 0..2 {
        (0..300).for_each(|id| assert_eq!(look(&mut s, &t, id), Some(0)));
    }
    s.commit();
    drop(t);
    let engine = &db.engine;
    engine
        .drop_index(&s.owner, D, "t", "u", b"body".to_vec())
        .unwrap();
    let t = s.open("t");
    for id in 0..300 {
        assert!(
            s.update(&t, &int_key(id), |_| ints(&[id, 7 * id, -id, 1]))
                .unwrap()
        );
    }
    s.commit();
    drop(t);
    let index = ("u".to_string(), true, vec![2]);
    engine
        .create_index(&s.owner, D, "t", index, b"body".to_vec())
        .unwrap();
    let t = s.open("t");
    for _ in 0..2 {
        (0..300).for_each(|id| assert_eq!(look(&mut s, &t, id), Some(1)));
    }
    s.commit();
    drop(t);
    db.check();
}

/// Readers beside DROP, TRUNCATE and the switch: what a reader finds in a table is what was put into that
/// incarnation, told by `add`.
#[test]
fn threads_beside_drop_and_truncate() {
    const TABLES: i64 = 3;
    const ROWS: i64 = 120;
    let db = Db::new();
    let setup = db.session();
    for n in 0..TABLES {
        setup.create(define(&format!("t{n}")));
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..3u64 {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || read_on(db, stop, reader));
        }
        let workers: Vec<_> = (0..TABLES)
            .map(|n| {
                let db = &db;
                scope.spawn(move || {
                    let table = format!("t{n}");
                    let mut s = db.session();
                    for round in 1..=25 {
                        let t = s.open(&table);
                        // Seen by readers all or none.
                        fill(&mut s, &t, ROWS, round);
                        (0..ROWS).for_each(|id| assert_eq!(look(&mut s, &t, id), Some(round)));
                        s.commit();
                        drop(t);
                        if round % 2 == 0 {
                            db.engine.truncate_table(&s.owner, D, &table).unwrap();
                        } else {
                            db.engine.drop_tables(&s.owner, &[name(&table)]).unwrap();
                            s.create(define(&table));
                        }
                        if n == 0 && round % 8 == 0 {
                            db.engine.set_hash_index(false);
                            db.engine.set_hash_index(true);
                        }
                    }
                })
            })
            .collect();
        let results: Vec<_> = workers.into_iter().map(|w| w.join()).collect();
        stop.store(true, Ordering::SeqCst);
        assert!(results.iter().all(|r| r.is_ok()));
    });
    assert!(hash_searches(&db) > 1000);
    db.check();
}

fn read_on(db: &Db, stop: &AtomicBool, reader: u64) {
    let mut s = db.session();
    let mut rng = Rng(reader + 1);
    while !stop.load(Ordering::SeqCst) {
        let table = format!("t{}", rng.below(3));
        let engine = s.engine.clone();
        let t: Arc<Table> = match engine.open_table(s.txn(), D, &table) {
            Ok(t) => t,
            Err(Error::NoSuchTable(_)) => {
                s.commit();
                continue;
            }
            Err(e) => panic!("{e}"),
        };
        let mut seen = None;
        for _ in 0..40 {
            let found = look(&mut s, &t, rng.below(120) as i64);
            assert_eq!(
                *seen.get_or_insert(found),
                found,
                "one snapshot of one incarnation"
            );
        }
        s.commit();
    }
}
