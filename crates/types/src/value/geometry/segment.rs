//! Lines of the plane taken apart into segments: where they meet, what they have in common and what not. Whether segments meet is decided
//! exactly; where they cross, to the precision of coordinates.

use std::cmp::Ordering;

use super::planar::{Segment, side};
use super::{Bounds, Point, Shape};

/// The segments of lines, but for those of no length.
pub(super) fn segments(lines: &[Vec<Point>]) -> impl Iterator<Item = Segment> {
    let of_line = |line: &'_ Vec<Point>| {
        let pairs = line.windows(2).map(|w| (w[0], w[1]));
        pairs.filter(|(a, b)| a != b).collect::<Vec<_>>()
    };
    lines.iter().flat_map(of_line)
}

/// Where on a segment a point of its line is: 0 at its beginning, 1 at its end.
fn place((a, b): Segment, p: Point) -> f64 {
    match (b.x - a.x).abs() >= (b.y - a.y).abs() {
        true => (p.x - a.x) / (b.x - a.x),
        false => (p.y - a.y) / (b.y - a.y),
    }
}

/// What two segments have in common.
pub(super) enum Common {
    Nothing,
    At(Point),
    /// From a place on the first to another, in its direction.
    Along((f64, Point), (f64, Point)),
}

fn bounds((a, b): Segment) -> Bounds {
    let of = |a: Point| Bounds { min: a, max: a };
    of(a).with(&of(b))
}

/// What two segments have in common, both of some length.
pub(super) fn common(s: Segment, t: Segment) -> Common {
    if !bounds(s).intersects(&bounds(t)) {
        return Common::Nothing;
    }
    let (c, d) = (side(s.0, s.1, t.0), side(s.0, s.1, t.1));
    if c == Ordering::Equal && d == Ordering::Equal {
        let mut ends = [(place(s, t.0), t.0), (place(s, t.1), t.1)];
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let from = if ends[0].0 < 0.0 { (0.0, s.0) } else { ends[0] };
        let to = if ends[1].0 > 1.0 { (1.0, s.1) } else { ends[1] };
        return match from.0.total_cmp(&to.0) {
            Ordering::Less => Common::Along(from, to),
            Ordering::Equal => Common::At(from.1),
            Ordering::Greater => Common::Nothing,
        };
    }
    let (a, b) = (side(t.0, t.1, s.0), side(t.0, t.1, s.1));
    if a == b || c == d {
        return Common::Nothing;
    }
    // An end that lies on the other segment is there exactly.
    for (of, p) in [(a, s.0), (b, s.1), (c, t.0), (d, t.1)] {
        if of == Ordering::Equal {
            return Common::At(p);
        }
    }
    let cross =
        |o: Point, a: Point, b: Point| (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
    let (a, b) = (cross(t.0, t.1, s.0), cross(t.0, t.1, s.1));
    let part = if a == b { 0.5 } else { a / (a - b) };
    // What was rounded is put back where both are: of a segment along an axis, that is one coordinate.
    let (of_s, of_t) = (bounds(s), bounds(t));
    let within = |v: f64, of: fn(&Point) -> f64| {
        let least = of(&of_s.min).max(of(&of_t.min));
        let most = of(&of_s.max).min(of(&of_t.max));
        v.max(least).min(most)
    };
    Common::At(Point {
        x: within(s.0.x + part * (s.1.x - s.0.x), |p| p.x),
        y: within(s.0.y + part * (s.1.y - s.0.y), |p| p.y),
    })
}

/// Lines made of segments in their order, joined where one ends as the next begins.
pub(super) fn joined(segments: impl Iterator<Item = Segment>) -> Vec<Vec<Point>> {
    let mut lines: Vec<Vec<Point>> = Vec::new();
    for (a, b) in segments {
        match lines.last_mut() {
            Some(line) if line.last() == Some(&a) => {
                // A piece that goes straight on is one with that before it.
                if let [.., before, _] = line[..]
                    && side(before, a, b) == Ordering::Equal
                    && !turns_back(before, a, b)
                {
                    line.pop();
                }
                line.push(b);
            }
            _ => lines.push(vec![a, b]),
        }
    }
    lines
}

/// Whether the way from one point by another to a third goes back along itself.
pub(super) fn turns_back(a: Point, by: Point, c: Point) -> bool {
    let (ux, uy, vx, vy) = (by.x - a.x, by.y - a.y, c.x - by.x, c.y - by.y);
    side(a, by, c) == Ordering::Equal && ux * vx + uy * vy < 0.0
}

/// What lines have in common: points, and lines in the first's direction.
pub(super) fn lines_in_common(a: &[Vec<Point>], b: &[Vec<Point>]) -> (Vec<Point>, Vec<Vec<Point>>) {
    let (mut points, mut pieces) = (Vec::new(), Vec::new());
    for s in segments(a) {
        let mut along: Vec<(f64, Segment)> = Vec::new();
        for t in segments(b) {
            match common(s, t) {
                Common::Nothing => {}
                Common::At(p) => points.push(p),
                Common::Along(from, to) => along.push((from.0, (from.1, to.1))),
            }
        }
        along.sort_by(|x, y| x.0.total_cmp(&y.0));
        pieces.extend(along.into_iter().map(|(_, piece)| piece));
    }
    let lines = joined(pieces.into_iter());
    points.retain(|p| distance_to(*p, &lines) != 0.0);
    (points, lines)
}

/// A point's distance from the nearest of lines.
pub(super) fn distance_to(p: Point, lines: &[Vec<Point>]) -> f64 {
    if lines.is_empty() {
        return f64::INFINITY;
    }
    let lines = Shape::MultiLineString(lines.to_vec());
    Shape::Point(p).distance(&lines).unwrap_or(f64::INFINITY)
}

/// What of lines is on none of others.
pub(super) fn lines_apart(a: &[Vec<Point>], b: &[Vec<Point>]) -> Vec<Vec<Point>> {
    let mut left = Vec::new();
    for s in segments(a) {
        let along = segments(b).filter_map(|t| match common(s, t) {
            Common::Along(from, to) => Some((from, to)),
            _ => None,
        });
        let mut along: Vec<_> = along.collect();
        along.sort_by(|x, y| x.0.0.total_cmp(&y.0.0));
        let mut at = (0.0, s.0);
        for (from, to) in along {
            if from.0 > at.0 {
                left.push((at.1, from.1));
            }
            if to.0 > at.0 {
                at = to;
            }
        }
        if at.0 < 1.0 {
            left.push((at.1, s.1));
        }
    }
    joined(left.into_iter())
}
