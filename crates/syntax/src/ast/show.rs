//! SHOW: one row of [`SHOWS`] for each, which parser and printer follow.

use super::list::Items;
use std::fmt::{self, Display};

use super::words::{List, Opt, Quoted, flag, words};
use super::{Account, Expr, Ident, Limit, ObjectName, Scope};

/// SHOW. Which fields a kind has, [`SHOWS`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct Show {
    /// Which.
    pub kind: ShowKind,
    /// EXTENDED.
    pub extended: bool,
    /// FULL.
    pub full: bool,
    /// GLOBAL, SESSION.
    pub scope: Option<Scope>,
    /// IF NOT EXISTS of SHOW CREATE DATABASE.
    pub if_not_exists: bool,
    /// The table, view, routine, engine, ... it is about.
    pub name: Option<ObjectName>,
    /// FROM a database. (FROM table FROM database gives the table its database.)
    pub database: Option<Ident>,
    /// The account it is about.
    pub account: Option<Account>,
    /// USING roles.
    pub roles: Items<Account>,
    /// STATUS, MUTEX or LOGS of an engine.
    pub engine: Option<EngineReport>,
    /// Types of a profile.
    pub profile: Items<ProfileType>,
    /// FOR QUERY.
    pub query: Option<u64>,
    /// IN a log file.
    pub log: Option<String>,
    /// FROM a position.
    pub position: Option<u64>,
    /// LIKE, WHERE.
    pub filter: Option<ShowFilter>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// FOR CHANNEL.
    pub channel: Option<String>,
}

/// The filter of a SHOW.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowFilter {
    /// LIKE.
    Like(String),
    /// WHERE.
    Where(Expr),
}

words! {
    /// What SHOW ENGINE shows.
    pub enum EngineReport { Status = "STATUS", Mutex = "MUTEX", Logs = "LOGS" }
    /// What SHOW PROFILE shows.
    pub enum ProfileType {
        All = "ALL", BlockIo = "BLOCK IO", ContextSwitches = "CONTEXT SWITCHES", Cpu = "CPU", Ipc = "IPC",
        Memory = "MEMORY", PageFaults = "PAGE FAULTS", Source = "SOURCE", Swaps = "SWAPS",
    }
}

/// Kinds of SHOW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // SHOWS has their words.
pub enum ShowKind {
    BinaryLogStatus,
    BinaryLogs,
    BinlogEvents,
    CharacterSet,
    Collation,
    Columns,
    CountErrors,
    CountWarnings,
    CreateDatabase,
    CreateEvent,
    CreateFunction,
    CreateProcedure,
    CreateTable,
    CreateTrigger,
    CreateUser,
    CreateView,
    Databases,
    Engine,
    Engines,
    Errors,
    Events,
    FunctionCode,
    FunctionStatus,
    Grants,
    Index,
    OpenTables,
    Plugins,
    Privileges,
    ProcedureCode,
    ProcedureStatus,
    ProcessList,
    Profile,
    Profiles,
    RelaylogEvents,
    Replicas,
    ReplicaStatus,
    Status,
    TableStatus,
    Tables,
    Triggers,
    Variables,
    Warnings,
}

/// What may stand before a SHOW's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShowModifier {
    Extended,
    Full,
    Scope,
}

/// What may stand behind a SHOW's words, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShowPart {
    /// IF NOT EXISTS
    Missing,
    /// A name, qualified or not.
    Name,
    /// A name, or a text, or ALL.
    EngineName,
    /// An account.
    Account,
    /// `FOR account USING roles`, or nothing.
    For,
    /// `FROM table [FROM database]`
    Table,
    /// `FROM database`, or nothing.
    Database,
    /// STATUS, MUTEX, LOGS.
    Report,
    /// Types of a profile, or nothing.
    Types,
    /// `FOR QUERY n`, or nothing.
    Query,
    /// `IN 'file'`, or nothing.
    Log,
    /// `FROM n`, or nothing.
    Position,
    /// LIKE, WHERE, or nothing.
    Filter,
    /// LIMIT, or nothing.
    Limit,
    /// `FOR CHANNEL 'name'`, or nothing.
    Channel,
}

/// A row of [`SHOWS`].
pub(crate) struct ShowRow {
    pub kind: ShowKind,
    /// Its words, first as it is printed, then the synonyms.
    pub words: &'static [&'static str],
    pub modifiers: &'static [ShowModifier],
    pub parts: &'static [ShowPart],
}

const fn row(
    kind: ShowKind,
    words: &'static [&'static str],
    modifiers: &'static [ShowModifier],
    parts: &'static [ShowPart],
) -> ShowRow {
    ShowRow {
        kind,
        words,
        modifiers,
        parts,
    }
}

use ShowKind as K;
use ShowModifier as M;
use ShowPart as P;

/// Every SHOW. Words that begin others stand behind them.
pub(crate) const SHOWS: &[ShowRow] = &[
    row(
        K::BinaryLogStatus,
        &["MASTER STATUS", "BINARY LOG STATUS"],
        &[],
        &[],
    ),
    row(K::BinaryLogs, &["BINARY LOGS", "MASTER LOGS"], &[], &[]),
    row(
        K::BinlogEvents,
        &["BINLOG EVENTS"],
        &[],
        &[P::Log, P::Position, P::Limit],
    ),
    row(
        K::CharacterSet,
        &["CHARACTER SET", "CHARSET", "CHAR SET"],
        &[],
        &[P::Filter],
    ),
    row(K::Collation, &["COLLATION"], &[], &[P::Filter]),
    row(
        K::Columns,
        &["COLUMNS", "FIELDS"],
        &[M::Extended, M::Full],
        &[P::Table, P::Filter],
    ),
    row(K::CountErrors, &["COUNT(*) ERRORS"], &[], &[]),
    row(K::CountWarnings, &["COUNT(*) WARNINGS"], &[], &[]),
    row(
        K::CreateDatabase,
        &["CREATE DATABASE", "CREATE SCHEMA"],
        &[],
        &[P::Missing, P::Name],
    ),
    row(K::CreateEvent, &["CREATE EVENT"], &[], &[P::Name]),
    row(K::CreateFunction, &["CREATE FUNCTION"], &[], &[P::Name]),
    row(K::CreateProcedure, &["CREATE PROCEDURE"], &[], &[P::Name]),
    row(K::CreateTable, &["CREATE TABLE"], &[], &[P::Name]),
    row(K::CreateTrigger, &["CREATE TRIGGER"], &[], &[P::Name]),
    row(K::CreateUser, &["CREATE USER"], &[], &[P::Account]),
    row(K::CreateView, &["CREATE VIEW"], &[], &[P::Name]),
    row(K::Databases, &["DATABASES", "SCHEMAS"], &[], &[P::Filter]),
    row(K::Engines, &["ENGINES", "STORAGE ENGINES"], &[], &[]),
    row(K::Engine, &["ENGINE"], &[], &[P::EngineName, P::Report]),
    row(K::Errors, &["ERRORS"], &[], &[P::Limit]),
    row(
        K::Events,
        &["EVENTS"],
        &[M::Full],
        &[P::Database, P::Filter],
    ),
    row(K::FunctionCode, &["FUNCTION CODE"], &[], &[P::Name]),
    row(K::FunctionStatus, &["FUNCTION STATUS"], &[], &[P::Filter]),
    row(K::Grants, &["GRANTS"], &[], &[P::For]),
    row(
        K::Index,
        &["INDEX", "INDEXES", "KEYS"],
        &[M::Extended],
        &[P::Table, P::Filter],
    ),
    row(
        K::OpenTables,
        &["OPEN TABLES"],
        &[],
        &[P::Database, P::Filter],
    ),
    row(K::Plugins, &["PLUGINS"], &[], &[]),
    row(K::Privileges, &["PRIVILEGES"], &[], &[]),
    row(K::ProcedureCode, &["PROCEDURE CODE"], &[], &[P::Name]),
    row(K::ProcedureStatus, &["PROCEDURE STATUS"], &[], &[P::Filter]),
    row(K::ProcessList, &["PROCESSLIST"], &[M::Full], &[]),
    row(K::Profiles, &["PROFILES"], &[], &[]),
    row(
        K::Profile,
        &["PROFILE"],
        &[],
        &[P::Types, P::Query, P::Limit],
    ),
    row(
        K::RelaylogEvents,
        &["RELAYLOG EVENTS"],
        &[],
        &[P::Log, P::Position, P::Limit, P::Channel],
    ),
    row(K::Replicas, &["REPLICAS", "SLAVE HOSTS"], &[], &[]),
    row(
        K::ReplicaStatus,
        &["REPLICA STATUS", "SLAVE STATUS"],
        &[],
        &[P::Channel],
    ),
    row(K::Status, &["STATUS"], &[M::Scope], &[P::Filter]),
    row(
        K::TableStatus,
        &["TABLE STATUS"],
        &[],
        &[P::Database, P::Filter],
    ),
    row(
        K::Tables,
        &["TABLES"],
        &[M::Extended, M::Full],
        &[P::Database, P::Filter],
    ),
    row(
        K::Triggers,
        &["TRIGGERS"],
        &[M::Full],
        &[P::Database, P::Filter],
    ),
    row(K::Variables, &["VARIABLES"], &[M::Scope], &[P::Filter]),
    row(K::Warnings, &["WARNINGS"], &[], &[P::Limit]),
];

impl Show {
    /// A SHOW of which nothing but the kind is known.
    pub fn new(kind: ShowKind) -> Show {
        Show {
            kind,
            extended: false,
            full: false,
            scope: None,
            if_not_exists: false,
            name: None,
            database: None,
            account: None,
            roles: Items::EMPTY,
            engine: None,
            profile: Items::EMPTY,
            query: None,
            log: None,
            position: None,
            filter: None,
            limit: None,
            channel: None,
        }
    }

    fn row(&self) -> Option<&'static ShowRow> {
        SHOWS.iter().find(|row| row.kind == self.kind)
    }

    fn write_part(&self, f: &mut fmt::Formatter<'_>, part: ShowPart) -> fmt::Result {
        match part {
            P::Missing => f.write_str(flag(self.if_not_exists, " IF NOT EXISTS")),
            P::Name | P::EngineName => Opt(" ", &self.name).fmt(f),
            P::Account => Opt(" ", &self.account).fmt(f),
            P::For => {
                let using = flag(!self.roles.is_empty(), " USING ");
                write!(
                    f,
                    "{}{using}{}",
                    Opt(" FOR ", &self.account),
                    List(&self.roles)
                )
            }
            P::Table => Opt(" FROM ", &self.name).fmt(f),
            P::Database => Opt(" FROM ", &self.database).fmt(f),
            P::Report => Opt(" ", &self.engine).fmt(f),
            P::Types => {
                write!(
                    f,
                    "{}{}",
                    flag(!self.profile.is_empty(), " "),
                    List(&self.profile)
                )
            }
            P::Query => Opt(" FOR QUERY ", &self.query).fmt(f),
            P::Log => super::words::OptText(" IN ", &self.log).fmt(f),
            P::Position => Opt(" FROM ", &self.position).fmt(f),
            P::Filter => Opt(" ", &self.filter).fmt(f),
            P::Limit => Opt(" ", &self.limit).fmt(f),
            P::Channel => super::words::OptText(" FOR CHANNEL ", &self.channel).fmt(f),
        }
    }
}

impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(row) = self.row() else {
            return Ok(());
        };
        f.write_str("SHOW ")?;
        f.write_str(flag(self.extended, "EXTENDED "))?;
        f.write_str(flag(self.full, "FULL "))?;
        super::schema::After("", &self.scope).fmt(f)?;
        f.write_str(row.words[0])?;
        row.parts
            .iter()
            .try_for_each(|part| self.write_part(f, *part))
    }
}

impl fmt::Display for ShowFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShowFilter::Like(pattern) => write!(f, "LIKE {}", Quoted(pattern)),
            ShowFilter::Where(condition) => write!(f, "WHERE {condition}"),
        }
    }
}
