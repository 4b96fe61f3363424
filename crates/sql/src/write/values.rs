//! A row's values: conversion and defaults, the first steps of a row's way.

use std::ops::Range;

use super::row::is_zero;
use super::{NewRow, RowWriter};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::row::encode_row;
use crate::types::{BaseType, DefaultValue, SqlType};
use crate::value::env::Diagnostic;
use crate::value::{self, StoreContext, Value};

impl<'w> RowWriter<'w> {
    /// How values of the current row are converted.
    #[inline]
    pub fn conversion<'e>(&self, env: &'e SessionEnv) -> StoreContext<'e> {
        StoreContext {
            session: env,
            strict: self.policy.strict,
            row: self.row,
        }
    }

    /// Begins the statement's next row. `read`: expressions read it before all of its columns have values.
    pub fn begin(&mut self, env: &SessionEnv, read: bool, row: &mut NewRow<'_>) {
        self.row += 1;
        let columns = self.target.schema.columns.iter();
        if read {
            let cx = self.conversion(env);
            row.fill(columns.map(|c| value::initial_value(c, &cx)));
        } else {
            row.fill(columns.map(|_| Value::Null));
        }
    }

    /// Gives a column of a row to be inserted its value.
    pub fn set<'v>(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'v>,
        column: usize,
        v: Value<'v>,
    ) -> SqlResult<()> {
        if self.auto.as_ref().is_some_and(|a| a.column == column) {
            return self.set_number(env, row, column, v);
        }
        self.assign(env, row, column, v)
    }

    /// The same, of a value that had this type.
    #[inline]
    pub fn set_from<'v>(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'v>,
        column: usize,
        (v, was): (Value<'v>, &SqlType),
    ) -> SqlResult<()> {
        let ty = &self.target.schema.columns[column].ty;
        match self.auto.as_ref().is_some_and(|a| a.column == column) {
            true => self.set_number(env, row, column, value::assigned(v, was, ty)),
            false => self.assign_from(env, row, column, (value::assigned(v, was, ty), was)),
        }
    }

    /// [`RowWriter::assign`] of a value that had this type.
    #[inline]
    pub fn assign_from<'v>(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'v>,
        column: usize,
        (v, was): (Value<'v>, &SqlType),
    ) -> SqlResult<()> {
        let ty = &self.target.schema.columns[column].ty;
        if ty.base == BaseType::Enum && value::is_no_member(&v, was) {
            row.put(column, Value::str(""));
            return Ok(());
        }
        self.assign(env, row, column, v)
    }

    /// The same for the AUTO_INCREMENT column, in which 0 stands for the next number, and NULL too where it can't be.
    fn set_number<'v>(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'v>,
        column: usize,
        v: Value<'v>,
    ) -> SqlResult<()> {
        let definition = &self.target.schema.columns[column];
        let null = v.is_null();
        if !null {
            let v = value::store(v, definition, &self.conversion(env))?;
            if !is_zero(&v) || env.sql_mode.get().no_auto_value_on_zero {
                row.put(column, v);
                return Ok(());
            }
        }
        row.numbered = true;
        row.put(
            column,
            match definition.ty.unsigned {
                _ if definition.nullable && null => Value::Null,
                true => Value::UInt(0),
                false => Value::Int(0),
            },
        );
        Ok(())
    }

    /// Gives a column of a row to be inserted its default: an expression's value for the row as it is now.
    pub fn set_default(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        column: usize,
    ) -> SqlResult<()> {
        let definition = &self.target.schema.columns[column];
        if definition.generated.is_some() {
            return Ok(());
        }
        if let DefaultValue::Expr(_) = definition.default {
            return self.compute_default(env, row, column);
        }
        let v = value::default_value(definition, &self.conversion(env))?;
        if self.has_none(column) && !definition.auto_increment {
            // The type's zero, even where the mode forbids it.
            row.put(column, v);
            return Ok(());
        }
        self.set(env, row, column, v)
    }

    /// Whether a column has no default at all, so that a row that says nothing of it is refused, or warned of.
    fn has_none(&self, column: usize) -> bool {
        let c = &self.target.schema.columns[column];
        let none = c.default == DefaultValue::None && c.generated.is_none();
        none && !c.nullable && c.ty.base != BaseType::Enum
    }

    /// Refuses, or fills with its type's zero, what no trigger gave a value that the statement had none for: error or warning 1364.
    #[cold]
    pub(super) fn fill_unsaid(&self, env: &SessionEnv, row: &mut NewRow<'_>) -> SqlResult<()> {
        let unsaid = std::mem::take(&mut row.unsaid);
        for (n, &column) in unsaid.iter().enumerate() {
            self.set_default(env, row, column)
                .inspect_err(|e| self.tell_missing(env, e, &unsaid[n + 1..]))?;
        }
        Ok(())
    }

    /// [`RowWriter::complete`], where what a row lacks is told by [`RowWriter::insert`], behind what computing its columns tells.
    pub fn complete_later(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        columns: &[usize],
    ) -> SqlResult<()> {
        if !self.target.schema.generates() || !self.hooks.before.is_empty() {
            return self.complete(env, row, columns);
        }
        let lacks = |c: usize| {
            let definition = &self.target.schema.columns[c];
            let numbered = self.auto.as_ref().is_some_and(|a| a.column == c);
            self.has_none(c) && !numbered && !definition.ty.is_geometry()
        };
        for &c in columns.iter().filter(|c| lacks(**c)) {
            row.put(c, value::implicit_zero(&self.target.schema.columns[c].ty));
            row.missing.push(c);
        }
        let mut others = columns.iter().copied().filter(|c| !lacks(*c));
        others.try_for_each(|c| self.complete(env, row, &[c]))
    }

    /// Refuses a row, or warns of it, for the columns that it lacks.
    #[cold]
    pub(super) fn refuse_missing(&self, env: &SessionEnv, row: &mut NewRow<'_>) -> SqlResult<()> {
        let missing = std::mem::take(&mut row.missing);
        for (n, &column) in missing.iter().enumerate() {
            self.set_default(env, row, column)
                .inspect_err(|e| self.tell_missing(env, e, &missing[n + 1..]))?;
        }
        Ok(())
    }

    /// As in MySQL all columns that a row lacks are told, not just the first.
    #[cold]
    fn tell_missing(&self, env: &SessionEnv, e: &SqlError, others: &[usize]) {
        if e.code != 1364 {
            return;
        }
        for c in others.iter().filter(|c| self.has_none(**c)) {
            let definition = &self.target.schema.columns[*c];
            let missing = value::default_value(definition, &self.conversion(env));
            if let Err(e) = missing {
                env.say(Diagnostic::of(&e));
            }
        }
    }

    /// Gives columns that the statement does not name the defaults that are expressions, in the order in which they are defined.
    #[cold]
    pub(super) fn settle(&self, env: &SessionEnv, row: &mut NewRow<'_>) -> SqlResult<()> {
        let mut pending = std::mem::take(&mut row.pending);
        pending.sort_unstable();
        let mut from = 0;
        for column in pending {
            // Which it may read.
            self.generate(env, row, from..column, &[])?;
            from = column;
            self.compute_default(env, row, column)?;
        }
        Ok(())
    }

    /// Computes the generated columns among some, which stand in their order. `settled`: those of which nothing is said, as they were so before.
    pub(super) fn generate(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        among: Range<usize>,
        settled: &[usize],
    ) -> SqlResult<()> {
        let schema = self.target.schema;
        if !schema.generates() {
            return Ok(());
        }
        let computed = schema.computed()?;
        for column in computed.generated().filter(|c| among.contains(c)) {
            let said = env.diagnostics.borrow().len();
            let v = computed.generated_value(column, RowRef::Values(row.values()), env)?;
            self.assign(env, row, column, v)?;
            if settled.contains(&column) {
                env.diagnostics.borrow_mut().truncate(said);
            }
        }
        Ok(())
    }

    /// Gives a column the value that its default, an expression, has for the row as it is now.
    fn compute_default(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        column: usize,
    ) -> SqlResult<()> {
        let computed = self.target.schema.computed()?;
        let v = computed.default_value(column, row.values(), env)?;
        self.assign(env, row, column, v)
    }

    /// Gives the columns that the statement does not name their defaults.
    pub fn complete(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        columns: &[usize],
    ) -> SqlResult<()> {
        for (n, &c) in columns.iter().enumerate() {
            if self.auto.as_ref().is_some_and(|a| a.column == c) {
                self.set_number(env, row, c, Value::Null)?;
            } else if let DefaultValue::Expr(_) = self.target.schema.columns[c].default {
                row.pending.push(c);
            } else if !self.hooks.before.is_empty() && self.has_none(c) {
                row.put(c, Value::Null);
                row.unsaid.push(c);
            } else {
                self.set_default(env, row, c)
                    .inspect_err(|e| self.tell_missing(env, e, &columns[n + 1..]))?;
            }
        }
        Ok(())
    }

    /// Gives a column what it has where a row of a file ends before its field, with warning or error 1261: as in MySQL not its default, unless that
    /// is NULL and the row is not one of `fixed` width, but the type's zero, and the time in a TIMESTAMP.
    pub fn set_missing(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        column: usize,
        fixed: bool,
    ) -> SqlResult<()> {
        let cx = self.conversion(env);
        let m = format!("Row {} doesn't contain data for all columns", self.row);
        cx.raise(1261, m)?;
        let definition = &self.target.schema.columns[column];
        let none = matches!(definition.default, DefaultValue::Null | DefaultValue::None);
        if definition.auto_increment || definition.nullable && none && !fixed {
            return self.set(env, row, column, Value::Null);
        }
        self.set_zero(env, row, column)
    }

    /// Gives a column its type's zero: the time in a TIMESTAMP that can't be NULL, no member in an ENUM.
    fn set_zero(&self, env: &SessionEnv, row: &mut NewRow<'_>, column: usize) -> SqlResult<()> {
        let definition = &self.target.schema.columns[column];
        let zero = match definition.ty.base {
            BaseType::Timestamp if !definition.nullable => {
                let now = Value::DateTime(env.local_now_fsp(definition.ty.decimals));
                value::store(now, definition, &self.conversion(env))?
            }
            BaseType::Enum => Value::str(""),
            _ if definition.ty.is_geometry() => return Err(value::no_geometry()),
            _ => value::implicit_zero(&definition.ty),
        };
        row.put(column, zero);
        Ok(())
    }

    /// Gives a column the NULL of a file. Where it can't be there is the type's zero, with warning or error 1263, and the time in a TIMESTAMP.
    pub fn set_loaded_null(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        column: usize,
    ) -> SqlResult<()> {
        let definition = &self.target.schema.columns[column];
        let numbered = self.auto.as_ref().is_some_and(|a| a.column == column);
        if definition.nullable || numbered || !self.hooks.before.is_empty() {
            return self.set(env, row, column, Value::Null);
        }
        if definition.ty.base != BaseType::Timestamp {
            let m = format!(
                "Column set to default value; NULL supplied to NOT NULL column '{}' at row {}",
                definition.name, self.row
            );
            self.conversion(env).raise(1263, m)?;
        }
        self.set_zero(env, row, column)
    }

    /// Begins the next image of a row: its values as they are.
    pub fn begin_update<'v>(&self, image: &'v [u8], row: &mut NewRow<'v>)
    where
        'w: 'v,
    {
        let computed = self.reads_computed || !self.hooks.before.is_empty();
        row.decode(self.target.schema, image, self.tz, computed);
    }

    /// Gives a column of a row to be changed its value.
    pub fn assign<'v>(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'v>,
        column: usize,
        v: Value<'v>,
    ) -> SqlResult<()> {
        let definition = &self.target.schema.columns[column];
        if v.is_null() && !definition.nullable {
            // A trigger may still give it another value.
            if !self.hooks.before.is_empty() {
                row.put(column, v);
                return Ok(());
            }
            if self.policy.refuse_nulls {
                return Err(value::null_refused(definition));
            }
        }
        let stored = value::store(v, definition, &self.conversion(env));
        row.put(column, stored.map_err(|e| self.of_table(e))?);
        Ok(())
    }

    /// An error about the text of a document says which table's column it was for.
    #[cold]
    fn of_table(&self, e: SqlError) -> SqlError {
        const INVALID_JSON: u16 = 3140;
        if e.code != INVALID_JSON {
            return e;
        }
        let name = self.target.name;
        let table = name.rsplit_once('.').map_or(name, |(_, table)| table);
        let column = "for column '";
        let m = e.message.replacen(column, &format!("{column}{table}."), 1);
        SqlError::new(e.code, m)
    }

    /// Gives a column of a row to be changed its default.
    pub fn assign_default(
        &self,
        env: &SessionEnv,
        row: &mut NewRow<'_>,
        column: usize,
    ) -> SqlResult<()> {
        let definition = &self.target.schema.columns[column];
        if definition.generated.is_some() {
            return Ok(());
        }
        if let DefaultValue::Expr(_) = definition.default {
            return self.compute_default(env, row, column);
        }
        let v = value::default_value(definition, &self.conversion(env))?;
        row.put(column, v);
        Ok(())
    }

    /// Gives a row the values that follow from those it has, as they are when it is written: for who looks at it before.
    pub fn preview(&self, env: &SessionEnv, row: &mut NewRow<'_>) -> SqlResult<()> {
        self.settle(env, row)?;
        self.generate(env, row, 0..self.target.schema.columns.len(), &[])
    }

    /// Whether a row to be changed is to be another. It has the values then that follow from those it is given.
    pub fn differs(&self, env: &SessionEnv, image: &[u8], row: &mut NewRow<'_>) -> SqlResult<bool> {
        self.preview(env, row)?;
        let mut new = Vec::new();
        self.encode(row, &mut new)?;
        Ok(new != image)
    }

    /// Writes a row's image as it would be if it were stored now.
    pub fn encode(&self, row: &NewRow<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        out.clear();
        encode_row(self.target.schema, row.values(), self.tz, out)
    }
}
