//! Triggers: the rows that their programs see and change.

use millpond_sql::catalog::programs::{ProgramDef, ProgramKind, RowEvent};
use millpond_sql::env::sql_mode;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::parse;
use millpond_sql::parse::ast::{RoutineStatement, StatementKind};
use millpond_sql::types::Column;
use millpond_syntax::{Lexer, Token, TokenKind};

use super::code::Program;
use super::compile::{Compiler, no_program};

/// Compiles a trigger of a table with these columns: its frame begins with the values of OLD, then those of NEW.
pub(crate) fn compile_trigger(def: &ProgramDef, columns: &[Column]) -> SqlResult<Program> {
    let mode = sql_mode::flags(def.mode);
    let whole = parse::parse_one(&def.source(), mode)?;
    let Some(trigger) = &def.trigger else {
        return Err(no_program());
    };
    let StatementKind::Routine(create) = whole.kind() else {
        return Err(no_program());
    };
    let RoutineStatement::CreateTrigger(create) = &**create else {
        return Err(no_program());
    };
    let mut c = Compiler::new(def, &whole, mode)?;
    for (row, there) in [
        ("old", trigger.event != RowEvent::Insert),
        ("new", trigger.event != RowEvent::Delete),
    ] {
        for column in columns {
            c.names.of_row(there.then_some(row), column);
        }
    }
    c.check_rows(columns)?;
    let body = c.step(&create.body)?;
    c.finish(Vec::new(), body)
}

impl Compiler<'_> {
    /// Errors 1363 and 1054 for what a trigger says of rows and columns that it has not.
    pub(super) fn check_rows(&self, columns: &[Column]) -> SqlResult<()> {
        let Some(trigger) = &self.def.trigger else {
            return Ok(());
        };
        let body = &*self.def.body;
        let mut lexer = Lexer::new(body, parse::lex_mode(self.mode));
        let mut tokens = vec![lexer.next_token()];
        while tokens[tokens.len() - 1].kind != TokenKind::End {
            tokens.push(lexer.next_token());
        }
        let text = |t: &Token| &body[t.start as usize..t.end as usize];
        for (at, three) in tokens.windows(3).enumerate() {
            let dot = |t: &Token| t.kind == TokenKind::Dot;
            if !dot(&three[1]) || at > 0 && dot(&tokens[at - 1]) {
                continue;
            }
            let (row, missing) = match text(&three[0]).to_ascii_uppercase().as_str() {
                "OLD" => ("OLD", trigger.event == RowEvent::Insert),
                "NEW" => ("NEW", trigger.event == RowEvent::Delete),
                _ => continue,
            };
            if missing {
                let event = trigger.event.word();
                let m = format!("There is no {row} row in on {event} trigger");
                return Err(SqlError::new(1363, m));
            }
            let name = text(&three[2]).trim_matches('`');
            let named = |c: &Column| c.name.eq_ignore_ascii_case(name);
            if !columns.iter().any(named) {
                let m = format!("Unknown column '{name}' in '{row}'");
                return Err(SqlError::new(1054, m));
            }
        }
        Ok(())
    }

    /// Whether a name is that of a row that triggers see.
    pub(super) fn names_row(&self, name: &str) -> bool {
        let row = ["new", "old"]
            .iter()
            .any(|row| row.eq_ignore_ascii_case(name));
        row && self.def.kind == ProgramKind::Trigger
    }

    /// A column of NEW that is to be assigned to: error 1362 where that can't be.
    pub(super) fn column_of_new(&mut self, row: &str, name: &str) -> SqlResult<usize> {
        let before = self.def.trigger.as_ref().is_some_and(|t| t.before);
        let old = row.eq_ignore_ascii_case("old");
        if !before || old {
            let row = row.to_ascii_uppercase();
            let after = if old { "" } else { "after " };
            let m = format!("Updating of {row} row is not allowed in {after}trigger");
            return Err(SqlError::new(1362, m));
        }
        let locals = self.names.locals();
        let Some(local) = locals.of_row(row, name) else {
            let m = format!("Unknown column '{name}' in 'NEW'");
            return Err(SqlError::new(1054, m));
        };
        if !self.changed.contains(&local.slot) {
            self.changed.push(local.slot);
        }
        Ok(local.slot)
    }
}
