//! Prepared statements, HANDLER, LOAD DATA, USE and HELP.

use super::Parser;
use crate::ast::{
    HandlerCompare, HandlerRead, Items, Load, LoadPriority, PrepareSource, SessionStatement,
    StatementKind, UserVariable,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn session(statement: SessionStatement) -> StatementKind {
    StatementKind::Session(Box::new(statement))
}

impl Parser<'_> {
    /// USE.
    pub(crate) fn use_database(&mut self) -> Result<StatementKind> {
        self.next();
        Ok(session(SessionStatement::Use(self.ident()?)))
    }

    /// HELP.
    pub(crate) fn help(&mut self) -> Result<StatementKind> {
        self.next();
        Ok(session(SessionStatement::Help(
            self.ident_or_text()?.text.to_string(),
        )))
    }

    /// PREPARE.
    pub(crate) fn prepare(&mut self) -> Result<StatementKind> {
        self.next();
        let name = self.ident()?;
        self.expect(K::FROM)?;
        let source = if self.at_punct(TokenKind::UserVariable) {
            PrepareSource::Variable(UserVariable(self.user_variable()?))
        } else {
            PrepareSource::Text(self.text_literal()?)
        };
        Ok(session(SessionStatement::Prepare { name, source }))
    }

    pub(super) fn used_variable(&mut self) -> Result<UserVariable> {
        self.user_variable().map(UserVariable)
    }

    /// EXECUTE.
    pub(crate) fn execute(&mut self) -> Result<StatementKind> {
        self.next();
        let name = self.ident()?;
        let using = if self.eat(K::USING) {
            self.comma_list(Self::used_variable)?
        } else {
            Items::EMPTY
        };
        Ok(session(SessionStatement::Execute { name, using }))
    }

    /// DEALLOCATE PREPARE, and behind DROP PREPARE.
    pub(crate) fn deallocate(&mut self) -> Result<StatementKind> {
        if self.eat(K::DEALLOCATE) {
            self.expect(K::PREPARE)?;
        }
        Ok(session(SessionStatement::Deallocate(self.ident()?)))
    }

    /// HANDLER.
    pub(crate) fn handler(&mut self) -> Result<StatementKind> {
        self.next();
        let table = self.object_name()?;
        if self.eat(K::CLOSE) {
            return Ok(session(SessionStatement::HandlerClose(table)));
        }
        if self.eat(K::OPEN) {
            let aliased = self.eat(K::AS) || self.at_ident();
            let alias = if aliased { Some(self.ident()?) } else { None };
            return Ok(session(SessionStatement::HandlerOpen { table, alias }));
        }
        self.expect(K::READ)?;
        let (index, read) = match self.choice() {
            Some(step) => (None, HandlerRead::Step(step)),
            None => {
                let index = if self.at(K::PRIMARY) {
                    self.ident_here()
                } else {
                    self.ident()?
                };
                (Some(index), self.handler_read()?)
            }
        };
        let filter = if self.eat(K::WHERE) {
            Some(self.expr()?)
        } else {
            None
        };
        let limit = self.limit()?;
        Ok(session(SessionStatement::HandlerRead {
            table,
            index,
            read,
            filter,
            limit,
        }))
    }

    fn handler_read(&mut self) -> Result<HandlerRead> {
        if let Some(step) = self.choice() {
            return Ok(HandlerRead::Step(step));
        }
        let compare = match self.kind() {
            TokenKind::Eq => HandlerCompare::Equal,
            TokenKind::Ge => HandlerCompare::GreaterOrEqual,
            TokenKind::Le => HandlerCompare::LessOrEqual,
            TokenKind::Gt => HandlerCompare::Greater,
            TokenKind::Lt => HandlerCompare::Less,
            _ => return Err(self.error_here()),
        };
        self.next();
        let key = self.parens(|p| p.comma_list(Self::expr_or_default))?;
        Ok(HandlerRead::Key(compare, key))
    }

    /// LOAD.
    pub(crate) fn load(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat_words("INDEX INTO CACHE") {
            return self.load_index();
        }
        let xml = self.eat(K::XML);
        if !xml {
            self.expect(K::DATA)?;
        }
        let priority = self.choice::<LoadPriority>();
        let local = self.eat(K::LOCAL);
        self.expect(K::INFILE)?;
        let file = self.text_literal()?;
        let duplicates = self.choice();
        self.expect_all(&[K::INTO, K::TABLE])?;
        let table = self.object_name()?;
        let partitions = if self.eat(K::PARTITION) {
            self.ident_list()?
        } else {
            Items::EMPTY
        };
        let charset = if self.eat_character_set() {
            Some(self.charset_name()?)
        } else {
            None
        };
        let rows_identified = if xml && self.eat_words("ROWS IDENTIFIED BY") {
            Some(self.text_literal()?)
        } else {
            None
        };
        let format = self.file_format()?;
        let ignore = self.ignored_lines()?;
        let columns = if self.at_punct(TokenKind::LParen) {
            self.parens(|p| {
                let none = p.at_punct(TokenKind::RParen);
                if none {
                    Ok(Items::EMPTY)
                } else {
                    p.comma_list(Self::select_target)
                }
            })?
        } else {
            Items::EMPTY
        };
        let set = if self.eat(K::SET) {
            self.assignments()?
        } else {
            Items::EMPTY
        };
        Ok(session(SessionStatement::Load(Load {
            xml,
            priority,
            local,
            file,
            duplicates,
            table,
            partitions,
            charset,
            rows_identified,
            format,
            ignore,
            columns,
            set,
        })))
    }

    fn ignored_lines(&mut self) -> Result<Option<u64>> {
        if !self.eat(K::IGNORE) {
            return Ok(None);
        }
        let n = self.uint()?;
        match self.eat_any(&[K::LINES, K::ROWS]) {
            Some(_) => Ok(Some(n)),
            None => Err(self.error_here()),
        }
    }
}
