//! How the bounding rectangles of two geometries lie to each other.

use super::{Call, Computed, Exit};
use crate::value::Value;
use crate::value::geometry::{Bounds, Geometry, Kind};

/// Compares two rectangles; NULL if a geometry is empty. Errors 3033, 3037, 3548. On the earth, where edges bulge towards the poles, those of
/// points alone: 3618 for others.
pub(super) fn compare<'a>(c: &Call<'_, 'a>, holds: fn(&Bounds, &Bounds) -> bool) -> Computed<'a> {
    let (a, b) = c.geometries()?;
    let of_points = |g: &Geometry| matches!(g.kind(), Kind::Point);
    if c.srs(a.srid)?.is_geographic() && !(of_points(&a) && of_points(&b)) {
        return Err(c.not_on_earth(&[a.kind(), b.kind()]));
    }
    match (Bounds::of(&a.shape), Bounds::of(&b.shape)) {
        (Some(a), Some(b)) => Ok(Value::bool(holds(&a, &b))),
        _ => Err(Exit::Null),
    }
}
