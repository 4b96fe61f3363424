//! Geohashes.

use super::make::in_system;
use super::{Call, Computed, Exit};
use crate::error::SqlError;
use crate::value::Value;
use crate::value::geometry::geohash::{self, MAX_LENGTH};
use crate::value::geometry::{Point, Shape};

/// ST_GeoHash(longitude, latitude, length) or (point, length). Error 1690.
pub(super) fn geohash<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let place = match c.len() {
        2 => c.point(0)?.1,
        _ => Point {
            x: c.double(0)?,
            y: c.double(1)?,
        },
    };
    let length = usize::try_from(c.int(c.len() - 1)?).ok();
    let Some(length) = length.filter(|n| (1..=MAX_LENGTH).contains(n)) else {
        return Err(c.out_of_range("max geohash length"));
    };
    if !(-180.0..=180.0).contains(&place.x) {
        return Err(c.out_of_range("longitude"));
    }
    if !(-90.0..=90.0).contains(&place.y) {
        return Err(c.out_of_range("latitude"));
    }
    Ok(Value::string(geohash::encode(place, length)))
}

/// The place of the first argument. Error 1411.
fn place(c: &Call<'_, '_>) -> Result<Point, Exit> {
    let hash = c.text(0)?;
    geohash::decode(&hash).ok_or_else(|| {
        let hash = String::from_utf8_lossy(&hash).into_owned();
        let m = format!(
            "Incorrect geohash value: '{hash}' for function {}",
            c.name()
        );
        SqlError::new(1411, m).into()
    })
}

/// ST_LatFromGeoHash().
pub(super) fn lat_from_geohash<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Double(place(c)?.y))
}

/// ST_LongFromGeoHash().
pub(super) fn long_from_geohash<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::Double(place(c)?.x))
}

/// ST_PointFromGeoHash(geohash, srid).
pub(super) fn point_from_geohash<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let p = place(c)?;
    in_system(c, c.srid_argument(1)?, Shape::Point(p))
}
