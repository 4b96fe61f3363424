//! Schema versions: under which definition a table's rows were written, where it has changed since without them.
//!
//! Each row says under which version it was written (`row::layout`). An ALTER TABLE that adds, drops or moves columns *instantly* gives the
//! table a version of its own, under which rows are written from then on, in the layout that follows from the columns as they
//! are now. Rows that are there stay as they are; of each earlier version the definition keeps the [`Step`] to the one after it, so
//! that a row is read by what it was written with: kept columns from where they were, added ones by the value that they had for
//! rows at the time, which never changes afterwards, whatever becomes of the default. A column that is dropped keeps its place in
//! the rows that have it.
//!
//! A table that is written anew has the first version again, and no earlier one. There are as many versions as there are ALTERs: nothing counts them.

use std::sync::{Arc, OnceLock};

use super::bytes::{Reader, Writer, corrupt};
use super::layout::form_in_rows;
use super::{Column, RowLayout};
use crate::error::SqlResult;
use crate::value::family::stored::Form;

/// The value of a column in rows that were written before it was there, as rows store it; `None`: NULL.
pub type Fill = Option<Arc<[u8]>>;

/// What stands for the width of a dropped column whose values rows didn't hold.
const NOTHING: u8 = u8::MAX;

/// Where a column's value is in a row of an earlier version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// In this column.
    Kept(usize),
    /// Nowhere.
    Added(Fill),
}

/// Columns of a version, in order.
#[derive(Clone, Debug, PartialEq)]
enum Run {
    /// So many of the version before, from this one on.
    Kept { from: usize, len: usize },
    /// One more.
    Added(Fill),
}

/// What an instant change makes of a version's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// How many columns the version before has.
    before: usize,
    /// Those of them that the change drops, ascending, with the bytes that each takes in rows; 0: a variable one; [`NOTHING`].
    dropped: Vec<(usize, u8)>,
    /// The columns after.
    runs: Vec<Run>,
}

impl Step {
    /// From `old` columns to others. `from`: for each of those its position before, or the value that it has in rows that are there.
    pub fn new(old: &[Column], from: Vec<Result<usize, Fill>>) -> Step {
        let mut runs: Vec<Run> = Vec::new();
        let width = |c: &Column| match form_in_rows(c) {
            (Form::Computed, _) => NOTHING,
            (_, width) => width,
        };
        let mut dropped: Vec<(usize, u8)> = old.iter().map(width).enumerate().collect();
        for source in from {
            match (source, runs.last_mut()) {
                (Ok(at), last) => {
                    dropped.retain(|(d, _)| *d != at);
                    match last {
                        Some(Run::Kept { from, len }) if *from + *len == at => *len += 1,
                        _ => runs.push(Run::Kept { from: at, len: 1 }),
                    }
                }
                (Err(fill), _) => runs.push(Run::Added(fill)),
            }
        }
        Step {
            before: old.len(),
            dropped,
            runs,
        }
    }

    /// Where each column after comes from.
    fn sources(&self) -> impl Iterator<Item = Source> {
        self.runs.iter().flat_map(|run| {
            let (from, len, fill) = match run {
                Run::Kept { from, len } => (*from, *len, None),
                Run::Added(fill) => (0, 1, Some(fill)),
            };
            (from..from + len).map(move |at| match fill {
                Some(fill) => Source::Added(fill.clone()),
                None => Source::Kept(at),
            })
        })
    }

    fn after(&self) -> usize {
        let len = |run: &Run| match run {
            Run::Kept { len, .. } => *len,
            Run::Added(_) => 1,
        };
        self.runs.iter().map(len).sum()
    }

    fn write(&self, w: &mut Writer) {
        w.number(self.before as u64);
        w.number(self.dropped.len() as u64);
        for (at, width) in &self.dropped {
            w.number(*at as u64);
            w.number(u64::from(*width));
        }
        w.number(self.runs.len() as u64);
        for run in &self.runs {
            match run {
                Run::Kept { from, len } => {
                    w.number(0);
                    w.number(*from as u64);
                    w.number(*len as u64);
                }
                Run::Added(None) => w.number(1),
                Run::Added(Some(bytes)) => {
                    w.number(2);
                    w.bytes(bytes);
                }
            }
        }
    }

    fn read(r: &mut Reader<'_>) -> SqlResult<Step> {
        let before = r.small()?;
        let mut dropped = Vec::new();
        for _ in 0..r.count()? {
            dropped.push((r.small()?, r.small()?));
        }
        let mut runs = Vec::new();
        for _ in 0..r.count()? {
            runs.push(match r.number()? {
                0 => Run::Kept {
                    from: r.small()?,
                    len: r.small()?,
                },
                1 => Run::Added(None),
                2 => Run::Added(Some(r.bytes()?.into())),
                _ => return Err(corrupt()),
            });
        }
        let step = Step {
            before,
            dropped,
            runs,
        };
        match step.accounts_for_all() {
            true => Ok(step),
            false => Err(corrupt()),
        }
    }

    /// Whether each column before is either kept, once, or dropped.
    fn accounts_for_all(&self) -> bool {
        let fits = |run: &Run| match run {
            Run::Kept { from, len } => from.checked_add(*len).is_some_and(|end| end <= self.before),
            Run::Added(_) => true,
        };
        if self.before > usize::from(u16::MAX) || !self.runs.iter().all(fits) {
            return false;
        }
        let mut seen = vec![0; self.before];
        let kept = self.sources().filter_map(|s| match s {
            Source::Kept(at) => Some(at),
            Source::Added(_) => None,
        });
        let dropped = self.dropped.iter().map(|(at, _)| *at);
        for at in kept.chain(dropped) {
            match seen.get_mut(at) {
                Some(n) => *n += 1,
                None => return false,
            }
        }
        seen.iter().all(|n| *n == 1)
    }
}

/// How the rows of an earlier version become those of the definition.
#[derive(Clone, Debug)]
pub(crate) struct Upgrade {
    /// Where its columns are.
    pub layout: RowLayout,
    /// For each column of the definition.
    pub sources: Box<[Source]>,
}

/// A version that rows may have been written under.
#[derive(Clone, Debug)]
struct Earlier {
    number: u32,
    /// To the version after it.
    step: Arc<Step>,
    /// To the definition's version, as made at the first use.
    upgrade: OnceLock<Upgrade>,
}

/// The versions of a table's rows.
#[derive(Clone, Debug, Default)]
pub struct Versions {
    /// What rows say that are written now.
    current: u32,
    /// Oldest first.
    earlier: Vec<Earlier>,
    /// Numbers of the earlier ones, ascending, with their positions.
    by_number: Vec<(u32, u32)>,
}

impl Versions {
    fn of(current: u32, earlier: impl Iterator<Item = (u32, Arc<Step>)>) -> Versions {
        let earlier: Vec<Earlier> = earlier
            .map(|(number, step)| Earlier {
                number,
                step,
                upgrade: OnceLock::new(),
            })
            .collect();
        let mut by_number: Vec<(u32, u32)> = earlier.iter().map(|e| e.number).zip(0..).collect();
        by_number.sort_unstable();
        Versions {
            current,
            earlier,
            by_number,
        }
    }

    /// The number that rows say that are written now.
    pub fn current(&self) -> u32 {
        self.current
    }

    /// How many earlier versions rows may have been written under.
    pub fn earlier(&self) -> usize {
        self.earlier.len()
    }

    /// Whether a column was dropped whose values rows didn't hold.
    pub(super) fn dropped_computed(&self) -> bool {
        let mut dropped = self.earlier.iter().flat_map(|e| &e.step.dropped);
        dropped.any(|(_, width)| *width == NOTHING)
    }

    /// Those of a definition that follows on this one's, while rows stay.
    pub fn next(&self, step: Step) -> Versions {
        let taken = |n: u32| {
            let at = self
                .by_number
                .binary_search_by_key(&n, |(number, _)| *number);
            n == self.current || at.is_ok()
        };
        let current = (0..)
            .find(|n| !taken(*n))
            .expect("fewer than 2^32 versions");
        let before = self.earlier.iter().map(|e| (e.number, e.step.clone()));
        Versions::of(current, before.chain([(self.current, Arc::new(step))]))
    }

    /// Whether they are what a table has whose rows were all written under its first definition.
    pub fn is_first(&self) -> bool {
        self.current == 0 && self.earlier.is_empty()
    }

    /// How rows of the version of this number become those of the definition, whose columns are laid out like this; `None`: there is
    /// no such version.
    pub(crate) fn upgrade(&self, number: u32, layout: &RowLayout) -> Option<&Upgrade> {
        let at = self
            .by_number
            .binary_search_by_key(&number, |(n, _)| *n)
            .ok()?;
        let at = self.by_number[at].1 as usize;
        Some(
            self.earlier[at]
                .upgrade
                .get_or_init(|| self.upgrade_from(at, layout)),
        )
    }

    fn upgrade_from(&self, at: usize, layout: &RowLayout) -> Upgrade {
        let mut forms: Vec<(Form, u8)> = layout.slots().iter().map(|s| (s.form, s.width)).collect();
        let mut sources: Vec<Source> = (0..forms.len()).map(Source::Kept).collect();
        for earlier in self.earlier[at..].iter().rev() {
            let step = &earlier.step;
            let from: Vec<Source> = step.sources().collect();
            for source in &mut sources {
                if let Source::Kept(after) = *source {
                    *source = from[after].clone();
                }
            }
            // Of what is read no more, the width is all that counts.
            let mut before = vec![(Form::Variable, 0); step.before];
            for &(column, width) in step.dropped.iter().filter(|(_, width)| *width > 0) {
                before[column] = match width {
                    NOTHING => (Form::Computed, 0),
                    width => (Form::Unsigned, width),
                };
            }
            for (source, form) in from.iter().zip(&forms) {
                if let Source::Kept(column) = source {
                    before[*column] = *form;
                }
            }
            forms = before;
        }
        Upgrade {
            layout: RowLayout::of_forms(forms.into_iter(), self.earlier[at].number),
            sources: sources.into(),
        }
    }

    /// Appends them to a body.
    pub(super) fn write(&self, w: &mut Writer) {
        w.number(u64::from(self.current));
        w.number(self.earlier.len() as u64);
        for earlier in &self.earlier {
            w.number(u64::from(earlier.number));
            earlier.step.write(w);
        }
    }

    /// Reads them back, of a definition that has `columns` columns.
    pub(super) fn read(r: &mut Reader<'_>, columns: usize) -> SqlResult<Versions> {
        let current = r.small()?;
        let mut earlier: Vec<(u32, Arc<Step>)> = Vec::new();
        for _ in 0..r.count()? {
            earlier.push((r.small()?, Arc::new(Step::read(r)?)));
        }
        let befores = earlier.iter().skip(1).map(|(_, step)| step.before);
        let follows = |((_, step), next): (&(u32, Arc<Step>), usize)| step.after() == next;
        let versions = Versions::of(current, earlier.iter().cloned());
        let repeated = versions.by_number.windows(2).any(|w| w[0].0 == w[1].0);
        let again = versions.by_number.iter().any(|(n, _)| *n == current);
        match earlier.iter().zip(befores.chain([columns])).all(follows) && !repeated && !again {
            true => Ok(versions),
            false => Err(corrupt()),
        }
    }
}
