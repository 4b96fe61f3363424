//! What the session says of itself, and texts' collations.

use super::typing::{Typing, bigint, ubigint};
use super::{Call, Computed, Follows, Function, Null, row};
use crate::env::Asked;
use crate::types::{Collation, SqlType};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("DATABASE", 0..=0, named::<64>, database).aka(&["SCHEMA"]).null(Null::Maybe).follows(Follows::Statement),
    row("USER", 0..=0, named::<288>, user).aka(&["SESSION_USER", "SYSTEM_USER"]).follows(Follows::Statement),
    row("CURRENT_USER", 0..=0, named::<288>, account).follows(Follows::Statement),
    // There are no roles.
    row("CURRENT_ROLE", 0..=0, named::<1024>, roles).follows(Follows::Statement),
    row("PS_CURRENT_THREAD_ID", 0..=0, ubigint, |c| Ok(Value::UInt(c.cx.session.connection_id as u64))).follows(Follows::Statement),
    row("PS_THREAD_ID", 1..=1, ubigint, thread_id).null(Null::Maybe).follows(Follows::Call),
    // What measures it is a component that isn't there.
    row("VALIDATE_PASSWORD_STRENGTH", 1..=1, bigint, |c| c.text(0).map(|_| Value::Int(0))),
    row("VERSION", 0..=0, named::<60>, |c| Ok((c.cx.session.sys_var)("", "version")?)).follows(Follows::Statement),
    row("CONNECTION_ID", 0..=0, ubigint, |c| Ok(Value::UInt(c.cx.session.connection_id as u64))).follows(Follows::Statement),
    row("LAST_INSERT_ID", 0..=1, ubigint, last_insert_id).follows(Follows::Call),
    row("ROW_COUNT", 0..=0, bigint, |c| Ok(Value::Int(c.cx.session.row_count.get()))).follows(Follows::Statement),
    row("FOUND_ROWS", 0..=0, bigint, |c| Ok(Value::Int(c.cx.session.found_rows.get() as i64))).follows(Follows::Statement),
    row("MYSQL_QUERY_ATTRIBUTE_STRING", 1..=1, attribute_type, attribute).null(Null::Maybe).follows(Follows::Statement),
    row("CHARSET", 1..=1, named::<64>, |c| Ok(Value::str(c.args[0].ty.collation.charset()))).makes_its_own(),
    row("COLLATION", 1..=1, named::<64>, |c| Ok(Value::str(c.args[0].ty.collation.name()))).makes_its_own(),
];

/// A text of the server's own, whose character set is that of names.
fn named<const CHARS: u32>(_: &Typing<'_>) -> SqlType {
    SqlType::varchar(CHARS, Collation::Utf8mb3GeneralCi)
}

fn database<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(match &*c.cx.session.database.borrow() {
        Some(d) => Value::string(d.clone()),
        None => Value::Null,
    })
}

fn user<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::str(&c.cx.session.user))
}

fn account<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::string(c.cx.session.account.borrow().clone()))
}

fn roles<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::string(c.cx.session.roles.borrow().clone()))
}

/// An attribute is as long as a client may send.
fn attribute_type(_: &Typing<'_>) -> SqlType {
    SqlType::varchar(1 << 20, Collation::Utf8mb40900AiCi)
}

/// What the client has sent with the statement under this name. (In MySQL a component brings the function; here it is there.)
fn attribute<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let name = c.text(0)?;
    let attributes = c.cx.session.query_attributes.borrow();
    let mut found = attributes.iter().filter(|(n, _)| n.as_bytes() == &*name);
    Ok(match found.next() {
        Some((_, Some(value))) => Value::string(value.clone()),
        _ => Value::Null,
    })
}

/// The thread of a connection, as performance_schema.threads has it; NULL if there is none.
fn thread_id<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let id = c.bits(0)?;
    let env = c.cx.session;
    let mut found = Value::Null;
    if let Some(threads) = env.virtual_table("performance_schema", "threads") {
        let asked = Asked {
            known: &[],
            read: None,
        };
        threads.rows(env, asked, &mut |r| {
            if !r[3].is_null() && r[3].to_bits() == id {
                found = r[0].clone().into_owned();
            }
            Ok(())
        })?;
    }
    Ok(found)
}

fn last_insert_id<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let last = &c.cx.session.last_insert_id;
    if c.len() == 1 {
        // LAST_INSERT_ID(x) sets what later calls give.
        last.set(c.value(0)?.to_bits());
    }
    Ok(Value::UInt(last.get()))
}
