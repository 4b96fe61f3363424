//! 8.0.23: a hundred tables at once, with pools of several sizes.

use super::Told;
use crate::all::read::{Against, Subject, against, cells, numbers, sentence, subjects};
use crate::frame::Size;
use crate::report::{Axis, Block, Figure, Panel, Series, num, seconds};
use serde_json::Value;

/// A subject's time with a pool.
struct Time {
    pool: u64,
    took: f64,
    rounds: Vec<f64>,
}

/// With its pools, ascending; at least one.
struct Found {
    subject: Subject,
    times: Vec<Time>,
}

impl Found {
    fn largest(&self) -> &Time {
        &self.times[self.times.len() - 1]
    }
}

fn found(data: &Value, subject: &Subject) -> Option<Found> {
    let time = |c: &Value| {
        Some(Time {
            pool: c["pool_bytes"].as_u64()?,
            took: c["create_drop_seconds"].as_f64()?,
            rounds: numbers(&c["rounds_create_drop_seconds"]),
        })
    };
    let mut times: Vec<Time> = cells(data, &subject.label)
        .into_iter()
        .filter_map(time)
        .collect();
    times.sort_by_key(|t| t.pool);
    (!times.is_empty()).then(|| Found {
        subject: subject.clone(),
        times,
    })
}

pub(super) fn told(data: &Value) -> Option<Told> {
    let all: Vec<Found> = subjects(data)
        .iter()
        .filter_map(|s| found(data, s))
        .collect();
    let first = all.iter().find(|f| f.subject.leads()).or(all.first())?;
    let tables = data["tables"].as_u64().unwrap_or(0);
    let pool = Size(first.largest().pool);
    let (value, note) = match old(&all, first) {
        Some((old, time)) => (
            format!("{}×", num(time.took / first.largest().took)),
            format!(
                "{} to {}, pool of {pool}; the article up to 251×",
                old.subject.label, first.subject.label
            ),
        ),
        None => (
            seconds(first.largest().took),
            format!("{tables} tables, pool of {pool}, {}", first.subject.label),
        ),
    };
    let leads = all.iter().filter(|f| f.subject.leads());
    let clauses: Vec<String> = leads.map(|f| clause(&all, f)).collect();
    let sentence = match clauses.is_empty() {
        true => format!(
            "Only {} was measured: {} with a pool of {pool}.",
            first.subject.name(),
            seconds(first.largest().took)
        ),
        false => sentence(&format!(
            "creating and dropping {tables} empty tables at once {}",
            clauses.join("; it ")
        )),
    };
    Some(Told {
        value,
        note,
        sentence,
        chart: chart(&all, tables),
    })
}

/// The oldest way on the same target with the same pool.
fn old<'a>(all: &'a [Found], of: &Found) -> Option<(&'a Found, &'a Time)> {
    let old = all.iter().find(|f| {
        f.subject.is_full_scan() && f.subject.target == of.subject.target && f.subject != of.subject
    })?;
    let time = old.times.iter().find(|t| t.pool == of.largest().pool)?;
    Some((old, time))
}

fn clause(all: &[Found], found: &Found) -> String {
    let (time, name) = (found.largest(), found.subject.name());
    let pool = Size(time.pool);
    let mut text = format!("takes {name} {} with a pool of {pool}", seconds(time.took));
    if let Some((old, than)) = old(all, found) {
        let (name, took) = (old.subject.name(), seconds(than.took));
        text += &match against(&than.rounds, &time.rounds) {
            Against::More(x) => format!(", {name} {} times as long ({took})", num(x)),
            Against::Less(_) => format!(", {name} less ({took})"),
            Against::Alike(_) => format!(", {name} as long, as far as can be told ({took})"),
            Against::Untold => format!(", {name} {took}, in too few rounds to compare"),
        };
    }
    let first = &found.times[0];
    if first.pool < time.pool {
        let than = Size(first.pool);
        text += &match against(&time.rounds, &first.rounds) {
            Against::More(x) => format!(", {} times as long as with {than}", num(x)),
            Against::Less(_) => format!(", less than with {than}"),
            Against::Alike(_) => format!(", no more that can be told than with {than}"),
            Against::Untold => String::new(),
        };
    }
    text
}

fn chart(all: &[Found], tables: u64) -> Block {
    let series = all.iter().map(|f| Series {
        name: f.subject.label.clone(),
        style: f.subject.style,
        points: f
            .times
            .iter()
            .map(|t| (Size(t.pool).gib(), t.took * 1e3))
            .collect(),
        ..Series::default()
    });
    Block::Figure(Figure {
        title: format!("Time for {tables} tables"),
        caption: "Less is better, and flat. Logarithmic upward.".into(),
        x: Axis {
            label: "buffer pool, GiB".into(),
            log: false,
        },
        y: Axis {
            label: "milliseconds".into(),
            log: true,
        },
        panels: vec![Panel {
            title: "ms to create and drop all".into(),
            series: series.collect(),
            marks: Vec::new(),
        }],
        names: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Subjects with ms by pool: 1 GiB, 2 GiB.
    fn data(of: &[(&str, Option<&str>, &[f64])]) -> Value {
        let subjects: Vec<Value> = of
            .iter()
            .map(|s| {
                let target = usize::from(s.1.is_none());
                json!({"label": s.0, "algorithm": s.1, "target": target, "origin": "MySQL 5.1"})
            })
            .collect();
        let cell = |s: &(&str, Option<&str>, &[f64])| {
            let (label, times) = (s.0.to_string(), s.2.to_vec());
            times.into_iter().enumerate().map(move |(i, ms)| {
                let rounds = [0.98, 1.0, 1.02].map(|x| x * ms / 1e3);
                json!({"subject": label, "pool_bytes": (i as u64 + 1) << 30, "create_drop_seconds": ms / 1e3,
                       "rounds_create_drop_seconds": rounds})
            })
        };
        json!({"tables": 100, "subjects": subjects, "cells": of.iter().flat_map(cell).collect::<Vec<_>>()})
    }

    #[test]
    fn a_win_has_its_ratio() {
        let told = told(&data(&[
            ("full_scan", Some("full_scan"), &[100.0, 400.0]),
            ("millpond", Some("millpond"), &[4.0, 4.0]),
        ]))
        .unwrap();
        assert_eq!(
            told.sentence,
            "Creating and dropping 100 empty tables at once takes millpond 4.00 ms with a pool of 2.00 GiB, full_scan (as in MySQL 5.1) 100 \
             times as long (400 ms), no more that can be told than with 1.00 GiB."
        );
        assert_eq!(told.value, "100×");
    }

    #[test]
    fn losses_and_servers_as_they_are() {
        let lost = told(&data(&[
            ("full_scan", Some("full_scan"), &[1.0, 1.0]),
            ("millpond", Some("millpond"), &[2.0, 6.0]),
            ("MySQL 9.7.4", None, &[90.0]),
        ]));
        let sentence = lost.unwrap().sentence;
        assert!(
            sentence.contains(
                "full_scan (as in MySQL 5.1) less (1.00 ms), 3.00 times as long as with 1.00 GiB"
            ),
            "{sentence}"
        );
        assert!(
            sentence.ends_with("it takes MySQL 9.7.4 90.0 ms with a pool of 1.00 GiB."),
            "{sentence}"
        );
        assert!(told(&Value::Null).is_none());
        let only = told(&data(&[("full_scan", Some("full_scan"), &[1.0])])).unwrap();
        assert!(
            only.sentence
                .starts_with("Only full_scan (as in MySQL 5.1) was measured")
        );
    }
}
