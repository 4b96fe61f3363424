//! `millpond sql`: a shell on the embedded engine. Interactive on a terminal; a plain reader of statements when its input is a pipe
//! or a file, which stops at the first error.

mod print;
mod split;

use crate::settings::{self, EngineArgs, Error, File};
use millpond_session::{ConnectionInfo, Instance, Session};
use print::{Layout, Printer};
use rustyline::error::ReadlineError;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use split::{End, Splitter};
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    /// Run these statements and exit
    #[arg(long, short, value_name = "SQL")]
    execute: Option<String>,
    /// Print tables even if the output is no terminal
    #[arg(long, short)]
    table: bool,
    /// Print lines with tabs even on a terminal
    #[arg(long, short = 'B', conflicts_with = "table")]
    batch: bool,
    /// Go on after an error when statements come from a pipe or a file
    #[arg(long, short)]
    force: bool,
    /// Database to start in
    database: Option<String>,
}

const HELP: &str = "\
Statements end with ; or \\g, with \\G to print each row vertically; \\c cancels what has been typed.
help, \\h          this text
use DATABASE      change the current database
source FILE, \\.   run the statements of a file
exit, quit, \\q    leave
";

/// Where interactive input is remembered, in the home directory.
const HISTORY: &str = ".millpond_history";

pub fn run(args: &Args) -> Result<(), Error> {
    let file = File::read(args.engine.config.as_deref())?;
    let options = args.engine.options(&file)?;
    let instance = settings::open(options)?;
    let done = with_session(args, &instance);
    let closed = instance.close();
    done?;
    closed?;
    Ok(())
}

fn with_session(args: &Args, instance: &Instance) -> Result<(), Error> {
    let session = instance.connect(ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        database: args.database.clone(),
        multi_statements: false,
        interactive: true,
        ..ConnectionInfo::default()
    })?;
    let tables = args.table || (!args.batch && std::io::stdout().is_terminal());
    let mut shell = Shell {
        session,
        layout: if tables { Layout::Table } else { Layout::Tabs },
        splitter: Splitter::default(),
        force: args.force,
    };
    if let Some(sql) = &args.execute {
        shell.splitter.push(sql);
        return shell.run_all();
    }
    if !std::io::stdin().is_terminal() {
        return shell.read(std::io::stdin().lock());
    }
    interrupt_on_ctrl_c(instance, shell.session.id())?;
    shell.interact()
}

/// Ctrl-C interrupts the running statement instead of the shell.
fn interrupt_on_ctrl_c(instance: &Instance, session: u32) -> Result<(), Error> {
    let mut signals = Signals::new([SIGINT])?;
    let instance = instance.clone();
    std::thread::Builder::new()
        .name("interrupt".into())
        .spawn(move || {
            for _ in signals.forever() {
                // Nothing runs, or it ended just now: nothing to interrupt.
                let _ = instance.kill(session, false);
            }
        })?;
    Ok(())
}

/// Whether to go on.
#[derive(PartialEq, Eq)]
enum Next {
    On,
    Leave,
}

struct Shell {
    session: Session,
    layout: Layout,
    splitter: Splitter,
    force: bool,
}

impl Shell {
    /// Runs statements of a reader, to its end or the first error.
    fn read(&mut self, mut input: impl BufRead) -> Result<(), Error> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return self.run_all();
            }
            let text = std::str::from_utf8(&line)?;
            if self.splitter.is_empty() {
                match self.own_command(text.trim()) {
                    Some(Ok(Next::Leave)) => return Ok(()),
                    Some(done) => {
                        self.forgive(done.map(|_| ()))?;
                        continue;
                    }
                    None => {}
                }
            }
            self.splitter.push(text);
            while let Some((sql, end)) = self.splitter.next() {
                let done = self.run_one(&sql, end);
                self.forgive(done)?;
            }
        }
    }

    /// Runs everything gathered, the last statement even without an end.
    fn run_all(&mut self) -> Result<(), Error> {
        while let Some((sql, end)) = self.splitter.next() {
            let done = self.run_one(&sql, end);
            self.forgive(done)?;
        }
        match self.splitter.rest() {
            Some(sql) => {
                let done = self.run_one(&sql, End::Plain);
                self.forgive(done)
            }
            None => Ok(()),
        }
    }

    fn forgive(&self, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(e) if self.force => {
                eprintln!("{e}");
                Ok(())
            }
            other => other,
        }
    }

    fn run_one(&mut self, sql: &str, end: End) -> Result<(), Error> {
        if sql.is_empty() || end == End::Cancel {
            return Ok(());
        }
        let layout = match end {
            End::Vertical => Layout::Vertical,
            _ => self.layout,
        };
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let done = self
            .session
            .execute(sql, &mut Printer::new(&mut out, layout));
        out.flush()?;
        done.map_err(Error::from)
    }

    /// A command of the shell's own, if the line is one.
    fn own_command(&mut self, line: &str) -> Option<Result<Next, Error>> {
        let line = line.trim_end_matches(';').trim();
        let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word.to_ascii_lowercase().as_str() {
            "exit" | "quit" | "\\q" if argument.is_empty() => Some(Ok(Next::Leave)),
            "help" | "\\h" if argument.is_empty() => {
                print!("{HELP}");
                Some(Ok(Next::On))
            }
            "use" if !argument.is_empty() && !argument.trim().contains([';', ' ']) => {
                Some(self.use_database(argument.trim()))
            }
            "source" | "\\." if !argument.is_empty() => {
                Some(self.source(argument.trim()).map(|()| Next::On))
            }
            _ => None,
        }
    }

    fn use_database(&mut self, name: &str) -> Result<Next, Error> {
        self.session.use_database(name.trim_matches('`'))?;
        if self.layout != Layout::Tabs {
            println!("Database changed\n");
        }
        Ok(Next::On)
    }

    fn source(&mut self, path: &str) -> Result<(), Error> {
        let file = std::fs::File::open(path).map_err(|e| format!("{path}: {e}"))?;
        let done = self.read(std::io::BufReader::new(file));
        self.splitter.clear();
        done
    }

    fn interact(&mut self) -> Result<(), Error> {
        println!(
            "Millpond {}, embedded. Statements end with ;  Type help for help.\n",
            env!("CARGO_PKG_VERSION")
        );
        let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(HISTORY));
        let mut editor = rustyline::DefaultEditor::new()?;
        if let Some(history) = &history {
            // Not there the first time.
            let _ = editor.load_history(history);
        }
        loop {
            let prompt = match self.splitter.open() {
                _ if self.splitter.is_empty() => "millpond> ".to_string(),
                Some(open) => format!("{open:>8}> "),
                None => "      -> ".to_string(),
            };
            match editor.readline(&prompt) {
                Ok(line) => {
                    if !line.trim().is_empty() {
                        editor.add_history_entry(&line)?;
                    }
                    if self.type_line(&line) == Next::Leave {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) => self.splitter.clear(),
                Err(ReadlineError::Eof) => break,
                Err(e) => return Err(e.into()),
            }
        }
        if let Some(history) = &history
            && let Err(e) = editor.save_history(history)
        {
            eprintln!("{}: {e}", history.display());
        }
        Ok(())
    }

    /// A line typed; errors are shown and forgotten.
    fn type_line(&mut self, line: &str) -> Next {
        if self.splitter.is_empty() {
            match self.own_command(line.trim()) {
                Some(Ok(next)) => return next,
                Some(Err(e)) => {
                    eprintln!("{e}");
                    return Next::On;
                }
                None => {}
            }
        }
        self.splitter.push(line);
        self.splitter.push("\n");
        while let Some((sql, end)) = self.splitter.next() {
            if let Err(e) = self.run_one(&sql, end) {
                eprintln!("{e}\n");
            }
        }
        Next::On
    }
}
