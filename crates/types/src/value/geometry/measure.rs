//! Lengths, areas, centroids and distances on the plane, distances on the earth, hulls and simplified lines.

use super::srs::Ellipsoid;
use super::{Point, Shape};

fn cross(o: Point, a: Point, b: Point) -> f64 {
    (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x)
}

fn apart(a: Point, b: Point) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

/// Twice the area within a ring, positive if it runs counterclockwise. Coordinates are taken from the first point, so that far away from the
/// origin no digits are lost.
fn twice_area(ring: &[Point]) -> f64 {
    let Some(&origin) = ring.first() else {
        return 0.0;
    };
    ring.windows(2).map(|w| cross(origin, w[0], w[1])).sum()
}

fn polygon_area(rings: &[Vec<Point>]) -> f64 {
    let areas = rings.iter().map(|r| twice_area(r).abs() / 2.0);
    areas.reduce(|outer, hole| outer - hole).unwrap_or(0.0)
}

fn line_length(points: &[Point]) -> f64 {
    points.windows(2).map(|w| apart(w[0], w[1])).sum()
}

/// What a centroid is computed of: the sum of weights, and of coordinates times weights.
#[derive(Default)]
struct Moments {
    weight: f64,
    x: f64,
    y: f64,
}

impl Moments {
    fn add(&mut self, weight: f64, x: f64, y: f64) {
        self.weight += weight;
        self.x += weight * x;
        self.y += weight * y;
    }
    fn of_line(&mut self, points: &[Point]) {
        for w in points.windows(2) {
            let (a, b) = (w[0], w[1]);
            self.add(apart(a, b), (a.x + b.x) / 2.0, (a.y + b.y) / 2.0);
        }
    }
    /// A ring's area, of a hole less than nothing.
    fn of_ring(&mut self, ring: &[Point], hole: bool) {
        let Some(&o) = ring.first() else {
            return;
        };
        let sign = if (twice_area(ring) < 0.0) == hole {
            1.0
        } else {
            -1.0
        };
        for w in ring.windows(2) {
            let (a, b) = (w[0], w[1]);
            let weight = sign * cross(o, a, b) / 2.0;
            self.add(weight, (o.x + a.x + b.x) / 3.0, (o.y + a.y + b.y) / 3.0);
        }
    }
    /// What of a shape is of a dimension.
    fn of(&mut self, shape: &Shape, dimension: u8) {
        match (shape, dimension) {
            (Shape::Collection(members), _) => members.iter().for_each(|m| self.of(m, dimension)),
            (Shape::Point(p), 0) => self.add(1.0, p.x, p.y),
            (Shape::MultiPoint(points), 0) => points.iter().for_each(|p| self.add(1.0, p.x, p.y)),
            (Shape::LineString(points), 1) => self.of_line(points),
            (Shape::MultiLineString(lines), 1) => lines.iter().for_each(|l| self.of_line(l)),
            (Shape::Polygon(rings), 2) => self.of_polygon(rings),
            (Shape::MultiPolygon(polygons), 2) => polygons.iter().for_each(|p| self.of_polygon(p)),
            _ => {}
        }
    }
    fn of_polygon(&mut self, rings: &[Vec<Point>]) {
        for (i, ring) in rings.iter().enumerate() {
            self.of_ring(ring, i > 0);
        }
    }
}

/// Points, segments and areas that a shape consists of.
#[derive(Default)]
struct Parts<'a> {
    points: Vec<Point>,
    segments: Vec<(Point, Point)>,
    polygons: Vec<&'a [Vec<Point>]>,
    /// A point of each point, line or area.
    any: Vec<Point>,
}

impl<'a> Parts<'a> {
    fn of(shape: &'a Shape) -> Parts<'a> {
        let mut parts = Parts::default();
        parts.add(shape);
        parts
    }
    fn line(&mut self, points: &[Point]) {
        self.segments
            .extend(points.windows(2).map(|w| (w[0], w[1])));
    }
    fn polygon(&mut self, rings: &'a [Vec<Point>]) {
        rings.iter().for_each(|r| self.line(r));
        self.any.extend(rings.first().and_then(|r| r.first()));
        self.polygons.push(rings);
    }
    fn add(&mut self, shape: &'a Shape) {
        match shape {
            Shape::Point(p) => {
                self.points.push(*p);
                self.any.push(*p);
            }
            Shape::MultiPoint(points) => {
                self.points.extend(points);
                self.any.extend(points);
            }
            Shape::LineString(points) => {
                self.line(points);
                self.any.extend(points.first());
            }
            Shape::MultiLineString(lines) => {
                lines.iter().for_each(|l| self.line(l));
                self.any.extend(lines.iter().filter_map(|l| l.first()));
            }
            Shape::Polygon(rings) => self.polygon(rings),
            Shape::MultiPolygon(polygons) => polygons.iter().for_each(|p| self.polygon(p)),
            Shape::Collection(members) => members.iter().for_each(|m| self.add(m)),
        }
    }
    /// Whether one of its areas holds what the other has at some point.
    fn holds_part_of(&self, other: &Parts<'_>) -> bool {
        let within = |rings: &&[Vec<Point>]| other.any.iter().any(|p| within(*p, rings));
        self.polygons.iter().any(within)
    }
}

/// Whether a point lies within a ring or on it.
fn within_ring(p: Point, ring: &[Point]) -> bool {
    let mut inside = false;
    for w in ring.windows(2) {
        let (a, b) = (w[0], w[1]);
        if to_segment(p, (a, b)) == 0.0 {
            return true;
        }
        if (a.y > p.y) != (b.y > p.y) {
            let left = cross(a, b, p);
            inside ^= if b.y > a.y { left > 0.0 } else { left < 0.0 };
        }
    }
    inside
}

fn on_ring(p: Point, ring: &[Point]) -> bool {
    ring.windows(2).any(|w| to_segment(p, (w[0], w[1])) == 0.0)
}

/// Whether a point lies within a polygon or on its edge.
fn within(p: Point, rings: &[Vec<Point>]) -> bool {
    let Some((outer, holes)) = rings.split_first() else {
        return false;
    };
    within_ring(p, outer) && holes.iter().all(|h| !within_ring(p, h) || on_ring(p, h))
}

fn to_segment(p: Point, (a, b): (Point, Point)) -> f64 {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let square = dx * dx + dy * dy;
    if square == 0.0 {
        return apart(p, a);
    }
    let t = ((p.x - a.x) * dx + (p.y - a.y) * dy) / square;
    if t <= 0.0 {
        return apart(p, a);
    }
    if t >= 1.0 {
        return apart(p, b);
    }
    cross(a, b, p).abs() / square.sqrt()
}

/// Whether two segments cross between their ends.
fn cross_each_other((a, b): (Point, Point), (c, d): (Point, Point)) -> bool {
    let opposite = |u: f64, v: f64| (u > 0.0 && v < 0.0) || (u < 0.0 && v > 0.0);
    opposite(cross(a, b, c), cross(a, b, d)) && opposite(cross(c, d, a), cross(c, d, b))
}

fn between_segments(s: (Point, Point), t: (Point, Point)) -> f64 {
    if cross_each_other(s, t) {
        return 0.0;
    }
    let ends = [
        to_segment(s.0, t),
        to_segment(s.1, t),
        to_segment(t.0, s),
        to_segment(t.1, s),
    ];
    ends.into_iter().fold(f64::INFINITY, f64::min)
}

/// The square of a point's distance from a segment, by way of its projection.
fn square_to_segment(p: Point, (a, b): (Point, Point)) -> f64 {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let along = (p.x - a.x) * dx + (p.y - a.y) * dy;
    let square = dx * dx + dy * dy;
    let nearest = if along <= 0.0 {
        a
    } else if along >= square {
        b
    } else {
        let part = along / square;
        Point {
            x: a.x + part * dx,
            y: a.y + part * dy,
        }
    };
    (p.x - nearest.x).powi(2) + (p.y - nearest.y).powi(2)
}

/// Ramer's, Douglas's and Peucker's simplification: the points that remain of a line of which none is farther than `most` from what is left.
fn simplified(points: &[Point], most: f64) -> Vec<Point> {
    let last = points.len() - 1;
    let mut keep = vec![false; points.len()];
    (keep[0], keep[last]) = (true, true);
    let mut open = vec![(0, last)];
    while let Some((from, to)) = open.pop() {
        let (mut farthest, mut square) = (None, most * most);
        for i in from + 1..to {
            let far = square_to_segment(points[i], (points[from], points[to]));
            if far > square {
                (farthest, square) = (Some(i), far);
            }
        }
        if let Some(at) = farthest {
            keep[at] = true;
            open.extend([(from, at), (at, to)]);
        }
    }
    let kept = points.iter().zip(keep).filter(|(_, k)| *k);
    kept.map(|(p, _)| *p).collect()
}

impl Shape {
    /// Length of a line or of lines; `None` of what is neither.
    pub fn length(&self) -> Option<f64> {
        match self {
            Shape::LineString(points) => Some(line_length(points)),
            Shape::MultiLineString(lines) => Some(lines.iter().map(|l| line_length(l)).sum()),
            _ => None,
        }
    }
    /// The area of a polygon or of polygons; `None` of what is neither.
    pub fn area(&self) -> Option<f64> {
        match self {
            Shape::Polygon(rings) => Some(polygon_area(rings)),
            Shape::MultiPolygon(list) => Some(list.iter().map(|p| polygon_area(p)).sum()),
            _ => None,
        }
    }
    /// The centre of gravity of its areas; if it has none (or they have no extent) of its lines, and so on to its points. `None` if it is
    /// empty.
    pub fn centroid(&self) -> Option<Point> {
        let greatest = self.dimension()?;
        let mut points = Moments::default();
        for dimension in (0..=greatest).rev() {
            let mut m = Moments::default();
            m.of(self, dimension);
            if m.weight != 0.0 {
                return Some(Point {
                    x: m.x / m.weight,
                    y: m.y / m.weight,
                });
            }
        }
        self.each_point(&mut |p| points.add(1.0, p.x, p.y));
        Some(Point {
            x: points.x / points.weight,
            y: points.y / points.weight,
        })
    }
    /// The least distance between a point of this and one of the other; `None` if one is empty.
    pub fn distance(&self, other: &Shape) -> Option<f64> {
        let (a, b) = (Parts::of(self), Parts::of(other));
        if a.any.is_empty() || b.any.is_empty() {
            return None;
        }
        if a.holds_part_of(&b) || b.holds_part_of(&a) {
            return Some(0.0);
        }
        let mut least = f64::INFINITY;
        for p in &a.points {
            b.points
                .iter()
                .for_each(|q| least = least.min(apart(*p, *q)));
            b.segments
                .iter()
                .for_each(|s| least = least.min(to_segment(*p, *s)));
        }
        for s in &a.segments {
            b.points
                .iter()
                .for_each(|q| least = least.min(to_segment(*q, *s)));
            b.segments
                .iter()
                .for_each(|t| least = least.min(between_segments(*s, *t)));
        }
        Some(least)
    }
    /// The least convex shape that holds it, counterclockwise from its leftmost point: a point or a line if it is no more than that. `None`
    /// if it is empty. Andrew's monotone chain.
    pub fn convex_hull(&self) -> Option<Shape> {
        let mut points = Vec::new();
        self.each_point(&mut |p| points.push(p));
        points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        points.dedup();
        match points[..] {
            [] => return None,
            [p] => return Some(Shape::Point(p)),
            _ => {}
        }
        let chain = |list: &mut dyn Iterator<Item = &Point>| {
            let mut chain: Vec<Point> = Vec::new();
            for p in list {
                while let [.., a, b] = chain[..]
                    && cross(a, b, *p) <= 0.0
                {
                    chain.pop();
                }
                chain.push(*p);
            }
            chain
        };
        let mut ring = chain(&mut points.iter());
        let upper = chain(&mut points.iter().rev());
        if ring.len() == 2 && upper.len() == 2 {
            return Some(Shape::LineString(ring));
        }
        ring.extend(&upper[1..]);
        Some(Shape::Polygon(vec![ring]))
    }
    /// The shape without points that are no farther than `most` from what is left. What would be no line or ring any more goes; `None` if
    /// nothing is left.
    pub fn simplify(&self, most: f64) -> Option<Shape> {
        let line = |points: &Vec<Point>| simplified(points, most);
        let polygon = |rings: &Vec<Vec<Point>>| {
            let mut rings = rings.iter().map(line);
            let outer = rings.next().filter(|r| r.len() >= 4)?;
            let holes = rings.filter(|r| r.len() >= 4);
            Some([outer].into_iter().chain(holes).collect::<Vec<_>>())
        };
        match self {
            Shape::Point(_) | Shape::MultiPoint(_) => Some(self.clone()),
            Shape::LineString(points) => Some(Shape::LineString(line(points))),
            Shape::MultiLineString(lines) => {
                Some(Shape::MultiLineString(lines.iter().map(line).collect()))
            }
            Shape::Polygon(rings) => polygon(rings).map(Shape::Polygon),
            Shape::MultiPolygon(polygons) => {
                let left: Vec<_> = polygons.iter().filter_map(polygon).collect();
                (!left.is_empty()).then_some(Shape::MultiPolygon(left))
            }
            Shape::Collection(members) => {
                let left: Vec<_> = members.iter().filter_map(|m| m.simplify(most)).collect();
                (!left.is_empty()).then_some(Shape::Collection(left))
            }
        }
    }
}

/// The distance of two places on a sphere, by the haversine formula; in the radius's unit.
pub fn sphere_distance(a: Point, b: Point, radius: f64) -> f64 {
    let half = |u: f64, v: f64| ((v - u).to_radians() / 2.0).sin().powi(2);
    let h = half(a.y, b.y) + half(a.x, b.x) * a.y.to_radians().cos() * b.y.to_radians().cos();
    2.0 * radius * h.min(1.0).sqrt().asin()
}

/// The distance of two places on an ellipsoid in metres, by Andoyer's and Lambert's formula, exact to the first order of the flattening
/// (P. D. Thomas, Mathematical Models for Navigation Systems, 1965): what MySQL computes.
pub fn andoyer_distance(a: Point, b: Point, e: &Ellipsoid) -> f64 {
    if a == b {
        return 0.0;
    }
    let (sin_a, cos_a) = a.y.to_radians().sin_cos();
    let (sin_b, cos_b) = b.y.to_radians().sin_cos();
    let between = (b.x - a.x).to_radians().cos();
    let cos_d = (sin_a * sin_b + cos_a * cos_b * between).clamp(-1.0, 1.0);
    let d = cos_d.acos();
    let k = (sin_a - sin_b).powi(2);
    let l = (sin_a + sin_b).powi(2);
    let three_sin_d = 3.0 * d.sin();
    let part = |numerator: f64, denominator: f64| match denominator == 0.0 {
        true => 0.0,
        false => numerator / denominator,
    };
    let h = part(d + three_sin_d, 1.0 - cos_d);
    let g = part(d - three_sin_d, 1.0 + cos_d);
    let correction = -(e.flattening / 4.0) * (h * k + g * l);
    e.semi_major * (d + correction)
}
