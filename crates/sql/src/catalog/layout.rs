//! Where each column lies in a stored row: what follows from the types alone. The row's bytes are [`crate::row`]'s.

use super::Column;
use crate::types::SqlType;
use crate::value::family::stored::{Form, form_of};

/// A column's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub form: Form,
    /// Bytes; 0 for variable ones.
    pub width: u8,
    /// Offset from the row's start; for a variable column its number among them.
    pub at: u32,
}

/// Where each column lies in a stored row.
#[derive(Clone, Debug)]
pub struct RowLayout {
    slots: Vec<Slot>,
    /// Where the ends of the variable columns begin.
    ends: u32,
    variable: u32,
    /// The schema version that rows of this layout are of.
    version: u32,
    /// Whether there are columns that take no place.
    computes: bool,
}

/// Bytes a key part of a type counts for error 1071: `prefix` characters (bytes of a binary string), or all of them.
pub(crate) fn key_length(ty: &SqlType, prefix: Option<u32>) -> usize {
    if ty.fixed_len() > 0 {
        return ty.fixed_len();
    }
    let chars = prefix.unwrap_or(ty.length).min(ty.length) as usize;
    chars * ty.char_bytes() as usize
}

/// Form and width of a column's values in rows.
pub(super) fn form_in_rows(column: &Column) -> (Form, u8) {
    match &column.generated {
        Some(g) if !g.in_rows => (Form::Computed, 0),
        _ => form_of(&column.ty),
    }
}

impl RowLayout {
    /// Lays the columns out, of a table's first schema version.
    pub(crate) fn new(columns: &[Column]) -> RowLayout {
        RowLayout::of_forms(columns.iter().map(form_in_rows), 0)
    }

    /// Lays columns of these forms and widths out.
    pub(crate) fn of_forms(
        columns: impl ExactSizeIterator<Item = (Form, u8)>,
        version: u32,
    ) -> RowLayout {
        let mut at = 1 + columns.len().div_ceil(8) as u32;
        let mut variable = 0;
        let mut slots = Vec::with_capacity(columns.len());
        let mut computes = false;
        for (form, width) in columns {
            computes |= form == Form::Computed;
            let place = if form.is_variable() {
                &mut variable
            } else {
                &mut at
            };
            slots.push(Slot {
                form,
                width,
                at: *place,
            });
            *place += (width as u32).max(form.is_variable() as u32);
        }
        RowLayout {
            slots,
            ends: at,
            variable,
            version,
            computes,
        }
    }

    /// The same, of rows of another schema version.
    pub(super) fn with_version(self, version: u32) -> RowLayout {
        RowLayout { version, ..self }
    }

    /// The schema version that rows of this layout are of.
    #[inline]
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Whether rows don't hold the values of some columns.
    #[inline]
    pub fn computes(&self) -> bool {
        self.computes
    }

    /// Whether rows don't hold the values of a column, which are computed from their others.
    #[inline]
    pub fn is_computed(&self, column: usize) -> bool {
        self.slots[column].form == Form::Computed
    }

    /// Where the columns are, in order.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }
    /// Where the ends of the variable columns begin.
    #[inline]
    pub(crate) fn ends(&self) -> usize {
        self.ends as usize
    }
    /// How many columns are variable.
    #[inline]
    pub(crate) fn variable(&self) -> usize {
        self.variable as usize
    }
}
