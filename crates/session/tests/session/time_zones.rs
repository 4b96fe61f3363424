//! Named time zones: TIMESTAMPs and functions across changes of the clock.

use crate::support::TestDb;

#[test]
fn timestamps_keep_their_moment_through_gaps_and_overlaps() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET time_zone = 'europe/zurich'");
    assert_eq!(c.one("SELECT @@time_zone"), "Europe/Zurich");
    assert_eq!(c.code("SET time_zone = 'Mars/Olympus'"), 1298);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP(3) NULL, d DATETIME, KEY (ts))");
    // Passed over: refused, or the moment of the change.
    assert_eq!(
        c.code("INSERT INTO t VALUES (1, '2024-03-31 02:30:00', NULL)"),
        1292
    );
    c.ok("INSERT IGNORE INTO t VALUES (1, '2024-03-31 02:30:00.123', '2024-03-31 02:30:00')");
    assert_eq!(
        c.one("SHOW WARNINGS"),
        "Warning|1299|Invalid TIMESTAMP value in column 'ts' at row 1"
    );
    // Twice: the first.
    c.ok("INSERT INTO t VALUES (2, '2024-10-27 02:30:00', NULL)");
    c.ok("SET time_zone = '+00:00'");
    c.ok("INSERT INTO t VALUES (3, '2024-10-27 01:30:00', NULL)");
    let utc = [
        "1|2024-03-31 01:00:00.123",
        "2|2024-10-27 00:30:00.000",
        "3|2024-10-27 01:30:00.000",
    ];
    assert_eq!(c.rows("SELECT id, ts FROM t ORDER BY id"), utc);
    c.ok("SET time_zone = 'Europe/Zurich'");
    assert_eq!(
        c.rows("SELECT id, ts, UNIX_TIMESTAMP(ts) FROM t ORDER BY id"),
        [
            "1|2024-03-31 03:00:00.123|1711846800.123",
            "2|2024-10-27 02:30:00.000|1729989000.000",
            "3|2024-10-27 02:30:00.000|1729992600.000",
        ]
    );
    // Rows that are read and written again stay what they were, by whatever way.
    c.ok("UPDATE t SET d = '2020-01-01'");
    c.ok("ALTER TABLE t ADD COLUMN e INT");
    c.ok("CREATE TABLE u (id INT PRIMARY KEY, ts TIMESTAMP(3) NULL)");
    c.ok("INSERT INTO u SELECT id, ts FROM t ORDER BY d, id DESC");
    c.ok("SET time_zone = '+00:00'");
    assert_eq!(c.rows("SELECT id, ts FROM t ORDER BY id"), utc);
    assert_eq!(c.rows("SELECT id, ts FROM u ORDER BY id"), utc);
}

#[test]
fn partitions_are_found_on_both_sides_of_an_hour_that_repeats() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET time_zone = '+00:00'");
    c.ok(
        "CREATE TABLE t (id INT, ts TIMESTAMP NOT NULL) PARTITION BY RANGE (UNIX_TIMESTAMP(ts)) (
          PARTITION p0 VALUES LESS THAN (UNIX_TIMESTAMP('2024-10-27 01:00:00')),
          PARTITION p1 VALUES LESS THAN MAXVALUE)",
    );
    c.ok("INSERT INTO t VALUES (1, '2024-10-27 00:30:00'), (2, '2024-10-27 01:30:00'), (3, '2024-10-27 02:30:00')");
    c.ok("SET time_zone = 'Europe/Zurich'");
    for (condition, ids) in [
        ("ts < '2024-10-27 03:00:00'", &["1", "2"][..]),
        ("ts > '2024-10-27 01:59:59'", &["1", "2", "3"]),
        ("ts >= '2024-10-27 03:00:00'", &["3"]),
    ] {
        let sql = format!("SELECT id FROM t WHERE {condition} ORDER BY id");
        assert_eq!(c.rows(&sql), ids, "{condition}");
    }
}

#[test]
fn an_index_finds_what_a_scan_finds() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, ts TIMESTAMP NULL, KEY (ts))");
    c.ok("SET time_zone = '+00:00'");
    for day in ["2024-10-27", "2024-03-31"] {
        for minute in 0..36 {
            let (h, m) = (minute / 12, minute % 12 * 5);
            c.ok(&format!(
                "INSERT INTO t (ts) VALUES ('{day} 0{h}:{m:02}:00')"
            ));
        }
    }
    c.ok("SET time_zone = 'Europe/Zurich'");
    for day in ["2024-10-27", "2024-03-31"] {
        for at in ["01:30:00", "02:00:00", "02:25:00", "02:59:59", "03:00:00"] {
            for op in ["=", "<", "<=", ">", ">="] {
                let ask = |from: &str| {
                    format!("SELECT COUNT(*), SUM(id) FROM {from} WHERE ts {op} '{day} {at}'")
                };
                let scanned = c.one(&ask("t IGNORE INDEX (ts)"));
                assert_eq!(
                    c.one(&ask("t FORCE INDEX (ts)")),
                    scanned,
                    "{op} {day} {at}"
                );
            }
        }
    }
}

#[test]
fn functions_know_zones() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET time_zone = 'Europe/Zurich'");
    for (expression, value) in [
        ("UNIX_TIMESTAMP('2024-03-31 02:30:00')", "1711846800"),
        ("UNIX_TIMESTAMP('2024-10-27 02:30:00')", "1729989000"),
        ("FROM_UNIXTIME(1711846800)", "2024-03-31 03:00:00"),
        ("FROM_UNIXTIME(1729992600)", "2024-10-27 02:30:00"),
        (
            "CONVERT_TZ('2024-03-31 02:30:00', 'Europe/Zurich', 'UTC')",
            "2024-03-31 01:00:00",
        ),
        (
            "CONVERT_TZ('2024-10-27 02:30:00', 'Europe/Zurich', 'UTC')",
            "2024-10-27 00:30:00",
        ),
        (
            "CONVERT_TZ('2024-10-27 01:30:00', 'UTC', 'europe/zurich')",
            "2024-10-27 02:30:00",
        ),
        (
            "CONVERT_TZ('1960-01-01 00:00:00', 'UTC', 'Europe/Zurich')",
            "1960-01-01 00:00:00",
        ),
        (
            "CONVERT_TZ('2024-01-01 00:00:00', 'UTC', 'Nowhere')",
            "NULL",
        ),
        (
            "CONVERT_TZ('2024-01-01 00:00:00', 'UTC', 'SYSTEM')",
            "2024-01-01 00:00:00",
        ),
        (
            "CONVERT_TZ('2024-07-01 12:00:00', 'America/New_York', 'Asia/Kathmandu')",
            "2024-07-01 21:45:00",
        ),
    ] {
        assert_eq!(
            c.one(&format!("SELECT {expression}")),
            value,
            "{expression}"
        );
    }
    c.ok("SET timestamp = 1719828000");
    assert_eq!(c.one("SELECT NOW()"), "2024-07-01 12:00:00");
}
