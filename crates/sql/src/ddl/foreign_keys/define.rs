//! From the tree to a foreign key: its columns, its parent, its name, and the index over its columns that it brings if there is none.

use crate::catalog::{ForeignKey, ReferentialAction};
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{self, Ident, KeyPart, KeyPartOf, ReferenceAction};

use super::super::key::{KeyKind, KeySpec};
use super::super::names;

/// A foreign key as a statement asks for it.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The constraint's name, if it is given.
    name: Option<String>,
    /// Its index's, if that is given.
    index: Option<String>,
    columns: Vec<String>,
    /// Database, if it is given, and table.
    parent: (Option<String>, String),
    parent_columns: Vec<String>,
    on_delete: ReferentialAction,
    on_update: ReferentialAction,
    /// Before which of the statement's keys it stands.
    pub at: usize,
}

/// Names of whole columns.
fn columns(list: &[KeyPart]) -> SqlResult<Vec<String>> {
    let name = |part: &KeyPart| match &part.of {
        KeyPartOf::Column(name, None) => Ok(name.as_str().to_string()),
        _ => Err(SqlError::new(1215, "Cannot add foreign key constraint")),
    };
    list.iter().map(name).collect()
}

fn action(action: Option<ReferenceAction>) -> SqlResult<ReferentialAction> {
    Ok(match action {
        None | Some(ReferenceAction::NoAction) => ReferentialAction::NoAction,
        Some(ReferenceAction::Restrict) => ReferentialAction::Restrict,
        Some(ReferenceAction::Cascade) => ReferentialAction::Cascade,
        Some(ReferenceAction::SetNull) => ReferentialAction::SetNull,
        // As InnoDB does.
        Some(ReferenceAction::SetDefault) => {
            return Err(SqlError::new(1215, "Cannot add foreign key constraint"));
        }
    })
}

/// The foreign key that a definition asks for. `at`: before which of the statement's keys it stands.
pub fn of_definition(key: &ast::ForeignKey, at: usize) -> SqlResult<Spec> {
    if key.if_not_exists {
        return Err(SqlError::unsupported("IF NOT EXISTS of a foreign key"));
    }
    let text = |name: &Option<Ident>| name.as_ref().map(|n| n.as_str().to_string());
    let spec = Spec {
        name: key.constraint.as_ref().and_then(|c| text(&c.name)),
        index: text(&key.name),
        columns: columns(&key.columns.all())?,
        parent: (
            text(&key.references.table.database),
            key.references.table.name.as_str().to_string(),
        ),
        parent_columns: columns(&key.references.columns.all())?,
        on_delete: action(key.references.on_delete)?,
        on_update: action(key.references.on_update)?,
        at,
    };
    names::table(&spec.parent.1)?;
    if let Some(database) = &spec.parent.0 {
        names::database(database)?;
    }
    if spec.columns.len() != spec.parent_columns.len() {
        let named = spec.name.as_deref().unwrap_or("foreign key without name");
        return Err(SqlError::new(
            1239,
            format!(
                "Incorrect foreign key definition for '{named}': Key reference and table reference don't match"
            ),
        ));
    }
    Ok(spec)
}

/// The foreign keys that a statement adds to those that a table has, named: `table_ibfk_n` if no name is given.
pub fn resolve(
    specs: &[Spec],
    (database, table): (&str, &str),
    existing: &[ForeignKey],
) -> SqlResult<Vec<ForeignKey>> {
    let mut all = existing.to_vec();
    let numbers = existing.iter().filter_map(|k| k.generated_number(table));
    let mut last = numbers.max().unwrap_or(0);
    for spec in specs {
        let name = match &spec.name {
            Some(name) => {
                names::constraint(name)?;
                name.clone()
            }
            None => {
                last += 1;
                ForeignKey::generated_name(table, last)
            }
        };
        if all.iter().any(|k| k.name.eq_ignore_ascii_case(&name)) {
            return Err(duplicate(&name));
        }
        let (parent_database, parent) = &spec.parent;
        all.push(ForeignKey {
            name,
            columns: spec.columns.clone(),
            parent: (
                parent_database.as_deref().unwrap_or(database).to_string(),
                parent.clone(),
            ),
            parent_columns: spec.parent_columns.clone(),
            on_delete: spec.on_delete,
            on_update: spec.on_update,
        });
    }
    Ok(all.split_off(existing.len()))
}

/// 1826.
pub fn duplicate(name: &str) -> SqlError {
    SqlError::new(
        1826,
        format!("Duplicate foreign key constraint name '{name}'"),
    )
}

/// Adds to a table's keys those that foreign keys bring: of their columns, where no other key begins with these. `base`: how many keys
/// stand before the statement's own.
pub fn implied_keys(specs: &[Spec], keys: &mut Vec<KeySpec>, base: usize) {
    let mut more = Vec::new();
    for spec in specs {
        let covers = |key: &KeySpec| {
            !matches!(key.kind, KeyKind::Fulltext | KeyKind::Spatial)
                && key.parts.len() >= spec.columns.len()
                && key
                    .parts
                    .iter()
                    .zip(&spec.columns)
                    .all(|((c, prefix, _), name)| prefix.is_none() && c.eq_ignore_ascii_case(name))
        };
        if keys.iter().chain(more.iter().map(|(_, k)| k)).any(covers) {
            continue;
        }
        let whole = |c: &String| (c.clone(), None, false);
        let key = KeySpec {
            kind: KeyKind::Plain,
            name: spec.name.clone().or_else(|| spec.index.clone()),
            parts: spec.columns.iter().map(whole).collect(),
            comment: String::new(),
            visible: true,
            btree: false,
            implied: true,
            text: Default::default(),
            exprs: Vec::new(),
        };
        more.push((base + spec.at, key));
    }
    for (at, key) in more.into_iter().rev() {
        keys.insert(at.min(keys.len()), key);
    }
}

/// Leaves out keys that foreign keys brought where another begins with their columns: as in MySQL, one that was asked for takes their place, or a
/// longer one that was brought, too.
pub fn drop_covered(keys: &mut Vec<KeySpec>) {
    let does = |key: &KeySpec, of: &KeySpec| {
        let mut pairs = key.parts.iter().zip(&of.parts);
        !matches!(key.kind, KeyKind::Fulltext | KeyKind::Spatial)
            && key.parts.len() >= of.parts.len()
            && (!key.implied || key.parts.len() > of.parts.len())
            && pairs.all(|((a, prefix, _), (b, ..))| prefix.is_none() && a.eq_ignore_ascii_case(b))
    };
    let covered = |at: usize| {
        let mut others = keys.iter().enumerate().filter(|(i, _)| *i != at);
        keys[at].implied && others.any(|(_, key)| does(key, &keys[at]))
    };
    let kept: Vec<bool> = (0..keys.len()).map(|at| !covered(at)).collect();
    let mut kept = kept.into_iter();
    keys.retain(|_| kept.next().unwrap_or(true));
}

impl Spec {
    /// The parent; `database`: the child's.
    pub fn parent(&self, database: &str) -> (String, String) {
        let (named, table) = &self.parent;
        (
            named.as_deref().unwrap_or(database).to_string(),
            table.clone(),
        )
    }
}
