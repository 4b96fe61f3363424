//! A chart's figures as tables and as lines: for who can't see it, and for programs. A chart of many points has none as a table; they are
//! in the JSON.

use super::text::num;
use super::{Bars, Block, Figure, Panel, Ranges, Table};

/// Rows that somebody reads.
const MOST_ROWS: usize = 40;

/// A figure of a chart: of what, where on the x axis if there is one, how much.
pub type Line = (String, Option<f64>, f64);

/// The tables of a chart; none of what is no chart.
pub fn tables(block: &Block) -> Vec<Table> {
    match block {
        Block::Figure(f) | Block::LinearAndLog(f) | Block::Folded(f) => {
            f.panels.iter().filter_map(|p| of_panel(f, p)).collect()
        }
        Block::Bars(b) => vec![of_bars(b)],
        Block::Ranges(r) => vec![of_ranges(r)],
        _ => Vec::new(),
    }
}

/// Every figure of a chart.
pub fn lines(block: &Block) -> Vec<Line> {
    match block {
        Block::Figure(f) | Block::LinearAndLog(f) | Block::Folded(f) => {
            let series = f.panels.iter().flat_map(|p| &p.series);
            series
                .flat_map(|s| s.points.iter().map(|p| (s.name.clone(), Some(p.0), p.1)))
                .collect()
        }
        Block::Bars(b) => {
            let bars = b
                .groups
                .iter()
                .flat_map(|g| g.bars.iter().map(move |bar| (g, bar)));
            bars.map(|(g, bar)| (named(&g.title, &bar.name), None, bar.value))
                .collect()
        }
        Block::Ranges(r) => (r.rows.iter())
            .map(|row| (row.name.clone(), None, row.interval.estimate))
            .collect(),
        _ => Vec::new(),
    }
}

fn named(group: &str, bar: &str) -> String {
    match group {
        "" => bar.to_string(),
        group => format!("{group}: {bar}"),
    }
}

/// A row for each place on the x axis, a column for each line.
fn of_panel(figure: &Figure, panel: &Panel) -> Option<Table> {
    let mut places: Vec<f64> = panel
        .series
        .iter()
        .flat_map(|s| s.points.iter().map(|p| p.0))
        .filter(|x| x.is_finite())
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.is_empty() || places.len() > MOST_ROWS {
        return None;
    }
    let mut head = vec![figure.x.label.as_str()];
    head.extend(panel.series.iter().map(|s| s.name.as_str()));
    let mut table = Table::new(format!("{}, {}", figure.title, figure.y.label), &head);
    for x in places {
        let mut row = vec![num(x)];
        for series in &panel.series {
            let found = series.points.iter().find(|p| p.0 == x);
            row.push(found.map_or("–".into(), |p| num(p.1)));
        }
        table.rows.push(row);
    }
    Some(table)
}

fn of_bars(bars: &Bars) -> Table {
    let mut table = Table::new(&bars.title, &["", &bars.unit]);
    for group in &bars.groups {
        for bar in &group.bars {
            table
                .rows
                .push(vec![named(&group.title, &bar.name), num(bar.value)]);
        }
    }
    table
}

fn of_ranges(ranges: &Ranges) -> Table {
    let mut table = Table::new(&ranges.title, &["", &ranges.unit, "from", "to", ""]);
    for row in &ranges.rows {
        let i = row.interval;
        let figures = [num(i.estimate), num(i.low), num(i.high)];
        let cells = [row.name.clone()].into_iter().chain(figures);
        table.rows.push(cells.chain([row.said.clone()]).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Series};
    use super::*;

    fn figure(points: usize) -> Figure {
        let line = |name: &str, n: usize| Series {
            name: name.into(),
            points: (0..n).map(|i| (i as f64, i as f64 * 2.0)).collect(),
            ..Series::default()
        };
        Figure {
            title: "Time".into(),
            y: Axis {
                label: "ms".into(),
                log: false,
            },
            panels: vec![Panel {
                series: vec![line("a", points), line("b", points - 1)],
                ..Panel::default()
            }],
            ..Figure::default()
        }
    }

    #[test]
    fn lines_become_columns_and_many_points_no_table() {
        let tables = tables(&Block::Figure(figure(3)));
        assert_eq!(tables[0].title, "Time, ms");
        assert_eq!(tables[0].head[1..], ["a", "b"]);
        assert_eq!(tables[0].rows[2], ["2.00", "4.00", "–"]);
        assert!(super::tables(&Block::Figure(figure(60))).is_empty());
        assert_eq!(lines(&Block::Figure(figure(60))).len(), 119);
    }
}
