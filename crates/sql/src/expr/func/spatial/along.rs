//! Points along a line, by how far they are from its start.

use super::{Call, Computed, Exit, result, unexpected};
use crate::value::geometry::{Point, Shape};

/// Bytes of a point among others in a geometry.
const POINT_BYTES: usize = 21;

/// A line on a plane, and its length.
struct Line {
    srid: u32,
    points: Vec<Point>,
    length: f64,
}

impl Line {
    /// The first argument. Errors 3037, 3516, 3548, 3618, 1690 of a length beyond numbers.
    fn argument(c: &Call<'_, '_>) -> Result<Line, Exit> {
        let g = c.geometry(0)?;
        c.on_plane(&g)?;
        let length = g.shape.length();
        match (g.shape, length) {
            (Shape::LineString(_), Some(length)) if !length.is_finite() => {
                Err(c.out_of_range("coordinate"))
            }
            (Shape::LineString(points), Some(length)) => Ok(Line {
                srid: g.srid,
                points,
                length,
            }),
            (other, _) => Err(unexpected("LINESTRING", other.kind(), &c.name()).into()),
        }
    }

    /// The points at distances in ascending order from the start, none beyond the end.
    fn at(&self, distances: impl Iterator<Item = f64>) -> Vec<Point> {
        let (mut found, mut before, mut at) = (Vec::new(), 0.0, 0);
        let last = self.points.len() - 2;
        for distance in distances {
            let segment = |at: usize| (self.points[at], self.points[at + 1]);
            let (mut start, mut end) = segment(at);
            while at < last && before + length(start, end) < distance {
                before += length(start, end);
                at += 1;
                (start, end) = segment(at);
            }
            let part = (distance - before) / length(start, end);
            // Of a segment without length, and where rounding leads beyond the end.
            let part = if part.is_nan() { 0.0 } else { part.min(1.0) };
            found.push(between(start, end, part));
        }
        found
    }
}

fn length(a: Point, b: Point) -> f64 {
    (b.x - a.x).hypot(b.y - a.y)
}

fn between(a: Point, b: Point, part: f64) -> Point {
    Point {
        x: a.x + (b.x - a.x) * part,
        y: a.y + (b.y - a.y) * part,
    }
}

/// The second argument, from 0 to `most`. Error 1690.
fn within(c: &Call<'_, '_>, most: f64, what: &str) -> Result<f64, Exit> {
    let v = c.double(1)?;
    match (0.0..=most).contains(&v) {
        true => Ok(v),
        false => Err(c.out_of_range(what)),
    }
}

fn one<'a>(line: &Line, distance: f64) -> Computed<'a> {
    let points = line.at(std::iter::once(distance));
    result(line.srid, Shape::Point(points[0]))
}

/// ST_LineInterpolatePoint(line, fraction).
pub(super) fn point_at_fraction<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let line = Line::argument(c)?;
    let fraction = within(c, 1.0, "Fractional distance")?;
    one(&line, fraction * line.length)
}

/// ST_PointAtDistance(line, distance).
pub(super) fn point_at_distance<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let line = Line::argument(c)?;
    let distance = within(c, line.length, "Distance")?;
    one(&line, distance)
}

/// ST_LineInterpolatePoints(line, fraction): a point at each multiple of the fraction; of 0 the start alone.
pub(super) fn points_at_fractions<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let line = Line::argument(c)?;
    let fraction = within(c, 1.0, "Fractional distance")?;
    let distances: Vec<f64> = if fraction == 0.0 || line.length == 0.0 {
        vec![0.0]
    } else {
        // A fraction like 0.1 is as often in 1 as is meant, whatever its last bit.
        let count = (1.0 / fraction + 1e-9).floor();
        c.room_for((count as usize).saturating_mul(POINT_BYTES))?;
        (1..=count as usize)
            .map(|n| (n as f64 * fraction).min(1.0) * line.length)
            .collect()
    };
    let points = line.at(distances.into_iter());
    result(line.srid, Shape::MultiPoint(points))
}
