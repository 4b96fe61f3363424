//! Text to statements: sqlparser in MySQL's dialect, plus what it lacks; version comments; splitting
//! of multi-statement texts.
