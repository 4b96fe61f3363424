//! Expressions as MySQL prints them in messages and EXPLAIN.

use std::fmt::{Display, Formatter, Result};

use super::{ArithmeticOp, BitOp, Expr, ExprKind, Func};
use crate::types::{BaseType, Collation, SqlType};
use crate::value::Value;

fn list(f: &mut Formatter<'_>, items: &[Expr]) -> Result {
    for (i, e) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(",")?;
        }
        write!(f, "{e}")?;
    }
    Ok(())
}

fn joined(f: &mut Formatter<'_>, items: &[Expr], word: &str) -> Result {
    f.write_str("(")?;
    for (i, e) in items.iter().enumerate() {
        if i > 0 {
            write!(f, " {word} ")?;
        }
        write!(f, "{e}")?;
    }
    f.write_str(")")
}

/// An expression in a message, the names of its columns in backticks.
pub(super) fn quoted(e: &Expr) -> String {
    let mut e = e.clone();
    e.walk_mut(&mut |e| {
        if let Some(of) = e.folded.take() {
            *e = Expr::clone(&of);
        }
        if let ExprKind::Column { label, .. } = &mut e.kind {
            *label = format!("`{}`", label.replace('.', "`.`")).into();
        }
    });
    e.to_string()
}

/// `CAST(e AS type)`. To a string of any length of another character set than the usual it is most often by CONVERT().
fn cast(f: &mut Formatter<'_>, e: &Expr, ty: &SqlType) -> Result {
    let charset = ty.collation.charset();
    let usual = ty.collation.character_set() == Collation::DEFAULT.character_set();
    match ty.base {
        BaseType::BigInt if ty.unsigned => write!(f, "cast({e} as unsigned)"),
        BaseType::BigInt => write!(f, "cast({e} as signed)"),
        BaseType::Char | BaseType::Binary => {
            write!(f, "cast({e} as char({}) charset {charset})", ty.length)
        }
        BaseType::VarChar if !usual => write!(f, "convert({e} using {charset})"),
        _ if ty.is_string() && !ty.is_enumerated() => {
            write!(f, "cast({e} as char charset {charset})")
        }
        _ => write!(f, "cast({e} as {})", ty.column_type()),
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        use ExprKind as K;
        match &self.kind {
            K::Literal(Value::Null) => f.write_str("NULL"),
            K::Literal(v) => {
                let text = v.to_text();
                let text = String::from_utf8_lossy(&text);
                match v {
                    Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_) => {
                        match text.strip_prefix('-') {
                            Some(digits) => write!(f, "-({digits})"),
                            None => f.write_str(&text),
                        }
                    }
                    Value::Date(_) => write!(f, "DATE'{text}'"),
                    Value::DateTime(_) => write!(f, "TIMESTAMP'{text}'"),
                    Value::Time(_) => write!(f, "TIME'{text}'"),
                    _ => write!(f, "'{}'", text.replace('\'', "''")),
                }
            }
            K::BitString(v) => {
                f.write_str("0x")?;
                v.to_text().iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
            K::Column { label, .. } => f.write_str(label),
            K::Param(_) => f.write_str("?"),
            K::Local(_, name) => f.write_str(name),
            K::Compare(op, a, _) => write!(f, "({} {} {})", a[0], op.symbol(), a[1]),
            K::And(v) => joined(f, v, "and"),
            K::Or(v) => joined(f, v, "or"),
            K::Xor(a) => joined(f, &a[..], "xor"),
            K::Not(e) => write!(f, "(not {e})"),
            K::IsNull(e) => write!(f, "({e} is null)"),
            K::IsNotNull(e) => write!(f, "({e} is not null)"),
            K::IsTruth(e, asked, negated) => {
                let not = if *negated { "not " } else { "" };
                write!(f, "({e} is {not}{asked})")
            }
            K::Between { args, negated, .. } => {
                let not = if *negated { "not " } else { "" };
                write!(f, "({} {not}between {} and {})", args[0], args[1], args[2])
            }
            K::InList(l) => {
                let not = if l.negated { "not " } else { "" };
                write!(f, "({} {not}in (", l.value)?;
                list(f, &l.list)?;
                f.write_str("))")
            }
            K::Subquery { id, .. } => write!(f, "(select #{id})"),
            K::Arithmetic(op, a) => {
                let symbol = match op {
                    ArithmeticOp::Add => "+",
                    ArithmeticOp::Sub => "-",
                    ArithmeticOp::Mul => "*",
                    ArithmeticOp::Div => "/",
                    ArithmeticOp::IntDiv => "DIV",
                    ArithmeticOp::Mod => "%",
                };
                write!(f, "({} {symbol} {})", a[0], a[1])
            }
            K::Negate(e) => write!(f, "-({e})"),
            K::Bit(op, a) => {
                let symbol = match op {
                    BitOp::And => "&",
                    BitOp::Or => "|",
                    BitOp::Xor => "^",
                    BitOp::ShiftLeft => "<<",
                    BitOp::ShiftRight => ">>",
                };
                write!(f, "({} {symbol} {})", a[0], a[1])
            }
            K::BitNot(e) => write!(f, "~({e})"),
            K::Like(l) => {
                let not = if l.negated { "not " } else { "" };
                write!(f, "({} {not}like {}", l.value, l.pattern)?;
                match (&l.escape_by, l.escape) {
                    (Some(by), _) => write!(f, " escape {by})"),
                    (None, Some('\\')) => write!(f, ")"),
                    (None, Some(c)) => write!(f, " escape '{c}')"),
                    (None, None) => write!(f, " escape '')"),
                }
            }
            K::Regexp(r) => {
                let not = if r.negated { "not " } else { "" };
                write!(f, "({} {not}regexp {})", r.value, r.pattern)
            }
            K::Case(branches, last) => {
                f.write_str("(case")?;
                for (when, then) in branches {
                    write!(f, " when {when} then {then}")?;
                }
                if let Some(e) = last {
                    write!(f, " else {e}")?;
                }
                f.write_str(" end)")
            }
            K::Cast(e) => cast(f, e, &self.ty),
            K::Function(Func::TextOf, args) => {
                let charset = self.ty.collation.charset();
                write!(f, "convert({} using {charset})", args[0])
            }
            K::Function(Func::BytesOf, args) => write!(f, "convert({} using binary)", args[0]),
            K::Collate(e) => write!(f, "({e} collate {})", self.ty.collation.name()),
            K::Padded(e) | K::Named(e, _) | K::Moment(e) | K::EnumIndex(e) => write!(f, "{e}"),
            K::EnumBeside(args) => write!(f, "{}", args[0]),
            K::Beside(e, _) => write!(f, "{e}"),
            K::Function(func, args) if matches!(func.name(), "DATE" | "TIME") => {
                write!(
                    f,
                    "cast({} as {})",
                    args[0],
                    func.name().to_ascii_lowercase()
                )
            }
            K::Function(func, args) => {
                write!(f, "{}(", func.name().to_ascii_lowercase())?;
                list(f, args)?;
                f.write_str(")")
            }
            K::DateAdd(a, unit, minus) => {
                let sign = if *minus { "-" } else { "+" };
                write!(
                    f,
                    "({} {sign} interval {} {})",
                    a[0],
                    a[1],
                    unit.name().to_ascii_lowercase()
                )
            }
            K::TimestampDiff(a, unit) => {
                write!(f, "timestampdiff({},{},{})", unit.name(), a[0], a[1])
            }
            K::Extract(e, unit, true) => {
                write!(f, "{}({e})", unit.name().to_ascii_lowercase())
            }
            K::Extract(e, unit, false) => {
                write!(f, "extract({} from {e})", unit.name().to_ascii_lowercase())
            }
            K::UserVariable(name) => write!(f, "(@`{name}`)"),
            K::SetUserVariable(name, e) => write!(f, "(@`{name}`:={e})"),
            K::SystemVariable(scope, name) if scope.is_empty() => write!(f, "@@{name}"),
            K::SystemVariable(scope, name) => write!(f, "@@{scope}.{name}"),
            K::SeededRand(seed, _) => write!(f, "rand({seed})"),
        }
    }
}
