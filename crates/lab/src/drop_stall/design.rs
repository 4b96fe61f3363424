//! The design: which windows a run has, in which order, and when tables are dropped in them.
//!
//! A run is one subject under one steady load: a lead, then pairs of windows. One window of each pair has drops, the other has none,
//! and which comes first is a matter of chance; so whatever else befalls the machine for longer than a pair meets both alike.
//! Between windows lies a guard, in which the load goes on and nothing is recorded, so that what a drop leaves behind fades.
//!
//! A window is divided into as many slots as it has drops, and each drop comes at any moment of its slot with the same chance.
//! The window without has such moments too, at which nothing is done: what follows a drop is compared with what follows such a
//! moment, and everything that load and machine do by themselves is in both.

use crate::random::Random;

/// Seconds of the shortest window.
const SHORTEST: f64 = 0.1;
/// Seconds that the load runs before the first window.
const LEAD: f64 = 0.25;
/// Seconds between two windows.
const GUARD: f64 = 0.08;
/// Seconds after a run's last window in which requests due in it may end without others beside them.
const TAIL: f64 = 0.05;

/// Lengths of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Seconds of a window.
    pub window: f64,
    /// Pairs of a run.
    pub pairs: usize,
}

/// A stretch of a run; times are seconds since the run began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    pub from: f64,
    pub until: f64,
    /// Tables are dropped at its moments.
    pub drops: bool,
    /// Ascending.
    pub moments: Vec<f64>,
}

/// A run: windows 2k and 2k+1 are a pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    pub windows: Vec<Window>,
    /// When the load ends.
    pub until: f64,
}

impl Shape {
    /// Runs of so many seconds with as many pairs of such windows as fit, at least one.
    pub fn of(seconds: f64, window: f64) -> Shape {
        let pairs = (seconds - LEAD - TAIL) / (2.0 * (window + GUARD));
        Shape {
            window,
            pairs: (pairs + 1e-9).floor().max(1.0) as usize,
        }
    }

    /// The same with `least` pairs at least, and windows that fill the time, as far as the shortest allows.
    pub fn fitting(seconds: f64, window: f64, least: usize) -> Shape {
        let pairs = Shape::of(seconds, window).pairs.max(least);
        let window = (seconds - LEAD - TAIL) / (2.0 * pairs as f64) - GUARD;
        Shape {
            window: window.max(SHORTEST),
            pairs,
        }
    }

    /// A run with a drop about every `interval` seconds of the windows with drops.
    pub fn course(&self, interval: f64, random: &mut Random) -> Course {
        let mut windows = Vec::new();
        let mut from = LEAD;
        for _ in 0..self.pairs {
            let first = random.below(2) == 0;
            for drops in [first, !first] {
                windows.push(Window {
                    from,
                    until: from + self.window,
                    drops,
                    moments: moments(from, self.window, interval, random),
                });
                from += self.window + GUARD;
            }
        }
        Course {
            windows,
            until: from + TAIL,
        }
    }
}

impl Course {
    /// Drops of all its windows.
    pub fn drops(&self) -> usize {
        let with = self.windows.iter().filter(|w| w.drops);
        with.map(|w| w.moments.len()).sum()
    }
}

fn moments(from: f64, window: f64, interval: f64, random: &mut Random) -> Vec<f64> {
    let slots = (window / interval + 1e-9).floor().max(1.0);
    // A single drop comes in the first half: what follows it is to be seen.
    let used = if slots == 1.0 { window / 2.0 } else { window };
    let slot = used / slots;
    let moment = |i: usize| from + (i as f64 + random.unit()) * slot;
    (0..slots as usize).map(moment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_one_window_of_each_kind_and_moments_inside() {
        let mut random = Random::new(1);
        let shape = Shape {
            window: 0.5,
            pairs: 3,
        };
        let mut firsts = 0;
        for _ in 0..400 {
            let course = shape.course(0.05, &mut random);
            assert_eq!((course.windows.len(), course.drops()), (6, 30));
            for pair in course.windows.chunks(2) {
                assert_ne!(pair[0].drops, pair[1].drops);
                firsts += u32::from(pair[0].drops);
                assert!((pair[1].from - pair[0].until - GUARD).abs() < 1e-9);
            }
            for w in &course.windows {
                assert!(w.moments.is_sorted() && w.moments.len() == 10);
                assert!(w.moments.iter().all(|m| (w.from..w.until).contains(m)));
            }
        }
        // Of 1,200: five standard deviations are 87.
        assert!((513..687).contains(&firsts), "{firsts}");
    }

    #[test]
    fn rare_drops_are_one_a_window_in_its_first_half() {
        let shape = Shape {
            window: 2.0,
            pairs: 1,
        };
        let course = shape.course(5.0, &mut Random::new(2));
        for w in &course.windows {
            assert!(w.moments.len() == 1 && w.moments[0] < w.from + 1.0);
        }
    }
}
