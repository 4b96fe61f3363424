//! Variables, diagnostics, transactions, prepared statements, the process list.

mod support;

use std::sync::Arc;

use millpond_sql::{ConnectionInfo, SqlError, Value, value};
use support::{Client, Collector, TestDb};

#[test]
fn variables_are_read_and_set() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(c.one("SELECT @@autocommit"), "1");
    assert!(c.one("SELECT @@version").starts_with("8.0."));
    assert!(c.one("SELECT @@version").contains("-millpond-"));
    c.ok("SET autocommit = OFF");
    assert_eq!(
        c.one("SELECT @@session.autocommit, @@global.autocommit"),
        "0|1"
    );
    assert_eq!(
        c.rows("SHOW VARIABLES LIKE 'autocommit'"),
        ["autocommit|OFF"]
    );
    assert_eq!(
        c.rows("SHOW GLOBAL VARIABLES WHERE Variable_name = 'autocommit'"),
        ["autocommit|ON"]
    );
    c.ok("SET autocommit = DEFAULT");
    c.ok("SET @old = @@sql_mode, sql_mode = 'ANSI_QUOTES'");
    assert_eq!(c.one("SELECT \"x\" FROM (SELECT 1 AS x) AS d"), "1");
    c.ok("SET sql_mode = @old");
    assert_eq!(c.one("SELECT \"x\""), "x");
    c.ok("SET NAMES utf8mb4 COLLATE utf8mb4_bin");
    assert_eq!(
        c.one("SELECT @@collation_connection, 'a' = 'A'"),
        "utf8mb4_bin|0"
    );
    c.ok("SET NAMES utf8");
    assert_eq!(
        c.one("SELECT @@character_set_client, 'a' = 'A'"),
        "utf8mb3|1"
    );
    c.ok("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY");
    assert_eq!(
        c.one("SELECT @@transaction_isolation, @@tx_isolation, @@transaction_read_only"),
        "READ-COMMITTED|READ-COMMITTED|1"
    );
    c.ok("SET time_zone = '+03:00'");
    c.ok("SET timestamp = 1000000000.25");
    assert_eq!(c.one("SELECT NOW(2)"), "2001-09-09 04:46:40.25");
}

#[test]
fn the_drop_algorithm_has_two_variables() {
    let start = [("millpond_drop_algorithm", "FLUSH_LIST")];
    let db = TestDb::with(&start);
    let mut c = db.client();
    let both = "SELECT @@millpond_drop_algorithm, @@innodb_lazy_drop_table";
    assert_eq!(c.one(both), "flush_list|0");
    for (set, then) in [
        ("millpond_drop_algorithm = 'full_scan'", "full_scan|0"),
        ("innodb_lazy_drop_table = OFF", "full_scan|0"),
        ("innodb_lazy_drop_table = 1", "lazy_mark|1"),
        ("innodb_lazy_drop_table = 0", "millpond|0"),
        ("millpond_drop_algorithm = lazy_mark", "lazy_mark|1"),
        ("millpond_drop_algorithm = cleaner", "cleaner|0"),
        ("innodb_lazy_drop_table = ON", "lazy_mark|1"),
        ("millpond_drop_algorithm = stale", "stale|0"),
        ("millpond_drop_algorithm = DEFAULT", "millpond|0"),
    ] {
        c.ok(&format!("SET GLOBAL {set}"));
        assert_eq!(c.one(both), then, "after {set}");
        let shown = c.rows("SHOW VARIABLES WHERE Variable_name LIKE '%drop_%'");
        let (algorithm, lazy) = then.split_once('|').unwrap();
        let lazy = if lazy == "1" { "ON" } else { "OFF" };
        assert_eq!(
            shown,
            [
                format!("innodb_lazy_drop_table|{lazy}"),
                format!("millpond_drop_algorithm|{algorithm}")
            ]
        );
        // Whatever is chosen, tables go.
        c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b))");
        c.ok("INSERT INTO t VALUES (1, 2), (3, 4)");
        c.ok("TRUNCATE TABLE t");
        assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
        c.ok("INSERT INTO t VALUES (5, 6)");
        c.ok("DROP INDEX b ON t");
        c.ok("DROP TABLE t");
        c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
        c.ok("DROP TABLE t");
    }
    let lazy = TestDb::with(&[start[0], ("innodb_lazy_drop_table", "1")]);
    assert_eq!(lazy.client().one(both), "lazy_mark|1");
}

#[test]
fn wrong_settings_are_refused() {
    let db = TestDb::new();
    let mut c = db.client();
    for (sql, code) in [
        ("SET no_such = 1", 1193),
        ("SELECT @@no_such", 1193),
        ("SET version = 'x'", 1238),
        ("SET GLOBAL port = 3307", 1238),
        ("SET millpond_drop_algorithm = stale", 1229),
        ("SET GLOBAL millpond_drop_algorithm = eager", 1231),
        ("SET SESSION max_connections = 10", 1229),
        ("SET GLOBAL timestamp = 1", 1228),
        ("SELECT @@session.max_connections", 1238),
        ("SET autocommit = 2", 1231),
        ("SET autocommit = 1.5", 1232),
        ("SET wait_timeout = 'x'", 1232),
        ("SET sql_mode = 'NOPE'", 1231),
        ("SET div_precision_increment = 6", 1235),
        ("SET max_allowed_packet = 1024", 1621),
        ("SET time_zone = 'Mars/Olympus'", 1298),
        ("SET NAMES gbk", 1115),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_klingon_ci", 1273),
        ("SET NAMES binary COLLATE utf8mb4_bin", 1253),
        ("SET PERSIST wait_timeout = 10", 1235),
    ] {
        assert_eq!(c.code(sql), code, "{sql}");
    }
    c.ok("SET sql_safe_updates = 0, max_execution_time = 0");
    c.ok("SET sql_mode = 'STRICT_ALL_TABLES'");
    assert_eq!(c.code("SET wait_timeout = 0"), 1231);
    c.ok("SET sql_mode = DEFAULT");
    let set = c.ok("SET wait_timeout = 0");
    assert_eq!(set.done.warnings, 1);
    assert_eq!(
        c.warnings(),
        ["Warning 1292 Truncated incorrect wait_timeout value: '0'"]
    );
    assert_eq!(c.one("SELECT @@wait_timeout"), "1");
}

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
fn constants_have_the_name_that_they_are_given() {
    let db = TestDb::new();
    let mut c = db.client();
    let answer =
        c.ok("SELECT NAME_CONST('my name', 5), name_const('x', 6) AS y, NAME_CONST('x', 1) + 1");
    assert_eq!(
        answer.headings(),
        ["my name", "y", "NAME_CONST('x', 1) + 1"]
    );
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
    assert_eq!(meta[0].flags & millpond_sql::result::FLAG_NOT_NULL, 0);
}

#[test]
fn transactions_commit_and_roll_back() {
    let db = TestDb::new();
    let mut c = db.client();
    let mut other = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("BEGIN");
    assert_eq!(c.0.status_flags() & 3, 3);
    c.ok("INSERT INTO t VALUES (1)");
    assert!(other.rows("SELECT * FROM t").is_empty());
    c.ok("COMMIT");
    assert_eq!(c.0.status_flags() & 3, 2);
    assert_eq!(other.rows("SELECT * FROM t"), ["1"]);
    c.ok("START TRANSACTION");
    c.ok("INSERT INTO t VALUES (2)");
    c.ok("SAVEPOINT s");
    c.ok("INSERT INTO t VALUES (3)");
    c.ok("ROLLBACK TO s");
    c.ok("INSERT INTO t VALUES (4)");
    c.ok("RELEASE SAVEPOINT s");
    assert_eq!(c.code("ROLLBACK TO s"), 1305);
    c.ok("COMMIT");
    assert_eq!(c.rows("SELECT * FROM t"), ["1", "2", "4"]);
    c.ok("BEGIN");
    c.ok("DELETE FROM t");
    c.ok("ROLLBACK");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "3");
    // DDL commits.
    c.ok("BEGIN");
    c.ok("INSERT INTO t VALUES (5)");
    c.ok("CREATE TABLE u (a INT)");
    c.ok("ROLLBACK");
    assert_eq!(other.one("SELECT COUNT(*) FROM t"), "4");
}

#[test]
fn a_failed_statement_leaves_nothing() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("INSERT INTO t VALUES (5)");
    c.ok("BEGIN");
    c.ok("INSERT INTO t VALUES (1)");
    assert_eq!(c.code("INSERT INTO t VALUES (2), (3), (5)"), 1062);
    c.ok("COMMIT");
    assert_eq!(c.rows("SELECT * FROM t"), ["1", "5"]);
    assert_eq!(c.code("INSERT INTO t VALUES (2), (3), (5)"), 1062);
    assert_eq!(c.rows("SELECT * FROM t"), ["1", "5"]);
}

#[test]
fn without_autocommit_a_transaction_is_always_open() {
    let db = TestDb::new();
    let mut c = db.client();
    let mut other = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("SET autocommit = 0");
    assert_eq!(c.0.status_flags() & 3, 0);
    c.ok("SELECT 1");
    assert_eq!(c.0.status_flags() & 3, 0);
    c.ok("INSERT INTO t VALUES (1)");
    assert_eq!(c.0.status_flags() & 3, 1);
    c.ok("ROLLBACK");
    c.ok("INSERT INTO t VALUES (2)");
    c.ok("SET autocommit = 1");
    assert_eq!(other.rows("SELECT * FROM t"), ["2"]);
}

#[test]
fn read_only_transactions_refuse_writes() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("START TRANSACTION READ ONLY");
    assert_eq!(c.0.status_flags() & 8192, 8192);
    assert_eq!(c.code("INSERT INTO t VALUES (1)"), 1792);
    assert_eq!(c.code("DROP TABLE t"), 1792);
    assert_eq!(c.code("SET TRANSACTION READ WRITE"), 1568);
    c.ok("COMMIT");
    c.ok("SET TRANSACTION READ ONLY");
    // What is refused, or uses no table, is no transaction.
    for _ in 0..2 {
        assert_eq!(c.code("INSERT INTO t VALUES (1)"), 1792);
    }
    c.ok("SELECT * FROM t");
    // It was for one transaction only.
    c.ok("INSERT INTO t VALUES (1)");
}

#[test]
fn set_transaction_waits_for_a_transaction() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    let write = "INSERT INTO t VALUES (1)";
    for sql in [
        "SET @x = (SELECT 1)",
        "SET autocommit = 0",
        "SET autocommit = 1",
        "SELECT 1",
        "DO 1",
        "SHOW TABLES",
        "PREPARE p FROM 'SELECT * FROM t'",
        "PREPARE p FROM 'SHOW TABLES'",
        "USE test",
        "UNLOCK TABLES",
        "SELECT table_name FROM information_schema.tables",
        "SELECT nothing",
        "SELECT * FROM nothing",
    ] {
        c.ok("SET TRANSACTION READ ONLY");
        let _ = c.run(sql);
        assert_eq!(c.code(write), 1792, "{sql}");
        c.ok("ROLLBACK");
    }
    for sql in [
        "SELECT * FROM t",
        "SET @x = (SELECT COUNT(*) FROM t)",
        "COMMIT",
        "ROLLBACK",
        "CREATE TABLE u (a INT)",
        "DROP TABLE u",
    ] {
        c.ok("SET TRANSACTION READ ONLY");
        c.ok(sql);
        c.ok(write);
        c.ok("DELETE FROM t");
    }
    c.ok("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    c.ok("SET @x = 1");
    c.ok("START TRANSACTION");
    c.ok("SELECT * FROM t");
    let mut other = db.client();
    let locks = "SELECT COUNT(*) > 0 FROM performance_schema.data_locks";
    assert_eq!(other.one(locks), "1");
}

#[test]
fn a_read_only_session_refuses_definitions() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("CREATE TEMPORARY TABLE mine (a INT)");
    c.ok("SET SESSION TRANSACTION READ ONLY");
    for sql in [
        "DROP TABLE t",
        "DROP TABLE IF EXISTS nothing",
        "TRUNCATE t",
        "ALTER TABLE t ADD b INT",
        "CREATE TABLE u (a INT)",
        "CREATE TABLE u AS SELECT 1",
        "CREATE TABLE u LIKE t",
        "RENAME TABLE t TO u",
        "CREATE INDEX i ON t (a)",
        "CREATE DATABASE d",
        "DROP DATABASE test",
        "ALTER DATABASE test DEFAULT CHARACTER SET latin1",
        "CREATE TEMPORARY TABLE u (a INT)",
        "DROP TEMPORARY TABLE mine",
        "TRUNCATE mine",
        "OPTIMIZE TABLE t",
        "REPAIR TABLE t",
        "LOCK TABLES t WRITE",
    ] {
        assert_eq!(c.code(sql), 1792, "{sql}");
    }
    for sql in [
        "ANALYZE TABLE t",
        "CHECK TABLE t",
        "LOCK TABLES t READ, mine WRITE",
        "INSERT INTO mine VALUES (1)",
    ] {
        c.ok(sql);
    }
    c.ok("UNLOCK TABLES");
    c.ok("SET SESSION TRANSACTION READ WRITE");
    c.ok("DROP TABLE t");
}

#[test]
fn every_way_to_set_a_variable_is_told() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("PREPARE p FROM 'SET wait_timeout = 6'");
    for sql in [
        "/* app */ SET wait_timeout = 5",
        "SELECT 1; SET net_read_timeout = 5",
        "/*!40101 SET net_write_timeout = 5 */",
        "EXECUTE p",
    ] {
        let before = c.0.settings_generation();
        c.ok("SELECT 1");
        assert_eq!(c.0.settings_generation(), before);
        c.ok(sql);
        assert_ne!(c.0.settings_generation(), before, "{sql}");
    }
    assert_eq!(c.0.wait_timeout(), 6);
}

#[test]
fn isolation_decides_what_is_seen() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    a.ok("INSERT INTO t VALUES (1, 0)");
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    b.ok("UPDATE t SET b = 1");
    assert_eq!(a.one("SELECT b FROM t"), "0");
    a.ok("COMMIT");
    assert_eq!(a.one("SELECT b FROM t"), "1");
    a.ok("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    a.ok("BEGIN");
    assert_eq!(a.one("SELECT b FROM t"), "1");
    b.ok("UPDATE t SET b = 2");
    assert_eq!(a.one("SELECT b FROM t"), "2");
    a.ok("COMMIT");
    // SERIALIZABLE reads lock inside a transaction.
    a.ok("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    a.ok("BEGIN");
    assert_eq!(a.one("SELECT b FROM t"), "2");
    b.ok("SET innodb_lock_wait_timeout = 1");
    assert_eq!(b.code("UPDATE t SET b = 3"), 1205);
    a.ok("COMMIT");
    assert_eq!(a.one("SELECT b FROM t"), "2");
    b.ok("UPDATE t SET b = 3");
}

#[test]
fn a_deadlock_ends_the_victims_transaction() {
    let db = TestDb::new();
    let mut setup = db.client();
    setup.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    setup.ok("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)");
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let run = |first: u32, second: u32| {
        let mut c = db.client();
        let barrier = barrier.clone();
        std::thread::spawn(move || {
            c.ok("BEGIN");
            c.ok(&format!("UPDATE t SET b = b + 1 WHERE a = {first}"));
            barrier.wait();
            let got = c.run(&format!("UPDATE t SET b = b + 1 WHERE a = {second}"));
            let open = c.0.status_flags() & 1 == 1;
            if got.is_ok() {
                c.ok("COMMIT");
            }
            (got.map(|_| ()), open)
        })
    };
    let (x, y) = (run(1, 2), run(2, 1));
    let results = [x.join().unwrap(), y.join().unwrap()];
    let failed: Vec<_> = results
        .iter()
        .filter_map(|(r, open)| r.as_ref().err().map(|e| (e.code, *open)))
        .collect();
    assert_eq!(failed, [(1213, false)]);
    assert_eq!(setup.rows("SELECT b FROM t"), ["1", "1", "0"]);
}

#[test]
fn several_statements_of_a_text() {
    let db = TestDb::new();
    let mut c = db.client();
    let answers = c
        .run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1),(2); SELECT * FROM t; -- done")
        .unwrap();
    assert_eq!(answers.len(), 3);
    assert!(answers[0].done.more && answers[1].done.more && !answers[2].done.more);
    assert_eq!(answers[1].done.affected, 2);
    // An error ends the text; what came before it stays.
    let mut sink = Collector::default();
    let e =
        c.0.execute("SELECT 1; SELECT * FROM nope; SELECT 2", &mut sink)
            .unwrap_err();
    assert_eq!((e.code, sink.answers.len()), (1146, 1));
    c.0.set_multi_statements(false);
    assert_eq!(c.code("SELECT 1; SELECT 2"), 1064);
    c.ok("SELECT 1; ");
    assert_eq!(c.code(""), 1065);
    assert_eq!(c.code("-- nothing"), 1065);
}

#[test]
fn prepared_statements_follow_their_tables() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10))");
    c.ok("INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    let read = c.0.prepare("SELECT b FROM t WHERE a = ?").unwrap();
    assert_eq!((read.params, read.columns.len()), (1, 1));
    let get = |c: &mut support::Client, key: i64| -> Result<Vec<String>, SqlError> {
        let mut sink = Collector::default();
        c.0.execute_prepared(&read, &[Value::Int(key)], &mut sink)?;
        Ok(sink.answers[0].rows.iter().map(|r| r.join("|")).collect())
    };
    assert_eq!(get(&mut c, 2).unwrap(), ["two"]);
    assert!(get(&mut c, 3).unwrap().is_empty());
    c.ok("CREATE INDEX by_b ON t (b)");
    assert_eq!(get(&mut c, 1).unwrap(), ["one"]);
    c.ok("DROP TABLE t");
    assert_eq!(get(&mut c, 1).unwrap_err().code, 1146);
    c.ok("CREATE TABLE t (b VARCHAR(10), a BIGINT, KEY (a))");
    c.ok("INSERT INTO t VALUES ('uno', 1)");
    assert_eq!(get(&mut c, 1).unwrap(), ["uno"]);
    let mut sink = Collector::default();
    let wrong = c.0.execute_prepared(&read, &[], &mut sink);
    assert_eq!(wrong.unwrap_err().code, 1210);
    assert_eq!(
        c.0.prepare("SELECT * FROM missing").err().unwrap().code,
        1146
    );
    assert_eq!(c.0.prepare("SELECT 1; SELECT 2").err().unwrap().code, 1064);
}

#[test]
fn prepared_statements_in_text() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("PREPARE ins FROM 'INSERT INTO t VALUES (?, ?)'");
    c.ok("SET @a = 1, @b = 10");
    c.ok("EXECUTE ins USING @a, @b");
    c.ok("SET @a = 2");
    c.ok("EXECUTE ins USING @a, @b");
    assert_eq!(c.rows("SELECT * FROM t"), ["1|10", "2|10"]);
    assert_eq!(c.code("EXECUTE ins USING @a"), 1210);
    assert_eq!(c.code("EXECUTE other"), 1243);
    c.ok("SET @text = 'SELECT COUNT(*) FROM t WHERE b = ?'");
    c.ok("PREPARE q FROM @text");
    assert_eq!(c.one("EXECUTE q USING @b"), "2");
    c.ok("DEALLOCATE PREPARE q");
    assert_eq!(c.code("EXECUTE q USING @b"), 1243);
    assert_eq!(c.code("DEALLOCATE PREPARE q"), 1243);
    assert_eq!(c.code("PREPARE p FROM 'PREPARE x FROM \"SELECT 1\"'"), 1295);
    c.0.reset().unwrap();
    assert_eq!(c.code("EXECUTE ins USING @a, @b"), 1243);
    assert_eq!(c.one("SELECT @a"), "NULL");
}

#[test]
fn repeated_texts_follow_their_tables_too() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("CREATE DATABASE second");
    c.ok("CREATE TABLE second.t (x INT, y INT)");
    for _ in 0..4 {
        assert_eq!(c.ok("SELECT * FROM t").columns.len(), 1);
    }
    c.ok("USE second");
    for _ in 0..4 {
        assert_eq!(c.ok("SELECT * FROM t").columns.len(), 2);
    }
    c.ok("DROP TABLE second.t");
    assert_eq!(c.code("SELECT * FROM t"), 1146);
    c.ok("CREATE TABLE t (x INT, y INT, z INT)");
    assert_eq!(c.ok("SELECT * FROM t").columns.len(), 3);
    c.ok("DROP DATABASE second");
    assert_eq!(c.code("SELECT * FROM t"), 1046);
    assert_eq!(c.one("SELECT DATABASE()"), "NULL");
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
}

#[test]
fn the_process_list_and_kill() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    let list = a.ok("SHOW PROCESSLIST");
    assert_eq!(
        list.headings(),
        [
            "Id", "User", "Host", "db", "Command", "Time", "State", "Info"
        ]
    );
    assert_eq!(list.rows.len(), 2);
    let own = list.rows.iter().find(|r| r[0] == a.0.id().to_string());
    let own = own.expect("the session itself");
    assert_eq!(
        (&*own[3], &*own[4], &*own[7]),
        ("test", "Query", "SHOW PROCESSLIST")
    );
    let idle = list.rows.iter().find(|r| r[0] == b.0.id().to_string());
    let idle = idle.expect("the other session");
    assert_eq!((&*idle[4], &*idle[7]), ("Sleep", "NULL"));
    assert_eq!(a.code("KILL 4000000000"), 1094);
    // KILL QUERY of an idle session changes nothing.
    a.ok(&format!("KILL QUERY {}", b.0.id()));
    b.ok("SELECT 1");
    a.ok(&format!("KILL {}", b.0.id()));
    assert!(b.0.killed());
    drop(b);
    assert_eq!(
        a.one("SELECT COUNT(*) FROM information_schema.processlist"),
        "1"
    );
}

#[test]
fn kill_query_ends_a_lock_wait() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    a.ok("INSERT INTO t VALUES (1)");
    a.ok("BEGIN");
    a.ok("DELETE FROM t");
    let id = b.0.id();
    let waiter = std::thread::spawn(move || (b.code("DELETE FROM t"), b));
    loop {
        let busy = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command = 'Query'"
        );
        if a.one(&busy) == "1" {
            break;
        }
        std::thread::yield_now();
    }
    a.ok(&format!("KILL QUERY {id}"));
    let (code, mut b) = waiter.join().unwrap();
    assert_eq!(code, 1317);
    assert!(!b.0.killed());
    a.ok("ROLLBACK");
    assert_eq!(b.one("SELECT COUNT(*) FROM t"), "1");
}

#[test]
fn status_counts() {
    let db = TestDb::new();
    let mut c = db.client();
    let count = |c: &mut support::Client, name: &str| -> u64 {
        let rows = c.ok(&format!("SHOW STATUS LIKE '{name}'")).rows;
        rows[0][1].parse().unwrap()
    };
    let before = count(&mut c, "Com_select");
    c.ok("SELECT 1");
    c.ok("SELECT 2");
    assert_eq!(count(&mut c, "Com_select"), before + 2);
    let questions = count(&mut c, "Questions");
    assert_eq!(count(&mut c, "Questions"), questions + 1);
    let connected = db.client();
    assert_eq!(count(&mut c, "Threads_connected"), 2);
    drop(connected);
    assert_eq!(count(&mut c, "Threads_connected"), 1);
    c.ok("FLUSH STATUS");
    assert_eq!(count(&mut c, "Com_select"), 0);
    let global = c.ok("SHOW GLOBAL STATUS LIKE 'Com_select'").rows;
    assert!(global[0][1].parse::<u64>().unwrap() >= before + 2);
}

#[test]
fn instances_close_and_open_again() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("INSERT INTO t VALUES (1)");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows("SELECT * FROM t"), ["1"]);
    drop(c);
    db.instance().close().unwrap();
    let refused = db.instance().connect(Default::default());
    assert_eq!(refused.err().map(|e| e.code), Some(1053));
}

#[test]
fn locked_tables_go_by_their_aliases() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, v INT)");
    c.ok("CREATE TABLE u (a INT PRIMARY KEY, v INT)");
    c.ok("LOCK TABLES t READ");
    c.ok("SELECT * FROM t");
    assert_eq!(c.code("SELECT * FROM t AS z"), 1100);
    assert_eq!(c.code("SELECT * FROM t JOIN t AS z"), 1100);
    assert_eq!(c.code("SELECT 1 FROM (SELECT 1 FROM t z) q"), 1100);
    c.ok("LOCK TABLES t WRITE, t AS x READ, u AS y WRITE");
    c.ok("INSERT INTO t SELECT a + 1, v FROM t AS x");
    c.ok("UPDATE t SET v = 1");
    assert_eq!(c.code("UPDATE t AS x SET v = 1"), 1099);
    assert_eq!(c.code("DELETE x FROM t AS x JOIN u AS y"), 1099);
    c.ok("DELETE y FROM t AS x JOIN u AS y ON x.a = y.a");
    c.ok("UPDATE u AS y SET v = 1");
    assert_eq!(c.code("INSERT INTO u VALUES (1, 1)"), 1100);
    c.ok("TRUNCATE u");
    assert_eq!(c.code("LOCK TABLES t READ, u AS t READ"), 1066);
}

#[test]
fn locking_clauses_name_tables_of_their_query() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("SELECT * FROM t AS x FOR UPDATE OF x");
    assert_eq!(c.code("SELECT * FROM t FOR UPDATE OF nope"), 3568);
    assert_eq!(c.code("SELECT * FROM t AS x FOR SHARE OF t"), 3568);
}

/// Tables that few rows are in for a moment are what locks are taken on most.
#[test]
fn small_tables_are_locked_by_index() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE q (id INT PRIMARY KEY, st INT, v INT, KEY (st), KEY (v))");
    a.ok("INSERT INTO q VALUES (1, 0, 10), (2, 1, 20), (3, 1, 50)");
    for (sql, key) in [
        ("UPDATE q SET v = 2 WHERE st = 0", "st"),
        ("DELETE FROM q WHERE st = 1", "st"),
        ("SELECT * FROM q WHERE v BETWEEN 10 AND 20 FOR UPDATE", "v"),
    ] {
        let plan = a.rows(&format!("EXPLAIN {sql}")).remove(0);
        assert!(plan.split('|').any(|p| p == key), "{sql}: {plan}");
    }
    // The values are not part of the plan, and the table is empty when it is made.
    a.ok("CREATE TABLE e (id INT PRIMARY KEY AUTO_INCREMENT, v INT, KEY (v))");
    for c in [&mut a, &mut b] {
        c.ok("SET TRANSACTION_ISOLATION = 'READ-COMMITTED', INNODB_LOCK_WAIT_TIMEOUT = 1");
        c.ok("UPDATE e SET v = v + 0 WHERE v = 7");
    }
    a.ok("INSERT INTO e (v) VALUES (5), (10)");
    a.ok("BEGIN");
    a.ok("UPDATE e SET v = v + 1 WHERE v = 5");
    b.ok("UPDATE e SET v = v + 1 WHERE v = 10");
    a.ok("COMMIT");
    for c in [&mut a, &mut b] {
        c.ok("SET TRANSACTION_ISOLATION = 'REPEATABLE-READ'");
    }
    a.ok("BEGIN");
    a.ok("SELECT COUNT(*) FROM q WHERE v BETWEEN 10 AND 20 FOR UPDATE");
    b.ok("INSERT INTO q VALUES (5, 5, 55)");
}

#[test]
fn locked_tables_keep_others_out() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    a.ok("CREATE TABLE u (a INT PRIMARY KEY)");
    b.ok("SET lock_wait_timeout = 1");
    a.ok("LOCK TABLES t WRITE");
    a.ok("INSERT INTO t VALUES (1)");
    a.ok("ALTER TABLE t DISABLE KEYS");
    assert_eq!(a.code("SELECT * FROM u"), 1100);
    assert_eq!(a.code("CREATE TABLE v (a INT)"), 1192);
    assert_eq!(b.code("SELECT * FROM t"), 1205);
    b.ok("SELECT * FROM u");
    a.ok("INSERT INTO t VALUES (2)");
    a.ok("UNLOCK TABLES");
    assert_eq!(b.rows("SELECT * FROM t"), ["1", "2"]);
    a.ok("LOCK TABLES t WRITE, u AS x WRITE");
    a.ok("BEGIN");
    b.ok("SELECT * FROM t");
    a.ok("LOCK TABLES t READ, u READ LOCAL");
    b.ok("LOCK TABLES t READ");
    b.ok("UNLOCK TABLES");
    assert_eq!(b.one("SELECT COUNT(*) FROM t"), "2");
    assert_eq!(b.code("INSERT INTO t VALUES (3)"), 1205);
    assert_eq!(a.code("INSERT INTO t VALUES (3)"), 1099);
    assert_eq!(a.code("TRUNCATE t"), 1099);
    assert_eq!(a.one("SELECT COUNT(*) FROM t"), "2");
    assert_eq!(a.code("LOCK TABLES nope WRITE"), 1146);
    a.ok("LOCK TABLES t WRITE");
    drop(a);
    b.ok("SELECT * FROM t");
}

#[test]
fn sessions_share_statements_but_not_what_they_mean() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE DATABASE other");
    a.ok("CREATE TABLE test.t (id INT PRIMARY KEY, x VARCHAR(10))");
    a.ok("CREATE TABLE other.t (id INT PRIMARY KEY, x INT, y INT)");
    a.ok("INSERT INTO test.t VALUES (1, 'one')");
    a.ok("INSERT INTO other.t VALUES (1, 11, 12)");
    let hits = |c: &mut support::Client| -> u64 {
        let row = c.one("SHOW STATUS LIKE 'Statement_cache_hits'");
        row.rsplit('|')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    let select = "SELECT * FROM t WHERE id = 1";
    for _ in 0..2 {
        assert_eq!(a.one(select), "1|one");
    }
    // The first time in the session, and already known.
    let before = hits(&mut b);
    assert_eq!(b.one(select), "1|one");
    assert_eq!(hits(&mut b), before + 1);
    // The same text in another database, there and back.
    b.ok("USE other");
    for _ in 0..3 {
        assert_eq!(b.one(select), "1|11|12");
        assert_eq!(a.one(select), "1|one");
    }
    b.ok("USE test");
    assert_eq!(b.one(select), "1|one");
    // Another sql_mode, another meaning.
    let quoted = "SELECT \"x\" FROM t ORDER BY 1";
    b.ok("SET sql_mode = 'ANSI_QUOTES'");
    for _ in 0..3 {
        assert_eq!(a.one(quoted), "x");
        assert_eq!(b.one(quoted), "one");
    }
    b.ok("SET sql_mode = DEFAULT, time_zone = '+02:00', timestamp = 0");
    // The types of variables are a session's own.
    a.ok("SET @v = 1");
    b.ok("SET @v = 'text'");
    for _ in 0..3 {
        assert_eq!(a.one("SELECT @v + 1, @v"), "2|1");
        assert_eq!(b.one("SELECT @v"), "text");
        assert!(b.ok("SELECT @v").columns[0].ty.is_string());
        assert!(!a.ok("SELECT @v").columns[0].ty.is_string());
    }
    // A change by one is seen by all.
    a.ok("ALTER TABLE t ADD z INT DEFAULT 5");
    assert_eq!(b.one(select), "1|one|5");
    assert_eq!(a.one(select), "1|one|5");
    let p =
        b.0.prepare("SELECT * FROM t WHERE id = ?")
            .expect("prepare");
    a.ok("ALTER TABLE t DROP z");
    let q =
        b.0.prepare("SELECT * FROM t WHERE id = ?")
            .expect("prepare");
    assert_eq!((p.columns.len(), q.columns.len()), (3, 2));
    a.ok("DROP TABLE t");
    assert_eq!(b.code(select), 1146);
    assert_eq!(a.code(select), 1146);
}

#[test]
fn functions_that_wait() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    assert_eq!(
        a.one("SELECT SLEEP(0), BENCHMARK(5000, MD5('x')), BENCHMARK(NULL, 1)"),
        "0|0|NULL"
    );
    assert_eq!(a.code("SELECT SLEEP(-1)"), 1210);
    assert_eq!(a.code("SELECT SLEEP(NULL)"), 1210);
    // A limit wakes it; among rows the statement fails.
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    a.ok("INSERT INTO t VALUES (1), (2)");
    a.ok("SET max_execution_time = 1");
    assert_eq!(a.one("SELECT SLEEP(1000)"), "1");
    assert_eq!(a.code("SELECT id FROM t WHERE SLEEP(1000 + 0 * id)"), 3024);
    a.ok("SET max_execution_time = 0");
    assert_eq!(
        a.one("/* x */ SELECT /*+ SET_VAR(x=1) MAX_EXECUTION_TIME( 1 ) */ SLEEP(1000)"),
        "1"
    );
    // Locks by name.
    let me = a.one("SELECT CONNECTION_ID()");
    assert_eq!(
        a.one("SELECT GET_LOCK('x', 0), GET_LOCK('X', 0), IS_FREE_LOCK('x')"),
        "1|1|0"
    );
    assert_eq!(
        b.one("SELECT GET_LOCK('x', 0), IS_USED_LOCK('x'), RELEASE_LOCK('x'), RELEASE_LOCK('y')"),
        format!("0|{me}|0|NULL")
    );
    assert_eq!(b.code("SELECT GET_LOCK(NULL, 0)"), 3057);
    assert_eq!(
        a.one("SELECT RELEASE_LOCK('x'), RELEASE_ALL_LOCKS(), IS_USED_LOCK('x')"),
        "1|1|NULL"
    );
    b.ok("DO GET_LOCK('x', 0)");
    drop(b);
    assert_eq!(a.one("SELECT GET_LOCK('x', 0)"), "1");
    a.0.reset().expect("reset");
    assert_eq!(a.one("SELECT IS_FREE_LOCK('x')"), "1");
}

#[test]
fn the_logs_counters_are_shown() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    let count = |c: &mut support::Client, name: &str| -> u64 {
        let row = c.one(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
        row.rsplit('|')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    for (id, name) in [
        "Innodb_os_log_fsyncs",
        "Innodb_log_writes",
        "Innodb_log_write_requests",
    ]
    .into_iter()
    .enumerate()
    {
        let before = count(&mut c, name);
        c.ok(&format!("INSERT INTO t VALUES ({id})"));
        assert!(count(&mut c, name) > before, "{name}");
    }
}

#[test]
fn careful_clients_are_heeded() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, KEY (k))");
    c.ok("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)");
    c.ok("SET sql_safe_updates = 1, sql_select_limit = 2, max_join_size = 1000000");
    for sql in [
        "UPDATE t SET v = 0",
        "UPDATE t SET v = 0 WHERE v = 1",
        "DELETE FROM t",
        "DELETE a FROM t a JOIN t b ON b.id = a.v",
    ] {
        assert_eq!(c.code(sql), 1175, "{sql}");
    }
    for sql in [
        "UPDATE t SET v = 0 LIMIT 1",
        "UPDATE t SET v = v WHERE k = 1",
        "DELETE FROM t WHERE id = 9",
        "UPDATE t a JOIN t b ON b.id = 1 SET a.v = 5 WHERE a.id = 2",
    ] {
        c.ok(sql);
    }
    // Only what is sent is limited, and only if the statement says nothing itself.
    assert_eq!(c.rows("SELECT id FROM t ORDER BY id DESC"), ["3", "2"]);
    assert_eq!(c.rows("SELECT id FROM t UNION ALL SELECT 9").len(), 2);
    assert_eq!(c.rows("SELECT id FROM t LIMIT 3").len(), 3);
    assert_eq!(c.one("SELECT COUNT(*) FROM (SELECT id FROM t) d"), "3");
    assert_eq!(c.rows("SELECT SQL_CALC_FOUND_ROWS id FROM t").len(), 2);
    assert_eq!(c.one("SELECT FOUND_ROWS()"), "3");
    assert!(c.rows("SHOW VARIABLES LIKE 'innodb%'").len() > 2);
    c.ok("CREATE TABLE copy SELECT * FROM t");
    c.ok("INSERT INTO copy SELECT * FROM t");
    assert_eq!(c.one("SELECT COUNT(*) FROM copy"), "6");
    c.ok("SET sql_select_limit = 0");
    assert!(c.rows("SELECT id FROM t").is_empty());
    c.ok("SET sql_select_limit = DEFAULT, max_join_size = 5");
    assert_eq!(c.one("SELECT @@sql_big_selects"), "0");
    assert_eq!(c.code("SELECT * FROM t a, t b WHERE a.v < b.v"), 1104);
    c.ok("SELECT * FROM t WHERE id = 1");
    c.ok("SET sql_big_selects = 1");
    c.ok("SELECT * FROM t a, t b WHERE a.v < b.v");
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

#[test]
fn commands_take_parameters() {
    let db = TestDb::new();
    let mut c = db.client();
    let set = c.0.prepare("SET @a = ?, @b = ? + 1").expect("prepare");
    assert_eq!(set.params, 2);
    let mut sink = Collector::default();
    c.0.execute_prepared(&set, &[Value::str("x"), Value::Int(4)], &mut sink)
        .expect("execute");
    assert_eq!(c.one("SELECT @a, @b"), "x|5");
    let kill = c.0.prepare("KILL QUERY ?").expect("prepare");
    let ran =
        c.0.execute_prepared(&kill, &[Value::Int(1 << 30)], &mut sink);
    assert_eq!(ran.map_err(|e| e.code), Err(1094));
}

#[test]
fn kill_wakes_who_waits() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("DO GET_LOCK('x', 0)");
    for (sql, answer) in [
        ("SELECT SLEEP(100000)", "1"),
        ("SELECT GET_LOCK('x', -1)", "NULL"),
    ] {
        let mut other = db.client();
        let id = other.one("SELECT CONNECTION_ID()");
        std::thread::scope(|s| {
            let waits = s.spawn(move || other.one(sql));
            let busy = format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info = \"{sql}\""
            );
            while c.one(&busy) == "0" {
                std::thread::yield_now();
            }
            c.ok(&format!("KILL QUERY {id}"));
            assert_eq!(waits.join().expect("joins"), answer);
        });
    }
}

#[test]
fn placeholders_have_the_types_of_their_values() {
    use millpond_sql::types::BaseType as B;
    let db = TestDb::new();
    let mut c = db.client();
    let p = c.0.prepare("SELECT ?, ? + 1, -?").expect("prepare");
    let mut run = |v: Value<'static>| {
        let mut sink = Collector::default();
        c.0.execute_prepared(&p, &[v.clone(), v.clone(), v], &mut sink)
            .expect("execute");
        let answer = sink.answers.pop().expect("an answer");
        let types: Vec<B> = answer.columns.iter().map(|c| c.ty.base).collect();
        (types, answer.rows[0].join("|"))
    };
    let decimal = Value::Decimal(value::Decimal::from_i128(150, 2));
    for (v, types, row) in [
        (Value::Int(7), [B::BigInt; 3], "7|8|-7"),
        (Value::Double(0.5), [B::Double; 3], "0.5|1.5|-0.5"),
        (
            Value::Int(i64::MAX - 1),
            [B::BigInt; 3],
            "9223372036854775806|9223372036854775807|-9223372036854775806",
        ),
        (decimal, [B::Decimal; 3], "1.50|2.50|-1.50"),
        (
            Value::str("4"),
            [B::LongText, B::Double, B::Double],
            "4|5|-4",
        ),
        (
            Value::Null,
            [B::LongText, B::Double, B::Double],
            "NULL|NULL|NULL",
        ),
    ] {
        assert_eq!(run(v), (types.to_vec(), row.to_string()));
    }
    c.ok("SET @n = 3");
    c.ok("PREPARE s FROM 'SELECT ? DIV 2, ? * 2'");
    assert_eq!(c.one("EXECUTE s USING @n, @n"), "1|6");
    c.ok("SET @n = 2.5");
    assert_eq!(c.one("EXECUTE s USING @n, @n"), "1|5.0");
}

#[test]
fn plans_serve_values_of_any_precision_and_null() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, bal DECIMAL(20,2), n BIGINT)");
    a.ok("INSERT INTO t VALUES (1, 0, 0)");
    let decimal = |n| Value::Decimal(value::Decimal::from_i128(n, 2));
    let plans = |c: &mut support::Client| -> u64 {
        let shown = c.one("SHOW SESSION STATUS LIKE 'Statement_plans'");
        shown
            .split('|')
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    let update = "UPDATE t SET bal = bal + ?, n = n + ? WHERE id = ?";
    let run = |c: &mut support::Client, bal: Value<'static>, n: Value<'static>| {
        let p = c.0.prepare(update).expect("prepare");
        let params = [bal, n, Value::Int(1)];
        c.0.execute_prepared(&p, &params, &mut Collector::default())
            .expect("execute");
    };
    // What sessions share is a text met twice.
    run(&mut a, decimal(999), Value::Int(1));
    run(&mut a, decimal(1), Value::Int(0));
    let before = plans(&mut a);
    for bal in [1000, 950, 123_456_789, -5] {
        run(&mut a, decimal(bal), Value::Int(2));
    }
    assert_eq!(a.one("SELECT bal, n FROM t"), "1234597.34|9");
    let selected = plans(&mut a) - before;
    assert_eq!(selected, 1, "only the SELECT is planned");
    let p = a.0.prepare(update).expect("prepare");
    let before = plans(&mut a);
    for bal in [decimal(100), Value::Null, decimal(12_345), Value::Null] {
        let params = [bal, Value::Null, Value::Int(1)];
        a.0.execute_prepared(&p, &params, &mut Collector::default())
            .expect("execute");
    }
    assert_eq!(plans(&mut a) - before, 0);
    assert_eq!(a.one("SELECT bal IS NULL, n IS NULL FROM t"), "1|1");
    // Another session has the same plan.
    let before = plans(&mut b);
    run(&mut b, decimal(77), Value::Int(1));
    assert_eq!(plans(&mut b) - before, 0);
}

#[test]
fn a_client_gets_the_character_set_it_asks_for_or_an_error() {
    let db = TestDb::new();
    let connect = |collation_id| {
        db.instance().connect(ConnectionInfo {
            user: "root".into(),
            collation_id,
            ..ConnectionInfo::default()
        })
    };
    for (id, client) in [
        (8, "latin1"),
        (11, "ascii"),
        (33, "utf8mb3"),
        (255, "utf8mb4"),
        (0, "utf8mb4"),
    ] {
        let mut c = Client(connect(id).unwrap());
        let sets = c.one("SELECT @@character_set_client, @@character_set_results");
        assert_eq!(sets, format!("{client}|{client}"), "{id}");
    }
    // gbk
    assert_eq!(connect(28).err().unwrap().code, 1115);
    let mut c = db.client();
    assert_eq!(c.code("SET NAMES gbk"), 1115);
    assert_eq!(c.code("SET character_set_connection = latin1"), 1115);
    assert_eq!(
        c.code("CREATE TABLE t (a VARCHAR(9) CHARACTER SET latin1)"),
        1115
    );
}

#[test]
fn the_limit_of_connections_holds_whenever_it_is_set() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET GLOBAL max_connections = 200");
    assert_eq!(db.instance().limit_connections(100), Some(200));
    assert_eq!(c.one("SELECT @@max_connections"), "100");
    assert_eq!(db.instance().limit_connections(120), None);
    for asked in ["5000", "DEFAULT"] {
        c.ok("SET GLOBAL max_connections = 100");
        c.ok(&format!("SET GLOBAL max_connections = {asked}"));
        let warned = c.one("SHOW WARNINGS");
        assert!(
            warned.starts_with("Warning|1292|Truncated incorrect max_connections value: '"),
            "{warned}"
        );
        assert_eq!(c.one("SELECT @@max_connections"), "120");
    }
    c.ok("SET sql_mode = 'STRICT_ALL_TABLES'");
    assert_eq!(c.code("SET GLOBAL max_connections = 121"), 1231);
    c.ok("SET GLOBAL max_connections = 120");
    c.ok("SET GLOBAL max_connections = 20");
}

/// Whether a statement waits: it is killed when it is seen to run, unless it has ended by then.
fn waits(c: &mut support::Client, sql: &str, by: &mut support::Client) -> bool {
    let id = c.one("SELECT CONNECTION_ID()");
    std::thread::scope(|s| {
        let run = s.spawn(|| c.run(sql).map_err(|e| e.code));
        let busy = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info = '{sql}'"
        );
        while by.one(&busy) == "0" && !run.is_finished() {
            std::thread::yield_now();
        }
        by.ok(&format!("KILL QUERY {id}"));
        matches!(run.join().expect("joins"), Err(1317))
    })
}

#[test]
fn a_global_read_lock_keeps_changes_out() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    a.ok("CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2");
    b.ok("SET autocommit = 0");
    // As mariadb-dump --lock-all-tables does.
    a.ok("FLUSH TABLES");
    a.ok("FLUSH TABLES WITH READ LOCK");
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    for sql in [
        "INSERT INTO t VALUES (9)",
        "DELETE FROM p",
        "CREATE TABLE u (a INT)",
        "DROP TABLE t",
        "OPTIMIZE TABLE t",
        "LOCK TABLES t WRITE",
        "CREATE DATABASE other",
    ] {
        assert_eq!(a.code(sql), 1223, "{sql}");
    }
    a.ok("CREATE TEMPORARY TABLE mine (a INT)");
    a.ok("INSERT INTO mine VALUES (1)");
    a.ok("DROP TEMPORARY TABLE mine");
    assert_eq!(a.one("SELECT COUNT(*) FROM t"), "0");
    assert_eq!(b.one("SELECT COUNT(*) FROM t"), "0");
    b.ok("LOCK TABLES t READ");
    b.ok("UNLOCK TABLES");
    for sql in [
        "INSERT INTO p VALUES (1)",
        "TRUNCATE TABLE t",
        "CREATE DATABASE other",
    ] {
        assert!(waits(&mut b, sql, &mut a), "{sql}");
    }
    a.ok("UNLOCK TABLES");
    b.ok("INSERT INTO p VALUES (1)");
    // It waits for those who have written.
    assert!(waits(&mut a, "FLUSH TABLES WITH READ LOCK", &mut b));
    b.ok("COMMIT");
    a.ok("FLUSH TABLES WITH READ LOCK");
    drop(a);
    b.ok("CREATE TABLE u (a INT)");
    b.ok("FLUSH TABLES u, t WITH READ LOCK");
    assert_eq!(b.code("INSERT INTO u VALUES (1)"), 1099);
    assert_eq!(b.code("SELECT * FROM p"), 1100);
}

/// A statement that writes a table anew ends, however it ends, while FLUSH TABLES WITH READ LOCK waits for it.
#[test]
fn a_table_half_written_goes_while_a_global_read_lock_waits() {
    let db = TestDb::new();
    let [mut a, mut b, mut c] = [db.client(), db.client(), db.client()];
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    a.ok("INSERT INTO t VALUES (1, 1), (2, 1)");
    a.ok("SET lock_wait_timeout = 20");
    b.ok("SET lock_wait_timeout = 20");
    let engine = db.instance().engine();
    let half_made = || engine.tables("#sql").unwrap_or_default();
    let stops = "DO GET_LOCK('l', 9)";
    let goes = "DO RELEASE_LOCK('l')";
    // What keeps the statement from ending before the other waits, what lets it go on, and what it comes to.
    for (stop, sql, go, end) in [
        (
            "BEGIN; SELECT * FROM t",
            "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v)",
            "COMMIT",
            Err(1062),
        ),
        (
            stops,
            "CREATE TABLE u (v INT PRIMARY KEY) SELECT v, GET_LOCK('l', 20) AS l FROM t",
            goes,
            Err(1062),
        ),
        (
            stops,
            "CREATE TABLE u SELECT id, GET_LOCK('l', 20) AS l FROM t",
            goes,
            Ok(()),
        ),
    ] {
        for sql in stop.split("; ") {
            c.ok(sql);
        }
        std::thread::scope(|s| {
            let changing = s.spawn(|| a.run(sql).map(drop).map_err(|e| e.code));
            while engine.waits().is_empty() && half_made().is_empty() {
                std::thread::yield_now();
            }
            let before = engine.waits().len();
            let flushing = s.spawn(|| {
                let locked = b.run("FLUSH TABLES WITH READ LOCK").map(drop);
                b.ok("UNLOCK TABLES");
                locked.map_err(|e| e.code)
            });
            while engine.waits().len() == before && !flushing.is_finished() {
                std::thread::yield_now();
            }
            assert!(!flushing.is_finished(), "{sql}");
            c.ok(go);
            assert_eq!(changing.join().expect("joins"), end, "{sql}");
            assert_eq!(flushing.join().expect("joins"), Ok(()), "{sql}");
        });
        assert!(half_made().is_empty(), "{sql}");
        a.ok("DO RELEASE_ALL_LOCKS()");
    }
}

#[test]
fn distinct_in_aggregates_goes_to_disk_beyond_the_memory() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE d (n INT PRIMARY KEY)");
    let digits: Vec<String> = (0..100).map(|n| format!("({n})")).collect();
    c.ok(&format!("INSERT INTO d VALUES {}", digits.join(",")));
    for name in ["sort_buffer_size", "join_buffer_size", "tmp_table_size"] {
        c.ok(&format!("SET {name} = 1024"));
    }
    let from = "FROM (SELECT x.n * 100 + y.n AS v FROM d x JOIN d y) t";
    // Each value twice; some 1.3 MB of keys where 32 kB are to be had.
    let twice = format!("{from} JOIN (SELECT 0 AS z UNION ALL SELECT 1) u");
    assert_eq!(
        c.one(&format!(
            "SELECT COUNT(DISTINCT v), SUM(DISTINCT v), COUNT(DISTINCT v, z), BIT_OR(DISTINCT v), COUNT(*) {twice}"
        )),
        "10000|49995000|20000|16383|20000"
    );
    assert_eq!(
        c.rows(&format!(
            "SELECT z, COUNT(DISTINCT v), SUM(DISTINCT v) {twice} GROUP BY z"
        )),
        ["0|10000|49995000", "1|10000|49995000"]
    );
    assert_eq!(
        c.one(&format!(
            "SELECT GROUP_CONCAT(DISTINCT v ORDER BY v DESC) {twice}"
        ))[..15],
        *"9999,9998,9997,"
    );
    assert_eq!(
        c.warnings(),
        ["Warning 1260 Row 206 was cut by GROUP_CONCAT()"]
    );
    assert_eq!(
        c.one(&format!("SELECT LENGTH(GROUP_CONCAT(v)) {twice}")),
        "1024"
    );
    // Many groups with a few values each cannot all go to disk: they have a bound.
    let groups =
        format!("SELECT v % 400, COUNT(DISTINCT v, z, x.n) {twice} JOIN d x GROUP BY v % 400");
    assert_eq!(c.code(&groups), 1038);
    c.ok("SET tmp_table_size = 16777216");
    assert_eq!(
        c.rows("SELECT COUNT(DISTINCT n), n % 2 FROM d GROUP BY n % 2"),
        ["50|0", "50|1"]
    );
}

#[test]
fn addresses_periods_sets_and_patterns() {
    let db = TestDb::new();
    let mut c = db.client();
    for (expression, value) in [
        ("SOUNDEX('Quadratically')", "Q36324"),
        ("SOUNDEX('Tymczak')", "T520"),
        ("SOUNDEX('1x2')", "X000"),
        ("SOUNDEX('')", ""),
        ("PERIOD_ADD(202312, 2)", "202402"),
        ("PERIOD_ADD(9912, 1)", "200001"),
        ("PERIOD_DIFF(9802, 199703)", "11"),
        ("INET_ATON('10.0.5.9')", "167773449"),
        ("INET_ATON('127.1')", "2130706433"),
        ("INET_ATON('1.2.3')", "16908291"),
        ("INET_ATON('256.1.1.1')", "NULL"),
        ("INET_ATON('1.')", "NULL"),
        ("INET_NTOA(167773449)", "10.0.5.9"),
        ("INET_NTOA(4294967296)", "NULL"),
        (
            "HEX(INET6_ATON('fdfe::5a55:caff:fefa:9089'))",
            "FDFE0000000000005A55CAFFFEFA9089",
        ),
        ("INET6_NTOA(INET6_ATON('::ffff:1.2.3.4'))", "::ffff:1.2.3.4"),
        ("INET6_NTOA(INET6_ATON('::1.2.3.4'))", "::1.2.3.4"),
        ("INET6_NTOA(INET6_ATON('1:0:0:2:0:0:0:3'))", "1:0:0:2::3"),
        ("INET6_NTOA('abc')", "NULL"),
        (
            "CONCAT(IS_IPV4('1.2.3.4'), IS_IPV4('1.2.3'), IS_IPV6('::1'), IS_IPV6('1.2.3.4'))",
            "1010",
        ),
        ("MAKE_SET(1|4, 'hello', 'nice', NULL, 'world')", "hello"),
        ("MAKE_SET(5, 'a', NULL, 'c')", "a,c"),
        ("MAKE_SET(NULL, 'a')", "NULL"),
        ("EXPORT_SET(5, 'Y', 'N', ',', 4)", "Y,N,Y,N"),
        (
            "EXPORT_SET(6, '1', '0', '', 65)",
            "0110000000000000000000000000000000000000000000000000000000000000",
        ),
        ("LENGTH(RANDOM_BYTES(10))", "10"),
        ("REGEXP_LIKE('Michael!', '.*')", "1"),
        ("REGEXP_LIKE('abc', 'ABC', 'c')", "0"),
        ("REGEXP_INSTR('dog cat dog', 'dog', 2)", "9"),
        ("REGEXP_INSTR('äa aa aaa', 'a{2}')", "4"),
        ("REGEXP_SUBSTR('abc def ghi', '[a-z]+', 1, 3)", "ghi"),
        ("REGEXP_SUBSTR('abc', 'z')", "NULL"),
        ("REGEXP_REPLACE('a b c', 'b', 'X')", "a X c"),
        (
            "REGEXP_REPLACE('abc def ghi', '[a-z]+', 'X', 1, 3)",
            "abc def X",
        ),
        ("REGEXP_REPLACE('abc', '(b)', '[$1]')", "a[b]c"),
    ] {
        assert_eq!(
            c.one(&format!("SELECT {expression}")),
            value,
            "{expression}"
        );
    }
    assert_eq!(c.code("SELECT WEIGHT_STRING('a')"), 1235);
    assert_eq!(c.code("SELECT PERIOD_ADD(0, 5)"), 1210);
    assert_eq!(c.code("SELECT RANDOM_BYTES(0)"), 1690);
    assert_eq!(c.code("SELECT REGEXP_INSTR('a', 'a', 5)"), 3686);
    assert_eq!(c.code("SELECT REGEXP_LIKE('a', '(')"), 3685);
    c.ok("SELECT INET_ATON('x')");
    assert_eq!(
        c.warnings(),
        ["Warning 1411 Incorrect string value: 'x' for function inet_aton"]
    );
}

#[test]
fn joins_that_lock_are_not_priced_as_hashed() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, KEY (k))");
    c.ok("CREATE TABLE b (id INT PRIMARY KEY, x INT, v INT)");
    for n in 0..200 {
        c.ok(&format!("INSERT INTO a VALUES ({n}, {}, 0)", n % 20));
        c.ok(&format!("INSERT INTO b VALUES ({n}, {}, {n})", n % 40));
    }
    for sql in [
        "UPDATE a JOIN b ON a.k = b.x SET a.v = b.v",
        "DELETE a FROM a JOIN b ON a.k = b.x",
        "SELECT * FROM a JOIN b ON a.k = b.x FOR UPDATE",
    ] {
        let plan = c.rows(&format!("EXPLAIN {sql}"));
        let found: Vec<Vec<&str>> = plan.iter().map(|r| r.split('|').collect()).collect();
        let tables: Vec<_> = found.iter().map(|r| (r[2], r[4], r[5])).collect();
        assert_eq!(tables, [("b", "ALL", "NULL"), ("a", "ref", "k")], "{sql}");
    }
    let join = "SELECT a.id, b.id FROM a JOIN b ON a.k = b.x";
    let mut plain = c.rows(join);
    let mut locking = c.rows(&format!("{join} FOR UPDATE"));
    plain.sort();
    locking.sort();
    assert_eq!((plain.len(), plain), (1000, locking));
}

#[test]
fn long_lists_find_what_they_name() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE long_lists (id INT PRIMARY KEY, a INT, n INT UNSIGNED, s VARCHAR(10), KEY ka (a))");
    c.ok("INSERT INTO long_lists VALUES (1, 1, 1, 'one'), (2, 40, 40, 'TWO'), (3, NULL, NULL, NULL), (4, -4, 4, 'w9')");
    let numbers = |n: u32| (5..n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let texts: Vec<String> = (0..60).map(|i| format!("'w{i}'")).collect();
    let ids = |c: &mut Client, by: &str| {
        let sql = format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM long_lists WHERE {by}");
        c.one(&sql)
    };
    let long = numbers(60);
    for column in ["n", "n + 0", "a + 0", "a"] {
        assert_eq!(ids(&mut c, &format!("{column} IN ({long}, 1)")), "1,2");
        assert_eq!(ids(&mut c, &format!("{column} IN ({long}, NULL)")), "2");
        assert_eq!(ids(&mut c, &format!("{column} NOT IN ({long})")), "1,4");
        assert_eq!(
            ids(&mut c, &format!("{column} NOT IN ({long}, NULL)")),
            "NULL"
        );
        assert_eq!(ids(&mut c, &format!("{column} IN ({long}, 1.0)")), "1,2");
        assert_eq!(ids(&mut c, &format!("{column} IN ({long}, '1')")), "1,2");
    }
    let long = texts.join(",");
    assert_eq!(ids(&mut c, &format!("s IN ({long}, 'two')")), "2,4");
    assert_eq!(ids(&mut c, &format!("s NOT IN ({long})")), "1,2");
    assert_eq!(
        ids(&mut c, &format!("s COLLATE utf8mb4_bin IN ({long}, 'two')")),
        "4"
    );
    let by = format!(
        "FROM long_lists FORCE INDEX (ka) WHERE a IN ({})",
        numbers(20_000)
    );
    assert_eq!(c.ok(&format!("EXPLAIN SELECT id {by}")).rows[0][4], "range");
    assert_eq!(c.one(&format!("SELECT id {by}")), "2");
}

#[test]
fn a_row_that_a_variable_names_is_locked_alone() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE named (id INT PRIMARY KEY, n INT)");
    c.ok("INSERT INTO named VALUES (1, 0), (2, 0), (4, 0)");
    c.ok("SET @x = 2");
    c.ok("BEGIN");
    assert_eq!(
        c.rows("SELECT id FROM named WHERE id = @x FOR UPDATE"),
        ["2"]
    );
    let mut other = db.client();
    let locking = "SELECT id FROM named WHERE id = 1 FOR UPDATE NOWAIT";
    assert_eq!(other.rows(locking), ["1"]);
    other.ok("INSERT INTO named VALUES (3, 0)");
    assert_eq!(
        other.code("SELECT id FROM named WHERE id = 2 FOR UPDATE NOWAIT"),
        3572
    );
}
