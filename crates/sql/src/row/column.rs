//! One column of many rows at once: a loop per form and width, without a look at the form per row.
//!
//! Rows are given as their bytes; `None` is a row of NULLs. Each reader appends a value per row (a NULL's is the type's default) and
//! says which are NULL, if any is.

use crate::catalog::{RowLayout, Slot};
use crate::value::family::stored::{Form, double, float, signed_of};

/// Which values are NULL; `None`: none is.
pub type Nulls = Option<Vec<bool>>;

/// Where a column's NULL is told.
#[derive(Clone, Copy)]
struct NullBit {
    byte: usize,
    mask: u8,
}

impl NullBit {
    fn of(column: usize) -> NullBit {
        NullBit {
            byte: 1 + column / 8,
            mask: 1 << (column % 8),
        }
    }
    #[inline]
    fn is_set(self, row: &[u8]) -> bool {
        row[self.byte] & self.mask != 0
    }
}

/// Appends what `read` makes of each row that has a value.
#[inline]
fn each<'r, T: Default>(
    null: NullBit,
    rows: impl Iterator<Item = Option<&'r [u8]>>,
    out: &mut Vec<T>,
    read: impl Fn(&'r [u8]) -> T,
) -> Nulls {
    let start = out.len();
    let mut nulls = Vec::new();
    out.extend(rows.enumerate().map(|(i, row)| match row {
        Some(row) if !null.is_set(row) => read(row),
        _ => {
            note(&mut nulls, i);
            T::default()
        }
    }));
    if nulls.is_empty() {
        return None;
    }
    nulls.resize(out.len() - start, false);
    Some(nulls)
}

#[cold]
fn note(nulls: &mut Vec<bool>, at: usize) {
    nulls.resize(at, false);
    nulls.push(true);
}

/// A big-endian number of `W` bytes.
#[inline]
fn be<const W: usize>(row: &[u8], at: usize) -> u64 {
    let mut v = [0u8; 8];
    v[8 - W..].copy_from_slice(&row[at..at + W]);
    u64::from_be_bytes(v)
}

/// Numbers of up to eight bytes, as `f` reads them: given the bits and how many bytes they were.
#[inline]
fn numbers<'r, T: Default>(
    slot: Slot,
    null: NullBit,
    rows: impl Iterator<Item = Option<&'r [u8]>>,
    out: &mut Vec<T>,
    f: impl Fn(u64, u32) -> T,
) -> Nulls {
    let at = slot.at as usize;
    match slot.width {
        1 => each(null, rows, out, |r| f(be::<1>(r, at), 1)),
        2 => each(null, rows, out, |r| f(be::<2>(r, at), 2)),
        3 => each(null, rows, out, |r| f(be::<3>(r, at), 3)),
        4 => each(null, rows, out, |r| f(be::<4>(r, at), 4)),
        5 => each(null, rows, out, |r| f(be::<5>(r, at), 5)),
        6 => each(null, rows, out, |r| f(be::<6>(r, at), 6)),
        7 => each(null, rows, out, |r| f(be::<7>(r, at), 7)),
        _ => each(null, rows, out, |r| f(be::<8>(r, at), 8)),
    }
}

impl RowLayout {
    fn place(&self, column: usize, form: impl Fn(Form) -> bool) -> (Slot, NullBit) {
        let slot = self.slots()[column];
        debug_assert!(form(slot.form), "{:?} is read as another form", slot.form);
        (slot, NullBit::of(column))
    }

    /// A signed integer column.
    pub fn read_ints<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = Option<&'r [u8]>>,
        out: &mut Vec<i64>,
    ) -> Nulls {
        let (slot, null) = self.place(column, |f| f == Form::Signed);
        numbers(slot, null, rows, out, signed_of)
    }

    /// An unsigned integer column (no YEAR).
    pub fn read_uints<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = Option<&'r [u8]>>,
        out: &mut Vec<u64>,
    ) -> Nulls {
        let (slot, null) = self.place(column, |f| f == Form::Unsigned);
        numbers(slot, null, rows, out, |v, _| v)
    }

    /// The digits of a DECIMAL column of at most eight bytes: 18 digits.
    pub fn read_decimals<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = Option<&'r [u8]>>,
        out: &mut Vec<i64>,
    ) -> Nulls {
        let (slot, null) = self.place(column, |f| matches!(f, Form::Decimal(_)));
        debug_assert!(slot.width <= 8);
        // A negative number has all bits of its magnitude flipped: one below the two's complement.
        numbers(slot, null, rows, out, |v, width| {
            let v = signed_of(v, width);
            v - (v >> 63)
        })
    }

    /// A DOUBLE or FLOAT column.
    pub fn read_doubles<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = Option<&'r [u8]>>,
        out: &mut Vec<f64>,
    ) -> Nulls {
        let (slot, null) = self.place(column, |f| matches!(f, Form::Double | Form::Float));
        let at = slot.at as usize;
        if slot.form == Form::Float {
            return each(null, rows, out, |r| float(be::<4>(r, at) as u32));
        }
        each(null, rows, out, |r| double(be::<8>(r, at)))
    }

    /// A DATE column, each as [`crate::value::Date::pack`] has it.
    pub fn read_dates<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = Option<&'r [u8]>>,
        out: &mut Vec<u32>,
    ) -> Nulls {
        let (slot, null) = self.place(column, |f| f == Form::Date);
        let at = slot.at as usize;
        each(null, rows, out, |r| be::<3>(r, at) as u32)
    }

    /// A column of strings (no ENUM).
    pub fn read_strings<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = Option<&'r [u8]>>,
        out: &mut Vec<&'r [u8]>,
    ) -> Nulls {
        let (slot, null) = self.place(column, |f| f == Form::Variable);
        each(null, rows, out, |r| self.bytes(slot, r))
    }

    /// Appends whether a column is NULL, whatever its type.
    pub fn read_nulls<'r>(
        &self,
        column: usize,
        rows: impl Iterator<Item = Option<&'r [u8]>>,
        out: &mut Vec<bool>,
    ) {
        let null = NullBit::of(column);
        out.extend(rows.map(|row| row.is_none_or(|r| null.is_set(r))));
    }
}
