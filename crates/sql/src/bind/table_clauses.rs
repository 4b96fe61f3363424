//! What FROM says of a table behind its name: its partitions, index hints, how FOR UPDATE and FOR SHARE lock it.

use super::from::names_of;
use crate::error::{SqlError, SqlResult};
use crate::logical::{Hints, Table, TableKind};
use crate::parse::ast;
use crate::types::Schema;
use millpond_store::{LockMode, WaitPolicy};
use std::sync::Arc;

/// The positions that a PARTITION clause names: errors 1735 and 1747.
pub fn partitions_of(
    schema: &Schema,
    names: &ast::Items<ast::Ident>,
    table: &str,
) -> SqlResult<Option<Arc<[usize]>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let Some(p) = &schema.partitioning else {
        return Err(not_partitioned());
    };
    let names = names_of(names);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok(Some(p.selected(&names, table)?.into()))
}

/// Notes a PARTITION clause at a table.
pub fn select_partitions(
    kind: &mut TableKind,
    names: &ast::Items<ast::Ident>,
    table: &str,
) -> SqlResult<()> {
    match kind {
        TableKind::Stored {
            schema, partitions, ..
        } => *partitions = partitions_of(schema, names, table)?,
        _ if !names.is_empty() => return Err(not_partitioned()),
        _ => {}
    }
    Ok(())
}

fn not_partitioned() -> SqlError {
    SqlError::new(1747, "PARTITION () clause on non partitioned table")
}

/// Error 3568 if FOR UPDATE OF and the like name what is not there, 3569 if two of them are about one table.
pub fn check_locks(locks: &ast::Items<ast::Lock>, tables: &[Table]) -> SqlResult<()> {
    for lock in locks {
        for of in &lock.tables {
            let name = of.name.as_str();
            if !tables.iter().any(|t| t.name == name) {
                return Err(SqlError::new(
                    3568,
                    format!("Unresolved table name `{name}` in locking clause."),
                ));
            }
        }
    }
    let several = |t: &&Table| {
        locks
            .iter()
            .filter(|l| is_about(l, &t.name))
            .nth(1)
            .is_some()
    };
    if let Some(table) = tables.iter().find(several) {
        return Err(SqlError::new(
            3569,
            format!(
                "Table `{}` appears in multiple locking clauses.",
                table.name
            ),
        ));
    }
    Ok(())
}

/// Whether a locking clause is about a table.
fn is_about(lock: &ast::Lock, table: &str) -> bool {
    lock.tables.is_empty() || lock.tables.iter().any(|of| of.name.as_str() == table)
}

/// How FOR UPDATE and FOR SHARE lock a table.
pub fn lock_of(locks: &ast::Items<ast::Lock>, name: &str) -> Option<(LockMode, WaitPolicy)> {
    let lock = locks.iter().find(|l| is_about(l, name))?;
    let mode = match lock.strength {
        ast::LockStrength::Share => LockMode::Shared,
        ast::LockStrength::Update => LockMode::Exclusive,
    };
    let wait = match lock.wait {
        ast::LockWait::Wait => WaitPolicy::Wait,
        ast::LockWait::Nowait => WaitPolicy::NoWait,
        ast::LockWait::SkipLocked => WaitPolicy::SkipLocked,
    };
    Some((mode, wait))
}

/// What is planned without any hint: invisible indexes are ignored unless they are `seen`, and FULLTEXT ones, which answer MATCH alone.
pub(super) fn hints_of(schema: &Schema, seen: bool) -> Hints {
    let invisible = |i: &usize| {
        let index = &schema.indexes[*i];
        !seen && !index.visible || index.fulltext.is_some()
    };
    Hints {
        ignore: (0..schema.indexes.len()).filter(invisible).collect(),
        ..Hints::default()
    }
}

/// The index of a name, or of the only name that begins so. Invisible ones are not there unless they are `seen`.
fn index_named(name: &str, schema: &Schema, seen: bool) -> Option<usize> {
    let indexes = || {
        let all = schema.indexes.iter().enumerate();
        all.filter(|(_, i)| (seen || i.visible) && !i.is_hidden())
    };
    if let Some((at, _)) = indexes().find(|(_, i)| i.name.eq_ignore_ascii_case(name)) {
        return Some(at);
    }
    let begins = |i: &crate::types::Index| {
        let start = i.name.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    let mut beginning = indexes().filter(|(_, i)| begins(i));
    match (beginning.next(), beginning.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

/// Index hints, with the invisible indexes among the ignored ones unless they are `seen`.
pub fn index_hints_of(
    list: &ast::Items<ast::IndexHint>,
    schema: &Schema,
    table: &str,
    seen: bool,
) -> SqlResult<Hints> {
    let mut h = hints_of(schema, seen);
    for hint in list {
        let mut found = Vec::new();
        for n in &hint.indexes {
            let n = n.as_str();
            let at = index_named(n, schema, seen).ok_or_else(|| {
                SqlError::new(1176, format!("Key '{n}' doesn't exist in table '{table}'"))
            })?;
            found.push(at);
        }
        match hint.kind {
            ast::IndexHintKind::Use | ast::IndexHintKind::Force => {
                h.force |= hint.kind == ast::IndexHintKind::Force;
                h.only.get_or_insert_default().extend(found);
            }
            ast::IndexHintKind::Ignore => h.ignore.extend(found),
        }
    }
    Ok(h)
}
