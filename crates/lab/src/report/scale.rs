//! Axes: from values to positions, with ticks at round numbers.

/// How far below its top a logarithmic axis reaches at most.
const MOST_DECADES: i32 = 6;

/// A mapping of values to `0.0..=1.0`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    /// Values to mark.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// Covers the values; a linear one 0, too.
    pub fn over(values: impl Iterator<Item = f64>, log: bool) -> Scale {
        let usable: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let high = usable.iter().copied().fold(0.0, f64::max);
        if !log {
            return Scale::linear(usable.iter().copied().fold(0.0, f64::min), high);
        }
        let low = usable.iter().copied().filter(|v| *v > 0.0);
        Scale::log(low.fold(f64::INFINITY, f64::min), high)
    }

    fn linear(low: f64, high: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        let step = round_up((high - low) / 5.0);
        let first = (low / step + 1e-9).floor() as i64;
        let last = (high / step - 1e-9).ceil() as i64;
        Scale {
            log: false,
            low: step * first as f64,
            high: step * last as f64,
            ticks: (first..=last).map(|i| step * i as f64).collect(),
        }
    }

    fn log(low: f64, high: f64) -> Scale {
        let (low, high) = match low <= high && high > 0.0 {
            true => (low, high),
            false => (1.0, 10.0),
        };
        let top = (high.log10() - 1e-9).ceil() as i32;
        let bottom = (low.log10() + 1e-9).floor() as i32;
        let bottom = bottom.max(top - MOST_DECADES).min(top - 1);
        Scale {
            log: true,
            low: bottom as f64,
            high: top as f64,
            ticks: (bottom..=top).map(|e| 10f64.powi(e)).collect(),
        }
    }

    /// Where a value is; what lies outside is put on the edge.
    pub fn at(&self, value: f64) -> f64 {
        let v = match self.log {
            true if value > 0.0 => value.log10(),
            true => self.low,
            false => value,
        };
        ((v - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// The next of 1, 2, 2.5, 5 times a power of ten.
fn round_up(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    let lead = x / power;
    let lead = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .find(|r| lead <= r + 1e-9);
    lead.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_scales_begin_at_zero_and_end_at_a_round_number() {
        let s = Scale::over([3.0, 47.0, f64::NAN].into_iter(), false);
        assert_eq!(s.ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!((s.at(0.0), s.at(50.0), s.at(25.0)), (0.0, 1.0, 0.5));
        assert_eq!(s.at(80.0), 1.0);
    }

    #[test]
    fn what_is_below_zero_is_covered_at_round_numbers() {
        let s = Scale::over([-500.0, 1990.0].into_iter(), false);
        assert_eq!(s.ticks, [-500.0, 0.0, 500.0, 1000.0, 1500.0, 2000.0]);
        assert_eq!((s.at(-500.0), s.at(0.0), s.at(2000.0)), (0.0, 0.2, 1.0));
    }

    #[test]
    fn log_scales_span_whole_decades_and_put_zero_on_the_floor() {
        let s = Scale::over([0.0, 0.4, 70.0].into_iter(), true);
        assert_eq!(s.ticks, [0.1, 1.0, 10.0, 100.0]);
        assert_eq!((s.at(0.0), s.at(0.1), s.at(100.0)), (0.0, 0.0, 1.0));
        assert!((s.at(1.0) - 1.0 / 3.0).abs() < 1e-9);
        let wide = Scale::over([1e-12, 1.0].into_iter(), true);
        assert_eq!(wide.ticks.len(), MOST_DECADES as usize + 1);
    }

    #[test]
    fn nothing_to_show_is_no_trouble() {
        for log in [false, true] {
            let s = Scale::over(std::iter::empty(), log);
            assert!(s.at(1.0).is_finite() && s.ticks.len() > 1);
            let s = Scale::over([0.0].into_iter(), log);
            assert!(s.at(0.0) == 0.0);
        }
    }
}
