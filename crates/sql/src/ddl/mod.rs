//! Data definition statements.
