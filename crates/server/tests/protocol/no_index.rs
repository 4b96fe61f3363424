//! SERVER_QUERY_NO_INDEX_USED: answers say that a table was read without a key, and a CALL's last one that one of its statements did.

use crate::commits::Db;
use crate::support::{Client, DEPRECATE_EOF, MULTI};

const NO_INDEX_USED: u16 = 32;

/// The status of the last packet of each result of a command.
fn statuses(c: &mut Client, sql: &str) -> Vec<u16> {
    c.command(format!("\x03{sql}").as_bytes());
    let mut out = Vec::new();
    loop {
        let first = c.raw();
        let last = match first[0] {
            0 => first,
            columns => {
                for _ in 0..columns {
                    c.raw();
                }
                loop {
                    let row = c.raw();
                    if row[0] == 0xfe {
                        break row;
                    }
                }
            }
        };
        let status = u16::from_le_bytes([last[3], last[4]]);
        out.push(status & NO_INDEX_USED);
        if status & 8 == 0 {
            return out;
        }
    }
}

#[test]
fn answers_say_that_no_key_was_used() {
    let db = Db::start("no-index");
    let mut c = db.client_of(DEPRECATE_EOF | MULTI);
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "CREATE PROCEDURE scans() BEGIN SELECT v FROM t; SET @a = 1; END",
        "CREATE PROCEDURE looks_up() SELECT v FROM t WHERE id = 1",
    ] {
        assert_eq!(statuses(&mut c, sql), [0], "{sql}");
    }
    for (sql, wanted) in [
        ("SELECT * FROM t", &[32][..]),
        ("SELECT * FROM t WHERE v = 1", &[32]),
        ("SELECT * FROM t WHERE id = 1", &[0]),
        ("SELECT * FROM t WHERE id > 1", &[0]),
        ("SELECT 1", &[0]),
        ("SELECT a.v FROM t a JOIN t b ON b.id = a.v", &[32]),
        ("SELECT 1 UNION SELECT v FROM t", &[32]),
        ("SELECT * FROM t; DO 1; SELECT 2", &[32, 0, 0]),
        ("UPDATE t SET v = 3", &[32]),
        ("UPDATE t SET v = 3 WHERE id = 1", &[0]),
        ("DELETE FROM t WHERE v = 9", &[32]),
        ("EXPLAIN SELECT * FROM t", &[0]),
        ("CALL scans()", &[32, 32]),
        ("CALL looks_up()", &[0, 0]),
    ] {
        assert_eq!(statuses(&mut c, sql), wanted, "{sql}");
        // What comes next is another matter.
        c.command(b"\x0e");
        let ok = c.raw();
        assert_eq!(u16::from_le_bytes([ok[3], ok[4]]) & NO_INDEX_USED, 0);
    }
    db.stop();
}
