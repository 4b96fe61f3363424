//! Rows written as SELECT ... INTO OUTFILE has them.

use super::Format;
use crate::types::{Encoding, SqlType};
use crate::value::{Value, write_text};

/// What may follow the escape character with a meaning of its own.
const AFTER_ESCAPE: &[u8] = b"ntrb0ZN";
/// Columns of this many bytes and more have no fixed width: MEDIUMTEXT and what is longer.
const WIDEST: u32 = 1 << 24;
/// What numbers are written with.
const OF_NUMBERS: &[u8] = b".0123456789e+-";

/// Writes rows of some columns.
pub struct Writer<'w> {
    format: &'w Format,
    types: Vec<SqlType>,
    /// `None`: texts as they are.
    encoding: Encoding,
    /// Every field takes as many bytes as its column may.
    fixed: bool,
    /// A terminator of fields can't be told from an escape or a number.
    ambiguous: bool,
    /// The first byte of the terminator is one that numbers have: they are escaped too.
    unsafe_numbers: bool,
    /// The value at hand as text, and encoded.
    text: Vec<u8>,
    encoded: Vec<u8>,
}

impl<'w> Writer<'w> {
    /// For rows with these columns.
    pub fn new(format: &'w Format, types: Vec<SqlType>, encoding: Encoding) -> Writer<'w> {
        let wide = types.iter().any(|ty| ty.own_length() >= WIDEST);
        let terminator = format.fields_terminated.first().copied();
        let separator = format.enclosed.or(terminator);
        let among = |set: &[u8], c: Option<u8>| c.is_some_and(|c| set.contains(&c));
        let numbers = types.iter().any(SqlType::is_numeric);
        let texts = !types.iter().all(SqlType::is_numeric);
        let unsafe_numbers = among(OF_NUMBERS, separator);
        let optionally = format.enclosed.is_none() || format.optionally && terminator.is_some();
        let ambiguous = among(AFTER_ESCAPE, separator)
            && format.enclosed.is_none()
            && (texts || unsafe_numbers)
            || optionally && numbers && among(OF_NUMBERS, terminator);
        Writer {
            format,
            fixed: format.is_unparted() && !wide,
            types,
            encoding,
            ambiguous,
            unsafe_numbers,
            text: Vec::new(),
            encoded: Vec::new(),
        }
    }

    /// Whether warning 1475 is due: what is written may not be read back as it was.
    pub fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// Appends a row.
    pub fn put_row(&mut self, row: &[Value<'_>], out: &mut Vec<u8>) {
        let format = self.format;
        out.extend_from_slice(&format.lines_starting);
        for (n, v) in row.iter().enumerate() {
            if n > 0 && !self.fixed {
                out.extend_from_slice(&format.fields_terminated);
            }
            self.put(n, v, out);
        }
        let end = match &format.lines_terminated[..] {
            [] => &format.fields_terminated,
            end => end,
        };
        out.extend_from_slice(end);
    }

    fn put(&mut self, column: usize, v: &Value<'_>, out: &mut Vec<u8>) {
        let ty = &self.types[column];
        let width = ty.own_length() as usize;
        if v.is_null() {
            match self.format.escaped {
                _ if self.fixed => out.resize(out.len() + width, b' '),
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            }
            return;
        }
        self.text.clear();
        write_text(v, ty, &mut self.text);
        let mut text = &self.text;
        if self.encoding != Encoding::Utf8 && ty.is_character() {
            self.encoded.clear();
            self.encoding.encode(&self.text, &mut self.encoded);
            text = &self.encoded;
        }
        if self.fixed {
            let text = &text[..text.len().min(width)];
            self.escaped(text, ty, None, out);
            out.resize(out.len() + width - text.len(), b' ');
            return;
        }
        let optionally = self.format.optionally && !self.format.fields_terminated.is_empty();
        let enclosed = self.format.enclosed;
        let enclosed = enclosed.filter(|_| !optionally || !ty.is_numeric());
        out.extend(enclosed);
        self.escaped(text, ty, enclosed, out);
        out.extend(enclosed);
    }

    /// Appends a value's text, escaped where it must be.
    fn escaped(&self, text: &[u8], ty: &SqlType, enclosed: Option<u8>, out: &mut Vec<u8>) {
        let format = self.format;
        let Some(escape) = format.escaped else {
            return out.extend_from_slice(text);
        };
        if ty.is_numeric() && !self.unsafe_numbers {
            return out.extend_from_slice(text);
        }
        let terminator = format.fields_terminated.first().copied();
        let separator = format.enclosed.or(terminator);
        let line = format.lines_terminated.first().copied().or(terminator);
        let ends = if enclosed.is_some() {
            separator
        } else {
            terminator
        };
        for &c in text {
            if c == 0 {
                out.extend_from_slice(&[escape, b'0']);
                continue;
            }
            // A terminator that can't be told from an escape stays as it is: that is what the warning is about.
            let kept = enclosed.is_none() && self.ambiguous && Some(c) == terminator;
            if (c == escape || Some(c) == ends || Some(c) == line) && !kept {
                // A quote that would mean something else behind the escape character is doubled instead.
                let doubled = Some(c) == separator && AFTER_ESCAPE.contains(&c);
                out.push(if doubled { c } else { escape });
            }
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{BaseType, Collation};

    fn written(format: &Format, rows: &[[Value<'_>; 2]]) -> String {
        let types = vec![
            SqlType::bigint(),
            SqlType::varchar(4, Collation::Utf8mb4GeneralCi),
        ];
        let mut w = Writer::new(format, types, Encoding::Utf8);
        let mut out = Vec::new();
        rows.iter().for_each(|row| w.put_row(row, &mut out));
        String::from_utf8(out).unwrap()
    }

    fn plain() -> Format {
        Format {
            fields_terminated: b"\t".into(),
            enclosed: None,
            optionally: false,
            escaped: Some(b'\\'),
            lines_starting: Vec::new(),
            lines_terminated: b"\n".into(),
        }
    }

    #[test]
    fn what_parts_fields_and_lines_is_escaped() {
        let rows = [
            [Value::Int(1), Value::str("a\tb")],
            [Value::Null, Value::str("x\n\\\0")],
        ];
        assert_eq!(written(&plain(), &rows), "1\ta\\\tb\n\\N\tx\\\n\\\\\\0\n");
        let csv = Format {
            fields_terminated: b",".into(),
            enclosed: Some(b'"'),
            optionally: true,
            escaped: Some(b'"'),
            ..plain()
        };
        let rows = [
            [Value::Int(-1), Value::str("say \"a, b\"")],
            [Value::Null, Value::Null],
        ];
        assert_eq!(written(&csv, &rows), "-1,\"say \"\"a, b\"\"\"\n\"N,\"N\n");
        let bare = Format {
            escaped: None,
            ..plain()
        };
        assert_eq!(
            written(&bare, &[[Value::Null, Value::str("a\tb")]]),
            "NULL\ta\tb\n"
        );
    }

    #[test]
    fn without_terminators_fields_have_a_width() {
        let fixed = Format {
            fields_terminated: Vec::new(),
            lines_terminated: b"|".into(),
            ..plain()
        };
        let types = vec![SqlType::new(BaseType::Int), SqlType::new(BaseType::Date)];
        let mut w = Writer::new(&fixed, types, Encoding::Utf8);
        let mut out = Vec::new();
        w.put_row(&[Value::Int(12), Value::Null], &mut out);
        assert_eq!(out, b"12                   |");
    }
}
