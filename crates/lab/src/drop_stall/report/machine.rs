//! Whether the machine was the limit.

use super::Results;
use crate::report::{Table, num};

/// Above these the machine shows in the figures: the part of time taken away by a hypervisor; threads that want to run, to processors; ms
/// that one request of a hundred is sent too late; ms that one synced write of a hundred takes.
const STOLEN: f64 = 0.02;
const RUNNING: f64 = 1.5;
const LATE: f64 = 1.0;
const SYNC: f64 = 10.0;

impl Results {
    /// What limited the measurement beside the targets.
    pub(super) fn limited(&self) -> Vec<String> {
        let (pressure, generator) = (&self.extra.pressure, &self.extra.generator);
        let cores = self.conditions.cores() as f64;
        let mut why = Vec::new();
        if pressure.stolen() > STOLEN {
            why.push(format!(
                "a hypervisor took away {} % of the processors' time",
                num(pressure.stolen() * 100.0)
            ));
        }
        if pressure.running() > RUNNING * cores {
            let running = num(pressure.running());
            why.push(format!(
                "{running} threads wanted to run on the average, on {cores} cores"
            ));
        }
        let late = generator.late.quantile(0.99) * 1e3;
        if late > LATE {
            why.push(format!(
                "one request of a hundred was sent {} ms late by the lab itself",
                num(late)
            ));
        }
        let sync = pressure.syncs.quantile(0.99) * 1e3;
        if sync > SYNC {
            why.push(format!(
                "one small synced write of a hundred took {} ms",
                num(sync)
            ));
        }
        match why.is_empty() {
            true => Vec::new(),
            false => vec![format!(
                "The machine was busy beside: {}. That is in windows with and without drops alike, and makes the intervals wider; latencies themselves, \
                 without the differences, are those of this machine at this time.",
                why.join("; ")
            )],
        }
    }

    pub(super) fn machine(&self) -> Table {
        let (pressure, generator) = (&self.extra.pressure, &self.extra.generator);
        let mut table = Table::new("The machine meanwhile", &["", ""]);
        let mut row = |name: &str, value: String| table.rows.push(vec![name.into(), value]);
        let share = |s: f64| format!("{} %", num(s / generator.seconds.max(1e-9) * 100.0));
        row(
            "processor time of the load's threads, of one processor",
            share(generator.worked.ran),
        );
        row(
            "their waiting for a processor",
            share(generator.worked.waited),
        );
        let quantiles = |l: &crate::stats::Latencies| {
            let ms = |q: f64| num(l.quantile(q) * 1e3);
            format!("{} / {} / {}", ms(0.5), ms(0.99), ms(1.0))
        };
        row(
            "requests sent late by the lab, ms: p50 / p99 / most",
            quantiles(&generator.late),
        );
        row(
            "a small synced write, ms: p50 / p99 / most",
            quantiles(&pressure.syncs),
        );
        row(
            "threads that wanted to run, on the average",
            num(pressure.running()),
        );
        row(
            "processor time taken away by a hypervisor",
            format!("{} %", num(pressure.stolen() * 100.0)),
        );
        table.note =
            "The threads of the load are the embedded engine's, too: it runs in them.".into();
        table
    }
}
