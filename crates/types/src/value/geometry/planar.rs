//! Shapes as the crate `geo` has them, and back; what the rest of this folder asks of it.

use geo::algorithm::kernels::{Kernel, Orientation, RobustKernel};

use super::{Bounds, Point, Shape};

/// Why something can't be computed of two shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrelated {
    /// A shape isn't valid: a ring crosses itself, for one.
    Invalid,
    /// A collection of shapes of different dimensions.
    Mixed,
    /// Coordinates that are too great or too near each other to be computed with.
    OutOfRange,
}

/// Areas that don't overlap.
pub(super) type Areas = geo::MultiPolygon<f64>;

/// A line from a point to another.
pub(super) type Segment = (Point, Point);

pub(super) fn coordinate(p: &Point) -> geo::Coord<f64> {
    geo::Coord { x: p.x, y: p.y }
}

pub(super) fn line(points: &[Point]) -> geo::LineString<f64> {
    geo::LineString(points.iter().map(coordinate).collect())
}

pub(super) fn polygon(rings: &[Vec<Point>]) -> geo::Polygon<f64> {
    let mut rings = rings.iter().map(|r| line(r));
    let outer = rings.next().unwrap_or_else(|| line(&[]));
    geo::Polygon::new(outer, rings.collect())
}

pub(super) fn points_of_line(line: &geo::LineString<f64>) -> Vec<Point> {
    let point = |c: &geo::Coord<f64>| Point { x: c.x, y: c.y };
    line.0.iter().map(point).collect()
}

/// On which side of the way from one point to another a third lies, exactly: `Greater` on its left, `Equal` on its line.
pub(super) fn side(from: Point, to: Point, p: Point) -> std::cmp::Ordering {
    match RobustKernel::orient2d(coordinate(&from), coordinate(&to), coordinate(&p)) {
        Orientation::CounterClockwise => std::cmp::Ordering::Greater,
        Orientation::Clockwise => std::cmp::Ordering::Less,
        Orientation::Collinear => std::cmp::Ordering::Equal,
    }
}

/// Points, lines and areas that make up a shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub points: Vec<Point>,
    pub lines: Vec<Vec<Point>>,
    pub areas: Vec<Vec<Vec<Point>>>,
}

impl Layers {
    pub fn of(shape: &Shape) -> Layers {
        let mut layers = Layers::default();
        layers.add(shape);
        layers
    }
    fn add(&mut self, shape: &Shape) {
        match shape {
            Shape::Point(p) => self.points.push(*p),
            Shape::MultiPoint(points) => self.points.extend(points),
            Shape::LineString(line) => self.lines.push(line.clone()),
            Shape::MultiLineString(lines) => self.lines.extend(lines.iter().cloned()),
            Shape::Polygon(rings) => self.areas.push(rings.clone()),
            Shape::MultiPolygon(areas) => self.areas.extend(areas.iter().cloned()),
            Shape::Collection(members) => members.iter().for_each(|m| self.add(m)),
        }
    }
    /// Adds areas that were computed.
    pub fn add_areas(&mut self, areas: &Areas) {
        let rings = |p: &geo::Polygon<f64>| {
            let all = [p.exterior()].into_iter().chain(p.interiors());
            all.map(points_of_line).collect::<Vec<_>>()
        };
        self.areas.extend(areas.0.iter().map(rings));
    }
    /// Whether there is only one kind of them.
    pub fn is_uniform(&self) -> bool {
        let kinds = [
            !self.points.is_empty(),
            !self.lines.is_empty(),
            !self.areas.is_empty(),
        ];
        kinds.into_iter().filter(|there| *there).count() <= 1
    }
    /// The areas.
    pub fn as_areas(&self) -> Areas {
        geo::MultiPolygon(self.areas.iter().map(|a| polygon(a)).collect())
    }
    /// The lines.
    pub fn as_lines(&self) -> geo::MultiLineString<f64> {
        geo::MultiLineString(self.lines.iter().map(|l| line(l)).collect())
    }
    /// The points.
    pub fn as_points(&self) -> geo::MultiPoint<f64> {
        let points = self.points.iter().map(|p| geo::Point(coordinate(p)));
        geo::MultiPoint(points.collect())
    }
    /// The simplest shape of them: a point, a line or an area where there is one, a collection of what is of several kinds.
    pub fn shape(mut self) -> Shape {
        self.points
            .sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        self.points.dedup();
        let mut members: Vec<Shape> = Vec::new();
        members.extend(self.areas.iter().cloned().map(Shape::Polygon));
        members.extend(self.lines.iter().cloned().map(Shape::LineString));
        members.extend(self.points.iter().copied().map(Shape::Point));
        if let [one] = &members[..] {
            return one.clone();
        }
        match (self.points.len(), self.lines.len(), self.areas.len()) {
            (0, 0, 0) => Shape::empty(),
            (_, 0, 0) => Shape::MultiPoint(self.points),
            (0, _, 0) => Shape::MultiLineString(self.lines),
            (0, 0, _) => Shape::MultiPolygon(self.areas),
            _ => Shape::Collection(members),
        }
    }
}

/// How far two points of the grid on which areas are computed may be apart that are meant to be one: the grid has 2^29 steps and more in the
/// extent of what is computed with. Error [`Unrelated::OutOfRange`] where there is no such grid.
pub(super) fn grid(shapes: &[&Shape], margin: f64) -> Result<f64, Unrelated> {
    const LEAST: f64 = 1e-250;
    const MOST: f64 = 1e250;
    let bounds = shapes.iter().filter_map(|s| Bounds::of(s));
    let all = bounds.reduce(|a, b| a.with(&b));
    let Some(Bounds { min, max }) = all else {
        return Ok(0.0);
    };
    let extent = (max.x - min.x).max(max.y - min.y) + 2.0 * margin.abs();
    let farthest = [min.x, min.y, max.x, max.y].map(f64::abs);
    let farthest = farthest.into_iter().fold(0.0, f64::max);
    if extent != 0.0 && !(LEAST..MOST).contains(&extent) || farthest > MOST {
        return Err(Unrelated::OutOfRange);
    }
    Ok(extent * 1e-8 + farthest * 4.0 * f64::EPSILON)
}
