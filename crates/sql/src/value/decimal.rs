//! DECIMAL values, to 65 digits with up to 30 after the point.

/// An exact decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {}
