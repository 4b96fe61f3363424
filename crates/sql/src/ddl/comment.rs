//! COMMENT of tables and columns: how long it may be.

use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};

/// A comment that has at most `most` characters. A longer one is an error of this code in strict mode, and is cut with a warning in
/// others. `of`: what it is for.
pub(super) fn fitting(
    text: &str,
    (most, code): (usize, u16),
    of: &str,
    env: &SessionEnv,
) -> SqlResult<String> {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return Ok(text.to_string());
    };
    let message = format!("Comment for {of} is too long (max = {most})");
    if env.sql_mode.get().strict {
        return Err(SqlError::new(code, message));
    }
    env.warn(code, message);
    Ok(text[..end].to_string())
}
