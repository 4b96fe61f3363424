//! SHOW, as its table says.

use super::Parser;
use crate::ast::{
    ObjectName, SHOWS, Show, ShowFilter, ShowKind, ShowModifier, ShowPart, ShowRow, StatementKind,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// SHOW.
    pub(crate) fn show(&mut self) -> Result<StatementKind> {
        self.next();
        let start = self.start();
        let extended = self.eat(K::EXTENDED);
        let full = self.eat(K::FULL);
        let global = self.at_any(&[K::GLOBAL, K::SESSION, K::LOCAL]);
        let scope = if global { self.scope() } else { None };
        let row = self.show_row()?;
        let given = [
            (extended, ShowModifier::Extended),
            (full, ShowModifier::Full),
            (scope.is_some(), ShowModifier::Scope),
        ];
        if given
            .iter()
            .any(|(given, modifier)| *given && !row.modifiers.contains(modifier))
        {
            return Err(self.error_at(start));
        }
        let mut show = Show {
            extended,
            full,
            scope,
            ..Show::new(row.kind)
        };
        for part in row.parts {
            self.show_part(&mut show, *part)?;
        }
        Ok(StatementKind::Show(Box::new(show)))
    }

    /// The row whose words come next; they are consumed.
    fn show_row(&mut self) -> Result<&'static ShowRow> {
        let kind = if self.eat(K::COUNT) {
            self.parens(|p| p.expect_punct(TokenKind::Star))?;
            match self.eat_any(&[K::WARNINGS, K::ERRORS]) {
                Some(K::WARNINGS) => Some(ShowKind::CountWarnings),
                Some(_) => Some(ShowKind::CountErrors),
                None => return Err(self.error_here()),
            }
        } else {
            None
        };
        let row = SHOWS.iter().find(|row| match kind {
            Some(kind) => row.kind == kind,
            None => row.words.iter().any(|words| self.eat_words(words)),
        });
        row.ok_or_else(|| self.error_here())
    }

    fn show_part(&mut self, show: &mut Show, part: ShowPart) -> Result<()> {
        match part {
            ShowPart::Missing => show.if_not_exists = self.if_not_exists(),
            ShowPart::Name => show.name = Some(self.object_name()?),
            ShowPart::EngineName => {
                let name = if self.at(K::ALL) {
                    self.ident_here()
                } else {
                    self.ident_or_text()?
                };
                show.name = Some(ObjectName {
                    database: None,
                    name,
                });
            }
            ShowPart::Account => show.account = Some(self.account()?),
            ShowPart::For => {
                if self.eat(K::FOR) {
                    show.account = Some(self.account()?);
                    if self.eat(K::USING) {
                        show.roles = self.comma_list(Self::account)?;
                    }
                }
            }
            ShowPart::Table => {
                if self.eat_any(&[K::FROM, K::IN]).is_none() {
                    return Err(self.error_here());
                }
                let mut name = self.object_name()?;
                if self.eat_any(&[K::FROM, K::IN]).is_some() {
                    name.database = Some(self.ident()?);
                }
                show.name = Some(name);
            }
            ShowPart::Database => {
                if self.eat_any(&[K::FROM, K::IN]).is_some() {
                    show.database = Some(self.ident()?);
                }
            }
            ShowPart::Report => show.engine = Some(self.expect_choice()?),
            ShowPart::Types => {
                let mut comma = true;
                show.profile = self.row_of(|p| {
                    let kind = if comma { p.choice() } else { None };
                    comma = p.eat_punct(TokenKind::Comma);
                    Ok(kind)
                })?;
            }
            ShowPart::Query => {
                if self.eat_all(&[K::FOR, K::QUERY]) {
                    show.query = Some(self.uint()?);
                }
            }
            ShowPart::Log => {
                if self.eat(K::IN) {
                    show.log = Some(self.text_literal()?);
                }
            }
            ShowPart::Position => {
                if self.eat(K::FROM) {
                    show.position = Some(self.uint()?);
                }
            }
            ShowPart::Filter => show.filter = self.show_filter()?,
            ShowPart::Limit => show.limit = self.limit()?,
            ShowPart::Channel => show.channel = self.for_channel()?,
        }
        Ok(())
    }

    fn show_filter(&mut self) -> Result<Option<ShowFilter>> {
        Ok(if self.eat(K::LIKE) {
            Some(ShowFilter::Like(self.text_literal()?))
        } else if self.eat(K::WHERE) {
            Some(ShowFilter::Where(self.expr()?))
        } else {
            None
        })
    }
}
