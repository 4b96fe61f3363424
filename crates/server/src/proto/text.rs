//! Rows of the text protocol, straight from values.

use super::lenenc::{close_bytes, put_bytes};
use millpond_session::Value;
use millpond_session::types::SqlType;
use millpond_session::value::write_text;

/// Appends a text row's payload.
#[inline]
pub fn row(out: &mut Vec<u8>, types: &[SqlType], values: &[Value<'_>]) {
    debug_assert_eq!(types.len(), values.len());
    for (ty, v) in types.iter().zip(values) {
        value(out, ty, v);
    }
}

#[inline]
fn value(out: &mut Vec<u8>, ty: &SqlType, v: &Value<'_>) {
    match v {
        Value::Null => out.push(0xfb),
        Value::Bytes(b) => put_bytes(out, b),
        other => {
            out.push(0);
            let start = out.len();
            write_text(other, ty, out);
            close_bytes(out, start);
        }
    }
}
