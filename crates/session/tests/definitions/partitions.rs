//! Partitioned tables: definitions, rows, partitions chosen, and changes of partitions.

use crate::support::{Client, TestDb};

fn create_text(c: &mut Client, table: &str) -> String {
    c.ok(&format!("SHOW CREATE TABLE {table}")).rows[0][1].clone()
}

/// The partitions that EXPLAIN says a statement reads.
#[track_caller]
fn reads(c: &mut Client, sql: &str) -> String {
    c.ok(&format!("EXPLAIN {sql}")).rows[0][3].clone()
}

#[test]
fn rows_go_to_their_partitions() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok(
        "CREATE TABLE r (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a)
          (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20),
           PARTITION p2 VALUES LESS THAN MAXVALUE)",
    );
    c.ok("INSERT INTO r VALUES (5,1),(15,2),(25,3),(10,4),(-3,5)");
    assert_eq!(
        c.rows("SELECT a FROM r PARTITION (p0) ORDER BY a"),
        ["-3", "5"]
    );
    assert_eq!(
        c.rows("SELECT a FROM r PARTITION (p1, p2) ORDER BY a DESC"),
        ["25", "15", "10"]
    );
    assert_eq!(
        c.rows("SELECT a FROM r ORDER BY a"),
        ["-3", "5", "10", "15", "25"]
    );
    assert_eq!(
        c.rows("SELECT COUNT(*), MIN(a), MAX(a) FROM r"),
        ["5|-3|25"]
    );
    assert_eq!(c.rows("SELECT b FROM r WHERE a = 15"), ["2"]);
    c.ok("UPDATE r SET a = a + 8 WHERE b IN (1, 2)");
    assert_eq!(
        c.rows("SELECT a FROM r PARTITION (p1) ORDER BY a"),
        ["10", "13"]
    );
    assert_eq!(
        c.rows("SELECT a FROM r PARTITION (p2) ORDER BY a"),
        ["23", "25"]
    );
    c.ok("DELETE FROM r PARTITION (p2) WHERE b > 0");
    assert_eq!(c.rows("SELECT a FROM r ORDER BY a"), ["-3", "10", "13"]);
    c.ok("REPLACE INTO r VALUES (13, 77)");
    c.ok("INSERT INTO r VALUES (13, 1) ON DUPLICATE KEY UPDATE a = 3, b = 9");
    assert_eq!(
        c.rows("SELECT a, b FROM r PARTITION (p0) ORDER BY a"),
        ["-3|5", "3|9"]
    );
}

#[track_caller]
fn round_trip(c: &mut Client, create: &str, clause: &str) {
    c.ok("DROP TABLE IF EXISTS t");
    c.ok(create);
    let text = create_text(c, "t");
    assert!(text.ends_with(clause), "{text}");
    c.ok("DROP TABLE t");
    c.ok(&text);
    assert_eq!(create_text(c, "t"), text);
}

#[test]
fn show_create_table_prints_partitions() {
    let db = TestDb::new();
    let mut c = db.client();
    round_trip(
        &mut c,
        "CREATE TABLE t (d DATE, n INT) PARTITION BY RANGE (YEAR(d)) (
           PARTITION p1990 VALUES LESS THAN (1991) COMMENT 'it''s old',
           PARTITION `select` VALUES LESS THAN (YEAR('2000-05-05')),
           PARTITION pmax VALUES LESS THAN (MAXVALUE) ENGINE=InnoDB)",
        "
/*!50100 PARTITION BY RANGE (year(`d`))
(PARTITION p1990 VALUES LESS THAN (1991) COMMENT = 'it''s old' ENGINE = InnoDB,
 PARTITION `select` VALUES LESS THAN (2000) ENGINE = InnoDB,
 PARTITION pmax VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */",
    );
    round_trip(
        &mut c,
        "CREATE TABLE t (a INT, b VARCHAR(10), d DATETIME) PARTITION BY RANGE COLUMNS (a, b, d) (
           PARTITION p0 VALUES LESS THAN (1, 'x', '2020-01-01'),
           PARTITION p1 VALUES LESS THAN (1, MAXVALUE, MAXVALUE),
           PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE, MAXVALUE))",
        "
/*!50500 PARTITION BY RANGE  COLUMNS(a,b,d)
(PARTITION p0 VALUES LESS THAN (1,'x','2020-01-01 00:00:00') ENGINE = InnoDB,
 PARTITION p1 VALUES LESS THAN (1,MAXVALUE,MAXVALUE) ENGINE = InnoDB,
 PARTITION p2 VALUES LESS THAN (MAXVALUE,MAXVALUE,MAXVALUE) ENGINE = InnoDB) */",
    );
    round_trip(
        &mut c,
        "CREATE TABLE t (a INT, b INT) PARTITION BY LIST (a + b * 2) (
           PARTITION p0 VALUES IN (1, 2, NULL), PARTITION p1 VALUES IN (-5))",
        "
/*!50100 PARTITION BY LIST ((`a` + (`b` * 2)))
(PARTITION p0 VALUES IN (1,2,NULL) ENGINE = InnoDB,
 PARTITION p1 VALUES IN (-5) ENGINE = InnoDB) */",
    );
    round_trip(
        &mut c,
        "CREATE TABLE t (a INT, b CHAR(5)) PARTITION BY LIST COLUMNS (a, b) (
           PARTITION p0 VALUES IN ((1, 'a'), (2, NULL)), PARTITION p1 VALUES IN ((3, 'it''s')))",
        "
/*!50500 PARTITION BY LIST  COLUMNS(a,b)
(PARTITION p0 VALUES IN ((1,'a'),(2,NULL)) ENGINE = InnoDB,
 PARTITION p1 VALUES IN ((3,'it''s')) ENGINE = InnoDB) */",
    );
    round_trip(
        &mut c,
        "CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY LINEAR KEY () PARTITIONS 5",
        "\n/*!50100 PARTITION BY LINEAR KEY ()\nPARTITIONS 5 */",
    );
    round_trip(
        &mut c,
        "CREATE TABLE t (id INT, `x y` TEXT) /*!50100 PARTITION BY HASH (MOD(id, 100)) PARTITIONS 3 */",
        "\n/*!50100 PARTITION BY HASH ((`id` % 100))\nPARTITIONS 3 */",
    );
    round_trip(
        &mut c,
        "CREATE TABLE t (id INT) PARTITION BY KEY ALGORITHM = 2 (id) (PARTITION a, PARTITION b)",
        "\n/*!50100 PARTITION BY KEY (id)\n(PARTITION a ENGINE = InnoDB,\n PARTITION b ENGINE = InnoDB) */",
    );
    c.ok("CREATE TABLE u LIKE t");
    assert_eq!(
        create_text(&mut c, "u").replace("`u`", "`t`"),
        create_text(&mut c, "t")
    );
    assert_eq!(c.rows("SHOW TABLES"), ["t", "u"]);
    let status = c.ok("SHOW TABLE STATUS LIKE 'u'");
    let at = status
        .headings()
        .iter()
        .position(|h| *h == "Create_options");
    assert_eq!(status.rows[0][at.unwrap()], "partitioned");
}

#[test]
fn wrong_definitions_are_refused() {
    let db = TestDb::new();
    let mut c = db.client();
    let range = |by: &str, values: &str| {
        format!(
            "(a INT, b VARCHAR(9), d DATE, ts TIMESTAMP, x TEXT, f DOUBLE) PARTITION BY {by} ({values})"
        )
    };
    let p = |v: &str| format!("PARTITION p0 VALUES {v}");
    let many: Vec<String> = (0..8193)
        .map(|i| format!("PARTITION p{i} VALUES LESS THAN ({i})"))
        .collect();
    for (sql, code) in [
        (
            "(a INT PRIMARY KEY, b INT) PARTITION BY HASH (b)".to_string(),
            1503,
        ),
        (
            "(a INT, b INT, UNIQUE (a)) PARTITION BY HASH (b)".into(),
            1503,
        ),
        (
            "(a VARCHAR(9), UNIQUE (a(3))) PARTITION BY KEY (a)".into(),
            1503,
        ),
        ("(a INT) PARTITION BY HASH (a) PARTITIONS 0".into(), 1504),
        ("(a INT) PARTITION BY HASH (a) PARTITIONS 8193".into(), 1499),
        (
            "(a INT) PARTITION BY HASH (a) PARTITIONS 3 (PARTITION x)".into(),
            1484,
        ),
        (
            "(a INT) PARTITION BY HASH (a) (PARTITION x, PARTITION X)".into(),
            1517,
        ),
        ("(a INT) PARTITION BY HASH (c)".into(), 1054),
        ("(a INT) PARTITION BY KEY (c)".into(), 1488),
        ("(a INT) PARTITION BY KEY ()".into(), 1488),
        ("(a INT) PARTITION BY KEY (a, A)".into(), 1652),
        ("(a TEXT) PARTITION BY KEY (a)".into(), 1502),
        ("(a INT) PARTITION BY HASH (5)".into(), 1486),
        ("(a INT) PARTITION BY HASH (a / 2)".into(), 1564),
        ("(a INT) PARTITION BY HASH (a & 1)".into(), 1564),
        ("(a INT) PARTITION BY HASH (RAND(a))".into(), 1564),
        ("(a INT) PARTITION BY HASH ((SELECT 1))".into(), 1564),
        ("(a INT) PARTITION BY RANGE (a)".into(), 1492),
        ("(a INT) PARTITION BY LIST (a)".into(), 1492),
        (range("RANGE (b)", &p("LESS THAN (1)")), 1659),
        (range("RANGE (f)", &p("LESS THAN (1)")), 1659),
        (range("RANGE (YEAR(ts))", &p("LESS THAN (1)")), 1486),
        (
            range("RANGE (UNIX_TIMESTAMP(d))", &p("LESS THAN (1)")),
            1486,
        ),
        (
            range("RANGE COLUMNS (ts)", &p("LESS THAN ('2020-01-01')")),
            1659,
        ),
        (range("RANGE COLUMNS (f)", &p("LESS THAN (1)")), 1659),
        (range("RANGE COLUMNS (a)", &p("LESS THAN ('x')")), 1654),
        (range("RANGE COLUMNS (d)", &p("LESS THAN ('nope')")), 1654),
        (range("RANGE COLUMNS (a, d)", &p("LESS THAN (1)")), 1653),
        (range("RANGE (a)", &p("IN (1)")), 1480),
        (range("LIST (a)", &p("LESS THAN (1)")), 1480),
        (range("HASH (a)", &p("LESS THAN (1)")), 1480),
        (range("RANGE (a)", "PARTITION p0"), 1479),
        (range("RANGE (a)", &p("LESS THAN ('1')")), 1697),
        (range("RANGE (a)", &p("LESS THAN (NULL)")), 1566),
        (range("LIST (a)", &p("IN (MAXVALUE)")), 1656),
        (range("LIST (a)", &p("IN (1, 2, 1)")), 1495),
        (
            range(
                "RANGE (a)",
                "PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN (5)",
            ),
            1493,
        ),
        (
            range(
                "RANGE (a)",
                "PARTITION p0 VALUES LESS THAN MAXVALUE, PARTITION p1 VALUES LESS THAN (5)",
            ),
            1481,
        ),
        (range("RANGE (a)", &many.join(",")), 1499),
    ] {
        assert_eq!(c.code(&format!("CREATE TABLE t {sql}")), code, "{sql}");
    }
    assert!(c.rows("SHOW TABLES").is_empty());
    c.ok("CREATE TABLE t (a INT)");
    assert_eq!(c.code("SELECT * FROM t PARTITION (p0)"), 1747);
    assert_eq!(c.code("INSERT INTO t PARTITION (p0) VALUES (1)"), 1747);
    assert_eq!(c.code("ALTER TABLE t DROP PARTITION p0"), 1505);
}

#[test]
fn partitions_given_by_the_statement() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT, b INT) PARTITION BY LIST (a)
          (PARTITION p0 VALUES IN (1,2,NULL), PARTITION p1 VALUES IN (3,4))");
    c.ok("INSERT INTO t PARTITION (p0) (b, a) VALUES (10, 1), (20, NULL)");
    c.ok("INSERT INTO t PARTITION (P1, p0) VALUES (3, 30)");
    c.ok("INSERT INTO t PARTITION (p1) SET a = 4, b = 40");
    c.ok("INSERT INTO t PARTITION (p1) SELECT 4, 41");
    assert_eq!(c.code("INSERT INTO t PARTITION (p1) VALUES (1, 1)"), 1748);
    assert_eq!(c.code("INSERT INTO t PARTITION (p9) VALUES (1, 1)"), 1735);
    let e = c.err("INSERT INTO t VALUES (7, 1)");
    assert_eq!(
        (e.code, &*e.message),
        (1526, "Table has no partition for value 7")
    );
    c.ok("INSERT IGNORE INTO t VALUES (7, 1), (2, 21)");
    assert_eq!(
        c.warnings(),
        ["Warning 1526 Table has no partition for value 7"]
    );
    assert_eq!(
        c.rows("SELECT b FROM t PARTITION (p0) ORDER BY b"),
        ["10", "20", "21"]
    );
    assert_eq!(c.rows("SELECT b FROM t WHERE a IS NULL"), ["20"]);
    assert_eq!(c.code("UPDATE t PARTITION (p0) SET a = 3"), 1748);
    c.ok("UPDATE IGNORE t SET a = 9 WHERE a = 3");
    c.ok("UPDATE t PARTITION (p1) x SET b = b + 1 WHERE x.a = 4");
    assert_eq!(
        c.rows("SELECT b FROM t PARTITION (p1) AS y ORDER BY b"),
        ["30", "41", "42"]
    );
    assert_eq!(
        c.rows("SELECT x.b, y.b FROM t PARTITION (p0) x JOIN t PARTITION (p1) y ON y.b = x.b * 3"),
        ["10|30"]
    );
    c.ok("REPLACE INTO t PARTITION (p0) VALUES (1, 11)");
    c.ok("DELETE FROM t PARTITION (p0, p1) WHERE b > 11");
    assert_eq!(c.rows("SELECT b FROM t ORDER BY b"), ["10", "11"]);
}

#[test]
fn explain_shows_the_partitions_read() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE r (a INT, b INT, KEY (a)) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10),
          PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30), PARTITION p3 VALUES LESS THAN MAXVALUE)");
    c.ok("CREATE TABLE y (d DATE, n INT) PARTITION BY RANGE (YEAR(d)) (PARTITION y0 VALUES LESS THAN (2000),
          PARTITION y1 VALUES LESS THAN (2001), PARTITION y2 VALUES LESS THAN (2002), PARTITION y3 VALUES LESS THAN MAXVALUE)");
    c.ok("CREATE TABLE d (d DATETIME) PARTITION BY RANGE (TO_DAYS(d)) (PARTITION d0 VALUES LESS THAN (TO_DAYS('2020-01-01')),
          PARTITION d1 VALUES LESS THAN (TO_DAYS('2020-02-01')), PARTITION d2 VALUES LESS THAN (TO_DAYS('2020-03-01')),
          PARTITION d3 VALUES LESS THAN MAXVALUE)");
    c.ok(
        "CREATE TABLE u (ts TIMESTAMP) PARTITION BY RANGE (UNIX_TIMESTAMP(ts))
          (PARTITION u0 VALUES LESS THAN (1000000000), PARTITION u1 VALUES LESS THAN MAXVALUE)",
    );
    c.ok("CREATE TABLE h (a INT, b INT) PARTITION BY HASH (a) PARTITIONS 4");
    c.ok("CREATE TABLE k (a VARCHAR(10), b INT) PARTITION BY KEY (a, b) PARTITIONS 7");
    c.ok("CREATE TABLE l (a INT) PARTITION BY LIST (a) (PARTITION l0 VALUES IN (1, 5, NULL), PARTITION l1 VALUES IN (2, 6), PARTITION l2 VALUES IN (3))");
    c.ok("CREATE TABLE rc (a INT, b INT, s VARCHAR(5)) PARTITION BY RANGE COLUMNS (a, b) (PARTITION c0 VALUES LESS THAN (1, 10),
          PARTITION c1 VALUES LESS THAN (1, 20), PARTITION c2 VALUES LESS THAN (2, MAXVALUE), PARTITION c3 VALUES LESS THAN (MAXVALUE, MAXVALUE))");
    c.ok("CREATE TABLE lc (a INT, s VARCHAR(5)) PARTITION BY LIST COLUMNS (s, a) (PARTITION m0 VALUES IN (('x', 1), ('y', 1)), PARTITION m1 VALUES IN (('x', 2)))");
    for (sql, want) in [
        ("r", "p0,p1,p2,p3"),
        ("r WHERE b = 5", "p0,p1,p2,p3"),
        ("r WHERE a = 15", "p1"),
        ("r WHERE a IN (5, 25, 29)", "p0,p2"),
        ("r WHERE a = 1 OR a = 31", "p0,p3"),
        ("r WHERE a < 5 OR a BETWEEN 20 AND 22", "p0,p2"),
        ("r WHERE a = 1 AND b = 2 OR a > 30 AND b = 3", "p0,p3"),
        ("r WHERE a = 1 OR b = 3", "p0,p1,p2,p3"),
        ("r WHERE (a < 5 OR a > 30) AND a > 15", "p3"),
        ("r WHERE a < 10", "p0"),
        ("r WHERE a <= 10", "p0,p1"),
        ("r WHERE a > 9", "p1,p2,p3"),
        ("r WHERE a > 9 AND a < 20", "p1"),
        ("r WHERE a BETWEEN 19 AND 20", "p1,p2"),
        ("r WHERE a IS NULL", "p0"),
        ("r WHERE a = 15 AND a > 40", "p1"),
        ("r WHERE a = 2.5", "NULL"),
        ("r WHERE a > 100000000000", "NULL"),
        ("r PARTITION (p3, p1)", "p1,p3"),
        ("r PARTITION (p3, p1) WHERE a < 15", "p1"),
        ("y WHERE d = '2000-06-06'", "y1"),
        // 2001-00-00 is a day before it.
        ("y WHERE d < '2001-01-01'", "y0,y1,y2"),
        ("y WHERE d < '2000-12-31'", "y0,y1"),
        ("y WHERE d >= '2001-01-01' AND d <= '2001-12-31'", "y2"),
        ("y WHERE d BETWEEN '2000-12-31' AND '2001-01-01'", "y1,y2"),
        ("d WHERE d >= '2020-01-10' AND d < '2020-01-20'", "d1"),
        ("d WHERE d >= '2020-01-10' AND d < '2020-03-01'", "d0,d1,d2"),
        ("d WHERE d = '2020-02-10 10:00:00'", "d2"),
        ("u WHERE ts < '2001-01-01'", "u0"),
        ("u WHERE ts > '2010-01-01'", "u1"),
        ("h WHERE a = 6", "p2"),
        ("h WHERE a IN (1, 5, 2)", "p1,p2"),
        ("h WHERE a IS NULL", "p0"),
        ("h WHERE a BETWEEN 4 AND 5", "p0,p1"),
        ("h WHERE a > 4", "p0,p1,p2,p3"),
        ("l WHERE a = 5", "l0"),
        ("l WHERE a = 9", "NULL"),
        ("l WHERE a > 1 AND a < 4", "l1,l2"),
        ("l WHERE a IS NULL", "l0"),
        ("rc WHERE a = 1 AND b = 10", "c1"),
        ("rc WHERE a = 1", "c0,c1,c2"),
        ("rc WHERE a = 1 AND b < 10", "c0"),
        ("rc WHERE a < 1", "c0"),
        ("rc WHERE a > 2", "c3"),
        ("rc WHERE a IN (1, 7) AND b > 15", "c1,c2,c3"),
        ("lc WHERE s = 'X' AND a = 2", "m1"),
        ("lc WHERE s = 'y'", "m0"),
        ("lc WHERE a > 1", "m1"),
    ] {
        assert_eq!(
            reads(&mut c, &format!("SELECT * FROM {sql}")),
            want,
            "{sql}"
        );
    }
    assert_eq!(
        reads(&mut c, "SELECT * FROM k WHERE a = 'x' AND b = 1")
            .split(',')
            .count(),
        1
    );
    assert_eq!(
        reads(&mut c, "SELECT * FROM k WHERE a = 'x'")
            .split(',')
            .count(),
        7
    );
    assert_eq!(reads(&mut c, "UPDATE r SET b = 1 WHERE a < 15"), "p0,p1");
    assert_eq!(reads(&mut c, "DELETE FROM r WHERE a = 25"), "p2");
    assert_eq!(reads(&mut c, "INSERT INTO r VALUES (1, 1)"), "p0,p1,p2,p3");
    assert_eq!(
        reads(&mut c, "INSERT INTO r PARTITION (p0) VALUES (1, 1)"),
        "p0"
    );
}

fn fill(c: &mut Client, table: &str, from: i32, to: i32) {
    let rows: Vec<String> = (from..to).map(|i| format!("({i}, {})", i % 7)).collect();
    c.ok(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
}

/// Rows per partition, as they are.
fn spread(c: &mut Client, table: &str) -> Vec<String> {
    c.rows(&format!(
        "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_NAME = '{table}'
         AND TABLE_SCHEMA = DATABASE() ORDER BY PARTITION_ORDINAL_POSITION"
    ))
    .into_iter()
    .map(|p| {
        let n = c.one(&format!("SELECT COUNT(*) FROM {table} PARTITION (`{p}`)"));
        format!("{p}={n}")
    })
    .collect()
}

#[test]
fn changes_of_range_partitions() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10),
          PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30))");
    fill(&mut c, "t", 0, 30);
    assert_eq!(
        c.code("ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (30))"),
        1493
    );
    assert_eq!(
        c.code("ALTER TABLE t ADD PARTITION (PARTITION P2 VALUES LESS THAN (40))"),
        1517
    );
    assert_eq!(c.code("ALTER TABLE t ADD PARTITION PARTITIONS 2"), 1492);
    c.ok("ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN (40), PARTITION p4 VALUES LESS THAN MAXVALUE)");
    fill(&mut c, "t", 35, 45);
    assert_eq!(
        spread(&mut c, "t"),
        ["p0=10", "p1=10", "p2=10", "p3=5", "p4=5"]
    );
    assert_eq!(c.code("ALTER TABLE t DROP PARTITION p9"), 1507);
    assert_eq!(
        c.code("ALTER TABLE t DROP PARTITION p0, p1, p2, p3, p4"),
        1508
    );
    assert_eq!(c.code("ALTER TABLE t COALESCE PARTITION 1"), 1509);
    c.ok("ALTER TABLE t DROP PARTITION p1, P0");
    assert_eq!(c.one("SELECT MIN(a) FROM t"), "20");
    // What was the range of partitions that are gone falls to the next one.
    fill(&mut c, "t", 0, 2);
    assert_eq!(spread(&mut c, "t"), ["p2=12", "p3=5", "p4=5"]);
    c.ok("ALTER TABLE t TRUNCATE PARTITION p4");
    assert_eq!(c.code("ALTER TABLE t TRUNCATE PARTITION p0"), 1735);
    assert_eq!(spread(&mut c, "t"), ["p2=12", "p3=5", "p4=0"]);

    assert_eq!(
        c.code(
            "ALTER TABLE t REORGANIZE PARTITION p2, p4 INTO (PARTITION x VALUES LESS THAN MAXVALUE)"
        ),
        1519
    );
    assert_eq!(
        c.code("ALTER TABLE t REORGANIZE PARTITION p2 INTO (PARTITION x VALUES LESS THAN (29))"),
        1520
    );
    assert_eq!(
        c.code("ALTER TABLE t REORGANIZE PARTITION p9 INTO (PARTITION x VALUES LESS THAN (29))"),
        1507
    );
    let done = c.ok(
        "ALTER TABLE t REORGANIZE PARTITION p2, p3 INTO (PARTITION p2 VALUES LESS THAN (1),
         PARTITION n VALUES LESS THAN (25), PARTITION p3 VALUES LESS THAN (40))",
    );
    assert_eq!(done.done.affected, 0);
    assert_eq!(spread(&mut c, "t"), ["p2=1", "n=6", "p3=10", "p4=0"]);
    c.ok("ALTER TABLE t REBUILD PARTITION n, p3");
    c.ok("ALTER TABLE t REBUILD PARTITION ALL");
    c.ok("OPTIMIZE TABLE t");
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    let rows = c.rows("SELECT a, b FROM t ORDER BY a");
    assert_eq!(rows.len(), 17);
    assert_eq!(
        c.rows("SELECT a FROM t WHERE b = 6 ORDER BY a"),
        ["20", "27"]
    );
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows("SELECT a, b FROM t ORDER BY a"), rows);

    c.ok("ALTER TABLE t ADD COLUMN c VARCHAR(5) DEFAULT 'x' AFTER a, ADD KEY (c)");
    c.ok("CREATE INDEX bb ON t (b, c)");
    c.ok("DROP INDEX b ON t");
    assert_eq!(c.rows("SELECT a, b FROM t ORDER BY a"), rows);
    assert_eq!(
        c.rows("SELECT a, c FROM t FORCE INDEX (bb) WHERE b = 6 ORDER BY a"),
        ["20|x", "27|x"]
    );
    c.ok("ALTER TABLE t COMMENT = 'parted'");
    assert!(create_text(&mut c, "t").contains("COMMENT='parted'\n/*!50100 PARTITION BY RANGE"));
    assert_eq!(c.code("ALTER TABLE t ADD UNIQUE (b)"), 1503);
    assert_eq!(c.code("ALTER TABLE t RENAME COLUMN a TO z"), 1054);
    c.ok("ALTER TABLE t MODIFY a BIGINT UNSIGNED NOT NULL");
    assert_eq!(reads(&mut c, "SELECT * FROM t WHERE a = 30"), "p3");
    c.ok("RENAME TABLE t TO u");
    assert_eq!(spread(&mut c, "u"), ["p2=1", "n=6", "p3=10", "p4=0"]);
    c.ok("ALTER TABLE u PARTITION BY HASH (a) PARTITIONS 3");
    assert_eq!(c.rows("SELECT a, b FROM u ORDER BY a"), rows);
    assert_eq!(
        c.code("ALTER TABLE u PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (5))"),
        1526
    );
    assert_eq!(spread(&mut c, "u").len(), 3);
    c.ok("ALTER TABLE u REMOVE PARTITIONING");
    assert_eq!(c.rows("SELECT a, b FROM u ORDER BY a"), rows);
    assert!(!create_text(&mut c, "u").contains("PARTITION"));
    c.ok("ALTER TABLE u PARTITION BY KEY () PARTITIONS 4");
    c.ok("TRUNCATE TABLE u");
    assert_eq!(c.one("SELECT COUNT(*) FROM u"), "0");
    fill(&mut c, "u (a, b)", 1, 9);
    assert_eq!(c.one("SELECT COUNT(*) FROM u"), "8");
    c.ok("DROP TABLE u");
    assert!(c.rows("SHOW TABLES").is_empty());
}

#[test]
fn changes_of_hash_and_list_partitions() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE h (a INT, b INT, KEY (a)) PARTITION BY LINEAR HASH (a) PARTITIONS 3");
    fill(&mut c, "h", -5, 20);
    let rows = c.rows("SELECT a, b FROM h ORDER BY a");
    assert_eq!(c.code("ALTER TABLE h DROP PARTITION p0"), 1512);
    assert_eq!(c.code("ALTER TABLE h COALESCE PARTITION 3"), 1508);
    assert_eq!(c.code("ALTER TABLE h COALESCE PARTITION 0"), 1515);
    assert_eq!(c.code("ALTER TABLE h ADD PARTITION PARTITIONS 0"), 1514);
    c.ok("ALTER TABLE h ADD PARTITION PARTITIONS 5");
    assert!(create_text(&mut c, "h").ends_with("PARTITIONS 8 */"));
    assert_eq!(c.rows("SELECT a, b FROM h ORDER BY a"), rows);
    c.ok("ALTER TABLE h COALESCE PARTITION 6");
    assert_eq!(spread(&mut c, "h").len(), 2);
    assert_eq!(c.rows("SELECT a, b FROM h ORDER BY a"), rows);

    c.ok(
        "CREATE TABLE l (a INT, s VARCHAR(3)) PARTITION BY LIST COLUMNS (s)
          (PARTITION x VALUES IN ('a', 'b'), PARTITION y VALUES IN ('c', NULL))",
    );
    c.ok("INSERT INTO l VALUES (1,'a'),(2,'B'),(3,'c'),(4,NULL)");
    assert_eq!(spread(&mut c, "l"), ["x=2", "y=2"]);
    assert_eq!(
        c.code("ALTER TABLE l ADD PARTITION (PARTITION z VALUES IN ('d', 'A'))"),
        1495
    );
    c.ok("ALTER TABLE l ADD PARTITION (PARTITION z VALUES IN ('d'))");
    c.ok("ALTER TABLE l REORGANIZE PARTITION x, z INTO (PARTITION x VALUES IN ('a'), PARTITION z VALUES IN ('b', 'd'))");
    assert_eq!(spread(&mut c, "l"), ["x=1", "z=1", "y=2"]);
    // A row that would have no place keeps everything as it was.
    assert_eq!(
        c.code("ALTER TABLE l REORGANIZE PARTITION y INTO (PARTITION y VALUES IN ('c'))"),
        1526
    );
    assert_eq!(spread(&mut c, "l"), ["x=1", "z=1", "y=2"]);
    assert_eq!(
        c.rows("SELECT PARTITION_METHOD, PARTITION_EXPRESSION, PARTITION_DESCRIPTION, TABLE_ROWS FROM information_schema.PARTITIONS
                WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = 'l' ORDER BY PARTITION_ORDINAL_POSITION"),
        ["LIST COLUMNS|s|'a'|1", "LIST COLUMNS|s|'b','d'|1", "LIST COLUMNS|s|'c',NULL|2"]
    );
    c.ok("DROP DATABASE test");
}

#[test]
fn a_partition_and_a_table_change_places() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT) PARTITION BY RANGE (a)
          (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200), PARTITION p2 VALUES LESS THAN MAXVALUE)");
    c.ok("INSERT INTO t (b) VALUES (1), (2)");
    c.ok("CREATE TABLE o LIKE t");
    assert_eq!(
        c.code("ALTER TABLE t EXCHANGE PARTITION p1 WITH TABLE o"),
        1732
    );
    c.ok("ALTER TABLE o REMOVE PARTITIONING");
    c.ok("INSERT INTO o VALUES (150, 5), (160, 6)");
    assert_eq!(
        c.code("ALTER TABLE t EXCHANGE PARTITION p9 WITH TABLE o"),
        1735
    );
    assert_eq!(
        c.code("ALTER TABLE o EXCHANGE PARTITION p1 WITH TABLE t"),
        1505
    );
    assert_eq!(
        c.code("ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE o"),
        1737
    );
    c.ok("ALTER TABLE t EXCHANGE PARTITION p1 WITH TABLE o WITH VALIDATION");
    assert_eq!(c.rows("SELECT a FROM t"), ["1", "2", "150", "160"]);
    assert!(c.rows("SELECT a FROM o").is_empty());
    // The counter goes on after what came in.
    c.ok("INSERT INTO t (b) VALUES (3)");
    assert_eq!(c.rows("SELECT a FROM t WHERE b = 3"), ["161"]);
    c.ok("INSERT INTO o (b) VALUES (8)");
    assert_eq!(c.rows("SELECT a FROM o"), ["1"]);
    c.ok("ALTER TABLE t EXCHANGE PARTITION p2 WITH TABLE o WITHOUT VALIDATION");
    assert_eq!(c.rows("SELECT a FROM t PARTITION (p2)"), ["1"]);
    // Nobody looked, and a check says what came of it.
    assert_eq!(
        c.rows("CHECK TABLE t"),
        [
            "test.t|check|error|Found 1 misplaced rows in partition 'p2'",
            "test.t|check|error|Corrupt"
        ]
    );
    // Where it was asked to look.
    for (partitions, found) in [("p0, P1", "OK"), ("p2", "Corrupt"), ("ALL", "Corrupt")] {
        let rows = c.rows(&format!("ALTER TABLE t CHECK PARTITION {partitions}"));
        assert!(
            rows[rows.len() - 1].ends_with(found),
            "{partitions} {rows:?}"
        );
    }
    c.ok("ALTER TABLE o ADD COLUMN c INT");
    assert_eq!(
        c.code("ALTER TABLE t EXCHANGE PARTITION p2 WITH TABLE o"),
        1736
    );
    c.ok("CREATE TABLE s PARTITION BY HASH (n) PARTITIONS 2 AS SELECT a AS n, b FROM t");
    assert_eq!(c.one("SELECT COUNT(*) FROM s"), "6");
    assert_eq!(spread(&mut c, "s").len(), 2);
}

/// However rows come to their partitions, in bulk or one by one, they are the same, by each index.
#[test]
fn partitions_are_written_anew() {
    let db = TestDb::new();
    let mut c = db.client();
    for (key, fast) in [
        ("PRIMARY KEY (id)", "ON"),
        ("KEY (id)", "ON"),
        ("PRIMARY KEY (id)", "OFF"),
    ] {
        c.ok(&format!("SET expand_fast_index_creation = {fast}"));
        c.ok("DROP TABLE IF EXISTS t");
        c.ok(&format!(
            "CREATE TABLE t (id INT NOT NULL, a INT, b VARCHAR(300), {key}, KEY kb (b), UNIQUE KEY ua (a, id))
             PARTITION BY HASH (id) PARTITIONS 3"
        ));
        let ids: Vec<String> = (1..1500).map(|i| format!("({})", i * 7 % 1500)).collect();
        c.ok(&format!("INSERT INTO t (id) VALUES {}", ids.join(",")));
        c.ok("UPDATE t SET a = id * 7 % 1501, b = REPEAT(CHAR(65 + id % 26), 200 + id % 90)");
        let digest = "SELECT COUNT(*), SUM(id), SUM(a), SUM(CRC32(b)) FROM t";
        let by_index = [
            "SELECT COUNT(b) FROM t FORCE INDEX (kb)",
            "SELECT SUM(a) FROM t FORCE INDEX (ua)",
        ];
        let want = c.rows(digest);
        let wants = by_index.map(|sql| c.rows(sql));
        for change in [
            "OPTIMIZE TABLE t",
            "ALTER TABLE t FORCE",
            "ALTER TABLE t ADD PARTITION PARTITIONS 2",
            "ALTER TABLE t COALESCE PARTITION 3",
            "ALTER TABLE t MODIFY a BIGINT",
            "ALTER TABLE t REMOVE PARTITIONING",
            "ALTER TABLE t PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (500), PARTITION p1 VALUES LESS THAN MAXVALUE)",
            "ALTER TABLE t REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (501), PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "ALTER TABLE t REBUILD PARTITION p0, p2",
            "ALTER TABLE t REORGANIZE PARTITION p0, p1 INTO (PARTITION p0 VALUES LESS THAN (501))",
        ] {
            c.ok(change);
            assert_eq!(c.rows(digest), want, "{change}, {key}, {fast}");
            assert_eq!(
                by_index.map(|sql| c.rows(sql)),
                wants,
                "{change}, {key}, {fast}"
            );
            assert_eq!(
                c.rows("CHECK TABLE t"),
                ["test.t|check|status|OK"],
                "{change}"
            );
        }
        // Whatever is in the way is named, and nothing has changed.
        if key.starts_with("KEY") {
            c.ok("INSERT INTO t VALUES (7, 9999, 'x')");
            for (change, key) in [
                ("ALTER TABLE t FORCE, ADD UNIQUE u (id)", "u"),
                ("ALTER TABLE t ADD PRIMARY KEY (id)", "PRIMARY"),
            ] {
                let e = c.err(change);
                let message = format!("Duplicate entry '7' for key 't.{key}'");
                assert_eq!((e.code, e.message), (1062, message));
            }
            c.ok("DELETE FROM t WHERE a = 9999");
            assert_eq!(c.rows(digest), want);
        }
    }
}

/// Rows that lie in a partition that is not theirs come to theirs when the table is written anew.
#[test]
fn misplaced_rows_are_put_right() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)) PARTITION BY RANGE (a)
          (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200), PARTITION p2 VALUES LESS THAN MAXVALUE)");
    c.ok("CREATE TABLE o (a INT PRIMARY KEY, b INT, KEY (b))");
    c.ok("INSERT INTO t VALUES (1, 1), (101, 2), (301, 3)");
    c.ok("INSERT INTO o VALUES (2, 4), (102, 5), (202, 6), (103, 7)");
    c.ok("ALTER TABLE t EXCHANGE PARTITION p1 WITH TABLE o WITHOUT VALIDATION");
    c.ok("INSERT INTO t VALUES (104, 8)");
    c.ok("OPTIMIZE TABLE t");
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    for (partition, rows) in [
        ("p0", &["1", "2"][..]),
        ("p1", &["102", "103", "104"]),
        ("p2", &["202", "301"]),
    ] {
        let sql = format!("SELECT a FROM t PARTITION ({partition}) ORDER BY a");
        assert_eq!(c.rows(&sql), rows, "{partition}");
    }
    assert_eq!(
        c.rows("SELECT b FROM t ORDER BY b"),
        ["1", "3", "4", "5", "6", "7", "8"]
    );
}

#[test]
fn an_open_transaction_holds_off_a_drop_and_old_plans_notice() {
    let db = TestDb::new();
    let mut c = db.client();
    let mut d = db.client();
    c.ok(
        "CREATE TABLE t (a INT PRIMARY KEY, b INT) PARTITION BY RANGE (a)
          (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
    );
    fill(&mut c, "t", 5, 15);
    d.ok("PREPARE s FROM 'SELECT COUNT(*) FROM t WHERE a < ?'");
    d.ok("SET @n = 100");
    assert_eq!(d.rows("EXECUTE s USING @n"), ["10"]);
    d.ok("BEGIN");
    assert_eq!(d.rows("EXECUTE s USING @n"), ["10"]);
    c.ok("SET lock_wait_timeout = 1");
    assert_eq!(c.code("ALTER TABLE t DROP PARTITION p0"), 1205);
    d.ok("COMMIT");
    c.ok("ALTER TABLE t DROP PARTITION p0");
    assert_eq!(d.rows("EXECUTE s USING @n"), ["5"]);
    d.ok("SET @n = 12");
    assert_eq!(d.rows("EXECUTE s USING @n"), ["2"]);
}

#[test]
fn partitions_come_and_go_under_load() {
    let db = TestDb::with(&[("innodb_flush_log_at_trx_commit", "0")]);
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (100),
          PARTITION p1 VALUES LESS THAN (200), PARTITION p2 VALUES LESS THAN (300), PARTITION pm VALUES LESS THAN MAXVALUE)");
    c.ok("CREATE TABLE o LIKE t");
    c.ok("ALTER TABLE o REMOVE PARTITIONING");
    let worker = |mut c: Client, seed: u64| {
        let mut n = seed;
        let mut next = |below: u64| {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (n >> 33) % below
        };
        for _ in 0..250 {
            let (a, b) = (next(400), next(400));
            let sql = match next(5) {
                0 | 1 => format!("INSERT IGNORE INTO t VALUES ({a}, {b}), ({b}, {a})"),
                2 => format!("UPDATE IGNORE t SET a = {b} WHERE a = {a}"),
                3 => format!("SELECT COUNT(*), MAX(a) FROM t WHERE a > {a} OR b = {b}"),
                _ => format!("DELETE FROM t WHERE a = {a}"),
            };
            match c.run(&sql) {
                Ok(_) => {}
                Err(e) => assert_eq!(e.code, 1213, "{sql}: {e}"),
            }
        }
    };
    std::thread::scope(|scope| {
        for seed in 1..4 {
            let c = db.client();
            scope.spawn(move || worker(c, seed));
        }
        for _ in 0..12 {
            for sql in [
                "ALTER TABLE t DROP PARTITION p0",
                "ALTER TABLE t REORGANIZE PARTITION p1 INTO (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))",
                "ALTER TABLE t TRUNCATE PARTITION p2",
                "ALTER TABLE t EXCHANGE PARTITION pm WITH TABLE o",
            ] {
                c.ok(sql);
            }
        }
    });
    assert_eq!(
        c.rows("CHECK TABLE t, o"),
        ["test.t|check|status|OK", "test.o|check|status|OK"]
    );
    assert_eq!(
        c.rows("SELECT COUNT(*) FROM t FORCE INDEX (b)"),
        c.rows("SELECT COUNT(*) FROM t FORCE INDEX (PRIMARY)")
    );
}

#[test]
fn maintenance_answers_with_rows() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 3");
    c.ok("CREATE TABLE plain (a INT)");
    c.ok("INSERT INTO t VALUES (1), (2), (3)");
    for op in ["analyze", "check"] {
        assert_eq!(
            c.rows(&format!("ALTER TABLE t {op} PARTITION p0, p2")),
            [format!("test.t|{op}|status|OK")]
        );
    }
    assert_eq!(
        c.rows("ALTER TABLE t OPTIMIZE PARTITION ALL"),
        [
            "test.t|optimize|note|Table does not support optimize on partitions. All partitions will be rebuilt and analyzed.",
            "test.t|optimize|status|OK"
        ]
    );
    assert_eq!(
        c.rows("ALTER TABLE t CHECK PARTITION p0, nope"),
        [
            "test.t|check|Error|Error in list of partitions to test.t",
            "test.t|check|status|Operation failed"
        ]
    );
    assert_eq!(c.code("ALTER TABLE plain ANALYZE PARTITION ALL"), 1505);
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "3");
}

#[test]
fn subpartitions_survive_a_restart() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b)) PARTITION BY LIST (a) SUBPARTITION BY KEY (b) \
          (PARTITION p VALUES IN (1) (SUBPARTITION x COMMENT 'c', SUBPARTITION y), PARTITION q VALUES IN (2) (SUBPARTITION z, SUBPARTITION u))");
    let each = |c: &mut Client| -> Vec<String> {
        let of =
            |name: &str| format!("SELECT GROUP_CONCAT(a, b ORDER BY b) FROM t PARTITION ({name})");
        ["x", "y", "z", "u"].map(|name| c.one(&of(name))).to_vec()
    };
    c.ok("INSERT INTO t VALUES (1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 3), (2, 4)");
    let (text, before) = (c.one("SHOW CREATE TABLE t"), each(&mut c));
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.one("SHOW CREATE TABLE t"), text);
    assert_eq!(each(&mut c), before);
    assert_eq!(c.code("INSERT INTO t VALUES (1, 2)"), 1062);
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE b = 3"), "2");
    c.ok("DROP TABLE t");
}
