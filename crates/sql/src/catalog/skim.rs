//! A table's body looked through without making a schema of it: what it says beside its columns. So definitions of many tables can be asked what they
//! refer to, and copied, for little more than a copy of their bytes.

use super::body::skip_column;
use super::bytes::{PARTITIONED, PARTITIONED_SECTIONS, Reader, Writer, corrupt};
use super::{ForeignKey, foreign_keys, sections};
use crate::error::SqlResult;
use std::ops::Range;

/// What was found in a body.
pub struct Skimmed<'b> {
    body: &'b [u8],
    /// Where the time lies at which the table was made.
    created: Range<usize>,
    /// Where the sections begin, if there are some.
    sections: usize,
    list: Vec<(u64, &'b [u8])>,
}

impl<'b> Skimmed<'b> {
    /// Looks through a body. `None`: it is a view's, a table's with partitions or one with rules made of expressions, for which it takes a schema.
    /// Error 1033 for bytes that are no body.
    pub fn of(body: &'b [u8]) -> SqlResult<Option<Skimmed<'b>>> {
        if let Some(&(PARTITIONED | PARTITIONED_SECTIONS)) = body.first() {
            return Ok(None);
        }
        let mut r = Reader(body);
        let at = |r: &Reader<'_>| body.len() - r.0.len();
        let (_, sectioned) = r.parts()?;
        r.number()?;
        r.bytes()?;
        let created = at(&r);
        r.number()?;
        let created = created..at(&r);
        for _ in 0..r.count()? {
            skip_column(&mut r)?;
        }
        let sections = at(&r);
        let mut list = Vec::new();
        if sectioned {
            for _ in 0..r.count()? {
                list.push((r.number()?, r.bytes()?));
            }
        }
        if list.iter().any(|(number, _)| !sections::is_plain(*number)) {
            return Ok(None);
        }
        Ok(Some(Skimmed {
            body,
            created,
            sections,
            list,
        }))
    }

    /// Its foreign keys.
    pub fn foreign_keys(&self) -> SqlResult<Vec<ForeignKey>> {
        let mut list = self.list.iter();
        let Some((_, bytes)) = list.find(|(number, _)| *number == sections::FOREIGN_KEYS) else {
            return Ok(Vec::new());
        };
        let mut r = Reader(bytes);
        let keys = foreign_keys::read(&mut r)?;
        match r.0.is_empty() {
            true => Ok(keys),
            false => Err(corrupt()),
        }
    }

    /// The body of a table like this one that was made at another time and has these foreign keys in the place of its own.
    pub fn with(&self, created: u64, keys: &[ForeignKey]) -> Vec<u8> {
        let mut w = Writer(Vec::with_capacity(self.body.len() + 16));
        w.0.extend_from_slice(&self.body[..self.created.start]);
        w.number(created);
        w.0.extend_from_slice(&self.body[self.created.end..self.sections]);
        if self.list.is_empty() {
            return w.0;
        }
        w.number(self.list.len() as u64);
        for (number, bytes) in &self.list {
            w.number(*number);
            if *number == sections::FOREIGN_KEYS {
                let mut own = Writer(Vec::with_capacity(bytes.len() + 16));
                foreign_keys::write(keys, &mut own);
                w.bytes(&own.0);
            } else {
                w.bytes(bytes);
            }
        }
        w.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::options::KeptOption;
    use crate::catalog::tests::{empty_def, sample};
    use crate::catalog::{ReferentialAction, Schema};

    fn key(database: &str) -> ForeignKey {
        ForeignKey {
            name: "k".into(),
            columns: vec!["c1".into()],
            parent: (database.into(), "p".into()),
            parent_columns: vec!["x".into()],
            on_delete: ReferentialAction::Cascade,
            on_update: ReferentialAction::Restrict,
        }
    }

    #[test]
    fn copies_are_those_of_schemas() {
        for (keys, options) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut schema = sample();
            if keys {
                schema.foreign_keys = vec![key("model"), key("other")];
            }
            if options {
                schema.options.set(KeptOption::MaxRows, Some(7));
            }
            let body = schema.table_body();
            let skimmed = Skimmed::of(&body).unwrap().unwrap();
            let mut copied = skimmed.foreign_keys().unwrap();
            assert_eq!(copied, schema.foreign_keys);
            for key in copied.iter_mut().chain(&mut schema.foreign_keys) {
                key.parent.0 += " of a longer name";
            }
            schema.created = 5;
            assert_eq!(skimmed.with(5, &copied), schema.table_body());
        }
    }

    #[test]
    fn cut_bytes_are_refused() {
        let mut schema = sample();
        schema.foreign_keys = vec![key("model")];
        let body = schema.table_body();
        for n in 0..body.len() {
            let cut = Skimmed::of(&body[..n]);
            assert_eq!(cut.err().map(|e| e.code), Some(1033), "{n}");
        }
    }

    #[test]
    fn rules_take_a_schema() {
        let mut schema = sample();
        schema.indexes[2].visible = false;
        let mut def = empty_def();
        def.body = schema.table_body();
        assert!(Skimmed::of(&def.body).unwrap().is_none());
        assert!(Schema::of(&def).is_ok());
    }
}
