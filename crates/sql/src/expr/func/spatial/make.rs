//! Geometries made of others, of numbers, of text and of WKB.

use super::{Call, Computed, Exit, result, unexpected};
use crate::error::SqlError;
use crate::expr::ExprKind;
use crate::value::geometry::{Geometry, Kind, Point, Shape, Srs, wkb, wkt};

/// POINT(x, y). Error 1690.
pub(super) fn point<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (x, y) = (c.finite(0, "POINT")?, c.finite(1, "POINT")?);
    result(0, Shape::Point(Point { x, y }))
}

/// What all arguments are made of by `pick`, in the reference system that they share. Errors 1367, 3033, 3037.
fn members<T>(c: &Call<'_, '_>, pick: fn(Shape) -> Option<T>) -> Result<(u32, Vec<T>), Exit> {
    let mut all = Vec::with_capacity(c.len());
    let mut srid = None;
    for i in 0..c.len() {
        let e = &c.args[i];
        let free = matches!(
            e.kind,
            ExprKind::Param(_) | ExprKind::UserVariable(_) | ExprKind::Local(..)
        );
        if !free && !e.ty.is_geometry() && e.ty != crate::types::SqlType::null() {
            let m = format!("Illegal non geometric '{e}' value found during parsing");
            return Err(SqlError::new(1367, m).into());
        }
        let g = c.geometry(i)?;
        if let Some(first) = srid.filter(|first| *first != g.srid) {
            let m = format!(
                "Binary geometry function {} given two geometries of different srids: {first} and {}, which should have been identical.",
                c.name(),
                g.srid
            );
            return Err(SqlError::new(3033, m).into());
        }
        srid = Some(g.srid);
        all.push(pick(g.shape).ok_or_else(|| c.invalid_data())?);
    }
    Ok((srid.unwrap_or(0), all))
}

/// A shape made of others. Error 3037 if they make none.
fn checked<'a>(c: &Call<'_, 'a>, srid: u32, shape: Shape) -> Computed<'a> {
    match shape.is_well_formed() {
        true => result(srid, shape),
        false => Err(c.invalid_data()),
    }
}

fn a_point(s: Shape) -> Option<Point> {
    match s {
        Shape::Point(p) => Some(p),
        _ => None,
    }
}

fn a_line(s: Shape) -> Option<Vec<Point>> {
    match s {
        Shape::LineString(points) => Some(points),
        _ => None,
    }
}

fn a_polygon(s: Shape) -> Option<Vec<Vec<Point>>> {
    match s {
        Shape::Polygon(rings) => Some(rings),
        _ => None,
    }
}

/// LINESTRING(point, ...).
pub(super) fn line_string<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, points) = members(c, a_point)?;
    checked(c, srid, Shape::LineString(points))
}

/// POLYGON(ring, ...).
pub(super) fn polygon<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, rings) = members(c, a_line)?;
    checked(c, srid, Shape::Polygon(rings))
}

/// MULTIPOINT(point, ...).
pub(super) fn multi_point<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, points) = members(c, a_point)?;
    checked(c, srid, Shape::MultiPoint(points))
}

/// MULTILINESTRING(line, ...).
pub(super) fn multi_line_string<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, lines) = members(c, a_line)?;
    checked(c, srid, Shape::MultiLineString(lines))
}

/// MULTIPOLYGON(polygon, ...).
pub(super) fn multi_polygon<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, polygons) = members(c, a_polygon)?;
    checked(c, srid, Shape::MultiPolygon(polygons))
}

/// GEOMETRYCOLLECTION(geometry, ...).
pub(super) fn collection<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (srid, list) = members(c, Some)?;
    checked(c, srid, Shape::Collection(list))
}

/// ST_GeomFromText(text [, srid [, options]]) and those of one kind. Errors 3037, 3516, 3548, 3616, 3617.
pub(super) fn from_text<'a>(c: &Call<'_, 'a>, kind: Option<Kind>) -> Computed<'a> {
    let read = wkt::read(&c.text(0)?);
    placed(c, read, kind)
}

/// The same of WKB.
pub(super) fn from_wkb<'a>(c: &Call<'_, 'a>, kind: Option<Kind>) -> Computed<'a> {
    let bytes = c.text(0)?;
    // Of a value that is a geometry already its WKB.
    let read = match c.args[0].ty.is_geometry() {
        true => Geometry::of_bytes(&bytes).map(|g| g.shape),
        false => wkb::read(&bytes),
    };
    placed(c, read, kind)
}

/// What was read, in the reference system that the second argument says.
fn placed<'a>(c: &Call<'_, 'a>, read: Option<Shape>, kind: Option<Kind>) -> Computed<'a> {
    let srs = match c.len() {
        1 => c.srs(0)?,
        _ => c.srid_argument(1)?,
    };
    let shape = read.ok_or_else(|| c.invalid_data())?;
    if let Some(kind) = kind.filter(|k| *k != shape.kind()) {
        return Err(unexpected(kind.name(), shape.kind(), &c.name()).into());
    }
    let shape = match c.swaps(2, srs)? {
        true => shape.swapped(),
        false => shape,
    };
    in_system(c, srs, shape)
}

/// A shape in a system, all of whose points it has. Errors 3616, 3617.
pub(super) fn in_system<'a>(c: &Call<'_, 'a>, srs: &Srs, shape: Shape) -> Computed<'a> {
    c.check_places(srs, &shape)?;
    result(srs.id, shape)
}
