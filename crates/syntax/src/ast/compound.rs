//! The statements of stored programs: blocks, declarations, flow, cursors and conditions.

use super::list::{Item, Items};
use std::fmt;

use super::words::{List, Opt, flag, words};
use super::{Expr, Ident, Query, Statement, TypeAndCollation};

/// A statement that only a stored program may hold. (SIGNAL, RESIGNAL and GET DIAGNOSTICS may stand alone.)
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum CompoundStatement {
    /// BEGIN ... END.
    Block {
        /// Label.
        label: Option<Ident>,
        /// Declarations and statements, in order.
        body: Items<Statement>,
    },
    /// DECLARE variables.
    DeclareVariables {
        /// Names.
        names: Items<Ident>,
        /// Type.
        data_type: TypeAndCollation,
        /// DEFAULT.
        default: Option<Expr>,
    },
    /// DECLARE ... CONDITION.
    DeclareCondition(Ident, ConditionValue),
    /// DECLARE ... CURSOR.
    DeclareCursor(Ident, Box<Query>),
    /// DECLARE ... HANDLER.
    DeclareHandler {
        /// What follows the handler.
        action: HandlerAction,
        /// For which conditions.
        conditions: Items<ConditionValue>,
        /// What it does.
        body: Box<Statement>,
    },
    /// IF: conditions and what they lead to.
    If {
        /// IF and ELSEIF.
        branches: Items<(Expr, Items<Statement>)>,
        /// ELSE.
        otherwise: Option<Items<Statement>>,
    },
    /// CASE.
    Case {
        /// What is compared; if none, the branches have conditions.
        operand: Option<Expr>,
        /// WHEN.
        branches: Items<(Expr, Items<Statement>)>,
        /// ELSE.
        otherwise: Option<Items<Statement>>,
    },
    /// LOOP.
    Loop {
        /// Label.
        label: Option<Ident>,
        /// Statements.
        body: Items<Statement>,
    },
    /// REPEAT.
    Repeat {
        /// Label.
        label: Option<Ident>,
        /// Statements.
        body: Items<Statement>,
        /// UNTIL.
        until: Expr,
    },
    /// WHILE.
    While {
        /// Label.
        label: Option<Ident>,
        /// Condition.
        condition: Expr,
        /// Statements.
        body: Items<Statement>,
    },
    /// LEAVE.
    Leave(Ident),
    /// ITERATE.
    Iterate(Ident),
    /// RETURN.
    Return(Expr),
    /// OPEN.
    Open(Ident),
    /// FETCH.
    Fetch(Ident, Items<Ident>),
    /// CLOSE.
    Close(Ident),
    /// SIGNAL.
    Signal(ConditionValue, Items<(SignalItem, Expr)>),
    /// RESIGNAL.
    Resignal(Option<ConditionValue>, Items<(SignalItem, Expr)>),
    /// GET DIAGNOSTICS.
    GetDiagnostics(GetDiagnostics),
}

words! {
    /// What follows a handler.
    pub enum HandlerAction { Continue = "CONTINUE", Exit = "EXIT", Undo = "UNDO" }
    /// Items of a condition that SIGNAL sets.
    pub enum SignalItem {
        ClassOrigin = "CLASS_ORIGIN", SubclassOrigin = "SUBCLASS_ORIGIN", MessageText = "MESSAGE_TEXT",
        MysqlErrno = "MYSQL_ERRNO", ConstraintCatalog = "CONSTRAINT_CATALOG", ConstraintSchema = "CONSTRAINT_SCHEMA",
        ConstraintName = "CONSTRAINT_NAME", CatalogName = "CATALOG_NAME", SchemaName = "SCHEMA_NAME",
        TableName = "TABLE_NAME", ColumnName = "COLUMN_NAME", CursorName = "CURSOR_NAME",
        ReturnedSqlstate = "RETURNED_SQLSTATE",
    }
    /// Items of a statement that GET DIAGNOSTICS reads.
    pub enum StatementItem { Number = "NUMBER", RowCount = "ROW_COUNT" }
    /// Which diagnostics area.
    pub enum DiagnosticsArea { Current = "CURRENT", Stacked = "STACKED" }
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionValue {
    /// MySQL's error number.
    Number(u64),
    /// SQLSTATE.
    SqlState(String),
    /// A condition by name.
    Name(Ident),
    /// SQLWARNING.
    SqlWarning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    SqlException,
}

/// GET DIAGNOSTICS.
#[derive(Clone, Debug, PartialEq)]
pub struct GetDiagnostics {
    /// CURRENT or STACKED.
    pub area: Option<DiagnosticsArea>,
    /// What is read.
    pub items: DiagnosticsItems,
}

/// What GET DIAGNOSTICS reads; each item goes to a user variable or a local one.
#[derive(Clone, Debug, PartialEq)]
pub enum DiagnosticsItems {
    /// Of the statement.
    Statement(Items<(Expr, StatementItem)>),
    /// Of the n-th condition.
    Condition(Expr, Items<(Expr, SignalItem)>),
}

/// Statements, each with its semicolon.
struct Body<'a>(&'a Items<Statement>);

impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|statement| write!(f, "{statement}; "))
    }
}

/// `label: `, or nothing.
fn write_label(f: &mut fmt::Formatter<'_>, label: &Option<Ident>) -> fmt::Result {
    match label {
        Some(label) => write!(f, "{label}: "),
        None => Ok(()),
    }
}

fn write_otherwise(f: &mut fmt::Formatter<'_>, body: &Option<Items<Statement>>) -> fmt::Result {
    match body {
        Some(body) => write!(f, "ELSE {}", Body(body)),
        None => Ok(()),
    }
}

/// `a = b, ...`
fn write_pairs<A: fmt::Display + Clone, B: fmt::Display + Clone>(
    f: &mut fmt::Formatter<'_>,
    pairs: &Items<(A, B)>,
) -> fmt::Result
where
    (A, B): Item,
{
    for (n, pair) in pairs.iter().enumerate() {
        let (a, b) = &*pair;
        write!(f, "{}{a} = {b}", flag(n > 0, ", "))?;
    }
    Ok(())
}

fn write_set(f: &mut fmt::Formatter<'_>, items: &Items<(SignalItem, Expr)>) -> fmt::Result {
    f.write_str(flag(!items.is_empty(), " SET "))?;
    write_pairs(f, items)
}

impl fmt::Display for CompoundStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CompoundStatement as S;
        match self {
            S::Block { label, body } => {
                write_label(f, label)?;
                write!(f, "BEGIN {}END", Body(body))
            }
            S::DeclareVariables {
                names,
                data_type,
                default,
            } => {
                write!(
                    f,
                    "DECLARE {} {data_type}{}",
                    List(names),
                    Opt(" DEFAULT ", default)
                )
            }
            S::DeclareCondition(name, value) => write!(f, "DECLARE {name} CONDITION FOR {value}"),
            S::DeclareCursor(name, query) => write!(f, "DECLARE {name} CURSOR FOR {query}"),
            S::DeclareHandler {
                action,
                conditions,
                body,
            } => {
                write!(
                    f,
                    "DECLARE {action} HANDLER FOR {} {body}",
                    List(conditions)
                )
            }
            S::If {
                branches,
                otherwise,
            } => {
                for (n, pair) in branches.iter().enumerate() {
                    let (condition, body) = &*pair;
                    let word = if n == 0 { "IF" } else { "ELSEIF" };
                    write!(f, "{word} {condition} THEN {}", Body(body))?;
                }
                write_otherwise(f, otherwise)?;
                f.write_str("END IF")
            }
            S::Case {
                operand,
                branches,
                otherwise,
            } => {
                write!(f, "CASE{}", Opt(" ", operand))?;
                for branch in branches {
                    let (condition, body) = &*branch;
                    write!(f, " WHEN {condition} THEN {}", Body(body))?;
                }
                write_otherwise(f, otherwise)?;
                f.write_str("END CASE")
            }
            S::Loop { label, body } => {
                write_label(f, label)?;
                write!(f, "LOOP {}END LOOP", Body(body))
            }
            S::Repeat { label, body, until } => {
                write_label(f, label)?;
                write!(f, "REPEAT {}UNTIL {until} END REPEAT", Body(body))
            }
            S::While {
                label,
                condition,
                body,
            } => {
                write_label(f, label)?;
                write!(f, "WHILE {condition} DO {}END WHILE", Body(body))
            }
            S::Leave(label) => write!(f, "LEAVE {label}"),
            S::Iterate(label) => write!(f, "ITERATE {label}"),
            S::Return(value) => write!(f, "RETURN {value}"),
            S::Open(cursor) => write!(f, "OPEN {cursor}"),
            S::Fetch(cursor, into) => write!(f, "FETCH {cursor} INTO {}", List(into)),
            S::Close(cursor) => write!(f, "CLOSE {cursor}"),
            S::Signal(condition, items) => {
                write!(f, "SIGNAL {condition}")?;
                write_set(f, items)
            }
            S::Resignal(condition, items) => {
                write!(f, "RESIGNAL{}", Opt(" ", condition))?;
                write_set(f, items)
            }
            S::GetDiagnostics(get) => get.fmt(f),
        }
    }
}

impl fmt::Display for ConditionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConditionValue::Number(n) => n.fmt(f),
            ConditionValue::SqlState(state) => write!(f, "SQLSTATE '{state}'"),
            ConditionValue::Name(name) => name.fmt(f),
            ConditionValue::SqlWarning => f.write_str("SQLWARNING"),
            ConditionValue::NotFound => f.write_str("NOT FOUND"),
            ConditionValue::SqlException => f.write_str("SQLEXCEPTION"),
        }
    }
}

impl fmt::Display for GetDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GET{} DIAGNOSTICS ", Opt(" ", &self.area))?;
        match &self.items {
            DiagnosticsItems::Statement(items) => write_pairs(f, items),
            DiagnosticsItems::Condition(number, items) => {
                write!(f, "CONDITION {number} ")?;
                write_pairs(f, items)
            }
        }
    }
}
