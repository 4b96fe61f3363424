//! Stacks besides the thread's own.
//!
//! **Deep.** Binding, evaluating and dropping an expression recurse as deep as it nests. Nesting by parentheses is bounded by the
//! parser; a chain like `1 + 1 + 1 …` nests once per operator and is not. How deep that goes is bounded by the longest run
//! of tokens between two commas, or by what `parse/depth` makes of the nesting, if that is more: statements with a short run use the
//! caller's stack, those with a long run get one of their own, those with a run longer than that bears are refused.
//!
//! **Lent.** A thread's stack keeps the memory of the deepest call it ever made, for as long as its connection lasts. Parsing and
//! planning go five times as deep as running a plan, seldom and for a moment: they borrow one of a few
//! stacks that all threads share ([`lent`]).

use corosensei::stack::DefaultStack;
use parking_lot::Mutex;

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
/// Size of the stacks lent; that of a connection's thread. Just under 2 MiB: the system backs aligned ranges of 2 MiB by one huge
/// page where it is so configured.
const LENT_STACK: usize = (2 << 20) - (128 << 10);
/// Stacks kept when nobody uses them. More than this many threads parse at a time only where there are as many cores.
const KEPT: usize = 16;

/// Stacks to lend.
static IDLE: Mutex<Vec<DefaultStack>> = Mutex::new(Vec::new());

/// Error 1436 if no stack bears a run of this length.
pub fn check(run: usize) -> SqlResult<()> {
    if run > LONGEST_RUN {
        return Err(SqlError::new(
            1436,
            "Thread stack overrun: the statement is nested too deeply",
        ));
    }
    Ok(())
}

/// Whether a statement with this longest run needs a stack of its own.
#[inline]
pub fn is_deep(run: usize) -> bool {
    run > ORDINARY_RUN
}

/// Runs `f` where a statement with this longest run has stack enough.
#[inline]
pub fn with_room<R>(run: usize, f: impl FnOnce() -> R) -> R {
    if !is_deep(run) {
        return f();
    }
    // Address space for want of which a program ends anyway.
    let stack = DefaultStack::new(DEEP_STACK).expect("address space for a stack");
    corosensei::on_stack(stack, f)
}

/// A stack that goes back when it is done with, by a panic too.
struct Lent(Option<DefaultStack>);

impl Drop for Lent {
    fn drop(&mut self) {
        let mut idle = IDLE.lock();
        if let Some(stack) = self.0.take()
            && idle.len() < KEPT
        {
            idle.push(stack);
        }
    }
}

/// Runs `f`, which needs much stack for a short time, on a stack lent for the purpose. Statements that nest deeply have
/// one of their own already ([`with_room`]) and stay there.
pub fn lent<R>(run: usize, f: impl FnOnce() -> R) -> R {
    if is_deep(run) {
        return f();
    }
    let idle = IDLE.lock().pop();
    let mut lent = Lent(idle.or_else(|| DefaultStack::new(LENT_STACK).ok()));
    match &mut lent.0 {
        Some(stack) => corosensei::on_stack(stack, f),
        None => f(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    fn address() -> usize {
        let here = 0u8;
        std::ptr::from_ref(std::hint::black_box(&here)).addr()
    }

    #[test]
    fn lends_a_stack_and_takes_it_back() {
        let own = address();
        let other = lent(0, || (address(), lent(0, address)));
        assert!(own.abs_diff(other.0) > 64 << 10 && own.abs_diff(other.1) > 64 << 10);
        assert!(other.0.abs_diff(other.1) > 64 << 10);
        assert!(!IDLE.lock().is_empty());
        assert!(catch_unwind(|| lent(0, || panic!("as planned"))).is_err());
        assert_eq!(lent(0, || 7), 7);
    }

    #[test]
    fn deep_statements_stay_on_their_stack() {
        let (outer, inner) = with_room(LONGEST_RUN, || (address(), lent(LONGEST_RUN, address)));
        assert!(outer.abs_diff(inner) < 64 << 10);
    }
}
