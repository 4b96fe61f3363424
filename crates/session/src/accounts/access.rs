//! What an account may do: its own privileges and those of the roles that are active, as they are asked for.
//!
//! An [`Access`] never changes. Its number is its own alone, so that "this plan has been checked for this access" is one comparison.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millpond_sql::env::privileges::{self as p, Need, Object, Privileges};
use millpond_sql::error::{SqlError, SqlResult};

use super::account::{Account, Grants, OnTable, RoutineName};
use super::names::{Name, is_like, specificity};
use super::privileges::{DATABASE, GLOBAL, listed};

/// Tables of performance_schema that everybody may read.
const WORLD: [&str; 8] = [
    "global_status",
    "global_variables",
    "persisted_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "variables_info",
];

/// The number of [`Access::everything`].
pub const EVERYTHING: u64 = 0;

/// What an account may do.
#[derive(Debug)]
pub struct Access {
    /// No other access has it.
    pub number: u64,
    /// The account.
    pub name: Name,
    /// The roles that are active: those that were asked for, in order.
    pub active: Vec<Name>,
    /// The account and roles that it gets privileges from.
    pub holders: Vec<Name>,
    global: Privileges,
    /// Global privileges that do not hold in a database.
    restrictions: BTreeMap<String, Privileges>,
    /// Databases of grants are names, not patterns.
    literal: bool,
    dynamic: HashMap<String, bool>,
    /// By holder: databases or patterns, the most specific first.
    databases: Vec<Vec<(String, Privileges)>>,
    tables: HashMap<(String, String), OnTable>,
    routines: HashMap<RoutineName, Privileges>,
}

impl Access {
    /// That of who is the process itself: all of it, unasked.
    pub fn everything(name: Name) -> Access {
        Access {
            number: EVERYTHING,
            name,
            active: Vec::new(),
            holders: Vec::new(),
            global: GLOBAL,
            restrictions: BTreeMap::new(),
            literal: false,
            dynamic: HashMap::new(),
            databases: Vec::new(),
            tables: HashMap::new(),
            routines: HashMap::new(),
        }
    }

    /// Of an account and roles, each with what it has been granted itself. `active`: the roles asked for; `literal`: databases of grants are names,
    /// not patterns.
    pub fn of<'a>(
        name: &Name,
        active: Vec<Name>,
        holders: impl Iterator<Item = (&'a Name, &'a Arc<Account>)>,
        literal: bool,
    ) -> Access {
        static NEXT: AtomicU64 = AtomicU64::new(EVERYTHING + 1);
        let mut access = Access {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            active,
            global: 0,
            literal,
            ..Access::everything(name.clone())
        };
        let mut all = Grants::default();
        for (holder, account) in holders {
            access.holders.push(holder.clone());
            let grants = &account.grants;
            let mut databases: Vec<(String, Privileges)> = grants
                .databases
                .iter()
                .map(|(d, p)| (d.clone(), *p))
                .collect();
            databases.sort_by_key(|(d, _)| specificity(d));
            access.databases.push(databases);
            all.join(grants);
        }
        access.global = all.global;
        access.restrictions = all.restrictions;
        access.dynamic = all.dynamic.into_iter().collect();
        access.tables = all.tables.into_iter().collect();
        access.routines = all.routines.into_iter().collect();
        access
    }

    /// Whether nothing is asked of it.
    pub fn is_everything(&self) -> bool {
        self.number == EVERYTHING
    }

    /// Global privileges.
    pub fn global(&self) -> Privileges {
        self.global
    }

    /// Whether it has a dynamic privilege, or SUPER, which stands for all of them but those that MySQL has it not stand for.
    pub fn has_dynamic(&self, name: &str) -> bool {
        let own = self.is_everything() || self.dynamic.contains_key(name);
        own || (self.global & p::SUPER != 0 && !["SYSTEM_USER", "SHOW_ROUTINE"].contains(&name))
    }

    /// Whether it may grant a dynamic privilege on.
    pub fn grants_dynamic(&self, name: &str) -> bool {
        self.is_everything() || self.dynamic.get(name).is_some_and(|grant| *grant)
    }

    /// Global privileges that do not hold in some databases.
    pub fn restrictions(&self) -> &BTreeMap<String, Privileges> {
        &self.restrictions
    }

    /// Privileges on a database, the global ones among them.
    pub fn database(&self, database: &str) -> Privileges {
        let mut all = self.global & !self.restrictions.get(database).copied().unwrap_or(0);
        if database.eq_ignore_ascii_case("information_schema") {
            return all | p::SELECT;
        }
        for list in &self.databases {
            let fits = |d: &&(String, Privileges)| match self.literal {
                true => d.0 == database,
                false => is_like(d.0.as_bytes(), database.as_bytes()),
            };
            all |= list.iter().find(fits).map_or(0, |d| d.1);
        }
        all
    }

    /// What is granted on a table itself.
    fn on_table(&self, database: &str, table: &str) -> Option<&OnTable> {
        self.tables.get(&(database.to_string(), table.to_string()))
    }

    /// Privileges on all of a table.
    pub fn table(&self, database: &str, table: &str) -> Privileges {
        let own = self.on_table(database, table).map_or(0, |on| on.table);
        own | self.database(database)
    }

    /// Privileges on a table or on some column of it.
    pub fn some_of_table(&self, database: &str, table: &str) -> Privileges {
        let own = self.on_table(database, table).map_or(0, OnTable::any);
        own | self.database(database)
    }

    /// Privileges on a column.
    pub fn column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let all = self.table(database, table);
        let on = self.on_table(database, table);
        let own = on.and_then(|on| on.columns.get(&column.to_lowercase()));
        all | own.copied().unwrap_or(0)
    }

    /// Privileges on a routine.
    pub fn routine(&self, procedure: bool, database: &str, name: &str) -> Privileges {
        let key = (procedure, database.to_string(), name.to_lowercase());
        self.database(database) | self.routines.get(&key).copied().unwrap_or(0)
    }

    /// Whether a database may be known to be there.
    pub fn sees_database(&self, database: &str) -> bool {
        database.eq_ignore_ascii_case("information_schema")
            || self.global & p::SHOW_DATABASES != 0
            || self.uses_database(database)
    }

    /// Whether a database may be used.
    pub fn uses_database(&self, database: &str) -> bool {
        database.eq_ignore_ascii_case("information_schema")
            || self.database(database) & DATABASE != 0
            || self.tables.keys().any(|(d, _)| d == database)
            || self.routines.keys().any(|(_, d, _)| d == database)
            || (database.eq_ignore_ascii_case("performance_schema") && self.global != 0)
    }

    /// Whether a table may be known to be there.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.some_of_table(database, table) & super::privileges::TABLE != 0
    }

    /// Whether a routine may be known to be there.
    pub fn sees_routine(&self, procedure: bool, database: &str, name: &str) -> bool {
        self.routine(procedure, database, name)
            & (p::EXECUTE | p::ALTER_ROUTINE | p::CREATE_ROUTINE)
            != 0
            || self.has_dynamic("SHOW_ROUTINE")
    }

    /// What a need lacks, as the error that says so to a client of a host.
    pub fn check(&self, need: &Need, host: &str) -> SqlResult<()> {
        self.check_object(need, host)?;
        self.check_columns(need, host)
    }

    /// The same, columns aside.
    pub fn check_object(&self, need: &Need, host: &str) -> SqlResult<()> {
        if self.is_everything() {
            return Ok(());
        }
        match need.object {
            Object::Server => match need.whole & !self.global {
                0 => Ok(()),
                _ => Err(self.denied_login(host)),
            },
            Object::Function | Object::Procedure => {
                let procedure = need.object == Object::Procedure;
                let has = self.routine(procedure, &need.database, &need.name);
                match need.whole & !has {
                    0 => Ok(()),
                    lacks => Err(self.denied_routine(lacks, &need.database, &need.name, host)),
                }
            }
            Object::Table => self.check_table(need, host),
        }
    }

    /// Whether a need is about a table that everybody may read.
    fn is_of_world(need: &Need) -> bool {
        let is = |name: &str| need.database.eq_ignore_ascii_case(name);
        let world = |name: &&str| name.eq_ignore_ascii_case(&need.name);
        is("information_schema") || (is("performance_schema") && WORLD.iter().any(world))
    }

    fn check_table(&self, need: &Need, host: &str) -> SqlResult<()> {
        let (database, table) = (&*need.database, &*need.name);
        if Access::is_of_world(need) {
            return Ok(());
        }
        let all = self.table(database, table);
        let lacks = need.whole & !all;
        if lacks != 0 {
            return Err(self.denied_table(lacks, table, host));
        }
        let any = self.some_of_table(database, table);
        if need.some != 0 && need.some & any == 0 {
            // What is read first is what is asked for.
            let first = need.some & need.some.wrapping_neg();
            return Err(self.denied_table(first, table, host));
        }
        Ok(())
    }

    /// What columns of a need lack.
    pub fn check_columns(&self, need: &Need, host: &str) -> SqlResult<()> {
        if self.is_everything() || need.object != Object::Table || Access::is_of_world(need) {
            return Ok(());
        }
        let (database, table) = (&*need.database, &*need.name);
        let any = self.some_of_table(database, table);
        for (column, wanted) in &need.columns {
            let lacks = wanted & !self.column(database, table, column);
            if lacks == 0 {
                continue;
            }
            // What a statement does to a table at all is denied of the table, what it reads of a column besides of the column.
            let nowhere = lacks & any == 0 && lacks & p::SELECT == 0;
            return Err(match need.star || nowhere {
                true => self.denied_table(lacks, table, host),
                false => self.denied_column(lacks, column, table, host),
            });
        }
        Ok(())
    }

    /// 1045, as for a client that is let in no further.
    pub fn denied_login(&self, host: &str) -> SqlError {
        let user = &self.name.user;
        SqlError::new(
            1045,
            format!("Access denied for user '{user}'@'{host}' (using password: YES)"),
        )
    }

    /// 1142.
    pub fn denied_table(&self, lacks: Privileges, table: &str, host: &str) -> SqlError {
        SqlError::new(
            1142,
            format!(
                "{} command denied to user '{}'@'{host}' for table '{table}'",
                listed(lacks),
                self.name.user
            ),
        )
    }

    /// 1143.
    fn denied_column(&self, lacks: Privileges, column: &str, table: &str, host: &str) -> SqlError {
        SqlError::new(
            1143,
            format!(
                "{} command denied to user '{}'@'{host}' for column '{column}' in table '{table}'",
                listed(lacks),
                self.name.user
            ),
        )
    }

    /// 1370.
    pub fn denied_routine(
        &self,
        lacks: Privileges,
        database: &str,
        name: &str,
        host: &str,
    ) -> SqlError {
        SqlError::new(
            1370,
            format!(
                "{} command denied to user '{}'@'{host}' for routine '{database}.{name}'",
                listed(lacks).to_lowercase(),
                self.name.user
            ),
        )
    }

    /// 1044.
    pub fn denied_database(&self, database: &str) -> SqlError {
        SqlError::new(
            1044,
            format!(
                "Access denied for user {} to database '{database}'",
                self.name
            ),
        )
    }

    /// Error 1044 if it lacks privileges on a database.
    pub fn check_database(&self, database: &str, wanted: Privileges) -> SqlResult<()> {
        match wanted & !self.database(database) {
            0 => Ok(()),
            _ => Err(self.denied_database(database)),
        }
    }

    /// Error 1227 if it lacks a global privilege.
    pub fn check_global(&self, wanted: Privileges) -> SqlResult<()> {
        match self.global & wanted == wanted {
            true => Ok(()),
            false => Err(needs(&listed(wanted))),
        }
    }

    /// Error 1227 if it has neither SUPER nor a dynamic privilege.
    pub fn check_dynamic(&self, name: &str) -> SqlResult<()> {
        match self.has_dynamic(name) {
            true => Ok(()),
            false => Err(needs(&format!("SUPER or {name}"))),
        }
    }
}

/// 1227.
pub fn needs(what: &str) -> SqlError {
    SqlError::new(
        1227,
        format!(
            "Access denied; you need (at least one of) the {what} privilege(s) for this operation"
        ),
    )
}
