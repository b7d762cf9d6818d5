//! Texts that try to become markup, in every field.

use std::collections::BTreeSet;

use karat_page::block::{Block, Excerpt, ExcerptOutput, Excerpts, TextBlock, TextForm};
use karat_page::render;
use karat_page::text::visible::safe_href;
use scraper::{Html, Selector};

use crate::every_field::everything;

/// Elements that components, charts and Markdown make.
const ELEMENTS: &str = "html head body a article b bdi blockquote br button caption circle code dd del details div dl dt em figure \
    g h3 h4 header hr input ins k-table li line mark ol p path polygon pre rect s span strong summary svg table tbody td \
    text thead th title tr tspan ul";

fn corpus() -> Vec<String> {
    let file = include_str!("../../../../fixtures/hostile-texts.jsonl");
    let texts = file.lines().filter(|line| !line.is_empty());
    let mut texts: Vec<String> = texts.map(|line| serde_json::from_str(line).unwrap()).collect();
    texts.push("w".repeat(10_000));
    texts
}

/// DB-51: no hostile text becomes an element, an attribute that runs, or a link to a scheme other than the web's.
#[test]
fn hostile_texts_stay_texts() {
    let corpus = corpus();
    assert!(corpus.len() >= 60, "{} texts", corpus.len());
    let allowed: BTreeSet<&str> = ELEMENTS.split_whitespace().collect();
    let every = Selector::parse("*").unwrap();
    for text in &corpus {
        let shown: String = text.chars().take(60).collect();
        for html in everything(text) {
            let page = Html::parse_document(&format!("<!doctype html><body>{html}"));
            for element in page.select(&every) {
                let element = element.value();
                assert!(allowed.contains(element.name()), "{shown}: <{}>", element.name());
                for (name, value) in element.attrs() {
                    let runs = name.starts_with("on")
                        || matches!(name, "style" | "src" | "srcdoc" | "action" | "formaction" | "xlink:href");
                    assert!(!runs, "{shown}: {name} of <{}>", element.name());
                    assert!(name != "href" || safe_href(value).is_some(), "{shown}: {value}");
                }
            }
        }
    }
}

/// DB-51: a word of 1 MB is shown, in the places that show texts whole.
#[test]
fn word_of_a_megabyte_renders() {
    let word = "w".repeat(1_000_000);
    let text = |form| Block::Text(TextBlock { text: word.clone(), form, ..TextBlock::default() });
    let output = ExcerptOutput { system: word.clone(), text: Some(word.clone()), ..ExcerptOutput::default() };
    let excerpt = Excerpt { sample: word.clone(), outputs: vec![output], ..Excerpt::default() };
    let blocks = [
        text(TextForm::Plain),
        text(TextForm::Markdown),
        Block::Excerpts(Excerpts { items: vec![excerpt], ..Excerpts::default() }),
    ];
    for block in blocks {
        assert!(render(&block).into_string().contains(&word));
    }
}
