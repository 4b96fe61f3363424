//! Names.

use std::fmt::{Display, Formatter, Result, Write};

use crate::ast::*;

impl Display for Ident {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        backticked(self.as_str(), f)
    }
}

/// A name in backticks.
pub(super) fn backticked(name: &str, f: &mut Formatter<'_>) -> Result {
    f.write_char('`')?;
    let mut pieces = name.split('`');
    f.write_str(pieces.next().unwrap_or(""))?;
    for piece in pieces {
        write!(f, "``{piece}")?;
    }
    f.write_char('`')
}

impl Display for ObjectName {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(database) = &self.database {
            write!(f, "{database}.")?;
        }
        self.name.fmt(f)
    }
}

impl Display for ColumnName {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for part in [&self.database, &self.table].into_iter().flatten() {
            write!(f, "{part}.")?;
        }
        self.name.fmt(f)
    }
}

impl Display for ColumnRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for part in [self.database(), self.table()].into_iter().flatten() {
            write!(f, "{part}.")?;
        }
        backticked(self.name(), f)
    }
}

impl Display for SystemVariable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("@@")?;
        f.write_str(match self.scope {
            None => "",
            Some(VariableScope::Global) => "GLOBAL.",
            Some(VariableScope::Session) => "SESSION.",
            Some(VariableScope::Persist) => "PERSIST.",
            Some(VariableScope::PersistOnly) => "PERSIST_ONLY.",
        })?;
        if let Some(component) = &self.component {
            write!(f, "{component}.")?;
        }
        self.name.fmt(f)
    }
}

/// `@name`.
pub(super) struct UserVariable<'a>(pub &'a str);

impl Display for UserVariable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_char('@')?;
        backticked(self.0, f)
    }
}
