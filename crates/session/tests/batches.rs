//! Blocks that run by batches, on several threads: the same rows, warnings and errors as row by row, what other transactions do meanwhile,
//! time limits, memory.

mod support;

use support::{Client, TestDb};

const BY_BATCHES: &str = "SET millpond_batch_rows = 0, millpond_parallel_workers = 3";
const BY_ROWS: &str = "SET millpond_batch_rows = 1000000000";

/// `t` of some hundred pages and `u` of a few, with NULLs, repeated keys and strings that a collation takes for equal.
fn filled(db: &TestDb) -> Client {
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, k INT, d DECIMAL(12,2), s VARCHAR(20), b VARBINARY(20),
          day DATE, at DATETIME, f DOUBLE, pad CHAR(100) NOT NULL)");
    c.ok("CREATE TABLE u (k INT, s VARCHAR(20), w DECIMAL(30,4), KEY (s))");
    for from in (0..6000).step_by(500) {
        let row = |n: i32| {
            let null = |every: i32, v: String| if n % every == 0 { "NULL".into() } else { v };
            format!(
                "({n}, {}, {}, {}, {}, {}, {}, {}, 'x')",
                null(7, (n % 200).to_string()),
                null(11, format!("{}.{:02}", n % 500 - 250, n % 100)),
                null(
                    13,
                    format!("'{}{}'", ["a", "A", "b ", "é"][(n % 4) as usize], n % 20)
                ),
                null(17, format!("'{}'", n % 30)),
                null(5, format!("'2024-{:02}-{:02}'", n % 12 + 1, n % 28 + 1)),
                null(
                    19,
                    format!("'2023-05-{:02} {:02}:00:01'", n % 28 + 1, n % 24)
                ),
                null(23, format!("{n}.5e-1")),
            )
        };
        let rows: Vec<String> = (from..from + 500).map(row).collect();
        c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    let row = |n: i32| match n % 9 {
        0 => format!("(NULL, 'A{}', {n})", n % 20),
        _ => format!("({}, 'a{}', {n}.0001)", n % 150, n % 20),
    };
    let rows: Vec<String> = (0..400).map(row).collect();
    c.ok(&format!("INSERT INTO u VALUES {}", rows.join(",")));
    c.ok("ANALYZE TABLE t, u");
    c
}

/// A statement's rows in order, its warnings, or its error.
fn answer(c: &mut Client, sql: &str) -> (Result<Vec<String>, u16>, Vec<String>) {
    let rows = match c.run(sql) {
        Ok(mut answers) => {
            let last = answers.pop().unwrap_or_default();
            let mut rows: Vec<String> = last.rows.iter().map(|r| r.join("|")).collect();
            rows.sort();
            Ok(rows)
        }
        Err(e) => Err(e.code),
    };
    let mut warnings = c.warnings();
    warnings.sort();
    (rows, warnings)
}

#[test]
fn batches_answer_as_rows_do() {
    let db = TestDb::new();
    let mut c = filled(&db);
    for sql in [
        "SELECT COUNT(*), COUNT(k), SUM(k), AVG(k), MIN(d), MAX(d), SUM(d), AVG(d) FROM t",
        "SELECT COUNT(*), SUM(k), MIN(s) FROM t WHERE k < -5",
        "SELECT k, COUNT(*), SUM(d * (1 - d)), MIN(day), MAX(at) FROM t GROUP BY k",
        "SELECT k, COUNT(*) FROM t WHERE FALSE GROUP BY k",
        "SELECT LOWER(s), COUNT(*), SUM(d) FROM t GROUP BY s",
        "SELECT HEX(b), COUNT(*) FROM t GROUP BY b",
        "SELECT day, d > 0, COUNT(*) FROM t GROUP BY day, d > 0 HAVING COUNT(*) > 10",
        "SELECT EXTRACT(YEAR FROM at), MONTH(day), SUM(f), AVG(f) FROM t GROUP BY 1, 2",
        "SELECT COUNT(DISTINCT s), COUNT(DISTINCT k, day), GROUP_CONCAT(DISTINCT k ORDER BY k) FROM t",
        "SELECT STDDEV(d), VARIANCE(k), BIT_OR(k), BIT_XOR(id), ANY_VALUE(pad) FROM t GROUP BY k % 3",
        "SELECT id FROM t WHERE s LIKE 'a%' AND d BETWEEN -3 AND 200.5 AND k IN (1, 5, 7, 100)",
        "SELECT id, s FROM t WHERE s = 'A4' OR s IN ('a8', 'B 1') ORDER BY s, id DESC LIMIT 20",
        "SELECT DISTINCT k FROM t WHERE day >= '2024-06-01' AND day < '2024-06-01' + INTERVAL 3 MONTH",
        "SELECT id FROM t WHERE NOT (k > 5 AND d < 0) AND (f IS NULL OR f > 3)",
        "SELECT id FROM t WHERE id > 100 AND id <= 900 AND k + 1 = 8",
        "SELECT COUNT(*), SUM(w), SUM(d) FROM t JOIN u ON t.k = u.k",
        "SELECT t.k, COUNT(*), MAX(w) FROM t JOIN u ON t.k = u.k AND t.d > u.w - 300 GROUP BY t.k",
        "SELECT COUNT(*), COUNT(u.k), SUM(w) FROM t LEFT JOIN u ON t.k = u.k AND u.w > 200",
        "SELECT COUNT(*) FROM t LEFT JOIN u ON t.k = u.k WHERE u.w IS NULL",
        "SELECT COUNT(*) FROM t WHERE k IN (SELECT k FROM u WHERE w > 100)",
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.w > t.d)",
        "SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.w > t.d)",
        "SELECT COUNT(*) FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)",
        "SELECT COUNT(*), SUM(n) FROM t JOIN (SELECT k, COUNT(*) n FROM u GROUP BY k) q ON q.k = t.k",
        "SELECT COUNT(*) FROM t JOIN u ON t.s = u.s AND t.k = u.k",
        "SELECT COUNT(*) FROM t x JOIN t y ON x.b = y.b AND x.day = y.day WHERE x.id < 300",
        "SELECT COUNT(*) FROM t WHERE d > (SELECT AVG(w) FROM u WHERE u.k = t.k)",
        "SELECT id, (SELECT MAX(w) FROM u WHERE u.k = t.k) FROM t WHERE k < 4",
        "SELECT SUM(d / k), COUNT(*) FROM t",
        "SELECT SUM(s + 0), SUM(CAST(b AS SIGNED)) FROM t WHERE k = 3",
        "SELECT SUM(k * 9223372036854775807) FROM t",
        "SELECT COUNT(*) FROM t WHERE k * 9223372036854775807 > 5",
        "SELECT SUM(CASE WHEN d > 0 THEN d ELSE 0 END), SUM(IF(k > 3, 1, NULL)) FROM t",
        "SELECT k FROM t WHERE d > 100 UNION SELECT k FROM u WHERE w > 100",
        "SELECT id FROM t WHERE k > 195",
        "SELECT id FROM t WHERE k > 195 LIMIT 0",
    ] {
        c.ok(BY_ROWS);
        let rows = answer(&mut c, sql);
        c.ok(BY_BATCHES);
        assert_eq!(answer(&mut c, sql), rows, "{sql}");
    }
}

#[test]
fn rows_come_in_the_order_of_a_scan() {
    let db = TestDb::new();
    let mut c = filled(&db);
    c.ok(BY_BATCHES);
    let found = c.rows("SELECT id FROM t WHERE k > 150");
    let ids: Vec<i32> = found.iter().map(|id| id.parse().expect("id")).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    assert_eq!(ids, sorted);
    assert_eq!(ids.len(), 1260);
}

#[test]
fn all_workers_see_one_moment() {
    let db = TestDb::new();
    let mut c = filled(&db);
    let mut other = db.client();
    c.ok(BY_BATCHES);
    c.ok("START TRANSACTION");
    let before = c.rows("SELECT COUNT(*), SUM(k), SUM(id) FROM t");
    other.ok("UPDATE t SET k = k + 1 WHERE id % 3 = 0");
    other.ok("DELETE FROM t WHERE id % 5 = 0");
    other.ok("INSERT INTO t SELECT id + 10000, k, d, s, b, day, at, f, pad FROM t");
    assert_eq!(c.rows("SELECT COUNT(*), SUM(k), SUM(id) FROM t"), before);
    // Its own changes it sees.
    c.ok("INSERT INTO t (id, k, pad) VALUES (100000, 7, 'x')");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE id >= 10000"), "1");
    c.ok("COMMIT");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE id >= 10000"), "4801");
    c.ok("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    other.ok("START TRANSACTION");
    other.ok("DELETE FROM t WHERE id = 100000");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE id >= 10000"), "4800");
    other.ok("ROLLBACK");
}

#[test]
fn time_limits_end_all_workers() {
    let db = TestDb::new();
    let mut c = filled(&db);
    c.ok(BY_BATCHES);
    c.ok("SET max_execution_time = 20");
    let sql = "SELECT COUNT(*) FROM t x JOIN t y ON x.pad = y.pad AND x.k + y.k = -1";
    assert_eq!(c.code(sql), 3024);
    c.ok("SET max_execution_time = 0");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "6000");
}

#[test]
fn what_is_too_large_for_memory_runs_row_by_row() {
    let db = TestDb::new();
    let mut c = filled(&db);
    let list = [
        "SELECT id, COUNT(*), MAX(pad) FROM t GROUP BY id, pad ORDER BY id LIMIT 3",
        "SELECT COUNT(*), SUM(y.id) FROM t x JOIN t y ON x.b = y.b AND x.s = y.s",
    ];
    c.ok(BY_ROWS);
    let rows: Vec<_> = list.iter().map(|sql| answer(&mut c, sql)).collect();
    c.ok(BY_BATCHES);
    for size in ["sort_buffer_size", "join_buffer_size", "tmp_table_size"] {
        c.ok(&format!("SET {size} = 65536"));
    }
    c.ok("SET GLOBAL temptable_max_ram = 2097152");
    for (sql, rows) in list.iter().zip(rows) {
        assert_eq!(answer(&mut c, sql), rows, "{sql}");
    }
}
