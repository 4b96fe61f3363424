//! ST_Buffer(), and the strategies that are values of their own: twelve bytes, the strategy's number and a double, little-endian, as MySQL has them.

use std::borrow::Cow;

use super::relate::refused;
use super::{Call, Computed, Exit, result};
use crate::value::Value;
use crate::value::geometry::{Join, Shape, Strategies};

const BYTES: usize = 12;
/// Most points of a circle, as `max_points_in_geometry` is set if it isn't changed.
const MOST_POINTS: f64 = 65_536.0;

/// Names of strategies, their numbers, and whether they have a number of points or a limit.
const NAMES: [(&str, u32, bool); 6] = [
    ("end_round", 1, true),
    ("end_flat", 2, false),
    ("join_round", 3, true),
    ("join_miter", 4, true),
    ("point_circle", 5, true),
    ("point_square", 6, false),
];

/// ST_Buffer_Strategy(name [, points or limit]). Error 1210.
pub(super) fn strategy<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let name = c.text(0)?;
    let name = String::from_utf8_lossy(&name);
    let named = |(n, ..): &&(&str, u32, bool)| n.eq_ignore_ascii_case(&name);
    let found = NAMES.iter().find(named);
    let &(_, number, asks) = found.ok_or_else(|| c.incorrect_arguments())?;
    if asks != (c.len() == 2) {
        return Err(c.incorrect_arguments());
    }
    let value = if asks { c.double(1)? } else { 0.0 };
    if asks && !(value > 0.0 && value <= MOST_POINTS) {
        return Err(c.incorrect_arguments());
    }
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend_from_slice(&value.to_le_bytes());
    Ok(Value::Bytes(Cow::Owned(bytes)))
}

/// Puts the strategy of an argument among the others. Error 1210 for what is none, and for a second one about the same thing.
fn add(c: &Call<'_, '_>, i: usize, to: &mut Strategies, seen: &mut [bool; 3]) -> Result<(), Exit> {
    let bytes = c.text(i)?;
    let wrong = || c.incorrect_arguments();
    let bytes: [u8; BYTES] = (&*bytes).try_into().map_err(|_| wrong())?;
    let (number, value) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
    let value = f64::from_le_bytes(value.try_into().map_err(|_| wrong())?);
    let number = u32::from_le_bytes(*number);
    let asks = NAMES.iter().find(|n| n.1 == number).ok_or_else(wrong)?.2;
    if asks && !(value > 0.0 && value <= MOST_POINTS) {
        return Err(wrong());
    }
    let about = match number {
        1 | 2 => 0,
        3 | 4 => 1,
        _ => 2,
    };
    if std::mem::replace(&mut seen[about], true) {
        return Err(wrong());
    }
    match number {
        1 => to.end = Some(value),
        2 => to.end = None,
        3 => to.join = Join::Round(value),
        4 => to.join = Join::Miter(value),
        5 => to.point = Some(value),
        _ => to.point = None,
    }
    Ok(())
}

/// Whether there is something else than areas in a shape.
fn has_more_than_areas(shape: &Shape) -> bool {
    match shape {
        Shape::Polygon(_) | Shape::MultiPolygon(_) => false,
        Shape::Collection(members) => members.iter().any(has_more_than_areas),
        _ => true,
    }
}

/// ST_Buffer(geometry, distance [, strategy ...]). Errors 1210, 3037, 3618.
pub(super) fn buffer<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let g = c.geometry(0)?;
    let distance = c.double(1)?;
    let (mut strategies, mut seen) = (Strategies::default(), [false; 3]);
    for i in 2..c.len() {
        add(c, i, &mut strategies, &mut seen)?;
    }
    if !distance.is_finite() || distance < 0.0 && has_more_than_areas(&g.shape) {
        return Err(c.incorrect_arguments());
    }
    if distance == 0.0 || g.shape.is_empty() {
        return result(g.srid, g.shape);
    }
    c.on_plane(&g)?;
    let made = g.shape.buffer(distance, &strategies);
    result(g.srid, made.map_err(|why| refused(c, why))?)
}
