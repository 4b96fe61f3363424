//! Rows and keys as bytes: the codec between SQL values and what the store keeps.
