//! Comparisons: what their sides are converted to, ranges, lists, rows, patterns.

use millpond_syntax::ast;

use super::json;
use super::names::type_of;
use super::operators::{and, comparison, not, or};
use super::{
    RowTest, Scope, SubqueryKind, agree, bind, coercion, coercion::fit_params, constant_value,
    is_param, predicate, sent,
};
use crate::error::{SqlError, SqlResult};
use crate::expr::eval::bit_string;
use crate::expr::like;
use crate::expr::{CompareOp, Expr, ExprKind, InList, Like, Regexp, SUBQUERY};
use crate::types::{BaseType, Beside, Collation, Family as F, NOT_FIXED, SqlType};
use crate::value::decimal::{MAX_PRECISION, MAX_SCALE};
use crate::value::family::{beside as read_beside, beside_float, constant_text, fits};
use crate::value::parse_time::odd_delimiter;
use crate::value::{Decimal, Value, double_of_text};

/// Makes two sides of a comparison comparable: a placeholder gets the other's type, a constant is read as the other's kind once and
/// not per row, an ENUM against a number is its position.
pub(super) fn harmonise(a: &mut Expr, b: &mut Expr) {
    if is_param(a) && !is_param(b) {
        a.ty = b.ty.clone();
    } else if is_param(b) && !is_param(a) {
        b.ty = a.ty.clone();
    }
    constant_as(a, &b.ty);
    constant_as(b, &a.ty);
    beside(a, b);
    beside(b, a);
}

/// Makes a number of what is one beside a number; of an ENUM beside a parameter that is known when it runs.
pub(super) fn beside(e: &mut Expr, other: &Expr) {
    if is_param(other) && e.ty.is_enumerated() && !is_param(e) {
        let inner = std::mem::replace(e, Expr::null());
        let (ty, nullable) = (inner.ty.clone(), inner.nullable);
        let kind = ExprKind::EnumBeside(Box::new([inner, other.clone()]));
        *e = Expr::new(kind, ty, nullable);
    } else if other.ty.is_numeric() {
        as_number(e);
        as_double(e);
    }
}

/// Whether a text is made of a date or time.
pub(super) fn is_moment(e: &Expr) -> bool {
    let made = match &e.kind {
        ExprKind::DateAdd(..) => true,
        ExprKind::Function(f, args) => match f.name() {
            "ADDTIME" | "SUBTIME" => true,
            "GREATEST" | "LEAST" => args.iter().any(|a| is_date(&a.ty)),
            _ => false,
        },
        _ => false,
    };
    made && e.ty.is_string()
}

/// What CASE chooses from, if that is a text, but there is more to choose from than texts.
pub(super) fn choices(e: &Expr) -> Option<Vec<&Expr>> {
    let ExprKind::Case(branches, last) = &e.kind else {
        return None;
    };
    let all: Vec<&Expr> = branches
        .iter()
        .map(|(_, r)| r)
        .chain(last.as_deref())
        .collect();
    let text = |e: &&Expr| {
        e.ty.base == BaseType::Null
            || e.ty.is_string() && !is_moment(e) && choices(e).is_none() && !e.ty.is_enumerated()
    };
    let odd = |e: &&Expr| e.ty.is_json() || e.ty.is_geometry();
    let mixed = e.ty.is_string() && !all.iter().any(odd) && !all.iter().all(text);
    mixed.then_some(all)
}

/// What of a text that CASE chooses, or that is made of a date or time, is where a number is wanted: the number of what is chosen, or of the
/// date or time.
pub(crate) fn as_double(e: &mut Expr) {
    if is_moment(e) {
        let (inner, nullable) = (std::mem::replace(e, Expr::null()), e.nullable);
        let kind = ExprKind::Moment(Box::new(inner));
        *e = Expr::new(kind, SqlType::double(), nullable);
    } else if choices(e).is_some() {
        each_choice(e, SqlType::double(), &mut |choice| {
            as_number(choice);
            as_double(choice);
            if choice.ty.is_string() {
                cast_plainly(choice, SqlType::double());
            }
        });
    }
}

/// The same where it is cast to a type of numbers: whether each of what is chosen from is cast by itself.
pub(super) fn cast_choices(e: &mut Expr, ty: &SqlType) -> bool {
    let casts = matches!(
        ty.base,
        BaseType::Decimal | BaseType::Double | BaseType::Float
    );
    if !casts || choices(e).is_none() {
        return false;
    }
    each_choice(e, ty.clone(), &mut |choice| {
        as_number(choice);
        if !cast_choices(choice, ty) {
            cast_plainly(choice, ty.clone());
        }
    });
    true
}

/// The number of a member of an ENUM or a SET is a double in arithmetic.
pub(super) fn number_of_member(e: &mut Expr) {
    if e.ty.is_enumerated() && !is_param(e) {
        as_number(e);
        cast_plainly(e, SqlType::double());
    }
}

fn cast_plainly(e: &mut Expr, ty: SqlType) {
    let inner = std::mem::replace(e, Expr::null());
    let nullable = inner.nullable;
    *e = Expr::new(ExprKind::Cast(Box::new(inner)), ty, nullable);
}

/// Changes what CASE chooses from, and its type.
fn each_choice(e: &mut Expr, ty: SqlType, change: &mut dyn FnMut(&mut Expr)) {
    let case = std::mem::replace(e, Expr::null());
    let ExprKind::Case(mut branches, mut last) = case.kind else {
        return;
    };
    branches.iter_mut().for_each(|(_, r)| change(r));
    last.iter_mut().for_each(|r| change(r));
    *e = Expr::new(ExprKind::Case(branches, last), ty, case.nullable);
}

/// What an ENUM, or a hexadecimal or bit literal, is where a number is wanted.
pub(crate) fn as_number(e: &mut Expr) {
    if let ExprKind::BitString(Value::Bytes(b)) = &e.kind {
        *e = Expr::literal(Value::UInt(bit_string(b)), SqlType::ubigint());
    } else if e.ty.is_enumerated() && !is_param(e) {
        let inner = std::mem::replace(e, Expr::null());
        let nullable = inner.nullable;
        let kind = ExprKind::EnumIndex(Box::new(inner));
        *e = Expr::new(kind, SqlType::bigint(), nullable);
    }
}

/// What a hexadecimal or bit literal is that is assigned to a number: one of more than eight bytes is beyond all numbers.
pub(crate) fn assigned_bits(e: &mut Expr) {
    let ExprKind::BitString(Value::Bytes(b)) = &e.kind else {
        return;
    };
    match b.len() > 8 {
        true => {
            let most = Decimal::from(u64::MAX);
            let one = Decimal::from(1i64);
            let v = Value::Decimal(most.checked_add(one).unwrap_or(most));
            *e = Expr::literal(v, SqlType::decimal(20, 0));
        }
        false => as_number(e),
    }
}

/// Reads a string constant as what it is compared with, where that is what the comparison would do for every row.
pub(super) fn constant_as(e: &mut Expr, other: &SqlType) {
    let ExprKind::Literal(Value::Bytes(text)) = &e.kind else {
        return;
    };
    if let Some((value, ty)) = constant_text(text, other) {
        *e = Expr::literal(value, ty);
    }
}

/// A placeholder beside a string column that has no text for a value is no key of the column's index.
pub(super) fn beside_strings(e: &mut Expr, other: &Expr, scope: &mut dyn Scope) {
    let column = matches!(
        other.kind,
        ExprKind::Column { .. } | ExprKind::Subquery { .. }
    );
    let ExprKind::Param(n) = e.kind else { return };
    if column && other.ty.is_string() && !other.ty.is_enumerated() && !scope.text_param(n) {
        let param = std::mem::replace(e, Expr::null());
        let nullable = param.nullable;
        let kind = ExprKind::Beside(Box::new(param), BaseType::Double);
        *e = Expr::new(kind, SqlType::double(), nullable);
    }
}

/// Makes of a constant what it is beside a year or a date.
pub(super) fn constant_beside(e: &mut Expr, other: &Expr, scope: &mut dyn Scope) -> SqlResult<()> {
    let base = other.ty.base;
    let concerns = match base.facts().beside {
        Beside::Nothing => false,
        Beside::Columns => matches!(
            other.kind,
            ExprKind::Column { .. } | ExprKind::Subquery { .. }
        ),
        Beside::All => !matches!(other.kind, ExprKind::Param(_) | ExprKind::Beside(..)),
    };
    if !concerns {
        return Ok(());
    }
    match &e.kind {
        ExprKind::Param(n) => {
            scope.constant_param(*n, base);
            let param = std::mem::replace(e, Expr::null());
            let (ty, nullable) = (param.ty.clone(), param.nullable);
            *e = Expr::new(ExprKind::Beside(Box::new(param), base), ty, nullable);
        }
        ExprKind::Literal(v) => {
            let (before, v) = (v.clone(), read_beside(v.clone(), base)?);
            if base == BaseType::Year && v.is_number() {
                let ty = type_of(&v, Collation::Binary);
                *e = Expr::literal(v, ty);
            } else if matches!(before, Value::Bytes(_)) {
                constant_as(e, &other.ty);
            }
        }
        _ if is_date(&other.ty) => {
            if let Some(v @ Value::Bytes(_)) = known_text(e, scope) {
                read_beside(v, base)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_date(ty: &SqlType) -> bool {
    matches!(ty.family(), F::Date | F::DateTime | F::Timestamp)
}

/// Whether it is the text of a date with other delimiters than the standard's.
fn is_odd(v: &Value<'_>) -> bool {
    matches!(v, Value::Bytes(text) if odd_delimiter(text).is_some())
}

/// Notes a constant beside a column of dates or times which that has no value for: each execution tells it.
fn note_moment(e: &mut Expr, column: &Expr, scope: &mut dyn Scope) {
    if column.ty.base == BaseType::Decimal {
        return note_decimal(e, column, scope);
    }
    let ExprKind::Column { label, .. } = &column.kind else {
        return;
    };
    if !column.ty.is_temporal() || **label == *SUBQUERY {
        return;
    }
    let fits = match &e.kind {
        ExprKind::Param(_) => false,
        ExprKind::Literal(v) => fits(v, &column.ty) && !(is_date(&column.ty) && is_odd(v)),
        _ => known_text(e, scope).is_none_or(|v| fits(&v, &column.ty)),
    };
    if !fits {
        let name = label.rsplit('.').next().unwrap_or_default();
        scope.moment(e.clone(), column.ty.clone(), name.into());
    }
}

/// A constant text beside what is a DECIMAL is one too.
fn note_decimal(e: &mut Expr, decimal: &Expr, scope: &dyn Scope) {
    if decimal.is_const() || !e.ty.is_string() || e.ty.is_enumerated() {
        return;
    }
    let text = match &e.kind {
        ExprKind::Literal(Value::Bytes(text)) => text.to_vec(),
        _ => match known_text(e, scope) {
            Some(Value::Bytes(text)) => text.into_owned(),
            _ => return,
        },
    };
    let p = Decimal::parse_prefix(&text);
    if p.used > 0 && text[p.used..].trim_ascii().is_empty() {
        let v = Value::Decimal(p.value);
        let ty = type_of(&v, Collation::Binary);
        *e = Expr::literal(v, ty);
    } else {
        cast_plainly(e, SqlType::decimal(MAX_PRECISION, MAX_SCALE));
    }
}

/// The sides of IN (subquery): of a text beside numbers the number, told where it is none; constants beside dates and times as in
/// other comparisons.
pub(crate) fn member(value: &mut Expr, inner: &mut Expr, scope: &mut dyn Scope) -> SqlResult<()> {
    let text = |e: &Expr| e.ty.is_string() && !e.ty.is_enumerated() && !is_param(e);
    let number = |e: &Expr| match &e.kind {
        ExprKind::Literal(Value::Bytes(text)) => double_of_text(text).1,
        _ => false,
    };
    note_moment(value, inner, scope);
    note_moment(inner, value, scope);
    if text(value) && is_date(&inner.ty) {
        constant_beside(value, inner, scope)?;
    } else if text(inner) && is_date(&value.ty) {
        let mut constant = inner.clone();
        constant_beside(&mut constant, value, scope)?;
    }
    let (beside_value, beside_inner) = (inner.ty.clone(), value.ty.clone());
    for (e, other) in [(value, beside_value), (inner, beside_inner)] {
        if text(e) && other.is_numeric() && !number(e) {
            as_number(e);
            as_double(e);
            if e.ty.is_string() {
                cast_plainly(e, SqlType::double());
            }
        }
    }
    Ok(())
}

/// Gives a date the name that it has in the text where it is compared with texts.
/// What is no column has the name `other`.
pub(super) fn name_date(date: &mut Expr, text: &Expr, other: impl Fn() -> String) {
    if !is_date(&date.ty) || !text.ty.is_string() || is_param(date) {
        return;
    }
    let name = match &date.kind {
        ExprKind::Column { label, .. } => label.rsplit('.').next().unwrap_or_default().into(),
        _ => other().into(),
    };
    let own = std::mem::replace(date, Expr::null());
    let (ty, nullable) = (own.ty.clone(), own.nullable);
    *date = Expr::new(ExprKind::Named(Box::new(own), name), ty, nullable);
}

/// Gives a number that is cast to DECIMAL a name.
pub(crate) fn name_cast(e: &mut Expr, name: impl Fn() -> String) {
    if !matches!(e.kind, ExprKind::Cast(_)) || e.ty.base != BaseType::Decimal {
        return;
    }
    let own = std::mem::replace(e, Expr::null());
    let (ty, nullable) = (own.ty.clone(), own.nullable);
    let kind = ExprKind::Named(Box::new(own), name().into());
    *e = Expr::new(kind, ty, nullable);
}

/// The same of a time, which needs none.
pub(super) fn name_time(time: &mut Expr, text: &Expr) {
    if time.ty.base != BaseType::Time || !text.ty.is_string() || is_param(time) {
        return;
    }
    let own = std::mem::replace(time, Expr::null());
    let (ty, nullable) = (own.ty.clone(), own.nullable);
    *time = Expr::new(ExprKind::Named(Box::new(own), "".into()), ty, nullable);
}

/// The sides of NULLIF(): what is known beside a date must be one, error 1525.
pub(super) fn sides_of_nullif(a: &mut Expr, b: &mut Expr, scope: &mut dyn Scope) -> SqlResult<()> {
    note_moment(a, b, scope);
    note_moment(b, a, scope);
    if is_date(&a.ty) && b.ty.is_string() {
        constant_beside(b, a, scope)?;
    } else if is_date(&b.ty) && a.ty.is_string() {
        constant_beside(a, b, scope)?;
    }
    Ok(())
}

/// The text that an expression of constants gives, if it can be known by now.
fn known_text(e: &Expr, scope: &dyn Scope) -> Option<Value<'static>> {
    let mut fixed = e.ty.is_string();
    e.walk(&mut |x| {
        fixed &= match &x.kind {
            ExprKind::Param(_) | ExprKind::Local(..) | ExprKind::SystemVariable(..) => false,
            ExprKind::Function(f, _) => f.is_pure(),
            _ => true,
        }
    });
    if !fixed || !e.is_const() {
        return None;
    }
    constant_value(e, scope.session()).0.ok()
}

/// The same for one of several that a value is compared with: what is no date stays the text it is.
fn constants_beside(e: &mut Expr, other: &Expr, scope: &mut dyn Scope) -> SqlResult<()> {
    if is_param(e) && is_date(&other.ty) {
        return Ok(());
    }
    match constant_beside(e, other, scope) {
        Err(e) if e.code == 1525 => Ok(()),
        done => done,
    }
}

/// Makes of a constant what it is beside a FLOAT(M,D).
fn beside_fixed_float(e: &mut Expr, other: &Expr) {
    let decimals = other.ty.decimals;
    if other.ty.base != BaseType::Float || decimals >= NOT_FIXED {
        return;
    }
    match &e.kind {
        ExprKind::Literal(v @ (Value::Decimal(_) | Value::Int(_) | Value::UInt(_))) => {
            let v = beside_float(v.clone(), decimals);
            *e = Expr::literal(v, SqlType::double());
        }
        ExprKind::Param(_) => {
            let param = std::mem::replace(e, Expr::null());
            let (ty, nullable) = (other.ty.clone(), param.nullable);
            let kind = ExprKind::Beside(Box::new(param), BaseType::Float);
            *e = Expr::new(kind, ty, nullable);
        }
        _ => {}
    }
}

/// The collation of a comparison.
pub(super) fn comparison_collation(list: &[&Expr]) -> Collation {
    coercion::collation_of(list).unwrap_or(Collation::DEFAULT)
}

/// Makes the text of constants that [`fold`](super::fold) leaves, for what it may be besides, where it is a text.
fn settle(e: &mut Expr, other: &Expr, scope: &dyn Scope) {
    let left = is_moment(e) || choices(e).is_some();
    if left
        && !other.ty.is_numeric()
        && let Some(v) = known_text(e, scope)
    {
        *e = Expr::literal(v, e.ty.clone());
    }
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

/// The same with constants that are beside a year or a date.
pub(super) fn compare_constants(
    op: CompareOp,
    mut a: Expr,
    mut b: Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    agree(&[&a, &b], op.symbol())?;
    fit_params(&[&a, &b], scope);
    settle(&mut a, &b, scope);
    settle(&mut b, &a, scope);
    note_moment(&mut a, &b, scope);
    note_moment(&mut b, &a, scope);
    harmonise(&mut a, &mut b);
    constant_beside(&mut a, &b, scope)?;
    constant_beside(&mut b, &a, scope)?;
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
    let [value, low, high] = &mut args;
    beside_strings(low, value, scope);
    beside_strings(high, value, scope);
    between(args, b.negated, scope)
}

fn between(mut args: [Expr; 3], negated: bool, scope: &mut dyn Scope) -> SqlResult<Expr> {
    if args.iter().any(|e| e.ty.is_json() && !e.is_const()) {
        scope.tell(
            "This version of MySQL doesn't yet support 'comparison of JSON in the BETWEEN operator'",
        );
    }
    let [v, low, high] = &mut args;
    for bound in [&mut *low, &mut *high] {
        settle(bound, v, scope);
        if v.ty.is_temporal() {
            note_moment(bound, v, scope);
        }
        harmonise(v, bound);
        constants_beside(bound, v, scope)?;
        constants_beside(v, bound, scope)?;
    }
    agree(&[v, low, high], "between")?;
    fit_params(&[v, low, high], scope);
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
    compare_scalars(op, a, b, scope)
}

fn compare_scalars(
    op: CompareOp,
    mut a: Expr,
    mut b: Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    sent::beside_bytes([&mut a, &mut b], scope);
    beside_strings(&mut a, &b, scope);
    beside_strings(&mut b, &a, scope);
    compare_constants(op, a, b, scope)
}

/// Comparison of scalars or of rows: rows are compared part by part.
pub(super) fn compare_rows(
    op: CompareOp,
    left: &ast::Expr,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let (a, b) = match (row(left), row(right)) {
        (Some(a), Some(b)) => (a, b),
        _ if is_held(left) || is_held(right) => {
            return compare_rows(op, &left.tree(), &right.tree(), scope);
        }
        (None, None) => {
            let (a, b) = (bind(left, scope)?, bind(right, scope)?);
            let (a, b) = json::truths((left, a), (right, b));
            return compare_scalars(op, a, b, scope);
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
        let parts = parts.map(|(x, y)| compare_rows(op, &x, &y, scope));
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
        let same = |item: &ast::Expr| compare_rows(CompareOp::Eq, &l.value, item, scope);
        let e = or(each_member(&l.list, &mut { same })?);
        return Ok(if negated { not(e) } else { e });
    }
    let mut value = bind(&l.value, scope)?;
    let mut items = each_member(&l.list, &mut |item| bind(item, scope))?;
    sent::beside_bytes(std::iter::once(&mut value).chain(&mut items), scope);
    // An ENUM is a number only if all of the list is.
    let numbers = items.iter().all(|i| i.ty.is_numeric());
    if numbers {
        as_number(&mut value);
    }
    let mut nullable = value.nullable;
    let one = items.len() == 1;
    for i in &mut items {
        beside_strings(i, &value, scope);
        if is_param(i) {
            i.ty = value.ty.clone();
        }
        settle(i, &value, scope);
        if one {
            note_moment(i, &value, scope);
        }
        constant_as(i, &value.ty);
        match one {
            true => constant_beside(i, &value, scope)?,
            false => constants_beside(i, &value, scope)?,
        }
        if value.ty.is_numeric() {
            as_number(i);
        }
        nullable |= i.nullable;
    }
    if is_param(&value)
        && let Some(first) = items.first()
    {
        value.ty = first.ty.clone();
    }
    // Numbers among the items have no say, nor has a list beside a number.
    let mut strings = vec![&value];
    if value.ty.is_string() {
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
/// goes with either, nor do the bytes of a BINARY or BLOB column part from anything.
pub(super) fn characters(texts: &[&Expr], operation: &str) -> SqlResult<()> {
    let plain = |e: &Expr| {
        let column = matches!(e.kind, ExprKind::Column { .. });
        column && e.ty.has_bytes() && e.ty.base != BaseType::VarBinary
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
