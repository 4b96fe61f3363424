//! The stall record and the waits, as SQL shows them.

use crate::support::TestDb;

const IS: &str = "information_schema";

#[test]
fn statements_are_counted_by_kind() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    for i in 0..5 {
        c.ok(&format!("INSERT INTO t VALUES ({i}, 0)"));
    }
    c.ok("UPDATE t SET b = 1 WHERE a = 3");
    c.ok("REPLACE INTO t VALUES (3, 4)");
    c.ok("DELETE FROM t WHERE a = 4");
    assert_eq!(c.code("INSERT INTO t VALUES (0, 0)"), 1062);
    // A statement that runs by EXECUTE is what it is.
    c.ok("PREPARE p FROM 'UPDATE t SET b = b + 1'");
    c.ok("EXECUTE p");
    let sql = format!(
        "SELECT kind, count FROM {IS}.millpond_statement_summary WHERE sum_us >= max_us AND avg_us <= max_us"
    );
    assert_eq!(
        c.rows(&sql),
        [
            "INSERT|6",
            "REPLACE|1",
            "UPDATE|2",
            "DELETE|1",
            "CREATE TABLE|1",
            "CREATE DATABASE|1",
            "OTHER|2",
        ]
    );
    // The histograms hold the same statements, and now one SELECT more.
    for table in [
        "millpond_statement_latency",
        "millpond_statement_latency_log2",
    ] {
        let sql = format!("SELECT SUM(count) FROM {IS}.{table} WHERE kind IN ('INSERT', 'UPDATE')");
        assert_eq!(c.one(&sql), "8", "{table}");
    }
    let sql = format!(
        "SELECT SUM(statements), MIN(max_us) >= 0 FROM {IS}.millpond_stall_record WHERE kind = 'INSERT'"
    );
    assert_eq!(c.one(&sql), "6|1");
    let sql = format!(
        "SELECT COUNT(*) FROM {IS}.millpond_stall_record WHERE tick % 1 = 0 AND start_us / 1000000 BETWEEN UNIX_TIMESTAMP() - 100 AND UNIX_TIMESTAMP() + 1"
    );
    assert_ne!(c.one(&sql), "0");
}

#[test]
fn ddl_is_on_the_record_with_its_tables() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (x INT)");
    c.ok("CREATE TABLE b (x INT)");
    c.ok("TRUNCATE TABLE test.a");
    c.ok("DROP TABLE a, b");
    assert_eq!(c.code("DROP TABLE a"), 1051);
    let sql = format!(
        "SELECT kind, table_schema, table_name, errno, end_us - start_us >= duration_us - 1, statement FROM {IS}.millpond_ddl_events WHERE event_id > 1 ORDER BY event_id"
    );
    assert_eq!(
        c.rows(&sql),
        [
            "CREATE TABLE|test|a|0|1|CREATE TABLE a (x INT)",
            "CREATE TABLE|test|b|0|1|CREATE TABLE b (x INT)",
            "TRUNCATE TABLE|test|a|0|1|TRUNCATE TABLE test.a",
            "DROP TABLE|test|a,b|0|1|DROP TABLE a, b",
            "DROP TABLE|test|a|1051|1|DROP TABLE a",
        ]
    );
    // What dropped something says when it worked on its pages, which lies within its time.
    let sql = format!(
        "SELECT kind, pages_us IS NULL, pages_after_us + pages_us <= duration_us + 1 FROM {IS}.millpond_ddl_events WHERE event_id > 1 ORDER BY event_id"
    );
    assert_eq!(
        c.rows(&sql),
        [
            "CREATE TABLE|1|NULL",
            "CREATE TABLE|1|NULL",
            "TRUNCATE TABLE|0|1",
            "DROP TABLE|0|1",
            "DROP TABLE|1|NULL",
        ]
    );
    assert_eq!(
        c.rows("SHOW GLOBAL STATUS LIKE 'Millpond_ddl_statements'"),
        ["Millpond_ddl_statements|6"]
    );
}

#[test]
fn truncate_forgets() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT)");
    for table in [
        "millpond_stall_record",
        "millpond_stalls",
        "millpond_ddl_events",
        "millpond_statement_latency",
        "MILLPOND_STATEMENT_SUMMARY",
    ] {
        c.ok(&format!("TRUNCATE TABLE {IS}.{table}"));
    }
    let sql = format!("SELECT COUNT(*) FROM {IS}.millpond_ddl_events");
    assert_eq!(c.one(&sql), "0");
    let sql =
        format!("SELECT COUNT(*) FROM {IS}.millpond_statement_summary WHERE kind LIKE 'CREATE%'");
    assert_eq!(c.one(&sql), "0");
    let waits = "performance_schema.events_waits_summary_global_by_event_name";
    c.ok(&format!("TRUNCATE TABLE {waits}"));
    // The query in docs/observability.md.
    c.ok(
        "SELECT s.length_us / 1000 AS ms, e.kind, e.table_name
         FROM information_schema.millpond_stalls s
         JOIN information_schema.millpond_ddl_events e
           ON e.start_us < s.start_us + s.length_us AND COALESCE(e.end_us, s.start_us + 1) > s.start_us
         ORDER BY s.length_us DESC LIMIT 10",
    );
    // What cannot be forgotten is refused.
    assert_eq!(c.code(&format!("TRUNCATE TABLE {IS}.tables")), 1044);
    assert_eq!(
        c.code("TRUNCATE TABLE performance_schema.global_status"),
        1044
    );
}

#[test]
fn the_buffer_pool_is_shown_by_instance() {
    let db = TestDb::with(&[("innodb_buffer_pool_instances", "3")]);
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(500))");
    for i in 0..200 {
        c.ok(&format!("INSERT INTO t VALUES ({i}, REPEAT('x', 500))"));
    }
    // LRU and flush list as the article of requirement 3.5 sums them up.
    let sums = "SELECT SUM(pool_size), SUM(free_buffers) + SUM(database_pages), SUM(modified_database_pages) > 0, SUM(number_pages_created) > 5, SUM(pages_create_rate) > 0 FROM information_schema.innodb_buffer_pool_stats";
    assert_eq!(c.one(sums), "512|512|1|1|1");
    assert_eq!(
        c.rows("SELECT pool_id, number_pages_get, hit_rate FROM information_schema.innodb_buffer_pool_stats"),
        ["0|NULL|NULL", "1|NULL|NULL", "2|NULL|NULL"],
        "requests are counted for the whole pool"
    );
    let status = c.one("SHOW ENGINE INNODB STATUS");
    for line in [
        "INDIVIDUAL BUFFER POOL INFO",
        "---BUFFER POOL 2",
        "LRU len: ",
    ] {
        assert!(status.contains(line), "{line}");
    }
    let db = TestDb::new();
    let mut c = db.client();
    let one = "SELECT COUNT(*), MIN(number_pages_get) > 0, MIN(hit_rate) BETWEEN 0 AND 1000 FROM information_schema.innodb_buffer_pool_stats";
    assert_eq!(c.one(one), "1|1|1");
}

/// Waiters that wait for a row or a metadata lock now.
fn waiting(c: &mut crate::support::Client) -> bool {
    c.one("SHOW ENGINE INNODB STATUS").contains("LOCK WAIT for")
}

#[test]
fn waits_for_rows_are_counted() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 1)");
    let sql = "SELECT count_star, sum_timer_wait, max_timer_wait FROM performance_schema.events_waits_summary_global_by_event_name WHERE event_name = 'wait/lock/row/innodb/record'";
    let mut looker = db.client();
    let mut numbers = move || -> Vec<u64> {
        let row = looker.one(sql);
        row.split('|').map(|n| n.parse().unwrap()).collect()
    };
    let before = numbers();
    c.ok("BEGIN");
    c.ok("UPDATE t SET b = 2");
    let mut other = db.client();
    let waiter = std::thread::spawn(move || other.ok("UPDATE t SET b = 3"));
    while !waiting(&mut c) {
        std::thread::yield_now();
    }
    c.ok("COMMIT");
    waiter.join().unwrap();
    let after = numbers();
    // Other tests of this process may have waited too.
    assert!(after[0] > before[0] && after[1] > before[1] && after[2] > 0);
}
