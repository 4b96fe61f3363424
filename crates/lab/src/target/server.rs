//! A server that speaks MySQL's protocol.

use super::{Client, Target};
use crate::Result;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

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
        let place = match opts.get_socket() {
            Some(path) => path.to_string(),
            None => format!("{}:{}", opts.get_ip_or_hostname(), opts.get_tcp_port()),
        };
        let mut conn = Conn::new(opts.clone()).map_err(|e| format!("{place}: {e}"))?;
        let version: Option<String> = conn.query_first("SELECT @@version")?;
        Ok(MysqlServer {
            opts,
            shown: place,
            version: version.unwrap_or_else(|| "unknown version".into()),
        })
    }
}

impl Target for MysqlServer {
    fn describe(&self) -> String {
        format!("{} at {}", self.version, self.shown)
    }
    fn connect(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(ServerClient(Conn::new(self.opts.clone())?)))
    }
}

struct ServerClient(Conn);

impl Client for ServerClient {
    fn run(&mut self, sql: &str) -> Result<u64> {
        let mut rows = 0;
        let mut result = self.0.query_iter(sql)?;
        while let Some(set) = result.iter() {
            for row in set {
                row?;
                rows += 1;
            }
        }
        Ok(rows)
    }
    fn value(&mut self, sql: &str) -> Result<Option<String>> {
        let row: Option<mysql::Row> = self.0.query_first(sql)?;
        let value = row.and_then(|mut r| r.take::<mysql::Value, _>(0));
        Ok(match value {
            None | Some(mysql::Value::NULL) => None,
            Some(mysql::Value::Bytes(b)) => Some(String::from_utf8_lossy(&b).into_owned()),
            Some(other) => Some(other.as_sql(true)),
        })
    }
}
