//! What CREATE, ALTER and DROP begin: one row for each kind of object.

use super::Parser;
use crate::ast::{
    Definer, KeyKind, ProgramKind, Security, StatementKind, TablespaceKind, TablespaceVerb,
    ViewAlgorithm,
};
use crate::error::Result;
use crate::keyword::Keyword as K;

/// What stands between CREATE or ALTER and the kind of object.
#[derive(Default)]
pub(crate) struct Create {
    pub or_replace: bool,
    pub temporary: bool,
    pub aggregate: bool,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<Definer>,
    pub security: Option<Security>,
}

const OR_REPLACE: u8 = 1;
const TEMPORARY: u8 = 2;
const AGGREGATE: u8 = 4;
const VIEW: u8 = 8;
const DEFINER: u8 = 16;

type Row<A> = (
    &'static str,
    u8,
    for<'t> fn(&mut Parser<'t>, A) -> Result<StatementKind>,
);

/// The objects of CREATE: words, what may stand before them, and what parses the rest.
const CREATE: &[Row<Create>] = &[
    ("TABLE", OR_REPLACE | TEMPORARY, |p, c| p.create_table(c)),
    ("INDEX", OR_REPLACE, |p, c| {
        p.create_index(c, KeyKind::Plain)
    }),
    ("UNIQUE INDEX", OR_REPLACE, |p, c| {
        p.create_index(c, KeyKind::Unique)
    }),
    ("UNIQUE", OR_REPLACE, |p, c| {
        p.create_index(c, KeyKind::Unique)
    }),
    ("FULLTEXT INDEX", OR_REPLACE, |p, c| {
        p.create_index(c, KeyKind::Fulltext)
    }),
    ("SPATIAL INDEX", OR_REPLACE, |p, c| {
        p.create_index(c, KeyKind::Spatial)
    }),
    ("VIEW", OR_REPLACE | VIEW | DEFINER, |p, c| p.view(c, false)),
    ("DATABASE", OR_REPLACE, |p, c| p.create_database(c)),
    ("SCHEMA", OR_REPLACE, |p, c| p.create_database(c)),
    ("PROCEDURE", OR_REPLACE | DEFINER, |p, c| {
        p.create_procedure(c)
    }),
    ("FUNCTION", OR_REPLACE | DEFINER | AGGREGATE, |p, c| {
        p.create_function(c)
    }),
    ("TRIGGER", OR_REPLACE | DEFINER, |p, c| p.create_trigger(c)),
    ("EVENT", OR_REPLACE | DEFINER, |p, c| p.create_event(c)),
    ("USER", OR_REPLACE, |p, c| p.create_user(c)),
    ("ROLE", OR_REPLACE, |p, c| p.create_role(c)),
    ("SERVER", OR_REPLACE, |p, c| p.create_server(c)),
    ("TABLESPACE", 0, |p, _| {
        p.tablespace(TablespaceVerb::Create, TablespaceKind::Tablespace)
    }),
    ("UNDO TABLESPACE", 0, |p, _| {
        p.tablespace(TablespaceVerb::Create, TablespaceKind::UndoTablespace)
    }),
    ("LOGFILE GROUP", 0, |p, _| {
        p.tablespace(TablespaceVerb::Create, TablespaceKind::LogfileGroup)
    }),
    ("RESOURCE GROUP", 0, |p, _| p.resource_group(false)),
    ("SPATIAL REFERENCE SYSTEM", OR_REPLACE, |p, c| {
        p.create_spatial_reference_system(c)
    }),
];

/// The objects of ALTER.
const ALTER: &[Row<Create>] = &[
    ("TABLE", 0, |p, _| p.alter_table(false)),
    ("IGNORE TABLE", 0, |p, _| p.alter_table(true)),
    ("ONLINE TABLE", 0, |p, _| p.alter_table(false)),
    ("VIEW", VIEW | DEFINER, |p, c| p.view(c, true)),
    ("DATABASE", 0, |p, _| p.alter_database()),
    ("SCHEMA", 0, |p, _| p.alter_database()),
    ("PROCEDURE", 0, |p, _| {
        p.alter_routine(ProgramKind::Procedure)
    }),
    ("FUNCTION", 0, |p, _| p.alter_routine(ProgramKind::Function)),
    ("EVENT", DEFINER, |p, c| p.alter_event(c)),
    ("USER", 0, |p, _| p.alter_user()),
    ("SERVER", 0, |p, _| p.alter_server()),
    ("TABLESPACE", 0, |p, _| {
        p.tablespace(TablespaceVerb::Alter, TablespaceKind::Tablespace)
    }),
    ("UNDO TABLESPACE", 0, |p, _| {
        p.tablespace(TablespaceVerb::Alter, TablespaceKind::UndoTablespace)
    }),
    ("LOGFILE GROUP", 0, |p, _| {
        p.tablespace(TablespaceVerb::Alter, TablespaceKind::LogfileGroup)
    }),
    ("RESOURCE GROUP", 0, |p, _| p.resource_group(true)),
    ("INSTANCE", 0, |p, _| p.alter_instance()),
];

/// The objects of DROP.
const DROP: &[Row<()>] = &[
    ("TABLE", 0, |p, ()| p.drop_table(false)),
    ("TABLES", 0, |p, ()| p.drop_table(false)),
    ("TEMPORARY TABLE", 0, |p, ()| p.drop_table(true)),
    ("TEMPORARY TABLES", 0, |p, ()| p.drop_table(true)),
    ("INDEX", 0, |p, ()| p.drop_index()),
    ("VIEW", 0, |p, ()| p.drop_view()),
    ("DATABASE", 0, |p, ()| p.drop_database()),
    ("SCHEMA", 0, |p, ()| p.drop_database()),
    ("PROCEDURE", 0, |p, ()| {
        p.drop_program(ProgramKind::Procedure)
    }),
    ("FUNCTION", 0, |p, ()| p.drop_program(ProgramKind::Function)),
    ("TRIGGER", 0, |p, ()| p.drop_program(ProgramKind::Trigger)),
    ("EVENT", 0, |p, ()| p.drop_program(ProgramKind::Event)),
    ("USER", 0, |p, ()| p.drop_user()),
    ("ROLE", 0, |p, ()| p.drop_role()),
    ("SERVER", 0, |p, ()| p.drop_server()),
    ("TABLESPACE", 0, |p, ()| {
        p.tablespace(TablespaceVerb::Drop, TablespaceKind::Tablespace)
    }),
    ("UNDO TABLESPACE", 0, |p, ()| {
        p.tablespace(TablespaceVerb::Drop, TablespaceKind::UndoTablespace)
    }),
    ("LOGFILE GROUP", 0, |p, ()| {
        p.tablespace(TablespaceVerb::Drop, TablespaceKind::LogfileGroup)
    }),
    ("RESOURCE GROUP", 0, |p, ()| p.drop_resource_group()),
    ("SPATIAL REFERENCE SYSTEM", 0, |p, ()| {
        p.drop_spatial_reference_system()
    }),
    ("PREPARE", 0, |p, ()| p.deallocate()),
];

impl Parser<'_> {
    /// CREATE.
    pub(crate) fn create(&mut self) -> Result<StatementKind> {
        self.object(CREATE)
    }

    /// ALTER.
    pub(crate) fn alter(&mut self) -> Result<StatementKind> {
        self.object(ALTER)
    }

    /// DROP.
    pub(crate) fn drop_object(&mut self) -> Result<StatementKind> {
        self.next();
        let row = DROP.iter().find(|(words, _, _)| self.eat_words(words));
        let (_, _, parse) = row.ok_or_else(|| self.error_here())?;
        parse(self, ())
    }

    fn object(&mut self, rows: &[Row<Create>]) -> Result<StatementKind> {
        self.next();
        let (create, given) = self.create_clauses()?;
        let row = rows.iter().find(|(words, _, _)| self.at_words(words));
        let (words, allowed, parse) = row.ok_or_else(|| self.error_here())?;
        if given & !allowed != 0 {
            return Err(self.error_here());
        }
        self.expect_words(words)?;
        parse(self, create)
    }

    /// What stands before the kind of object, and which of it was written.
    fn create_clauses(&mut self) -> Result<(Create, u8)> {
        let mut create = Create::default();
        let mut given = 0;
        if self.eat_all(&[K::OR, K::REPLACE]) {
            create.or_replace = true;
            given |= OR_REPLACE;
        }
        if self.at(K::TEMPORARY) && self.at_nth(1, K::TABLE) {
            self.next();
            create.temporary = true;
            given |= TEMPORARY;
        }
        if self.eat(K::ALGORITHM) {
            self.eat_equals();
            create.algorithm = Some(self.expect_choice()?);
            given |= VIEW;
        }
        if self.eat(K::DEFINER) {
            self.eat_equals();
            create.definer = Some(Definer(self.account()?));
            given |= DEFINER;
        }
        if self.eat_all(&[K::SQL, K::SECURITY]) {
            create.security = Some(self.expect_choice()?);
            given |= VIEW;
        }
        if self.eat(K::AGGREGATE) {
            create.aggregate = true;
            given |= AGGREGATE;
        }
        Ok((create, given))
    }
}
