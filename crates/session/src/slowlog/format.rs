//! The slow query log's text, as MySQL writes it and its readers expect it.

use millpond_sql::parse::placeholders;
use millpond_sql::value::env::SqlMode;
use millpond_sql::value::time::DateTime;
use millpond_sql::value::{Value, Zone, text};
use std::fmt::Write;

/// A statement that is to be logged.
pub(crate) struct Entry<'a> {
    /// When it ended, microseconds since 1970 UTC.
    pub end_us: u64,
    /// When it began, seconds since 1970 UTC.
    pub start_s: u64,
    pub user: &'a str,
    /// As the process list shows it: `localhost` or an address and port.
    pub host: &'a str,
    /// Connection.
    pub id: u32,
    pub query_ns: u64,
    /// Waits for row and metadata locks within it.
    pub lock_ns: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    /// Database in use.
    pub database: Option<&'a str>,
    pub statement: &'a str,
}

/// What a file begins with.
pub(crate) fn head(program: &str, version: &str, port: u64, socket: &str) -> String {
    format!(
        "{program}, Version: {version} (Millpond). started with:\n\
         Tcp port: {port}  Unix socket: {socket}\n\
         Time                 Id Command    Argument\n"
    )
}

/// Host name and address, as far as they are known, of a host as the process list shows it. Names are not looked up.
fn host_and_address(host: &str) -> (&str, &str) {
    let Some((address, _)) = host.rsplit_once(':') else {
        return (host, "");
    };
    let address = address.trim_start_matches('[').trim_end_matches(']');
    match address {
        "127.0.0.1" | "::1" => ("localhost", address),
        _ => ("", address),
    }
}

impl Entry<'_> {
    /// The lines before and after where a USE goes.
    pub fn format(&self) -> (Vec<u8>, Vec<u8>) {
        let mut before = String::with_capacity(256);
        let (s, us) = (self.end_us / 1_000_000, (self.end_us % 1_000_000) as u32);
        let time = DateTime::from_unix(s as i64, us, Zone::UTC).unwrap_or_default();
        let mut at = Vec::with_capacity(32);
        text::write_datetime(time, 6, &mut at);
        // 2024-01-02 03:04:05.678901 as ISO 8601 has it.
        let at = String::from_utf8_lossy(&at).replace(' ', "T");
        let (host, address) = host_and_address(self.host);
        let seconds = |ns: u64| (ns / 1_000_000_000, ns % 1_000_000_000 / 1000);
        let (query, lock) = (seconds(self.query_ns), seconds(self.lock_ns));
        // Writing to a string cannot fail.
        let _ = write!(
            before,
            "# Time: {at}Z\n\
             # User@Host: {user}[{user}] @ {host} [{address}]  Id: {id:5}\n\
             # Query_time: {}.{:06}  Lock_time: {}.{:06} Rows_sent: {}  Rows_examined: {}\n",
            query.0,
            query.1,
            lock.0,
            lock.1,
            self.rows_sent,
            self.rows_examined,
            user = self.user,
            id = self.id,
        );
        let mut after = String::with_capacity(self.statement.len() + 32);
        let _ = write!(after, "SET timestamp={};\n{}", self.start_s, self.statement);
        after.push_str(if self.statement.ends_with(';') {
            "\n"
        } else {
            ";\n"
        });
        (before.into_bytes(), after.into_bytes())
    }
}

/// A prepared statement's text with values in place of its placeholders.
pub(crate) fn with_values(text: &str, values: &[Value<'_>], mode: SqlMode) -> String {
    let places = placeholders(text, mode);
    if places.len() != values.len() {
        return text.to_string();
    }
    let mut out = Vec::with_capacity(text.len() + 16 * values.len());
    let mut from = 0;
    for (at, value) in places.iter().zip(values) {
        out.extend_from_slice(&text.as_bytes()[from..*at]);
        literal(value, mode, &mut out);
        from = at + 1;
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    String::from_utf8_lossy(&out).into_owned()
}

/// A value as a literal.
fn literal(value: &Value<'_>, mode: SqlMode, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
            out.extend_from_slice(&value.to_text());
        }
        Value::Bytes(b) if std::str::from_utf8(b).is_err() => {
            out.extend_from_slice(b"x'");
            for byte in b.iter() {
                out.extend_from_slice(format!("{byte:02X}").as_bytes());
            }
            out.push(b'\'');
        }
        Value::Bytes(b) => quoted(b, mode, out),
        Value::Date(_) | Value::DateTime(_) | Value::Time(_) | Value::Json(_) => {
            quoted(&value.to_text(), mode, out);
        }
    }
}

fn quoted(bytes: &[u8], mode: SqlMode, out: &mut Vec<u8>) {
    out.push(b'\'');
    for &b in bytes {
        let escaped = match b {
            _ if mode.no_backslash_escapes => None,
            0 => Some(b'0'),
            b'\n' => Some(b'n'),
            b'\r' => Some(b'r'),
            0x1A => Some(b'Z'),
            b'\\' | b'\'' | b'"' => Some(b),
            _ => None,
        };
        match escaped {
            Some(e) => out.extend_from_slice(&[b'\\', e]),
            None if b == b'\'' => out.extend_from_slice(b"''"),
            None => out.push(b),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_look_like_mysql_s() {
        let mut e = Entry {
            end_us: 1_704_164_645_678_901,
            start_s: 1_704_164_645,
            user: "root",
            host: "localhost",
            id: 8,
            query_ns: 12_000_345_999,
            lock_ns: 1_500_000,
            rows_sent: 1,
            rows_examined: 20,
            database: None,
            statement: "SELECT 1",
        };
        let text = |e: &Entry<'_>| {
            let (before, after) = e.format();
            String::from_utf8([before, after].concat()).unwrap()
        };
        assert_eq!(
            text(&e),
            "# Time: 2024-01-02T03:04:05.678901Z\n\
             # User@Host: root[root] @ localhost []  Id:     8\n\
             # Query_time: 12.000345  Lock_time: 0.001500 Rows_sent: 1  Rows_examined: 20\n\
             SET timestamp=1704164645;\n\
             SELECT 1;\n"
        );
        e.host = "127.0.0.1:40312";
        e.statement = "DO 1;";
        assert!(text(&e).contains("@ localhost [127.0.0.1]  Id:"));
        assert!(text(&e).ends_with(";\nDO 1;\n"));
        e.host = "[2001:db8::1]:5";
        assert!(text(&e).contains("@  [2001:db8::1]  Id:"));
    }

    #[test]
    fn prepared_statements_show_their_values() {
        let values = [
            Value::Int(-1),
            Value::str("it's \"a\"\n\\"),
            Value::Null,
            Value::Bytes(vec![0xFF, 0x00].into()),
        ];
        let sql = "SELECT ?, '?', /* ? */ `?`, ? -- ?\n, ?, ? FROM t";
        let mut mode = SqlMode::DEFAULT;
        assert_eq!(
            with_values(sql, &values, mode),
            "SELECT -1, '?', /* ? */ `?`, 'it\\'s \\\"a\\\"\\n\\\\' -- ?\n, NULL, x'FF00' FROM t"
        );
        mode.no_backslash_escapes = true;
        assert_eq!(
            with_values("SELECT ?", &values[1..2], mode),
            "SELECT 'it''s \"a\"\n\\'"
        );
        assert_eq!(with_values("SELECT ?", &[], mode), "SELECT ?");
    }
}
