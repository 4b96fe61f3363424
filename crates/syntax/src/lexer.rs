//! Text to tokens, one at a time, over borrowed text.
//!
//! Tokens hold where they stand and what they are; what they mean ([`crate::text::unescape`]) is told when it is asked for.
//! Version comments (`/*!80013 … */`) are looked into, others are blanks; hints (`/*+ … */`) are tokens where MySQL sees them.
//! The lexer never fails: what can't be a token is [`TokenKind::Bad`].

use memchr::{memchr, memchr2, memmem};

use crate::charset;
use crate::keyword::{Class, HASH_START, Keyword, hash_byte};
use crate::span::Span;

/// MySQL's version as version comments see it: `/*!80036 ... */` is code, `/*!90000 ... */` is not.
pub const VERSION: u32 = 80099;

/// What of `sql_mode` changes how a text reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LexMode {
    /// ANSI_QUOTES: `"x"` is a name.
    pub ansi_quotes: bool,
    /// PIPES_AS_CONCAT: `||` joins texts.
    pub pipes_as_concat: bool,
    /// NO_BACKSLASH_ESCAPES: `\` is a character as any other.
    pub no_backslash_escapes: bool,
    /// HIGH_NOT_PRECEDENCE: NOT binds as `!` does.
    pub high_not_precedence: bool,
    /// IGNORE_SPACE: blanks may stand between a built-in function's name and its parenthesis.
    pub ignore_space: bool,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word the grammar knows; a name too, unless it is reserved.
    Keyword(Keyword),
    /// A name without quotes.
    Ident,
    /// A name in backticks (or in double quotes, with ANSI_QUOTES).
    QuotedIdent,
    /// `'…'` or `"…"`, one piece: `'a' 'b'` are two tokens.
    Text,
    /// `N'…'`.
    NationalText,
    /// Digits.
    Int,
    /// Digits with a point.
    Decimal,
    /// A number with an exponent.
    Float,
    /// `0x1F`, `x'1F'`.
    Hex,
    /// `0b101`, `b'101'`.
    Bits,
    /// `_utf8mb4`, with the underscore.
    Introducer,
    /// `@name`, `@'name'`, with the `@`; behind an account's name, its host.
    UserVariable,
    /// `@` alone.
    At,
    /// `@@`.
    AtAt,
    /// `?`.
    Param,
    /// `/*+ … */`, whole.
    Hint,
    /// `(`.
    LParen,
    /// `)`.
    RParen,
    /// `{`.
    LBrace,
    /// `}`.
    RBrace,
    /// `,`.
    Comma,
    /// `.`.
    Dot,
    /// `;`.
    Semicolon,
    /// `:`.
    Colon,
    /// `:=`.
    Assign,
    /// `+`.
    Plus,
    /// `-`.
    Minus,
    /// `*`.
    Star,
    /// `/`.
    Slash,
    /// `%`.
    Percent,
    /// `=`.
    Eq,
    /// `<=>`.
    NullSafeEq,
    /// `<>` or `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `<<`.
    Shl,
    /// `>>`.
    Shr,
    /// `&`.
    Amp,
    /// `&&`.
    AmpAmp,
    /// `|`.
    Pipe,
    /// `||`.
    PipePipe,
    /// `^`.
    Caret,
    /// `~`.
    Tilde,
    /// `!`.
    Bang,
    /// `->`.
    Arrow,
    /// `->>`.
    ArrowText,
    /// Nothing MySQL knows: an unclosed quote, a stray sign.
    Bad,
    /// The end of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Token {
    /// Where it stands.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// Reads tokens. A copy of it reads on from the same place.
#[derive(Clone, Copy)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// What positions count from: where in a statement the text begins.
    base: u32,
    mode: LexMode,
    /// Within a version comment that is code.
    in_comment: bool,
    /// What the last token makes of the next one.
    after: After,
    /// Whether a comment was met.
    commented: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Any,
    /// A name; a dot that follows at once is no decimal point.
    Name,
    /// A dot: a name follows, whatever its letters.
    Dot,
    /// SELECT and its like: hints may follow.
    Hinted,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum C {
    Blank,
    Word,
    Digit,
    Sign,
}

static CLASS: [C; 256] = {
    let mut t = [C::Sign; 256];
    let mut b = 0;
    while b < 256 {
        t[b] = match b as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => C::Blank,
            b'0'..=b'9' => C::Digit,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xff => C::Word,
            _ => C::Sign,
        };
        b += 1;
    }
    t
};

fn in_word(b: u8) -> bool {
    matches!(CLASS[usize::from(b)], C::Word | C::Digit)
}

/// Where a quoted thing that begins at `at` ends; `None` if it is not closed.
pub(crate) fn quoted_end(b: &[u8], at: usize, escapes: bool) -> Option<usize> {
    let quote = b[at];
    let mut i = at + 1;
    loop {
        i += if escapes {
            memchr2(quote, b'\\', b.get(i..)?)?
        } else {
            memchr(quote, b.get(i..)?)?
        };
        if b[i] != quote || b.get(i + 1) == Some(&quote) {
            i += 2;
        } else {
            return Some(i + 1);
        }
    }
}

/// Where a `--` comment or `#` comment ends: at its line's end.
pub(crate) fn line_end(b: &[u8], at: usize) -> usize {
    memchr(b'\n', &b[at..]).map_or(b.len(), |n| at + n)
}

/// Whether `--` at this place begins a comment.
pub(crate) fn dashes_comment(b: &[u8], at: usize) -> bool {
    b[at..].starts_with(b"--")
        && b.get(at + 2)
            .is_none_or(|c| c.is_ascii_whitespace() || c.is_ascii_control())
}

/// What `/*!` at this place opens: whether it is code, and where the code (or what is after the comment) begins.
fn version_comment(b: &[u8], at: usize) -> (bool, usize) {
    let digits = b[at + 3..]
        .iter()
        .take(6)
        .take_while(|c| c.is_ascii_digit())
        .count();
    // A version has five or six digits; fewer are part of the code.
    let digits = if digits < 5 { 0 } else { digits };
    let version = b[at + 3..at + 3 + digits]
        .iter()
        .fold(0u32, |v, c| v * 10 + u32::from(c - b'0'));
    (version <= VERSION, at + 3 + digits)
}

/// Where a comment that begins at `at` ends; `None` if it isn't closed.
pub(crate) fn comment_end(b: &[u8], at: usize) -> Option<usize> {
    memmem::find(b.get(at + 2..)?, b"*/").map(|n| at + n + 4)
}

/// Where a comment that is no code ends; version comments may hold others.
fn skipped_version_comment(b: &[u8], at: usize) -> Option<usize> {
    let mut i = at + 3;
    loop {
        i += memchr2(b'*', b'/', b.get(i..)?)?;
        if b[i..].starts_with(b"*/") {
            return Some(i + 2);
        }
        i = if b[i..].starts_with(b"/*") {
            comment_end(b, i)?
        } else {
            i + 1
        };
    }
}

impl<'t> Lexer<'t> {
    /// Over a text of less than 4 GiB.
    pub fn new(text: &'t str, mode: LexMode) -> Lexer<'t> {
        Lexer {
            text,
            at: 0,
            base: 0,
            mode,
            in_comment: false,
            after: After::Any,
            commented: false,
        }
    }
    /// Whether a comment was met so far, of any kind.
    pub(crate) fn commented(&self) -> bool {
        self.commented
    }
    /// The text it reads.
    pub fn text(&self) -> &'t str {
        self.text
    }
    /// The mode it reads in.
    pub fn mode(&self) -> LexMode {
        self.mode
    }
    /// Whether the place reached is within a version comment that is code.
    pub(crate) fn in_comment(&self) -> bool {
        self.in_comment
    }
    /// Over a part of a statement, which begins at `base` of it, within a version comment or not.
    pub(crate) fn part(text: &'t str, mode: LexMode, base: u32, in_comment: bool) -> Lexer<'t> {
        Lexer {
            base,
            in_comment,
            ..Lexer::new(text, mode)
        }
    }
    /// Where its text begins in the statement.
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// Skips blanks and comments; `Err` is the start of a comment that isn't closed.
    #[inline]
    fn blanks(&mut self) -> Result<(), usize> {
        let b = self.text.as_bytes();
        loop {
            let Some(&c) = b.get(self.at) else {
                return Ok(());
            };
            if CLASS[usize::from(c)] == C::Blank {
                self.at += 1;
                continue;
            }
            match c {
                b'#' => {
                    self.commented = true;
                    self.at = line_end(b, self.at);
                }
                b'-' if dashes_comment(b, self.at) => {
                    self.commented = true;
                    self.at = line_end(b, self.at);
                }
                b'*' if self.in_comment && b.get(self.at + 1) == Some(&b'/') => {
                    self.in_comment = false;
                    self.at += 2;
                }
                b'/' if b.get(self.at + 1) == Some(&b'*') => {
                    if !self.comment(b)? {
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// A comment; false for one that is a token.
    fn comment(&mut self, b: &[u8]) -> Result<bool, usize> {
        let start = self.at;
        self.commented = true;
        let end = match b.get(start + 2) {
            Some(b'+') if self.after == After::Hinted => return Ok(false),
            Some(b'!') => match version_comment(b, start) {
                (true, code) => {
                    self.in_comment = true;
                    Some(code)
                }
                (false, _) => skipped_version_comment(b, start),
            },
            _ => comment_end(b, start),
        };
        self.at = end.ok_or(start)?;
        Ok(true)
    }

    /// The next token. After the end, the end again.
    #[inline]
    pub fn next_token(&mut self) -> Token {
        let blanks = self.blanks();
        let b = self.text.as_bytes();
        let start = self.at;
        let after = std::mem::replace(&mut self.after, After::Any);
        let kind = match (blanks, b.get(start)) {
            (Err(open), _) => {
                self.at = b.len();
                return Token {
                    kind: TokenKind::Bad,
                    start: self.base + open as u32,
                    end: self.base + b.len() as u32,
                };
            }
            // A version comment must be closed. Told once, so that whoever reads to the end finds it.
            (_, None) if std::mem::take(&mut self.in_comment) => TokenKind::Bad,
            (_, None) => TokenKind::End,
            (_, Some(&c)) => match CLASS[usize::from(c)] {
                C::Word => self.word(b, after),
                C::Digit => self.number(b, after),
                _ => self.sign(b, c, after),
            },
        };
        Token {
            kind,
            start: self.base + start as u32,
            end: self.base + self.at as u32,
        }
    }

    #[inline]
    fn word(&mut self, b: &[u8], after: After) -> TokenKind {
        let start = self.at;
        let mut hash = HASH_START;
        let mut end = start;
        while let Some(&c) = b.get(end) {
            if !in_word(c) {
                break;
            }
            hash = hash_byte(hash, c);
            end += 1;
        }
        if after != After::Dot
            && b.get(end) == Some(&b'\'')
            && end == start + 1
            && let Some(kind) = self.prefixed(b, start)
        {
            return kind;
        }
        self.at = end;
        self.after = After::Name;
        if after == After::Dot {
            return TokenKind::Ident;
        }
        let word = &b[start..end];
        if word[0] == b'_' && charset::is_introducer(&word[1..]) {
            self.after = After::Any;
            return TokenKind::Introducer;
        }
        let Some(k) = Keyword::find(word, hash) else {
            return TokenKind::Ident;
        };
        if k.class() == Class::Function && !self.call_follows(b) {
            return TokenKind::Ident;
        }
        match k {
            Keyword::SELECT
            | Keyword::INSERT
            | Keyword::REPLACE
            | Keyword::UPDATE
            | Keyword::DELETE => self.after = After::Hinted,
            _ => {}
        }
        TokenKind::Keyword(k)
    }

    /// Whether a parenthesis follows, which makes a function's name one.
    fn call_follows(&self, b: &[u8]) -> bool {
        if !self.mode.ignore_space {
            return b.get(self.at) == Some(&b'(');
        }
        let mut ahead = *self;
        ahead.blanks().is_ok() && b.get(ahead.at) == Some(&b'(')
    }

    /// `x'…'`, `b'…'`, `n'…'`.
    fn prefixed(&mut self, b: &[u8], start: usize) -> Option<TokenKind> {
        let digits = |valid: fn(&u8) -> bool| {
            let n = memchr(b'\'', &b[start + 2..])?;
            b[start + 2..start + 2 + n]
                .iter()
                .all(valid)
                .then_some(start + n + 3)
        };
        let (kind, end) = match b[start] {
            b'x' | b'X' => {
                let end = digits(u8::is_ascii_hexdigit);
                let even = end.is_some_and(|e| (e - start) % 2 == 1);
                (if even { TokenKind::Hex } else { TokenKind::Bad }, end)
            }
            b'b' | b'B' => (TokenKind::Bits, digits(|c| matches!(c, b'0' | b'1'))),
            b'n' | b'N' => (
                TokenKind::NationalText,
                quoted_end(b, start + 1, !self.mode.no_backslash_escapes),
            ),
            _ => return None,
        };
        match end {
            Some(end) => {
                self.at = end;
                Some(kind)
            }
            None => {
                self.at = b.len();
                Some(TokenKind::Bad)
            }
        }
    }

    fn number(&mut self, b: &[u8], after: After) -> TokenKind {
        let start = self.at;
        if after == After::Dot {
            return self.word(b, after);
        }
        let digits = |mut i: usize| {
            while b.get(i).is_some_and(u8::is_ascii_digit) {
                i += 1;
            }
            i
        };
        if b[start] == b'0' && matches!(b.get(start + 1), Some(b'x' | b'b')) {
            let hex = b[start + 1] == b'x';
            let mut i = start + 2;
            while b.get(i).is_some_and(|c| {
                if hex {
                    c.is_ascii_hexdigit()
                } else {
                    matches!(c, b'0' | b'1')
                }
            }) {
                i += 1;
            }
            if i > start + 2 && !b.get(i).is_some_and(|&c| in_word(c)) {
                self.at = i;
                return if hex { TokenKind::Hex } else { TokenKind::Bits };
            }
            return self.word(b, After::Dot);
        }
        let mut i = digits(start);
        match b.get(i) {
            Some(b'.') => {
                i = digits(i + 1);
                return self.exponent(b, i, TokenKind::Decimal);
            }
            Some(b'e' | b'E') => {
                let sign = usize::from(matches!(b.get(i + 1), Some(b'+' | b'-')));
                let end = digits(i + 1 + sign);
                if end > i + 1 + sign && (sign > 0 || !b.get(end).is_some_and(|&c| in_word(c))) {
                    self.at = end;
                    return TokenKind::Float;
                }
            }
            _ => {}
        }
        if b.get(i).is_some_and(|&c| in_word(c)) {
            // A name that begins with digits.
            return self.word(b, After::Dot);
        }
        self.at = i;
        TokenKind::Int
    }

    /// What may follow a number with a point.
    fn exponent(&mut self, b: &[u8], at: usize, without: TokenKind) -> TokenKind {
        self.at = at;
        if matches!(b.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(b.get(at + 1), Some(b'+' | b'-')));
            let mut end = at + 1 + sign;
            while b.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
            if end > at + 1 + sign {
                self.at = end;
                return TokenKind::Float;
            }
        }
        without
    }

    fn quoted(&mut self, b: &[u8], kind: TokenKind) -> TokenKind {
        let escapes = kind == TokenKind::Text && !self.mode.no_backslash_escapes;
        match quoted_end(b, self.at, escapes) {
            Some(end) => {
                self.at = end;
                if kind == TokenKind::QuotedIdent {
                    self.after = After::Name;
                }
                kind
            }
            None => {
                self.at = b.len();
                TokenKind::Bad
            }
        }
    }

    #[inline]
    fn sign(&mut self, b: &[u8], c: u8, after: After) -> TokenKind {
        use TokenKind as T;
        let next = b.get(self.at + 1).copied().unwrap_or(0);
        let third = b.get(self.at + 2).copied().unwrap_or(0);
        let (kind, length) = match (c, next) {
            (b'\'', _) => return self.quoted(b, T::Text),
            (b'"', _) if self.mode.ansi_quotes => return self.quoted(b, T::QuotedIdent),
            (b'"', _) => return self.quoted(b, T::Text),
            (b'`', _) => return self.quoted(b, T::QuotedIdent),
            (b'(', _) => (T::LParen, 1),
            (b')', _) => (T::RParen, 1),
            (b',', _) => (T::Comma, 1),
            (b'.', b'0'..=b'9') if after != After::Name => {
                let mut i = self.at + 1;
                while b.get(i).is_some_and(u8::is_ascii_digit) {
                    i += 1;
                }
                return self.exponent(b, i, T::Decimal);
            }
            (b'.', _) => {
                self.after = After::Dot;
                (T::Dot, 1)
            }
            (b'@', b'@') => (T::AtAt, 2),
            (b'@', _) => return self.user_variable(b, next),
            (b'=', _) => (T::Eq, 1),
            (b'<', b'=') if third == b'>' => (T::NullSafeEq, 3),
            (b'<', b'=') => (T::Le, 2),
            (b'<', b'>') => (T::Ne, 2),
            (b'<', b'<') => (T::Shl, 2),
            (b'<', _) => (T::Lt, 1),
            (b'>', b'=') => (T::Ge, 2),
            (b'>', b'>') => (T::Shr, 2),
            (b'>', _) => (T::Gt, 1),
            (b'!', b'=') => (T::Ne, 2),
            (b'!', _) => (T::Bang, 1),
            (b'-', b'>') if third == b'>' => (T::ArrowText, 3),
            (b'-', b'>') => (T::Arrow, 2),
            (b'-', _) => (T::Minus, 1),
            (b'+', _) => (T::Plus, 1),
            (b'*', _) => (T::Star, 1),
            (b'/', b'*') => match comment_end(b, self.at) {
                Some(end) => {
                    self.after = After::Hinted;
                    (T::Hint, end - self.at)
                }
                None => (T::Bad, b.len() - self.at),
            },
            (b'/', _) => (T::Slash, 1),
            (b'%', _) => (T::Percent, 1),
            (b'&', b'&') => (T::AmpAmp, 2),
            (b'&', _) => (T::Amp, 1),
            (b'|', b'|') => (T::PipePipe, 2),
            (b'|', _) => (T::Pipe, 1),
            (b'^', _) => (T::Caret, 1),
            (b'~', _) => (T::Tilde, 1),
            (b':', b'=') => (T::Assign, 2),
            (b':', _) => (T::Colon, 1),
            (b';', _) => (T::Semicolon, 1),
            (b'?', _) => (T::Param, 1),
            (b'{', _) => (T::LBrace, 1),
            (b'}', _) => (T::RBrace, 1),
            _ => (T::Bad, 1),
        };
        self.at += length;
        kind
    }

    fn user_variable(&mut self, b: &[u8], next: u8) -> TokenKind {
        let name = self.at + 1;
        let end = match next {
            b'\'' | b'"' | b'`' => {
                let escapes = next != b'`' && !self.mode.no_backslash_escapes;
                quoted_end(b, name, escapes)
            }
            _ => {
                let more = |c: &&u8| in_word(**c) || **c == b'.';
                Some(name + b[name..].iter().take_while(more).count())
            }
        };
        self.at = end.unwrap_or(b.len());
        match end {
            Some(end) if end > name => TokenKind::UserVariable,
            Some(_) => TokenKind::At,
            None => TokenKind::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads to the end gets there.
    #[test]
    fn a_version_comment_that_nothing_closes_is_told_once() {
        for text in ["/*!50003 SELECT 1", "/*!", "SELECT 1 /*! + /* */ 1 *!"] {
            let mut lexer = Lexer::new(text, LexMode::default());
            let kinds: Vec<_> = std::iter::from_fn(|| Some(lexer.next_token().kind))
                .take_while(|kind| *kind != TokenKind::End)
                .take(text.len())
                .collect();
            assert_eq!(kinds.last(), Some(&TokenKind::Bad), "{text}");
            assert_eq!(lexer.next_token().kind, TokenKind::End, "{text}");
        }
    }
}
