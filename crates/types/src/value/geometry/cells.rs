//! Cells of the plane, by which an index finds rectangles: the nodes of a quadtree over the whole plane, numbered along Z. (Linear
//! quadtrees: I. Gargantini, 1982; rectangles as sets of cells of their own size: J. Orenstein, 1986; Oracle Spatial's "hybrid indexing".)
//!
//! **Numbers.** A coordinate becomes a number of 36 bits that is no less for a greater coordinate: linear, in steps of 2^-16, up to 256 on both
//! sides of zero, where degrees are; from there on as a floating point number with 24 bits of mantissa. So there is no extent that a column would have to
//! be given, what lies across an axis is no larger a part of the tree than what lies beside it, and the number doesn't depend on a platform's
//! mathematics.
//!
//! **Cells.** A rectangle is in as few cells of one size as [`STORED`], the smallest with which that can be: a point in one of the last
//! level, a large rectangle in large cells. Cells have every second level only ([`STEP`]).
//!
//! **Keys.** A cell's key is the number of its first place along Z and its level. What lies in a cell has keys that follow each other; what is
//! larger and holds it is in one of the cells around it, each of which is one key. So a search reads some ranges, and finds each rectangle that
//! meets its own, and others that share a cell with it.

use std::collections::BTreeSet;

use super::Bounds;

/// Bits of a coordinate's number.
const BITS: u32 = 36;
/// Bits of a number's mantissa.
const MANTISSA: u32 = 24;
/// Where numbers cease to be linear: this power of two.
const LINEAR: u32 = 8;
/// Levels between those that cells have.
const STEP: u32 = 2;
/// Most cells of a rectangle that is kept.
const STORED: u64 = 4;
/// Most cells that a search's rectangle is taken apart into.
const ASKED: u64 = 16;
/// Bytes of a place along Z.
const PLACE_BYTES: usize = 2 * BITS as usize / 8;
/// Bytes of a cell's key.
pub const CELL_BYTES: usize = PLACE_BYTES + 1;

/// A cell's key.
pub type CellKey = [u8; CELL_BYTES];

/// A cell: the places along Z that begin as its first does, in two bits for each level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    first: u128,
    level: u32,
}

fn number(v: f64) -> u64 {
    const HALF: u64 = 1 << (BITS - 1);
    let size = v.abs();
    let n = if size < f64::from(1 << LINEAR) {
        (size * f64::from(1 << (MANTISSA - LINEAR))) as u64
    } else {
        let bits = size.to_bits();
        let exponent = (bits >> (f64::MANTISSA_DIGITS - 1)) - (f64::MAX_EXP as u64 - 1);
        let mantissa = bits >> (f64::MANTISSA_DIGITS - 1 - MANTISSA);
        (exponent - u64::from(LINEAR) + 1) << MANTISSA | mantissa & ((1 << MANTISSA) - 1)
    };
    match v < 0.0 {
        true => HALF - 1 - n,
        false => HALF + n,
    }
}

/// The place along Z of two numbers.
fn place(x: u64, y: u64) -> u128 {
    (0..BITS).fold(0, |z, bit| {
        let of = |n: u64| u128::from(n >> bit & 1);
        z | of(x) << (2 * bit + 1) | of(y) << (2 * bit)
    })
}

impl Cell {
    /// The bits of places that are free in it.
    fn free(&self) -> u128 {
        (1 << (2 * (BITS - self.level))) - 1
    }
    fn key(place: u128, level: u8) -> CellKey {
        let mut key = [0; CELL_BYTES];
        let bytes = place.to_be_bytes();
        key[..PLACE_BYTES].copy_from_slice(&bytes[bytes.len() - PLACE_BYTES..]);
        key[PLACE_BYTES] = level;
        key
    }
    fn own_key(&self) -> CellKey {
        Cell::key(self.first, self.level as u8)
    }
    /// The cells around it, on all levels that there are.
    fn around(self) -> impl Iterator<Item = Cell> {
        let outer = (0..self.level).step_by(STEP as usize);
        outer.map(move |level| {
            let cell = Cell { first: 0, level };
            Cell {
                first: self.first & !cell.free(),
                level,
            }
        })
    }
}

/// The smallest cells of one size of which no more than `most` cover a rectangle.
fn covering(b: &Bounds, most: u64) -> Vec<Cell> {
    let (x, y) = (
        (number(b.min.x), number(b.max.x)),
        (number(b.min.y), number(b.max.y)),
    );
    let mut level = BITS;
    loop {
        let shift = BITS - level;
        let columns = x.0 >> shift..=x.1 >> shift;
        let rows = y.0 >> shift..=y.1 >> shift;
        let count = |r: &std::ops::RangeInclusive<u64>| r.end() - r.start() + 1;
        if level == 0 || count(&columns).saturating_mul(count(&rows)) <= most {
            let cell = |x: u64, y: u64| Cell {
                first: place(x << shift, y << shift),
                level,
            };
            return columns
                .flat_map(|x| rows.clone().map(move |y| cell(x, y)))
                .collect();
        }
        level -= STEP;
    }
}

/// Calls `f` with the keys of the cells that a rectangle is kept in.
pub fn keys(b: &Bounds, f: &mut dyn FnMut(&CellKey)) {
    for cell in covering(b, STORED) {
        f(&cell.own_key());
    }
}

/// Ranges of keys, ascending and apart, their ends included, among which are keys of each rectangle that meets this one.
pub fn ranges(b: &Bounds) -> Vec<(CellKey, CellKey)> {
    let mut cells = covering(b, ASKED);
    cells.sort();
    let mut all: Vec<(CellKey, CellKey)> = Vec::new();
    let mut outer: BTreeSet<Cell> = BTreeSet::new();
    let mut end: Option<u128> = None;
    for cell in cells {
        let last = cell.first | cell.free();
        let key = Cell::key(last, u8::MAX);
        match all.last_mut() {
            Some(range) if end.is_some_and(|end| end + 1 == cell.first) => range.1 = key,
            _ => all.push((Cell::key(cell.first, 0), key)),
        }
        end = Some(last);
        outer.extend(cell.around());
    }
    let within = all.clone();
    let apart = |key: &CellKey| {
        let after = within.partition_point(|r| r.0 <= *key);
        after == 0 || within[after - 1].1 < *key
    };
    let outer = outer.into_iter().map(|c| c.own_key()).filter(apart);
    all.extend(outer.map(|key| (key, key)));
    all.sort();
    all
}
