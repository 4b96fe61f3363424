//! Files of the server's machine that statements read and write: LOAD DATA, SELECT ... INTO OUTFILE and DUMPFILE, LOAD_FILE().
//!
//! It owns which files those may be ([`access`]), how rows stand in them ([`Format`]), writing a row ([`write::Writer`]) and reading
//! rows ([`read::Rows`]). It promises that a file is opened only where `secure_file_priv` allows it, that none is overwritten, and that what is
//! read takes no more memory than a row of `max_allowed_packet` bytes. It never knows tables: what becomes of a row's fields is the caller's.

pub mod access;
mod format;
pub mod read;
pub mod write;

pub use format::Format;

use std::fmt::Display;
use std::io;

use crate::error::{SqlError, SqlResult};
use crate::types::{Collation, Encoding};

/// What the bytes of a file in a character set mean; error 1115 for one there is not. `binary` is taken as it is.
pub fn encoding(charset: &str) -> SqlResult<Encoding> {
    let lower = charset.to_ascii_lowercase();
    match Encoding::of_charset(&lower) {
        Encoding::Utf8 => Collation::of_charset(&lower).map(|_| Encoding::Utf8),
        other => Ok(other),
    }
}

/// An error of the operating system, under one of the codes that MySQL has for those: `what` with the cause behind it.
fn system_error(code: u16, what: impl Display, e: &io::Error) -> SqlError {
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let number = e.raw_os_error().unwrap_or(0);
    SqlError::new(code, format!("{what} (OS errno {number} - {text})"))
}
