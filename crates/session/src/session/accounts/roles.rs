//! GRANT and REVOKE of roles; SET ROLE, SET DEFAULT ROLE.

use std::collections::BTreeSet;

use super::{Session, unknown};
use crate::accounts::access::needs;
use crate::accounts::account::Account;
use crate::accounts::names::Name;
use crate::accounts::{Settings, Wanted};
use millpond_sql::env::privileges as p;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{self, Items, RoleChoice};

/// 3530.
fn not_granted(role: &Name, to: &Name) -> SqlError {
    SqlError::new(
        3530,
        format!("{} is not granted to {}", role.quoted(), to.quoted()),
    )
}

/// 3628.
fn is_mandatory(role: &Name) -> SqlError {
    SqlError::new(
        3628,
        format!(
            "The role {} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the role identifier from \
             the global variable mandatory_roles.",
            role.quoted()
        ),
    )
}

/// Error 3628 for roles that everybody has.
pub(super) fn check_not_mandatory(settings: &Settings, roles: &[Name]) -> SqlResult<()> {
    match roles.iter().find(|r| settings.mandatory.contains(r)) {
        Some(role) => Err(is_mandatory(role)),
        None => Ok(()),
    }
}

/// Error 3530 for a role that an account has not been granted.
pub(super) fn check_granted(
    settings: &Settings,
    name: &Name,
    account: &Account,
    roles: &[Name],
) -> SqlResult<()> {
    let has = |r: &&Name| account.roles.contains_key(*r) || settings.mandatory.contains(r);
    let lacks = roles.iter().find(|r| !has(r));
    match lacks {
        Some(role) => Err(not_granted(role, name)),
        None => Ok(()),
    }
}

/// The default roles that are meant.
pub(super) fn defaults(
    settings: &Settings,
    name: &Name,
    account: &Account,
    wanted: &Wanted,
) -> SqlResult<BTreeSet<Name>> {
    match wanted {
        Wanted::Default => Ok(account.default_roles.clone()),
        Wanted::AllBut(but) => {
            let all = account.roles.keys().chain(&settings.mandatory);
            Ok(all.filter(|r| !but.contains(r)).cloned().collect())
        }
        Wanted::These(list) => {
            check_granted(settings, name, account, list)?;
            Ok(list.iter().cloned().collect())
        }
    }
}

impl Session {
    /// Which roles are meant.
    pub(super) fn wanted(&self, roles: &RoleChoice) -> SqlResult<Wanted> {
        Ok(match roles {
            RoleChoice::Default => Wanted::Default,
            RoleChoice::None => Wanted::These(Vec::new()),
            RoleChoice::AllExcept(but) => Wanted::AllBut(self.account_names(but)?),
            RoleChoice::Roles(list) => Wanted::These(self.account_names(list)?),
        })
    }

    /// SET ROLE.
    pub(super) fn set_role(&mut self, roles: &RoleChoice) -> SqlResult<()> {
        let wanted = self.wanted(roles)?;
        let accounts = &self.instance.0.accounts;
        let own = self.facts.guard.own(accounts);
        let snapshot = accounts.snapshot();
        if let (Wanted::These(list) | Wanted::AllBut(list), Some(account)) =
            (&wanted, snapshot.get(&own.name))
        {
            check_granted(&snapshot.settings, &own.name, account, list)?;
        }
        if !own.is_everything() {
            self.facts.guard.set_roles(accounts, wanted);
        }
        self.show_roles();
        Ok(())
    }

    /// SET DEFAULT ROLE.
    pub(super) fn set_default_role(
        &mut self,
        roles: &RoleChoice,
        users: &Items<ast::Account>,
    ) -> SqlResult<()> {
        let wanted = self.wanted(roles)?;
        let users = self.account_names(users)?;
        let access = self.access();
        if users.iter().any(|u| *u != access.name) {
            access.check_global(p::CREATE_USER)?;
        }
        let settings = self.instance.0.accounts.snapshot().settings.clone();
        self.change_accounts(|change| {
            for user in &users {
                let account = change.get_mut(user).ok_or_else(|| unknown(user))?;
                account.default_roles = defaults(&settings, user, account, &wanted)?;
            }
            Ok(())
        })
    }

    /// Error 1227 for roles that one may not hand out.
    pub(super) fn check_admin(&self, roles: &[Name]) -> SqlResult<()> {
        let access = self.access();
        let snapshot = self.instance.0.accounts.snapshot();
        let admin = |role: &&Name| {
            let holders = access.holders.iter().filter_map(|h| snapshot.get(h));
            holders
                .into_iter()
                .any(|a| a.roles.get(*role) == Some(&true))
        };
        match access.has_dynamic("ROLE_ADMIN") || roles.iter().all(|r| admin(&r)) {
            true => Ok(()),
            false => Err(needs("WITH ADMIN, ROLE_ADMIN, SUPER")),
        }
    }

    /// GRANT of roles.
    pub(super) fn grant_roles(
        &mut self,
        roles: &Items<ast::Account>,
        to: &[Name],
        admin: bool,
    ) -> SqlResult<()> {
        let roles = self.account_names(roles)?;
        self.check_admin(&roles)?;
        self.change_accounts(|change| {
            for name in roles.iter().chain(to) {
                change.accounts.get(name).ok_or_else(|| unknown(name))?;
            }
            for user in to {
                for role in &roles {
                    if reaches(&change.accounts, role, user) {
                        return Err(SqlError::new(
                            4027,
                            format!(
                                "User account {} is directly or indirectly granted to the role {}. The GRANT would create a loop",
                                role.quoted(),
                                user.quoted()
                            ),
                        ));
                    }
                    if let Some(account) = change.get_mut(user) {
                        *account.roles.entry(role.clone()).or_default() |= admin;
                    }
                }
            }
            Ok(())
        })
    }

    /// REVOKE of roles.
    pub(super) fn revoke_roles(
        &mut self,
        roles: &Items<ast::Account>,
        from: &[Name],
        (if_exists, ignore_unknown): (bool, bool),
    ) -> SqlResult<()> {
        let roles = self.account_names(roles)?;
        self.check_admin(&roles)?;
        check_not_mandatory(&self.instance.0.accounts.snapshot().settings, &roles)?;
        let notes = self.change_accounts(|change| {
            let mut notes = Vec::new();
            for user in from {
                if !change.accounts.contains_key(user) {
                    if !ignore_unknown {
                        return Err(unknown(user));
                    }
                    notes.push(unknown(user));
                    continue;
                }
                for role in &roles {
                    let there = change.accounts.contains_key(role);
                    if let Some(e) = (!there).then(|| unknown(role)) {
                        if !if_exists {
                            return Err(e);
                        }
                        notes.push(e);
                        continue;
                    }
                    if let Some(account) = change.get_mut(user) {
                        account.roles.remove(role);
                        account.default_roles.remove(role);
                    }
                }
            }
            Ok(notes)
        })?;
        for e in notes {
            self.env.warn(e.code, e.message);
        }
        Ok(())
    }
}

/// Whether an account is, or comes to have, a role.
fn reaches(
    accounts: &std::collections::BTreeMap<Name, std::sync::Arc<Account>>,
    from: &Name,
    role: &Name,
) -> bool {
    let mut seen: Vec<&Name> = Vec::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if name == role {
            return true;
        }
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        if let Some(account) = accounts.get(name) {
            open.extend(account.roles.keys());
        }
    }
    false
}
