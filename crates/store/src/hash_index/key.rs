//! Which part of a key a lookup gives, and its hash.

use crate::page::{get_u16, slotted};

/// What point lookups of a tree give of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// The whole key.
    Whole,
    /// As many bytes of it as the value says, in a little-endian u16 at this offset (not 255): a secondary index's
    /// own key, without the clustered key behind it. Several records may share it; lookups want the first.
    LengthAt(u8),
}

impl KeyPart {
    pub(super) fn to_byte(self) -> u8 {
        match self {
            KeyPart::Whole => u8::MAX,
            KeyPart::LengthAt(at) => at,
        }
    }

    pub(super) fn from_byte(byte: u8) -> KeyPart {
        match byte {
            u8::MAX => KeyPart::Whole,
            at => KeyPart::LengthAt(at),
        }
    }

    /// The part of the key of the record at `slot`.
    #[inline]
    pub fn of_record(self, page: &[u8], slot: u16) -> &[u8] {
        match self {
            KeyPart::Whole => slotted::key(page, slot),
            KeyPart::LengthAt(at) => {
                let (key, value) = slotted::entry(page, slot);
                let at = usize::from(at);
                if value.len() < at + 2 {
                    return key;
                }
                &key[..usize::from(get_u16(value, at)).min(key.len())]
            }
        }
    }

    /// Whether the record is surely the first with its part. The page's first is not known to be.
    pub fn is_first_of_its_own(self, page: &[u8], slot: u16) -> bool {
        match self {
            KeyPart::Whole => true,
            KeyPart::LengthAt(_) => {
                slot > 0 && slotted::key(page, slot - 1) < self.of_record(page, slot)
            }
        }
    }

    /// The slot of the record that `sought` leads to, if this leaf can tell: `Ok` of the record that has it, for
    /// the whole key; else `Err` of the first record beyond, which has one before it on the page. `guess` is looked at first.
    #[inline]
    pub fn locate(self, page: &[u8], sought: &[u8], guess: u16) -> Option<Result<u16, u16>> {
        let count = slotted::count(page);
        if self == KeyPart::Whole && guess < count && slotted::key(page, guess) == sought {
            return Some(Ok(guess));
        }
        self.locate_anew(page, sought, count, guess)
    }

    #[inline(never)]
    fn locate_anew(
        self,
        page: &[u8],
        sought: &[u8],
        count: u16,
        guess: u16,
    ) -> Option<Result<u16, u16>> {
        let between = |slot: u16| slot > 0 && slot < count;
        if self != KeyPart::Whole
            && between(guess)
            && slotted::key(page, guess - 1) < sought
            && slotted::key(page, guess) >= sought
        {
            return Some(Err(guess));
        }
        match slotted::search(page, sought) {
            // A whole key stands in one leaf only.
            Ok(slot) if self == KeyPart::Whole => Some(Ok(slot)),
            Ok(slot) | Err(slot) => between(slot).then_some(Err(slot)),
        }
    }
}

const K0: u64 = 0x9E37_79B9_7F4A_7C15;
const K1: u64 = 0xD1B5_4A32_D192_ED03;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let m = u128::from(a) * u128::from(b);
    m as u64 ^ (m >> 64) as u64
}

/// Hash of a searched key within a space: all bits are good. Multiply-and-fold, sixteen bytes a step.
#[inline]
pub fn hash(space: u64, key: &[u8]) -> u64 {
    let mut h = space.wrapping_mul(K0) ^ key.len() as u64;
    let mut rest = key;
    while let Some((head, tail)) = rest.split_first_chunk::<8>() {
        h = fold(h ^ u64::from_le_bytes(*head), K1).wrapping_add(h.rotate_left(32));
        rest = tail;
    }
    let last = match *rest {
        [] => 0,
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_le_bytes([a, b, c, 0])),
        _ => {
            let (first, last) = (rest.first_chunk::<4>(), rest.last_chunk::<4>());
            let word = |c: Option<&[u8; 4]>| u64::from(u32::from_le_bytes(*c.expect("four bytes")));
            word(first) | word(last) << 32
        }
    };
    fold(h ^ last ^ K0, K1 ^ h.rotate_left(17))
}
