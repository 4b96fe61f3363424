//! Stored routines and triggers: SHOW CREATE PROCEDURE and FUNCTION, SHOW PROCEDURE and FUNCTION STATUS, information_schema.ROUTINES and PARAMETERS.

use super::table::{Columns, Context, Ty, Virtual, n, opt, s};
use crate::instance::Instance;
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind, Trigger};
use millpond_sql::env::privileges::{SELECT, TRIGGER};
use millpond_sql::env::{SessionEnv, sql_mode};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::types::{Collation, SqlType};
use millpond_sql::value::{DateTime, Value};
use millpond_syntax::quote::Quotes;

const NAME: Ty = Ty::Str(64);

const STATUS: Columns = &[
    ("Db", NAME),
    ("Name", NAME),
    ("Type", Ty::Str(9)),
    ("Definer", Ty::Str(288)),
    ("Modified", Ty::NullTime),
    ("Created", Ty::NullTime),
    ("Security_type", Ty::Str(7)),
    ("Comment", Ty::Text),
    ("character_set_client", NAME),
    ("collation_connection", NAME),
    ("Database Collation", NAME),
];

const PARAMETERS: Columns = &[
    ("SPECIFIC_CATALOG", NAME),
    ("SPECIFIC_SCHEMA", NAME),
    ("SPECIFIC_NAME", NAME),
    ("ORDINAL_POSITION", Ty::Num),
    ("PARAMETER_MODE", Ty::NullStr(5)),
    ("PARAMETER_NAME", Ty::NullStr(64)),
    ("DATA_TYPE", Ty::Text),
    ("CHARACTER_MAXIMUM_LENGTH", Ty::NullNum),
    ("CHARACTER_OCTET_LENGTH", Ty::NullNum),
    ("NUMERIC_PRECISION", Ty::NullNum),
    ("NUMERIC_SCALE", Ty::NullNum),
    ("DATETIME_PRECISION", Ty::NullNum),
    ("CHARACTER_SET_NAME", Ty::NullStr(64)),
    ("COLLATION_NAME", Ty::NullStr(64)),
    ("DTD_IDENTIFIER", Ty::Text),
    ("ROUTINE_TYPE", Ty::Str(9)),
];

const ROUTINES: Columns = &[
    ("SPECIFIC_NAME", NAME),
    ("ROUTINE_CATALOG", NAME),
    ("ROUTINE_SCHEMA", NAME),
    ("ROUTINE_NAME", NAME),
    ("ROUTINE_TYPE", Ty::Str(9)),
    ("DATA_TYPE", Ty::Text),
    ("CHARACTER_MAXIMUM_LENGTH", Ty::NullNum),
    ("CHARACTER_OCTET_LENGTH", Ty::NullNum),
    ("NUMERIC_PRECISION", Ty::NullNum),
    ("NUMERIC_SCALE", Ty::NullNum),
    ("DATETIME_PRECISION", Ty::NullNum),
    ("CHARACTER_SET_NAME", Ty::NullStr(64)),
    ("COLLATION_NAME", Ty::NullStr(64)),
    ("DTD_IDENTIFIER", Ty::NullText),
    ("ROUTINE_BODY", Ty::Str(8)),
    ("ROUTINE_DEFINITION", Ty::NullText),
    ("EXTERNAL_NAME", Ty::NullStr(64)),
    ("EXTERNAL_LANGUAGE", NAME),
    ("PARAMETER_STYLE", Ty::Str(3)),
    ("IS_DETERMINISTIC", Ty::Str(3)),
    ("SQL_DATA_ACCESS", NAME),
    ("SQL_PATH", Ty::NullStr(64)),
    ("SECURITY_TYPE", Ty::Str(7)),
    ("CREATED", Ty::NullTime),
    ("LAST_ALTERED", Ty::NullTime),
    ("SQL_MODE", Ty::Text),
    ("ROUTINE_COMMENT", Ty::Text),
    ("DEFINER", Ty::Str(288)),
    ("CHARACTER_SET_CLIENT", NAME),
    ("COLLATION_CONNECTION", NAME),
    ("DATABASE_COLLATION", NAME),
];

/// A point in time as the session shows it.
pub(super) fn time(seconds: u64, env: &SessionEnv) -> Value<'static> {
    let moment = DateTime::from_unix(seconds as i64, 0, env.zone.get());
    moment.map_or(Value::Null, Value::DateTime)
}

fn security(def: &ProgramDef) -> Value<'static> {
    s(if def.invoker { "INVOKER" } else { "DEFINER" })
}

/// Whether the session may read what a routine does.
fn body_shown(def: &ProgramDef, cx: &Context<'_>) -> bool {
    let access = cx.access();
    let all = access.has_dynamic("SHOW_ROUTINE") || access.global() & SELECT != 0;
    all || access.name.plain() == def.definer
}

/// What a type is described by: eight columns from its length on, then its name with all it was given.
fn described(ty: &SqlType) -> [Value<'static>; 9] {
    let lengths = ty.character_lengths();
    let (precision, scale) = ty.numeric_precision();
    let number = |v: Option<u64>| v.map_or(Value::Null, n);
    let short = |v: Option<u32>| number(v.map(u64::from));
    let text = ty.is_string() && ty.collation != Collation::Binary;
    [
        s(ty.data_type()),
        number(lengths.map(|l| l.0)),
        number(lengths.map(|l| l.1)),
        short(precision),
        short(scale),
        short(ty.datetime_precision()),
        opt(text.then(|| ty.collation.charset())),
        opt(text.then(|| ty.collation.name())),
        s(ty.column_type()),
    ]
}

/// Calls `f` with the routines of a database, or of all; those of a database that is dropped meanwhile are left out.
fn each(
    cx: &Context<'_>,
    database: Option<&str>,
    f: &mut dyn FnMut(&ProgramDef) -> SqlResult<()>,
) -> SqlResult<()> {
    let (access, instance) = (cx.access(), &cx.facts.instance);
    let mut all = Vec::new();
    ProgramDef::each(instance.engine(), database, &mut |def| {
        let procedure = def.kind == ProgramKind::Procedure;
        if matches!(def.kind, ProgramKind::Procedure | ProgramKind::Function)
            && access.sees_routine(procedure, &def.database, &def.name)
        {
            all.push(def);
        }
        Ok(())
    })?;
    all.iter().try_for_each(f)
}

/// What SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS select from.
pub(super) fn status(kind: ProgramKind) -> Virtual {
    Virtual::new(
        "information_schema",
        "SHOW_ROUTINES",
        STATUS,
        move |cx, emit| {
            each(cx, cx.known(0).as_deref(), &mut |def| {
                if def.kind != kind {
                    return Ok(());
                }
                emit(&[
                    s(&*def.database),
                    s(&*def.name),
                    s(def.kind.word()),
                    s(&*def.definer),
                    time(def.modified, cx.env),
                    time(def.created, cx.env),
                    security(def),
                    s(&*def.comment),
                    s(&*def.client),
                    s(&*def.connection),
                    s(&*def.collation),
                ])
            })
        },
    )
}

fn routine_row(def: &ProgramDef, cx: &Context<'_>) -> SqlResult<Vec<Value<'static>>> {
    let mut row = vec![
        s(&*def.name),
        s("def"),
        s(&*def.database),
        s(&*def.name),
        s(def.kind.word()),
    ];
    match def.kind {
        ProgramKind::Function => {
            let key = programs::key(def.kind, &def.database, &def.name);
            let instance = &cx.facts.instance;
            let program = instance.0.programs.find(instance.engine(), &key)?;
            let returns = program.as_ref().and_then(|p| p.returns.as_ref());
            row.extend(described(
                &returns.map_or_else(SqlType::null, |c| c.ty.clone()),
            ));
        }
        _ => {
            row.push(s(""));
            row.extend(std::iter::repeat_n(Value::Null, 8));
        }
    }
    row.extend([
        s("SQL"),
        opt(body_shown(def, cx).then_some(&*def.body)),
        Value::Null,
        s("SQL"),
        s("SQL"),
        s(if def.deterministic { "YES" } else { "NO" }),
        s(&*def.access),
        Value::Null,
        security(def),
        time(def.created, cx.env),
        time(def.modified, cx.env),
        s(sql_mode::format(def.mode)),
        s(&*def.comment),
        s(&*def.definer),
        s(&*def.client),
        s(&*def.connection),
        s(&*def.collation),
    ]);
    Ok(row)
}

fn parameter_rows(
    def: &ProgramDef,
    cx: &Context<'_>,
    emit: &mut dyn FnMut(&[Value<'_>]) -> SqlResult<()>,
) -> SqlResult<()> {
    let key = programs::key(def.kind, &def.database, &def.name);
    let instance = &cx.facts.instance;
    let Some(program) = instance.0.programs.find(instance.engine(), &key)? else {
        return Ok(());
    };
    let mut put = |at: u64, mode: Value<'static>, name: Value<'static>, ty: &SqlType| {
        let mut row = vec![
            s("def"),
            s(&*def.database),
            s(&*def.name),
            n(at),
            mode,
            name,
        ];
        row.extend(described(ty));
        row.push(s(def.kind.word()));
        emit(&row)
    };
    if let Some(returns) = &program.returns {
        put(0, Value::Null, Value::Null, &returns.ty)?;
    }
    let parameters = program.slots.iter().zip(&program.parameters);
    for (at, (column, mode)) in parameters.enumerate() {
        let mode = s(mode.to_string());
        put(at as u64 + 1, mode, s(&*column.name), &column.ty)?;
    }
    Ok(())
}

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != "information_schema" {
        return Vec::new();
    }
    let schema = "information_schema";
    vec![
        triggers(),
        Virtual::new(schema, "ROUTINES", ROUTINES, |cx, emit| {
            each(cx, cx.known(2).as_deref(), &mut |def| {
                emit(&routine_row(def, cx)?)
            })
        }),
        Virtual::new(schema, "PARAMETERS", PARAMETERS, |cx, emit| {
            each(cx, cx.known(1).as_deref(), &mut |def| {
                parameter_rows(def, cx, emit)
            })
        }),
    ]
}

/// Calls `f` with the triggers of a database, or of all, and each one's place among those of its table, time and event, from 1.
fn each_trigger(
    cx: &Context<'_>,
    database: Option<&str>,
    f: &mut dyn FnMut(&ProgramDef, &Trigger, u64) -> SqlResult<()>,
) -> SqlResult<()> {
    let (access, instance) = (cx.access(), &cx.facts.instance);
    let mut all = Vec::new();
    ProgramDef::each(instance.engine(), database, &mut |def| {
        if let Some(trigger) = def.trigger.clone()
            && access.table(&def.database, &trigger.table) & TRIGGER != 0
        {
            all.push((def, trigger));
        }
        Ok(())
    })?;
    let of = |(def, t): &(ProgramDef, Trigger)| {
        (
            def.database.clone(),
            t.table.clone(),
            t.event as u8,
            !t.before,
        )
    };
    all.sort_by_key(|entry| (of(entry), entry.1.order));
    let mut place = 0;
    for (n, entry) in all.iter().enumerate() {
        let follows = n > 0 && of(&all[n - 1]) == of(entry);
        place = if follows { place + 1 } else { 1 };
        f(&entry.0, &entry.1, place)?;
    }
    Ok(())
}

const SHOW_TRIGGERS: Columns = &[
    ("Trigger", NAME),
    ("Event", Ty::Str(6)),
    ("Table", NAME),
    ("Statement", Ty::Text),
    ("Timing", Ty::Str(6)),
    ("Created", Ty::NullTime),
    ("sql_mode", Ty::Text),
    ("Definer", Ty::Str(288)),
    ("character_set_client", NAME),
    ("collation_connection", NAME),
    ("Database Collation", NAME),
];

/// What SHOW TRIGGERS selects from.
pub(super) fn show_triggers(database: String) -> Virtual {
    let schema = "information_schema";
    Virtual::new(schema, "SHOW_TRIGGERS", SHOW_TRIGGERS, move |cx, emit| {
        each_trigger(cx, Some(&database), &mut |def, t, _| {
            emit(&[
                s(&*def.name),
                s(t.event.word()),
                s(&*t.table),
                s(&*def.body),
                s(t.time()),
                time(def.created, cx.env),
                s(sql_mode::format(def.mode)),
                s(&*def.definer),
                s(&*def.client),
                s(&*def.connection),
                s(&*def.collation),
            ])
        })
    })
}

const TRIGGERS: Columns = &[
    ("TRIGGER_CATALOG", NAME),
    ("TRIGGER_SCHEMA", NAME),
    ("TRIGGER_NAME", NAME),
    ("EVENT_MANIPULATION", Ty::Str(6)),
    ("EVENT_OBJECT_CATALOG", NAME),
    ("EVENT_OBJECT_SCHEMA", NAME),
    ("EVENT_OBJECT_TABLE", NAME),
    ("ACTION_ORDER", Ty::Num),
    ("ACTION_CONDITION", Ty::NullText),
    ("ACTION_STATEMENT", Ty::Text),
    ("ACTION_ORIENTATION", Ty::Str(3)),
    ("ACTION_TIMING", Ty::Str(6)),
    ("ACTION_REFERENCE_OLD_TABLE", Ty::NullStr(64)),
    ("ACTION_REFERENCE_NEW_TABLE", Ty::NullStr(64)),
    ("ACTION_REFERENCE_OLD_ROW", Ty::Str(3)),
    ("ACTION_REFERENCE_NEW_ROW", Ty::Str(3)),
    ("CREATED", Ty::NullTime),
    ("SQL_MODE", Ty::Text),
    ("DEFINER", Ty::Str(288)),
    ("CHARACTER_SET_CLIENT", NAME),
    ("COLLATION_CONNECTION", NAME),
    ("DATABASE_COLLATION", NAME),
];

fn triggers() -> Virtual {
    Virtual::new("information_schema", "TRIGGERS", TRIGGERS, |cx, emit| {
        let database = cx.known(1);
        each_trigger(cx, database.as_deref(), &mut |def, t, order| {
            emit(&[
                s("def"),
                s(&*def.database),
                s(&*def.name),
                s(t.event.word()),
                s("def"),
                s(&*def.database),
                s(&*t.table),
                n(order),
                Value::Null,
                s(&*def.body),
                s("ROW"),
                s(t.time()),
                Value::Null,
                Value::Null,
                s("OLD"),
                s("NEW"),
                time(def.created, cx.env),
                s(sql_mode::format(def.mode)),
                s(&*def.definer),
                s(&*def.client),
                s(&*def.connection),
                s(&*def.collation),
            ])
        })
    })
}

/// The row of SHOW CREATE TRIGGER: error 1360 if there is none.
pub(super) fn create_trigger(
    database: &str,
    name: &str,
    instance: &Instance,
    env: &SessionEnv,
    quotes: Quotes,
) -> SqlResult<Vec<String>> {
    let key = programs::key(ProgramKind::Trigger, database, name);
    let Some(def) = ProgramDef::find(instance.engine(), &key)? else {
        return Err(SqlError::new(1360, "Trigger does not exist"));
    };
    let created = time(def.created, env);
    Ok(vec![
        def.name.clone(),
        sql_mode::format(def.mode),
        def.trigger_text(quotes),
        def.client,
        def.connection,
        def.collation,
        String::from_utf8_lossy(&created.to_text()).into_owned(),
    ])
}

/// The row of SHOW CREATE PROCEDURE or FUNCTION: error 1305 if there is none.
pub(super) fn create(
    kind: ProgramKind,
    database: &str,
    name: &str,
    instance: &Instance,
    quotes: Quotes,
) -> SqlResult<Vec<String>> {
    let key = programs::key(kind, database, name);
    let def = ProgramDef::find(instance.engine(), &key)?;
    let def: ProgramDef = def.ok_or_else(|| -> SqlError { ProgramDef::missing(kind, name) })?;
    Ok(vec![
        def.name.clone(),
        sql_mode::format(def.mode),
        def.create_text(quotes),
        def.client,
        def.connection,
        def.collation,
    ])
}
