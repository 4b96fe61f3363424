//! CALL: a routine's arguments, what it changes of its session while it runs, and what it gives back.

use std::sync::Arc;

use super::super::Session;
use super::conditions::clear_conditions;
use super::host::Host;
use super::interpreter::{Flow, Invocation, as_stored};
use crate::programs::code::{Argument, Call, Program, Variable};
use crate::programs::{Routine, alone};
use crate::vars::{self, VarValue};
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind};
use millpond_sql::ddl;
use millpond_sql::env::privileges::{Need, Object};
use millpond_sql::env::{Locals, sql_mode};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::Statement;
use millpond_sql::parse::ast::{self, ExprKind, ParameterMode};
use millpond_sql::result::{ColumnMeta, ResultSink};
use millpond_sql::stack;
use millpond_sql::types::{Collation, Encoding};
use millpond_sql::value::Value;
use millpond_store::ObjectKey;

/// How many routines may be within each other.
pub(super) const MOST_CALLS: usize = 512;

/// What a routine's caller runs under.
pub(super) struct Outside {
    pub database: Option<String>,
    pub mode: VarValue,
    pub client: VarValue,
    /// What the client's bytes mean.
    pub encoding: Encoding,
    pub connection: VarValue,
    pub charset: VarValue,
    /// The session's sql_mode, if the program around has set it within a statement.
    pub mode_before: Option<VarValue>,
    /// The variables in sight.
    pub locals: Option<Arc<Locals>>,
}

/// 1318.
fn wrong_count(def: &ProgramDef, wanted: usize, got: usize) -> SqlError {
    SqlError::new(
        1318,
        format!(
            "Incorrect number of arguments for {} {}; expected {wanted}, got {got}",
            def.kind.word(),
            def.full_name()
        ),
    )
}

/// 1414.
fn no_variable(n: usize, def: &ProgramDef) -> SqlError {
    SqlError::new(
        1414,
        format!(
            "OUT or INOUT argument {} for routine {} is not a variable or NEW pseudo-variable in BEFORE trigger",
            n + 1,
            def.full_name()
        ),
    )
}

/// Checks how many arguments there are, and that what OUT assigns to is a variable.
fn check_arguments(program: &Program, given: &[Option<Variable>]) -> SqlResult<()> {
    let wanted = program.parameters.len();
    if given.len() != wanted {
        return Err(wrong_count(&program.def, wanted, given.len()));
    }
    for (n, (mode, variable)) in program.parameters.iter().zip(given).enumerate() {
        if *mode != ParameterMode::In && variable.is_none() {
            return Err(no_variable(n, &program.def));
        }
    }
    Ok(())
}

/// Error 1312 for a procedure with result sets where the client takes but one result, the OK.
fn check_results(host: &dyn Host, program: &Program) -> SqlResult<()> {
    if !(program.answers && host.facts().single_results) {
        return Ok(());
    }
    let m = format!(
        "PROCEDURE {} can't return a result set in the given context",
        program.def.full_name()
    );
    Err(SqlError::new(1312, m))
}

/// The procedure of a name.
fn procedure(
    host: &dyn Host,
    database: Option<&str>,
    name: &str,
) -> SqlResult<(ObjectKey, Arc<Routine>)> {
    let database = match database {
        Some(d) => d.to_string(),
        None => ddl::current_database(host.env())?,
    };
    let key = programs::key(ProgramKind::Procedure, &database, name);
    let facts = host.facts();
    facts.meets(&Need::execute(Object::Procedure, &database, name))?;
    let inner = &facts.instance.0;
    let mut running = facts.running.lock();
    match running
        .routines
        .find(&inner.programs, &inner.engine, &key)?
    {
        Some(routine) => Ok((key, routine)),
        None => {
            let full = format!("{database}.{name}");
            Err(ProgramDef::missing(ProgramKind::Procedure, &full))
        }
    }
}

/// Errors 1456 and 1436 for a procedure that is within itself, or within others, too often.
fn check_nesting(host: &dyn Host, key: &ObjectKey, def: &ProgramDef) -> SqlResult<usize> {
    let facts = host.facts();
    let running = facts.running.lock();
    let again = running.calls.iter().filter(|k| *k == key).count() as u64;
    let most = facts.vars.named("max_sp_recursion_depth").as_u64();
    let most = most.unwrap_or(0);
    if again > most {
        let name = &def.name;
        return Err(SqlError::new(
            1456,
            format!(
                "Recursive limit {most} (as set by the max_sp_recursion_depth variable) was exceeded for routine {name}"
            ),
        ));
    }
    too_deep(running.calls.len())?;
    Ok(running.calls.len())
}

/// 1436.
pub(super) fn too_deep(calls: usize) -> SqlResult<()> {
    match calls >= MOST_CALLS {
        true => Err(SqlError::new(
            1436,
            format!("Thread stack overrun: {MOST_CALLS} routines within each other"),
        )),
        false => Ok(()),
    }
}

/// Invokes a procedure with these values for its parameters; their values at its end.
fn invoke(
    host: &mut dyn Host,
    key: ObjectKey,
    routine: &Routine,
    args: Vec<Value<'static>>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Vec<Value<'static>>> {
    let program = &routine.program;
    check_results(host, program)?;
    let calls = check_nesting(host, &key, &program.def)?;
    let mut frame = Vec::with_capacity(program.slots.len());
    for ((mode, column), v) in program.parameters.iter().zip(&program.slots).zip(args) {
        frame.push(match mode {
            ParameterMode::Out => Value::Null,
            _ => as_stored(host.env(), v, column)?,
        });
    }
    let right = host.facts().enter_right(host.env(), &program.def)?;
    let outside = host.enter(&program.def);
    host.facts().running.lock().calls.push(key);
    let run = || {
        let mut invocation = Invocation::new(host, routine, sink, frame);
        invocation.run().map(|_| invocation.frame)
    };
    let done = match calls > 0 {
        true => stack::lent(0, run),
        false => run(),
    };
    host.facts().running.lock().calls.pop();
    host.leave(outside);
    host.facts().leave_right(host.env(), right);
    done
}

impl Session {
    /// Puts a program's settings in the place of the session's; what `leave_program` takes.
    pub(super) fn enter_program(&mut self, def: &ProgramDef) -> Outside {
        let named = |name| self.facts.vars.named(name);
        let outside = Outside {
            database: self.env.database.borrow().clone(),
            mode: named("sql_mode"),
            client: named("character_set_client"),
            encoding: self.env.client.get(),
            connection: named("collation_connection"),
            charset: named("character_set_connection"),
            mode_before: None,
            locals: self.locals.take(),
        };
        let text = |s: &str| VarValue::Text(s.into());
        let collation = Collation::by_name(&def.connection);
        let charset = collation.map_or_else(|_| outside.charset.clone(), |c| text(c.charset()));
        self.run_under(&Outside {
            database: Some(def.database.clone()),
            mode: text(&sql_mode::format(def.mode)),
            client: text(&def.client),
            encoding: Encoding::of_charset(&def.client),
            connection: text(&def.connection),
            charset,
            mode_before: None,
            locals: None,
        });
        outside
    }

    /// Puts them back.
    pub(super) fn leave_program(&mut self, outside: &Outside) {
        self.locals.clone_from(&outside.locals);
        self.run_under(outside);
    }

    fn run_under(&mut self, new: &Outside) {
        let vars = &self.facts.vars;
        let mut changed = false;
        for (name, value) in [
            ("sql_mode", &new.mode),
            ("character_set_client", &new.client),
            ("collation_connection", &new.connection),
            ("character_set_connection", &new.charset),
        ] {
            if vars.named(name) != *value {
                vars.put(vars::known(name), value.clone());
                changed = true;
            }
        }
        if *self.env.database.borrow() != new.database {
            (*self.env.database.borrow_mut()).clone_from(&new.database);
            self.refresh_database_variables();
            self.refresh_context();
        }
        if changed {
            self.refresh_settings();
        }
    }

    /// CALL as the client sent it.
    pub(in super::super) fn call_statement(
        &mut self,
        call: &ast::CallProcedure,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let database = call.name.database.as_ref().map(|d| d.as_str());
        let (key, routine) = procedure(self, database, call.name.name.as_str())?;
        let args = call.args.all();
        let variable = |e: &ast::Expr| match &e.kind {
            ExprKind::UserVariable(name) => Some(Variable::User(name.to_lowercase())),
            ExprKind::Param(n) => Some(Variable::Param(*n as usize)),
            _ => None,
        };
        let variables: Vec<_> = args.iter().map(variable).collect();
        check_arguments(&routine.program, &variables)?;
        let exprs: Vec<&ast::Expr> = args.iter().collect();
        let values = match exprs.is_empty() {
            true => Vec::new(),
            false => self.evaluate(&exprs, params)?,
        };
        clear_conditions(self);
        let outs = invoke(self, key, &routine, values, sink)?;
        self.give_out(&routine.program, &variables, outs, sink)?;
        let affected = u64::try_from(self.env.row_count.get()).unwrap_or(0);
        let row_count = self.env.row_count.get();
        let done = self.finish(affected, "", more, sink);
        self.env.row_count.set(row_count);
        done
    }

    /// Hands out what parameters have become.
    fn give_out(
        &mut self,
        program: &Program,
        variables: &[Option<Variable>],
        outs: Vec<Value<'static>>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let mut columns = Vec::new();
        let mut row = Vec::new();
        let slots = program.slots.iter().zip(&program.parameters);
        for (((column, mode), variable), v) in slots.zip(variables).zip(outs) {
            if *mode == ParameterMode::In {
                continue;
            }
            match variable {
                Some(Variable::User(name)) => self.env.set_user_var(name, v)?,
                Some(Variable::Param(n)) => {
                    if let Some(using) = &self.using {
                        let name = using.get(*n).cloned();
                        if let Some(name) = name {
                            self.env.set_user_var(&name, v)?;
                        }
                        continue;
                    }
                    let name = column.name.clone();
                    columns.push(ColumnMeta::computed(name, &column.ty, true));
                    row.push(v);
                }
                Some(Variable::Local(_)) | None => {}
            }
        }
        match columns.is_empty() {
            true => Ok(()),
            false => self.send_outs(&columns, &row, sink),
        }
    }

    /// SIGNAL, RESIGNAL or GET DIAGNOSTICS as the client sent it.
    pub(in super::super) fn diagnostics_statement(
        &mut self,
        statement: &Statement,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let program = alone(statement, self.env.sql_mode.get())?;
        let routine = Routine::new(Arc::new(program));
        let locals = self.locals.take();
        let done = Invocation::new(self, &routine, sink, Vec::new()).run();
        self.locals = locals;
        done.map(|_: Flow| ())
    }
}

impl Invocation<'_, '_> {
    /// CALL within a program.
    pub fn call(&mut self, call: &Call) -> SqlResult<()> {
        let (database, name) = &call.name;
        let (key, routine) = procedure(self.host, database.as_deref(), name)?;
        let variables: Vec<_> = call.args.iter().map(|a| a.variable.clone()).collect();
        check_arguments(&routine.program, &variables)?;
        let mut values = Vec::with_capacity(call.args.len());
        for (argument, mode) in call.args.iter().zip(&routine.program.parameters) {
            values.push(match mode {
                ParameterMode::Out => Value::Null,
                _ => self.argument(argument)?,
            });
        }
        clear_conditions(self.host);
        let outs = invoke(&mut *self.host, key, &routine, values, &mut *self.sink)?;
        let modes = routine.program.parameters.iter();
        for ((variable, mode), v) in variables.iter().zip(modes).zip(outs) {
            if let (Some(variable), false) = (variable, *mode == ParameterMode::In) {
                self.assign_to(variable, v)?;
            }
        }
        Ok(())
    }

    fn argument(&mut self, argument: &Argument) -> SqlResult<Value<'static>> {
        match &argument.variable {
            Some(Variable::Local(slot)) => Ok(self.frame[*slot].clone()),
            _ => self.strictly(&argument.value),
        }
    }
}
