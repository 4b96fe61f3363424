//! System variables: reading, setting, refusing; what connections ask for.

use millpond_session::ConnectionInfo;

use crate::support::{Client, TestDb};

#[test]
fn variables_are_read_and_set() {
    let db = TestDb::new();
    let mut c = db.client();
    assert_eq!(c.one("SELECT @@autocommit"), "1");
    assert!(c.one("SELECT @@version").starts_with("8.0."));
    assert!(c.one("SELECT @@version").contains("-millpond-"));
    c.ok("SET autocommit = OFF");
    assert_eq!(
        c.one("SELECT @@session.autocommit, @@global.autocommit"),
        "0|1"
    );
    assert_eq!(
        c.rows("SHOW VARIABLES LIKE 'autocommit'"),
        ["autocommit|OFF"]
    );
    assert_eq!(
        c.rows("SHOW GLOBAL VARIABLES WHERE Variable_name = 'autocommit'"),
        ["autocommit|ON"]
    );
    c.ok("SET autocommit = DEFAULT");
    c.ok("SET @old = @@sql_mode, sql_mode = 'ANSI_QUOTES'");
    assert_eq!(c.one("SELECT \"x\" FROM (SELECT 1 AS x) AS d"), "1");
    c.ok("SET sql_mode = @old");
    assert_eq!(c.one("SELECT \"x\""), "x");
    c.ok("SET NAMES utf8mb4 COLLATE utf8mb4_bin");
    assert_eq!(
        c.one("SELECT @@collation_connection, 'a' = 'A'"),
        "utf8mb4_bin|0"
    );
    c.ok("SET NAMES utf8");
    assert_eq!(
        c.one("SELECT @@character_set_client, 'a' = 'A'"),
        "utf8mb3|1"
    );
    c.ok("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY");
    assert_eq!(
        c.one("SELECT @@transaction_isolation, @@tx_isolation, @@transaction_read_only"),
        "READ-COMMITTED|READ-COMMITTED|1"
    );
    c.ok("SET time_zone = '+03:00'");
    c.ok("SET timestamp = 1000000000.25");
    assert_eq!(c.one("SELECT NOW(2)"), "2001-09-09 04:46:40.25");
}

/// Numbers have K, M and the like behind them at start, as mysqld's options do, and nowhere else.
#[test]
fn numbers_with_units_at_start() {
    let db = TestDb::with(&[
        ("temptable_max_ram", "512M"),
        ("innodb-ddl-buffer-size", "1024k"),
        ("innodb_sort_buffer_size", "2m"),
        ("long_query_time", "2.5"),
    ]);
    let mut c = db.client();
    assert_eq!(
        c.one("SELECT @@temptable_max_ram, @@innodb_ddl_buffer_size, @@innodb_sort_buffer_size, @@long_query_time"),
        "536870912|1048576|2097152|2.5"
    );
    assert_eq!(c.code("SET GLOBAL temptable_max_ram = '1G'"), 1232);
    let wrong = [
        ("temptable_max_ram", "512X"),
        ("temptable_max_ram", "M"),
        ("temptable_max_ram", "99999999999999T"),
        ("long_query_time", "1K"),
    ];
    for (name, text) in wrong {
        let refused = millpond_session::Instance::open(millpond_session::InstanceOptions {
            path: db.path.join("another"),
            store: Default::default(),
            variables: vec![(name.into(), text.into())],
        });
        let e = refused.err().expect("no number");
        assert_eq!(e.code, 1232, "{text}: {}", e.message);
    }
}

/// A shared data file of a fixed length: where it ends, the disk is full, and what is dropped makes room.
#[test]
fn a_data_file_of_a_fixed_length() {
    let db = TestDb::with(&[("innodb_data_file_path", "data:6M")]);
    let mut c = db.client();
    assert_eq!(c.one("SELECT @@innodb_data_file_path"), "data:6M");
    c.ok("SET GLOBAL innodb_file_per_table = OFF");
    let full = "SELECT TOTAL_EXTENTS * EXTENT_SIZE, FREE_EXTENTS > 0 FROM information_schema.FILES WHERE TABLESPACE_NAME = 'innodb_system'";
    assert_eq!(c.one(full), "6291456|1");
    for _ in 0..2 {
        c.ok("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s MEDIUMTEXT)");
        let insert = "INSERT INTO t (s) VALUES (REPEAT('x', 100000)), (REPEAT('y', 100000))";
        let mut rows = 0;
        while c.run(insert).is_ok() {
            rows += 2;
        }
        assert_eq!(c.code(insert), 1114);
        assert!((20..60).contains(&rows), "{rows}");
        assert_eq!(c.one("SELECT COUNT(*) FROM t"), rows.to_string());
        c.ok("DROP TABLE t");
    }
    assert_eq!(c.one(full), "6291456|1");
    let wrong = millpond_session::Instance::open(millpond_session::InstanceOptions {
        path: db.path.join("another"),
        store: Default::default(),
        variables: vec![("innodb_data_file_path".into(), "/dev/null:0newraw".into())],
    });
    let e = wrong.err().expect("no block device");
    assert!(e.message.contains("no block device"), "{}", e.message);
}

#[test]
fn the_drop_algorithm_has_two_variables() {
    let start = [("millpond_drop_algorithm", "FLUSH_LIST")];
    let db = TestDb::with(&start);
    let mut c = db.client();
    let both = "SELECT @@millpond_drop_algorithm, @@innodb_lazy_drop_table";
    assert_eq!(c.one(both), "flush_list|0");
    for (set, then) in [
        ("millpond_drop_algorithm = 'full_scan'", "full_scan|0"),
        ("innodb_lazy_drop_table = OFF", "full_scan|0"),
        ("innodb_lazy_drop_table = 1", "lazy_mark|1"),
        ("innodb_lazy_drop_table = 0", "millpond|0"),
        ("millpond_drop_algorithm = lazy_mark", "lazy_mark|1"),
        ("millpond_drop_algorithm = cleaner", "cleaner|0"),
        ("innodb_lazy_drop_table = ON", "lazy_mark|1"),
        ("millpond_drop_algorithm = stale", "stale|0"),
        ("millpond_drop_algorithm = DEFAULT", "millpond|0"),
    ] {
        c.ok(&format!("SET GLOBAL {set}"));
        assert_eq!(c.one(both), then, "after {set}");
        let shown = c.rows("SHOW VARIABLES WHERE Variable_name LIKE '%drop_%'");
        let (algorithm, lazy) = then.split_once('|').unwrap();
        let lazy = if lazy == "1" { "ON" } else { "OFF" };
        assert_eq!(
            shown,
            [
                format!("innodb_lazy_drop_table|{lazy}"),
                format!("millpond_drop_algorithm|{algorithm}")
            ]
        );
        // Whatever is chosen, tables go.
        c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b))");
        c.ok("INSERT INTO t VALUES (1, 2), (3, 4)");
        c.ok("TRUNCATE TABLE t");
        assert_eq!(c.one("SELECT COUNT(*) FROM t"), "0");
        c.ok("INSERT INTO t VALUES (5, 6)");
        c.ok("DROP INDEX b ON t");
        c.ok("DROP TABLE t");
        c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
        c.ok("DROP TABLE t");
    }
    let lazy = TestDb::with(&[start[0], ("innodb_lazy_drop_table", "1")]);
    assert_eq!(lazy.client().one(both), "lazy_mark|1");
}

#[test]
fn wrong_settings_are_refused() {
    let db = TestDb::new();
    let mut c = db.client();
    for (sql, code) in [
        ("SET no_such = 1", 1193),
        ("SELECT @@no_such", 1193),
        ("SET version = 'x'", 1238),
        ("SET GLOBAL port = 3307", 1238),
        ("SET millpond_drop_algorithm = stale", 1229),
        ("SET GLOBAL millpond_drop_algorithm = eager", 1231),
        ("SET SESSION max_connections = 10", 1229),
        ("SET GLOBAL timestamp = 1", 1228),
        ("SELECT @@session.max_connections", 1238),
        ("SET autocommit = 2", 1231),
        ("SET autocommit = 1.5", 1232),
        ("SET wait_timeout = 'x'", 1232),
        ("SET sql_mode = 'NOPE'", 1231),
        ("SET big_tables = 1", 1235),
        ("SET max_allowed_packet = 1024", 1621),
        ("SET time_zone = 'Mars/Olympus'", 1298),
        ("SET NAMES gb18030", 1115),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_klingon_ci", 1273),
        ("SET NAMES binary COLLATE utf8mb4_bin", 1253),
        ("SET PERSIST timestamp = 1", 1228),
    ] {
        assert_eq!(c.code(sql), code, "{sql}");
    }
    c.ok("SET sql_safe_updates = 0, max_execution_time = 0");
    c.ok("SET sql_mode = 'STRICT_ALL_TABLES'");
    assert_eq!(c.code("SET wait_timeout = 0"), 1231);
    c.ok("SET sql_mode = DEFAULT");
    let set = c.ok("SET wait_timeout = 0");
    assert_eq!(set.done.warnings, 1);
    assert_eq!(
        c.warnings(),
        ["Warning 1292 Truncated incorrect wait_timeout value: '0'"]
    );
    assert_eq!(c.one("SELECT @@wait_timeout"), "1");
}

#[test]
fn every_way_to_set_a_variable_is_told() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("PREPARE p FROM 'SET wait_timeout = 6'");
    for sql in [
        "/* app */ SET wait_timeout = 5",
        "SELECT 1; SET net_read_timeout = 5",
        "/*!40101 SET net_write_timeout = 5 */",
        "EXECUTE p",
    ] {
        let before = c.0.settings_generation();
        c.ok("SELECT 1");
        assert_eq!(c.0.settings_generation(), before);
        c.ok(sql);
        assert_ne!(c.0.settings_generation(), before, "{sql}");
    }
    assert_eq!(c.0.wait_timeout(), 6);
}

#[test]
fn a_client_gets_the_character_set_it_asks_for_or_an_error() {
    let db = TestDb::new();
    let connect = |collation_id| {
        db.instance().connect(ConnectionInfo {
            user: "root".into(),
            collation_id,
            ..ConnectionInfo::default()
        })
    };
    for (id, client) in [
        (8, "latin1"),
        (11, "ascii"),
        (33, "utf8mb3"),
        (255, "utf8mb4"),
        (0, "utf8mb4"),
    ] {
        let mut c = Client(connect(id).unwrap());
        let sets = c.one("SELECT @@character_set_client, @@character_set_results");
        assert_eq!(sets, format!("{client}|{client}"), "{id}");
    }
    // gb18030
    assert_eq!(connect(248).err().unwrap().code, 1115);
    let mut c = db.client();
    assert_eq!(c.code("SET NAMES gb18030"), 1115);
    assert_eq!(c.code("SET character_set_connection = gb18030"), 1115);
    assert_eq!(
        c.code("CREATE TABLE t (a VARCHAR(9) CHARACTER SET gb18030)"),
        1115
    );
}

#[test]
fn the_limit_of_connections_holds_whenever_it_is_set() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET GLOBAL max_connections = 200");
    assert_eq!(db.instance().limit_connections(100), Some(200));
    assert_eq!(c.one("SELECT @@max_connections"), "100");
    assert_eq!(db.instance().limit_connections(120), None);
    for asked in ["5000", "DEFAULT"] {
        c.ok("SET GLOBAL max_connections = 100");
        c.ok(&format!("SET GLOBAL max_connections = {asked}"));
        let warned = c.one("SHOW WARNINGS");
        assert!(
            warned.starts_with("Warning|1292|Truncated incorrect max_connections value: '"),
            "{warned}"
        );
        assert_eq!(c.one("SELECT @@max_connections"), "120");
    }
    c.ok("SET sql_mode = 'STRICT_ALL_TABLES'");
    assert_eq!(c.code("SET GLOBAL max_connections = 121"), 1231);
    c.ok("SET GLOBAL max_connections = 120");
    c.ok("SET GLOBAL max_connections = 20");
}

#[test]
fn careful_clients_are_heeded() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, KEY (k))");
    c.ok("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)");
    c.ok("SET sql_safe_updates = 1, sql_select_limit = 2, max_join_size = 1000000");
    for sql in [
        "UPDATE t SET v = 0",
        "UPDATE t SET v = 0 WHERE v = 1",
        "DELETE FROM t",
        "DELETE a FROM t a JOIN t b ON b.id = a.v",
    ] {
        assert_eq!(c.code(sql), 1175, "{sql}");
    }
    for sql in [
        "UPDATE t SET v = 0 LIMIT 1",
        "UPDATE t SET v = v WHERE k = 1",
        "DELETE FROM t WHERE id = 9",
        "UPDATE t a JOIN t b ON b.id = 1 SET a.v = 5 WHERE a.id = 2",
    ] {
        c.ok(sql);
    }
    // Only what is sent is limited, and only if the statement says nothing itself.
    assert_eq!(c.rows("SELECT id FROM t ORDER BY id DESC"), ["3", "2"]);
    assert_eq!(c.rows("SELECT id FROM t UNION ALL SELECT 9").len(), 2);
    assert_eq!(c.rows("SELECT id FROM t LIMIT 3").len(), 3);
    assert_eq!(c.one("SELECT COUNT(*) FROM (SELECT id FROM t) d"), "3");
    assert_eq!(c.rows("SELECT SQL_CALC_FOUND_ROWS id FROM t").len(), 2);
    assert_eq!(c.one("SELECT FOUND_ROWS()"), "3");
    assert!(c.rows("SHOW VARIABLES LIKE 'innodb%'").len() > 2);
    c.ok("CREATE TABLE copy SELECT * FROM t");
    c.ok("INSERT INTO copy SELECT * FROM t");
    assert_eq!(c.one("SELECT COUNT(*) FROM copy"), "6");
    c.ok("SET sql_select_limit = 0");
    assert!(c.rows("SELECT id FROM t").is_empty());
    c.ok("SET sql_select_limit = DEFAULT, max_join_size = 5");
    assert_eq!(c.one("SELECT @@sql_big_selects"), "0");
    assert_eq!(c.code("SELECT * FROM t a, t b WHERE a.v < b.v"), 1104);
    c.ok("SELECT * FROM t WHERE id = 1");
    c.ok("SET sql_big_selects = 1");
    c.ok("SELECT * FROM t a, t b WHERE a.v < b.v");
}

/// MySQL 8's mysqldump, and its dumps.
#[test]
fn what_dumps_set_is_taken() {
    let db = TestDb::new();
    let mut c = db.client();
    for sql in [
        "/*!80018 SET SESSION show_create_table_skip_secondary_engine=1 */",
        "SET SESSION show_gipk_in_create_table_and_information_schema = OFF",
        "/*!80000 SET SESSION information_schema_stats_expiry=0 */",
        "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN",
        "SET @@SESSION.SQL_LOG_BIN= 0",
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ ''",
        "SET @@GLOBAL.GTID_PURGED=''",
        "SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN",
    ] {
        c.ok(sql);
    }
    assert_eq!(c.one("SELECT @@gtid_purged"), "");
    let gtids = "SET @@GLOBAL.GTID_PURGED='+3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5'";
    assert_eq!(c.code(gtids), 1235);
}

/// Tables that plans refer to stay open beyond it; the others don't.
#[test]
fn table_definition_cache_says_how_many_tables_stay_open() {
    let db = TestDb::with(&[("table_definition_cache", "500")]);
    let mut c = db.client();
    assert_eq!(c.one("SELECT @@table_definition_cache"), "500");
    for n in 0..900 {
        c.ok(&format!("CREATE TABLE t{n} (a INT PRIMARY KEY)"));
    }
    let open = |c: &mut Client| -> u64 {
        for n in 0..900 {
            // A statement that no plan is kept of.
            c.ok(&format!("CHECKSUM TABLE t{n}"));
        }
        let open = c.rows("SHOW GLOBAL STATUS LIKE 'Millpond_open_tables'");
        open[0].split('|').nth(1).unwrap().parse().unwrap()
    };
    let first = open(&mut c);
    assert!((300..=500).contains(&first), "{first}");
    c.ok("SET GLOBAL table_definition_cache = 400");
    let then = open(&mut c);
    assert!((200..=400).contains(&then), "{then}");
    assert_eq!(c.code("SET SESSION table_definition_cache = 400"), 1229);
}
