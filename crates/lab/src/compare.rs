//! Two runs of `drop-stall` beside each other: what each figure of one is more than that of the other, with its interval.
//!
//! The runs are independent, so that each end of a difference's interval is as far from it as √(a² + b²) of what the two are away from the ends of theirs on that
//! side (Zou and Donner 2008). It says what differs, not why: another
//! machine or another rate makes differences of its own, which is said.

use crate::Result;
use crate::report::{num, percentile};
use crate::stats::Interval;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What to compare.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The JSON of a report of drop-stall
    #[arg(value_name = "A.json")]
    a: PathBuf,
    /// Another, or the same
    #[arg(value_name = "B.json")]
    b: PathBuf,
    /// One subject of A and one of B, like full_scan,millpond [default: those that both have; if they have one each, these]
    #[arg(long, value_name = "A,B", value_parser = two)]
    subjects: Option<(String, String)>,
}

fn two(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once(',') {
        Some((a, b)) if !a.is_empty() && !b.is_empty() => Ok((a.trim().into(), b.trim().into())),
        _ => Err("two names, like full_scan,millpond".into()),
    }
}

/// A run as its JSON has it.
struct Run {
    name: String,
    cells: Vec<Value>,
    /// What figures depend on, by name.
    conditions: Vec<(&'static str, String)>,
}

/// What is compared of a subject.
#[derive(Debug)]
struct Difference {
    subject: String,
    figure: String,
    a: Interval,
    b: Interval,
    /// B less A.
    more: Interval,
}

impl Difference {
    /// Whether the runs differ in it.
    fn is_found(&self) -> bool {
        !self.more.contains(0.0)
    }
}

/// Compares and prints.
pub fn run(args: &Args) -> Result<()> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    print!("{}", compared(&a, &b, args.subjects.as_ref())?);
    Ok(())
}

fn read(path: &Path) -> Result<Run> {
    let failed = |why: &str| format!("{}: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| failed(&e.to_string()))?;
    let doc: Value = serde_json::from_str(&text).map_err(|e| failed(&e.to_string()))?;
    let cells = doc["data"]["cells"]
        .as_array()
        .filter(|_| doc["experiment"] == "drop-stall");
    let cells = cells.ok_or_else(|| failed("it is not a report of drop-stall"))?;
    let data = &doc["data"];
    let conditions = [
        ("processor", &data["conditions"]["cpu"]),
        ("processors", &data["conditions"]["cores"]),
        ("bytes cached", &data["cached_bytes"]),
        ("rows of a dropped table", &data["drop_rows"]),
        ("connections", &data["threads"]),
    ];
    Ok(Run {
        name: path.display().to_string(),
        cells: cells.clone(),
        conditions: conditions
            .map(|(name, value)| (name, value.to_string()))
            .to_vec(),
    })
}

/// All that is to be said.
fn compared(a: &Run, b: &Run, subjects: Option<&(String, String)>) -> Result<String> {
    let mut out = format!("A: {}\nB: {}\n", a.name, b.name);
    for ((name, of_a), (_, of_b)) in a.conditions.iter().zip(&b.conditions) {
        if of_a != of_b {
            let _ = writeln!(
                out,
                "They differ in {name} ({of_a} and {of_b}), which makes differences of its own."
            );
        }
    }
    let mut found = 0;
    for (of_a, of_b) in matched(a, b, subjects)? {
        for d in differences(of_a, of_b) {
            found += u32::from(d.is_found());
            let verdict = match d.is_found() {
                false => "no difference".to_string(),
                true if d.more.low > 0.0 => "B is more".to_string(),
                true => "B is less".to_string(),
            };
            let shown =
                |i: &Interval| format!("{} [{}, {}]", num(i.estimate), num(i.low), num(i.high));
            let _ = writeln!(
                out,
                "{}, {}: A {}, B {}, B less A {}: {verdict}",
                d.subject,
                d.figure,
                shown(&d.a),
                shown(&d.b),
                shown(&d.more)
            );
        }
    }
    let _ = match found {
        0 => writeln!(out, "No figure differs."),
        1 => writeln!(out, "One figure differs."),
        n => writeln!(out, "{n} figures differ."),
    };
    Ok(out)
}

fn name(cell: &Value) -> &str {
    cell["subject"].as_str().unwrap_or_default()
}

/// Cells of A and B that are to be compared.
fn matched<'r>(
    a: &'r Run,
    b: &'r Run,
    subjects: Option<&(String, String)>,
) -> Result<Vec<(&'r Value, &'r Value)>> {
    let of = |run: &'r Run, wanted: &str| {
        let cell = run.cells.iter().find(|c| name(c) == wanted);
        cell.ok_or_else(|| format!("{} has no {wanted}", run.name))
    };
    if let Some((of_a, of_b)) = subjects {
        return Ok(vec![(of(a, of_a)?, of(b, of_b)?)]);
    }
    if let ([of_a], [of_b]) = (&a.cells[..], &b.cells[..]) {
        return Ok(vec![(of_a, of_b)]);
    }
    let both = a
        .cells
        .iter()
        .filter_map(|c| Some((c, of(b, name(c)).ok()?)));
    let both: Vec<_> = both.collect();
    match both.is_empty() {
        true => Err("they have no subject in common; --subjects A,B says which to compare".into()),
        false => Ok(both),
    }
}

fn interval(value: &Value) -> Option<Interval> {
    Some(Interval {
        estimate: value["estimate"].as_f64()?,
        low: value["low"].as_f64()?,
        high: value["high"].as_f64()?,
    })
}

/// Of the figures that both have.
fn differences(a: &Value, b: &Value) -> Vec<Difference> {
    let subject = match name(a) == name(b) {
        true => name(a).to_string(),
        false => format!("{} and {}", name(a), name(b)),
    };
    let one = |figure: String, a: &Value, b: &Value| {
        let (a, b) = (interval(a)?, interval(b)?);
        let estimate = b.estimate - a.estimate;
        // Intervals needn't be as far from their estimate above as below.
        let below = (b.estimate - b.low).hypot(a.high - a.estimate);
        let above = (b.high - b.estimate).hypot(a.estimate - a.low);
        Some(Difference {
            subject: subject.clone(),
            figure,
            a,
            b,
            more: Interval {
                estimate,
                low: estimate - below,
                high: estimate + above,
            },
        })
    };
    let plain = [
        ("stall of a drop, ms", "stall_ms"),
        ("stall to a drop's work on pages", "stall_to_work"),
        ("requests over 10 ms per drop", "delayed_per_drop"),
    ];
    let plain = plain
        .into_iter()
        .map(|(figure, key)| one(figure.into(), &a[key], &b[key]));
    let none = Vec::new();
    let latency = |cell: &'_ Value| cell["latency"].as_array().unwrap_or(&none).clone();
    let of_b = latency(b);
    let latencies = latency(a).into_iter().map(|of_a| {
        let of_b = of_b.iter().find(|l| l["share"] == of_a["share"])?;
        let quantile = percentile(of_a["share"].as_f64()?);
        one(
            format!("added to {quantile}, ms"),
            &of_a["added_ms"],
            &of_b["added_ms"],
        )
    });
    plain
        .chain(latencies.collect::<Vec<_>>())
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cell(subject: &str, ms: f64, half: f64) -> Value {
        let i = |ms: f64| json!({"estimate": ms, "low": ms - half, "high": ms + half});
        json!({
            "subject": subject, "stall_ms": i(ms), "delayed_per_drop": i(0.0),
            "latency": [{"share": 0.999, "without_ms": 1.0, "added_ms": i(ms / 2.0)}],
        })
    }

    fn run(cells: &[Value]) -> Run {
        Run {
            name: "r.json".into(),
            cells: cells.to_vec(),
            conditions: vec![("connections", "8".into())],
        }
    }

    #[test]
    fn a_run_does_not_differ_from_itself() {
        let a = run(&[cell("full_scan", 13.0, 0.4), cell("millpond", 0.0, 0.1)]);
        let text = compared(&a, &a, None).unwrap();
        assert!(text.ends_with("No figure differs.\n"), "{text}");
        assert_eq!(text.matches("no difference").count(), 6);
    }

    #[test]
    fn the_right_difference_is_found() {
        let a = run(&[cell("full_scan", 13.0, 0.4)]);
        let b = run(&[cell("millpond", 0.0, 0.3)]);
        let text = compared(&a, &b, None).unwrap();
        let stall = "full_scan and millpond, stall of a drop, ms: A 13.0 [12.6, 13.4], B 0.00 [-0.300, 0.300], \
                     B less A -13.0 [-13.5, -12.5]: B is less";
        assert!(text.contains(stall), "{text}");
        assert!(text.contains("added to p99.9, ms") && text.ends_with("2 figures differ.\n"));
    }

    #[test]
    fn subjects_are_chosen_by_name() {
        let a = run(&[cell("full_scan", 13.0, 0.4), cell("stale", 0.0, 0.4)]);
        let b = run(&[cell("millpond", 0.0, 0.3), cell("cleaner", 1.0, 0.2)]);
        assert!(
            compared(&a, &b, None)
                .unwrap_err()
                .to_string()
                .contains("--subjects")
        );
        let chosen = two("stale, cleaner").unwrap();
        let text = compared(&a, &b, Some(&chosen)).unwrap();
        assert!(text.contains("stale and cleaner, stall"), "{text}");
        let missing = two("stale,flush_list").unwrap();
        assert!(compared(&a, &b, Some(&missing)).is_err());
        assert!(two("stale").is_err());
    }

    #[test]
    fn other_conditions_are_named() {
        let a = run(&[cell("stale", 0.0, 0.4)]);
        let mut b = run(&[cell("stale", 0.0, 0.4)]);
        b.conditions[0].1 = "16".into();
        assert!(
            compared(&a, &b, None)
                .unwrap()
                .contains("They differ in connections (8 and 16)")
        );
    }
}
