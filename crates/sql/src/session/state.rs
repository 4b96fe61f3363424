//! A session: its state, and how texts and prepared statements come in.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use millpond_store::{Isolation, Owner};

use super::cache::{Cache, Compiled, Context, Parsed};
use super::counters::Counter;
use super::env::{Diagnostic, Level, SessionEnv, SqlMode};
use super::instance::unix_us;
use super::record::Current;
use super::registry::{Command, Seat};
use super::set::connection_charset;
use super::shared::MAX_TEXT;
use super::transaction::Transaction;
use super::unsettled::Deferral;
use super::vars::{self, SessionVars, VarValue, sql_mode};
use super::{ConnectionInfo, Facts, Instance, Prepared};
use crate::error::{SqlError, SqlResult};
use crate::exec::{Scratch, store_error};
use crate::parse;
use crate::result::ResultSink;
use crate::show;
use crate::stack;
use crate::types::{Collation, Encoding, Encodings};
use crate::value::{Value, Zone};
use crate::watch::{Running, StatementKind};

/// What the hot path needs of the session's variables, kept up to date by `set`.
pub(super) struct Settings {
    pub autocommit: bool,
    pub isolation: Isolation,
    pub read_only: bool,
    /// SET TRANSACTION without a scope: for the next transaction only.
    pub next_isolation: Option<Isolation>,
    pub next_read_only: Option<bool>,
    /// sql_mode, all bits.
    pub mode: u64,
    pub auto_increment: (u64, u64),
    pub memory_limit: usize,
    pub notes: bool,
    /// SET timestamp: what NOW() says instead.
    pub timestamp: Option<(i64, u32)>,
    /// `long_query_time`.
    pub long_query_ns: u64,
    pub min_examined_row_limit: u64,
    pub wait_timeout: u64,
    /// `max_execution_time`, milliseconds; 0: none.
    pub max_execution_ms: u64,
    /// `sql_select_limit`.
    pub select_limit: u64,
    /// `sql_safe_updates`.
    pub safe_updates: bool,
    /// `max_join_size`, unless `sql_big_selects` is on.
    pub max_join_size: u64,
    /// `insert_id`, for the next INSERT; 0: none.
    pub insert_id: u64,
    /// How many times all of these were taken from the variables.
    pub generation: u64,
}

/// One connection's state. Runs on one thread at a time.
pub struct Session {
    pub(super) instance: Instance,
    pub(super) facts: Arc<Facts>,
    pub(super) owner: Arc<Owner>,
    pub(super) env: SessionEnv,
    pub(super) txn: Transaction,
    pub(super) scratch: Scratch,
    pub(super) settings: Settings,
    /// What the meaning of a text depends on now.
    pub(super) context: Arc<Context>,
    /// Its key in the instance's cache of statements.
    context_key: u64,
    /// How many FLUSH TABLES this session goes by.
    flushes: u64,
    /// PREPARE's statements by lower-case name.
    pub(super) named: HashMap<String, Arc<Prepared>>,
    pub(super) found_rows: bool,
    /// What LOCK TABLES holds.
    pub(super) locked: Vec<super::admin::Locked>,
    /// FLUSH TABLES WITH READ LOCK is in force.
    pub(super) read_locked: bool,
    /// COMMIT RELEASE and ROLLBACK RELEASE end the connection.
    pub(super) released: bool,
    cache: Cache,
    multi_statements: bool,
    info: ConnectionInfo,
    pub(super) encodings: Arc<Encodings>,
    /// Which parameters of the execution to come were texts that have been converted; empty: none.
    pub(super) texts: Vec<bool>,
    pub(super) current: Current,
    pub(super) unsettled: Deferral,
    /// Address of the text last shown in the process list, to see whether it differs.
    shown: usize,
}

impl Session {
    pub(super) fn new(instance: Instance, info: ConnectionInfo) -> SqlResult<Session> {
        let id = match info.id {
            0 => instance.reserve_id(),
            id => id,
        };
        let owner = instance.0.engine.owner();
        owner.set_tag(u64::from(id));
        let seat = Arc::new(Seat::new(
            id,
            info.user.clone(),
            info.host.clone(),
            owner.clone(),
            info.on_kill.clone(),
            unix_us(),
        ));
        let facts = Arc::new(Facts {
            instance: instance.clone(),
            vars: SessionVars::new(instance.0.globals.clone(), id),
            seat: seat.clone(),
        });
        let for_vars = facts.clone();
        let host = info.host.rsplit_once(':').map_or(&*info.host, |(h, _)| h);
        let env = SessionEnv {
            connection_id: id,
            database: None.into(),
            user: format!("{}@{host}", info.user),
            now: (0, 0).into(),
            zone: Zone::UTC.into(),
            sql_mode: sql_mode::flags(0).into(),
            collation: Collation::Utf8mb4GeneralCi.into(),
            names: crate::expr::locale::ENGLISH.into(),
            client: Encoding::Utf8.into(),
            last_insert_id: 0.into(),
            row_count: 0.into(),
            found_rows: 0.into(),
            rows_sent: 0.into(),
            rows_examined: 0.into(),
            user_vars: HashMap::new().into(),
            strict_write: false.into(),
            diagnostics: Vec::new().into(),
            sys_var: Box::new(move |scope, name| {
                for_vars.vars.read(scope, name).map(|v| v.to_value())
            }),
            facts: Some(facts.clone()),
            temporary: Default::default(),
            lists: Default::default(),
            deadline: Default::default(),
        };
        let mut session = Session {
            facts,
            owner,
            env,
            txn: Transaction::default(),
            scratch: Scratch::default(),
            settings: Settings {
                autocommit: true,
                isolation: Isolation::RepeatableRead,
                read_only: false,
                next_isolation: None,
                next_read_only: None,
                mode: 0,
                auto_increment: (1, 1),
                memory_limit: 0,
                notes: true,
                timestamp: None,
                long_query_ns: 0,
                min_examined_row_limit: 0,
                wait_timeout: 0,
                max_execution_ms: 0,
                select_limit: u64::MAX,
                safe_updates: false,
                max_join_size: u64::MAX,
                insert_id: 0,
                generation: 0,
            },
            context_key: 0,
            flushes: instance.0.flushes.load(Ordering::Relaxed),
            context: Arc::new(Context {
                database: None,
                mode: 0,
                collation: Collation::Utf8mb4GeneralCi,
                client: Encoding::Utf8,
                zone: Zone::UTC,
                flushes: 0,
                temporary: None,
            }),
            named: HashMap::new(),
            found_rows: info.found_rows,
            locked: Vec::new(),
            read_locked: false,
            released: false,
            cache: Cache::default(),
            texts: Vec::new(),
            multi_statements: info.multi_statements,
            info,
            encodings: Arc::default(),
            current: Current::default(),
            unsettled: Deferral::default(),
            shown: 0,
            instance,
        };
        session.start_variables()?;
        if let Some(database) = session.info.database.clone() {
            session.use_database(&database)?;
        }
        session.instance.0.registry.enter(seat.clone());
        seat.idle();
        Ok(session)
    }

    /// Variables as a new connection has them.
    fn start_variables(&mut self) -> SqlResult<()> {
        self.facts.vars.reset();
        if self.info.interactive {
            let timeout = self.facts.vars.named("interactive_timeout");
            self.facts.vars.put(vars::known("wait_timeout"), timeout);
        }
        let id = self.info.collation_id;
        if id != 0 {
            let charset = Encoding::charset_of_collation(id)?;
            let connection = connection_charset(charset);
            // A collation of UTF-8 that there is not compares as general_ci does, and says so.
            let collation = match id {
                192 => Collation::Utf8mb4UnicodeCi,
                _ => Collation::ALL
                    .into_iter()
                    .find(|c| c.id() == id)
                    .unwrap_or(Collation::Utf8mb4GeneralCi),
            };
            self.put_charset(charset, Some(charset), connection);
            self.facts.vars.put(
                vars::known("collation_connection"),
                VarValue::Text(collation.name().into()),
            );
        }
        self.refresh_settings();
        Ok(())
    }

    /// What others see of a session.
    #[inline]
    pub(super) fn seat(&self) -> &Seat {
        &self.facts.seat
    }

    #[inline]
    pub(super) fn count(&self, c: Counter) {
        self.facts.seat.counters.add(c, 1);
    }

    /// Connection id.
    pub fn id(&self) -> u32 {
        self.env.connection_id
    }

    /// COM_INIT_DB, USE.
    pub fn use_database(&mut self, name: &str) -> SqlResult<()> {
        self.count(Counter::ChangeDb);
        let name = if show::is_system_schema(name) {
            name.to_ascii_lowercase()
        } else {
            self.instance
                .0
                .engine
                .database(name)
                .map_err(|e| store_error(e, name))?;
            name.to_string()
        };
        self.seat().set_database(Some(&name));
        *self.env.database.borrow_mut() = Some(name);
        self.refresh_database_variables();
        self.refresh_context();
        Ok(())
    }

    /// Takes note of what texts mean now. To be called when anything in [`Context`] may have changed.
    pub(super) fn refresh_context(&mut self) {
        let context = Context {
            database: self.env.database.borrow().clone(),
            mode: self.settings.mode,
            collation: self.env.collation.get(),
            client: self.env.client.get(),
            zone: self.env.zone.get(),
            flushes: self.flushes,
            temporary: self.env.temporary.names().map(|n| (self.id(), n)),
        };
        if *self.context != context || self.context_key == 0 {
            self.context_key = self.instance.0.statements.context_key(&context);
            self.context = Arc::new(context);
        }
    }

    /// FLUSH TABLES: plans made before are not used again here, nor by sessions that begin from now on.
    pub(super) fn note_flush_tables(&mut self) {
        self.flushes = 1 + self.instance.0.flushes.fetch_add(1, Ordering::Relaxed);
        self.refresh_context();
    }

    /// No database is in use any more: COM_CHANGE_USER without one.
    pub fn leave_database(&mut self) {
        *self.env.database.borrow_mut() = None;
        self.seat().set_database(None);
        self.refresh_database_variables();
        self.refresh_context();
    }

    /// The database in use, if any.
    pub fn database(&self) -> Option<String> {
        self.env.database.borrow().clone()
    }

    /// COM_RESET_CONNECTION and COM_CHANGE_USER: rolls back, drops variables, temporary tables and prepared statements' plans.
    /// The database stays.
    pub fn reset(&mut self) -> SqlResult<()> {
        // First, so that changes to them need not be undone row by row.
        self.env.temporary.clear(&self.instance.0.engine);
        let rolled_back = self.rollback_now();
        self.unlock_tables();
        self.instance.0.user_locks.release_all(self.id());
        self.named.clear();
        self.cache.clear();
        self.env.user_vars.borrow_mut().clear();
        self.env.diagnostics.borrow_mut().clear();
        self.env.last_insert_id.set(0);
        self.env.row_count.set(0);
        self.env.found_rows.set(0);
        self.facts.vars.last_insert_id.store(0, Ordering::Relaxed);
        self.multi_statements = self.info.multi_statements;
        self.settings.timestamp = None;
        self.settings.insert_id = 0;
        self.forget_asked();
        self.start_variables()?;
        rolled_back
    }

    /// What the client's bytes mean, kept up to date by SET.
    pub fn encodings(&self) -> Arc<Encodings> {
        self.encodings.clone()
    }

    /// The collation id of a new handshake, in force from the next [`Session::reset`].
    pub fn set_collation_id(&mut self, id: u16) {
        self.info.collation_id = id;
    }

    /// SERVER_STATUS_* flags now.
    pub fn status_flags(&self) -> u16 {
        let mut flags = 0;
        if self.txn.is_open() {
            flags |= 1;
            if self.txn.read_only {
                flags |= 8192;
            }
        }
        if self.settings.autocommit {
            flags |= 2;
        }
        if self.env.sql_mode.get().no_backslash_escapes {
            flags |= 512;
        }
        flags
    }

    /// Whether KILL ended this connection, or COMMIT RELEASE did.
    pub fn killed(&self) -> bool {
        self.released || self.seat().killed()
    }

    /// A number that changes whenever a session variable may have got another value.
    #[inline]
    pub fn settings_generation(&self) -> u64 {
        self.settings.generation
    }

    /// Seconds an idle connection may stay (`wait_timeout`).
    pub fn wait_timeout(&self) -> u64 {
        self.settings.wait_timeout
    }

    /// Value of a numeric system variable in the session, e.g. `max_allowed_packet`,
    /// `net_read_timeout`, `net_write_timeout`; `None` if there's no such variable.
    pub fn variable_u64(&self, name: &str) -> Option<u64> {
        self.facts.vars.get(vars::find(name)?).as_u64()
    }

    /// COM_SET_OPTION: whether a text may hold several statements from now on.
    pub fn set_multi_statements(&mut self, on: bool) {
        self.multi_statements = on;
    }

    /// Adds to one of the status counters: what the wire protocol counts.
    #[inline]
    pub fn add_to_counter(&self, counter: Counter, n: u64) {
        self.facts.seat.counters.add(counter, n);
    }

    /// Warnings, notes and errors that the last statement left.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.env.diagnostics.borrow().clone()
    }

    /// Runs a text of one or more statements. Each statement's result goes to `sink`; an error ends the text.
    pub fn execute(&mut self, sql: &str, sink: &mut dyn ResultSink) -> SqlResult<()> {
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
        if is_blank(rest) {
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
        let mut text = first;
        loop {
            let more = !is_blank(rest);
            let compiled = self.parse(text)?;
            self.one_statement(&compiled, Command::Query, &[], more, sink)?;
            if !more || self.killed() {
                return Ok(());
            }
            (text, rest) = parse::split_first(rest, self.env.sql_mode.get());
        }
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

    /// Offers a statement that ran, for this session and others to run it again. `context` is that in which it was
    /// parsed: what changed it meant something else than it would now.
    fn offer(&mut self, key: u64, text: &str, context: &Arc<Context>, compiled: Arc<Compiled>) {
        if !Arc::ptr_eq(context, &self.context) {
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
                Arc::new(Compiled::new(statement, general.text.trim().into()))
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
        match parse::parse_one(text, self.env.sql_mode.get()) {
            Ok(statement) => Ok(Arc::new(Compiled::new(statement, text.trim().into()))),
            Err(e) => self.fail_unparsed(e),
        }
    }

    /// Ends a statement that did not get as far as being one.
    fn fail_unparsed<T>(&mut self, e: SqlError) -> SqlResult<T> {
        self.begin_statement(Command::Query);
        self.env.diagnostics.get_mut().clear();
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
        if !is_blank(rest) {
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
        let kept = |c: &Arc<Compiled>| super::dispatch::keeps_diagnostics(&c.statement.kind);
        if !compiled.as_ref().is_ok_and(kept) {
            self.env.diagnostics.get_mut().clear();
        }
        let compiled = compiled?;
        super::dispatch::preparable(&compiled.statement)?;
        let columns = stack::with_room(compiled.statement.run, || self.describe(&compiled))?;
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
                let parsed = Arc::new(Parsed::new(statement, text.trim().into()));
                if common {
                    statements.offer(key, text, &self.context, &parsed);
                }
                parsed
            }
        };
        Ok(Arc::new(Compiled::of(parsed)))
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
        };
        let now_us = watch.wall_us(self.current.running.start_ns);
        self.env.rows_sent.set(0);
        self.env.rows_examined.set(0);
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
    fn show_text(&mut self, text: &Arc<str>) {
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
        self.begin_statement(command);
        self.show_text(text);
        if let Some(c) = compiled.counter {
            self.count(c);
        }
        let about_last = super::dispatch::keeps_diagnostics(&compiled.statement.kind);
        let found_rows = self.env.found_rows.get();
        if !about_last {
            // `@@warning_count` in this statement is about the one before: `end_diagnostics` left its numbers.
            self.env.diagnostics.get_mut().clear();
        }
        let result = stack::with_room(compiled.statement.run, || {
            self.dispatch(compiled, params, more, sink)
        });
        if about_last {
            self.env.found_rows.set(found_rows);
        }
        self.seat().idle();
        self.unsettled.allowed = false;
        if self.unsettled.lsn == 0 {
            let values = match command {
                Command::Execute => params,
                // A text's own literals, taken out to find its plan.
                _ => &[],
            };
            self.record_end(&compiled.statement.kind, text, values);
        }
        match result {
            Ok(()) => Ok(()),
            Err(e) => self.fail(e),
        }
    }

    /// Leaves the numbers that `@@warning_count` and `@@error_count` say in the next statement.
    pub(super) fn end_diagnostics(&mut self) {
        let d = self.env.diagnostics.get_mut();
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
        self.env.diagnostics.get_mut().push(Diagnostic {
            level: Level::Error,
            code: e.code,
            message: e.message.clone(),
        });
        self.end_diagnostics();
        Err(e)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // First, so that changes to them need not be undone row by row.
        self.env.temporary.clear(&self.instance.0.engine);
        // A transaction that cannot be rolled back now is rolled back by recovery.
        let _ = self.rollback_now();
        self.unlock_tables();
        self.instance.0.user_locks.release_all(self.id());
        self.instance.0.registry.leave(&self.facts.seat);
    }
}

/// Whether a text holds no statement: blanks, comments and semicolons only. A version comment (`/*!`) counts as
/// a statement.
fn is_blank(text: &str) -> bool {
    let mut t = text;
    loop {
        t = t.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ';');
        if t.is_empty() {
            return true;
        }
        let line_comment = t.starts_with('#')
            || (t.starts_with("--")
                && t[2..]
                    .chars()
                    .next()
                    .is_none_or(|c| c.is_ascii_whitespace() || c.is_control()));
        if line_comment {
            t = t.split_once('\n').map_or("", |(_, rest)| rest);
        } else if t.starts_with("/*") && !t.starts_with("/*!") {
            match t[2..].find("*/") {
                Some(end) => t = &t[2 + end + 2..],
                None => return true,
            }
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_blank;

    #[test]
    fn blank_texts() {
        for t in ["", " ;\n", "-- x", "--", "# a\n  ; -- b\n", "/* a; */ ;"] {
            assert!(is_blank(t), "{t:?}");
        }
        for t in ["a", "--1", "/*! x */", "/* a */ b", "# a\nb"] {
            assert!(!is_blank(t), "{t:?}");
        }
    }
}
