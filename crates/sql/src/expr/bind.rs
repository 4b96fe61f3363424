//! From sqlparser's expressions to bound ones: names, types, coercions, constants.

use sqlparser::ast;

use super::{AggregateSpec, CompareOp, Expr};
use crate::error::{SqlError, SqlResult};
use crate::session::env::SessionEnv;
use crate::types::Collation;

/// What a subquery in an expression is asked.
#[derive(Debug)]
pub enum SubqueryKind {
    /// One column, at most one row.
    Scalar,
    /// `[NOT] EXISTS`.
    Exists {
        /// NOT.
        negated: bool,
    },
    /// `value [NOT] IN (subquery)`.
    In {
        /// The left side.
        value: Expr,
        /// NOT.
        negated: bool,
    },
    /// `value op ANY|ALL (subquery)`.
    Quantified {
        /// The left side.
        value: Expr,
        /// Operator.
        op: CompareOp,
        /// ALL rather than ANY.
        all: bool,
    },
}

/// What names mean where an expression stands.
pub trait Scope {
    /// The session (functions such as DATABASE() and the collation of literals ask it at bind time only for sql_mode).
    fn session(&self) -> &SessionEnv;
    /// Resolves a column: `qualifier` is empty, `[table]` or `[database, table]`. Errors 1054 (see [`unknown_column`]) and 1052.
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr>;
    /// Position of a `?` placeholder; `text` and `span` are sqlparser's (`?` alone, or `?3` if the parser numbered them).
    fn param(&mut self, text: &str, span: sqlparser::tokenizer::Span) -> SqlResult<usize>;
    /// Takes an aggregate (its arguments bound in this scope) and gives the expression that stands for its result.
    fn aggregate(&mut self, _spec: AggregateSpec) -> SqlResult<Expr> {
        Err(SqlError::new(1111, "Invalid use of group function"))
    }
    /// Plans a subquery; gives the expression that stands for it.
    fn subquery(&mut self, _query: &ast::Query, _kind: SubqueryKind) -> SqlResult<Expr> {
        Err(SqlError::unsupported("subquery here"))
    }
    /// `VALUES(column)` of INSERT ... ON DUPLICATE KEY UPDATE.
    fn inserted_value(&mut self, _column: &str) -> SqlResult<Expr> {
        Err(SqlError::unsupported(
            "VALUES() outside of ON DUPLICATE KEY UPDATE",
        ))
    }
    /// `DEFAULT(column)`.
    fn default_of(&mut self, _column: &str) -> SqlResult<Expr> {
        Err(SqlError::unsupported("DEFAULT() here"))
    }
    /// Which clause this is, for error 1054: `field list`, `where clause`, `order clause`, `group statement`, `having clause`, `on clause`.
    fn clause(&self) -> &'static str;
    /// Collation of literals (`collation_connection`).
    fn collation(&self) -> Collation {
        Collation::Utf8mb4GeneralCi
    }
}

/// Error 1054 for a column name as written.
pub fn unknown_column(qualifier: &[&str], name: &str, clause: &str) -> SqlError {
    let mut full = String::new();
    for q in qualifier {
        full.push_str(q);
        full.push('.');
    }
    full.push_str(name);
    SqlError::new(1054, format!("Unknown column '{full}' in '{clause}'"))
}

/// Binds an expression: resolves names, derives types, folds constants.
pub fn bind(_expr: &ast::Expr, _scope: &mut dyn Scope) -> SqlResult<Expr> {
    todo!()
}
