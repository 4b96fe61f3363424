//! CREATE TABLE, CREATE INDEX, and what drops, renames and empties tables.

use super::Parser;
use super::create::Create;
use crate::ast::{
    AlterHow, CreateIndex, CreateTable, Items, KeyKind, NumberOption, ObjectName, StatementKind,
    TableOption, TableStatement, TextOption,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn table(statement: TableStatement) -> StatementKind {
    StatementKind::Table(Box::new(statement))
}

impl Parser<'_> {
    /// Behind CREATE [TEMPORARY] TABLE.
    pub(crate) fn create_table(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let (or_replace, temporary) = (create.or_replace, create.temporary);
        let like = self.eat(K::LIKE) || self.at_punct(TokenKind::LParen) && self.at_nth(1, K::LIKE);
        if like {
            let like = if self.at_punct(TokenKind::LParen) {
                self.parens(|p| {
                    p.expect(K::LIKE)?;
                    p.object_name()
                })?
            } else {
                self.object_name()?
            };
            return Ok(table(TableStatement::CreateLike {
                or_replace,
                temporary,
                if_not_exists,
                name,
                like,
            }));
        }
        let listed = self.at_punct(TokenKind::LParen) && !self.at_query_in_parens();
        let elements = if listed {
            self.parens(|p| p.comma_list(Self::table_element))?
        } else {
            Items::EMPTY
        };
        let options = self.row_of(Self::next_table_option)?;
        let partition = if self.at(K::PARTITION) {
            Some(Box::new(self.partition_by()?))
        } else {
            None
        };
        let duplicates = self.choice();
        let queried = self.eat(K::AS) || self.at_query();
        if !queried && duplicates.is_some() {
            return Err(self.error_here());
        }
        let query = if queried {
            Some(Box::new(self.query()?))
        } else {
            None
        };
        Ok(table(TableStatement::Create(CreateTable {
            or_replace,
            temporary,
            if_not_exists,
            name,
            elements,
            options,
            partition,
            duplicates,
            query,
        })))
    }

    /// Whether a query begins here.
    pub(crate) fn at_query(&self) -> bool {
        self.at_any(&[K::SELECT, K::WITH, K::VALUES, K::TABLE]) || self.at_punct(TokenKind::LParen)
    }

    /// Whether a query in parentheses begins here rather than a list of columns.
    fn at_query_in_parens(&self) -> bool {
        matches!(
            self.kind_nth(1),
            TokenKind::LParen | TokenKind::Keyword(K::SELECT | K::WITH | K::VALUES | K::TABLE)
        )
    }

    /// An option of a table, if one is next.
    pub(crate) fn table_option(&mut self) -> Result<Option<TableOption>> {
        use TableOption as O;
        if self.eat(K::DEFAULT) && !self.at_any(&[K::COLLATE, K::CHARACTER, K::CHARSET, K::CHAR]) {
            return Err(self.error_here());
        }
        if self.eat(K::COLLATE) {
            return self
                .equals_or_default(Self::collation_name)
                .map(|name| Some(O::Collate(name)));
        }
        if self.eat_character_set() {
            return self
                .equals_or_default(Self::charset_name)
                .map(|name| Some(O::Charset(name)));
        }
        let option = match self.keyword() {
            Some(K::UNION) => {
                self.next();
                self.eat_equals();
                O::Union(self.parens(|p| {
                    let none = p.at_punct(TokenKind::RParen);
                    if none {
                        Ok(Items::EMPTY)
                    } else {
                        p.comma_list(Self::object_name)
                    }
                })?)
            }
            Some(K::ROW_FORMAT) => {
                self.next();
                self.eat_equals();
                O::RowFormat(self.expect_choice()?)
            }
            Some(K::INSERT_METHOD) => {
                self.next();
                self.eat_equals();
                O::InsertMethod(self.expect_choice()?)
            }
            Some(K::SECONDARY_ENGINE) => {
                self.next();
                self.eat_equals();
                let none = self.eat(K::NULL);
                O::SecondaryEngine(if none {
                    None
                } else {
                    Some(self.ident_or_text()?)
                })
            }
            Some(K::TYPE) => {
                self.next();
                O::Engine(self.equals_name()?)
            }
            Some(K::AUTOEXTEND_SIZE) => {
                self.next();
                O::Number(NumberOption::AutoextendSize, Some(self.equals_size()?))
            }
            Some(K::START) if self.eat_words("START TRANSACTION") => O::StartTransaction,
            _ => return self.partition_option(),
        };
        Ok(Some(option))
    }

    /// An option that partitions may have too, if one is next.
    pub(crate) fn partition_option(&mut self) -> Result<Option<TableOption>> {
        use TableOption as O;
        if self.at_all(&[K::STORAGE, K::ENGINE]) {
            self.next();
        }
        let option = match self.keyword() {
            Some(K::ENGINE) => {
                self.next();
                O::Engine(self.equals_name()?)
            }
            Some(K::TABLESPACE) => {
                self.next();
                O::Tablespace(self.equals_name()?)
            }
            Some(K::STORAGE) => {
                self.next();
                O::Storage(self.expect_choice()?)
            }
            _ => return self.valued_option(),
        };
        Ok(Some(option))
    }

    fn valued_option(&mut self) -> Result<Option<TableOption>> {
        if let Some(option) = self.choice::<TextOption>() {
            return Ok(Some(TableOption::Text(option, self.equals_text()?)));
        }
        if self.eat_word("TABLE_CHECKSUM") {
            let value = self.equals_number_or_default()?;
            return Ok(Some(TableOption::Number(NumberOption::Checksum, value)));
        }
        if let Some(option) = self.choice::<NumberOption>() {
            let value = self.equals_number_or_default()?;
            return Ok(Some(TableOption::Number(option, value)));
        }
        if !self.at_ident() || self.kind_nth(1) != TokenKind::Eq {
            return Ok(None);
        }
        let name = self.ident()?;
        let value = self.foreign_value()?;
        Ok(Some(TableOption::Foreign(name, value)))
    }

    /// Behind CREATE [UNIQUE | FULLTEXT | SPATIAL] INDEX.
    pub(crate) fn create_index(&mut self, create: Create, kind: KeyKind) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.ident()?;
        let early = if self.at_any(&[K::USING, K::TYPE]) {
            self.index_option()?
        } else {
            None
        };
        self.expect(K::ON)?;
        let on = self.object_name()?;
        let parts = self.key_parts()?;
        let options = self.index_options(early)?;
        let how = self.alter_hows()?;
        Ok(table(TableStatement::CreateIndex(CreateIndex {
            or_replace: create.or_replace,
            kind,
            if_not_exists,
            name,
            table: on,
            parts,
            options,
            how,
        })))
    }

    fn alter_hows(&mut self) -> Result<Items<AlterHow>> {
        self.row_of(Self::alter_how)
    }

    /// ALGORITHM or LOCK, if one is next.
    pub(crate) fn alter_how(&mut self) -> Result<Option<AlterHow>> {
        Ok(Some(if self.eat(K::ALGORITHM) {
            self.eat_equals();
            AlterHow::Algorithm(self.expect_choice()?)
        } else if self.eat(K::LOCK) {
            self.eat_equals();
            AlterHow::Lock(self.expect_choice()?)
        } else {
            return Ok(None);
        }))
    }

    /// Behind DROP INDEX.
    pub(crate) fn drop_index(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        // The primary key's name is a reserved word.
        let name = if self.at(K::PRIMARY) {
            self.ident_here()
        } else {
            self.ident()?
        };
        self.expect(K::ON)?;
        let on = self.object_name()?;
        let how = self.alter_hows()?;
        Ok(table(TableStatement::DropIndex {
            if_exists,
            name,
            table: on,
            how,
        }))
    }

    /// Behind DROP [TEMPORARY] TABLE.
    pub(crate) fn drop_table(&mut self, temporary: bool) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let names = self.comma_list(Self::object_name)?;
        let behavior = self.choice();
        Ok(table(TableStatement::Drop {
            temporary,
            if_exists,
            names,
            behavior,
        }))
    }

    /// TRUNCATE.
    pub(crate) fn truncate(&mut self) -> Result<StatementKind> {
        self.next();
        self.eat(K::TABLE);
        Ok(table(TableStatement::Truncate(self.object_name()?)))
    }

    /// Behind RENAME TABLE.
    pub(crate) fn rename_table(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let tables = self.comma_list(Self::renamed_table)?;
        Ok(table(TableStatement::Rename { if_exists, tables }))
    }

    /// A table and its new name.
    pub(super) fn renamed_table(&mut self) -> Result<(ObjectName, ObjectName)> {
        let from = self.object_name()?;
        self.expect(K::TO)?;
        Ok((from, self.object_name()?))
    }

    /// An option behind a comma that may be left out.
    pub(super) fn next_table_option(&mut self) -> Result<Option<TableOption>> {
        self.eat_punct(TokenKind::Comma);
        self.table_option()
    }

    /// IMPORT TABLE.
    pub(crate) fn import_table(&mut self) -> Result<StatementKind> {
        self.next();
        self.expect_all(&[K::TABLE, K::FROM])?;
        Ok(table(TableStatement::Import(
            self.comma_list(Self::text_literal)?,
        )))
    }
}
