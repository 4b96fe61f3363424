//! XA transactions: X/Open's branches as MySQL has them.
//!
//! A branch is *active* from XA START to XA END, then *idle*, then, after XA PREPARE, *prepared*; one whose transaction was rolled back
//! meanwhile (a deadlock) is for *rollback only* from XA END on. An active or idle branch is the session's explicit transaction.
//! With `xa_detach_on_prepare` a prepared one is no session's any more; without, it stays its session's until that ends. Then
//! anybody may end it. The store keeps it, with the owner that holds its locks (`store/txn/xa`); the session gets another owner.
//!
//! What ends transactions is refused in a branch, and what uses tables in one that isn't active (1399).

use millpond_store::Xid;

use super::Session;
use super::dispatch::Answer;
use crate::accounts::access::needs;
use crate::counters::Counter;
use crate::show;
use millpond_sql::env::Diagnostic;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{self, XaAssociation, XaStatement};
use millpond_sql::plan::Plan;
use millpond_sql::store_error::store_error;
use millpond_sql::types::SqlType;
use millpond_sql::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    Idle,
    Prepared,
    RollbackOnly,
}

/// A session's XA transaction.
pub(super) struct Branch {
    xid: Xid,
    state: State,
    /// Why it can only be rolled back.
    error: Option<RolledBack>,
}

#[derive(Clone, Copy)]
enum RolledBack {
    Deadlock,
    Timeout,
    Other,
}

impl RolledBack {
    fn error(self) -> SqlError {
        let (code, message) = match self {
            RolledBack::Other => (1402, "XA_RBROLLBACK: Transaction branch was rolled back"),
            RolledBack::Timeout => (
                1613,
                "XA_RBTIMEOUT: Transaction branch was rolled back: took too long",
            ),
            RolledBack::Deadlock => (
                1614,
                "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected",
            ),
        };
        SqlError::new(code, message)
    }
}

impl Branch {
    pub fn is_prepared(&self) -> bool {
        self.state == State::Prepared
    }

    /// Its transaction has been rolled back, because of this error if one is given. The first reason counts. What a session rolls back that has a
    /// prepared one isn't that.
    pub fn rolled_back(&mut self, code: Option<u16>) {
        if self.is_prepared() {
            return;
        }
        self.error.get_or_insert(match code {
            Some(1213) => RolledBack::Deadlock,
            Some(1205) => RolledBack::Timeout,
            _ => RolledBack::Other,
        });
    }
}

/// 1397.
fn unknown() -> SqlError {
    SqlError::new(1397, "XAER_NOTA: Unknown XID")
}

/// 1398.
fn invalid() -> SqlError {
    let what = "XAER_INVAL: Invalid arguments (or unsupported command)";
    SqlError::new(1398, what)
}

/// 1401.
fn fatal() -> SqlError {
    SqlError::new(
        1401,
        "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency",
    )
}

/// 4091.
fn temporary() -> SqlError {
    SqlError::new(
        4091,
        "Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON",
    )
}

fn xid_of(given: &ast::Xid) -> SqlResult<Xid> {
    let (global, branch, format) = given.values().ok_or_else(invalid)?;
    Ok(Xid {
        global,
        branch,
        format,
    })
}

impl Session {
    /// 1399.
    fn wrong_state(&self) -> SqlError {
        let state = match self.txn.xa.as_ref().map(|b| b.state) {
            None => "NON-EXISTING",
            Some(State::Active) => "ACTIVE",
            Some(State::Idle) => "IDLE",
            Some(State::Prepared) => "PREPARED",
            Some(State::RollbackOnly) => "ROLLBACK ONLY",
        };
        SqlError::new(
            1399,
            format!(
                "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state"
            ),
        )
    }

    /// The statement that began the session's XA transaction, with the XID as MySQL writes it.
    pub(super) fn xa_start_text(&self) -> Option<String> {
        let xid = &self.txn.xa.as_ref()?.xid;
        Some(format!("XA START {xid};"))
    }

    /// Error 1399 in an XA transaction.
    pub(super) fn check_outside_xa(&self) -> SqlResult<()> {
        match self.txn.xa {
            None => Ok(()),
            Some(_) => Err(self.wrong_state()),
        }
    }

    /// Error 1399 in an XA transaction that isn't active.
    pub(super) fn check_active_xa(&self) -> SqlResult<()> {
        match &self.txn.xa {
            Some(branch) if branch.state != State::Active => Err(self.wrong_state()),
            _ => Ok(()),
        }
    }

    /// Errors 1399 and 4091 for a statement about temporary tables.
    pub(super) fn check_temporary_in_xa(&self) -> SqlResult<()> {
        self.check_active_xa()?;
        match self.txn.xa {
            Some(_) if self.settings.xa_detach => Err(temporary()),
            _ => Ok(()),
        }
    }

    /// What an XA transaction has against a statement.
    pub(super) fn check_plan_in_xa(&self, plan: &Plan) -> SqlResult<()> {
        if plan.tables.is_empty() && !plan.calls() {
            return Ok(());
        }
        self.check_active_xa()?;
        match plan.tables.iter().any(|t| t.table.is_temporary()) {
            true => self.check_temporary_in_xa(),
            false => Ok(()),
        }
    }

    /// Every XA statement.
    pub(super) fn xa_statement(&mut self, statement: &XaStatement) -> SqlResult<Answer> {
        use XaStatement as S;
        match statement {
            S::Start(xid, how) => self.xa_start(xid_of(xid)?, *how)?,
            S::End(xid, None) => self.xa_end(&xid_of(xid)?)?,
            S::End(_, Some(_)) => return Err(invalid()),
            S::Prepare(xid) => self.xa_prepare(&xid_of(xid)?)?,
            S::Commit(xid, one_phase) => self.xa_commit(&xid_of(xid)?, *one_phase)?,
            S::Rollback(xid) => self.xa_rollback(&xid_of(xid)?)?,
            S::Recover(convert) => return self.xa_recover(*convert),
        }
        Ok(Answer::ok())
    }

    fn xa_start(&mut self, xid: Xid, how: Option<XaAssociation>) -> SqlResult<()> {
        if let (Some(branch), Some(XaAssociation::Resume)) = (&mut self.txn.xa, how)
            && branch.state == State::Idle
        {
            if branch.xid != xid {
                return Err(unknown());
            }
            branch.state = State::Active;
            return Ok(());
        }
        if how.is_some() {
            return Err(invalid());
        }
        self.check_outside_xa()?;
        if self.txn.is_open() || !self.locked.is_empty() || self.read_locked {
            return Err(SqlError::new(
                1400,
                "XAER_OUTSIDE: Some work is done outside global transaction",
            ));
        }
        let inner = &self.instance.0;
        if !inner.branches.attach(&inner.engine, &xid) {
            return Err(SqlError::new(1440, "XAER_DUPID: The XID already exists"));
        }
        self.txn.xa = Some(Branch {
            xid,
            state: State::Active,
            error: None,
        });
        self.ensure_transaction();
        Ok(())
    }

    fn xa_end(&mut self, xid: &Xid) -> SqlResult<()> {
        let wrong = self.wrong_state();
        let branch = match &mut self.txn.xa {
            Some(branch) if branch.state == State::Active => branch,
            _ => return Err(wrong),
        };
        if branch.xid != *xid {
            return Err(unknown());
        }
        if let Some(error) = branch.error {
            branch.state = State::RollbackOnly;
            return Err(error.error());
        }
        branch.state = State::Idle;
        Ok(())
    }

    fn xa_prepare(&mut self, xid: &Xid) -> SqlResult<()> {
        match &self.txn.xa {
            Some(branch) if branch.state != State::Idle => return Err(self.wrong_state()),
            None => return Err(self.wrong_state()),
            Some(branch) if branch.xid != *xid => return Err(unknown()),
            Some(_) => {}
        }
        let Some(txn) = self.txn.txn.take() else {
            self.end_branch();
            return Err(RolledBack::Other.error());
        };
        self.count(Counter::HandlerPrepare);
        let engine = self.instance.0.engine.clone();
        let lsn = match engine.prepare(txn, xid.clone()) {
            Ok(lsn) => lsn,
            Err(back) => {
                let (txn, e) = *back;
                tracing::error!(%xid, "an XA transaction could not be prepared: {e}");
                let undone = engine.rollback(txn);
                self.end_branch();
                undone.map_err(|e| store_error(e, ""))?;
                return Err(RolledBack::Other.error());
            }
        };
        self.change_owner();
        if self.settings.xa_detach {
            self.end_branch();
        } else if let Some(branch) = &mut self.txn.xa {
            branch.state = State::Prepared;
            self.leave_txn();
        }
        engine.wait_durable(lsn).map_err(|e| store_error(e, ""))
    }

    /// Another owner for what the session does from now on: the one that it had holds the locks of what has been prepared.
    fn change_owner(&mut self) {
        let owner = self.instance.0.engine.owner();
        self.seat().change_owner(&owner, |before| {
            owner.succeed(before);
            before.set_tag(0);
        });
        self.owner = owner;
    }

    /// Nothing is left of the transaction that was the branch's.
    fn leave_txn(&mut self) {
        self.txn.explicit = false;
        self.txn.savepoints.clear();
        self.txn.asked = (None, None);
        self.forget_asked();
    }

    /// The session has no branch any more.
    fn end_branch(&mut self) {
        self.leave_txn();
        if let Some(branch) = self.txn.xa.take() {
            self.instance.0.branches.detach(&branch.xid);
        }
    }

    /// The session's own branch, if it is this one. Error 1399 where the session may not end another's.
    fn is_own(&self, xid: &Xid) -> SqlResult<bool> {
        match &self.txn.xa {
            Some(branch) if branch.xid == *xid => Ok(true),
            None if !self.txn.is_open() => Ok(false),
            _ => Err(self.wrong_state()),
        }
    }

    /// Ends a prepared transaction that is no session's. Error 1397 if there is none.
    fn end_detached(&self, xid: &Xid, commit: bool) -> SqlResult<()> {
        if self.instance.0.branches.is_attached(xid) {
            return Err(unknown());
        }
        self.end_prepared(xid, commit)
    }

    fn end_prepared(&self, xid: &Xid, commit: bool) -> SqlResult<()> {
        let engine = &self.instance.0.engine;
        let ended = match commit {
            true => engine.commit_prepared(xid),
            false => engine.rollback_prepared(xid),
        };
        match ended.map_err(|e| store_error(e, ""))? {
            true => Ok(()),
            false => Err(unknown()),
        }
    }

    fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> SqlResult<()> {
        if !self.is_own(xid)? {
            return self.end_detached(xid, true);
        }
        let wrong = self.wrong_state();
        let (state, error) = match &self.txn.xa {
            Some(branch) => (branch.state, branch.error),
            None => return Err(wrong),
        };
        let done = match (state, one_phase) {
            _ if error.is_some() => {
                let undone = self.rollback_now();
                undone.and(error.map_or(Ok(()), |e| Err(e.error())))
            }
            (State::Idle, true) => self.commit_now().map_err(|e| {
                tracing::error!(%xid, "an XA transaction could not be committed: {e}");
                fatal()
            }),
            (State::Prepared, false) => {
                self.count(Counter::HandlerCommit);
                self.end_prepared(xid, true)
            }
            _ => return Err(wrong),
        };
        self.end_branch();
        done
    }

    fn xa_rollback(&mut self, xid: &Xid) -> SqlResult<()> {
        if !self.is_own(xid)? {
            return self.end_detached(xid, false);
        }
        let done = match self.txn.xa.as_ref().map(|b| b.state) {
            None | Some(State::Active) => return Err(self.wrong_state()),
            Some(State::Prepared) => {
                self.count(Counter::HandlerRollback);
                self.end_prepared(xid, false)
            }
            Some(State::Idle | State::RollbackOnly) => self.rollback_now(),
        };
        self.end_branch();
        done
    }

    /// The session ends, or begins anew: what it has open is rolled back, what is prepared left to others.
    pub(super) fn leave_transaction(&mut self) -> SqlResult<()> {
        let undone = self.rollback_now();
        if self.txn.xa.is_some() {
            self.end_branch();
        }
        undone
    }

    fn xa_recover(&self, convert: bool) -> SqlResult<Answer> {
        let access = self.access();
        if !access.is_everything() && !access.has_dynamic("XA_RECOVER_ADMIN") {
            // What is missing stands beside the error, as in MySQL.
            let why = Diagnostic::of(&needs("XA_RECOVER_ADMIN"));
            self.env.diagnostics.borrow_mut().push(why);
            return Err(fatal());
        }
        let prepared = self.instance.0.engine.prepared();
        let rows = prepared.iter().map(|xid| shown(xid, convert)).collect();
        let number = |name| {
            let mut column = show::meta(name, 0);
            column.ty = SqlType::bigint();
            column
        };
        let columns = vec![
            number("formatID"),
            number("gtrid_length"),
            number("bqual_length"),
            show::meta("data", 258),
        ];
        Ok(Answer::Rows(columns, rows))
    }
}

/// A row of XA RECOVER.
fn shown(xid: &Xid, convert: bool) -> Vec<Value<'static>> {
    let data = [&xid.global[..], &xid.branch[..]].concat();
    let data = match convert {
        true => {
            let digits = data.iter().map(|b| format!("{b:02X}"));
            format!("0x{}", digits.collect::<String>()).into_bytes()
        }
        false => data,
    };
    vec![
        Value::Int(xid.format),
        Value::Int(xid.global.len() as i64),
        Value::Int(xid.branch.len() as i64),
        Value::Bytes(data.into()),
    ]
}
