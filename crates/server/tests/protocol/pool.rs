//! Connections that share threads: what they don't notice of it, and what they take.

use std::io::Write;
use std::time::Duration;

use millpond_server::{Server, ServerConfig};
use millpond_session::{Instance, InstanceOptions};

use crate::stop;
use crate::support::{Client, DEPRECATE_EOF, Fake, Packet, start, wait_for};

/// A server in which no connection keeps a thread, and two statements run at a time.
fn crowd() -> Fake {
    Fake::default()
        .with("millpond_thread_pool_keep", 0)
        .with("thread_pool_size", 1)
        .with("thread_pool_stall_limit", 10)
}

/// Whether threads are shared in this run of the tests.
fn shared() -> bool {
    std::env::var("MILLPOND_TEST_THREADS").as_deref() != Ok("own")
}

/// Returns when no thread serves a connection.
fn wait_until_parked(fake: &Fake) {
    wait_for(|| {
        let threads = fake.threads();
        threads.threads == threads.idle
    });
}

fn ping(c: &mut Client) {
    c.command(b"\x0e");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
}

#[test]
fn idle_connections_take_no_thread() {
    if !shared() {
        return;
    }
    for fake in [Fake::default(), crowd()] {
        let (server, dir) = start(fake.clone());
        let mut all: Vec<_> = (0..50).map(|_| Client::connect(dir.socket(), 0)).collect();
        for _ in 0..3 {
            wait_until_parked(&fake);
            all.iter_mut().for_each(ping);
        }
        // Those that are busy at the same time have threads enough, however long they take.
        for c in &mut all {
            c.command(b"\x03wait");
        }
        fake.wait_until_all_run(50);
        fake.release();
        for c in &mut all {
            assert!(matches!(c.packet(), Packet::Ok { .. }));
        }
        drop(all);
        wait_for(|| server.connections() == 0);
        stop(server);
        assert_eq!(fake.threads().threads, 0);
    }
}

#[test]
fn a_connection_that_nobody_serves_is_killed_at_once() {
    for fake in [Fake::default(), crowd()] {
        let (server, dir) = start(fake.clone());
        let mut victim = Client::connect(dir.socket(), 0);
        let mut killer = Client::connect(dir.socket(), 0);
        if shared() {
            wait_until_parked(&fake);
        }
        killer.command(&[&[0x0c], &victim.id.to_le_bytes()[..]].concat());
        assert!(matches!(killer.packet(), Packet::Ok { .. }));
        assert!(victim.gone());
        wait_for(|| server.connections() == 1);
        stop(server);
    }
}

#[test]
fn one_that_nobody_serves_notices_that_its_client_goes_and_that_the_server_stops() {
    for fake in [Fake::default(), crowd()] {
        let (server, dir) = start(fake.clone());
        let gone = Client::connect(dir.socket(), 0);
        let mut left = Client::connect(dir.socket(), 0);
        let mut guest = Client::greeted(dir.socket());
        if shared() {
            wait_until_parked(&fake);
        }
        drop(gone);
        wait_for(|| server.connections() == 2);
        stop(server);
        assert!(left.gone() && guest.gone());
    }
}

#[test]
fn silence_ends_one_in_a_crowd() {
    let (server, dir) = start(crowd().with("wait_timeout", 1));
    let mut c = Client::connect(dir.socket(), 0);
    c.seq = 0;
    assert_eq!(c.packet().err().0, 4031);
    assert!(c.gone());
    wait_for(|| server.connections() == 0);
    stop(server);
}

#[test]
fn commands_sent_ahead_are_answered_in_order_in_a_crowd() {
    let (server, dir) = start(crowd());
    let mut clients: Vec<_> = (0..8)
        .map(|_| Client::connect(dir.socket(), DEPRECATE_EOF))
        .collect();
    for c in &mut clients {
        let mut bytes = Vec::new();
        for i in 0..300 {
            let text = format!("\x03echo {i}");
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        // In two pieces, the first of which ends within a packet.
        let (a, b) = bytes.split_at(bytes.len() / 2 + 1);
        c.stream.write_all(a).unwrap();
        c.stream.write_all(b).unwrap();
    }
    for c in &mut clients {
        for i in 0..300 {
            c.seq = 1;
            let rows = c.result_set();
            assert_eq!(rows[0][0], Some(i.to_string().into_bytes()));
        }
    }
    stop(server);
}

#[test]
fn a_panic_in_a_crowd_ends_its_connection_alone() {
    let fake = crowd();
    let (server, dir) = start(fake.clone());
    let mut bystander = Client::connect(dir.socket(), 0);
    for _ in 0..10 {
        let mut c = Client::connect(dir.socket(), 0);
        c.command(b"\x03panic");
        assert_eq!(c.packet().err().0, 1815);
        assert!(c.gone());
        ping(&mut bystander);
    }
    stop(server);
}

/// Statements that run for long make room, and so do those that wait for a lock, before any limit.
#[test]
fn long_statements_and_locks_hold_up_nobody() {
    let name = format!("millpond-pool-{}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir(&dir).unwrap();
    let said = |name: &str, value: &str| (name.to_string(), value.to_string());
    let instance = Instance::open(InstanceOptions {
        path: dir.join("data"),
        store: millpond_store::Options {
            pool_bytes: 32 << 20,
            log_bytes: 8 << 20,
            ..millpond_store::Options::default()
        },
        variables: vec![
            said("millpond_thread_pool_keep", "0"),
            said("thread_pool_size", "1"),
            // None of what follows is as long.
            said("thread_pool_stall_limit", "3600000"),
        ],
    })
    .unwrap();
    let socket = dir.join("sock");
    let config = ServerConfig {
        socket: Some(socket.clone()),
        ..Default::default()
    };
    let server = Server::start(instance.clone(), &config).unwrap();
    let connect = || Client::connect(&socket, DEPRECATE_EOF);
    let ask = |c: &mut Client, sql: &str| c.command(format!("\x03{sql}").as_bytes());
    let run = |c: &mut Client, sql: &str| {
        ask(c, sql);
        assert!(matches!(c.packet(), Packet::Ok { .. }), "{sql}");
    };
    let mut holder = connect();
    run(&mut holder, "CREATE DATABASE d");
    run(&mut holder, "CREATE TABLE d.t (i INT PRIMARY KEY, n INT)");
    run(&mut holder, "INSERT INTO d.t VALUES (1, 0)");
    ask(&mut holder, "SELECT GET_LOCK('l', 0)");
    holder.result_set();
    run(&mut holder, "BEGIN");
    run(&mut holder, "UPDATE d.t SET n = n + 1");
    let mut waiters: Vec<_> = (0..10).map(|_| connect()).collect();
    for (i, c) in waiters.iter_mut().enumerate() {
        match i % 2 {
            0 => ask(c, "UPDATE d.t SET n = n + 1"),
            _ => ask(c, "SELECT GET_LOCK('l', 600)"),
        }
    }
    let mut other = connect();
    let mut sleeper = connect();
    ask(&mut sleeper, "SELECT SLEEP(600)");
    let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Query'";
    wait_for(|| {
        ask(&mut other, running);
        other.result_set()[0][0].as_deref() == Some(b"12")
    });
    run(&mut holder, "COMMIT");
    for c in waiters.iter_mut().step_by(2) {
        assert!(matches!(c.packet(), Packet::Ok { .. }));
    }
    let mut killer = connect();
    run(&mut killer, &format!("KILL {}", sleeper.id));
    for c in waiters.iter().skip(1).step_by(2) {
        run(&mut killer, &format!("KILL {}", c.id));
    }
    drop((holder, waiters, other, sleeper, killer));
    assert_eq!(server.shutdown(Duration::from_secs(5)), 0);
    instance.close().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
