//! information_schema.INNODB_TABLES: tables as the store has them, with MySQL's columns.

use super::schema::{Met, Only, each_table};
use super::table::{Columns, Ty, Virtual, n, s};
use millpond_sql::types::BaseType;
use millpond_sql::value::Value;
use millpond_store::space::FileId;

/// Columns of its own that InnoDB counts with a table's: row id, transaction, roll pointer.
const SYSTEM_COLUMNS: usize = 3;
/// What InnoDB's flags say of a table of the row format DYNAMIC.
const DYNAMIC: i64 = 33;
/// The same of one in a general tablespace.
const IN_TABLESPACE: i64 = 128;

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        "information_schema" => vec![innodb_tables()],
        _ => Vec::new(),
    }
}

fn innodb_tables() -> Virtual {
    const INT: Ty = Ty::Of(BaseType::Int, 0);
    const COLUMNS: Columns = &[
        ("TABLE_ID", Ty::Num),
        ("NAME", Ty::Str(655)),
        ("FLAG", INT),
        ("N_COLS", INT),
        ("SPACE", Ty::Num),
        ("ROW_FORMAT", Ty::NullStr(12)),
        ("ZIP_PAGE_SIZE", Ty::Num),
        ("SPACE_TYPE", Ty::NullStr(10)),
        ("INSTANT_COLS", INT),
        ("TOTAL_ROW_VERSIONS", INT),
    ];
    let int = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    Virtual::new(
        "information_schema",
        "INNODB_TABLES",
        COLUMNS,
        move |cx, emit| {
            each_table(&cx.facts.instance, &Only::default(), |_, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                let (kind, flag) = match def.file {
                    FileId::SHARED => ("System", DYNAMIC),
                    file if file.is_general() => ("General", DYNAMIC | IN_TABLESPACE),
                    _ => ("Single", DYNAMIC),
                };
                emit(&[
                    n(def.id),
                    s(format!("{}/{}", def.database, def.name)),
                    Value::Int(flag),
                    int(schema.columns.len() + SYSTEM_COLUMNS),
                    n(def.file.number()),
                    s("Dynamic"),
                    n(0u64),
                    s(kind),
                    // Of MySQL's first kind of instant columns, before 8.0.29.
                    int(0),
                    int(schema.versions().earlier()),
                ])
            })
        },
    )
}
