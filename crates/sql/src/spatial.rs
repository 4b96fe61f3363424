//! SPATIAL indexes: the entries that a row has, and where those of rows lie that a search may find.
//!
//! A SPATIAL index is a secondary tree with any number of entries a row (`millpond_store::KeyCodec::is_multi`): one for each cell of the
//! plane that its geometry's bounding rectangle is in, four at most ([`cells`]). A value without a point has none. Entries follow from
//! the row alone, so they are kept, rolled back, purged and recovered as those of any index, and built by sorting. They say that a row's rectangle may meet
//! another; the condition for whose sake they were read is asked of the row.
//!
//! Nothing here reads tables.

use std::ops::Bound;

use millpond_store::{KeyRange, Keys};

use crate::catalog::Schema;
use crate::value::geometry::{Bounds, Geometry, cells};
use crate::value::{Value, Zone};

fn geometry_of(value: &Value<'_>) -> Option<Geometry> {
    match value {
        Value::Bytes(bytes) => Geometry::of_bytes(bytes),
        _ => None,
    }
}

/// Adds the keys of a row's entries in a SPATIAL index over a column, in order.
pub fn entries(schema: &Schema, column: usize, row: &[u8], out: &mut Keys) {
    let value = schema.layout().column(schema, row, column, Zone::UTC);
    let bounds = geometry_of(&value).and_then(|g| Bounds::of(&g.shape));
    if let Some(bounds) = bounds {
        cells::keys(&bounds, &mut |key| {
            out.add(|bytes| bytes.extend_from_slice(key));
        });
    }
    out.sort();
}

/// The range of a table's all: what is asked of a search that each row has to answer, with an error perhaps.
pub fn everything() -> KeyRange {
    KeyRange {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    }
}

/// Whether a search found nothing out about where rows lie ([`everything`]).
pub fn is_everything(range: &KeyRange) -> bool {
    matches!(
        (&range.lower, &range.upper),
        (Bound::Unbounded, Bound::Unbounded)
    )
}

/// The ranges of a SPATIAL index in which the entries of all rows are that may meet a geometry: none for NULL and for a geometry without
/// a point, which meet nothing; [`everything`] for what isn't a geometry of the column's reference system.
pub fn ranges(schema: &Schema, index: usize, geometry: &Value<'_>) -> Vec<KeyRange> {
    if matches!(geometry, Value::Null) {
        return Vec::new();
    }
    let column = schema.indexes[index].spatial;
    let srid = column.and_then(|c| schema.columns[c].ty.srid);
    let Some(g) = geometry_of(geometry).filter(|g| Some(g.srid) == srid) else {
        return vec![everything()];
    };
    let Some(bounds) = Bounds::of(&g.shape) else {
        return Vec::new();
    };
    let range = |(from, to): (cells::CellKey, cells::CellKey)| KeyRange {
        lower: Bound::Included(from.to_vec()),
        upper: Bound::Included(to.to_vec()),
    };
    cells::ranges(&bounds).into_iter().map(range).collect()
}
