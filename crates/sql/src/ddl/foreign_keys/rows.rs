//! Whether the rows that a table has keep a foreign key that it is to get. Child and parent are locked exclusively: nobody changes them
//! meanwhile, so they are read without row locks.

use std::ops::Bound;
use std::sync::Arc;

use millpond_store::{Direction, Fetch, Isolation, KeyRange, ReadMode, Table, Txn};

use crate::catalog::{ForeignKey, positions};
use crate::error::{SqlError, SqlResult};
use crate::row::{encode_key_values, schema_of};
use crate::store_error::{interrupted, store_error};
use crate::types::Schema;
use crate::value::{Value, Zone};
use crate::write::foreign_keys::child_error;

use super::super::Ddl;

/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1_000;

/// A foreign key and where its parent's rows are found.
struct Probe<'k> {
    key: &'k ForeignKey,
    /// The child's columns.
    columns: Vec<usize>,
    parent: Option<(Arc<Table>, Arc<Schema>, usize)>,
    /// The key that was found last: rows of one parent often lie together.
    last: Vec<u8>,
}

impl Ddl<'_> {
    /// Error 1452 if a row of the table `stored` has no parent by one of `keys`. Messages call it `shown`, which is the name by which it refers to
    /// itself.
    pub(in super::super) fn check_rows_refer(
        &self,
        stored: (&str, &str),
        shown: (&str, &str),
        keys: &[ForeignKey],
    ) -> SqlResult<()> {
        if keys.is_empty() || !self.env.foreign_key_checks.get() {
            return Ok(());
        }
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let checked = self.look_through(&mut txn, stored, shown, keys);
        // It only read.
        self.engine
            .commit(txn)
            .map_err(|e| store_error(e, shown.1))?;
        checked
    }

    fn look_through(
        &self,
        txn: &mut Txn,
        stored: (&str, &str),
        shown: (&str, &str),
        keys: &[ForeignKey],
    ) -> SqlResult<()> {
        let wrap = |e| store_error(e, shown.1);
        let child = self.engine.open_table(txn, stored.0, stored.1);
        let child = child.map_err(wrap)?;
        let schema = schema_of(&child)?;
        let mut probes = Vec::new();
        for key in keys {
            let own = (&*key.parent.0, &*key.parent.1) == shown;
            let parent = match own {
                true => child.clone(),
                false => self
                    .engine
                    .open_table(txn, &key.parent.0, &key.parent.1)
                    .map_err(wrap)?,
            };
            let parent_schema = schema_of(&parent)?;
            let over = positions(&parent_schema, &key.parent_columns);
            let index = over.and_then(|at| parent_schema.index_over(&at));
            probes.push(Probe {
                key,
                columns: positions(&schema, &key.columns).unwrap_or_default(),
                parent: index.map(|i| (parent, parent_schema, i)),
                last: Vec::new(),
            });
        }
        let everything = KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = child
            .scan(txn, 0, everything, dir, mode, Fetch::Row)
            .map_err(wrap)?;
        let mut rows = 0u64;
        while let Some(row) = scan.next(txn).map_err(wrap)? {
            for probe in &mut probes {
                if !probe.has_parent(txn, &schema, row.row)? {
                    return Err(child_error(shown, probe.key));
                }
            }
            rows += 1;
            if rows.is_multiple_of(KILL_CHECK_ROWS) && self.owner.is_killed() {
                return Err(interrupted());
            }
        }
        Ok(())
    }

    /// Error 1846 where ALGORITHM asks for a way in which rows are not looked at.
    pub(in super::super) fn refuse_unchecked(&self, inplace: bool, keys: usize) -> SqlResult<()> {
        if inplace && keys > 0 && self.env.foreign_key_checks.get() {
            return Err(SqlError::new(
                1846,
                "ALGORITHM=INPLACE is not supported. Reason: Adding foreign keys needs foreign_key_checks=OFF. Try ALGORITHM=COPY.",
            ));
        }
        Ok(())
    }
}

impl Probe<'_> {
    fn has_parent(&mut self, txn: &mut Txn, schema: &Schema, row: &[u8]) -> SqlResult<bool> {
        let value = |c: &usize| schema.layout().column(schema, row, *c, Zone::UTC);
        let values: Vec<Value<'_>> = self.columns.iter().map(value).collect();
        if values.iter().any(Value::is_null) {
            return Ok(true);
        }
        let Some((parent, parent_schema, index)) = &self.parent else {
            return Ok(false);
        };
        let mut key = Vec::new();
        encode_key_values(parent_schema, *index, &values, Zone::UTC, &mut key);
        if key == self.last {
            return Ok(true);
        }
        let range = KeyRange {
            lower: Bound::Included(key.clone()),
            upper: Bound::Included(key.clone()),
        };
        let (dir, mode) = (Direction::Forward, ReadMode::Consistent);
        let wrap = |e| store_error(e, &parent.def().name);
        let mut scan = parent
            .scan(txn, *index, range, dir, mode, Fetch::Key)
            .map_err(wrap)?;
        let found = scan.next(txn).map_err(wrap)?.is_some();
        if found {
            self.last = key;
        }
        Ok(found)
    }
}
