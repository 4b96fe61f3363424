//! Under which schema version a row was written, and what the definition makes of one of an earlier version.
//!
//! The version's number is in the row's header, above the bit for wide ends; numbers from [`LONG`] on are in the row's last four
//! bytes, where no column's place depends on them.

use smallvec::SmallVec;

use super::layout::WIDE;
use crate::catalog::{RowLayout, Schema, Source};
use crate::error::{SqlError, SqlResult};

/// The first number that has no room in the header; there it stands for all from it on.
const LONG: u32 = 127;

/// The header of rows of a version.
pub(super) fn header(version: u32) -> u8 {
    (version.min(LONG) as u8) << 1
}

/// What rows of a version end with.
pub(super) fn tail(version: u32) -> Option<[u8; 4]> {
    (version >= LONG).then(|| version.to_le_bytes())
}

/// The version that a row was written under; `None`: it is no row.
fn version(row: &[u8]) -> Option<u32> {
    match u32::from(row.first()? >> 1) {
        LONG => row.last_chunk().map(|b| u32::from_le_bytes(*b)),
        short => Some(short),
    }
}

/// A row of the same columns under another schema version; `buffer` is for its bytes, where they are others.
pub fn at_version<'r>(row: &'r [u8], to: u32, buffer: &'r mut Vec<u8>) -> &'r [u8] {
    let now = version(row).unwrap_or_default();
    if now == to {
        return row;
    }
    let end = row.len() - tail(now).map_or(0, |t| t.len());
    buffer.clear();
    buffer.push(header(to) | row[0] & WIDE);
    buffer.extend_from_slice(&row[1..end]);
    buffer.extend(tail(to).into_iter().flatten());
    buffer
}

impl RowLayout {
    /// Writes a row of the values that columns have as stored; `None`: NULL.
    fn assemble(&self, values: &[Option<&[u8]>], out: &mut Vec<u8>) {
        let of_variable = || {
            let columns = values.iter().zip(self.slots());
            columns.filter(|(_, slot)| slot.form.is_variable())
        };
        let total: usize = of_variable().map(|(v, _)| v.map_or(0, <[u8]>::len)).sum();
        let wide = total > usize::from(u16::MAX);
        let step = if wide { 4 } else { 2 };
        let bitmap = out.len() + 1;
        out.reserve(self.ends() + self.variable() * step + total);
        out.push(header(self.version()) | if wide { WIDE } else { 0 });
        out.resize(bitmap + values.len().div_ceil(8), 0);
        for (i, (value, slot)) in values.iter().zip(self.slots()).enumerate() {
            match value {
                None => {
                    out[bitmap + i / 8] |= 1 << (i % 8);
                    out.resize(out.len() + usize::from(slot.width), 0);
                }
                Some(bytes) if !slot.form.is_variable() => out.extend_from_slice(bytes),
                Some(_) => {}
            }
        }
        let mut end = 0u32;
        for (value, _) in of_variable() {
            end += value.map_or(0, |v| v.len() as u32);
            out.extend_from_slice(&end.to_le_bytes()[..step]);
        }
        for (value, _) in of_variable() {
            out.extend_from_slice(value.unwrap_or_default());
        }
        out.extend(tail(self.version()).into_iter().flatten());
    }
}

impl Schema {
    /// Whether a stored row was written under the schema's version.
    #[inline]
    pub fn is_current(&self, row: &[u8]) -> bool {
        version(row) == Some(self.layout().version())
    }

    /// Replaces `out` by what the schema makes of a row that was written under an earlier version; an error if it is of none.
    pub fn upgrade(&self, row: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
        let number = version(row);
        let upgrade = number.and_then(|n| self.versions().upgrade(n, self.layout()));
        let upgrade = upgrade.ok_or_else(|| {
            SqlError::new(
                1034,
                format!("Incorrect key file: a row of the unknown schema version {number:?}"),
            )
        })?;
        let was = &upgrade.layout;
        let values: SmallVec<[Option<&[u8]>; 24]> = upgrade
            .sources
            .iter()
            .map(|source| match source {
                Source::Kept(c) if was.is_null(row, *c) => None,
                Source::Kept(c) => Some(was.bytes(was.slots()[*c], row)),
                Source::Added(fill) => fill.as_deref(),
            })
            .collect();
        out.clear();
        self.layout().assemble(&values, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Column, Step, tests as catalog};
    use crate::row::{decode_row, encode_row, stored_value};
    use crate::types::{BaseType, Collation, SqlType};
    use crate::value::{Value, Zone};

    type Row = Vec<Value<'static>>;

    /// SplitMix64, below `n`.
    fn below(seed: &mut u64, n: usize) -> usize {
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((z ^ (z >> 27)) % n as u64) as usize
    }

    fn column(seed: &mut u64) -> Column {
        let types = [
            BaseType::TinyInt,
            BaseType::Int,
            BaseType::BigInt,
            BaseType::VarChar,
            BaseType::Text,
        ];
        let ty = SqlType {
            length: 100_000,
            ..SqlType::new(types[below(seed, types.len())])
        };
        Column {
            name: format!("c{}", below(seed, 1 << 30)),
            ty,
            ..catalog::sample().columns[0].clone()
        }
    }

    fn value(column: &Column, seed: &mut u64) -> Value<'static> {
        match column.ty.base {
            _ if below(seed, 5) == 0 => Value::Null,
            BaseType::VarChar => Value::string("v".repeat(below(seed, 30))),
            // Rarely longer than narrow ends reach.
            BaseType::Text if below(seed, 40) == 0 => Value::string("t".repeat(70_000)),
            BaseType::Text => Value::string("t".repeat(below(seed, 300))),
            _ => Value::Int(below(seed, 200) as i64 - 100),
        }
    }

    fn schema(columns: Vec<Column>) -> Schema {
        let collation = Collation::Utf8mb4GeneralCi;
        Schema::new(columns, Vec::new(), collation, String::new(), 0)
    }

    /// One instant change, of the schema and of the rows as they should be read after it.
    fn change(old: &Schema, rows: &mut [(Vec<u8>, Row)], seed: &mut u64) -> Schema {
        let mut columns = old.columns.clone();
        let mut from: Vec<Result<usize, _>> = (0..columns.len()).map(Ok).collect();
        for _ in 0..=below(seed, 3) {
            let at = below(seed, columns.len());
            match below(seed, 3) {
                0 if columns.len() > 1 => {
                    columns.remove(at);
                    drop(from.remove(at));
                    rows.iter_mut().for_each(|(_, row)| drop(row.remove(at)));
                }
                1 => {
                    let to = below(seed, columns.len());
                    let moved = columns.remove(at);
                    columns.insert(to, moved);
                    let moved = from.remove(at);
                    from.insert(to, moved);
                    for (_, row) in rows.iter_mut() {
                        let moved = row.remove(at);
                        row.insert(to, moved);
                    }
                }
                _ => {
                    let column = column(seed);
                    let value = value(&column, seed);
                    let fill = stored_value(&column, &value, Zone::UTC).unwrap();
                    columns.insert(at, column);
                    from.insert(at, Err(fill));
                    let each = rows.iter_mut();
                    each.for_each(|(_, row)| row.insert(at, value.clone()));
                }
            }
        }
        let step = Step::new(&old.columns, from);
        schema(columns).with_versions(old.versions().next(step))
    }

    fn write(schema: &Schema, seed: &mut u64) -> (Vec<u8>, Row) {
        let row: Row = schema.columns.iter().map(|c| value(c, seed)).collect();
        let mut bytes = Vec::new();
        encode_row(schema, &row, Zone::UTC, &mut bytes).unwrap();
        (bytes, row)
    }

    fn check(schema: &Schema, rows: &[(Vec<u8>, Row)]) {
        let mut upgraded = Vec::new();
        for (bytes, row) in rows {
            if !schema.is_current(bytes) {
                schema.upgrade(bytes, &mut upgraded).unwrap();
            }
            let bytes = match schema.is_current(bytes) {
                true => bytes,
                false => &upgraded,
            };
            let mut found = Vec::new();
            decode_row(schema, bytes, Zone::UTC, &mut found);
            assert_eq!(format!("{found:?}"), format!("{row:?}"));
            // It is as it would be if it were written now.
            let mut again = Vec::new();
            encode_row(schema, row, Zone::UTC, &mut again).unwrap();
            assert_eq!(*bytes, again);
        }
    }

    #[test]
    fn rows_of_any_version_are_read_as_they_should_be() {
        let mut seed = 1;
        let mut now = schema((0..3).map(|_| column(&mut seed)).collect());
        let mut rows = vec![write(&now, &mut seed)];
        // More than have room in the header.
        for n in 0..300 {
            now = change(&now, &mut rows, &mut seed);
            rows.push(write(&now, &mut seed));
            rows.push(write(&now, &mut seed));
            if n % 60 == 0 {
                check(&now, &rows);
            }
        }
        check(&now, &rows);
        assert_eq!(now.versions().earlier(), 300);
        let mut def = catalog::empty_def();
        def.body = now.table_body();
        let read = Schema::of(&def).unwrap();
        check(&read, &rows);

        // As rows of a table that is written anew.
        let first = schema(now.columns.clone());
        let mut buffer = Vec::new();
        for (bytes, row) in rows.iter().filter(|(bytes, _)| now.is_current(bytes)) {
            let copied = at_version(bytes, 0, &mut buffer);
            check(&first, &[(copied.to_vec(), row.clone())]);
        }
    }

    #[test]
    fn rows_of_no_known_version_are_refused() {
        let mut seed = 2;
        let first = schema(vec![column(&mut seed)]);
        let (bytes, _) = write(&first, &mut seed);
        let second = change(&first, &mut [], &mut seed);
        let anew = second.clone().with_versions(first.versions().clone());
        let (later, _) = write(&change(&second, &mut [], &mut seed), &mut seed);
        let mut out = Vec::new();
        assert!(second.upgrade(&bytes, &mut out).is_ok());
        assert_eq!(second.upgrade(&later, &mut out).unwrap_err().code, 1034);
        assert_eq!(anew.upgrade(&later, &mut out).unwrap_err().code, 1034);
    }

    #[test]
    fn cut_or_foreign_versions_are_refused() {
        let mut seed = 3;
        let mut now = schema((0..3).map(|_| column(&mut seed)).collect());
        for _ in 0..5 {
            now = change(&now, &mut [], &mut seed);
        }
        let mut def = catalog::empty_def();
        let body = now.table_body();
        for n in 0..body.len() {
            def.body = body[..n].to_vec();
            assert_eq!(Schema::of(&def).unwrap_err().code, 1033, "{n}");
        }
        // Those of a table with other columns.
        let other = schema(now.columns[1..].to_vec()).with_versions(now.versions().clone());
        def.body = other.table_body();
        assert_eq!(Schema::of(&def).unwrap_err().code, 1033);
    }

    #[test]
    fn numbers_are_given_again_once_no_row_has_them() {
        let mut seed = 4;
        let first = schema(vec![column(&mut seed)]);
        let second = change(&first, &mut [], &mut seed);
        assert_eq!(second.versions().current(), 1);
        let step = || Step::new(&second.columns, (0..second.columns.len()).map(Ok).collect());
        assert_eq!(second.versions().next(step()).current(), 2);
        let copied = second.clone().with_versions(Default::default());
        assert!(copied.versions().is_first());
        assert_eq!(copied.versions().next(step()).current(), 1);
    }
}
