//! MySQL's language as text: what a statement says, and how it is written.
//!
//! | part | owns |
//! |---|---|
//! | `lexer`, `keyword`, `charset`, `text` | text to tokens; MySQL's words; what quoted texts mean |
//! | `ast` | trees |
//! | `parse` | tokens to trees |
//! | `print` | trees to text |
//! | `digest`, `generalize`, `split`, `pieces` | statements without their literals; where statements end and placeholders are; texts that are not whole |
//! | `error`, `span` | what is wrong, and where |
//!
//! Pure functions of text and [`LexMode`]: no session, no catalog, no state. What MySQL 8 accepts grammatically parses here, whether or
//! not Millpond runs it. Nothing here recurses deeper than [`parse::MAX_DEPTH`] bounds, and nothing takes more than linear time, nor
//! more memory than [`ast::list`] tells.

pub mod ast;
mod charset;
mod digest;
pub mod error;
mod generalize;
pub mod keyword;
pub mod lexer;
pub mod parse;
pub mod pieces;
pub mod print;
pub mod quote;
pub mod span;
mod split;
pub mod text;

pub use digest::{digest, digest_start};
pub use error::SyntaxError;
pub use generalize::{General, Taken, generalize};
pub use keyword::Keyword;
pub use lexer::{LexMode, Lexer, Token, TokenKind};
pub use parse::{Parser, parse_expression, parse_statement, parse_statement_of_many};
pub use span::Span;
pub use split::{placeholders, split_first};
