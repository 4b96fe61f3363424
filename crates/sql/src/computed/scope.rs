//! Names in a definition's expressions: the table's columns, and nothing else.

use super::{Definition, Role};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::expr::{Expr, Scope, SubqueryKind};
use crate::parse::ast;
use crate::types::{Collation, Column, Encoding, Visibility};
use crate::value::Date;

/// The columns of a table whose definition is read.
pub(super) struct Columns<'a> {
    pub definition: Definition<'a>,
    pub role: Role<'a>,
}

/// Position of a column by name.
pub(super) fn find(columns: &[Column], name: &str) -> Option<usize> {
    let named =
        |c: &Column| c.name.eq_ignore_ascii_case(name) && c.visibility != Visibility::Hidden;
    columns.iter().position(named)
}

impl Scope for Columns<'_> {
    fn session(&self) -> &SessionEnv {
        self.definition.env
    }
    /// A definition's text is nobody's but UTF-8's.
    fn client(&self) -> Encoding {
        Encoding::Utf8
    }
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr> {
        let Definition {
            table,
            columns,
            gone,
            ..
        } = self.definition;
        if gone.iter().any(|gone| gone.eq_ignore_ascii_case(name)) {
            return Err(self.role.gone(name, table));
        }
        let found = find(columns, name).filter(|_| qualifier.is_empty());
        let at = found.ok_or_else(|| self.role.unknown(name))?;
        let c = &columns[at];
        Ok(Expr::column(0, at, c.ty.clone(), c.nullable, &c.name))
    }
    fn param(&mut self, _: u32) -> SqlResult<usize> {
        Err(self.role.disallowed())
    }
    fn subquery(&mut self, _: &ast::Query, _: SubqueryKind) -> SqlResult<Expr> {
        Err(self.role.disallowed())
    }
    fn inserted_value(&mut self, _: &str) -> SqlResult<Expr> {
        Err(self.role.disallowed_function("values"))
    }
    fn default_of(&mut self, _: &str) -> SqlResult<Expr> {
        Err(self.role.disallowed_function("default"))
    }
    /// Always the same one: a definition means the same whoever binds it first.
    fn collation(&self) -> Collation {
        Collation::DEFAULT
    }
    fn takes_date(&self, _: Date) -> bool {
        true
    }
    fn writes_strictly(&self) -> bool {
        self.definition.env.sql_mode.get().strict
    }
    fn clause(&self) -> &'static str {
        self.role.clause()
    }
}
