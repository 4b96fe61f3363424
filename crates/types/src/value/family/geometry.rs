//! Geometries: bytes in MySQL's internal form, which columns hold to.

use super::super::Value;
use super::super::assign::Target;
use crate::error::{SqlError, SqlResult};
use crate::types::SqlType;
use crate::value::geometry::{Geometry, Kind};

/// Error 1416: what a spatial column is given is no geometry for it. There is no zero of its type, either.
pub fn no_geometry() -> SqlError {
    SqlError::new(
        1416,
        "Cannot get geometry object from data you send to the GEOMETRY field",
    )
}

/// Bytes are kept as they are if they are a geometry of the column's type (1416) in its reference system (3643).
pub(super) fn assign<'a>(value: Value<'a>, column: Target<'_>) -> SqlResult<Value<'a>> {
    let Value::Bytes(bytes) = &value else {
        return Err(no_geometry());
    };
    let g = Geometry::of_bytes(bytes).ok_or_else(no_geometry)?;
    // As in MySQL, a column of collections takes all.
    match column.ty.geometry_kind() {
        None | Some(Kind::Collection) => {}
        Some(kind) if kind == g.kind() => {}
        Some(_) => return Err(no_geometry()),
    }
    if let Some(srid) = column.ty.srid.filter(|srid| *srid != g.srid) {
        let m = format!(
            "The SRID of the geometry does not match the SRID of the column '{}'. The SRID of the geometry is {}, \
             but the SRID of the column is {srid}. Consider changing the SRID of the geometry or the SRID property of the column.",
            column.name, g.srid
        );
        return Err(SqlError::new(3643, m));
    }
    Ok(value)
}

/// What errors about CAST call a type: `cast_as_point`.
fn function_name(kind: Kind) -> String {
    let name = match kind {
        Kind::Collection => "geometrycollection".to_string(),
        kind => kind.name().to_lowercase(),
    };
    format!("cast_as_{name}")
}

/// CAST(... AS POINT) and the like. Errors 3037, 4032.
pub(super) fn cast<'a>(value: Value<'a>, ty: &SqlType) -> SqlResult<Value<'a>> {
    let Some(to) = ty.geometry_kind() else {
        return Ok(value);
    };
    let read = match &value {
        Value::Bytes(bytes) => Geometry::of_bytes(bytes),
        _ => None,
    };
    let Some(g) = read else {
        let m = format!(
            "Invalid GIS data provided to function {}.",
            function_name(to)
        );
        return Err(SqlError::new(3037, m));
    };
    let from = g.kind();
    if from == to {
        return Ok(value);
    }
    let Some(shape) = g.shape.converted(to) else {
        let m = format!("Invalid cast from {} to {}.", from.name(), to.name());
        return Err(SqlError::new(4032, m));
    };
    let made = Geometry { shape, ..g };
    Ok(Value::Bytes(made.to_bytes().into()))
}
