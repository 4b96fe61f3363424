//! Procedures, functions, triggers and events: what surrounds their bodies.

use super::list::Items;
use std::fmt;

use super::schema::After;
use super::words::{List, Opt, OptText, Quoted, Spaced, flag, words};
use super::{Account, DataType, Expr, Ident, ObjectName, Security, Statement};

/// Statements about stored programs.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum RoutineStatement {
    /// CREATE PROCEDURE, CREATE FUNCTION.
    Create(Routine),
    /// ALTER PROCEDURE, ALTER FUNCTION.
    Alter {
        /// PROCEDURE or FUNCTION.
        kind: ProgramKind,
        /// Name.
        name: ObjectName,
        /// What changes.
        characteristics: Items<Characteristic>,
    },
    /// CREATE FUNCTION ... SONAME.
    CreateLoadable {
        /// OR REPLACE (MariaDB).
        or_replace: bool,
        /// AGGREGATE.
        aggregate: bool,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Name.
        name: Ident,
        /// RETURNS.
        returns: LoadableType,
        /// SONAME.
        library: String,
    },
    /// CREATE TRIGGER.
    CreateTrigger(Trigger),
    /// CREATE EVENT.
    CreateEvent(Event),
    /// ALTER EVENT.
    AlterEvent(AlterEvent),
    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    Drop {
        /// Which.
        kind: ProgramKind,
        /// IF EXISTS.
        if_exists: bool,
        /// Name.
        name: ObjectName,
    },
}

words! {
    /// Kinds of stored programs.
    pub enum ProgramKind { Procedure = "PROCEDURE", Function = "FUNCTION", Trigger = "TRIGGER", Event = "EVENT" }
    /// Directions of a procedure's parameters.
    pub enum ParameterMode { InOut = "INOUT", In = "IN", Out = "OUT" }
    /// What a routine does with data.
    pub enum DataAccess {
        ContainsSql = "CONTAINS SQL", NoSql = "NO SQL", ReadsSqlData = "READS SQL DATA", ModifiesSqlData = "MODIFIES SQL DATA",
    }
    /// Result types of loadable functions.
    pub enum LoadableType { String = "STRING", Integer = "INTEGER", Int = "INT", Real = "REAL", Decimal = "DECIMAL" }
    /// When a trigger runs.
    pub enum TriggerTime { Before = "BEFORE", After = "AFTER" }
    /// On what a trigger runs.
    pub enum TriggerEvent { Insert = "INSERT", Update = "UPDATE", Delete = "DELETE" }
    /// A trigger's place among those of its time and event.
    pub enum TriggerOrder { Follows = "FOLLOWS", Precedes = "PRECEDES" }
    /// Whether an event runs.
    pub enum EventState {
        Enable = "ENABLE", DisableOnReplica = "DISABLE ON REPLICA", DisableOnSlave = "DISABLE ON SLAVE", Disable = "DISABLE",
    }
}

/// CREATE PROCEDURE, CREATE FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct Routine {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// DEFINER.
    pub definer: Option<Definer>,
    /// AGGREGATE (MariaDB).
    pub aggregate: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// Parameters.
    pub parameters: Items<Parameter>,
    /// RETURNS of a function; a procedure has none.
    pub returns: Option<TypeAndCollation>,
    /// Characteristics, as written.
    pub characteristics: Items<Characteristic>,
    /// Body.
    pub body: Box<Statement>,
}

/// Whose rights a program has.
#[derive(Clone, Debug, PartialEq)]
pub struct Definer(pub Account);

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Direction; none for a function's.
    pub mode: Option<ParameterMode>,
    /// Name.
    pub name: Ident,
    /// Type.
    pub data_type: TypeAndCollation,
}

/// A type outside a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeAndCollation {
    /// Type.
    pub data_type: DataType,
    /// COLLATE.
    pub collation: Option<Ident>,
}

/// A characteristic of a routine.
#[derive(Clone, Debug, PartialEq)]
pub enum Characteristic {
    /// COMMENT.
    Comment(String),
    /// LANGUAGE.
    Language(Ident),
    /// [NOT] DETERMINISTIC.
    Deterministic(bool),
    /// What it does with data.
    Access(DataAccess),
    /// SQL SECURITY.
    Security(Security),
}

/// CREATE TRIGGER.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// DEFINER.
    pub definer: Option<Definer>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// BEFORE, AFTER.
    pub time: TriggerTime,
    /// INSERT, UPDATE, DELETE.
    pub event: TriggerEvent,
    /// Table.
    pub table: ObjectName,
    /// FOLLOWS, PRECEDES.
    pub order: Option<(TriggerOrder, Ident)>,
    /// Body.
    pub body: Box<Statement>,
}

/// CREATE EVENT.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// DEFINER.
    pub definer: Option<Definer>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Name.
    pub name: ObjectName,
    /// ON SCHEDULE.
    pub schedule: Schedule,
    /// ON COMPLETION [NOT] PRESERVE.
    pub preserve: Option<bool>,
    /// ENABLE, DISABLE.
    pub state: Option<EventState>,
    /// COMMENT.
    pub comment: Option<String>,
    /// DO.
    pub body: Box<Statement>,
}

/// ALTER EVENT.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterEvent {
    /// DEFINER.
    pub definer: Option<Definer>,
    /// Name.
    pub name: ObjectName,
    /// ON SCHEDULE.
    pub schedule: Option<Schedule>,
    /// ON COMPLETION [NOT] PRESERVE.
    pub preserve: Option<bool>,
    /// RENAME TO.
    pub rename: Option<ObjectName>,
    /// ENABLE, DISABLE.
    pub state: Option<EventState>,
    /// COMMENT.
    pub comment: Option<String>,
    /// DO.
    pub body: Option<Box<Statement>>,
}

/// When an event runs.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A statement has one, for a moment.
pub enum Schedule {
    /// AT.
    At(Expr),
    /// EVERY.
    Every {
        /// Count.
        every: Expr,
        /// Unit.
        unit: super::IntervalUnit,
        /// STARTS.
        starts: Option<Expr>,
        /// ENDS.
        ends: Option<Expr>,
    },
}

impl fmt::Display for RoutineStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use RoutineStatement as S;
        match self {
            S::Create(routine) => routine.fmt(f),
            S::Alter {
                kind,
                name,
                characteristics,
            } => {
                write!(f, "ALTER {kind} {name}{}", Spaced(characteristics))
            }
            S::CreateLoadable {
                or_replace,
                aggregate,
                if_not_exists,
                name,
                returns,
                library,
            } => {
                write!(
                    f,
                    "CREATE {}{}FUNCTION {}{name} RETURNS {returns} SONAME {}",
                    flag(*or_replace, "OR REPLACE "),
                    flag(*aggregate, "AGGREGATE "),
                    flag(*if_not_exists, "IF NOT EXISTS "),
                    Quoted(library)
                )
            }
            S::CreateTrigger(trigger) => trigger.fmt(f),
            S::CreateEvent(event) => event.fmt(f),
            S::AlterEvent(event) => event.fmt(f),
            S::Drop {
                kind,
                if_exists,
                name,
            } => {
                write!(f, "DROP {kind} {}{name}", flag(*if_exists, "IF EXISTS "))
            }
        }
    }
}

impl fmt::Display for Definer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn write_create(
    f: &mut fmt::Formatter<'_>,
    or_replace: bool,
    definer: &Option<Definer>,
) -> fmt::Result {
    let definer = After("DEFINER = ", definer);
    write!(f, "CREATE {}{definer}", flag(or_replace, "OR REPLACE "))
}

impl fmt::Display for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_create(f, self.or_replace, &self.definer)?;
        let aggregate = flag(self.aggregate, "AGGREGATE ");
        let kind = match self.returns {
            Some(_) => ProgramKind::Function,
            None => ProgramKind::Procedure,
        };
        write!(
            f,
            "{aggregate}{kind} {}{} ({}){}{} {}",
            flag(self.if_not_exists, "IF NOT EXISTS "),
            self.name,
            List(&self.parameters),
            Opt(" RETURNS ", &self.returns),
            Spaced(&self.characteristics),
            self.body
        )
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{} {}",
            After("", &self.mode),
            self.name,
            self.data_type
        )
    }
}

impl fmt::Display for TypeAndCollation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.data_type, Opt(" COLLATE ", &self.collation))
    }
}

impl fmt::Display for Characteristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Characteristic::Comment(text) => write!(f, "COMMENT {}", Quoted(text)),
            Characteristic::Language(name) => write!(f, "LANGUAGE {name}"),
            Characteristic::Deterministic(yes) => {
                write!(f, "{}DETERMINISTIC", flag(!yes, "NOT "))
            }
            Characteristic::Access(access) => access.fmt(f),
            Characteristic::Security(security) => write!(f, "SQL SECURITY {security}"),
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_create(f, self.or_replace, &self.definer)?;
        let missing = flag(self.if_not_exists, "IF NOT EXISTS ");
        write!(
            f,
            "TRIGGER {missing}{} {} {}",
            self.name, self.time, self.event
        )?;
        write!(f, " ON {} FOR EACH ROW ", self.table)?;
        if let Some((order, other)) = &self.order {
            write!(f, "{order} {other} ")?;
        }
        self.body.fmt(f)
    }
}

/// ON COMPLETION, or nothing.
fn completion(preserve: Option<bool>) -> &'static str {
    match preserve {
        Some(true) => " ON COMPLETION PRESERVE",
        Some(false) => " ON COMPLETION NOT PRESERVE",
        None => "",
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_create(f, self.or_replace, &self.definer)?;
        write!(
            f,
            "EVENT {}{} ON SCHEDULE {}{}{}{} DO {}",
            flag(self.if_not_exists, "IF NOT EXISTS "),
            self.name,
            self.schedule,
            completion(self.preserve),
            Opt(" ", &self.state),
            OptText(" COMMENT ", &self.comment),
            self.body
        )
    }
}

impl fmt::Display for AlterEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ALTER {}EVENT {}{}{}{}{}{}{}",
            After("DEFINER = ", &self.definer),
            self.name,
            Opt(" ON SCHEDULE ", &self.schedule),
            completion(self.preserve),
            Opt(" RENAME TO ", &self.rename),
            Opt(" ", &self.state),
            OptText(" COMMENT ", &self.comment),
            Opt(" DO ", &self.body)
        )
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::At(when) => write!(f, "AT {when}"),
            Schedule::Every {
                every,
                unit,
                starts,
                ends,
            } => {
                let (starts, ends) = (Opt(" STARTS ", starts), Opt(" ENDS ", ends));
                write!(f, "EVERY {every} {unit}{starts}{ends}")
            }
        }
    }
}
