//! Data definition and what SHOW says about it.

use crate::support::{Client, TestDb};

fn create_text(c: &mut Client, table: &str) -> String {
    c.ok(&format!("SHOW CREATE TABLE {table}")).rows[0][1].clone()
}

/// The text with which SHOW CREATE TABLE answers must make the same table again.
#[track_caller]
fn round_trip(c: &mut Client, create: &str, shown: &str) {
    c.ok("DROP TABLE IF EXISTS t");
    c.ok(create);
    let text = create_text(c, "t");
    assert_eq!(text, shown);
    c.ok("DROP TABLE t");
    c.ok(&text);
    assert_eq!(create_text(c, "t"), shown);
}

#[test]
fn show_create_table_prints_what_makes_the_table() {
    let db = TestDb::new();
    let mut c = db.client();
    round_trip(
        &mut c,
        "create table t (id integer auto_increment primary key, name varchar(20) not null default 'x',
           note text, at timestamp default current_timestamp on update current_timestamp,
           price decimal(10,2) unsigned default 1.5, b bool, e enum('a','it''s') comment 'one; two')
         comment='the table'",
        "CREATE TABLE `t` (
  `id` int NOT NULL AUTO_INCREMENT,
  `name` varchar(20) NOT NULL DEFAULT 'x',
  `note` text,
  `at` timestamp NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  `price` decimal(10,2) unsigned DEFAULT '1.50',
  `b` tinyint(1) DEFAULT NULL,
  `e` enum('a','it''s') DEFAULT NULL COMMENT 'one; two',
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='the table'",
    );
    round_trip(
        &mut c,
        "create table t (a bigint, b char(5) collate utf8mb4_bin, c varbinary(10), d date default '2020-02-29',
           key (a, b desc), unique u (a), index (c(3)), unique key (d)) default charset=utf8",
        "CREATE TABLE `t` (
  `a` bigint DEFAULT NULL,
  `b` char(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `c` varbinary(10) DEFAULT NULL,
  `d` date DEFAULT '2020-02-29',
  UNIQUE KEY `u` (`a`),
  UNIQUE KEY `d` (`d`),
  KEY `a` (`a`,`b` DESC),
  KEY `c` (`c`(3))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3",
    );
    round_trip(
        &mut c,
        "create table t (`a``b` int not null, k int not null, primary key (k, `a``b`), dt datetime(3) default now(3))
           tablespace=innodb_file_per_table",
        "CREATE TABLE `t` (
  `a``b` int NOT NULL,
  `k` int NOT NULL,
  `dt` datetime(3) DEFAULT CURRENT_TIMESTAMP(3),
  PRIMARY KEY (`k`,`a``b`)
) /*!50100 TABLESPACE `innodb_file_per_table` */ ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
    );
    c.ok("DROP TABLE t");
    c.ok("CREATE TABLE t (a INT AUTO_INCREMENT, KEY (a)) AUTO_INCREMENT = 100");
    c.ok("INSERT INTO t VALUES (NULL)");
    assert_eq!(c.rows("SELECT a FROM t"), ["100"]);
    assert!(create_text(&mut c, "t").contains(" AUTO_INCREMENT=101 "));
}

#[test]
fn wrong_tables_are_refused() {
    let db = TestDb::new();
    let mut c = db.client();
    let long = "x".repeat(65);
    let many: Vec<String> = (0..1018).map(|i| format!("c{i} INT")).collect();
    let many_parts: Vec<String> = (0..17).map(|i| format!("c{i}")).collect();
    let mut wrong = Vec::new();
    for (sql, code) in [
        ("CREATE TABLE t ()".to_string(), 1064),
        ("CREATE TABLE t".to_string(), 1113),
        ("CREATE TABLE t (KEY (a))".to_string(), 1113),
        ("CREATE TABLE t (a INT, A INT)".into(), 1060),
        ("CREATE TABLE t (a INT, KEY k (a), KEY K (a))".into(), 1061),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)".into(),
            1068,
        ),
        ("CREATE TABLE t (a INT, KEY (b))".into(), 1072),
        ("CREATE TABLE t (a INT AUTO_INCREMENT)".into(), 1075),
        (
            "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT AUTO_INCREMENT UNIQUE)".into(),
            1075,
        ),
        (
            "CREATE TABLE t (a VARCHAR(10) AUTO_INCREMENT PRIMARY KEY)".into(),
            1063,
        ),
        ("CREATE TABLE t (a TEXT, KEY (a))".into(), 1170),
        ("CREATE TABLE t (a VARCHAR(1000), KEY (a))".into(), 1071),
        ("CREATE TABLE t (a INT, KEY (a(2)))".into(), 1089),
        ("CREATE TABLE t (a INT NULL PRIMARY KEY)".into(), 1171),
        ("CREATE TABLE t (a INT DEFAULT 'x')".into(), 1067),
        ("CREATE TABLE t (a INT NOT NULL DEFAULT NULL)".into(), 1067),
        ("CREATE TABLE t (a DATE DEFAULT '2020-02-30')".into(), 1067),
        (
            "CREATE TABLE t (a INT DEFAULT CURRENT_TIMESTAMP)".into(),
            1067,
        ),
        ("CREATE TABLE t (a DATETIME(3) DEFAULT NOW())".into(), 1067),
        (
            "CREATE TABLE t (a INT ON UPDATE CURRENT_TIMESTAMP)".into(),
            1294,
        ),
        ("CREATE TABLE t (a TEXT DEFAULT 'x')".into(), 1101),
        ("CREATE TABLE t (a VARCHAR(16384))".into(), 1074),
        (
            "CREATE TABLE t (a VARCHAR(10000), b VARCHAR(10000))".into(),
            1118,
        ),
        (format!("CREATE TABLE {long} (a INT)"), 1059),
        (format!("CREATE TABLE t ({long} INT)"), 1059),
        ("CREATE TABLE `t ` (a INT)".into(), 1103),
        ("CREATE TABLE t (`a ` INT)".into(), 1166),
        ("CREATE TABLE t (a INT, KEY `PRIMARY` (a))".into(), 1280),
        (format!("CREATE TABLE t ({})", many.join(",")), 1117),
        (
            format!(
                "CREATE TABLE t ({}, KEY ({}))",
                many[..20].join(","),
                many_parts.join(",")
            ),
            1070,
        ),
        ("CREATE TABLE t (a INT) ENGINE=nonsense".into(), 1286),
        (
            "CREATE TABLE t (a CHAR(5) CHARACTER SET gb18030)".into(),
            1115,
        ),
        (
            "CREATE TABLE t (a CHAR(5) COLLATE utf8mb4_klingon_ci)".into(),
            1273,
        ),
        (
            "CREATE TABLE t (a CHAR(5) CHARACTER SET binary COLLATE utf8mb4_bin)".into(),
            1253,
        ),
        (
            "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u (a))".into(),
            1824,
        ),
        ("CREATE TABLE t (a INT, FULLTEXT KEY (a))".into(), 1283),
        ("CREATE TABLE t SELECT 1 AS a, 2 AS A".into(), 1060),
        (
            "CREATE TABLE t (a INT PRIMARY KEY) SELECT 1 AS a UNION ALL SELECT 1".into(),
            1062,
        ),
        ("CREATE TABLE nowhere.t (a INT)".into(), 1049),
        ("CREATE TABLE information_schema.t (a INT)".into(), 1044),
    ] {
        let got = c.run(&sql).map_err(|e| e.code).err();
        if got != Some(code) {
            wrong.push((code, got, sql[..sql.len().min(200)].to_string()));
        }
    }
    assert!(wrong.is_empty(), "expected, got, statement: {wrong:#?}");
    assert!(c.rows("SHOW TABLES").is_empty());
}

#[test]
fn other_engines_become_innodb() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(
        c.ok("CREATE TABLE a (x INT) ENGINE=MyISAM").done.warnings,
        1
    );
    assert_eq!(
        c.warnings(),
        ["Warning 1266 Using storage engine InnoDB for table 'a'"]
    );
    assert_eq!(
        c.ok("CREATE TABLE b (x INT) ENGINE=InnoDB").done.warnings,
        0
    );
    assert!(create_text(&mut c, "a").contains("ENGINE=InnoDB"));
}

#[test]
fn tables_come_and_go() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE a (x INT PRIMARY KEY)");
    c.ok("INSERT INTO a VALUES (1)");
    assert_eq!(c.code("CREATE TABLE a (y INT)"), 1050);
    assert_eq!(
        c.ok("CREATE TABLE IF NOT EXISTS a (y INT)").done.warnings,
        1
    );
    assert_eq!(c.warnings(), ["Note 1050 Table 'a' already exists"]);
    c.ok("CREATE TABLE b LIKE a");
    assert!(c.rows("SELECT * FROM b").is_empty());
    assert_eq!(
        create_text(&mut c, "b").replace("`b`", "`a`"),
        create_text(&mut c, "a")
    );
    c.ok("RENAME TABLE a TO z, b TO a, z TO b");
    assert_eq!(c.rows("SELECT * FROM b"), ["1"]);
    assert_eq!(c.code("RENAME TABLE b TO a"), 1050);
    assert_eq!(c.code("RENAME TABLE nope TO y"), 1146);
    c.ok("ALTER TABLE b RENAME TO c");
    c.ok("TRUNCATE TABLE c");
    assert!(c.rows("SELECT * FROM c").is_empty());
    let e = c.err("DROP TABLE a, nope, nada");
    assert_eq!(
        (e.code, &*e.message),
        (1051, "Unknown table 'test.nope,test.nada'")
    );
    // Nothing was dropped.
    assert_eq!(c.rows("SHOW TABLES"), ["a", "c"]);
    assert_eq!(c.ok("DROP TABLE IF EXISTS a, nope, c").done.warnings, 1);
    assert!(c.rows("SHOW TABLES").is_empty());
    assert_eq!(c.code("TRUNCATE nope"), 1146);
}

#[test]
fn databases_come_and_go() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(
        c.ok("CREATE DATABASE one CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            .done
            .affected,
        1
    );
    assert_eq!(c.code("CREATE DATABASE one"), 1007);
    assert_eq!(c.ok("CREATE SCHEMA IF NOT EXISTS one").done.warnings, 1);
    assert_eq!(
        c.rows("SHOW DATABASES"),
        [
            "information_schema",
            "mysql",
            "one",
            "performance_schema",
            "sys",
            "test"
        ]
    );
    assert_eq!(c.rows("SHOW DATABASES LIKE 'o%'"), ["one"]);
    assert_eq!(
        c.ok("SHOW CREATE DATABASE one").rows[0][1],
        "CREATE DATABASE `one` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */ /*!80016 DEFAULT ENCRYPTION='N' */"
    );
    c.ok("USE one");
    assert_eq!(c.one("SELECT @@collation_database"), "utf8mb4_bin");
    c.ok("CREATE TABLE t (a CHAR(3))");
    assert!(create_text(&mut c, "t").ends_with("COLLATE=utf8mb4_bin"));
    assert_eq!(c.ok("DROP DATABASE one").done.affected, 1);
    assert_eq!(c.code("CREATE TABLE t (a INT)"), 1046);
    assert_eq!(c.code("DROP DATABASE one"), 1008);
    assert_eq!(c.ok("DROP DATABASE IF EXISTS one").done.warnings, 1);
    assert_eq!(c.code("USE one"), 1049);
    assert_eq!(c.code("DROP DATABASE mysql"), 1044);
    assert_eq!(c.code("CREATE DATABASE information_schema"), 1044);
}

#[test]
fn indexes_come_and_go() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), c INT NOT NULL)");
    c.ok("INSERT INTO t VALUES (1, 'x', 5), (2, 'x', 6), (3, 'y', 7)");
    c.ok("CREATE INDEX by_b ON t (b)");
    c.ok("CREATE UNIQUE INDEX by_c ON t (c DESC)");
    assert_eq!(
        c.rows("SELECT a FROM t FORCE INDEX (by_b) WHERE b = 'x' ORDER BY a"),
        ["1", "2"]
    );
    assert_eq!(c.code("CREATE UNIQUE INDEX u ON t (b)"), 1062);
    assert_eq!(c.code("CREATE INDEX by_b ON t (a)"), 1061);
    assert_eq!(c.code("CREATE INDEX n ON t (nope)"), 1072);
    assert_eq!(c.code("INSERT INTO t VALUES (4, 'z', 7)"), 1062);
    assert_eq!(
        c.ok("SHOW INDEX FROM t")
            .rows
            .iter()
            .map(|r| format!("{} {} {} {} {} {}", r[1], r[2], r[3], r[4], r[5], r[9]))
            .collect::<Vec<_>>(),
        ["0 PRIMARY 1 a A ", "0 by_c 1 c D ", "1 by_b 1 b A YES"]
    );
    c.ok("DROP INDEX by_b ON t");
    c.ok("ALTER TABLE t DROP INDEX by_c, ALGORITHM=INPLACE");
    assert_eq!(c.code("DROP INDEX by_b ON t"), 1091);
    c.ok("ALTER TABLE t ADD UNIQUE KEY (c)");
    assert!(create_text(&mut c, "t").contains("UNIQUE KEY `c` (`c`)"));
    c.ok("CREATE TABLE auto (a INT AUTO_INCREMENT, KEY k (a))");
    assert_eq!(c.code("DROP INDEX k ON auto"), 1075);
}

#[test]
fn alter_changes_what_needs_no_new_rows() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20) DEFAULT 'old')");
    c.ok("INSERT INTO t (a) VALUES (1)");
    c.ok("ALTER TABLE t ALTER COLUMN b SET DEFAULT 'new'");
    c.ok("INSERT INTO t (a) VALUES (2)");
    c.ok("ALTER TABLE t RENAME COLUMN b TO bee");
    c.ok("ALTER TABLE t COMMENT = 'changed'");
    assert_eq!(c.rows("SELECT bee FROM t"), ["old", "new"]);
    assert!(create_text(&mut c, "t").ends_with("COMMENT='changed'"));
    c.ok("ALTER TABLE t MODIFY bee VARCHAR(20) DEFAULT 'third' COMMENT 'c'");
    c.ok("INSERT INTO t (a) VALUES (3)");
    assert_eq!(c.one("SELECT bee FROM t WHERE a = 3"), "third");
    assert_eq!(c.code("ALTER TABLE t MODIFY bee INT"), 1366);
    assert_eq!(c.code("ALTER TABLE t ALTER COLUMN nope DROP DEFAULT"), 1054);
    assert_eq!(c.code("ALTER TABLE t RENAME COLUMN bee TO a"), 1060);
    assert_eq!(c.ok("ALTER TABLE t DISABLE KEYS").done.warnings, 1);
}

#[test]
fn alter_writes_rows_anew() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(20), c INT, KEY by_b (b), UNIQUE by_c (c, b))");
    c.ok("INSERT INTO t (b, c) VALUES ('1', 10), ('2', 20), ('3', NULL)");
    let done = c.ok("ALTER TABLE t ADD COLUMN d DATETIME NOT NULL DEFAULT '2020-01-01' FIRST, ADD n INT NOT NULL AFTER a, ADD KEY (n)").done;
    assert_eq!(
        (done.affected, &*done.info),
        (0, "Records: 0  Duplicates: 0  Warnings: 0")
    );
    assert_eq!(
        c.rows("SELECT * FROM t WHERE b < '3'"),
        [
            "2020-01-01 00:00:00|1|0|1|10",
            "2020-01-01 00:00:00|2|0|2|20"
        ]
    );
    c.ok("ALTER TABLE t MODIFY b BIGINT, DROP COLUMN d");
    assert_eq!(c.rows("SELECT b + 1 FROM t ORDER BY a"), ["2", "3", "4"]);
    assert_eq!(c.code("ALTER TABLE t MODIFY c INT NOT NULL"), 1138);
    assert_eq!(c.code("ALTER TABLE t ADD UNIQUE (n)"), 1062);
    assert_eq!(c.code("ALTER TABLE t DROP PRIMARY KEY"), 1075);
    assert_eq!(c.code("ALTER TABLE t ADD COLUMN b INT"), 1060);
    assert_eq!(c.code("ALTER TABLE t DROP COLUMN nope"), 1091);
    assert_eq!(
        c.code("ALTER TABLE t MODIFY c BIGINT, ALGORITHM=INPLACE"),
        1846
    );
    assert_eq!(
        c.code("ALTER TABLE t MODIFY c BIGINT, ALGORITHM=COPY, LOCK=NONE"),
        1846
    );
    // What failed has changed nothing and left nothing.
    assert_eq!(c.rows("SHOW TABLES"), ["t"]);
    assert_eq!(
        create_text(&mut c, "t"),
        "CREATE TABLE `t` (
  `a` int NOT NULL AUTO_INCREMENT,
  `n` int NOT NULL,
  `b` bigint DEFAULT NULL,
  `c` int DEFAULT NULL,
  PRIMARY KEY (`a`),
  UNIQUE KEY `by_c` (`c`,`b`),
  KEY `by_b` (`b`),
  KEY `n` (`n`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    );
    c.ok("ALTER TABLE t CHANGE a id BIGINT UNSIGNED NOT NULL, DROP PRIMARY KEY, DROP INDEX by_b, DROP KEY by_c");
    c.ok("INSERT INTO t VALUES (1, 5, 6, 7)");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE id = 1"), "2");
    assert_eq!(c.code("ALTER TABLE t ADD PRIMARY KEY (id)"), 1062);
    c.ok("DELETE FROM t WHERE n = 5");
    c.ok("ALTER TABLE t ADD PRIMARY KEY (id), ADD k INT UNSIGNED AUTO_INCREMENT UNIQUE");
    assert_eq!(c.rows("SELECT id, k FROM t"), ["1|1", "2|2", "3|3"]);
    c.ok("INSERT INTO t (id, n) VALUES (9, 9)");
    assert_eq!(c.one("SELECT k FROM t WHERE id = 9"), "4");
    c.ok("ALTER TABLE t DROP COLUMN b");
    assert_eq!(c.rows("SHOW INDEX FROM t WHERE Column_name = 'b'").len(), 0);
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    c.ok("ALTER TABLE t ENGINE=InnoDB");
    assert_eq!(c.one("SELECT COUNT(*) FROM t"), "4");
    c.ok("LOCK TABLES t WRITE");
    c.ok("ALTER TABLE t ADD z INT DEFAULT 5");
    c.ok("INSERT INTO t (id, n) VALUES (10, 10)");
    c.ok("UNLOCK TABLES");
    assert_eq!(c.one("SELECT SUM(z) FROM t"), "25");
    assert_eq!(
        c.rows("SHOW DATABASES"),
        [
            "information_schema",
            "mysql",
            "performance_schema",
            "sys",
            "test"
        ]
    );
}

#[test]
fn tables_are_made_of_queries() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE src (a INT UNSIGNED NOT NULL, b VARCHAR(7), d DECIMAL(6,2))");
    c.ok("INSERT INTO src VALUES (1, 'x', 1.5), (2, NULL, NULL)");
    let done = c.ok("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(3) DEFAULT 'y') AS SELECT a, b, d AS price FROM src ORDER BY a").done;
    assert_eq!(
        (done.affected, &*done.info),
        (2, "Records: 2  Duplicates: 0  Warnings: 0")
    );
    assert_eq!(c.rows("SELECT * FROM t"), ["1|1|x|1.50", "2|2|NULL|NULL"]);
    assert_eq!(
        c.rows("DESC t"),
        [
            "id|int|NO|PRI|NULL|auto_increment",
            "a|int unsigned|NO||NULL|",
            "b|varchar(3)|YES||y|",
            "price|decimal(6,2)|YES||NULL|"
        ]
    );
    // One number was reserved, then two.
    c.ok("INSERT INTO t (a) VALUES (5)");
    assert_eq!(c.one("SELECT MAX(id) FROM t"), "4");
    c.ok("CREATE TABLE copy SELECT * FROM t");
    assert_eq!(c.one("SELECT COUNT(*) FROM copy"), "3");
    assert_eq!(c.code("CREATE TABLE copy SELECT 1"), 1050);
    assert_eq!(
        c.ok("CREATE TABLE IF NOT EXISTS copy SELECT 1")
            .done
            .warnings,
        1
    );
    assert_eq!(c.code("CREATE TABLE v SELECT * FROM nope"), 1146);
    assert_eq!(
        c.code("CREATE TABLE v (b VARCHAR(1)) SELECT 'long' AS b"),
        1406
    );
    assert_eq!(c.rows("SHOW TABLES"), ["copy", "src", "t"]);
}

#[test]
fn columns_of_queries_are_wide_enough_for_their_values() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE src (a TINYINT, y YEAR, u TINYINT UNSIGNED, t DATETIME(6), l TIME(6))");
    c.ok("INSERT INTO src VALUES (NULL, NULL, NULL, '2024-12-31 23:59:58.999999', '-838:59:58.999999')");
    c.ok("CREATE TABLE v SELECT COALESCE(a, 1000) AS a, IF(a, y, -70000) AS y, IFNULL(u, 1000) AS u, COALESCE(a, TRUE) AS b FROM src");
    assert_eq!(c.rows("SELECT * FROM v"), ["1000|-70000|1000|1"]);
    let types = c.rows("DESC v");
    let types: Vec<&str> = types.iter().filter_map(|l| l.split('|').nth(1)).collect();
    assert_eq!(types, ["int", "int", "int", "tinyint"]);
    for (unit, text, negative) in [
        ("YEAR", "2024", "0"),
        ("YEAR_MONTH", "202412", "0"),
        ("DAY_HOUR", "3123", "-838"),
        ("DAY_MINUTE", "312359", "-83859"),
        ("DAY_SECOND", "31235958", "-8385958"),
        ("DAY_MICROSECOND", "31235958999999", "-8385958999999"),
        ("HOUR", "23", "-838"),
        ("HOUR_MINUTE", "2359", "-83859"),
        ("HOUR_SECOND", "235958", "-8385958"),
        ("HOUR_MICROSECOND", "235958999999", "-8385958999999"),
        ("MINUTE_SECOND", "5958", "-5958"),
        ("MINUTE_MICROSECOND", "5958999999", "-5958999999"),
        ("SECOND_MICROSECOND", "58999999", "-58999999"),
        ("MICROSECOND", "999999", "-999999"),
    ] {
        c.ok("DROP TABLE IF EXISTS w");
        c.ok(&format!("CREATE TABLE w SELECT EXTRACT({unit} FROM t) AS a, EXTRACT({unit} FROM l) AS b FROM src"));
        assert_eq!(
            c.one("SELECT * FROM w"),
            format!("{text}|{negative}"),
            "{unit}"
        );
        let sql = format!(
            "SELECT EXTRACT({unit} FROM t) FROM src UNION ALL SELECT EXTRACT({unit} FROM l) FROM src UNION ALL SELECT 0.5"
        );
        let all = [format!("{text}.0"), format!("{negative}.0"), "0.5".into()];
        assert_eq!(c.rows(&sql), all, "{unit}");
    }
}

#[test]
fn a_table_is_rewritten_beside_its_readers_and_writers() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT, KEY (b))");
    c.ok("INSERT INTO t (b) VALUES (0)");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let inserted = std::thread::scope(|s| {
        let mut writer = db.client();
        let stop = &stop;
        let writing = s.spawn(move || {
            let mut n = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                n += 1;
                writer.ok("INSERT INTO t (b) VALUES (1)");
                assert_ne!(writer.one("SELECT COUNT(*) FROM t WHERE b = 1"), "0");
            }
            n
        });
        for i in 0..5 {
            c.ok(&format!("ALTER TABLE t ADD COLUMN c{i} INT DEFAULT {i}"));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        writing.join().unwrap()
    });
    assert_eq!(
        c.one("SELECT COUNT(*), COUNT(DISTINCT a), SUM(c3) FROM t"),
        format!("{0}|{0}|{1}", inserted + 1, 3 * (inserted + 1))
    );
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
}

#[test]
fn definitions_survive_a_restart() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(10) DEFAULT 'it''s', KEY (b(3)))");
    c.ok("INSERT INTO t (b) VALUES ('x'), ('y')");
    let columns = c.rows("SHOW FULL COLUMNS FROM t");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.rows("SHOW FULL COLUMNS FROM t"), columns);
    c.ok("INSERT INTO t (b) VALUES ('z')");
    assert_eq!(c.one("SELECT MAX(a) FROM t"), "3");
    c.ok("CREATE TABLE high (a INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 500");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert!(create_text(&mut c, "high").contains(" AUTO_INCREMENT=500 "));
    c.ok("ALTER TABLE t AUTO_INCREMENT = 2");
    c.ok("INSERT INTO t (b) VALUES ('after')");
    assert_eq!(c.one("SELECT MAX(a) FROM t"), "4");
    c.ok("ALTER TABLE t AUTO_INCREMENT = 50");
    c.ok("INSERT INTO t (b) VALUES ('later')");
    assert_eq!(c.one("SELECT MAX(a) FROM t"), "50");
    c.ok("TRUNCATE TABLE t");
    c.ok("INSERT INTO t (b) VALUES ('new')");
    assert_eq!(c.one("SELECT a FROM t"), "1");
}

#[test]
fn half_made_tables_are_dropped_at_open() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    // The first rewrite makes the database in which tables are made.
    c.ok("ALTER TABLE t MODIFY a BIGINT");
    drop(c);
    let engine = db.instance().engine();
    let work = |engine: &millpond_store::Engine| {
        let names = engine.databases().unwrap();
        let name = names.into_iter().find(|n| n.starts_with('#')).unwrap();
        (engine.tables(&name).unwrap(), name)
    };
    let (tables, name) = work(engine);
    assert!(tables.is_empty());
    let pair = |d: &str, t: &str| (d.to_string(), t.to_string());
    engine
        .rename_tables(&engine.owner(), &[(pair("test", "t"), pair(&name, "left"))])
        .unwrap();
    db.reopen();
    assert!(work(db.instance().engine()).0.is_empty());
}

/// A snapshot older than a TRUNCATE or a rebuild gets MySQL's error, not an empty table.
#[test]
fn old_snapshots_are_told_of_truncate_and_rebuild() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    for t in ["emptied", "rebuilt", "renamed"] {
        b.ok(&format!("CREATE TABLE {t} (a INT PRIMARY KEY, b INT)"));
        b.ok(&format!("INSERT INTO {t} VALUES (1, 1), (2, 2)"));
    }
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    b.ok("TRUNCATE TABLE emptied");
    b.ok("OPTIMIZE TABLE rebuilt");
    b.ok("RENAME TABLE renamed TO other");
    for sql in ["SELECT * FROM emptied", "SELECT b FROM rebuilt WHERE a = 1"] {
        assert_eq!(a.code(sql), 1412, "{sql}");
    }
    assert_eq!(a.rows("SELECT * FROM other"), ["1|1", "2|2"]);
    a.ok("COMMIT");
    assert!(a.rows("SELECT * FROM emptied").is_empty());
    assert_eq!(a.rows("SELECT b FROM rebuilt WHERE a = 1"), ["1"]);
}

#[test]
fn tables_are_altered_in_all_of_mysqls_words() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10), KEY ka (a), KEY ks (s)) KEY_BLOCK_SIZE=4 AVG_ROW_LENGTH=5");
    c.ok("INSERT INTO t VALUES (1, 2, 'x'), (2, 3, 'X')");
    c.ok("ALTER TABLE t RENAME INDEX ka TO kb, RENAME KEY ks TO ka, ALTER INDEX kb VISIBLE");
    c.ok("ALTER TABLE t ADD COLUMN (p INT, q INT DEFAULT 4), ADD INDEX kq (q) KEY_BLOCK_SIZE=8");
    c.ok(
        "ALTER TABLE t KEY_BLOCK_SIZE=8 MAX_ROWS=5, ROW_FORMAT=DYNAMIC, COMMENT='one', ORDER BY a",
    );
    assert_eq!(
        c.warnings(),
        [
            "Warning 1478 InnoDB: ignoring KEY_BLOCK_SIZE=8.",
            "Warning 1105 ORDER BY ignored as there is a user-defined clustered index in the table 't'"
        ]
    );
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE s = 'x'"), "2");
    c.ok("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE s = 'x'"), "1");
    c.ok("ALTER TABLE t DEFAULT CHARSET=utf8mb4, COLLATE=utf8mb4_unicode_ci, ADD w CHAR(2)");
    // Other changes and a new name come together.
    c.ok("ALTER TABLE t DROP p, COMMENT 'two', RENAME TO u, AUTO_INCREMENT=7, ENGINE=InnoDB");
    assert_eq!(c.code("SELECT * FROM t"), 1146);
    assert_eq!(
        c.rows("SELECT id, a, s, q FROM u ORDER BY id"),
        ["1|2|x|4", "2|3|X|4"]
    );
    let shown = c.rows("SHOW CREATE TABLE u").concat();
    assert_eq!(
        shown,
        "u|CREATE TABLE `u` (\n  `id` int NOT NULL,\n  `a` int DEFAULT NULL,\n  \
         `s` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,\n  \
         `q` int DEFAULT '4',\n  `w` char(2) COLLATE utf8mb4_unicode_ci DEFAULT NULL,\n  \
         PRIMARY KEY (`id`),\n  KEY `kb` (`a`),\n  KEY `ka` (`s`),\n  KEY `kq` (`q`)\n\
         ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci MAX_ROWS=5 AVG_ROW_LENGTH=5 ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=8 COMMENT='two'"
    );
    c.ok("CREATE TABLE t (v VARCHAR(5) BINARY, x CHAR(3) CHARACTER SET utf8mb4 BINARY NOT NULL, KEY (v) VISIBLE)");
    c.ok("INSERT INTO t VALUES ('a', 'b'), ('A', 'B')");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE v = 'A'"), "1");
    assert_eq!(c.one("SELECT COUNT(*) FROM t WHERE x = 'b'"), "1");
    for (sql, code) in [
        ("ALTER TABLE u ORDER BY nope", 1054),
        ("ALTER TABLE u RENAME INDEX nope TO n", 1176),
        ("ALTER TABLE u RENAME INDEX ka TO kb", 1061),
        ("ALTER TABLE u RENAME INDEX `PRIMARY` TO n", 1280),
        ("ALTER TABLE u RENAME TO t, COMMENT 'x'", 1050),
        ("ALTER TABLE u ALTER INDEX nope INVISIBLE", 1176),
        ("ALTER TABLE u ALTER INDEX `primary` INVISIBLE", 3522),
        ("ALTER TABLE u CONVERT TO CHARACTER SET nope", 1115),
        ("ALTER TABLE u DISCARD TABLESPACE", 1235),
        ("ALTER TABLE u COMMENT 'x' nonsense", 1064),
        ("SELECT 1 INTO OUTFILE '/tmp/x'", 1290),
        ("SELECT * INTO DUMPFILE '/tmp/x' FROM u", 1290),
    ] {
        assert_eq!(c.code(sql), code, "{sql}");
    }
    assert!(
        c.rows("SHOW CREATE TABLE u")
            .concat()
            .contains("COMMENT='two'")
    );
}

#[test]
fn databases_are_altered() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("ALTER DATABASE test CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    assert_eq!(c.one("SELECT @@collation_database"), "utf8mb4_bin");
    c.ok("CREATE TABLE t (s VARCHAR(5))");
    c.ok("ALTER SCHEMA DEFAULT COLLATE = utf8mb4_unicode_ci");
    assert_eq!(c.code("ALTER DATABASE nope COLLATE utf8mb4_bin"), 1049);
    assert_eq!(c.code("ALTER DATABASE mysql COLLATE utf8mb4_bin"), 1044);
    drop(c);
    db.reopen();
    let mut c = db.client();
    let of = |what: &str| {
        format!(
            "SELECT {what}_collation FROM information_schema.{what}s WHERE {what}_schema = 'test'"
        )
    };
    assert_eq!(c.one(&of("table")), "utf8mb4_bin");
    assert_eq!(
        c.one("SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = 'test'"),
        "utf8mb4_unicode_ci"
    );
}

/// A table written anew holds the same rows whether it is filled in bulk or row by row.
#[test]
fn rebuilds_keep_rows() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(20), c TEXT, UNIQUE ua (a), KEY kb (b, a), KEY kc (c(5)))");
    let rows: Vec<String> = (0..3000)
        .map(|n| {
            format!(
                "({}, 'b{}', REPEAT('c{}', {}))",
                n * 7 % 3001,
                n % 50,
                n % 10,
                if n % 500 == 3 { 20_000 } else { n % 9 }
            )
        })
        .collect();
    c.ok(&format!(
        "INSERT INTO t (a, b, c) VALUES {}",
        rows.join(",")
    ));
    c.ok("DELETE FROM t WHERE id % 3 = 0");
    let digest = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, a, b, c))), MAX(id) FROM t";
    let by_indexes = [
        "SELECT COUNT(*), SUM(id) FROM t FORCE INDEX (ua) WHERE a >= 0",
        "SELECT COUNT(*), SUM(id) FROM t FORCE INDEX (kb) WHERE b > 'b'",
        "SELECT COUNT(*), SUM(id) FROM t FORCE INDEX (kc) WHERE c > 'c'",
    ];
    let want = c.rows(digest);
    let wants: Vec<_> = by_indexes.map(|sql| c.rows(sql)).into();
    let changes = [
        "OPTIMIZE TABLE t",
        "ALTER TABLE t FORCE",
        "ALTER TABLE t ENGINE = InnoDB",
        "ALTER TABLE t DROP INDEX kb, ADD INDEX kb (b, id)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a, id), ADD KEY (id)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), DROP KEY id",
        "ALTER TABLE t MODIFY b VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "ALTER TABLE t MODIFY a BIGINT FIRST",
    ];
    for fast in ["ON", "OFF"] {
        c.ok(&format!("SET expand_fast_index_creation = {fast}"));
        for change in changes {
            c.ok(change);
            assert_eq!(c.rows(digest), want, "{change} {fast}");
            let got: Vec<_> = by_indexes.map(|sql| c.rows(sql)).into();
            assert_eq!(got, wants, "{change} {fast}");
        }
        c.ok("INSERT INTO t (a) VALUES (NULL)");
        assert_eq!(c.one("SELECT MAX(id) > 3000 FROM t"), "1");
        c.ok("DELETE FROM t WHERE a IS NULL");
        // Whatever is in the way is named, and nothing has changed.
        for (change, message) in [
            (
                "ALTER TABLE t ADD UNIQUE (b), ADD UNIQUE ux (id, a)",
                "Duplicate entry 'b",
            ),
            (
                "ALTER TABLE t MODIFY id INT, DROP PRIMARY KEY, ADD PRIMARY KEY (b)",
                "Duplicate entry 'b",
            ),
        ] {
            let e = c.err(change);
            assert_eq!(e.code, 1062, "{change} {fast}: {}", e.message);
            assert!(e.message.starts_with(message), "{}", e.message);
            assert!(
                e.message.ends_with("' for key 't.b'")
                    || e.message.ends_with("' for key 't.PRIMARY'"),
                "{}",
                e.message
            );
            assert_eq!(c.rows(digest), want, "{change} {fast}");
        }
    }
    let engine = db.instance().engine();
    assert!(engine.tables("#sql").unwrap().is_empty());
}

#[test]
fn expressions_in_definitions_survive_a_restart() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT, b INT DEFAULT (a * 2), c VARCHAR(10) DEFAULT (concat('é', a)), d INT AS (a + b) UNIQUE INVISIBLE, KEY k (b) INVISIBLE, KEY f ((a * 3)), CHECK (a < 10 AND c <> 'é'), CONSTRAINT few CHECK (b > 0) NOT ENFORCED)");
    c.ok("INSERT INTO t (a) VALUES (1)");
    let text = create_text(&mut c, "t");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(create_text(&mut c, "t"), text);
    // What SHOW CREATE TABLE says makes the same table, in any sql_mode.
    c.ok("SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'");
    c.ok("INSERT INTO t (a) VALUES (2)");
    assert_eq!(c.rows("SELECT * FROM t"), ["1|2|é1", "2|4|é2"]);
    assert_eq!(c.rows("SELECT d FROM t WHERE d > 0"), ["3", "6"]);
    assert_eq!(c.one("SELECT b FROM t WHERE a * 3 = 6"), "4");
    assert_eq!(c.code("INSERT INTO t (a) VALUES (10)"), 3819);
    assert_eq!(c.code("INSERT INTO t (a) VALUES (2)"), 1062);
    c.ok("UPDATE t SET b = 5 WHERE d = 6");
    assert_eq!(c.one("SELECT d FROM t WHERE a = 2"), "7");
    c.ok("SET sql_mode = ''");
    c.ok("DROP TABLE t");
    c.ok(&text);
    assert_eq!(create_text(&mut c, "t"), text);
}
