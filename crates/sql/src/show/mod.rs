//! SHOW, DESCRIBE and information_schema.
