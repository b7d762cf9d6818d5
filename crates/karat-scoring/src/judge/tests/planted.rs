//! A transcript of 200,000 tokens with claims planted at 20 places, judged in pieces by a judge that misses nothing (BY-14).

use std::collections::BTreeMap;

use karat_text::chunking::chunk;
use karat_text::fence;

use super::*;

/// Tokens of a piece.
const PIECE: u32 = 11_000;
const PLACES: usize = 20;

fn planted(at: usize) -> String {
    let place = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "juniper"];
    let (one, two) = (place[at % 10], place[(at / 10 + at) % 10]);
    format!(
        "Planted {at} says that the {one} station near the {two} mill measured {at}7 millimetres of rain in one night."
    )
}

/// Talk without a sentence's end, so that pieces end anywhere, with a planted claim at each of 20 places: every other one
/// lies across the end of a piece, the rest in the middle of one.
fn transcript(overlap: u32) -> String {
    const WORDS: [&str; 12] =
        ["well", "and", "then", "you", "know", "the", "people", "there", "walked", "along", "some", "road"];
    let mut text: String = (0..205_000).map(|at| format!("{} ", WORDS[(at * at + at / 7) % 12])).collect();
    let mut from = 0;
    let ahead = |text: &str, from: usize| {
        let pieces = chunk::by_tokens(&text[from..text.len().min(from + 140_000)], PIECE, overlap, None).pieces;
        (from + pieces[0].end, from + pieces[1].start, from + pieces[1].end)
    };
    for at in 0..PLACES {
        let (end, _, next) = ahead(&text, from);
        let wanted = if at % 2 == 0 { end / 2 + next / 2 } else { end };
        let claim = format!("{} ", planted(at));
        let start = text[..wanted - claim.len() / 2].rfind(' ').unwrap() + 1;
        let stop = start + claim.len() + text[start + claim.len()..].find(' ').unwrap() + 1;
        text.replace_range(start..stop, &claim);
        if at % 2 == 1 {
            from = ahead(&text, from).1;
        }
    }
    text
}

/// The reply of a judge that misses nothing in one piece: the planted claims that it sees whole are missing where they are not
/// among the candidates; candidates that it does not see are invented.
fn perfect(request: &ChatRequest) -> String {
    let shown: BTreeMap<String, String> = fence::sections(&request.messages[1].text()).into_iter().collect();
    let Some(text) = shown.get("TRANSCRIPT_TEXT") else {
        return json!({"atomicity": 10, "reasoning": "Each is one assertion.", "redundancies": []}).to_string();
    };
    let listed: Vec<Value> = serde_json::from_str(&shown["CANDIDATE_CLAIMS"]).unwrap();
    let listed: Vec<&str> = listed.iter().map(|claim| claim["text"].as_str().unwrap()).collect();
    let said: Vec<String> = (0..PLACES).map(planted).filter(|claim| text.contains(claim.as_str())).collect();
    let missing: Vec<&String> = said.iter().filter(|claim| !listed.contains(&claim.as_str())).collect();
    let invented: Vec<&&str> = listed.iter().filter(|claim| !said.iter().any(|it| it == *claim)).collect();
    let share = |bad: usize, of: usize| if of == 0 { 10.0 } else { 10.0 * (1.0 - bad as f64 / of as f64) };
    json!({
        "completeness": share(missing.len(), said.len()), "accuracy": share(invented.len(), listed.len()),
        "topicCoverage": 10, "reasoning": "Compared sentence by sentence.",
        "missingClaims": missing.iter().map(|text| json!({"text": text})).collect::<Vec<_>>(),
        "hallucinations": invented.iter().map(|text| json!({"text": text})).collect::<Vec<_>>(),
        "gapAreas": [],
    })
    .to_string()
}

/// The claims rubric as the preset has it: accuracy by claims, atomicity once.
fn rubric(overlap: u32) -> Value {
    let mut rubric = rubrics::claims();
    rubric["show"][3]["chunk"] = json!({"tokens": PIECE, "overlap": overlap});
    rubric["dimensions"][1]["chunks"] = json!("members");
    rubric["dimensions"][3]["chunks"] = json!("once");
    rubric["diagnostics"][2]["chunks"] = json!("once");
    rubric
}

/// The verdict on a claim set, and how many calls it took.
fn judged(text: &str, claims: &[String], overlap: u32) -> (Verdict, usize) {
    judged_list(text, claims.iter().map(|text| json!({"text": text})).collect(), overlap)
}

fn judged_list(text: &str, claims: Value, overlap: u32) -> (Verdict, usize) {
    let judge =
        RubricJudge::new(&scorer(rubric(overlap), json!([])), &model(json!({"context_window": 400_000}))).unwrap();
    let columns = json!({
        "title": "A long talk", "channelName": "c", "description": "", "transcript": {"fullText": text},
    });
    let sample = sample("long", columns, None);
    let output = json!({"claims": claims});
    let mut machine = judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 });
    let Turn::Ask(asks) = machine.poll(Vec::new()) else { panic!("calls are expected") };
    let calls = asks.len();
    let answers = asks.into_iter().map(|ask| {
        let Request::Chat(request) = &ask.request else { panic!("a judge asks for chat only") };
        Answer { outcome: stop(perfect(request)), id: ask.id }
    });
    let Turn::Done(verdict) = machine.poll(answers.collect()) else { panic!("the judge is never asked again") };
    (verdict, calls)
}

fn texts(verdict: &Verdict, list: &str) -> Vec<String> {
    let items = verdict.diagnostics[list].as_array().unwrap();
    items.iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
}

/// By place, whether a claim that is absent is found missing once, and one that is there is neither missing nor invented.
fn found(text: &str, overlap: u32) -> Vec<bool> {
    let claims: Vec<String> = (0..PLACES).map(planted).collect();
    let halves = [0, 1].map(|half| (0..PLACES).filter(|at| at / 2 % 2 == half).collect::<Vec<usize>>());
    let mut found = vec![false; PLACES];
    for given in halves {
        let listed: Vec<String> = given.iter().map(|at| claims[*at].clone()).collect();
        let (verdict, _) = judged(text, &listed, overlap);
        let (missing, invented) = (texts(&verdict, "missingClaims"), texts(&verdict, "hallucinations"));
        for (at, claim) in claims.iter().enumerate() {
            let named = missing.iter().filter(|text| *text == claim).count();
            if given.contains(&at) {
                found[at] |= invented.contains(claim) || named > 0;
            } else {
                found[at] |= named != 1;
            }
        }
    }
    found.into_iter().map(|wrong| !wrong).collect()
}

/// BY-14, CL-14: claims planted at 20 places of 200,000 tokens are found at every one of them; without the overlap, those
/// that lie across the end of a piece are not, so that this test can fail.
#[test]
fn planted_claims_are_found_at_every_place() {
    let text = transcript(200);
    let tokens = karat_text::chunking::tokens::Tokenizer::plan().count(&text);
    assert!(tokens > 200_000, "{tokens} tokens");
    assert_eq!(found(&text, 200), vec![true; PLACES]);
    let across: Vec<bool> = (0..PLACES).map(|at| at % 2 == 0).collect();
    assert_eq!(found(&transcript(0), 0), across);
}

/// BY-14: every byte and every claim is accounted for, once; what is judged once is judged on the whole list.
#[test]
fn the_account_of_pieces_adds_up() {
    let text = transcript(200);
    let mut claims: Vec<String> = (0..PLACES).map(planted).collect();
    claims.push("Nobody said that volcanoes erupted beneath glaciers.".to_owned());
    let (verdict, calls) = judged(&text, &claims, 200);
    let account = &verdict.diagnostics["chunks"];
    assert_eq!([&account["length"], &account["judged"]], [&json!(text.len()), &json!(text.len())]);
    assert_eq!([&account["members"], &account["placed"]], [&json!(21), &json!(20)]);
    let parts = account["parts"].as_array().unwrap();
    assert_eq!(parts.len() + 1, calls);
    let members: f64 = parts.iter().map(|part| part["members"].as_f64().unwrap()).sum();
    assert!((members - 21.0).abs() < 0.05, "{members} members");
    assert_eq!(texts(&verdict, "hallucinations"), ["Nobody said that volcanoes erupted beneath glaciers."]);
    let score = |name: &str| verdict.scores.iter().find(|(known, _)| known == name).unwrap().1.number().unwrap();
    assert_eq!((score("completeness"), score("atomicity")), (10.0, 10.0));
    assert!((score("accuracy") - 10.0 * 20.0 / 21.0).abs() < 1e-9, "{}", score("accuracy"));
}

/// CL-14: a claim with the quote of another place, or with one that stands nowhere, is judged where it was said, and costs
/// nothing in the pieces that are shown it in vain.
#[test]
fn claims_with_wrong_evidence_are_not_invented() {
    let quotes =
        |at: usize| if at.is_multiple_of(3) { planted((at + 7) % PLACES) } else { "never said by anyone".to_owned() };
    let claims = (0..PLACES).map(|at| json!({"text": planted(at), "quote": quotes(at)})).collect();
    let (verdict, _) = judged_list(&transcript(200), claims, 200);
    assert!(texts(&verdict, "hallucinations").is_empty() && texts(&verdict, "missingClaims").is_empty());
    let accuracy = verdict.scores.iter().find(|(name, _)| name == "accuracy").unwrap().1.number();
    assert_eq!(accuracy, Some(10.0));
}
