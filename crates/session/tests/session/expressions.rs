//! Functions and aggregates that a table of statements says badly.

use crate::support::{Client, TestDb};

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
    let groups = format!(
        "SELECT v % 400 AS k, COUNT(DISTINCT v, z, x.n) AS c, SUM(DISTINCT v) AS s, GROUP_CONCAT(DISTINCT z ORDER BY z) AS l \
                 {twice} JOIN d x WHERE x.n < 10 GROUP BY v % 400"
    );
    assert_eq!(
        c.one(&format!(
            "SELECT COUNT(*), MIN(c), MAX(c), SUM(s), MIN(l), MAX(l) FROM ({groups}) g"
        )),
        "400|500|500|49995000|0,1|0,1"
    );
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
    assert_eq!(c.code("SELECT PERIOD_ADD(0, 5)"), 1210);
    assert_eq!(c.code("SELECT RANDOM_BYTES(0)"), 1690);
    assert_eq!(c.code("SELECT REGEXP_INSTR('a', 'a', 5)"), 3686);
    assert_eq!(c.code("SELECT REGEXP_LIKE('a', '(')"), 3685);
    c.ok("SELECT INET_ATON('x')");
    assert_eq!(
        c.warnings(),
        ["Warning 1411 Incorrect string value: ''x'' for function inet_aton"]
    );
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
