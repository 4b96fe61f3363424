//! Transactions, locks and XA.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, flag, words};
use super::{Expr, ExprKind, Ident, Literal, ObjectName, Scope};

/// Statements about transactions and locks.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionStatement {
    /// START TRANSACTION.
    Start {
        /// WITH CONSISTENT SNAPSHOT.
        snapshot: bool,
        /// READ ONLY, READ WRITE.
        access: Option<AccessMode>,
    },
    /// BEGIN [WORK].
    Begin,
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK.
    Rollback(Completion),
    /// SAVEPOINT.
    Savepoint(Ident),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(Ident),
    /// RELEASE SAVEPOINT.
    ReleaseSavepoint(Ident),
    /// SET TRANSACTION.
    Set {
        /// None: the next transaction only.
        scope: Option<Scope>,
        /// ISOLATION LEVEL.
        isolation: Option<Isolation>,
        /// READ ONLY, READ WRITE.
        access: Option<AccessMode>,
    },
    /// LOCK TABLES.
    LockTables(Items<LockedTable>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    /// UNLOCK INSTANCE.
    UnlockInstance,
    /// XA.
    Xa(XaStatement),
}

/// What follows the end of a transaction; where nothing is said, `completion_type` decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// AND [NO] CHAIN.
    pub chain: Option<bool>,
    /// [NO] RELEASE.
    pub release: Option<bool>,
}

/// A table of LOCK TABLES.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedTable {
    /// Table.
    pub name: ObjectName,
    /// Alias.
    pub alias: Option<Ident>,
    /// Lock.
    pub lock: TableLock,
}

words! {
    /// Whether a transaction may write.
    pub enum AccessMode { ReadOnly = "READ ONLY", ReadWrite = "READ WRITE" }
    /// Isolation levels.
    pub enum Isolation {
        ReadUncommitted = "READ UNCOMMITTED", ReadCommitted = "READ COMMITTED",
        RepeatableRead = "REPEATABLE READ", Serializable = "SERIALIZABLE",
    }
    /// Locks of LOCK TABLES.
    pub enum TableLock {
        ReadLocal = "READ LOCAL", Read = "READ", LowPriorityWrite = "LOW_PRIORITY WRITE",
        WriteConcurrent = "WRITE CONCURRENT", Write = "WRITE",
    }
    /// What XA START may add to.
    pub enum XaAssociation { Join = "JOIN", Resume = "RESUME" }
    /// Whether an association is only suspended.
    pub enum XaSuspension { SuspendForMigrate = "SUSPEND FOR MIGRATE", Suspend = "SUSPEND" }
}

/// XA statements.
#[derive(Clone, Debug, PartialEq)]
pub enum XaStatement {
    /// XA START, XA BEGIN.
    Start(Xid, Option<XaAssociation>),
    /// XA END.
    End(Xid, Option<XaSuspension>),
    /// XA PREPARE.
    Prepare(Xid),
    /// XA COMMIT, and whether in ONE PHASE.
    Commit(Xid, bool),
    /// XA ROLLBACK.
    Rollback(Xid),
    /// XA RECOVER, and whether to CONVERT XID.
    Recover(bool),
}

/// The identifier of an XA transaction: literals.
#[derive(Clone, Debug, PartialEq)]
pub struct Xid {
    /// Global transaction id, branch qualifier, format id; the last two may be absent.
    pub parts: Items<Expr>,
}

/// The longest text of an [`Xid`] (bytes).
const XID_TEXT: usize = 64;

impl Xid {
    /// What it says: global transaction id, branch qualifier (empty unless given) and format id (1 unless given). `None`: it isn't one.
    pub fn values(&self) -> Option<(Vec<u8>, Vec<u8>, i64)> {
        let mut parts = self.parts.iter();
        let global = parts.next().and_then(|p| xid_text(&p))?;
        let branch = parts.next().map_or(Some(Vec::new()), |p| xid_text(&p))?;
        let format = parts.next().map_or(Some(1), |p| xid_format(&p))?;
        parts.next().is_none().then_some((global, branch, format))
    }
}

fn xid_text(part: &Expr) -> Option<Vec<u8>> {
    let ExprKind::Literal(literal) = &part.kind else {
        return None;
    };
    let bytes = match &**literal {
        Literal::Text(text, _) => text.as_bytes().to_vec(),
        Literal::Hex(bytes) => bytes.to_vec(),
        Literal::Bits(digits) => {
            let digits: Vec<u8> = digits.bytes().collect();
            let bit = |byte: u8, digit: &u8| byte << 1 | (digit - b'0');
            let each = digits.rchunks(8).rev();
            each.map(|eight| eight.iter().fold(0, bit)).collect()
        }
        _ => return None,
    };
    (bytes.len() <= XID_TEXT).then_some(bytes)
}

fn xid_format(part: &Expr) -> Option<i64> {
    match &part.kind {
        ExprKind::Int(n) => i64::try_from(*n).ok(),
        ExprKind::Literal(literal) => match &**literal {
            Literal::Hex(bytes) if bytes.len() < 8 => {
                Some(bytes.iter().fold(0, |n, b| n << 8 | i64::from(*b)))
            }
            _ => None,
        },
        _ => None,
    }
}

impl fmt::Display for TransactionStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use TransactionStatement as S;
        match self {
            S::Start { snapshot, access } => {
                f.write_str("START TRANSACTION")?;
                f.write_str(flag(*snapshot, " WITH CONSISTENT SNAPSHOT"))?;
                f.write_str(flag(*snapshot && access.is_some(), ","))?;
                Opt(" ", access).fmt(f)
            }
            S::Begin => f.write_str("BEGIN"),
            S::Commit(completion) => write!(f, "COMMIT{completion}"),
            S::Rollback(completion) => write!(f, "ROLLBACK{completion}"),
            S::Savepoint(name) => write!(f, "SAVEPOINT {name}"),
            S::RollbackTo(name) => write!(f, "ROLLBACK TO SAVEPOINT {name}"),
            S::ReleaseSavepoint(name) => write!(f, "RELEASE SAVEPOINT {name}"),
            S::Set {
                scope,
                isolation,
                access,
            } => {
                write!(f, "SET{} TRANSACTION", Opt(" ", scope))?;
                Opt(" ISOLATION LEVEL ", isolation).fmt(f)?;
                f.write_str(flag(isolation.is_some() && access.is_some(), ","))?;
                Opt(" ", access).fmt(f)
            }
            S::LockTables(tables) => write!(f, "LOCK TABLES {}", List(tables)),
            S::UnlockTables => f.write_str("UNLOCK TABLES"),
            S::LockInstance => f.write_str("LOCK INSTANCE FOR BACKUP"),
            S::UnlockInstance => f.write_str("UNLOCK INSTANCE"),
            S::Xa(xa) => xa.fmt(f),
        }
    }
}

impl fmt::Display for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.chain {
            Some(true) => " AND CHAIN",
            Some(false) => " AND NO CHAIN",
            None => "",
        })?;
        f.write_str(match self.release {
            Some(true) => " RELEASE",
            Some(false) => " NO RELEASE",
            None => "",
        })
    }
}

impl fmt::Display for LockedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} {}", self.name, Opt(" AS ", &self.alias), self.lock)
    }
}

impl fmt::Display for XaStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            XaStatement::Start(xid, how) => write!(f, "XA START {xid}{}", Opt(" ", how)),
            XaStatement::End(xid, how) => write!(f, "XA END {xid}{}", Opt(" ", how)),
            XaStatement::Prepare(xid) => write!(f, "XA PREPARE {xid}"),
            XaStatement::Commit(xid, one) => {
                write!(f, "XA COMMIT {xid}{}", flag(*one, " ONE PHASE"))
            }
            XaStatement::Rollback(xid) => write!(f, "XA ROLLBACK {xid}"),
            XaStatement::Recover(convert) => {
                write!(f, "XA RECOVER{}", flag(*convert, " CONVERT XID"))
            }
        }
    }
}

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        List(&self.parts).fmt(f)
    }
}
