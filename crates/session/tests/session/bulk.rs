//! INSERT ... SELECT and LOAD DATA into tables that nothing was ever written to: what they fill in bulk, and that nobody can tell but by how long it takes.

use std::fs;

use crate::support::{Client, TestDb};

/// Fill in bulk whatever may be, or nothing.
const BULK: &str = "SET millpond_bulk_rows = 0";
const BY_ROWS: &str = "SET millpond_bulk_rows = 18446744073709551615";

/// Waits until a query's only value is this.
fn until(c: &mut Client, sql: &str, want: &str) {
    while c.one(sql) != want {
        std::thread::yield_now();
    }
}

const PENDING: &str =
    "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING'";
const ROW_WAITS: &str = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";

/// How many statements have filled tables in bulk.
fn fills(c: &mut Client) -> u64 {
    let rows = c.ok("SHOW GLOBAL STATUS LIKE 'Millpond_bulk_fills'").rows;
    rows[0][1].parse().expect("a number")
}

fn source(c: &mut Client, rows: u32) {
    c.ok("CREATE TABLE src (n INT PRIMARY KEY, s VARCHAR(40))");
    let rows: Vec<String> = (1..=rows)
        .map(|n| format!("({n}, 's{}')", n * 7919 % 997))
        .collect();
    c.ok(&format!("INSERT INTO src VALUES {}", rows.join(",")));
}

/// What a statement answers: counts, text, warnings, LAST_INSERT_ID(); or its error.
fn answer(c: &mut Client, sql: &str) -> String {
    match c.run(sql) {
        Ok(mut answers) => {
            let done = answers.pop().expect("an answer").done;
            let warnings = c.warnings();
            format!(
                "{} rows, id {}, {:?}, {warnings:?}, {}",
                done.affected,
                done.last_insert_id,
                done.info,
                c.one("SELECT LAST_INSERT_ID()")
            )
        }
        Err(e) => format!("{}: {}", e.code, e.message),
    }
}

#[test]
fn the_answers_are_those_of_row_by_row() {
    let db = TestDb::with(&[("secure_file_priv", "")]);
    let mut setup = db.client();
    source(&mut setup, 1000);
    setup.ok("CREATE DATABASE twin");
    let path = |name: &str| db.path.join(name).display().to_string();
    let lines = |f: &dyn Fn(u32) -> String| (1..=800).map(f).collect::<String>();
    let write = |name: &str, text: String| fs::write(path(name), text).expect("written");
    write(
        "plain",
        lines(&|n| format!("{}\ts{}\t{n}\n", n % 40, n % 300)),
    );
    let long = |n: u32| {
        if n == 634 { "x".repeat(60) } else { "y".into() }
    };
    write("long", lines(&|n| format!("{n}\t{}\t{n}\n", long(n))));
    write(
        "short",
        lines(&|n| {
            if n == 377 {
                "5\n".into()
            } else {
                format!("{n}\ts\t{n}\n")
            }
        }),
    );
    write(
        "again",
        lines(&|n| format!("{n}\ts\t{}\n", if n == 600 { 9 } else { n })),
    );
    let tables = [
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT, s VARCHAR(20), u INT UNIQUE, KEY (k), KEY (s, k))",
        "CREATE TABLE t (k INT NOT NULL DEFAULT 5, s VARCHAR(20), u INT UNIQUE, id BIGINT AUTO_INCREMENT, KEY (id))",
        "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT, k INT, s VARCHAR(20), u INT, g INT AS (k * 2) STORED, PRIMARY KEY (u, s), KEY (id), KEY (g),
             CHECK (k < 100000))",
        "CREATE TABLE t (k INT, s VARCHAR(20), u INT PRIMARY KEY, pad TEXT, id SMALLINT UNSIGNED AUTO_INCREMENT UNIQUE) AUTO_INCREMENT = 300",
    ];
    let load = |name: &str, rest: &str| {
        format!(
            "LOAD DATA INFILE '{}' INTO TABLE t (k, s, u) {rest}",
            path(name)
        )
    };
    // A statement, whether it works, and what is set before it.
    let statements: [(String, bool, &str); 14] = [
        (
            "INSERT INTO t (k, s, u) SELECT n % 50, s, n FROM test.src".into(),
            true,
            "",
        ),
        (
            "INSERT INTO t (k, s, u) SELECT n % 50, s, n FROM test.src ORDER BY n DESC".into(),
            true,
            "",
        ),
        (
            "INSERT INTO t (id, k, s, u) SELECT IF(n % 3 = 0, n * 2, NULL), n, s, n FROM test.src"
                .into(),
            true,
            "",
        ),
        (
            "INSERT INTO t (k, s, u) SELECT n, s, IF(n = 900, 77, n) FROM test.src".into(),
            true,
            "SET @once = 1",
        ),
        (
            "INSERT INTO t (k, s, u) SELECT n, REPEAT('x', IF(n = 500, 30, 3)), n FROM test.src"
                .into(),
            false,
            "",
        ),
        (
            "INSERT INTO t (k, s, u) SELECT n, REPEAT('x', IF(n = 500, 30, 3)), n FROM test.src"
                .into(),
            true,
            "SET sql_mode = ''",
        ),
        (
            "INSERT INTO t (k, u) SELECT n, n FROM test.src".into(),
            true,
            "SET sql_mode = '', auto_increment_increment = 5, auto_increment_offset = 3",
        ),
        (
            "INSERT INTO t (s, u) SELECT s, n FROM test.src".into(),
            true,
            "SET insert_id = 500",
        ),
        (
            "INSERT INTO t (s, u) SELECT s, n FROM test.src WHERE n < 0".into(),
            true,
            "",
        ),
        (load("plain", ""), true, ""),
        (load("plain", "SET k = u * 2, s = CONCAT(s, '!')"), true, ""),
        (load("long", ""), false, ""),
        (load("short", ""), false, ""),
        (load("again", ""), false, ""),
    ];
    for table in tables {
        for (sql, works, set) in &statements {
            let mut found = Vec::new();
            for (database, way) in [("test", BULK), ("twin", BY_ROWS)] {
                let mut c = db.client();
                c.ok(&format!("USE {database}"));
                c.ok("DROP TABLE IF EXISTS t");
                c.ok(table);
                c.ok(way);
                if !set.is_empty() {
                    c.ok(set);
                }
                let before = fills(&mut c);
                let mut all = vec![answer(&mut c, sql)];
                let filled = fills(&mut c) - before;
                let rows: u64 = c.one("SELECT COUNT(*) FROM t").parse().expect("a number");
                assert_eq!(filled, u64::from(way == BULK && rows > 0), "{sql}");
                assert!(*works || !all[0].contains("rows, id"), "{sql}: {all:?}");
                if all[0].starts_with("1062") {
                    // It is found late, when more rows have had their numbers.
                    assert_eq!(rows, 0);
                    found.push(all);
                    continue;
                }
                all.extend(c.rows("SELECT * FROM t"));
                let mut indexes = c.rows("SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 't'");
                indexes.sort();
                for index in indexes {
                    let by = format!("SELECT * FROM t FORCE INDEX (`{index}`)");
                    let mut rows = c.rows(&by);
                    rows.sort();
                    all.extend(rows);
                    all.push(c.one(&format!(
                        "SELECT COUNT(*), SUM(u) FROM t FORCE INDEX (`{index}`) WHERE id > 100"
                    )));
                }
                // What comes then goes on from there.
                all.push(answer(
                    &mut c,
                    "INSERT INTO t (k, s, u) VALUES (1, 'next', 99999), (2, 'more', 99998)",
                ));
                all.push(answer(
                    &mut c,
                    "UPDATE t SET k = k + 1, s = CONCAT(LEFT(s, 5), '+') WHERE u % 10 = 3",
                ));
                all.push(answer(&mut c, "DELETE FROM t WHERE u % 7 = 3"));
                let mut rest = c.rows("SELECT * FROM t");
                rest.sort();
                all.extend(rest);
                assert!(c.one("CHECK TABLE t").ends_with("|OK"));
                found.push(all);
            }
            let differ = found[0].iter().zip(&found[1]).find(|(a, b)| a != b);
            assert_eq!(differ, None, "{table}\n{sql}");
            assert_eq!(found[0].len(), found[1].len());
        }
    }
}

/// A statement that fails leaves the table empty, and names the key and the value that is in the way.
#[test]
fn duplicates_are_named() {
    let db = TestDb::new();
    let mut c = db.client();
    source(&mut c, 3000);
    c.ok(BULK);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), v INT UNIQUE, KEY (s))");
    let again = c.err("INSERT INTO t SELECT IF(n = 2999, 17, n), s, n FROM src");
    assert_eq!(
        (again.code, again.message.as_str()),
        (1062, "Duplicate entry '17' for key 't.PRIMARY'")
    );
    let again = c.err("INSERT INTO t SELECT n, s, IF(n = 2999, 17, n) FROM src");
    assert_eq!(
        (again.code, again.message.as_str()),
        (1062, "Duplicate entry '17' for key 't.v'")
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    assert_eq!(fills(&mut c), 0);
    c.ok("INSERT INTO t SELECT n, s, IF(n % 2, n, NULL) FROM src");
    assert_eq!(fills(&mut c), 1);
    assert_eq!(
        c.one("SELECT ROW_COUNT(), COUNT(*), COUNT(v) FROM t"),
        "-1|3000|1500"
    );
}

/// What is not the statement's alone, or asks for more than rows stored, goes row by row.
#[test]
fn what_is_not_filled_in_bulk() {
    let db = TestDb::with(&[("secure_file_priv", "")]);
    let mut c = db.client();
    source(&mut c, 3000);
    c.ok(BULK);
    let plain = "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40))";
    let insert = "INSERT INTO t SELECT n, s FROM src";
    let file = db.path.join("file").display().to_string();
    fs::write(&file, "1\ta\n2\tb\n").expect("written");
    c.ok("CREATE TABLE p (id INT PRIMARY KEY)");
    c.ok("INSERT INTO p SELECT n FROM src");
    assert_eq!(fills(&mut c), 1);
    c.ok("CREATE FUNCTION f() RETURNS INT RETURN 1");
    c.ok("CREATE FUNCTION counted() RETURNS INT RETURN (SELECT COUNT(*) FROM t)");
    for (table, before, sql, after) in [
        (plain, "BEGIN", insert, "COMMIT"),
        (plain, "SET autocommit = 0", insert, "SET autocommit = 1"),
        (
            plain,
            "LOCK TABLES t WRITE, src READ",
            insert,
            "UNLOCK TABLES",
        ),
        (
            plain,
            "DO 0",
            "INSERT IGNORE INTO t SELECT n, s FROM src",
            "DO 0",
        ),
        (plain, "DO 0", "REPLACE INTO t SELECT n, s FROM src", "DO 0"),
        (
            plain,
            "DO 0",
            "INSERT INTO t SELECT n, s FROM src ON DUPLICATE KEY UPDATE id = src.n",
            "DO 0",
        ),
        (
            plain,
            "DO 0",
            "INSERT INTO t SELECT n + f(), s FROM src",
            "DO 0",
        ),
        (
            plain,
            "DO 0",
            "INSERT INTO t SELECT n, counted() FROM src WHERE n < 300",
            "DO 0",
        ),
        (
            plain,
            "DO 0",
            "INSERT INTO t SELECT ordinal_position, column_name FROM information_schema.columns WHERE table_name = 'src'",
            "DO 0",
        ),
        (plain, "SET millpond_bulk_rows = 100000", insert, BULK),
        (
            plain,
            "DO 0",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            "DO 0",
        ),
        (plain, "INSERT INTO t VALUES (-1, 'a')", insert, "DO 0"),
        (
            plain,
            "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.s = 'x'",
            insert,
            "DO 0",
        ),
        (
            plain,
            "CREATE VIEW v AS SELECT * FROM t",
            "INSERT INTO v SELECT n, s FROM src",
            "DROP VIEW v",
        ),
        (
            "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, s VARCHAR(40))",
            "DO 0",
            insert,
            "DO 0",
        ),
        (
            "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40)) PARTITION BY HASH (id) PARTITIONS 3",
            "DO 0",
            insert,
            "DO 0",
        ),
        (
            "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), FOREIGN KEY (id) REFERENCES p (id))",
            "DO 0",
            insert.replace("INTO t", "INTO t (id, s)").leak(),
            "DO 0",
        ),
    ] {
        c.ok(table);
        c.ok(before);
        let filled = fills(&mut c);
        c.ok(sql);
        assert_ne!(c.one("SELECT COUNT(*) FROM t"), "0", "{sql}");
        c.ok(after);
        assert_eq!(fills(&mut c), filled, "{table} {before} {sql}");
        c.ok("DROP TABLE t");
    }
    // A table that others refer to may be, and one whose foreign keys nobody looks at.
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40))");
    c.ok("CREATE TABLE child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES t (id))");
    c.ok(insert);
    c.ok("SET foreign_key_checks = 0");
    c.ok("INSERT INTO child SELECT id + 1000 FROM t");
    assert_eq!(fills(&mut c), 3);
    c.ok("SET foreign_key_checks = 1");
    assert_eq!(c.code("INSERT INTO child VALUES (9999)"), 1452);
    c.ok("INSERT INTO child VALUES (1)");
    assert_eq!(c.code("DELETE FROM t WHERE id = 1"), 1451);
    // It may read itself, and find nothing.
    c.ok("CREATE TABLE self (id INT PRIMARY KEY)");
    c.ok("INSERT INTO self SELECT n FROM src WHERE NOT EXISTS (SELECT * FROM self)");
    assert_eq!(c.one("SELECT COUNT(*) FROM self"), "3000");
    assert_eq!(fills(&mut c), 4);
    // As may a file's be, with subqueries in SET.
    c.ok("CREATE TABLE f (id INT PRIMARY KEY, s VARCHAR(40))");
    c.ok(&format!(
        "LOAD DATA INFILE '{file}' INTO TABLE f (id, @x) SET s = (SELECT s FROM src WHERE n = id)"
    ));
    assert_eq!(c.rows("SELECT * FROM f"), ["1|s940", "2|s883"]);
    assert_eq!(fills(&mut c), 5);
}

/// A snapshot from before sees an empty table by each index, and a reader of what is committed sees the rows.
#[test]
fn older_snapshots_see_an_empty_table() {
    let db = TestDb::new();
    let mut c = db.client();
    source(&mut c, 3000);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), KEY (s))");
    c.ok("CREATE TABLE other (id INT PRIMARY KEY)");
    let mut old = db.client();
    old.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let mut committed = db.client();
    committed.ok("SET transaction_isolation = 'READ-COMMITTED'");
    committed.ok("BEGIN");
    committed.ok("SELECT * FROM other");
    c.ok(BULK);
    c.ok("INSERT INTO t SELECT n, s FROM src");
    assert_eq!(fills(&mut c), 1);
    for by in ["", "FORCE INDEX (PRIMARY)", "FORCE INDEX (s)"] {
        let count = format!("SELECT COUNT(*), MAX(s), MIN(id) FROM t {by}");
        assert_eq!(old.one(&count), "0|NULL|NULL");
        assert_eq!(committed.one(&count), "3000|s996|1");
    }
    assert_eq!(old.rows("SELECT * FROM t WHERE id = 5"), [""; 0]);
    assert_eq!(old.rows("SELECT id FROM t WHERE s = 's5'"), [""; 0]);
    // What is locked is the newest.
    assert_eq!(old.one("SELECT id FROM t WHERE id = 5 FOR SHARE"), "5");
    c.ok("DELETE FROM t WHERE id > 100");
    assert_eq!(old.one("SELECT COUNT(*) FROM t"), "0");
    old.ok("COMMIT");
    committed.ok("COMMIT");
    assert_eq!(old.one("SELECT COUNT(*) FROM t"), "100");
}

/// Who comes while a table is being filled waits, and finds its rows; a second statement that would fill it writes row by row then.
#[test]
fn who_comes_during_the_load_waits() {
    let db = TestDb::new();
    let mut c = db.client();
    source(&mut c, 3000);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40))");
    c.ok("CREATE TABLE more (n INT PRIMARY KEY)");
    c.ok("INSERT INTO more SELECT n + 5000 FROM src");
    let (mut holder, mut a, mut b, mut d) = (db.client(), db.client(), db.client(), db.client());
    for s in [&mut a, &mut b, &mut d] {
        s.ok(BULK);
    }
    holder.ok("BEGIN");
    holder.ok("UPDATE src SET s = 'held' WHERE n = 2000");
    std::thread::scope(|s| {
        let load = s.spawn(|| a.ok("INSERT INTO t SELECT n, s FROM src").done.info);
        until(&mut c, ROW_WAITS, "1");
        let writer = s.spawn(|| b.ok("INSERT INTO t VALUES (-1, 'late')"));
        until(&mut c, PENDING, "1");
        let second = s.spawn(|| d.ok("INSERT INTO t SELECT n, 'second' FROM more").done.info);
        until(&mut c, PENDING, "2");
        holder.ok("COMMIT");
        assert_eq!(
            load.join().unwrap(),
            "Records: 3000  Duplicates: 0  Warnings: 0"
        );
        writer.join().unwrap();
        assert_eq!(
            second.join().unwrap(),
            "Records: 3000  Duplicates: 0  Warnings: 0"
        );
    });
    assert_eq!(fills(&mut c), 1);
    assert_eq!(
        c.one("SELECT COUNT(*), MIN(id), MAX(id), SUM(s = 'held'), SUM(s = 'second') FROM t"),
        "6001|-1|8000|1|3000"
    );
}

/// A load that waits for a row of who waits for its table is a deadlock like any other.
#[test]
fn a_deadlock_with_who_waits_for_the_table_is_found() {
    let db = TestDb::new();
    let mut c = db.client();
    source(&mut c, 3000);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40))");
    let (mut holder, mut a) = (db.client(), db.client());
    a.ok(BULK);
    holder.ok("BEGIN");
    holder.ok("UPDATE src SET s = 'held' WHERE n > 2000");
    let (load, insert) = std::thread::scope(|s| {
        let load = s.spawn(|| {
            a.run("INSERT INTO t SELECT n, s FROM src")
                .map_err(|e| e.code)
        });
        until(&mut c, ROW_WAITS, "1");
        let insert = holder.run("INSERT INTO t VALUES (-1, 'late')");
        holder.ok("COMMIT");
        (load.join().unwrap(), insert.map_err(|e| e.code))
    });
    // One of the two is the victim.
    assert_eq!(load.is_err() as u8 + insert.is_err() as u8, 1);
    assert_eq!(load.err().or(insert.err()), Some(1213));
    let rows = c.one("SELECT COUNT(*) FROM t");
    assert!(rows == "1" || rows == "3000", "{rows}");
}

#[test]
fn a_load_can_be_killed() {
    let db = TestDb::new();
    let mut c = db.client();
    source(&mut c, 3000);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), KEY (s))");
    let (mut holder, mut a) = (db.client(), db.client());
    a.ok(BULK);
    let id = a.one("SELECT CONNECTION_ID()");
    holder.ok("BEGIN");
    holder.ok("UPDATE src SET s = 'held' WHERE n = 2900");
    let insert = "INSERT INTO t SELECT n, s FROM src";
    std::thread::scope(|s| {
        let load = s.spawn(|| a.code(insert));
        until(&mut c, ROW_WAITS, "1");
        c.ok(&format!("KILL QUERY {id}"));
        assert_eq!(load.join().unwrap(), 1317);
    });
    holder.ok("ROLLBACK");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
    a.ok(insert);
    assert_eq!(fills(&mut c), 1);
}

/// HANDLER goes on, and so does whatever else was known of the table.
#[test]
fn what_was_known_of_the_table_stays() {
    let mut db = TestDb::new();
    let mut c = db.client();
    source(&mut c, 3000);
    let mut reader = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(40), KEY (s))");
    reader.ok("HANDLER t OPEN");
    assert_eq!(reader.rows("HANDLER t READ FIRST"), [""; 0]);
    reader.ok("PREPARE p FROM 'SELECT COUNT(*) FROM t WHERE id > ?'");
    reader.ok("SET @a = 2990");
    assert_eq!(reader.one("EXECUTE p USING @a"), "0");
    let (created, id) = (
        "SELECT create_time FROM information_schema.tables WHERE table_name = 't'",
        "SELECT table_id FROM information_schema.innodb_tables WHERE name = 'test/t'",
    );
    let before = (c.one(created), c.one(id));
    c.ok(BULK);
    c.ok("INSERT INTO t (s) SELECT s FROM src");
    assert_eq!(fills(&mut c), 1);
    assert_eq!((c.one(created), c.one(id)), before);
    assert_eq!(reader.one("HANDLER t READ s FIRST"), "997|s0");
    assert_eq!(reader.one("EXECUTE p USING @a"), "10");
    drop((c, reader));
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.one("SELECT COUNT(*), MAX(id) FROM t"), "3000|3000");
    // Numbers were reserved by powers of two.
    c.ok("INSERT INTO t (s) VALUES ('next')");
    assert_eq!(c.one("SELECT LAST_INSERT_ID()"), "4096");
    assert!(c.one("CHECK TABLE t").ends_with("|OK"));
}
