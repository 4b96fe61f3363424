//! Comparisons: of two sides, ranges, lists, rows, patterns.

use millpond_syntax::ast;

use super::among;
use super::beside::{
    beside_fixed_float, beside_strings, constant_as, constant_beside, constants_beside, harmonise,
    is_date, note_moment, settle,
};
use super::json;
use super::numbers::{as_double, as_number};
use super::operators::{and, comparison, not, or};
use super::{
    RowTest, Scope, SubqueryKind, agree, bind, coercion, coercion::fit_params, is_param, predicate,
    sent,
};
use crate::error::{SqlError, SqlResult};
use crate::expr::kinds::Compared;
use crate::expr::like;
use crate::expr::{CompareOp, Expr, ExprKind, InList, Like, Regexp};
use crate::types::{BaseType, Collation, SqlType};
use crate::value::conform;
use crate::value::family::fits;

/// The collation of a comparison.
pub(super) fn comparison_collation(list: &[&Expr]) -> Collation {
    coercion::collation_of(list).unwrap_or(Collation::DEFAULT)
}

/// `a op b`.
pub(crate) fn compare(op: CompareOp, mut a: Expr, mut b: Expr) -> Expr {
    harmonise(&mut a, &mut b);
    compare_harmonised(op, a, b)
}

pub(super) fn compare_harmonised(op: CompareOp, mut a: Expr, mut b: Expr) -> Expr {
    beside_fixed_float(&mut a, &b);
    beside_fixed_float(&mut b, &a);
    let collation = comparison_collation(&[&a, &b]);
    let nullable = op != CompareOp::NullSafeEq && (a.nullable || b.nullable);
    predicate(ExprKind::Compare(op, Box::new([a, b]), collation), nullable)
}

/// `a = b` within an operation of that name: error 1267 where the sides agree on no collation.
pub(super) fn equal_within(operation: &str, a: Expr, b: Expr) -> SqlResult<Expr> {
    agree(&[&a, &b], operation)?;
    Ok(compare(CompareOp::Eq, a, b))
}

/// What two digits beside a YEAR are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    /// The year that they stand for.
    Year,
    /// The number that they are: in a list of rows.
    Number,
}

/// The same with constants that are beside a year or a date.
pub(super) fn compare_constants(
    op: CompareOp,
    mut a: Expr,
    mut b: Expr,
    digits: Digits,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    agree(&[&a, &b], op.symbol())?;
    fit_params(&[&a, &b], scope);
    settle(&mut a, &b, scope);
    settle(&mut b, &a, scope);
    note_moment(&mut a, &b, Some(""), scope);
    note_moment(&mut b, &a, Some(""), scope);
    harmonise(&mut a, &mut b);
    let read = |other: &Expr| digits == Digits::Year || other.ty.base != BaseType::Year;
    if read(&b) {
        constant_beside(&mut a, &b, "", scope)?;
    }
    if read(&a) {
        constant_beside(&mut b, &a, "", scope)?;
    }
    Ok(compare_harmonised(op, a, b))
}

/// `value [NOT] BETWEEN low AND high`.
pub(super) fn between_bounds(b: &ast::Between, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let mut args = [
        bind(&b.value, scope)?,
        bind(&b.low, scope)?,
        bind(&b.high, scope)?,
    ];
    sent::beside_bytes(&mut args, scope);
    let [value, bounds @ ..] = &mut args;
    let known = among::known(value, bounds, scope);
    for bound in bounds {
        beside_strings(bound, value, scope);
    }
    between(args, known, b.negated, scope)
}

/// Makes of a constant number the date or time that it is, if it is one.
fn number_as(e: &mut Expr, ty: &SqlType) {
    if let Some(n) = e.as_constant().filter(|n| n.is_number() && fits(n, ty)) {
        let read = conform(n.clone(), ty);
        if !read.is_number() {
            *e = Expr::literal(read, ty.clone());
        }
    }
}

/// How the operands of BETWEEN are compared, once the constant bounds of a column are of its type: texts beside a date or time only if both
/// are, a number if the other bound is a date or time. `known`: placeholders have the types of their values.
fn bounds_compared(args: &mut [Expr; 3], known: bool) -> Compared {
    let [v, bounds @ ..] = args;
    if matches!(v.kind, ExprKind::Column { .. }) {
        let mut read = bounds.clone();
        read.iter_mut().for_each(|e| constant_as(e, &v.ty));
        let alike = |e: &Expr| e.ty.base == v.ty.base || e.ty.is_numeric();
        if v.ty.is_numeric() || read.iter().all(alike) {
            *bounds = read;
        }
        let moment = |e: &Expr| e.ty.is_temporal();
        if moment(v) && bounds.iter().any(moment) {
            bounds.iter_mut().for_each(|e| number_as(e, &v.ty));
        }
    }
    Compared::of(args.each_ref().map(|e| match is_param(e) && !known {
        true => None,
        false => Some(&e.ty),
    }))
}

fn between(
    mut args: [Expr; 3],
    known: bool,
    negated: bool,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    if args.iter().any(|e| e.ty.is_json() && !e.is_const()) {
        scope.tell(
            1235,
            "This version of MySQL doesn't yet support 'comparison of JSON in the BETWEEN operator'",
        );
    }
    // Beside a number nothing is a text.
    let counts = |e: &Expr| e.ty.is_numeric() && (known || !is_param(e));
    let texts = !args.iter().any(counts);
    let compared = bounds_compared(&mut args, known);
    let [v, low, high] = &mut args;
    for bound in [&mut *low, &mut *high] {
        settle(bound, v, scope);
        if v.ty.is_temporal() {
            note_moment(bound, v, None, scope);
        }
        match compared {
            Compared::Numbers => {
                if v.ty.base == BaseType::Year {
                    constants_beside(bound, v, scope)?;
                }
                for e in [&mut *v, &mut *bound] {
                    as_number(e);
                    as_double(e);
                }
            }
            Compared::Texts => {}
            Compared::Dates | Compared::AsTheyAre => {
                // Among dates a text is no time of day.
                let time = |e: &Expr| e.ty.base == BaseType::Time;
                if compared == Compared::AsTheyAre || !time(v) && !time(bound) {
                    harmonise(v, bound);
                }
                constants_beside(bound, v, scope)?;
                if bound.ty.base != BaseType::Year {
                    constants_beside(v, bound, scope)?;
                }
            }
        }
    }
    if texts {
        agree(&[v, low, high], "between")?;
        fit_params(&[v, low, high], scope);
    }
    let collation = comparison_collation(&[v, low, high]);
    let nullable = v.nullable || low.nullable || high.nullable;
    let kind = ExprKind::Between {
        args: Box::new(args),
        negated,
        collation,
    };
    Ok(predicate(kind, nullable))
}

/// The parts of `(a, b)` and `ROW(a, b)`.
pub(super) fn row(e: &ast::Expr) -> Option<&ast::ExprList> {
    match &e.kind {
        ast::ExprKind::Row(list) => Some(list),
        _ => None,
    }
}

pub(super) fn bind_all(list: &ast::ExprList, scope: &mut dyn Scope) -> SqlResult<Vec<Expr>> {
    list.iter().map(|e| bind(&e, scope)).collect()
}

/// The query of `(SELECT ...)`.
fn subquery_of(e: &ast::Expr) -> Option<&ast::Query> {
    match &e.kind {
        ast::ExprKind::Subquery(q) => Some(q),
        _ => None,
    }
}

/// Whether an expression is to be read as a tree before it is told what it is.
fn is_held(e: &ast::Expr) -> bool {
    matches!(e.kind, ast::ExprKind::Held(_))
}

/// 1241.
fn columns_wanted(n: usize) -> SqlError {
    SqlError::new(1241, format!("Operand should contain {n} column(s)"))
}

/// `a op right`, the left side being bound: the rest of a chain of comparisons.
pub(super) fn compare_with(
    op: CompareOp,
    a: Expr,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    if row(right).is_some() {
        return Err(columns_wanted(1));
    }
    let b = bind(right, scope)?;
    let b = match a.ty.is_json() {
        true => json::truth(right, b),
        false => b,
    };
    compare_scalars(op, a, b, Digits::Year, scope)
}

fn compare_scalars(
    op: CompareOp,
    mut a: Expr,
    mut b: Expr,
    digits: Digits,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    sent::beside_bytes([&mut a, &mut b], scope);
    beside_strings(&mut a, &b, scope);
    beside_strings(&mut b, &a, scope);
    compare_constants(op, a, b, digits, scope)
}

/// Comparison of scalars or of rows: rows are compared part by part.
pub(super) fn compare_rows(
    op: CompareOp,
    left: &ast::Expr,
    right: &ast::Expr,
    digits: Digits,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let (a, b) = match (row(left), row(right)) {
        (Some(a), Some(b)) => (a, b),
        _ if is_held(left) || is_held(right) => {
            return compare_rows(op, &left.tree(), &right.tree(), digits, scope);
        }
        (None, None) => {
            let (a, b) = (bind(left, scope)?, bind(right, scope)?);
            let (a, b) = json::truths((left, a), (right, b));
            return compare_scalars(op, a, b, digits, scope);
        }
        (Some(v), None) if let Some(q) = subquery_of(right) => {
            let values = bind_all(v, scope)?;
            let test = RowTest::Compare(op);
            return scope.subquery(q, SubqueryKind::Row { values, test });
        }
        (None, Some(v)) if let Some(q) = subquery_of(left) => {
            let values = bind_all(v, scope)?;
            let test = RowTest::Compare(op.flipped());
            return scope.subquery(q, SubqueryKind::Row { values, test });
        }
        (Some(v), None) => return Err(columns_wanted(v.len())),
        (None, Some(_)) => return Err(columns_wanted(1)),
    };
    if a.len() != b.len() {
        return Err(columns_wanted(a.len()));
    }
    if matches!(op, CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Ne) {
        // Parts may be rows themselves.
        let parts = a.iter().zip(b);
        let parts = parts.map(|(x, y)| compare_rows(op, &x, &y, digits, scope));
        let parts = parts.collect::<SqlResult<Vec<_>>>()?;
        return Ok(if op == CompareOp::Ne {
            or(parts)
        } else {
            and(parts)
        });
    }
    let mut pairs = Vec::with_capacity(a.len());
    put_pairs(op, a, b, &mut pairs, scope)?;
    let part = |op: CompareOp, p: &(Expr, Expr)| compare(op, p.0.clone(), p.1.clone());
    // (a, b) < (c, d) is a < c or (a = c and b < d).
    let strict = match op {
        CompareOp::Le => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Gt,
        other => other,
    };
    let last = pairs.len() - 1;
    let mut e = part(op, &pairs[last]);
    for p in pairs[..last].iter().rev() {
        let tie = and(vec![part(CompareOp::Eq, p), e]);
        e = or(vec![part(strict, p), tie]);
    }
    Ok(e)
}

/// Puts the parts that two rows of one length compare by into a list: those of rows within them in their place.
fn put_pairs(
    op: CompareOp,
    a: &ast::ExprList,
    b: &ast::ExprList,
    pairs: &mut Vec<(Expr, Expr)>,
    scope: &mut dyn Scope,
) -> SqlResult<()> {
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x.tree(), y.tree());
        match (row(&x), row(&y)) {
            (Some(x), Some(y)) if x.len() == y.len() => put_pairs(op, x, y, pairs, scope)?,
            (Some(row), _) | (None, Some(row)) => return Err(columns_wanted(row.len())),
            (None, None) => {
                let (mut x, mut y) = (bind(&x, scope)?, bind(&y, scope)?);
                sent::beside_bytes([&mut x, &mut y], scope);
                agree(&[&x, &y], op.symbol())?;
                fit_params(&[&x, &y], scope);
                pairs.push((x, y));
            }
        }
    }
    Ok(())
}

/// What `f` makes of each member of a list. Long lists have no trees: each member is parsed as it is come to.
fn each_member(
    list: &ast::ExprList,
    f: &mut dyn FnMut(&ast::Expr) -> SqlResult<Expr>,
) -> SqlResult<Vec<Expr>> {
    list.iter().map(|item| f(&item)).collect()
}

pub(super) fn in_list(l: &ast::InList, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let negated = l.negated;
    if row(&l.value).is_some() {
        let same = |item: &ast::Expr| {
            let digits = Digits::Number;
            compare_rows(CompareOp::Eq, &l.value, item, digits, scope)
        };
        let e = or(each_member(&l.list, &mut { same })?);
        return Ok(if negated { not(e) } else { e });
    }
    let mut value = bind(&l.value, scope)?;
    let mut items = each_member(&l.list, &mut |item| bind(item, scope))?;
    sent::beside_bytes(std::iter::once(&mut value).chain(&mut items), scope);
    let known = items.len() > 1 && among::known(&mut value, &mut items, scope);
    // An ENUM is a number only if all of the list is.
    let numbers = items.iter().all(|i| i.ty.is_numeric());
    if numbers {
        as_number(&mut value);
    }
    let mut nullable = value.nullable;
    let one = items.len() == 1;
    // Among dates a text is no time of day.
    let dated = value.ty.base == BaseType::Time && items.iter().any(|i| is_date(&i.ty));
    for i in &mut items {
        beside_strings(i, &value, scope);
        if is_param(i) && !known {
            i.ty = value.ty.clone();
        }
        settle(i, &value, scope);
        if one {
            note_moment(i, &value, Some(""), scope);
        }
        if !dated {
            constant_as(i, &value.ty);
        }
        match one {
            true => constant_beside(i, &value, "", scope)?,
            // Two digits of a year stand for four only where it is compared with one.
            false if value.ty.base == BaseType::Year => {}
            false => constants_beside(i, &value, scope)?,
        }
        if value.ty.is_numeric() {
            as_number(i);
        }
        nullable |= i.nullable;
    }
    if let [item] = &items[..]
        && value.as_constant().is_some()
    {
        constant_beside(&mut value, item, "", scope)?;
    }
    if is_param(&value)
        && !known
        && let Some(first) = items.first()
    {
        value.ty = first.ty.clone();
    }
    let mut strings = vec![&value];
    let given = items.iter().filter(|i| i.ty.base != BaseType::Null);
    if coercion::has_texts(&value, given) {
        strings.extend(&items);
    }
    let operation = match (strings.len(), negated) {
        (2, false) => "=",
        (2, true) => "<>",
        _ => " IN ",
    };
    agree(&strings, operation)?;
    fit_params(&strings, scope);
    let collation = comparison_collation(&strings);
    let l = InList::new(value, items, negated, collation);
    Ok(predicate(ExprKind::InList(Box::new(l)), nullable))
}

pub(super) fn quantified(q: &ast::Quantified, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let Some(op) = comparison(q.op) else {
        return Err(SqlError::unsupported("this comparison with ANY or ALL"));
    };
    let (left, all, q) = (&q.value, q.all, &q.query);
    if let Some(parts) = row(left) {
        // MySQL has no others for rows.
        let negated = match (op, all) {
            (CompareOp::Eq, false) => false,
            (CompareOp::Ne, true) => true,
            _ => return Err(SqlError::new(1241, "Operand should contain 1 column(s)")),
        };
        let values = bind_all(parts, scope)?;
        let test = RowTest::In { negated };
        return scope.subquery(q, SubqueryKind::Row { values, test });
    }
    let value = bind(left, scope)?;
    scope.subquery(q, SubqueryKind::Quantified { value, op, all })
}

/// Whether an expression has one value throughout a statement, with no table read for it.
fn reads_no_row(e: &Expr) -> bool {
    let mut reads = false;
    e.walk(&mut |e| reads |= matches!(e.kind, ExprKind::Column { .. } | ExprKind::Subquery { .. }));
    !reads
}

pub(super) fn like(l: &ast::Like, scope: &mut dyn Scope) -> SqlResult<Expr> {
    let mut value = json::as_text(bind(&l.value, scope)?);
    let mut pattern = json::as_text(bind(&l.pattern, scope)?);
    sent::beside_bytes([&mut value, &mut pattern], scope);
    if is_param(&pattern) {
        pattern.ty = SqlType::varchar(255, scope.collation());
    }
    let (escape, escape_by) = match &l.escape {
        None if scope.session().sql_mode.get().no_backslash_escapes => (None, None),
        None => (Some('\\'), None),
        Some(e) => {
            let mut e = bind(e, scope)?;
            if is_param(&e) {
                e.ty = SqlType::varchar(1, scope.collation());
            }
            match e.as_constant() {
                Some(v) => (like::escape(v)?, None),
                None if reads_no_row(&e) => (None, Some(e)),
                None => return Err(like::wrong_escape()),
            }
        }
    };
    agree(&[&value, &pattern], "like")?;
    fit_params(&[&value, &pattern], scope);
    let collation = comparison_collation(&[&value, &pattern]);
    let nullable = value.nullable || pattern.nullable;
    let l = Like {
        value,
        pattern,
        escape,
        escape_by,
        negated: l.negated,
        collation,
    };
    Ok(predicate(ExprKind::Like(Box::new(l)), nullable))
}

pub(super) fn regexp(value: Expr, pattern: Expr, negated: bool) -> SqlResult<Expr> {
    let sides = [&value, &pattern];
    characters(&sides, "regexp_like")?;
    coercion::agree_at_all(&sides, "regexp_like")?;
    let collation = comparison_collation(&sides);
    let nullable = value.nullable || pattern.nullable;
    let r = Regexp::new(value, pattern, negated, collation);
    Ok(predicate(ExprKind::Regexp(Box::new(r)), nullable))
}

/// Error 3995 where a regular expression or what it is looked for in is a binary string and the other is none. What is no string
/// goes with either, nor do the bytes of a BINARY or BLOB column, or those that were compressed, part from anything.
pub(super) fn characters(texts: &[&Expr], operation: &str) -> SqlResult<()> {
    let plain = |e: &Expr| match &e.kind {
        ExprKind::Column { .. } => e.ty.has_bytes() && e.ty.base != BaseType::VarBinary,
        ExprKind::Function(f, _) => f.name() == "UNCOMPRESS",
        _ => false,
    };
    let mut strings = texts
        .iter()
        .filter(|e| e.ty.is_string() && !plain(e))
        .map(|e| e.ty.collation);
    let Some(first) = strings.next() else {
        return Ok(());
    };
    let binary = |c: Collation| c == Collation::Binary;
    match strings.find(|c| binary(*c) != binary(first)) {
        None => Ok(()),
        Some(other) => Err(SqlError::new(
            3995,
            format!(
                "Character set '{}' cannot be used in conjunction with '{}' in call to {operation}.",
                first.name(),
                other.name()
            ),
        )),
    }
}
