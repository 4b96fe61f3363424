//! Hash joins over batches: the rows of a batch with those of a built side that match.

use super::kernel::{BatchContext, Kernel};
use super::keys::Keys;
use super::rows::{BATCH_ROWS, Batch, SourceRows};
use super::table::JoinTable;
use super::workers::{Halt, Ran};
use crate::expr::EvalContext;
use crate::plan::nodes::LevelKind;

/// A level that is a hash join.
pub struct Join<'e> {
    /// Which of its rows go on.
    pub kind: LevelKind,
    /// The source that was built.
    pub source: usize,
    /// Keys of the rows that look up.
    pub keys: Keys<'e>,
    /// The built side.
    pub table: JoinTable,
    /// Conditions on a pair.
    pub on: Vec<Kernel<'e>>,
    /// Conditions on what comes out of any but an inner join.
    pub filter: Vec<Kernel<'e>>,
}

/// What evaluation reads beside a batch.
pub struct Contexts<'b> {
    /// Of kernels.
    pub batch: BatchContext<'b>,
    /// Of single values.
    pub row: EvalContext<'b>,
}

/// Keeps the rows of a batch for which all conditions are true.
pub fn narrow<'e, 'b>(
    batch: &mut Batch<'b>,
    conditions: &[Kernel<'e>],
    cx: &Contexts<'b>,
) -> Ran<()>
where
    'e: 'b,
{
    let mut kept = Vec::new();
    for c in conditions {
        if batch.len == 0 {
            break;
        }
        kept.clear();
        c.select(batch, &cx.batch, &mut kept)?;
        batch.select(&kept);
    }
    Ok(())
}

/// Pairs of rows: of a batch and of a built side.
#[derive(Default)]
struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

/// Takes batches.
pub type Sink<'k, 'b> = dyn FnMut(Batch<'b>) -> Ran<()> + 'k;

impl<'e> Join<'e> {
    /// Gives `out` what comes of a batch.
    pub fn run<'b>(&'b self, batch: Batch<'b>, cx: &Contexts<'b>, out: &mut Sink<'_, 'b>) -> Ran<()>
    where
        'e: 'b,
    {
        let keys = self.keys.values(&batch, &cx.batch, &cx.row)?;
        let keys = keys.ok_or(Halt::Unfit)?;
        let (outer, anti) = (self.kind == LevelKind::Outer, self.kind == LevelKind::Anti);
        // One match of each row decides, where nothing else is asked of a pair.
        let first = self.on.is_empty() && matches!(self.kind, LevelKind::Semi | LevelKind::Anti);
        let mut matched = vec![
            false;
            if self.kind == LevelKind::Inner {
                0
            } else {
                batch.len
            }
        ];
        let mut pairs = Pairs::default();
        self.table.matches(&keys, batch.len, first, |left, right| {
            // Of these joins no row goes on twice.
            if (anti || self.kind == LevelKind::Semi) && matched[left as usize] {
                return Ok(());
            }
            pairs.left.push(left);
            pairs.right.push(right);
            if pairs.left.len() >= BATCH_ROWS {
                self.pairs(&batch, &mut pairs, &mut matched, cx, out)?;
            }
            Ok(())
        })?;
        self.pairs(&batch, &mut pairs, &mut matched, cx, out)?;
        if !outer && !anti {
            return Ok(());
        }
        let alone: Vec<u32> = (0..batch.len as u32)
            .filter(|r| !matched[*r as usize])
            .collect();
        let mut batch = batch;
        batch.select(&alone);
        batch.sources[self.source] = SourceRows::Nulls;
        narrow(&mut batch, &self.filter, cx)?;
        if batch.len > 0 { out(batch) } else { Ok(()) }
    }

    /// Gives `out` what comes of these pairs, and forgets them.
    fn pairs<'b>(
        &'b self,
        batch: &Batch<'b>,
        pairs: &mut Pairs,
        matched: &mut [bool],
        cx: &Contexts<'b>,
        out: &mut Sink<'_, 'b>,
    ) -> Ran<()>
    where
        'e: 'b,
    {
        if pairs.left.is_empty() {
            return Ok(());
        }
        let left = std::mem::take(&mut pairs.left);
        let right = std::mem::take(&mut pairs.right);
        let mut joined = Batch {
            len: left.len(),
            sources: batch.sources.iter().map(|s| s.gather(&left)).collect(),
        };
        joined.sources[self.source] = SourceRows::Kept(&self.table.columns, right);
        // What is left of `left` after each condition.
        let mut kept: Vec<u32> = (0..left.len() as u32).collect();
        for c in &self.on {
            if joined.len == 0 {
                break;
            }
            let mut true_for = Vec::new();
            c.select(&joined, &cx.batch, &mut true_for)?;
            joined.select(&true_for);
            kept = true_for.iter().map(|n| kept[*n as usize]).collect();
        }
        match self.kind {
            LevelKind::Inner => {}
            LevelKind::Semi => {
                let mut fresh = Vec::new();
                for (n, k) in kept.iter().enumerate() {
                    let row = left[*k as usize] as usize;
                    if !matched[row] {
                        matched[row] = true;
                        fresh.push(n as u32);
                    }
                }
                joined.select(&fresh);
            }
            LevelKind::Outer | LevelKind::Anti => {
                for k in &kept {
                    matched[left[*k as usize] as usize] = true;
                }
                if self.kind == LevelKind::Anti {
                    return Ok(());
                }
            }
        }
        if self.kind != LevelKind::Inner {
            narrow(&mut joined, &self.filter, cx)?;
        }
        if joined.len > 0 { out(joined) } else { Ok(()) }
    }
}
