//! information_schema.INNODB_TABLES, INNODB_INDEXES, INNODB_FIELDS, INNODB_FOREIGN and INNODB_FOREIGN_COLS: tables as the store has them, with
//! MySQL's columns. An index's id is that of its space, which never comes back.

use super::schema::{Met, Only, each_table};
use super::table::{Columns, Ty, Virtual, n, s};
use millpond_sql::catalog::ForeignKey;
use millpond_sql::types::{BaseType, Index, Schema};
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
        "information_schema" => vec![
            innodb_tables(),
            indexes(),
            fields(),
            foreign(),
            foreign_columns(),
        ],
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

/// What InnoDB calls a kind of index.
fn index_type(schema: &Schema, hidden: bool, at: usize) -> i64 {
    let index = &schema.indexes[at];
    let first = |i: &Index| i.parts.iter().any(|p| is_virtual(schema, p.column));
    match () {
        () if hidden => 1,
        () if at == 0 => 3,
        () if index.fulltext.is_some() => 32,
        () if index.spatial.is_some() => 64,
        () => i64::from(index.unique) * 2 + if first(index) { 128 } else { 0 },
    }
}

fn is_virtual(schema: &Schema, column: usize) -> bool {
    let generated = &schema.columns[column].generated;
    generated.as_ref().is_some_and(|g| !g.stored)
}

fn indexes() -> Virtual {
    const INT: Ty = Ty::Of(BaseType::Int, 0);
    const COLUMNS: Columns = &[
        ("INDEX_ID", Ty::Num),
        ("NAME", Ty::Str(193)),
        ("TABLE_ID", Ty::Num),
        ("TYPE", INT),
        ("N_FIELDS", INT),
        ("PAGE_NO", INT),
        ("SPACE", INT),
        ("MERGE_THRESHOLD", INT),
    ];
    /// InnoDB's default: there is no COMMENT that changes it.
    const MERGE_THRESHOLD: i64 = 50;
    Virtual::new(
        "information_schema",
        "INNODB_INDEXES",
        COLUMNS,
        |cx, emit| {
            each_table(&cx.facts.instance, &Only::default(), |_, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for (at, index) in def.indexes.iter().enumerate() {
                    let hidden = at == 0 && def.hidden_row_id;
                    let fields = schema.indexes.get(at).map_or(0, |i| i.columns().count());
                    emit(&[
                        n(index.space.0),
                        s(&*index.name),
                        n(def.id),
                        Value::Int(index_type(schema, hidden, at)),
                        n(fields as u64),
                        n(index.root),
                        n(def.file.number()),
                        Value::Int(MERGE_THRESHOLD),
                    ])?;
                }
                Ok(())
            })
        },
    )
}

fn fields() -> Virtual {
    const COLUMNS: Columns = &[
        ("INDEX_ID", Ty::Num),
        ("NAME", Ty::Str(64)),
        ("POS", Ty::Num),
    ];
    Virtual::new(
        "information_schema",
        "INNODB_FIELDS",
        COLUMNS,
        |cx, emit| {
            each_table(&cx.facts.instance, &Only::default(), |_, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for (stored, index) in def.indexes.iter().zip(&schema.indexes) {
                    for (at, column) in (0u64..).zip(index.columns()) {
                        let name = &*schema.columns[column].name;
                        emit(&[n(stored.space.0), s(name), n(at)])?;
                    }
                }
                Ok(())
            })
        },
    )
}

/// InnoDB's flags of what a foreign key does.
fn actions(key: &ForeignKey) -> u64 {
    let bit = |rule: &str, cascade: u64, null: u64, nothing: u64| match rule {
        "CASCADE" => cascade,
        "SET NULL" => null,
        "NO ACTION" => nothing,
        _ => 0,
    };
    bit(key.on_delete.name(), 1, 2, 16) | bit(key.on_update.name(), 4, 8, 32)
}

fn foreign() -> Virtual {
    const COLUMNS: Columns = &[
        ("ID", Ty::NullStr(129)),
        ("FOR_NAME", Ty::NullStr(129)),
        ("REF_NAME", Ty::NullStr(129)),
        ("N_COLS", Ty::Of(BaseType::BigInt, 0)),
        ("TYPE", Ty::Num),
    ];
    Virtual::new(
        "information_schema",
        "INNODB_FOREIGN",
        COLUMNS,
        |cx, emit| {
            each_table(&cx.facts.instance, &Only::default(), |database, met| {
                let Met::Stored(def, schema) = met else {
                    return Ok(());
                };
                for key in schema.listed_foreign_keys() {
                    emit(&[
                        s(format!("{database}/{}", key.name)),
                        s(format!("{database}/{}", def.name)),
                        s(format!("{}/{}", key.parent.0, key.parent.1)),
                        n(key.columns.len() as u64),
                        n(actions(key)),
                    ])?;
                }
                Ok(())
            })
        },
    )
}

fn foreign_columns() -> Virtual {
    const COLUMNS: Columns = &[
        ("ID", Ty::NullStr(129)),
        ("FOR_COL_NAME", Ty::Str(64)),
        ("REF_COL_NAME", Ty::Str(64)),
        ("POS", Ty::UInt),
    ];
    Virtual::new(
        "information_schema",
        "INNODB_FOREIGN_COLS",
        COLUMNS,
        |cx, emit| {
            each_table(&cx.facts.instance, &Only::default(), |database, met| {
                let Met::Stored(_, schema) = met else {
                    return Ok(());
                };
                for key in schema.listed_foreign_keys() {
                    let id = format!("{database}/{}", key.name);
                    let pairs = key.columns.iter().zip(&key.parent_columns);
                    for (at, (own, parent)) in (1u64..).zip(pairs) {
                        emit(&[s(&*id), s(&**own), s(&**parent), n(at)])?;
                    }
                }
                Ok(())
            })
        },
    )
}
