//! JSON_VALUE().

use super::super::{Call, Computed, Exit};
use crate::error::{SqlError, SqlResult};
use crate::types::{BaseType, SqlType};
use crate::value::json::{Ref, View};
use crate::value::{ConversionEnv, Value, cast};

/// What is to be done where there is no value, or one that doesn't fit: the numbers by which calls say so.
pub(in crate::expr) mod on {
    /// NULL ON ...
    pub const NULL: i64 = 0;
    /// ERROR ON ...
    pub const ERROR: i64 = 1;
    /// DEFAULT ... ON ...
    pub const DEFAULT: i64 = 2;
}

/// A scalar of a document in a type, `None` if it doesn't fit.
pub(in crate::expr) fn scalar_as(
    v: Ref<'_>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Option<Value<'static>>> {
    if ty.is_json() {
        return Ok(Some(Value::Json(v.json().into_owned())));
    }
    let value = match v.view() {
        View::Null => return Ok(Some(Value::Null)),
        View::Array(_) | View::Object(_) => return Ok(None),
        _ if ty.is_string() => {
            let mut out = Vec::new();
            v.write_unquoted(&mut out);
            Value::Bytes(out.into())
        }
        _ => match v.json().to_sql(ty.family().category()) {
            Ok(value) => value,
            Err(_) => return Ok(None),
        },
    };
    fitting(value, ty, session)
}

/// A value in a type, `None` if it doesn't fit: a cast would complain of it.
fn fitting(
    value: Value<'_>,
    ty: &SqlType,
    session: &ConversionEnv,
) -> SqlResult<Option<Value<'static>>> {
    let own = ConversionEnv::default();
    own.zone.set(session.zone.get());
    own.now.set(session.now.get());
    own.sql_mode.set(session.sql_mode.get());
    let value = cast(value, ty, &own)?.into_owned();
    let fits = own.diagnostics.borrow().is_empty() && !value.is_null();
    Ok(fits.then_some(value))
}

/// JSON_VALUE(document, path, on empty, its default, on error, its default), in the type of the call.
pub(super) fn value<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let ty = &c.expr.ty;
    let otherwise = |at: usize, refused: SqlError| match c.args[at].eval(c.cx)?.to_i64() {
        on::ERROR => Err(Exit::Error(refused)),
        on::DEFAULT => Ok(c.args[at + 1].eval(c.cx)?),
        _ => Err(Exit::Null),
    };
    let doc = match c.document(0) {
        Ok(doc) => doc,
        Err(Exit::Error(e)) if matches!(e.code, 3141 | 3157) => return otherwise(4, e),
        Err(e) => return Err(e),
    };
    let found = c.path(1)?.select(doc.root());
    let [only] = &*found else {
        if found.is_empty() {
            let m = "No value was found by 'json_value' on the specified path.";
            return otherwise(2, SqlError::new(3966, m));
        }
        let m = "More than one value was found by 'json_value' on the specified path.";
        return otherwise(4, SqlError::new(3967, m));
    };
    let read = match only.view() {
        // Of what is no scalar the text.
        View::Array(_) | View::Object(_) if ty.is_string() => {
            let mut out = Vec::new();
            only.write_unquoted(&mut out);
            fitting(Value::Bytes(out.into()), ty, c.cx.session)?
        }
        _ => scalar_as(*only, ty, c.cx.session)?,
    };
    match read {
        Some(v) => Ok(v),
        None => {
            let kind = match ty.base {
                BaseType::BigInt if ty.unsigned => "UNSIGNED".to_string(),
                BaseType::BigInt => "SIGNED".to_string(),
                _ if ty.is_string() => "STRING".to_string(),
                _ => ty.data_type().to_uppercase(),
            };
            let m = format!("{kind} value is out of range in 'json_value'");
            otherwise(4, SqlError::new(1690, m))
        }
    }
}
