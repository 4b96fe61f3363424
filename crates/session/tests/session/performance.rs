//! performance_schema's tables of files, accounts, memory, errors and what is set up.

use crate::support::TestDb;
use millpond_session::ConnectionInfo;

const PS: &str = "performance_schema";

#[test]
fn files_are_counted() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(100))");
    c.ok("INSERT INTO t VALUES (1, 'x')");
    let sql = format!(
        "SELECT event_name, count_write > 0, sum_number_of_bytes_write > 0, count_star = count_read + count_write + count_misc,
            sum_timer_wait = sum_timer_read + sum_timer_write + sum_timer_misc, min_timer_write <= avg_timer_write, avg_timer_write <= max_timer_write
         FROM {PS}.file_summary_by_event_name WHERE event_name LIKE '%log_file'"
    );
    let log = "wait/io/file/innodb/innodb_log_file|1|1|1|1|1|1";
    assert_eq!(c.rows(&sql), [log]);
    let sql = format!(
        "SELECT event_name, count_write > 0 FROM {PS}.file_summary_by_instance WHERE file_name = CONCAT(@@datadir, 'redo')"
    );
    assert_eq!(c.rows(&sql), ["wait/io/file/innodb/innodb_log_file|1"]);
    let sql = format!("SELECT COUNT(*) > 2, MIN(open_count) > 0 FROM {PS}.file_instances");
    assert_eq!(c.one(&sql), "1|1");
    c.ok(&format!("TRUNCATE TABLE {PS}.file_summary_by_event_name"));
    let sql = format!("SELECT SUM(count_read) FROM {PS}.file_summary_by_event_name");
    assert_eq!(c.one(&sql), "0");
    let view = "SELECT COUNT(*) FROM sys.io_global_by_file_by_bytes WHERE file LIKE '%redo'";
    assert_eq!(c.one(view), "1");
}

#[test]
fn tables_are_known_by_how_they_are_used() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, KEY b (b), KEY c (c))");
    c.ok("CREATE TABLE p (a INT PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 3");
    c.ok("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)");
    c.ok("INSERT INTO p VALUES (1), (2), (3)");
    let usage = format!(
        "SELECT index_name, count_read, count_insert, count_update, count_delete, sum_timer_wait FROM {PS}.table_io_waits_summary_by_index_usage
         WHERE object_schema = 'test' AND object_name = 't' ORDER BY index_name"
    );
    let before = c.rows(&usage);
    assert_eq!(before[0], "NULL|0|3|0|0|0");
    c.ok("SELECT * FROM t WHERE a = 2");
    c.ok("SELECT * FROM t FORCE INDEX (b) WHERE b > 1");
    c.ok("SELECT * FROM t");
    assert_eq!(
        c.rows(&usage),
        [
            "NULL|3|3|0|0|0",
            "b|2|0|0|0|0",
            "c|0|0|0|0|0",
            "PRIMARY|1|0|0|0|0",
        ]
    );
    c.ok("UPDATE t SET c = 9 WHERE a = 1");
    c.ok("DELETE FROM t WHERE a = 3");
    let sql = format!(
        "SELECT object_name, count_insert, count_update, count_delete FROM {PS}.table_io_waits_summary_by_table WHERE object_schema = 'test'"
    );
    assert_eq!(c.rows(&sql), ["p|3|0|0", "t|3|1|1"]);
    assert_eq!(
        c.rows("SELECT object_name, index_name FROM sys.schema_unused_indexes"),
        ["t|c"]
    );
    assert_eq!(
        c.rows("SELECT object_name, rows_full_scanned FROM sys.schema_tables_with_full_table_scans WHERE object_name = 't'"),
        ["t|3"]
    );
    assert_eq!(
        c.rows("SELECT rows_selected FROM sys.schema_index_statistics WHERE table_name = 't' AND index_name = 'b'"),
        ["2"]
    );
    let sql = "SELECT rows_inserted, io_write_requests > 0 OR io_write_requests IS NULL OR io_write_requests = 0 FROM sys.schema_table_statistics WHERE table_name = 't'";
    assert_eq!(c.rows(sql), ["3|1"]);
}

#[test]
fn accounts_are_known_by_what_they_did() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE USER u");
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    c.ok("GRANT SELECT ON test.t TO u");
    for _ in 0..2 {
        let mut u = db.user("u").unwrap();
        u.ok("SELECT b FROM test.t");
        u.ok("SELECT b FROM test.t WHERE a = 1");
        assert_eq!(u.code("SELECT nope FROM test.t"), 1054);
    }
    let mut u = db.user("u").unwrap();
    u.ok("SELECT b FROM test.t");
    assert_eq!(
        c.rows(&format!(
            "SELECT user, host, current_connections, total_connections FROM {PS}.accounts"
        )),
        ["root|localhost|1|1", "u|localhost|1|3"]
    );
    assert_eq!(
        c.rows(&format!(
            "SELECT host, current_connections, total_connections FROM {PS}.hosts"
        )),
        ["localhost|2|4"]
    );
    let sql = format!(
        "SELECT event_name, count_star, sum_errors, sum_rows_sent, sum_no_index_used FROM {PS}.events_statements_summary_by_user_by_event_name WHERE user = 'u'"
    );
    assert_eq!(c.rows(&sql), ["statement/sql/select|7|2|8|3"]);
    let sql = format!(
        "SELECT s.event_name, s.count_star FROM {PS}.events_statements_summary_by_thread_by_event_name s JOIN {PS}.threads t USING (thread_id) WHERE t.processlist_user = 'u'"
    );
    assert_eq!(c.rows(&sql), ["statement/sql/select|1"]);
    assert_eq!(
        c.rows("SELECT user, statements, table_scans, current_connections, total_connections, unique_hosts, statement_latency > 0 FROM sys.`x$user_summary` WHERE user = 'u'"),
        ["u|7|3|1|3|1|1"]
    );
    assert_eq!(
        c.rows("SELECT host, total_connections, unique_users FROM sys.host_summary"),
        ["localhost|4|2"]
    );
    drop(u);
    c.ok(&format!("TRUNCATE TABLE {PS}.accounts"));
    let sql = format!("SELECT user, total_connections FROM {PS}.users");
    assert_eq!(c.rows(&sql), ["root|1"]);
}

#[test]
fn clients_say_what_they_are() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE USER u");
    let program = |name: &str| ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        attributes: vec![
            ("_pid".into(), "17".into()),
            ("program_name".into(), name.into()),
        ],
        ..ConnectionInfo::default()
    };
    let other = db.instance().connect(program("mysql")).unwrap();
    let sql = format!(
        "SELECT processlist_id = {}, attr_name, attr_value, ordinal_position FROM {PS}.session_connect_attrs ORDER BY 4",
        other.id()
    );
    assert_eq!(c.rows(&sql), ["1|_pid|17|0", "1|program_name|mysql|1"]);
    let sql = "SELECT pid, program_name FROM sys.session WHERE program_name IS NOT NULL";
    assert_eq!(c.rows(sql), ["17|mysql"]);
    // Of others' nothing is told.
    let mut u = db.user("u").unwrap();
    let sql = format!("SELECT COUNT(*) FROM {PS}.session_account_connect_attrs");
    assert_eq!(u.one(&sql), "0");
    assert_eq!(c.one(&sql), "2");
    let sql = format!("SELECT COUNT(*) FROM {PS}.session_connect_attrs");
    assert_eq!(u.code(&sql), 1142);
}

#[test]
fn only_who_may_drop_may_forget() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE USER u");
    let mut u = db.user("u").unwrap();
    let sql = format!("TRUNCATE TABLE {PS}.events_statements_summary_by_digest");
    assert_eq!(u.code(&sql), 1142);
    c.ok(&format!("GRANT DROP ON {PS}.* TO u"));
    u.ok(&sql);
    assert_eq!(u.code(&format!("TRUNCATE TABLE {PS}.threads")), 1044);
}

#[test]
fn errors_are_counted_by_code() {
    let db = TestDb::new();
    let mut c = db.client();
    for _ in 0..3 {
        assert_eq!(c.code("SELECT * FROM nope"), 1146);
    }
    let sql = format!(
        "SELECT error_number, sql_state, sum_error_raised, first_seen <= last_seen FROM {PS}.events_errors_summary_global_by_error"
    );
    assert_eq!(c.rows(&sql), ["1146|42S02|3|1"]);
}

#[test]
fn memory_of_the_pool_and_of_statements_is_known() {
    let db = TestDb::new();
    let mut c = db.client();
    let sql = format!(
        "SELECT current_number_of_bytes_used = @@innodb_buffer_pool_size FROM {PS}.memory_summary_global_by_event_name WHERE event_name LIKE '%buf_pool'"
    );
    assert_eq!(c.one(&sql), "1");
    c.ok("WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT DISTINCT CONCAT(n, REPEAT('x', 500)) FROM r ORDER BY 1");
    let sql = format!(
        "SELECT sum_number_of_bytes_alloc > 400000, count_alloc >= count_free, high_number_of_bytes_used > 400000,
            current_number_of_bytes_used = sum_number_of_bytes_alloc - sum_number_of_bytes_free
         FROM {PS}.memory_summary_global_by_event_name WHERE event_name LIKE '%statement_buffers'"
    );
    assert_eq!(c.one(&sql), "1|1|1|1");
    assert_eq!(
        c.one(
            "SELECT total_allocated >= @@innodb_buffer_pool_size FROM sys.`x$memory_global_total`"
        ),
        "1"
    );
}

#[test]
fn what_is_set_up_cannot_be_changed() {
    let db = TestDb::new();
    let mut c = db.client();
    let sql = format!("SELECT COUNT(*), COUNT(DISTINCT name) FROM {PS}.setup_instruments");
    let counts = c.one(&sql);
    let (all, distinct) = counts.split_once('|').unwrap();
    assert_eq!(all, distinct);
    let sql = format!(
        "SELECT name FROM {PS}.setup_consumers WHERE enabled = 'YES' AND name LIKE '%digest'"
    );
    assert_eq!(c.rows(&sql), ["statements_digest"]);
    for sql in [
        "UPDATE performance_schema.setup_consumers SET enabled = 'YES'",
        "DELETE FROM performance_schema.setup_actors",
        "INSERT INTO performance_schema.setup_objects VALUES (1)",
    ] {
        assert!([1044, 1142, 1146].contains(&c.code(sql)), "{sql}");
    }
    let sql = format!(
        "SELECT timer_name, timer_frequency, timer_overhead < 100000 FROM {PS}.performance_timers"
    );
    assert_eq!(c.rows(&sql), ["NANOSECOND|1000000000|1"]);
    // Nothing is replicated.
    for table in [
        "replication_connection_status",
        "replication_group_members",
        "host_cache",
    ] {
        assert!(c.rows(&format!("SELECT * FROM {PS}.{table}")).is_empty());
    }
    let sql = format!(
        "SELECT COUNT(DISTINCT thread_id), SUM(variable_name = 'Com_select') FROM {PS}.status_by_thread"
    );
    assert_eq!(c.one(&sql), "1|1");
}

#[test]
fn information_schema_has_what_tools_ask_for() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE)");
    c.ok("INSERT INTO t VALUES (1, 1)");
    let is = "information_schema";
    let sql = format!(
        "SELECT count > 0, type, status FROM {is}.innodb_metrics WHERE name IN ('dml_inserts', 'buffer_pool_pages_total') ORDER BY name"
    );
    assert_eq!(
        c.rows(&sql),
        ["1|value|enabled", "1|status_counter|enabled"]
    );
    let sql = format!("SELECT COUNT(*), SUM(compress_ops) FROM {is}.innodb_cmp");
    assert_eq!(c.one(&sql), "5|0");
    let sql = format!(
        "SELECT table_name, engine_attribute FROM {is}.tables_extensions WHERE table_schema = 'test'"
    );
    assert_eq!(c.rows(&sql), ["t|NULL"]);
    let sql = format!(
        "SELECT COUNT(*) FROM {is}.columns_extensions WHERE table_schema = 'test' AND table_name = 't'"
    );
    assert_eq!(c.one(&sql), "2");
    let sql = format!(
        "SELECT constraint_name FROM {is}.table_constraints_extensions WHERE constraint_schema = 'test' ORDER BY 1"
    );
    assert_eq!(c.rows(&sql), ["b", "PRIMARY"]);
    let sql = format!(
        "SELECT schema_name, options FROM {is}.schemata_extensions WHERE schema_name = 'test'"
    );
    assert_eq!(c.rows(&sql), ["test|"]);
    c.ok("CREATE TABLE child (a INT, b INT, KEY (a), CONSTRAINT f FOREIGN KEY (a) REFERENCES t (a) ON DELETE CASCADE ON UPDATE SET NULL)");
    let sql = format!(
        "SELECT i.name, i.type, i.n_fields, f.name, f.pos FROM {is}.innodb_indexes i JOIN {is}.innodb_tables t USING (table_id)
         LEFT JOIN {is}.innodb_fields f USING (index_id) WHERE t.name IN ('test/t', 'test/child') ORDER BY t.name, i.name"
    );
    assert_eq!(
        c.rows(&sql),
        [
            "a|0|1|a|0",
            "GEN_CLUST_INDEX|1|0|NULL|NULL",
            "b|2|1|b|0",
            "PRIMARY|3|1|a|0"
        ]
    );
    let sql = format!(
        "SELECT id, for_name, ref_name, n_cols, type, for_col_name, ref_col_name, pos FROM {is}.innodb_foreign JOIN {is}.innodb_foreign_cols USING (id)"
    );
    assert_eq!(c.rows(&sql), ["test/f|test/child|test/t|1|9|a|a|1"]);
    // MariaDB's.
    let sql = format!(
        "SELECT variable_value = @@innodb_page_size FROM {is}.global_variables WHERE variable_name = 'innodb_page_size'"
    );
    assert_eq!(c.rows(&sql), ["1"]);
    let sql = format!(
        "SELECT variable_value > 0 FROM {is}.session_status WHERE variable_name = 'Com_insert'"
    );
    assert_eq!(c.rows(&sql), ["1"]);
    let sql = format!("SELECT MAX(space) < 4294967296 FROM {is}.innodb_tablespaces");
    assert_eq!(c.one(&sql), "1");
}
