//! The stall record and the waits as tables: see `docs/observability.md`.
//!
//! TRUNCATE TABLE of one of them forgets what it shows, as it does for performance_schema's summaries in MySQL.

use super::table::{Context, Ty, Virtual, n, opt, s};
use crate::instance::Instance;
use crate::watch::{Class, LINEAR_MS, LOG_BUCKETS, StatementKind, TICK_US};
use millpond_sql::value::Value;
use millpond_store::wait;

const IS: &str = "information_schema";
const PS: &str = "performance_schema";

/// Picoseconds, performance_schema's unit, in a nanosecond.
const PS_PER_NS: u64 = 1000;

const STALL_RECORD: &str = "MILLPOND_STALL_RECORD";
const STALLS: &str = "MILLPOND_STALLS";
const DDL_EVENTS: &str = "MILLPOND_DDL_EVENTS";
const LATENCY: &str = "MILLPOND_STATEMENT_LATENCY";
const LATENCY_LOG2: &str = "MILLPOND_STATEMENT_LATENCY_LOG2";
const SUMMARY: &str = "MILLPOND_STATEMENT_SUMMARY";
const WAITS: &str = "events_waits_summary_global_by_event_name";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![
            stall_record(),
            stalls(),
            ddl_events(),
            latency(),
            latency_log2(),
            summary(),
        ],
        PS => vec![waits()],
        _ => Vec::new(),
    }
}

/// TRUNCATE TABLE of a system table: `false` if it is not one that can be.
pub(crate) fn truncate(instance: &Instance, database: &str, name: &str) -> bool {
    let watch = instance.watch();
    let is = |table: &str| name.eq_ignore_ascii_case(table);
    if database.eq_ignore_ascii_case(IS) {
        if is(STALL_RECORD) || is(STALLS) {
            watch.reset_ticks();
        } else if is(DDL_EVENTS) {
            watch.reset_ddl();
        } else if is(LATENCY) || is(LATENCY_LOG2) || is(SUMMARY) {
            watch.reset_latencies();
        } else {
            return false;
        }
        return true;
    }
    if database.eq_ignore_ascii_case(PS) && is(WAITS) {
        wait::reset();
        return true;
    }
    if !database.eq_ignore_ascii_case(PS) {
        return false;
    }
    if super::people::is_of_people(name) {
        instance.0.registry.forget_people();
        return true;
    }
    super::statements::truncate(&instance.0.digests, name)
        || super::files::truncate(&instance.0.files, name)
        || super::setup::truncate(&instance.0.errors, name)
}

fn stall_record() -> Virtual {
    Virtual::new(
        IS,
        STALL_RECORD,
        &[
            ("TICK", Ty::Num),
            ("START_US", Ty::Num),
            ("KIND", Ty::Str(16)),
            ("STATEMENTS", Ty::Num),
            ("MAX_US", Ty::Num),
        ],
        |cx, emit| {
            let watch = cx.facts.instance.watch();
            let wanted = cx.known(2);
            for tick in watch.ticks() {
                let start = watch.tick_start_us(tick.tick);
                for class in Class::ALL {
                    let (count, max_us) = tick.of(class);
                    let other = wanted
                        .as_ref()
                        .is_some_and(|w| !w.eq_ignore_ascii_case(class.name()));
                    if count == 0 || other {
                        continue;
                    }
                    emit(&[
                        n(tick.tick),
                        n(start),
                        Value::str(class.name()),
                        n(count),
                        n(max_us),
                    ])?;
                }
            }
            Ok(())
        },
    )
}

fn stalls() -> Virtual {
    Virtual::new(
        IS,
        STALLS,
        &[
            ("START_US", Ty::Num),
            ("LENGTH_US", Ty::Num),
            ("DDL_STATEMENTS", Ty::Num),
        ],
        |cx, emit| {
            let watch = cx.facts.instance.watch();
            let ddl = watch.ddl_events();
            for stall in watch.stalls() {
                let start_ns = stall.tick * TICK_US * 1000;
                let end_ns = start_ns + stall.length_us() * 1000;
                // Those that ran at some time of it.
                let beside = ddl
                    .iter()
                    .filter(|e| e.start_ns < end_ns && e.end_ns.is_none_or(|end| end > start_ns))
                    .count();
                emit(&[
                    n(watch.tick_start_us(stall.tick)),
                    n(stall.length_us()),
                    n(beside as u64),
                ])?;
            }
            Ok(())
        },
    )
}

fn ddl_events() -> Virtual {
    Virtual::new(
        IS,
        DDL_EVENTS,
        &[
            ("EVENT_ID", Ty::Num),
            ("KIND", Ty::Str(32)),
            ("TABLE_SCHEMA", Ty::NullStr(64)),
            ("TABLE_NAME", Ty::NullStr(256)),
            ("START_US", Ty::Num),
            ("END_US", Ty::NullNum),
            ("DURATION_US", Ty::NullNum),
            ("ERRNO", Ty::Num),
            ("PROCESSLIST_ID", Ty::Num),
            ("STATEMENT", Ty::Text),
            ("PAGES_AFTER_US", Ty::NullNum),
            ("PAGES_US", Ty::NullNum),
        ],
        |cx, emit| {
            let watch = cx.facts.instance.watch();
            let or_null = |v: Option<u64>| v.map_or(Value::Null, n);
            for e in watch.ddl_events() {
                let after = e.pages_ns.map(|p| p.0.saturating_sub(e.start_ns));
                let took = e.pages_ns.map(|p| p.1.saturating_sub(p.0));
                emit(&[
                    n(e.id),
                    Value::str(e.kind.name()),
                    opt(e.database),
                    opt(e.table),
                    n(watch.wall_us(e.start_ns)),
                    or_null(e.end_ns.map(|ns| watch.wall_us(ns))),
                    or_null(e.end_ns.map(|ns| ns.saturating_sub(e.start_ns) / 1000)),
                    n(e.error),
                    n(e.connection),
                    s(e.text),
                    or_null(after.map(|ns| ns / 1000)),
                    or_null(took.map(|ns| ns / 1000)),
                ])?;
            }
            Ok(())
        },
    )
}

fn latency() -> Virtual {
    Virtual::new(
        IS,
        LATENCY,
        &[
            ("KIND", Ty::Str(32)),
            ("BUCKET_MS", Ty::Num),
            ("COUNT", Ty::Num),
        ],
        |cx, emit| {
            for kind in cx.facts.instance.watch().latencies() {
                for (bucket, count) in kind.linear.iter().enumerate().filter(|b| *b.1 > 0) {
                    emit(&[
                        Value::str(kind.kind.name()),
                        n(bucket as u64 * LINEAR_MS),
                        n(*count),
                    ])?;
                }
            }
            Ok(())
        },
    )
}

fn latency_log2() -> Virtual {
    Virtual::new(
        IS,
        LATENCY_LOG2,
        &[
            ("KIND", Ty::Str(32)),
            ("BELOW_US", Ty::NullNum),
            ("COUNT", Ty::Num),
        ],
        |cx, emit| {
            for kind in cx.facts.instance.watch().latencies() {
                for (bucket, count) in kind.log.iter().enumerate().filter(|b| *b.1 > 0) {
                    let below = match bucket {
                        b if b + 1 == LOG_BUCKETS => Value::Null,
                        b => n(1u64 << b),
                    };
                    emit(&[Value::str(kind.kind.name()), below, n(*count)])?;
                }
            }
            Ok(())
        },
    )
}

fn summary() -> Virtual {
    Virtual::new(
        IS,
        SUMMARY,
        &[
            ("KIND", Ty::Str(32)),
            ("COUNT", Ty::Num),
            ("SUM_US", Ty::Num),
            ("AVG_US", Ty::Num),
            ("MAX_US", Ty::Num),
        ],
        |cx, emit| {
            let seen = cx.facts.instance.watch().latencies();
            for kind in StatementKind::ALL {
                let Some(k) = seen.iter().find(|k| k.kind == *kind) else {
                    continue;
                };
                emit(&[
                    Value::str(kind.name()),
                    n(k.count),
                    n(k.sum_us),
                    n(k.sum_us / k.count),
                    n(k.max_us),
                ])?;
            }
            Ok(())
        },
    )
}

fn waits() -> Virtual {
    Virtual::new(
        PS,
        WAITS,
        &[
            ("EVENT_NAME", Ty::Str(128)),
            ("COUNT_STAR", Ty::Num),
            ("SUM_TIMER_WAIT", Ty::Num),
            ("MIN_TIMER_WAIT", Ty::Num),
            ("AVG_TIMER_WAIT", Ty::Num),
            ("MAX_TIMER_WAIT", Ty::Num),
        ],
        |_: &Context<'_>, emit| {
            for w in wait::snapshot() {
                let sum = w.total_ns.saturating_mul(PS_PER_NS);
                emit(&[
                    Value::str(w.class.event_name()),
                    n(w.count),
                    n(sum),
                    n(w.min_ns.saturating_mul(PS_PER_NS)),
                    n(sum.checked_div(w.count).unwrap_or(0)),
                    n(w.max_ns.saturating_mul(PS_PER_NS)),
                ])?;
            }
            Ok(())
        },
    )
}
