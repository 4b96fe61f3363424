//! The statements of stored programs.

use super::Parser;
use super::cursor::QUERY;
use crate::ast::{
    CompoundStatement, ConditionValue, DiagnosticsArea, DiagnosticsItems, Expr, GetDiagnostics,
    HandlerAction, Ident, Items, SignalItem, Statement, StatementItem, StatementKind,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

type Parse = for<'t> fn(&mut Parser<'t>) -> Result<CompoundStatement>;

type ParseLabelled = for<'t> fn(&mut Parser<'t>, Option<Ident>) -> Result<CompoundStatement>;

/// The first word of each statement that only a stored program may hold, and what parses it, from that word on.
const STATEMENTS: &[(K, Parse)] = &[
    (K::DECLARE, |p| p.declare()),
    (K::IF, |p| p.if_statement()),
    (K::CASE, |p| p.case_statement()),
    (K::LEAVE, |p| {
        p.after_word(|p| p.ident(), CompoundStatement::Leave)
    }),
    (K::ITERATE, |p| {
        p.after_word(|p| p.ident(), CompoundStatement::Iterate)
    }),
    (K::RETURN, |p| {
        p.after_word(|p| p.expr(), CompoundStatement::Return)
    }),
    (K::OPEN, |p| {
        p.after_word(|p| p.ident(), CompoundStatement::Open)
    }),
    (K::CLOSE, |p| {
        p.after_word(|p| p.ident(), CompoundStatement::Close)
    }),
    (K::FETCH, |p| p.fetch()),
];

/// The first word of each statement that may have a label.
const LABELLED: &[(K, ParseLabelled)] = &[
    (K::BEGIN, |p, label| p.block(label)),
    (K::LOOP, |p, label| p.loop_statement(label)),
    (K::REPEAT, |p, label| p.repeat_statement(label)),
    (K::WHILE, |p, label| p.while_statement(label)),
];

fn compound(statement: CompoundStatement) -> StatementKind {
    StatementKind::Compound(Box::new(statement))
}

impl Parser<'_> {
    /// A statement of a stored program.
    pub(crate) fn body_statement(&mut self) -> Result<Statement> {
        self.nested_by(QUERY, |p| {
            let start = p.start();
            let (params, bytes) = (p.params, p.bytes);
            let kind = match p.compound_statement()? {
                Some(statement) => compound(statement),
                None => p.statement()?.kind,
            };
            p.took(kind.boxed())?;
            Ok(Statement {
                kind,
                span: p.span_from(start),
                params: p.params - params,
                bytes: p.bytes - bytes,
                deprecated: Vec::new(),
            })
        })
    }

    /// A statement that only a stored program may hold, if one is next.
    fn compound_statement(&mut self) -> Result<Option<CompoundStatement>> {
        let label = if self.at_ident() && self.kind_nth(1) == TokenKind::Colon {
            let label = self.ident()?;
            self.next();
            Some(label)
        } else {
            None
        };
        if let Some((_, parse)) = LABELLED.iter().find(|(word, _)| self.at(*word)) {
            self.next();
            return parse(self, label).map(Some);
        }
        if label.is_some() {
            return Err(self.error_here());
        }
        match STATEMENTS.iter().find(|(word, _)| self.at(*word)) {
            Some((_, parse)) => parse(self).map(Some),
            None => Ok(None),
        }
    }

    /// A word, what follows it, and what they are together.
    fn after_word<T>(
        &mut self,
        what: impl FnOnce(&mut Self) -> Result<T>,
        make: impl FnOnce(T) -> CompoundStatement,
    ) -> Result<CompoundStatement> {
        self.next();
        what(self).map(make)
    }

    /// Statements, each with its semicolon, up to a word that ends them.
    fn statements(&mut self, end: &[K]) -> Result<Items<Statement>> {
        self.row_of(|p| {
            let more = !p.at_any(end);
            more.then(|| p.closed_statement()).transpose()
        })
    }

    /// A statement with its semicolon.
    pub(super) fn closed_statement(&mut self) -> Result<Statement> {
        let statement = self.body_statement()?;
        self.expect_punct(TokenKind::Semicolon)?;
        Ok(statement)
    }

    /// The same, of which there must be one.
    fn some_statements(&mut self, end: &[K]) -> Result<Items<Statement>> {
        if self.at_any(end) {
            return Err(self.error_here());
        }
        self.statements(end)
    }

    /// The label behind END, which must be the one before.
    fn end_label(&mut self, label: &Option<Ident>) -> Result<()> {
        if !self.at_ident() {
            return Ok(());
        }
        let same = |end: &Ident| {
            label
                .as_ref()
                .is_some_and(|l| l.as_str().eq_ignore_ascii_case(end.as_str()))
        };
        let start = self.start();
        let end = self.ident()?;
        if same(&end) {
            Ok(())
        } else {
            Err(self.error_at(start))
        }
    }

    fn block(&mut self, label: Option<Ident>) -> Result<CompoundStatement> {
        let body = self.statements(&[K::END])?;
        self.expect(K::END)?;
        self.end_label(&label)?;
        Ok(CompoundStatement::Block { label, body })
    }

    fn loop_statement(&mut self, label: Option<Ident>) -> Result<CompoundStatement> {
        let body = self.some_statements(&[K::END])?;
        self.expect_all(&[K::END, K::LOOP])?;
        self.end_label(&label)?;
        Ok(CompoundStatement::Loop { label, body })
    }

    fn repeat_statement(&mut self, label: Option<Ident>) -> Result<CompoundStatement> {
        let body = self.some_statements(&[K::UNTIL])?;
        self.expect(K::UNTIL)?;
        let until = self.expr()?;
        self.expect_all(&[K::END, K::REPEAT])?;
        self.end_label(&label)?;
        Ok(CompoundStatement::Repeat { label, body, until })
    }

    fn while_statement(&mut self, label: Option<Ident>) -> Result<CompoundStatement> {
        let condition = self.expr()?;
        self.expect(K::DO)?;
        let body = self.some_statements(&[K::END])?;
        self.expect_all(&[K::END, K::WHILE])?;
        self.end_label(&label)?;
        Ok(CompoundStatement::While {
            label,
            condition,
            body,
        })
    }

    fn if_statement(&mut self) -> Result<CompoundStatement> {
        let branches = self.row_of(|p| {
            let more = p.at_any(&[K::IF, K::ELSEIF]);
            more.then(|| p.branch(|p| p.some_statements(&[K::ELSEIF, K::ELSE, K::END])))
                .transpose()
        })?;
        let otherwise = if self.eat(K::ELSE) {
            Some(self.some_statements(&[K::END])?)
        } else {
            None
        };
        self.expect_all(&[K::END, K::IF])?;
        Ok(CompoundStatement::If {
            branches,
            otherwise,
        })
    }

    /// A branch of IF or CASE from its word on, with the statements that `body` reads.
    fn branch(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<Items<Statement>>,
    ) -> Result<(Expr, Items<Statement>)> {
        self.next();
        let condition = self.expr()?;
        self.expect(K::THEN)?;
        Ok((condition, body(self)?))
    }

    /// A branch whose statements go on up to another one or the end of the text.
    pub(super) fn last_branch(&mut self) -> Result<(Expr, Items<Statement>)> {
        self.branch(|p| {
            p.row_of(|p| {
                let end = p.at_any(&[K::ELSEIF, K::WHEN])
                    || matches!(p.kind(), TokenKind::End | TokenKind::Bad);
                (!end).then(|| p.closed_statement()).transpose()
            })
        })
    }

    fn case_statement(&mut self) -> Result<CompoundStatement> {
        self.next();
        let operand = if self.at(K::WHEN) {
            None
        } else {
            Some(self.expr()?)
        };
        let branches = self.row_of(|p| {
            let more = p.at(K::WHEN);
            more.then(|| p.branch(|p| p.some_statements(&[K::WHEN, K::ELSE, K::END])))
                .transpose()
        })?;
        if branches.is_empty() {
            return Err(self.error_here());
        }
        let otherwise = if self.eat(K::ELSE) {
            Some(self.some_statements(&[K::END])?)
        } else {
            None
        };
        self.expect_all(&[K::END, K::CASE])?;
        Ok(CompoundStatement::Case {
            operand,
            branches,
            otherwise,
        })
    }

    fn fetch(&mut self) -> Result<CompoundStatement> {
        self.next();
        if !self.eat_words("NEXT FROM") {
            self.eat(K::FROM);
        }
        let cursor = self.ident()?;
        self.expect(K::INTO)?;
        Ok(CompoundStatement::Fetch(
            cursor,
            self.comma_list(Self::ident)?,
        ))
    }

    fn declare(&mut self) -> Result<CompoundStatement> {
        use CompoundStatement as S;
        self.next();
        if self.at_nth(1, K::HANDLER) {
            let action: HandlerAction = self.expect_choice()?;
            self.expect_all(&[K::HANDLER, K::FOR])?;
            let conditions = self.comma_list(Self::condition_value)?;
            let body = Box::new(self.body_statement()?);
            return Ok(S::DeclareHandler {
                action,
                conditions,
                body,
            });
        }
        let mut names = self.comma_list(Self::ident)?;
        if names.len() == 1 && self.at_any(&[K::CONDITION, K::CURSOR]) {
            let name = names.head.swap_remove(0);
            let condition = self.eat(K::CONDITION);
            if !condition {
                self.next();
            }
            self.expect(K::FOR)?;
            if condition {
                return Ok(S::DeclareCondition(name, self.condition_value()?));
            }
            return Ok(S::DeclareCursor(name, Box::new(self.query()?)));
        }
        let data_type = self.type_and_collation()?;
        let default = if self.eat(K::DEFAULT) || self.eat_punct(TokenKind::Assign) {
            Some(self.expr()?)
        } else {
            None
        };
        Ok(S::DeclareVariables {
            names,
            data_type,
            default,
        })
    }

    pub(super) fn condition_value(&mut self) -> Result<ConditionValue> {
        use ConditionValue as C;
        Ok(if self.at_punct(TokenKind::Int) {
            C::Number(self.uint()?)
        } else if self.eat(K::SQLSTATE) {
            self.eat(K::VALUE);
            C::SqlState(self.text_literal()?)
        } else if self.eat(K::SQLWARNING) {
            C::SqlWarning
        } else if self.eat(K::SQLEXCEPTION) {
            C::SqlException
        } else if self.eat_all(&[K::NOT, K::FOUND]) {
            C::NotFound
        } else {
            C::Name(self.ident()?)
        })
    }

    /// SIGNAL.
    pub(crate) fn signal(&mut self) -> Result<StatementKind> {
        self.next();
        let condition = self.condition_value()?;
        Ok(compound(CompoundStatement::Signal(
            condition,
            self.signal_items()?,
        )))
    }

    /// RESIGNAL.
    pub(crate) fn resignal(&mut self) -> Result<StatementKind> {
        self.next();
        let given = self.at(K::SQLSTATE) || self.at_ident();
        let condition = if given {
            Some(self.condition_value()?)
        } else {
            None
        };
        Ok(compound(CompoundStatement::Resignal(
            condition,
            self.signal_items()?,
        )))
    }

    fn signal_items(&mut self) -> Result<Items<(SignalItem, Expr)>> {
        if !self.eat(K::SET) {
            return Ok(Items::EMPTY);
        }
        self.comma_list(Self::signal_item)
    }

    pub(super) fn signal_item(&mut self) -> Result<(SignalItem, Expr)> {
        let item = self.expect_choice()?;
        self.expect_punct(TokenKind::Eq)?;
        Ok((item, self.expr()?))
    }

    /// GET DIAGNOSTICS.
    pub(crate) fn get_diagnostics(&mut self) -> Result<StatementKind> {
        self.next();
        let area: Option<DiagnosticsArea> = self.choice();
        self.expect(K::DIAGNOSTICS)?;
        let items = if self.eat(K::CONDITION) {
            // The number is not an expression, nor a placeholder.
            if matches!(self.kind(), TokenKind::Param | TokenKind::LParen) {
                return Err(self.error_here());
            }
            let number = self.operand_expr()?;
            DiagnosticsItems::Condition(
                number,
                self.comma_list(Self::diagnostics_item::<SignalItem>)?,
            )
        } else {
            DiagnosticsItems::Statement(self.comma_list(Self::diagnostics_item::<StatementItem>)?)
        };
        let get = GetDiagnostics { area, items };
        Ok(compound(CompoundStatement::GetDiagnostics(get)))
    }

    pub(super) fn diagnostics_item<T: crate::ast::words::Words>(&mut self) -> Result<(Expr, T)> {
        let target = self.operand_expr()?;
        self.expect_punct(TokenKind::Eq)?;
        Ok((target, self.expect_choice()?))
    }

    /// A literal or a variable.
    pub(crate) fn operand_expr(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = self.operand()?;
        Ok(Expr::new(kind, self.span_from(start)))
    }
}
