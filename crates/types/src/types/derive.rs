//! Types of results: arithmetic, and what several values of different types have in common.

use std::cmp::Ordering;

use super::{BaseType, Charset, Collation, Compares, Counts, NOT_FIXED, SqlType};
use crate::decimal::{MAX_PRECISION, MAX_SCALE};

/// Digits that division adds after the point, unless `div_precision_increment` says otherwise.
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
    match t.base.facts().counts {
        Counts::Integer => Class::Integer,
        Counts::Exact => Class::Decimal,
        Counts::Seconds if t.decimals > 0 => Class::Decimal,
        Counts::Seconds => Class::Integer,
        Counts::Approximate => Class::Double,
    }
}

fn scale(t: &SqlType) -> u32 {
    match t.base.facts().counts {
        Counts::Exact | Counts::Seconds => t.decimals as u32,
        Counts::Integer | Counts::Approximate => 0,
    }
}

/// Digits before and after the point of a number of the type, where it is an exact one: an integer, a decimal, a date or a time.
pub fn exact_digits(t: &SqlType) -> Option<(u32, u8)> {
    (class(t) != Class::Double).then(|| (t.integer_digits(), scale(t) as u8))
}

/// Digits after the point that a value of the type has as an operand of an approximate result: [`NOT_FIXED`] of a text, and of a
/// DOUBLE or FLOAT without a number of them.
pub fn fixed(t: &SqlType) -> u8 {
    match t.base {
        BaseType::Float | BaseType::Double => t.decimals,
        BaseType::Null => 0,
        _ if class(t) == Class::Double => NOT_FIXED,
        _ => scale(t) as u8,
    }
}

/// A DOUBLE that shows so many digits after the point, and as many before it as the type can tell apart.
pub fn double(decimals: u8) -> SqlType {
    with_digits(SqlType::double(), 17, decimals)
}

/// FLOAT or DOUBLE with digits after the point, if that is a number of them; `whole` are those before it.
fn with_digits(ty: SqlType, whole: u32, decimals: u8) -> SqlType {
    if decimals >= NOT_FIXED {
        return ty;
    }
    SqlType {
        length: whole + u32::from(decimals),
        decimals,
        ..ty
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

/// Type of `a op b`. `increment`: the digits that division adds after the point.
pub fn arithmetic(op: ArithmeticOp, a: &SqlType, b: &SqlType, increment: u8) -> SqlType {
    use ArithmeticOp as O;
    let unsigned_int = (a.unsigned && a.is_integer()) || (b.unsigned && b.is_integer());
    let unsigned = if op == O::Mod {
        a.unsigned
    } else {
        unsigned_int
    };
    let (ia, ib) = (a.integer_digits(), b.integer_digits());
    let integer = |unsigned, digits: u32| SqlType {
        unsigned,
        length: digits.min(20),
        ..SqlType::bigint()
    };
    if op == O::IntDiv {
        // By what is less than one there may be more.
        let digits = match (class(a), class(b)) {
            (Class::Double, _) | (_, Class::Decimal | Class::Double) => 20,
            _ => ia,
        };
        return integer(a.unsigned || b.unsigned, digits);
    }
    let class = class(a).max(class(b));
    if class == Class::Double {
        let more = if op == O::Div { DIV_INCREMENT } else { 0 };
        return double(fixed(a).max(fixed(b)).saturating_add(more));
    }
    let (sa, sb) = (scale(a), scale(b));
    match op {
        O::Div => decimal(ia + sb, sa + increment as u32, a.unsigned && b.unsigned),
        O::Mul if class == Class::Integer => integer(unsigned, ia + ib),
        O::Mod if class == Class::Integer => integer(unsigned, ia.max(ib)),
        _ if class == Class::Integer => integer(unsigned, ia.max(ib) + 1),
        O::Add | O::Sub => decimal(ia.max(ib) + 1, sa.max(sb), false),
        O::Mul => decimal(ia + ib, sa + sb, false),
        _ => decimal(ia.min(ib.max(1)).max(1), sa.max(sb), a.unsigned),
    }
}

/// Characters a value of this type takes as text.
pub fn text_length(t: &SqlType) -> u32 {
    match t.base {
        // A sign, a point and a zero before it.
        BaseType::Decimal => {
            let point = u32::from(t.decimals > 0);
            let zero = u32::from(t.length == u32::from(t.decimals));
            t.length + point + zero + u32::from(!t.unsigned)
        }
        BaseType::Date => 10,
        BaseType::Bit => t.fixed_len() as u32,
        // A constant's digits may have a sign before them.
        BaseType::BigInt if !t.unsigned && t.length < 20 => t.length + 1,
        _ => t.length.max(t.zerofill.into()),
    }
}

/// The collation of two strings compared or joined: binary wins over text, Unicode over other character sets, the wider
/// Unicode over the narrower, `_bin` over what ignores case, the first of two that are alike in all that.
pub fn common_collation(a: &SqlType, b: &SqlType) -> Collation {
    match (a.is_string(), b.is_string()) {
        (true, false) => return a.collation,
        (false, true) => return b.collation,
        (false, false) => return Collation::DEFAULT,
        _ => {}
    }
    let rank = |c: Collation| (width(c), c.is_bin());
    if a.collation == b.collation || rank(a.collation) >= rank(b.collation) {
        a.collation
    } else {
        b.collation
    }
}

/// Which of two collations' character sets takes the strings of the other: the greater.
fn width(c: Collation) -> u8 {
    let charset = c.character_set();
    match charset {
        Charset::Binary => 4,
        _ if charset.is_supplementary() => 3,
        _ if charset.is_unicode() => 2,
        Charset::Ascii => 0,
        _ => 1,
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
    let (x, y) = (a.collation.character_set(), b.collation.character_set());
    match width(a.collation).cmp(&width(b.collation)) {
        Ordering::Greater => a.collation,
        Ordering::Less => b.collation,
        Ordering::Equal if x == y => Collation::bin_of(x),
        Ordering::Equal => Collation::Utf8mb4Bin,
    }
}

/// The type in which values of these two have equal sort keys exactly where they compare equal, if there is one: that is how rows are
/// found by hash. Texts are compared by the collation of the type, so both must have it.
pub fn hashable_type(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    let compares = |t: &SqlType| t.base.facts().compares;
    match (compares(a), compares(b)) {
        (Compares::Never, _) | (_, Compares::Never) => None,
        // A sort key tells the sign from the bits: it is the same for both signednesses.
        (Compares::Exact, Compares::Exact) if a.is_integer() && b.is_integer() => {
            Some(if a.unsigned && b.unsigned {
                SqlType::ubigint()
            } else if a.unsigned || b.unsigned {
                SqlType::decimal(20, 0)
            } else {
                SqlType::bigint()
            })
        }
        (Compares::Exact, Compares::Exact) => {
            // With all the digits that a quotient may carry beyond those of its type.
            let digits = a.integer_digits().max(b.integer_digits()) + MAX_SCALE as u32;
            (digits <= MAX_PRECISION).then(|| SqlType::decimal(digits, MAX_SCALE))
        }
        (Compares::Text, Compares::Text) => (a.collation == b.collation)
            .then(|| SqlType::varchar(a.length.max(b.length), a.collation)),
        (Compares::Moment, Compares::Moment) => Some(SqlType::temporal(BaseType::DateTime, 6)),
        (Compares::Own, _)
        | (_, Compares::Own)
        | (_, Compares::Text | Compares::Moment)
        | (Compares::Text | Compares::Moment, _) => {
            (a.base == b.base && a.decimals == b.decimals).then(|| a.clone())
        }
    }
}

/// Whether the sort key of a value of one type is that of the same value as another, of those that [`hashable_type`] gives.
#[inline]
pub fn has_key_of(own: &SqlType, ty: &SqlType) -> bool {
    match (own.base.facts().compares, ty.base.facts().compares) {
        (Compares::Exact, Compares::Exact) => own.is_integer() || !ty.is_integer(),
        (Compares::Text, Compares::Text) | (Compares::Moment, Compares::Moment) => true,
        _ => own.base == ty.base && own.unsigned == ty.unsigned,
    }
}

/// The same for texts that are compared by a collation of their own.
pub fn hashable_by(a: &SqlType, b: &SqlType, collation: Collation) -> Option<SqlType> {
    let text = |t: &SqlType| t.base.facts().compares == Compares::Text;
    if text(a) && text(b) {
        return Some(SqlType::varchar(a.length.max(b.length), collation));
    }
    hashable_type(a, b)
}

/// A type that holds the values of both: of IF, CASE, COALESCE, UNION.
pub fn common(a: &SqlType, b: &SqlType) -> SqlType {
    use BaseType as B;
    if a == b || b.base == B::Null {
        return a.clone().computed();
    }
    if a.base == B::Null {
        return b.clone().computed();
    }
    if a.base == B::Json || b.base == B::Json {
        return common_json(a, b);
    }
    if a.is_geometry() && b.is_geometry() {
        return SqlType::geometry();
    }
    if a.is_integer() && b.is_integer() {
        return common_integer(a, b);
    }
    if a.is_numeric() && b.is_numeric() {
        if class(a) == Class::Double || class(b) == Class::Double {
            return common_float(a, b);
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
    let collation = common_collation(a, b);
    // A binary string has the bytes of a text.
    let length = |t: &SqlType| match t.character_lengths() {
        Some((_, bytes)) if collation == Collation::Binary => bytes as u32,
        _ => text_length(t),
    };
    SqlType::varchar(length(a).max(length(b)), collation)
}

/// A text under a collation that holds the texts of values of all these types.
pub fn text_of<'t>(types: impl Iterator<Item = &'t SqlType>, collation: Collation) -> SqlType {
    SqlType::varchar(types.map(text_length).max().unwrap_or(0), collation)
}

/// A document beside another is one; beside anything else it is a text.
pub fn common_json(a: &SqlType, b: &SqlType) -> SqlType {
    if a.base == b.base {
        return SqlType::json();
    }
    let binary = |t: &SqlType| t.is_string() && t.collation == Collation::Binary;
    if binary(a) || binary(b) {
        return SqlType::new(BaseType::LongBlob);
    }
    SqlType {
        collation: Collation::Utf8mb4Bin,
        ..SqlType::new(BaseType::LongText)
    }
}

/// How wide the range of an integer type is, narrowest first. A BIGINT of few digits (a constant, a truth value) is no wider than
/// the type that holds so many.
fn range(t: &SqlType) -> u8 {
    match (t.base, t.length) {
        (BaseType::BigInt, ..=2) => 0,
        (BaseType::BigInt, ..=4) => 2,
        (BaseType::BigInt, ..=6) => 3,
        (BaseType::BigInt, ..=9) => 4,
        (BaseType::TinyInt, _) => 0,
        // As wide as a byte in rows, wider in what it holds.
        (BaseType::Year, _) => 1,
        _ => t.base.facts().width,
    }
}

/// A DOUBLE; a FLOAT with integers that are no wider than MEDIUMINT.
fn common_float(a: &SqlType, b: &SqlType) -> SqlType {
    use BaseType as B;
    let fits = |t: &SqlType| {
        matches!(
            t.base,
            B::Float | B::TinyInt | B::SmallInt | B::MediumInt | B::Year
        )
    };
    let decimals = fixed(a).max(fixed(b));
    match fits(a) && fits(b) {
        true => with_digits(SqlType::new(B::Float), 8, decimals),
        false => double(decimals),
    }
}

/// A BIT and an integer: a DECIMAL, if the integer has a sign.
fn common_bits(bits: &SqlType, other: &SqlType) -> SqlType {
    match bits.length {
        _ if other.base == BaseType::Bit => SqlType::bits(bits.length.max(other.length)),
        _ if other.unsigned => SqlType::ubigint(),
        _ => SqlType::decimal(bits.integer_digits().max(other.integer_digits()), 0),
    }
}

/// A type that holds the values of two integer types.
pub fn common_integer(a: &SqlType, b: &SqlType) -> SqlType {
    if a.base == BaseType::Bit {
        return common_bits(a, b);
    }
    if b.base == BaseType::Bit {
        return common_bits(b, a);
    }
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
            ..wide.clone().computed()
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
            ..signed.clone().computed()
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
                arithmetic(op, a, b, DIV_INCREMENT).column_type(),
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
        let filled = SqlType {
            zerofill: 5,
            unsigned: true,
            ..int.clone()
        };
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
            (&small, &SqlType::new(BaseType::Float), "float"),
            (&int, &SqlType::new(BaseType::Float), "double"),
            (&dec, &SqlType::new(BaseType::Float), "double"),
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
            (&filled, &filled, "int unsigned"),
            (&filled, &SqlType::null(), "int unsigned"),
            (&SqlType::bits(3), &SqlType::bits(10), "bit(10)"),
            (&SqlType::bits(3), &digits(1), "decimal(1,0)"),
            (&SqlType::bits(64), &digits(1), "decimal(20,0)"),
            (&SqlType::bits(64), &year, "bigint unsigned"),
            (&SqlType::bits(10), &dec, "decimal(10,2)"),
            (&SqlType::bits(10), &text, "varchar(10)"),
        ] {
            assert_eq!(common(a, b).column_type(), want);
            assert_eq!(common(b, a).column_type(), want);
        }
    }
}
