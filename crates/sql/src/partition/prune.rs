//! From conditions to the partitions that can hold rows which satisfy them.
//!
//! The conditions are those that an index could use ([`Term`]) on the columns that decide. Whatever is not understood leaves
//! all partitions. Values may come from parameters or from rows of earlier tables of a join, so this runs each
//! time a table is read.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::function::{Monotone, put_key};
use super::{Function, Partitioning};
use crate::catalog::HIGH_KEY;
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::expr::{EvalContext, Expr, ExprKind, Term};
use crate::parse::ast::PartitionMethod;
use crate::types::{BaseType, Family, Schema, SqlType};
use crate::value::{Date, DateTime, Lookup, Value, lookup};

/// Most combinations of values that are looked at one by one.
const MAX_POINTS: usize = 1000;
/// Longest range of integers that is looked at value by value for HASH.
const MAX_WALK: i128 = 32;

/// What a plan knows about the partitions of one table that it reads.
#[derive(Debug, Default)]
pub struct Prune {
    /// PARTITION (...): positions, ascending.
    pub given: Option<Arc<[usize]>>,
    /// Conditions on columns that decide; all of them hold.
    pub terms: Vec<(usize, Term)>,
    /// Of each of these lists, one holds.
    pub any: Vec<Vec<Prune>>,
}

/// Positions of leaves, ascending.
pub type Select = SmallVec<[u32; 8]>;

/// What the conditions say about a column.
#[derive(Default)]
struct Cond {
    /// One of these values (NULL among them).
    eq: Option<Vec<Value<'static>>>,
    /// Bounds: (value, inclusive).
    lower: Option<(Value<'static>, bool)>,
    upper: Option<(Value<'static>, bool)>,
    not_null: bool,
}

/// The same in the bytes of what decides.
#[derive(Default)]
struct Slot {
    eq: Option<Vec<Vec<u8>>>,
    lower: Option<(Vec<u8>, bool)>,
    upper: Option<(Vec<u8>, bool)>,
    not_null: bool,
    /// Rows for which what decides is NULL are to be found too.
    and_null: bool,
}

/// No row satisfies the conditions.
struct Nothing;

impl Prune {
    /// What conditions say that hold together. `usable`: what a condition says about a column that decides, if its values can
    /// be had when the table is read.
    pub fn of<'e>(
        conds: &mut dyn Iterator<Item = &'e Expr>,
        usable: &dyn Fn(&Expr) -> Option<(usize, Term)>,
    ) -> Prune {
        let mut out = Prune::default();
        for e in conds {
            out.add(e, usable);
        }
        out
    }

    fn add(&mut self, e: &Expr, usable: &dyn Fn(&Expr) -> Option<(usize, Term)>) {
        if let Some(found) = usable(e) {
            self.terms.push(found);
            return;
        }
        match &e.kind {
            ExprKind::And(list) => list.iter().for_each(|e| self.add(e, usable)),
            ExprKind::Or(list) => {
                let arms = list
                    .iter()
                    .map(|e| Prune::of(&mut std::iter::once(e), usable));
                let arms: Vec<Prune> = arms.collect();
                // One that says nothing leaves everything.
                if !arms.iter().any(Prune::is_empty) {
                    self.any.push(arms);
                }
            }
            _ => {}
        }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.given.is_none() && self.terms.is_empty() && self.any.is_empty()
    }

    /// How many partitions there are to read, as far as constants tell.
    pub fn estimate(&self, p: &Partitioning, schema: &Schema, env: &SessionEnv) -> usize {
        self.planned(p, schema, env).len()
    }

    /// The partitions to read, as far as constants tell.
    pub fn planned(&self, p: &Partitioning, schema: &Schema, env: &SessionEnv) -> Select {
        let cx = EvalContext {
            rows: &[],
            params: &[],
            session: env,
        };
        self.select(p, schema, &cx, &constant)
            .unwrap_or_else(|_| all(p))
    }

    /// The partitions to read. `known`: which values can be had now.
    pub fn select(
        &self,
        p: &Partitioning,
        schema: &Schema,
        cx: &EvalContext<'_>,
        known: &dyn Fn(&Expr) -> bool,
    ) -> SqlResult<Select> {
        let mut list = self.parts(p, schema, cx, known)?;
        if let Some(sub) = &p.sub {
            let within = self.parts(sub, schema, cx, known)?;
            let leaves = |part: &u32| {
                let from = part * p.fan() as u32;
                within.iter().map(move |n| from + n)
            };
            list = list.iter().flat_map(leaves).collect();
        }
        for arms in &self.any {
            let mut either = Select::new();
            for arm in arms {
                either.extend(arm.select(p, schema, cx, known)?);
            }
            either.sort_unstable();
            list.retain(|n| either.binary_search(n).is_ok());
        }
        if let Some(given) = &self.given {
            list.retain(|n| given.binary_search(&(*n as usize)).is_ok());
        }
        Ok(list)
    }
}

impl Prune {
    /// What the terms leave of the partitions of a level.
    fn parts(
        &self,
        p: &Partitioning,
        schema: &Schema,
        cx: &EvalContext<'_>,
        known: &dyn Fn(&Expr) -> bool,
    ) -> SqlResult<Select> {
        if self.terms.is_empty() {
            return Ok(all_parts(p));
        }
        let f = p.function(schema, cx.session)?;
        match conditions(&self.terms, f, schema, cx, known)? {
            Ok(conds) => decide(p, f, schema, &conds, cx.session),
            Err(Nothing) => Ok(Select::new()),
        }
    }
}

/// Whether a value is known when planning.
pub fn constant(e: &Expr) -> bool {
    let mut fixed = e.is_const();
    e.walk(&mut |e| fixed &= !e.is_given());
    fixed
}

fn all(p: &Partitioning) -> Select {
    (0..p.leaves() as u32).collect()
}

fn all_parts(p: &Partitioning) -> Select {
    (0..p.parts.len() as u32).collect()
}

/// Takes the conditions together, column by column.
fn conditions(
    terms: &[(usize, Term)],
    f: &Function,
    schema: &Schema,
    cx: &EvalContext<'_>,
    known: &dyn Fn(&Expr) -> bool,
) -> SqlResult<Result<Vec<Cond>, Nothing>> {
    let mut conds: Vec<Cond> = f.columns.iter().map(|_| Cond::default()).collect();
    for (column, term) in terms {
        let Some(at) = f.columns.iter().position(|c| c == column) else {
            continue;
        };
        if !term.values().iter().all(|e| known(e)) {
            continue;
        }
        let column = &schema.columns[*column];
        if apply(&mut conds[at], term, &column.ty, column.nullable, cx)?.is_err() {
            return Ok(Err(Nothing));
        }
    }
    Ok(Ok(conds))
}

fn apply(
    cond: &mut Cond,
    term: &Term,
    ty: &SqlType,
    nullable: bool,
    cx: &EvalContext<'_>,
) -> SqlResult<Result<(), Nothing>> {
    let zone = cx.session.zone.get();
    let look = |e: &Expr| -> SqlResult<Lookup> { Ok(lookup(&e.shown(cx)?, ty, zone)) };
    let mut values = Vec::new();
    match term {
        Term::Eq(e) => match look(e)? {
            Lookup::Exact(v) => values.push(v),
            Lookup::Unusable => return Ok(Ok(())),
            _ => return Ok(Err(Nothing)),
        },
        Term::NullSafe(e) => match look(e)? {
            Lookup::Exact(v) => values.push(v),
            Lookup::Null if nullable => values.push(Value::Null),
            Lookup::Unusable => return Ok(Ok(())),
            _ => return Ok(Err(Nothing)),
        },
        Term::IsNull if !nullable => return Ok(Err(Nothing)),
        Term::IsNull => values.push(Value::Null),
        Term::In(list) => {
            for e in list {
                match look(e)? {
                    Lookup::Exact(v) => values.push(v),
                    Lookup::Unusable => return Ok(Ok(())),
                    _ => {}
                }
            }
            if values.is_empty() {
                return Ok(Err(Nothing));
            }
        }
        Term::Like(_) => {
            cond.not_null = true;
            return Ok(Ok(()));
        }
        Term::Range(lower, upper) => {
            cond.not_null = true;
            let lower = lower
                .as_ref()
                .map(|(e, i)| Ok((look(e)?, *i)))
                .transpose()?;
            let upper = upper
                .as_ref()
                .map(|(e, i)| Ok((look(e)?, *i)))
                .transpose()?;
            let unusable = |b: &Option<(Lookup, bool)>| matches!(b, Some((Lookup::Unusable, _)));
            if unusable(&lower) || unusable(&upper) {
                // A BETWEEN with bounds of different kinds has another order than the partitions.
                return Ok(Ok(()));
            }
            if let Some((found, inclusive)) = lower {
                match found {
                    Lookup::Exact(v) => raise(cond, v, inclusive, ty, cx.session),
                    Lookup::Above(v) => raise(cond, v, false, ty, cx.session),
                    Lookup::BelowAll | Lookup::Unusable => {}
                    Lookup::AboveAll | Lookup::Null => return Ok(Err(Nothing)),
                }
            }
            if let Some((found, inclusive)) = upper {
                match found {
                    Lookup::Exact(v) => lower_to(cond, v, inclusive, ty, cx.session),
                    Lookup::Above(v) => lower_to(cond, v, true, ty, cx.session),
                    Lookup::AboveAll | Lookup::Unusable => {}
                    Lookup::BelowAll | Lookup::Null => return Ok(Err(Nothing)),
                }
            }
            return Ok(Ok(()));
        }
    }
    // Of several lists the shorter one: both must hold.
    if cond.eq.as_ref().is_none_or(|l| values.len() < l.len()) {
        cond.eq = Some(values);
    }
    Ok(Ok(()))
}

fn bytes(v: &Value<'_>, ty: &SqlType, env: &SessionEnv) -> Vec<u8> {
    let mut out = Vec::new();
    put_key(v, ty, env, &mut out);
    out
}

/// The higher of two lower bounds.
fn raise(cond: &mut Cond, v: Value<'static>, inclusive: bool, ty: &SqlType, env: &SessionEnv) {
    let (v, inclusive) = match neighbour(&v, ty, 1, env) {
        Some(next) if !inclusive => (next, true),
        _ => (v, inclusive),
    };
    let higher = |(old, _): &(Value<'static>, bool)| bytes(&v, ty, env) > bytes(old, ty, env);
    if cond.lower.as_ref().is_none_or(higher) {
        cond.lower = Some((v, inclusive));
    }
}

/// The lower of two upper bounds.
fn lower_to(cond: &mut Cond, v: Value<'static>, inclusive: bool, ty: &SqlType, env: &SessionEnv) {
    let (v, inclusive) = match neighbour(&v, ty, -1, env) {
        Some(before) if !inclusive => (before, true),
        _ => (v, inclusive),
    };
    let less = |(old, _): &(Value<'static>, bool)| bytes(&v, ty, env) < bytes(old, ty, env);
    if cond.upper.as_ref().is_none_or(less) {
        cond.upper = Some((v, inclusive));
    }
}

/// The next value of a column's type, or the one before, where that is easily said.
fn step(v: &Value<'_>, ty: &SqlType, by: i64) -> Option<Value<'static>> {
    match v {
        Value::Int(n) if ty.family() == Family::Integer => n.checked_add(by).map(Value::Int),
        Value::UInt(n) if ty.family() == Family::Integer => {
            n.checked_add_signed(by).map(Value::UInt)
        }
        Value::Date(d) if d.exists() && !d.has_zero() => {
            Date::from_days(d.days() + by).map(Value::Date)
        }
        Value::DateTime(d) if d.date.exists() && !d.date.has_zero() => {
            let unit = 10i64.pow(6 - u32::from(ty.decimals.min(6)));
            d.add_micros(by * unit).map(Value::DateTime)
        }
        _ => None,
    }
}

/// The same where no other value of the column stands between the two: not from one month to another, between which lies a day 0
/// that a column may hold, and not to a TIMESTAMP that the clock shows twice, as only one of its moments would be meant.
fn neighbour(v: &Value<'_>, ty: &SqlType, by: i64, env: &SessionEnv) -> Option<Value<'static>> {
    let month = |v: &Value<'_>| match v {
        Value::Date(d) => d.month,
        Value::DateTime(d) => d.date.month,
        _ => 0,
    };
    let once = |v: &Value<'_>| match v {
        Value::DateTime(d) if ty.base == BaseType::Timestamp => env.zone.get().is_plain(*d),
        _ => true,
    };
    step(v, ty, by).filter(|next| month(next) == month(v) && once(next))
}

/// The partitions that conditions on the deciding columns leave.
fn decide(
    p: &Partitioning,
    f: &Function,
    schema: &Schema,
    conds: &[Cond],
    env: &SessionEnv,
) -> SqlResult<Select> {
    let points = points(f, schema, conds);
    match p.method {
        PartitionMethod::Hash | PartitionMethod::Key => {
            // Equal numbers need not have equal bytes.
            let float = |ty: &SqlType| matches!(ty.base, BaseType::Float | BaseType::Double);
            let Some(points) = points.or_else(|| walk(p, f, schema, conds)) else {
                return Ok(all_parts(p));
            };
            if f.types.iter().any(float) {
                return Ok(all_parts(p));
            }
            let mut list = Select::new();
            let mut buffer = Vec::new();
            for row in points {
                list.extend(p.route(schema, &row, env, &mut buffer)?.map(|n| n as u32));
            }
            list.sort_unstable();
            list.dedup();
            Ok(list)
        }
        PartitionMethod::Range | PartitionMethod::List => {
            let slots = if f.expr.is_none() {
                conds
                    .iter()
                    .zip(&f.types)
                    .map(|(c, ty)| slot(c, ty, env))
                    .collect()
            } else {
                match of_expr(f, schema, conds, points, env)? {
                    Some(slot) => vec![slot],
                    None => return Ok(all_parts(p)),
                }
            };
            Ok(match p.method {
                PartitionMethod::Range => ranges(p, &slots),
                _ => lists(p, &slots),
            })
        }
    }
}

/// Rows of values, all columns that decide being given; the rest is NULL.
fn points(f: &Function, schema: &Schema, conds: &[Cond]) -> Option<Vec<Vec<Value<'static>>>> {
    let mut rows = vec![vec![Value::Null; schema.columns.len()]];
    for (cond, &c) in conds.iter().zip(&f.columns) {
        let values = cond.eq.as_ref()?;
        if rows.len() * values.len() > MAX_POINTS {
            return None;
        }
        let mut more = Vec::with_capacity(rows.len() * values.len());
        for row in &rows {
            for v in values {
                let mut row = row.clone();
                row[c] = v.clone();
                more.push(row);
            }
        }
        rows = more;
    }
    Some(rows)
}

/// For HASH, the values of a short range of one integer column.
fn walk(
    p: &Partitioning,
    f: &Function,
    schema: &Schema,
    conds: &[Cond],
) -> Option<Vec<Vec<Value<'static>>>> {
    let ([cond], [c]) = (conds, &f.columns[..]) else {
        return None;
    };
    let ty = &schema.columns[*c].ty;
    if p.method != PartitionMethod::Hash || !ty.is_integer() {
        return None;
    }
    let number = |b: &Option<(Value<'static>, bool)>| match b {
        Some((Value::Int(n), true)) => Some(i128::from(*n)),
        Some((Value::UInt(n), true)) => Some(i128::from(*n)),
        _ => None,
    };
    let (low, high) = (number(&cond.lower)?, number(&cond.upper)?);
    if high - low >= MAX_WALK {
        return None;
    }
    let row = |n: i128| {
        let mut row = vec![Value::Null; schema.columns.len()];
        row[*c] = crate::value::integer_value(n, ty);
        row
    };
    Some((low..=high).map(row).collect())
}

fn slot(c: &Cond, ty: &SqlType, env: &SessionEnv) -> Slot {
    let bound = |b: &Option<(Value<'static>, bool)>| {
        b.as_ref()
            .map(|(v, inclusive)| (bytes(v, ty, env), *inclusive))
    };
    Slot {
        eq: c
            .eq
            .as_ref()
            .map(|l| l.iter().map(|v| bytes(v, ty, env)).collect()),
        lower: bound(&c.lower),
        upper: bound(&c.upper),
        not_null: c.not_null,
        and_null: false,
    }
}

/// What conditions on its columns say about an expression.
fn of_expr(
    f: &Function,
    schema: &Schema,
    conds: &[Cond],
    points: Option<Vec<Vec<Value<'static>>>>,
    env: &SessionEnv,
) -> SqlResult<Option<Slot>> {
    let ty = &f.types[0];
    if let Some(points) = points {
        let mut keys = Vec::with_capacity(points.len());
        for row in points {
            keys.push(bytes(&f.value(&row, env)?, ty, env));
        }
        return Ok(Some(Slot {
            eq: Some(keys),
            ..Slot::default()
        }));
    }
    let (Some(monotone), [cond]) = (f.monotone, conds) else {
        return Ok(None);
    };
    let mut row = vec![Value::Null; schema.columns.len()];
    let column = f.columns[0];
    let column_type = &schema.columns[column].ty;
    let mut image = |b: &Option<(Value<'static>, bool)>, inwards| -> SqlResult<_> {
        let Some((v, inclusive)) = b else {
            return Ok(None);
        };
        // Days 0 are NULL then, which is looked at by itself.
        let stepped = (!inclusive && monotone == Monotone::RisingOrNull)
            .then(|| step(v, column_type, inwards))
            .flatten();
        row[column] = stepped.unwrap_or_else(|| v.clone());
        let image = f.value(&row, env)?;
        Ok((!image.is_null()).then(|| (bytes(&image, ty, env), true)))
    };
    Ok(Some(Slot {
        eq: None,
        lower: image(&cond.lower, 1)?,
        upper: image(&cond.upper, -1)?,
        not_null: cond.not_null,
        and_null: monotone == Monotone::RisingOrNull && cond.not_null && !within_month(cond),
    }))
}

/// Whether the bounds are days of one month, between which there is no day that does not exist.
fn within_month(c: &Cond) -> bool {
    let day = |b: &Option<(Value<'static>, bool)>| {
        let v = &b.as_ref()?.0;
        let d: DateTime = v.to_datetime()?;
        (d.date.day > 0).then_some((d.date.year, d.date.month))
    };
    matches!((day(&c.lower), day(&c.upper)), (Some(a), Some(b)) if a == b)
}

fn join(a: &[u8], b: &[u8]) -> Vec<u8> {
    [a, b].concat()
}

/// Partitions of RANGE.
fn ranges(p: &Partitioning, slots: &[Slot]) -> Select {
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    let mut fixed = 0;
    for s in slots {
        let Some(values) = &s.eq else { break };
        if prefixes.len() * values.len() > MAX_POINTS {
            break;
        }
        let pairs = prefixes
            .iter()
            .flat_map(|x| values.iter().map(|v| join(x, v)));
        prefixes = pairs.collect();
        fixed += 1;
    }
    let none = Slot::default();
    let last = slots.get(fixed).unwrap_or(&none);
    let mut list = Select::new();
    for prefix in &prefixes {
        let span = if fixed == slots.len() {
            let at = p.range_at(prefix);
            at..at + 1
        } else {
            span(p, prefix, last)
        };
        let end = span.end.min(p.parts.len());
        list.extend((span.start..end).map(|n| n as u32));
    }
    if last.and_null {
        list.push(0);
    }
    list.sort_unstable();
    list.dedup();
    list
}

/// Partitions of RANGE for a prefix of keys and bounds on what follows it.
fn span(p: &Partitioning, prefix: &[u8], s: &Slot) -> Range<usize> {
    let from = match &s.lower {
        Some((low, true)) => join(prefix, low),
        Some((low, false)) => join(&join(prefix, low), &[HIGH_KEY]),
        // What is not NULL begins with a 1.
        None if s.not_null => join(prefix, &[1]),
        None => prefix.to_vec(),
    };
    let to = match &s.upper {
        Some((high, true)) => p.range_at(&join(&join(prefix, high), &[HIGH_KEY])),
        Some((high, false)) => p.range_before(&join(prefix, high)),
        None => p.range_at(&join(prefix, &[HIGH_KEY])),
    };
    p.range_at(&from)..to + 1
}

/// Partitions of LIST: those with a value that satisfies the conditions.
fn lists(p: &Partitioning, slots: &[Slot]) -> Select {
    let holds = |s: &Slot, key: &[u8]| {
        if key == [0] {
            let asked = s.eq.as_ref().is_some_and(|l| l.iter().any(|v| v == key));
            return s.and_null || asked || s.eq.is_none() && !s.not_null;
        }
        s.eq.as_ref().is_none_or(|l| l.iter().any(|v| v == key))
            && s.lower.as_ref().is_none_or(|(low, inclusive)| {
                key > low.as_slice() || *inclusive && key == low.as_slice()
            })
            && s.upper.as_ref().is_none_or(|(high, inclusive)| {
                key < high.as_slice() || *inclusive && key == high.as_slice()
            })
    };
    let mut list = Select::new();
    for (n, part) in p.parts.iter().enumerate() {
        let hit = part.values.iter().any(|row| {
            let mut pairs = row.iter().zip(slots);
            pairs.all(|(limit, s)| holds(s, &limit.key))
        });
        if hit {
            list.push(n as u32);
        }
    }
    list
}
