//! Text on a picture, in DejaVu Sans (see `fonts/LICENSE`).

use super::canvas::{Canvas, Colour};
use crate::Result;
use ab_glyph::{Font, FontRef, GlyphId, ScaleFont};

const REGULAR: &[u8] = include_bytes!("fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("fonts/DejaVuSans-Bold.ttf");
/// What stands where a text was cut.
const CUT: &str = "…";

/// A face in a size and a colour.
pub struct Pen {
    font: FontRef<'static>,
    /// Pixels of an em.
    pub size: f32,
    pub colour: Colour,
}

impl Pen {
    pub fn regular(size: f32, colour: Colour) -> Result<Pen> {
        Pen::of(REGULAR, size, colour)
    }
    pub fn bold(size: f32, colour: Colour) -> Result<Pen> {
        Pen::of(BOLD, size, colour)
    }
    fn of(font: &'static [u8], size: f32, colour: Colour) -> Result<Pen> {
        let font = FontRef::try_from_slice(font)?;
        Ok(Pen { font, size, colour })
    }

    /// Of a glyph and the one before it: how far it is from that one's place, beside its own width.
    fn advances(&self, text: &str) -> Vec<(GlyphId, f32)> {
        let scaled = self.font.as_scaled(self.scale());
        let mut before: Option<GlyphId> = None;
        let mut x = 0.0;
        text.chars()
            .map(|c| {
                let id = scaled.glyph_id(c);
                if let Some(before) = before.replace(id) {
                    x += scaled.h_advance(before) + scaled.kern(before, id);
                }
                (id, x)
            })
            .collect()
    }

    /// What `ab_glyph` calls a scale is the height from the lowest to the highest.
    fn scale(&self) -> f32 {
        let em = self.font.units_per_em().unwrap_or(1.0);
        self.size * self.font.height_unscaled() / em
    }

    /// Pixels that a text is wide.
    pub fn width(&self, text: &str) -> f32 {
        let scaled = self.font.as_scaled(self.scale());
        let last = self.advances(text).pop();
        last.map_or(0.0, |(id, x)| x + scaled.h_advance(id))
    }

    /// Writes a line from a point of its baseline on.
    pub fn write(&self, canvas: &mut Canvas, (x, y): (f32, f32), text: &str) {
        for (id, advance) in self.advances(text) {
            let glyph = id.with_scale_and_position(self.scale(), ab_glyph::point(x + advance, y));
            let Some(outlined) = self.font.outline_glyph(glyph) else {
                continue;
            };
            let from = outlined.px_bounds().min;
            outlined.draw(|dx, dy, cover| {
                let at = (from.x as i32 + dx as i32, from.y as i32 + dy as i32);
                canvas.lay(at.0, at.1, self.colour, cover);
            });
        }
    }

    /// As much of a text as fits into so many pixels, with a sign where it was cut.
    pub fn fit(&self, text: &str, width: f32) -> String {
        if self.width(text) <= width {
            return text.into();
        }
        let mut kept: String = text.into();
        while !kept.is_empty() {
            kept.pop();
            let cut = format!("{}{CUT}", kept.trim_end());
            if self.width(&cut) <= width {
                return cut;
            }
        }
        String::new()
    }

    /// A text in lines of so many pixels, so many at most.
    pub fn wrap(&self, text: &str, width: f32, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let longer = lines.last().map(|line| format!("{line} {word}"));
            match longer.filter(|l| lines.len() > most || self.width(l) <= width) {
                Some(longer) => *lines.last_mut().unwrap_or(&mut String::new()) = longer,
                None => lines.push(word.into()),
            }
        }
        if lines.len() > most {
            let rest = lines.split_off(most.saturating_sub(1)).join(" ");
            lines.push(rest);
        }
        lines.iter().map(|line| self.fit(line, width)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_wide_as_they_are_told() {
        let pen = Pen::bold(40.0, [0; 3]).unwrap();
        let mut canvas = Canvas::new(400, 60, [255; 3]);
        let width = pen.width("AVATAR 12 ms");
        pen.write(&mut canvas, (5.0, 45.0), "AVATAR 12 ms");
        let inked = |x: u32| (0..60).any(|y| canvas.pixels[((y * 400 + x) * 3) as usize] < 128);
        let ends: Vec<u32> = (0..400).filter(|x| inked(*x)).collect();
        let (first, last) = (ends[0] as f32, ends[ends.len() - 1] as f32);
        assert!(
            first >= 5.0 && last <= 5.0 + width && last > width - 5.0,
            "{first} {last} {width}"
        );
    }

    #[test]
    fn long_texts_are_wrapped_and_cut() {
        let pen = Pen::regular(20.0, [0; 3]).unwrap();
        let text = "one two three four five six seven eight nine ten";
        let lines = pen.wrap(text, 120.0, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|l| pen.width(l) <= 120.0));
        assert!(lines[2].ends_with(CUT) && lines[0].starts_with("one two"));
        assert_eq!(pen.wrap("one two", 120.0, 3), ["one two"]);
        assert_eq!(pen.wrap(text, 2000.0, 1), [text]);
        assert_eq!(pen.fit("wide", 1.0), "");
    }

    /// What reports say is in the fonts.
    #[test]
    fn the_fonts_have_the_characters_that_reports_use() {
        for face in [REGULAR, BOLD] {
            let font = FontRef::try_from_slice(face).unwrap();
            for c in ('!'..='~').chain("×–—…‘’“”−µ√²±≥≤·öéΔ\u{a0}".chars())
            {
                assert_ne!(font.glyph_id(c), GlyphId(0), "{c}");
            }
        }
    }
}
