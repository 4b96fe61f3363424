//! Columns.

use super::{IS, Met, Only, each_table};
use crate::accounts::privileges::TABLE;
use crate::show::create::now_text;
use crate::show::rules::escaped;
use crate::show::table::{Columns, Ty, Virtual, n, opt, s};
use crate::show::views;
use millpond_sql::env::privileges::{self, Privileges};
use millpond_sql::env::{Emit, VirtualColumn, VirtualTable};
use millpond_sql::error::SqlResult;
use millpond_sql::types::{BaseType, Collation, Column, DefaultValue, Schema, SqlType, Visibility};
use millpond_sql::value::Value;

/// PRI, UNI or MUL: whether and how a column leads a key.
fn column_key(schema: &Schema, column: usize) -> &'static str {
    let mut key = "";
    for index in schema.indexes.iter().filter(|i| !i.is_hidden()) {
        let leads = index.columns().next() == Some(column);
        if index.name == "PRIMARY" && index.parts.iter().any(|p| p.column == column) {
            return "PRI";
        }
        if leads && index.unique && index.parts.len() == 1 {
            key = "UNI";
        } else if leads && key.is_empty() {
            key = "MUL";
        }
    }
    // Without a primary key, MySQL shows the unique key that stands in for it as PRI.
    let stands_in = schema.indexes.first().is_some_and(|i| {
        i.name != "PRIMARY" && !i.parts.is_empty() && i.parts.iter().any(|p| p.column == column)
    });
    if stands_in { "PRI" } else { key }
}

fn default_text(c: &Column) -> Value<'static> {
    match &c.default {
        DefaultValue::Literal(text) => s(&**text),
        DefaultValue::Expr(text) => s(escaped(text)),
        DefaultValue::Now => s(now_text(c)),
        DefaultValue::Null | DefaultValue::None => Value::Null,
    }
}

fn extra(c: &Column) -> String {
    let mut parts = Vec::new();
    if c.auto_increment {
        parts.push("auto_increment".to_string());
    }
    if matches!(c.default, DefaultValue::Now | DefaultValue::Expr(_)) {
        parts.push("DEFAULT_GENERATED".to_string());
    }
    if let Some(g) = &c.generated {
        let kind = if g.stored { "STORED" } else { "VIRTUAL" };
        parts.push(format!("{kind} GENERATED"));
    }
    if c.on_update_now {
        parts.push(format!("on update {}", now_text(c)));
    }
    if c.visibility == Visibility::Invisible {
        parts.push("INVISIBLE".to_string());
    }
    parts.join(" ")
}

const PRIVILEGES: [(&str, Privileges); 4] = [
    ("select", privileges::SELECT),
    ("insert", privileges::INSERT),
    ("update", privileges::UPDATE),
    ("references", privileges::REFERENCES),
];

/// COLUMNS; SHOW COLUMNS and DESCRIBE select from it.
pub(in crate::show) fn columns(only: Only) -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", Ty::Str(64)),
        ("TABLE_SCHEMA", Ty::Str(64)),
        ("TABLE_NAME", Ty::Str(64)),
        ("COLUMN_NAME", Ty::Str(64)),
        ("ORDINAL_POSITION", Ty::Num),
        ("COLUMN_DEFAULT", Ty::NullText),
        ("IS_NULLABLE", Ty::Str(3)),
        ("DATA_TYPE", Ty::Str(64)),
        ("CHARACTER_MAXIMUM_LENGTH", Ty::NullOf(BaseType::BigInt, 0)),
        ("CHARACTER_OCTET_LENGTH", Ty::NullOf(BaseType::BigInt, 0)),
        ("NUMERIC_PRECISION", Ty::NullNum),
        ("NUMERIC_SCALE", Ty::NullNum),
        ("DATETIME_PRECISION", Ty::NullNum),
        ("CHARACTER_SET_NAME", Ty::NullStr(64)),
        ("COLLATION_NAME", Ty::NullStr(64)),
        ("COLUMN_TYPE", Ty::Text),
        ("COLUMN_KEY", Ty::Enum(&["", "PRI", "UNI", "MUL"])),
        ("EXTRA", Ty::Str(256)),
        ("PRIVILEGES", Ty::Str(154)),
        ("COLUMN_COMMENT", Ty::Text),
        ("GENERATION_EXPRESSION", Ty::Text),
        ("SRS_ID", Ty::NullNum),
    ];
    Virtual::new(IS, "COLUMNS", COLUMNS, move |cx, emit| {
        let only = &only.narrowed(cx, 1, 2);
        each_table(&cx.facts.instance, only, |database, met| match &met {
            Met::Stored(def, schema) => {
                let columns = schema.columns.iter().enumerate();
                let seen = columns.filter(|(_, c)| c.visibility != Visibility::Hidden);
                for (position, (i, c)) in seen.enumerate() {
                    let key = column_key(schema, i);
                    column_row((database, &def.name), position, c, key, only, emit)?;
                }
                Ok(())
            }
            Met::View(def, schema, view) => {
                let now = views::columns(&cx.facts.instance, cx.env, def, schema, view);
                let now = now.unwrap_or_else(|_| schema.columns.clone());
                for (position, c) in now.iter().enumerate() {
                    column_row((database, &def.name), position, c, "", only, emit)?;
                }
                Ok(())
            }
            Met::SystemView(name, view) => {
                let now = views::system_columns(&cx.facts.instance, cx.env, name, view);
                // Whoever may not read what is below is shown nothing of it.
                for (position, c) in now.unwrap_or_default().iter().enumerate() {
                    column_row((database, name), position, c, "", only, emit)?;
                }
                Ok(())
            }
            Met::Virtual(v) => {
                for (i, c) in v.columns().iter().enumerate() {
                    let c = as_column(c);
                    column_row((database, v.name()), i, &c, "", only, emit)?;
                }
                Ok(())
            }
        })
    })
}

fn as_column(c: &VirtualColumn) -> Column {
    plain_column(c.name.to_string(), c.ty.clone(), c.nullable)
}

/// A column of which no more is known.
pub(in crate::show) fn plain_column(name: String, ty: SqlType, nullable: bool) -> Column {
    Column {
        name,
        ty,
        nullable,
        default: DefaultValue::None,
        auto_increment: false,
        on_update_now: false,
        explicit_collation: false,
        comment: String::new(),
        generated: None,
        visibility: Default::default(),
    }
}

fn column_row(
    (database, table): (&str, &str),
    position: usize,
    c: &Column,
    key: &'static str,
    only: &Only,
    emit: &mut Emit<'_>,
) -> SqlResult<()> {
    let has = only.on_column(database, table, &c.name);
    let granted = PRIVILEGES.iter().filter(|(_, p)| has & p != 0);
    let granted: Vec<&str> = granted.map(|(name, _)| *name).collect();
    if granted.is_empty() && has & TABLE == 0 {
        return Ok(());
    }
    let ty = &c.ty;
    let lengths = ty.character_lengths();
    let (precision, scale) = ty.numeric_precision();
    let number = |v: Option<u64>| v.map_or(Value::Null, n);
    let short = |v: Option<u32>| number(v.map(u64::from));
    let text = ty.is_string() && ty.collation != Collation::Binary;
    emit(&[
        s("def"),
        s(database),
        s(table),
        s(&*c.name),
        n(position as u64 + 1),
        default_text(c),
        s(if c.nullable { "YES" } else { "NO" }),
        s(ty.data_type()),
        number(lengths.map(|l| l.0)),
        number(lengths.map(|l| l.1)),
        short(precision),
        short(scale),
        short(ty.datetime_precision()),
        opt(text.then(|| ty.collation.charset())),
        opt(text.then(|| ty.collation.name())),
        s(ty.column_type()),
        s(key),
        s(extra(c)),
        s(granted.join(",")),
        s(&*c.comment),
        s(c.generated
            .as_ref()
            .map_or(String::new(), |g| escaped(&g.text))),
        short(ty.srid),
    ])
}
