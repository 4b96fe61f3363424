//! Rows held to constraints that are new: what ALTER TABLE looks through before it changes anything, where the rows stay as they are.
//! Rows that are written anew are held to all constraints on their way.

use std::ops::Bound;

use millpond_store::engine::{Beside, RowFollower};
use millpond_store::{Direction, Fetch, Isolation, KeyRange, Owner, ReadMode, Table, Txn};

use super::Ddl;
use super::change::Changed;
use super::follow::Sources;
use crate::error::SqlResult;
use crate::expr::RowRef;
use crate::store_error::{interrupted, store_error};
use crate::types::Schema;

/// Rows between two looks at whether the statement was killed.
const KILL_CHECK_ROWS: u64 = 1_000;

/// Everything in an index.
const EVERYTHING: KeyRange = KeyRange {
    lower: Bound::Unbounded,
    upper: Bound::Unbounded,
};

/// Follows rows that nobody changes.
struct Unchanged;

impl RowFollower for Unchanged {
    fn row(&mut self, _: u16, _: &[u8], _: Option<&[u8]>) -> millpond_store::Result<()> {
        Ok(())
    }
    fn pause(&mut self) -> millpond_store::Result<()> {
        Ok(())
    }
}

impl Ddl<'_> {
    /// Runs `look`, which reads the rows of a locked table and counts them, beside others who read them, unless `allowed` is less. The table is locked
    /// exclusively again afterwards, and nobody has written to it.
    pub(super) fn looking(
        &self,
        (database, table): (&str, &str),
        allowed: Beside,
        look: impl FnOnce() -> SqlResult<u64>,
    ) -> SqlResult<u64> {
        let alone = self.tables_locked || self.temporary(database, table).is_some();
        if alone || allowed == Beside::Nothing {
            return look();
        }
        let wrap = |e| store_error(e, table);
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let looked = match self.engine.open_table(&mut txn, database, table) {
            Err(e) => Err(wrap(e)),
            Ok(open) => {
                let nobody = Sources::new();
                let follow = self.engine.follow(&mut txn, &open, nobody, Beside::Reads);
                look().and_then(|seen| {
                    let caught = follow.catch_up(self.owner, &mut Unchanged);
                    caught.map(|()| seen).map_err(wrap)
                })
            }
        };
        // It only read.
        self.engine.commit(txn).map_err(wrap)?;
        looked
    }

    /// Error 3819 if a row of a locked table violates a CHECK constraint that is new, or enforced from now on. Else how many rows
    /// were looked at.
    pub(super) fn verify(
        &self,
        database: &str,
        table: &str,
        old: &Schema,
        changed: &Changed,
    ) -> SqlResult<u64> {
        if !changed.asks_more(old) || !changed.same_rows(old) {
            return Ok(0);
        }
        let wrap = |e| store_error(e, table);
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let source = match self.temporary(database, table) {
            Some(open) => Ok(open),
            None => self.engine.open_table(&mut txn, database, table),
        };
        let verified = source.map_err(wrap).and_then(|source| {
            let Some(p) = &old.partitioning else {
                return self.verify_rows(&mut txn, &source, table, &changed.schema);
            };
            let mut seen = 0;
            for at in 0..p.leaves() {
                let part = p.open(self.engine, &source, at)?;
                seen += self.verify_rows(&mut txn, &part, table, &changed.schema)?;
            }
            Ok(seen)
        });
        // It only read.
        self.engine.commit(txn).map_err(wrap)?;
        verified
    }

    fn verify_rows(
        &self,
        txn: &mut Txn,
        part: &Table,
        table: &str,
        schema: &Schema,
    ) -> SqlResult<u64> {
        let wrap = |e| store_error(e, table);
        let owner: &Owner = self.owner;
        let computed = schema.computed()?;
        let (forward, consistent) = (Direction::Forward, ReadMode::Consistent);
        let mut scan = part
            .scan(txn, 0, EVERYTHING, forward, consistent, Fetch::Row)
            .map_err(wrap)?;
        let mut seen = 0u64;
        while let Some(found) = scan.next(txn).map_err(wrap)? {
            let row = RowRef::Stored(schema, found.row);
            computed.check(schema, table, row, self.env)?;
            seen += 1;
            if seen.is_multiple_of(KILL_CHECK_ROWS) && owner.is_killed() {
                return Err(interrupted());
            }
        }
        Ok(seen)
    }
}
