//! SELECT ... INTO OUTFILE and DUMPFILE. The file is created before the first row is looked for, and removed if the statement fails.

use std::io::Write;

use super::state::{Flow, State};
use super::{Outcome, block, has_hidden_digits, shown};
use crate::error::{SqlError, SqlResult};
use crate::files::access::{self, write_error};
use crate::files::write::Writer;
use crate::logical::IntoFile;
use crate::plan::Plan;
use crate::plan::nodes::Query;
use crate::value::{Value, write_text};

/// Bytes that are gathered before they are written.
const CHUNK: usize = 64 << 10;

/// Runs a query into a file, `limit` rows at most if it has no LIMIT of its own.
pub fn run<'s>(
    st: &mut State<'s>,
    plan: &'s Plan,
    q: &'s Query,
    into: &'s IntoFile,
    limit: u64,
) -> SqlResult<Outcome> {
    let mut to = access::create(st.env, &into.name)?;
    let limit = if plan.is_unlimited() { limit } else { u64::MAX };
    let done = fill(st, q, into, limit, &mut to.file);
    if done.is_err() {
        to.remove();
    }
    done
}

fn fill<'s>(
    st: &mut State<'s>,
    q: &'s Query,
    into: &'s IntoFile,
    limit: u64,
    to: &mut dyn Write,
) -> SqlResult<Outcome> {
    let mut writer = into.rows.as_ref().map(|(format, encoding)| {
        let types = into.columns.iter().map(|c| c.ty.clone());
        Writer::new(format, types.collect(), *encoding)
    });
    if let Some((format, _)) = &into.rows {
        format.warn(st.env);
    }
    if writer.as_ref().is_some_and(Writer::is_ambiguous) {
        st.env.warn(
            1475,
            "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty \
             FIELDS ENCLOSED BY",
        );
    }
    let mut out = Vec::new();
    let mut rows = 0;
    let counts = block::query(st, q, &[], &mut |_, row| {
        if rows == limit {
            return Ok(Flow::Stop);
        }
        let rounded;
        let row = match has_hidden_digits(row, &into.columns) {
            true => {
                rounded = shown(row, &into.columns);
                &rounded[..]
            }
            false => row,
        };
        match &mut writer {
            Some(writer) => writer.put_row(row, &mut out),
            None if rows == 1 => return Err(too_many_rows()),
            None => dump(row, into, &mut out),
        }
        rows += 1;
        if out.len() >= CHUNK {
            to.write_all(&out)
                .map_err(|e| write_error(&into.name, &e))?;
            out.clear();
        }
        Ok(Flow::Continue)
    })?;
    to.write_all(&out)
        .map_err(|e| write_error(&into.name, &e))?;
    Ok(Outcome {
        affected: rows,
        found_rows: counts.found,
        ..Outcome::default()
    })
}

/// Appends a row's values, with nothing between them.
fn dump(row: &[Value<'_>], into: &IntoFile, out: &mut Vec<u8>) {
    for (v, column) in row.iter().zip(into.columns.iter()) {
        if !v.is_null() {
            write_text(v, &column.ty, out);
        }
    }
}

/// Error 1172.
pub(super) fn too_many_rows() -> SqlError {
    SqlError::new(1172, "Result consisted of more than one row")
}
