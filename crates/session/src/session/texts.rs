//! How texts and prepared statements come in, and what every statement begins and ends with.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::record::Current;
use super::{Prepared, Session};
use crate::counters::Counter;
use crate::registry::Command;
use crate::statements::MAX_TEXT;
use crate::statements::{Compiled, Context, Parsed};
use crate::watch::{Running, StatementKind};
use millpond_sql::env::{Diagnostic, Level, SqlMode, now_us};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse;
use millpond_sql::plan::Shape;
use millpond_sql::result::ResultSink;
use millpond_sql::stack;
use millpond_sql::types::Encoding;
use millpond_sql::value::Value;
use millpond_store::io::of_thread;

/// Syntax trees of this many bytes are charged to the session's account while their statements run.
const CHARGED_TREE: usize = 64 << 10;

impl Session {
    /// Runs a text of one or more statements. Each statement's result goes to `sink`; an error ends the text.
    pub fn execute(&mut self, sql: &str, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.env.profiles.begin();
        let key = self.key(sql);
        if let Some(compiled) = self.cache.get(key, sql, &self.context) {
            self.count(Counter::CacheHits);
            return self.one_statement(&compiled, Command::Query, &[], false, sink);
        }
        let mode = self.env.sql_mode.get();
        if let Some(r) = self.general_statement(sql, mode, sink) {
            return r;
        }
        if let Some(compiled) = self.shared(key, sql) {
            self.count(Counter::CacheHits);
            return self.one_statement(&compiled, Command::Query, &[], false, sink);
        }
        self.count(Counter::CacheMisses);
        let (first, mut rest) = parse::split_first(sql, mode);
        if parse::is_blank(rest, mode) {
            if parse::is_comment(sql, mode) {
                return self.comment(sink);
            }
            let context = self.context.clone();
            let compiled = self.parse(first)?;
            self.one_statement(&compiled, Command::Query, &[], false, sink)?;
            self.offer(key, sql, &context, compiled);
            return Ok(());
        }
        if !self.multi_statements {
            let error = SqlError::syntax(format_args!(
                "check the manual for the right syntax to use near '{}' at line {}",
                rest.trim_start().chars().take(80).collect::<String>(),
                1 + sql[..sql.len() - rest.trim_start().len()]
                    .bytes()
                    .filter(|b| *b == b'\n')
                    .count()
            ));
            return self.fail_unparsed(error);
        }
        let (mut text, mut all) = (first, sql);
        loop {
            let more = !parse::is_blank(rest, self.env.sql_mode.get());
            let compiled = self.parse_first(text, all.trim_start())?;
            if more {
                self.env.profiles.show_as(all.trim());
            }
            self.one_statement(&compiled, Command::Query, &[], more, sink)?;
            if !more || self.killed() {
                return Ok(());
            }
            all = rest;
            (text, rest) = parse::split_first(rest, self.env.sql_mode.get());
        }
    }

    /// Answers a text of nothing but comments: a statement that does nothing.
    fn comment(&mut self, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.begin_statement(Command::Query);
        self.env.conversion.diagnostics.get_mut().clear();
        self.seat().idle();
        self.env.profiles.end(None);
        self.finish(0, "", false, sink)
    }

    /// A text's key in the caches.
    fn key(&self, text: &str) -> u64 {
        self.instance.0.statements.key(text, self.context_key)
    }

    /// A statement that other sessions have brought, held from now on.
    fn shared(&mut self, key: u64, text: &str) -> Option<Arc<Compiled>> {
        if !self.context.is_common() {
            return None;
        }
        let (source, parsed) = self.instance.0.statements.get(key, text, &self.context)?;
        let compiled = Arc::new(Compiled::of(parsed));
        self.cache
            .put(key, source, self.context.clone(), compiled.clone());
        Some(compiled)
    }

    /// Offers a statement that ran, for the session and others to run it again. `context` is that in which it was
    /// parsed: what changed it meant something else than it would now.
    fn offer(&mut self, key: u64, text: &str, context: &Arc<Context>, compiled: Arc<Compiled>) {
        if !Arc::ptr_eq(context, &self.context) || compiled.is_secret {
            return;
        }
        if !context.is_common() {
            if text.len() <= MAX_TEXT {
                self.cache.put(key, text.into(), context.clone(), compiled);
            }
            return;
        }
        let statements = &self.instance.0.statements;
        if let Some(source) = statements.offer(key, text, context, compiled.parsed()) {
            self.cache.put(key, source, context.clone(), compiled);
        }
    }

    /// Runs a statement by the plan of those that differ from it in their literals only, if it is one that has
    /// such a plan or may have one.
    fn general_statement(
        &mut self,
        sql: &str,
        mode: SqlMode,
        sink: &mut dyn ResultSink,
    ) -> Option<SqlResult<()>> {
        // Which of its literals become bytes is a question for its own plan.
        if self.env.client.get() != Encoding::Utf8 && !sql.is_ascii() {
            return None;
        }
        let general = parse::generalize(sql, mode)?;
        let key = self.key(&general.text);
        let context = self.context.clone();
        let kept = self.cache.get(key, &general.text, &context);
        let kept = kept.or_else(|| self.shared(key, &general.text));
        let known = kept.is_some();
        let compiled = match kept {
            Some(c) if !c.is_general() => return None,
            Some(c) => {
                self.count(Counter::CacheHits);
                c
            }
            None => {
                // What does not parse is reported as it was written.
                let statement = parse::parse_one(&general.text, mode).ok()?;
                self.count(Counter::CacheMisses);
                let compiled = Compiled::new(statement, general.text.trim().into(), mode);
                Arc::new(compiled.ok()?)
            }
        };
        let text: Arc<str> = sql.trim().into();
        let r = self.shown_statement(
            &compiled,
            &text,
            Command::Query,
            &general.params,
            false,
            sink,
        );
        if !known && r.is_ok() {
            self.offer(key, &general.text, &context, compiled);
        }
        Some(r)
    }

    /// Parses one statement; an error becomes the statement's.
    pub(super) fn parse(&mut self, text: &str) -> SqlResult<Arc<Compiled>> {
        self.parse_first(text, text)
    }

    /// The same of the first statement of several, `all`: errors quote what follows.
    fn parse_first(&mut self, text: &str, all: &str) -> SqlResult<Arc<Compiled>> {
        let mode = self.env.sql_mode.get();
        let statement = parse::parse_one(text, mode).map_err(|e| {
            let quoted = (e.code == 1064).then(|| parse::parse_one(all, mode).err());
            quoted.flatten().unwrap_or(e)
        });
        match statement.and_then(|s| Compiled::new(s, text.trim().into(), mode)) {
            Ok(compiled) => Ok(Arc::new(compiled)),
            Err(e) => self.fail_unparsed(e),
        }
    }

    /// Ends a statement that did not get as far as being one.
    fn fail_unparsed<T>(&mut self, e: SqlError) -> SqlResult<T> {
        self.env.profiles.end(None);
        self.begin_statement(Command::Query);
        self.env.conversion.diagnostics.get_mut().clear();
        self.record_unparsed();
        self.fail(e)
    }

    /// Parses and plans one statement.
    pub fn prepare(&mut self, sql: &str) -> SqlResult<Arc<Prepared>> {
        self.begin_statement(Command::Prepare);
        self.count(Counter::StmtPrepare);
        let prepared = self.make_prepared(sql);
        self.seat().idle();
        match prepared {
            Ok(p) => {
                self.end_diagnostics();
                Ok(p)
            }
            Err(e) => self.fail(e),
        }
    }

    pub(super) fn make_prepared(&mut self, sql: &str) -> SqlResult<Arc<Prepared>> {
        let mode = self.env.sql_mode.get();
        let (first, rest) = parse::split_first(sql, mode);
        if !parse::is_blank(rest, mode) {
            return Err(SqlError::syntax(format_args!(
                "a prepared statement is one statement; near '{}'",
                rest.trim().chars().take(80).collect::<String>()
            )));
        }
        let limit = self.instance.global_u64("max_prepared_stmt_count");
        if self.instance.0.prepared.load(Ordering::Relaxed) >= limit.unwrap_or(u64::MAX) {
            return Err(SqlError::new(
                1461,
                format!(
                    "Can't create more than max_prepared_stmt_count statements (current value: {})",
                    limit.unwrap_or(0)
                ),
            ));
        }
        let compiled = self.compiled_of(first, mode);
        let kept = |c: &Arc<Compiled>| c.row.keeps_diagnostics;
        if !compiled.as_ref().is_ok_and(kept) {
            self.env.conversion.diagnostics.get_mut().clear();
        }
        let compiled = compiled?;
        self.warn_of_deprecated(&compiled);
        super::dispatch::preparable(&compiled)?;
        let columns = stack::with_room(compiled.statement.run, || self.describe(&compiled));
        let columns =
            columns.inspect_err(|e| self.audit_failure(compiled.row.kind, &compiled.text, e))?;
        self.instance.0.prepared.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Prepared {
            params: compiled.statement.params,
            columns,
            runs: Some(super::Runs {
                compiled,
                instance: self.instance.clone(),
            }),
        }))
    }

    /// A hold of its own on a text's statement, for a prepared statement.
    fn compiled_of(&self, text: &str, mode: SqlMode) -> SqlResult<Arc<Compiled>> {
        let statements = &self.instance.0.statements;
        let key = self.key(text);
        let common = self.context.is_common();
        let known = match common {
            true => statements.get(key, text, &self.context),
            false => None,
        };
        let parsed = match known {
            Some((_, parsed)) => parsed,
            None => {
                let statement = parse::parse_one(text, mode)?;
                let parsed = Arc::new(Parsed::new(statement, text.trim().into(), mode)?);
                if common && !parsed.is_secret {
                    statements.offer(key, text, &self.context, &parsed);
                }
                parsed
            }
        };
        Ok(Arc::new(Compiled::prepared(parsed)))
    }

    /// Runs a prepared statement.
    pub fn execute_prepared(
        &mut self,
        statement: &Arc<Prepared>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.count(Counter::StmtExecute);
        if params.len() != statement.params {
            return self.fail_unparsed(SqlError::new(
                1210,
                "Incorrect arguments to mysqld_stmt_execute",
            ));
        }
        let done = match statement.compiled() {
            Ok(c) => self.one_statement(c, Command::Execute, params, false, sink),
            Err(e) => Err(e),
        };
        self.texts.clear();
        done
    }

    /// Says which parameters of the next [`Session::execute_prepared`] are texts converted from the client's character set. Where
    /// bytes are wanted they become what the client sent.
    pub fn converted_texts(&mut self, which: impl Iterator<Item = bool>) {
        self.texts.clear();
        self.texts.extend(which);
    }

    /// What the client has sent by name with the statements to come, until it is said anew; `None`: NULL.
    pub fn set_query_attributes(&mut self, attributes: Vec<(String, Option<String>)>) {
        *self.env.query_attributes.borrow_mut() = attributes;
    }

    /// Marks the start of a statement: clock, process list, counters, KILL QUERY of before.
    #[inline]
    pub(super) fn begin_statement(&mut self, command: Command) {
        let watch = &self.instance.0.watch;
        self.current = Current {
            running: Running {
                kind: StatementKind::Other,
                start_ns: watch.now_ns(),
            },
            waited_ns: self.owner.waited_ns(),
            shape: Shape::default(),
            planned: false,
            ios: of_thread(),
        };
        let now_us = watch.wall_us(self.current.running.start_ns);
        self.env.rows_sent.set(0);
        self.env.told.borrow_mut().clear();
        self.env.behind.borrow_mut().clear();
        self.env.rows_examined.set(0);
        self.env.effort.clear();
        let seat = &*self.facts.seat;
        // Before `busy`: a KILL QUERY from then on is about this statement.
        if seat.interrupted() {
            seat.forget_kill_query();
        }
        seat.busy(command, now_us);
        seat.counters.add(Counter::Queries, 1);
        if command != Command::Prepare {
            seat.counters.add(Counter::Questions, 1);
        }
        let vars = &self.facts.vars;
        match self.settings.timestamp {
            None => {
                self.env
                    .now
                    .set(((now_us / 1_000_000) as i64, (now_us % 1_000_000) as u32));
                vars.now_us.store(now_us, Ordering::Relaxed);
            }
            Some((s, us)) => {
                self.env.now.set((s, us));
                vars.now_us
                    .store(s as u64 * 1_000_000 + u64::from(us), Ordering::Relaxed);
            }
        }
    }

    /// Shows a statement's text in the process list.
    #[inline]
    pub(super) fn show_text(&mut self, text: &Arc<str>) {
        let address = text.as_ptr() as usize;
        if self.shown != address {
            // The seat holds the text from here on, so its address stays taken.
            self.facts.seat.show(text);
            self.shown = address;
        }
    }

    /// Runs one statement from start to finish, diagnostics and process list included.
    fn one_statement(
        &mut self,
        compiled: &Arc<Compiled>,
        command: Command,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.shown_statement(compiled, &compiled.text, command, params, more, sink)
    }

    /// The same, shown as `text` in the process list.
    fn shown_statement(
        &mut self,
        compiled: &Arc<Compiled>,
        text: &Arc<str>,
        command: Command,
        params: &[Value<'_>],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.env.profiles.begin();
        self.begin_statement(command);
        self.show_text(text);
        if let Some(c) = compiled.row.counter {
            self.count(c);
        }
        let about_last = compiled.row.keeps_diagnostics;
        let found_rows = self.env.found_rows.get();
        if !about_last {
            // `@@warning_count` in this statement is about the one before: `end_diagnostics` left its numbers.
            self.env.conversion.diagnostics.get_mut().clear();
        }
        if command != Command::Execute {
            self.warn_of_deprecated(compiled);
        }
        let mut tree = self.charge();
        let charged = match usize::try_from(compiled.statement.tree.bytes) {
            Ok(bytes) if bytes >= CHARGED_TREE => tree.grow(bytes),
            _ => Ok(()),
        };
        let result = charged.and_then(|()| {
            stack::with_room(compiled.statement.run, || {
                self.dispatch(compiled, text, params, more, sink)
            })
        });
        self.env.profiles.enter("freeing items");
        drop(tree);
        if about_last {
            self.env.found_rows.set(found_rows);
        }
        self.seat().idle();
        self.env.reads_whole.set(false);
        self.unsettled.allowed = false;
        if self.unsettled.lsn == 0 {
            let values = match command {
                Command::Execute => params,
                // A text's own literals, taken out to find its plan.
                _ => &[],
            };
            self.record_end(compiled, text, values, params.len(), result.is_err());
        } else {
            self.record_later(compiled, text, params.len(), result.is_err());
        }
        let profiled = !compiled.row.is_profile;
        self.env.profiles.end(profiled.then_some(&**text));
        match result {
            Ok(()) => Ok(()),
            Err(e) => self.fail(e),
        }
    }

    /// Warns of what a text says that MySQL is to give up: when it is parsed, not when it runs as a prepared statement.
    #[inline]
    fn warn_of_deprecated(&self, compiled: &Compiled) {
        for what in &compiled.statement.tree.deprecated {
            let (code, text) = what.warning();
            self.env.warn(code, text);
        }
    }

    /// Leaves the numbers that `@@warning_count` and `@@error_count` say in the next statement.
    pub(super) fn end_diagnostics(&mut self) {
        let d = self.env.conversion.diagnostics.get_mut();
        if !self.settings.notes {
            d.retain(|d| d.level != Level::Note);
        }
        let errors = d.iter().filter(|d| d.level == Level::Error).count() as u64;
        self.facts
            .vars
            .warnings
            .store(d.len() as u64, Ordering::Relaxed);
        self.facts.vars.errors.store(errors, Ordering::Relaxed);
    }

    /// Warnings to report with a statement's end.
    #[inline]
    pub(super) fn warning_count(&mut self) -> u16 {
        self.end_diagnostics();
        self.env
            .conversion
            .diagnostics
            .get_mut()
            .iter()
            .filter(|d| d.level != Level::Error)
            .count()
            .min(usize::from(u16::MAX)) as u16
    }

    /// Ends a statement with an error: it is what SHOW WARNINGS lists last.
    pub(super) fn fail<T>(&mut self, e: SqlError) -> SqlResult<T> {
        self.seat().idle();
        self.env.row_count.set(-1);
        self.instance.0.errors.add(e.code, now_us());
        let said = Diagnostic::of(&e);
        let env = &mut self.env.conversion;
        env.diagnostics.get_mut().push(said);
        env.diagnostics.get_mut().append(env.behind.get_mut());
        self.end_diagnostics();
        Err(e)
    }
}
