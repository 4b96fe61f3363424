//! Trees to text: MySQL's language in one canonical form that parses back to the same tree, in the default `sql_mode`.
//!
//! Names are in backticks, keywords in capitals; parentheses stand where precedences need them and nowhere else.
//! SHOW CREATE VIEW's form is another: [`View`]; that of expressions in tables' definitions is made of it: [`definition()`].
//! Definitions print themselves where they are declared; here is what reads and writes rows.

mod definition;
mod dml;
mod expr;
mod from;
mod function;
mod name;
mod query;
mod statement;
mod view;

pub use definition::{definition, definition_of_client};
pub use view::View;
