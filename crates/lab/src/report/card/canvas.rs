//! A picture in memory, and boxes on it.

/// Red, green, blue.
pub type Colour = [u8; 3];

/// Opaque pixels.
pub struct Canvas {
    pub width: u32,
    pub height: u32,
    /// Row by row from the top.
    pub pixels: Vec<u8>,
}

/// A rectangle with round corners; pixels from the left and the top.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    pub left: f32,
    pub top: f32,
    pub width: f32,
    pub height: f32,
    /// Of its corners.
    pub radius: f32,
}

impl Canvas {
    pub fn new(width: u32, height: u32, paper: Colour) -> Canvas {
        Canvas {
            width,
            height,
            pixels: paper.repeat((width * height) as usize),
        }
    }

    /// Lays a colour over a pixel, as far as that is covered by it: 0 to 1. Nothing happens beyond the edges.
    pub fn lay(&mut self, x: i32, y: i32, colour: Colour, cover: f32) {
        let inside = |v: i32, most: u32| u32::try_from(v).ok().filter(|v| *v < most);
        let (Some(x), Some(y)) = (inside(x, self.width), inside(y, self.height)) else {
            return;
        };
        let at = (y * self.width + x) as usize * 3;
        let cover = cover.clamp(0.0, 1.0);
        for (old, new) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            let mixed = f32::from(*old) + (f32::from(new) - f32::from(*old)) * cover;
            *old = mixed.round() as u8;
        }
    }

    /// Fills an area; a pixel on its edge as far as it is inside.
    pub fn fill(&mut self, area: Area, colour: Colour) {
        let Area {
            left,
            top,
            width,
            height,
            ..
        } = area;
        for y in top.floor() as i32..=(top + height).ceil() as i32 {
            for x in left.floor() as i32..=(left + width).ceil() as i32 {
                let cover = 0.5 - area.distance(x as f32 + 0.5, y as f32 + 0.5);
                if cover > 0.0 {
                    self.lay(x, y, colour, cover);
                }
            }
        }
    }

    /// Fills a circle.
    pub fn dot(&mut self, (x, y): (f32, f32), radius: f32, colour: Colour) {
        let area = Area {
            left: x - radius,
            top: y - radius,
            width: radius * 2.0,
            height: radius * 2.0,
            radius,
        };
        self.fill(area, colour);
    }
}

impl Area {
    /// How far a point is from the edge: less than 0 inside.
    fn distance(&self, x: f32, y: f32) -> f32 {
        let (half_width, half_height) = (self.width / 2.0, self.height / 2.0);
        let radius = self.radius.min(half_width).min(half_height);
        let dx = (x - self.left - half_width).abs() - half_width + radius;
        let dy = (y - self.top - half_height).abs() - half_height + radius;
        dx.max(0.0).hypot(dy.max(0.0)) + dx.max(dy).min(0.0) - radius
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_have_edges_and_round_corners() {
        let mut canvas = Canvas::new(20, 10, [255; 3]);
        let area = Area {
            left: 2.0,
            top: 2.0,
            width: 10.0,
            height: 6.0,
            radius: 2.0,
        };
        canvas.fill(area, [0, 0, 200]);
        canvas.dot((18.0, 5.0), 4.0, [0; 3]);
        let at = |x: usize, y: usize| &canvas.pixels[(y * 20 + x) * 3..][..3];
        assert_eq!(at(7, 2), [0, 0, 200]);
        assert_eq!(
            (at(7, 1), at(7, 8), at(1, 5)),
            (&[255; 3][..], &[255; 3][..], &[255; 3][..])
        );
        // A corner's pixel is covered in part.
        assert!(at(2, 2)[0] > 40 && at(2, 2)[0] < 255, "{:?}", at(2, 2));
        assert_eq!(at(18, 5), [0; 3]);
        assert_eq!(canvas.pixels.len(), 600);
    }
}
