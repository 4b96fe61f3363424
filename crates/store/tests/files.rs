//! Tables with files of their own, many more than the process may have open.

mod common;
use common::*;
use millpond_store::io::sim::SimStorage;

const TABLES: i64 = 600;
/// Half of them for tables; a batch being written keeps up to 192 at work.
const HANDLES: usize = 450;

fn name(i: i64) -> String {
    format!("t{i}")
}

fn put(s: &mut Session, i: i64, key: i64) {
    let t = s.open(&name(i));
    s.insert(&t, &ints(&[key, i])).unwrap();
    s.commit();
}

fn rows(s: &mut Session, i: i64) -> Vec<Vec<i64>> {
    let t = s.open(&name(i));
    let rows = s.ints(&t, 0);
    s.commit();
    rows
}

/// Handles are closed and opened again as tables are used, written back and dropped, and in recovery.
#[test]
fn more_tables_than_handles() {
    let disk = SimStorage::new();
    disk.set_handle_limit(Some(HANDLES));
    let db = Db::on(disk.clone());
    let mut s = db.session();
    for i in 0..TABLES {
        let mut t = table(&name(i), &[("PRIMARY", true, &[0])]);
        t.file_per_table = Some(true);
        s.create(t);
        put(&mut s, i, 0);
        assert!(disk.handles() <= HANDLES);
    }
    for round in 1..3 {
        for i in 0..TABLES {
            put(&mut s, (i * 7) % TABLES, round);
        }
        let open = db.engine.status().counter("Innodb_num_open_files");
        assert!(open as usize <= HANDLES / 2, "{open}");
    }
    drop(s);
    // All of them are in the log.
    let db = db.crash();
    let mut s = db.session();
    for i in 0..TABLES {
        let expected: Vec<Vec<i64>> = (0..3).map(|k| vec![k, i]).collect();
        assert_eq!(rows(&mut s, i), expected);
    }
    db.check();
    db.engine.close().unwrap();
    drop((s, db));
    disk.kill();
    let db = Db::on(disk.clone());
    let mut s = db.session();
    for i in 0..TABLES {
        assert_eq!(rows(&mut s, i).len(), 3);
    }
    assert_eq!(db.engine.drop_database(&s.owner, D).unwrap() as i64, TABLES);
    db.check();
    assert!(!disk.files().iter().any(|(n, _)| n.starts_with("tables/")));
    assert!(disk.handles() <= HANDLES);
}
