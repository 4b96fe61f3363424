//! A column of stored rows as a vector.

use super::vector::{Data, Kind, Vector};
use crate::types::Schema;
use crate::value::{Value, Zone};

/// A column's values in rows of its table, of the [`Kind`] that its type has; NULL where there is no row.
pub fn stored<'b>(
    schema: &'b Schema,
    column: usize,
    rows: impl ExactSizeIterator<Item = Option<&'b [u8]>>,
    zone: Zone,
) -> Vector<'b> {
    fn read<T>(
        n: usize,
        fill: impl FnOnce(&mut Vec<T>) -> Option<Vec<bool>>,
    ) -> (Vec<T>, Option<Vec<bool>>) {
        let mut out = Vec::with_capacity(n);
        let nulls = fill(&mut out);
        (out, nulls)
    }
    let (layout, n) = (schema.layout(), rows.len());
    let (data, nulls) = match Kind::of(&schema.columns[column].ty) {
        Kind::Int => {
            let (v, nulls) = read(n, |out| layout.read_ints(column, rows, out));
            (Data::Int(v), nulls)
        }
        Kind::UInt => {
            let (v, nulls) = read(n, |out| layout.read_uints(column, rows, out));
            (Data::UInt(v), nulls)
        }
        Kind::Decimal(scale) => {
            let (v, nulls) = read(n, |out| layout.read_decimals(column, rows, out));
            (Data::Decimal(v, scale), nulls)
        }
        Kind::Double => {
            let (v, nulls) = read(n, |out| layout.read_doubles(column, rows, out));
            (Data::Double(v), nulls)
        }
        Kind::Date => {
            let (v, nulls) = read(n, |out| layout.read_dates(column, rows, out));
            (Data::Date(v), nulls)
        }
        Kind::Bytes => {
            let (v, nulls) = read(n, |out| layout.read_strings(column, rows, out));
            (Data::Bytes(v), nulls)
        }
        Kind::Values => {
            let value = |row: Option<&'b [u8]>| match row {
                Some(row) => layout.column(schema, row, column, zone),
                None => Value::Null,
            };
            (Data::Values(rows.map(value).collect()), None)
        }
    };
    Vector { data, nulls }
}
