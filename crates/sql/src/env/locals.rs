//! Local variables of stored programs: what their names mean where a statement of a program stands.
//!
//! A program's variables, parameters among them, have their values in slots of the program's frame; a statement of it is run with the frame in
//! the place of placeholders' values. What a name means depends on the block where the statement stands, so each block has its own
//! [`Locals`]; the type is part of plans, the value never.

use crate::types::SqlType;

/// A variable in sight.
#[derive(Clone, Debug)]
pub struct Local {
    /// `new` or `old` for a column of a trigger's rows.
    pub row: Option<&'static str>,
    /// Its name.
    pub name: String,
    /// Where in the frame its value is.
    pub slot: usize,
    /// Its type; `None` for that of its value, as a placeholder's is.
    pub ty: Option<SqlType>,
}

/// The variables in sight of a statement.
#[derive(Clone, Debug, Default)]
pub struct Locals(Vec<Local>);

impl Locals {
    /// Adds a variable, which hides those of its name.
    pub fn push(&mut self, local: Local) {
        self.0.push(local);
    }
    /// The variable of a name that stands alone.
    pub fn named(&self, name: &str) -> Option<&Local> {
        let named = |l: &&Local| l.row.is_none() && l.name.eq_ignore_ascii_case(name);
        self.0.iter().rev().find(named)
    }
    /// A column of NEW or OLD.
    pub fn of_row(&self, row: &str, name: &str) -> Option<&Local> {
        let named = |l: &&Local| {
            l.row.is_some_and(|r| r.eq_ignore_ascii_case(row)) && l.name.eq_ignore_ascii_case(name)
        };
        self.0.iter().find(named)
    }
    /// What a qualified or unqualified name means.
    pub fn find(&self, qualifier: &[&str], name: &str) -> Option<&Local> {
        match qualifier {
            [] => self.named(name),
            [row] => self.of_row(row, name),
            _ => None,
        }
    }
}
