//! What optimizer statistics say, for users: information_schema.COLUMN_STATISTICS, mysql.innodb_table_stats and
//! mysql.innodb_index_stats. They show what is kept, and measure nothing.

use std::sync::Arc;

use millpond_store::{Engine, Isolation};

use super::logs::MYSQL;
use super::schema::{Met, Only, each_table};
use super::table::{Columns, Context, Ty, Virtual, n, s};
use millpond_sql::error::SqlResult;
use millpond_sql::statistics::{self, IndexStatistics, TableStatistics};
use millpond_sql::types::{BaseType, Schema};
use millpond_sql::value::{DateTime, Value};
use millpond_store::TableDef;

const MOMENT: Ty = Ty::Of(BaseType::Timestamp, 0);

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        "information_schema" => vec![column_statistics()],
        MYSQL => vec![table_stats(), index_stats()],
        _ => Vec::new(),
    }
}

/// Calls `f` with the statistics of each table that has any and is asked for by these columns.
fn each(
    cx: &Context<'_>,
    (database, table): (usize, usize),
    mut f: impl FnMut(&TableDef, &Schema, &TableStatistics) -> SqlResult<()>,
) -> SqlResult<()> {
    let instance = &cx.facts.instance;
    let only = Only::default().narrowed(cx, database, table);
    each_table(instance, &only, |_, met| match met {
        Met::Stored(def, schema) => match known(instance.engine(), def) {
            Some(known) => f(def, schema, &known),
            None => Ok(()),
        },
        Met::View(..) | Met::SystemView(..) | Met::Virtual(_) => Ok(()),
    })
}

/// What is known about a table, unless DDL holds it.
fn known(engine: &Engine, def: &TableDef) -> Option<Arc<TableStatistics>> {
    let owner = engine.owner();
    owner.set_metadata_timeout(0);
    let mut txn = engine.begin(&owner, Isolation::ReadUncommitted);
    let table = engine.open_table(&mut txn, &def.database, &def.name);
    let same = table.ok().filter(|t| t.def().id == def.id);
    let known = same.and_then(|t| statistics::of(engine, &t).ok());
    // Nothing was written: there is nothing a commit could fail to keep.
    let _ = engine.commit(txn);
    known.map(|k| k.statistics)
}

fn column_statistics() -> Virtual {
    const COLUMNS: Columns = &[
        ("SCHEMA_NAME", Ty::Str(64)),
        ("TABLE_NAME", Ty::Str(64)),
        ("COLUMN_NAME", Ty::Str(64)),
        ("HISTOGRAM", Ty::Text),
    ];
    Virtual::new(
        "information_schema",
        "COLUMN_STATISTICS",
        COLUMNS,
        |cx, emit| {
            each(cx, (0, 1), |def, schema, known| {
                for (column, histogram) in schema.columns.iter().zip(&known.histograms) {
                    if let Some(h) = histogram {
                        emit(&[
                            s(&*def.database),
                            s(&*def.name),
                            s(&*column.name),
                            s(statistics::document(h, &column.ty)),
                        ])?;
                    }
                }
                Ok(())
            })
        },
    )
}

fn moment(cx: &Context<'_>, known: &TableStatistics) -> Value<'static> {
    let at = DateTime::from_unix(known.updated as i64, 0, cx.env.zone.get());
    Value::DateTime(at.unwrap_or_default())
}

fn table_stats() -> Virtual {
    const COLUMNS: Columns = &[
        ("database_name", Ty::Str(64)),
        ("table_name", Ty::Str(199)),
        ("last_update", MOMENT),
        ("n_rows", Ty::Num),
        ("clustered_index_size", Ty::Num),
        ("sum_of_other_index_sizes", Ty::Num),
    ];
    Virtual::new(MYSQL, "innodb_table_stats", COLUMNS, |cx, emit| {
        each(cx, (0, 1), |def, _, known| {
            if !known.are_taken() {
                return Ok(());
            }
            let pages = |i: &Option<IndexStatistics>| i.as_ref().map_or(0, |i| i.pages);
            emit(&[
                s(&*def.database),
                s(&*def.name),
                moment(cx, known),
                n(known.rows),
                n(known.indexes.first().map_or(0, pages)),
                n(known.indexes.iter().skip(1).map(pages).sum::<u64>()),
            ])
        })
    })
}

fn index_stats() -> Virtual {
    const COLUMNS: Columns = &[
        ("database_name", Ty::Str(64)),
        ("table_name", Ty::Str(199)),
        ("index_name", Ty::Str(64)),
        ("last_update", MOMENT),
        ("stat_name", Ty::Str(64)),
        ("stat_value", Ty::Num),
        ("sample_size", Ty::NullNum),
        ("stat_description", Ty::Str(1024)),
    ];
    Virtual::new(MYSQL, "innodb_index_stats", COLUMNS, |cx, emit| {
        each(cx, (0, 1), |def, schema, known| {
            if !known.are_taken() {
                return Ok(());
            }
            for (index, of) in schema.indexes.iter().zip(&known.indexes) {
                let Some(of) = of else { continue };
                let mut row = |name: &str, value: u64, sampled: Option<u64>, what: &str| {
                    emit(&[
                        s(&*def.database),
                        s(&*def.name),
                        s(&*index.name),
                        moment(cx, known),
                        s(name),
                        n(value),
                        sampled.map_or(Value::Null, n),
                        s(what),
                    ])
                };
                let columns = index.parts.iter().map(|p| &*schema.columns[p.column].name);
                let columns: Vec<&str> = columns.collect();
                for (i, distinct) in of.distinct.iter().enumerate() {
                    let name = format!("n_diff_pfx{:02}", i + 1);
                    row(&name, *distinct, Some(of.sampled), &columns[..=i].join(","))?;
                }
                let leaves = "Number of leaf pages in the index";
                row("n_leaf_pages", of.leaf_pages, None, leaves)?;
                row("size", of.pages, None, "Number of pages in the index")?;
            }
            Ok(())
        })
    })
}
