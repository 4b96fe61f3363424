//! Foreign keys as tables: REFERENTIAL_CONSTRAINTS, and their rows in KEY_COLUMN_USAGE and TABLE_CONSTRAINTS.

use super::schema::{Met, Only, each_table};
use super::table::{Ty, Virtual, n, opt, s};
use millpond_sql::catalog::{ForeignKey, positions};
use millpond_sql::env::Emit;
use millpond_sql::error::SqlResult;
use millpond_sql::types::Schema;
use millpond_store::Engine;

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        "information_schema" => vec![referential_constraints()],
        _ => Vec::new(),
    }
}

/// The unique key of the parent that a foreign key refers to, if there is one.
fn unique_key(engine: &Engine, own: &Schema, is_own: bool, key: &ForeignKey) -> Option<String> {
    let found = |schema: &Schema| {
        let columns = positions(schema, &key.parent_columns)?;
        schema.unique_key_over(&columns).map(str::to_string)
    };
    if is_own {
        return found(own);
    }
    let def = engine.table_def(&key.parent.0, &key.parent.1).ok()?;
    found(&Schema::of(&def).ok()?)
}

fn referential_constraints() -> Virtual {
    Virtual::new(
        "information_schema",
        "REFERENTIAL_CONSTRAINTS",
        &[
            ("CONSTRAINT_CATALOG", Ty::Str(64)),
            ("CONSTRAINT_SCHEMA", Ty::Str(64)),
            ("CONSTRAINT_NAME", Ty::NullStr(64)),
            ("UNIQUE_CONSTRAINT_CATALOG", Ty::Str(64)),
            ("UNIQUE_CONSTRAINT_SCHEMA", Ty::Str(64)),
            ("UNIQUE_CONSTRAINT_NAME", Ty::NullStr(64)),
            ("MATCH_OPTION", Ty::Str(7)),
            ("UPDATE_RULE", Ty::Str(11)),
            ("DELETE_RULE", Ty::Str(11)),
            ("TABLE_NAME", Ty::Str(64)),
            ("REFERENCED_TABLE_NAME", Ty::Str(64)),
        ],
        |cx, emit| {
            let instance = &cx.facts.instance;
            let only = Only::default().narrowed(cx, 1, 9);
            each_table(instance, &only, |database, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for key in schema.listed_foreign_keys() {
                    let own = key.parent.0 == database && key.parent.1 == def.name;
                    emit(&[
                        s("def"),
                        s(database),
                        s(&*key.name),
                        s("def"),
                        s(&*key.parent.0),
                        opt(unique_key(instance.engine(), schema, own, key)),
                        s("NONE"),
                        s(key.on_update.name()),
                        s(key.on_delete.name()),
                        s(&*def.name),
                        s(&*key.parent.1),
                    ])?;
                }
                Ok(())
            })
        },
    )
}

/// A table's foreign keys as rows of KEY_COLUMN_USAGE.
pub(super) fn usage(
    database: &str,
    table: &str,
    schema: &Schema,
    emit: &mut Emit<'_>,
) -> SqlResult<()> {
    for key in schema.listed_foreign_keys() {
        for (seq, (column, referenced)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
            emit(&[
                s("def"),
                s(database),
                s(&*key.name),
                s("def"),
                s(database),
                s(table),
                s(&**column),
                n(seq as u64 + 1),
                n(seq as u64 + 1),
                s(&*key.parent.0),
                s(&*key.parent.1),
                s(&**referenced),
            ])?;
        }
    }
    Ok(())
}

/// A table's foreign keys as rows of TABLE_CONSTRAINTS.
pub(super) fn constraints(
    database: &str,
    table: &str,
    schema: &Schema,
    emit: &mut Emit<'_>,
) -> SqlResult<()> {
    for key in schema.listed_foreign_keys() {
        emit(&[
            s("def"),
            s(database),
            s(&*key.name),
            s(database),
            s(table),
            s("FOREIGN KEY"),
            s("YES"),
        ])?;
    }
    Ok(())
}
