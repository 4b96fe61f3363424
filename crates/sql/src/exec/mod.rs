//! Pulling operators and DML.
