//! How two shapes of the plane lie to each other, by the intersections of their interiors, boundaries and exteriors (DE-9IM, M. J. Egenhofer
//! and J. R. Herring, 1990), which the crate `geo` computes.

use geo::algorithm::Relate;
use geo::relate::IntersectionMatrix;

use super::overlay::merged;
use super::planar::{Layers, Unrelated, line, polygon};
use super::valid::are_valid_areas;
use super::{Bounds, Shape};

/// A relation of two shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Relation {
    Contains,
    Within,
    Intersects,
    Disjoint,
    Equals,
    Touches,
    Overlaps,
    Crosses,
}

/// A shape as the crate has it: of one dimension, and valid.
fn whole(shape: &Shape) -> Result<geo::Geometry<f64>, Unrelated> {
    let layers = Layers::of(shape);
    if !layers.is_uniform() {
        return Err(Unrelated::Mixed);
    }
    if !shape.is_valid() {
        return Err(Unrelated::Invalid);
    }
    Ok(match (&layers.lines[..], &layers.areas[..]) {
        ([], []) => layers.as_points().into(),
        ([one], _) => line(one).into(),
        ([..], []) => layers.as_lines().into(),
        (_, [one]) => polygon(one).into(),
        (_, areas) if are_valid_areas(areas) => layers.as_areas().into(),
        // Members of a collection may overlap.
        _ => merged(shape)?.into(),
    })
}

/// The parts of a shape, each of one dimension: its points, its lines, each of its areas.
fn parts(shape: &Shape) -> Result<Vec<geo::Geometry<f64>>, Unrelated> {
    if !shape.is_valid() {
        return Err(Unrelated::Invalid);
    }
    let layers = Layers::of(shape);
    let mut parts: Vec<geo::Geometry<f64>> = Vec::new();
    if !layers.points.is_empty() {
        parts.push(layers.as_points().into());
    }
    if !layers.lines.is_empty() {
        parts.push(layers.as_lines().into());
    }
    parts.extend(layers.areas.iter().map(|a| polygon(a).into()));
    Ok(parts)
}

/// Whether the first holds all parts of the second, and of one of them the interior meets its own.
fn contains(a: &Shape, b: &Shape) -> Result<bool, Unrelated> {
    let (whole, parts) = (whole(a)?, parts(b)?);
    let mut meets = false;
    for part in parts {
        let matrix = whole.relate(&part);
        if !covers(&matrix) {
            return Ok(false);
        }
        meets |= matrix.is_contains();
    }
    Ok(meets)
}

fn covers(matrix: &IntersectionMatrix) -> bool {
    matrix.is_covers()
}

/// Whether they have a point in common.
fn intersects(a: &Shape, b: &Shape) -> Result<bool, Unrelated> {
    let (a, b) = (parts(a)?, parts(b)?);
    let meet = |a: &geo::Geometry<f64>| b.iter().any(|b| a.relate(b).is_intersects());
    Ok(a.iter().any(meet))
}

impl Shape {
    /// Whether a relation holds; `None` where it isn't defined: what touches is no two points, what crosses no area, and is crossed by no
    /// point; nothing holds of what is empty. Shapes must be valid. Of collections that are not of one dimension it is known whether they
    /// meet another shape, and lie within one that is of one dimension.
    pub fn relates(&self, other: &Shape, relation: Relation) -> Result<Option<bool>, Unrelated> {
        let (Some(a), Some(b)) = (self.dimension(), other.dimension()) else {
            return Ok(None);
        };
        match relation {
            Relation::Touches if a == 0 && b == 0 => return Ok(None),
            Relation::Crosses if a == 2 || b == 0 => return Ok(None),
            _ => {}
        }
        // What lies apart is seen from afar.
        if let (Some(a), Some(b)) = (Bounds::of(self), Bounds::of(other))
            && !a.intersects(&b)
        {
            return Ok(Some(relation == Relation::Disjoint));
        }
        let matrix = || Ok(whole(self)?.relate(&whole(other)?));
        Ok(Some(match relation {
            Relation::Contains => contains(self, other)?,
            Relation::Within => contains(other, self)?,
            Relation::Intersects => intersects(self, other)?,
            Relation::Disjoint => !intersects(self, other)?,
            Relation::Equals => matrix()?.is_equal_topo(),
            Relation::Touches => matrix()?.is_touches(),
            Relation::Overlaps => a == b && matrix()?.is_overlaps(),
            Relation::Crosses => matrix()?.is_crosses(),
        }))
    }
}
