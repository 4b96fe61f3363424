//! The values of a subquery that depends on rows around it, kept by what it reads of them: it runs once for rows that are alike there.
//!
//! Nothing is promised of what is kept. Where there is no memory for it, or where rows are hardly ever alike, the subquery
//! runs each time. A run that leaves warnings is not kept: each time it is asked is to leave them.

use std::cell::RefCell;
use std::rc::Rc;

use hashbrown::HashMap;

use super::Kept;
use crate::error::SqlResult;
use crate::exec::state::State;
use crate::expr::RowRef;
use crate::memory::Charge;
use crate::plan::nodes::Subquery;
use crate::value::Value;

/// Most values of a subquery that are kept at a time.
const MOST_VALUES: usize = 8192;
/// Of so many asked, one at least must have been known for the others to be kept on.
const WORTH: u64 = 8;
/// Bytes that a value takes beside its own.
const OVERHEAD: usize = 96;

/// Values by what they depend on.
pub struct Memo {
    values: HashMap<Box<[u8]>, Value<'static>>,
    charge: Charge,
    asked: u64,
    found: u64,
    given_up: bool,
}

/// The value of a subquery in these rows: known, or as `run` has it.
pub fn value<'s>(
    st: &mut State<'s>,
    q: &'s Subquery,
    rows: &[RowRef<'_>],
    run: impl FnOnce(&mut State<'s>) -> SqlResult<Value<'static>>,
) -> SqlResult<Value<'static>> {
    let Some(memo) = memo(st, q) else {
        return run(st);
    };
    let mut key = st.scratch.take();
    let readable = put_read(st, &q.outer, rows, &mut key);
    let known = match readable {
        true => memo.borrow_mut().get(&key),
        false => None,
    };
    let v = match known {
        Some(v) => Ok(v),
        None => {
            let before = st.env.diagnostics.borrow().len();
            let v = run(st);
            let quiet = st.env.diagnostics.borrow().len() == before;
            if let Ok(v) = &v
                && readable
                && quiet
            {
                memo.borrow_mut().put(&key, v);
            }
            v
        }
    };
    st.scratch.give(key);
    v
}

/// What is kept of a subquery; `None` if nothing is to be.
fn memo<'s>(st: &mut State<'s>, q: &Subquery) -> Option<Rc<RefCell<Memo>>> {
    if !q.correlated || !q.deterministic {
        return None;
    }
    let kept = match &st.subqueries[q.id] {
        Some(kept) => kept.clone(),
        None => {
            let memo = Memo {
                values: HashMap::new(),
                charge: Charge::new(st.memory),
                asked: 0,
                found: 0,
                given_up: false,
            };
            let kept = Rc::new(Kept::Memo(Rc::new(RefCell::new(memo))));
            st.subqueries[q.id] = Some(kept.clone());
            kept
        }
    };
    match &*kept {
        Kept::Memo(memo) if !memo.borrow().given_up => Some(memo.clone()),
        _ => None,
    }
}

/// Appends what is read of the rows around, as (source, column); `false` if that is not there yet.
pub fn put_read(
    st: &State<'_>,
    read: &[(usize, usize)],
    rows: &[RowRef<'_>],
    key: &mut Vec<u8>,
) -> bool {
    let zone = st.env.zone.get();
    for &(source, column) in read {
        match rows[source] {
            RowRef::Stored(schema, row) => {
                let v = schema.layout().column(schema, row, column, zone);
                crate::row::put_value(&v, key);
            }
            RowRef::Values(values) => crate::row::put_value(&values[column], key),
            RowRef::Nulls => crate::row::put_value(&Value::Null, key),
            RowRef::Lazy(_) => return false,
        }
    }
    true
}

impl Memo {
    fn get(&mut self, key: &[u8]) -> Option<Value<'static>> {
        self.asked += 1;
        let v = self.values.get(key)?.clone();
        self.found += 1;
        Some(v)
    }

    fn put(&mut self, key: &[u8], v: &Value<'static>) {
        let own = match v {
            Value::Bytes(b) => b.len(),
            Value::Json(j) => j.as_bytes().len(),
            _ => 0,
        };
        let full = self.values.len() >= MOST_VALUES;
        if full || !self.charge.try_grow(key.len() + own + OVERHEAD) {
            self.given_up = self.found * WORTH < self.asked;
            self.values = HashMap::new();
            self.charge.clear();
            return;
        }
        self.values.insert(key.into(), v.clone());
    }
}
