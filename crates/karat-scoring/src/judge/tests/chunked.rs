//! Judging in pieces.

use karat_text::fence;

use super::*;

/// A transcript of sixty sentences, each with a word of its own.
fn long_transcript() -> String {
    let sentences =
        (0..60).map(|at| format!("In the year {at} the harbour of town{at} counted {at} ships and many birds."));
    sentences.collect::<Vec<_>>().join(" ")
}

fn long_claims() -> rubrics::Claims {
    let mut claims = rubrics::Claims::new();
    claims.sample.columns["transcript"]["fullText"] = json!(long_transcript());
    claims.output = json!({"claims": [
        {"text": "The harbour of town1 counted 1 ships."},
        {"text": "The harbour of town58 counted 58 ships."},
        {"text": "Wholly different matters prevail elsewhere."},
    ]});
    claims.labels = json!([]);
    claims.model = json!({"context_window": 2800, "parameters": {"max_tokens": 500}});
    claims
}

fn sections(request: &ChatRequest, label: &str) -> String {
    let found = fence::sections(&request.messages[1].text()).into_iter().find(|(known, _)| known == label);
    found.unwrap().1
}

fn asks(machine: &mut JudgeMachine) -> Vec<ChatRequest> {
    let Turn::Ask(asks) = machine.poll(Vec::new()) else { panic!("calls are expected") };
    let requests = asks.into_iter().map(|ask| match ask.request {
        Request::Chat(request) => request,
        _ => panic!("a chat is expected"),
    });
    requests.collect()
}

fn answers(scores: &[[f64; 4]], change: impl Fn(usize, &mut Value)) -> Vec<Result<Arc<Reply>, CallError>> {
    let replies = scores.iter().enumerate().map(|(at, scores)| {
        let mut reply = rubrics::claims_reply(*scores);
        change(at, &mut reply);
        stop(reply.to_string())
    });
    replies.collect()
}

/// PE-06, CL-14, BY-14: what is too long for the judge's window is cut at the same places every time; every character
/// and every claim is judged, a claim by the piece that its words match, one that matches nowhere by all.
#[test]
fn a_long_transcript_is_judged_in_pieces() {
    let claims = long_claims();
    let requests = asks(&mut claims.machine());
    assert!(requests.len() >= 2, "{} pieces", requests.len());
    assert_eq!(requests, asks(&mut claims.machine()));
    let texts: Vec<String> = requests.iter().map(|request| sections(request, "TRANSCRIPT_TEXT")).collect();
    let whole = long_transcript();
    let mut covered = 0;
    for text in &texts {
        let start = whole.find(text.as_str()).unwrap();
        assert!(start <= covered, "a gap before {start}");
        covered = covered.max(start + text.len());
    }
    assert_eq!(covered, whole.len());
    let shown: Vec<String> = requests.iter().map(|request| sections(request, "CANDIDATE_CLAIMS")).collect();
    let last = shown.len() - 1;
    assert!(shown[0].contains("town1 ") && !shown[0].contains("town58 "));
    assert!(shown[last].contains("town58 ") && !shown[last].contains("town1 "));
    assert!(shown.iter().all(|claims| claims.contains("Wholly different")));
    assert!(requests.iter().enumerate().all(|(at, request)| text(request).contains(&format!(
        "part {} of {}",
        at + 1,
        requests.len()
    ))));
}

/// CL-14: the pieces do not depend on how much was extracted, so that all systems are judged alike; a list that needs the
/// room gets it.
#[test]
fn outputs_of_all_lengths_are_judged_by_the_same_pieces() {
    let texts = |count: usize| -> Vec<String> {
        let mut claims = long_claims();
        claims.sample.columns["transcript"]["fullText"] = json!(vec![long_transcript(); 4].join(" "));
        claims.model = json!({"context_window": 4000, "parameters": {"max_tokens": 500}});
        let claim = |at: usize| json!({"text": format!("The harbour of town{at} counted {at} ships.")});
        claims.output = json!({"claims": (0..count).map(claim).collect::<Vec<_>>()});
        asks(&mut claims.machine()).iter().map(|request| sections(request, "TRANSCRIPT_TEXT")).collect()
    };
    let few = texts(1);
    assert!(few.len() >= 2 && few == texts(45), "{} pieces", few.len());
    assert!(texts(90).len() > few.len());
}

/// CL-14: same transcript, same boundaries: neither the seed, nor the examples that it draws, nor another text of the output
/// that is shown moves them.
#[test]
fn cuts_depend_on_neither_seed_nor_output() {
    let texts = |seed: u64, note: &str| -> Vec<String> {
        let mut rubric = rubrics::claims();
        rubric["show"].as_array_mut().unwrap().push(json!({"name": "remark", "value": "{{ output.remark }}"}));
        let mut claims = long_claims();
        claims.labels = (0..9)
            .map(|at| {
                let text = "Oats and rye are two grains. ".repeat(1 + at);
                json!({"sample": "x", "output": {"claims": [{"text": text}]}, "scores": {"accuracy": at}})
            })
            .collect();
        claims.model = json!({"context_window": 4400, "parameters": {"max_tokens": 500}});
        claims.sample.columns["transcript"]["fullText"] = json!(vec![long_transcript(); 3].join(" "));
        claims.output["remark"] = json!(note);
        let judge = RubricJudge::new(&scorer(rubric, claims.labels.clone()), &model(claims.model.clone())).unwrap();
        let input = JudgeInput { sample: &claims.sample, output: &claims.output, seed };
        asks(&mut judge.machine(input)).iter().map(|request| sections(request, "TRANSCRIPT_TEXT")).collect()
    };
    let cut = texts(1, "");
    assert!(cut.len() >= 2, "{} pieces", cut.len());
    for (seed, note) in [(2, ""), (3, "Some words."), (4, "Many words. "), (99, "x")] {
        assert_eq!(texts(seed, note), cut, "seed {seed}");
    }
}

/// CL-14: a transcript that fits is judged whole.
#[test]
fn a_transcript_that_fits_is_judged_whole() {
    let mut claims = long_claims();
    claims.model = json!({"context_window": 128_000});
    assert_eq!(asks(&mut claims.machine()).len(), 1);
    claims.model = json!({});
    assert_eq!(asks(&mut claims.machine()).len(), 1);
}

/// CL-14: grades are weighted by length; missing claims are united, equal ones once; a claim is a hallucination only if
/// every judge that saw it says so.
#[test]
fn pieces_are_folded() {
    let claims = long_claims();
    let count = asks(&mut claims.machine()).len();
    let mut scores = vec![[10.0, 4.0, 4.0, 4.0]; count];
    scores[0][0] = 0.0;
    let replies = answers(&scores, |at, reply| {
        reply["missingClaims"] = json!([{"text": "Birds were many."}, {"text": format!("Only {at}.")}]);
        let own = if at == 0 { "The harbour of town1 counted 1 ships." } else { "Nothing of the sort." };
        let everywhere = "Wholly different matters prevail elsewhere.";
        reply["hallucinations"] = if at == 1 { json!([]) } else { json!([{"text": own}, {"text": everywhere}]) };
    });
    let driven = Driven::new(claims.machine(), replies);
    assert_eq!(driven.ids(), (0..count).map(|at| at.to_string()).collect::<Vec<_>>());
    assert_eq!(driven.number("accuracy"), 4.0);
    let completeness = driven.number("completeness");
    assert!(completeness > 0.0 && completeness < 10.0);
    let overall = (completeness + 12.0) / 4.0;
    assert!((driven.number("overallScore") - overall).abs() < 1e-12);
    let missing = driven.verdict.diagnostics["missingClaims"].as_array().unwrap();
    assert_eq!(missing.iter().filter(|claim| claim["text"] == "Birds were many.").count(), 1);
    assert_eq!(missing.len(), count + 1);
    assert_eq!(
        driven.verdict.diagnostics["hallucinations"],
        json!([{"text": "The harbour of town1 counted 1 ships."}])
    );
    assert!(driven.verdict.reasoning.contains(&format!("[part 2 of {count}]")));
}

/// One piece that stays invalid leaves the whole unscored, and the others are not asked again.
#[test]
fn one_invalid_piece_leaves_the_whole_unscored() {
    let claims = long_claims();
    let count = asks(&mut claims.machine()).len();
    let mut replies = answers(&vec![[5.0; 4]; count], |_, _| {});
    replies[1] = stop("no");
    replies.push(stop("still no"));
    let driven = Driven::new(claims.machine(), replies);
    assert_eq!(driven.ids().last(), Some(&"1/reask1"));
    assert_eq!(driven.asked.len(), count + 1);
    assert!(driven.verdict.scores.iter().all(|(_, score)| score.is_unscored()));
}

/// SP-03: a long list is split; positions refer to the whole list, `max` keeps the best coverage, and what only one call
/// missed is not missed.
#[test]
fn a_long_list_is_judged_in_pieces() {
    let judge = RubricJudge::new(&scorer(rubrics::spans(), json!([])), &model(json!({}))).unwrap();
    let spans: Vec<Value> = (0..5).map(|at| json!({"text": format!("span {at}"), "role": "r"})).collect();
    let output = json!({"text": "x", "spans": spans});
    let sample = sample("p", json!({}), None);
    let reply = |coverage: u32, precision: u32, missed: &[&str], category: Value| {
        let missed: Vec<Value> = missed.iter().map(|text| json!({"text": text, "severity": "minor"})).collect();
        stop(
            json!({
                "scores": {"coverage": coverage, "precision": precision}, "notes": "n", "missedElements": missed,
                "falsePositives": [{"spanIndex": 0, "text": "a", "reason": "other"}],
                "categoryScores": {"shot": {"coverage": category}},
            })
            .to_string(),
        )
    };
    let replies =
        [reply(2, 5, &["dog", "cat"], json!(4)), reply(5, 5, &["Dog"], json!(null)), reply(1, 1, &["dog"], json!(2))];
    let driven = Driven::new(judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 }), replies);
    assert_eq!(driven.number("coverage"), 5.0);
    assert!((driven.number("precision") - (5.0 * 4.0 + 1.0) / 5.0).abs() < 1e-12);
    assert_eq!(driven.verdict.diagnostics["missedElements"], json!([{"text": "dog", "severity": "minor"}]));
    let indexes: Vec<i64> = driven.verdict.diagnostics["falsePositives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["spanIndex"].as_i64().unwrap())
        .collect();
    assert_eq!(indexes, [0, 2, 4]);
    let shot = driven.verdict.diagnostics["categoryScores"]["shot"]["coverage"].as_f64().unwrap();
    assert!((shot - (4.0 * 2.0 + 2.0) / 3.0).abs() < 1e-12);
    assert_eq!(driven.verdict.diagnostics["categoryScores"]["audio"]["coverage"], json!(null));
}

/// BY-14: what does not fit and may not be cut is an error, never silently shortened.
#[test]
fn a_prompt_that_does_not_fit_is_unscored() {
    let mut rubric = rubrics::claims();
    rubric["show"][3].as_object_mut().unwrap().remove("chunk");
    rubric["show"][4].as_object_mut().unwrap().remove("route");
    let mut claims = long_claims();
    claims.model = json!({"context_window": 1800, "parameters": {"max_tokens": 500}});
    let judge = RubricJudge::new(&scorer(rubric, json!([])), &model(claims.model.clone())).unwrap();
    let input = JudgeInput { sample: &claims.sample, output: &claims.output, seed: 1 };
    let driven = Driven::new(judge.machine(input), []);
    assert_eq!(driven.verdict.error.as_ref().unwrap().code, "context");
    assert!(driven.error().contains("its context window is 1800"), "{}", driven.error());
    let mut tiny = long_claims();
    tiny.model = json!({"context_window": 900, "parameters": {"max_tokens": 500}});
    let driven = Driven::new(tiny.machine(), []);
    assert!(driven.error().contains("leaves no room"), "{}", driven.error());
}

/// PE-02, SP-03: a reply that was cut at its limit is never taken for complete: its list is halved, and each half asked
/// for.
#[test]
fn a_cut_reply_halves_its_list() {
    let mut rubric = rubrics::spans();
    rubric["show"][1]["chunk"] = json!({"items": 80});
    let judge = RubricJudge::new(&scorer(rubric, json!([])), &model(json!({}))).unwrap();
    let spans: Vec<Value> = (0..5).map(|at| json!({"text": format!("span {at}"), "role": "r"})).collect();
    let (output, sample) = (json!({"text": "x", "spans": spans}), sample("p", json!({}), None));
    let verdict = |precision: u32| {
        json!({
            "scores": {"coverage": 4, "precision": precision}, "notes": "n", "missedElements": [],
            "falsePositives": [{"spanIndex": 0, "text": "a", "reason": "other"}], "categoryScores": {},
        })
        .to_string()
    };
    let cut = |text: String| reply(text[..40].to_owned(), FinishReason::Length);
    let replies = [cut(verdict(5)), stop(verdict(5)), cut(verdict(1)), stop(verdict(2)), stop(verdict(3))];
    let driven = Driven::new(judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 }), replies);
    assert_eq!(driven.ids(), ["0", "0a", "0b", "0ba", "0bb"]);
    assert!((driven.number("precision") - (2.0 * 5.0 + 2.0 + 2.0 * 3.0) / 5.0).abs() < 1e-12);
    let found = driven.verdict.diagnostics["falsePositives"].as_array().unwrap();
    let indexes: Vec<i64> = found.iter().map(|item| item["spanIndex"].as_i64().unwrap()).collect();
    assert_eq!(indexes, [0, 2, 3]);
    assert_eq!(driven.notes(NoteKind::Truncated).len(), 1);
    assert!(driven.verdict.error.is_none());
}

/// The verdict on claims with quotes, by a judge that calls a claim invented in every piece that does not hold the words
/// that bear it out: `(text, quote, words)`.
fn borne_out(claims: &[(String, String, &str)]) -> Driven {
    let mut judged = long_claims();
    judged.output = json!({"claims": claims.iter().map(|(text, quote, _)| json!({"text": text, "quote": quote})).collect::<Vec<_>>()});
    let mut scorer_rubric = rubrics::claims();
    scorer_rubric["dimensions"][1]["chunks"] = json!("members");
    let judge = RubricJudge::new(&scorer(scorer_rubric, json!([])), &model(judged.model.clone())).unwrap();
    let machine = || judge.machine(JudgeInput { sample: &judged.sample, output: &judged.output, seed: 1 });
    let requests = asks(&mut machine());
    assert!(requests.len() >= 3, "{} pieces", requests.len());
    let replies = requests.iter().map(|request| {
        let piece = sections(request, "TRANSCRIPT_TEXT");
        let shown: Vec<Value> = serde_json::from_str(&sections(request, "CANDIDATE_CLAIMS")).unwrap();
        let words = |claim: &Value| {
            claims.iter().find(|(text, quote, _)| claim["text"] == *text && claim["quote"] == *quote).unwrap().2
        };
        let invented: Vec<Value> = shown.iter().filter(|claim| !piece.contains(words(claim))).cloned().collect();
        let accuracy = if shown.is_empty() { 10.0 } else { 10.0 - 10.0 * invented.len() as f64 / shown.len() as f64 };
        let mut reply = rubrics::claims_reply([10.0, accuracy, 10.0, 10.0]);
        reply["hallucinations"] = invented.iter().map(|claim| json!({"text": claim["text"]})).collect();
        stop(reply.to_string())
    });
    let replies: Vec<_> = replies.collect();
    Driven::new(machine(), replies)
}

fn harbour(town: usize) -> String {
    format!("The harbour of town{town} counted {town} ships and many birds.")
}

/// CL-14: a claim is itself, not its evidence: where one's quote is what another says, each is judged for itself.
#[test]
fn a_quote_of_another_claim_merges_no_claims() {
    let ring = [1, 30, 58].map(|town| (harbour(town), harbour((town + 29) % 87), "nowhere"));
    let driven = borne_out(&ring);
    assert_eq!(driven.number("accuracy"), 0.0);
    let invented = &driven.verdict.diagnostics["hallucinations"];
    let named = |town: usize| invented.as_array().unwrap().iter().filter(|it| it["text"] == harbour(town)).count();
    assert_eq!([1, 30, 58].map(named), [1, 1, 1]);
    let chain = [(harbour(1), harbour(30), "town30 "), (harbour(30), harbour(58), "town58 ")];
    let driven = borne_out(&chain);
    assert_eq!(driven.number("accuracy"), 10.0);
    assert_eq!(driven.verdict.diagnostics["hallucinations"], json!([]));
}

/// CL-14: claims that differ in a word, and those that say the same of two places, are several.
#[test]
fn claims_that_are_alike_stay_apart() {
    let of =
        |animal: &str| format!("Nobody in the whole of the old harbour of the north ever counted any {animal} there.");
    let alike = ["whales", "seals"].map(|animal| (of(animal), String::new(), "nowhere"));
    let driven = borne_out(&alike);
    assert_eq!(driven.verdict.diagnostics["hallucinations"].as_array().unwrap().len(), 2);
    let twice = [(harbour(2), harbour(2), "town2 "), (harbour(2), harbour(57), "nowhere")];
    let driven = borne_out(&twice);
    assert_eq!(driven.verdict.diagnostics["hallucinations"].as_array().unwrap().len(), 1);
}
