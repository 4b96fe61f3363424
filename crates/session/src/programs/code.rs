//! What a program is compiled to: a tree of steps.

use std::sync::Arc;

use millpond_sql::catalog::programs::ProgramDef;
use millpond_sql::env::Locals;
use millpond_sql::error::SqlState;
use millpond_sql::parse::ast::{ParameterMode, SignalItem, StatementItem};
use millpond_sql::types::Column;

use crate::statements::Parsed;

/// A compiled program.
pub(crate) struct Program {
    /// Its definition.
    pub def: ProgramDef,
    /// Its variables, parameters first: what is assigned to each is converted for this column.
    pub slots: Vec<Column>,
    /// Its parameters' directions, by slot.
    pub parameters: Vec<ParameterMode>,
    /// What a function returns.
    pub returns: Option<Column>,
    /// Whether it may send result sets, as far as its own statements tell: not those that EXECUTE and CALL run.
    pub answers: bool,
    /// Its statements.
    pub statements: Vec<Arc<Parsed>>,
    /// The statements of its cursors.
    pub cursors: Vec<Sql>,
    /// What it does.
    pub body: Step,
    /// Slots of NEW that a trigger may change.
    pub changed: Vec<usize>,
}

/// A statement of a program, and what names mean in it.
#[derive(Clone)]
pub(crate) struct Sql {
    /// Position in [`Program::statements`].
    pub at: usize,
    /// The variables in sight.
    pub locals: Arc<Locals>,
}

/// A block or loop that LEAVE, ITERATE and EXIT handlers name, unique in its program.
pub(crate) type Target = usize;

/// A step.
pub(crate) enum Step {
    /// BEGIN ... END.
    Block(Block),
    /// IF, and CASE without an operand: the first branch whose condition is true.
    If {
        /// Conditions and what they lead to.
        branches: Vec<(Sql, Vec<Step>)>,
        /// ELSE; error 1339 if a CASE has none and no branch is taken.
        otherwise: Otherwise,
        /// CASE with an operand: its value, and the slot for it.
        operand: Option<(Sql, usize)>,
    },
    /// LOOP, WHILE and REPEAT.
    Loop {
        /// What it is left by.
        target: Target,
        /// WHILE.
        while_: Option<Sql>,
        /// Its statements.
        body: Vec<Step>,
        /// UNTIL.
        until: Option<Sql>,
    },
    /// LEAVE.
    Leave(Target),
    /// ITERATE.
    Iterate(Target),
    /// RETURN.
    Return(Sql),
    /// An assignment to a variable: its slot.
    Assign(usize, Sql),
    /// An assignment to a user variable.
    AssignUser(String, Sql),
    /// CALL.
    Call(Call),
    /// OPEN of a cursor.
    Open(usize),
    /// FETCH into slots.
    Fetch(usize, Vec<usize>),
    /// CLOSE.
    Close(usize),
    /// SIGNAL, and RESIGNAL.
    Signal(Signal),
    /// GET DIAGNOSTICS.
    Diagnostics(Diagnostics),
    /// Any other statement.
    Statement(Sql),
}

/// What follows where no branch is taken.
pub(crate) enum Otherwise {
    /// Nothing.
    Nothing,
    /// ELSE.
    Else(Vec<Step>),
    /// Error 1339.
    Error,
}

/// A block.
pub(crate) struct Block {
    /// What it is left by.
    pub target: Target,
    /// Its variables' slots in order, with what each begins as; NULL if nothing is said.
    pub variables: Vec<(usize, Option<Sql>)>,
    /// Its cursors, closed when it is left.
    pub cursors: std::ops::Range<usize>,
    /// Its handlers.
    pub handlers: Vec<Handler>,
    /// Its statements.
    pub body: Vec<Step>,
}

/// A handler.
pub(crate) struct Handler {
    /// Whether its block is left behind it.
    pub exits: bool,
    /// For which conditions.
    pub conditions: Vec<Condition>,
    /// What it does.
    pub body: Step,
}

/// Which conditions a handler is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// MySQL's number.
    Number(u16),
    /// A SQLSTATE.
    State(SqlState),
    /// SQLWARNING.
    Warning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    Exception,
}

/// CALL.
pub(crate) struct Call {
    /// Database, if said, and name.
    pub name: (Option<String>, String),
    /// Its arguments.
    pub args: Vec<Argument>,
}

/// An argument of CALL.
pub(crate) struct Argument {
    /// Its value.
    pub value: Sql,
    /// What OUT assigns to; `None` if it is no variable.
    pub variable: Option<Variable>,
}

/// What can be assigned to.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    /// A local variable, by its slot.
    Local(usize),
    /// A user variable, by its name in lower case.
    User(String),
    /// A placeholder.
    Param(usize),
}

/// SIGNAL or RESIGNAL.
pub(crate) struct Signal {
    /// The state it raises; none for RESIGNAL of what is handled.
    pub state: Option<SqlState>,
    /// Whether it is RESIGNAL.
    pub again: bool,
    /// SET.
    pub items: Vec<(SignalItem, Sql)>,
}

/// GET DIAGNOSTICS.
pub(crate) struct Diagnostics {
    /// STACKED.
    pub stacked: bool,
    /// What is read.
    pub items: DiagnosticsItems,
}

/// What GET DIAGNOSTICS reads, and what it assigns to.
pub(crate) enum DiagnosticsItems {
    /// Of the statement.
    Statement(Vec<(Variable, StatementItem)>),
    /// Of the condition of this number.
    Condition(Sql, Vec<(Variable, SignalItem)>),
}
