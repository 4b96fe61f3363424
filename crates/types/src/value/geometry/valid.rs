//! Whether shapes are simple, and valid.

use geo::algorithm::{Relate, Validation};
use geo::coordinate_position::CoordPos;
use geo::dimensions::Dimensions;

use super::planar::{Segment, polygon};
use super::segment::{Common, common, turns_back};
use super::{Bounds, Point, Shape};

/// A line's segments, of some length each.
fn steps(points: &[Point]) -> Vec<Segment> {
    let mut path = points.to_vec();
    path.dedup();
    path.windows(2).map(|w| (w[0], w[1])).collect()
}

/// Calls `f` with the numbers of any two of two lists' segments whose extents along the first axis meet, until it says no; whether it
/// never did.
fn each_near(list: &[Segment], mut f: impl FnMut(usize, usize) -> bool) -> bool {
    let least = |n: usize| list[n].0.x.min(list[n].1.x);
    let most = |n: usize| list[n].0.x.max(list[n].1.x);
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by(|a, b| least(*a).total_cmp(&least(*b)));
    for (at, &i) in order.iter().enumerate() {
        let near = order[at + 1..].iter();
        for &j in near.take_while(|j| least(**j) <= most(i)) {
            if !f(i.min(j), i.max(j)) {
                return false;
            }
        }
    }
    true
}

/// Whether a line passes no point twice, but for its end where it began.
fn is_simple_line(points: &[Point]) -> bool {
    let list = steps(points);
    let (Some(first), Some(end)) = (list.first(), list.last()) else {
        return false;
    };
    let (closed, last) = (first.0 == end.1, list.len() - 1);
    each_near(&list, |i, j| {
        let (s, t) = (list[i], list[j]);
        // Neighbours share an end, and must share nothing else.
        let around = closed && i == 0 && j == last;
        match (j == i + 1, around) {
            (true, true) => false,
            (true, false) => !turns_back(s.0, s.1, t.1),
            (false, true) => !turns_back(t.0, s.0, s.1),
            (false, false) => matches!(common(s, t), Common::Nothing),
        }
    })
}

/// The ends of a line that isn't closed.
fn ends(points: &[Point]) -> Vec<Point> {
    match (points.first(), points.last()) {
        (Some(a), Some(b)) if a != b => vec![*a, *b],
        _ => Vec::new(),
    }
}

/// Whether two lines meet nowhere but at ends of both.
fn meet_at_ends(a: &[Point], b: &[Point]) -> bool {
    let (of_a, of_b) = (ends(a), ends(b));
    let steps_of_b = steps(b);
    steps(a).into_iter().all(|s| {
        steps_of_b.iter().all(|t| match common(s, *t) {
            Common::Nothing => true,
            Common::At(p) => of_a.contains(&p) && of_b.contains(&p),
            Common::Along(..) => false,
        })
    })
}

/// Whether a polygon's rings are simple, its holes within it and apart from each other, its interior connected.
fn is_valid_polygon(rings: &[Vec<Point>]) -> bool {
    rings.iter().all(|r| is_simple_line(r)) && (rings.len() == 1 || polygon(rings).is_valid())
}

/// Whether two polygons have no more than points in common, and these of their edges.
fn are_apart(a: &[Vec<Point>], b: &[Vec<Point>]) -> bool {
    let extent = |rings: &[Vec<Point>]| {
        let outer = rings.first().cloned().unwrap_or_default();
        Bounds::of(&Shape::LineString(outer))
    };
    if let (Some(a), Some(b)) = (extent(a), extent(b))
        && !a.intersects(&b)
    {
        return true;
    }
    let matrix = polygon(a).relate(&polygon(b));
    matrix.get(CoordPos::Inside, CoordPos::Inside) == Dimensions::Empty
        && matrix.get(CoordPos::OnBoundary, CoordPos::OnBoundary) != Dimensions::OneDimensional
}

/// Whether polygons make up a MULTIPOLYGON that is valid.
pub(super) fn are_valid_areas(areas: &[Vec<Vec<Point>>]) -> bool {
    let apart = |(n, a): (usize, &Vec<Vec<Point>>)| areas[n + 1..].iter().all(|b| are_apart(a, b));
    areas.iter().all(|a| is_valid_polygon(a)) && areas.iter().enumerate().all(apart)
}

impl Shape {
    /// Whether it is valid on the plane: lines have an extent, rings don't cross themselves or each other, interiors are connected, areas of
    /// one shape don't overlap.
    pub fn is_valid(&self) -> bool {
        let long = |line: &Vec<Point>| !steps(line).is_empty();
        match self {
            Shape::Point(_) | Shape::MultiPoint(_) => true,
            Shape::LineString(points) => long(points),
            Shape::MultiLineString(lines) => lines.iter().all(long),
            Shape::Polygon(rings) => is_valid_polygon(rings),
            Shape::MultiPolygon(areas) => are_valid_areas(areas),
            Shape::Collection(members) => members.iter().all(Shape::is_valid),
        }
    }
    /// Whether it passes no point twice.
    pub fn is_simple(&self) -> bool {
        match self {
            Shape::Point(_) | Shape::Polygon(_) | Shape::MultiPolygon(_) => true,
            Shape::LineString(points) => is_simple_line(points),
            Shape::MultiPoint(points) => {
                let mut sorted = points.clone();
                sorted.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
                sorted.windows(2).all(|w| w[0] != w[1])
            }
            Shape::MultiLineString(lines) => {
                let apart = |(i, a): (usize, &Vec<Point>)| {
                    lines[i + 1..].iter().all(|b| meet_at_ends(a, b))
                };
                lines.iter().all(|l| is_simple_line(l)) && lines.iter().enumerate().all(apart)
            }
            Shape::Collection(members) => members.iter().all(Shape::is_simple),
        }
    }
}
