//! What statements may take of memory, and what becomes of those that want more.

mod support;

use support::{Client, TestDb};

/// Makes everything that is kept in memory too large soon.
fn little_memory(c: &mut Client) {
    for size in ["sort_buffer_size", "join_buffer_size", "tmp_table_size"] {
        c.ok(&format!("SET {size} = 32768"));
    }
}

/// `n`: a hundred numbers.
fn hundred(c: &mut Client) {
    c.ok("CREATE TABLE n (n INT PRIMARY KEY)");
    let all: Vec<String> = (0..100).map(|n| format!("({n})")).collect();
    c.ok(&format!("INSERT INTO n VALUES {}", all.join(",")));
}

#[test]
fn a_text_too_long_is_null() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET @a = REPEAT('\\'', 33554433), @b = CONVERT(@a USING binary)");
    for (sql, name) in [
        ("CONCAT(@a, @a)", "concat"),
        ("CONCAT_WS('', @a, @a)", "concat_ws"),
        ("REPLACE('bb', 'b', @a)", "replace"),
        ("INSERT(@b, 1, 0, @b)", "insert"),
        ("HEX(@b)", "hex"),
        ("TO_BASE64(REPEAT('x', 50000000))", "to_base64"),
        ("QUOTE(@b)", "quote"),
        ("REPEAT(@a, 2)", "repeat"),
        ("SPACE(67108865)", "space"),
        ("LPAD('a', 33554434, 'é')", "lpad"),
        ("RPAD('a', 67108865, 'é')", "rpad"),
        ("MAKE_SET(3, @a, @a)", "make_set"),
        ("EXPORT_SET(3, @a, 'n')", "export_set"),
        (
            "REGEXP_REPLACE(REPEAT('a', 65), 'a', REPEAT('x', 1048576))",
            "regexp_replace",
        ),
    ] {
        assert_eq!(c.one(&format!("SELECT {sql} IS NULL")), "1", "{sql}");
        let said = format!(
            "Warning 1301 Result of {name}() was larger than max_allowed_packet (67108864) - truncated"
        );
        assert_eq!(c.warnings(), [said], "{sql}");
    }
    assert_eq!(
        c.one("SELECT LENGTH(CONCAT(REPEAT('x', 67108863), 'y'))"),
        "67108864"
    );
    c.ok("CREATE TABLE t (a LONGTEXT)");
    assert_eq!(c.code("INSERT INTO t SELECT CONCAT(@a, @a)"), 1301);
    c.ok("SET GLOBAL max_allowed_packet = 134217728");
    let mut other = db.client();
    assert_eq!(
        other.one("SELECT LENGTH(CONCAT(REPEAT('x', 67108864), 'y'))"),
        "67108865"
    );
}

#[test]
fn group_concat_makes_no_longer_texts_than_functions() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET @a = REPEAT('x', 40000000), group_concat_max_len = 18446744073709551615");
    let sql = "SELECT LENGTH(GROUP_CONCAT(@a)) FROM (SELECT 1 UNION ALL SELECT 2) d";
    assert_eq!(c.one(sql), "67108864");
    assert_eq!(
        c.warnings(),
        ["Warning 1260 Row 2 was cut by GROUP_CONCAT()"]
    );
}

#[test]
fn a_table_filled_from_itself_needs_no_memory() {
    let db = TestDb::new();
    let mut c = db.client();
    hundred(&mut c);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20), d DATETIME(3), e DECIMAL(9,2), f INT UNSIGNED)");
    c.ok("INSERT INTO t (a, d, e, f) SELECT CONCAT('x', n.n * 100 + m.n), '2024-01-31 12:00:00.123', 1.25, NULL \
          FROM n JOIN n m ORDER BY n.n * 100 + m.n");
    little_memory(&mut c);
    let done = c
        .ok("INSERT INTO t (a, d, e, f) SELECT a, d, e, f FROM t ORDER BY id")
        .done;
    assert_eq!(done.affected, 10_000);
    let same = "SELECT COUNT(*) FROM t a JOIN t b ON b.id = a.id + 10000 AND b.a = a.a AND b.d = a.d AND b.e = a.e \
                AND b.f <=> a.f";
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "20000");
    let first: u64 = c
        .one("SELECT MIN(id) FROM (SELECT id FROM t ORDER BY id DESC LIMIT 10000) d")
        .parse()
        .unwrap();
    let same = same.replace("10000", &(first - 1).to_string());
    assert_eq!(c.one(&same), "10000");
}

#[test]
fn a_subquery_too_large_to_keep_is_read_each_time() {
    let db = TestDb::new();
    let mut c = db.client();
    hundred(&mut c);
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("INSERT INTO t VALUES (5), (9998), (20000)");
    little_memory(&mut c);
    let all = "SELECT x.n * 100 + y.n FROM n x JOIN n y";
    let pairs = "SELECT x.n * 100 + y.n, 1 FROM n x JOIN n y";
    for (condition, rows) in [
        (format!("a IN ({all})"), &["5", "9998"][..]),
        (format!("a NOT IN ({all})"), &["20000"]),
        (format!("a > ALL ({all})"), &["20000"]),
        (format!("a <= ANY ({all})"), &["5", "9998"]),
        (format!("(a, 1) IN ({pairs})"), &["5", "9998"]),
        (format!("(a, 1) NOT IN ({pairs})"), &["20000"]),
    ] {
        let sql = format!("SELECT a FROM t WHERE {condition} ORDER BY a");
        assert_eq!(c.rows(&sql), rows, "{sql}");
        let sql = format!("SELECT SUM({condition}) FROM t");
        assert_eq!(c.one(&sql), rows.len().to_string(), "{sql}");
    }
    assert_eq!(
        c.code(&format!("SELECT * FROM t WHERE (a, 1) = ({pairs})")),
        1242
    );
}

/// `big`: ten thousand rows of more than a hundred bytes, a fifth of them with `k` 7; `small`: two hundred, half of which match.
fn two_sizes(c: &mut Client) {
    hundred(c);
    c.ok("CREATE TABLE big (id INT PRIMARY KEY, k INT, u INT UNSIGNED, d DECIMAL(9,2), s VARCHAR(20), pad CHAR(100))");
    c.ok(
        "INSERT INTO big SELECT v, IF(v % 5 = 0, 7, v), v, v / 4, CONCAT('x', v), REPEAT('p', 100) \
          FROM (SELECT a.n * 100 + b.n AS v FROM n a JOIN n b) q",
    );
    c.ok("CREATE TABLE small (id INT PRIMARY KEY, k INT, d DECIMAL(7,4), s CHAR(20))");
    c.ok("INSERT INTO small SELECT a.n + b.n * 100, IF(b.n = 0, a.n * 3, -a.n), a.n * 2.5, CONCAT('X', a.n) \
          FROM n a JOIN n b WHERE b.n < 2");
}

/// Files of sorts and of kept rows.
fn temporary_files(db: &TestDb) -> usize {
    std::fs::read_dir(db.path.join("tmp")).map_or(0, |files| files.count())
}

#[test]
fn joins_that_outgrow_the_memory_give_the_same_rows() {
    let db = TestDb::new();
    let mut c = db.client();
    two_sizes(&mut c);
    let queries = [
        // Either side may be the larger one.
        "SELECT s.id, b.id, b.pad FROM small s JOIN big b ON b.k = s.k + 0",
        "SELECT b.id, s.id FROM big b STRAIGHT_JOIN small s ON s.k + 0 = b.k",
        "SELECT x.id, y.id, y.pad FROM big x STRAIGHT_JOIN big y ON y.u = x.id + 1 WHERE x.pad <> 'q'",
        // A key of two thousand rows.
        "SELECT COUNT(*), SUM(y.id) FROM small x STRAIGHT_JOIN big y ON y.k = x.id",
        // Rows without a match, with a condition on them, and NULLs as keys.
        "SELECT s.id, b.id FROM small s LEFT JOIN big b ON b.k = s.k",
        "SELECT s.id, b.id FROM small s LEFT JOIN big b ON b.k = s.k AND b.id > 100 WHERE b.id IS NULL OR b.id < 300",
        "SELECT s.id, b.id FROM small s LEFT JOIN big b ON b.k = NULLIF(s.k, 3)",
        "SELECT s.id, b.id FROM small s LEFT JOIN big b ON NULLIF(b.k, 3) <=> NULLIF(s.k, 6)",
        // One after the other, and as the inner side of another.
        "SELECT s.id, b.id, z.id FROM small s JOIN big b ON b.k = s.k LEFT JOIN big z ON z.d = b.u",
        "SELECT s.id, b.id, z.id FROM small s LEFT JOIN (big b JOIN big z ON z.u = b.k) ON b.u = s.k",
        // Computed tables.
        "SELECT s.id, q.c FROM small s JOIN (SELECT k, COUNT(*) c, MAX(pad) FROM big GROUP BY k) q ON q.k = s.k",
        "WITH q AS (SELECT id, k, pad FROM big) SELECT x.id, y.id FROM q x JOIN q y ON y.id = x.k + 1 WHERE x.id % 5",
        "SELECT q.id, t.n FROM (SELECT id, pad FROM big) q JOIN (SELECT n FROM n) t ON q.id = t.n * 3",
        // What comes after a join.
        "SELECT s.k, COUNT(*), MIN(b.pad) FROM small s JOIN big b ON b.k = s.k GROUP BY s.k",
        "SELECT s.id, b.id FROM small s JOIN big b ON b.k = s.k ORDER BY b.id DESC, s.id LIMIT 7",
        "SELECT COUNT(*) FROM small s WHERE (SELECT COUNT(*) FROM big b JOIN n ON n.n = b.k + 0 WHERE b.id < s.id) > 3",
    ];
    let sorted = |c: &mut Client, q: &str| {
        let mut rows = c.rows(q);
        rows.sort();
        rows
    };
    let wide: Vec<_> = queries.iter().map(|q| sorted(&mut c, q)).collect();
    little_memory(&mut c);
    for (q, want) in queries.iter().zip(&wide) {
        assert!(!want.is_empty(), "{q}");
        assert_eq!(&sorted(&mut c, q), want, "{q}");
        assert_eq!(temporary_files(&db), 0, "{q}");
    }
    // In the order of the first table's key, which nothing sorts.
    let ordered = "SELECT s.id, b.id FROM small s STRAIGHT_JOIN big b ON b.k = s.k ORDER BY s.id";
    let ids: Vec<u32> = c
        .rows(ordered)
        .iter()
        .map(|r| r.split('|').next().unwrap().parse().unwrap())
        .collect();
    assert!(ids.is_sorted() && ids.len() == 80, "{}", ids.len());
    assert_eq!(
        c.rows("SELECT b.id FROM small s STRAIGHT_JOIN big b ON b.k = s.k WHERE s.id = 1 LIMIT 1")
            .len(),
        1
    );
    // Rows that are changed are found where they are.
    assert_eq!(
        c.ok("UPDATE small s JOIN big b ON b.u = s.k SET b.s = 'new', s.s = 'too'")
            .done
            .affected,
        201
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM big WHERE s = 'new'"), "100");
}

#[test]
fn in_finds_values_of_other_types() {
    let db = TestDb::new();
    let mut c = db.client();
    two_sizes(&mut c);
    c.ok("INSERT INTO big VALUES (20000, NULL, 4294967295, NULL, NULL, '')");
    let queries = [
        (
            "SELECT COUNT(*) FROM big WHERE u IN (SELECT k FROM small)",
            "100",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE k IN (SELECT u FROM big)",
            "101",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE d IN (SELECT d FROM big)",
            "200",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE d IN (SELECT u FROM big)",
            "100",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE s IN (SELECT s FROM big)",
            "200",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE k NOT IN (SELECT u FROM big)",
            "99",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE k NOT IN (SELECT k FROM big)",
            "0",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE (k, s) IN (SELECT u / 1, s FROM big)",
            "2",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE (k, d) IN (SELECT u, u * 0.83333333 FROM big)",
            "2",
        ),
        (
            "SELECT COUNT(*) FROM small WHERE (id, s) NOT IN (SELECT k, s FROM big WHERE k IS NULL OR k > 5)",
            "0",
        ),
    ];
    let answers = |c: &mut Client| -> Vec<String> { queries.iter().map(|q| c.one(q.0)).collect() };
    let wide = answers(&mut c);
    little_memory(&mut c);
    assert_eq!(answers(&mut c), wide);
    let want: Vec<_> = queries.iter().map(|q| q.1).collect();
    assert_eq!(wide, want);
}

#[test]
fn statements_at_a_time_stay_within_the_servers_memory() {
    // A quarter is kept for what can't go to disk: 819 KiB for each of ten, of which a hash join on disk takes two sorts' least, 256 KiB each, and
    // what goes with them.
    let bound = 32 << 20;
    let db = TestDb::with(&[("temptable_max_ram", "33554432")]);
    let mut c = db.client();
    two_sizes(&mut c);
    let queries = [
        ("SELECT id, pad FROM big ORDER BY s DESC, id", 10_000),
        (
            "SELECT s, MAX(pad), MIN(pad), GROUP_CONCAT(pad) FROM big GROUP BY s",
            10_000,
        ),
        (
            "SELECT x.id, y.id FROM big x STRAIGHT_JOIN big y ON y.u = x.id + 0 WHERE x.pad = y.pad",
            10_000,
        ),
        (
            "SELECT DISTINCT s, pad FROM big UNION SELECT pad, s FROM big",
            20_000,
        ),
        (
            "WITH q AS (SELECT * FROM big) SELECT x.id FROM q x JOIN q y ON x.id = y.u",
            10_000,
        ),
        (
            "SELECT COUNT(DISTINCT s, pad, id % 3) FROM big GROUP BY id % 100",
            100,
        ),
    ];
    std::thread::scope(|s| {
        for n in 0..10 {
            let (db, queries) = (&db, &queries);
            s.spawn(move || {
                let mut c = db.client();
                for at in 0..queries.len() {
                    let (sql, rows) = queries[(at + n) % queries.len()];
                    assert_eq!(c.rows(sql).len(), rows, "{sql}");
                }
            });
        }
    });
    let memory = db.instance().memory();
    assert!(memory.peak() <= bound, "{}", memory.peak());
    assert!(memory.peak() > bound / 8, "{}", memory.peak());
    assert_eq!(memory.reserved(), 0);
    assert_eq!(temporary_files(&db), 0);
}

#[test]
fn a_row_that_the_server_has_no_memory_for_is_an_error() {
    let db = TestDb::with(&[("temptable_max_ram", "2097152")]);
    let mut c = db.client();
    assert_eq!(c.one("SELECT @@temptable_max_ram"), "2097152");
    c.ok("CREATE TABLE t (a LONGTEXT)");
    c.ok("INSERT INTO t VALUES (REPEAT('x', 4000000))");
    assert_eq!(c.code("SELECT a FROM t ORDER BY a"), 1038);
    assert_eq!(c.code("SELECT MAX(a) FROM t"), 1038);
    assert_eq!(db.instance().memory().reserved(), 0);
    c.ok("SET GLOBAL temptable_max_ram = 67108864");
    assert_eq!(c.one("SELECT LENGTH(MAX(a)) FROM t"), "4000000");
    assert_eq!(c.rows("SELECT LENGTH(a) FROM t ORDER BY a"), ["4000000"]);
}

#[test]
fn group_concat_cuts_bytes_anywhere() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET group_concat_max_len = 5");
    assert_eq!(
        c.one("SELECT HEX(GROUP_CONCAT(b)) FROM (SELECT x'80818283848586' AS b) q"),
        "8081828384"
    );
    // A text is cut between characters.
    assert_eq!(
        c.one("SELECT GROUP_CONCAT(b) FROM (SELECT 'äöü' AS b) q"),
        "äö"
    );
}

#[test]
fn variables_of_a_session_have_a_bound() {
    let db = TestDb::with(&[("temptable_max_ram", "8388608")]);
    let mut c = db.client();
    c.ok("SET @a = REPEAT('x', 1000000)");
    c.ok("SET @a = REPEAT('y', 2000000)");
    assert_eq!(c.code("SET @b = REPEAT('x', 1000000)"), 1038);
    assert_eq!(c.code("SELECT @b := REPEAT('x', 1000000)"), 1038);
    assert_eq!(c.code("SELECT REPEAT('x', 1000000) INTO @b"), 1038);
    assert_eq!(c.one("SELECT LENGTH(@a), @b"), "2000000|NULL");
    c.ok("SET @a = 1, @b = REPEAT('x', 1000000)");
    c.0.reset().expect("reset");
    assert_eq!(db.instance().memory().reserved(), 0);
}

#[test]
fn a_row_made_of_long_texts_has_a_bound() {
    let db = TestDb::with(&[("temptable_max_ram", "8388608")]);
    let mut c = db.client();
    let one = "REPEAT('x', 1000000)";
    let many = [one; 10].join(", ");
    assert_eq!(c.code(&format!("SELECT {many}")), 1038);
    assert_eq!(c.rows(&format!("SELECT {one}, {one}")).len(), 1);
    c.ok("CREATE TABLE t (a CHAR(1))");
    c.ok("INSERT INTO t VALUES ('y')");
    let many = many.replace("'x'", "a");
    assert_eq!(c.code(&format!("SELECT {many} FROM t")), 1038);
    assert_eq!(db.instance().memory().reserved(), 0);
}

#[test]
fn patterns_may_differ_from_row_to_row() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), p VARCHAR(20))");
    c.ok("INSERT INTO t VALUES (1, 'abc', '^a'), (2, 'abc', '^a'), (3, 'abc', '^b'), (4, 'bcd', '^b'), (5, 'x', NULL), (6, 'ab', '^a')");
    assert_eq!(
        c.rows("SELECT id FROM t WHERE a REGEXP p"),
        ["1", "2", "4", "6"]
    );
    assert_eq!(
        c.code("SELECT id FROM t WHERE a REGEXP CONCAT(p, '(')"),
        3685
    );
    let like =
        c.0.prepare("SELECT id FROM t WHERE a REGEXP ?")
            .expect("prepare");
    for (p, want) in [("^a", 4), ("c", 4), ("x|d", 2)] {
        let mut sink = support::Collector::default();
        c.0.execute_prepared(&like, &[millpond_session::Value::str(p)], &mut sink)
            .expect("execute");
        assert_eq!(sink.answers[0].rows.len(), want, "{p}");
    }
}

#[test]
fn a_subquery_looked_through_for_each_row_can_be_killed() {
    let db = TestDb::new();
    let mut c = db.client();
    two_sizes(&mut c);
    let mut other = db.client();
    let id = other.one("SELECT CONNECTION_ID()");
    // Texts against numbers are compared one by one: a hundred million pairs.
    let sql = "SELECT COUNT(*) FROM big WHERE CONCAT(s, id) <> ALL (SELECT d FROM big)";
    let running = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info = \"{sql}\""
    );
    let code = std::thread::scope(|scope| {
        let victim = scope.spawn(|| other.code(sql));
        while c.one(&running) == "0" {
            std::thread::yield_now();
        }
        c.ok(&format!("KILL QUERY {id}"));
        victim.join().expect("joins")
    });
    assert_eq!(code, 1317);
}

#[test]
fn a_sort_on_disk_can_be_killed_and_leaves_nothing() {
    let db = TestDb::new();
    let mut c = db.client();
    two_sizes(&mut c);
    // A hundred million rows, sorted; grouped; hashed.
    for sql in [
        "SELECT x.id, y.pad FROM big x JOIN big y ORDER BY x.s, y.s",
        "SELECT x.id, y.id, MAX(y.pad) FROM big x JOIN big y GROUP BY x.id, y.id",
        "SELECT COUNT(*) FROM small s STRAIGHT_JOIN (SELECT x.id + y.id AS v, y.pad FROM big x JOIN big y LIMIT 100000000) q \
         ON q.v = s.id",
        "SELECT COUNT(DISTINCT x.id, y.pad, y.id) FROM big x JOIN big y",
    ] {
        let mut other = db.client();
        little_memory(&mut other);
        let id = other.one("SELECT CONNECTION_ID()");
        let code = std::thread::scope(|scope| {
            let victim = scope.spawn(|| other.code(sql));
            while temporary_files(&db) == 0 && !victim.is_finished() {
                std::thread::yield_now();
            }
            c.ok(&format!("KILL QUERY {id}"));
            victim.join().expect("joins")
        });
        assert_eq!(code, 1317, "{sql}");
        assert_eq!(temporary_files(&db), 0, "{sql}");
        assert_eq!(db.instance().memory().reserved(), 0, "{sql}");
    }
}

#[test]
fn the_longest_texts_of_groups_are_charged() {
    let db = TestDb::new();
    let mut c = db.client();
    two_sizes(&mut c);
    c.ok("CREATE TABLE wide (id INT PRIMARY KEY, pad VARCHAR(2000))");
    c.ok("INSERT INTO wide SELECT id, REPEAT(pad, 10) FROM big");
    c.ok("SET millpond_batch_rows = 100, millpond_parallel_workers = 1");
    let memory = db.instance().memory();
    assert!(memory.peak() < 4 << 20, "{}", memory.peak());
    assert_eq!(
        c.rows("SELECT id, MAX(pad) FROM wide GROUP BY id").len(),
        10_000
    );
    assert!(memory.peak() > 10_000 * 1000, "{}", memory.peak());
}
