//! A server with its data directory, and what its clients run.

use crate::threads;
use millpond_server::{PasswordKey, Server, ServerConfig};
use millpond_session::{Instance, InstanceOptions, SqlResult};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder, Row};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A server and its data directory.
pub struct Db {
    pub dir: PathBuf,
    /// Whether it has a key that passwords may be encrypted by.
    pub key: bool,
    /// Variables beside those that say how connections are served.
    pub variables: Vec<(String, String)>,
    pub running: Option<(Instance, Server<Instance>)>,
}

impl Db {
    pub fn start() -> Db {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir =
            std::env::temp_dir().join(format!("millpond-accounts-{}-{n}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let mut db = Db {
            dir,
            key: false,
            variables: Vec::new(),
            running: None,
        };
        db.open();
        db
    }

    /// The database without its server.
    pub fn instance_alone(&self) -> Instance {
        self.try_instance().unwrap()
    }

    pub fn try_instance(&self) -> SqlResult<Instance> {
        let store = millpond_store::Options {
            pool_bytes: 32 << 20,
            log_bytes: 16 << 20,
            ..millpond_store::Options::default()
        };
        Instance::open(InstanceOptions {
            path: self.dir.join("data"),
            store,
            variables: [threads::variables(), self.variables.clone()].concat(),
        })
    }

    pub fn open(&mut self) {
        let instance = self.instance_alone();
        let password_key = match self.key {
            true => PasswordKey::open(&instance).unwrap(),
            false => None,
        };
        let config = ServerConfig {
            tcp: Some("127.0.0.1:0".parse().unwrap()),
            socket: Some(self.dir.join("sock")),
            password_key,
            ..Default::default()
        };
        let server = Server::start(instance.clone(), &config).unwrap();
        self.running = Some((instance, server));
    }

    pub fn close(&mut self) {
        if let Some((instance, server)) = self.running.take() {
            server.shutdown(Duration::from_secs(5));
            instance.close().unwrap();
        }
    }

    pub fn instance(&self) -> &Instance {
        &self.running.as_ref().unwrap().0
    }

    pub fn opts(&self, user: &str, password: &str) -> OptsBuilder {
        OptsBuilder::new()
            .socket(Some(self.dir.join("sock").to_str().unwrap()))
            .user(Some(user))
            .pass(Some(password))
    }

    pub fn tcp(&self, user: &str, password: &str) -> Result<Conn, Error> {
        let port = self.running.as_ref().unwrap().1.tcp_addr().unwrap().port();
        Conn::new(
            OptsBuilder::new()
                .ip_or_hostname(Some("127.0.0.1"))
                .tcp_port(port)
                .user(Some(user))
                .pass(Some(password))
                .prefer_socket(false),
        )
    }

    pub fn login(&self, user: &str, password: &str) -> Result<Conn, Error> {
        Conn::new(self.opts(user, password))
    }

    pub fn root(&self) -> Conn {
        self.login("root", "").unwrap()
    }

    pub fn user(&self, name: &str) -> Conn {
        self.login(name, "").unwrap()
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

pub fn error<T>(result: Result<T, Error>) -> (u16, String) {
    match result {
        Err(Error::MySqlError(e)) => (e.code, e.message),
        Err(other) => panic!("{other}"),
        Ok(_) => (0, String::new()),
    }
}

pub fn run(c: &mut Conn, statements: &[&str]) {
    for sql in statements {
        c.query_drop(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// Runs a statement to the last row of its last result.
fn whole(c: &mut Conn, sql: &str) -> Result<(), Error> {
    let mut results = c.query_iter(sql)?;
    while let Some(rows) = results.iter() {
        for row in rows {
            row?;
        }
    }
    Ok(())
}

/// Statements and the errors that they end with; 0: none.
pub fn expect(c: &mut Conn, cases: &[(&str, u16)]) {
    for (sql, wanted) in cases {
        let (code, message) = error(whole(c, sql));
        assert_eq!(code, *wanted, "{sql}: {message}");
    }
}

pub fn strings(c: &mut Conn, sql: &str) -> Vec<String> {
    let rows: Vec<Row> = c.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |r: Row| r.get::<Option<String>, _>(0).unwrap().unwrap_or_default();
    rows.into_iter().map(text).collect()
}
