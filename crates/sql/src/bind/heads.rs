//! Result columns: what the client is told of them, and the types of UNIONs.

use crate::expr::Coercibility;
use crate::expr::bind::coercion::united;
use crate::result::{
    ColumnMeta, FLAG_AUTO_INCREMENT, FLAG_MULTIPLE_KEY, FLAG_NO_DEFAULT, FLAG_PRI_KEY,
    FLAG_UNIQUE_KEY,
};
use crate::types::derive::{common_integer, double, fixed, text_length};
use crate::types::{DefaultValue, SqlType};

/// A column of a query's result.
#[derive(Clone, Debug)]
pub struct Head {
    /// As the client sees it.
    pub meta: ColumnMeta,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// How firmly it holds to its collation.
    pub hold: Coercibility,
}

impl Head {
    /// The column of a UNION that has the values of both.
    pub fn unite(&mut self, other: &Head) {
        let (hold, collation) = united((self.hold, &self.meta.ty), (other.hold, &other.meta.ty));
        let mut ty = unify(&self.meta.ty, &other.meta.ty);
        ty.collation = collation.filter(|_| ty.is_string()).unwrap_or(ty.collation);
        self.hold = hold;
        self.nullable |= other.nullable;
        self.meta = ColumnMeta::computed(std::mem::take(&mut self.meta.name), &ty, self.nullable);
    }
}

pub fn column_flags(schema: &crate::types::Schema, column: usize) -> u16 {
    let c = &schema.columns[column];
    let mut flags = 0;
    if c.auto_increment {
        flags |= FLAG_AUTO_INCREMENT;
    }
    let given = c.generated.is_none() && !c.auto_increment;
    if !c.nullable && c.default == DefaultValue::None && given {
        flags |= FLAG_NO_DEFAULT;
    }
    for (n, i) in schema.indexes.iter().enumerate() {
        let Some(at) = i.parts.iter().position(|p| p.column == column) else {
            continue;
        };
        if n == 0 && i.name == "PRIMARY" {
            flags |= FLAG_PRI_KEY;
        } else if at == 0 {
            flags |= if i.unique && i.parts.len() == 1 {
                FLAG_UNIQUE_KEY
            } else {
                FLAG_MULTIPLE_KEY
            };
        }
    }
    flags
}

/// The type that holds values of both.
pub fn unify(a: &SqlType, b: &SqlType) -> SqlType {
    use crate::types::BaseType as B;
    if a.base == B::Null && b.base == B::Null {
        return SqlType::varchar(0, crate::types::Collation::Binary);
    }
    if a == b || b.base == B::Null {
        return a.clone().computed();
    }
    if a.base == B::Null {
        return b.clone().computed();
    }
    if a.base == B::Bit && b.is_integer() || b.base == B::Bit && a.is_integer() {
        return common_integer(a, b);
    }
    if a.is_json() || b.is_json() {
        return crate::types::derive::common_json(a, b);
    }
    if a.is_geometry() && b.is_geometry() {
        return SqlType::geometry();
    }
    if a.is_integer() && b.is_integer() {
        return if a.unsigned == b.unsigned {
            let mut t = if a.unsigned {
                SqlType::ubigint()
            } else {
                SqlType::bigint()
            };
            t.length = a.length.max(b.length);
            t
        } else {
            let unsigned = if a.unsigned { a } else { b };
            match unsigned.base == B::BigInt && unsigned.length > 1 {
                true => SqlType::decimal(20, 0),
                false => SqlType::bigint(),
            }
        };
    }
    if a.is_numeric() && b.is_numeric() {
        let exact = |t: &SqlType| t.is_integer() || t.base == B::Decimal;
        if exact(a) && exact(b) {
            let scale = |t: &SqlType| if t.is_integer() { 0 } else { t.decimals };
            let whole = a.integer_digits().max(b.integer_digits());
            let s = scale(a).max(scale(b));
            return SqlType::decimal((whole + u32::from(s)).min(65), s);
        }
        return double(fixed(a).max(fixed(b)));
    }
    if a.base == b.base && !a.is_string() {
        let mut t = a.clone();
        t.length = a.length.max(b.length);
        t.decimals = a.decimals.max(b.decimals);
        return t;
    }
    if a.is_temporal() && b.is_temporal() {
        return SqlType::datetime(a.decimals.max(b.decimals));
    }
    let collation = if a.is_string() && b.is_string() {
        crate::types::derive::string_collation(a, b)
    } else if a.is_string() {
        a.collation
    } else if b.is_string() {
        b.collation
    } else {
        crate::types::Collation::DEFAULT
    };
    // A binary string has the bytes of a text.
    let width = |t: &SqlType| match t.character_lengths() {
        Some((_, bytes)) if collation == crate::types::Collation::Binary => bytes as u32,
        _ if t.is_string() => t.length,
        _ => text_length(t).max(40),
    };
    if a.is_blob() || b.is_blob() {
        let mut t = if a.is_blob() { a.clone() } else { b.clone() };
        t.collation = collation;
        t.length = t.length.max(width(a)).max(width(b));
        // What is no geometry in one place is none in the other.
        if t.is_geometry() {
            t = SqlType::new(B::LongBlob);
        }
        return t;
    }
    SqlType::varchar(width(a).max(width(b)), collation)
}
