//! Query attributes: values that come by name with COM_QUERY and COM_STMT_EXECUTE.

use crate::commits::Db;
use crate::support::{Client, DEPRECATE_EOF, MULTI};

const QUERY_ATTRIBUTES: u32 = 1 << 27;
const STRING: u8 = 254;
const LONG: u8 = 3;
const BLOB: u8 = 252;
const NULL: u8 = 6;

/// Type, name, value.
type Param = (u8, &'static [u8], Option<Vec<u8>>);

fn text(s: &[u8]) -> Vec<u8> {
    let mut out = vec![u8::try_from(s.len()).unwrap()];
    out.extend_from_slice(s);
    out
}

/// NULLs, the flag that types follow, types with names, values.
fn bound(params: &[Param]) -> Vec<u8> {
    let mut out = vec![0; params.len().div_ceil(8)];
    for (i, (.., value)) in params.iter().enumerate() {
        out[i / 8] |= u8::from(value.is_none()) << (i % 8);
    }
    out.push(1);
    for (ty, name, _) in params {
        out.extend_from_slice(&[*ty, 0]);
        out.extend_from_slice(&text(name));
    }
    for (.., value) in params {
        out.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    out
}

fn query(c: &mut Client, params: &[Param], sql: &[u8]) {
    let mut p = vec![3, params.len() as u8, 1];
    if !params.is_empty() {
        p.extend_from_slice(&bound(params));
    }
    p.extend_from_slice(sql);
    c.command(&p);
}

/// The only row of a result, `-` for NULL.
fn row(c: &mut Client) -> Vec<String> {
    let rows = c.result_set();
    assert_eq!(rows.len(), 1);
    let text = |v: &Option<Vec<u8>>| match v {
        Some(v) => String::from_utf8(v.clone()).unwrap(),
        None => "-".into(),
    };
    rows[0].iter().map(text).collect()
}

const ASK: &[u8] = b"SELECT mysql_query_attribute_string('n'), mysql_query_attribute_string('N'), \
    mysql_query_attribute_string('m'), mysql_query_attribute_string('')";

#[test]
fn attributes_come_with_a_query() {
    let db = Db::start("attributes");
    let mut c = db.client_of(QUERY_ATTRIBUTES | DEPRECATE_EOF | MULTI);
    query(&mut c, &[], ASK);
    assert_eq!(row(&mut c), ["-", "-", "-", "-"]);
    let sent = [
        (STRING, &b"n"[..], Some(text("v\u{e4}l".as_bytes()))),
        (LONG, b"m", Some(vec![0xff; 4])),
        (NULL, b"", None),
    ];
    query(&mut c, &sent, ASK);
    assert_eq!(row(&mut c), ["v\u{e4}l", "-", "-1", "-"]);
    // They were that statement's.
    query(&mut c, &[], ASK);
    assert_eq!(row(&mut c), ["-", "-", "-", "-"]);
    // All statements of a text have them, what a program runs included, and one that fails takes them along.
    let define = b"CREATE DATABASE d; CREATE FUNCTION d.f() RETURNS TEXT RETURN mysql_query_attribute_string('n')";
    query(&mut c, &[], define);
    for _ in 0..2 {
        c.packet();
    }
    query(&mut c, &sent, b"SELECT d.f(); nonsense");
    assert_eq!(row(&mut c), ["v\u{e4}l"]);
    assert_eq!(c.packet().err().0, 1064);
    query(&mut c, &[], b"SELECT d.f()");
    assert_eq!(row(&mut c), ["-"]);
    // Names and values are in the client's character set, bytes are what they are.
    query(&mut c, &[], b"SET NAMES latin1");
    c.packet();
    let sent = [
        (STRING, &b"\xe4"[..], Some(text(b"\xf6"))),
        (BLOB, b"b", Some(text(b"abc"))),
    ];
    let ask =
        b"SELECT HEX(mysql_query_attribute_string('\xe4')), mysql_query_attribute_string('b')";
    query(&mut c, &sent, ask);
    assert_eq!(row(&mut c), ["C3B6", "abc"]);
    // What contradicts itself.
    for wrong in [
        &b"\x03"[..],
        b"\x03\x01",
        b"\x03\x00\x02SELECT 1",
        b"\x03\x01\x01\x00\x00SELECT 1",
        b"\x03\x02\x01\x00\x01\xfe\x00\x01n",
        b"\x03\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ] {
        c.command(wrong);
        assert_eq!(c.packet().err().0, 1835, "{wrong:?}");
    }
    db.stop();
}

#[test]
fn attributes_come_with_an_execution() {
    let db = Db::start("attributes-ps");
    let mut c = db.client_of(QUERY_ATTRIBUTES | DEPRECATE_EOF | MULTI);
    let (id, params, columns) = c.prepare("SELECT ?, mysql_query_attribute_string('n'), ?");
    assert_eq!((params, columns), (2, 3));
    let own = |s: &str| (STRING, &b""[..], Some(text(s.as_bytes())));
    let named = (STRING, &b"n"[..], Some(text(b"value")));
    let with_count = |params: &[Param]| {
        let mut body = vec![params.len() as u8];
        body.extend(bound(params));
        body
    };
    c.execute_as(8, id, &with_count(&[own("a"), own("b"), named.clone()]));
    assert_eq!(c.binary_rows(), [b"\0\0\x01a\x05value\x01b"]);
    // Types and names are those of before where none are sent.
    let mut again = vec![3, 0, 0];
    for s in ["x", "y", "z"] {
        again.extend(text(s.as_bytes()));
    }
    c.execute_as(8, id, &again);
    assert_eq!(c.binary_rows(), [b"\0\0\x01x\x01z\x01y"]);
    // Without attributes; some clients leave the flag out then, and say how many parameters there are all the same.
    for flags in [0, 8] {
        c.execute_as(flags, id, &with_count(&[own("a"), own("b")]));
        assert_eq!(c.binary_rows(), [b"\0\x08\x01a\x01b"]);
    }
    c.execute_as(8, id, &with_count(&[own("a")]));
    assert_eq!(c.packet().err().0, 1210);
    c.execute_as(8, id, b"\x03");
    assert_eq!(c.packet().err().0, 1835);
    // A statement without placeholders.
    let (id, params, _) = c.prepare("SELECT mysql_query_attribute_string('n')");
    assert_eq!(params, 0);
    c.execute_as(8, id, &with_count(&[named]));
    assert_eq!(c.binary_rows(), [b"\0\0\x05value"]);
    for (flags, body) in [(0, &b""[..]), (8, b""), (8, b"\0")] {
        c.execute_as(flags, id, body);
        assert_eq!(c.binary_rows(), [b"\0\x04"]);
    }
    db.stop();
}
