//! Figures in tables.

use super::super::effects::QUANTILES;
use super::words::{verdict, with_interval};
use super::{Found, Results};
use crate::report::{Table, grouped, num, percentile};
use crate::stats::Interval;

fn shown(interval: Option<&Interval>) -> String {
    interval.map_or("–".into(), with_interval)
}

impl Results {
    pub(super) fn effects_table(&self, found: &[Found<'_>]) -> Table {
        let mut table = Table::new(
            "What a drop does",
            &[
                "",
                "verdict",
                "stall, ms",
                "its mean, ms",
                "worked on pages, ms",
                "stall to work",
                "requests over 10 ms, per drop",
                "recovered after, ms",
                "a drop takes, ms",
                "drops",
                "pairs of windows",
            ],
        );
        for f in found {
            let e = &f.effects;
            table.rows.push(vec![
                f.label.to_string(),
                verdict(e.stall.verdict),
                shown(e.stall.interval.as_ref()),
                shown(e.stall.mean.as_ref()),
                e.stall.share.map_or("–".into(), |s| num(s.work)),
                shown(e.stall.share.map(|s| s.interval).as_ref()),
                shown(e.delayed.as_ref()),
                shown(e.recovery.as_ref()),
                e.took.map_or("–".into(), |s| num(s * 1e3)),
                e.drops.to_string(),
                f.cell.pairs.len().to_string(),
            ]);
        }
        table.note = "Differences between drops and their matches in windows without, with 95 % intervals each; the verdict's are wider, for it is \
                      to hold for all together. Stall: the requests that are due and not done, beyond what is usual, over the rate, at the worst \
                      moment after a typical drop, in which a wild one counts as a few others; its mean: each counts with all of it. Worked on pages: how \
                      long a drop in the middle looked for what is cached, as far as the target tells; stall to work: 1 if all requests stood still \
                      just as long, which leaves out how slowly the machine worked, as far as a stall is always the same part of it. Recovered: behind by less than a tenth of the stall."
            .into();
        table
    }

    pub(super) fn latency_table(&self, found: &[Found<'_>]) -> Table {
        let heads: Vec<String> = QUANTILES
            .iter()
            .flat_map(|q| {
                [
                    format!("{} without", percentile(*q)),
                    format!("drops add to {}", percentile(*q)),
                ]
            })
            .collect();
        let mut head = vec![""];
        head.extend(heads.iter().map(String::as_str));
        let mut table = Table::new("Latency, ms", &head);
        for f in found {
            let mut row = vec![f.label.to_string()];
            for added in &f.effects.added {
                row.push(added.map_or("–".into(), |a| num(a.without)));
                row.push(shown(added.map(|a| a.added).as_ref()));
            }
            table.rows.push(row);
        }
        let requests: u64 = found
            .iter()
            .flat_map(|f| &f.cell.pairs)
            .map(|p| p.with.latencies.count())
            .sum();
        table.note = format!(
            "Quantiles of each window, from when each of its requests was due, in the middle of all windows without drops; and what windows with \
             drops have more, in a typical pair. Where a window holds too few requests for that, of all {} requests of windows with drops against \
             those without. They depend on how often tables are dropped. –: fewer than ten requests beyond.",
            grouped(requests)
        );
        table
    }

    pub(super) fn pools(&self, found: &[Found<'_>]) -> Table {
        let mut table = Table::new(
            "The buffer pool, as it was before the last run of each",
            &[
                "",
                "pages",
                "on the LRU list",
                "dirty",
                "LRU to dirty",
                "runs",
                "drops a second",
            ],
        );
        for f in found {
            let c = &self.extra.compositions[f.cell.subject];
            let to_dirty = match c.pool.dirty {
                0 => "–".into(),
                n => format!("{:.1}:1", c.pool.data as f64 / n as f64),
            };
            let pages = [c.pool.total, c.pool.data, c.pool.dirty].map(grouped);
            let rest = [to_dirty, c.runs.to_string(), num(1.0 / f.cell.interval)];
            let row = [f.label.to_string()].into_iter().chain(pages).chain(rest);
            table.rows.push(row.collect());
        }
        table.note = "Before each run pages are made dirty up to the ratio asked for.".into();
        table
    }
}
