//! What the session says of itself, and texts' collations.

use super::typing::{bigint, plain, ubigint};
use super::{Call, Computed, Follows, Function, Null, row};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("DATABASE", 0..=0, plain::<64>, database).aka(&["SCHEMA"]).null(Null::Maybe).follows(Follows::Statement),
    row("USER", 0..=0, plain::<288>, user).aka(&["SESSION_USER", "SYSTEM_USER"]).follows(Follows::Statement),
    row("CURRENT_USER", 0..=0, plain::<288>, user).follows(Follows::Statement),
    row("VERSION", 0..=0, plain::<60>, |c| Ok((c.cx.session.sys_var)("", "version")?)).follows(Follows::Statement),
    row("CONNECTION_ID", 0..=0, ubigint, |c| Ok(Value::UInt(c.cx.session.connection_id as u64))).follows(Follows::Statement),
    row("LAST_INSERT_ID", 0..=1, ubigint, last_insert_id).follows(Follows::Call),
    row("ROW_COUNT", 0..=0, bigint, |c| Ok(Value::Int(c.cx.session.row_count.get()))).follows(Follows::Statement),
    row("FOUND_ROWS", 0..=0, ubigint, |c| Ok(Value::UInt(c.cx.session.found_rows.get()))).follows(Follows::Statement),
    row("CHARSET", 1..=1, plain::<64>, |c| Ok(Value::str(c.args[0].ty.collation.charset()))),
    row("COLLATION", 1..=1, plain::<64>, |c| Ok(Value::str(c.args[0].ty.collation.name()))),
];

fn database<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(match &*c.cx.session.database.borrow() {
        Some(d) => Value::string(d.clone()),
        None => Value::Null,
    })
}

fn user<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::str(&c.cx.session.user))
}

fn last_insert_id<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let last = &c.cx.session.last_insert_id;
    if c.len() == 1 {
        // LAST_INSERT_ID(x) sets what later calls give.
        last.set(c.value(0)?.to_bits());
    }
    Ok(Value::UInt(last.get()))
}
