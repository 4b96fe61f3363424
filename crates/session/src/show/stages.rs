//! performance_schema.events_stages_current: how far statements that write a table anew or build an index have come. Work is counted in rows and
//! index entries. These stages are always watched: it costs an addition for a thousand rows.

use std::time::Instant;

use millpond_sql::value::Value;
use millpond_store::txn::DdlStage;

use super::table::{Columns, Ty, Virtual, n, s};

const PS: &str = "performance_schema";
/// Picoseconds, performance_schema's unit, in a nanosecond.
const PS_PER_NS: u128 = 1000;
/// What InnoDB's stages begin with.
const PREFIX: &str = "stage/innodb/alter table";

/// A backup's, whose work is counted in bytes of files.
const BACKUP: &str = "stage/millpond/backup";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => vec![current()],
        _ => Vec::new(),
    }
}

/// The instrument of a stage.
pub(super) fn event(stage: DdlStage) -> String {
    match stage {
        DdlStage::Backup => BACKUP.into(),
        _ => format!("{PREFIX} ({})", stage.name()),
    }
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
