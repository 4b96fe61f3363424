//! Types of results: arithmetic, and what several values of different types have in common.

use super::{BaseType, Collation, SqlType};
use crate::decimal::{MAX_PRECISION, MAX_SCALE};

/// Digits that division adds after the point (`div_precision_increment`).
pub const DIV_INCREMENT: u8 = 4;

/// Arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ArithmeticOp {
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`
    Mod,
}

/// How a type counts in arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Integer,
    Decimal,
    Double,
}

fn class(t: &SqlType) -> Class {
    match t.base {
        BaseType::Decimal => Class::Decimal,
        BaseType::Null | BaseType::Date => Class::Integer,
        BaseType::Time | BaseType::DateTime | BaseType::Timestamp => {
            if t.decimals > 0 {
                Class::Decimal
            } else {
                Class::Integer
            }
        }
        _ if t.is_integer() => Class::Integer,
        _ => Class::Double,
    }
}

fn scale(t: &SqlType) -> u32 {
    match t.base {
        BaseType::Decimal | BaseType::Time | BaseType::DateTime | BaseType::Timestamp => {
            t.decimals as u32
        }
        _ => 0,
    }
}

fn decimal(integer_digits: u32, scale: u32, unsigned: bool) -> SqlType {
    let scale = scale.min(MAX_SCALE as u32);
    let precision = (integer_digits + scale).clamp(1, MAX_PRECISION);
    SqlType {
        unsigned,
        ..SqlType::decimal(precision, scale as u8)
    }
}

/// Type of `a op b`.
pub fn arithmetic(op: ArithmeticOp, a: &SqlType, b: &SqlType) -> SqlType {
    use ArithmeticOp as O;
    let unsigned_int = (a.unsigned && a.is_integer()) || (b.unsigned && b.is_integer());
    let unsigned = if op == O::Mod {
        a.unsigned
    } else {
        unsigned_int
    };
    let integer = |unsigned| SqlType {
        unsigned,
        length: 20,
        ..SqlType::bigint()
    };
    if op == O::IntDiv {
        return integer(a.unsigned || b.unsigned);
    }
    let class = class(a).max(class(b));
    if class == Class::Double {
        return SqlType::double();
    }
    let (ia, ib) = (a.integer_digits(), b.integer_digits());
    let (sa, sb) = (scale(a), scale(b));
    match op {
        O::Div => decimal(ia + sb, sa + DIV_INCREMENT as u32, a.unsigned && b.unsigned),
        _ if class == Class::Integer => integer(unsigned),
        O::Add | O::Sub => decimal(ia.max(ib) + 1, sa.max(sb), false),
        O::Mul => decimal(ia + ib, sa + sb, false),
        _ => decimal(ia.min(ib.max(1)).max(1), sa.max(sb), a.unsigned),
    }
}

/// Characters a value of this type takes as text.
pub fn text_length(t: &SqlType) -> u32 {
    match t.base {
        BaseType::Decimal => t.length + 2,
        BaseType::Date => 10,
        _ => t.length,
    }
}

/// The collation of two strings compared or joined: binary wins over text, `utf8mb4_bin` over
/// case-insensitive, the first of two that are.
pub fn common_collation(a: &SqlType, b: &SqlType) -> Collation {
    match (a.is_string(), b.is_string()) {
        (true, false) => return a.collation,
        (false, true) => return b.collation,
        (false, false) => return Collation::Utf8mb4GeneralCi,
        _ => {}
    }
    let rank = |c: Collation| match c {
        Collation::Binary => 2,
        Collation::Utf8mb4Bin => 1,
        _ => 0,
    };
    if rank(a.collation) >= rank(b.collation) {
        a.collation
    } else {
        b.collation
    }
}

/// Collation in which `IN (SELECT ...)` and the like compare strings: the stricter of the two.
pub fn string_collation(a: &SqlType, b: &SqlType) -> Collation {
    if !a.is_string() {
        return b.collation;
    }
    if !b.is_string() || a.collation == b.collation {
        return a.collation;
    }
    if a.collation == Collation::Binary || b.collation == Collation::Binary {
        Collation::Binary
    } else {
        Collation::Utf8mb4Bin
    }
}

/// The type in which values of these two have equal sort keys exactly where they compare equal, if there is one: that is how rows are
/// found by hash. Texts are compared by the collation of the type, so both must have it.
pub fn hashable_type(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    use BaseType as B;
    let moment = |t: &SqlType| matches!(t.base, B::Date | B::DateTime | B::Timestamp);
    if a.is_integer() && b.is_integer() {
        // A sort key tells the sign from the bits: it is the same for both signednesses.
        return Some(if a.unsigned && b.unsigned {
            SqlType::ubigint()
        } else if a.unsigned || b.unsigned {
            SqlType::decimal(20, 0)
        } else {
            SqlType::bigint()
        });
    }
    let exact = |t: &SqlType| t.is_integer() || t.base == B::Decimal;
    if exact(a) && exact(b) {
        // With all the digits that a quotient may carry beyond those of its type.
        let digits = a.integer_digits().max(b.integer_digits()) + MAX_SCALE as u32;
        return (digits <= MAX_PRECISION).then(|| SqlType::decimal(digits, MAX_SCALE));
    }
    if a.is_string() && b.is_string() {
        let same = a.collation == b.collation && a.base != B::Enum && b.base != B::Enum;
        return same.then(|| SqlType::varchar(a.length.max(b.length), a.collation));
    }
    if moment(a) && moment(b) {
        return Some(SqlType::temporal(B::DateTime, 6));
    }
    (a.base == b.base && a.decimals == b.decimals && !a.is_string()).then(|| a.clone())
}

/// The same for texts that are compared by a collation of their own.
pub fn hashable_by(a: &SqlType, b: &SqlType, collation: Collation) -> Option<SqlType> {
    let enums = a.base == BaseType::Enum || b.base == BaseType::Enum;
    if a.is_string() && b.is_string() && !enums {
        return Some(SqlType::varchar(a.length.max(b.length), collation));
    }
    hashable_type(a, b)
}

/// A type that holds the values of both: of IF, CASE, COALESCE, UNION.
pub fn common(a: &SqlType, b: &SqlType) -> SqlType {
    use BaseType as B;
    if a == b || b.base == B::Null {
        return a.clone();
    }
    if a.base == B::Null {
        return b.clone();
    }
    if a.is_integer() && b.is_integer() {
        return common_integer(a, b);
    }
    if a.is_numeric() && b.is_numeric() {
        if class(a) == Class::Double || class(b) == Class::Double {
            return SqlType::double();
        }
        let digits = a.integer_digits().max(b.integer_digits());
        return decimal(digits, scale(a).max(scale(b)), a.unsigned && b.unsigned);
    }
    if a.is_temporal() && b.is_temporal() {
        let fsp = a.decimals.max(b.decimals);
        let base = if a.base == b.base {
            a.base
        } else {
            B::DateTime
        };
        return SqlType::temporal(base, fsp);
    }
    let length = text_length(a).max(text_length(b));
    SqlType::varchar(length, common_collation(a, b))
}

/// How wide the range of an integer type is, narrowest first. A BIGINT of few digits (a constant, a truth value) is no wider than
/// the type that holds so many.
fn range(t: &SqlType) -> u8 {
    match (t.base, t.length) {
        (BaseType::TinyInt, _) | (BaseType::BigInt, ..=2) => 0,
        (BaseType::Year, _) => 1,
        (BaseType::SmallInt, _) | (BaseType::BigInt, ..=4) => 2,
        (BaseType::MediumInt, _) | (BaseType::BigInt, ..=6) => 3,
        (BaseType::Int, _) | (BaseType::BigInt, ..=9) => 4,
        _ => 5,
    }
}

fn common_integer(a: &SqlType, b: &SqlType) -> SqlType {
    let length = a.length.max(b.length);
    if a.unsigned == b.unsigned {
        // Of equal ranges that of a column's own type.
        let rank = |t: &SqlType| (range(t), t.base != BaseType::BigInt);
        let wide = if rank(a) >= rank(b) { a } else { b };
        if wide.base == BaseType::Year {
            return SqlType::ubigint();
        }
        return SqlType {
            length,
            ..wide.clone()
        };
    }
    let (signed, unsigned) = if a.unsigned { (b, a) } else { (a, b) };
    if unsigned.base == BaseType::BigInt && unsigned.length > 1 {
        // No integer type holds both.
        return SqlType::decimal(20, 0);
    }
    if range(signed) > range(unsigned) {
        SqlType {
            length,
            ..signed.clone()
        }
    } else {
        SqlType::bigint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_types() {
        use ArithmeticOp::*;
        let int = SqlType::new(BaseType::Int);
        let uint = SqlType {
            unsigned: true,
            ..int.clone()
        };
        let dec = SqlType::decimal(10, 2);
        let text = SqlType::varchar(10, Collation::Utf8mb4GeneralCi);
        for (op, a, b, want) in [
            (Add, &int, &int, "bigint"),
            (Add, &int, &uint, "bigint unsigned"),
            (Div, &int, &int, "decimal(14,4)"),
            (Add, &dec, &int, "decimal(13,2)"),
            (Mul, &dec, &dec, "decimal(20,4)"),
            (Div, &dec, &dec, "decimal(16,6)"),
            (Add, &text, &int, "double"),
            (IntDiv, &text, &int, "bigint"),
            (Mod, &int, &int, "bigint"),
            (Mod, &dec, &int, "decimal(10,2)"),
        ] {
            assert_eq!(
                arithmetic(op, a, b).column_type(),
                want,
                "{op:?} {} {}",
                a.column_type(),
                b.column_type()
            );
        }
    }

    #[test]
    fn common_types() {
        let int = SqlType::new(BaseType::Int);
        let dec = SqlType::decimal(10, 2);
        let text = SqlType::varchar(10, Collation::Utf8mb4GeneralCi);
        let date = SqlType::new(BaseType::Date);
        let small = SqlType::new(BaseType::SmallInt);
        let year = SqlType::new(BaseType::Year);
        let digits = |length| SqlType {
            length,
            ..SqlType::bigint()
        };
        let tiny = SqlType {
            length: 1,
            ..SqlType::new(BaseType::TinyInt)
        };
        for (a, b, want) in [
            (&int, &int, "int"),
            (&int, &SqlType::null(), "int"),
            (&int, &dec, "decimal(12,2)"),
            (&int, &text, "varchar(11)"),
            (&date, &SqlType::datetime(3), "datetime(3)"),
            (&date, &int, "varchar(11)"),
            (&int, &SqlType::double(), "double"),
            (&SqlType::bigint(), &SqlType::ubigint(), "decimal(20,0)"),
            (&tiny, &digits(1), "tinyint(1)"),
            (&tiny, &digits(4), "bigint"),
            (&small, &digits(4), "smallint"),
            (&small, &digits(5), "bigint"),
            (&int, &digits(9), "int"),
            (&int, &digits(10), "bigint"),
            (&year, &small, "smallint"),
            (&year, &tiny, "bigint"),
            (&year, &digits(4), "bigint"),
        ] {
            assert_eq!(common(a, b).column_type(), want);
            assert_eq!(common(b, a).column_type(), want);
        }
    }
}
