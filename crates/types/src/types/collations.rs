//! The table of collations: a row says what is known of one. How strings compare is [`super::collation`]'s.

use super::Encoding;
use super::charset::Charset;
use super::latin1;
use super::uca::{Levels, Pad, Rules, Version};
use crate::error::{SqlError, SqlResult};

/// What decides about two strings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Their bytes, which for texts is their code points; without padding.
    Bytes,
    /// Their code points.
    CodePoints,
    /// The weights of utf8mb4_general_ci.
    GeneralCi,
    /// A weight for each byte of latin1.
    Latin1(&'static [u8; 256]),
    /// The bytes of an East Asian character set, ASCII's letters without their case if so said.
    Codes(Encoding, bool),
    /// The Unicode Collation Algorithm.
    Uca(Rules),
}

struct Facts {
    id: u16,
    name: &'static str,
    charset: Charset,
    order: Order,
    /// SHOW COLLATION's Sortlen: MySQL's estimate of what strings grow by as they become keys.
    sort_length: u8,
}

const fn uca(pad: Pad, version: Version, levels: Levels) -> Order {
    Order::Uca(Rules {
        pad,
        version,
        levels,
    })
}

const UNICODE: Order = uca(Pad::Space, Version::V4, Levels::Primary);
const UNICODE_520: Order = uca(Pad::Space, Version::V520, Levels::Primary);
const AI_CI: Order = uca(Pad::None, Version::V13, Levels::Primary);
const AS_CI: Order = uca(Pad::None, Version::V13, Levels::Secondary);
const AS_CS: Order = uca(Pad::None, Version::V13, Levels::Tertiary);

/// Declares [`Collation`] and the rows behind it.
macro_rules! collations {
    ($($variant:ident $id:literal $name:literal $charset:ident $order:expr, $sort_length:literal;)*) => {
        /// Collations. Those of utf8mb4 and `binary` come first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum Collation {
            $($variant,)*
        }

        impl Collation {
            /// All of them.
            pub const ALL: &'static [Collation] = &[$(Collation::$variant,)*];
        }

        static FACTS: [Facts; Collation::ALL.len()] = [$(Facts {
            id: $id,
            name: $name,
            charset: Charset::$charset,
            order: $order,
            sort_length: $sort_length,
        },)*];
    };
}

collations! {
    Binary 63 "binary" Binary Order::Bytes, 1;
    Utf8mb4Bin 46 "utf8mb4_bin" Utf8mb4 Order::CodePoints, 1;
    Utf8mb4GeneralCi 45 "utf8mb4_general_ci" Utf8mb4 Order::GeneralCi, 1;
    Utf8mb4UnicodeCi 224 "utf8mb4_unicode_ci" Utf8mb4 UNICODE, 8;
    Utf8mb4Unicode520Ci 246 "utf8mb4_unicode_520_ci" Utf8mb4 UNICODE_520, 8;
    Utf8mb40900AiCi 255 "utf8mb4_0900_ai_ci" Utf8mb4 AI_CI, 0;
    Utf8mb40900AsCi 305 "utf8mb4_0900_as_ci" Utf8mb4 AS_CI, 0;
    Utf8mb40900AsCs 278 "utf8mb4_0900_as_cs" Utf8mb4 AS_CS, 0;
    Utf8mb40900Bin 309 "utf8mb4_0900_bin" Utf8mb4 Order::Bytes, 1;
    Utf8mb3GeneralCi 33 "utf8mb3_general_ci" Utf8mb3 Order::GeneralCi, 1;
    Utf8mb3Bin 83 "utf8mb3_bin" Utf8mb3 Order::CodePoints, 1;
    Utf8mb3UnicodeCi 192 "utf8mb3_unicode_ci" Utf8mb3 UNICODE, 8;
    Utf8mb3Unicode520Ci 214 "utf8mb3_unicode_520_ci" Utf8mb3 UNICODE_520, 8;
    Latin1SwedishCi 8 "latin1_swedish_ci" Latin1 Order::Latin1(&latin1::SWEDISH_CI), 1;
    Latin1Bin 47 "latin1_bin" Latin1 Order::Latin1(&latin1::BIN), 1;
    Latin1German1Ci 5 "latin1_german1_ci" Latin1 Order::Latin1(&latin1::GERMAN1_CI), 1;
    Latin1GeneralCi 48 "latin1_general_ci" Latin1 Order::Latin1(&latin1::GENERAL_CI), 1;
    Latin1GeneralCs 49 "latin1_general_cs" Latin1 Order::Latin1(&latin1::GENERAL_CS), 1;
    AsciiGeneralCi 11 "ascii_general_ci" Ascii Order::GeneralCi, 1;
    AsciiBin 65 "ascii_bin" Ascii Order::CodePoints, 1;
    Ucs2GeneralCi 35 "ucs2_general_ci" Ucs2 Order::GeneralCi, 1;
    Ucs2Bin 90 "ucs2_bin" Ucs2 Order::CodePoints, 1;
    Ucs2UnicodeCi 128 "ucs2_unicode_ci" Ucs2 UNICODE, 8;
    Ucs2Unicode520Ci 150 "ucs2_unicode_520_ci" Ucs2 UNICODE_520, 8;
    Utf16GeneralCi 54 "utf16_general_ci" Utf16 Order::GeneralCi, 1;
    Utf16Bin 55 "utf16_bin" Utf16 Order::CodePoints, 1;
    Utf16UnicodeCi 101 "utf16_unicode_ci" Utf16 UNICODE, 8;
    Utf16Unicode520Ci 123 "utf16_unicode_520_ci" Utf16 UNICODE_520, 8;
    Utf16leGeneralCi 56 "utf16le_general_ci" Utf16le Order::GeneralCi, 1;
    Utf16leBin 62 "utf16le_bin" Utf16le Order::CodePoints, 1;
    Utf32GeneralCi 60 "utf32_general_ci" Utf32 Order::GeneralCi, 1;
    Utf32Bin 61 "utf32_bin" Utf32 Order::CodePoints, 1;
    Utf32UnicodeCi 160 "utf32_unicode_ci" Utf32 UNICODE, 8;
    Utf32Unicode520Ci 182 "utf32_unicode_520_ci" Utf32 UNICODE_520, 8;
    Cp932JapaneseCi 95 "cp932_japanese_ci" Cp932 Order::Codes(Encoding::Cp932, true), 1;
    Cp932Bin 96 "cp932_bin" Cp932 Order::Codes(Encoding::Cp932, false), 1;
    SjisJapaneseCi 13 "sjis_japanese_ci" Sjis Order::Codes(Encoding::Sjis, true), 1;
    SjisBin 88 "sjis_bin" Sjis Order::Codes(Encoding::Sjis, false), 1;
    UjisJapaneseCi 12 "ujis_japanese_ci" Ujis Order::Codes(Encoding::Ujis, true), 1;
    UjisBin 91 "ujis_bin" Ujis Order::Codes(Encoding::Ujis, false), 1;
    EuckrKoreanCi 19 "euckr_korean_ci" Euckr Order::Codes(Encoding::Euckr, true), 1;
    EuckrBin 85 "euckr_bin" Euckr Order::Codes(Encoding::Euckr, false), 1;
}

impl Collation {
    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }
    /// MySQL's name: `utf8mb4_general_ci`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }
    /// Its character set's name: `utf8mb4`.
    pub fn charset(self) -> &'static str {
        self.character_set().name()
    }
    /// Its character set.
    #[inline]
    pub fn character_set(self) -> Charset {
        if self.is_plain() && self != Collation::Binary {
            return Charset::Utf8mb4;
        }
        self.facts().charset
    }
    /// Whether its strings hold any bytes or all of Unicode, and are their own bytes: those of `binary` and utf8mb4, which are what
    /// nearly all strings are.
    #[inline]
    pub fn is_plain(self) -> bool {
        self as u8 <= Collation::Utf8mb40900Bin as u8
    }
    /// Protocol id: MySQL's.
    pub fn id(self) -> u16 {
        self.facts().id
    }
    #[inline]
    pub(super) fn order(self) -> &'static Order {
        &self.facts().order
    }
    /// How the Unicode Collation Algorithm is applied, if it is.
    pub(super) fn rules(self) -> Option<Rules> {
        match self.order() {
            Order::Uca(rules) => Some(*rules),
            _ => None,
        }
    }
    /// SHOW COLLATION's Sortlen.
    pub fn sort_length(self) -> u8 {
        self.facts().sort_length
    }
    /// Whether strings are equal only if they are the same (but for padding): `_bin`.
    pub fn is_bin(self) -> bool {
        match self.order() {
            Order::Bytes | Order::CodePoints => true,
            Order::Latin1(weights) => std::ptr::eq(*weights, &latin1::BIN),
            Order::Codes(_, folds) => !folds,
            Order::GeneralCi | Order::Uca(_) => false,
        }
    }
    /// Whether letters that differ in case are the same.
    pub fn ignores_case(self) -> bool {
        match self.order() {
            Order::Bytes | Order::CodePoints => false,
            Order::GeneralCi => true,
            Order::Codes(_, folds) => *folds,
            Order::Latin1(weights) => weights[usize::from(b'a')] == weights[usize::from(b'A')],
            Order::Uca(rules) => rules.levels != Levels::Tertiary,
        }
    }
    /// Whether strings compare as if spaces followed them.
    pub fn pads(self) -> bool {
        match self.order() {
            Order::Bytes => false,
            Order::CodePoints | Order::GeneralCi | Order::Latin1(_) | Order::Codes(..) => true,
            Order::Uca(rules) => rules.pad == Pad::Space,
        }
    }
    /// The collation of an id that MySQL gives it.
    pub fn by_id(id: u16) -> Option<Collation> {
        Collation::ALL.iter().copied().find(|c| c.id() == id)
    }
    /// By name, case-insensitive; error 1273 for a collation Millpond does not have. Those of `utf8` are utf8mb3's.
    pub fn by_name(name: &str) -> SqlResult<Collation> {
        let lower = name.to_ascii_lowercase();
        let alias = lower.strip_prefix("utf8_");
        let meant = alias.map_or(lower.clone(), |rest| format!("utf8mb3_{rest}"));
        let mut all = Collation::ALL.iter().copied();
        all.find(|c| c.name() == meant)
            .ok_or_else(|| SqlError::new(1273, format!("Unknown collation: '{name}'")))
    }
    /// The default collation of a character set by name; error 1115 if there is no such set.
    pub fn of_charset(name: &str) -> SqlResult<Collation> {
        Ok(Charset::by_name(name)?.facts().default)
    }
    /// The collation of a character set under which strings are equal only if they are the same.
    pub fn bin_of(charset: Charset) -> Collation {
        let mut all = Collation::ALL.iter().copied();
        all.find(|c| c.character_set() == charset && c.is_bin())
            .unwrap_or(Collation::Utf8mb4Bin)
    }
}
