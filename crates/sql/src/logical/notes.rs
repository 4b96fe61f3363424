//! What binding took for granted: whoever keeps a plan asks whether it still holds.

use std::sync::Arc;

use crate::expr::Expr;
use crate::types::{BaseType, Collation, SqlType};

/// What binding took for granted of the session, its transaction and the parameters.
#[derive(Debug, Default)]
pub struct Notes {
    /// Something of the session is part of it besides what the meaning of a text depends on anyway: the type of a variable, the
    /// state of RAND(seed). Other sessions make their own.
    pub private: bool,
    /// It is for one execution: the clock is part of it, or the value of a placeholder.
    pub momentary: bool,
    /// The types that placeholders were taken to have where nothing around them says it: `None` for texts and NULL.
    pub param_types: Vec<(usize, Option<SqlType>)>,
    /// The types that user variables had when it was made.
    pub variable_types: Vec<(Arc<str>, SqlType)>,
    /// What each execution warns of.
    pub told: Vec<(u16, &'static str)>,
    /// Constants and placeholders that columns of dates and times are compared with: which types these have, and their names. A constant
    /// is here if it is no value of them.
    pub moments: Vec<(Expr, SqlType, Arc<str>)>,
    /// Placeholders compared with dates and years: which, and what messages call a date, if they call it anything.
    pub constant_params: Vec<(usize, BaseType, Arc<str>)>,
    /// Those that are compared in a character set, for texts that have other characters: the collation they have, and that of the comparison.
    pub fitting_params: Vec<(usize, Collation, Collation)>,
    /// Placeholders compared with string columns, and whether they were taken to be texts or NULL.
    pub text_params: Vec<(usize, bool)>,
    /// Placeholders that stand where bytes are wanted.
    pub bytes_params: Vec<usize>,
    /// Whether the statement locks what it reads and does not change, if it would depend on the isolation level.
    pub locks_reads: Option<bool>,
    /// Which stored programs it goes by ([`crate::env::Services::programs`]), if it calls any.
    pub programs: Option<u64>,
    /// What an AUTO_INCREMENT column that `IS NULL` was taken to be ([`crate::env::SessionEnv::found_by_null`]), if there is one.
    pub auto_is_null: Option<Option<u64>>,
    /// Whether it reads virtual tables, which tell what there is at the moment.
    pub lists: bool,
}
