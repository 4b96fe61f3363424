//! Dates and times as texts of a format, and back.

use super::typing::plain;
use super::{Call, Computed, Exit, Follows, Function, Null, Typing, row};
use crate::expr::time_format::{self, Reads};
use crate::types::{BaseType, SqlType};
use crate::value::{Date, Value};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("DATE_FORMAT", 2..=2, formatted, date_format).null(Null::Maybe).follows(Follows::Statement),
    row("TIME_FORMAT", 2..=2, formatted, time_format).null(Null::Maybe).follows(Follows::Statement),
    row("STR_TO_DATE", 2..=2, read, str_to_date).null(Null::Maybe),
    row("GET_FORMAT", 2..=2, plain::<17>, get_format).null(Null::Maybe),
];

fn formatted(t: &Typing<'_>) -> SqlType {
    t.plain(t.length(1).saturating_mul(10).max(64))
}

/// Type of STR_TO_DATE: what a constant format reads, else a datetime with microseconds.
fn read(t: &Typing<'_>) -> SqlType {
    let Some(Value::Bytes(spec)) = t.args[1].as_constant() else {
        return SqlType::datetime(6);
    };
    let fsp = |micro: bool| if micro { 6 } else { 0 };
    match time_format::reads(spec) {
        Reads::Date => SqlType::new(BaseType::Date),
        Reads::Time(m) => SqlType::temporal(BaseType::Time, fsp(m)),
        Reads::DateTime(m) => SqlType::datetime(fsp(m)),
    }
}

fn date_format<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let d = c.datetime(0)?;
    let names = c.cx.session.names.get();
    let out = time_format::format(d.date, d.time(), &c.text(1)?, names);
    Ok(Value::Bytes(out.ok_or(Exit::Null)?.into()))
}

fn time_format<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let t = c.time(0)?;
    let names = c.cx.session.names.get();
    let out = time_format::format(Date::default(), t, &c.text(1)?, names);
    Ok(Value::Bytes(out.ok_or(Exit::Null)?.into()))
}

fn str_to_date<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let session = c.cx.session;
    let (s, spec) = (c.text(0)?, c.text(1)?);
    let allowed =
        |d: Date| c.expr.ty.base == BaseType::Time || crate::value::date_allowed(d, session);
    let (d, all) = match time_format::parse(&s, &spec, session.sql_mode.get()) {
        Ok((d, all)) if allowed(d.date) => (d, all),
        failed => {
            let kind = match failed {
                Err(true) => "time",
                _ => "datetime",
            };
            let m = format!(
                "Incorrect {kind} value: '{}' for function str_to_date",
                crate::value::printable(&s)
            );
            session.complain(1411, m)?;
            return Err(Exit::Null);
        }
    };
    let (kind, v) = match c.expr.ty.base {
        BaseType::Date => ("date", Value::Date(d.date)),
        BaseType::Time => ("time", Value::Time(d.time())),
        _ => ("datetime", Value::DateTime(d)),
    };
    if !all {
        crate::value::truncated(session, kind, &Value::Bytes(s))?;
    }
    Ok(v)
}

/// GET_FORMAT, whose first argument is the name of a type.
fn get_format<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (kind, which) = (c.text(0)?, c.text(1)?);
    let is = |name: &str| which.eq_ignore_ascii_case(name.as_bytes());
    let (date, time) = (&*kind == b"DATE", &*kind == b"TIME");
    let found = [
        ("USA", "%m.%d.%Y", "%h:%i:%s %p", "%Y-%m-%d %H.%i.%s"),
        ("JIS", "%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"),
        ("ISO", "%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"),
        ("EUR", "%d.%m.%Y", "%H.%i.%s", "%Y-%m-%d %H.%i.%s"),
        ("INTERNAL", "%Y%m%d", "%H%i%s", "%Y%m%d%H%i%s"),
    ]
    .into_iter()
    .find(|f| is(f.0));
    let (_, of_date, of_time, of_both) = found.ok_or(Exit::Null)?;
    Ok(Value::str(match (date, time) {
        (true, _) => of_date,
        (_, true) => of_time,
        _ => of_both,
    }))
}
