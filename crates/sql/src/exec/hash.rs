//! Hash joins: the inner side is read once and found again by the bytes of its keys.

use std::rc::Rc;

use hashbrown::HashMap;

use super::levels::{self, Emit};
use super::scan;
use super::state::{Flow, Place, Rows, State, row_bytes};
use crate::error::SqlResult;
use crate::expr::{EvalContext, Expr, RowRef};
use crate::plan::nodes::{Block, HashJoin, Level, LevelFrom, SourceKind};
use crate::row::encode_sort_value;
use crate::types::SqlType;
use crate::value::{self, Value};

/// The inner side of a hash join.
#[derive(Default)]
pub struct HashSide {
    /// Rows as bytes (stored tables).
    stored: Vec<Box<[u8]>>,
    /// Rows as values (derived tables).
    values: Vec<Box<[Value<'static>]>>,
    /// Where the rows of `stored` are, if that is asked for.
    places: Vec<Place>,
    /// Key bytes to positions.
    map: HashMap<Box<[u8]>, Vec<u32>>,
}

/// The bytes of a key; `false` if it can match nothing (a NULL under `=`).
fn key(
    list: &[Expr],
    types: &[SqlType],
    null_safe: &[bool],
    cx: &EvalContext<'_>,
    out: &mut Vec<u8>,
) -> SqlResult<bool> {
    out.clear();
    for ((e, ty), safe) in list.iter().zip(types).zip(null_safe) {
        let v = e.eval(cx)?;
        if v.is_null() && !safe {
            return Ok(false);
        }
        hash_value(v, &e.ty, ty, cx, out)?;
    }
    Ok(true)
}

/// Appends bytes that are equal for values that compare equal.
pub fn hash_value(
    v: Value<'_>,
    own: &SqlType,
    ty: &SqlType,
    cx: &EvalContext<'_>,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    let v = match v {
        // Digits beyond its type's take no part in comparisons.
        Value::Decimal(d) => Value::Decimal(own.shown(d)),
        v => v,
    };
    let v = if own.base == ty.base && own.unsigned == ty.unsigned || v.is_null() {
        v
    } else {
        value::cast(v, ty, cx.session)?
    };
    encode_sort_value(&v, ty, false, out);
    Ok(())
}

fn build<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    h: &'s HashJoin,
    rows: &[RowRef<'_>],
) -> SqlResult<HashSide> {
    let mut side = HashSide::default();
    let mut bytes = 0;
    let mut buffer = Vec::new();
    let source = &b.sources[h.source - b.base];
    match (&source.kind, &h.access) {
        (SourceKind::Table { .. }, Some(access)) => {
            let Some((table, mode)) = scan::stored(st, source) else {
                return Ok(side);
            };
            scan::table(st, table, access, mode, rows, |st, hit| {
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[h.source] = hit.row;
                if !st.pass(b, &h.build_filter, &now)?
                    || !key(
                        &h.keys,
                        &h.types,
                        &h.null_safe,
                        &st.context(&now),
                        &mut buffer,
                    )?
                {
                    return Ok(Flow::Reject);
                }
                let at = match hit.row {
                    RowRef::Values(v) => {
                        bytes += row_bytes(v);
                        side.values
                            .push(v.iter().map(|v| v.clone().into_owned()).collect());
                        side.values.len() - 1
                    }
                    _ => {
                        bytes += hit.bytes.len() + 32;
                        side.stored.push(hit.bytes.into());
                        if !st.places.is_empty() {
                            bytes += hit.clustered_key.len() + size_of::<Place>();
                            side.places.push(Place {
                                key: hit.clustered_key.into(),
                                part: hit.part,
                            });
                        }
                        side.stored.len() - 1
                    }
                };
                bytes += buffer.len() + 48;
                st.check_memory(bytes, "a join")?;
                side.map.entry_ref(&buffer[..]).or_default().push(at as u32);
                Ok(Flow::Continue)
            })?;
        }
        _ => {
            let kept = levels::computed(st, source, rows)?;
            for r in kept.iter() {
                let mut now: Rows<'_> = Rows::from_slice(rows);
                now[h.source] = RowRef::Values(r);
                if !st.pass(b, &h.build_filter, &now)?
                    || !key(
                        &h.keys,
                        &h.types,
                        &h.null_safe,
                        &st.context(&now),
                        &mut buffer,
                    )?
                {
                    continue;
                }
                bytes += row_bytes(r) + buffer.len() + 48;
                st.check_memory(bytes, "a join")?;
                side.values.push(r.clone());
                let at = side.values.len() - 1;
                side.map.entry_ref(&buffer[..]).or_default().push(at as u32);
            }
        }
    }
    Ok(side)
}

/// Forgets the sides that an earlier run of a subquery built: its conditions may depend on the blocks around.
pub fn forget(st: &mut State<'_>, levels: &[Level]) {
    for l in levels {
        match &l.from {
            LevelFrom::Hash(h) => st.hashes[h.id] = None,
            LevelFrom::Nest(list) => forget(st, list),
            LevelFrom::Table(..) | LevelFrom::Rows(_) => {}
        }
    }
}

/// The rows of the inner side that match.
pub fn probe<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    level: &'s Level,
    h: &'s HashJoin,
    rows: &[RowRef<'_>],
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let side = match &st.hashes[h.id] {
        Some(side) => side.clone(),
        None => {
            let side = Rc::new(build(st, b, h, rows)?);
            st.hashes[h.id] = Some(side.clone());
            side
        }
    };
    let mut buffer = st.scratch.take();
    let usable = key(
        &h.probes,
        &h.types,
        &h.null_safe,
        &st.context(rows),
        &mut buffer,
    )?;
    let hits = if usable {
        side.map.get(&buffer[..])
    } else {
        None
    };
    st.scratch.give(buffer);
    let Some(hits) = hits else {
        return Ok(Flow::Continue);
    };
    let schema = match &b.sources[h.source - b.base].kind {
        SourceKind::Table { schema, .. } => Some(schema),
        _ => None,
    };
    for &at in hits {
        st.tick()?;
        let mut now: Rows<'_> = Rows::from_slice(rows);
        now[h.source] = match schema {
            Some(schema) if side.values.is_empty() => {
                RowRef::Stored(schema, &side.stored[at as usize])
            }
            _ => RowRef::Values(&side.values[at as usize]),
        };
        if let Some(place) = side.places.get(at as usize) {
            st.place(h.source, &place.key, place.part);
        }
        if st.pass(b, &level.on, &now)? && emit(st, &now)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}
