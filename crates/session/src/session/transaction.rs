//! A session's transaction: how it begins, ends, and what savepoints it has.
//!
//! 1. *None*: between autocommitted statements.
//! 2. *Implied*: a statement began one; under autocommit it ends with the statement, otherwise it stays open.
//! 3. *Explicit*: BEGIN or START TRANSACTION; open until COMMIT, ROLLBACK, a statement that commits implicitly,
//!    or a deadlock.

use millpond_store::{Isolation, Savepoint, Txn};

use super::Session;
use super::track::Marks;
use super::xa::Branch;
use crate::counters::Counter;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{AccessMode, Completion};
use millpond_sql::store_error::store_error;

/// The transaction of a session, if it has one.
#[derive(Default)]
pub(super) struct Transaction {
    pub txn: Option<Txn>,
    /// BEGIN or START TRANSACTION made it.
    pub explicit: bool,
    pub read_only: bool,
    /// A table was used in it. Without autocommit, a statement that uses none leaves no transaction open.
    pub touched: bool,
    /// Temporary tables were made or dropped in it, which a rollback does not undo.
    pub made_temporary: bool,
    pub dropped_temporary: bool,
    /// What SET TRANSACTION had asked for the next transaction, which this one is if it turns out to be one.
    pub(super) asked: (Option<Isolation>, Option<bool>),
    /// WITH CONSISTENT SNAPSHOT, and the access that START TRANSACTION asked for.
    pub(super) begun: (bool, Option<bool>),
    /// What has been done in it.
    pub(super) marks: Marks,
    /// The XA transaction that it is of.
    pub xa: Option<Branch>,
    pub(super) savepoints: Vec<(String, Savepoint)>,
}

impl Transaction {
    /// Whether a transaction is open between statements.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.txn.is_some()
    }
    fn position(&self, name: &str) -> SqlResult<usize> {
        self.savepoints
            .iter()
            .rposition(|(n, _)| n.eq_ignore_ascii_case(name))
            .ok_or_else(|| SqlError::new(1305, format!("SAVEPOINT {name} does not exist")))
    }
}

impl Session {
    /// Begins the transaction of a statement unless one is open. Returns whether it did.
    #[inline]
    pub(super) fn ensure_transaction(&mut self) -> bool {
        if self.txn.txn.is_some() {
            return false;
        }
        let settings = &mut self.settings;
        let asked = (
            settings.next_isolation.take(),
            settings.next_read_only.take(),
        );
        let isolation = asked.0.unwrap_or(settings.isolation);
        let read_only = asked.1.unwrap_or(settings.read_only);
        self.txn.asked = asked;
        self.txn.txn = Some(self.instance.0.engine.begin(&self.owner, isolation));
        // One that takes the place of what a deadlock cost an XA transaction is part of that.
        self.txn.explicit = self.txn.xa.as_ref().is_some_and(|b| !b.is_prepared());
        self.txn.touched = false;
        (self.txn.made_temporary, self.txn.dropped_temporary) = (false, false);
        self.txn.read_only = read_only;
        (self.txn.begun, self.txn.marks) = Default::default();
        true
    }

    /// Ends the transaction after a statement where autocommit says so.
    #[inline]
    pub(super) fn end_implied(&mut self) -> SqlResult<()> {
        if self.txn.explicit || (self.txn.touched && !self.settings.autocommit) {
            return Ok(());
        }
        self.commit_now()
    }

    /// Commits what is open, if anything.
    #[inline]
    pub(super) fn commit_now(&mut self) -> SqlResult<()> {
        if let Some(txn) = &self.txn.txn
            && txn.id() != 0
            && let Err(e) = self.facts.check_server_writable()
        {
            self.rollback_now()?;
            return Err(e);
        }
        let Some(txn) = self.txn.txn.take() else {
            return Ok(());
        };
        self.give_back_asked();
        self.txn.explicit = false;
        self.txn.savepoints.clear();
        self.count(Counter::HandlerCommit);
        let engine = &self.instance.0.engine;
        if !self.unsettled.allowed {
            return engine.commit(txn).map_err(|e| store_error(e, ""));
        }
        let lsn = engine.commit_later(txn).map_err(|e| store_error(e, ""))?;
        self.unsettled.lsn = self.unsettled.lsn.max(lsn);
        Ok(())
    }

    /// A transaction that only gave a statement without tables something to run in was not the next one.
    #[inline]
    fn give_back_asked(&mut self) {
        let asked = std::mem::take(&mut self.txn.asked);
        if !self.txn.explicit && !self.txn.touched {
            (self.settings.next_isolation, self.settings.next_read_only) = asked;
        }
    }

    /// Whatever SET TRANSACTION asked for is over: so it is after COMMIT, ROLLBACK and statements that commit implicitly, even if
    /// no transaction was open.
    pub(super) fn forget_asked(&mut self) {
        self.settings.next_isolation = None;
        self.settings.next_read_only = None;
    }

    /// Rolls back what is open, if anything. An XA transaction that it is of remembers.
    pub(super) fn rollback_now(&mut self) -> SqlResult<()> {
        let Some(txn) = self.txn.txn.take() else {
            return Ok(());
        };
        self.give_back_asked();
        self.txn.explicit = false;
        self.txn.savepoints.clear();
        self.count(Counter::HandlerRollback);
        if let Some(branch) = &mut self.txn.xa {
            branch.rolled_back(None);
        }
        self.instance
            .0
            .engine
            .rollback(txn)
            .map_err(|e| store_error(e, ""))
    }

    /// Undoes a failed statement: wholly where the store gave the transaction up or nothing else is in it.
    pub(super) fn undo_statement(&mut self, to: Savepoint, began: bool, e: &SqlError) {
        const DEADLOCK: u16 = 1213;
        // As in InnoDB: others need the room.
        const LOCK_TABLE_FULL: u16 = 1206;
        let whole =
            matches!(e.code, DEADLOCK | LOCK_TABLE_FULL) || (began && self.settings.autocommit);
        let undone = if whole {
            if let Some(branch) = &mut self.txn.xa {
                branch.rolled_back(Some(e.code));
            }
            self.rollback_now()
        } else if let Some(txn) = &mut self.txn.txn {
            let undone = self.instance.0.engine.rollback_to(txn, to);
            undone.map_err(|e| store_error(e, ""))
        } else {
            Ok(())
        };
        if let Err(e) = undone {
            // What could not be undone must not be committed either.
            self.env.warn(e.code, e.message);
            let _ = self.rollback_now();
        }
    }

    /// START TRANSACTION, BEGIN.
    pub(super) fn begin(&mut self, snapshot: bool, access: Option<AccessMode>) -> SqlResult<()> {
        self.commit_now()?;
        self.unlock_named();
        self.ensure_transaction();
        self.txn.explicit = true;
        let read_only = access.map(|a| a == AccessMode::ReadOnly);
        self.txn.read_only = read_only.unwrap_or(self.txn.read_only);
        self.txn.begun = (snapshot, read_only);
        if snapshot && let Some(txn) = &mut self.txn.txn {
            if txn.isolation() == Isolation::RepeatableRead {
                self.instance.0.engine.snapshot(txn);
            } else {
                self.env.warn(
                    138,
                    "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with REPEATABLE READ isolation level.",
                );
            }
        }
        Ok(())
    }

    /// COMMIT and ROLLBACK with what follows them.
    pub(super) fn end_transaction(&mut self, commit: bool, then: Completion) -> SqlResult<()> {
        let default = self.facts.vars.named("completion_type");
        let by_default = |what| default.as_str() == what;
        let said = |flag: Option<bool>| flag == Some(true);
        let chain = (then.chain).unwrap_or_else(|| !said(then.release) && by_default("CHAIN"));
        let release = (then.release).unwrap_or_else(|| !chain && by_default("RELEASE"));
        let before = self
            .txn
            .txn
            .as_ref()
            .map(|t| (t.isolation(), self.txn.read_only));
        if commit {
            self.commit_now()?;
        } else {
            let open = self.txn.is_open();
            self.rollback_now()?;
            if open && self.txn.made_temporary {
                let what = "The creation of some temporary tables could not be rolled back.";
                self.env.warn(1751, what);
            }
            if open && self.txn.dropped_temporary {
                let what = "Some temporary tables were dropped, but these operations could not be rolled back.";
                self.env.warn(1752, what);
            }
        }
        self.forget_asked();
        if chain {
            if let Some((isolation, read_only)) = before {
                self.settings.next_isolation = Some(isolation);
                self.settings.next_read_only = Some(read_only);
            }
            self.begin(false, None)?;
        }
        self.released |= release;
        Ok(())
    }

    /// SAVEPOINT.
    pub(super) fn savepoint(&mut self, name: &str) -> SqlResult<()> {
        if self.settings.autocommit && !self.txn.explicit {
            // There is no transaction for it to be in; MySQL says OK to that.
            return Ok(());
        }
        self.count(Counter::HandlerSavepoint);
        self.ensure_transaction();
        self.txn.touched = true;
        if let Some(txn) = &self.txn.txn {
            let at = txn.savepoint();
            self.txn
                .savepoints
                .retain(|(n, _)| !n.eq_ignore_ascii_case(name));
            self.txn.savepoints.push((name.to_string(), at));
        }
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT: it stays, those after it go. If it fails, so does the whole transaction: what could not be undone
    /// must not be committed.
    pub(super) fn rollback_to(&mut self, name: &str) -> SqlResult<()> {
        let at = self.txn.position(name)?;
        self.count(Counter::HandlerSavepointRollback);
        let to = self.txn.savepoints[at].1;
        self.txn.savepoints.truncate(at + 1);
        let Some(txn) = &mut self.txn.txn else {
            return Ok(());
        };
        self.instance.0.engine.rollback_to(txn, to).map_err(|e| {
            let e = store_error(e, "");
            let _ = self.rollback_now();
            e
        })
    }

    /// RELEASE SAVEPOINT: it goes, and those after it.
    pub(super) fn release_savepoint(&mut self, name: &str) -> SqlResult<()> {
        let at = self.txn.position(name)?;
        self.txn.savepoints.truncate(at);
        Ok(())
    }

    /// SET TRANSACTION without a scope.
    pub(super) fn next_transaction(
        &mut self,
        isolation: Option<Isolation>,
        access: Option<AccessMode>,
    ) -> SqlResult<()> {
        if self.txn.is_open() {
            return Err(SqlError::new(
                1568,
                "Transaction characteristics can't be changed while a transaction is in progress",
            ));
        }
        if isolation.is_some() {
            self.settings.next_isolation = isolation;
        }
        if let Some(access) = access {
            self.settings.next_read_only = Some(access == AccessMode::ReadOnly);
        }
        Ok(())
    }

    /// Error 1792 for a statement that writes in a READ ONLY transaction.
    #[inline]
    pub(super) fn check_writable(&self) -> SqlResult<()> {
        let read_only = if self.txn.is_open() {
            self.txn.read_only
        } else {
            self.settings
                .next_read_only
                .unwrap_or(self.settings.read_only)
        };
        if read_only {
            Err(SqlError::new(
                1792,
                "Cannot execute statement in a READ ONLY transaction.",
            ))
        } else {
            Ok(())
        }
    }
}
