//! What INSERT, UPDATE and DELETE share.

use super::Outcome;
use super::block;
use super::state::{Flow, State};
use crate::error::{SqlError, SqlResult};
use crate::expr::RowRef;
use crate::logical::PlanTable;
use crate::plan::dml::Through;
use crate::plan::nodes::{Block, SourceKind};
use crate::write::foreign_keys::Enforced;
use crate::write::{Buffers, Hooks, OnDuplicate, RowWriter, Target, WriteContext, WritePolicy};

/// What statements that write ask of their session.
#[derive(Clone, Copy)]
pub struct DmlOptions<'a> {
    /// Affected rows mean found rows (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: (u64, u64),
    /// `insert_id`: the first AUTO_INCREMENT value to generate; 0: the table's next.
    pub insert_id: u64,
    /// The statement is its whole transaction: nothing was done before it, and it is committed when it is done. Only then may it commit itself.
    pub alone: bool,
    /// Who else has a say about rows written.
    pub hooks: &'a Hooks<'a>,
}

impl Default for DmlOptions<'_> {
    fn default() -> Self {
        DmlOptions {
            found_rows: false,
            auto_increment: (1, 1),
            insert_id: 0,
            alone: false,
            hooks: &Hooks::NONE,
        }
    }
}

impl<'s> State<'s> {
    /// A writer of a table's rows, with buffers of the session.
    #[inline]
    pub fn writer(
        &mut self,
        t: &'s PlanTable,
        partitions: Option<&'s [usize]>,
        policy: WritePolicy,
        dml: &DmlOptions<'s>,
    ) -> RowWriter<'s> {
        let target = Target {
            schema: &t.schema,
            name: &t.table.def().name,
            partitions,
        };
        let buffers = Buffers {
            image: self.scratch.take(),
            route: self.scratch.take(),
            found_key: self.scratch.take(),
            found: self.scratch.take(),
        };
        let mut writer = RowWriter::new(target, policy, dml.hooks, self.env, buffers);
        if let Some(relations) = &self.plan.relations
            && self.env.foreign_key_checks.get()
            && let Some(node) = relations.node_of(&t.table)
        {
            writer.enforce(Enforced::new(relations, node));
        }
        writer
    }

    /// Takes a writer's buffers back.
    pub fn writer_done(&mut self, writer: &mut RowWriter<'_>) {
        let b = writer.take_buffers();
        for buffer in [b.image, b.route, b.found_key, b.found] {
            self.scratch.give(buffer);
        }
    }

    /// What the writer of a table needs for a row.
    #[inline]
    pub fn write_to<'c>(&'c mut self, t: &'c PlanTable) -> WriteContext<'c> {
        WriteContext {
            engine: self.engine,
            txn: self.txn,
            env: self.env,
            table: &t.table,
            load: None,
        }
    }

    /// Whether a row that is written through a view may be: error 1369, with IGNORE a warning. `rows` are the sources that the view's
    /// conditions read, the row as it is to be among them.
    pub fn admits(
        &mut self,
        through: Option<&'s Through>,
        rows: &[RowRef<'_>],
        ignore: bool,
    ) -> SqlResult<bool> {
        let Some(Through {
            view,
            check: Some(check),
            ..
        }) = through
        else {
            return Ok(true);
        };
        let mut holds = true;
        block::query(self, check, rows, &mut |_, row| {
            holds = row.iter().all(|v| v.truth() == Some(true));
            Ok(Flow::Stop)
        })?;
        if holds {
            return Ok(true);
        }
        let message = format!("CHECK OPTION failed '{}.{}'", view.0, view.1);
        if !ignore {
            return Err(SqlError::new(1369, message));
        }
        self.env.warn(1369, message);
        Ok(false)
    }

    /// How an UPDATE or DELETE writes.
    pub fn policy(&self, ignore: bool) -> WritePolicy {
        WritePolicy {
            duplicates: OnDuplicate::Refuse,
            ignore,
            strict: self.env.sql_mode.get().strict && !ignore,
            refuse_nulls: false,
        }
    }
}

/// The partitions that a table's PARTITION clause names.
pub fn given_partitions(find: &Block, source: usize) -> Option<&[usize]> {
    match &find.sources.get(source)?.kind {
        SourceKind::Table { partitions, .. } => partitions.as_deref(),
        _ => None,
    }
}

/// How an UPDATE's OK describes it.
pub fn updated(st: &State<'_>, matched: u64, changed: u64, found_rows: bool) -> Outcome {
    Outcome {
        affected: if found_rows { matched } else { changed },
        info: format!(
            "Rows matched: {matched}  Changed: {changed}  Warnings: {}",
            st.env.diagnostics.borrow().len()
        ),
        ..Outcome::default()
    }
}
