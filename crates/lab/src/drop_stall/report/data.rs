//! The same for programs: every chart's figures are in the JSON, every drop in the CSV.

use super::super::blocks::Ended;
use super::super::effects::{Point, Verdict};
use super::super::record::{Event, LAGS, lag};
use super::{Found, Results};
use crate::stats::Interval;
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) fn interval(i: &Interval) -> Value {
    json!({"estimate": i.estimate, "low": i.low, "high": i.high})
}

fn maybe(i: Option<&Interval>) -> Value {
    i.map_or(Value::Null, interval)
}

fn points(points: &[Point]) -> Vec<Value> {
    let one = |p: &Point| {
        json!({
            "lag_ms": p.lag_ms, "with_ms": p.with, "without_ms": p.without,
            "added_ms": interval(&p.added),
        })
    };
    points.iter().map(one).collect()
}

impl Results {
    pub(super) fn data(&self, found: &[Found<'_>], models: Vec<Value>) -> Value {
        let (pressure, generator) = (&self.extra.pressure, &self.extra.generator);
        let ended = self.extra.ended.map(|e| match e {
            Ended::Narrow => "all intervals are narrow",
            Ended::Budget => "the time was over",
            Ended::Stopped => "it was stopped",
            Ended::Lost => "no target was left",
        });
        json!({
            "sentence": self.headline(found),
            "threads": self.plan.threads,
            "rows": self.plan.rows,
            "cached_bytes": self.plan.cached.0,
            "drop_rows": self.plan.drop_rows,
            "seed": self.plan.seed,
            "smallest_ms": self.plan.smallest,
            "ended": ended,
            "conditions": self.conditions.json(),
            "subjects": self.subjects.iter().map(crate::frame::Subject::json).collect::<Vec<_>>(),
            "machine": {
                "stolen": pressure.stolen(),
                "running": pressure.running(),
                "precedence": self.extra.precedence,
                "sync_p99_seconds": pressure.syncs.quantile(0.99),
                "load_ran_seconds": generator.worked.ran,
                "load_waited_seconds": generator.worked.waited,
                "load_seconds": generator.seconds,
                "late_p99_seconds": generator.late.quantile(0.99),
            },
            "models": models,
            "cells": found.iter().map(|f| self.cell(f)).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    fn cell(&self, f: &Found<'_>) -> Value {
        let e = &f.effects;
        let (verdict, above) = match e.stall.verdict {
            Verdict::Effect => ("effect", None),
            Verdict::NoneAbove(ms) => ("none", Some(ms)),
            Verdict::TooFew => ("too few windows", None),
        };
        let added: Vec<Value> = e
            .added
            .iter()
            .flatten()
            .map(|a| json!({"share": a.share, "without_ms": a.without, "added_ms": interval(&a.added)}))
            .collect();
        let pool = self.extra.compositions[f.cell.subject].pool;
        json!({
            "subject": f.label,
            "verdict": verdict,
            "none_above_ms": above,
            "stall_ms": maybe(e.stall.interval.as_ref()),
            "stall_joint_ms": maybe(e.stall.joint.as_ref()),
            "stall_mean_ms": maybe(e.stall.mean.as_ref()),
            "stall_of_drops_ms": e.stall.values,
            "worst_lag_ms": e.stall.lag,
            "lags_from": if f.is_timed() { "work on pages" } else { "drop sent" },
            "page_work_ms": e.stall.share.map(|s| s.work),
            "stall_to_work": maybe(e.stall.share.map(|s| s.interval).as_ref()),
            "stall_to_work_joint": maybe(e.stall.share.map(|s| s.joint).as_ref()),
            "delayed_per_drop": maybe(e.delayed.as_ref()),
            "recovered_ms": maybe(e.recovery.as_ref()),
            "latency": added,
            "drops": e.drops,
            "drop_seconds": e.took,
            "pairs": f.cell.pairs.len(),
            "rate": f.cell.question.rate,
            "interval_seconds": f.cell.interval,
            "lru_pages": pool.data,
            "dirty_pages": pool.dirty,
            "around_near": points(&f.near),
            "around_wide": points(&f.wide),
        })
    }

    /// A line for each drop and each moment without one: how far the load was behind some time after its zero, which is
    /// so long after it was sent. A slot of a pair has one of each.
    pub(super) fn csv(&self) -> String {
        let mut out = String::from("subject,pair,slot,drop,took_ms,before_ms,work_ms");
        let samples = BEHIND.map(|ms| (0..LAGS).find(|s| lag(*s) >= ms).unwrap_or(LAGS));
        for ms in BEHIND {
            let _ = write!(out, ",behind_{ms}_ms");
        }
        out.push('\n');
        for cell in &self.cells {
            let label = &self.subjects[cell.subject].label;
            let behind = |event: &Event, sample: usize| {
                let requests = event.behind.get(sample);
                requests.map_or(String::new(), |n| {
                    format!("{:.3}", f64::from(*n) / cell.question.rate * 1e3)
                })
            };
            for (pair, arms) in cell.pairs.iter().enumerate() {
                for (drop, arm) in [(1, &arms.with), (0, &arms.without)] {
                    for (slot, event) in arm.events.iter().enumerate() {
                        let (took, before) = (event.took * 1e3, event.before * 1e3);
                        let work = event.work.map(|s| format!("{:.3}", s * 1e3));
                        let work = work.unwrap_or_default();
                        let _ = write!(
                            out,
                            "{label},{pair},{slot},{drop},{took:.3},{before:.3},{work}"
                        );
                        for sample in samples {
                            let _ = write!(out, ",{}", behind(event, sample));
                        }
                        out.push('\n');
                    }
                }
            }
        }
        out
    }
}

/// Lags of the CSV, ms.
const BEHIND: [f64; 14] = [
    0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0,
];
