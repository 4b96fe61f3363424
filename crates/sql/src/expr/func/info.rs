//! Functions that ask the session.

use super::{Call, Computed, Func};
use crate::value::Value;

pub(super) fn call<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    let s = c.cx.session;
    Ok(match f {
        Func::Database => match &*s.database.borrow() {
            Some(d) => Value::string(d.clone()),
            None => Value::Null,
        },
        Func::User | Func::CurrentUser => Value::str(&s.user),
        Func::Version => (s.sys_var)("", "version")?,
        Func::ConnectionId => Value::UInt(s.connection_id as u64),
        Func::LastInsertId => {
            if c.len() == 1 {
                // LAST_INSERT_ID(x) sets what later calls give.
                s.last_insert_id.set(c.value(0)?.to_bits());
            }
            Value::UInt(s.last_insert_id.get())
        }
        Func::RowCount => Value::Int(s.row_count.get()),
        Func::FoundRows => Value::UInt(s.found_rows.get()),
        Func::Charset => Value::str(c.args[0].ty.collation.charset()),
        // COLLATION, the last of them.
        _ => Value::str(c.args[0].ty.collation.name()),
    })
}
