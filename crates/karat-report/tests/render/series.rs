//! The page of a dated suite.

use karat_analysis::series::JudgeChoice;
use karat_analysis::testing::DatedSuite;
use karat_report::series::{SeriesLinks, SeriesState, document, sorted_by};
use scraper::{ElementRef, Html, Selector};

fn select(selector: &str) -> Selector {
    Selector::parse(selector).unwrap()
}

fn file(suite: &DatedSuite, judge: JudgeChoice) -> String {
    document(&suite.view(judge), &SeriesLinks::none(), &SeriesState::default()).to_file()
}

fn small() -> DatedSuite {
    DatedSuite { days: 12, gap: Some((4, 5)), slide: None, cap_every: 5, pinned_every: 3, ..DatedSuite::default() }
}

fn words(element: ElementRef<'_>) -> String {
    let text: Vec<&str> = element.text().map(str::trim).filter(|text| !text.is_empty()).collect();
    text.join(" ")
}

/// DB-30: the data of a small page: cards, rows, details and rules.
#[test]
fn small_page() {
    let page = Html::parse_document(&file(&small(), JudgeChoice::Consensus));
    let mut lines = Vec::new();
    for row in page.select(&select("h2, h3, .card, .chip, figure [role=img], figure > p, tr, .notes li, .facts-list")) {
        let name = row.value().attr("aria-label").map(str::to_owned);
        lines.push(format!("{}: {}", row.value().name(), name.unwrap_or_else(|| words(row))));
    }
    let island = page.select(&select("script[type='application/json']")).next().unwrap();
    let data: serde_json::Value = serde_json::from_str(&island.text().collect::<String>()).unwrap();
    lines.push(serde_json::to_string_pretty(&data["items"]["2026-01-10"]).unwrap());
    lines.push(serde_json::to_string_pretty(&data["items"]["2026-01-12"]).unwrap());
    insta::assert_snapshot!("series_page", lines.join("\n"));
}

/// DB-40: the file loads nothing, leads nowhere, has the same bytes each time, and no `style` or `on…` attribute.
#[test]
fn file_stands_alone() {
    let text = file(&small(), JudgeChoice::Consensus);
    assert_eq!(text, file(&small(), JudgeChoice::Consensus));
    let page = Html::parse_document(&text);
    assert_eq!(page.select(&select("[src], link, iframe, form, img")).count(), 0);
    assert!(page.select(&select("[href]")).all(|link| link.value().attr("href").unwrap().starts_with('#')));
    for element in page.select(&select("*")) {
        assert!(!element.value().attrs().any(|(name, _)| name == "style" || name.starts_with("on")));
    }
    assert_eq!(page.select(&select("script:not([type])")).count(), 1);
    assert_eq!(page.select(&select("h1")).count(), 1);
    assert_eq!(page.select(&select("th:not([scope])")).count(), 0);
}

/// DB-51: texts of suites, rubrics and judges are texts on the page, in its data and in its table.
#[test]
fn hostile_texts_are_texts() {
    let hostile = include_str!("../../../../fixtures/hostile-texts.jsonl").lines();
    let hostile: Vec<String> =
        hostile.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).filter_map(first_text).collect();
    assert!(hostile.len() > 5, "{}", hostile.len());
    for text in hostile {
        let suite = DatedSuite {
            name: text.clone(),
            judges: vec![text.clone(), "calm".to_owned()],
            axes: vec![(text.clone(), 1.0), ("calm".to_owned(), 1.0)],
            variants: vec![text.clone()],
            note: format!(" {text}"),
            days: 3,
            gap: None,
            ..DatedSuite::default()
        };
        let page = Html::parse_document(&file(&suite, JudgeChoice::All));
        assert_eq!(page.select(&select("script")).count(), 2, "{text}");
        assert_eq!(
            page.select(&select("img, iframe, object, embed, base, meta[http-equiv=refresh]")).count(),
            0,
            "{text}"
        );
        let heading = page.select(&select("h1")).next().unwrap();
        assert_eq!(heading.text().collect::<String>(), karat_page::text::visible::line(&text), "{text}");
        let island = page.select(&select("script[type='application/json']")).next().unwrap();
        let data: serde_json::Value = serde_json::from_str(&island.text().collect::<String>()).unwrap();
        assert_eq!(data["rows"][0], *karat_page::text::visible::line(&text));
        assert_eq!(page.select(&select("[data-testid=series-row]")).count(), 6);
    }
}

/// The text of a line of the fixture.
fn first_text(line: serde_json::Value) -> Option<String> {
    match line {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Object(fields) => fields.values().find_map(|value| value.as_str().map(str::to_owned)),
        _ => None,
    }
}

/// DB-40: 2,000 days with long notes stay below 5 MB.
#[test]
fn long_page_is_bounded() {
    let suite = DatedSuite { days: 2_007, note: " word".repeat(120), ..DatedSuite::default() };
    let text = file(&suite, JudgeChoice::Consensus);
    assert!(text.len() <= 5_000_000, "{} bytes", text.len());
    assert_eq!(text.matches("data-testid=\"series-row\"").count(), 2_000);
}

/// DB-16, DB-30: a live page has links, a form and the state of its address; the file has none of them.
#[test]
fn live_page_has_its_state_in_the_address() {
    let view = small().view(JudgeChoice::Consensus);
    let links = SeriesLinks::live(
        "daily news",
        vec![("judge".to_owned(), "a&b".to_owned()), ("q".to_owned(), "no source".to_owned())],
    );
    let state =
        SeriesState { words: "no source".to_owned(), sort: sorted_by(&view, "composite"), ..SeriesState::default() };
    let page = Html::parse_document(&document(&view, &links, &state).to_live("/assets/"));
    let chip = page.select(&select("[data-testid=filter-high]")).next().unwrap();
    assert_eq!(chip.value().attr("href"), Some("/series/daily%20news?judge=a%26b&q=no%20source&filter=high"));
    let shown: Vec<ElementRef<'_>> = page.select(&select("[data-testid=series-row]:not([hidden])")).collect();
    assert_eq!(shown.len(), 1);
    let words = page.select(&select("form.search [data-testid=search]")).next().unwrap();
    assert_eq!(words.value().attr("value"), Some("no source"));
    assert_eq!(page.select(&select("form.choices [data-testid=judge-filter]")).count(), 1);
    assert!(sorted_by(&view, "-nothing").is_none());
}

/// DB-36: pages of one, two and no days, equal grades, no rubric, no golden set and three judges say what they have.
#[test]
fn every_state_has_a_page() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let states = [
        DatedSuite { days: 0, ..small() },
        DatedSuite { days: 1, ..small() },
        DatedSuite { days: 2, ..small() },
        DatedSuite { is_flat: true, ..small() },
        DatedSuite { is_plain: true, ..small() },
        DatedSuite { pinned_every: 0, ..small() },
        DatedSuite { judges: names(&["a", "b", "c"]), ..small() },
        DatedSuite { method: "given".to_owned(), ..small() },
        DatedSuite { variants: names(&["one", "two"]), ..small() },
    ];
    for suite in states {
        let view = suite.view(JudgeChoice::Consensus);
        let text = document(&view, &SeriesLinks::none(), &SeriesState::default()).body.into_string();
        assert!(!text.contains("NaN") && !text.contains("inf%"), "{suite:?}");
        let page = Html::parse_document(&text);
        assert_eq!(page.select(&select("[data-testid=stat-card]")).count(), 5);
        let empty = page.select(&select("[data-testid=empty-state]")).count();
        assert_eq!(empty > 0, suite.days == 0 || suite.is_plain || suite.method == "given", "{suite:?}");
    }
}
