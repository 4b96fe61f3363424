//! What a query returns.

use std::sync::Arc;

use millpond_session::value::Value;

use crate::convert::FromValue;
use crate::error::{Error, Result};

/// The rows of a result set, all of them.
#[derive(Clone, Debug)]
pub struct Rows {
    pub(crate) columns: Arc<[String]>,
    pub(crate) rows: Vec<Row>,
}

impl Rows {
    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// One row by position.
    pub fn get(&self, row: usize) -> Option<&Row> {
        self.rows.get(row)
    }
    /// The rows in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Row> {
        self.rows.iter()
    }
}

impl IntoIterator for Rows {
    type Item = Row;
    type IntoIter = std::vec::IntoIter<Row>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = &'a Row;
    type IntoIter = std::slice::Iter<'a, Row>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    pub(crate) columns: Arc<[String]>,
    pub(crate) values: Vec<Value<'static>>,
}

/// How a column is named: by position from 0, or by name without regard to case.
pub trait RowIndex {
    /// Its position in a row with these columns.
    fn position(&self, columns: &[String]) -> Option<usize>;
    /// For messages.
    fn describe(&self) -> String;
}

impl RowIndex for usize {
    fn position(&self, columns: &[String]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }
    fn describe(&self) -> String {
        self.to_string()
    }
}

impl RowIndex for &str {
    fn position(&self, columns: &[String]) -> Option<usize> {
        columns.iter().position(|c| c.eq_ignore_ascii_case(self))
    }
    fn describe(&self) -> String {
        format!("'{self}'")
    }
}

impl Row {
    /// A column's value as a Rust type; see [`FromValue`].
    pub fn get<T: FromValue>(&self, column: impl RowIndex) -> Result<T> {
        let at = column
            .position(&self.columns)
            .ok_or_else(|| Error::NoSuchColumn(column.describe()))?;
        let value = &self.values[at];
        T::from_value(value).ok_or_else(|| Error::WrongType {
            column: self.columns[at].clone(),
            wanted: std::any::type_name::<T>(),
            value: if value.is_null() {
                "NULL".into()
            } else {
                String::from_utf8_lossy(&value.to_text()).into_owned()
            },
        })
    }
    /// A column's value as it is; `None` if there is no such column.
    pub fn value(&self, column: impl RowIndex) -> Option<&Value<'static>> {
        column.position(&self.columns).map(|at| &self.values[at])
    }
    /// All values, in order.
    pub fn values(&self) -> &[Value<'static>] {
        &self.values
    }
    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
}
