//! What two shapes of the plane have in common, what is in one of them, and what only in one: point sets, closed again by their
//! boundaries.
//!
//! Points and lines are computed here. Areas are left to the crate `geo`, which rounds to a grid of 2^29 steps and more in the extent
//! (`i_overlay`): so that nothing of that is seen, a corner of a result that is a corner of an argument becomes that again, and one at which edges
//! of arguments cross the point where they do ([`Corners`]).

use geo::algorithm::BooleanOps;

use super::planar::{Areas, Layers, Segment, Unrelated, grid, points_of_line};
use super::segment::{Common, common, distance_to, joined, lines_apart, lines_in_common, segments};
use super::{Bounds, Point, Shape};

/// An operation on two point sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Overlay {
    Union,
    Intersection,
    Difference,
    SymDifference,
}

/// The corners and edges of arguments, by which those of results are put right.
struct Corners {
    /// By their first coordinates.
    points: Vec<Point>,
    edges: Vec<Segment>,
    near: f64,
}

impl Corners {
    fn of(shapes: &[&Shape], near: f64) -> Corners {
        let mut points = Vec::new();
        let mut edges = Vec::new();
        for shape in shapes {
            shape.each_point(&mut |p| points.push(p));
            let layers = Layers::of(shape);
            edges.extend(segments(&layers.lines));
            edges.extend(segments(&boundaries(&layers.areas)));
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Corners {
            points,
            edges,
            near,
        }
    }
    fn are_near(&self, a: Point, b: Point) -> bool {
        (a.x - b.x).abs() <= self.near && (a.y - b.y).abs() <= self.near
    }
    /// The corner of an argument, or the crossing of edges, that a point of a result is.
    fn right(&self, p: Point) -> Point {
        let from = self.points.partition_point(|q| q.x < p.x - self.near);
        let close = self.points[from..].iter();
        let mut close = close.take_while(|q| q.x <= p.x + self.near);
        if let Some(q) = close.find(|q| self.are_near(**q, p)) {
            return *q;
        }
        let around = Bounds { min: p, max: p }.widened(self.near);
        let passes = |s: &&Segment| {
            let of = |a: Point| Bounds { min: a, max: a };
            of(s.0).with(&of(s.1)).intersects(&around)
                && distance_to(p, &[vec![s.0, s.1]]) <= self.near
        };
        let edges: Vec<&Segment> = self.edges.iter().filter(passes).collect();
        for (n, s) in edges.iter().enumerate() {
            for t in &edges[n + 1..] {
                if let Common::At(q) = common(**s, **t)
                    && self.are_near(p, q)
                {
                    return q;
                }
            }
        }
        p
    }
    fn line(&self, line: &[Point]) -> Vec<Point> {
        let mut line: Vec<Point> = line.iter().map(|p| self.right(*p)).collect();
        line.dedup();
        line
    }
    /// Layers with their corners put right, without what has no extent any more.
    fn put_right(&self, mut layers: Layers) -> Layers {
        let line = |l: &Vec<Point>| self.line(l);
        layers.lines = layers.lines.iter().map(line).collect();
        layers.lines.retain(|l| l.len() >= 2);
        for rings in &mut layers.areas {
            *rings = rings.iter().map(line).collect();
            let outer = rings.first().is_some_and(|r| r.len() >= 4);
            rings.retain(|r| outer && r.len() >= 4);
        }
        layers.areas.retain(|rings| !rings.is_empty());
        layers
    }
}

/// The rings of areas.
fn boundaries(areas: &[Vec<Vec<Point>>]) -> Vec<Vec<Point>> {
    areas.iter().flatten().cloned().collect()
}

/// The areas of a shape whose members are valid, brought together.
pub(super) fn merged(shape: &Shape) -> Result<Areas, Unrelated> {
    let near = grid(&[shape], 0.0)?;
    let none = Areas::new(Vec::new());
    let all = Layers::of(shape).as_areas();
    let sum = all.0.iter().fold(none, |sum, one| sum.union(one));
    let mut layers = Layers::default();
    layers.add_areas(&sum);
    Ok(Corners::of(&[shape], near).put_right(layers).as_areas())
}

/// The areas of an argument.
fn areas(shape: &Shape) -> Result<Areas, Unrelated> {
    match shape {
        Shape::Collection(_) => merged(shape),
        _ => Ok(Layers::of(shape).as_areas()),
    }
}

fn points_of(shape: &Shape, keep: impl Fn(Point) -> bool) -> Vec<Point> {
    let mut points = Layers::of(shape).points;
    points.retain(|p| keep(*p));
    points
}

/// Points with a shape of any kind.
fn with_points(a: &Shape, b: &Shape, op: Overlay) -> Layers {
    let at = |p: Point, of: &Shape| Shape::Point(p).distance(of) == Some(0.0);
    let (of_a, of_b) = (a.dimension() == Some(0), b.dimension() == Some(0));
    let of_points = |points| Layers {
        points,
        ..Layers::default()
    };
    let more = |shape: &Shape, more: Vec<Point>| {
        let mut layers = Layers::of(shape);
        layers.points.extend(more);
        layers
    };
    let only = |of: &Shape, other: &Shape| points_of(of, |p| !at(p, other));
    match op {
        Overlay::Intersection if of_a => of_points(points_of(a, |p| at(p, b))),
        Overlay::Intersection => of_points(points_of(b, |p| at(p, a))),
        Overlay::Difference if of_a => of_points(only(a, b)),
        Overlay::Difference => Layers::of(a),
        Overlay::SymDifference if of_a && of_b => of_points([only(a, b), only(b, a)].concat()),
        Overlay::Union | Overlay::SymDifference if of_b => more(a, only(b, a)),
        Overlay::Union | Overlay::SymDifference => more(b, only(a, b)),
    }
}

fn two_lines(a: &[Vec<Point>], b: &[Vec<Point>], op: Overlay) -> Layers {
    let (points, lines) = match op {
        Overlay::Intersection => lines_in_common(a, b),
        Overlay::Difference => (Vec::new(), lines_apart(a, b)),
        Overlay::Union => (Vec::new(), [a.to_vec(), lines_apart(b, a)].concat()),
        Overlay::SymDifference => {
            let both = [lines_apart(a, b), lines_apart(b, a)].concat();
            (Vec::new(), both)
        }
    };
    Layers {
        points,
        lines,
        areas: Vec::new(),
    }
}

/// A line with an area: `first`, whether it is the first of the two.
fn line_with_area(
    (line, area): (&Shape, &Shape),
    first: bool,
    op: Overlay,
    near: f64,
) -> Result<Layers, Unrelated> {
    let (lines, of_area) = (Layers::of(line), areas(area)?);
    let clipped = |invert| {
        let left = of_area.clip(&lines.as_lines(), invert).0;
        Layers {
            lines: left.iter().map(points_of_line).collect(),
            ..Layers::default()
        }
    };
    Ok(match op {
        Overlay::Intersection => {
            let mut within = clipped(false);
            let edge = boundaries(&Layers::of(area).areas);
            let (points, _) = lines_in_common(&lines.lines, &edge);
            let far = |p: &Point| distance_to(*p, &within.lines) > near;
            within.points = points.into_iter().filter(far).collect();
            within
        }
        Overlay::Difference if first => clipped(true),
        Overlay::Difference => Layers::of(area),
        Overlay::Union | Overlay::SymDifference => {
            let mut beside = clipped(true);
            beside.add_areas(&of_area);
            beside
        }
    })
}

/// What of points and lines is not in or at a shape.
fn beside(found: (Vec<Point>, Vec<Vec<Point>>), shape: &Shape, near: f64) -> Layers {
    let (mut points, lines) = found;
    let far = |p: Point| !Shape::Point(p).distance(shape).is_some_and(|d| d <= near);
    points.retain(|p| far(*p));
    let middle = |(a, b): &Segment| Point {
        x: (a.x + b.x) / 2.0,
        y: (a.y + b.y) / 2.0,
    };
    let left = segments(&lines).filter(|s| far(middle(s)));
    Layers {
        points,
        lines: joined(left),
        areas: Vec::new(),
    }
}

fn two_areas(a: &Shape, b: &Shape, op: Overlay, near: f64) -> Result<Layers, Unrelated> {
    let (of_a, of_b) = (areas(a)?, areas(b)?);
    let mut layers = Layers::default();
    let made = match op {
        Overlay::Union => of_a.union(&of_b),
        Overlay::Difference => of_a.difference(&of_b),
        Overlay::SymDifference => of_a.xor(&of_b),
        Overlay::Intersection => {
            let made = of_a.intersection(&of_b);
            let edges = |s: &Shape| boundaries(&Layers::of(s).areas);
            let found = lines_in_common(&edges(a), &edges(b));
            let mut area = Layers::default();
            area.add_areas(&made);
            layers = beside(found, &area.shape(), near);
            made
        }
    };
    layers.add_areas(&made);
    Ok(layers)
}

/// What is left of one, the other being empty.
fn with_nothing(a: &Shape, b: &Shape, op: Overlay) -> Shape {
    match op {
        Overlay::Intersection => Shape::empty(),
        Overlay::Difference => Layers::of(a).shape(),
        Overlay::Union | Overlay::SymDifference => {
            let rest = if a.is_empty() { b } else { a };
            Layers::of(rest).shape()
        }
    }
}

impl Shape {
    /// The point set that an operation makes of two. Shapes must be of one dimension each, and valid.
    pub fn overlay(&self, other: &Shape, op: Overlay) -> Result<Shape, Unrelated> {
        let (Some(a), Some(b)) = (self.dimension(), other.dimension()) else {
            return Ok(with_nothing(self, other, op));
        };
        if !Layers::of(self).is_uniform() || !Layers::of(other).is_uniform() {
            return Err(Unrelated::Mixed);
        }
        if !self.is_valid() || !other.is_valid() {
            return Err(Unrelated::Invalid);
        }
        let near = grid(&[self, other], 0.0)?;
        let made = match (a, b) {
            (0, _) | (_, 0) => return Ok(with_points(self, other, op).shape()),
            (1, 1) => {
                let lines = |s: &Shape| Layers::of(s).lines;
                return Ok(two_lines(&lines(self), &lines(other), op).shape());
            }
            (1, _) => line_with_area((self, other), true, op, near)?,
            (_, 1) => line_with_area((other, self), false, op, near)?,
            _ => two_areas(self, other, op, near)?,
        };
        let corners = Corners::of(&[self, other], near);
        Ok(corners.put_right(made).shape())
    }
}
