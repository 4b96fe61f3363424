//! LEB128 integers: redo groups are mostly small numbers.

/// Appends `v`, seven bits a byte, low bits first.
#[inline]
pub fn put(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Reads an integer at `*at` and advances it; `None` if the bytes end or the number is too long.
#[inline]
pub fn get(b: &[u8], at: &mut usize) -> Option<u64> {
    let mut v = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *b.get(*at)?;
        *at += 1;
        v |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(v);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundtrip_and_truncation() {
        for v in [
            0,
            1,
            127,
            128,
            300,
            16_383,
            16_384,
            u64::from(u32::MAX),
            u64::MAX,
        ] {
            let mut b = Vec::new();
            put(&mut b, v);
            let mut at = 0;
            assert_eq!(get(&b, &mut at), Some(v));
            assert_eq!(at, b.len());
            let mut at = 0;
            assert_eq!(get(&b[..b.len() - 1], &mut at), None);
        }
        assert_eq!(get(&[0xff; 11], &mut 0), None);
    }
}
