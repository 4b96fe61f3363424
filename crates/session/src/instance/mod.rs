//! An open database: the store, the global variables, who is connected, and what sessions share.
//!
//! | file | owns |
//! |---|---|
//! | `archive` | the log's archive |
//! | `data_file` | where the shared data file is |
//! | `encryption` | where a keyring may be, and what variables say of it |
//! | `facts` | what virtual tables and system variables ask of a session |
//! | `heaviest` | the statements that took most time, for who asks without SQL |
//! | `login` | letting clients in |
//! | `logs` | the slow query log and the audit log, as their variables say |
//! | `start` | what variables are from the start |
//! | `transport` | what secures connections |
//! | `threads` | the server's threads |
//!
//! An [`Instance`] lives from [`Instance::open`] to [`Instance::close`]; sessions hold clones of it, and a
//! session used after the close gets the store's errors.

use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use millpond_store::backup::Archive;
use millpond_store::io::{Counted, FileCounts, RealStorage, Storage};
use millpond_store::log::FlushAtCommit;
use millpond_store::{DropAlgorithm, Engine, Options};

mod archive;
mod data_file;
pub(crate) mod encryption;
mod facts;
mod heaviest;
mod login;
mod logs;
mod start;
mod threads;
mod transport;

use crate::accounts::Accounts;
use crate::audit::AuditLog;
use crate::counters::{Counter, Sums};
use crate::digests::{Digests, Errors};
use crate::events::Scheduler;
use crate::persisted::Persisted;
use crate::programs::Programs;
use crate::registry::{Branches, Registry, Seat};
use crate::slowlog::SlowLog;
use crate::statements::SharedCache;
use crate::vars::{self, Access, Globals, Kind, VarValue};
use millpond_sql::computed::Codecs;
use millpond_sql::env::user_locks::UserLocks;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::memory::ServerMemory;
use millpond_sql::statistics::refresh::Refresher;
use millpond_sql::statistics::{self, Settings};

pub(crate) use facts::Facts;
pub use heaviest::Alike;
pub use logs::Attempt;
pub(crate) use start::Source;
pub use threads::{ThreadCounts, ThreadsLook};
pub use transport::{PasswordKeySettings, TlsSettings, Transport};

use crate::watch::Watch;
use millpond_sql::store_error::store_error;
use millpond_sql::value::Value;

/// How to open an instance.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// Data directory.
    pub path: PathBuf,
    /// Store options.
    pub store: Options,
    /// System variables set at start, as (name, text). Read-only variables may be set here.
    pub variables: Vec<(String, String)>,
}

/// An open database with its global variables and its list of sessions. Cheap to clone.
#[derive(Clone)]
pub struct Instance(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub engine: Engine,
    pub globals: Arc<Globals>,
    pub registry: Registry,
    pub watch: Watch,
    pub slow_log: SlowLog,
    pub audit: AuditLog,
    /// Errors that clients got.
    pub errors: Errors,
    /// What was done to files.
    pub files: Arc<FileCounts>,
    /// What statements did, by digest.
    pub digests: Digests,
    /// Slow queries whose sessions had gone on before they were settled.
    pub slow_unsettled: AtomicU64,
    started: Instant,
    /// When the counters were last reset.
    flushed: Mutex<Instant>,
    /// Clients turned away before they had a session.
    pub aborted_connects: AtomicU64,
    /// Who there is.
    pub accounts: Accounts,
    /// What secures connections; `None`: nothing.
    pub transport: RwLock<Option<Arc<dyn Transport>>>,
    /// The server's threads.
    pub threads: RwLock<Option<ThreadsLook>>,
    /// The public key that clients without TLS encrypt passwords by, in PEM; empty: there is none.
    pub password_key: RwLock<String>,
    /// Locks by name.
    pub user_locks: UserLocks,
    /// XA transactions of sessions.
    pub branches: Branches,
    /// Statements that sessions share.
    pub statements: SharedCache,
    /// Stored programs that sessions share.
    pub programs: Programs,
    /// What statements keep in memory.
    pub memory: Arc<ServerMemory>,
    /// How often FLUSH TABLES was said.
    pub flushes: AtomicU64,
    /// Who may write: a [`ReadOnly`].
    pub read_only: AtomicU8,
    /// Prepared statements of all sessions.
    pub prepared: AtomicU64,
    /// `max_connections` may not be more.
    pub most_connections: AtomicU64,
    closed: AtomicBool,
    /// Variables that are to outlive it.
    pub persisted: Persisted,
    /// Where variables have the values from that are not their defaults.
    pub sources: Mutex<HashMap<usize, Source>>,
    /// What SHUTDOWN does; `None`: there is no server that could be shut down.
    stop: RwLock<Option<Stop>>,
    /// Copies the log to where it is archived.
    archive: Mutex<Option<Archive>>,
    /// Runs events.
    pub scheduler: Scheduler,
    /// Measures tables that have changed. It goes last: it has a handle to the engine.
    refresher: Refresher,
}

/// Begins to shut a server down.
type Stop = Arc<dyn Fn() + Send + Sync>;

/// Who may not write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOnly {
    /// Nobody is kept from it.
    Off,
    /// All but those with CONNECTION_ADMIN.
    Most,
    /// All.
    Everybody,
}

/// A number as mysqld's options have it: `512M` is 512 times 2 to the 20th; K, M, G, T, P and E, in either case.
fn sized(text: &str) -> Option<u64> {
    let last = text.bytes().last()?.to_ascii_uppercase();
    let power = 1 + b"KMGTPE".iter().position(|unit| *unit == last)?;
    let number: u64 = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(1 << (10 * power))
}

/// A variable's value from start-up text.
fn start_value(name: &str, text: &str) -> SqlResult<(usize, VarValue)> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let index = vars::lookup(&name)?;
    let def = &vars::all()[index];
    let number = matches!(def.kind, Kind::UInt { .. } | Kind::Double { .. });
    let counted = matches!(def.kind, Kind::UInt { .. });
    let whole = match text.parse::<u64>() {
        Err(_) if counted => sized(text).ok_or(()),
        parsed => parsed.map_err(|_| ()),
    };
    let value = match whole {
        Ok(n) if number || matches!(def.kind, Kind::Bool) => Value::UInt(n),
        _ if number => match text.parse::<f64>() {
            Ok(n) => Value::Double(n),
            Err(_) => Value::str(text),
        },
        _ => Value::str(text),
    };
    let mut value = vars::convert(def, &value, true)?.value;
    if def.name == "secure_file_priv" {
        value = secure_directory(text)?;
    }
    if def.access == Access::Fixed && value != VarValue::from(def.default) {
        return Err(SqlError::unsupported(format_args!("{name}={text}")));
    }
    Ok((index, value))
}

/// What `secure_file_priv` may be: NULL, nothing, or a directory that is there, whose links are resolved once and for all.
fn secure_directory(text: &str) -> SqlResult<VarValue> {
    match text {
        "" => Ok(VarValue::Text("".into())),
        _ if text.eq_ignore_ascii_case("null") => Ok(VarValue::Null),
        _ => match std::fs::canonicalize(text) {
            Ok(path) if path.is_dir() => Ok(self::text(&format!("{}/", path.display()))),
            _ => Err(SqlError::new(
                1105,
                format!(
                    "Failed to access directory for --secure-file-priv. Please make sure that directory exists and is \
                     accessible by the server. Supplied value : {text}"
                ),
            )),
        },
    }
}

/// Takes the store's options from the variables that name them.
fn store_options(options: &mut Options, name: &str, value: &VarValue) {
    if name == "millpond_drop_algorithm" {
        options.drop_algorithm = drop_algorithm(value);
    }
    let Some(n) = value.as_u64() else { return };
    match name {
        "innodb_lazy_drop_table" => {
            options.drop_algorithm = lazy_drop_table(n != 0, options.drop_algorithm);
        }
        "innodb_buffer_pool_size" => options.pool_bytes = usize::try_from(n).unwrap_or(usize::MAX),
        "innodb_buffer_pool_instances" => {
            options.pool_instances = usize::try_from(n).unwrap_or(usize::MAX);
        }
        "innodb_redo_log_capacity" => options.log_bytes = n,
        "innodb_flush_log_at_trx_commit" => options.flush_at_commit = flush_mode(n),
        "innodb_file_per_table" => options.file_per_table = n != 0,
        "innodb_adaptive_hash_index" => options.hash_index.on = n != 0,
        "innodb_adaptive_hash_index_parts" => {
            options.hash_index.parts = usize::try_from(n).unwrap_or(usize::MAX);
        }
        "table_definition_cache" => options.table_cache = usize::try_from(n).unwrap_or(usize::MAX),
        "innodb_open_files" => options.open_files = usize::try_from(n).unwrap_or(usize::MAX),
        "innodb_io_capacity" => options.io_capacity = n,
        "innodb_io_capacity_max" => options.io_capacity_max = n,
        "innodb_online_alter_log_max_size" => options.row_log_bytes = n,
        "innodb_sort_buffer_size" => options.sort_bytes = n,
        "innodb_ddl_buffer_size" => options.ddl_bytes = n,
        "millpond_row_lock_memory" => options.lock_bytes = n,
        // Beyond what there is, the store says so.
        "innodb_force_recovery" => options.force_recovery = u8::try_from(n).unwrap_or(u8::MAX),
        "millpond_reclaim_bytes_per_sec" => options.reclaim_bytes_per_sec = n,
        _ => {}
    }
}

/// `innodb_flush_log_at_trx_commit`.
pub(crate) fn flush_mode(n: u64) -> FlushAtCommit {
    match n {
        0 => FlushAtCommit::EverySecond,
        1 => FlushAtCommit::Sync,
        _ => FlushAtCommit::Write,
    }
}

/// `millpond_drop_algorithm`, whose values are the algorithms' names.
pub(crate) fn drop_algorithm(value: &VarValue) -> DropAlgorithm {
    DropAlgorithm::by_name(value.as_str()).unwrap_or_default()
}

/// `innodb_lazy_drop_table`, Percona Server's switch for what is now one algorithm of several: off means the default
/// if it was on.
pub(crate) fn lazy_drop_table(on: bool, before: DropAlgorithm) -> DropAlgorithm {
    match (on, before) {
        (true, _) => DropAlgorithm::LazyMark,
        (false, DropAlgorithm::LazyMark) => DropAlgorithm::default(),
        (false, other) => other,
    }
}

/// Makes both variables say which algorithm is chosen.
pub(crate) fn show_drop_algorithm(globals: &Globals, chosen: DropAlgorithm) {
    let put = |name: &str, value: VarValue| globals.put(vars::known(name), value);
    put("millpond_drop_algorithm", text(chosen.name()));
    let lazy = chosen == DropAlgorithm::LazyMark;
    put("innodb_lazy_drop_table", VarValue::Bool(lazy));
}

impl Instance {
    /// Opens (creating or recovering) a data directory.
    pub fn open(options: InstanceOptions) -> SqlResult<Instance> {
        let path = &options.path;
        let cannot = |e: std::io::Error| {
            SqlError::new(
                1016,
                format!("Can't open the data directory '{}': {e}", path.display()),
            )
        };
        encryption::check_place(path, &options.store)?;
        let asked = data_file::asked(&options.variables)?;
        let storage = RealStorage::new(path).map_err(cannot)?;
        let storage = asked.place(storage).map_err(cannot)?;
        Instance::open_on(options, storage)
    }
    /// The same on a storage that the caller brings; the path is what is shown of it.
    pub fn open_on(options: InstanceOptions, storage: Arc<dyn Storage>) -> SqlResult<Instance> {
        let InstanceOptions {
            path,
            mut store,
            variables,
        } = options;
        let globals = Globals::new();
        let mut given = Vec::new();
        for (name, text) in &variables {
            let (index, value) = start_value(name, text)?;
            given.push((index, value, Source::Start));
        }
        let persisted = Persisted::open(&path, start::loads(&given))?;
        given.extend(start::persisted(&persisted)?);
        for (index, value, _) in &given {
            store_options(&mut store, vars::all()[*index].name, value);
        }
        let put = |name: &str, value: VarValue| globals.put(vars::known(name), value);
        put("datadir", text(&data_directory(&path)));
        put("hostname", text(&hostname()));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        put(
            "thread_pool_size",
            VarValue::UInt(processors.min(128) as u64),
        );
        // It runs where that is asked for; `millpond serve` does, as MySQL does by default.
        put("event_scheduler", text("OFF"));
        put(
            "innodb_buffer_pool_size",
            VarValue::UInt(store.pool_bytes as u64),
        );
        put(
            "innodb_buffer_pool_instances",
            VarValue::UInt((store.pool_instances as u64).max(1)),
        );
        put("innodb_redo_log_capacity", VarValue::UInt(store.log_bytes));
        put(
            "innodb_flush_log_at_trx_commit",
            VarValue::UInt(match store.flush_at_commit {
                FlushAtCommit::EverySecond => 0,
                FlushAtCommit::Sync => 1,
                FlushAtCommit::Write => 2,
            }),
        );
        put(
            "innodb_file_per_table",
            VarValue::Bool(store.file_per_table),
        );
        put(
            "innodb_adaptive_hash_index",
            VarValue::Bool(store.hash_index.on),
        );
        put(
            "innodb_adaptive_hash_index_parts",
            VarValue::UInt(store.hash_index.parts as u64),
        );
        put(
            "table_definition_cache",
            VarValue::UInt(store.table_cache as u64),
        );
        put("innodb_io_capacity", VarValue::UInt(store.io_capacity));
        put(
            "innodb_io_capacity_max",
            VarValue::UInt(store.io_capacity_max),
        );
        put(
            "innodb_online_alter_log_max_size",
            VarValue::UInt(store.row_log_bytes),
        );
        put("innodb_sort_buffer_size", VarValue::UInt(store.sort_bytes));
        put("innodb_ddl_buffer_size", VarValue::UInt(store.ddl_bytes));
        put(
            "millpond_reclaim_bytes_per_sec",
            VarValue::UInt(store.reclaim_bytes_per_sec),
        );
        let mut sources = HashMap::new();
        for (index, value, source) in given {
            sources.insert(index, source);
            match vars::all()[index].name {
                "innodb_buffer_pool_instances" if value == VarValue::UInt(0) => {}
                _ => globals.put(index, value),
            }
        }
        show_drop_algorithm(&globals, store.drop_algorithm);
        let storage = Counted::new(storage);
        let files = storage.counts().clone();
        let engine = Engine::open(Arc::new(storage), store, Arc::new(Codecs))
            .map_err(|e| store_error(e, ""))?;
        encryption::show(&globals, &engine);
        globals.put(
            vars::known("innodb_open_files"),
            VarValue::UInt(engine.open_files_limit() as u64),
        );
        let accounts = Accounts::open(&engine)?;
        millpond_sql::ddl::clear_work(&engine).map_err(|e| store_error(e, ""))?;
        let globals = Arc::new(globals);
        let asked = globals.clone();
        let ask = Arc::new(move || settings(&asked));
        let refresher = Refresher::start(&engine, ask)
            .map_err(|e| SqlError::new(1105, format!("Can't start a thread: {e}")))?;
        let memory = globals.get(vars::known("temptable_max_ram")).as_u64();
        let memory = memory.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let digests = globals.get(vars::known("performance_schema_digests_size"));
        let digests = digests.as_u64().unwrap_or(0);
        let digests = usize::try_from(digests).unwrap_or(usize::MAX);
        let now = Instant::now();
        let instance = Instance(Arc::new(Inner {
            engine,
            globals,
            registry: Registry::new(),
            watch: Watch::new(),
            slow_log: SlowLog::default(),
            audit: AuditLog::default(),
            errors: Errors::default(),
            files,
            digests: Digests::new(digests),
            slow_unsettled: AtomicU64::new(0),
            started: now,
            flushed: Mutex::new(now),
            aborted_connects: AtomicU64::new(0),
            accounts,
            transport: RwLock::default(),
            threads: RwLock::default(),
            password_key: RwLock::default(),
            user_locks: Default::default(),
            branches: Branches::default(),
            refresher,
            statements: SharedCache::new(),
            programs: Programs::default(),
            memory: Arc::new(ServerMemory::new(memory)),
            flushes: AtomicU64::new(0),
            read_only: AtomicU8::new(ReadOnly::Off as u8),
            prepared: AtomicU64::new(0),
            most_connections: AtomicU64::new(u64::MAX),
            closed: AtomicBool::new(false),
            persisted,
            sources: Mutex::new(sources),
            stop: RwLock::default(),
            archive: Mutex::default(),
            scheduler: Scheduler::default(),
        }));
        instance.start_archive()?;
        instance.start_audit_log()?;
        instance.start_slow_log();
        if instance.0.accounts.snapshot().has_restrictions() {
            // They are in force, whatever was asked for.
            let name = vars::known("partial_revokes");
            instance.0.globals.put(name, VarValue::Bool(true));
        }
        instance.apply_account_settings()?;
        instance.apply_read_only();
        if instance.global_text("event_scheduler").as_deref() == Some("ON") {
            instance.0.scheduler.start(&instance)?;
        }
        Ok(instance)
    }
    /// Puts `read_only` and `super_read_only` in force: the latter means the former, too.
    pub(crate) fn apply_read_only(&self) {
        let globals = &self.0.globals;
        let on = |name| globals.get(vars::known(name)) == VarValue::Bool(true);
        let level = match (on("super_read_only"), on("read_only")) {
            (true, _) => ReadOnly::Everybody,
            (false, true) => ReadOnly::Most,
            (false, false) => ReadOnly::Off,
        };
        let read_only = VarValue::Bool(level != ReadOnly::Off);
        globals.put(vars::known("read_only"), read_only);
        self.0.read_only.store(level as u8, Ordering::Relaxed);
    }
    /// Refuses new sessions, interrupts those there are and closes the store cleanly. Sessions must have been dropped
    /// or be about to: the store refuses to close while a transaction is open.
    pub fn close(&self) -> SqlResult<()> {
        if self.0.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let interrupt = || {
            for seat in self.0.registry.all() {
                seat.kill(true);
            }
            self.0.user_locks.wake();
        };
        interrupt();
        self.0.scheduler.close(&interrupt);
        self.0.refresher.stop();
        self.stop_logs();
        // It copies what is logged by now.
        let archive = self.0.archive.lock().take();
        drop(archive);
        self.0.engine.close().map_err(|e| store_error(e, ""))
    }
    /// Has SHUTDOWN call this, which begins to stop the server; the answer goes out meanwhile.
    pub fn on_shutdown(&self, stop: impl Fn() + Send + Sync + 'static) {
        *self.0.stop.write() = Some(Arc::new(stop));
    }
    /// SHUTDOWN; error 1235 where there is no server.
    pub(crate) fn shut_down(&self) -> SqlResult<()> {
        let stop = self.0.stop.read().clone();
        let stop = stop.ok_or_else(|| SqlError::unsupported("SHUTDOWN without a server"))?;
        stop();
        Ok(())
    }
    /// Whether it was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }
    /// KILL: interrupts a session's statement, and ends the connection if `connection`.
    pub fn kill(&self, id: u32, connection: bool) -> SqlResult<()> {
        match self.0.registry.get(id) {
            Some(seat) => {
                seat.kill(connection);
                self.0.user_locks.wake();
                Ok(())
            }
            None => Err(SqlError::new(1094, format!("Unknown thread id: {id}"))),
        }
    }
    /// A connection id for a session to come: the wire protocol announces it before it knows the user.
    pub fn reserve_id(&self) -> u32 {
        self.0.registry.next_id()
    }
    /// Value of a global numeric system variable, e.g. `max_connections`, `connect_timeout`,
    /// `max_prepared_stmt_count`; `None` if there's no such variable.
    pub fn global_u64(&self, name: &str) -> Option<u64> {
        self.0.globals.get(vars::find(name)?).as_u64()
    }
    /// Value of a global system variable as SHOW VARIABLES prints it; `None` if there's no such variable.
    pub fn global_text(&self, name: &str) -> Option<String> {
        Some(self.0.globals.get(vars::find(name)?).show())
    }
    /// Bounds `max_connections`, now and whenever it is set. What it was, if that was more.
    pub fn limit_connections(&self, most: u64) -> Option<u64> {
        self.0.most_connections.store(most, Ordering::Relaxed);
        let index = vars::known("max_connections");
        let asked = self.0.globals.get(index).as_u64().filter(|n| *n > most)?;
        self.0.globals.put(index, VarValue::UInt(most));
        Some(asked)
    }
    /// Bounds how many of the tables' own files may be open at a time (`innodb_open_files`).
    pub fn set_open_files(&self, most: usize) {
        self.0.engine.set_open_files_limit(most);
        self.0.globals.put(
            vars::known("innodb_open_files"),
            VarValue::UInt(most as u64),
        );
    }
    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.0.registry.count()
    }
    /// Counts a client that was turned away before it had a session (Aborted_connects).
    pub fn count_aborted_connect(&self) {
        self.0.aborted_connects.fetch_add(1, Ordering::Relaxed);
    }
    /// What statements keep in memory: sorts, groups, hash joins, computed tables (`temptable_max_ram`).
    pub fn memory(&self) -> &ServerMemory {
        &self.0.memory
    }
    /// The engine, for what has no SQL (offline checks, experiments).
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }
    /// SHOW GLOBAL STATUS: names and values, by name.
    pub fn global_status(&self) -> Vec<(String, String)> {
        self.status(None)
    }
    /// When it was opened.
    pub(crate) fn began(&self) -> Instant {
        self.0.started
    }
    /// Global system variables that are numbers or switches (1 for ON), by name.
    pub fn numeric_variables(&self) -> Vec<(&'static str, f64)> {
        let number = |(i, def): (usize, &vars::Def)| match self.0.globals.get(i) {
            VarValue::Bool(b) => Some((def.name, f64::from(u8::from(b)))),
            VarValue::UInt(n) => Some((def.name, n as f64)),
            VarValue::Double(n) => Some((def.name, n)),
            VarValue::Null | VarValue::Text(_) => None,
        };
        vars::all().iter().enumerate().filter_map(number).collect()
    }
    /// The stall record.
    pub fn watch(&self) -> &Watch {
        &self.0.watch
    }
    /// SHOW GLOBAL STATUS: names and values, by name. With a seat: SHOW SESSION STATUS.
    pub(crate) fn status(&self, seat: Option<&Seat>) -> Vec<(String, String)> {
        let global = self.0.registry.sums();
        let mut sums = global.clone();
        sums.add(
            Counter::SlowQueries,
            self.0.slow_unsettled.load(Ordering::Relaxed),
        );
        if let Some(seat) = seat {
            sums = Sums::new();
            seat.counters.sum_into(&mut sums);
        }
        let (max_used, running) = self.0.registry.usage();
        let mut rows: Vec<(String, String)> = sums
            .iter()
            .filter(|(n, _)| *n != "Queries")
            .map(|(n, v)| (n.to_string(), v.to_string()))
            .collect();
        let load = |a: &AtomicU64| a.load(Ordering::Relaxed);
        let mut add = |name: &str, value: u64| rows.push((name.into(), value.to_string()));
        add("Queries", global.get(Counter::Queries));
        add("Aborted_connects", load(&self.0.aborted_connects));
        add("Millpond_slow_log_lost", self.0.slow_log.lost());
        add("Millpond_ddl_statements", self.0.watch.ddl_count());
        add("Connections", load(&self.0.registry.connections));
        add("Max_used_connections", max_used);
        add("Performance_schema_digest_lost", self.0.digests.lost());
        add("Prepared_stmt_count", load(&self.0.prepared));
        add("Threads_connected", self.0.registry.count() as u64);
        add("Threads_running", running);
        for (name, value) in self
            .archive_status()
            .into_iter()
            .chain(self.thread_status())
            .chain(self.0.audit.status())
        {
            add(name, value);
        }
        add("Uptime", self.0.started.elapsed().as_secs());
        add(
            "Uptime_since_flush_status",
            self.0.flushed.lock().elapsed().as_secs(),
        );
        for (name, value) in self.0.engine.status().counters {
            add(name, value);
        }
        rows.extend(self.tls_status(seat.and_then(|seat| seat.tls.as_deref())));
        rows.sort();
        rows
    }
    /// FLUSH STATUS.
    pub(crate) fn note_flush_status(&self) {
        *self.0.flushed.lock() = Instant::now();
    }
}

impl Instance {
    /// Measures a table now if it has changed by a tenth since it was last, or nobody has measured it: what the background does by
    /// itself. Whether it was measured.
    pub fn refresh_statistics(&self, database: &str, table: &str) -> SqlResult<bool> {
        let engine = &self.0.engine;
        let def = engine.table_def(database, table);
        let id = def.map_err(|e| store_error(e, table))?.id;
        let measured = statistics::refresh::refresh(engine, id, self.statistics_settings())?;
        Ok(measured.is_some())
    }
    /// What the variables say about statistics.
    pub(crate) fn statistics_settings(&self) -> Settings {
        settings(&self.0.globals)
    }
}

/// What the variables say about statistics.
fn settings(globals: &vars::Globals) -> Settings {
    let number = |name| globals.get(vars::known(name)).as_u64().unwrap_or(0);
    Settings {
        persistent: number("innodb_stats_persistent") != 0,
        auto_recalc: number("innodb_stats_auto_recalc") != 0,
        persistent_pages: number("innodb_stats_persistent_sample_pages"),
        transient_pages: number("innodb_stats_transient_sample_pages"),
    }
}

fn text(s: &str) -> VarValue {
    VarValue::Text(s.into())
}

/// `datadir` as MySQL shows it: absolute, whatever the process was given, and with a slash at its end.
fn data_directory(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let shown = whole.to_string_lossy();
    format!("{}/", shown.trim_end_matches('/'))
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|s| s.trim().to_string())
        .ok()
        .filter(|s| !s.is_empty())
        .unwrap_or_else(|| "localhost".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_is_shown_absolute() {
        let here = std::env::current_dir().unwrap();
        for (given, shown) in [("rel1", "rel1/"), ("rel1/", "rel1/"), ("./a/b", "a/b/")] {
            let whole = here.join(shown).to_string_lossy().into_owned();
            assert_eq!(data_directory(Path::new(given)), whole);
        }
        assert_eq!(data_directory(Path::new("/")), "/");
        assert_eq!(data_directory(Path::new("/a")), "/a/");
    }
}
