//! 2006: 50,000 tables, created, filled, read and dropped.

use super::Told;
use crate::all::read::{list, listed};
use crate::report::{Bar, Bars, Block, Group, Part, grouped, seconds};
use serde_json::Value;

/// Tables of the article.
const TABLES: f64 = 50_000.0;
/// Styles of the phases.
const PHASES: [(&str, usize); 4] = [("create", 0), ("insert", 1), ("select", 5), ("drop", 2)];

pub(super) fn told(data: &Value) -> Option<Told> {
    let tables = data["tables"].as_f64().filter(|n| *n > 0.0)?;
    let whole = list(&data["places"])
        .iter()
        .filter(|p| p["complete"] == true);
    let places: Vec<(&str, f64, &Value)> = whole
        .filter_map(|p| {
            let all = p["total_seconds"].as_f64()?;
            Some((p["name"].as_str()?, all * TABLES / tables, p))
        })
        .collect();
    let &(first, took, _) = places.first()?;
    let times: Vec<String> = places
        .iter()
        .map(|(name, took, _)| format!("{name} {}", seconds(*took)))
        .collect();
    let at_rates = match tables == TABLES {
        true => String::new(),
        false => format!(", at the rates measured with {}", grouped(tables as u64)),
    };
    let bar = |(name, took, place): &(&str, f64, &Value)| Bar {
        name: name.to_string(),
        value: *took,
        style: 0,
        parts: parts(place, TABLES / tables),
    };
    let bars = Bars {
        title: "50,000 tables, one client".into(),
        caption: "Less is better.".into(),
        unit: "s".into(),
        log: false,
        groups: vec![Group {
            title: format!("{} tables measured", grouped(tables as u64)),
            bars: places.iter().map(bar).collect(),
        }],
    };
    Some(Told {
        value: seconds(took),
        note: format!("{first}; the article with InnoDB: 768 s at best"),
        sentence: format!(
            "Creating 50,000 tables, a row into each, reading and dropping them takes {}{at_rates}; {}.",
            listed(&times),
            durability(data)
        ),
        chart: Block::Bars(bars),
    })
}

fn parts(place: &Value, factor: f64) -> Vec<Part> {
    let phases = list(&place["phases"]);
    let part = |(name, style): (&str, usize)| {
        let found = phases.iter().find(|p| p["name"] == name)?;
        Some(Part {
            name: name.into(),
            value: found["seconds"].as_f64()? * factor,
            style,
        })
    };
    PHASES.into_iter().filter_map(part).collect()
}

/// Whether commits were synced.
fn durability(data: &Value) -> &'static str {
    let targets = list(&data["conditions"]["targets"]);
    let text = |t: &Value| t["durability"].as_str().unwrap_or_default().to_string();
    let durable = targets.iter().filter(|t| text(t).starts_with("durable"));
    match durable.count() {
        0 => "not every commit was synced",
        n if n == targets.len() => "every commit was synced",
        _ => "not all of them synced every commit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn data(places: &[(&str, f64, bool)], durable: &[&str]) -> Value {
        let places: Vec<Value> = places
            .iter()
            .map(|(name, took, complete)| {
                json!({"name": name, "total_seconds": took, "complete": complete,
                       "phases": [{"name": "create", "seconds": took / 2.0}, {"name": "drop", "seconds": took / 2.0}]})
            })
            .collect();
        let targets: Vec<Value> = durable.iter().map(|d| json!({"durability": d})).collect();
        json!({"tables": 10_000, "places": places, "conditions": {"targets": targets}})
    }

    #[test]
    fn whoever_is_quicker_the_times_are_told() {
        let told = told(&data(
            &[("Millpond", 20.0, true), ("MySQL 9.7.4", 10.0, true)],
            &["durable: x", "durable: x"],
        ))
        .unwrap();
        assert_eq!(
            told.sentence,
            "Creating 50,000 tables, a row into each, reading and dropping them takes Millpond 100 s and MySQL 9.7.4 50.0 s, at the rates \
             measured with 10,000; every commit was synced."
        );
        assert_eq!(told.value, "100 s");
        let Block::Bars(bars) = told.chart else {
            panic!("no bars")
        };
        assert_eq!(bars.groups[0].bars[1].parts[0].value, 25.0);
    }

    #[test]
    fn what_did_not_come_to_its_end_is_not_compared() {
        let one = told(&data(
            &[("Millpond", 5.0, false), ("MariaDB", 9.0, true)],
            &["NOT durable", "durable"],
        ));
        let sentence = one.unwrap().sentence;
        assert!(!sentence.contains("Millpond"), "{sentence}");
        assert!(sentence.ends_with("; not all of them synced every commit."));
        assert!(told(&data(&[("Millpond", 5.0, false)], &[])).is_none());
        assert!(told(&Value::Null).is_none());
    }
}
