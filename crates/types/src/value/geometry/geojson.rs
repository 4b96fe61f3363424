//! GeoJSON (RFC 7946, and its predecessor's `crs`).

use super::srs::Srs;
use super::{Bounds, Geometry, Kind, MAX_DEPTH, Point, Shape};
use crate::value::json::{Array, Json, Object, View, array_of, object_of};

/// Why a document is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// An object without this member.
    Missing(&'static str),
    /// A member that is of another type than this.
    Wrong(&'static str, &'static str),
    /// Points of so many coordinates.
    Dimensions(usize),
    /// A reference system that isn't known, by its number.
    Unknown(u32),
    /// A `crs` that isn't the whole document's.
    InnerCrs,
    /// Anything else.
    Other,
}

type Read<T> = Result<T, Refusal>;

/// What else than coordinates there is in a document that is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The bounding box.
    pub bbox: bool,
    /// The reference system, as `EPSG:4326`.
    pub short_crs: bool,
    /// The reference system, as `urn:ogc:def:crs:EPSG::4326`, which comes before the other.
    pub long_crs: bool,
}

/// What takes the place of `type` of each kind.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Point => "Point",
        Kind::LineString => "LineString",
        Kind::Polygon => "Polygon",
        Kind::MultiPoint => "MultiPoint",
        Kind::MultiLineString => "MultiLineString",
        Kind::MultiPolygon => "MultiPolygon",
        Kind::Collection => "GeometryCollection",
    }
}

/// A member of an object.
fn member<'a>(o: &Object<'a>, name: &'static str) -> Read<View<'a>> {
    o.get(name).map(|v| v.view()).ok_or(Refusal::Missing(name))
}

fn array_member<'a>(o: &Object<'a>, name: &'static str) -> Read<Array<'a>> {
    match member(o, name)? {
        View::Array(a) => Ok(a),
        _ => Err(Refusal::Wrong(name, "array")),
    }
}

fn text_member<'a>(o: &Object<'a>, name: &'static str) -> Read<&'a str> {
    match member(o, name)? {
        View::String(s) => Ok(s),
        _ => Err(Refusal::Wrong(name, "string")),
    }
}

fn number(v: View<'_>) -> Read<f64> {
    let v = match v {
        View::Int(n) => n as f64,
        View::UInt(n) => n as f64,
        View::Double(n) => n,
        View::Decimal(d) => d.to_f64(),
        _ => return Err(Refusal::Wrong("coordinates", "number")),
    };
    v.is_finite().then_some(v).ok_or(Refusal::Other)
}

/// Reads documents.
struct Reader {
    /// Whether coordinates beyond the second are passed over.
    flattens: bool,
}

impl Reader {
    fn point(&self, a: Array<'_>) -> Read<Point> {
        if a.len() > 2 && !self.flattens {
            return Err(Refusal::Dimensions(a.len()));
        }
        let mut numbers = a.iter().map(|v| number(v.view()));
        match (numbers.next(), numbers.next()) {
            (Some(x), Some(y)) => Ok(Point { x: x?, y: y? }),
            _ => Err(Refusal::Dimensions(a.len())),
        }
    }
    fn list<T>(&self, a: Array<'_>, item: fn(&Self, Array<'_>) -> Read<T>) -> Read<Vec<T>> {
        let item = |v: View<'_>| match v {
            View::Array(a) => item(self, a),
            _ => Err(Refusal::Wrong("coordinates", "array")),
        };
        a.iter().map(|v| item(v.view())).collect()
    }
    fn points(&self, a: Array<'_>) -> Read<Vec<Point>> {
        self.list(a, Self::point)
    }
    fn lines(&self, a: Array<'_>) -> Read<Vec<Vec<Point>>> {
        self.list(a, Self::points)
    }
    fn of_kind(&self, kind: Kind, o: &Object<'_>, depth: usize) -> Read<Shape> {
        let at = || array_member(o, "coordinates");
        Ok(match kind {
            Kind::Point => Shape::Point(self.point(at()?)?),
            Kind::LineString => Shape::LineString(self.points(at()?)?),
            Kind::Polygon => Shape::Polygon(self.lines(at()?)?),
            Kind::MultiPoint => Shape::MultiPoint(self.points(at()?)?),
            Kind::MultiLineString => Shape::MultiLineString(self.lines(at()?)?),
            Kind::MultiPolygon => Shape::MultiPolygon(self.list(at()?, Self::lines)?),
            Kind::Collection => {
                let members = array_member(o, "geometries")?;
                Shape::Collection(self.members(members, "geometries", depth)?)
            }
        })
    }
    fn members(&self, list: Array<'_>, name: &'static str, depth: usize) -> Read<Vec<Shape>> {
        if depth == MAX_DEPTH {
            return Err(Refusal::Other);
        }
        let mut shapes = Vec::with_capacity(list.len());
        for v in list.iter() {
            let View::Object(o) = v.view() else {
                return Err(Refusal::Wrong(name, "object array"));
            };
            shapes.extend(self.shape(&o, depth + 1)?);
        }
        Ok(shapes)
    }
    /// The shape of an object; `None` for a feature without one.
    fn shape(&self, o: &Object<'_>, depth: usize) -> Read<Option<Shape>> {
        if depth > 0 && o.get("crs").is_some() {
            return Err(Refusal::InnerCrs);
        }
        let name = text_member(o, "type")?;
        if name.eq_ignore_ascii_case("Feature") {
            if !matches!(member(o, "properties")?, View::Object(_) | View::Null) {
                return Err(Refusal::Wrong("properties", "object"));
            }
            return match member(o, "geometry")? {
                View::Null => Ok(None),
                View::Object(geometry) => self.shape(&geometry, depth + 1),
                _ => Err(Refusal::Wrong("geometry", "object")),
            };
        }
        if name.eq_ignore_ascii_case("FeatureCollection") {
            let list = array_member(o, "features")?;
            let members = self.members(list, "features", depth)?;
            return Ok(Some(Shape::Collection(members)));
        }
        let mut kinds = Kind::ALL.into_iter();
        let kind = kinds.find(|k| type_name(*k).eq_ignore_ascii_case(name));
        let shape = self.of_kind(kind.ok_or(Refusal::Other)?, o, depth)?;
        shape
            .is_well_formed()
            .then_some(Some(shape))
            .ok_or(Refusal::Other)
    }
}

/// The number of the system that a `crs` names; `None`: none is named.
fn srid_of(o: &Object<'_>) -> Read<Option<u32>> {
    let crs = match o.get("crs").map(|v| v.view()) {
        None | Some(View::Null) => return Ok(None),
        Some(View::Object(crs)) => crs,
        Some(_) => return Err(Refusal::Wrong("crs", "object")),
    };
    if !text_member(&crs, "type")?.eq_ignore_ascii_case("name") {
        return Err(Refusal::Other);
    }
    let View::Object(properties) = member(&crs, "properties")? else {
        return Err(Refusal::Wrong("properties", "object"));
    };
    let name = text_member(&properties, "name")?;
    // The system of WGS 84 whose longitudes come first, as they always do in GeoJSON.
    if name == "urn:ogc:def:crs:OGC:1.3:CRS84" {
        return Ok(Some(4326));
    }
    let number =
        (name.strip_prefix("EPSG:")).or_else(|| name.strip_prefix("urn:ogc:def:crs:EPSG::"));
    let srid = number.and_then(|n| n.parse().ok()).ok_or(Refusal::Other)?;
    match Srs::of(srid) {
        Some(_) => Ok(Some(srid)),
        None => Err(Refusal::Unknown(srid)),
    }
}

/// What a document says: its shape, if it isn't a feature without one, and the number of the reference system it names.
/// `flattens`: coordinates beyond the second are passed over rather than refused.
pub fn read(document: &Json<'_>, flattens: bool) -> Read<(Option<Shape>, Option<u32>)> {
    let View::Object(o) = document.view() else {
        return Err(Refusal::Other);
    };
    let srid = srid_of(&o)?;
    Ok((Reader { flattens }.shape(&o, 0)?, srid))
}

/// Writes documents: to how many digits after the point.
struct Writer {
    decimals: Option<i32>,
}

impl Writer {
    fn number(&self, v: f64) -> Json<'static> {
        let rounded = match self.decimals {
            Some(decimals) => {
                let unit = 10f64.powi(decimals);
                let rounded = (v * unit).round() / unit;
                if rounded.is_finite() { rounded } else { v }
            }
            None => v,
        };
        View::Double(rounded).to_json()
    }
    fn point(&self, p: &Point) -> Json<'static> {
        array_of(&[self.number(p.x), self.number(p.y)])
    }
    fn points(&self, points: &[Point]) -> Json<'static> {
        let list: Vec<_> = points.iter().map(|p| self.point(p)).collect();
        array_of(&list)
    }
    fn lines(&self, lines: &[Vec<Point>]) -> Json<'static> {
        let list: Vec<_> = lines.iter().map(|l| self.points(l)).collect();
        array_of(&list)
    }
    fn bbox(&self, shape: &Shape) -> Option<Json<'static>> {
        let Bounds { min, max } = Bounds::of(shape)?;
        let numbers = [min.x, min.y, max.x, max.y].map(|v| self.number(v));
        Some(array_of(&numbers))
    }
    fn shape(&self, shape: &Shape, bbox: bool, crs: Option<Json<'static>>) -> Json<'static> {
        let (name, value) = match shape {
            Shape::Point(p) => ("coordinates", self.point(p)),
            Shape::LineString(points) | Shape::MultiPoint(points) => {
                ("coordinates", self.points(points))
            }
            Shape::Polygon(lines) | Shape::MultiLineString(lines) => {
                ("coordinates", self.lines(lines))
            }
            Shape::MultiPolygon(polygons) => {
                let list: Vec<_> = polygons.iter().map(|p| self.lines(p)).collect();
                ("coordinates", array_of(&list))
            }
            Shape::Collection(members) => {
                let list: Vec<_> = members.iter().map(|m| self.shape(m, bbox, None)).collect();
                ("geometries", array_of(&list))
            }
        };
        let kind = View::String(type_name(shape.kind())).to_json();
        let mut members = vec![("type", kind), (name, value)];
        members.extend(
            bbox.then(|| self.bbox(shape))
                .flatten()
                .map(|b| ("bbox", b)),
        );
        members.extend(crs.map(|crs| ("crs", crs)));
        object_of(&members)
    }
}

/// The document of a geometry. `decimals`: digits after the point, if not all.
pub fn write(g: &Geometry, decimals: Option<i32>, extras: Extras) -> Json<'static> {
    let named = |name: String| {
        let name = View::String(&name).to_json();
        let kind = View::String("name").to_json();
        object_of(&[("type", kind), ("properties", object_of(&[("name", name)]))])
    };
    let crs = match g.srid {
        0 => None,
        id if extras.long_crs => Some(named(format!("urn:ogc:def:crs:EPSG::{id}"))),
        id if extras.short_crs => Some(named(format!("EPSG:{id}"))),
        _ => None,
    };
    Writer { decimals }.shape(&g.shape, extras.bbox, crs)
}
