//! From an expression to nodes, and what each of them does.

use super::like::Pattern;
use super::list::Items;
use super::logic::{self, FALSE, NULL, TRUE};
use super::operand::{Operand, Rows, column};
use super::{Frame, Tried, arithmetic, by_row, choose, compare, convert};
use crate::expr::kinds::Compared;
use crate::expr::{ArithmeticOp, CompareOp, EvalContext, Expr, ExprKind, Func, IntervalUnit};
use crate::types::{BaseType, Collation, Family};
use crate::value::Value;

/// An expression, prepared.
pub(super) struct Node<'e> {
    pub e: &'e Expr,
    form: Form<'e>,
}

/// How it is evaluated.
enum Form<'e> {
    /// By the row evaluator.
    ByRow,
    Constant(Value<'e>),
    Column(usize, usize),
    Compare(CompareOp, Box<[Node<'e>; 2]>, Collation),
    And(Vec<Node<'e>>),
    Or(Vec<Node<'e>>),
    Xor(Box<[Node<'e>; 2]>),
    Not(Box<Node<'e>>),
    /// IS NULL, or (true) IS NOT NULL.
    IsNull(Box<Node<'e>>, bool),
    /// Operand, asked truth, negated.
    IsTruth(Box<Node<'e>>, bool, bool),
    Between(Box<[Node<'e>; 3]>, bool, Collation),
    In(Box<Node<'e>>, Items<'e>),
    Like(Box<Node<'e>>, Pattern<'e>),
    Arithmetic(ArithmeticOp, Box<[Node<'e>; 2]>),
    Negate(Box<Node<'e>>),
    Case(Vec<(Node<'e>, Node<'e>)>, Option<Box<Node<'e>>>),
    Cast(Box<Node<'e>>),
    /// What it is of: the same value.
    Same(Box<Node<'e>>),
    Extract(Box<Node<'e>>, IntervalUnit),
    Substring(Box<Node<'e>>, i64, i64),
}

/// A constant's value, if it is one and there is nothing to say of it.
fn constant<'e>(e: &'e Expr, cx: &EvalContext<'_>) -> Option<Value<'e>> {
    if let ExprKind::Literal(v) | ExprKind::BitString(v) = &e.kind {
        return Some(v.borrowed());
    }
    if !e.is_const() {
        return None;
    }
    let diagnostics = &cx.session.diagnostics;
    let said = diagnostics.borrow().len();
    let v = e.eval(cx).map(Value::into_owned);
    if diagnostics.borrow().len() > said {
        diagnostics.borrow_mut().truncate(said);
        return None;
    }
    v.ok()
}

impl<'e> Node<'e> {
    /// Prepares an expression that is batchable.
    pub fn new(e: &'e Expr, cx: &EvalContext<'_>) -> Node<'e> {
        let form = match constant(e, cx) {
            Some(v) => Form::Constant(v),
            None => Form::new(e, cx),
        };
        let node = Node { e, form };
        // What only hands on rows is better done by row itself.
        let idle = {
            let mut some = false;
            let mut native = false;
            node.operands(&mut |n| {
                some = true;
                native |= n.is_native() && n.constant().is_none();
            });
            some && !native
        };
        if idle {
            Node {
                e,
                form: Form::ByRow,
            }
        } else {
            node
        }
    }
    /// Whether it is more than the row evaluator.
    pub fn is_native(&self) -> bool {
        !matches!(self.form, Form::ByRow)
    }
    /// Its value, if it is a constant.
    pub fn constant(&self) -> Option<&Value<'e>> {
        match &self.form {
            Form::Constant(v) => Some(v),
            _ => None,
        }
    }

    fn operands(&self, f: &mut dyn FnMut(&Node<'e>)) {
        match &self.form {
            Form::ByRow | Form::Constant(_) | Form::Column(..) => {}
            Form::Compare(_, list, _) | Form::Xor(list) | Form::Arithmetic(_, list) => {
                list.iter().for_each(f);
            }
            Form::And(list) | Form::Or(list) => list.iter().for_each(f),
            Form::Between(list, ..) => list.iter().for_each(f),
            Form::Not(e)
            | Form::IsNull(e, _)
            | Form::IsTruth(e, ..)
            | Form::In(e, _)
            | Form::Like(e, _)
            | Form::Negate(e)
            | Form::Cast(e)
            | Form::Same(e)
            | Form::Extract(e, _)
            | Form::Substring(e, ..) => f(e),
            Form::Case(branches, last) => {
                for (when, then) in branches {
                    f(when);
                    f(then);
                }
                if let Some(e) = last {
                    f(e);
                }
            }
        }
    }

    /// Its values for rows, as [`Expr::eval`] gives them.
    pub fn values<'b>(&self, f: &Frame<'_, 'b>, rows: Rows<'_>) -> Tried<Operand<'b>>
    where
        'e: 'b,
    {
        Ok(match &self.form {
            Form::ByRow => Operand::Each(by_row::values(self.e, f, rows)?),
            Form::Constant(v) => Operand::Same(v.clone()),
            Form::Column(source, at) => column(f, *source, *at, rows)?,
            Form::Arithmetic(op, args) => {
                let (a, b) = (args[0].values(f, rows)?, args[1].values(f, rows)?);
                arithmetic::apply(self.e, *op, &a, &b, f, rows.len())?
            }
            Form::Negate(a) => match arithmetic::negate(&a.values(f, rows)?) {
                Some(v) => v,
                None => Operand::Each(by_row::values(self.e, f, rows)?),
            },
            Form::Case(branches, last) => choose::case(self.e, branches, last.as_deref(), f, rows)?,
            Form::Cast(a) => convert::cast(self.e, a.values(f, rows)?, f, rows.len())?,
            Form::Same(a) => a.values(f, rows)?,
            Form::Extract(a, unit) => match convert::extract(&a.values(f, rows)?, *unit) {
                Some(v) => v,
                None => Operand::Each(by_row::values(self.e, f, rows)?),
            },
            Form::Substring(a, from, len) => {
                match convert::substring(a, &a.values(f, rows)?, *from, *len) {
                    Some(v) => v,
                    None => Operand::Each(by_row::values(self.e, f, rows)?),
                }
            }
            _ => logic::as_values(&self.truths(f, rows)?),
        })
    }

    /// Its values as [`Expr::shown`] gives them.
    pub fn shown<'b>(&self, f: &Frame<'_, 'b>, rows: Rows<'_>) -> Tried<Operand<'b>>
    where
        'e: 'b,
    {
        Ok(self.values(f, rows)?.shown(self.e))
    }

    /// Its truth for rows, as [`Expr::truth`] gives it.
    pub fn truths<'b>(&self, f: &Frame<'_, 'b>, rows: Rows<'_>) -> Tried<Vec<u8>>
    where
        'e: 'b,
    {
        Ok(match &self.form {
            Form::ByRow => by_row::truths(self.e, f, rows)?,
            Form::Compare(op, args, collation) => {
                let (a, b) = (args[0].shown(f, rows)?, args[1].shown(f, rows)?);
                let by = [Some(args[0].e), Some(args[1].e)];
                compare::truths(*op, &a, &b, *collation, by, f, rows.len())?
            }
            Form::And(all) => logic::fold(all, FALSE, f, rows)?,
            Form::Or(any) => logic::fold(any, TRUE, f, rows)?,
            Form::Xor(args) => logic::xor(args[0].truths(f, rows)?, args[1].truths(f, rows)?),
            Form::Not(e) => {
                let mut out = e.truths(f, rows)?;
                logic::negate_if(true, &mut out);
                out
            }
            Form::IsNull(e, negated) => {
                let mut out = e.nulls(f, rows)?;
                logic::negate_if(*negated, &mut out);
                out
            }
            Form::IsTruth(e, asked, negated) => {
                let mut out = e.truths(f, rows)?;
                for t in &mut out {
                    *t = u8::from((*t == u8::from(*asked)) != *negated);
                }
                out
            }
            Form::Between(args, negated, collation) => {
                let v = args[0].shown(f, rows)?;
                let (low, high) = (args[1].shown(f, rows)?, args[2].shown(f, rows)?);
                match compare::between([&v, &low, &high], *collation, f, rows.len())? {
                    Some(mut out) => {
                        logic::negate_if(*negated, &mut out);
                        out
                    }
                    None => by_row::truths(self.e, f, rows)?,
                }
            }
            Form::In(e, items) => match items.truths(&e.shown(f, rows)?, rows.len()) {
                Some(out) => out,
                None => by_row::truths(self.e, f, rows)?,
            },
            Form::Like(e, pattern) => match pattern.truths(&e.values(f, rows)?, rows.len()) {
                Some(out) => out,
                None => by_row::truths(self.e, f, rows)?,
            },
            _ => logic::of_values(self, f, rows)?,
        })
    }

    /// Whether it is NULL: [`TRUE`] or [`FALSE`].
    fn nulls<'b>(&self, f: &Frame<'_, 'b>, rows: Rows<'_>) -> Tried<Vec<u8>>
    where
        'e: 'b,
    {
        if self.is_predicate() {
            let truths = self.truths(f, rows)?;
            return Ok(truths.into_iter().map(|t| u8::from(t == NULL)).collect());
        }
        Ok(match self.values(f, rows)? {
            Operand::Same(v) => vec![u8::from(v.is_null()); rows.len()],
            Operand::Each(v) => (0..rows.len()).map(|i| u8::from(v.is_null(i))).collect(),
        })
    }

    fn is_predicate(&self) -> bool {
        matches!(
            self.form,
            Form::Compare(..)
                | Form::And(_)
                | Form::Or(_)
                | Form::Xor(_)
                | Form::Not(_)
                | Form::IsNull(..)
                | Form::IsTruth(..)
                | Form::Between(..)
                | Form::In(..)
                | Form::Like(..)
        )
    }
}

fn may_be_text(e: &Expr) -> bool {
    !e.ty.is_numeric() && !e.ty.is_temporal()
}

impl<'e> Form<'e> {
    fn new(e: &'e Expr, cx: &EvalContext<'_>) -> Form<'e> {
        use ExprKind as K;
        let node = |e: &'e Expr| Node::new(e, cx);
        let boxed = |e: &'e Expr| Box::new(Node::new(e, cx));
        let two = |args: &'e [Expr; 2]| Box::new([node(&args[0]), node(&args[1])]);
        match &e.kind {
            K::Column { source, column, .. } => Form::Column(*source, *column),
            // A text is read as a number, and warned of, before the number beside it is known to be NULL.
            // Of a text beside a date the row evaluator has more to say.
            K::Compare(_, args, _) if dated(&args[0], &args[1]) || dated(&args[1], &args[0]) => {
                Form::ByRow
            }
            K::Compare(_, args, _) if args[1].ty.is_numeric() && may_be_text(&args[0]) => {
                Form::ByRow
            }
            K::Compare(op, args, collation) => Form::Compare(*op, two(args), *collation),
            K::And(list) => Form::And(list.iter().map(node).collect()),
            K::Or(list) => Form::Or(list.iter().map(node).collect()),
            K::Xor(args) => Form::Xor(two(args)),
            K::Not(e) => Form::Not(boxed(e)),
            K::IsNull(e) => Form::IsNull(boxed(e), false),
            K::IsNotNull(e) => Form::IsNull(boxed(e), true),
            K::IsTruth(e, asked, negated) => Form::IsTruth(boxed(e), *asked, *negated),
            // Moments beside others are compared as what all three become.
            K::Between { args, .. }
                if args.iter().any(|a| a.ty.is_temporal())
                    && matches!(
                        Compared::of(args.each_ref().map(|a| Some(&a.ty))),
                        Compared::Numbers | Compared::Texts
                    ) =>
            {
                Form::ByRow
            }
            K::Between {
                args,
                negated,
                collation,
            } => {
                let args = Box::new([node(&args[0]), node(&args[1]), node(&args[2])]);
                Form::Between(args, *negated, *collation)
            }
            K::InList(l) if l.is_among() => Form::ByRow,
            K::InList(l) => {
                let constants = l.list.iter().map(|e| {
                    let v = Operand::Same(constant(e, cx)?).shown(e);
                    v.same().cloned()
                });
                match constants.collect() {
                    Some(values) => Form::In(boxed(&l.value), Items::new(l, values)),
                    None => Form::ByRow,
                }
            }
            K::Like(l) => match constant(&l.pattern, cx) {
                Some(Value::Bytes(p)) if l.escape_by.is_none() => {
                    Form::Like(boxed(&l.value), Pattern::new(l, p))
                }
                _ => Form::ByRow,
            },
            // How many digits a quotient or a product has depends on those of what was chosen.
            K::Arithmetic(..) | K::Negate(_) if of_chosen(e) => Form::ByRow,
            K::Arithmetic(op, args) => Form::Arithmetic(*op, two(args)),
            K::Negate(a) => Form::Negate(boxed(a)),
            K::Case(branches, last) => {
                let last = last.as_deref();
                let mut results = branches.iter().map(|(_, r)| r).chain(last);
                // A text's form is its type's, and a time is one of today: both are the row's to know.
                let by_row = |r: &Expr| {
                    e.ty.is_json()
                        || e.ty.is_string() && !r.ty.is_string()
                        || r.ty.base == BaseType::Time && e.ty.base != r.ty.base
                };
                if results.any(by_row) {
                    return Form::ByRow;
                }
                let branches = branches.iter().map(|(c, r)| (node(c), node(r)));
                Form::Case(branches.collect(), last.map(boxed))
            }
            K::Cast(a) if e.ty.is_json() || a.ty.is_json() => Form::ByRow,
            K::Cast(a) if !e.ty.is_string() || a.ty.is_string() => Form::Cast(boxed(a)),
            K::Collate(a) => Form::Same(boxed(a)),
            K::Extract(a, unit, _) => Form::Extract(boxed(a), *unit),
            K::Function(Func::Substring, args) => {
                let int = |e: &Expr| match constant(e, cx) {
                    Some(Value::Int(v)) => Some(v),
                    _ => None,
                };
                let len = match args.get(2) {
                    Some(e) => int(e),
                    None => Some(i64::MAX),
                };
                match (int(&args[1]), len) {
                    (Some(from), Some(len)) => Form::Substring(boxed(&args[0]), from, len),
                    _ => Form::ByRow,
                }
            }
            _ => Form::ByRow,
        }
    }
}

/// Whether a date stands beside a text.
/// Whether it is made of decimals that CASE or its like chooses, each with digits after the point of its own.
fn of_chosen(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= e.ty.chosen && e.ty.base == BaseType::Decimal);
    found
}

fn dated(date: &Expr, text: &Expr) -> bool {
    let family = date.ty.family();
    matches!(family, Family::Date | Family::DateTime | Family::Timestamp) && text.ty.is_string()
}
