//! Assignment: values become a column's, with MySQL's errors, or warnings and the nearest value where the mode is not strict.

use super::env::ConversionEnv;
use super::time::Date;
use super::{Decimal, Value, family};
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, SqlType};

/// What a value is assigned to: a column, or whatever else has a name and a type.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Its type.
    pub ty: &'a SqlType,
    /// Whether it takes NULL.
    pub nullable: bool,
}

/// How an assignment treats values that do not fit.
#[derive(Clone, Copy)]
pub struct StoreContext<'a> {
    /// The session: sql_mode's date rules, warnings.
    pub session: &'a ConversionEnv,
    /// An error (strict mode, and not IGNORE) rather than a warning and the nearest value.
    pub strict: bool,
    /// The row's number in the statement, from 1, for messages.
    pub row: u64,
}

impl StoreContext<'_> {
    /// An error if strict, else a warning.
    #[cold]
    pub fn raise(&self, code: u16, message: String) -> SqlResult<()> {
        if self.strict {
            return Err(SqlError::new(code, message));
        }
        self.session.warn(code, message);
        Ok(())
    }
    pub(super) fn out_of_range(&self, c: Target<'_>) -> SqlResult<()> {
        let m = format!(
            "Out of range value for column '{}' at row {}",
            c.name, self.row
        );
        self.raise(1264, m)
    }
    /// What a column doesn't take as it is was cut: 1265.
    pub fn truncated(&self, c: Target<'_>) -> SqlResult<()> {
        let m = format!("Data truncated for column '{}' at row {}", c.name, self.row);
        self.raise(1265, m)
    }
    /// Digits after the point or a time of day were dropped: told, but never refused.
    #[cold]
    pub(super) fn note_truncated(&self, c: Target<'_>) {
        let m = format!("Data truncated for column '{}' at row {}", c.name, self.row);
        self.session.note(1265, m);
    }
    /// The part of a value that a date or a time has no room for was dropped: told, but never refused.
    #[cold]
    pub(super) fn note_lost(&self, kind: &str, v: &Value<'_>, c: Target<'_>) {
        match self.strict {
            true => self.session.note(1292, self.no_value(kind, v, c)),
            false => self.note_truncated(c),
        }
    }
    /// A local time that the clocks of the session's zone passed over: refused, or moved to where they went on.
    pub(super) fn skipped(&self, kind: &str, v: &Value<'_>, c: Target<'_>) -> SqlResult<()> {
        if self.strict {
            return self.incorrect(1292, kind, v, c);
        }
        let m = format!(
            "Invalid TIMESTAMP value in column '{}' at row {}",
            c.name, self.row
        );
        self.raise(1299, m)
    }
    /// What is no date or time: refused, or stored as zero, where a text that is read as
    /// a moment which doesn't exist, or may not be stored (`readable`), gets another warning than any other value.
    pub(super) fn no_time(
        &self,
        kind: &str,
        v: &Value<'_>,
        c: Target<'_>,
        readable: bool,
    ) -> SqlResult<()> {
        match (self.strict, readable) {
            (true, _) => self.incorrect(1292, kind, v, c),
            (false, true) => self.out_of_range(c),
            (false, false) => self.truncated(c),
        }
    }
    pub(super) fn incorrect(
        &self,
        code: u16,
        kind: &str,
        v: &Value<'_>,
        c: Target<'_>,
    ) -> SqlResult<()> {
        self.raise(code, self.no_value(kind, v, c))
    }
    fn no_value(&self, kind: &str, v: &Value<'_>, c: Target<'_>) -> String {
        let text = v.to_text();
        format!(
            "Incorrect {kind} value: '{}' for column '{}' at row {}",
            printable(&text),
            c.name,
            self.row
        )
    }
    /// Reads the integer that a text is, telling MySQL's way if it is none or has something after it.
    pub(super) fn number_of_text(
        &self,
        b: &[u8],
        value: &Value<'_>,
        column: Target<'_>,
    ) -> SqlResult<Decimal> {
        let p = Decimal::parse_prefix(b);
        if p.used == 0 {
            self.incorrect(1366, "integer", value, column)?;
        } else if !b[p.used..].trim_ascii().is_empty() {
            self.truncated(column)?;
        }
        Ok(p.value)
    }
}

/// A value in a message: bytes that are no text as `\xNN`.
pub fn printable(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        // It ends where a text of C's does.
        Ok(s) => s.chars().take_while(|c| *c != '\0').take(128).collect(),
        Err(_) => printable_bytes(&text[..text.len().min(64)]),
    }
}

/// Bytes in a message: those that are no ASCII characters as `\xNN`.
pub fn printable_bytes(bytes: &[u8]) -> String {
    let mut s = String::new();
    for b in bytes {
        if (0x20..0x7f).contains(b) {
            s.push(*b as char);
        } else {
            s.push_str(&format!("\\x{b:02X}"));
        }
    }
    s
}

/// Converts a value for assignment to a column: what INSERT and UPDATE do. Raises MySQL's errors, or warnings if not strict.
#[inline]
pub fn assign<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    use BaseType as B;
    let ty = column.ty;
    // What most values are.
    match (&value, ty.base) {
        (Value::Int(v), B::Int | B::BigInt)
            if !ty.unsigned && (ty.base == B::BigInt || i32::try_from(*v).is_ok()) =>
        {
            Ok(value)
        }
        _ => convert(value, column, cx),
    }
}

fn convert<'a>(
    value: Value<'a>,
    column: Target<'_>,
    cx: &StoreContext<'_>,
) -> SqlResult<Value<'a>> {
    if value.is_null() {
        return null(column, cx);
    }
    family::assign(value, column, cx)
}

fn null<'a>(column: Target<'_>, cx: &StoreContext<'_>) -> SqlResult<Value<'a>> {
    if column.nullable {
        return Ok(Value::Null);
    }
    let e = null_refused(column);
    // No zero takes its place.
    if column.ty.is_geometry() && !cx.strict {
        return Err(SqlError::new(3673, e.message));
    }
    cx.raise(e.code, e.message)?;
    Ok(match column.ty.base {
        // No member, other than where no value was given.
        BaseType::Enum => Value::str(""),
        _ => family::implicit_zero(column.ty),
    })
}

/// Error 1048.
pub fn null_refused(column: Target<'_>) -> SqlError {
    SqlError::new(1048, format!("Column '{}' cannot be null", column.name))
}

/// Whether sql_mode takes this date; `false` for what NO_ZERO_DATE and NO_ZERO_IN_DATE forbid.
pub fn date_allowed(d: Date, session: &ConversionEnv) -> bool {
    let mode = session.sql_mode.get();
    if d.is_zero() {
        !mode.no_zero_date
    } else {
        !(d.has_zero() && mode.no_zero_in_date)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Collation;
    use crate::value::env::tests::env;

    fn try_store(
        sql_type: SqlType,
        v: Value<'_>,
        strict: bool,
    ) -> (Result<String, (u16, String)>, Vec<u16>) {
        let session = env();
        let column = Target {
            name: "a",
            ty: &sql_type,
            nullable: false,
        };
        let cx = StoreContext {
            session: &session,
            strict,
            row: 3,
        };
        let r = assign(v, column, &cx);
        let r = r.map(|v| {
            let mut out = Vec::new();
            crate::value::write_text(&v, column.ty, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        });
        let codes = session
            .diagnostics
            .borrow()
            .iter()
            .map(|d| d.code)
            .collect();
        (r.map_err(|e| (e.code, e.message)), codes)
    }

    #[test]
    fn assignments() {
        use BaseType as B;
        let t = SqlType::new;
        let char3 = SqlType {
            length: 3,
            ..t(B::Char)
        };
        let varchar3 = SqlType::varchar(3, Collation::Utf8mb4GeneralCi);
        let binary3 = SqlType {
            length: 3,
            ..t(B::Binary)
        };
        let utiny = SqlType {
            unsigned: true,
            ..t(B::TinyInt)
        };
        let dec = SqlType::decimal(4, 2);
        let en = SqlType::enumeration(vec!["x".into(), "y".into()], Collation::Utf8mb4GeneralCi);
        let d = |s: &str| Value::Decimal(Decimal::parse_prefix(s.as_bytes()).value);
        // (type, value, strict result or error code, lenient result)
        for (ty, v, strict, lenient) in [
            (t(B::Int), Value::Int(7), Ok("7"), "7"),
            (t(B::Int), Value::Int(1 << 40), Err(1264), "2147483647"),
            (t(B::TinyInt), Value::str("12abc"), Err(1265), "12"),
            (t(B::TinyInt), Value::str("abc"), Err(1366), "0"),
            (t(B::TinyInt), d("1.5"), Ok("2"), "2"),
            (utiny.clone(), Value::Int(-1), Err(1264), "0"),
            (utiny, Value::Null, Err(1048), "0"),
            (dec.clone(), d("1.005"), Ok("1.01"), "1.01"),
            (dec.clone(), d("123"), Err(1264), "99.99"),
            (dec, Value::str("x"), Err(1366), "0.00"),
            (t(B::Double), Value::str("1e3"), Ok("1000"), "1000"),
            (t(B::Double), Value::str("x"), Err(1366), "0"),
            (varchar3.clone(), Value::str("abcd"), Err(1406), "abc"),
            (varchar3.clone(), Value::str("äöü"), Ok("äöü"), "äöü"),
            (varchar3.clone(), Value::str("ab    "), Ok("ab "), "ab "),
            (varchar3.clone(), Value::Int(12), Ok("12"), "12"),
            (varchar3, Value::Bytes(b"a\xff"[..].into()), Err(1366), "a"),
            (char3, Value::str("a  "), Ok("a"), "a"),
            (binary3, Value::str("a"), Ok("a\0\0"), "a\0\0"),
            (
                t(B::Date),
                Value::str("2024-02-30"),
                Err(1292),
                "0000-00-00",
            ),
            (
                t(B::Date),
                Value::str("2024-02-29 12:00:00"),
                Ok("2024-02-29"),
                "2024-02-29",
            ),
            (
                t(B::Date),
                Value::str("0000-00-00"),
                Err(1292),
                "0000-00-00",
            ),
            (
                t(B::DateTime),
                Value::str("2024-02-29 12:00:00.6"),
                Ok("2024-02-29 12:00:01"),
                "2024-02-29 12:00:01",
            ),
            (
                SqlType::datetime(3),
                Value::str("2024-02-29 12:00:00.6"),
                Ok("2024-02-29 12:00:00.600"),
                "2024-02-29 12:00:00.600",
            ),
            (
                t(B::Timestamp),
                Value::str("1969-01-01"),
                Err(1292),
                "0000-00-00 00:00:00",
            ),
            (t(B::Time), Value::str("900:00:00"), Err(1292), "838:59:59"),
            (t(B::Year), Value::Int(24), Ok("2024"), "2024"),
            (t(B::Year), Value::Int(3000), Err(1264), "0000"),
            (en.clone(), Value::str("Y"), Ok("y"), "y"),
            (en.clone(), Value::Int(1), Ok("x"), "x"),
            (en, Value::str("z"), Err(1265), ""),
        ] {
            let shown = format!("{} <- {v:?}", ty.column_type());
            let got = try_store(ty.clone(), v.clone(), true).0;
            assert_eq!(
                got.as_ref().map(String::as_str).map_err(|e| e.0),
                strict,
                "{shown}"
            );
            let (got, warnings) = try_store(ty, v, false);
            assert_eq!(got.as_deref(), Ok(lenient), "{shown}");
            assert!(strict.is_ok() || !warnings.is_empty(), "{shown}");
        }
        let e = try_store(t(B::Int), Value::str("abc"), true).0.unwrap_err();
        assert_eq!(
            e.1,
            "Incorrect integer value: 'abc' for column 'a' at row 3"
        );
    }
}
