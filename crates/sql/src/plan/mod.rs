//! Physical plans: what a statement comes to once it is bound, rewritten and optimized, and EXPLAIN.
//!
//! | file | owns |
//! |---|---|
//! | `nodes` | the trees of queries |
//! | `dml` | the plans of INSERT, REPLACE, UPDATE, DELETE |
//! | `explain` | EXPLAIN's table |
//! | `tree` | EXPLAIN's tree, and EXPLAIN ANALYZE's |
//!
//! A [`Plan`] holds the tables it was made for. Running it pins them first, so a plan never meets a table
//! other than the one it was made for; nothing else in it depends on the transaction or on data.
//! Planning opens tables (shared metadata locks in the caller's transaction) and takes no other lock.

pub(crate) mod dml;
mod explain;
pub(crate) mod nodes;
pub(crate) mod tree;

use crate::bind::{self, Bound};
use crate::catalog::statistics::{self, TableStatistics};
use crate::error::{SqlError, SqlResult};
use crate::optimize;
use crate::parse::Statement;
use crate::parse::ast::{self, StatementKind};
use crate::result::ColumnMeta;
use crate::rewrite;
use crate::session::env::SessionEnv;
use crate::show::VirtualTable;
use crate::types::{BaseType, Collation, Schema, SqlType};
use crate::value::Value;
use crate::value::decimal::MAX_PRECISION;
use millpond_store::{Engine, Table, Txn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What planning needs.
pub struct PlanContext<'a> {
    /// The engine.
    pub engine: &'a Engine,
    /// Holds the metadata locks of the tables opened while planning.
    pub txn: &'a mut Txn,
    /// The session: current database, sql_mode, variables.
    pub env: &'a SessionEnv,
    /// Values of `?`, for the types of those that stand where any may; `None` if they are yet to come.
    pub params: Option<&'a [Value<'a>]>,
}

/// A statement ready to run, any number of times, in any transaction.
#[derive(Debug)]
pub struct Plan {
    /// Columns of its result set; empty if it has none.
    pub columns: Arc<[ColumnMeta]>,
    /// Number of `?` placeholders.
    pub params: usize,
    /// Whether it changes tables other than temporary ones.
    pub writes: bool,
    /// Whether it may be kept for other executions of the same text (false if something that only holds now
    /// was built into it).
    pub reusable: bool,
    /// Whether something of the session it was made for is part of it besides what
    /// `session::cache::Context` says: the type of a variable, the state of RAND(seed). Other sessions
    /// make their own.
    pub private: bool,
    /// The types that placeholders were taken to have where nothing around them says it: `None` for texts and NULL.
    pub(crate) param_types: Vec<(usize, Option<SqlType>)>,
    /// Placeholders compared with dates and years, and which.
    pub(crate) constant_params: Vec<(usize, BaseType)>,
    /// Placeholders compared with string columns, and whether they were taken to be texts or NULL.
    pub(crate) text_params: Vec<(usize, bool)>,
    /// The types that user variables had when it was made.
    variable_types: Vec<(Arc<str>, SqlType)>,
    /// Placeholders that stand where bytes are wanted.
    pub(crate) bytes_params: Vec<usize>,
    /// Whether it locks what it reads and does not change, if it would depend on the isolation level.
    locks_reads: Option<bool>,
    /// The tables it pins, with whether it writes to each.
    pub tables: Vec<PlanTable>,
    pub(crate) root: Root,
    pub(crate) derived: Vec<nodes::Derived>,
    pub(crate) subqueries: usize,
    pub(crate) hashes: usize,
    /// MAX_EXECUTION_TIME(n), milliseconds.
    pub(crate) time_limit: Option<u64>,
    /// EXPLAIN ANALYZE: it runs, and what is returned is how it went.
    pub(crate) analyzes: bool,
    /// A SELECT, not what SHOW and SET make.
    limitable: bool,
    /// SELECT ... INTO: names of user variables.
    pub(crate) into: Vec<String>,
    /// An execution read so many rows that the tables may have outgrown the plan.
    outgrown: AtomicBool,
    /// Rows an execution may read before that is looked into.
    patience: AtomicU64,
    /// [`statistics::generation`] when it was made, or last compared with what is known of its tables.
    generation: AtomicU64,
}

/// Rows an execution may read, at least, before it is asked whether the tables have outgrown the plan.
const OUTGROWN_ROWS: u64 = 200;
/// How many times the rows it was planned for a table has when it has outgrown its plan.
const OUTGROWN_FACTOR: u64 = 4;

/// A table of a plan.
pub struct PlanTable {
    /// The table.
    pub table: Arc<Table>,
    /// Whether the plan writes to it.
    pub write: bool,
    /// The names it goes by in the statement, and whether what has the name is written to.
    pub names: Vec<(Box<str>, bool)>,
    /// Its schema.
    pub schema: Arc<Schema>,
    /// Rows it was estimated to have when the plan was made.
    pub rows: u64,
    /// What was known of them.
    pub statistics: Arc<TableStatistics>,
}

impl PlanTable {
    /// Whether what it was planned with is far from what is so now, as told by its rows if `many` were read, by its statistics if
    /// some were taken (`renewed`).
    fn is_outgrown(&self, engine: &Engine, many: bool, renewed: bool) -> bool {
        let now = || crate::partition::estimate_rows(None, &self.table, &self.schema);
        if many && now() > self.rows.saturating_mul(OUTGROWN_FACTOR).max(OUTGROWN_ROWS) {
            return true;
        }
        // Statistics that cannot be read say nothing against the plan.
        renewed
            && statistics::of(engine, &self.table)
                .is_ok_and(|now| self.statistics.are_outgrown_by(&now.statistics))
    }
    /// Notes a name it goes by.
    pub(crate) fn goes_by(&mut self, name: &str, write: bool) {
        match self.names.iter_mut().find(|n| *n.0 == *name) {
            Some(known) => known.1 |= write,
            None => self.names.push((name.into(), write)),
        }
    }
}

impl std::fmt::Debug for PlanTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let d = self.table.def();
        write!(f, "{}.{}", d.database, d.name)
    }
}

/// What a plan does.
#[derive(Debug)]
pub(crate) enum Root {
    /// Returns rows.
    Query(nodes::Query),
    /// Evaluates and forgets.
    Do(nodes::Query),
    /// INSERT, REPLACE.
    Insert(Box<dml::Insert>),
    /// UPDATE.
    Update(Box<dml::Update>),
    /// DELETE.
    Delete(Box<dml::Delete>),
    /// UPDATE, DELETE of several tables.
    Several(Box<dml::MultiTableDml>),
    /// EXPLAIN: the rows.
    Explain(Vec<Vec<crate::Value<'static>>>),
}

impl Plan {
    /// Whether other values in place of the parameters would have made the same plan. Then it serves all statements
    /// that differ in their literals only ([`crate::parse::generalize`]).
    pub fn is_generic(&self) -> bool {
        match &self.root {
            Root::Query(q) => q.is_generic(),
            Root::Insert(i) => i.subqueries.is_empty(),
            Root::Update(u) => u.find.is_generic(),
            Root::Delete(d) => d.find.is_generic(),
            Root::Do(_) | Root::Several(_) | Root::Explain(_) => false,
        }
    }
    /// Whether it runs once per set of parameters: an INSERT of one row of VALUES.
    pub(crate) fn repeats(&self) -> bool {
        match &self.root {
            Root::Insert(i) => {
                matches!(&i.rows, dml::InsertRows::Values(rows) if rows.len() == 1)
            }
            _ => false,
        }
    }
    /// Notes how many rows an execution read. What was planned for an empty table may be a scan that is no longer
    /// a good idea.
    pub(crate) fn note_rows(&self, rows: u64) {
        if rows > self.patience.load(Ordering::Relaxed) {
            self.outgrown.store(true, Ordering::Relaxed);
            self.patience
                .store(rows.saturating_mul(2), Ordering::Relaxed);
        }
    }
    /// Whether a table has outgrown the plan. Asks the tables only after an execution that read many rows, or when statistics of any
    /// table have been taken.
    pub(crate) fn is_outgrown(&self, engine: &Engine) -> bool {
        let generation = statistics::generation();
        let renewed = self.generation.load(Ordering::Relaxed) != generation;
        let outgrown = self.outgrown.load(Ordering::Relaxed);
        if !renewed && !outgrown {
            return false;
        }
        self.generation.store(generation, Ordering::Relaxed);
        self.outgrown.store(false, Ordering::Relaxed);
        self.tables
            .iter()
            .any(|t| t.is_outgrown(engine, outgrown, renewed))
    }
    /// Whether it is right for the transaction's isolation level.
    #[inline]
    pub(crate) fn suits(&self, txn: &Txn) -> bool {
        self.locks_reads.is_none_or(|l| l == locks_reads(txn))
    }
    /// Whether it is right for these values of its placeholders and of the user variables.
    #[inline]
    pub(crate) fn fits(&self, params: &[Value<'_>], env: &SessionEnv) -> bool {
        let fits = |(n, ty): &(usize, Option<SqlType>)| match params.get(*n) {
            // NULL is of any type.
            Some(Value::Null) => true,
            Some(v) => param_type(v) == *ty,
            None => false,
        };
        let text = |(n, text): &(usize, bool)| match params.get(*n) {
            Some(Value::Null) => true,
            Some(v) => is_text(v) == *text,
            None => false,
        };
        self.param_types.iter().all(fits)
            && self.text_params.iter().all(text)
            && (self.variable_types.is_empty() || self.fits_variables(env))
    }
    fn fits_variables(&self, env: &SessionEnv) -> bool {
        let vars = env.user_vars.borrow();
        let fits = |(name, ty): &(Arc<str>, SqlType)| {
            vars.get(&**name)
                .is_none_or(|v| crate::expr::bind::is_of(v, ty))
        };
        self.variable_types.iter().all(fits)
    }
    /// Refuses values that cannot be what they are compared with, whether or not there are rows to compare.
    #[inline]
    pub(crate) fn check_params(&self, params: &[Value<'_>]) -> SqlResult<()> {
        for (n, base) in &self.constant_params {
            crate::expr::constant_beside(params[*n].borrowed(), *base)?;
        }
        Ok(())
    }
    /// Whether `sql_select_limit` bounds its rows: a SELECT without a LIMIT of its own.
    pub(crate) fn is_unlimited(&self) -> bool {
        match &self.root {
            Root::Query(q) => self.limitable && q.is_unlimited(),
            _ => false,
        }
    }
    /// Whether `sql_safe_updates` forbids it: it reads a table whose rows it changes neither by a key nor up to a LIMIT.
    pub(crate) fn is_reckless(&self) -> bool {
        let one = |b: &nodes::Block| b.limit.count.is_none() && !b.is_keyed(0);
        match &self.root {
            Root::Update(u) => one(&u.find),
            Root::Delete(d) => one(&d.find),
            Root::Several(s) => s.targets.iter().any(|t| !s.find.is_keyed(t.source)),
            _ => false,
        }
    }
    /// How many combinations of rows a SELECT would look at.
    pub(crate) fn combinations(&self) -> f64 {
        match &self.root {
            Root::Query(q) => q.combinations(),
            _ => 0.0,
        }
    }
    /// Whether it makes rows.
    pub(crate) fn is_insert(&self) -> bool {
        matches!(self.root, Root::Insert(_))
    }
    /// Whether it returns rows.
    pub fn is_query(&self) -> bool {
        !self.columns.is_empty()
    }
}

/// Whether statements that write lock what they only read in this transaction.
pub(crate) fn locks_reads(txn: &Txn) -> bool {
    use millpond_store::Isolation as I;
    !matches!(txn.isolation(), I::ReadCommitted | I::ReadUncommitted)
}

pub(crate) fn is_text(v: &Value<'_>) -> bool {
    matches!(v, Value::Null | Value::Bytes(_))
}

/// The type that a placeholder has by its value; `None` for texts and NULL, which any may be. Decimals differ in their scale only:
/// the digits before the point change from one execution to the next and no plan depends on them.
pub(crate) fn param_type(v: &Value<'_>) -> Option<SqlType> {
    match v {
        Value::Null | Value::Bytes(_) => None,
        Value::Decimal(d) => Some(SqlType::decimal(MAX_PRECISION, d.scale())),
        v => Some(crate::expr::bind::type_of(v, Collation::Binary)),
    }
}

/// Plans a statement for which [`Statement::is_planned`] holds.
pub fn compile(statement: &Statement, cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    let text = &statement.text;
    let mut plan = match statement.kind() {
        StatementKind::Explain(e) => explained(e, text, cx)?,
        kind => compile_kind(kind, text, cx)?,
    };
    plan.params = statement.params;
    plan.time_limit = statement.time_limit;
    Ok(plan)
}

/// Plans a statement that is, or is part of, this text.
fn compile_kind(kind: &StatementKind, text: &str, cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    let generation = statistics::generation();
    let bound = bind::statement(kind, text, cx)?;
    let mut plan = planned(bound, cx.env, text.contains(":="), generation)?;
    if let StatementKind::Query(q) = kind {
        plan.limitable = true;
        plan.into = bind::into_variables(q)?;
    }
    Ok(plan)
}

/// Plans `SELECT exprs` for SET, KILL and other places that evaluate expressions (subqueries allowed), of a statement with `params`
/// placeholders.
pub fn compile_exprs(
    list: &[&ast::Expr],
    params: usize,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Plan> {
    let assigns = list.iter().any(|e| e.to_string().contains(":="));
    let generation = statistics::generation();
    let bound = bind::expressions(list, cx)?;
    let plan = planned(bound, cx.env, assigns, generation)?;
    Ok(Plan { params, ..plan })
}

/// Plans `SELECT columns FROM table [WHERE filter]` over one virtual table, in its own order: what a SHOW statement
/// returns. `columns` are positions, with the heading each gets (`None`: its name). `Like` filters on
/// column `like`.
pub fn compile_virtual(
    table: Arc<dyn VirtualTable>,
    columns: &[(usize, Option<&str>)],
    like: usize,
    filter: Option<&ast::ShowFilter>,
    cx: &mut PlanContext<'_>,
) -> SqlResult<Plan> {
    let generation = statistics::generation();
    let bound = bind::over_virtual(table, columns, like, filter, cx)?;
    planned(bound, cx.env, true, generation)
}

/// From a bound statement to its plan. `assigns`: it may assign to user variables as it runs. `generation`: of the statistics, before
/// they were asked for.
fn planned(bound: Bound, env: &SessionEnv, assigns: bool, generation: u64) -> SqlResult<Plan> {
    let Bound {
        mut root,
        columns,
        mut arena,
        tables,
        notes,
    } = bound;
    rewrite::rewrite(&mut root, &mut arena, &tables, assigns);
    let optimized = optimize::optimize(root, arena, &tables, env, assigns)?;
    let root = optimized.root;
    // What a result's columns are must not depend on what other sessions execute. All else may: each execution asks whether the plan fits.
    let typed = !columns.is_empty() && !notes.param_types.is_empty();
    Ok(Plan {
        columns: columns.into(),
        params: 0,
        writes: !matches!(root, Root::Query(_) | Root::Do(_) | Root::Explain(_))
            && tables.iter().any(|t| t.write && !t.table.is_temporary()),
        reusable: !notes.momentary,
        private: notes.private || typed,
        param_types: notes.param_types,
        constant_params: notes.constant_params,
        text_params: notes.text_params,
        variable_types: notes.variable_types,
        bytes_params: notes.bytes_params,
        locks_reads: notes.locks_reads,
        tables,
        outgrown: AtomicBool::new(false),
        patience: AtomicU64::new(OUTGROWN_ROWS),
        generation: AtomicU64::new(generation),
        root,
        derived: optimized.derived,
        subqueries: optimized.subqueries,
        hashes: optimized.hashes,
        time_limit: None,
        analyzes: false,
        limitable: false,
        into: Vec::new(),
    })
}

fn explained(e: &ast::Explain, text: &str, cx: &mut PlanContext<'_>) -> SqlResult<Plan> {
    let generation = statistics::generation();
    let (format, kind) = explain::explainable(e)?;
    let inner = compile_kind(kind, text, cx)?;
    if format == explain::ExplainFormat::Analyze {
        return match inner.root {
            Root::Query(_) => Ok(Plan {
                columns: explain::text_heading().into(),
                reusable: false,
                private: true,
                analyzes: true,
                limitable: false,
                into: Vec::new(),
                ..inner
            }),
            _ => Err(SqlError::unsupported(
                "EXPLAIN ANALYZE of other statements than SELECT",
            )),
        };
    }
    let (columns, rows) = explain::explain(&inner, format, cx.env);
    Ok(Plan {
        columns: columns.into(),
        params: inner.params,
        writes: false,
        reusable: false,
        private: true,
        param_types: inner.param_types,
        constant_params: inner.constant_params,
        text_params: inner.text_params,
        variable_types: inner.variable_types,
        bytes_params: inner.bytes_params,
        locks_reads: inner.locks_reads,
        tables: inner.tables,
        outgrown: AtomicBool::new(false),
        patience: AtomicU64::new(OUTGROWN_ROWS),
        generation: AtomicU64::new(generation),
        root: Root::Explain(rows),
        derived: Vec::new(),
        subqueries: 0,
        hashes: 0,
        time_limit: None,
        analyzes: false,
        limitable: false,
        into: Vec::new(),
    })
}
