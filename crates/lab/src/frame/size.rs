//! Bytes, as people write them.

use std::str::FromStr;

/// Bytes per GiB.
pub const GIB: f64 = (1u64 << 30) as f64;

/// A number of bytes: `0`, `512M`, `1.5G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(pub u64);

impl Size {
    /// In GiB.
    pub fn gib(self) -> f64 {
        self.0 as f64 / GIB
    }
    /// From GiB, to a whole MiB.
    pub fn from_gib(gib: f64) -> Size {
        Size(((gib * 1024.0).round() as u64) << 20)
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(s: &str) -> Result<Size, String> {
        let s = s.trim();
        let digits = s.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match s[digits.len()..].to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            "T" | "TB" | "TIB" => 40,
            unit => return Err(format!("unknown unit '{unit}' (use K, M, G or T)")),
        };
        let wrong = || format!("'{s}' is no size; write it like 128M or 2G");
        let n: f64 = digits.parse().map_err(|_| wrong())?;
        let bytes = n * (1u64 << shift) as f64;
        // Sizes beyond this are no memory of any machine.
        if !(0.0..=(1u64 << 50) as f64).contains(&bytes) {
            return Err(wrong());
        }
        Ok(Size(bytes as u64))
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.0 as f64;
        match self.0 {
            0 => f.write_str("0"),
            b if b >= 10 << 30 => write!(f, "{:.0} GiB", n / GIB),
            b if b >= 1 << 30 => write!(f, "{:.2} GiB", n / GIB),
            b if b >= 1 << 20 => write!(f, "{:.0} MiB", n / (1u64 << 20) as f64),
            b if b >= 1 << 10 => write!(f, "{:.0} KiB", n / 1024.0),
            b => write!(f, "{b} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes, shown) in [
            ("0", 0, "0"),
            ("512M", 512 << 20, "512 MiB"),
            ("1.5g", 3 << 29, "1.50 GiB"),
            ("12GiB", 12 << 30, "12 GiB"),
            ("64K", 64 << 10, "64 KiB"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!(size.0, bytes, "{text}");
            assert_eq!(size.to_string(), shown);
        }
        for wrong in ["", "M", "-1G", "1X", "nan", "infG", "99999999T"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
        assert_eq!(Size::from_gib(0.25), Size(256 << 20));
    }
}
