//! The views of the schema sys.

use crate::support::TestDb;

#[test]
fn every_view_can_be_read_and_described() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    let views = c.rows("SHOW FULL TABLES FROM sys");
    assert!(views.len() > 20, "{views:?}");
    let views: Vec<&str> = views
        .iter()
        .filter_map(|v| v.strip_suffix("|VIEW"))
        .collect();
    for view in &views {
        let read = c.ok(&format!("SELECT * FROM sys.`{view}`"));
        let described = c.rows(&format!("DESCRIBE sys.`{view}`"));
        let names: Vec<&str> = described
            .iter()
            .map(|row| row.split('|').next().unwrap())
            .collect();
        assert_eq!(read.headings(), names, "{view}");
        let shown = c.one(&format!("SHOW CREATE VIEW sys.`{view}`"));
        assert!(
            shown.contains(" SQL SECURITY INVOKER VIEW `sys`."),
            "{shown}"
        );
        // Both forms have the same columns.
        if let Some(plain) = view.strip_prefix("x$")
            && views.contains(&plain)
        {
            let people = c.ok(&format!("SELECT * FROM sys.`{plain}`"));
            assert_eq!(read.headings(), people.headings(), "{plain}");
        }
    }
    assert_eq!(c.code("SELECT * FROM sys.nope"), 1146);
    assert!(c.rows("SHOW TABLES FROM sys").is_empty());
    assert!(
        c.one("SHOW CREATE DATABASE sys")
            .starts_with("sys|CREATE DATABASE `sys`")
    );
    assert_eq!(c.code("CREATE TABLE sys.t (a INT)"), 1049);
    c.ok("USE sys");
    c.ok("SELECT * FROM version");
    assert_eq!(
        c.rows("SELECT table_type, COUNT(*) > 20 FROM information_schema.tables WHERE table_schema = 'sys' GROUP BY 1"),
        ["VIEW|1"]
    );
}

#[test]
fn the_database_may_be_stored_and_goes_before_the_system() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE DATABASE IF NOT EXISTS sys");
    c.ok("USE sys");
    c.ok("CREATE TABLE sys_config (variable INT PRIMARY KEY)");
    c.ok("CREATE VIEW version AS SELECT 7 AS sys_version");
    assert_eq!(c.one("SELECT * FROM sys.version"), "7");
    assert_eq!(c.one("SELECT COUNT(*) > 0 FROM metrics"), "1");
    assert_eq!(c.rows("SHOW TABLES"), ["sys_config", "version"]);
    let sql = "SELECT COUNT(*) FROM information_schema.views WHERE table_schema = 'sys' AND table_name = 'version'";
    assert_eq!(c.one(sql), "1");
    let names = c.rows("SHOW DATABASES");
    assert_eq!(names.iter().filter(|n| *n == "sys").count(), 1);
    c.ok("DROP DATABASE sys");
    assert_eq!(c.one("SELECT sys_version FROM sys.version"), "2.1.3");
}

#[test]
fn functions_are_other_names_of_native_ones() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(
        c.one("SELECT sys.format_bytes(2048), sys.FORMAT_TIME(1500000), sys.ps_thread_id(CONNECTION_ID()) = PS_CURRENT_THREAD_ID()"),
        "2.00 KiB|1.50 us|1"
    );
    assert_eq!(c.code("SELECT sys.nope(1)"), 1305);
    assert_eq!(c.code("SELECT sys.format_bytes()"), 1305);
}

#[test]
fn statements_are_analysed() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    c.ok("SELECT b, COUNT(*) FROM t GROUP BY b ORDER BY b");
    assert_eq!(c.code("SELECT b FROM nope"), 1146);
    assert_eq!(
        c.rows("SELECT query, db, full_scan, exec_count, rows_sent, rows_examined, tmp_tables, rows_sorted, total_latency RLIKE '^[0-9.]+ [a-z]+$'
                FROM sys.statement_analysis WHERE query LIKE '%GROUP BY%'"),
        ["SELECT `b` , COUNT ( * ) FROM `t` GROUP BY `b` ORDER BY `b`|test|*|1|2|2|1|2|1"]
    );
    assert_eq!(
        c.rows("SELECT query, errors, error_pct FROM sys.`x$statements_with_errors_or_warnings` WHERE errors > 0"),
        ["SELECT `b` FROM `nope`|1|100.0000"]
    );
    for view in [
        "statements_with_full_table_scans",
        "statements_with_sorting",
        "statements_with_temp_tables",
    ] {
        let sql = format!("SELECT SUM(query LIKE 'SELECT `b` , COUNT%') FROM sys.{view}");
        assert_eq!(c.one(&sql), "1", "{view}");
    }
    // The slowest are among them.
    let slow = "SELECT COUNT(*) > 0 FROM sys.statements_with_runtimes_in_95th_percentile";
    assert_eq!(c.one(slow), "1");
    let long = format!("SELECT a AS {} FROM t", "x".repeat(60));
    c.ok(&long);
    let sql = "SELECT CHAR_LENGTH(query) FROM sys.statement_analysis WHERE query LIKE 'SELECT `a` AS `xx%'";
    assert_eq!(c.one(sql), "65");
}

#[test]
fn indexes_of_no_use_and_counters_near_their_end_are_found() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, b INT, c INT, KEY b (b), KEY bc (b, c), UNIQUE u (c), KEY c (c))");
    c.ok("INSERT INTO t VALUES (50, 1, 1)");
    assert_eq!(
        c.rows("SELECT redundant_index_name, dominant_index_name, sql_drop_index FROM sys.schema_redundant_indexes ORDER BY 1, 2"),
        [
            "b|bc|ALTER TABLE `test`.`t` DROP INDEX `b`",
            "c|u|ALTER TABLE `test`.`t` DROP INDEX `c`",
        ]
    );
    assert_eq!(
        c.rows("SELECT table_name, column_name, is_signed, is_unsigned, max_value, auto_increment, auto_increment_ratio FROM sys.schema_auto_increment_columns"),
        ["t|a|0|1|255|51|0.2000"]
    );
    assert_eq!(
        c.rows(
            "SELECT object_type, count FROM sys.schema_object_overview WHERE db = 'test' ORDER BY 1"
        ),
        ["BASE TABLE|1", "INDEX (BTREE)|6"]
    );
}

#[test]
fn whoever_may_not_look_below_sees_nothing() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE USER u");
    let mut u = db.user("u").unwrap();
    assert_eq!(u.code("SELECT * FROM sys.version"), 1142);
    assert_eq!(u.code("USE sys"), 1044);
    c.ok("GRANT SELECT ON sys.* TO u");
    u.ok("SELECT * FROM sys.version");
    assert_eq!(u.code("SELECT * FROM sys.statement_analysis"), 1356);
    c.ok("GRANT SELECT ON performance_schema.* TO u");
    u.ok("SELECT * FROM sys.statement_analysis");
}
