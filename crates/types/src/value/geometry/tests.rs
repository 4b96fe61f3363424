use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::value::json;

fn shape(text: &str) -> Shape {
    wkt::read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))
}

fn text(shape: &Shape) -> String {
    let mut out = Vec::new();
    wkt::write(shape, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn texts_are_read_and_written() {
    for (read, written) in [
        ("point(1 2)", "POINT(1 2)"),
        (" POINT ( 1.50\t-2e3 ) ", "POINT(1.5 -2000)"),
        ("LINESTRING(0 0, 1 1,2 -0.1)", "LINESTRING(0 0,1 1,2 -0.1)"),
        (
            "Polygon((0 0,0 3,3 3,0 0),(1 1,1 2,2 2,1 1))",
            "POLYGON((0 0,0 3,3 3,0 0),(1 1,1 2,2 2,1 1))",
        ),
        ("MULTIPOINT(1 2,3 4)", "MULTIPOINT((1 2),(3 4))"),
        ("MULTIPOINT((1 2),(3 4))", "MULTIPOINT((1 2),(3 4))"),
        (
            "MULTILINESTRING((0 0,1 1),(2 2,3 3))",
            "MULTILINESTRING((0 0,1 1),(2 2,3 3))",
        ),
        (
            "MULTIPOLYGON(((0 0,0 1,1 1,0 0)))",
            "MULTIPOLYGON(((0 0,0 1,1 1,0 0)))",
        ),
        ("GEOMETRYCOLLECTION()", "GEOMETRYCOLLECTION EMPTY"),
        (
            "GeomCollection(point(1 1), geometrycollection empty)",
            "GEOMETRYCOLLECTION(POINT(1 1),GEOMETRYCOLLECTION EMPTY)",
        ),
    ] {
        assert_eq!(text(&shape(read)), written);
    }
}

#[test]
fn what_is_no_geometry_is_refused() {
    for wrong in [
        "",
        "POINT",
        "POINT(1)",
        "POINT(1 2",
        "POINT(1 2) x",
        "POINT(1,2)",
        "POINT(1 1e999)",
        "POINT(1 nan)",
        "POINT EMPTY",
        "LINESTRING(1 2)",
        "LINESTRING()",
        "POLYGON((0 0,1 1,0 0))",
        "POLYGON((0 0,0 1,1 1,1 0))",
        "MULTIPOINT()",
        "MULTIPOINT((1 2),3 4)",
        "CIRCLE(1 2)",
    ] {
        assert_eq!(wkt::read(wrong.as_bytes()), None, "{wrong}");
    }
    let deep = |n| format!("{}{}", "GEOMETRYCOLLECTION(".repeat(n), ")".repeat(n));
    assert!(wkt::read(deep(MAX_DEPTH).as_bytes()).is_some());
    assert_eq!(wkt::read(deep(MAX_DEPTH + 1).as_bytes()), None);
}

#[test]
fn bytes_are_mysqls() {
    let g = Geometry {
        srid: 4326,
        shape: shape("POINT(1 -1)"),
    };
    let hex: String = g.to_bytes().iter().map(|b| format!("{b:02X}")).collect();
    assert_eq!(hex, "E61000000101000000000000000000F03F000000000000F0BF");
    let mut big = vec![0, 0, 0, 0, 1];
    big.extend(1f64.to_be_bytes());
    big.extend((-1f64).to_be_bytes());
    assert_eq!(wkb::read(&big), Some(g.shape.clone()));
    // Stored values are of one order.
    let stored = [&[0; 4], &big[..]].concat();
    assert_eq!(Geometry::of_bytes(&stored), None);
}

#[test]
fn counts_beyond_the_bytes_are_refused() {
    for kind in 2..=7u8 {
        let bytes = [1, kind, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(wkb::read(&bytes), None);
    }
}

#[test]
fn measures() {
    let square = shape("POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1))");
    assert_eq!(square.area(), Some(15.0));
    let c = square.centroid().unwrap();
    assert!((c.x - (32.0 - 1.5) / 15.0).abs() < 1e-12, "{c:?}");
    assert_eq!(shape("LINESTRING(0 0,3 4,3 5)").length(), Some(6.0));
    assert_eq!(
        shape("LINESTRING(0 0,2 0)").centroid(),
        Some(Point { x: 1.0, y: 0.0 })
    );
    assert_eq!(Shape::empty().centroid(), None);
    for (a, b, d) in [
        ("POINT(0 0)", "POINT(3 4)", 5.0),
        ("POINT(2 3)", "LINESTRING(0 0,4 0)", 3.0),
        ("LINESTRING(0 0,2 2)", "LINESTRING(0 2,2 0)", 0.0),
        ("LINESTRING(0 0,1 0)", "LINESTRING(2 1,2 -1)", 1.0),
        ("POINT(3 3)", "POLYGON((0 0,4 0,4 4,0 4,0 0))", 0.0),
        (
            "POINT(1.5 1.5)",
            "POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,2 1,2 2,1 2,1 1))",
            0.5,
        ),
        ("POINT(6 2)", "POLYGON((0 0,4 0,4 4,0 4,0 0))", 2.0),
        (
            "POLYGON((1 1,2 1,2 2,1 2,1 1))",
            "MULTIPOLYGON(((9 9,9 8,8 8,9 9)),((0 0,4 0,4 4,0 4,0 0)))",
            0.0,
        ),
    ] {
        assert_eq!(shape(a).distance(&shape(b)), Some(d), "{a} {b}");
        assert_eq!(shape(b).distance(&shape(a)), Some(d), "{b} {a}");
    }
    assert_eq!(shape("POINT(0 0)").distance(&Shape::empty()), None);
}

#[test]
fn hulls_and_fewer_points() {
    let hull = |s: &str| text(&shape(s).convex_hull().unwrap());
    assert_eq!(
        hull("MULTIPOINT(5 0,25 0,15 10,15 25)"),
        "POLYGON((5 0,25 0,15 25,5 0))"
    );
    assert_eq!(hull("LINESTRING(2 2,0 0,1 1)"), "LINESTRING(0 0,2 2)");
    assert_eq!(hull("MULTIPOINT(1 1,1 1)"), "POINT(1 1)");
    let fewer = |s: &str, most| shape(s).simplify(most).map(|s| text(&s));
    let line = "LINESTRING(0 0,0 1,1 1,1 2,2 2,2 3,3 3)";
    assert_eq!(fewer(line, 0.5).unwrap(), "LINESTRING(0 0,0 1,1 1,2 3,3 3)");
    assert_eq!(fewer(line, 1.0).unwrap(), "LINESTRING(0 0,3 3)");
    assert_eq!(fewer("POLYGON((0 0,1 0,0 1,0 0))", 9.0), None);
}

#[test]
fn places_on_the_earth() {
    let wgs = Srs::of(4326).unwrap();
    let e = wgs.ellipsoid.unwrap();
    let at = |x, y| Point { x, y };
    // A degree of the equator, and one of the meridian from it (110,574.4 m).
    let degree = andoyer_distance(at(0.0, 0.0), at(1.0, 0.0), &e);
    assert!((degree - 111_319.49).abs() < 0.1, "{degree}");
    let degree = andoyer_distance(at(0.0, 0.0), at(0.0, 1.0), &e);
    assert!((degree - 110_574.4).abs() < 2.0, "{degree}");
    assert_eq!(andoyer_distance(at(5.0, 6.0), at(5.0, 6.0), &e), 0.0);
    assert!(andoyer_distance(at(0.0, 0.0), at(180.0, 0.0), &e).is_finite());
    // From MySQL's manual: 20042.1 km.
    let sphere = sphere_distance(at(0.0, 0.0), at(180.0, 0.0), 6_370_986.0);
    assert!((sphere - 20_015_042.8).abs() < 1.0, "{sphere}");
    assert_eq!(wgs.check(at(180.0, -90.0)), Ok(()));
    let outside = srs::OutOfRange::Longitude(-180.0);
    assert_eq!(wgs.check(at(-180.0, 0.0)), Err(outside));
}

#[test]
fn geohashes() {
    let at = |x, y| Point { x, y };
    assert_eq!(geohash::encode(at(180.0, 0.0), 10), "xbpbpbpbpb");
    assert_eq!(geohash::encode(at(-180.0, -90.0), 15), "000000000000000");
    let hash = geohash::encode(at(45.0, -20.0), 10);
    assert_eq!(geohash::decode(hash.as_bytes()), Some(at(45.0, -20.0)));
    assert_eq!(geohash::decode(b"abc"), None);
    assert_eq!(geohash::decode(b""), None);
}

#[test]
fn geojson_returns() {
    for s in [
        "POINT(102 0.5)",
        "LINESTRING(0 0,1 1)",
        "MULTIPOLYGON(((0 0,0 1,1 1,0 0)))",
        "GEOMETRYCOLLECTION(POINT(1 2),MULTIPOINT((1 1),(2 2)))",
    ] {
        let g = Geometry {
            srid: 4326,
            shape: shape(s),
        };
        let all = geojson::Extras {
            bbox: true,
            short_crs: true,
            long_crs: false,
        };
        let written = geojson::write(&g, None, all);
        assert_eq!(
            geojson::read(&written, false),
            Ok((Some(g.shape), Some(4326)))
        );
    }
    let refused = |s: &str| geojson::read(&json::parse(s.as_bytes()).unwrap(), false);
    assert_eq!(
        refused(r#"{"type":"Point"}"#),
        Err(geojson::Refusal::Missing("coordinates"))
    );
    assert_eq!(
        refused(r#"{"type":"Point","coordinates":[1,2,3]}"#),
        Err(geojson::Refusal::Dimensions(3))
    );
}

#[test]
fn rectangles() {
    let b = |s: &str| Bounds::of(&shape(s)).unwrap();
    let unit = b("LINESTRING(0 0,4 4)");
    assert!(unit.contains(&b("POINT(1 1)")) && !unit.contains(&b("POINT(0 1)")));
    assert!(unit.covers(&b("POINT(0 1)")) && unit.touches(&b("POINT(0 1)")));
    assert!(unit.overlaps(&b("LINESTRING(1 1,9 9)")) && !unit.overlaps(&unit));
    assert!(unit.contains(&unit) && !unit.touches(&unit));
    assert!(b("POINT(1 1)").contains(&b("POINT(1 1)")));
    let lines = (b("LINESTRING(0 0,4 0)"), b("LINESTRING(2 0,9 0)"));
    assert!(lines.0.overlaps(&lines.1));
}

fn points(from: usize) -> impl Strategy<Value = Vec<Point>> {
    let point = (-1e6f64..1e6, any::<f32>()).prop_map(|(x, y)| Point {
        x,
        y: if y.is_finite() { y.into() } else { 0.0 },
    });
    vec(point, from..6)
}

fn ring() -> impl Strategy<Value = Vec<Point>> {
    points(3).prop_map(|mut ring| {
        ring.push(ring[0]);
        ring
    })
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        points(1).prop_map(|p| Shape::Point(p[0])),
        points(2).prop_map(Shape::LineString),
        vec(ring(), 1..3).prop_map(Shape::Polygon),
        points(1).prop_map(Shape::MultiPoint),
        vec(points(2), 1..3).prop_map(Shape::MultiLineString),
        vec(vec(ring(), 1..3), 1..3).prop_map(Shape::MultiPolygon),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        vec(inner, 0..4).prop_map(Shape::Collection)
    })
}

proptest! {
    #[test]
    fn all_forms_return(shape in shapes(), srid: u32) {
        let g = Geometry { srid, shape };
        prop_assert_eq!(Geometry::of_bytes(&g.to_bytes()), Some(g.clone()));
        let text = text(&g.shape);
        prop_assert_eq!(wkt::read(text.as_bytes()), Some(g.shape.clone()));
        let document = geojson::write(&g, None, geojson::Extras::default());
        prop_assert_eq!(geojson::read(&document, false), Ok((Some(g.shape), None)));
    }

    #[test]
    fn cut_bytes_are_none(shape in shapes()) {
        let bytes = Geometry { srid: 0, shape }.to_bytes();
        for n in 0..bytes.len() {
            prop_assert_eq!(Geometry::of_bytes(&bytes[..n]), None);
        }
    }

    #[test]
    fn any_bytes_are_read(bytes: Vec<u8>) {
        let _ = wkb::read(&bytes);
        let _ = wkt::read(&bytes);
    }

    #[test]
    fn hulls_hold_their_points(points in points(3)) {
        let hull = Shape::MultiPoint(points.clone()).convex_hull().unwrap();
        let bounds = (Bounds::of(&hull), Bounds::of(&Shape::MultiPoint(points)));
        prop_assert_eq!(bounds.0, bounds.1);
    }
}

/// A triangle of whole numbers, so that nothing is rounded; `None` if it has no area.
fn triangle(corners: [(i8, i8); 3]) -> Option<Shape> {
    let at = |(x, y): (i8, i8)| Point {
        x: f64::from(x % 16),
        y: f64::from(y % 16),
    };
    let [a, b, c] = corners.map(at);
    let shape = Shape::Polygon(vec![vec![a, b, c, a]]);
    shape.area().filter(|area| *area > 0.0).map(|_| shape)
}

fn area(shape: &Shape) -> f64 {
    match shape {
        Shape::Collection(members) => members.iter().map(area).sum(),
        other => other.area().unwrap_or(0.0),
    }
}

fn holds(a: &Shape, b: &Shape, relation: Relation) -> bool {
    a.relates(b, relation).unwrap() == Some(true)
}

proptest! {
    #[test]
    fn overlays_of_areas_add_up(a: [(i8, i8); 3], b: [(i8, i8); 3]) {
        let (Some(a), Some(b)) = (triangle(a), triangle(b)) else {
            return Ok(());
        };
        let of = |op| {
            let made = a.overlay(&b, op).unwrap();
            prop_assert!(made.is_well_formed());
            Ok(area(&made))
        };
        let near = |x: f64, y: f64| (x - y).abs() < 1e-4;
        let (one, other) = (area(&a), area(&b));
        let common = of(Overlay::Intersection)?;
        prop_assert!(near(of(Overlay::Union)?, one + other - common));
        prop_assert!(near(of(Overlay::Difference)?, one - common));
        prop_assert!(near(of(Overlay::SymDifference)?, one + other - 2.0 * common));
    }

    #[test]
    fn relations_agree(a: [(i8, i8); 3], b: [(i8, i8); 3]) {
        let (Some(a), Some(b)) = (triangle(a), triangle(b)) else {
            return Ok(());
        };
        let is = |relation| holds(&a, &b, relation);
        prop_assert_eq!(is(Relation::Intersects), a.distance(&b) == Some(0.0));
        prop_assert_eq!(is(Relation::Disjoint), !is(Relation::Intersects));
        prop_assert_eq!(is(Relation::Contains), holds(&b, &a, Relation::Within));
        prop_assert_eq!(is(Relation::Equals), is(Relation::Contains) && is(Relation::Within));
        let ways = [Relation::Disjoint, Relation::Touches, Relation::Overlaps];
        let contained = is(Relation::Contains) || is(Relation::Within);
        let count = ways.into_iter().filter(|r| is(*r)).count() + usize::from(contained);
        prop_assert_eq!(count, 1, "{:?} {:?}", a, b);
        let common = area(&a.overlay(&b, Overlay::Intersection).unwrap());
        prop_assert_eq!(is(Relation::Touches) || is(Relation::Disjoint), common == 0.0);
    }

    #[test]
    fn buffers_hold_what_they_are_around(a: [(i8, i8); 3], distance in 0.1f64..9.0) {
        let Some(a) = triangle(a) else {
            return Ok(());
        };
        let around = a.buffer(distance, &Strategies::default()).unwrap();
        prop_assert!(holds(&around, &a, Relation::Contains));
        prop_assert!(area(&around) > area(&a));
        let within = a.buffer(-distance, &Strategies::default()).unwrap();
        prop_assert!(within.is_empty() || holds(&a, &within, Relation::Contains));
    }

    #[test]
    fn any_two_shapes_are_related(a in shapes(), b in shapes()) {
        let _ = (a.is_valid(), a.is_simple());
        for relation in [Relation::Contains, Relation::Touches, Relation::Crosses, Relation::Intersects] {
            let _ = a.relates(&b, relation);
        }
        for op in [Overlay::Union, Overlay::Intersection, Overlay::Difference] {
            if let Ok(made) = a.overlay(&b, op) {
                prop_assert!(made.is_well_formed());
            }
        }
    }
}

/// A coordinate of any size.
fn coordinates() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1.0f64..1.0,
        -180.0f64..180.0,
        -1e7f64..1e7,
        any::<f64>().prop_map(|v| if v.is_finite() { v } else { 0.0 }),
        proptest::sample::select(vec![
            0.0,
            -0.0,
            1.0,
            256.0,
            -256.0,
            255.9999999,
            f64::MAX,
            f64::MIN
        ]),
    ]
}

fn rectangles_of() -> impl Strategy<Value = Bounds> {
    let extent = prop_oneof![Just(0.0), 0.0f64..1.0, 0.0f64..1e4, coordinates()];
    (coordinates(), coordinates(), extent.clone(), extent).prop_map(|(x, y, w, h)| {
        let to = |v: f64, by: f64| Some(v + by).filter(|v| v.is_finite()).unwrap_or(v);
        let of = |x, y| Bounds {
            min: Point { x, y },
            max: Point { x, y },
        };
        of(x, y).with(&of(to(x, w), to(y, h)))
    })
}

proptest! {
    #[test]
    fn cells_find_what_meets(a in rectangles_of(), b in rectangles_of()) {
        let ranges = cells::ranges(&a);
        prop_assert!(ranges.windows(2).all(|w| w[0].1 < w[1].0), "{:?}", ranges);
        prop_assert!(ranges.iter().all(|r| r.0 <= r.1));
        for (searched, kept) in [(&ranges, &a), (&ranges, &b)] {
            let (mut count, mut found) = (0, false);
            cells::keys(kept, &mut |key| {
                count += 1;
                found |= searched.iter().any(|r| (r.0..=r.1).contains(key));
            });
            prop_assert!((1..=4).contains(&count));
            prop_assert!(found || !a.intersects(kept));
        }
    }
}

/// What lies far away is in none of the ranges, as long as the search's rectangle is small.
#[test]
fn cells_leave_out_what_is_far() {
    let at = |x: f64, y: f64| Bounds::of(&Shape::Point(Point { x, y })).unwrap();
    for (x, y) in [(0.0, 0.0), (100.0, 50.0), (-0.5, 51.0), (500_000.0, -4e6)] {
        let ranges = cells::ranges(&at(x, y).widened(0.5));
        let finds = |b: &Bounds| {
            let mut found = false;
            cells::keys(b, &mut |key| {
                found |= ranges.iter().any(|r| (r.0..=r.1).contains(key))
            });
            found
        };
        assert!(finds(&at(x, y)) && finds(&at(x + 0.5, y - 0.5)));
        assert!(finds(&at(x, y).widened(1e5)));
        for (dx, dy) in [
            (3.0, 0.0),
            (0.0, 3.0),
            (-3.0, 0.0),
            (0.0, -3.0),
            (-9.0, 9.0),
        ] {
            assert!(!finds(&at(x + dx, y + dy)), "{x} {y} {dx} {dy}");
        }
    }
}
