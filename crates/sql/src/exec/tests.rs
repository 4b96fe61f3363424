//! Executions by what they answer and how they go.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use millpond_store::io::SimStorage;
use millpond_store::io::sim::{OpKind, Step};

use super::{Outcome, Run};
use crate::SqlError;
use crate::plan::Plan;
use crate::tests::Database;
use crate::value::Value;
use crate::write::Hooks;

impl Database {
    fn fill(&mut self, from: i64, to: i64) {
        let rows: Vec<String> = (from..to).map(|n| format!("({n}, {})", n % 100)).collect();
        self.sql(&format!("insert into t values {}", rows.join(",")));
    }
    fn ran(&mut self, plan: &Plan, params: &[Value<'_>]) -> Result<(Run, Vec<Vec<i64>>), SqlError> {
        self.run(plan, params, &Hooks::NONE)
    }
    pub fn done(&mut self, plan: &Plan, params: &[Value<'_>]) -> (Outcome, Vec<Vec<i64>>) {
        match self.ran(plan, params) {
            Ok((Run::Done(o), rows)) => (o, rows),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_plan_of_a_changed_table_is_stale() {
    let mut f = Database::with_t();
    f.fill(0, 5);
    let p = f.compile("select id from t where a = ?");
    assert_eq!(f.done(&p, &[Value::Int(3)]).1, [[3]]);
    f.sql("truncate t");
    assert!(matches!(f.ran(&p, &[Value::Int(3)]), Ok((Run::Stale, r)) if r.is_empty()));
    let p = f.compile("select id from t where a = ?");
    assert!(f.done(&p, &[Value::Int(3)]).1.is_empty());
    f.sql("rename table t to u");
    assert!(matches!(f.ran(&p, &[Value::Int(3)]), Ok((Run::Stale, _))));
}

#[test]
fn a_plan_made_for_an_empty_table_does_not_last() {
    let mut f = Database::with_t();
    let p = f.compile("select id from t where a + 0 = ?");
    assert!(f.done(&p, &[Value::Int(3)]).1.is_empty());
    f.fill(0, 3000);
    // The first execution that reads too much is the last.
    assert_eq!(f.done(&p, &[Value::Int(3)]).1.len(), 30);
    assert!(matches!(f.ran(&p, &[Value::Int(3)]), Ok((Run::Stale, _))));
    let p = f.compile("select id from t where a + 0 = ?");
    for _ in 0..5 {
        assert_eq!(f.done(&p, &[Value::Int(3)]).1.len(), 30);
    }
}

#[test]
fn a_killed_owner_stops_scanning() {
    let mut f = Database::with_t();
    f.fill(0, 3000);
    let p = f.compile("select count(*) from t x, t y where x.a + y.a = 1");
    f.owner.kill();
    assert_eq!(f.ran(&p, &[]).unwrap_err().code, 1317);
    f.owner.clear_kill();
    let p = f.compile("select count(*) from t where a = 1");
    assert_eq!(f.done(&p, &[]).1, [[30]]);
}

#[test]
fn parameters_must_be_given_and_limits_be_numbers() {
    let mut f = Database::with_t();
    f.fill(0, 10);
    let p = f.compile("select id from t order by id limit ? offset ?");
    assert_eq!(p.params, 2);
    assert_eq!(f.ran(&p, &[Value::Int(1)]).unwrap_err().code, 1210);
    assert_eq!(
        f.ran(&p, &[Value::Int(-1), Value::Int(0)])
            .unwrap_err()
            .code,
        1210
    );
    let (o, rows) = f.done(&p, &[Value::Int(2), Value::UInt(3)]);
    assert_eq!(rows, [[3], [4]]);
    assert_eq!((o.affected, o.found_rows), (2, 2));
    let p = f.compile("select sql_calc_found_rows id from t where id > 2 order by id limit 2");
    let (o, rows) = f.done(&p, &[]);
    assert_eq!(rows, [[3], [4]]);
    assert_eq!(o.found_rows, 7);
}

#[test]
fn derived_tables_stay_within_memory() {
    let mut f = Database::with_t();
    f.fill(0, 3000);
    f.memory_limit = 10_000;
    // Read once by the outermost loop: nothing is kept.
    let p = f.compile("select count(*) from (select id from t) q where id > 5");
    assert_eq!(f.done(&p, &[]).1, [[2994]]);
    let p = f.compile(
        "select count(*) from t x join (select distinct id + 0 k from t) q on x.a + 0 = q.k + 0",
    );
    assert_eq!(f.done(&p, &[]).1, [[3000]]);
    // Sorting goes to disk.
    let p = f.compile("select id from t order by a desc, id");
    assert_eq!(f.done(&p, &[]).1.len(), 3000);
}

#[test]
fn exists_keeps_its_rows_where_that_helps_and_can() {
    let mut f = Database::with_t();
    f.fill(0, 3000);
    let read = |f: &mut Database, sql: &str, found: i64| {
        let p = f.compile(sql);
        let before = f.env.rows_examined.get();
        assert_eq!(f.done(&p, &[]).1, [[found]], "{sql}");
        f.env.rows_examined.get() - before
    };
    let one = "exists (select 1 from t y where y.a + 1 = x.a + 1)";
    let two = "exists (select 1 from t y where y.a + 1 = x.a + 1 and y.id + 1 = x.id + 1)";
    for condition in [one, two] {
        // One row around it: up to the first that is equal.
        let sql = format!("select count(*) from t x where x.id = 7 and {condition}");
        assert!(read(&mut f, &sql, 1) < 300, "{condition}");
        // Many: once for all.
        let sql = format!("select count(*) from t x where {condition}");
        assert!(read(&mut f, &sql, 3000) < 10_000, "{condition}");
        // The same where it is no join.
        let sql = format!("select count(*) from t x where x.id = 7 and ({condition}) is true");
        assert!(read(&mut f, &sql, 1) < 300, "{condition}");
        let sql = format!("select count(*) from t x where ({condition}) is true");
        assert!(read(&mut f, &sql, 3000) < 10_000, "{condition}");
    }
    f.memory_limit = 10_000;
    for condition in [one, two] {
        let sql = format!("select count(*) from t x where x.id < 20 and ({condition}) is true");
        read(&mut f, &sql, 20);
        let sql = format!("select count(*) from t x where x.id < 20 and ({condition}) is false");
        read(&mut f, &sql, 0);
    }
    // A plan made for few rows serves as many as there come to be.
    f.memory_limit = 1 << 20;
    f.sql("create table u (id int primary key, k int)");
    f.analyze("u");
    let p = f.compile(
        "select count(*) from t x where x.id < 5 and exists (select 1 from u where u.k = x.a)",
    );
    assert_eq!(f.done(&p, &[]).1, [[0]]);
    f.sql("insert into u select id, id + 3 from t");
    assert_eq!(f.done(&p, &[]).1, [[2]]);
}

#[test]
fn a_plan_whose_tables_have_grown_does_not_last() {
    let mut f = Database::with_t();
    f.memory_limit = 10_000;
    let p = f.compile(
        "select count(*) from t x join (select distinct id + 0 k from t) q on x.a + 0 = q.k + 0",
    );
    assert_eq!(f.done(&p, &[]).1, [[0]]);
    f.fill(0, 3000);
    assert_eq!(f.done(&p, &[]).1, [[3000]]);
    assert!(matches!(f.ran(&p, &[]), Ok((Run::Stale, _))));
}

#[test]
fn outcomes_of_changes() {
    let mut f = Database::with_t();
    f.fill(0, 10);
    let p = f.compile("update t set a = 5 where id < 6");
    let (o, _) = f.done(&p, &[]);
    // One of the six had the value already.
    assert_eq!(o.affected, 5);
    assert_eq!(o.info, "Rows matched: 6  Changed: 5  Warnings: 0");
    let p = f.compile(
        "insert into t values (?, ?), (20, 1), (?, 2) on duplicate key update a = values(a) + 1",
    );
    let values = [Value::Int(1), Value::Int(7), Value::Int(2)];
    let (o, _) = f.done(&p, &values);
    assert_eq!(o.affected, 5);
    // The warning is about values().
    assert_eq!(o.info, "Records: 3  Duplicates: 2  Warnings: 1");
    // Two of the three are what they would become.
    let (o, _) = f.done(&p, &values);
    assert_eq!(o.affected, 2);
    assert!(
        o.info.starts_with("Records: 3  Duplicates: 1 "),
        "{}",
        o.info
    );
    let p = f.compile("delete from t where a = 5 order by id desc limit 1");
    assert_eq!(f.done(&p, &[]).0.affected, 1);
    let p = f.compile("select id from t where a in (5, 8, 3) order by id");
    assert_eq!(f.done(&p, &[]).1, [[0], [1], [2], [3], [4], [8]]);
}

#[test]
fn a_join_on_disk_reads_each_side_once() {
    let storage = SimStorage::new();
    let mut f = Database::over(Arc::new(storage.clone()), PathBuf::new());
    f.sql("create table t (id int primary key, a int, pad varchar(100))");
    f.sql("insert into t values (0, 0, repeat('p', 100))");
    for n in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048] {
        f.sql(&format!(
            "insert into t select id + {n}, (id + {n}) * 5 % 1024, pad from t"
        ));
    }
    f.analyze("t");
    let p = f.compile("select count(*), sum(y.id) from t x straight_join t y on y.a = x.id");
    let sums = [4096, 4095 * 4096 / 2];
    assert_eq!(f.done(&p, &[]).1, [sums]);
    f.memory_limit = 16 << 10;
    let reads = Arc::new(AtomicUsize::new(0));
    let count = reads.clone();
    storage.on_step(move |kind, name| {
        if kind == OpKind::Read && name.starts_with("tmp/") {
            count.fetch_add(1, Relaxed);
        }
        Step::Go
    });
    assert_eq!(f.done(&p, &[]).1, [sums]);
    let reads = reads.load(Relaxed);
    // Half a megabyte in blocks of 16 KiB, and the runs of two sorts.
    assert!(reads > 30 && reads < 150, "{reads}");
}
