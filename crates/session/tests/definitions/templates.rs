//! CREATE DATABASE ... LIKE: what comes along, what does not, and who may.

use millpond_store::io::sim::SimStorage;

use crate::support::power;
use crate::support::{Client, TestDb};

fn run(c: &mut Client, statements: &[&str]) {
    for sql in statements {
        c.ok(sql);
    }
}

/// A database with something of everything.
const MODEL: &[&str] = &[
    "CREATE DATABASE z",
    "CREATE TABLE z.country (id INT PRIMARY KEY, name VARCHAR(20))",
    "INSERT INTO z.country VALUES (1, 'here')",
    "CREATE DATABASE y CHARACTER SET latin1 COLLATE latin1_german1_ci",
    "CREATE TABLE y.author (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL COMMENT 'a name', country INT,
       born DATE, age INT AS (2000 - YEAR(born)) VIRTUAL, KEY (name(10)), KEY ((UPPER(name))), KEY (country),
       CONSTRAINT old CHECK (country > 0), CONSTRAINT fk_country FOREIGN KEY (country) REFERENCES z.country (id)) COMMENT 'authors'",
    "CREATE TABLE y.book (id INT AUTO_INCREMENT PRIMARY KEY, author INT NOT NULL, title TEXT, UNIQUE KEY (title(30)), FULLTEXT KEY f (title),
       FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE)",
    "CREATE TABLE y.node (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES node (id))",
    "CREATE TABLE y.sale (id INT, at DATE, PRIMARY KEY (id, at)) PARTITION BY RANGE (YEAR(at))
       (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE y.plain (a INT, b VARCHAR(10))",
    "INSERT INTO y.author (name, country, born) VALUES ('Heron', 1, '1950-01-01'), ('Pike', NULL, NULL), ('Gone', 1, NULL)",
    "DELETE FROM y.author WHERE name = 'Gone'",
    "INSERT INTO y.book (author, title) VALUES (1, 'The mill'), (1, 'The pond and the mill'), (2, 'Reeds')",
    "INSERT INTO y.node VALUES (1, NULL), (2, 1)",
    "INSERT INTO y.sale VALUES (1, '2019-05-05'), (2, '2021-05-05')",
    "INSERT INTO y.plain VALUES (1, 'a'), (1, 'a')",
    "ALTER TABLE y.plain ADD COLUMN c INT DEFAULT 7, ALGORITHM=INSTANT",
    "INSERT INTO y.plain VALUES (2, 'b', 8)",
    "CREATE VIEW y.titles AS SELECT b.title, a.name AS y FROM y.book b JOIN y.author a ON a.id = b.author",
    "CREATE VIEW y.outer_titles AS SELECT title, (SELECT COUNT(*) FROM z.country) n FROM y.titles",
    "CREATE TABLE y.log (what VARCHAR(100))",
    "CREATE TRIGGER y.noted AFTER INSERT ON y.book FOR EACH ROW INSERT INTO log VALUES (CONCAT('book ', NEW.title))",
    "CREATE FUNCTION y.books() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM book)",
    "CREATE PROCEDURE y.add_book(IN t TEXT) INSERT INTO book (author, title) VALUES (1, t)",
    "CREATE EVENT y.nightly ON SCHEDULE EVERY 1 DAY DISABLE DO DELETE FROM log",
];

fn model() -> (TestDb, Client) {
    let db = TestDb::new();
    let mut c = db.raw();
    run(&mut c, MODEL);
    (db, c)
}

/// The definitions of a database's parts, with its name taken for `@`.
fn definitions(c: &mut Client, database: &str) -> Vec<String> {
    let mut all = Vec::new();
    for table in [
        "author",
        "book",
        "node",
        "sale",
        "plain",
        "log",
        "titles",
        "outer_titles",
    ] {
        all.extend(c.rows(&format!("SHOW CREATE TABLE {database}.{table}")));
    }
    for (kind, name) in [
        ("TRIGGER", "noted"),
        ("FUNCTION", "books"),
        ("PROCEDURE", "add_book"),
        ("EVENT", "nightly"),
    ] {
        let shown = c.rows(&format!("SHOW CREATE {kind} {database}.{name}"));
        // A trigger says when it was made.
        all.extend(
            shown
                .iter()
                .map(|r| r.split("|20").next().unwrap_or(r).to_string()),
        );
    }
    let quoted = format!("`{database}`.");
    all.iter().map(|t| t.replace(&quoted, "`@`.")).collect()
}

const TABLES: [&str; 6] = ["author", "book", "node", "sale", "plain", "titles"];

#[test]
fn everything_comes_along() {
    let (_db, mut c) = model();
    c.ok("CREATE DATABASE x LIKE y WITH DATA");
    assert_eq!(definitions(&mut c, "x"), definitions(&mut c, "y"));
    for table in TABLES {
        let rows = |c: &mut Client, d: &str| {
            let mut rows = c.rows(&format!("SELECT * FROM {d}.{table}"));
            rows.sort();
            rows
        };
        assert_eq!(rows(&mut c, "x"), rows(&mut c, "y"), "{table}");
    }
    for what in [
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM @.book WHERE MATCH (title) AGAINST ('mill')",
        "SELECT id FROM @.author FORCE INDEX (functional_index) WHERE UPPER(name) = 'PIKE'",
        "SELECT age FROM @.author WHERE id = 1",
        "SELECT COUNT(*) FROM @.sale PARTITION (p1)",
        "SELECT SUM(c) FROM @.plain",
        "SELECT @.books()",
        "SELECT GROUP_CONCAT(n) FROM @.outer_titles",
    ] {
        let (x, y) = (what.replace('@', "x"), what.replace('@', "y"));
        assert_eq!(c.rows(&x), c.rows(&y), "{what}");
    }
    // Numbers go on; the trigger, the procedure and the keys are the copy's own.
    c.ok("CALL x.add_book('A new one')");
    assert_eq!(
        c.one("SELECT id FROM x.book WHERE title = 'A new one'"),
        "4"
    );
    assert_eq!(c.rows("SELECT * FROM x.log"), ["book A new one"]);
    assert_eq!(c.one("SELECT COUNT(*) FROM y.log"), "0");
    assert_eq!(c.one("SELECT COUNT(*) FROM y.book"), "3");
    c.ok("INSERT INTO x.author (name) VALUES ('Eel')");
    assert_eq!(c.one("SELECT MAX(id) FROM x.author"), "4");
    assert_eq!(c.code("INSERT INTO x.book (author) VALUES (77)"), 1452);
    assert_eq!(
        c.code("INSERT INTO x.author (name, country) VALUES ('n', 9)"),
        1452
    );
    assert_eq!(
        c.code("INSERT INTO x.author (name, country) VALUES ('n', -9)"),
        3819
    );
    assert_eq!(c.code("DELETE FROM z.country"), 1451);
    c.ok("DELETE FROM x.author WHERE id = 1");
    assert_eq!(c.one("SELECT COUNT(*) FROM x.book"), "1");
    assert_eq!(c.one("SELECT COUNT(*) FROM y.book"), "3");
    c.ok("DROP DATABASE y");
    assert_eq!(c.one("SELECT COUNT(*) FROM x.titles"), "1");
    c.ok("CREATE DATABASE y LIKE x WITH DATA");
    assert_eq!(c.rows("SELECT title FROM y.outer_titles"), ["Reeds"]);
    c.ok("DROP DATABASE x");
    c.ok("DROP DATABASE y");
    c.ok("DROP DATABASE z");
}

#[test]
fn without_data() {
    let (_db, mut c) = model();
    c.ok("CREATE DATABASE x LIKE y");
    for table in TABLES {
        assert_eq!(c.one(&format!("SELECT COUNT(*) FROM x.{table}")), "0");
    }
    assert_eq!(
        c.one(
            "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'x'"
        ),
        "latin1_german1_ci"
    );
    c.ok("INSERT INTO x.author (name) VALUES ('first')");
    assert_eq!(c.one("SELECT id FROM x.author"), "1");
    c.ok("CALL x.add_book('one')");
    assert_eq!(c.one("SELECT x.books()"), "1");
    assert_eq!(c.one("SELECT SUM(c) FROM y.plain"), "22");
    c.ok("INSERT INTO x.plain VALUES (1, 'a', 2)");
    assert_eq!(c.rows("SELECT * FROM x.plain"), ["1|a|2"]);
}

/// Who has written is waited for with data, and for definitions is not.
#[test]
fn writers() {
    let (db, mut c) = model();
    let mut writer = db.raw();
    writer.ok("BEGIN");
    writer.ok("UPDATE y.book SET title = 'Another' WHERE id = 1");
    c.ok("SET lock_wait_timeout = 1");
    assert_eq!(c.code("CREATE DATABASE x LIKE y WITH DATA"), 1205);
    assert_eq!(c.rows("SHOW DATABASES LIKE 'x'"), Vec::<String>::new());
    c.ok("CREATE DATABASE x LIKE y");
    c.ok("DROP DATABASE x");
    writer.ok("COMMIT");
    let mut reader = db.raw();
    reader.ok("BEGIN");
    assert_eq!(
        reader.one("SELECT title FROM y.book WHERE id = 1"),
        "Another"
    );
    c.ok("CREATE DATABASE x LIKE y WITH DATA");
    assert_eq!(c.one("SELECT title FROM x.book WHERE id = 1"), "Another");
    assert_eq!(reader.code("SELECT COUNT(*) FROM x.book"), 1412);
    reader.ok("COMMIT");
    assert_eq!(reader.one("SELECT COUNT(*) FROM x.book"), "3");
}

/// Rows of earlier versions of the table, in partitions: a copy with rows has them, one without knows of none.
#[test]
fn partitions_of_tables_that_were_altered_instantly() {
    let mut db = TestDb::new();
    let mut c = db.raw();
    run(
        &mut c,
        &[
            "CREATE DATABASE y",
            "CREATE TABLE y.p (id INT PRIMARY KEY, a INT, KEY (a)) PARTITION BY HASH (id) PARTITIONS 3",
            "INSERT INTO y.p VALUES (1, 10), (2, 20), (3, 30)",
            "ALTER TABLE y.p ADD COLUMN b INT DEFAULT 5 AFTER id, ALGORITHM=INSTANT",
            "INSERT INTO y.p VALUES (4, 6, 40)",
            "CREATE DATABASE x LIKE y WITH DATA",
            "CREATE DATABASE w LIKE y",
            "INSERT INTO w.p VALUES (1, 7, 10), (2, 7, 20)",
        ],
    );
    for table in ["x.p", "w.p"] {
        run(
            &mut c,
            &[
                "BEGIN",
                &format!("UPDATE {table} SET a = a + 1"),
                &format!("DELETE FROM {table} WHERE id = 2"),
                "ROLLBACK",
                &format!("UPDATE {table} SET a = a + 1 WHERE id = 1"),
            ],
        );
    }
    let rows = |c: &mut Client| {
        let x = c.rows("SELECT * FROM x.p ORDER BY id");
        let w = c.rows("SELECT * FROM w.p FORCE INDEX (a) WHERE a > 0 ORDER BY a");
        (x, w)
    };
    let expected = (
        ["1|5|11", "2|5|20", "3|5|30", "4|6|40"]
            .map(String::from)
            .to_vec(),
        ["1|7|11", "2|7|20"].map(String::from).to_vec(),
    );
    assert_eq!(rows(&mut c), expected);
    // Left unfinished, it is rolled back by what the partitions' own rows in the catalog say.
    c.ok("BEGIN");
    c.ok("UPDATE w.p SET a = a + 100, b = 0");
    drop(c);
    db.reopen();
    let mut c = db.raw();
    assert_eq!(rows(&mut c), expected);
    for table in ["x.p", "w.p", "y.p"] {
        assert_eq!(
            c.rows(&format!("CHECK TABLE {table}")),
            [format!("{table}|check|status|OK")]
        );
    }
}

#[test]
fn what_is_refused() {
    let (_db, mut c) = model();
    assert_eq!(c.code("CREATE DATABASE x LIKE nowhere"), 1049);
    assert_eq!(c.code("CREATE DATABASE z LIKE y"), 1007);
    assert_eq!(c.code("CREATE DATABASE y LIKE y WITH DATA"), 1007);
    c.ok("CREATE DATABASE IF NOT EXISTS z LIKE y WITH DATA");
    assert_eq!(
        c.warnings(),
        ["Note 1007 Can't create database 'z'; database exists"]
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM z.country"), "1");
    for system in ["mysql", "information_schema", "performance_schema"] {
        assert_eq!(c.code(&format!("CREATE DATABASE x LIKE {system}")), 1044);
        assert_ne!(c.code(&format!("CREATE DATABASE {system} LIKE y")), 0);
    }
    assert_eq!(c.code("CREATE OR REPLACE DATABASE x LIKE y"), 1235);
    assert_eq!(c.code("CREATE DATABASE x LIKE y WITH"), 1064);
    assert_eq!(c.code("CREATE DATABASE x LIKE y CHARSET latin1"), 1064);
    assert_eq!(c.code("CREATE DATABASE `x ` LIKE y"), 1102);
    // Texts that might mean the model's own tables.
    c.ok("CREATE PROCEDURE y.purge_log() DELETE FROM `y`.log");
    let e = c.err("CREATE DATABASE x LIKE y");
    assert_eq!(e.code, 1235);
    assert!(
        e.message
            .contains("PROCEDURE y.purge_log, whose text names 'y'"),
        "{e:?}"
    );
    c.ok("DROP PROCEDURE y.purge_log");
    c.ok("CREATE VIEW y.odd AS SELECT y.a FROM y.plain y");
    let e = c.err("CREATE DATABASE x LIKE y");
    assert!(e.code == 1235 && e.message.contains("VIEW y.odd"), "{e:?}");
    c.ok("DROP VIEW y.odd");
    c.ok("LOCK TABLES y.log WRITE");
    assert_eq!(c.code("CREATE DATABASE x LIKE y"), 1192);
    c.ok("UNLOCK TABLES");
    // A table of another database refers to a name of the copy already, which is not of its type.
    run(
        &mut c,
        &[
            "SET foreign_key_checks = 0",
            "CREATE TABLE z.orphan (a VARCHAR(9), KEY (a), FOREIGN KEY (a) REFERENCES x.author (id))",
            "SET foreign_key_checks = 1",
        ],
    );
    assert_eq!(c.code("CREATE DATABASE x LIKE y"), 3780);
    c.ok("DROP TABLE z.orphan");
    assert_eq!(c.rows("SHOW DATABASES LIKE 'x'"), Vec::<String>::new());
    c.ok("CREATE DATABASE x LIKE y");
}

/// Tables of other databases that wait for one of the copy's names find it there.
#[test]
fn orphans_get_a_parent() {
    let (db, mut c) = model();
    run(
        &mut c,
        &[
            "SET foreign_key_checks = 0",
            "CREATE TABLE z.orphan (a INT, KEY (a), FOREIGN KEY (a) REFERENCES x.author (id))",
            "SET foreign_key_checks = 1",
        ],
    );
    let mut other = db.raw();
    other.ok("PREPARE p FROM 'INSERT INTO z.orphan VALUES (?)'");
    other.ok("SET @a = 2, @b = 99");
    assert_eq!(other.code("EXECUTE p USING @a"), 1452);
    c.ok("CREATE DATABASE x LIKE y WITH DATA");
    other.ok("EXECUTE p USING @a");
    assert_eq!(other.code("EXECUTE p USING @b"), 1452);
    assert_eq!(c.code("DROP DATABASE x"), 3730);
    c.ok("DROP TABLE z.orphan");
    c.ok("DROP DATABASE x");
}

#[test]
fn privileges() {
    let (db, mut root) = model();
    root.ok("CREATE USER u@localhost");
    let refused = |code: u16| {
        let mut u = db.user("u").unwrap();
        assert_eq!(u.code("CREATE DATABASE x LIKE y WITH DATA"), code);
    };
    refused(1044);
    root.ok("GRANT CREATE ON x.* TO u@localhost");
    refused(1044);
    root.ok("GRANT INSERT ON x.* TO u@localhost");
    refused(1044);
    root.ok("GRANT SELECT ON y.book TO u@localhost");
    refused(1142);
    root.ok("GRANT SELECT, SHOW VIEW ON y.* TO u@localhost");
    refused(1142);
    root.ok("GRANT REFERENCES ON z.country TO u@localhost");
    refused(1142);
    root.ok("GRANT CREATE VIEW ON x.* TO u@localhost");
    refused(1227);
    root.ok("GRANT SET_USER_ID ON *.* TO u@localhost");
    refused(1227);
    root.ok("GRANT SYSTEM_USER ON *.* TO u@localhost");
    refused(1227);
    root.ok("GRANT SHOW_ROUTINE ON *.* TO u@localhost");
    refused(1044);
    root.ok("GRANT CREATE ROUTINE ON x.* TO u@localhost");
    refused(1142);
    root.ok("GRANT TRIGGER ON y.* TO u@localhost");
    refused(1142);
    root.ok("GRANT TRIGGER ON x.* TO u@localhost");
    refused(1044);
    root.ok("GRANT EVENT ON x.* TO u@localhost");
    root.ok("GRANT EVENT ON y.* TO u@localhost");
    let mut u = db.user("u").unwrap();
    u.ok("CREATE DATABASE x LIKE y WITH DATA");
    assert_eq!(root.one("SELECT COUNT(*) FROM x.titles"), "3");
}

/// A kept plan of one database is not taken for another's, and a database that comes again under its name is seen anew.
#[test]
fn tests_by_turns() {
    let (_db, mut c) = model();
    for n in 0..30 {
        c.ok("CREATE DATABASE t LIKE y WITH DATA");
        c.ok("USE t");
        assert_eq!(c.one("SELECT COUNT(*) FROM book"), "3");
        c.ok(&format!(
            "INSERT INTO book (author, title) VALUES (1, 'number {n}')"
        ));
        assert_eq!(
            c.one("SELECT title FROM book WHERE id = 4"),
            format!("number {n}")
        );
        assert_eq!(
            c.one("SELECT name FROM author JOIN book ON author.id = book.author WHERE book.id = 3"),
            "Pike"
        );
        c.ok("DROP DATABASE t");
    }
}

/// Whatever the power cuts short is done or not.
#[test]
fn copies_are_whole_after_a_power_cut() {
    const STEPS: u64 = 14;
    for cut_at in 0..STEPS {
        let storage = SimStorage::new();
        let instance = power::open(&storage);
        let mut c = power::client(&instance);
        run(&mut c, MODEL);
        power::cut_after(&storage, cut_at);
        let told = c.run("CREATE DATABASE x LIKE y WITH DATA").is_ok();
        storage.cut();
        drop((c, instance));
        let mut odd = cut_at;
        storage.restart(|| {
            odd += 1;
            odd.is_multiple_of(2)
        });
        let instance = power::open(&storage);
        let mut c = power::client(&instance);
        let there = c.rows("SHOW DATABASES LIKE 'x'").len() == 1;
        assert!(there || !told, "{cut_at}: it was said to be done");
        if !there {
            c.ok("CREATE DATABASE x LIKE y WITH DATA");
        }
        assert_eq!(c.one("SELECT COUNT(*) FROM x.titles"), "3", "{cut_at}");
        assert_eq!(c.one("SELECT x.books()"), "3");
        c.ok("CALL x.add_book('one more')");
        assert_eq!(c.rows("SELECT * FROM x.log"), ["book one more"]);
    }
}
