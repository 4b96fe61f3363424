//! FULLTEXT searches within transactions, beside others, and across restarts.

use crate::support::{Client, TestDb};

const FIND: &str = "SELECT id FROM t WHERE MATCH (s) AGAINST ('apple') ORDER BY id";

fn filled() -> (TestDb, Client) {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s TEXT, FULLTEXT KEY (s))");
    c.ok("INSERT INTO t VALUES (1, 'apple pie'), (2, 'cherry pie'), (3, 'an apple a day'), (4, 'banana')");
    (db, c)
}

/// A search finds what its snapshot has; one's own changes, too.
#[test]
fn a_search_sees_what_its_transaction_sees() {
    let (db, mut c) = filled();
    let mut reader = db.client();
    reader.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let rank = "SELECT MATCH (s) AGAINST ('pie') FROM t WHERE id = 2";
    let before = reader.one(rank);
    c.ok("BEGIN");
    c.ok("UPDATE t SET s = 'a cherry' WHERE id = 1");
    c.ok("UPDATE t SET s = 'apple, cherry' WHERE id = 2");
    c.ok("DELETE FROM t WHERE id = 3");
    c.ok("INSERT INTO t VALUES (5, 'Apple')");
    assert_eq!(c.rows(FIND), ["2", "5"]);
    assert_eq!(reader.rows(FIND), ["1", "3"]);
    let mut other = db.client();
    assert_eq!(other.rows(FIND), ["1", "3"]);
    c.ok("COMMIT");
    assert_eq!(other.rows(FIND), ["2", "5"]);
    assert_eq!(reader.rows(FIND), ["1", "3"]);
    assert_eq!(reader.one(rank), before);
    reader.ok("COMMIT");
    assert_eq!(reader.rows(FIND), ["2", "5"]);
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
}

/// What is rolled back, wholly or to a savepoint, leaves no words and takes none away.
#[test]
fn rollback_restores_words() {
    let (_db, mut c) = filled();
    for end in ["ROLLBACK", "ROLLBACK TO SAVEPOINT a"] {
        c.ok("BEGIN");
        c.ok("SAVEPOINT a");
        c.ok("UPDATE t SET s = 'nothing' WHERE id = 1");
        c.ok("UPDATE t SET s = 'apple, apple' WHERE id = 3");
        c.ok("DELETE FROM t WHERE id = 3");
        c.ok("INSERT INTO t VALUES (3, 'again'), (6, 'apple')");
        assert_eq!(c.rows(FIND), ["6"]);
        c.ok(end);
        assert_eq!(c.rows(FIND), ["1", "3"]);
        c.ok("COMMIT");
    }
    assert_eq!(
        c.rows("SELECT id FROM t WHERE MATCH (s) AGAINST ('nothing again')"),
        [""; 0]
    );
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
}

/// A statement that changes what it searches reads it first.
#[test]
fn statements_change_what_they_search() {
    let (_db, mut c) = filled();
    c.ok("UPDATE t SET s = CONCAT(s, ' apple') WHERE MATCH (s) AGAINST ('apple')");
    assert_eq!(
        c.rows("SELECT s FROM t WHERE id IN (1, 3) ORDER BY id"),
        ["apple pie apple", "an apple a day apple"]
    );
    c.ok("DELETE FROM t WHERE MATCH (s) AGAINST ('+pie -cherry' IN BOOLEAN MODE)");
    assert_eq!(c.rows(FIND), ["3"]);
    c.ok("INSERT INTO t SELECT id + 10, s FROM t WHERE MATCH (s) AGAINST ('apple banana')");
    assert_eq!(c.rows(FIND), ["3", "13"]);
}

/// Rows that a search finds for an UPDATE are locked, others are not.
#[test]
fn searches_lock_what_they_find() {
    let (db, mut c) = filled();
    c.ok("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    c.ok("BEGIN");
    assert_eq!(c.rows(&format!("{FIND} FOR UPDATE")), ["1", "3"]);
    let mut other = db.client();
    other.ok("SET innodb_lock_wait_timeout = 1");
    other.ok("UPDATE t SET s = 'free' WHERE id = 4");
    assert_eq!(
        other.code("SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT"),
        3572
    );
    c.ok("COMMIT");
}

/// Definitions and entries survive a restart; so do the settings that an index was made by.
#[test]
fn indexes_survive_restarts() {
    let (mut db, mut c) = filled();
    c.ok("SET innodb_ft_enable_stopword = OFF");
    c.ok("CREATE TABLE u (s VARCHAR(50), FULLTEXT KEY (s), FULLTEXT KEY n (s) WITH PARSER ngram)");
    c.ok("INSERT INTO u VALUES ('what is the matter'), ('nothing')");
    let shown = c.one("SHOW CREATE TABLE u");
    assert!(
        shown.contains("FULLTEXT KEY `n` (`s`) /*!50100 WITH PARSER `ngram` */"),
        "{shown}"
    );
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows(FIND), ["1", "3"]);
    assert_eq!(c.one("SELECT @@innodb_ft_enable_stopword"), "1");
    c.ok("INSERT INTO u VALUES ('what, again?')");
    let found = "SELECT s FROM u WHERE MATCH (s) AGAINST ('what')";
    assert_eq!(c.rows(found), ["what is the matter", "what, again?"]);
    assert_eq!(c.one("SHOW CREATE TABLE u"), shown);
    for table in ["t", "u"] {
        let sound = format!("test.{table}|check|status|OK");
        assert_eq!(c.rows(&format!("CHECK TABLE {table}")), [sound]);
    }
}

/// Values of the server decide which words an index has.
#[test]
fn sizes_of_words_are_settings() {
    let settings = [("innodb_ft_min_token_size", "2"), ("ngram_token_size", "3")];
    let db = TestDb::with(&settings);
    let mut c = db.client();
    c.ok("CREATE TABLE t (s VARCHAR(50), g VARCHAR(50), FULLTEXT KEY (s), FULLTEXT KEY (g) WITH PARSER ngram)");
    c.ok("INSERT INTO t VALUES ('go up', 'mnopq'), ('x', 'mn')");
    assert_eq!(
        c.rows("SELECT s FROM t WHERE MATCH (s) AGAINST ('go')"),
        ["go up"]
    );
    assert_eq!(
        c.rows("SELECT s FROM t WHERE MATCH (s) AGAINST ('x')"),
        [""; 0]
    );
    assert_eq!(
        c.rows("SELECT s FROM t WHERE MATCH (g) AGAINST ('nop')"),
        ["go up"]
    );
    assert_eq!(
        c.rows("SELECT s FROM t WHERE MATCH (g) AGAINST ('mn')"),
        [""; 0]
    );
}

/// A table with many rows: through a sort that goes to disk, and in the order of ranks.
#[test]
fn searches_of_many_rows() {
    let (_db, mut c) = filled();
    c.ok("SET SESSION cte_max_recursion_depth = 20000");
    c.ok(
        "INSERT INTO t WITH RECURSIVE n AS (SELECT 100 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 15000) \
         SELECT i, CONCAT('word', i MOD 7, ' common ', REPEAT('kiwi ', i MOD 3)) FROM n",
    );
    assert_eq!(
        c.one("SELECT COUNT(*) FROM t WHERE MATCH (s) AGAINST ('common')"),
        "14901"
    );
    assert_eq!(
        c.one("SELECT COUNT(*) FROM t WHERE MATCH (s) AGAINST ('+word3 +kiwi' IN BOOLEAN MODE)"),
        c.one("SELECT COUNT(*) FROM t WHERE s LIKE '%word3%' AND s LIKE '%kiwi%'")
    );
    let ordered = "SELECT MATCH (s) AGAINST ('kiwi') AS r FROM t WHERE MATCH (s) AGAINST ('kiwi')";
    let ranks = c.rows(ordered);
    assert_eq!(ranks.len(), 9934);
    assert!(ranks.is_sorted_by(|a, b| { a.parse::<f64>().unwrap() >= b.parse::<f64>().unwrap() }));
    assert_eq!(c.rows(FIND), ["1", "3"]);
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
}
