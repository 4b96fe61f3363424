use super::*;

fn report() -> Report {
    Report {
        experiment: "test",
        title: "A <title>".into(),
        intro: "What & why".into(),
        incomplete: None,
        headline: vec![Card {
            label: "max".into(),
            value: "3 ms".into(),
            note: "2 ms without".into(),
        }],
        blocks: vec![
            Block::Heading("One".into()),
            Block::Table(Table {
                rows: vec![vec!["a".into(), "1".into()], vec!["bb".into(), "22".into()]],
                note: "Note.".into(),
                ..Table::new("Numbers", &["name", "n"])
            }),
            Block::Figure(Figure {
                panels: vec![Panel {
                    title: "p".into(),
                    series: vec![Series {
                        name: "s".into(),
                        points: vec![(0.0, 1.0), (1.0, 2.0)],
                        ..Series::default()
                    }],
                    marks: vec![Mark {
                        x: 0.5,
                        what: "DROP TABLE t".into(),
                    }],
                }],
                names: true,
                ..Figure::default()
            }),
            Block::Bars(Bars {
                groups: vec![Group {
                    title: "g".into(),
                    bars: vec![Bar {
                        name: "b".into(),
                        value: 1.0,
                        style: 0,
                        ..Bar::default()
                    }],
                }],
                ..Bars::default()
            }),
        ],
        facts: vec![("machine".into(), "two cores".into())],
        data: serde_json::json!({"x": 1}),
        csv: "a,b\n".into(),
    }
}

#[test]
fn the_page_holds_everything_and_fetches_nothing() {
    let page = report().html();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<title>A &lt;title&gt;</title>"));
    assert_eq!(page.matches("<svg").count(), 2);
    assert_eq!(page.matches("class=\"mark\"").count(), 1);
    assert_eq!(page.matches("class=\"dot").count(), 2);
    for fetched in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    assert!(!page.contains("Incomplete"));
}

#[test]
fn an_unfinished_report_is_valid_and_says_so() {
    let partial = Report {
        incomplete: Some("It was stopped.".into()),
        headline: Vec::new(),
        blocks: vec![Block::Figure(Figure::default())],
        ..report()
    };
    let page = partial.html();
    assert!(page.contains("Incomplete.") && page.contains("It was stopped."));
    let doc: serde_json::Value = serde_json::from_str(&partial.json()).unwrap();
    assert_eq!(doc["complete"], false);
    assert_eq!(doc["data"]["x"], 1);
    assert!(partial.text().contains("INCOMPLETE: It was stopped."));
}

#[test]
fn tables_line_up() {
    let text = report().text();
    assert!(
        text.contains("name   n\na      1\nbb    22\nNote.\n"),
        "{text}"
    );
}

#[test]
fn numbers_have_about_three_digits() {
    let shown = [0.0, 0.001234, 0.1234, 1.234, 12.34, 123.4, 1234567.0, -1.5].map(num);
    assert_eq!(
        shown,
        [
            "0.00",
            "0.00123",
            "0.123",
            "1.23",
            "12.3",
            "123",
            "1,234,567",
            "-1.50"
        ]
    );
    assert_eq!(num(f64::NAN), "–");
    assert_eq!(seconds(0.00025), "250 µs");
    assert_eq!(seconds(0.0125), "12.5 ms");
    assert_eq!(ratio(1.066), "1.07×");
    assert_eq!(grouped(1_234_567), "1,234,567");
    assert_eq!(grouped(999), "999");
    assert_eq!(
        [0.5, 0.99, 0.999, 0.9999].map(percentile),
        ["p50", "p99", "p99.9", "p99.99"]
    );
}
