//! Functions that wait or waste time: SLEEP, BENCHMARK, and the locks by name.

use std::time::{Duration, Instant};

use super::typing::{bigint, ubigint};
use super::{Call, Computed, Exit, Follows, Function, Null, row};
use crate::env::overdue;
use crate::env::user_locks::UserLocks;
use crate::error::SqlError;
use crate::expr::RowRef;
use crate::store_error::interrupted;
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("SLEEP", 1..=1, bigint, sleep).follows(Follows::Call),
    row("BENCHMARK", 2..=2, bigint, benchmark).null(Null::Maybe).follows(Follows::Call),
    row("GET_LOCK", 2..=2, bigint, get_lock).null(Null::Maybe).follows(Follows::Call),
    row("RELEASE_LOCK", 1..=1, bigint, release_lock).null(Null::Maybe).follows(Follows::Call),
    row("RELEASE_ALL_LOCKS", 0..=0, ubigint, release_all_locks).follows(Follows::Call),
    row("IS_FREE_LOCK", 1..=1, bigint, is_free_lock).null(Null::Maybe).follows(Follows::Call),
    row("IS_USED_LOCK", 1..=1, ubigint, is_used_lock).null(Null::Maybe).follows(Follows::Call),
];

/// Longest wait that is told from one without end: a year.
const LONGEST: f64 = 365.0 * 86_400.0;
/// Between two looks at whether who waits in GET_LOCK still has a client.
const CLIENT_LOOK: Duration = Duration::from_secs(1);
/// Evaluations between two looks at whether BENCHMARK was killed.
const LOOK_EVERY: u64 = 1024;

/// Why a statement must end now.
fn stop(c: &Call<'_, '_>) -> Option<SqlError> {
    let s = c.cx.session;
    if s.is_interrupted() {
        return Some(interrupted());
    }
    s.is_overdue().then(overdue)
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
        match &session.services {
            Some(services) => services.doze(until),
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

/// The locks of the server, which only sessions have.
fn locks<'a>(c: &Call<'_, 'a>) -> Result<&'a UserLocks, Exit> {
    match &c.cx.session.services {
        Some(services) => Ok(services.user_locks()),
        None => Err(Exit::Error(SqlError::unsupported(
            "locks by name outside of a session",
        ))),
    }
}

/// The name of a lock; `None` if it is NULL.
fn name(c: &Call<'_, '_>) -> Result<Option<String>, Exit> {
    let name = c.args[0].text(c.cx)?;
    Ok(name.map(|n| String::from_utf8_lossy(&n).into_owned()))
}

/// What was done, or NULL.
fn said<'a>(done: Option<bool>) -> Computed<'a> {
    done.map(|d| Value::Int(i64::from(d))).ok_or(Exit::Null)
}

/// Whether nobody waits for an answer.
fn is_abandoned(c: &Call<'_, '_>) -> bool {
    let services = c.cx.session.services.as_ref();
    services.is_some_and(|s| s.client_is_gone())
}

fn get_lock<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (locks, name, s) = (locks(c)?, name(c)?, c.cx.session);
    let seconds = c.args[1].eval(c.cx)?.to_f64();
    let until = (0.0..LONGEST)
        .contains(&seconds)
        .then(|| Instant::now() + Duration::from_secs_f64(seconds));
    let (id, name) = (s.connection_id, name.as_deref());
    let waits = |waits| {
        if let Some(services) = &s.services {
            services.awaits_user_lock(waits);
        }
    };
    waits(true);
    let got = loop {
        let look = Instant::now() + CLIENT_LOOK;
        let (step, last) = match until {
            Some(until) if until <= look => (until, true),
            _ => (look, false),
        };
        let interrupted = || stop(c).is_some();
        let got = locks.get(id, name, (Some(step), s.deadline.get()), interrupted);
        match got {
            Ok(Some(false)) if !last && is_abandoned(c) => break Ok(None),
            Ok(Some(false)) if !last => {}
            got => break got,
        }
    };
    waits(false);
    said(got?)
}

fn release_lock<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (locks, name) = (locks(c)?, name(c)?);
    said(locks.release(c.cx.session.connection_id, name.as_deref())?)
}

fn release_all_locks<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let id = c.cx.session.connection_id;
    Ok(Value::UInt(locks(c)?.release_all(id)))
}

fn is_free_lock<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (locks, name) = (locks(c)?, name(c)?);
    said(Some(locks.holder(name.as_deref())?.is_none()))
}

fn is_used_lock<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (locks, name) = (locks(c)?, name(c)?);
    match locks.holder(name.as_deref())? {
        Some(id) => Ok(Value::UInt(u64::from(id))),
        None => Err(Exit::Null),
    }
}
