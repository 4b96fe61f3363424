//! The changes, each with what takes it back, so that every round finds the table as the first one did.

use crate::employees::TABLE;

/// Columns that the table has for this, besides its own.
pub(super) const FURTHER: &str = ", grade SMALLINT NOT NULL DEFAULT 1, office VARCHAR(20) NOT NULL DEFAULT 'Geneva', \
     note VARCHAR(40) DEFAULT 'none so far'";

/// A statement that changes the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The clauses of an ALTER TABLE.
    Alter(&'static str),
    /// A whole statement, without an ALGORITHM clause.
    Whole(&'static str),
}

impl Change {
    /// As one would write it.
    pub fn sql(self) -> String {
        match self {
            Change::Alter(clauses) => format!("ALTER TABLE {TABLE} {clauses}"),
            Change::Whole(sql) => sql.into(),
        }
    }
}

/// A change and its name; one without a name is made, not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub name: Option<&'static str>,
    pub change: Change,
}

/// A change, and what takes it back where it leaves something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub there: Step,
    pub back: Option<Step>,
}

impl Case {
    /// The names of what is measured.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.steps().filter_map(|s| s.name)
    }

    /// There, and back.
    pub fn steps(&self) -> impl Iterator<Item = Step> + use<> {
        [Some(self.there), self.back].into_iter().flatten()
    }

    /// The same, with nothing measured but what is asked for; none if that is nothing.
    pub fn with_only(&self, asked: impl Fn(&str) -> bool) -> Option<Case> {
        let kept = |step: Step| Step {
            name: step.name.filter(|n| asked(n)),
            ..step
        };
        let case = Case {
            there: kept(self.there),
            back: self.back.map(kept),
        };
        case.names().next().is_some().then_some(case)
    }
}

const fn step(name: &'static str, clauses: &'static str) -> Step {
    Step {
        name: Some(name),
        change: Change::Alter(clauses),
    }
}

/// A change, and clauses that take it back unmeasured.
const fn case(name: &'static str, clauses: &'static str, back: &'static str) -> Case {
    let back = Step {
        name: None,
        change: Change::Alter(back),
    };
    Case {
        there: step(name, clauses),
        back: Some(back),
    }
}

/// Two changes, each of which takes the other back.
const fn pair(there: Step, back: Step) -> Case {
    Case {
        there,
        back: Some(back),
    }
}

/// A change that leaves the table as it was.
const fn alone(name: &'static str, change: Change) -> Case {
    let there = Step {
        name: Some(name),
        change,
    };
    Case { there, back: None }
}

/// In the order of reports.
pub(super) const CASES: [Case; 26] = [
    case(
        "rename column",
        "RENAME COLUMN grade TO level",
        "RENAME COLUMN level TO grade",
    ),
    case(
        "rename index",
        "RENAME INDEX hire_date TO hired",
        "RENAME INDEX hired TO hire_date",
    ),
    alone(
        "rename table, there and back",
        Change::Whole("RENAME TABLE employees TO staff, staff TO employees"),
    ),
    case(
        "set default",
        "ALTER COLUMN grade SET DEFAULT 2",
        "ALTER COLUMN grade SET DEFAULT 1",
    ),
    case(
        "column comment",
        "MODIFY grade SMALLINT NOT NULL DEFAULT 1 COMMENT 'of salary'",
        "MODIFY grade SMALLINT NOT NULL DEFAULT 1",
    ),
    case("table comment", "COMMENT = 'all of them'", "COMMENT = ''"),
    pair(
        step(
            "add last column",
            "ADD COLUMN phone VARCHAR(20) DEFAULT 'none'",
        ),
        step("drop last column", "DROP COLUMN phone"),
    ),
    case(
        "add first column",
        "ADD COLUMN code INT NOT NULL DEFAULT 7 FIRST",
        "DROP COLUMN code",
    ),
    pair(
        step("drop column amid others", "DROP COLUMN office"),
        step(
            "add column amid others",
            "ADD COLUMN office VARCHAR(20) NOT NULL DEFAULT 'Geneva' AFTER grade",
        ),
    ),
    case(
        "add virtual column",
        "ADD COLUMN hired_in INT AS (YEAR(hire_date)) VIRTUAL",
        "DROP COLUMN hired_in",
    ),
    case(
        "add stored column",
        "ADD COLUMN hired_in INT AS (YEAR(hire_date)) STORED",
        "DROP COLUMN hired_in",
    ),
    pair(
        step(
            "VARCHAR(40) to (60)",
            "MODIFY note VARCHAR(60) DEFAULT 'none so far'",
        ),
        step(
            "VARCHAR(60) to (40)",
            "MODIFY note VARCHAR(40) DEFAULT 'none so far'",
        ),
    ),
    case(
        "VARCHAR(40) to (100)",
        "MODIFY note VARCHAR(100) DEFAULT 'none so far'",
        "MODIFY note VARCHAR(40) DEFAULT 'none so far'",
    ),
    case(
        "add ENUM value",
        "MODIFY gender ENUM('M','F','X') NOT NULL",
        "MODIFY gender ENUM('M','F') NOT NULL",
    ),
    pair(
        step("NOT NULL to NULL", "MODIFY grade SMALLINT NULL DEFAULT 1"),
        step(
            "NULL to NOT NULL",
            "MODIFY grade SMALLINT NOT NULL DEFAULT 1",
        ),
    ),
    case(
        "SMALLINT to BIGINT",
        "MODIFY grade BIGINT NOT NULL DEFAULT 1",
        "MODIFY grade SMALLINT NOT NULL DEFAULT 1",
    ),
    pair(
        step("add index", "ADD INDEX born (birth_date)"),
        step("drop index", "DROP INDEX born"),
    ),
    case(
        "add unique index",
        "ADD UNIQUE INDEX badge_once (badge)",
        "DROP INDEX badge_once",
    ),
    case(
        "index invisible",
        "ALTER INDEX hire_date INVISIBLE",
        "ALTER INDEX hire_date VISIBLE",
    ),
    pair(
        step(
            "add foreign key",
            "ADD CONSTRAINT works_in FOREIGN KEY (dept) REFERENCES departments (dept_no)",
        ),
        step("drop foreign key", "DROP FOREIGN KEY works_in"),
    ),
    pair(
        step(
            "add check",
            "ADD CONSTRAINT adult CHECK (hire_date > birth_date)",
        ),
        step("drop check", "DROP CONSTRAINT adult"),
    ),
    case(
        "change primary key",
        "DROP PRIMARY KEY, ADD PRIMARY KEY (emp_no, badge)",
        "DROP PRIMARY KEY, ADD PRIMARY KEY (emp_no)",
    ),
    case(
        "convert to utf8mb4_bin",
        "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    ),
    case(
        "convert to latin1",
        "CONVERT TO CHARACTER SET latin1",
        "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    ),
    alone("FORCE", Change::Alter("FORCE")),
    alone("OPTIMIZE TABLE", Change::Whole("OPTIMIZE TABLE employees")),
];
