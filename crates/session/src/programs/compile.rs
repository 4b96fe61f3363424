//! From a definition's text to a program.

use std::sync::Arc;

use millpond_sql::catalog::programs::{ProgramDef, ProgramKind};
use millpond_sql::env::{SqlMode, sql_mode};
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse::ast::{
    self, CompoundStatement as S, Expr, ExprKind, HandlerAction, Ident, Items, ParameterMode,
    RoutineStatement, SetItem, SetStatement, SetValue, StatementKind,
};
use millpond_sql::parse::{self, Statement};
use millpond_sql::planner::into_of;
use millpond_sql::types::{Collation, Column, SqlType};

use super::allowed;
use super::code::{Argument, Block, Call, Handler, Otherwise, Program, Sql, Step, Variable};
use super::names::Names;
use super::variables;
use crate::statements::{Parsed, kinds};

/// 1105.
pub(super) fn no_program() -> SqlError {
    SqlError::new(1105, "a program's text is none")
}

/// Compiles a routine, with all that MySQL checks when one is made.
pub(crate) fn compile(def: &ProgramDef) -> SqlResult<Program> {
    let mode = sql_mode::flags(def.mode);
    let whole = parse::parse_one(&def.source(), mode)?;
    let StatementKind::Routine(routine) = whole.kind() else {
        return Err(no_program());
    };
    let RoutineStatement::Create(routine) = &**routine else {
        return Err(no_program());
    };
    let mut c = Compiler::new(def, &whole, mode)?;
    let mut parameters = Vec::new();
    for p in &routine.parameters {
        let column = c.column(p.name.as_str(), &p.data_type)?;
        c.names.variable(column, true)?;
        parameters.push(p.mode.unwrap_or(ParameterMode::In));
    }
    if let Some(returns) = &routine.returns {
        c.returns = Some(c.column(&def.name, returns)?);
    }
    let body = c.step(&routine.body)?;
    if c.returns.is_some() && !c.returning && c.refused.is_none() {
        let m = format!("No RETURN found in FUNCTION {}", def.full_name());
        return Err(SqlError::new(1320, m));
    }
    c.finish(parameters, body)
}

/// What is known while a program is compiled.
pub(super) struct Compiler<'d> {
    pub(super) def: &'d ProgramDef,
    pub(super) whole: &'d Statement,
    pub(super) mode: SqlMode,
    /// What variables have that name no character set.
    pub(super) collation: Collation,
    pub(super) names: Names,
    pub(super) statements: Vec<Statement>,
    pub(super) cursors: Vec<Sql>,
    pub(super) returns: Option<Column>,
    /// Whether there is a RETURN.
    pub(super) returning: bool,
    /// Slots of NEW that are assigned to.
    pub(super) changed: Vec<usize>,
    /// Whether a statement may send a result set.
    pub(super) answers: bool,
    /// What is wrong with its first statement that a function or trigger can't have.
    pub(super) refused: Option<SqlError>,
}

/// What stands where a declaration may.
#[derive(PartialEq, PartialOrd)]
enum Stage {
    Variables,
    Cursors,
    Handlers,
    Statements,
}

impl<'d> Compiler<'d> {
    pub(super) fn new(
        def: &'d ProgramDef,
        whole: &'d Statement,
        mode: SqlMode,
    ) -> SqlResult<Compiler<'d>> {
        let collation = match &*def.collation {
            "" => Collation::Utf8mb4GeneralCi,
            name => Collation::by_name(name)?,
        };
        Ok(Compiler {
            def,
            whole,
            mode,
            collation,
            names: Names::default(),
            statements: Vec::new(),
            cursors: Vec::new(),
            returns: None,
            returning: false,
            changed: Vec::new(),
            answers: false,
            refused: None,
        })
    }

    pub(super) fn finish(self, parameters: Vec<ParameterMode>, body: Step) -> SqlResult<Program> {
        self.refused.clone().map_or(Ok(()), Err)?;
        let slots = self.names.slots;
        let statements = self.statements.into_iter().map(|mut s| {
            s.params = slots.len();
            s.tree.params = slots.len() as u32;
            let text = s.tree.span.of(&s.text).into();
            Parsed::new(s, text, self.mode).map(Arc::new)
        });
        Ok(Program {
            def: self.def.clone(),
            parameters,
            returns: self.returns,
            answers: self.answers,
            statements: statements.collect::<SqlResult<_>>()?,
            cursors: self.cursors,
            body,
            slots,
            changed: self.changed,
        })
    }

    fn column(&self, name: &str, ty: &ast::TypeAndCollation) -> SqlResult<Column> {
        variables::column(name, ty, self.collation, self.def.mode)
    }

    fn text_of(&self, span: millpond_syntax::Span) -> &str {
        &self.whole.text[span.range()]
    }

    fn keep(&mut self, statement: Statement) -> Sql {
        self.statements.push(statement);
        Sql {
            at: self.statements.len() - 1,
            locals: self.names.locals(),
        }
    }

    /// A statement of its own for a text.
    fn text(&mut self, text: &str) -> SqlResult<Sql> {
        let statement = parse::parse_one(text, self.mode)?;
        Ok(self.keep(statement))
    }

    /// An expression, as the SELECT of it.
    pub(super) fn expr(&mut self, e: &Expr) -> SqlResult<Sql> {
        let text = format!("SELECT ({})", self.text_of(e.span));
        self.text(&text)
    }

    /// A statement as it stands.
    fn statement(&mut self, s: &ast::Statement) -> SqlResult<Sql> {
        allowed::in_any(&s.kind)?;
        if let Err(e) = allowed::check(&s.kind, self.def.kind) {
            self.refused.get_or_insert(e);
        }
        self.answers |= allowed::answers(&s.kind);
        kinds::row(&s.kind)?;
        Ok(self.keep(Statement {
            tree: s.clone(),
            time_limit: None,
            ..self.whole.clone()
        }))
    }

    fn steps(&mut self, list: &Items<ast::Statement>) -> SqlResult<Vec<Step>> {
        let mut steps = Vec::with_capacity(list.len());
        for s in list {
            self.step_into(&s, &mut steps)?;
        }
        Ok(steps)
    }

    /// A statement, which may be several steps.
    fn step_into(&mut self, s: &ast::Statement, steps: &mut Vec<Step>) -> SqlResult<()> {
        match &s.kind {
            StatementKind::Set(set) => self.set(s, set, steps),
            _ => {
                let step = self.step(s)?;
                steps.push(step);
                Ok(())
            }
        }
    }

    pub(super) fn step(&mut self, s: &ast::Statement) -> SqlResult<Step> {
        match &s.kind {
            StatementKind::Compound(compound) => self.compound(compound),
            StatementKind::Set(_) => {
                let mut body = Vec::new();
                self.step_into(s, &mut body)?;
                match <[Step; 1]>::try_from(body) {
                    Ok([one]) => Ok(one),
                    Err(body) => Ok(Step::Block(self.bare_block(body))),
                }
            }
            StatementKind::Call(call) => self.call(call),
            StatementKind::Query(q) => {
                if let Some(ast::Into::Variables(list)) = into_of(q) {
                    for target in list {
                        if let ast::IntoTarget::Local(name) = &*target {
                            self.names.declared(name.as_str())?;
                        }
                    }
                }
                self.statement(s).map(Step::Statement)
            }
            _ => self.statement(s).map(Step::Statement),
        }
    }

    fn bare_block(&mut self, body: Vec<Step>) -> Block {
        let at = self.cursors.len();
        Block {
            target: self.names.target(),
            variables: Vec::new(),
            cursors: at..at,
            handlers: Vec::new(),
            body,
        }
    }

    fn compound(&mut self, s: &S) -> SqlResult<Step> {
        Ok(match s {
            S::Block { label, body } => Step::Block(self.block(label.as_ref(), body)?),
            S::If {
                branches,
                otherwise,
            } => Step::If {
                branches: self.branches(branches, None)?,
                otherwise: self.otherwise(otherwise, Otherwise::Nothing)?,
                operand: None,
            },
            S::Case {
                operand,
                branches,
                otherwise,
            } => return self.case(operand.as_ref(), branches, otherwise),
            S::Loop { label, body } => self.looping(label, None, body, None)?,
            S::While {
                label,
                condition,
                body,
            } => self.looping(label, Some(condition), body, None)?,
            S::Repeat { label, body, until } => self.looping(label, None, body, Some(until))?,
            S::Leave(label) => Step::Leave(self.names.labelled(label.as_str(), false)?),
            S::Iterate(label) => Step::Iterate(self.names.labelled(label.as_str(), true)?),
            S::Return(value) => {
                if self.def.kind != ProgramKind::Function {
                    return Err(SqlError::new(1313, "RETURN is only allowed in a FUNCTION"));
                }
                self.returning = true;
                Step::Return(self.expr(value)?)
            }
            S::Open(cursor) => Step::Open(self.names.cursor_named(cursor.as_str())?),
            S::Close(cursor) => Step::Close(self.names.cursor_named(cursor.as_str())?),
            S::Fetch(cursor, into) => {
                let at = self.names.cursor_named(cursor.as_str())?;
                let slots = into.iter().map(|name| self.names.declared(name.as_str()));
                Step::Fetch(at, slots.collect::<SqlResult<_>>()?)
            }
            S::Signal(condition, items) => {
                let state = self.signalled(condition)?;
                Step::Signal(self.signal(Some(state), false, items)?)
            }
            S::Resignal(condition, items) => {
                let state = condition.as_ref().map(|c| self.signalled(c)).transpose()?;
                Step::Signal(self.signal(state, true, items)?)
            }
            S::GetDiagnostics(get) => Step::Diagnostics(self.diagnostics(get)?),
            // Declarations have their place at a block's beginning.
            S::DeclareVariables { .. }
            | S::DeclareCondition(..)
            | S::DeclareCursor(..)
            | S::DeclareHandler { .. } => {
                return Err(SqlError::syntax(format_args!("near '{s}'")));
            }
        })
    }

    fn block(&mut self, label: Option<&Ident>, body: &Items<ast::Statement>) -> SqlResult<Block> {
        let target = self.names.target();
        if let Some(label) = label {
            self.names.label(label.as_str(), target, false)?;
        }
        let outside = self.names.enter();
        let made = self.block_within(target, body);
        self.names.leave(outside);
        if label.is_some() {
            self.names.forget_label();
        }
        made
    }

    fn block_within(&mut self, target: usize, list: &Items<ast::Statement>) -> SqlResult<Block> {
        let mut block = self.bare_block(Vec::new());
        block.target = target;
        let mut stage = Stage::Variables;
        for s in list {
            let now = match &s.kind {
                StatementKind::Compound(c) => match &**c {
                    S::DeclareVariables { .. } | S::DeclareCondition(..) => Stage::Variables,
                    S::DeclareCursor(..) => Stage::Cursors,
                    S::DeclareHandler { .. } => Stage::Handlers,
                    _ => Stage::Statements,
                },
                _ => Stage::Statements,
            };
            if now < stage {
                return Err(match (stage, now) {
                    (Stage::Statements, _) => {
                        SqlError::syntax(format_args!("near '{}'", self.text_of(s.span)))
                    }
                    (_, Stage::Variables) => SqlError::new(
                        1337,
                        "Variable or condition declaration after cursor or handler declaration",
                    ),
                    _ => SqlError::new(1338, "Cursor declaration after handler declaration"),
                });
            }
            stage = now;
            match &s.kind {
                StatementKind::Compound(c) if stage != Stage::Statements => {
                    self.declare(c, &mut block)?;
                }
                _ => self.step_into(&s, &mut block.body)?,
            }
        }
        Ok(block)
    }

    fn declare(&mut self, s: &S, block: &mut Block) -> SqlResult<()> {
        match s {
            S::DeclareVariables {
                names,
                data_type,
                default,
            } => {
                // The default sees what was declared before.
                let default = default.as_ref().map(|e| self.expr(e)).transpose()?;
                for name in names {
                    let column = self.column(name.as_str(), data_type)?;
                    let slot = self.names.variable(column, false)?;
                    block.variables.push((slot, default.clone()));
                }
                Ok(())
            }
            S::DeclareCondition(name, value) => {
                let condition = self.condition(value)?;
                self.names.condition(name.as_str(), condition)
            }
            S::DeclareCursor(name, query) => {
                if into_of(query).is_some() {
                    return Err(SqlError::new(1323, "Cursor SELECT must not have INTO"));
                }
                let at = self.cursors.len();
                self.names.cursor(name.as_str(), at)?;
                let statement = self.keep(Statement {
                    tree: ast::Statement {
                        kind: StatementKind::Query(query.clone()),
                        ..self.whole.tree.clone()
                    },
                    ..self.whole.clone()
                });
                self.cursors.push(statement);
                // Cursors come before all that may hold blocks with others.
                block.cursors.end = at + 1;
                Ok(())
            }
            S::DeclareHandler {
                action,
                conditions,
                body,
            } => {
                if *action == HandlerAction::Undo {
                    return Err(SqlError::unsupported("UNDO handlers"));
                }
                let mut all = Vec::new();
                for value in conditions {
                    let condition = self.condition(&value)?;
                    let given = block.handlers.iter().flat_map(|h| &h.conditions);
                    if given.chain(&all).any(|c| *c == condition) {
                        return Err(SqlError::new(
                            1413,
                            "Duplicate handler declared in the same block",
                        ));
                    }
                    all.push(condition);
                }
                let body = self.handler_body(body)?;
                block.handlers.push(Handler {
                    exits: *action == HandlerAction::Exit,
                    conditions: all,
                    body,
                });
                Ok(())
            }
            _ => Err(SqlError::new(1105, "no declaration")),
        }
    }

    fn handler_body(&mut self, body: &ast::Statement) -> SqlResult<Step> {
        let mut names = std::mem::take(&mut self.names);
        let made = names.beyond_labels(|inner| {
            std::mem::swap(&mut self.names, inner);
            let made = self.step(body);
            std::mem::swap(&mut self.names, inner);
            made
        });
        self.names = names;
        made
    }

    fn branches(
        &mut self,
        list: &Items<(Expr, Items<ast::Statement>)>,
        operand: Option<&str>,
    ) -> SqlResult<Vec<(Sql, Vec<Step>)>> {
        let mut branches = Vec::with_capacity(list.len());
        for branch in list {
            let (condition, body) = &*branch;
            let condition = match operand {
                None => self.expr(condition)?,
                Some(name) => {
                    let when = self.text_of(condition.span);
                    let text = format!("SELECT `{name}` = ({when})");
                    self.text(&text)?
                }
            };
            branches.push((condition, self.steps(body)?));
        }
        Ok(branches)
    }

    fn otherwise(
        &mut self,
        list: &Option<Items<ast::Statement>>,
        none: Otherwise,
    ) -> SqlResult<Otherwise> {
        Ok(match list {
            Some(list) => Otherwise::Else(self.steps(list)?),
            None => none,
        })
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &Items<(Expr, Items<ast::Statement>)>,
        otherwise: &Option<Items<ast::Statement>>,
    ) -> SqlResult<Step> {
        let value = operand.map(|e| self.expr(e)).transpose()?;
        let outside = self.names.enter();
        let hidden = value.map(|value| {
            let name = format!("case #{}", self.names.slots.len());
            let any = variables::of_type(&name, SqlType::null());
            (value, self.names.hidden(&name, any), name)
        });
        let name = hidden.as_ref().map(|(_, _, name)| &**name);
        let branches = self.branches(branches, name);
        self.names.leave(outside);
        Ok(Step::If {
            branches: branches?,
            otherwise: self.otherwise(otherwise, Otherwise::Error)?,
            operand: hidden.map(|(value, slot, _)| (value, slot)),
        })
    }

    fn looping(
        &mut self,
        label: &Option<Ident>,
        while_: Option<&Expr>,
        body: &Items<ast::Statement>,
        until: Option<&Expr>,
    ) -> SqlResult<Step> {
        let target = self.names.target();
        if let Some(label) = label {
            self.names.label(label.as_str(), target, true)?;
        }
        let while_ = while_.map(|e| self.expr(e)).transpose()?;
        let body = self.steps(body)?;
        let until = until.map(|e| self.expr(e)).transpose()?;
        if label.is_some() {
            self.names.forget_label();
        }
        Ok(Step::Loop {
            target,
            while_,
            body,
            until,
        })
    }

    /// SET: assignments to variables are steps of their own; the others stay statements.
    fn set(
        &mut self,
        s: &ast::Statement,
        set: &SetStatement,
        steps: &mut Vec<Step>,
    ) -> SqlResult<()> {
        let SetStatement::Items(items) = set else {
            return self
                .statement(s)
                .map(|sql| steps.push(Step::Statement(sql)));
        };
        // A scope holds for the items behind it too, and then none of them is a local variable.
        let mut scoped = false;
        for item in items {
            let step = match &*item {
                SetItem::User(name, value) => {
                    Some(Step::AssignUser(name.0.to_lowercase(), self.expr(value)?))
                }
                SetItem::Variable {
                    scope,
                    system: false,
                    base: None,
                    name,
                    value,
                } => {
                    scoped |= scope.is_some();
                    match (scoped, self.names.slot(name.as_str())) {
                        (false, Some(slot)) => Some(self.assign(slot, value)?),
                        _ => None,
                    }
                }
                SetItem::Variable {
                    scope: None,
                    system: false,
                    base: Some(row),
                    name,
                    value,
                } if self.names_row(row.as_str()) => {
                    let slot = self.column_of_new(row.as_str(), name.as_str())?;
                    Some(self.assign(slot, value)?)
                }
                _ => None,
            };
            steps.push(match step {
                Some(step) => step,
                None => {
                    let kind = SetStatement::Items(vec![item.into_owned()].into());
                    let one = ast::Statement {
                        kind: StatementKind::Set(Box::new(kind)),
                        ..s.clone()
                    };
                    Step::Statement(self.statement(&one)?)
                }
            });
        }
        Ok(())
    }

    fn assign(&mut self, slot: usize, value: &SetValue) -> SqlResult<Step> {
        let value = match value {
            SetValue::Expr(e) => self.expr(e)?,
            SetValue::Word(word) => {
                let text = format!(
                    "SELECT {}",
                    millpond_syntax::quote::quote_text(word.as_str())
                );
                self.text(&text)?
            }
            SetValue::Default => return Err(SqlError::syntax("near 'DEFAULT'")),
        };
        Ok(Step::Assign(slot, value))
    }

    /// What an expression is if it can be assigned to.
    pub(super) fn variable(&mut self, e: &Expr) -> Option<Variable> {
        Some(match &e.kind {
            ExprKind::UserVariable(name) => Variable::User(name.to_lowercase()),
            ExprKind::Param(n) => Variable::Param(*n as usize),
            ExprKind::Column(c) => match c.table() {
                None => Variable::Local(self.names.slot(c.name())?),
                Some(row) if self.names_row(row.as_str()) => {
                    Variable::Local(self.column_of_new(row.as_str(), c.name()).ok()?)
                }
                Some(_) => return None,
            },
            _ => return None,
        })
    }

    fn call(&mut self, call: &ast::CallProcedure) -> SqlResult<Step> {
        let mut args = Vec::with_capacity(call.args.len());
        for e in &call.args {
            args.push(Argument {
                value: self.expr(&e)?,
                variable: self.variable(&e),
            });
        }
        let database = call.name.database.as_ref();
        Ok(Step::Call(Call {
            name: (
                database.map(|d| d.as_str().to_string()),
                call.name.name.as_str().to_string(),
            ),
            args,
        }))
    }
}

/// A statement of diagnostics that stands alone (SIGNAL, RESIGNAL, GET DIAGNOSTICS), as a program of that one step.
pub(crate) fn alone(statement: &Statement, mode: SqlMode) -> SqlResult<Program> {
    let def = ProgramDef::anonymous();
    let mut c = Compiler::new(&def, statement, mode)?;
    let step = c.step(&statement.tree)?;
    c.finish(Vec::new(), step)
}
