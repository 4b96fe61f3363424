//! DECIMAL values, to 65 digits with up to 30 after the point. Division keeps a few more digits after the point than it shows, as
//! MySQL does; the expression's type says how many are shown.

use std::cmp::Ordering;
use u256::{POW10, POW10_U64, U256, div_limbs};

mod u256;

/// Digits that a DECIMAL column or result can have.
pub const MAX_PRECISION: u32 = 65;
/// Digits after the point that a DECIMAL column can have.
pub const MAX_SCALE: u8 = 30;
/// Digits after the point that an intermediate quotient can have: MySQL computes in groups of nine.
const MAX_INNER_SCALE: u32 = 36;

/// An exact decimal: sign, magnitude below 10^76, digits after the point. Equality and order are those of the numbers: 1.0
/// equals 1.00, and there is no negative zero.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    low: [u64; 3],
    high: u32,
    negative: bool,
    scale: u8,
}

// `Value` stays at 32 bytes: the sign's spare bit patterns hold its tag.
const _: () = assert!(std::mem::size_of::<Decimal>() == 32);

/// How a number began a text: see [`Decimal::parse_prefix`].
#[derive(Clone, Copy, Debug)]
pub struct Parsed {
    /// The number; clamped to 65 nines if it has more digits before the point.
    pub value: Decimal,
    /// Bytes of the text that belong to it (leading blanks included); 0 if it does not start with a number.
    pub used: usize,
    /// More than 65 digits before the point.
    pub overflow: bool,
    /// Digits after the point were lost.
    pub inexact: bool,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal {
        low: [0; 3],
        high: 0,
        negative: false,
        scale: 0,
    };

    fn magnitude(self) -> U256 {
        U256([self.low[0], self.low[1], self.low[2], self.high as u64])
    }

    /// Makes a decimal, `None` if it exceeds 65 digits.
    fn make(negative: bool, m: U256, scale: u32) -> Option<Decimal> {
        if m.0[1] | m.0[2] | m.0[3] != 0 && m.digits() > MAX_PRECISION {
            return None;
        }
        Some(Decimal {
            low: [m.0[0], m.0[1], m.0[2]],
            high: m.0[3] as u32,
            negative: negative && !m.is_zero(),
            scale: scale as u8,
        })
    }

    /// `v / 10^scale`.
    pub fn from_i128(v: i128, scale: u8) -> Decimal {
        let m = v.unsigned_abs();
        Decimal {
            low: [m as u64, (m >> 64) as u64, 0],
            high: 0,
            negative: v < 0,
            scale,
        }
    }

    /// The magnitude of all digits and the sign, if it fits: `self * 10^scale`.
    pub fn to_i128(self) -> Option<i128> {
        let m = i128::try_from(self.magnitude().to_u128()?).ok()?;
        Some(if self.negative { -m } else { m })
    }

    /// The largest number of `precision` digits, `scale` of them after the point: 999.99.
    pub fn max(precision: u32, scale: u8) -> Decimal {
        let m = POW10[precision.min(MAX_PRECISION) as usize].minus(U256([1, 0, 0, 0]));
        Decimal {
            low: [m.0[0], m.0[1], m.0[2]],
            high: m.0[3] as u32,
            negative: false,
            scale,
        }
    }

    /// Digits after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }
    /// Digits in all, at least 1.
    pub fn precision(self) -> u32 {
        self.magnitude().digits().max(self.scale as u32).max(1)
    }
    /// Digits before the point.
    pub fn integer_digits(self) -> u32 {
        self.magnitude().digits().saturating_sub(self.scale as u32)
    }
    /// Whether it is below zero.
    pub fn is_negative(self) -> bool {
        self.negative
    }
    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.magnitude().is_zero()
    }
    /// The negative.
    pub fn negated(self) -> Decimal {
        Decimal {
            negative: !self.negative && !self.is_zero(),
            ..self
        }
    }
    /// The absolute value.
    pub fn abs(self) -> Decimal {
        Decimal {
            negative: false,
            ..self
        }
    }

    /// Reads the number at the start of a text (blanks, sign, digits, point, exponent).
    pub fn parse_prefix(text: &[u8]) -> Parsed {
        let mut i = 0;
        while i < text.len() && text[i].is_ascii_whitespace() {
            i += 1;
        }
        let mut negative = false;
        if i < text.len() && (text[i] == b'-' || text[i] == b'+') {
            negative = text[i] == b'-';
            i += 1;
        }
        let int_start = i;
        while i < text.len() && text[i].is_ascii_digit() {
            i += 1;
        }
        let int = &text[int_start..i];
        let mut frac: &[u8] = &[];
        if i < text.len() && text[i] == b'.' {
            let start = i + 1;
            let mut j = start;
            while j < text.len() && text[j].is_ascii_digit() {
                j += 1;
            }
            frac = &text[start..j];
            if !int.is_empty() || !frac.is_empty() {
                i = j;
            }
        }
        if int.is_empty() && frac.is_empty() {
            return Parsed {
                value: Decimal::ZERO,
                used: 0,
                overflow: false,
                inexact: false,
            };
        }
        let mut exponent = 0i32;
        if i < text.len() && (text[i] | 0x20) == b'e' {
            let mut j = i + 1;
            let mut minus = false;
            if j < text.len() && (text[j] == b'-' || text[j] == b'+') {
                minus = text[j] == b'-';
                j += 1;
            }
            let digits = j;
            let mut e = 0i32;
            while j < text.len() && text[j].is_ascii_digit() {
                e = (e * 10 + (text[j] - b'0') as i32).min(100_000);
                j += 1;
            }
            if j > digits {
                exponent = if minus { -e } else { e };
                i = j;
            }
        }
        let (value, overflow, inexact) = Decimal::from_digits(negative, int, frac, exponent);
        Parsed {
            value,
            used: i,
            overflow,
            inexact,
        }
    }

    /// From digits before and after the point and a power of ten; (value, overflow, inexact).
    fn from_digits(
        negative: bool,
        int: &[u8],
        frac: &[u8],
        exponent: i32,
    ) -> (Decimal, bool, bool) {
        let int_zeros = int.iter().take_while(|d| **d == b'0').count();
        let int = &int[int_zeros..];
        if exponent == 0 && int.len() + frac.len() <= 19 {
            let mut v = 0u64;
            for d in int.iter().chain(frac) {
                v = v * 10 + (d - b'0') as u64;
            }
            let d = Decimal {
                low: [v, 0, 0],
                high: 0,
                negative: negative && v != 0,
                scale: frac.len() as u8,
            };
            return (d, false, false);
        }
        // Position of the point within all digits once the exponent has moved it.
        let point = int.len() as i64 + exponent as i64;
        let digit = |i: i64| -> u64 {
            let v = if i < 0 {
                b'0'
            } else if (i as usize) < int.len() {
                int[i as usize]
            } else {
                *frac.get(i as usize - int.len()).unwrap_or(&b'0')
            };
            (v - b'0') as u64
        };
        let all = (int.len() + frac.len()) as i64;
        let first = (0..all).find(|i| digit(*i) != 0).unwrap_or(all);
        if first == all {
            let scale = (all - point).clamp(0, MAX_SCALE as i64);
            return (
                Decimal::make(false, U256::ZERO, scale as u32).unwrap_or(Decimal::ZERO),
                false,
                false,
            );
        }
        let before = (point - first).max(0);
        if before > MAX_PRECISION as i64 {
            let max = Decimal::max(MAX_PRECISION, 0);
            return (if negative { max.negated() } else { max }, true, true);
        }
        let wanted = (all - point).max(0);
        let scale = wanted.min((MAX_PRECISION as i64 - before).min(MAX_SCALE as i64));
        let mut m = U256::ZERO;
        let last = point + scale;
        let mut i = first.min(point);
        while i < last {
            m = match m
                .checked_mul_small(10)
                .and_then(|v| v.checked_add(U256([digit(i), 0, 0, 0])))
            {
                Some(v) => v,
                None => break,
            };
            i += 1;
        }
        let inexact = (last.max(0)..all).any(|i| digit(i) != 0);
        if scale < wanted && digit(last) >= 5 {
            m = m.checked_add(U256([1, 0, 0, 0])).unwrap_or(m);
        }
        match Decimal::make(negative, m, scale as u32) {
            Some(d) => (d, false, inexact),
            // Rounding carried into a 66th digit.
            None => {
                let max = Decimal::max(MAX_PRECISION, scale as u8);
                (if negative { max.negated() } else { max }, true, true)
            }
        }
    }

    /// The double's shortest decimal form; beyond 65 digits it is clamped.
    pub fn from_f64(v: f64) -> Decimal {
        let text = format!("{v:e}");
        Decimal::parse_prefix(text.as_bytes()).value
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        let m = self.magnitude();
        if m.0[1] | m.0[2] | m.0[3] == 0 && m.0[0] < 1 << 53 && self.scale <= 22 {
            // Both are exact in a double, so the quotient is the nearest one.
            const P: [f64; 23] = [
                1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
                1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
            ];
            let v = m.0[0] as f64 / P[self.scale as usize];
            return if self.negative { -v } else { v };
        }
        let mut text = Vec::with_capacity(80);
        self.write(&mut text);
        std::str::from_utf8(&text)
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(0.0)
    }

    /// Rounded half away from zero to an integer, if it fits an `i128`.
    pub fn round_to_i128(self) -> Option<i128> {
        self.round(0).to_i128()
    }

    /// With `scale` digits after the point, rounding half away from zero. Keeps 65 digits: where zeros to append do not
    /// fit, fewer are appended.
    pub fn round(self, scale: u8) -> Decimal {
        self.rescaled(scale, true)
    }

    /// With `scale` digits after the point, the rest cut off.
    pub fn truncate(self, scale: u8) -> Decimal {
        self.rescaled(scale, false)
    }

    fn rescaled(self, scale: u8, half_up: bool) -> Decimal {
        match scale.cmp(&self.scale) {
            Ordering::Equal => self,
            Ordering::Greater => {
                let room = MAX_PRECISION.saturating_sub(self.magnitude().digits());
                let add = ((scale - self.scale) as u32).min(room);
                if self.is_zero() {
                    return Decimal { scale, ..self };
                }
                self.magnitude()
                    .checked_mul_pow10(add)
                    .and_then(|m| Decimal::make(self.negative, m, self.scale as u32 + add))
                    .unwrap_or(self)
            }
            Ordering::Less => {
                let m = cut(self.magnitude(), (self.scale - scale) as u32, half_up);
                Decimal::make(self.negative, m, scale as u32)
                    .unwrap_or_else(|| Decimal::max(MAX_PRECISION, scale))
            }
        }
    }

    /// ROUND and TRUNCATE to a negative number of digits: `digits` before the point become zero.
    pub fn round_left(self, digits: u32, half_up: bool) -> Decimal {
        let drop = self.scale as u32 + digits;
        let m = cut(self.magnitude(), drop, half_up);
        m.checked_mul_pow10(digits)
            .and_then(|m| Decimal::make(self.negative, m, 0))
            .unwrap_or(Decimal::ZERO)
    }

    /// The largest integer not above, with no digits after the point.
    pub fn floor(self) -> Decimal {
        let t = self.truncate(0);
        if self.negative && t != self {
            t.checked_sub(Decimal::from_i128(1, 0)).unwrap_or(t)
        } else {
            t
        }
    }

    /// The smallest integer not below.
    pub fn ceil(self) -> Decimal {
        self.negated().floor().negated()
    }

    /// Both magnitudes at one scale, giving up digits after the point where 76 digits do not hold them.
    fn align(self, other: Decimal) -> Option<(U256, U256, u32)> {
        let mut scale = self.scale.max(other.scale) as u32;
        loop {
            let at = |d: Decimal| -> Option<U256> {
                let own = d.scale as u32;
                if scale >= own {
                    d.magnitude().checked_mul_pow10(scale - own)
                } else {
                    Some(cut(d.magnitude(), own - scale, true))
                }
            };
            if let (Some(a), Some(b)) = (at(self), at(other)) {
                return Some((a, b, scale));
            }
            scale = scale.checked_sub(1)?;
        }
    }

    /// Sum; `None` beyond 65 digits before the point.
    pub fn checked_add(self, other: Decimal) -> Option<Decimal> {
        let (a, b, scale) = self.align(other)?;
        if self.negative == other.negative {
            Decimal::fit(self.negative, a.checked_add(b)?, scale)
        } else {
            match a.compare(&b) {
                Ordering::Less => Decimal::fit(other.negative, b.minus(a), scale),
                _ => Decimal::fit(self.negative, a.minus(b), scale),
            }
        }
    }

    /// Difference.
    pub fn checked_sub(self, other: Decimal) -> Option<Decimal> {
        self.checked_add(other.negated())
    }

    /// Product.
    pub fn checked_mul(self, other: Decimal) -> Option<Decimal> {
        let negative = self.negative != other.negative;
        let scale = self.scale as u32 + other.scale as u32;
        let (a, b) = (self.magnitude(), other.magnitude());
        if let (Some(x), Some(y)) = (a.to_u128(), b.to_u128())
            && let Some(v) = x.checked_mul(y)
        {
            return Decimal::fit(negative, U256::from_u128(v), scale);
        }
        let mut wide = a.wide_mul(b);
        let mut drop = 0;
        let mut last = 0;
        // Digits after the point go until the rest fits; the last one that went decides the rounding.
        while wide[4..] != [0; 4] {
            if drop == scale {
                return None;
            }
            last = div_limbs(&mut wide, 10);
            drop += 1;
        }
        let mut m = U256([wide[0], wide[1], wide[2], wide[3]]);
        if last >= 5 {
            m = m.checked_add(U256([1, 0, 0, 0]))?;
        }
        Decimal::fit(negative, m, scale - drop)
    }

    /// Gives up digits after the point until scale and precision are within bounds.
    fn fit(negative: bool, m: U256, scale: u32) -> Option<Decimal> {
        let digits = m.digits();
        let mut drop = scale.saturating_sub(MAX_INNER_SCALE);
        if digits > MAX_PRECISION {
            drop = drop.max(digits - MAX_PRECISION);
        }
        if drop > scale {
            return None;
        }
        if drop == 0 {
            return Decimal::make(negative, m, scale);
        }
        Decimal::make(negative, cut(m, drop, true), scale - drop)
    }

    /// Quotient; `None` for division by zero. It is cut off after some digits (a multiple of nine, at least `extra` more than
    /// the dividend has), as MySQL computes it; round to what the type shows.
    pub fn checked_div(self, other: Decimal, extra: u32) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let nine = |n: u32| n.div_ceil(9) * 9;
        let (s1, s2) = (self.scale as u32, other.scale as u32);
        let (r1, r2) = (nine(s1), nine(s2));
        let incr = extra.saturating_sub(r1 - s1 + (r2 - s2));
        let scale = nine(r1 + r2 + incr).min(MAX_INNER_SCALE);
        // Quotient of the magnitudes has scale s1 - s2: bring it to `scale`.
        let mut shift = scale as i64 - (s1 as i64 - s2 as i64);
        let mut scale = scale;
        if shift < 0 {
            scale = (scale as i64 - shift) as u32;
            shift = 0;
        }
        let d = other.magnitude();
        let (mut q, mut r) = self.magnitude().div_rem(d);
        while shift > 0 {
            // The remainder is below 10^65, so that nine more digits fit 256 bits.
            let step = shift.min(9) as u32;
            let p = POW10_U64[step as usize];
            let (part, rest) = r.checked_mul_small(p)?.div_rem(d);
            let next = q.checked_mul_small(p).and_then(|q| q.checked_add(part));
            match next {
                Some(v) if v.digits() <= MAX_PRECISION + 9 => q = v,
                // No room for more digits: stop here.
                _ => {
                    scale -= shift as u32;
                    break;
                }
            }
            r = rest;
            shift -= step as i64;
        }
        Decimal::fit_cut(self.negative != other.negative, q, scale)
    }

    fn fit_cut(negative: bool, m: U256, scale: u32) -> Option<Decimal> {
        let digits = m.digits();
        let drop = digits.saturating_sub(MAX_PRECISION);
        if drop > scale {
            return None;
        }
        Decimal::make(negative, cut(m, drop, false), scale - drop)
    }

    /// Remainder with the dividend's sign; `None` for division by zero.
    pub fn checked_rem(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let (a, b, scale) = self.align(other)?;
        if b.is_zero() {
            return None;
        }
        Decimal::fit(self.negative, a.div_rem(b).1, scale)
    }

    /// Integer quotient, cut off; `None` for division by zero.
    pub fn checked_div_int(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let (a, b, _) = self.align(other)?;
        if b.is_zero() {
            return None;
        }
        Decimal::fit(self.negative != other.negative, a.div_rem(b).0, 0)
    }

    /// Appends the text: `-12.50`.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut buf = [0u8; 80];
        let mut i = buf.len();
        let mut limbs = self.magnitude().0;
        let mut digits = 0;
        let scale = self.scale as usize;
        while limbs != [0; 4] {
            let mut chunk = if limbs[1] | limbs[2] | limbs[3] == 0 {
                std::mem::take(&mut limbs[0])
            } else {
                div_limbs(&mut limbs, POW10_U64[19])
            };
            let more = limbs != [0; 4];
            let mut n = 0;
            while chunk != 0 || (more && n < 19) {
                i -= 1;
                buf[i] = b'0' + (chunk % 10) as u8;
                chunk /= 10;
                n += 1;
                digits += 1;
            }
        }
        while digits < scale + 1 {
            i -= 1;
            buf[i] = b'0';
            digits += 1;
        }
        if self.negative {
            out.push(b'-');
        }
        let point = buf.len() - scale;
        out.extend_from_slice(&buf[i..point]);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(&buf[point..]);
        }
    }

    /// Bytes that `DECIMAL(precision, _)` takes in rows and keys.
    pub fn encoded_len(precision: u32) -> usize {
        // Bits of 10^precision - 1 and a sign bit, in bytes.
        let bits = (precision as usize * 108_853).div_ceil(32_768) + 1;
        bits.div_ceil(8)
    }

    /// Appends the digits as an integer of `len` bytes that sorts by `memcmp`. The scale is the column's and goes unsaid.
    pub fn encode(self, len: usize, out: &mut Vec<u8>) {
        let mut bytes = [0u8; 32];
        for (i, limb) in self.magnitude().0.iter().rev().enumerate() {
            bytes[i * 8..i * 8 + 8].copy_from_slice(&limb.to_be_bytes());
        }
        let tail = 32 - len;
        debug_assert!(bytes[..tail].iter().all(|b| *b == 0));
        if self.negative {
            for b in &mut bytes {
                *b = !*b;
            }
        }
        // The sign bit: set for what is not negative.
        bytes[tail] ^= 0x80;
        out.extend_from_slice(&bytes[tail..]);
    }

    /// Reads what [`Decimal::encode`] wrote.
    pub fn decode(bytes: &[u8], scale: u8) -> Decimal {
        let negative = bytes[0] & 0x80 == 0;
        let mut wide = [if negative { 0xffu8 } else { 0 }; 32];
        let tail = 32 - bytes.len();
        wide[tail..].copy_from_slice(bytes);
        wide[tail] ^= 0x80;
        let flip = if negative { u64::MAX } else { 0 };
        let limb = |i: usize| {
            let mut b = [0u8; 8];
            b.copy_from_slice(&wide[24 - i * 8..32 - i * 8]);
            u64::from_be_bytes(b) ^ flip
        };
        Decimal {
            low: [limb(0), limb(1), limb(2)],
            high: limb(3) as u32,
            negative,
            scale,
        }
    }
}

/// Drops `n` digits, rounding half up if asked.
fn cut(m: U256, n: u32, half_up: bool) -> U256 {
    if n == 0 {
        return m;
    }
    let (q, r) = m.div_rem_pow10(n);
    if half_up && (n as usize) < POW10.len() {
        let half = POW10[n as usize - 1].checked_mul_small(5);
        if half.is_some_and(|h| r.compare(&h).is_ge()) {
            return q.checked_add(U256([1, 0, 0, 0])).unwrap_or(q);
        }
    }
    q
}

impl From<i64> for Decimal {
    fn from(v: i64) -> Decimal {
        Decimal::from_i128(v as i128, 0)
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Decimal {
        Decimal::from_i128(v as i128, 0)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.negative != other.negative {
            return other.negative.cmp(&self.negative);
        }
        let order = if self.scale == other.scale {
            self.magnitude().compare(&other.magnitude())
        } else {
            // Integer parts first; then both fractions fit one scale.
            let (ai, af) = self.magnitude().div_rem_pow10(self.scale as u32);
            let (bi, bf) = other.magnitude().div_rem_pow10(other.scale as u32);
            ai.compare(&bi).then_with(|| {
                let scale = self.scale.max(other.scale);
                let up = |f: U256, s: u8| f.checked_mul_pow10((scale - s) as u32).unwrap_or(f);
                up(af, self.scale).compare(&up(bf, other.scale))
            })
        };
        if self.negative {
            order.reverse()
        } else {
            order
        }
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::with_capacity(80);
        self.write(&mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dec(s: &str) -> Decimal {
        let p = Decimal::parse_prefix(s.as_bytes());
        assert_eq!(p.used, s.len(), "{s}");
        p.value
    }

    #[test]
    fn prints_what_it_reads() {
        for s in [
            "0",
            "1",
            "-1",
            "0.5",
            "-0.05",
            "12.50",
            "10",
            "18446744073709551616.000",
            "99999999999999999999999999999999999999999999999999999999999999999",
            "-12345678901234567890123456789012345.123456789012345678901234567890",
        ] {
            assert_eq!(dec(s).to_string(), s);
        }
        for (text, shown) in [
            ("-0", "0"),
            ("1e3", "1000"),
            ("1.5e-3", "0.0015"),
            (".5", "0.5"),
            ("5.", "5"),
            ("12345678901234567890e-5", "123456789012345.67890"),
            ("0e5", "0"),
            ("1.25E1", "12.5"),
        ] {
            assert_eq!(dec(text).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn arithmetic() {
        let two = |f: fn(Decimal, Decimal) -> Option<Decimal>, a: &str, b: &str| {
            f(dec(a), dec(b)).map(|d| d.to_string())
        };
        assert_eq!(two(Decimal::checked_add, "1.10", "-2.2").unwrap(), "-1.10");
        assert_eq!(two(Decimal::checked_mul, "1.1", "-1.1").unwrap(), "-1.21");
        assert_eq!(two(Decimal::checked_rem, "-7.5", "2").unwrap(), "-1.5");
        assert_eq!(two(Decimal::checked_div_int, "-7.5", "2").unwrap(), "-3");
        let third = dec("1").checked_div(dec("3"), 4).unwrap();
        assert_eq!(third.to_string(), "0.333333333");
        assert_eq!(
            third.checked_mul(dec("3")).unwrap().round(4).to_string(),
            "1.0000"
        );
        assert_eq!(
            dec("7.00")
                .checked_div(dec("3"), 4)
                .unwrap()
                .round(6)
                .to_string(),
            "2.333333"
        );
        assert!(dec("1").checked_div(dec("0"), 4).is_none());
        let nines = Decimal::max(65, 0);
        assert!(nines.checked_add(dec("1")).is_none());
        assert!(nines.checked_mul(nines).is_none());
        assert_eq!(nines.checked_sub(nines).unwrap(), Decimal::ZERO);
        let small = Decimal::max(30, 30);
        assert_eq!(
            small.checked_mul(small).unwrap().round(29).to_string(),
            "1.00000000000000000000000000000"
        );
        assert_eq!(
            nines.checked_div(nines, 4).unwrap().round(4).to_string(),
            "1.0000"
        );
    }

    #[test]
    fn rounding() {
        for (s, scale, r, t) in [
            ("2.5", 0, "3", "2"),
            ("-2.5", 0, "-3", "-2"),
            ("2.445", 2, "2.45", "2.44"),
            ("0.04", 1, "0.0", "0.0"),
            ("1.5", 3, "1.500", "1.500"),
            ("-0.4", 0, "0", "0"),
        ] {
            assert_eq!(dec(s).round(scale).to_string(), r);
            assert_eq!(dec(s).truncate(scale).to_string(), t);
        }
        assert_eq!(dec("1250.7").round_left(2, true).to_string(), "1300");
        assert_eq!(dec("1250.7").round_left(2, false).to_string(), "1200");
        assert_eq!(dec("-1.5").floor().to_string(), "-2");
        assert_eq!(dec("-1.5").ceil().to_string(), "-1");
        assert_eq!(dec("1.01").ceil().to_string(), "2");
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_i128(a in -10i128.pow(18)..10i128.pow(18), b in -10i128.pow(18)..10i128.pow(18), s in 0u8..10) {
            let (x, y) = (Decimal::from_i128(a, s), Decimal::from_i128(b, s));
            proptest::prop_assert_eq!(x.checked_add(y).unwrap().to_i128().unwrap(), a + b);
            proptest::prop_assert_eq!(x.checked_sub(y).unwrap().to_i128().unwrap(), a - b);
            proptest::prop_assert_eq!(x.checked_mul(y).unwrap().to_i128().unwrap(), a * b);
            proptest::prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            if b != 0 {
                proptest::prop_assert_eq!(x.checked_rem(y).unwrap().to_i128().unwrap(), a % b);
                proptest::prop_assert_eq!(x.checked_div_int(y).unwrap().to_i128().unwrap(), a / b);
            }
        }

        #[test]
        fn wide_division_undoes_multiplication(a: u128, b in 1u64.., c in 0u64..) {
            let (a, b) = (U256::from_u128(a), U256([b, 7, 0, 0]));
            let rest = U256([c, 3, 0, 0]);
            if let Some(p) = { let w = a.wide_mul(b); (w[4..] == [0; 4]).then(|| U256([w[0], w[1], w[2], w[3]])) }
                && let Some(sum) = p.checked_add(rest) {
                proptest::prop_assert_eq!(sum.div_rem(b), (a, rest));
            }
        }

        #[test]
        fn bytes_sort_and_return(a: i64, b: i64, s in 0u8..10, big: bool) {
            let wide = |v: i64| Decimal::from_i128(if big { v as i128 * 1_000_000_007 * 1_000_000_009 } else { v as i128 }, s);
            let (x, y) = (wide(a), wide(b));
            let len = Decimal::encoded_len(40);
            let (mut bx, mut by) = (Vec::new(), Vec::new());
            x.encode(len, &mut bx);
            y.encode(len, &mut by);
            proptest::prop_assert_eq!(bx.cmp(&by), x.cmp(&y));
            proptest::prop_assert_eq!(Decimal::decode(&bx, s), x);
        }
    }
}
