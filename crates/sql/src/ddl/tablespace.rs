//! General tablespaces: CREATE, ALTER and DROP TABLESPACE, and TABLESPACE of tables.
//!
//! The store keeps the tablespaces and knows what is in them ([`millpond_store::engine`]); what MySQL says of names, data files and
//! options is here. A data file's name is the tablespace's for good, and no other's. It must be a file of the data directory:
//! MySQL's `innodb_directories` may name others, of which there are none here. Its bytes are in the folder of the tables' files, under a number.

use std::path::Path;

use millpond_store::engine::{Place, Tablespace};

use super::{Ddl, Done, names};
use crate::catalog::is_ours;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{
    TablespaceFile, TablespaceNumber, TablespaceOption, TablespaceStatement, TablespaceVerb,
};
use crate::store_error::store_error;

/// Bytes of a page, which all tablespaces have.
const PAGE_SIZE: u64 = 16_384;
/// FILE_BLOCK_SIZEs that InnoDB knows.
const BLOCK_SIZES: [u64; 7] = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
/// Longest name of a file, bytes.
const MAX_FILE_NAME: usize = 255;
/// What AUTOEXTEND_SIZE must be a multiple of.
const AUTOEXTEND_STEP: u64 = 4 << 20;

const OWN_FILE: &str = "innodb_file_per_table";
const SYSTEM: &str = "innodb_system";
const TEMPORARY: &str = "innodb_temporary";
/// Names that mean something else.
const RESERVED: [&str; 4] = [OWN_FILE, SYSTEM, TEMPORARY, "mysql"];

fn not_supported(message: String) -> SqlError {
    SqlError::new(1478, message)
}

fn wrong_file(message: impl Into<String>) -> SqlError {
    SqlError::new(3121, message)
}

/// Error 3510.
fn missing(name: &str) -> SqlError {
    SqlError::new(3510, format!("Tablespace {name} doesn't exist."))
}

/// Error 3119 for a reserved name.
fn check_reserved(name: &str) -> SqlResult<()> {
    match RESERVED.contains(&name) {
        true => Err(SqlError::new(
            3119,
            format!("InnoDB: `{name}` is a reserved tablespace name."),
        )),
        false => Ok(()),
    }
}

/// Error 3119 or 1059 for what no tablespace can be called. Case counts.
fn check_name(name: &str) -> SqlResult<()> {
    let refused = |message: String| Err(SqlError::new(3119, message));
    if name.is_empty() || name.contains('\0') {
        return refused(format!("Incorrect tablespace name `{name}`"));
    }
    names::not_too_long(name)?;
    check_reserved(name)?;
    if name.contains('/') {
        return refused("InnoDB: A general tablespace name cannot contain '/'.".into());
    }
    match name.starts_with("innodb_") {
        true => refused("InnoDB: Tablespace names starting with `innodb_` are reserved.".into()),
        false => Ok(()),
    }
}

/// Error 1478 for partitions in a general tablespace.
pub(super) fn check_partitioned(place: Option<Place>) -> SqlResult<()> {
    match place {
        Some(Place::In(file)) if file.is_general() => Err(not_supported(
            "InnoDB : A partitioned table is not allowed in a shared tablespace.".into(),
        )),
        _ => Ok(()),
    }
}

/// The options of a statement.
#[derive(Default)]
struct Options {
    datafile: Option<String>,
    block_size: Option<u64>,
    to: Option<String>,
}

impl Options {
    fn of(statement: &TablespaceStatement, ddl: &Ddl<'_>) -> SqlResult<Options> {
        use TablespaceNumber as N;
        use TablespaceOption as O;
        let mut options = Options::default();
        for option in statement.options.all().iter() {
            match option {
                O::File(TablespaceFile::AddDatafile, file)
                    if statement.verb == TablespaceVerb::Create =>
                {
                    options.datafile = Some(file.clone());
                }
                O::Number(N::FileBlockSize, size) => {
                    if options.block_size.replace(*size).is_some() {
                        return Err(SqlError::new(
                            1527,
                            "It is not allowed to specify FILE_BLOCK_SIZE more than once",
                        ));
                    }
                }
                O::Number(N::AutoextendSize, size) if !size.is_multiple_of(AUTOEXTEND_STEP) => {
                    return Err(SqlError::new(
                        3774,
                        "AUTOEXTEND_SIZE should be a multiple of 4M",
                    ));
                }
                O::RenameTo(name) => options.to = Some(name.as_str().to_string()),
                O::Engine(name) => check_engine(name.as_str())?,
                O::Encryption(value) => ddl.encryption(value)?,
                // What InnoDB takes and does nothing with, other engines' options among it.
                O::Number(
                    N::AutoextendSize | N::InitialSize | N::ExtentSize | N::MaxSize | N::NodeGroup,
                    _,
                )
                | O::Wait(_)
                | O::Comment(_)
                | O::EngineAttribute(_) => {}
                O::Number(..) | O::File(..) | O::UseLogfileGroup(_) | O::SetActive(_) => {
                    return Err(SqlError::unsupported(option));
                }
            }
        }
        Ok(options)
    }

    /// What is kept of them: the block size.
    fn kept(&self) -> Vec<u8> {
        let size = self.block_size.unwrap_or(PAGE_SIZE);
        (size as u32).to_le_bytes().to_vec()
    }
}

/// FILE_BLOCK_SIZE of a tablespace.
fn block_size(tablespace: &Tablespace) -> u64 {
    let kept = tablespace.options.first_chunk();
    kept.map_or(PAGE_SIZE, |b| u64::from(u32::from_le_bytes(*b)))
}

fn check_engine(name: &str) -> SqlResult<()> {
    match is_ours(name) {
        true => Ok(()),
        false => Err(not_supported(format!(
            "Table storage engine '{name}' does not support the create option 'TABLESPACE or LOGFILE GROUP'"
        ))),
    }
}

fn check_block_size(size: u64) -> SqlResult<()> {
    if !BLOCK_SIZES.contains(&size) {
        return Err(not_supported(format!(
            "InnoDB does not support FILE_BLOCK_SIZE={size}"
        )));
    }
    match size > PAGE_SIZE {
        true => Err(not_supported(format!(
            "InnoDB: Cannot create a tablespace with FILE_BLOCK_SIZE={size} because INNODB_PAGE_SIZE={PAGE_SIZE}."
        ))),
        false => Ok(()),
    }
}

/// A data file's name as it is compared: without the data directory, if that is where it is.
fn normal<'f>(datafile: &'f str, data_directory: &str) -> &'f str {
    let mut name = datafile;
    let directory = data_directory.trim_end_matches('/');
    if !directory.is_empty()
        && let Some(rest) = name.strip_prefix(directory)
        && rest.starts_with('/')
    {
        name = rest.trim_start_matches('/');
    }
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    name
}

/// Error 3121 for a data file that can't be one; `name`: as it is compared.
fn check_datafile(datafile: &str, name: &str, data_directory: &str) -> SqlResult<()> {
    let (folder, file) = name
        .rsplit_once('/')
        .map_or((None, name), |(d, f)| (Some(d), f));
    if name.contains([':', '\0']) || file.len() > MAX_FILE_NAME {
        return Err(wrong_file(format!("Incorrect File Name '{datafile}'.")));
    }
    match file.strip_suffix(".ibd") {
        None => {
            return Err(wrong_file(
                "The ADD DATAFILE filepath must end with '.ibd'.",
            ));
        }
        Some("") => {
            return Err(wrong_file(
                "The ADD DATAFILE filepath does not have a proper filename.",
            ));
        }
        Some(_) => {}
    }
    let Some(folder) = folder else {
        return Ok(());
    };
    let folder = if folder.is_empty() { "/" } else { folder };
    let there = Path::new(data_directory).join(folder);
    let Ok(there) = there.canonicalize() else {
        return Err(wrong_file("The directory does not exist or is incorrect."));
    };
    let root = Path::new(data_directory).canonicalize();
    Err(wrong_file(
        match root.is_ok_and(|root| there.starts_with(root)) {
            true => "The DATAFILE location cannot be under the datadir.",
            false => "The DATAFILE location must be in a known directory.",
        },
    ))
}

impl Ddl<'_> {
    /// CREATE, ALTER and DROP TABLESPACE.
    pub(super) fn tablespace(&self, statement: &TablespaceStatement) -> SqlResult<Done> {
        let name = statement.name.as_str();
        let options = Options::of(statement, self)?;
        match statement.verb {
            TablespaceVerb::Create => self.create_tablespace(name, &options)?,
            TablespaceVerb::Alter => {
                check_reserved(name)?;
                match &options.to {
                    Some(to) => {
                        check_name(to)?;
                        self.engine
                            .rename_tablespace(self.owner, name, to)
                            .map_err(|e| store_error(e, name))?;
                    }
                    None => {
                        self.need_tablespace(name)?;
                    }
                }
            }
            TablespaceVerb::Drop => {
                if name.is_empty() {
                    check_name(name)?;
                }
                check_reserved(name)?;
                self.engine
                    .drop_tablespace(self.owner, name)
                    .map_err(|e| store_error(e, name))?;
            }
        }
        Ok(Done::default())
    }

    fn create_tablespace(&self, name: &str, options: &Options) -> SqlResult<()> {
        check_name(name)?;
        if let Some(size) = options.block_size {
            check_block_size(size)?;
        }
        let data_directory = (self.env.sys_var)("", "datadir")?;
        let data_directory = String::from_utf8_lossy(&data_directory.to_text()).into_owned();
        let asked = options.datafile.as_deref();
        let datafile = asked.map(|f| normal(f, &data_directory));
        if let Some(file) = datafile {
            // Said first, as MySQL does.
            self.check_taken(name, file)?;
            check_datafile(asked.unwrap_or_default(), file, &data_directory)?;
        }
        self.engine
            .create_tablespace(self.owner, name, datafile, &options.kept())
            .map_err(|e| store_error(e, name))
    }

    /// Errors 1813 and 3606 for a name or a data file that another tablespace has.
    fn check_taken(&self, name: &str, datafile: &str) -> SqlResult<()> {
        use millpond_store::Error as E;
        let all = self
            .engine
            .tablespaces()
            .map_err(|e| store_error(e, name))?;
        if all.iter().any(|t| t.name == name) {
            return Err(store_error(E::TablespaceExists(name.into()), name));
        }
        match all.iter().any(|t| t.datafile == datafile) {
            true => Err(store_error(E::DuplicateDatafile(name.into()), name)),
            false => Ok(()),
        }
    }

    fn need_tablespace(&self, name: &str) -> SqlResult<Tablespace> {
        let found = self.engine.tablespace(name);
        found
            .map_err(|e| store_error(e, name))?
            .ok_or_else(|| missing(name))
    }

    /// Where a table is to be by its TABLESPACE option. Those of temporary tables say nothing.
    pub(super) fn place(
        &self,
        tablespace: Option<&str>,
        temporary: bool,
    ) -> SqlResult<Option<Place>> {
        let Some(name) = tablespace else {
            return Ok(None);
        };
        if temporary {
            return match name {
                OWN_FILE | TEMPORARY => {
                    self.env.warn(
                        1478,
                        format!("InnoDB: TABLESPACE={name} option is ignored. All temporary tables are created in a session temporary tablespace. This option is deprecated and will be removed in a future release."),
                    );
                    Ok(None)
                }
                _ => Err(not_supported(format!(
                    "InnoDB: Tablespace `{name}` cannot contain TEMPORARY tables."
                ))),
            };
        }
        match name {
            OWN_FILE => return Ok(Some(Place::OwnFile)),
            SYSTEM => return Ok(Some(Place::file_per_table(false))),
            TEMPORARY => {
                return Err(not_supported(format!(
                    "InnoDB: Tablespace `{name}` can only contain TEMPORARY tables."
                )));
            }
            _ => check_name(name)?,
        }
        let found = self.need_tablespace(name)?;
        match block_size(&found) {
            PAGE_SIZE => Ok(Some(Place::In(found.file))),
            size => Err(not_supported(format!(
                "InnoDB: Tablespace `{name}` uses block size {size} and cannot contain a table with physical page size {PAGE_SIZE}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files_are_checked() {
        let root = std::env::temp_dir();
        let root = root.to_str().unwrap();
        let check = |file: &str| check_datafile(file, normal(file, root), root);
        let said = |file: &str| check(file).unwrap_err().message;
        let inside = format!("{root}/f.ibd");
        assert_eq!(normal(&inside, root), "f.ibd");
        assert_eq!(normal(".//./f.ibd", root), "f.ibd");
        assert_eq!(normal("/elsewhere/f.ibd", root), "/elsewhere/f.ibd");
        assert!(check("f.ibd").is_ok() && check("./f.ibd").is_ok() && check(&inside).is_ok());
        assert!(said("f.ibs").contains("must end with"));
        assert!(said(".ibd").contains("proper filename"));
        assert!(said("c:f.ibd").contains("Incorrect File Name 'c:f.ibd'"));
        assert!(said("none such/f.ibd").contains("does not exist"));
        assert!(said("/f.ibd").contains("known directory"));
        assert!(said(&format!("{root}/../f.ibd")).contains("known directory"));
        assert_eq!(check("/f.ibd").unwrap_err().code, 3121);
    }

    #[test]
    fn names_are_checked() {
        for name in ["ts", "InnoDB_System", "#sql_1", "s ", "MYSQL"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "a/b", "innodb_system", "innodb_x", "mysql"] {
            assert_eq!(check_name(name).unwrap_err().code, 3119, "{name}");
        }
        assert_eq!(check_name(&"x".repeat(65)).unwrap_err().code, 1059);
    }
}
