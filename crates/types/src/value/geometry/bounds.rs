//! Minimum bounding rectangles.

use super::{Point, Shape};

/// The least rectangle along the axes that holds a shape: a point or a line where that is one of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Its least coordinates.
    pub min: Point,
    /// Its greatest coordinates.
    pub max: Point,
}

impl Bounds {
    /// That of a shape; `None` if it is empty.
    pub fn of(shape: &Shape) -> Option<Bounds> {
        let mut found: Option<Bounds> = None;
        shape.each_point(&mut |p| {
            let one = Bounds { min: p, max: p };
            found = Some(found.map_or(one, |b| b.with(&one)));
        });
        found
    }
    /// The least that holds both.
    pub fn with(&self, other: &Bounds) -> Bounds {
        Bounds {
            min: Point {
                x: self.min.x.min(other.min.x),
                y: self.min.y.min(other.min.y),
            },
            max: Point {
                x: self.max.x.max(other.max.x),
                y: self.max.y.max(other.max.y),
            },
        }
    }
    /// It and what is so near on each axis.
    pub fn widened(&self, by: f64) -> Bounds {
        Bounds {
            min: Point {
                x: self.min.x - by,
                y: self.min.y - by,
            },
            max: Point {
                x: self.max.x + by,
                y: self.max.y + by,
            },
        }
    }
    /// As a shape: a polygon counterclockwise from its least point, a line or a point where it has no area.
    pub fn shape(&self) -> Shape {
        let Bounds { min, max } = *self;
        let at = |x, y| Point { x, y };
        if min == max {
            return Shape::Point(min);
        }
        if min.x == max.x || min.y == max.y {
            return Shape::LineString(vec![min, max]);
        }
        Shape::Polygon(vec![vec![
            min,
            at(max.x, min.y),
            max,
            at(min.x, max.y),
            min,
        ]])
    }
    /// 0 of a point, 1 of a line, 2 of an area.
    fn dimension(&self) -> u8 {
        u8::from(self.min.x < self.max.x) + u8::from(self.min.y < self.max.y)
    }
    /// Whether they have a point in common.
    pub fn intersects(&self, other: &Bounds) -> bool {
        self.min.x <= other.max.x
            && other.min.x <= self.max.x
            && self.min.y <= other.max.y
            && other.min.y <= self.max.y
    }
    /// Whether each point of the other is one of this.
    pub fn covers(&self, other: &Bounds) -> bool {
        self.min.x <= other.min.x
            && other.max.x <= self.max.x
            && self.min.y <= other.min.y
            && other.max.y <= self.max.y
    }
    /// Whether it covers the other, and the other's interior meets its own: the interior of a rectangle is what lies within its edges, of a
    /// line what lies between its ends, of a point the point.
    pub fn contains(&self, other: &Bounds) -> bool {
        self.covers(other) && self.interiors_meet(other)
    }
    /// Whether the interiors have a point in common.
    fn interiors_meet(&self, other: &Bounds) -> bool {
        let meet = |(a, b): (f64, f64), (c, d): (f64, f64)| match (a < b, c < d) {
            (true, true) => a < d && c < b,
            (true, false) => a < c && c < b,
            (false, true) => c < a && a < d,
            (false, false) => a == c,
        };
        meet((self.min.x, self.max.x), (other.min.x, other.max.x))
            && meet((self.min.y, self.max.y), (other.min.y, other.max.y))
    }
    /// Whether they meet, but not their interiors.
    pub fn touches(&self, other: &Bounds) -> bool {
        self.intersects(other) && !self.interiors_meet(other)
    }
    /// Whether they are of one dimension, what they have in common is so too, and neither covers the other.
    pub fn overlaps(&self, other: &Bounds) -> bool {
        if self.dimension() != other.dimension() || !self.interiors_meet(other) {
            return false;
        }
        let common = Bounds {
            min: Point {
                x: self.min.x.max(other.min.x),
                y: self.min.y.max(other.min.y),
            },
            max: Point {
                x: self.max.x.min(other.max.x),
                y: self.max.y.min(other.max.y),
            },
        };
        common.dimension() == self.dimension() && common != *self && common != *other
    }
}
