//! The triggers of the tables that a plan writes to, compiled with it: a plan is made anew when a table has got or lost one, since
//! that makes the table another version.

use std::sync::Arc;

use millpond_sql::catalog::programs::{ProgramDef, RowEvent};
use millpond_sql::error::SqlResult;
use millpond_sql::plan::Plan;
use millpond_store::Engine;

use super::cache::Routine;
use super::compile_trigger;

/// The triggers of a plan's tables.
pub(crate) struct Triggers(Vec<TableTriggers>);

/// Those of a table, in the order in which they run.
pub(crate) struct TableTriggers {
    table: u64,
    /// How many columns it has.
    pub columns: usize,
    list: Vec<Routine>,
}

impl Triggers {
    /// Those of the tables that a plan writes to; `None` if they have none.
    pub fn of(engine: &Engine, plan: &Plan) -> SqlResult<Option<Arc<Triggers>>> {
        let mut all = Vec::new();
        let tables = plan.tables.iter();
        for t in tables.filter(|t| t.write && !t.table.is_temporary()) {
            let def = t.table.def();
            let triggers = ProgramDef::triggers(engine, &def.database, &def.name)?;
            if triggers.is_empty() {
                continue;
            }
            let columns = &t.schema.columns;
            let list = triggers.iter().map(|trigger| {
                let program = compile_trigger(trigger, columns)?;
                Ok(Routine::new(Arc::new(program)))
            });
            all.push(TableTriggers {
                table: def.id,
                columns: columns.len(),
                list: list.collect::<SqlResult<_>>()?,
            });
        }
        Ok((!all.is_empty()).then(|| Arc::new(Triggers(all))))
    }

    /// Those of the table with this id.
    pub fn table(&self, id: u64) -> Option<&TableTriggers> {
        self.0.iter().find(|t| t.table == id)
    }

    /// Whether any runs before rows are written (or else behind it).
    pub fn any(&self, before: bool) -> bool {
        let timed = |r: &Routine| {
            let trigger = r.program.def.trigger.as_ref();
            trigger.is_some_and(|t| t.before == before)
        };
        self.0.iter().any(|t| t.list.iter().any(timed))
    }
}

impl TableTriggers {
    /// Those of a time and an event.
    pub fn at(&self, before: bool, event: RowEvent) -> impl Iterator<Item = &Routine> {
        self.list.iter().filter(move |r| {
            let trigger = r.program.def.trigger.as_ref();
            trigger.is_some_and(|t| t.before == before && t.event == event)
        })
    }
}
