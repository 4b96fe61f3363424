//! HANDLER: rows of one table read one after the other along an index, with no plan.
//!
//! A [`Handler`] is a table and a place in one of its indexes. It holds no lock and no view between its reads: each sees what a query of the session's
//! transaction would see then, and goes on from the row before, whether that is still there or not. It is of no use any more once the
//! table's definition has changed ([`Handler::is_open`]).

use std::ops::Bound;
use std::sync::Arc;

use millpond_store::{Direction, Engine, Error, Fetch, KeyRange, ReadMode, Table, TableDef, Txn};

use super::sink_error;
use crate::computed::take_failure;
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::expr::bind::unknown_column;
use crate::expr::{self, EvalContext, Expr, RowRef, Scope};
use crate::parse::ast::{self, HandlerCompare, HandlerStep};
use crate::result::{ColumnMeta, ResultSink};
use crate::row::{decode_row, encode_key_values, schema_of};
use crate::store_error::store_error;
use crate::types::{Column, Schema, Visibility};
use crate::value::{self, StoreContext, Value};

/// Where a handler is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing has been read along this index.
    Nowhere,
    /// At the entry of this key, or where the entries that start with it would be.
    At(Vec<u8>),
    /// Before the first row.
    Start,
    /// Behind the last one.
    End,
}

/// A table that HANDLER has opened.
pub struct Handler {
    table: Arc<Table>,
    schema: Arc<Schema>,
    /// The columns shown, and what the client is told of them.
    shown: Vec<usize>,
    columns: Arc<[ColumnMeta]>,
    /// What its columns may be qualified with.
    alias: String,
    /// The index that is read along.
    index: usize,
    place: Place,
}

/// Which rows are read: from where, and which way then.
pub enum Steps<'v> {
    /// FIRST, NEXT, PREV, LAST.
    Step(HandlerStep),
    /// From a key on.
    Key(HandlerCompare, &'v [Value<'v>]),
}

/// What HANDLER ... READ asks for.
pub struct Asked<'v> {
    /// The index's name; `None`: the table's own order.
    pub index: Option<&'v str>,
    /// Where to begin.
    pub steps: Steps<'v>,
    /// WHERE.
    pub filter: Option<&'v ast::Expr>,
    /// LIMIT: how many, after how many.
    pub limit: (u64, u64),
}

impl Handler {
    /// Of a table that a query of all its columns has been planned for; `columns` are that query's.
    pub fn new(table: Arc<Table>, columns: Arc<[ColumnMeta]>, alias: &str) -> SqlResult<Handler> {
        let schema = schema_of(&table)?;
        if schema.partitioning.is_some() {
            return Err(SqlError::unsupported("HANDLER of a table with partitions"));
        }
        let visible = |c: &usize| schema.columns[*c].visibility == Visibility::Visible;
        Ok(Handler {
            shown: (0..schema.columns.len()).filter(visible).collect(),
            table,
            schema,
            columns,
            alias: alias.to_string(),
            index: 0,
            place: Place::Nowhere,
        })
    }

    /// Whether the table is still what was opened. Pins it in the transaction if it is. One that a statement has filled in bulk since
    /// has other pages and the same definition.
    pub fn is_open(&mut self, engine: &Engine, txn: &mut Txn) -> SqlResult<bool> {
        if self.table.pin(txn).map_err(|e| self.wrap(e))? {
            return Ok(true);
        }
        let was = self.table.def();
        let now = match engine.open_table(txn, &was.database, &was.name) {
            Ok(now) => now,
            Err(Error::NoSuchTable(_) | Error::NoSuchDatabase(_)) => return Ok(false),
            Err(e) => return Err(self.wrap(e)),
        };
        let def = now.def();
        let indexes = |def: &TableDef| -> Vec<_> {
            let each = def.indexes.iter();
            each.map(|i| (i.name.clone(), i.body.clone())).collect()
        };
        let same = def.id == was.id && def.body == was.body && indexes(def) == indexes(was);
        if same {
            self.table = now;
        }
        Ok(same)
    }

    fn wrap(&self, e: millpond_store::Error) -> SqlError {
        store_error(e, &self.table.def().name)
    }

    /// Reads rows and sends them; returns how many. The table is pinned. `killed` is asked whether to go on.
    pub fn read(
        &mut self,
        txn: &mut Txn,
        env: &SessionEnv,
        asked: &Asked<'_>,
        killed: &dyn Fn() -> SqlResult<()>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<u64> {
        let filter = asked.filter.map(|e| self.filter(e, env)).transpose()?;
        let index = self.index_of(asked.index)?;
        if index != self.index {
            (self.index, self.place) = (index, Place::Nowhere);
        }
        let begin = self.begin(&asked.steps, env)?;
        sink.columns(&self.columns).map_err(sink_error)?;
        let (count, mut skip) = asked.limit;
        let (Some((range, direction)), true) = (begin, count > 0) else {
            return Ok(0);
        };
        let exact = matches!(asked.steps, Steps::Key(HandlerCompare::Equal, _));
        let table = self.table.clone();
        let view = ReadMode::Consistent;
        let wrap = |e| store_error(e, &table.def().name);
        let mut scan = table
            .scan(txn, index, range, direction, view, Fetch::Row)
            .map_err(wrap)?;
        let mut sent = 0;
        while let Some(found) = scan.next(txn).map_err(wrap)? {
            killed()?;
            let mut at = found.key.to_vec();
            if index != 0 {
                at.extend_from_slice(found.clustered_key);
            }
            self.place = Place::At(at);
            let mut values = Vec::with_capacity(self.schema.columns.len());
            decode_row(&self.schema, found.row, env.zone.get(), &mut values);
            if let Some(e) = take_failure() {
                return Err(e);
            }
            if let Some(filter) = &filter {
                let rows = [RowRef::Values(&values)];
                let cx = EvalContext {
                    rows: &rows,
                    params: &[],
                    session: env,
                };
                if filter.truth(&cx)? != Some(true) {
                    continue;
                }
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let row: Vec<Value<'_>> = self.shown.iter().map(|&c| values[c].borrowed()).collect();
            sink.row(&row).map_err(sink_error)?;
            sent += 1;
            if sent == count {
                return Ok(sent);
            }
        }
        if !exact {
            self.place = match direction {
                Direction::Forward => Place::End,
                Direction::Backward => Place::Start,
            };
        }
        Ok(sent)
    }

    /// The position of an index; error 1176.
    fn index_of(&self, name: Option<&str>) -> SqlResult<usize> {
        let Some(name) = name else {
            return Ok(0);
        };
        let named = |i: &crate::types::Index| i.name.eq_ignore_ascii_case(name);
        let found = self.schema.indexes.iter().position(named);
        // The order of a table without a primary key has no name.
        let found = found.filter(|n| !self.schema.indexes[*n].parts.is_empty());
        found.ok_or_else(|| {
            let m = format!("Key '{name}' doesn't exist in table '{}'", self.alias);
            SqlError::new(1176, m)
        })
    }

    /// The entries to look at and the way along them; `None`: there are none. Notes the place of a key.
    fn begin(
        &mut self,
        steps: &Steps<'_>,
        env: &SessionEnv,
    ) -> SqlResult<Option<(KeyRange, Direction)>> {
        use Bound::{Excluded, Included, Unbounded};
        use Direction::{Backward, Forward};
        let (lower, upper, direction) = match steps {
            Steps::Step(HandlerStep::First) => (Unbounded, Unbounded, Forward),
            Steps::Step(HandlerStep::Last) => (Unbounded, Unbounded, Backward),
            Steps::Step(HandlerStep::Next) => match &self.place {
                Place::Nowhere | Place::Start => (Unbounded, Unbounded, Forward),
                Place::At(key) => (Excluded(key.clone()), Unbounded, Forward),
                Place::End => return Ok(None),
            },
            Steps::Step(HandlerStep::Prev) => match &self.place {
                Place::Nowhere | Place::End => (Unbounded, Unbounded, Backward),
                Place::At(key) => (Unbounded, Excluded(key.clone()), Backward),
                Place::Start => return Ok(None),
            },
            Steps::Key(compare, values) => {
                let Some(key) = self.key(values, env)? else {
                    self.place = Place::Nowhere;
                    return Ok(None);
                };
                self.place = Place::At(key.clone());
                match compare {
                    HandlerCompare::Equal => (Included(key.clone()), Included(key), Forward),
                    HandlerCompare::GreaterOrEqual => (Included(key), Unbounded, Forward),
                    HandlerCompare::Greater => (Excluded(key), Unbounded, Forward),
                    HandlerCompare::LessOrEqual => (Unbounded, Included(key), Backward),
                    HandlerCompare::Less => (Unbounded, Excluded(key), Backward),
                }
            }
        };
        Ok(Some((KeyRange { lower, upper }, direction)))
    }

    /// The key of values of the index's first parts, as its columns would store them; `None`: no row has it. Error 1070 for too many.
    fn key(&self, values: &[Value<'_>], env: &SessionEnv) -> SqlResult<Option<Vec<u8>>> {
        let parts = &self.schema.indexes[self.index].parts;
        if values.len() > parts.len() {
            return Err(SqlError::new(
                1070,
                format!(
                    "Too many key parts specified; max {} parts allowed",
                    parts.len()
                ),
            ));
        }
        let cx = StoreContext {
            session: env,
            strict: false,
            row: 1,
        };
        let mut stored = Vec::with_capacity(values.len());
        for (v, part) in values.iter().zip(parts) {
            let column: &Column = &self.schema.columns[part.column];
            if v.is_null() && !column.nullable {
                return Ok(None);
            }
            stored.push(value::store(v.borrowed(), column, &cx)?);
        }
        let mut key = Vec::new();
        encode_key_values(&self.schema, self.index, &stored, env.zone.get(), &mut key);
        Ok(Some(key))
    }

    fn filter(&self, e: &ast::Expr, env: &SessionEnv) -> SqlResult<Expr> {
        let mut scope = Columns { handler: self, env };
        expr::bind(e, &mut scope)
    }
}

/// Names in a handler's WHERE: its table's columns.
struct Columns<'h> {
    handler: &'h Handler,
    env: &'h SessionEnv,
}

impl Scope for Columns<'_> {
    fn session(&self) -> &SessionEnv {
        self.env
    }
    fn column(&mut self, qualifier: &[&str], name: &str) -> SqlResult<Expr> {
        let schema = &self.handler.schema;
        let own = qualifier.last().is_none_or(|q| *q == self.handler.alias);
        let at = schema.column(name).filter(|_| own);
        let at = at.ok_or_else(|| unknown_column(qualifier, name, self.clause()))?;
        let c = &schema.columns[at];
        Ok(Expr::column(0, at, c.ty.clone(), c.nullable, &c.name))
    }
    fn param(&mut self, _: u32) -> SqlResult<usize> {
        Err(SqlError::unsupported("a placeholder in HANDLER"))
    }
    fn clause(&self) -> &'static str {
        "where clause"
    }
}
