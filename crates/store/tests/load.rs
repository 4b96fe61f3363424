//! Tables filled in bulk: what comes out is what inserting row by row gives.

mod common;
use common::*;
use millpond_store::*;
use std::sync::Arc;

const INDEXES: [(&str, bool, &[u8]); 3] = [
    ("PRIMARY", true, &[0]),
    ("v", false, &[1]),
    ("u", true, &[2]),
];

fn a_row(id: i64, v: i64, pad: usize) -> Vec<u8> {
    row(&[
        Some(&int(id)),
        Some(&int(v)),
        Some(&int(id * 3)),
        Some(&vec![7; pad]),
    ])
}

/// The pad of a row: most are short, some take overflow pages.
fn pad(id: i64) -> usize {
    match id % 97 {
        5 => 100_000,
        11 => 9_000,
        _ => (id % 60) as usize,
    }
}

fn load(s: &mut Session, t: &Arc<Table>, order: RowOrder, ids: &[i64]) -> Result<()> {
    let mut load = s.engine.load(&s.owner, t, order)?;
    for &id in ids {
        load.add(&a_row(id, id % 10, pad(id)))?;
    }
    let rows = load.finish().map_err(|refused| refused.error)?;
    assert_eq!(rows, ids.len() as u64);
    Ok(())
}

/// Gives the table in the making its name.
fn place(db: &Db, name: &str) {
    let full = |n: &str| (D.to_string(), n.to_string());
    let pairs = [(full("work"), full(name))];
    db.engine.place_table(&db.engine.owner(), &pairs).unwrap();
}

/// The same rows by each index; more can be written.
fn holds(s: &mut Session, t: &Table, ids: &[i64]) {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let want: Vec<Vec<u8>> = sorted
        .iter()
        .map(|&id| a_row(id, id % 10, pad(id)))
        .collect();
    assert_eq!(s.rows(t, 0), want);
    for index in 1..t.def().indexes.len() {
        let mut rows = s.rows(t, index);
        rows.sort();
        let mut want = want.clone();
        want.sort();
        assert_eq!(rows, want, "index {index}");
    }
    s.commit();
}

#[test]
fn rows_come_in_any_order_or_that_of_the_key() {
    for own_file in [false, true] {
        for count in [0, 1, 3, 20_000] {
            let db = Db::new();
            let mut s = db.session();
            let ascending: Vec<i64> = (0..count).collect();
            let mut shuffled = ascending.clone();
            let mut rng = Rng(count as u64);
            for at in (1..shuffled.len()).rev() {
                shuffled.swap(at, rng.below(at as u64 + 1) as usize);
            }
            for (name, order, ids) in [
                ("a", RowOrder::Clustered, &ascending),
                ("b", RowOrder::Any, &shuffled),
            ] {
                let mut new = table("work", &INDEXES);
                new.file_per_table = Some(own_file);
                s.create(new);
                let t = s.open("work");
                load(&mut s, &t, order, ids).unwrap();
                holds(&mut s, &t, ids);
                drop(t);
                place(&db, name);
            }
            drop(s);
            let db = db.crash();
            db.check();
            let mut s = db.session();
            for (name, ids) in [("a", &ascending), ("b", &shuffled)] {
                let t = s.open(name);
                holds(&mut s, &t, ids);
                // Rows, and their chains, change and go as others do.
                for id in [0, 5, 11, 102] {
                    let there = ids.contains(&id);
                    assert_eq!(s.delete(&t, &int_key(id)).unwrap(), there, "{name} {id}");
                }
                s.insert(&t, &a_row(5, 5, pad(5))).unwrap();
                s.commit();
            }
            drop(s);
            db.check();
        }
    }
}

#[test]
fn rows_without_a_key_are_numbered() {
    let db = Db::new();
    let mut s = db.session();
    let mut new = table("h", &[("GEN", true, &[]), ("v", false, &[1])]);
    new.hidden_row_id = true;
    s.create(new);
    let t = s.open("h");
    let ids: Vec<i64> = (0..500).rev().collect();
    load(&mut s, &t, RowOrder::Any, &ids).unwrap();
    let first = |r: &Vec<u8>| fields(r)[0].clone();
    let found: Vec<_> = s.rows(&t, 0).iter().map(first).collect();
    let want: Vec<_> = ids.iter().map(|&id| Some(int(id))).collect();
    assert_eq!(found, want);
    s.insert(&t, &a_row(1000, 1, 1)).unwrap();
    s.commit();
    assert_eq!(s.rows(&t, 0).last().map(first), Some(Some(int(1000))));
    s.commit();
    drop(s);
    db.check();
}

/// The row that is in the way is named; what was written goes with the table.
#[test]
fn duplicates_are_found() {
    let db = Db::new();
    let mut s = db.session();
    for (index, order) in [
        (0, RowOrder::Clustered),
        (0, RowOrder::Any),
        (2, RowOrder::Clustered),
        (2, RowOrder::Any),
    ] {
        s.create(table("t", &INDEXES));
        let t = s.open("t");
        let mut load = s.engine.load(&s.owner, &t, order).unwrap();
        let second = match index {
            0 => a_row(299, 3, 40),
            _ => row(&[
                Some(&int(300)),
                None,
                Some(&int(299 * 3)),
                Some(&[1; 50_000]),
            ]),
        };
        let mut refused = None;
        for r in (0..300)
            .map(|id| a_row(id, 0, pad(id)))
            .chain([second.clone()])
        {
            if let Err(e) = load.add(&r) {
                refused = Some((e, r));
            }
        }
        let (error, row) = match refused {
            Some((e, r)) => {
                drop(load);
                (e, Some(r))
            }
            None => {
                let refused = load.finish().unwrap_err();
                (refused.error, refused.row)
            }
        };
        assert!(
            matches!(error, Error::DuplicateKey { index: i } if i == index),
            "{error:?}"
        );
        assert_eq!(row, Some(second), "{index} {order:?}");
        s.commit();
        drop(t);
        let owner = db.engine.owner();
        let name = (D.to_string(), "t".to_string());
        db.engine.drop_tables(&owner, &[name]).unwrap();
    }
    drop(s);
    db.check();
}

#[test]
fn a_load_can_be_killed() {
    let db = Db::new();
    let mut s = db.session();
    s.create(table("t", &INDEXES));
    let t = s.open("t");
    let mut load = s.engine.load(&s.owner, &t, RowOrder::Clustered).unwrap();
    for id in 0..5000 {
        load.add(&a_row(id, id, 10)).unwrap();
    }
    s.owner.kill();
    assert!(matches!(
        load.finish().unwrap_err().error,
        Error::Interrupted
    ));
    s.rollback();
    drop(s);
    let owner = db.engine.owner();
    drop(t);
    db.engine
        .drop_tables(&owner, &[(D.to_string(), "t".to_string())])
        .unwrap();
    db.check();
}
