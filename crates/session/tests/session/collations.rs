//! The collations of the Unicode Collation Algorithm, for connections and for columns.

use crate::support::TestDb;

#[test]
fn clients_connect_with_what_they_are_used_to() {
    let db = TestDb::new();
    let mut c = db.client();
    for (names, same_case, padded) in [
        ("utf8mb4 COLLATE utf8mb4_0900_ai_ci", "1", "0"),
        ("utf8mb4 COLLATE utf8mb4_unicode_ci", "1", "1"),
        ("utf8mb4 COLLATE utf8mb4_unicode_520_ci", "1", "1"),
        ("utf8 COLLATE utf8_unicode_ci", "1", "1"),
        ("utf8mb4 COLLATE utf8mb4_bin", "0", "1"),
    ] {
        c.ok(&format!("SET NAMES {names}"));
        assert_eq!(c.one("SELECT 'straße' = 'STRASSE'"), same_case, "{names}");
        assert_eq!(c.one("SELECT 'a' = 'a '"), padded, "{names}");
    }
    c.ok("SET collation_connection = utf8mb4_0900_ai_ci");
    assert_eq!(
        c.one(
            "SELECT @@character_set_connection, 'a' LIKE 'Á', 'xÁy' REGEXP 'X.Y', INSTR('xÁy', 'a')"
        ),
        "utf8mb4|1|1|2"
    );
    assert_eq!(c.code("SET NAMES utf8mb4 COLLATE utf8mb4_klingon_ci"), 1273);
}

#[test]
fn letters_that_mysql_keeps_apart_are_unique() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE n (s VARCHAR(20) COLLATE utf8mb4_unicode_ci PRIMARY KEY)");
    c.ok("INSERT INTO n VALUES ('Jørgen'), ('Jorgen'), ('Łukasz'), ('Lukasz'), ('æ'), ('ae'), ('ħ'), ('h')");
    assert_eq!(c.code("INSERT INTO n VALUES ('JØRGEN')"), 1062);
    assert_eq!(c.code("INSERT INTO n VALUES ('lúkasz')"), 1062);
    assert_eq!(
        c.rows("SELECT s FROM n ORDER BY s"),
        ["ae", "æ", "h", "ħ", "Jorgen", "Jørgen", "Lukasz", "Łukasz"]
    );
    assert_eq!(c.rows("SELECT s FROM n WHERE s LIKE 'jo%'"), ["Jorgen"]);
}

#[test]
fn what_comes_through_a_query_yields_as_it_did_in_it() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (s VARCHAR(9) COLLATE utf8mb4_general_ci, d DATE)");
    c.ok("INSERT INTO t VALUES ('A', '2020-01-02'), ('b', NULL), ('x', NULL)");
    c.ok("SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci");
    for (found, condition) in [
        ("A", "s = (SELECT 'a')"),
        ("A", "s = (SELECT MAX('a'))"),
        ("A", "s = (SELECT UPPER(k) FROM (SELECT 'a' AS k) d)"),
        ("A", "s IN (SELECT 'a')"),
        ("A", "(s, 1) IN (SELECT 'a', 1)"),
        ("A", "s >= ALL (SELECT 'a') AND s < ANY (SELECT 'B')"),
        ("A", "d = (SELECT DATE_ADD('2020-01-01', INTERVAL 1 DAY))"),
        (
            "x",
            "s NOT IN (WITH k AS (SELECT 'a' AS k UNION SELECT 'B') SELECT k FROM k)",
        ),
    ] {
        assert_eq!(
            c.rows(&format!("SELECT s FROM t WHERE {condition}")),
            [found],
            "{condition}"
        );
    }
    for keys in [
        "(SELECT 'a' AS k UNION ALL SELECT 'B') d ON d.k = t.s",
        "(VALUES ROW('a'), ROW('B')) d (k) ON d.k = t.s",
        "(SELECT s AS k FROM t WHERE s < 'x' UNION SELECT 'a') d ON d.k = t.s",
        "(SELECT s AS k FROM t UNION SELECT 'a') d ON d.k = t.s AND d.k <> 'X'",
    ] {
        let sql = format!("SELECT s FROM t JOIN {keys} ORDER BY s");
        assert_eq!(c.rows(&sql), ["A", "b"], "{keys}");
    }
    // Columns that come through a query hold to theirs.
    c.ok("CREATE TABLE u (s VARCHAR(9) COLLATE utf8mb4_unicode_ci)");
    for other in [
        "(SELECT s FROM u) d",
        "(SELECT MAX(s) AS s FROM u) d",
        "u d",
    ] {
        let sql = format!("SELECT * FROM t JOIN {other} ON d.s = t.s");
        assert_eq!(c.code(&sql), 1267, "{other}");
    }
    // The server's own tables yield to stored ones, and its functions to them.
    c.ok("INSERT INTO u VALUES ('U')");
    assert_eq!(
        c.rows("SELECT table_name FROM information_schema.tables i JOIN u ON u.s = i.table_name WHERE table_schema = DATABASE()"),
        ["u"]
    );
}

#[test]
fn columns_sort_and_search_by_their_collation() {
    let db = TestDb::new();
    let mut c = db.client();
    let words = [
        "zebra", "Äpfel", "apfel", "Apfel ", "apple", "Öl", "oel", "ol", "strasse", "Straße",
        "čaj", "caj", "l·l", "lla", "一", "丁", "각", "가", "😀", "😁", "", " ", "a-b", "ab",
        "a b", "10", "9", "é", "e\u{301}",
    ];
    for collation in [
        "utf8mb4_0900_ai_ci",
        "utf8mb4_unicode_ci",
        "utf8mb4_unicode_520_ci",
    ] {
        c.ok("DROP TABLE IF EXISTS t");
        c.ok(&format!(
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, w VARCHAR(20) COLLATE {collation}, plain INT, KEY (w), KEY (w(2)))"
        ));
        for w in words {
            c.ok(&format!("INSERT INTO t (w) VALUES ('{w}')"));
        }
        assert!(
            c.one("SHOW CREATE TABLE t")
                .contains(&format!("COLLATE {collation}"))
        );
        // By the index and without it.
        let by_index = c.rows("SELECT id FROM t FORCE INDEX (w) ORDER BY w, id");
        let sorted = c.rows("SELECT id FROM t IGNORE INDEX (w, w_2) ORDER BY w, id");
        assert_eq!(by_index, sorted, "{collation}");
        for w in words {
            for condition in [
                format!("w = '{w}'"),
                format!("w < '{w}'"),
                format!("w >= '{w}'"),
                format!("w LIKE '{w}%'"),
                format!("w BETWEEN '{w}' AND 'p'"),
                format!("w IN ('{w}', 'OL')"),
            ] {
                let with = c.rows(&format!(
                    "SELECT id FROM t FORCE INDEX (w) WHERE {condition} ORDER BY id"
                ));
                let prefix = c.rows(&format!(
                    "SELECT id FROM t FORCE INDEX (w_2) WHERE {condition} ORDER BY id"
                ));
                let without = c.rows(&format!(
                    "SELECT id FROM t WHERE ({condition}) IS TRUE ORDER BY id"
                ));
                assert_eq!(with, without, "{collation}: {condition}");
                assert_eq!(prefix, without, "{collation}: {condition}");
            }
        }
        let groups =
            c.rows("SELECT COUNT(*) FROM t WHERE w IN ('apfel', 'straße', 'é') GROUP BY w");
        let apples = if collation == "utf8mb4_0900_ai_ci" {
            "2"
        } else {
            "3"
        };
        assert_eq!(groups, [apples, "2", "2"], "{collation}");
        assert_eq!(
            c.one("SELECT COUNT(DISTINCT w) FROM t WHERE w LIKE 'str%'"),
            "1"
        );
    }
    c.ok("CREATE TABLE u (w VARCHAR(10) PRIMARY KEY) COLLATE utf8mb4_0900_ai_ci");
    c.ok("INSERT INTO u VALUES ('a'), ('a ')");
    assert_eq!(c.code("INSERT INTO u VALUES ('Á')"), 1062);
    assert_eq!(
        c.one("SELECT TABLE_COLLATION FROM information_schema.TABLES WHERE TABLE_NAME = 'u'"),
        "utf8mb4_0900_ai_ci"
    );
    // A column's collation goes before a literal's.
    c.ok("SET NAMES utf8mb4 COLLATE utf8mb4_bin");
    assert_eq!(c.one("SELECT COUNT(*) FROM u WHERE w = 'A'"), "1");
    assert_eq!(
        c.rows("SHOW COLLATION LIKE 'utf8mb4_0900%'"),
        [
            "utf8mb4_0900_ai_ci|utf8mb4|255|Yes|Yes|0|NO PAD",
            "utf8mb4_0900_as_ci|utf8mb4|305||Yes|0|NO PAD",
            "utf8mb4_0900_as_cs|utf8mb4|278||Yes|0|NO PAD",
            "utf8mb4_0900_bin|utf8mb4|309||Yes|1|NO PAD"
        ]
    );
}
