//! What servers answer to one statement, and whether it is the same.

use crate::engine::{Engine, Failure, Outcome, Row};

/// Level, code and text.
pub type Warning = (String, String, String);

/// All that a statement answers.
#[derive(Clone, Debug)]
pub struct Answer {
    pub outcome: Result<Outcome, Failure>,
    pub warnings: Vec<Warning>,
}

/// Asks all, and for warnings whoever warned: of a statement that names no table MariaDB still lists those of the one before.
pub fn ask(engines: Vec<&mut dyn Engine>, sql: &str) -> Vec<Answer> {
    let shows = sql.to_ascii_uppercase();
    let asked = ["SHOW WARNINGS", "SHOW COUNT", "SELECT @@WARNING_COUNT"];
    let asks = asked.iter().any(|a| shows.starts_with(a));
    let answer = |engine: &mut dyn Engine| {
        let outcome = engine.run(sql);
        let mut warnings = Vec::new();
        if !asks && outcome.as_ref().map_or(true, |o| o.warnings > 0) {
            let rows = engine.run("SHOW WARNINGS").expect("warnings").rows;
            warnings.extend(rows.iter().map(warning));
        }
        Answer { outcome, warnings }
    };
    engines.into_iter().map(answer).collect()
}

fn warning(row: &Row) -> Warning {
    let text =
        |n: usize| String::from_utf8_lossy(row[n].as_deref().unwrap_or_default()).into_owned();
    (text(0), text(1), text(2))
}

/// Where two answers differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// `error`, `rows`, `affected`, `id`, `types`, `decimals`, `names`, `warnings` (which there are) or `texts` (of errors and warnings).
    pub aspect: &'static str,
    pub here: String,
    pub there: String,
}

impl Difference {
    /// Whether the two databases may be in different states now.
    pub fn deep(&self) -> bool {
        matches!(self.aspect, "error" | "rows" | "affected" | "id")
    }
}

fn cells(row: &Row) -> String {
    let cell = |c: &Option<Vec<u8>>| match c {
        None => "NULL".to_string(),
        Some(b) => format!("'{}'", b.escape_ascii()),
    };
    row.iter().map(cell).collect::<Vec<_>>().join(" ")
}

fn sorted_rows(o: &Outcome) -> Vec<Row> {
    let mut rows = o.rows.clone();
    rows.sort();
    rows
}

fn shown(rows: &[Row], than: &[Row]) -> String {
    let others = rows.iter().filter(|r| !than.contains(r)).take(5);
    let lines: Vec<String> = others.map(cells).collect();
    format!("{} rows: {}", rows.len(), lines.join(", "))
}

fn differ(aspect: &'static str, here: String, there: String) -> Option<Difference> {
    (here != there).then_some(Difference {
        aspect,
        here,
        there,
    })
}

fn lines(warnings: &[Warning], texts: bool) -> Vec<String> {
    let line = |(level, code, text): &Warning| {
        if texts {
            format!("{level} {code} {text}")
        } else {
            format!("{level} {code}")
        }
    };
    let mut lines: Vec<String> = warnings.iter().map(line).collect();
    lines.sort();
    // How often an expression is evaluated is the plan's affair.
    lines.dedup();
    lines
}

/// The first difference, the gravest first.
pub fn difference(here: &Answer, there: &Answer) -> Option<Difference> {
    let code = |a: &Answer| match &a.outcome {
        Ok(_) => "works".to_string(),
        Err(f) => f.code.to_string(),
    };
    let with_text = |a: &Answer| match &a.outcome {
        Ok(o) if o.types.is_empty() => "works".to_string(),
        Ok(o) => shown(&o.rows, &[]),
        Err(f) => format!("{} {}: {}", f.code, f.state, f.message),
    };
    if code(here) != code(there) {
        return differ("error", with_text(here), with_text(there));
    }
    if let (Ok(h), Ok(t)) = (&here.outcome, &there.outcome) {
        let (rows, others) = (sorted_rows(h), sorted_rows(t));
        if rows != others {
            let texts = (shown(&rows, &others), shown(&others, &rows));
            return differ("rows", texts.0, texts.1);
        }
        let set = !h.types.is_empty();
        let names = |o: &Outcome| {
            // MariaDB cuts names of expressions at 64 characters, MySQL at 256.
            let name = |n: &String| n.chars().take(60).collect::<String>();
            let names: Vec<_> = o.columns.iter().map(|c| name(&c.name)).collect();
            names.join(", ")
        };
        // Of other types the digits mean nothing.
        let decimals = |o: &Outcome| {
            let columns = o.types.chars().zip(&o.columns);
            let digits = columns.map(|(t, c)| match t {
                'N' | 'H' | 'S' => c.decimals.to_string(),
                _ => "-".to_string(),
            });
            digits.collect::<Vec<_>>().join(" ")
        };
        let found = if set {
            differ("types", h.types.clone(), t.types.clone())
                .or_else(|| differ("decimals", decimals(h), decimals(t)))
                .or_else(|| differ("names", names(h), names(t)))
        } else {
            differ("affected", h.affected.to_string(), t.affected.to_string()).or_else(|| {
                differ(
                    "id",
                    h.last_insert_id.to_string(),
                    t.last_insert_id.to_string(),
                )
            })
        };
        if found.is_some() {
            return found;
        }
    }
    for (aspect, texts) in [("warnings", false), ("texts", true)] {
        let (h, t) = (lines(&here.warnings, texts), lines(&there.warnings, texts));
        if h != t {
            let only = |a: &[String], b: &[String]| {
                let mut left = a.to_vec();
                for line in b {
                    if let Some(n) = left.iter().position(|l| l == line) {
                        left.remove(n);
                    }
                }
                left.truncate(5);
                left.join("; ")
            };
            // With the texts, for whoever reads it.
            let (h, t) = (lines(&here.warnings, true), lines(&there.warnings, true));
            return Some(Difference {
                aspect,
                here: only(&h, &t),
                there: only(&t, &h),
            });
        }
    }
    None
}
