//! The values of a row being made.

use smallvec::SmallVec;

use crate::types::Schema;
use crate::value::{Value, Zone};

/// A row being made: a value for each column, as the column stores it. Made and filled by a [`RowWriter`](super::RowWriter).
///
/// It is large, so it is made where it stays: empty at first, then begun by the writer.
#[derive(Debug, Default)]
pub struct NewRow<'v> {
    values: SmallVec<[Value<'v>; 16]>,
    /// Its AUTO_INCREMENT column is to get the next number, and is 0 until then; or it is NULL, and stays that.
    pub(super) numbered: bool,
    /// Columns that are to get their defaults, which are expressions over the others.
    pub(super) pending: Vec<usize>,
    /// Columns that the statement says nothing of and that have no default: a BEFORE trigger may still give them a value.
    pub(super) unsaid: Vec<usize>,
    /// Columns that have none and get none either: told when those that are computed have their values, for which they have their type's zero.
    pub(super) missing: Vec<usize>,
}

impl<'v> NewRow<'v> {
    /// Takes other values.
    #[inline]
    pub(super) fn fill(&mut self, values: impl Iterator<Item = Value<'v>>) {
        self.values.clear();
        self.values.extend(values);
        self.numbered = false;
        self.pending.clear();
        self.unsaid.clear();
        self.missing.clear();
    }
    /// Takes the values of an image; `computed`: those that it doesn't hold, too, which are NULL otherwise.
    #[inline]
    pub(super) fn decode(&mut self, schema: &'v Schema, image: &'v [u8], tz: Zone, computed: bool) {
        let layout = schema.layout();
        let columns = 0..schema.columns.len();
        if computed || !layout.computes() {
            return self.fill(columns.map(|c| layout.column(schema, image, c, tz)));
        }
        self.fill(columns.map(|c| match layout.is_computed(c) {
            true => Value::Null,
            false => layout.column(schema, image, c, tz),
        }));
    }
    /// The values.
    #[inline]
    pub fn values(&self) -> &[Value<'v>] {
        &self.values
    }
    /// Gives a column a value that is as the column stores it.
    #[inline]
    pub fn put(&mut self, column: usize, v: Value<'v>) {
        self.values[column] = v;
    }
}

/// Whether an integer is 0, which in an AUTO_INCREMENT column may stand for the next number.
pub(super) fn is_zero(v: &Value<'_>) -> bool {
    matches!(v, Value::Int(0) | Value::UInt(0))
}
