//! SHOW, DESCRIBE and information_schema.

use crate::support::{Client, TestDb};

fn sample(c: &mut Client) {
    c.ok("CREATE TABLE people (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, born DATE, note TEXT COMMENT 'free', at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, pond INT, KEY by_pond (pond, born))");
}

#[test]
fn columns_are_described() {
    let db = TestDb::new();
    let mut c = db.client();
    sample(&mut c);
    let described = c.ok("DESCRIBE people");
    assert_eq!(
        described.headings(),
        ["Field", "Type", "Null", "Key", "Default", "Extra"]
    );
    let expected = [
        "id|int unsigned|NO|PRI|NULL|auto_increment",
        "name|varchar(40)|NO|UNI|NULL|",
        "born|date|YES||NULL|",
        "note|text|YES||NULL|",
        "at|timestamp|YES||CURRENT_TIMESTAMP|DEFAULT_GENERATED on update CURRENT_TIMESTAMP",
        "pond|int|YES|MUL|NULL|",
    ];
    assert_eq!(c.rows("DESC people"), expected);
    assert_eq!(c.rows("SHOW COLUMNS FROM people FROM test"), expected);
    assert_eq!(
        c.rows("SHOW FIELDS FROM people LIKE 'n%'"),
        [expected[1], expected[3]]
    );
    assert_eq!(
        c.rows("SHOW COLUMNS FROM people WHERE `Key` <> ''"),
        [expected[0], expected[1], expected[5]]
    );
    assert_eq!(
        c.rows("SHOW FULL COLUMNS FROM people WHERE Field = 'note'"),
        ["note|text|utf8mb4_0900_ai_ci|YES||NULL||select,insert,update,references|free"]
    );
    assert_eq!(c.code("DESC nope"), 1146);
    assert_eq!(c.code("SHOW COLUMNS FROM nope.people"), 1049);
}

#[test]
fn tables_are_listed() {
    let db = TestDb::new();
    let mut c = db.client();
    sample(&mut c);
    c.ok("CREATE TABLE other (a INT) COMMENT='x'");
    assert_eq!(c.ok("SHOW TABLES").headings(), ["Tables_in_test"]);
    assert_eq!(c.rows("SHOW TABLES"), ["other", "people"]);
    assert_eq!(
        c.ok("SHOW TABLES LIKE 'p%'").headings(),
        ["Tables_in_test (p%)"]
    );
    assert_eq!(c.rows("SHOW FULL TABLES LIKE 'P%'"), ["people|BASE TABLE"]);
    assert_eq!(
        c.rows("SHOW TABLES WHERE Tables_in_test = 'other'"),
        ["other"]
    );
    assert_eq!(c.code("SHOW TABLES FROM nope"), 1049);
    assert!(
        c.rows("SHOW TABLES FROM information_schema")
            .contains(&"COLUMNS".to_string())
    );
    let status = c.ok("SHOW TABLE STATUS LIKE 'other'");
    assert_eq!(status.rows.len(), 1);
    assert_eq!(&status.rows[0][0], "other");
    assert_eq!(&status.rows[0][1], "InnoDB");
    assert_eq!(&status.rows[0][17], "x");
    let mut none = db.raw();
    assert_eq!(none.code("SHOW TABLES"), 1046);
    assert_eq!(none.rows("SHOW TABLES FROM test LIKE 'o%'"), ["other"]);
}

#[test]
fn information_schema_answers_queries() {
    let db = TestDb::new();
    let mut c = db.client();
    sample(&mut c);
    assert_eq!(
        c.rows("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE()"),
        ["people|BASE TABLE"]
    );
    assert_eq!(
        c.rows("SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, COLUMN_KEY FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = 'people' AND ORDINAL_POSITION < 3 ORDER BY ORDINAL_POSITION"),
        ["id|int|NULL|PRI", "name|varchar|40|UNI"]
    );
    assert_eq!(
        c.rows("SELECT s.index_name, s.seq_in_index, s.column_name FROM information_schema.statistics s JOIN information_schema.tables t USING (table_schema, table_name) WHERE t.table_schema = 'test' AND s.non_unique = 1 ORDER BY 1, 2"),
        ["by_pond|1|pond", "by_pond|2|born"]
    );
    assert_eq!(
        c.rows("SELECT constraint_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = 'test'"),
        ["PRIMARY|PRIMARY KEY", "name|UNIQUE"]
    );
    assert_eq!(
        c.rows("SELECT column_name FROM information_schema.key_column_usage WHERE table_schema = 'test' AND constraint_name = 'PRIMARY'"),
        ["id"]
    );
    assert_eq!(
        c.one("SELECT COUNT(*) FROM information_schema.views WHERE table_schema <> 'sys'"),
        "0"
    );
    assert_eq!(
        c.one("SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = 'test'"),
        "utf8mb4_0900_ai_ci"
    );
    assert_eq!(
        c.one("SELECT variable_value FROM performance_schema.global_variables WHERE variable_name = 'innodb_page_size'"),
        "16384"
    );
    assert_eq!(c.code("SELECT * FROM information_schema.nope"), 1109);
    c.ok("USE information_schema");
    assert_eq!(
        c.one("SELECT COUNT(*) FROM tables WHERE table_schema = 'test'"),
        "1"
    );
}

#[test]
fn the_server_describes_itself() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(
        c.rows("SHOW ENGINES"),
        ["InnoDB|DEFAULT|Millpond: transactions, row locks; tables as cheap as rows|YES|YES|YES"]
    );
    assert_eq!(
        c.rows("SHOW CHARACTER SET LIKE 'utf8mb4'"),
        ["utf8mb4|UTF-8 Unicode|utf8mb4_0900_ai_ci|4"]
    );
    // MySQL's 89 but for two of Japanese and one of Chinese.
    assert_eq!(c.rows("SHOW COLLATION WHERE Charset = 'utf8mb4'").len(), 86);
    assert_eq!(
        c.rows("SHOW GRANTS"),
        ["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"]
    );
    assert_eq!(
        c.ok("SHOW ENGINE INNODB STATUS").headings(),
        ["Type", "Name", "Status"]
    );
    assert_eq!(c.code("SHOW ENGINE nonsense STATUS"), 1286);
    for empty in [
        "SHOW TRIGGERS",
        "SHOW EVENTS",
        "SHOW PROCEDURE STATUS",
        "SHOW FUNCTION STATUS LIKE 'x'",
        "SHOW MASTER STATUS",
        "SHOW SLAVE STATUS",
    ] {
        assert!(c.rows(empty).is_empty(), "{empty}");
    }
    for some in [
        "SHOW PLUGINS",
        "SHOW PRIVILEGES",
        "SHOW STATUS",
        "SHOW VARIABLES",
    ] {
        assert!(!c.rows(some).is_empty(), "{some}");
    }
    assert_eq!(c.code("SHOW BINARY LOGS"), 1381);
    assert_eq!(c.code("SHOW CREATE VIEW nope"), 1146);
    let prepared = c.0.prepare("SHOW TABLES LIKE 'x'").unwrap();
    assert_eq!(prepared.columns.len(), 1);
}

#[test]
fn maintenance_tells_the_truth() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b))");
    c.ok("INSERT INTO t VALUES (1, 2), (3, 4)");
    assert_eq!(c.rows("ANALYZE TABLE t"), ["test.t|analyze|status|OK"]);
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    assert_eq!(
        c.rows("CHECK TABLE nope"),
        [
            "test.nope|check|Error|Table 'test.nope' doesn't exist",
            "test.nope|check|status|Operation failed"
        ]
    );
    assert_eq!(
        c.rows("REPAIR TABLE t"),
        ["test.t|repair|note|The storage engine for the table doesn't support repair"]
    );
    assert_eq!(c.code("FLUSH ENGINE LOGS"), 1235);
    c.ok("FLUSH BINARY LOGS");
    assert_eq!(
        c.rows("OPTIMIZE TABLE t"),
        [
            "test.t|optimize|note|Table does not support optimize, doing recreate + analyze instead",
            "test.t|optimize|status|OK"
        ]
    );
    assert_eq!(c.rows("SELECT * FROM t"), ["1|2", "3|4"]);
    assert_eq!(c.rows("CHECK TABLE t"), ["test.t|check|status|OK"]);
    c.ok("FLUSH TABLES");
    c.ok("FLUSH PRIVILEGES");
    c.ok("UNLOCK TABLES");
}

/// What DROP leaves is listed until it has been given back, at the rate that a variable sets.
#[test]
fn the_graveyard_is_shown() {
    let db = TestDb::new();
    let mut c = db.client();
    let rate = "SELECT @@GLOBAL.millpond_reclaim_bytes_per_sec";
    assert_eq!(c.rows(rate), [(512u64 << 20).to_string()]);
    let graves = "SELECT table_schema, table_name, index_name, file_name, bytes_left > 0,
        dropped_at <= NOW() AND dropped_at > NOW() - INTERVAL 1 HOUR, state
        FROM information_schema.millpond_graveyard ORDER BY space_id";
    assert!(c.rows(graves).is_empty());
    c.ok("SET GLOBAL millpond_reclaim_bytes_per_sec = 1");
    c.ok("CREATE TABLE big (a INT PRIMARY KEY, b VARCHAR(4000))");
    c.ok("INSERT INTO big VALUES (1, REPEAT('x', 4000))");
    for n in 1..10 {
        let from = 1 << (n - 1);
        c.ok(&format!("INSERT INTO big SELECT a + {from}, b FROM big"));
    }
    c.ok("CREATE TABLE small (a INT PRIMARY KEY, b INT, KEY k (b))");
    c.ok("INSERT INTO small VALUES (1, 1)");
    c.ok("TRUNCATE TABLE big");
    // The thread takes one step and then waits for a day.
    let status = |c: &mut Client, name: &str| -> u64 {
        let row = c.rows(&format!("SHOW STATUS LIKE '{name}'"));
        row[0].split_once('|').unwrap().1.parse().unwrap()
    };
    while status(&mut c, "Millpond_reclaimed_bytes") == 0 {
        std::thread::yield_now();
    }
    c.ok("DROP TABLE small");
    assert_eq!(
        c.rows(graves),
        [
            "test|big|PRIMARY|data|1|1|RECLAIMING",
            "test|small|PRIMARY|data|1|1|WAITING",
            "test|small|k|data|1|1|WAITING",
        ]
    );
    assert_eq!(status(&mut c, "Millpond_graveyard_spaces"), 3);
    let total = c.rows("SELECT SUM(bytes_left) FROM information_schema.millpond_graveyard");
    assert_eq!(
        total,
        [status(&mut c, "Millpond_graveyard_bytes").to_string()]
    );
    c.ok("SET GLOBAL millpond_reclaim_bytes_per_sec = 0");
    while status(&mut c, "Millpond_reclaimer_active") > 0 {
        std::thread::yield_now();
    }
    assert!(c.rows(graves).is_empty());
    assert_eq!(status(&mut c, "Millpond_graveyard_spaces"), 0);
    assert_eq!(
        c.code("SET SESSION millpond_reclaim_bytes_per_sec = 1"),
        1229
    );
    c.ok("SET GLOBAL millpond_reclaim_bytes_per_sec = DEFAULT");
    assert_eq!(c.rows(rate), [(512u64 << 20).to_string()]);
}

/// How fast changed pages are written is a setting, within MySQL's bounds.
#[test]
fn io_capacity_is_set() {
    let db = TestDb::new();
    let mut c = db.client();
    let both = "SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max";
    assert_eq!(c.rows(both), ["10000|20000"]);
    c.ok("SET GLOBAL innodb_io_capacity = 99");
    assert_eq!(
        c.rows("SHOW WARNINGS"),
        ["Warning|1292|Truncated incorrect innodb_io_capacity value: '99'"]
    );
    c.ok("SET GLOBAL innodb_io_capacity_max = 100000");
    assert_eq!(c.rows(both), ["100|100000"]);
    assert_eq!(c.code("SET SESSION innodb_io_capacity = 1000"), 1229);
    assert_eq!(c.code("SET GLOBAL innodb_io_capacity = 'fast'"), 1232);
    c.ok("SET GLOBAL innodb_io_capacity = DEFAULT, innodb_io_capacity_max = DEFAULT");
    assert_eq!(c.rows(both), ["10000|20000"]);
}

#[test]
fn dumps_of_all_databases_find_what_they_ask_for() {
    let db = TestDb::new();
    let mut c = db.client();
    for table in ["general_log", "slow_log"] {
        assert_eq!(c.one(&format!("SELECT COUNT(*) FROM mysql.{table}")), "0");
        let text = c.ok(&format!("SHOW CREATE TABLE mysql.{table}")).rows[0][1].clone();
        assert!(text.contains("` timestamp(6) NOT NULL,\n"), "{text}");
        // What was dumped is loaded again: there already.
        c.ok("USE mysql");
        c.ok(&text.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"));
        let note = format!("Note 1050 Table '{table}' already exists");
        assert_eq!(c.warnings(), [note]);
        assert_eq!(c.code(&text), 1044);
        c.ok("USE test");
        c.ok(&text);
    }
    c.ok("CREATE DATABASE IF NOT EXISTS mysql");
    let note = "Note 1007 Can't create database 'mysql'; database exists";
    assert_eq!(c.warnings(), [note]);
    assert_eq!(c.code("CREATE DATABASE mysql"), 1007);
    assert_eq!(c.one("SHOW STATUS LIKE 'Ssl_cipher'"), "Ssl_cipher|");
}

#[test]
fn utf8_is_another_name_of_utf8mb3() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a VARCHAR(9) COLLATE utf8_bin, b VARCHAR(9) CHARACTER SET utf8mb3)");
    c.ok("INSERT INTO t VALUES ('a', 'A')");
    for collation in ["utf8_bin", "utf8mb3_bin", "UTF8MB3_BIN"] {
        let asked = format!("SELECT COUNT(*) FROM t WHERE a = b COLLATE {collation}");
        assert_eq!(c.one(&asked), "0");
        c.ok(&format!("SET collation_connection = {collation}"));
        assert_eq!(c.one("SELECT @@collation_connection"), "utf8mb3_bin");
    }
    assert_eq!(c.one("SELECT 'a' = 'A' COLLATE utf8_general_ci"), "1");
    assert_eq!(c.one("SELECT CONVERT('a' USING utf8)"), "a");
    assert_eq!(c.code("SELECT 'a' COLLATE utf8mb4_bin"), 1253);
    assert_eq!(c.code("SELECT 'a' COLLATE utf8_nope_ci"), 1273);
}

#[test]
fn tables_have_sizes_and_indexes_cardinalities() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, few INT, many INT, s VARCHAR(20), KEY (few, many), KEY (s, few))");
    let sizes =
        "SELECT DATA_LENGTH, INDEX_LENGTH, AVG_ROW_LENGTH, DATA_FREE FROM information_schema.TABLES
                 WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = 't'";
    assert_eq!(c.one(sizes), "0|0|0|0");
    let row = |i: u32| format!("({i}, {}, {i}, 's{}')", i % 5, i / 10);
    for chunk in 0..20 {
        let rows: Vec<String> = (chunk * 500..chunk * 500 + 500).map(row).collect();
        c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    let numbers =
        |text: String| -> Vec<u64> { text.split('|').map(|n| n.parse().unwrap()).collect() };
    let n = numbers(c.one(sizes));
    let page = 16384;
    assert!(
        n.iter().take(2).all(|n| n % page == 0 && *n > 10 * page),
        "{n:?}"
    );
    assert!((30..200).contains(&n[2]), "{n:?}");
    let status = c.ok("SHOW TABLE STATUS LIKE 't'").rows.remove(0);
    assert_eq!(
        status[6..10],
        [
            n[0].to_string(),
            "0".into(),
            n[1].to_string(),
            n[3].to_string()
        ]
    );
    let counts: Vec<u64> = c
        .ok("SHOW INDEX FROM t")
        .rows
        .iter()
        .map(|r| r[6].parse().unwrap())
        .collect();
    // id; few; few, many; s; s, few.
    let near = |n: u64, want: u64| (want * 7 / 10..=want * 13 / 10).contains(&n);
    assert!(
        near(counts[0], 10_000) && near(counts[2], 10_000),
        "{counts:?}"
    );
    assert!((2..=60).contains(&counts[1]), "{counts:?}");
    assert!(near(counts[3], 1000) && near(counts[4], 5000), "{counts:?}");
    c.ok("TRUNCATE t");
    assert_eq!(c.one(sizes), "0|0|0|0");
}

#[test]
fn partitions_take_room_too() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s CHAR(200)) PARTITION BY HASH (id) PARTITIONS 3");
    for i in 0..300 {
        c.ok(&format!("INSERT INTO t VALUES ({i}, REPEAT('x', 200))"));
    }
    let sum = "SELECT SUM(DATA_LENGTH), SUM(TABLE_ROWS) FROM information_schema";
    let each = c.one(&format!("{sum}.PARTITIONS WHERE TABLE_NAME = 't'"));
    assert_eq!(c.one(&format!("{sum}.TABLES WHERE TABLE_NAME = 't'")), each);
    assert!(!each.starts_with("0|"), "{each}");
}

/// A listing of names, or their number, opens no table; what only an open table knows does.
#[test]
fn names_are_listed_without_opening_tables() {
    let mut db = TestDb::new();
    let mut c = db.client();
    for n in 0..5 {
        c.ok(&format!(
            "CREATE TABLE t{n} (id INT AUTO_INCREMENT PRIMARY KEY) COMMENT 'number {n}'"
        ));
        c.ok(&format!("INSERT INTO t{n} VALUES ({n} + 1)"));
    }
    drop(c);
    db.reopen();
    let mut c = db.client();
    let mut opened = |sql: &str| {
        let count = |c: &mut Client| {
            let row = c.one("SHOW STATUS LIKE 'Millpond_open_tables'");
            row.rsplit('|').next().and_then(|n| n.parse::<u64>().ok())
        };
        let before = count(&mut c);
        let rows = c.rows(sql);
        (rows, count(&mut c).zip(before).map(|(a, b)| a - b))
    };
    let from = "FROM information_schema.tables WHERE table_schema = 'test'";
    let all = "FROM information_schema.tables";
    let (rows, more) = opened(&format!("SELECT COUNT(*) {from}"));
    assert_eq!((&rows[0][..], more), ("5", Some(0)));
    let (rows, more) = opened(&format!(
        "SELECT table_name, table_type, engine, version, row_format, max_data_length, checksum {from} AND table_name LIKE '%3'"
    ));
    assert_eq!(rows, ["t3|BASE TABLE|InnoDB|10|Dynamic|0|NULL"]);
    assert_eq!(more, Some(0));
    let (rows, more) = opened(&format!("SELECT COUNT(*) {from} AND table_name = 'none'"));
    assert_eq!((&rows[0][..], more), ("0", Some(0)));
    let (rows, more) = opened(&format!(
        "SELECT table_comment, table_collation {from} ORDER BY table_comment DESC LIMIT 1"
    ));
    assert_eq!(rows, ["number 4|utf8mb4_0900_ai_ci"]);
    assert_eq!(more, Some(0));
    for (listing, wanted) in [
        ("statistics", "GROUP_CONCAT(DISTINCT index_name)"),
        (
            "partitions",
            "MAX(table_schema) = 'test' AND COUNT(partition_name) = 0",
        ),
    ] {
        let sql = format!(
            "SELECT {wanted} FROM information_schema.{listing} WHERE table_schema = 'test'"
        );
        assert_eq!(opened(&sql).1, Some(0), "{listing}");
    }
    // A block around reads a column, too; so does a join, and what is sorted or grouped by.
    let (rows, more) = opened(&format!(
        "SELECT s.schema_name, (SELECT MAX(t.table_name) {all} t WHERE t.table_schema = s.schema_name) \
         FROM information_schema.schemata s JOIN information_schema.tables u ON u.table_schema = s.schema_name \
         WHERE s.schema_name = 'test' GROUP BY s.schema_name, u.engine HAVING COUNT(u.table_type) = 5"
    ));
    assert_eq!(rows, ["test|t4"]);
    assert_eq!(more, Some(0));
    let (rows, more) = opened(&format!(
        "SELECT table_rows, auto_increment {from} AND table_name = 't2'"
    ));
    assert_eq!((&rows[0][..], more), ("1|4", Some(1)));
    let (rows, more) = opened(&format!(
        "SELECT SUM(data_length + index_length) > 0 {from} AND table_name <> 't2'"
    ));
    assert_eq!((&rows[0][..], more), ("1", Some(4)));
    let (rows, _) = opened("SHOW TABLE STATUS LIKE 't1'");
    assert!(rows[0].starts_with("t1|InnoDB|10|Dynamic|1|"), "{rows:?}");
    assert!(rows[0].ends_with("|number 1"), "{rows:?}");
}

#[test]
fn definitions_are_quoted_as_sql_mode_asks_and_keep_the_comments_of_keys() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE `a\"b` (`x``y` INT, z INT, PRIMARY KEY (z) COMMENT 'first', KEY k (`x``y`) COMMENT 'it''s') ROW_FORMAT=COMPRESSED");
    let plain = "CREATE TABLE `a\"b` (\n  `x``y` int DEFAULT NULL,\n  `z` int NOT NULL,\n  PRIMARY KEY (`z`) COMMENT 'first',\n  KEY `k` (`x``y`) COMMENT 'it''s'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci ROW_FORMAT=COMPRESSED";
    assert_eq!(c.ok("SHOW CREATE TABLE `a\"b`").rows[0][1], plain);
    c.ok("SET sql_mode = 'ANSI_QUOTES'");
    let ansi = plain
        .replace("`a\"b`", "\"a\"\"b\"")
        .replace("`x``y`", "\"x`y\"")
        .replace("`z`", "\"z\"")
        .replace("`k`", "\"k\"");
    assert_eq!(c.ok("SHOW CREATE TABLE \"a\"\"b\"").rows[0][1], ansi);
    assert!(c.ok("SHOW CREATE DATABASE test").rows[0][1].contains("DATABASE \"test\""));
    c.ok("DROP TABLE \"a\"\"b\"");
    c.ok(&ansi);
    c.ok("SET sql_mode = DEFAULT");
    assert_eq!(c.ok("SHOW CREATE TABLE `a\"b`").rows[0][1], plain);
    let long = "x".repeat(1025);
    assert_eq!(
        c.code(&format!("CREATE INDEX l ON `a\"b` (z) COMMENT '{long}'")),
        1688
    );
    let shown = c.ok("SHOW INDEX FROM `a\"b`");
    let at = shown.headings().iter().position(|h| *h == "Index_comment");
    assert_eq!(shown.rows[1][at.unwrap()], "it's");
}

/// Stages and times of statements, once `profiling` is on.
#[test]
fn profiles_tell_where_time_went() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY (a))");
    c.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    assert!(c.rows("SHOW PROFILES").is_empty());
    c.ok("SET profiling = 1");
    c.ok("SELECT * FROM t WHERE a = 1");
    c.code("SELECT * FROM nowhere");
    c.code("SELEC");
    c.ok("OPTIMIZE TABLE t");
    c.ok("SET expand_fast_index_creation = OFF");
    c.ok("OPTIMIZE TABLE t");
    c.ok("SET profiling = 0");
    c.ok("SELECT 1");
    let texts: Vec<String> = c
        .rows("SHOW PROFILES")
        .iter()
        .map(|row| {
            format!(
                "{} {}",
                row.split('|').next().unwrap(),
                row.rsplit('|').next().unwrap()
            )
        })
        .collect();
    assert_eq!(
        texts,
        [
            "1 SELECT * FROM t WHERE a = 1",
            "2 SELECT * FROM nowhere",
            "3 OPTIMIZE TABLE t",
            "4 SET expand_fast_index_creation = OFF",
            "5 OPTIMIZE TABLE t",
            "6 SET profiling = 0",
        ]
    );
    let stages = |c: &mut Client, sql: &str| -> Vec<String> {
        let rows = c.rows(sql);
        rows.iter()
            .map(|r| r.split('|').next().unwrap().to_string())
            .collect()
    };
    assert_eq!(
        stages(&mut c, "SHOW PROFILE FOR QUERY 1"),
        [
            "starting",
            "Opening tables",
            "optimizing",
            "executing",
            "end",
            "freeing items"
        ]
    );
    let fast = stages(&mut c, "SHOW PROFILE FOR QUERY 3");
    let slow = stages(&mut c, "SHOW PROFILE FOR QUERY 5");
    for stage in [
        "creating table",
        "copy to tmp table",
        "rename result table",
        "end",
    ] {
        assert!(
            fast.contains(&stage.to_string()) && slow.contains(&stage.to_string()),
            "{fast:?} {slow:?}"
        );
    }
    let keys = "restoring secondary keys".to_string();
    assert!(
        fast.contains(&keys) && !slow.contains(&keys),
        "{fast:?} {slow:?}"
    );
    assert_eq!(stages(&mut c, "SHOW PROFILE")[0], "starting");
    assert_eq!(
        stages(&mut c, "SHOW PROFILE FOR QUERY 1 LIMIT 2 OFFSET 1"),
        ["Opening tables", "optimizing"]
    );
    assert!(c.rows("SHOW PROFILE FOR QUERY 77").is_empty());
    let all = c.ok("SHOW PROFILE ALL FOR QUERY 1");
    assert_eq!(all.headings().len(), 16);
    let cpu = c.ok("SHOW PROFILE CPU, BLOCK IO FOR QUERY 1");
    assert_eq!(
        cpu.headings(),
        [
            "Status",
            "Duration",
            "CPU_user",
            "CPU_system",
            "Block_ops_in",
            "Block_ops_out"
        ]
    );
    // Stages follow each other without a gap.
    let sums = c.rows(
        "SELECT QUERY_ID, COUNT(*), MAX(SEQ), SUM(DURATION) > 0 FROM information_schema.PROFILING GROUP BY QUERY_ID ORDER BY QUERY_ID LIMIT 1",
    );
    assert_eq!(sums, ["1|6|6|1"]);
    c.ok("SET profiling_history_size = 1");
    assert_eq!(c.rows("SHOW PROFILES").len(), 1);
}

/// The profile of one of several statements shows those behind it, too.
#[test]
fn profiles_of_several_statements_show_the_rest() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET profiling = 1");
    c.ok("SET @a = 2; SET @b = 3 ; SET @c = 4");
    c.code("SELECT 1; SELEC; SELECT 3");
    c.ok("SET @d = 5");
    let rows = c.rows("SHOW PROFILES");
    let texts = rows.iter().map(|row| row.rsplit('|').next().unwrap());
    assert_eq!(
        texts.collect::<Vec<_>>(),
        [
            "SET @a = 2; SET @b = 3 ; SET @c = 4",
            "SET @b = 3 ; SET @c = 4",
            "SET @c = 4",
            "SELECT 1; SELEC; SELECT 3",
            "SET @d = 5"
        ]
    );
}

#[test]
fn rowid_heads_its_column_as_it_was_written() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (A INT PRIMARY KEY)");
    let answer = c.ok("SELECT _rowid, t._ROWID, a, _rowid AS b FROM t");
    assert_eq!(answer.headings(), ["_rowid", "_ROWID", "A", "b"]);
}

/// A listing of tables says the same of those that are open and those that are not, and opens none but where a counter is to be looked for.
#[test]
fn tables_are_listed_unopened() {
    let mut db = TestDb::new();
    let mut c = db.client();
    for n in 0..20 {
        c.ok(&format!(
            "CREATE TABLE plain{n} (id INT PRIMARY KEY, v INT, KEY (v))"
        ));
    }
    c.ok("INSERT INTO plain3 VALUES (1, 1), (2, 2)");
    c.ok("CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT)");
    c.ok("INSERT INTO counted VALUES (7), (9)");
    c.ok("CREATE TABLE counted_empty (id INT PRIMARY KEY AUTO_INCREMENT)");
    c.ok("CREATE TABLE counted_from (id INT PRIMARY KEY AUTO_INCREMENT) AUTO_INCREMENT = 50");
    c.ok("CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3");
    c.ok("INSERT INTO parted VALUES (1), (2), (3)");
    c.ok("CREATE VIEW v AS SELECT 1 AS one");
    let list = "SELECT table_name, table_rows, data_length, index_length, data_free, auto_increment
        FROM information_schema.tables WHERE table_schema = 'test' ORDER BY table_name";
    let open = |c: &mut Client| -> u64 {
        let rows = c.rows("SHOW GLOBAL STATUS LIKE 'Millpond_open_tables'");
        rows[0].split('|').nth(1).unwrap().parse().unwrap()
    };
    for n in 0..20 {
        c.ok(&format!("SELECT * FROM plain{n}"));
    }
    let of_open = c.rows(list);
    drop(c);
    db.reopen();
    let mut c = db.client();
    let before = open(&mut c);
    assert_eq!(c.rows(list), of_open);
    // Those with partitions, which are opened.
    assert!(open(&mut c) <= before + 4, "{} and {before}", open(&mut c));
    let rows: Vec<&String> = of_open
        .iter()
        .filter(|r| !r.starts_with("plain1"))
        .collect();
    assert!(
        rows.iter().any(|r| r.starts_with("counted|2|86|0|0|10")),
        "{rows:?}"
    );
    assert!(
        rows.iter()
            .any(|r| r.starts_with("counted_empty|0|0|0|0|1")),
        "{rows:?}"
    );
    assert!(
        rows.iter()
            .any(|r| r.starts_with("counted_from|0|0|0|0|50")),
        "{rows:?}"
    );
    assert!(
        rows.iter().any(|r| r.starts_with("plain3|2|94|72|0|NULL")),
        "{rows:?}"
    );
}
