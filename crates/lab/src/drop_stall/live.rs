//! What the terminal shows while it runs: after each block what is known of each subject, the time left, and why it goes on.

use super::blocks::Told;
use super::report::said;
use crate::frame::Progress;
use std::sync::Mutex;

/// The progress bar's line.
pub(super) struct Live<'a> {
    progress: &'a Progress,
    labels: &'a [String],
    known: Mutex<String>,
}

impl<'a> Live<'a> {
    pub fn new(progress: &'a Progress, labels: &'a [String]) -> Live<'a> {
        Live {
            progress,
            labels,
            known: Mutex::new(String::new()),
        }
    }

    /// A run of this subject begins.
    pub fn running(&self, label: &str) {
        let known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        match known.is_empty() {
            true => self.progress.step(label),
            false => self.progress.step(known.clone()),
        }
    }

    /// A block is done.
    pub fn tell(&self, told: &Told<'_>) {
        let line = line(self.labels, told);
        *self.known.lock().unwrap_or_else(|e| e.into_inner()) = line.clone();
        self.progress.step(line);
    }
}

fn line(labels: &[String], told: &Told<'_>) -> String {
    let one = |(label, stall)| format!("{label} {}", said(stall));
    let known: Vec<String> = labels.iter().zip(told.stalls).map(one).collect();
    let why = match told.wide {
        [] => "all are known well enough".into(),
        [one] => format!("goes on for {}", labels[*one]),
        [first, rest @ ..] => format!("goes on for {} and {} more", labels[*first], rest.len()),
    };
    format!("{}; {:.0} s left, {why}", known.join(", "), told.left)
}

#[cfg(test)]
mod tests {
    use super::super::effects::{Stall, Verdict};
    use super::*;
    use crate::stats::Interval;

    #[test]
    fn the_line_says_what_is_known_and_why_it_goes_on() {
        let stall = |estimate: f64, verdict| Stall {
            values: vec![vec![estimate]; 8],
            interval: None,
            mean: None,
            joint: Some(Interval {
                estimate,
                low: estimate - 0.2,
                high: estimate + 0.2,
            }),
            verdict,
            lag: 1.0,
            share: None,
        };
        let stalls = [
            stall(1.3, Verdict::Effect),
            stall(0.0, Verdict::NoneAbove(0.2)),
        ];
        let told = Told {
            cells: &[],
            stalls: &stalls,
            wide: &[0],
            left: 40.4,
        };
        let labels = ["full_scan".to_string(), "millpond".to_string()];
        let line = line(&labels, &told);
        assert_eq!(
            line,
            "full_scan 1.30 ms a drop [1.10, 1.50], millpond none above 0.200 ms; 40 s left, goes on for full_scan"
        );
    }
}
