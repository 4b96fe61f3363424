//! Binary strings through a whole server, as clients of each character set write them.

use crate::GRACE;
use crate::support::{Client, Packet};
use millpond_server::{Server, ServerConfig};
use millpond_session::{Instance, InstanceOptions};

/// A literal of these bytes, with escapes for what clients escape.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for b in bytes {
        match b {
            0 => out.extend_from_slice(b"\\0"),
            26 => out.extend_from_slice(b"\\Z"),
            b'\'' | b'"' | b'\\' => out.extend_from_slice(&[b'\\', *b]),
            b => out.push(*b),
        }
    }
    out.push(b'\'');
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

fn query(c: &mut Client, parts: &[&[u8]]) {
    let sql = parts.concat();
    c.command(&[b"\x03", &sql[..]].concat());
    let answer = c.packet();
    let shown = String::from_utf8_lossy(&sql);
    assert!(matches!(answer, Packet::Ok { .. }), "{answer:?} {shown}");
}

fn rows(c: &mut Client, parts: &[&[u8]]) -> Vec<Vec<Vec<u8>>> {
    c.command(&[b"\x03", &parts.concat()[..]].concat());
    let rows = c.result_set().into_iter();
    rows.map(|r| r.into_iter().map(Option::unwrap_or_default).collect())
        .collect()
}

/// Two parameters of these bytes (at most 65,535), both declared as `ty`.
fn twice(bytes: &[u8], ty: u8) -> Vec<u8> {
    let mut body = vec![0, 1, ty, 0, ty, 0];
    for _ in 0..2 {
        body.push(0xfc);
        body.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
        body.extend_from_slice(bytes);
    }
    body
}

fn execute(c: &mut Client, sql: &str, body: &[u8]) {
    let (id, ..) = c.prepare(sql);
    c.execute(id, body);
    let answer = c.packet();
    assert!(matches!(answer, Packet::Ok { .. }), "{answer:?} {sql}");
}

fn round_trip(c: &mut Client, names: &str) {
    let all: Vec<u8> = (0..=255).collect();
    let (l, x) = (&quoted(&all)[..], hex(&all));
    query(c, &[b"DELETE FROM t"]);
    query(c, &[b"SET NAMES ", names.as_bytes()]);
    let x = format!("INSERT INTO t VALUES (2, x'{x}', 0x{x})");
    for parts in [
        &[&b"INSERT INTO t VALUES (1, "[..], l, b", ", l, b")"][..],
        &[x.as_bytes()],
        &[b"INSERT INTO t SELECT 3, ", l, b", ", l],
        &[
            b"INSERT INTO t SELECT 4, ",
            l,
            b", ",
            l,
            b" UNION ALL SELECT 5, ",
            l,
            b", ",
            l,
        ],
        &[b"INSERT INTO t VALUES (6, '', ''), (7, '', '')"],
        &[b"UPDATE t SET b = ", l, b", v = ", l, b" WHERE id = 6"],
        &[
            b"UPDATE t, (SELECT 7 AS n) d SET b = CONCAT(b, ",
            l,
            b"), v = IF(n, ",
            l,
            b", 'y') WHERE id = n",
        ],
        &[b"INSERT INTO t SET id = 8, b = ", l, b", v = ", l],
        &[
            b"INSERT INTO t VALUES (8, '', '') ON DUPLICATE KEY UPDATE b = ",
            l,
        ],
    ] {
        query(c, parts);
    }
    // VAR_STRING, STRING, BLOB.
    for (n, ty) in [(20, 0xfd), (30, 0xfe), (40, 0xfc)] {
        let body = twice(&all, ty);
        execute(c, &format!("INSERT INTO t VALUES ({n}, ?, ?)"), &body);
        execute(c, &format!("INSERT INTO t SELECT {n} + 1, ?, ?"), &body);
        query(
            c,
            &[format!("INSERT INTO t VALUES ({n} + 2, '', '')").as_bytes()],
        );
        let update = format!("UPDATE t SET b = ?, v = CONCAT(v, ?) WHERE id = {n} + 2");
        execute(c, &update, &body);
        let (id, ..) = c.prepare("SELECT id FROM t WHERE b = ? AND v IN (?, 'a')");
        c.execute(id, &body);
        assert!(!c.binary_rows().is_empty(), "{names}: {ty}");
    }
    let all = hex(&all);
    let found = rows(c, &[b"SELECT id, b, v FROM t"]);
    assert_eq!(found.len(), 17, "{names}");
    for row in found {
        let id = String::from_utf8_lossy(&row[0]);
        assert_eq!(hex(&row[1]), all, "{names}: b of {id}");
        assert_eq!(hex(&row[2]), all, "{names}: v of {id}");
    }
    for parts in [
        &[&b"SELECT COUNT(*) FROM t WHERE b = "[..], l][..],
        &[b"SELECT COUNT(*) FROM t WHERE v IN ('a', ", l, b")"],
        &[b"SELECT COUNT(*) FROM t WHERE v BETWEEN ", l, b" AND ", l],
    ] {
        assert_eq!(rows(c, parts)[0][0], b"17", "{names}");
    }
}

/// COM_REFRESH does what FLUSH does.
fn refresh(c: &mut Client) {
    let flushes = |c: &mut Client| {
        let rows = rows(c, &[b"SHOW GLOBAL STATUS LIKE 'Com_flush'"]);
        String::from_utf8_lossy(&rows[0][1]).parse::<u64>().unwrap()
    };
    let before = flushes(c);
    // Logs, tables, hosts, threads.
    c.command(&[0x07, 0x2e]);
    assert!(matches!(c.packet(), Packet::Ok { .. }));
    assert_eq!(flushes(c), before + 3);
    // Replication.
    c.command(&[0x07, 0x40]);
    assert_eq!(c.packet().err().0, 1235);
}

/// A date that no calendar has is refused as a text of it is.
fn impossible_date(c: &mut Client) {
    query(c, &[b"CREATE TABLE d (d DATE)"]);
    let date = [0, 1, 0x0a, 0, 4, 0xe8, 7, 2, 30];
    let (id, ..) = c.prepare("INSERT INTO d VALUES (?)");
    c.execute(id, &date);
    assert_eq!(c.packet().err().0, 1292);
}

#[test]
fn bytes_stay_as_they_are_under_any_character_set() {
    let dir = std::env::temp_dir().join(format!("millpond-bytes-{}", std::process::id()));
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
    query(&mut c, &[b"CREATE DATABASE d"]);
    query(&mut c, &[b"USE d"]);
    query(
        &mut c,
        &[b"CREATE TABLE t (id INT PRIMARY KEY, b BLOB, v VARBINARY(600))"],
    );
    for names in ["utf8mb4", "latin1", "ascii", "binary"] {
        round_trip(&mut c, names);
    }
    refresh(&mut c);
    impossible_date(&mut c);
    c.quit();
    server.shutdown(GRACE);
    instance.close().unwrap();
    let _ = std::fs::remove_dir_all(&dir);
}
