//! `millpond check`.

use crate::settings::{self, EngineArgs, Error, File};

/// The shared data file, which every data directory has.
const DATA_FILE: &str = "data";

#[derive(clap::Args)]
#[command(mut_arg("data", |a| a.help("Data directory; it must be there [default: millpond-data]")))]
pub struct Args {
    #[command(flatten)]
    engine: EngineArgs,
}

pub fn run(args: &Args) -> Result<(), Error> {
    let file = File::read(args.engine.config.as_deref())?;
    let options = args.engine.options(&file)?;
    let path = options.path.clone();
    // Opening would make a new database where there is none.
    if !path.join(DATA_FILE).exists() {
        return Err(format!("{}: no Millpond database there", path.display()).into());
    }
    let instance = settings::open(options)?;
    let problems = instance.engine().check();
    let closed = instance.close();
    let problems = problems?;
    for p in &problems {
        println!("{p}");
    }
    closed?;
    match problems.len() {
        0 => {
            println!("{}: no problems found", path.display());
            Ok(())
        }
        n => Err(format!("{}: {n} problems found", path.display()).into()),
    }
}
