//! Packets that come before anybody is known, and parameters of executions.

use millpond_server::proto::Cursor;
use millpond_server::proto::binary::{named_param_types, param_types, params};
use millpond_server::proto::handshake::{Login, attributes, is_tls_request};

/// The first byte says what the rest is.
pub fn run(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    match kind % 3 {
        0 => {
            is_tls_request(rest);
            if let Ok(login) = Login::parse(rest, kind & 4 != 0) {
                attributes(login.attributes);
            }
        }
        1 => {
            if let Some((bits, rest)) = rest.split_first_chunk() {
                let _ = Login::parse_change_user(rest, u32::from_le_bytes(*bits));
            }
        }
        _ => execution(rest),
    }
}

/// How many parameters, whether they have names, their NULLs, types and values.
fn execution(data: &[u8]) {
    let [head, rest @ ..] = data else { return };
    let n = usize::from(head & 0x3f);
    let Some((nulls, rest)) = rest.split_at_checked(n.div_ceil(8)) else {
        return;
    };
    let mut c = Cursor::new(rest);
    let mut types = Vec::new();
    let read = match head & 0x40 {
        0 => param_types(&mut c, n, &mut types),
        _ => named_param_types(&mut c, n, &mut types, &mut Vec::new()),
    };
    if read.is_ok() {
        let _ = params(&mut c, nulls, &types, &[], &mut Vec::new());
    }
}
