//! Evaluation of bound expressions.

use std::borrow::Cow;

use super::operators::{compare, text_decimal, text_number};
use super::{EvalContext, Expr, ExprKind, func, interval, kinds, operators};
use crate::error::{SqlError, SqlResult};
use crate::types::collation::char_count;
use crate::types::{BaseType, Family as F, SqlType};
use crate::value::decimal::MAX_SCALE;
use crate::value::family::{beside, beside_float};
use crate::value::{Decimal, Value, cast, conform, double_of_text, member_number, write_text};

fn truth_value(t: Option<bool>) -> Value<'static> {
    match t {
        Some(b) => Value::bool(b),
        None => Value::Null,
    }
}

/// A text with blanks to a CHAR's full length.
fn padded<'a>(v: Value<'a>, ty: &SqlType) -> Value<'a> {
    let Value::Bytes(mut text) = v else { return v };
    let missing = (ty.length as usize).saturating_sub(char_count(&text));
    if missing > 0 {
        let text = text.to_mut();
        text.resize(text.len() + missing, b' ');
    }
    Value::Bytes(text)
}

/// Whether a text is cast to a double without a word.
fn quiet_double(text: &Expr, ty: &SqlType) -> bool {
    matches!(ty.family(), F::Double | F::Float) && text.is_quiet()
}

impl Expr {
    /// Columns, literals and parameters, which cannot fail; not those columns that are yet to be computed.
    #[inline]
    fn leaf<'a>(&'a self, cx: &EvalContext<'a>) -> Option<Value<'a>> {
        match &self.kind {
            ExprKind::Column { source, column, .. } => cx.known(*source, *column),
            ExprKind::Literal(v) | ExprKind::BitString(v) => Some(v.borrowed()),
            ExprKind::Param(i) | ExprKind::Local(i, _) => Some(cx.params[*i].borrowed()),
            _ => None,
        }
    }

    /// Evaluates. Columns, literals and parameters are borrowed.
    #[inline]
    pub fn eval<'a>(&'a self, cx: &EvalContext<'a>) -> SqlResult<Value<'a>> {
        match self.leaf(cx) {
            Some(v) => Ok(v),
            None => self.compute(cx),
        }
    }

    /// Evaluates, and rounds a decimal to the digits of its type: quotients and what is made of them carry more until they are
    /// compared, grouped by or given out.
    #[inline]
    pub fn shown<'a>(&'a self, cx: &EvalContext<'a>) -> SqlResult<Value<'a>> {
        Ok(match self.eval(cx)? {
            Value::Decimal(d) if !self.is_free() => Value::Decimal(self.ty.shown(d)),
            v => v,
        })
    }

    /// Whether the digits of its value are not its type's: those of a variable or parameter.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        matches!(
            self.kind,
            ExprKind::Param(_) | ExprKind::UserVariable(_) | ExprKind::Beside(..)
        )
    }

    /// What chains long is apart from the rest: a partition's function is evaluated on an ordinary stack, however long it is.
    fn compute<'a>(&'a self, cx: &EvalContext<'a>) -> SqlResult<Value<'a>> {
        match &self.kind {
            ExprKind::Arithmetic(op, args) => operators::arithmetic(self, *op, args, cx),
            ExprKind::Negate(a) => operators::negate(self, a, cx),
            ExprKind::Function(f, args) => func::call(self, *f, args, cx),
            ExprKind::Column { source, column, .. } => cx.column(*source, *column),
            _ => self.compute_other(cx),
        }
    }

    fn compute_other<'a>(&'a self, cx: &EvalContext<'a>) -> SqlResult<Value<'a>> {
        use ExprKind as K;
        Ok(match &self.kind {
            K::Literal(_) | K::BitString(_) | K::Param(_) | K::Local(..) => {
                self.leaf(cx).unwrap_or(Value::Null)
            }
            K::Arithmetic(..) | K::Negate(_) | K::Function(..) | K::Column { .. } => {
                unreachable!("computed by the caller")
            }
            K::Compare(..)
            | K::And(_)
            | K::Or(_)
            | K::Xor(_)
            | K::Not(_)
            | K::IsNull(_)
            | K::IsNotNull(_)
            | K::IsTruth(..)
            | K::Between { .. }
            | K::InList(_)
            | K::Like(_)
            | K::Regexp(_) => truth_value(self.truth(cx)?),
            K::Subquery { .. } => return Err(SqlError::unsupported("subquery here")),
            K::Bit(op, args) => operators::bits(*op, args, cx)?,
            K::BitNot(a) => match a.eval(cx)? {
                Value::Null => Value::Null,
                v => Value::UInt(!operators::bits_of(&v, a, cx)?),
            },
            K::Case(branches, last) => {
                for (when, then) in branches {
                    if when.truth(cx)? == Some(true) {
                        return self.conformed(then, cx);
                    }
                }
                match last {
                    Some(e) => return self.conformed(e, cx),
                    None => Value::Null,
                }
            }
            K::Cast(a) if self.ty.is_json() => return func::cast_to_json(a, cx),
            K::Cast(a) => {
                let v = if self.ty.is_string() && !a.ty.is_string() {
                    match a.text(cx)? {
                        Some(t) => Value::Bytes(t),
                        None => Value::Null,
                    }
                } else {
                    match a.eval(cx)? {
                        Value::Bytes(b) if quiet_double(a, &self.ty) => {
                            Value::Double(double_of_text(&b).0)
                        }
                        Value::Bytes(b) if self.ty.base == BaseType::Decimal => {
                            // What is compared with a DECIMAL is read once.
                            let once = self.ty.decimals == MAX_SCALE;
                            Value::Decimal(text_decimal(&b, a, once, cx)?)
                        }
                        v if self.ty.base == BaseType::Time => kinds::clock(v, a),
                        v => v,
                    }
                };
                return cast(v, &self.ty, cx.session);
            }
            K::Named(a, name) => {
                let K::Cast(number) = &a.kind else {
                    return a.eval(cx);
                };
                let v = match number.eval(cx)? {
                    Value::Bytes(b) => Value::Decimal(text_decimal(&b, number, false, cx)?),
                    v => v,
                };
                let names = &cx.session.cast_name;
                let around = names.replace(Some(name.clone()));
                let number = cast(v, &a.ty, cx.session);
                names.replace(around);
                return number;
            }
            K::Collate(a) => return a.eval(cx),
            K::Moment(a) => match a.eval(cx)? {
                Value::Bytes(text) => kinds::moment(&text),
                v => v,
            },
            K::Padded(a) => padded(a.eval(cx)?, &self.ty),
            K::EnumIndex(a) => match a.eval(cx)? {
                Value::Null => Value::Null,
                v => member_number(&v.to_text(), &a.ty).unwrap_or(v),
            },
            K::EnumBeside(args) => match (args[0].eval(cx)?, args[1].eval(cx)?) {
                (Value::Bytes(b), other) if other.is_number() => {
                    member_number(&b, &args[0].ty).unwrap_or(Value::Bytes(b))
                }
                (v, _) => v,
            },
            K::Beside(a, BaseType::Float) => {
                return Ok(beside_float(a.eval(cx)?, self.ty.decimals));
            }
            K::Beside(a, base) => return beside(a.eval(cx)?, *base, cx.session.sql_mode.get()),
            K::DateAdd(args, unit, minus) => {
                return interval::date_add(self, args, *unit, *minus, cx);
            }
            K::TimestampDiff(args, unit) => interval::timestamp_diff(args, *unit, cx)?,
            K::Extract(a, unit, plain) => {
                let v = a.eval(cx)?;
                let v = match unit.is_date() {
                    true => v,
                    false => kinds::clock(v, a),
                };
                interval::extract(&v, *unit, *plain, cx)?
            }
            K::UserVariable(name) => {
                let vars = cx.session.user_vars.borrow();
                vars.get(&**name).cloned().unwrap_or(Value::Null)
            }
            K::SetUserVariable(name, a) => {
                let v = a.eval(cx)?.into_owned();
                cx.session.set_typed_var(name, v.clone(), &a.ty)?;
                v
            }
            K::SystemVariable(scope, name) => (cx.session.sys_var)(scope, name)?,
            K::SeededRand(seed, state) => {
                let seed = seed.eval(cx)?.to_i64() as u32;
                Value::Double(state.lock().next(seed, cx.session.now.get()))
            }
        })
    }

    /// A branch's value in this expression's type.
    pub(super) fn conformed<'a>(
        &self,
        branch: &'a Expr,
        cx: &EvalContext<'a>,
    ) -> SqlResult<Value<'a>> {
        if self.ty.is_string() && !branch.ty.is_string() {
            return Ok(branch.text(cx)?.map_or(Value::Null, Value::Bytes));
        }
        let v = branch.eval(cx)?;
        if matches!(v, Value::Time(_)) && matches!(self.ty.family(), F::DateTime | F::Timestamp) {
            return Ok(kinds::today(&v, cx.session).unwrap_or(Value::Null));
        }
        if self.ty.family() == F::Decimal && !v.is_null() {
            return Ok(Value::Decimal(branch.own_scale(v)));
        }
        Ok(conform(v, &self.ty))
    }

    /// Its value as a decimal with the digits after the point that its type shows, or more.
    fn own_scale(&self, v: Value<'_>) -> Decimal {
        let d = v.to_decimal();
        match self.ty.base {
            BaseType::Decimal if !self.ty.chosen && !self.is_free() => {
                d.round(d.scale().max(self.ty.decimals))
            }
            _ => d,
        }
    }

    /// The value as text in its static type's form; `None` for NULL.
    #[inline]
    pub fn text<'a>(&'a self, cx: &EvalContext<'a>) -> SqlResult<Option<Cow<'a, [u8]>>> {
        Ok(match self.eval(cx)? {
            Value::Null => None,
            Value::Bytes(b) => Some(b),
            v => {
                let mut out = Vec::with_capacity(24);
                if matches!(self.kind, ExprKind::Param(_)) {
                    // A parameter's type is the client's, not the expression's.
                    out.extend_from_slice(&v.to_text());
                } else {
                    write_text(&v, &self.ty, &mut out);
                }
                Some(Cow::Owned(out))
            }
        })
    }

    /// Evaluates as a predicate; `None` for NULL.
    pub fn truth(&self, cx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        use ExprKind as K;
        match &self.kind {
            K::Compare(op, args, collation) => {
                let a = args[0].shown(cx)?;
                // Beside NULL the other side is not looked at.
                if a.is_null() && *op != super::CompareOp::NullSafeEq {
                    return Ok(None);
                }
                let b = args[1].shown(cx)?;
                Ok(
                    match compare(&a, &b, *collation, [Some(&args[0]), Some(&args[1])], cx)? {
                        Some(o) => Some(op.holds(o)),
                        None => {
                            // What is no number is read as one before the other is known to be NULL.
                            if let Value::Bytes(text) = &a
                                && args[1].ty.is_numeric()
                                && !args[0].ty.is_enumerated()
                                && !matches!(args[0].kind, K::BitString(_))
                            {
                                text_number(text, Some(&args[0]), cx)?;
                            }
                            let equal = || a.is_null() && b.is_null();
                            (*op == super::CompareOp::NullSafeEq).then(equal)
                        }
                    },
                )
            }
            K::And(all) => {
                let mut null = false;
                for e in all {
                    match e.truth(cx)? {
                        Some(false) => return Ok(Some(false)),
                        Some(true) => {}
                        None => null = true,
                    }
                }
                Ok(if null { None } else { Some(true) })
            }
            K::Or(any) => {
                let mut null = false;
                for e in any {
                    match e.truth(cx)? {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => null = true,
                    }
                }
                Ok(if null { None } else { Some(false) })
            }
            K::Xor(args) => Ok(match (args[0].truth(cx)?, args[1].truth(cx)?) {
                (Some(a), Some(b)) => Some(a != b),
                _ => None,
            }),
            K::Not(e) => Ok(e.truth(cx)?.map(|t| !t)),
            K::IsNull(e) => Ok(Some(e.eval(cx)?.is_null())),
            K::IsNotNull(e) => Ok(Some(!e.eval(cx)?.is_null())),
            K::IsTruth(e, asked, negated) => Ok(Some((e.truth(cx)? == Some(*asked)) != *negated)),
            K::Between {
                args,
                negated,
                collation,
            } => {
                let mut all = [args[0].shown(cx)?, args[1].shown(cx)?, args[2].shown(cx)?];
                kinds::together(&mut all, args, cx)?;
                let [v, low, high] = &all;
                let by = |bound: usize| [Some(&args[0]), Some(&args[bound])];
                let low = compare(v, low, *collation, by(1), cx)?.map(|o| o.is_ge());
                let high = compare(v, high, *collation, by(2), cx)?.map(|o| o.is_le());
                let within = match (low, high) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                };
                Ok(within.map(|w| w != *negated))
            }
            // As what is chosen is true, whatever text that would be.
            K::Case(branches, last) if self.ty.is_string() => {
                for (when, then) in branches {
                    if when.truth(cx)? == Some(true) {
                        return then.truth(cx);
                    }
                }
                last.as_ref().map_or(Ok(None), |e| e.truth(cx))
            }
            K::DateAdd(..) if self.ty.is_string() => Ok(match self.eval(cx)? {
                Value::Bytes(text) => kinds::moment(&text).truth(),
                v => v.truth(),
            }),
            K::InList(l) => l.truth(cx),
            K::Like(l) => l.truth(cx),
            K::Regexp(r) => r.truth(cx),
            _ => Ok(match self.eval(cx)? {
                Value::Bytes(b) if self.ty.is_enumerated() => {
                    member_number(&b, &self.ty).and_then(|n| n.truth())
                }
                Value::Bytes(b) if matches!(self.kind, K::BitString(_)) => {
                    Some(bit_string(&b) != 0)
                }
                Value::Bytes(b) => Some(text_number(&b, Some(self), cx)? != 0.0),
                v => v.truth(),
            }),
        }
    }
}

/// The number that a hexadecimal or bit literal is in expressions: of its last eight bytes.
pub(crate) fn bit_string(b: &[u8]) -> u64 {
    b.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
}
