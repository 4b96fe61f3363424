//! What the layer above keeps about tables: it goes with them, whatever happens.

mod common;
use common::*;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ONE: &[(&str, bool, &[u8])] = &[("PRIMARY", true, &[0])];

fn name(n: &str) -> (String, String) {
    (D.into(), n.into())
}

fn keep(s: &mut Session, table: &str, body: &[u8]) {
    s.engine.prepare_statistics(&s.owner).unwrap();
    let t = s.open(table);
    let engine = s.engine.clone();
    engine
        .change_statistics(s.txn(), &t, &mut |_| Some(body.to_vec()))
        .unwrap();
    s.commit();
}

fn kept(s: &mut Session, table: &str) -> Option<Vec<u8>> {
    let t = s.open(table);
    let kept = s.engine.statistics(&t).unwrap();
    s.commit();
    kept
}

#[test]
fn the_first_to_keep_something_is_followed_by_others() {
    let db = Db::new();
    let (mut s, other) = (db.session(), db.session());
    s.create(table("a", ONE));
    s.engine.prepare_statistics(&s.owner).unwrap();
    // As those who measure tables do: nothing is locked where nothing is.
    let begin = |s: &Session| s.engine.begin(&s.owner, Isolation::ReadCommitted);
    let mut theirs = Some(begin(&other));
    let mut txn = begin(&s);
    let t = s.engine.open_table(&mut txn, D, "a").unwrap();
    let mut seen = Vec::new();
    let mut change = |old: Option<&[u8]>| {
        // Between the look and the insert another transaction keeps something.
        if let Some(mut txn) = theirs.take() {
            let t = other.engine.open_table(&mut txn, D, "a").unwrap();
            let mut body = |_: Option<&[u8]>| Some(b"theirs".to_vec());
            let changed = other.engine.change_statistics(&mut txn, &t, &mut body);
            changed.and_then(|()| other.engine.commit(txn)).unwrap();
        }
        seen.push(old.map(<[u8]>::to_vec));
        Some(b"ours".to_vec())
    };
    let changed = s.engine.change_statistics(&mut txn, &t, &mut change);
    changed.and_then(|()| s.engine.commit(txn)).unwrap();
    assert_eq!(seen, [None, Some(b"theirs".to_vec())]);
    assert_eq!(kept(&mut s, "a").as_deref(), Some(&b"ours"[..]));
}

#[test]
fn statistics_go_with_their_table() {
    let db = Db::new();
    let mut s = db.session();
    for t in ["a", "b", "c"] {
        s.create(table(t, ONE));
    }
    assert_eq!(kept(&mut s, "a"), None);
    assert_eq!(db.engine.databases().unwrap(), [D]);
    for t in ["a", "b"] {
        keep(&mut s, t, t.as_bytes());
    }
    let old = s.open("a");
    s.commit();
    keep(&mut s, "a", &[7; 40_000]);
    assert!(old.pin(s.begin()).unwrap(), "the open table stays valid");
    s.commit();
    assert_eq!(kept(&mut s, "a"), Some(vec![7; 40_000]));
    assert_eq!(kept(&mut s, "c"), None);
    let (e, o) = (&db.engine, s.owner.clone());
    e.rename_tables(&o, &[(name("a"), name("z"))]).unwrap();
    e.truncate_table(&o, D, "b").unwrap();
    assert_eq!(kept(&mut s, "z"), Some(vec![7; 40_000]));
    assert_eq!(kept(&mut s, "b").as_deref(), Some(&b"b"[..]));
    // A table rebuilt takes over what was known about the one it replaces.
    let pairs = [(name("b"), name("old")), (name("c"), name("b"))];
    e.place_table(&o, &pairs).unwrap();
    assert_eq!(kept(&mut s, "b").as_deref(), Some(&b"b"[..]));
    assert_eq!(kept(&mut s, "old"), None);
    e.drop_tables(&o, &[name("z")]).unwrap();
    s.create(table("z", ONE));
    assert_eq!(kept(&mut s, "z"), None);
    drop((s, old));
    let db = db.crash();
    let mut s = db.session();
    assert_eq!(kept(&mut s, "b").as_deref(), Some(&b"b"[..]));
    assert_eq!(kept(&mut s, "z"), None);
    drop(s);
    db.check();
}

#[test]
fn nobody_reaches_the_table_of_statistics() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", ONE));
    keep(&mut s, "t", b"x");
    let (e, o) = (&db.engine, s.owner.clone());
    let own = (CATALOG_DATABASE.to_string(), "statistics".to_string());
    let missing = |r: Result<()>| assert!(matches!(r, Err(Error::NoSuchTable(_))));
    missing(e.drop_tables(&o, std::slice::from_ref(&own)));
    missing(e.truncate_table(&o, &own.0, &own.1));
    missing(e.table_def(&own.0, &own.1).map(drop));
    missing(e.open_table(s.begin(), &own.0, &own.1).map(drop));
    assert_eq!(e.databases().unwrap(), [D]);
    assert!(matches!(
        e.drop_database(&o, CATALOG_DATABASE),
        Err(Error::NoSuchDatabase(_))
    ));
}

#[test]
fn tables_tell_when_they_have_changed() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", ONE));
    let t = s.open("t");
    for i in 0..99 {
        s.insert(&t, &ints(&[i])).unwrap();
    }
    let changed = db.engine.changed_tables().clone();
    assert_eq!(changed.take(Duration::ZERO), None);
    // From 64 changes on it looks every 16 only.
    for i in 99..120 {
        s.insert(&t, &ints(&[i])).unwrap();
    }
    s.commit();
    assert_eq!(changed.take(Duration::ZERO), Some(t.def().id));
    assert_eq!(
        db.engine.table_name(t.def().id).unwrap(),
        Some((D.into(), "t".into()))
    );
    assert_eq!((t.changes().rows, t.changes().net), (120, 120));
    t.tell_after(50);
    for i in 0..60 {
        s.delete(&t, &int_key(i)).unwrap();
    }
    s.commit();
    assert_eq!(changed.take(Duration::ZERO), Some(t.def().id));
    assert_eq!(changed.take(Duration::ZERO), None);
    assert_eq!((t.changes().rows, t.changes().net), (180, 60));
}

/// Whatever moment the power goes: each table has its statistics or those before, and no row is nobody's.
#[test]
fn statistics_survive_a_cut_at_every_write() {
    let mut at = 0;
    while cut(at) {
        at += 1;
    }
    assert!(at > 20, "the script has {at} steps only");
}

fn cut(at: u64) -> bool {
    let disk = SimStorage::new();
    let steps = Arc::new(AtomicU64::new(0));
    let count = steps.clone();
    let done = Db::on(disk.clone());
    let mut s = done.session();
    for t in ["a", "b", "c"] {
        s.create(table(t, ONE));
    }
    disk.on_step(move |kind, _| match kind {
        OpKind::Read => Step::Go,
        _ if count.fetch_add(1, Ordering::Relaxed) == at => Step::Cut,
        _ => Step::Go,
    });
    let whole = script(&mut s).is_ok();
    drop((s, done));
    disk.clear_hook();
    disk.restart(|| at.is_multiple_of(2));
    let db = Db::on(disk);
    let mut s = db.session();
    let tables = db.engine.tables(D).unwrap();
    for t in &tables {
        match kept(&mut s, t) {
            None => assert!(!whole || t == "c"),
            Some(body) => assert!(body.starts_with(t.as_bytes()) || t == "z", "{t}"),
        }
    }
    if whole {
        assert_eq!(tables, ["b", "c", "z"]);
        assert_eq!(kept(&mut s, "b").as_deref(), Some(&b"b2"[..]));
        assert_eq!(kept(&mut s, "z").as_deref(), Some(&b"a2"[..]));
    }
    drop(s);
    db.check();
    !whole
}

fn script(s: &mut Session) -> Result<()> {
    let (e, o) = (s.engine.clone(), s.owner.clone());
    for round in ["1", "2"] {
        for t in ["a", "b", "c"] {
            e.prepare_statistics(&o)?;
            let mut txn = e.begin(&o, Isolation::ReadCommitted);
            let open = e.open_table(&mut txn, D, t)?;
            let body = format!("{t}{round}");
            match e.change_statistics(&mut txn, &open, &mut |_| Some(body.clone().into())) {
                Ok(()) => e.commit(txn)?,
                Err(err) => {
                    e.rollback(txn)?;
                    return Err(err);
                }
            }
        }
    }
    e.truncate_table(&o, D, "b")?;
    e.drop_tables(&o, &[name("c")])?;
    e.create_table(&o, table("c", ONE))?;
    e.rename_tables(&o, &[(name("a"), name("z"))])
}
