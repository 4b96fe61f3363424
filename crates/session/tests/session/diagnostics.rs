//! Warnings, and the numbers that statements leave behind.

use crate::support::TestDb;

#[test]
fn diagnostics_last_until_the_next_statement() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(c.code("SELECT * FROM missing"), 1146);
    assert_eq!(c.ok("SHOW COUNT(*) ERRORS").rows, [["1"]]);
    assert_eq!(
        c.warnings(),
        ["Error 1146 Table 'test.missing' doesn't exist"]
    );
    assert_eq!(c.one("SELECT @@error_count"), "1");
    assert!(c.warnings().is_empty());
    let dropped = c.ok("DROP TABLE IF EXISTS nothing");
    assert_eq!(dropped.done.warnings, 1);
    assert_eq!(c.warnings(), ["Note 1051 Unknown table 'test.nothing'"]);
    c.ok("SET sql_notes = 0");
    assert_eq!(c.ok("DROP TABLE IF EXISTS nothing").done.warnings, 0);
    assert!(c.warnings().is_empty());
}

#[test]
fn what_does_not_parse_is_all_there_is_to_say() {
    let db = TestDb::new();
    let mut c = db.client();
    for wrong in ["SELECT nope1", "SELEC 1", "SHOW CREATE USER x", "SELEC 2"] {
        c.err(wrong);
    }
    let errors = c.rows("SHOW ERRORS");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("Error|1064|") && errors[0].contains("SELEC 2"));
    c.ok("SELECT 1 / 0, CAST('x' AS SIGNED)");
    c.err("SELEC 3");
    assert_eq!(c.one("SELECT @@warning_count, @@error_count"), "1|1");
    c.ok("SELECT 1 / 0");
    assert!(c.0.prepare("SELEC 4").is_err());
    assert_eq!(c.rows("SHOW WARNINGS").len(), 1);
    assert_eq!(c.one("SHOW COUNT(*) WARNINGS"), "1");
}

#[test]
fn found_rows_of_unions_last_through_show_warnings() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (id INT PRIMARY KEY)");
    c.ok("INSERT INTO a VALUES (1), (2), (3), (7)");
    for (query, rows, found) in [
        (
            "SELECT SQL_CALC_FOUND_ROWS id FROM a UNION SELECT 7 LIMIT 1",
            1,
            "4",
        ),
        (
            "SELECT SQL_CALC_FOUND_ROWS id FROM a UNION ALL SELECT 7 LIMIT 1, 2",
            2,
            "5",
        ),
        (
            "SELECT SQL_CALC_FOUND_ROWS id FROM a UNION ALL SELECT 7 ORDER BY id LIMIT 2",
            2,
            "5",
        ),
        (
            "SELECT SQL_CALC_FOUND_ROWS id FROM a UNION SELECT 8 LIMIT 0",
            0,
            "5",
        ),
        ("SELECT id FROM a UNION SELECT 8 LIMIT 2", 2, "2"),
    ] {
        assert_eq!(c.rows(query).len(), rows, "{query}");
        c.rows("SHOW WARNINGS");
        assert_eq!(c.one("SELECT FOUND_ROWS()"), found, "{query}");
    }
}

#[test]
fn functions_warn_of_what_they_leave_out() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SELECT STR_TO_DATE('2024-05-06T07:08:09Z', '%Y-%m-%dT%H:%i:%s')");
    assert_eq!(
        c.warnings(),
        ["Warning 1292 Truncated incorrect datetime value: '2024-05-06T07:08:09Z'"]
    );
    c.ok("SELECT CONVERT(x'61e962' USING utf8mb4)");
    assert_eq!(
        c.warnings(),
        ["Warning 1300 Invalid utf8mb4 character string: 'E962'"]
    );
    let meta = c.ok("SELECT CONVERT(x'e9' USING utf8mb4)").columns;
    assert_eq!(meta[0].flags & millpond_session::result::FLAG_NOT_NULL, 0);
}

#[test]
fn last_insert_id_and_row_count() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT)");
    let done = c.ok("INSERT INTO t (b) VALUES (1), (2)").done;
    assert_eq!((done.affected, done.last_insert_id), (2, 1));
    assert_eq!(done.info, "Records: 2  Duplicates: 0  Warnings: 0");
    assert_eq!(
        c.one("SELECT LAST_INSERT_ID(), @@last_insert_id, ROW_COUNT()"),
        "1|1|2"
    );
    assert_eq!(c.one("SELECT ROW_COUNT()"), "-1");
    c.ok("UPDATE t SET b = 9");
    assert_eq!(c.one("SELECT ROW_COUNT()"), "2");
    c.ok("SET last_insert_id = 77");
    assert_eq!(c.one("SELECT LAST_INSERT_ID()"), "77");
    // A value that was given is told, too, a negative one by its bits.
    let done = c.ok("INSERT INTO t VALUES (-999, 1)").done;
    assert_eq!(done.last_insert_id as i64, -999);
    assert_eq!(c.ok("INSERT INTO t (b) VALUES (1)").done.last_insert_id, 3);
    // Of several the last, though IGNORE passed its row over; none if it did so with all.
    let mut id = |sql: &str| c.ok(sql).done.last_insert_id;
    assert_eq!(id("INSERT IGNORE INTO t VALUES (8, 1), (6, 1), (8, 2)"), 8);
    assert_eq!(id("INSERT IGNORE INTO t VALUES (9, 1), (1, 1)"), 1);
    assert_eq!(id("INSERT IGNORE INTO t VALUES (1, 1)"), 0);
    assert_eq!(
        id("INSERT IGNORE INTO t VALUES (1, 1), (NULL, 1), (2, 1)"),
        10
    );
    assert_eq!(
        id("INSERT IGNORE INTO t SELECT 20, 1 UNION ALL SELECT 3, 1"),
        3
    );
}

#[test]
fn insert_id_is_for_one_insert() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    c.ok("SET insert_id = 10");
    assert_eq!(c.one("SELECT @@insert_id"), "10");
    let done = c.ok("INSERT INTO t (v) VALUES (1), (2)").done;
    assert_eq!(done.last_insert_id, 10);
    assert_eq!(c.one("SELECT @@insert_id"), "0");
    c.ok("INSERT INTO t (v) VALUES (3)");
    assert_eq!(c.rows("SELECT id FROM t"), ["10", "11", "12"]);
}
