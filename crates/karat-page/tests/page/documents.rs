//! Whole pages: as one file and live.

use karat_page::component::shell::Audience;
use karat_page::{Document, assets, html, style_page};
use scraper::{Html, Selector};

fn all(page: &Html, selector: &str) -> usize {
    page.select(&Selector::parse(selector).unwrap()).count()
}

/// DB-40: a file loads nothing, contains its style and script, and its policy allows them by hash.
#[test]
fn file_loads_nothing() {
    let file = style_page().to_file();
    let page = Html::parse_document(&file);
    assert_eq!(all(&page, "[src], link, iframe, object, embed, img, base"), 0);
    assert_eq!((all(&page, "style"), all(&page, "script")), (1, 1));
    let policy = page.select(&Selector::parse("meta[http-equiv]").unwrap()).next().unwrap();
    let policy = policy.value().attr("content").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    for link in page.select(&Selector::parse("[href]").unwrap()) {
        let href = link.value().attr("href").unwrap();
        assert!(
            link.value().name() == "a" && href.starts_with(['#', '?']) || href.starts_with("https://example.com/"),
            "{href}"
        );
    }
}

/// DB-50: a page has one main heading, a skip link and its landmarks; tables have captions or names, and heads a scope.
#[test]
fn page_has_landmarks() {
    let page = Html::parse_document(&style_page().to_file());
    assert_eq!((all(&page, "h1"), all(&page, "main"), all(&page, "a.skip[href='#main']")), (1, 1, 1));
    assert_eq!((all(&page, "header.bar"), all(&page, "footer"), all(&page, "html[lang]")), (1, 1, 1));
    assert_eq!(all(&page, "th:not([scope])"), 0);
    assert_eq!(all(&page, "[role=img]:not([aria-label]), [role=img][aria-label='']"), 0);
    let ids: Vec<_> = page.select(&Selector::parse("[id]").unwrap()).filter_map(|it| it.value().id()).collect();
    let unique: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(ids.len(), unique.len());
}

/// DB-51: no page has a `style` or `on…` attribute.
#[test]
fn attributes_hold_no_code() {
    let page = Html::parse_document(&style_page().to_file());
    for element in page.select(&Selector::parse("*").unwrap()) {
        let code = element.value().attrs().find(|(name, _)| *name == "style" || name.starts_with("on"));
        assert!(code.is_none(), "{:?}", element.value());
    }
}

/// DB-02: a component renders the same bytes for a file and for a live page, and the same bytes each time.
#[test]
fn body_is_the_same_in_both_shells() {
    let page = style_page();
    let body = page.body.clone().into_string();
    let (file, live) = (page.to_file(), page.to_live("/assets/"));
    assert!(file.contains(&body) && live.contains(&body));
    assert_eq!((file, body), (style_page().to_file(), style_page().body.into_string()));
    let assets = assets::live();
    assert!(live.contains(&format!("href=\"/assets/{}\"", assets.style.name)));
    assert!(live.contains(&format!("src=\"/assets/{}\"", assets.script.name)));
    assert!(!live.contains("<style"));
}

/// DB-51: the shell itself escapes what it is given.
#[test]
fn titles_are_escaped() {
    let page = Document { lead: Some("</p><script>".to_owned()), ..Document::new("page-x", "<b>\u{202e}", html! {}) };
    let live = page.to_live("/");
    assert!(live.contains("<title>&lt;b&gt;⟨U+202E⟩ · karat</title>") && !live.contains("</p><script>"));
}

/// F66: every page of the dashboard leads to the others from its bar, once and by one name; a file and the pages of people who
/// label do not.
#[test]
fn the_bar_leads_to_every_page() {
    let page = |audience| Document { audience, ..Document::new("page-tasks", "Annotation tasks", html! {}) };
    let links = |html: &str| -> Vec<String> {
        let page = Html::parse_document(html);
        let links = Selector::parse("header nav.pages a").unwrap();
        page.select(&links).map(|it| it.text().collect::<String>()).collect()
    };
    let live = page(Audience::Readers).to_live("/");
    assert_eq!(links(&live), ["Runs", "Compare", "Annotation tasks", "Service"]);
    let shown = Html::parse_document(&live);
    assert_eq!((all(&shown, "footer a"), all(&shown, "nav.pages a[aria-current=page]")), (0, 1));
    assert!(
        links(&page(Audience::Labellers).to_live("/")).is_empty()
            && links(&page(Audience::Readers).to_file()).is_empty()
    );
}

/// DB-03: no source of this crate names a preset: pages follow from data.
#[test]
fn no_preset_is_named() {
    fn visit(folder: &std::path::Path, each: &mut dyn FnMut(&std::path::Path, &str)) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, each);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                each(&path, &text);
            }
        }
    }
    let mut files = 0;
    visit(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |path, text| {
        files += 1;
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        let named = words.find(|word| ["claims", "briefing", "spans", "rag"].contains(&word.to_lowercase().as_str()));
        assert_eq!(named, None, "{}", path.display());
    });
    assert!(files > 40);
}
