//! Geometries made, read, asked and measured. What geometries are is [`crate::value::geometry`]'s; here are the arguments, which
//! reference systems they must be in, and MySQL's errors about them.
//!
//! Coordinates are longitude and latitude inside; where a text, WKB or a number is about the first or the second axis of a geographic
//! system, that is latitude or longitude.

mod access;
mod along;
mod buffer;
mod hash;
mod make;
mod mbr;
mod measure;
mod options;
mod relate;
mod show;

use super::typing::{binary, double, int, plain, ubigint};
use super::{ANY, Call, Computed, Exit, Function, Null, Typing, row};
use crate::error::SqlError;
use crate::types::{BaseType, SqlType};
use crate::value::Value;
use crate::value::geometry::srs::OutOfRange;
use crate::value::geometry::{Geometry, Kind, Overlay, Point, Relation, Shape, Srs, srs_not_found};

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    // Constructors.
    row("POINT", 2..=2, of_kind::<1>, make::point).null(Null::Maybe),
    row("LINESTRING", 1..=ANY, of_kind::<2>, make::line_string).null(Null::Maybe),
    row("POLYGON", 1..=ANY, of_kind::<3>, make::polygon).null(Null::Maybe),
    row("MULTIPOINT", 1..=ANY, of_kind::<4>, make::multi_point).null(Null::Maybe),
    row("MULTILINESTRING", 1..=ANY, of_kind::<5>, make::multi_line_string).null(Null::Maybe),
    row("MULTIPOLYGON", 1..=ANY, of_kind::<6>, make::multi_polygon).null(Null::Maybe),
    row("GEOMETRYCOLLECTION", 0..=ANY, of_kind::<7>, make::collection).aka(&["GEOMCOLLECTION"]).null(Null::Maybe),
    // From text and WKB.
    row("ST_GEOMFROMTEXT", 1..=3, of_kind::<0>, |c| make::from_text(c, None)).aka(&["ST_GEOMETRYFROMTEXT"]).null(Null::Maybe),
    row("ST_POINTFROMTEXT", 1..=3, of_kind::<1>, |c| make::from_text(c, Some(Kind::Point))).null(Null::Maybe),
    row("ST_LINEFROMTEXT", 1..=3, of_kind::<2>, |c| make::from_text(c, Some(Kind::LineString))).aka(&["ST_LINESTRINGFROMTEXT"]).null(Null::Maybe),
    row("ST_POLYFROMTEXT", 1..=3, of_kind::<3>, |c| make::from_text(c, Some(Kind::Polygon))).aka(&["ST_POLYGONFROMTEXT"]).null(Null::Maybe),
    row("ST_MPOINTFROMTEXT", 1..=3, of_kind::<4>, |c| make::from_text(c, Some(Kind::MultiPoint))).aka(&["ST_MULTIPOINTFROMTEXT"]).null(Null::Maybe),
    row("ST_MLINEFROMTEXT", 1..=3, of_kind::<5>, |c| make::from_text(c, Some(Kind::MultiLineString))).aka(&["ST_MULTILINESTRINGFROMTEXT"]).null(Null::Maybe),
    row("ST_MPOLYFROMTEXT", 1..=3, of_kind::<6>, |c| make::from_text(c, Some(Kind::MultiPolygon))).aka(&["ST_MULTIPOLYGONFROMTEXT"]).null(Null::Maybe),
    row("ST_GEOMCOLLFROMTEXT", 1..=3, of_kind::<7>, |c| make::from_text(c, Some(Kind::Collection))).aka(&["ST_GEOMETRYCOLLECTIONFROMTEXT", "ST_GEOMCOLLFROMTXT"]).null(Null::Maybe),
    row("ST_GEOMFROMWKB", 1..=3, of_kind::<0>, |c| make::from_wkb(c, None)).aka(&["ST_GEOMETRYFROMWKB"]).null(Null::Maybe),
    row("ST_POINTFROMWKB", 1..=3, of_kind::<1>, |c| make::from_wkb(c, Some(Kind::Point))).null(Null::Maybe),
    row("ST_LINEFROMWKB", 1..=3, of_kind::<2>, |c| make::from_wkb(c, Some(Kind::LineString))).aka(&["ST_LINESTRINGFROMWKB"]).null(Null::Maybe),
    row("ST_POLYFROMWKB", 1..=3, of_kind::<3>, |c| make::from_wkb(c, Some(Kind::Polygon))).aka(&["ST_POLYGONFROMWKB"]).null(Null::Maybe),
    row("ST_MPOINTFROMWKB", 1..=3, of_kind::<4>, |c| make::from_wkb(c, Some(Kind::MultiPoint))).aka(&["ST_MULTIPOINTFROMWKB"]).null(Null::Maybe),
    row("ST_MLINEFROMWKB", 1..=3, of_kind::<5>, |c| make::from_wkb(c, Some(Kind::MultiLineString))).aka(&["ST_MULTILINESTRINGFROMWKB"]).null(Null::Maybe),
    row("ST_MPOLYFROMWKB", 1..=3, of_kind::<6>, |c| make::from_wkb(c, Some(Kind::MultiPolygon))).aka(&["ST_MULTIPOLYGONFROMWKB"]).null(Null::Maybe),
    row("ST_GEOMCOLLFROMWKB", 1..=3, of_kind::<7>, |c| make::from_wkb(c, Some(Kind::Collection))).aka(&["ST_GEOMETRYCOLLECTIONFROMWKB"]).null(Null::Maybe),
    // To text, WKB and GeoJSON, and from the latter.
    row("ST_ASTEXT", 1..=2, long_text, show::as_text).aka(&["ST_ASWKT"]).null(Null::Maybe),
    row("ST_ASBINARY", 1..=2, |_| SqlType::new(BaseType::LongBlob), show::as_binary).aka(&["ST_ASWKB"]).null(Null::Maybe),
    row("ST_ASGEOJSON", 1..=3, |_| SqlType::json(), show::as_geojson).null(Null::Maybe),
    row("ST_GEOMFROMGEOJSON", 1..=3, of_kind::<0>, show::from_geojson).null(Null::Maybe).takes_json(),
    row("ST_GEOHASH", 2..=3, plain::<100>, hash::geohash).null(Null::Maybe),
    row("ST_LATFROMGEOHASH", 1..=1, double, hash::lat_from_geohash).null(Null::Maybe),
    row("ST_LONGFROMGEOHASH", 1..=1, double, hash::long_from_geohash).null(Null::Maybe),
    row("ST_POINTFROMGEOHASH", 2..=2, of_kind::<1>, hash::point_from_geohash).null(Null::Maybe),
    // What a geometry is.
    row("ST_SRID", 1..=2, srid_type, access::srid).null(Null::Maybe),
    row("ST_GEOMETRYTYPE", 1..=1, plain::<20>, access::geometry_type).null(Null::Maybe),
    row("ST_DIMENSION", 1..=1, int::<10>, access::dimension).null(Null::Maybe),
    row("ST_ISEMPTY", 1..=1, int::<1>, access::is_empty).null(Null::Maybe),
    row("ST_ISCLOSED", 1..=1, int::<1>, access::is_closed).null(Null::Maybe),
    row("ST_ENVELOPE", 1..=1, of_kind::<0>, access::envelope).null(Null::Maybe),
    row("ST_SWAPXY", 1..=1, of_kind::<0>, access::swap_xy).null(Null::Maybe),
    row("ST_X", 1..=2, coordinate_type, |c| access::coordinate(c, 0)).null(Null::Maybe),
    row("ST_Y", 1..=2, coordinate_type, |c| access::coordinate(c, 1)).null(Null::Maybe),
    row("ST_LATITUDE", 1..=2, coordinate_type, |c| access::place(c, 1)).null(Null::Maybe),
    row("ST_LONGITUDE", 1..=2, coordinate_type, |c| access::place(c, 0)).null(Null::Maybe),
    row("ST_STARTPOINT", 1..=1, of_kind::<1>, access::start_point).null(Null::Maybe),
    row("ST_ENDPOINT", 1..=1, of_kind::<1>, access::end_point).null(Null::Maybe),
    row("ST_POINTN", 2..=2, of_kind::<1>, access::point_n).null(Null::Maybe),
    row("ST_NUMPOINTS", 1..=1, int::<10>, access::num_points).null(Null::Maybe),
    row("ST_EXTERIORRING", 1..=1, of_kind::<2>, access::exterior_ring).null(Null::Maybe),
    row("ST_INTERIORRINGN", 2..=2, of_kind::<2>, access::interior_ring_n).null(Null::Maybe),
    row("ST_NUMINTERIORRINGS", 1..=1, int::<10>, access::num_interior_rings).aka(&["ST_NUMINTERIORRING"]).null(Null::Maybe),
    row("ST_GEOMETRYN", 2..=2, of_kind::<0>, access::geometry_n).null(Null::Maybe),
    row("ST_NUMGEOMETRIES", 1..=1, int::<10>, access::num_geometries).null(Null::Maybe),
    // Measures.
    row("ST_LENGTH", 1..=2, double, measure::length).null(Null::Maybe),
    row("ST_AREA", 1..=1, double, measure::area).null(Null::Maybe),
    row("ST_CENTROID", 1..=1, of_kind::<1>, measure::centroid).null(Null::Maybe),
    row("ST_CONVEXHULL", 1..=1, of_kind::<0>, measure::convex_hull).null(Null::Maybe),
    row("ST_DISTANCE", 2..=3, double, measure::distance).null(Null::Maybe),
    row("ST_HAUSDORFFDISTANCE", 2..=3, double, |c| measure::similarity(c, Shape::hausdorff_distance)).null(Null::Maybe),
    row("ST_FRECHETDISTANCE", 2..=3, double, |c| measure::similarity(c, Shape::frechet_distance)).null(Null::Maybe),
    row("ST_DISTANCE_SPHERE", 2..=3, double, measure::distance_sphere).null(Null::Maybe),
    row("ST_SIMPLIFY", 2..=2, of_kind::<0>, measure::simplify).null(Null::Maybe),
    row("ST_MAKEENVELOPE", 2..=2, of_kind::<0>, measure::make_envelope).null(Null::Maybe),
    row("ST_LINEINTERPOLATEPOINT", 2..=2, of_kind::<1>, along::point_at_fraction).null(Null::Maybe),
    row("ST_LINEINTERPOLATEPOINTS", 2..=2, of_kind::<4>, along::points_at_fractions).null(Null::Maybe),
    row("ST_POINTATDISTANCE", 2..=2, of_kind::<1>, along::point_at_distance).null(Null::Maybe),
    // Bounding rectangles.
    row("MBRCONTAINS", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| a.contains(b))).null(Null::Maybe),
    row("MBRWITHIN", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| b.contains(a))).null(Null::Maybe),
    row("MBRCOVERS", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| a.covers(b))).null(Null::Maybe),
    row("MBRCOVEREDBY", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| b.covers(a))).null(Null::Maybe),
    row("MBRINTERSECTS", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| a.intersects(b))).null(Null::Maybe),
    row("MBRDISJOINT", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| !a.intersects(b))).null(Null::Maybe),
    row("MBREQUALS", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| a == b)).null(Null::Maybe),
    row("MBRTOUCHES", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| a.touches(b))).null(Null::Maybe),
    row("MBROVERLAPS", 2..=2, int::<1>, |c| mbr::compare(c, |a, b| a.overlaps(b))).null(Null::Maybe),
    // Relations and overlays.
    row("ST_CONTAINS", 2..=2, int::<1>, |c| relate::relates(c, Relation::Contains)).null(Null::Maybe),
    row("ST_WITHIN", 2..=2, int::<1>, |c| relate::relates(c, Relation::Within)).null(Null::Maybe),
    row("ST_INTERSECTS", 2..=2, int::<1>, |c| relate::relates(c, Relation::Intersects)).null(Null::Maybe),
    row("ST_DISJOINT", 2..=2, int::<1>, |c| relate::relates(c, Relation::Disjoint)).null(Null::Maybe),
    row("ST_EQUALS", 2..=2, int::<1>, |c| relate::relates(c, Relation::Equals)).null(Null::Maybe),
    row("ST_TOUCHES", 2..=2, int::<1>, |c| relate::relates(c, Relation::Touches)).null(Null::Maybe),
    row("ST_OVERLAPS", 2..=2, int::<1>, |c| relate::relates(c, Relation::Overlaps)).null(Null::Maybe),
    row("ST_CROSSES", 2..=2, int::<1>, |c| relate::relates(c, Relation::Crosses)).null(Null::Maybe),
    row("ST_UNION", 2..=2, of_kind::<0>, |c| relate::overlay(c, Overlay::Union)).null(Null::Maybe),
    row("ST_INTERSECTION", 2..=2, of_kind::<0>, |c| relate::overlay(c, Overlay::Intersection)).null(Null::Maybe),
    row("ST_DIFFERENCE", 2..=2, of_kind::<0>, |c| relate::overlay(c, Overlay::Difference)).null(Null::Maybe),
    row("ST_SYMDIFFERENCE", 2..=2, of_kind::<0>, |c| relate::overlay(c, Overlay::SymDifference)).null(Null::Maybe),
    row("ST_BUFFER", 2..=5, of_kind::<0>, buffer::buffer).null(Null::Maybe),
    row("ST_BUFFER_STRATEGY", 1..=2, binary::<12>, buffer::strategy).null(Null::Maybe),
    row("ST_ISSIMPLE", 1..=1, int::<1>, relate::is_simple).null(Null::Maybe),
    row("ST_ISVALID", 1..=1, int::<1>, relate::is_valid).null(Null::Maybe),
    row("ST_VALIDATE", 1..=1, of_kind::<0>, relate::validate).null(Null::Maybe),
];

/// A geometry of a kind, by its number in WKB; 0: of any.
fn of_kind<const NUMBER: u32>(_: &Typing<'_>) -> SqlType {
    let bases = BaseType::ALL.iter();
    let kind = Kind::of_number(NUMBER);
    let base = bases.copied().find(|b| b.facts().geometry == Some(kind));
    SqlType::new(base.unwrap_or(BaseType::Geometry))
}

fn long_text(t: &Typing<'_>) -> SqlType {
    SqlType {
        collation: t.collation,
        ..SqlType::new(BaseType::LongText)
    }
}

/// A number where the function is asked, a geometry where it sets.
fn srid_type(t: &Typing<'_>) -> SqlType {
    match t.args.len() {
        1 => ubigint(t),
        _ => of_kind::<0>(t),
    }
}

fn coordinate_type(t: &Typing<'_>) -> SqlType {
    match t.args.len() {
        1 => double(t),
        _ => of_kind::<1>(t),
    }
}

/// A geometry as a result.
fn result<'a>(srid: u32, shape: Shape) -> Computed<'a> {
    let g = Geometry { srid, shape };
    Ok(Value::Bytes(g.to_bytes().into()))
}

/// Error 3516.
fn unexpected(expected: &str, found: Kind, function: &str) -> SqlError {
    let m = format!(
        "{expected} value is a geometry of unexpected type {} in {function}.",
        found.name()
    );
    SqlError::new(3516, m)
}

impl<'a> Call<'_, 'a> {
    /// Error 3037.
    fn invalid_data(&self) -> Exit {
        let m = format!("Invalid GIS data provided to function {}.", self.name());
        Exit::Error(SqlError::new(3037, m))
    }
    /// Error 1690.
    fn out_of_range(&self, what: &str) -> Exit {
        let m = format!("{what} value is out of range in '{}'", self.name());
        Exit::Error(SqlError::new(1690, m))
    }
    /// An argument that is a geometry. Error 3037.
    fn geometry(&self, i: usize) -> Result<Geometry, Exit> {
        match self.value(i)? {
            Value::Bytes(b) => Geometry::of_bytes(&b).ok_or_else(|| self.invalid_data()),
            _ => Err(self.invalid_data()),
        }
    }
    /// Two geometries of one reference system. Error 3033.
    fn geometries(&self) -> Result<(Geometry, Geometry), Exit> {
        let (a, b) = (self.geometry(0)?, self.geometry(1)?);
        if a.srid != b.srid {
            let m = format!(
                "Binary geometry function {} given two geometries of different srids: {} and {}, which should have been identical.",
                self.name(),
                a.srid,
                b.srid
            );
            return Err(SqlError::new(3033, m).into());
        }
        Ok((a, b))
    }
    /// A reference system by its number. Error 3548.
    fn srs(&self, srid: u32) -> Result<&'static Srs, Exit> {
        Srs::of(srid).ok_or_else(|| srs_not_found(srid).into())
    }
    /// The number of a reference system that there is. Errors 1690, 3548.
    fn srid_argument(&self, i: usize) -> Result<&'static Srs, Exit> {
        let srid = u32::try_from(self.int(i)?).map_err(|_| self.out_of_range("SRID"))?;
        self.srs(srid)
    }
    /// A number that is one. Error 1690.
    fn finite(&self, i: usize, what: &str) -> Result<f64, Exit> {
        let v = self.double(i)?;
        v.is_finite()
            .then_some(v)
            .ok_or_else(|| self.out_of_range(what))
    }
    /// Error 3616 or 3617 unless all points are places of the system.
    fn check_places(&self, srs: &Srs, shape: &Shape) -> Result<(), Exit> {
        let checked = srs.check_all(shape);
        checked.map_err(|e| self.no_place(e, false))
    }
    /// A coordinate beyond its range, of a geometry that is an argument or of another argument.
    fn no_place(&self, e: OutOfRange, of_geometry: bool) -> Exit {
        let (longitude, v) = match e {
            OutOfRange::Longitude(v) => (true, v),
            OutOfRange::Latitude(v) => (false, v),
        };
        let (name, range, codes) = match longitude {
            true => ("ongitude", "(-180.000000, 180.000000]", (3616, 3731)),
            false => ("atitude", "[-90.000000, 90.000000]", (3617, 3732)),
        };
        let function = self.name();
        let e = match of_geometry {
            false => SqlError::new(
                codes.0,
                format!(
                    "L{name} {v:.6} is out of range in function {function}. It must be within {range}."
                ),
            ),
            true => SqlError::new(
                codes.1,
                format!(
                    "A parameter of function {function} contains a geometry with l{name} {v:.6}, which is out of range. \
                     It must be within {range}."
                ),
            ),
        };
        e.into()
    }
    /// The system of a geometry, which must be a plane. Errors 3548, 3618.
    fn on_plane(&self, g: &Geometry) -> Result<(), Exit> {
        match self.srs(g.srid)?.is_geographic() {
            false => Ok(()),
            true => Err(self.not_on_earth(&[g.kind()])),
        }
    }
    /// Error 3704.
    fn not_on_a_plane(&self, kinds: &[Kind]) -> Exit {
        let kinds: Vec<_> = kinds.iter().map(|k| k.name()).collect();
        let m = format!(
            "{}({}) has not been implemented for Cartesian spatial reference systems.",
            self.name(),
            kinds.join(", ")
        );
        Exit::Error(SqlError::new(3704, m))
    }
    /// Error 3618.
    fn not_on_earth(&self, kinds: &[Kind]) -> Exit {
        let kinds: Vec<_> = kinds.iter().map(|k| k.name()).collect();
        let m = format!(
            "{}({}) has not been implemented for geographic spatial reference systems.",
            self.name(),
            kinds.join(", ")
        );
        Exit::Error(SqlError::new(3618, m))
    }
    /// A point. Error 3516.
    fn point(&self, i: usize) -> Result<(u32, Point), Exit> {
        let g = self.geometry(i)?;
        match g.shape {
            Shape::Point(p) => Ok((g.srid, p)),
            other => Err(unexpected("POINT", other.kind(), &self.name()).into()),
        }
    }
    /// A position from 1 in a list; `None`: beyond it.
    fn nth(&self, i: usize, count: usize) -> Result<Option<usize>, Exit> {
        let n = self.int(i)?;
        let at = n.checked_sub(1).and_then(|n| usize::try_from(n).ok());
        Ok(at.filter(|n| *n < count))
    }
}
