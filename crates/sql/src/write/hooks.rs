//! Who else has a say about a row on its way into a table, and who is told once it is there.

use super::{NewRow, WriteContext};
use crate::error::SqlResult;
use crate::types::Schema;
use crate::value::{self, StoreContext, Value};

/// Hooks of a statement, by the stage of a row's way at which they come (see the [module](super)); those of a stage in order.
/// The table is the context's: a statement may write to several.
#[derive(Clone, Copy, Default)]
pub struct Hooks<'h> {
    /// May change the row: BEFORE triggers.
    pub before: &'h [&'h dyn RowRule],
    /// Give columns that follow from others, besides the definition's own generated columns.
    pub generated: &'h [&'h dyn RowRule],
    /// Refuse rows for what is in them, besides the definition's own CHECK constraints.
    pub check: &'h [&'h dyn RowRule],
    /// Act on what was written: AFTER triggers.
    pub after: &'h [&'h dyn RowListener],
    /// Keep what was written: a binary log.
    pub images: &'h [&'h dyn RowListener],
}

impl Hooks<'_> {
    /// Nobody.
    pub const NONE: Hooks<'static> = Hooks {
        before: &[],
        generated: &[],
        check: &[],
        after: &[],
        images: &[],
    };

    /// Whether there is nobody.
    pub fn is_none(&self) -> bool {
        let rules = [self.before, self.generated, self.check];
        let listeners = [self.after, self.images];
        rules.iter().all(|r| r.is_empty()) && listeners.iter().all(|l| l.is_empty())
    }

    /// Whether values can change on the row's way: NULL is looked for only then.
    #[inline]
    pub(super) fn change_rows(&self) -> bool {
        !(self.before.is_empty() && self.generated.is_empty())
    }

    /// Whether there are triggers: they act on rows, too, that an UPDATE finds as they are to be.
    pub(super) fn are_triggers(&self) -> bool {
        !(self.before.is_empty() && self.after.is_empty())
    }

    /// Whether deleting a row and inserting the same is more than nothing.
    pub(super) fn act_on_deletes(&self, cx: &WriteContext<'_>) -> bool {
        self.before.iter().any(|rule| rule.acts_on_deletes(cx))
            || self
                .after
                .iter()
                .any(|listener| listener.acts_on_deletes(cx))
    }
}

/// A rule about rows, asked before they are written.
pub trait RowRule {
    /// Looks at a row, changes it if its stage may, or refuses it.
    fn apply(&self, cx: &mut WriteContext<'_>, row: &mut PendingRow<'_, '_>) -> SqlResult<()>;

    /// Whether it does anything about rows of the context's table that are deleted.
    fn acts_on_deletes(&self, _: &WriteContext<'_>) -> bool {
        true
    }
}

/// Someone who is told of rows that were written.
pub trait RowListener {
    /// Takes the images of a row. An error undoes the statement.
    fn written(&self, cx: &mut WriteContext<'_>, row: &Images<'_>) -> SqlResult<()>;

    /// Whether it does anything about rows of the context's table that are deleted.
    fn acts_on_deletes(&self, _: &WriteContext<'_>) -> bool {
        true
    }
}

/// A row that is about to be written.
pub struct PendingRow<'p, 'v> {
    /// Definition of its table.
    pub schema: &'p Schema,
    /// Its image until now; `None` for one that is inserted.
    pub before: Option<&'p [u8]>,
    /// Its values from now on; `None` for one that is deleted.
    pub after: Option<&'p mut NewRow<'v>>,
    /// How values are converted.
    pub(super) conversion: StoreContext<'p>,
}

impl PendingRow<'_, '_> {
    /// Gives a column of the row to be another value. NULL is looked at later.
    pub fn set(&mut self, column: usize, v: Value<'static>) -> SqlResult<()> {
        let Some(row) = &mut self.after else {
            return Ok(());
        };
        row.unsaid.retain(|c| *c != column);
        let v = match v {
            Value::Null => v,
            v => value::store(v, &self.schema.columns[column], &self.conversion)?,
        };
        row.put(column, v);
        Ok(())
    }
}

/// A row that was written.
pub struct Images<'i> {
    /// Definition of its table.
    pub schema: &'i Schema,
    /// As it was; `None` for one that was inserted.
    pub before: Option<&'i [u8]>,
    /// As it is; `None` for one that was deleted.
    pub after: Option<&'i [u8]>,
}
