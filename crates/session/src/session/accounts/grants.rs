//! GRANT and REVOKE of privileges.

use std::collections::BTreeMap;

use super::Session;
use crate::accounts::Change;
use crate::accounts::access::Access;
use crate::accounts::account::{Account, Grants, OnTable};
use crate::accounts::names::Name;
use crate::accounts::privileges::{self, COLUMN, DATABASE, DYNAMIC, GLOBAL, ROUTINE, TABLE};
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind};
use millpond_sql::ddl;
use millpond_sql::env::is_system_schema;
use millpond_sql::env::privileges::{CREATE, CREATE_USER, GRANT, Privileges};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{
    AccountStatement, Grant, GrantKind, GrantLevel, Items, ObjectName, Privilege, PrivilegeName,
    Secret,
};
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;

/// 1064 for what GRANT no longer does in MySQL 8.
fn grants_only(near: &str) -> SqlError {
    SqlError::syntax(format!(
        "GRANT makes no account and changes none but its privileges (CREATE USER and ALTER USER do), near '{near}'"
    ))
}

/// On what.
enum On {
    Everything,
    Database(String),
    Table(String, String),
    /// Whether it is a procedure; database and name.
    Routine(bool, String, String),
}

/// How something is granted.
struct Giving<'a> {
    /// WITH GRANT OPTION.
    option: bool,
    grantor: &'a str,
    /// Global privileges that the grantor lacks in databases.
    restrictions: &'a BTreeMap<String, Privileges>,
}

/// What is granted or revoked.
struct What {
    on: On,
    /// On all of it.
    set: Privileges,
    /// On columns.
    columns: Vec<(String, Privileges)>,
    dynamic: Vec<String>,
}

/// 1144.
fn illegal() -> SqlError {
    SqlError::new(
        1144,
        "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used",
    )
}

fn wrong_use(a: &str, b: &str) -> SqlError {
    SqlError::new(1221, format!("Incorrect usage of {a} and {b}"))
}

/// 1141.
fn no_grant(name: &Name) -> SqlError {
    SqlError::new(
        1141,
        format!(
            "There is no such grant defined for user '{}' on host '{}'",
            name.user, name.host
        ),
    )
}

/// 1147, 1403.
fn no_grant_on(name: &Name, code: u16, what: &str, object: &str) -> SqlError {
    let base = no_grant(name).message;
    SqlError::new(code, format!("{base} on {what} '{object}'"))
}

impl What {
    fn of(privileges: &Items<Privilege>, on: On) -> SqlResult<What> {
        let most = match &on {
            On::Everything => GLOBAL,
            On::Database(_) => DATABASE,
            On::Table(..) => TABLE,
            On::Routine(..) => ROUTINE,
        };
        let mut what = What {
            on,
            set: 0,
            columns: Vec::new(),
            dynamic: Vec::new(),
        };
        if privileges.is_empty() {
            what.set = most & !GRANT;
            if let On::Everything = what.on {
                what.dynamic = DYNAMIC.iter().map(|d| d.to_string()).collect();
            }
            return Ok(what);
        }
        for privilege in privileges {
            match &privilege.name {
                PrivilegeName::Static(name) => {
                    what.put(&privilege, privileges::bit(*name), most)?
                }
                PrivilegeName::Dynamic(name) => what.put_dynamic(name.as_str())?,
            }
        }
        Ok(what)
    }

    fn put(&mut self, privilege: &Privilege, bit: Privileges, most: Privileges) -> SqlResult<()> {
        if bit & !most != 0 {
            return Err(match self.on {
                On::Database(_) => wrong_use("DB GRANT", "GLOBAL PRIVILEGES"),
                _ => illegal(),
            });
        }
        if privilege.columns.is_empty() {
            self.set |= bit;
            return Ok(());
        }
        match self.on {
            On::Table(..) if bit & COLUMN != 0 => {}
            On::Table(..) => return Err(wrong_use("COLUMN GRANT", "NON-COLUMN PRIVILEGES")),
            _ => return Err(illegal()),
        }
        for column in &privilege.columns {
            let column = column.as_str().to_lowercase();
            match self.columns.iter_mut().find(|(c, _)| *c == column) {
                Some((_, known)) => *known |= bit,
                None => self.columns.push((column, bit)),
            }
        }
        Ok(())
    }

    fn put_dynamic(&mut self, name: &str) -> SqlResult<()> {
        let name = name.to_uppercase();
        if !DYNAMIC.contains(&&*name) {
            return Err(SqlError::new(
                1149,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right \
                 syntax to use",
            ));
        }
        if !matches!(self.on, On::Everything) {
            return Err(SqlError::new(
                3619,
                format!("Illegal privilege level specified for {name}"),
            ));
        }
        self.dynamic.push(name);
        Ok(())
    }

    /// Error if somebody may not hand this out.
    fn check_grantor(&self, access: &Access, host: &str) -> SqlResult<()> {
        let wanted = self.set | GRANT;
        let lacks = match &self.on {
            On::Everything => {
                let dynamic = self.dynamic.iter().all(|d| access.grants_dynamic(d));
                let all_statics = self.set == 0 || wanted & !access.global() == 0;
                return match dynamic && all_statics {
                    true => Ok(()),
                    false => Err(access.denied_login(host)),
                };
            }
            On::Database(database) => {
                return access.check_database(database, wanted);
            }
            On::Table(database, table) => {
                let lacks = wanted & !access.table(database, table);
                let mut columns = self.columns.iter();
                let column = columns.find_map(|(column, wanted)| {
                    let lacks = wanted & !access.column(database, table, column);
                    (lacks != 0).then_some(lacks)
                });
                let lacks = lacks | column.unwrap_or(0);
                (lacks, table)
            }
            On::Routine(procedure, database, name) => {
                return match wanted & !access.routine(*procedure, database, name) {
                    0 => Ok(()),
                    lacks => Err(access.denied_routine(lacks, database, name, host)),
                };
            }
        };
        match lacks.0 {
            0 => Ok(()),
            set => Err(access.denied_table(set, lacks.1, host)),
        }
    }

    /// Grants it.
    fn give(&self, grants: &mut Grants, how: &Giving<'_>) {
        let option_bit = if how.option { GRANT } else { 0 };
        let set = self.set | option_bit;
        match &self.on {
            On::Everything => {
                // GRANT OPTION for dynamic privileges is each one's own.
                let statics = self.set != 0 || self.dynamic.is_empty();
                give_global(grants, if statics { set } else { 0 }, how.restrictions);
                for name in &self.dynamic {
                    *grants.dynamic.entry(name.clone()).or_default() |= how.option;
                }
            }
            On::Database(database) => {
                // What was revoked of everything here alone is there again; it needs no grant of its own.
                let lifted = set & grants.restrictions.get(database).copied().unwrap_or(0);
                put_set(&mut grants.restrictions, database, |has| has & !lifted);
                put_set(&mut grants.databases, database, |has| has | set & !lifted);
            }
            On::Table(database, table) => {
                let key = (database.clone(), table.clone());
                let on: &mut OnTable = grants.tables.entry(key).or_default();
                on.table |= set;
                for (column, set) in &self.columns {
                    *on.columns.entry(column.clone()).or_default() |= set;
                }
                on.grantor = how.grantor.to_string();
            }
            On::Routine(procedure, database, name) => {
                let key = (*procedure, database.clone(), name.to_lowercase());
                *grants.routines.entry(key).or_default() |= set;
            }
        }
    }

    /// Revokes it: errors 1141, 1147 and 1403 where nothing has been granted. `partial`: what is granted on everything can be revoked in a database.
    fn take(
        &self,
        name: &Name,
        grants: &mut Grants,
        (all, partial): (bool, bool),
    ) -> SqlResult<()> {
        let set = self.set;
        match &self.on {
            On::Everything => {
                grants.global &= !set;
                grants.restrictions.retain(|_, lacks| {
                    *lacks &= !set;
                    *lacks != 0
                });
                for name in &self.dynamic {
                    grants.dynamic.remove(name);
                }
                if set & GRANT != 0 {
                    grants.dynamic.values_mut().for_each(|grant| *grant = false);
                }
            }
            On::Database(database) => {
                let lacks = set & grants.global;
                if partial && lacks != 0 {
                    put_set(&mut grants.restrictions, database, |has| has | lacks);
                } else if !grants.databases.contains_key(database) {
                    return Err(no_grant(name));
                }
                put_set(&mut grants.databases, database, |has| has & !set);
            }
            On::Table(database, table) => {
                let key = (database.clone(), table.clone());
                let missing = || no_grant_on(name, 1147, "table", table);
                let on = grants.tables.get_mut(&key).ok_or_else(missing)?;
                on.table &= !set;
                // What is taken of the table is taken of its columns.
                on.columns.values_mut().for_each(|has| *has &= !set);
                if all {
                    on.columns.clear();
                }
                for (column, set) in &self.columns {
                    let has = on.columns.get_mut(column).ok_or_else(missing)?;
                    *has &= !set;
                }
                on.columns.retain(|_, has| *has != 0);
                if on.any() == 0 {
                    grants.tables.remove(&key);
                }
            }
            On::Routine(procedure, database, routine) => {
                let key = (*procedure, database.clone(), routine.to_lowercase());
                let missing = || no_grant_on(name, 1403, "routine", routine);
                let has = grants.routines.get_mut(&key).ok_or_else(missing)?;
                *has &= !set;
                if *has == 0 {
                    grants.routines.remove(&key);
                }
            }
        }
        Ok(())
    }
}

/// Changes what is said of a database; nothing is not kept.
fn put_set(
    sets: &mut BTreeMap<String, Privileges>,
    database: &str,
    f: impl FnOnce(Privileges) -> Privileges,
) {
    let has = sets.remove(database).unwrap_or(0);
    let becomes = f(has);
    if becomes != 0 {
        sets.insert(database.to_string(), becomes);
    }
}

/// Grants global privileges. Where the grantor has them not, who had them not before gets them not.
fn give_global(grants: &mut Grants, set: Privileges, lacks: &BTreeMap<String, Privileges>) {
    let new = set & !grants.global;
    grants.global |= set;
    for (database, restricted) in &mut grants.restrictions {
        *restricted &= !(set & !lacks.get(database).copied().unwrap_or(0));
    }
    for (database, lacks) in lacks {
        put_set(&mut grants.restrictions, database, |has| has | new & lacks);
    }
    grants.restrictions.retain(|_, restricted| *restricted != 0);
}

impl Session {
    /// On what something is granted; `there`: a table or routine must be there.
    fn granted_on(&self, level: &GrantLevel, kind: Option<GrantKind>) -> SqlResult<On> {
        let object = |name: &ObjectName| ddl::qualified(name, &self.env);
        match (level, kind) {
            (
                GrantLevel::Object(name),
                Some(kind @ (GrantKind::Function | GrantKind::Procedure)),
            ) => {
                let (database, name) = object(name)?;
                Ok(On::Routine(kind == GrantKind::Procedure, database, name))
            }
            (_, Some(GrantKind::Function | GrantKind::Procedure)) => Err(illegal()),
            (GrantLevel::Object(name), _) => {
                let (database, table) = object(name)?;
                Ok(On::Table(database, table))
            }
            (GrantLevel::Global, _) => Ok(On::Everything),
            (GrantLevel::Current, _) => Ok(On::Database(ddl::current_database(&self.env)?)),
            (GrantLevel::Database(name), _) => Ok(On::Database(name.as_str().to_string())),
        }
    }

    /// Errors 1146, 1054 and 1305 for what is not there.
    fn check_there(&self, what: &What) -> SqlResult<()> {
        let engine = self.instance.engine();
        match &what.on {
            On::Database(database) | On::Table(database, _)
                if database.eq_ignore_ascii_case("information_schema") =>
            {
                Err(self.access().denied_database(database))
            }
            On::Table(database, table) if is_system_schema(database) => {
                match crate::show::find(database, table) {
                    Some(_) => Ok(()),
                    None => Err(ddl::no_such_table(database, table)),
                }
            }
            On::Table(database, table) => {
                let def = match engine.table_def(database, table) {
                    Ok(def) => def,
                    // Who may create it may have it granted before.
                    Err(_) if what.set & CREATE != 0 && what.columns.is_empty() => return Ok(()),
                    Err(millpond_store::Error::NoSuchDatabase(_)) => {
                        return Err(ddl::no_such_table(database, table));
                    }
                    Err(e) => return Err(store_error(e, table)),
                };
                let schema = Schema::of(&def)?;
                match what
                    .columns
                    .iter()
                    .find(|(c, _)| schema.column(c).is_none())
                {
                    Some((column, _)) => Err(SqlError::new(
                        1054,
                        format!("Unknown column '{column}' in '{table}'"),
                    )),
                    None => Ok(()),
                }
            }
            On::Routine(procedure, database, name) => {
                let kind = match procedure {
                    true => ProgramKind::Procedure,
                    false => ProgramKind::Function,
                };
                let key = programs::key(kind, database, name);
                match ProgramDef::find(engine, &key)? {
                    Some(_) => Ok(()),
                    None => Err(ProgramDef::missing(kind, &format!("{database}.{name}"))),
                }
            }
            On::Everything | On::Database(_) => Ok(()),
        }
    }

    /// GRANT.
    pub(super) fn grant(&mut self, statement: &AccountStatement) -> SqlResult<()> {
        let AccountStatement::Grant {
            what,
            to,
            require,
            with_option,
            limits,
            grantor,
        } = statement
        else {
            return Err(SqlError::unsupported("this statement"));
        };
        if grantor.is_some() {
            return Err(SqlError::unsupported("GRANT ... AS"));
        }
        let mut names = Vec::new();
        for spec in to {
            let secret = spec
                .authentication
                .iter()
                .any(|a| a.plugin.is_some() || a.secret != Secret::None);
            if secret {
                return Err(grants_only("IDENTIFIED"));
            }
            names.push(self.account_name(&spec.account)?);
        }
        if require.is_some() || !limits.is_empty() {
            return Err(grants_only("REQUIRE or limits"));
        }
        match what {
            Grant::Proxy(_) => Err(SqlError::unsupported("GRANT PROXY")),
            Grant::Roles(roles) => self.grant_roles(roles, &names, *with_option),
            Grant::Privileges {
                privileges,
                kind,
                on,
            } => {
                let what = What::of(privileges, self.granted_on(on, *kind)?)?;
                let access = self.access();
                what.check_grantor(&access, &self.facts.guard.host())?;
                self.check_there(&what)?;
                let grantor = access.name.plain();
                let how = Giving {
                    option: *with_option,
                    grantor: &grantor,
                    restrictions: access.restrictions(),
                };
                self.change_accounts(|change| {
                    for name in &names {
                        let account = self.granted(change, name, &access)?;
                        what.give(&mut account.grants, &how);
                    }
                    Ok(())
                })
            }
        }
    }

    /// An account that is granted something: error 1410 if there is none.
    fn granted<'c>(
        &self,
        change: &'c mut Change,
        name: &Name,
        access: &Access,
    ) -> SqlResult<&'c mut Account> {
        let account = change.get_mut(name).ok_or_else(|| {
            SqlError::new(1410, "You are not allowed to create a user with GRANT")
        })?;
        if *name != access.name {
            self.check_system_user(access, account)?;
        }
        Ok(account)
    }

    /// REVOKE.
    pub(super) fn revoke(&mut self, statement: &AccountStatement) -> SqlResult<()> {
        let AccountStatement::Revoke {
            if_exists,
            what,
            admin_option,
            from,
            ignore_unknown,
        } = statement
        else {
            return Err(SqlError::unsupported("this statement"));
        };
        if *admin_option {
            return Err(SqlError::unsupported("REVOKE ADMIN OPTION FOR"));
        }
        let names = self.account_names(from)?;
        let lenient = (*if_exists, *ignore_unknown);
        let access = self.access();
        let partial = self.instance.0.accounts.snapshot().settings.partial_revokes;
        let what = match what {
            Some(Grant::Proxy(_)) => return Err(SqlError::unsupported("REVOKE PROXY")),
            Some(Grant::Roles(roles)) => return self.revoke_roles(roles, &names, lenient),
            Some(Grant::Privileges {
                privileges,
                kind,
                on,
            }) => {
                let what = What::of(privileges, self.granted_on(on, *kind)?)?;
                what.check_grantor(&access, &self.facts.guard.host())?;
                Some((what, privileges.is_empty()))
            }
            None => {
                access.check_global(CREATE_USER)?;
                None
            }
        };
        let notes = self.change_accounts(|change| {
            let mut notes = Vec::new();
            for name in &names {
                let Some(account) = change.get_mut(name) else {
                    if !*ignore_unknown {
                        return Err(no_grant(name));
                    }
                    let text = format!("Authorization ID {name} does not exist.");
                    notes.push(SqlError::new(3162, text));
                    continue;
                };
                if *name != access.name {
                    self.check_system_user(&access, account)?;
                }
                let Some((what, all)) = &what else {
                    account.grants = Grants::default();
                    continue;
                };
                match what.take(name, &mut account.grants, (*all, partial)) {
                    Err(e) if *if_exists => notes.push(e),
                    done => done?,
                }
            }
            Ok(notes)
        })?;
        for e in notes {
            self.env.warn(e.code, e.message);
        }
        Ok(())
    }

    /// Gives whoever makes a routine what it takes to use and change it (`automatic_sp_privileges`).
    pub(in crate::session) fn grant_own_routine(
        &self,
        procedure: bool,
        database: &str,
        name: &str,
    ) -> SqlResult<()> {
        use millpond_sql::env::privileges::{ALTER_ROUTINE, EXECUTE};
        let access = self.access();
        let wanted = EXECUTE | ALTER_ROUTINE;
        if access.is_everything() || wanted & !access.routine(procedure, database, name) == 0 {
            return Ok(());
        }
        let key = (procedure, database.to_string(), name.to_lowercase());
        self.change_accounts(|change| {
            if let Some(account) = change.get_mut(&access.name) {
                *account.grants.routines.entry(key).or_default() |= wanted;
            }
            Ok(())
        })
    }

    /// A routine is gone, and with it what was granted on it.
    pub(in crate::session) fn revoke_routine(
        &self,
        procedure: bool,
        database: &str,
        name: &str,
    ) -> SqlResult<()> {
        let key = (procedure, database.to_string(), name.to_lowercase());
        let snapshot = self.instance.0.accounts.snapshot();
        let granted = |a: &Account| a.grants.routines.contains_key(&key);
        if !snapshot.accounts.values().any(|a| granted(a)) {
            return Ok(());
        }
        self.change_accounts(|change| {
            let holders = change.accounts.iter().filter(|(_, a)| granted(a));
            let holders: Vec<Name> = holders.map(|(n, _)| n.clone()).collect();
            for name in holders {
                if let Some(account) = change.get_mut(&name) {
                    account.grants.routines.remove(&key);
                }
            }
            Ok(())
        })
    }

    /// SHOW GRANTS and the like of an account that is not there.
    pub(super) fn no_grants(name: &Name) -> SqlError {
        no_grant(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond_sql::env::SqlMode;
    use millpond_sql::env::privileges::{DELETE, INSERT, SELECT};
    use millpond_sql::parse::ast::StatementKind;
    use millpond_sql::parse::parse_one;

    fn what(sql: &str, on: On) -> SqlResult<What> {
        let statement = parse_one(sql, SqlMode::DEFAULT)?;
        let StatementKind::Account(account) = statement.kind() else {
            panic!("{sql}");
        };
        let AccountStatement::Grant {
            what: Grant::Privileges { privileges, .. },
            ..
        } = &**account
        else {
            panic!("{sql}");
        };
        What::of(privileges, on)
    }

    #[test]
    fn privileges_are_of_their_levels() {
        let database = || On::Database("d".into());
        let table = || On::Table("d".into(), "t".into());
        let code = |r: SqlResult<What>| r.map_or_else(|e| e.code, |_| 0);
        assert_eq!(code(what("grant file on d.* to u", database())), 1221);
        assert_eq!(code(what("grant execute on d.t to u", table())), 1144);
        assert_eq!(code(what("grant delete (a) on d.t to u", table())), 1221);
        assert_eq!(code(what("grant select (a) on d.* to u", database())), 1144);
        assert_eq!(code(what("grant role_admin on d.* to u", database())), 3619);
        assert_eq!(
            code(what("grant no_such_admin on *.* to u", On::Everything)),
            1149
        );
        let all = what("grant all on d.t to u", table()).unwrap();
        assert_eq!(all.set, TABLE & !GRANT);
    }

    #[test]
    fn what_is_revoked_is_gone() {
        let table = || On::Table("d".into(), "t".into());
        let name = Name::new("u", "%");
        let mut grants = Grants::default();
        let both = what("grant select (a), insert on d.t to u", table()).unwrap();
        let none = BTreeMap::new();
        let how = Giving {
            option: true,
            grantor: "root@localhost",
            restrictions: &none,
        };
        both.give(&mut grants, &how);
        let select = what("grant select on d.t to u", table()).unwrap();
        select.take(&name, &mut grants, (false, false)).unwrap();
        let on = &grants.tables[&("d".to_string(), "t".to_string())];
        assert!(on.columns.is_empty());
        let rest = what("grant insert, grant option on d.t to u", table()).unwrap();
        rest.take(&name, &mut grants, (false, false)).unwrap();
        assert_eq!(grants, Grants::default());
        let again = rest.take(&name, &mut grants, (false, false));
        assert_eq!(again.unwrap_err().code, 1147);
    }

    fn how(restrictions: &BTreeMap<String, Privileges>) -> Giving<'_> {
        Giving {
            option: false,
            grantor: "root@localhost",
            restrictions,
        }
    }

    #[test]
    fn what_is_revoked_in_one_database() {
        let name = Name::new("u", "%");
        let database = || On::Database("d".into());
        let all = what("grant select, insert on *.* to u", On::Everything).unwrap();
        let none = BTreeMap::new();
        let mut grants = Grants::default();
        all.give(&mut grants, &how(&none));
        let both = what("grant insert, delete on d.* to u", database()).unwrap();
        let refused = both.take(&name, &mut grants, (false, false));
        assert_eq!(refused.unwrap_err().code, 1141);
        both.take(&name, &mut grants, (false, true)).unwrap();
        assert_eq!(grants.restrictions["d"], INSERT);
        // Who lacks it hands it on as it has it.
        let mut others = Grants::default();
        all.give(&mut others, &how(&grants.restrictions));
        assert_eq!(
            (others.global, others.restrictions["d"]),
            (SELECT | INSERT, INSERT)
        );
        // A grant in the database undoes that; what is more is granted there.
        both.give(&mut grants, &how(&none));
        assert!(grants.restrictions.is_empty());
        assert_eq!(grants.databases["d"], DELETE);
        // So does one on everything by who has it everywhere.
        all.give(&mut others, &how(&none));
        assert!(others.restrictions.is_empty());
    }
}
