//! `millpond serve`.

use crate::memory;
use crate::settings::{self, EngineArgs, Error, File};
use millpond_lab::frame::Size;
use millpond_server::metrics::MetricsServer;
use millpond_server::{PasswordKey, Server, ServerConfig, Tls};
use millpond_session::Instance;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tracing_subscriber::filter::LevelFilter;

/// How long running statements may take to finish when the server is asked to stop.
const GRACE: Duration = Duration::from_secs(10);
/// MySQL's port.
const PORT: u16 = 3306;
/// The Unix socket's name in the data directory.
const SOCKET: &str = "millpond.sock";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    /// TCP port [default: 3306]
    #[arg(long, short = 'P', env = "MILLPOND_PORT")]
    port: Option<u16>,
    /// Address to listen on; one that others can reach takes TLS, and passwords of all accounts [default: 127.0.0.1]
    #[arg(long, env = "MILLPOND_BIND")]
    bind: Option<IpAddr>,
    /// File whose first line becomes the password of root@localhost, unless accounts have been changed before
    #[arg(long, env = "MILLPOND_INIT_PASSWORD_FILE", value_name = "FILE")]
    init_password_file: Option<PathBuf>,
    /// Certificates of who may sign clients' certificates (PEM) [default: ca.pem in the data directory]
    #[arg(long, env = "MILLPOND_SSL_CA", value_name = "FILE")]
    ssl_ca: Option<String>,
    /// The server's certificate (PEM) [default: server-cert.pem in the data directory, made at the first start]
    #[arg(
        long,
        env = "MILLPOND_SSL_CERT",
        value_name = "FILE",
        requires = "ssl_key"
    )]
    ssl_cert: Option<String>,
    /// Its key (PEM) [default: server-key.pem in the data directory]
    #[arg(
        long,
        env = "MILLPOND_SSL_KEY",
        value_name = "FILE",
        requires = "ssl_cert"
    )]
    ssl_key: Option<String>,
    /// Versions of TLS; none: no TLS [default: TLSv1.2,TLSv1.3]
    #[arg(long, env = "MILLPOND_TLS_VERSION", value_name = "LIST")]
    tls_version: Option<String>,
    /// Refuse clients that come over TCP without TLS
    #[arg(long, env = "MILLPOND_REQUIRE_SECURE_TRANSPORT")]
    require_secure_transport: bool,
    /// Unix socket to listen on [default: millpond.sock in the data directory]
    #[arg(long, short = 'S', env = "MILLPOND_SOCKET", value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Do not listen on TCP
    #[arg(long, env = "MILLPOND_SKIP_NETWORKING")]
    skip_networking: bool,
    /// Most connections at a time [default: 151]
    #[arg(long, env = "MILLPOND_MAX_CONNECTIONS", value_name = "N")]
    max_connections: Option<u32>,
    /// Serve a status page and metrics for Prometheus on this loopback address, like 127.0.0.1:9104 [default: no metrics]
    #[arg(long, env = "MILLPOND_METRICS_ADDR", value_name = "ADDR")]
    metrics_addr: Option<SocketAddr>,
    /// What to log: error, warn, info, debug or trace [default: info]
    #[arg(long, env = "MILLPOND_LOG_LEVEL", value_name = "LEVEL")]
    log_level: Option<String>,
}

/// Gives root the password that a file has.
fn init_password(instance: &Instance, file: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let password = text.lines().next().unwrap_or_default();
    if password.is_empty() {
        return Err(format!("{}: its first line is to be a password", file.display()).into());
    }
    match instance.init_root_password(password)? {
        true => tracing::info!("root@localhost has the password of --init-password-file"),
        false => tracing::info!("--init-password-file is of no effect: there are accounts already"),
    }
    Ok(())
}

pub fn run(args: &Args) -> Result<(), Error> {
    let file = File::read(args.engine.config.as_deref())?;
    log_to_stderr(args.log_level.as_ref().or(file.log_level.as_ref()))?;
    let ip = args
        .bind
        .or(file.bind)
        .unwrap_or(Ipv4Addr::LOCALHOST.into());
    let addr = SocketAddr::new(ip, args.port.or(file.port).unwrap_or(PORT));
    let metrics_addr = args.metrics_addr.or(file.metrics_addr);
    if let Some(addr) = metrics_addr {
        // Known before recovery starts, which may take a while.
        millpond_server::server::check_address(addr)?;
    }
    let mut options = args.engine.options(&file)?;
    if let Some(n) = args.max_connections.or(file.max_connections) {
        options
            .variables
            .push(("max_connections".into(), n.to_string()));
    }
    let chosen = |(name, _): &(String, String)| name.replace('-', "_") == "event_scheduler";
    if !options.variables.iter().any(chosen) {
        options
            .variables
            .push(("event_scheduler".into(), "ON".into()));
    }
    let data = options.path.clone();
    let socket = args.socket.clone().or(file.socket);
    let socket = socket.unwrap_or_else(|| data.join(SOCKET));
    let port = if args.skip_networking { 0 } else { addr.port() };
    let mut tell = |name: &str, value: String| options.variables.push((name.into(), value));
    tell("port", port.to_string());
    tell("socket", socket.display().to_string());
    let asked = [
        ("ssl_ca", &args.ssl_ca),
        ("ssl_cert", &args.ssl_cert),
        ("ssl_key", &args.ssl_key),
        ("tls_version", &args.tls_version),
    ];
    for (name, value) in asked {
        if let Some(value) = value {
            tell(name, value.clone());
        }
    }
    if args.require_secure_transport {
        tell("require_secure_transport", "ON".into());
    }

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let bound = memory::bound();
    let sized = |(name, _): &(String, String)| name.replace('-', "_") == "innodb_buffer_pool_size";
    if !options.variables.iter().any(sized) {
        memory::check_pool(options.store.pool_bytes as u64, bound)?;
    }
    let instance = settings::open(options)?;
    if let Err(e) = check_memory(&instance, bound) {
        instance.close()?;
        return Err(e);
    }
    // SHUTDOWN is SIGTERM from within.
    instance.on_shutdown(|| {
        if let Err(e) = signal_hook::low_level::raise(SIGTERM) {
            tracing::error!(error = %e, "cannot stop");
        }
    });
    let pool = Size(instance.global_u64("innodb_buffer_pool_size").unwrap_or(0));
    if let Some(files) = millpond_store::io::real::file_limit() {
        part_descriptors(&instance, files);
    }
    if let Some(file) = &args.init_password_file
        && let Err(e) = init_password(&instance, file)
    {
        instance.close()?;
        return Err(e);
    }
    let tcp = (!args.skip_networking).then_some(addr);
    let server = match start(&instance, tcp, socket) {
        Ok(server) => server,
        Err(e) => {
            instance.close()?;
            return Err(e);
        }
    };
    let metrics = metrics_addr.map(|addr| MetricsServer::start(instance.clone(), addr));
    let metrics = match metrics.transpose() {
        Ok(metrics) => metrics,
        Err(e) => {
            server.shutdown(Duration::ZERO);
            instance.close()?;
            return Err(e.into());
        }
    };
    greet(&server, metrics.as_ref(), &data, pool);

    let signal = signals.forever().next();
    tracing::info!(signal, "stopping");
    // A second signal does not wait.
    let now = Arc::new(AtomicBool::new(true));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, now.clone())?;
    }
    if let Some(metrics) = metrics {
        metrics.shutdown();
    }
    let left = server.shutdown(GRACE);
    if left > 0 {
        tracing::error!(connections = left, "some connections did not end");
    }
    instance.close()?;
    tracing::info!("stopped");
    Ok(())
}

/// Whether the process may have the memory that it was told to take.
fn check_memory(instance: &Instance, bound: Option<memory::Bound>) -> Result<(), Error> {
    let of = |name| instance.global_u64(name).unwrap_or(0);
    let pool = of("innodb_buffer_pool_size");
    memory::check_pool(pool, bound)?;
    let store = millpond_store::Options {
        pool_bytes: usize::try_from(pool).unwrap_or(usize::MAX),
        lock_bytes: of("millpond_row_lock_memory"),
        ..Default::default()
    };
    memory::warn(
        &[
            ("the buffer pool's", pool),
            ("statements' (temptable_max_ram)", of("temptable_max_ram")),
            (
                "and row locks' (millpond_row_lock_memory)",
                store.lock_limit(),
            ),
        ],
        bound,
    );
    Ok(())
}

/// Sets TLS and the key for passwords up, and listens.
fn start(
    instance: &Instance,
    tcp: Option<SocketAddr>,
    socket: PathBuf,
) -> Result<Server<Instance>, Error> {
    let tls = Tls::open(instance).map_err(|e| format!("TLS: {e}"))?;
    let password_key = PasswordKey::open(instance).map_err(|e| format!("RSA key: {e}"))?;
    let config = ServerConfig {
        tcp,
        socket: Some(socket),
        tls,
        password_key,
    };
    Ok(Server::start(instance.clone(), &config)?)
}

/// Parts the limit of open files between tables' files and connections.
fn part_descriptors(instance: &Instance, files: u64) {
    let engine = instance.engine();
    let asked = instance.global_u64("max_connections").unwrap_or(0);
    let handles = engine.open_files_limit() as u64;
    let parts = Descriptors::part(files, handles, asked);
    if parts.handles < handles {
        instance.set_open_files(usize::try_from(parts.handles).unwrap_or(usize::MAX));
    }
    if let Some(asked) = instance.limit_connections(parts.connections) {
        tracing::warn!(
            "Changed limits: max_connections: {} (requested {asked}), as {files} files may be open",
            parts.connections
        );
    }
}

/// What a limit of open files allows.
#[derive(Debug, PartialEq, Eq)]
struct Descriptors {
    /// Tables' files that may be open, two descriptors each.
    handles: u64,
    connections: u64,
}

impl Descriptors {
    /// Parts `files` descriptors. Tables have `handles` of their files open at most (as the store comes up, half of all descriptors), but leave
    /// room for the connections that are `asked` for while they have 200, as MySQL's cache of tables does.
    fn part(files: u64, handles: u64, asked: u64) -> Self {
        /// What else is open: the log, the shared files, sockets that listen.
        const OTHERS: u64 = 32;
        const LEAST_CONNECTIONS: u64 = 10;
        const LEAST_HANDLES: u64 = 200;
        let left = files.saturating_sub(OTHERS);
        let beside = left.saturating_sub(asked) / 2;
        let handles = handles.min(beside.max(LEAST_HANDLES));
        Self {
            handles,
            connections: left.saturating_sub(2 * handles).max(LEAST_CONNECTIONS),
        }
    }
}

fn log_to_stderr(level: Option<&String>) -> Result<(), Error> {
    let level = match level {
        Some(level) => level
            .parse::<LevelFilter>()
            .map_err(|_| format!("unknown log level '{level}'"))?,
        None => LevelFilter::INFO,
    };
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(level)
        .with_ansi(ansi)
        .init();
    Ok(())
}

/// Says how to connect.
fn greet(server: &Server<Instance>, metrics: Option<&MetricsServer>, data: &Path, pool: Size) {
    let full = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_path_buf());
    println!(
        "Millpond {} is ready. Data in {}, buffer pool {pool}.",
        env!("CARGO_PKG_VERSION"),
        full(data).display()
    );
    println!("Connect with any MySQL client:");
    if let Some(addr) = server.tcp_addr() {
        println!("  mysql -h {} -P {} -u root", addr.ip(), addr.port());
    }
    if let Some(path) = server.socket_path() {
        println!("  mysql -S {} -u root", full(path).display());
    }
    if let Some(metrics) = metrics {
        let addr = metrics.addr();
        println!("The status page is at http://{addr}/, metrics at http://{addr}/metrics");
    }
    println!("Stop with Ctrl-C.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_files() {
        let parts = |files, asked| {
            let Descriptors {
                handles,
                connections,
            } = Descriptors::part(files, files / 4, asked);
            (handles, connections)
        };
        assert_eq!(parts(20, 151), (5, 10));
        assert_eq!(parts(256, 151), (64, 96));
        assert_eq!(parts(1024, 151), (256, 480));
        assert_eq!(parts(1024, 5000), (200, 592));
        assert_eq!(parts(20_000, 151), (5000, 9968));
        assert_eq!(parts(20_000, 10_100), (4934, 10_100));
        assert_eq!(Descriptors::part(20_000, 400, 151).connections, 19_168);
    }
}
