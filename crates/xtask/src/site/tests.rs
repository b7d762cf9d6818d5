//! The checker on small sites, each with one fault.

use std::path::Path;

use super::links::{Checked, Site};
use super::page::{Page, Role};

const POLICY: &str =
    r#"<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'unsafe-inline'">"#;

/// A page of a site with this content. Its body begins on line 3.
fn page(body: &str) -> String {
    format!("<!DOCTYPE html>\n<head>{POLICY}</head>\n{body}")
}

/// Checks a site of these files.
fn check(files: &[(&str, &str)]) -> Checked {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("book/index.html", &page("<h1 id=start>Start</h1>"));
    write("book/guides/a.html", &page("<h2 id=\"a b\">A</h2><a name=old></a>"));
    write("book/style.css", ".a { background: url(\"images/dot.svg\") }");
    write("book/images/dot.svg", "<svg/>");
    files.iter().for_each(|(name, text)| write(name, text));
    let site = Site { folder: &folder.path().join("book"), source: &folder.path().join("docs"), base: "/karat/" };
    let mut checked = site.check().unwrap();
    for problem in &mut checked.problems {
        problem.place = problem.place.replace(&format!("{}/", folder.path().display()), "");
    }
    checked
}

/// The problems of a site whose page `x` has this body.
fn problems(body: &str) -> Vec<String> {
    check(&[("book/guides/x.html", &page(body))]).problems.iter().map(ToString::to_string).collect()
}

/// PE-36: links to pages, folders, headings, assets, addresses below the site's own path and https elsewhere are fine.
#[test]
fn a_site_whose_links_resolve_has_no_problem() {
    let body = r##"<a href="a.html">a</a> <a href="../">up</a> <a href="../index.html?x=1#start">start</a>
        <a href="a.html#a%20b">heading</a> <a href="a.html#old">name</a> <a href="#here" id="here">here</a> <a href="#filter=fails">state</a> <a href="#">top</a>
        <a href="/karat/guides/a.html">own path</a> <a href="https://example.org/x#y">elsewhere</a>
        <a href="mailto:a@example.org">mail</a> <a href="http://127.0.0.1:8787">this machine</a>
        <img src="../images/dot.svg"> <img src="data:image/png;base64,AA=="> <link rel="stylesheet" href="../style.css">
        <link rel="canonical" href="https://example.org/"> <script>const a = '<a href="nowhere.html">';</script>
        <pre>&lt;a href="nowhere.html"&gt;</pre>"##;
    assert_eq!(problems(body), Vec::<String>::new());
    let checked = check(&[("book/guides/x.html", &page(body))]);
    assert_eq!((checked.pages, checked.links), (3, 16));
}

/// PE-36: a link to a page or a heading that does not exist is named with its file and line.
#[test]
fn a_broken_link_has_a_file_and_a_line() {
    let broken = "\n\n<p><a href=\"b.html\">b</a>\n<a href=\"a.html#c\">c</a>";
    assert_eq!(
        problems(broken),
        [
            "book/guides/x.html:5: `b.html` leads nowhere: the book has no guides/b.html",
            "book/guides/x.html:6: `a.html#c` leads nowhere: guides/a.html has no id `c`",
        ]
    );
    // The Markdown is where the link is mended.
    let source = "# X\n\nSee [b](b.md) and [c](a.md#c).\n";
    let places: Vec<String> = check(&[("book/guides/x.html", &page(broken)), ("docs/guides/x.md", source)])
        .problems
        .into_iter()
        .map(|problem| problem.place)
        .collect();
    assert_eq!(places, ["docs/guides/x.md:3", "docs/guides/x.md:3"]);
}

/// PE-36: addresses that leave the site by accident, or are no address, are problems.
#[test]
fn addresses_that_lead_out_or_are_malformed_are_problems() {
    for (address, wrong) in [
        ("../../x.html", "leads out of the site"),
        ("/x.html", "leads out of the site"),
        ("../guides", "has no guides/index.html"),
        ("http://example.org/", "is not https"),
        ("https://", "not a well-formed address"),
        ("https://example", "not a well-formed address"),
        ("https://exa mple.org", "not a well-formed address"),
        ("https://example.org:99999/", "not a well-formed address"),
        ("//example.org/x", "names no scheme"),
        ("javascript:alert(1)", "has the scheme `javascript`"),
        ("%ff.html", "is not UTF-8"),
    ] {
        let found = problems(&format!("<a href=\"{address}\">x</a>"));
        assert!(found.len() == 1 && found[0].contains(wrong), "{address}: {found:?}");
    }
}

/// PE-36: nothing that a browser loads with a page comes from another site, and every page's policy says so.
#[test]
fn resources_of_other_sites_are_problems() {
    for body in [
        "<script src=https://cdn.example.org/a.js></script>",
        "<link rel=stylesheet href=https://example.org/a.css>",
        "<link rel=\"preload icon\" href=https://example.org/a.woff2>",
        "<img src=https://example.org/a.png>",
        "<img srcset='../images/dot.svg 1x, https://example.org/a.png 2x'>",
        "<iframe src=https://example.org/></iframe>",
        "<style>@import \"//example.org/a.css\";</style>",
        "<style>.a { src: url(https://example.org/a.woff2) }</style>",
        "<svg><image href='https://example.org/a.png'/></svg>",
    ] {
        let found = problems(body);
        assert!(found.len() == 1 && found[0].contains("is loaded from another site"), "{body}: {found:?}");
    }
    let css =
        check(&[("book/theme.css", "@font-face { src: url( 'https://example.org/a' ) } .b { mask: url(gone.svg) }")]);
    assert_eq!(css.problems.len(), 1);
    let gone = check(&[("book/theme.css", ".b { mask: url(gone.svg) }")]);
    assert_eq!(gone.problems[0].to_string(), "theme.css: `url(gone.svg)` leads nowhere: the book has no gone.svg");
    for policy in ["", "<meta http-equiv=Content-Security-Policy content=\"default-src https:\">"] {
        let checked = check(&[("book/x.html", policy)]);
        assert!(checked.problems[0].message.contains("policy"), "{:?}", checked.problems);
    }
}

/// The page that is shown for unknown addresses stands at any depth: its links begin at the site's own path.
#[test]
fn links_of_a_page_with_a_base_begin_there() {
    let page =
        |base: &str| page(&format!("<base href=\"{base}\"><a href=\"guides/a.html\">a</a> <a href=\"#\">top</a>"));
    assert!(check(&[("book/deep/404.html", &page("/karat/"))]).problems.is_empty());
    assert_eq!(check(&[("book/deep/404.html", &page("/elsewhere/"))]).problems.len(), 1);
}

/// A folder without a book is an error that says how to build one, not a site without problems.
#[test]
fn a_folder_without_a_book_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site { folder: folder.path(), source: Path::new("docs"), base: "/karat/" };
    assert!(site.check().unwrap_err().contains("build it with `cargo xtask site`"));
}

#[test]
fn a_reference_knows_its_line_and_its_role() {
    let page = Page::read("<title><a href=no></title>\n<p id=p>\n<a\n href='a&amp;b'>x</a><img src=i>");
    let found: Vec<(&str, Role, u64)> =
        page.references.iter().map(|it| (it.address.as_str(), it.role, it.line)).collect();
    assert_eq!(found, [("a&b", Role::Link, 4), ("i", Role::Resource, 4)]);
    assert!(page.ids.contains("p") && page.policy.is_none() && page.base.is_none());
}
