//! From what a statement says to the text that a definition keeps.
//!
//! A text is made twice: when its clause is read ([`read`]), which knows the statement's `sql_mode` and character set, and again when all
//! columns of the table are known ([`Definition::text`]), which may be defined behind it. Then it is bound, too, and what may not
//! stand in it is refused.

use millpond_syntax::print::{definition, definition_of_client};

use super::Role;
use super::scope::{Columns, find};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::expr::{Expr, ExprKind, Func};
use crate::parse::{ast, with_expression};
use crate::types::{Collation, Column, DefaultValue, SqlType};

/// The text of an expression in a definition of `table`, as far as it is known without the columns.
pub fn read(e: &ast::Expr, role: Role<'_>, table: &str, env: &SessionEnv) -> SqlResult<String> {
    let mut foreign = None;
    // A text is Unicode here already, whatever character set it was sent in.
    let charset = match env.collation.get() {
        Collation::Binary => "binary",
        _ => "utf8mb4",
    };
    let client = env.client.get();
    let sent = |text: &str| {
        let differs = !client.is_utf8() && !text.is_ascii();
        differs.then(|| client.encoded(text.as_bytes()).into_owned())
    };
    let text = definition_of_client(e, charset, &sent, &mut |qualifier, name| {
        if qualifier.last().is_some_and(|q| q != table) && foreign.is_none() {
            foreign = Some(role.unknown(&format!("{}.{name}", qualifier.join("."))));
        }
        name.to_string()
    });
    match foreign {
        Some(e) => Err(e),
        None => Ok(text),
    }
}

/// A definition whose expressions are checked.
#[derive(Clone, Copy)]
pub struct Definition<'d> {
    /// The table's name.
    pub table: &'d str,
    /// All columns of the table.
    pub columns: &'d [Column],
    /// Names of columns that it had and that are dropped, or named otherwise.
    pub gone: &'d [String],
    /// Who defines it.
    pub env: &'d SessionEnv,
}

impl Definition<'_> {
    /// The text that is kept of one that [`read`] gave. Errors if it may not stand there. `at`: the column that it is for.
    pub fn text(&self, text: &str, role: Role<'_>, at: Option<usize>) -> SqlResult<String> {
        with_expression(text, |e| {
            let bound = self.bind(e, role)?;
            self.check(&bound, role, at)?;
            let own = |name: &str| find(self.columns, name).map(|c| self.columns[c].name.clone());
            let mut column = |_: &[String], name: &str| own(name).unwrap_or_default();
            Ok(definition(e, "", &mut column))
        })
    }

    /// The type of an expression whose text [`read`] gave. Errors if it may not stand there.
    pub fn type_of(&self, text: &str, role: Role<'_>) -> SqlResult<SqlType> {
        with_expression(text, |e| {
            let bound = self.bind(e, role)?;
            self.check(&bound, role, None)?;
            Ok(bound.ty)
        })
    }

    /// An expression over the columns.
    pub(super) fn bind(&self, e: &ast::Expr, role: Role<'_>) -> SqlResult<Expr> {
        let mut scope = Columns {
            definition: *self,
            role,
        };
        crate::expr::bind(e, &mut scope)
    }

    fn check(&self, e: &Expr, role: Role<'_>, at: Option<usize>) -> SqlResult<()> {
        let mut result = Ok(());
        e.walk(&mut |e| {
            if result.is_ok() {
                result = allowed(e, role);
            }
            if let ExprKind::Column { column, .. } = e.kind
                && result.is_ok()
            {
                result = self.may_read(column, role, at);
            }
        });
        result
    }

    /// Whether the expression may read a column.
    fn may_read(&self, column: usize, role: Role<'_>, at: Option<usize>) -> SqlResult<()> {
        let read = &self.columns[column];
        if read.auto_increment {
            return Err(role.auto_increment());
        }
        let given = matches!(read.default, DefaultValue::Expr(_));
        let later = read.generated.is_some() || given && matches!(role, Role::Default(_));
        match role {
            Role::Default(_) | Role::Generated(_) if later && at.is_none_or(|at| column >= at) => {
                Err(role.too_early())
            }
            Role::Default(_) | Role::Check(_) | Role::Generated(_) | Role::Index(_) => Ok(()),
        }
    }
}

/// The columns, by name, that the text of a definition reads.
pub fn columns_read(text: &str) -> SqlResult<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    with_expression(text, |e| {
        definition(e, "", &mut |_, name| {
            names.push(name.to_string());
            String::new()
        });
        Ok(())
    })?;
    Ok(names)
}

/// Functions that tell one call from another, and may stand in a default for that.
const FRESH: [&str; 5] = ["RAND", "RANDOM_BYTES", "SYSDATE", "UUID", "UUID_SHORT"];

/// Whether a function of so many arguments tells of the session or the moment: what is without arguments and no constant does, and
/// clocks, which take a precision, and what follows from the session's time zone.
fn is_of_moment(f: Func, arguments: usize) -> bool {
    const CLOCKS: [&str; 5] = [
        "NOW",
        "CURTIME",
        "UTC_TIME",
        "UTC_TIMESTAMP",
        "UNIX_TIMESTAMP",
    ];
    arguments == 0 && !f.is_pure() || CLOCKS.contains(&f.name())
}

/// Whether a node may stand there at all.
fn allowed(e: &Expr, role: Role<'_>) -> SqlResult<()> {
    match &e.kind {
        ExprKind::UserVariable(_)
        | ExprKind::SetUserVariable(..)
        | ExprKind::SystemVariable(..) => Err(role.variable()),
        ExprKind::SeededRand(..) if !matches!(role, Role::Default(_)) => {
            Err(role.disallowed_function("rand"))
        }
        ExprKind::Function(f, args) => {
            let refused = match role {
                Role::Default(_) => f.is_volatile() && !FRESH.contains(&f.name()),
                Role::Check(_) | Role::Generated(_) | Role::Index(_) => {
                    f.is_volatile() || is_of_moment(*f, args.len())
                }
            };
            match refused {
                true => Err(role.disallowed_function(f.name())),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
