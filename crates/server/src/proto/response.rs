//! OK, ERR, EOF and column definition payloads.

use super::lenenc::{put_bytes, put_lenenc};
use super::status::SESSION_STATE_CHANGED;
use millpond_session::result::{ColumnMeta, Tracked};
use millpond_session::types::{
    BaseType, Charset, Collation, Encoding, FLAG_BINARY, FLAG_BLOB, FLAG_ZEROFILL, SqlType,
};
use millpond_session::{Completion, SqlError};

/// Appends an OK payload; `header` is 0x00, or 0xfe for the one that ends a result set.
pub fn ok(out: &mut Vec<u8>, header: u8, done: &Completion, status: u16) {
    let tells = !done.tracked.is_empty();
    let status = match tells {
        true => status | SESSION_STATE_CHANGED,
        false => status,
    };
    out.push(header);
    put_lenenc(out, done.affected);
    put_lenenc(out, done.last_insert_id);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&done.warnings.to_le_bytes());
    if tells || !done.info.is_empty() {
        put_bytes(out, done.info.as_bytes());
    }
    if tells {
        put_bytes(out, &tracked(&done.tracked));
    }
}

/// What an OK packet tells of the session's state: of each change its kind and its length, then names and values as texts.
#[cold]
fn tracked(changes: &[Tracked]) -> Vec<u8> {
    const VARIABLE: u8 = 0;
    const SCHEMA: u8 = 1;
    const STATE: u8 = 2;
    const CHARACTERISTICS: u8 = 4;
    const TRANSACTION: u8 = 5;
    let mut out = Vec::new();
    for change in changes {
        let mut data = Vec::new();
        let kind = match change {
            Tracked::Variable(name, value) => {
                put_bytes(&mut data, name.as_bytes());
                put_bytes(&mut data, value.as_bytes());
                VARIABLE
            }
            Tracked::Schema(name) => {
                put_bytes(&mut data, name.as_bytes());
                SCHEMA
            }
            Tracked::State => {
                put_bytes(&mut data, b"1");
                STATE
            }
            Tracked::Characteristics(statements) => {
                put_bytes(&mut data, statements.as_bytes());
                CHARACTERISTICS
            }
            Tracked::Transaction(state) => {
                put_bytes(&mut data, state.as_bytes());
                TRANSACTION
            }
        };
        out.push(kind);
        put_bytes(&mut out, &data);
    }
    out
}

/// Appends an EOF payload.
pub fn eof(out: &mut Vec<u8>, warnings: u16, status: u16) {
    out.push(0xfe);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.to_le_bytes());
}

/// Appends an ERR payload.
pub fn err(out: &mut Vec<u8>, e: &SqlError, encoding: Encoding) {
    /// As MySQL: a message is 512 bytes at most.
    const MAX_MESSAGE: usize = 511;
    out.push(0xff);
    out.extend_from_slice(&e.code.to_le_bytes());
    out.push(b'#');
    out.extend_from_slice(&e.state.bytes());
    let mut end = e.message.len().min(MAX_MESSAGE);
    while !e.message.is_char_boundary(end) {
        end -= 1;
    }
    encoding.encode(&e.message.as_bytes()[..end], out);
}

/// Appends a column definition payload, for results in this encoding.
pub fn column(out: &mut Vec<u8>, c: &ColumnMeta, encoding: Encoding) {
    let name = |out: &mut Vec<u8>, name: &str| match encoding {
        Encoding::Utf8 => put_bytes(out, name.as_bytes()),
        _ => {
            let mut encoded = Vec::new();
            encoding.encode(name.as_bytes(), &mut encoded);
            put_bytes(out, &encoded);
        }
    };
    let (charset, length) = match c.ty.is_json() {
        // The documents of columns are bytes to the protocol, those that are computed texts.
        true if !c.table.is_empty() => (Collation::Binary.id(), u32::MAX),
        true => {
            let sent = encoding.charset().unwrap_or(Charset::Utf8mb4);
            (sent.facts().default.id(), u32::MAX)
        }
        false => text_charset(&c.ty, encoding),
    };
    put_bytes(out, b"def");
    name(out, &c.database);
    name(out, &c.table);
    name(out, &c.org_table);
    name(out, &c.name);
    name(out, &c.org_name);
    out.push(0x0c);
    out.extend_from_slice(&charset.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.push(long_text(c).unwrap_or_else(|| c.ty.protocol_type()));
    out.extend_from_slice(&flags(c).to_le_bytes());
    out.push(decimals(c));
    out.extend_from_slice(&[0, 0]);
}

/// The id that says what a column's bytes are in results of this encoding, and how many they are at most.
fn text_charset(ty: &SqlType, encoding: Encoding) -> (u16, u32) {
    let own = ty.char_bytes();
    if !is_text(ty) || encoding == Encoding::Own {
        return (ty.protocol_charset(), ty.protocol_length(own));
    }
    let sent = encoding.charset().unwrap_or(Charset::Utf8mb4);
    // Of the same character set a column tells its own collation.
    let id = match ty.collation.character_set() == sent {
        true => ty.protocol_charset(),
        false => sent.facts().default.id(),
    };
    (id, ty.protocol_length(sent.facts().max_bytes))
}

/// The type that is told of a long text or string of bytes that is computed: of columns it is one for all of them.
fn long_text(c: &ColumnMeta) -> Option<u8> {
    if !c.table.is_empty() {
        return None;
    }
    match c.ty.base {
        BaseType::MediumText | BaseType::MediumBlob => Some(super::field::MEDIUM_BLOB),
        BaseType::LongText | BaseType::LongBlob => Some(super::field::LONG_BLOB),
        _ => None,
    }
}

/// Flags of a column. Numbers of tables are not marked as binary strings are, as computed ones are; YEAR is marked ZEROFILL.
fn flags(c: &ColumnMeta) -> u16 {
    let of_type = c.ty.protocol_flags();
    if long_text(c).is_some() {
        return (c.flags | of_type) & !FLAG_BLOB;
    }
    if c.org_table.is_empty() || !c.ty.is_numeric() {
        return c.flags | of_type;
    }
    let year = match c.ty.base {
        BaseType::Year => FLAG_ZEROFILL,
        _ => 0,
    };
    (c.flags | of_type) & !FLAG_BINARY | year
}

/// Whether values are texts, which are converted for the client.
pub fn is_text(ty: &SqlType) -> bool {
    ty.is_json() || ty.is_string() && ty.collation != Collation::Binary
}

/// Digits after the point or fractional digits of seconds. Drivers that fetch by the binary protocol print as many, and take
/// 31 for "not fixed", which is also what MySQL says of strings that are computed.
fn decimals(c: &ColumnMeta) -> u8 {
    const NOT_FIXED: u8 = 31;
    if c.ty.is_string() || c.ty.is_json() {
        if c.table.is_empty() { NOT_FIXED } else { 0 }
    } else {
        c.ty.decimals
    }
}

/// Appends the definition of a prepared statement's parameter, as MySQL describes every one of them.
pub fn parameter(out: &mut Vec<u8>) {
    put_bytes(out, b"def");
    out.extend_from_slice(&[0, 0, 0]);
    put_bytes(out, b"?");
    out.push(0);
    out.push(0x0c);
    out.extend_from_slice(&63u16.to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    out.push(super::field::VAR_STRING);
    out.extend_from_slice(&128u16.to_le_bytes());
    out.extend_from_slice(&[0, 0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_carries_its_numbers() {
        let mut out = Vec::new();
        let done = Completion {
            affected: 300,
            last_insert_id: 7,
            warnings: 1,
            info: "hi".into(),
            ..Completion::default()
        };
        ok(&mut out, 0, &done, 3);
        assert_eq!(out, [0, 0xfc, 44, 1, 7, 3, 0, 1, 0, 2, b'h', b'i']);
    }

    #[test]
    fn ok_tells_of_the_session() {
        let mut out = Vec::new();
        let done = Completion {
            tracked: vec![
                Tracked::Variable("autocommit".into(), "OFF".into()),
                Tracked::Schema("db".into()),
                Tracked::State,
            ],
            ..Completion::default()
        };
        ok(&mut out, 0, &done, 2);
        assert_eq!(out[..8], [0, 0, 0, 2, 0x40, 0, 0, 0]);
        assert_eq!(
            &out[8..],
            b"\x1a\x00\x0f\x0aautocommit\x03OFF\x01\x03\x02db\x02\x02\x011"
        );
    }

    #[test]
    fn long_texts_that_are_computed_have_types_of_their_own() {
        let told = |base: BaseType, table: &str| {
            let mut c = ColumnMeta::computed("c".into(), &SqlType::new(base), true);
            c.table = table.into();
            let mut out = Vec::new();
            column(&mut out, &c, Encoding::Utf8);
            // Behind the names: 0x0c, character set, length; the type, and the flags.
            let at = out.len() - 6;
            (
                out[at],
                u16::from_le_bytes([out[at + 1], out[at + 2]]) & FLAG_BLOB,
            )
        };
        for (base, own) in [(BaseType::MediumText, 250), (BaseType::LongBlob, 251)] {
            assert_eq!(told(base, ""), (own, 0));
            assert_eq!(told(base, "t"), (252, FLAG_BLOB));
        }
        assert_eq!(told(BaseType::Text, ""), (252, FLAG_BLOB));
    }

    #[test]
    fn columns_tell_their_decimals() {
        use millpond_session::types::{BaseType, Collation, SqlType};
        let text = SqlType::varchar(9, Collation::Utf8mb4Bin);
        for (ty, table, want) in [
            (SqlType::datetime(3), "t", 3),
            (SqlType::datetime(0), "", 0),
            (SqlType::temporal(BaseType::Time, 2), "", 2),
            (SqlType::new(BaseType::Date), "t", 0),
            (SqlType::double(), "t", 31),
            (SqlType::decimal(10, 4), "t", 4),
            (SqlType::bigint(), "", 0),
            (text.clone(), "t", 0),
            (text, "", 31),
        ] {
            let meta = ColumnMeta {
                database: String::new(),
                table: table.into(),
                org_table: String::new(),
                name: "c".into(),
                org_name: String::new(),
                ty,
                flags: 0,
            };
            let mut out = Vec::new();
            column(&mut out, &meta, Encoding::Utf8);
            assert_eq!(out[out.len() - 3], want, "{:?}", meta.ty);
        }
    }

    #[test]
    fn numbers_of_tables_are_not_binary() {
        use millpond_session::types::{BaseType, SqlType};
        const UNSIGNED: u16 = 32;
        for (ty, table, want) in [
            (SqlType::bigint(), "t", 0),
            (SqlType::bigint(), "", FLAG_BINARY),
            (SqlType::bits(7), "t", UNSIGNED),
            (SqlType::new(BaseType::Year), "t", UNSIGNED | FLAG_ZEROFILL),
            (SqlType::new(BaseType::Date), "t", FLAG_BINARY),
        ] {
            let mut meta = ColumnMeta::computed("c".into(), &ty, true);
            meta.org_table = table.into();
            assert_eq!(flags(&meta), want, "{ty:?}");
        }
    }

    #[test]
    fn err_cuts_long_messages_between_characters() {
        let mut out = Vec::new();
        err(
            &mut out,
            &SqlError::new(1064, "é".repeat(400)),
            Encoding::Utf8,
        );
        assert_eq!(&out[..9], b"\xff\x28\x04#42000");
        assert_eq!(out.len(), 9 + 510);
        assert!(std::str::from_utf8(&out[9..]).is_ok());
    }
}
