//! The pages of stored runs, read as a browser reads them.

mod cells;
mod compare;
mod hostile;
mod images;
mod run;
mod runs;
mod sample;
mod states;

use scraper::{ElementRef, Html, Selector};

use crate::place::{Answer, Place};

/// The answer once it waits for nothing: on a busy machine, a page says that it is still computing.
pub(crate) fn settled(place: &Place, path: &str) -> Answer {
    for _ in 0..600 {
        let answer = place.page(path);
        if !["building-state", "data-testid=\"waiting\""].iter().any(|state| answer.text.contains(state)) {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{path} is not ready after 30 seconds")
}

/// A page that was answered with success.
pub(crate) fn open(place: &Place, path: &str) -> Html {
    let answer = settled(place, path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    parsed(&answer)
}

pub(crate) fn parsed(answer: &Answer) -> Html {
    Html::parse_document(&answer.text)
}

/// The elements with a name for tests.
pub(crate) fn named<'a>(page: &'a Html, name: &str) -> Vec<ElementRef<'a>> {
    all(page, &format!("[data-testid='{name}']"))
}

pub(crate) fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

/// The text of an element.
pub(crate) fn text(element: ElementRef<'_>) -> String {
    element.text().collect()
}

/// The texts of all elements with a name.
pub(crate) fn texts(page: &Html, name: &str) -> Vec<String> {
    named(page, name).into_iter().map(text).collect()
}

/// The address of the first link with a name.
pub(crate) fn href(page: &Html, name: &str) -> Option<String> {
    named(page, name).first().and_then(|it| it.attr("href")).map(str::to_owned)
}
