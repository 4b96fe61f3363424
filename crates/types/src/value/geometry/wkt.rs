//! Well-known text: `POINT(1 2)`, `POLYGON((0 0,0 1,1 1,0 0))`.

use super::{Kind, MAX_DEPTH, Point, Shape};
use crate::value::text::write_f64;

/// Text yet to be read.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }
    fn eat(&mut self, c: u8) -> Option<()> {
        self.blank();
        let rest = self.rest.strip_prefix(&[c])?;
        self.rest = rest;
        Some(())
    }
    fn word(&mut self) -> String {
        self.blank();
        let is_letter = |b: &&u8| b.is_ascii_alphabetic();
        let length = self.rest.iter().take_while(is_letter).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        String::from_utf8_lossy(word).to_ascii_uppercase()
    }
    fn coordinate(&mut self) -> Option<f64> {
        self.blank();
        let of_number =
            |b: &&u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
        let length = self.rest.iter().take_while(of_number).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        let v: f64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        v.is_finite().then_some(v)
    }
    fn point(&mut self) -> Option<Point> {
        let (x, y) = (self.coordinate()?, self.coordinate()?);
        Some(Point { x, y })
    }
    /// `(item, item ...)`: one at least.
    fn list<T>(&mut self, item: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.eat(b'(')?;
        let mut list = vec![item(self)?];
        while self.eat(b',').is_some() {
            list.push(item(self)?);
        }
        self.eat(b')')?;
        Some(list)
    }
    fn points(&mut self) -> Option<Vec<Point>> {
        self.list(Self::point)
    }
    fn lines(&mut self) -> Option<Vec<Vec<Point>>> {
        self.list(Self::points)
    }
    fn point_in_parentheses(&mut self) -> Option<Point> {
        self.eat(b'(')?;
        let p = self.point()?;
        self.eat(b')')?;
        Some(p)
    }
    /// The points of a MULTIPOINT: either all of them in parentheses of their own or none.
    fn multi_point(&mut self) -> Option<Vec<Point>> {
        let start = self.rest;
        self.eat(b'(')?;
        let own = self.eat(b'(').is_some();
        self.rest = start;
        match own {
            true => self.list(Self::point_in_parentheses),
            false => self.points(),
        }
    }
    fn collection(&mut self, depth: usize) -> Option<Vec<Shape>> {
        let start = self.rest;
        if self.word() == "EMPTY" {
            return Some(Vec::new());
        }
        self.rest = start;
        self.eat(b'(')?;
        if self.eat(b')').is_some() {
            return Some(Vec::new());
        }
        let mut members = vec![self.shape(depth)?];
        while self.eat(b',').is_some() {
            members.push(self.shape(depth)?);
        }
        self.eat(b')')?;
        Some(members)
    }
    fn shape(&mut self, depth: usize) -> Option<Shape> {
        Some(match self.word().as_str() {
            "POINT" => Shape::Point(self.point_in_parentheses()?),
            "LINESTRING" => Shape::LineString(self.points()?),
            "POLYGON" => Shape::Polygon(self.lines()?),
            "MULTIPOINT" => Shape::MultiPoint(self.multi_point()?),
            "MULTILINESTRING" => Shape::MultiLineString(self.lines()?),
            "MULTIPOLYGON" => Shape::MultiPolygon(self.list(Self::lines)?),
            "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" if depth < MAX_DEPTH => {
                Shape::Collection(self.collection(depth + 1)?)
            }
            _ => return None,
        })
    }
}

/// Reads a text; `None` for what is no geometry, or has something after it.
pub fn read(text: &[u8]) -> Option<Shape> {
    let mut r = Reader { rest: text };
    let shape = r.shape(0)?;
    r.blank();
    (r.rest.is_empty() && shape.is_well_formed()).then_some(shape)
}

fn put_list<T>(list: &[T], put: fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'(');
    for (i, item) in list.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        put(item, out);
    }
    out.push(b')');
}

fn put_point(p: &Point, out: &mut Vec<u8>) {
    write_f64(p.x, out);
    out.push(b' ');
    write_f64(p.y, out);
}

fn put_points(points: &[Point], out: &mut Vec<u8>) {
    put_list(points, put_point, out);
}

fn put_lines(lines: &[Vec<Point>], out: &mut Vec<u8>) {
    put_list(lines, |line, out| put_points(line, out), out);
}

/// Appends the text of a shape.
pub fn write(shape: &Shape, out: &mut Vec<u8>) {
    let kind = shape.kind();
    let name = match kind {
        Kind::Collection => "GEOMETRYCOLLECTION",
        kind => kind.name(),
    };
    out.extend_from_slice(name.as_bytes());
    match shape {
        Shape::Point(p) => put_list(&[*p], put_point, out),
        Shape::LineString(points) => put_points(points, out),
        Shape::Polygon(lines) | Shape::MultiLineString(lines) => put_lines(lines, out),
        Shape::MultiPoint(points) => {
            let in_parentheses = |p: &Point, out: &mut Vec<u8>| put_list(&[*p], put_point, out);
            put_list(points, in_parentheses, out);
        }
        Shape::MultiPolygon(polygons) => {
            put_list(polygons, |rings, out| put_lines(rings, out), out)
        }
        Shape::Collection(members) if members.is_empty() => out.extend_from_slice(b" EMPTY"),
        Shape::Collection(members) => put_list(members, write, out),
    }
}
