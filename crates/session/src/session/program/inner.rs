//! Functions: programs that a statement calls while it runs.
//!
//! Such a program is part of that statement: its own statements run in the same transaction, see what it sees, are undone with it, and commit
//! nothing (1422). A statement of it that fails and whose error a handler takes is undone alone. It may not change a table that a
//! statement around it uses (1442), nor return rows (1415).
//!
//! **Locks.** Tables are locked as the program comes to them, not before the outer statement begins. That is what a transaction of several
//! statements does, and a cycle that comes of it is found as any other: between row locks by the deadlock detector (1213), with metadata
//! locks by that or the timeout (1205). As the outer statement may be half way then, no handler takes an error that has cost the
//! transaction; it ends the statement.
//!
//! What the program leaves in its session is what MySQL's leaves: user variables stay; ROW_COUNT(), FOUND_ROWS() and LAST_INSERT_ID() are as before, and so
//! are sql_mode, the current database and the collation.

use std::sync::Arc;

use super::super::run::Nowhere;
use super::call::{Outside, too_deep};
use super::host::{Answered, ForLocals, Host};
use super::interpreter::{Invocation, as_stored};
use super::trigger::{Firing, triggers_of};
use crate::accounts::access::EVERYTHING;
use crate::instance::Facts;
use crate::programs::{Means, Routine};
use crate::statements::{Compiled, Context, Kept};
use crate::vars::{self, VarValue};
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind};
use millpond_sql::env::{Around, Locals, SessionEnv, StoredFunction, sql_mode};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::exec::{self, DmlOptions, ExecContext, Limits, Outcome, Run, Scratch};
use millpond_sql::memory::MemoryAccount;
use millpond_sql::parse::ast::{self, StatementKind, TransactionStatement};
use millpond_sql::plan::Plan;
use millpond_sql::planner::{self, PlanContext};
use millpond_sql::result::ResultSink;
use millpond_sql::stack;
use millpond_sql::types::{Collation, Encoding};
use millpond_sql::value::Value;
use millpond_sql::write::{Hooks, RowListener, RowRule};
use millpond_store::ObjectKey;

/// How often a statement is planned anew in a row because its tables changed under it.
const MAX_RECOMPILES: usize = 10;

/// 1415.
fn no_result() -> SqlError {
    SqlError::new(1415, "Not allowed to return a result set from a function")
}

/// What runs a program's statements within another statement.
pub(super) struct Inner<'a> {
    pub facts: &'a Facts,
    pub around: Around<'a>,
    pub context: Arc<Context>,
    pub means: Means,
    /// The session's sql_mode, if the program has set it.
    pub mode_before: Option<VarValue>,
    /// The session's switches that are its own again when the function returns, by position.
    pub options_before: Vec<(usize, VarValue)>,
    scratch: Scratch,
}

/// What the meaning of a program's texts depends on.
fn context(facts: &Facts, env: &SessionEnv, def: &ProgramDef) -> Arc<Context> {
    let flushes = &facts.instance.0.flushes;
    Arc::new(Context {
        database: Some(def.database.clone()),
        mode: def.mode,
        collation: env.collation.get(),
        client: env.client.get(),
        zone: env.zone.get(),
        switches: env.switches.get(),
        div_increment: env.div_increment.get(),
        flushes: flushes.load(std::sync::atomic::Ordering::Relaxed),
        temporary: env.temporary.names().map(|n| (env.connection_id, n)),
    })
}

/// What statements within statements go by.
pub(super) fn means(facts: &Facts) -> Means {
    if let Some(known) = facts.running.lock().means {
        return known;
    }
    let number = |name| facts.vars.named(name).as_u64().unwrap_or(0);
    let bytes = |name| usize::try_from(number(name)).unwrap_or(usize::MAX);
    let table = bytes("tmp_table_size");
    let means = Means {
        limits: Limits {
            sort: bytes("sort_buffer_size").max(table),
            join: bytes("join_buffer_size").max(table),
            table,
            batch_rows: number("millpond_batch_rows"),
            bulk_rows: number("millpond_bulk_rows"),
            workers: 1,
        },
        auto_increment: (
            number("auto_increment_increment").max(1),
            number("auto_increment_offset").max(1),
        ),
    };
    facts.running.lock().means = Some(means);
    means
}

impl<'a> Inner<'a> {
    fn new(facts: &'a Facts, around: Around<'a>, def: &ProgramDef) -> Inner<'a> {
        Inner {
            means: means(facts),
            context: context(facts, around.env, def),
            mode_before: None,
            options_before: Vec::new(),
            scratch: Scratch::default(),
            facts,
            around,
        }
    }

    fn plan(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<Kept> {
        let cx = &mut PlanContext {
            engine: &self.facts.instance.0.engine,
            txn: &mut *self.around.txn,
            env: self.around.env,
            params: Some(params),
            peek: false,
            locals: Some(locals),
        };
        let plan = stack::lent(compiled.statement.run, || {
            planner::compile(&compiled.statement, cx)
        })?;
        let kept = Kept {
            checked: EVERYTHING,
            triggers: triggers_of(&self.facts.instance.0.engine, &plan)?,
            plan: Arc::new(plan),
            context: self.context.clone(),
        };
        if kept.triggers.is_none() {
            compiled.share(&kept);
        }
        Ok(kept)
    }

    /// What the statements around it have against a statement.
    fn check(&self, plan: &Plan) -> SqlResult<()> {
        let limits = self.around.env.limits.get();
        let stored = plan.tables.iter().filter(|t| !t.table.is_temporary());
        if limits.locked && stored.clone().next().is_some() {
            return Err(SqlError::unsupported("stored functions under LOCK TABLES"));
        }
        if plan.writes {
            self.facts.check_server_writable()?;
        }
        if plan.writes && limits.defines {
            return Err(SqlError::unsupported(
                "changing rows in a function that CREATE TABLE ... SELECT calls",
            ));
        }
        if plan.writes && limits.read_only {
            return Err(SqlError::new(
                1792,
                "Cannot execute statement in a READ ONLY transaction.",
            ));
        }
        let running = self.facts.running.lock();
        for t in plan.tables.iter().filter(|t| t.write) {
            if running.used.contains(&t.table.def().id) {
                let name = &t.table.def().name;
                return Err(SqlError::new(
                    1442,
                    format!(
                        "Can't update table '{name}' in stored function/trigger because it is already used by statement which invoked this \
                         stored function/trigger."
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Runs a statement as a part of the one around it: undone alone if it fails.
    fn run(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
        rows: Option<&mut Answered>,
    ) -> SqlResult<Outcome> {
        let start = self.around.txn.savepoint();
        let mut kept = compiled.take(&self.context);
        let ran = self.run_kept(compiled, &mut kept, locals, params, rows);
        if let Some(kept) = kept {
            compiled.put_back(kept);
        }
        if let Err(e) = &ran
            && !costs_transaction(e)
        {
            let engine = &self.facts.instance.0.engine;
            let undone = engine.rollback_to(self.around.txn, start);
            undone.map_err(|e| millpond_sql::store_error::store_error(e, ""))?;
        }
        ran
    }

    fn run_kept(
        &mut self,
        compiled: &Compiled,
        kept: &mut Option<Kept>,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
        mut rows: Option<&mut Answered>,
    ) -> SqlResult<Outcome> {
        for _ in 0..MAX_RECOMPILES {
            let usable = kept
                .as_ref()
                .is_some_and(|k| k.plan.fits(params, self.around.env));
            if !usable {
                *kept = Some(self.plan(compiled, locals, params)?);
            }
            let Some(current) = kept else { continue };
            let number = self.facts.guard.number(&self.facts.instance.0.accounts);
            if current.checked != number {
                self.facts.check_plan(&current.plan)?;
                current.checked = number;
            }
            let plan = current.plan.clone();
            self.check(&plan)?;
            let sink: &mut dyn ResultSink = match &mut rows {
                Some(rows) => *rows,
                None if plan.is_query() => return Err(no_result()),
                None => &mut Nowhere,
            };
            let lock_reads =
                self.around.env.limits.get().lock_reads || plan.locks_reads(self.around.txn);
            let triggers = current.triggers.clone();
            let firing = Firing {
                facts: self.facts,
                owner: self.around.owner,
                memory: self.around.memory,
                triggers: triggers.as_deref().and_then(|t| t.downcast_ref()),
                plan: &plan,
            };
            let (rules, listeners): ([&dyn RowRule; 1], [&dyn RowListener; 1]) =
                ([&firing], [&firing]);
            let hooks = firing.hooks(&rules, &listeners);
            if let Run::Done(outcome) = self.execute(&plan, params, lock_reads, &hooks, sink)? {
                return Ok(outcome);
            }
            if let Some(stale) = kept.take() {
                compiled.forget(&stale);
            }
        }
        Err(changed())
    }
}

impl Inner<'_> {
    fn execute(
        &mut self,
        plan: &Plan,
        params: &[Value<'_>],
        lock_reads: bool,
        hooks: &Hooks<'_>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Run> {
        let mut cx = ExecContext {
            engine: &self.facts.instance.0.engine,
            txn: &mut *self.around.txn,
            env: self.around.env,
            owner: self.around.owner,
            params,
            lock_reads,
            dml: DmlOptions {
                auto_increment: self.means.auto_increment,
                hooks,
                ..DmlOptions::default()
            },
            memory: self.around.memory,
            limits: self.means.limits,
            select_limit: u64::MAX,
            scratch: &mut self.scratch,
        };
        exec::run(plan, &mut cx, sink)
    }

    /// The value of an expression that no plan is kept for.
    pub(super) fn evaluate(
        &mut self,
        e: &ast::Expr,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<Value<'static>> {
        for _ in 0..MAX_RECOMPILES {
            let cx = &mut PlanContext {
                engine: &self.facts.instance.0.engine,
                txn: &mut *self.around.txn,
                env: self.around.env,
                params: Some(params),
                peek: false,
                locals: Some(locals),
            };
            let plan = planner::compile_exprs(&[e], params.len(), cx)?;
            self.facts.check_plan(&plan)?;
            self.check(&plan)?;
            let sent = self.around.env.rows_sent.get();
            let mut rows = Answered::default();
            let ran = self.execute(&plan, params, false, &Hooks::NONE, &mut rows)?;
            self.around.env.rows_sent.set(sent);
            if let Run::Done(_) = ran {
                let value = rows.rows.pop().and_then(|mut row| row.pop());
                return value.ok_or_else(|| SqlError::new(1105, "no value"));
            }
        }
        Err(changed())
    }
}

/// 1412.
fn changed() -> SqlError {
    SqlError::new(
        1412,
        "Table definition has changed, please retry transaction",
    )
}

/// Whether an error has cost the transaction, or the room for it.
fn costs_transaction(e: &SqlError) -> bool {
    const DEADLOCK: u16 = 1213;
    const LOCK_TABLE_FULL: u16 = 1206;
    matches!(e.code, DEADLOCK | LOCK_TABLE_FULL)
}

impl Host for Inner<'_> {
    fn env(&self) -> &SessionEnv {
        self.around.env
    }
    fn facts(&self) -> &Facts {
        self.facts
    }
    fn memory(&self) -> &Arc<MemoryAccount> {
        self.around.memory
    }

    fn rows(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<Answered> {
        let sent = self.around.env.rows_sent.get();
        let mut rows = Answered::default();
        let ran = self.run(compiled, locals, params, Some(&mut rows));
        self.around.env.rows_sent.set(sent);
        ran.map(|_| rows)
    }

    fn statement(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<ForLocals> {
        if let StatementKind::Set(set) = compiled.statement.kind() {
            self.set(set, locals, params)?;
            return Ok(ForLocals::new());
        }
        if let StatementKind::Transaction(transaction) = compiled.statement.kind()
            && let TransactionStatement::Set {
                scope: Some(scope),
                isolation,
                access,
            } = &**transaction
        {
            self.set_transaction(*scope, *isolation, *access)?;
            return Ok(ForLocals::new());
        }
        if !compiled.statement.is_planned() {
            return Err(refused(compiled.statement.kind()));
        }
        let mut outcome = self.run(compiled, locals, params, None)?;
        let env = self.around.env;
        if let Some(id) = outcome.generated_id {
            env.last_insert_id.set(id);
        }
        match compiled.statement.kind() {
            StatementKind::Query(_) => {
                env.row_count.set(-1);
                env.found_rows.set(outcome.found_rows);
            }
            _ => env.row_count.set(outcome.affected as i64),
        }
        Ok(std::mem::take(&mut outcome.locals))
    }

    fn enter(&mut self, def: &ProgramDef) -> Outside {
        let env = self.around.env;
        let text = |s: &str| VarValue::Text(s.into());
        let outside = Outside {
            database: env.database.replace(Some(def.database.clone())),
            mode: VarValue::UInt(self.context.mode),
            client: VarValue::Null,
            encoding: env.client.get(),
            connection: text(env.collation.get().name()),
            charset: VarValue::Null,
            mode_before: self.mode_before.take(),
            locals: None,
        };
        let client = Encoding::of_charset(&def.client);
        run_under(env, def.mode, client, &def.connection);
        self.context = context(self.facts, env, def);
        outside
    }

    fn leave(&mut self, outside: Outside) {
        let env = self.around.env;
        if let Some(before) = std::mem::replace(&mut self.mode_before, outside.mode_before) {
            self.facts.vars.put(vars::known("sql_mode"), before);
        }
        *env.database.borrow_mut() = outside.database;
        let mode = outside.mode.as_u64().unwrap_or(0);
        run_under(env, mode, outside.encoding, outside.connection.as_str());
        let now = &self.context;
        self.context = Arc::new(Context {
            database: env.database.borrow().clone(),
            mode,
            collation: env.collation.get(),
            client: env.client.get(),
            zone: now.zone,
            switches: now.switches,
            div_increment: now.div_increment,
            flushes: now.flushes,
            temporary: now.temporary,
        });
    }

    fn end_diagnostics(&mut self) {}

    fn is_fatal(&self, e: &SqlError) -> bool {
        self.facts.seat.interrupted() || costs_transaction(e)
    }
}

/// Why a statement is not run within another.
fn refused(kind: &StatementKind) -> SqlError {
    use StatementKind as K;
    match kind {
        K::Transaction(_) | K::Table(_) | K::AlterTable(_) | K::Schema(_) | K::Routine(_) => {
            crate::programs::commits()
        }
        K::Show(_) => no_result(),
        K::Session(_) => SqlError::new(
            1336,
            "Dynamic SQL is not allowed in stored function or trigger",
        ),
        _ => SqlError::unsupported("this statement in a stored function"),
    }
}

/// A program's settings, as far as expressions see them.
fn run_under(env: &SessionEnv, mode: u64, client: Encoding, connection: &str) {
    env.sql_mode.set(sql_mode::flags(mode));
    if let Ok(collation) = Collation::by_name(connection) {
        env.collation.set(collation);
    }
    env.client.set(client);
}

/// The stored function of a name.
pub(in super::super) fn function(
    facts: &Facts,
    database: &str,
    name: &str,
) -> SqlResult<Option<Arc<StoredFunction>>> {
    let key = programs::key(ProgramKind::Function, database, name);
    let inner = &facts.instance.0;
    let mut running = facts.running.lock();
    let found = running
        .routines
        .find(&inner.programs, &inner.engine, &key)?;
    Ok(found.and_then(|routine| {
        let program = &routine.program;
        let returns = program.returns.as_ref()?.ty.clone();
        Some(Arc::new(StoredFunction {
            name: program.def.full_name(),
            parameters: program.parameters.len(),
            returns,
            deterministic: program.def.deterministic,
            program: Box::new(routine),
        }))
    }))
}

/// Calls a stored function.
pub(in super::super) fn call_function(
    facts: &Facts,
    function: &StoredFunction,
    args: Vec<Value<'static>>,
    around: Around<'_>,
) -> SqlResult<Value<'static>> {
    let Some(routine) = function.program.downcast_ref::<Arc<Routine>>() else {
        return Err(SqlError::new(1105, "a function of another session's"));
    };
    let def = &routine.program.def;
    let key = programs::key(def.kind, &def.database, &def.name);
    within(facts, around, def, key, |inner| {
        invoke(inner, routine, args)
    })
}

/// Runs a program within a statement: `run` invokes it.
pub(super) fn within<R>(
    facts: &Facts,
    around: Around<'_>,
    def: &ProgramDef,
    key: ObjectKey,
    run: impl FnOnce(&mut Inner<'_>) -> SqlResult<R>,
) -> SqlResult<R> {
    let env = around.env;
    let (calls, used, handling) = {
        let mut running = facts.running.lock();
        if running.calls.contains(&key) {
            return Err(SqlError::new(
                1424,
                "Recursive stored functions and triggers are not allowed.",
            ));
        }
        too_deep(running.calls.len())?;
        let used = running.used.len();
        (around.tables)(&mut running.used);
        running.calls.push(key);
        let handling = std::mem::take(&mut running.handling);
        (running.calls.len(), used, handling)
    };
    let before = Before::of(env);
    let right = facts.enter_right(env, def);
    let done = right.and_then(|right| {
        stack::lent(0, || {
            let mut inner = Inner::new(facts, around, def);
            let outside = inner.enter(def);
            let done = run(&mut inner);
            inner.leave(outside);
            inner.restore_options();
            facts.leave_right(env, right);
            done
        })
    });
    before.restore(env);
    let mut running = facts.running.lock();
    running.calls.truncate(calls - 1);
    running.used.truncate(used);
    running.handling = handling;
    done
}

fn invoke(
    inner: &mut Inner<'_>,
    routine: &Routine,
    args: Vec<Value<'static>>,
) -> SqlResult<Value<'static>> {
    let program = &routine.program;
    let mut frame = Vec::with_capacity(program.slots.len());
    for (v, column) in args.into_iter().zip(&program.slots) {
        frame.push(as_stored(inner.around.env, v, column)?);
    }
    let sink = &mut Nowhere;
    let mut invocation = Invocation::new(inner, routine, sink, frame);
    invocation.run()?;
    invocation.returned.ok_or_else(|| {
        let name = program.def.full_name();
        SqlError::new(1321, format!("FUNCTION {name} ended without RETURN"))
    })
}

/// What the statement around a program goes on with.
struct Before {
    diagnostics: Vec<millpond_sql::env::Diagnostic>,
    counts: (i64, u64, u64, u64),
    strict: bool,
    mode: millpond_sql::env::SqlMode,
    deadline: Option<std::time::Instant>,
}

impl Before {
    fn of(env: &SessionEnv) -> Before {
        Before {
            diagnostics: env.diagnostics.take(),
            counts: (
                env.row_count.get(),
                env.found_rows.get(),
                env.last_insert_id.get(),
                env.rows_sent.get(),
            ),
            strict: env.strict_write.replace(false),
            mode: env.sql_mode.get(),
            deadline: env.deadline.get(),
        }
    }

    /// The program's conditions come behind those that there were.
    fn restore(self, env: &SessionEnv) {
        let left = std::mem::replace(&mut *env.diagnostics.borrow_mut(), self.diagnostics);
        left.into_iter().for_each(|d| env.say(d));
        let (row_count, found_rows, last_insert_id, rows_sent) = self.counts;
        env.row_count.set(row_count);
        env.found_rows.set(found_rows);
        env.last_insert_id.set(last_insert_id);
        env.rows_sent.set(rows_sent);
        env.strict_write.set(self.strict);
        env.sql_mode.set(self.mode);
        env.deadline.set(self.deadline);
    }
}
