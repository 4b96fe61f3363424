//! Events: SHOW EVENTS, SHOW CREATE EVENT, information_schema.EVENTS.
//!
//! Times of a schedule, and that of the last run, are shown in the event's own time zone; when it was made and altered, in the session's.

use super::routines::time;
use super::table::{Columns, Context, Ty, Virtual, n, s};
use crate::instance::Instance;
use crate::vars;
use millpond_sql::catalog::events::{Event, Schedule, interval_text};
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind};
use millpond_sql::env::privileges::EVENT;
use millpond_sql::env::sql_mode;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::value::{DateTime, Value};
use millpond_syntax::quote::Quotes;

const NAME: Ty = Ty::Str(64);

const EVENTS: Columns = &[
    ("EVENT_CATALOG", NAME),
    ("EVENT_SCHEMA", NAME),
    ("EVENT_NAME", NAME),
    ("DEFINER", Ty::Str(288)),
    ("TIME_ZONE", NAME),
    ("EVENT_BODY", Ty::Str(3)),
    ("EVENT_DEFINITION", Ty::Text),
    ("EVENT_TYPE", Ty::Str(9)),
    ("EXECUTE_AT", Ty::NullTime),
    ("INTERVAL_VALUE", Ty::NullStr(256)),
    ("INTERVAL_FIELD", Ty::NullStr(18)),
    ("SQL_MODE", Ty::Text),
    ("STARTS", Ty::NullTime),
    ("ENDS", Ty::NullTime),
    ("STATUS", Ty::Str(21)),
    ("ON_COMPLETION", Ty::Str(12)),
    ("CREATED", Ty::NullTime),
    ("LAST_ALTERED", Ty::NullTime),
    ("LAST_EXECUTED", Ty::NullTime),
    ("EVENT_COMMENT", Ty::Str(2048)),
    ("ORIGINATOR", Ty::Num),
    ("CHARACTER_SET_CLIENT", NAME),
    ("COLLATION_CONNECTION", NAME),
    ("DATABASE_COLLATION", NAME),
];

const SHOW_EVENTS: Columns = &[
    ("Db", NAME),
    ("Name", NAME),
    ("Definer", Ty::Str(288)),
    ("Time zone", NAME),
    ("Type", Ty::Str(9)),
    ("Execute at", Ty::NullTime),
    ("Interval value", Ty::NullStr(256)),
    ("Interval field", Ty::NullStr(18)),
    ("Starts", Ty::NullTime),
    ("Ends", Ty::NullTime),
    ("Status", Ty::Str(21)),
    ("Originator", Ty::Num),
    ("character_set_client", NAME),
    ("collation_connection", NAME),
    ("Database Collation", NAME),
];

/// Calls `f` with the events of a database, or of all, that the session may see.
fn each(
    cx: &Context<'_>,
    database: Option<&str>,
    f: &mut dyn FnMut(&ProgramDef, &Event) -> SqlResult<()>,
) -> SqlResult<()> {
    let (access, instance) = (cx.access(), &cx.facts.instance);
    let mut all = Vec::new();
    ProgramDef::each(instance.engine(), database, &mut |mut def| {
        if let Some(event) = def.event.take()
            && access.database(&def.database) & EVENT != 0
        {
            all.push((def, event));
        }
        Ok(())
    })?;
    all.iter().try_for_each(|(def, event)| f(def, event))
}

/// What a schedule shows: type, AT, interval and its unit, STARTS, ENDS.
fn schedule(event: &Event) -> SqlResult<[Value<'static>; 6]> {
    let zone = vars::zone(&event.zone)?;
    let time = |moment: Option<i64>| {
        let at = moment.and_then(|m| DateTime::from_unix(m, 0, zone));
        at.map_or(Value::Null, Value::DateTime)
    };
    let none = Value::Null;
    Ok(match event.schedule {
        Schedule::At(at) => [
            s("ONE TIME"),
            time(Some(at)),
            none.clone(),
            none.clone(),
            none.clone(),
            none,
        ],
        Schedule::Every {
            count,
            unit,
            starts,
            ends,
        } => [
            s("RECURRING"),
            none,
            s(interval_text(count, unit)),
            s(unit.to_string()),
            time(Some(starts)),
            time(ends),
        ],
    })
}

/// What SHOW EVENTS selects from.
pub(super) fn show_events(database: String) -> Virtual {
    let schema = "information_schema";
    Virtual::new(schema, "SHOW_EVENTS", SHOW_EVENTS, move |cx, emit| {
        each(cx, Some(&database), &mut |def, event| {
            let [kind, at, interval, unit, starts, ends] = schedule(event)?;
            emit(&[
                s(&*def.database),
                s(&*def.name),
                s(&*def.definer),
                s(&*event.zone),
                kind,
                at,
                interval,
                unit,
                starts,
                ends,
                s(event.state.status()),
                n(event.originator),
                s(&*def.client),
                s(&*def.connection),
                s(&*def.collation),
            ])
        })
    })
}

fn event_row(def: &ProgramDef, event: &Event, cx: &Context<'_>) -> SqlResult<Vec<Value<'static>>> {
    let [kind, at, interval, unit, starts, ends] = schedule(event)?;
    let zone = vars::zone(&event.zone)?;
    let ran = event
        .last_executed
        .and_then(|m| DateTime::from_unix(m, 0, zone));
    Ok(vec![
        s("def"),
        s(&*def.database),
        s(&*def.name),
        s(&*def.definer),
        s(&*event.zone),
        s("SQL"),
        s(&*def.body),
        kind,
        at,
        interval,
        unit,
        s(sql_mode::format(def.mode)),
        starts,
        ends,
        s(event.state.status()),
        s(if event.preserve {
            "PRESERVE"
        } else {
            "NOT PRESERVE"
        }),
        time(def.created, cx.env),
        time(def.modified, cx.env),
        ran.map_or(Value::Null, Value::DateTime),
        s(&*def.comment),
        n(event.originator),
        s(&*def.client),
        s(&*def.connection),
        s(&*def.collation),
    ])
}

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != "information_schema" {
        return Vec::new();
    }
    let events = Virtual::new("information_schema", "EVENTS", EVENTS, |cx, emit| {
        each(cx, cx.known(1).as_deref(), &mut |def, event| {
            emit(&event_row(def, event, cx)?)
        })
    });
    vec![events]
}

/// The row of SHOW CREATE EVENT: error 1539 if there is none.
pub(super) fn create(
    database: &str,
    name: &str,
    instance: &Instance,
    quotes: Quotes,
) -> SqlResult<Vec<String>> {
    let key = programs::key(ProgramKind::Event, database, name);
    let found = ProgramDef::find(instance.engine(), &key)?;
    let unknown = || SqlError::new(1539, format!("Unknown event '{name}'"));
    let def = found.ok_or_else(unknown)?;
    let zone = def.event.as_ref().map(|e| e.zone.clone());
    let zone = zone.ok_or_else(unknown)?;
    let text = def.event_text(vars::zone(&zone)?, quotes);
    Ok(vec![
        def.name.clone(),
        sql_mode::format(def.mode),
        zone,
        text,
        def.client,
        def.connection,
        def.collation,
    ])
}
