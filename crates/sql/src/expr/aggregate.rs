//! Aggregate functions: what they compute and their running state.

use std::cmp::Ordering;

use super::collect::Collected;
use super::distinct::{Fresh, MemoryBudget, Seen, aside_bytes};
use super::operators::{bits_of, number};
use super::{EvalContext, Expr, func};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::row::{encode_sort_value, values_of};
use crate::types::derive::{double, exact_digits};
use crate::types::{BaseType, Collation, SqlType};
use crate::value::decimal::MAX_SCALE;
use crate::value::json::{self, Json};
use crate::value::{Decimal, Value, conform};

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AggregateKind {
    /// COUNT(*).
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    /// ANY_VALUE().
    AnyValue,
    /// JSON_ARRAYAGG().
    JsonArray,
    /// JSON_OBJECTAGG().
    JsonObject,
    /// ST_COLLECT().
    Collect,
}

use AggregateKind as K;

impl AggregateKind {
    /// Whether it computes with numbers, whatever it is given.
    pub(super) fn takes_numbers(self) -> bool {
        !matches!(
            self,
            K::CountStar
                | K::Count
                | K::Min
                | K::Max
                | K::GroupConcat
                | K::AnyValue
                | K::JsonArray
                | K::JsonObject
                | K::Collect
        )
    }
    /// Whether it computes with bits.
    pub(super) fn takes_bits(self) -> bool {
        matches!(self, K::BitAnd | K::BitOr | K::BitXor)
    }
}

/// Longest result of GROUP_CONCAT unless `group_concat_max_len` says otherwise.
const GROUP_CONCAT_MAX_LEN: usize = 1024;

/// Result type of an aggregate. `increment`: the digits that division adds after the point.
pub(super) fn result_type(
    kind: AggregateKind,
    args: &[Expr],
    collation: Collation,
    increment: u8,
) -> SqlType {
    let approximate = |t: &SqlType| matches!(t.base, BaseType::Float | BaseType::Double);
    match (kind, args.first().map(|a| &a.ty)) {
        (K::Sum, Some(t)) if let Some((whole, scale)) = exact_digits(t) => {
            SqlType::decimal(whole + 22 + u32::from(scale), scale)
        }
        (K::Avg, Some(t)) if let Some((whole, scale)) = exact_digits(t) => {
            let scale = (scale + increment).min(MAX_SCALE);
            SqlType::decimal(whole + u32::from(scale), scale)
        }
        (K::Sum, Some(t)) if approximate(t) => double(t.decimals),
        (K::Avg, Some(t)) if approximate(t) => double(t.decimals + increment),
        (K::Min | K::Max | K::AnyValue, Some(t)) => t.clone().computed(),
        (K::GroupConcat, _) => {
            let collation = match args.iter().any(|e| e.ty.base != BaseType::Null) {
                true => func::joint(args, collation),
                false => Collation::Binary,
            };
            SqlType {
                length: GROUP_CONCAT_MAX_LEN as u32,
                ..SqlType::varchar(GROUP_CONCAT_MAX_LEN as u32, collation)
            }
        }
        (K::BitAnd | K::BitOr | K::BitXor, _) => SqlType::ubigint(),
        (K::CountStar | K::Count, _) => SqlType::bigint(),
        (K::JsonArray | K::JsonObject, _) => SqlType::json(),
        (K::Collect, _) => SqlType::new(BaseType::Geometry),
        _ => SqlType::double(),
    }
}

/// The type of one of several values of a type: of NULL that of an empty binary string.
pub(super) fn of_one(ty: &SqlType) -> SqlType {
    match ty.base {
        BaseType::Null => SqlType::varchar(0, Collation::Binary),
        _ => ty.clone().computed(),
    }
}

/// An aggregate as bound.
#[derive(Clone, Debug)]
pub struct AggregateSpec {
    /// Which.
    pub kind: AggregateKind,
    /// DISTINCT.
    pub distinct: bool,
    /// Arguments (several for COUNT(DISTINCT a, b) and GROUP_CONCAT(a, b)).
    pub args: Vec<Expr>,
    /// Result type.
    pub ty: SqlType,
    /// GROUP_CONCAT's ORDER BY: expression, descending.
    pub order_by: Vec<(Expr, bool)>,
    /// GROUP_CONCAT's separator.
    pub separator: String,
}

/// A running sum: integers and decimals exactly, the rest as doubles.
#[derive(Clone, Debug)]
enum Sum {
    Empty,
    Int(i128),
    Decimal(Decimal),
    Double(f64),
}

impl Sum {
    fn add(&mut self, v: &Value<'_>) -> SqlResult<()> {
        let exact = matches!(
            v,
            Value::Int(_)
                | Value::UInt(_)
                | Value::Decimal(_)
                | Value::Date(_)
                | Value::DateTime(_)
                | Value::Time(_)
        );
        *self =
            match (&*self, v) {
                (Sum::Empty, Value::Int(x)) => Sum::Int(*x as i128),
                (Sum::Int(s), Value::Int(x)) => Sum::Int(s + *x as i128),
                (Sum::Empty, Value::UInt(x)) => Sum::Int(*x as i128),
                (Sum::Int(s), Value::UInt(x)) => Sum::Int(s + *x as i128),
                (Sum::Empty, _) if exact => Sum::Decimal(v.to_decimal()),
                // Zero has no sign in a sum.
                (Sum::Empty, _) => Sum::Double(v.to_f64() + 0.0),
                (Sum::Double(s), _) => Sum::Double(s + v.to_f64()),
                (_, _) if exact => {
                    let total = self.decimal().checked_add(v.to_decimal());
                    Sum::Decimal(total.ok_or_else(|| {
                        SqlError::new(1690, "DECIMAL value is out of range in 'sum'")
                    })?)
                }
                _ => Sum::Double(self.double() + v.to_f64()),
            };
        Ok(())
    }
    fn decimal(&self) -> Decimal {
        match self {
            Sum::Empty => Decimal::ZERO,
            Sum::Int(v) => Decimal::from_i128(*v, 0),
            Sum::Decimal(d) => *d,
            Sum::Double(v) => Decimal::from_f64(*v),
        }
    }
    fn double(&self) -> f64 {
        match self {
            Sum::Double(v) => *v,
            other => other.decimal().to_f64(),
        }
    }
}

/// A row that GROUP_CONCAT keeps: its sort key and its text.
type Piece = (Vec<u8>, Vec<u8>);

/// What GROUP_CONCAT keeps: no more than it may show, and some.
#[derive(Clone, Debug, Default)]
struct Pieces {
    list: Vec<Piece>,
    /// Bytes of the texts.
    bytes: usize,
    /// Bytes from which on it is worth looking what is too much; 0: not known yet.
    look: usize,
}

impl Pieces {
    fn push(
        &mut self,
        piece: Piece,
        spec: &AggregateSpec,
        session: &SessionEnv,
        budget: &mut MemoryBudget,
    ) -> SqlResult<()> {
        budget.take(Self::cost(&piece))?;
        self.bytes += piece.1.len() + 1;
        self.list.push(piece);
        if self.look == 0 {
            self.look = 2 * max_len(session).max(GROUP_CONCAT_MAX_LEN);
        }
        if self.bytes > self.look {
            self.prune(spec, session, budget);
        }
        Ok(())
    }

    /// Bytes that a piece takes.
    fn cost(piece: &Piece) -> usize {
        size_of::<Piece>() + piece.0.len() + piece.1.len()
    }

    /// Lets go of what lies behind the longest result, the piece that shows that it was cut excepted.
    fn prune(&mut self, spec: &AggregateSpec, session: &SessionEnv, budget: &mut MemoryBudget) {
        let max = max_len(session);
        self.sort(spec);
        let mut bytes = 0;
        let kept = self.list.iter().position(|piece| {
            bytes += piece.1.len();
            bytes > max
        });
        if let Some(last) = kept {
            let gone = self.list.drain(last + 1..);
            budget.give(gone.map(|p| Self::cost(&p)).sum());
        }
        self.bytes = bytes;
        // Empty texts take room too, and none of the result.
        self.look = (2 * max).max(bytes + GROUP_CONCAT_MAX_LEN);
    }

    fn sort(&mut self, spec: &AggregateSpec) {
        if !spec.order_by.is_empty() {
            self.list.sort_by(|a, b| a.0.cmp(&b.0));
        }
    }
}

/// `group_concat_max_len`, within what a text may have.
fn max_len(session: &SessionEnv) -> usize {
    let set = (session.sys_var)("", "group_concat_max_len");
    let set = set.map_or(GROUP_CONCAT_MAX_LEN, |v| v.to_u64() as usize);
    set.min(func::max_result(session))
}

/// Bytes that a value takes beside its own.
fn heap_bytes(v: &Value<'_>) -> usize {
    match v {
        Value::Bytes(b) => b.len(),
        Value::Json(j) => j.as_bytes().len(),
        _ => 0,
    }
}

#[derive(Clone, Debug)]
enum State {
    Count(i64),
    Sum(Sum, i64),
    Extreme(Value<'static>),
    Bits(u64),
    /// Count, mean, sum of squared distances from the mean.
    Spread(i64, f64, f64),
    Pieces(Pieces),
    Any(Option<Value<'static>>),
    /// The values of an array.
    Array(Vec<Json<'static>>),
    /// The members of an object, as they came.
    Object(Vec<(String, Json<'static>)>),
    Shapes(Collected),
}

impl State {
    /// Takes a value in: a number where numbers are computed with, bits where bits are.
    fn take(
        &mut self,
        spec: &AggregateSpec,
        v: Value<'_>,
        budget: &mut MemoryBudget,
    ) -> SqlResult<()> {
        match self {
            State::Count(n) => *n += 1,
            State::Sum(sum, n) => {
                sum.add(&v)?;
                *n += 1;
            }
            State::Extreme(best) => {
                let wanted = if spec.kind == K::Min {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
                if best.is_null() || v.compare(best, spec.ty.collation) == Some(wanted) {
                    budget.resize(heap_bytes(best), heap_bytes(&v))?;
                    *best = v.into_owned();
                }
            }
            State::Bits(b) => match spec.kind {
                K::BitAnd => *b &= v.to_u64(),
                K::BitOr => *b |= v.to_u64(),
                _ => *b ^= v.to_u64(),
            },
            State::Spread(n, mean, squares) => {
                // Welford: no difference of large sums.
                let x = v.to_f64();
                *n += 1;
                let d = x - *mean;
                *mean += d / *n as f64;
                *squares += d * (x - *mean);
            }
            State::Any(first) => {
                if first.is_none() {
                    budget.take(heap_bytes(&v))?;
                    *first = Some(v.into_owned());
                }
            }
            State::Shapes(shapes) => shapes.take(&v, budget)?,
            State::Pieces(_) | State::Array(_) | State::Object(_) => {}
        }
        Ok(())
    }
}

/// An aggregate's running state for one group.
pub struct Accumulator {
    state: State,
    /// What DISTINCT has seen.
    seen: Option<Box<Seen>>,
    key: Vec<u8>,
}

impl AggregateSpec {
    /// A fresh state.
    pub fn accumulator(&self, budget: &mut MemoryBudget) -> Accumulator {
        let state = match self.kind {
            K::CountStar | K::Count => State::Count(0),
            K::Sum | K::Avg => State::Sum(Sum::Empty, 0),
            K::Min | K::Max => State::Extreme(Value::Null),
            K::BitAnd => State::Bits(u64::MAX),
            K::BitOr | K::BitXor => State::Bits(0),
            K::StddevPop | K::StddevSamp | K::VarPop | K::VarSamp => State::Spread(0, 0.0, 0.0),
            K::GroupConcat => State::Pieces(Pieces::default()),
            K::AnyValue => State::Any(None),
            K::JsonArray => State::Array(Vec::new()),
            K::JsonObject => State::Object(Vec::new()),
            K::Collect => State::Shapes(Collected::default()),
        };
        // A value seen twice is no other minimum.
        let distinct = self.distinct && !matches!(self.kind, K::Min | K::Max | K::AnyValue);
        Accumulator {
            state,
            seen: distinct.then(|| Box::new(Seen::new(budget))),
            key: Vec::new(),
        }
    }
    /// Whether two specs compute the same thing (so that one accumulator serves both).
    pub fn same(&self, other: &AggregateSpec) -> bool {
        let text = |a: &AggregateSpec| {
            let args: Vec<String> = a.args.iter().map(place).collect();
            let order: Vec<String> = a.order_by.iter().map(|(e, _)| place(e)).collect();
            (args, order)
        };
        self.kind == other.kind
            && self.distinct == other.distinct
            && self.separator == other.separator
            && self.ty == other.ty
            && self
                .order_by
                .iter()
                .map(|o| o.1)
                .eq(other.order_by.iter().map(|o| o.1))
            && text(self) == text(other)
            && self.args.iter().all(Expr::is_const_or_columns)
    }
    /// Whether the result can be NULL (all but the counts and the BIT_ ones).
    pub fn nullable(&self) -> bool {
        !matches!(
            self.kind,
            K::CountStar | K::Count | K::BitAnd | K::BitOr | K::BitXor
        )
    }
}

/// An expression's text with its columns by place, so that equal names of different tables differ.
fn place(e: &Expr) -> String {
    let mut s = e.to_string();
    e.walk(&mut |x| match &x.kind {
        super::ExprKind::Column { source, column, .. } => {
            s.push_str(&format!(" {source}.{column}"))
        }
        super::ExprKind::Param(i) | super::ExprKind::Local(i, _) => s.push_str(&format!(" ?{i}")),
        super::ExprKind::Literal(v) => s.push_str(&format!(" {v:?}")),
        // What is made of the same in another character set reads the same.
        super::ExprKind::Cast(_) | super::ExprKind::Function(..) => {
            s.push(' ');
            s.push_str(x.ty.collation.name());
        }
        _ => {}
    });
    s
}

/// States that were reached elsewhere, for [`Accumulator::finish`].
impl Accumulator {
    fn reached(state: State) -> Accumulator {
        Accumulator {
            state,
            seen: None,
            key: Vec::new(),
        }
    }
    /// Of a COUNT.
    pub fn of_count(n: i64) -> Accumulator {
        Accumulator::reached(State::Count(n))
    }
    /// Of a SUM or AVG of so many exact numbers.
    pub fn of_sum(sum: Decimal, n: i64) -> Accumulator {
        Accumulator::reached(State::Sum(Sum::Decimal(sum), n))
    }
    /// Of a SUM or AVG of so many doubles.
    pub fn of_double(sum: f64, n: i64) -> Accumulator {
        Accumulator::reached(State::Sum(Sum::Double(sum), n))
    }
    /// Of a MIN or MAX.
    pub fn of_extreme(v: Value<'static>) -> Accumulator {
        Accumulator::reached(State::Extreme(v))
    }
}

impl Accumulator {
    /// Takes one row in.
    pub fn update(
        &mut self,
        spec: &AggregateSpec,
        cx: &EvalContext<'_>,
        budget: &mut MemoryBudget,
    ) -> SqlResult<()> {
        if spec.kind == K::CountStar {
            if let State::Count(n) = &mut self.state {
                *n += 1;
            }
            return Ok(());
        }
        if spec.kind == K::GroupConcat {
            return self.concat(spec, cx, budget);
        }
        if let State::Array(_) | State::Object(_) = self.state {
            return self.gather(spec, cx, budget);
        }
        let v = spec.args[0].eval(cx)?;
        let null = match spec.args.len() {
            1 => v.is_null(),
            _ => self.any_null(spec, cx)?,
        };
        if null && spec.kind != K::AnyValue {
            return Ok(());
        }
        let fresh = self.first_time(spec, cx, budget)?;
        if fresh == Fresh::Before {
            return Ok(());
        }
        let v = match &self.state {
            State::Sum(..) | State::Spread(..) => number(v, &spec.args[0], cx)?,
            State::Bits(_) => Value::UInt(bits_of(&v, &spec.args[0], cx)?),
            _ => v,
        };
        match (fresh, &mut self.seen) {
            (Fresh::Later, Some(seen)) => {
                seen.put_aside(&self.key, &aside_bytes(&v), budget, cx.session)
            }
            _ => self.state.take(spec, v, budget),
        }
    }

    /// Takes a value or member of a document in. Error 3158.
    fn gather(
        &mut self,
        spec: &AggregateSpec,
        cx: &EvalContext<'_>,
        budget: &mut MemoryBudget,
    ) -> SqlResult<()> {
        match &mut self.state {
            State::Array(list) => {
                let v = func::json_part(&spec.args[0], cx)?.into_owned();
                budget.take(size_of::<Json<'static>>() + v.as_bytes().len())?;
                list.push(v);
            }
            State::Object(members) => {
                let key = spec.args[0].text(cx)?.ok_or_else(json::null_key)?;
                let key = String::from_utf8_lossy(&key).into_owned();
                let v = func::json_part(&spec.args[1], cx)?.into_owned();
                let own = size_of::<(String, Json<'static>)>() + key.len();
                budget.take(own + v.as_bytes().len())?;
                members.push((key, v));
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives a row back that was taken in; whether that is possible, which it is for counts and exact sums.
    pub fn retract(&mut self, spec: &AggregateSpec, cx: &EvalContext<'_>) -> SqlResult<bool> {
        if self.seen.is_some() {
            return Ok(false);
        }
        if spec.kind == K::CountStar {
            if let State::Count(n) = &mut self.state {
                *n -= 1;
            }
            return Ok(true);
        }
        if !matches!(self.state, State::Count(_) | State::Sum(..)) {
            return Ok(false);
        }
        let v = spec.args[0].eval(cx)?;
        if v.is_null() {
            return Ok(true);
        }
        Ok(match &mut self.state {
            State::Count(n) => {
                *n -= 1;
                true
            }
            State::Sum(sum, n) => {
                let left = match (&*sum, number(v, &spec.args[0], cx)?) {
                    (Sum::Int(s), Value::Int(x)) => Some(Sum::Int(s - i128::from(x))),
                    (Sum::Int(s), Value::UInt(x)) => Some(Sum::Int(s - i128::from(x))),
                    (Sum::Decimal(s), Value::Decimal(x)) => s.checked_sub(x).map(Sum::Decimal),
                    _ => None,
                };
                let Some(left) = left else {
                    return Ok(false);
                };
                (*sum, *n) = (left, *n - 1);
                true
            }
            _ => false,
        })
    }

    fn any_null(&self, spec: &AggregateSpec, cx: &EvalContext<'_>) -> SqlResult<bool> {
        for a in &spec.args {
            if a.eval(cx)?.is_null() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether DISTINCT has met these arguments (never, without DISTINCT).
    fn first_time(
        &mut self,
        spec: &AggregateSpec,
        cx: &EvalContext<'_>,
        budget: &mut MemoryBudget,
    ) -> SqlResult<Fresh> {
        let Some(seen) = &mut self.seen else {
            return Ok(Fresh::New);
        };
        self.key.clear();
        for a in &spec.args {
            encode_sort_value(&a.eval(cx)?, &a.ty, false, &mut self.key);
        }
        seen.see(&self.key, budget, cx.session)
    }

    fn concat(
        &mut self,
        spec: &AggregateSpec,
        cx: &EvalContext<'_>,
        budget: &mut MemoryBudget,
    ) -> SqlResult<()> {
        let mut text = Vec::new();
        for a in &spec.args {
            match a.text(cx)? {
                Some(t) => text.extend_from_slice(&t),
                None => return Ok(()),
            }
        }
        let fresh = self.first_time(spec, cx, budget)?;
        if fresh == Fresh::Before {
            return Ok(());
        }
        let mut key = Vec::new();
        for (e, desc) in &spec.order_by {
            encode_sort_value(&e.eval(cx)?, &e.ty, *desc, &mut key);
        }
        match (fresh, &mut self.seen, &mut self.state) {
            (Fresh::Later, Some(seen), _) => {
                let pair = [Value::Bytes(key.into()), Value::Bytes(text.into())];
                let bytes: Vec<u8> = pair.iter().flat_map(aside_bytes).collect();
                seen.put_aside(&self.key, &bytes, budget, cx.session)?;
            }
            (_, _, State::Pieces(p)) => p.push((key, text), spec, cx.session, budget)?,
            _ => {}
        }
        Ok(())
    }

    /// The result so far.
    pub fn finish(
        &mut self,
        spec: &AggregateSpec,
        session: &SessionEnv,
        budget: &mut MemoryBudget,
    ) -> SqlResult<Value<'static>> {
        if let Some(seen) = &mut self.seen {
            let state = &mut self.state;
            seen.rest(budget, session, |budget, bytes| {
                let mut values = values_of(bytes).into_iter();
                let first = values.next().unwrap_or(Value::Null);
                match (&mut *state, values.next()) {
                    (State::Pieces(p), Some(text)) => {
                        let piece = (first.to_text().into(), text.to_text().into());
                        p.push(piece, spec, session, budget)
                    }
                    (state, _) => state.take(spec, first, budget),
                }
            })?;
        }
        Ok(match &mut self.state {
            State::Count(n) => Value::Int(*n),
            State::Sum(_, 0) => Value::Null,
            State::Sum(sum, n) => {
                // Beyond a DOUBLE's range it is its end, as it would be in a column.
                let v = match (spec.kind, &*sum) {
                    (K::Sum, Sum::Double(v)) => Value::Double(v.clamp(f64::MIN, f64::MAX)),
                    (K::Sum, s) => Value::Decimal(s.decimal()),
                    (_, Sum::Double(v)) => Value::Double(v.clamp(f64::MIN, f64::MAX) / *n as f64),
                    (_, s) => s
                        .decimal()
                        .checked_div(Decimal::from(*n), session.div_increment.get().into())
                        .map_or(Value::Null, Value::Decimal),
                };
                conform(v, &spec.ty)
            }
            State::Extreme(v) => v.clone(),
            State::Bits(b) => Value::UInt(*b),
            State::Spread(n, _, squares) => {
                let sample = matches!(spec.kind, K::StddevSamp | K::VarSamp);
                let of = *n - sample as i64;
                if of <= 0 {
                    return Ok(Value::Null);
                }
                let variance = *squares / of as f64;
                let root = matches!(spec.kind, K::StddevPop | K::StddevSamp);
                Value::Double(if root { variance.sqrt() } else { variance })
            }
            State::Pieces(p) if p.list.is_empty() => Value::Null,
            State::Pieces(p) => {
                p.sort(spec);
                join(&p.list, spec, session)?
            }
            State::Any(v) => v.clone().unwrap_or(Value::Null),
            State::Array(list) if list.is_empty() => Value::Null,
            State::Array(list) => Value::Json(json::array_of(list).checked()?),
            State::Object(members) if members.is_empty() => Value::Null,
            State::Object(members) => Value::Json(json::object_of(members).checked()?),
            State::Shapes(shapes) => shapes.value(),
        })
    }
}

/// GROUP_CONCAT's text, cut at `group_concat_max_len` with warning 1260.
fn join(pieces: &[Piece], spec: &AggregateSpec, session: &SessionEnv) -> SqlResult<Value<'static>> {
    let max = max_len(session);
    let mut out = Vec::new();
    for (i, (_, text)) in pieces.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(spec.separator.as_bytes());
        }
        out.extend_from_slice(text);
        if out.len() > max {
            let mut n = max;
            // Bytes have no characters to be cut within.
            if spec.ty.collation != Collation::Binary {
                while n > 0 && out[n] & 0xc0 == 0x80 {
                    n -= 1;
                }
            }
            out.truncate(n);
            session.complain(1260, format!("Row {} was cut by GROUP_CONCAT()", i + 1))?;
            break;
        }
    }
    Ok(Value::Bytes(out.into()))
}
