//! Stored objects that are no tables: made, changed and dropped, with their database too, and atomic through crashes.

mod common;

use millpond_store::io::Storage;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn open(sim: &SimStorage) -> Engine {
    let options = common::options();
    let codecs = Arc::new(common::ToyCodecs);
    Engine::open(Arc::new(sim.clone()) as Arc<dyn Storage>, options, codecs).unwrap()
}

fn key(database: &str, name: &str) -> ObjectKey {
    ObjectKey {
        database: database.into(),
        kind: 1,
        name: name.into(),
    }
}

fn put(e: &Engine, o: &Arc<Owner>, at: &ObjectKey, body: Option<&[u8]>) -> Result<()> {
    e.change_object(o, at, &mut |_| body.map(<[u8]>::to_vec))
}

/// All objects, as `database.name=body`.
fn all(e: &Engine, database: Option<&str>) -> Vec<String> {
    let mut list = Vec::new();
    e.each_object(database, &mut |object| {
        let (k, body) = (&object.key, String::from_utf8_lossy(&object.body));
        list.push(format!("{}.{}={body}", k.database, k.name));
        Ok(())
    })
    .unwrap();
    list
}

#[test]
fn objects_come_change_and_go() {
    let sim = SimStorage::new();
    let e = open(&sim);
    let o = e.owner();
    assert!(e.object(&key("d", "p")).unwrap().is_none());
    let missing = put(&e, &o, &key("d", "p"), Some(b"1"));
    assert!(matches!(missing, Err(Error::NoSuchDatabase(_))));
    for database in ["d", "da"] {
        e.create_database(&o, database, &[]).unwrap();
    }
    put(&e, &o, &key("d", "p"), Some(b"1")).unwrap();
    put(&e, &o, &key("d", "q"), Some(b"2")).unwrap();
    put(&e, &o, &key("da", "p"), Some(b"3")).unwrap();
    let mut seen = None;
    e.change_object(&o, &key("d", "p"), &mut |old| {
        seen = old.map(<[u8]>::to_vec);
        Some(b"changed".to_vec())
    })
    .unwrap();
    assert_eq!(seen.as_deref(), Some(&b"1"[..]));
    assert_eq!(all(&e, Some("d")), ["d.p=changed", "d.q=2"]);
    put(&e, &o, &key("d", "q"), None).unwrap();
    assert_eq!(all(&e, None), ["d.p=changed", "da.p=3"]);
    e.drop_database(&o, "d").unwrap();
    assert_eq!(all(&e, None), ["da.p=3"]);
    // A database of the same name has none of those.
    e.create_database(&o, "d", &[]).unwrap();
    assert!(e.object(&key("d", "p")).unwrap().is_none());
    drop(o);
    e.close().unwrap();
    drop(e);
    sim.kill();
    assert_eq!(all(&open(&sim), None), ["da.p=3"]);
}

#[test]
fn objects_get_other_keys() {
    let sim = SimStorage::new();
    let e = open(&sim);
    let o = e.owner();
    e.create_database(&o, "d", &[]).unwrap();
    e.create_database(&o, "da", &[]).unwrap();
    put(&e, &o, &key("d", "p"), Some(b"1")).unwrap();
    put(&e, &o, &key("d", "q"), Some(b"2")).unwrap();
    let rename = |from: &ObjectKey, to: &ObjectKey| {
        let mut asked = None;
        let done = e.move_object(&o, from, to, &mut |body, there| {
            asked = Some((body.map(<[u8]>::to_vec), there));
            match (body, there) {
                (Some(_), false) => Some(b"moved".to_vec()),
                _ => None,
            }
        });
        done.map(|()| asked.unwrap())
    };
    // The name is taken, or there is none to move: nothing happens.
    let taken = rename(&key("d", "p"), &key("d", "q")).unwrap();
    assert_eq!(taken, (Some(b"1".to_vec()), true));
    assert_eq!(
        rename(&key("d", "x"), &key("d", "y")).unwrap(),
        (None, false)
    );
    let missing = rename(&key("d", "p"), &key("nosuch", "p"));
    assert!(matches!(missing, Err(Error::NoSuchDatabase(_))));
    assert!(rename(&key("d", "p"), &key("d", "p")).is_err());
    assert_eq!(all(&e, None), ["d.p=1", "d.q=2"]);
    rename(&key("d", "p"), &key("da", "r")).unwrap();
    assert_eq!(all(&e, None), ["d.q=2", "da.r=moved"]);
    drop(o);
    drop(e);
    sim.kill();
    assert_eq!(all(&open(&sim), None), ["d.q=2", "da.r=moved"]);
}

#[test]
fn objects_of_tables_go_with_them() {
    let sim = SimStorage::new();
    let e = open(&sim);
    let o = e.owner();
    e.create_database(&o, "d", &[]).unwrap();
    for name in ["t", "tt", "u"] {
        let table = engine::NewTable {
            database: "d".into(),
            ..common::table(name, &[("PRIMARY", true, &[0])])
        };
        e.create_table(&o, table).unwrap();
    }
    let add = |table: &str, name: &str| {
        e.change_object_of(&o, table, &key("d", name), &mut |_| Some(name.into()))
    };
    let of = |table: &str| -> Vec<String> {
        let list = e.objects_of("d", table).unwrap();
        assert!(list.iter().all(|object| object.table == table));
        list.into_iter().map(|object| object.key.name).collect()
    };
    let none: [&str; 0] = [];
    let mut txn = e.begin(&o, Isolation::ReadCommitted);
    let open_before = e.open_table(&mut txn, "d", "t").unwrap();
    e.commit(txn).unwrap();
    add("t", "one").unwrap();
    // Who has the table open learns that it is another now.
    let mut txn = e.begin(&o, Isolation::ReadCommitted);
    assert!(!open_before.pin(&mut txn).unwrap());
    e.commit(txn).unwrap();
    add("t", "two").unwrap();
    add("tt", "three").unwrap();
    assert!(matches!(add("nosuch", "four"), Err(Error::NoSuchTable(_))));
    assert_eq!(of("t"), ["one", "two"]);
    assert_eq!(of("tt"), ["three"]);
    assert_eq!(of("u"), none);
    let name = |table: &str| ("d".to_string(), table.to_string());
    e.rename_tables(&o, &[(name("t"), name("v"))]).unwrap();
    assert_eq!(of("t"), none);
    assert_eq!(of("v"), ["one", "two"]);
    e.change_object_of(&o, "v", &key("d", "one"), &mut |_| None)
        .unwrap();
    assert_eq!(of("v"), ["two"]);
    e.drop_tables(&o, &[name("v")]).unwrap();
    assert_eq!(all(&e, None), ["d.three=three"]);
    e.drop_database(&o, "d").unwrap();
    assert_eq!(all(&e, None), none);
}

/// After a power cut at any write each change is there or is not, and what had been answered is.
#[test]
fn a_crash_leaves_changes_whole() {
    let states: [&[&str]; 6] = [
        &[],
        &["d.p=one"],
        &["d.p=one", "d.q=two"],
        &["d.p=other", "d.q=two"],
        &["d.p=other"],
        &[],
    ];
    let mut at = 0;
    loop {
        let sim = SimStorage::new();
        let steps = Arc::new(AtomicU64::new(0));
        let mut done = 0;
        {
            let e = open(&sim);
            let o = e.owner();
            e.create_database(&o, "d", &[]).unwrap();
            let count = steps.clone();
            sim.on_step(move |kind, _| {
                let cut = kind != OpKind::Read && count.fetch_add(1, Ordering::Relaxed) == at;
                if cut { Step::Cut } else { Step::Go }
            });
            let changes: [&dyn Fn() -> Result<()>; 5] = [
                &|| put(&e, &o, &key("d", "p"), Some(b"one")),
                &|| put(&e, &o, &key("d", "q"), Some(b"two")),
                &|| put(&e, &o, &key("d", "p"), Some(b"other")),
                &|| put(&e, &o, &key("d", "q"), None),
                &|| e.drop_database(&o, "d").map(|_| ()),
            ];
            for change in changes {
                if change().is_err() {
                    break;
                }
                done += 1;
            }
        }
        sim.clear_hook();
        if !sim.is_cut() {
            break;
        }
        let mut coin = at;
        sim.restart(|| {
            coin = coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            coin >> 63 == 1
        });
        let e = open(&sim);
        let now = all(&e, None);
        let next = states[(done + 1).min(5)];
        assert!(
            now == states[done] || now == next,
            "{now:?} after {done}, cut at step {at}"
        );
        assert_eq!(
            e.databases().unwrap().contains(&"d".into()),
            done < 5 && (done < 4 || !now.is_empty())
        );
        assert_eq!(e.check().unwrap(), Vec::<String>::new(), "cut at step {at}");
        at += 1;
    }
    assert!(at >= 8, "{at} steps");
}
