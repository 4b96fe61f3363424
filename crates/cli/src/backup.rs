//! `millpond backup`: has a server carry out BACKUP TO.

use crate::settings::Error;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Row};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Directory to copy to, new or empty; the server writes it, and its secure_file_priv must allow it
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Copy only what has changed since this backup
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// The server's Unix socket
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// The server's host, unless there is a socket
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// The server's port
    #[arg(long, short = 'P', default_value_t = 3306)]
    port: u16,
    /// Account, with the privilege BACKUP_ADMIN
    #[arg(long, short, default_value = "root")]
    user: String,
    /// Its password
    #[arg(long, env = "MYSQL_PWD", hide_env_values = true)]
    password: Option<String>,
}

/// A text literal.
fn quoted(path: &Path) -> Result<String, Error> {
    let path = std::path::absolute(path)?;
    let text = path.to_str().ok_or("a directory's name is not UTF-8")?;
    Ok(format!(
        "'{}'",
        text.replace('\\', "\\\\").replace('\'', "''")
    ))
}

pub fn run(args: &Args) -> Result<(), Error> {
    let mut statement = format!("BACKUP TO {}", quoted(&args.to)?);
    if let Some(base) = &args.base {
        statement += &format!(" INCREMENTAL FROM {}", quoted(base)?);
    }
    let socket = args.socket.as_ref().map(|s| s.display().to_string());
    let options = OptsBuilder::new()
        .socket(socket.clone())
        .prefer_socket(false)
        .ip_or_hostname(socket.is_none().then(|| args.host.clone()))
        .tcp_port(args.port)
        .user(Some(&args.user))
        .pass(args.password.as_ref());
    let mut server = Conn::new(options)?;
    // A backslash in the name is one.
    server.query_drop("SET SESSION sql_mode = ''")?;
    let row: Option<Row> = server.query_first(statement)?;
    let row = row.ok_or("the server has not answered with a row")?;
    let text = |n: usize| row.get::<String, usize>(n).unwrap_or_default();
    println!(
        "{}: {} pages, {} bytes; restored, it is as of LSN {}",
        text(0),
        text(3),
        text(4),
        text(2)
    );
    Ok(())
}
