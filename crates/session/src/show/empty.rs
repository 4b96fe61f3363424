//! Tables of information_schema about things that Millpond does not have: they exist, because tools read
//! them, and are empty, because that is the truth.

use super::server::nothing;
use super::table::{Columns, Ty, Virtual};

const NAME: Ty = Ty::Str(64);
const NULL_NAME: Ty = Ty::NullStr(64);

const TABLES: &[(&str, Columns)] = &[
    (
        "EVENTS",
        &[
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
        ],
    ),
    (
        "VIEW_ROUTINE_USAGE",
        &[
            ("TABLE_CATALOG", NULL_NAME),
            ("TABLE_SCHEMA", NULL_NAME),
            ("TABLE_NAME", NULL_NAME),
            ("SPECIFIC_CATALOG", NULL_NAME),
            ("SPECIFIC_SCHEMA", NULL_NAME),
            ("SPECIFIC_NAME", NAME),
        ],
    ),
];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != "information_schema" {
        return Vec::new();
    }
    TABLES
        .iter()
        .map(|(name, columns)| nothing(name, columns))
        .collect()
}
