//! What tables and their indexes are used for: performance_schema's table_io_waits_summary_by_table and ..._by_index_usage.
//!
//! Rows are counted since a table was opened; times are not measured. What is changed counts for no index, and neither does what is read by
//! going through all of a table.

use std::collections::BTreeMap;

use millpond_sql::catalog::WORK_DATABASE;
use millpond_sql::value::Value;
use millpond_store::{CATALOG_DATABASE, RowCounts};

use super::table::{Context, Ty, Virtual, n, opt, s};

const PS: &str = "performance_schema";
/// The name of an index that has none: rows are under a hidden id.
const NO_KEY: &str = "";

/// What rows have of each operation.
const OPERATIONS: [&str; 7] = [
    "STAR", "READ", "WRITE", "FETCH", "INSERT", "UPDATE", "DELETE",
];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => vec![by_table(), by_index()],
        _ => Vec::new(),
    }
}

/// The columns of all operations.
fn columns(mut first: Vec<(&'static str, Ty)>) -> Vec<(&'static str, Ty)> {
    const WAIT: [&str; 5] = [
        "COUNT_STAR",
        "SUM_TIMER_WAIT",
        "MIN_TIMER_WAIT",
        "AVG_TIMER_WAIT",
        "MAX_TIMER_WAIT",
    ];
    macro_rules! five {
        ($($op:literal),*) => {
            [$(
                concat!("COUNT_", $op),
                concat!("SUM_TIMER_", $op),
                concat!("MIN_TIMER_", $op),
                concat!("AVG_TIMER_", $op),
                concat!("MAX_TIMER_", $op),
            )*]
        };
    }
    const REST: [&str; 30] = five!("READ", "WRITE", "FETCH", "INSERT", "UPDATE", "DELETE");
    first.extend(WAIT.into_iter().chain(REST).map(|c| (c, Ty::Num)));
    first
}

/// Counts of each operation, with times that are not measured.
fn values(c: &RowCounts) -> Vec<Value<'static>> {
    let reads = c.read + c.passed;
    let writes = c.inserted + c.updated + c.deleted;
    let counts: [u64; OPERATIONS.len()] = [
        reads + writes,
        reads,
        writes,
        reads,
        c.inserted,
        c.updated,
        c.deleted,
    ];
    let five = |count: u64| [count, 0, 0, 0, 0].map(n);
    counts.into_iter().flat_map(five).collect()
}

/// A table's indexes, by position, with what they were used for.
type Used = Vec<(String, RowCounts)>;

/// Open tables, partitions put together, by database and name.
fn used(cx: &Context<'_>) -> BTreeMap<(String, String), Used> {
    let access = cx.access();
    let mut all: BTreeMap<(String, String), Used> = BTreeMap::new();
    let engine = cx.facts.instance.engine();
    engine.each_table_use(&mut |def, partition, counts| {
        let table = partition.map_or(&*def.name, |p| p.0);
        if [WORK_DATABASE, CATALOG_DATABASE].contains(&&*def.database)
            || !(access.is_everything() || access.sees_table(&def.database, table))
        {
            return;
        }
        let key = (def.database.clone(), table.to_string());
        let of = all.entry(key).or_default();
        for (at, (index, c)) in def.indexes.iter().zip(counts).enumerate() {
            if of.len() <= at {
                let hidden = at == 0 && def.hidden_row_id;
                let name = if hidden { NO_KEY } else { &index.name };
                of.push((name.to_string(), RowCounts::default()));
            }
            let sum = &mut of[at].1;
            sum.read += c.read;
            sum.inserted += c.inserted;
            sum.updated += c.updated;
            sum.deleted += c.deleted;
            sum.passed += c.passed;
        }
    });
    all
}

fn by_table() -> Virtual {
    let columns = columns(vec![
        ("OBJECT_TYPE", Ty::NullStr(64)),
        ("OBJECT_SCHEMA", Ty::NullStr(64)),
        ("OBJECT_NAME", Ty::NullStr(64)),
    ]);
    let name = "table_io_waits_summary_by_table";
    Virtual::new(PS, name, &columns, |cx, emit| {
        for ((database, table), indexes) in used(cx) {
            let mut all = RowCounts::default();
            for (_, c) in &indexes {
                all.read += c.read;
                all.inserted += c.inserted;
                all.updated += c.updated;
                all.deleted += c.deleted;
                all.passed += c.passed;
            }
            let mut row = vec![s("TABLE"), s(database), s(table)];
            row.extend(values(&all));
            emit(&row)?;
        }
        Ok(())
    })
}

fn by_index() -> Virtual {
    let columns = columns(vec![
        ("OBJECT_TYPE", Ty::NullStr(64)),
        ("OBJECT_SCHEMA", Ty::NullStr(64)),
        ("OBJECT_NAME", Ty::NullStr(64)),
        ("INDEX_NAME", Ty::NullStr(64)),
    ]);
    let name = "table_io_waits_summary_by_index_usage";
    Virtual::new(PS, name, &columns, |cx, emit| {
        for ((database, table), indexes) in used(cx) {
            let mut row = |index: Option<&str>, counts: &RowCounts| {
                let names = [s("TABLE"), s(&*database), s(&*table), opt(index)];
                let row: Vec<_> = names.into_iter().chain(values(counts)).collect();
                emit(&row)
            };
            // What went by no index: the first holds it.
            let mut none = indexes.first().map(|i| i.1).unwrap_or_default();
            let named = indexes.first().is_some_and(|i| i.0 != NO_KEY);
            if named {
                none.read = 0;
            }
            for (name, c) in indexes.iter().filter(|i| i.0 != NO_KEY) {
                let read = RowCounts {
                    read: c.read,
                    ..RowCounts::default()
                };
                row(Some(name), &read)?;
            }
            row(None, &none)?;
        }
        Ok(())
    })
}
