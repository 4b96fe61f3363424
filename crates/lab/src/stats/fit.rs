//! Straight lines through measurements.

/// `y = intercept + slope * x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// `y` at 0.
    pub intercept: f64,
    /// Change of `y` with `x`.
    pub slope: f64,
}

impl Line {
    /// The line of least squares through the points; `None` if they do not determine one.
    pub fn fit(points: &[(f64, f64)]) -> Option<Line> {
        let n = points.len() as f64;
        let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
        let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
        let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
        let sxy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        if points.len() < 2 || sxx <= f64::EPSILON {
            return None;
        }
        let slope = sxy / sxx;
        Some(Line {
            intercept: my - slope * mx,
            slope,
        })
    }
    /// `y` at some `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The middle value; of an even number of values, the mean of the two in the middle. `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some((sorted[n / 2 - 1] + sorted[n / 2]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_on_it_is_that_line() {
        let line = Line::fit(&[(0.0, 2.0), (1.0, 5.0), (4.0, 14.0)]).unwrap();
        assert!((line.intercept - 2.0).abs() < 1e-9 && (line.slope - 3.0).abs() < 1e-9);
        assert!((line.at(104.0) - 314.0).abs() < 1e-9);
    }

    #[test]
    fn the_articles_own_figures_give_its_slope() {
        // MySQL 5.1.56: seconds for 1,000 drops against GB, which is ms a drop.
        let line = Line::fit(&[(21.0, 310.0), (52.0, 776.0), (104.0, 1635.0)]).unwrap();
        assert!((line.slope - 16.0).abs() < 0.2, "{line:?}");
    }

    #[test]
    fn too_little_gives_no_line() {
        assert_eq!(Line::fit(&[]), None);
        assert_eq!(Line::fit(&[(1.0, 2.0)]), None);
        assert_eq!(Line::fit(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
