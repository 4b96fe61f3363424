//! A figure of several rounds.

/// The middle one, and the ends between which the others lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// As [`super::median`] has it.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    /// Of some; `None` of nothing.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.into_iter().collect();
        Some(Spread {
            median: super::median(&values)?,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_some_and_of_nothing() {
        let spread = Spread::of([3.0, 1.0, 2.5]).unwrap();
        assert_eq!((spread.median, spread.least, spread.most), (2.5, 1.0, 3.0));
        assert_eq!(Spread::of([]), None);
    }
}
