//! Generated privilege cases (grants, statement, who) beside another server: both allow the statement, or deny it with the same error. It runs where
//! `MARIADB_URL` names one (`scripts/random-privileges`); without it a few cases are run against Millpond alone, to see that they can be.

mod threads;

use millpond_server::{Server, ServerConfig};
use millpond_session::{Instance, InstanceOptions};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, Opts, OptsBuilder};
use std::time::Duration;

/// Numbers that look random, from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// What every case finds.
const SETUP: &[&str] = &[
    "DROP DATABASE IF EXISTS p1",
    "DROP DATABASE IF EXISTS p2",
    "CREATE DATABASE p1",
    "CREATE DATABASE p2",
    "CREATE TABLE p1.t (a INT PRIMARY KEY, b INT, c INT)",
    "CREATE TABLE p1.u (a INT PRIMARY KEY, b INT)",
    "CREATE TABLE p2.t (a INT PRIMARY KEY, b INT, c INT)",
    "INSERT INTO p1.t VALUES (1, 1, 1)",
    "INSERT INTO p1.u VALUES (1, 1)",
    "INSERT INTO p2.t VALUES (1, 1, 1)",
    "CREATE VIEW p1.v AS SELECT a, b FROM p1.t",
    "CREATE SQL SECURITY INVOKER VIEW p1.i AS SELECT a, b FROM p1.t",
    "CREATE VIEW p1.j AS SELECT t.a, u.b FROM p1.t JOIN p1.u ON t.a = u.a",
    "CREATE FUNCTION p1.f() RETURNS INT READS SQL DATA RETURN (SELECT MAX(b) FROM p1.t)",
    "CREATE FUNCTION p1.g() RETURNS INT READS SQL DATA SQL SECURITY INVOKER RETURN (SELECT MAX(b) FROM p1.t)",
    "CREATE PROCEDURE p1.q() SELECT a FROM p1.t",
    "CREATE PROCEDURE p1.r() SQL SECURITY INVOKER SELECT a FROM p1.t",
];

const TABLE: [&str; 7] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "DROP", "INDEX",
];
const COLUMN: [&str; 3] = ["SELECT", "INSERT", "UPDATE"];
const STATEMENTS: &[&str] = &[
    "SELECT * FROM {t}",
    "SELECT a FROM {t}",
    "SELECT b FROM {t} WHERE a = 1",
    "SELECT COUNT(*) FROM {t}",
    "SELECT 1 FROM {t}",
    "SELECT x.a FROM {t} x JOIN {t2} y ON x.a = y.a",
    "SELECT x.a FROM {t} x JOIN {t2} y USING (b)",
    "SELECT (SELECT MAX(b) FROM {t})",
    "SELECT a FROM {t} WHERE b IN (SELECT b FROM {t2})",
    "SELECT a FROM {t} UNION SELECT b FROM {t2}",
    "SELECT d.a FROM (SELECT a FROM {t}) d",
    "SELECT a FROM {t} ORDER BY b",
    "SELECT MAX(a) FROM {t} GROUP BY b",
    "INSERT INTO {t} (a, b) VALUES (50, 1)",
    "INSERT INTO {t} (a) VALUES (51)",
    "INSERT INTO {t} (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 2",
    "INSERT INTO {t} (a, b) SELECT a + 60, b FROM {t2}",
    "REPLACE INTO {t} (a, b) VALUES (1, 1)",
    "UPDATE {t} SET b = 5",
    "UPDATE {t} SET b = 5 WHERE a = 1",
    "UPDATE {t} SET b = a",
    "UPDATE {t} x JOIN {t2} y ON x.a = y.a SET x.b = 1",
    "UPDATE {t} x JOIN {t2} y ON x.a = y.a SET x.b = y.b",
    "DELETE FROM {t}",
    "DELETE FROM {t} WHERE a = 99",
    "DELETE x FROM {t} x JOIN {t2} y ON x.a = y.a",
    "SELECT a FROM p1.v",
    "SELECT * FROM p1.v",
    "SELECT b FROM p1.i",
    "SELECT * FROM p1.j",
    "UPDATE p1.v SET b = 3 WHERE a = 1",
    "UPDATE p1.i SET b = 3",
    "INSERT INTO p1.v (a, b) VALUES (70, 1)",
    "INSERT INTO p1.i (a, b) VALUES (71, 1)",
    "DELETE FROM p1.v WHERE a = 70",
    "DELETE FROM p1.i WHERE a = 71",
    "SELECT p1.f()",
    "SELECT p1.g()",
    "CALL p1.q()",
    "CALL p1.r()",
    "ALTER TABLE p2.t ADD d INT",
    "CREATE INDEX k ON p2.t (b)",
    "CREATE TABLE p2.new (a INT)",
    "CREATE TABLE p2.new AS SELECT a FROM {t}",
    "DROP TABLE p2.t",
    "TRUNCATE p2.t",
    "CREATE VIEW p2.w AS SELECT a FROM {t}",
    "CREATE DATABASE p3",
    "DROP DATABASE p2",
    "LOCK TABLES {t} READ",
    "GRANT SELECT ON {t} TO pother@localhost",
    "GRANT SELECT ON p2.* TO pother@localhost",
    "REVOKE SELECT ON p2.* FROM puser@localhost",
    "CREATE USER pnew@localhost",
    "SET GLOBAL max_connections = 151",
    "FLUSH TABLES",
    "USE p1",
    "USE p2",
    "CREATE TEMPORARY TABLE p1.tmp (a INT)",
    "SELECT a FROM p1.missing",
    "SELECT missing FROM {t}",
];
/// What statements leave, to be cleared away.
const CLEAR: &[&str] = &[
    "DROP DATABASE IF EXISTS p3",
    "DROP USER IF EXISTS pnew@localhost, puser@localhost, pother@localhost",
];

/// A case: what is granted, and what is then tried.
fn case(dice: &mut Dice) -> (Vec<String>, String) {
    let table = |dice: &mut Dice| dice.of(&["p1.t", "p1.t", "p1.u", "p2.t"]);
    let mut grants = Vec::new();
    for _ in 0..dice.below(5) {
        let option = if dice.below(8) == 0 {
            " WITH GRANT OPTION"
        } else {
            ""
        };
        let what = match dice.below(10) {
            0 => {
                let global = [
                    "SELECT",
                    "INSERT",
                    "RELOAD",
                    "CREATE USER",
                    "CREATE",
                    "SUPER",
                    "LOCK TABLES",
                    "DROP",
                ];
                format!("{} ON *.*", dice.of(&global))
            }
            1 => {
                let of = [
                    "SELECT",
                    "LOCK TABLES",
                    "CREATE",
                    "CREATE TEMPORARY TABLES",
                    "EXECUTE",
                    "CREATE VIEW",
                    "INSERT",
                ];
                format!(
                    "{}, {} ON {}.*",
                    dice.of(&TABLE),
                    dice.of(&of),
                    dice.of(&["p1", "p2", "`p_`"])
                )
            }
            2 => format!(
                "{} ON {}.*",
                dice.of(&["ALL", "SELECT, INSERT, UPDATE, DELETE"]),
                dice.of(&["p1", "p2"])
            ),
            3 => format!(
                "EXECUTE ON {}",
                dice.of(&[
                    "FUNCTION p1.f",
                    "FUNCTION p1.g",
                    "PROCEDURE p1.q",
                    "PROCEDURE p1.r"
                ])
            ),
            4 => format!(
                "{} ON {}",
                dice.of(&TABLE),
                dice.of(&["p1.v", "p1.i", "p1.j"])
            ),
            5 | 6 => format!(
                "{} ({}) ON {}",
                dice.of(&COLUMN),
                dice.of(&["a", "b", "a, b"]),
                table(dice)
            ),
            _ => format!(
                "{}, {} ON {}",
                dice.of(&TABLE),
                dice.of(&TABLE),
                table(dice)
            ),
        };
        grants.push(format!("GRANT {what} TO puser@localhost{option}"));
    }
    let (t, t2) = (table(dice), table(dice));
    let sql = dice.of(STATEMENTS).replace("{t}", t).replace("{t2}", t2);
    (grants, sql)
}

/// Error code and text of a statement; 0: none.
fn outcome(c: &mut Conn, sql: &str) -> (u16, String) {
    let run = |c: &mut Conn| -> Result<(), Error> {
        let mut results = c.query_iter(sql)?;
        while let Some(rows) = results.iter() {
            for row in rows {
                row?;
            }
        }
        Ok(())
    };
    match run(c) {
        Ok(()) => (0, String::new()),
        Err(Error::MySqlError(e)) => (e.code, e.message),
        Err(other) => panic!("{sql}: {other}"),
    }
}

fn must(c: &mut Conn, sql: &str) {
    let (code, message) = outcome(c, sql);
    assert_eq!(code, 0, "{sql}: {message}");
}

/// Runs a case.
fn run(root: &mut Conn, user: &Opts, grants: &[String], sql: &str) -> (u16, String) {
    CLEAR.iter().for_each(|sql| must(root, sql));
    SETUP.iter().for_each(|sql| must(root, sql));
    must(root, "CREATE USER puser@localhost, pother@localhost");
    grants.iter().for_each(|grant| must(root, grant));
    let mut user = Conn::new(user.clone()).unwrap();
    // In MariaDB a DELETE that names an alias takes a current database, whichever. This one is everybody's.
    must(&mut user, "USE information_schema");
    outcome(&mut user, sql)
}

/// What MySQL, and Millpond as it, says otherwise than MariaDB.
fn is_known(sql: &str, ours: u16, theirs: u16) -> bool {
    match (ours, theirs) {
        // MySQL has it that a user may take all it has been granted from itself only with GRANT OPTION (1044), as MariaDB; where nothing
        // was granted the one looks at the rights first, the other at the grant.
        (1044, 1141) | (1141, 1044) => sql.starts_with("REVOKE"),
        // SET GLOBAL takes SUPER or a privilege of another name; both are 1227. MariaDB has SUPER no longer cover it.
        (0, 1227) => sql.starts_with("SET GLOBAL"),
        _ => false,
    }
}

#[test]
fn both_allow_the_same() {
    let peer = std::env::var("MARIADB_URL").ok();
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let cases = number("CASES").unwrap_or(if peer.is_some() { 2_000 } else { 40 });
    let seed = number("SEED").unwrap_or(1);
    let dir = std::env::temp_dir().join(format!("millpond-privileges-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let instance = Instance::open(InstanceOptions {
        path: dir.join("data"),
        store: millpond_store::Options {
            pool_bytes: 32 << 20,
            log_bytes: 16 << 20,
            ..millpond_store::Options::default()
        },
        variables: [("innodb_flush_log_at_trx_commit".into(), "0".into())]
            .into_iter()
            .chain(threads::variables())
            .collect(),
    })
    .unwrap();
    let config = ServerConfig {
        tcp: None,
        socket: Some(dir.join("sock")),
        ..Default::default()
    };
    let server = Server::start(instance.clone(), &config).unwrap();
    let own = OptsBuilder::new().socket(Some(dir.join("sock").to_str().unwrap()));
    let own = |user: &str| Opts::from(own.clone().user(Some(user)));
    let mut root = Conn::new(own("root")).unwrap();
    let mut other = peer.map(|url| {
        let opts = Opts::from_url(&url).unwrap();
        let user = Opts::from(OptsBuilder::from_opts(opts.clone()).user(Some("puser")));
        (Conn::new(opts).unwrap(), user)
    });
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut wrong, mut known, mut denied) = (0, 0, 0);
    for n in 0..cases {
        let (grants, sql) = case(&mut dice);
        let ours = run(&mut root, &own("puser"), &grants, &sql);
        denied += u64::from(ours.0 != 0);
        let Some((other, user)) = &mut other else {
            continue;
        };
        let theirs = run(other, user, &grants, &sql);
        if ours.0 == theirs.0 {
            continue;
        }
        match is_known(&sql, ours.0, theirs.0) {
            true => known += 1,
            false => {
                wrong += 1;
                println!("case {n}: {grants:#?}\n{sql}\n  ours: {ours:?}\n  theirs: {theirs:?}");
            }
        }
    }
    println!("{cases} cases, {denied} denied, {known} of known difference, {wrong} of others");
    drop((root, other));
    server.shutdown(Duration::from_secs(5));
    instance.close().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(wrong, 0);
}
