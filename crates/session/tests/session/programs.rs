//! Stored programs: what DDL beside a call does to it, KILL, bounds, restarts.

use millpond_session::ConnectionInfo;

use crate::support::{Client, TestDb};

/// Waits until a session runs a statement that another looks for.
fn wait_for(watcher: &mut Client, id: u32) {
    let busy = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command = 'Query'"
    );
    while watcher.one(&busy) != "1" {
        std::thread::yield_now();
    }
}

#[test]
fn kill_ends_a_loop_that_handles_everything() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok(
        "CREATE PROCEDURE spin() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; \
         LOOP BEGIN END; END LOOP; END",
    );
    let id = b.0.id();
    let spinner = std::thread::spawn(move || (b.code("CALL spin()"), b));
    wait_for(&mut a, id);
    a.ok(&format!("KILL QUERY {id}"));
    let (code, mut b) = spinner.join().unwrap();
    assert_eq!((code, b.0.killed()), (1317, false));
    assert_eq!(b.one("SELECT 1"), "1");
}

/// A call goes on with the definition it began with; DDL waits for nobody.
#[test]
fn a_definition_changes_beside_a_call() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE gate (id INT PRIMARY KEY)");
    a.ok("INSERT INTO gate VALUES (1)");
    a.ok("CREATE PROCEDURE p(OUT v INT) BEGIN SELECT id INTO v FROM gate FOR UPDATE; SET v = v + 1; END");
    a.ok("BEGIN");
    a.ok("SELECT * FROM gate FOR UPDATE");
    let id = b.0.id();
    let caller = std::thread::spawn(move || {
        b.ok("CALL p(@v)");
        b
    });
    wait_for(&mut a, id);
    let mut c = db.client();
    c.ok("DROP PROCEDURE p");
    c.ok("CREATE PROCEDURE p(OUT v INT) SET v = 100");
    a.ok("ROLLBACK");
    let mut b = caller.join().unwrap();
    assert_eq!(b.one("SELECT @v IN (2, 100)"), "1");
    b.ok("CALL p(@v)");
    assert_eq!(b.one("SELECT @v"), "100");
}

#[test]
fn programs_are_there_after_a_restart() {
    let mut db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE PROCEDURE p(a INT) COMMENT 'kept' SELECT a + 1");
    c.ok("CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN a * 3");
    drop(c);
    db.reopen();
    let mut c = db.client();
    assert_eq!(c.ok("SELECT f(4)").rows[0][0], "12");
    let answers = c.run("CALL p(1)").unwrap();
    assert_eq!((answers.len(), &*answers[0].rows[0][0]), (2, "2"));
    assert!(answers[0].done.more && !answers[1].done.more);
    let shown =
        c.rows("SELECT routine_name, routine_comment FROM information_schema.routines ORDER BY 1");
    assert_eq!(shown, ["f|", "p|kept"]);
    c.ok("DROP DATABASE test");
    assert_eq!(
        c.one("SELECT COUNT(*) FROM information_schema.routines"),
        "0"
    );
}

#[test]
fn nesting_is_bounded() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("SET max_sp_recursion_depth = 255");
    c.ok("CREATE PROCEDURE down(n INT) IF n > 0 THEN CALL down(n - 1); END IF");
    c.ok("CALL down(255)");
    assert_eq!(c.code("CALL down(256)"), 1456);
    // One calls the next.
    c.ok("CREATE PROCEDURE p0() SET @deep = 1");
    for n in 1..600 {
        c.ok(&format!("CREATE PROCEDURE p{n}() CALL p{}()", n - 1));
    }
    c.ok("CALL p300()");
    assert_eq!(c.code("CALL p599()"), 1436);
    assert_eq!(c.one("SELECT @deep"), "1");
}

#[test]
fn other_sessions_see_what_was_defined() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE FUNCTION f() RETURNS INT RETURN 1");
    a.ok("CREATE PROCEDURE p() SELECT f()");
    for value in ["1", "2", "3"] {
        assert_eq!(b.one("SELECT f()"), value);
        let answers = b.run("CALL p()").unwrap();
        assert_eq!(answers[0].rows[0][0], value);
        let next = value.parse::<u32>().unwrap() + 1;
        a.ok("DROP FUNCTION f");
        assert_eq!(b.code("SELECT f()"), 1305);
        assert_eq!(b.code("CALL p()"), 1305);
        a.ok(&format!("CREATE FUNCTION f() RETURNS INT RETURN {next}"));
    }
}

#[test]
fn a_statement_is_planned_once() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    c.ok("INSERT INTO t VALUES (1, 0)");
    c.ok("CREATE PROCEDURE p(n INT) BEGIN DECLARE i INT DEFAULT 0; \
         WHILE i < n DO UPDATE t SET v = v + i WHERE id = 1; SET i = i + 1; END WHILE; END");
    let plans = |c: &mut Client| -> u64 {
        c.ok("SHOW STATUS LIKE 'Statement_plans'").rows[0][1]
            .parse()
            .unwrap()
    };
    c.ok("CALL p(3)");
    let before = plans(&mut c);
    c.ok("CALL p(200)");
    // The call's own argument is one.
    assert!(plans(&mut c) - before <= 3, "{before}");
    assert_eq!(c.one("SELECT v FROM t"), (3 + 199 * 200 / 2).to_string());
}

/// CLIENT_MULTI_RESULTS is asked for before a procedure runs that sends result sets, and at each CALL within it.
#[test]
fn clients_that_take_one_result_call_no_procedure_with_more() {
    let db = TestDb::new();
    let mut c = db.client();
    for sql in [
        "CREATE TABLE t (a INT)",
        "CREATE PROCEDURE rows_() BEGIN INSERT INTO t VALUES (1); SELECT 1; END",
        "CREATE PROCEDURE shows() SHOW TABLES",
        "CREATE PROCEDURE silent(OUT n INT) BEGIN DECLARE c CURSOR FOR SELECT 1; INSERT INTO t VALUES (2); SELECT COUNT(*) INTO n FROM t; END",
        "CREATE PROCEDURE calls() BEGIN INSERT INTO t VALUES (3); CALL rows_(); END",
    ] {
        c.ok(sql);
    }
    let info = ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        database: Some("test".into()),
        single_results: true,
        ..ConnectionInfo::default()
    };
    let mut one = Client(db.instance().connect(info).unwrap());
    let refused = one.run("CALL rows_()").unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (
            1312,
            "PROCEDURE test.rows_ can't return a result set in the given context"
        )
    );
    assert_eq!(one.code("CALL shows()"), 1312);
    one.ok("CALL silent(@n)");
    assert_eq!(one.one("SELECT @n"), "1");
    assert_eq!(one.code("CALL calls()"), 1312);
    assert_eq!(c.one("SELECT GROUP_CONCAT(a) FROM t"), "2,3");
    c.ok("CALL rows_()");
}
