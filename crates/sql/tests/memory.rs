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
