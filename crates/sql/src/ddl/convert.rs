//! Rows as a table has them made into rows as it will have them: what ALTER TABLE copies, and what becomes of rows meanwhile.
//!
//! A row is held to all that its new definition asks: conversion (strict or not, as the session's sql_mode says), NOT NULL, generated
//! columns, CHECK. Where nothing of that can change a row it stays as it is, byte by byte.

use std::cell::OnceCell;

use super::change::Changed;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::types::{BaseType, Column, DefaultValue, Family, Schema, SqlType};
use crate::value::convert::exact_integer;
use crate::value::env::Diagnostic;
use crate::value::{self, StoreContext, Value};
use crate::write::{NewRow, RowWriter};

/// From rows of the old definition to rows of the new one.
pub(super) struct Conversion<'c> {
    pub old: &'c Schema,
    changed: &'c Changed,
    env: &'c SessionEnv,
    /// The table's name in messages.
    table: &'c str,
    /// Images stay as they are.
    same: bool,
    /// MySQL copies the rows, value by value.
    copies: bool,
    /// Rows that stay as they are have CHECK constraints that they were not held to.
    checks: bool,
    /// Values of the columns that the old table doesn't have, made when there is a row.
    added: OnceCell<Vec<Value<'static>>>,
}

impl<'c> Conversion<'c> {
    pub fn new(
        old: &'c Schema,
        changed: &'c Changed,
        table: &'c str,
        env: &'c SessionEnv,
    ) -> Conversion<'c> {
        let same = changed.same_rows(old);
        Conversion {
            old,
            changed,
            env,
            table,
            same,
            copies: changed.limits(old, env).copies.is_some(),
            checks: same && changed.asks_more(old),
            added: OnceCell::new(),
        }
    }

    /// Whether images stay as they are; then [`Conversion::check`] is all there is to do.
    pub fn keeps_images(&self) -> bool {
        self.same
    }

    /// Holds an image that stays as it is to what is new.
    pub fn check(&self, image: &[u8]) -> SqlResult<()> {
        if !self.checks {
            return Ok(());
        }
        let schema = &self.changed.schema;
        let row = RowRef::Stored(schema, image);
        schema.computed()?.check(schema, self.table, row, self.env)
    }

    /// Gives a row that is begun the values that one of the old table becomes.
    pub fn fill<'v>(
        &'v self,
        writer: &RowWriter<'_>,
        before: &'v [Value<'v>],
        new: &mut NewRow<'v>,
    ) -> SqlResult<()> {
        let added = self.added(writer)?;
        let cx = writer.conversion(self.env);
        let mut refused = None;
        for (i, column) in self.changed.schema.columns.iter().enumerate() {
            match self.changed.from[i] {
                // Computed when the others are there.
                _ if column.generated.is_some() => {}
                None if column.auto_increment => {
                    new.put(i, value::generated(writer.row(), column, &cx)?);
                }
                None if is_computed(column) => writer.complete(self.env, new, &[i])?,
                None => new.put(i, added[i].borrowed()),
                Some(f) => {
                    let (value, was) = (before[f].borrowed(), &self.old.columns[f]);
                    let filled = column.nullable || !value.is_null();
                    if !filled && (self.copies || !cx.strict) && is_plain(column) {
                        cx.truncated(column.target())?;
                        new.put(i, value::implicit_zero(&column.ty));
                    } else if column.ty == was.ty && filled && !self.holds_to_dates(column) {
                        new.put(i, value);
                    } else {
                        let value = Self::converted(value, &was.ty, &column.ty, &cx)?;
                        let value = value::recoded(value, &was.ty, column.target(), &cx);
                        let set =
                            value.and_then(|v| writer.set_from(self.env, new, i, (v, &was.ty)));
                        let set = set.map_err(|e| match e.code {
                            1048 => SqlError::new(1138, "Invalid use of NULL value"),
                            1292 => with_digits(e, &before[f], &column.ty),
                            _ => e,
                        });
                        // The other columns' values are looked at all the same.
                        match (set, &refused) {
                            (Err(e), None) => refused = Some(e),
                            (Err(e), Some(_)) => {
                                self.env.behind.borrow_mut().push(Diagnostic::of(&e));
                            }
                            (Ok(()), _) => {}
                        }
                    }
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Whether a column's dates are held to sql_mode though its type stays: where MySQL copies, it does not take them for valid.
    fn holds_to_dates(&self, column: &Column) -> bool {
        let mode = self.env.sql_mode.get();
        self.copies
            && matches!(
                column.ty.base,
                BaseType::Date | BaseType::DateTime | BaseType::Timestamp
            )
            && (mode.no_zero_date || mode.no_zero_in_date)
    }

    /// A value of the old type as it is assigned to a column that gets another: to strings the text that was shown, from and to BIT
    /// the number.
    fn converted<'v>(
        value: Value<'v>,
        was: &SqlType,
        is: &SqlType,
        cx: &StoreContext<'_>,
    ) -> SqlResult<Value<'v>> {
        match (was.family(), is.family()) {
            (Family::Bit, _) => Ok(value),
            (_, Family::Bit) => match &value {
                Value::Null => Ok(Value::Null),
                Value::Bytes(b) => match value::member_number(b, was) {
                    Some(number) => Ok(number),
                    None if exact_integer(b).is_some() => Ok(Value::UInt(value.to_bits())),
                    None => {
                        let shown = value::printable(b);
                        cx.raise(
                            1292,
                            format!("Truncated incorrect INTEGER value: '{shown}'"),
                        )?;
                        Ok(Value::UInt(value.to_bits()))
                    }
                },
                _ => Ok(value),
            },
            (_, Family::String) => Ok(value::shown(value, was)),
            _ => Ok(value),
        }
    }

    fn added(&self, writer: &RowWriter<'_>) -> SqlResult<&[Value<'static>]> {
        if let Some(added) = self.added.get() {
            return Ok(added);
        }
        let cx = writer.conversion(self.env);
        let columns = self.changed.schema.columns.iter().zip(&self.changed.from);
        let values = columns.map(|(column, from)| match from {
            Some(_) => Ok(Value::Null),
            None if is_computed(column) => Ok(Value::Null),
            None => value_of_new(column, &cx),
        });
        let values: SqlResult<Vec<_>> = values.collect();
        let values = values?;
        Ok(self.added.get_or_init(|| values))
    }
}

/// An error about a moment, which it shows with the digits of the column's type.
#[cold]
fn with_digits(e: SqlError, value: &Value<'_>, ty: &SqlType) -> SqlError {
    if !matches!(value, Value::DateTime(_)) || ty.decimals == 0 {
        return e;
    }
    let mut digits = Vec::new();
    value::write_text(value, ty, &mut digits);
    let (plain, digits) = (value.to_text(), String::from_utf8_lossy(&digits));
    let plain = String::from_utf8_lossy(&plain);
    let m = e.message.replacen(&*plain, &digits, 1);
    SqlError::new(e.code, m)
}

/// Whether NULL makes nothing else of a column: no number, no time.
fn is_plain(column: &Column) -> bool {
    !column.auto_increment && column.ty.base != BaseType::Timestamp
}

/// Whether each row computes the column's value, or its default.
pub(super) fn is_computed(column: &Column) -> bool {
    column.generated.is_some() || matches!(column.default, DefaultValue::Expr(_))
}

/// The value that rows get in a column that was not there before.
pub(super) fn value_of_new(column: &Column, cx: &StoreContext<'_>) -> SqlResult<Value<'static>> {
    let no_default = column.default == DefaultValue::None && !column.nullable;
    if !no_default {
        return value::default_value(column, cx);
    }
    let mode = cx.session.sql_mode.get();
    let dated = matches!(
        column.ty.base,
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp
    );
    if dated && cx.strict && mode.no_zero_date {
        return Err(SqlError::new(
            1292,
            format!(
                "Incorrect {} value: '{}' for column '{}' at row 1",
                column.ty.data_type(),
                if column.ty.base == BaseType::Date {
                    "0000-00-00"
                } else {
                    "0000-00-00 00:00:00"
                },
                column.name
            ),
        ));
    }
    if column.ty.is_geometry() {
        return Err(value::no_geometry());
    }
    Ok(value::implicit_zero(&column.ty))
}
