//! Purge: removes what no view needs any more.
