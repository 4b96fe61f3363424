//! performance_schema.events_stages_current: how far statements that write a table anew or build an index have come; and what
//! setup_instruments and setup_consumers say of that. Work is counted in rows and index entries.
//!
//! These stages are always watched: it costs an addition for a thousand rows. So are statements and waits. So the setup tables say YES, and can't
//! be changed.

use std::time::Instant;

use millpond_sql::value::Value;
use millpond_store::txn::DdlStage;
use millpond_store::wait::Class;

use super::table::{Columns, Ty, Virtual, n, s};

const PS: &str = "performance_schema";
/// Picoseconds, performance_schema's unit, in a nanosecond.
const PS_PER_NS: u128 = 1000;
/// What InnoDB's stages begin with.
const PREFIX: &str = "stage/innodb/alter table";

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

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => vec![current(), instruments(), consumers()],
        _ => Vec::new(),
    }
}

fn event(stage: DdlStage) -> String {
    format!("{PREFIX} ({})", stage.name())
}

fn picoseconds(from: Instant, to: Instant) -> Value<'static> {
    let ns = to.saturating_duration_since(from).as_nanos();
    n(u64::try_from(ns * PS_PER_NS).unwrap_or(u64::MAX))
}

fn current() -> Virtual {
    const COLUMNS: Columns = &[
        ("THREAD_ID", Ty::Num),
        ("EVENT_ID", Ty::Num),
        ("END_EVENT_ID", Ty::NullNum),
        ("EVENT_NAME", Ty::Str(128)),
        ("SOURCE", Ty::NullStr(64)),
        ("TIMER_START", Ty::NullNum),
        ("TIMER_END", Ty::NullNum),
        ("TIMER_WAIT", Ty::NullNum),
        ("WORK_COMPLETED", Ty::NullNum),
        ("WORK_ESTIMATED", Ty::NullNum),
        ("NESTING_EVENT_ID", Ty::NullNum),
        ("NESTING_EVENT_TYPE", Ty::NullStr(11)),
    ];
    Virtual::new(PS, "events_stages_current", COLUMNS, |cx, emit| {
        let began = cx.facts.instance.began();
        for p in super::server::processes(cx) {
            let Some(stage) = p.progress else { continue };
            let now = Instant::now();
            emit(&[
                n(p.id),
                n(stage.number),
                Value::Null,
                s(event(stage.stage)),
                Value::Null,
                picoseconds(began, stage.since),
                picoseconds(began, now),
                picoseconds(stage.since, now),
                n(stage.completed),
                n(stage.estimated),
                Value::Null,
                Value::Null,
            ])?;
        }
        Ok(())
    })
}

fn instruments() -> Virtual {
    const COLUMNS: Columns = &[
        ("NAME", Ty::Str(128)),
        ("ENABLED", Ty::Str(3)),
        ("TIMED", Ty::NullStr(3)),
        ("PROPERTIES", Ty::Str(32)),
        ("FLAGS", Ty::NullStr(32)),
        ("VOLATILITY", Ty::Num),
        ("DOCUMENTATION", Ty::NullText),
    ];
    Virtual::new(PS, "setup_instruments", COLUMNS, |_, emit| {
        let mut row = |name: String, properties: &'static str| {
            emit(&[
                s(name),
                s("YES"),
                s("YES"),
                s(properties),
                Value::Null,
                n(0u64),
                Value::Null,
            ])
        };
        for stage in DdlStage::ALL {
            row(event(stage), "progress")?;
        }
        super::statements::instruments().try_for_each(|name| row(name, ""))?;
        for class in Class::ALL {
            row(class.event_name().to_string(), "")?;
        }
        Ok(())
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
