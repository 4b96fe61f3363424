//! What a statement's text says, as a tree.
//!
//! Trees hold no text of the statement but names and literals, and live as long as anybody wants them to. Each expression, query and
//! name knows where it stood ([`crate::span::Span`]); trees compare without regard to that. Every node prints itself ([`crate::print`])
//! so that parsing what it printed gives the same tree. Nothing here knows catalogs, types of values or sessions.

pub mod dml;
pub mod expr;
pub mod from;
pub mod function;
pub mod list;
pub mod literal;
pub mod name;
pub mod query;

pub use dml::*;
pub use expr::*;
pub use from::*;
pub use function::*;
pub use list::{ExprList, Items, Rows};
pub use literal::*;
pub use name::*;
pub use query::*;

mod account;
mod admin;
mod alter_table;
mod column;
mod compound;
mod data_type;
mod deprecated;
mod partition;
mod replication;
mod routine;
mod schema;
mod session;
mod set;
mod show;
mod table;
mod transaction;
pub(crate) mod words;

pub use account::*;
pub use admin::*;
pub use alter_table::*;
pub use column::*;
pub use compound::*;
pub use data_type::*;
pub use deprecated::Deprecated;
pub use partition::*;
pub use replication::*;
pub use routine::*;
pub use schema::*;
pub use session::*;
pub use set::*;
pub use show::*;
pub use table::*;
pub use transaction::*;

use crate::span::Span;

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where, without a semicolon.
    pub span: Span,
    /// How many placeholders it has.
    pub params: u32,
    /// About how many bytes its tree takes, what lists reserve ahead left aside.
    pub bytes: u64,
    /// What it says that MySQL is to give up; of a statement in a program, the program's own definition has it.
    pub deprecated: Vec<Deprecated>,
}

impl PartialEq for Statement {
    fn eq(&self, other: &Statement) -> bool {
        self.kind == other.kind && self.params == other.params
    }
}

/// What a statement is: one variant for each kind.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// SELECT, VALUES, TABLE, WITH, and what is in parentheses.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// DO.
    Do(Box<Do>),
    /// CALL.
    Call(Box<CallProcedure>),
    /// EXPLAIN, DESCRIBE, DESC.
    Explain(Box<Explain>),
    /// CREATE, DROP, RENAME, TRUNCATE TABLE; CREATE and DROP INDEX.
    Table(Box<TableStatement>),
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// Databases, views, tablespaces, servers.
    Schema(Box<SchemaStatement>),
    /// Procedures, functions, triggers, events.
    Routine(Box<RoutineStatement>),
    /// What only stored programs hold, and SIGNAL, RESIGNAL, GET DIAGNOSTICS.
    Compound(Box<CompoundStatement>),
    /// Transactions, locks, XA.
    Transaction(Box<TransactionStatement>),
    /// SET.
    Set(Box<SetStatement>),
    /// Prepared statements, HANDLER, LOAD DATA, USE, HELP.
    Session(Box<SessionStatement>),
    /// Accounts, roles, privileges.
    Account(Box<AccountStatement>),
    /// Administration.
    Admin(Box<AdminStatement>),
    /// Replication.
    Replication(Box<ReplicationStatement>),
    /// SHOW.
    Show(Box<Show>),
}

impl StatementKind {
    /// Bytes that it takes beside itself, what is within that left aside.
    pub(crate) fn boxed(&self) -> usize {
        match self {
            StatementKind::Query(_) => size_of::<Query>(),
            StatementKind::Insert(_) => size_of::<Insert>(),
            StatementKind::Update(_) => size_of::<Update>(),
            StatementKind::Delete(_) => size_of::<Delete>(),
            StatementKind::Do(_) => size_of::<Do>(),
            StatementKind::Call(_) => size_of::<CallProcedure>(),
            StatementKind::Explain(_) => size_of::<Explain>(),
            StatementKind::Table(_) => size_of::<TableStatement>(),
            StatementKind::AlterTable(_) => size_of::<AlterTable>(),
            StatementKind::Schema(_) => size_of::<SchemaStatement>(),
            StatementKind::Routine(_) => size_of::<RoutineStatement>(),
            StatementKind::Compound(_) => size_of::<CompoundStatement>(),
            StatementKind::Transaction(_) => size_of::<TransactionStatement>(),
            StatementKind::Set(_) => size_of::<SetStatement>(),
            StatementKind::Session(_) => size_of::<SessionStatement>(),
            StatementKind::Account(_) => size_of::<AccountStatement>(),
            StatementKind::Admin(_) => size_of::<AdminStatement>(),
            StatementKind::Replication(_) => size_of::<ReplicationStatement>(),
            StatementKind::Show(_) => size_of::<Show>(),
        }
    }
}
