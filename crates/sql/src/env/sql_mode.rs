//! sql_mode: names, bits and what evaluation asks about.

use crate::env::SqlMode;
use crate::error::{SqlError, SqlResult};

/// Names by bit position, as MySQL 8 numbers them; empty where a number was given up.
const NAMES: [&str; 33] = [
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// REAL means FLOAT.
pub const REAL_AS_FLOAT: u64 = 1 << 0;
const PIPES_AS_CONCAT: u64 = 1 << 1;
const ANSI_QUOTES: u64 = 1 << 2;
const IGNORE_SPACE: u64 = 1 << 3;
const ONLY_FULL_GROUP_BY: u64 = 1 << 5;
const NO_UNSIGNED_SUBTRACTION: u64 = 1 << 6;
const ANSI: u64 = 1 << 18;
const NO_AUTO_VALUE_ON_ZERO: u64 = 1 << 19;
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
const STRICT_TRANS_TABLES: u64 = 1 << 21;
const STRICT_ALL_TABLES: u64 = 1 << 22;
const NO_ZERO_IN_DATE: u64 = 1 << 23;
const NO_ZERO_DATE: u64 = 1 << 24;
const ALLOW_INVALID_DATES: u64 = 1 << 25;
const ERROR_FOR_DIVISION_BY_ZERO: u64 = 1 << 26;
const TRADITIONAL: u64 = 1 << 27;
const HIGH_NOT_PRECEDENCE: u64 = 1 << 29;
const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;
/// An unknown ENGINE is an error.
pub const NO_ENGINE_SUBSTITUTION: u64 = 1 << 30;

/// A mode of MySQL 5.7 and MariaDB that their dumps set before each routine, trigger and event: MySQL 8 has no more of it than what it
/// asked for, that GRANT makes no accounts.
const ALWAYS_ON: &str = "NO_AUTO_CREATE_USER";

fn wrong(text: &str) -> SqlError {
    SqlError::new(
        1231,
        format!("Variable 'sql_mode' can't be set to the value of '{text}'"),
    )
}

/// Bits of a comma-separated list.
pub fn parse(list: &str) -> SqlResult<u64> {
    let mut bits = 0;
    for name in list.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        if name.eq_ignore_ascii_case(ALWAYS_ON) {
            continue;
        }
        let bit = NAMES
            .iter()
            .position(|n| n.eq_ignore_ascii_case(name))
            .ok_or_else(|| wrong(name))?;
        bits |= 1 << bit;
    }
    from_bits(bits)
}

/// Checks bits and adds what the combining modes stand for.
pub fn from_bits(bits: u64) -> SqlResult<u64> {
    if bits >> NAMES.len() != 0 {
        return Err(wrong(&bits.to_string()));
    }
    let given_up = |(i, name): (usize, &&str)| name.is_empty() && bits & (1 << i) != 0;
    if NAMES.iter().enumerate().any(given_up) {
        return Err(wrong(&bits.to_string()));
    }
    let mut bits = bits;
    if bits & ANSI != 0 {
        bits |= REAL_AS_FLOAT | PIPES_AS_CONCAT | ANSI_QUOTES | IGNORE_SPACE | ONLY_FULL_GROUP_BY;
    }
    if bits & TRADITIONAL != 0 {
        bits |= STRICT_TRANS_TABLES
            | STRICT_ALL_TABLES
            | NO_ZERO_IN_DATE
            | NO_ZERO_DATE
            | ERROR_FOR_DIVISION_BY_ZERO
            | NO_ENGINE_SUBSTITUTION;
    }
    Ok(bits)
}

/// The list that these bits make.
pub fn format(bits: u64) -> String {
    let names: Vec<&str> = NAMES
        .iter()
        .enumerate()
        .filter(|(i, _)| bits & (1 << i) != 0)
        .map(|(_, n)| *n)
        .collect();
    names.join(",")
}

/// What setting a list of modes warns of: strict mode without all that belong to it, or some of those without it, and a deprecated mode.
pub fn warnings(list: &str) -> impl Iterator<Item = (u16, &'static str)> {
    const OF_STRICT: u64 = NO_ZERO_DATE | NO_ZERO_IN_DATE | ERROR_FOR_DIVISION_BY_ZERO;
    let bits = parse(list).unwrap_or(0);
    let whole = match bits & (STRICT_TRANS_TABLES | STRICT_ALL_TABLES) {
        0 => 0,
        _ => OF_STRICT,
    };
    let strict = (bits & OF_STRICT != whole).then_some((
        3135,
        "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes should be used with strict mode. \
         They will be merged with strict mode in a future release.",
    ));
    let padding = (bits & PAD_CHAR_TO_FULL_LENGTH != 0).then_some((
        3090,
        "Changing sql mode 'PAD_CHAR_TO_FULL_LENGTH' is deprecated. It will be removed in a future release.",
    ));
    strict.into_iter().chain(padding)
}

/// What evaluation and conversion ask about.
pub fn flags(bits: u64) -> SqlMode {
    let has = |b: u64| bits & b != 0;
    SqlMode {
        strict: has(STRICT_TRANS_TABLES | STRICT_ALL_TABLES),
        strict_all: has(STRICT_ALL_TABLES),
        no_zero_date: has(NO_ZERO_DATE),
        no_zero_in_date: has(NO_ZERO_IN_DATE),
        error_for_division_by_zero: has(ERROR_FOR_DIVISION_BY_ZERO),
        ansi_quotes: has(ANSI_QUOTES),
        pipes_as_concat: has(PIPES_AS_CONCAT),
        no_backslash_escapes: has(NO_BACKSLASH_ESCAPES),
        high_not_precedence: has(HIGH_NOT_PRECEDENCE),
        ignore_space: has(IGNORE_SPACE),
        no_auto_value_on_zero: has(NO_AUTO_VALUE_ON_ZERO),
        only_full_group_by: has(ONLY_FULL_GROUP_BY),
        no_unsigned_subtraction: has(NO_UNSIGNED_SUBTRACTION),
        pad_char: has(PAD_CHAR_TO_FULL_LENGTH),
        truncate_fractions: has(TIME_TRUNCATE_FRACTIONAL),
        invalid_dates: has(ALLOW_INVALID_DATES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combining_modes_bring_their_parts() {
        let bits = parse("traditional").unwrap();
        assert!(flags(bits).strict && flags(bits).no_zero_date);
        assert_eq!(parse(&format(bits)), Ok(bits));
        assert_eq!(parse(""), Ok(0));
        assert_eq!(parse("NO_AUTO_CREATE_USER"), Ok(0));
        assert!(flags(parse("ALLOW_INVALID_DATES").unwrap()).invalid_dates);
        assert_eq!(parse("x").unwrap_err().code, 1231);
    }
}
