//! Stalls: times in which statements ran and none ended.
//!
//! Ticks without an end say little by themselves: perhaps nobody asked anything. But if the tick after them has a statement
//! that took as long as they lasted, that statement ran all the while and nothing was done. So a gap counts as far back as
//! the slowest statement that ended right after it reaches.

use super::{TICK_US, Tick};

/// A time in which statements ran and none ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The first tick of it.
    pub tick: u64,
    /// How many ticks.
    pub ticks: u64,
}

impl Stall {
    /// Length in microseconds.
    pub fn length_us(&self) -> u64 {
        self.ticks * TICK_US
    }
}

/// How many are told.
const MOST: usize = 100;

/// The longest stalls among ticks in order, longest first.
pub(super) fn find(ticks: &[Tick]) -> Vec<Stall> {
    let mut previous = None;
    let mut stalls: Vec<Stall> = Vec::new();
    for t in ticks {
        let empty = previous.map_or(t.tick, |p: u64| t.tick - p - 1);
        let ran = (t.max_us() / TICK_US).min(empty);
        if ran > 0 {
            stalls.push(Stall {
                tick: t.tick - ran,
                ticks: ran,
            });
        }
        previous = Some(t.tick);
    }
    stalls.sort_by_key(|s| (std::cmp::Reverse(s.ticks), s.tick));
    stalls.truncate(MOST);
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(tick: u64, max_us: u64) -> Tick {
        let mut t = Tick {
            tick,
            classes: Default::default(),
        };
        t.classes[3] = (1, max_us);
        t
    }

    #[test]
    fn a_gap_counts_as_far_as_a_statement_reaches() {
        let found = find(&[
            tick(100, 5),
            // Nine empty ticks, all of them covered by a statement of 200 ms.
            tick(110, 200_000),
            // 89 empty ticks, of which a statement covers three.
            tick(200, 35_000),
            // Idle.
            tick(300, 9_000),
            // Slow, but others ended meanwhile.
            tick(301, 900_000),
        ]);
        let lengths: Vec<_> = found.iter().map(|s| (s.tick, s.length_us())).collect();
        assert_eq!(lengths, [(101, 90_000), (197, 30_000)]);
        assert!(find(&[]).is_empty());
    }
}
