//! Other definitions for tables whose rows and indexes stay as they are: one catalog step, whatever the table holds. What
//! the layer above makes of stored rows then is its business ([`crate::KeyCodec::upgrade`]).

use super::ddl::{Aftermath, Found};
use super::{Engine, Inner, TableName};
use crate::catalog::TableDef;
use crate::error::{Error, Result};
use crate::txn::{Owner, Txn};
use std::sync::Arc;

/// A definition that fits the rows and indexes that a table has.
#[derive(Clone, Debug, Default)]
pub struct Redefinition {
    /// The table's body.
    pub body: Vec<u8>,
    /// That of its partitions; `None`: they keep theirs.
    pub partition_body: Option<Vec<u8>>,
    /// Names and bodies of its indexes, and of its partitions' indexes, by position; none: they stay as they are.
    pub indexes: Vec<(String, Vec<u8>)>,
}

impl Redefinition {
    /// Another body for the table, and nothing else.
    pub fn of_body(body: Vec<u8>) -> Redefinition {
        Redefinition {
            body,
            ..Redefinition::default()
        }
    }

    /// Replaces what is another in a definition; `body`: the table's.
    pub(super) fn apply(&self, def: &mut TableDef, body: &[u8]) -> Result<()> {
        def.body = body.to_vec();
        if self.indexes.is_empty() {
            return Ok(());
        }
        if self.indexes.len() != def.indexes.len() {
            return Err(Error::Invalid(format!(
                "{} index definitions for the {} of table {}",
                self.indexes.len(),
                def.indexes.len(),
                def.name
            )));
        }
        for (index, (name, body)) in def.indexes.iter_mut().zip(&self.indexes) {
            index.name.clone_from(name);
            index.body.clone_from(body);
        }
        Ok(())
    }
}

impl Engine {
    /// Gives a table and its partitions another definition, which fits the rows and indexes that they have, and another name, if there
    /// is one. `others`: bodies that other tables get by the same step.
    pub fn redefine_table(
        &self,
        owner: &Arc<Owner>,
        (database, name): (&str, &str),
        new: &Redefinition,
        to: Option<&TableName>,
        others: &[(TableName, Vec<u8>)],
    ) -> Result<()> {
        self.0.ddl(owner, |txn, after| {
            let names = others.iter().map(|(name, _)| name).chain(to);
            let names = names.map(|(d, n)| (&**d, &**n));
            self.0.lock_tables(txn, names.chain([(database, name)]))?;
            if let Some(to) = to {
                self.0.admit(txn, &(database.into(), name.into()), &to.0)?;
            }
            self.0.redefine(txn, (database, name), new, after)?;
            self.0.put_bodies(txn, others, &mut after.relations)?;
            match to {
                None => Ok(()),
                Some(to) => {
                    let from = (database.to_string(), name.to_string());
                    self.0.rename_one(txn, &from, to, None, after)
                }
            }
        })
    }
}

impl Inner {
    fn redefine(
        &self,
        txn: &mut Txn,
        (database, name): (&str, &str),
        new: &Redefinition,
        after: &mut Aftermath,
    ) -> Result<()> {
        let found = self.find(txn, database, name)?;
        self.redefine_row(txn, &found, new, &new.body, after)?;
        if !found.row.def.partitioned {
            return Ok(());
        }
        for partition in self.catalog.partition_names(txn, database, name)? {
            let found = self.find(txn, database, &partition)?;
            let body = new.partition_body.as_ref();
            let body = body.unwrap_or(&found.row.def.body).clone();
            self.redefine_row(txn, &found, new, &body, after)?;
        }
        Ok(())
    }

    fn redefine_row(
        &self,
        txn: &mut Txn,
        found: &Found,
        new: &Redefinition,
        body: &[u8],
        after: &mut Aftermath,
    ) -> Result<()> {
        let mut row = found.row.clone();
        row.version += 1;
        new.apply(&mut row.def, body)?;
        self.replace(txn, found, &row, after)
    }
}
