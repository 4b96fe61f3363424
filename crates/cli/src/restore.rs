//! `millpond restore`.

use crate::settings::{Error, File, KeyringArgs};
use millpond_store::backup::{self, Manifest, Restored, Until};
use millpond_store::crypt::{self, Encrypted, Keyring};
use millpond_store::io::{RealStorage, Storage};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args)]
pub struct Args {
    /// Directory of a backup: a full one, then incremental ones that are each based on the one before
    #[arg(long, required = true, value_name = "DIR")]
    from: Vec<PathBuf>,
    /// Data directory to make, new or empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Directory of archived log to go on with
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Stop at this LSN
    #[arg(
        long,
        value_name = "LSN",
        requires = "archive",
        conflicts_with = "until"
    )]
    until_lsn: Option<u64>,
    /// Stop at what was committed by this time, UTC: YYYY-MM-DD HH:MM:SS
    #[arg(long, value_name = "TIME", requires = "archive", value_parser = milliseconds)]
    until: Option<u64>,
    /// Of an encrypted backup make a database that is not encrypted
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    keyring: KeyringArgs,
}

/// Milliseconds since 1970 of a time like `2024-05-06 07:08:09`.
fn milliseconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no time like 2024-05-06 07:08:09");
    let parts = |text: &str, by: char| -> Option<[u64; 3]> {
        let all: Option<Vec<u64>> = text.split(by).map(|n| n.parse().ok()).collect();
        all?.try_into().ok()
    };
    let (date, time) = text.split_once([' ', 'T']).ok_or_else(wrong)?;
    let time = time.trim_end_matches('Z');
    let ([year, month, day], [hour, minute, second]) =
        parts(date, '-').zip(parts(time, ':')).ok_or_else(wrong)?;
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let within = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=months[month as usize - 1]).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !within {
        return Err(wrong());
    }
    let days: u64 = (1970..year).map(|y| 365 + u64::from(leap(y))).sum();
    let days = days + months[..month as usize - 1].iter().sum::<u64>() + day - 1;
    Ok((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

/// A directory that must be there, decrypted if it is encrypted.
fn there(path: &Path, keyring: Option<&dyn Keyring>) -> Result<Arc<dyn Storage>, Error> {
    let shown = path.display();
    if !path.is_dir() {
        return Err(format!("{shown}: no such directory").into());
    }
    let storage = RealStorage::new(path).map_err(|e| format!("{shown}: {e}"))?;
    crypt::as_it_is(Arc::new(storage), keyring).map_err(|e| format!("{shown}: {e}").into())
}

/// The directory to make.
fn made(path: &Path) -> Result<Arc<dyn Storage>, Error> {
    let shown = path.display();
    if path.exists() && std::fs::read_dir(path)?.next().is_some() {
        return Err(format!("{shown}: the directory is not empty").into());
    }
    let storage = RealStorage::new(path).map_err(|e| format!("{shown}: {e}"))?;
    Ok(Arc::new(storage))
}

/// Restores into a directory, which is encrypted if there is a keyring. What is refused before anything is restored leaves it empty.
fn restore(
    from: &[&dyn Storage],
    archive: Option<&dyn Storage>,
    until: Until,
    to: &Arc<dyn Storage>,
    keyring: Option<&dyn Keyring>,
) -> Result<Restored, millpond_store::Error> {
    let Some(keyring) = keyring else {
        return backup::restore(from, archive, until, &**to);
    };
    let within = Encrypted::create(to.clone(), keyring)?;
    let done = backup::restore(from, archive, until, &within);
    if done.is_err() {
        crypt::forsake(&**to);
    }
    done
}

pub fn run(args: &Args) -> Result<(), Error> {
    let keyring = args.keyring.keyring(&File::default())?;
    let keyring = keyring.as_deref();
    if args.plain && keyring.is_none() {
        return Err("--plain takes a keyring: without one nothing is encrypted".into());
    }
    let from: Result<Vec<_>, Error> = args.from.iter().map(|p| there(p, keyring)).collect();
    let from = from?;
    for (storage, path) in from.iter().zip(&args.from) {
        Manifest::read(&**storage).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let archive = args.archive.as_deref().map(|p| there(p, keyring));
    let archive = archive.transpose()?;
    let until = match (args.until_lsn, args.until) {
        (Some(lsn), _) => Until::Lsn(lsn),
        (None, Some(ms)) => Until::Time(ms),
        (None, None) => Until::End,
    };
    let shown = args.to.display();
    let to = made(&args.to)?;
    let from: Vec<&dyn Storage> = from.iter().map(|s| &**s).collect();
    let keyring = keyring.filter(|_| !args.plain);
    let restored = restore(&from, archive.as_deref(), until, &to, keyring)?;
    for (name, bytes) in &restored.files {
        std::fs::write(args.to.join(name), bytes)?;
    }
    println!(
        "{shown}: restored to LSN {}, {} pages and {} bytes of log; `millpond check --data {shown}` verifies it",
        restored.lsn, restored.pages, restored.log_bytes
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(milliseconds("1970-01-01 00:00:00"), Ok(0));
        assert_eq!(milliseconds("2024-02-29T12:34:56Z"), Ok(1_709_210_096_000));
        assert_eq!(milliseconds("2100-03-01 00:00:00"), Ok(4_107_542_400_000));
        for wrong in [
            "",
            "2024-02-30 00:00:00",
            "2023-02-29 00:00:00",
            "2024-01-01",
            "2024-01-01 24:00:00",
        ] {
            assert!(milliseconds(wrong).is_err(), "{wrong}");
        }
    }
}
