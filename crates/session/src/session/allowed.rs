//! Which privileges the statements take that are not planned. What planned ones take is in their plans ([`millpond_sql::env::privileges`]).
//!
//! Whoever may not is told so before a statement looks at what it names: an error of rights says nothing about what is there.

use std::sync::Arc;

use super::Session;
use crate::accounts::access::{Access, needs};
use crate::accounts::names::Name;
use crate::accounts::privileges::TABLE;
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind};
use millpond_sql::ddl;
use millpond_sql::env::privileges::{self as p, Privileges};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{
    self, Account, AdminStatement, AlterAction, AlterTable, Definer, Explain, FlushItem,
    FlushPlain, ForeignKey, InstanceAction, InstancePlain, KeyPartOf, MaintenanceVerb, ObjectName,
    PartitionAction, PartitionVerb, RoutineStatement, SchemaStatement, SessionStatement, Show,
    ShowKind, StatementKind, TableElement, TableStatement, TransactionStatement,
};

/// Who asks, and from where.
struct Asker<'s> {
    session: &'s Session,
    access: Arc<Access>,
    host: String,
}

impl Session {
    /// The error that whoever runs a statement may not; nothing for those that are planned.
    pub(super) fn check_allowed(&self, kind: &StatementKind) -> SqlResult<()> {
        let access = self.access();
        if access.is_everything() {
            return Ok(());
        }
        if self.facts.guard.must_change() {
            check_changes_password(kind)?;
        }
        let asker = Asker {
            session: self,
            access,
            host: self.facts.guard.host(),
        };
        asker.statement(kind)
    }
}

impl Session {
    /// Error 1227 for who may not make something by another's right.
    pub(super) fn check_may_define(&self, access: &Access, definer: &Name) -> SqlResult<()> {
        if *definer == access.name {
            return Ok(());
        }
        if !access.has_dynamic("SET_USER_ID") {
            return Err(needs("SUPER or SET_USER_ID"));
        }
        let snapshot = self.instance.0.accounts.snapshot();
        match snapshot.get(definer) {
            Some(account) => self.check_system_user(access, account),
            None => Ok(()),
        }
    }
}

/// 1820.
pub(super) fn must_change() -> SqlError {
    SqlError::new(
        1820,
        "You must reset your password using ALTER USER statement before executing this statement.",
    )
}

/// Error 1820 for what does not change a password, and does not lead there.
fn check_changes_password(kind: &StatementKind) -> SqlResult<()> {
    match kind {
        StatementKind::Account(s) if matches!(**s, ast::AccountStatement::AlterUser { .. }) => {
            Ok(())
        }
        StatementKind::Set(_) => Ok(()),
        StatementKind::Show(s) if matches!(s.kind, ShowKind::Warnings | ShowKind::Errors) => Ok(()),
        _ => Err(must_change()),
    }
}

impl Asker<'_> {
    fn statement(&self, kind: &StatementKind) -> SqlResult<()> {
        use StatementKind as K;
        match kind {
            K::Table(s) => self.table_statement(s),
            K::AlterTable(alter) => self.alter_table(alter),
            K::Schema(s) => self.schema_statement(s),
            K::Routine(s) => self.routine_statement(s),
            K::Transaction(s) => self.transaction_statement(s),
            K::Session(s) => match &**s {
                SessionStatement::HandlerOpen { table, .. } => self.on_table(table, p::SELECT),
                _ => Ok(()),
            },
            K::Admin(s) => self.admin_statement(s),
            K::Show(s) => self.show(s),
            K::Explain(e) => match &**e {
                Explain::Table { table, .. } => self.on_some_of_table(table, p::SELECT),
                _ => Ok(()),
            },
            // Planned, or asked where they are carried out.
            _ => Ok(()),
        }
    }

    /// Errors 1142 if privileges on a table lack.
    fn on_table(&self, name: &ObjectName, wanted: Privileges) -> SqlResult<()> {
        let (database, table) = ddl::qualified(name, &self.session.env)?;
        self.on_named(&database, &table, wanted)
    }

    fn on_named(&self, database: &str, table: &str, wanted: Privileges) -> SqlResult<()> {
        if self.session.env.temporary.get(database, table).is_some() {
            return Ok(());
        }
        match wanted & !self.access.table(database, table) {
            0 => Ok(()),
            lacks => Err(self.access.denied_table(lacks, table, &self.host)),
        }
    }

    /// Error 1142 if nothing is granted on a table nor on a column of it.
    fn on_some_of_table(&self, name: &ObjectName, named: Privileges) -> SqlResult<()> {
        let (database, table) = ddl::qualified(name, &self.session.env)?;
        let own = self.session.env.temporary.get(&database, &table).is_some();
        let free = database.eq_ignore_ascii_case("information_schema");
        match own || free || self.access.sees_table(&database, &table) {
            true => Ok(()),
            false => Err(self.access.denied_table(named, &table, &self.host)),
        }
    }

    /// Error 1044.
    fn on_database(&self, database: &str, wanted: Privileges) -> SqlResult<()> {
        self.access.check_database(database, wanted)
    }

    fn table_statement(&self, statement: &TableStatement) -> SqlResult<()> {
        use TableStatement as S;
        match statement {
            S::Create(create) => {
                let elements = create.elements.iter();
                let keys = elements.filter_map(|e| match &*e {
                    TableElement::ForeignKey(key) => Some(key.clone()),
                    _ => None,
                });
                let mut wanted = p::CREATE;
                if create.query.is_some() {
                    wanted |= p::INSERT;
                }
                if create.or_replace {
                    wanted |= p::DROP;
                }
                self.create(&create.name, create.temporary, wanted)?;
                keys.into_iter().try_for_each(|key| self.foreign_key(&key))
            }
            S::CreateLike {
                temporary,
                name,
                like,
                ..
            } => {
                self.create(name, *temporary, p::CREATE)?;
                self.on_table(like, p::SELECT)
            }
            S::Drop {
                temporary, names, ..
            } => match temporary {
                true => Ok(()),
                false => names.iter().try_for_each(|n| self.on_table(&n, p::DROP)),
            },
            S::Truncate(name) => self.on_table(name, p::DROP),
            S::Rename { tables, .. } => tables.iter().try_for_each(|pair| {
                self.on_table(&pair.0, p::ALTER | p::DROP)?;
                self.on_table(&pair.1, p::CREATE | p::INSERT)
            }),
            S::CreateIndex(create) => self.on_table(&create.table, p::INDEX),
            S::DropIndex { table, .. } => self.on_table(table, p::INDEX),
            S::Import(_) => self.access.check_global(p::FILE),
        }
    }

    fn create(&self, name: &ObjectName, temporary: bool, wanted: Privileges) -> SqlResult<()> {
        let (database, table) = ddl::qualified(name, &self.session.env)?;
        if temporary {
            return self.on_database(&database, p::CREATE_TEMPORARY);
        }
        match wanted & !self.access.table(&database, &table) {
            0 => Ok(()),
            lacks => Err(self.access.denied_table(lacks, &table, &self.host)),
        }
    }

    fn foreign_key(&self, key: &ForeignKey) -> SqlResult<()> {
        let name = &key.references.table;
        let (database, table) = ddl::qualified(name, &self.session.env)?;
        let columns = key.references.columns.iter();
        let granted = |c: &str| self.access.column(&database, &table, c) & p::REFERENCES != 0;
        let mut names = columns.filter_map(|part| match &part.of {
            KeyPartOf::Column(name, _) => Some(name.as_str().to_string()),
            KeyPartOf::Expr(_) => None,
        });
        match names.all(|c| granted(&c)) && self.access.sees_table(&database, &table) {
            true => Ok(()),
            false => Err(self.access.denied_table(p::REFERENCES, &table, &self.host)),
        }
    }

    fn alter_table(&self, alter: &AlterTable) -> SqlResult<()> {
        let mut wanted = p::ALTER;
        for action in &*alter.actions.all() {
            match action {
                AlterAction::RenameTo(to) => {
                    self.on_table(&alter.name, p::ALTER | p::DROP)?;
                    self.on_table(to, p::CREATE | p::INSERT)?;
                }
                AlterAction::AddForeignKey(key) => self.foreign_key(key)?,
                AlterAction::Partition(PartitionAction::Exchange { table, .. }) => {
                    let all = p::ALTER | p::INSERT | p::CREATE | p::DROP;
                    wanted |= all;
                    self.on_table(table, all)?;
                }
                AlterAction::Partition(PartitionAction::Verb { verb, .. }) => {
                    wanted = match verb {
                        PartitionVerb::Drop => p::ALTER | p::DROP,
                        PartitionVerb::Truncate => p::DROP,
                        PartitionVerb::Check => p::SELECT,
                        PartitionVerb::Analyze
                        | PartitionVerb::Optimize
                        | PartitionVerb::Repair => p::SELECT | p::INSERT,
                        _ => p::ALTER,
                    };
                }
                _ => {}
            }
        }
        self.on_table(&alter.name, wanted)
    }

    fn schema_statement(&self, statement: &SchemaStatement) -> SqlResult<()> {
        use SchemaStatement as S;
        match statement {
            S::CreateDatabase {
                name, or_replace, ..
            } => {
                let drop = if *or_replace { p::DROP } else { 0 };
                self.on_database(name.as_str(), p::CREATE | drop)
            }
            S::CreateDatabaseLike {
                name, like, data, ..
            } => {
                let rows = if *data { p::INSERT } else { 0 };
                self.on_database(name.as_str(), p::CREATE | rows)?;
                // What it takes besides is asked about each part.
                match self.access.uses_database(like.as_str()) {
                    true => Ok(()),
                    false => Err(self.access.denied_database(like.as_str())),
                }
            }
            S::AlterDatabase { name, .. } => {
                let name = match name {
                    Some(name) => name.as_str().to_string(),
                    None => ddl::current_database(&self.session.env)?,
                };
                self.on_database(&name, p::ALTER)
            }
            S::DropDatabase { name, .. } => self.on_database(name.as_str(), p::DROP),
            S::View(view) => {
                let drop = if view.or_replace || view.alter {
                    p::DROP
                } else {
                    0
                };
                let (database, table) = ddl::qualified(&view.name, &self.session.env)?;
                let lacks = (p::CREATE_VIEW | drop) & !self.access.table(&database, &table);
                if lacks != 0 {
                    return Err(self.access.denied_table(lacks, &table, &self.host));
                }
                self.definer(view.definer.as_ref())
            }
            S::DropView { names, .. } => names.iter().try_for_each(|n| self.on_table(&n, p::DROP)),
            S::Tablespace(_) => self.access.check_global(p::CREATE_TABLESPACE),
            _ => Ok(()),
        }
    }

    /// Error 1227 for another's name in DEFINER.
    fn definer(&self, definer: Option<&Definer>) -> SqlResult<()> {
        let Some(Definer(Account::Named { user, host })) = definer else {
            return Ok(());
        };
        let host = host.as_ref().map_or("%", |h| h.as_str());
        let name = Name::new(user.as_str(), host);
        self.session.check_may_define(&self.access, &name)
    }

    fn routine_statement(&self, statement: &RoutineStatement) -> SqlResult<()> {
        use RoutineStatement as S;
        let env = &self.session.env;
        let on_routine = |procedure, name: &ObjectName| {
            let (database, name) = ddl::qualified(name, env)?;
            match p::ALTER_ROUTINE & !self.access.routine(procedure, &database, &name) {
                0 => Ok(()),
                lacks => Err(self
                    .access
                    .denied_routine(lacks, &database, &name, &self.host)),
            }
        };
        match statement {
            S::Create(create) => {
                let (database, _) = ddl::qualified(&create.name, env)?;
                self.on_database(&database, p::CREATE_ROUTINE)?;
                if create.or_replace {
                    on_routine(create.returns.is_none(), &create.name)?;
                }
                self.definer(create.definer.as_ref())
            }
            S::CreateTrigger(create) => {
                self.on_table(&create.table, p::TRIGGER)?;
                self.definer(create.definer.as_ref())
            }
            S::CreateEvent(create) => {
                let (database, _) = ddl::qualified(&create.name, env)?;
                self.on_database(&database, p::EVENT)?;
                self.definer(create.definer.as_ref())
            }
            S::AlterEvent(alter) => {
                let (database, _) = ddl::qualified(&alter.name, env)?;
                self.on_database(&database, p::EVENT)?;
                if let Some(to) = &alter.rename {
                    let (database, _) = ddl::qualified(to, env)?;
                    self.on_database(&database, p::EVENT)?;
                }
                self.definer(alter.definer.as_ref())
            }
            S::Alter { kind, name, .. } | S::Drop { kind, name, .. } => match kind {
                ast::ProgramKind::Procedure => on_routine(true, name),
                ast::ProgramKind::Function => on_routine(false, name),
                // What drops it finds none, either.
                ast::ProgramKind::Trigger => self.on_trigger(name, || Ok(())),
                ast::ProgramKind::Event => {
                    let (database, _) = ddl::qualified(name, env)?;
                    self.on_database(&database, p::EVENT)
                }
            },
            _ => Ok(()),
        }
    }

    /// Error 1142 for the trigger of a table on which one may have none. Of one that isn't there nothing is known, nor of one whose table one may not see:
    /// it is not there for who asks (`missing` says so).
    fn on_trigger(
        &self,
        name: &ObjectName,
        missing: impl FnOnce() -> SqlResult<()>,
    ) -> SqlResult<()> {
        let (database, name) = ddl::qualified(name, &self.session.env)?;
        let key = programs::key(ProgramKind::Trigger, &database, &name);
        let found = ProgramDef::find(self.session.instance.engine(), &key)?;
        match found.and_then(|def| def.trigger) {
            Some(trigger) if self.access.sees_table(&database, &trigger.table) => {
                self.on_named(&database, &trigger.table, p::TRIGGER)
            }
            Some(_) => missing(),
            None => Ok(()),
        }
    }

    fn transaction_statement(&self, statement: &TransactionStatement) -> SqlResult<()> {
        use TransactionStatement as S;
        match statement {
            S::LockTables(tables) => tables.iter().try_for_each(|locked| {
                let (database, table) = ddl::qualified(&locked.name, &self.session.env)?;
                if self.session.env.temporary.get(&database, &table).is_some() {
                    return Ok(());
                }
                self.on_database(&database, p::LOCK_TABLES)?;
                self.on_named(&database, &table, p::SELECT)
            }),
            S::Set {
                scope: Some(ast::Scope::Global),
                ..
            } => self.access.check_dynamic("SYSTEM_VARIABLES_ADMIN"),
            _ => Ok(()),
        }
    }

    fn admin_statement(&self, statement: &AdminStatement) -> SqlResult<()> {
        use AdminStatement as S;
        match statement {
            S::Maintain { verb, tables, .. } => {
                let wanted = match verb {
                    MaintenanceVerb::Check | MaintenanceVerb::Checksum => p::SELECT,
                    _ => p::SELECT | p::INSERT,
                };
                tables.iter().try_for_each(|t| self.on_table(&t, wanted))
            }
            S::Histogram { tables, .. } => {
                let wanted = p::SELECT | p::INSERT;
                tables.iter().try_for_each(|t| self.on_table(&t, wanted))
            }
            S::Flush { items, .. } => items.iter().try_for_each(|item| self.flush(&item)),
            // KILL asks about whom it is.
            S::Kill { .. } => Ok(()),
            S::AlterInstance(InstanceAction::ReloadTls { .. }) => {
                self.access.check_dynamic("CONNECTION_ADMIN")
            }
            S::AlterInstance(InstanceAction::Plain(InstancePlain::RotateInnodbMasterKey)) => {
                self.access.check_dynamic("ENCRYPTION_KEY_ADMIN")
            }
            S::Backup { .. } => self.access.check_dynamic("BACKUP_ADMIN"),
            S::Shutdown | S::Restart => self.access.check_global(p::SHUTDOWN),
            // It depends on what variables there are in the file.
            S::ResetPersist { .. } => Ok(()),
            _ => self.access.check_global(p::SUPER),
        }
    }

    fn flush(&self, item: &FlushItem) -> SqlResult<()> {
        if self.access.global() & p::RELOAD != 0 {
            return Ok(());
        }
        let dynamic = match item {
            FlushItem::Tables { .. } => "FLUSH_TABLES",
            FlushItem::Plain(FlushPlain::Status) => "FLUSH_STATUS",
            FlushItem::Plain(FlushPlain::UserResources) => "FLUSH_USER_RESOURCES",
            FlushItem::Plain(FlushPlain::OptimizerCosts) => "FLUSH_OPTIMIZER_COSTS",
            _ => return self.access.check_global(p::RELOAD),
        };
        match self.access.has_dynamic(dynamic) {
            true => Ok(()),
            false => Err(needs(&format!("RELOAD or {dynamic}"))),
        }
    }

    fn show(&self, show: &Show) -> SqlResult<()> {
        use ShowKind as K;
        match show.kind {
            K::Events => {
                let database = match &show.database {
                    Some(given) => given.as_str().to_string(),
                    None => ddl::current_database(&self.session.env)?,
                };
                self.on_database(&database, p::EVENT)
            }
            K::CreateEvent => match &show.name {
                Some(name) => {
                    let (database, _) = ddl::qualified(name, &self.session.env)?;
                    self.on_database(&database, p::EVENT)
                }
                None => Ok(()),
            },
            K::Tables | K::TableStatus | K::Triggers | K::OpenTables => {
                let given = show.database.as_ref().map(|d| d.as_str().to_string());
                let database = match (given, show.kind) {
                    (Some(given), _) => given,
                    (None, K::OpenTables) => return Ok(()),
                    (None, _) => ddl::current_database(&self.session.env)?,
                };
                self.sees_database(&database)
            }
            K::CreateDatabase => match &show.name {
                Some(name) => self.sees_database(name.name.as_str()),
                None => Ok(()),
            },
            K::Columns | K::Index => match &show.name {
                Some(name) => self.on_some_of_table(name, p::SELECT),
                None => Ok(()),
            },
            K::CreateTable | K::CreateView => match &show.name {
                Some(name) => self.show_create(name, show.kind),
                None => Ok(()),
            },
            K::CreateProcedure | K::CreateFunction => match &show.name {
                Some(name) => self.show_routine(name, show.kind == K::CreateProcedure),
                None => Ok(()),
            },
            K::CreateTrigger => match &show.name {
                Some(name) => {
                    let missing = || Err(SqlError::new(1360, "Trigger does not exist"));
                    self.on_trigger(name, missing).map_err(|e| match e.code {
                        1142 => needs("TRIGGER"),
                        _ => e,
                    })
                }
                None => Ok(()),
            },
            K::Engine => self.access.check_global(p::PROCESS),
            K::BinaryLogs | K::BinaryLogStatus | K::ReplicaStatus => {
                match self.access.global() & (p::SUPER | p::REPLICATION_CLIENT) {
                    0 => Err(needs("SUPER, REPLICATION CLIENT")),
                    _ => Ok(()),
                }
            }
            K::BinlogEvents | K::RelaylogEvents | K::Replicas => {
                self.access.check_global(p::REPLICATION_SLAVE)
            }
            _ => Ok(()),
        }
    }

    fn sees_database(&self, database: &str) -> SqlResult<()> {
        match self.access.uses_database(database) {
            true => Ok(()),
            false => Err(self.access.denied_database(database)),
        }
    }

    /// SHOW CREATE TABLE is for who may do anything with it; of a view it takes SHOW VIEW and SELECT.
    fn show_create(&self, name: &ObjectName, kind: ShowKind) -> SqlResult<()> {
        let (database, table) = ddl::qualified(name, &self.session.env)?;
        if self.session.env.temporary.get(&database, &table).is_some() {
            return Ok(());
        }
        let view = match kind {
            ShowKind::CreateView => true,
            _ => self.session.view(&database, &table)?.is_some(),
        };
        if view {
            return self.on_named(&database, &table, p::SELECT | p::SHOW_VIEW);
        }
        let free = database.eq_ignore_ascii_case("information_schema");
        if free || self.access.table(&database, &table) & TABLE != 0 {
            return Ok(());
        }
        let e = self.access.denied_table(p::SELECT, &table, &self.host);
        let text = e.message.replacen("SELECT", "SHOW", 1);
        Err(SqlError::new(1142, text))
    }

    /// A routine's text is for who made it, and who may see all of them.
    fn show_routine(&self, name: &ObjectName, procedure: bool) -> SqlResult<()> {
        let (database, name) = ddl::qualified(name, &self.session.env)?;
        let kind = match procedure {
            true => ProgramKind::Procedure,
            false => ProgramKind::Function,
        };
        let missing = || SqlError::new(1305, format!("{} {name} does not exist", kind.word()));
        let key = programs::key(kind, &database, &name);
        let found = ProgramDef::find(self.session.instance.engine(), &key)?;
        let def = found.ok_or_else(missing)?;
        let access = &self.access;
        let all = access.has_dynamic("SHOW_ROUTINE") || access.global() & p::SELECT != 0;
        match all || Name::of(&def.definer) == access.name {
            true => Ok(()),
            false => Err(missing()),
        }
    }
}
