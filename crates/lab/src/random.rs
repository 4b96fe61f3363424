//! Numbers at random: which row is next needs no better.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }
    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Below `n`, evenly enough for any `n` that counts rows or tables.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.any() as u128 * n as u128) >> 64) as u64
    }
    /// Above 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        ((self.any() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
    /// Puts them into any order, each as likely as the others.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_small_range_is_met() {
        let mut random = Random::new(1);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[random.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
        assert!((0..1000).map(|_| random.unit()).all(|x| x > 0.0 && x < 1.0));
    }

    #[test]
    fn every_order_is_as_likely() {
        let mut random = Random::new(3);
        let mut seen = std::collections::HashMap::new();
        for _ in 0..6000 {
            let mut order = [0, 1, 2];
            random.shuffle(&mut order);
            *seen.entry(order).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{seen:?}");
    }
}
