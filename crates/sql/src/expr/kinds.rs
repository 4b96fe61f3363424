//! What values become beside others in a comparison, where that is not up to the two that are compared.

use super::operators::text_number;
use super::{EvalContext, Expr, ExprKind, InList};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::types::{BaseType, Family as F, SqlType};
use crate::value::convert::{exact_decimal, exact_integer};
use crate::value::family::constant_text;
use crate::value::{
    DateTime, Decimal, Read, Time, Value, parse_time, printable, read_datetime, read_time, shown,
    truncated,
};

/// As what the operands of BETWEEN are compared, all three in one way.
///
/// | among them | compared |
/// |---|---|
/// | numbers beside dates, times or texts | as doubles |
/// | dates beside texts | as dates |
/// | times beside texts | as texts |
/// | anything else | as they are |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    Numbers,
    Dates,
    Texts,
    AsTheyAre,
}

impl Compared {
    /// Of operands of these types; `None` for one that any may be.
    pub fn of(types: [Option<&SqlType>; 3]) -> Compared {
        let all = || types.iter().flatten().filter(|t| t.base != BaseType::Null);
        if all().any(|t| t.is_json() || t.is_geometry()) {
            return Compared::AsTheyAre;
        }
        let numbers = all().filter(|t| t.is_numeric()).count();
        let times = all().filter(|t| t.is_temporal()).count();
        let dated = all().any(|t| t.is_temporal() && t.base != BaseType::Time);
        match all().count() {
            n if numbers > 0 && numbers < n => Compared::Numbers,
            n if times == 0 || times == n => Compared::AsTheyAre,
            _ if dated => Compared::Dates,
            _ => Compared::Texts,
        }
    }
}

/// Makes the operands of BETWEEN comparable, see [`Compared`]. What a placeholder is shows now.
pub fn together(
    values: &mut [Value<'_>; 3],
    all: &[Expr; 3],
    cx: &EvalContext<'_>,
) -> SqlResult<()> {
    // Beside NULL the bounds are not looked at.
    if values[0].is_null() {
        return Ok(());
    }
    match Compared::of(all.each_ref().map(|e| Some(&e.ty))) {
        Compared::Numbers => {
            for (v, by) in values.iter_mut().zip(all) {
                match v {
                    Value::Bytes(text) => *v = Value::Double(text_number(text, Some(by), cx)?),
                    Value::Date(_) | Value::DateTime(_) | Value::Time(_) => {
                        *v = Value::Double(v.to_f64());
                    }
                    _ => {}
                }
            }
            return Ok(());
        }
        Compared::Texts => {
            as_texts(values, all);
            return Ok(());
        }
        Compared::Dates | Compared::AsTheyAre => {}
    }
    let texts = values
        .iter()
        .filter(|v| matches!(v, Value::Bytes(_)))
        .count();
    if texts == 0 || texts == 3 {
        return Ok(());
    }
    let number = values.iter().any(Value::is_number);
    let all_are = |is: fn(&Value<'_>) -> bool| is(&values[0]) || !number && values.iter().any(is);
    let dates = all_are(|v| matches!(v, Value::Date(_) | Value::DateTime(_)));
    let time = all_are(|v| matches!(v, Value::Time(_)));
    // As constants would not have become times.
    let no_time = |v: &Value<'_>, by: &Expr| match v {
        Value::Bytes(text) => by.is_given() && constant_text(text, &by.ty).is_none(),
        _ => false,
    };
    if time && values.iter().zip(all).any(|(v, by)| no_time(v, by)) {
        as_texts(values, all);
        return Ok(());
    }
    for (v, by) in values.iter_mut().zip(all) {
        let Value::Bytes(text) = v else { continue };
        let read = if dates {
            Some(date_between(v, all, cx)?)
        } else if time {
            parse_time::parse_time(text).map(|p| Value::Time(p.value))
        } else if number {
            Some(match (exact_integer(text), exact_decimal(text)) {
                (Some(n), _) => Value::Decimal(Decimal::from_i128(n, 0)),
                (None, Some(d)) => Value::Decimal(d),
                (None, None) => Value::Double(text_number(text, Some(by), cx)?),
            })
        } else {
            None
        };
        if let Some(read) = read {
            *v = read;
        }
    }
    Ok(())
}

/// Makes texts of times.
fn as_texts(values: &mut [Value<'_>; 3], all: &[Expr; 3]) {
    for (v, by) in values.iter_mut().zip(all) {
        if let Value::Time(t) = *v {
            *v = shown(Value::Time(t), &by.ty);
        }
    }
}

/// A text as the date it is beside an expression that is one; the zero one if it is none, which is complained of.
pub fn date(
    v: &Value<'_>,
    beside: Option<&Expr>,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'static>> {
    let read = match beside.map(|e| e.ty.base) {
        None => {
            return Ok(Value::DateTime(
                v.to_datetime_in(cx.session.sql_mode.get())
                    .unwrap_or_default(),
            ));
        }
        Some(BaseType::Date) => Read::Date,
        Some(_) => Read::DateTime,
    };
    if let (Some(ExprKind::Named(_, name)), Value::Bytes(text)) = (beside.map(|e| &e.kind), v) {
        return named_date(text, read, name, cx);
    }
    // Beside what is the same for all rows whatever is wrong is cut.
    if read == Read::DateTime
        && beside.is_some_and(Expr::is_fixed)
        && let Value::Bytes(text) = v
    {
        let parsed = parse_time::parse_datetime_in(text, cx.session.sql_mode.get());
        if parsed.is_none_or(|p| p.trailing) {
            truncated(cx.session, "datetime", v)?;
        }
        return Ok(Value::DateTime(parsed.map(|p| p.value).unwrap_or_default()));
    }
    let date = read_datetime(v, read, cx.session)?;
    Ok(Value::DateTime(date.unwrap_or_default()))
}

/// A text as the date it is beside one that has a name.
fn named_date(
    text: &[u8],
    read: Read,
    name: &str,
    cx: &EvalContext<'_>,
) -> SqlResult<Value<'static>> {
    let parsed = parse_time::parse_datetime_in(text, cx.session.sql_mode.get());
    if parsed.is_some() {
        let env = cx.session;
        env.warn_of_delimiter(text, env.rows_sent.get() + 1);
    }
    if parsed.is_none_or(|p| p.trailing) {
        let kind = match read {
            Read::Date => "date",
            Read::DateTime => "datetime",
        };
        let (shown, row) = (printable(text), cx.session.rows_sent.get() + 1);
        let m = match name {
            "" => format!("Truncated incorrect {kind} value: '{shown}'"),
            _ => format!("Incorrect {kind} value: '{shown}' for column '{name}' at row {row}"),
        };
        cx.session.complain(1292, m)?;
    }
    Ok(Value::DateTime(parsed.map(|p| p.value).unwrap_or_default()))
}

/// A text among several that a date is looked for in. What is no date is told by the column that it isn't, if the list has more than
/// constants.
pub fn listed(
    v: &Value<'_>,
    text: &[u8],
    list: &InList,
    cx: &EvalContext<'_>,
) -> SqlResult<Option<Value<'static>>> {
    if let Value::Time(_) = v {
        let time = read_time(&Value::Bytes(text.into()), cx.session)?;
        return Ok(Some(Value::Time(time.unwrap_or_default())));
    }
    if !matches!(v, Value::Date(_) | Value::DateTime(_)) {
        return Ok(None);
    }
    let parsed = parse_time::parse_datetime_in(text, cx.session.sql_mode.get());
    if parsed.is_some() {
        let env = cx.session;
        env.warn_of_delimiter(text, env.rows_sent.get() + 1);
    }
    if parsed.is_none_or(|p| p.trailing) {
        let kind = match list.value.ty.base {
            BaseType::Date => "date",
            _ => "datetime",
        };
        let shown = printable(text);
        let column = match &list.value.kind {
            ExprKind::Column { label, .. } if !list.list.iter().all(Expr::is_const) => {
                label.rsplit('.').next()
            }
            _ => None,
        };
        let m = match column {
            Some(name) => {
                let row = cx.session.rows_sent.get() + 1;
                format!("Incorrect {kind} value: '{shown}' for column '{name}' at row {row}")
            }
            None => format!("Truncated incorrect {kind} value: '{shown}'"),
        };
        cx.session.complain(1292, m)?;
    }
    let date = parsed.map(|p| p.value).unwrap_or_default();
    Ok(Some(Value::DateTime(date)))
}

/// The same of BETWEEN, which tells the column that a text is no value of.
fn date_between(v: &Value<'_>, by: &[Expr; 3], cx: &EvalContext<'_>) -> SqlResult<Value<'static>> {
    let temporal = |e: &&Expr| matches!(e.ty.family(), F::Date | F::DateTime | F::Timestamp);
    let column = by.iter().filter(temporal).find_map(|e| match &e.kind {
        ExprKind::Column { label, .. } => Some((label, e.ty.base)),
        _ => None,
    });
    let (Value::Bytes(text), Some((label, base))) = (v, column) else {
        return date(v, by.iter().find(temporal), cx);
    };
    let parsed = parse_time::parse_datetime_in(text, cx.session.sql_mode.get());
    if parsed.is_some() {
        let env = cx.session;
        env.warn_of_delimiter(text, env.rows_sent.get() + 1);
    }
    if parsed.is_none_or(|p| p.trailing) {
        let kind = match base {
            BaseType::Date => "date",
            _ => "datetime",
        };
        let name = label.rsplit('.').next().unwrap_or_default();
        let m = format!(
            "Incorrect {kind} value: '{}' for column '{name}' at row 1",
            printable(text)
        );
        cx.session.complain(1292, m)?;
    }
    Ok(Value::DateTime(parsed.map(|p| p.value).unwrap_or_default()))
}

/// The number that a text made of a date or time is.
pub fn moment(text: &[u8]) -> Value<'static> {
    let dated = text.iter().skip(1).any(|b| *b == b'-');
    let value = match dated {
        true => parse_time::parse_datetime(text).map(|p| match p.has_time {
            true => Value::DateTime(p.value),
            false => Value::Date(p.value.date),
        }),
        false => parse_time::parse_time(text).map(|p| Value::Time(p.value)),
    };
    value.map_or(Value::Null, |v| Value::Double(v.to_f64()))
}

/// What a time of day is read from: a YEAR has none, and a day that was moved is the beginning of one, though it be a text.
pub fn clock<'a>(v: Value<'a>, e: &Expr) -> Value<'a> {
    let moved = match (&v, &e.kind) {
        (Value::Null, _) => None,
        _ if e.ty.base == BaseType::Year => Some(Value::Time(Time::default())),
        (Value::Bytes(text), ExprKind::DateAdd(..)) => {
            parse_time::parse_datetime(text).map(|p| Value::DateTime(p.value))
        }
        _ => None,
    };
    moved.unwrap_or(v)
}

/// Whether a day that its month doesn't have is one of the next month for what reads the value of `e`: that of a DATETIME column is, that
/// of a DATE column where a moment is asked for.
pub fn carries_over(e: &Expr, v: &Value<'_>, read: Read) -> bool {
    if !matches!(v, Value::Date(_) | Value::DateTime(_)) {
        return false;
    }
    let moment = e.ty.base == BaseType::DateTime || matches!(read, Read::DateTime);
    let mut stored = false;
    e.walk(&mut |x| {
        let column = matches!(x.kind, ExprKind::Column { .. }) && !x.is_fixed();
        let base = x.ty.base;
        stored |= column && (base == BaseType::DateTime || moment && base == BaseType::Date);
    });
    stored
}

/// A time of day as the moment it is today, beside a date.
pub fn today(v: &Value<'_>, session: &SessionEnv) -> Option<Value<'static>> {
    match v {
        Value::Time(t) => {
            let day = session.local_now().date;
            DateTime::from_days_micros(day.days(), t.micros).map(Value::DateTime)
        }
        _ => None,
    }
}
