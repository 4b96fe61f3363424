//! What is printed and written.

use super::Plan;
use super::run::Outcome;
use crate::report::grouped;
use crate::target::Durability;
use serde_json::json;
use std::fmt::Write;

/// A finished or interrupted run.
pub(super) struct Report {
    pub target: String,
    pub durability: Durability,
    pub plan: Plan,
    pub outcome: Outcome,
}

/// Tables per second; 0 where no time was measured.
pub(super) fn rate(done: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        done as f64 / seconds
    } else {
        0.0
    }
}

impl Report {
    fn totals(&self) -> (u64, f64) {
        let done = self.outcome.phases.iter().map(|p| p.done).sum();
        let seconds = self.outcome.phases.iter().map(|p| p.seconds).sum();
        (done, seconds)
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let mut line = |name: &str, tables: &str, seconds: &str, rate: &str| {
            let _ = writeln!(out, "{name:<8}{tables:>12}{seconds:>12}{rate:>14}");
        };
        line("phase", "tables", "seconds", "per second");
        for p in &self.outcome.phases {
            let rate = rate(p.done, p.seconds).round() as u64;
            line(
                p.phase.name(),
                &grouped(p.done),
                &format!("{:.2}", p.seconds),
                &grouped(rate),
            );
        }
        let (_, seconds) = self.totals();
        line("total", "", &format!("{seconds:.2}"), "");
        let threads = self.plan.threads;
        let _ = writeln!(
            out,
            "{} {}tables, {threads} thread{}; {}; {}",
            grouped(self.plan.tables as u64),
            if self.plan.temporary {
                "temporary "
            } else {
                ""
            },
            if threads == 1 { "" } else { "s" },
            self.durability,
            self.target,
        );
        if !self.outcome.complete {
            let _ = writeln!(out, "INCOMPLETE: the run was stopped before its end.");
        }
        out
    }

    /// For programs.
    pub fn json(&self) -> String {
        let phases: Vec<_> = self
            .outcome
            .phases
            .iter()
            .map(|p| {
                json!({
                    "name": p.phase.name(),
                    "tables": p.done,
                    "seconds": p.seconds,
                    "per_second": rate(p.done, p.seconds),
                    "samples": p.samples,
                })
            })
            .collect();
        let doc = json!({
            "experiment": "many-tables",
            "target": self.target,
            "flush_log_at_trx_commit": self.durability.flush_at_commit,
            "sync_binlog": self.durability.sync_binlog,
            "tables": self.plan.tables,
            "threads": self.plan.threads,
            "random_select": self.plan.random_select,
            "temporary": self.plan.temporary,
            "complete": self.outcome.complete,
            "error": self.outcome.error,
            "total_seconds": self.totals().1,
            "phases": phases,
        });
        format!("{doc:#}\n")
    }

    /// A line per sample: the rate since the one before.
    pub fn csv(&self) -> String {
        let mut out = String::from("phase,seconds,tables,per_second\n");
        for p in &self.outcome.phases {
            for pair in p.samples.windows(2) {
                let [(t0, n0), (t1, n1)] = [pair[0], pair[1]];
                let rate = rate(n1 - n0, t1 - t0);
                let _ = writeln!(out, "{},{t1:.3},{n1},{rate:.1}", p.phase.name());
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::{Phase, PhaseOutcome};
    use super::*;

    fn report() -> Report {
        Report {
            target: "a \"target\"".into(),
            durability: Durability {
                flush_at_commit: Some(1),
                sync_binlog: None,
            },
            plan: Plan {
                tables: 50_000,
                threads: 1,
                random_select: false,
                temporary: false,
            },
            outcome: Outcome {
                phases: vec![PhaseOutcome {
                    phase: Phase::Create,
                    done: 12_345,
                    seconds: 2.0,
                    samples: vec![(0.0, 0), (1.0, 5000), (2.0, 12_345)],
                }],
                complete: false,
                error: None,
            },
        }
    }

    #[test]
    fn table_has_rates_and_durability() {
        let t = report().table();
        assert!(
            t.contains("create        12,345        2.00         6,173\n"),
            "{t}"
        );
        assert!(t.contains("50,000 tables, 1 thread; durable"), "{t}");
        assert!(t.contains("INCOMPLETE"));
    }

    #[test]
    fn json_parses_back() {
        let doc: serde_json::Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(doc["phases"][0]["per_second"], 6172.5);
        assert_eq!(doc["phases"][0]["samples"][1][1], 5000);
        assert_eq!(doc["target"], "a \"target\"");
        assert_eq!(doc["complete"], false);
        assert_eq!(doc["flush_log_at_trx_commit"], 1);
    }

    #[test]
    fn csv_has_the_rate_of_each_interval() {
        assert_eq!(
            report().csv(),
            "phase,seconds,tables,per_second\ncreate,1.000,5000,5000.0\ncreate,2.000,12345,7345.0\n"
        );
    }
}
