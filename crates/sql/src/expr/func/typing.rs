//! Types of results, as they follow from the arguments.

use crate::expr::bind::collation_of;
use crate::expr::{Expr, ExprKind};
use crate::types::derive::text_length;
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Value;

/// What the type of a result follows from.
pub(super) struct Typing<'a> {
    pub(super) args: &'a [Expr],
    /// The connection's.
    pub(super) collation: Collation,
}

impl Typing<'_> {
    /// A text of so many characters, under the collation of the texts it is made of.
    pub(super) fn text(&self, length: u32) -> SqlType {
        SqlType::varchar(length, joint(self.args, self.collation))
    }
    /// A text of so many characters that is made of no text.
    pub(super) fn plain(&self, length: u32) -> SqlType {
        SqlType::varchar(length, self.collation)
    }
    /// Characters that an argument has at most as a text; 0 if there is none.
    pub(super) fn length(&self, i: usize) -> u32 {
        self.args.get(i).map_or(0, |a| text_length(&a.ty))
    }
    /// Characters that all arguments have at most together.
    pub(super) fn lengths(&self) -> u32 {
        let lengths = self.args.iter().map(|a| text_length(&a.ty));
        lengths.fold(0, u32::saturating_add)
    }
    /// Length of a text whose number of characters argument `count` gives, if that is constant.
    pub(super) fn repeated(&self, count: usize, least: u32) -> u32 {
        match self.args.get(count).and_then(Expr::as_constant) {
            Some(v) => (v.to_i64().clamp(0, 1 << 30) as u32).saturating_mul(least.max(1)),
            None => 1 << 20,
        }
    }
    /// The fractional digits that the only argument of NOW() and the like asks for.
    pub(super) fn asked_fsp(&self) -> u8 {
        let asked = self.args.first().and_then(Expr::as_constant);
        asked.map_or(0, |v| v.to_i64().clamp(0, 6) as u8)
    }
    /// The most fractional digits that an argument has as a time.
    pub(super) fn fsp(&self) -> u8 {
        self.args.iter().map(temporal_fsp).max().unwrap_or(0)
    }
}

/// An integer of so many digits.
pub(super) fn int<const DIGITS: u32>(_: &Typing<'_>) -> SqlType {
    SqlType {
        length: DIGITS,
        ..SqlType::bigint()
    }
}

/// A text of so many characters that is made of no text.
pub(super) fn plain<const CHARS: u32>(t: &Typing<'_>) -> SqlType {
    t.plain(CHARS)
}

/// So many bytes.
pub(super) fn binary<const BYTES: u32>(_: &Typing<'_>) -> SqlType {
    SqlType::varchar(BYTES, Collation::Binary)
}

pub(super) fn bigint(_: &Typing<'_>) -> SqlType {
    SqlType::bigint()
}

pub(super) fn ubigint(_: &Typing<'_>) -> SqlType {
    SqlType::ubigint()
}

pub(super) fn double(_: &Typing<'_>) -> SqlType {
    SqlType::double()
}

pub(super) fn date(_: &Typing<'_>) -> SqlType {
    SqlType::new(BaseType::Date)
}

/// A text made of all arguments.
pub(super) fn all_texts(t: &Typing<'_>) -> SqlType {
    t.text(t.lengths())
}

/// A text that is no longer than the first argument, and under its collation.
pub(super) fn within_first(t: &Typing<'_>) -> SqlType {
    let ty = &t.args[0].ty;
    let own = ty.text_collation().unwrap_or(t.collation);
    SqlType::varchar(t.length(0), own)
}

/// No more bytes than the first argument has characters.
pub(super) fn bytes_within_first(t: &Typing<'_>) -> SqlType {
    SqlType::varchar(t.length(0), Collation::Binary)
}

/// Fractional digits of an argument as a time; of a text, those it has if it is constant, else as many as there can be.
pub(super) fn temporal_fsp(e: &Expr) -> u8 {
    let t = &e.ty;
    if let ExprKind::DateAdd(args, unit, _) = &e.kind
        && t.is_string()
        && !unit.has_micros()
    {
        return temporal_fsp(&args[0]);
    }
    if let Some(Value::Bytes(b)) = e.as_constant() {
        let point = b.iter().rposition(|c| *c == b'.');
        return point.map_or(0, |i| (b.len() - i - 1).min(6) as u8);
    }
    match t.base {
        BaseType::Double | BaseType::Float => 6,
        _ if t.is_string() => 6,
        _ => t.decimals.min(6),
    }
}

/// The collation that string arguments have in common.
pub(in crate::expr) fn joint(args: &[Expr], otherwise: Collation) -> Collation {
    let mut own = args.iter().filter_map(|a| a.ty.text_collation());
    match own.next() {
        None => otherwise,
        // What most are, row for row.
        Some(first) if own.all(|other| other == first) => first,
        Some(_) => collation_of(&args.iter().collect::<Vec<_>>()).unwrap_or(otherwise),
    }
}
