//! Triggers: programs that the row writer runs, before or behind each row that a statement writes.
//!
//! They are programs within that statement ([`super::inner`]), and the table that is written to is one that it uses: a trigger may read it, and
//! not change it (1442). BEFORE triggers of a row see what those before them made of NEW. An error of one undoes the statement. Foreign
//! keys' cascades, TRUNCATE and what ALTER TABLE copies write rows without them.

use std::any::Any;
use std::sync::Arc;

use super::super::run::Nowhere;
use super::inner::{Inner, within};
use super::interpreter::Invocation;
use crate::instance::Facts;
use crate::programs::{Routine, TableTriggers, Triggers};
use millpond_sql::catalog::programs::{self, RowEvent};
use millpond_sql::env::Around;
use millpond_sql::error::SqlResult;
use millpond_sql::memory::MemoryAccount;
use millpond_sql::plan::Plan;
use millpond_sql::types::Schema;
use millpond_sql::value::Value;
use millpond_sql::write::{Hooks, Images, PendingRow, RowListener, RowRule, WriteContext};
use millpond_store::{Engine, Owner};

/// The triggers of the tables that a plan writes to, as plans keep them.
pub(in super::super) fn triggers_of(
    engine: &Engine,
    plan: &Plan,
) -> SqlResult<Option<Arc<dyn Any + Send + Sync>>> {
    if !plan.writes {
        return Ok(None);
    }
    let found = Triggers::of(engine, plan)?;
    Ok(found.map(|t| t as Arc<dyn Any + Send + Sync>))
}

/// The triggers of a statement that runs.
pub(in super::super) struct Firing<'a> {
    pub facts: &'a Facts,
    pub owner: &'a Owner,
    pub memory: &'a Arc<MemoryAccount>,
    pub triggers: Option<&'a Triggers>,
    pub plan: &'a Plan,
}

/// A row's values.
type Row = Vec<Value<'static>>;

fn row_of(schema: &Schema, image: &[u8], cx: &WriteContext<'_>) -> Row {
    let (layout, zone) = (schema.layout(), cx.env.zone.get());
    let column = |c| layout.column(schema, image, c, zone).into_owned();
    (0..schema.columns.len()).map(column).collect()
}

/// What becomes of a row: was it there, will it be.
fn event(before: bool, after: bool) -> RowEvent {
    match (before, after) {
        (false, _) => RowEvent::Insert,
        (true, true) => RowEvent::Update,
        (true, false) => RowEvent::Delete,
    }
}

impl Firing<'_> {
    /// Hooks of the row writer, if there are triggers; `rules` and `listeners` are this itself.
    pub fn hooks<'h>(
        &self,
        rules: &'h [&'h dyn RowRule],
        listeners: &'h [&'h dyn RowListener],
    ) -> Hooks<'h> {
        let any = |before| self.triggers.is_some_and(|t| t.any(before));
        Hooks {
            before: if any(true) { rules } else { &[] },
            after: if any(false) { listeners } else { &[] },
            ..Hooks::NONE
        }
    }

    fn of(&self, cx: &WriteContext<'_>) -> Option<&TableTriggers> {
        self.triggers?.table(cx.table.def().id)
    }

    fn are_any(&self, cx: &WriteContext<'_>, before: bool, event: RowEvent) -> bool {
        self.of(cx)
            .is_some_and(|t| t.at(before, event).next().is_some())
    }

    /// Runs a trigger for a row; NEW as it leaves it, and the slots that it has assigned to.
    fn fire(
        &self,
        cx: &mut WriteContext<'_>,
        routine: &Routine,
        (old, new): (Row, Row),
        columns: usize,
    ) -> SqlResult<(Row, Vec<usize>)> {
        let def = &routine.program.def;
        let key = programs::key(def.kind, &def.database, &def.name);
        let plan = self.plan;
        let tables = |ids: &mut Vec<u64>| ids.extend(plan.tables.iter().map(|t| t.table.def().id));
        let around = Around {
            txn: &mut *cx.txn,
            env: cx.env,
            owner: self.owner,
            memory: self.memory,
            tables: &tables,
        };
        let mut frame = old;
        frame.resize(columns, Value::Null);
        frame.extend(new);
        frame.resize(2 * columns, Value::Null);
        within(self.facts, around, def, key, |inner: &mut Inner<'_>| {
            let sink = &mut Nowhere;
            let mut invocation = Invocation::new(inner, routine, sink, frame);
            invocation.run()?;
            invocation.frame.truncate(2 * columns);
            Ok((invocation.frame.split_off(columns), invocation.assigned))
        })
    }
}

impl RowRule for Firing<'_> {
    fn apply(&self, cx: &mut WriteContext<'_>, row: &mut PendingRow<'_, '_>) -> SqlResult<()> {
        let Some(triggers) = self.of(cx) else {
            return Ok(());
        };
        let columns = triggers.columns;
        let event = event(row.before.is_some(), row.after.is_some());
        for routine in triggers.at(true, event) {
            let old = row.before.map(|image| row_of(row.schema, image, cx));
            let new = row.after.as_ref().map(|after| {
                let values = after.values().iter();
                values.map(|v| v.clone().into_owned()).collect()
            });
            let rows = (old.unwrap_or_default(), new.unwrap_or_default());
            let (made, assigned) = self.fire(cx, routine, rows, columns)?;
            let changed = routine.program.changed.iter();
            for slot in changed.filter(|slot| assigned.contains(slot)) {
                let column = slot - columns;
                row.set(column, made[column].clone())?;
            }
        }
        Ok(())
    }

    fn acts_on_deletes(&self, cx: &WriteContext<'_>) -> bool {
        self.are_any(cx, true, RowEvent::Delete)
    }
}

impl RowListener for Firing<'_> {
    fn written(&self, cx: &mut WriteContext<'_>, row: &Images<'_>) -> SqlResult<()> {
        let Some(triggers) = self.of(cx) else {
            return Ok(());
        };
        let event = event(row.before.is_some(), row.after.is_some());
        for routine in triggers.at(false, event) {
            let values = |image: Option<&[u8]>| image.map(|image| row_of(row.schema, image, cx));
            let (old, new) = (values(row.before), values(row.after));
            let rows = (old.unwrap_or_default(), new.unwrap_or_default());
            self.fire(cx, routine, rows, triggers.columns)?;
        }
        Ok(())
    }

    fn acts_on_deletes(&self, cx: &WriteContext<'_>) -> bool {
        self.are_any(cx, false, RowEvent::Delete)
    }
}
