//! What is declared where a statement of a program stands.

use std::sync::Arc;

use millpond_sql::env::{Local, Locals};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::types::{Column, SqlType};

use super::code::{Condition, Target};

/// What a block declares.
#[derive(Default)]
struct Scope {
    variables: Vec<(String, usize)>,
    conditions: Vec<(String, Condition)>,
    cursors: Vec<(String, usize)>,
}

/// A label in sight.
struct Label {
    name: String,
    target: Target,
    loops: bool,
}

/// The names in sight, innermost last.
#[derive(Default)]
pub(super) struct Names {
    scopes: Vec<Scope>,
    labels: Vec<Label>,
    /// Labels before this one are not for the handler being compiled.
    barrier: usize,
    locals: Arc<Locals>,
    /// All variables so far.
    pub slots: Vec<Column>,
    targets: usize,
}

fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

impl Names {
    /// A target that nothing else has.
    pub fn target(&mut self) -> Target {
        self.targets += 1;
        self.targets
    }

    /// The variables in sight.
    pub fn locals(&self) -> Arc<Locals> {
        self.locals.clone()
    }

    /// Enters a block. Returns what [`Names::leave`] takes.
    pub fn enter(&mut self) -> Arc<Locals> {
        self.scopes.push(Scope::default());
        self.locals.clone()
    }

    /// Leaves it.
    pub fn leave(&mut self, outside: Arc<Locals>) {
        self.scopes.pop();
        self.locals = outside;
    }

    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn see(&mut self, row: Option<&'static str>, name: &str, slot: usize, ty: Option<SqlType>) {
        Arc::make_mut(&mut self.locals).push(Local {
            row,
            name: name.to_string(),
            slot,
            ty,
        });
    }

    /// Declares a variable; error 1331, for a parameter 1330, if its block has one of this name.
    pub fn variable(&mut self, column: Column, parameter: bool) -> SqlResult<usize> {
        let slot = self.slots.len();
        let name = column.name.clone();
        if self.scope().variables.iter().any(|(n, _)| same(n, &name)) {
            return Err(match parameter {
                true => SqlError::new(1330, format!("Duplicate parameter: {name}")),
                false => SqlError::new(1331, format!("Duplicate variable: {name}")),
            });
        }
        self.scope().variables.push((name.clone(), slot));
        self.see(None, &name, slot, Some(column.ty.clone()));
        self.slots.push(column);
        Ok(slot)
    }

    /// A column of a trigger's row, if the trigger has that row; its slot is taken in any case.
    pub fn of_row(&mut self, row: Option<&'static str>, column: &Column) {
        let slot = self.slots.len();
        if row.is_some() {
            self.see(row, &column.name, slot, Some(column.ty.clone()));
        }
        self.slots.push(Column {
            nullable: true,
            ..column.clone()
        });
    }

    /// A variable that no text names, whose type is its value's.
    pub fn hidden(&mut self, name: &str, column: Column) -> usize {
        let slot = self.slots.len();
        self.see(None, name, slot, None);
        self.slots.push(column);
        slot
    }

    /// The slot of a variable.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.locals.named(name).map(|l| l.slot)
    }

    /// The slot of a variable that must be there: error 1327.
    pub fn declared(&self, name: &str) -> SqlResult<usize> {
        self.slot(name)
            .ok_or_else(|| SqlError::new(1327, format!("Undeclared variable: {name}")))
    }

    /// Declares a condition; error 1332 if its block has one of this name.
    pub fn condition(&mut self, name: &str, condition: Condition) -> SqlResult<()> {
        if self.scope().conditions.iter().any(|(n, _)| same(n, name)) {
            return Err(SqlError::new(1332, format!("Duplicate condition: {name}")));
        }
        self.scope().conditions.push((name.to_string(), condition));
        Ok(())
    }

    /// A condition by its name: error 1319.
    pub fn condition_named(&self, name: &str) -> SqlResult<Condition> {
        let mut all = self.scopes.iter().rev().flat_map(|s| &s.conditions);
        all.find(|(n, _)| same(n, name))
            .map(|(_, c)| c.clone())
            .ok_or_else(|| SqlError::new(1319, format!("Undefined CONDITION: {name}")))
    }

    /// Declares a cursor; error 1333 if its block has one of this name.
    pub fn cursor(&mut self, name: &str, at: usize) -> SqlResult<()> {
        if self.scope().cursors.iter().any(|(n, _)| same(n, name)) {
            return Err(SqlError::new(1333, format!("Duplicate cursor: {name}")));
        }
        self.scope().cursors.push((name.to_string(), at));
        Ok(())
    }

    /// A cursor by its name: error 1324.
    pub fn cursor_named(&self, name: &str) -> SqlResult<usize> {
        let mut all = self.scopes.iter().rev().flat_map(|s| &s.cursors);
        all.find(|(n, _)| same(n, name))
            .map(|(_, at)| *at)
            .ok_or_else(|| SqlError::new(1324, format!("Undefined CURSOR: {name}")))
    }

    /// Declares a label, up to [`Names::forget_label`]; error 1309 if it is in sight already.
    pub fn label(&mut self, name: &str, target: Target, loops: bool) -> SqlResult<()> {
        if self.labels[self.barrier..]
            .iter()
            .any(|l| same(&l.name, name))
        {
            return Err(SqlError::new(1309, format!("Redefining label {name}")));
        }
        self.labels.push(Label {
            name: name.to_string(),
            target,
            loops,
        });
        Ok(())
    }

    /// The construct of the last label ends.
    pub fn forget_label(&mut self) {
        self.labels.pop();
    }

    /// What LEAVE, or ITERATE, names: error 1308.
    pub fn labelled(&self, name: &str, iterate: bool) -> SqlResult<Target> {
        let mut all = self.labels[self.barrier..].iter().rev();
        all.find(|l| same(&l.name, name) && (l.loops || !iterate))
            .map(|l| l.target)
            .ok_or_else(|| {
                let word = if iterate { "ITERATE" } else { "LEAVE" };
                SqlError::new(1308, format!("{word} with no matching label: {name}"))
            })
    }

    /// Within a handler, which sees no label around it.
    pub fn beyond_labels<R>(&mut self, f: impl FnOnce(&mut Names) -> R) -> R {
        let before = std::mem::replace(&mut self.barrier, self.labels.len());
        let r = f(self);
        self.barrier = before;
        r
    }
}
