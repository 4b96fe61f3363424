//! A column's definition: its type, whether it may be NULL, its default.

use crate::computed::{self, Role};
use crate::env::SessionEnv;
use crate::env::sql_mode;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::{bytes_of_bits, introduced_text};
use crate::expr::bit_string;
use crate::parse;
use crate::parse::ast::{
    self, ColumnAttribute as Attribute, DataType, Expr, ExprKind, FloatSize, Literal, UnaryOp,
};
use crate::types::{
    BaseType, Collation, Column, DefaultValue, Encoding, Family, Generated, SqlType, Visibility,
};
use crate::value::env::Diagnostic;
use crate::value::geometry::{Srs, srs_not_found};
use crate::value::{self, StoreContext, Value};

use super::{comment, names};

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

/// Error 4028 unless some column is visible.
pub(super) fn check_visible(columns: &[Column]) -> SqlResult<()> {
    let mut visible = columns.iter().map(|c| c.visibility);
    match visible.any(|v| v == Visibility::Visible) {
        true => Ok(()),
        false => Err(SqlError::new(
            4028,
            "A table must have at least one visible column.",
        )),
    }
}

/// Error 1221.
pub(super) fn usage_with_generated(clause: &str) -> SqlError {
    SqlError::new(
        1221,
        format!("Incorrect usage of {clause} and generated column"),
    )
}

/// A character type under the binary collation is a binary type.
fn binary_type(mut ty: SqlType) -> SqlType {
    if ty.collation == Collation::Binary {
        ty.base = ty.base.binary();
    }
    ty
}

/// The collation of a character column. `table`: what it is unless the column says otherwise.
fn collation(def: &ast::ColumnDef, table: Collation) -> SqlResult<Collation> {
    let (charset, binary) = parse::type_charset(&def.data_type);
    let attributes = def.attributes.all();
    let own = attributes.iter().rev().find_map(|a| match a {
        Attribute::Collate(name) => Some(name.as_str()),
        _ => None,
    });
    let chosen = parse::collation_of(charset, own, table)?;
    if binary && own.is_none() && chosen != Collation::Binary {
        return Ok(Collation::bin_of(chosen.character_set()));
    }
    Ok(chosen)
}

/// Whether a column says by name which character set or collation it has.
fn names_collation(def: &ast::ColumnDef) -> bool {
    let attributes = def.attributes.all();
    parse::type_charset(&def.data_type).0.is_some()
        || attributes
            .iter()
            .any(|a| matches!(a, Attribute::Collate(_)))
}

/// The TEXT or BLOB that a VARCHAR or VARBINARY becomes for which it is too long, unless the mode is strict; `e` says that it is.
fn instead(
    e: SqlError,
    data_type: &DataType,
    name: &str,
    collation: Collation,
    env: &SessionEnv,
) -> SqlResult<SqlType> {
    if e.code != 1074 || env.sql_mode.get().strict {
        return Err(e);
    }
    let ty = parse::text_instead(data_type, collation).ok_or(e)?;
    let (from, to) = match ty.collation {
        Collation::Binary => ("VARBINARY", "BLOB"),
        _ => ("VARCHAR", "TEXT"),
    };
    env.note(
        1246,
        format!("Converting column '{name}' from {from} to {to}"),
    );
    Ok(ty)
}

/// Error 1291 for a member of an ENUM or SET that is there twice, a note unless the mode is strict.
fn check_members(column: &str, ty: &SqlType, env: &SessionEnv) -> SqlResult<()> {
    for member in parse::duplicated_members(ty) {
        let kind = if ty.base == BaseType::Enum {
            "ENUM"
        } else {
            "SET"
        };
        let message = format!("Column '{column}' has duplicated value '{member}' in {kind}");
        match env.sql_mode.get().strict {
            true => return Err(SqlError::new(1291, message)),
            false => env.note(1291, message),
        }
    }
    Ok(())
}

/// A type whose character set is another than it was: a VARCHAR that got too long for it is refused, or becomes a TEXT, as one that is
/// defined so.
pub(super) fn fitting(ty: SqlType, column: &str, env: &SessionEnv) -> SqlResult<SqlType> {
    if ty.base != BaseType::VarChar {
        return Ok(ty);
    }
    let data_type = DataType::VarChar(Some(ty.length.into()), ast::Charset::default());
    parse::sql_type(&data_type, ty.collation)
        .or_else(|e| instead(e, &data_type, column, ty.collation, env))
        .map_err(|e| parse::of_column(e, column))
}

/// Reads a column definition. `table`: its name, and the collation that character columns get unless they say otherwise.
pub(super) fn read(
    def: &ast::ColumnDef,
    (name_of_table, table): (&str, Collation),
    mode: u64,
    env: &SessionEnv,
) -> SqlResult<ColumnSpec> {
    let name = def.name.as_str();
    names::column(name)?;
    let serial = def.data_type == DataType::Serial;
    let real_is_float = mode & sql_mode::REAL_AS_FLOAT != 0;
    let chosen = collation(def, table)?;
    let ty = match &def.data_type {
        DataType::Float(FloatSize::Real, digits, decimals, numeric) if real_is_float => {
            let float = DataType::Float(FloatSize::Float, *digits, *decimals, *numeric);
            parse::sql_type(&float, chosen)
        }
        other => parse::sql_type(other, chosen),
    };
    let ty = ty.or_else(|e| instead(e, &def.data_type, name, chosen, env));
    let ty = binary_type(ty.map_err(|e| parse::of_column(e, name))?);
    check_members(name, &ty, env)?;
    let explicit_collation =
        ty.is_string() && ty.collation != Collation::Binary && names_collation(def);
    let mut spec = ColumnSpec {
        column: Column {
            name: name.to_string(),
            ty,
            nullable: !serial,
            default: DefaultValue::None,
            auto_increment: serial,
            on_update_now: false,
            explicit_collation,
            comment: String::new(),
            generated: None,
            visibility: Default::default(),
        },
        explicit_null: false,
        primary: false,
        unique: serial,
    };
    let mut default = None;
    let attributes = def.attributes.all();
    for attribute in attributes.iter() {
        match attribute {
            Attribute::Default(value) => default = Some(value),
            Attribute::Generated(e, kind) => {
                let text = computed::read(e, Role::Generated(name), name_of_table, env)?;
                let stored = *kind == Some(ast::GeneratedKind::Stored);
                spec.column.generated = Some(Box::new(Generated {
                    text,
                    stored,
                    // Unless it turns out that it must be.
                    in_rows: stored,
                }));
            }
            Attribute::Comment(text) => {
                let limit = (MAX_COMMENT, 1629);
                let of = format!("field '{name}'");
                spec.column.comment = comment::fitting(text, limit, &of, env)?;
            }
            other => spec.take(other)?,
        }
    }
    if spec.column.generated.is_some() {
        let of_others = [
            (default.is_some(), "DEFAULT"),
            (spec.column.auto_increment, "AUTO_INCREMENT"),
            (spec.column.on_update_now, "ON UPDATE"),
        ];
        if let Some((_, clause)) = of_others.iter().find(|(given, _)| *given) {
            return Err(usage_with_generated(clause));
        }
    }
    if let Some(value) = default {
        spec.column.default = read_default(value, &spec.column, name_of_table, env)?;
    }
    if spec.column.auto_increment {
        if spec.column.ty.family() != Family::Integer {
            return Err(SqlError::new(
                1063,
                format!("Incorrect column specifier for column '{name}'"),
            ));
        }
        if spec.column.default != DefaultValue::None {
            return Err(invalid_default(name));
        }
    }
    Ok(spec)
}

impl ColumnSpec {
    /// Takes an attribute other than DEFAULT.
    fn take(&mut self, attribute: &Attribute) -> SqlResult<()> {
        let column = &mut self.column;
        match attribute {
            // The last word on it counts.
            Attribute::Null => {
                column.nullable = true;
                self.explicit_null = true;
            }
            Attribute::NotNull => column.nullable = false,
            Attribute::AutoIncrement => {
                column.nullable = false;
                column.auto_increment = true;
            }
            Attribute::SerialDefaultValue => {
                column.nullable = false;
                column.auto_increment = true;
                self.unique = true;
            }
            Attribute::PrimaryKey => self.primary = true,
            Attribute::Unique => self.unique = true,
            Attribute::OnUpdate(e) => {
                if !is_now(e, &column.ty) {
                    return Err(SqlError::new(
                        1294,
                        format!("Invalid ON UPDATE clause for '{}' column", column.name),
                    ));
                }
                column.on_update_now = true;
            }
            // Read before; or how every column is.
            Attribute::Default(_)
            | Attribute::Generated(..)
            | Attribute::Collate(_)
            | Attribute::Comment(_)
            | Attribute::Visible => {}
            Attribute::Srid(srid) => take_srid(column, *srid)?,
            Attribute::Invisible => column.visibility = Visibility::Invisible,
            // The table's, see `check`.
            Attribute::Check(_) => {}
            // As in MySQL: FOREIGN KEY is what makes a constraint.
            Attribute::References(_) => {}
            Attribute::ColumnFormat(_)
            | Attribute::Storage(_)
            | Attribute::EngineAttribute(_)
            | Attribute::SecondaryEngineAttribute(_)
            | Attribute::Foreign(..) => {
                return unsupported(&format!("column attribute {attribute}"));
            }
        }
        Ok(())
    }
}

/// SRID of a spatial column. Errors 1221, 3548.
fn take_srid(column: &mut Column, srid: u64) -> SqlResult<()> {
    if !column.ty.is_geometry() {
        return Err(SqlError::new(
            1221,
            "Incorrect usage of SRID and non-geometry column",
        ));
    }
    let known = u32::try_from(srid).ok().filter(|id| Srs::of(*id).is_some());
    match known {
        Some(id) => column.ty.srid = Some(id),
        None => return Err(srs_not_found(srid)),
    }
    Ok(())
}

/// Whether an expression is CURRENT_TIMESTAMP with the fractional digits of the type.
fn is_now(e: &Expr, ty: &SqlType) -> bool {
    if !matches!(ty.base, BaseType::DateTime | BaseType::Timestamp) {
        return false;
    }
    now_digits(e) == Some(u32::from(ty.decimals))
}

/// Fractional digits of CURRENT_TIMESTAMP and its synonyms; `None` for anything else.
fn now_digits(e: &Expr) -> Option<u32> {
    let ExprKind::Call(call) = &e.kind else {
        return None;
    };
    let synonyms = ["CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"];
    let known = |s: &&str| call.name.as_str().eq_ignore_ascii_case(s);
    if call.database.is_some() || !synonyms.iter().any(known) {
        return None;
    }
    match call.args.as_slice()? {
        [] => Some(0),
        [arg] => match arg.kind {
            ExprKind::Int(n) => u32::try_from(n).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// A literal's value; `None` for any other expression.
fn literal(e: &Expr, client: Encoding) -> Option<Value<'static>> {
    Some(match &e.kind {
        ExprKind::Null => Value::Null,
        ExprKind::Bool(b) => Value::Int(i64::from(*b)),
        ExprKind::Int(n) => match i64::try_from(*n) {
            Ok(i) => Value::Int(i),
            Err(_) => Value::UInt(*n),
        },
        ExprKind::Literal(literal) => plain(literal)?,
        ExprKind::Introduced(l) => {
            let collation = Collation::of_charset(l.charset.as_str()).ok()?;
            Value::Bytes(introduced_text(l, collation, client).ok()?.into())
        }
        ExprKind::Unary(UnaryOp::Plus, inner) => literal(inner, client)?,
        ExprKind::Unary(UnaryOp::Minus, inner) => match literal(inner, client)? {
            Value::Int(i) => Value::Int(-i),
            Value::UInt(u) => Value::string(format!("-{u}")),
            Value::Bytes(digits) if is_number(inner) => {
                Value::string(format!("-{}", String::from_utf8_lossy(&digits)))
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// Whether it is bytes, which are in the column's character set.
fn is_hexadecimal(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Literal(l) if matches!(**l, Literal::Hex(_)))
}

fn is_number(e: &Expr) -> bool {
    let ExprKind::Literal(literal) = &e.kind else {
        return false;
    };
    matches!(
        **literal,
        Literal::BigInt(_) | Literal::Decimal(_) | Literal::Float(_)
    )
}

/// Whether it is a binary string that is a number where one is wanted.
fn is_bits(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Literal(l) if matches!(**l, Literal::Hex(_) | Literal::Bits(_)))
}

fn plain(literal: &Literal) -> Option<Value<'static>> {
    Some(match literal {
        // The text of a number converts as the number would, exactly.
        Literal::BigInt(n) | Literal::Decimal(n) | Literal::Float(n) => {
            Value::string(n.as_str().to_string())
        }
        Literal::Text(s, _)
        | Literal::National(s)
        | Literal::Date(s)
        | Literal::Time(s)
        | Literal::Timestamp(s) => Value::string(s.to_string()),
        Literal::Hex(bytes) => Value::Bytes(bytes.to_vec().into()),
        Literal::Bits(digits) => Value::Bytes(bytes_of_bits(digits.as_str()).into()),
    })
}

/// The default that a column of `table` is given; error 1067 if it's none that the column can hold.
pub(super) fn read_default(
    default: &ast::DefaultValue,
    column: &Column,
    table: &str,
    env: &SessionEnv,
) -> SqlResult<DefaultValue> {
    let e = match default {
        ast::DefaultValue::Value(e) => e,
        ast::DefaultValue::Expr(e) => {
            let text = computed::read(e, Role::Default(&column.name), table, env)?;
            return Ok(DefaultValue::Expr(text));
        }
    };
    if now_digits(e).is_some() {
        return if is_now(e, &column.ty) {
            Ok(DefaultValue::Now)
        } else {
            Err(invalid_default(&column.name))
        };
    }
    let Some(mut value) = literal(e, env.client.get()) else {
        let message = "a DEFAULT that is an expression stands in parentheses, near";
        return Err(SqlError::syntax(format!("{message} '{e}'")));
    };
    if let (true, Value::Bytes(bits)) = (column.ty.is_numeric() && is_bits(e), &value) {
        value = Value::UInt(bit_string(bits));
    }
    let value = match (value, is_hexadecimal(e) && !column.ty.collation.is_plain()) {
        (Value::Bytes(bytes), true) => {
            let encoding = column.ty.collation.character_set().encoding();
            let text = encoding.text_of(&bytes).map(|t| t.into_owned());
            Value::string(text.map_err(|_| invalid_default(&column.name))?)
        }
        (value, _) => value,
    };
    if value.is_null() {
        return if column.nullable {
            Ok(DefaultValue::Null)
        } else {
            Err(invalid_default(&column.name))
        };
    }
    if column.ty.is_blob() || column.ty.is_json() {
        return Err(SqlError::new(
            1101,
            format!(
                "BLOB, TEXT, GEOMETRY or JSON column '{}' can't have a default value",
                column.name
            ),
        ));
    }
    let cx = |strict| StoreContext {
        session: env,
        strict,
        row: 1,
    };
    let strict = env.sql_mode.get().strict;
    let told = env.diagnostics.borrow().len();
    let stored = value::store(value.borrowed(), column, &cx(true)).map_err(|refused| {
        // What refuses it is told first.
        match strict {
            _ if column.ty.is_enumerated() => {}
            true => env.say(Diagnostic::of(&refused)),
            false => drop(value::store(value.borrowed(), column, &cx(false))),
        }
        invalid_default(&column.name)
    })?;
    // What it loses is told in the words of the mode.
    if !strict && env.diagnostics.borrow().len() > told {
        env.conversion.diagnostics.borrow_mut().truncate(told);
        value::store(value.borrowed(), column, &cx(false))?;
    }
    match value::default_text(&stored, &column.ty) {
        Some(text) => Ok(DefaultValue::Literal(text)),
        None => unsupported("a default that is not text"),
    }
}
