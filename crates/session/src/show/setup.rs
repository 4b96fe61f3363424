//! What performance_schema watches, by what timer; status by thread; memory; errors.
//!
//! All that is watched is watched always: the setup tables say what that is, and can't be changed.

use std::time::Instant;

use millpond_sql::memory::CHUNK_BYTES;
use millpond_sql::types::BaseType;
use millpond_sql::value::Value;
use millpond_store::io::FileKind;
use millpond_store::txn::DdlStage;
use millpond_store::wait::Class;

use super::statements::moment;
use super::table::{Columns, Ty, Virtual, n, s};
use super::{files, stages, statements};
use crate::counters::Counter;
use crate::digests::Errors;

const PS: &str = "performance_schema";
const ERRORS: &str = "events_errors_summary_global_by_error";

/// MySQL's consumers, and whether what they consume is here.
const CONSUMERS: [(&str, bool); 16] = [
    ("events_stages_current", true),
    ("events_stages_history", false),
    ("events_stages_history_long", false),
    ("events_statements_cpu", false),
    ("events_statements_current", false),
    ("events_statements_history", false),
    ("events_statements_history_long", false),
    ("events_transactions_current", false),
    ("events_transactions_history", false),
    ("events_transactions_history_long", false),
    ("events_waits_current", false),
    ("events_waits_history", false),
    ("events_waits_history_long", false),
    ("global_instrumentation", true),
    ("thread_instrumentation", true),
    ("statements_digest", true),
];

/// Memory that is accounted for.
const POOL: &str = "memory/innodb/buf_buf_pool";
const BUFFERS: &str = "memory/sql/statement_buffers";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => vec![
            instruments(),
            consumers(),
            actors(),
            objects(),
            threads(),
            timers(),
            status_by_thread(),
            memory(),
            errors(),
        ],
        _ => Vec::new(),
    }
}

/// TRUNCATE TABLE of the errors: `false` if it is about another table.
pub(super) fn truncate(errors: &Errors, name: &str) -> bool {
    let is = name.eq_ignore_ascii_case(ERRORS);
    if is {
        errors.reset();
    }
    is
}

fn instruments() -> Virtual {
    const COLUMNS: Columns = &[
        ("NAME", Ty::Str(128)),
        ("ENABLED", Ty::Str(3)),
        ("TIMED", Ty::NullStr(3)),
        ("PROPERTIES", Ty::Str(32)),
        ("FLAGS", Ty::NullStr(32)),
        ("VOLATILITY", Ty::Of(BaseType::Int, 0)),
        ("DOCUMENTATION", Ty::NullText),
    ];
    Virtual::new(PS, "setup_instruments", COLUMNS, |_, emit| {
        let mut row = |name: String, timed: bool, properties: &'static str| {
            emit(&[
                s(name),
                s("YES"),
                if timed { s("YES") } else { Value::Null },
                s(properties),
                Value::Null,
                n(0u64),
                Value::Null,
            ])
        };
        for stage in DdlStage::ALL {
            row(stages::event(stage), true, "progress")?;
        }
        statements::instruments().try_for_each(|name| row(name, true, ""))?;
        // The two classes of waits for the disk are kinds of files, too.
        let files: Vec<&str> = FileKind::ALL
            .iter()
            .map(|k| files::event_name(*k))
            .collect();
        for class in Class::ALL {
            if !files.contains(&class.event_name()) {
                row(class.event_name().to_string(), true, "")?;
            }
        }
        for name in files {
            row(name.to_string(), true, "")?;
        }
        for name in [POOL, BUFFERS] {
            row(name.to_string(), false, "global_statistics")?;
        }
        emit(&[
            s("wait/io/table/sql/handler"),
            s("YES"),
            s("NO"),
            s(""),
            Value::Null,
            n(0u64),
            Value::Null,
        ])?;
        emit(&[
            s("error"),
            s("YES"),
            Value::Null,
            s(""),
            Value::Null,
            n(0u64),
            Value::Null,
        ])
    })
}

fn consumers() -> Virtual {
    const COLUMNS: Columns = &[("NAME", Ty::Str(64)), ("ENABLED", Ty::Str(3))];
    Virtual::new(PS, "setup_consumers", COLUMNS, |_, emit| {
        CONSUMERS
            .iter()
            .try_for_each(|(name, on)| emit(&[s(*name), s(if *on { "YES" } else { "NO" })]))
    })
}

fn actors() -> Virtual {
    const COLUMNS: Columns = &[
        ("HOST", Ty::Str(255)),
        ("USER", Ty::Str(32)),
        ("ROLE", Ty::Str(32)),
        ("ENABLED", Ty::Str(3)),
        ("HISTORY", Ty::Str(3)),
    ];
    Virtual::new(PS, "setup_actors", COLUMNS, |_, emit| {
        emit(&["%", "%", "%", "YES", "NO"].map(s))
    })
}

fn objects() -> Virtual {
    const COLUMNS: Columns = &[
        ("OBJECT_TYPE", Ty::Str(9)),
        ("OBJECT_SCHEMA", Ty::NullStr(64)),
        ("OBJECT_NAME", Ty::Str(64)),
        ("ENABLED", Ty::Str(3)),
        ("TIMED", Ty::Str(3)),
    ];
    Virtual::new(PS, "setup_objects", COLUMNS, |_, emit| {
        emit(&["TABLE", "%", "%", "YES", "NO"].map(s))
    })
}

fn threads() -> Virtual {
    const COLUMNS: Columns = &[
        ("NAME", Ty::Str(128)),
        ("ENABLED", Ty::Str(3)),
        ("HISTORY", Ty::Str(3)),
        ("PROPERTIES", Ty::Str(14)),
        ("VOLATILITY", Ty::Of(BaseType::Int, 0)),
        ("DOCUMENTATION", Ty::NullText),
    ];
    Virtual::new(PS, "setup_threads", COLUMNS, |_, emit| {
        emit(&[
            s("thread/sql/one_connection"),
            s("YES"),
            s("NO"),
            s("user"),
            n(0u64),
            Value::Null,
        ])
    })
}

/// The shortest that reading the clock took of a few times, nanoseconds.
fn overhead() -> u64 {
    let once = |_| {
        let start = Instant::now();
        Instant::now().duration_since(start).as_nanos() as u64
    };
    (0..20).map(once).min().unwrap_or(0)
}

fn timers() -> Virtual {
    const BIG: Ty = Ty::NullOf(BaseType::BigInt, 0);
    const COLUMNS: Columns = &[
        ("TIMER_NAME", Ty::Str(11)),
        ("TIMER_FREQUENCY", BIG),
        ("TIMER_RESOLUTION", BIG),
        ("TIMER_OVERHEAD", BIG),
    ];
    Virtual::new(PS, "performance_timers", COLUMNS, |_, emit| {
        emit(&[s("NANOSECOND"), n(1_000_000_000u64), n(1u64), n(overhead())])
    })
}

/// What sessions count by themselves.
fn status_by_thread() -> Virtual {
    const COLUMNS: Columns = &[
        ("THREAD_ID", Ty::Num),
        ("VARIABLE_NAME", Ty::Str(64)),
        ("VARIABLE_VALUE", Ty::NullStr(1024)),
    ];
    Virtual::new(PS, "status_by_thread", COLUMNS, |cx, emit| {
        for seat in cx.facts.instance.0.registry.all() {
            for counter in Counter::ALL {
                let value = seat.counters.get(*counter);
                let name = Counter::NAMES[*counter as usize];
                emit(&[n(seat.id), s(name), s(value.to_string())])?;
            }
        }
        Ok(())
    })
}

fn memory() -> Virtual {
    const BIG: Ty = Ty::Of(BaseType::BigInt, 0);
    const COLUMNS: Columns = &[
        ("EVENT_NAME", Ty::Str(128)),
        ("COUNT_ALLOC", Ty::Num),
        ("COUNT_FREE", Ty::Num),
        ("SUM_NUMBER_OF_BYTES_ALLOC", Ty::Num),
        ("SUM_NUMBER_OF_BYTES_FREE", Ty::Num),
        ("LOW_COUNT_USED", BIG),
        ("CURRENT_COUNT_USED", BIG),
        ("HIGH_COUNT_USED", BIG),
        ("LOW_NUMBER_OF_BYTES_USED", BIG),
        ("CURRENT_NUMBER_OF_BYTES_USED", BIG),
        ("HIGH_NUMBER_OF_BYTES_USED", BIG),
    ];
    let name = "memory_summary_global_by_event_name";
    Virtual::new(PS, name, COLUMNS, |cx, emit| {
        let instance = &cx.facts.instance;
        let pools = instance.engine().pool_instances();
        let count = pools.len() as u64;
        let pages: u64 = pools.iter().map(|p| p.now.size).sum();
        let bytes = pages * millpond_store::page::PAGE_SIZE as u64;
        // It is made once.
        let pool = [count, 0, bytes, 0, count, count, count, bytes, bytes, bytes];
        let (memory, chunk) = (instance.memory(), CHUNK_BYTES as u64);
        let (taken, now, most) = (
            memory.taken(),
            memory.reserved() as u64,
            memory.peak() as u64,
        );
        let given = taken.saturating_sub(now);
        // What is counted are chunks.
        let buffers = [
            taken.div_ceil(chunk),
            given / chunk,
            taken,
            given,
            0,
            now.div_ceil(chunk),
            most.div_ceil(chunk),
            0,
            now,
            most,
        ];
        for (name, numbers) in [(POOL, pool), (BUFFERS, buffers)] {
            let row: Vec<_> = std::iter::once(s(name)).chain(numbers.map(n)).collect();
            emit(&row)?;
        }
        Ok(())
    })
}

fn errors() -> Virtual {
    const MOMENT: Ty = Ty::NullOf(BaseType::Timestamp, 0);
    const COLUMNS: Columns = &[
        ("ERROR_NUMBER", Ty::NullOf(BaseType::Int, 0)),
        ("ERROR_NAME", Ty::NullStr(64)),
        ("SQL_STATE", Ty::NullStr(5)),
        ("SUM_ERROR_RAISED", Ty::Num),
        ("SUM_ERROR_HANDLED", Ty::Num),
        ("FIRST_SEEN", MOMENT),
        ("LAST_SEEN", MOMENT),
    ];
    Virtual::new(PS, ERRORS, COLUMNS, |cx, emit| {
        for (code, e) in cx.facts.instance.0.errors.all() {
            let whole = |us: u64| moment(us / 1_000_000 * 1_000_000, cx);
            let state = millpond_sql::error::state_of(code);
            emit(&[
                n(code),
                Value::Null,
                s(state.as_str()),
                n(e.raised),
                n(0u64),
                whole(e.first_us),
                whole(e.last_us),
            ])?;
        }
        Ok(())
    })
}
