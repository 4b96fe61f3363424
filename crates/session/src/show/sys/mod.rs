//! The views of the schema `sys`: MySQL's names, columns and meaning, over the tables of performance_schema and information_schema.
//!
//! | file | owns |
//! |---|---|
//! | `statements` | statements by digest |
//! | `schema` | tables, indexes, AUTO_INCREMENT columns |
//! | `locks` | who waits for whom |
//! | `server` | waits, memory, metrics |
//! | `files` | what was done to files |
//! | `people` | sessions, users and hosts |
//!
//! A view is a text that is bound anew for each statement, as a user's is, by the right of whoever reads it. Most come twice: as people like
//! to read them, and as programs do, under a name that begins with `x$`: [`Pair`] has both. What a view cannot know here has no view.

mod files;
mod locks;
mod people;
mod schema;
mod server;
mod statements;

use std::sync::Arc;

use millpond_sql::catalog::View;
use millpond_sql::parse::ast::{Security, ViewAlgorithm};
use millpond_sql::types::Collation;

/// The schema's name.
pub(in crate::show) const SYS: &str = "sys";

/// How a column is shown to people.
#[derive(Clone, Copy)]
enum As {
    /// As it is.
    It,
    /// Picoseconds, with a unit.
    Time,
    /// Bytes, with a unit.
    Bytes,
    /// A statement, its middle left out if it is long.
    Text,
}

/// Name, expression, how it is shown.
type Column = (&'static str, &'static str, As);

/// A view in both forms.
struct Pair {
    name: &'static str,
    columns: &'static [Column],
    /// What comes behind the columns. ORDER BY names tables' columns, not the view's.
    from: &'static str,
}

/// A view in one form: name and query.
type Single = (&'static str, &'static str);

const PAIRS: &[&[Pair]] = &[
    statements::PAIRS,
    schema::PAIRS,
    locks::PAIRS,
    server::PAIRS,
    files::PAIRS,
    people::PAIRS,
];
const SINGLES: &[&[Single]] = &[statements::SINGLES, schema::SINGLES, server::SINGLES];

/// The names of all views, sorted.
pub(in crate::show) fn names() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for pair in PAIRS.iter().copied().flatten() {
        all.extend([pair.name.to_string(), format!("x${}", pair.name)]);
    }
    let singles = SINGLES.iter().copied().flatten();
    all.extend(singles.map(|(name, _)| (*name).to_string()));
    all.sort();
    all
}

/// The view of this name, which is compared without regard to case, with the name as it is shown.
pub(in crate::show) fn find(name: &str) -> Option<(String, Arc<View>)> {
    let raw = name.get(..2).is_some_and(|x| x.eq_ignore_ascii_case("x$"));
    let plain = if raw { &name[2..] } else { name };
    let mut pairs = PAIRS.iter().copied().flatten();
    if let Some(pair) = pairs.find(|p| p.name.eq_ignore_ascii_case(plain)) {
        let name = format!("{}{}", if raw { "x$" } else { "" }, pair.name);
        return Some((name, Arc::new(view(pair.query(raw)))));
    }
    let mut singles = SINGLES.iter().copied().flatten();
    let (name, query) = singles.find(|(n, _)| n.eq_ignore_ascii_case(name))?;
    Some(((*name).to_string(), Arc::new(view((*query).to_string()))))
}

impl Pair {
    fn query(&self, raw: bool) -> String {
        let column = |(name, expr, shown): &Column| {
            let expr = match (raw, shown) {
                (true, _) | (_, As::It) => (*expr).to_string(),
                (_, As::Time) => format!("FORMAT_PICO_TIME({expr})"),
                (_, As::Bytes) => format!("FORMAT_BYTES({expr})"),
                (_, As::Text) => format!(
                    "IF(CHAR_LENGTH({expr}) > 64, CONCAT(LEFT({expr}, 30), ' ... ', RIGHT({expr}, 30)), {expr})"
                ),
            };
            format!("{expr} AS `{name}`")
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        format!("SELECT {} {}", columns.join(", "), self.from)
    }
}

fn view(query: String) -> View {
    View {
        query,
        short: None,
        algorithm: ViewAlgorithm::Undefined,
        check: None,
        definer: ("mysql.sys".into(), "localhost".into()),
        security: Security::Invoker,
        client: "utf8mb4".into(),
        collation: Collation::DEFAULT,
        updatable: false,
        tables: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_both_forms() {
        let names = names();
        let mut distinct = names.clone();
        distinct.dedup();
        assert_eq!(names, distinct);
        for name in &names {
            assert_eq!(find(&name.to_uppercase()).map(|v| v.0).as_ref(), Some(name));
        }
        assert!(find("nope").is_none() && find("x$nope").is_none());
        let people = find("waits_global_by_latency").unwrap().1;
        let raw = find("x$waits_global_by_latency").unwrap().1;
        assert!(people.query.contains("FORMAT_PICO_TIME") && !raw.query.contains("FORMAT"));
    }
}
