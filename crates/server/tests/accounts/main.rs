//! Accounts, as clients meet them: logins by each plugin, what is allowed, roles, definers, passwords, restarts; what the audit log says.

mod audit;
mod db;
#[path = "../threads/mod.rs"]
mod threads;

use db::{Db, error, expect, run, strings};
use millpond_server::PasswordKey;
use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Row};
use std::os::unix::fs::PermissionsExt;

#[test]
fn logins() {
    let mut db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE USER new IDENTIFIED BY 'right', old@localhost IDENTIFIED WITH mysql_native_password BY 'right'",
            "CREATE USER elsewhere@'10.%' IDENTIFIED BY 'right', shut@'%' IDENTIFIED BY 'right' ACCOUNT LOCK",
        ],
    );
    for (user, password, wanted) in [
        ("new", "right", 0),
        ("new", "wrong", 1045),
        ("new", "", 1045),
        ("old", "right", 0),
        ("old", "wrong", 1045),
        ("old", "", 1045),
        ("elsewhere", "right", 1045),
        ("nobody", "right", 1045),
        ("nobody", "", 1045),
        ("root", "x", 1045),
        ("shut", "right", 3118),
        ("shut", "wrong", 1045),
    ] {
        assert_eq!(
            error(db.login(user, password)).0,
            wanted,
            "{user} {password}"
        );
    }
    // What IDENTIFIED BY said is remembered, so that TCP takes the fast way.
    for (user, password, wanted) in [
        ("new", "right", 0),
        ("old", "right", 0),
        ("old", "wrong", 1045),
    ] {
        assert_eq!(error(db.tcp(user, password)).0, wanted, "{user} {password}");
    }
    let mut c = db.login("new", "right").unwrap();
    assert_eq!(strings(&mut c, "SELECT CURRENT_USER()"), ["new@%"]);
    assert_eq!(strings(&mut c, "SELECT USER()"), ["new@localhost"]);
    drop((c, root));
    db.close();
    db.open();
    // The server has forgotten it; the socket's full way tells it again.
    let (code, message) = error(db.tcp("new", "right"));
    assert_eq!(code, 1045);
    assert!(message.contains("without an RSA key"), "{message}");
    assert_eq!(error(db.login("new", "wrong")).0, 1045);
    db.login("new", "right").unwrap();
    db.tcp("new", "right").unwrap();
    // A user of the operating system needs no password.
    let whoami = std::process::Command::new("id")
        .arg("-un")
        .output()
        .unwrap();
    let whoami = String::from_utf8(whoami.stdout).unwrap().trim().to_string();
    let mut root = db.root();
    run(
        &mut root,
        &[
            &format!("CREATE USER me IDENTIFIED WITH auth_socket AS '{whoami}'"),
            "CREATE USER other IDENTIFIED WITH auth_socket AS 'nobody-here'",
        ],
    );
    db.login("me", "").unwrap();
    assert_eq!(error(db.login("other", "")).0, 1045);
    assert_eq!(error(db.tcp("me", "")).0, 1045);
}

#[test]
fn passwords_may_be_encrypted() {
    let mut db = Db::start();
    db.close();
    db.key = true;
    db.open();
    run(&mut db.root(), &["CREATE USER u IDENTIFIED BY 'right'"]);
    let mode = std::fs::metadata(db.dir.join("data/private_key.pem")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    db.close();
    db.open();
    // The server has forgotten the password: it comes encrypted by the key.
    assert_eq!(error(db.tcp("u", "wrong")).0, 1045);
    assert_eq!(error(db.tcp("nobody", "right")).0, 1045);
    let mut c = db.tcp("u", "right").unwrap();
    assert_eq!(strings(&mut c, "SELECT CURRENT_USER()"), ["u@%"]);
    // Now it is remembered: no key is needed.
    db.tcp("u", "right").unwrap();
    let shown = "SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
    let (_, pem): (String, String) = c.query_first(shown).unwrap().unwrap();
    let file = std::fs::read_to_string(db.dir.join("data/public_key.pem")).unwrap();
    assert_eq!(pem, file);
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{pem}");
    // So does a client that changes its user on a connection.
    drop(c);
    db.close();
    db.open();
    let mut c = db.tcp("root", "").unwrap();
    let other = ChangeUserOpts::new().with_user(Some("u".into()));
    c.change_user(other.clone().with_pass(Some("right".into())))
        .unwrap();
    assert_eq!(strings(&mut c, "SELECT CURRENT_USER()"), ["u@%"]);
    db.close();
    // A key that is named and no good keeps the server from starting.
    std::fs::write(db.dir.join("data/private_key.pem"), "nonsense").unwrap();
    let instance = db.instance_alone();
    let e = PasswordKey::open(&instance).err().unwrap();
    assert!(e.contains("private_key.pem"), "{e}");
    instance.close().unwrap();
}

#[test]
fn levels_of_privileges() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY, b INT, c INT)",
            "CREATE TABLE d.other (a INT)",
            "INSERT INTO d.t VALUES (1, 2, 3)",
            "CREATE USER u",
        ],
    );
    let mut u = db.user("u");
    expect(
        &mut u,
        &[
            ("SELECT 1", 0),
            ("USE d", 1044),
            ("SELECT * FROM d.t", 1142),
            ("SELECT * FROM d.missing", 1142),
            ("SELECT * FROM missing.t", 1142),
            ("INSERT INTO d.t VALUES (5, 5, 5)", 1142),
            ("UPDATE d.t SET b = 1", 1142),
            ("DELETE FROM d.missing", 1142),
            ("CREATE TABLE d.x (a INT)", 1142),
            ("CREATE DATABASE e", 1044),
            ("DROP DATABASE d", 1044),
            ("SHOW TABLES FROM d", 1044),
            ("SHOW CREATE TABLE d.t", 1142),
            ("DESCRIBE d.t", 1142),
            ("CREATE USER v", 1227),
            ("GRANT SELECT ON d.* TO u", 1044),
            ("GRANT SELECT ON *.* TO u", 1045),
            ("SET GLOBAL max_connections = 5", 1227),
            ("SET sql_log_bin = 0", 1227),
            ("FLUSH PRIVILEGES", 1227),
            ("SHOW GRANTS FOR root@localhost", 1044),
            ("SELECT * FROM mysql.user", 1142),
            ("SELECT 1 INTO OUTFILE '/tmp/never'", 1045),
            ("LOAD DATA INFILE '/etc/passwd' INTO TABLE d.t", 1142),
            ("SHOW ENGINE INNODB STATUS", 1227),
        ],
    );
    assert_eq!(strings(&mut u, "SHOW DATABASES"), ["information_schema"]);
    let seen = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd'";
    assert!(strings(&mut u, seen).is_empty());
    run(&mut root, &["GRANT SELECT (a), UPDATE (b) ON d.t TO u"]);
    expect(
        &mut u,
        &[
            ("USE d", 0),
            ("SELECT a FROM d.t", 0),
            ("SELECT COUNT(*) FROM d.t", 0),
            ("SELECT b FROM d.t", 1143),
            ("SELECT a FROM d.t WHERE b = 1", 1143),
            ("SELECT a FROM d.t ORDER BY c", 1143),
            ("SELECT * FROM d.t", 1142),
            ("SELECT x.a FROM d.t x JOIN d.t y USING (b)", 1143),
            ("SELECT (SELECT MAX(c) FROM d.t)", 1143),
            ("UPDATE d.t SET b = 7 WHERE a = 1", 0),
            ("UPDATE d.t SET b = c", 1143),
            ("UPDATE d.t SET c = 7", 1143),
            ("UPDATE d.t x, d.t y SET x.b = 8 WHERE y.a = 1", 0),
            ("DELETE FROM d.t", 1142),
            ("SELECT * FROM d.other", 1142),
        ],
    );
    let columns = "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME = 't' AND TABLE_SCHEMA = 'd' ORDER BY 1";
    assert_eq!(strings(&mut u, columns), ["a", "b"]);
    assert_eq!(strings(&mut u, seen), ["t"]);
    assert_eq!(strings(&mut u, "SHOW TABLES FROM d"), ["t"]);
    run(&mut root, &["GRANT INSERT, DELETE ON d.t TO u"]);
    expect(
        &mut u,
        &[
            ("INSERT INTO d.t VALUES (10, 10, 10)", 0),
            (
                "INSERT INTO d.t (a) VALUES (10) ON DUPLICATE KEY UPDATE b = 11",
                0,
            ),
            (
                "INSERT INTO d.t (a) VALUES (10) ON DUPLICATE KEY UPDATE c = 11",
                1143,
            ),
            ("REPLACE INTO d.t VALUES (10, 1, 1)", 0),
            ("DELETE FROM d.t WHERE a = 10", 0),
            ("DELETE FROM d.t WHERE c = 10", 1143),
            ("TRUNCATE d.t", 1142),
        ],
    );
    // Database level, with a pattern, of which the more specific counts alone.
    run(
        &mut root,
        &[
            "CREATE DATABASE d1",
            "CREATE DATABASE dx",
            "CREATE TABLE d1.t (a INT)",
            "CREATE TABLE dx.t (a INT)",
            "GRANT SELECT ON `d_`.* TO u",
            "GRANT CREATE ON dx.* TO u",
        ],
    );
    expect(
        &mut u,
        &[
            ("SELECT * FROM d1.t", 0),
            ("SELECT * FROM dx.t", 1142),
            ("CREATE TABLE dx.new (a INT)", 0),
            ("DROP TABLE dx.new", 1142),
            ("CREATE TEMPORARY TABLE dx.temp (a INT)", 1044),
        ],
    );
    run(
        &mut root,
        &["GRANT ALL ON dx.* TO u WITH GRANT OPTION", "CREATE USER v"],
    );
    expect(
        &mut u,
        &[
            ("DROP TABLE dx.new", 0),
            ("GRANT SELECT ON dx.t TO v", 0),
            ("GRANT SELECT ON dx.t TO nobody", 1410),
            ("GRANT SELECT ON d1.t TO v", 1142),
            ("REVOKE INSERT ON dx.t FROM v", 0),
            ("CREATE TEMPORARY TABLE dx.temp (a INT)", 0),
            ("SELECT * FROM dx.temp", 0),
        ],
    );
    expect(
        &mut db.user("v"),
        &[
            ("SELECT * FROM dx.t", 0),
            ("INSERT INTO dx.t VALUES (1)", 1142),
        ],
    );
    expect(
        &mut root,
        &[
            ("REVOKE SELECT ON d1.t FROM v", 1147),
            ("REVOKE SELECT ON d1.* FROM v", 1141),
            ("REVOKE SELECT ON d1.* FROM nobody", 1141),
            ("REVOKE EXECUTE ON PROCEDURE d.p FROM v", 1403),
            ("GRANT SELECT ON d.missing TO v", 1146),
            ("GRANT SELECT (x) ON d.t TO v", 1054),
            ("DROP USER nobody", 1396),
            ("DROP USER IF EXISTS nobody", 0),
            ("CREATE USER v", 1396),
            ("CREATE USER IF NOT EXISTS v", 0),
            ("REVOKE ALL PRIVILEGES, GRANT OPTION FROM v", 0),
        ],
    );
    assert_eq!(
        strings(&mut root, "SHOW GRANTS FOR v"),
        ["GRANT USAGE ON *.* TO `v`@`%`"]
    );
    assert_eq!(
        strings(&mut root, "SHOW GRANTS FOR u"),
        [
            "GRANT USAGE ON *.* TO `u`@`%`",
            "GRANT SELECT ON `d_`.* TO `u`@`%`",
            "GRANT ALL PRIVILEGES ON `dx`.* TO `u`@`%` WITH GRANT OPTION",
            "GRANT SELECT (`a`), INSERT, UPDATE (`b`), DELETE ON `d`.`t` TO `u`@`%`",
        ]
    );
}

#[test]
fn each_execution_is_checked() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT PRIMARY KEY)",
            "CREATE USER u, w",
            "GRANT SELECT ON d.* TO u",
        ],
    );
    let mut u = db.user("u");
    let statement = u.prep("SELECT * FROM d.t WHERE a = ?").unwrap();
    u.exec_drop(&statement, (1,)).unwrap();
    let text = "SELECT * FROM d.t WHERE a = 1";
    expect(&mut u, &[(text, 0), (text, 0)]);
    // The plan is there, but not for everybody.
    let mut w = db.user("w");
    expect(&mut w, &[(text, 1142), (text, 1142)]);
    assert_eq!(error(w.prep("SELECT * FROM d.t WHERE a = ?")).0, 1142);
    run(&mut root, &["REVOKE SELECT ON d.* FROM u"]);
    assert_eq!(error(u.exec_drop(&statement, (1,))).0, 1142);
    expect(&mut u, &[(text, 1142)]);
    run(&mut root, &["GRANT SELECT ON d.t TO u"]);
    u.exec_drop(&statement, (1,)).unwrap();
    run(&mut root, &["DROP USER u"]);
    assert_eq!(error(u.exec_drop(&statement, (1,))).0, 1142);
}

#[test]
fn roles() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE ROLE reader, writer",
            "GRANT SELECT ON d.* TO reader",
            "GRANT INSERT ON d.* TO writer",
            "GRANT reader TO writer",
            "CREATE USER u, v",
            "GRANT reader, writer TO u",
            "GRANT reader TO v WITH ADMIN OPTION",
        ],
    );
    assert_eq!(error(db.login("reader", "")).0, 3118);
    let mut u = db.user("u");
    expect(
        &mut u,
        &[
            ("SELECT * FROM d.t", 1142),
            ("SET ROLE reader", 0),
            ("SELECT * FROM d.t", 0),
        ],
    );
    assert_eq!(strings(&mut u, "SELECT CURRENT_ROLE()"), ["`reader`@`%`"]);
    expect(
        &mut u,
        &[
            ("INSERT INTO d.t VALUES (1)", 1142),
            ("SET ROLE writer", 0),
            ("INSERT INTO d.t VALUES (1)", 0),
            // What the role brings along.
            ("SELECT * FROM d.t", 0),
            ("SET ROLE NONE", 0),
            ("SELECT * FROM d.t", 1142),
            ("SET ROLE missing", 3530),
            ("GRANT reader TO v", 1227),
            ("SET DEFAULT ROLE reader TO u", 0),
        ],
    );
    let mut again = db.user("u");
    expect(
        &mut again,
        &[
            ("SELECT * FROM d.t", 0),
            ("INSERT INTO d.t VALUES (1)", 1142),
        ],
    );
    expect(
        &mut db.user("v"),
        &[
            ("GRANT reader TO u", 0),
            ("GRANT writer TO u", 1227),
            ("SET ROLE ALL", 0),
            ("SELECT * FROM d.t", 0),
        ],
    );
    expect(
        &mut root,
        &[
            ("GRANT writer TO reader", 4027),
            ("GRANT missing TO u", 3523),
            ("REVOKE reader FROM u", 0),
            ("DROP ROLE writer", 0),
        ],
    );
    expect(&mut again, &[("SELECT * FROM d.t", 1142)]);
    assert_eq!(
        strings(&mut root, "SHOW GRANTS FOR u"),
        ["GRANT USAGE ON *.* TO `u`@`%`"]
    );
    assert_eq!(
        strings(&mut root, "SHOW GRANTS FOR v USING reader"),
        [
            "GRANT USAGE ON *.* TO `v`@`%`",
            "GRANT SELECT ON `d`.* TO `v`@`%`",
            "GRANT `reader`@`%` TO `v`@`%` WITH ADMIN OPTION"
        ]
    );
}

#[test]
fn definers() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE DATABASE hidden",
            "CREATE TABLE hidden.t (a INT PRIMARY KEY, b INT)",
            "INSERT INTO hidden.t VALUES (1, 2)",
            "CREATE TABLE d.log (a INT)",
            "CREATE VIEW d.v AS SELECT a, b FROM hidden.t",
            "CREATE SQL SECURITY INVOKER VIEW d.i AS SELECT a, b FROM hidden.t",
            "CREATE FUNCTION d.f() RETURNS INT READS SQL DATA RETURN (SELECT MAX(b) FROM hidden.t)",
            "CREATE FUNCTION d.g() RETURNS INT READS SQL DATA SQL SECURITY INVOKER RETURN (SELECT MAX(b) FROM hidden.t)",
            "CREATE PROCEDURE d.p() INSERT INTO hidden.t VALUES (7, 8)",
            "CREATE PROCEDURE d.q() SQL SECURITY INVOKER SELECT * FROM hidden.t",
            "CREATE PROCEDURE d.who() SELECT CURRENT_USER()",
            "CREATE TRIGGER d.tr AFTER INSERT ON d.log FOR EACH ROW UPDATE hidden.t SET b = NEW.a WHERE a = 1",
            "CREATE USER u",
            "GRANT SELECT, INSERT, UPDATE ON d.* TO u",
        ],
    );
    let mut u = db.user("u");
    expect(
        &mut u,
        &[
            ("SELECT * FROM d.v", 0),
            ("SELECT a FROM d.v WHERE b = 2", 0),
            ("UPDATE d.v SET b = 3 WHERE a = 1", 0),
            ("INSERT INTO d.v VALUES (2, 2)", 0),
            ("DELETE FROM d.v", 1142),
            ("SELECT * FROM d.i", 1356),
            ("UPDATE d.i SET b = 3", 1356),
            ("SELECT * FROM hidden.t", 1142),
            ("SELECT d.f()", 1370),
            ("CALL d.p()", 1370),
            ("SHOW CREATE VIEW d.v", 1142),
            ("INSERT INTO d.log VALUES (9)", 0),
        ],
    );
    assert_eq!(
        strings(&mut root, "SELECT b FROM hidden.t WHERE a = 1"),
        ["9"]
    );
    run(&mut root, &["GRANT EXECUTE ON d.* TO u"]);
    expect(
        &mut u,
        &[
            ("SELECT d.f()", 0),
            ("SELECT d.g()", 1142),
            ("CALL d.p()", 0),
            ("CALL d.q()", 1142),
            ("SELECT * FROM hidden.t", 1142),
            ("CREATE DEFINER = root@localhost VIEW d.x AS SELECT 1", 1142),
            ("DROP PROCEDURE d.p", 1370),
            ("SHOW CREATE PROCEDURE d.p", 1305),
        ],
    );
    assert_eq!(strings(&mut u, "CALL d.who()"), ["root@localhost"]);
    assert_eq!(strings(&mut u, "SELECT CURRENT_USER()"), ["u@%"]);
    // A definer with fewer rights, and one that is gone.
    run(
        &mut root,
        &[
            "CREATE USER poor",
            "CREATE DEFINER = poor VIEW d.w AS SELECT * FROM hidden.t",
            "CREATE DEFINER = poor PROCEDURE d.r() SELECT * FROM hidden.t",
        ],
    );
    expect(&mut u, &[("SELECT * FROM d.w", 1356), ("CALL d.r()", 1142)]);
    expect(
        &mut root,
        &[("SELECT * FROM d.w", 1356), ("CALL d.r()", 1142)],
    );
    run(&mut root, &["GRANT SELECT ON hidden.* TO poor"]);
    expect(&mut u, &[("SELECT * FROM d.w", 0), ("CALL d.r()", 0)]);
    run(&mut root, &["DROP USER poor"]);
    expect(&mut u, &[("SELECT * FROM d.w", 1449), ("CALL d.r()", 1449)]);
    // Who makes a routine may run and change it, until it is gone.
    run(
        &mut root,
        &[
            "GRANT CREATE ROUTINE ON d.* TO u",
            "REVOKE EXECUTE ON d.* FROM u",
        ],
    );
    expect(
        &mut u,
        &[
            ("CREATE PROCEDURE d.own() SELECT 1", 0),
            ("CALL d.own()", 0),
            ("DROP PROCEDURE d.own", 0),
            (
                "CREATE DEFINER = root@localhost PROCEDURE d.own() SELECT 1",
                1227,
            ),
        ],
    );
    let left = "SELECT COUNT(*) FROM mysql.procs_priv";
    assert_eq!(strings(&mut root, left), ["0"]);
}

#[test]
fn passwords() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE USER u IDENTIFIED BY 'one' PASSWORD HISTORY 2 FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME UNBOUNDED",
        ],
    );
    let mut u = db.login("u", "one").unwrap();
    expect(
        &mut u,
        &[
            ("SET PASSWORD = 'two'", 0),
            ("SET PASSWORD = 'one'", 3638),
            ("ALTER USER u IDENTIFIED BY 'three' REPLACE 'wrong'", 3891),
            ("ALTER USER u IDENTIFIED BY 'three' REPLACE 'two'", 0),
            ("ALTER USER u ACCOUNT LOCK", 1227),
            ("SET PASSWORD FOR root@localhost = 'x'", 1227),
        ],
    );
    assert_eq!(error(db.login("u", "two")).0, 1045);
    assert_eq!(error(db.login("u", "two")).0, 1045);
    assert_eq!(error(db.login("u", "three")).0, 3955);
    run(&mut root, &["ALTER USER u ACCOUNT UNLOCK"]);
    db.login("u", "three").unwrap();
    // A password that has expired is changed before anything else, by clients that can.
    run(&mut root, &["ALTER USER u PASSWORD EXPIRE"]);
    assert_eq!(error(db.login("u", "three")).0, 1862);
    let random: Option<Row> = root.query_first("SET PASSWORD FOR u TO RANDOM").unwrap();
    let random: String = random.unwrap().get(2).unwrap();
    assert_eq!(random.len(), 20);
    db.login("u", &random).unwrap();
    expect(
        &mut root,
        &[
            ("ALTER USER u IDENTIFIED WITH no_such_plugin BY 'x'", 1524),
            (
                "ALTER USER u IDENTIFIED WITH mysql_native_password AS 'x'",
                1827,
            ),
            ("ALTER USER nobody IDENTIFIED BY 'x'", 1396),
            ("GRANT SELECT ON *.* TO u IDENTIFIED BY 'x'", 1064),
            ("GRANT SELECT ON *.* TO u REQUIRE SSL", 1064),
        ],
    );
    // Nothing of a password in what others see.
    let id = root.connection_id();
    let shown = format!("SELECT INFO FROM information_schema.PROCESSLIST WHERE ID <> {id}");
    let all = strings(&mut db.root(), &shown).join(" ");
    assert!(!all.contains("three"), "{all}");
}

#[test]
fn accounts_survive_restarts() {
    let mut db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE USER admin IDENTIFIED BY 'a' COMMENT 'the one'",
            "GRANT ALL ON *.* TO admin WITH GRANT OPTION",
            "ALTER USER admin ATTRIBUTE '{\"team\": 1}'",
        ],
    );
    let shown = strings(&mut root, "SHOW CREATE USER admin").remove(0);
    assert!(
        shown.contains("\"team\": 1") && shown.contains("the one"),
        "{shown}"
    );
    let table =
        "SELECT CONCAT(User, Select_priv, Grant_priv, plugin) FROM mysql.user ORDER BY User";
    let before = strings(&mut root, table);
    assert_eq!(
        before,
        [
            "adminYYcaching_sha2_password",
            "rootYYcaching_sha2_password"
        ]
    );
    run(&mut root, &["DROP USER root@localhost"]);
    drop(root);
    db.close();
    db.open();
    // What was dropped does not come back.
    assert_eq!(error(db.login("root", "")).0, 1045);
    let mut admin = db.login("admin", "a").unwrap();
    assert_eq!(strings(&mut admin, "SHOW CREATE USER admin"), [shown]);
    run(&mut admin, &["DROP USER admin"]);
    drop(admin);
    db.close();
    db.open();
    assert_eq!(error(db.login("admin", "a")).0, 1045);
    assert_eq!(error(db.login("root", "")).0, 1045);
}

#[test]
fn the_first_password() {
    let mut db = Db::start();
    assert!(db.instance().init_root_password("first").unwrap());
    assert_eq!(error(db.login("root", "")).0, 1045);
    db.login("root", "first").unwrap();
    assert!(!db.instance().init_root_password("second").unwrap());
    db.close();
    db.open();
    db.login("root", "first").unwrap();
    assert!(!db.instance().init_root_password("second").unwrap());
}

#[test]
fn others_sessions() {
    let db = Db::start();
    let mut root = db.root();
    run(&mut root, &["CREATE USER u, w"]);
    let mut u = db.user("u");
    let mut w = db.user("w");
    let (own, other) = (u.connection_id(), w.connection_id());
    assert_eq!(
        strings(&mut u, "SELECT ID FROM information_schema.PROCESSLIST"),
        [own.to_string()]
    );
    assert_eq!(strings(&mut u, "SHOW PROCESSLIST").len(), 1);
    expect(&mut u, &[(&format!("KILL {other}"), 1095)]);
    let mut second = db.user("u");
    expect(&mut u, &[(&format!("KILL {}", second.connection_id()), 0)]);
    assert!(second.query_drop("SELECT 1").is_err());
    run(&mut root, &["GRANT CONNECTION_ADMIN ON *.* TO u"]);
    expect(&mut u, &[(&format!("KILL {other}"), 0)]);
    assert!(w.query_drop("SELECT 1").is_err());
    // COM_CHANGE_USER is a login like another.
    run(
        &mut root,
        &[
            "CREATE USER x IDENTIFIED BY 'px'",
            "CREATE DATABASE d",
            "GRANT SELECT ON d.* TO x",
        ],
    );
    let to = |password: &str| {
        mysql::ChangeUserOpts::new()
            .with_user(Some("x".into()))
            .with_pass(Some(password.into()))
            .with_db_name(None)
    };
    u.change_user(to("px")).unwrap();
    assert_eq!(strings(&mut u, "SELECT CURRENT_USER()"), ["x@%"]);
    expect(&mut u, &[("USE d", 0)]);
    assert!(db.user("u").change_user(to("wrong")).is_err());
}

#[test]
fn init_connect_runs_for_those_without_connection_admin() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.log (who TEXT)",
            "CREATE USER u IDENTIFIED BY 'p', boss IDENTIFIED BY 'p'",
            "GRANT INSERT, SELECT ON d.* TO u",
            "GRANT CONNECTION_ADMIN ON *.* TO boss",
            "SET GLOBAL init_connect = 'SELECT 1; SET @a = 2, autocommit = 1; INSERT INTO d.log VALUES (CURRENT_USER())'",
        ],
    );
    let mut u = db.login("u", "p").unwrap();
    assert_eq!(
        u.query_first::<Option<i64>, _>("SELECT @a").unwrap(),
        Some(Some(2))
    );
    let mut boss = db.login("boss", "p").unwrap();
    assert_eq!(
        boss.query_first::<Option<i64>, _>("SELECT @a").unwrap(),
        Some(None)
    );
    assert_eq!(strings(&mut root, "SELECT who FROM d.log"), ["u@%"]);
    run(&mut root, &["SET GLOBAL init_connect = 'SELECT nothing'"]);
    assert_eq!(error(db.login("u", "p")).0, 1184);
    db.login("boss", "p").unwrap();
    run(&mut root, &["SET GLOBAL init_connect = ''"]);
    db.login("u", "p").unwrap();
}

/// `max_connections` of anybody's, and one of an administrator's.
#[test]
fn an_administrator_gets_in_when_all_places_are_taken() {
    let db = Db::start();
    let mut root = db.root();
    run(
        &mut root,
        &[
            "CREATE USER u IDENTIFIED BY 'p', boss IDENTIFIED BY 'p'",
            "GRANT CONNECTION_ADMIN ON *.* TO boss",
            "SET GLOBAL max_connections = 2",
        ],
    );
    // The place of one that was refused or has left is free a moment later.
    let in_time = |user: &str| {
        let tries = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            db.login(user, "p").ok()
        });
        tries.expect("a place")
    };
    let u = db.login("u", "p").unwrap();
    assert_eq!(error(db.login("u", "p")).0, 1040);
    let _boss = in_time("boss");
    assert_eq!(error(db.login("boss", "p")).0, 1040);
    drop(u);
    let _second = in_time("boss");
}
