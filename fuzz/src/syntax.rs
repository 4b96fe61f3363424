//! Texts to trees and back.

use millpond_syntax::{
    LexMode, digest, generalize, parse_expression, parse_statement, placeholders, split_first,
};

/// The first byte says the mode, the rest is the text.
pub fn run(data: &[u8]) {
    let Some((&bits, rest)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let mode = LexMode {
        ansi_quotes: bits & 1 != 0,
        pipes_as_concat: bits & 2 != 0,
        no_backslash_escapes: bits & 4 != 0,
        high_not_precedence: bits & 8 != 0,
        ignore_space: bits & 16 != 0,
    };
    split_first(text, mode);
    placeholders(text, mode);
    generalize(text, mode);
    digest(text, mode);
    let _ = parse_expression(text, mode);
    if let Ok(statement) = parse_statement(text, mode) {
        let printed = statement.to_string();
        match parse_statement(&printed, LexMode::default()) {
            Ok(again) => assert!(again == statement, "{text}\n{printed}\n{again}"),
            Err(e) => panic!("{text}\n{printed}\n{e}"),
        }
    }
}
