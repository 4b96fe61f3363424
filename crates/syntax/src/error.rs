//! What is wrong with a text, worded as MySQL words it.

use std::fmt;

use crate::span::Span;

/// How much of the text an error quotes, in characters.
const QUOTED: usize = 80;

/// An error in a statement's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// MySQL's error number: mostly 1064; 1235 for what is known and not supported.
    pub code: u16,
    /// The message as a client sees it.
    pub message: String,
    /// Where.
    pub span: Span,
}

/// What parsing gives.
pub type Result<T> = std::result::Result<T, SyntaxError>;

impl SyntaxError {
    /// An error with a number and wording of its own.
    pub fn new(code: u16, span: Span, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            code,
            message: message.into(),
            span,
        }
    }
    /// 1064 at a byte of the text.
    #[cold]
    pub fn near(text: &str, at: u32) -> SyntaxError {
        let shown = text.trim_end_matches([';', ' ', '\n', '\t', '\r']);
        let mut from = (at as usize).min(shown.len());
        while !shown.is_char_boundary(from) {
            from -= 1;
        }
        let line = memchr::memchr_iter(b'\n', &shown.as_bytes()[..from]).count() + 1;
        let rest: String = shown[from..].chars().take(QUOTED).collect();
        SyntaxError::new(
            1064,
            Span::new(at, at),
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use near '{rest}' at line {line}"
            ),
        )
    }
    /// 1235: `what` is MySQL's and is not supported.
    #[cold]
    pub fn unsupported(what: impl fmt::Display, span: Span) -> SyntaxError {
        SyntaxError::new(
            1235,
            span,
            format!("This version of Millpond doesn't yet support '{what}'"),
        )
    }
    /// 1436: more nesting than a stack bears.
    #[cold]
    pub fn too_deep(span: Span) -> SyntaxError {
        SyntaxError::new(
            1436,
            span,
            "Thread stack overrun: the statement is nested too deeply",
        )
    }
    /// 3170: a tree larger than what a text of this length may make.
    #[cold]
    pub fn too_large(limit: u64, span: Span) -> SyntaxError {
        SyntaxError::new(
            3170,
            span,
            format!(
                "Memory capacity of {limit} bytes for 'parser_max_mem_size' exceeded. Parser bailed out for this query."
            ),
        )
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}
