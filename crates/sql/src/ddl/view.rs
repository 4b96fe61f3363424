//! CREATE VIEW, ALTER VIEW and DROP VIEW.
//!
//! What a view is, and how it is locked, stands in `catalog/view`.

use std::sync::Arc;

use millpond_store::engine::{NewTable, Place, Redefinition};
use millpond_store::{Error, Isolation};

use super::create::{new_table, unix_now};
use super::{Ddl, Done, database_collation, key, names, unknown_tables};
use crate::bind::view::{self as bound, Defined};
use crate::catalog::View;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{self, Account, ObjectName, Security, ViewAlgorithm};
use crate::planner::PlanContext;
use crate::row::wrong_object;
use crate::store_error::store_error;
use crate::types::{Column, DefaultValue, Schema};

/// What stands under a name.
enum Found {
    Nothing,
    Table,
    View(Arc<View>),
}

impl Ddl<'_> {
    /// CREATE VIEW and ALTER VIEW; `text` is what the statement's spans count in.
    pub fn view(&self, view: &ast::View, text: &str) -> SqlResult<Done> {
        let name = self.target(&view.name)?;
        names::table(&name.1)?;
        database_collation(self.engine, &name.0)?;
        if self.is_settled(view, &name)? {
            return Ok(Done::default());
        }
        if bound::has_into(&view.query) {
            return Err(SqlError::new(
                1350,
                "View's SELECT contains a 'INTO' clause",
            ));
        }
        let defined = self.bind_view(view, text, &name)?;
        let schema = self.view_schema(view, defined, &name)?;
        if view.check.is_some() && !schema.view.as_ref().is_some_and(|v| v.updatable) {
            return Err(SqlError::new(
                1368,
                format!("CHECK OPTION on non-updatable view '{}.{}'", name.0, name.1),
            ));
        }
        if schema
            .view
            .as_ref()
            .is_some_and(|v| v.algorithm != view.algorithm.unwrap_or(v.algorithm))
        {
            self.env.warn(
                1354,
                "View merge algorithm can't be used here for now (assumed undefined algorithm)",
            );
        }
        let new = new_table(
            &name.0,
            &name.1,
            &schema,
            Some(Place::file_per_table(false)),
        );
        self.put_view(view, &name, new)
    }

    /// Whether nothing is to be done; errors 1050, 1146 and 1347 for what stands in the way.
    fn is_settled(&self, view: &ast::View, name: &(String, String)) -> SqlResult<bool> {
        let (database, table) = name;
        match self.found(database, table)? {
            Found::Nothing if view.alter => Err(super::no_such_table(database, table)),
            Found::Table if view.alter || view.or_replace => {
                Err(wrong_object(database, table, "VIEW"))
            }
            Found::Nothing => Ok(false),
            _ if view.alter || view.or_replace => Ok(false),
            _ => {
                let message = format!("Table '{table}' already exists");
                if !view.if_not_exists {
                    return Err(SqlError::new(1050, message));
                }
                self.env.note(1050, message);
                Ok(true)
            }
        }
    }

    fn found(&self, database: &str, name: &str) -> SqlResult<Found> {
        match self.engine.table_def(database, name) {
            Ok(def) => Ok(match Schema::of(&def)?.view {
                Some(view) => Found::View(view),
                None => Found::Table,
            }),
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => Ok(Found::Nothing),
            Err(e) => Err(store_error(e, name)),
        }
    }

    /// Binds the query in a transaction of its own: when it ends, the locks of what was looked at are gone.
    fn bind_view(
        &self,
        view: &ast::View,
        text: &str,
        name: &(String, String),
    ) -> SqlResult<Defined> {
        let mut txn = self.engine.begin(self.owner, Isolation::ReadCommitted);
        let cx = &mut PlanContext {
            engine: self.engine,
            txn: &mut txn,
            env: self.env,
            params: None,
            peek: false,
            locals: None,
        };
        let defined = bound::define(view, text, name, cx);
        let ended = self.engine.commit(txn);
        let defined = defined?;
        ended.map_err(|e| store_error(e, &name.1))?;
        Ok(defined)
    }

    fn view_schema(
        &self,
        view: &ast::View,
        defined: Defined,
        name: &(String, String),
    ) -> SqlResult<Schema> {
        let column = |c: bound::ViewColumn| Column {
            name: c.name,
            ty: c.ty,
            nullable: c.nullable,
            default: DefaultValue::None,
            auto_increment: false,
            on_update_now: false,
            explicit_collation: false,
            comment: String::new(),
            generated: None,
            visibility: Default::default(),
        };
        let columns = defined.columns.into_iter().map(column).collect();
        let collation = database_collation(self.engine, &name.0)?;
        let client = (self.env.sys_var)("", "character_set_client")?;
        // What ALTER VIEW does not say stays as it was.
        let before = match self.found(&name.0, &name.1)? {
            Found::View(before) if view.alter => Some(before),
            _ => None,
        };
        let before = before.as_deref();
        let algorithm = match view.algorithm.or(before.map(|b| b.algorithm)) {
            // What can't be merged isn't.
            Some(ViewAlgorithm::Merge) if !defined.mergeable => ViewAlgorithm::Undefined,
            given => given.unwrap_or(ViewAlgorithm::Undefined),
        };
        let kept = View {
            query: defined.query,
            short: defined.short,
            algorithm,
            check: view.check,
            definer: match (&view.definer, before) {
                (None, Some(before)) => before.definer.clone(),
                _ => self.definer(view),
            },
            security: view
                .security
                .or(before.map(|b| b.security))
                .unwrap_or(Security::Definer),
            client: String::from_utf8_lossy(&client.to_text()).into_owned(),
            collation: self.env.collation.get(),
            updatable: defined.updatable && algorithm != ViewAlgorithm::TempTable,
            tables: defined.tables,
        };
        let indexes = vec![key::hidden()];
        let mut schema = Schema::new(columns, indexes, collation, String::new(), unix_now());
        schema.view = Some(Arc::new(kept));
        Ok(schema)
    }

    /// User and host of a view's definer.
    fn definer(&self, view: &ast::View) -> (String, String) {
        match &view.definer {
            Some(ast::Definer(Account::Named { user, host })) => {
                let host = host.as_ref().map_or("%", |h| h.as_str());
                (user.as_str().to_string(), host.to_string())
            }
            _ => {
                let account = self.env.account.borrow();
                let (user, host) = account.rsplit_once('@').unwrap_or((&account, ""));
                (user.to_string(), host.to_string())
            }
        }
    }

    /// Makes a view, or puts it in the place of the one of its name, with nobody else at the name.
    fn put_view(
        &self,
        view: &ast::View,
        name: &(String, String),
        new: NewTable,
    ) -> SqlResult<Done> {
        let wrap = |e| store_error(e, &name.1);
        let own = std::slice::from_ref(name);
        let _held = self.engine.hold_names(self.owner, own).map_err(wrap)?;
        if self.is_settled(view, name)? {
            return Ok(Done::default());
        }
        match self.found(&name.0, &name.1)? {
            Found::View(_) => {
                let body = Redefinition::of_body(new.body);
                self.engine
                    .redefine_table(self.owner, (&name.0, &name.1), &body, None, &[])
            }
            _ => self.engine.create_table(self.owner, new),
        }
        .map_err(wrap)?;
        Ok(Done::default())
    }

    /// DROP VIEW: all of them, or none.
    pub(super) fn drop_views(&self, if_exists: bool, names: &[ObjectName]) -> SqlResult<Done> {
        let mut targets = Vec::new();
        for t in names {
            let target = self.target(t)?;
            if targets.contains(&target) {
                return Err(SqlError::new(
                    1066,
                    format!("Not unique table/alias: '{}'", target.1),
                ));
            }
            targets.push(target);
        }
        let mut missing = Vec::new();
        loop {
            let mut views = Vec::new();
            missing.clear();
            for target in &targets {
                match self.found(&target.0, &target.1)? {
                    Found::View(_) => views.push(target.clone()),
                    Found::Table => return Err(wrong_object(&target.0, &target.1, "VIEW")),
                    Found::Nothing => missing.push(target.clone()),
                }
            }
            if !missing.is_empty() && !if_exists {
                return Err(unknown_tables(&missing));
            }
            if views.is_empty() {
                break;
            }
            let wrap = |e| store_error(e, &views[0].1);
            let _held = self.engine.hold_names(self.owner, &views).map_err(wrap)?;
            // Somebody may have dropped one, and made a table of its name, since.
            let same = |v: &(String, String)| Ok(matches!(self.found(&v.0, &v.1)?, Found::View(_)));
            let all: SqlResult<Vec<bool>> = views.iter().map(same).collect();
            if all?.contains(&false) {
                continue;
            }
            self.engine.drop_tables(self.owner, &views).map_err(wrap)?;
            break;
        }
        for (database, name) in missing {
            self.env
                .note(1051, format!("Unknown table '{database}.{name}'"));
        }
        Ok(Done::default())
    }
}
