//! CREATE, ALTER and DROP of routines and triggers; those of events are [`super::event`]'s.
//!
//! A routine is compiled before it is kept, so what is kept compiles. Each statement is one step of the store's: a crash leaves the definition of before or
//! that of after. Calls under way go on with the definition that they began with.

use super::super::Session;
use crate::programs::{compile, compile_trigger, returns_text};
use millpond_sql::catalog::programs::{self, ProgramDef, ProgramKind, RowEvent, Trigger};
use millpond_sql::ddl;
use millpond_sql::env::now_us;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::expr::is_native;
use millpond_sql::parse::Statement;
use millpond_sql::parse::ast::{
    self, Account, Characteristic, Definer, Ident, ObjectName, Routine, RoutineStatement, Security,
    TriggerOrder,
};
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;
use millpond_sql::value::Value;
use millpond_store::ObjectKey;
use millpond_syntax::{Lexer, TokenKind};

/// Longest name, characters.
const MAX_NAME: usize = 64;

/// 1304.
fn exists(def: &ProgramDef) -> SqlError {
    SqlError::new(
        1304,
        format!("{} {} already exists", def.kind.word(), def.name),
    )
}

/// 1458 and 1059.
pub(super) fn check_name(name: &str) -> SqlResult<()> {
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::new(
            1458,
            format!("Incorrect routine name '{name}'"),
        ));
    }
    match name.chars().count() > MAX_NAME {
        true => Err(SqlError::new(
            1059,
            format!("Identifier name '{name}' is too long"),
        )),
        false => Ok(()),
    }
}

/// What stands between the parentheses that follow a place in a text.
fn within_parens(text: &str, from: usize, mode: millpond_syntax::LexMode) -> &str {
    let rest = text.get(from..).unwrap_or("");
    let mut lexer = Lexer::new(rest, mode);
    let (mut depth, mut start) = (0, 0);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::LParen => {
                depth += 1;
                if depth == 1 {
                    start = token.end as usize;
                }
            }
            TokenKind::RParen => {
                depth -= 1;
                if depth == 0 {
                    return rest[start..token.start as usize].trim();
                }
            }
            TokenKind::End => return "",
            _ => {}
        }
    }
}

/// What an ALTER or a CREATE says of a routine besides.
fn characterize(def: &mut ProgramDef, list: &[Characteristic]) -> SqlResult<()> {
    for c in list {
        match c {
            Characteristic::Comment(text) => def.comment.clone_from(text),
            Characteristic::Language(name) if name.as_str().eq_ignore_ascii_case("SQL") => {}
            Characteristic::Language(name) => {
                return Err(SqlError::unsupported(format_args!("LANGUAGE {name}")));
            }
            Characteristic::Deterministic(yes) => def.deterministic = *yes,
            Characteristic::Access(access) => def.access = access.to_string(),
            Characteristic::Security(security) => def.invoker = *security == Security::Invoker,
        }
    }
    Ok(())
}

/// How far apart the places of triggers are that were made one behind the other.
const APART: u64 = 1 << 32;

/// The place of a new trigger among those of its table, time and event, which are in order.
fn place(others: &[ProgramDef], order: Option<&(TriggerOrder, Ident)>) -> SqlResult<u64> {
    let at = |def: &ProgramDef| def.trigger.as_ref().map_or(0, |t| t.order);
    let Some((order, other)) = order else {
        return Ok(others.last().map_or(APART, |last| at(last) + APART));
    };
    let named = |def: &ProgramDef| def.name.to_lowercase() == other.as_str().to_lowercase();
    let Some(known) = others.iter().position(named) else {
        return Err(SqlError::new(
            3011,
            format!(
                "Referenced trigger '{}' for the given action time and event type does not exist.",
                other.as_str()
            ),
        ));
    };
    let behind = match order {
        TriggerOrder::Follows => known + 1,
        TriggerOrder::Precedes => known,
    };
    let low = behind.checked_sub(1).map_or(0, |n| at(&others[n]));
    let high = others.get(behind).map_or(low + 2 * APART, at);
    match low + (high - low) / 2 {
        middle if middle > low => Ok(middle),
        _ => Err(SqlError::unsupported("so many triggers between two")),
    }
}

fn kind_of(kind: ast::ProgramKind) -> Option<ProgramKind> {
    match kind {
        ast::ProgramKind::Procedure => Some(ProgramKind::Procedure),
        ast::ProgramKind::Function => Some(ProgramKind::Function),
        ast::ProgramKind::Trigger | ast::ProgramKind::Event => None,
    }
}

impl Session {
    /// CREATE, ALTER or DROP of a stored program.
    pub(in super::super) fn define_routine(
        &mut self,
        statement: &Statement,
        routine: &RoutineStatement,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        use RoutineStatement as R;
        match routine {
            R::Create(create) => self.create_routine(statement, create),
            R::CreateTrigger(create) => self.create_trigger(statement, create),
            R::CreateEvent(create) => self.create_event(statement, create, params),
            R::AlterEvent(alter) => self.alter_event(statement, alter, params),
            R::Alter {
                kind,
                name,
                characteristics,
            } => match kind_of(*kind) {
                Some(kind) => self.alter_routine(kind, name, &characteristics.all()),
                None => Err(SqlError::unsupported(format_args!("ALTER {kind}"))),
            },
            R::Drop {
                kind,
                if_exists,
                name,
            } => self.drop_program(*kind, *if_exists, name),
            R::CreateLoadable { .. } => Err(SqlError::unsupported("CREATE FUNCTION ... SONAME")),
        }
    }

    /// `user@host` of a DEFINER clause.
    pub(super) fn definer(&self, definer: Option<&Definer>) -> String {
        match definer {
            Some(Definer(Account::Named { user, host })) => {
                let host = host.as_ref().map_or("%", |h| h.as_str());
                format!("{}@{host}", user.as_str())
            }
            _ => self.env.account.borrow().clone(),
        }
    }

    fn create_routine(&mut self, statement: &Statement, create: &Routine) -> SqlResult<()> {
        if create.aggregate {
            return Err(SqlError::unsupported("CREATE AGGREGATE FUNCTION"));
        }
        let (database, name) = ddl::qualified(&create.name, &self.env)?;
        check_name(&name)?;
        ddl::not_system(&database, &self.env)?;
        let engine = self.instance.engine().clone();
        let collation = ddl::database_collation(&engine, &database)?;
        let text = &statement.text;
        let lex = millpond_sql::parse::lex_mode(self.env.sql_mode.get());
        let after_name = create.name.name.span.end as usize;
        let now = now_us() / 1_000_000;
        let variable = |name| self.facts.vars.named(name).show();
        let mut def = ProgramDef {
            kind: match create.returns {
                Some(_) => ProgramKind::Function,
                None => ProgramKind::Procedure,
            },
            database,
            name,
            definer: self.definer(create.definer.as_ref()),
            parameters: within_parens(text, after_name, lex).to_string(),
            returns: create
                .returns
                .as_ref()
                .map_or(String::new(), |r| r.to_string()),
            body: create.body.span.of(text).to_string(),
            mode: self.settings.mode,
            client: variable("character_set_client").to_string(),
            connection: variable("collation_connection").to_string(),
            collation: collation.name().to_string(),
            deterministic: false,
            access: "CONTAINS SQL".into(),
            invoker: false,
            comment: String::new(),
            created: now,
            modified: now,
            trigger: None,
            event: None,
        };
        characterize(&mut def, &create.characteristics.all())?;
        let program = compile(&def)?;
        if let Some(returns) = &program.returns {
            def.returns = returns_text(&returns.ty);
        }
        if def.kind == ProgramKind::Function && is_native(&def.name) {
            let name = &def.name;
            let m = format!("This function '{name}' has the same name as a native function");
            self.env.note(1585, m);
        }
        let key = programs::key(def.kind, &def.database, &def.name);
        let replaced = create.or_replace;
        let mut there = false;
        self.change_program(&key, &mut |old| match old {
            Some(old) if !replaced => {
                there = true;
                Some(old.to_vec())
            }
            _ => Some(def.encode()),
        })?;
        if !there {
            self.grant_own_routine(create.returns.is_none(), &def.database, &def.name)?;
        }
        match there {
            true if create.if_not_exists => {
                let e = exists(&def);
                self.env.note(e.code, e.message);
                Ok(())
            }
            true => Err(exists(&def)),
            false => Ok(()),
        }
    }

    /// Changes a definition, and has everybody see it.
    fn change_program(
        &mut self,
        key: &ObjectKey,
        change: &mut millpond_store::ChangeBody<'_>,
    ) -> SqlResult<()> {
        let inner = &self.instance.0;
        let changed = inner.engine.change_object(&self.owner, key, change);
        inner.programs.changed();
        changed.map_err(|e| store_error(e, &key.name))
    }

    fn create_trigger(&mut self, statement: &Statement, create: &ast::Trigger) -> SqlResult<()> {
        let (database, table) = ddl::qualified(&create.table, &self.env)?;
        let name = create.name.name.as_str().to_string();
        if create
            .name
            .database
            .as_ref()
            .is_some_and(|d| d.as_str() != database)
        {
            return Err(SqlError::new(1435, "Trigger in wrong schema"));
        }
        check_name(&name)?;
        ddl::not_system(&database, &self.env)?;
        if self.env.temporary.get(&database, &table).is_some() {
            return Err(SqlError::new(
                1361,
                format!("Trigger's '{table}' is view or temporary table"),
            ));
        }
        let engine = self.instance.engine().clone();
        let stored = engine.table_def(&database, &table);
        let schema = Schema::of(&stored.map_err(|e| store_error(e, &table))?)?;
        let event = match create.event {
            ast::TriggerEvent::Insert => RowEvent::Insert,
            ast::TriggerEvent::Update => RowEvent::Update,
            ast::TriggerEvent::Delete => RowEvent::Delete,
        };
        let before = create.time == ast::TriggerTime::Before;
        let key = programs::key(ProgramKind::Trigger, &database, &name);
        let mut others = ProgramDef::triggers(&engine, &database, &table)?;
        others.retain(|d| d.name.to_lowercase() != key.name);
        others.retain(|d| {
            d.trigger
                .as_ref()
                .is_some_and(|t| t.before == before && t.event == event)
        });
        let order = place(&others, create.order.as_ref())?;
        let now = now_us() / 1_000_000;
        let variable = |name| self.facts.vars.named(name).show();
        let def = ProgramDef {
            kind: ProgramKind::Trigger,
            collation: ddl::database_collation(&engine, &database)?
                .name()
                .to_string(),
            database,
            name,
            definer: self.definer(create.definer.as_ref()),
            body: create.body.span.of(&statement.text).to_string(),
            mode: self.settings.mode,
            client: variable("character_set_client").to_string(),
            connection: variable("collation_connection").to_string(),
            created: now,
            modified: now,
            trigger: Some(Trigger {
                table: table.clone(),
                before,
                event,
                order,
            }),
            ..ProgramDef::anonymous()
        };
        compile_trigger(&def, &schema.columns)?;
        if let Some(there) = ProgramDef::find(&engine, &key)? {
            let own = there.trigger.as_ref().is_some_and(|t| t.table == table);
            if create.if_not_exists {
                self.env.note(1359, "Trigger already exists");
                return Ok(());
            }
            if !(create.or_replace && own) {
                return Err(SqlError::new(1359, "Trigger already exists"));
            }
        }
        let replaces = create.or_replace;
        let mut taken = false;
        let changed = engine.change_object_of(&self.owner, &table, &key, &mut |old| match old {
            Some(old) if !replaces => {
                taken = true;
                Some(old.to_vec())
            }
            _ => Some(def.encode()),
        });
        changed.map_err(|e| store_error(e, &table))?;
        match taken {
            true => Err(SqlError::new(1359, "Trigger already exists")),
            false => Ok(()),
        }
    }

    fn drop_trigger(&mut self, if_exists: bool, name: &ObjectName) -> SqlResult<()> {
        let (database, name) = ddl::qualified(name, &self.env)?;
        let key = programs::key(ProgramKind::Trigger, &database, &name);
        let engine = self.instance.engine().clone();
        let found = ProgramDef::find(&engine, &key)?;
        let found = found.and_then(|def| def.trigger).map(|t| t.table);
        let access = self.access();
        // Of tables that one may not see one sees no triggers.
        let seen = found.filter(|table| access.sees_table(&database, table));
        let Some(table) = seen else {
            let missing = SqlError::new(1360, "Trigger does not exist");
            if !if_exists {
                let there = engine.database(&database);
                return Err(there.err().map_or(missing, |e| store_error(e, &database)));
            }
            self.env.note(missing.code, missing.message);
            return Ok(());
        };
        engine
            .change_object_of(&self.owner, &table, &key, &mut |_| None)
            .map_err(|e| store_error(e, &table))
    }

    fn alter_routine(
        &mut self,
        kind: ProgramKind,
        name: &ObjectName,
        list: &[Characteristic],
    ) -> SqlResult<()> {
        let (database, name) = ddl::qualified(name, &self.env)?;
        let key = programs::key(kind, &database, &name);
        let missing = ProgramDef::missing(kind, &format!("{database}.{name}"));
        let mut done = Err(missing);
        let mut change = |old: Option<&[u8]>| {
            let old = old?;
            let altered = ProgramDef::decode(old).and_then(|mut def| {
                characterize(&mut def, list)?;
                def.modified = now_us() / 1_000_000;
                Ok(def.encode())
            });
            match altered {
                Ok(new) => {
                    done = Ok(());
                    Some(new)
                }
                Err(e) => {
                    done = Err(e);
                    Some(old.to_vec())
                }
            }
        };
        match self.change_program(&key, &mut change) {
            // A database that is not there has no routines.
            Err(e) if e.code == 1049 => {}
            r => r?,
        }
        done
    }

    /// DROP of a program.
    fn drop_program(
        &mut self,
        kind: ast::ProgramKind,
        if_exists: bool,
        name: &ObjectName,
    ) -> SqlResult<()> {
        if kind == ast::ProgramKind::Trigger {
            return self.drop_trigger(if_exists, name);
        }
        if kind == ast::ProgramKind::Event {
            return self.drop_event(if_exists, name);
        }
        let (database, name) = ddl::qualified(name, &self.env)?;
        let missing = SqlError::new(1305, format!("{kind} {database}.{name} does not exist"));
        let mut there = false;
        if let Some(kind) = kind_of(kind) {
            let key = programs::key(kind, &database, &name);
            let inner = &self.instance.0;
            // One that isn't there needs no table to be missing in.
            let found = ProgramDef::find(&inner.engine, &key)?;
            if found.is_some() {
                let mut change = |old: Option<&[u8]>| {
                    there = old.is_some();
                    None
                };
                self.change_program(&key, &mut change)?;
            }
        }
        match there {
            true => {
                let procedure = kind == ast::ProgramKind::Procedure;
                self.revoke_routine(procedure, &database, &name)
            }
            false if if_exists => {
                self.env.note(missing.code, missing.message);
                Ok(())
            }
            false => Err(missing),
        }
    }
}
