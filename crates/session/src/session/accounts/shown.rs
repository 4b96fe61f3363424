//! SHOW GRANTS, SHOW CREATE USER.

use super::Session;
use super::roles::check_granted;
use crate::accounts::names::Name;
use crate::accounts::texts;
use crate::show::{self, Shown};
use millpond_sql::env::privileges as p;
use millpond_sql::error::SqlResult;
use millpond_sql::parse::ast::Show;

impl Session {
    /// The account that a SHOW is about: errors 1044 and 1141 for others' that one may not see, or that there are not.
    fn shown_account(&self, show: &Show) -> SqlResult<Name> {
        let access = self.access();
        let Some(account) = &show.account else {
            return Ok(access.name.clone());
        };
        let name = self.account_name(account)?;
        if name != access.name && !access.holders.contains(&name) {
            access.check_database("mysql", p::SELECT)?;
        }
        match self.instance.0.accounts.snapshot().get(&name) {
            Some(_) => Ok(name),
            None if name == access.name => Ok(name),
            None => Err(Session::no_grants(&name)),
        }
    }

    /// SHOW GRANTS.
    pub(in crate::session) fn show_grants(&self, show: &Show) -> SqlResult<Shown> {
        let name = self.shown_account(show)?;
        let access = self.access();
        let own = show.account.is_none() || name == access.name;
        let snapshot = self.instance.0.accounts.snapshot();
        let mut using = self.account_names(&show.roles)?;
        if let Some(account) = snapshot.get(&name) {
            check_granted(&snapshot.settings, &name, account, &using)?;
        }
        if own && using.is_empty() {
            using.clone_from(&access.active);
        }
        let heading = format!("Grants for {}", name.plain());
        let mut rows = texts::grants(&snapshot, &name, &using);
        if own && access.is_everything() {
            // The process itself, whatever account it calls itself.
            rows = vec![format!(
                "GRANT ALL PRIVILEGES ON *.* TO {} WITH GRANT OPTION",
                name.quoted()
            )];
        }
        Ok(show::list(heading, rows))
    }

    /// SHOW CREATE USER.
    pub(in crate::session) fn show_create_user(&self, show: &Show) -> SqlResult<Shown> {
        let name = self.shown_account(show)?;
        let snapshot = self.instance.0.accounts.snapshot();
        let account = snapshot
            .get(&name)
            .ok_or_else(|| Session::no_grants(&name))?;
        let heading = format!("CREATE USER for {}", name.plain());
        Ok(show::list(
            heading,
            vec![texts::create_user(&name, account)],
        ))
    }
}
