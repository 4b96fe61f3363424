//! Geohashes (G. Niemeyer, 2008): a place as letters, each of which halves a cell five times, beginning with its longitudes.

use super::Point;

/// Longest geohash that is made.
pub const MAX_LENGTH: usize = 100;

const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// Most digits after the point that tell doubles apart.
const MAX_DECIMALS: i32 = 15;

/// Part of a coordinate's range.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn middle(&self) -> f64 {
        (self.low + self.high) / 2.0
    }
    fn halve(&mut self, upper: bool) {
        let middle = self.middle();
        match upper {
            true => self.low = middle,
            false => self.high = middle,
        }
    }
    /// What its middle is rounded to with the fewest digits after the point with which that lies in it.
    fn short(&self) -> f64 {
        let middle = self.middle();
        for decimals in 0..=MAX_DECIMALS {
            let unit = 10f64.powi(decimals);
            let rounded = (middle * unit).round() / unit;
            if (self.low..=self.high).contains(&rounded) {
                // Not -0.
                return rounded + 0.0;
            }
        }
        middle
    }
}

const LONGITUDES: Range = Range {
    low: -180.0,
    high: 180.0,
};
const LATITUDES: Range = Range {
    low: -90.0,
    high: 90.0,
};

/// The geohash of a place, of so many letters.
pub fn encode(p: Point, length: usize) -> String {
    let (mut x, mut y) = (LONGITUDES, LATITUDES);
    let mut of_x = true;
    let letter = |_| {
        let mut digit = 0;
        for _ in 0..5 {
            let (range, v) = if of_x { (&mut x, p.x) } else { (&mut y, p.y) };
            let upper = v >= range.middle();
            range.halve(upper);
            digit = digit * 2 + usize::from(upper);
            of_x = !of_x;
        }
        char::from(DIGITS[digit])
    };
    (0..length).map(letter).collect()
}

/// A place in the cell of a geohash, with no more digits than say so; `None` for what is none.
pub fn decode(hash: &[u8]) -> Option<Point> {
    if hash.is_empty() {
        return None;
    }
    let (mut x, mut y) = (LONGITUDES, LATITUDES);
    let mut of_x = true;
    for c in hash {
        let c = c.to_ascii_lowercase();
        let digit = DIGITS.iter().position(|d| *d == c)?;
        for bit in (0..5).rev() {
            let range = if of_x { &mut x } else { &mut y };
            range.halve(digit >> bit & 1 == 1);
            of_x = !of_x;
        }
    }
    Some(Point {
        x: x.short(),
        y: y.short(),
    })
}
