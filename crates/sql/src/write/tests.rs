use std::cell::RefCell;

use super::{Hooks, Images, PendingRow, RowListener, RowRule, WriteContext};
use crate::error::{SqlError, SqlResult};
use crate::row::decode_row;
use crate::tests::Database;
use crate::types::Schema;
use crate::value::{Value, Zone};

type Lines = RefCell<Vec<String>>;

/// Runs a statement with hooks.
fn run(f: &mut Database, sql: &str, hooks: &Hooks<'_>) -> SqlResult<()> {
    let plan = f.compile(sql);
    f.run(&plan, &[], hooks).map(|_| ())
}

fn text(schema: &Schema, image: Option<&[u8]>) -> String {
    let mut values = Vec::new();
    if let Some(image) = image {
        decode_row(schema, image, Zone::UTC, &mut values);
    }
    let shown = |v: &Value<'_>| String::from_utf8_lossy(&v.to_text()).into_owned();
    values.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Writes down images: table, before > after.
struct RowLog<'l>(&'l Lines);

impl RowListener for RowLog<'_> {
    fn written(&self, cx: &mut WriteContext<'_>, row: &Images<'_>) -> SqlResult<()> {
        let (before, after) = (text(row.schema, row.before), text(row.schema, row.after));
        let table = &cx.table.def().name;
        self.0
            .borrow_mut()
            .push(format!("{table}: {before} > {after}"));
        Ok(())
    }
}

#[test]
fn every_statement_gives_the_images_of_its_rows() {
    let mut f = Database::with_t();
    f.sql("create table p (id int primary key, a int) partition by range (id) (partition low values less than (10), partition high values less than maxvalue)");
    f.sql("create table u (id int primary key auto_increment, k int unique, n int)");
    f.sql("insert into t values (1, 1), (2, 2), (3, 3)");
    for (sql, images) in [
        (
            "insert into t values (4, 4), (5, 5)",
            &["t:  > 4 4", "t:  > 5 5"][..],
        ),
        (
            "insert into t select id + 10, a from t where id < 3",
            &["t:  > 11 1", "t:  > 12 2"],
        ),
        (
            "insert ignore into t values (1, 9), (20, 1)",
            &["t:  > 20 1"],
        ),
        (
            "replace into t values (1, 7), (21, 1)",
            &["t: 1 1 > ", "t:  > 1 7", "t:  > 21 1"],
        ),
        // The very same row stays.
        ("replace into t values (1, 7)", &[]),
        (
            "insert into t values (1, 0) on duplicate key update a = a + 1",
            &["t: 1 7 > 1 8"],
        ),
        (
            "insert into t values (1, 0) on duplicate key update a = a",
            &[],
        ),
        ("update t set a = 2 where id < 3", &["t: 1 8 > 1 2"]),
        (
            "update t set id = id + 100 where id = 20",
            &["t: 20 1 > 120 1"],
        ),
        (
            "delete from t where id > 20",
            &["t: 21 1 > ", "t: 120 1 > "],
        ),
        (
            "insert into u (k) values (7), (8)",
            &["u:  > 1 7 ", "u:  > 2 8 "],
        ),
        // One row in the way by its number, another by its other key.
        (
            "replace into u values (1, 8, 0)",
            &["u: 1 7  > ", "u: 2 8  > ", "u:  > 1 8 0"],
        ),
        (
            "insert into p select id, a from t where id < 4",
            &["p:  > 1 2", "p:  > 2 2", "p:  > 3 3"],
        ),
        // To another partition.
        ("update p set id = id + 10 where id = 3", &["p: 3 3 > 13 3"]),
        (
            "insert into p values (13, 0) on duplicate key update id = 4",
            &["p: 13 3 > 4 3"],
        ),
        ("update ignore p set id = 4 where id = 2", &[]),
        (
            "update t join p using (id) set t.a = 50, p.a = p.a + 1 where id < 3",
            &[
                "t: 1 2 > 1 50",
                "t: 2 2 > 2 50",
                "p: 1 2 > 1 3",
                "p: 2 2 > 2 3",
            ],
        ),
        // Nothing changes.
        ("update t join p using (id) set t.a = 50 where id < 3", &[]),
        (
            "delete t, p from t join p using (id) where id = 1",
            &["t: 1 50 > ", "p: 1 3 > "],
        ),
        // One row under two names.
        (
            "delete x, y from t x join t y using (id) where id = 2",
            &["t: 2 50 > "],
        ),
    ] {
        let lines = Lines::default();
        let log = RowLog(&lines);
        let hooks = Hooks {
            images: &[&log],
            ..Hooks::NONE
        };
        run(&mut f, sql, &hooks).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_eq!(lines.take(), images, "{sql}");
    }
}

/// A hook that notes that it was asked, and does something.
struct Step<'l> {
    name: &'static str,
    lines: &'l Lines,
    act: fn(&mut PendingRow<'_, '_>) -> SqlResult<()>,
}

impl RowRule for Step<'_> {
    fn apply(&self, _: &mut WriteContext<'_>, row: &mut PendingRow<'_, '_>) -> SqlResult<()> {
        self.lines.borrow_mut().push(self.name.into());
        (self.act)(row)
    }
}

impl RowListener for Step<'_> {
    fn written(&self, _: &mut WriteContext<'_>, _: &Images<'_>) -> SqlResult<()> {
        self.lines.borrow_mut().push(self.name.into());
        Ok(())
    }
}

fn step<'l>(name: &'static str, lines: &'l Lines) -> Step<'l> {
    Step {
        name,
        lines,
        act: |_| Ok(()),
    }
}

#[test]
fn hooks_come_in_order() {
    let mut f = Database::with_t();
    let lines = Lines::default();
    let [before, generated, check, after, images] =
        ["before", "generated", "check", "after", "images"].map(|n| step(n, &lines));
    let hooks = Hooks {
        before: &[&before],
        generated: &[&generated],
        check: &[&check],
        after: &[&after],
        images: &[&images],
    };
    let all = ["before", "generated", "check", "after", "images"];
    let deleted = ["before", "after", "images"];
    for (sql, stages) in [
        ("insert into t values (1, 1)", &[&all[..]][..]),
        ("update t set a = 2", &[&all]),
        ("update t set a = 2", &[&["before", "after"]]),
        (
            "insert into t values (1, 1) on duplicate key update a = 3",
            &[&all[..3], &all],
        ),
        (
            "replace into t values (1, 1)",
            &[&all[..3], &deleted, &["after", "images"]],
        ),
        // The same row again, for those who act on it.
        (
            "replace into t values (1, 1)",
            &[&all[..3], &deleted, &["after", "images"]],
        ),
        ("update t x join t y using (id) set x.a = 4", &[&all]),
        ("delete x from t x join t y using (id)", &[&deleted]),
        ("insert into t values (2, 2)", &[&all]),
        ("delete from t", &[&deleted]),
    ] {
        run(&mut f, sql, &hooks).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_eq!(lines.take(), stages.concat(), "{sql}");
    }
}

#[test]
fn rules_change_rows_and_refuse_them() {
    let mut f = Database::with_t();
    f.sql("create table u (id int primary key auto_increment, a int not null, b int not null)");
    let lines = Lines::default();
    let rule = |act| Step {
        act,
        ..step("", &lines)
    };
    // NULL is no error where a rule replaces it.
    let sets_a = rule(|row| row.set(1, Value::Int(7)));
    let doubles = rule(|row| {
        let a = row.after.as_ref().map_or(0, |r| r.values()[1].to_i64());
        row.set(2, Value::Int(2 * a))
    });
    let hooks = Hooks {
        before: &[&sets_a],
        generated: &[&doubles],
        ..Hooks::NONE
    };
    run(
        &mut f,
        "insert into u values (1, null, null), (2, null, 0)",
        &hooks,
    )
    .expect("inserted");
    let read = |f: &mut Database| {
        let p = f.compile("select * from u order by id");
        f.done(&p, &[]).1
    };
    assert_eq!(read(&mut f), [[1, 7, 14], [2, 7, 14]]);
    let alone = Hooks {
        before: &[&sets_a],
        ..Hooks::NONE
    };
    let e = run(&mut f, "insert into u values (3, null, null)", &alone);
    assert_eq!(e.map_err(|e| e.code), Err(1048));
    let e = run(&mut f, "insert into u values (3, null, 1)", &Hooks::NONE);
    assert_eq!(e.map_err(|e| e.code), Err(1048));
    // What a rule sets is converted as an assignment is.
    let too_large = rule(|row| row.set(1, Value::Int(1 << 40)));
    let hooks = Hooks {
        before: &[&too_large],
        ..Hooks::NONE
    };
    let e = run(&mut f, "update u set b = 1", &hooks);
    assert_eq!(e.map_err(|e| e.code), Err(1264));
    // A number that a rule gives is not generated, and none is used up by a row that is refused.
    let numbers = rule(|row| row.set(0, Value::Int(10)));
    let hooks = Hooks {
        before: &[&numbers],
        ..Hooks::NONE
    };
    run(&mut f, "insert into u (a, b) values (0, 0)", &hooks).expect("inserted");
    let refuses = rule(|_| Err(SqlError::new(3819, "Check constraint 'c' is violated.")));
    let hooks = Hooks {
        check: &[&refuses],
        ..Hooks::NONE
    };
    for sql in ["insert into u (a, b) values (1, 1)", "update u set a = 8"] {
        let e = run(&mut f, sql, &hooks);
        assert_eq!(e.map_err(|e| e.code), Err(3819), "{sql}");
    }
    run(&mut f, "insert into u (a, b) values (0, 0)", &Hooks::NONE).expect("inserted");
    assert_eq!(
        read(&mut f),
        [[1, 7, 14], [2, 7, 14], [10, 0, 0], [11, 0, 0]]
    );
    // A rule may keep a row from being deleted.
    let hooks = Hooks {
        before: &[&refuses],
        ..Hooks::NONE
    };
    assert!(run(&mut f, "delete from u", &hooks).is_err());
    assert_eq!(read(&mut f).len(), 4);
}
