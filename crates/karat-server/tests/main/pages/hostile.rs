//! Texts that try to become markup, in every field that a dataset, a model or a judge fills.

use karat_app::Overrides;
use karat_page::text::visible::{lines, safe_href};
use scraper::{Html, Selector};

use super::{all, settled, text};
use crate::place::Place;
use crate::suite::run_suite;

fn corpus() -> Vec<String> {
    let file = include_str!("../../../../../fixtures/hostile-texts.jsonl");
    let texts: Vec<String> =
        file.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect();
    // The dataset refuses an empty id, and a suite's texts have no NUL.
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

fn check(page: &Html, path: &str) {
    for element in page.select(&Selector::parse("body *").unwrap()) {
        let element = element.value();
        assert!(
            !matches!(
                element.name(),
                "script"
                    | "img"
                    | "iframe"
                    | "object"
                    | "embed"
                    | "style"
                    | "link"
                    | "base"
                    | "math"
                    | "template"
                    | "video"
            ),
            "{path}: <{}>",
            element.name()
        );
        for (name, value) in element.attrs() {
            assert!(
                !name.starts_with("on") && !matches!(name, "style" | "src" | "srcdoc" | "formaction" | "xlink:href"),
                "{path}: {name}"
            );
            assert!(name != "href" || safe_href(value).is_some(), "{path}: {value}");
            assert!(name != "action" || value.starts_with('/'), "{path}: {value}");
        }
    }
}

/// DB-51: no hostile text of a sample, a reply, a judge or a suite's name becomes markup on any page, and each is read
/// back as the text that it is.
#[test]
fn hostile_texts_stay_texts() {
    let place = Place::view();
    let texts = corpus();
    assert!(texts.len() >= 60, "{} texts", texts.len());
    let ids: Vec<String> =
        (0..texts.len()).map(|at| format!("{at} {}", texts[at].replace(['\0', '\n', '\r'], " "))).collect();
    let samples: Vec<(&str, &str, &str)> =
        ids.iter().zip(&texts).map(|(id, text)| (id.as_str(), text.as_str(), text.as_str())).collect();
    run_suite(&place.app, "r", "<b onclick=alert(1)>\"suite'", &samples, Overrides::default());
    let list = format!("/runs/r/cells?q={}", "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E");
    for path in
        ["/", "/runs/r/cells", "/runs/r/cells?flag=error", "/?q=%3Cscript%3E&sort=%22%3E%3Cimg%3E&%3Cb%3E=1", &list]
    {
        let answer = settled(&place, path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        check(&Html::parse_document(&answer.text), path);
    }
    for (at, (id, hostile)) in ids.iter().zip(&texts).enumerate() {
        let encoded: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
        let path = format!("/runs/r/sample?id={encoded}");
        let answer = settled(&place, &path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        let page = Html::parse_document(&answer.text);
        check(&page, &path);
        let shown = text(all(&page, "main")[0]);
        assert!(shown.contains(&*lines(hostile)), "{hostile:?} is not on the page");
        for path in [format!("/runs/r/cell?n={}", 2 * at), format!("/runs/r/cell?n={}&view=raw", 2 * at)] {
            let answer = settled(&place, &path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            check(&Html::parse_document(&answer.text), &path);
        }
    }
}

/// DB-51, DB-60: a word of a megabyte is cut where lists show it, and the page of the sample is answered.
#[test]
fn word_of_a_megabyte_is_shown_cut() {
    let place = Place::view();
    let word = "w".repeat(1_000_000);
    run_suite(&place.app, "r", "long", &[("a", &word, "x")], Overrides::default());
    let cells = settled(&place, "/runs/r/cells");
    assert!(cells.status == 200 && cells.text.len() < 300_000, "{} bytes", cells.text.len());
    for path in ["/runs/r/sample?id=a", "/runs/r/cell?n=0", "/runs/r/cell?n=0&view=raw"] {
        let answer = settled(&place, path);
        assert!(answer.status == 200 && answer.text.len() < 1_000_000, "{path}: {} bytes", answer.text.len());
    }
}
