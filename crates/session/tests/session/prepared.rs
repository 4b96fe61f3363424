//! Statements kept for another run: prepared, repeated, shared, with parameters.

use millpond_session::{SqlError, Value, value};

use crate::support::{Client, Collector, TestDb};

#[test]
fn several_statements_of_a_text() {
    let db = TestDb::new();
    let mut c = db.client();
    let answers = c
        .run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1),(2); SELECT * FROM t; -- done")
        .unwrap();
    assert_eq!(answers.len(), 3);
    assert!(answers[0].done.more && answers[1].done.more && !answers[2].done.more);
    assert_eq!(answers[1].done.affected, 2);
    // An error ends the text; what came before it stays.
    let mut sink = Collector::default();
    let e =
        c.0.execute("SELECT 1; SELECT * FROM nope; SELECT 2", &mut sink)
            .unwrap_err();
    assert_eq!((e.code, sink.answers.len()), (1146, 1));
    c.0.set_multi_statements(false);
    assert_eq!(c.code("SELECT 1; SELECT 2"), 1064);
    c.ok("SELECT 1; ");
    assert_eq!(c.code(""), 1065);
    assert_eq!(c.code(" ; "), 1065);
    // A comment is a statement that does nothing.
    c.ok("-- nothing");
    c.ok("/* nothing */");
}

/// A syntax error quotes the text to its end, statements behind included.
#[test]
fn errors_quote_the_statements_behind() {
    let db = TestDb::new();
    let mut c = db.client();
    for (sql, near) in [
        (
            "SELECT 1; SELEC 2; SELECT 3",
            "SELEC 2; SELECT 3' at line 1",
        ),
        ("SELECT 1 +; SELECT 2", "; SELECT 2' at line 1"),
        (
            "CREATE PROCEDURE p()\nBEGIN\n  SIGNAL;\nEND; SELECT 1",
            ";\nEND; SELECT 1' at line 3",
        ),
        (
            "CREATE PROCEDURE p() BEGIN SELECT 1 +; END",
            "; END' at line 1",
        ),
        ("SELEC 1;", "SELEC 1' at line 1"),
    ] {
        let e = c.err(sql);
        assert_eq!(e.code, 1064);
        let quoted = e.message.split_once("near '").unwrap().1;
        assert_eq!(quoted, near, "{sql}");
    }
}

#[test]
fn prepared_statements_follow_their_tables() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10))");
    c.ok("INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    let read = c.0.prepare("SELECT b FROM t WHERE a = ?").unwrap();
    assert_eq!((read.params, read.columns.len()), (1, 1));
    let get = |c: &mut Client, key: i64| -> Result<Vec<String>, SqlError> {
        let mut sink = Collector::default();
        c.0.execute_prepared(&read, &[Value::Int(key)], &mut sink)?;
        Ok(sink.answers[0].rows.iter().map(|r| r.join("|")).collect())
    };
    assert_eq!(get(&mut c, 2).unwrap(), ["two"]);
    assert!(get(&mut c, 3).unwrap().is_empty());
    c.ok("CREATE INDEX by_b ON t (b)");
    assert_eq!(get(&mut c, 1).unwrap(), ["one"]);
    c.ok("DROP TABLE t");
    assert_eq!(get(&mut c, 1).unwrap_err().code, 1146);
    c.ok("CREATE TABLE t (b VARCHAR(10), a BIGINT, KEY (a))");
    c.ok("INSERT INTO t VALUES ('uno', 1)");
    assert_eq!(get(&mut c, 1).unwrap(), ["uno"]);
    let mut sink = Collector::default();
    let wrong = c.0.execute_prepared(&read, &[], &mut sink);
    assert_eq!(wrong.unwrap_err().code, 1210);
    assert_eq!(
        c.0.prepare("SELECT * FROM missing").err().unwrap().code,
        1146
    );
    assert_eq!(c.0.prepare("SELECT 1; SELECT 2").err().unwrap().code, 1064);
}

#[test]
fn prepared_statements_in_text() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    c.ok("PREPARE ins FROM 'INSERT INTO t VALUES (?, ?)'");
    c.ok("SET @a = 1, @b = 10");
    c.ok("EXECUTE ins USING @a, @b");
    c.ok("SET @a = 2");
    c.ok("EXECUTE ins USING @a, @b");
    assert_eq!(c.rows("SELECT * FROM t"), ["1|10", "2|10"]);
    assert_eq!(c.code("EXECUTE ins USING @a"), 1210);
    assert_eq!(c.code("EXECUTE other"), 1243);
    c.ok("SET @text = 'SELECT COUNT(*) FROM t WHERE b = ?'");
    c.ok("PREPARE q FROM @text");
    assert_eq!(c.one("EXECUTE q USING @b"), "2");
    c.ok("DEALLOCATE PREPARE q");
    assert_eq!(c.code("EXECUTE q USING @b"), 1243);
    assert_eq!(c.code("DEALLOCATE PREPARE q"), 1243);
    assert_eq!(c.code("PREPARE p FROM 'PREPARE x FROM \"SELECT 1\"'"), 1295);
    c.0.reset().unwrap();
    assert_eq!(c.code("EXECUTE ins USING @a, @b"), 1243);
    assert_eq!(c.one("SELECT @a"), "NULL");
}

#[test]
fn repeated_texts_follow_their_tables_too() {
    let db = TestDb::new();
    let mut c = db.client();
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    c.ok("CREATE DATABASE second");
    c.ok("CREATE TABLE second.t (x INT, y INT)");
    for _ in 0..4 {
        assert_eq!(c.ok("SELECT * FROM t").columns.len(), 1);
    }
    c.ok("USE second");
    for _ in 0..4 {
        assert_eq!(c.ok("SELECT * FROM t").columns.len(), 2);
    }
    c.ok("DROP TABLE second.t");
    assert_eq!(c.code("SELECT * FROM t"), 1146);
    c.ok("CREATE TABLE t (x INT, y INT, z INT)");
    assert_eq!(c.ok("SELECT * FROM t").columns.len(), 3);
    c.ok("DROP DATABASE second");
    assert_eq!(c.code("SELECT * FROM t"), 1046);
    assert_eq!(c.one("SELECT DATABASE()"), "NULL");
}

#[test]
fn sessions_share_statements_but_not_what_they_mean() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE DATABASE other");
    a.ok("CREATE TABLE test.t (id INT PRIMARY KEY, x VARCHAR(10))");
    a.ok("CREATE TABLE other.t (id INT PRIMARY KEY, x INT, y INT)");
    a.ok("INSERT INTO test.t VALUES (1, 'one')");
    a.ok("INSERT INTO other.t VALUES (1, 11, 12)");
    let hits = |c: &mut Client| -> u64 {
        let row = c.one("SHOW STATUS LIKE 'Statement_cache_hits'");
        row.rsplit('|')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    let select = "SELECT * FROM t WHERE id = 1";
    for _ in 0..2 {
        assert_eq!(a.one(select), "1|one");
    }
    // The first time in the session, and already known.
    let before = hits(&mut b);
    assert_eq!(b.one(select), "1|one");
    assert_eq!(hits(&mut b), before + 1);
    // The same text in another database, there and back.
    b.ok("USE other");
    for _ in 0..3 {
        assert_eq!(b.one(select), "1|11|12");
        assert_eq!(a.one(select), "1|one");
    }
    b.ok("USE test");
    assert_eq!(b.one(select), "1|one");
    // Another sql_mode, another meaning.
    let quoted = "SELECT \"x\" FROM t ORDER BY 1";
    b.ok("SET sql_mode = 'ANSI_QUOTES'");
    for _ in 0..3 {
        assert_eq!(a.one(quoted), "x");
        assert_eq!(b.one(quoted), "one");
    }
    b.ok("SET sql_mode = DEFAULT, time_zone = '+02:00', timestamp = 0");
    // The types of variables are a session's own.
    a.ok("SET @v = 1");
    b.ok("SET @v = 'text'");
    for _ in 0..3 {
        assert_eq!(a.one("SELECT @v + 1, @v"), "2|1");
        assert_eq!(b.one("SELECT @v"), "text");
        assert!(b.ok("SELECT @v").columns[0].ty.is_string());
        assert!(!a.ok("SELECT @v").columns[0].ty.is_string());
    }
    // A change by one is seen by all.
    a.ok("ALTER TABLE t ADD z INT DEFAULT 5");
    assert_eq!(b.one(select), "1|one|5");
    assert_eq!(a.one(select), "1|one|5");
    let p =
        b.0.prepare("SELECT * FROM t WHERE id = ?")
            .expect("prepare");
    a.ok("ALTER TABLE t DROP z");
    let q =
        b.0.prepare("SELECT * FROM t WHERE id = ?")
            .expect("prepare");
    assert_eq!((p.columns.len(), q.columns.len()), (3, 2));
    a.ok("DROP TABLE t");
    assert_eq!(b.code(select), 1146);
    assert_eq!(a.code(select), 1146);
}

#[test]
fn commands_take_parameters() {
    let db = TestDb::new();
    let mut c = db.client();
    let set = c.0.prepare("SET @a = ?, @b = ? + 1").expect("prepare");
    assert_eq!(set.params, 2);
    let mut sink = Collector::default();
    c.0.execute_prepared(&set, &[Value::str("x"), Value::Int(4)], &mut sink)
        .expect("execute");
    assert_eq!(c.one("SELECT @a, @b"), "x|5");
    let kill = c.0.prepare("KILL QUERY ?").expect("prepare");
    let ran =
        c.0.execute_prepared(&kill, &[Value::Int(1 << 30)], &mut sink);
    assert_eq!(ran.map_err(|e| e.code), Err(1094));
}

#[test]
fn placeholders_have_the_types_of_their_values() {
    use millpond_session::types::BaseType as B;
    let db = TestDb::new();
    let mut c = db.client();
    let p = c.0.prepare("SELECT ?, ? + 1, -?").expect("prepare");
    let mut run = |v: Value<'static>| {
        let mut sink = Collector::default();
        c.0.execute_prepared(&p, &[v.clone(), v.clone(), v], &mut sink)
            .expect("execute");
        let answer = sink.answers.pop().expect("an answer");
        let types: Vec<B> = answer.columns.iter().map(|c| c.ty.base).collect();
        (types, answer.rows[0].join("|"))
    };
    let decimal = Value::Decimal(value::Decimal::from_i128(150, 2));
    for (v, types, row) in [
        (Value::Int(7), [B::BigInt; 3], "7|8|-7"),
        (Value::Double(0.5), [B::Double; 3], "0.5|1.5|-0.5"),
        (
            Value::Int(i64::MAX - 1),
            [B::BigInt; 3],
            "9223372036854775806|9223372036854775807|-9223372036854775806",
        ),
        (decimal, [B::Decimal; 3], "1.50|2.50|-1.50"),
        (
            Value::str("4"),
            [B::LongText, B::Double, B::Double],
            "4|5|-4",
        ),
        (
            Value::Null,
            [B::LongText, B::Double, B::Double],
            "NULL|NULL|NULL",
        ),
    ] {
        assert_eq!(run(v), (types.to_vec(), row.to_string()));
    }
    c.ok("SET @n = 3");
    c.ok("PREPARE s FROM 'SELECT ? DIV 2, ? * 2'");
    assert_eq!(c.one("EXECUTE s USING @n, @n"), "1|6");
    c.ok("SET @n = 2.5");
    assert_eq!(c.one("EXECUTE s USING @n, @n"), "1|5.0");
}

#[test]
fn plans_serve_values_of_any_precision_and_null() {
    let db = TestDb::new();
    let (mut a, mut b) = (db.client(), db.client());
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, bal DECIMAL(20,2), n BIGINT)");
    a.ok("INSERT INTO t VALUES (1, 0, 0)");
    let decimal = |n| Value::Decimal(value::Decimal::from_i128(n, 2));
    let plans = |c: &mut Client| -> u64 {
        let shown = c.one("SHOW SESSION STATUS LIKE 'Statement_plans'");
        shown
            .split('|')
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("a number")
    };
    let update = "UPDATE t SET bal = bal + ?, n = n + ? WHERE id = ?";
    let run = |c: &mut Client, bal: Value<'static>, n: Value<'static>| {
        let p = c.0.prepare(update).expect("prepare");
        let params = [bal, n, Value::Int(1)];
        c.0.execute_prepared(&p, &params, &mut Collector::default())
            .expect("execute");
    };
    // What sessions share is a text met twice.
    run(&mut a, decimal(999), Value::Int(1));
    run(&mut a, decimal(1), Value::Int(0));
    let before = plans(&mut a);
    for bal in [1000, 950, 123_456_789, -5] {
        run(&mut a, decimal(bal), Value::Int(2));
    }
    assert_eq!(a.one("SELECT bal, n FROM t"), "1234597.34|9");
    let selected = plans(&mut a) - before;
    assert_eq!(selected, 1, "only the SELECT is planned");
    let p = a.0.prepare(update).expect("prepare");
    let before = plans(&mut a);
    for bal in [decimal(100), Value::Null, decimal(12_345), Value::Null] {
        let params = [bal, Value::Null, Value::Int(1)];
        a.0.execute_prepared(&p, &params, &mut Collector::default())
            .expect("execute");
    }
    assert_eq!(plans(&mut a) - before, 0);
    assert_eq!(a.one("SELECT bal IS NULL, n IS NULL FROM t"), "1|1");
    // Another session has the same plan.
    let before = plans(&mut b);
    run(&mut b, decimal(77), Value::Int(1));
    assert_eq!(plans(&mut b) - before, 0);
}

#[test]
fn every_variable_of_a_set_has_its_parameter() {
    let db = TestDb::new();
    let mut c = db.client();
    let prepared =
        c.0.prepare("SET @a = ?, @b = ? + 1, @c = @b + ?")
            .expect("prepare");
    assert_eq!(prepared.params, 3);
    let params = [Value::Int(4), Value::Int(7), Value::Int(10)];
    c.0.execute_prepared(&prepared, &params, &mut Collector::default())
        .expect("execute");
    assert_eq!(c.one("SELECT @a, @b, @c"), "4|8|18");
    let params = [Value::str("1"), Value::str("2"), Value::Null];
    c.0.execute_prepared(&prepared, &params, &mut Collector::default())
        .expect("execute");
    assert_eq!(c.one("SELECT @a, @b, @c"), "1|3|NULL");
    c.ok("PREPARE s FROM 'SET @a = ?, @b = ? + 1'");
    c.ok("SET @x = 5, @y = 6");
    c.ok("EXECUTE s USING @x, @y");
    assert_eq!(c.one("SELECT @a, @b"), "5|7");
}
