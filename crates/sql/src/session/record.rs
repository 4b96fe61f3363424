//! What a statement leaves in the stall record when it ends.

use super::Session;
use super::cache::Compiled;
use super::counters::Counter;
use crate::error::SqlResult;
use crate::watch::{self, DdlEvent, Running, StatementKind};

/// The statement that runs, as far as records are concerned.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub running: Running,
}

impl Default for Current {
    fn default() -> Current {
        Current {
            running: Running {
                kind: StatementKind::Other,
                start_ns: 0,
            },
        }
    }
}

impl Session {
    /// Records that the statement begun last has ended.
    #[inline]
    pub(super) fn record_end(&mut self) {
        let watch = &self.instance.0.watch;
        let ns = watch.finish(self.current.running, watch.now_ns());
        if ns / 1000 > self.settings.long_query_us {
            self.count(Counter::SlowQueries);
        }
    }

    /// A DDL statement is about to be carried out.
    #[cold]
    pub(super) fn begin_ddl(&self, compiled: &Compiled) -> u64 {
        let (database, table) = watch::ddl_object(&compiled.statement.kind);
        self.instance.0.watch.begin_ddl(DdlEvent {
            id: 0,
            kind: compiled.kind,
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
