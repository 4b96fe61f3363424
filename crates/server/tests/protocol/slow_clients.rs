//! Clients that are slow to read, to write, or to log in: what each may take of the server has a bound.

use std::io::{Read, Write};
use std::time::Duration;

use crate::stop;
use crate::support::{Client, DEPRECATE_EOF, Fake, start, wait_for};

fn fakes() -> [Fake; 2] {
    let crowd = Fake::default()
        .with("millpond_thread_pool_keep", 0)
        .with("thread_pool_size", 1);
    [Fake::default(), crowd]
}

#[test]
fn a_client_that_reads_no_more_of_a_result_is_given_up() {
    for fake in fakes() {
        let (server, dir) = start(fake.with("net_write_timeout", 1));
        let mut c = Client::connect(dir.socket(), DEPRECATE_EOF);
        c.command(b"\x03rows 4000000000");
        c.stream.read_exact(&mut [0; 10_000]).unwrap();
        wait_for(|| server.connections() == 0);
        // What had been sent is still there, but for the end.
        let mut rest = Vec::new();
        let _ = c.stream.read_to_end(&mut rest);
        assert!(rest.len() < 8 << 20);
        stop(server);
    }
}

#[test]
fn a_client_that_sends_and_never_reads_is_given_up() {
    for fake in fakes() {
        let (server, dir) = start(fake.with("net_write_timeout", 1));
        let c = Client::connect(dir.socket(), DEPRECATE_EOF);
        let mut stream = c.stream.try_clone().unwrap();
        let sender = std::thread::spawn(move || {
            let text = b"\x03rows 2000";
            let command = [&(text.len() as u32).to_le_bytes()[..], text].concat();
            while stream.write_all(&command).is_ok() {}
        });
        wait_for(|| server.connections() == 0);
        sender.join().unwrap();
        stop(server);
    }
}

#[test]
fn a_packet_that_does_not_end_ends_its_connection() {
    for fake in fakes() {
        let (server, dir) = start(fake.with("net_read_timeout", 1));
        let mut c = Client::connect(dir.socket(), 0);
        c.stream.write_all(&[100, 0, 0, 0, 3, b'o']).unwrap();
        c.seq = 1;
        assert_eq!(c.packet().err().0, 1159);
        assert!(c.gone());
        wait_for(|| server.connections() == 0);
        stop(server);
    }
}

/// Each byte comes in time, and all of them never.
#[test]
fn a_login_ends_however_busy_its_client_is_with_it() {
    for fake in fakes() {
        let (server, dir) = start(fake.with("connect_timeout", 1));
        let mut c = Client::greeted(dir.socket());
        c.stream.write_all(&[200, 0, 0, 1]).unwrap();
        while c.stream.write_all(&[0]).is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
        wait_for(|| server.connections() == 0);
        stop(server);
    }
}

#[test]
fn clients_that_say_nothing_take_no_thread() {
    for fake in fakes() {
        let (server, dir) = start(fake.clone().with("connect_timeout", 1));
        let mut all: Vec<_> = (0..100).map(|_| Client::greeted(dir.socket())).collect();
        if std::env::var("MILLPOND_TEST_THREADS").as_deref() != Ok("own") {
            assert_eq!(fake.threads().threads, fake.threads().idle);
        }
        for c in &mut all {
            assert_eq!(c.packet().err().0, 4031);
            assert!(c.gone());
        }
        wait_for(|| server.connections() == 0);
        stop(server);
    }
}
