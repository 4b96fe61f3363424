//! What an account that may do nothing is told: of what it may not see neither that it is there nor what else is.

use crate::support::{Client, TestDb};

/// Everything here has `hidden` in its name.
const HIDDEN: &[&str] = &[
    "CREATE DATABASE hidden_d",
    "CREATE DATABASE own",
    "CREATE TABLE hidden_d.hidden_t (hidden_a INT PRIMARY KEY, hidden_b INT, KEY hidden_k (hidden_b), CONSTRAINT hidden_ck CHECK (hidden_b < 100))",
    "CREATE TABLE hidden_d.hidden_u (hidden_c INT, CONSTRAINT hidden_fk FOREIGN KEY (hidden_c) REFERENCES hidden_d.hidden_t (hidden_a))",
    "CREATE TABLE hidden_d.hidden_p (hidden_a INT) PARTITION BY HASH (hidden_a) PARTITIONS 2",
    "INSERT INTO hidden_d.hidden_t VALUES (1, 2)",
    "CREATE VIEW hidden_d.hidden_v AS SELECT hidden_a FROM hidden_d.hidden_t",
    "CREATE TRIGGER hidden_d.hidden_tr BEFORE INSERT ON hidden_d.hidden_t FOR EACH ROW SET NEW.hidden_b = 1",
    "CREATE PROCEDURE hidden_d.hidden_q() SELECT hidden_a FROM hidden_d.hidden_t",
    "CREATE FUNCTION hidden_d.hidden_f() RETURNS INT RETURN 1",
    "CREATE USER hidden_user@localhost",
    "CREATE ROLE hidden_role",
    "GRANT SELECT (hidden_a) ON hidden_d.hidden_t TO hidden_user@localhost",
    "GRANT hidden_role TO hidden_user@localhost",
    "CREATE USER stranger@localhost, owner@localhost",
    "GRANT ALL ON own.* TO owner@localhost",
];

/// Statements about `{d}`, a database, and `{d}.{t}`: the same is said of those that are there and of those that are not.
const ASKED: &[&str] = &[
    "USE {d}",
    "SELECT * FROM {d}.{t}",
    "SELECT hidden_a FROM {d}.{t}",
    "SELECT nothing FROM {d}.{t}",
    "SELECT (SELECT MAX(hidden_a) FROM {d}.{t})",
    "SELECT 1 FROM {d}.{t} x JOIN {d}.{t} y USING (hidden_a)",
    "WITH c AS (SELECT * FROM {d}.{t}) SELECT * FROM c",
    "INSERT INTO {d}.{t} VALUES (1)",
    "INSERT INTO {d}.{t} (nothing) VALUES (1)",
    "INSERT INTO {d}.{t} SELECT * FROM {d}.{t}",
    "REPLACE INTO {d}.{t} VALUES (1, 1)",
    "UPDATE {d}.{t} SET hidden_b = 1",
    "UPDATE {d}.{t} SET nothing = 1",
    "UPDATE {d}.{t} x, {d}.{t} y SET x.hidden_b = 1",
    "DELETE FROM {d}.{t}",
    "DELETE FROM {d}.{t} WHERE hidden_a = 1",
    "DELETE x FROM {d}.{t} x",
    "TRUNCATE {d}.{t}",
    "DROP TABLE {d}.{t}",
    "DROP TABLE IF EXISTS {d}.{t}",
    "DROP VIEW {d}.{t}",
    "DROP DATABASE {d}",
    "ALTER DATABASE {d} CHARACTER SET utf8mb4",
    "ALTER TABLE {d}.{t} ADD x INT",
    "ALTER TABLE {d}.{t} DROP hidden_b",
    "RENAME TABLE {d}.{t} TO {d}.other",
    "CREATE TABLE {d}.{t} (a INT)",
    "CREATE TABLE IF NOT EXISTS {d}.{t} (a INT)",
    "CREATE TABLE own.x LIKE {d}.{t}",
    "CREATE TABLE own.x AS SELECT * FROM {d}.{t}",
    "CREATE TABLE own.x (a INT, FOREIGN KEY (a) REFERENCES {d}.{t} (hidden_a))",
    "CREATE VIEW own.x AS SELECT * FROM {d}.{t}",
    "CREATE VIEW {d}.{t} AS SELECT 1",
    "CREATE TRIGGER own.x BEFORE INSERT ON {d}.{t} FOR EACH ROW SET @a = 1",
    "CREATE TRIGGER {d}.x BEFORE INSERT ON {d}.{t} FOR EACH ROW SET @a = 1",
    "CREATE INDEX x ON {d}.{t} (hidden_b)",
    "DROP INDEX hidden_k ON {d}.{t}",
    "LOCK TABLES {d}.{t} READ",
    "HANDLER {d}.{t} OPEN",
    "CHECK TABLE {d}.{t}",
    "ANALYZE TABLE {d}.{t}",
    "OPTIMIZE TABLE {d}.{t}",
    "CHECKSUM TABLE {d}.{t}",
    "LOAD DATA INFILE 'x' INTO TABLE {d}.{t}",
    "EXPLAIN SELECT * FROM {d}.{t}",
    "DESCRIBE {d}.{t}",
    "SHOW TABLES FROM {d}",
    "SHOW TABLE STATUS FROM {d}",
    "SHOW TRIGGERS FROM {d}",
    "SHOW CREATE DATABASE {d}",
    "SHOW CREATE TABLE {d}.{t}",
    "SHOW CREATE VIEW {d}.{t}",
    "SHOW COLUMNS FROM {d}.{t}",
    "SHOW INDEX FROM {d}.{t}",
    "PREPARE s FROM 'SELECT * FROM {d}.{t}'",
    "DO (SELECT COUNT(*) FROM {d}.{t})",
    "SET @a = (SELECT hidden_a FROM {d}.{t})",
    "GRANT SELECT ON {d}.{t} TO stranger@localhost",
    "GRANT SELECT ON {d}.* TO stranger@localhost",
    "CREATE PROCEDURE {d}.x() SELECT 1",
];

/// Where names are of something else: `{n}`.
const NAMED: &[(&str, &str)] = &[
    ("DROP TRIGGER hidden_d.{n}", "hidden_tr"),
    ("DROP TRIGGER IF EXISTS hidden_d.{n}", "hidden_tr"),
    ("SHOW CREATE TRIGGER hidden_d.{n}", "hidden_tr"),
    ("SHOW CREATE PROCEDURE hidden_d.{n}", "hidden_q"),
    ("SHOW CREATE FUNCTION hidden_d.{n}", "hidden_f"),
    ("SHOW GRANTS FOR {n}@localhost", "hidden_user"),
    ("SHOW CREATE USER {n}@localhost", "hidden_user"),
    ("DROP USER {n}@localhost", "hidden_user"),
    ("ALTER USER {n}@localhost IDENTIFIED BY 'x'", "hidden_user"),
    ("SET PASSWORD FOR {n}@localhost = 'x'", "hidden_user"),
    ("RENAME USER {n}@localhost TO x@localhost", "hidden_user"),
    ("GRANT {n} TO stranger@localhost", "hidden_role"),
    ("REVOKE {n} FROM hidden_user@localhost", "hidden_role"),
    ("DROP ROLE {n}", "hidden_role"),
    ("SET ROLE {n}", "hidden_role"),
    (
        "CREATE VIEW own.x AS SELECT * FROM hidden_d.{n}",
        "hidden_v",
    ),
    (
        "CREATE DEFINER = {n}@localhost VIEW own.x AS SELECT 1",
        "hidden_user",
    ),
];

fn said(c: &mut Client, sql: &str) -> String {
    match c.run(sql) {
        Ok(answers) => format!("{answers:?}"),
        Err(e) => format!("{}: {}", e.code, e.message),
    }
}

#[test]
fn what_is_there_is_as_what_is_not() {
    let db = TestDb::new();
    let mut root = db.raw();
    HIDDEN.iter().for_each(|sql| drop(root.ok(sql)));
    let mut different = Vec::new();
    for who in ["stranger", "owner"] {
        let mut c = db.user(who).unwrap();
        for sql in ASKED {
            let of = |c: &mut Client, d: &str, t: &str| {
                let text = said(c, &sql.replace("{d}", d).replace("{t}", t));
                // What the statement itself has named tells nothing.
                text.replace(d, "{d}").replace(t, "{t}")
            };
            let there = of(&mut c, "hidden_d", "hidden_t");
            for (d, t) in [("hidden_d", "missing_t"), ("missing_d", "missing_t")] {
                let missing = of(&mut c, d, t);
                if there != missing {
                    different.push(format!("{who}: {sql}\n  {there}\n  {missing}"));
                }
            }
        }
        for (sql, name) in NAMED {
            let of = |c: &mut Client, n: &str| said(c, &sql.replace("{n}", n)).replace(n, "{n}");
            let (there, missing) = (of(&mut c, name), of(&mut c, "missing"));
            if there != missing {
                different.push(format!("{who}: {sql}\n  {there}\n  {missing}"));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn no_table_of_the_system_tells_hidden_names() {
    let db = TestDb::new();
    let mut root = db.raw();
    HIDDEN.iter().for_each(|sql| drop(root.ok(sql)));
    // A session that has just said such names is shown to others nowhere.
    root.ok("SELECT hidden_a AS hidden_alias FROM hidden_d.hidden_t");
    let tables = root.rows(
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES
         WHERE TABLE_SCHEMA IN ('information_schema', 'performance_schema', 'mysql', 'sys')",
    );
    assert!(tables.len() > 60, "{}", tables.len());
    let mut queries: Vec<String> = tables
        .iter()
        .map(|t| format!("SELECT * FROM {t}"))
        .collect();
    let shows = [
        "DATABASES",
        "PROCESSLIST",
        "OPEN TABLES",
        "GRANTS",
        "PROCEDURE STATUS",
        "FUNCTION STATUS",
        "EVENTS FROM own",
        "STATUS",
        "ENGINE INNODB STATUS",
    ];
    queries.extend(shows.map(|what| format!("SHOW {what}")));
    let mut told = Vec::new();
    for who in ["stranger", "owner"] {
        let mut c = db.user(who).unwrap();
        for sql in &queries {
            let answer = said(&mut c, sql);
            if answer.contains("hidden") {
                told.push(format!("{who}: {sql}: {answer}"));
            }
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}
