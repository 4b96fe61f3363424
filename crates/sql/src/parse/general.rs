//! Statements that differ in their literals only: the literals as values.

use std::borrow::Cow;

use millpond_syntax::Taken;

use super::number;
use crate::value::Value;
use crate::value::env::SqlMode;

/// A statement without its literals.
pub struct General<'t> {
    /// Its text, with `?` for each literal taken out.
    pub text: String,
    /// The literals; for an INSERT of several rows, those of one row after the other.
    pub params: Vec<Value<'t>>,
}

/// Takes the literals out of a statement; `None` if it has none that may be taken out, or is not of a kind that is gained by.
pub fn generalize(text: &str, mode: SqlMode) -> Option<General<'_>> {
    let general = millpond_syntax::generalize(text, super::lex_mode(mode))?;
    let params = general.literals.into_iter().map(value);
    Some(General {
        params: params.collect::<Option<_>>()?,
        text: general.text,
    })
}

/// A literal's value, of the type that it has in an expression.
fn value(literal: Taken<'_>) -> Option<Value<'_>> {
    Some(match literal {
        Taken::Null => Value::Null,
        Taken::Number(digits, false) => number(digits).ok()?,
        Taken::Number(digits, true) => number(&format!("-{digits}")).ok()?,
        Taken::Text(Cow::Borrowed(text)) => Value::Bytes(Cow::Borrowed(text.as_bytes())),
        Taken::Text(Cow::Owned(text)) => Value::string(text),
    })
}
