//! From a row to its partition.

use super::{Function, Partitioning};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::PartitionMethod;
use crate::types::Schema;
use crate::value::Value;

impl Partitioning {
    /// The leaf that a row belongs to; `None`: there is none for it. `buffer` is for reuse.
    pub fn route(
        &self,
        schema: &Schema,
        values: &[Value<'_>],
        env: &SessionEnv,
        buffer: &mut Vec<u8>,
    ) -> SqlResult<Option<usize>> {
        let part = self.part_of(schema, values, env, buffer)?;
        let (Some(at), Some(sub)) = (part, &self.sub) else {
            return Ok(part);
        };
        let within = sub.part_of(schema, values, env, buffer)?;
        Ok(within.map(|n| at * self.fan() + n))
    }

    fn part_of(
        &self,
        schema: &Schema,
        values: &[Value<'_>],
        env: &SessionEnv,
        buffer: &mut Vec<u8>,
    ) -> SqlResult<Option<usize>> {
        let f = self.function(schema, env)?;
        if self.method == PartitionMethod::Hash {
            return Ok(Some(self.hashed(&f.value(values, env)?)));
        }
        buffer.clear();
        f.key(values, env, buffer)?;
        Ok(self.find(buffer))
    }

    /// The leaf of a stored row. The same, for rows that are read.
    pub fn route_row(
        &self,
        schema: &Schema,
        row: &[u8],
        env: &SessionEnv,
        buffer: &mut Vec<u8>,
    ) -> SqlResult<Option<usize>> {
        let tz = env.zone.get();
        let values: Vec<Value<'_>> = (0..schema.columns.len())
            .map(|c| schema.layout().column(schema, row, c, tz))
            .collect();
        self.route(schema, &values, env, buffer)
    }

    /// The partition for the bytes of what decides (not for HASH).
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        match self.method {
            PartitionMethod::Range => {
                let at = self.range_at(key);
                (at < self.parts.len()).then_some(at)
            }
            PartitionMethod::List => self.listed_at(key),
            PartitionMethod::Key | PartitionMethod::Hash => Some(self.among(u128::from(fnv(key)))),
        }
    }

    /// HASH's partition for a value. NULL counts as 0.
    pub(crate) fn hashed(&self, value: &Value<'_>) -> usize {
        let n: i128 = match value {
            Value::Null => 0,
            Value::UInt(v) => i128::from(*v),
            v => i128::from(v.to_i64()),
        };
        if self.linear {
            // Two's complement, as MySQL masks negative values.
            return self.among(u128::from(n as u64));
        }
        (n.unsigned_abs() % self.parts.len() as u128) as usize
    }

    /// MOD, or for LINEAR the mask that is wide enough, and half as wide where that leads beyond the last partition.
    fn among(&self, n: u128) -> usize {
        let count = self.parts.len() as u128;
        if !self.linear {
            return (n % count) as usize;
        }
        let mask = count.next_power_of_two() - 1;
        let at = n & mask;
        let at = if at >= count { n & (mask >> 1) } else { at };
        at as usize
    }
}

/// FNV-1a, folded: what KEY hashes with. Rows lie where it says, so it never changes.
fn fnv(bytes: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    for &b in bytes {
        h = (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    }
    h ^ (h >> 32)
}

/// 1526 for a stored row.
pub fn no_partition_for_row(
    p: &Partitioning,
    schema: &Schema,
    row: &[u8],
    env: &SessionEnv,
) -> SqlError {
    let tz = env.zone.get();
    let values: Vec<Value<'_>> = (0..schema.columns.len())
        .map(|c| schema.layout().column(schema, row, c, tz))
        .collect();
    match p.function(schema, env) {
        Ok(f) => no_partition(f, &values, env),
        Err(e) => e,
    }
}

/// 1526, showing the value as MySQL does.
pub fn no_partition(f: &Function, values: &[Value<'_>], env: &SessionEnv) -> SqlError {
    let shown = if f.columns.len() > 1 && f.expr.is_none() {
        "from column_list".to_string()
    } else {
        match f.value(values, env) {
            Ok(Value::Null) | Err(_) => "NULL".to_string(),
            Ok(v) if f.types[0].is_integer() => String::from_utf8_lossy(&v.to_text()).into_owned(),
            Ok(_) => "from column_list".to_string(),
        }
    };
    SqlError::new(1526, format!("Table has no partition for value {shown}"))
}
