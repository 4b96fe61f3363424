//! Walking over a statement's tokens: what every part of the parser is written with.
//!
//! Two tokens are known at any time; looking further ahead reads them from a copy of the lexer. Nesting is bounded twice: by how
//! deep the parser itself is in ([`Parser::nested`]), and by how high the tree becomes, since chains like `a IS NULL IS NULL …`
//! nest without the parser doing so ([`Parser::higher`]). What is more gives 1436 rather than a stack that runs out.

use crate::ast::{Deprecated, Ident, ObjectName};
use crate::error::{Result, SyntaxError};
use crate::keyword::Keyword;
use crate::lexer::{LexMode, Lexer, Token, TokenKind};
use crate::span::Span;
use crate::text::unquote;

/// The most that trees and the parser may nest, in expressions within one another; a query counts [`QUERY`]. That takes a stack of
/// one MiB, and of eight in builds for debugging, whose frames are far larger.
pub const MAX_DEPTH: u32 = 400;
/// What a query within a query counts.
pub const QUERY: u32 = 4;

/// What a statement's tree may take whatever its text, in bytes. Nothing is known that takes as much: lists and what nests are held as
/// text before ([`crate::ast::list`]).
pub const MOST_BYTES: u64 = 64 << 20;
/// What a tree may take for a byte of a long text.
pub const BYTES_PER_BYTE: u64 = 8;

/// What a tree may take, besides as much as its text, before parts of it are held as text.
pub const FREE: u64 = 128 << 10;

/// A statement's tokens and what is gathered on the way.
#[derive(Clone)]
pub struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token,
    ahead: Token,
    /// Whether the current token and the one after it are within a version comment.
    in_comment: [bool; 2],
    /// End of the last token consumed.
    last_end: u32,
    /// Placeholders so far.
    pub(crate) params: u32,
    /// How many lists, or parts of lists, are held as text so far.
    pub(super) texts: u32,
    /// How many tables the query under way joins so far.
    pub(super) tables: u32,
    /// How many INTO there were so far.
    pub(super) intos: u32,
    /// Bytes that the trees take so far, about.
    pub(super) bytes: u64,
    /// Up to how many bytes nothing is held as text for its weight.
    pub(super) free: u64,
    /// What the statement uses that MySQL is to give up, so far.
    deprecated: Vec<Deprecated>,
    /// Whether what is read follows ON DUPLICATE KEY UPDATE.
    pub(super) updates_duplicate: bool,
    depth: u32,
    /// Height of the highest tree finished in what is being parsed.
    height: u32,
}

/// A place to go back to.
pub struct Mark<'t>(Parser<'t>);

impl<'t> Parser<'t> {
    /// At the beginning of a text.
    pub fn new(text: &'t str, mode: LexMode) -> Parser<'t> {
        Parser::on(Lexer::new(text, mode))
    }
    /// Where a lexer stands.
    pub(crate) fn on(mut lexer: Lexer<'t>) -> Parser<'t> {
        let token = lexer.next_token();
        let first = lexer.in_comment();
        let ahead = lexer.next_token();
        Parser {
            in_comment: [first, lexer.in_comment()],
            lexer,
            token,
            ahead,
            last_end: token.start,
            params: 0,
            texts: 0,
            tables: 0,
            intos: 0,
            bytes: 0,
            free: FREE + lexer.text().len() as u64,
            deprecated: Vec::new(),
            updates_duplicate: false,
            depth: 0,
            height: 0,
        }
    }
    /// The statement's text.
    #[inline]
    pub fn text(&self) -> &'t str {
        self.lexer.text()
    }
    /// The mode it is read in.
    #[inline]
    pub fn mode(&self) -> LexMode {
        self.lexer.mode()
    }
    /// The current token.
    #[inline]
    pub fn peek(&self) -> &Token {
        &self.token
    }
    /// The current token's kind.
    #[inline]
    pub fn kind(&self) -> TokenKind {
        self.token.kind
    }
    /// The kind of the n-th token from here (0: the current).
    #[inline]
    pub fn kind_nth(&self, n: usize) -> TokenKind {
        self.peek_nth(n).kind
    }
    /// The n-th token from here (0: the current). Beyond 1, they are read anew each time.
    #[inline]
    pub fn peek_nth(&self, n: usize) -> Token {
        match n {
            0 => self.token,
            1 => self.ahead,
            _ => {
                let mut lexer = self.lexer;
                (2..n).for_each(|_| {
                    lexer.next_token();
                });
                lexer.next_token()
            }
        }
    }
    /// Consumes the current token.
    #[inline]
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Token {
        let token = self.token;
        self.last_end = token.end;
        self.token = self.ahead;
        self.ahead = self.lexer.next_token();
        self.in_comment = [self.in_comment[1], self.lexer.in_comment()];
        token
    }
    /// The text of a token.
    #[inline]
    pub fn slice(&self, token: Token) -> &'t str {
        let base = self.lexer.base();
        &self.text()[(token.start - base) as usize..(token.end - base) as usize]
    }
    /// A place to come back to.
    pub fn mark(&self) -> Mark<'t> {
        Mark(self.clone())
    }
    /// Goes back to it.
    pub fn reset(&mut self, mark: Mark<'t>) {
        *self = mark.0;
    }
    /// Where in the statement the text begins.
    pub(super) fn base(&self) -> u32 {
        self.lexer.base()
    }
    /// The end of the last token consumed.
    #[inline]
    pub(super) fn last_end(&self) -> u32 {
        self.last_end
    }
    /// Trees take this many bytes more. Error 3170 if that is more than [`MOST_BYTES`] and [`BYTES_PER_BYTE`] of the text.
    #[inline]
    pub(super) fn took(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes as u64;
        if self.bytes > MOST_BYTES {
            let limit = MOST_BYTES.max(BYTES_PER_BYTE * self.text().len() as u64);
            if self.bytes > limit {
                return Err(SyntaxError::too_large(limit, self.token.span()));
            }
        }
        Ok(())
    }
    /// Adds to a list.
    pub(super) fn keep<I>(&mut self, list: &mut Vec<I>, item: I) -> Result<()> {
        crate::ast::list::push(list, item);
        self.took(size_of::<I>())
    }
    /// Whether the current token is within a version comment.
    pub(crate) fn in_comment(&self) -> bool {
        self.in_comment[0]
    }

    /// Whether the statement ends here.
    pub fn at_end(&self) -> bool {
        matches!(self.token.kind, TokenKind::End | TokenKind::Semicolon)
    }
    /// Whether the current token is this keyword.
    #[inline]
    pub fn at(&self, keyword: Keyword) -> bool {
        self.token.kind == TokenKind::Keyword(keyword)
    }
    /// Whether the n-th token from here is this keyword.
    #[inline]
    pub fn at_nth(&self, n: usize, keyword: Keyword) -> bool {
        self.peek_nth(n).kind == TokenKind::Keyword(keyword)
    }
    /// The current token, if it is a keyword.
    pub fn keyword(&self) -> Option<Keyword> {
        match self.token.kind {
            TokenKind::Keyword(k) => Some(k),
            _ => None,
        }
    }
    /// Whether the current token is one of these keywords.
    pub fn at_any(&self, keywords: &[Keyword]) -> bool {
        self.keyword().is_some_and(|k| keywords.contains(&k))
    }
    /// Whether these keywords come next, all in a row.
    pub fn at_all(&self, keywords: &[Keyword]) -> bool {
        keywords.iter().enumerate().all(|(n, &k)| self.at_nth(n, k))
    }
    /// Consumes this keyword if it is next.
    #[inline]
    pub fn eat(&mut self, keyword: Keyword) -> bool {
        let hit = self.at(keyword);
        if hit {
            self.next();
        }
        hit
    }
    /// Consumes the next keyword if it is one of these.
    pub fn eat_any(&mut self, keywords: &[Keyword]) -> Option<Keyword> {
        let k = self.keyword().filter(|k| keywords.contains(k))?;
        self.next();
        Some(k)
    }
    /// Consumes these keywords if they come next, all in a row, or nothing.
    pub fn eat_all(&mut self, keywords: &[Keyword]) -> bool {
        let hit = self.at_all(keywords);
        if hit {
            keywords.iter().for_each(|_| {
                self.next();
            });
        }
        hit
    }
    /// Consumes this keyword or fails.
    #[inline]
    pub fn expect(&mut self, keyword: Keyword) -> Result<()> {
        if self.eat(keyword) {
            Ok(())
        } else {
            Err(self.error_here())
        }
    }
    /// Consumes these keywords, one after the other, or fails at the first that isn't there.
    pub fn expect_all(&mut self, keywords: &[Keyword]) -> Result<()> {
        keywords.iter().try_for_each(|&k| self.expect(k))
    }
    /// Whether the current token is this word, keyword or not, unquoted.
    pub fn at_word(&self, word: &str) -> bool {
        matches!(self.token.kind, TokenKind::Keyword(_) | TokenKind::Ident)
            && self.slice(self.token).eq_ignore_ascii_case(word)
    }
    /// Consumes this word, keyword or not, if it is next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let hit = self.at_word(word);
        if hit {
            self.next();
        }
        hit
    }
    /// Whether the current token is this sign.
    #[inline]
    pub fn at_punct(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }
    /// Consumes this sign if it is next.
    #[inline]
    pub fn eat_punct(&mut self, kind: TokenKind) -> bool {
        let hit = self.token.kind == kind;
        if hit {
            self.next();
        }
        hit
    }
    /// Consumes this sign or fails.
    #[inline]
    pub fn expect_punct(&mut self, kind: TokenKind) -> Result<()> {
        if self.eat_punct(kind) {
            Ok(())
        } else {
            Err(self.error_here())
        }
    }

    /// 1064 at the current token.
    #[cold]
    pub fn error_here(&self) -> SyntaxError {
        SyntaxError::near(self.text(), self.token.start)
    }
    /// 1064 at a place before.
    #[cold]
    pub fn error_at(&self, start: u32) -> SyntaxError {
        SyntaxError::near(self.text(), start)
    }
    /// 1235 at the current token.
    #[cold]
    pub fn unsupported(&self, name: &str) -> SyntaxError {
        SyntaxError::unsupported(name, self.token.span())
    }
    /// Where the current token begins.
    #[inline]
    pub fn start(&self) -> u32 {
        self.token.start
    }
    /// From `start` to the end of what was consumed last.
    #[inline]
    pub fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.last_end.max(start))
    }

    /// How deep it is in.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }
    /// Parses something that nests, and makes sure of stack.
    #[inline]
    pub fn nested<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.nested_by(1, f)
    }
    /// The same for what takes `weight` times an expression's stack.
    #[inline]
    pub fn nested_by<R>(
        &mut self,
        weight: u32,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.depth += weight;
        if self.depth > MAX_DEPTH {
            return Err(SyntaxError::too_deep(self.token.span()));
        }
        let outside = std::mem::take(&mut self.height);
        let result = f(self);
        self.depth -= weight;
        self.height = outside.max(self.height + weight);
        result
    }
    /// What was parsed since [`Parser::ground`] becomes part of a new node.
    #[inline]
    pub(crate) fn higher(&mut self) -> Result<()> {
        self.height += 1;
        if self.height + self.depth > MAX_DEPTH {
            return Err(SyntaxError::too_deep(self.token.span()));
        }
        Ok(())
    }
    /// Begins to measure a tree; returns what [`Parser::above`] takes.
    #[inline]
    pub(crate) fn ground(&mut self) -> u32 {
        std::mem::take(&mut self.height)
    }
    /// Ends measuring a tree.
    #[inline]
    pub(crate) fn above(&mut self, ground: u32) {
        self.height = self.height.max(ground);
    }

    /// Whether a name stands here: quoted, or a word that is not reserved.
    #[inline]
    pub fn at_ident(&self) -> bool {
        is_ident(self.token.kind)
    }
    /// A name.
    #[inline]
    pub fn ident(&mut self) -> Result<Ident> {
        if !self.at_ident() {
            return Err(self.error_here());
        }
        Ok(self.ident_here())
    }
    /// The current token as a name, whatever it is.
    #[inline]
    pub(crate) fn ident_here(&mut self) -> Ident {
        let token = self.next();
        let text = self.slice(token);
        let text = match token.kind {
            TokenKind::QuotedIdent => unquote(text, false).as_ref().into(),
            _ => text.into(),
        };
        Ident {
            text,
            span: token.span(),
        }
    }
    /// A name or a text: aliases, users, character sets, engines.
    pub fn ident_or_text(&mut self) -> Result<Ident> {
        if self.at_punct(TokenKind::Text) {
            let start = self.start();
            let text = self.text_literal()?;
            return Ok(Ident {
                text: text.into(),
                span: self.span_from(start),
            });
        }
        self.ident()
    }
    /// `name` or `database.name` or `.name`.
    pub fn object_name(&mut self) -> Result<ObjectName> {
        if self.eat_punct(TokenKind::Dot) {
            return Ok(ObjectName {
                database: None,
                name: self.ident()?,
            });
        }
        let first = self.ident()?;
        Ok(if self.eat_punct(TokenKind::Dot) {
            ObjectName {
                database: Some(first),
                name: self.ident()?,
            }
        } else {
            ObjectName {
                database: None,
                name: first,
            }
        })
    }
    /// What a text means: one piece. Pieces in a row are one text in expressions alone.
    pub fn text_literal(&mut self) -> Result<String> {
        if !self.at_punct(TokenKind::Text) {
            return Err(self.error_here());
        }
        let token = self.next();
        Ok(self.unescape(token).into_owned())
    }
    /// What one quoted piece means.
    pub(crate) fn unescape(&self, token: Token) -> std::borrow::Cow<'t, str> {
        unquote(self.slice(token), !self.mode().no_backslash_escapes)
    }
    /// An unsigned whole number.
    pub fn uint(&mut self) -> Result<u64> {
        let value = match self.token.kind {
            TokenKind::Int => self.slice(self.token).parse().ok(),
            TokenKind::Hex => self
                .slice(self.token)
                .strip_prefix("0x")
                .and_then(|d| u64::from_str_radix(d, 16).ok()),
            _ => None,
        };
        let value = value.ok_or_else(|| self.error_here())?;
        self.next();
        Ok(value)
    }
    /// Notes that the statement uses something deprecated. As many warnings as a session lists by default are enough.
    #[cold]
    pub(super) fn deprecate(&mut self, what: Deprecated) {
        const MOST: usize = 1024;
        if self.deprecated.len() < MOST {
            self.deprecated.push(what);
        }
    }
    /// What it has used so far.
    pub(super) fn deprecated(&mut self) -> Vec<Deprecated> {
        std::mem::take(&mut self.deprecated)
    }
    /// What stands in parentheses.
    pub fn parens<R>(&mut self, inner: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.expect_punct(TokenKind::LParen)?;
        let r = inner(self)?;
        self.expect_punct(TokenKind::RParen)?;
        Ok(r)
    }
    /// The name of a character set, which may be deprecated.
    pub(super) fn charset_name(&mut self) -> Result<Ident> {
        let name = self.charset_or_collation()?;
        if let Some(what) = Deprecated::charset(name.as_str()) {
            self.deprecate(what);
        }
        Ok(name)
    }
    /// The name of a collation, which may be deprecated.
    pub(super) fn collation_name(&mut self) -> Result<Ident> {
        let name = self.charset_or_collation()?;
        if let Some(what) = Deprecated::collation(name.as_str()) {
            self.deprecate(what);
        }
        Ok(name)
    }
    /// A name, a text, or `BINARY`.
    pub(super) fn charset_or_collation(&mut self) -> Result<Ident> {
        if self.at(Keyword::BINARY) || self.at(Keyword::DEFAULT) {
            return Ok(self.ident_here());
        }
        self.ident_or_text()
    }
}

/// Whether a token may be a name.
#[inline]
pub(crate) fn is_ident(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Ident | TokenKind::QuotedIdent => true,
        TokenKind::Keyword(k) => !k.is_reserved(),
        _ => false,
    }
}
