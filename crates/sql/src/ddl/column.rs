//! A column's definition: its type, whether it may be NULL, its default.

use crate::error::{SqlError, SqlResult};
use crate::parse::sp;
use crate::session::env::SessionEnv;
use crate::session::vars::sql_mode;
use crate::types::{BaseType, Collation, Column, DefaultValue, SqlType};
use crate::value::{self, StoreContext, Value};

use super::{collation_of, names};

/// Longest COMMENT of a column, characters.
const MAX_COMMENT: usize = 1024;

/// A column as CREATE TABLE defines it, and the key that its own options ask for.
pub(super) struct ColumnSpec {
    pub column: Column,
    /// NULL was written, which a primary key forbids.
    pub explicit_null: bool,
    pub primary: bool,
    pub unique: bool,
}

fn unsupported<T>(what: &str) -> SqlResult<T> {
    Err(SqlError::unsupported(what))
}

/// Error 1067.
fn invalid_default(name: &str) -> SqlError {
    SqlError::new(1067, format!("Invalid default value for '{name}'"))
}

fn object_text(name: &sp::ObjectName) -> String {
    name.to_string()
        .trim_matches(|c| matches!(c, '`' | '"' | '\''))
        .to_string()
}

/// A character type under the binary collation is a binary type.
fn binary_type(mut ty: SqlType) -> SqlType {
    if ty.collation == Collation::Binary {
        ty.base = match ty.base {
            BaseType::Char => BaseType::Binary,
            BaseType::VarChar => BaseType::VarBinary,
            BaseType::TinyText => BaseType::TinyBlob,
            BaseType::Text => BaseType::Blob,
            BaseType::MediumText => BaseType::MediumBlob,
            BaseType::LongText => BaseType::LongBlob,
            other => other,
        };
    }
    ty
}

/// Reads a column definition. `table`: the collation that character columns get unless they say otherwise.
pub(super) fn read(
    name: &str,
    data_type: &sp::DataType,
    options: &[sp::ColumnOption],
    table: Collation,
    mode: u64,
    env: &SessionEnv,
) -> SqlResult<ColumnSpec> {
    names::column(name)?;
    let serial = data_type.to_string().eq_ignore_ascii_case("serial");
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match option {
            sp::ColumnOption::CharacterSet(c) => charset = Some(object_text(c)),
            sp::ColumnOption::Collation(c) => collation = Some(object_text(c)),
            _ => {}
        }
    }
    let chosen = collation_of(charset.as_deref(), collation.as_deref(), table)?;
    let real_is_float = mode & sql_mode::REAL_AS_FLOAT != 0;
    let ty = match data_type {
        _ if serial => SqlType::ubigint(),
        sp::DataType::Real if real_is_float => SqlType::new(BaseType::Float),
        other => binary_type(crate::parse::sql_type(other, chosen)?),
    };
    let mut spec = ColumnSpec {
        column: Column {
            name: name.to_string(),
            ty,
            nullable: !serial,
            default: DefaultValue::None,
            auto_increment: serial,
            on_update_now: false,
            comment: String::new(),
        },
        explicit_null: false,
        primary: false,
        unique: serial,
    };
    let mut default = None;
    for option in options {
        match option {
            sp::ColumnOption::Null => spec.explicit_null = true,
            sp::ColumnOption::NotNull => spec.column.nullable = false,
            sp::ColumnOption::Default(e) => default = Some(e),
            sp::ColumnOption::PrimaryKey(_) => spec.primary = true,
            sp::ColumnOption::Unique(_) => spec.unique = true,
            sp::ColumnOption::Comment(text) => {
                if text.chars().count() > MAX_COMMENT {
                    return Err(SqlError::new(
                        1629,
                        format!("Comment for field '{name}' is too long (max = {MAX_COMMENT})"),
                    ));
                }
                spec.column.comment = text.clone();
            }
            sp::ColumnOption::OnUpdate(e) => {
                if !is_now(e, &spec.column.ty) {
                    return Err(SqlError::new(
                        1294,
                        format!("Invalid ON UPDATE clause for '{name}' column"),
                    ));
                }
                spec.column.on_update_now = true;
            }
            sp::ColumnOption::DialectSpecific(tokens) => {
                let text: Vec<String> = tokens
                    .iter()
                    .map(|t| t.to_string().to_uppercase())
                    .collect();
                match text.join(" ").as_str() {
                    "AUTO_INCREMENT" => spec.column.auto_increment = true,
                    other => return unsupported(&format!("column attribute {other}")),
                }
            }
            sp::ColumnOption::CharacterSet(_) | sp::ColumnOption::Collation(_) => {}
            sp::ColumnOption::ForeignKey(_) => return unsupported("FOREIGN KEY"),
            sp::ColumnOption::Check(_) => return unsupported("CHECK"),
            sp::ColumnOption::Generated { .. } => return unsupported("generated columns"),
            sp::ColumnOption::Invisible => return unsupported("INVISIBLE columns"),
            other => return unsupported(&format!("column attribute {other}")),
        }
    }
    if let Some(expr) = default {
        spec.column.default = read_default(expr, &spec.column, env)?;
    }
    if spec.column.auto_increment {
        let numeric = spec.column.ty.is_integer() && spec.column.ty.base != BaseType::Year;
        if !numeric {
            return Err(SqlError::new(
                1063,
                format!("Incorrect column specifier for column '{name}'"),
            ));
        }
        if spec.column.default != DefaultValue::None {
            return Err(invalid_default(name));
        }
        spec.column.nullable = false;
    }
    Ok(spec)
}

/// Whether an expression is CURRENT_TIMESTAMP with the fractional digits of the type.
fn is_now(e: &sp::Expr, ty: &SqlType) -> bool {
    if !matches!(ty.base, BaseType::DateTime | BaseType::Timestamp) {
        return false;
    }
    now_digits(e) == Some(u32::from(ty.decimals))
}

/// Fractional digits of CURRENT_TIMESTAMP and its synonyms; `None` for anything else.
fn now_digits(e: &sp::Expr) -> Option<u32> {
    let (name, args) = match e {
        sp::Expr::Function(f) => (f.name.to_string(), Some(&f.args)),
        sp::Expr::Identifier(i) => (i.value.clone(), None),
        sp::Expr::Nested(inner) => return now_digits(inner),
        _ => return None,
    };
    let synonyms = ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"];
    if !synonyms.iter().any(|s| name.eq_ignore_ascii_case(s)) {
        return None;
    }
    match args {
        None | Some(sp::FunctionArguments::None) => Some(0),
        Some(sp::FunctionArguments::List(list)) => match list.args.as_slice() {
            [] => Some(0),
            [arg] => arg.to_string().parse().ok(),
            _ => None,
        },
        Some(sp::FunctionArguments::Subquery(_)) => None,
    }
}

/// A literal's value; `None` for any other expression.
fn literal(e: &sp::Expr) -> Option<Value<'static>> {
    match e {
        sp::Expr::Value(v) => Some(match &v.value {
            sp::Value::Number(n, _) => match n.parse::<i64>() {
                Ok(i) => Value::Int(i),
                Err(_) => match n.parse::<u64>() {
                    Ok(u) => Value::UInt(u),
                    // The text of a number converts as the number would, exactly.
                    Err(_) => Value::string(n.clone()),
                },
            },
            sp::Value::SingleQuotedString(s)
            | sp::Value::DoubleQuotedString(s)
            | sp::Value::NationalStringLiteral(s) => Value::string(s.clone()),
            sp::Value::HexStringLiteral(h) => Value::Bytes(hex(h)?.into()),
            sp::Value::Boolean(b) => Value::Int(i64::from(*b)),
            sp::Value::Null => Value::Null,
            _ => return None,
        }),
        sp::Expr::UnaryOp {
            op: sp::UnaryOperator::Minus,
            expr,
        } => match literal(expr)? {
            Value::Int(i) => Some(Value::Int(-i)),
            Value::UInt(u) => Some(Value::string(format!("-{u}"))),
            Value::Bytes(b) if matches!(**expr, sp::Expr::Value(_)) => {
                Some(Value::string(format!("-{}", String::from_utf8_lossy(&b))))
            }
            _ => None,
        },
        sp::Expr::UnaryOp {
            op: sp::UnaryOperator::Plus,
            expr,
        } => literal(expr),
        sp::Expr::Prefixed { value, .. } => literal(value),
        _ => None,
    }
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let padded = if digits.len() % 2 == 1 {
        format!("0{digits}")
    } else {
        digits.to_string()
    };
    (0..padded.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(padded.get(i..i + 2)?, 16).ok())
        .collect()
}

/// The default that an expression gives a column; error 1067 if it's none that the column can hold.
pub(super) fn read_default(
    e: &sp::Expr,
    column: &Column,
    env: &SessionEnv,
) -> SqlResult<DefaultValue> {
    if now_digits(e).is_some() {
        return if is_now(e, &column.ty) {
            Ok(DefaultValue::Now)
        } else {
            Err(invalid_default(&column.name))
        };
    }
    let Some(value) = literal(e) else {
        return unsupported("DEFAULT (expression)");
    };
    if value.is_null() {
        return if column.nullable {
            Ok(DefaultValue::Null)
        } else {
            Err(invalid_default(&column.name))
        };
    }
    if column.ty.is_blob() {
        return Err(SqlError::new(
            1101,
            format!(
                "BLOB, TEXT, GEOMETRY or JSON column '{}' can't have a default value",
                column.name
            ),
        ));
    }
    let stored = value::store(
        value,
        column,
        &StoreContext {
            session: env,
            strict: true,
            row: 1,
        },
    )
    .map_err(|_| invalid_default(&column.name))?;
    let mut text = Vec::new();
    value::write_text(&stored, &column.ty, &mut text);
    match String::from_utf8(text) {
        Ok(text) => Ok(DefaultValue::Literal(text)),
        Err(_) => unsupported("a default that is not text"),
    }
}
