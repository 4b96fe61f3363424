//! Rules that a definition sets by expressions: CHECK constraints, generated columns. What they make of rows is
//! [`crate::computed`]'s.

use std::fmt::Write;

use super::Schema;

/// How the values of a generated column come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The expression, in the form of definitions.
    pub text: String,
    /// STORED rather than VIRTUAL.
    pub stored: bool,
    /// Whether rows hold its values: those of a STORED column always, those of a VIRTUAL one where they follow from more than the row,
    /// and in tables of before there was a choice.
    pub in_rows: bool,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: CheckName,
    /// The condition, in the form of definitions.
    pub condition: String,
    /// Whether rows are held to it.
    pub enforced: bool,
}

/// The name of a CHECK constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckName {
    /// One that was given.
    Given(String),
    /// One that is made of the table's name and this number: it follows the table's.
    Numbered(u32),
}

/// What is between a table's name and a number.
const NUMBERED: &str = "_chk_";

impl CheckName {
    /// The name in a table of this name: one that has the form of those that are made is taken for such a one, as dumps have them.
    pub fn given(name: &str, table: &str) -> CheckName {
        let rest = name.strip_prefix(table);
        let digits = rest.and_then(|rest| rest.strip_prefix(NUMBERED));
        let plain = |digits: &&str| !digits.starts_with(['0', '+']);
        match digits.filter(plain).and_then(|digits| digits.parse().ok()) {
            Some(number) => CheckName::Numbered(number),
            None => CheckName::Given(name.to_string()),
        }
    }

    /// The name, in a table of this name.
    pub fn of(&self, table: &str) -> String {
        match self {
            CheckName::Given(name) => name.clone(),
            CheckName::Numbered(number) => {
                let mut name = format!("{table}{NUMBERED}");
                // Writing to a String cannot fail.
                let _ = write!(name, "{number}");
                name
            }
        }
    }
}

impl Schema {
    /// Whether rows of both are held to the same CHECK constraints, whatever their names.
    pub fn same_checks(&self, other: &Schema) -> bool {
        let enforced = |s: &Schema| {
            let list = s.checks.iter().filter(|c| c.enforced);
            let mut list: Vec<String> = list.map(|c| c.condition.clone()).collect();
            list.sort();
            list
        };
        enforced(self) == enforced(other)
    }
    /// The CHECK constraints with their names in a table of this name, in the order of those, as MySQL lists them.
    pub fn checks_by_name(&self, table: &str) -> Vec<(String, &Check)> {
        let named = self.checks.iter().map(|c| (c.name.of(table), c));
        let mut list: Vec<(String, &Check)> = named.collect();
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_follow_the_table() {
        for (name, renamed) in [
            ("t_chk_1", "u_chk_1"),
            ("t_chk_01", "t_chk_01"),
            ("t_chk_", "t_chk_"),
            ("t_chk_x", "t_chk_x"),
            ("other_chk_1", "other_chk_1"),
            ("T_chk_1", "T_chk_1"),
        ] {
            let kept = CheckName::given(name, "t");
            assert_eq!(kept.of("t"), name);
            assert_eq!(kept.of("u"), renamed);
        }
    }
}
