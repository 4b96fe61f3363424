//! The functions: one row each, beside what computes it.
//!
//! A file has the functions of one topic: a table `FUNCTIONS` of their rows, and the small functions that the rows point to. A
//! row says all that is known of its function: its names, how many arguments it takes, the type of its result and when that may
//! be NULL, what it depends on, how its arguments are bound, what computes it. To add a function is to add a row and what it
//! points to; nothing else lists functions, and there is no function that runs for want of another.
//!
//! [`Func`] is the position of a row among all of them. Names are looked up in a map that is made of the rows once.

mod aes;
mod bases;
mod call;
mod characters;
mod clock;
mod compare;
mod compress;
mod date_format;
mod dates;
mod digests;
mod encode;
mod files;
mod format;
mod fulltext;
mod gtid;
mod info;
mod json;
mod key_derivation;
mod net;
mod numeric;
mod random;
mod regexp;
mod sets;
mod spatial;
mod string;
mod substring;
mod times;
mod typing;
mod uuid;
mod wait;
mod xml;

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::Expr;
use crate::error::{SqlError, SqlResult};
use crate::types::{Collation, SqlType};

use call::{Call, Computed, Eval, Exit};
pub(super) use call::{call, max_result};
use encode::unhex;
pub(crate) use encode::{WRONG_BITS, has_wrong_bits};
pub(crate) use json::{
    argument as json_argument, path_of as json_path, refusal as json_schema_refusal,
};
pub(super) use json::{cast as cast_to_json, check_pairs, json_text, on, part as json_part};
pub use random::RandState;
use typing::Typing;
pub(super) use typing::joint;

/// Any number of arguments.
const ANY: usize = usize::MAX;

/// What is known of a function.
#[derive(Clone, Copy)]
struct Function {
    /// The name it prints under, in upper case.
    name: &'static str,
    /// Its other names.
    aliases: &'static [&'static str],
    /// Whether calls have these names; otherwise only the binder makes calls of it.
    called_by_name: bool,
    /// Least and greatest number of arguments.
    arity: (usize, usize),
    /// The type of a call's result.
    result: fn(&Typing<'_>) -> SqlType,
    /// When the result may be NULL.
    null: Null,
    /// What the result follows from.
    follows: Follows,
    /// See [`Func::reads_bytes`].
    reads_bytes: bool,
    /// See [`Func::takes_numbers`].
    takes_numbers: bool,
    /// See [`Func::takes_alike`].
    takes_alike: bool,
    /// See [`Func::joins`].
    joins: bool,
    /// See [`Func::compares`].
    compares: bool,
    /// See [`Func::is_quiet`].
    quiet: bool,
    /// See [`Func::takes_json`].
    takes_json: bool,
    /// See [`Func::makes_its_own`].
    makes_its_own: bool,
    eval: Eval,
}

/// When a result may be NULL.
#[derive(Clone, Copy)]
enum Null {
    /// If an argument is.
    OfAny,
    /// If an argument is, or if the text would be too long.
    OfAnyOrLong,
    /// If the first argument is, or if the text would be too long.
    OfFirstOrLong,
    /// If all arguments are.
    OfAll,
    /// Whatever the arguments are.
    Maybe,
    /// It never is.
    Never,
}

/// What a result follows from.
#[derive(Clone, Copy, PartialEq)]
enum Follows {
    /// The arguments alone.
    Arguments,
    /// The arguments and the statement's clock and zone.
    Clock,
    /// The arguments and what else the session has for a statement: user, `lc_time_names`.
    Statement,
    /// Each call: two in one statement may differ.
    Call,
}

/// A row: name, number of arguments, type of the result, what computes it; the rest is said by what is called on it.
const fn row(
    name: &'static str,
    arity: RangeInclusive<usize>,
    result: fn(&Typing<'_>) -> SqlType,
    eval: Eval,
) -> Function {
    Function {
        name,
        aliases: &[],
        called_by_name: true,
        arity: (*arity.start(), *arity.end()),
        result,
        null: Null::OfAny,
        follows: Follows::Arguments,
        reads_bytes: false,
        takes_numbers: false,
        takes_alike: false,
        joins: false,
        compares: false,
        quiet: false,
        takes_json: false,
        makes_its_own: false,
        eval,
    }
}

impl Function {
    /// Other names.
    const fn aka(mut self, aliases: &'static [&'static str]) -> Function {
        self.aliases = aliases;
        self
    }
    /// The result may be NULL when this says so, not just if an argument is.
    const fn null(mut self, null: Null) -> Function {
        self.null = null;
        self
    }
    /// The result follows from this, not from the arguments alone.
    const fn follows(mut self, follows: Follows) -> Function {
        self.follows = follows;
        self
    }
    /// See [`Func::reads_bytes`].
    const fn reads_bytes(mut self) -> Function {
        self.reads_bytes = true;
        self
    }
    /// See [`Func::takes_numbers`].
    const fn takes_numbers(mut self) -> Function {
        self.takes_numbers = true;
        self
    }
    /// See [`Func::takes_alike`].
    const fn takes_alike(mut self) -> Function {
        self.takes_alike = true;
        self
    }
    /// See [`Func::joins`].
    const fn joins(mut self) -> Function {
        self.joins = true;
        self
    }
    /// See [`Func::compares`].
    const fn compares(mut self) -> Function {
        self.compares = true;
        self
    }
    /// See [`Func::is_quiet`].
    const fn quiet(mut self) -> Function {
        self.quiet = true;
        self
    }
    /// See [`Func::takes_json`].
    const fn takes_json(mut self) -> Function {
        self.takes_json = true;
        self
    }
    /// See [`Func::makes_its_own`].
    const fn makes_its_own(mut self) -> Function {
        self.makes_its_own = true;
        self
    }
    /// The name is for messages: what has it is no call.
    const fn not_by_name(mut self) -> Function {
        self.called_by_name = false;
        self
    }
}

/// The tables of all topics.
const TOPICS: &[&[Function]] = &[
    aes::FUNCTIONS,
    bases::FUNCTIONS,
    characters::FUNCTIONS,
    clock::FUNCTIONS,
    compare::FUNCTIONS,
    compress::FUNCTIONS,
    date_format::FUNCTIONS,
    dates::FUNCTIONS,
    digests::FUNCTIONS,
    encode::FUNCTIONS,
    files::FUNCTIONS,
    format::FUNCTIONS,
    fulltext::FUNCTIONS,
    gtid::FUNCTIONS,
    info::FUNCTIONS,
    json::FUNCTIONS,
    net::FUNCTIONS,
    numeric::FUNCTIONS,
    random::FUNCTIONS,
    regexp::FUNCTIONS,
    sets::FUNCTIONS,
    spatial::FUNCTIONS,
    string::FUNCTIONS,
    substring::FUNCTIONS,
    times::FUNCTIONS,
    uuid::FUNCTIONS,
    wait::FUNCTIONS,
    xml::FUNCTIONS,
];

const COUNT: usize = {
    let (mut count, mut topic) = (0, 0);
    while topic < TOPICS.len() {
        count += TOPICS[topic].len();
        topic += 1;
    }
    count
};

/// All rows, one topic after the other.
static ROWS: [Function; COUNT] = {
    let mut rows = [TOPICS[0][0]; COUNT];
    let (mut at, mut topic) = (0, 0);
    while topic < TOPICS.len() {
        let mut i = 0;
        while i < TOPICS[topic].len() {
            rows[at] = TOPICS[topic][i];
            at += 1;
            i += 1;
        }
        topic += 1;
    }
    rows
};

/// A function: the position of its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Func(u16);

/// Those that are more than called by their name: the binder makes calls of them, or something is known of them elsewhere. Named
/// as variants are, for they stand in patterns.
#[allow(missing_docs, non_upper_case_globals)]
impl Func {
    pub const Abs: Func = Func::named("ABS");
    pub const BytesOf: Func = Func::named("CONVERT USING BINARY");
    pub const Ceil: Func = Func::named("CEIL");
    pub const Char: Func = Func::named("CHAR");
    pub const Coalesce: Func = Func::named("COALESCE");
    pub const Concat: Func = Func::named("CONCAT");
    pub const ConcatWs: Func = Func::named("CONCAT_WS");
    pub const DateDiff: Func = Func::named("DATEDIFF");
    pub const DayOfWeek: Func = Func::named("DAYOFWEEK");
    pub const BitCount: Func = Func::named("BIT_COUNT");
    pub const DayOfYear: Func = Func::named("DAYOFYEAR");
    pub const FindInSet: Func = Func::named("FIND_IN_SET");
    pub const Floor: Func = Func::named("FLOOR");
    pub const FulltextRank: Func = Func::named("MATCH AGAINST");
    pub const GetFormat: Func = Func::named("GET_FORMAT");
    pub const IfNull: Func = Func::named("IFNULL");
    pub const Interval: Func = Func::named("INTERVAL");
    pub const JsonBinary: Func = Func::named("CAST BINARY AS JSON");
    pub const JsonBoolean: Func = Func::named("CAST BOOLEAN AS JSON");
    pub const JsonExtract: Func = Func::named("JSON_EXTRACT");
    pub const JsonUnquote: Func = Func::named("JSON_UNQUOTE");
    pub const JsonSchemaValid: Func = Func::named("JSON_SCHEMA_VALID");
    pub const JsonSchemaReport: Func = Func::named("JSON_SCHEMA_VALIDATION_REPORT");
    pub const JsonValue: Func = Func::named("JSON_VALUE");
    pub const LTrim: Func = Func::named("LTRIM");
    pub const LastInsertId: Func = Func::named("LAST_INSERT_ID");
    pub const Locate: Func = Func::named("LOCATE");
    pub const RTrim: Func = Func::named("RTRIM");
    pub const MemberOf: Func = Func::named("MEMBER OF");
    pub const Rand: Func = Func::named("RAND");
    pub const Sha2: Func = Func::named("SHA2");
    pub const Soundex: Func = Func::named("SOUNDEX");
    pub const Substring: Func = Func::named("SUBSTRING");
    pub const TextOf: Func = Func::named("CONVERT BINARY USING");
    pub const TimeToSec: Func = Func::named("TIME_TO_SEC");
    pub const ToDays: Func = Func::named("TO_DAYS");
    pub const ToSeconds: Func = Func::named("TO_SECONDS");
    pub const Trim: Func = Func::named("TRIM");
    pub const UnixTimestamp: Func = Func::named("UNIX_TIMESTAMP");
    pub const Weekday: Func = Func::named("WEEKDAY");
    pub const WeightString: Func = Func::named("WEIGHT_STRING");
    pub const YearWeek: Func = Func::named("YEARWEEK");
}

impl Func {
    /// The function that prints under a name. What no row has does not compile: this is for constants.
    const fn named(name: &str) -> Func {
        let mut i = 0;
        while i < COUNT {
            if same(ROWS[i].name.as_bytes(), name.as_bytes()) {
                return Func(i as u16);
            }
            i += 1;
        }
        panic!("no row has this name")
    }
    fn row(self) -> &'static Function {
        &ROWS[usize::from(self.0)]
    }
    /// The name it prints under.
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// Whether two calls in one statement may differ.
    pub fn is_volatile(self) -> bool {
        self.row().follows == Follows::Call
    }
    /// Whether the result follows from the arguments alone, whoever asks and when.
    pub(crate) fn is_pure(self) -> bool {
        self.row().follows == Follows::Arguments
    }
    /// Whether it is about dates and times, which it takes texts and numbers for, too.
    pub(crate) fn is_of_dates(self) -> bool {
        let topics = [
            dates::FUNCTIONS,
            times::FUNCTIONS,
            date_format::FUNCTIONS,
            clock::FUNCTIONS,
        ];
        let mut rows = topics.into_iter().flatten();
        rows.any(|row| row.name == self.name())
    }
    /// Whether the result follows from the arguments, the statement's clock and zone and sql_mode: whoever computes it.
    pub(crate) fn is_anyones(self) -> bool {
        matches!(self.row().follows, Follows::Arguments | Follows::Clock)
    }
    /// Whether its result is about the bytes of its arguments rather than about the text they mean.
    pub(super) fn reads_bytes(self) -> bool {
        self.row().reads_bytes
    }
    /// Whether its arguments are all numbers, whatever they are given as.
    pub(super) fn takes_numbers(self) -> bool {
        self.row().takes_numbers
    }
    /// Whether its arguments are of one type: a placeholder among them gets that of the others.
    pub(super) fn takes_alike(self) -> bool {
        self.row().takes_alike
    }
    /// Whether its arguments that are texts come together in one text or one comparison, for which their character sets must meet.
    pub(super) fn joins(self) -> bool {
        self.row().joins || self.row().takes_alike
    }
    /// Whether it compares its arguments that are texts, for which they must agree on a collation.
    pub(super) fn compares(self) -> bool {
        self.row().compares
    }
    /// How many of its arguments, the first, are the texts of a regular expression's search: what is looked through, the expression and
    /// what takes its place. `None` of any other function.
    pub(super) fn regexp_texts(self) -> Option<usize> {
        match self.name() {
            "REGEXP_LIKE" | "REGEXP_INSTR" | "REGEXP_SUBSTR" => Some(2),
            "REGEXP_REPLACE" => Some(3),
            _ => None,
        }
    }
    /// Whether its text is read as a number without a word of what it has that is none.
    pub(super) fn is_quiet(self) -> bool {
        self.row().quiet
    }
    /// Whether documents among its arguments stay what they are; otherwise they are their texts.
    pub(super) fn takes_json(self) -> bool {
        self.row().takes_json
    }
    /// Whether its text is none of its arguments', like the digits of HEX(): it holds to its collation as a constant does.
    pub(super) fn makes_its_own(self) -> bool {
        self.row().makes_its_own
    }
    fn takes(self, count: usize) -> bool {
        let (least, most) = self.row().arity;
        (least..=most).contains(&count)
    }
}

impl fmt::Debug for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The functions by name and alias.
static BY_NAME: LazyLock<HashMap<&'static str, Func>> = LazyLock::new(|| {
    let named = (0u16..).map(Func).take(COUNT);
    named
        .filter(|f| f.row().called_by_name)
        .flat_map(|f| {
            let names = [f.row().name].into_iter();
            names
                .chain(f.row().aliases.iter().copied())
                .map(move |n| (n, f))
        })
        .collect()
});

/// The function of a name and number of arguments: `None` if there is no such name, error 1582 if the number is wrong.
pub(super) fn find(name: &str, count: usize) -> SqlResult<Option<Func>> {
    let found = match BY_NAME.get(name) {
        None => BY_NAME.get(name.to_ascii_uppercase().as_str()),
        found => found,
    };
    match found {
        Some(f) if !f.takes(count) => Err(wrong_arity(name)),
        found => Ok(found.copied()),
    }
}

/// Whether calls of a name are those of a function of the catalogue, however many arguments they have.
pub fn is_native(name: &str) -> bool {
    !matches!(find(name, 0), Ok(None))
}

/// Whether MySQL has a function of this upper-case name and there is none here.
pub(crate) fn is_missing(name: &str) -> bool {
    const FAMILIES: [&str; 3] = ["JSON_", "ST_", "MBR"];
    const NAMES: [&str; 7] = [
        "GROUPING",
        "ICU_VERSION",
        "MASTER_POS_WAIT",
        "ROLES_GRAPHML",
        "SOURCE_POS_WAIT",
        "WAIT_FOR_EXECUTED_GTID_SET",
        "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
    ];
    NAMES.contains(&name) || FAMILIES.iter().any(|f| name.starts_with(f))
}

/// Error 1582.
pub(super) fn wrong_arity(name: &str) -> SqlError {
    SqlError::new(
        1582,
        format!("Incorrect parameter count in the call to native function '{name}'"),
    )
}

/// Type of a call, and whether it can be NULL.
pub(super) fn result_type(f: Func, args: &[Expr], collation: Collation) -> (SqlType, bool) {
    let ty = (f.row().result)(&Typing { args, collation });
    let any = || args.iter().any(|a| a.nullable);
    let long = || call::may_be_long(ty.length);
    let null = match f.row().null {
        Null::OfAny => any(),
        Null::OfAnyOrLong => any() || long(),
        Null::OfFirstOrLong => args[0].nullable || long(),
        Null::OfAll => args.iter().all(|a| a.nullable),
        Null::Maybe => true,
        Null::Never => false,
    };
    (ty, null)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that two rows have would find one of them.
    #[test]
    fn names_are_of_one_function() {
        let names = ROWS
            .iter()
            .map(|r| usize::from(r.called_by_name) * (1 + r.aliases.len()));
        assert_eq!(BY_NAME.len(), names.sum::<usize>());
        for (name, f) in BY_NAME.iter() {
            assert_eq!(*name, name.to_ascii_uppercase());
            assert!(f.row().arity.0 <= f.row().arity.1, "{f:?}");
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(find("concat", 2), Ok(Some(Func::Concat)));
        assert_eq!(find("CeiLing", 1), Ok(Some(Func::Ceil)));
        assert_eq!(find("CEILING", 2), Err(wrong_arity("CEILING")));
        assert_eq!(find("CONVERT USING BINARY", 1), Ok(None));
        assert_eq!(format!("{:?}", Func::ConcatWs), "CONCAT_WS");
    }
}
