//! The prepared statements of one connection, by the ids that the client knows them by.

use crate::proto::binary::{ParamType, named_param_types, param_types, params};
use crate::proto::{Cursor, Malformed};
use crate::sink::Shape;
use hashbrown::HashMap;
use millpond_session::memory::Charge;
use millpond_session::{KeptRows, Prepared, SqlError, SqlResult, Value};
use std::sync::Arc;

/// A prepared statement and what the client has sent for it.
pub struct Statement {
    /// The session's part.
    pub prepared: Arc<Prepared>,
    /// Its result columns, encoded.
    pub shape: Shape,
    /// Parameter types of the last execution that declared them.
    types: Vec<ParamType>,
    /// Their names, if it gave any: what the statement has no placeholder for is an attribute.
    names: Vec<Vec<u8>>,
    /// COM_STMT_SEND_LONG_DATA's data per parameter; empty until some comes.
    long: Vec<Option<Vec<u8>>>,
    /// What that takes of the session's memory.
    charge: Option<Charge>,
    /// What was wrong with long data: the command has no answer, so the execution tells.
    long_error: Option<SqlError>,
    /// The rows of its last execution that are not fetched yet, each as the protocol has it, if it was executed for a cursor.
    pub cursor: Option<KeptRows>,
}

/// 1835.
pub fn malformed(_: Malformed) -> SqlError {
    SqlError::new(1835, "Malformed communication packet.")
}

impl Statement {
    /// Reads an execution's `n` parameters (what follows the iteration count). `names`: they have some, as far as they are attributes.
    #[inline]
    pub fn bind<'a, 'b: 'a>(
        types: &mut Vec<ParamType>,
        names: Option<&mut Vec<Vec<u8>>>,
        long: &'b [Option<Vec<u8>>],
        n: usize,
        c: &mut Cursor<'a>,
        out: &mut impl Extend<Value<'a>>,
    ) -> SqlResult<()> {
        if n == 0 {
            return Ok(());
        }
        let nulls = c.take(n.div_ceil(8)).map_err(malformed)?;
        if c.u8().map_err(malformed)? == 1 {
            let read = match names {
                Some(names) => named_param_types(c, n, types, names),
                None => param_types(c, n, types),
            };
            read.map_err(malformed)?;
        }
        if types.len() != n {
            return Err(SqlError::new(
                1210,
                "Incorrect arguments to mysqld_stmt_execute",
            ));
        }
        params(c, nulls, types, long, out).map_err(malformed)
    }

    /// The parts that an execution uses at the same time.
    #[allow(clippy::type_complexity)]
    pub fn parts(
        &mut self,
    ) -> (
        &Arc<Prepared>,
        &mut Shape,
        &mut Vec<ParamType>,
        &mut Vec<Vec<u8>>,
        &[Option<Vec<u8>>],
    ) {
        (
            &self.prepared,
            &mut self.shape,
            &mut self.types,
            &mut self.names,
            &self.long,
        )
    }

    /// Appends long data to a parameter.
    pub fn long_data(
        &mut self,
        param: usize,
        data: &[u8],
        max: usize,
        charge: impl FnOnce() -> Option<Charge>,
    ) {
        let n = self.prepared.params;
        if param >= n {
            self.long_error = Some(SqlError::new(
                1210,
                "Incorrect arguments to mysqld_stmt_send_long_data",
            ));
            return;
        }
        self.long.resize(n, None);
        let sofar = self.long[param].get_or_insert_default();
        if sofar.len() + data.len() > max {
            self.long_error = Some(SqlError::new(
                1105,
                "Parameter of prepared statement which is set through mysql_send_long_data() is longer \
                 than 'max_allowed_packet' bytes",
            ));
            return;
        }
        if self.charge.is_none() {
            self.charge = charge();
        }
        if let Some(charge) = &mut self.charge
            && let Err(e) = charge.grow(data.len())
        {
            self.long_error = Some(e);
            return;
        }
        sofar.extend_from_slice(data);
    }

    /// Forgets long data; tells what was wrong with it.
    #[inline]
    pub fn clear_long_data(&mut self) -> Option<SqlError> {
        self.long.clear();
        self.charge = None;
        self.long_error.take()
    }

    /// What is wrong with the long data so far.
    #[inline]
    pub fn long_error(&self) -> Option<&SqlError> {
        self.long_error.as_ref()
    }
}

/// A connection's statements.
pub struct Statements {
    by_id: HashMap<u32, Statement>,
    next: u32,
}

impl Default for Statements {
    /// None yet.
    fn default() -> Statements {
        Statements {
            by_id: HashMap::new(),
            next: 1,
        }
    }
}

impl Statements {
    /// Keeps a statement; returns its id.
    pub fn insert(&mut self, prepared: Arc<Prepared>) -> u32 {
        let id = loop {
            let id = self.next;
            self.next = self.next.wrapping_add(1).max(1);
            if !self.by_id.contains_key(&id) {
                break id;
            }
        };
        self.by_id.insert(
            id,
            Statement {
                prepared,
                shape: Shape::default(),
                types: Vec::new(),
                names: Vec::new(),
                long: Vec::new(),
                charge: None,
                long_error: None,
                cursor: None,
            },
        );
        id
    }

    /// Looks one up for the command named.
    #[inline]
    pub fn get(&mut self, id: u32, command: &str) -> SqlResult<&mut Statement> {
        self.by_id.get_mut(&id).ok_or_else(|| {
            SqlError::new(
                1243,
                format!("Unknown prepared statement handler ({id}) given to {command}"),
            )
        })
    }

    /// Forgets one; tells whether it was there.
    pub fn remove(&mut self, id: u32) -> bool {
        self.by_id.remove(&id).is_some()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.by_id.clear();
    }
}
