//! SPATIAL keys: what a statement says of one, and what becomes of it.

use super::key::{KeySpec, TextKey};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast;
use crate::types::{Column, Index, Schema};

/// Errors for options and parts that a SPATIAL key can't have.
pub(super) fn check(options: &[ast::IndexOption], parts: &[ast::KeyPart]) -> SqlResult<TextKey> {
    for part in parts {
        if matches!(part.of, ast::KeyPartOf::Expr(_)) {
            let m = "Spatial functional index is not supported.";
            return Err(SqlError::new(3760, m));
        }
        if part.direction.is_some() {
            let m = "Incorrect usage of spatial/fulltext/hash index and explicit index order";
            return Err(SqlError::new(1221, m));
        }
    }
    if options
        .iter()
        .any(|o| matches!(o, ast::IndexOption::Using(_)))
    {
        return Err(SqlError::syntax("near 'USING'"));
    }
    Ok(TextKey::Words)
}

/// The column of a SPATIAL key, checked.
pub(super) fn resolve(spec: &KeySpec, columns: &[Column]) -> SqlResult<usize> {
    let [(name, prefix, _)] = &spec.parts[..] else {
        let m = "Too many key parts specified; max 1 parts allowed";
        return Err(SqlError::new(1070, m));
    };
    let named = |c: &Column| c.name.eq_ignore_ascii_case(name);
    let Some(at) = columns.iter().position(named) else {
        let m = format!("Key column '{name}' doesn't exist in table");
        return Err(SqlError::new(1072, m));
    };
    let column = &columns[at];
    if !column.ty.is_geometry() {
        let m = "A SPATIAL index may only contain a geometrical type column";
        return Err(SqlError::new(1687, m));
    }
    if prefix.is_some() {
        let m = "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
        return Err(SqlError::new(1089, m));
    }
    if column.nullable {
        let m = "All parts of a SPATIAL index must be NOT NULL";
        return Err(SqlError::new(1252, m));
    }
    if column.generated.as_ref().is_some_and(|g| !g.stored) {
        let m =
            "'Spatial index on virtual generated column' is not supported for generated columns.";
        return Err(SqlError::new(3106, m));
    }
    Ok(at)
}

/// Warns of each new index that queries are not planned with, because its column has no SRID.
pub(super) fn warn_of_useless(
    indexes: &[Index],
    is_new: impl Fn(&Index) -> bool,
    columns: &[Column],
    env: &SessionEnv,
) {
    for index in indexes.iter().filter(|i| is_new(i)) {
        let Some(column) = index.spatial.map(|at| &columns[at]) else {
            continue;
        };
        if column.ty.srid.is_none() {
            let m = format!(
                "The spatial index on column '{}' will not be used by the query optimizer since the column does not have an SRID attribute. Consider adding an SRID attribute to the column.",
                column.name
            );
            env.warn(3674, m);
        }
    }
}

/// Error 1464 for a SPATIAL key of a table with partitions.
pub(super) fn refuse_partitioned(schema: &Schema) -> SqlResult<()> {
    let partitioned = schema.partitioning.is_some();
    match partitioned && schema.indexes.iter().any(|i| i.spatial.is_some()) {
        true => Err(SqlError::new(
            1464,
            "The used table type doesn't support SPATIAL indexes",
        )),
        false => Ok(()),
    }
}
