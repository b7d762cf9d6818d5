//! BC-05: recall of planted copies by length and share of changed words, no hit without one, boilerplate and answers.

use karat_dataset::leaks::{HeldSide, LeakField, LeakFinder, LeakKind, LeakText, Leaks};

use crate::texts::Numbers;

fn input(number: u32, text: &str) -> LeakText {
    LeakText::new(number, LeakField::Input, text)
}

/// Test inputs against other texts, with the tests held and with the others held: both find the same.
fn find(tests: &[String], others: &[String]) -> Leaks {
    let tests = || (0..).zip(tests).map(|(at, text)| input(at, text)).collect::<Vec<_>>();
    let others =
        || (0..).zip(others).map(|(at, text)| LeakText::new(at, LeakField::Text, text.clone())).collect::<Vec<_>>();
    let mut finder = LeakFinder::new(HeldSide::Tests, tests());
    others().into_iter().for_each(|text| finder.add(text));
    let held = finder.finish();
    let mut finder = LeakFinder::new(HeldSide::Others, others());
    tests().into_iter().for_each(|text| finder.add(text));
    let passing = finder.finish();
    let key = |leaks: &Leaks| leaks.hits.iter().map(|hit| (hit.row, hit.other, hit.kind)).collect::<Vec<_>>();
    assert_eq!(key(&held), key(&passing));
    held
}

/// BC-05: planted copies of 30 to 200 words with 0, 5, 15 and 30 % of the words changed, each within a longer text: recall is
/// at least 0.95 up to 5 % and 0.8 at 15 %, at each length.
#[test]
fn planted_copies_are_found() {
    const COPIES: usize = 60;
    let mut numbers = Numbers(17);
    println!("words   0 %    5 %   15 %   30 %");
    for length in [30, 50, 100, 200] {
        let mut line = format!("{length:>5}");
        for (share, wanted) in [(0.0, 1.0), (0.05, 0.95), (0.15, 0.8), (0.3, 0.0)] {
            let tests: Vec<Vec<String>> = (0..COPIES).map(|_| numbers.words(length)).collect();
            let others: Vec<String> = tests
                .iter()
                .map(|words| {
                    let (before, after) = (numbers.words(40).join(" "), numbers.words(40).join(" "));
                    format!("{before} {} {after}", numbers.edited(words, share).join(" "))
                })
                .collect();
            let tests: Vec<String> = tests.iter().map(|words| words.join(" ")).collect();
            let leaks = find(&tests, &others);
            assert!(leaks.hits.iter().all(|hit| hit.row == hit.other), "a text was found in that of another row");
            let recall = leaks.leaked_rows() as f64 / COPIES as f64;
            line.push_str(&format!("  {recall:.3}"));
            assert!(recall >= wanted, "{length} words, {share} changed: recall {recall}");
        }
        println!("{line}");
    }
}

/// BC-05: 10,000 unrelated pairs give no hit.
#[test]
fn unrelated_texts_give_no_hit() {
    let mut numbers = Numbers(23);
    let texts = |numbers: &mut Numbers| -> Vec<String> {
        (0..100)
            .map(|_| {
                let count = 3 + numbers.below(220);
                numbers.words(count).join(" ")
            })
            .collect()
    };
    let (tests, others) = (texts(&mut numbers), texts(&mut numbers));
    let leaks = find(&tests, &others);
    assert_eq!((leaks.hits.len(), leaks.rows, leaks.others), (0, 100, 100), "{:?}", leaks.hits.first());
}

/// BC-05: a phrase of more than 5 % of the rows is boilerplate: it is listed, and the leak beside it is still found.
#[test]
fn boilerplate_is_ignored_and_listed() {
    let mut numbers = Numbers(29);
    let frame = "answer the question below in one short sentence and cite the page";
    let mut tests: Vec<String> = (0..200).map(|_| format!("{frame} {}", numbers.words(30).join(" "))).collect();
    tests[7] = format!("{frame} the harbour of the old town freezes over in most winters since the war");
    let others = vec![frame.to_owned(), format!("Example: {}", tests[7])];
    let leaks = find(&tests, &others);
    let hits: Vec<(u32, u32)> = leaks.hits.iter().map(|hit| (hit.row, hit.other)).collect();
    assert_eq!(hits, [(7, 1)]);
    assert!(leaks.hits[0].passage.contains("the harbour of the old town"), "{}", leaks.hits[0].passage);
    assert_eq!((&*leaks.boilerplate[0].passage, leaks.boilerplate[0].rows), (frame, 200));
}

/// BC-05: each hit has the passage of both sides as they are written there.
#[test]
fn hits_show_both_passages() {
    let test = "Please tell me: when does the Night Train to Vienna leave the central station today?";
    let other = "logs — WHEN does the night train to Vienna,\nleave the central station? — end";
    let leaks = find(&[test.to_owned()], &[other.to_owned()]);
    let hit = &leaks.hits[0];
    assert_eq!(hit.passage, "when does the Night Train to Vienna leave the central station");
    assert_eq!(hit.other_passage, "WHEN does the night train to Vienna,\nleave the central station");
    assert_eq!((hit.kind, hit.words), (LeakKind::Passage, 11));
}

/// BC-05: equal and nearly equal texts of few words are found, and a short test within a longer text.
#[test]
fn short_texts_leak_as_a_whole() {
    let tests = ["Where is my order 77?", "How can I change my password", "what is the capital of Australia now"];
    let others = [
        "where is  my order 77?",
        "How can I change my passwort",
        "Q: What is the capital of Australia now? A: Canberra",
    ];
    let tests: Vec<String> = tests.iter().map(|text| (*text).to_owned()).collect();
    let others: Vec<String> = others.iter().map(|text| (*text).to_owned()).collect();
    let found: Vec<_> = find(&tests, &others).hits.iter().map(|hit| (hit.row, hit.other, hit.kind)).collect();
    assert_eq!(found, [(0, 0, LeakKind::Exact), (1, 1, LeakKind::Near), (2, 2, LeakKind::Passage)]);
}

/// BC-05: a prompt that states the answer of a row leaks it; the names of classes, and numbers, are not answers.
#[test]
fn an_answer_in_the_prompt_is_found() {
    let prompt = "Classify as billing information or other. The ring was forged by Wayland the Smith. 42.";
    let held = vec![LeakText::new(0, LeakField::Prompt, prompt)];
    let mut finder = LeakFinder::new(HeldSide::Others, held);
    let references = ["Wayland the Smith", "billing information", "billing information", "billing information", "42"];
    for (row, reference) in (0..).zip(references) {
        finder.add(input(row, &format!("question number {row} of the test")));
        finder.add(LeakText::new(row, LeakField::Reference, reference));
    }
    let leaks = finder.finish();
    let found: Vec<_> = leaks.hits.iter().map(|hit| (hit.row, hit.field, hit.kind)).collect();
    assert_eq!(found, [(0, LeakField::Reference, LeakKind::Answer)]);
    assert_eq!(leaks.rows, 5);
}

/// BC-05: texts without words, and sets without texts, give no hit.
#[test]
fn empty_sides_are_handled() {
    assert_eq!(find(&[], &[]).hits, []);
    assert_eq!(find(&[String::new(), " ".to_owned()], &[String::new(), "…".to_owned()]).hits, []);
}
