//! The normal distribution.

/// The number that a standard normal one exceeds with a probability below one half; to 0.0005 (Hastings 1955).
pub fn normal_exceeded_with(probability: f64) -> f64 {
    let t = (-2.0 * probability.ln()).sqrt();
    let over = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let under = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - over / under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_the_tables() {
        for (p, z) in [
            (0.025, 1.9600),
            (0.005, 2.5758),
            (0.05 / 12.0, 2.6383),
            (0.1, 1.2816),
        ] {
            let got = normal_exceeded_with(p);
            assert!((got - z).abs() < 1e-3, "{p}: {got} for {z}");
        }
    }
}
