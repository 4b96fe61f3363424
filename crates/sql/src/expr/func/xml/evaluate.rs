//! What an XPath expression says of a document.

use std::cell::Cell;

use super::document::{Kind, Node};
use super::path::{Axis, Base, Function, Item, Step};
use crate::env::overdue;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::{arithmetic, type_of};
use crate::expr::func::{self, Func};
use crate::expr::{ArithmeticOp, CompareOp, EvalContext, Expr, ExprKind};
use crate::store_error::interrupted;
use crate::types::{Collation, SqlType};
use crate::value::convert::exact_integer;
use crate::value::{Value, truncated};

/// Most nodes that a step finds: one that several of those before it lead to is found as often.
const MAX_FOUND: usize = 1 << 20;

/// Nodes looked at between two looks at whether the statement was killed.
const LOOK_AFTER: u32 = 1 << 16;

/// A node that a step found, and how many it found from the same node before.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Position of the node.
    pub node: usize,
    place: usize,
}

/// The node that a predicate looks at, among so many.
type Looked = Option<(Found, usize)>;

/// An expression being evaluated.
pub struct Evaluation<'e> {
    /// The document.
    pub nodes: &'e [Node<'e>],
    /// The session.
    pub cx: &'e EvalContext<'e>,
    /// Texts are compared under it.
    pub collation: Collation,
    /// Nodes looked at so far.
    pub looked_at: Cell<u32>,
}

impl Evaluation<'_> {
    /// The value of an expression; of nodes, their texts with blanks between.
    pub fn value(&self, item: &Item, looked: Looked) -> SqlResult<Value<'static>> {
        Ok(match item {
            Item::Number(n) => match n.parse::<i64>() {
                Ok(n) => Value::Int(n),
                Err(_) => Value::Decimal(Value::string(n.clone()).to_decimal()),
            },
            Item::Text(t) => Value::Bytes(t.clone().into()),
            Item::Variable(name) => {
                let variables = self.cx.session.user_vars.borrow();
                variables.get(name).cloned().unwrap_or(Value::Null)
            }
            Item::Path(..) | Item::Union(_) => {
                let found = self.nodes_of(item, looked)?;
                Value::Bytes(self.text(&found).into())
            }
            Item::Call(f, args) => self.call(*f, args, looked)?,
            Item::Or(list) => {
                let mut any = false;
                for item in list {
                    any = any || self.truth(item, looked)?;
                }
                Value::bool(any)
            }
            Item::And(list) => {
                let mut all = true;
                for item in list {
                    all = all && self.truth(item, looked)?;
                }
                Value::bool(all)
            }
            Item::Compare(op, sides) => Value::bool(self.compare(*op, sides, looked)?),
            Item::Arithmetic(first, rest) => {
                let mut value = self.number(first, looked)?;
                for (op, item) in rest {
                    value = self.computed(*op, value, self.number(item, looked)?)?;
                }
                value
            }
            Item::Negate(item) => {
                let value = self.number(item, looked)?;
                self.computed(ArithmeticOp::Sub, Value::Int(0), value)?
            }
        })
    }

    /// The nodes that an expression is.
    pub fn nodes_of(&self, item: &Item, looked: Looked) -> SqlResult<Vec<Found>> {
        match item {
            Item::Path(base, steps) => {
                let root = || vec![Found { node: 0, place: 0 }];
                let mut found = match base {
                    Base::Root => root(),
                    Base::Context => looked.map_or_else(root, |(found, _)| vec![found]),
                    Base::Nodes(item) => self.nodes_of(item, looked)?,
                };
                for step in steps {
                    found = self.step(step, &found)?;
                }
                Ok(found)
            }
            Item::Union(sides) => {
                let mut found = self.nodes_of(&sides[0], looked)?;
                found.extend(self.nodes_of(&sides[1], looked)?);
                let mut nodes: Vec<usize> = found.iter().map(|f| f.node).collect();
                Ok(in_order(&mut nodes))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Counts a node; error 1317 if the statement was killed, 3024 if it has run for too long.
    fn tick(&self) -> SqlResult<()> {
        let count = self.looked_at.get().wrapping_add(1);
        self.looked_at.set(count);
        let session = self.cx.session;
        if !count.is_multiple_of(LOOK_AFTER) {
            return Ok(());
        }
        if session.is_interrupted() {
            return Err(interrupted());
        }
        if session.is_overdue() {
            return Err(overdue());
        }
        Ok(())
    }

    fn step(&self, step: &Step, from: &[Found]) -> SqlResult<Vec<Found>> {
        let size = from.len();
        let mut out = Vec::new();
        match step {
            Step::Along(axis, name) => return self.along(*axis, name.as_deref(), from),
            Step::Where(item) => {
                for &found in from {
                    self.tick()?;
                    if self.truth(item, Some((found, size)))? {
                        let place = out.len();
                        out.push(Found { place, ..found });
                    }
                }
            }
            Step::At(item) => {
                for &found in from {
                    self.tick()?;
                    let wanted = self.value(item, Some((found, size)))?;
                    if let Value::Bytes(b) = &wanted
                        && exact_integer(b).is_none()
                    {
                        truncated(self.cx.session, "INTEGER", &wanted)?;
                    }
                    if i64::try_from(found.place + 1).is_ok_and(|at| at == wanted.to_i64()) {
                        let place = out.len();
                        out.push(Found { place, ..found });
                    }
                }
            }
        }
        Ok(out)
    }

    fn along(&self, axis: Axis, name: Option<&[u8]>, from: &[Found]) -> SqlResult<Vec<Found>> {
        let named = |n: usize| name.is_none_or(|name| self.nodes[n].name == name);
        let is = |n: usize, kind| self.nodes[n].kind == kind && named(n);
        let mut upward = Vec::new();
        let mut out: Vec<Found> = Vec::new();
        for f in from {
            let own = &self.nodes[f.node];
            let mut place = 0;
            let mut find = |node: usize| -> SqlResult<()> {
                if out.len() >= MAX_FOUND {
                    return Err(SqlError::new(1105, "XPATH error: too many nodes"));
                }
                out.push(Found { node, place });
                place += 1;
                Ok(())
            };
            match axis {
                Axis::Child | Axis::Attribute => {
                    let kind = match axis {
                        Axis::Attribute => Kind::Attribute,
                        _ => Kind::Element,
                    };
                    let mut at = f.node + 1;
                    while at < own.end {
                        self.tick()?;
                        if is(at, kind) {
                            find(at)?;
                        }
                        at = self.nodes[at].end;
                    }
                }
                Axis::Itself => {
                    if named(f.node) {
                        find(f.node)?;
                    }
                }
                Axis::Descendant | Axis::DescendantOrSelf => {
                    if axis == Axis::DescendantOrSelf && named(f.node) {
                        find(f.node)?;
                    }
                    for at in f.node + 1..own.end {
                        self.tick()?;
                        if is(at, Kind::Element) {
                            find(at)?;
                        }
                    }
                }
                Axis::Parent => {
                    if f.node > 0 && named(own.parent) {
                        upward.push(own.parent);
                    }
                }
                Axis::Ancestor | Axis::AncestorOrSelf => {
                    let mut at = f.node;
                    if axis == Axis::Ancestor {
                        at = own.parent;
                    }
                    while at > 0 {
                        self.tick()?;
                        if named(at) {
                            upward.push(at);
                        }
                        at = self.nodes[at].parent;
                    }
                    if upward.len() > MAX_FOUND {
                        upward.sort_unstable();
                        upward.dedup();
                    }
                }
            }
        }
        Ok(match upward.is_empty() {
            true => out,
            false => in_order(&mut upward),
        })
    }

    /// The texts of nodes.
    fn texts<'t>(&'t self, found: &'t Found) -> impl Iterator<Item = usize> + 't {
        let end = self.nodes[found.node].end;
        let mut at = found.node + 1;
        std::iter::from_fn(move || {
            while at < end {
                let here = at;
                at = self.nodes[here].end;
                if self.nodes[here].kind == Kind::Text {
                    return Some(here);
                }
            }
            None
        })
    }

    /// The texts of nodes in the document's order, each once, with blanks between.
    fn text(&self, found: &[Found]) -> Vec<u8> {
        let mut texts: Vec<usize> = found.iter().flat_map(|f| self.texts(f)).collect();
        texts.sort_unstable();
        texts.dedup();
        let mut out = Vec::new();
        for at in texts {
            if !out.is_empty() {
                out.push(b' ');
            }
            out.extend_from_slice(self.nodes[at].name);
        }
        out
    }

    /// Whether something is not 0, and nodes not none.
    fn truth(&self, item: &Item, looked: Looked) -> SqlResult<bool> {
        if item.is_nodes() {
            return Ok(!self.nodes_of(item, looked)?.is_empty());
        }
        Ok(self.value(item, looked)?.to_f64() != 0.0)
    }

    fn number(&self, item: &Item, looked: Looked) -> SqlResult<Value<'static>> {
        Ok(match self.value(item, looked)? {
            v @ Value::Bytes(_) => Value::Double(v.to_f64()),
            v => v,
        })
    }

    fn literal(&self, v: Value<'static>) -> Expr {
        let ty = type_of(&v, self.collation);
        Expr::literal(v, ty)
    }

    fn computed(
        &self,
        op: ArithmeticOp,
        a: Value<'static>,
        b: Value<'static>,
    ) -> SqlResult<Value<'static>> {
        let e = arithmetic(op, self.literal(a), self.literal(b));
        Ok(e.eval(self.cx)?.into_owned())
    }

    /// Nodes compare as any of their texts does.
    fn compare(&self, op: CompareOp, sides: &[Item; 2], looked: Looked) -> SqlResult<bool> {
        let at = sides.iter().position(Item::is_nodes);
        let Some(at) = at else {
            let left = self.value(&sides[0], looked)?;
            let right = self.value(&sides[1], looked)?;
            return Ok(self.holds(op, &left, &right));
        };
        let other = self.value(&sides[1 - at], looked)?;
        let found = self.nodes_of(&sides[at], looked)?;
        Ok(found.iter().flat_map(|f| self.texts(f)).any(|n| {
            let text = Value::Bytes(self.nodes[n].name.into());
            match at {
                0 => self.holds(op, &text, &other),
                _ => self.holds(op, &other, &text),
            }
        }))
    }

    fn holds(&self, op: CompareOp, left: &Value<'_>, right: &Value<'_>) -> bool {
        left.compare(right, self.collation)
            .is_some_and(|o| op.holds(o))
    }

    fn call(&self, f: Function, args: &[Item], looked: Looked) -> SqlResult<Value<'static>> {
        use Function as F;
        let whole = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let value = |n: usize| match args.get(n) {
            Some(item) => self.value(item, looked),
            None => {
                let here: Vec<Found> = looked.iter().map(|l| l.0).collect();
                Ok(Value::Bytes(self.text(&here).into()))
            }
        };
        let values = || -> SqlResult<Vec<Value<'static>>> {
            args.iter().map(|item| self.value(item, looked)).collect()
        };
        Ok(match f {
            F::True => Value::bool(true),
            F::False => Value::bool(false),
            F::Boolean => Value::bool(self.truth(&args[0], looked)?),
            F::Not => Value::bool(!self.truth(&args[0], looked)?),
            F::Last => whole(looked.map_or(0, |l| l.1)),
            F::Position => whole(looked.map_or(0, |l| l.0.place + 1)),
            F::Count => whole(self.nodes_of(&args[0], looked)?.len()),
            F::Sum => {
                let found = self.nodes_of(&args[0], looked)?;
                let numbers = found.iter().flat_map(|f| self.texts(f));
                let number = |n: usize| Value::Bytes(self.nodes[n].name.into()).to_f64();
                Value::Double(numbers.map(number).fold(0.0, |sum, n| sum + n))
            }
            F::Number => Value::Double(value(0)?.to_f64()),
            F::StringLength => self.sql("CHAR_LENGTH", vec![value(0)?])?,
            F::Concat => self.sql("CONCAT", values()?)?,
            F::Contains => {
                let place = self.sql("LOCATE", vec![value(1)?, value(0)?])?;
                Value::bool(place.to_i64() > 0)
            }
            F::Substring => {
                let mut list = values()?;
                for at in &mut list[1..] {
                    *at = Value::Int(at.to_i64());
                }
                self.sql("SUBSTRING", list)?
            }
            F::Round => {
                // As a floating-point number: of two that are as near it is the even one.
                let number = Value::Double(self.number(&args[0], looked)?.to_f64());
                self.sql("ROUND", vec![number, Value::Int(0)])?
            }
            F::Floor => self.sql("FLOOR", vec![self.number(&args[0], looked)?])?,
            F::Ceiling => self.sql("CEIL", vec![self.number(&args[0], looked)?])?,
        })
    }

    /// A call of SQL's function.
    fn sql(&self, name: &str, args: Vec<Value<'static>>) -> SqlResult<Value<'static>> {
        let Some(f): Option<Func> = func::find(name, args.len())? else {
            return Ok(Value::Null);
        };
        let args: Vec<Expr> = args.into_iter().map(|v| self.literal(v)).collect();
        let (ty, nullable): (SqlType, bool) = func::result_type(f, &args, self.collation);
        let e = Expr::new(ExprKind::Function(f, args), ty, nullable);
        Ok(e.eval(self.cx)?.into_owned())
    }
}

/// Nodes in the document's order, each once.
fn in_order(nodes: &mut Vec<usize>) -> Vec<Found> {
    nodes.sort_unstable();
    nodes.dedup();
    let found = nodes.iter().enumerate();
    found.map(|(place, &node)| Found { node, place }).collect()
}
