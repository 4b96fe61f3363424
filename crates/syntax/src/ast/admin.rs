//! Administration: tables' upkeep, plugins, components, caches, instances, resource groups.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, OptText, Quoted, Spaced, Texts, either, flag, words};
use super::{Account, Expr, Ident, ObjectName, SetItem};

/// Statements of administration.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum AdminStatement {
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
    Maintain {
        /// Which.
        verb: MaintenanceVerb,
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// Tables.
        tables: Items<ObjectName>,
        /// Options, as written.
        options: Items<MaintenanceOption>,
    },
    /// ANALYZE TABLE ... UPDATE or DROP HISTOGRAM.
    Histogram {
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// Tables.
        tables: Items<ObjectName>,
        /// Columns.
        columns: Items<Ident>,
        /// What is done.
        change: HistogramChange,
    },
    /// INSTALL PLUGIN.
    InstallPlugin {
        /// Name.
        name: Ident,
        /// SONAME.
        library: String,
    },
    /// UNINSTALL PLUGIN.
    UninstallPlugin {
        /// IF EXISTS (MariaDB).
        if_exists: bool,
        /// Name.
        name: Ident,
    },
    /// INSTALL COMPONENT, and SET.
    InstallComponent(Items<String>, Items<SetItem>),
    /// UNINSTALL COMPONENT.
    UninstallComponent(Items<String>),
    /// BACKUP TO (Millpond's own).
    Backup {
        /// A directory on the server.
        directory: String,
        /// INCREMENTAL FROM: the directory of the backup before.
        base: Option<String>,
    },
    /// CLONE LOCAL DATA DIRECTORY.
    CloneLocal(String),
    /// CLONE INSTANCE FROM.
    CloneInstance {
        /// From whom.
        account: Account,
        /// Port.
        port: u64,
        /// Password.
        password: String,
        /// DATA DIRECTORY.
        directory: Option<String>,
        /// REQUIRE [NO] SSL.
        ssl: Option<bool>,
    },
    /// BINLOG.
    Binlog(String),
    /// CACHE INDEX.
    CacheIndex {
        /// What.
        tables: Items<CachedTable>,
        /// IN: a key cache; DEFAULT is one.
        cache: Ident,
    },
    /// LOAD INDEX INTO CACHE.
    LoadIndex(Items<CachedTable>),
    /// FLUSH.
    Flush {
        /// NO_WRITE_TO_BINLOG, LOCAL.
        local: bool,
        /// What.
        items: Items<FlushItem>,
    },
    /// KILL.
    Kill {
        /// QUERY rather than CONNECTION.
        query: bool,
        /// A connection's id.
        id: Expr,
    },
    /// RESET PERSIST; no name for all variables.
    ResetPersist {
        /// IF EXISTS.
        if_exists: bool,
        /// Variable.
        name: Option<ObjectName>,
    },
    /// RESET QUERY CACHE, which went with MySQL 8.
    ResetQueryCache,
    /// RESTART.
    Restart,
    /// SHUTDOWN.
    Shutdown,
    /// ALTER INSTANCE.
    AlterInstance(InstanceAction),
    /// CREATE and ALTER RESOURCE GROUP.
    ResourceGroup(ResourceGroup),
    /// DROP RESOURCE GROUP.
    DropResourceGroup {
        /// Name.
        name: Ident,
        /// FORCE.
        force: bool,
    },
}

words! {
    /// What is done to tables.
    pub enum MaintenanceVerb {
        Analyze = "ANALYZE", Checksum = "CHECKSUM", Check = "CHECK", Optimize = "OPTIMIZE", Repair = "REPAIR",
    }
    /// How it is done.
    pub enum MaintenanceOption {
        ForUpgrade = "FOR UPGRADE", Quick = "QUICK", Fast = "FAST", Medium = "MEDIUM", Extended = "EXTENDED",
        Changed = "CHANGED", UseFrm = "USE_FRM",
    }
    /// What FLUSH takes without more words.
    pub enum FlushPlain {
        BinaryLogs = "BINARY LOGS", EngineLogs = "ENGINE LOGS", ErrorLogs = "ERROR LOGS",
        GeneralLogs = "GENERAL LOGS", SlowLogs = "SLOW LOGS", Hosts = "HOSTS", Logs = "LOGS",
        Privileges = "PRIVILEGES", OptimizerCosts = "OPTIMIZER_COSTS", Status = "STATUS",
        UserResources = "USER_RESOURCES", QueryCache = "QUERY CACHE", DesKeyFile = "DES_KEY_FILE",
    }
    /// How FLUSH TABLES locks.
    pub enum FlushLock { Read = "WITH READ LOCK", Export = "FOR EXPORT" }
    /// ALTER INSTANCE without more words.
    pub enum InstancePlain {
        RotateInnodbMasterKey = "ROTATE INNODB MASTER KEY", RotateBinlogMasterKey = "ROTATE BINLOG MASTER KEY",
        EnableRedoLog = "ENABLE INNODB REDO_LOG", DisableRedoLog = "DISABLE INNODB REDO_LOG",
        ReloadKeyring = "RELOAD KEYRING",
    }
    /// Kinds of resource groups.
    pub enum ResourceGroupKind { System = "SYSTEM", User = "USER" }
}

/// What happens to histograms.
#[derive(Clone, Debug, PartialEq)]
pub enum HistogramChange {
    /// UPDATE.
    Update {
        /// WITH n BUCKETS.
        buckets: Option<u64>,
        /// AUTO or MANUAL UPDATE.
        automatic: Option<bool>,
        /// USING DATA.
        data: Option<String>,
    },
    /// DROP.
    Drop,
}

/// A table whose indexes are cached.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedTable {
    /// Table.
    pub name: ObjectName,
    /// PARTITION: an empty list is ALL.
    pub partitions: Option<Items<Ident>>,
    /// Indexes; none: all of them.
    pub indexes: Option<Items<Ident>>,
    /// IGNORE LEAVES.
    pub ignore_leaves: bool,
}

/// What FLUSH takes.
#[derive(Clone, Debug, PartialEq)]
pub enum FlushItem {
    /// Without more words.
    Plain(FlushPlain),
    /// RELAY LOGS [FOR CHANNEL].
    RelayLogs(Option<String>),
    /// TABLES.
    Tables {
        /// Which; none: all.
        tables: Items<ObjectName>,
        /// WITH READ LOCK, FOR EXPORT.
        lock: Option<FlushLock>,
    },
}

/// ALTER INSTANCE.
#[derive(Clone, Debug, PartialEq)]
pub enum InstanceAction {
    /// Without more words.
    Plain(InstancePlain),
    /// RELOAD TLS.
    ReloadTls {
        /// FOR CHANNEL.
        channel: Option<Ident>,
        /// NO ROLLBACK ON ERROR.
        no_rollback: bool,
    },
}

/// CREATE and ALTER RESOURCE GROUP.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceGroup {
    /// ALTER.
    pub alter: bool,
    /// Name.
    pub name: Ident,
    /// TYPE (CREATE).
    pub kind: Option<ResourceGroupKind>,
    /// VCPU: numbers and ranges.
    pub vcpu: Items<VcpuRange>,
    /// THREAD_PRIORITY.
    pub priority: Option<i64>,
    /// ENABLE, DISABLE.
    pub enable: Option<bool>,
    /// FORCE (ALTER).
    pub force: bool,
}

/// Processors from a number to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct VcpuRange {
    pub first: u64,
    pub last: Option<u64>,
}

impl fmt::Display for AdminStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use AdminStatement as S;
        let unlogged = |local: bool| flag(local, "NO_WRITE_TO_BINLOG ");
        match self {
            S::Maintain {
                verb,
                local,
                tables,
                options,
            } => {
                let local = unlogged(*local);
                write!(f, "{verb} {local}TABLE {}{}", List(tables), Spaced(options))
            }
            S::Histogram {
                local,
                tables,
                columns,
                change,
            } => {
                let verb = either(matches!(change, HistogramChange::Drop), "DROP", "UPDATE");
                let (local, tables, columns) = (unlogged(*local), List(tables), List(columns));
                write!(
                    f,
                    "ANALYZE {local}TABLE {tables} {verb} HISTOGRAM ON {columns}{change}"
                )
            }
            S::InstallPlugin { name, library } => {
                write!(f, "INSTALL PLUGIN {name} SONAME {}", Quoted(library))
            }
            S::UninstallPlugin { if_exists, name } => {
                write!(
                    f,
                    "UNINSTALL PLUGIN {}{name}",
                    flag(*if_exists, "IF EXISTS ")
                )
            }
            S::InstallComponent(urns, set) => {
                write!(f, "INSTALL COMPONENT {}", Texts(urns))?;
                write!(f, "{}{}", flag(!set.is_empty(), " SET "), List(set))
            }
            S::UninstallComponent(urns) => write!(f, "UNINSTALL COMPONENT {}", Texts(urns)),
            S::Backup { directory, base } => {
                write!(f, "BACKUP TO {}", Quoted(directory))?;
                OptText(" INCREMENTAL FROM ", base).fmt(f)
            }
            S::CloneLocal(directory) => {
                write!(f, "CLONE LOCAL DATA DIRECTORY = {}", Quoted(directory))
            }
            S::CloneInstance {
                account,
                port,
                password,
                directory,
                ssl,
            } => {
                let password = Quoted(password);
                write!(
                    f,
                    "CLONE INSTANCE FROM {account}:{port} IDENTIFIED BY {password}"
                )?;
                OptText(" DATA DIRECTORY = ", directory).fmt(f)?;
                f.write_str(match ssl {
                    Some(true) => " REQUIRE SSL",
                    Some(false) => " REQUIRE NO SSL",
                    None => "",
                })
            }
            S::Binlog(text) => write!(f, "BINLOG {}", Quoted(text)),
            S::CacheIndex { tables, cache } => {
                write!(f, "CACHE INDEX {} IN {cache}", List(tables))
            }
            S::LoadIndex(tables) => write!(f, "LOAD INDEX INTO CACHE {}", List(tables)),
            S::Flush { local, items } => write!(f, "FLUSH {}{}", unlogged(*local), List(items)),
            S::Kill { query, id } => {
                write!(f, "KILL {} {id}", either(*query, "QUERY", "CONNECTION"))
            }
            S::ResetPersist { if_exists, name } => {
                write!(
                    f,
                    "RESET PERSIST{}{}",
                    flag(*if_exists, " IF EXISTS"),
                    Opt(" ", name)
                )
            }
            S::ResetQueryCache => f.write_str("RESET QUERY CACHE"),
            S::Restart => f.write_str("RESTART"),
            S::Shutdown => f.write_str("SHUTDOWN"),
            S::AlterInstance(action) => write!(f, "ALTER INSTANCE {action}"),
            S::ResourceGroup(group) => group.fmt(f),
            S::DropResourceGroup { name, force } => {
                write!(f, "DROP RESOURCE GROUP {name}{}", flag(*force, " FORCE"))
            }
        }
    }
}

impl fmt::Display for HistogramChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HistogramChange::Update {
            buckets,
            automatic,
            data,
        } = self
        else {
            return Ok(());
        };
        if let Some(n) = buckets {
            write!(f, " WITH {n} BUCKETS")?;
        }
        f.write_str(match automatic {
            Some(true) => " AUTO UPDATE",
            Some(false) => " MANUAL UPDATE",
            None => "",
        })?;
        OptText(" USING DATA ", data).fmt(f)
    }
}

impl fmt::Display for CachedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        match &self.partitions {
            Some(names) if names.is_empty() => f.write_str(" PARTITION (ALL)")?,
            Some(names) => write!(f, " PARTITION ({})", List(names))?,
            None => {}
        }
        if let Some(names) = &self.indexes {
            write!(f, " INDEX ({})", List(names))?;
        }
        f.write_str(flag(self.ignore_leaves, " IGNORE LEAVES"))
    }
}

impl fmt::Display for FlushItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlushItem::Plain(plain) => plain.fmt(f),
            FlushItem::RelayLogs(channel) => {
                write!(f, "RELAY LOGS{}", OptText(" FOR CHANNEL ", channel))
            }
            FlushItem::Tables { tables, lock } => {
                let space = flag(!tables.is_empty(), " ");
                write!(f, "TABLES{space}{}{}", List(tables), Opt(" ", lock))
            }
        }
    }
}

impl fmt::Display for InstanceAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceAction::Plain(plain) => plain.fmt(f),
            InstanceAction::ReloadTls {
                channel,
                no_rollback,
            } => {
                let rest = flag(*no_rollback, " NO ROLLBACK ON ERROR");
                write!(f, "RELOAD TLS{}{rest}", Opt(" FOR CHANNEL ", channel))
            }
        }
    }
}

impl fmt::Display for ResourceGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = either(self.alter, "ALTER", "CREATE");
        write!(
            f,
            "{verb} RESOURCE GROUP {}{}",
            self.name,
            Opt(" TYPE = ", &self.kind)
        )?;
        write!(
            f,
            "{}{}",
            flag(!self.vcpu.is_empty(), " VCPU = "),
            List(&self.vcpu)
        )?;
        Opt(" THREAD_PRIORITY = ", &self.priority).fmt(f)?;
        f.write_str(match self.enable {
            Some(true) => " ENABLE",
            Some(false) => " DISABLE",
            None => "",
        })?;
        f.write_str(flag(self.force, " FORCE"))
    }
}

impl fmt::Display for VcpuRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.first, Opt("-", &self.last))
    }
}
