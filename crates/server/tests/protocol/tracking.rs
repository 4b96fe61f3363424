//! Session tracking: what OK packets tell of a session's state.

use crate::commits::Db;
use crate::support::{Client, DEPRECATE_EOF, MULTI};

const SESSION_TRACK: u32 = 1 << 23;
const STATE_CHANGED: u16 = 1 << 14;

/// What an OK packet tells, as `kind:text,text`.
fn told(packet: &[u8]) -> Vec<String> {
    let (header, status) = (packet[0], u16::from_le_bytes([packet[3], packet[4]]));
    assert!(header == 0 || header == 0xfe, "{packet:?}");
    assert!(packet[1] < 0xfb && packet[2] < 0xfb);
    if status & STATE_CHANGED == 0 {
        return Vec::new();
    }
    // What is told here is short: a length is one byte.
    fn text<'p>(p: &mut &'p [u8]) -> &'p [u8] {
        let (head, rest) = p[1..].split_at(usize::from(p[0]));
        *p = rest;
        head
    }
    let mut rest = &packet[7..];
    text(&mut rest);
    let mut changes = text(&mut rest);
    assert!(rest.is_empty());
    let mut list = Vec::new();
    while let Some((kind, mut after)) = changes.split_first() {
        let mut data = text(&mut after);
        let mut texts = Vec::new();
        while !data.is_empty() {
            texts.push(String::from_utf8_lossy(text(&mut data)).into_owned());
        }
        list.push(format!("{kind}:{}", texts.join(",")));
        changes = after;
    }
    list
}

fn command(c: &mut Client, code: u8, text: &str) -> Vec<String> {
    let mut p = vec![code];
    p.extend_from_slice(text.as_bytes());
    c.command(&p);
    told(&c.raw())
}

fn query(c: &mut Client, sql: &str) -> Vec<String> {
    command(c, 3, sql)
}

#[test]
fn a_client_is_told_of_what_it_asked_for() {
    let db = Db::start("tracking");
    let mut plain = db.client_of(DEPRECATE_EOF | MULTI);
    assert!(query(&mut plain, "CREATE DATABASE d").is_empty());
    assert!(query(&mut plain, "USE d").is_empty());

    let mut c = db.client_of(SESSION_TRACK | DEPRECATE_EOF | MULTI);
    assert_eq!(query(&mut c, "USE d"), ["1:d"]);
    assert!(query(&mut c, "DO 1").is_empty());
    assert_eq!(command(&mut c, 2, "d"), ["1:d"]);
    assert_eq!(query(&mut c, "SET autocommit = 0"), ["0:autocommit,OFF"]);
    assert_eq!(
        query(&mut c, "SET autocommit = 1, time_zone = '+01:00'"),
        ["0:autocommit,ON", "0:time_zone,+01:00"]
    );
    assert_eq!(
        query(&mut c, "SET NAMES latin1"),
        [
            "0:character_set_client,latin1",
            "0:character_set_results,latin1",
            "0:character_set_connection,latin1"
        ]
    );
    // Not among those that it is told of.
    assert!(query(&mut c, "SET wait_timeout = 100").is_empty());
    assert!(query(&mut c, "SET GLOBAL autocommit = 1").is_empty());
    query(
        &mut c,
        "SET session_track_system_variables = 'wait_timeout', session_track_schema = OFF",
    );
    assert_eq!(
        query(&mut c, "SET autocommit = 1, wait_timeout = 101"),
        ["0:wait_timeout,101"]
    );
    assert!(query(&mut c, "USE d").is_empty());
    query(
        &mut c,
        "SET session_track_system_variables = '', session_track_state_change = ON",
    );
    for statement in [
        "SET @a = 1",
        "SET autocommit = 1",
        "USE d",
        "CREATE TEMPORARY TABLE t (a INT)",
        "DROP TEMPORARY TABLE t",
        "PREPARE s FROM 'DO 1'",
        "DEALLOCATE PREPARE s",
    ] {
        assert_eq!(query(&mut c, statement), ["2:1"], "{statement}");
        assert!(query(&mut c, "DO 1").is_empty());
    }
    db.stop();
}

#[test]
fn what_could_not_be_told_is_told_later() {
    let db = Db::start("tracking-later");
    for (caps, with_rows) in [(DEPRECATE_EOF, true), (0, false)] {
        let mut c = db.client_of(SESSION_TRACK | MULTI | caps);
        // An error carries nothing: what comes next does.
        c.command(b"\x03SET autocommit = 0; nonsense");
        assert_eq!(told(&c.raw()), ["0:autocommit,OFF"]);
        assert_eq!(c.packet().err().0, 1064);
        c.command(b"\x03SET autocommit = 1, nosuch = 2");
        assert_eq!(c.packet().err().0, 1193);
        c.command(b"\x03SELECT 1");
        let mut last = Vec::new();
        // Count, column, perhaps EOF, the row, the end.
        for _ in 0..(if with_rows { 4 } else { 5 }) {
            last = c.raw();
        }
        let at_once = ["0:autocommit,ON".to_string()];
        if with_rows {
            assert_eq!(told(&last), at_once);
        } else {
            assert_eq!(last.len(), 5, "an EOF packet");
        }
        let left: &[String] = if with_rows { &[] } else { &at_once };
        assert_eq!(query(&mut c, "DO 1"), left);
        // A procedure tells when it is done.
        query(&mut c, "CREATE DATABASE IF NOT EXISTS d");
        query(&mut c, "USE d");
        query(&mut c, "DROP PROCEDURE IF EXISTS p");
        query(
            &mut c,
            "CREATE PROCEDURE p() BEGIN SET autocommit = 0; SET autocommit = 1; END",
        );
        assert_eq!(query(&mut c, "CALL p()"), ["0:autocommit,ON"]);
    }
    db.stop();
}

#[test]
fn transactions_are_told_of() {
    let db = Db::start("tracking-transactions");
    let mut c = db.client_of(SESSION_TRACK | DEPRECATE_EOF | MULTI);
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT)"] {
        query(&mut c, sql);
    }
    let all = "SET session_track_transaction_info = ";
    assert_eq!(query(&mut c, &format!("{all}STATE")), ["5:________"]);
    assert_eq!(query(&mut c, "BEGIN"), ["5:T_______"]);
    assert!(query(&mut c, "DO 1").is_empty());
    assert_eq!(query(&mut c, "INSERT INTO t VALUES (1)"), ["5:T___W___"]);
    assert!(query(&mut c, "INSERT INTO t VALUES (1)").is_empty());
    c.command(b"\x03SELECT * FROM t");
    // Count, column, two rows, the end.
    let packets: Vec<Vec<u8>> = (0..5).map(|_| c.raw()).collect();
    assert_eq!(told(&packets[4]), ["5:T_R_W_S_"]);
    assert_eq!(query(&mut c, "COMMIT"), ["5:________"]);
    assert!(query(&mut c, "INSERT INTO t VALUES (1)").is_empty());
    assert_eq!(query(&mut c, "LOCK TABLES t READ"), ["5:_______L"]);
    assert_eq!(query(&mut c, "UNLOCK TABLES"), ["5:________"]);
    query(&mut c, "SET autocommit = 0");
    assert_eq!(query(&mut c, "INSERT INTO t VALUES (1)"), ["5:I___W___"]);
    assert_eq!(query(&mut c, "ROLLBACK"), ["5:________"]);
    assert_eq!(
        query(&mut c, &format!("{all}CHARACTERISTICS")),
        ["4:", "5:________"]
    );
    for (sql, want) in [
        (
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;",
        ),
        ("XA START 'x', 'y', 7", "XA START X'78',X'79',7;"),
    ] {
        let want = [format!("4:{want}"), "5:T_______".to_string()];
        assert_eq!(query(&mut c, sql), want);
        let ends: &[&str] = match sql.starts_with("XA") {
            true => &["XA END 'x', 'y', 7", "XA ROLLBACK 'x', 'y', 7"],
            false => &["COMMIT"],
        };
        let (last, before) = ends.split_last().unwrap();
        for sql in before {
            assert!(query(&mut c, sql).is_empty(), "{sql}");
        }
        assert_eq!(query(&mut c, last), ["4:", "5:________"]);
    }
    assert_eq!(
        query(&mut c, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
        ["4:SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;"]
    );
    assert_eq!(
        query(&mut c, "START TRANSACTION READ WRITE"),
        [
            "4:SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION READ WRITE;",
            "5:T_______"
        ]
    );
    assert_eq!(query(&mut c, "ROLLBACK"), ["4:", "5:________"]);
    assert!(query(&mut c, &format!("{all}OFF")).is_empty());
    assert!(query(&mut c, "BEGIN").is_empty());
    db.stop();
}
