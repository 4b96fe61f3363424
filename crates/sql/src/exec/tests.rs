use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use millpond_store::{Isolation, Owner};

use super::{DmlOptions, ExecContext, Limits, Outcome, Run, Scratch, run};
use crate::env::SessionEnv;
use crate::env::tests::env;
use crate::memory::{MemoryAccount, ServerMemory};
use crate::parse::parse_one;
use crate::plan::Plan;
use crate::planner::{PlanContext, compile};
use crate::result::{ColumnMeta, Completion, ResultSink};
use crate::value::Value;
use crate::write::Hooks;
use crate::{ConnectionInfo, Instance, InstanceOptions, Session, SqlError};

/// A database, and what plans need, without a session between.
pub struct Fixture {
    path: PathBuf,
    instance: Instance,
    session: Session,
    owner: Arc<Owner>,
    env: SessionEnv,
    scratch: Scratch,
    memory_limit: usize,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[derive(Default)]
struct Rows(Vec<Vec<i64>>);

impl ResultSink for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        self.0.push(row.iter().map(Value::to_i64).collect());
        Ok(())
    }
    fn finish(&mut self, _: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Fixture {
    pub fn new() -> Fixture {
        let path = std::env::temp_dir().join(format!(
            "millpond-exec-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        let _ = std::fs::remove_dir_all(&path);
        let instance = Instance::open(InstanceOptions {
            path: path.clone(),
            store: millpond_store::Options {
                pool_bytes: 8 << 20,
                log_bytes: 16 << 20,
                ..Default::default()
            },
            variables: Vec::new(),
        })
        .expect("open");
        let info = ConnectionInfo {
            user: "root".into(),
            host: "localhost".into(),
            ..Default::default()
        };
        let session = instance.connect(info).expect("connect");
        let owner = instance.engine().owner();
        let env = env();
        *env.database.borrow_mut() = Some("d".into());
        let mut f = Fixture {
            path,
            instance,
            session,
            owner,
            env,
            scratch: Scratch::default(),
            memory_limit: 1 << 20,
        };
        // Tables measured in the background would outgrow plans before what is read does.
        f.sql("set global innodb_stats_auto_recalc = off");
        f.sql("create database d");
        f.sql("use d");
        f.sql("create table t (id int primary key, a int, key (a))");
        // Nor does anybody measure it for the first time.
        f.sql("analyze table t");
        f
    }
    pub fn sql(&mut self, sql: &str) {
        let r = self.session.execute(sql, &mut Rows::default());
        assert!(r.is_ok(), "{sql}: {r:?}");
    }
    fn fill(&mut self, from: i64, to: i64) {
        let rows: Vec<String> = (from..to).map(|n| format!("({n}, {})", n % 100)).collect();
        self.sql(&format!("insert into t values {}", rows.join(",")));
    }
    pub fn compile(&mut self, sql: &str) -> Plan {
        let engine = self.instance.engine().clone();
        let statement = parse_one(sql, self.env.sql_mode.get()).expect("parse");
        let mut txn = engine.begin(&self.owner, Isolation::RepeatableRead);
        let plan = compile(
            &statement,
            &mut PlanContext {
                engine: &engine,
                txn: &mut txn,
                env: &self.env,
                params: None,
            },
        );
        engine.commit(txn).expect("commit");
        plan.expect("compile")
    }
    fn run(&mut self, plan: &Plan, params: &[Value<'_>]) -> Result<(Run, Vec<Vec<i64>>), SqlError> {
        self.run_with(plan, params, &Hooks::NONE)
    }
    /// Runs a plan with hooks on the rows that it writes.
    pub fn run_with(
        &mut self,
        plan: &Plan,
        params: &[Value<'_>],
        hooks: &Hooks<'_>,
    ) -> Result<(Run, Vec<Vec<i64>>), SqlError> {
        let engine = self.instance.engine().clone();
        let mut txn = engine.begin(&self.owner, Isolation::RepeatableRead);
        let mut rows = Rows::default();
        let r = run(
            plan,
            &mut ExecContext {
                engine: &engine,
                txn: &mut txn,
                env: &self.env,
                owner: &self.owner,
                params,
                lock_reads: false,
                dml: DmlOptions {
                    hooks,
                    ..DmlOptions::default()
                },
                memory: &MemoryAccount::new(&Arc::new(ServerMemory::new(64 << 20))),
                limits: Limits::all(self.memory_limit),
                select_limit: u64::MAX,
                scratch: &mut self.scratch,
            },
            &mut rows,
        );
        match &r {
            Ok(_) => engine.commit(txn).expect("commit"),
            Err(_) => engine.rollback(txn).expect("rollback"),
        }
        r.map(|r| (r, rows.0))
    }
    pub fn done(&mut self, plan: &Plan, params: &[Value<'_>]) -> (Outcome, Vec<Vec<i64>>) {
        match self.run(plan, params) {
            Ok((Run::Done(o), rows)) => (o, rows),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_plan_of_a_changed_table_is_stale() {
    let mut f = Fixture::new();
    f.fill(0, 5);
    let p = f.compile("select id from t where a = ?");
    assert_eq!(f.done(&p, &[Value::Int(3)]).1, [[3]]);
    f.sql("truncate t");
    assert!(matches!(f.run(&p, &[Value::Int(3)]), Ok((Run::Stale, r)) if r.is_empty()));
    let p = f.compile("select id from t where a = ?");
    assert!(f.done(&p, &[Value::Int(3)]).1.is_empty());
    f.sql("rename table t to u");
    assert!(matches!(f.run(&p, &[Value::Int(3)]), Ok((Run::Stale, _))));
}

#[test]
fn a_plan_made_for_an_empty_table_does_not_last() {
    let mut f = Fixture::new();
    let p = f.compile("select id from t where a + 0 = ?");
    assert!(f.done(&p, &[Value::Int(3)]).1.is_empty());
    f.fill(0, 3000);
    // The first execution that reads too much is the last.
    assert_eq!(f.done(&p, &[Value::Int(3)]).1.len(), 30);
    assert!(matches!(f.run(&p, &[Value::Int(3)]), Ok((Run::Stale, _))));
    let p = f.compile("select id from t where a + 0 = ?");
    for _ in 0..5 {
        assert_eq!(f.done(&p, &[Value::Int(3)]).1.len(), 30);
    }
}

#[test]
fn a_killed_owner_stops_scanning() {
    let mut f = Fixture::new();
    f.fill(0, 3000);
    let p = f.compile("select count(*) from t x, t y where x.a + y.a = 1");
    f.owner.kill();
    assert_eq!(f.run(&p, &[]).unwrap_err().code, 1317);
    f.owner.clear_kill();
    let p = f.compile("select count(*) from t where a = 1");
    assert_eq!(f.done(&p, &[]).1, [[30]]);
}

#[test]
fn parameters_must_be_given_and_limits_be_numbers() {
    let mut f = Fixture::new();
    f.fill(0, 10);
    let p = f.compile("select id from t order by id limit ? offset ?");
    assert_eq!(p.params, 2);
    assert_eq!(f.run(&p, &[Value::Int(1)]).unwrap_err().code, 1210);
    assert_eq!(
        f.run(&p, &[Value::Int(-1), Value::Int(0)])
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
    let mut f = Fixture::new();
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
    let mut f = Fixture::new();
    f.fill(0, 3000);
    let read = |f: &mut Fixture, sql: &str, found: i64| {
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
    f.sql("analyze table u");
    let p = f.compile(
        "select count(*) from t x where x.id < 5 and exists (select 1 from u where u.k = x.a)",
    );
    assert_eq!(f.done(&p, &[]).1, [[0]]);
    f.sql("insert into u select id, id + 3 from t");
    assert_eq!(f.done(&p, &[]).1, [[2]]);
}

#[test]
fn a_plan_whose_tables_have_grown_does_not_last() {
    let mut f = Fixture::new();
    f.memory_limit = 10_000;
    let p = f.compile(
        "select count(*) from t x join (select distinct id + 0 k from t) q on x.a + 0 = q.k + 0",
    );
    assert_eq!(f.done(&p, &[]).1, [[0]]);
    f.fill(0, 3000);
    assert_eq!(f.done(&p, &[]).1, [[3000]]);
    assert!(matches!(f.run(&p, &[]), Ok((Run::Stale, _))));
}

#[test]
fn outcomes_of_changes() {
    let mut f = Fixture::new();
    f.fill(0, 10);
    let p = f.compile("update t set a = 5 where id < 6");
    let (o, _) = f.done(&p, &[]);
    // One of the six had the value already.
    assert_eq!(o.affected, 5);
    assert_eq!(o.info, "Rows matched: 6  Changed: 5  Warnings: 0");
    let p = f.compile(
        "insert into t values (?, ?), (20, 1), (?, 2) on duplicate key update a = values(a) + 1",
    );
    let (o, _) = f.done(&p, &[Value::Int(1), Value::Int(7), Value::Int(2)]);
    assert_eq!(o.affected, 5);
    assert_eq!(o.info, "Records: 3  Duplicates: 2  Warnings: 0");
    let p = f.compile("delete from t where a = 5 order by id desc limit 1");
    assert_eq!(f.done(&p, &[]).0.affected, 1);
    let p = f.compile("select id from t where a in (5, 8, 3) order by id");
    assert_eq!(f.done(&p, &[]).1, [[0], [1], [2], [3], [4], [8]]);
}
