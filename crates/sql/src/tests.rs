//! A database for unit tests, without a session: statements are parsed, planned and run, or carried out as DDL.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use millpond_store::io::{RealStorage, Storage};
use millpond_store::{Engine, Isolation, Options, Owner, Txn};

use crate::computed::Codecs;
use crate::ddl::Ddl;
use crate::env::SessionEnv;
use crate::env::tests::env;
use crate::error::{SqlError, SqlResult};
use crate::exec::{DmlOptions, ExecContext, Limits, Run, Scratch, run};
use crate::memory::{MemoryAccount, ServerMemory};
use crate::parse::parse_one;
use crate::plan::Plan;
use crate::planner::{PlanContext, compile};
use crate::result::{ColumnMeta, Completion, ResultSink};
use crate::statistics::{self, Settings};
use crate::value::Value;
use crate::write::Hooks;

/// A database `d`, in use. Nobody measures its tables in the background.
pub struct Database {
    path: PathBuf,
    pub engine: Engine,
    pub owner: Arc<Owner>,
    pub env: SessionEnv,
    pub scratch: Scratch,
    /// Bytes that a buffer may take before it goes to disk.
    pub memory_limit: usize,
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Rows of integers that a statement sends.
#[derive(Default)]
pub struct Rows(pub Vec<Vec<i64>>);

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

impl Database {
    pub fn new() -> Database {
        let path = std::env::temp_dir().join(format!(
            "millpond-sql-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        let _ = std::fs::remove_dir_all(&path);
        let storage = RealStorage::new(&path).expect("a data directory");
        Database::over(Arc::new(storage), path)
    }

    /// One in a directory; `path` is removed when it is dropped.
    pub fn over(storage: Arc<dyn Storage>, path: PathBuf) -> Database {
        let options = Options {
            pool_bytes: 8 << 20,
            log_bytes: 16 << 20,
            ..Default::default()
        };
        let engine = Engine::open(storage, options, Arc::new(Codecs)).expect("open");
        let mut env = env();
        env.sys_var = Box::new(|_, name| match name {
            "collation_server" => Ok(Value::str("utf8mb4_general_ci")),
            "sql_require_primary_key" => Ok(Value::Int(0)),
            _ => Err(SqlError::new(1193, name)),
        });
        let mut d = Database {
            path,
            owner: engine.owner(),
            engine,
            env,
            scratch: Scratch::default(),
            memory_limit: 1 << 20,
        };
        d.sql("create database d");
        *d.env.database.borrow_mut() = Some("d".into());
        d
    }

    /// One with a table `t`, measured while it is empty.
    pub fn with_t() -> Database {
        let mut d = Database::new();
        d.sql("create table t (id int primary key, a int, key (a))");
        d.analyze("t");
        d
    }

    /// Runs a statement that must succeed.
    pub fn sql(&mut self, sql: &str) {
        let statement = parse_one(sql, self.env.sql_mode.get()).expect("parse");
        let r = if statement.is_planned() {
            let plan = self.compile(sql);
            self.run(&plan, &[], &Hooks::NONE).map(drop)
        } else {
            let ddl = Ddl {
                engine: &self.engine,
                owner: &self.owner,
                env: &self.env,
                mode: 0,
                tables_locked: false,
            };
            ddl.execute(statement.kind()).map(drop)
        };
        assert!(r.is_ok(), "{sql}: {r:?}");
    }

    /// Measures a table, so that nobody does so for the first time later.
    pub fn analyze(&self, table: &str) {
        let open = |txn: &mut Txn| Ok(self.engine.open_table(txn, "d", table).expect("a table"));
        let settings = Settings {
            persistent: true,
            auto_recalc: false,
            persistent_pages: 20,
            transient_pages: 8,
        };
        statistics::take(&self.engine, &self.owner, &open, settings).expect("analyze");
    }

    /// A statement's plan.
    pub fn compile(&self, sql: &str) -> Plan {
        let statement = parse_one(sql, self.env.sql_mode.get()).expect("parse");
        let plan = self.planning(|cx| compile(&statement, cx));
        plan.unwrap_or_else(|e| panic!("{sql}: {e:?}"))
    }

    /// Calls `f` with what planning needs.
    pub fn planning<R>(&self, f: impl FnOnce(&mut PlanContext<'_>) -> R) -> R {
        let mut txn = self.engine.begin(&self.owner, Isolation::RepeatableRead);
        let r = f(&mut PlanContext {
            engine: &self.engine,
            txn: &mut txn,
            env: &self.env,
            params: None,
            peek: false,
            locals: None,
        });
        self.engine.commit(txn).expect("commit");
        r
    }

    /// Runs a plan with hooks on the rows that it writes.
    pub fn run(
        &mut self,
        plan: &Plan,
        params: &[Value<'_>],
        hooks: &Hooks<'_>,
    ) -> SqlResult<(Run, Vec<Vec<i64>>)> {
        let mut txn = self.engine.begin(&self.owner, Isolation::RepeatableRead);
        let mut rows = Rows::default();
        let r = run(
            plan,
            &mut ExecContext {
                engine: &self.engine,
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
            Ok(_) => self.engine.commit(txn).expect("commit"),
            Err(_) => self.engine.rollback(txn).expect("rollback"),
        }
        r.map(|r| (r, rows.0))
    }
}
