//! Images that were sent, on the page of their cell.

use testkit::{Behaviour, FakeProvider};

use super::{all, open};
use crate::place::{Place, suite};

/// TG-04, DB-14, DB-51: the page of a cell shows what was sent, and a file that is not an image is only saved.
#[test]
fn a_trace_shows_the_images_of_its_requests() {
    let provider = FakeProvider::start(Behaviour::ok("a cat")).unwrap();
    let place = Place::serve();
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
    std::fs::create_dir_all(place.folder.path().join("bench")).unwrap();
    std::fs::write(place.folder.path().join("bench/cat.png"), image).unwrap();
    place.write("bench/page.html", "<script>alert(1)</script>");
    place.write("bench/data.jsonl", "{\"id\":\"a\",\"question\":\"What is it?\",\"target\":\"cat\"}\n");
    let parts =
        "messages: [ { role: user, content: [ { text: \"{{ input }}\" }, { image: cat.png }, { file: page.html } ] } ]";
    let suite = suite(&provider.base_url(), "data.jsonl")
        .replace("text: \"{{ sample.question }}\"", parts)
        .replace("api_key_env: MOCK_KEY, ", "");
    place.write("bench/karat.yaml", &suite);
    place.run(&place.folder.path().join("bench/karat.yaml").display().to_string(), "r");

    let page = open(&place, "/runs/r/cell?n=0");
    let images: Vec<&str> = all(&page, "img.sent").iter().filter_map(|it| it.value().attr("src")).collect();
    assert_eq!(images.len(), 1, "{}", page.html());
    let shown = place.page(images[0]);
    assert_eq!((shown.status.as_u16(), shown.header("content-type")), (200, "image/png"));
    let files: Vec<&str> = all(&page, "a[href^='/blobs/']").iter().filter_map(|it| it.value().attr("href")).collect();
    let saved = place.page(files.iter().find(|file| **file != images[0]).unwrap());
    assert_eq!(saved.header("content-type"), "application/octet-stream");
    assert_eq!(
        (saved.header("content-disposition"), saved.header("x-content-type-options")),
        ("attachment", "nosniff")
    );
    assert_eq!(place.page("/blobs/blake3:ab").status.as_u16(), 404);
}
