//! `optimizer_switch`: which flags there are, and which of them a session has turned off.
//!
//! A flag is a row of the table below, under MySQL 8's name and in its order, so that numbers mean the same flags. One that is
//! `switched` turns a rewrite or a way to run on and off, which asks [`Switches::has`]. One that is `fixed` names what
//! MySQL has and Millpond does not, or does not do without: it is listed with the value that is true, may be set
//! to that, and is refused otherwise (error 1235). Names that MySQL does not have are refused as MySQL refuses them (error 1231).

use crate::error::{SqlError, SqlResult};

/// A flag, and what there is to it.
struct Row {
    flag: Flag,
    name: &'static str,
    /// Whether it may be anything but its default.
    switched: bool,
    /// Its default.
    on: bool,
}

impl Row {
    fn bit(&self) -> u64 {
        1 << self.flag as u32
    }
}

macro_rules! word {
    (on) => {
        true
    };
    (off) => {
        false
    };
    (switched) => {
        true
    };
    (fixed) => {
        false
    };
}

macro_rules! flags {
    ($first:ident $first_name:literal $first_change:ident $first_value:ident: $first_what:literal,
     $($flag:ident $name:literal $change:ident $value:ident: $what:literal,)*) => {
        /// A flag of `optimizer_switch`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Flag {
            #[doc = $first_what]
            $first,
            $(#[doc = $what] $flag,)*
        }

        /// All flags in MySQL's order.
        const FLAGS: &[Row] = &[
            Row {
                flag: Flag::$first,
                name: $first_name,
                switched: word!($first_change),
                on: word!($first_value),
            },
            $(Row {
                flag: Flag::$flag,
                name: $name,
                switched: word!($change),
                on: word!($value),
            },)*
        ];

        /// The variable's default.
        pub const DEFAULT: &str = concat!(
            $first_name, "=", stringify!($first_value),
            $(",", $name, "=", stringify!($value)),*
        );
    };
}

flags! {
    IndexMerge "index_merge" switched on: "One table by several indexes.",
    IndexMergeUnion "index_merge_union" switched on: "The rows that any of several indexes finds, in the order of the clustered index.",
    IndexMergeSortUnion "index_merge_sort_union" switched on: "The rows that any of several ranges of indexes finds.",
    IndexMergeIntersection "index_merge_intersection" switched on: "The rows that each of several indexes finds.",
    EngineConditionPushdown "engine_condition_pushdown" fixed off: "Conditions that another storage engine decides.",
    IndexConditionPushdown "index_condition_pushdown" switched on: "Conditions asked of index entries before their rows are fetched.",
    Mrr "mrr" fixed off: "Rows of a secondary index fetched in the order of the clustered index.",
    MrrCostBased "mrr_cost_based" fixed off: "Whether that is chosen by cost.",
    BlockNestedLoop "block_nested_loop" switched on: "Hash joins, which MySQL has had under this name since 8.0.20.",
    BatchedKeyAccess "batched_key_access" fixed off: "Join by key, a batch of keys at a time.",
    Materialization "materialization" switched on: "The rows of IN and EXISTS, kept to be looked up.",
    SemiJoin "semijoin" switched on: "IN and EXISTS as semi-joins and anti-joins.",
    LooseScan "loosescan" fixed off: "Semi-joins by one entry of an index a value.",
    FirstMatch "firstmatch" fixed on: "Semi-joins that go on with the first row found: how all of them run.",
    DuplicateWeedout "duplicateweedout" fixed off: "Semi-joins as joins, duplicates removed.",
    SubqueryMaterializationCostBased "subquery_materialization_cost_based" fixed on: "Whether rows of subqueries are kept is a matter of cost.",
    UseIndexExtensions "use_index_extensions" fixed on: "The primary key's columns as the last ones of secondary indexes.",
    ConditionFanoutFilter "condition_fanout_filter" switched on: "Conditions that no index decides count in estimates of joins.",
    DerivedMerge "derived_merge" switched on: "Derived tables and WITH queries as part of the block around them.",
    UseInvisibleIndexes "use_invisible_indexes" switched off: "Indexes that are invisible otherwise.",
    SkipScan "skip_scan" switched on: "Ranges of an index's later columns, by value of the first.",
    HashJoin "hash_join" fixed on: "Without effect, as in MySQL since 8.0.19.",
    SubqueryToDerived "subquery_to_derived" switched on: "Scalar subqueries as joins with derived tables, where that is cheaper.",
    PreferOrderingIndex "prefer_ordering_index" switched on: "An index that has the order of ORDER BY or GROUP BY, for the sake of LIMIT.",
    HypergraphOptimizer "hypergraph_optimizer" fixed off: "MySQL's other optimizer.",
    DerivedConditionPushdown "derived_condition_pushdown" switched on: "Conditions asked within derived tables.",
    HashSetOperations "hash_set_operations" fixed off: "INTERSECT and EXCEPT by hashing.",
}

/// A value of `optimizer_switch`: a bit a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Switches(u64);

impl Default for Switches {
    fn default() -> Switches {
        let on = FLAGS.iter().filter(|f| f.on);
        Switches(on.fold(0, |bits, f| bits | f.bit()))
    }
}

impl std::fmt::Display for Switches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, row) in FLAGS.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let value = if self.has(row.flag) { "on" } else { "off" };
            write!(f, "{comma}{}={value}", row.name)?;
        }
        Ok(())
    }
}

impl Switches {
    /// A value as the variable has it.
    pub fn of(text: &str) -> Switches {
        let all = Switches::default();
        all.with(text, all).unwrap_or(all)
    }

    /// Whether a flag is on.
    #[inline]
    pub fn has(self, flag: Flag) -> bool {
        self.0 & 1 << flag as u32 != 0
    }

    /// These with what a text such as `semijoin=off,derived_merge=default` says. A part `default` means the flags that no
    /// other part names, and `defaults` what they and the others that say so get. Errors 1231 and 1235.
    pub fn with(self, text: &str, defaults: Switches) -> SqlResult<Switches> {
        let mut rest = None;
        let (mut named, mut on) = (0u64, 0u64);
        let mut left = text;
        while !left.is_empty() {
            let (part, more) = left.split_once(',').unwrap_or((left, ""));
            if part.eq_ignore_ascii_case("default") && rest.is_none() {
                rest = Some(defaults);
            } else {
                let (row, value) = flag(part, defaults).ok_or_else(|| wrong(left))?;
                if named & row.bit() != 0 {
                    return Err(wrong(left));
                }
                named |= row.bit();
                on |= if value { row.bit() } else { 0 };
            }
            left = more;
        }
        let rest = rest.unwrap_or(self);
        Switches(on | rest.0 & !named).checked()
    }

    /// The flags of a number. Errors 1231 and 1235.
    pub fn of_bits(bits: u64) -> SqlResult<Switches> {
        match bits >> FLAGS.len() {
            0 => Switches(bits).checked(),
            _ => Err(wrong(&bits.to_string())),
        }
    }

    /// Itself, unless a fixed flag is not what it is.
    fn checked(self) -> SqlResult<Switches> {
        for row in FLAGS {
            if !row.switched && self.has(row.flag) != row.on {
                let value = if row.on { "off" } else { "on" };
                let what = format!("optimizer_switch='{}={value}'", row.name);
                return Err(SqlError::unsupported(what));
            }
        }
        Ok(self)
    }
}

/// The flag that a part names, and its value.
fn flag(part: &str, defaults: Switches) -> Option<(&'static Row, bool)> {
    let (name, value) = part.split_once('=')?;
    let row = FLAGS.iter().find(|f| f.name.eq_ignore_ascii_case(name))?;
    let value = match value.to_ascii_lowercase().as_str() {
        "on" => true,
        "off" => false,
        "default" => defaults.has(row.flag),
        _ => return None,
    };
    Some((row, value))
}

fn wrong(shown: &str) -> SqlError {
    let m = format!("Variable 'optimizer_switch' can't be set to the value of '{shown}'");
    SqlError::new(1231, m)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Switches, u16> {
        let all = Switches::default();
        all.with(text, all).map_err(|e| e.code)
    }

    #[test]
    fn the_default_is_as_listed() {
        assert_eq!(Switches::default().to_string(), DEFAULT);
        assert_eq!(with(DEFAULT), Ok(Switches::default()));
        assert_eq!(with(""), Ok(Switches::default()));
    }

    #[test]
    fn flags_are_switched() {
        let off = with("semijoin=off,DERIVED_MERGE=OFF").unwrap();
        assert!(!off.has(Flag::SemiJoin) && !off.has(Flag::DerivedMerge));
        assert!(off.has(Flag::BlockNestedLoop));
        let all = Switches::default();
        assert_eq!(off.with("default", all).unwrap(), all);
        let one = off.with("semijoin=default", all).unwrap();
        assert!(one.has(Flag::SemiJoin) && !one.has(Flag::DerivedMerge));
        let one = off.with("default,derived_merge=off", all).unwrap();
        assert!(one.has(Flag::SemiJoin) && !one.has(Flag::DerivedMerge));
        assert_eq!(Switches::of_bits(off.0).unwrap(), off);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert_eq!(with("mrr=on"), Err(1235));
        assert_eq!(with("firstmatch=off"), Err(1235));
        assert_eq!(
            with("mrr=off,mrr_cost_based=default"),
            Ok(Switches::default())
        );
        for text in [
            "nope=on",
            "semijoin",
            "semijoin=1",
            "semijoin=on,semijoin=off",
            "default,semijoin=on,default",
            ",",
            "on",
        ] {
            assert_eq!(with(text), Err(1231), "{text}");
        }
        assert_eq!(Switches::of_bits(1 << 27), Err(wrong("134217728")));
    }
}
