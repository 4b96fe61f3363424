//! Conditions: which handler takes one, SIGNAL, RESIGNAL and GET DIAGNOSTICS.
//!
//! The diagnostics area is the session's list of conditions. A handler begins with a copy of it, which its first statement replaces; while it runs
//! the list as it was is the *stacked* area ([`Handled`]). When it is done, what it began with is gone and what its own statements
//! left stays.

use super::host::Host;
use super::interpreter::{Flow, Invocation};
use crate::programs::Handled;
use crate::programs::code::{Condition, Diagnostics, DiagnosticsItems, Handler, Signal, Sql};
use millpond_sql::env::{Diagnostic, Level};
use millpond_sql::error::{ConditionItems, SqlError, SqlResult, SqlState};
use millpond_sql::parse::ast::{SignalItem, StatementItem};
use millpond_sql::value::Value;

/// The longest text of an item of SIGNAL, characters.
fn longest(item: SignalItem) -> usize {
    match item {
        SignalItem::MessageText => 128,
        _ => 64,
    }
}

/// How closely a handler's condition says what is raised; more is closer.
fn closeness(condition: &Condition, raised: &Diagnostic) -> Option<u8> {
    let class = raised.state.class();
    let error = raised.level == Level::Error;
    let fits = match condition {
        Condition::Number(n) => (*n == raised.code, 3),
        Condition::State(state) => (*state == raised.state, 2),
        Condition::Warning => (class == "01" || raised.level == Level::Warning, 1),
        Condition::NotFound => (class == "02", 1),
        Condition::Exception => (error && !matches!(class, "00" | "01" | "02"), 1),
    };
    fits.0.then_some(fits.1)
}

/// A statement begins that leaves conditions of its own.
pub(super) fn clear_conditions(host: &dyn Host) {
    host.env().diagnostics.borrow_mut().clear();
    conditions_are_new(host);
}

/// None of the conditions is one that the running handler began with.
pub(super) fn conditions_are_new(host: &dyn Host) {
    if let Some(handled) = host.facts().running.lock().handling.last_mut() {
        handled.inherited = 0;
    }
}

impl<'p> Invocation<'p, '_> {
    /// The handler for a condition, and the position of its block: of the innermost block that has one, the closest.
    fn handler(&self, raised: &Diagnostic) -> Option<(usize, &'p Handler)> {
        self.active.iter().enumerate().rev().find_map(|(at, a)| {
            let close = |h: &&'p Handler| {
                let fits = h.conditions.iter().filter_map(|c| closeness(c, raised));
                fits.max()
            };
            // Of those that are equally close the first.
            let fitting = a.handlers.iter().rev().filter(|h| close(h).is_some());
            fitting.max_by_key(close).map(|h| (at, h))
        })
    }

    /// An error: runs its handler, or gives it back.
    pub fn caught(&mut self, e: SqlError) -> SqlResult<Flow> {
        if self.host.is_fatal(&e) {
            return Err(e);
        }
        let raised = Diagnostic::of(&e);
        let Some((at, handler)) = self.handler(&raised) else {
            return Err(e);
        };
        self.host.env().row_count.set(-1);
        let which = {
            let mut conditions = self.host.env().diagnostics.borrow_mut();
            conditions.push(raised);
            conditions.len() - 1
        };
        self.handle(at, handler, which)
    }

    /// After a step that went well: runs the handler of a warning that it left, if there is one; of several that of the last.
    pub fn warned(&mut self) -> SqlResult<Flow> {
        if self.active.iter().all(|a| a.handlers.is_empty()) {
            return Ok(Flow::Next);
        }
        let conditions = self.host.env().diagnostics.borrow().clone();
        if conditions.is_empty() {
            return Ok(Flow::Next);
        }
        let inherited = self
            .host
            .facts()
            .running
            .lock()
            .handling
            .last()
            .map_or(0, |h| h.inherited);
        let raised = conditions.iter().enumerate().skip(inherited).rev();
        let mut raised = raised.filter(|(_, c)| c.level != Level::Error);
        let found = raised.find_map(|(n, c)| self.handler(c).map(|found| (n, found)));
        match found {
            Some((which, (at, handler))) => self.handle(at, handler, which),
            None => Ok(Flow::Next),
        }
    }

    fn handle(&mut self, at: usize, handler: &'p Handler, which: usize) -> SqlResult<Flow> {
        let target = self.active[at].target;
        let within = self.active.split_off(at);
        let conditions = self.host.env().diagnostics.borrow().clone();
        let row_count = self.host.env().row_count.get();
        self.host.end_diagnostics();
        self.host.facts().running.lock().handling.push(Handled {
            inherited: conditions.len(),
            conditions,
            at: which,
            row_count,
        });
        let done = self.step(&handler.body);
        let handled = self.host.facts().running.lock().handling.pop();
        self.active.truncate(at);
        self.active.extend(within);
        let flow = done?;
        let inherited = handled.map_or(0, |h| h.inherited);
        let mut conditions = self.host.env().diagnostics.borrow_mut();
        let inherited = inherited.min(conditions.len());
        conditions.drain(..inherited);
        drop(conditions);
        Ok(match flow {
            Flow::Next if handler.exits => Flow::Leave(target),
            flow => flow,
        })
    }

    /// The items that SET of SIGNAL and RESIGNAL gives.
    fn items(&mut self, items: &[(SignalItem, Sql)]) -> SqlResult<Vec<(SignalItem, String)>> {
        let mut texts = Vec::with_capacity(items.len());
        for (item, sql) in items {
            let v = self.value(sql)?;
            let wrong = |text: &str| {
                let m = format!("Variable '{item}' can't be set to the value of '{text}'");
                SqlError::new(1231, m)
            };
            if v.is_null() {
                return Err(wrong("NULL"));
            }
            let mut text = String::from_utf8_lossy(&v.to_text()).into_owned();
            if *item == SignalItem::MysqlErrno {
                match text.parse::<u16>() {
                    Ok(n) if n > 0 => {}
                    _ => return Err(wrong(&text)),
                }
            }
            if let Some((end, _)) = text.char_indices().nth(longest(*item)) {
                if self.host.env().sql_mode.get().strict {
                    let m = format!("Data too long for condition item '{item}'");
                    return Err(SqlError::new(1648, m));
                }
                text.truncate(end);
            }
            texts.push((*item, text));
        }
        Ok(texts)
    }

    /// SIGNAL and RESIGNAL.
    pub fn signal(&mut self, signal: &Signal) -> SqlResult<()> {
        let texts = self.items(&signal.items)?;
        if !signal.again {
            clear_conditions(self.host);
            let state = signal.state.unwrap_or(SqlState::GENERAL);
            return self.raise(of_state(state), &texts);
        }
        let handled = {
            let running = self.host.facts().running.lock();
            running
                .handling
                .last()
                .map(|h| (h.conditions.clone(), h.at))
        };
        let Some((mut conditions, at)) = handled else {
            return Err(SqlError::new(1645, "RESIGNAL when handler not active"));
        };
        let at = at.min(conditions.len().saturating_sub(1));
        let raised = match signal.state {
            // One more, on top of what there was, which says the same if it isn't given a text.
            Some(state) => Diagnostic {
                message: conditions[at].message.clone(),
                items: conditions[at].items.clone(),
                ..of_state(state)
            },
            None => conditions.remove(at),
        };
        *self.host.env().diagnostics.borrow_mut() = conditions;
        conditions_are_new(self.host);
        self.raise(raised, &texts)
    }

    /// Raises a condition with these items: a warning is noted, all else is an error.
    fn raise(&mut self, mut raised: Diagnostic, texts: &[(SignalItem, String)]) -> SqlResult<()> {
        let mut others: Vec<(&'static str, String)> =
            raised.items.take().map(|b| *b).unwrap_or_default();
        for (item, text) in texts {
            match item {
                SignalItem::MessageText => raised.message.clone_from(text),
                SignalItem::MysqlErrno => raised.code = text.parse().unwrap_or(raised.code),
                item => {
                    let name = name_of(*item);
                    others.retain(|(n, _)| *n != name);
                    others.push((name, text.clone()));
                }
            }
        }
        let items: ConditionItems = (!others.is_empty()).then(|| Box::new(others));
        if raised.level == Level::Error {
            let mut e = SqlError::new(raised.code, raised.message);
            (e.state, e.items) = (raised.state, items);
            return Err(e);
        }
        self.host.env().row_count.set(0);
        let raised = Diagnostic { items, ..raised };
        self.host.env().diagnostics.borrow_mut().push(raised);
        Ok(())
    }

    /// GET DIAGNOSTICS.
    pub fn diagnostics(&mut self, get: &Diagnostics) -> SqlResult<()> {
        let handled = {
            let running = self.host.facts().running.lock();
            running
                .handling
                .last()
                .map(|h| (h.conditions.clone(), h.row_count))
        };
        let now = self.host.env().row_count.get();
        let (area, rows) = match (get.stacked, handled) {
            (false, _) => (self.host.env().diagnostics.borrow().clone(), now),
            (true, Some(handled)) => handled,
            (true, None) => {
                return Err(SqlError::new(
                    3004,
                    "GET STACKED DIAGNOSTICS when handler not active",
                ));
            }
        };
        match &get.items {
            DiagnosticsItems::Statement(items) => {
                for (variable, item) in items {
                    let v = match item {
                        StatementItem::Number => Value::Int(area.len() as i64),
                        StatementItem::RowCount => Value::Int(rows),
                    };
                    self.assign_to(variable, v)?;
                }
            }
            DiagnosticsItems::Condition(number, items) => {
                let n = self.value(number)?.to_i64();
                let at = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
                let Some(condition) = at.and_then(|at| area.get(at)) else {
                    // It is added to the conditions; the statement goes well.
                    let e = SqlError::new(1758, "Invalid condition number");
                    self.host.env().say(Diagnostic::of(&e));
                    return Ok(());
                };
                for (variable, item) in items {
                    self.assign_to(variable, item_of(condition, *item))?;
                }
            }
        }
        Ok(())
    }
}

/// The condition that SIGNAL of a state raises, unless it says more.
fn of_state(state: SqlState) -> Diagnostic {
    let (level, code, message) = match state.class() {
        "01" => (
            Level::Warning,
            1642,
            "Unhandled user-defined warning condition",
        ),
        "02" => (
            Level::Error,
            1643,
            "Unhandled user-defined not found condition",
        ),
        _ => (
            Level::Error,
            1644,
            "Unhandled user-defined exception condition",
        ),
    };
    Diagnostic {
        state,
        ..Diagnostic::new(level, code, message.into())
    }
}

/// An item's name in SQL.
fn name_of(item: SignalItem) -> &'static str {
    use SignalItem as I;
    match item {
        I::ClassOrigin => "CLASS_ORIGIN",
        I::SubclassOrigin => "SUBCLASS_ORIGIN",
        I::MessageText => "MESSAGE_TEXT",
        I::MysqlErrno => "MYSQL_ERRNO",
        I::ConstraintCatalog => "CONSTRAINT_CATALOG",
        I::ConstraintSchema => "CONSTRAINT_SCHEMA",
        I::ConstraintName => "CONSTRAINT_NAME",
        I::CatalogName => "CATALOG_NAME",
        I::SchemaName => "SCHEMA_NAME",
        I::TableName => "TABLE_NAME",
        I::ColumnName => "COLUMN_NAME",
        I::CursorName => "CURSOR_NAME",
        I::ReturnedSqlstate => "RETURNED_SQLSTATE",
    }
}

/// An item of a condition.
fn item_of(condition: &Diagnostic, item: SignalItem) -> Value<'static> {
    let name = name_of(item);
    let given = condition.items.iter().flat_map(|items| items.iter());
    if let Some((_, text)) = given.into_iter().find(|(n, _)| *n == name) {
        return Value::string(text.clone());
    }
    // Classes that the standard keeps for itself begin with these.
    let standard = |text: &str| {
        text.starts_with(['0', '1', '2', '3', '4'])
            || text.as_bytes()[0].is_ascii_uppercase() && text.as_bytes()[0] <= b'H'
    };
    let origin = |own: bool| Value::str(if own { "ISO 9075" } else { "MySQL" });
    match item {
        SignalItem::MessageText => Value::string(condition.message.clone()),
        SignalItem::MysqlErrno => Value::Int(condition.code.into()),
        SignalItem::ReturnedSqlstate => Value::string(condition.state.to_string()),
        SignalItem::ClassOrigin => origin(standard(condition.state.class())),
        SignalItem::SubclassOrigin => {
            let state = condition.state;
            let own = standard(state.class()) && standard(&state.as_str()[2..]);
            origin(own)
        }
        _ => Value::str(""),
    }
}
