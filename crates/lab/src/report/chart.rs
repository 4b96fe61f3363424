//! Figures as inline SVG.
//!
//! A figure is some panels, side by side where there is room and one below the other on a phone, all with the same scale. A panel is
//! drawn 400 units wide with text of 12, which a phone shows at nearly that size. Lines differ by colour, dashes and markers,
//! and carry their names at their ends; colours are classes, so the page chooses them for light and dark.

use super::saved;
use super::scale::Scale;
use super::text::{breadth, num, shortened};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Number of line styles.
pub const STYLES: usize = 9;

/// Units across a panel.
pub(super) const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 236.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 16.0;
/// Right margin where lines carry names: least, and most.
const NAMES: (f64, f64) = (98.0, 156.0);
/// Width of a character of a name, about.
const CHARACTER: f64 = 5.9;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 38.0;
/// Least distance of two names.
const NAME_HEIGHT: f64 = 12.5;
/// More points than this get no markers and no tooltips of their own.
const MOST_MARKERS: usize = 60;

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// Logarithmic.
    pub log: bool,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Shown at its end, if the figure shows names, and in tooltips.
    pub name: String,
    /// Below [`STYLES`]; the same for the same thing in all figures.
    pub style: usize,
    /// Ascending in x.
    #[serde(deserialize_with = "saved::points")]
    pub points: Vec<(f64, f64)>,
    /// Where the truth may lie: x, lower end, upper end; ascending in x. Nothing if that isn't known.
    #[serde(deserialize_with = "saved::bands")]
    pub band: Vec<(f64, f64, f64)>,
    /// Drawn thin and grey: what others are compared with.
    pub base: bool,
}

/// An event on the x axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Where.
    #[serde(deserialize_with = "saved::number")]
    pub x: f64,
    /// What happened, as a tooltip.
    pub what: String,
}

/// One chart of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Lines.
    pub series: Vec<Series>,
    /// Vertical lines.
    pub marks: Vec<Mark>,
}

/// Panels with one scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Above all.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// To the right.
    pub x: Axis,
    /// Upward.
    pub y: Axis,
    /// In order.
    pub panels: Vec<Panel>,
    /// Write the lines' names at their ends.
    pub names: bool,
}

/// Escapes text for HTML and SVG.
pub(super) fn escape(s: &str) -> String {
    s.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

impl Figure {
    /// The same with a logarithmic y axis.
    pub fn to_log(&self) -> Figure {
        let mut log = self.clone();
        log.y.log = true;
        log.title = format!("{}, logarithmic", self.title);
        for p in &mut log.panels {
            p.title = format!("{}, logarithmic", p.title);
        }
        log
    }

    /// The panels with any point, each as an SVG element.
    pub(super) fn svgs(&self) -> Vec<String> {
        let points = || self.panels.iter().flat_map(|p| &p.series);
        let all = || points().flat_map(|s| &s.points);
        let marks = self.panels.iter().flat_map(|p| &p.marks).map(|m| m.x);
        let x = Scale::over(all().map(|p| p.0).chain(marks), self.x.log);
        let bands = points().flat_map(|s| &s.band).flat_map(|b| [b.1, b.2]);
        let y = Scale::over(all().map(|p| p.1).chain(bands), self.y.log);
        let longest = points().map(|s| breadth(&s.name)).fold(0.0, f64::max);
        let right = match self.names {
            true => (longest * CHARACTER + 12.0).clamp(NAMES.0, NAMES.1),
            false => RIGHT,
        };
        let area = Area { x, y, right };
        let any = |p: &&Panel| p.series.iter().any(|s| !s.points.is_empty());
        let panels = self.panels.iter().filter(any);
        panels.map(|p| area.panel(self, p)).collect()
    }
}

/// The part of a panel in which lines are.
struct Area {
    x: Scale,
    y: Scale,
    right: f64,
}

impl Area {
    fn px(&self, x: f64) -> f64 {
        LEFT + self.x.at(x) * (WIDTH - LEFT - self.right)
    }
    fn py(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.at(y) * (HEIGHT - TOP - BOTTOM)
    }

    fn panel(&self, figure: &Figure, panel: &Panel) -> String {
        let title = escape(&panel.title);
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}: {title}\">\
             <text class=\"t\" x=\"4\" y=\"14\">{title}</text>",
            escape(&figure.title),
        );
        self.axes(&mut out, figure);
        for mark in &panel.marks {
            let x = self.px(mark.x);
            let (top, bottom) = (TOP, HEIGHT - BOTTOM);
            let what = escape(&mark.what);
            let _ = write!(
                out,
                "<path class=\"mark\" d=\"M{x:.1} {top}V{bottom}\"><title>{what}</title></path>"
            );
        }
        for series in &panel.series {
            self.line(&mut out, figure, series);
        }
        if figure.names {
            self.names(&mut out, &panel.series);
        }
        out.push_str("</svg>");
        out
    }

    fn axes(&self, out: &mut String, figure: &Figure) {
        let (right, bottom) = (WIDTH - self.right, HEIGHT - BOTTOM);
        for &tick in &self.y.ticks {
            let y = self.py(tick);
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text class=\"k e\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
                LEFT - 5.0,
                y + 4.0,
                tick_text(tick)
            );
        }
        for &tick in &self.x.ticks {
            let x = self.px(tick);
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {bottom}v4\"/>\
                 <text class=\"k m\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 17.0,
                tick_text(tick)
            );
        }
        let _ = write!(
            out,
            "<text class=\"k\" x=\"4\" y=\"30\">{}</text>\
             <text class=\"k e\" x=\"{right}\" y=\"{}\">{}</text>",
            escape(&figure.y.label),
            HEIGHT - 6.0,
            escape(&figure.x.label),
        );
    }

    fn line(&self, out: &mut String, figure: &Figure, series: &Series) {
        let style = series.style % STYLES;
        let class = match series.base {
            true => "line base".to_string(),
            false => format!("line c{style}"),
        };
        let path: Vec<String> = series
            .points
            .iter()
            .map(|&(x, y)| format!("{:.1} {:.1}", self.px(x), self.py(y)))
            .collect();
        let name = escape(&series.name);
        if !series.band.is_empty() {
            let corner = |x: f64, y: f64| format!("{:.1} {:.1}", self.px(x), self.py(y));
            let upper = series.band.iter().map(|b| corner(b.0, b.2));
            let lower = series.band.iter().rev().map(|b| corner(b.0, b.1));
            let around: Vec<String> = upper.chain(lower).collect();
            let _ = write!(
                out,
                "<path class=\"band b{style}\" d=\"M{}z\"/>",
                around.join("L")
            );
        }
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{}\"><title>{name}</title></path>",
            path.join("L")
        );
        if series.points.len() > MOST_MARKERS || series.base {
            return;
        }
        for &(x, y) in &series.points {
            let _ = write!(
                out,
                "<path class=\"dot c{style}\" d=\"{}\"><title>{name}\n{}: {}\n{}: {}</title></path>",
                marker(style, self.px(x), self.py(y)),
                escape(&figure.x.label),
                num(x),
                escape(&figure.y.label),
                num(y),
            );
        }
    }

    /// Names beside the lines' ends, moved apart where they would touch.
    fn names(&self, out: &mut String, series: &[Series]) {
        let mut ends: Vec<(f64, &Series)> = series
            .iter()
            .filter_map(|s| Some((self.py(s.points.last()?.1) + 4.0, s)))
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let heights: Vec<f64> = ends.iter().map(|e| e.0).collect();
        let spread = spread(&heights, TOP + 4.0, HEIGHT - BOTTOM);
        let x = WIDTH - self.right + 8.0;
        for ((_, s), y) in ends.iter().zip(spread) {
            let class = match s.base {
                true => "n".to_string(),
                false => format!("n f{}", s.style % STYLES),
            };
            let most = (NAMES.1 - 12.0) / CHARACTER;
            let name = escape(&shortened(&s.name, most));
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{x:.0}\" y=\"{y:.1}\">{name}</text>"
            );
        }
    }
}

/// Moves ascending heights apart so that none touches the next, within bounds as far as they fit.
fn spread(heights: &[f64], low: f64, high: f64) -> Vec<f64> {
    let mut out = Vec::with_capacity(heights.len());
    let mut least = low;
    for &h in heights {
        let h = h.max(least);
        out.push(h);
        least = h + NAME_HEIGHT;
    }
    let mut most = high;
    for h in out.iter_mut().rev() {
        *h = h.min(most);
        most = *h - NAME_HEIGHT;
    }
    out
}

/// A small shape; which one tells lines apart without colour.
fn marker(style: usize, x: f64, y: f64) -> String {
    match style % 4 {
        0 => format!("M{:.1} {y:.1}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", x - 3.0),
        1 => format!("M{:.1} {:.1}h5.4v5.4h-5.4z", x - 2.7, y - 2.7),
        2 => format!("M{x:.1} {:.1}l3.4 6h-6.8z", y - 3.6),
        _ => format!("M{x:.1} {:.1}l3.8 3.8l-3.8 3.8l-3.8 -3.8z", y - 3.8),
    }
}

/// Short: `12k`, `0.05`.
fn tick_text(v: f64) -> String {
    match v {
        v if v < 0.0 => format!("-{}", tick_text(-v)),
        v if v >= 1e6 => format!("{}M", trim(v / 1e6)),
        v if v >= 1e4 => format!("{}k", trim(v / 1e3)),
        v => trim(v),
    }
}

fn trim(v: f64) -> String {
    let text = format!("{v:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() { "0" } else { text }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_touch_and_stay_inside() {
        let out = spread(&[10.0, 11.0, 12.0, 90.0, 99.0, 100.0], 10.0, 100.0);
        assert!(out.windows(2).all(|w| w[1] - w[0] >= NAME_HEIGHT - 1e-9));
        assert!(out[0] >= 10.0 && out[5] <= 100.0);
    }

    #[test]
    fn panels_share_one_scale() {
        let panel = |y| Panel {
            series: vec![Series {
                points: vec![(0.0, 0.0), (1.0, y)],
                ..Series::default()
            }],
            ..Panel::default()
        };
        let figure = Figure {
            panels: vec![panel(10.0), panel(100.0)],
            ..Figure::default()
        };
        let svgs = figure.svgs();
        let ticks = |svg: &str| svg.matches("class=\"k e\"").count();
        assert_eq!(ticks(&svgs[0]), ticks(&svgs[1]));
        assert!(svgs[0].contains(">100<") && svgs[1].contains(">100<"));
    }

    #[test]
    fn text_is_escaped() {
        let figure = Figure {
            panels: vec![Panel {
                title: "<b>&\"".into(),
                series: vec![Series {
                    points: vec![(1.0, 1.0)],
                    ..Series::default()
                }],
                ..Panel::default()
            }],
            ..Figure::default()
        };
        assert!(figure.svgs()[0].contains("&lt;b&gt;&amp;&quot;"));
        // What has no point is not drawn.
        assert!(Figure::default().svgs().is_empty());
    }

    #[test]
    fn ticks_are_short() {
        let shown = [0.0, 0.05, 2.5, 1000.0, 20000.0, 5e6].map(tick_text);
        assert_eq!(shown, ["0", "0.05", "2.5", "1000", "20k", "5M"]);
    }
}
