//! The collations of the Unicode Collation Algorithm, for connections and for columns.

mod support;

use support::TestDb;

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
        c.rows("SHOW COLLATION LIKE '%0900%'"),
        ["utf8mb4_0900_ai_ci|utf8mb4|255||Yes|1|NO PAD"]
    );
}
