//! Which statements a program may hold.

use millpond_sql::catalog::programs::ProgramKind;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{
    AdminStatement, ProgramKind as Kind, Query, RoutineStatement, SchemaStatement,
    SessionStatement, SetItem, SetStatement, StatementKind, TableStatement, TransactionStatement,
};
use millpond_sql::planner::into_of;

/// 1314.
fn bad(what: &str) -> SqlError {
    SqlError::new(1314, format!("{what} is not allowed in stored procedures"))
}

/// 1336.
fn dynamic(what: &str) -> SqlError {
    SqlError::new(
        1336,
        format!("{what} is not allowed in stored function or trigger"),
    )
}

/// 1415.
fn no_result(kind: ProgramKind) -> SqlError {
    let what = match kind {
        ProgramKind::Trigger => "trigger",
        _ => "function",
    };
    SqlError::new(
        1415,
        format!("Not allowed to return a result set from a {what}"),
    )
}

/// 1422.
pub(crate) fn commits() -> SqlError {
    SqlError::new(
        1422,
        "Explicit or implicit commit is not allowed in stored function or trigger.",
    )
}

/// 1445.
pub(crate) fn no_autocommit() -> SqlError {
    SqlError::new(
        1445,
        "Not allowed to set autocommit from a stored function or trigger",
    )
}

fn sets_autocommit(item: &SetItem) -> bool {
    match item {
        SetItem::Variable { name, .. } => name.as_str().eq_ignore_ascii_case("autocommit"),
        _ => false,
    }
}

/// 1576.
fn recursion() -> SqlError {
    SqlError::new(
        1576,
        "Recursion of EVENT DDL statements is forbidden when body is present",
    )
}

/// What MySQL has against a statement in a function or trigger, which it says when it has read all of that.
pub(super) fn check(statement: &StatementKind, kind: ProgramKind) -> SqlResult<()> {
    match kind {
        ProgramKind::Procedure | ProgramKind::Event => Ok(()),
        _ => in_expressions(statement, kind),
    }
}

/// What it has against one in any program, which it says at once.
pub(super) fn in_any(statement: &StatementKind) -> SqlResult<()> {
    use RoutineStatement as R;
    match statement {
        StatementKind::Session(s) => match **s {
            SessionStatement::Use(_) => Err(bad("USE")),
            SessionStatement::Load(_) => Err(bad("LOAD DATA")),
            SessionStatement::Help(_) => Err(bad("HELP")),
            _ => Ok(()),
        },
        StatementKind::Transaction(t) => match **t {
            TransactionStatement::LockTables(_) => Err(bad("LOCK")),
            TransactionStatement::UnlockTables => Err(bad("UNLOCK")),
            _ => Ok(()),
        },
        StatementKind::Schema(s) => match &**s {
            SchemaStatement::View(view) if view.alter => Err(bad("ALTER VIEW")),
            _ => Ok(()),
        },
        StatementKind::Routine(r) => {
            let (code, verb, what) = match &**r {
                R::Create(routine) if routine.returns.is_some() => (1303, "create", "FUNCTION"),
                R::Create(_) => (1303, "create", "PROCEDURE"),
                R::CreateTrigger(_) => (1303, "create", "TRIGGER"),
                R::CreateEvent(_) => return Err(recursion()),
                R::AlterEvent(alter) if alter.body.is_some() => return Err(recursion()),
                R::AlterEvent(_)
                | R::Drop {
                    kind: Kind::Event, ..
                } => return Ok(()),
                R::CreateLoadable { .. } => (1303, "create", "FUNCTION"),
                R::Alter { kind, .. } | R::Drop { kind, .. } => {
                    (1357, "drop or alter", word(*kind))
                }
            };
            Err(SqlError::new(
                code,
                format!("Can't {verb} a {what} from within another stored routine"),
            ))
        }
        _ => Ok(()),
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Procedure => "PROCEDURE",
        Kind::Function => "FUNCTION",
        Kind::Trigger => "TRIGGER",
        Kind::Event => "EVENT",
    }
}

fn returns_rows(q: &Query) -> bool {
    into_of(q).is_none()
}

/// Whether a statement sends a result set.
pub(super) fn answers(statement: &StatementKind) -> bool {
    use StatementKind as K;
    match statement {
        K::Query(q) => returns_rows(q),
        K::Show(_) | K::Explain(_) => true,
        K::Admin(a) => matches!(
            **a,
            AdminStatement::Maintain { .. } | AdminStatement::Histogram { .. }
        ),
        _ => false,
    }
}

/// In functions and triggers, which run within a statement.
fn in_expressions(statement: &StatementKind, kind: ProgramKind) -> SqlResult<()> {
    use StatementKind as K;
    match statement {
        s if answers(s) => Err(no_result(kind)),
        K::Session(s) => match **s {
            SessionStatement::Prepare { .. }
            | SessionStatement::Execute { .. }
            | SessionStatement::Deallocate(_) => Err(dynamic("Dynamic SQL")),
            _ => Ok(()),
        },
        K::Transaction(t) => match **t {
            TransactionStatement::Savepoint(_)
            | TransactionStatement::RollbackTo(_)
            | TransactionStatement::ReleaseSavepoint(_) => Err(SqlError::unsupported(
                "SAVEPOINT in a stored function or trigger",
            )),
            // The next transaction is not the function's business.
            TransactionStatement::Set { scope: Some(_), .. } => Ok(()),
            _ => Err(commits()),
        },
        K::Table(t) => match **t {
            TableStatement::Create(ref create) if create.temporary => Err(SqlError::unsupported(
                "CREATE TEMPORARY TABLE in a stored function or trigger",
            )),
            TableStatement::Drop {
                temporary: true, ..
            } => Err(SqlError::unsupported(
                "DROP TEMPORARY TABLE in a stored function or trigger",
            )),
            _ => Err(commits()),
        },
        K::Set(set) => match &**set {
            SetStatement::Items(items) => match items.iter().any(|item| sets_autocommit(&item)) {
                true => Err(no_autocommit()),
                false => Ok(()),
            },
            _ => Err(SqlError::unsupported(
                "this statement in a stored function or trigger",
            )),
        },
        K::AlterTable(_) | K::Schema(_) | K::Account(_) | K::Routine(_) => Err(commits()),
        K::Admin(a) => match **a {
            AdminStatement::Flush { .. } => Err(dynamic("FLUSH")),
            _ => Err(SqlError::unsupported(
                "this statement in a stored function or trigger",
            )),
        },
        _ => Ok(()),
    }
}
