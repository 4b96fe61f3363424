//! The stall record's ticks of 10 ms, by second, and its DDL beside them.

use millpond_session::watch::{Class, DdlEvent, TICK_US, Tick, Watch};

/// Microseconds of a second.
pub(super) const SECOND: u64 = 1_000_000;

/// What ended in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Second {
    /// Seconds since 1970 UTC.
    pub at: u64,
    pub statements: u64,
    /// The slowest of them, microseconds.
    pub max_us: u64,
    /// DDL statements that began.
    pub ddl: u64,
}

/// Seconds in which something ended or DDL began, ascending.
pub(super) fn seconds(watch: &Watch, ticks: &[Tick], ddl: &[DdlEvent]) -> Vec<Second> {
    let ended = ticks.iter().map(|t| {
        let statements = Class::ALL.iter().map(|c| t.of(*c).0).sum();
        Second {
            at: watch.tick_start_us(t.tick) / SECOND,
            statements,
            max_us: t.max_us(),
            ddl: 0,
        }
    });
    let oldest = ticks.first().map(|t| t.tick * TICK_US * 1000);
    let recent = ddl
        .iter()
        .filter(|e| oldest.is_some_and(|ns| e.start_ns >= ns));
    let begun = recent.map(|e| Second {
        at: watch.wall_us(e.start_ns) / SECOND,
        ddl: 1,
        ..Second::default()
    });
    summed(ended.chain(begun).collect())
}

fn summed(mut all: Vec<Second>) -> Vec<Second> {
    all.sort_by_key(|s| s.at);
    let mut out: Vec<Second> = Vec::new();
    for s in all {
        match out.last_mut() {
            Some(last) if last.at == s.at => {
                last.statements += s.statements;
                last.max_us = last.max_us.max(s.max_us);
                last.ddl += s.ddl;
            }
            _ => out.push(s),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_summed_and_in_order() {
        let second = |at, statements, max_us, ddl| Second {
            at,
            statements,
            max_us,
            ddl,
        };
        let all = vec![
            second(7, 1, 10, 0),
            second(9, 2, 30, 0),
            second(7, 3, 5, 0),
            second(7, 0, 0, 1),
        ];
        assert_eq!(summed(all), [second(7, 4, 10, 1), second(9, 2, 30, 0)]);
        assert!(summed(Vec::new()).is_empty());
    }
}
