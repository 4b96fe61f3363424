//! 2011: a drop against what is cached.

use super::Told;
use crate::all::read::{Against, Subject, against, cells, list, numbers, sentence, subjects};
use crate::drop_throughput::by_cached;
use crate::frame::Size;
use crate::report::{Block, Series, num, ratio, seconds};
use serde_json::Value;

/// A subject's drops with nothing cached and with the most that was.
struct Drops {
    subject: Subject,
    /// Bytes asked for.
    fill: u64,
    empty: f64,
    full: f64,
    against: Against,
}

pub(super) fn told(data: &Value) -> Option<Told> {
    let subjects = subjects(data);
    let known: Vec<Drops> = subjects
        .iter()
        .filter(|s| s.leads() || s.is_full_scan())
        .filter_map(|s| drops(data, s))
        .collect();
    let first = known.iter().find(|d| d.subject.leads()).or(known.first())?;
    let old = known.iter().find(|d| d.subject.is_full_scan());
    let beside = old.filter(|o| o.subject != first.subject).map(|o| {
        let label = &o.subject.label;
        format!("; {label} {}", ratio(o.full / o.empty))
    });
    Some(Told {
        value: ratio(first.full / first.empty),
        note: format!(
            "a drop with {} cached to one with none, {}{}",
            Size(first.fill),
            first.subject.label,
            beside.unwrap_or_default()
        ),
        sentence: said(&known),
        chart: chart(data, &subjects),
    })
}

fn drops(data: &Value, subject: &Subject) -> Option<Drops> {
    let cells = cells(data, &subject.label);
    let empty = cells.iter().find(|c| c["fill_bytes"] == 0)?;
    let full = cells.iter().filter(|c| c["fill_bytes"] != 0);
    let full = full.max_by_key(|c| c["fill_bytes"].as_u64())?;
    let rounds = |c: &Value| numbers(&c["rounds_seconds_per_drop"]);
    Some(Drops {
        subject: subject.clone(),
        fill: full["fill_bytes"].as_u64()?,
        empty: empty["seconds_per_drop"].as_f64()?,
        full: full["seconds_per_drop"].as_f64()?,
        against: against(&rounds(full), &rounds(empty)),
    })
}

/// One sentence for each size that was the largest of some subject.
fn said(known: &[Drops]) -> String {
    let mut fills: Vec<u64> = known.iter().map(|d| d.fill).collect();
    fills.sort_unstable();
    fills.dedup();
    let of_fill = |fill: &u64| {
        let clauses: Vec<String> = known
            .iter()
            .filter(|d| d.fill == *fill)
            .map(clause)
            .collect();
        let size = Size(*fill);
        sentence(&format!(
            "with {size} cached, dropping an empty table {}",
            clauses.join("; it ")
        ))
    };
    let all: Vec<String> = fills.iter().rev().map(of_fill).collect();
    all.join(" ")
}

fn clause(d: &Drops) -> String {
    let (who, full, empty) = (d.subject.name(), seconds(d.full), seconds(d.empty));
    match d.against {
        Against::More(x) => {
            format!(
                "takes {who} {} times as long as with an empty pool ({full} instead of {empty})",
                num(x)
            )
        }
        Against::Less(_) => {
            format!("takes {who} less time than with an empty pool ({full} instead of {empty})")
        }
        Against::Alike(_) => {
            format!(
                "takes {who} as long as with an empty pool, as far as can be told ({full} and {empty})"
            )
        }
        Against::Untold => {
            format!("took {who} {full}, with an empty pool {empty}, in too few rounds to compare")
        }
    }
}

fn chart(data: &Value, subjects: &[Subject]) -> Block {
    let point = |c: &&Value| {
        let cached = Size(c["cached_bytes"].as_u64()?).gib();
        Some((cached, c["seconds_per_drop"].as_f64()? * 1e3))
    };
    let series = subjects.iter().map(|s| Series {
        name: s.label.clone(),
        style: s.style,
        points: cells(data, &s.label).iter().filter_map(point).collect(),
        ..Series::default()
    });
    let caption = "Flat is good. Algorithms are drawn like the servers that they stand for.";
    let panel = format!("ms a drop, of {}", sizes(data));
    Block::Figure(by_cached(caption, panel, series.collect()))
}

fn sizes(data: &Value) -> String {
    let rounds = list(&data["cells"])
        .iter()
        .map(|c| numbers(&c["rounds_seconds_per_drop"]).len())
        .max();
    format!(
        "{}, median of {}",
        data["tables"].as_u64().unwrap_or(0),
        rounds.unwrap_or(0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A subject, its algorithm, its rounds in ms with an empty pool and with 1 GiB.
    type Given<'a> = (&'a str, Option<&'a str>, [f64; 3], [f64; 3]);

    fn data(of: &[Given<'_>]) -> Value {
        let subject = |s: &Given<'_>| json!({"label": s.0, "algorithm": s.1, "style": 0, "target": 0, "origin": "MySQL 5.1"});
        let cell = |s: &Given<'_>| {
            [(0u64, s.2), (1 << 30, s.3)].map(|(fill, rounds)| {
                json!({"subject": s.0, "fill_bytes": fill, "cached_bytes": fill,
                       "seconds_per_drop": rounds[1] / 1e3, "rounds_seconds_per_drop": rounds.map(|r| r / 1e3)})
            })
        };
        json!({"tables": 100, "subjects": of.iter().map(subject).collect::<Vec<_>>(),
               "cells": of.iter().flat_map(cell).collect::<Vec<_>>()})
    }

    #[test]
    fn a_drop_that_is_as_quick_and_one_that_is_not() {
        let told = told(&data(&[
            (
                "full_scan",
                Some("full_scan"),
                [0.1, 0.11, 0.12],
                [1.0, 1.1, 1.2],
            ),
            (
                "millpond",
                Some("millpond"),
                [0.1, 0.11, 0.12],
                [0.1, 0.1, 0.13],
            ),
        ]))
        .unwrap();
        assert_eq!(
            told.sentence,
            "With 1.00 GiB cached, dropping an empty table takes full_scan (as in MySQL 5.1) 10.0 times as long as with an empty pool \
             (1.10 ms instead of 110 µs); it takes millpond as long as with an empty pool, as far as can be told (100 µs and 110 µs)."
        );
        assert_eq!(told.value, "0.909×");
        assert!(
            told.note.ends_with("millpond; full_scan 10.0×"),
            "{}",
            told.note
        );
    }

    #[test]
    fn a_loss_is_told_as_one() {
        let told = told(&data(&[(
            "millpond",
            Some("millpond"),
            [0.1, 0.1, 0.1],
            [0.3, 0.3, 0.3],
        )]));
        let sentence = told.unwrap().sentence;
        assert!(
            sentence.contains("takes millpond 3.00 times as long"),
            "{sentence}"
        );
    }

    #[test]
    fn what_was_not_measured_is_not_told() {
        let mut one = data(&[("MySQL 9.7.4", None, [0.1, 0.1, 0.1], [0.1, 0.1, 0.1])]);
        for cell in one["cells"].as_array_mut().unwrap() {
            cell["rounds_seconds_per_drop"] = json!([0.0001]);
        }
        assert!(told(&one).unwrap().sentence.contains("in too few rounds"));
        one["cells"].as_array_mut().unwrap().truncate(1);
        assert!(told(&one).is_none());
        assert!(told(&Value::Null).is_none());
    }
}
