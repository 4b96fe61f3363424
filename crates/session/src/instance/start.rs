//! What variables are from the start: those that the caller gave, and those that are persisted.

use super::start_value;
use crate::persisted::{self, Entry, Persisted, Setter};
use crate::vars::{self, Access, VarValue};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::value::Value;

/// Where a variable has its value from, if that is not its default.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Given at the start, by flag or in a file.
    Start,
    /// Said by SET PERSIST before the start.
    Persisted(Setter),
    /// Set since.
    Set(Setter),
}

/// A variable's position, its value and where that is from.
type Given = (usize, VarValue, Source);

/// Whether persisted variables are to be read: `persisted_globals_load`.
pub(super) fn loads(given: &[Given]) -> bool {
    let load = vars::known("persisted_globals_load");
    let mut said = given.iter().rev().filter(|(index, ..)| *index == load);
    said.next()
        .is_none_or(|(_, v, _)| *v == VarValue::Bool(true))
}

/// Those that are persisted.
pub(super) fn persisted(file: &Persisted) -> SqlResult<Vec<Given>> {
    let mut given = Vec::new();
    for (name, entry) in file.entries() {
        if vars::find(&name).is_none() {
            let path = file.path().display();
            tracing::warn!("{path}: there is no system variable {name}");
            continue;
        }
        let (index, value) = value(&name, &entry).map_err(|e| persisted::refused(&name, &e))?;
        given.push((index, value, Source::Persisted(entry.by)));
    }
    Ok(given)
}

fn value(name: &str, entry: &Entry) -> SqlResult<(usize, VarValue)> {
    let index = vars::lookup(name)?;
    let def = &vars::all()[index];
    if def.access == Access::ReadOnly && !persisted::can_be_persisted(def.name) {
        let message = format!("Variable '{name}' is a non persistent read only variable");
        return Err(SqlError::new(1238, message));
    }
    match &entry.value {
        Some(text) => start_value(name, text),
        None => Ok((index, vars::convert(def, &Value::Null, true)?.value)),
    }
}
