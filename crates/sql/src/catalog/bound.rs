//! What is made of a definition at its first use and kept with it, and what computes columns by it.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use super::Schema;
use crate::error::{SqlError, SqlResult};
use crate::value::Value;

/// A place for what binding makes of a definition. Binding needs expressions and a session, of which definitions know nothing, so
/// this does not know what it keeps. A copy of the definition is bound anew.
#[derive(Default)]
pub(crate) struct BoundOnce(OnceLock<Box<dyn Any + Send + Sync>>);

impl BoundOnce {
    /// What `bind` makes, the first time. There is one type of it for each place.
    #[inline]
    pub(crate) fn get<T: Any + Send + Sync>(
        &self,
        bind: impl FnOnce() -> SqlResult<T>,
    ) -> SqlResult<&T> {
        let bound = match self.0.get() {
            Some(bound) => bound,
            None => {
                let new = Box::new(bind()?);
                self.0.get_or_init(|| new)
            }
        };
        bound
            .downcast_ref()
            .ok_or_else(|| SqlError::new(1105, "a definition is bound in one way only"))
    }
}

impl Clone for BoundOnce {
    fn clone(&self) -> BoundOnce {
        BoundOnce::default()
    }
}

impl fmt::Debug for BoundOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoundOnce")
    }
}

/// Gives a column of a row its value, where rows don't hold it.
type Compute = fn(&Schema, &[u8], usize) -> Value<'static>;

/// What computes columns: expressions, of which definitions know nothing.
static COMPUTE: OnceLock<Compute> = OnceLock::new();

/// Says what computes the columns whose values rows don't hold. There is one for the process.
pub(crate) fn compute_by(compute: Compute) {
    COMPUTE.get_or_init(|| compute);
}

impl Schema {
    /// The value of a column that rows don't hold.
    #[inline(never)]
    pub(crate) fn compute(&self, row: &[u8], column: usize) -> Value<'static> {
        let compute = COMPUTE.get().expect("a codec was made for the table");
        compute(self, row, column)
    }
}
