//! Inputs that libFuzzer makes up, led by what they reach in the code. `scripts/fuzz` builds and runs this; `MILLPOND_FUZZ` names the target:
//!
//! | target | what the bytes are |
//! |---|---|
//! | `syntax` | a text: tokens, tree, print, digest |
//! | `login` | packets of a login, parameters of an execution |
//! | `connection` | what a client sends to a server that listens |
//! | `statements` | SQL for a database |
//! | `files` | changes of a database's files, which it is then opened from |
//!
//! A panic anywhere in the process ends it, a run of more than ten seconds does, and so does more memory than libFuzzer is told to give.
#![no_main]

mod connection;
mod database;
mod files;
mod login;
mod statements;
mod syntax;

use std::sync::LazyLock;

type Target = fn(&[u8]);

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("MILLPOND_FUZZ").unwrap_or_default();
    match name.as_str() {
        "syntax" => syntax::run,
        "login" => login::run,
        "connection" => connection::run,
        "statements" => statements::run,
        "files" => files::run,
        _ => {
            eprintln!("MILLPOND_FUZZ must be syntax, login, connection, statements or files");
            std::process::exit(2)
        }
    }
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
