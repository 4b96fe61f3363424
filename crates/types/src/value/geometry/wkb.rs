//! Well-known binary, and MySQL's internal form of geometries: four bytes of SRID, little-endian, and WKB in little-endian order.
//!
//! ```text
//! order u8, type u32, then
//! point             x f64, y f64
//! line string       count u32, count × (x, y)
//! polygon           count u32, count × (count u32, count × (x, y))
//! all others        count u32, count × WKB
//! ```

use super::{Geometry, Kind, MAX_DEPTH, Point, Shape};

/// Bytes of the SRID before a geometry's WKB.
pub const SRID_BYTES: usize = 4;
/// Bytes of a point's coordinates.
const POINT_BYTES: usize = 16;
/// Bytes of order and type.
const HEADER_BYTES: usize = 5;
/// The byte that says that numbers are little-endian.
const LITTLE: u8 = 1;

/// Bytes yet to be read, and their order.
struct Reader<'a> {
    rest: &'a [u8],
    little: bool,
    /// Whether big-endian geometries are read too.
    either: bool,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }
    fn number(&mut self) -> Option<u32> {
        let bytes = self.take::<4>()?;
        Some(match self.little {
            true => u32::from_le_bytes(bytes),
            false => u32::from_be_bytes(bytes),
        })
    }
    /// A count of things that take `bytes` each at least: no more than there can be.
    fn count(&mut self, bytes: usize) -> Option<usize> {
        let count = self.number()? as usize;
        (count <= self.rest.len() / bytes).then_some(count)
    }
    fn coordinate(&mut self) -> Option<f64> {
        let bytes = self.take::<8>()?;
        let v = match self.little {
            true => f64::from_le_bytes(bytes),
            false => f64::from_be_bytes(bytes),
        };
        v.is_finite().then_some(v)
    }
    fn point(&mut self) -> Option<Point> {
        let (x, y) = (self.coordinate()?, self.coordinate()?);
        Some(Point { x, y })
    }
    fn points(&mut self) -> Option<Vec<Point>> {
        let count = self.count(POINT_BYTES)?;
        (0..count).map(|_| self.point()).collect()
    }
    fn lines(&mut self) -> Option<Vec<Vec<Point>>> {
        let count = self.count(4)?;
        (0..count).map(|_| self.points()).collect()
    }
    fn kind(&mut self) -> Option<Kind> {
        self.little = match self.take::<1>()? {
            [LITTLE] => true,
            [0] if self.either => false,
            _ => return None,
        };
        Kind::of_number(self.number()?)
    }
    /// Members that are all of one kind.
    fn members<T>(&mut self, kind: Kind, read: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count(HEADER_BYTES)?;
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            if self.kind()? != kind {
                return None;
            }
            list.push(read(self)?);
        }
        Some(list)
    }
    fn shape(&mut self, depth: usize) -> Option<Shape> {
        Some(match self.kind()? {
            Kind::Point => Shape::Point(self.point()?),
            Kind::LineString => Shape::LineString(self.points()?),
            Kind::Polygon => Shape::Polygon(self.lines()?),
            Kind::MultiPoint => Shape::MultiPoint(self.members(Kind::Point, Self::point)?),
            Kind::MultiLineString => {
                Shape::MultiLineString(self.members(Kind::LineString, Self::points)?)
            }
            Kind::MultiPolygon => Shape::MultiPolygon(self.members(Kind::Polygon, Self::lines)?),
            Kind::Collection if depth == MAX_DEPTH => return None,
            Kind::Collection => {
                let count = self.count(HEADER_BYTES)?;
                let members = (0..count).map(|_| self.shape(depth + 1));
                Shape::Collection(members.collect::<Option<_>>()?)
            }
        })
    }
}

fn read_with(bytes: &[u8], either: bool) -> Option<Shape> {
    let mut r = Reader {
        rest: bytes,
        little: true,
        either,
    };
    let shape = r.shape(0)?;
    (r.rest.is_empty() && shape.is_well_formed()).then_some(shape)
}

/// Reads WKB of either byte order; `None` for what is no geometry, or has something after it.
pub fn read(bytes: &[u8]) -> Option<Shape> {
    read_with(bytes, true)
}

/// Reads the internal form.
pub(super) fn read_internal(bytes: &[u8]) -> Option<Geometry> {
    let (srid, rest) = bytes.split_first_chunk::<SRID_BYTES>()?;
    Some(Geometry {
        srid: u32::from_le_bytes(*srid),
        shape: read_with(rest, false)?,
    })
}

fn put_points(points: &[Point], out: &mut Vec<u8>) {
    put_count(points.len(), out);
    points.iter().for_each(|p| put_point(*p, out));
}

fn put_lines(lines: &[Vec<Point>], out: &mut Vec<u8>) {
    put_count(lines.len(), out);
    lines.iter().for_each(|line| put_points(line, out));
}

fn put_point(p: Point, out: &mut Vec<u8>) {
    out.extend_from_slice(&p.x.to_le_bytes());
    out.extend_from_slice(&p.y.to_le_bytes());
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn put_kind(kind: Kind, out: &mut Vec<u8>) {
    out.push(LITTLE);
    out.extend_from_slice(&kind.number().to_le_bytes());
}

/// Appends WKB, little-endian.
pub fn write(shape: &Shape, out: &mut Vec<u8>) {
    put_kind(shape.kind(), out);
    match shape {
        Shape::Point(p) => put_point(*p, out),
        Shape::LineString(points) => put_points(points, out),
        Shape::Polygon(rings) => put_lines(rings, out),
        Shape::MultiPoint(points) => {
            put_count(points.len(), out);
            for p in points {
                put_kind(Kind::Point, out);
                put_point(*p, out);
            }
        }
        Shape::MultiLineString(lines) => {
            put_count(lines.len(), out);
            for line in lines {
                put_kind(Kind::LineString, out);
                put_points(line, out);
            }
        }
        Shape::MultiPolygon(polygons) => {
            put_count(polygons.len(), out);
            for rings in polygons {
                put_kind(Kind::Polygon, out);
                put_lines(rings, out);
            }
        }
        Shape::Collection(members) => {
            put_count(members.len(), out);
            members.iter().for_each(|m| write(m, out));
        }
    }
}

/// The internal form.
pub(super) fn internal(g: &Geometry) -> Vec<u8> {
    let mut out = g.srid.to_le_bytes().to_vec();
    write(&g.shape, &mut out);
    out
}
