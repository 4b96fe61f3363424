//! information_schema.PARTITIONS.

use std::sync::Arc;

use millpond_store::{Isolation, TableSize};

use super::schema::{Met, Only, Want, each_table};
use super::table::{Columns, Ty, Virtual, n, s};
use crate::instance::Instance;
use millpond_sql::error::SqlResult;
use millpond_sql::parse::ast::PartitionMethod;
use millpond_sql::partition::{By, Partition, Partitioning, quote_if_needed, value_text};
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;
use millpond_sql::value::{DateTime, Value};

const NAME: Ty = Ty::Str(64);
const NULL_NAME: Ty = Ty::NullStr(64);

const COLUMNS: Columns = &[
    ("TABLE_CATALOG", NAME),
    ("TABLE_SCHEMA", NAME),
    ("TABLE_NAME", NAME),
    ("PARTITION_NAME", NULL_NAME),
    ("SUBPARTITION_NAME", NULL_NAME),
    ("PARTITION_ORDINAL_POSITION", Ty::NullNum),
    ("SUBPARTITION_ORDINAL_POSITION", Ty::NullNum),
    ("PARTITION_METHOD", Ty::NullStr(13)),
    ("SUBPARTITION_METHOD", Ty::NullStr(13)),
    ("PARTITION_EXPRESSION", Ty::NullStr(2048)),
    ("SUBPARTITION_EXPRESSION", Ty::NullStr(2048)),
    ("PARTITION_DESCRIPTION", Ty::NullText),
    ("TABLE_ROWS", Ty::NullNum),
    ("AVG_ROW_LENGTH", Ty::NullNum),
    ("DATA_LENGTH", Ty::NullNum),
    ("MAX_DATA_LENGTH", Ty::NullNum),
    ("INDEX_LENGTH", Ty::NullNum),
    ("DATA_FREE", Ty::NullNum),
    ("CREATE_TIME", Ty::NullTime),
    ("UPDATE_TIME", Ty::NullTime),
    ("CHECK_TIME", Ty::NullTime),
    ("CHECKSUM", Ty::NullNum),
    ("PARTITION_COMMENT", Ty::Text),
    ("NODEGROUP", Ty::NullStr(256)),
    ("TABLESPACE_NAME", Ty::NullStr(268)),
];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != "information_schema" {
        return Vec::new();
    }
    vec![partitions()]
}

/// PARTITIONS: a row per partition, and one for each table that has none.
fn partitions() -> Virtual {
    /// What only an open table knows: see [`put_room`].
    const ROOM: &[usize] = &[12, 13, 14, 15, 16, 17];
    Virtual::new("information_schema", "PARTITIONS", COLUMNS, |cx, emit| {
        let opens = cx.reads(ROOM);
        let instance = &cx.facts.instance;
        let tz = cx.env.zone.get();
        let only = Only::default().narrowed(cx, 1, 2);
        each_table(instance, &only, |database, met| {
            let Met::Stored(def, schema) = met else {
                return Ok(());
            };
            let created = i64::try_from(schema.created)
                .ok()
                .and_then(|t| DateTime::from_unix(t, 0, tz))
                .map_or(Value::Null, Value::DateTime);
            let mut row = vec![Value::Null; COLUMNS.len()];
            row[0] = s("def");
            row[1] = s(database);
            row[2] = s(&*def.name);
            row[18] = created;
            row[22] = s("");
            let Some(p) = &schema.partitioning else {
                let live =
                    || super::schema::live(instance, database, &def.name, schema, Want::Sizes);
                if let Some(live) = opens.then(live).flatten() {
                    put_room(&mut row, live.rows, live.size);
                }
                return emit(&row);
            };
            let rooms = opens
                .then(|| rooms(instance, database, &def.name, schema))
                .flatten();
            row[7] = s(method(p));
            row[9] = expression(p);
            if let Some(sub) = &p.sub {
                row[8] = s(method(sub));
                row[10] = expression(sub);
            }
            for at in 0..p.leaves() {
                let (part, sub) = p.leaf(at);
                row[3] = s(&*part.name);
                row[5] = n((at / p.fan()) as u64 + 1);
                row[11] = description(part);
                if let Some(sub) = sub {
                    row[4] = s(&*sub.name);
                    row[6] = n((at % p.fan()) as u64 + 1);
                }
                if let Some((rows, size)) = rooms.as_ref().and_then(|r| r.get(at)) {
                    put_room(&mut row, *rows, *size);
                }
                let comment = sub.map(|s| &s.comment).filter(|c| !c.is_empty());
                row[22] = s(&**comment.unwrap_or(&part.comment));
                emit(&row)?;
            }
            Ok(())
        })
    })
}

fn method(p: &Partitioning) -> String {
    use PartitionMethod as M;
    let columns = matches!(p.by, By::Columns(_)) && matches!(p.method, M::Range | M::List);
    format!(
        "{}{}{}",
        if p.linear { "LINEAR " } else { "" },
        p.method,
        if columns { " COLUMNS" } else { "" }
    )
}

/// By what.
fn expression(p: &Partitioning) -> Value<'static> {
    match &p.by {
        By::Expr(text) => s(text.clone()),
        By::Columns(list) => {
            let list: Vec<String> = list.iter().map(|c| quote_if_needed(c)).collect();
            s(list.join(","))
        }
    }
}

fn description(part: &Partition) -> Value<'static> {
    if part.values.is_empty() {
        return Value::Null;
    }
    s(value_text(part)).into_owned()
}

/// Fills in a table's or a partition's rows and the room they take.
fn put_room(row: &mut [Value<'_>], rows: u64, size: TableSize) {
    row[12] = n(rows);
    row[13] = n(size.data.checked_div(rows).unwrap_or(0));
    row[14] = n(size.data);
    row[15] = n(0u64);
    row[16] = n(size.indexes);
    row[17] = n(size.free);
}

/// Rows of each partition and the room they take, unless DDL holds the table.
fn rooms(
    instance: &Instance,
    database: &str,
    name: &str,
    schema: &Schema,
) -> Option<Vec<(u64, TableSize)>> {
    let engine = instance.engine();
    let owner = engine.owner();
    owner.set_metadata_timeout(0);
    let mut txn = engine.begin(&owner, Isolation::ReadUncommitted);
    let counted = (|| -> SqlResult<Option<Vec<(u64, TableSize)>>> {
        let Ok(table) = engine.open_table(&mut txn, database, name) else {
            return Ok(None);
        };
        // It may have changed since its definition was read.
        let now = millpond_sql::row::schema_of(&table)?;
        let Some(p) = &now.partitioning else {
            return Ok(None);
        };
        let same = schema
            .partitioning
            .as_ref()
            .is_some_and(|old| old.parts == p.parts);
        if !same {
            return Ok(None);
        }
        let p: &Arc<Partitioning> = p;
        let each = (0..p.leaves()).map(|at| {
            let part = p.open(engine, &table, at)?;
            let size = part.size().map_err(|e| store_error(e, name))?;
            Ok((part.estimate_rows(), size))
        });
        each.collect::<SqlResult<Vec<_>>>().map(Some)
    })();
    // Nothing was written: there is nothing a commit could fail to keep.
    let _ = engine.commit(txn);
    counted.ok().flatten()
}
