//! Panics of background work, made errors: what one damaged row does must not end a thread that serves all.

use crate::error::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`; a panic in it is told as damage, for that is what makes code panic that reads pages. What `f` holds is released
/// by unwinding; a panic in the middle of a change of pages ends the process ([`crate::pool::Mtr`]).
pub(crate) fn guarded<R>(f: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("no message");
        Err(Error::Corrupt(format!(
            "a panic, perhaps because of damaged data: {text}"
        )))
    })
}
