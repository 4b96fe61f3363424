//! Tables.

use super::super::article::PUBLISHED;
use super::super::{Cell, Results, Way};
use super::percent;
use crate::profile::Profile;
use crate::report::{Table, num, ratio, seconds};
use crate::stats::Spread;

/// A stage that makes up less than this of a statement is among the others.
pub(super) const NOTABLE: f64 = 0.01;

/// `median (least – most)`, seconds.
fn spread(s: Option<Spread>) -> String {
    match s {
        None => "–".into(),
        Some(s) => format!("{} ({} – {})", num(s.median), num(s.least), num(s.most)),
    }
}

fn or_dash(times: Option<f64>) -> String {
    times.map_or("–".into(), ratio)
}

impl Results {
    fn who(&self, cell: &Cell) -> String {
        format!("{}: {}", self.subject(cell).label, cell.keys.name())
    }

    pub(super) fn times_table(&self) -> Table {
        let mut table = Table::new(
            "Seconds of OPTIMIZE TABLE, median (least – most)",
            &[
                "",
                "fresh",
                "fragmented",
                "under load",
                "fresh, to plain",
                "row by row to this",
            ],
        );
        for cell in &self.cells {
            table.rows.push(vec![
                self.who(cell),
                spread(cell.fresh()),
                spread(cell.fragmented()),
                spread(Spread::of(cell.beside.rebuilds.iter().copied())),
                or_dash(self.to_plain(cell)),
                or_dash(self.row_by_row(cell)),
            ]);
        }
        table.note = format!(
            "{} rounds each. Fresh: as the rebuild before left it. Fragmented: {} of the rows removed and brought back with other names \
             and dates. Under load: with {} connections reading and writing.",
            self.plan.rounds,
            percent(self.plan.fragment),
            self.plan.threads
        );
        table
    }

    /// Stages that matter in some rebuild, in the order in which they come.
    pub(super) fn notable(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for profile in self.cells.iter().filter_map(Cell::middle) {
            let mut at = 0;
            for (name, took) in &profile.stages {
                match names.iter().position(|n| n == name) {
                    Some(known) => at = known + 1,
                    None if *took >= profile.seconds * NOTABLE => {
                        names.insert(at, name);
                        at += 1;
                    }
                    None => {}
                }
            }
        }
        names
    }

    pub(super) fn stages_table(&self) -> Table {
        let names = self.notable();
        let mut head = vec![""];
        head.extend(&names);
        head.extend(["other stages", "sum", "statement", "sum to statement"]);
        let mut table = Table::new("SHOW PROFILE of the median fresh rebuild, ms", &head);
        for cell in &self.cells {
            let Some(profile) = cell.middle() else {
                continue;
            };
            let mut row = vec![self.who(cell)];
            row.extend(shown(profile, &names));
            table.rows.push(row);
        }
        table.note =
            "The statement's time is the client's; a server's includes the way there and back."
                .into();
        table
    }

    pub(super) fn felt_table(&self) -> Table {
        let mut table = Table::new(
            "The load alone, and while the table is rebuilt",
            &[
                "",
                "statements/s",
                "read p50 ms",
                "p99",
                "max",
                "write p50 ms",
                "p99",
                "p99.9",
                "max",
            ],
        );
        for cell in &self.cells {
            for (case, felt) in [
                ("alone", &cell.beside.before),
                ("rebuild", &cell.beside.during),
            ] {
                let mut row = vec![format!("{}, {case}", self.who(cell)), num(felt.rate())];
                let reads = [0.5, 0.99, 1.0].map(|q| felt.reads.quantile(q));
                let writes = [0.5, 0.99, 0.999, 1.0].map(|q| felt.writes.quantile(q));
                row.extend(reads.iter().chain(&writes).map(|s| num(s * 1e3)));
                table.rows.push(row);
            }
        }
        table.note = "All rounds together. The load shares the machine with the target, so that it has bad moments alone, too.".into();
        table
    }

    pub(super) fn beside_the_article(&self) -> Table {
        let mut table = Table::new(
            "Seconds",
            &[
                "",
                "rows",
                "OPTIMIZE TABLE",
                "copy to tmp table",
                "restoring secondary keys",
                "rename result table",
                "µs a row",
            ],
        );
        let rows_of = |n: u64| crate::report::grouped(n);
        for p in &PUBLISHED {
            table.rows.push(vec![
                format!("The article: {}", p.what),
                rows_of(crate::employees::ARTICLE_ROWS),
                num(p.total),
                num(p.copy),
                p.keys.map_or("–".into(), num),
                num(p.rename),
                num(p.total * 1e6 / crate::employees::ARTICLE_ROWS as f64),
            ]);
        }
        for cell in &self.cells {
            let Some(profile) = cell.middle() else {
                continue;
            };
            let stage = |name: &str| profile.of(name).map_or("–".into(), num);
            let way = match cell.way {
                Way::AsItIs => String::new(),
                way => format!(", {}", way.origin()),
            };
            table.rows.push(vec![
                format!("{}{way}", self.who(cell)),
                rows_of(self.plan.rows),
                num(profile.seconds),
                stage("copy to tmp table"),
                stage("restoring secondary keys"),
                stage("rename result table"),
                num(profile.seconds * 1e6 / self.plan.rows as f64),
            ]);
        }
        let facts = self.conditions.facts();
        let named = |name: &str| facts.iter().find(|f| f.0 == name).map_or("", |f| &f.1);
        table.note = format!(
            "The article: Percona Server in 2012, a buffer pool of 256 MiB, a machine that it doesn't name, keys that it doesn't show. Here: {}; \
             a small write and fdatasync take {}. MySQL and MariaDB copy in a stage called \u{201c}altering table\u{201d}.",
            named("Machine"),
            seconds(self.conditions.sync)
        );
        table
    }
}

/// The notable stages, the others, their sum, the statement, the sum's part.
fn shown(profile: &Profile, names: &[&str]) -> Vec<String> {
    let ms = |s: f64| num(s * 1e3);
    let stages: Vec<Option<f64>> = names.iter().map(|n| profile.of(n)).collect();
    let known: f64 = stages.iter().flatten().sum();
    let mut row: Vec<String> = stages.iter().map(|s| s.map_or("–".into(), ms)).collect();
    match profile.covered() {
        None => row.extend(["–", "–"].map(String::from)),
        Some(_) => row.extend([ms((profile.sum() - known).max(0.0)), ms(profile.sum())]),
    }
    row.push(ms(profile.seconds));
    row.push(profile.covered().map_or("–".into(), percent));
    row
}
