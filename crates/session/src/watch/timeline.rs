//! The time line: for each tick and class, how many statements ended and how long the slowest took.
//!
//! Each stripe is a ring of cells, one word each: `lap u16, count u16, slowest u32 (microseconds)`. The lap says which
//! round of the ring a cell is about, so nobody ever has to clear one: who finds an older lap begins anew. A lap
//! number returns after 227 days.
//!
//! The ring comes in segments of a second each, allocated when first written.

use super::Class;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks in a ring: five minutes.
const TICKS: u64 = 30_000;
/// Ticks in a segment.
const SEGMENT: u64 = 100;
const CLASSES: usize = Class::ALL.len();

type Segment = OnceLock<Box<[AtomicU64]>>;

struct Stripe(Box<[Segment]>);

pub(super) struct Timeline {
    stripes: Box<[Stripe]>,
    /// Ticks before this were forgotten.
    since: AtomicU64,
}

/// A tick in which statements ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Its number: ticks of 10 ms since the record began.
    pub tick: u64,
    /// By class: statements that ended, and the longest latency among them in microseconds.
    pub classes: [(u64, u64); CLASSES],
}

impl Tick {
    /// One class's statements and longest latency.
    pub fn of(&self, class: Class) -> (u64, u64) {
        self.classes[class as usize]
    }
    /// The longest latency of all, microseconds.
    pub fn max_us(&self) -> u64 {
        self.classes.iter().map(|c| c.1).max().unwrap_or(0)
    }
}

/// What a cell's word says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cell {
    lap: u16,
    count: u16,
    max_us: u32,
}

impl Cell {
    fn unpack(word: u64) -> Cell {
        Cell {
            lap: (word >> 48) as u16,
            count: (word >> 32) as u16,
            max_us: word as u32,
        }
    }
    fn pack(self) -> u64 {
        u64::from(self.lap) << 48 | u64::from(self.count) << 32 | u64::from(self.max_us)
    }
    /// The cell after one more statement; `None` if it is about a later lap already.
    fn plus(self, lap: u16, us: u32) -> Option<Cell> {
        if self.count == 0 || self.lap != lap {
            // Laps are compared around the circle.
            let older = self.count == 0 || (lap.wrapping_sub(self.lap) as i16) > 0;
            return older.then_some(Cell {
                lap,
                count: 1,
                max_us: us,
            });
        }
        Some(Cell {
            lap,
            count: self.count.saturating_add(1),
            max_us: self.max_us.max(us),
        })
    }
}

fn lap_of(tick: u64) -> u16 {
    (tick / TICKS) as u16
}

/// Segment, and first cell within it.
fn place(tick: u64) -> (usize, usize) {
    let at = tick % TICKS;
    ((at / SEGMENT) as usize, (at % SEGMENT) as usize * CLASSES)
}

impl Timeline {
    pub fn new(stripes: usize) -> Timeline {
        let ring = || Stripe((0..TICKS / SEGMENT).map(|_| OnceLock::new()).collect());
        Timeline {
            stripes: (0..stripes).map(|_| ring()).collect(),
            since: AtomicU64::new(0),
        }
    }

    #[inline]
    pub fn add(&self, stripe: usize, class: Class, tick: u64, us: u64) {
        let (segment, at) = place(tick);
        let segment = self.stripes[stripe].0[segment].get_or_init(|| {
            (0..SEGMENT as usize * CLASSES)
                .map(|_| AtomicU64::new(0))
                .collect()
        });
        let cell = &segment[at + class as usize];
        let us = u32::try_from(us).unwrap_or(u32::MAX);
        let mut word = cell.load(Ordering::Relaxed);
        while let Some(new) = Cell::unpack(word).plus(lap_of(tick), us) {
            let swap =
                cell.compare_exchange_weak(word, new.pack(), Ordering::Relaxed, Ordering::Relaxed);
            match swap {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// The ticks up to `now` that hold anything.
    pub fn read(&self, now: u64) -> Vec<Tick> {
        let since = self.since.load(Ordering::Relaxed);
        let first = (now + 1).saturating_sub(TICKS).max(since);
        (first..=now).filter_map(|t| self.read_tick(t)).collect()
    }

    fn read_tick(&self, tick: u64) -> Option<Tick> {
        let (segment, at) = place(tick);
        let mut classes = [(0, 0); CLASSES];
        let mut any = false;
        for cells in self.stripes.iter().filter_map(|s| s.0[segment].get()) {
            for (class, word) in classes.iter_mut().zip(&cells[at..at + CLASSES]) {
                let cell = Cell::unpack(word.load(Ordering::Relaxed));
                if cell.count > 0 && cell.lap == lap_of(tick) {
                    class.0 += u64::from(cell.count);
                    class.1 = class.1.max(u64::from(cell.max_us));
                    any = true;
                }
            }
        }
        any.then_some(Tick { tick, classes })
    }

    /// Forgets everything up to and in tick `now`.
    pub fn reset(&self, now: u64) {
        self.since.fetch_max(now + 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_cells() {
        let c = Cell {
            lap: 0xFEDC,
            count: 0x1234,
            max_us: 0x89AB_CDEF,
        };
        assert_eq!(Cell::unpack(c.pack()), c);
        assert_eq!(Cell::unpack(0).count, 0);
    }

    #[test]
    fn a_later_lap_begins_anew_and_an_earlier_one_is_let_go() {
        let old = Cell {
            lap: u16::MAX,
            count: 9,
            max_us: 99,
        };
        let new = old.plus(0, 5).unwrap();
        assert_eq!((new.lap, new.count, new.max_us), (0, 1, 5));
        assert_eq!(new.plus(u16::MAX, 5), None);
        let full = Cell {
            count: u16::MAX,
            ..new
        };
        assert_eq!(full.plus(0, 7).unwrap().count, u16::MAX);
    }

    #[test]
    fn ticks_merge_stripes_and_age() {
        let t = Timeline::new(2);
        t.add(0, Class::Select, 5, 10);
        t.add(1, Class::Select, 5, 30);
        t.add(1, Class::Ddl, 5, u64::MAX);
        t.add(0, Class::Commit, 7, 1);
        let read = t.read(100);
        assert_eq!(read.iter().map(|t| t.tick).collect::<Vec<_>>(), [5, 7]);
        assert_eq!(read[0].of(Class::Select), (2, 30));
        assert_eq!(read[0].max_us(), u64::from(u32::MAX));
        // Five minutes on, the ring has gone round.
        assert_eq!(t.read(TICKS + 5).len(), 1);
        t.add(0, Class::Select, TICKS + 7, 2);
        let read = t.read(TICKS + 7);
        assert_eq!(read.len(), 1, "the new tick stands where an old one was");
        assert_eq!(read[0].of(Class::Commit), (0, 0));
        t.reset(TICKS + 7);
        assert!(t.read(TICKS + 7).is_empty());
        t.add(0, Class::Select, TICKS + 8, 2);
        assert_eq!(t.read(TICKS + 9).len(), 1);
    }
}
