//! SET.

use super::list::Items;
use std::fmt;

use super::words::{List, Opt, OptText, Quoted, flag, words};
use super::{Account, Expr, Ident, Statement, Str};

/// SET statements, SET TRANSACTION excepted.
#[derive(Clone, Debug, PartialEq)]
pub enum SetStatement {
    /// Assignments, in order.
    Items(Items<SetItem>),
    /// SET PASSWORD.
    Password(SetPassword),
    /// SET ROLE.
    Role(RoleChoice),
    /// SET DEFAULT ROLE ... TO users.
    DefaultRole(RoleChoice, Items<Account>),
    /// SET RESOURCE GROUP ... FOR threads.
    ResourceGroup(Ident, Items<u64>),
    /// MariaDB's SET STATEMENT ... FOR statement.
    Statement(Items<SetItem>, Box<Statement>),
}

/// An assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// A system variable, a local variable, or a column of NEW.
    Variable {
        /// The scope, if said.
        scope: Option<Scope>,
        /// Whether it was written with `@@`, which no local variable is.
        system: bool,
        /// The instance of a structured variable (or NEW), if said.
        base: Option<Ident>,
        /// Name.
        name: Ident,
        /// Value.
        value: SetValue,
    },
    /// A user variable.
    User(UserVariable, Expr),
    /// NAMES; no name for DEFAULT.
    Names {
        /// Character set.
        charset: Option<Ident>,
        /// COLLATE.
        collation: Option<Ident>,
    },
    /// CHARACTER SET; none for DEFAULT.
    CharacterSet(Option<Ident>),
}

words! {
    /// Scopes of system variables.
    pub enum Scope {
        Global = "GLOBAL", PersistOnly = "PERSIST_ONLY", Persist = "PERSIST", Session = "SESSION",
    }
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// DEFAULT.
    Default,
    /// A word that is no expression: ON, ALL, BINARY, ROW, SYSTEM.
    Word(Ident),
    /// An expression. A name (`utf8mb4`) is a column without a table.
    Expr(Expr),
}

/// `@name`, without the `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserVariable(pub Str);

/// SET PASSWORD.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPassword {
    /// FOR; none for one's own.
    pub account: Option<Account>,
    /// The password; none for TO RANDOM.
    pub password: Option<PasswordText>,
    /// REPLACE: the password now.
    pub replace: Option<String>,
    /// RETAIN CURRENT PASSWORD.
    pub retain: bool,
}

/// A password.
#[derive(Clone, Debug, PartialEq)]
pub enum PasswordText {
    /// As it is typed.
    Plain(String),
    /// `PASSWORD('...')`, before MySQL 8 and in MariaDB.
    Function(String),
}

/// Which roles.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleChoice {
    /// DEFAULT.
    Default,
    /// NONE.
    None,
    /// ALL, without those named.
    AllExcept(Items<Account>),
    /// Those named.
    Roles(Items<Account>),
}

impl fmt::Display for SetStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetStatement::Items(items) => write!(f, "SET {}", List(items)),
            SetStatement::Password(set) => set.fmt(f),
            SetStatement::Role(roles) => write!(f, "SET ROLE {roles}"),
            SetStatement::DefaultRole(roles, users) => {
                write!(f, "SET DEFAULT ROLE {roles} TO {}", List(users))
            }
            SetStatement::ResourceGroup(name, threads) => {
                write!(
                    f,
                    "SET RESOURCE GROUP {name}{}",
                    flag(!threads.is_empty(), " FOR ")
                )?;
                List(threads).fmt(f)
            }
            SetStatement::Statement(items, statement) => {
                write!(f, "SET STATEMENT {} FOR {statement}", List(items))
            }
        }
    }
}

impl fmt::Display for SetItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetItem::Variable {
                scope,
                system,
                base,
                name,
                value,
            } => {
                f.write_str(flag(*system, "@@"))?;
                if let Some(scope) = scope {
                    write!(f, "{scope}{}", if *system { "." } else { " " })?;
                }
                if let Some(base) = base {
                    write!(f, "{base}.")?;
                }
                write!(f, "{name} = {value}")
            }
            SetItem::User(variable, value) => write!(f, "{variable} = {value}"),
            SetItem::Names {
                charset: Some(name),
                collation,
            } => {
                write!(f, "NAMES {name}{}", Opt(" COLLATE ", collation))
            }
            SetItem::Names { charset: None, .. } => f.write_str("NAMES DEFAULT"),
            SetItem::CharacterSet(Some(name)) => write!(f, "CHARACTER SET {name}"),
            SetItem::CharacterSet(None) => f.write_str("CHARACTER SET DEFAULT"),
        }
    }
}

impl fmt::Display for SetValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetValue::Default => f.write_str("DEFAULT"),
            SetValue::Word(word) => f.write_str(word.as_str()),
            SetValue::Expr(expr) => expr.fmt(f),
        }
    }
}

impl fmt::Display for UserVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@`{}`", self.0.replace('`', "``"))
    }
}

impl fmt::Display for SetPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SET PASSWORD{}", Opt(" FOR ", &self.account))?;
        match &self.password {
            Some(PasswordText::Plain(text)) => write!(f, " = {}", Quoted(text))?,
            Some(PasswordText::Function(text)) => write!(f, " = PASSWORD({})", Quoted(text))?,
            None => f.write_str(" TO RANDOM")?,
        }
        let retain = flag(self.retain, " RETAIN CURRENT PASSWORD");
        write!(f, "{}{retain}", OptText(" REPLACE ", &self.replace))
    }
}

impl fmt::Display for RoleChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoleChoice::Default => f.write_str("DEFAULT"),
            RoleChoice::None => f.write_str("NONE"),
            RoleChoice::AllExcept(roles) if roles.is_empty() => f.write_str("ALL"),
            RoleChoice::AllExcept(roles) => write!(f, "ALL EXCEPT {}", List(roles)),
            RoleChoice::Roles(roles) => List(roles).fmt(f),
        }
    }
}
