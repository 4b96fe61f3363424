//! Horizontal bars, whole or in parts, as inline SVG.
//!
//! A group is drawn as wide as a panel of lines is ([`super::chart`]); its names take as much of that as the longest of all groups needs.

use super::chart::{STYLES, WIDTH, escape};
use super::saved;
use super::scale::Scale;
use super::text::{breadth, num};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Height of a bar with the space below it.
const ROW: f64 = 22.0;
/// Room for a value with its unit.
const VALUE: f64 = 86.0;
/// Width of a character, about.
const CHARACTER: f64 = 6.2;
/// Least and most room for names.
const NAMES: (f64, f64) = (92.0, 190.0);

/// Horizontal bars in groups, all with one scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// Above all.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Unit of the values.
    pub unit: String,
    /// Logarithmic; not for bars in parts.
    pub log: bool,
    /// In order.
    pub groups: Vec<Group>,
}

/// Bars under one title.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Above it.
    pub title: String,
    /// In order.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// To its left.
    pub name: String,
    /// Its length.
    #[serde(deserialize_with = "saved::number")]
    pub value: f64,
    /// Below [`STYLES`].
    pub style: usize,
    /// What it is made of, one after the other; none if it is of one piece.
    pub parts: Vec<Part>,
}

/// A piece of a bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// In the legend.
    pub name: String,
    /// Its length.
    #[serde(deserialize_with = "saved::number")]
    pub value: f64,
    /// Below [`STYLES`]; the same for the same name.
    pub style: usize,
}

impl Bars {
    /// One SVG element per group that has any bar.
    pub(super) fn svgs(&self) -> Vec<String> {
        let bars = || self.groups.iter().flat_map(|g| &g.bars);
        let longest = bars().map(|b| breadth(&b.name)).fold(0.0, f64::max);
        let drawing = Drawing {
            bars: self,
            scale: Scale::over(bars().map(|b| b.value), self.log),
            names: (longest * CHARACTER + 10.0).clamp(NAMES.0, NAMES.1),
        };
        let groups = self.groups.iter().filter(|g| !g.bars.is_empty());
        groups.map(|g| drawing.group(g)).collect()
    }
}

struct Drawing<'a> {
    bars: &'a Bars,
    scale: Scale,
    names: f64,
}

impl Drawing<'_> {
    fn group(&self, group: &Group) -> String {
        let (legend, top) = legend(group);
        let height = top + 2.0 + ROW * group.bars.len() as f64;
        let name = escape(&group.title);
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}: {name}\">\
             <text class=\"t\" x=\"4\" y=\"14\">{name}</text>{legend}",
            escape(&self.bars.title),
        );
        for (i, bar) in group.bars.iter().enumerate() {
            self.bar(&mut out, bar, top + ROW * i as f64);
        }
        out.push_str("</svg>");
        out
    }

    fn bar(&self, out: &mut String, bar: &Bar, y: f64) {
        let whole = Part {
            name: bar.name.clone(),
            value: bar.value,
            style: bar.style,
        };
        let parts = match bar.parts.is_empty() {
            true => std::slice::from_ref(&whole),
            false => &bar.parts[..],
        };
        let unit = escape(&self.bars.unit);
        let (mut x, mut sum) = (self.names, 0.0);
        for part in parts {
            sum += part.value;
            let end = self.names + self.width(sum);
            let _ = write!(
                out,
                "<path class=\"bar b{}\" d=\"M{x:.1} {y:.0}H{end:.1}v15H{x:.1}z\"><title>{}: {} {unit}</title></path>",
                part.style % STYLES,
                escape(&part.name),
                num(part.value),
            );
            x = end;
        }
        let end = self.names + self.width(bar.value).max(self.width(sum));
        let _ = write!(
            out,
            "<text class=\"k e\" x=\"{:.0}\" y=\"{:.0}\">{}</text>\
             <text class=\"k\" x=\"{:.1}\" y=\"{:.0}\">{} {unit}</text>",
            self.names - 6.0,
            y + 12.0,
            escape(&bar.name),
            end + 5.0,
            y + 12.0,
            num(bar.value),
        );
    }

    fn width(&self, value: f64) -> f64 {
        (self.scale.at(value) * (WIDTH - self.names - VALUE)).max(1.0)
    }
}

/// The names of a group's parts beside their colours, and where the bars begin below.
fn legend(group: &Group) -> (String, f64) {
    let mut known: Vec<&Part> = Vec::new();
    for part in group.bars.iter().flat_map(|b| &b.parts) {
        if known.iter().all(|k| k.name != part.name) {
            known.push(part);
        }
    }
    let mut out = String::new();
    let (mut x, mut y) = (4.0, 32.0);
    for part in &known {
        let width = 15.0 + breadth(&part.name) * CHARACTER + 12.0;
        if x > 4.0 && x + width > WIDTH {
            (x, y) = (4.0, y + 17.0);
        }
        let _ = write!(
            out,
            "<path class=\"bar b{}\" d=\"M{x:.0} {:.0}h10v10h-10z\"/><text class=\"k\" x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
            part.style % STYLES,
            y - 9.0,
            x + 15.0,
            escape(&part.name),
        );
        x += width;
    }
    let top = if known.is_empty() { 22.0 } else { y + 10.0 };
    (out, top)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, value: f64, style: usize) -> Part {
        Part {
            name: name.into(),
            value,
            style,
        }
    }

    #[test]
    fn parts_follow_each_other_and_are_named_once() {
        let bar = |value| Bar {
            name: "a".into(),
            value,
            parts: vec![part("copy", value / 4.0, 1), part("sort", value * 0.75, 2)],
            ..Bar::default()
        };
        let bars = Bars {
            unit: "s".into(),
            groups: vec![Group {
                title: "g".into(),
                bars: vec![bar(50.0), bar(100.0)],
            }],
            ..Bars::default()
        };
        let svg = &bars.svgs()[0];
        assert_eq!(svg.matches(">copy<").count(), 1);
        assert_eq!(svg.matches("<title>").count(), 4);
        // 222 units for 100: a quarter ends at 92 + 55.5, where the rest begins.
        assert!(
            svg.contains("M92.0 64H147.5") && svg.contains("M147.5 64H314.0"),
            "{svg}"
        );
    }

    #[test]
    fn long_names_get_room() {
        let group = |name: &str| Group {
            bars: vec![Bar {
                name: name.into(),
                value: 1.0,
                ..Bar::default()
            }],
            ..Group::default()
        };
        let of = |name: &str| {
            let bars = Bars {
                groups: vec![group(name)],
                ..Bars::default()
            };
            bars.svgs().remove(0)
        };
        assert!(of("ext4").contains("M92.0 22H"));
        assert!(of("twenty-four letters long").contains("M158.8 22H"));
    }
}
