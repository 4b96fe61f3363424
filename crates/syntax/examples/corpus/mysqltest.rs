//! Splits a `.test` file by mysqltest's rules into the SQL statements it sends.

/// A statement that a test file sends to the server.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent {
    /// Line on which it starts, from 1.
    pub line: usize,
    /// Its text, without the delimiter.
    pub text: String,
    /// The arguments of the `--error` before it, empty if there was none.
    pub errors: String,
}

/// Commands of mysqltest; a statement that begins with one of them is not SQL.
const COMMANDS: &[&str] = &[
    "append_file",
    "assert",
    "break",
    "cat_file",
    "change_user",
    "character_set",
    "chmod",
    "connect",
    "connection",
    "continue",
    "copy_file",
    "copy_files_wildcard",
    "dec",
    "diff_files",
    "die",
    "dirty_close",
    "disable_abort_on_error",
    "disable_column_names",
    "disable_connect_log",
    "disable_cursor_protocol",
    "disable_info",
    "disable_metadata",
    "disable_non_blocking_api",
    "disable_parsing",
    "disable_prepare_warnings",
    "disable_ps2_protocol",
    "disable_ps_protocol",
    "disable_query_log",
    "disable_reconnect",
    "disable_result_log",
    "disable_rpl_parse",
    "disable_service_connection",
    "disable_session_track_info",
    "disable_view_protocol",
    "disable_warnings",
    "disconnect",
    "echo",
    "enable_abort_on_error",
    "enable_column_names",
    "enable_connect_log",
    "enable_cursor_protocol",
    "enable_info",
    "enable_metadata",
    "enable_non_blocking_api",
    "enable_parsing",
    "enable_prepare_warnings",
    "enable_ps2_protocol",
    "enable_ps_protocol",
    "enable_query_log",
    "enable_reconnect",
    "enable_result_log",
    "enable_rpl_parse",
    "enable_service_connection",
    "enable_session_track_info",
    "enable_view_protocol",
    "enable_warnings",
    "end",
    "end_timer",
    "eof",
    "error",
    "evalp_result",
    "exec",
    "execw",
    "exit",
    "file_exists",
    "force-cpdir",
    "force-rmdir",
    "horizontal_results",
    "if",
    "inc",
    "let",
    "list_files",
    "list_files_append_file",
    "list_files_write_file",
    "lowercase_result",
    "mkdir",
    "move_file",
    "optimizer_trace",
    "output",
    "perl",
    "ping",
    "ps_protocol",
    "query_attributes",
    "query_get_value",
    "real_sleep",
    "reap",
    "remove_file",
    "remove_files_wildcard",
    "replace_column",
    "replace_numeric_round",
    "replace_regex",
    "replace_result",
    "require",
    "reset_connection",
    "result",
    "rmdir",
    "rowsort",
    "save_master_pos",
    "send_quit",
    "send_shutdown",
    "shutdown_server",
    "skip",
    "sleep",
    "sorted_result",
    "source",
    "start_timer",
    "sync_slave_with_master",
    "sync_with_master",
    "system",
    "timer",
    "vertical_results",
    "view_protocol",
    "wait_for_slave_to_stop",
    "while",
    "write_file",
    "write_line",
    "enable_testcase",
    "disable_testcase",
    "enable_prepare",
    "remove_files",
];

/// Commands whose argument is a statement to send.
const SENDERS: &[&str] = &[
    "eval",
    "evalp",
    "query",
    "query_vertical",
    "query_horizontal",
    "send",
    "send_eval",
];

/// Commands followed by lines up to one that says EOF (or what the command names).
const FILES: &[&str] = &["write_file", "append_file", "perl"];

/// The statements of a file, in order. Blocks of `if` and `while` are walked through once; the variables that `let` sets to
/// plain text are put in.
pub fn split(file: &str) -> Vec<Sent> {
    let mut splitter = Splitter {
        rest: file,
        line: 1,
        delimiter: ";".to_string(),
        errors: String::new(),
        variables: Vec::new(),
        parsing: true,
        sent: Vec::new(),
    };
    while splitter.step() {}
    splitter.sent
}

struct Splitter<'a> {
    rest: &'a str,
    line: usize,
    delimiter: String,
    errors: String,
    variables: Vec<(String, String)>,
    /// Off between `disable_parsing` and `enable_parsing`.
    parsing: bool,
    sent: Vec<Sent>,
}

impl<'a> Splitter<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (head, rest) = self.rest.split_at(bytes);
        self.line += head.matches('\n').count();
        self.rest = rest;
        head
    }

    fn take_line(&mut self) -> &'a str {
        let end = self.rest.find('\n').map_or(self.rest.len(), |n| n + 1);
        self.take(end)
    }

    /// Takes the next comment, command, block end or statement; `false` at the end of the file.
    fn step(&mut self) -> bool {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.take(blank);
        if self.rest.is_empty() {
            return false;
        }
        if self.rest.starts_with(&self.delimiter) {
            self.take(self.delimiter.len());
        } else if self.rest.starts_with('#') {
            self.take_line();
        } else if self.rest.starts_with("--") {
            let line = self.line;
            let text = self.take_line()[2..].trim();
            self.command(text, line, true);
        } else if self.rest.starts_with('}') {
            self.take(1);
        } else {
            let line = self.line;
            let text = self.statement();
            self.command(text.trim_end(), line, false);
        }
        true
    }

    /// Up to the delimiter, or to the brace that opens a block.
    fn statement(&mut self) -> &'a str {
        let head = self.rest.get(..6).unwrap_or(self.rest).to_ascii_lowercase();
        let block = ["if", "while"].iter().any(|w| {
            head.strip_prefix(w)
                .is_some_and(|r| r.trim_start().is_empty() || r.trim_start().starts_with('('))
        });
        let bytes = self.rest.as_bytes();
        let mut quote = None;
        let mut i = 0;
        while i < bytes.len() {
            let c = bytes[i];
            match quote {
                Some(_) if c == b'\\' => i += 1,
                Some(q) if c == q => quote = None,
                Some(_) => {}
                None if bytes[i..].starts_with(self.delimiter.as_bytes()) => break,
                None if block && c == b'{' => break,
                None if matches!(c, b'\'' | b'"' | b'`') && (i == 0 || bytes[i - 1] != b'\\') => {
                    quote = Some(c);
                }
                None => {}
            }
            i += 1;
        }
        let mut end = i.min(bytes.len());
        while !self.rest.is_char_boundary(end) {
            end += 1;
        }
        let text = self.take(end);
        let past = if block { 1 } else { self.delimiter.len() };
        self.take(past.min(self.rest.len()));
        text
    }

    /// What a line or a statement asks for.
    fn command(&mut self, text: &str, line: usize, dashed: bool) {
        let word_end = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(text.len());
        let word = text[..word_end].to_ascii_lowercase();
        let argument = text[word_end..].trim();
        match word.as_str() {
            "delimiter" => {
                let end = argument.find(char::is_whitespace).unwrap_or(argument.len());
                self.delimiter = argument[..end].to_string();
            }
            "disable_parsing" => self.parsing = false,
            "enable_parsing" => self.parsing = true,
            "error" => self.errors = argument.to_string(),
            "let" => self.assign(argument),
            w if FILES.contains(&w) => self.skip_file(argument, dashed),
            w if SENDERS.contains(&w) => self.send(argument, line),
            w if COMMANDS.contains(&w) && !(w == "connection" && argument.is_empty()) => {}
            _ if dashed => {}
            _ => self.send(text, line),
        }
    }

    fn skip_file(&mut self, argument: &str, dashed: bool) {
        if !dashed {
            self.take_line();
        }
        let end = argument.split_whitespace().last().unwrap_or("EOF");
        let end = if end.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            end
        } else {
            "EOF"
        };
        while !self.rest.is_empty() && self.take_line().trim().trim_end_matches(';') != end {}
    }

    fn assign(&mut self, argument: &str) {
        let Some((name, value)) = argument.split_once('=') else {
            return;
        };
        let name = name.trim().trim_start_matches('$').to_string();
        self.variables.retain(|(n, _)| *n != name);
        let value = self.substitute(value.trim());
        if !value.starts_with('`') && !value.starts_with("query_get_value") && !value.contains('$')
        {
            self.variables.push((name, value));
        }
    }

    fn substitute(&self, text: &str) -> String {
        let mut out = text.to_string();
        let mut names: Vec<_> = self.variables.iter().collect();
        names.sort_by_key(|(n, _)| std::cmp::Reverse(n.len()));
        for (name, value) in names {
            out = out.replace(&format!("${name}"), value);
        }
        out
    }

    fn send(&mut self, text: &str, line: usize) {
        let errors = std::mem::take(&mut self.errors);
        if text.is_empty() || !self.parsing {
            return;
        }
        self.sent.push(Sent {
            line,
            text: self.substitute(text),
            errors,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    fn texts(file: &str) -> Vec<String> {
        split(file).into_iter().map(|s| s.text).collect()
    }

    #[test]
    fn delimiters_quotes_and_comments() {
        let file = "# one; two\nSELECT ';' ;\n--echo x;\ndelimiter |;\nCREATE PROCEDURE p() BEGIN SELECT 1; END|\ndelimiter ;|\nSELECT 2;";
        assert_eq!(
            texts(file),
            [
                "SELECT ';'",
                "CREATE PROCEDURE p() BEGIN SELECT 1; END",
                "SELECT 2"
            ]
        );
    }

    #[test]
    fn blocks_variables_and_errors() {
        let file = "let $n= 3;\nwhile ($n)\n{\n  eval INSERT INTO t VALUES ($n);\n  dec $n;\n}\n--error ER_PARSE_ERROR\nSELEC 1;\nSELECT 1;";
        let sent = split(file);
        assert_eq!(sent[0].text, "INSERT INTO t VALUES (3)");
        assert_eq!(
            (sent[1].text.as_str(), sent[1].errors.as_str()),
            ("SELEC 1", "ER_PARSE_ERROR")
        );
        assert_eq!((sent[2].line, sent[2].errors.as_str()), (9, ""));
    }

    #[test]
    fn files_are_skipped() {
        let file = "--write_file a.txt\nSELECT 1;\nEOF\nperl;\nprint 1;\nEOF\nSELECT 2;";
        assert_eq!(texts(file), ["SELECT 2"]);
    }
}
