//! Under which collation several strings are compared or joined: that of the one that holds to its own most firmly (MySQL's
//! coercibility), whatever their order.

use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind};
use crate::types::{BaseType, Collation, SqlType};

/// How firmly a string holds to its collation, the firmest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coercibility {
    /// COLLATE.
    Explicit,
    /// Made of strings that agree on none.
    Mixed,
    /// A column, or what is made of columns.
    Implicit,
    /// A column of a table that the server makes up. Those of stored tables win, whatever their collation.
    Listed,
    /// What the session or the server says of itself.
    System,
    /// A constant.
    Constant,
}

impl Coercibility {
    /// As messages have it.
    fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::Mixed => "NONE",
            Coercibility::Implicit | Coercibility::Listed => "IMPLICIT",
            Coercibility::System => "SYSCONST",
            Coercibility::Constant => "COERCIBLE",
        }
    }
}

type Held = (Coercibility, Collation);

/// What an expression holds to; `None` if its texts hold to nothing: numbers, dates.
fn held(e: &Expr) -> Option<Held> {
    let collation = e.ty.text_collation()?;
    let hold = match &e.kind {
        ExprKind::Column { hold, .. } | ExprKind::Subquery { hold, .. } => *hold,
        ExprKind::Collate(_) => Coercibility::Explicit,
        ExprKind::Literal(_)
        | ExprKind::BitString(_)
        | ExprKind::Param(_)
        | ExprKind::UserVariable(_)
        | ExprKind::DateAdd(..) => Coercibility::Constant,
        ExprKind::SystemVariable(..) => Coercibility::System,
        ExprKind::Function(_, args) => made_of(args.iter()),
        ExprKind::Case(branches, last) => {
            made_of(branches.iter().map(|(_, r)| r).chain(last.as_deref()))
        }
        _ => Coercibility::Implicit,
    };
    Some((hold, collation))
}

/// COERCIBILITY(): the less, the firmer.
pub(super) fn coercibility(e: &Expr) -> i64 {
    if e.ty.base == BaseType::Null {
        return 6;
    }
    match held(e).map(|h| h.0) {
        None => 5,
        Some(Coercibility::Explicit) => 0,
        Some(Coercibility::Mixed) => 1,
        Some(Coercibility::Implicit | Coercibility::Listed) => 2,
        Some(Coercibility::System) => 3,
        Some(Coercibility::Constant) => 4,
    }
}

/// What a column of a query's result holds to that has this expression; a constant if it is no string.
pub(crate) fn hold_of(e: &Expr) -> Coercibility {
    held(e).map_or(Coercibility::Constant, |h| h.0)
}

/// What a column holds to that has strings of these two columns; where they agree on none, to what its type says.
pub(crate) fn united(
    a: (Coercibility, &SqlType),
    b: (Coercibility, &SqlType),
) -> (Coercibility, Option<Collation>) {
    let column =
        |(hold, ty): (Coercibility, &SqlType)| ty.is_string().then_some((hold, ty.collation));
    match (column(a), column(b)) {
        (Some(a), Some(b)) => match both(a, b) {
            (Coercibility::Mixed, _) => (Coercibility::Implicit, None),
            (hold, collation) => (hold, Some(collation)),
        },
        (Some((hold, collation)), None) | (None, Some((hold, collation))) => {
            (hold, Some(collation))
        }
        (None, None) => (Coercibility::Constant, None),
    }
}

/// The hold of what is made of these.
pub(crate) fn made_of<'e>(parts: impl Iterator<Item = &'e Expr>) -> Coercibility {
    let mut all: Option<Held> = None;
    for part in parts.filter_map(held) {
        all = Some(all.map_or(part, |a| both(a, part)));
    }
    all.map_or(Coercibility::System, |a| a.0)
}

/// What two hold to together.
fn both(a: Held, b: Held) -> Held {
    let binary = |h: Held| h.1 == Collation::Binary;
    if a.1 == b.1 {
        return (a.0.min(b.0), a.1);
    }
    if a.0 != b.0 {
        return if a.0 < b.0 { a } else { b };
    }
    match (binary(a), binary(b)) {
        (true, _) => a,
        (_, true) => b,
        _ if a.0 == Coercibility::Explicit => (Coercibility::Mixed, Collation::Utf8mb4Bin),
        _ if a.1 == Collation::Utf8mb4Bin => a,
        _ if b.1 == Collation::Utf8mb4Bin => b,
        _ => (Coercibility::Mixed, Collation::Utf8mb4Bin),
    }
}

fn together(list: &[&Expr]) -> Option<Held> {
    list.iter().filter_map(|e| held(e)).reduce(both)
}

/// The collation that strings are compared or joined under; where they agree on none, the binary one.
pub(in crate::expr) fn collation_of(list: &[&Expr]) -> Option<Collation> {
    together(list).map(|h| h.1)
}

/// The same for a comparison, which cannot be made where they agree on none: 1267, 1270 or 1271.
pub(super) fn agree(list: &[&Expr], operation: &str) -> SqlResult<()> {
    if together(list).is_none_or(|h| h.0 != Coercibility::Mixed) {
        return Ok(());
    }
    let all: Vec<String> = list
        .iter()
        .filter_map(|e| held(e))
        .map(|(hold, c)| format!("({},{})", c.name(), hold.name()))
        .collect();
    Err(match all.len() {
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
    })
}
