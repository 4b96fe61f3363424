//! Lengths, areas, distances and what is made of a geometry by measuring it.

use super::{Call, Computed, Exit, result, unexpected};
use crate::error::SqlError;
use crate::value::Value;
use crate::value::geometry::srs::{Ellipsoid, UNITS};
use crate::value::geometry::{
    Bounds, Distance, Kind, Point, Shape, Srs, andoyer_distance, sphere_distance,
};

/// A length in the unit that argument `i` says, if it is there. Errors 3882, 3902.
fn in_unit<'a>(c: &Call<'_, 'a>, length: f64, i: usize, srs: &Srs) -> Computed<'a> {
    if c.len() <= i {
        return Ok(Value::Double(length));
    }
    let name = c.text(i)?;
    let name = String::from_utf8_lossy(&name);
    if !srs.is_geographic() {
        let m = format!(
            "The geometry passed to function {} is in SRID {}, which doesn't specify a length unit. Can't convert to '{name}'.",
            c.name(),
            srs.id
        );
        return Err(SqlError::new(3882, m).into());
    }
    let found = UNITS
        .iter()
        .find(|(unit, _)| unit.eq_ignore_ascii_case(&name));
    let Some((_, metres)) = found else {
        let m = format!("There's no unit of measure named '{name}'.");
        return Err(SqlError::new(3902, m).into());
    };
    Ok(Value::Double(length / metres))
}

/// The length of a line on the earth.
fn length_on(points: &[Point], e: &Ellipsoid) -> f64 {
    points
        .windows(2)
        .map(|w| andoyer_distance(w[0], w[1], e))
        .sum()
}

/// ST_Length(line [, unit]): NULL of what is no line.
pub(super) fn length<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    let srs = c.srs(g.srid)?;
    let length = match (&g.shape, srs.ellipsoid) {
        (Shape::LineString(points), Some(e)) => Some(length_on(points, &e)),
        (Shape::MultiLineString(lines), Some(e)) => {
            Some(lines.iter().map(|l| length_on(l, &e)).sum())
        }
        (shape, _) => shape.length(),
    };
    in_unit(c, length.ok_or(Exit::Null)?, 1, srs)
}

/// ST_Area(). Errors 3516, 3618.
pub(super) fn area<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    let Some(area) = g.shape.area() else {
        return match g.shape.is_empty() {
            true => Ok(Value::Double(0.0)),
            false => Err(unexpected("POLYGON/MULTIPOLYGON", g.kind(), &c.name()).into()),
        };
    };
    c.on_plane(&g)?;
    Ok(Value::Double(area))
}

/// ST_Centroid(): NULL of what is empty.
pub(super) fn centroid<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    c.on_plane(&g)?;
    result(g.srid, Shape::Point(g.shape.centroid().ok_or(Exit::Null)?))
}

/// ST_ConvexHull(): NULL of what is empty.
pub(super) fn convex_hull<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    c.on_plane(&g)?;
    result(g.srid, g.shape.convex_hull().ok_or(Exit::Null)?)
}

/// The points of a point or of several; `None` of what is neither.
fn places(shape: &Shape) -> Option<Vec<Point>> {
    match shape {
        Shape::Point(p) => Some(vec![*p]),
        Shape::MultiPoint(points) => Some(points.clone()),
        _ => None,
    }
}

fn least(a: &[Point], b: &[Point], distance: impl Fn(Point, Point) -> f64) -> f64 {
    let pairs = a.iter().flat_map(|p| b.iter().map(move |q| (*p, *q)));
    pairs
        .map(|(p, q)| distance(p, q))
        .fold(f64::INFINITY, f64::min)
}

/// ST_Distance(a, b [, unit]): NULL if one is empty. On the earth that of points. Errors 3033, 3618, 3882, 3902.
pub(super) fn distance<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (a, b) = c.geometries()?;
    let srs = c.srs(a.srid)?;
    if a.shape.is_empty() || b.shape.is_empty() {
        return Err(Exit::Null);
    }
    let distance = match srs.ellipsoid {
        None => a.shape.distance(&b.shape).ok_or(Exit::Null)?,
        Some(e) => {
            for g in [&a, &b] {
                srs.check_all(&g.shape).map_err(|e| c.no_place(e, true))?;
            }
            match (places(&a.shape), places(&b.shape)) {
                (Some(a), Some(b)) => least(&a, &b, |p, q| andoyer_distance(p, q, &e)),
                _ => return Err(c.not_on_earth(&[a.kind(), b.kind()])),
            }
        }
    };
    if !distance.is_finite() {
        return Err(c.out_of_range("Distance"));
    }
    in_unit(c, distance, 2, srs)
}

/// ST_HausdorffDistance(a, b [, unit]) and ST_FrechetDistance(): NULL if one is empty. Errors 3033, 3618, 3704, 3882, 3902.
pub(super) fn similarity<'a>(
    c: &Call<'_, 'a>,
    of: fn(&Shape, &Shape, Distance<'_>) -> Option<f64>,
) -> Computed<'a> {
    let (a, b) = c.geometries()?;
    let srs = c.srs(a.srid)?;
    if a.shape.is_empty() || b.shape.is_empty() {
        return Err(Exit::Null);
    }
    let kinds = [a.kind(), b.kind()];
    let distance = match srs.ellipsoid {
        None => {
            let found = of(&a.shape, &b.shape, &|p, q| (p.x - q.x).hypot(p.y - q.y));
            found.ok_or_else(|| c.not_on_a_plane(&kinds))?
        }
        Some(e) => {
            for g in [&a, &b] {
                srs.check_all(&g.shape).map_err(|e| c.no_place(e, true))?;
            }
            let found = of(&a.shape, &b.shape, &|p, q| andoyer_distance(p, q, &e));
            found.ok_or_else(|| c.not_on_earth(&kinds))?
        }
    };
    if !distance.is_finite() {
        return Err(c.out_of_range("Distance"));
    }
    in_unit(c, distance, 2, srs)
}

/// ST_Distance_Sphere(a, b [, radius]) of points; those of SRID 0 are longitudes and latitudes. Errors 3033, 3616 to 3618, 3704, 3706.
pub(super) fn distance_sphere<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    /// Metres.
    const RADIUS: f64 = 6_370_986.0;
    let (a, b) = c.geometries()?;
    let srs = c.srs(a.srid)?;
    if a.shape.is_empty() || b.shape.is_empty() {
        return Err(Exit::Null);
    }
    let (Some(from), Some(to)) = (places(&a.shape), places(&b.shape)) else {
        if srs.is_geographic() {
            return Err(c.not_on_earth(&[a.kind(), b.kind()]));
        }
        return Err(c.not_on_a_plane(&[a.kind(), b.kind()]));
    };
    let radius = match (c.len(), srs.ellipsoid) {
        (3, _) => c.double(2)?,
        (_, Some(e)) => e.mean_radius(),
        (_, None) => RADIUS,
    };
    if radius.is_nan() || radius <= 0.0 {
        let m = format!(
            "Invalid radius provided to function {}: Radius must be greater than zero.",
            c.name()
        );
        return Err(SqlError::new(3706, m).into());
    }
    let earth = Srs::all().iter().find(|s| s.is_geographic());
    for p in from.iter().chain(&to) {
        let checked = earth.map_or(Ok(()), |s| s.check(*p));
        checked.map_err(|e| c.no_place(e, srs.is_geographic()))?;
    }
    let distance = least(&from, &to, |p, q| sphere_distance(p, q, radius));
    match distance.is_finite() {
        true => Ok(Value::Double(distance)),
        false => Err(c.out_of_range("Distance")),
    }
}

/// ST_Simplify(geometry, distance): NULL if nothing is left. Error 1210.
pub(super) fn simplify<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    c.on_plane(&g)?;
    let most = c.double(1)?;
    if most.is_nan() || most <= 0.0 {
        return Err(c.incorrect_arguments());
    }
    result(g.srid, g.shape.simplify(most).ok_or(Exit::Null)?)
}

/// ST_MakeEnvelope(point, point). Errors 1210, 3033, 3618.
pub(super) fn make_envelope<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let (a, b) = c.geometries()?;
    if a.kind() != Kind::Point || b.kind() != Kind::Point {
        return Err(c.incorrect_arguments());
    }
    if c.srs(a.srid)?.is_geographic() {
        return Err(c.not_on_earth(&[a.kind(), b.kind()]));
    }
    let both = Shape::Collection(vec![a.shape, b.shape]);
    let bounds = Bounds::of(&both).ok_or(Exit::Null)?;
    result(a.srid, bounds.shape())
}
