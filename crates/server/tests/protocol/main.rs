//! The protocol layer against a stand-in for the database, byte by byte.

mod attributes;
mod bytes;
mod charsets;
mod client_files;
mod commits;
mod no_index;
mod pool;
mod shutdown;
mod slow_clients;
mod support;
#[path = "../threads/mod.rs"]
mod threads;
mod tracking;

use millpond_server::Server;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use support::{Client, DEPRECATE_EOF, Fake, MULTI, Packet, start};

const GRACE: Duration = Duration::from_secs(5);

fn stop(server: Server<Fake>) {
    assert_eq!(server.shutdown(GRACE), 0);
}

#[test]
fn login_ping_quit() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), 0);
    c.command(b"\x0e");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    c.command(b"\x01");
    assert!(c.gone());
    stop(server);
}

#[test]
fn only_root_without_a_password_is_let_in() {
    let (server, dir) = start(Fake::default());
    for (user, auth) in [
        ("bob", &b""[..]),
        ("root", b"12345678901234567890"),
        ("", b""),
    ] {
        let mut c = Client::greeted(dir.socket());
        c.respond(user, auth, "mysql_native_password", 0, None);
        let e = c.packet().err();
        assert_eq!((e.0, e.1.as_str()), (1045, "28000"));
        assert!(e.2.contains(&format!("'{user}'@'localhost'")), "{}", e.2);
        assert!(c.gone());
    }
    stop(server);
}

#[test]
fn other_plugins_are_asked_to_switch() {
    let (server, dir) = start(Fake::default());
    // Where no password is needed one plugin's nothing is as good as another's.
    let mut c = Client::greeted(dir.socket());
    c.respond("root", b"\0", "caching_sha2_password", 0, None);
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    let mut c = Client::greeted(dir.socket());
    c.respond("root", &[7; 32], "caching_sha2_password", 0, None);
    let request = c.raw();
    assert!(request.starts_with(b"\xfemysql_native_password\0"));
    assert_eq!(request.len(), 1 + 22 + 20 + 1);
    c.send(b"secret-secret-secret");
    assert_eq!(c.packet().err().0, 1045);
    stop(server);
}

/// MariaDB's client library names such a plugin when another thread is just loading the one of the greeting, and then waits to be asked.
#[test]
fn a_client_without_the_plugin_is_asked_to_switch_even_without_a_password() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::greeted(dir.socket());
    c.respond("root", b"", "dummy_fallback_auth", 0, None);
    assert!(c.raw().starts_with(b"\xfemysql_native_password\0"));
    c.send(b"");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    stop(server);
}

#[test]
fn a_database_that_is_not_there_refuses_the_login() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::greeted(dir.socket());
    c.respond("root", b"", "mysql_native_password", 0, Some("nowhere"));
    assert_eq!(c.packet().err().0, 1049);
    let mut c = Client::connect(dir.socket(), 0);
    c.command(b"\x02nowhere");
    assert_eq!(c.packet().err().0, 1049);
    c.command(b"\x02test");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    stop(server);
}

#[test]
fn rows_come_with_and_without_eof_packets() {
    let (server, dir) = start(Fake::default());
    for caps in [0, DEPRECATE_EOF] {
        let mut c = Client::connect(dir.socket(), caps);
        for n in [0, 1, 3, 5000] {
            c.command(format!("\x03rows {n}").as_bytes());
            let rows = c.result_set();
            assert_eq!(rows.len(), n);
            for (i, row) in rows.iter().enumerate() {
                assert_eq!(row[0], Some(i.to_string().into_bytes()));
                assert_eq!(row[1], None);
            }
        }
    }
    stop(server);
}

#[test]
fn several_results_of_one_text() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), MULTI);
    c.command(b"\x03rows 2; ok; fail");
    assert_eq!(c.result_set().len(), 2);
    assert!(c.more);
    assert!(matches!(c.packet(), Packet::Ok { more: true, .. }));
    assert_eq!(c.packet().err().0, 1064);
    c.command(b"\x0e");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    stop(server);
}

#[test]
fn long_values_pass_both_ways() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), DEPRECATE_EOF);
    // A value of length n makes a row of n + 4 or n + 9 bytes: the edges of one and two packets are among these.
    for n in [
        300,
        70_000,
        (1 << 24) - 6,
        (1 << 24) - 5,
        (1 << 24) - 4,
        (1 << 24) + 7,
        (1 << 25) - 11,
    ] {
        let mut sql = b"\x03echo ".to_vec();
        sql.resize(6 + n, b'x');
        c.command(&sql);
        let rows = c.result_set();
        assert!(rows[0][0].as_deref() == Some(&sql[6..]), "{n}");
    }
    stop(server);
}

#[test]
fn a_packet_over_the_limit_is_refused_and_the_next_one_served() {
    let (server, dir) = start(Fake::default().with("max_allowed_packet", 1 << 20));
    let mut c = Client::connect(dir.socket(), 0);
    for n in [(1 << 20) + 1, (1 << 24) + 100] {
        c.command(&vec![3; n]);
        assert_eq!(c.packet().err().0, 1153);
        c.command(b"\x03ok");
        assert!(matches!(c.packet(), Packet::Ok { .. }));
    }
    stop(server);
}

#[test]
fn limits_follow_whatever_statement_sets_them() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), MULTI);
    c.command(b"\x03limit 2000");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    c.command(&[3; 2001]);
    assert_eq!(c.packet().err().0, 1153);
    c.command(b"\x03ok; limit 3000");
    assert!(matches!(c.packet(), Packet::Ok { more: true, .. }));
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    let long = [&b"\x03echo "[..], &[b'x'; 2500]].concat();
    c.command(&long);
    assert_eq!(c.result_set()[0][0].as_deref(), Some(&long[6..]));
    stop(server);
}

#[test]
fn long_data_is_gone_after_an_execution_that_fails() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), 0);
    let (id, ..) = c.prepare("params");
    c.command(&[&[0x18], &id.to_le_bytes()[..], &[1, 0], b"long"].concat());
    // No types have been declared.
    c.execute(id, &[0, 0]);
    assert_eq!(c.packet().err().0, 1210);
    let mut body = vec![0, 1, 8, 0x80, 253, 0];
    body.extend_from_slice(&7u64.to_le_bytes());
    body.extend_from_slice(b"\x01z");
    c.execute(id, &body);
    assert!(c.binary_rows()[0].ends_with(b"\x01z"));
    stop(server);
}

#[test]
fn statements_are_prepared_executed_and_forgotten() {
    let (server, dir) = start(Fake::default());
    for caps in [0, DEPRECATE_EOF] {
        let mut c = Client::connect(dir.socket(), caps);
        let (id, params, columns) = c.prepare("params");
        assert_eq!((params, columns), (2, 2));
        // Types declared, then remembered.
        for declare in [true, false] {
            let mut body = vec![0b10, declare as u8];
            if declare {
                body.extend_from_slice(&[8, 0x80, 253, 0]);
            }
            body.extend_from_slice(&u64::MAX.to_le_bytes());
            c.execute(id, &body);
            let rows = c.binary_rows();
            assert_eq!(rows.len(), 1);
            assert_eq!(rows[0][0], 0);
            assert_eq!(rows[0][1], 0b1000, "the second is NULL");
            assert_eq!(rows[0][2..], u64::MAX.to_le_bytes());
        }
        // Long data stands in for the second parameter.
        c.command(&[&[0x18], &id.to_le_bytes()[..], &[1, 0], b"long "].concat());
        c.command(&[&[0x18], &id.to_le_bytes()[..], &[1, 0], b"data"].concat());
        let mut body = vec![0, 0];
        body.extend_from_slice(&7u64.to_le_bytes());
        c.execute(id, &body);
        assert!(c.binary_rows()[0].ends_with(b"\x09long data"));
        // Used up by the execution; a reset would have done so, too.
        c.execute(id, &[0b11, 0]);
        assert_eq!(c.binary_rows()[0][1], 0b1100);
        c.command(&[&[0x1a], &id.to_le_bytes()[..]].concat());
        assert!(matches!(c.packet(), Packet::Ok { .. }));
        c.command(&[&[0x19], &id.to_le_bytes()[..]].concat());
        c.execute(id, &[0b11, 0]);
        assert_eq!(c.packet().err().0, 1243);
    }
    stop(server);
}

/// What a command that ends with EOF, or the OK in its place, says of cursors.
fn cursor_status(packet: &[u8]) -> u16 {
    assert_eq!(packet[0], 0xfe, "{packet:?}");
    // Behind two bytes either way: warnings, or a row count and an id of 0.
    u16::from_le_bytes([packet[3], packet[4]]) & (64 | 128)
}

#[test]
fn cursors_are_fetched_from() {
    let (server, dir) = start(Fake::default());
    for caps in [0, DEPRECATE_EOF] {
        let mut c = Client::connect(dir.socket(), caps);
        let (id, ..) = c.prepare("params");
        let mut body = vec![0b10, 1, 8, 0x80, 253, 0];
        body.extend_from_slice(&7u64.to_le_bytes());
        let open = |c: &mut Client| {
            c.execute_as(1, id, &body);
            assert_eq!(c.raw(), [2]);
            for _ in 0..2 {
                assert!(c.raw().starts_with(b"\x03def"));
            }
            assert_eq!(cursor_status(&c.raw()), 64);
        };
        let fetch = |c: &mut Client, rows: u32| {
            c.command(&[&[0x1c], &id.to_le_bytes()[..], &rows.to_le_bytes()].concat());
        };
        open(&mut c);
        fetch(&mut c, 0);
        assert_eq!(cursor_status(&c.raw()), 64);
        fetch(&mut c, 1);
        let row = c.raw();
        assert_eq!(row[..2], [0, 0b1000]);
        assert_eq!(row[2..], 7u64.to_le_bytes());
        assert_eq!(cursor_status(&c.raw()), 64);
        // What is behind the last row closes it.
        fetch(&mut c, 9);
        assert_eq!(cursor_status(&c.raw()), 128);
        fetch(&mut c, 1);
        assert_eq!(c.packet().err().0, 1421);
        // So do a reset and another execution.
        open(&mut c);
        c.command(&[&[0x1a], &id.to_le_bytes()[..]].concat());
        assert!(matches!(c.packet(), Packet::Ok { .. }));
        fetch(&mut c, 1);
        assert_eq!(c.packet().err().0, 1421);
        open(&mut c);
        c.execute(id, &body);
        assert_eq!(c.binary_rows().len(), 1);
        fetch(&mut c, 1);
        assert_eq!(c.packet().err().0, 1421);
        // What is asked without a word of how many.
        open(&mut c);
        c.command(&[&[0x1c], &id.to_le_bytes()[..]].concat());
        assert_eq!(c.packet().err().0, 1835);
    }
    stop(server);
}

#[test]
fn malformed_executions_are_errors_and_the_connection_lives() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), DEPRECATE_EOF);
    let (id, ..) = c.prepare("params");
    for (body, code) in [
        (&b""[..], 1835),
        (&[0][..], 1835),
        (&[0, 0], 1210),
        (&[0, 1, 8], 1835),
        (&[0, 1, 8, 0, 253, 0], 1835),
        (&[0, 1, 8, 0, 253, 0, 1, 2, 3, 4, 5, 6, 7, 8, 200], 1835),
        (&[0, 1, 99, 0, 253, 0, 1], 1835),
    ] {
        c.execute(id, body);
        assert_eq!(c.packet().err().0, code, "{body:?}");
    }
    c.command(&[0x17, 1]);
    assert_eq!(c.packet().err().0, 1835);
    c.command(&[0x1c, id as u8, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(c.packet().err().0, 1421);
    c.command(&[&[0x18], &id.to_le_bytes()[..], &[9, 0], b"x"].concat());
    c.execute(id, &[3, 1, 8, 0, 253, 0]);
    assert_eq!(c.packet().err().0, 1210);
    stop(server);
}

#[test]
fn rare_commands() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), 0);
    c.command(b"\x09");
    let line = String::from_utf8(c.raw()).unwrap();
    assert_eq!(
        line,
        "Uptime: 10  Questions: 20  Queries per second avg: 2.000"
    );
    c.command(b"\x1b\x01\x00");
    assert!(matches!(c.packet(), Packet::Eof));
    c.command(b"\x1b\x09\x00");
    assert_eq!(c.packet().err().0, 1047);
    for unknown in [0x00, 0x05, 0x0d, 0x12, 0x1d, 0x21, 0xff] {
        c.command(&[unknown, 1, 2, 3]);
        assert_eq!(c.packet().err().0, 1047, "{unknown}");
    }
    c.command(b"\x04t\0%");
    let mut names = 0;
    while let Packet::Other = c.packet() {
        names += 1;
    }
    assert_eq!(names, 2);
    c.command(&[0x0c, 99, 0, 0, 0]);
    assert_eq!(c.packet().err().0, 1094);
    stop(server);
}

#[test]
fn change_user() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), 0);
    let (id, ..) = c.prepare("params");
    c.command(b"\x11root\0\0test\0\x2d\0mysql_native_password\0");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    c.execute(id, &[3, 0]);
    assert_eq!(c.packet().err().0, 1243);
    c.command(b"\x11bob\0\0\0\x2d\0mysql_native_password\0");
    assert_eq!(c.packet().err().0, 1045);
    assert!(c.gone());
    stop(server);
}

#[test]
fn killing_wakes_an_idle_connection() {
    let (server, dir) = start(Fake::default());
    let mut victim = Client::connect(dir.socket(), 0);
    let mut killer = Client::connect(dir.socket(), 0);
    killer.command(&[&[0x0c], &victim.id.to_le_bytes()[..]].concat());
    assert!(matches!(killer.packet(), Packet::Ok { .. }));
    assert!(victim.gone());
    stop(server);
}

#[test]
fn a_panic_ends_its_connection_alone() {
    let (server, dir) = start(Fake::default());
    let mut bystander = Client::connect(dir.socket(), 0);
    let mut c = Client::connect(dir.socket(), 0);
    c.command(b"\x03panic");
    let e = c.packet().err();
    assert_eq!(e.0, 1815);
    assert!(e.2.contains("as asked"));
    assert!(c.gone());
    bystander.command(b"\x0e");
    assert!(matches!(bystander.packet(), Packet::Ok { .. }));
    drop(bystander);
    stop(server);
}

#[test]
fn connections_have_a_limit() {
    // Everybody is an administrator there, for whom there is one more.
    let (server, dir) = start(Fake::default().with("max_connections", 1));
    let a = Client::connect(dir.socket(), 0);
    let _b = Client::connect(dir.socket(), 0);
    let mut c = Client::over(UnixStream::connect(dir.socket()).unwrap());
    assert_eq!(c.packet().err().0, 1040);
    assert!(c.gone());
    a.quit();
    while server.connections() > 1 {
        std::thread::yield_now();
    }
    let _d = Client::connect(dir.socket(), 0);
    stop(server);
}

#[test]
fn silence_ends_a_connection() {
    let (server, dir) = start(Fake::default().with("wait_timeout", 1));
    let mut c = Client::connect(dir.socket(), 0);
    c.seq = 0;
    assert_eq!(c.packet().err().0, 4031);
    assert!(c.gone());
    stop(server);
}

#[test]
fn silence_during_login_ends_it() {
    let (server, dir) = start(Fake::default().with("connect_timeout", 1));
    let mut c = Client::greeted(dir.socket());
    assert_eq!(c.packet().err().0, 4031);
    assert!(c.gone());
    stop(server);
}

#[test]
fn out_of_order_and_bad_handshakes_are_told() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), 0);
    c.stream.write_all(&[1, 0, 0, 5, 0x0e]).unwrap();
    c.seq = 0;
    assert_eq!(c.packet().err().0, 1156);
    assert!(c.gone());
    let mut c = Client::greeted(dir.socket());
    c.send(b"nonsense");
    assert_eq!(c.packet().err().0, 1043);
    assert!(c.gone());
    stop(server);
}

#[test]
fn shutdown_ends_idle_connections_and_waits_for_statements() {
    let fake = Fake::default();
    let (server, dir) = start(fake.clone());
    let mut idle = Client::connect(dir.socket(), 0);
    let mut busy = Client::connect(dir.socket(), 0);
    busy.command(b"\x03wait");
    fake.wait_until_running();
    let stopper = std::thread::spawn(move || server.shutdown(GRACE));
    assert!(idle.gone());
    fake.release();
    assert!(matches!(busy.packet(), Packet::Ok { .. }));
    assert!(busy.gone());
    assert_eq!(stopper.join().unwrap(), 0);
    assert!(!dir.socket().exists());
}

#[test]
fn shutdown_kills_what_does_not_end() {
    let fake = Fake::default();
    let (server, dir) = start(fake.clone());
    let mut busy = Client::connect(dir.socket(), 0);
    busy.command(b"\x03wait");
    fake.wait_until_running();
    assert_eq!(server.shutdown(Duration::from_millis(50)), 0);
    assert!(fake.killed(busy.id));
}

#[test]
fn other_addresses_and_a_socket_in_use_are_refused() {
    let (server, dir) = start(Fake::default());
    let config = millpond_server::ServerConfig {
        tcp: Some("0.0.0.0:0".parse().unwrap()),
        socket: None,
        ..Default::default()
    };
    let e = Server::start(Fake::default(), &config).err().unwrap();
    assert!(e.to_string().contains("no TLS"), "{e}");
    let config = millpond_server::ServerConfig {
        tcp: None,
        socket: Some(dir.socket().into()),
        ..Default::default()
    };
    let e = Server::start(Fake::default(), &config).err().unwrap();
    assert_eq!(e.kind(), std::io::ErrorKind::AddrInUse);
    // One whose server is gone is replaced.
    stop(server);
    drop(std::os::unix::net::UnixListener::bind(dir.socket()).unwrap());
    let server = Server::start(Fake::default(), &config).unwrap();
    Client::connect(dir.socket(), 0).quit();
    stop(server);
}

#[test]
fn random_bytes_never_harm_the_server() {
    let (server, dir) = start(Fake::default().with("connect_timeout", 1));
    let mut x = 0x2545_f491_4f6c_dd1du64;
    let mut next = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    for round in 0..400 {
        let logged_in = round % 4 != 0;
        let mut c = if logged_in {
            Client::connect(dir.socket(), DEPRECATE_EOF)
        } else {
            Client::greeted(dir.socket())
        };
        let mut bytes = Vec::new();
        for _ in 0..1 + next() % 4 {
            let mut payload: Vec<u8> = (0..next() % 60).map(|_| next() as u8).collect();
            if let Some(command) = payload.first_mut() {
                *command %= 0x24;
            }
            let framed = next() % 8 != 0;
            if framed {
                bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
                bytes.push(!logged_in as u8);
            }
            bytes.extend_from_slice(&payload);
        }
        // The server may have hung up in the midst of it.
        let _ = c.stream.write_all(&bytes);
        let _ = c.stream.shutdown(std::net::Shutdown::Write);
        let mut answers = Vec::new();
        let _ = c.stream.read_to_end(&mut answers);
    }
    let mut c = Client::connect(dir.socket(), 0);
    c.command(b"\x0e");
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    drop(c);
    stop(server);
}
