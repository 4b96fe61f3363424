//! What statements that write or read files have to know of them.

use std::sync::Arc;

use super::Assignments;
use crate::files::Format;
use crate::result::ColumnMeta;
use crate::types::Encoding;

/// SELECT ... INTO OUTFILE, DUMPFILE.
#[derive(Debug)]
pub struct IntoFile {
    /// The file's name.
    pub name: String,
    /// How rows stand in it; `None`: one row's values, as they are (DUMPFILE).
    pub rows: Option<(Format, Encoding)>,
    /// The query's columns.
    pub columns: Arc<[ColumnMeta]>,
}

/// LOAD DATA. `E` is an expression of SET.
#[derive(Debug)]
pub struct LoadFile<E> {
    /// The file's name.
    pub name: String,
    /// LOCAL: the client sends it.
    pub local: bool,
    /// How rows stand in it.
    pub format: Format,
    /// CHARACTER SET; `None`: the database's.
    pub charset: Option<String>,
    /// IGNORE n LINES.
    pub skip: u64,
    /// What the fields of a row go to.
    pub targets: Vec<LoadTarget>,
    /// SET.
    pub set: Assignments<E>,
}

/// What a field goes to.
#[derive(Debug)]
pub enum LoadTarget {
    /// A column.
    Column(usize),
    /// A user variable, by its name in lower case.
    Variable(String),
}

impl LoadTarget {
    /// The column, if it is one.
    pub fn column(&self) -> Option<usize> {
        match self {
            LoadTarget::Column(c) => Some(*c),
            LoadTarget::Variable(_) => None,
        }
    }
}
