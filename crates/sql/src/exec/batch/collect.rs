//! Rows that come out of loops by batches and go on row by row.
//!
//! Workers write rows down until there are some megabytes of them; then the session's thread reads them back and gives them to what
//! comes next, and workers go on where they were. So what comes next may use the transaction, which a snapshot borrows, and no
//! more is read than is wanted, about: the first round is small.

use super::pipeline::{Beside, More};
use super::prefix::Prefix;
use super::rows::{Batch, SourceRows};
use super::workers::{self, Halt, Ran, Shared};
use super::{Loops, join::Contexts};
use crate::error::{SqlError, SqlResult};
use crate::exec::codec;
use crate::exec::hash::put_back;
use crate::exec::levels::{self, Emit};
use crate::exec::state::{Flow, State};
use crate::expr::RowRef;
use crate::plan::nodes::Block;
use crate::row::Reader;
use crate::value::Value;

/// Bytes of rows of a worker's first and largest rounds.
const ROUND_BYTES: (usize, usize) = (64 << 10, 4 << 20);
/// Each round is so many times larger than the one before.
const GROWTH: usize = 8;

/// Runs loops, and what comes after them for each row.
#[expect(clippy::too_many_arguments)]
pub fn run<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    prefix: &Prefix<'s>,
    loops: &Loops<'s>,
    most: usize,
    rows: &[RowRef<'_>],
    around: &[Beside<'_>],
    shared: &Shared<'_>,
    emit: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let rest = &b.levels[prefix.len()..];
    let mut bytes = ROUND_BYTES.0;
    let mut flow = Flow::Continue;
    while flow != Flow::Stop && !loops.reading.morsels.is_empty() {
        let written = match round(st, b, loops, most, bytes, around, shared) {
            Ok(written) => written,
            Err(Halt::Error(e)) => return Err(e),
            // What is built by now can be kept, and keys are of their kinds.
            Err(Halt::Unfit | Halt::Stopped) => {
                return Err(SqlError::new(
                    1105,
                    "A value is not of its expression's type",
                ));
            }
        };
        bytes = (bytes * GROWTH).min(ROUND_BYTES.1);
        for list in &written {
            if flow == Flow::Stop {
                break;
            }
            flow = replay(st, b, prefix, list, rows, &mut |st, rows| {
                levels::rest(st, b, rest, rows, emit)
            })?;
        }
    }
    levels::late(st, b, rest, rows, flow, emit)
}

/// Lets workers write down rows until each has so many bytes, or none is left.
fn round(
    st: &State<'_>,
    b: &Block,
    loops: &Loops<'_>,
    most: usize,
    bytes: usize,
    around: &[Beside<'_>],
    shared: &Shared<'_>,
) -> Ran<Vec<Vec<u8>>> {
    let snapshot = st.txn.snapshot().ok_or(Halt::Stopped)?;
    let morsels = &loops.reading.morsels;
    workers::run(st.env, shared, most, |worker| {
        let mut out = Vec::new();
        loops
            .pipeline
            .run(worker, snapshot, morsels, around, |batch, cx| {
                put(b, &batch, cx, &mut out);
                Ok(match out.len() < bytes {
                    true => More::Yes,
                    false => More::Later,
                })
            })?;
        Ok(out)
    })
}

/// Writes the rows of a block's sources down.
fn put(b: &Block, batch: &Batch<'_>, cx: &Contexts<'_>, out: &mut Vec<u8>) {
    let zone = cx.batch.session.zone.get();
    let sources = b.base..b.base + b.sources.len();
    let mut values: Vec<Value<'_>> = Vec::new();
    for row in 0..batch.len {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        for n in sources.clone() {
            match &batch.sources[n] {
                SourceRows::Stored(schema, list) => match list[row] {
                    Some(bytes) => codec::put_row(&RowRef::Stored(schema, bytes), out),
                    None => codec::put_row(&RowRef::Nulls, out),
                },
                SourceRows::Nulls => codec::put_row(&RowRef::Nulls, out),
                kept @ SourceRows::Kept(columns, _) => {
                    values.clear();
                    let all = 0..columns.columns.len();
                    values.extend(all.map(|c| kept.value(row, c, zone)));
                    codec::put_row(&RowRef::Values(&values), out);
                }
            }
        }
        let len = (out.len() - at - 4) as u32;
        out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }
}

/// Reads rows back and gives to `f` those that meet the conditions that were left over.
fn replay<'s>(
    st: &mut State<'s>,
    b: &'s Block,
    prefix: &Prefix<'s>,
    written: &[u8],
    rows: &[RowRef<'_>],
    f: &mut Emit<'_, 's>,
) -> SqlResult<Flow> {
    let mut all = Reader(written);
    let mut put = Vec::new();
    while !all.is_empty() {
        st.tick()?;
        put.clear();
        let mut r = Reader(all.bytes());
        while !r.is_empty() {
            put.push(codec::row(&mut r));
        }
        let now = put_back(b, &put, rows);
        let mut passes = true;
        for c in &prefix.left {
            passes = passes && st.pass(b, std::slice::from_ref(c), &now)?;
        }
        if passes && f(st, &now)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}
