//! Reading a table by a SPATIAL index: where a condition holds only of rows whose geometry meets one that is known.
//!
//! As in MySQL such an index is used for a column with an SRID, which says that all its values are of one reference system; and of a plane, because on the
//! earth nothing is asked of other geometries than points.

use super::access::{Bounded, Choice, Request, choice, known};
use crate::expr::{Expr, ExprKind};
use crate::plan::nodes::SpatialAccess;
use crate::value::geometry::Srs;

/// Functions of two geometries that hold only if these have a point in common, or their bounding rectangles have.
const MEETING: [&str; 15] = [
    "MBRCONTAINS",
    "MBRWITHIN",
    "MBRCOVERS",
    "MBRCOVEREDBY",
    "MBRINTERSECTS",
    "MBREQUALS",
    "MBRTOUCHES",
    "MBROVERLAPS",
    "ST_CONTAINS",
    "ST_WITHIN",
    "ST_INTERSECTS",
    "ST_EQUALS",
    "ST_TOUCHES",
    "ST_OVERLAPS",
    "ST_CROSSES",
];
/// Part of a table's rows that meet a geometry of which nothing is known yet.
const SHARE: f64 = 0.05;
/// What looking for entries costs: those of cells around the search's own, which are few, lie apart.
const SEEKS: f64 = 6.0;

/// The column and the geometry that a condition says must meet.
fn met<'e>(r: &Request<'_>, e: &'e Expr) -> Option<(usize, &'e Expr)> {
    let ExprKind::Function(function, args) = &e.kind else {
        return None;
    };
    let [a, b] = &args[..] else {
        return None;
    };
    if !MEETING.contains(&function.name()) {
        return None;
    }
    let column = |e: &Expr| match e.kind {
        ExprKind::Column { source, column, .. } if source == r.source => Some(column),
        _ => None,
    };
    let pairs = [(column(a), b), (column(b), a)].into_iter();
    let mut usable = pairs.filter_map(|(column, other)| Some((column?, other)));
    usable.find(|(_, other)| known(other, r, false))
}

/// The ways that conditions on geometries give; `total`: rows of the table.
pub fn choices(r: &Request<'_>, total: f64) -> Vec<Choice> {
    if r.in_order || r.schema.indexes.iter().all(|i| i.spatial.is_none()) {
        return Vec::new();
    }
    let found = r.conds.iter().filter_map(|c| met(r, &c.expr));
    found
        .flat_map(|(column, geometry)| ways(r, column, geometry, total))
        .collect()
}

fn ways(r: &Request<'_>, column: usize, geometry: &Expr, total: f64) -> Vec<Choice> {
    let srs = r.schema.columns[column].ty.srid.and_then(Srs::of);
    if srs.is_none_or(|srs| srs.is_geographic()) {
        return Vec::new();
    }
    let usable = |index: &usize| {
        let asked = r.hints.only.as_ref().is_none_or(|l| l.contains(index));
        r.schema.indexes[*index].spatial == Some(column) && asked && !r.hints.ignore.contains(index)
    };
    let indexes = (0..r.schema.indexes.len()).filter(usable);
    let way = |index| {
        let mut way = choice(r, 0, Bounded::default(), total);
        way.access.covering = None;
        way.access.spatial = Some(Box::new(SpatialAccess {
            index,
            geometry: geometry.clone(),
        }));
        let counted = match r.peek.knows(geometry) {
            true => r.peek.ranges((r.position, r.table), &way.access),
            false => None,
        };
        let rows = counted.unwrap_or(total * SHARE).clamp(1.0, total);
        way.take_rows(rows, counted.is_some());
        way.seeks = SEEKS;
        way
    };
    indexes.map(way).collect()
}
