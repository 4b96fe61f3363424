//! CREATE, ALTER and DROP of events, and what one does when its time has come.
//!
//! A schedule's expressions are evaluated where the statement runs, once: what is kept are moments and an interval. ALTER makes the definition of
//! the one that is committed when it holds the event's lock, as the event scheduler changes it too ([`crate::events`], which is told of every
//! change).

use std::sync::Arc;

use super::super::Session;
use super::super::run::Nowhere;
use super::define::check_name;
use super::interpreter::Invocation;
use crate::programs::{Routine, compile};
use crate::registry::Command;
use crate::vars::{self, VarValue};
use millpond_sql::catalog::events::{Event, Schedule, State};
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind};
use millpond_sql::ddl;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::expr::IntervalUnit;
use millpond_sql::expr::interval;
use millpond_sql::parse::ast::{self, AlterEvent, EventState, Expr, ObjectName};
use millpond_sql::parse::{self, Statement};
use millpond_sql::store_error::store_error;
use millpond_sql::value::{DateTime, Value};
use millpond_store::ObjectKey;
use millpond_syntax::{Keyword, Lexer, TokenKind};

/// The last moment of MySQL's timestamps.
const LAST_MOMENT: i64 = 32_536_771_199;
/// The longest interval, of its smallest unit.
const MAX_INTERVAL: i64 = 1_000_000_000;

/// 1525.
fn wrong(what: &str, v: &Value<'_>) -> SqlError {
    let shown = match v {
        Value::Null => "NULL".into(),
        v => String::from_utf8_lossy(&v.to_text()).into_owned(),
    };
    SqlError::new(1525, format!("Incorrect {what} value: '{shown}'"))
}

/// 1537.
fn exists(name: &str) -> SqlError {
    SqlError::new(1537, format!("Event '{name}' already exists"))
}

/// 1539.
fn unknown(name: &str) -> SqlError {
    SqlError::new(1539, format!("Unknown event '{name}'"))
}

/// 1543.
fn wrong_end() -> SqlError {
    SqlError::new(1543, "ENDS is either invalid or before STARTS")
}

fn state_of(state: EventState) -> State {
    match state {
        EventState::Enable => State::Enabled,
        EventState::Disable => State::Disabled,
        EventState::DisableOnReplica | EventState::DisableOnSlave => State::ReplicaSideDisabled,
    }
}

/// What a schedule that is given says.
struct Given {
    schedule: Schedule,
    /// `time_zone`.
    zone: String,
    /// All of it is past.
    past: bool,
}

/// What becomes of an event whose schedule is past.
enum Past {
    /// It is not past, or the event is not enabled.
    Nothing,
    /// It is disabled (note 1544).
    Disabled,
    /// Nothing keeps it.
    Gone,
}

impl Given {
    /// Puts it into an event; what that becomes if all of it is past.
    fn put(&self, event: &mut Event) -> Past {
        event.schedule = self.schedule;
        event.zone.clone_from(&self.zone);
        event.last_executed = None;
        match self.past {
            true if !event.preserve => Past::Gone,
            true if event.state == State::Enabled => {
                event.state = State::Disabled;
                Past::Disabled
            }
            _ => Past::Nothing,
        }
    }
}

impl Session {
    /// The value of a schedule's expression; error 1235 for subqueries and calls of stored functions.
    fn schedule_value(
        &mut self,
        statement: &Statement,
        e: &Expr,
        params: &[Value<'_>],
    ) -> SqlResult<Value<'static>> {
        let text = e.span.of(&statement.text);
        let mut lexer = Lexer::new(text, parse::lex_mode(self.env.sql_mode.get()));
        let subquery = loop {
            match lexer.next_token().kind {
                TokenKind::Keyword(Keyword::SELECT) => break true,
                TokenKind::End => break false,
                _ => {}
            }
        };
        let calls =
            subquery || self.in_transaction(|s| Ok(s.compile_exprs(&[e], params)?.calls()))?;
        if calls {
            return Err(SqlError::unsupported(
                "Usage of subqueries or stored function calls as part of this statement",
            ));
        }
        let mut values = self.evaluate(&[e], params)?;
        Ok(values.pop().unwrap_or(Value::Null))
    }

    /// The moment that a value is in the session's time zone, if it is one that a timestamp can be.
    fn moment(&self, v: &Value<'_>) -> Option<i64> {
        let at = match v {
            Value::Time(t) => {
                let today = self.env.local_now().date;
                DateTime::from_days_micros(today.days(), t.micros)?
            }
            v => v.to_datetime()?,
        };
        if at.date.has_zero() {
            return None;
        }
        let moment = at.to_unix(self.env.zone.get()).0;
        (1..=LAST_MOMENT).contains(&moment).then_some(moment)
    }

    fn schedule(
        &mut self,
        statement: &Statement,
        schedule: &ast::Schedule,
        params: &[Value<'_>],
    ) -> SqlResult<Given> {
        let now = self.env.now.get().0;
        let (schedule, last) = match schedule {
            ast::Schedule::At(at) => {
                let v = self.schedule_value(statement, at, params)?;
                let at = self.moment(&v).ok_or_else(|| wrong("AT", &v))?;
                (Schedule::At(at), Some(at))
            }
            ast::Schedule::Every {
                every,
                unit,
                starts,
                ends,
            } => {
                let count = self.interval(statement, every, (*unit).into(), params)?;
                let starts = match starts {
                    None => now,
                    Some(e) => {
                        let v = self.schedule_value(statement, e, params)?;
                        self.moment(&v).ok_or_else(|| wrong("STARTS", &v))?
                    }
                };
                let ends = match ends {
                    None => None,
                    Some(e) => {
                        let v = self.schedule_value(statement, e, params)?;
                        let ends = self.moment(&v).filter(|ends| *ends > starts);
                        Some(ends.ok_or_else(wrong_end)?)
                    }
                };
                let every = Schedule::Every {
                    count,
                    unit: *unit,
                    starts,
                    ends,
                };
                (every, ends)
            }
        };
        Ok(Given {
            schedule,
            zone: self.facts.vars.named("time_zone").show(),
            past: last.is_some_and(|last| last < now),
        })
    }

    /// EVERY: error 1542 for an interval that none can be.
    fn interval(
        &mut self,
        statement: &Statement,
        every: &Expr,
        unit: IntervalUnit,
        params: &[Value<'_>],
    ) -> SqlResult<i64> {
        if unit.has_micros() {
            return Err(SqlError::unsupported("MICROSECOND"));
        }
        let v = self.schedule_value(statement, every, params)?;
        if v.is_null() {
            return Err(wrong("INTERVAL", &v));
        }
        let count = interval::count(&v, unit).filter(|n| (1..=MAX_INTERVAL).contains(n));
        count.ok_or_else(|| SqlError::new(1542, "INTERVAL is either not positive or too big"))
    }

    /// What a definition takes from the session that writes it.
    fn stamp(&self, def: &mut ProgramDef) -> SqlResult<()> {
        let variable = |name| self.facts.vars.named(name).show();
        let engine = self.instance.engine();
        def.client = variable("character_set_client");
        def.connection = variable("collation_connection");
        def.collation = ddl::database_collation(engine, &def.database)?
            .name()
            .into();
        def.modified = self.env.now.get().0.max(0) as u64;
        Ok(())
    }

    /// CREATE EVENT.
    pub(super) fn create_event(
        &mut self,
        statement: &Statement,
        create: &ast::Event,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        let (database, name) = ddl::qualified(&create.name, &self.env)?;
        check_name(&name)?;
        ddl::not_system(&database, &self.env)?;
        let given = self.schedule(statement, &create.schedule, params)?;
        let originator = self.instance.global_u64("server_id").unwrap_or(0);
        let mut event = Event {
            schedule: given.schedule,
            preserve: create.preserve.unwrap_or(false),
            state: create.state.map_or(State::Enabled, state_of),
            zone: String::new(),
            originator,
            last_executed: None,
        };
        let past = given.put(&mut event);
        let mut def = ProgramDef {
            kind: ProgramKind::Event,
            database,
            name,
            definer: self.definer(create.definer.as_ref()),
            body: create.body.span.of(&statement.text).to_string(),
            mode: self.settings.mode,
            comment: create.comment.clone().unwrap_or_default(),
            event: Some(event),
            ..ProgramDef::anonymous()
        };
        self.stamp(&mut def)?;
        def.created = def.modified;
        compile(&def)?;
        if let Past::Gone = past {
            self.env.note(
                1588,
                "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was dropped \
                 immediately after creation.",
            );
            return Ok(());
        }
        let key = programs::key(def.kind, &def.database, &def.name);
        let mut there = false;
        self.change_event(&key, &mut |old| match old {
            Some(old) if !create.or_replace => {
                there = true;
                Some(old.to_vec())
            }
            _ => Some(def.encode()),
        })?;
        match (there, past) {
            (true, _) if create.if_not_exists => {
                let e = exists(&def.name);
                self.env.note(e.code, e.message);
            }
            (true, _) => return Err(exists(&def.name)),
            (false, Past::Disabled) => self.note_disabled(),
            _ => {}
        }
        Ok(())
    }

    fn note_disabled(&self) {
        let m = "Event execution time is in the past. Event has been disabled";
        self.env.note(1544, m);
    }

    /// Changes an event, and has the scheduler know.
    fn change_event(
        &mut self,
        key: &ObjectKey,
        change: &mut millpond_store::ChangeBody<'_>,
    ) -> SqlResult<()> {
        let inner = &self.instance.0;
        let changed = inner.engine.change_object(&self.owner, key, change);
        inner.scheduler.note(&inner.engine, key);
        changed.map_err(|e| store_error(e, &key.database))
    }

    /// ALTER EVENT. Whoever alters an event becomes its definer, unless another is named.
    pub(super) fn alter_event(
        &mut self,
        statement: &Statement,
        alter: &AlterEvent,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        let (database, name) = ddl::qualified(&alter.name, &self.env)?;
        let to = match &alter.rename {
            Some(to) => Some(self.new_name(&database, &name, to)?),
            None => None,
        };
        let given = match &alter.schedule {
            Some(schedule) => Some(self.schedule(statement, schedule, params)?),
            None => None,
        };
        let mut new = ProgramDef {
            kind: ProgramKind::Event,
            database: database.clone(),
            name: name.clone(),
            definer: self.definer(alter.definer.as_ref()),
            mode: self.settings.mode,
            ..ProgramDef::anonymous()
        };
        if let Some((database, name)) = &to {
            (new.database, new.name) = (database.clone(), name.clone());
        }
        // A database that is not there has no events.
        self.stamp(&mut new).map_err(|e| match e.code {
            1049 if to.is_none() => unknown(&name),
            _ => e,
        })?;
        if let Some(body) = &alter.body {
            new.body = body.span.of(&statement.text).to_string();
            compile(&new)?;
        }
        let mut done = Err(unknown(&name));
        let from = programs::key(ProgramKind::Event, &database, &name);
        let mut change = |old: Option<&[u8]>, taken: bool| {
            let old = match (old, taken) {
                (_, true) => {
                    done = Err(exists(&new.name));
                    return None;
                }
                (None, _) => return None,
                (Some(old), _) => old,
            };
            match altered(old, &new, alter, given.as_ref()) {
                Ok((def, past)) => {
                    done = Ok(past);
                    Some(def.encode())
                }
                Err(e) => {
                    done = Err(e);
                    None
                }
            }
        };
        match &to {
            None => {
                self.change_event(&from, &mut |old| {
                    change(old, false).or_else(|| old.map(<[u8]>::to_vec))
                })?;
            }
            Some((database, name)) => {
                let to = programs::key(ProgramKind::Event, database, name);
                let inner = &self.instance.0;
                let moved = inner
                    .engine
                    .move_object(&self.owner, &from, &to, &mut change);
                inner.scheduler.note(&inner.engine, &from);
                inner.scheduler.note(&inner.engine, &to);
                moved.map_err(|e| store_error(e, database))?;
            }
        }
        if let Past::Disabled = done? {
            self.note_disabled();
        }
        Ok(())
    }

    /// RENAME TO.
    fn new_name(&self, database: &str, name: &str, to: &ObjectName) -> SqlResult<(String, String)> {
        let (to_database, to_name) = ddl::qualified(to, &self.env)?;
        if to_database == database && to_name.to_lowercase() == name.to_lowercase() {
            return Err(SqlError::new(1551, "Same old and new event name"));
        }
        check_name(&to_name)?;
        ddl::not_system(&to_database, &self.env)?;
        Ok((to_database, to_name))
    }

    /// DROP EVENT.
    pub(super) fn drop_event(&mut self, if_exists: bool, name: &ObjectName) -> SqlResult<()> {
        let (database, name) = ddl::qualified(name, &self.env)?;
        let key = programs::key(ProgramKind::Event, &database, &name);
        let mut there = false;
        // One that isn't there needs no table to be missing in.
        if ProgramDef::find(self.instance.engine(), &key)?.is_some() {
            self.change_event(&key, &mut |old| {
                there = old.is_some();
                None
            })?;
        }
        match there {
            true => Ok(()),
            false if if_exists => {
                self.env.note(1305, format!("Event {name} does not exist"));
                Ok(())
            }
            false => Err(unknown(&name)),
        }
    }

    /// Runs an event's body. The session is its definer's and is made for this; the error is returned, not among its diagnostics.
    pub(crate) fn run_event(&mut self, def: &ProgramDef) -> SqlResult<()> {
        self.begin_statement(Command::Connect);
        self.seat().set_database(Some(&def.database));
        self.facts.check_event(def)?;
        let zone = def.event.as_ref().map_or("SYSTEM", |e| &e.zone);
        let zone = VarValue::Text(zone.into());
        self.facts.vars.put(vars::known("time_zone"), zone);
        self.refresh_settings();
        let routine = Routine::new(Arc::new(compile(def)?));
        self.enter_program(def);
        let mut nobody = Nowhere;
        let done = Invocation::new(self, &routine, &mut nobody, Vec::new()).run();
        done.map(|_| ())
    }
}

/// What ALTER makes of a definition, as bytes, and what becomes of its event if its new schedule is past: error 1589 if nothing would keep
/// it.
fn altered(
    old: &[u8],
    new: &ProgramDef,
    alter: &AlterEvent,
    given: Option<&Given>,
) -> SqlResult<(ProgramDef, Past)> {
    let mut def = ProgramDef::decode(old)?;
    let Some(mut event) = def.event.take() else {
        return Err(unknown(&def.name));
    };
    if let Some(preserve) = alter.preserve {
        event.preserve = preserve;
    }
    if let Some(state) = alter.state {
        event.state = state_of(state);
    }
    let past = given.map_or(Past::Nothing, |given| given.put(&mut event));
    if let Past::Gone = past {
        return Err(SqlError::new(
            1589,
            "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was not changed. \
             Specify a time in the future.",
        ));
    }
    if let Some(comment) = &alter.comment {
        def.comment.clone_from(comment);
    }
    if alter.body.is_some() {
        def.body.clone_from(&new.body);
        def.mode = new.mode;
    }
    let def = ProgramDef {
        event: Some(event),
        database: new.database.clone(),
        name: match alter.rename {
            Some(_) => new.name.clone(),
            None => def.name,
        },
        definer: new.definer.clone(),
        client: new.client.clone(),
        connection: new.connection.clone(),
        collation: new.collation.clone(),
        modified: new.modified,
        ..def
    };
    Ok((def, past))
}
