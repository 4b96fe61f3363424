//! Query attributes: values that a client sends by name with a statement (CLIENT_QUERY_ATTRIBUTES).
//!
//! They are the session's while the statement runs, for `mysql_query_attribute_string()`, and gone afterwards. A client that can send them
//! says with each statement how many there are; one that can't pays nothing for them.

use super::Connection;
use crate::backend::{Backend, BackendSession};
use crate::proto::{Cursor, Malformed, binary};
use crate::statements::malformed;
use millpond_session::types::Encoding;
use millpond_session::{SqlError, SqlResult, Value};
use std::ops::Range;

/// Attributes by name, as sessions have them.
type Attributes = Vec<(String, Option<String>)>;

/// How many parameters an execution has; `own` of them are the statement's.
pub(super) fn count(c: &mut Cursor<'_>, own: usize) -> SqlResult<usize> {
    // Some clients say that they will tell, and don't where there are none.
    if c.is_empty() && own == 0 {
        return Ok(0);
    }
    let all = usize::try_from(c.lenenc().map_err(malformed)?).unwrap_or(usize::MAX);
    match all >= own && all <= usize::from(u16::MAX) {
        true => Ok(all),
        false => Err(SqlError::new(
            1210,
            "Incorrect arguments to mysqld_stmt_execute",
        )),
    }
}

/// Values with their names, from what clients' bytes mean. Texts among the values are UTF-8 already.
pub(super) fn of(names: &[Vec<u8>], values: &[Value<'_>], client: Encoding) -> Attributes {
    let name = |bytes: &[u8]| {
        let mut name = String::with_capacity(bytes.len());
        client.decode(bytes, &mut name);
        name
    };
    let text = |v: &Value<'_>| match v {
        Value::Null => None,
        v => Some(String::from_utf8_lossy(&v.to_text()).into_owned()),
    };
    let pairs = names.iter().zip(values);
    pairs.map(|(n, v)| (name(n), text(v))).collect()
}

/// Reads `n` attributes in front of a statement's text.
fn read(c: &mut Cursor<'_>, n: usize, client: Encoding) -> Result<Attributes, Malformed> {
    let nulls = c.take(n.div_ceil(8))?;
    if c.u8()? != 1 {
        return Err(Malformed);
    }
    let (mut types, mut names, mut values) = (Vec::new(), Vec::new(), Vec::new());
    binary::named_param_types(c, n, &mut types, &mut names)?;
    binary::params(c, nulls, &types, &[], &mut values)?;
    if !client.is_utf8() {
        binary::decode_texts(client, &types, &mut values);
    }
    Ok(of(&names, &values, client))
}

impl<B: Backend> Connection<B> {
    /// Gives the session what stands in front of a COM_QUERY's text; where that is.
    pub(super) fn query_attributes(&mut self, body: Range<usize>) -> SqlResult<Range<usize>> {
        let mut c = Cursor::new(self.reader.bytes(body.clone()));
        let n = c.lenenc().map_err(malformed)?;
        // Sets of values: always one.
        let sets = c.lenenc().map_err(malformed)?;
        if sets != 1 || n > u64::from(u16::MAX) {
            return Err(malformed(Malformed));
        }
        if n > 0 {
            let client = self.encodings.client();
            let attributes = read(&mut c, n as usize, client).map_err(malformed)?;
            self.session.set_query_attributes(attributes);
            self.has_attributes = true;
        }
        Ok(body.end - c.rest().len()..body.end)
    }

    /// The statement that they came with has ended.
    #[inline]
    pub(super) fn forget_attributes(&mut self) {
        if self.has_attributes {
            self.session.set_query_attributes(Vec::new());
            self.has_attributes = false;
        }
    }
}
