//! What ST_COLLECT() gathers.

use crate::error::{SqlError, SqlResult};
use crate::value::Value;
use crate::value::geometry::{Geometry, Shape, Srs, srs_not_found};

use super::distinct::MemoryBudget;

/// The geometries of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    /// Their reference system.
    srid: u32,
    shapes: Vec<Shape>,
}

impl Collected {
    /// Takes a geometry in. Errors 3037, 3548, 4034.
    pub fn take(&mut self, v: &Value<'_>, budget: &mut MemoryBudget) -> SqlResult<()> {
        let Value::Bytes(bytes) = v else {
            return Err(invalid());
        };
        let g = Geometry::of_bytes(bytes).ok_or_else(invalid)?;
        if Srs::of(g.srid).is_none() {
            return Err(srs_not_found(g.srid));
        }
        if self.shapes.is_empty() {
            self.srid = g.srid;
        }
        if g.srid != self.srid {
            let m = format!(
                "Arguments to function st_collect contains geometries with different SRIDs: {} and {}. All geometries must have the same SRID.",
                self.srid, g.srid
            );
            return Err(SqlError::new(4034, m));
        }
        budget.take(size_of::<Shape>() + bytes.len())?;
        self.shapes.push(g.shape);
        Ok(())
    }

    /// One geometry of them all, of the narrowest type that they fit in; NULL if there is none.
    pub fn value(&self) -> Value<'static> {
        if self.shapes.is_empty() {
            return Value::Null;
        }
        let g = Geometry {
            srid: self.srid,
            shape: joined(&self.shapes),
        };
        Value::Bytes(g.to_bytes().into())
    }
}

/// Error 3037.
fn invalid() -> SqlError {
    SqlError::new(3037, "Invalid GIS data provided to function st_collect.")
}

fn joined(shapes: &[Shape]) -> Shape {
    fn all<'s, T: Clone + 's>(
        shapes: &'s [Shape],
        one: impl Fn(&'s Shape) -> Option<&'s T>,
    ) -> Option<Vec<T>> {
        shapes.iter().map(|s| one(s).cloned()).collect()
    }
    let points = all(shapes, |s| match s {
        Shape::Point(p) => Some(p),
        _ => None,
    });
    let lines = || {
        all(shapes, |s| match s {
            Shape::LineString(l) => Some(l),
            _ => None,
        })
    };
    let polygons = || {
        all(shapes, |s| match s {
            Shape::Polygon(p) => Some(p),
            _ => None,
        })
    };
    points
        .map(Shape::MultiPoint)
        .or_else(|| lines().map(Shape::MultiLineString))
        .or_else(|| polygons().map(Shape::MultiPolygon))
        .unwrap_or_else(|| Shape::Collection(shapes.to_vec()))
}
