//! Views in statements about tables: LOCK TABLES, CHECK TABLE.

use std::sync::Arc;

use super::Session;
use millpond_sql::catalog::View;
use millpond_sql::error::{SqlError, SqlResult};
use millpond_sql::planner::{self, PlanContext};
use millpond_sql::store_error::store_error;
use millpond_sql::types::Schema;
use millpond_store::Error;

/// A table or view by database and name.
type Name = (String, String);

impl Session {
    /// The definition of a view; `None`: there is no view of this name.
    pub(super) fn view(
        &self,
        database: &str,
        name: &str,
    ) -> SqlResult<Option<(Schema, Arc<View>)>> {
        if self.env.temporary.get(database, name).is_some() {
            return Ok(None);
        }
        let schema = match self.instance.0.engine.table_def(database, name) {
            Ok(def) => Schema::of(&def)?,
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => return Ok(None),
            Err(e) => return Err(store_error(e, name)),
        };
        let view = schema.view.clone();
        Ok(view.map(|view| (schema, view)))
    }

    /// What is locked with these tables, and how: of a view the tables and views that it names, to be written to if it is.
    pub(super) fn with_tables_of_views(
        &self,
        names: &[(Name, bool)],
    ) -> SqlResult<Vec<(Name, bool)>> {
        let mut all: Vec<(Name, bool)> = Vec::new();
        // The view that names it, of those that are listed.
        let mut open: Vec<(Name, bool, Option<Name>)> = names
            .iter()
            .rev()
            .map(|(n, write)| (n.clone(), *write, None))
            .collect();
        while let Some((name, write, by)) = open.pop() {
            let known = all.iter_mut().find(|k| k.0 == name);
            if let Some(known) = known {
                if known.1 || !write {
                    continue;
                }
                known.1 = true;
            } else {
                all.push((name.clone(), write));
            }
            if millpond_sql::env::is_system_schema(&name.0) {
                all.retain(|k| k.0 != name);
                continue;
            }
            if let Some(by) = &by
                && self.instance.0.engine.table_def(&name.0, &name.1).is_err()
            {
                return Err(planner::invalid_view(&by.0, &by.1));
            }
            let Some((_, view)) = self.view_definition(&name)? else {
                continue;
            };
            let by = by.unwrap_or(name);
            for table in &view.tables {
                open.push((table.clone(), write, Some(by.clone())));
            }
        }
        Ok(all)
    }

    /// A view by its name, whatever temporary tables there are.
    fn view_definition(&self, name: &Name) -> SqlResult<Option<(Schema, Arc<View>)>> {
        match self.instance.0.engine.table_def(&name.0, &name.1) {
            Ok(def) => {
                let schema = Schema::of(&def)?;
                let view = schema.view.clone();
                Ok(view.map(|view| (schema, view)))
            }
            Err(_) => Ok(None),
        }
    }

    /// CHECK TABLE of a view: what is wrong with it.
    pub(super) fn check_view(
        &mut self,
        database: &str,
        name: &str,
        schema: &Schema,
        view: &Arc<View>,
    ) -> SqlResult<Option<SqlError>> {
        let bound = self.in_transaction(|s| {
            let Some(txn) = &mut s.txn.txn else {
                return Err(SqlError::new(1105, "no transaction"));
            };
            planner::view_columns(
                (database, name),
                schema,
                view,
                &mut PlanContext {
                    engine: &s.instance.0.engine,
                    txn,
                    env: &s.env,
                    params: None,
                    peek: false,
                    locals: None,
                },
            )
        });
        match bound {
            Ok(_) => Ok(None),
            Err(e) if matches!(e.code, 1205 | 1213 | 1317) => Err(e),
            Err(e) => Ok(Some(e)),
        }
    }
}
