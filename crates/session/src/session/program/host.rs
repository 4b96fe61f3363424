//! What runs a program's statements: the session itself.

use std::sync::Arc;

use super::super::Session;
use super::super::run::{Rows, sink_error};
use crate::registry::Counter;
use crate::statements::Compiled;
use millpond_sql::env::{Locals, now_us};
use millpond_sql::error::SqlResult;
use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::value::Value;

/// What SELECT ... INTO has for variables, by their slots.
pub(super) type ForLocals = Vec<(usize, Value<'static>)>;

/// Rows of a query.
pub(super) type Table = Vec<Vec<Value<'static>>>;

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

impl Session {
    /// Runs what reads only (an expression, a cursor's query) and keeps its rows. It is no statement: what ROW_COUNT() and the like say
    /// stays.
    pub(super) fn program_rows(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
    ) -> SqlResult<Table> {
        let outside = self.locals.replace(locals.clone());
        let sent = self.env.rows_sent.get();
        let mut rows = Rows::default();
        let mut kept = compiled.take(&self.context);
        let ran = self.in_transaction(|s| s.run_kept(compiled, &mut kept, params, &mut rows));
        if let Some(kept) = kept {
            compiled.put_back(kept);
        }
        self.env.rows_sent.set(sent);
        self.locals = outside;
        ran.map(|_| rows.0)
    }

    /// Runs a statement, as if the client had sent it.
    pub(super) fn program_statement(
        &mut self,
        compiled: &Compiled,
        locals: &Arc<Locals>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<ForLocals> {
        self.tell_time();
        self.count(Counter::Queries);
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
            self.program_plan(compiled, params, &mut within)
        } else {
            self.dispatch(compiled, params, true, &mut within)
                .map(|()| ForLocals::new())
        };
        self.current.running.kind = kind;
        self.locals = outside;
        done
    }

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
