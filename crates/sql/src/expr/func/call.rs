//! A call being computed, as the functions of all topics see it.

use std::borrow::Cow;

use super::{Func, joint};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::display::quoted;
use crate::expr::eval::bit_string;
use crate::expr::operators::{number, out_of_range_null};
use crate::expr::{EvalContext, Expr, ExprKind, kinds};
use crate::types::Collation;
use crate::value::convert::exact_integer;
use crate::value::{
    Date, DateTime, Decimal, Read, Time, Value, member_number, no_datetime, read_datetime,
    read_time, truncated,
};

/// Computes a call.
pub(super) type Eval = for<'r, 'c, 'a> fn(&'r Call<'c, 'a>) -> Computed<'a>;

/// Why a function gives no value.
pub(super) enum Exit {
    /// The result is NULL.
    Null,
    Error(SqlError),
}

impl From<SqlError> for Exit {
    fn from(e: SqlError) -> Exit {
        Exit::Error(e)
    }
}

pub(super) type Computed<'a> = Result<Value<'a>, Exit>;

/// A call being computed: arguments evaluated on demand, NULL ending it.
pub(super) struct Call<'c, 'a> {
    func: Func,
    pub(super) expr: &'a Expr,
    pub(super) args: &'a [Expr],
    pub(super) cx: &'c EvalContext<'a>,
}

impl<'a> Call<'_, 'a> {
    pub(super) fn len(&self) -> usize {
        self.args.len()
    }
    /// The function's name as messages have it.
    pub(super) fn name(&self) -> String {
        self.func.name().to_ascii_lowercase()
    }
    /// An argument that is not NULL.
    pub(super) fn value(&self, i: usize) -> Result<Value<'a>, Exit> {
        match self.args[i].eval(self.cx)? {
            Value::Null => Err(Exit::Null),
            v => Ok(v),
        }
    }
    /// The same as a number.
    pub(super) fn number(&self, i: usize) -> Result<Value<'a>, Exit> {
        Ok(number(self.value(i)?, &self.args[i], self.cx)?)
    }
    pub(super) fn text(&self, i: usize) -> Result<Cow<'a, [u8]>, Exit> {
        self.args[i].text(self.cx)?.ok_or(Exit::Null)
    }
    /// An argument as an integer: of a text the digits it begins with.
    pub(super) fn int(&self, i: usize) -> Result<i64, Exit> {
        Ok(self.integer(i)?.to_i64())
    }
    /// The same as 64 bits: what is beyond a signed integer keeps them.
    pub(super) fn bits(&self, i: usize) -> Result<u64, Exit> {
        Ok(self.integer(i)?.to_bits())
    }
    /// An argument, a number if it was a text.
    fn integer(&self, i: usize) -> Result<Value<'a>, Exit> {
        let (e, v) = (&self.args[i], self.value(i)?);
        let Value::Bytes(b) = &v else {
            return Ok(v);
        };
        if matches!(e.kind, ExprKind::BitString(_)) {
            return Ok(Value::UInt(bit_string(b)));
        }
        if let Some(number) = member_number(b, &e.ty) {
            return Ok(number);
        }
        let whole = integer_prefix(b);
        if exact_integer(b).is_none() && !e.is_quiet() {
            truncated(self.cx.session, "INTEGER", &v)?;
        }
        Ok(match i64::try_from(whole) {
            Ok(v) => Value::Int(v),
            Err(_) if whole < 0 => Value::Int(i64::MIN),
            Err(_) => Value::UInt(u64::try_from(whole).unwrap_or(u64::MAX)),
        })
    }
    pub(super) fn double(&self, i: usize) -> Result<f64, Exit> {
        Ok(self.number(i)?.to_f64())
    }
    pub(super) fn decimal(&self, i: usize) -> Result<Decimal, Exit> {
        Ok(self.value(i)?.to_decimal())
    }
    /// A date and time; NULL with warning 1292 if the argument is none.
    pub(super) fn datetime(&self, i: usize) -> Result<DateTime, Exit> {
        self.moment(i, Read::DateTime)
    }
    /// A date, with the time of day that it may have.
    pub(super) fn day(&self, i: usize) -> Result<DateTime, Exit> {
        self.moment(i, Read::Date)
    }
    fn moment(&self, i: usize, read: Read) -> Result<DateTime, Exit> {
        let v = self.value(i)?;
        let d = match &v {
            Value::Time(t) => {
                DateTime::from_days_micros(self.cx.session.local_now().date.days(), t.micros)
            }
            v => read_datetime(v, read, self.cx.session)?,
        };
        d.ok_or(Exit::Null)
    }
    /// A date that the calendar has; complained of as [`Call::day`] does if it is none.
    pub(super) fn date(&self, i: usize) -> Result<Date, Exit> {
        let d = self.day(i)?.date;
        self.existing(i, d, Read::Date)?;
        Ok(d)
    }
    /// A date that days are counted to: one that has no zero, though no month may have its day.
    pub(super) fn counted(&self, i: usize) -> Result<Date, Exit> {
        let d = self.day(i)?.date;
        match d.has_zero() {
            true => self.existing(i, d, Read::Date).map(|()| d),
            false => Ok(d),
        }
    }
    /// NULL if a date that an argument is read as is not in the calendar, nor stands for one that is.
    pub(super) fn existing(&self, i: usize, date: Date, read: Read) -> Result<(), Exit> {
        if date.exists() {
            return Ok(());
        }
        let v = self.value(i)?;
        if !date.has_zero() && kinds::carries_over(&self.args[i], &v, read) {
            return Ok(());
        }
        no_datetime(&v, read, self.cx.session)?;
        Err(Exit::Null)
    }
    /// The time of day that an argument has.
    pub(super) fn clock(&self, i: usize) -> Result<Time, Exit> {
        let v = kinds::clock(self.value(i)?, &self.args[i]);
        read_time(&v, self.cx.session)?.ok_or(Exit::Null)
    }
    pub(super) fn time(&self, i: usize) -> Result<Time, Exit> {
        read_time(&self.value(i)?, self.cx.session)?.ok_or(Exit::Null)
    }
    /// NULL with warning 1411, which shows what the first argument says.
    #[cold]
    pub(super) fn incorrect_value(&self, kind: &str) -> Exit {
        let shown = quoted(&self.args[0]);
        let m = format!(
            "Incorrect {kind} value: '{shown}' for function {}",
            self.name()
        );
        match self.cx.session.complain(1411, m) {
            Ok(()) => Exit::Null,
            Err(e) => Exit::Error(e),
        }
    }
    /// NULL with warning 6527: a result that its type does not have.
    pub(super) fn beyond(&self, kind: &str) -> Computed<'a> {
        out_of_range_null(kind, self.expr, self.cx)?;
        Err(Exit::Null)
    }
    /// NULL with warning 1301 if a result of that many bytes is too long to be made.
    #[inline]
    pub(super) fn room_for(&self, bytes: usize) -> Result<(), Exit> {
        if bytes <= MAX_RESULT {
            return Ok(());
        }
        self.room_beyond(bytes)
    }
    #[cold]
    fn room_beyond(&self, bytes: usize) -> Result<(), Exit> {
        let most = max_result(self.cx.session);
        if bytes <= most {
            return Ok(());
        }
        let m = format!(
            "Result of {}() was larger than max_allowed_packet ({most}) - truncated",
            self.name()
        );
        self.cx.session.complain(1301, m)?;
        Err(Exit::Null)
    }
    /// Appends to a result, which may get too long by it.
    pub(super) fn append(&self, out: &mut Vec<u8>, more: &[u8]) -> Result<(), Exit> {
        self.room_for(out.len().saturating_add(more.len()))?;
        out.extend_from_slice(more);
        Ok(())
    }
    /// Error 1210.
    pub(super) fn incorrect_arguments(&self) -> Exit {
        let m = format!("Incorrect arguments to {}", self.name());
        Exit::Error(SqlError::new(1210, m))
    }
    /// The collation that string arguments are compared under.
    pub(super) fn collation(&self) -> Collation {
        joint(self.args, Collation::DEFAULT)
    }
}

/// The integer that a text begins with; 0 if there is none.
fn integer_prefix(text: &[u8]) -> i128 {
    let s = text.trim_ascii_start();
    let (negative, digits) = match s.first() {
        Some(b'-') => (true, &s[1..]),
        Some(b'+') => (false, &s[1..]),
        _ => (false, s),
    };
    let digits = digits.iter().take_while(|d| d.is_ascii_digit());
    // Beyond 64 bits it is clamped, so how far does not matter.
    let v = digits.fold(0i128, |v, d| {
        (v * 10 + i128::from(d - b'0')).min(i128::from(u64::MAX) + 1)
    });
    if negative { -v } else { v }
}

/// A result of these bytes.
pub(super) fn bytes<'a>(b: Vec<u8>) -> Computed<'a> {
    Ok(Value::Bytes(Cow::Owned(b)))
}

/// What a result may have whatever `max_allowed_packet` says: MySQL's default for that, in bytes.
const MAX_RESULT: usize = 64 << 20;

/// `max_allowed_packet`.
pub(super) fn max_packet(session: &SessionEnv) -> u64 {
    let set = (session.sys_var)("", "max_allowed_packet");
    set.map_or(MAX_RESULT as u64, |v| v.to_u64())
}

/// Longest text that a function makes: `max_allowed_packet` where it is set higher than by default.
#[cold]
pub(in crate::expr) fn max_result(session: &SessionEnv) -> usize {
    let set = (session.sys_var)("", "max_allowed_packet");
    let set = set.map_or(0, |v| usize::try_from(v.to_u64()).unwrap_or(usize::MAX));
    set.max(MAX_RESULT)
}

/// Whether a text of so many characters may be too long to be made, and so NULL.
pub(super) fn may_be_long(chars: u32) -> bool {
    chars as usize > MAX_RESULT / 4
}

/// Calls a function.
pub(in crate::expr) fn call<'a>(
    expr: &'a Expr,
    func: Func,
    args: &'a [Expr],
    cx: &EvalContext<'a>,
) -> SqlResult<Value<'a>> {
    let c = Call {
        func,
        expr,
        args,
        cx,
    };
    // Most functions that can make more than they are given ask before they make it; this is for the rest.
    let fitting = |v: Value<'a>| match &v {
        Value::Bytes(Cow::Owned(b)) => c.room_for(b.len()).map(|()| v),
        _ => Ok(v),
    };
    match (func.row().eval)(&c).and_then(fitting) {
        Ok(v) => Ok(v),
        Err(Exit::Null) => Ok(Value::Null),
        Err(Exit::Error(e)) => Err(e),
    }
}
