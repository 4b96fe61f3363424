//! By whose right a statement runs: what plans need, asked of accounts; definers of programs.

use millpond_sql::catalog::programs::ProgramDef;
use millpond_sql::env::SessionEnv;
use millpond_sql::env::privileges::{EVENT, Need};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::plan::Plan;
use millpond_sql::planner;

use super::allowed::must_change;
use crate::accounts::Wanted;
use crate::accounts::access::{Access, EVERYTHING};
use crate::accounts::names::Name;
use crate::instance::Facts;

/// What [`Facts::leave_right`] puts back: what CURRENT_USER() and CURRENT_ROLE() said.
pub(super) struct Right(Option<(String, String)>);

/// 1449.
fn no_definer(name: &Name) -> SqlError {
    SqlError::new(
        1449,
        format!("The user specified as a definer ({name}) does not exist"),
    )
}

impl Facts {
    /// Whether what runs may do what this needs.
    pub(crate) fn meets(&self, need: &Need) -> SqlResult<()> {
        self.meets_by(need, Access::check)
    }

    /// The same of a part of it, as `check` sees it.
    fn meets_by(
        &self,
        need: &Need,
        check: fn(&Access, &Need, &str) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let accounts = &self.instance.0.accounts;
        if self.guard.number(accounts) == EVERYTHING {
            return Ok(());
        }
        let access = self.guard.access(accounts);
        let Some(by) = &need.by else {
            return check(&access, need, &self.guard.host());
        };
        let checked = match &by.definer {
            None => check(&access, need, &self.guard.host()),
            Some((user, host)) => {
                let name = Name::new(user, host);
                let snapshot = accounts.snapshot();
                if snapshot.get(&name).is_none() {
                    return Err(no_definer(&name));
                }
                check(&snapshot.access(&name, &Wanted::Default), need, host)
            }
        };
        checked.map_err(|_| planner::invalid_view(&by.view.0, &by.view.1))
    }

    /// Whether what runs may do what a plan needs.
    pub(super) fn check_needs(&self, plan: &Plan) -> SqlResult<()> {
        if self.guard.number(&self.instance.0.accounts) == EVERYTHING {
            return Ok(());
        }
        // Tables come before columns, whichever is named first.
        let needs = plan.needs();
        needs
            .iter()
            .try_for_each(|need| self.meets_by(need, Access::check_object))?;
        needs
            .iter()
            .try_for_each(|need| self.meets_by(need, Access::check_columns))
    }

    /// The same, and that it may run statements at all.
    #[cold]
    pub(super) fn check_plan(&self, plan: &Plan) -> SqlResult<()> {
        match self.guard.must_change() {
            true => Err(must_change()),
            false => self.check_needs(plan),
        }
    }

    /// Errors 1449 and 1044 for an event whose definer is gone, or may have none in its database any more. The session is its definer's.
    pub(super) fn check_event(&self, def: &ProgramDef) -> SqlResult<()> {
        let accounts = &self.instance.0.accounts;
        let name = Name::of(&def.definer);
        if accounts.snapshot().get(&name).is_none() {
            return Err(no_definer(&name));
        }
        let access = self.guard.access(accounts);
        access.check_database(&def.database, EVENT)
    }

    /// A program begins: by its definer's right, or by its caller's. Error 1449 if the definer is gone.
    pub(super) fn enter_right(&self, env: &SessionEnv, def: &ProgramDef) -> SqlResult<Right> {
        let accounts = &self.instance.0.accounts;
        if def.invoker || self.guard.number(accounts) == EVERYTHING {
            self.guard.enter(None);
            return Ok(Right(None));
        }
        let name = Name::of(&def.definer);
        let snapshot = accounts.snapshot();
        if snapshot.get(&name).is_none() {
            return Err(no_definer(&name));
        }
        let access = snapshot.access(&name, &Wanted::Default);
        let active: Vec<String> = access.active.iter().map(Name::quoted).collect();
        let roles = match active.is_empty() {
            true => "NONE".into(),
            false => active.join(","),
        };
        self.guard.enter(Some(access));
        let before = (env.account.replace(name.plain()), env.roles.replace(roles));
        Ok(Right(Some(before)))
    }

    /// It ends.
    pub(super) fn leave_right(&self, env: &SessionEnv, right: Right) {
        self.guard.leave();
        if let Some((account, roles)) = right.0 {
            env.account.replace(account);
            env.roles.replace(roles);
        }
    }
}
