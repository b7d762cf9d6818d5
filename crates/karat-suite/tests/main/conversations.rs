//! `messages` of prompts: histories of rows, and parts with images and files.

use karat_suite::Overrides;
use karat_types::{Action, PromptContent, PromptMedia, PromptPart, PromptTurn, Role};

use crate::world::World;

const SUITE: &str = r#"name: chat
dataset: { source: data/rows.jsonl, id: id, input: question }
models: [gpt-5]
variants:
  once: [ { prompt: { system: Be brief., messages: [ { role: user, content: "2+2?" }, { role: assistant, content: "4" }, "{{ sample.turns }}", { role: user, content: "{{ input }}" } ] } } ]
scorers: { hit: { metric: contains, value: x } }
"#;

fn world(suite: &str, turns: &str) -> World {
    let row = format!("{{\"id\": \"7\", \"question\": \"q\", \"photo\": \"img/1.png\", \"turns\": {turns}}}\n");
    World::new(&[("karat.yaml", suite), ("data/rows.jsonl", &row)])
        .with_bytes("logo.png", PNG)
        .with_bytes("data/img/1.png", PNG)
        .with("docs/7.pdf", "%PDF")
}

/// The beginning of a PNG image.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

const TURNS: &str = r#"[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "{{ x }}"}]"#;

fn turns(suite: &str, row: &str) -> Vec<PromptTurn> {
    let plan = world(suite, row).plan(&Overrides::default());
    let Action::Prompt(prompt) = &plan.header.variants[0].steps[0].action else { panic!("it is a prompt") };
    prompt.messages.clone()
}

/// TG-01: `messages` stands beside `system`, and a lone `{{ }}` in it gives messages of the row.
#[test]
fn histories_are_spliced_into_written_turns() {
    let spliced = PromptTurn::Spliced { turns: "sample.turns".to_owned(), folder: "data".to_owned() };
    let written = [
        PromptTurn::text(Role::System, "Be brief."),
        PromptTurn::text(Role::User, "2+2?"),
        PromptTurn::text(Role::Assistant, "4"),
        spliced.clone(),
        PromptTurn::text(Role::User, "{{ input }}"),
    ];
    assert_eq!(turns(SUITE, TURNS), written);
    let start = SUITE.find("messages: [").unwrap();
    let end = SUITE.find(" } } ]\nscorers").unwrap();
    let lone = format!("{}messages: \"{{{{ sample.turns }}}}\"{}", &SUITE[..start], &SUITE[end..]);
    let asked = r#"[{"role": "user", "content": "hi"}]"#;
    assert_eq!(turns(&lone, asked), [PromptTurn::text(Role::System, "Be brief."), spliced]);
    let said = world(&lone, TURNS).problems(&Overrides::default());
    assert!(said.contains("row `7`: `turns` ends with the assistant: nothing is asked"), "{said}");
    assert!(said.contains("--> data/rows.jsonl:1:"), "{said}");
}

/// TG-01: messages of a row that cannot be used are errors of the row, before any call.
#[test]
fn broken_messages_of_rows_are_found_before_any_call() {
    for (row, wanted) in [
        (
            r#"[{"role": "user", "content": ""}, {"role": "bot"}]"#,
            "row `7`: `turns[1].role` is `bot`; roles are system, user, assistant, tool",
        ),
        (r#""[]""#, "row `7`: `turns` is a text, `messages` takes a list: `{{ sample.turns | fromjson }}`"),
        (
            r#"[{"role": "tool", "content": "a", "tool_call_id": "c9"}]"#,
            "row `7`: `turns[0]` answers call `c9`, which nothing before it made",
        ),
    ] {
        let said = world(SUITE, row).problems(&Overrides::default());
        assert!(said.contains(wanted) && said.contains("--> data/rows.jsonl:1:"), "{wanted}: {said}");
    }
    let suite = SUITE.replace("{{ sample.turns }}", "{{ sample.turns | fromjson }}");
    world(&suite, r#""[]""#).plan(&Overrides::default());
    let suite = SUITE.replacen("source: data/rows.jsonl", "source: data/rows.jsonl, broken: report", 1);
    world(&suite, "7").plan(&Overrides::default());
}

/// TG-01: wrong messages of the suite itself are errors at their place.
#[test]
fn wrong_messages_of_the_suite_are_found() {
    for (part, by, wanted) in [
        (
            "\"{{ sample.turns }}\"",
            "\"Hi {{ sample.turns }}\"",
            "`Hi {{ sample.turns }}` is a text, and a message has a role",
        ),
        (
            ", { role: user, content: \"{{ input }}\" } ]",
            ", { role: assistant, content: x } ]",
            "`messages` ends with the assistant",
        ),
        ("role: assistant", "role: bot", "`role` must be one of system, user, assistant, not `bot`"),
        ("content: \"4\"", "content: [ { text: a, image: b } ]", "`image` cannot be combined with `text`"),
        ("content: \"4\"", "content: [ { image: logos.png } ]", "no file `logos.png`"),
        ("sample.turns", "sample.turnz", "the dataset has no column `turnz`"),
    ] {
        assert!(SUITE.contains(part), "{part}");
        let said = world(&SUITE.replacen(part, by, 1), TURNS).problems(&Overrides::default());
        assert!(said.contains(wanted) && said.contains("--> karat.yaml:"), "{wanted}: {said}");
    }
}

/// TG-02: parts are words, images and files; a path that begins with a value of the row is relative to the dataset.
#[test]
fn parts_are_words_images_and_files() {
    let parts = r#"[ { text: "{{ input }}" }, { image: "{{ sample.photo }}", detail: low }, { image: logo.png }, { file: "docs/{{ sample.id }}.pdf" }, { image: "https://h/{{ sample.id }}.png" }, { image: "{{ sample.photo }}", media: image/png } ]"#;
    let suite = SUITE.replace("content: \"{{ input }}\"", &format!("content: {parts}"));
    let turns = turns(&suite, TURNS);
    let Some(PromptTurn::Written { content: PromptContent::Parts(parts), .. }) = turns.last() else {
        panic!("it has parts")
    };
    let media = |source: &str, detail: Option<&str>, media: Option<&str>| PromptMedia {
        source: source.to_owned(),
        detail: detail.map(str::to_owned),
        media: media.map(str::to_owned),
    };
    assert_eq!(
        *parts,
        [
            PromptPart::Text("{{ input }}".to_owned()),
            PromptPart::Image(media("data/{{ sample.photo }}", Some("low"), None)),
            PromptPart::Image(media("logo.png", None, None)),
            PromptPart::File(media("docs/{{ sample.id }}.pdf", None, None)),
            PromptPart::Image(media("https://h/{{ sample.id }}.png", None, None)),
            PromptPart::Image(media("{{ sample.photo }}", None, Some("image/png"))),
        ]
    );
}

/// TG-02, TG-04: what a model does not take is an error, and images by address are warned of.
#[test]
fn limits_of_models_and_addresses_are_told() {
    let with = |content: &str, model: &str| {
        let suite = SUITE.replace("content: \"{{ input }}\"", &format!("content: [ {content} ]"));
        world(&suite.replace("[gpt-5]", &format!("[\"{model}\"]")), TURNS)
    };
    let address = "{ image: \"https://h/a.png\" }";
    let said = with(address, "gemini-2.5-flash").problems(&Overrides::default());
    assert!(said.contains("gemini takes no image by address; make it a file by a column's `fetch`"), "{said}");
    let said = with("{ image: logo.png }", "cmd:claude").problems(&Overrides::default());
    assert!(said.contains("`cmd:claude` runs a program, which takes no images"), "{said}");
    let suite = with(address, "gpt-5").load(&Overrides::default()).unwrap();
    assert!(suite.warnings().plain().contains("`https://h/a.png` is known by its address only"));
    let plan = with("{ image: logo.png }", "gpt-5").plan(&Overrides::default());
    assert!(plan.notes.iter().any(|note| note.contains("gpt-5: an image is estimated at 16000 tokens")));
}

/// TG-04: the bytes of a row's image are part of the dataset's identity, so a run does not resume with another image.
#[test]
fn the_dataset_hash_holds_images() {
    let suite = SUITE.replace("content: \"{{ input }}\"", "content: [ { image: \"{{ sample.photo }}\" } ]");
    let hash = |world: &World| world.plan(&Overrides::default()).header.dataset.hash.clone();
    let base = world(&suite, TURNS);
    let changed = world(&suite, TURNS).with_bytes("data/img/1.png", &[PNG, b"pixel"].concat());
    let beside = world(&suite, TURNS).with_bytes("data/img/2.png", PNG);
    assert_ne!(hash(&changed), hash(&base));
    assert_eq!(hash(&beside), hash(&base));
}
