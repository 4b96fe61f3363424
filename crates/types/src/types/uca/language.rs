//! The languages whose letters stand elsewhere than the untailored tables have them, as rules ([`super::tailoring`] reads them).
//!
//! Those with version 4.0.0 (`utf8mb4_czech_ci`) are told by which letters MySQL's collations of these names move where; Persian's and
//! Sinhala's rows follow the order in which a server with them has the characters. Those with 9.0.0 (`utf8mb4_cs_0900_ai_ci`) are
//! CLDR's, release 30 as in MySQL 8.0 (LICENSE-UNICODE covers them), but for the classical Latin that MySQL has: there j is an i with an accent and
//! u a v.

use std::sync::OnceLock;

use super::tables::Tables;
use super::tailoring::tailored;
use super::{Levels, Version};

/// Declares [`Language`] and its rules.
macro_rules! languages {
    ($($variant:ident $version:ident $rules:literal;)*) => {
        /// Whose letters stand elsewhere.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum Language {
            /// Nobody's.
            Root,
            $($variant,)*
        }

        static LANGUAGES: [(Version, &str); Language::COUNT] = [$((Version::$version, $rules),)*];

        impl Language {
            const COUNT: usize = [$(stringify!($variant),)*].len();
        }
    };
}

languages! {
    Icelandic V4 "&A<á<<<Á&D<ð<<<Ð&E<é<<<É&I<í<<<Í&O<ó<<<Ó&U<ú<<<Ú&Y<ý<<<Ý&Z<þ<<<Þ<æ<<<Æ<<ä<<<Ä<ö<<<Ö<<ø<<<Ø<å<<<Å";
    Latvian V4 "&C<č<<<Č&G<ģ<<<Ģ&I<y<<<Y&K<ķ<<<Ķ&L<ļ<<<Ļ&N<ņ<<<Ņ&R<ŗ<<<Ŗ&S<š<<<Š&Z<ž<<<Ž";
    Romanian V4 "&A<ă<<<Ă<â<<<Â&I<î<<<Î&S<ş=ș<<<Ş=Ș&T<ţ=ț<<<Ţ=Ț";
    Slovenian V4 "&C<č<<<Č&S<š<<<Š&Z<ž<<<Ž";
    Polish V4 "&A<ą<<<Ą&C<ć<<<Ć&E<ę<<<Ę&L<ł<<<Ł&N<ń<<<Ń&O<ó<<<Ó&S<ś<<<Ś&Z<ź<<<Ź<ż<<<Ż";
    Estonian V4 "&S<š<<<Š<z<<<Z<ž<<<Ž&W<õ<<<Õ<ä<<<Ä<ö<<<Ö<ü<<<Ü";
    Spanish V4 "&N<ñ<<<Ñ";
    Swedish V4 "&Y<<ü<<<Ü&Z<å<<<Å<ä<<<Ä<<æ<<<Æ<ö<<<Ö<<ø<<<Ø";
    Turkish V4 "&C<ç<<<Ç&G<ğ<<<Ğ&H<ı<<<I&O<ö<<<Ö&S<ş<<<Ş&U<ü<<<Ü";
    Czech V4 "&C<č<<<Č&H<ch<<<Ch<<<CH&R<ř<<<Ř&S<š<<<Š&Z<ž<<<Ž";
    Danish V4 "&Y<<ü<<<Ü<<ű<<<Ű&Z<æ<<<Æ<<ä<<<Ä<ø<<<Ø<<ö<<<Ö<<ő<<<Ő<å<<<Å<<aa<<<Aa<<<AA";
    Lithuanian V4 "&C<<ch<<<Ch<<<CH<č<<<Č&I<<y<<<Y&S<š<<<Š&Z<ž<<<Ž";
    Slovak V4 "&A<ä<<<Ä&C<č<<<Č&H<ch<<<Ch<<<CH&O<ô<<<Ô&S<š<<<Š&Z<ž<<<Ž";
    Spanish2 V4 "&C<ch<<<Ch<<<CH&L<ll<<<Ll<<<LL&N<ñ<<<Ñ";
    Roman V4 "&I<<j<<<J&V<<u<<<U";
    Persian V4
        "&\u{0}<\u{653}<\u{654}<\u{655}<\u{670}\
        &\u{66d}<\u{64e}<\u{fe76}<\u{fe77}<\u{650}<\u{fe7a}<\u{fe7b}<\u{64f}<\u{fe78}<\u{fe79}<\u{64b}<\u{fe70}\
        <\u{fe71}<\u{64d}<\u{fe74}<\u{64c}<\u{fe72}&9<\u{622}<\u{627}<\u{671}<\u{621}<\u{623}<\u{625}<\u{624}<\u{626}\
        &\u{fe81}<\u{fe82}<\u{fe8d}<\u{fe8e}<\u{fb50}<\u{fb51}<\u{fe80}<\u{fe83}<\u{fe84}<\u{fe87}<\u{fe88}<\u{fe85}\
        <\u{fe86}<\u{689}<\u{68a}&\u{631}<\u{fdfc}&\u{642}<\u{6a9}=\u{fb8e}<\u{643}=\u{fb8f}<\u{fb90}\
        &\u{fb91}<\u{fed9}<\u{feda}<\u{fedb}<\u{fedc}\
        &\u{648}<\u{647}=\u{fee9}<\u{629}=\u{feea}<\u{6c0}=\u{feeb}<\u{6cc}=\u{feec}<\u{649}=\u{fe93}\
        <\u{64a}=\u{fe94}<\u{fba4}<\u{fba5}<\u{fbfc}<\u{fbfd}<\u{fbfe}\
        &\u{fbff}<\u{feef}<\u{fef0}<\u{fef1}<\u{fef2}<\u{fef3}<\u{fef4}<\u{fef5}<\u{fef6}<\u{fef7}<\u{fef8}<\u{fef9}\
        <\u{fefa}<\u{fefb}<\u{fefc}";
    Esperanto V4 "&C<ĉ<<<Ĉ&G<ĝ<<<Ĝ&H<ĥ<<<Ĥ&J<ĵ<<<Ĵ&S<ŝ<<<Ŝ&U<ŭ<<<Ŭ";
    Hungarian V4 "&O<ö<<<Ö<<ő<<<Ő&U<ü<<<Ü<<ű<<<Ű";
    Sinhala V4
        "&\u{d96}<\u{d82}<\u{d83}<\u{d9a}<\u{d9b}<\u{d9c}<\u{d9d}<\u{d9e}<\u{d9f}<\u{da0}<\u{da1}<\u{da2}<\u{da3}\
        <\u{da5}<\u{da4}<\u{da6}<\u{da7}<\u{da8}<\u{da9}<\u{daa}<\u{dab}<\u{dac}<\u{dad}<\u{dae}<\u{daf}<\u{db0}\
        <\u{db1}<\u{db3}<\u{db4}<\u{db5}<\u{db6}<\u{db7}<\u{db8}<\u{db9}<\u{dba}<\u{dbb}<\u{dbd}<\u{dc0}<\u{dc1}\
        <\u{dc2}<\u{dc3}<\u{dc4}<\u{dc5}<\u{dc6}<\u{dcf}<\u{dd0}<\u{dd1}<\u{dd2}<\u{dd3}<\u{dd4}<\u{dd6}<\u{dd8}\
        <\u{df2}<\u{ddf}<\u{df3}<\u{dd9}<\u{dda}<\u{ddb}<\u{ddc}<\u{ddd}<\u{dde}<\u{dca}";
    German2 V4 "&AE<<ä<<<Ä<<æ<<<Æ&OE<<ö<<<Ö&UE<<ü<<<Ü";
    Croatian V4 "&C<č<<<Č<ć<<<Ć&D<dž=ǆ<<<dŽ<<<Dž=ǅ<<<DŽ=Ǆ<đ<<<Đ&L<lj=ǉ<<<lJ<<<Lj=ǈ<<<LJ=Ǉ&N<nj=ǌ<<<nJ<<<Nj=ǋ<<<NJ=Ǌ&S<š<<<Š&Z<ž<<<Ž";
    Vietnamese V4
        "&A<Ă=ă=Ắ=ắ=Ằ=ằ=Ẳ=ẳ=Ẵ=ẵ=Ặ=ặ<Â=â=Ấ=ấ=Ầ=ầ=Ẩ=ẩ=Ẫ=ẫ=Ậ=ậ&D<Đ=đ&E<Ê=ê=Ế=ế=Ề=ề=Ể=ể=Ễ=ễ=Ệ=ệ\
        &O<Ô=ô=Ố=ố=Ồ=ồ=Ổ=ổ=Ỗ=ỗ=Ộ=ộ<Ơ=ơ=Ớ=ớ=Ờ=ờ=Ở=ở=Ỡ=ỡ=Ợ=ợ&U<Ư=ư=Ứ=ứ=Ừ=ừ=Ử=ử=Ữ=ữ=Ự=ự";
    DePb V9 "&AE<<ä<<<Ä&OE<<ö<<<Ö&UE<<ü<<<Ü";
    Is V9
        "&[before 1]b<á<<<Á&d<<đ<<<Đ<ð<<<Ð&[before 1]f<é<<<É&[before 1]j<í<<<Í&[before 1]p<ó<<<Ó&[before 1]v<ú<<<Ú\
        &[before 1]z<ý<<<Ý&[before 1]ǀ<æ<<<Æ<<ä<<<Ä<ö<<<Ö<<ø<<<Ø<å<<<Å";
    Lv V9
        "&[before 1]D<č<<<Č&[before 1]H<ģ<<<Ģ&I<<y<<<Y&[before 1]L<ķ<<<Ķ&[before 1]M<ļ<<<Ļ&[before 1]O<ņ<<<Ņ&[before 1]S<ŗ<<<Ŗ\
        &[before 1]T<š<<<Š&[before 1]Ʒ<ž<<<Ž";
    Ro V9 "&A<ă<<<Ă<â<<<Â&I<î<<<Î&S<ş=ș<<<Ş=Ș&T<ţ=ț<<<Ţ=Ț";
    Sl V9 "&C<č<<<Č<ć<<<Ć&D<đ<<<Đ&S<š<<<Š&Z<ž<<<Ž";
    Pl V9 "&A<ą<<<Ą&C<ć<<<Ć&E<ę<<<Ę&L<ł<<<Ł&N<ń<<<Ń&O<ó<<<Ó&S<ś<<<Ś&Z<ź<<<Ź<ż<<<Ż";
    Et V9 "&[before 1]T<š<<<Š<z<<<Z<ž<<<Ž&[before 1]X<õ<<<Õ<ä<<<Ä<ö<<<Ö<ü<<<Ü";
    Es V9 "&N<ñ<<<Ñ";
    Sv V9
        "&D<<đ<<<Đ<<ð<<<Ð&t<<<þ/h&T<<<Þ/H&v<<<V<<w<<<W&Y<<ü<<<Ü<<ű<<<Ű\
        &[before 1]ǀ<å<<<Å<ä<<<Ä<<æ<<<Æ<<ę<<<Ę<ö<<<Ö<<ø<<<Ø<<ő<<<Ő<<œ<<<Œ<<ô<<<Ô";
    Tr V9 "&C<ç<<<Ç&G<ğ<<<Ğ&[before 1]i<ı<<<I&i<<<İ&O<ö<<<Ö&S<ş<<<Ş&U<ü<<<Ü";
    Cs V9 "&C<č<<<Č&H<ch<<<cH<<<Ch<<<CH&R<ř<<<Ř&S<š<<<Š&Z<ž<<<Ž";
    Da V9
        "[caseFirst upper]&D<<đ<<<Đ<<ð<<<Ð&t<<<þ/h&T<<<Þ/H&Y<<ü<<<Ü<<ű<<<Ű\
        &[before 1]ǀ<æ<<<Æ<<ä<<<Ä<ø<<<Ø<<ö<<<Ö<<ő<<<Ő<<œ<<<Œ<å<<<Å<<<aa<<<Aa<<<AA";
    Lt V9
        "&\u{300}=\u{307}\u{300}&\u{301}=\u{307}\u{301}&\u{303}=\u{307}\u{303}&A<<ą<<<Ą&C<č<<<Č&E<<ę<<<Ę<<ė<<<Ė&I<<į<<<Į<<y<<<Y\
        &S<š<<<Š&U<<ų<<<Ų<<ū<<<Ū&Z<ž<<<Ž";
    Sk V9 "&A<ä<<<Ä&C<č<<<Č&H<ch<<<cH<<<Ch<<<CH&O<ô<<<Ô&R<ř<<<Ř&S<š<<<Š&Z<ž<<<Ž";
    EsTrad V9 "&N<ñ<<<Ñ&C<ch<<<Ch<<<CH&l<ll<<<Ll<<<LL";
    La V9 "&I<<j<<<J&V<<u<<<U";
    Eo V9 "&C<ĉ<<<Ĉ&G<ĝ<<<Ĝ&H<ĥ<<<Ĥ&J<ĵ<<<Ĵ&S<ŝ<<<Ŝ&U<ŭ<<<Ŭ";
    Hu V9
        "&C<cs<<<Cs<<<CS&D<dz<<<Dz<<<DZ&DZ<dzs<<<Dzs<<<DZS&G<gy<<<Gy<<<GY&L<ly<<<Ly<<<LY&N<ny<<<Ny<<<NY&S<sz<<<Sz<<<SZ\
        &T<ty<<<Ty<<<TY&Z<zs<<<Zs<<<ZS&O<ö<<<Ö<<ő<<<Ő&U<ü<<<Ü<<ű<<<Ű&cs<<<ccs/cs&Cs<<<Ccs/cs&CS<<<CCS/CS&dz<<<ddz/dz\
        &Dz<<<Ddz/dz&DZ<<<DDZ/DZ&dzs<<<ddzs/dzs&Dzs<<<Ddzs/dzs&DZS<<<DDZS/DZS&gy<<<ggy/gy&Gy<<<Ggy/gy&GY<<<GGY/GY&ly<<<lly/ly\
        &Ly<<<Lly/ly&LY<<<LLY/LY&ny<<<nny/ny&Ny<<<Nny/ny&NY<<<NNY/NY&sz<<<ssz/sz&Sz<<<Ssz/sz&SZ<<<SSZ/SZ&ty<<<tty/ty\
        &Ty<<<Tty/ty&TY<<<TTY/TY&zs<<<zzs/zs&Zs<<<Zzs/zs&ZS<<<ZZS/ZS";
    Hr V9
        "[reorder Latn Cyrl]&C<č<<<Č<ć<<<Ć&D<dž<<<ǆ<<<Dž<<<ǅ<<<DŽ<<<Ǆ<đ<<<Đ&L<lj<<<ǉ<<<Lj<<<ǈ<<<LJ<<<Ǉ\
        &N<nj<<<ǌ<<<Nj<<<ǋ<<<NJ<<<Ǌ&S<š<<<Š&Z<ž<<<Ž";
    Vi V9 "&\u{300}<<\u{309}<<\u{303}<<\u{301}<<\u{323}&a<ă<<<Ă<â<<<Â&d<đ<<<Đ&e<ê<<<Ê&o<ô<<<Ô<ơ<<<Ơ&u<ư<<<Ư";
    Ru V9 "[reorder Cyrl]";
    MnCyrl V9 "[reorder Cyrl Mong]";
    Nb V9
        "&D<<đ<<<Đ<<ð<<<Ð&t<<<þ/h&T<<<Þ/H&Y<<ü<<<Ü<<ű<<<Ű\
        &[before 1]ǀ<æ<<<Æ<<ä<<<Ä<<ę<<<Ę<ø<<<Ø<<ö<<<Ö<<ő<<<Ő<<œ<<<Œ<å<<<Å<<aa<<<Aa<<<AA";
}

impl Language {
    /// The weights of a level, made when they are first asked for.
    pub(super) fn tables(self, level: Levels) -> &'static Tables {
        static MADE: [[OnceLock<Tables>; 3]; Language::COUNT] =
            [const { [const { OnceLock::new() }; 3] }; Language::COUNT];
        let at = self as usize - 1;
        MADE[at][level as usize].get_or_init(|| {
            let (version, rules) = LANGUAGES[at];
            tailored(version.tables(level), version, level, rules)
        })
    }

    /// The version of the tables that its rules are for.
    #[cfg(test)]
    pub(crate) fn version(self) -> Option<Version> {
        let row = (self as usize).checked_sub(1)?;
        Some(LANGUAGES[row].0)
    }

    /// Whether letters of ASCII are the same only as a capital and a small one of a letter.
    pub(crate) fn keeps_ascii_apart(self) -> bool {
        use Language as L;
        !matches!(
            self,
            L::Turkish | L::Tr | L::Roman | L::La | L::Lithuanian | L::Lt | L::Lv | L::Sv
        )
    }
}
