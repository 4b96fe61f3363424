//! How similar two shapes are, by the distances of the points that they are made of.

use super::{Kind, Point, Shape};

/// How far two points are apart.
pub type Distance<'d> = &'d dyn Fn(Point, Point) -> f64;

impl Shape {
    fn all_points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        self.each_point(&mut |p| points.push(p));
        points
    }
    /// The discrete Hausdorff distance from the first to the second: how far a point of the first is from the nearest of the second, at
    /// most; of lines, of points, and of one point with several. `None` of other shapes.
    pub fn hausdorff_distance(&self, other: &Shape, distance: Distance<'_>) -> Option<f64> {
        use Kind::{LineString as Line, MultiLineString as Lines, MultiPoint as Points};
        let one_to_one = |a: &[Point], b: &[Point]| {
            let nearest = |p: &Point| {
                let all = b.iter().map(|q| distance(*p, *q));
                all.fold(f64::INFINITY, f64::min)
            };
            a.iter().map(nearest).fold(0.0, f64::max)
        };
        // Lines of several are each taken alone, and the greatest of their distances counts, as in MySQL.
        let one_to_all = |a: &Shape, b: &[Shape]| {
            let all = b
                .iter()
                .map(|b| one_to_one(&a.all_points(), &b.all_points()));
            all.fold(0.0, f64::max)
        };
        match (self.kind(), other.kind()) {
            (Line, Line) | (Points, Points) | (Kind::Point, Points) | (Points, Kind::Point) => {
                let (a, b) = match self.kind() {
                    Points if other.kind() == Kind::Point => (other, self),
                    _ => (self, other),
                };
                Some(one_to_one(&a.all_points(), &b.all_points()))
            }
            (Line, Lines) => Some(one_to_all(self, &other.members())),
            (Lines, Line) => Some(one_to_all(other, &self.members())),
            (Lines, Lines) => {
                let others = other.members();
                let all = self.members().into_iter();
                Some(all.map(|a| one_to_all(&a, &others)).fold(0.0, f64::max))
            }
            _ => None,
        }
    }
    /// The discrete Fréchet distance of two lines (T. Eiter and H. Mannila, 1994). `None` of other shapes.
    pub fn frechet_distance(&self, other: &Shape, distance: Distance<'_>) -> Option<f64> {
        let (Shape::LineString(a), Shape::LineString(b)) = (self, other) else {
            return None;
        };
        // The least leash with which both get to each pair of points; the row before is all that is asked of others.
        let mut before: Vec<f64> = Vec::new();
        for (i, p) in a.iter().enumerate() {
            let mut row: Vec<f64> = Vec::with_capacity(b.len());
            for (j, q) in b.iter().enumerate() {
                let here = distance(*p, *q);
                let came = match (i, j) {
                    (0, 0) => here,
                    (0, _) => row[j - 1],
                    (_, 0) => before[0],
                    _ => before[j].min(before[j - 1]).min(row[j - 1]),
                };
                row.push(came.max(here));
            }
            before = row;
        }
        before.last().copied()
    }
}
