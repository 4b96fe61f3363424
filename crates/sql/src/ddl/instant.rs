//! ALTER TABLE that writes no row: columns added, dropped and moved while the rows that are there stay as they were written
//! ([`crate::catalog::Versions`]), and what else a column may become without its stored values being others.

use millpond_store::engine::Redefinition;

use super::change::Changed;
use super::convert::value_of_new;
use super::key::PRIMARY;
use crate::catalog::{Fill, Step};
use crate::env::SessionEnv;
use crate::error::SqlResult;
use crate::row;
use crate::types::{BaseType, Column, DefaultValue, Index, KeyPart, Schema, SqlType};
use crate::value::StoreContext;

/// Whether all values of a type are values of another, and stored the same in rows and keys: texts that may be longer, ENUM and SET
/// with more members at the end, numbers that are shown to another width.
fn holds_all_of(new: &SqlType, old: &SqlType) -> bool {
    let shown_otherwise = SqlType {
        zerofill: old.zerofill,
        ..new.clone()
    };
    if shown_otherwise == *old {
        return true;
    }
    let same_form = (
        new.base,
        new.unsigned,
        new.decimals,
        new.collation,
        new.fixed_len(),
    ) == (
        old.base,
        old.unsigned,
        old.decimals,
        old.collation,
        old.fixed_len(),
    );
    let grown = match new.base {
        BaseType::VarChar | BaseType::VarBinary => new.length >= old.length,
        BaseType::Enum | BaseType::Set => match (&new.members, &old.members) {
            (Some(new), Some(old)) => new.starts_with(old),
            _ => false,
        },
        _ => false,
    };
    same_form && grown
}

/// Whether the values of a column that was `old` stay as they are stored, in rows and keys. `in_key`: it is part of an index.
pub(super) fn keeps_values(new: &Column, old: &Column, in_key: bool) -> bool {
    // Keys of a column that may be NULL say of each value that it isn't.
    let nullable = new.nullable == old.nullable || new.nullable && !in_key;
    let computed = new.generated.is_none() || new.generated == old.generated;
    let as_read = new.generated.as_ref().is_some_and(|g| !g.in_rows);
    nullable && computed && (new.ty == old.ty || !as_read && holds_all_of(&new.ty, &old.ty))
}

/// Whether a column is part of an index.
pub(super) fn in_key(schema: &Schema, column: usize) -> bool {
    schema
        .indexes
        .iter()
        .any(|i| i.columns().any(|c| c == column))
}

/// The value of a new column in rows that are there already; `None`: it is not one value, or none that they may have.
fn fill(column: &Column, cx: &StoreContext<'_>) -> Option<Fill> {
    if column.generated.as_ref().is_some_and(|g| !g.in_rows) {
        // Its bytes are none, and it is not NULL for that.
        return Some(Some([].into()));
    }
    let each_its_own = column.auto_increment
        || column.generated.is_some()
        || matches!(column.default, DefaultValue::Expr(_));
    if each_its_own {
        return None;
    }
    let stored = || -> SqlResult<Fill> {
        let value = value_of_new(column, cx)?;
        row::stored_value(column, &value, cx.session.zone.get())
    };
    // Where there are rows, writing them anew finds the same error.
    stored().ok()
}

impl Changed {
    /// Whether columns that are computed from a row see what they did in one that stays as it is: numbers may be shown otherwise.
    pub fn shows_alike(&self, old: &Schema) -> bool {
        let mut pairs = self.schema.columns.iter().zip(&self.from);
        !self.schema.layout().computes()
            || pairs.all(|(new, from)| {
                from.is_none_or(|at| new.ty.zerofill == old.columns[at].ty.zerofill)
            })
    }

    /// Whether an index has the entries that one of the old definition has.
    fn keeps_entries(&self, new: &Index, old: &Index) -> bool {
        let same = |(new, old): (&KeyPart, &KeyPart)| {
            self.from[new.column] == Some(old.column)
                && (new.prefix, new.desc) == (old.prefix, old.desc)
        };
        let texts = match (&new.fulltext, &old.fulltext) {
            (Some(new), Some(old)) => {
                let same = |(new, old): (&usize, &usize)| self.from[*new] == Some(*old);
                new.columns.len() == old.columns.len()
                    && new.columns.iter().zip(&old.columns).all(same)
                    && (new.parser, new.stopwords) == (old.parser, old.stopwords)
            }
            (None, None) => true,
            _ => false,
        };
        let places = match (new.spatial, old.spatial) {
            (Some(new), Some(old)) => self.from[new] == Some(old),
            (None, None) => true,
            _ => false,
        };
        texts
            && places
            && new.unique == old.unique
            && new.parts.len() == old.parts.len()
            && new.parts.iter().zip(&old.parts).all(same)
    }

    /// For each index of the old definition, by position, what it is now, by another name perhaps, if all of them stay as they are and
    /// there are no others.
    pub fn kept_indexes(&self, old: &Schema) -> Option<Vec<&Index>> {
        let new = &self.schema.indexes;
        if new.len() != old.indexes.len() {
            return None;
        }
        let mut left: Vec<&Index> = new.iter().collect();
        let mut kept: Vec<Option<&Index>> = vec![None; new.len()];
        for by_name in [true, false] {
            for (was, kept) in old.indexes.iter().zip(&mut kept) {
                let is = |i: &&Index| {
                    let primary = i.name == PRIMARY || was.name == PRIMARY;
                    let named = i.name == was.name || !by_name && !primary;
                    named && self.keeps_entries(i, was)
                };
                if kept.is_none()
                    && let Some(at) = left.iter().position(is)
                {
                    *kept = Some(left.remove(at));
                }
            }
        }
        // The rows are in the first.
        let first = kept[0].is_some_and(|i| std::ptr::eq(i, &new[0]));
        kept.into_iter()
            .collect::<Option<Vec<_>>>()
            .filter(|_| first)
    }

    /// What the store is told of a definition that rows and indexes are kept for; `schema`: its own, under the version that rows get.
    pub fn redefinition(&self, schema: &Schema, old: &Schema) -> Redefinition {
        let kept = self.kept_indexes(old).unwrap_or_default();
        let indexes = kept.iter().map(|i| (i.name.clone(), i.body()));
        Redefinition {
            body: schema.table_body(),
            partition_body: Some(schema.partition_body()),
            indexes: indexes.collect(),
        }
    }

    /// The step from the old definition's version of rows to one of this, if rows need not be written anew.
    pub fn step(&self, old: &Schema, env: &SessionEnv) -> Option<Step> {
        let no_rule = !self.asks_more(old) && self.kept_keys == self.schema.foreign_keys.len();
        if !no_rule || self.kept_indexes(old).is_none() || !self.shows_alike(old) {
            return None;
        }
        let cx = StoreContext {
            session: env,
            strict: env.sql_mode.get().strict,
            row: 1,
        };
        let from = self.schema.columns.iter().zip(&self.from);
        let from = from.map(|(new, from)| match *from {
            Some(at) if keeps_values(new, &old.columns[at], in_key(old, at)) => Some(Ok(at)),
            Some(_) => None,
            None => fill(new, &cx).map(Err),
        });
        Some(Step::new(&old.columns, from.collect::<Option<_>>()?))
    }
}
