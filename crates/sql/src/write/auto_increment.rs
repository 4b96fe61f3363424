//! AUTO_INCREMENT within a statement: numbers reserved, handed out, given back, passed by.
//!
//! A statement reserves as many numbers of the table's counter as it has rows, so that those of one INSERT follow each other, and hands
//! them out one by one; one that doesn't know how many rows there will be reserves one, then two, four and so on, and as in MySQL those
//! that nobody took are lost, but for partitioned tables. A number whose row was not stored after all goes to the next row. A number
//! that a row brings along moves the counter, and what is reserved, beyond it.

use std::sync::Arc;

use millpond_store::{Engine, Error, Table};

use super::counter;
use crate::error::SqlResult;
use crate::store_error::store_error;
use crate::types::Schema;
use crate::value::{Value, no_number};

/// How often the numbers reserved are doubled at most: 65,535 at a time.
const MOST_BITS: u32 = 16;

/// What a statement does with its table's AUTO_INCREMENT column.
#[derive(Debug)]
pub struct AutoIncrement {
    /// The column.
    pub(super) column: usize,
    /// `auto_increment_increment` and `auto_increment_offset`.
    step: (u64, u64),
    /// Numbers reserved: the next, and how many.
    reserved: (u64, u64),
    /// `reserved` starts where `insert_id` says: the table's counter must be told.
    forced: bool,
    /// The rows of the statement; 0 if nobody knows how many.
    expected: u64,
    /// Reservations made.
    times: u32,
    /// Of the rows that the last reservation was for those still to come.
    coming: u64,
    /// The number last taken.
    taken: u64,
    /// The first number generated for a row that was stored.
    first: Option<u64>,
    /// The number that the last row brought along, stored or not, a negative one in two's complement; 0: none.
    given: u64,
    /// A row was stored.
    any_stored: bool,
}

impl AutoIncrement {
    /// Of a statement that has made no number yet. `insert_id`: the first to make, if it is not 0.
    pub fn new(column: usize, step: (u64, u64), insert_id: u64) -> AutoIncrement {
        AutoIncrement {
            column,
            step,
            // Numbers asked for by `insert_id` are nobody's to reserve.
            reserved: (insert_id, if insert_id > 0 { u64::MAX } else { 0 }),
            forced: insert_id > 0,
            expected: 0,
            times: 0,
            coming: 0,
            taken: 0,
            first: None,
            given: 0,
            any_stored: false,
        }
    }

    /// Says how many rows the statement has.
    pub fn expect(&mut self, rows: u64) {
        self.expected = rows;
    }

    /// The first number generated for a row that was stored.
    pub fn first_generated(&self) -> Option<u64> {
        self.first
    }

    /// The number that the last row brought along, even one that IGNORE passed over, a negative one in two's complement; 0: none, or
    /// no row was stored.
    pub fn last_given(&self) -> u64 {
        if self.any_stored { self.given } else { 0 }
    }

    /// Notes the number of a row that ON DUPLICATE KEY UPDATE changed.
    pub fn note_updated(&mut self, number: u64) {
        self.given = number;
        self.any_stored = true;
    }

    /// Notes the number of a row that was not stored.
    pub(super) fn passed_over(&mut self, number: &Value<'_>) {
        self.given = number.to_u64();
    }

    /// Takes the next number.
    pub(super) fn next(
        &mut self,
        engine: &Engine,
        table: &Arc<Table>,
        schema: &Schema,
    ) -> SqlResult<u64> {
        if self.reserved.1 == 0 {
            counter::start(engine, table, schema)?;
            if self.coming == 0 {
                self.coming = match self.times {
                    0 if self.expected > 0 => self.expected,
                    n if n < MOST_BITS => 1 << n,
                    _ => (1 << MOST_BITS) - 1,
                };
            }
            self.times += 1;
            let count = self.coming;
            let first = table
                .auto_increment(count, self.step.0, self.step.1)
                .map_err(|e| match e {
                    Error::Invalid(_) => no_number(),
                    e => store_error(e, &table.def().name),
                })?;
            self.reserved = (first, count);
        }
        let (next, left) = self.reserved;
        self.reserved = (next.saturating_add(self.step.0), left - 1);
        self.taken = next;
        Ok(next)
    }

    /// Gives the counter back what is reserved and nobody took, unless others have reserved more meanwhile.
    pub fn release(&mut self, table: &Table) {
        let (next, left) = std::mem::take(&mut self.reserved);
        if !self.forced && left > 0 {
            let end = next.saturating_add(left.saturating_mul(self.step.0));
            table.auto_increment_unused(next, end);
        }
    }

    /// `auto_increment_increment` and `auto_increment_offset`.
    pub(super) fn step(&self) -> (u64, u64) {
        self.step
    }

    /// The row gets this number for the one last taken.
    pub(super) fn took(&mut self, number: u64) {
        self.taken = number;
    }

    /// The number last taken went to no row: the next row gets it.
    pub(super) fn give_back(&mut self) {
        let (next, left) = self.reserved;
        self.reserved = (next.saturating_sub(self.step.0), left.saturating_add(1));
    }

    /// A row was stored; its number was generated, or came with it.
    pub(super) fn stored(&mut self, table: &Table, number: &Value<'_>, generated: bool) {
        self.any_stored = true;
        self.coming = self.coming.saturating_sub(1);
        if generated {
            let n = self.taken;
            self.first.get_or_insert(n);
            if self.forced {
                table.auto_increment_seen(n);
            }
            return;
        }
        match number {
            // The counter knows nothing of it, but the client is told.
            Value::Int(n) if *n < 0 => self.given = *n as u64,
            Value::Int(1..) | Value::UInt(1..) => {
                self.given = number.to_u64();
                self.seen(table, self.given);
            }
            _ => {}
        }
    }

    /// A number was given: none up to it is generated any more, those reserved included.
    pub(super) fn seen(&mut self, table: &Table, number: u64) {
        table.auto_increment_seen(number);
        let (next, left) = self.reserved;
        if left > 0 && number >= next {
            let passed = ((number - next) / self.step.0).saturating_add(1).min(left);
            let next = next.saturating_add(passed.saturating_mul(self.step.0));
            self.reserved = (next, left - passed);
        }
    }
}
