//! LOAD_FILE.

use std::io::Read;

use super::{Call, Computed, Exit, Follows, Function, Null, call, row};
use crate::env::privileges::{FILE, Need, Object};
use crate::files::access;
use crate::types::{BaseType, SqlType};
use crate::value::Value;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    row("LOAD_FILE", 1..=1, |_| SqlType::new(BaseType::LongBlob), load_file).null(Null::Maybe).follows(Follows::Call).makes_its_own(),
];

/// A file's bytes; NULL if it can't be read, whatever the reason (no FILE privilege among them), or is longer than `max_allowed_packet`.
fn load_file<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    if let Some(services) = &c.cx.session.services {
        let files = Need {
            object: Object::Server,
            ..Need::whole("", "", FILE)
        };
        services.check(&files).map_err(|_| Exit::Null)?;
    }
    let name = c.text(0)?;
    let name = std::str::from_utf8(&name).map_err(|_| Exit::Null)?;
    let file = access::open(c.cx.session, name).map_err(|_| Exit::Null)?;
    let most = call::max_packet(c.cx.session);
    let length = file.metadata().map_err(|_| Exit::Null)?.len();
    if length > most {
        let m = format!(
            "Result of load_file() was larger than max_allowed_packet ({most}) - truncated"
        );
        c.cx.session.warn(1301, m);
        return Err(Exit::Null);
    }
    let mut bytes = Vec::new();
    match file.take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(Value::Bytes(bytes.into())),
        Err(_) => Err(Exit::Null),
    }
}
