//! Texts through a whole server, in the character sets of clients and of columns.

use crate::GRACE;
use crate::support::{Client, Packet};
use millpond_server::{Server, ServerConfig};
use millpond_session::{Instance, InstanceOptions};

fn ok(c: &mut Client, sql: &[u8]) {
    c.command(&[b"\x03", sql].concat());
    let answer = c.packet();
    let shown = String::from_utf8_lossy(sql);
    assert!(matches!(answer, Packet::Ok { .. }), "{answer:?} {shown}");
}

fn error(c: &mut Client, sql: &[u8]) -> u16 {
    c.command(&[b"\x03", sql].concat());
    c.packet().err().0
}

fn row(c: &mut Client, sql: &[u8]) -> Vec<Vec<u8>> {
    c.command(&[b"\x03", sql].concat());
    let mut rows = c.result_set();
    assert_eq!(rows.len(), 1, "{}", String::from_utf8_lossy(sql));
    let row = rows.remove(0).into_iter();
    row.map(Option::unwrap_or_default).collect()
}

/// Collation ids and lengths in bytes of a result's columns.
fn columns(c: &mut Client, sql: &[u8]) -> Vec<(u16, u32)> {
    c.command(&[b"\x03", sql].concat());
    let count = c.raw()[0];
    let of = |p: Vec<u8>| {
        // Behind six names of one byte of length each, and the length of what follows.
        let mut at = 0;
        for _ in 0..6 {
            at += 1 + usize::from(p[at]);
        }
        let field = &p[at + 1..];
        let id = u16::from_le_bytes([field[0], field[1]]);
        (
            id,
            u32::from_le_bytes([field[2], field[3], field[4], field[5]]),
        )
    };
    let list = (0..count).map(|_| of(c.raw())).collect();
    // The end of the definitions and the row, then the end of the result.
    while !matches!(c.raw()[..], [0xfe, ..]) {}
    while !matches!(c.raw()[..], [0xfe, ..]) {}
    list
}

fn texts(c: &mut Client) {
    ok(c, b"CREATE TABLE t (l VARCHAR(10) CHARACTER SET latin1, u VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
        w VARCHAR(10) CHARACTER SET utf16, m TEXT CHARACTER SET utf8mb3, b VARBINARY(10))");
    ok(c, b"SET NAMES latin1");
    ok(
        c,
        b"INSERT INTO t VALUES ('\xe9\x80', '\xe9\x80', '\xe9\x80', '\xe9\x80', '\xe9\x80')",
    );
    let all = b"SELECT l, u, w, m, b FROM t";
    let (latin1, utf8) = (&b"\xe9\x80"[..], "é€".as_bytes());
    assert_eq!(row(c, all), [latin1; 5]);
    // In the bytes of their own.
    assert_eq!(
        row(c, b"SELECT HEX(l), HEX(u), HEX(w), HEX(m), HEX(b), HEX('\xe9'), LENGTH(u), CHAR_LENGTH(u) FROM t"),
        [&b"E980"[..], b"C3A9E282AC", b"00E920AC", b"C3A9E282AC", b"E980", b"E9", b"5", b"2"]
    );
    // A text is told in the client's character set: by its default collation, and the bytes it may take there.
    assert_eq!(
        columns(c, all),
        [(8, 10), (8, 10), (8, 10), (8, 65_535), (63, 10)]
    );
    for condition in [
        "l = '\u{1}'",
        "u = '\u{1}'",
        "w = '\u{1}'",
        "m = '\u{1}'",
        "b = '\u{1}'",
    ] {
        let sql = format!("SELECT 1 FROM t WHERE {condition}").into_bytes();
        let parts: Vec<&[u8]> = sql.split(|b| *b == 1).collect();
        assert_eq!(row(c, &parts.join(latin1)), [b"1"], "{condition}");
    }
    let (id, ..) = c.prepare("SELECT COUNT(*) FROM t WHERE l = ? AND u = ?");
    c.execute(id, b"\0\x01\xfd\0\xfd\0\x02\xe9\x80\x02\xe9\x80");
    let rows = c.binary_rows();
    assert_eq!(rows[0][2..10], 1u64.to_le_bytes());

    // A definition means the same to clients of all character sets.
    ok(c, b"CREATE TABLE k (a VARCHAR(9) CHARACTER SET latin1 DEFAULT (CONCAT(_latin1'\xe9', '\xf6')), CHECK (a <> _latin1'\xe8' AND a <> '\xf6'))");
    ok(c, b"FLUSH TABLES");
    for (names, e, o) in [
        (&b"latin1"[..], &b"\xe8"[..], &b"\xf6"[..]),
        (b"utf8mb4", "è".as_bytes(), "ö".as_bytes()),
    ] {
        ok(c, &[b"SET NAMES ", names].concat());
        for refused in [e, o] {
            let sql = [b"INSERT INTO k VALUES ('", refused, b"')"].concat();
            assert_eq!(error(c, &sql), 3819);
        }
        ok(c, b"INSERT INTO k () VALUES ()");
        assert_eq!(row(c, b"SELECT DISTINCT HEX(a) FROM k"), [b"E9F6"]);
    }

    ok(c, b"SET NAMES utf8mb4");
    assert_eq!(row(c, all), [utf8, utf8, utf8, utf8, latin1]);
    // Of the same character set a column tells its own collation.
    assert_eq!(
        columns(c, all),
        [(255, 40), (46, 40), (255, 40), (255, 262_140), (63, 10)]
    );
    let found = [
        &b"SELECT 1 FROM t WHERE l = '"[..],
        utf8,
        b"' AND w = '",
        utf8,
        b"'",
    ]
    .concat();
    assert_eq!(row(c, &found), [b"1"]);
    assert_eq!(error(c, "SELECT 1 FROM t WHERE l = 'ж'".as_bytes()), 3854);
    assert_eq!(error(c, "INSERT INTO t (l) VALUES ('ж')".as_bytes()), 1366);
    assert_eq!(error(c, "INSERT INTO t (m) VALUES ('😀')".as_bytes()), 1366);
    ok(c, "UPDATE t SET u = 'ж😀'".as_bytes());

    ok(c, b"SET NAMES utf8mb3");
    assert_eq!(row(c, b"SELECT u FROM t"), ["ж?".as_bytes()]);
    ok(c, b"SET NAMES latin1");
    assert_eq!(row(c, b"SELECT u FROM t"), [b"??"]);
    ok(c, b"SET NAMES ascii");
    assert_eq!(row(c, b"SELECT l FROM t"), [b"??"]);

    // A character whose second byte is a backslash.
    ok(c, b"SET NAMES sjis");
    ok(c, b"INSERT INTO t (u) VALUES ('\x95\x5c')");
    let sjis = b"SELECT u, HEX(u) FROM t WHERE u = '\x95\x5c'";
    assert_eq!(row(c, sjis), [&b"\x95\x5c"[..], b"E8A1A8"]);
    ok(c, b"DELETE FROM t WHERE u = '\x95\x5c'");

    // Nothing is converted.
    for results in ["NULL", "binary"] {
        ok(
            c,
            format!("SET character_set_results = {results}").as_bytes(),
        );
        let wide = &b"\0\xe9\x20\xac"[..];
        assert_eq!(
            row(c, all),
            [latin1, "ж😀".as_bytes(), wide, utf8, latin1],
            "{results}"
        );
        assert_eq!(
            columns(c, all),
            [(8, 10), (46, 40), (54, 40), (33, 196_605), (63, 10)],
            "{results}"
        );
    }
    ok(c, b"SET character_set_results = utf16");
    assert_eq!(
        row(c, b"SELECT l, 1 FROM t"),
        [&b"\0\xe9\x20\xac"[..], b"1"]
    );
    ok(c, b"SET NAMES utf8mb4");
}

#[test]
fn texts_are_converted_for_clients_and_columns() {
    let dir = std::env::temp_dir().join(format!("millpond-charsets-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let store = millpond_store::Options {
        pool_bytes: 16 << 20,
        log_bytes: 16 << 20,
        ..millpond_store::Options::default()
    };
    let instance = Instance::open(InstanceOptions {
        path: dir.join("data"),
        store,
        variables: crate::threads::variables(),
    })
    .unwrap();
    let config = ServerConfig {
        tcp: None,
        socket: Some(dir.join("sock")),
        ..Default::default()
    };
    let server = Server::start(instance.clone(), &config).unwrap();
    let mut c = Client::connect(&dir.join("sock"), 0);
    ok(&mut c, b"CREATE DATABASE d");
    ok(&mut c, b"USE d");
    texts(&mut c);
    c.quit();
    server.shutdown(GRACE);
    instance.close().unwrap();
    let _ = std::fs::remove_dir_all(&dir);
}
