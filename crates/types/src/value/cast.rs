//! What conversions of values complain of that are not assigned: those of CAST, CONVERT and arithmetic.

use std::borrow::Cow;

use super::assign::printable;
use super::env::ConversionEnv;
use super::time::{DateTime, Time};
use super::{Value, parse_time};
use crate::error::SqlResult;
use crate::types::Charset;

/// Complaint 1292 about a conversion that loses something.
#[cold]
pub fn truncated(session: &ConversionEnv, kind: &str, v: &Value<'_>) -> SqlResult<()> {
    let text = v.to_text();
    session.complain(
        1292,
        format!("Truncated incorrect {kind} value: '{}'", printable(&text)),
    )
}

/// The number that a text begins with, and whether the text is nothing but one. A blank text is 0.
pub fn double_of_text(b: &[u8]) -> (f64, bool) {
    let (v, used) = super::convert::double_prefix(b);
    (v, b[used..].trim_ascii().is_empty())
}

/// The number that a text is in arithmetic and comparisons; what is none is complained of.
pub fn number_of_text(b: &[u8], session: &ConversionEnv) -> SqlResult<f64> {
    let (v, whole) = double_of_text(b);
    if !whole {
        truncated(session, "DOUBLE", &Value::Bytes(Cow::Borrowed(b)))?;
    }
    Ok(v)
}

/// The time that a value is; of a text or a number that is none, or beyond the greatest one, it is complained. A text beyond it is the
/// greatest time, a number none.
pub fn read_time(value: &Value<'_>, session: &ConversionEnv) -> SqlResult<Option<Time>> {
    let parsed = match value {
        Value::Bytes(b) => parse_time::parse_time(b),
        // Its 64 bits are read as a signed number's.
        Value::UInt(n) => Value::Int(*n as i64)
            .number_as_time()
            .filter(|p| !p.clamped),
        number if number.is_number() => number.number_as_time().filter(|p| !p.clamped),
        other => {
            let time = other.to_time();
            if time.is_none() {
                truncated(session, "time", value)?;
            }
            return Ok(time);
        }
    };
    if parsed.is_none_or(|p| p.trailing || p.clamped) {
        truncated(session, "time", value)?;
    }
    if let (Value::Bytes(text), Some(p)) = (value, &parsed)
        && p.dated
    {
        session.warn_of_delimiter(text, session.rows_sent.get() + 1);
    }
    Ok(parsed.map(|p| p.value))
}

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Read {
    Date,
    DateTime,
}

/// The date and time that a value is; of a text or a number that is none it is complained. Times are left to the caller. A text of
/// zeros is none where sql_mode has no zero dates, but what is a date already may be the zero one.
pub fn read_datetime(
    value: &Value<'_>,
    read: Read,
    session: &ConversionEnv,
) -> SqlResult<Option<DateTime>> {
    let Value::Bytes(text) = value else {
        let date = value.to_datetime_in(session.sql_mode.get());
        if date.is_none() {
            no_datetime(value, read, session)?;
        }
        return Ok(date);
    };
    let mode = session.sql_mode.get();
    let parsed = parse_time::parse_datetime_in(text, mode)
        .filter(|p| !(mode.no_zero_date && p.value.date.is_zero()));
    if parsed.is_some() {
        session.warn_of_delimiter(text, session.rows_sent.get() + 1);
    }
    match parsed {
        None => no_datetime(value, read, session)?,
        Some(p) if p.trailing => {
            let timed = read == Read::DateTime && p.has_time;
            truncated(session, if timed { "datetime" } else { "date" }, value)?;
        }
        Some(_) => {}
    }
    Ok(parsed.map(|p| p.value))
}

/// Complaint 1292 about a text or a number that is no date, or none that may be; a date or time is dropped without a word.
pub fn no_datetime(value: &Value<'_>, read: Read, session: &ConversionEnv) -> SqlResult<()> {
    match value {
        Value::Bytes(_) if read == Read::Date => truncated(session, "date", value),
        Value::Null | Value::Date(_) | Value::DateTime(_) | Value::Time(_) => Ok(()),
        _ => {
            let text = printable(&value.to_text());
            session.complain(1292, format!("Incorrect datetime value: '{text}'"))
        }
    }
}

/// What error and warning 1300 say of bytes that are no UTF-8.
pub fn not_utf8(b: &[u8]) -> Option<String> {
    let good = std::str::from_utf8(b).err()?.valid_up_to();
    Some(invalid(Charset::Utf8mb4, &b[good..]))
}

/// What error and warning 1300 say of bytes that mean nothing in a character set.
pub fn invalid(charset: Charset, bad: &[u8]) -> String {
    let shown: String = bad.iter().take(3).map(|b| format!("{b:02X}")).collect();
    format!("Invalid {} character string: '{shown}'", charset.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{BaseType, Collation, SqlType};
    use crate::value::env::tests::env;
    use crate::value::{Decimal, cast};

    #[test]
    fn casts() {
        let session = env();
        let decimal = |s: &str| Value::Decimal(Decimal::parse_prefix(s.as_bytes()).value);
        let char2 = SqlType {
            length: 2,
            ..SqlType::new(BaseType::Char)
        };
        for (v, ty, want, warns) in [
            (Value::UInt(u64::MAX), SqlType::bigint(), "-1", false),
            (
                Value::Int(-1),
                SqlType::ubigint(),
                "18446744073709551615",
                false,
            ),
            (Value::str("1.9"), SqlType::bigint(), "1", true),
            (Value::str("abc"), SqlType::bigint(), "0", true),
            (Value::Double(2.6), SqlType::bigint(), "3", false),
            (
                Value::Double(1e20),
                SqlType::bigint(),
                "9223372036854775807",
                true,
            ),
            (
                Value::Double(-1e20),
                SqlType::bigint(),
                "-9223372036854775808",
                true,
            ),
            (
                Value::Double(1e19),
                SqlType::ubigint(),
                "10000000000000000000",
                false,
            ),
            (
                decimal("9223372036854775808.0"),
                SqlType::bigint(),
                "9223372036854775807",
                true,
            ),
            (
                decimal("-1e40"),
                SqlType::bigint(),
                "-9223372036854775808",
                true,
            ),
            (
                Value::str("18446744073709551615"),
                SqlType::bigint(),
                "-1",
                false,
            ),
            (
                Value::str("99999999999999999999x"),
                SqlType::ubigint(),
                "18446744073709551615",
                true,
            ),
            (Value::str("1.255"), SqlType::decimal(10, 2), "1.26", false),
            (Value::Int(12345), SqlType::decimal(4, 2), "99.99", true),
            (Value::Int(123), char2, "12", true),
            (
                Value::str("2024-01-31 10:00:00"),
                SqlType::new(BaseType::Date),
                "2024-01-31",
                false,
            ),
            (
                Value::str("junk"),
                SqlType::new(BaseType::Date),
                "NULL",
                true,
            ),
            (
                Value::Int(20240131),
                SqlType::datetime(0),
                "2024-01-31 00:00:00",
                false,
            ),
            (
                Value::str("10:11"),
                SqlType::new(BaseType::Time),
                "10:11:00",
                false,
            ),
            (
                Value::str("x"),
                SqlType::varchar(5, Collation::Binary),
                "x",
                false,
            ),
        ] {
            session.diagnostics.borrow_mut().clear();
            let shown = format!("{v:?} as {}", ty.column_type());
            let got = cast(v, &ty, &session).unwrap();
            let mut out = Vec::new();
            if got.is_null() {
                out.extend_from_slice(b"NULL")
            } else {
                crate::value::write_text(&got, &ty, &mut out)
            }
            assert_eq!(String::from_utf8(out).unwrap(), want, "{shown}");
            assert_eq!(!session.diagnostics.borrow().is_empty(), warns, "{shown}");
        }
    }
}
