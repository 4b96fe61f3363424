//! `MATCH (columns) AGAINST (text mode)`.
//!
//! What is looked for is made ready once a statement ([`Scope::search`]: a subquery of one value); then MATCH is a function of that and the columns.

use super::{Scope, bind};
use crate::error::{SqlError, SqlResult};
use crate::expr::{Expr, ExprKind, Func};
use crate::fulltext::Mode;
use crate::parse::ast;
use crate::types::SqlType;

pub(super) fn matching(
    columns: &ast::Items<ast::Expr>,
    against: &ast::Expr,
    mode: ast::MatchMode,
    scope: &mut dyn Scope,
) -> SqlResult<Expr> {
    let mut args = Vec::new();
    for column in columns.iter() {
        args.push(bind(&column, scope)?);
    }
    let text = bind(against, scope)?;
    let mut constant = !text.has_subquery();
    text.columns(&mut |_, _| constant = false);
    if !constant {
        return Err(SqlError::new(1210, "Incorrect arguments to AGAINST"));
    }
    let mode = match mode {
        ast::MatchMode::Boolean => Mode::Boolean,
        ast::MatchMode::Expansion => Mode::Expansion,
        ast::MatchMode::Natural | ast::MatchMode::Unsaid => Mode::Natural,
    };
    let search = scope.search(&args, text, mode)?;
    args.insert(0, search);
    let kind = ExprKind::Function(Func::FulltextRank, args);
    Ok(Expr::new(kind, SqlType::double(), false))
}
