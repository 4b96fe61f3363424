//! What is made of a definition at its first use and kept with it.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use crate::error::{SqlError, SqlResult};

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
