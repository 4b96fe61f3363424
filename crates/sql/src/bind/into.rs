//! INTO: where it may stand, and the variables or the file it names.

use std::borrow::Cow;

use super::scope::Binder;
use crate::env::{Locals, SessionEnv};
use crate::error::{SqlError, SqlResult};
use crate::files::{self, Format};
use crate::logical::IntoFile;
use crate::parse::ast::{self, Into, IntoTarget, QueryBody};
use crate::plan::IntoVariable;
use crate::types::Encoding;

/// The INTO of a statement that is this query: at its end, or in its last SELECT.
pub fn of(q: &ast::Query) -> Option<&Into> {
    q.into_clause().or_else(|| of_body(&q.body))
}

fn of_body(body: &QueryBody) -> Option<&Into> {
    match body {
        QueryBody::Select(s) => s.into_clause(),
        QueryBody::Parens(q) => of(q),
        QueryBody::Set(s) => of_body(&s.rest.last_tree()?.body),
        QueryBody::Values(_) | QueryBody::Table(_) | QueryBody::Held(_) => None,
    }
}

/// Error 1222 unless there is a variable for each column.
pub fn check(into: &Into, columns: usize, locals: Option<&Locals>) -> SqlResult<()> {
    match variables(into, locals)?.len() {
        n if n == columns => Ok(()),
        _ => Err(SqlError::new(
            1222,
            "The used SELECT statements have a different number of columns",
        )),
    }
}

/// The variables that a statement that is this query gives its row to.
pub(crate) fn into_variables(
    q: &ast::Query,
    locals: Option<&Locals>,
) -> SqlResult<Vec<IntoVariable>> {
    of(q).map_or(Ok(Vec::new()), |into| variables(into, locals))
}

/// The variables that an INTO names.
fn variables(into: &Into, locals: Option<&Locals>) -> SqlResult<Vec<IntoVariable>> {
    let Into::Variables(list) = into else {
        return Ok(Vec::new());
    };
    let name = |target: Cow<'_, IntoTarget>| match &*target {
        IntoTarget::User(name) => Ok(IntoVariable::User(name.to_lowercase())),
        IntoTarget::Local(name) => {
            if let Some(local) = locals.and_then(|l| l.named(name.as_str())) {
                return Ok(IntoVariable::Local(local.slot));
            }
            let m = format!("Undeclared variable: {}", name.as_str());
            Err(SqlError::new(1327, m))
        }
    };
    list.iter().map(name).collect()
}

/// The file that a statement which is this query writes its rows to. Errors 1083, 1115.
pub(crate) fn into_file(q: &ast::Query, env: &SessionEnv) -> SqlResult<Option<Box<IntoFile>>> {
    let (name, rows) = match of(q) {
        None | Some(Into::Variables(_)) => return Ok(None),
        Some(Into::Dumpfile(name)) => (name, None),
        Some(Into::Outfile(file)) => {
            let encoding = match &file.charset {
                Some(charset) => files::encoding(charset.as_str())?,
                None => Encoding::Utf8,
            };
            let format = Format::of(&file.format, env)?;
            (&file.path, Some((format, encoding)))
        }
    };
    Ok(Some(Box::new(IntoFile {
        name: name.to_string(),
        rows,
        columns: Default::default(),
    })))
}

impl Binder<'_, '_> {
    /// Error 3954 for an INTO that is not the statement's.
    pub fn allow_into(&self, into: Option<&Into>) -> SqlResult<()> {
        match (into, self.into) {
            (None, _) => Ok(()),
            (Some(a), Some(b)) if std::ptr::eq(a, b) => Ok(()),
            _ => Err(SqlError::new(
                3954,
                "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.",
            )),
        }
    }
}
