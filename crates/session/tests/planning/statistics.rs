//! Optimizer statistics: taken, kept, shown, refreshed.

use crate::support::{Client, TestDb};
use millpond_session::Value;
use millpond_session::value::Zone;
use millpond_sql::statistics::{self, Known, Term};
use millpond_store::Isolation;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

fn known(db: &TestDb, table: &str) -> Known {
    let engine = db.instance().engine();
    let owner = engine.owner();
    let mut txn = engine.begin(&owner, Isolation::ReadCommitted);
    let table = engine.open_table(&mut txn, "test", table).unwrap();
    let known = statistics::of(engine, &table).unwrap();
    engine.commit(txn).unwrap();
    known
}

/// `id` from 0, `k` of 10 values, `v` of 100, NULL in a fifth.
fn fill(c: &mut Client, table: &str, rows: std::ops::Range<i64>) {
    for from in rows.clone().step_by(500) {
        let row = |i: i64| match i % 5 {
            0 => format!("({i}, {}, NULL, 'n{i}')", i % 10),
            _ => format!("({i}, {}, {}, 'n{i}')", i % 10, i % 100),
        };
        let list: Vec<String> = (from..(from + 500).min(rows.end)).map(row).collect();
        c.ok(&format!("INSERT INTO {table} VALUES {}", list.join(", ")));
    }
}

fn create(c: &mut Client, table: &str) {
    c.ok(&format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY, k INT NOT NULL, v INT, s VARCHAR(20), KEY kv (k, v))"
    ));
}

fn cardinalities(c: &mut Client, table: &str) -> Vec<String> {
    let rows = c.ok(&format!("SHOW INDEX FROM {table}")).rows;
    rows.into_iter().map(|r| r[6].clone()).collect()
}

const INDEX_STATS: &str = "SELECT index_name, stat_name, stat_value, stat_description FROM mysql.innodb_index_stats \
     WHERE database_name = 'test' AND table_name = 't' AND stat_name LIKE 'n_diff%' ORDER BY 1, 2";

#[test]
fn analyzing_counts_small_tables_exactly_and_is_kept() {
    let mut db = TestDb::new();
    let mut c = db.client();
    create(&mut c, "t");
    assert_eq!(c.rows(INDEX_STATS), Vec::<String>::new());
    fill(&mut c, "t", 0..90);
    c.ok("DELETE FROM t WHERE id < 10");
    let answer = c.ok("ANALYZE TABLE t, nope");
    assert_eq!(answer.headings(), ["Table", "Op", "Msg_type", "Msg_text"]);
    let rows: Vec<String> = answer.rows.iter().map(|r| r.join("|")).collect();
    assert_eq!(
        rows,
        [
            "test.t|analyze|status|OK",
            "test.nope|analyze|Error|Table 'test.nope' doesn't exist",
            "test.nope|analyze|status|Operation failed"
        ]
    );
    // Of k's 10 values two go with NULL alone, and eight with as many values as there are tens.
    let want = [
        "kv|n_diff_pfx01|10|k",
        "kv|n_diff_pfx02|66|k,v",
        "PRIMARY|n_diff_pfx01|80|id",
    ];
    assert_eq!(c.rows(INDEX_STATS), want);
    assert_eq!(cardinalities(&mut c, "t"), ["80", "10", "66"]);
    let sizes = "SELECT n_rows, clustered_index_size, sum_of_other_index_sizes, last_update > '2020-01-01' \
         FROM mysql.innodb_table_stats WHERE database_name = 'test'";
    assert_eq!(c.rows(sizes), ["80|1|1|1"]);
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows(INDEX_STATS), want);
    let k = known(&db, "t");
    assert!(k.statistics.are_taken() && k.rows == 80);
    assert_eq!(k.statistics.distinct(&[2, 1]), Some(66.0));
    assert_eq!(k.statistics.distinct(&[2]), None);
    // Rows are counted on.
    fill(&mut c, "t", 100..120);
    assert_eq!((known(&db, "t").rows, k.statistics.rows), (100, 80));
}

#[test]
fn statistics_follow_ddl() {
    let db = TestDb::new();
    let mut c = db.client();
    create(&mut c, "t");
    fill(&mut c, "t", 0..90);
    c.ok("ANALYZE TABLE t");
    c.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON k, v WITH 20 BUCKETS");
    let columns = "SELECT COLUMN_NAME FROM information_schema.COLUMN_STATISTICS ORDER BY 1";
    assert_eq!(c.rows(columns), ["k", "v"]);
    c.ok("ALTER TABLE t ADD INDEX s (s), COMMENT 'x'");
    c.ok("ALTER TABLE t RENAME TO u");
    c.ok("RENAME TABLE u TO t");
    let k = known(&db, "t");
    assert_eq!(k.statistics.distinct(&[1]), Some(10.0));
    assert_eq!(c.rows(columns), ["k", "v"]);
    // A rebuilt table is another, but columns that stay what they were keep their histograms.
    c.ok("ALTER TABLE t MODIFY v BIGINT");
    assert_eq!(c.rows(columns), ["k"]);
    c.ok("TRUNCATE t");
    assert_eq!(c.rows(columns), ["k"]);
    let k = known(&db, "t");
    assert_eq!((k.rows, k.statistics.rows), (0, 0));
    assert_eq!(c.rows(INDEX_STATS), Vec::<String>::new());
    c.ok("DROP TABLE t");
    create(&mut c, "t");
    assert_eq!(c.rows(columns), Vec::<String>::new());
    assert_eq!(c.code("CREATE TABLE `#catalog`.x (a INT)"), 1044);
    assert_eq!(c.code("DROP DATABASE `#catalog`"), 1044);
    assert_eq!(c.code("SELECT * FROM `#catalog`.statistics"), 1146);
    assert!(!c.rows("SHOW DATABASES").iter().any(|d| d.starts_with('#')));
}

#[test]
fn histograms_are_made_dropped_and_refused() {
    let mut db = TestDb::new();
    let mut c = db.client();
    create(&mut c, "t");
    fill(&mut c, "t", 0..1000);
    let status = "test.t|histogram|status|";
    let error = "test.t|histogram|Error|";
    assert_eq!(
        c.rows("ANALYZE TABLE t UPDATE HISTOGRAM ON v, id, nope, s WITH 16 BUCKETS"),
        [
            format!("{error}The column 'id' is covered by a single-part unique index."),
            format!("{error}The column 'nope' does not exist."),
            format!("{status}Histogram statistics created for column 'v'."),
            format!("{status}Histogram statistics created for column 's'."),
        ]
    );
    c.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON k");
    let document = "SELECT HISTOGRAM FROM information_schema.COLUMN_STATISTICS WHERE TABLE_NAME = 't' AND COLUMN_NAME = 'k'";
    let text = c.one(document);
    assert!(
        text.starts_with("{\"buckets\": [[0, 0.1], [1, 0.2], ")
            && text.contains("\"data-type\": \"int\", \"null-values\": 0.0, \"collation-id\": 8, \"last-updated\": \"20")
            && text.ends_with(
                "\"sampling-rate\": 1.0, \"histogram-type\": \"singleton\", \"number-of-buckets-specified\": 100}"
            ),
        "{text}"
    );
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.one(document), text);
    let s = known(&db, "t").statistics;
    let (zone, near) = (Zone::UTC, |a: f64, b: f64| {
        assert!((a - b).abs() < 0.02, "{a} for {b}")
    });
    near(s.null_fraction(2), 0.2);
    near(s.selectivity_eq(1, Some(&Value::Int(3)), zone), 0.1);
    near(s.selectivity_eq(1, Some(&Value::Int(30)), zone), 0.0);
    near(
        s.selectivity_in(1, &[Value::Int(3), Value::Int(4)], 3, zone),
        0.3,
    );
    let (low, high) = (Value::Int(20), Value::str("40"));
    let range = s.selectivity_range(2, Bound::Included(&low), Bound::Excluded(&high), zone);
    near(range, 0.16);
    // 0.111, off by the two of 16 buckets at its ends at most.
    let prefixed = s.like_prefix(3, b"n9");
    assert!((0.111_f64 - prefixed).abs() < 0.125, "{prefixed}");
    let terms = [
        Term::Equal(1, None),
        Term::IsNotNull(2),
        Term::Not(Box::new(Term::Equal(1, None))),
    ];
    near(
        s.selectivity(&terms, zone),
        0.1 * 0.8_f64.sqrt() * 0.9_f64.powf(0.25),
    );
    assert_eq!(
        c.rows("ANALYZE TABLE t DROP HISTOGRAM ON v, id"),
        [
            format!("{status}Histogram statistics removed for column 'v'."),
            format!("{error}No histogram statistics found for column 'id'."),
        ]
    );
    let made = "SELECT COUNT(*) FROM information_schema.COLUMN_STATISTICS";
    assert_eq!(c.one(made), "2");
    assert_eq!(
        c.code("ANALYZE TABLE t UPDATE HISTOGRAM ON v WITH 0 BUCKETS"),
        1690
    );
    assert_eq!(
        c.code("ANALYZE TABLE t UPDATE HISTOGRAM ON v WITH 1025 BUCKETS"),
        1690
    );
    assert_eq!(c.code("ANALYZE TABLE t UPDATE HISTOGRAM ON v, V"), 1060);
    assert_eq!(
        c.rows("ANALYZE TABLE t, u DROP HISTOGRAM ON v"),
        ["|histogram|Error|Only one table can be specified while modifying histogram statistics."]
    );
    c.ok("CREATE TEMPORARY TABLE t (v INT)");
    assert_eq!(
        c.rows("ANALYZE TABLE t UPDATE HISTOGRAM ON v"),
        [format!(
            "{error}Cannot create histogram statistics for a temporary table."
        )]
    );
}

#[test]
fn a_table_is_measured_anew_when_a_tenth_has_changed() {
    let db = TestDb::new();
    let mut c = db.client();
    create(&mut c, "t");
    fill(&mut c, "t", 0..2000);
    db.instance().refresh_statistics("test", "t").unwrap();
    let first = known(&db, "t");
    assert!(first.statistics.are_taken());
    assert_eq!(first.rows, 2000);
    fill(&mut c, "t", 2000..2050);
    assert!(!db.instance().refresh_statistics("test", "t").unwrap());
    assert_eq!(known(&db, "t").rows, 2050);
    c.ok("SET GLOBAL innodb_stats_auto_recalc = OFF");
    fill(&mut c, "t", 2050..20_000);
    assert!(!db.instance().refresh_statistics("test", "t").unwrap());
    c.ok("SET GLOBAL innodb_stats_auto_recalc = ON");
    db.instance().refresh_statistics("test", "t").unwrap();
    let second = known(&db, "t");
    assert!((15_000..25_000).contains(&second.rows), "{}", second.rows);
    assert!(first.statistics.are_outgrown_by(&second.statistics));
    assert!(!second.statistics.are_outgrown_by(&second.statistics));
}

#[test]
fn what_is_not_persistent_is_gone_with_the_instance() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("SET GLOBAL innodb_stats_persistent = OFF");
    create(&mut c, "t");
    fill(&mut c, "t", 0..50);
    c.ok("ANALYZE TABLE t");
    assert_eq!(known(&db, "t").statistics.distinct(&[1]), Some(10.0));
    drop(c);
    db.reopen();
    assert!(!known(&db, "t").statistics.are_taken());
}

#[test]
fn partitions_are_measured_together() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok(
        "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, v INT, s VARCHAR(20), KEY kv (k, v)) \
         PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (100), PARTITION b VALUES LESS THAN (1000))",
    );
    fill(&mut c, "t", 50..150);
    c.ok("ANALYZE TABLE t");
    let k = known(&db, "t");
    assert_eq!((k.rows, k.statistics.distinct(&[1])), (100, Some(10.0)));
    assert_eq!(k.statistics.distinct(&[0]), Some(100.0));
    c.ok("ANALYZE TABLE t UPDATE HISTOGRAM ON k");
    c.ok("ALTER TABLE t TRUNCATE PARTITION b");
    assert_eq!(known(&db, "t").rows, 50);
    db.instance().refresh_statistics("test", "t").unwrap();
    let k = known(&db, "t");
    assert_eq!(
        (k.statistics.rows, k.statistics.histogram(1).is_some()),
        (50, true)
    );
}

#[test]
fn plans_stay_when_a_table_is_measured_in_the_background() {
    let db = TestDb::new();
    let mut c = db.client();
    create(&mut c, "t");
    fill(&mut c, "t", 0..150);
    let engine = db.instance().engine();
    let owner = engine.owner();
    let mut txn = engine.begin(&owner, Isolation::ReadCommitted);
    let table = engine.open_table(&mut txn, "test", "t").unwrap();
    // Beside a transaction that uses the table.
    db.instance().refresh_statistics("test", "t").unwrap();
    assert!(known(&db, "t").statistics.are_taken());
    engine.commit(txn).unwrap();
    let mut txn = engine.begin(&owner, Isolation::ReadCommitted);
    assert!(table.pin(&mut txn).unwrap());
    engine.commit(txn).unwrap();
}

#[test]
fn new_statistics_fail_no_statement_that_plans_and_runs() {
    let db = TestDb::new();
    let mut c = db.client();
    create(&mut c, "t");
    fill(&mut c, "t", 0..100);
    create(&mut c, "many");
    fill(&mut c, "many", 1000..4000);
    let mut other = db.client();
    let ended = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                other.ok("INSERT INTO t SELECT * FROM many");
                other.ok("ANALYZE TABLE t");
                other.ok("DELETE FROM t WHERE id >= 1000");
                other.ok("ANALYZE TABLE t");
            }
        });
        let _ended = Ended(ended);
        for _ in 0..100 {
            c.ok("CREATE TABLE u AS SELECT k FROM t WHERE k > 3 AND id < 1000");
            c.ok("SET @n = (SELECT COUNT(*) FROM t WHERE k > 3 AND id < 1000)");
            c.ok("DROP TABLE u");
        }
    });
}

/// Set when it goes, by a failure too.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
