//! Rows kept for a cursor: in memory as far as `tmp_table_size` goes, then in a temporary file.

use crate::support::TestDb;

/// The n-th row: rows of all lengths, one longer than a block now and then.
fn row(n: usize) -> Vec<u8> {
    let len = if n % 500 == 499 { 200_000 } else { n % 300 };
    format!("{n} ").into_bytes().repeat(1 + len / 8)
}

fn temporary_files(db: &TestDb) -> usize {
    std::fs::read_dir(db.path.join("tmp")).map_or(0, Iterator::count)
}

#[test]
fn rows_come_back_in_their_order() {
    const ROWS: usize = 3_000;
    let db = TestDb::new();
    for (bytes, spills) in [(64 << 20, false), (200 << 10, true), (1 << 10, true)] {
        let mut c = db.client();
        c.ok(&format!("SET tmp_table_size = {bytes}"));
        let mut kept = c.0.keep_rows();
        assert!(kept.take().unwrap().is_none());
        for n in 0..ROWS {
            kept.push(&row(n)).unwrap();
        }
        assert_eq!(temporary_files(&db) > 0, spills, "{bytes}");
        // More may come while some are taken.
        for n in 0..ROWS / 2 {
            assert_eq!(kept.take().unwrap(), Some(&row(n)[..]), "{bytes}: {n}");
        }
        for n in ROWS..ROWS + 100 {
            kept.push(&row(n)).unwrap();
        }
        for n in ROWS / 2..ROWS + 100 {
            assert_eq!(kept.take().unwrap(), Some(&row(n)[..]), "{bytes}: {n}");
        }
        assert!(kept.take().unwrap().is_none());
        drop(kept);
        assert_eq!(temporary_files(&db), 0);
    }
}
