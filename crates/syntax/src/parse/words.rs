//! Words and small clauses that definitions and administration are read with.

use super::Parser;
use crate::ast::words::Words;
use crate::ast::{Account, Ident, Items};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Whether these words come next, keywords or not, unquoted.
    pub(crate) fn at_words(&self, words: &str) -> bool {
        let mut words = words.split(' ');
        words.next().is_some_and(|first| self.at_word(first))
            && words.enumerate().all(|(n, word)| {
                let token = self.peek_nth(n + 1);
                matches!(token.kind, TokenKind::Keyword(_) | TokenKind::Ident)
                    && self.slice(token).eq_ignore_ascii_case(word)
            })
    }

    /// Consumes these words if they come next, all of them.
    pub(crate) fn eat_words(&mut self, words: &str) -> bool {
        let hit = self.at_words(words);
        if hit {
            words.split(' ').for_each(|_| {
                self.next();
            });
        }
        hit
    }

    /// Consumes these words or fails at the first that isn't there.
    pub(crate) fn expect_words(&mut self, words: &str) -> Result<()> {
        for word in words.split(' ') {
            if !self.eat_word(word) {
                return Err(self.error_here());
            }
        }
        Ok(())
    }

    /// One of the values of `T`, if its words come next.
    pub(crate) fn choice<T: Words>(&mut self) -> Option<T> {
        let (value, _) = T::ALL.iter().find(|(_, words)| self.eat_words(words))?;
        Some(*value)
    }

    /// One of the values of `T`.
    pub(crate) fn expect_choice<T: Words>(&mut self) -> Result<T> {
        self.choice().ok_or_else(|| self.error_here())
    }

    /// `yes` is true, `no` is false, neither is nothing.
    pub(crate) fn yes_or_no(&mut self, yes: &str, no: &str) -> Option<bool> {
        if self.eat_words(yes) {
            Some(true)
        } else {
            self.eat_words(no).then_some(false)
        }
    }

    /// IF EXISTS
    pub(crate) fn if_exists(&mut self) -> bool {
        self.eat_all(&[K::IF, K::EXISTS])
    }

    /// IF NOT EXISTS
    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.eat_all(&[K::IF, K::NOT, K::EXISTS])
    }

    /// An equals sign that may be left out.
    pub(crate) fn eat_equals(&mut self) {
        self.eat_punct(TokenKind::Eq);
    }

    /// `= name` or `name`, where the name may be a text.
    pub(crate) fn equals_name(&mut self) -> Result<Ident> {
        self.eat_equals();
        self.ident_or_text()
    }

    /// `= 'text'` or `'text'`.
    pub(crate) fn equals_text(&mut self) -> Result<String> {
        self.eat_equals();
        self.text_literal()
    }

    /// `= n` or `n`.
    pub(crate) fn equals_number(&mut self) -> Result<u64> {
        self.eat_equals();
        self.uint()
    }

    /// `= n`, `= DEFAULT`.
    pub(crate) fn equals_number_or_default(&mut self) -> Result<Option<u64>> {
        self.eat_equals();
        if self.eat(K::DEFAULT) {
            return Ok(None);
        }
        self.uint().map(Some)
    }

    /// `= name`, `= DEFAULT`: a character set or a collation.
    pub(crate) fn equals_or_default(
        &mut self,
        name: fn(&mut Self) -> Result<Ident>,
    ) -> Result<Option<Ident>> {
        self.eat_equals();
        if self.eat(K::DEFAULT) {
            return Ok(None);
        }
        name(self).map(Some)
    }

    /// `= 16M`: a size in bytes.
    pub(crate) fn equals_size(&mut self) -> Result<u64> {
        self.eat_equals();
        if self.at_punct(TokenKind::Int) {
            return self.uint();
        }
        let text = self.slice(*self.peek());
        let shift = match text.bytes().last().map(|b| b.to_ascii_uppercase()) {
            Some(b'K') => 10,
            Some(b'M') => 20,
            Some(b'G') => 30,
            Some(b'T') => 40,
            _ => return Err(self.error_here()),
        };
        let number = text[..text.len() - 1].parse::<u64>().ok();
        let size = number
            .and_then(|n| n.checked_mul(1 << shift))
            .ok_or_else(|| self.error_here())?;
        self.next();
        Ok(size)
    }

    /// CHARACTER SET, CHARSET, CHAR SET.
    pub(crate) fn eat_character_set(&mut self) -> bool {
        self.eat(K::CHARSET)
            || self.eat_all(&[K::CHARACTER, K::SET])
            || self.eat_all(&[K::CHAR, K::SET])
    }

    /// `(name, ...)`
    pub(crate) fn ident_list(&mut self) -> Result<Items<Ident>> {
        self.parens(|p| p.comma_list(Self::ident))
    }

    /// `(name, ...)` if a parenthesis is next, otherwise no names.
    pub(crate) fn optional_ident_list(&mut self) -> Result<Items<Ident>> {
        if self.at_punct(TokenKind::LParen) {
            self.ident_list()
        } else {
            Ok(Items::EMPTY)
        }
    }

    /// NO_WRITE_TO_BINLOG, LOCAL
    pub(crate) fn eat_local(&mut self) -> bool {
        self.eat(K::NO_WRITE_TO_BINLOG) || self.eat(K::LOCAL)
    }

    /// A user or a role.
    pub(crate) fn account(&mut self) -> Result<Account> {
        if self.eat(K::CURRENT_USER) {
            if self.eat_punct(TokenKind::LParen) {
                self.expect_punct(TokenKind::RParen)?;
            }
            return Ok(Account::Current);
        }
        if self.at_word("CURRENT_ROLE") {
            self.next();
            return Ok(Account::CurrentRole);
        }
        let user = self.ident_or_text()?;
        let host = if self.at_punct(TokenKind::UserVariable) {
            let start = self.start();
            let text = self.user_variable()?;
            Some(Ident {
                text,
                span: self.span_from(start),
            })
        } else if self.eat_punct(TokenKind::At) {
            Some(self.ident_or_text()?)
        } else {
            None
        };
        Ok(Account::Named { user, host })
    }

    /// FOR CHANNEL, if it is next.
    pub(crate) fn for_channel(&mut self) -> Result<Option<String>> {
        if !self.eat_words("FOR CHANNEL") {
            return Ok(None);
        }
        Ok(Some(self.ident_or_text()?.text.to_string()))
    }
}
