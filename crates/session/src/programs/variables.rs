//! The types of variables, parameters and results.

use millpond_sql::env::sql_mode;
use millpond_sql::error::SqlResult;
use millpond_sql::parse::{
    self,
    ast::{DataType, FloatSize, TypeAndCollation},
};
use millpond_sql::types::{Collation, Column, DefaultValue, SqlType, Visibility};

/// A variable of a declared type: what is assigned to it is converted as for a column of its name that may be NULL.
pub(super) fn column(
    name: &str,
    declared: &TypeAndCollation,
    default: Collation,
    mode: u64,
) -> SqlResult<Column> {
    let ty = sql_type(declared, default, mode).map_err(|e| parse::of_column(e, name))?;
    Ok(of_type(name, ty))
}

/// The same of a type that is known.
pub(super) fn of_type(name: &str, ty: SqlType) -> Column {
    Column {
        name: name.to_string(),
        ty,
        nullable: true,
        default: DefaultValue::None,
        auto_increment: false,
        on_update_now: false,
        explicit_collation: false,
        comment: String::new(),
        generated: None,
        visibility: Visibility::Visible,
    }
}

fn sql_type(declared: &TypeAndCollation, default: Collation, mode: u64) -> SqlResult<SqlType> {
    let (charset, binary) = parse::type_charset(&declared.data_type);
    let own = declared.collation.as_ref().map(|c| c.as_str());
    let mut collation = parse::collation_of(charset, own, default)?;
    if binary && own.is_none() && collation != Collation::Binary {
        collation = Collation::by_name(&format!("{}_bin", collation.charset()))?;
    }
    let real_is_float = mode & sql_mode::REAL_AS_FLOAT != 0;
    let mut ty = match &declared.data_type {
        DataType::Float(FloatSize::Real, digits, decimals, numeric) if real_is_float => {
            let float = DataType::Float(FloatSize::Float, *digits, *decimals, *numeric);
            parse::sql_type(&float, collation)?
        }
        other => parse::sql_type(other, collation)?,
    };
    if ty.collation == Collation::Binary {
        ty.base = ty.base.binary();
    }
    Ok(ty)
}

/// A result's type as SHOW CREATE FUNCTION writes it.
pub(crate) fn returns_text(ty: &SqlType) -> String {
    let text = ty.column_type();
    if !ty.is_string() || ty.collation == Collation::Binary {
        return text;
    }
    let charset = ty.collation.charset();
    match parse::collation_of(Some(charset), None, ty.collation) {
        Ok(default) if default == ty.collation => format!("{text} CHARSET {charset}"),
        _ => format!("{text} CHARSET {charset} COLLATE {}", ty.collation.name()),
    }
}
