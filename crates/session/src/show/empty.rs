//! Tables of information_schema and of mysql about things that Millpond does not have: they exist, because tools read
//! them, and are empty, because that is the truth.

use super::logs::MYSQL;
use super::table::{Columns, Ty, Virtual};
use millpond_sql::types::BaseType;

const NAME: Ty = Ty::Str(64);
const NULL_NAME: Ty = Ty::NullStr(64);

const TABLES: &[(&str, Columns)] = &[(
    "VIEW_ROUTINE_USAGE",
    &[
        ("TABLE_CATALOG", NULL_NAME),
        ("TABLE_SCHEMA", NULL_NAME),
        ("TABLE_NAME", NULL_NAME),
        ("SPECIFIC_CATALOG", NULL_NAME),
        ("SPECIFIC_SCHEMA", NULL_NAME),
        ("SPECIFIC_NAME", NAME),
    ],
)];

/// Loadable functions and plugins.
const OF_MYSQL: &[(&str, Columns)] = &[
    (
        "func",
        &[
            ("name", NAME),
            ("ret", Ty::Of(BaseType::TinyInt, 0)),
            ("dl", Ty::Str(128)),
            ("type", Ty::Str(9)),
        ],
    ),
    ("plugin", &[("name", NAME), ("dl", Ty::Str(128))]),
];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    let (schema, list) = match database {
        "information_schema" => ("information_schema", TABLES),
        MYSQL => (MYSQL, OF_MYSQL),
        _ => return Vec::new(),
    };
    let empty = |(name, columns): &(&'static str, Columns)| {
        Virtual::new(schema, name, columns, |_, _| Ok(()))
    };
    list.iter().map(empty).collect()
}

/// Whether it is one of the tables of `mysql`.
pub(super) fn is_of_mysql(table: &str) -> bool {
    OF_MYSQL.iter().any(|t| t.0 == table)
}
