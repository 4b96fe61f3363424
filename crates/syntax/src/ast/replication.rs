//! Replication and group replication.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, OptText, Quoted, flag, words};
use super::{Account, Expr, Ident, ObjectName};

/// Statements about replication.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplicationStatement {
    /// CHANGE REPLICATION SOURCE TO, CHANGE MASTER TO.
    ChangeSource {
        /// Options, as written.
        options: Items<(Ident, SourceValue)>,
        /// FOR CHANNEL.
        channel: Option<String>,
    },
    /// CHANGE REPLICATION FILTER.
    ChangeFilter {
        /// Filters.
        filters: Items<Filter>,
        /// FOR CHANNEL.
        channel: Option<String>,
    },
    /// START REPLICA, START SLAVE.
    Start(StartReplica),
    /// STOP REPLICA, STOP SLAVE.
    Stop {
        /// Which threads; none: all.
        threads: Items<ReplicaThread>,
        /// FOR CHANNEL.
        channel: Option<String>,
    },
    /// RESET, but for RESET PERSIST.
    Reset(Items<Reset>),
    /// PURGE BINARY LOGS TO.
    PurgeTo(String),
    /// PURGE BINARY LOGS BEFORE.
    PurgeBefore(Expr),
    /// START GROUP_REPLICATION, and USER, PASSWORD, DEFAULT_AUTH.
    StartGroup(Items<(Credential, String)>),
    /// STOP GROUP_REPLICATION.
    StopGroup,
}

/// The value of an option of CHANGE REPLICATION SOURCE.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceValue {
    /// A string.
    Text(String),
    /// A number, as a literal.
    Number(Expr),
    /// A word: ON, OFF, STREAM, LOCAL, NULL, ...
    Word(Ident),
    /// PRIVILEGE_CHECKS_USER.
    Account(Account),
    /// IGNORE_SERVER_IDS.
    Numbers(Items<u64>),
}

words! {
    /// Rules of CHANGE REPLICATION FILTER.
    pub enum FilterRule {
        DoDb = "REPLICATE_DO_DB", IgnoreDb = "REPLICATE_IGNORE_DB", DoTable = "REPLICATE_DO_TABLE",
        IgnoreTable = "REPLICATE_IGNORE_TABLE", WildDoTable = "REPLICATE_WILD_DO_TABLE",
        WildIgnoreTable = "REPLICATE_WILD_IGNORE_TABLE", RewriteDb = "REPLICATE_REWRITE_DB",
    }
    /// Threads of a replica.
    pub enum ReplicaThread { Io = "IO_THREAD", Sql = "SQL_THREAD" }
    /// With what a replica logs in.
    pub enum Credential {
        User = "USER", Password = "PASSWORD", DefaultAuth = "DEFAULT_AUTH", PluginDir = "PLUGIN_DIR",
    }
    /// Where the replication threads stop.
    pub enum UntilOption {
        SqlBeforeGtids = "SQL_BEFORE_GTIDS", SqlAfterGtids = "SQL_AFTER_GTIDS",
        SqlAfterMtsGaps = "SQL_AFTER_MTS_GAPS", SourceLogFile = "SOURCE_LOG_FILE",
        SourceLogPos = "SOURCE_LOG_POS", MasterLogFile = "MASTER_LOG_FILE", MasterLogPos = "MASTER_LOG_POS",
        RelayLogFile = "RELAY_LOG_FILE", RelayLogPos = "RELAY_LOG_POS",
    }
}

/// A filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Rule.
    pub rule: FilterRule,
    /// What it is about.
    pub items: Items<FilterItem>,
}

/// What a filter is about.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterItem {
    /// A database or a table.
    Name(ObjectName),
    /// A pattern.
    Pattern(String),
    /// A database and what it is called here.
    Pair(Ident, Ident),
}

/// START REPLICA.
#[derive(Clone, Debug, PartialEq)]
pub struct StartReplica {
    /// Which threads; none: all.
    pub threads: Items<ReplicaThread>,
    /// UNTIL.
    pub until: Items<(UntilOption, Option<SourceValue>)>,
    /// USER, PASSWORD, ...
    pub credentials: Items<(Credential, String)>,
    /// FOR CHANNEL.
    pub channel: Option<String>,
}

/// FOR CHANNEL, or nothing.
fn for_channel(channel: &Option<String>) -> OptText<'_> {
    OptText(" FOR CHANNEL ", channel)
}

/// What RESET resets.
#[derive(Clone, Debug, PartialEq)]
pub enum Reset {
    /// REPLICA, SLAVE.
    Replica {
        /// ALL.
        all: bool,
        /// FOR CHANNEL.
        channel: Option<String>,
    },
    /// MASTER, BINARY LOGS AND GTIDS, and TO.
    BinaryLogs(Option<u64>),
}

impl fmt::Display for Reset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reset::Replica { all, channel } => {
                let all = flag(*all, " ALL");
                write!(f, "REPLICA{all}{}", for_channel(channel))
            }
            Reset::BinaryLogs(to) => write!(f, "BINARY LOGS AND GTIDS{}", Opt(" TO ", to)),
        }
    }
}

impl fmt::Display for ReplicationStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ReplicationStatement as S;
        match self {
            S::ChangeSource { options, channel } => {
                f.write_str("CHANGE REPLICATION SOURCE TO ")?;
                for (n, pair) in options.iter().enumerate() {
                    let (name, value) = &*pair;
                    write!(f, "{}{} = {value}", flag(n > 0, ", "), name.as_str())?;
                }
                for_channel(channel).fmt(f)
            }
            S::ChangeFilter { filters, channel } => {
                write!(
                    f,
                    "CHANGE REPLICATION FILTER {}{}",
                    List(filters),
                    for_channel(channel)
                )
            }
            S::Start(start) => start.fmt(f),
            S::Stop { threads, channel } => {
                let space = flag(!threads.is_empty(), " ");
                write!(
                    f,
                    "STOP REPLICA{space}{}{}",
                    List(threads),
                    for_channel(channel)
                )
            }
            S::Reset(list) => write!(f, "RESET {}", List(list)),
            S::PurgeTo(log) => write!(f, "PURGE BINARY LOGS TO {}", Quoted(log)),
            S::PurgeBefore(when) => write!(f, "PURGE BINARY LOGS BEFORE {when}"),
            S::StartGroup(credentials) => {
                f.write_str("START GROUP_REPLICATION")?;
                for (n, pair) in credentials.iter().enumerate() {
                    let (name, value) = &*pair;
                    write!(f, "{} {name} = {}", flag(n > 0, ","), Quoted(value))?;
                }
                Ok(())
            }
            S::StopGroup => f.write_str("STOP GROUP_REPLICATION"),
        }
    }
}

impl fmt::Display for SourceValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceValue::Text(text) => Quoted(text).fmt(f),
            SourceValue::Number(number) => number.fmt(f),
            SourceValue::Word(word) => f.write_str(word.as_str()),
            SourceValue::Account(account) => account.fmt(f),
            SourceValue::Numbers(list) => write!(f, "({})", List(list)),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = ({})", self.rule, List(&self.items))
    }
}

impl fmt::Display for FilterItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterItem::Name(name) => name.fmt(f),
            FilterItem::Pattern(text) => Quoted(text).fmt(f),
            FilterItem::Pair(from, to) => write!(f, "({from}, {to})"),
        }
    }
}

impl fmt::Display for StartReplica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = flag(!self.threads.is_empty(), " ");
        write!(f, "START REPLICA{space}{}", List(&self.threads))?;
        for (n, pair) in self.until.iter().enumerate() {
            let (option, value) = &*pair;
            let before = if n == 0 { " UNTIL" } else { "," };
            write!(f, "{before} {option}{}", Opt(" = ", value))?;
        }
        for credential in &self.credentials {
            write!(f, " {}", LogIn(credential.0, &credential.1))?;
        }
        for_channel(&self.channel).fmt(f)
    }
}

struct LogIn<'a>(Credential, &'a str);

impl fmt::Display for LogIn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.0, Quoted(self.1))
    }
}
