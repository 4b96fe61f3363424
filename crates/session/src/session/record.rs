//! What a statement leaves in the stall record and the slow query log when it ends.

use super::Session;
use crate::registry::Counter;
use crate::slowlog::{self, Entry};
use crate::statements::Compiled;
use crate::watch::{self, DdlEvent, Running, StatementKind};
use millpond_sql::error::SqlResult;
use millpond_sql::value::Value;

/// The statement that runs, as far as records are concerned.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub running: Running,
    /// What the session's owner had waited for locks when it began, nanoseconds.
    pub waited_ns: u64,
}

impl Default for Current {
    fn default() -> Current {
        Current {
            running: Running {
                kind: StatementKind::Other,
                start_ns: 0,
            },
            waited_ns: 0,
        }
    }
}

impl Session {
    /// Records that the statement begun last has ended. `administrative`: whether `log_slow_admin_statements` is about it; `text`
    /// is what the client sent; `params` the values of a prepared statement.
    #[inline]
    pub(super) fn record_end(&mut self, administrative: bool, text: &str, params: &[Value<'_>]) {
        let watch = &self.instance.0.watch;
        let end_ns = watch.now_ns();
        let ns = watch.finish(self.current.running, end_ns);
        if ns > self.settings.long_query_ns {
            self.slow(administrative, text, params, end_ns);
        }
    }

    /// How long the current statement may take before it is a slow query, as far as rows decide that.
    pub(super) fn slow_after_ns(&self) -> u64 {
        if self.env.rows_examined.get() < self.settings.min_examined_row_limit {
            return u64::MAX;
        }
        self.settings.long_query_ns
    }

    /// Counts and logs a statement that took long.
    #[cold]
    fn slow(&mut self, administrative: bool, text: &str, params: &[Value<'_>], end_ns: u64) {
        let log = &self.instance.0.slow_log;
        let rows_examined = self.env.rows_examined.get();
        if rows_examined < self.settings.min_examined_row_limit
            || (administrative && !log.has_admin())
        {
            return;
        }
        self.count(Counter::SlowQueries);
        if !log.is_on() {
            return;
        }
        let watch = &self.instance.0.watch;
        let start_ns = self.current.running.start_ns;
        let expanded;
        let statement = if params.is_empty() {
            text
        } else {
            expanded = slowlog::with_values(text, params, self.env.sql_mode.get());
            &expanded
        };
        let seat = self.seat();
        log.log(&Entry {
            end_us: watch.wall_us(end_ns),
            start_s: watch.wall_us(start_ns) / 1_000_000,
            user: &seat.user(),
            host: &seat.host,
            id: seat.id,
            query_ns: end_ns - start_ns,
            lock_ns: self.owner.waited_ns() - self.current.waited_ns,
            rows_sent: self.env.rows_sent.get(),
            rows_examined,
            database: self.env.database.borrow().as_deref(),
            statement,
        });
    }

    /// A DDL statement is about to be carried out.
    #[cold]
    pub(super) fn begin_ddl(&self, compiled: &Compiled) -> u64 {
        let (database, table) = watch::ddl_object(compiled.statement.kind());
        self.instance.0.watch.begin_ddl(DdlEvent {
            id: 0,
            kind: compiled.row.watched,
            database: database.or_else(|| self.database()),
            table,
            connection: self.id(),
            text: compiled.text.to_string(),
            start_ns: self.instance.0.watch.now_ns(),
            end_ns: None,
            error: 0,
        })
    }

    /// It has been carried out.
    pub(super) fn end_ddl(&self, event: u64, result: &SqlResult<()>) {
        let error = result.as_ref().err().map_or(0, |e| e.code);
        self.instance.0.watch.end_ddl(event, error);
    }
}
