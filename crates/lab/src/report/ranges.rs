//! Figures with their intervals, one below the other on one scale, as inline SVG.

use super::chart::{STYLES, WIDTH, escape};
use super::scale::Scale;
use super::text::{num, shortened};
use crate::stats::Interval;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Height of a row.
const ROW: f64 = 24.0;
/// Room for names, and for what is said at the end of a row.
const NAMES: f64 = 118.0;
const SAID: f64 = 160.0;
const TOP: f64 = 24.0;
/// Room for a tick's label.
const LABEL: f64 = 36.0;
/// Width of a character, about.
const CHARACTER: f64 = 6.2;

/// Figures with intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranges {
    /// Above all.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Unit of the values.
    pub unit: String,
    /// In order.
    pub rows: Vec<Range>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// To its left.
    pub name: String,
    /// Below [`STYLES`].
    pub style: usize,
    /// Where it is.
    pub interval: Interval,
    /// To its right.
    pub said: String,
}

impl Ranges {
    /// One SVG element.
    pub(super) fn svg(&self) -> String {
        let ends = self
            .rows
            .iter()
            .flat_map(|r| [r.interval.low, r.interval.high]);
        let scale = Scale::over(ends, false);
        let px = |v: f64| NAMES + scale.at(v) * (WIDTH - NAMES - SAID);
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
            bottom + 34.0,
            escape(&self.title)
        );
        // Ticks closer than a label is wide have one every other time.
        let close = scale.ticks.windows(2).any(|t| px(t[1]) - px(t[0]) < LABEL);
        for (i, &tick) in scale.ticks.iter().enumerate() {
            let class = if tick == 0.0 { "mark" } else { "grid" };
            let x = px(tick);
            let _ = write!(
                out,
                "<path class=\"{class}\" d=\"M{x:.1} {TOP}V{bottom}\"/>"
            );
            if close && i % 2 == 1 {
                continue;
            }
            let _ = write!(
                out,
                "<text class=\"k m\" x=\"{x:.1}\" y=\"{:.0}\">{}</text>",
                bottom + 15.0,
                num(tick),
            );
        }
        let _ = write!(
            out,
            "<text class=\"k e\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            WIDTH - SAID,
            bottom + 30.0,
            escape(&self.unit)
        );
        for (i, row) in self.rows.iter().enumerate() {
            self.row(&mut out, row, TOP + ROW * (i as f64 + 0.5), &px);
        }
        out.push_str("</svg>");
        out
    }

    fn row(&self, out: &mut String, row: &Range, y: f64, px: &dyn Fn(f64) -> f64) {
        let style = row.style % STYLES;
        let Interval {
            estimate,
            low,
            high,
        } = row.interval;
        let name = shortened(&row.name, NAMES / CHARACTER);
        let _ = write!(
            out,
            "<text class=\"k\" x=\"4\" y=\"{:.1}\">{}</text>\
             <path class=\"bar b{style}\" d=\"M{:.1} {:.1}H{:.1}v3H{:.1}z\"><title>{}: {} [{}, {}] {}</title></path>\
             <path class=\"dot c{style}\" d=\"M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z\"/>\
             <text class=\"k\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
            y + 4.0,
            escape(&name),
            px(low),
            y - 1.5,
            px(high).max(px(low) + 1.0),
            px(low),
            escape(&row.name),
            num(estimate),
            num(low),
            num(high),
            escape(&self.unit),
            px(estimate) - 4.0,
            WIDTH - SAID + 8.0,
            y + 4.0,
            escape(&row.said),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_on_both_sides_of_nothing() {
        let row = |low: f64, high: f64| Range {
            name: "a<b".into(),
            style: 1,
            interval: Interval {
                estimate: (low + high) / 2.0,
                low,
                high,
            },
            said: "none above 1 ms".into(),
        };
        let ranges = Ranges {
            rows: vec![row(-1.0, 1.0), row(3.0, 5.0)],
            ..Ranges::default()
        };
        let svg = ranges.svg();
        assert_eq!(svg.matches("class=\"bar").count(), 2);
        // The scale goes from -2 to 6: 0 is a quarter of the way along it.
        let zero = NAMES + (WIDTH - NAMES - SAID) / 4.0;
        let mark = format!("class=\"mark\" d=\"M{zero:.1} ");
        assert!(svg.contains(&mark), "{svg}");
        assert!(svg.contains("a&lt;b"));
    }
}
