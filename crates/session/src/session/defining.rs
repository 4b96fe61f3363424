//! DDL within the open transaction (`millpond_transactional_ddl`).
//!
//! Which statements take part, and what becomes of the others, is decided here; how the store does it is in
//! [`millpond_store::engine::Lent`]. While a transaction goes on nothing commits it but what says so by itself (COMMIT, BEGIN, `SET autocommit`):
//! what would and can't take part is refused with error 1179.

use super::Session;
use crate::statements::Compiled;
use crate::statements::kinds::Effect;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{SchemaStatement, StatementKind, TableStatement};
use millpond_sql::store_error::{not_in_transaction, store_error};

/// Whether a statement is DDL that a transaction can undo.
fn takes_part(kind: &StatementKind) -> bool {
    use SchemaStatement as S;
    match kind {
        StatementKind::Table(table) => !matches!(**table, TableStatement::Import(_)),
        StatementKind::AlterTable(_) => true,
        StatementKind::Schema(schema) => matches!(
            **schema,
            S::CreateDatabase { .. }
                | S::AlterDatabase { .. }
                | S::DropDatabase { .. }
                | S::View(_)
                | S::DropView { .. }
        ),
        _ => false,
    }
}

impl Session {
    /// Whether a statement of this effect, which would commit, is part of the transaction instead; error 1179 if it can be neither.
    pub(super) fn joins_transaction(&self, compiled: &Compiled) -> SqlResult<bool> {
        if !self.settings.transactional_ddl {
            return Ok(false);
        }
        let kind = compiled.statement.kind();
        let open = self.txn.is_open();
        let joins = compiled.row.effect == Effect::Defines && takes_part(kind);
        if !joins && open {
            let text = kind.to_string();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            return Err(not_in_transaction(&words.join(" ")));
        }
        if !joins || !open && self.settings.autocommit {
            return Ok(false);
        }
        if !self.locked.is_empty() || self.read_locked {
            return Err(SqlError::new(
                1192,
                "Can't execute the given command because you have active locked tables or an active transaction",
            ));
        }
        Ok(true)
    }

    /// Runs a statement of DDL as part of the open transaction: what it did is undone if it fails.
    pub(super) fn define_within<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.in_transaction(|s| {
            s.txn.touched = true;
            work(s)
        })
    }

    /// Has the engine do DDL in the open transaction.
    pub(super) fn lending<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let (engine, owner) = (self.instance.engine().clone(), self.owner.clone());
        let lent = engine.lend(&owner, &mut self.txn.txn);
        let lent = lent.map_err(|e| store_error(e, ""))?;
        let done = work(self);
        self.txn.txn = lent.take_back();
        done
    }
}
