//! Partitions: made, dropped, emptied, moved in one step each, whatever happens.

mod common;
use common::*;
use millpond_store::engine::{NewTable, PartitionChange};
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const TWO: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0]), ("v", false, &[1])];

fn name(n: &str) -> (String, String) {
    (D.into(), n.into())
}

/// The list of partitions is the body, as the layer above might keep it.
fn body(parts: &[String]) -> Vec<u8> {
    parts.join(",").into_bytes()
}

fn parts(db: &Engine, t: &str) -> Vec<String> {
    let def = db.table_def(D, t).unwrap();
    let text = String::from_utf8(def.body).unwrap();
    text.split(',')
        .filter(|p| !p.is_empty())
        .map(Into::into)
        .collect()
}

fn create(db: &Engine, t: NewTable, list: &[&str]) -> Result<()> {
    let list: Vec<String> = list.iter().map(|p| p.to_string()).collect();
    let owner = db.owner();
    match db.create_database(&owner, D, b"") {
        Ok(()) | Err(Error::DatabaseExists(_)) => {}
        Err(e) => return Err(e),
    }
    let t = NewTable {
        body: body(&list),
        ..t
    };
    db.create_partitioned(&owner, t, &list, b"part")
}

fn alter(db: &Engine, t: &str, list: &[&str], changes: &[PartitionChange]) -> Result<()> {
    let list: Vec<String> = list.iter().map(|p| p.to_string()).collect();
    db.alter_partitions(&db.owner(), (D, t), changes, body(&list), b"part")
}

fn open_part(s: &mut Session, t: &str, part: &str) -> Arc<Table> {
    let list = parts(&s.engine, t);
    let at = list.iter().position(|p| p == part).unwrap();
    let table = s.open(t);
    s.engine.partition(&table, at, list.len(), part).unwrap()
}

fn fill(s: &mut Session, t: &str, part: &str, ids: std::ops::Range<i64>) {
    let table = open_part(s, t, part);
    for i in ids {
        s.insert(&table, &ints(&[i, i * 10])).unwrap();
    }
    s.commit();
}

fn ids(s: &mut Session, t: &str, part: &str) -> Vec<i64> {
    let table = open_part(s, t, part);
    let rows = s.all(&table, 0);
    s.commit();
    rows
}

trait All {
    fn all(&mut self, t: &Table, index: usize) -> Vec<i64>;
}

impl All for Session {
    fn all(&mut self, t: &Table, index: usize) -> Vec<i64> {
        let txn = self.txn();
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = t
            .scan(txn, index, everything(), dir, mode, Fetch::Row)
            .unwrap();
        let mut out = Vec::new();
        while let Some(r) = scan.next(txn).unwrap() {
            out.push(ints_of(r.row)[0]);
        }
        out
    }
}

#[test]
fn partitions_are_tables_that_nobody_sees() {
    let db = Db::new();
    let mut s = db.session();
    let e = &db.engine;
    create(e, table("t", TWO), &["p0", "p1"]).unwrap();
    create(e, table("u", TWO), &["p0"]).unwrap();
    assert_eq!(e.tables(D).unwrap(), ["t", "u"]);
    assert!(e.table_def(D, "t").unwrap().partitioned);
    fill(&mut s, "t", "p0", 0..5);
    fill(&mut s, "t", "p1", 5..8);
    fill(&mut s, "u", "p0", 0..2);
    assert_eq!(ids(&mut s, "t", "p0"), [0, 1, 2, 3, 4]);
    assert_eq!(ids(&mut s, "t", "p1"), [5, 6, 7]);
    let hidden = "t\0p0";
    assert!(matches!(e.table_def(D, hidden), Err(Error::NoSuchTable(_))));
    let o = &s.owner;
    assert!(e.drop_tables(o, &[name(hidden)]).is_err());
    assert!(e.truncate_table(o, D, hidden).is_err());
    assert!(e.rename_tables(o, &[(name("u"), name("t\0p2"))]).is_err());
    assert!(e.lock_tables(o, &[(name(hidden), true)]).is_err());
    assert!(e.create_table(o, table("v\0p", TWO)).is_err());
    let txn = s.txn();
    assert!(e.open_table(txn, D, hidden).is_err());
    s.commit();
    db.check();

    e.rename_tables(&s.owner, &[(name("t"), name("x")), (name("u"), name("t"))])
        .unwrap();
    assert_eq!(ids(&mut s, "x", "p1"), [5, 6, 7]);
    assert_eq!(ids(&mut s, "t", "p0"), [0, 1]);
    e.truncate_table(&s.owner, D, "x").unwrap();
    assert!(ids(&mut s, "x", "p0").is_empty());
    fill(&mut s, "x", "p0", 1..2);
    let db = db.crash();
    let mut s = db.session();
    assert_eq!(ids(&mut s, "x", "p0"), [1]);
    db.check();
    assert_eq!(db.engine.drop_database(&s.owner, D).unwrap(), 2);
    db.check();
}

#[test]
fn changes_of_partitions() {
    let db = Db::new();
    let mut s = db.session();
    let e = &db.engine;
    create(e, table("t", TWO), &["p0", "p1", "p2"]).unwrap();
    for (n, p) in ["p0", "p1", "p2"].iter().enumerate() {
        fill(&mut s, "t", p, n as i64 * 10..n as i64 * 10 + 3);
    }
    use PartitionChange as C;
    let held = s.open("t");
    s.commit();
    alter(
        e,
        "t",
        &["p0", "p2", "p3"],
        &[
            C::Drop("p1".into()),
            C::Truncate("p0".into()),
            C::Add("p3".into()),
        ],
    )
    .unwrap();
    // Who held the table finds that it has changed.
    assert!(!held.pin(s.txn()).unwrap());
    s.commit();
    assert_eq!(parts(e, "t"), ["p0", "p2", "p3"]);
    assert!(ids(&mut s, "t", "p0").is_empty());
    assert_eq!(ids(&mut s, "t", "p2"), [20, 21, 22]);
    fill(&mut s, "t", "p3", 30..32);
    // A step that fails undoes those before it.
    let broken = [C::Drop("p0".into()), C::Drop("nope".into())];
    assert!(alter(e, "t", &["p2"], &broken).is_err());
    assert!(alter(e, "t", &["p0"], &[C::Add("p0".into())]).is_err());
    assert_eq!(parts(e, "t"), ["p0", "p2", "p3"]);
    assert_eq!(ids(&mut s, "t", "p3"), [30, 31]);

    // A table's partitions move in, and it is gone.
    create(e, table("w", TWO), &["q0", "q1"]).unwrap();
    fill(&mut s, "w", "q1", 40..42);
    let moved = [C::Drop("p3".into()), C::Adopt(name("w"))];
    alter(e, "t", &["p0", "p2", "q0", "q1"], &moved).unwrap();
    assert_eq!(ids(&mut s, "t", "q1"), [40, 41]);
    assert_eq!(e.tables(D).unwrap(), ["t"]);
    db.check();
    let db = db.crash();
    let mut s = db.session();
    assert_eq!(ids(&mut s, "t", "q1"), [40, 41]);
    assert_eq!(ids(&mut s, "t", "p2"), [20, 21, 22]);
    db.check();
}

#[test]
fn a_partition_and_a_table_change_places() {
    let db = Db::new();
    let mut s = db.session();
    let e = &db.engine;
    create(e, table("t", TWO), &["p0", "p1"]).unwrap();
    s.create(table("o", TWO));
    fill(&mut s, "t", "p0", 0..3);
    let o = s.open("o");
    for i in 50..52 {
        s.insert(&o, &ints(&[i, 1])).unwrap();
    }
    s.commit();
    // A view from before, without metadata locks, still sees each row where its space went.
    let mut old = db.session();
    e.snapshot(old.txn());
    let t = s.open("o");
    s.insert(&t, &ints(&[60, 1])).unwrap();
    s.commit();
    let swap = [PartitionChange::Exchange {
        partition: "p0".into(),
        table: name("o"),
    }];
    alter(e, "t", &["p0", "p1"], &swap).unwrap();
    assert_eq!(ids(&mut s, "t", "p0"), [50, 51, 60]);
    assert_eq!(ids(&mut old, "t", "p0"), [50, 51]);
    let o = s.open("o");
    assert_eq!(s.all(&o, 1), [0, 1, 2]);
    s.commit();
    assert_eq!(e.table_def(D, "o").unwrap().body, b"body");
    fill(&mut s, "t", "p0", 70..71);
    db.check();
    let db = db.crash();
    let mut s = db.session();
    assert_eq!(ids(&mut s, "t", "p0"), [50, 51, 60, 70]);
    // Back again, and not with a table that is different.
    alter(&db.engine, "t", &["p0", "p1"], &swap).unwrap();
    assert_eq!(ids(&mut s, "t", "p0"), [0, 1, 2]);
    s.create(table("z", &[("PRIMARY", true, &[0])]));
    let wrong = [PartitionChange::Exchange {
        partition: "p0".into(),
        table: name("z"),
    }];
    assert!(matches!(
        alter(&db.engine, "t", &["p0", "p1"], &wrong),
        Err(Error::Invalid(_))
    ));
    db.check();
}

/// Counts syncs of the log while `f` runs.
fn log_syncs(disk: &SimStorage, f: impl FnOnce()) -> u64 {
    let syncs = Arc::new(AtomicU64::new(0));
    let count = syncs.clone();
    disk.on_step(move |kind, file| {
        if kind == OpKind::Sync && file == "redo" {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Step::Go
    });
    f();
    disk.clear_hook();
    syncs.load(Ordering::Relaxed)
}

/// Dropping 100 partitions, or a table of 100, is one commit with one sync, and reads no page of them.
#[test]
fn a_hundred_partitions_cost_one_commit() {
    // Large enough that nothing in the background has a reason to sync the log.
    let disk = SimStorage::new();
    let roomy = Options {
        pool_bytes: 64 << 20,
        log_bytes: 64 << 20,
        ..options()
    };
    let db = Db {
        engine: open_with(&disk, roomy).unwrap(),
        disk,
    };
    let mut s = db.session();
    let e = db.engine.clone();
    let list: Vec<String> = (0..101).map(|i| format!("p{i}")).collect();
    let names: Vec<&str> = list.iter().map(|n| &**n).collect();
    create(&e, table("t", TWO), &names).unwrap();
    create(&e, table("u", TWO), &names[..100]).unwrap();
    for n in &names[..100] {
        fill(&mut s, "t", n, 0..2);
        fill(&mut s, "u", n, 0..2);
    }
    db.settled();
    let drops: Vec<_> = names[..100]
        .iter()
        .map(|n| PartitionChange::Drop(n.to_string()))
        .collect();
    let reclaimed = |e: &Engine| e.status().counter("Millpond_spaces_reclaimed");
    let before = reclaimed(&e);
    // As ALTER TABLE does it, with the table locked while its definition is read.
    let syncs = log_syncs(&db.disk, || {
        e.lock_tables(&s.owner, &[(name("t"), true)]).unwrap();
        let left = body(&["p100".to_string()]);
        e.alter_partitions(&s.owner, (D, "t"), &drops, left, b"part")
            .unwrap();
        e.unlock_tables(&s.owner);
    });
    assert_eq!(syncs, 1, "DROP of 100 partitions");
    let syncs = log_syncs(&db.disk, || {
        e.drop_tables(&s.owner, &[name("u")]).unwrap();
    });
    assert_eq!(syncs, 1, "DROP of a table of 100 partitions");
    db.check();
    assert_eq!(reclaimed(&e) - before, 400, "two indexes of each");
    assert_eq!(parts(&e, "t"), ["p100"]);
}

type Contents = BTreeMap<String, Vec<(String, Vec<i64>)>>;

fn contents(db: &Engine) -> Contents {
    let mut out = Contents::new();
    let mut s = Session {
        engine: db.clone(),
        owner: db.owner(),
        txn: None,
        isolation: Isolation::RepeatableRead,
    };
    for t in db.tables(D).unwrap_or_default() {
        let def = db.table_def(D, &t).unwrap();
        let list = if def.partitioned {
            let list = parts(db, &t);
            list.into_iter()
                .map(|p| (p.clone(), ids(&mut s, &t, &p)))
                .collect()
        } else {
            let open = s.open(&t);
            let rows = s.all(&open, 0);
            s.commit();
            vec![(String::new(), rows)]
        };
        out.insert(t, list);
    }
    out
}

/// A statement of the script.
type Step_ = fn(&Engine) -> Result<()>;

fn rows(db: &Engine, t: &str, part: &str, ids: std::ops::Range<i64>) -> Result<()> {
    let owner = db.owner();
    let mut txn = db.begin(&owner, Isolation::RepeatableRead);
    let done = (|| {
        let mut open = db.open_table(&mut txn, D, t)?;
        if !part.is_empty() {
            let list = parts(db, t);
            let at = list.iter().position(|p| p == part).unwrap();
            open = db.partition(&open, at, list.len(), part)?;
        }
        ids.into_iter()
            .try_for_each(|i| open.insert(&mut txn, &ints(&[i, i])))
    })();
    match done {
        Ok(()) => db.commit(txn),
        Err(e) => {
            let _ = db.rollback(txn);
            Err(e)
        }
    }
}

fn script() -> Vec<Step_> {
    use PartitionChange as C;
    vec![
        |db| db.create_database(&db.owner(), D, b""),
        |db| create(db, table("t", TWO), &["a", "b", "c"]),
        |db| rows(db, "t", "a", 0..20),
        |db| rows(db, "t", "b", 20..40),
        |db| rows(db, "t", "c", 40..60),
        |db| db.create_table(&db.owner(), table("o", TWO)),
        |db| rows(db, "o", "", 60..70),
        |db| {
            let x = C::Exchange {
                partition: "b".into(),
                table: name("o"),
            };
            alter(db, "t", &["a", "b", "c"], &[x])
        },
        |db| {
            let two = [C::Drop("a".into()), C::Truncate("c".into())];
            alter(db, "t", &["b", "c"], &two)
        },
        |db| create(db, table("w", TWO), &["x", "y"]),
        |db| rows(db, "w", "x", 80..90),
        |db| {
            let moved = [C::Adopt(name("w")), C::Drop("c".into())];
            alter(db, "t", &["b", "x", "y"], &moved)
        },
        |db| db.rename_tables(&db.owner(), &[(name("t"), name("v"))]),
        |db| rows(db, "v", "y", 90..95),
        |db| db.truncate_table(&db.owner(), D, "v"),
        |db| rows(db, "v", "b", 0..5),
        |db| db.drop_tables(&db.owner(), &[name("v")]),
    ]
}

/// States after each number of statements.
fn states() -> Vec<Contents> {
    let db = Db::new();
    let mut out = vec![Contents::new()];
    for step in script() {
        step(&db.engine).unwrap();
        out.push(contents(&db.engine));
    }
    out
}

fn cut_once(at: u64, states: &[Contents]) -> bool {
    let disk = SimStorage::new();
    let steps = cut_at(&disk, at);
    let mut done = 0;
    if let Ok(db) = open(&disk) {
        for step in script() {
            if step(&db).is_err() {
                break;
            }
            done += 1;
        }
    }
    let finished = steps.load(Ordering::Relaxed) <= at;
    let mut coin = Rng(at + 1);
    disk.restart(|| coin.chance(50));
    let db = Db {
        engine: open(&disk).unwrap_or_else(|e| panic!("cut {at}: {e}")),
        disk,
    };
    let found = contents(&db.engine);
    assert!(
        found == states[done] || Some(&found) == states.get(done + 1),
        "cut {at}, after {done} statements: {found:?}"
    );
    db.check();
    finished
}

#[test]
fn no_change_of_partitions_is_lost_or_half_done_at_any_write() {
    let states = states();
    let mut at = 0;
    while !cut_once(at, &states) {
        at += 1;
    }
    assert!(at > 30, "the script writes more often than {at} times");
}
