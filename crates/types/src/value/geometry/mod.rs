//! Geometries: points, lines and areas on a plane or on the earth, as SQL/MM and the Open Geospatial Consortium's "Simple Feature
//! Access" define them. Values travel and are stored in MySQL's internal form ([`wkb`]); a [`Geometry`] is one that was read.
//!
//! Coordinates of a geographic reference system are kept in degrees, longitude first, whatever the order in which texts have them: the
//! axis order is a matter of reading and writing ([`srs`], [`Shape::swapped`]).
//!
//! | module | owns |
//! |---|---|
//! | `wkb` | the internal form, and well-known binary |
//! | `wkt` | well-known text |
//! | `geojson` | GeoJSON (RFC 7946) |
//! | `geohash` | geohashes |
//! | `srs` | the reference systems that there are |
//! | `bounds` | minimum bounding rectangles and how they lie to each other |
//! | `cells` | cells of the plane for indexes |
//! | `measure` | lengths, areas, centroids, distances |
//! | `similar` | how similar two shapes are |
//! | `segment` | where lines meet |
//! | `valid` | whether shapes are simple, and valid |
//! | `relate` | how two shapes lie to each other |
//! | `overlay` | what two shapes have in common, and what not |
//! | `buffer` | what lies within a distance |
//! | `planar` | shapes as the crate `geo` has them |
//! | `convert` | from one type of geometry to another |
//!
//! Nothing here knows columns or functions: their names in messages are put there by whoever calls.

mod bounds;
mod buffer;
pub mod cells;
mod convert;
pub mod geohash;
pub mod geojson;
mod measure;
mod overlay;
mod planar;
mod relate;
mod segment;
mod similar;
pub mod srs;
#[cfg(test)]
mod tests;
mod valid;
pub mod wkb;
pub mod wkt;

use crate::error::SqlError;

pub use bounds::Bounds;
pub use buffer::{Join, Strategies};
pub use measure::{andoyer_distance, sphere_distance};
pub use overlay::Overlay;
pub use planar::Unrelated;
pub use relate::Relation;
pub use similar::Distance;
pub use srs::Srs;

/// Error 3548.
pub fn srs_not_found(srid: impl std::fmt::Display) -> SqlError {
    let m = format!("There's no spatial reference system with SRID {srid}.");
    SqlError::new(3548, m)
}

/// Collections that may be within each other.
pub const MAX_DEPTH: usize = 100;

/// A point's coordinates: of a geographic system longitude and latitude, in degrees. Both are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// First coordinate.
    pub x: f64,
    /// Second coordinate.
    pub y: f64,
}

/// A shape, without the system that its coordinates are of. What the types demand holds of all of them: a line has two points at least,
/// a ring four of which the last is the first, a polygon a ring, and nothing but a collection is empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// POINT.
    Point(Point),
    /// LINESTRING.
    LineString(Vec<Point>),
    /// POLYGON: the ring around it, then those of its holes.
    Polygon(Vec<Vec<Point>>),
    /// MULTIPOINT.
    MultiPoint(Vec<Point>),
    /// MULTILINESTRING.
    MultiLineString(Vec<Vec<Point>>),
    /// MULTIPOLYGON.
    MultiPolygon(Vec<Vec<Vec<Point>>>),
    /// GEOMETRYCOLLECTION.
    Collection(Vec<Shape>),
}

/// A shape in a reference system.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// The system's number.
    pub srid: u32,
    /// What lies in it.
    pub shape: Shape,
}

/// What a geometry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// POINT.
    Point = 1,
    /// LINESTRING.
    LineString,
    /// POLYGON.
    Polygon,
    /// MULTIPOINT.
    MultiPoint,
    /// MULTILINESTRING.
    MultiLineString,
    /// MULTIPOLYGON.
    MultiPolygon,
    /// GEOMETRYCOLLECTION.
    Collection,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Kind; 7] = [
        Kind::Point,
        Kind::LineString,
        Kind::Polygon,
        Kind::MultiPoint,
        Kind::MultiLineString,
        Kind::MultiPolygon,
        Kind::Collection,
    ];
    /// The kind of a number in WKB.
    pub fn of_number(number: u32) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.number() == number)
    }
    /// Its number in WKB.
    pub fn number(self) -> u32 {
        self as u32
    }
    /// Its name, as ST_GeometryType() and messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Point => "POINT",
            Kind::LineString => "LINESTRING",
            Kind::Polygon => "POLYGON",
            Kind::MultiPoint => "MULTIPOINT",
            Kind::MultiLineString => "MULTILINESTRING",
            Kind::MultiPolygon => "MULTIPOLYGON",
            Kind::Collection => "GEOMCOLLECTION",
        }
    }
}

impl Shape {
    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Shape::Point(_) => Kind::Point,
            Shape::LineString(_) => Kind::LineString,
            Shape::Polygon(_) => Kind::Polygon,
            Shape::MultiPoint(_) => Kind::MultiPoint,
            Shape::MultiLineString(_) => Kind::MultiLineString,
            Shape::MultiPolygon(_) => Kind::MultiPolygon,
            Shape::Collection(_) => Kind::Collection,
        }
    }
    /// The collection without members.
    pub fn empty() -> Shape {
        Shape::Collection(Vec::new())
    }
    /// Whether there is no point in it: a collection of nothing, or of such.
    pub fn is_empty(&self) -> bool {
        match self {
            Shape::Collection(members) => members.iter().all(Shape::is_empty),
            _ => false,
        }
    }
    /// 0 of points, 1 of lines, 2 of areas, the greatest of a collection's; `None` if it is empty.
    pub fn dimension(&self) -> Option<u8> {
        match self {
            Shape::Point(_) | Shape::MultiPoint(_) => Some(0),
            Shape::LineString(_) | Shape::MultiLineString(_) => Some(1),
            Shape::Polygon(_) | Shape::MultiPolygon(_) => Some(2),
            Shape::Collection(members) => members.iter().filter_map(Shape::dimension).max(),
        }
    }
    /// Calls `f` with each of its points.
    pub fn each_point(&self, f: &mut dyn FnMut(Point)) {
        match self {
            Shape::Point(p) => f(*p),
            Shape::LineString(points) | Shape::MultiPoint(points) => {
                points.iter().for_each(|p| f(*p));
            }
            Shape::Polygon(lines) | Shape::MultiLineString(lines) => {
                lines.iter().flatten().for_each(|p| f(*p));
            }
            Shape::MultiPolygon(polygons) => {
                polygons.iter().flatten().flatten().for_each(|p| f(*p))
            }
            Shape::Collection(members) => members.iter().for_each(|m| m.each_point(f)),
        }
    }
    /// The shape of all points as `f` makes them.
    pub fn map(mut self, f: &dyn Fn(Point) -> Point) -> Shape {
        self.change(f);
        self
    }
    fn change(&mut self, f: &dyn Fn(Point) -> Point) {
        let all = |points: &mut Vec<Point>| points.iter_mut().for_each(|p| *p = f(*p));
        match self {
            Shape::Point(p) => *p = f(*p),
            Shape::LineString(points) | Shape::MultiPoint(points) => all(points),
            Shape::Polygon(lines) | Shape::MultiLineString(lines) => lines.iter_mut().for_each(all),
            Shape::MultiPolygon(polygons) => polygons.iter_mut().flatten().for_each(all),
            Shape::Collection(members) => members.iter_mut().for_each(|m| m.change(f)),
        }
    }
    /// The shape with the coordinates of each point in the other order.
    pub fn swapped(self) -> Shape {
        self.map(&|p| Point { x: p.y, y: p.x })
    }
    /// The members of a collection of any kind; the shape itself of what is none.
    pub fn members(&self) -> Vec<Shape> {
        match self {
            Shape::MultiPoint(points) => points.iter().map(|p| Shape::Point(*p)).collect(),
            Shape::MultiLineString(lines) => lines.iter().cloned().map(Shape::LineString).collect(),
            Shape::MultiPolygon(list) => list.iter().cloned().map(Shape::Polygon).collect(),
            Shape::Collection(members) => members.clone(),
            single => vec![single.clone()],
        }
    }
    /// How many members a collection of any kind has; `None` of what is none.
    pub fn member_count(&self) -> Option<usize> {
        match self {
            Shape::MultiPoint(points) => Some(points.len()),
            Shape::MultiLineString(lines) => Some(lines.len()),
            Shape::MultiPolygon(polygons) => Some(polygons.len()),
            Shape::Collection(members) => Some(members.len()),
            Shape::Point(_) | Shape::LineString(_) | Shape::Polygon(_) => None,
        }
    }
    /// How many collections are within each other.
    fn depth(&self) -> usize {
        match self {
            Shape::Collection(members) => 1 + members.iter().map(Shape::depth).max().unwrap_or(0),
            _ => 0,
        }
    }
    /// Whether what its type demands holds, and collections are not too deep.
    pub fn is_well_formed(&self) -> bool {
        let line = |points: &Vec<Point>| points.len() >= 2;
        let ring = |points: &Vec<Point>| points.len() >= 4 && points.first() == points.last();
        let polygon = |rings: &Vec<Vec<Point>>| !rings.is_empty() && rings.iter().all(ring);
        match self {
            Shape::Point(_) => true,
            Shape::LineString(points) => line(points),
            Shape::Polygon(rings) => polygon(rings),
            Shape::MultiPoint(points) => !points.is_empty(),
            Shape::MultiLineString(lines) => !lines.is_empty() && lines.iter().all(line),
            Shape::MultiPolygon(polygons) => !polygons.is_empty() && polygons.iter().all(polygon),
            Shape::Collection(members) => {
                self.depth() <= MAX_DEPTH && members.iter().all(Shape::is_well_formed)
            }
        }
    }
}

impl Geometry {
    /// Reads the internal form; `None` for other bytes.
    pub fn of_bytes(bytes: &[u8]) -> Option<Geometry> {
        wkb::read_internal(bytes)
    }
    /// Its internal form.
    pub fn to_bytes(&self) -> Vec<u8> {
        wkb::internal(self)
    }
    /// What it is.
    pub fn kind(&self) -> Kind {
        self.shape.kind()
    }
}
