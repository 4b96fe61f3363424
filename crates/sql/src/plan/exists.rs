//! EXISTS that depends on the rows around it by equalities alone, asked as IN is: its own rows are read into a hash table, instead
//! of once per row around it. The execution does so only once it has been asked a few times.

use super::nodes::SourceKind;
use super::scope::Planner;
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::types::derive::byte_type;

/// Most rows that are kept for it, as estimated: what is kept must stay in memory.
const MOST_ROWS: u64 = 100_000;

/// How an EXISTS under way is planned.
#[derive(Debug, Default)]
pub enum Exists {
    /// There is none, or as it is written.
    #[default]
    Plain,
    /// Its SELECT may be turned into one for IN.
    Asked,
    /// It has been: these are looked up among its rows.
    Turned(Vec<Expr>),
}

/// An equality of something of this block with something around it.
struct Pair {
    own: Expr,
    around: Expr,
}

impl Planner<'_, '_> {
    /// Takes the equalities with the blocks around out of an EXISTS' conditions: (what its rows have, what is looked up among
    /// them). `None` if other conditions read the blocks around, or an index finds the rows anyway.
    pub fn equalities(&mut self, filter: &mut Vec<Expr>) -> Option<(Vec<Expr>, Vec<Expr>)> {
        let f = self.frames.last()?;
        if !f.subqueries.is_empty() || !self.is_small() {
            return None;
        }
        let base = f.base;
        let mut pairs = Vec::new();
        let mut kept = Vec::new();
        for e in filter.iter() {
            let mut around = false;
            e.columns(&mut |s, _| around |= s < base);
            if !around {
                kept.push(e.clone());
                continue;
            }
            let pair = pair(e, base).filter(|p| !self.is_indexed(&p.own))?;
            pairs.push(pair);
        }
        if pairs.is_empty() {
            return None;
        }
        *filter = kept;
        Some(pairs.into_iter().map(|p| (p.own, p.around)).unzip())
    }

    /// The block no longer depends on those around it.
    pub fn forget_outer(&mut self) {
        // Its own frame and the one that collects for it.
        for f in self.frames.iter_mut().rev().take(2) {
            f.outer.clear();
        }
    }

    /// Whether the block reads stored tables only, and few enough rows of them, even if each meets each.
    fn is_small(&self) -> bool {
        self.frames.last().is_some_and(|f| {
            let mut pairs = f.sources.iter().map(|s| match &s.kind {
                SourceKind::Table { table, .. } => Some(self.tables[*table].rows.max(1)),
                _ => None,
            });
            let all = pairs.try_fold(1, |all: u64, rows| Some(all.saturating_mul(rows?)));
            all.is_some_and(|rows| rows <= MOST_ROWS)
        })
    }

    /// Whether a column begins an index.
    fn is_indexed(&self, e: &Expr) -> bool {
        let ExprKind::Column { source, column, .. } = e.kind else {
            return false;
        };
        self.frames
            .last()
            .is_some_and(|f| match f.sources.get(source - f.base).map(|s| &s.kind) {
                Some(SourceKind::Table { schema, .. }) => schema
                    .indexes
                    .iter()
                    .any(|i| i.parts.first().is_some_and(|p| p.column == column)),
                _ => false,
            })
    }
}

fn pair(e: &Expr, base: usize) -> Option<Pair> {
    let ExprKind::Compare(CompareOp::Eq, sides, collation) = &e.kind else {
        return None;
    };
    let [a, b] = &**sides;
    let (own, around) = match (reads(a, base)?, reads(b, base)?) {
        (Reads::Own, Reads::Around) => (a, b),
        (Reads::Around, Reads::Own) => (b, a),
        _ => return None,
    };
    // Only what is equal where its bytes are can be hashed.
    byte_type(&around.ty, &own.ty)?;
    (!own.ty.is_string() || *collation == own.ty.collation).then(|| Pair {
        own: own.clone(),
        around: around.clone(),
    })
}

#[derive(PartialEq)]
enum Reads {
    Nothing,
    Own,
    Around,
}

/// What an expression reads; `None` if both, or if its value does not follow from what it reads.
fn reads(e: &Expr, base: usize) -> Option<Reads> {
    let (mut own, mut around) = (false, false);
    e.columns(&mut |s, _| {
        own |= s >= base;
        around |= s < base;
    });
    match (own, around) {
        _ if !e.is_const_or_columns() => None,
        (true, true) => None,
        (true, false) => Some(Reads::Own),
        (false, true) => Some(Reads::Around),
        (false, false) => Some(Reads::Nothing),
    }
}
