//! Bytes of catalog rows and keys. The layout is described in `docs/file-format.md`.
//!
//! Roots and the AUTO_INCREMENT counter have a fixed width in a table's row, so that they are written into it in place, by a
//! mini-transaction of the row change that needs it. All else is as short as it can be: there may be a million such rows.

use super::{IndexDef, TableDef};
use crate::error::{Error, Result};
use crate::page::{PageNo, get_u32, get_u64};
use crate::space::{FileId, SpaceId};
use crate::table::format::{
    CHAIN_REF, INLINE_PREFIX, ROW_HEADER, Reader, RowHeader, cut_short, put_bytes, put_varint,
};
use crate::txn::TrxId;
use smallvec::SmallVec;

/// Indexes a table may have: so many fit the part of the row that is never spilled.
pub const MAX_INDEXES: usize = 65;

const HIDDEN_ROW_ID: u8 = 1;
const PARTITIONED: u8 = 2;
/// It is not in the shared file: the file's id is said.
const ELSEWHERE: u8 = 4;
/// Of an index.
const UNIQUE: u8 = 1;
/// It was built from existing rows, or its table emptied or rebuilt: the transaction is said.
const CREATED: u8 = 2;
/// Its name is one of [`CLUSTERED_NAMES`], which isn't said: that bit shifted by its place there.
const NAMED: u8 = 4;
/// Names that an index of almost every table has.
const CLUSTERED_NAMES: [&str; 2] = ["PRIMARY", "GEN_CLUST_INDEX"];
/// Bytes that all before the names takes at most: flags, id, file, version, counter, indexes, and per index space and root.
const LONGEST_FIXED: usize = 1 + 10 + 10 + 5 + 8 + 1 + MAX_INDEXES * (10 + 4);

const _: () = assert!(LONGEST_FIXED <= INLINE_PREFIX);

/// What a table's row holds beside its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRow {
    pub def: TableDef,
    /// Counts changes of the definition.
    pub version: u32,
    /// Counter saved by a clean close; 0: none.
    pub auto_increment: u64,
    /// Per index the transaction that built it from existing rows, or emptied or rebuilt the table; 0: as old as the table.
    pub created: Vec<TrxId>,
}

/// Key of a database's row. Names hold no NUL, so keys sort by name and none is a prefix of another.
pub(crate) fn database_key(name: &str) -> Result<Vec<u8>> {
    let mut key = Vec::with_capacity(name.len() + 1);
    put_name(&mut key, name)?;
    Ok(key)
}

/// Key of a table's row. A partition's comes right behind its table's, which is a prefix of it.
pub(crate) fn table_key(database: &str, name: &str) -> Result<Vec<u8>> {
    let mut key = Vec::with_capacity(database.len() + name.len() + 2);
    put_name(&mut key, database)?;
    match name.split_once(PARTITION) {
        None => put_name(&mut key, name)?,
        Some((table, partition)) => {
            put_name(&mut key, table)?;
            put_name(&mut key, partition)?;
        }
    }
    Ok(key)
}

/// Stands between a table's name and that of a partition of it; no name that a user gives holds it.
const PARTITION: char = '\0';

/// The name under which a table's partition is stored.
pub(crate) fn partition_name(table: &str, partition: &str) -> String {
    format!("{table}{PARTITION}{partition}")
}

/// Table and partition of a stored partition's name; `None` for a table's.
pub(crate) fn split_partition(name: &str) -> Option<(&str, &str)> {
    name.split_once(PARTITION)
}

fn put_name(key: &mut Vec<u8>, name: &str) -> Result<()> {
    if name.is_empty() || name.len() > 1000 || name.contains('\0') {
        return Err(Error::Invalid(format!("'{name}' cannot be a name")));
    }
    key.extend_from_slice(name.as_bytes());
    key.push(0);
    Ok(())
}

/// Database and table of a table's key; the name of a partition if it is one's.
pub(crate) fn names_of(key: &[u8]) -> Result<(String, String)> {
    let names = key.strip_suffix(&[0]).unwrap_or(key);
    let mut parts = names.splitn(2, |&b| b == 0);
    match (parts.next(), parts.next()) {
        (Some(db), Some(name)) => Ok((text(db)?, text(name)?)),
        _ => Err(Error::Corrupt("a table's key names no table".into())),
    }
}

/// Database of its key.
pub(crate) fn name_of(key: &[u8]) -> Result<String> {
    text(key.strip_suffix(&[0]).unwrap_or(key))
}

fn text(b: &[u8]) -> Result<String> {
    String::from_utf8(b.to_vec()).map_err(|_| Error::Corrupt("a name is not UTF-8".into()))
}

/// Key of a table's entry in the index on ids: the id's bytes, big-endian without leading zeros, behind their number. So it is short, and
/// ids sort as they are.
pub(crate) fn put_id_key(id: u64, out: &mut Vec<u8>) {
    let bytes = id.to_be_bytes();
    let zeros = (id.leading_zeros() / 8) as usize;
    out.push((8 - zeros) as u8);
    out.extend_from_slice(&bytes[zeros..]);
}

/// [`put_id_key`] on its own.
pub(crate) fn id_key(id: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(9);
    put_id_key(id, &mut key);
    key
}

/// What a table's row says before the names, and where.
#[derive(Clone, Copy, Debug)]
struct Head<'r> {
    flags: u8,
    id: u64,
    file: FileId,
    version: u32,
    /// Offset of the counter.
    counter: usize,
    indexes: usize,
    /// What follows: the indexes' spaces and roots, then the names.
    rest: Reader<'r>,
}

impl<'r> Head<'r> {
    fn read(row: &'r [u8]) -> Result<Head<'r>> {
        let mut r = Reader(row);
        let flags = r.byte()?;
        let id = r.varint()?;
        let file = match flags & ELSEWHERE {
            0 => FileId::SHARED,
            _ => FileId(r.varint()?),
        };
        let version = u32::try_from(r.varint()?).map_err(|_| cut_short())?;
        let counter = row.len() - r.0.len();
        r.take(8)?;
        let indexes = usize::try_from(r.varint()?).map_err(|_| cut_short())?;
        if indexes > MAX_INDEXES {
            return Err(Error::Corrupt(format!(
                "a table's row has {indexes} indexes"
            )));
        }
        Ok(Head {
            flags,
            id,
            file,
            version,
            counter,
            indexes,
            rest: r,
        })
    }

    /// The spaces of its indexes, each with the offset of its root.
    fn spaces(&mut self, row: &[u8]) -> Result<SmallVec<[(SpaceId, usize); 8]>> {
        let mut spaces = SmallVec::with_capacity(self.indexes);
        let mut before = 0;
        for _ in 0..self.indexes {
            before = from_step(before, self.rest.varint()?);
            spaces.push((SpaceId(before), row.len() - self.rest.0.len()));
            self.rest.take(4)?;
        }
        Ok(spaces)
    }
}

/// A number as its step from another: as a rule ids follow each other, so that is a byte.
fn step(from: u64, to: u64) -> u64 {
    let by = to.wrapping_sub(from) as i64;
    ((by << 1) ^ (by >> 63)) as u64
}

fn from_step(from: u64, step: u64) -> u64 {
    from.wrapping_add((step >> 1) ^ (step & 1).wrapping_neg())
}

/// Where roots and counter are in the clustered value of a table's row.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    counter: usize,
    /// Of each index its space, and where its root is.
    roots: SmallVec<[(SpaceId, usize); 8]>,
}

impl Fixed {
    /// Finds them; the row must be live and be that of table `id`.
    pub fn locate(value: &[u8], id: u64) -> Result<Fixed> {
        let header = RowHeader::read(value).ok_or_else(cut_short)?;
        let at = ROW_HEADER + if header.overflow() { CHAIN_REF } else { 0 };
        let row = value.get(at..).ok_or_else(cut_short)?;
        let mut head = Head::read(row)?;
        if header.marked() || head.id != id {
            return Err(Error::Corrupt(format!(
                "the catalog row is not that of table {id}"
            )));
        }
        let mut roots = head.spaces(row)?;
        roots.iter_mut().for_each(|root| root.1 += at);
        Ok(Fixed {
            counter: at + head.counter,
            roots,
        })
    }
    /// Where index `index`'s root is in the value, and what it is.
    pub fn root(&self, value: &[u8], index: usize) -> Result<(usize, PageNo)> {
        let root = self.roots.get(index);
        let &(_, at) =
            root.ok_or_else(|| Error::Corrupt(format!("no index {index} in the catalog row")))?;
        Ok((at, get_u32(value, at)))
    }
    /// The same of the index that has this space; `None`: no index has.
    pub fn root_of(&self, value: &[u8], space: SpaceId) -> Option<(usize, PageNo)> {
        let &(_, at) = self.roots.iter().find(|root| root.0 == space)?;
        Some((at, get_u32(value, at)))
    }
    /// Where the AUTO_INCREMENT counter is in the value.
    pub fn auto_increment_at(&self) -> usize {
        self.counter
    }
}

/// Id of the table of a row.
pub(crate) fn table_id(row: &[u8]) -> Result<u64> {
    Ok(Head::read(row)?.id)
}

/// The file of the table of a row.
pub(crate) fn table_file(row: &[u8]) -> Result<FileId> {
    Ok(Head::read(row)?.file)
}

/// Appends the key of a table's row.
pub(crate) fn put_table_key(row: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut head = Head::read(row)?;
    head.spaces(row)?;
    for _ in 0..2 {
        out.extend_from_slice(head.rest.bytes()?);
        out.push(0);
    }
    Ok(())
}

/// Encodes a table's row.
pub(crate) fn encode_table(t: &TableRow) -> Result<Vec<u8>> {
    let def = &t.def;
    if def.indexes.is_empty() || def.indexes.len() > MAX_INDEXES {
        return Err(Error::Invalid(format!(
            "a table has 1 to {MAX_INDEXES} indexes, not {}",
            def.indexes.len()
        )));
    }
    let mut out = Vec::with_capacity(128 + def.body.len());
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    let elsewhere = def.file != FileId::SHARED;
    out.push(
        flag(def.hidden_row_id, HIDDEN_ROW_ID)
            | flag(def.partitioned, PARTITIONED)
            | flag(elsewhere, ELSEWHERE),
    );
    put_varint(&mut out, def.id);
    if elsewhere {
        put_varint(&mut out, def.file.0);
    }
    put_varint(&mut out, t.version.into());
    out.extend_from_slice(&t.auto_increment.to_le_bytes());
    put_varint(&mut out, def.indexes.len() as u64);
    let mut before = 0;
    for i in &def.indexes {
        put_varint(&mut out, step(before, i.space.0));
        out.extend_from_slice(&i.root.to_le_bytes());
        before = i.space.0;
    }
    put_bytes(&mut out, def.database.as_bytes());
    put_bytes(&mut out, def.name.as_bytes());
    for (i, &created) in def.indexes.iter().zip(&t.created) {
        let name = CLUSTERED_NAMES.iter().position(|name| *name == i.name);
        out.push(
            flag(i.unique, UNIQUE) | flag(created != 0, CREATED) | name.map_or(0, |at| NAMED << at),
        );
        if created != 0 {
            put_varint(&mut out, created);
        }
        if name.is_none() {
            put_bytes(&mut out, i.name.as_bytes());
        }
        put_bytes(&mut out, &i.body);
    }
    put_bytes(&mut out, &def.body);
    Ok(out)
}

/// Decodes a table's row.
pub(crate) fn decode_table(row: &[u8]) -> Result<TableRow> {
    let mut head = Head::read(row)?;
    let spaces = head.spaces(row)?;
    let mut r = head.rest;
    let database = text(r.bytes()?)?;
    let name = text(r.bytes()?)?;
    let mut indexes = Vec::with_capacity(spaces.len());
    let mut created = Vec::with_capacity(spaces.len());
    for (space, root) in spaces {
        let flags = r.byte()?;
        created.push(match flags & CREATED {
            0 => 0,
            _ => r.varint()?,
        });
        let known = CLUSTERED_NAMES.iter().enumerate();
        let mut known = known.filter(|(at, _)| flags & (NAMED << at) != 0);
        indexes.push(IndexDef {
            name: match known.next() {
                Some((_, name)) => (*name).into(),
                None => text(r.bytes()?)?,
            },
            unique: flags & UNIQUE != 0,
            space,
            root: get_u32(row, root),
            body: r.bytes()?.to_vec(),
        });
    }
    Ok(TableRow {
        def: TableDef {
            id: head.id,
            database,
            name,
            file: head.file,
            hidden_row_id: head.flags & HIDDEN_ROW_ID != 0,
            partitioned: head.flags & PARTITIONED != 0,
            indexes,
            body: r.bytes()?.to_vec(),
        },
        version: head.version,
        auto_increment: get_u64(row, head.counter),
        created,
    })
}

/// Encodes a database's row.
pub(crate) fn encode_database(name: &str, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + body.len() + 8);
    put_bytes(&mut out, name.as_bytes());
    put_bytes(&mut out, body);
    out
}

/// Options of a database from its row.
pub(crate) fn database_body(row: &[u8]) -> Result<Vec<u8>> {
    let mut r = Reader(row);
    r.bytes()?;
    Ok(r.bytes()?.to_vec())
}

/// A dead space whose pages are to be freed, or a dead file to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grave {
    /// The space; for a whole file one of its spaces, to tell graves apart.
    pub space: SpaceId,
    /// How many spaces, whose ids follow that one, it is the grave of besides. All of them are small indexes' then.
    pub more: u64,
    /// Where it is.
    pub file: FileId,
    /// Its root page (0: it has none, or the file goes as a whole).
    pub root: PageNo,
    /// Whether the whole file goes.
    pub whole_file: bool,
    /// Whose it was.
    pub late: Late,
}

/// What a grave's stone says: for people only. All of it may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late {
    /// When it was dug, milliseconds since 1970; 0: unknown.
    pub since_ms: u64,
    /// Database, table and index; empty: unknown, or for an index the whole table.
    pub database: String,
    pub table: String,
    pub index: String,
}

impl Grave {
    /// Whether it is one of several small indexes.
    pub fn is_range(&self) -> bool {
        self.more > 0
    }

    /// The last of its spaces.
    pub fn last(&self) -> SpaceId {
        SpaceId(self.space.0.saturating_add(self.more))
    }
}

impl Late {
    /// An index or, if `index` is empty, a table that dies now.
    pub fn now(def: &TableDef, index: &str) -> Late {
        Late::of(&def.database, &def.name, index)
    }

    /// Something of these names that dies now.
    pub fn of(database: &str, table: &str, index: &str) -> Late {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Late {
            since_ms: now.map_or(0, |d| d.as_millis() as u64),
            database: database.into(),
            table: table.into(),
            index: index.into(),
        }
    }
}

/// Bytes of a graveyard row's fixed part, and where its root is.
const GRAVE: usize = 21;
const GRAVE_ROOT: usize = 16;

/// Encodes a graveyard row, whose first 8 bytes are its key.
pub(crate) fn encode_grave(g: &Grave) -> Vec<u8> {
    let late = &g.late;
    let names = late.database.len() + late.table.len() + late.index.len();
    let mut out = Vec::with_capacity(GRAVE + 16 + names);
    out.extend_from_slice(&g.space.0.to_be_bytes());
    out.extend_from_slice(&g.file.0.to_le_bytes());
    out.extend_from_slice(&g.root.to_le_bytes());
    out.push(u8::from(g.whole_file));
    put_varint(&mut out, late.since_ms);
    for name in [&late.database, &late.table, &late.index] {
        put_bytes(&mut out, name.as_bytes());
    }
    if g.more > 0 {
        put_varint(&mut out, g.more);
    }
    out
}

/// Where a live grave's clustered value holds the root.
pub(crate) fn grave_root_at(value: Option<&[u8]>) -> Result<usize> {
    match value {
        Some(v)
            if v.len() >= ROW_HEADER + GRAVE && RowHeader::read(v).is_some_and(|h| !h.marked()) =>
        {
            Ok(ROW_HEADER + GRAVE_ROOT)
        }
        _ => Err(Error::Corrupt("a grave is missing".into())),
    }
}

/// Decodes a graveyard row.
pub(crate) fn decode_grave(row: &[u8]) -> Result<Grave> {
    if row.len() < GRAVE {
        return Err(Error::Corrupt("a graveyard row is cut short".into()));
    }
    // The first version of the format ended here.
    let mut late = Late::default();
    let mut more = 0;
    if row.len() > GRAVE {
        let mut r = Reader(&row[GRAVE..]);
        late = Late {
            since_ms: r.varint()?,
            database: text(r.bytes()?)?,
            table: text(r.bytes()?)?,
            index: text(r.bytes()?)?,
        };
        if !r.0.is_empty() {
            more = r.varint()?;
        }
    }
    Ok(Grave {
        space: SpaceId(u64::from_be_bytes(row[..8].try_into().unwrap())),
        more,
        file: FileId(get_u64(row, 8)),
        root: get_u32(row, GRAVE_ROOT),
        whole_file: row[20] != 0,
        late,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_round_trip() {
        let index = |name: &str, root| IndexDef {
            name: name.into(),
            unique: root > 0,
            space: SpaceId(2000 + u64::from(root)),
            root,
            body: vec![7; root as usize],
        };
        let t = TableRow {
            def: TableDef {
                id: 77,
                database: "d".into(),
                name: "tábla".into(),
                file: FileId(9),
                hidden_row_id: true,
                partitioned: true,
                indexes: vec![index("PRIMARY", 3), index("b", 0)],
                body: b"columns".to_vec(),
            },
            version: 4,
            auto_increment: 12,
            created: vec![0, 900],
        };
        let row = encode_table(&t).unwrap();
        assert_eq!(decode_table(&row).unwrap(), t);
        assert_eq!(table_file(&row).unwrap(), t.def.file);
        let mut key = Vec::new();
        put_table_key(&row, &mut key).unwrap();
        assert_eq!(key, table_key("d", "tábla").unwrap());
        assert_eq!(names_of(&key).unwrap(), ("d".into(), "tábla".into()));
        let part = partition_name("tábla", "p0");
        let inner = table_key("d", &part).unwrap();
        assert!(inner.starts_with(&key) && inner > key);
        assert_eq!(names_of(&inner).unwrap(), ("d".into(), part.clone()));
        assert_eq!(split_partition(&part), Some(("tábla", "p0")));
        assert!(table_key("d", "t\0").is_err() && table_key("d", "t\0p\0").is_err());
        for cut in 0..row.len() {
            assert!(decode_table(&row[..cut]).is_err());
        }
        let header = RowHeader {
            flags: 0,
            trx: 1,
            roll: crate::txn::RollPtr(0),
        };
        let value = [&header.bytes()[..], &row].concat();
        let fixed = Fixed::locate(&value, 77).unwrap();
        let (at, root) = fixed.root(&value, 0).unwrap();
        assert_eq!((get_u32(&value, at), root), (3, 3));
        assert!(fixed.root(&value, 2).is_err());
        assert_eq!(get_u64(&value, fixed.auto_increment_at()), 12);
        assert!(Fixed::locate(&value, 78).is_err());
        assert_eq!(fixed.root_of(&value, SpaceId(2000)).unwrap().1, 0);
        assert_eq!(fixed.root_of(&value, SpaceId(1)), None);
    }

    /// Roots and counter are found wherever ids, versions and files put them, as far as the part of a row goes that is never spilled.
    #[test]
    fn what_is_written_in_place_is_found() {
        for (id, file, version) in [(1, 0, 0), (u64::MAX, u64::MAX, u32::MAX), (1 << 21, 7, 127)] {
            for count in [1, 2, MAX_INDEXES] {
                let index = |n: usize| IndexDef {
                    name: format!("i{n}"),
                    unique: false,
                    // By steps as long as they can be.
                    space: SpaceId(if n.is_multiple_of(2) {
                        u64::MAX / 2
                    } else {
                        n as u64
                    }),
                    root: n as u32 + 1,
                    body: Vec::new(),
                };
                let t = TableRow {
                    def: TableDef {
                        id,
                        database: "d".into(),
                        name: "t".into(),
                        file: FileId(file),
                        hidden_row_id: false,
                        partitioned: false,
                        indexes: (0..count).map(index).collect(),
                        body: vec![1; 3],
                    },
                    version,
                    auto_increment: u64::MAX,
                    created: vec![0; count],
                };
                let row = encode_table(&t).unwrap();
                assert_eq!(decode_table(&row).unwrap(), t);
                assert_eq!(
                    (table_id(&row).unwrap(), table_file(&row).unwrap().0),
                    (id, file)
                );
                let header = RowHeader {
                    flags: 0,
                    trx: 1,
                    roll: crate::txn::RollPtr(0),
                };
                let value = [&header.bytes()[..], &row[..row.len().min(INLINE_PREFIX)]].concat();
                let fixed = Fixed::locate(&value, id).unwrap();
                assert_eq!(get_u64(&value, fixed.auto_increment_at()), u64::MAX);
                for n in 0..count {
                    assert_eq!(fixed.root(&value, n).unwrap().1, n as u32 + 1);
                }
            }
        }
    }

    #[test]
    fn keys_of_ids_sort_as_ids() {
        let ids = [
            0,
            1,
            255,
            256,
            65_535,
            65_536,
            1 << 24,
            u64::MAX - 1,
            u64::MAX,
        ];
        assert!(ids.map(id_key).is_sorted());
        assert_eq!(id_key(1 << 20).len(), 4);
    }

    #[test]
    fn graves_of_both_formats_are_read() {
        let grave = Grave {
            space: SpaceId(4000),
            more: 0,
            file: FileId(3),
            root: 17,
            whole_file: true,
            late: Late {
                since_ms: 1_700_000_000_000,
                database: "d".into(),
                table: "tábla".into(),
                index: String::new(),
            },
        };
        let row = encode_grave(&grave);
        assert_eq!(decode_grave(&row).unwrap(), grave);
        let old = decode_grave(&row[..GRAVE]).unwrap();
        assert_eq!((old.root, old.late), (17, Late::default()));
        for cut in (0..row.len()).filter(|&c| c != GRAVE) {
            assert!(decode_grave(&row[..cut]).is_err(), "{cut}");
        }
        let several = Grave { more: 300, ..grave };
        let longer = encode_grave(&several);
        assert_eq!(decode_grave(&longer).unwrap(), several);
        assert!(decode_grave(&longer[..longer.len() - 1]).is_err());
    }

    #[test]
    fn names_are_checked() {
        assert!(table_key("a", "").is_err());
        assert!(database_key("a\0b").is_err());
        assert_eq!(name_of(&database_key("abc").unwrap()).unwrap(), "abc");
    }
}
