//! Figures as JSON has them, where a number that is none is null.

use serde::{Deserialize, Deserializer};

type Read<'de, D, T> = Result<T, <D as Deserializer<'de>>::Error>;
type Maybe = Option<f64>;

fn plain(x: Maybe) -> f64 {
    x.unwrap_or(f64::NAN)
}

/// One.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Read<'de, D, f64> {
    Maybe::deserialize(from).map(plain)
}

/// Points of a line.
pub(super) fn points<'de, D: Deserializer<'de>>(from: D) -> Read<'de, D, Vec<(f64, f64)>> {
    let all = Vec::<(Maybe, Maybe)>::deserialize(from)?;
    Ok(all.into_iter().map(|(x, y)| (plain(x), plain(y))).collect())
}

/// Points of a band.
pub(super) fn bands<'de, D: Deserializer<'de>>(from: D) -> Read<'de, D, Vec<(f64, f64, f64)>> {
    let all = Vec::<(Maybe, Maybe, Maybe)>::deserialize(from)?;
    let one = |(x, low, high)| (plain(x), plain(low), plain(high));
    Ok(all.into_iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Bar, Series};

    #[test]
    fn what_is_no_number_comes_back_as_such() {
        let series = Series {
            points: vec![(1.0, f64::NAN), (2.0, 0.1)],
            band: vec![(1.0, f64::NEG_INFINITY, 3.0)],
            ..Series::default()
        };
        let text = serde_json::to_string(&series).unwrap();
        let back: Series = serde_json::from_str(&text).unwrap();
        assert!(back.points[0].1.is_nan() && back.band[0].1.is_nan());
        assert_eq!(back.points[1], (2.0, 0.1));
        let bar = Bar {
            value: f64::NAN,
            ..Bar::default()
        };
        let back: Bar = serde_json::from_value(serde_json::json!(bar)).unwrap();
        assert!(back.value.is_nan());
    }
}
