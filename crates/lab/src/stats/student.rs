//! Student's t distribution: how far a mean of few values may be from the truth.

/// ln Γ(x) for x > 0, after Lanczos.
fn ln_gamma(x: f64) -> f64 {
    const C: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let t = x + 5.5;
    let series: f64 = C
        .iter()
        .enumerate()
        .map(|(i, c)| c / (x + 1.0 + i as f64))
        .sum();
    (x + 0.5) * t.ln() - t + (2.506_628_274_631_000_5 * (1.000_000_000_190_015 + series) / x).ln()
}

/// The regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    let away_from_zero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut sum = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            change = c * d;
            sum *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * sum / a
}

/// The number that a t with so many degrees of freedom exceeds with a probability below one half.
pub fn t_exceeded_with(probability: f64, freedom: f64) -> f64 {
    let exceeds = |t: f64| 0.5 * incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    let (mut low, mut high) = (0.0, 1.0);
    while exceeds(high) > probability && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        match exceeds(middle) > probability {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_the_tables() {
        for (p, freedom, t) in [
            (0.025, 1.0, 12.706),
            (0.025, 4.0, 2.776),
            (0.025, 9.0, 2.262),
            (0.005, 10.0, 3.169),
            (0.025, 1e6, 1.960),
            (0.005, 19.0, 2.861),
        ] {
            let got = t_exceeded_with(p, freedom);
            assert!((got - t).abs() < 2e-3, "{p} {freedom}: {got} for {t}");
        }
    }
}
