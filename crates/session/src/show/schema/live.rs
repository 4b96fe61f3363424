//! Numbers of a table that only an open one has.

use std::sync::Arc;

use millpond_store::engine::Glance;
use millpond_store::{Engine, Isolation, Table, TableSize};

use crate::instance::Instance;
use millpond_sql::error::SqlResult;
use millpond_sql::statistics;
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;
use millpond_sql::write::counter;

/// Numbers of a table that only an open one has.
pub(in crate::show) struct Live {
    pub rows: u64,
    pub auto_increment: Option<u64>,
    pub size: TableSize,
    /// How many values the leading parts of each index have, if it was asked for.
    pub cardinality: Vec<Vec<u64>>,
}

/// What a listing wants to know of tables besides their rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::show) enum Want {
    Counter,
    Sizes,
    Cardinality,
}

/// Looks at a table, unless DDL holds it; one that is not open is opened only if that is needed, for a moment.
pub(in crate::show) fn live(
    instance: &Instance,
    database: &str,
    name: &str,
    schema: &Schema,
    want: Want,
) -> Option<Live> {
    let engine = instance.engine();
    let owner = engine.owner();
    owner.set_metadata_timeout(0);
    let mut txn = engine.begin(&owner, Isolation::ReadUncommitted);
    let glance = match want {
        Want::Counter | Want::Sizes => engine.glance(&mut txn, database, name).ok().flatten(),
        Want::Cardinality => None,
    };
    let live = match glance.and_then(|glance| live_of_closed(glance, schema)) {
        Some(live) => Some(live),
        None => engine
            .open_table(&mut txn, database, name)
            .ok()
            .and_then(|table| live_of(instance, &table, schema, want)),
    };
    // Nothing was written: there is nothing a commit could fail to keep.
    let _ = engine.commit(txn);
    live
}

/// The same of a table that is not open, if it can be told: where its counter is not written down, its largest value is to be looked for.
fn live_of_closed(glance: Glance, schema: &Schema) -> Option<Live> {
    let counts = schema.columns.iter().any(|c| c.auto_increment);
    let auto_increment = glance
        .auto_increment
        .or_else(|| (counts && !glance.written).then_some(1));
    (!counts || auto_increment.is_some()).then_some(Live {
        rows: glance.rows,
        auto_increment,
        size: glance.size,
        cardinality: Vec::new(),
    })
}

/// The same of a table that is open.
pub(in crate::show) fn live_of(
    instance: &Instance,
    table: &Arc<Table>,
    schema: &Schema,
    want: Want,
) -> Option<Live> {
    let engine = instance.engine();
    counter::start(engine, table, schema).ok()?;
    let rows = millpond_sql::partition::estimate_rows(Some(engine), table, schema);
    Some(Live {
        rows,
        auto_increment: table.auto_increment_peek(),
        size: match want {
            Want::Sizes => size_of(engine, table, schema).ok()?,
            _ => TableSize::default(),
        },
        cardinality: match want {
            Want::Cardinality => {
                let known =
                    statistics::fresh(engine, table, instance.statistics_settings()).ok()?;
                let each = known.statistics.indexes.iter();
                each.map(|i| i.as_ref().map_or(Vec::new(), |i| i.distinct.clone()))
                    .collect()
            }
            _ => Vec::new(),
        },
    })
}

/// The room of a table, or of all its partitions.
fn size_of(engine: &Engine, table: &Arc<Table>, schema: &Schema) -> SqlResult<TableSize> {
    let failed = |e| store_error(e, &table.def().name);
    let Some(p) = &schema.partitioning else {
        return table.size().map_err(failed);
    };
    let mut sum = TableSize::default();
    for at in 0..p.leaves() {
        let part = p.open(engine, table, at)?;
        sum = sum.plus(part.size().map_err(failed)?);
    }
    Ok(sum)
}
