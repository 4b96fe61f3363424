//! Skip scans: an index whose leading parts have few values is read by each of their combinations, within bounds on later parts.
//!
//! Worth it where combinations have been counted and are few, so an index of which nothing is known is left alone. Conditions of a
//! locking read have to hold for rows that others may add between the combinations, so those scan.

use super::access::{Bounded, Choice, Numbered, Request, bound, bound_parts, choice as bounded};
use super::estimate::{self, Asked};
use crate::plan::nodes::{EqCond, Skip};
use crate::switches::Flag;

/// Cost of finding the next combination and beginning to read what follows it.
const SEEK: f64 = 3.0;

/// An index read by a skip scan, `total` being the table's rows; `None` if there is no way to.
pub fn choice(r: &Request<'_>, index: usize, terms: &[Numbered], total: f64) -> Option<Choice> {
    let off = !r.peek.env.switches.get().has(Flag::SkipScan);
    if off || r.locked || r.schema.partitioning.is_some() || terms.is_empty() {
        return None;
    }
    let parts = &r.schema.indexes[index].parts;
    let all: Vec<&Numbered> = terms.iter().collect();
    let lead = bound(r, index, &all);
    let one = |c: &EqCond| matches!(c, EqCond::Value(_) | EqCond::IsNull);
    if lead.range.is_some() || !lead.eq.iter().all(one) || lead.exact.len() < lead.eq.len() {
        return None;
    }
    let later = |n: &usize| all.iter().any(|t| t.1 == parts[*n].column);
    let first = (lead.eq.len() + 1..parts.len()).find(later)?;
    let rest = bound_parts(r, &parts[first..], &all);
    let used = rest.eq.len() + usize::from(rest.range.is_some());
    let whole = parts[..first + used].iter().all(|p| p.prefix.is_none());
    if used == 0 || !whole {
        return None;
    }
    let columns: Vec<usize> = parts[..first].iter().map(|p| p.column).collect();
    let combinations = r.table.statistics.distinct(&columns)?;
    let share = |list: &[usize]| {
        let asked = Asked {
            table: Some((r.position, r.table)),
            source: r.source,
            peek: r.peek,
        };
        asked.share(list.iter().map(|&n| &r.conds[n].expr), None)
    };
    let of_lead = match lead.exact.is_empty() {
        true => 1.0,
        false => share(&lead.exact),
    };
    let ranges = rest.ranges() as f64;
    let mut exact = lead.exact.clone();
    exact.extend(
        rest.exact
            .iter()
            .copied()
            .filter(|n| !lead.exact.contains(n)),
    );
    let combinations = (combinations * of_lead).clamp(1.0, estimate::rows(r.table));
    let mut rows = total * share(&exact);
    if rest.range.is_none() {
        // Each combination may have the value that is looked up.
        rows =
            rows.min(combinations * ranges * estimate::rows_per_key(r.table, index, first + used));
    }
    let Bounded { eq, range, .. } = rest;
    let mut c = bounded(r, index, lead, total);
    c.seeks = SEEK * ranges * combinations;
    c.rows = rows.clamp(1.0, total);
    c.exact = exact;
    c.access.skip = Some(Box::new(Skip {
        parts: first,
        eq,
        range,
    }));
    c.forget_count();
    Some(c)
}
