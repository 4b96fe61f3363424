//! An access path's conditions, with values, as ranges of index keys.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use millpond_store::{KeyRange, Table};
use smallvec::SmallVec;

use super::nodes::{Access, EqCond, RangeCond, Skip};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::expr::{EvalContext, Expr, RowRef, pattern_prefix, text_number};
use crate::partition;
use crate::row;
use crate::spatial;
use crate::types::{Column, Schema, SqlType};
use crate::value::{Lookup, Value, Zone, lookup};

/// What to read.
pub enum Ranges {
    /// Nothing can match.
    Nothing,
    /// At most one row: its key was written to the caller's buffer.
    Point,
    /// These ranges, ascending and apart. `inexact`: conditions meant to be decided by the index were not.
    List {
        /// The ranges.
        list: SmallVec<[KeyRange; 1]>,
        /// Whether [`Access::recheck`] must be checked.
        inexact: bool,
    },
}

type Prefix = SmallVec<[Value<'static>; 3]>;

enum Part {
    Values(SmallVec<[Value<'static>; 1]>),
    Nothing,
    Unusable,
}

fn look(e: &Expr, ty: &SqlType, cx: &EvalContext<'_>) -> SqlResult<Lookup> {
    let v = e.shown(cx)?;
    // What the comparison would say of each row.
    if let Value::Bytes(text) = &v
        && ty.is_numeric()
    {
        text_number(text, Some(e), cx)?;
    }
    Ok(lookup(&v, ty, cx.session.zone.get()))
}

fn eq_part(c: &EqCond, column: &Column, cx: &EvalContext<'_>) -> SqlResult<Part> {
    let ty = &column.ty;
    let one = |v| {
        let mut s = SmallVec::new();
        s.push(v);
        Part::Values(s)
    };
    Ok(match c {
        // Keys of columns that cannot be NULL have no form for it.
        EqCond::IsNull if !column.nullable => Part::Nothing,
        EqCond::IsNull => one(Value::Null),
        EqCond::Value(e) => match look(e, ty, cx)? {
            Lookup::Exact(v) => one(v),
            Lookup::Unusable => Part::Unusable,
            _ => Part::Nothing,
        },
        EqCond::NullSafe(e) => match look(e, ty, cx)? {
            Lookup::Exact(v) => one(v),
            Lookup::Null if column.nullable => one(Value::Null),
            Lookup::Unusable => Part::Unusable,
            _ => Part::Nothing,
        },
        EqCond::In(list) => {
            let mut values = SmallVec::new();
            for e in list {
                match look(e, ty, cx)? {
                    Lookup::Exact(v) => values.push(v),
                    Lookup::Unusable => return Ok(Part::Unusable),
                    _ => {}
                }
            }
            if values.is_empty() {
                Part::Nothing
            } else {
                Part::Values(values)
            }
        }
    })
}

/// Whether every part of the index that a condition is to fix to one value is fixed now. If not, more of the index is read,
/// which then is in another order than was planned with.
pub fn are_fixed(a: &Access, schema: &Schema, cx: &EvalContext<'_>) -> SqlResult<bool> {
    let parts = &schema.indexes[a.index].parts;
    // Whoever reads says what is to be said about the values.
    let before = cx.session.diagnostics.borrow().len();
    let mut fixed = true;
    for (c, part) in a.eq.iter().zip(parts) {
        let part = eq_part(c, &schema.columns[part.column], cx)?;
        fixed &= !matches!(part, Part::Unusable);
    }
    cx.session.diagnostics.borrow_mut().truncate(before);
    Ok(fixed)
}

/// The ranges that an access reads now. `key` is empty, and gets the key of a [`Ranges::Point`].
pub fn build(
    a: &Access,
    schema: &Schema,
    cx: &EvalContext<'_>,
    key: &mut Vec<u8>,
) -> SqlResult<Ranges> {
    if let Some(by) = &a.spatial {
        let geometry = by.geometry.eval(cx)?;
        return Ok(match spatial::ranges(schema, by.index, &geometry) {
            list if list.is_empty() => Ranges::Nothing,
            list => Ranges::List {
                list: list.into(),
                inexact: false,
            },
        });
    }
    let tz = cx.session.zone.get();
    let parts = &schema.indexes[a.index].parts;
    if a.unique {
        let mut values: Prefix = SmallVec::new();
        let mut exact = true;
        for (n, c) in a.eq.iter().enumerate() {
            match eq_part(c, &schema.columns[parts[n].column], cx)? {
                Part::Values(mut v) => values.extend(v.pop()),
                Part::Nothing => return Ok(Ranges::Nothing),
                Part::Unusable => {
                    exact = false;
                    break;
                }
            }
        }
        if exact {
            row::encode_key_values(schema, a.index, &values, tz, key);
            return Ok(Ranges::Point);
        }
    }
    let mut list: SmallVec<[KeyRange; 1]> = SmallVec::new();
    let mut inexact = false;
    if a.arms.is_empty() {
        inexact = alternative((a.index, 0), &a.eq, &a.range, schema, cx, &mut list)?;
    }
    for arm in &a.arms {
        inexact |= alternative((a.index, 0), &arm.eq, &arm.range, schema, cx, &mut list)?;
    }
    if list.is_empty() {
        return Ok(Ranges::Nothing);
    }
    if list.len() > 1 {
        merge(&mut list);
    }
    Ok(Ranges::List { list, inexact })
}

/// The ranges that a skip scan of an index reads now within each combination of the parts before; the bytes of those come before theirs.
pub fn within(
    skip: &Skip,
    index: usize,
    schema: &Schema,
    cx: &EvalContext<'_>,
) -> SqlResult<Ranges> {
    let mut list: SmallVec<[KeyRange; 1]> = SmallVec::new();
    let from = (index, skip.parts);
    let inexact = alternative(from, &skip.eq, &skip.range, schema, cx, &mut list)?;
    if list.is_empty() {
        return Ok(Ranges::Nothing);
    }
    if list.len() > 1 {
        merge(&mut list);
    }
    Ok(Ranges::List { list, inexact })
}

/// Adds the ranges of one alternative; whether conditions on it must be checked again. Its conditions are those on the parts of an
/// index from the one given on.
fn alternative(
    (index, first): (usize, usize),
    eq: &[EqCond],
    range: &Option<RangeCond>,
    schema: &Schema,
    cx: &EvalContext<'_>,
    list: &mut SmallVec<[KeyRange; 1]>,
) -> SqlResult<bool> {
    let tz = cx.session.zone.get();
    let parts = &schema.indexes[index].parts[first..];
    let mut prefixes: SmallVec<[Prefix; 1]> = SmallVec::new();
    prefixes.push(Prefix::new());
    let mut inexact = false;
    for (n, c) in eq.iter().enumerate() {
        match eq_part(c, &schema.columns[parts[n].column], cx)? {
            Part::Nothing => return Ok(false),
            Part::Unusable => {
                inexact = true;
                break;
            }
            Part::Values(values) => {
                if let [v] = &values[..] {
                    for p in &mut prefixes {
                        p.push(v.clone());
                    }
                } else {
                    let before = std::mem::take(&mut prefixes);
                    for p in &before {
                        for v in &values {
                            let mut p = p.clone();
                            p.push(v.clone());
                            prefixes.push(p);
                        }
                    }
                }
            }
        }
    }
    let at = prefixes[0].len();
    let mut bounds = Bounds::default();
    if let Some(r) = range
        && !inexact
    {
        bounds = Bounds::new(r, schema, index, first + at, cx)?;
        if bounds.nothing {
            return Ok(false);
        }
        inexact |= bounds.inexact;
    }
    for mut p in prefixes {
        list.push(bounds.range(schema, (index, first), &mut p, tz));
    }
    Ok(inexact)
}

/// A place between entries: before or after all whose keys start with these bytes. `None`: the near end.
type Place<'k> = Option<(&'k [u8], bool)>;

fn start(r: &KeyRange) -> Place<'_> {
    match &r.lower {
        Bound::Included(k) => Some((k, false)),
        Bound::Excluded(k) => Some((k, true)),
        Bound::Unbounded => None,
    }
}

fn end(r: &KeyRange) -> Place<'_> {
    match &r.upper {
        Bound::Included(k) => Some((k, true)),
        Bound::Excluded(k) => Some((k, false)),
        Bound::Unbounded => None,
    }
}

fn order((a, a_after): (&[u8], bool), (b, b_after): (&[u8], bool)) -> Ordering {
    let n = a.len().min(b.len());
    a[..n]
        .cmp(&b[..n])
        .then_with(|| match a.len().cmp(&b.len()) {
            Ordering::Equal => a_after.cmp(&b_after),
            // All that starts with the longer one lies inside of what starts with the shorter one.
            Ordering::Less if a_after => Ordering::Greater,
            Ordering::Less => Ordering::Less,
            Ordering::Greater if b_after => Ordering::Less,
            Ordering::Greater => Ordering::Greater,
        })
}

fn order_starts(a: Place<'_>, b: Place<'_>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => order(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

fn order_ends(a: Place<'_>, b: Place<'_>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => order(a, b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Sorts ranges and joins those that meet, so that they are apart. Empty ones go.
fn merge(list: &mut SmallVec<[KeyRange; 1]>) {
    let meets = |from: Place<'_>, to: Place<'_>| match (from, to) {
        (Some(from), Some(to)) => order(from, to) != Ordering::Greater,
        _ => true,
    };
    list.retain(|r| match (start(r), end(r)) {
        (Some(a), Some(b)) => order(a, b) == Ordering::Less,
        _ => true,
    });
    list.sort_by(|a, b| order_starts(start(a), start(b)));
    let mut kept = 0;
    for at in 1..list.len() {
        if meets(start(&list[at]), end(&list[kept])) {
            if order_ends(end(&list[at]), end(&list[kept])) == Ordering::Greater {
                list[kept].upper = list[at].upper.clone();
            }
        } else {
            kept += 1;
            list.swap(kept, at);
        }
    }
    list.truncate(kept + 1);
}

/// Bounds on the part after the fixed ones.
#[derive(Default)]
struct Bounds {
    used: bool,
    nothing: bool,
    inexact: bool,
    low: Option<(Value<'static>, bool)>,
    high: Option<(Value<'static>, bool)>,
    like: Option<Vec<u8>>,
    // A prefix part, whose bounds are inclusive because longer values share them.
    prefix: bool,
}

impl Bounds {
    fn new(
        r: &RangeCond,
        schema: &Schema,
        index: usize,
        at: usize,
        cx: &EvalContext<'_>,
    ) -> SqlResult<Bounds> {
        let part = &schema.indexes[index].parts[at];
        let ty = &schema.columns[part.column].ty;
        let mut b = Bounds {
            used: true,
            prefix: part.prefix.is_some(),
            ..Bounds::default()
        };
        if let Some((e, inclusive)) = &r.lower {
            match look(e, ty, cx)? {
                Lookup::Exact(v) => b.low = Some((v, *inclusive)),
                Lookup::Above(v) => b.low = Some((v, false)),
                Lookup::BelowAll => {}
                Lookup::AboveAll | Lookup::Null => b.nothing = true,
                Lookup::Unusable => b.inexact = true,
            }
        }
        if let Some((e, inclusive)) = &r.upper {
            match look(e, ty, cx)? {
                Lookup::Exact(v) => b.high = Some((v, *inclusive)),
                Lookup::Above(v) => b.high = Some((v, true)),
                Lookup::AboveAll => {}
                Lookup::BelowAll | Lookup::Null => b.nothing = true,
                Lookup::Unusable => b.inexact = true,
            }
        }
        if b.inexact {
            // Both may be bounds of one BETWEEN, which compares with neither in the index's order then.
            (b.low, b.high) = (None, None);
        }
        if let Some(e) = &r.like {
            match e.eval(cx)? {
                Value::Null => b.nothing = true,
                Value::Bytes(p) => {
                    let (fixed, _) = pattern_prefix(&p, Some('\\'));
                    if !fixed.is_empty() {
                        b.like = Some(fixed);
                    }
                }
                _ => {}
            }
        }
        Ok(b)
    }

    fn range(
        &self,
        schema: &Schema,
        (index, first): (usize, usize),
        prefix: &mut Prefix,
        tz: Zone,
    ) -> KeyRange {
        let mut start = Vec::new();
        row::encode_key_values_from(schema, index, first, prefix, tz, &mut start);
        let open = |k: &Vec<u8>| {
            if k.is_empty() {
                Bound::Unbounded
            } else {
                Bound::Included(k.clone())
            }
        };
        if !self.used {
            return KeyRange {
                lower: open(&start),
                upper: open(&start),
            };
        }
        let at = first + prefix.len();
        if let Some(like) = &self.like {
            let mut k = start.clone();
            if row::encode_key_like(schema, index, at, like, &mut k) {
                return KeyRange {
                    lower: Bound::Included(k.clone()),
                    upper: Bound::Included(k),
                };
            }
        }
        let part = &schema.indexes[index].parts[at];
        let mut encode = |v: &Value<'static>| {
            prefix.push(v.clone());
            let mut k = Vec::new();
            row::encode_key_values_from(schema, index, first, prefix, tz, &mut k);
            prefix.pop();
            k
        };
        let mut bound = |v: &Option<(Value<'static>, bool)>| {
            v.as_ref().map(|(v, inclusive)| {
                let k = encode(v);
                if *inclusive || self.prefix {
                    Bound::Included(k)
                } else {
                    Bound::Excluded(k)
                }
            })
        };
        let (low, high) = (bound(&self.low), bound(&self.high));
        // NULL satisfies no comparison; it sorts before all values (after them in a descending part).
        let nullable = schema.columns[part.column].nullable;
        let low = low
            .or_else(|| (nullable && !self.inexact).then(|| Bound::Excluded(encode(&Value::Null))));
        let (first, last) = if part.desc { (high, low) } else { (low, high) };
        KeyRange {
            lower: first.unwrap_or_else(|| open(&start)),
            upper: last.unwrap_or_else(|| open(&start)),
        }
    }
}

/// Entries an access with constants, and values of placeholders, would read; `None` if that cannot be told.
pub fn estimate(
    table: &Arc<Table>,
    schema: &Schema,
    a: &Access,
    env: &SessionEnv,
    params: &[Value<'_>],
) -> Option<u64> {
    let rows: [RowRef<'_>; 0] = [];
    let cx = EvalContext {
        rows: &rows,
        params,
        session: env,
    };
    let mut key = Vec::new();
    // Warnings are for whoever runs it.
    let before = env.diagnostics.borrow().len();
    let built = build(a, schema, &cx, &mut key);
    env.diagnostics.borrow_mut().truncate(before);
    match built.ok()? {
        Ranges::Nothing => Some(0),
        Ranges::Point => Some(1),
        Ranges::List { list, .. } => {
            let mut sum = 0u64;
            let index = a.spatial.as_ref().map_or(a.index, |by| by.index);
            for r in &list {
                sum = sum.saturating_add(partition::estimate_range(table, schema, index, r)?);
            }
            Some(sum)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Bound::{Excluded, Included, Unbounded};

    /// Whether a key lies in one of the ranges, and in how many.
    fn holds(list: &[KeyRange], key: &[u8]) -> usize {
        let after_start = |r: &KeyRange| match &r.lower {
            Included(k) => key >= &k[..],
            Excluded(k) => key > &k[..] && !key.starts_with(k),
            Unbounded => true,
        };
        let before_end = |r: &KeyRange| match &r.upper {
            Included(k) => key <= &k[..] || key.starts_with(k),
            Excluded(k) => key < &k[..],
            Unbounded => true,
        };
        list.iter()
            .filter(|r| after_start(r) && before_end(r))
            .count()
    }

    #[test]
    fn merged_ranges_hold_the_same_keys_once() {
        let keys: [&[u8]; 9] = [b"a", b"aa", b"ab", b"abc", b"b", b"ba", b"c", b"ca", b"cb"];
        let mut bounds: Vec<Bound<Vec<u8>>> = vec![Unbounded];
        for k in [&b"a"[..], b"ab", b"b", b"c", b"ca"] {
            bounds.push(Included(k.to_vec()));
            bounds.push(Excluded(k.to_vec()));
        }
        let mut all = Vec::new();
        for lower in &bounds {
            for upper in &bounds {
                all.push(KeyRange {
                    lower: lower.clone(),
                    upper: upper.clone(),
                });
            }
        }
        for i in 0..all.len() {
            for j in 0..all.len() {
                let third = (i * 31 + j * 17) % all.len();
                let before = [all[i].clone(), all[j].clone(), all[third].clone()];
                let mut list: SmallVec<[KeyRange; 1]> = before.iter().cloned().collect();
                merge(&mut list);
                for key in keys {
                    let want = usize::from(holds(&before, key) > 0);
                    assert_eq!(holds(&list, key), want, "{before:?} {list:?} {key:?}");
                }
                assert!(
                    list.windows(2)
                        .all(|w| { order_starts(start(&w[0]), start(&w[1])) == Ordering::Less })
                );
            }
        }
    }
}
