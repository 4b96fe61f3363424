//! The table of collations: a row says what is known of one. How strings compare is [`super::collation`]'s.

use super::Encoding;
use super::charset::Charset;
use super::latin1;
use super::single::{self, Single};
use super::uca::{Language as L, Levels, Pad, Rules, Version};
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
    /// A weight for each byte of another such set.
    Single(Single),
    /// The bytes of an East Asian character set, or, if so said, its own order and ASCII's letters without their case.
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

const fn uca(pad: Pad, version: Version, levels: Levels, language: L) -> Order {
    Order::Uca(Rules {
        pad,
        version,
        levels,
        language,
    })
}

const fn single(encoding: Encoding, name: &str) -> Order {
    Order::Single(Single::of(encoding, name))
}

/// With the weights of version 4.0.0 as a language has them.
const fn of(language: L) -> Order {
    uca(Pad::Space, Version::V4, Levels::Primary, language)
}

/// A language's letters, by version 9.0.0.
const fn ai_ci(language: L) -> Order {
    uca(Pad::None, Version::V9, Levels::Primary, language)
}

/// A language's letters with their accents and case.
const fn as_cs(language: L) -> Order {
    uca(Pad::None, Version::V9, Levels::Tertiary, language)
}

const UNICODE: Order = of(L::Root);
const UNICODE_520: Order = uca(Pad::Space, Version::V520, Levels::Primary, L::Root);
const AI_CI: Order = ai_ci(L::Root);
const AS_CI: Order = uca(Pad::None, Version::V9, Levels::Secondary, L::Root);
const AS_CS: Order = as_cs(L::Root);

/// Declares [`Collation`] and the rows behind it.
macro_rules! collations {
    ($($variant:ident $id:literal $name:literal $charset:ident $order:expr, $sort_length:literal;)*) => {
        /// Collations. Those of utf8mb4 and `binary` come first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        #[repr(u16)]
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
    Utf8mb4IcelandicCi 225 "utf8mb4_icelandic_ci" Utf8mb4 of(L::Icelandic), 8;
    Utf8mb4LatvianCi 226 "utf8mb4_latvian_ci" Utf8mb4 of(L::Latvian), 8;
    Utf8mb4RomanianCi 227 "utf8mb4_romanian_ci" Utf8mb4 of(L::Romanian), 8;
    Utf8mb4SlovenianCi 228 "utf8mb4_slovenian_ci" Utf8mb4 of(L::Slovenian), 8;
    Utf8mb4PolishCi 229 "utf8mb4_polish_ci" Utf8mb4 of(L::Polish), 8;
    Utf8mb4EstonianCi 230 "utf8mb4_estonian_ci" Utf8mb4 of(L::Estonian), 8;
    Utf8mb4SpanishCi 231 "utf8mb4_spanish_ci" Utf8mb4 of(L::Spanish), 8;
    Utf8mb4SwedishCi 232 "utf8mb4_swedish_ci" Utf8mb4 of(L::Swedish), 8;
    Utf8mb4TurkishCi 233 "utf8mb4_turkish_ci" Utf8mb4 of(L::Turkish), 8;
    Utf8mb4CzechCi 234 "utf8mb4_czech_ci" Utf8mb4 of(L::Czech), 8;
    Utf8mb4DanishCi 235 "utf8mb4_danish_ci" Utf8mb4 of(L::Danish), 8;
    Utf8mb4LithuanianCi 236 "utf8mb4_lithuanian_ci" Utf8mb4 of(L::Lithuanian), 8;
    Utf8mb4SlovakCi 237 "utf8mb4_slovak_ci" Utf8mb4 of(L::Slovak), 8;
    Utf8mb4Spanish2Ci 238 "utf8mb4_spanish2_ci" Utf8mb4 of(L::Spanish2), 8;
    Utf8mb4RomanCi 239 "utf8mb4_roman_ci" Utf8mb4 of(L::Roman), 8;
    Utf8mb4PersianCi 240 "utf8mb4_persian_ci" Utf8mb4 of(L::Persian), 8;
    Utf8mb4EsperantoCi 241 "utf8mb4_esperanto_ci" Utf8mb4 of(L::Esperanto), 8;
    Utf8mb4HungarianCi 242 "utf8mb4_hungarian_ci" Utf8mb4 of(L::Hungarian), 8;
    Utf8mb4SinhalaCi 243 "utf8mb4_sinhala_ci" Utf8mb4 of(L::Sinhala), 8;
    Utf8mb4German2Ci 244 "utf8mb4_german2_ci" Utf8mb4 of(L::German2), 8;
    Utf8mb4CroatianCi 245 "utf8mb4_croatian_ci" Utf8mb4 of(L::Croatian), 8;
    Utf8mb4VietnameseCi 247 "utf8mb4_vietnamese_ci" Utf8mb4 of(L::Vietnamese), 8;
    Utf8mb4DePb0900AiCi 256 "utf8mb4_de_pb_0900_ai_ci" Utf8mb4 ai_ci(L::DePb), 0;
    Utf8mb4DePb0900AsCs 279 "utf8mb4_de_pb_0900_as_cs" Utf8mb4 as_cs(L::DePb), 0;
    Utf8mb4Is0900AiCi 257 "utf8mb4_is_0900_ai_ci" Utf8mb4 ai_ci(L::Is), 0;
    Utf8mb4Is0900AsCs 280 "utf8mb4_is_0900_as_cs" Utf8mb4 as_cs(L::Is), 0;
    Utf8mb4Lv0900AiCi 258 "utf8mb4_lv_0900_ai_ci" Utf8mb4 ai_ci(L::Lv), 0;
    Utf8mb4Lv0900AsCs 281 "utf8mb4_lv_0900_as_cs" Utf8mb4 as_cs(L::Lv), 0;
    Utf8mb4Ro0900AiCi 259 "utf8mb4_ro_0900_ai_ci" Utf8mb4 ai_ci(L::Ro), 0;
    Utf8mb4Ro0900AsCs 282 "utf8mb4_ro_0900_as_cs" Utf8mb4 as_cs(L::Ro), 0;
    Utf8mb4Sl0900AiCi 260 "utf8mb4_sl_0900_ai_ci" Utf8mb4 ai_ci(L::Sl), 0;
    Utf8mb4Sl0900AsCs 283 "utf8mb4_sl_0900_as_cs" Utf8mb4 as_cs(L::Sl), 0;
    Utf8mb4Pl0900AiCi 261 "utf8mb4_pl_0900_ai_ci" Utf8mb4 ai_ci(L::Pl), 0;
    Utf8mb4Pl0900AsCs 284 "utf8mb4_pl_0900_as_cs" Utf8mb4 as_cs(L::Pl), 0;
    Utf8mb4Et0900AiCi 262 "utf8mb4_et_0900_ai_ci" Utf8mb4 ai_ci(L::Et), 0;
    Utf8mb4Et0900AsCs 285 "utf8mb4_et_0900_as_cs" Utf8mb4 as_cs(L::Et), 0;
    Utf8mb4Es0900AiCi 263 "utf8mb4_es_0900_ai_ci" Utf8mb4 ai_ci(L::Es), 0;
    Utf8mb4Es0900AsCs 286 "utf8mb4_es_0900_as_cs" Utf8mb4 as_cs(L::Es), 0;
    Utf8mb4Sv0900AiCi 264 "utf8mb4_sv_0900_ai_ci" Utf8mb4 ai_ci(L::Sv), 0;
    Utf8mb4Sv0900AsCs 287 "utf8mb4_sv_0900_as_cs" Utf8mb4 as_cs(L::Sv), 0;
    Utf8mb4Tr0900AiCi 265 "utf8mb4_tr_0900_ai_ci" Utf8mb4 ai_ci(L::Tr), 0;
    Utf8mb4Tr0900AsCs 288 "utf8mb4_tr_0900_as_cs" Utf8mb4 as_cs(L::Tr), 0;
    Utf8mb4Cs0900AiCi 266 "utf8mb4_cs_0900_ai_ci" Utf8mb4 ai_ci(L::Cs), 0;
    Utf8mb4Cs0900AsCs 289 "utf8mb4_cs_0900_as_cs" Utf8mb4 as_cs(L::Cs), 0;
    Utf8mb4Da0900AiCi 267 "utf8mb4_da_0900_ai_ci" Utf8mb4 ai_ci(L::Da), 0;
    Utf8mb4Da0900AsCs 290 "utf8mb4_da_0900_as_cs" Utf8mb4 as_cs(L::Da), 0;
    Utf8mb4Lt0900AiCi 268 "utf8mb4_lt_0900_ai_ci" Utf8mb4 ai_ci(L::Lt), 0;
    Utf8mb4Lt0900AsCs 291 "utf8mb4_lt_0900_as_cs" Utf8mb4 as_cs(L::Lt), 0;
    Utf8mb4Sk0900AiCi 269 "utf8mb4_sk_0900_ai_ci" Utf8mb4 ai_ci(L::Sk), 0;
    Utf8mb4Sk0900AsCs 292 "utf8mb4_sk_0900_as_cs" Utf8mb4 as_cs(L::Sk), 0;
    Utf8mb4EsTrad0900AiCi 270 "utf8mb4_es_trad_0900_ai_ci" Utf8mb4 ai_ci(L::EsTrad), 0;
    Utf8mb4EsTrad0900AsCs 293 "utf8mb4_es_trad_0900_as_cs" Utf8mb4 as_cs(L::EsTrad), 0;
    Utf8mb4La0900AiCi 271 "utf8mb4_la_0900_ai_ci" Utf8mb4 ai_ci(L::La), 0;
    Utf8mb4La0900AsCs 294 "utf8mb4_la_0900_as_cs" Utf8mb4 as_cs(L::La), 0;
    Utf8mb4Eo0900AiCi 273 "utf8mb4_eo_0900_ai_ci" Utf8mb4 ai_ci(L::Eo), 0;
    Utf8mb4Eo0900AsCs 296 "utf8mb4_eo_0900_as_cs" Utf8mb4 as_cs(L::Eo), 0;
    Utf8mb4Hu0900AiCi 274 "utf8mb4_hu_0900_ai_ci" Utf8mb4 ai_ci(L::Hu), 0;
    Utf8mb4Hu0900AsCs 297 "utf8mb4_hu_0900_as_cs" Utf8mb4 as_cs(L::Hu), 0;
    Utf8mb4Hr0900AiCi 275 "utf8mb4_hr_0900_ai_ci" Utf8mb4 ai_ci(L::Hr), 0;
    Utf8mb4Hr0900AsCs 298 "utf8mb4_hr_0900_as_cs" Utf8mb4 as_cs(L::Hr), 0;
    Utf8mb4Vi0900AiCi 277 "utf8mb4_vi_0900_ai_ci" Utf8mb4 ai_ci(L::Vi), 0;
    Utf8mb4Vi0900AsCs 300 "utf8mb4_vi_0900_as_cs" Utf8mb4 as_cs(L::Vi), 0;
    Utf8mb4Ru0900AiCi 306 "utf8mb4_ru_0900_ai_ci" Utf8mb4 ai_ci(L::Ru), 0;
    Utf8mb4Ru0900AsCs 307 "utf8mb4_ru_0900_as_cs" Utf8mb4 as_cs(L::Ru), 0;
    Utf8mb4Nb0900AiCi 310 "utf8mb4_nb_0900_ai_ci" Utf8mb4 ai_ci(L::Nb), 0;
    Utf8mb4Nb0900AsCs 311 "utf8mb4_nb_0900_as_cs" Utf8mb4 as_cs(L::Nb), 0;
    Utf8mb4Nn0900AiCi 312 "utf8mb4_nn_0900_ai_ci" Utf8mb4 ai_ci(L::Nb), 0;
    Utf8mb4Nn0900AsCs 313 "utf8mb4_nn_0900_as_cs" Utf8mb4 as_cs(L::Nb), 0;
    Utf8mb4SrLatn0900AiCi 314 "utf8mb4_sr_latn_0900_ai_ci" Utf8mb4 ai_ci(L::Hr), 0;
    Utf8mb4SrLatn0900AsCs 315 "utf8mb4_sr_latn_0900_as_cs" Utf8mb4 as_cs(L::Hr), 0;
    Utf8mb4Bs0900AiCi 316 "utf8mb4_bs_0900_ai_ci" Utf8mb4 ai_ci(L::Hr), 0;
    Utf8mb4Bs0900AsCs 317 "utf8mb4_bs_0900_as_cs" Utf8mb4 as_cs(L::Hr), 0;
    Utf8mb4Bg0900AiCi 318 "utf8mb4_bg_0900_ai_ci" Utf8mb4 ai_ci(L::Ru), 0;
    Utf8mb4Bg0900AsCs 319 "utf8mb4_bg_0900_as_cs" Utf8mb4 as_cs(L::Ru), 0;
    Utf8mb4Gl0900AiCi 320 "utf8mb4_gl_0900_ai_ci" Utf8mb4 ai_ci(L::Es), 0;
    Utf8mb4Gl0900AsCs 321 "utf8mb4_gl_0900_as_cs" Utf8mb4 as_cs(L::Es), 0;
    Utf8mb4MnCyrl0900AiCi 322 "utf8mb4_mn_cyrl_0900_ai_ci" Utf8mb4 ai_ci(L::MnCyrl), 0;
    Utf8mb4MnCyrl0900AsCs 323 "utf8mb4_mn_cyrl_0900_as_cs" Utf8mb4 as_cs(L::MnCyrl), 0;
    Utf8mb3GeneralCi 33 "utf8mb3_general_ci" Utf8mb3 Order::GeneralCi, 1;
    Utf8mb3Bin 83 "utf8mb3_bin" Utf8mb3 Order::CodePoints, 1;
    Utf8mb3UnicodeCi 192 "utf8mb3_unicode_ci" Utf8mb3 UNICODE, 8;
    Utf8mb3Unicode520Ci 214 "utf8mb3_unicode_520_ci" Utf8mb3 UNICODE_520, 8;
    Utf8mb3IcelandicCi 193 "utf8mb3_icelandic_ci" Utf8mb3 of(L::Icelandic), 8;
    Utf8mb3LatvianCi 194 "utf8mb3_latvian_ci" Utf8mb3 of(L::Latvian), 8;
    Utf8mb3RomanianCi 195 "utf8mb3_romanian_ci" Utf8mb3 of(L::Romanian), 8;
    Utf8mb3SlovenianCi 196 "utf8mb3_slovenian_ci" Utf8mb3 of(L::Slovenian), 8;
    Utf8mb3PolishCi 197 "utf8mb3_polish_ci" Utf8mb3 of(L::Polish), 8;
    Utf8mb3EstonianCi 198 "utf8mb3_estonian_ci" Utf8mb3 of(L::Estonian), 8;
    Utf8mb3SpanishCi 199 "utf8mb3_spanish_ci" Utf8mb3 of(L::Spanish), 8;
    Utf8mb3SwedishCi 200 "utf8mb3_swedish_ci" Utf8mb3 of(L::Swedish), 8;
    Utf8mb3TurkishCi 201 "utf8mb3_turkish_ci" Utf8mb3 of(L::Turkish), 8;
    Utf8mb3CzechCi 202 "utf8mb3_czech_ci" Utf8mb3 of(L::Czech), 8;
    Utf8mb3DanishCi 203 "utf8mb3_danish_ci" Utf8mb3 of(L::Danish), 8;
    Utf8mb3LithuanianCi 204 "utf8mb3_lithuanian_ci" Utf8mb3 of(L::Lithuanian), 8;
    Utf8mb3SlovakCi 205 "utf8mb3_slovak_ci" Utf8mb3 of(L::Slovak), 8;
    Utf8mb3Spanish2Ci 206 "utf8mb3_spanish2_ci" Utf8mb3 of(L::Spanish2), 8;
    Utf8mb3RomanCi 207 "utf8mb3_roman_ci" Utf8mb3 of(L::Roman), 8;
    Utf8mb3PersianCi 208 "utf8mb3_persian_ci" Utf8mb3 of(L::Persian), 8;
    Utf8mb3EsperantoCi 209 "utf8mb3_esperanto_ci" Utf8mb3 of(L::Esperanto), 8;
    Utf8mb3HungarianCi 210 "utf8mb3_hungarian_ci" Utf8mb3 of(L::Hungarian), 8;
    Utf8mb3SinhalaCi 211 "utf8mb3_sinhala_ci" Utf8mb3 of(L::Sinhala), 8;
    Utf8mb3German2Ci 212 "utf8mb3_german2_ci" Utf8mb3 of(L::German2), 8;
    Utf8mb3CroatianCi 213 "utf8mb3_croatian_ci" Utf8mb3 of(L::Croatian), 8;
    Utf8mb3VietnameseCi 215 "utf8mb3_vietnamese_ci" Utf8mb3 of(L::Vietnamese), 8;
    Latin1SwedishCi 8 "latin1_swedish_ci" Latin1 Order::Latin1(&latin1::SWEDISH_CI), 1;
    Latin1Bin 47 "latin1_bin" Latin1 Order::Latin1(&latin1::BIN), 1;
    Latin1German1Ci 5 "latin1_german1_ci" Latin1 Order::Latin1(&latin1::GERMAN1_CI), 1;
    Latin1GeneralCi 48 "latin1_general_ci" Latin1 Order::Latin1(&latin1::GENERAL_CI), 1;
    Latin1GeneralCs 49 "latin1_general_cs" Latin1 Order::Latin1(&latin1::GENERAL_CS), 1;
    Latin1DanishCi 15 "latin1_danish_ci" Latin1 Order::Latin1(single::weights("latin1_danish_ci")), 1;
    Latin1SpanishCi 94 "latin1_spanish_ci" Latin1 Order::Latin1(single::weights("latin1_spanish_ci")), 1;
    AsciiGeneralCi 11 "ascii_general_ci" Ascii Order::GeneralCi, 1;
    AsciiBin 65 "ascii_bin" Ascii Order::CodePoints, 1;
    Ucs2GeneralCi 35 "ucs2_general_ci" Ucs2 Order::GeneralCi, 1;
    Ucs2Bin 90 "ucs2_bin" Ucs2 Order::CodePoints, 1;
    Ucs2UnicodeCi 128 "ucs2_unicode_ci" Ucs2 UNICODE, 8;
    Ucs2Unicode520Ci 150 "ucs2_unicode_520_ci" Ucs2 UNICODE_520, 8;
    Ucs2IcelandicCi 129 "ucs2_icelandic_ci" Ucs2 of(L::Icelandic), 8;
    Ucs2LatvianCi 130 "ucs2_latvian_ci" Ucs2 of(L::Latvian), 8;
    Ucs2RomanianCi 131 "ucs2_romanian_ci" Ucs2 of(L::Romanian), 8;
    Ucs2SlovenianCi 132 "ucs2_slovenian_ci" Ucs2 of(L::Slovenian), 8;
    Ucs2PolishCi 133 "ucs2_polish_ci" Ucs2 of(L::Polish), 8;
    Ucs2EstonianCi 134 "ucs2_estonian_ci" Ucs2 of(L::Estonian), 8;
    Ucs2SpanishCi 135 "ucs2_spanish_ci" Ucs2 of(L::Spanish), 8;
    Ucs2SwedishCi 136 "ucs2_swedish_ci" Ucs2 of(L::Swedish), 8;
    Ucs2TurkishCi 137 "ucs2_turkish_ci" Ucs2 of(L::Turkish), 8;
    Ucs2CzechCi 138 "ucs2_czech_ci" Ucs2 of(L::Czech), 8;
    Ucs2DanishCi 139 "ucs2_danish_ci" Ucs2 of(L::Danish), 8;
    Ucs2LithuanianCi 140 "ucs2_lithuanian_ci" Ucs2 of(L::Lithuanian), 8;
    Ucs2SlovakCi 141 "ucs2_slovak_ci" Ucs2 of(L::Slovak), 8;
    Ucs2Spanish2Ci 142 "ucs2_spanish2_ci" Ucs2 of(L::Spanish2), 8;
    Ucs2RomanCi 143 "ucs2_roman_ci" Ucs2 of(L::Roman), 8;
    Ucs2PersianCi 144 "ucs2_persian_ci" Ucs2 of(L::Persian), 8;
    Ucs2EsperantoCi 145 "ucs2_esperanto_ci" Ucs2 of(L::Esperanto), 8;
    Ucs2HungarianCi 146 "ucs2_hungarian_ci" Ucs2 of(L::Hungarian), 8;
    Ucs2SinhalaCi 147 "ucs2_sinhala_ci" Ucs2 of(L::Sinhala), 8;
    Ucs2German2Ci 148 "ucs2_german2_ci" Ucs2 of(L::German2), 8;
    Ucs2CroatianCi 149 "ucs2_croatian_ci" Ucs2 of(L::Croatian), 8;
    Ucs2VietnameseCi 151 "ucs2_vietnamese_ci" Ucs2 of(L::Vietnamese), 8;
    Utf16GeneralCi 54 "utf16_general_ci" Utf16 Order::GeneralCi, 1;
    Utf16Bin 55 "utf16_bin" Utf16 Order::CodePoints, 1;
    Utf16UnicodeCi 101 "utf16_unicode_ci" Utf16 UNICODE, 8;
    Utf16Unicode520Ci 123 "utf16_unicode_520_ci" Utf16 UNICODE_520, 8;
    Utf16IcelandicCi 102 "utf16_icelandic_ci" Utf16 of(L::Icelandic), 8;
    Utf16LatvianCi 103 "utf16_latvian_ci" Utf16 of(L::Latvian), 8;
    Utf16RomanianCi 104 "utf16_romanian_ci" Utf16 of(L::Romanian), 8;
    Utf16SlovenianCi 105 "utf16_slovenian_ci" Utf16 of(L::Slovenian), 8;
    Utf16PolishCi 106 "utf16_polish_ci" Utf16 of(L::Polish), 8;
    Utf16EstonianCi 107 "utf16_estonian_ci" Utf16 of(L::Estonian), 8;
    Utf16SpanishCi 108 "utf16_spanish_ci" Utf16 of(L::Spanish), 8;
    Utf16SwedishCi 109 "utf16_swedish_ci" Utf16 of(L::Swedish), 8;
    Utf16TurkishCi 110 "utf16_turkish_ci" Utf16 of(L::Turkish), 8;
    Utf16CzechCi 111 "utf16_czech_ci" Utf16 of(L::Czech), 8;
    Utf16DanishCi 112 "utf16_danish_ci" Utf16 of(L::Danish), 8;
    Utf16LithuanianCi 113 "utf16_lithuanian_ci" Utf16 of(L::Lithuanian), 8;
    Utf16SlovakCi 114 "utf16_slovak_ci" Utf16 of(L::Slovak), 8;
    Utf16Spanish2Ci 115 "utf16_spanish2_ci" Utf16 of(L::Spanish2), 8;
    Utf16RomanCi 116 "utf16_roman_ci" Utf16 of(L::Roman), 8;
    Utf16PersianCi 117 "utf16_persian_ci" Utf16 of(L::Persian), 8;
    Utf16EsperantoCi 118 "utf16_esperanto_ci" Utf16 of(L::Esperanto), 8;
    Utf16HungarianCi 119 "utf16_hungarian_ci" Utf16 of(L::Hungarian), 8;
    Utf16SinhalaCi 120 "utf16_sinhala_ci" Utf16 of(L::Sinhala), 8;
    Utf16German2Ci 121 "utf16_german2_ci" Utf16 of(L::German2), 8;
    Utf16CroatianCi 122 "utf16_croatian_ci" Utf16 of(L::Croatian), 8;
    Utf16VietnameseCi 124 "utf16_vietnamese_ci" Utf16 of(L::Vietnamese), 8;
    Utf16leGeneralCi 56 "utf16le_general_ci" Utf16le Order::GeneralCi, 1;
    Utf16leBin 62 "utf16le_bin" Utf16le Order::CodePoints, 1;
    Utf32GeneralCi 60 "utf32_general_ci" Utf32 Order::GeneralCi, 1;
    Utf32Bin 61 "utf32_bin" Utf32 Order::CodePoints, 1;
    Utf32UnicodeCi 160 "utf32_unicode_ci" Utf32 UNICODE, 8;
    Utf32Unicode520Ci 182 "utf32_unicode_520_ci" Utf32 UNICODE_520, 8;
    Utf32IcelandicCi 161 "utf32_icelandic_ci" Utf32 of(L::Icelandic), 8;
    Utf32LatvianCi 162 "utf32_latvian_ci" Utf32 of(L::Latvian), 8;
    Utf32RomanianCi 163 "utf32_romanian_ci" Utf32 of(L::Romanian), 8;
    Utf32SlovenianCi 164 "utf32_slovenian_ci" Utf32 of(L::Slovenian), 8;
    Utf32PolishCi 165 "utf32_polish_ci" Utf32 of(L::Polish), 8;
    Utf32EstonianCi 166 "utf32_estonian_ci" Utf32 of(L::Estonian), 8;
    Utf32SpanishCi 167 "utf32_spanish_ci" Utf32 of(L::Spanish), 8;
    Utf32SwedishCi 168 "utf32_swedish_ci" Utf32 of(L::Swedish), 8;
    Utf32TurkishCi 169 "utf32_turkish_ci" Utf32 of(L::Turkish), 8;
    Utf32CzechCi 170 "utf32_czech_ci" Utf32 of(L::Czech), 8;
    Utf32DanishCi 171 "utf32_danish_ci" Utf32 of(L::Danish), 8;
    Utf32LithuanianCi 172 "utf32_lithuanian_ci" Utf32 of(L::Lithuanian), 8;
    Utf32SlovakCi 173 "utf32_slovak_ci" Utf32 of(L::Slovak), 8;
    Utf32Spanish2Ci 174 "utf32_spanish2_ci" Utf32 of(L::Spanish2), 8;
    Utf32RomanCi 175 "utf32_roman_ci" Utf32 of(L::Roman), 8;
    Utf32PersianCi 176 "utf32_persian_ci" Utf32 of(L::Persian), 8;
    Utf32EsperantoCi 177 "utf32_esperanto_ci" Utf32 of(L::Esperanto), 8;
    Utf32HungarianCi 178 "utf32_hungarian_ci" Utf32 of(L::Hungarian), 8;
    Utf32SinhalaCi 179 "utf32_sinhala_ci" Utf32 of(L::Sinhala), 8;
    Utf32German2Ci 180 "utf32_german2_ci" Utf32 of(L::German2), 8;
    Utf32CroatianCi 181 "utf32_croatian_ci" Utf32 of(L::Croatian), 8;
    Utf32VietnameseCi 183 "utf32_vietnamese_ci" Utf32 of(L::Vietnamese), 8;
    Cp932JapaneseCi 95 "cp932_japanese_ci" Cp932 Order::Codes(Encoding::Cp932, true), 1;
    Cp932Bin 96 "cp932_bin" Cp932 Order::Codes(Encoding::Cp932, false), 1;
    SjisJapaneseCi 13 "sjis_japanese_ci" Sjis Order::Codes(Encoding::Sjis, true), 1;
    SjisBin 88 "sjis_bin" Sjis Order::Codes(Encoding::Sjis, false), 1;
    UjisJapaneseCi 12 "ujis_japanese_ci" Ujis Order::Codes(Encoding::Ujis, true), 1;
    UjisBin 91 "ujis_bin" Ujis Order::Codes(Encoding::Ujis, false), 1;
    EucjpmsJapaneseCi 97 "eucjpms_japanese_ci" Eucjpms Order::Codes(Encoding::Eucjpms, true), 1;
    EucjpmsBin 98 "eucjpms_bin" Eucjpms Order::Codes(Encoding::Eucjpms, false), 1;
    EuckrKoreanCi 19 "euckr_korean_ci" Euckr Order::Codes(Encoding::Euckr, true), 1;
    EuckrBin 85 "euckr_bin" Euckr Order::Codes(Encoding::Euckr, false), 1;
    Big5ChineseCi 1 "big5_chinese_ci" Big5 Order::Codes(Encoding::Big5, true), 1;
    Big5Bin 84 "big5_bin" Big5 Order::Codes(Encoding::Big5, false), 1;
    Gb2312ChineseCi 24 "gb2312_chinese_ci" Gb2312 Order::Codes(Encoding::Gb2312, true), 1;
    Gb2312Bin 86 "gb2312_bin" Gb2312 Order::Codes(Encoding::Gb2312, false), 1;
    GbkChineseCi 28 "gbk_chinese_ci" Gbk Order::Codes(Encoding::Gbk, true), 1;
    GbkBin 87 "gbk_bin" Gbk Order::Codes(Encoding::Gbk, false), 1;
    Armscii8GeneralCi 32 "armscii8_general_ci" Armscii8 single(Encoding::Armscii8, "armscii8_general_ci"), 1;
    Armscii8Bin 64 "armscii8_bin" Armscii8 Order::Single(Single::bin(Encoding::Armscii8)), 1;
    Cp1250GeneralCi 26 "cp1250_general_ci" Cp1250 single(Encoding::Cp1250, "cp1250_general_ci"), 1;
    Cp1250Bin 66 "cp1250_bin" Cp1250 Order::Single(Single::bin(Encoding::Cp1250)), 1;
    Cp1250CroatianCi 44 "cp1250_croatian_ci" Cp1250 single(Encoding::Cp1250, "cp1250_croatian_ci"), 1;
    Cp1250PolishCi 99 "cp1250_polish_ci" Cp1250 single(Encoding::Cp1250, "cp1250_polish_ci"), 1;
    Cp1251GeneralCi 51 "cp1251_general_ci" Cp1251 single(Encoding::Cp1251, "cp1251_general_ci"), 1;
    Cp1251Bin 50 "cp1251_bin" Cp1251 Order::Single(Single::bin(Encoding::Cp1251)), 1;
    Cp1251GeneralCs 52 "cp1251_general_cs" Cp1251 single(Encoding::Cp1251, "cp1251_general_cs"), 1;
    Cp1251BulgarianCi 14 "cp1251_bulgarian_ci" Cp1251 single(Encoding::Cp1251, "cp1251_bulgarian_ci"), 1;
    Cp1251UkrainianCi 23 "cp1251_ukrainian_ci" Cp1251 single(Encoding::Cp1251, "cp1251_ukrainian_ci"), 1;
    Cp1256GeneralCi 57 "cp1256_general_ci" Cp1256 single(Encoding::Cp1256, "cp1256_general_ci"), 1;
    Cp1256Bin 67 "cp1256_bin" Cp1256 Order::Single(Single::bin(Encoding::Cp1256)), 1;
    Cp1257GeneralCi 59 "cp1257_general_ci" Cp1257 single(Encoding::Cp1257, "cp1257_general_ci"), 1;
    Cp1257Bin 58 "cp1257_bin" Cp1257 Order::Single(Single::bin(Encoding::Cp1257)), 1;
    Cp1257LithuanianCi 29 "cp1257_lithuanian_ci" Cp1257 single(Encoding::Cp1257, "cp1257_lithuanian_ci"), 1;
    Cp850GeneralCi 4 "cp850_general_ci" Cp850 single(Encoding::Cp850, "cp850_general_ci"), 1;
    Cp850Bin 80 "cp850_bin" Cp850 Order::Single(Single::bin(Encoding::Cp850)), 1;
    Cp852GeneralCi 40 "cp852_general_ci" Cp852 single(Encoding::Cp852, "cp852_general_ci"), 1;
    Cp852Bin 81 "cp852_bin" Cp852 Order::Single(Single::bin(Encoding::Cp852)), 1;
    Cp866GeneralCi 36 "cp866_general_ci" Cp866 single(Encoding::Cp866, "cp866_general_ci"), 1;
    Cp866Bin 68 "cp866_bin" Cp866 Order::Single(Single::bin(Encoding::Cp866)), 1;
    Dec8SwedishCi 3 "dec8_swedish_ci" Dec8 single(Encoding::Dec8, "dec8_swedish_ci"), 1;
    Dec8Bin 69 "dec8_bin" Dec8 Order::Single(Single::bin(Encoding::Dec8)), 1;
    Geostd8GeneralCi 92 "geostd8_general_ci" Geostd8 single(Encoding::Geostd8, "geostd8_general_ci"), 1;
    Geostd8Bin 93 "geostd8_bin" Geostd8 Order::Single(Single::bin(Encoding::Geostd8)), 1;
    GreekGeneralCi 25 "greek_general_ci" Greek single(Encoding::Greek, "greek_general_ci"), 1;
    GreekBin 70 "greek_bin" Greek Order::Single(Single::bin(Encoding::Greek)), 1;
    HebrewGeneralCi 16 "hebrew_general_ci" Hebrew single(Encoding::Hebrew, "hebrew_general_ci"), 1;
    HebrewBin 71 "hebrew_bin" Hebrew Order::Single(Single::bin(Encoding::Hebrew)), 1;
    Hp8EnglishCi 6 "hp8_english_ci" Hp8 single(Encoding::Hp8, "hp8_english_ci"), 1;
    Hp8Bin 72 "hp8_bin" Hp8 Order::Single(Single::bin(Encoding::Hp8)), 1;
    Keybcs2GeneralCi 37 "keybcs2_general_ci" Keybcs2 single(Encoding::Keybcs2, "keybcs2_general_ci"), 1;
    Keybcs2Bin 73 "keybcs2_bin" Keybcs2 Order::Single(Single::bin(Encoding::Keybcs2)), 1;
    Koi8rGeneralCi 7 "koi8r_general_ci" Koi8r single(Encoding::Koi8r, "koi8r_general_ci"), 1;
    Koi8rBin 74 "koi8r_bin" Koi8r Order::Single(Single::bin(Encoding::Koi8r)), 1;
    Koi8uGeneralCi 22 "koi8u_general_ci" Koi8u single(Encoding::Koi8u, "koi8u_general_ci"), 1;
    Koi8uBin 75 "koi8u_bin" Koi8u Order::Single(Single::bin(Encoding::Koi8u)), 1;
    Latin2GeneralCi 9 "latin2_general_ci" Latin2 single(Encoding::Latin2, "latin2_general_ci"), 1;
    Latin2Bin 77 "latin2_bin" Latin2 Order::Single(Single::bin(Encoding::Latin2)), 1;
    Latin2CroatianCi 27 "latin2_croatian_ci" Latin2 single(Encoding::Latin2, "latin2_croatian_ci"), 1;
    Latin2HungarianCi 21 "latin2_hungarian_ci" Latin2 single(Encoding::Latin2, "latin2_hungarian_ci"), 1;
    Latin5TurkishCi 30 "latin5_turkish_ci" Latin5 single(Encoding::Latin5, "latin5_turkish_ci"), 1;
    Latin5Bin 78 "latin5_bin" Latin5 Order::Single(Single::bin(Encoding::Latin5)), 1;
    Latin7GeneralCi 41 "latin7_general_ci" Latin7 single(Encoding::Latin7, "latin7_general_ci"), 1;
    Latin7Bin 79 "latin7_bin" Latin7 Order::Single(Single::bin(Encoding::Latin7)), 1;
    Latin7GeneralCs 42 "latin7_general_cs" Latin7 single(Encoding::Latin7, "latin7_general_cs"), 1;
    Latin7EstonianCs 20 "latin7_estonian_cs" Latin7 single(Encoding::Latin7, "latin7_estonian_cs"), 1;
    MacceGeneralCi 38 "macce_general_ci" Macce single(Encoding::Macce, "macce_general_ci"), 1;
    MacceBin 43 "macce_bin" Macce Order::Single(Single::bin(Encoding::Macce)), 1;
    MacromanGeneralCi 39 "macroman_general_ci" Macroman single(Encoding::Macroman, "macroman_general_ci"), 1;
    MacromanBin 53 "macroman_bin" Macroman Order::Single(Single::bin(Encoding::Macroman)), 1;
}

impl Collation {
    /// That of texts of which nothing else is said: the default of utf8mb4, as in MySQL 8.
    pub const DEFAULT: Collation = Collation::Utf8mb40900AiCi;

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
        (self as u16) < Collation::Utf8mb3GeneralCi as u16
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
            Order::Single(order) => std::ptr::eq(order.weights, &latin1::BIN),
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
            Order::Latin1(weights) | Order::Single(Single { weights, .. }) => {
                weights[usize::from(b'a')] == weights[usize::from(b'A')]
            }
            Order::Uca(rules) => rules.levels != Levels::Tertiary,
        }
    }
    /// Whether characters of ASCII are the same only as a letter's capital and small, if at all.
    #[inline]
    pub fn keeps_ascii_apart(self) -> bool {
        // No need to look the rows up of the languageless ones.
        (self as u16) < Collation::Utf8mb4IcelandicCi as u16
            || match self.order() {
                Order::Uca(rules) => {
                    rules.levels == Levels::Tertiary || rules.language.keeps_ascii_apart()
                }
                Order::Single(order) => order.keeps_ascii_apart,
                Order::Codes(Encoding::Big5 | Encoding::Gb2312 | Encoding::Gbk, folds) => !folds,
                _ => true,
            }
    }
    /// Whether i and ı are small letters of their own, with İ and I as capitals.
    pub fn has_dotless_i(self) -> bool {
        match self.order() {
            Order::Uca(rules) => rules.language == L::Turkish,
            _ => self.character_set() == Charset::Latin5,
        }
    }
    /// Whether strings compare as if spaces followed them.
    pub fn pads(self) -> bool {
        match self.order() {
            Order::Bytes => false,
            Order::CodePoints | Order::GeneralCi => true,
            Order::Latin1(_) | Order::Single(_) | Order::Codes(..) => true,
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
