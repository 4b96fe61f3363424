//! INTO, and the format of files.

use super::Parser;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

impl Parser<'_> {
    /// INTO, if it is next.
    pub(super) fn maybe_into(&mut self) -> Result<Option<Into>> {
        if !self.eat(K::INTO) {
            return Ok(None);
        }
        // Of a UNION's parts, the one with INTO stays a tree, so that it can be told from all others.
        self.texts += 1;
        self.intos += 1;
        if self.eat(K::DUMPFILE) {
            return Ok(Some(Into::Dumpfile(self.text_literal()?.into())));
        }
        if self.eat(K::OUTFILE) {
            let path = self.text_literal()?.into();
            let charset = self.charset_clause()?;
            let format = self.file_format()?;
            return Ok(Some(Into::Outfile(Box::new(Outfile {
                path,
                charset,
                format,
            }))));
        }
        let targets = self.comma_list(Self::select_target)?;
        Ok(Some(Into::Variables(targets)))
    }

    /// A variable that takes a value: a user's or a routine's.
    pub(super) fn select_target(&mut self) -> Result<IntoTarget> {
        if self.at_punct(T::UserVariable) {
            return Ok(IntoTarget::User(self.user_variable()?));
        }
        Ok(IntoTarget::Local(self.ident()?))
    }

    /// CHARACTER SET name, if it is next.
    pub(super) fn charset_clause(&mut self) -> Result<Option<Ident>> {
        let next = self.eat(K::CHARSET)
            || self.eat_all(&[K::CHARACTER, K::SET])
            || self.eat_all(&[K::CHAR, K::SET]);
        if next {
            return self.charset_name().map(Some);
        }
        Ok(None)
    }

    /// FIELDS … LINES …, of which either may be missing.
    pub fn file_format(&mut self) -> Result<FileFormat> {
        let mut f = FileFormat::default();
        if self.eat_any(&[K::FIELDS, K::COLUMNS]).is_some() {
            let start = self.start();
            loop {
                if self.eat(K::TERMINATED) {
                    self.expect(K::BY)?;
                    f.fields_terminated = Some(self.bytes_literal()?);
                } else if self.at(K::OPTIONALLY) || self.at(K::ENCLOSED) {
                    f.enclosed_optionally = self.eat(K::OPTIONALLY);
                    self.expect_all(&[K::ENCLOSED, K::BY])?;
                    f.fields_enclosed = Some(self.bytes_literal()?);
                } else if self.eat(K::ESCAPED) {
                    self.expect(K::BY)?;
                    f.fields_escaped = Some(self.bytes_literal()?);
                } else if self.start() == start {
                    return Err(self.error_here());
                } else {
                    break;
                }
            }
        }
        if self.eat(K::LINES) {
            let start = self.start();
            loop {
                if self.eat(K::TERMINATED) {
                    self.expect(K::BY)?;
                    f.lines_terminated = Some(self.bytes_literal()?);
                } else if self.eat(K::STARTING) {
                    self.expect(K::BY)?;
                    f.lines_starting = Some(self.bytes_literal()?);
                } else if self.start() == start {
                    return Err(self.error_here());
                } else {
                    break;
                }
            }
        }
        Ok(f)
    }
}
