//! The same for programs: every chart's figures are in the JSON, every window in the CSV.

use super::super::blocks::Ended;
use super::super::effects::{Point, Verdict};
use super::super::record::Arm;
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
    pub(super) fn data(&self, found: &[Found<'_>]) -> Value {
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
                "sync_p99_seconds": pressure.syncs.quantile(0.99),
                "load_ran_seconds": generator.worked.ran,
                "load_waited_seconds": generator.worked.waited,
                "load_seconds": generator.seconds,
                "late_p99_seconds": generator.late.quantile(0.99),
            },
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
            "stall_of_pairs_ms": e.stall.values,
            "worst_lag_ms": e.stall.lag,
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

    /// A line per window.
    pub(super) fn csv(&self) -> String {
        let mut out =
            String::from("subject,pair,drops,requests,p50_ms,p99_ms,p999_ms,max_ms,over_10_ms\n");
        for cell in &self.cells {
            let label = &self.subjects[cell.subject].label;
            for (number, pair) in cell.pairs.iter().enumerate() {
                for (drops, arm) in [(pair.with.moments, &pair.with), (0, &pair.without)] {
                    let q = |share: f64| arm.latencies.quantile(share) * 1e3;
                    let Arm {
                        latencies, delayed, ..
                    } = arm;
                    let _ = writeln!(
                        out,
                        "{label},{number},{drops},{},{:.3},{:.3},{:.3},{:.3},{delayed}",
                        latencies.count(),
                        q(0.5),
                        q(0.99),
                        q(0.999),
                        q(1.0)
                    );
                }
            }
        }
        out
    }
}
