//! 2012: OPTIMIZE TABLE from sorted keys, with constraints and without.

use super::Told;
use crate::all::read::{Subject, cells, listed, subjects};
use crate::rebuild::article::PUBLISHED;
use crate::report::{Bar, Bars, Block, Group, grouped, num, ratio, seconds};
use serde_json::Value;

/// A constraint makes a rebuild slower if it is so in each of at least so many rounds, and by this part at least.
const ROUNDS: u64 = 3;
const NOTABLE: f64 = 0.1;

/// A rebuild's time in several rounds.
#[derive(Clone, Copy)]
struct Time {
    median: f64,
    least: f64,
    most: f64,
}

/// What was measured on a target.
struct Target {
    name: String,
    /// The table without constraints, with the target's best way.
    plain: Time,
    row_by_row: Option<Time>,
    /// The constraint's name and the time with it, with the best way.
    with: Vec<(String, Time)>,
}

fn time(cell: &Value) -> Option<Time> {
    let of = |name: &str| cell["fresh"][name].as_f64();
    Some(Time {
        median: of("median_seconds")?,
        least: of("least_seconds")?,
        most: of("most_seconds")?,
    })
}

fn is_row_by_row(cell: &Value) -> bool {
    cell["way"].as_str().is_some_and(|w| w.ends_with("=OFF"))
}

fn targets(data: &Value) -> Vec<Target> {
    let subjects = subjects(data);
    let numbers = subjects.iter().map(|s| s.target).max();
    let number = |n: usize| -> Option<Target> {
        let own: Vec<_> = subjects.iter().filter(|s| s.target == n).collect();
        let all: Vec<&Value> = own.iter().flat_map(|s| cells(data, &s.label)).collect();
        let plain = |slow: bool| {
            let found = all
                .iter()
                .find(|c| c["keys"] == "plain" && is_row_by_row(c) == slow);
            found.and_then(|c| time(c))
        };
        let with = all
            .iter()
            .filter(|c| c["keys"] != "plain" && !is_row_by_row(c));
        Some(Target {
            name: own.first()?.label.clone(),
            plain: plain(false)?,
            row_by_row: plain(true),
            with: with
                .filter_map(|c| Some((c["keys"].as_str()?.to_string(), time(c)?)))
                .collect(),
        })
    };
    (0..=numbers.unwrap_or(0)).filter_map(number).collect()
}

impl Target {
    /// What the constraint does that costs most.
    fn worst(&self) -> Option<(&str, Time)> {
        let all = self.with.iter().map(|(name, t)| (name.as_str(), *t));
        all.max_by(|a, b| a.1.median.total_cmp(&b.1.median))
    }

    /// `rounds`: how many there were of each.
    fn said(&self, rounds: u64) -> String {
        let name = &self.name;
        let mut text = format!("takes {name} {}", seconds(self.plain.median));
        if let Some(slow) = self.row_by_row {
            text = format!(
                "takes {name} {} from sorted keys and {} row by row",
                seconds(self.plain.median),
                seconds(slow.median)
            );
        }
        let dearer = |t: &Time| {
            let notable = t.median > self.plain.median * (1.0 + NOTABLE);
            rounds >= ROUNDS && t.least > self.plain.most && notable
        };
        let slow = self.with.iter().filter(|(_, t)| dearer(t));
        let slow: Vec<String> = slow
            .map(|(keys, t)| {
                let times = num(t.median / self.plain.median);
                format!("with a {keys} key {times} times as long").replace("key key", "key")
            })
            .collect();
        let rest: Vec<String> = self
            .with
            .iter()
            .filter(|(_, t)| !dearer(t))
            .map(|(keys, t)| {
                format!("with a {keys} key ({})", seconds(t.median)).replace("key key", "key")
            })
            .collect();
        if !slow.is_empty() {
            text = format!("{text}, {}", listed(&slow));
        }
        match (rest.is_empty(), rounds < ROUNDS) {
            (true, _) => text,
            (_, true) => format!("{text}, {}", listed(&rest)),
            _ => format!("{text}, and no longer that could be told {}", listed(&rest)),
        }
    }
}

pub(super) fn told(data: &Value) -> Option<Told> {
    let targets = targets(data);
    let first = targets.first()?;
    let rows = grouped(data["rows"].as_u64().unwrap_or(0));
    let rounds = data["rounds"].as_u64().unwrap_or(0);
    let clauses: Vec<String> = targets.iter().map(|t| t.said(rounds)).collect();
    let articles = PUBLISHED[2].total / PUBLISHED[1].total;
    let (value, note) = match first.worst() {
        Some((keys, t)) => (
            ratio(t.median / first.plain.median),
            format!(
                "with a {keys} key to without, {}; the article {}",
                first.name,
                ratio(articles)
            )
            .replace("key key", "key"),
        ),
        None => (
            seconds(first.plain.median),
            format!("OPTIMIZE TABLE of {rows} rows, {}", first.name),
        ),
    };
    Some(Told {
        value,
        note,
        sentence: format!("OPTIMIZE TABLE of {rows} rows {}.", clauses.join("; it ")),
        chart: chart(data, &rows),
    })
}

fn chart(data: &Value, rows: &str) -> Block {
    let subjects = subjects(data);
    let bar = |subject: &Subject, c: &Value| {
        let keys = c["keys"].as_str().unwrap_or_default();
        let way = match is_row_by_row(c) {
            true => "row by row",
            false if c["way"].as_str().is_some_and(|w| w.ends_with("=ON")) => "sorted",
            false => "",
        };
        let name = match (way, keys) {
            ("", keys) => keys.to_string(),
            (way, "plain") => way.to_string(),
            (way, keys) => format!("{way}, {keys}"),
        };
        Some(Bar {
            name,
            value: time(c)?.median,
            style: subject.style,
            ..Bar::default()
        })
    };
    let mut groups: Vec<Group> = Vec::new();
    for s in &subjects {
        let bars = cells(data, &s.label)
            .into_iter()
            .filter_map(|c| bar(s, c))
            .collect();
        groups.push(Group {
            title: s.label.clone(),
            bars,
        });
    }
    groups.retain(|g| !g.bars.is_empty());
    let rounds = data["rounds"].as_u64().unwrap_or(0);
    Block::Bars(Bars {
        title: format!("OPTIMIZE TABLE of {rows} rows"),
        caption: format!("Less is better. Medians of {rounds}; one scale for all."),
        unit: "s".into(),
        log: false,
        groups,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Cells of targets: label, target, way, keys, median.
    fn data(of: &[(&str, u64, &str, &str, f64)]) -> Value {
        let mut subjects: Vec<Value> = Vec::new();
        for (label, target, ..) in of {
            let one = json!({"label": label, "target": target, "style": 0});
            if !subjects.contains(&one) {
                subjects.push(one);
            }
        }
        let cells: Vec<Value> = of
            .iter()
            .map(|(label, _, way, keys, t)| {
                json!({"subject": label, "way": way, "keys": keys,
                       "fresh": {"median_seconds": t, "least_seconds": t * 0.95, "most_seconds": t * 1.05}})
            })
            .collect();
        json!({"rows": 1000, "rounds": 3, "subjects": subjects, "cells": cells})
    }

    #[test]
    fn constraints_that_cost_nothing_and_those_that_do() {
        let on = "expand_fast_index_creation=ON";
        let told = told(&data(&[
            ("Millpond", 0, on, "plain", 1.0),
            ("Millpond", 0, on, "foreign key", 1.04),
            (
                "Millpond, row by row",
                0,
                "expand_fast_index_creation=OFF",
                "plain",
                4.0,
            ),
            ("MySQL 9.7.4", 1, "without", "plain", 2.0),
            ("MySQL 9.7.4", 1, "without", "unique", 3.0),
        ]))
        .unwrap();
        assert_eq!(
            told.sentence,
            "OPTIMIZE TABLE of 1,000 rows takes Millpond 1.00 s from sorted keys and 4.00 s row by row, and no longer that could be told \
             with a foreign key (1.04 s); it takes MySQL 9.7.4 2.00 s, with a unique key 1.50 times as long."
        );
        assert_eq!(told.value, "1.04×");
        assert_eq!(
            told.note,
            "with a foreign key to without, Millpond; the article 2.21×"
        );
    }

    #[test]
    fn our_own_loss_is_told_and_nothing_of_nothing() {
        let on = "expand_fast_index_creation=ON";
        let lost = told(&data(&[
            ("Millpond", 0, on, "plain", 1.0),
            ("Millpond", 0, on, "unique", 2.5),
        ]));
        let sentence = lost.unwrap().sentence;
        assert!(
            sentence.ends_with("1.00 s, with a unique key 2.50 times as long."),
            "{sentence}"
        );
        // One round tells nothing of noise.
        let mut once = data(&[
            ("Millpond", 0, on, "plain", 1.0),
            ("Millpond", 0, on, "unique", 2.5),
        ]);
        once["rounds"] = json!(1);
        let sentence = told(&once).unwrap().sentence;
        assert!(
            sentence.ends_with("1.00 s, with a unique key (2.50 s)."),
            "{sentence}"
        );
        let none = told(&data(&[("Millpond", 0, on, "unique", 2.5)]));
        assert!(none.is_none() && told(&Value::Null).is_none());
    }
}
