//! How many dirty pages the cleaner writes, and when.
//!
//! The log asks for writes, because its space returns when the oldest changes are in place; and so does the pool, because only
//! clean frames can be had by others. Both get a rate instead of a burst: a disk that has just been given megabytes keeps the next
//! commit waiting until it has swallowed them.
//!
//! * **By age.** A mark moves through the log, and pages whose oldest change lies before it go. It moves as fast as the log
//!   grows, as a moving average has it, times a factor: nothing below [`AGE_START`], 1 at [`AGE_EVEN`], [`AGE_HASTE`] at
//!   [`AGE_FULL`]. So the age settles where as much leaves as comes, whether that is few pages or many. No more than
//!   `io_capacity_max` pages a second go this way, unless the age passes [`AGE_FULL`]: what is older goes at once.
//! * **By number.** With more than [`DIRTY_START`] of the frames dirty, pages go at a rate that rises with the square of what is
//!   above, to `io_capacity` pages a second at [`DIRTY_FULL`] and on to `io_capacity_max`.
//! * **Idle** for [`QUIET`], `io_capacity` pages a second, so that a later start finds little to recover.

use crate::page::Lsn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Ages, in parts of the log's capacity.
const AGE_START: f64 = 0.15;
const AGE_EVEN: f64 = 0.45;
const AGE_FULL: f64 = 0.65;
const AGE_HASTE: f64 = 4.0;
/// Dirty frames, in parts of all.
const DIRTY_START: f64 = 0.10;
const DIRTY_FULL: f64 = 0.75;
/// Nothing appended for so long: idle.
const QUIET: Duration = Duration::from_secs(1);
/// What the log's rate is averaged over, in seconds.
const AVERAGE: f64 = 1.0;
/// Pages due are let gather to so many, for each batch costs four calls that wait for the disk.
const LEAST: f64 = 16.0;

/// Default of `innodb_io_capacity`, pages a second; MySQL's.
pub const IO_CAPACITY: u64 = 10_000;
/// Default of `innodb_io_capacity_max`, pages a second; MySQL's.
pub const IO_CAPACITY_MAX: u64 = 20_000;

/// Pages a second; settings.
pub(crate) struct Limits {
    io_capacity: AtomicU64,
    /// Counts where it is higher than the other.
    io_capacity_max: AtomicU64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            io_capacity: AtomicU64::new(IO_CAPACITY),
            io_capacity_max: AtomicU64::new(IO_CAPACITY_MAX),
        }
    }
}

impl Limits {
    /// Sets both.
    pub fn set(&self, pages: u64, most: u64) {
        self.io_capacity.store(pages, Ordering::Relaxed);
        self.io_capacity_max.store(most, Ordering::Relaxed);
    }
}

/// What there is to write.
pub(super) struct Load {
    /// The log's end.
    pub end: Lsn,
    /// The oldest change that is not in place.
    pub oldest: Option<Lsn>,
    /// The log's capacity, in bytes.
    pub capacity: u64,
    /// Dirty frames, and all.
    pub dirty: u64,
    pub frames: u64,
}

/// What to write now.
#[derive(Debug, PartialEq)]
pub(super) struct Due {
    /// All pages that are older than this.
    pub must: Lsn,
    /// So many pages, oldest first.
    pub pages: usize,
    /// Those older than this, and in all no more than so many.
    pub mark: Lsn,
    pub most: usize,
    /// There will be more soon.
    pub soon: bool,
}

/// The cleaner's memory of how things went.
pub(super) struct Pace {
    asked: Instant,
    end: Lsn,
    appended: Instant,
    idle: bool,
    /// Bytes a second that the log grows by.
    growth: f64,
    mark: f64,
    /// Pages owed for the number of dirty ones.
    owed: f64,
}

impl Pace {
    pub fn new(now: Instant) -> Pace {
        Pace {
            asked: now,
            end: 0,
            appended: now,
            idle: false,
            growth: 0.0,
            mark: 0.0,
            owed: 0.0,
        }
    }

    /// Whether nothing is being appended.
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// What is due since the last call.
    pub fn due(&mut self, load: &Load, limits: &Limits, now: Instant) -> Due {
        let passed = now.duration_since(self.asked).as_secs_f64();
        self.asked = now;
        let grown = load.end.saturating_sub(self.end);
        if self.end == 0 {
            self.appended = now;
        } else if grown > 0 {
            self.appended = now;
            let weight = (passed / AVERAGE).min(1.0);
            self.growth += (grown as f64 / passed.max(1e-6) - self.growth) * weight;
        } else {
            self.growth *= 1.0 - (passed / AVERAGE).min(1.0);
        }
        self.end = load.end;
        self.idle = now.duration_since(self.appended) >= QUIET;
        // After a long round or sleep not everything that it missed is due at once.
        let passed = passed.min(0.1);

        let capacity = limits.io_capacity.load(Ordering::Relaxed) as f64;
        let max = (limits.io_capacity_max.load(Ordering::Relaxed) as f64).max(capacity);
        let oldest = load.oldest.unwrap_or(load.end).min(load.end);
        let age = (load.end - oldest) as f64 / load.capacity as f64;
        self.mark = self.mark.max(oldest as f64) + self.growth * haste(age) * passed;
        self.mark = self.mark.min(load.end as f64);
        let must = if age >= AGE_FULL {
            // At least one byte, so that something is older.
            (load
                .end
                .saturating_sub((load.capacity as f64 * AGE_FULL) as u64))
            .max(oldest + 1)
        } else {
            0
        };

        let dirty = load.dirty as f64 / load.frames as f64;
        let above = ((dirty - DIRTY_START) / (DIRTY_FULL - DIRTY_START)).max(0.0);
        let mut rate = (capacity * above * above).min(max);
        if self.idle && load.oldest.is_some() {
            rate = rate.max(capacity);
        }
        self.owed = if rate > 0.0 {
            self.owed + rate * passed
        } else {
            0.0
        };
        let pages = if self.owed >= LEAST.min(load.dirty as f64) {
            self.owed as usize
        } else {
            0
        };
        Due {
            must,
            pages,
            mark: self.mark as Lsn,
            most: (max * passed) as usize,
            soon: rate > 0.0 || age >= AGE_START || must > 0,
        }
    }

    /// So many pages were written.
    pub fn wrote(&mut self, pages: usize) {
        self.owed = (self.owed - pages as f64).max(0.0);
    }
}

/// How much faster than the log grows pages are to go, by age.
fn haste(age: f64) -> f64 {
    if age < AGE_START {
        0.0
    } else if age < AGE_EVEN {
        (age - AGE_START) / (AGE_EVEN - AGE_START)
    } else {
        1.0 + (AGE_HASTE - 1.0) * ((age - AGE_EVEN) / (AGE_FULL - AGE_EVEN)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 100_000_000;
    const FRAMES: u64 = 100_000;

    fn load(end: Lsn, oldest: Lsn, dirty: u64) -> Load {
        Load {
            end,
            oldest: (oldest < end).then_some(oldest),
            capacity: CAPACITY,
            dirty,
            frames: FRAMES,
        }
    }

    /// Asks a hundred times a second for `seconds`, the log growing by `growth` bytes a second; what was due each time.
    fn run(seconds: u32, growth: u64, mut age: u64, dirty: u64) -> (Vec<Due>, Pace) {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        let limits = Limits::default();
        let mut end = 10 * CAPACITY;
        let mut all = Vec::new();
        for _ in 0..seconds * 100 {
            now += Duration::from_millis(10);
            end += growth / 100;
            age = age.min(end);
            let due = pace.due(&load(end, end - age, dirty), &limits, now);
            pace.wrote(due.pages);
            all.push(due);
        }
        (all, pace)
    }

    #[test]
    fn little_to_do_is_left() {
        let (all, _) = run(3, 1_000_000, CAPACITY / 10, FRAMES / 20);
        assert!(all.iter().all(|d| d.pages == 0 && !d.soon && d.must == 0));
    }

    #[test]
    fn dirty_pages_go_at_an_even_rate() {
        // Three tenths above the start, of sixty-five hundredths.
        let (all, _) = run(4, 1_000_000, 0, FRAMES * 4 / 10);
        let sum: usize = all.iter().map(|d| d.pages).sum();
        let expected = 4.0 * IO_CAPACITY as f64 * (0.30f64 / 0.65).powi(2);
        assert!(
            (sum as f64 / expected - 1.0).abs() < 0.02,
            "{sum} {expected}"
        );
        assert!(all.iter().all(|d| d.pages <= 2 * LEAST as usize));
    }

    #[test]
    fn the_mark_keeps_up_with_the_log() {
        // At this age as much leaves as comes.
        let growth = 5_000_000;
        let (all, _) = run(10, growth, (CAPACITY as f64 * AGE_EVEN) as u64, FRAMES / 20);
        let moved = all[999].mark - all[499].mark;
        assert!(moved.abs_diff(5 * growth) < growth / 10, "{moved}");
        assert!(all.iter().all(|d| d.pages == 0 && d.must == 0 && d.soon));
        assert_eq!(all[999].most, IO_CAPACITY_MAX as usize / 100);
    }

    #[test]
    fn an_almost_full_log_must_be_relieved() {
        let age = (CAPACITY as f64 * 0.7) as u64;
        let (all, _) = run(1, 1_000_000, age, 10);
        let end = 10 * CAPACITY + 1_000_000;
        assert_eq!(all[99].must, end - (CAPACITY as f64 * AGE_FULL) as u64);
    }

    #[test]
    fn idle_time_is_used() {
        let (all, pace) = run(2, 0, CAPACITY / 20, FRAMES / 20);
        assert!(pace.is_idle());
        assert_eq!(all[50].pages, 0);
        let late: usize = all[150..].iter().map(|d| d.pages).sum();
        assert!(late.abs_diff(IO_CAPACITY as usize / 2) < 200, "{late}");
        // Nothing is dirty: nothing is due.
        let (all, _) = run(2, 0, 0, 0);
        assert!(all.iter().all(|d| d.pages == 0 && !d.soon));
    }
}
