//! CRC-32 as zlib and Ethernet have it (reflected polynomial 0xedb88320): CRC32()'s and CHECKSUM TABLE's.

static TABLE: [u32; 256] = {
    let mut t = [0u32; 256];
    let mut i = 0;
    while i < 256 {
        let mut c = i as u32;
        let mut k = 0;
        while k < 8 {
            c = if c & 1 == 1 {
                0xedb8_8320 ^ c >> 1
            } else {
                c >> 1
            };
            k += 1;
        }
        t[i] = c;
        i += 1;
    }
    t
};

/// The sum of what `crc` is the sum of and `data` behind it; that of nothing is 0.
pub fn update(crc: u32, data: &[u8]) -> u32 {
    let step = |c: u32, b: &u8| TABLE[((c ^ u32::from(*b)) & 0xff) as usize] ^ c >> 8;
    !data.iter().fold(!crc, step)
}

#[cfg(test)]
mod tests {
    use super::update;

    #[test]
    fn parts_give_the_sum_of_the_whole() {
        assert_eq!(update(0, b"123456789"), 0xcbf4_3926);
        assert_eq!(update(update(0, b"1234"), b"56789"), 0xcbf4_3926);
        assert_eq!(update(0, b""), 0);
    }
}
