//! CHECK constraints: as statements ask for them, and as definitions have them.
//!
//! No two tables of a database have constraints of the same name: the catalog's index of constraints tells
//! ([`millpond_store::Constraint`]). Temporary tables are not in it.

use super::names;
use crate::computed::{self, Definition, Role};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{self, AlterAction, ColumnAttribute, ColumnDef, TableElement};
use crate::types::{Check, CheckName, Schema};

/// A CHECK constraint as a statement asks for it, or as the table has it already.
#[derive(Clone, Debug)]
pub(super) struct CheckSpec {
    /// The table has it already.
    existing: bool,
    /// Its name, if it has one yet.
    name: Option<CheckName>,
    condition: String,
    /// Whether the condition is one by its form.
    is_condition: bool,
    enforced: bool,
    /// The column that it stands with and may read alone.
    of_column: Option<String>,
}

/// The name of a constraint that will be named later, for messages about what it reads.
const UNNAMED: &str = "";

/// Error 3821.
fn not_found(name: &str) -> SqlError {
    SqlError::new(
        3821,
        format!("Check constraint '{name}' is not found in the table."),
    )
}

fn read(
    check: &ast::Check,
    of_column: Option<&str>,
    table: &str,
    env: &SessionEnv,
) -> SqlResult<CheckSpec> {
    if check.if_not_exists {
        return Err(SqlError::unsupported("IF NOT EXISTS of a CHECK"));
    }
    let given = check.constraint.as_ref().and_then(|c| c.name.as_ref());
    let given = given.map(ast::Ident::as_str);
    if let Some(name) = given {
        names::constraint(name)?;
    }
    let role = Role::Check(given.unwrap_or(UNNAMED));
    Ok(CheckSpec {
        existing: false,
        name: given.map(|name| CheckName::given(name, table)),
        condition: computed::read(&check.condition, role, table, env)?,
        is_condition: crate::expr::is_condition(&check.condition),
        enforced: check.enforced.unwrap_or(true),
        of_column: of_column.map(str::to_string),
    })
}

/// The constraints that a column's definition has.
pub(super) fn of_column(
    def: &ColumnDef,
    table: &str,
    env: &SessionEnv,
) -> SqlResult<Vec<CheckSpec>> {
    let mut list = Vec::new();
    for attribute in &def.attributes {
        if let ColumnAttribute::Check(check) = &*attribute {
            list.push(read(check, Some(def.name.as_str()), table, env)?);
        }
    }
    Ok(list)
}

/// A constraint of the table.
pub(super) fn of_table(check: &ast::Check, table: &str, env: &SessionEnv) -> SqlResult<CheckSpec> {
    read(check, None, table, env)
}

/// All that stand in a list, in the order in which they are written.
pub(super) fn among(
    list: &[TableElement],
    table: &str,
    env: &SessionEnv,
) -> SqlResult<Vec<CheckSpec>> {
    let mut checks = Vec::new();
    for element in list {
        match element {
            TableElement::Column(def) => checks.extend(of_column(def, table, env)?),
            TableElement::Check(check) => checks.push(of_table(check, table, env)?),
            TableElement::Key(_) | TableElement::ForeignKey(_) => {}
        }
    }
    Ok(checks)
}

/// Whether ALTER TABLE adds some.
pub(super) fn adds_any(actions: &[&AlterAction]) -> bool {
    let stands_with = |def: &ColumnDef| {
        let mut attributes = def.attributes.iter();
        attributes.any(|a| matches!(&*a, ColumnAttribute::Check(_)))
    };
    let is_one = |element: &TableElement| match element {
        TableElement::Column(def) => stands_with(def),
        TableElement::Check(_) => true,
        TableElement::Key(_) | TableElement::ForeignKey(_) => false,
    };
    actions.iter().any(|action| match action {
        AlterAction::AddCheck(_) => true,
        AlterAction::AddElements(list) => list.all().iter().any(is_one),
        AlterAction::AddColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
            stands_with(column)
        }
        _ => false,
    })
}

/// Those that a table has.
pub(super) fn existing(schema: &Schema) -> Vec<CheckSpec> {
    let spec = |check: &Check| CheckSpec {
        existing: true,
        name: Some(check.name.clone()),
        condition: check.condition.clone(),
        is_condition: true,
        enforced: check.enforced,
        of_column: None,
    };
    schema.checks.iter().map(spec).collect()
}

/// Position of the constraint of a name; error 3821 if there's none.
pub(super) fn position(list: &[CheckSpec], name: &str, table: &str) -> SqlResult<usize> {
    let lower = name.to_lowercase();
    let named = |c: &CheckSpec| {
        let own = c.name.as_ref().map(|n| n.of(table).to_lowercase());
        own.as_ref() == Some(&lower)
    };
    list.iter().position(named).ok_or_else(|| not_found(name))
}

/// ALTER CHECK ... [NOT] ENFORCED.
pub(super) fn enforce(
    list: &mut [CheckSpec],
    name: &str,
    enforced: bool,
    table: &str,
) -> SqlResult<()> {
    let at = position(list, name, table)?;
    list[at].enforced = enforced;
    Ok(())
}

/// Drops the constraints that read a column and no other, with which they go.
pub(super) fn drop_of_column(list: &mut Vec<CheckSpec>, column: &str) -> SqlResult<()> {
    let mut kept = Vec::with_capacity(list.len());
    for check in list.drain(..) {
        let read = computed::columns_read(&check.condition)?;
        let of_it = |name: &String| name.eq_ignore_ascii_case(column);
        if read.is_empty() || !read.iter().all(of_it) {
            kept.push(check);
        }
    }
    *list = kept;
    Ok(())
}

/// Names what has no name, counting on from what the table has; checks all, and gives the conditions the form that they are kept in. Errors 3812, 3813, 3822, and those of
/// [`Definition::text`].
pub(super) fn settle(list: Vec<CheckSpec>, definition: &Definition<'_>) -> SqlResult<Vec<Check>> {
    let table = definition.table;
    let numbered = list.iter().filter(|c| c.existing);
    let numbers = numbered.filter_map(|c| match c.name {
        Some(CheckName::Numbered(n)) => Some(n),
        _ => None,
    });
    let mut number = numbers.max().unwrap_or(0);
    let mut checks: Vec<Check> = Vec::with_capacity(list.len());
    let mut taken: Vec<String> = Vec::with_capacity(list.len());
    for spec in list {
        let name = spec.name.clone().unwrap_or_else(|| {
            number += 1;
            CheckName::Numbered(number)
        });
        let shown = name.of(table);
        if taken.contains(&shown.to_lowercase()) {
            return Err(SqlError::new(
                3822,
                format!("Duplicate check constraint name '{shown}'."),
            ));
        }
        taken.push(shown.to_lowercase());
        let condition = spec.settled(&shown, definition)?;
        checks.push(Check {
            name,
            condition,
            enforced: spec.enforced,
        });
    }
    Ok(checks)
}

impl CheckSpec {
    fn settled(&self, name: &str, definition: &Definition<'_>) -> SqlResult<String> {
        if !self.is_condition {
            return Err(SqlError::new(
                3812,
                format!(
                    "An expression of non-boolean type specified to a check constraint '{name}'."
                ),
            ));
        }
        let condition = definition.text(&self.condition, Role::Check(name), None)?;
        if let Some(column) = &self.of_column {
            let read = computed::columns_read(&condition)?;
            if read.iter().any(|c| !c.eq_ignore_ascii_case(column)) {
                return Err(SqlError::new(
                    3813,
                    format!("Column check constraint '{name}' references other column."),
                ));
            }
        }
        Ok(condition)
    }
}

/// The constraints of a copy of a table: named anew, in the order of their names.
pub(super) fn copied(schema: &Schema, table: &str) -> Vec<Check> {
    let mut number = 0;
    let renamed = schema.checks_by_name(table).into_iter().map(|(_, check)| {
        number += 1;
        Check {
            name: CheckName::Numbered(number),
            ..check.clone()
        }
    });
    renamed.collect()
}
