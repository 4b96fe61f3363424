//! Rows and keys as the store asks for them: what it knows of definitions.
//!
//! Purge, recovery and builds of indexes make keys of rows without a session, so what keys are made of must follow from the row alone
//! ([`super::columns`]).

use std::sync::Arc;

use millpond_store::{
    CodecFactory, Constraint, ConstraintKind, Error, KeyCodec, Keys, References, Result, TableDef,
};

use super::columns::{self, take_failure};
use crate::catalog::bytes::has_sections;
use crate::catalog::{Check, ForeignKey, Skimmed, Versions, WORK_DATABASE};
use crate::types::Schema;
use crate::{fulltext, spatial};

/// The store's codec factory: decodes schemas from definitions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codecs;

struct SchemaCodec(Arc<Schema>);

/// Adds the keys of a row's entries in an index that has any number of them, in order.
pub fn entries(schema: &Schema, index: usize, row: &[u8], out: &mut Keys) {
    let index = &schema.indexes[index];
    if let Some(of) = &index.fulltext {
        fulltext::entries(schema, of, row, out);
    }
    if let Some(column) = index.spatial {
        spatial::entries(schema, column, row, out);
    }
}

impl KeyCodec for SchemaCodec {
    fn key(&self, index: usize, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let null = self.0.key_of_row(index, row, out);
        match self.0.layout().computes().then(take_failure).flatten() {
            None => Ok(null),
            Some(e) => Err(Error::Invalid(e.message)),
        }
    }
    fn is_multi(&self, index: usize) -> bool {
        self.0.indexes[index].is_multi()
    }
    fn keys(&self, index: usize, row: &[u8], out: &mut Keys) -> Result<()> {
        entries(&self.0, index, row, out);
        Ok(())
    }
    fn has_earlier_versions(&self) -> bool {
        self.0.versions().earlier() > 0
    }
    fn is_current(&self, row: &[u8]) -> bool {
        self.0.is_current(row)
    }
    fn upgrade(&self, row: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let upgraded = self.0.upgrade(row, out);
        upgraded.map_err(|e| Error::Corrupt(e.message))
    }
    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }
    fn decoded(&self) -> Option<Arc<dyn std::any::Any + Send + Sync>> {
        Some(self.0.clone())
    }
}

impl CodecFactory for Codecs {
    fn codec(&self, def: &TableDef) -> Result<Arc<dyn KeyCodec>> {
        columns::install();
        let schema = Schema::of(def).map_err(|e| {
            Error::Corrupt(format!(
                "definition of table {}.{}: {}",
                def.database, def.name, e.message
            ))
        })?;
        Ok(Arc::new(SchemaCodec(Arc::new(schema))))
    }

    fn emptied(&self, def: &TableDef) -> Option<Vec<u8>> {
        // What can't be read stays as it is.
        let schema = Schema::of(def).ok()?;
        let anew = schema.with_versions(Versions::default());
        Some(anew.table_body())
    }

    fn references(&self, def: &TableDef) -> References {
        // What is being made has no relations until it has its place; what can't be read can be dropped. Most tables are told by their first byte.
        if def.database == WORK_DATABASE || !has_sections(&def.body) {
            return References::default();
        }
        let skimmed = Skimmed::of(&def.body).and_then(|s| s.map(|s| s.foreign_keys()).transpose());
        match skimmed {
            Ok(Some(keys)) => references_of(&keys, &[], &def.name),
            _ => Schema::of(def).map_or(References::default(), |s| references(&s, &def.name)),
        }
    }
}

/// What the definition of a table of this name refers to.
pub(crate) fn references(schema: &Schema, table: &str) -> References {
    references_of(&schema.foreign_keys, &schema.checks, table)
}

/// The same by what it has of foreign keys and checks.
pub(crate) fn references_of(keys: &[ForeignKey], checks: &[Check], table: &str) -> References {
    References {
        parents: keys.iter().map(|k| k.parent.clone()).collect(),
        constraints: constraints(keys, checks, table),
    }
}

/// The constraints whose names a table's database has once.
fn constraints(keys: &[ForeignKey], checks: &[Check], table: &str) -> Vec<Constraint> {
    let keys = keys.iter().map(|k| k.name.clone());
    let keys = keys.map(|name| (ConstraintKind::ForeignKey, name));
    let checks = checks.iter().map(|c| c.name.of(table));
    let checks = checks.map(|name| (ConstraintKind::Check, name));
    let named = |(kind, name): (_, String)| Constraint {
        kind,
        compared: name.to_lowercase(),
        name,
    };
    keys.chain(checks).map(named).collect()
}
