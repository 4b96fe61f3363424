//! What statements need: privileges on tables and routines, as binding finds them out.
//!
//! Binding notes a [`Need`] for each table, view and routine that a statement names, with the columns it reads and writes; the plan keeps them. Whose
//! privileges count is part of it: within a view with SQL SECURITY DEFINER they are the definer's. Whether an account meets a need is for
//! whoever keeps accounts ([`super::Services::check`]) to say: while it is bound, so that no name is confirmed to those who may not
//! see it, and when the plan runs, for whom it may have been made for somebody else.

use std::sync::Arc;

/// A set of static privileges, a bit each.
pub type Privileges = u64;

/// SELECT.
pub const SELECT: Privileges = 1;
/// INSERT.
pub const INSERT: Privileges = 1 << 1;
/// UPDATE.
pub const UPDATE: Privileges = 1 << 2;
/// DELETE.
pub const DELETE: Privileges = 1 << 3;
/// CREATE.
pub const CREATE: Privileges = 1 << 4;
/// DROP.
pub const DROP: Privileges = 1 << 5;
/// RELOAD.
pub const RELOAD: Privileges = 1 << 6;
/// SHUTDOWN.
pub const SHUTDOWN: Privileges = 1 << 7;
/// PROCESS.
pub const PROCESS: Privileges = 1 << 8;
/// FILE.
pub const FILE: Privileges = 1 << 9;
/// GRANT OPTION.
pub const GRANT: Privileges = 1 << 10;
/// REFERENCES.
pub const REFERENCES: Privileges = 1 << 11;
/// INDEX.
pub const INDEX: Privileges = 1 << 12;
/// ALTER.
pub const ALTER: Privileges = 1 << 13;
/// SHOW DATABASES.
pub const SHOW_DATABASES: Privileges = 1 << 14;
/// SUPER.
pub const SUPER: Privileges = 1 << 15;
/// CREATE TEMPORARY TABLES.
pub const CREATE_TEMPORARY: Privileges = 1 << 16;
/// LOCK TABLES.
pub const LOCK_TABLES: Privileges = 1 << 17;
/// EXECUTE.
pub const EXECUTE: Privileges = 1 << 18;
/// REPLICATION SLAVE.
pub const REPLICATION_SLAVE: Privileges = 1 << 19;
/// REPLICATION CLIENT.
pub const REPLICATION_CLIENT: Privileges = 1 << 20;
/// CREATE VIEW.
pub const CREATE_VIEW: Privileges = 1 << 21;
/// SHOW VIEW.
pub const SHOW_VIEW: Privileges = 1 << 22;
/// CREATE ROUTINE.
pub const CREATE_ROUTINE: Privileges = 1 << 23;
/// ALTER ROUTINE.
pub const ALTER_ROUTINE: Privileges = 1 << 24;
/// CREATE USER.
pub const CREATE_USER: Privileges = 1 << 25;
/// EVENT.
pub const EVENT: Privileges = 1 << 26;
/// TRIGGER.
pub const TRIGGER: Privileges = 1 << 27;
/// CREATE TABLESPACE.
pub const CREATE_TABLESPACE: Privileges = 1 << 28;
/// CREATE ROLE.
pub const CREATE_ROLE: Privileges = 1 << 29;
/// DROP ROLE.
pub const DROP_ROLE: Privileges = 1 << 30;

/// What a need is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A table or view.
    Table,
    /// A stored function.
    Function,
    /// A stored procedure.
    Procedure,
    /// The server: `database` and `name` say nothing.
    Server,
}

/// Within which view something is named, and by whose right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// The view that the statement itself names: what errors are about.
    pub view: (String, String),
    /// User and host whose privileges count; `None`: those of whoever runs the statement.
    pub definer: Option<(String, String)>,
}

/// What a statement needs of one table, view or routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub object: Object,
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// In which view it is named, if in one.
    pub by: Option<Arc<By>>,
    /// Needed on all of it.
    pub whole: Privileges,
    /// One of these is needed, be it on a column alone.
    pub some: Privileges,
    /// Needed on columns.
    pub columns: Vec<(String, Privileges)>,
    /// A `*` stands for its columns: what is denied is the table.
    pub star: bool,
}

impl Need {
    /// The need to have one of some privileges on a table or on a column of it.
    pub fn some(database: &str, name: &str, some: Privileges) -> Need {
        Need {
            object: Object::Table,
            database: database.to_string(),
            name: name.to_string(),
            by: None,
            whole: 0,
            some,
            columns: Vec::new(),
            star: false,
        }
    }
    /// The need to have privileges on all of a table.
    pub fn whole(database: &str, name: &str, whole: Privileges) -> Need {
        Need {
            whole,
            ..Need::some(database, name, 0)
        }
    }
    /// The need for EXECUTE.
    pub fn execute(object: Object, database: &str, name: &str) -> Need {
        Need {
            object,
            ..Need::whole(database, name, EXECUTE)
        }
    }
    /// A column is used, too.
    pub fn column(&mut self, name: &str, privileges: Privileges) {
        match self.columns.iter_mut().find(|(n, _)| n == name) {
            Some((_, known)) => *known |= privileges,
            None => self.columns.push((name.to_string(), privileges)),
        }
    }
}
