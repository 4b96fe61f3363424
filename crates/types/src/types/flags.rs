//! What the protocol says of a result's column besides its type.

/// NOT NULL.
pub const FLAG_NOT_NULL: u16 = 1;
/// Part of the primary key.
pub const FLAG_PRI_KEY: u16 = 2;
/// Part of a unique key.
pub const FLAG_UNIQUE_KEY: u16 = 4;
/// Part of a non-unique key.
pub const FLAG_MULTIPLE_KEY: u16 = 8;
/// BLOB or TEXT.
pub const FLAG_BLOB: u16 = 16;
/// UNSIGNED.
pub const FLAG_UNSIGNED: u16 = 32;
/// ZEROFILL.
pub const FLAG_ZEROFILL: u16 = 64;
/// Binary collation.
pub const FLAG_BINARY: u16 = 128;
/// ENUM.
pub const FLAG_ENUM: u16 = 256;
/// AUTO_INCREMENT.
pub const FLAG_AUTO_INCREMENT: u16 = 512;
/// TIMESTAMP.
pub const FLAG_TIMESTAMP: u16 = 1024;
/// SET.
pub const FLAG_SET: u16 = 2048;
/// No default value.
pub const FLAG_NO_DEFAULT: u16 = 4096;
