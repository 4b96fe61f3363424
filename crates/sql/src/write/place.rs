//! Where rows lie: the table itself, or one of its partitions.

use std::ops::Deref;
use std::sync::Arc;

use millpond_store::{Error, Table};

use super::WriteContext;
use crate::error::{SqlError, SqlResult};
use crate::partition::{Partitioning, no_partition, no_partition_for_row};
use crate::types::Schema;
use crate::value::Value;

/// Where a row is: what changing it takes besides its image.
#[derive(Clone, Debug, Default)]
pub struct RowLocator {
    /// Clustered key.
    pub key: Vec<u8>,
    /// Position of its partition; 0 in a table without.
    pub part: u32,
}

/// A row that is stored, locked exclusively: where, and its image.
#[derive(Clone, Copy)]
pub struct StoredRow<'r> {
    /// Clustered key.
    pub key: &'r [u8],
    /// Position of its partition; 0 in a table without.
    pub part: u32,
    /// Its image.
    pub image: &'r [u8],
}

/// A table or a partition of it.
pub(super) enum Part<'t> {
    Whole(&'t Table),
    One(Arc<Table>),
}

impl Deref for Part<'_> {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        match self {
            Part::Whole(table) => table,
            Part::One(table) => table,
        }
    }
}

/// The partition at a position, open; the table if it has none.
#[inline]
pub(super) fn part<'c>(
    schema: &Schema,
    cx: &WriteContext<'c>,
    position: u32,
) -> SqlResult<Part<'c>> {
    match &schema.partitioning {
        None => Ok(Part::Whole(cx.table)),
        Some(p) => p
            .open(cx.engine, cx.table, position as usize)
            .map(Part::One),
    }
}

/// The partition that a row of values goes to: errors 1526, and 1748 if it is not among those `given`.
#[inline]
pub(super) fn route(
    schema: &Schema,
    given: Option<&[usize]>,
    values: &[Value<'_>],
    cx: &WriteContext<'_>,
    buffer: &mut Vec<u8>,
) -> SqlResult<u32> {
    match &schema.partitioning {
        None => Ok(0),
        Some(p) => route_among(p, schema, given, values, cx, buffer),
    }
}

fn route_among(
    p: &Partitioning,
    schema: &Schema,
    given: Option<&[usize]>,
    values: &[Value<'_>],
    cx: &WriteContext<'_>,
    buffer: &mut Vec<u8>,
) -> SqlResult<u32> {
    let Some(at) = p.route(schema, values, cx.env, buffer)? else {
        let f = p.function(schema, cx.env)?;
        return Err(no_partition(f, values, cx.env));
    };
    if given.is_some_and(|g| g.binary_search(&at).is_err()) {
        return Err(SqlError::new(
            1748,
            "Found a row not matching the given partition set",
        ));
    }
    Ok(at as u32)
}

/// The same for an image.
pub(super) fn route_image(
    schema: &Schema,
    image: &[u8],
    cx: &WriteContext<'_>,
    buffer: &mut Vec<u8>,
) -> SqlResult<u32> {
    let Some(p) = &schema.partitioning else {
        return Ok(0);
    };
    match p.route_row(schema, image, cx.env, buffer)? {
        Some(at) => Ok(at as u32),
        None => Err(no_partition_for_row(p, schema, image, cx.env)),
    }
}

/// Whether IGNORE makes an error of [`route`] a warning.
pub(super) fn ignorable(e: &SqlError) -> bool {
    matches!(e.code, 1526 | 1748)
}

/// Stores the next image of a row, in the partition where it belongs now.
pub(super) fn change(
    schema: &Schema,
    cx: &mut WriteContext<'_>,
    row: &StoredRow<'_>,
    to: u32,
    new: &[u8],
) -> SqlResult<Result<(), Error>> {
    let from = part(schema, cx, row.part)?;
    if to == row.part {
        return Ok(from.update(cx.txn, row.key, row.image, new));
    }
    let target = part(schema, cx, to)?;
    // Inserted first: a duplicate there leaves the row where it is.
    Ok(target
        .insert(cx.txn, new)
        .and_then(|()| from.delete(cx.txn, row.key, row.image)))
}
