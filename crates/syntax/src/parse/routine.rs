//! Procedures, functions, triggers and events.

use super::Parser;
use super::create::Create;
use crate::ast::{
    AlterEvent, Characteristic, Event, Items, Parameter, ParameterMode, ProgramKind, Routine,
    RoutineStatement, Schedule, StatementKind, Trigger,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn routine(statement: RoutineStatement) -> StatementKind {
    StatementKind::Routine(Box::new(statement))
}

impl Parser<'_> {
    /// Behind CREATE PROCEDURE.
    pub(crate) fn create_procedure(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let parameters = self.parameters(Self::parameter)?;
        let characteristics = self.characteristics()?;
        let body = Box::new(self.body_statement()?);
        Ok(routine(RoutineStatement::Create(Routine {
            or_replace: create.or_replace,
            definer: create.definer,
            aggregate: false,
            if_not_exists,
            name,
            parameters,
            returns: None,
            characteristics,
            body,
        })))
    }

    pub(super) fn parameter(&mut self) -> Result<Parameter> {
        let mode = self.choice::<ParameterMode>();
        Ok(Parameter {
            mode,
            name: self.ident()?,
            data_type: self.type_and_collation()?,
        })
    }

    /// Behind CREATE [AGGREGATE] FUNCTION.
    pub(crate) fn create_function(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        if self.eat(K::RETURNS) {
            let returns = self.expect_choice()?;
            self.expect(K::SONAME)?;
            return Ok(routine(RoutineStatement::CreateLoadable {
                or_replace: create.or_replace,
                aggregate: create.aggregate,
                if_not_exists,
                name: name.name,
                returns,
                library: self.text_literal()?,
            }));
        }
        let parameters = self.parameters(|p| {
            // MariaDB's functions may say IN.
            p.eat(K::IN);
            Ok(Parameter {
                mode: None,
                name: p.ident()?,
                data_type: p.type_and_collation()?,
            })
        })?;
        self.expect(K::RETURNS)?;
        let returns = Some(self.type_and_collation()?);
        let characteristics = self.characteristics()?;
        let body = Box::new(self.body_statement()?);
        Ok(routine(RoutineStatement::Create(Routine {
            or_replace: create.or_replace,
            definer: create.definer,
            aggregate: create.aggregate,
            if_not_exists,
            name,
            parameters,
            returns,
            characteristics,
            body,
        })))
    }

    fn parameters(
        &mut self,
        parameter: impl FnMut(&mut Self) -> Result<Parameter>,
    ) -> Result<Items<Parameter>> {
        self.parens(|p| {
            if p.at_punct(TokenKind::RParen) {
                Ok(Items::EMPTY)
            } else {
                p.comma_list(parameter)
            }
        })
    }

    fn characteristics(&mut self) -> Result<Items<Characteristic>> {
        self.row_of(Self::characteristic)
    }

    pub(super) fn characteristic(&mut self) -> Result<Option<Characteristic>> {
        use Characteristic as C;
        Ok(Some(if self.eat(K::COMMENT) {
            C::Comment(self.text_literal()?)
        } else if self.eat(K::LANGUAGE) {
            C::Language(if self.at(K::SQL) {
                self.ident_here()
            } else {
                self.ident()?
            })
        } else if let Some(yes) = self.yes_or_no("DETERMINISTIC", "NOT DETERMINISTIC") {
            C::Deterministic(yes)
        } else if let Some(access) = self.choice() {
            C::Access(access)
        } else if self.eat_all(&[K::SQL, K::SECURITY]) {
            C::Security(self.expect_choice()?)
        } else {
            return Ok(None);
        }))
    }

    /// Behind ALTER PROCEDURE, ALTER FUNCTION.
    pub(crate) fn alter_routine(&mut self, kind: ProgramKind) -> Result<StatementKind> {
        let name = self.object_name()?;
        let characteristics = self.characteristics()?;
        Ok(routine(RoutineStatement::Alter {
            kind,
            name,
            characteristics,
        }))
    }

    /// Behind DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    pub(crate) fn drop_program(&mut self, kind: ProgramKind) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let name = self.object_name()?;
        Ok(routine(RoutineStatement::Drop {
            kind,
            if_exists,
            name,
        }))
    }

    /// Behind CREATE TRIGGER.
    pub(crate) fn create_trigger(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let time = self.expect_choice()?;
        let event = self.expect_choice()?;
        self.expect(K::ON)?;
        let table = self.object_name()?;
        self.expect_words("FOR EACH ROW")?;
        let order = match self.choice() {
            Some(order) => Some((order, self.ident()?)),
            None => None,
        };
        let body = Box::new(self.body_statement()?);
        Ok(routine(RoutineStatement::CreateTrigger(Trigger {
            or_replace: create.or_replace,
            definer: create.definer,
            if_not_exists,
            name,
            time,
            event,
            table,
            order,
            body,
        })))
    }

    /// Behind CREATE EVENT.
    pub(crate) fn create_event(&mut self, create: Create) -> Result<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        self.expect_words("ON SCHEDULE")?;
        let schedule = self.schedule()?;
        let preserve = self.completion()?;
        let state = self.choice();
        let comment = if self.eat(K::COMMENT) {
            Some(self.text_literal()?)
        } else {
            None
        };
        self.expect(K::DO)?;
        let body = Box::new(self.body_statement()?);
        Ok(routine(RoutineStatement::CreateEvent(Event {
            or_replace: create.or_replace,
            definer: create.definer,
            if_not_exists,
            name,
            schedule,
            preserve,
            state,
            comment,
            body,
        })))
    }

    /// Behind ALTER EVENT.
    pub(crate) fn alter_event(&mut self, create: Create) -> Result<StatementKind> {
        let name = self.object_name()?;
        let schedule = if self.eat_words("ON SCHEDULE") {
            Some(self.schedule()?)
        } else {
            None
        };
        let preserve = self.completion()?;
        let rename = if self.eat_words("RENAME TO") {
            Some(self.object_name()?)
        } else {
            None
        };
        let state = self.choice();
        let comment = if self.eat(K::COMMENT) {
            Some(self.text_literal()?)
        } else {
            None
        };
        let body = if self.eat(K::DO) {
            Some(Box::new(self.body_statement()?))
        } else {
            None
        };
        Ok(routine(RoutineStatement::AlterEvent(AlterEvent {
            definer: create.definer,
            name,
            schedule,
            preserve,
            rename,
            state,
            comment,
            body,
        })))
    }

    fn completion(&mut self) -> Result<Option<bool>> {
        if !self.eat_words("ON COMPLETION") {
            return Ok(None);
        }
        let preserve = self.yes_or_no("PRESERVE", "NOT PRESERVE");
        preserve.map(Some).ok_or_else(|| self.error_here())
    }

    fn schedule(&mut self) -> Result<Schedule> {
        if self.eat(K::AT) {
            return self.expr().map(Schedule::At);
        }
        self.expect(K::EVERY)?;
        let every = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat(K::STARTS) {
            Some(self.expr()?)
        } else {
            None
        };
        let ends = if self.eat(K::ENDS) {
            Some(self.expr()?)
        } else {
            None
        };
        Ok(Schedule::Every {
            every,
            unit,
            starts,
            ends,
        })
    }
}
