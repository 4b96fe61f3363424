//! What lies within a distance of a shape: circles, or squares, around points; lines and areas are left to the crate `geo`.

use std::f64::consts::TAU;

use geo::algorithm::BooleanOps;
use geo::algorithm::buffer::{Buffer, BufferStyle, LineCap, LineJoin};

use super::planar::{Areas, Layers, Unrelated, grid, polygon};
use super::{Point, Shape};

/// Points of a circle where nothing else is said.
const CIRCLE: f64 = 32.0;

/// How a buffer is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strategies {
    /// Around points: points of a circle; `None`: a square.
    pub point: Option<f64>,
    /// At the ends of lines: points of a circle; `None`: none.
    pub end: Option<f64>,
    /// At corners.
    pub join: Join,
}

/// How a buffer goes around corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Join {
    /// Along an arc: points of the circle.
    Round(f64),
    /// To the point where the edges meet, as far away as so many distances.
    Miter(f64),
}

impl Default for Strategies {
    fn default() -> Strategies {
        Strategies {
            point: Some(CIRCLE),
            end: Some(CIRCLE),
            join: Join::Round(CIRCLE),
        }
    }
}

impl Strategies {
    fn style(&self, distance: f64) -> BufferStyle<f64> {
        let join = match self.join {
            Join::Round(points) => LineJoin::Round(TAU / points),
            Join::Miter(most) => LineJoin::Miter(2.0 * (1.0 / most.max(1.0)).asin()),
        };
        let cap = match self.end {
            Some(points) => LineCap::Round(TAU / points),
            None => LineCap::Butt,
        };
        BufferStyle::new(distance).line_join(join).line_cap(cap)
    }
    /// The ring around a point, counterclockwise.
    fn around(&self, p: Point, distance: f64) -> Vec<Point> {
        let at = |x: f64, y: f64| Point {
            x: p.x + x * distance,
            y: p.y + y * distance,
        };
        let Some(points) = self.point else {
            let corners = [
                (-1.0, -1.0),
                (1.0, -1.0),
                (1.0, 1.0),
                (-1.0, 1.0),
                (-1.0, -1.0),
            ];
            return corners.map(|(x, y)| at(x, y)).to_vec();
        };
        let count = points.max(3.0) as u32;
        let corner = |n: u32| {
            let (sin, cos) = (TAU * f64::from(n) / f64::from(count)).sin_cos();
            at(cos, sin)
        };
        (0..count).chain([0]).map(corner).collect()
    }
}

impl Shape {
    /// What lies no farther than a distance from it, to the precision that strategies give its curves; where the distance is less than
    /// nothing, what of its areas lies no nearer to their edges. Empty if there is nothing. It must be valid.
    pub fn buffer(&self, distance: f64, strategies: &Strategies) -> Result<Shape, Unrelated> {
        if !self.is_valid() {
            return Err(Unrelated::Invalid);
        }
        grid(&[self], distance)?;
        let layers = Layers::of(self);
        let mut sum = Areas::new(Vec::new());
        if distance > 0.0 {
            for p in &layers.points {
                let ring = strategies.around(*p, distance);
                sum = sum.union(&polygon(&[ring]));
            }
            for line in layers.as_lines() {
                sum = sum.union(&line.buffer_with_style(strategies.style(distance)));
            }
        }
        for area in layers.as_areas() {
            sum = sum.union(&area.buffer_with_style(strategies.style(distance)));
        }
        let mut made = Layers::default();
        // One point's ring needs no grid.
        match (&layers.points[..], &layers.lines[..], &layers.areas[..]) {
            ([p], [], []) if distance > 0.0 => {
                made.areas = vec![vec![strategies.around(*p, distance)]]
            }
            _ => made.add_areas(&sum),
        }
        Ok(made.shape())
    }
}
