//! CREATE DATABASE ... LIKE: which privileges it takes, and who else is to know of the new database.
//!
//! It takes what reading each part and making it anew would take: SELECT on each table, SHOW VIEW too on a view, TRIGGER on the table of a trigger, EVENT for
//! events, the right to see a routine's text; and on the new database CREATE, INSERT with rows, CREATE VIEW, TRIGGER, EVENT and CREATE
//! ROUTINE where there is something of the kind. Definers stay who they are, so another's takes SET_USER_ID, as it does in CREATE ... DEFINER.

use std::cell::RefCell;

use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind};
use millpond_sql::ddl::{DatabaseLike, Done, Part};
use millpond_sql::env::privileges as p;
use millpond_sql::error::SqlResult;

use super::Session;
use crate::accounts::access::{Access, needs};
use crate::accounts::names::Name;

/// Who asks for which copy.
struct Asker<'s> {
    session: &'s Session,
    access: &'s Access,
    host: String,
    what: DatabaseLike<'s>,
}

impl Session {
    /// Carries it out.
    pub(super) fn create_database_like(&self, what: DatabaseLike<'_>) -> SqlResult<Done> {
        let access = self.access();
        let asker = Asker {
            session: self,
            access: &access,
            host: self.facts.guard.host(),
            what,
        };
        let copied = RefCell::new(Vec::new());
        let permit = |part: Part<'_>| {
            if let Part::Program(def) = part {
                let key = programs::key(def.kind, what.name, &def.name);
                copied.borrow_mut().push((def.kind, key));
            }
            match asker.access.is_everything() {
                true => Ok(()),
                false => asker.part(part),
            }
        };
        let done = self.ddl().create_database_like(what, &permit)?;
        let copied = copied.into_inner();
        let inner = &self.instance.0;
        if !copied.is_empty() {
            inner.programs.changed();
        }
        for (kind, key) in copied {
            if kind == ProgramKind::Event {
                inner.scheduler.note(&inner.engine, &key);
            }
        }
        Ok(done)
    }
}

impl Asker<'_> {
    fn part(&self, part: Part<'_>) -> SqlResult<()> {
        let DatabaseLike { name, like, .. } = self.what;
        match part {
            Part::Table(table) => self.on_table(like, table, p::SELECT),
            Part::View(view, def) => {
                self.on_table(like, view, p::SELECT | p::SHOW_VIEW)?;
                self.on_table(name, view, p::CREATE_VIEW)?;
                self.definer(&Name::new(&def.definer.0, &def.definer.1))
            }
            Part::Parent((database, table)) => self.on_table(database, table, p::REFERENCES),
            Part::Program(def) => {
                self.program(def)?;
                self.definer(&Name::of(&def.definer))
            }
        }
    }

    fn program(&self, def: &ProgramDef) -> SqlResult<()> {
        let DatabaseLike { name, like, .. } = self.what;
        match (def.kind, &def.trigger) {
            (ProgramKind::Event, _) => {
                self.access.check_database(like, p::EVENT)?;
                self.access.check_database(name, p::EVENT)
            }
            (_, Some(trigger)) => {
                self.on_table(like, &trigger.table, p::TRIGGER)?;
                self.on_table(name, &trigger.table, p::TRIGGER)
            }
            _ => {
                let access = self.access;
                let all = access.has_dynamic("SHOW_ROUTINE") || access.global() & p::SELECT != 0;
                if !all && Name::of(&def.definer) != access.name {
                    return Err(needs("SHOW_ROUTINE"));
                }
                access.check_database(name, p::CREATE_ROUTINE)
            }
        }
    }

    /// Error 1142.
    fn on_table(&self, database: &str, table: &str, wanted: p::Privileges) -> SqlResult<()> {
        match wanted & !self.access.table(database, table) {
            0 => Ok(()),
            lacks => Err(self.access.denied_table(lacks, table, &self.host)),
        }
    }

    fn definer(&self, name: &Name) -> SqlResult<()> {
        self.session.check_may_define(self.access, name)
    }
}
