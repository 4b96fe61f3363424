//! What accounts have used of what they may: statements and connections in an hour, connections at a time (WITH MAX_..., `max_user_connections`).
//!
//! A connection of an account that has limits has a [`Meter`], from its login to its end; others have none and are asked nothing. What is counted
//! is in memory: a restart, FLUSH USER_RESOURCES and ALTER USER ... WITH begin anew. An hour begins with the first use after the one before.

use std::collections::HashMap;
use std::sync::Arc;

use millpond_sql::env::now_us;
use millpond_sql::error::{SqlError, SqlResult};
use parking_lot::Mutex;

use super::account::Limits;
use super::names::Name;

/// Microseconds of an hour.
const HOUR: u64 = 3_600_000_000;

/// What an account has used.
#[derive(Debug, Default)]
struct Used {
    /// When the hour began, microseconds since 1970.
    since: u64,
    queries: u64,
    updates: u64,
    connections: u64,
    /// Connections now.
    open: u64,
}

impl Used {
    /// Begins another hour if this one is over.
    fn keep_time(&mut self) {
        let now = now_us();
        if now.saturating_sub(self.since) >= HOUR {
            *self = Used {
                since: now,
                open: self.open,
                ..Used::default()
            };
        }
    }
}

/// Counts a use; error 1226 for one too many.
fn count(used: &mut u64, most: u64, name: &Name, what: &str) -> SqlResult<()> {
    if most > 0 && *used >= most {
        return Err(exceeded(name, what, most));
    }
    *used += 1;
    Ok(())
}

/// 1226.
fn exceeded(name: &Name, what: &str, most: u64) -> SqlError {
    SqlError::new(
        1226,
        format!(
            "User '{}' has exceeded the '{what}' resource (current value: {most})",
            name.user
        ),
    )
}

/// What all accounts with limits have used.
#[derive(Default)]
pub struct Meters(Mutex<HashMap<Name, Arc<Mutex<Used>>>>);

/// That of one connection.
pub struct Meter {
    name: Name,
    limits: Limits,
    used: Arc<Mutex<Used>>,
}

impl Meters {
    /// A connection begins. `most`: `max_user_connections`, as far as it is asked of this account; 0: not at all. Errors 1203 and 1226 for one too many.
    pub fn connect(&self, name: &Name, limits: Limits, most: u64) -> SqlResult<Option<Meter>> {
        if limits == Limits::default() && most == 0 {
            return Ok(None);
        }
        let used = self.0.lock().entry(name.clone()).or_default().clone();
        {
            let mut used = used.lock();
            used.keep_time();
            if limits.at_a_time == 0 && most > 0 && used.open >= most {
                return Err(SqlError::new(
                    1203,
                    format!(
                        "User {} already has more than 'max_user_connections' active connections",
                        name.user
                    ),
                ));
            }
            if limits.at_a_time > 0 && used.open >= limits.at_a_time {
                return Err(exceeded(name, "max_user_connections", limits.at_a_time));
            }
            let most = limits.connections;
            count(
                &mut used.connections,
                most,
                name,
                "max_connections_per_hour",
            )?;
            used.open += 1;
        }
        Ok(Some(Meter {
            name: name.clone(),
            limits,
            used,
        }))
    }

    /// Nothing has been used yet, but for connections that there are: by one account, or by all.
    pub fn reset(&self, name: Option<&Name>) {
        let meters = self.0.lock();
        for (_, used) in meters.iter().filter(|(n, _)| name.is_none_or(|m| m == *n)) {
            let mut used = used.lock();
            *used = Used {
                since: now_us(),
                open: used.open,
                ..Used::default()
            };
        }
    }
}

impl Meter {
    /// A statement begins; `changes`: it counts among updates. Error 1226 for one too many.
    pub fn statement(&self, changes: bool) -> SqlResult<()> {
        let mut used = self.used.lock();
        used.keep_time();
        let (name, limits) = (&self.name, &self.limits);
        count(&mut used.queries, limits.queries, name, "max_questions")?;
        match changes {
            true => count(&mut used.updates, limits.updates, name, "max_updates"),
            false => Ok(()),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.used.lock().open -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(r: SqlResult<T>) -> u16 {
        r.map_or_else(|e| e.code, |_| 0)
    }

    #[test]
    fn limits_end_what_there_is_too_much_of() {
        let meters = Meters::default();
        let name = Name::new("u", "%");
        assert!(
            meters
                .connect(&name, Limits::default(), 0)
                .unwrap()
                .is_none()
        );
        let limits = Limits {
            queries: 3,
            updates: 1,
            connections: 3,
            at_a_time: 1,
        };
        let connect = || meters.connect(&name, limits, 0);
        let meter = connect().unwrap().unwrap();
        assert_eq!(code(connect()), 1226);
        assert_eq!(code(meter.statement(true)), 0);
        assert_eq!(code(meter.statement(true)), 1226);
        assert_eq!(code(meter.statement(false)), 0);
        assert_eq!(code(meter.statement(false)), 1226);
        meters.reset(Some(&name));
        assert_eq!(code(meter.statement(true)), 0);
        assert_eq!(code(connect()), 1226);
        drop(meter);
        (0..3).for_each(|_| assert_eq!(code(connect()), 0));
        assert_eq!(code(connect()), 1226);
    }

    #[test]
    fn an_hour_ends() {
        let mut used = Used {
            since: now_us() - HOUR,
            queries: 9,
            open: 2,
            ..Used::default()
        };
        used.keep_time();
        assert_eq!((used.queries, used.open), (0, 2));
    }

    #[test]
    fn the_variable_is_for_accounts_without_a_limit_of_their_own() {
        let meters = Meters::default();
        let name = Name::new("u", "%");
        let _one = meters.connect(&name, Limits::default(), 1).unwrap();
        assert_eq!(code(meters.connect(&name, Limits::default(), 1)), 1203);
        let more = Limits {
            at_a_time: 2,
            ..Limits::default()
        };
        assert_eq!(code(meters.connect(&name, more, 1)), 0);
    }
}
