//! Accounts beyond what clients meet (`server/tests/accounts.rs`): writing through views, limits, roles that everybody has, partial revokes.

use crate::support::{Client, TestDb};

fn run(c: &mut Client, statements: &[&str]) {
    for sql in statements {
        c.ok(sql);
    }
}

/// Statements and the errors that they end with; 0: none.
#[track_caller]
fn expect(c: &mut Client, cases: &[(&str, u16)]) {
    for (sql, wanted) in cases {
        let ended = c
            .run(sql)
            .map_or_else(|e| (e.code, e.message), |_| (0, String::new()));
        assert_eq!(ended.0, *wanted, "{sql}: {}", ended.1);
    }
}

#[test]
fn inserting_through_views_takes_insert_below() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT, c INT)",
            "CREATE TABLE d.u (a INT PRIMARY KEY, b INT)",
            "CREATE SQL SECURITY INVOKER VIEW d.v AS SELECT a, b FROM d.t",
            "CREATE SQL SECURITY INVOKER VIEW d.w AS SELECT a AS x, b AS y FROM d.v",
            "CREATE SQL SECURITY INVOKER VIEW d.j AS SELECT t.a, u.b FROM d.t JOIN d.u ON t.a = u.a",
            "CREATE USER i@localhost, c@localhost, n@localhost, u@localhost, r@localhost",
            "GRANT INSERT ON d.v TO i@localhost, c@localhost, n@localhost, u@localhost, r@localhost",
            "GRANT INSERT ON d.w TO i@localhost, c@localhost",
            "GRANT INSERT ON d.t TO i@localhost, r@localhost",
            "GRANT INSERT (a, b) ON d.t TO c@localhost",
            "GRANT INSERT, UPDATE ON d.t TO u@localhost",
            "GRANT UPDATE, SELECT ON d.v TO u@localhost",
            "GRANT DELETE ON d.v TO r@localhost",
            "GRANT INSERT ON d.j TO i@localhost",
        ],
    );
    let mut i = db.user("i").unwrap();
    expect(
        &mut i,
        &[
            ("INSERT INTO d.v VALUES (1, 1)", 0),
            ("INSERT INTO d.v (a) VALUES (2)", 0),
            ("INSERT INTO d.v SET a = 3", 0),
            ("INSERT INTO d.w (x, y) VALUES (4, 4)", 0),
            (
                "INSERT INTO d.v (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 2",
                1142,
            ),
            ("REPLACE INTO d.v VALUES (1, 1)", 1142),
            ("SELECT a FROM d.v", 1142),
            // The other table of the join is read.
            ("INSERT INTO d.j (a) VALUES (9)", 1356),
        ],
    );
    let mut c = db.user("c").unwrap();
    expect(
        &mut c,
        &[
            ("INSERT INTO d.v VALUES (5, 1)", 0),
            ("INSERT INTO d.w (x) VALUES (6)", 0),
        ],
    );
    root.ok("REVOKE INSERT (b) ON d.t FROM c@localhost");
    expect(
        &mut c,
        &[
            ("INSERT INTO d.v (a) VALUES (7)", 0),
            ("INSERT INTO d.v VALUES (8, 1)", 1356),
        ],
    );
    expect(
        &mut db.user("n").unwrap(),
        &[("INSERT INTO d.v VALUES (10, 1)", 1356)],
    );
    expect(
        &mut db.user("u").unwrap(),
        &[
            (
                "INSERT INTO d.v (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 2",
                0,
            ),
            // The old value is read below.
            (
                "INSERT INTO d.v (a) VALUES (1) ON DUPLICATE KEY UPDATE b = b + 1",
                1356,
            ),
        ],
    );
    expect(
        &mut db.user("r").unwrap(),
        &[("REPLACE INTO d.v VALUES (1, 1)", 1356)],
    );
    assert_eq!(root.one("SELECT COUNT(*) FROM d.t"), "7");
}

#[test]
fn what_is_read_besides_is_denied_by_column() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)",
            "CREATE USER w@localhost",
            "GRANT DELETE, UPDATE ON d.t TO w@localhost",
        ],
    );
    let mut w = db.user("w").unwrap();
    expect(
        &mut w,
        &[
            ("DELETE FROM d.t", 0),
            ("UPDATE d.t SET b = 1", 0),
            ("DELETE FROM d.t WHERE a = 1", 1143),
            ("DELETE FROM d.t ORDER BY b LIMIT 1", 1143),
            ("UPDATE d.t SET b = a", 1143),
            ("UPDATE d.t SET b = 1 WHERE a = 1", 1143),
            ("DELETE x FROM d.t x JOIN d.t y ON x.a = y.a", 1142),
            ("SELECT a FROM d.t", 1142),
            // The table that is only read is asked for before columns of either.
            ("UPDATE d.t x JOIN d.t y ON x.a = y.a SET x.b = 1", 1142),
        ],
    );
    // Whether there is a column is said to who may read all of them.
    root.ok("GRANT SELECT (a) ON d.t TO w@localhost");
    expect(
        &mut w,
        &[
            ("SELECT a FROM d.t", 0),
            ("SELECT b FROM d.t", 1143),
            ("SELECT missing FROM d.t", 1143),
            ("SELECT x.missing FROM d.t x", 1143),
            ("SELECT a FROM d.t ORDER BY missing", 1143),
        ],
    );
    root.ok("GRANT SELECT ON d.t TO w@localhost");
    expect(&mut w, &[("SELECT missing FROM d.t", 1054)]);
    root.ok("REVOKE SELECT ON d.t FROM w@localhost");
    let e = w.err("DELETE FROM d.t WHERE a = 1");
    assert_eq!(
        e.message,
        "SELECT command denied to user 'w'@'localhost' for column 'a' in table 't'"
    );
}

#[test]
fn limits_of_an_hour() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE USER u@localhost WITH MAX_QUERIES_PER_HOUR 4 MAX_UPDATES_PER_HOUR 1 MAX_USER_CONNECTIONS 1",
            "GRANT SELECT, INSERT ON d.t TO u@localhost",
        ],
    );
    assert_eq!(
        root.one("SELECT CONCAT_WS(',', max_questions, max_updates, max_connections, max_user_connections) FROM mysql.user WHERE User = 'u'"),
        "4,1,0,1"
    );
    let shown = root.one("SHOW CREATE USER u@localhost");
    assert!(
        shown.contains(
            " WITH MAX_QUERIES_PER_HOUR 4 MAX_UPDATES_PER_HOUR 1 MAX_USER_CONNECTIONS 1 PASSWORD"
        ),
        "{shown}"
    );
    let mut u = db.user("u").unwrap();
    let second = db.user("u").err().map(|e| (e.code, e.message));
    let text = "User 'u' has exceeded the 'max_user_connections' resource (current value: 1)";
    assert_eq!(second, Some((1226, text.into())));
    expect(
        &mut u,
        &[
            ("INSERT INTO d.t VALUES (1)", 0),
            ("INSERT INTO d.t VALUES (1)", 1226),
            ("SELECT 1", 0),
            ("SELECT 1", 0),
            ("SELECT 1", 1226),
        ],
    );
    root.ok("FLUSH USER_RESOURCES");
    expect(&mut u, &[("INSERT INTO d.t VALUES (1)", 0)]);
    drop(u);
    // What was set is kept, and anew from the next connection on.
    root.ok("ALTER USER u@localhost WITH MAX_QUERIES_PER_HOUR 1 MAX_CONNECTIONS_PER_HOUR 1 MAX_USER_CONNECTIONS 0");
    let mut u = db.user("u").unwrap();
    expect(&mut u, &[("SELECT 1", 0), ("SELECT 1", 1226)]);
    assert_eq!(db.user("u").err().map(|e| e.code), Some(1226));
    // The variable is for accounts without a limit of their own, and not for administrators.
    root.ok("CREATE USER v@localhost");
    root.ok("SET GLOBAL max_user_connections = 1");
    let _v = db.user("v").unwrap();
    assert_eq!(db.user("v").err().map(|e| e.code), Some(1203));
    root.ok("GRANT CONNECTION_ADMIN ON *.* TO v@localhost");
    db.user("v").unwrap();
    assert_eq!(root.code("SET SESSION max_user_connections = 2"), 1621);
}

#[test]
fn limits_survive_restarts() {
    let mut db = TestDb::new();
    let mut root = db.raw();
    root.ok("CREATE USER u@localhost REQUIRE SUBJECT '/CN=u' ISSUER '/CN=ca' WITH MAX_UPDATES_PER_HOUR 3");
    let shown = root.one("SHOW CREATE USER u@localhost");
    assert!(
        shown.contains("REQUIRE SUBJECT '/CN=u' ISSUER '/CN=ca' WITH MAX_UPDATES_PER_HOUR 3"),
        "{shown}"
    );
    drop(root);
    db.reopen();
    assert_eq!(db.raw().one("SHOW CREATE USER u@localhost"), shown);
    assert_eq!(
        db.raw().one("SELECT CONCAT_WS(',', ssl_type, x509_issuer, x509_subject) FROM mysql.user WHERE User = 'u'"),
        "SPECIFIED,/CN=ca,/CN=u"
    );
    // Nobody has a certificate here.
    assert_eq!(db.user("u").err().map(|e| e.code), Some(1045));
}

#[test]
fn roles_that_everybody_has() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE ROLE reader, 'far'@'%', own",
            "GRANT SELECT ON d.t TO reader",
            "CREATE USER u@localhost",
            "GRANT own TO u@localhost",
            "SET GLOBAL mandatory_roles = '`reader`, ''far''@''%'', missing'",
        ],
    );
    let mut u = db.user("u").unwrap();
    assert_eq!(u.code("SELECT a FROM d.t"), 1142);
    assert_eq!(
        u.rows("SHOW GRANTS").last().unwrap(),
        "GRANT `far`@`%`,`own`@`%`,`reader`@`%` TO `u`@`localhost`"
    );
    run(&mut u, &["SET ROLE reader", "SELECT a FROM d.t"]);
    assert_eq!(u.one("SELECT CURRENT_ROLE()"), "`reader`@`%`");
    assert_eq!(
        u.rows(
            "SELECT ROLE_NAME, IS_MANDATORY FROM information_schema.APPLICABLE_ROLES ORDER BY 1"
        ),
        ["far|YES", "own|NO", "reader|YES"]
    );
    assert_eq!(
        u.rows("SELECT ROLE_NAME, IS_MANDATORY FROM information_schema.ENABLED_ROLES"),
        ["reader|YES"]
    );
    expect(
        &mut root,
        &[
            ("REVOKE reader FROM u@localhost", 3628),
            ("DROP ROLE reader", 3628),
            ("SET GLOBAL mandatory_roles = 'a b'", 1231),
            ("SET GLOBAL mandatory_roles = 'NONE'", 1231),
            ("SET GLOBAL activate_all_roles_on_login = ON", 0),
        ],
    );
    let mut u = db.user("u").unwrap();
    assert_eq!(
        u.one("SELECT CURRENT_ROLE()"),
        "`far`@`%`,`own`@`%`,`reader`@`%`"
    );
    u.ok("SET ROLE NONE");
    u.0.reset().unwrap();
    u.ok("SELECT a FROM d.t");
    root.ok("SET GLOBAL mandatory_roles = ''");
    assert_eq!(u.code("SELECT a FROM d.t"), 1142);
}

#[test]
fn what_roles_have_been_granted() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT, b INT)",
            "CREATE PROCEDURE d.p() SELECT 1",
            "CREATE ROLE r",
            "GRANT SELECT, INSERT (b) ON d.t TO r WITH GRANT OPTION",
            "GRANT EXECUTE ON PROCEDURE d.p TO r",
            "CREATE USER u@localhost",
            "GRANT r TO u@localhost WITH ADMIN OPTION",
        ],
    );
    let mut u = db.user("u").unwrap();
    let tables = "SELECT GRANTEE, TABLE_SCHEMA, TABLE_NAME, PRIVILEGE_TYPE, IS_GRANTABLE FROM information_schema.ROLE_TABLE_GRANTS";
    assert!(u.rows(tables).is_empty());
    u.ok("SET ROLE r");
    assert_eq!(u.rows(tables), ["r|d|t|Select,Grant|YES"]);
    assert_eq!(
        u.rows("SELECT TABLE_NAME, COLUMN_NAME, PRIVILEGE_TYPE FROM information_schema.ROLE_COLUMN_GRANTS"),
        ["t|b|Insert"]
    );
    assert_eq!(
        u.rows("SELECT ROUTINE_SCHEMA, ROUTINE_NAME, PRIVILEGE_TYPE, IS_GRANTABLE FROM information_schema.ROLE_ROUTINE_GRANTS"),
        ["d|p|Execute|NO"]
    );
    assert_eq!(
        u.rows("SELECT USER, ROLE_NAME FROM information_schema.ADMINISTRABLE_ROLE_AUTHORIZATIONS"),
        ["u|r"]
    );
}

#[test]
fn partial_revokes() {
    let mut db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE DATABASE e",
            "CREATE TABLE d.t (a INT)",
            "CREATE TABLE e.t (a INT)",
            "CREATE USER u@localhost, w@localhost",
            "GRANT SELECT, INSERT, CREATE USER ON *.* TO u@localhost WITH GRANT OPTION",
        ],
    );
    assert_eq!(root.code("REVOKE INSERT ON d.* FROM u@localhost"), 1141);
    run(
        &mut root,
        &[
            "SET GLOBAL partial_revokes = ON",
            "REVOKE INSERT ON d.* FROM u@localhost",
        ],
    );
    let mut u = db.user("u").unwrap();
    expect(
        &mut u,
        &[
            ("INSERT INTO e.t VALUES (1)", 0),
            ("INSERT INTO d.t VALUES (1)", 1142),
            ("SELECT a FROM d.t", 0),
            // What one hands on is no more than one has.
            ("GRANT INSERT ON *.* TO w@localhost", 0),
            ("GRANT INSERT ON d.* TO w@localhost", 1044),
        ],
    );
    let grants =
        |user: &str, root: &mut Client| root.rows(&format!("SHOW GRANTS FOR {user}@localhost"));
    assert_eq!(
        grants("w", &mut root),
        [
            "GRANT INSERT ON *.* TO `w`@`localhost`",
            "REVOKE INSERT ON `d`.* FROM `w`@`localhost`"
        ]
    );
    assert_eq!(
        root.one("SELECT User_attributes FROM mysql.user WHERE User = 'w'"),
        "{\"Restrictions\": [{\"Database\": \"d\", \"Privileges\": [\"INSERT\"]}]}"
    );
    assert_eq!(root.code("SET GLOBAL partial_revokes = OFF"), 3896);
    drop((root, u));
    db.reopen();
    let mut root = db.raw();
    assert_eq!(root.one("SELECT @@global.partial_revokes"), "1");
    assert_eq!(
        db.user("w").unwrap().code("INSERT INTO d.t VALUES (1)"),
        1142
    );
    run(
        &mut root,
        &[
            "GRANT INSERT ON d.* TO w@localhost",
            "REVOKE INSERT ON *.* FROM u@localhost",
        ],
    );
    assert_eq!(
        grants("w", &mut root),
        ["GRANT INSERT ON *.* TO `w`@`localhost`"]
    );
    db.user("w").unwrap().ok("INSERT INTO d.t VALUES (1)");
    root.ok("SET GLOBAL partial_revokes = OFF");
}

#[test]
fn defaults_of_passwords() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE USER u@localhost IDENTIFIED WITH mysql_native_password BY 'one'",
            "SET GLOBAL password_history = 2",
            "ALTER USER u@localhost IDENTIFIED BY 'two'",
        ],
    );
    assert_eq!(
        root.code("ALTER USER u@localhost IDENTIFIED BY 'one'"),
        3638
    );
    run(
        &mut root,
        &[
            "ALTER USER u@localhost PASSWORD HISTORY 0",
            "ALTER USER u@localhost IDENTIFIED BY 'one'",
            "SET GLOBAL password_reuse_interval = 10",
            "ALTER USER u@localhost IDENTIFIED BY 'three'",
        ],
    );
    assert_eq!(
        root.code("ALTER USER u@localhost IDENTIFIED BY 'one'"),
        3638
    );
    root.ok("SET GLOBAL password_require_current = ON");
    let mut u = db.user("u").unwrap();
    assert_eq!(u.code("ALTER USER USER() IDENTIFIED BY 'four'"), 3892);
    u.ok("ALTER USER USER() IDENTIFIED BY 'four' REPLACE 'three'");
}

#[test]
fn what_commits_implicitly_does_so_before_it_is_denied() {
    let db = TestDb::new();
    let mut root = db.raw();
    let setup = [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT)",
        "CREATE USER i@localhost",
        "GRANT INSERT ON d.* TO i@localhost",
    ];
    run(&mut root, &setup);
    let mut i = db.user("i").unwrap();
    let denied = [
        ("CREATE TABLE d.u (a INT)", 1142),
        ("DROP TABLE d.t", 1142),
        ("CREATE EVENT d.e ON SCHEDULE EVERY 1 DAY DO SELECT 1", 1044),
        ("CREATE USER other@localhost", 1227),
    ];
    for (n, case) in (1..).zip(denied) {
        run(&mut i, &["START TRANSACTION", "INSERT INTO d.t VALUES (1)"]);
        expect(&mut i, &[case, ("ROLLBACK", 0)]);
        assert_eq!(
            root.one("SELECT COUNT(*) FROM d.t"),
            n.to_string(),
            "{}",
            case.0
        );
    }
    // What does not commit is denied, and that is all.
    run(&mut i, &["START TRANSACTION", "INSERT INTO d.t VALUES (1)"]);
    expect(&mut i, &[("SELECT a FROM d.t", 1142), ("ROLLBACK", 0)]);
    assert_eq!(
        root.one("SELECT COUNT(*) FROM d.t"),
        denied.len().to_string()
    );
}

#[test]
fn dropping_a_partition_takes_alter_and_drop() {
    let db = TestDb::new();
    let mut root = db.raw();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT) PARTITION BY LIST (a) (PARTITION p1 VALUES IN (1), PARTITION p2 VALUES IN (2), PARTITION p3 VALUES IN (3))",
            "CREATE USER a@localhost, d@localhost, b@localhost",
            "GRANT ALTER ON d.* TO a@localhost, b@localhost",
            "GRANT DROP ON d.* TO d@localhost, b@localhost",
        ],
    );
    let drop = "ALTER TABLE d.t DROP PARTITION p1";
    expect(&mut db.user("a").unwrap(), &[(drop, 1142)]);
    expect(
        &mut db.user("d").unwrap(),
        &[(drop, 1142), ("ALTER TABLE d.t TRUNCATE PARTITION p2", 0)],
    );
    expect(&mut db.user("b").unwrap(), &[(drop, 0)]);
    // The value that has no partition is said to who may read it.
    root.ok("INSERT INTO d.t VALUES (2)");
    let alter = "ALTER TABLE d.t PARTITION BY LIST (a) (PARTITION p VALUES IN (9))";
    let mut b = db.user("b").unwrap();
    let said = |c: &mut Client| c.run(alter).unwrap_err().message;
    assert_eq!(
        said(&mut b),
        "Table has no partition for some existing values"
    );
    root.ok("GRANT SELECT ON d.* TO b@localhost");
    assert_eq!(said(&mut b), "Table has no partition for value 2");
}
