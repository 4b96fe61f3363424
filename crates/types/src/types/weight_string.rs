//! What WEIGHT_STRING() shows of a text: the weights that it sorts by, in as many bytes each as MySQL has.

use super::collation::next_char;
use super::collations::Order;
use super::{Charset, Collation, Encoding, chinese, collation, uca};

impl Collation {
    /// Appends the weights of a text.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        if let Order::Uca(rules) = self.order() {
            return uca::weight_string(*rules, text, out);
        }
        if matches!(self.order(), Order::Bytes) {
            return out.extend_from_slice(text);
        }
        let bytes = self.weight_bytes();
        let mut at = 0;
        while at < text.len() {
            let (c, n) = next_char(&text[at..]);
            let weight = match self.order() {
                Order::GeneralCi => collation::weight(c),
                Order::Latin1(weights) => collation::latin1_weight(weights, c),
                Order::Single(order) => order.weight(c),
                Order::Codes(encoding, folds) => {
                    let weight = collation::code_weight(*encoding, *folds, c);
                    at += n;
                    let chinese = matches!(encoding, Encoding::Big5 | Encoding::Gbk);
                    if *folds && chinese && (0x80..0xff).contains(&(weight >> 24)) {
                        let shown = chinese::shown(*encoding, weight >> 16) as u16;
                        out.extend_from_slice(&shown.to_be_bytes());
                        continue;
                    }
                    let weight = weight.to_be_bytes();
                    let length = 4 - weight[1..].iter().rev().take_while(|b| **b == 0).count();
                    out.extend_from_slice(&weight[..length]);
                    continue;
                }
                Order::Bytes | Order::CodePoints | Order::Uca(_) => c,
            };
            out.extend_from_slice(&weight.to_be_bytes()[4 - bytes..]);
            at += n;
        }
    }

    /// Bytes that it shows for one weight.
    fn weight_bytes(self) -> usize {
        match (self.order(), self.character_set()) {
            (Order::Single(_), _) | (_, Charset::Latin1 | Charset::Ascii) => 1,
            (Order::CodePoints, charset) if charset.is_supplementary() => 3,
            _ => 2,
        }
    }

    /// Appends what so many spaces after a text weigh, of a collation that pads.
    pub fn weight_padding(self, spaces: usize, out: &mut Vec<u8>) {
        if self.pads() {
            self.weight_string(&vec![b' '; spaces], out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_take_the_bytes_that_mysql_gives_them() {
        for (collation, text, want) in [
            (Collation::Utf8mb4GeneralCi, "aß😀", &b"\0A\0S\xff\xfd"[..]),
            (Collation::Utf8mb4Bin, "a😀", b"\0\0a\x01\xf6\0"),
            (Collation::Utf8mb3Bin, "aé", b"\0a\0\xe9"),
            (Collation::Latin1SwedishCi, "aü€", b"AY\x80"),
            (Collation::Latin1Bin, "ü", b"\xfc"),
            (Collation::AsciiGeneralCi, "ab", b"AB"),
            (Collation::Utf8mb40900Bin, "é", b"\xc3\xa9"),
            (Collation::Binary, "a", b"a"),
        ] {
            let mut out = Vec::new();
            collation.weight_string(text.as_bytes(), &mut out);
            assert_eq!(out, want, "{collation:?} {text}");
        }
        let mut out = Vec::new();
        Collation::Utf8mb40900AsCs.weight_string("É".as_bytes(), &mut out);
        // Letter; letter and accent; capital and accent.
        assert_eq!(out.len(), 2 + 2 + 4 + 2 + 4);
    }
}
