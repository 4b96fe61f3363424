//! Operators: MySQL's precedences, by climbing. Operators of one precedence make one flat node, without recursion.

use super::Parser;
use super::list::Piece;
use crate::ast::list::Item;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

/// Precedences, loosest first.
pub(crate) mod level {
    pub const OR: u8 = 1;
    pub const XOR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    /// `=` and its like, IS.
    pub const COMPARISON: u8 = 5;
    /// IN, BETWEEN, LIKE, REGEXP: not one after the other.
    pub const PREDICATE: u8 = 6;
    pub const BIT_OR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const ADD: u8 = 10;
    pub const MULTIPLY: u8 = 11;
    pub const BIT_XOR: u8 = 12;
    pub const CONCAT: u8 = 13;
    /// Unary operators, and operands.
    pub const UNARY: u8 = 14;
}

impl BinaryOp {
    /// How closely it binds: [`level`].
    pub(crate) fn level(self) -> u8 {
        use BinaryOp as B;
        match self {
            B::Or => level::OR,
            B::Xor => level::XOR,
            B::And => level::AND,
            B::Eq | B::NullSafeEq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => level::COMPARISON,
            B::Regexp | B::NotRegexp | B::SoundsLike | B::MemberOf => level::PREDICATE,
            B::BitOr => level::BIT_OR,
            B::BitAnd => level::BIT_AND,
            B::Shl | B::Shr => level::SHIFT,
            B::Add | B::Sub => level::ADD,
            B::Mul | B::Div | B::IntDiv | B::Mod => level::MULTIPLY,
            B::BitXor => level::BIT_XOR,
            B::Concat => level::CONCAT,
            B::JsonExtract | B::JsonUnquote => level::UNARY,
        }
    }
    /// Whether operands of one level may be chained.
    fn chains(self) -> bool {
        !matches!(self.level(), level::PREDICATE | level::UNARY)
    }
}

/// What may follow an operand.
enum Follower {
    Op(BinaryOp),
    Is,
    Predicate,
}

/// `left || right` where that joins texts: the function CONCAT, as MySQL has and prints it, since what is printed is read in
/// any mode.
fn concat(left: Expr, right: Expr) -> (ExprKind, bool) {
    match left.kind {
        ExprKind::Call(mut call)
            if call.database.is_none()
                && call.arg_names.is_empty()
                && call.args.as_slice().is_some()
                && call.name.as_str().eq_ignore_ascii_case("concat") =>
        {
            crate::ast::list::push(&mut call.args.head, right);
            (ExprKind::Call(call), false)
        }
        _ => {
            let call = Call {
                database: None,
                name: Ident::new("concat"),
                args: vec![left, right].into(),
                arg_names: Vec::new(),
                bare: false,
            };
            (ExprKind::Call(Box::new(call)), true)
        }
    }
}

impl Parser<'_> {
    /// An expression.
    #[inline]
    pub fn expr(&mut self) -> Result<Expr> {
        self.nested(|p| p.binary(0))
    }

    /// An expression that is not held as text.
    pub(super) fn whole_expr(&mut self) -> Result<Expr> {
        self.nested(|p| p.whole_binary(0))
    }

    /// Operators that bind at least as closely as `min`, and what they combine.
    #[inline]
    pub(super) fn binary(&mut self, min: u8) -> Result<Expr> {
        let from = self.piece(self.last_end());
        let e = self.whole_binary(min)?;
        self.lighter(e, from)
    }

    /// The same, not held as text.
    pub(super) fn whole_binary(&mut self, min: u8) -> Result<Expr> {
        let ground = self.ground();
        let start = self.start();
        let left = self.prefix(min)?;
        self.binary_from(left, start, min, ground)
    }

    /// The same with the first operand already read.
    pub(super) fn binary_from(
        &mut self,
        mut left: Expr,
        start: u32,
        min: u8,
        ground: u32,
    ) -> Result<Expr> {
        // NOT, and IN and the like, can't be operands of what binds closer.
        let mut max = match left.kind {
            ExprKind::Unary(UnaryOp::Not, _) if self.ends_here(left.span) => level::AND,
            _ => level::UNARY,
        };
        while let Some((follower, binds)) = self.follower() {
            if binds < min || binds > max {
                break;
            }
            let kind = match follower {
                Follower::Op(op) => {
                    let from = self.piece(self.last_end());
                    let sign = self.next().kind;
                    if sign == T::AmpAmp {
                        self.deprecate(Deprecated::DoubleAmpersand);
                    } else if sign == T::PipePipe && op == BinaryOp::Or {
                        self.deprecate(Deprecated::DoubleBar);
                    }
                    if binds == level::COMPARISON && self.at_quantifier() {
                        self.quantified(op, left)?
                    } else if binds == level::ADD && self.at_interval() {
                        self.date_arithmetic(op, left, from)?
                    } else {
                        let right = self.binary(binds + 1)?;
                        let (kind, new) = self.combine(left, op, right, from)?;
                        if new {
                            self.higher()?;
                        }
                        left = Expr::new(kind, self.span_from(start));
                        max = max.min(binds);
                        continue;
                    }
                }
                Follower::Is => {
                    self.next();
                    ExprKind::Is(self.is_test()?, Box::new(left))
                }
                Follower::Predicate => {
                    max = level::COMPARISON;
                    self.predicate(left)?
                }
            };
            self.higher()?;
            self.took(kind.boxed())?;
            left = Expr::new(kind, self.span_from(start));
            max = max.min(binds.max(level::COMPARISON));
        }
        self.above(ground);
        Ok(left)
    }

    /// `left op right`, from the operator on, made part of the chain that `left` is; whether it is a new node.
    fn combine(
        &mut self,
        left: Expr,
        op: BinaryOp,
        right: Expr,
        from: Piece,
    ) -> Result<(ExprKind, bool)> {
        if op == BinaryOp::Concat {
            self.took(size_of::<Expr>())?;
            return Ok(concat(left, right));
        }
        let same = |o: BinaryOp| o.level() == op.level() && op.chains();
        let term = Term { op, operand: right };
        Ok(match left.kind {
            ExprKind::Chain(mut chain) if same(chain.op) => {
                self.add(&mut chain.rest, term, from, None)?;
                (ExprKind::Chain(chain), false)
            }
            ExprKind::Binary(op, operands) if same(op) => {
                let [first, operand] = *operands;
                let rest = vec![Term { op, operand }, term].into();
                self.took(size_of::<Chain>() + size_of::<Term>())?;
                (ExprKind::Chain(Box::new(Chain { first, rest, op })), false)
            }
            _ => {
                self.took(size_of::<[Expr; 2]>())?;
                let operands = Box::new([left, term.operand]);
                (ExprKind::Binary(op, operands), true)
            }
        })
    }

    /// An operator of a chain and what follows it.
    pub(super) fn term(&mut self) -> Result<Term> {
        let Some((Follower::Op(op), binds)) = self.follower() else {
            return Err(self.error_here());
        };
        self.next();
        let operand = self.binary(binds + 1)?;
        Ok(Term { op, operand })
    }

    /// What follows an operand, and how closely it binds.
    #[inline]
    fn follower(&self) -> Option<(Follower, u8)> {
        use BinaryOp as B;
        let op = match self.kind() {
            T::RParen | T::Comma | T::End | T::Semicolon => return None,
            T::Eq => B::Eq,
            T::NullSafeEq => B::NullSafeEq,
            T::Ne => B::Ne,
            T::Lt => B::Lt,
            T::Le => B::Le,
            T::Gt => B::Gt,
            T::Ge => B::Ge,
            T::Plus => B::Add,
            T::Minus => B::Sub,
            T::Star => B::Mul,
            T::Slash => B::Div,
            T::Percent => B::Mod,
            T::Shl => B::Shl,
            T::Shr => B::Shr,
            T::Amp => B::BitAnd,
            T::Pipe => B::BitOr,
            T::Caret => B::BitXor,
            T::AmpAmp => B::And,
            T::PipePipe if self.mode().pipes_as_concat => B::Concat,
            T::PipePipe => B::Or,
            T::Keyword(k) => match k {
                K::AND => B::And,
                K::OR => B::Or,
                K::XOR => B::Xor,
                K::DIV => B::IntDiv,
                K::MOD => B::Mod,
                K::IS => return Some((Follower::Is, level::COMPARISON)),
                K::IN
                | K::BETWEEN
                | K::LIKE
                | K::REGEXP
                | K::RLIKE
                | K::NOT
                | K::SOUNDS
                | K::MEMBER => {
                    return self
                        .predicate_follows(k)
                        .then_some((Follower::Predicate, level::PREDICATE));
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((Follower::Op(op), op.level()))
    }

    fn predicate_follows(&self, k: K) -> bool {
        match (k, self.kind_nth(1)) {
            (K::NOT, T::Keyword(next)) => {
                matches!(next, K::IN | K::BETWEEN | K::LIKE | K::REGEXP | K::RLIKE)
            }
            (K::NOT, _) => false,
            (K::SOUNDS, next) => next == T::Keyword(K::LIKE),
            (K::MEMBER, next) => matches!(next, T::Keyword(K::OF) | T::LParen),
            _ => true,
        }
    }

    /// Whether what was read last ends a span: it was not in parentheses.
    fn ends_here(&self, span: crate::span::Span) -> bool {
        self.span_from(span.start).end == span.end
    }

    fn is_test(&mut self) -> Result<IsTest> {
        let negated = self.eat(K::NOT);
        let what = match self.eat_any(&[K::NULL, K::TRUE, K::FALSE, K::UNKNOWN]) {
            Some(K::NULL) => IsWhat::Null,
            Some(K::TRUE) => IsWhat::True,
            Some(K::FALSE) => IsWhat::False,
            Some(_) => IsWhat::Unknown,
            None => return Err(self.error_here()),
        };
        Ok(IsTest { negated, what })
    }

    /// Whether ANY, SOME or ALL and a parenthesis come next.
    fn at_quantifier(&self) -> bool {
        self.at_any(&[K::ALL, K::ANY, K::SOME]) && self.kind_nth(1) == T::LParen
    }

    fn quantified(&mut self, op: BinaryOp, value: Expr) -> Result<ExprKind> {
        let all = self.at(K::ALL);
        self.next();
        let query = self.subquery()?;
        Ok(ExprKind::Quantified(Box::new(Quantified {
            op,
            all,
            value,
            query,
        })))
    }

    /// Whether INTERVAL stands here that is no function.
    fn at_interval(&self) -> bool {
        self.at(K::INTERVAL)
    }

    /// `+ INTERVAL n unit`, from INTERVAL on.
    fn date_arithmetic(&mut self, op: BinaryOp, left: Expr, from: Piece) -> Result<ExprKind> {
        let start = self.start();
        self.next();
        let subtract = op == BinaryOp::Sub;
        let (amount, list) = self.interval_amount()?;
        if let Some(args) = list {
            let right = Expr::new(
                ExprKind::Special(Box::new(Special::Interval(args))),
                self.span_from(start),
            );
            let right = self.collated(right, start)?;
            let right = self.binary_from(right, start, level::ADD + 1, 0)?;
            return Ok(self.combine(left, op, right, from)?.0);
        }
        let unit = self.interval_unit()?;
        Ok(ExprKind::Special(Box::new(Special::DateArith {
            subtract,
            date: left,
            amount,
            unit,
        })))
    }

    /// What stands behind INTERVAL: an amount, or (with more than one in parentheses and no unit) a function's arguments.
    pub(super) fn interval_amount(&mut self) -> Result<(Expr, Option<ExprList>)> {
        if !self.at_punct(T::LParen) {
            return Ok((self.expr()?, None));
        }
        let start = self.start();
        let left = match self.nested(|p| p.inner())? {
            super::operand::Inner::Row(args) => {
                return Ok((Expr::new(ExprKind::Null, self.span_from(start)), Some(args)));
            }
            inner => self.inner_expr(inner, start),
        };
        let left = self.collated(left, start)?;
        let ground = self.ground();
        Ok((self.binary_from(left, start, 0, ground)?, None))
    }

    fn predicate(&mut self, value: Expr) -> Result<ExprKind> {
        let negated = self.eat(K::NOT);
        let word = self.next();
        match word.kind {
            T::Keyword(K::IN) => self.in_list(value, negated),
            T::Keyword(K::BETWEEN) => {
                let low = self.binary(level::BIT_OR)?;
                self.expect(K::AND)?;
                let high = self.nested(|p| p.binary(level::PREDICATE))?;
                Ok(ExprKind::Between(Box::new(Between {
                    negated,
                    value,
                    low,
                    high,
                })))
            }
            T::Keyword(K::LIKE) => {
                // No operator but that which joins texts.
                let pattern = self.binary(level::CONCAT)?;
                let escape = if self.eat(K::ESCAPE) {
                    Some(self.binary(level::CONCAT)?)
                } else {
                    None
                };
                Ok(ExprKind::Like(Box::new(Like {
                    negated,
                    value,
                    pattern,
                    escape,
                })))
            }
            T::Keyword(K::SOUNDS) => {
                self.expect(K::LIKE)?;
                let right = self.binary(level::BIT_OR)?;
                Ok(ExprKind::Binary(
                    BinaryOp::SoundsLike,
                    Box::new([value, right]),
                ))
            }
            T::Keyword(K::MEMBER) => {
                self.eat(K::OF);
                let right = self.parens(|p| p.expr())?;
                Ok(ExprKind::Binary(
                    BinaryOp::MemberOf,
                    Box::new([value, right]),
                ))
            }
            _ => {
                let right = self.binary(level::BIT_OR)?;
                let op = if negated {
                    BinaryOp::NotRegexp
                } else {
                    BinaryOp::Regexp
                };
                Ok(ExprKind::Binary(op, Box::new([value, right])))
            }
        }
    }

    fn in_list(&mut self, value: Expr, negated: bool) -> Result<ExprKind> {
        self.expect_punct(T::LParen)?;
        let query = |value, query| {
            ExprKind::InQuery(Box::new(InQuery {
                negated,
                value,
                query,
            }))
        };
        let mut first = None;
        let list_start = self.piece(self.last_end());
        if self.at_plain_query() {
            let q = self.query()?;
            self.expect_punct(T::RParen)?;
            return Ok(query(value, q));
        }
        if self.at_punct(T::LParen) {
            let start = self.start();
            let inner = self.nested(|p| p.inner())?;
            match inner {
                super::operand::Inner::Query(q) if self.at_query_end() => {
                    let q = self.query_from(QueryBody::Parens(Box::new(q)), list_start)?;
                    self.expect_punct(T::RParen)?;
                    return Ok(query(value, q));
                }
                inner => {
                    let left = self.inner_expr(inner, start);
                    let left = self.collated(left, start)?;
                    let ground = self.ground();
                    first = Some(self.binary_from(left, start, 0, ground)?);
                }
            }
        }
        let list = self.items_from(list_start, first, Expr::parse)?;
        self.expect_punct(T::RParen)?;
        Ok(ExprKind::In(Box::new(InList {
            negated,
            value,
            list,
        })))
    }
}
