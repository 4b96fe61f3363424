//! Commits over the wire: answers come when the log is durable, in order, and each once.

use crate::support::{Client, DEPRECATE_EOF, MULTI, Packet};
use millpond_server::{Server, ServerConfig};
use millpond_session::{Instance, InstanceOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// A server on a database of its own.
pub struct Db {
    dir: PathBuf,
    pub instance: Instance,
    server: Server<Instance>,
}

impl Db {
    pub fn start(name: &str) -> Db {
        let dir =
            std::env::temp_dir().join(format!("millpond-commits-{name}-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let instance = Instance::open(InstanceOptions {
            path: dir.join("data"),
            store: millpond_store::Options {
                pool_bytes: 32 << 20,
                log_bytes: 8 << 20,
                ..millpond_store::Options::default()
            },
            variables: crate::threads::variables(),
        })
        .unwrap();
        let config = ServerConfig {
            tcp: None,
            socket: Some(dir.join("sock")),
            ..Default::default()
        };
        let server = Server::start(instance.clone(), &config).unwrap();
        Db {
            dir,
            instance,
            server,
        }
    }

    fn client(&self) -> Client {
        self.client_of(DEPRECATE_EOF | MULTI)
    }

    /// A client with these capabilities.
    pub fn client_of(&self, capabilities: u32) -> Client {
        Client::connect(&self.dir.join("sock"), capabilities)
    }

    pub fn stop(self) {
        assert_eq!(self.server.shutdown(Duration::from_secs(5)), 0);
        self.instance.close().unwrap();
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}

fn command(sql: &str) -> Vec<u8> {
    let mut p = ((sql.len() + 1) as u32).to_le_bytes().to_vec();
    p[3] = 0;
    p.push(3);
    p.extend_from_slice(sql.as_bytes());
    p
}

fn expect_ok(c: &mut Client) {
    c.seq = 1;
    match c.packet() {
        Packet::Ok { .. } => {}
        other => panic!("not OK: {other:?}"),
    }
}

#[test]
fn commands_sent_ahead_are_answered_in_order() {
    const ROUNDS: usize = 8;
    let db = Db::start("ahead");
    let mut c = db.client();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (i INT PRIMARY KEY, c INT)",
    ] {
        c.stream.write_all(&command(sql)).unwrap();
        expect_ok(&mut c);
    }
    let connections: Vec<_> = (0..4)
        .map(|t| {
            let mut c = db.client();
            std::thread::spawn(move || {
                for round in 0..ROUNDS {
                    let mut ahead = Vec::new();
                    for i in 0..50 {
                        let row = (t * ROUNDS + round) * 50 + i;
                        ahead.extend(command(&format!("INSERT INTO d.t VALUES ({row}, {i})")));
                        // An error, which nothing has to wait for, right behind a commit.
                        ahead.extend(command(&format!("INSERT INTO d.t VALUES ({row}, {i})")));
                        ahead.extend(command("BEGIN"));
                        ahead.extend(command(&format!(
                            "UPDATE d.t SET c = c + 1 WHERE i = {row}"
                        )));
                        ahead.extend(command("COMMIT"));
                    }
                    c.stream.write_all(&ahead).unwrap();
                    for _ in 0..50 {
                        expect_ok(&mut c);
                        c.seq = 1;
                        assert_eq!(c.packet().err().0, 1062);
                        expect_ok(&mut c);
                        expect_ok(&mut c);
                        expect_ok(&mut c);
                    }
                }
            })
        })
        .collect();
    for c in connections {
        c.join().unwrap();
    }
    drop(c);
    db.stop();
}

#[test]
fn several_commits_in_one_text_are_answered_one_by_one() {
    let db = Db::start("text");
    let mut c = db.client();
    let text = "CREATE DATABASE d; CREATE TABLE d.t (i INT PRIMARY KEY); INSERT INTO d.t VALUES (1); \
                INSERT INTO d.t VALUES (2); DELETE FROM d.t WHERE i = 1; COMMIT";
    c.stream.write_all(&command(text)).unwrap();
    c.seq = 1;
    for left in (0..6).rev() {
        match c.packet() {
            Packet::Ok { more } => assert_eq!(more, left > 0),
            other => panic!("not OK: {other:?}"),
        }
    }
    drop(c);
    db.stop();
}

#[test]
fn a_client_that_leaves_before_its_answer_has_still_committed() {
    let db = Db::start("leaves");
    let mut c = db.client();
    let text = "CREATE DATABASE d; CREATE TABLE d.t (i INT PRIMARY KEY)";
    c.stream.write_all(&command(text)).unwrap();
    c.seq = 1;
    for _ in 0..2 {
        assert!(matches!(c.packet(), Packet::Ok { .. }));
    }
    for i in 0..20 {
        let mut c = db.client();
        let sql = format!("INSERT INTO d.t VALUES ({i})");
        c.stream.write_all(&command(&sql)).unwrap();
        // Half closed: the server sees the end of the stream behind the command.
        c.stream.shutdown(std::net::Shutdown::Write).unwrap();
        expect_ok(&mut c);
    }
    drop(c);
    db.stop();
}
