//! CHECKSUM TABLE: a row per table, NULL where there is nothing to sum.

use std::ops::Bound;

use millpond_store::{Direction, Fetch, KeyRange, ReadMode, Table, Txn};

use super::Session;
use super::admin::KILL_CHECK_ROWS;
use crate::show;
use millpond_sql::computed::take_failure;
use millpond_sql::env::Diagnostic;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{MaintenanceOption, ObjectName};
use millpond_sql::result::ColumnMeta;
use millpond_sql::row::{TableChecksum, schema_of};
use millpond_sql::store_error::store_error;
use millpond_sql::types::SqlType;
use millpond_sql::value::Value;

/// Columns of its result.
pub(super) fn columns() -> Vec<ColumnMeta> {
    let mut sum = show::meta("Checksum", 0);
    sum.ty = SqlType::bigint();
    vec![show::meta("Table", 128), sum]
}

impl Session {
    /// CHECKSUM TABLE. QUICK asks for a checksum that is kept with the table: InnoDB's tables have none, hence NULL.
    pub(super) fn checksum(
        &mut self,
        tables: &[ObjectName],
        options: &[MaintenanceOption],
    ) -> SqlResult<Vec<Vec<Value<'static>>>> {
        let quick = options.contains(&MaintenanceOption::Quick);
        let mut rows = Vec::with_capacity(tables.len());
        for t in tables {
            let (database, table) = self.qualified(t)?;
            self.check_locked(&database, &table, false)?;
            let sum = match self.table_checksum(&database, &table, quick) {
                Ok(Some(sum)) => Value::Int(sum.into()),
                Ok(None) => Value::Null,
                Err(e) if e.code == 1317 => return Err(e),
                Err(e) => {
                    self.env.say(Diagnostic::of(&e));
                    Value::Null
                }
            };
            rows.push(vec![Value::string(format!("{database}.{table}")), sum]);
        }
        Ok(rows)
    }

    /// The live checksum of a table, in one view of it; `None` if only one that is kept is asked for.
    fn table_checksum(
        &mut self,
        database: &str,
        name: &str,
        quick: bool,
    ) -> SqlResult<Option<u32>> {
        self.in_transaction(|s| {
            let Some(txn) = &mut s.txn.txn else {
                return Ok(None);
            };
            let engine = &s.instance.0.engine;
            let table = match s.env.temporary.get(database, name) {
                Some(table) => table,
                None => engine
                    .open_table(txn, database, name)
                    .map_err(|e| store_error(e, name))?,
            };
            if quick {
                return Ok(None);
            }
            let schema = schema_of(&table)?;
            let mut sum = TableChecksum::new(&schema);
            let killed = || s.owner.is_killed();
            match &schema.partitioning {
                None => add_rows(&table, txn, &mut sum, killed, name)?,
                Some(p) => {
                    for at in 0..p.leaves() {
                        let part = p.open(engine, &table, at)?;
                        add_rows(&part, txn, &mut sum, killed, name)?;
                    }
                }
            }
            Ok(Some(sum.value()))
        })
    }
}

/// Adds the rows of a table, or of a partition.
fn add_rows(
    table: &Table,
    txn: &mut Txn,
    sum: &mut TableChecksum<'_>,
    killed: impl Fn() -> bool,
    name: &str,
) -> SqlResult<()> {
    let wrap = |e| store_error(e, name);
    let everything = KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
    let scan = table.scan(txn, 0, everything, dir, mode, Fetch::Row);
    let mut scan = scan.map_err(wrap)?;
    let mut count = 0u64;
    while let Some(found) = scan.next(txn).map_err(wrap)? {
        sum.add(found.row);
        if let Some(e) = take_failure() {
            return Err(e);
        }
        count += 1;
        if count.is_multiple_of(KILL_CHECK_ROWS) && killed() {
            return Err(SqlError::new(1317, "Query execution was interrupted"));
        }
    }
    Ok(())
}
