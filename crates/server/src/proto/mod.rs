//! The MySQL client/server protocol as bytes: constants, a cursor over packets received, encoders
//! for packets sent. Pure functions over slices and vectors; no sockets, no sessions.
//!
//! Promise: no input makes anything here panic or read outside its slice; a short or inconsistent packet is
//! [`Malformed`]. Encoders append to a caller's vector and allocate nothing else.

pub mod binary;
pub mod handshake;
pub mod lenenc;
pub mod response;
pub mod text;

pub use lenenc::{Cursor, Malformed};

/// Longest payload of one packet on the wire; a payload this long is continued in the next packet.
pub const MAX_PAYLOAD: usize = 0xff_ffff;
/// Bytes of a packet header: payload length (3) and sequence id (1).
pub const HEADER: usize = 4;

/// Capability flags (`CLIENT_*`).
pub mod capability {
    /// Longer passwords: set by everyone.
    pub const LONG_PASSWORD: u32 = 1;
    /// Affected rows mean found rows.
    pub const FOUND_ROWS: u32 = 1 << 1;
    /// All column flags.
    pub const LONG_FLAG: u32 = 1 << 2;
    /// The handshake response may name a database.
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    /// Packets compressed by zlib.
    pub const COMPRESS: u32 = 1 << 5;
    /// An ODBC client; no meaning since 3.22.
    pub const ODBC: u32 = 1 << 6;
    /// The client may be asked for files (LOAD DATA LOCAL).
    pub const LOCAL_FILES: u32 = 1 << 7;
    /// Spaces before `(`.
    pub const IGNORE_SPACE: u32 = 1 << 8;
    /// Protocol 4.1.
    pub const PROTOCOL_41: u32 = 1 << 9;
    /// `interactive_timeout` instead of `wait_timeout`.
    pub const INTERACTIVE: u32 = 1 << 10;
    /// TLS: offered where there is any.
    pub const SSL: u32 = 1 << 11;
    /// The client ignores SIGPIPE.
    pub const IGNORE_SIGPIPE: u32 = 1 << 12;
    /// Status flags in responses.
    pub const TRANSACTIONS: u32 = 1 << 13;
    /// Was protocol 4.1's flag once.
    pub const RESERVED: u32 = 1 << 14;
    /// 20-byte challenges.
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    /// Several statements in one COM_QUERY.
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    /// Several results of one COM_QUERY.
    pub const MULTI_RESULTS: u32 = 1 << 17;
    /// Several results of one COM_STMT_EXECUTE.
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    /// Authentication plugins by name.
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    /// Connection attributes.
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    /// Authentication data with a length-encoded length.
    pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    /// The client can go on with an expired password, to change it.
    pub const HANDLES_EXPIRED: u32 = 1 << 22;
    /// OK packets may tell of the session's state.
    pub const SESSION_TRACK: u32 = 1 << 23;
    /// OK packets in place of EOF packets.
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    /// COM_QUERY and COM_STMT_EXECUTE carry values by name.
    pub const QUERY_ATTRIBUTES: u32 = 1 << 27;

    /// What this server offers, TLS aside.
    pub const SERVER: u32 = LONG_PASSWORD
        | HANDLES_EXPIRED
        | FOUND_ROWS
        | LONG_FLAG
        | CONNECT_WITH_DB
        | COMPRESS
        | ODBC
        | LOCAL_FILES
        | IGNORE_SPACE
        | PROTOCOL_41
        | INTERACTIVE
        | IGNORE_SIGPIPE
        | TRANSACTIONS
        | RESERVED
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | CONNECT_ATTRS
        | PLUGIN_AUTH_LENENC
        | SESSION_TRACK
        | DEPRECATE_EOF
        | QUERY_ATTRIBUTES;
}

/// Server status flags that the protocol layer itself sets or reads.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 1;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 8;
    /// The rows are a cursor's, to be fetched.
    pub const CURSOR_EXISTS: u16 = 64;
    /// The cursor had no more rows, and is closed.
    pub const LAST_ROW_SENT: u16 = 128;
    /// The result set is a row of OUT parameters.
    pub const OUT_PARAMETERS: u16 = 4096;
    /// An OK packet tells of the session's state.
    pub const SESSION_STATE_CHANGED: u16 = 1 << 14;
    /// NO_BACKSLASH_ESCAPES is in force.
    pub const NO_BACKSLASH_ESCAPES: u16 = 512;
}

/// Command bytes.
pub mod command {
    #![allow(missing_docs)]
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const REFRESH: u8 = 0x07;
    pub const SHUTDOWN: u8 = 0x08;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0a;
    pub const PROCESS_KILL: u8 = 0x0c;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// Column and parameter types (`MYSQL_TYPE_*`).
pub mod field {
    #![allow(missing_docs)]
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}
