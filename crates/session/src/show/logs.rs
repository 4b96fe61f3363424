//! The tables into which MySQL can write its general and slow query logs. Here logs are files, so they are empty; dumps
//! of all databases ask for their definitions.

use super::table::{Columns, Ty, Virtual};
use millpond_sql::types::BaseType as B;

const TEXT: Ty = Ty::Of(B::MediumText, 0);
const BYTES: Ty = Ty::Of(B::MediumBlob, 0);
const MOMENT: Ty = Ty::Of(B::Timestamp, 6);
const DURATION: Ty = Ty::Of(B::Time, 6);
const INT: Ty = Ty::Of(B::Int, 0);

const GENERAL_LOG: Columns = &[
    ("event_time", MOMENT),
    ("user_host", TEXT),
    ("thread_id", Ty::Num),
    ("server_id", INT),
    ("command_type", Ty::Str(64)),
    ("argument", BYTES),
];

const SLOW_LOG: Columns = &[
    ("start_time", MOMENT),
    ("user_host", TEXT),
    ("query_time", DURATION),
    ("lock_time", DURATION),
    ("rows_sent", INT),
    ("rows_examined", INT),
    ("db", Ty::Str(512)),
    ("last_insert_id", INT),
    ("insert_id", INT),
    ("server_id", INT),
    ("sql_text", BYTES),
    ("thread_id", Ty::Num),
];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != MYSQL {
        return Vec::new();
    }
    [("general_log", GENERAL_LOG), ("slow_log", SLOW_LOG)]
        .into_iter()
        .map(|(name, columns)| Virtual::new(MYSQL, name, columns, |_, _| Ok(())))
        .collect()
}

/// The schema whose tables can be shown as what would make them.
pub(super) const MYSQL: &str = "mysql";

/// Whether SHOW TABLES lists a table of a system schema. It leaves InnoDB's statistics, accounts and what is always empty out: `mariadb-dump --all-databases` dumps
/// what is listed, and what it wrote of these could not be loaded.
pub(super) fn is_listed(database: &str, table: &str) -> bool {
    let account = super::accounts::TABLES.contains(&table);
    let none = super::empty::is_of_mysql(table);
    database != MYSQL || !(account || none || table.starts_with("innodb_"))
}
