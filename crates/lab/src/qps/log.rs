//! MySQL's slow log.
//!
//! An entry is some lines that begin with `#`, `use` and `SET timestamp` lines, and the statement:
//!
//! ```text
//! # Time: 2026-11-20T12:00:00.123456Z          (8.0; before: 261120 12:00:00, and only when the second changes)
//! # User@Host: root[root] @ localhost []  Id:     8
//! # Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
//! SET timestamp=1795348800;
//! SELECT 1;
//! ```
//!
//! A statement's text may itself hold lines that begin with `#`; only the headers that the server writes are taken as such.
//! Whatever is none of this, like the lines that a server writes when it starts, is passed over.

use std::io::BufRead;

/// Characters of a statement that are kept.
const KEPT: usize = 80;

/// A statement and how long it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// Unix time: of `SET timestamp`, else of `# Time`.
    pub at: f64,
    /// Seconds.
    pub took: f64,
    /// The beginning of its text.
    pub statement: String,
}

impl Entry {
    /// Whether it changes tables as wholes, of a kind that stalls others.
    pub fn is_ddl(&self) -> bool {
        let mut words = self.statement.split_whitespace();
        let word = words.next().unwrap_or("").to_ascii_uppercase();
        matches!(word.as_str(), "DROP" | "TRUNCATE" | "ALTER" | "OPTIMIZE")
    }
}

/// The entries of a log, in its order.
pub(super) struct Entries<R> {
    log: R,
    line: Vec<u8>,
    /// Of the last `# Time`, which older servers write once per second.
    time: Option<f64>,
    /// Headers of the entry being read.
    open: Open,
    done: bool,
}

#[derive(Default)]
struct Open {
    took: Option<f64>,
    timestamp: Option<f64>,
    statement: String,
    /// A header was the line before.
    in_headers: bool,
}

impl<R: BufRead> Entries<R> {
    pub fn new(log: R) -> Entries<R> {
        Entries {
            log,
            line: Vec::new(),
            time: None,
            open: Open::default(),
            done: false,
        }
    }

    /// The entry that was open, if it is one.
    fn close(&mut self) -> Option<Entry> {
        let open = std::mem::take(&mut self.open);
        Some(Entry {
            took: open.took?,
            at: open.timestamp.or(self.time)?,
            statement: open.statement,
        })
    }

    /// Takes a line; the entry that it ends, if it does.
    fn take(&mut self, line: &str) -> Option<Entry> {
        if let Some(header) = header(line) {
            // The first header after a statement begins another entry.
            let ended = match self.open.in_headers {
                true => None,
                false => self.close(),
            };
            self.open.in_headers = true;
            match header {
                Header::Time(t) => self.time = t.or(self.time),
                Header::QueryTime(t) => self.open.took = Some(t),
                Header::Other => {}
            }
            return ended;
        }
        // The first lines of text still belong to the server.
        if let Some(t) = timestamp(line).filter(|_| self.open.statement.is_empty()) {
            self.open.timestamp = Some(t);
        } else if self.open.statement.is_empty() && !is_use(line) {
            self.open.statement = line.trim().chars().take(KEPT).collect();
        }
        self.open.in_headers = false;
        None
    }
}

impl<R: BufRead> Iterator for Entries<R> {
    type Item = std::io::Result<Entry>;
    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            self.line.clear();
            match self.log.read_until(b'\n', &mut self.line) {
                Err(e) => {
                    self.done = true;
                    return Some(Err(e));
                }
                Ok(0) => {
                    self.done = true;
                    return self.close().map(Ok);
                }
                Ok(_) => {}
            }
            let line = std::mem::take(&mut self.line);
            let ended = self.take(String::from_utf8_lossy(&line).trim_end());
            self.line = line;
            if let Some(entry) = ended {
                return Some(Ok(entry));
            }
        }
        None
    }
}

enum Header {
    Time(Option<f64>),
    QueryTime(f64),
    Other,
}

fn header(line: &str) -> Option<Header> {
    let rest = line.strip_prefix("# ")?;
    if let Some(time) = rest.strip_prefix("Time: ") {
        return Some(Header::Time(time_of(time.trim())));
    }
    if let Some(figures) = rest.strip_prefix("Query_time: ") {
        let seconds = figures.split_whitespace().next()?.parse().ok()?;
        return Some(Header::QueryTime(seconds));
    }
    // What Percona Server and MariaDB add.
    const OTHERS: [&str; 12] = [
        "User@Host: ",
        "Thread_id: ",
        "Schema: ",
        "Rows_affected: ",
        "Bytes_sent: ",
        "Tmp_tables: ",
        "QC_Hit: ",
        "Full_scan: ",
        "Filesort: ",
        "InnoDB_",
        "Log_slow_",
        "Stored_routine: ",
    ];
    let known = OTHERS.iter().any(|o| rest.starts_with(o));
    known.then_some(Header::Other)
}

fn timestamp(line: &str) -> Option<f64> {
    let rest = line.strip_prefix("SET timestamp=")?;
    rest.trim_end().trim_end_matches(';').parse().ok()
}

fn is_use(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    line.is_empty() || (line.starts_with("use ") && line.ends_with(';'))
}

/// Unix time of `2026-11-20T12:00:00.123456Z`, `2026-11-20T13:00:00.5+01:00` or `261120 12:00:00`. The last says nothing of its
/// zone and is taken as UTC.
fn time_of(text: &str) -> Option<f64> {
    match text.split_once('T') {
        Some((date, rest)) => {
            let mut ymd = date.split('-').map(|p| p.parse::<i64>().ok());
            let (y, m, d) = (ymd.next()??, ymd.next()??, ymd.next()??);
            let (clock, east) = zone(rest)?;
            Some((days(y, m, d) * 86_400 - east) as f64 + seconds_of(clock)?)
        }
        None => {
            let (date, clock) = text.split_once(' ')?;
            let date: i64 = date.parse().ok()?;
            let (y, m, d) = (2000 + date / 10_000, date / 100 % 100, date % 100);
            Some((days(y, m, d) * 86_400) as f64 + seconds_of(clock.trim())?)
        }
    }
}

/// The clock, and seconds east of UTC.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let at = text.rfind(['+', '-'])?;
    let (clock, offset) = text.split_at(at);
    let (h, m) = offset[1..].split_once(':')?;
    let east = h.parse::<i64>().ok()? * 3600 + m.parse::<i64>().ok()? * 60;
    Some((clock, if offset.starts_with('-') { -east } else { east }))
}

/// Seconds since midnight.
fn seconds_of(clock: &str) -> Option<f64> {
    let mut parts = clock.split(':');
    let h: f64 = parts.next()?.trim().parse().ok()?;
    let m: f64 = parts.next()?.parse().ok()?;
    let s: f64 = parts.next()?.parse().ok()?;
    Some(h * 3600.0 + m * 60.0 + s)
}

/// Days since 1970-01-01 of a date in the Gregorian calendar: years begin in March, so that the leap day is last.
fn days(y: i64, m: i64, d: i64) -> i64 {
    let y = if m <= 2 { y - 1 } else { y };
    let era = y.div_euclid(400);
    let year = y - era * 400;
    let day = (153 * ((m + 9) % 12) + 2) / 5 + d - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Entry> {
        Entries::new(text.as_bytes()).map(Result::unwrap).collect()
    }

    #[test]
    fn mysql_8() {
        let log = "/usr/sbin/mysqld, Version: 8.0.36. started with:\nTcp port: 3306  Unix socket: /s\n\
            Time                 Id Command    Argument\n\
            # Time: 2026-11-20T12:00:00.500000Z\n# User@Host: root[root] @ localhost []  Id:     8\n\
            # Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
            use sbtest;\nSET timestamp=1795176000;\nSELECT c\n# Not a header\nFROM sbtest1;\n\
            # Time: 2026-11-20T12:00:01.500000Z\n# User@Host: root[root] @ localhost []  Id:     8\n\
            # Query_time: 1.5  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\nSET timestamp=1795176000;\ndrop table t;\n";
        let entries = read(log);
        assert_eq!(entries.len(), 2);
        assert_eq!(
            (entries[0].at, entries[0].took),
            (1_795_176_000.0, 0.000123)
        );
        assert_eq!(entries[0].statement, "SELECT c");
        assert!(!entries[0].is_ddl() && entries[1].is_ddl());
    }

    #[test]
    fn mariadb_writes_the_time_once_per_second() {
        let log = "# Time: 261120 12:00:00\n# User@Host: root[root] @ localhost []\n\
            # Thread_id: 5  Schema: x  QC_hit: No\n# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0\n\
            # Rows_affected: 0  Bytes_sent: 11\nSET timestamp=1795176000;\nSELECT 1;\n\
            # User@Host: root[root] @ localhost []\n# Query_time: 0.2  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0\n\
            SELECT 2;\n";
        let entries = read(log);
        let took: Vec<f64> = entries.iter().map(|e| e.took).collect();
        assert_eq!(took, [0.1, 0.2]);
        // The second has no timestamp of its own: the time of the last header holds.
        assert_eq!(entries[1].at, 1_795_176_000.0);
    }

    #[test]
    fn times_are_read_in_all_forms() {
        let noon = 1_795_176_000.0;
        assert_eq!(time_of("2026-11-20T12:00:00Z"), Some(noon));
        assert_eq!(time_of("2026-11-20T13:00:00.5+01:00"), Some(noon + 0.5));
        assert_eq!(time_of("261120 12:00:00"), Some(noon));
        assert_eq!(time_of("261120  9:00:00"), Some(noon - 3.0 * 3600.0));
        assert_eq!(time_of("yesterday"), None);
        assert_eq!((days(1970, 1, 1), days(2000, 3, 1)), (0, 11_017));
    }

    #[test]
    fn rubbish_is_passed_over() {
        assert_eq!(read(""), []);
        assert_eq!(read("hello\nworld\n"), []);
        assert_eq!(read("# Time: x\n# Query_time: many\nSELECT 1;\n"), []);
        let cut = "# Time: 2026-11-20T12:00:00Z\n# Query_time: 0.1  Lock_time: 0\n\u{fffd}SELECT";
        assert_eq!(read(cut).len(), 1);
    }
}
