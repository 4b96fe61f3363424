//! 2012: what queries feel of a drop beside them.

use super::Told;
use crate::all::read::{Subject, listed, subjects};
use crate::frame::Size;
use crate::report::{Block, Range, Ranges, num};
use crate::stats::Interval;
use serde_json::Value;

/// What is known of a subject's drops.
#[derive(Clone, Copy, Debug)]
enum Stall {
    /// It is there.
    Effect(Interval),
    /// None above so many ms.
    NoneAbove(f64),
    /// Too few windows to say.
    Untold,
}

struct Found {
    subject: Subject,
    stall: Stall,
    interval: Option<Interval>,
}

pub(super) fn told(data: &Value) -> Option<Told> {
    let subjects = subjects(data);
    let found: Vec<Found> = subjects.iter().filter_map(|s| found(data, s)).collect();
    let first = found.iter().find(|f| f.subject.leads()).or(found.first())?;
    let old = found
        .iter()
        .filter(|f| f.subject.is_full_scan() && f.subject != first.subject);
    let beside = old.map(|o| format!("; {} {}", o.subject.label, short(o.stall)));
    Some(Told {
        value: short(first.stall),
        note: format!(
            "a drop\u{2019}s stall of the load, {}{}",
            first.subject.label,
            beside.collect::<String>()
        ),
        sentence: said(data, &found),
        chart: chart(&found),
    })
}

fn found(data: &Value, subject: &Subject) -> Option<Found> {
    let cells = crate::all::read::cells(data, &subject.label);
    let cell = cells.first()?;
    let joint = &cell["stall_joint_ms"];
    let of = |name: &str| joint[name].as_f64();
    let interval = of("estimate")
        .zip(of("low"))
        .zip(of("high"))
        .map(|((estimate, low), high)| Interval {
            estimate,
            low,
            high,
        });
    let stall = match (cell["verdict"].as_str(), interval) {
        (Some("effect"), Some(i)) => Stall::Effect(i),
        (Some("none"), _) => cell["none_above_ms"]
            .as_f64()
            .map_or(Stall::Untold, Stall::NoneAbove),
        _ => Stall::Untold,
    };
    Some(Found {
        subject: subject.clone(),
        stall,
        interval,
    })
}

fn short(stall: Stall) -> String {
    match stall {
        Stall::Effect(i) => format!("{} ms", num(i.estimate)),
        Stall::NoneAbove(ms) => format!("< {} ms", num(ms)),
        Stall::Untold => "unknown".into(),
    }
}

fn said(data: &Value, found: &[Found]) -> String {
    let mut effects = Vec::new();
    let (mut none, mut untold) = (Vec::new(), Vec::new());
    for f in found {
        let name = f.subject.name();
        match f.stall {
            Stall::Effect(i) => effects.push((i, name)),
            Stall::NoneAbove(ms) => none.push(format!("{} ms with {name}", num(ms))),
            Stall::Untold => untold.push(name),
        }
    }
    effects.sort_by(|a, b| b.0.estimate.total_cmp(&a.0.estimate));
    let effects: Vec<String> = effects
        .iter()
        .map(|(i, name)| {
            let [estimate, low, high] = [i.estimate, i.low, i.high].map(num);
            format!("{estimate} ms ({low} to {high}) with {name}")
        })
        .collect();
    let mut clauses = Vec::new();
    if !effects.is_empty() {
        clauses.push(format!(
            "a DROP TABLE holds the queries beside it up for {}",
            listed(&effects)
        ));
    }
    if !none.is_empty() {
        clauses.push(format!("no stall can be told above {}", listed(&none)));
    }
    if !untold.is_empty() {
        clauses.push(format!(
            "there was too little time to say anything of {}",
            listed(&untold)
        ));
    }
    let cached = Size(data["cached_bytes"].as_u64().unwrap_or(0));
    format!("With {cached} cached, {}.", clauses.join("; "))
}

fn chart(found: &[Found]) -> Block {
    let row = |f: &Found| {
        Some(Range {
            name: f.subject.label.clone(),
            style: f.subject.style,
            interval: f.interval?,
            said: match f.stall {
                Stall::Effect(_) => "effect".into(),
                Stall::NoneAbove(ms) => format!("none above {} ms", num(ms)),
                Stall::Untold => "too few windows".into(),
            },
        })
    };
    Block::Ranges(Ranges {
        title: "The stall of a drop".into(),
        caption: "Less is better. By how much a drop puts the target behind its load, beyond windows without drops; where the truth lies, for \
                  all together, with 95 %."
            .into(),
        unit: "ms".into(),
        rows: found.iter().filter_map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn data(of: &[(&str, &str, Value)]) -> Value {
        let subjects: Vec<Value> = of
            .iter()
            .map(|s| json!({"label": s.0, "algorithm": s.0, "origin": "MySQL 5.1"}))
            .collect();
        let cells: Vec<Value> = of
            .iter()
            .map(|s| {
                json!({"subject": s.0, "verdict": s.1, "none_above_ms": s.2,
                       "stall_joint_ms": {"estimate": 1.0, "low": 0.5, "high": 1.5}})
            })
            .collect();
        json!({"cached_bytes": 1 << 30, "subjects": subjects, "cells": cells})
    }

    #[test]
    fn effects_none_and_too_little_are_told_apart() {
        let told = told(&data(&[
            ("full_scan", "effect", Value::Null),
            ("millpond", "none", json!(0.15)),
            ("stale", "too few windows", Value::Null),
        ]))
        .unwrap();
        assert_eq!(
            told.sentence,
            "With 1.00 GiB cached, a DROP TABLE holds the queries beside it up for 1.00 ms (0.500 to 1.50) with full_scan (as in MySQL 5.1); \
             no stall can be told above 0.150 ms with millpond; there was too little time to say anything of stale (as in MySQL 5.1)."
        );
        assert_eq!(told.value, "< 0.150 ms");
        assert!(told.note.ends_with("millpond; full_scan 1.00 ms"));
    }

    #[test]
    fn our_own_effect_is_told() {
        let told = told(&data(&[("millpond", "effect", Value::Null)])).unwrap();
        assert_eq!(told.value, "1.00 ms");
        assert!(
            told.sentence
                .contains("up for 1.00 ms (0.500 to 1.50) with millpond")
        );
        assert!(super::told(&json!({"cells": []})).is_none());
    }
}
