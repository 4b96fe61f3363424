//! Indexes, keys and constraints.

use super::live::{Want, live};
use super::{IS, Met, Only, each_table};
use crate::accounts::privileges::TABLE;
use crate::show::foreign_keys;
use crate::show::rules::{hidden_text, yes};
use crate::show::table::{Columns, Ty, Virtual, n, opt, s};
use millpond_sql::types::{BaseType, Visibility};
use millpond_sql::value::Value;

/// STATISTICS; SHOW INDEX selects from it.
pub(in crate::show) fn statistics(only: Only) -> Virtual {
    const COLUMNS: Columns = &[
        ("TABLE_CATALOG", Ty::Str(64)),
        ("TABLE_SCHEMA", Ty::Str(64)),
        ("TABLE_NAME", Ty::Str(64)),
        ("NON_UNIQUE", Ty::Of(BaseType::BigInt, 0)),
        ("INDEX_SCHEMA", Ty::Str(64)),
        ("INDEX_NAME", Ty::NullStr(64)),
        ("SEQ_IN_INDEX", Ty::Num),
        ("COLUMN_NAME", Ty::NullStr(64)),
        ("COLLATION", Ty::NullStr(1)),
        ("CARDINALITY", Ty::NullNum),
        ("SUB_PART", Ty::NullOf(BaseType::BigInt, 0)),
        ("PACKED", Ty::NullStr(1)),
        ("NULLABLE", Ty::Str(3)),
        ("INDEX_TYPE", Ty::Str(11)),
        ("COMMENT", Ty::Str(8)),
        ("INDEX_COMMENT", Ty::Str(2048)),
        ("IS_VISIBLE", Ty::Str(3)),
        ("EXPRESSION", Ty::NullText),
    ];
    /// The one that only an open table knows.
    const CARDINALITY: usize = 9;
    /// What MySQL says that a SPATIAL index has of a column: four doubles.
    const RECTANGLE_BYTES: u32 = 32;
    Virtual::new(IS, "STATISTICS", COLUMNS, move |cx, emit| {
        let instance = &cx.facts.instance;
        let only = only.narrowed(cx, 1, 2);
        each_table(instance, &only, |database, met| {
            let Met::Stored(def, schema) = met else {
                return Ok(());
            };
            let live = (cx.reads(&[CARDINALITY]))
                .then(|| live(instance, database, &def.name, schema, Want::Cardinality))
                .flatten();
            let counts = live.map(|l| l.cardinality).unwrap_or_default();
            for i in schema.index_order() {
                let index = &schema.indexes[i];
                // A FULLTEXT index has no order, and all of each column; a SPATIAL one has rectangles of a column's values.
                let (text, place) = (index.fulltext.is_some(), index.spatial.is_some());
                let kind = match (text, place) {
                    (true, _) => "FULLTEXT",
                    (_, true) => "SPATIAL",
                    _ => "BTREE",
                };
                for (seq, at) in index.columns().enumerate() {
                    let (column, part) = (&schema.columns[at], index.parts.get(seq));
                    if only.on_column(database, &def.name, &column.name) & TABLE == 0 {
                        continue;
                    }
                    let hidden = hidden_text(column);
                    let values = counts.get(i).and_then(|c| c.get(seq));
                    emit(&[
                        s("def"),
                        s(database),
                        s(&*def.name),
                        n(u64::from(!index.unique)),
                        s(database),
                        s(&*index.name),
                        n(seq as u64 + 1),
                        opt(hidden.is_none().then_some(&*column.name)),
                        opt(match part {
                            Some(p) if p.desc => Some("D"),
                            Some(_) => Some("A"),
                            None => place.then_some("A"),
                        }),
                        values.map_or(Value::Null, |v| n(*v)),
                        match (part, place) {
                            (Some(p), _) => p.prefix.map_or(Value::Null, n),
                            (_, true) => n(RECTANGLE_BYTES),
                            _ => Value::Null,
                        },
                        Value::Null,
                        s(if column.nullable { "YES" } else { "" }),
                        s(kind),
                        s(""),
                        s(&*index.comment),
                        s(yes(index.visible)),
                        opt(hidden),
                    ])?;
                }
            }
            Ok(())
        })
    })
}

pub(super) fn key_column_usage() -> Virtual {
    Virtual::new(
        IS,
        "KEY_COLUMN_USAGE",
        &[
            ("CONSTRAINT_CATALOG", Ty::Str(64)),
            ("CONSTRAINT_SCHEMA", Ty::Str(64)),
            ("CONSTRAINT_NAME", Ty::NullStr(64)),
            ("TABLE_CATALOG", Ty::Str(64)),
            ("TABLE_SCHEMA", Ty::Str(64)),
            ("TABLE_NAME", Ty::Str(64)),
            ("COLUMN_NAME", Ty::NullStr(64)),
            ("ORDINAL_POSITION", Ty::Num),
            ("POSITION_IN_UNIQUE_CONSTRAINT", Ty::NullNum),
            ("REFERENCED_TABLE_SCHEMA", Ty::NullStr(64)),
            ("REFERENCED_TABLE_NAME", Ty::NullStr(64)),
            ("REFERENCED_COLUMN_NAME", Ty::NullStr(64)),
        ],
        |cx, emit| {
            let only = Only::default().narrowed(cx, 4, 5);
            each_table(&cx.facts.instance, &only, |database, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for i in schema.index_order() {
                    let index = &schema.indexes[i];
                    if !index.unique {
                        continue;
                    }
                    for (seq, part) in index.parts.iter().enumerate() {
                        let column = &schema.columns[part.column];
                        let seen = only.on_column(database, &def.name, &column.name) & TABLE != 0;
                        if column.visibility == Visibility::Hidden || !seen {
                            continue;
                        }
                        emit(&[
                            s("def"),
                            s(database),
                            s(&*index.name),
                            s("def"),
                            s(database),
                            s(&*def.name),
                            s(&*schema.columns[part.column].name),
                            n(seq as u64 + 1),
                            Value::Null,
                            Value::Null,
                            Value::Null,
                            Value::Null,
                        ])?;
                    }
                }
                // A key's columns are told to who may see all of the table.
                match only.on_column(database, &def.name, "") & TABLE {
                    0 => Ok(()),
                    _ => foreign_keys::usage(database, &def.name, schema, emit),
                }
            })
        },
    )
}

pub(super) fn table_constraints() -> Virtual {
    Virtual::new(
        IS,
        "TABLE_CONSTRAINTS",
        &[
            ("CONSTRAINT_CATALOG", Ty::Str(64)),
            ("CONSTRAINT_SCHEMA", Ty::Str(64)),
            ("CONSTRAINT_NAME", Ty::NullStr(64)),
            ("TABLE_SCHEMA", Ty::Str(64)),
            ("TABLE_NAME", Ty::Str(64)),
            ("CONSTRAINT_TYPE", Ty::Str(11)),
            ("ENFORCED", Ty::Str(3)),
        ],
        |cx, emit| {
            let only = Only::default().narrowed(cx, 3, 4);
            each_table(&cx.facts.instance, &only, |database, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for i in schema.index_order() {
                    let index = &schema.indexes[i];
                    if !index.unique {
                        continue;
                    }
                    emit(&[
                        s("def"),
                        s(database),
                        s(&*index.name),
                        s(database),
                        s(&*def.name),
                        s(if index.name == "PRIMARY" {
                            "PRIMARY KEY"
                        } else {
                            "UNIQUE"
                        }),
                        s("YES"),
                    ])?;
                }
                for (name, check) in schema.checks_by_name(&def.name) {
                    emit(&[
                        s("def"),
                        s(database),
                        s(name),
                        s(database),
                        s(&*def.name),
                        s("CHECK"),
                        s(yes(check.enforced)),
                    ])?;
                }
                foreign_keys::constraints(database, &def.name, schema, emit)
            })
        },
    )
}
