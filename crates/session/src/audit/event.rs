//! An event as a line of JSON.

use millpond_sql::value::json::write_quoted;
use millpond_sql::value::time::DateTime;
use millpond_sql::value::{Zone, text};
use std::borrow::Cow;

/// Bytes of a statement's text that are written: as many as leave room for others beside them in what waits to be written, escaped as
/// they may be.
const MOST_TEXT: usize = 256 << 10;

/// Whose connection it is about.
pub(crate) struct Who<'a> {
    /// Connection.
    pub id: u32,
    /// The account that it was let in as, as (user, host); of one that wasn't let in, what it said.
    pub account: (&'a str, &'a str),
    /// The user that it said it was.
    pub user: &'a str,
    /// As the process list shows it: `localhost` or an address and port.
    pub host: &'a str,
}

/// How a client's bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Socket,
    Tcp,
    Tls,
}

impl Transport {
    /// Of a client at `host` with TLS or without.
    pub fn of(host: &str, tls: bool) -> Transport {
        match tls {
            true => Transport::Tls,
            false if host.contains(':') => Transport::Tcp,
            false => Transport::Socket,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Transport::Socket => "socket",
            Transport::Tcp => "tcp/ip",
            Transport::Tls => "ssl",
        }
    }
}

/// What happened.
pub(crate) enum Data<'a> {
    /// To the log itself.
    Log,
    Connection {
        transport: Transport,
        /// The error that refused it; 0: none. `None`: there is nothing to refuse.
        status: Option<u16>,
        database: &'a str,
    },
    General {
        /// As the process list has it: Query, Prepare, Execute.
        command: &'a str,
        /// As status variables name it, without `Com_`.
        sql_command: &'a str,
        query: &'a str,
        status: u16,
    },
}

/// See the module above.
pub(crate) struct Event<'a> {
    pub name: &'a str,
    pub who: Option<Who<'a>>,
    pub data: Data<'a>,
}

impl Event<'_> {
    /// One of the log itself.
    pub fn of_log(name: &str) -> Event<'_> {
        Event {
            name,
            who: None,
            data: Data::Log,
        }
    }

    fn class(&self) -> &'static str {
        match self.data {
            Data::Log => "audit",
            Data::Connection { .. } => "connection",
            Data::General { .. } => "general",
        }
    }

    /// The line: what stands before its number, and what stands behind. `seconds` since 1970.
    pub fn line(&self, seconds: u64) -> (String, Vec<u8>) {
        let time = DateTime::from_unix(seconds as i64, 0, Zone::UTC).unwrap_or_default();
        let mut at = Vec::with_capacity(32);
        text::write_datetime(time, 0, &mut at);
        let at = String::from_utf8_lossy(&at);
        let head = format!("{{\"timestamp\": \"{at}\", \"id\": ");
        let mut out = Object(Vec::new());
        out.text("class", self.class());
        out.text("event", self.name);
        out.number(
            "connection_id",
            self.who.as_ref().map_or(0, |w| w.id.into()),
        );
        if let Some(who) = &self.who {
            out.object("account", |o| {
                o.text("user", who.account.0);
                o.text("host", who.account.1);
            });
            out.object("login", |o| {
                o.text("user", who.user);
                o.text("os", "");
                o.text("ip", address(who.host));
                o.text("proxy", "");
            });
        }
        match &self.data {
            Data::Log => {}
            Data::Connection {
                transport,
                status,
                database,
            } => out.object("connection_data", |o| {
                o.text("connection_type", transport.name());
                if let Some(status) = status {
                    o.number("status", (*status).into());
                    o.text("db", database);
                }
            }),
            Data::General {
                command,
                sql_command,
                query,
                status,
            } => out.object("general_data", |o| {
                o.text("command", command);
                o.text("sql_command", sql_command);
                o.text("query", &cut(query));
                o.number("status", (*status).into());
            }),
        }
        out.end();
        out.0.push(b'\n');
        (head, out.0)
    }
}

/// A text as it is written: of one that is too long its beginning, and how much more there was.
fn cut(query: &str) -> Cow<'_, str> {
    if query.len() <= MOST_TEXT {
        return query.into();
    }
    let end = (0..=MOST_TEXT).rev().find(|at| query.is_char_boundary(*at));
    let (begin, rest) = query.split_at(end.unwrap_or(0));
    format!("{begin}... ({} bytes more)", rest.len()).into()
}

/// The address of a host as the process list shows it; empty on a socket.
fn address(host: &str) -> &str {
    let address = host.rsplit_once(':').map_or("", |(address, _)| address);
    address.trim_start_matches('[').trim_end_matches(']')
}

/// A JSON object being written, or what is left of one.
struct Object(Vec<u8>);

impl Object {
    fn name(&mut self, name: &str) {
        if self.0.last() != Some(&b'{') {
            self.0.extend_from_slice(b", ");
        }
        write_quoted(name, &mut self.0);
        self.0.extend_from_slice(b": ");
    }
    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        write_quoted(value, &mut self.0);
    }
    fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        self.0.extend_from_slice(value.to_string().as_bytes());
    }
    fn object(&mut self, name: &str, put: impl FnOnce(&mut Object)) {
        self.name(name);
        self.0.push(b'{');
        put(self);
        self.end();
    }
    fn end(&mut self) {
        self.0.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(event: &Event<'_>, id: u64, seconds: u64) -> String {
        let (head, tail) = event.line(seconds);
        format!("{head}{id}{}", String::from_utf8(tail).unwrap())
    }

    #[test]
    fn long_texts_are_cut() {
        let most = "a".repeat(MOST_TEXT);
        assert_eq!(cut(&most), most);
        // Not within a character.
        let long = format!("{}\u{e9}bc", &most[1..]);
        assert_eq!(cut(&long), format!("{}... (4 bytes more)", &most[1..]));
    }

    #[test]
    fn lines_are_json_as_mysql_s() {
        let who = Who {
            id: 12,
            account: ("app", "%"),
            user: "app",
            host: "[2001:db8::1]:5",
        };
        let event = Event {
            name: "status",
            who: Some(who),
            data: Data::General {
                command: "Query",
                sql_command: "create_table",
                query: "CREATE TABLE `a\"b` (x INT)\n",
                status: 1142,
            },
        };
        assert_eq!(
            numbered(&event, 7, 1_704_164_645),
            "{\"timestamp\": \"2024-01-02 03:04:05\", \"id\": 7, \"class\": \"general\", \"event\": \"status\", \"connection_id\": 12, \
             \"account\": {\"user\": \"app\", \"host\": \"%\"}, \"login\": {\"user\": \"app\", \"os\": \"\", \"ip\": \"2001:db8::1\", \
             \"proxy\": \"\"}, \"general_data\": {\"command\": \"Query\", \"sql_command\": \"create_table\", \
             \"query\": \"CREATE TABLE `a\\\"b` (x INT)\\n\", \"status\": 1142}}\n"
        );
        let event = Event::of_log("startup");
        assert_eq!(
            numbered(&event, 0, 0),
            "{\"timestamp\": \"1970-01-01 00:00:00\", \"id\": 0, \"class\": \"audit\", \"event\": \"startup\", \"connection_id\": 0}\n"
        );
    }
}
