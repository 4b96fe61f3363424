//! Expressions, with the parentheses that precedences need.

use std::fmt::{Display, Formatter, Result};

use super::name::UserVariable;
use crate::ast::list::Item;
use crate::ast::words::Quoted;
use crate::ast::*;
use crate::parse::level;

/// How closely what can't be divided binds.
const PRIMARY: u8 = level::UNARY + 1;

/// How closely an expression binds.
fn level_of(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Held(held) => level_of(&held.get()),
        ExprKind::Assign(_) => 0,
        ExprKind::Binary(BinaryOp::JsonExtract | BinaryOp::JsonUnquote, _) => PRIMARY,
        ExprKind::Binary(op, _) => op.level(),
        ExprKind::Chain(chain) => chain.op.level(),
        ExprKind::Unary(UnaryOp::Not, _) => level::NOT,
        ExprKind::Unary(..) => level::UNARY,
        ExprKind::Is(..) | ExprKind::Quantified(_) => level::COMPARISON,
        ExprKind::Like(_) | ExprKind::Between(_) | ExprKind::In(_) | ExprKind::InQuery(_) => {
            level::PREDICATE
        }
        ExprKind::Special(s) if matches!(**s, Special::DateArith { .. }) => level::ADD,
        _ => PRIMARY,
    }
}

/// An expression where what binds less closely than this needs parentheses.
pub(super) struct Operand<'a>(pub &'a Expr, pub u8);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let e = self.0.tree();
        if level_of(&e) < self.1 {
            write!(f, "({e})")
        } else {
            e.fmt(f)
        }
    }
}

/// A query in parentheses; those it has itself suffice.
pub(super) struct Parens<'a>(pub &'a Query);

impl Display for Parens<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "({})", self.0)
    }
}

fn not(negated: bool) -> &'static str {
    if negated { " NOT" } else { "" }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ExprKind::Column(c) => c.fmt(f),
            ExprKind::Null => f.write_str("NULL"),
            ExprKind::Bool(true) => f.write_str("TRUE"),
            ExprKind::Bool(false) => f.write_str("FALSE"),
            ExprKind::Int(n) => n.fmt(f),
            ExprKind::Literal(l) => l.fmt(f),
            ExprKind::Param(_) => f.write_str("?"),
            ExprKind::Default => f.write_str("DEFAULT"),
            ExprKind::Star => f.write_str("*"),
            ExprKind::UserVariable(name) => UserVariable(name).fmt(f),
            ExprKind::SystemVariable(v) => v.fmt(f),
            ExprKind::Assign(a) => write!(f, "{} := {}", UserVariable(&a.name), a.value),
            ExprKind::Unary(op, operand) => {
                let min = if *op == UnaryOp::Not {
                    level::NOT
                } else {
                    level::UNARY
                };
                let operand = operand.tree();
                let space = match (op, &operand.kind) {
                    (UnaryOp::Minus, ExprKind::Unary(UnaryOp::Minus, _)) => " ",
                    _ => "",
                };
                write!(f, "{op}{space}{}", Operand(&operand, min))
            }
            ExprKind::Binary(op @ (BinaryOp::JsonExtract | BinaryOp::JsonUnquote), operands) => {
                write!(f, "{}{op}{}", operands[0], operands[1])
            }
            ExprKind::Binary(BinaryOp::MemberOf, operands) => {
                let value = Operand(&operands[0], level::BIT_OR);
                write!(f, "{value} MEMBER OF ({})", operands[1])
            }
            ExprKind::Binary(op, operands) => {
                let level = op.level();
                // Predicates don't follow one another.
                let left = level + u8::from(level == level::PREDICATE);
                write!(
                    f,
                    "{} {op} {}",
                    Operand(&operands[0], left),
                    Operand(&operands[1], level + 1)
                )
            }
            ExprKind::Chain(chain) => {
                let level = chain.op.level();
                Operand(&chain.first, level).fmt(f)?;
                chain.rest.iter().try_for_each(|term| {
                    write!(f, " {} {}", term.op, Operand(&term.operand, level + 1))
                })
            }
            ExprKind::Is(test, e) => {
                let what = match test.what {
                    IsWhat::Null => "NULL",
                    IsWhat::True => "TRUE",
                    IsWhat::False => "FALSE",
                    IsWhat::Unknown => "UNKNOWN",
                };
                let value = Operand(e, level::PREDICATE);
                write!(f, "{value} IS{} {what}", not(test.negated))
            }
            ExprKind::Like(l) => l.fmt(f),
            ExprKind::Between(b) => write!(
                f,
                "{}{} BETWEEN {} AND {}",
                Operand(&b.value, level::BIT_OR),
                not(b.negated),
                Operand(&b.low, level::BIT_OR),
                Operand(&b.high, level::PREDICATE)
            ),
            ExprKind::In(i) => {
                write!(
                    f,
                    "{}{} IN (",
                    Operand(&i.value, level::BIT_OR),
                    not(i.negated)
                )?;
                write!(f, "{})", i.list)
            }
            ExprKind::InQuery(i) => write!(
                f,
                "{}{} IN {}",
                Operand(&i.value, level::BIT_OR),
                not(i.negated),
                Parens(&i.query)
            ),
            ExprKind::Quantified(q) => write!(
                f,
                "{} {} {} {}",
                Operand(&q.value, level::PREDICATE),
                q.op,
                if q.all { "ALL" } else { "ANY" },
                Parens(&q.query)
            ),
            ExprKind::Exists(q) => write!(f, "EXISTS {}", Parens(q)),
            ExprKind::Subquery(q) => Parens(q).fmt(f),
            ExprKind::Row(list) => write!(f, "ROW({list})"),
            ExprKind::Collate(c) => {
                write!(f, "{} COLLATE {}", Operand(&c.value, PRIMARY), c.collation)
            }
            ExprKind::Case(c) => c.fmt(f),
            ExprKind::Call(c) => c.fmt(f),
            ExprKind::Special(s) => s.fmt(f),
            ExprKind::Aggregate(a) => a.fmt(f),
            ExprKind::Window(w) => w.fmt(f),
            ExprKind::Introduced(l) => write!(f, "_{} {}", l.charset, l.literal),
            ExprKind::Odbc(o) => write!(f, "{{{} {}}}", o.0, o.1),
            ExprKind::Held(held) => held.get().fmt(f),
        }
    }
}

/// Items with commas between.
pub(super) fn separated<T: Display>(
    f: &mut Formatter<'_>,
    items: impl Iterator<Item = T>,
) -> Result {
    let mut comma = "";
    for item in items {
        write!(f, "{comma}{item}")?;
        comma = ", ";
    }
    Ok(())
}

impl<T: Item + Display> Display for Items<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        separated(f, self.iter())
    }
}

impl Display for Like {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "{}{} LIKE {}",
            Operand(&self.value, level::BIT_OR),
            not(self.negated),
            Operand(&self.pattern, level::UNARY)
        )?;
        match &self.escape {
            Some(e) => write!(f, " ESCAPE {}", Operand(e, level::UNARY)),
            None => Ok(()),
        }
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("CASE")?;
        if let Some(e) = &self.operand {
            write!(f, " {e}")?;
        }
        for case in self.whens.iter() {
            let (when, then) = &*case;
            write!(f, " WHEN {when} THEN {then}")?;
        }
        if let Some(e) = &self.otherwise {
            write!(f, " ELSE {e}")?;
        }
        f.write_str(" END")
    }
}

impl Display for UnaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
            UnaryOp::Bang => "!",
            UnaryOp::Not => "NOT ",
            UnaryOp::Binary => "BINARY ",
        })
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        use BinaryOp as B;
        f.write_str(match self {
            B::Or => "OR",
            B::Xor => "XOR",
            B::And => "AND",
            B::Eq => "=",
            B::NullSafeEq => "<=>",
            B::Ne => "<>",
            B::Lt => "<",
            B::Le => "<=",
            B::Gt => ">",
            B::Ge => ">=",
            B::Regexp => "REGEXP",
            B::NotRegexp => "NOT REGEXP",
            B::SoundsLike => "SOUNDS LIKE",
            B::MemberOf => "MEMBER OF",
            B::BitOr => "|",
            B::BitAnd => "&",
            B::Shl => "<<",
            B::Shr => ">>",
            B::Add => "+",
            B::Sub => "-",
            B::Mul => "*",
            B::Div => "/",
            B::IntDiv => "DIV",
            B::Mod => "%",
            B::BitXor => "^",
            B::Concat => "||",
            B::JsonExtract => "->",
            B::JsonUnquote => "->>",
        })
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Literal::BigInt(s) | Literal::Decimal(s) | Literal::Float(s) => s.fmt(f),
            Literal::Text(s, None) => Quoted(s).fmt(f),
            Literal::Text(s, Some(n)) => {
                let (first, rest) = s.split_at(*n as usize);
                write!(f, "{} {}", Quoted(first), Quoted(rest))
            }
            Literal::National(s) => write!(f, "N{}", Quoted(s)),
            Literal::Hex(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02X}"))?;
                f.write_str("'")
            }
            Literal::Bits(digits) => write!(f, "b'{digits}'"),
            Literal::Date(s) => write!(f, "DATE{}", Quoted(s)),
            Literal::Time(s) => write!(f, "TIME{}", Quoted(s)),
            Literal::Timestamp(s) => write!(f, "TIMESTAMP{}", Quoted(s)),
        }
    }
}
