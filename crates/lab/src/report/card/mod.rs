//! A report's summary as a picture to share: PNG, as large as pages that show links take pictures (1,200 by 630), in the colours of the page in light.
//!
//! | module | owns |
//! |---|---|
//! | `canvas` | pixels and boxes |
//! | `text` | letters |
//! | `png` | the file |
//!
//! It has the report's title, the sentence that says it all, its figures or intervals, the machine, and whether it is incomplete. What has no room is
//! cut with a sign that it is.

mod canvas;
mod png;
mod text;

use super::scale::Scale;
use super::{Block, Card, Ranges, Report, num};
use crate::Result;
use canvas::{Area, Canvas, Colour};
use text::Pen;

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 630;
/// Pixels without anything at every edge.
const MARGIN: f32 = 48.0;
/// Between two tiles.
const GAP: f32 = 20.0;
/// Of what is below everything.
const FOOT: f32 = 34.0;

/// Sizes of a title.
const TITLES: [f32; 3] = [34.0, 31.0, 28.0];
/// Lines of a tile's label.
const LABEL_LINES: usize = 2;

const PAPER: Colour = [255; 3];
const INK: Colour = [0x1c, 0x23, 0x29];
const SOFT: Colour = [0x59, 0x63, 0x6e];
const RULE: Colour = [0xd8, 0xde, 0xe4];
const TILE: Colour = [0xf4, 0xf6, 0xf8];
const WARN: Colour = [0xa8, 0x4a, 0x00];
/// By style, as on the page.
const COLOURS: [Colour; 9] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0xb8, 0x86, 0x0b],
    [0xb8, 0x51, 0x8c],
    [0x3a, 0x9b, 0xd9],
    [0x00, 0x8a, 0x64],
    [0x4a, 0x52, 0x5a],
    [0x7a, 0x3e, 0x9d],
    [0x8c, 0x4a, 0x2f],
];

/// Rows of intervals and tiles that have room.
const MOST_RANGES: usize = 8;
const MOST_TILES: usize = 6;
const TILES_A_ROW: usize = 3;

/// The picture.
pub(super) fn png(report: &Report) -> Result<Vec<u8>> {
    let canvas = draw(report)?;
    Ok(png::encode(canvas.width, &canvas.pixels)?)
}

fn draw(report: &Report) -> Result<Canvas> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, PAPER);
    let width = WIDTH as f32 - MARGIN * 2.0;
    let soft = Pen::regular(20.0, SOFT)?;
    let name = format!("millpond lab {}", report.experiment);
    soft.write(&mut canvas, (MARGIN, MARGIN + 16.0), &name);
    let title = fitting(&report.title, width)?;
    let below = MARGIN + 64.0;
    title.write(
        &mut canvas,
        (MARGIN, below),
        &title.fit(&report.title, width),
    );
    let mut top = below + 20.0;
    if let Some(lead) = lead(report) {
        let pen = Pen::regular(22.0, INK)?;
        for line in pen.wrap(lead, width, 4) {
            top += 30.0;
            pen.write(&mut canvas, (MARGIN, top), &line);
        }
        top += 12.0;
    }
    let area = Area {
        left: MARGIN,
        top: top + 14.0,
        width,
        height: HEIGHT as f32 - MARGIN - FOOT - top - 28.0,
        radius: 0.0,
    };
    match (tiles(report), ranges(report)) {
        (tiles, Some(ranges)) if tiles.is_empty() => draw_ranges(&mut canvas, ranges, area)?,
        (tiles, _) => draw_tiles(&mut canvas, &tiles, area)?,
    }
    foot(&mut canvas, report, &soft)?;
    Ok(canvas)
}

/// The largest that a title fits in.
fn fitting(title: &str, width: f32) -> Result<Pen> {
    for size in TITLES {
        let pen = Pen::bold(size, INK)?;
        if pen.width(title) <= width {
            return Ok(pen);
        }
    }
    Pen::bold(TITLES[TITLES.len() - 1], INK)
}

/// The sentence that says it all.
fn lead(report: &Report) -> Option<&str> {
    report.blocks.iter().find_map(|b| match b {
        Block::Lead(text) => Some(text.as_str()),
        _ => None,
    })
}

/// The figures that matter most, or what the chapters say.
fn tiles(report: &Report) -> Vec<&Card> {
    let entries = report.blocks.iter().flat_map(|b| match b {
        Block::Contents(entries) => entries.as_slice(),
        _ => &[],
    });
    let all = report.headline.iter().chain(entries.map(|e| &e.card));
    all.take(MOST_TILES).collect()
}

fn ranges(report: &Report) -> Option<&Ranges> {
    report.blocks.iter().find_map(|b| match b {
        Block::Ranges(ranges) if !ranges.rows.is_empty() => Some(ranges),
        _ => None,
    })
}

/// Machine and version; and that it is not whole, if it isn't.
fn foot(canvas: &mut Canvas, report: &Report, soft: &Pen) -> Result<()> {
    let width = WIDTH as f32 - MARGIN * 2.0;
    let y = HEIGHT as f32 - MARGIN;
    let line = Area {
        left: MARGIN,
        top: y - FOOT,
        width,
        height: 1.0,
        radius: 0.0,
    };
    canvas.fill(line, RULE);
    let small = Pen::regular(17.0, soft.colour)?;
    let version = format!("Millpond {}", env!("CARGO_PKG_VERSION"));
    let right = small.width(&version);
    small.write(canvas, (MARGIN + width - right, y - 6.0), &version);
    let mut x = MARGIN;
    if report.incomplete.is_some() {
        let warn = Pen::bold(17.0, WARN)?;
        warn.write(canvas, (x, y - 6.0), "Incomplete.");
        x += warn.width("Incomplete. ") + 4.0;
    }
    let machine = report.facts.iter().find(|f| f.0 == "Machine");
    let machine = machine.map_or("", |f| f.1.split(';').next().unwrap_or(""));
    let room = MARGIN + width - right - x - GAP;
    small.write(canvas, (x, y - 6.0), &small.fit(machine, room));
    Ok(())
}

fn draw_tiles(canvas: &mut Canvas, tiles: &[&Card], area: Area) -> Result<()> {
    let rows = tiles.len().div_ceil(TILES_A_ROW).max(1);
    let columns = tiles.len().div_ceil(rows).max(1);
    let part = |whole: f32, n: usize| (whole - GAP * (n - 1) as f32) / n as f32;
    let (width, height) = (
        part(area.width, columns),
        part(area.height, rows).min(250.0),
    );
    for (i, tile) in tiles.iter().enumerate() {
        let at = |n: usize, size: f32| n as f32 * (size + GAP);
        let own = Area {
            left: area.left + at(i % columns, width),
            top: area.top + at(i / columns, height),
            width,
            height,
            radius: 12.0,
        };
        draw_tile(canvas, tile, own)?;
    }
    Ok(())
}

fn draw_tile(canvas: &mut Canvas, tile: &Card, area: Area) -> Result<()> {
    canvas.fill(area, TILE);
    let (x, width) = (area.left + 18.0, area.width - 36.0);
    let label = Pen::regular(18.0, SOFT)?;
    let value = Pen::bold(32.0, INK)?;
    let mut y = area.top + 8.0;
    for line in label.wrap(&tile.label, width, LABEL_LINES) {
        y += 24.0;
        label.write(canvas, (x, y), &line);
    }
    y += 42.0;
    value.write(canvas, (x, y), &value.fit(&tile.value, width));
    let room = ((area.top + area.height - y - 14.0) / 24.0)
        .floor()
        .max(0.0) as usize;
    if room > 0 {
        for line in label.wrap(&tile.note, width, room) {
            y += 24.0;
            label.write(canvas, (x, y + 4.0), &line);
        }
    }
    Ok(())
}

fn draw_ranges(canvas: &mut Canvas, ranges: &Ranges, area: Area) -> Result<()> {
    let rows = &ranges.rows[..ranges.rows.len().min(MOST_RANGES)];
    let name = Pen::regular(19.0, INK)?;
    let tick = Pen::regular(16.0, SOFT)?;
    let wide = |of: &dyn Fn(usize) -> f32, most: f32| {
        let all = (0..rows.len()).map(of).fold(0.0, f32::max);
        (all + GAP).min(most)
    };
    let names = wide(&|i| name.width(&rows[i].name), area.width * 0.3);
    let said = wide(&|i| name.width(&rows[i].said), area.width * 0.3);
    let (left, width) = (area.left + names, area.width - names - said);
    let height = ((area.height - 32.0) / rows.len() as f32).min(44.0);
    let bottom = area.top + height * rows.len() as f32;
    let ends = rows.iter().flat_map(|r| [r.interval.low, r.interval.high]);
    let scale = Scale::over(ends, false);
    let at = |v: f64| left + scale.at(v) as f32 * width;
    let thin = |left: f32, top: f32, width: f32, height: f32, radius: f32| Area {
        left,
        top,
        width,
        height,
        radius,
    };
    let last = scale.ticks.len().saturating_sub(1);
    for (i, &value) in scale.ticks.iter().enumerate() {
        let line = thin(at(value) - 0.5, area.top, 1.0, bottom - area.top, 0.0);
        canvas.fill(line, if value == 0.0 { SOFT } else { RULE });
        let text = match i == last {
            true => format!("{} {}", num(value), ranges.unit),
            false => num(value),
        };
        // The unit is beside the last number, not below the tick.
        let half = tick.width(&num(value)) / 2.0;
        tick.write(canvas, (at(value) - half, bottom + 22.0), &text);
    }
    for (i, row) in rows.iter().enumerate() {
        let y = area.top + height * (i as f32 + 0.5);
        let colour = COLOURS[row.style % COLOURS.len()];
        let (low, high) = (at(row.interval.low), at(row.interval.high));
        name.write(
            canvas,
            (area.left, y + 7.0),
            &name.fit(&row.name, names - GAP / 2.0),
        );
        canvas.fill(thin(low, y - 3.0, (high - low).max(3.0), 6.0, 3.0), colour);
        let dot = (at(row.interval.estimate), y);
        canvas.dot(dot, 8.0, colour);
        canvas.dot(dot, 5.0, PAPER);
        let right = left + width + GAP;
        name.write(canvas, (right, y + 7.0), &name.fit(&row.said, said - GAP));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Entry, Range};
    use crate::stats::Interval;

    fn report(blocks: Vec<Block>) -> Report {
        Report {
            experiment: "drop-stall",
            title: "What queries feel of drops beside them".into(),
            intro: String::new(),
            incomplete: Some("It was stopped.".into()),
            headline: Vec::new(),
            blocks,
            facts: vec![("Machine".into(), "A processor with a long name, ".repeat(9))],
            data: serde_json::Value::Null,
            csv: String::new(),
        }
    }

    fn range(name: &str, style: usize, low: f64, high: f64) -> Range {
        Range {
            name: name.into(),
            style,
            interval: Interval {
                estimate: (low + high) / 2.0,
                low,
                high,
            },
            said: "none above 0.123 ms, which is long, for what it is".into(),
        }
    }

    /// Nothing is drawn in the margins, however long the texts are.
    fn margins_are_free(canvas: &Canvas) {
        for (i, pixel) in canvas.pixels.chunks(3).enumerate() {
            let (x, y) = (i as u32 % WIDTH, i as u32 / WIDTH);
            let edge = MARGIN as u32 - 4;
            let free = x < edge || y < edge || x >= WIDTH - edge || y >= HEIGHT - edge;
            assert!(!free || pixel == PAPER, "{x}, {y}");
        }
    }

    fn share_of(canvas: &Canvas, colour: Colour) -> usize {
        canvas.pixels.chunks(3).filter(|p| *p == colour).count()
    }

    #[test]
    fn intervals_are_drawn_in_their_colours() {
        let rows = vec![
            range("full_scan", 1, 1.5, 2.5),
            range(&"long ".repeat(30), 0, -0.1, 0.1),
        ];
        let ranges = Ranges {
            unit: "ms".into(),
            rows,
            ..Ranges::default()
        };
        let lead =
            Block::Lead("With 2 GiB cached, a DROP TABLE stalls the load for 2 ms. ".repeat(9));
        let canvas = draw(&report(vec![lead, Block::Ranges(ranges)])).unwrap();
        margins_are_free(&canvas);
        let (much, little) = (share_of(&canvas, COLOURS[1]), share_of(&canvas, COLOURS[0]));
        assert!(much > little * 2 && little > 50, "{much} {little}");
        assert!(share_of(&canvas, WARN) > 20);
    }

    #[test]
    fn chapters_are_tiles() {
        let entry = |n: usize| Entry {
            card: Card {
                label: format!("Article {n}, {}", "and more ".repeat(n * 3)),
                value: "109× ".repeat(n),
                note: "as slow with 4 GiB cached as with nothing ".repeat(n),
            },
            to: String::new(),
        };
        for number in [1, 2, 5, 9] {
            let contents = Block::Contents((0..number).map(entry).collect());
            let canvas = draw(&report(vec![contents])).unwrap();
            margins_are_free(&canvas);
            assert!(share_of(&canvas, TILE) > 50_000);
        }
        let nothing = draw(&report(Vec::new())).unwrap();
        margins_are_free(&nothing);
        assert_eq!(share_of(&nothing, TILE), 0);
    }

    #[test]
    fn it_is_a_png_of_its_size() {
        let png = report(Vec::new()).card().unwrap();
        assert_eq!(&png[1..4], b"PNG");
        assert_eq!(png[16..24], [0, 0, 4, 0xb0, 0, 0, 2, 0x76]);
        assert!(png.len() < 200_000);
    }
}
