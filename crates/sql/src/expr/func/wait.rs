//! Functions that wait or waste time: SLEEP, BENCHMARK, and the locks by name.

use std::time::{Duration, Instant};

use super::{Call, Computed, Exit, Func};
use crate::error::SqlError;
use crate::expr::RowRef;
use crate::value::Value;

/// Longest wait that is told from one without end: a year.
const LONGEST: f64 = 365.0 * 86_400.0;
/// Evaluations between two looks at whether BENCHMARK was killed.
const LOOK_EVERY: u64 = 1024;

/// Why a statement must end now.
fn stop(c: &Call<'_, '_>) -> Option<SqlError> {
    let s = c.cx.session;
    if s.facts.as_ref().is_some_and(|f| f.seat.interrupted()) {
        return Some(SqlError::new(1317, "Query execution was interrupted"));
    }
    s.is_overdue().then(crate::exec::overdue)
}

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    match f {
        Func::Sleep => sleep(c),
        Func::Benchmark => benchmark(c),
        _ => lock(f, c),
    }
}

fn sleep<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let seconds = c.args[0].eval(c.cx)?;
    let seconds = if seconds.is_null() {
        -1.0
    } else {
        seconds.to_f64()
    };
    if seconds.is_nan() || seconds < 0.0 {
        return Err(Exit::Error(SqlError::new(
            1210,
            "Incorrect arguments to sleep.",
        )));
    }
    let until = Instant::now() + Duration::from_secs_f64(seconds.min(LONGEST));
    loop {
        if let Some(e) = stop(c) {
            // Alone in a SELECT it says that it was woken; among rows the statement fails.
            let among_rows = c.cx.rows.iter().any(|r| matches!(r, RowRef::Stored(..)));
            return if among_rows {
                Err(Exit::Error(e))
            } else {
                Ok(Value::Int(1))
            };
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Value::Int(0));
        }
        let session = c.cx.session;
        let until = session.deadline.get().map_or(until, |d| d.min(until));
        match &session.facts {
            Some(facts) => facts.seat.doze(until),
            None => std::thread::sleep(left),
        }
    }
}

/// BENCHMARK(times, expression): 0.
fn benchmark<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let times = c.int(0)?;
    let Ok(times) = u64::try_from(times) else {
        return Err(Exit::Null);
    };
    for n in 1..=times {
        c.args[1].eval(c.cx)?;
        if n % LOOK_EVERY == 0
            && let Some(e) = stop(c)
        {
            return Err(Exit::Error(e));
        }
    }
    Ok(Value::Int(0))
}

fn lock<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.cx.session;
    let Some(facts) = &s.facts else {
        return Err(Exit::Error(SqlError::unsupported(
            "locks by name outside of a session",
        )));
    };
    let (locks, id) = (&facts.instance.0.user_locks, s.connection_id);
    if f == Func::ReleaseAllLocks {
        return Ok(Value::UInt(locks.release_all(id)));
    }
    let name = c.args[0].text(c.cx)?;
    let name = name.as_deref().map(String::from_utf8_lossy);
    let name = name.as_deref();
    let said = |b: Option<bool>| b.map(|b| Value::Int(i64::from(b))).ok_or(Exit::Null);
    match f {
        Func::GetLock => {
            let seconds = c.args[1].eval(c.cx)?.to_f64();
            let until = (0.0..LONGEST)
                .contains(&seconds)
                .then(|| Instant::now() + Duration::from_secs_f64(seconds));
            said(locks.get(id, name, (until, s.deadline.get()), || stop(c).is_some())?)
        }
        Func::ReleaseLock => said(locks.release(id, name)?),
        Func::IsFreeLock => said(Some(locks.holder(name)?.is_none())),
        _ => match locks.holder(name)? {
            Some(id) => Ok(Value::UInt(u64::from(id))),
            None => Err(Exit::Null),
        },
    }
}
