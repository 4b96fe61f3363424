//! Statements' digests.

use sha2::Digest;

use super::call::bytes;
use super::encode::lower_hex;
use super::typing::plain;
use super::{Call, Exit, Follows, Function, row};
use crate::error::SqlError;
use crate::parse;

// How a text is read follows from sql_mode.
#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("STATEMENT_DIGEST", 1..=1, plain::<64>, |c| bytes(lower_hex(&sha2::Sha256::digest(digest(c)?)))).follows(Follows::Statement).makes_its_own(),
    row("STATEMENT_DIGEST_TEXT", 1..=1, |t| t.plain(t.length(0).saturating_mul(4)), |c| bytes(digest(c)?.into_bytes())).follows(Follows::Statement).makes_its_own(),
];

/// A statement's digest text; error 3676 if it is none.
fn digest(c: &Call<'_, '_>) -> Result<String, Exit> {
    let text = c.text(0)?;
    let text = String::from_utf8_lossy(&text);
    let mode = c.cx.session.sql_mode.get();
    let parsed = parse::parse_one(&text, mode);
    parsed.map_err(|e| {
        let m = format!(
            "Could not parse argument to digest function: \"{}\".",
            e.message
        );
        SqlError::new(3676, m)
    })?;
    Ok(millpond_syntax::digest(&text, parse::lex_mode(mode)))
}
