//! The table of character sets. What their bytes mean is [`Encoding`]'s.

use super::{Collation, Encoding};
use crate::error::{SqlError, SqlResult};

/// What is known of a character set.
#[derive(Clone, Copy, Debug)]
pub struct CharsetFacts {
    /// MySQL's name: `latin1`.
    pub name: &'static str,
    /// SHOW CHARACTER SET's description.
    pub description: &'static str,
    /// The collation of what names none.
    pub default: Collation,
    /// Bytes of its shortest character.
    pub min_bytes: u32,
    /// Bytes of its longest character, by which MySQL reckons lengths.
    pub max_bytes: u32,
    /// What its bytes mean.
    pub encoding: Encoding,
}

/// Declares [`Charset`] and the rows behind it.
macro_rules! charsets {
    ($($variant:ident $name:literal $description:literal $default:ident $min:literal..=$max:literal $encoding:ident;)*) => {
        /// Character sets of columns, literals and connections.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum Charset {
            $($variant,)*
        }

        impl Charset {
            /// All of them.
            pub const ALL: &'static [Charset] = &[$(Charset::$variant,)*];
        }

        static FACTS: [CharsetFacts; Charset::ALL.len()] = [$(CharsetFacts {
            name: $name,
            description: $description,
            default: Collation::$default,
            min_bytes: $min,
            max_bytes: $max,
            encoding: Encoding::$encoding,
        },)*];
    };
}

charsets! {
    Armscii8 "armscii8" "ARMSCII-8 Armenian" Armscii8GeneralCi 1..=1 Armscii8;
    Ascii "ascii" "US ASCII" AsciiGeneralCi 1..=1 Ascii;
    Big5 "big5" "Big5 Traditional Chinese" Big5ChineseCi 1..=2 Big5;
    Binary "binary" "Binary pseudo charset" Binary 1..=1 Utf8;
    Cp1250 "cp1250" "Windows Central European" Cp1250GeneralCi 1..=1 Cp1250;
    Cp1251 "cp1251" "Windows Cyrillic" Cp1251GeneralCi 1..=1 Cp1251;
    Cp1256 "cp1256" "Windows Arabic" Cp1256GeneralCi 1..=1 Cp1256;
    Cp1257 "cp1257" "Windows Baltic" Cp1257GeneralCi 1..=1 Cp1257;
    Cp850 "cp850" "DOS West European" Cp850GeneralCi 1..=1 Cp850;
    Cp852 "cp852" "DOS Central European" Cp852GeneralCi 1..=1 Cp852;
    Cp866 "cp866" "DOS Russian" Cp866GeneralCi 1..=1 Cp866;
    Cp932 "cp932" "SJIS for Windows Japanese" Cp932JapaneseCi 1..=2 Cp932;
    Dec8 "dec8" "DEC West European" Dec8SwedishCi 1..=1 Dec8;
    Eucjpms "eucjpms" "UJIS for Windows Japanese" EucjpmsJapaneseCi 1..=3 Eucjpms;
    Euckr "euckr" "EUC-KR Korean" EuckrKoreanCi 1..=2 Euckr;
    Gb2312 "gb2312" "GB2312 Simplified Chinese" Gb2312ChineseCi 1..=2 Gb2312;
    Gbk "gbk" "GBK Simplified Chinese" GbkChineseCi 1..=2 Gbk;
    Geostd8 "geostd8" "GEOSTD8 Georgian" Geostd8GeneralCi 1..=1 Geostd8;
    Greek "greek" "ISO 8859-7 Greek" GreekGeneralCi 1..=1 Greek;
    Hebrew "hebrew" "ISO 8859-8 Hebrew" HebrewGeneralCi 1..=1 Hebrew;
    Hp8 "hp8" "HP West European" Hp8EnglishCi 1..=1 Hp8;
    Keybcs2 "keybcs2" "DOS Kamenicky Czech-Slovak" Keybcs2GeneralCi 1..=1 Keybcs2;
    Koi8r "koi8r" "KOI8-R Relcom Russian" Koi8rGeneralCi 1..=1 Koi8r;
    Koi8u "koi8u" "KOI8-U Ukrainian" Koi8uGeneralCi 1..=1 Koi8u;
    Latin1 "latin1" "cp1252 West European" Latin1SwedishCi 1..=1 Latin1;
    Latin2 "latin2" "ISO 8859-2 Central European" Latin2GeneralCi 1..=1 Latin2;
    Latin5 "latin5" "ISO 8859-9 Turkish" Latin5TurkishCi 1..=1 Latin5;
    Latin7 "latin7" "ISO 8859-13 Baltic" Latin7GeneralCi 1..=1 Latin7;
    Macce "macce" "Mac Central European" MacceGeneralCi 1..=1 Macce;
    Macroman "macroman" "Mac West European" MacromanGeneralCi 1..=1 Macroman;
    Sjis "sjis" "Shift-JIS Japanese" SjisJapaneseCi 1..=2 Sjis;
    Ucs2 "ucs2" "UCS-2 Unicode" Ucs2GeneralCi 2..=2 Ucs2;
    Ujis "ujis" "EUC-JP Japanese" UjisJapaneseCi 1..=3 Ujis;
    Utf16 "utf16" "UTF-16 Unicode" Utf16GeneralCi 2..=4 Utf16;
    Utf16le "utf16le" "UTF-16LE Unicode" Utf16leGeneralCi 2..=4 Utf16le;
    Utf32 "utf32" "UTF-32 Unicode" Utf32GeneralCi 4..=4 Utf32;
    Utf8mb3 "utf8mb3" "UTF-8 Unicode" Utf8mb3GeneralCi 1..=3 Utf8mb3;
    Utf8mb4 "utf8mb4" "UTF-8 Unicode" Utf8mb40900AiCi 1..=4 Utf8;
}

impl Charset {
    /// What is known of it.
    #[inline]
    pub fn facts(self) -> &'static CharsetFacts {
        &FACTS[self as usize]
    }
    /// MySQL's name.
    pub fn name(self) -> &'static str {
        self.facts().name
    }
    /// What its bytes mean.
    #[inline]
    pub fn encoding(self) -> Encoding {
        self.facts().encoding
    }
    /// By name, case-insensitive, `utf8` being utf8mb3; error 1115 if there is no such set.
    pub fn by_name(name: &str) -> SqlResult<Charset> {
        let lower = name.to_ascii_lowercase();
        let meant = if lower == "utf8" { "utf8mb3" } else { &*lower };
        let mut all = Charset::ALL.iter().copied();
        all.find(|c| c.name() == meant)
            .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{name}'")))
    }
    /// Whether it holds Unicode's characters, be it not all of them.
    pub fn is_unicode(self) -> bool {
        use Charset as C;
        matches!(
            self,
            C::Utf8mb3 | C::Utf8mb4 | C::Ucs2 | C::Utf16 | C::Utf16le | C::Utf32
        )
    }
    /// Whether it holds characters beyond the basic plane.
    pub fn is_supplementary(self) -> bool {
        self.is_unicode() && !matches!(self, Charset::Utf8mb3 | Charset::Ucs2)
    }
    /// Whether a client may send statements in it: ASCII must be ASCII.
    pub fn is_clients(self) -> bool {
        self.facts().min_bytes == 1
    }
}
