//! Locales: names of months and days (`lc_time_names`), and how FORMAT writes numbers.

use crate::error::{SqlError, SqlResult};

/// Names of months, from January, and of days, from Monday.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    /// The locale's name, such as `de_DE`.
    pub locale: &'static str,
    /// Months.
    pub months: [&'static str; 12],
    /// Months, abbreviated.
    pub short_months: [&'static str; 12],
    /// Days.
    pub days: [&'static str; 7],
    /// Days, abbreviated.
    pub short_days: [&'static str; 7],
}

/// How numbers are written.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub point: char,
    /// Between groups of digits.
    pub group: Option<char>,
    /// Groups but the last have two digits instead of three.
    pub pairs: bool,
    /// Where they are.
    locales: &'static str,
}

/// English comes first.
#[rustfmt::skip]
static NAMES: [Names; 9] = [
    Names {
        locale: "en_US",
        months: ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"],
        short_months: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        days: ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        short_days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    },
    Names {
        locale: "de_DE",
        months: ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
        short_months: ["Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        short_days: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
    },
    Names {
        locale: "fr_FR",
        months: ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"],
        short_months: ["jan", "fév", "mar", "avr", "mai", "jun", "jui", "aoû", "sep", "oct", "nov", "déc"],
        days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        short_days: ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"],
    },
    Names {
        locale: "es_ES",
        months: ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"],
        short_months: ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"],
        days: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
        short_days: ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
    },
    Names {
        locale: "it_IT",
        months: ["gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"],
        short_months: ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"],
        days: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
        short_days: ["lun", "mar", "mer", "gio", "ven", "sab", "dom"],
    },
    Names {
        locale: "pt_BR",
        months: ["janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"],
        short_months: ["Jan", "Fev", "Mar", "Abr", "Mai", "Jun", "Jul", "Ago", "Set", "Out", "Nov", "Dez"],
        days: ["segunda", "terça", "quarta", "quinta", "sexta", "sábado", "domingo"],
        short_days: ["Seg", "Ter", "Qua", "Qui", "Sex", "Sáb", "Dom"],
    },
    Names {
        locale: "nl_NL",
        months: ["januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november", "december"],
        short_months: ["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
        days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
        short_days: ["ma", "di", "wo", "do", "vr", "za", "zo"],
    },
    Names {
        locale: "sv_SE",
        months: ["januari", "februari", "mars", "april", "maj", "juni", "juli", "augusti", "september", "oktober", "november", "december"],
        short_months: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
        days: ["måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
        short_days: ["mån", "tis", "ons", "tor", "fre", "lör", "sön"],
    },
    Names {
        locale: "pl_PL",
        months: ["styczeń", "luty", "marzec", "kwiecień", "maj", "czerwiec", "lipiec", "sierpień", "wrzesień", "październik", "listopad", "grudzień"],
        short_months: ["sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "paź", "lis", "gru"],
        days: ["poniedziałek", "wtorek", "środa", "czwartek", "piątek", "sobota", "niedziela"],
        short_days: ["pon", "wto", "śro", "czw", "pią", "sob", "nie"],
    },
];

/// MySQL's locales.
#[rustfmt::skip]
static NUMBERS: [Numbers; 8] = [
    Numbers {
        point: '.',
        group: Some(','),
        pairs: false,
        locales: "ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA ar_SD ar_SY \
            ar_TN ar_YE en_AU en_CA en_GB en_NZ en_PH en_US en_ZA en_ZW es_DO es_GT es_HN es_MX es_NI \
            es_PA es_PE es_PR es_SV es_US gu_IN he_IL hi_IN ja_JP ko_KR ms_MY th_TH ur_PK zh_CN zh_HK \
            zh_TW",
    },
    Numbers {
        point: '.',
        group: None,
        pairs: false,
        locales: "ar_SA sr_RS",
    },
    Numbers {
        point: ',',
        group: Some('.'),
        pairs: false,
        locales: "be_BY da_DK de_BE de_DE de_LU es_AR es_BO es_CL es_CO es_EC es_ES es_PY es_UY es_VE fo_FO \
            hu_HU id_ID is_IS lt_LT mn_MN nb_NO no_NO ro_RO ru_UA sq_AL tr_TR uk_UA vi_VN",
    },
    Numbers {
        point: ',',
        group: None,
        pairs: false,
        locales: "bg_BG ca_ES de_AT el_GR eu_ES fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES hr_HR it_IT nl_BE nl_NL \
            pl_PL pt_BR pt_PT sl_SI",
    },
    Numbers {
        point: ',',
        group: Some(' '),
        pairs: false,
        locales: "cs_CZ es_CR et_EE fi_FI lv_LV mk_MK ru_RU sk_SK sv_FI sv_SE",
    },
    Numbers {
        point: '.',
        group: Some('\''),
        pairs: false,
        locales: "de_CH",
    },
    Numbers {
        point: '.',
        group: Some(','),
        pairs: true,
        locales: "en_IN ta_IN te_IN",
    },
    Numbers {
        point: ',',
        group: Some('\''),
        pairs: false,
        locales: "it_CH rm_CH",
    },
];

/// What texts of STR_TO_DATE and formats without a locale are written in.
pub const ENGLISH: &Names = &NAMES[0];

/// How a locale writes numbers; `None` for one that MySQL does not have.
pub(crate) fn numbers(locale: &str) -> Option<&'static Numbers> {
    NUMBERS.iter().find(|n| {
        let mut all = n.locales.split_ascii_whitespace();
        all.any(|l| l.eq_ignore_ascii_case(locale))
    })
}

/// A locale's names: error 1649 for one that MySQL does not have, 1235 for one whose names are not here.
pub fn names(locale: &str) -> SqlResult<&'static Names> {
    let found = NAMES.iter().find(|n| n.locale.eq_ignore_ascii_case(locale));
    match found {
        Some(names) => Ok(names),
        None if numbers(locale).is_some() => {
            let m = format_args!("lc_time_names = '{locale}'");
            Err(SqlError::unsupported(m))
        }
        None => Err(unknown(locale)),
    }
}

/// Error and warning 1649.
pub(crate) fn unknown(locale: &str) -> SqlError {
    SqlError::new(1649, format!("Unknown locale: '{locale}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_are_known_once() {
        let all = NUMBERS.iter().map(|n| n.locales.split_ascii_whitespace());
        let mut all: Vec<&str> = all.flatten().collect();
        assert_eq!(all.len(), 111);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 111);
        for n in &NAMES {
            assert!(all.binary_search(&n.locale).is_ok(), "{}", n.locale);
            assert_eq!(names(n.locale).unwrap(), n);
        }
        assert_eq!(names("ja_JP").unwrap_err().code, 1235);
        assert_eq!(names("xx_XX").unwrap_err().code, 1649);
    }
}
