//! How two geometries lie to each other, what they have in common, and whether one is what it should be.

use super::{Call, Computed, Exit, result};
use crate::error::SqlError;
use crate::value::Value;
use crate::value::geometry::{Geometry, Overlay, Relation, Shape, Unrelated};

/// Whether there are but points in a shape: on the earth they lie to each other as on a plane.
fn of_points(shape: &Shape) -> bool {
    matches!(shape, Shape::Point(_) | Shape::MultiPoint(_))
}

/// Two geometries of a plane, or points of the earth. Errors 3033, 3037, 3548, 3618.
fn on_one_plane(c: &Call<'_, '_>) -> Result<(Geometry, Geometry), Exit> {
    let (a, b) = c.geometries()?;
    if c.srs(a.srid)?.is_geographic() && !(of_points(&a.shape) && of_points(&b.shape)) {
        return Err(c.not_on_earth(&[a.kind(), b.kind()]));
    }
    Ok((a, b))
}

/// Error 3037, 1235 or 1690.
pub(super) fn refused(c: &Call<'_, '_>, why: Unrelated) -> Exit {
    match why {
        Unrelated::Invalid => c.invalid_data(),
        Unrelated::OutOfRange => c.out_of_range("coordinate"),
        Unrelated::Mixed => {
            let what = format!("{} of a collection of several dimensions", c.name());
            SqlError::unsupported(what).into()
        }
    }
}

/// ST_Contains() and the like: NULL where the relation isn't defined.
pub(super) fn relates<'a>(c: &Call<'_, 'a>, relation: Relation) -> Computed<'a> {
    let (a, b) = on_one_plane(c)?;
    let holds = a.shape.relates(&b.shape, relation);
    let holds = holds.map_err(|why| refused(c, why))?;
    Ok(Value::bool(holds.ok_or(Exit::Null)?))
}

/// ST_Union() and the like.
pub(super) fn overlay<'a>(c: &Call<'_, 'a>, op: Overlay) -> Computed<'a> {
    let (a, b) = on_one_plane(c)?;
    let made = a.shape.overlay(&b.shape, op);
    result(a.srid, made.map_err(|why| refused(c, why))?)
}

/// ST_IsSimple(). Errors 3037, 3618.
pub(super) fn is_simple<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    if !of_points(&g.shape) {
        c.on_plane(&g)?;
    }
    Ok(Value::bool(g.shape.is_simple()))
}

/// A geometry of a plane, and whether it is valid.
fn checked(c: &Call<'_, '_>) -> Result<(Geometry, bool), Exit> {
    let g = c.geometry(0)?;
    if !of_points(&g.shape) {
        c.on_plane(&g)?;
    }
    let valid = g.shape.is_valid();
    Ok((g, valid))
}

/// ST_IsValid().
pub(super) fn is_valid<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::bool(checked(c)?.1))
}

/// ST_Validate(): the geometry if it is valid, else NULL.
pub(super) fn validate<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    match checked(c)? {
        (g, true) => result(g.srid, g.shape),
        (_, false) => Err(Exit::Null),
    }
}
