//! What the sides of a comparison become beside each other: constants are read once as what they are compared with, dates and times have the
//! names that messages give them.

use super::names::type_of;
use super::numbers::{as_double, as_number, cast_plainly, choices, is_moment};
use super::{Scope, constant_value, is_param};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind, SUBQUERY};
use crate::types::{BaseType, Beside, Collation, Family as F, NOT_FIXED, SqlType};
use crate::value::decimal::{MAX_PRECISION, MAX_SCALE};
use crate::value::env::Diagnostic;
use crate::value::family::{beside as read_beside, beside_float, constant_text, fits};
use crate::value::parse_time::{has_date, odd_delimiter};
use crate::value::{Decimal, Value, double_of_text, printable};

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

/// Makes of a constant what it is beside a year or a date, error 1525 if it is none. `name`: what messages call a date that is no column.
pub(super) fn constant_beside(
    e: &mut Expr,
    other: &Expr,
    name: &str,
    scope: &mut dyn Scope,
) -> SqlResult<()> {
    read_constant(e, other, name, scope).map_err(|error| {
        let text = match &e.kind {
            _ if error.code != NO_DATE => None,
            ExprKind::Literal(v) => Some(v.clone()),
            _ => known_text(e, scope),
        };
        match text {
            Some(text) => {
                let name = column_name(other).unwrap_or(name);
                let strict = scope.writes_strictly();
                no_date(&text, other.ty.base, name, strict, scope.session())
            }
            None => error,
        }
    })
}

/// Error code: a text beside a date that is none.
const NO_DATE: u16 = 1525;

/// Error 1525 for what is no date beside one of a name. It is told before it is refused; a statement that writes strictly has that for its error.
pub(crate) fn no_date(
    v: &Value<'_>,
    base: BaseType,
    name: &str,
    strict: bool,
    env: &SessionEnv,
) -> SqlError {
    let Err(refused) = read_beside(v.borrowed(), base, env.sql_mode.get()) else {
        return SqlError::unsupported("this date");
    };
    let kind = match base {
        BaseType::Date => "date",
        _ => "datetime",
    };
    let shown = printable(&v.to_text());
    let m = match name {
        "" => format!("Truncated incorrect {kind} value: '{shown}'"),
        name => format!("Incorrect {kind} value: '{shown}' for column '{name}' at row 1"),
    };
    match strict {
        true => {
            env.behind.borrow_mut().push(Diagnostic::of(&refused));
            SqlError::new(1292, m)
        }
        false => {
            env.warn(1292, m);
            refused
        }
    }
}

/// The name of a column of a table.
fn column_name(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Column { label, .. } if **label != *SUBQUERY => label.rsplit('.').next(),
        _ => None,
    }
}

fn read_constant(e: &mut Expr, other: &Expr, name: &str, scope: &mut dyn Scope) -> SqlResult<()> {
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
    let mode = scope.session().sql_mode.get();
    match &e.kind {
        ExprKind::Param(n) => {
            let name = column_name(other).unwrap_or(name);
            scope.constant_param(*n, base, name.into());
            let param = std::mem::replace(e, Expr::null());
            let (ty, nullable) = (param.ty.clone(), param.nullable);
            *e = Expr::new(ExprKind::Beside(Box::new(param), base), ty, nullable);
        }
        ExprKind::Literal(v) => {
            let (before, v) = (v.clone(), read_beside(v.clone(), base, mode)?);
            if base == BaseType::Year && v.is_number() {
                let ty = type_of(&v, Collation::Binary);
                *e = Expr::literal(v, ty);
            } else if matches!(before, Value::Bytes(_)) {
                constant_as(e, &other.ty);
                // A day that no calendar has, but sql_mode.
                if matches!(&e.kind, ExprKind::Literal(Value::Bytes(_))) && is_date(&other.ty) {
                    let ty = type_of(&v, Collation::Binary);
                    *e = Expr::literal(v, ty);
                }
            }
        }
        _ if is_date(&other.ty) => {
            if let Some(v @ Value::Bytes(_)) = known_text(e, scope) {
                read_beside(v, base, mode)?;
            }
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn is_date(ty: &SqlType) -> bool {
    matches!(ty.family(), F::Date | F::DateTime | F::Timestamp)
}

/// Whether it is the text of a date with other delimiters than the standard's.
fn is_odd(v: &Value<'_>) -> bool {
    matches!(v, Value::Bytes(text) if odd_delimiter(text).is_some())
}

/// Whether something is told of a constant that a column has a value for: of odd delimiters in a date, of the date of a time.
fn is_told(v: &Value<'_>, ty: &SqlType) -> bool {
    match (v, ty.base) {
        (Value::Bytes(text), BaseType::Time) => has_date(text),
        _ => is_date(ty) && is_odd(v),
    }
}

/// Notes a constant beside a column of dates or times which that has no value for: each execution tells it. `other`: what messages call a
/// date that is no column, if its texts are told, too.
pub(super) fn note_moment(e: &mut Expr, column: &Expr, other: Option<&str>, scope: &mut dyn Scope) {
    if column.ty.base == BaseType::Decimal {
        return note_decimal(e, column, scope);
    }
    let Some(name) = column_name(column) else {
        let subquery = matches!(
            column.kind,
            ExprKind::Column { .. } | ExprKind::Subquery { .. } | ExprKind::Param(_)
        );
        match other {
            Some(name) if !subquery && is_date(&column.ty) => note_text(e, column, name, scope),
            _ => {}
        }
        return;
    };
    if !column.ty.is_temporal() {
        return;
    }
    let fits = match &e.kind {
        ExprKind::Param(_) => false,
        ExprKind::Literal(v) => fits(v, &column.ty) && !is_told(v, &column.ty),
        _ => known_text(e, scope).is_none_or(|v| fits(&v, &column.ty) && !is_told(&v, &column.ty)),
    };
    if !fits {
        scope.moment(e.clone(), column.ty.clone(), name.into());
    }
}

/// The same of a text beside a date that is no column.
fn note_text(e: &Expr, date: &Expr, name: &str, scope: &mut dyn Scope) {
    if is_param(e) {
        scope.moment(e.clone(), date.ty.clone(), name.into());
        return;
    }
    let text = match &e.kind {
        ExprKind::Literal(v) => Some(v.clone()),
        _ => known_text(e, scope),
    };
    let odd = |v: &Value<'_>| matches!(v, Value::Bytes(_)) && (is_odd(v) || !fits(v, &date.ty));
    if let Some(v) = text.filter(odd) {
        let ty = e.ty.clone();
        scope.moment(Expr::literal(v, ty), date.ty.clone(), name.into());
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
    note_moment(value, inner, None, scope);
    note_moment(inner, value, None, scope);
    if value.ty.base == BaseType::Year && inner.as_constant().is_some() {
        constant_beside(inner, value, "", scope)?;
    } else if text(value) && is_date(&inner.ty) {
        constant_beside(value, inner, "", scope)?;
    } else if text(inner) && is_date(&value.ty) {
        let mut constant = inner.clone();
        constant_beside(&mut constant, value, "", scope)?;
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
pub(super) fn name_date(date: &mut Expr, text: &Expr, other: impl FnOnce() -> String) {
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

/// The sides of NULLIF(), and what they are in the statement: what is known beside a date must be one, error 1525.
pub(super) fn sides_of_nullif(
    a: &mut Expr,
    b: &mut Expr,
    written: [&str; 2],
    scope: &mut dyn Scope,
) -> SqlResult<()> {
    note_moment(a, b, Some(written[1]), scope);
    note_moment(b, a, Some(written[0]), scope);
    if is_date(&a.ty) && b.ty.is_string() {
        constant_beside(b, a, written[0], scope)?;
    } else if is_date(&b.ty) && a.ty.is_string() {
        constant_beside(a, b, written[1], scope)?;
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
pub(super) fn constants_beside(e: &mut Expr, other: &Expr, scope: &mut dyn Scope) -> SqlResult<()> {
    if is_param(e) && is_date(&other.ty) {
        return Ok(());
    }
    match read_constant(e, other, "", scope) {
        Err(e) if e.code == NO_DATE => Ok(()),
        done => done,
    }
}

/// Makes of a constant what it is beside a FLOAT(M,D).
pub(super) fn beside_fixed_float(e: &mut Expr, other: &Expr) {
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

/// Makes the text of constants that [`fold`](super::fold) leaves, for what it may be besides, where it is a text.
pub(super) fn settle(e: &mut Expr, other: &Expr, scope: &dyn Scope) {
    let left = is_moment(e) || choices(e).is_some();
    if left
        && !other.ty.is_numeric()
        && let Some(v) = known_text(e, scope)
    {
        *e = Expr::literal(v, e.ty.clone());
    }
}
