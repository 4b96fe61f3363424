//! Geometries as text, as WKB and as GeoJSON, and of the latter.

use std::borrow::Cow;

use super::make::in_system;
use super::{Call, Computed, Exit};
use crate::error::SqlError;
use crate::expr::func::json_argument;
use crate::value::Value;
use crate::value::geometry::geojson::{self, Extras, Refusal};
use crate::value::geometry::{Shape, Srs, srs_not_found, wkb, wkt};

/// A geometry's shape with its coordinates in the order that texts have them.
fn shown(c: &Call<'_, '_>) -> Result<Shape, Exit> {
    let g = c.geometry(0)?;
    let swaps = match Srs::of(g.srid) {
        Some(srs) => c.swaps(1, srs)?,
        None => false,
    };
    Ok(if swaps { g.shape.swapped() } else { g.shape })
}

/// ST_AsText(geometry [, options]).
pub(super) fn as_text<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut out = Vec::new();
    wkt::write(&shown(c)?, &mut out);
    Ok(Value::Bytes(Cow::Owned(out)))
}

/// ST_AsBinary(geometry [, options]).
pub(super) fn as_binary<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let mut out = Vec::new();
    wkb::write(&shown(c)?, &mut out);
    Ok(Value::Bytes(Cow::Owned(out)))
}

/// ST_AsGeoJSON(geometry [, digits [, options]]). Errors 1690, 3037, 3548.
pub(super) fn as_geojson<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    const BBOX: i64 = 1;
    const SHORT_CRS: i64 = 2;
    const LONG_CRS: i64 = 4;
    let g = c.geometry(0)?;
    let decimals = match c.len() {
        1 => None,
        _ => match c.int(1)? {
            n @ 0..=0xffff_ffff => Some(n),
            _ => return Err(c.out_of_range("max decimal digits")),
        },
    };
    let options = match c.len() {
        3 => c.int(2)?,
        _ => 0,
    };
    if !(0..8).contains(&options) {
        return Err(c.out_of_range("options"));
    }
    if options & (SHORT_CRS | LONG_CRS) != 0 {
        c.srs(g.srid)?;
    }
    let extras = Extras {
        bbox: options & BBOX != 0,
        short_crs: options & SHORT_CRS != 0,
        long_crs: options & LONG_CRS != 0,
    };
    // A double has no more digits than these.
    let decimals = decimals.filter(|n| *n < 300).map(|n| n as i32);
    Ok(Value::Json(geojson::write(&g, decimals, extras)))
}

/// Errors 3070 to 3073, 3548, 3672.
fn refused(c: &Call<'_, '_>, refusal: Refusal) -> Exit {
    let data = format!("Invalid GeoJSON data provided to function {}", c.name());
    let e = match refusal {
        Refusal::Missing(name) => {
            SqlError::new(3070, format!("{data}: Missing required member '{name}'"))
        }
        Refusal::Wrong(name, ty) => SqlError::new(
            3071,
            format!("{data}: Member '{name}' must be of type '{ty}'"),
        ),
        Refusal::Other => SqlError::new(3072, data),
        Refusal::Dimensions(found) => SqlError::new(
            3073,
            format!(
                "Unsupported number of coordinate dimensions in function {}: Found {found}, expected 2",
                c.name()
            ),
        ),
        Refusal::Unknown(srid) => srs_not_found(srid),
        Refusal::InnerCrs => SqlError::new(
            3672,
            format!("{data}. The 'crs' member must be specified at the top level."),
        ),
    };
    e.into()
}

/// ST_GeomFromGeoJSON(document [, options [, srid]]).
pub(super) fn from_geojson<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    const OF_GEOJSON: u32 = 4326;
    let value = c.value(0)?;
    let document = json_argument(value, &c.args[0].ty, 1, &|| c.name())?;
    let option = match c.len() {
        1 => 1,
        _ => c.int(1)?,
    };
    if !(1..=4).contains(&option) {
        let m = format!(
            "Incorrect option value: '{option}' for function {}",
            c.name()
        );
        return Err(SqlError::new(1411, m).into());
    }
    let srs = match c.len() {
        3 => Some(c.srid_argument(2)?),
        _ => None,
    };
    let (shape, named) = geojson::read(&document, option > 1).map_err(|e| refused(c, e))?;
    let srid = srs.map(|s| s.id).or(named).unwrap_or(OF_GEOJSON);
    let shape = shape.ok_or(Exit::Null)?;
    in_system(c, c.srs(srid)?, shape)
}
