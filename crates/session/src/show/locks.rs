//! Who blocks whom: transactions, row locks, metadata locks and threads as MySQL's tables show them.
//!
//! `ENGINE_LOCK_ID` is made of what a lock is on, so that the same lock has the same name in `data_locks` and in
//! `data_lock_waits`. A transaction that has not written has no id; as in MySQL it is shown under a large one. `THREAD_ID` is the
//! connection's id.

use hashbrown::HashMap;
use millpond_store::space::SpaceId;
use millpond_store::txn::{LockInfo, Locked, MdlMode, Party, WaitInfo};
use millpond_store::{CATALOG_DATABASE, Engine, Isolation, LockMode, TableDef};
use std::cell::OnceCell;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::table::{Columns, Context, Ty, Virtual, n, opt, s};
use super::waits::split_name;
use millpond_sql::row;
use millpond_sql::types::{BaseType, Schema};
use millpond_sql::value::{DateTime, Value, Zone};

const IS: &str = "information_schema";
const PS: &str = "performance_schema";

/// Ids of transactions that have none: this and the owner's number.
const NO_TRX: u64 = 1 << 48;

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![transactions()],
        PS => vec![data_locks(), data_lock_waits(), metadata_locks(), threads()],
        _ => Vec::new(),
    }
}

fn trx_id(who: Party) -> u64 {
    match who.trx {
        0 => NO_TRX | u64::from(who.owner),
        id => id,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// A row lock's name. What waits is another lock than what its owner may hold there already.
fn lock_id(lock: &LockInfo) -> String {
    let waits = if lock.granted { "" } else { ":W" };
    let owner = lock.who.owner;
    match &lock.what {
        Locked::Point { space, key, .. } => format!("{owner}:R:{}:{}{waits}", space.0, hex(key)),
        Locked::Range { space, start, .. } => format!("{owner}:G:{}:{}", space.0, hex(start)),
        Locked::Insert { space, key } => format!("{owner}:I:{}:{}", space.0, hex(key)),
        Locked::Metadata { name, .. } => format!("{owner}:M:{name}"),
    }
}

/// `LOCK_MODE` as MySQL writes it.
fn lock_mode(what: &Locked) -> &'static str {
    match what {
        Locked::Point { mode, .. } => match mode {
            LockMode::Shared => "S,REC_NOT_GAP",
            LockMode::Exclusive => "X,REC_NOT_GAP",
        },
        Locked::Range { .. } => "X,GAP",
        Locked::Insert { .. } => "X,GAP,INSERT_INTENTION",
        Locked::Metadata { mode, .. } => metadata_mode(*mode),
    }
}

fn metadata_mode(mode: MdlMode) -> &'static str {
    match mode {
        MdlMode::Shared => "SHARED_READ",
        MdlMode::Write => "SHARED_WRITE",
        MdlMode::ReadOnly => "SHARED_READ_ONLY",
        MdlMode::Upgradable => "SHARED_UPGRADABLE",
        MdlMode::NoWrite => "SHARED_NO_WRITE",
        MdlMode::Exclusive => "EXCLUSIVE",
    }
}

/// An open table, or a partition of one.
struct Open {
    def: TableDef,
    /// Read when the first of its locks is shown.
    schema: OnceCell<Option<Schema>>,
}

impl Open {
    fn schema(&self) -> Option<&Schema> {
        let read = || Schema::of(&self.def).ok();
        self.schema.get_or_init(read).as_ref()
    }
}

/// An index that a space is of.
struct Place {
    of: Rc<Open>,
    /// The table's name, and the partition's.
    table: String,
    partition: Option<String>,
    index: usize,
}

/// The indexes of open tables, by space: those with locks are among them.
fn places(engine: &Engine) -> HashMap<SpaceId, Place> {
    let mut map = HashMap::new();
    engine.each_open_table(&mut |def, partition| {
        let open = Rc::new(Open {
            def: def.clone(),
            schema: OnceCell::new(),
        });
        for (index, of) in def.indexes.iter().enumerate() {
            let place = Place {
                of: open.clone(),
                table: partition.map_or(&*def.name, |p| p.0).to_string(),
                partition: partition.map(|p| p.1.to_string()),
                index,
            };
            map.insert(of.space, place);
        }
    });
    map
}

/// `LOCK_DATA`: the values of a key, or its bytes where they cannot be read back.
fn lock_data(what: &Locked, place: Option<&Place>) -> Option<String> {
    let key = match what {
        Locked::Point { key, .. } | Locked::Insert { key, .. } => key,
        Locked::Range { end: Some(end), .. } => end,
        Locked::Range { end: None, .. } => return Some("supremum pseudo-record".into()),
        Locked::Metadata { .. } => return None,
    };
    let read = place.and_then(|p| key_text(p.of.schema()?, p.index, key));
    Some(read.unwrap_or_else(|| format!("0x{}", hex(key))))
}

fn key_text(schema: &Schema, index: usize, key: &[u8]) -> Option<String> {
    let parts = &schema.indexes[index].parts;
    let readable = (0..parts.len()).all(|part| row::key_part_decodable(schema, index, part));
    if parts.is_empty() || !readable {
        return None;
    }
    let mut values = Vec::new();
    row::decode_key(schema, index, key, Zone::UTC, &mut values).ok()?;
    let texts = values.iter().zip(parts).map(|(v, part)| {
        if v.is_null() {
            return "NULL".to_string();
        }
        let mut text = Vec::new();
        millpond_sql::value::write_text(v, &schema.columns[part.column].ty, &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        match v {
            Value::Bytes(_) => format!("'{text}'"),
            _ => text,
        }
    });
    Some(texts.collect::<Vec<_>>().join(", "))
}

fn data_locks() -> Virtual {
    const COLUMNS: Columns = &[
        ("ENGINE", Ty::Str(32)),
        ("ENGINE_LOCK_ID", Ty::Str(8192)),
        ("ENGINE_TRANSACTION_ID", Ty::NullNum),
        ("THREAD_ID", Ty::NullNum),
        ("EVENT_ID", Ty::NullNum),
        ("OBJECT_SCHEMA", Ty::NullStr(64)),
        ("OBJECT_NAME", Ty::NullStr(64)),
        ("PARTITION_NAME", Ty::NullStr(64)),
        ("SUBPARTITION_NAME", Ty::NullStr(64)),
        ("INDEX_NAME", Ty::NullStr(64)),
        ("OBJECT_INSTANCE_BEGIN", Ty::Num),
        ("LOCK_TYPE", Ty::Str(32)),
        ("LOCK_MODE", Ty::Str(32)),
        ("LOCK_STATUS", Ty::Str(32)),
        ("LOCK_DATA", Ty::NullStr(8192)),
    ];
    Virtual::new(PS, "data_locks", COLUMNS, |cx, emit| {
        let engine = cx.facts.instance.engine();
        let places = places(engine);
        let mut row = |lock: &LockInfo| {
            let (Locked::Point { space, .. }
            | Locked::Range { space, .. }
            | Locked::Insert { space, .. }) = &lock.what
            else {
                return Ok(());
            };
            let place = places.get(space);
            emit(&[
                s("INNODB"),
                s(lock_id(lock)),
                n(trx_id(lock.who)),
                n(lock.who.tag),
                Value::Null,
                opt(place.map(|p| p.of.def.database.clone())),
                opt(place.map(|p| p.table.clone())),
                opt(place.and_then(|p| p.partition.clone())),
                Value::Null,
                opt(place.map(|p| p.of.def.indexes[p.index].name.clone())),
                n(space.0),
                s("RECORD"),
                s(lock_mode(&lock.what)),
                s(if lock.granted { "GRANTED" } else { "WAITING" }),
                opt(lock_data(&lock.what, place)),
            ])
        };
        for wait in engine.waits() {
            row(&wait.lock)?;
        }
        let mut failed = None;
        engine.each_row_lock(&mut |lock| match row(&lock) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failed = Some(e);
                ControlFlow::Break(())
            }
        });
        failed.map_or(Ok(()), Err)
    })
}

fn data_lock_waits() -> Virtual {
    const COLUMNS: Columns = &[
        ("ENGINE", Ty::Str(32)),
        ("REQUESTING_ENGINE_LOCK_ID", Ty::Str(8192)),
        ("REQUESTING_ENGINE_TRANSACTION_ID", Ty::NullNum),
        ("REQUESTING_THREAD_ID", Ty::NullNum),
        ("REQUESTING_EVENT_ID", Ty::NullNum),
        ("REQUESTING_OBJECT_INSTANCE_BEGIN", Ty::Num),
        ("BLOCKING_ENGINE_LOCK_ID", Ty::Str(8192)),
        ("BLOCKING_ENGINE_TRANSACTION_ID", Ty::NullNum),
        ("BLOCKING_THREAD_ID", Ty::NullNum),
        ("BLOCKING_EVENT_ID", Ty::NullNum),
        ("BLOCKING_OBJECT_INSTANCE_BEGIN", Ty::Num),
    ];
    Virtual::new(PS, "data_lock_waits", COLUMNS, |cx, emit| {
        for wait in cx.facts.instance.engine().waits() {
            for blocker in &wait.blockers {
                let mut row = vec![s("INNODB")];
                for lock in [&wait.lock, blocker] {
                    row.extend([
                        s(lock_id(lock)),
                        n(trx_id(lock.who)),
                        n(lock.who.tag),
                        Value::Null,
                        n(space_of(&lock.what)),
                    ]);
                }
                emit(&row)?;
            }
        }
        Ok(())
    })
}

fn space_of(what: &Locked) -> u64 {
    match what {
        Locked::Point { space, .. }
        | Locked::Range { space, .. }
        | Locked::Insert { space, .. } => space.0,
        Locked::Metadata { .. } => 0,
    }
}

fn metadata_locks() -> Virtual {
    const COLUMNS: Columns = &[
        ("OBJECT_TYPE", Ty::Str(64)),
        ("OBJECT_SCHEMA", Ty::NullStr(64)),
        ("OBJECT_NAME", Ty::NullStr(64)),
        ("COLUMN_NAME", Ty::NullStr(64)),
        ("OBJECT_INSTANCE_BEGIN", Ty::Num),
        ("LOCK_TYPE", Ty::Str(32)),
        ("LOCK_DURATION", Ty::Str(32)),
        ("LOCK_STATUS", Ty::Str(32)),
        ("SOURCE", Ty::NullStr(64)),
        ("OWNER_THREAD_ID", Ty::NullNum),
        ("OWNER_EVENT_ID", Ty::NullNum),
    ];
    Virtual::new(PS, "metadata_locks", COLUMNS, |cx, emit| {
        let engine = cx.facts.instance.engine();
        let waiting = engine.waits().into_iter().map(|w| w.lock);
        for lock in engine.metadata_locks().into_iter().chain(waiting) {
            let Locked::Metadata {
                name,
                mode,
                lasting,
            } = &lock.what
            else {
                continue;
            };
            let (database, table) = split_name(name);
            // The engine's own work is nobody's connection. Who has the lock under which a database's tables are opened has the database's.
            if lock.who.tag == 0 || (lock.granted && name.ends_with('\0')) {
                continue;
            }
            emit(&[
                s(match table {
                    // No database has this name; see `millpond_store::engine`.
                    Some(_) if database.is_empty() => "TABLESPACE",
                    Some(_) => "TABLE",
                    None if database.is_empty() => "GLOBAL",
                    None => "SCHEMA",
                }),
                opt((!database.is_empty()).then_some(database)),
                opt(table),
                Value::Null,
                n(0u64),
                s(metadata_mode(*mode)),
                s(if *lasting { "EXPLICIT" } else { "TRANSACTION" }),
                s(if lock.granted { "GRANTED" } else { "PENDING" }),
                Value::Null,
                n(lock.who.tag),
                Value::Null,
            ])?;
        }
        Ok(())
    })
}

/// SHOW OPEN TABLES: how many sessions use each, and how many have it or wait for it alone.
pub(super) fn open_tables(database: Option<String>) -> Virtual {
    const COLUMNS: Columns = &[
        ("Database", Ty::Str(64)),
        ("Table", Ty::Str(64)),
        ("In_use", Ty::Num),
        ("Name_locked", Ty::Num),
    ];
    Virtual::new(IS, "OPEN_TABLES", COLUMNS, move |cx, emit| {
        let engine = cx.facts.instance.engine();
        let access = cx.access();
        let mut open: std::collections::BTreeMap<(String, String), (u64, u64)> = Default::default();
        engine.each_open_table(&mut |def, partition| {
            let wanted = database.as_ref().is_none_or(|d| *d == def.database);
            if wanted
                && access.sees_table(&def.database, &def.name)
                && partition.is_none()
                && ![millpond_sql::catalog::WORK_DATABASE, CATALOG_DATABASE]
                    .contains(&&*def.database)
            {
                open.insert((def.database.clone(), def.name.clone()), (0, 0));
            }
        });
        let waiting = engine.waits().into_iter().map(|w| w.lock);
        for lock in engine.metadata_locks().into_iter().chain(waiting) {
            if let Locked::Metadata { name, mode, .. } = &lock.what
                && let (d, Some(t)) = split_name(name)
                && let Some(of) = open.get_mut(&(d.to_string(), t.to_string()))
            {
                of.0 += u64::from(lock.granted);
                of.1 += u64::from(*mode == MdlMode::Exclusive);
            }
        }
        for ((database, table), (used, locked)) in open {
            emit(&[s(database), s(table), n(used), n(u64::from(locked > 0))])?;
        }
        Ok(())
    })
}

fn time_of(at: SystemTime, cx: &Context<'_>) -> Value<'static> {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(seconds)
        .ok()
        .and_then(|t| DateTime::from_unix(t, 0, cx.env.zone.get()))
        .map_or(Value::Null, Value::DateTime)
}

fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

fn transactions() -> Virtual {
    const COLUMNS: Columns = &[
        ("trx_id", Ty::Num),
        ("trx_state", Ty::Str(13)),
        ("trx_started", Ty::NullTime),
        ("trx_requested_lock_id", Ty::NullStr(8192)),
        ("trx_wait_started", Ty::NullTime),
        ("trx_weight", Ty::Num),
        ("trx_mysql_thread_id", Ty::Num),
        ("trx_query", Ty::NullStr(1024)),
        ("trx_operation_state", Ty::NullStr(64)),
        ("trx_tables_in_use", Ty::Num),
        ("trx_tables_locked", Ty::Num),
        ("trx_lock_structs", Ty::Num),
        ("trx_lock_memory_bytes", Ty::Num),
        ("trx_rows_locked", Ty::Num),
        ("trx_rows_modified", Ty::Num),
        ("trx_concurrency_tickets", Ty::Num),
        ("trx_isolation_level", Ty::Str(16)),
        ("trx_unique_checks", Ty::Num),
        ("trx_foreign_key_checks", Ty::Num),
        ("trx_last_foreign_key_error", Ty::NullStr(256)),
        ("trx_adaptive_hash_latched", Ty::Num),
        ("trx_adaptive_hash_timeout", Ty::Num),
        ("trx_is_read_only", Ty::Num),
        ("trx_autocommit_non_locking", Ty::Num),
        ("trx_schedule_weight", Ty::NullNum),
    ];
    Virtual::new(IS, "INNODB_TRX", COLUMNS, |cx, emit| {
        let engine = cx.facts.instance.engine();
        let waits = engine.waits();
        let tables = tables_locked(engine);
        for t in engine.transactions() {
            let wait = waits.iter().find(|w| w.lock.who.owner == t.who.owner);
            let row_wait = wait.filter(|w| !matches!(w.lock.what, Locked::Metadata { .. }));
            let process = super::server::process(cx, t.who.tag);
            let used = n(tables.get(&t.who.owner).copied().unwrap_or(0));
            let zero = || n(0u64);
            emit(&[
                n(trx_id(t.who)),
                s(if row_wait.is_some() {
                    "LOCK WAIT"
                } else {
                    "RUNNING"
                }),
                time_of(t.started, cx),
                opt(row_wait.map(|w| lock_id(&w.lock))),
                row_wait.map_or(Value::Null, |w| time_of(since(w), cx)),
                n(t.rows_changed + t.locks),
                n(t.who.tag),
                opt(process.and_then(|p| p.info).map(|i| i.to_string())),
                opt(row_wait.map(|_| "starting index read")),
                used.clone(),
                used,
                n(t.locks),
                zero(),
                n(t.locks),
                n(t.rows_changed),
                zero(),
                s(isolation_name(t.isolation)),
                n(1u64),
                n(1u64),
                Value::Null,
                zero(),
                zero(),
                zero(),
                zero(),
                Value::Null,
            ])?;
        }
        Ok(())
    })
}

fn since(wait: &WaitInfo) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(wait.waited).unwrap_or(now)
}

/// How many tables each owner has locked by name.
fn tables_locked(engine: &Engine) -> HashMap<u32, u64> {
    let mut counts = HashMap::new();
    for lock in engine.metadata_locks() {
        if let Locked::Metadata { name, .. } = &lock.what
            && matches!(split_name(name), (database, Some(_)) if !database.is_empty())
        {
            *counts.entry(lock.who.owner).or_insert(0) += 1;
        }
    }
    counts
}

fn threads() -> Virtual {
    const COLUMNS: Columns = &[
        ("THREAD_ID", Ty::Num),
        ("NAME", Ty::Str(128)),
        ("TYPE", Ty::Str(10)),
        ("PROCESSLIST_ID", Ty::NullNum),
        ("PROCESSLIST_USER", Ty::NullStr(32)),
        ("PROCESSLIST_HOST", Ty::NullStr(255)),
        ("PROCESSLIST_DB", Ty::NullStr(64)),
        ("PROCESSLIST_COMMAND", Ty::NullStr(16)),
        ("PROCESSLIST_TIME", Ty::NullOf(BaseType::BigInt, 0)),
        ("PROCESSLIST_STATE", Ty::NullStr(64)),
        ("PROCESSLIST_INFO", Ty::NullText),
        ("PARENT_THREAD_ID", Ty::NullNum),
        ("ROLE", Ty::NullStr(64)),
        ("INSTRUMENTED", Ty::Str(3)),
        ("HISTORY", Ty::Str(3)),
        ("CONNECTION_TYPE", Ty::NullStr(16)),
        ("THREAD_OS_ID", Ty::NullNum),
        ("RESOURCE_GROUP", Ty::NullStr(64)),
        ("EXECUTION_ENGINE", Ty::Str(9)),
        ("CONTROLLED_MEMORY", Ty::Num),
        ("MAX_CONTROLLED_MEMORY", Ty::Num),
        ("TOTAL_MEMORY", Ty::Num),
        ("MAX_TOTAL_MEMORY", Ty::Num),
        ("TELEMETRY_ACTIVE", Ty::Str(3)),
    ];
    Virtual::new(PS, "threads", COLUMNS, |cx, emit| {
        super::server::processes(cx).into_iter().try_for_each(|p| {
            let mut row = vec![
                n(p.id),
                s("thread/sql/one_connection"),
                s("FOREGROUND"),
                n(p.id),
                s(p.user),
                s(p.host),
                opt(p.database),
                s(p.command),
                n(p.seconds),
                s(p.state),
                opt(p.info.map(|i| i.to_string())),
                Value::Null,
                Value::Null,
                s("YES"),
                s("NO"),
                Value::Null,
                Value::Null,
                Value::Null,
                s("PRIMARY"),
            ];
            // What sorts, groups, hash joins and computed tables hold, now and at most in a statement.
            row.extend([p.memory.0, p.memory.1, p.memory.0, p.memory.1].map(n));
            row.push(s("NO"));
            emit(&row)
        })
    })
}
