//! Running planned statements: the plan, the transaction around it, the result's end.
//!
//! The path of a prepared, autocommitted point read comes through here for every query; it takes no shared
//! lock and allocates nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millpond_store::{Isolation, RowOrder, Txn};

use super::Session;
use super::program::{Firing, triggers_of};
use crate::accounts::access::EVERYTHING;
use crate::counters::Counter;
use crate::programs::Triggers;
use crate::statements::{Compiled, Kept};
use crate::vars::{self, VarValue};
use millpond_sql::ddl::{Ddl, Done, Fill, Home, Prepared, Work};
use millpond_sql::env;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::exec::{self, DmlOptions, ExecContext, Outcome, Run};
use millpond_sql::parse::Statement;
use millpond_sql::parse::ast::{self, Duplicates, StatementKind};
use millpond_sql::plan::Plan;
use millpond_sql::planner::{self, PlanContext};
use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::stack;
use millpond_sql::types::SqlType;
use millpond_sql::value::Value;
use millpond_sql::write::{Hooks, RowListener, RowRule};

/// How often a statement is compiled anew in a row because its tables changed under it.
const MAX_RECOMPILES: usize = 10;

/// Error 1160 for a sink that took no more.
pub(super) fn sink_error(e: &std::io::Error) -> SqlError {
    SqlError::new(
        1160,
        format!("Got an error writing communication packets: {e}"),
    )
}

impl Session {
    /// Runs a planned statement and reports its end.
    pub(super) fn run_planned(
        &mut self,
        compiled: &Compiled,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let mut kept = compiled.take(&self.context);
        let ran = self.in_transaction(|s| s.run_kept(compiled, &mut kept, params, sink));
        let is_query = kept.as_ref().is_some_and(|k| k.plan.is_query());
        if let Some(kept) = kept {
            self.current.shape = kept.plan.shape;
            self.current.planned = true;
            compiled.put_back(kept);
        }
        self.end_planned(ran?, is_query, more, sink)
    }

    /// Runs a statement by the plan in `kept`, or by a new one, which is left there.
    pub(super) fn run_kept(
        &mut self,
        compiled: &Compiled,
        kept: &mut Option<Kept>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        for _ in 0..MAX_RECOMPILES {
            let usable = match kept {
                Some(k) => self.serves(compiled, k, params)?,
                None => false,
            };
            if !usable {
                *kept = Some(self.other_plan(compiled, kept.take(), params)?);
            }
            let Some(current) = kept else { continue };
            let number = self.facts.guard.number(&self.instance.0.accounts);
            if current.checked != number {
                self.facts.check_plan(&current.plan)?;
                current.checked = number;
            }
            let sent = self.sent_params(&current.plan, params);
            let params = sent.as_deref().unwrap_or(params);
            let triggers = current.triggers.clone();
            let triggers = triggers.as_deref().and_then(|t| t.downcast_ref());
            if let Run::Done(outcome) = self.run_with(&current.plan, triggers, params, sink)? {
                return Ok(outcome);
            }
            self.count(Counter::StmtReprepare);
            if let Some(stale) = kept.take() {
                compiled.forget(&stale);
            }
        }
        Err(SqlError::new(
            1615,
            "Prepared statement needs to be re-prepared",
        ))
    }

    /// Whether a plan that was made before is right for these values.
    fn serves(
        &mut self,
        compiled: &Compiled,
        kept: &Kept,
        params: &[Value<'_>],
    ) -> SqlResult<bool> {
        let plan = &*kept.plan;
        if !plan.fits(params, &self.env) {
            return Ok(false);
        }
        if plan.assumptions().is_empty() {
            return Ok(true);
        }
        let Some(txn) = &mut self.txn.txn else {
            return Ok(true);
        };
        if !exec::pin(plan, txn)? {
            compiled.forget(kept);
            return Ok(false);
        }
        Ok(planner::holds(plan, &self.env, params))
    }

    /// A plan for these values in place of one that is not right for them: another that is kept, or a new one.
    fn other_plan(
        &mut self,
        compiled: &Compiled,
        unfit: Option<Kept>,
        params: &[Value<'_>],
    ) -> SqlResult<Kept> {
        let tried = unfit.map(|k| k.plan);
        for other in compiled.others(&self.context, tried.as_ref()) {
            if self.serves(compiled, &other, params)? {
                return Ok(other);
            }
        }
        self.compile_to_keep(compiled, Some(params))
    }

    /// The parameters, with the bytes that texts are in the connection's character set where the plan wants bytes; `None` if there are no
    /// such.
    #[inline]
    fn sent_params<'v>(&self, plan: &Plan, params: &[Value<'v>]) -> Option<Vec<Value<'v>>> {
        if self.texts.is_empty() || plan.bytes_params().is_empty() {
            return None;
        }
        let connection = self.env.collation.get().character_set().encoding();
        let mut sent = params.to_vec();
        for n in plan.bytes_params() {
            if let (Some(Value::Bytes(text)), Some(true)) = (sent.get_mut(*n), self.texts.get(*n))
                && let Some(bytes) = connection.sent(text)
            {
                *text = bytes.into();
            }
        }
        Some(sent)
    }

    /// Plans a statement for now and later.
    fn compile_to_keep(
        &mut self,
        compiled: &Compiled,
        params: Option<&[Value<'_>]>,
    ) -> SqlResult<Kept> {
        self.count(Counter::Plans);
        let plan = self.compile(compiled, params)?;
        let kept = Kept {
            triggers: triggers_of(&self.instance.0.engine, &plan)?,
            plan: Arc::new(plan),
            context: self.context.clone(),
            checked: EVERYTHING,
        };
        // The session holds triggers, with their plans.
        if kept.triggers.is_none() {
            compiled.share(&kept);
        }
        Ok(kept)
    }

    /// Runs a plan that was made for this once (SHOW and its kin).
    pub(super) fn run_once(
        &mut self,
        plan: &Plan,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.current.shape = plan.shape;
        let outcome = self.in_transaction(|s| match s.run(plan, params, sink)? {
            Run::Done(outcome) => Ok(outcome),
            Run::Stale => Err(changed()),
        })?;
        self.end_planned(outcome, plan.is_query(), more, sink)
    }

    /// Gives `work` a transaction and the protection of a statement: what it did is undone if it fails, and committed
    /// if autocommit says so. `work` that leaves nothing behind (no lock, no change) does not keep a
    /// transaction open.
    pub(super) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let began = self.ensure_transaction();
        let Some(txn) = &mut self.txn.txn else {
            return Err(SqlError::new(1105, "no transaction"));
        };
        self.instance.0.engine.statement(txn);
        let start = txn.savepoint();
        match work(self) {
            Ok(done) => {
                self.end_implied()?;
                Ok(done)
            }
            Err(e) => {
                self.undo_statement(start, began, &e);
                Err(e)
            }
        }
    }

    /// Plans a statement in the open transaction.
    pub(super) fn compile(
        &mut self,
        compiled: &Compiled,
        params: Option<&[Value<'_>]>,
    ) -> SqlResult<Plan> {
        let Some(txn) = &mut self.txn.txn else {
            return Err(SqlError::new(1105, "no transaction"));
        };
        let cx = &mut PlanContext {
            engine: &self.instance.0.engine,
            txn,
            env: &self.env,
            params,
            peek: compiled.peeks,
            locals: self.locals.as_deref(),
        };
        let plan = stack::lent(compiled.statement.run, || {
            planner::compile(&compiled.statement, cx)
        });
        let plan = plan.map_err(|e| self.refused_before(compiled, e))?;
        self.facts.check_plan(&plan)?;
        Ok(plan)
    }

    /// What a statement that means nothing is refused for before that is seen: a READ ONLY transaction takes none that writes to tables.
    #[cold]
    fn refused_before(&self, compiled: &Compiled, e: SqlError) -> SqlError {
        use StatementKind as K;
        let writes = matches!(
            compiled.statement.kind(),
            K::Insert(_) | K::Update(_) | K::Delete(_)
        );
        let no_table = matches!(e.code, 1046 | 1049 | 1146);
        match self.check_writable() {
            Err(refused) if writes && !no_table && self.env.temporary.names().is_none() => refused,
            _ => e,
        }
    }

    /// Plans expressions in the open transaction.
    pub(super) fn compile_exprs(
        &mut self,
        exprs: &[&ast::Expr],
        params: &[Value<'_>],
    ) -> SqlResult<Plan> {
        let cx = &mut PlanContext {
            engine: &self.instance.0.engine,
            txn: self.txn.txn.as_mut().ok_or_else(no_transaction)?,
            env: &self.env,
            params: Some(params),
            peek: false,
            locals: self.locals.as_deref(),
        };
        planner::compile_exprs(exprs, params.len(), cx)
    }

    /// Runs a plan that writes nothing in the open transaction.
    pub(super) fn run(
        &mut self,
        plan: &Plan,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Run> {
        self.run_with(plan, None, params, sink)
    }

    /// Runs a plan in the open transaction. `triggers`: those of the tables that it writes to.
    #[inline]
    fn run_with(
        &mut self,
        plan: &Plan,
        triggers: Option<&Triggers>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Run> {
        if self.txn.xa.is_some() {
            self.check_plan_in_xa(plan)?;
        }
        if plan.writes {
            self.facts.check_server_writable()?;
            self.check_writable()?;
            self.check_read_lock()?;
        }
        if !self.locked.is_empty() {
            for used in &plan.tables {
                if used.table.is_temporary() {
                    continue;
                }
                let def = used.table.def();
                self.check_names(&def.database, &def.name, &used.names)?;
            }
        }
        if params.len() < plan.params {
            return Err(SqlError::new(1210, "Incorrect arguments to EXECUTE"));
        }
        let refused = self
            .check_careful(plan)
            .and(plan.check_params(params, &self.env));
        if let (Err(e), Some(txn)) = (refused, &mut self.txn.txn) {
            // A plan for tables as they were may refuse what they take now.
            return match exec::pin(plan, txn)? {
                true => Err(e),
                false => Ok(Run::Stale),
            };
        }
        self.txn.touched |= !plan.tables.is_empty() || plan.calls();
        self.mark_plan(plan);
        let Some(txn) = &mut self.txn.txn else {
            return Err(SqlError::new(1105, "no transaction"));
        };
        let lock_reads = plan.locks_reads(txn)
            || txn.isolation() == Isolation::Serializable
                && (self.txn.explicit || !self.settings.autocommit);
        if plan.calls() || triggers.is_some() {
            self.env.limits.set(env::Limits {
                read_only: self.txn.read_only,
                defines: false,
                locked: self.read_locked || !self.locked.is_empty(),
                lock_reads,
            });
        }
        let limit = plan.time_limit.unwrap_or(self.settings.max_execution_ms);
        // Statements of programs have no limits of their own.
        let within = self.locals.is_some();
        let limited = plan.is_query() && limit > 0 && !within;
        self.env
            .deadline
            .set(limited.then(|| Instant::now() + Duration::from_millis(limit)));
        let firing = Firing {
            facts: &self.facts,
            owner: &self.owner,
            memory: &self.memory,
            triggers,
            plan,
        };
        let (rules, listeners): ([&dyn RowRule; 1], [&dyn RowListener; 1]) = ([&firing], [&firing]);
        let hooks = match triggers {
            Some(_) => firing.hooks(&rules, &listeners),
            None => Hooks::NONE,
        };
        let mut cx = ExecContext {
            engine: &self.instance.0.engine,
            txn,
            env: &self.env,
            owner: &self.owner,
            params,
            lock_reads,
            dml: DmlOptions {
                found_rows: self.found_rows,
                auto_increment: self.settings.auto_increment,
                insert_id: self.settings.insert_id,
                alone: !self.txn.explicit
                    && self.settings.autocommit
                    && self.locked.is_empty()
                    && !self.read_locked
                    && !within,
                hooks: &hooks,
            },
            memory: &self.memory,
            limits: self.settings.limits,
            select_limit: match within {
                true => u64::MAX,
                false => self.settings.select_limit,
            },
            scratch: &mut self.scratch,
        };
        self.env.profiles.enter("executing");
        let ran = exec::run(plan, &mut cx, sink);
        self.env.profiles.enter("end");
        if self.settings.insert_id != 0 && plan.is_insert() && !matches!(ran, Ok(Run::Stale)) {
            // It is for one INSERT.
            self.settings.insert_id = 0;
            let insert_id = vars::known("insert_id");
            self.facts.vars.put(insert_id, VarValue::UInt(0));
        }
        if (plan.calls() || triggers.is_some())
            && std::mem::take(&mut self.facts.running.lock().variables_set)
        {
            self.refresh_settings();
        }
        if plan.looks_for_generated() && matches!(ran, Ok(Run::Done(_))) {
            self.env.generated.set(0);
        }
        ran
    }

    /// What `sql_safe_updates` and `max_join_size` refuse: errors 1175 and 1104.
    #[inline]
    fn check_careful(&self, plan: &Plan) -> SqlResult<()> {
        if self.settings.safe_updates && plan.is_reckless() {
            return Err(SqlError::new(
                1175,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY \
                 column. ",
            ));
        }
        let most = self.settings.max_join_size;
        if most < u64::MAX && plan.combinations() > most as f64 {
            return Err(SqlError::new(
                1104,
                "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET \
                 SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay",
            ));
        }
        Ok(())
    }

    /// Reports a planned statement's end, its transaction being over where it had to.
    #[inline]
    pub(super) fn end_planned(
        &mut self,
        outcome: Outcome,
        is_query: bool,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        if let Some(id) = outcome.generated_id {
            self.env.last_insert_id.set(id);
            self.env.generated.set(id);
        }
        self.facts
            .vars
            .last_insert_id
            .store(self.env.last_insert_id.get(), Ordering::Relaxed);
        if is_query {
            self.mark_answered();
            self.env.row_count.set(-1);
            self.env.found_rows.set(outcome.found_rows);
        } else {
            self.env.row_count.set(outcome.affected as i64);
        }
        let done = Completion {
            affected: if is_query { 0 } else { outcome.affected },
            last_insert_id: outcome.last_insert_id,
            warnings: self.warning_count(),
            info: outcome.info,
            status: self.status_flags(),
            more,
            tracked: self.tracked(is_query),
        };
        sink.finish(&done).map_err(|e| sink_error(&e))
    }

    /// Reports the end of a statement that is neither planned nor has a result set.
    pub(super) fn finish(
        &mut self,
        affected: u64,
        info: &str,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let done = Done {
            affected,
            info: info.to_string(),
            ..Done::default()
        };
        self.finish_done(done, more, sink)
    }

    /// The same, told in full.
    pub(super) fn finish_done(
        &mut self,
        done: Done,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.env.row_count.set(done.affected as i64);
        let done = Completion {
            affected: done.affected,
            last_insert_id: done.last_insert_id,
            warnings: self.warning_count(),
            info: done.info,
            status: self.status_flags(),
            more,
            tracked: self.tracked(false),
        };
        sink.finish(&done).map_err(|e| sink_error(&e))
    }

    /// Sends a small result set made of owned rows.
    pub(super) fn send_rows(
        &mut self,
        columns: &[ColumnMeta],
        rows: &[Vec<Value<'static>>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        sink.columns(columns).map_err(|e| sink_error(&e))?;
        for row in rows {
            sink.row(row).map_err(|e| sink_error(&e))?;
        }
        self.env.rows_sent.set(rows.len() as u64);
        self.env.row_count.set(-1);
        self.env.found_rows.set(rows.len() as u64);
        let done = Completion {
            warnings: self.warning_count(),
            status: self.status_flags(),
            more,
            tracked: self.tracked(true),
            ..Completion::default()
        };
        sink.finish(&done).map_err(|e| sink_error(&e))
    }

    /// Evaluates expressions (of SET, KILL), subqueries included.
    pub(super) fn evaluate(
        &mut self,
        exprs: &[&ast::Expr],
        params: &[Value<'_>],
    ) -> SqlResult<Vec<Value<'static>>> {
        Ok(self.evaluate_typed(exprs, params)?.0)
    }

    /// The same with the types of the values.
    pub(super) fn evaluate_typed(
        &mut self,
        exprs: &[&ast::Expr],
        params: &[Value<'_>],
    ) -> SqlResult<(Vec<Value<'static>>, Vec<SqlType>)> {
        self.in_transaction(|s| {
            for _ in 0..MAX_RECOMPILES {
                let plan = s.compile_exprs(exprs, params)?;
                s.facts.check_needs(&plan)?;
                let mut rows = Rows::default();
                if let Run::Done(_) = s.run(&plan, params, &mut rows)? {
                    // What was evaluated went nowhere.
                    s.env.rows_sent.set(0);
                    let values = rows.0.pop();
                    let types = plan.columns.iter().map(|c| c.ty.clone()).collect();
                    return values
                        .map(|values| (values, types))
                        .ok_or_else(|| SqlError::new(1105, "no value"));
                }
            }
            Err(changed())
        })
    }

    /// CREATE TABLE ... SELECT: the table appears with all its rows or not at all.
    pub(super) fn create_table_select(
        &mut self,
        statement: &Statement,
        create: &ast::CreateTable,
        params: &[Value<'_>],
    ) -> SqlResult<Done> {
        let Some(query) = &create.query else {
            return Err(SqlError::new(1105, "no query"));
        };
        let query = Statement {
            tree: ast::Statement {
                kind: StatementKind::Query(query.clone()),
                span: statement.tree.span,
                params: statement.tree.params,
                bytes: statement.tree.bytes,
                deprecated: Vec::new(),
            },
            text: statement.text.clone(),
            ..*statement
        };
        let query = Compiled::new(query, statement.text.clone(), self.env.sql_mode.get())?;
        if create.temporary {
            if create.partition.is_some() {
                return Err(millpond_sql::ddl::not_temporary());
            }
            // It commits nothing; what it reads, it reads as any statement of the transaction does.
            return self.in_transaction(|s| s.fill_new_table(&query, create, params, false));
        }
        if self.txn.is_open() {
            // Which it is part of: others have been committed.
            return self.fill_new_table(&query, create, params, true);
        }
        let (engine, owner) = (self.instance.engine().clone(), self.owner.clone());
        let _held = engine
            .hold_definitions(&owner)
            .map_err(|e| millpond_sql::store_error::store_error(e, ""))?;
        let began = self.ensure_transaction();
        let result = self.fill_new_table(&query, create, params, false);
        // It only read, in a transaction of its own: what the table needs is committed where it is made.
        debug_assert!(began);
        self.commit_now()?;
        result
    }

    fn fill_new_table(
        &mut self,
        query: &Compiled,
        create: &ast::CreateTable,
        params: &[Value<'_>],
        joins: bool,
    ) -> SqlResult<Done> {
        let compiled = self.compile(query, Some(params));
        let ddl = Ddl {
            engine: &self.instance.0.engine,
            owner: &self.owner,
            env: &self.env,
            mode: self.settings.mode,
            tables_locked: false,
        };
        let mut plan = match compiled {
            Ok(plan) => plan,
            // Tables are looked for first, then the name, then columns.
            Err(e) if matches!(e.code, 1049 | 1146) => return Err(e),
            Err(e) => return ddl.finds_taken(create)?.ok_or(e),
        };
        self.txn.touched |= !plan.tables.is_empty();
        self.env.limits.set(env::Limits {
            read_only: self.txn.read_only,
            defines: !create.temporary,
            locked: self.read_locked || !self.locked.is_empty(),
            lock_reads: false,
        });
        let new = match ddl.prepare_create(create, &plan.columns)? {
            Prepared::Exists(done) => return Ok(done),
            Prepared::New(mut new) => {
                if let Some(by) = &create.partition {
                    ddl.partition(&mut new.schema, by)?;
                }
                new
            }
        };
        let home = match create.temporary {
            true => Home::Temporary,
            false => Home::Stored(new.place),
        };
        let begin = || {
            let (counter, order) = (new.auto_increment, RowOrder::Any);
            let (name, schema, on) = (&new.table, &new.schema, create.duplicates);
            Work::start(&ddl, name, schema, home, on, counter, order)
        };
        let open = &mut self.txn.txn;
        let mut work = lent(joins, &ddl, open, begin)??;
        let txn = open.as_mut().ok_or_else(no_transaction)?;
        let mut fill = Fill::new(&mut work, &plan.columns, self.settings.auto_increment)?;
        let ignore = create.duplicates == Some(Duplicates::Ignore);
        let _strict = self.env.write_strictly(ignore);
        let mut attempts = 0;
        loop {
            let mut cx = ExecContext {
                engine: &self.instance.0.engine,
                txn,
                env: &self.env,
                owner: &self.owner,
                params,
                // The new table is of one snapshot: no row has to be held, however many there are.
                lock_reads: false,
                dml: DmlOptions::default(),
                memory: &self.memory,
                limits: self.settings.limits,
                select_limit: u64::MAX,
                scratch: &mut self.scratch,
            };
            let ran = exec::run(&plan, &mut cx, &mut fill);
            if let Some(e) = fill.error.take() {
                return Err(e);
            }
            if matches!(ran?, Run::Done(_)) {
                break;
            }
            // Its tables are locked: what has changed is what is known of their rows.
            attempts += 1;
            if attempts == MAX_RECOMPILES {
                return Err(changed());
            }
            let cx = &mut PlanContext {
                engine: &self.instance.0.engine,
                txn,
                env: &self.env,
                params: Some(params),
                peek: query.peeks,
                locals: self.locals.as_deref(),
            };
            plan = stack::lent(query.statement.run, || {
                planner::compile(&query.statement, cx)
            })?;
        }
        work.finish()?;
        let (affected, (generated, given)) = (work.affected(), work.numbers_given());
        lent(joins, &ddl, open, || ddl.place_filled(work, &new))??;
        if let Some(id) = generated {
            self.env.last_insert_id.set(id);
            self.env.generated.set(id);
            self.facts.vars.last_insert_id.store(id, Ordering::Relaxed);
        }
        Ok(Done {
            affected,
            info: format!("Records: {affected}  Duplicates: 0  Warnings: 0"),
            last_insert_id: generated.unwrap_or(given),
        })
    }

    /// Columns that a statement's result set will have; empty if it has none.
    pub(super) fn describe(&mut self, compiled: &Compiled) -> SqlResult<Arc<[ColumnMeta]>> {
        let _behalf = self.instance.0.engine.on_behalf(self.txn.txn.as_ref());
        if !compiled.statement.is_planned() {
            let columns = self.in_transaction(|s| s.describe_command(&compiled.statement));
            return Ok(columns?.into());
        }
        let mut kept = compiled.take(&self.context);
        let mark = self.instance.0.engine.metadata_mark(&self.owner);
        let columns = self.in_transaction(|s| {
            // A plan made before may be of tables that are gone.
            if let Some(k) = &kept
                && let Some(txn) = &mut s.txn.txn
                && !exec::pin(&k.plan, txn)?
            {
                compiled.forget(k);
                kept = None;
            }
            let current = match &mut kept {
                Some(k) => k,
                None => kept.insert(s.compile_to_keep(compiled, None)?),
            };
            s.facts.check_plan(&current.plan)?;
            if current.plan.writes {
                s.check_writable()?;
            }
            Ok(current.plan.columns.clone())
        });
        // Nothing was read: an open transaction need not keep the tables as they are.
        let engine = &self.instance.0.engine;
        engine.release_metadata_since(&self.owner, &mark);
        if let Some(kept) = kept {
            compiled.put_back(kept);
        }
        columns
    }
}

/// Runs a step of DDL, as part of the open transaction if it `joins`.
fn lent<T>(
    joins: bool,
    ddl: &Ddl<'_>,
    open: &mut Option<Txn>,
    step: impl FnOnce() -> T,
) -> SqlResult<T> {
    if !joins {
        return Ok(step());
    }
    let lent = ddl.engine.lend(ddl.owner, open);
    let lent = lent.map_err(|e| millpond_sql::store_error::store_error(e, ""))?;
    let done = step();
    *open = lent.take_back();
    Ok(done)
}

/// A sink for rows that nobody reads.
pub(super) struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _columns: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _row: &[Value<'_>]) -> std::io::Result<()> {
        Ok(())
    }
    fn finish(&mut self, _done: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// A sink that keeps the rows.
#[derive(Default)]
pub(super) struct Rows(pub Vec<Vec<Value<'static>>>);

impl ResultSink for Rows {
    fn columns(&mut self, _columns: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        self.0
            .push(row.iter().map(|v| v.clone().into_owned()).collect());
        Ok(())
    }
    fn finish(&mut self, _done: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// 1412: what plans rest on changes faster than statements are planned.
fn changed() -> SqlError {
    SqlError::new(
        1412,
        "Table definition has changed, please retry transaction",
    )
}

pub(super) fn no_transaction() -> SqlError {
    SqlError::new(1105, "no transaction")
}
