//! What runs a program's statements: the session, or the statement that called a function ([`super::inner`]).

use std::sync::Arc;

use super::super::Session;
use super::super::run::sink_error;
use super::call::Outside;
use crate::counters::Counter;
use crate::instance::Facts;
use crate::statements::Compiled;
use millpond_sql::catalog::programs::ProgramDef;
use millpond_sql::env::{Locals, SessionEnv, now_us};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::memory::MemoryAccount;
use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::value::Value;

/// What SELECT ... INTO has for variables, by their slots.
pub(super) type ForLocals = Vec<(usize, Value<'static>)>;

/// What runs the statements of a program.
pub(super) trait Host {
    /// What statements see of the session.
    fn env(&self) -> &SessionEnv;
    /// What others see of it, and its programs.
    fn facts(&self) -> &Facts;
    /// What it charges.
    fn memory(&self) -> &Arc<MemoryAccount>;
    /// Runs what reads only (an expression, a cursor's query) and keeps its rows. It is no statement: what ROW_COUNT() and the like say
    /// stays.
    fn rows(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<Answered>;
    /// Runs a statement; what it has for variables.
    fn statement(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<ForLocals>;
    /// Puts a program's settings in the place of its caller's; what [`Host::leave`] takes.
    fn enter(&mut self, def: &ProgramDef) -> Outside;
    /// Puts them back.
    fn leave(&mut self, outside: Outside);
    /// The numbers that `@@warning_count` and `@@error_count` say are those of now.
    fn end_diagnostics(&mut self);
    /// Whether no handler may take an error.
    fn is_fatal(&self, e: &SqlError) -> bool;
}

/// Rows of a query.
#[derive(Default)]
pub(super) struct Answered {
    /// How many columns they have.
    pub columns: usize,
    /// The rows.
    pub rows: Vec<Vec<Value<'static>>>,
}

impl ResultSink for Answered {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.columns = columns.len();
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        let row = row.iter().map(|v| v.clone().into_owned());
        self.rows.push(row.collect());
        Ok(())
    }
    fn finish(&mut self, _done: &Completion) -> std::io::Result<()> {
        Ok(())
    }
}

/// Lets result sets through, and each says that more is to come; OK is the whole statement's to say.
struct Within<'s> {
    sink: &'s mut dyn ResultSink,
    in_rows: bool,
}

impl ResultSink for Within<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.in_rows = true;
        self.sink.columns(columns)
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        self.sink.row(row)
    }
    fn finish(&mut self, done: &Completion) -> std::io::Result<()> {
        if !std::mem::take(&mut self.in_rows) {
            return Ok(());
        }
        self.sink.finish(&Completion {
            more: true,
            ..done.clone()
        })
    }
}

impl Host for Session {
    fn env(&self) -> &SessionEnv {
        &self.env
    }
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn memory(&self) -> &Arc<MemoryAccount> {
        &self.memory
    }

    fn rows(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<Answered> {
        let outside = self.locals.replace(locals.clone());
        let sent = self.env.rows_sent.get();
        let mut rows = Answered::default();
        let mut kept = compiled.take(&self.context);
        let ran = self.in_transaction(|s| s.run_kept(compiled, &mut kept, params, &mut rows));
        if let Some(kept) = kept {
            compiled.put_back(kept);
        }
        self.env.rows_sent.set(sent);
        self.locals = outside;
        ran.map(|_| rows)
    }

    /// As if the client had sent it.
    fn statement(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<ForLocals> {
        self.tell_time();
        self.count(Counter::Queries);
        self.show_text(&compiled.text);
        if let Some(c) = compiled.row.counter {
            self.count(c);
        }
        let outside = self.locals.replace(locals.clone());
        let kind = self.current.running.kind;
        let mut within = Within {
            sink,
            in_rows: false,
        };
        let done = if compiled.statement.is_planned() {
            let done = self.program_plan(compiled, params, &mut within);
            done.inspect_err(|e| self.audit_failure(compiled.row.kind, &compiled.text, e))
        } else {
            self.dispatch(compiled, &compiled.text, params, true, &mut within)
                .map(|()| ForLocals::new())
        };
        self.current.running.kind = kind;
        self.locals = outside;
        done
    }

    fn enter(&mut self, def: &ProgramDef) -> Outside {
        self.enter_program(def)
    }
    fn leave(&mut self, outside: Outside) {
        self.leave_program(&outside);
    }
    fn end_diagnostics(&mut self) {
        Session::end_diagnostics(self);
    }
    fn is_fatal(&self, e: &SqlError) -> bool {
        /// The client is gone.
        const NOBODY_LISTENS: u16 = 1160;
        self.facts.seat.interrupted() || e.code == NOBODY_LISTENS
    }
}

impl Session {
    fn program_plan(
        &mut self,
        compiled: &Compiled,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<ForLocals> {
        let mut kept = compiled.take(&self.context);
        let ran = self.in_transaction(|s| s.run_kept(compiled, &mut kept, params, sink));
        let is_query = kept.as_ref().is_some_and(|k| k.plan.is_query());
        if let Some(kept) = kept {
            compiled.put_back(kept);
        }
        let mut outcome = ran?;
        let locals = std::mem::take(&mut outcome.locals);
        self.end_planned(outcome, is_query, true, sink)?;
        Ok(locals)
    }

    /// A statement of a procedure begins: NOW() is its own.
    fn tell_time(&mut self) {
        if self.settings.timestamp.is_none() {
            let now = now_us();
            let (s, us) = ((now / 1_000_000) as i64, (now % 1_000_000) as u32);
            self.env.now.set((s, us));
        }
    }

    /// The rows of OUT parameters, for a client that prepared its CALL.
    pub(super) fn send_outs(
        &mut self,
        columns: &[ColumnMeta],
        row: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        /// SERVER_PS_OUT_PARAMS.
        const OUT_PARAMS: u16 = 4096;
        let failed = |e: std::io::Error| sink_error(&e);
        let done = Completion {
            warnings: self.warning_count(),
            status: self.status_flags() | OUT_PARAMS,
            more: true,
            ..Completion::default()
        };
        sink.out_parameters();
        sink.columns(columns).map_err(failed)?;
        sink.row(row).map_err(failed)?;
        sink.finish(&done).map_err(failed)
    }
}
