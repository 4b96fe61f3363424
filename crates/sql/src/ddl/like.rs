//! CREATE DATABASE ... LIKE: a database made as another one is, with its rows or without ([`millpond_store::engine::CopyDatabase`]).
//!
//! All of the model comes along: tables, views, triggers, routines and events, under their names. What names the model's tables by its own database's name
//! names the copy's in the copy, where that is certain: in foreign keys, which keep it apart, and in views, whose queries have all names in full. The
//! texts of programs are kept as they are: names without a database are the copy's, as they are those of whatever database a program is in. A
//! text that says the model's name before a point might mean a table of it or something else of that name, so it is refused (error 1235), and so is a view in
//! which that cannot be told apart.
//!
//! Whoever runs it is asked about each part while it is locked ([`Ddl::create_database_like`]).

use std::cell::Cell;

use millpond_store::engine::{CopiedParts, CopiedTable, CopyDatabase};
use millpond_store::{Error, Object, TableDef};
use millpond_syntax::Keyword;
use millpond_syntax::lexer::{LexMode, Lexer, Token, TokenKind};
use millpond_syntax::quote::quote_name;
use millpond_syntax::text::unquote;

use super::create::unix_now;
use super::{Ddl, Done, names, not_system};
use crate::catalog::programs::{ProgramDef, ProgramKind};
use crate::catalog::{ForeignKey, Schema, Skimmed, Versions, View};
use crate::computed::{references, references_of};
use crate::env::is_system_schema;
use crate::env::sql_mode::flags;
use crate::error::{SqlError, SqlResult};
use crate::parse::lex_mode;
use crate::store_error::store_error;

/// A part of the model, as whoever copies it is asked about it.
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// A table.
    Table(&'p str),
    /// A view: its name and definition.
    View(&'p str, &'p View),
    /// A routine, a trigger or an event.
    Program(&'p ProgramDef),
    /// A table of another database that a foreign key refers to.
    Parent(&'p (String, String)),
}

/// A copy to be made.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseLike<'n> {
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The database to be made.
    pub name: &'n str,
    /// The one that is there.
    pub like: &'n str,
    /// WITH DATA.
    pub data: bool,
}

/// What is asked about each part.
pub type Permit<'p> = dyn Fn(Part<'_>) -> SqlResult<()> + 'p;

impl Ddl<'_> {
    /// Makes a database like another. `permit`: the error that whoever runs this may not copy a part.
    pub fn create_database_like(
        &self,
        what: DatabaseLike<'_>,
        permit: &Permit<'_>,
    ) -> SqlResult<Done> {
        let DatabaseLike { name, like, .. } = what;
        names::database(name)?;
        not_system(name, self.env)?;
        names::not_too_long(like)?;
        crate::parse::refuse_empty(like, None)?;
        if is_system_schema(like) {
            not_system(like, self.env)?;
        }
        if self.tables_locked {
            return Err(SqlError::new(
                1192,
                "Can't execute the given command because you have active locked tables or an active transaction",
            ));
        }
        match self.engine.database(like) {
            Err(e) => return Err(store_error(e, like)),
            Ok(_) if self.engine.database(name).is_ok() => return self.database_exists(what),
            Ok(_) => {}
        }
        let copy = CopyDatabase {
            from: like,
            to: name,
            rows: what.data,
        };
        let mut failed = None;
        let made = self.with_related(&[], || {
            let mut parts = Parts {
                ddl: self,
                what,
                permit,
                failed: &mut failed,
                awaited: Cell::new(None),
            };
            self.engine.copy_database(self.owner, copy, &mut parts)
        })?;
        match made {
            Ok(_) => Ok(Done {
                affected: 1,
                ..Done::default()
            }),
            Err(_) if failed.is_some() => Err(failed.unwrap_or_else(|| SqlError::unsupported(""))),
            Err(Error::DatabaseExists(_)) => self.database_exists(what),
            Err(e) => Err(store_error(e, like)),
        }
    }

    fn database_exists(&self, what: DatabaseLike<'_>) -> SqlResult<Done> {
        let name = what.name;
        if !what.if_not_exists {
            return Err(store_error(Error::DatabaseExists(name.into()), name));
        }
        self.env.note(
            1007,
            format!("Can't create database '{name}'; database exists"),
        );
        Ok(Done {
            affected: 1,
            ..Done::default()
        })
    }
}

/// What becomes of the parts of the model.
struct Parts<'d, 'a> {
    ddl: &'d Ddl<'a>,
    what: DatabaseLike<'d>,
    permit: &'d Permit<'d>,
    failed: &'d mut Option<SqlError>,
    /// Whether tables refer to the copy already, once that was asked.
    awaited: Cell<Option<bool>>,
}

impl CopiedParts for Parts<'_, '_> {
    fn table(&mut self, def: &TableDef) -> millpond_store::Result<CopiedTable> {
        let skimmed = match self.what.data {
            true => Skimmed::of(&def.body).map_err(|e| self.fail(e))?,
            // Schema versions are left behind.
            false => None,
        };
        if let Some(skimmed) = skimmed {
            return self.plain_table(def, &skimmed).map_err(|e| self.fail(e));
        }
        let schema = self.schema(def).map_err(|e| self.fail(e))?;
        Ok(CopiedTable {
            body: schema.table_body(),
            // Without rows there are none of earlier versions in partitions either.
            partition_body: (!self.what.data && schema.partitioning.is_some())
                .then(|| schema.partition_body()),
            references: references(&schema, &def.name),
        })
    }

    fn object(&mut self, object: &Object) -> millpond_store::Result<Vec<u8>> {
        let body = self.program_body(object);
        body.map_err(|e| self.fail(e))
    }
}

impl Parts<'_, '_> {
    fn fail(&mut self, e: SqlError) -> Error {
        *self.failed = Some(e);
        Error::Interrupted
    }

    /// The copy of a table about which nothing has to be bound, with its rows.
    fn plain_table(&self, def: &TableDef, skimmed: &Skimmed<'_>) -> SqlResult<CopiedTable> {
        (self.permit)(Part::Table(&def.name))?;
        let mut keys = skimmed.foreign_keys()?;
        self.refer_to_copy(&mut keys)?;
        if self.is_awaited()? {
            self.check_orphans(def, &Schema::of(def)?)?;
        }
        Ok(CopiedTable {
            body: skimmed.with(unix_now(), &keys),
            partition_body: None,
            references: references_of(&keys, &[], &def.name),
        })
    }

    /// Has foreign keys to tables of the model refer to those of the copy.
    fn refer_to_copy(&self, keys: &mut [ForeignKey]) -> SqlResult<()> {
        for key in keys {
            match key.parent.0 == self.what.like {
                true => key.parent.0 = self.what.name.to_string(),
                false => (self.permit)(Part::Parent(&key.parent))?,
            }
        }
        Ok(())
    }

    /// Whether tables of other databases refer to the copy's name already.
    fn is_awaited(&self) -> SqlResult<bool> {
        if let Some(known) = self.awaited.get() {
            return Ok(known);
        }
        let name = self.what.name;
        let found = self.ddl.engine.has_children_in(name);
        let found = found.map_err(|e| store_error(e, name))?;
        self.awaited.set(Some(found));
        Ok(found)
    }

    /// The copy of a table or view.
    fn schema(&self, def: &TableDef) -> SqlResult<Schema> {
        let mut schema = Schema::of(def)?;
        if let Some(view) = &schema.view {
            (self.permit)(Part::View(&def.name, view))?;
            let view = self.view(&def.name, view)?;
            schema.view = Some(std::sync::Arc::new(view));
            schema.created = unix_now();
            return Ok(schema);
        }
        (self.permit)(Part::Table(&def.name))?;
        schema.created = unix_now();
        self.refer_to_copy(&mut schema.foreign_keys)?;
        if self.is_awaited()? {
            self.check_orphans(def, &schema)?;
        }
        if !self.what.data {
            schema = schema.with_versions(Versions::default());
        }
        Ok(schema)
    }

    /// Tables of other databases that refer to the copy's name already must fit it.
    fn check_orphans(&self, def: &TableDef, schema: &Schema) -> SqlResult<()> {
        let own = (self.what.name, &*def.name);
        let children = self.ddl.children(own.0, own.1)?;
        match children.is_empty() {
            true => Ok(()),
            false => self.ddl.check_as_parent(own, schema, &children),
        }
    }

    /// A view whose query names the copy's tables.
    fn view(&self, table: &str, view: &View) -> SqlResult<View> {
        let mut new = view.clone();
        let named = |(database, _): &(String, String)| database == self.what.like;
        // Stored functions are named, too, and are no tables.
        let renamed = renamed(&view.query, self.what.like, self.what.name);
        new.query = renamed.ok_or_else(|| {
            let (like, name) = (self.what.like, self.what.name);
            SqlError::unsupported(format_args!(
                "CREATE DATABASE {name} LIKE {like}: VIEW {like}.{table}, in which '{like}' names something else besides"
            ))
        })?;
        for known in new.tables.iter_mut().filter(|t| named(t)) {
            known.0 = self.what.name.to_string();
        }
        Ok(new)
    }

    fn program_body(&self, object: &Object) -> SqlResult<Vec<u8>> {
        let mut def = ProgramDef::of(object)?;
        (self.permit)(Part::Program(&def))?;
        let DatabaseLike { name, like, .. } = self.what;
        let texts = [&def.parameters, &def.returns, &def.body];
        let mode = lex_mode(flags(def.mode));
        if texts
            .iter()
            .any(|text| names_database(text, mode, like, &def))
        {
            return Err(SqlError::unsupported(format_args!(
                "CREATE DATABASE {name} LIKE {like}: {} {}, whose text names '{like}'",
                def.kind.word(),
                def.full_name()
            )));
        }
        let now = unix_now();
        (def.created, def.modified) = (now, now);
        def.database = name.to_string();
        Ok(def.encode())
    }
}

/// The tokens of a text.
fn tokens(text: &str, mode: LexMode) -> Vec<Token> {
    let mut lexer = Lexer::new(text, mode);
    let next = || Some(lexer.next_token()).filter(|t| t.kind != TokenKind::End);
    std::iter::from_fn(next).collect()
}

/// Whether a token is this name.
fn is_name(token: &Token, text: &str, name: &str) -> bool {
    let text = token.span().of(text);
    match token.kind {
        TokenKind::Ident | TokenKind::Keyword(_) => text.eq_ignore_ascii_case(name),
        TokenKind::QuotedIdent => unquote(text, false).eq_ignore_ascii_case(name),
        _ => false,
    }
}

/// Whether a program's text has the name before a point, where names of databases stand.
fn names_database(text: &str, mode: LexMode, name: &str, def: &ProgramDef) -> bool {
    // In triggers those are the row.
    let is_row = |n: &str| n.eq_ignore_ascii_case("new") || n.eq_ignore_ascii_case("old");
    if def.kind == ProgramKind::Trigger && is_row(name) {
        return false;
    }
    let tokens = tokens(text, mode);
    tokens
        .windows(2)
        .any(|pair| pair[1].kind == TokenKind::Dot && is_name(&pair[0], text, name))
}

/// The query of a view with the name of a database replaced by another; `None`: something else of it may have that name, too. In such a text, which has
/// all names in full, what stands before a point and not behind one is a database, or something that is named elsewhere without a point behind.
fn renamed(query: &str, from: &str, to: &str) -> Option<String> {
    let tokens = tokens(query, LexMode::default());
    let mut out = String::with_capacity(query.len() + 16);
    let mut copied = 0;
    for (n, token) in tokens.iter().enumerate() {
        // Words of the language are without quotes, and names of items stand behind AS.
        let before = n.checked_sub(1).map(|n| tokens[n].kind);
        let item = before == Some(TokenKind::Keyword(Keyword::AS));
        if token.kind != TokenKind::QuotedIdent || !is_name(token, query, from) || item {
            continue;
        }
        if before == Some(TokenKind::Dot) {
            continue;
        }
        if tokens.get(n + 1).is_none_or(|t| t.kind != TokenKind::Dot) {
            return None;
        }
        out.push_str(&query[copied..token.start as usize]);
        out.push_str(&quote_name(to));
        copied = token.end as usize;
    }
    out.push_str(&query[copied..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_databases_in_views() {
        let plain =
            "select `y`.`t`.`y` AS `y1`,`y`.`f`(`y`.`t`.`a`) AS `b`,'y.t' AS `c` from `y`.`t`";
        assert_eq!(
            renamed(plain, "y", "a`b").unwrap(),
            "select `a``b`.`t`.`y` AS `y1`,`a``b`.`f`(`a``b`.`t`.`a`) AS `b`,'y.t' AS `c` from `a``b`.`t`"
        );
        let own = "select `y`.`y`.`a` AS `a` from (`y`.`y` join `z`.`y`)";
        assert_eq!(
            renamed(own, "y", "x").unwrap(),
            "select `x`.`y`.`a` AS `a` from (`x`.`y` join `z`.`y`)"
        );
        // An alias of that name.
        assert_eq!(
            renamed("select `y`.`a` AS `a` from `y`.`t` `y`", "y", "x"),
            None
        );
        assert_eq!(
            renamed("select `Y`.`a` AS `a` from `y`.`t` `Y`", "y", "x"),
            None
        );
        let item = "select 1 AS `y` from `y`.`t`";
        let expected = "select 1 AS `y` from `x`.`t`";
        assert_eq!(renamed(item, "y", "x").unwrap(), expected);
        let ordered = "select 1 AS `y` from `z`.`t` order by `y`";
        assert_eq!(renamed(ordered, "y", "x"), None);
    }

    #[test]
    fn names_of_databases_in_programs() {
        let def = ProgramDef::anonymous();
        let names = |text| names_database(text, LexMode::default(), "y", &def);
        assert!(names("INSERT INTO y.t VALUES (1)"));
        assert!(names("SELECT `Y` . a FROM t"));
        assert!(!names("SELECT y FROM t WHERE a = 'y.t'"));
        assert!(!names("SELECT t.y FROM t"));
    }
}
