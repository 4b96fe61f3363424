//! `information_schema.MILLPOND_GRAVEYARD`: what DROP, TRUNCATE and DROP INDEX left behind and the reclaimer has not
//! given back yet. A row per dead index in the shared file, or per dead file; one for all small indexes of a dropped database whose ids follow each other, with
//! the database's name alone.

use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use millpond_store::engine::GraveState;

use super::table::{Ty, Virtual, n, opt, s};
use millpond_sql::store_error::store_error;
use millpond_sql::value::{DateTime, Value, Zone};

const IS: &str = "information_schema";

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != IS {
        return Vec::new();
    }
    vec![graveyard()]
}

fn graveyard() -> Virtual {
    Virtual::new(
        IS,
        "MILLPOND_GRAVEYARD",
        &[
            ("SPACE_ID", Ty::Num),
            // Whose it was; NULL where it is not known, INDEX_NAME also for a whole file.
            ("TABLE_SCHEMA", Ty::NullStr(64)),
            ("TABLE_NAME", Ty::NullStr(64)),
            ("INDEX_NAME", Ty::NullStr(64)),
            ("FILE_NAME", Ty::Str(512)),
            ("BYTES_LEFT", Ty::Num),
            ("EXTENTS_LEFT", Ty::Num),
            ("DROPPED_AT", Ty::NullTime),
            // BUILDING (of an index being made, or of DDL about to end), WAITING, RECLAIMING
            ("STATE", Ty::Str(16)),
        ],
        |cx, emit| {
            let tz = cx.env.zone.get();
            let mut emitted = Ok(());
            let engine = cx.facts.instance.engine();
            let visited = engine.each_grave(&mut |grave| {
                let state = match grave.state {
                    GraveState::Building => "BUILDING",
                    GraveState::Waiting => "WAITING",
                    GraveState::Reclaiming => "RECLAIMING",
                };
                let since = grave.since.and_then(|t| time(t, tz));
                emitted = emit(&[
                    n(grave.space),
                    opt(grave.database),
                    opt(grave.table),
                    opt(grave.index),
                    s(grave.file),
                    n(grave.bytes),
                    n(grave.extents),
                    since.map_or(Value::Null, Value::DateTime),
                    s(state),
                ]);
                match emitted {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            emitted?;
            visited.map_err(|e| store_error(e, "MILLPOND_GRAVEYARD"))
        },
    )
}

fn time(at: SystemTime, tz: Zone) -> Option<DateTime> {
    let seconds = at.duration_since(UNIX_EPOCH).ok()?.as_secs();
    DateTime::from_unix(i64::try_from(seconds).ok()?, 0, tz)
}
