//! What a statement leaves in the stall record and the slow query log when it ends.

use std::sync::Arc;

use super::Session;
use super::unsettled::Counts;
use crate::counters::Counter;
use crate::digests::{Done, Tally};
use crate::slowlog::{self, Entry};
use crate::statements::Compiled;
use crate::watch::{self, DdlEvent, Running, StatementKind};
use millpond_sql::error::SqlResult;
use millpond_sql::parse::lex_mode;
use millpond_sql::plan::Shape;
use millpond_sql::value::Value;
use millpond_store::PageWork;
use millpond_store::io::of_thread;

/// The statement that runs, as far as records are concerned.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub running: Running,
    /// What the session's owner had waited for locks when it began, nanoseconds.
    pub waited_ns: u64,
    /// How its plan found rows, once it has run.
    pub shape: Shape,
    /// Whether it was run by a plan.
    pub planned: bool,
    /// What its thread had done on files when it began.
    pub ios: (u64, u64),
}

impl Default for Current {
    fn default() -> Current {
        Current {
            running: Running {
                kind: StatementKind::Other,
                start_ns: 0,
            },
            waited_ns: 0,
            shape: Shape::default(),
            planned: false,
            ios: (0, 0),
        }
    }
}

impl Session {
    /// Records that the statement begun last has ended. `text` is what the client sent; `params` the values of a prepared statement; `values`
    /// how many it ran with, those of a text's own literals among them.
    #[inline]
    pub(super) fn record_end(
        &mut self,
        compiled: &Compiled,
        text: &Arc<str>,
        params: &[Value<'_>],
        values: usize,
        failed: bool,
    ) {
        let mut done = self.done(failed);
        let watch = &self.instance.0.watch;
        let end_ns = watch.now_ns();
        done.ns = watch.finish(self.current.running, end_ns);
        done.end_us = watch.wall_us(end_ns);
        match compiled.tally(values).get() {
            Some(t) if t.schema.as_deref() == self.context.database.as_deref() => {
                t.count(&done, text);
            }
            _ => self.other_tally(compiled, text, values).count(&done, text),
        }
        self.seat().work.add(Some(compiled.row.kind), &done);
        if done.ns > self.settings.long_query_ns {
            self.slow(compiled.row.administrative, text, params, end_ns);
        }
    }

    /// What is to be counted of the statement begun last when it is settled.
    pub(super) fn record_later(
        &mut self,
        compiled: &Compiled,
        text: &Arc<str>,
        values: usize,
        failed: bool,
    ) {
        let done = self.done(failed);
        let tally = match compiled.tally(values).get() {
            Some(t) if t.schema.as_deref() == self.context.database.as_deref() => t.clone(),
            _ => self.other_tally(compiled, text, values),
        };
        let watch = &self.instance.0.watch;
        let now_ns = watch.now_ns();
        let ns = now_ns.saturating_sub(self.current.running.start_ns);
        // It takes longer than that by what the log takes.
        let sample = tally.wants_sample(ns, watch.wall_us(now_ns));
        self.unsettled.counts = Some(Counts {
            done,
            tally,
            seat: self.facts.seat.clone(),
            sample: sample.then(|| text.clone()),
        });
    }

    /// What the statement begun last did, but for when it ended.
    #[inline]
    fn done(&mut self, failed: bool) -> Done {
        let (ios, io_ns) = of_thread();
        let env = &mut self.env;
        let conditions = env.conversion.diagnostics.get_mut().len() as u64;
        Done {
            ns: 0,
            end_us: 0,
            lock_ns: self.owner.waited_ns() - self.current.waited_ns,
            errors: u64::from(failed),
            warnings: conditions + u64::from(failed),
            affected: match failed {
                true => 0,
                false => u64::try_from(env.row_count.get()).unwrap_or(0),
            },
            sent: env.rows_sent.get(),
            examined: env.rows_examined.get(),
            disk_tables: env.effort.disk_tables.get(),
            sort_rows: env.effort.sort_rows.get(),
            merge_passes: env.effort.merge_passes.get(),
            memory: match self.current.planned {
                true => self.memory.peak() as u64,
                false => 0,
            },
            ios: ios.wrapping_sub(self.current.ios.0),
            io_ns: io_ns.wrapping_sub(self.current.ios.1),
            shape: self.current.shape,
        }
    }

    /// Where a text is counted that runs for the first time, or in another schema than it did then.
    #[cold]
    fn other_tally(&self, compiled: &Compiled, text: &str, values: usize) -> Arc<Tally> {
        // What is shown of a text with passwords isn't what is written; what its plan was made for may be a list of one of its rows.
        let text = match compiled.is_secret {
            true => &compiled.statement.text,
            false => text,
        };
        let (tally, own) = self.instance.0.digests.of(
            self.context.database.as_deref(),
            text,
            lex_mode(self.env.sql_mode.get()),
            Some(compiled.row.kind),
        );
        if own {
            // The first stays.
            let _ = compiled.tally(values).set(tally.clone());
        }
        tally
    }

    /// Counts a text that is no statement.
    pub(super) fn record_unparsed(&mut self) {
        let mut done = self.done(true);
        let watch = &self.instance.0.watch;
        let end_ns = watch.now_ns();
        done.ns = end_ns.saturating_sub(self.current.running.start_ns);
        done.end_us = watch.wall_us(end_ns);
        self.instance.0.digests.rest(None).add(&done);
        self.seat().work.add(None, &done);
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
        // Of temporary tables, perhaps, that went with another session.
        PageWork::take();
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
            pages_ns: None,
        })
    }

    /// It has been carried out.
    pub(super) fn end_ddl(&self, event: u64, result: &SqlResult<()>) {
        let error = result.as_ref().err().map_or(0, |e| e.code);
        let pages = PageWork::take();
        self.instance.0.watch.end_ddl(event, error, pages);
    }
}
