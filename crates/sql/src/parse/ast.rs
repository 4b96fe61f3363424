//! Statements as the rest of the crate sees them. What sqlparser models well keeps sqlparser's types;
//! everything about the session, administration and names has small types of our own.

pub use super::partition::{
    PartitionBy, PartitionDef, PartitionMethod, PartitionOn, PartitionOp, PartitionValue,
    PartitionValues,
};
pub use sqlparser::ast as sp;

/// A parsed statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: Kind,
    /// Number of `?` placeholders. They are numbered from 0 in order of appearance; in expressions the n-th
    /// is `sp::Value::Placeholder("?n")`.
    pub params: usize,
    /// Its source text, without the terminating semicolon, version comments opened.
    pub text: String,
    /// IGNORE of UPDATE, DELETE and CREATE TABLE ... SELECT (INSERT keeps its own).
    pub ignore: bool,
    /// WITH before UPDATE or DELETE (a query keeps its own).
    pub with: Option<sp::With>,
    /// What CREATE TABLE ... SELECT does with duplicates.
    pub duplicates: Duplicates,
    /// SELECT ... INTO @a, @b: names of the variables, lower case, without the @.
    pub into: Vec<String>,
    /// For each SELECT, by the position of its keyword, the source text of the select list's items: the
    /// headings of items without an alias.
    pub headings: Vec<(sqlparser::tokenizer::Location, Vec<String>)>,
    /// MAX_EXECUTION_TIME(n) among the optimizer hints of a SELECT, milliseconds.
    pub time_limit: Option<u64>,
    /// Its longest run of tokens: bounds how deep it nests (see `stack`).
    pub run: usize,
}

/// What becomes of a row whose unique key is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// It is an error.
    #[default]
    Refuse,
    /// It is left out, with a warning.
    Ignore,
    /// It takes the place of the one that is there.
    Replace,
}

/// Kinds of stored programs, of which there are none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Program {
    Procedure,
    Function,
    Trigger,
    Event,
}

/// A table's name as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    /// Database, if given.
    pub database: Option<String>,
    /// Table.
    pub name: String,
}

/// Statement kinds.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Nothing but blanks and comments.
    Empty,
    /// SELECT, VALUES, TABLE, WITH, UNION: `plan::compile` takes it.
    Query(Box<sp::Query>),
    /// INSERT and REPLACE: `plan::compile` takes it.
    Insert(Box<sp::Insert>),
    /// UPDATE: `plan::compile` takes it.
    Update(Box<sp::Update>),
    /// DELETE: `plan::compile` takes it.
    Delete(Box<sp::Delete>),
    /// UPDATE and DELETE of several tables: `plan::compile` takes it.
    Several(Box<Several>),
    /// EXPLAIN of a statement: `plan::compile` takes it.
    Explain {
        /// Output format.
        format: ExplainFormat,
        /// The statement explained (Query, Insert, Update or Delete).
        statement: Box<Statement>,
    },
    /// DO: `plan::compile` takes it.
    Do(Vec<sp::Expr>),
    /// CREATE TABLE with columns (also AS SELECT, when `query` is set).
    CreateTable(Box<sp::CreateTable>),
    /// The same with PARTITION BY.
    CreatePartitioned(Box<sp::CreateTable>, Box<PartitionBy>),
    /// CREATE TABLE ... LIKE.
    CreateTableLike {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// TEMPORARY.
        temporary: bool,
        /// New table.
        name: TableName,
        /// Model.
        like: TableName,
    },
    /// CREATE INDEX.
    CreateIndex(Box<sp::CreateIndex>),
    /// DROP INDEX ... ON.
    DropIndex {
        /// Index.
        name: String,
        /// Table.
        table: TableName,
        /// ALGORITHM and LOCK.
        clauses: Vec<sp::AlterTableOperation>,
    },
    /// ALTER TABLE.
    AlterTable {
        /// Table.
        table: TableName,
        /// What is to change, in order.
        actions: Vec<AlterAction>,
    },
    /// ALTER TABLE that changes partitions.
    AlterPartitions {
        /// Table.
        table: TableName,
        /// What is done.
        op: PartitionOp,
    },
    /// DROP TABLE.
    DropTables {
        /// IF EXISTS.
        if_exists: bool,
        /// TEMPORARY.
        temporary: bool,
        /// Tables.
        names: Vec<TableName>,
    },
    /// DROP VIEW (there are no views yet; IF EXISTS makes it harmless).
    DropViews {
        /// IF EXISTS.
        if_exists: bool,
        /// Views.
        names: Vec<TableName>,
    },
    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT (IF EXISTS makes it harmless, too).
    DropProgram {
        /// Which.
        program: Program,
        /// IF EXISTS.
        if_exists: bool,
        /// Name.
        name: TableName,
    },
    /// TRUNCATE TABLE.
    Truncate(TableName),
    /// RENAME TABLE.
    RenameTables(Vec<(TableName, TableName)>),
    /// CREATE DATABASE.
    CreateDatabase {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Name.
        name: String,
        /// Options.
        options: DatabaseOptions,
    },
    /// ALTER DATABASE.
    AlterDatabase {
        /// Name; the current database if none.
        name: Option<String>,
        /// Options.
        options: DatabaseOptions,
    },
    /// DROP DATABASE.
    DropDatabase {
        /// IF EXISTS.
        if_exists: bool,
        /// Name.
        name: String,
    },
    /// USE.
    Use(String),
    /// START TRANSACTION, BEGIN.
    Begin {
        /// WITH CONSISTENT SNAPSHOT.
        snapshot: bool,
        /// READ ONLY / READ WRITE, if given.
        read_only: Option<bool>,
    },
    /// COMMIT.
    Commit {
        /// AND CHAIN.
        chain: bool,
        /// RELEASE.
        release: bool,
    },
    /// ROLLBACK.
    Rollback {
        /// AND CHAIN.
        chain: bool,
        /// RELEASE.
        release: bool,
    },
    /// SAVEPOINT.
    Savepoint(String),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(String),
    /// RELEASE SAVEPOINT.
    ReleaseSavepoint(String),
    /// SET, item by item, in order.
    Set(Vec<SetItem>),
    /// SHOW.
    Show(Show),
    /// DESCRIBE, DESC, EXPLAIN of a table.
    Describe {
        /// Table.
        table: TableName,
        /// Column name or LIKE pattern.
        column: Option<String>,
    },
    /// LOCK TABLES: (table, alias, write).
    LockTables(Vec<(TableName, Option<String>, bool)>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// FLUSH: what, in upper case (`TABLES`, `PRIVILEGES`, `LOGS`, `TABLES WITH READ LOCK`, ...).
    Flush {
        /// Upper-case words after FLUSH, without the tables.
        what: String,
        /// Tables named.
        tables: Vec<TableName>,
    },
    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE.
    Maintain {
        /// Which.
        op: Maintenance,
        /// Tables.
        tables: Vec<TableName>,
        /// Upper-case words after the tables (`QUICK`, `EXTENDED`).
        options: Vec<String>,
        /// What ANALYZE TABLE says about histograms.
        histogram: Option<HistogramClause>,
        /// Partitions of the one table (ALTER TABLE ... CHECK PARTITION), if it is about partitions.
        partitions: Option<Partitions>,
    },
    /// KILL [CONNECTION | QUERY] id.
    Kill {
        /// KILL CONNECTION (the default).
        connection: bool,
        /// Connection id.
        id: sp::Expr,
    },
    /// PREPARE name FROM text.
    Prepare {
        /// Name.
        name: String,
        /// Text.
        source: PrepareSource,
    },
    /// EXECUTE name USING @a, @b.
    Execute {
        /// Name.
        name: String,
        /// User variables, lower case, without the @.
        using: Vec<String>,
    },
    /// DEALLOCATE PREPARE, DROP PREPARE.
    Deallocate(String),
    /// HELP 'topic'.
    Help(String),
}

/// UPDATE or DELETE of several tables.
#[derive(Clone, Debug)]
pub struct Several {
    /// The join that finds the rows.
    pub from: Vec<sp::TableWithJoins>,
    /// What is done to them.
    pub change: Change,
    /// WHERE.
    pub filter: Option<sp::Expr>,
}

/// What is done to the rows of several tables.
#[derive(Clone, Debug)]
pub enum Change {
    /// SET.
    Update(Vec<sp::Assignment>),
    /// The tables whose rows go, by the names they have in the join.
    Delete(Vec<TableName>),
}

/// One of the changes of an ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// Of columns and keys, as sqlparser reads them; ALGORITHM and LOCK.
    Definition(Box<sp::AlterTableOperation>),
    /// RENAME INDEX.
    RenameIndex {
        /// Name now.
        from: String,
        /// Name then.
        to: String,
    },
    /// ALTER INDEX ... VISIBLE, which every index is.
    IndexVisible(String),
    /// DEFAULT CHARACTER SET, COLLATE: for columns to come.
    DefaultCollation(DatabaseOptions),
    /// CONVERT TO CHARACTER SET: also of the columns there are.
    Convert(DatabaseOptions),
    /// ORDER BY these columns.
    OrderBy(Vec<String>),
    /// ENGINE: a rebuild.
    Engine(String),
    /// FORCE: a rebuild.
    Force,
    /// COMMENT.
    Comment(String),
    /// AUTO_INCREMENT.
    AutoIncrement(u64),
    /// RENAME TO.
    Rename(TableName),
    /// DISABLE KEYS, ENABLE KEYS: accepted, without meaning here.
    Keys,
    /// ROW_FORMAT or KEY_BLOCK_SIZE, and its value: rows have one format, uncompressed.
    Compression(&'static str, String),
    /// AVG_ROW_LENGTH and the like, which change nothing for InnoDB either.
    Ignored,
}

/// EXPLAIN's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// One row per table.
    Traditional,
    /// Text tree.
    Tree,
}

/// Options of CREATE and ALTER DATABASE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// CHARACTER SET, lower case.
    pub charset: Option<String>,
    /// COLLATE, lower case.
    pub collation: Option<String>,
}

/// Where PREPARE takes its text from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareSource {
    /// A literal.
    Text(String),
    /// A user variable (lower case, without the @).
    Variable(String),
}

/// Scope of a system variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `SET x`, `SET @@x`: the session's (for SET TRANSACTION: the next transaction only).
    Default,
    /// SESSION, LOCAL.
    Session,
    /// GLOBAL.
    Global,
    /// PERSIST.
    Persist,
}

/// One assignment of SET.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // A statement has a few, for a moment.
pub enum SetItem {
    /// `@name = expr`.
    User {
        /// Lower-case name without the @.
        name: String,
        /// Value.
        value: sp::Expr,
    },
    /// A system variable.
    System {
        /// Scope.
        scope: Scope,
        /// Lower-case name.
        name: String,
        /// Value; a bare word (`SET autocommit = ON`) is a `SetValue::Word`.
        value: SetValue,
    },
    /// SET NAMES.
    Names {
        /// Character set, lower case; `None` for DEFAULT.
        charset: Option<String>,
        /// COLLATE, lower case.
        collation: Option<String>,
    },
    /// SET CHARACTER SET; `None` for DEFAULT.
    CharacterSet(Option<String>),
    /// SET TRANSACTION.
    Transaction {
        /// Scope: `Default` means the next transaction only.
        scope: Scope,
        /// ISOLATION LEVEL.
        isolation: Option<millpond_store::Isolation>,
        /// READ ONLY / READ WRITE.
        read_only: Option<bool>,
    },
}

/// Value of a system variable in SET.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // As above.
pub enum SetValue {
    /// DEFAULT.
    Default,
    /// An unquoted word such as ON, OFF, utf8mb4, in its own case.
    Word(String),
    /// Any other expression.
    Expr(sp::Expr),
}

/// Partitions by name; `None`: ALL.
pub type Partitions = Option<Vec<String>>;

/// UPDATE HISTOGRAM, DROP HISTOGRAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramClause {
    /// Columns named.
    pub columns: Vec<String>,
    /// Buckets of those that are made; `None`: they are dropped.
    pub buckets: Option<usize>,
}

impl HistogramClause {
    /// Buckets if nothing is said.
    pub const DEFAULT_BUCKETS: usize = 100;
    /// Most buckets that may be asked for.
    pub const MAX_BUCKETS: usize = 1024;
}

/// Table maintenance statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Maintenance {
    Analyze,
    Check,
    Optimize,
    Repair,
    Checksum,
}

/// The filter of a SHOW statement.
#[derive(Clone, Debug, Default)]
#[allow(clippy::large_enum_variant)] // As above.
pub enum ShowFilter {
    /// None.
    #[default]
    None,
    /// LIKE pattern.
    Like(String),
    /// WHERE over the columns of the SHOW.
    Where(sp::Expr),
}

/// SHOW statements.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Show {
    Databases(ShowFilter),
    Tables {
        full: bool,
        database: Option<String>,
        filter: ShowFilter,
    },
    TableStatus {
        database: Option<String>,
        filter: ShowFilter,
    },
    OpenTables {
        database: Option<String>,
        filter: ShowFilter,
    },
    Columns {
        full: bool,
        table: TableName,
        filter: ShowFilter,
    },
    Index {
        table: TableName,
        filter: ShowFilter,
    },
    CreateTable(TableName),
    CreateDatabase {
        if_not_exists: bool,
        name: String,
    },
    Variables {
        scope: Scope,
        filter: ShowFilter,
    },
    Status {
        scope: Scope,
        filter: ShowFilter,
    },
    ProcessList {
        full: bool,
    },
    Warnings {
        limit: Option<u64>,
        offset: u64,
    },
    Errors {
        limit: Option<u64>,
        offset: u64,
    },
    CountWarnings,
    CountErrors,
    Engines,
    /// SHOW ENGINE name STATUS.
    EngineStatus(String),
    Collation(ShowFilter),
    CharacterSet(ShowFilter),
    /// SHOW GRANTS [FOR user].
    Grants(Option<String>),
    Privileges,
    Plugins,
    /// SHOW TRIGGERS.
    Triggers {
        database: Option<String>,
        filter: ShowFilter,
    },
    Events {
        database: Option<String>,
        filter: ShowFilter,
    },
    /// SHOW PROCEDURE STATUS / FUNCTION STATUS.
    RoutineStatus {
        function: bool,
        filter: ShowFilter,
    },
    /// SHOW CREATE VIEW, PROCEDURE, FUNCTION, TRIGGER, EVENT: (kind in upper case, name).
    CreateOther(String, TableName),
    /// SHOW BINARY LOGS, MASTER STATUS, REPLICA STATUS, ...: the words in upper case.
    Replication(String),
}

impl Statement {
    /// Whether `plan::compile` takes it; the rest is the session's.
    pub fn is_planned(&self) -> bool {
        matches!(
            self.kind,
            Kind::Query(_)
                | Kind::Insert(_)
                | Kind::Update(_)
                | Kind::Delete(_)
                | Kind::Several(_)
                | Kind::Explain { .. }
                | Kind::Do(_)
        )
    }
}
