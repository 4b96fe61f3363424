//! Spatial reference systems: the plane without units and the World Geodetic System of 1984.

use super::{Point, Shape};

/// A reference system.
#[derive(Clone, Copy, Debug)]
pub struct Srs {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Who defined it, and under which number.
    pub organization: Option<(&'static str, u32)>,
    /// Its definition in well-known text.
    pub definition: &'static str,
    /// The ellipsoid of a geographic one, whose coordinates are latitude and longitude, in this order in texts.
    pub ellipsoid: Option<Ellipsoid>,
}

/// An ellipsoid of revolution.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsoid {
    /// Semi-major axis in metres.
    pub semi_major: f64,
    /// Flattening.
    pub flattening: f64,
}

impl Ellipsoid {
    /// Semi-minor axis in metres.
    pub fn semi_minor(&self) -> f64 {
        self.semi_major * (1.0 - self.flattening)
    }
    /// The mean radius, (2a + b) / 3, in metres.
    pub fn mean_radius(&self) -> f64 {
        (2.0 * self.semi_major + self.semi_minor()) / 3.0
    }
}

static ALL: [Srs; 2] = [
    Srs {
        id: 0,
        name: "",
        organization: None,
        definition: "",
        ellipsoid: None,
    },
    Srs {
        id: 4326,
        name: "WGS 84",
        organization: Some(("EPSG", 4326)),
        definition: "GEOGCS[\"WGS 84\",DATUM[\"World Geodetic System 1984\",SPHEROID[\"WGS 84\",6378137,298.257223563,\
            AUTHORITY[\"EPSG\",\"7030\"]],AUTHORITY[\"EPSG\",\"6326\"]],PRIMEM[\"Greenwich\",0,AUTHORITY[\"EPSG\",\"8901\"]],\
            UNIT[\"degree\",0.017453292519943278,AUTHORITY[\"EPSG\",\"9122\"]],AXIS[\"Lat\",NORTH],AXIS[\"Lon\",EAST],\
            AUTHORITY[\"EPSG\",\"4326\"]]",
        ellipsoid: Some(Ellipsoid {
            semi_major: 6_378_137.0,
            flattening: 1.0 / 298.257_223_563,
        }),
    },
];

/// Units of length by name, in metres.
pub const UNITS: &[(&str, f64)] = &[
    ("metre", 1.0),
    ("foot", 0.3048),
    ("US survey foot", 0.304_800_609_601_219_24),
    ("nautical mile", 1852.0),
    ("Statute mile", 1609.344),
    ("fathom", 1.8288),
];

/// A coordinate of a geographic system that is no place on the earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutOfRange {
    /// Not within (-180, 180].
    Longitude(f64),
    /// Not within [-90, 90].
    Latitude(f64),
}

impl Srs {
    /// All that there are.
    pub fn all() -> &'static [Srs] {
        &ALL
    }
    /// The system of a number.
    pub fn of(id: u32) -> Option<&'static Srs> {
        ALL.iter().find(|s| s.id == id)
    }
    /// Whether its coordinates are latitude and longitude.
    pub fn is_geographic(&self) -> bool {
        self.ellipsoid.is_some()
    }
    /// Whether a longitude and a latitude are a place.
    pub fn check(&self, p: Point) -> Result<(), OutOfRange> {
        if !self.is_geographic() {
            return Ok(());
        }
        if !(-180.0 < p.x && p.x <= 180.0) {
            return Err(OutOfRange::Longitude(p.x));
        }
        if !(-90.0..=90.0).contains(&p.y) {
            return Err(OutOfRange::Latitude(p.y));
        }
        Ok(())
    }
    /// The same of all points of a shape; the first that is none.
    pub fn check_all(&self, shape: &Shape) -> Result<(), OutOfRange> {
        let mut found = Ok(());
        if self.is_geographic() {
            shape.each_point(&mut |p| {
                if found.is_ok() {
                    found = self.check(p);
                }
            });
        }
        found
    }
}
