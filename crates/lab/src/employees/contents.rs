//! Rows at random. Names are as many as in the sample database: 1,275 first names and 1,637 last names.

use super::DEPARTMENTS;
use crate::random::Random;

const FIRST_NAMES: u64 = 1275;
const LAST_NAMES: u64 = 1637;

const HEADS: [&str; 17] = [
    "Ba", "Che", "Do", "Fi", "Geo", "Hu", "Jo", "Ka", "Li", "Mo", "Na", "Pa", "Ro", "Sa", "Te",
    "Vi", "Yu",
];
const MIDDLES: [&str; 15] = [
    "b", "dd", "f", "ll", "k", "m", "nn", "p", "rd", "r", "ss", "st", "t", "v", "z",
];
const TAILS: [&str; 7] = ["a", "ert", "ia", "ine", "o", "old", "ey"];

/// The columns of a [`row`].
pub(super) fn columns() -> &'static str {
    "emp_no, birth_date, first_name, last_name, gender, hire_date, badge, dept"
}

/// `(…)`, as VALUES takes it.
pub(super) fn row(number: u64, random: &mut Random) -> String {
    let first = name(random.below(FIRST_NAMES));
    let last = name(random.below(LAST_NAMES));
    let gender = if random.below(10) < 6 { 'M' } else { 'F' };
    let (born, hired) = (born(random), hired(random));
    let (badge, dept) = (badge(number), random.below(DEPARTMENTS) + 1);
    format!("({number},'{born}','{first}','{last}son','{gender}','{hired}',{badge},{dept})")
}

/// Nobody else's badge: the numbers below 2^31 in another order.
pub(super) fn badge(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b1) & 0x7fff_ffff
}

/// A date of birth.
pub(super) fn born(random: &mut Random) -> String {
    date(1952, 13, random)
}

/// A later date.
pub(super) fn hired(random: &mut Random) -> String {
    date(1985, 15, random)
}

fn date(year: u64, years: u64, random: &mut Random) -> String {
    let year = year + random.below(years);
    let (month, day) = (random.below(12) + 1, random.below(28) + 1);
    format!("{year}-{month:02}-{day:02}")
}

fn name(number: u64) -> String {
    let n = number as usize;
    let (head, rest) = (HEADS[n % HEADS.len()], n / HEADS.len());
    let (middle, tail) = (MIDDLES[rest % MIDDLES.len()], rest / MIDDLES.len());
    format!("{head}{middle}{}", TAILS[tail])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_differ_and_fit() {
        let names: HashSet<String> = (0..LAST_NAMES).map(name).collect();
        assert_eq!(names.len() as u64, LAST_NAMES);
        assert!(names.iter().all(|n| n.len() + "son".len() <= 14));
    }

    #[test]
    fn badges_are_unique_and_fit() {
        let badges: HashSet<u64> = (10_001..110_001).map(badge).collect();
        assert_eq!(badges.len(), 100_000);
        assert!(badges.iter().all(|b| *b < 1 << 31));
    }
}
