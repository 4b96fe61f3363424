//! ANALYZE TABLE: statistics taken now, histograms made and dropped. One or more rows per table, as MySQL's.

use std::sync::Arc;

use millpond_store::{Table, Txn};

use super::Session;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{HistogramChange, Ident, ObjectName};
use millpond_sql::statistics;
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;
use millpond_sql::value::Value;

/// Buckets of a histogram if nothing is said.
const DEFAULT_BUCKETS: u64 = 100;
/// Most buckets that may be asked for.
const MAX_BUCKETS: u64 = 1024;

/// How many buckets the histograms that are made get; `None`: they are dropped.
fn buckets(change: &HistogramChange) -> SqlResult<Option<usize>> {
    let HistogramChange::Update {
        buckets,
        automatic,
        data,
    } = change
    else {
        return Ok(None);
    };
    if data.is_some() {
        return Err(SqlError::unsupported("UPDATE HISTOGRAM ... USING DATA"));
    }
    if *automatic == Some(true) {
        return Err(SqlError::unsupported("UPDATE HISTOGRAM ... AUTO UPDATE"));
    }
    let asked = buckets.unwrap_or(DEFAULT_BUCKETS);
    if !(1..=MAX_BUCKETS).contains(&asked) {
        let what = "Number of buckets value is out of range in 'ANALYZE TABLE'";
        return Err(SqlError::new(1690, what));
    }
    Ok(Some(asked as usize))
}

impl Session {
    /// ANALYZE TABLE of one table that is there: its status, or what went wrong.
    pub(super) fn analyze(&self, database: &str, table: &str) -> SqlResult<()> {
        let engine = &self.instance.0.engine;
        let settings = self.instance.statistics_settings();
        if let Some(temporary) = self.env.temporary.get(database, table) {
            return statistics::take_temporary(engine, &temporary, settings);
        }
        let open = |txn: &mut Txn| self.open_for_statistics(txn, database, table);
        while statistics::take(engine, &self.owner, &open, settings)?.is_none() {
            // DDL came in between; what is there now is looked at.
            if self.owner.is_killed() {
                return Err(SqlError::new(1317, "Query execution was interrupted"));
            }
        }
        Ok(())
    }

    fn open_for_statistics(
        &self,
        txn: &mut Txn,
        database: &str,
        table: &str,
    ) -> SqlResult<Arc<Table>> {
        let engine = &self.instance.0.engine;
        let open = engine.open_table(txn, database, table);
        open.map_err(|e| store_error(e, table))
    }

    /// ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM.
    pub(super) fn histogram(
        &self,
        tables: &[ObjectName],
        columns: &[Ident],
        change: &HistogramChange,
    ) -> SqlResult<Vec<Vec<Value<'static>>>> {
        let buckets = buckets(change)?;
        let mut rows = Vec::new();
        let mut add = |table: &str, kind: &str, text: String| {
            let row = [table, "histogram", kind, &text];
            rows.push(row.map(|t| Value::string(t.to_string())).to_vec());
        };
        for (at, column) in columns.iter().enumerate() {
            let column = column.as_str();
            let same = |c: &Ident| c.as_str().eq_ignore_ascii_case(column);
            if columns[..at].iter().any(same) {
                let what = format!("Duplicate column name '{column}'");
                return Err(SqlError::new(1060, what));
            }
        }
        let [name] = tables else {
            let what = "Only one table can be specified while modifying histogram statistics.";
            add("", "Error", what.into());
            return Ok(rows);
        };
        let (database, table) = self.qualified(name)?;
        let shown = format!("{database}.{table}");
        if self.env.temporary.get(&database, &table).is_some() {
            let what = "Cannot create histogram statistics for a temporary table.";
            add(&shown, "Error", what.into());
            return Ok(rows);
        }
        let engine = &self.instance.0.engine;
        let schema = match engine.table_def(&database, &table) {
            Ok(def) => Schema::of(&def)?,
            Err(e) => {
                add(&shown, "Error", store_error(e, &table).message);
                add(&shown, "status", "Operation failed".into());
                return Ok(rows);
            }
        };
        let open = |txn: &mut Txn| self.open_for_statistics(txn, &database, &table);
        let mut wanted = Vec::new();
        for name in columns.iter().map(Ident::as_str) {
            let column = schema.column(name);
            let shown_name = column.map_or(name, |c| &schema.columns[c].name);
            if let Some(c) = column
                && let Some(buckets) = buckets
            {
                match refused(&schema, c) {
                    Some(what) => add(&shown, "Error", what),
                    None => wanted.push((c, buckets)),
                }
                continue;
            }
            let dropped =
                buckets.is_none() && statistics::drop_histogram(engine, &self.owner, &open, name)?;
            match (dropped, buckets) {
                (true, _) => add(
                    &shown,
                    "status",
                    format!("Histogram statistics removed for column '{shown_name}'."),
                ),
                (false, None) => add(
                    &shown,
                    "Error",
                    format!("No histogram statistics found for column '{shown_name}'."),
                ),
                (false, Some(_)) => {
                    add(
                        &shown,
                        "Error",
                        format!("The column '{name}' does not exist."),
                    );
                }
            }
        }
        if !wanted.is_empty() {
            let memory = &self.facts.vars;
            let memory = memory.get(crate::vars::known("histogram_generation_max_mem_size"));
            let memory = memory.as_u64().unwrap_or(0);
            statistics::make_histograms(engine, &self.owner, &open, &wanted, memory)?;
            for (c, _) in wanted {
                let column = &schema.columns[c].name;
                let what = format!("Histogram statistics created for column '{column}'.");
                add(&shown, "status", what);
            }
        }
        Ok(rows)
    }
}

/// Why a column can have no histogram.
fn refused(schema: &Schema, column: usize) -> Option<String> {
    let name = &schema.columns[column].name;
    let ty = &schema.columns[column].ty;
    if ty.is_json() || ty.is_geometry() {
        return Some(format!("The column '{name}' has an unsupported data type."));
    }
    let alone = |i: &millpond_sql::types::Index| {
        i.unique && matches!(&i.parts[..], [p] if p.column == column && p.prefix.is_none())
    };
    let told = || format!("The column '{name}' is covered by a single-part unique index.");
    schema.indexes.iter().any(alone).then(told)
}
