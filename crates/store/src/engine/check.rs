//! Verification of everything: pages, trees, the correspondence of indexes, the catalog, who owns which page.
//!
//! The database should be at rest: changes meanwhile may show as problems that are none.

use super::Inner;
use crate::btree::{Checked, Cursor, ScanEnd, owner_of};
use crate::catalog::row::{Grave, TableRow, split_partition};
use crate::error::{Error, Result};
use crate::page::{PageNo, PageType};
use crate::space::{FileId, SpaceId};
use crate::table::{Direction, Table};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a check looks whether purge has finished, and how long it lets it make no progress.
const PURGE_LOOK: Duration = Duration::from_millis(5);
const PURGE_PATIENCE: Duration = Duration::from_secs(2);

/// Problems listed at most.
const MOST_PROBLEMS: usize = 200;

/// A space that should exist: its root and what it is called.
struct Known {
    root: PageNo,
    name: String,
    /// Its tree, unless the space is dead.
    live: bool,
}

#[derive(Default)]
struct Findings {
    problems: Vec<String>,
    /// Spaces by file.
    known: BTreeMap<FileId, HashMap<u64, Known>>,
    /// Pages that a live space's tree and chains account for.
    pages: HashMap<u64, u64>,
    /// Transactions purged when the check began.
    purged: u64,
}

impl Findings {
    fn add(&mut self, problem: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }
    /// Whether the page is a dead space's, by the extent's owner or because it is the root.
    fn is_dead(&self, file: FileId, page: PageNo, owner: u64) -> bool {
        let Some(spaces) = self.known.get(&file) else {
            return false;
        };
        spaces.get(&owner).is_some_and(|k| !k.live)
            || spaces.values().any(|k| !k.live && k.root == page)
    }
    /// The grave of small indexes; those among them that have one of their own turned out to be larger.
    fn know_several(&mut self, grave: &Grave) {
        let spaces = self.known.entry(grave.file).or_default();
        for id in grave.space.0..=grave.last().0 {
            spaces.entry(id).or_insert_with(|| Known {
                root: 0,
                name: format!("the grave of spaces from {} on", grave.space.0),
                live: false,
            });
        }
    }
    fn know(&mut self, file: FileId, space: SpaceId, root: PageNo, name: String, live: bool) {
        let spaces = self.known.entry(file).or_default();
        let known = Known { root, name, live };
        if let Some(before) = spaces.insert(space.0, known) {
            self.add(format!("space {} is {} and more", space.0, before.name));
        }
    }
}

impl Inner {
    /// Lets purge finish, as it does where no view is open: then every page can be accounted for.
    fn await_purge(&self) {
        let mut purged = self.sys.purged();
        let mut since = Instant::now();
        while self.sys.history_length() > 0 && since.elapsed() < PURGE_PATIENCE {
            std::thread::park_timeout(PURGE_LOOK);
            let now = self.sys.purged();
            if now != purged {
                (purged, since) = (now, Instant::now());
            }
        }
    }

    pub(super) fn check(&self) -> Result<Vec<String>> {
        self.await_purge();
        // The reclaimer may go on, but no row leaves the graveyard.
        let _graveyard = self.reclaimer.shared().graveyard.lock();
        let mut f = Findings {
            purged: self.sys.purged(),
            ..Findings::default()
        };
        let mut rows: Vec<TableRow> = Vec::new();
        let mut databases = HashSet::new();
        self.catalog.read(|txn| {
            databases.extend(self.catalog.database_names(txn)?);
            databases.extend(self.catalog.dropped(txn)?.into_iter().map(|d| d.database));
            self.catalog.each_row(txn, &mut |row| {
                rows.push(row);
                Ok(())
            })
        })?;
        let graves = self.catalog.graves()?;
        self.check_tablespaces(&rows, &mut f)?;
        for own in [
            &self.catalog.databases,
            &self.catalog.tables,
            &self.catalog.graveyard,
        ] {
            self.check_table(own, &mut f)?;
        }
        let mut ids = HashSet::new();
        let tables: HashSet<(&str, &str)> = rows
            .iter()
            .filter(|r| r.def.partitioned)
            .map(|r| (&*r.def.database, &*r.def.name))
            .collect();
        for row in &rows {
            let def = &row.def;
            if !databases.contains(&def.database) {
                let (d, n) = (&def.database, &def.name);
                f.add(format!(
                    "table {d}.{n} is in a database that does not exist"
                ));
            }
            if let Some((table, partition)) = split_partition(&def.name)
                && !tables.contains(&(&*def.database, table))
            {
                f.add(format!(
                    "partition {partition} of {}.{table} is nobody's",
                    def.database
                ));
            }
            if !ids.insert(def.id) {
                f.add(format!("table id {} is used twice", def.id));
            }
            if let Some(table) = self.catalog.by_id(def.id)? {
                self.check_table(&table, &mut f)?;
            } else {
                f.add(format!(
                    "table {}.{} is not found by id",
                    def.database, def.name
                ));
            }
        }
        let (several, single): (Vec<&Grave>, _) = graves.iter().partition(|g| g.is_range());
        for grave in single {
            let name = format!("the grave of space {}", grave.space.0);
            f.know(grave.file, grave.space, grave.root, name, false);
        }
        for grave in several {
            f.know_several(grave);
        }
        self.check_shared(&mut f)?;
        self.check_files(&mut f, &graves)?;
        Ok(f.problems)
    }

    /// Every table that is in a tablespace is noted there, and the tablespace is there.
    fn check_tablespaces(&self, rows: &[TableRow], f: &mut Findings) -> Result<()> {
        let catalog = &self.catalog;
        let tablespaces = catalog.read(|txn| catalog.all_tablespaces(txn))?;
        for tablespace in &tablespaces {
            f.known.entry(tablespace.file).or_default();
        }
        for def in rows.iter().map(|r| &r.def).filter(|d| d.file.is_general()) {
            let noted = catalog.read(|txn| catalog.is_member(txn, def.file, def.id))?;
            if !noted || !tablespaces.iter().any(|t| t.file == def.file) {
                f.add(format!(
                    "table {}.{} is in {}, which does not know of it",
                    def.database,
                    def.name,
                    def.file.name()
                ));
            }
        }
        Ok(())
    }

    /// The tree that small indexes share is sound, and what is in it is that of indexes and graves without a root.
    fn check_shared(&self, f: &mut Findings) -> Result<()> {
        let Some(tree) = self.ctx.shared.tree() else {
            return Ok(());
        };
        let found = tree.check();
        for p in found.problems {
            f.add(format!("the tree of small indexes: {p}"));
        }
        let (space, root) = (SpaceId::SHARED_TREE, tree.root());
        f.pages.insert(space.0, found.leaves + found.inner_pages);
        let mut cursor = Cursor::new(Bound::Unbounded, Direction::Forward);
        let (mut last, mut wrong) = (None, Vec::new());
        let spaces = f.known.entry(FileId::SHARED).or_default();
        loop {
            let end = cursor.scan(tree, &mut |key, _| {
                let of = owner_of(key);
                if last != Some(of) {
                    last = Some(of);
                    match of.map(|id| (id, spaces.get(&id.0))) {
                        Some((_, Some(known))) if known.root == 0 => {}
                        Some((_, Some(known))) => {
                            wrong.push(format!("{} has a root and entries here", known.name));
                        }
                        Some((id, None)) => {
                            let id = id.0;
                            wrong.push(format!("it has entries of space {id}, which nobody knows"));
                        }
                        None => wrong.push("a key says nothing of an index".into()),
                    }
                }
                ControlFlow::Continue(())
            })?;
            if end == ScanEnd::End {
                break;
            }
        }
        for what in wrong {
            f.add(format!("the tree of small indexes: {what}"));
        }
        f.know(
            FileId::SHARED,
            space,
            root,
            "the tree of small indexes".into(),
            true,
        );
        Ok(())
    }

    fn check_table(&self, table: &Arc<Table>, f: &mut Findings) -> Result<()> {
        // A partition shows as `table#P#partition`.
        let name = format!(
            "{}.{}",
            table.def.database,
            table.def.name.replace('\0', "#P#")
        );
        let mut sound = true;
        for (index, def) in table.indexes.iter().zip(&table.def.indexes) {
            let Checked {
                problems,
                leaves,
                inner_pages,
                ..
            } = index.tree.check();
            sound &= problems.is_empty();
            for p in problems {
                f.add(format!("table {name}, index {}: {p}", def.name));
            }
            f.pages.insert(index.space.0, leaves + inner_pages);
            let what = format!("index {} of {name}", def.name);
            f.know(table.def.file, index.space, index.tree.root(), what, true);
        }
        if sound {
            self.check_rows(table, &name, f)?;
            *f.pages.entry(table.indexes[0].space.0).or_default() += table.chain_pages()?;
        }
        Ok(())
    }

    /// Every row has its entries in every index, and every live entry a row.
    fn check_rows(&self, table: &Table, name: &str, f: &mut Findings) -> Result<()> {
        let faults = self
            .catalog
            .read(|txn| table.check_indexes(txn, &mut |_| Ok::<(), Error>(())))?;
        for fault in faults {
            let index = &table.def.indexes[fault.index].name;
            f.add(format!("table {name}, index {index}: {}", fault.kind));
        }
        Ok(())
    }

    /// Every page is sound, and belongs to somebody known.
    fn check_files(&self, f: &mut Findings, graves: &[Grave]) -> Result<()> {
        let mut files: Vec<FileId> = f.known.keys().copied().collect();
        files.push(FileId::UNDO);
        let dying: HashSet<FileId> = graves
            .iter()
            .filter(|g| g.whole_file)
            .map(|g| g.file)
            .collect();
        for file in files {
            if file.0 > FileId::UNDO.0
                && (dying.contains(&file) || !self.storage.exists(&file.name()))
            {
                continue;
            }
            let mut used: HashMap<u64, u64> = HashMap::new();
            for page in self.pager.check_file(file)? {
                let problem = match &page.found {
                    // Pages of a dead space may never have been written.
                    Err(_) if f.is_dead(file, page.page, page.owner) => None,
                    Err(what) => Some(what.clone()),
                    Ok((space, kind)) => {
                        *used.entry(space.0).or_default() += 1;
                        owner_problem(f, file, page.page, *space, *kind)
                    }
                };
                if let Some(what) = problem {
                    f.add(format!("file {}, page {}: {what}", file.name(), page.page));
                }
            }
            self.compare_pages(f, file, &used);
        }
        Ok(())
    }

    /// Pages that nothing refers to: only known once history is purged, for older versions have pages too.
    fn compare_pages(&self, f: &mut Findings, file: FileId, used: &HashMap<u64, u64>) {
        let at_rest = self.sys.history_length() == 0
            && self.sys.purged() == f.purged
            && self.sys.transactions().is_empty();
        if !at_rest {
            return;
        }
        let Some(known) = f.known.get(&file) else {
            return;
        };
        let mut lost = Vec::new();
        for (space, k) in known.iter().filter(|(_, k)| k.live) {
            let has = used.get(space).copied().unwrap_or(0);
            let needs = f.pages.get(space).copied().unwrap_or(0);
            if has != needs {
                lost.push(format!(
                    "{} (space {space}) has {has} pages, of which {needs} are in use",
                    k.name
                ));
            }
        }
        for what in lost {
            f.add(what);
        }
    }
}

fn owner_problem(
    f: &Findings,
    file: FileId,
    page: PageNo,
    space: SpaceId,
    kind: PageType,
) -> Option<String> {
    match kind {
        PageType::FileHeader | PageType::AllocMap => None,
        PageType::Undo | PageType::UndoDirectory if file == FileId::UNDO => None,
        _ => match f.known.get(&file).and_then(|spaces| spaces.get(&space.0)) {
            Some(_) => None,
            None => Some(format!(
                "it belongs to space {}, which nobody knows",
                space.0
            )),
        },
    }
    .or_else(|| {
        let known = f.known.get(&file)?.get(&space.0)?;
        let is_root = known.root == page;
        (is_root && !matches!(kind, PageType::Leaf | PageType::Inner)).then(|| {
            format!(
                "{} has its root here, but the page is a {kind:?}",
                known.name
            )
        })
    })
}
