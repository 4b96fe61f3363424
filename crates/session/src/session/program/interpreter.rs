//! One invocation of a program.

use super::conditions::{clear_conditions, conditions_are_new};
use super::host::{Answered, Host};
use crate::programs::Routine;
use crate::programs::code::{Block, Handler, Otherwise, Sql, Step, Target, Variable};
use millpond_sql::catalog::programs::ProgramKind;
use millpond_sql::env::SessionEnv;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::memory::Charge;
use millpond_sql::result::ResultSink;
use millpond_sql::types::Column;
use millpond_sql::value::{self, StoreContext, Value};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next one follows.
    Next,
    /// The block or loop of this target is left.
    Leave(Target),
    /// The loop of this target begins another turn.
    Iterate(Target),
    /// The program is over.
    Return,
}

/// A block that is being run, as far as conditions are concerned.
#[derive(Clone, Copy)]
pub(super) struct Active<'p> {
    pub handlers: &'p [Handler],
    pub target: Target,
}

/// An open cursor: its rows, all read when it was opened.
struct Cursor {
    rows: std::vec::IntoIter<Vec<Value<'static>>>,
    columns: usize,
    _charge: Charge,
}

/// One invocation of a program.
pub(super) struct Invocation<'p, 's> {
    pub host: &'s mut dyn Host,
    pub routine: &'p Routine,
    pub sink: &'s mut dyn ResultSink,
    /// Values of the program's variables.
    pub frame: Vec<Value<'static>>,
    /// The blocks around the current step, outermost first; within a handler those around its block.
    pub active: Vec<Active<'p>>,
    cursors: Vec<Option<Cursor>>,
    /// Which of a trigger's variables were assigned to.
    pub assigned: Vec<usize>,
    /// What RETURN gave.
    pub returned: Option<Value<'static>>,
}

/// 1339.
fn no_case() -> SqlError {
    SqlError::new(1339, "Case not found for CASE statement")
}

impl<'p, 's> Invocation<'p, 's> {
    /// One that has not begun; parameters are the frame's first values.
    pub fn new(
        host: &'s mut dyn Host,
        routine: &'p Routine,
        sink: &'s mut dyn ResultSink,
        mut frame: Vec<Value<'static>>,
    ) -> Invocation<'p, 's> {
        frame.resize(routine.program.slots.len(), Value::Null);
        Invocation {
            host,
            routine,
            sink,
            frame,
            active: Vec::new(),
            cursors: routine.program.cursors.iter().map(|_| None).collect(),
            assigned: Vec::new(),
            returned: None,
        }
    }

    /// Runs the program.
    pub fn run(&mut self) -> SqlResult<Flow> {
        let routine = self.routine;
        self.step(&routine.program.body)
    }

    /// 1317 if somebody has told the session to stop.
    fn look(&self) -> SqlResult<()> {
        match self.host.facts().seat.interrupted() {
            true => Err(millpond_sql::store_error::interrupted()),
            false => Ok(()),
        }
    }

    fn steps(&mut self, list: &'p [Step]) -> SqlResult<Flow> {
        for step in list {
            match self.step(step)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a step, and the handler of what it raises.
    pub fn step(&mut self, step: &'p Step) -> SqlResult<Flow> {
        self.look()?;
        match step {
            Step::Block(block) => self.block(block),
            Step::If {
                branches,
                otherwise,
                operand,
            } => self.choose(branches, otherwise, operand.as_ref()),
            Step::Loop {
                target,
                while_,
                body,
                until,
            } => self.turns(*target, while_.as_ref(), body, until.as_ref()),
            Step::Leave(target) => Ok(Flow::Leave(*target)),
            Step::Iterate(target) => Ok(Flow::Iterate(*target)),
            simple => match self.simple(simple) {
                Ok(Flow::Next) => self.warned(),
                Ok(flow) => Ok(flow),
                Err(e) => self.caught(e),
            },
        }
    }

    fn block(&mut self, block: &'p Block) -> SqlResult<Flow> {
        for (slot, default) in &block.variables {
            let begun = match default {
                None => {
                    self.frame[*slot] = Value::Null;
                    continue;
                }
                Some(sql) => self.strictly(sql).and_then(|v| self.assign(*slot, v)),
            };
            let flow = match begun {
                Ok(()) => self.warned()?,
                Err(e) => self.caught(e)?,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        self.active.push(Active {
            handlers: &block.handlers,
            target: block.target,
        });
        let flow = self.steps(&block.body)?;
        self.active.pop();
        for cursor in block.cursors.clone() {
            self.cursors[cursor] = None;
        }
        Ok(match flow {
            Flow::Leave(target) if target == block.target => Flow::Next,
            flow => flow,
        })
    }

    /// Whether a condition holds; or how the step ends whose condition it is, if a handler took what it raised.
    fn holds(&mut self, sql: &Sql) -> SqlResult<Result<bool, Flow>> {
        let value = match self.value(sql) {
            Ok(value) => value,
            Err(e) => return self.caught(e).map(Err),
        };
        match self.warned()? {
            Flow::Next => Ok(Ok(self.is_true(&value))),
            flow => Ok(Err(flow)),
        }
    }

    fn is_true(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Bytes(b) => {
                value::number_of_text(b, &self.host.env().conversion).is_ok_and(|n| n != 0.0)
            }
            v => v.truth() == Some(true),
        }
    }

    fn choose(
        &mut self,
        branches: &'p [(Sql, Vec<Step>)],
        otherwise: &'p Otherwise,
        operand: Option<&'p (Sql, usize)>,
    ) -> SqlResult<Flow> {
        if let Some((sql, slot)) = operand {
            match self.value(sql) {
                Ok(v) => self.frame[*slot] = v,
                Err(e) => return self.caught(e),
            }
        }
        for (condition, body) in branches {
            match self.holds(condition)? {
                Ok(true) => return self.steps(body),
                Ok(false) => {}
                Err(flow) => return Ok(flow),
            }
        }
        match otherwise {
            Otherwise::Nothing => Ok(Flow::Next),
            Otherwise::Else(body) => self.steps(body),
            Otherwise::Error => self.caught(no_case()),
        }
    }

    fn turns(
        &mut self,
        target: Target,
        while_: Option<&'p Sql>,
        body: &'p [Step],
        until: Option<&'p Sql>,
    ) -> SqlResult<Flow> {
        loop {
            self.look()?;
            if let Some(condition) = while_ {
                match self.holds(condition)? {
                    Ok(true) => {}
                    Ok(false) => return Ok(Flow::Next),
                    Err(flow) => return Ok(flow),
                }
            }
            match self.steps(body)? {
                Flow::Next => {}
                // ITERATE goes to the beginning, past UNTIL.
                Flow::Iterate(to) if to == target => continue,
                Flow::Leave(what) if what == target => return Ok(Flow::Next),
                flow => return Ok(flow),
            }
            if let Some(condition) = until {
                match self.holds(condition)? {
                    Ok(true) => return Ok(Flow::Next),
                    Ok(false) => {}
                    Err(flow) => return Ok(flow),
                }
            }
        }
    }

    /// Runs a step that has no others in it.
    fn simple(&mut self, step: &'p Step) -> SqlResult<Flow> {
        match step {
            Step::Assign(slot, sql) => {
                let v = self.strictly(sql)?;
                self.assign(*slot, v)?;
            }
            Step::AssignUser(name, sql) => {
                let v = self.value(sql)?;
                self.host.env().set_user_var(name, v)?;
                self.host.env().row_count.set(0);
            }
            Step::Return(sql) => {
                let v = self.strictly(sql)?;
                let column = self.routine.program.returns.as_ref();
                self.returned = Some(match column {
                    Some(column) => as_stored(self.host.env(), v, column)?,
                    None => v,
                });
                return Ok(Flow::Return);
            }
            Step::Statement(sql) => self.statement(sql)?,
            Step::Call(call) => self.call(call)?,
            Step::Open(cursor) => self.open(*cursor)?,
            Step::Fetch(cursor, into) => self.fetch(*cursor, into)?,
            Step::Close(cursor) => {
                let open = self.cursors[*cursor].take();
                open.ok_or_else(|| SqlError::new(1326, "Cursor is not open"))?;
            }
            Step::Signal(signal) => self.signal(signal)?,
            Step::Diagnostics(get) => self.diagnostics(get)?,
            Step::Block(_)
            | Step::If { .. }
            | Step::Loop { .. }
            | Step::Leave(_)
            | Step::Iterate(_) => return Err(SqlError::new(1105, "a step of steps")),
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, sql: &Sql) -> SqlResult<()> {
        let compiled = &self.routine.statements[sql.at];
        if !compiled.row.keeps_diagnostics {
            clear_conditions(self.host);
        }
        let (host, sink) = (&mut *self.host, &mut *self.sink);
        let into = host.statement(compiled, &sql.locals, &self.frame, sink)?;
        for (slot, v) in into {
            self.assign(slot, v)?;
        }
        Ok(())
    }

    /// The rows of what reads only. It is no statement of its own: it takes the place of conditions only if it raises some.
    fn rows(&mut self, sql: &Sql) -> SqlResult<Answered> {
        let before = self.host.env().diagnostics.take();
        let compiled = &self.routine.statements[sql.at];
        let rows = self.host.rows(compiled, &sql.locals, &self.frame);
        let none = self.host.env().diagnostics.borrow().is_empty();
        match none && rows.is_ok() {
            true => *self.host.env().diagnostics.borrow_mut() = before,
            false => conditions_are_new(self.host),
        }
        rows
    }

    /// An expression's value.
    pub fn value(&mut self, sql: &Sql) -> SqlResult<Value<'static>> {
        let rows = self.rows(sql)?.rows;
        let first = rows.into_iter().next().and_then(|r| r.into_iter().next());
        first.ok_or_else(|| SqlError::new(1105, "no value"))
    }

    /// The value of an expression that is assigned: where INSERT would refuse what it warns of, that is an error.
    pub fn strictly(&mut self, sql: &Sql) -> SqlResult<Value<'static>> {
        let strict = self.host.env().sql_mode.get().strict;
        let outside = self.host.env().strict_write.replace(strict);
        let v = self.value(sql);
        self.host.env().strict_write.set(outside);
        v
    }

    /// Assigns to a variable.
    pub fn assign(&mut self, slot: usize, v: Value<'static>) -> SqlResult<()> {
        let column = &self.routine.program.slots[slot];
        self.frame[slot] = as_stored(self.host.env(), v, column)?;
        if self.routine.program.def.kind == ProgramKind::Trigger && !self.assigned.contains(&slot) {
            self.assigned.push(slot);
        }
        Ok(())
    }

    /// Assigns to whatever OUT or GET DIAGNOSTICS names.
    pub fn assign_to(&mut self, variable: &Variable, v: Value<'static>) -> SqlResult<()> {
        match variable {
            Variable::Local(slot) => self.assign(*slot, v),
            Variable::User(name) => self.host.env().set_user_var(name, v),
            Variable::Param(_) => Err(SqlError::unsupported("a placeholder here")),
        }
    }

    fn open(&mut self, cursor: usize) -> SqlResult<()> {
        if self.cursors[cursor].is_some() {
            return Err(SqlError::new(1325, "Cursor is already open"));
        }
        clear_conditions(self.host);
        let routine = self.routine;
        let answered = self.rows(&routine.program.cursors[cursor])?;
        let mut charge = Charge::new(self.host.memory());
        let row_bytes = |row: &Vec<Value<'static>>| {
            let own = row.len() * size_of::<Value<'static>>() + size_of::<Vec<Value<'static>>>();
            let texts = row.iter().map(|v| match v {
                Value::Bytes(b) => b.len(),
                _ => 0,
            });
            own + texts.sum::<usize>()
        };
        charge.grow(answered.rows.iter().map(row_bytes).sum())?;
        self.cursors[cursor] = Some(Cursor {
            columns: answered.columns,
            rows: answered.rows.into_iter(),
            _charge: charge,
        });
        Ok(())
    }

    fn fetch(&mut self, cursor: usize, into: &[usize]) -> SqlResult<()> {
        let Some(open) = &mut self.cursors[cursor] else {
            return Err(SqlError::new(1326, "Cursor is not open"));
        };
        if open.columns != into.len() {
            return Err(SqlError::new(1328, "Incorrect number of FETCH variables"));
        }
        let Some(row) = open.rows.next() else {
            return Err(SqlError::new(
                1329,
                "No data - zero rows fetched, selected, or processed",
            ));
        };
        clear_conditions(self.host);
        for (slot, v) in into.iter().zip(row) {
            self.assign(*slot, v)?;
        }
        Ok(())
    }
}

/// A value as a column would store it: errors and warnings as those of INSERT.
pub(super) fn as_stored(
    env: &SessionEnv,
    v: Value<'static>,
    column: &Column,
) -> SqlResult<Value<'static>> {
    if v.is_null() {
        return Ok(v);
    }
    let cx = StoreContext {
        session: &env.conversion,
        strict: env.sql_mode.get().strict,
        row: 1,
    };
    Ok(value::store(v, column, &cx)?.into_owned())
}
