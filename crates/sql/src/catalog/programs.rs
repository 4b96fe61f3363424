//! Definitions of stored programs: routines, triggers and events, as the catalog keeps them and as texts.
//!
//! A definition is its texts as they were written (parameters, result, body) with what decides how they are read: sql_mode, the client's
//! character set and the collations. It is never changed; ALTER makes another. Who uses one reads it as it is committed and holds no lock for it: a
//! call goes by the definition that it began with.

use millpond_store::{Engine, Error, Object, ObjectKey};
use millpond_syntax::quote::{Quotes, quote_text};

use super::bytes::{Reader, Writer, corrupt};
use super::events::Event;
use crate::error::{SqlError, SqlResult};
use crate::store_error::store_error;
use crate::value::Zone;

/// Version of a definition's bytes.
const VERSION: u8 = 1;
/// What follows at their end.
const NEITHER: u64 = 0;
const A_TRIGGER: u64 = 1;
const AN_EVENT: u64 = 2;

/// Kinds of stored programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum ProgramKind {
    Procedure = 1,
    Function = 2,
    Trigger = 3,
    Event = 4,
}

impl ProgramKind {
    /// `PROCEDURE`, `FUNCTION`, `TRIGGER`, `EVENT`.
    pub fn word(self) -> &'static str {
        match self {
            ProgramKind::Procedure => "PROCEDURE",
            ProgramKind::Function => "FUNCTION",
            ProgramKind::Trigger => "TRIGGER",
            ProgramKind::Event => "EVENT",
        }
    }
    fn of(code: u8) -> SqlResult<ProgramKind> {
        Ok(match code {
            1 => ProgramKind::Procedure,
            2 => ProgramKind::Function,
            3 => ProgramKind::Trigger,
            4 => ProgramKind::Event,
            _ => return Err(corrupt()),
        })
    }
}

/// A stored program's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramDef {
    /// What it is.
    pub kind: ProgramKind,
    /// Its database.
    pub database: String,
    /// Its name, as it was written.
    pub name: String,
    /// `user@host`.
    pub definer: String,
    /// What stands between the parentheses behind a routine's name.
    pub parameters: String,
    /// A function's RETURNS; empty for others.
    pub returns: String,
    /// Its body.
    pub body: String,
    /// sql_mode, all bits.
    pub mode: u64,
    /// `character_set_client`.
    pub client: String,
    /// `collation_connection`.
    pub connection: String,
    /// Its database's collation when it was made: that of variables that name none.
    pub collation: String,
    /// DETERMINISTIC.
    pub deterministic: bool,
    /// `CONTAINS SQL` and the like.
    pub access: String,
    /// SQL SECURITY INVOKER rather than DEFINER.
    pub invoker: bool,
    /// COMMENT.
    pub comment: String,
    /// When it was made, seconds since 1970 UTC.
    pub created: u64,
    /// When it was altered last.
    pub modified: u64,
    /// What makes a trigger run.
    pub trigger: Option<Trigger>,
    /// When an event runs.
    pub event: Option<Event>,
}

/// What makes a trigger run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its table. It follows that to another name.
    pub table: String,
    /// BEFORE rather than AFTER.
    pub before: bool,
    /// INSERT, UPDATE or DELETE.
    pub event: RowEvent,
    /// Its place among those of its table, time and event: those with less come first.
    pub order: u64,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RowEvent {
    Insert,
    Update,
    Delete,
}

impl RowEvent {
    /// All, by code.
    const ALL: [RowEvent; 3] = [RowEvent::Insert, RowEvent::Update, RowEvent::Delete];
    /// `INSERT` and so on.
    pub fn word(self) -> &'static str {
        match self {
            RowEvent::Insert => "INSERT",
            RowEvent::Update => "UPDATE",
            RowEvent::Delete => "DELETE",
        }
    }
}

impl Trigger {
    /// `BEFORE`, `AFTER`.
    pub fn time(&self) -> &'static str {
        if self.before { "BEFORE" } else { "AFTER" }
    }
}

/// The database of objects that are accounts: no program's.
pub const ACCOUNTS: &str = "mysql";

/// What a program is found by: names of programs compare without regard to case.
pub fn key(kind: ProgramKind, database: &str, name: &str) -> ObjectKey {
    ObjectKey {
        database: database.to_string(),
        kind: kind as u8,
        name: name.to_lowercase(),
    }
}

impl ProgramDef {
    /// One of no name, for a statement that stands alone.
    pub fn anonymous() -> ProgramDef {
        ProgramDef {
            kind: ProgramKind::Procedure,
            database: String::new(),
            name: String::new(),
            definer: String::new(),
            parameters: String::new(),
            returns: String::new(),
            body: String::new(),
            mode: 0,
            client: String::new(),
            connection: String::new(),
            collation: String::new(),
            deterministic: false,
            access: String::new(),
            invoker: false,
            comment: String::new(),
            created: 0,
            modified: 0,
            trigger: None,
            event: None,
        }
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new(VERSION);
        w.number(self.kind as u64);
        for text in [
            &self.database,
            &self.name,
            &self.definer,
            &self.parameters,
            &self.returns,
            &self.body,
        ] {
            w.text(text);
        }
        w.number(self.mode);
        for text in [
            &self.client,
            &self.connection,
            &self.collation,
            &self.access,
        ] {
            w.text(text);
        }
        w.number(u64::from(self.deterministic) | u64::from(self.invoker) << 1);
        w.text(&self.comment);
        w.number(self.created);
        w.number(self.modified);
        match (&self.trigger, &self.event) {
            (None, None) => w.number(NEITHER),
            (Some(t), _) => {
                w.number(A_TRIGGER);
                w.number(u64::from(t.before));
                w.number(t.event as u64);
                w.number(t.order);
            }
            (None, Some(event)) => {
                w.number(AN_EVENT);
                event.encode(&mut w);
            }
        }
        w.finish()
    }

    /// An object of the catalog as a program.
    pub fn of(object: &Object) -> SqlResult<ProgramDef> {
        let mut def = ProgramDef::decode(&object.body)?;
        if let Some(trigger) = &mut def.trigger {
            trigger.table.clone_from(&object.table);
        }
        Ok(def)
    }

    /// From bytes; those do not tell a trigger's table.
    pub fn decode(bytes: &[u8]) -> SqlResult<ProgramDef> {
        let mut r = Reader::new(bytes, VERSION)?;
        let kind = ProgramKind::of(r.small()?)?;
        let mut text = || r.text().map(str::to_string);
        let (database, name, definer) = (text()?, text()?, text()?);
        let (parameters, returns, body) = (text()?, text()?, text()?);
        let mode = r.number()?;
        let mut text = || r.text().map(str::to_string);
        let (client, connection, collation, access) = (text()?, text()?, text()?, text()?);
        let flags = r.number()?;
        let mut def = ProgramDef {
            kind,
            database,
            name,
            definer,
            parameters,
            returns,
            body,
            mode,
            client,
            connection,
            collation,
            deterministic: flags & 1 != 0,
            access,
            invoker: flags & 2 != 0,
            comment: r.text()?.to_string(),
            created: r.number()?,
            modified: r.number()?,
            trigger: None,
            event: None,
        };
        match r.number()? {
            NEITHER => {}
            A_TRIGGER => {
                def.trigger = Some(Trigger {
                    table: String::new(),
                    before: r.number()? != 0,
                    event: *RowEvent::ALL.get(r.small::<usize>()?).ok_or_else(corrupt)?,
                    order: r.number()?,
                });
            }
            AN_EVENT => def.event = Some(Event::decode(&mut r)?),
            _ => return Err(corrupt()),
        }
        Ok(def)
    }

    /// The program of a kind and name, if there is one.
    pub fn find(engine: &Engine, key: &ObjectKey) -> SqlResult<Option<ProgramDef>> {
        let found = engine.object(key).map_err(|e| store_error(e, &key.name))?;
        found.map(|object| ProgramDef::of(&object)).transpose()
    }

    /// A table's triggers, in the order in which they run.
    pub fn triggers(engine: &Engine, database: &str, table: &str) -> SqlResult<Vec<ProgramDef>> {
        let found = engine.objects_of(database, table);
        let found = found.map_err(|e| store_error(e, table))?;
        let mut all: Vec<ProgramDef> =
            found.iter().map(ProgramDef::of).collect::<SqlResult<_>>()?;
        all.sort_by_key(|def| def.trigger.as_ref().map_or(0, |t| t.order));
        Ok(all)
    }

    /// Visits the programs of a database (`None`: of all), by database, kind and name.
    pub fn each(
        engine: &Engine,
        database: Option<&str>,
        f: &mut dyn FnMut(ProgramDef) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut failed = None;
        let visited = engine.each_object(database, &mut |object| {
            // Accounts are objects, too.
            if object.key.database == ACCOUNTS {
                return Ok(());
            }
            ProgramDef::of(&object).and_then(&mut *f).map_err(|e| {
                failed = Some(e);
                Error::Interrupted
            })
        });
        match (failed, visited) {
            (Some(e), _) => Err(e),
            (None, r) => r.map_err(|e| store_error(e, "")),
        }
    }

    /// `db.name`, as messages say it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// The definer as SHOW CREATE writes it.
    fn definer_text(&self, quotes: Quotes) -> String {
        let (user, host) = self.definer.rsplit_once('@').unwrap_or((&self.definer, ""));
        format!("{}@{}", quotes.name(user), quotes.name(host))
    }

    /// The statement that makes a routine, as SHOW CREATE writes it.
    pub fn create_text(&self, quotes: Quotes) -> String {
        let mut out = format!(
            "CREATE DEFINER={} {} {}({})",
            self.definer_text(quotes),
            self.kind.word(),
            quotes.name(&self.name),
            self.parameters
        );
        if self.kind == ProgramKind::Function {
            out.push_str(" RETURNS ");
            out.push_str(&self.returns);
        }
        out.push('\n');
        if self.access != "CONTAINS SQL" {
            out.push_str(&format!("    {}\n", self.access));
        }
        if self.deterministic {
            out.push_str("    DETERMINISTIC\n");
        }
        if self.invoker {
            out.push_str("    SQL SECURITY INVOKER\n");
        }
        if !self.comment.is_empty() {
            out.push_str(&format!("    COMMENT {}\n", quote_text(&self.comment)));
        }
        out + &self.body
    }

    /// The statement that makes a trigger, as it was written but for the definer; `order`: FOLLOWS or PRECEDES aside.
    pub fn trigger_text(&self, quotes: Quotes) -> String {
        let Some(t) = &self.trigger else {
            return String::new();
        };
        format!(
            "CREATE DEFINER={} TRIGGER {} {} {} ON {} FOR EACH ROW {}",
            self.definer_text(quotes),
            quotes.name(&self.name),
            t.time(),
            t.event.word(),
            quotes.name(&t.table),
            self.body
        )
    }

    /// The statement that makes an event, as SHOW CREATE writes it. `zone`: the one that it names.
    pub fn event_text(&self, zone: Zone, quotes: Quotes) -> String {
        let Some(event) = &self.event else {
            return String::new();
        };
        let comment = match &*self.comment {
            "" => String::new(),
            text => format!(" COMMENT {}", quote_text(text)),
        };
        format!(
            "CREATE DEFINER={} EVENT {} ON SCHEDULE {} ON COMPLETION {}PRESERVE {}{comment} DO {}",
            self.definer_text(quotes),
            quotes.name(&self.name),
            event.schedule_text(zone),
            if event.preserve { "" } else { "NOT " },
            event.state.clause(),
            self.body
        )
    }

    /// The statement that it is parsed from again, in its own sql_mode.
    pub fn source(&self) -> String {
        if let Some(t) = &self.trigger {
            let (time, event) = (t.time(), t.event.word());
            return format!(
                "CREATE TRIGGER p {time} {event} ON p FOR EACH ROW {}",
                self.body
            );
        }
        let returns = match self.kind {
            ProgramKind::Function => format!(" RETURNS {}", self.returns),
            _ => String::new(),
        };
        // What an event does is what a procedure without parameters may do.
        let kind = match self.kind {
            ProgramKind::Event => ProgramKind::Procedure,
            kind => kind,
        };
        format!(
            "CREATE {} p({}){returns} {}",
            kind.word(),
            self.parameters,
            self.body
        )
    }

    /// 1305.
    pub fn missing(kind: ProgramKind, name: &str) -> SqlError {
        SqlError::new(1305, format!("{} {name} does not exist", kind.word()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::events::{Schedule, State};

    #[test]
    fn definitions_return() {
        let def = ProgramDef {
            kind: ProgramKind::Function,
            database: "d".into(),
            name: "F".into(),
            definer: "root@localhost".into(),
            parameters: "a INT".into(),
            returns: "int".into(),
            body: "RETURN a".into(),
            mode: 1 << 40,
            client: "utf8mb4".into(),
            connection: "utf8mb4_general_ci".into(),
            collation: "utf8mb4_bin".into(),
            deterministic: true,
            access: "NO SQL".into(),
            invoker: true,
            comment: "it's".into(),
            created: 5,
            modified: 6,
            trigger: None,
            event: None,
        };
        assert_eq!(ProgramDef::decode(&def.encode()).unwrap(), def);
        assert_eq!(
            def.create_text(Quotes { ansi: false }),
            "CREATE DEFINER=`root`@`localhost` FUNCTION `F`(a INT) RETURNS int\n    NO SQL\n    DETERMINISTIC\n    SQL SECURITY INVOKER\n    \
             COMMENT 'it''s'\nRETURN a"
        );
        assert_eq!(
            def.source(),
            "CREATE FUNCTION p(a INT) RETURNS int RETURN a"
        );
        assert_eq!(key(def.kind, "d", "F"), key(def.kind, "d", "f"));
        let trigger = ProgramDef {
            kind: ProgramKind::Trigger,
            trigger: Some(Trigger {
                table: String::new(),
                before: true,
                event: RowEvent::Delete,
                order: 7,
            }),
            ..def.clone()
        };
        assert_eq!(ProgramDef::decode(&trigger.encode()).unwrap(), trigger);
        let event = ProgramDef {
            kind: ProgramKind::Event,
            parameters: String::new(),
            body: "DO 1".into(),
            event: Some(Event {
                schedule: Schedule::At(86_400),
                preserve: false,
                state: State::Disabled,
                zone: "SYSTEM".into(),
                originator: 1,
                last_executed: None,
            }),
            ..def.clone()
        };
        assert_eq!(ProgramDef::decode(&event.encode()).unwrap(), event);
        assert_eq!(
            event.event_text(Zone::UTC, Quotes { ansi: false }),
            "CREATE DEFINER=`root`@`localhost` EVENT `F` ON SCHEDULE AT '1970-01-02 00:00:00' ON COMPLETION NOT PRESERVE DISABLE \
             COMMENT 'it''s' DO DO 1"
        );
        assert_eq!(event.source(), "CREATE PROCEDURE p() DO 1");
        let mut cut = def.encode();
        cut.truncate(cut.len() - 2);
        assert!(ProgramDef::decode(&cut).is_err());
    }
}
