//! From one type of geometry to another: CAST.

use super::{Kind, Point, Shape};

fn ring(line: &[Point]) -> bool {
    line.len() >= 4 && line.first() == line.last()
}

/// The only one of a list.
fn only<T>(list: Vec<T>) -> Option<T> {
    <[T; 1]>::try_from(list).ok().map(|[one]| one)
}

/// All members of a collection as `pick` takes them; `None` if it is empty or has others.
fn all<T>(members: Vec<Shape>, pick: fn(Shape) -> Option<T>) -> Option<Vec<T>> {
    let all: Option<Vec<T>> = members.into_iter().map(pick).collect();
    all.filter(|list| !list.is_empty())
}

fn point(s: Shape) -> Option<Point> {
    match s {
        Shape::Point(p) => Some(p),
        _ => None,
    }
}

fn line(s: Shape) -> Option<Vec<Point>> {
    match s {
        Shape::LineString(points) => Some(points),
        _ => None,
    }
}

fn polygon(s: Shape) -> Option<Vec<Vec<Point>>> {
    match s {
        Shape::Polygon(rings) => Some(rings),
        _ => None,
    }
}

impl Shape {
    /// The same points as a shape of another kind, where there is one.
    pub fn converted(self, to: Kind) -> Option<Shape> {
        use Shape as S;
        if self.kind() == to {
            return Some(self);
        }
        Some(match (to, self) {
            (Kind::Point, S::MultiPoint(points)) => S::Point(only(points)?),
            (Kind::Point, S::Collection(members)) => S::Point(only(all(members, point)?)?),
            (Kind::LineString, S::Polygon(rings) | S::MultiLineString(rings)) => {
                S::LineString(only(rings)?)
            }
            (Kind::LineString, S::MultiPoint(points)) if points.len() > 1 => S::LineString(points),
            (Kind::LineString, S::Collection(members)) => S::LineString(only(all(members, line)?)?),
            (Kind::Polygon, S::LineString(points)) if ring(&points) => S::Polygon(vec![points]),
            (Kind::Polygon, S::MultiLineString(lines)) if lines.iter().all(|l| ring(l)) => {
                S::Polygon(lines)
            }
            (Kind::Polygon, S::MultiPolygon(polygons)) => S::Polygon(only(polygons)?),
            (Kind::Polygon, S::Collection(members)) => S::Polygon(only(all(members, polygon)?)?),
            (Kind::MultiPoint, S::Point(p)) => S::MultiPoint(vec![p]),
            (Kind::MultiPoint, S::LineString(points)) => S::MultiPoint(points),
            (Kind::MultiPoint, S::Collection(members)) => S::MultiPoint(all(members, point)?),
            (Kind::MultiLineString, S::LineString(points)) => S::MultiLineString(vec![points]),
            (Kind::MultiLineString, S::Polygon(rings)) => S::MultiLineString(rings),
            (Kind::MultiLineString, S::MultiPolygon(polygons)) => {
                let rings: Option<Vec<_>> = polygons.into_iter().map(only).collect();
                S::MultiLineString(rings?)
            }
            (Kind::MultiLineString, S::Collection(members)) => {
                S::MultiLineString(all(members, line)?)
            }
            (Kind::MultiPolygon, S::Polygon(rings)) => S::MultiPolygon(vec![rings]),
            (Kind::MultiPolygon, S::MultiLineString(lines)) if lines.iter().all(|l| ring(l)) => {
                S::MultiPolygon(lines.into_iter().map(|l| vec![l]).collect())
            }
            (Kind::MultiPolygon, S::Collection(members)) => S::MultiPolygon(all(members, polygon)?),
            (Kind::Collection, other) => S::Collection(other.members()),
            _ => return None,
        })
    }
}
