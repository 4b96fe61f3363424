//! Length-encoded integers and strings, and a cursor that reads packets without ever leaving them.

/// A packet that ends early or contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Reads a packet from front to back.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }
    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }
    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }
    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }
    /// Two bytes, little-endian, as are all below.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    /// A length-encoded integer.
    #[inline]
    pub fn lenenc(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            n @ 0..=250 => Ok(n as u64),
            0xfc => Ok(self.u16()? as u64),
            0xfd => {
                let [a, b, c] = self.array()?;
                Ok(u32::from_le_bytes([a, b, c, 0]) as u64)
            }
            0xfe => self.u64(),
            _ => Err(Malformed),
        }
    }
    /// A length-encoded string.
    #[inline]
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let n = usize::try_from(self.lenenc()?).map_err(|_| Malformed)?;
        self.take(n)
    }
    /// A string up to a zero byte, which is skipped.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let n = self.rest.iter().position(|&b| b == 0).ok_or(Malformed)?;
        let s = self.take(n)?;
        self.take(1)?;
        Ok(s)
    }
    /// A string up to a zero byte or the end of the packet.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| {
            let s = self.rest;
            self.rest = &[];
            s
        })
    }
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    match n {
        0..=250 => out.push(n as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, s: &[u8]) {
    put_lenenc(out, s.len() as u64);
    out.extend_from_slice(s);
}

/// Turns everything after `start`, before which one byte was left for the length, into a
/// length-encoded string: for text whose length is known only once it is written.
#[inline]
pub fn close_bytes(out: &mut Vec<u8>, start: usize) {
    let n = out.len() - start;
    if n <= 250 {
        out[start - 1] = n as u8;
        return;
    }
    let text = out.split_off(start);
    out.pop();
    put_bytes(out, &text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_round_trips_at_its_edges() {
        for n in [
            0,
            250,
            251,
            0xffff,
            0x1_0000,
            0xff_ffff,
            0x100_0000,
            u64::MAX,
        ] {
            let mut out = Vec::new();
            put_lenenc(&mut out, n);
            let mut c = Cursor::new(&out);
            assert_eq!(c.lenenc(), Ok(n));
            assert!(c.is_empty());
            for cut in 0..out.len() {
                assert_eq!(Cursor::new(&out[..cut]).lenenc(), Err(Malformed));
            }
        }
    }

    #[test]
    fn lengths_written_afterwards() {
        for n in [0, 1, 250, 251, 70_000] {
            let mut out = vec![7, 0];
            out.resize(2 + n, b'x');
            close_bytes(&mut out, 2);
            let mut c = Cursor::new(&out[1..]);
            assert_eq!(c.lenenc_bytes().unwrap(), vec![b'x'; n]);
            assert!(c.is_empty());
            assert_eq!(out[0], 7);
        }
    }

    #[test]
    fn lengths_beyond_the_packet_are_malformed() {
        assert!(
            Cursor::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255])
                .lenenc_bytes()
                .is_err()
        );
        assert!(Cursor::new(&[5, 1, 2]).lenenc_bytes().is_err());
        assert!(Cursor::new(&[0xff]).lenenc().is_err());
        assert!(Cursor::new(b"abc").nul_bytes().is_err());
        assert_eq!(Cursor::new(b"abc").nul_or_rest(), b"abc");
    }
}
