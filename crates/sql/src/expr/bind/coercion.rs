//! Under which collation several strings are compared or joined: that of the one that holds to its own most firmly (MySQL's
//! coercibility), whatever their order.

use super::Scope;
use crate::error::{SqlError, SqlResult};
use crate::expr::func::Func;
use crate::expr::{Expr, ExprKind};
use crate::types::{BaseType, Charset, Collation, SqlType};
use crate::value::{Value, printable_bytes};

/// How firmly a string holds to its collation, the firmest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coercibility {
    /// COLLATE.
    Explicit,
    /// Made of strings whose character sets have nothing in common, or of several COLLATEs.
    Torn,
    /// A column, or what is made of columns.
    Implicit,
    /// A column of a table that the server makes up. Those of stored tables win, whatever their collation.
    Listed,
    /// Of strings of one character set that stand side by side and agree on no collation: firmer than a constant among them.
    Parted,
    /// What the session or the server says of itself.
    System,
    /// A constant.
    Constant,
    /// Made of such strings. Whatever it stands beside decides.
    Mixed,
}

impl Coercibility {
    /// As messages have it.
    fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::Torn | Coercibility::Parted | Coercibility::Mixed => "NONE",
            Coercibility::Implicit | Coercibility::Listed => "IMPLICIT",
            Coercibility::System => "SYSCONST",
            Coercibility::Constant => "COERCIBLE",
        }
    }
}

/// What a string holds to, and how firmly.
#[derive(Clone, Copy)]
struct Held {
    hold: Coercibility,
    collation: Collation,
    /// Whether it is known to be nothing but ASCII, which every character set has.
    ascii: bool,
}

impl Held {
    /// Of a column.
    fn column(hold: Coercibility, collation: Collation) -> Held {
        let ascii = collation.character_set() == Charset::Ascii;
        Held {
            hold,
            collation,
            ascii,
        }
    }

    /// Whether there is no collation to compare by.
    fn is_none(self) -> bool {
        matches!(
            self.hold,
            Coercibility::Torn | Coercibility::Parted | Coercibility::Mixed
        )
    }
    /// Whether its character set takes what `other` may be: Unicode takes all, utf8mb4 and utf32 also what is
    /// Unicode; ASCII can become anything, but not what is as firm and nothing but ASCII too.
    fn takes(self, other: Held) -> bool {
        let firmer = self.hold < other.hold;
        let same = self.hold == other.hold;
        let (own, others) = (
            self.collation.character_set(),
            other.collation.character_set(),
        );
        let wider = !others.is_unicode() || matches!(own, Charset::Utf8mb4 | Charset::Utf32);
        own.is_unicode() && (firmer || same && wider)
            || other.ascii && (firmer || same && !self.ascii)
    }
}

/// What an expression holds to; `None` if its texts hold to nothing: numbers, dates.
fn held(e: &Expr) -> Option<Held> {
    let mut held = Held::column(Coercibility::Implicit, e.ty.text_collation()?);
    held.hold = match &e.kind {
        ExprKind::Column { hold, .. } | ExprKind::Subquery { hold, .. } => *hold,
        ExprKind::Collate(text) => {
            held.ascii |= self::held(text).is_some_and(|h| h.ascii);
            Coercibility::Explicit
        }
        ExprKind::Literal(v) => {
            held.ascii |= matches!(v, Value::Bytes(text) if text.is_ascii());
            Coercibility::Constant
        }
        ExprKind::BitString(_)
        | ExprKind::Param(_)
        | ExprKind::UserVariable(_)
        | ExprKind::DateAdd(..) => Coercibility::Constant,
        ExprKind::SystemVariable(..) => Coercibility::System,
        // Texts of documents are as firm as columns.
        ExprKind::Function(_, args) if args.iter().any(|a| a.ty.is_json()) => {
            Coercibility::Implicit
        }
        // In the connection's character set, whatever their arguments are in.
        ExprKind::Function(f, _) if f.makes_its_own() => {
            held.ascii = true;
            Coercibility::Constant
        }
        ExprKind::Function(_, args) => {
            let all = made(args.iter());
            held.ascii |= all.is_none_or(|h| h.ascii);
            let none = match args.is_empty() {
                true => Coercibility::System,
                false => Coercibility::Constant,
            };
            all.map_or(none, |h| h.hold)
        }
        ExprKind::Case(branches, last) => {
            let all = made(branches.iter().map(|(_, r)| r).chain(last.as_deref()));
            held.ascii |= all.is_none_or(|h| h.ascii);
            all.map_or(Coercibility::Constant, |h| h.hold)
        }
        // CHAR(... USING ...).
        ExprKind::Cast(e) if is_char(e) => Coercibility::Constant,
        ExprKind::Cast(e) => {
            held.ascii |= !e.ty.is_string() || self::held(e).is_some_and(|h| h.ascii);
            Coercibility::Implicit
        }
        _ => Coercibility::Implicit,
    };
    if held.hold == Coercibility::Parted {
        held.hold = Coercibility::Mixed;
    }
    Some(held)
}

/// Whether it is CHAR(), or the text that its bytes are.
fn is_char(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Function(Func::Char, _) => true,
        ExprKind::Function(Func::TextOf, args) => args.first().is_some_and(is_char),
        _ => false,
    }
}

/// COERCIBILITY(): the less, the firmer.
pub(super) fn coercibility(e: &Expr) -> i64 {
    if e.ty.base == BaseType::Null {
        return 6;
    }
    match held(e).map(|h| h.hold) {
        None => 5,
        Some(Coercibility::Explicit) => 0,
        Some(Coercibility::Implicit | Coercibility::Listed) => 2,
        Some(Coercibility::System) => 3,
        Some(Coercibility::Constant) => 4,
        Some(Coercibility::Torn | Coercibility::Parted | Coercibility::Mixed) => 7,
    }
}

/// Whether a string holds to its collation more firmly than a constant, so that it is not to become one.
pub(super) fn is_firm(e: &Expr) -> bool {
    held(e).is_some_and(|h| h.hold < Coercibility::System || h.is_none())
}

/// What a column of a query's result holds to that has this expression; a constant if it is no string.
pub(crate) fn hold_of(e: &Expr) -> Coercibility {
    held(e).map_or(Coercibility::Constant, |h| h.hold)
}

/// What a column holds to that has strings of these two columns; where they agree on none, to what its type says.
pub(crate) fn united(
    a: (Coercibility, &SqlType),
    b: (Coercibility, &SqlType),
) -> (Coercibility, Option<Collation>) {
    let column = |(hold, ty): (Coercibility, &SqlType)| {
        ty.is_string().then(|| Held::column(hold, ty.collation))
    };
    match (column(a), column(b)) {
        (Some(a), Some(b)) => match both(a, b) {
            h if h.is_none() => (Coercibility::Implicit, None),
            h => (h.hold, Some(h.collation)),
        },
        (Some(h), None) | (None, Some(h)) => (h.hold, Some(h.collation)),
        (None, None) => (Coercibility::Constant, None),
    }
}

/// The hold of what is made of these.
pub(crate) fn made_of<'e>(parts: impl Iterator<Item = &'e Expr>) -> Coercibility {
    match made(parts) {
        Some(h) if h.hold == Coercibility::Parted => Coercibility::Mixed,
        Some(h) => h.hold,
        None => Coercibility::System,
    }
}

/// What is made of these holds to; `None` if none is a string.
fn made<'e>(parts: impl Iterator<Item = &'e Expr>) -> Option<Held> {
    parts.filter_map(held).reduce(both)
}

/// What two hold to together.
fn both(a: Held, b: Held) -> Held {
    let ascii = a.ascii && b.ascii;
    let firmer = match a.hold <= b.hold {
        true => Held { ascii, ..a },
        false => Held { ascii, ..b },
    };
    if a.collation == b.collation {
        return match a.is_none() {
            true => Held { ascii, ..a },
            false => firmer,
        };
    }
    let without = |hold, collation| Held {
        hold,
        collation,
        ascii,
    };
    let (x, y) = (a.collation.character_set(), b.collation.character_set());
    if x == y {
        return match (a.collation.is_bin(), b.collation.is_bin()) {
            _ if a.hold != b.hold => firmer,
            _ if a.hold == Coercibility::Explicit => {
                without(Coercibility::Torn, Collation::bin_of(x))
            }
            (true, _) => Held { ascii, ..a },
            (_, true) => Held { ascii, ..b },
            _ => without(Coercibility::Parted, Collation::bin_of(x)),
        };
    }
    let binary = |c: Charset| c == Charset::Binary;
    if binary(x) || binary(y) {
        return match a.hold == b.hold {
            true if binary(x) => Held { ascii, ..a },
            true => Held { ascii, ..b },
            false => firmer,
        };
    }
    if a.hold == Coercibility::Torn || b.hold == Coercibility::Torn {
        return firmer;
    }
    if a.takes(b) {
        return Held { ascii, ..a };
    }
    if b.takes(a) {
        return Held { ascii, ..b };
    }
    // A constant becomes what it stands beside, if it can.
    if a.hold != b.hold && a.hold.max(b.hold) >= Coercibility::System {
        return firmer;
    }
    without(Coercibility::Torn, Collation::Utf8mb4Bin)
}

fn together(list: &[&Expr]) -> Option<Held> {
    made(list.iter().copied())
}

/// The first constant among these that has a character which the character set they are to be in has not, and the collation that it has.
fn lost<'e>(list: &[&'e Expr], collation: Collation) -> Option<(&'e [u8], Collation)> {
    if collation.is_plain() {
        return None;
    }
    let encoding = collation.character_set().encoding();
    list.iter().find_map(|e| match &e.kind {
        ExprKind::Literal(Value::Bytes(text))
            if e.ty.is_character() && encoding.misfit(text).is_some() =>
        {
            Some((&**text, e.ty.collation))
        }
        _ => None,
    })
}

/// Error 3854 for a text that isn't one under `to`, with its beginning.
pub(crate) fn not_converted(text: &[u8], from: Collation, to: Collation) -> SqlError {
    const SHOWN: usize = 6;
    let (begin, more) = match text.get(..SHOWN) {
        Some(begin) if text.len() > SHOWN => (begin, "..."),
        _ => (text, ""),
    };
    SqlError::new(
        3854,
        format!(
            "Cannot convert string '{}{more}' from {} to {}",
            printable_bytes(begin),
            from.charset(),
            to.charset()
        ),
    )
}

/// The collation that strings are compared or joined under; where they agree on none, the binary one.
pub(in crate::expr) fn collation_of(list: &[&Expr]) -> Option<Collation> {
    together(list).map(|h| h.collation)
}

/// The same for a comparison, which cannot be made where they agree on none: 1267, 1270 or 1271. A string beside none other is
/// compared with no text.
pub(super) fn agree(list: &[&Expr], operation: &str) -> SqlResult<()> {
    if list.iter().filter(|e| held(e).is_some()).count() < 2 {
        return Ok(());
    }
    match together(list) {
        Some(all) if all.is_none() || all.hold != Coercibility::Explicit && part(list) => {
            Err(mix(list, operation))
        }
        Some(all) => fitting(list, all.collation),
        None => Ok(()),
    }
}

/// Whether a value and one of those that it is looked for among are compared as texts: then all of them are to agree on a collation.
pub(super) fn has_texts<'e>(value: &Expr, mut among: impl Iterator<Item = &'e Expr>) -> bool {
    let text = |e: &Expr| !e.ty.is_numeric();
    text(value) && among.any(text)
}

/// Whether strings of a list, one after the other, agree on no collation, though one behind them may decide.
fn part(list: &[&Expr]) -> bool {
    let mut all = (2..=list.len()).filter_map(|n| together(&list[..n]));
    all.any(|h| h.hold == Coercibility::Parted)
}

/// The same where strings of one collation are compared by it, though they be made of such as agree on none.
pub(super) fn agree_at_all(list: &[&Expr], operation: &str) -> SqlResult<()> {
    let mut collations = list.iter().filter_map(|e| e.ty.text_collation());
    match collations.next() {
        Some(first) if collations.all(|c| c == first) => Ok(()),
        _ => agree(list, operation),
    }
}

/// Error 1267 for the argument of MIN() or MAX() whose strings agree on no collation.
pub(super) fn ordered(e: &Expr, operation: &str) -> SqlResult<()> {
    match held(e) {
        Some(h) if h.is_none() => Err(mix(&[e, e], operation)),
        _ => Ok(()),
    }
}

/// The same for a function that makes one text of several, or compares them: that takes collations of one character set that do not agree.
pub(super) fn meet(list: &[&Expr], operation: &str) -> SqlResult<()> {
    match together(list) {
        Some(all) if all.hold == Coercibility::Torn => Err(mix(list, operation)),
        Some(all) => fitting(list, all.collation),
        None => Ok(()),
    }
}

/// Error 3854 for a constant among these that a collation's character set doesn't have.
fn fitting(list: &[&Expr], collation: Collation) -> SqlResult<()> {
    match lost(list, collation) {
        Some((text, of)) => Err(not_converted(text, of, collation)),
        None => Ok(()),
    }
}

/// Holds placeholders among what agreed to the character set that is compared in: what they are given may have none of its characters there.
pub(super) fn fit_params(list: &[&Expr], scope: &mut dyn Scope) {
    let Some(all) = together(list).filter(|all| !all.collation.is_plain()) else {
        return;
    };
    for e in list {
        if let ExprKind::Param(n) = e.kind {
            // It may have been taken to be what it is compared with.
            let from = match e.ty.collation.character_set() == all.collation.character_set() {
                true => scope.collation(),
                false => e.ty.collation,
            };
            scope.fitting_param(n, from, all.collation);
        }
    }
}

/// Error 1267, 1270 or 1271.
fn mix(list: &[&Expr], operation: &str) -> SqlError {
    let shown = |e: &&Expr| match held(e) {
        Some(h) => format!("({},{})", h.collation.name(), h.hold.name()),
        None if e.ty.base == BaseType::Null => "(binary,IGNORABLE)".into(),
        None => "(latin1_swedish_ci,NUMERIC)".into(),
    };
    let all: Vec<String> = list.iter().map(shown).collect();
    match all.len() {
        2 => SqlError::new(
            1267,
            format!(
                "Illegal mix of collations {} and {} for operation '{operation}'",
                all[0], all[1]
            ),
        ),
        3 => SqlError::new(
            1270,
            format!(
                "Illegal mix of collations {} for operation '{operation}'",
                all.join(", ")
            ),
        ),
        _ => SqlError::new(
            1271,
            format!("Illegal mix of collations for operation '{operation}'"),
        ),
    }
}
