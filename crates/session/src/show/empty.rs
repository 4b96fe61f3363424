//! Tables of information_schema about things that Millpond does not have: they exist, because tools read
//! them, and are empty, because that is the truth.

use super::server::nothing;
use super::table::{Columns, Ty, Virtual};

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

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != "information_schema" {
        return Vec::new();
    }
    TABLES
        .iter()
        .map(|(name, columns)| nothing(name, columns))
        .collect()
}
