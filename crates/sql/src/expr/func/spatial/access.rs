//! What a geometry is and what is in it.

use super::{Call, Computed, Exit, result};
use crate::error::SqlError;
use crate::value::Value;
use crate::value::geometry::{Bounds, Geometry, Point, Shape, Srs};

/// ST_SRID(geometry [, srid]). Errors 1690, 3548, 3731, 3732.
pub(super) fn srid<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    if c.len() == 1 {
        return Ok(Value::UInt(g.srid.into()));
    }
    let srs = c.srid_argument(1)?;
    srs.check_all(&g.shape).map_err(|e| c.no_place(e, true))?;
    result(srs.id, g.shape)
}

/// ST_GeometryType().
pub(super) fn geometry_type<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::str(c.geometry(0)?.kind().name()))
}

/// ST_Dimension().
pub(super) fn dimension<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let dimension = c.geometry(0)?.shape.dimension();
    Ok(Value::Int(dimension.unwrap_or(0).into()))
}

/// ST_IsEmpty().
pub(super) fn is_empty<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::bool(c.geometry(0)?.shape.is_empty()))
}

/// ST_IsClosed(): whether lines end where they begin; NULL of what is no line.
pub(super) fn is_closed<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let closed = |line: &Vec<Point>| line.first() == line.last();
    match c.geometry(0)?.shape {
        Shape::LineString(points) => Ok(Value::bool(closed(&points))),
        Shape::MultiLineString(lines) => Ok(Value::bool(lines.iter().all(closed))),
        _ => Err(Exit::Null),
    }
}

/// ST_Envelope().
pub(super) fn envelope<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    c.on_plane(&g)?;
    let bounds = Bounds::of(&g.shape);
    result(g.srid, bounds.map_or(Shape::empty(), |b| b.shape()))
}

/// ST_SwapXY().
pub(super) fn swap_xy<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    result(g.srid, g.shape.swapped())
}

/// A point's coordinate, or the point with another. `axis`: 0 the first inside, 1 the second.
fn coordinate_of<'a>(c: &Call<'_, 'a>, srs: &Srs, p: Point, axis: u8) -> Computed<'a> {
    if c.len() == 1 {
        return Ok(Value::Double(if axis == 0 { p.x } else { p.y }));
    }
    let v = c.finite(1, "coordinate")?;
    let moved = match axis {
        0 => Point { x: v, ..p },
        _ => Point { y: v, ..p },
    };
    srs.check(moved).map_err(|e| c.no_place(e, false))?;
    result(srs.id, Shape::Point(moved))
}

/// ST_X() and ST_Y(): the coordinate of the system's first (0) or second axis. Errors 3516, 3548, 3616, 3617.
pub(super) fn coordinate<'a>(c: &Call<'_, 'a>, axis: u8) -> Computed<'a> {
    let (srid, p) = c.point(0)?;
    let srs = c.srs(srid)?;
    let axis = if srs.is_geographic() { 1 - axis } else { axis };
    coordinate_of(c, srs, p, axis)
}

/// ST_Longitude() (0) and ST_Latitude() (1). Errors 3516, 3548, 3616, 3617, 3726.
pub(super) fn place<'a>(c: &Call<'_, 'a>, axis: u8) -> Computed<'a> {
    let (srid, p) = c.point(0)?;
    let srs = c.srs(srid)?;
    if !srs.is_geographic() {
        let m = format!(
            "Function {} is only defined for geographic spatial reference systems, but one of its arguments is in SRID {srid}, \
             which is not geographic.",
            c.name()
        );
        return Err(SqlError::new(3726, m).into());
    }
    coordinate_of(c, srs, p, axis)
}

/// The points of a line; NULL of what is none.
fn line(c: &Call<'_, '_>) -> Result<(u32, Vec<Point>), Exit> {
    match c.geometry(0)? {
        Geometry {
            srid,
            shape: Shape::LineString(points),
        } => Ok((srid, points)),
        _ => Err(Exit::Null),
    }
}

/// The rings of a polygon; NULL of what is none.
fn polygon(c: &Call<'_, '_>) -> Result<(u32, Vec<Vec<Point>>), Exit> {
    match c.geometry(0)? {
        Geometry {
            srid,
            shape: Shape::Polygon(rings),
        } => Ok((srid, rings)),
        _ => Err(Exit::Null),
    }
}

fn the_point<'a>(srid: u32, p: Option<Point>) -> Computed<'a> {
    result(srid, Shape::Point(p.ok_or(Exit::Null)?))
}

fn the_ring<'a>(srid: u32, ring: Option<Vec<Point>>) -> Computed<'a> {
    result(srid, Shape::LineString(ring.ok_or(Exit::Null)?))
}

/// ST_StartPoint().
pub(super) fn start_point<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, points) = line(c)?;
    the_point(srid, points.first().copied())
}

/// ST_EndPoint().
pub(super) fn end_point<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, points) = line(c)?;
    the_point(srid, points.last().copied())
}

/// ST_PointN(line, n).
pub(super) fn point_n<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, points) = line(c)?;
    let at = c.nth(1, points.len())?;
    the_point(srid, at.map(|at| points[at]))
}

/// ST_NumPoints().
pub(super) fn num_points<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Int(line(c)?.1.len() as i64))
}

/// ST_ExteriorRing().
pub(super) fn exterior_ring<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, rings) = polygon(c)?;
    the_ring(srid, rings.into_iter().next())
}

/// ST_InteriorRingN(polygon, n).
pub(super) fn interior_ring_n<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, rings) = polygon(c)?;
    let at = c.nth(1, rings.len() - 1)?;
    the_ring(srid, at.map(|at| rings[at + 1].clone()))
}

/// ST_NumInteriorRings().
pub(super) fn num_interior_rings<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Int(polygon(c)?.1.len() as i64 - 1))
}

/// ST_GeometryN(collection, n).
pub(super) fn geometry_n<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    let count = g.shape.member_count().ok_or(Exit::Null)?;
    let at = c.nth(1, count)?.ok_or(Exit::Null)?;
    let member = g.shape.members().into_iter().nth(at);
    result(g.srid, member.ok_or(Exit::Null)?)
}

/// ST_NumGeometries().
pub(super) fn num_geometries<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let count = c.geometry(0)?.shape.member_count().ok_or(Exit::Null)?;
    Ok(Value::Int(count as i64))
}
