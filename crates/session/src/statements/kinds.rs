//! What a session does about each kind of statement besides carrying it out: one row each.

use crate::counters::Counter as C;
use crate::watch::StatementKind as W;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{
    AccountStatement, AdminStatement, AlterAction, AlterTable, CompoundStatement, CreateTable,
    DeleteTarget, Explain, Grant, Ident, Insert, InsertSource, InstanceAction, InstancePlain,
    Items, MaintenanceOption, MaintenanceVerb, PartitionAction, PartitionVerb, ProgramKind,
    QueryBody, RoutineStatement, SchemaStatement, SessionStatement, SetStatement, Show, ShowKind,
    StatementKind, TableRef, TableStatement, TablespaceKind, TransactionStatement, Update,
    XaStatement,
};

/// What a statement does to the open transaction, and what a READ ONLY one says to it, before it is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing, or what it does by itself.
    Own,
    /// It commits, and changes what READ ONLY transactions and locked tables protect.
    Defines,
    /// It makes or drops temporary tables and says so: a change that commits nothing.
    Temporary,
    /// It commits.
    Commits,
    /// It commits, and is refused where transactions are READ ONLY; the one it ends does not count.
    Rebuilds,
}

/// A kind of statement, as far as the session is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The status variable that counts it.
    pub counter: Option<C>,
    /// The one that is about its kind, whether or not it counts here.
    pub kind: C,
    /// What records know it as.
    pub watched: W,
    pub effect: Effect,
    /// Whether PREPARE takes it.
    pub preparable: bool,
    /// Whether it leaves the diagnostics of the one before, because it is about them.
    pub keeps_diagnostics: bool,
    /// Whether it is among those that `log_slow_admin_statements` is about.
    pub administrative: bool,
    /// Whether it is about profiles, and has none itself.
    pub is_profile: bool,
}

impl Row {
    const fn new(counter: C, watched: W, effect: Effect) -> Row {
        Row {
            counter: Some(counter),
            kind: counter,
            watched,
            effect,
            preparable: true,
            keeps_diagnostics: false,
            administrative: false,
            is_profile: false,
        }
    }
    /// Whether it counts among an account's updates.
    pub fn changes(&self) -> bool {
        use crate::watch::Class as K;
        let rows = matches!(
            self.watched.class(),
            K::Insert | K::Replace | K::Update | K::Delete | K::Ddl
        );
        rows || matches!(
            self.effect,
            Effect::Defines | Effect::Temporary | Effect::Rebuilds
        )
    }
    /// Counted nowhere, or where it is carried out.
    const fn uncounted(mut self) -> Row {
        self.counter = None;
        self
    }
    const fn unpreparable(mut self) -> Row {
        self.preparable = false;
        self
    }
    /// Taken by PREPARE though others of its kind are not.
    const fn prepared(mut self) -> Row {
        self.preparable = true;
        self
    }
    const fn about_diagnostics(mut self) -> Row {
        self.keeps_diagnostics = true;
        self
    }
    const fn about_profiles(mut self) -> Row {
        self.is_profile = true;
        self
    }
    const fn administrative(mut self) -> Row {
        self.administrative = true;
        self
    }
}

/// 1235 under a statement's own name.
fn refused(name: impl std::fmt::Display) -> SqlResult<Row> {
    Err(SqlError::unsupported(name))
}

/// 1235 under the first words of a statement.
fn refused_by_words(kind: &StatementKind, count: usize) -> SqlResult<Row> {
    let text = kind.to_string();
    let words: Vec<&str> = text.split_whitespace().take(count).collect();
    refused(words.join(" "))
}

/// The row of a statement; error 1235 if Millpond does not run its kind.
pub(crate) fn row(kind: &StatementKind) -> SqlResult<Row> {
    use StatementKind as K;
    Ok(match kind {
        K::Query(_) => Row::new(C::Select, W::Select, Effect::Own),
        K::Insert(insert) => insert_row(insert),
        K::Update(update) => update_row(update),
        K::Delete(delete) => match delete.target {
            DeleteTarget::One { .. } => Row::new(C::Delete, W::Delete, Effect::Own),
            DeleteTarget::Several { .. } => Row::new(C::DeleteMulti, W::Delete, Effect::Own),
        },
        K::Do(_) => Row::new(C::Do, W::Other, Effect::Own),
        K::Explain(explain) => match &**explain {
            Explain::Statement { .. } => Row::new(C::Explain, W::Other, Effect::Own),
            Explain::Table { .. } => Row::new(C::ShowFields, W::Show, Effect::Own),
            Explain::Connection { .. } => return refused("EXPLAIN FOR CONNECTION"),
        },
        K::Table(statement) => return table_row(statement),
        K::AlterTable(alter) => alter_row(alter),
        K::Schema(statement) => return schema_row(kind, statement),
        K::Routine(statement) => return routine_row(statement),
        K::Transaction(statement) => return transaction_row(statement),
        K::Set(statement) => return set_row(statement),
        K::Session(statement) => return session_row(statement),
        K::Admin(statement) => return admin_row(kind, statement),
        K::Show(show) => show_row(show),
        K::Call(_) => Row::new(C::CallProcedure, W::Other, Effect::Own),
        K::Compound(statement) => return compound_row(kind, statement),
        K::Account(statement) => account_row(statement),
        K::Replication(_) => return refused("replication"),
    })
}

fn insert_row(insert: &Insert) -> Row {
    let queried =
        matches!(&insert.source, InsertSource::Query(q) if !matches!(q.body, QueryBody::Values(_)));
    match (insert.replace, queried) {
        (false, false) => Row::new(C::Insert, W::Insert, Effect::Own),
        (false, true) => Row::new(C::InsertSelect, W::Insert, Effect::Own),
        (true, false) => Row::new(C::Replace, W::Replace, Effect::Own),
        (true, true) => Row::new(C::ReplaceSelect, W::Replace, Effect::Own),
    }
}

fn update_row(update: &Update) -> Row {
    let one = matches!(&update.tables[..], [TableRef::Table(_)]);
    let counter = if one { C::Update } else { C::UpdateMulti };
    Row::new(counter, W::Update, Effect::Own)
}

/// Definitions of tables that may be temporary.
fn defines(temporary: bool) -> Effect {
    if temporary {
        Effect::Temporary
    } else {
        Effect::Defines
    }
}

fn table_row(statement: &TableStatement) -> SqlResult<Row> {
    use TableStatement as S;
    Ok(match statement {
        S::Create(CreateTable { temporary, .. }) | S::CreateLike { temporary, .. } => {
            Row::new(C::CreateTable, W::CreateTable, defines(*temporary))
        }
        S::Drop { temporary, .. } => Row::new(C::DropTable, W::DropTable, defines(*temporary)),
        S::Truncate(_) => Row::new(C::Truncate, W::TruncateTable, Effect::Defines),
        S::Rename { .. } => Row::new(C::RenameTable, W::RenameTable, Effect::Defines),
        S::CreateIndex(_) => {
            Row::new(C::CreateIndex, W::CreateIndex, Effect::Defines).administrative()
        }
        S::DropIndex { .. } => {
            Row::new(C::DropIndex, W::DropIndex, Effect::Defines).administrative()
        }
        S::Import(_) => return refused("IMPORT TABLE"),
    })
}

/// What is done, to which partitions (`None`: all), and how.
type Upkeep = (
    MaintenanceVerb,
    Option<Items<Ident>>,
    Items<MaintenanceOption>,
);

/// ALTER TABLE ... ANALYZE, CHECK, OPTIMIZE, REPAIR PARTITION.
pub(crate) fn partition_upkeep(alter: &AlterTable) -> Option<Upkeep> {
    let [
        AlterAction::Partition(PartitionAction::Verb {
            verb,
            partitions,
            options,
            ..
        }),
    ] = &*alter.actions.all()
    else {
        return None;
    };
    let verb = match verb {
        PartitionVerb::Analyze => MaintenanceVerb::Analyze,
        PartitionVerb::Check => MaintenanceVerb::Check,
        PartitionVerb::Optimize => MaintenanceVerb::Optimize,
        PartitionVerb::Repair => MaintenanceVerb::Repair,
        _ => return None,
    };
    Some((verb, partitions.clone(), options.clone()))
}

fn alter_row(alter: &AlterTable) -> Row {
    match partition_upkeep(alter) {
        Some((verb, ..)) => maintenance_row(verb).prepared(),
        None => Row::new(C::AlterTable, W::AlterTable, Effect::Defines).administrative(),
    }
}

fn maintenance_row(verb: MaintenanceVerb) -> Row {
    let row = match verb {
        MaintenanceVerb::Analyze => Row::new(C::Analyze, W::Other, Effect::Commits),
        MaintenanceVerb::Check => Row::new(C::Check, W::Other, Effect::Commits).unpreparable(),
        MaintenanceVerb::Checksum => Row::new(C::Checksum, W::Other, Effect::Commits),
        MaintenanceVerb::Optimize => Row::new(C::Optimize, W::OptimizeTable, Effect::Rebuilds),
        MaintenanceVerb::Repair => Row::new(C::Repair, W::Other, Effect::Rebuilds),
    };
    row.administrative()
}

fn schema_row(kind: &StatementKind, statement: &SchemaStatement) -> SqlResult<Row> {
    use SchemaStatement as S;
    Ok(match statement {
        S::CreateDatabase { .. } | S::CreateDatabaseLike { .. } => {
            Row::new(C::CreateDb, W::CreateDatabase, Effect::Defines)
        }
        S::AlterDatabase { .. } => {
            Row::new(C::AlterDb, W::AlterDatabase, Effect::Defines).unpreparable()
        }
        S::DropDatabase { .. } => Row::new(C::DropDb, W::DropDatabase, Effect::Defines),
        S::DropView { .. } => Row::new(C::DropView, W::Other, Effect::Defines),
        S::Tablespace(t) if t.kind == TablespaceKind::Tablespace => {
            Row::new(C::AlterTablespace, W::Other, Effect::Defines).unpreparable()
        }
        S::View(view) if view.alter => {
            Row::new(C::AlterView, W::Other, Effect::Defines).unpreparable()
        }
        S::View(_) => Row::new(C::CreateView, W::Other, Effect::Defines),
        _ => return refused_by_words(kind, 2),
    })
}

fn routine_row(statement: &RoutineStatement) -> SqlResult<Row> {
    use RoutineStatement as S;
    match statement {
        S::Drop { kind, .. } => {
            let row = |counter| Row::new(counter, W::Other, Effect::Defines);
            Ok(match kind {
                ProgramKind::Procedure => row(C::DropProcedure).unpreparable(),
                ProgramKind::Function => row(C::DropFunction).unpreparable(),
                ProgramKind::Trigger => row(C::DropTrigger).unpreparable(),
                ProgramKind::Event => row(C::DropEvent),
            })
        }
        S::Create(routine) if routine.returns.is_some() => {
            Ok(Row::new(C::CreateFunction, W::Other, Effect::Defines).unpreparable())
        }
        S::Create(_) => Ok(Row::new(C::CreateProcedure, W::Other, Effect::Defines).unpreparable()),
        S::CreateLoadable { .. } => refused("CREATE FUNCTION ... SONAME"),
        S::CreateTrigger(_) => {
            Ok(Row::new(C::CreateTrigger, W::Other, Effect::Defines).unpreparable())
        }
        S::CreateEvent(_) => Ok(Row::new(C::CreateEvent, W::Other, Effect::Defines)),
        S::Alter {
            kind: ProgramKind::Procedure,
            ..
        } => Ok(Row::new(C::AlterProcedure, W::Other, Effect::Defines).unpreparable()),
        S::Alter {
            kind: ProgramKind::Function,
            ..
        } => Ok(Row::new(C::AlterFunction, W::Other, Effect::Defines).unpreparable()),
        S::Alter { kind, .. } => refused(format_args!("ALTER {kind}")),
        S::AlterEvent(_) => Ok(Row::new(C::AlterEvent, W::Other, Effect::Defines)),
    }
}

/// Statements of programs are theirs; those of diagnostics may stand alone.
fn compound_row(kind: &StatementKind, statement: &CompoundStatement) -> SqlResult<Row> {
    use CompoundStatement as S;
    let row = |counter| {
        Row::new(counter, W::Other, Effect::Own)
            .unpreparable()
            .about_diagnostics()
    };
    match statement {
        S::Signal(..) => Ok(row(C::Signal)),
        S::Resignal(..) => Ok(row(C::Resignal)),
        S::GetDiagnostics(_) => Ok(row(C::GetDiagnostics)),
        _ => refused_by_words(kind, 1),
    }
}

fn transaction_row(statement: &TransactionStatement) -> SqlResult<Row> {
    use TransactionStatement as S;
    Ok(match statement {
        S::Start { .. } | S::Begin => Row::new(C::Begin, W::Begin, Effect::Own).unpreparable(),
        S::Commit(_) => Row::new(C::Commit, W::Commit, Effect::Own),
        S::Rollback(_) => Row::new(C::Rollback, W::Rollback, Effect::Own),
        S::Savepoint(_) => Row::new(C::Savepoint, W::Other, Effect::Own).unpreparable(),
        S::RollbackTo(_) => Row::new(C::RollbackTo, W::Other, Effect::Own).unpreparable(),
        S::ReleaseSavepoint(_) => {
            Row::new(C::ReleaseSavepoint, W::Other, Effect::Own).unpreparable()
        }
        S::Set { .. } => Row::new(C::SetOption, W::Set, Effect::Own),
        S::LockTables(_) => Row::new(C::LockTables, W::Other, Effect::Commits).unpreparable(),
        S::UnlockTables => Row::new(C::UnlockTables, W::Other, Effect::Own).unpreparable(),
        S::LockInstance => return refused("LOCK INSTANCE"),
        S::UnlockInstance => return refused("UNLOCK INSTANCE"),
        S::Xa(xa) => xa_row(xa),
    })
}

fn xa_row(statement: &XaStatement) -> Row {
    use XaStatement as S;
    let counter = match statement {
        S::Start(..) => C::XaStart,
        S::End(..) => C::XaEnd,
        S::Prepare(_) => C::XaPrepare,
        S::Commit(..) => C::XaCommit,
        S::Rollback(_) => C::XaRollback,
        S::Recover(_) => C::XaRecover,
    };
    Row::new(counter, W::Other, Effect::Own).unpreparable()
}

fn set_row(statement: &SetStatement) -> SqlResult<Row> {
    match statement {
        SetStatement::Items(_) => Ok(Row::new(C::SetOption, W::Set, Effect::Own)),
        SetStatement::Password(_) => Ok(Row::new(C::SetPassword, W::Other, Effect::Defines)),
        SetStatement::Role(_) => Ok(Row::new(C::SetRole, W::Other, Effect::Own)),
        SetStatement::DefaultRole(..) => {
            Ok(Row::new(C::AlterUserDefaultRole, W::Other, Effect::Defines))
        }
        SetStatement::ResourceGroup(..) => refused("SET RESOURCE GROUP"),
        SetStatement::Statement(..) => refused("SET STATEMENT"),
    }
}

fn account_row(statement: &AccountStatement) -> Row {
    use AccountStatement as S;
    let counter = match statement {
        S::CreateUser { .. } => C::CreateUser,
        S::AlterUser { .. } => C::AlterUser,
        S::DropUser { .. } => C::DropUser,
        S::RenameUser(_) => C::RenameUser,
        S::CreateRole { .. } => C::CreateRole,
        S::DropRole { .. } => C::DropRole,
        S::Grant {
            what: Grant::Roles(_),
            ..
        } => C::GrantRoles,
        S::Grant { .. } => C::Grant,
        S::Revoke { what: None, .. } => C::RevokeAll,
        S::Revoke {
            what: Some(Grant::Roles(_)),
            ..
        } => C::RevokeRoles,
        S::Revoke { .. } => C::Revoke,
    };
    let row = Row::new(counter, W::Other, Effect::Defines);
    match statement {
        S::CreateRole { .. } | S::DropRole { .. } => row.unpreparable(),
        _ => row,
    }
}

fn session_row(statement: &SessionStatement) -> SqlResult<Row> {
    use SessionStatement as S;
    Ok(match statement {
        // Counted where it is carried out, because COM_INIT_DB comes there too.
        S::Use(_) => Row::new(C::ChangeDb, W::Other, Effect::Own)
            .uncounted()
            .unpreparable(),
        S::Help(_) => Row::new(C::Help, W::Other, Effect::Own).unpreparable(),
        S::Prepare { .. } => Row::new(C::PrepareSql, W::Other, Effect::Own).unpreparable(),
        S::Execute { .. } => Row::new(C::ExecuteSql, W::Other, Effect::Own).unpreparable(),
        S::Deallocate(_) => Row::new(C::DeallocSql, W::Other, Effect::Own).unpreparable(),
        S::HandlerOpen { .. } => Row::new(C::HaOpen, W::Other, Effect::Own).unpreparable(),
        S::HandlerRead { .. } => Row::new(C::HaRead, W::Select, Effect::Own).unpreparable(),
        S::HandlerClose(_) => Row::new(C::HaClose, W::Other, Effect::Own).unpreparable(),
        S::Load(load) if load.xml => return refused("LOAD XML"),
        S::Load(_) => Row::new(C::Load, W::Insert, Effect::Own).unpreparable(),
    })
}

fn admin_row(kind: &StatementKind, statement: &AdminStatement) -> SqlResult<Row> {
    use AdminStatement as S;
    Ok(match statement {
        S::Maintain { verb, .. } => maintenance_row(*verb),
        S::Histogram { .. } => maintenance_row(MaintenanceVerb::Analyze),
        S::Flush { .. } => Row::new(C::Flush, W::Other, Effect::Commits),
        S::Kill { .. } => Row::new(C::Kill, W::Other, Effect::Own),
        S::AlterInstance(
            InstanceAction::ReloadTls { .. }
            | InstanceAction::Plain(InstancePlain::RotateInnodbMasterKey),
        ) => Row::new(C::AlterInstance, W::Other, Effect::Commits),
        S::AlterInstance(_) => return refused("ALTER INSTANCE"),
        S::Backup { .. } => Row::new(C::Backup, W::Other, Effect::Own).unpreparable(),
        S::ResetPersist { .. } => Row::new(C::Reset, W::Other, Effect::Own),
        S::Restart => Row::new(C::Restart, W::Other, Effect::Own).unpreparable(),
        S::Shutdown => Row::new(C::Shutdown, W::Other, Effect::Own).unpreparable(),
        _ => return refused_by_words(kind, 1),
    })
}

fn show_row(show: &Show) -> Row {
    use ShowKind as K;
    let row = |counter| Row::new(counter, W::Show, Effect::Own);
    match show.kind {
        K::CharacterSet => row(C::ShowCharsets),
        K::Collation => row(C::ShowCollations),
        K::Columns => row(C::ShowFields),
        K::CountErrors | K::Errors => row(C::ShowErrors).about_diagnostics().unpreparable(),
        K::CountWarnings | K::Warnings => row(C::ShowWarnings).about_diagnostics().unpreparable(),
        K::CreateDatabase => row(C::ShowCreateDb),
        K::CreateEvent => row(C::ShowCreateEvent),
        K::CreateTable => row(C::ShowCreateTable),
        K::Databases => row(C::ShowDatabases),
        K::Engine => row(C::ShowEngineStatus),
        K::Engines => row(C::ShowStorageEngines),
        K::Events => row(C::ShowEvents),
        K::Grants => row(C::ShowGrants),
        K::Index => row(C::ShowKeys),
        K::OpenTables => row(C::ShowOpenTables),
        K::Plugins => row(C::ShowPlugins),
        K::Privileges => row(C::ShowPrivileges),
        K::ProcessList => row(C::ShowProcesslist),
        K::Status => row(C::ShowStatus),
        K::TableStatus => row(C::ShowTableStatus),
        K::Tables => row(C::ShowTables),
        K::Triggers => row(C::ShowTriggers),
        K::Variables => row(C::ShowVariables),
        K::BinaryLogStatus
        | K::BinaryLogs
        | K::BinlogEvents
        | K::CreateFunction
        | K::CreateProcedure
        | K::CreateTrigger
        | K::CreateUser
        | K::CreateView
        | K::FunctionCode
        | K::FunctionStatus
        | K::ProcedureCode
        | K::ProcedureStatus
        | K::RelaylogEvents
        | K::Replicas
        | K::ReplicaStatus => row(C::ShowStatus).uncounted(),
        K::Profile | K::Profiles => row(C::ShowStatus).uncounted().about_profiles(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond_sql::env::SqlMode;
    use millpond_sql::parse::parse_one;

    fn of(sql: &str) -> SqlResult<Row> {
        row(parse_one(sql, SqlMode::DEFAULT)?.kind())
    }

    #[test]
    fn statements_are_watched_by_kind() {
        for (sql, name, ddl) in [
            ("SELECT 1", "SELECT", false),
            ("REPLACE INTO t VALUES (1)", "REPLACE", false),
            ("COMMIT", "COMMIT", false),
            ("OPTIMIZE TABLE t", "OPTIMIZE TABLE", true),
            ("ANALYZE TABLE t", "OTHER", false),
            ("ALTER TABLE t ENGINE=InnoDB", "ALTER TABLE", true),
            ("ALTER TABLE t DROP PARTITION p", "ALTER TABLE", true),
            ("ALTER TABLE t CHECK PARTITION p", "OTHER", false),
            ("DROP DATABASE d", "DROP DATABASE", true),
            ("DESC t", "SHOW", false),
        ] {
            let watched = of(sql).unwrap().watched;
            assert_eq!((watched.name(), watched.is_ddl()), (name, ddl), "{sql}");
        }
    }

    #[test]
    fn what_a_statement_does_to_the_transaction() {
        for (sql, effect) in [
            ("insert into t values (1)", Effect::Own),
            ("commit", Effect::Own),
            ("create table t (a int)", Effect::Defines),
            ("create temporary table t (a int)", Effect::Temporary),
            ("drop temporary table t", Effect::Temporary),
            ("alter table t add b int", Effect::Defines),
            ("analyze table t", Effect::Commits),
            ("flush tables", Effect::Commits),
            ("optimize table t", Effect::Rebuilds),
            ("alter table t optimize partition p", Effect::Rebuilds),
        ] {
            assert_eq!(of(sql).unwrap().effect, effect, "{sql}");
        }
    }

    #[test]
    fn what_is_not_run_is_refused_by_its_name() {
        for (sql, name) in [
            ("lock instance for backup", "LOCK INSTANCE"),
            ("install plugin p soname 'x'", "INSTALL"),
        ] {
            let e = of(sql).unwrap_err();
            assert_eq!(e.code, 1235, "{sql}");
            assert!(e.message.ends_with(&format!("'{name}'")), "{}", e.message);
        }
    }
}
