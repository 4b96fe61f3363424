//! LOAD DATA LOCAL's part of the protocol: a file asked for in the middle of a command.

use crate::stop;
use crate::support::{Client, Fake, LOCAL_FILES, MULTI, Packet, start};
use std::io::Write;

/// Sends this as a file, in these packets.
fn send_file(c: &mut Client, packets: &[&[u8]]) {
    packets.iter().for_each(|p| c.send(p));
    c.send(b"");
}

/// The one value of a result set.
fn one(c: &mut Client) -> Vec<u8> {
    let mut rows = c.result_set();
    assert_eq!(rows.len(), 1);
    rows.remove(0).remove(0).expect("a text")
}

#[test]
fn a_file_is_asked_for_and_read_to_its_empty_packet() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), LOCAL_FILES | MULTI);
    for packets in [
        &[&b"hello"[..], b", ", b"world"][..],
        &[],
        &[&[b'x'; 70_000][..]],
    ] {
        c.command(b"\x03file some/name");
        assert_eq!(c.raw(), b"\xfbsome/name");
        send_file(&mut c, packets);
        assert_eq!(one(&mut c), packets.concat());
    }
    // In the middle of several statements.
    c.command("\u{3}echo a; file b; echo c".as_bytes());
    assert_eq!(one(&mut c), b"a");
    assert_eq!(c.raw(), b"\xfbb");
    send_file(&mut c, &[b"text"]);
    assert_eq!(one(&mut c), b"text");
    assert_eq!(one(&mut c), b"c");
    c.quit();
    stop(server);
}

#[test]
fn the_rest_of_a_file_is_passed_over() {
    let (server, dir) = start(Fake::default().with("max_allowed_packet", 100_000));
    let mut c = Client::connect(dir.socket(), LOCAL_FILES);
    let long = vec![b'x'; 150_000];
    // Of a statement that fails at its first bytes, and of one whose packet is too long.
    for (packets, text) in [
        (vec![&b"bad"[..], b"more", b"and more"], "it is bad"),
        (vec![&long[..], b"more"], "a packet is too large"),
    ] {
        c.command(b"\x03file name");
        assert_eq!(c.raw(), b"\xfbname");
        send_file(&mut c, &packets);
        let (code, _, message) = c.packet().err();
        assert_eq!((code, &*message), (1158, text));
        c.command(b"\x03echo still here");
        assert_eq!(one(&mut c), b"still here");
    }
    stop(server);
}

#[test]
fn what_follows_a_file_at_once_is_the_next_command() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), LOCAL_FILES);
    c.command(b"\x03file name");
    assert_eq!(c.raw(), b"\xfbname");
    let next: &[u8] = b"\x09\0\0\0\x03echo one\x09\0\0\0\x03echo two";
    let packets = [b"\x04\0\0\x02text".as_slice(), b"\0\0\0\x03", next].concat();
    c.stream.write_all(&packets).unwrap();
    c.seq = 4;
    assert_eq!(one(&mut c), b"text");
    for text in [b"one", b"two"] {
        c.seq = 1;
        assert_eq!(one(&mut c), text);
    }
    stop(server);
}

#[test]
fn clients_that_send_no_files_are_not_asked() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), 0);
    c.command(b"\x03file name");
    assert_eq!(c.packet().err().0, 3948);
    c.command(b"\x03echo on");
    assert_eq!(one(&mut c), b"on");
    // Nor is one that has not waited for the answer.
    let mut c = Client::connect(dir.socket(), LOCAL_FILES);
    c.stream
        .write_all(b"\x0a\0\0\0\x03file name\x09\0\0\0\x03echo two")
        .unwrap();
    c.seq = 1;
    assert_eq!(c.packet().err().0, 3948);
    c.seq = 1;
    assert_eq!(one(&mut c), b"two");
    stop(server);
}

#[test]
fn a_client_that_breaks_off_is_gone() {
    let (server, dir) = start(Fake::default());
    let mut c = Client::connect(dir.socket(), LOCAL_FILES);
    c.command(b"\x03file name");
    assert_eq!(c.raw(), b"\xfbname");
    c.send(b"text");
    drop(c);
    let mut c = Client::connect(dir.socket(), LOCAL_FILES);
    c.command(b"\x03file name");
    assert_eq!(c.raw(), b"\xfbname");
    // Out of its order.
    c.stream.write_all(b"\x04\0\0\x07text").unwrap();
    c.seq = 2;
    assert!(matches!(c.packet(), Packet::Err { code: 1158, .. }));
    assert!(c.gone());
    stop(server);
}
