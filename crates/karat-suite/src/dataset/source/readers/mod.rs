//! Readers: what the content of one file becomes as the columns of a row. A new one is a file here and a line in
//! [`Reader::NAMES`].
//!
//! Documents (text, Markdown, HTML, Adaptive Cards) become blocks first; [`columns`] makes the same columns of all of
//! them: `title`, `body_text`, `headlines`, `source_urls`, `headings`, `empty_headings`.

mod adaptive_card;
mod html;
mod json;
mod links;
mod markdown;

use karat_text::path::Path;
use serde_json::{Map, Value, json};

/// The reader of a file's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Json,
    Text,
    Markdown,
    Html,
    AdaptiveCard,
}

/// Rules for the parts of a document: headlines, sources, columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReaderRules {
    /// Prefixes of lines that are headlines; the headline keeps its prefix.
    pub bullets: Vec<String>,
    /// Hosts of the publication itself: links to them, and below them, are not sources.
    pub own_hosts: Vec<String>,
    /// Columns by path into the document, for `json`; without any, its members.
    pub columns: Vec<(String, Path)>,
}

/// A block of a document.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Block {
    pub text: String,
    /// The level of a heading, from 1 at the top; `None` for other text.
    pub heading: Option<u8>,
    /// True if it is a block of code, or of the site around the document: its text is neither a headline nor a heading.
    pub is_apart: bool,
}

/// A document, whatever it was written in.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Document {
    /// The title of the document; else its first block.
    pub title: Option<String>,
    pub blocks: Vec<Block>,
    /// Every link: in the text, on words of it, beside it. Text in code is an example and not a link; neither is the
    /// address of an image, nor anything in the site around the document.
    pub links: Vec<String>,
}

impl Reader {
    /// The readers by name.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("json", Self::Json),
        ("text", Self::Text),
        ("markdown", Self::Markdown),
        ("html", Self::Html),
        ("adaptive_card", Self::AdaptiveCard),
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, reader)| *reader)
    }

    /// Returns the columns of a text, or a problem with its place.
    pub fn read(self, text: &str, rules: &ReaderRules) -> Result<Map<String, Value>, ReadError> {
        let text = text.trim_start_matches('\u{feff}');
        let document = match self {
            Self::Json => return json::columns(text, rules),
            Self::Text => plain(text),
            Self::Markdown => markdown::document(text),
            Self::Html => html::document(text),
            Self::AdaptiveCard => adaptive_card::document(text)?,
        };
        if document.blocks.is_empty() {
            return Err(ReadError::Form("the document has no text, so there is nothing to judge".to_owned()));
        }
        Ok(columns(&document, rules))
    }
}

/// A file that is not what its reader reads.
#[derive(Debug)]
pub(crate) enum ReadError {
    Syntax(serde_json::Error),
    Form(String),
}

fn plain(text: &str) -> Document {
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    Document {
        title: text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned),
        blocks: blocks.map(|block| Block { text: block.to_owned(), ..Block::default() }).collect(),
        links: links::inline(text).map(str::to_owned).collect(),
    }
}

/// The columns that every document has.
fn columns(document: &Document, rules: &ReaderRules) -> Map<String, Value> {
    let texts: Vec<&str> = document.blocks.iter().map(|block| block.text.as_str()).collect();
    let body = texts.join("\n");
    let first = texts.first().map(|text| text.trim().to_owned());
    let title = document.title.clone().or(first).unwrap_or_default();
    let prose = document.blocks.iter().filter(|block| !block.is_apart).map(|block| block.text.as_str());
    let is_headline = |line: &&str| rules.bullets.iter().any(|bullet| line.starts_with(bullet.as_str()));
    let headlines: Vec<&str> = prose.flat_map(str::lines).filter(is_headline).collect();
    let (headings, empty) = headings(document, &title);
    let sources = links::sources(document.links.iter().map(String::as_str), &rules.own_hosts);
    let members = [
        ("title", json!(title)),
        ("headlines", json!(headlines)),
        ("source_urls", json!(sources)),
        ("headings", json!(headings)),
        ("empty_headings", json!(empty)),
        ("body_text", json!(body)),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The headings, and those that have no other text before the next of their own level or a higher one; the title at the top is
/// none of them.
fn headings<'a>(document: &'a Document, title: &str) -> (Vec<&'a str>, Vec<&'a str>) {
    let is_title = |at: usize, block: &Block| at == 0 && block.text.trim() == title;
    let blocks: Vec<(usize, &Block)> =
        document.blocks.iter().enumerate().filter(|(_, block)| !block.text.trim().is_empty()).collect();
    let (mut all, mut empty) = (Vec::new(), Vec::new());
    for (position, (at, block)) in blocks.iter().enumerate() {
        let Some(level) = block.heading.filter(|_| !block.is_apart && !is_title(*at, block)) else { continue };
        all.push(block.text.trim());
        let mut below = blocks[position + 1..].iter().take_while(|(_, next)| next.heading.is_none_or(|it| it > level));
        if below.all(|(_, next)| next.heading.is_some()) {
            empty.push(block.text.trim());
        }
    }
    (all, empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn rules() -> ReaderRules {
        let bullets = vec!["- ".to_owned()];
        ReaderRules { bullets, own_hosts: vec!["news.example".to_owned()], columns: Vec::new() }
    }

    fn read(reader: Reader, text: &str) -> Value {
        Value::Object(reader.read(text, &rules()).unwrap())
    }

    /// BR-01, BR-04: blocks depth first, headlines by line, links in text and actions, headings without a body.
    #[test]
    fn an_adaptive_card_becomes_columns() {
        let card = r#"{"type": "AdaptiveCard", "body": [
            {"type": "TextBlock", "size": "Large", "weight": "Bolder", "text": "Morning"},
            {"type": "Container", "items": [
                {"type": "TextBlock", "weight": "bolder", "text": "Markets"},
                {"type": "TextBlock", "text": "- Oil rises 3% (https://a.example/x?y=1).\n- Gold falls\n• not one"},
                {"type": "TextBlock", "weight": "Bolder", "text": "Weather"}
            ]},
            {"type": "TextBlock", "text": 7},
            {"type": "ColumnSet", "columns": [{"items": [{"type": "TextBlock", "size": "Large", "text": "Sport"}]}]},
            {"type": "TextBlock", "text": "One game."}],
            "actions": [{"type": "Action.OpenUrl", "url": "https://b.example/"}, {"type": "Action.OpenUrl", "url": ""},
                {"type": "Action.OpenUrl", "url": "mailto:a@b.example"}, {"type": "Action.OpenUrl", "url": "/relative"},
                {"type": "Action.OpenUrl", "url": "javascript:void(0)"}, {"type": "Action.OpenUrl", "url": "HTTPS://NEWS.EXAMPLE./x"}, {"type": "Action.OpenUrl", "url": "https://www.news.example/today"}]}"#;
        let row = read(Reader::AdaptiveCard, card);
        assert_eq!(row["title"], "Morning");
        assert_eq!(row["headlines"], json!(["- Oil rises 3% (https://a.example/x?y=1).", "- Gold falls"]));
        assert_eq!(row["source_urls"], json!(["https://a.example/x?y=1", "https://b.example/"]));
        assert_eq!(row["headings"], json!(["Markets", "Weather", "Sport"]));
        assert_eq!(row["empty_headings"], json!(["Weather"]));
        assert!(row["body_text"].as_str().unwrap().starts_with("Morning\nMarkets\n- Oil"));
        assert!(Reader::AdaptiveCard.read("[1]", &rules()).is_err());
    }

    /// BR-19: the same columns from Markdown, HTML and plain text.
    #[test]
    fn other_documents_become_the_same_columns() {
        let markdown =
            "---\ndate: 2026-01-01\n---\n# News\n\n## Local\n- A [bridge](https://c.example/b) opens\n\n## Sport\n";
        let html = "<html><head><title>News</title><style>p{}</style></head><body><h1>News</h1><h2>Local</h2><ul><li>A <a href=\"https://c.example/b\">bridge</a> opens</li></ul><h2>Sport &amp; more</h2></body></html>";
        for (row, last) in [(read(Reader::Markdown, markdown), "Sport"), (read(Reader::Html, html), "Sport & more")] {
            assert_eq!(row["title"], "News", "{row}");
            assert_eq!(row["source_urls"], json!(["https://c.example/b"]), "{row}");
            assert_eq!(row["empty_headings"], json!([last]), "{row}");
            assert_eq!(row["headlines"].as_array().unwrap().len(), 1, "{row}");
        }
        let text = read(Reader::Text, "News\n\n- one\n- two https://d.example.\n");
        assert_eq!((&text["title"], &text["source_urls"]), (&json!("News"), &json!(["https://d.example"])));
        assert_eq!(text["headlines"], json!(["- one", "- two https://d.example."]));
    }

    /// BR-10, BR-19: a document without a word is broken, whatever it is written in.
    #[test]
    fn a_document_without_a_word_is_broken() {
        let rules = ReaderRules { columns: vec![("body_text".to_owned(), "$.text".parse().unwrap())], ..rules() };
        for text in [r#"{"text": ""}"#, r#"{"text": " \n\t"}"#, r#"{"text": ["", " "]}"#, r#"{"text": 7}"#, "{}"] {
            let refused = Reader::Json.read(text, &rules);
            let said =
                matches!(&refused, Err(ReadError::Form(form)) if form.contains("`body_text` ($.text) is not text"));
            assert!(said, "{text}: {refused:?}");
        }
        assert!(Reader::Json.read(r#"{"text": ["", "x"]}"#, &rules).is_ok());
        assert!(Reader::Markdown.read(" \n", &rules).is_err() && Reader::Text.read("\n\n", &rules).is_err());
    }

    /// BR-01, BR-04: code is neither source nor headline; the address of an image is not a source.
    #[test]
    fn code_and_images_hold_no_source() {
        let markdown = [
            "# News\n\nSee https://a.example.\n\n````sh\n- curl https://code.example\n```\n# no heading\n````\n\n- one\n\n~~~\nhttps://open.example",
            "# News\n\nRun `curl https://code.example` of https://a.example, ``x ` https://b.example``\n\n    - curl https://indented.example\n\n- one",
            "# News\n\n![chart](https://images.example/a.png) [![b](https://images.example/b.png)](https://a.example)\n\n- one\n\n<code>curl https://code.example</code>",
            "# News\n\nA [study][1], <img src=\"https://images.example/c.png\"><!-- https://comment.example -->\n\n- one\n\n<pre>\n- curl https://code.example\n</pre>\n\n[1]: https://a.example",
        ];
        let html = [
            "<h1>News</h1><p>See https://a.example.</p><pre><code>- curl https://code.example</code></pre><ul><li>one</li></ul>",
            "<h1>News</h1><p>Run <code>curl <b>https://code.example</b></code> of <a href='https://a.example'>https://shown.example</a></p><ul><li>one</ul>",
            "<h1>News</h1><code><a href=\"https://code.example\">curl</a></code><a data-href=https://no.example title='a > b' href = \"https://a.example\"><img src=https://images.example/a.png></a><ul><li>one</li></ul>",
        ];
        let of = |reader: Reader| move |text: &str| read(reader, text);
        for row in markdown.map(of(Reader::Markdown)).iter().chain(&html.map(of(Reader::Html))) {
            assert_eq!(row["source_urls"], json!(["https://a.example"]), "{row}");
            assert_eq!(row["headlines"], json!(["- one"]), "{row}");
            assert_eq!((&row["title"], &row["headings"]), (&json!("News"), &json!([])), "{row}");
        }
        assert!(
            read(Reader::Markdown, markdown[0])["body_text"].as_str().unwrap().contains("curl"),
            "the judge sees it"
        );
    }

    /// BR-04, BR-19: the site around a document is the same on every page, and no source; what an article itself has at
    /// its foot is.
    #[test]
    fn the_site_around_a_document_is_no_source() {
        let page = "<title>News</title><header><a href='https://site.example/app'>App</a><h1>Site</h1></header><nav><ul><li><a href=https://social.example/u>Us</a></ul></nav>\
            <main><article><h2>Local</h2><p>A <a href='https://a.example/x'>bridge</a><ul><li>one</ul><nav><a href=https://share.example>Share</a></nav>\
            <footer>Sources: https://b.example/y</footer></article></main><aside>https://ads.example</aside><footer><h3>Follow us</h3><ul><li>https://social.example</ul></footer>";
        let row = read(Reader::Html, page);
        assert_eq!(row["source_urls"], json!(["https://a.example/x", "https://b.example/y"]));
        assert_eq!((&row["headlines"], &row["headings"]), (&json!(["- one"]), &json!(["Local"])));
        assert!(row["body_text"].as_str().unwrap().contains("Follow us"), "the judge sees it");
    }

    /// BR-01: parentheses that belong to a link stay, one that belongs to the sentence does not.
    #[test]
    fn links_keep_their_own_parentheses() {
        let text = "- one (https://a.example/x). Two: https://b.example/C_(lang)#a, [three](https://c.example/(d)), (see https://d.example/e_(f))";
        let links = json!([
            "https://a.example/x",
            "https://b.example/C_(lang)#a",
            "https://c.example/(d)",
            "https://d.example/e_(f)"
        ]);
        for reader in [Reader::Text, Reader::Markdown, Reader::Html] {
            assert_eq!(read(reader, text)["source_urls"], links, "{reader:?}");
        }
    }

    /// BR-01: links with capital or missing schemes are the same sources.
    #[test]
    fn a_link_is_a_source_however_its_scheme_is_written() {
        let card = r#"{"body": [{"type": "TextBlock", "text": "News of HTTP://b.example/x and ftp://c.example, //no.example"}],
            "actions": [{"type": "Action.OpenUrl", "url": "//a.example/y"}, {"type": "Action.OpenUrl", "url": "Https://a.example/y"},
                {"type": "Action.OpenUrl", "url": "//news.example/y"}, {"type": "Action.OpenUrl", "url": "///y"}]}"#;
        let html = "<p>News of HTTP://b.example/x <a href='//a.example/y'>y</a> <a href='//news.example/y'>y</a> // no";
        let markdown = "News of <HTTP://b.example/x> and [y](//a.example/y), [y](//news.example/y)";
        for row in [read(Reader::AdaptiveCard, card), read(Reader::Html, html), read(Reader::Markdown, markdown)] {
            assert_eq!(row["source_urls"], json!(["http://b.example/x", "https://a.example/y"]), "{row}");
        }
    }

    /// BR-19: a blog as its generators have it: titles in front matter, underlined headings, other line ends, entities.
    #[test]
    fn a_blog_is_read_as_its_generator_reads_it() {
        let yaml = "\u{feff}---\r\ntitle: \"Überblick: März\"\r\n---\r\nLokales\r\n-------\r\n- eins\r\n\r\n### Wetter\r\n\r\n---\r\n";
        let toml = "+++\ntitle = 'Überblick: März'\n+++\n## Lokales\n\n- eins\n\n## Wetter\n<!-- folgt -->\n";
        let html = "<title>&Uuml;berblick: M&auml;rz</title><h2>Lokales</h2><p>1 < 2<ul><li>eins</ul><h2>Wetter</h2><SCRIPT>x</SCRIPT>";
        for row in [read(Reader::Markdown, yaml), read(Reader::Markdown, toml), read(Reader::Html, html)] {
            assert_eq!((&row["title"], &row["headlines"]), (&json!("Überblick: März"), &json!(["- eins"])), "{row}");
            assert_eq!(
                (&row["headings"], &row["empty_headings"]),
                (&json!(["Lokales", "Wetter"]), &json!(["Wetter"])),
                "{row}"
            );
        }
    }

    /// F26: a heading above a lower heading with text has a body; one above an empty lower heading has none.
    #[test]
    fn nested_headings_have_the_text_below_them() {
        let html = "<h1>News</h1><h2>Today</h2><h3>Markets</h3><p>Up.</p><h2>Sport</h2><h3>Chess</h3><h2>Weather</h2><p>Sun.</p>";
        let markdown = "# News\n## Today\n### Markets\nUp.\n## Sport\n### Chess\n## Weather\nSun.\n";
        let block = |text: &str, size: &str| json!({"type": "TextBlock", "text": text, "size": size});
        let card = json!({"type": "AdaptiveCard", "body": [
            block("News", "extraLarge"), block("Today", "extraLarge"), block("Markets", "large"), block("Up.", "default"),
            block("Sport", "extraLarge"), block("Chess", "large"), block("Weather", "extraLarge"), block("Sun.", "default"),
        ]});
        for (reader, text) in [
            (Reader::Html, html.to_owned()),
            (Reader::Markdown, markdown.to_owned()),
            (Reader::AdaptiveCard, card.to_string()),
        ] {
            let row = read(reader, &text);
            assert_eq!(row["headings"], json!(["Today", "Markets", "Sport", "Chess", "Weather"]), "{row}");
            assert_eq!(row["empty_headings"], json!(["Sport", "Chess"]), "{row}");
        }
        let last = read(Reader::Html, "<h2>A</h2><p>x</p><h4>B</h4><h3>C</h3>");
        assert_eq!(last["empty_headings"], json!(["B", "C"]));
    }

    /// BR-19: a file without a word is not a document.
    #[test]
    fn an_empty_file_is_no_document() {
        for (reader, text) in [
            (Reader::Text, " \n\n"),
            (Reader::Markdown, "---\ntitle: x\n---\n"),
            (Reader::Html, "<p><img src=\"https://a.example\"></p>"),
        ] {
            assert!(matches!(reader.read(text, &rules()), Err(ReadError::Form(_))), "{text}");
        }
    }

    /// BR-01, BR-19: JSON gives its members or chosen parts, and a text among them makes it a document.
    #[test]
    fn json_gives_its_members_or_chosen_parts() {
        assert_eq!(read(Reader::Json, r#"{"name": "s", "reference": {"title": "t"}}"#)["reference"]["title"], "t");
        let columns = vec![("title".to_owned(), Path::parse("$.head").unwrap())];
        let row = Reader::Json.read(r#"{"head": "h", "text": "b"}"#, &ReaderRules { columns, ..rules() }).unwrap();
        assert_eq!(Value::Object(row), json!({"title": "h"}));
        let paths = [("body_text", "$.parts[*]"), ("source_urls", "$.links")];
        let columns = paths.map(|(name, path)| (name.to_owned(), Path::parse(path).unwrap())).to_vec();
        let rules = || ReaderRules { columns: columns.clone(), ..rules() };
        let text = r##"{"parts": ["# News\n\n## Empty", "- one"], "links": ["https://b.example", "https://news.example/x", "https://a.example"]}"##;
        let row = Value::Object(Reader::Json.read(text, &rules()).unwrap());
        assert_eq!((&row["title"], &row["headlines"]), (&json!("News"), &json!(["- one"])));
        assert_eq!(row["source_urls"], json!(["https://a.example", "https://b.example"]));
        assert_eq!((&row["headings"], &row["empty_headings"]), (&json!(["Empty"]), &json!([])));
        assert_eq!(row["body_text"], "# News\n\n## Empty\n- one");
        assert!(matches!(Reader::Json.read("{}", &rules()), Err(ReadError::Form(_))));
        assert!(matches!(Reader::Json.read("[1]", &rules()), Err(ReadError::Form(_))));
        assert!(matches!(Reader::Json.read("{", &rules()), Err(ReadError::Syntax(_))));
    }
}
