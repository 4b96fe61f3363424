//! What the articles published: facts, with where they stand.

use crate::drop_throughput;
use crate::many_tables::comparison;
use crate::rebuild::article::PUBLISHED;
use crate::report::{Axis, Bar, Bars, Block, Figure, Group, Panel, Part, Series, Side};

/// One of the five.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Article {
    /// The experiment that reruns it, and others that belong to it.
    pub experiment: &'static str,
    pub also: &'static [&'static str],
    /// When, and by whom.
    pub kicker: &'static str,
    pub title: &'static str,
    pub question: &'static str,
}

/// In the order in which they appeared.
pub(super) const ARTICLES: [Article; 5] = [
    Article {
        experiment: "many-tables",
        also: &[],
        kicker: "2006, MySQL 5.1 on three file systems",
        title: "CREATE, INSERT, SELECT, DROP benchmark",
        question: "How long do 50,000 tables take to be created, filled with a row, read and dropped?",
    },
    Article {
        experiment: "drop-throughput",
        also: &[],
        kicker: "April 2011, Vadim Tkachenko",
        title: "Drop table performance",
        question: "Does dropping an empty table get slower, the more is cached?",
    },
    Article {
        experiment: "drop-stall",
        also: &[],
        kicker: "June 2012, Ovais Tariq",
        title: "DROP TABLE and stalls",
        question: "What do queries feel of a table that is dropped beside them?",
    },
    Article {
        experiment: "rebuild",
        also: &["alter"],
        kicker: "August 2012, Percona Server\u{2019}s expand_fast_index_creation",
        title: "Speeding Optimize for InnoDB tables",
        question: "Is a rebuild from sorted keys as quick with a unique or a foreign key?",
    },
    Article {
        experiment: "truncate-scale",
        also: &[],
        kicker: "MySQL 8.0.23, by its developers",
        title: "A 250x improvement to tablespace truncation",
        question: "Do create and drop get slower, the larger the buffer pool?",
    },
];

/// Styles of the algorithms that stand for the servers of [`drop_throughput::ARTICLE_SERVERS`], so that both are drawn alike.
const SERVER_STYLES: [usize; 3] = [1, 2, 3];

impl Article {
    /// What it found.
    pub fn published(self) -> Side {
        let (chart, source) = match self.experiment {
            "many-tables" => many_tables(),
            "drop-throughput" => drop_throughput(),
            "drop-stall" => drop_stall(),
            "rebuild" => rebuild(),
            _ => truncate_scale(),
        };
        Side {
            name: "Published".into(),
            chart,
            source: source.into(),
        }
    }
}

fn bar(name: &str, value: f64, style: usize) -> Bar {
    Bar {
        name: name.into(),
        value,
        style,
        ..Bar::default()
    }
}

fn many_tables() -> (Block, &'static str) {
    let innodb = comparison::ARTICLE.iter().filter_map(|a| Some((a.0, a.2?)));
    let innodb = innodb.map(|(name, seconds)| bar(name, f64::from(seconds), 6));
    let myisam = comparison::ARTICLE
        .iter()
        .map(|a| bar(a.0, f64::from(a.1), 7));
    let group = |title: &str, bars: Vec<Bar>| Group {
        title: title.into(),
        bars,
    };
    let chart = Bars {
        title: "50,000 tables, by file system".into(),
        caption: "Less is better.".into(),
        unit: "s".into(),
        log: false,
        groups: vec![
            group("InnoDB", innodb.collect()),
            group("MyISAM", myisam.collect()),
        ],
    };
    (
        Block::Bars(chart),
        "MySQL 5.1, one client, one disk of 7,200 rpm, a Pentium 4. Commits were hardly synced: the disk turns 120 times a second.",
    )
}

fn drop_throughput() -> (Block, &'static str) {
    let servers = drop_throughput::ARTICLE_SERVERS.iter().enumerate();
    let series = servers.map(|(i, server)| Series {
        name: server.replace("Percona Server", "Percona"),
        style: SERVER_STYLES[i],
        // Seconds for a thousand drops are ms for one.
        points: drop_throughput::ARTICLE
            .iter()
            .map(|(gb, all)| (*gb, all[i]))
            .collect(),
        ..Series::default()
    });
    let chart = Figure {
        title: "Time of a drop against what is cached".into(),
        caption: "Flat is good.".into(),
        x: Axis {
            label: "cached, GB".into(),
            log: false,
        },
        y: Axis {
            label: "milliseconds".into(),
            log: false,
        },
        panels: vec![Panel {
            title: "ms a drop, of 1,000".into(),
            series: series.collect(),
            marks: Vec::new(),
        }],
        names: true,
    };
    (
        Block::Figure(chart),
        "A Cisco UCS C250 with 340 GB and a pool of 144 GB; 1,000 tables created and dropped. An empty pool was not measured.",
    )
}

fn drop_stall() -> (Block, &'static str) {
    let servers = [
        ("MySQL 5.5.15", 6.0, 1),
        ("MySQL 5.5.24", 2.0, 4),
        ("Percona Server 5.5.24", 1.0, 2),
    ];
    let chart = Bars {
        title: "Longest time at the lowest rate".into(),
        caption: "Less is better. In whole seconds, from queries counted by second.".into(),
        unit: "s".into(),
        log: false,
        groups: vec![Group {
            title: "A drop each 30 s, for 15 minutes".into(),
            bars: servers
                .map(|(name, seconds, style)| bar(name, seconds, style))
                .into(),
        }],
    };
    (
        Block::Bars(chart),
        "Two cores, 8 threads of sysbench as fast as they were answered, a pool of 6 GB with 315,000 pages, 100,000 of them dirty. The \
         figures stand in the author\u{2019}s comment of 23 June 2012.",
    )
}

fn rebuild() -> (Block, &'static str) {
    let names = ["row by row", "sorted", "sorted, foreign key"];
    let bars = names.iter().zip(&PUBLISHED).map(|(name, p)| {
        let part = |name: &str, value, style| Part {
            name: name.into(),
            value,
            style,
        };
        let rest = p.total - p.copy - p.keys.unwrap_or(0.0);
        let mut parts = vec![part("copy to tmp table", p.copy, 0)];
        parts.extend(p.keys.map(|s| part("restoring secondary keys", s, 1)));
        parts.push(part("other", rest, 6));
        Bar {
            parts,
            ..bar(name, p.total, 0)
        }
    });
    let chart = Bars {
        title: "OPTIMIZE TABLE of 300,024 rows".into(),
        caption: "Less is better. With a foreign key the server went back to row by row.".into(),
        unit: "s".into(),
        log: false,
        groups: vec![Group {
            title: "employees, Percona Server".into(),
            bars: bars.collect(),
        }],
    };
    (
        Block::Bars(chart),
        "A pool of 256 MB, a machine that the article does not name. It says the same of unique keys, without figures.",
    )
}

fn truncate_scale() -> (Block, &'static str) {
    let chart = Bars {
        title: "Time for 100 tables, at most".into(),
        caption: "Less is better; MySQL 8.0.23 is 1.".into(),
        unit: "\u{d7}".into(),
        log: false,
        groups: vec![Group {
            title: "With pools of 32, 64, 128, 256 and 450 GB".into(),
            bars: vec![bar("before 8.0.23", 251.0, 1), bar("8.0.23", 1.0, 5)],
        }],
    };
    (
        Block::Bars(chart),
        "\u{201c}Up to 251x\u{201d} is what the text says; the times themselves are in pictures only. The adaptive hash index had to be off.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::lines;

    #[test]
    fn figures_are_the_articles() {
        let of = |experiment: &str| {
            let found = ARTICLES.iter().find(|a| a.experiment == experiment);
            lines(&found.unwrap().published().chart)
        };
        let value = |experiment: &str, name: &str| {
            let all = of(experiment);
            all.iter().find(|l| l.0 == name).map(|l| l.2)
        };
        assert_eq!(value("many-tables", "InnoDB: xfs"), Some(768.0));
        assert_eq!(value("many-tables", "MyISAM: ext3"), Some(908.0));
        assert!(of("drop-throughput").contains(&("Percona 5.1.56".into(), Some(104.0), 466.0)));
        assert_eq!(of("drop-stall").iter().map(|l| l.2).sum::<f64>(), 9.0);
        let rebuilds: Vec<f64> = of("rebuild").iter().map(|l| l.2).collect();
        assert_eq!(rebuilds, [32.42, 15.31, 33.86]);
        assert_eq!(of("truncate-scale")[0].2, 251.0);
    }
}
