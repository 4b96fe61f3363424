//! A session: its state, how it begins and what others ask of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use millpond_store::{Isolation, Owner};

use super::record::Current;
use super::track::Tracker;
use super::transaction::Transaction;
use super::unsettled::Deferral;
use super::{ConnectionInfo, Prepared};
use crate::accounts::guard::Guard;
use crate::accounts::login::Admitted;
use crate::accounts::names::Name;
use crate::counters::Counter;
use crate::instance::{Facts, Instance};
use crate::kept_rows::KeptRows;
use crate::registry::Seat;
use crate::statements::{Cache, Context};
use crate::vars::{self, SessionVars, VarValue};
use millpond_sql::env::{
    ConversionEnv, Diagnostic, Locals, SessionEnv, is_system_schema, locale, now_us, sql_mode,
};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::exec::handler::Handler;
use millpond_sql::exec::{Limits, Scratch};
use millpond_sql::memory::{Charge, MemoryAccount};
use millpond_sql::store_error::store_error;
use millpond_sql::types::{Collation, Encoding, Encodings};
use millpond_sql::value::Zone;

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
    /// What single buffers may take of memory.
    pub limits: Limits,
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
    /// `xa_detach_on_prepare`.
    pub xa_detach: bool,
    /// `millpond_transactional_ddl`: DDL is part of the open transaction.
    pub transactional_ddl: bool,
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
    /// What statements' buffers are charged to.
    pub(super) memory: Arc<MemoryAccount>,
    pub(super) settings: Settings,
    /// What the meaning of a text depends on now.
    pub(super) context: Arc<Context>,
    /// Its key in the instance's cache of statements.
    pub(super) context_key: u64,
    /// How many FLUSH TABLES the session goes by.
    flushes: u64,
    /// The variables in sight of the statement that runs, if it is one of a stored program.
    pub(super) locals: Option<Arc<Locals>>,
    /// The user variables of the EXECUTE that runs, in lower case.
    pub(super) using: Option<Vec<String>>,
    /// PREPARE's statements by lower-case name.
    pub(super) named: HashMap<String, Arc<Prepared>>,
    /// Those of them that run, outermost first.
    pub(super) executing: Vec<String>,
    /// HANDLER's tables by lower-case alias.
    pub(super) handlers: HashMap<String, Handler>,
    pub(super) found_rows: bool,
    /// What LOCK TABLES holds.
    pub(super) locked: Vec<super::admin::Locked>,
    /// FLUSH TABLES WITH READ LOCK is in force.
    pub(super) read_locked: bool,
    /// COMMIT RELEASE and ROLLBACK RELEASE end the connection.
    pub(super) released: bool,
    pub(super) cache: Cache,
    pub(super) multi_statements: bool,
    /// The audit log was told of its client.
    pub(super) audited: bool,
    info: ConnectionInfo,
    pub(super) encodings: Arc<Encodings>,
    /// Which parameters of the execution to come were texts that have been converted; empty: none.
    pub(super) texts: Vec<bool>,
    pub(super) current: Current,
    pub(super) unsettled: Deferral,
    /// Address of the text last shown in the process list, to see whether it differs.
    pub(super) shown: usize,
    /// What the client is to be told of the session's state.
    pub(super) track: Tracker,
}

impl Instance {
    /// A new session.
    pub fn connect(&self, info: ConnectionInfo) -> SqlResult<Session> {
        if self.is_closed() {
            return Err(SqlError::new(1053, "Server shutdown in progress"));
        }
        Session::new(self.clone(), info)
    }
}

impl Session {
    fn new(instance: Instance, info: ConnectionInfo) -> SqlResult<Session> {
        let id = match info.id {
            0 => instance.reserve_id(),
            id => id,
        };
        let owner = instance.0.engine.owner();
        owner.set_tag(u64::from(id));
        let (user, host) = (info.user.clone(), info.host.clone());
        let on_kill = info.on_kill.clone();
        let memory = MemoryAccount::new(&instance.0.memory);
        let seat = Seat::new(
            id,
            user,
            host,
            owner.clone(),
            memory.clone(),
            on_kill,
            now_us(),
        )
        .watching(info.is_gone.clone());
        let seat = seat.saying(info.attributes.clone());
        let seat = Arc::new(seat.over(info.tls.clone()));
        let host = info.host.rsplit_once(':').map_or(&*info.host, |(h, _)| h);
        let user = format!("{}@{host}", info.user);
        let facts = Arc::new(Facts {
            instance: instance.clone(),
            vars: SessionVars::new(instance.0.globals.clone(), id),
            seat: seat.clone(),
            single_results: info.single_results,
            guard: Guard::open(Name::of(&user)),
            running: Default::default(),
        });
        let for_vars = facts.clone();
        let env = SessionEnv {
            conversion: ConversionEnv {
                sql_mode: sql_mode::flags(0).into(),
                ..ConversionEnv::default()
            },
            connection_id: id,
            database: None.into(),
            account: user.clone().into(),
            roles: "NONE".to_string().into(),
            user,
            collation: Collation::DEFAULT.into(),
            names: locale::ENGLISH.into(),
            week_format: Default::default(),
            client: Encoding::Utf8.into(),
            switches: Default::default(),
            auto_is_null: Default::default(),
            generated: Default::default(),
            foreign_key_checks: true.into(),
            last_insert_id: 0.into(),
            row_count: 0.into(),
            found_rows: 0.into(),
            rows_examined: 0.into(),
            effort: Default::default(),
            user_vars: HashMap::new().into(),
            user_collations: HashMap::new().into(),
            vars_charge: Some(Charge::new(&memory)).into(),
            sys_var: Box::new(move |scope, name| {
                for_vars.vars.read(scope, name).map(|v| v.to_value())
            }),
            services: Some(facts.clone()),
            temporary: Default::default(),
            profiles: Default::default(),
            query_attributes: Default::default(),
            reads_whole: Default::default(),
            lists: Default::default(),
            deadline: Default::default(),
            limits: Default::default(),
        };
        let mut session = Session {
            facts,
            owner,
            env,
            txn: Transaction::default(),
            scratch: Scratch::default(),
            memory,
            settings: Settings {
                autocommit: true,
                isolation: Isolation::RepeatableRead,
                read_only: false,
                next_isolation: None,
                next_read_only: None,
                mode: 0,
                auto_increment: (1, 1),
                limits: Limits::all(0),
                notes: true,
                timestamp: None,
                long_query_ns: 0,
                min_examined_row_limit: 0,
                wait_timeout: 0,
                max_execution_ms: 0,
                select_limit: u64::MAX,
                safe_updates: false,
                max_join_size: u64::MAX,
                xa_detach: true,
                transactional_ddl: false,
                insert_id: 0,
                generation: 0,
            },
            context_key: 0,
            flushes: instance.0.flushes.load(Ordering::Relaxed),
            context: Arc::new(Context {
                database: None,
                mode: 0,
                collation: Collation::DEFAULT,
                client: Encoding::Utf8,
                zone: Zone::UTC,
                switches: Default::default(),
                div_increment: 0,
                flushes: 0,
                temporary: None,
            }),
            locals: None,
            using: None,
            named: HashMap::new(),
            executing: Vec::new(),
            handlers: HashMap::new(),
            found_rows: info.found_rows,
            locked: Vec::new(),
            read_locked: false,
            released: false,
            cache: Cache::default(),
            texts: Vec::new(),
            multi_statements: info.multi_statements,
            audited: false,
            track: Tracker::new(info.tracks),
            info,
            encodings: Arc::default(),
            current: Current::default(),
            unsettled: Deferral::default(),
            shown: 0,
            instance,
        };
        session.start_variables()?;
        if let Some(admitted) = session.info.account.take() {
            session.become_account(&admitted)?;
        }
        if let Some(database) = session.info.database.clone() {
            session.enter_database(&database)?;
        }
        session.track.forget();
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
            // A collation that there is not compares as its character set's default does, and says so.
            let collation = match Collation::by_id(id) {
                Some(known) => known,
                None => Collation::of_charset(charset)?,
            };
            self.put_charset(charset, Some(charset), charset);
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

    /// COM_INIT_DB.
    pub fn use_database(&mut self, name: &str) -> SqlResult<()> {
        let done = self.enter_database(name);
        done.inspect_err(|e| self.audit_failure(Counter::ChangeDb, name, e))
    }

    /// The database in use is another from now on.
    pub(super) fn enter_database(&mut self, name: &str) -> SqlResult<()> {
        if name.is_empty() {
            return Err(SqlError::new(1046, "No database selected"));
        }
        let _behalf = self.instance.0.engine.on_behalf(self.txn.txn.as_ref());
        self.count(Counter::ChangeDb);
        let access = self.access();
        if !access.uses_database(name) {
            return Err(access.denied_database(name));
        }
        let name = if is_system_schema(name) {
            name.to_ascii_lowercase()
        } else {
            if !crate::show::has_system_views(name) {
                self.instance
                    .0
                    .engine
                    .database(name)
                    .map_err(|e| store_error(e, name))?;
            }
            name.to_string()
        };
        self.seat().set_database(Some(&name));
        *self.env.database.borrow_mut() = Some(name);
        self.refresh_database_variables();
        self.refresh_context();
        self.track_schema();
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
            switches: self.env.switches.get(),
            div_increment: self.env.div_increment.get(),
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
        self.handlers.clear();
        self.flushes = 1 + self.instance.0.flushes.fetch_add(1, Ordering::Relaxed);
        self.refresh_context();
    }

    /// No database is in use any more: COM_CHANGE_USER without one.
    pub fn leave_database(&mut self) {
        *self.env.database.borrow_mut() = None;
        self.seat().set_database(None);
        self.refresh_database_variables();
        self.refresh_context();
        self.track_schema();
    }

    /// A charge to the session's account, for what its client sends ahead of a statement.
    pub fn charge(&self) -> Charge {
        Charge::new(&self.memory)
    }

    /// For the rows of a cursor, which may take as much memory as those of a temporary table (`tmp_table_size`).
    pub fn keep_rows(&self) -> KeptRows {
        let engine = self.instance.0.engine.clone();
        KeptRows::new(engine, self.charge(), self.settings.limits.table)
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
        let rolled_back = self.leave_transaction();
        self.unlock_tables();
        self.instance.0.user_locks.release_all(self.id());
        self.named.clear();
        self.handlers.clear();
        self.cache.clear();
        self.env.clear_user_vars();
        self.env.diagnostics.borrow_mut().clear();
        self.env.last_insert_id.set(0);
        self.env.row_count.set(0);
        self.env.found_rows.set(0);
        self.facts.vars.last_insert_id.store(0, Ordering::Relaxed);
        self.multi_statements = self.info.multi_statements;
        self.settings.timestamp = None;
        self.settings.insert_id = 0;
        self.reset_roles();
        self.forget_asked();
        self.start_variables()?;
        self.track.forget();
        rolled_back
    }

    /// COM_CHANGE_USER: from the next [`Session::reset`] on the session is another account's. Errors 1203 and 1226 if that may have no connection more.
    pub fn change_account(&mut self, user: &str, admitted: &Admitted) -> SqlResult<()> {
        self.instance.0.registry.rename(&self.facts.seat, user);
        let host = self
            .info
            .host
            .rsplit_once(':')
            .map_or(&*self.info.host, |(h, _)| h);
        self.env.user = format!("{user}@{host}");
        self.become_account(admitted)?;
        // What it shows is of the one before.
        self.facts.seat.show(&"".into());
        self.shown = 0;
        Ok(())
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
        /// SERVER_QUERY_NO_INDEX_USED.
        const NO_INDEX_USED: u16 = 32;
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
        if self.env.reads_whole.get() {
            flags |= NO_INDEX_USED;
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
}

impl Drop for Session {
    fn drop(&mut self) {
        self.audit_disconnect();
        // First, so that changes to them need not be undone row by row.
        self.env.temporary.clear(&self.instance.0.engine);
        // A transaction that cannot be rolled back now is rolled back by recovery.
        let _ = self.leave_transaction();
        self.unlock_tables();
        self.instance.0.user_locks.release_all(self.id());
        self.instance.0.registry.leave(&self.facts.seat);
    }
}
