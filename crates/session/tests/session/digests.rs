//! What performance_schema says of statements that have run, by digest and by kind.

use crate::support::{Client, Collector, TestDb};
use millpond_session::Value;

const DIGESTS: &str = "performance_schema.events_statements_summary_by_digest";

#[test]
fn statements_alike_are_counted_together() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    c.ok("insert into t values (3, 3), (4, 4), (5, 5)");
    for a in 1..=3 {
        c.ok(&format!("SELECT b FROM t WHERE a = {a}"));
    }
    c.ok("SELECT b FROM t ORDER BY b DESC");
    c.ok("UPDATE t SET b = b + 1 WHERE b > 3");
    assert_eq!(c.code("INSERT INTO t VALUES (1, 1), (9, 9)"), 1062);
    let sql = format!(
        "SELECT digest_text, count_star, sum_rows_sent, sum_rows_affected, sum_rows_examined, sum_errors, sum_no_index_used,
            sum_select_scan, sum_sort_rows, sum_sort_scan
         FROM {DIGESTS} WHERE schema_name = 'test' AND digest_text RLIKE '^(INSERT|SELECT|UPDATE)' ORDER BY 1"
    );
    assert_eq!(
        c.rows(&sql),
        [
            "INSERT INTO `t` VALUES (...) /* , ... */|3|0|5|0|1|0|0|0|0",
            "SELECT `b` FROM `t` ORDER BY `b` DESC|1|5|0|5|0|1|1|5|1",
            "SELECT `b` FROM `t` WHERE `a` = ?|3|3|0|3|0|0|0|0|0",
            "UPDATE `t` SET `b` = `b` + ? WHERE `b` > ?|1|0|2|5|0|1|0|0|0",
        ]
    );
    let sql = format!(
        "SELECT digest = STATEMENT_DIGEST('select b from t where a = 7'),
            min_timer_wait > 0, min_timer_wait <= avg_timer_wait, avg_timer_wait <= max_timer_wait, max_timer_wait <= sum_timer_wait,
            quantile_95 <= quantile_99, quantile_99 <= quantile_999, quantile_999 <= max_timer_wait,
            first_seen <= last_seen, last_seen BETWEEN NOW(6) - INTERVAL 1 MINUTE AND NOW(6), query_sample_text LIKE 'SELECT b FROM t WHERE a = _',
            query_sample_timer_wait <= max_timer_wait
         FROM {DIGESTS} WHERE digest_text LIKE '%`a` = ?'"
    );
    assert_eq!(c.one(&sql), ["1"; 12].join("|"));
    let sql = "SELECT event_name, count_star, sum_errors FROM performance_schema.events_statements_summary_global_by_event_name
               WHERE count_star > 0 AND event_name RLIKE 'insert|update|create_table|error'";
    assert_eq!(c.code("SELEC 1"), 1064);
    assert_eq!(
        c.rows(sql),
        [
            "statement/sql/create_table|1|0",
            "statement/sql/error|1|1",
            "statement/sql/insert|3|1",
            "statement/sql/update|1|0",
        ]
    );
}

#[test]
fn each_schema_has_its_own_and_prepared_statements_count() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE DATABASE other");
    c.ok("CREATE TABLE test.t (a INT)");
    let prepared = c.0.prepare("SELECT a FROM test.t WHERE a = ?").unwrap();
    let run = |c: &mut Client| {
        let one = [Value::Int(1)];
        c.0.execute_prepared(&prepared, &one, &mut Collector::default())
            .unwrap();
    };
    for _ in 0..3 {
        run(&mut c);
    }
    c.ok("USE other");
    run(&mut c);
    c.ok("SELECT a FROM test.t WHERE a = 5");
    let sql = format!(
        "SELECT schema_name, count_star FROM {DIGESTS} WHERE digest_text = 'SELECT `a` FROM `test` . `t` WHERE `a` = ?' ORDER BY 1"
    );
    assert_eq!(c.rows(&sql), ["other|2", "test|3"]);
}

#[test]
fn there_are_no_more_than_are_allowed() {
    let db = TestDb::with(&[("performance_schema_digests_size", "3")]);
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT)");
    for n in 1..10 {
        c.ok(&format!("SELECT a AS a{n} FROM t"));
    }
    let sql = format!(
        "SELECT COUNT(*), SUM(digest IS NULL), SUM(IF(digest IS NULL, count_star, 0)) FROM {DIGESTS}"
    );
    assert_eq!(c.one(&sql), "4|1|9");
    assert_eq!(
        c.rows("SHOW GLOBAL STATUS LIKE 'Performance_schema_digest_lost'"),
        ["Performance_schema_digest_lost|10"]
    );
    c.ok(&format!("TRUNCATE TABLE {DIGESTS}"));
    c.ok("SELECT a AS a7 FROM t");
    let sql = format!("SELECT digest_text, count_star FROM {DIGESTS} ORDER BY 1");
    let shown = c.rows(&sql);
    assert!(
        shown.contains(&"SELECT `a` AS `a7` FROM `t`|1".to_string()),
        "{shown:?}"
    );
}

#[test]
fn histograms_hold_what_was_counted() {
    let db = TestDb::new();
    let mut c = db.client();
    for _ in 0..20 {
        c.ok("DO 1");
    }
    let sql = format!(
        "SELECT MAX(h.count_bucket_and_lower), SUM(h.count_bucket), MAX(h.bucket_quantile), MIN(h.bucket_timer_low < h.bucket_timer_high)
         FROM performance_schema.events_statements_histogram_by_digest h JOIN {DIGESTS} d USING (schema_name, digest)
         WHERE d.digest_text = 'DO ?'"
    );
    assert_eq!(c.one(&sql), "20|20|1|1");
    let all =
        "SELECT SUM(count_bucket) >= 20 FROM performance_schema.events_statements_histogram_global";
    assert_eq!(c.one(all), "1");
}

#[test]
fn samples_are_the_beginning_of_long_texts() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok(&format!("SELECT '{}' AS x", "\u{e9}".repeat(2000)));
    let sql = format!(
        "SELECT LENGTH(query_sample_text) BETWEEN 1000 AND 1024 FROM {DIGESTS} WHERE digest_text = 'SELECT ? AS `x`'"
    );
    assert_eq!(c.one(&sql), "1");
}

#[test]
fn passwords_are_in_no_sample() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE USER u IDENTIFIED BY 'sesame'");
    let sql = format!(
        "SELECT COUNT(*), SUM(CONCAT(digest_text, query_sample_text) LIKE '%sesame%') FROM {DIGESTS} WHERE digest_text LIKE 'CREATE USER%'"
    );
    assert_eq!(c.one(&sql), "1|0");
}
