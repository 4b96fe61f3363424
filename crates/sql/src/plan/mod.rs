//! Physical plans: what the optimizer makes and the executor runs.
//!
//! | file | owns |
//! |---|---|
//! | `nodes` | the trees of queries |
//! | `dml` | the plans of INSERT, REPLACE, UPDATE, DELETE |
//! | `ranges` | an access path's conditions, with values, as ranges of index keys |
//! | `assumptions` | what a plan takes for granted of its placeholders' values |
//! | `shape` | how a plan finds its rows, for statistics of statements |
//!
//! A [`Plan`] holds the tables it was made for. Running it pins them first, so a plan never meets a table
//! other than the one it was made for; nothing else in it depends on the transaction or on data. It says whether it is still
//! right, and never how it came about.

pub mod assumptions;
pub(crate) mod dml;
pub(crate) mod nodes;
pub(crate) mod ranges;
mod shape;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use millpond_store::{Engine, Txn};

use crate::env::SessionEnv;
use crate::env::privileges::Need;
use crate::error::SqlResult;
use crate::expr::Expr;
use crate::expr::bind::coercion::not_converted;
use crate::expr::bind::{is_of, no_date};
use crate::expr::param::{is_text, param_type};
use crate::logical::{IntoFile, Notes, OUTGROWN_ROWS, PlanTable};
use crate::result::ColumnMeta;
use crate::statistics;
use crate::types::SqlType;
use crate::value::Value;
use crate::value::family::beside;
use crate::write::foreign_keys::{Relations, Written};
use crate::write::locks_reads;
use assumptions::{Assumption, Rests};

pub use shape::Shape;

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
    /// Whether something of the session it was made for is part of it (`Notes::private`). Other sessions make their own.
    pub private: bool,
    /// The privileges that it needs.
    needs: Box<[Need]>,
    /// What was taken for granted when it was made.
    notes: Notes,
    /// The tables it pins, with whether it writes to each.
    pub tables: Vec<PlanTable>,
    pub(crate) root: Root,
    pub(crate) derived: Vec<nodes::Derived>,
    pub(crate) subqueries: usize,
    pub(crate) hashes: usize,
    /// How it finds its rows.
    pub shape: Shape,
    /// MAX_EXECUTION_TIME(n), milliseconds.
    pub time_limit: Option<u64>,
    /// EXPLAIN ANALYZE: it runs, and what is returned is how it went.
    pub(crate) analyzes: bool,
    /// A SELECT, not what SHOW and SET make.
    limitable: bool,
    /// What it rests on.
    rests: Rests,
    /// The tables that its rows have to do with by foreign keys, if it writes to such.
    pub(crate) relations: Option<Box<Relations>>,
    /// SELECT ... INTO: where the row goes.
    pub(crate) into: Vec<IntoVariable>,
    /// SELECT ... INTO OUTFILE, DUMPFILE.
    pub(crate) into_file: Option<Box<IntoFile>>,
    /// An execution read so many rows that the tables may have outgrown the plan.
    outgrown: AtomicBool,
    /// Rows an execution may read before that is looked into.
    patience: AtomicU64,
    /// [`statistics::generation`] when it was made, or last compared with what is known of its tables.
    generation: AtomicU64,
}

/// What SELECT ... INTO assigns to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IntoVariable {
    /// A user variable, by its name in lower case.
    User(String),
    /// A local variable, by its slot.
    Local(usize),
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
    Explain(Vec<Vec<Value<'static>>>),
}

impl Root {
    /// Whether it is a statement with IGNORE.
    pub fn ignores(&self) -> bool {
        match self {
            Root::Insert(i) => i.ignore,
            Root::Update(u) => u.ignore,
            Root::Delete(d) => d.ignore,
            Root::Several(s) => s.ignore,
            Root::Query(_) | Root::Do(_) | Root::Explain(_) => false,
        }
    }
}

/// What the optimizer makes of a statement.
pub(crate) struct Optimized {
    /// What it does.
    pub root: Root,
    /// Its derived tables.
    pub derived: Vec<nodes::Derived>,
    /// How many subqueries it has.
    pub subqueries: usize,
    /// How many hash joins it has.
    pub hashes: usize,
}

impl Plan {
    /// Puts one together. `generation`: of the statistics, before they were asked for.
    pub(crate) fn new(
        optimized: Optimized,
        columns: Vec<ColumnMeta>,
        tables: Vec<PlanTable>,
        notes: Notes,
        needs: Box<[Need]>,
        generation: u64,
    ) -> Plan {
        let root = optimized.root;
        // What a result's columns are must not depend on what other sessions execute. All else may: each execution asks whether the plan fits.
        let typed = !columns.is_empty() && !notes.param_types.is_empty();
        Plan {
            columns: columns.into(),
            params: 0,
            writes: !matches!(root, Root::Query(_) | Root::Do(_) | Root::Explain(_))
                && tables.iter().any(|t| t.write && !t.table.is_temporary()),
            reusable: !notes.momentary,
            private: notes.private || typed,
            needs,
            notes,
            tables,
            outgrown: AtomicBool::new(false),
            patience: AtomicU64::new(OUTGROWN_ROWS),
            generation: AtomicU64::new(generation),
            shape: Shape::of(&root, &optimized.derived),
            root,
            derived: optimized.derived,
            subqueries: optimized.subqueries,
            hashes: optimized.hashes,
            time_limit: None,
            analyzes: false,
            limitable: false,
            rests: Rests::OnNothing,
            relations: None,
            into: Vec::new(),
            into_file: None,
        }
    }
    /// One that rests on this.
    pub(crate) fn resting(mut self, on: Rests) -> Plan {
        self.rests = if matches!(on, Rests::OnConstants) {
            on
        } else if self.is_generic() {
            Rests::OnNothing
        } else {
            on
        };
        self
    }
    /// What it does to rows of the database's tables.
    pub(crate) fn written(&self) -> Vec<Written<'_>> {
        let stored = |w: &Written<'_>| !w.table.is_temporary();
        let all: Vec<Written<'_>> = match &self.root {
            Root::Insert(i) => {
                let set = i.update.iter().flatten().map(|(c, _)| *c);
                vec![self.written_to(i.table, true, i.replace, set)]
            }
            Root::Update(u) => {
                vec![self.written_to(u.table, false, false, u.set.iter().map(|(c, _)| *c))]
            }
            Root::Delete(d) => vec![self.written_to(d.table, false, true, std::iter::empty())],
            Root::Several(s) => {
                let one = |t: &dml::Target| {
                    self.written_to(t.table, false, s.deletes, t.set.iter().map(|(c, _)| *c))
                };
                s.targets.iter().map(one).collect()
            }
            Root::Query(_) | Root::Do(_) | Root::Explain(_) => Vec::new(),
        };
        all.into_iter().filter(stored).collect()
    }
    fn written_to(
        &self,
        table: usize,
        inserts: bool,
        deletes: bool,
        set: impl Iterator<Item = usize>,
    ) -> Written<'_> {
        let t = &self.tables[table];
        let mut updates: Vec<usize> = set.collect();
        if !updates.is_empty() {
            let columns = t.schema.columns.iter().enumerate();
            updates.extend(columns.filter(|(_, c)| c.on_update_now).map(|(n, _)| n));
        }
        Written {
            table: &t.table,
            schema: &t.schema,
            inserts,
            deletes,
            updates,
        }
    }
    /// A SELECT as it was written, and the variables or the file of its INTO.
    pub(crate) fn selecting(
        mut self,
        into: Vec<IntoVariable>,
        into_file: Option<Box<IntoFile>>,
    ) -> Plan {
        self.limitable = true;
        self.into = into;
        self.into_file = into_file;
        self
    }
    /// The same, to be run for how it goes (EXPLAIN ANALYZE).
    pub(crate) fn analyzing(self, columns: Vec<ColumnMeta>) -> Plan {
        Plan {
            columns: columns.into(),
            reusable: false,
            private: true,
            analyzes: true,
            limitable: false,
            into: Vec::new(),
            into_file: None,
            ..self
        }
    }
    /// One that returns these rows about this one (EXPLAIN), for the same tables.
    pub(crate) fn explained(
        self,
        columns: Vec<ColumnMeta>,
        rows: Vec<Vec<Value<'static>>>,
    ) -> Plan {
        Plan {
            columns: columns.into(),
            writes: false,
            reusable: false,
            private: true,
            root: Root::Explain(rows),
            shape: Shape::default(),
            derived: Vec::new(),
            subqueries: 0,
            hashes: 0,
            analyzes: false,
            limitable: false,
            into: Vec::new(),
            into_file: None,
            ..self
        }
    }
    /// The privileges that whoever runs it needs.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }
    /// Placeholders that stand where bytes are wanted.
    pub fn bytes_params(&self) -> &[usize] {
        &self.notes.bytes_params
    }
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
    /// Whether other values may do with it, as far as its assumptions hold for them.
    pub fn is_shareable(&self) -> bool {
        match self.rests {
            Rests::On(_) => true,
            Rests::OnConstants => false,
            Rests::OnNothing | Rests::OnValues => self.is_generic(),
        }
    }
    /// Whether it was made without a look at values that it depends on.
    pub fn is_blind(&self) -> bool {
        self.params > 0 && matches!(self.rests, Rests::OnNothing) && !self.is_generic()
    }
    /// What must be so of values for it to be right for them.
    pub fn assumptions(&self) -> &[Assumption] {
        match &self.rests {
            Rests::On(list) => list,
            Rests::OnNothing | Rests::OnValues | Rests::OnConstants => &[],
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
        self.notes.locks_reads.is_none_or(|l| l == locks_reads(txn))
    }
    /// Whether it locks what it only reads in such a transaction, wherever in the statement that is: it writes.
    #[inline]
    pub fn locks_reads(&self, txn: &Txn) -> bool {
        let writes = !matches!(self.root, Root::Query(_) | Root::Do(_) | Root::Explain(_));
        writes && locks_reads(txn)
    }
    /// Whether it calls stored programs.
    #[inline]
    pub fn calls(&self) -> bool {
        self.notes.programs.is_some()
    }
    /// Whether it reads virtual tables, which may look at any other.
    pub(crate) fn reads_lists(&self) -> bool {
        self.notes.lists
    }
    /// Whether the stored programs that it calls are those of now.
    #[inline]
    pub(crate) fn calls_current(&self, env: &SessionEnv) -> bool {
        let now = || env.services.as_ref().map(|s| s.programs());
        self.notes.programs.is_none() || self.notes.programs == now()
    }
    /// Whether it is right for these values of its placeholders and of the user variables.
    #[inline]
    pub fn fits(&self, params: &[Value<'_>], env: &SessionEnv) -> bool {
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
        self.notes.param_types.iter().all(fits)
            && self.notes.text_params.iter().all(text)
            && (self.notes.variable_types.is_empty() || self.fits_variables(env))
            && self.finds_generated(env)
    }
    /// Whether what it takes an AUTO_INCREMENT column that IS NULL to be is what that is now.
    #[inline]
    fn finds_generated(&self, env: &SessionEnv) -> bool {
        let noted = self.notes.auto_is_null;
        noted.is_none_or(|n| n == env.found_by_null())
    }
    /// Whether it looks for the number that the last INSERT made by `IS NULL`, which is done once.
    #[inline]
    pub fn looks_for_generated(&self) -> bool {
        self.notes.auto_is_null.flatten().is_some_and(|id| id > 0)
    }
    fn fits_variables(&self, env: &SessionEnv) -> bool {
        let vars = env.user_vars.borrow();
        let fits = |(name, ty): &(Arc<str>, SqlType)| {
            let collation = env.collation_of_var(name);
            let same = !ty.is_string() || collation.is_none_or(|c| c == ty.collation);
            same && vars.get(&**name).is_none_or(|v| is_of(v, ty))
        };
        self.notes.variable_types.iter().all(fits)
    }
    /// What each execution warns of.
    #[inline]
    pub(crate) fn told(&self) -> &[(u16, &'static str)] {
        &self.notes.told
    }
    /// Constants that columns of dates and times are compared with and may have no value for.
    #[inline]
    pub(crate) fn moments(&self) -> &[(Expr, SqlType, Arc<str>)] {
        &self.notes.moments
    }
    /// Refuses values that cannot be what they are compared with, whether or not there are rows to compare.
    #[inline]
    pub fn check_params(&self, params: &[Value<'_>], env: &SessionEnv) -> SqlResult<()> {
        for (n, base, name) in &self.notes.constant_params {
            let v = &params[*n];
            if beside(v.borrowed(), *base, env.sql_mode.get()).is_err() {
                let strict = self.writes && !self.root.ignores() && env.sql_mode.get().strict;
                return Err(no_date(v, *base, name, strict, env));
            }
        }
        for (n, from, to) in &self.notes.fitting_params {
            let encoding = to.character_set().encoding();
            if let Value::Bytes(text) = &params[*n]
                && encoding.misfit(text).is_some()
            {
                return Err(not_converted(text, *from, *to));
            }
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
    pub fn is_reckless(&self) -> bool {
        let one = |b: &nodes::Block| b.limit.count.is_none() && !b.is_keyed(0);
        match &self.root {
            Root::Update(u) => one(&u.find),
            Root::Delete(d) => one(&d.find),
            Root::Several(s) => s.targets.iter().any(|t| !s.find.is_keyed(t.source)),
            _ => false,
        }
    }
    /// How many combinations of rows a SELECT would look at.
    pub fn combinations(&self) -> f64 {
        match &self.root {
            Root::Query(q) => q.combinations(),
            _ => 0.0,
        }
    }
    /// Whether it makes rows.
    pub fn is_insert(&self) -> bool {
        matches!(self.root, Root::Insert(_))
    }
    /// Whether it returns rows.
    pub fn is_query(&self) -> bool {
        !self.columns.is_empty()
    }
}
