//! A server that speaks MySQL's protocol.

use super::{Client, Param, StatementId, Target, TextRow};
use crate::Result;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Statement, Value};

/// A server by its URL: `mysql://user:password@host:port/` or `mysql://user@localhost/?socket=/path`.
pub struct MysqlServer {
    opts: Opts,
    shown: String,
    version: String,
}

impl MysqlServer {
    /// Connects once, to know that it's there and what it is.
    pub fn at(url: &str) -> Result<MysqlServer> {
        let opts = Opts::from_url(url).map_err(|e| format!("{url}: {e}"))?;
        let opts: Opts = OptsBuilder::from_opts(opts).prefer_socket(false).into();
        let place = place(&opts);
        let mut conn = Conn::new(opts.clone()).map_err(|e| format!("{place}: {e}"))?;
        let version: Option<String> = conn.query_first("SELECT @@version")?;
        Ok(MysqlServer {
            opts,
            shown: place,
            version: version.unwrap_or_else(|| "unknown version".into()),
        })
    }

    /// Where a URL leads, without who asks there.
    pub fn place(url: &str) -> String {
        Opts::from_url(url).map_or_else(|_| "a server".into(), |opts| place(&opts))
    }
}

fn place(opts: &Opts) -> String {
    match opts.get_socket() {
        Some(path) => path.to_string(),
        None => format!("{}:{}", opts.get_ip_or_hostname(), opts.get_tcp_port()),
    }
}

impl Target for MysqlServer {
    fn describe(&self) -> String {
        format!("{} at {}", self.version, self.shown)
    }
    fn name(&self) -> String {
        short_name(&self.version)
    }
    fn connect(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(ServerClient {
            conn: Conn::new(self.opts.clone())?,
            statements: Vec::new(),
        }))
    }
}

/// What to call a server of this `@@version`.
fn short_name(version: &str) -> String {
    let number = version.split(['-', '+']).next().unwrap_or(version);
    if version.to_ascii_lowercase().contains("millpond") {
        "Millpond server".into()
    } else if version.contains("MariaDB") {
        format!("MariaDB {number}")
    } else {
        format!("MySQL {number}")
    }
}

struct ServerClient {
    conn: Conn,
    statements: Vec<Statement>,
}

impl Client for ServerClient {
    fn run(&mut self, sql: &str) -> Result<u64> {
        let mut rows = 0;
        let mut result = self.conn.query_iter(sql)?;
        while let Some(set) = result.iter() {
            for row in set {
                row?;
                rows += 1;
            }
        }
        Ok(rows)
    }
    fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        let rows: Vec<mysql::Row> = self.conn.query(sql)?;
        Ok(rows
            .into_iter()
            .map(|row| row.unwrap().into_iter().map(text).collect())
            .collect())
    }
    fn prepare(&mut self, sql: &str) -> Result<StatementId> {
        self.statements.push(self.conn.prep(sql)?);
        Ok(StatementId(self.statements.len() - 1))
    }
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<()> {
        let values: Vec<Value> = params
            .iter()
            .map(|p| match p {
                Param::Int(n) => Value::Int(*n),
                Param::Text(s) => Value::Bytes(s.as_bytes().to_vec()),
            })
            .collect();
        let statement = &self.statements[statement.0];
        self.conn.exec_drop(statement, values)?;
        Ok(())
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(b) => Some(String::from_utf8_lossy(&b).into_owned()),
        other => Some(other.as_sql(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::{MysqlServer, short_name};

    #[test]
    fn names_are_short() {
        assert_eq!(short_name("10.11.14-MariaDB-0+deb12u2"), "MariaDB 10.11.14");
        assert_eq!(short_name("8.0.43-millpond-0.1.0"), "Millpond server");
        assert_eq!(short_name("5.7.44"), "MySQL 5.7.44");
        assert_eq!(short_name("8.0.36-28"), "MySQL 8.0.36");
    }

    #[test]
    fn places_tell_no_password() {
        let place = MysqlServer::place;
        assert_eq!(place("mysql://me:secret@10.0.0.1:3307/"), "10.0.0.1:3307");
        assert_eq!(
            place("mysql://me:secret@localhost/?socket=/run/s"),
            "/run/s"
        );
        assert_eq!(place("secret"), "a server");
    }
}
