//! Foreign keys, as the definition of the table that has them says: see `docs/foreign-keys.md`.

use std::fmt::Write;

use millpond_syntax::quote::Quotes;

use super::bytes::{Reader, Writer, corrupt};
use super::{Index, Schema};
use crate::error::SqlResult;

/// What becomes of a row whose parent goes, or whose parent's key changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferentialAction {
    /// The parent's change is refused. As InnoDB checks at once, this is RESTRICT by another name.
    #[default]
    NoAction,
    /// The parent's change is refused.
    Restrict,
    /// It goes, or changes, too.
    Cascade,
    /// Its columns become NULL.
    SetNull,
}

const ACTIONS: [ReferentialAction; 4] = [
    ReferentialAction::NoAction,
    ReferentialAction::Restrict,
    ReferentialAction::Cascade,
    ReferentialAction::SetNull,
];

impl ReferentialAction {
    /// It in SQL.
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
        }
    }
    /// Whether it changes the child instead of refusing.
    pub fn acts(self) -> bool {
        matches!(
            self,
            ReferentialAction::Cascade | ReferentialAction::SetNull
        )
    }
}

/// A foreign key. The parent is known by name: it may be missing, and come later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Name of the constraint, unique in its database without regard to case.
    pub name: String,
    /// Columns of the child, by name.
    pub columns: Vec<String>,
    /// The parent: database and table.
    pub parent: (String, String),
    /// Columns of the parent, as many.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
}

impl ForeignKey {
    /// As SHOW CREATE TABLE has it; `database`: the child's.
    pub fn text(&self, database: &str, quotes: Quotes) -> String {
        let list = |names: &[String]| {
            let each: Vec<String> = names.iter().map(|n| quotes.name(n)).collect();
            each.join(", ")
        };
        let mut out = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES ",
            quotes.name(&self.name),
            list(&self.columns)
        );
        if self.parent.0 != database {
            // Writing to a String cannot fail.
            let _ = write!(out, "{}.", quotes.name(&self.parent.0));
        }
        let _ = write!(
            out,
            "{} ({})",
            quotes.name(&self.parent.1),
            list(&self.parent_columns)
        );
        for (event, action) in [("DELETE", self.on_delete), ("UPDATE", self.on_update)] {
            // What is so without being said isn't shown.
            if action != ReferentialAction::NoAction {
                let _ = write!(out, " ON {event} {}", action.name());
            }
        }
        out
    }

    /// The number in a name that was made for a constraint of `table`.
    pub fn generated_number(&self, table: &str) -> Option<u64> {
        let number = self.name.strip_prefix(table)?.strip_prefix("_ibfk_")?;
        let plain = number.starts_with(|c: char| ('1'..='9').contains(&c));
        number.parse().ok().filter(|_| plain)
    }

    /// The name that is made for constraint `n` of a table.
    pub fn generated_name(table: &str, n: u64) -> String {
        format!("{table}_ibfk_{n}")
    }
}

/// Positions of columns by name; `None` if one is missing.
pub fn positions(schema: &Schema, names: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|n| schema.column(n)).collect()
}

impl Index {
    /// Whether rows with given values of these columns lie together in it: they are its first parts, in order, and whole.
    pub fn leads_with(&self, columns: &[usize]) -> bool {
        self.parts.len() >= columns.len()
            && self
                .parts
                .iter()
                .zip(columns)
                .all(|(p, c)| p.column == *c && p.prefix.is_none())
    }
}

impl Schema {
    /// The index that finds rows by these columns: the shortest.
    pub fn index_over(&self, columns: &[usize]) -> Option<usize> {
        let fits = |i: &usize| self.indexes[*i].leads_with(columns);
        let all = (0..self.indexes.len()).filter(fits);
        // The first among equals: the clustered one.
        all.min_by_key(|i| self.indexes[*i].parts.len())
    }
    /// The name of the unique key over exactly these columns.
    pub fn unique_key_over(&self, columns: &[usize]) -> Option<&str> {
        let unique = self.indexes.iter().filter(|i| i.unique);
        let exact = |i: &&Index| i.parts.len() == columns.len() && i.leads_with(columns);
        unique.clone().find(exact).map(|i| &*i.name)
    }
}

/// Appends foreign keys.
pub(super) fn write(list: &[ForeignKey], w: &mut Writer) {
    w.number(list.len() as u64);
    for key in list {
        w.text(&key.name);
        w.text(&key.parent.0);
        w.text(&key.parent.1);
        w.number(key.columns.len() as u64);
        for (child, parent) in key.columns.iter().zip(&key.parent_columns) {
            w.text(child);
            w.text(parent);
        }
        for action in [key.on_delete, key.on_update] {
            let at = ACTIONS.iter().position(|a| *a == action);
            w.number(at.unwrap_or(0) as u64);
        }
    }
}

/// Reads them back.
pub(super) fn read(r: &mut Reader<'_>) -> SqlResult<Vec<ForeignKey>> {
    let mut list = Vec::new();
    for _ in 0..r.count()? {
        let name = r.text()?.to_string();
        let parent = (r.text()?.to_string(), r.text()?.to_string());
        let (mut columns, mut parent_columns) = (Vec::new(), Vec::new());
        for _ in 0..r.count()? {
            columns.push(r.text()?.to_string());
            parent_columns.push(r.text()?.to_string());
        }
        let mut action = || -> SqlResult<ReferentialAction> {
            let at: usize = r.small()?;
            ACTIONS.get(at).copied().ok_or_else(corrupt)
        };
        let (on_delete, on_update) = (action()?, action()?);
        list.push(ForeignKey {
            name,
            columns,
            parent,
            parent_columns,
            on_delete,
            on_update,
        });
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::{empty_def, sample};

    fn key() -> ForeignKey {
        ForeignKey {
            name: "t_ibfk_12".into(),
            columns: vec!["c1".into(), "c`2".into()],
            parent: ("e".into(), "p".into()),
            parent_columns: vec!["x".into(), "y".into()],
            on_delete: ReferentialAction::Cascade,
            on_update: ReferentialAction::Restrict,
        }
    }

    #[test]
    fn keys_return_from_bodies() {
        let mut schema = sample();
        let plain = schema.table_body().len();
        schema.foreign_keys = vec![key(), key()];
        let mut def = empty_def();
        def.body = schema.table_body();
        assert_eq!(Schema::of(&def).unwrap().foreign_keys, schema.foreign_keys);
        for n in plain..def.body.len() {
            let mut cut = def.clone();
            cut.body.truncate(n);
            assert_eq!(Schema::of(&cut).unwrap_err().code, 1033, "{n}");
        }
    }

    #[test]
    fn texts() {
        let quotes = Quotes { ansi: false };
        assert_eq!(
            key().text("d", quotes),
            "CONSTRAINT `t_ibfk_12` FOREIGN KEY (`c1`, `c``2`) REFERENCES `e`.`p` (`x`, `y`) ON DELETE CASCADE ON UPDATE RESTRICT"
        );
        assert!(key().text("e", quotes).contains("REFERENCES `p` "));
        assert_eq!(key().generated_number("t"), Some(12));
        assert_eq!(key().generated_number("u"), None);
    }
}
