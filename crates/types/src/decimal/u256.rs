//! 256-bit unsigned arithmetic: just what decimals need.

use std::cmp::Ordering;

/// An unsigned 256-bit integer, least significant limb first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct U256(pub [u64; 4]);

/// Powers of ten that fit 64 bits.
pub(super) const POW10_U64: [u64; 20] = {
    let mut t = [1u64; 20];
    let mut i = 1;
    while i < 20 {
        t[i] = t[i - 1] * 10;
        i += 1;
    }
    t
};

/// Powers of ten up to 10^76.
pub(super) static POW10: [U256; 77] = {
    let mut t = [U256([1, 0, 0, 0]); 77];
    let mut i = 1;
    while i < 77 {
        let mut carry = 0u128;
        let mut limb = 0;
        while limb < 4 {
            let v = t[i - 1].0[limb] as u128 * 10 + carry;
            t[i].0[limb] = v as u64;
            carry = v >> 64;
            limb += 1;
        }
        i += 1;
    }
    t
};

impl U256 {
    pub const ZERO: U256 = U256([0; 4]);

    #[inline]
    pub fn from_u128(v: u128) -> U256 {
        U256([v as u64, (v >> 64) as u64, 0, 0])
    }

    /// The value, if it fits 128 bits.
    #[inline]
    pub fn to_u128(self) -> Option<u128> {
        if self.0[2] | self.0[3] == 0 {
            Some(self.low())
        } else {
            None
        }
    }

    #[inline]
    fn low(self) -> u128 {
        self.0[0] as u128 | (self.0[1] as u128) << 64
    }

    #[inline]
    pub fn is_zero(self) -> bool {
        self.0 == [0; 4]
    }

    #[inline]
    pub fn compare(&self, other: &U256) -> Ordering {
        for i in (0..4).rev() {
            match self.0[i].cmp(&other.0[i]) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        Ordering::Equal
    }

    /// Sum, if it fits.
    #[inline]
    pub fn checked_add(self, other: U256) -> Option<U256> {
        let mut out = [0u64; 4];
        let mut carry = false;
        for (i, limb) in out.iter_mut().enumerate() {
            let (a, c1) = self.0[i].overflowing_add(other.0[i]);
            let (b, c2) = a.overflowing_add(carry as u64);
            *limb = b;
            carry = c1 | c2;
        }
        (!carry).then_some(U256(out))
    }

    /// Difference; `self` must not be the smaller.
    #[inline]
    pub fn minus(self, other: U256) -> U256 {
        debug_assert!(self.compare(&other).is_ge());
        let mut out = [0u64; 4];
        let mut borrow = false;
        for (i, limb) in out.iter_mut().enumerate() {
            let (a, b1) = self.0[i].overflowing_sub(other.0[i]);
            let (b, b2) = a.overflowing_sub(borrow as u64);
            *limb = b;
            borrow = b1 | b2;
        }
        U256(out)
    }

    /// Product with a limb, if it fits.
    #[inline]
    pub fn checked_mul_small(self, m: u64) -> Option<U256> {
        let mut out = [0u64; 4];
        let mut carry = 0u128;
        for (i, limb) in out.iter_mut().enumerate() {
            let v = self.0[i] as u128 * m as u128 + carry;
            *limb = v as u64;
            carry = v >> 64;
        }
        (carry == 0).then_some(U256(out))
    }

    /// `self * 10^n`, if it fits.
    pub fn checked_mul_pow10(self, mut n: u32) -> Option<U256> {
        let mut v = self;
        while n > 0 {
            let step = n.min(19);
            v = v.checked_mul_small(POW10_U64[step as usize])?;
            n -= step;
        }
        Some(v)
    }

    /// The full 512-bit product.
    pub fn wide_mul(self, other: U256) -> [u64; 8] {
        let mut out = [0u64; 8];
        for i in 0..4 {
            let mut carry = 0u128;
            for j in 0..4 {
                let v = self.0[i] as u128 * other.0[j] as u128 + out[i + j] as u128 + carry;
                out[i + j] = v as u64;
                carry = v >> 64;
            }
            out[i + 4] = carry as u64;
        }
        out
    }

    /// Quotient and remainder by a limb.
    #[inline]
    pub fn div_rem_small(self, d: u64) -> (U256, u64) {
        let mut limbs = self.0;
        let r = div_limbs(&mut limbs, d);
        (U256(limbs), r)
    }

    /// Quotient and remainder by 10^n.
    pub fn div_rem_pow10(self, n: u32) -> (U256, U256) {
        if n as usize >= POW10.len() {
            return (U256::ZERO, self);
        }
        self.div_rem(POW10[n as usize])
    }

    /// Quotient and remainder; `d` must not be zero.
    pub fn div_rem(self, d: U256) -> (U256, U256) {
        if d.0[1] | d.0[2] | d.0[3] == 0 {
            let (q, r) = self.div_rem_small(d.0[0]);
            return (q, U256([r, 0, 0, 0]));
        }
        if let (Some(a), Some(b)) = (self.to_u128(), d.to_u128()) {
            return (U256::from_u128(a / b), U256::from_u128(a % b));
        }
        if self.compare(&d).is_lt() {
            return (U256::ZERO, self);
        }
        // Shift and subtract, from the first bit where the divisor fits: rare and wide, so plain.
        let shift = d.leading_zeros() - self.leading_zeros();
        let mut r = self;
        let mut q = U256::ZERO;
        let mut part = d.shl(shift);
        for bit in (0..=shift).rev() {
            if r.compare(&part).is_ge() {
                r = r.minus(part);
                q.0[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            part = part.shr1();
        }
        (q, r)
    }

    fn leading_zeros(self) -> u32 {
        let mut n = 0;
        for limb in self.0.iter().rev() {
            if *limb != 0 {
                return n + limb.leading_zeros();
            }
            n += 64;
        }
        n
    }

    fn shl(self, n: u32) -> U256 {
        let (limbs, bits) = ((n / 64) as usize, n % 64);
        let mut out = [0u64; 4];
        let mut carry = 0;
        for (to, from) in out[limbs..].iter_mut().zip(self.0) {
            *to = from << bits | carry;
            carry = if bits > 0 { from >> (64 - bits) } else { 0 };
        }
        U256(out)
    }

    fn shr1(self) -> U256 {
        let l = self.0;
        U256([
            l[0] >> 1 | l[1] << 63,
            l[1] >> 1 | l[2] << 63,
            l[2] >> 1 | l[3] << 63,
            l[3] >> 1,
        ])
    }

    /// Number of decimal digits; 0 has none.
    pub fn digits(self) -> u32 {
        if self.is_zero() {
            return 0;
        }
        let bits = 256 - self.leading_zeros();
        // floor(bits * log10(2)) is the digit count or one less.
        let guess = (bits * 1233) >> 12;
        if (guess as usize) < POW10.len() && self.compare(&POW10[guess as usize]).is_ge() {
            guess + 1
        } else {
            guess
        }
    }
}

/// Divides limbs in place; returns the remainder.
#[inline]
pub(super) fn div_limbs(limbs: &mut [u64], d: u64) -> u64 {
    let mut r = 0u64;
    for limb in limbs.iter_mut().rev() {
        if r == 0 {
            r = *limb % d;
            *limb /= d;
        } else {
            let v = (r as u128) << 64 | *limb as u128;
            *limb = (v / d as u128) as u64;
            r = (v % d as u128) as u64;
        }
    }
    r
}
