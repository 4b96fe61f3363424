//! Databases, views, tablespaces, servers and spatial reference systems.

use super::Parser;
use super::create::Create;
use crate::ast::{
    CheckOption, DatabaseOption, Items, SchemaStatement, ServerOption, ServerText, SrsAttribute,
    SrsText, StatementKind, TablespaceFile, TablespaceKind, TablespaceNumber, TablespaceOption,
    TablespaceStatement, TablespaceVerb, View,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn schema(statement: SchemaStatement) -> StatementKind {
    StatementKind::Schema(Box::new(statement))
}

impl Parser<'_> {
    /// Behind CREATE DATABASE.
    pub(crate) fn create_database(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.ident()?;
        if self.eat(K::LIKE) {
            return Ok(schema(SchemaStatement::CreateDatabaseLike {
                or_replace: create.or_replace,
                if_not_exists,
                name,
                like: self.ident()?,
                data: self.eat_words("WITH DATA"),
            }));
        }
        let options = self.database_options()?;
        let or_replace = create.or_replace;
        Ok(schema(SchemaStatement::CreateDatabase {
            or_replace,
            if_not_exists,
            name,
            options,
        }))
    }

    /// Behind ALTER DATABASE.
    pub(crate) fn alter_database(&mut self) -> Result<StatementKind> {
        // Words that may be names, too, begin options here.
        let options_first = self.at_any(&[K::CHARSET, K::ENCRYPTION, K::COMMENT]);
        let named = self.at_ident() && !options_first;
        let name = if named { Some(self.ident()?) } else { None };
        let options = self.database_options()?;
        if options.is_empty() {
            return Err(self.error_here());
        }
        Ok(schema(SchemaStatement::AlterDatabase { name, options }))
    }

    fn database_options(&mut self) -> Result<Items<DatabaseOption>> {
        self.row_of(Self::database_option)
    }

    pub(super) fn database_option(&mut self) -> Result<Option<DatabaseOption>> {
        use DatabaseOption as O;
        let default = self.eat(K::DEFAULT);
        Ok(Some(if self.eat_character_set() {
            O::Charset(self.equals_or_default(Self::charset_name)?)
        } else if self.eat(K::COLLATE) {
            O::Collate(self.equals_or_default(Self::collation_name)?)
        } else if self.eat(K::ENCRYPTION) {
            O::Encryption(self.equals_text()?)
        } else if default {
            return Err(self.error_here());
        } else if self.eat_words("READ ONLY") {
            O::ReadOnly(self.equals_number_or_default()?)
        } else if self.eat(K::COMMENT) {
            O::Comment(self.equals_text()?)
        } else {
            return Ok(None);
        }))
    }

    /// Behind DROP DATABASE.
    pub(crate) fn drop_database(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        Ok(schema(SchemaStatement::DropDatabase {
            if_exists,
            name: self.ident()?,
        }))
    }

    /// Behind CREATE or ALTER ... VIEW.
    pub(crate) fn view(&mut self, create: Create, alter: bool) -> Result<StatementKind> {
        let if_not_exists = !alter && self.if_not_exists();
        let name = self.object_name()?;
        let columns = self.optional_ident_list()?;
        self.expect(K::AS)?;
        let query = Box::new(self.query()?);
        let check = if self.eat(K::WITH) {
            let kind = self.choice().unwrap_or(CheckOption::Cascaded);
            self.expect_words("CHECK OPTION")?;
            Some(kind)
        } else {
            None
        };
        Ok(schema(SchemaStatement::View(View {
            alter,
            or_replace: create.or_replace,
            if_not_exists,
            algorithm: create.algorithm,
            definer: create.definer,
            security: create.security,
            name,
            columns,
            query,
            check,
        })))
    }

    /// Behind DROP VIEW.
    pub(crate) fn drop_view(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let names = self.comma_list(Self::object_name)?;
        let behavior = self.choice();
        Ok(schema(SchemaStatement::DropView {
            if_exists,
            names,
            behavior,
        }))
    }

    /// Behind CREATE, ALTER or DROP [UNDO] TABLESPACE or LOGFILE GROUP.
    pub(crate) fn tablespace(
        &mut self,
        verb: TablespaceVerb,
        kind: TablespaceKind,
    ) -> Result<StatementKind> {
        let name = self.ident()?;
        let options = self.row_of(|p| {
            p.eat_punct(TokenKind::Comma);
            p.tablespace_option()
        })?;
        let statement = TablespaceStatement {
            verb,
            kind,
            name,
            options,
        };
        Ok(schema(SchemaStatement::Tablespace(statement)))
    }

    pub(super) fn tablespace_option(&mut self) -> Result<Option<TablespaceOption>> {
        use TablespaceOption as O;
        if let Some(number) = self.choice::<TablespaceNumber>() {
            return Ok(Some(O::Number(number, self.equals_size()?)));
        }
        if let Some(file) = self.choice::<TablespaceFile>() {
            return Ok(Some(O::File(file, self.text_literal()?)));
        }
        if let Some(active) = self.yes_or_no("SET ACTIVE", "SET INACTIVE") {
            return Ok(Some(O::SetActive(active)));
        }
        if let Some(wait) = self.yes_or_no("WAIT", "NO_WAIT") {
            return Ok(Some(O::Wait(wait)));
        }
        if self.at_all(&[K::STORAGE, K::ENGINE]) {
            self.next();
        }
        Ok(Some(if self.eat_words("USE LOGFILE GROUP") {
            O::UseLogfileGroup(self.ident()?)
        } else if self.eat_words("RENAME TO") {
            O::RenameTo(self.ident()?)
        } else if self.eat(K::COMMENT) {
            O::Comment(self.equals_text()?)
        } else if self.eat(K::ENGINE) {
            O::Engine(self.equals_name()?)
        } else if self.eat(K::ENCRYPTION) {
            O::Encryption(self.equals_text()?)
        } else if self.eat(K::ENGINE_ATTRIBUTE) {
            O::EngineAttribute(self.equals_text()?)
        } else {
            return Ok(None);
        }))
    }

    /// Behind CREATE SERVER.
    pub(crate) fn create_server(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.ident_or_text()?;
        self.expect_words("FOREIGN DATA WRAPPER")?;
        let wrapper = self.ident_or_text()?;
        let options = self.server_options()?;
        let or_replace = create.or_replace;
        Ok(schema(SchemaStatement::CreateServer {
            or_replace,
            if_not_exists,
            name,
            wrapper,
            options,
        }))
    }

    /// Behind ALTER SERVER.
    pub(crate) fn alter_server(&mut self) -> Result<StatementKind> {
        let name = self.ident_or_text()?;
        Ok(schema(SchemaStatement::AlterServer(
            name,
            self.server_options()?,
        )))
    }

    fn server_options(&mut self) -> Result<Items<ServerOption>> {
        self.expect_words("OPTIONS")?;
        self.parens(|p| p.comma_list(Self::server_option))
    }

    pub(super) fn server_option(&mut self) -> Result<ServerOption> {
        if self.eat(K::PORT) {
            return self.uint().map(ServerOption::Port);
        }
        let option: ServerText = self.expect_choice()?;
        Ok(ServerOption::Text(option, self.text_literal()?))
    }

    /// Behind DROP SERVER.
    pub(crate) fn drop_server(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        Ok(schema(SchemaStatement::DropServer {
            if_exists,
            name: self.ident_or_text()?,
        }))
    }

    pub(super) fn srs_attribute(&mut self) -> Result<Option<SrsAttribute>> {
        if let Some(kind) = self.choice::<SrsText>() {
            return Ok(Some(SrsAttribute::Text(kind, self.text_literal()?)));
        }
        if !self.eat_word("ORGANIZATION") {
            return Ok(None);
        }
        let name = self.text_literal()?;
        self.expect_words("IDENTIFIED BY")?;
        Ok(Some(SrsAttribute::Organization(name, self.uint()?)))
    }

    /// Behind CREATE SPATIAL REFERENCE SYSTEM.
    pub(crate) fn create_spatial_reference_system(
        &mut self,
        create: Create,
    ) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let srid = self.uint()?;
        let attributes = self.row_of(Self::srs_attribute)?;
        Ok(schema(SchemaStatement::CreateSpatialReferenceSystem {
            or_replace: create.or_replace,
            if_not_exists,
            srid,
            attributes,
        }))
    }

    /// Behind DROP SPATIAL REFERENCE SYSTEM.
    pub(crate) fn drop_spatial_reference_system(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        Ok(schema(SchemaStatement::DropSpatialReferenceSystem {
            if_exists,
            srid: self.uint()?,
        }))
    }
}
