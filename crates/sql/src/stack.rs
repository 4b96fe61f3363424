//! Stack for statements that nest deeply.
//!
//! Binding, evaluating and dropping an expression recurse as deep as it nests. Nesting by parentheses is bounded by the
//! parser; a chain like `1 + 1 + 1 …` nests once per operator and is not. How deep that goes is bounded by the longest run
//! of tokens between two commas: statements with a short run use the caller's stack, those with a long
//! run get one of their own, those with a run longer than that bears are refused.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{SqlError, SqlResult};

/// The longest run that a thread's ordinary stack bears (debug builds have far larger frames).
const ORDINARY_RUN: usize = if cfg!(debug_assertions) { 100 } else { 500 };
/// The longest run that [`DEEP_STACK`] bears.
const LONGEST_RUN: usize = if cfg!(debug_assertions) {
    20_000
} else {
    120_000
};
/// Only address space until it is used.
const DEEP_STACK: usize = 256 << 20;

/// Length of the longest run of tokens between commas; error 1436 if no stack bears it.
pub fn longest_run(tokens: &[TokenWithSpan]) -> SqlResult<usize> {
    let mut longest = 0;
    let mut run = 0;
    for t in tokens {
        run += 1;
        if matches!(t.token, Token::Comma | Token::SemiColon) {
            run = 0;
        }
        longest = longest.max(run);
    }
    if longest > LONGEST_RUN {
        return Err(SqlError::new(
            1436,
            "Thread stack overrun: the statement is nested too deeply",
        ));
    }
    Ok(longest)
}

/// Whether a statement with this longest run needs a stack of its own.
#[inline]
pub fn is_deep(run: usize) -> bool {
    run > ORDINARY_RUN
}

/// Runs `f` where a statement with this longest run has stack enough.
#[inline]
pub fn with_room<R>(run: usize, f: impl FnOnce() -> R) -> R {
    if is_deep(run) {
        stacker::grow(DEEP_STACK, f)
    } else {
        f()
    }
}
