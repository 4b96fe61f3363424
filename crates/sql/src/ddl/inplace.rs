//! What a table that is written anew is to the rows that change meanwhile, and what MySQL's ALGORITHM clauses make of the change.
//!
//! Every change is made by the same rebuild, beside reads and writes wherever the rows can be followed ([`Changed::places`]). MySQL makes some changes by
//! its COPY algorithm alone, and refuses the others for them; so do we, where a statement names one ([`Changed::limits`]).

use super::change::{Changed, Way};
use super::follow::Places;
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::types::{BaseType, Check, Column, DefaultValue, KeyPart, Schema, SqlType};

/// Why only ALGORITHM=COPY makes a change: MySQL's words, if it has any.
pub(super) type CopyReason = Option<&'static str>;

/// What MySQL makes of a change that writes the rows anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// It copies; why.
    pub copies: Option<CopyReason>,
    /// Why nobody may write meanwhile, if there is more to say than that it copies.
    pub lock: Option<&'static str>,
    /// The rows are held to conditions that are new, for which MySQL copies them.
    pub looks: bool,
}

/// Whether a table numbers its rows itself.
fn has_row_ids(schema: &Schema) -> bool {
    schema.indexes[0].parts.is_empty()
}

impl Changed {
    /// How a table can be written anew, its rows in other places or other rows.
    pub fn anew(&self, old: &Schema, env: &SessionEnv) -> SqlResult<Way> {
        Ok(match self.places(old, env)? {
            Some(_) => Way::Rebuild,
            None => Way::Copy,
        })
    }

    /// How rows that change while the table is written anew are found in it; `None`: they can't be, so nobody may write meanwhile. That is so where
    /// rows get numbers as they come, or new foreign keys, or lose what tells one from another.
    pub fn places(&self, old: &Schema, env: &SessionEnv) -> SqlResult<Option<Places>> {
        let columns = self.schema.columns.iter().zip(&self.from);
        let numbered = columns
            .clone()
            .any(|(c, f)| c.auto_increment && f.is_none());
        let ordered = !self.order.is_empty();
        if numbered || ordered || self.kept_keys != self.schema.foreign_keys.len() {
            return Ok(None);
        }
        if self.same_keys(old) && self.same_partitions(old, env)? {
            return Ok(Some(Places::Same));
        }
        let random = columns
            .filter(|(c, f)| f.is_none() && c.generated.is_none())
            .any(|(c, _)| matches!(c.default, DefaultValue::Expr(_)));
        let follows = |part: &KeyPart| {
            let c = part.column;
            match self.schema.columns[c].generated {
                Some(_) => !random,
                None => self.from[c].is_some(),
            }
        };
        let computed =
            !has_row_ids(&self.schema) && self.schema.indexes[0].parts.iter().all(follows);
        Ok(computed.then_some(Places::Computed))
    }

    /// Whether a column's values are stored as those of an old one.
    pub fn same_column(&self, new: usize, was: usize, old: &Schema) -> bool {
        let (a, b) = (&self.schema.columns[new], &old.columns[was]);
        self.from[new] == Some(was)
            && a.ty == b.ty
            && a.nullable == b.nullable
            && a.generated.is_none()
            && b.generated.is_none()
    }

    /// Whether two parts of clustered keys have the same bytes.
    pub fn same_part(&self, new: &KeyPart, was: &KeyPart, old: &Schema) -> bool {
        self.same_column(new.column, was.column, old)
            && new.prefix == was.prefix
            && new.desc == was.desc
    }

    /// Whether every row has the clustered key that it had.
    fn same_keys(&self, old: &Schema) -> bool {
        let (new, was) = (&self.schema.indexes[0].parts, &old.indexes[0].parts);
        let mut parts = new.iter().zip(was);
        new.len() == was.len() && parts.all(|(new, was)| self.same_part(new, was, old))
    }

    /// Whether every row is in the partition at the position where it was.
    fn same_partitions(&self, old: &Schema, env: &SessionEnv) -> SqlResult<bool> {
        let (new, was) = match (&self.schema.partitioning, &old.partitioning) {
            (None, None) => return Ok(true),
            (Some(new), Some(was)) => (new, was),
            _ => return Ok(false),
        };
        if (new.method, new.linear, new.algorithm) != (was.method, was.linear, was.algorithm)
            || (&new.by, &new.parts) != (&was.by, &was.parts)
        {
            return Ok(false);
        }
        let decide = &new.function(&self.schema, env)?.columns;
        let decided = &was.function(old, env)?.columns;
        let mut pairs = decide.iter().zip(decided);
        let same = pairs.all(|(new, was)| self.same_column(*new, *was, old));
        Ok(same && decide.len() == decided.len())
    }

    /// What MySQL makes of this change.
    pub fn limits(&self, old: &Schema, env: &SessionEnv) -> Limits {
        let copies = self.copy_reason(old, env);
        let mut columns = self.schema.columns.iter().zip(&self.from);
        let numbers = columns.any(|(c, from)| c.auto_increment && from.is_none());
        let lock = match numbers {
            true => Some("Adding an auto-increment column requires a lock"),
            false => copies.flatten(),
        };
        Limits {
            copies,
            lock,
            looks: self.asks_more(old),
        }
    }

    fn copy_reason(&self, old: &Schema, env: &SessionEnv) -> Option<CopyReason> {
        if !self.order.is_empty() {
            return Some(None);
        }
        let strict = env.sql_mode.get().strict;
        let primary = |s: &Schema| s.indexes.iter().any(|i| i.name == super::key::PRIMARY);
        let kept = || {
            let new = self.schema.columns.iter().zip(&self.from);
            new.filter_map(|(c, from)| from.map(|f| (c, &old.columns[f])))
        };
        let parts = |s: &Schema, column: usize| {
            let mut parts = s.indexes.iter().flat_map(|i| &i.parts);
            parts.any(|p| p.column == column)
        };
        let mut types = self.from.iter().enumerate().filter_map(|(n, f)| {
            let f = (*f)?;
            let in_key = parts(&self.schema, n) || parts(old, f);
            Some((&old.columns[f].ty, &self.schema.columns[n].ty, in_key))
        });
        if types.any(|(was, is, in_key)| !grows_to(was, is, in_key)) {
            return Some(Some("Cannot change column type INPLACE"));
        }
        if !strict && kept().any(|(c, was)| was.nullable && !c.nullable) {
            return Some(Some(
                "cannot silently convert NULL values, as required in this SQL_MODE",
            ));
        }
        if self.kept_keys != self.schema.foreign_keys.len() && env.foreign_key_checks.get() {
            return Some(Some("Adding foreign keys needs foreign_key_checks=OFF"));
        }
        if primary(old) && !primary(&self.schema) {
            return Some(Some(
                "Dropping a primary key is not allowed without also adding a new primary key",
            ));
        }
        let stored = |c: &Column| c.generated.as_ref().is_some_and(|g| g.stored);
        let by_expression = |c: &Column| matches!(c.default, DefaultValue::Expr(_));
        let columns = self.schema.columns.iter().zip(&self.from);
        let mut added = columns.filter(|(_, from)| from.is_none());
        let computes = added.any(|(c, _)| stored(c) || by_expression(c));
        let generates = kept().any(|(c, was)| c.generated != was.generated);
        (computes || generates || self.asks_more(old)).then_some(None)
    }

    /// Whether rows are held to a CHECK constraint that they were not held to.
    pub fn asks_more(&self, old: &Schema) -> bool {
        let held = |new: &Check| {
            let mut before = old.checks.iter().filter(|c| c.enforced);
            before.any(|c| c.condition == new.condition)
        };
        let mut now = self.schema.checks.iter().filter(|c| c.enforced);
        now.any(|c| !held(c))
    }
}

/// Whether values of one type are those of another in MySQL's rows, so that it need not copy them. Another collation of the same character
/// set sorts nothing but keys anew.
fn grows_to(was: &SqlType, is: &SqlType, in_key: bool) -> bool {
    use BaseType as B;
    if was == is {
        return true;
    }
    let charsets = [was, is].map(|ty| ty.collation.character_set());
    if !in_key && was.collation != is.collation && charsets[0] == charsets[1] {
        let collation = was.collation;
        let is = SqlType {
            collation,
            ..is.clone()
        };
        return grows_to(was, &is, in_key);
    }
    if (was.base, was.collation, was.unsigned) != (is.base, is.collation, is.unsigned) {
        return false;
    }
    let members = |ty: &SqlType| ty.members.clone().unwrap_or_default();
    match is.base {
        B::VarChar | B::VarBinary => {
            let bytes = |ty: &SqlType| u64::from(ty.char_bytes()) * u64::from(ty.length);
            is.length >= was.length && (bytes(was) > 255) == (bytes(is) > 255)
        }
        B::Enum => {
            let (was, is) = (members(was), members(is));
            is.starts_with(&was) && (was.len() > 255) == (is.len() > 255)
        }
        _ => false,
    }
}
