//! Tests of reading replies.

use karat_text::ladder::Rung;

use super::*;

fn claims(answers: &[&str]) -> Driven {
    Driven::new(rubrics::Claims::new().machine(), answers.iter().map(|text| stop(*text)))
}

fn changed(change: impl Fn(&mut Value)) -> String {
    let mut reply = rubrics::claims_reply([7.0, 8.0, 6.5, 9.0]);
    change(&mut reply);
    reply.to_string()
}

fn briefing(columns: Value, answers: &[&str]) -> Driven {
    let judge = RubricJudge::new(&scorer(rubrics::briefing(), json!([])), &model(json!({}))).unwrap();
    let sample = sample("d", columns, None);
    let machine = judge.machine(JudgeInput { sample: &sample, output: &json!("News."), seed: 1 });
    Driven::new(machine, answers.iter().map(|text| stop(*text)))
}

fn with_sources() -> Value {
    json!({"source_urls": ["https://a.example"], "empty_headings": []})
}

/// CL-11: the overall is the mean of the dimensions, whatever the reply says it is; its absence costs no retry.
#[test]
fn the_overall_is_recomputed() {
    let driven = claims(&[&changed(|reply| reply["overallScore"] = json!(10))]);
    assert_eq!(driven.number("overallScore"), (7.0 + 8.0 + 6.5 + 9.0) / 4.0);
    assert_eq!(driven.ids(), ["0"]);
    assert_eq!(driven.verdict.rung, Some(Rung::Direct));
    assert_eq!(driven.verdict.reasoning, "Two of three claims are there.");
    assert_eq!(driven.verdict.diagnostics["missingClaims"], json!([{"text": "New moon"}]));
    assert!(driven.verdict.notes.is_empty(), "{:?}", driven.verdict.notes);
}

/// PE-07, CL-15, BY-07: an invalid reply is asked for again with the error, its pointer and the reply itself.
#[test]
fn an_invalid_reply_is_asked_for_again() {
    let bad = changed(|reply| reply["accuracy"] = json!(11));
    let driven = claims(&[&bad, &changed(|_| {})]);
    assert_eq!(driven.ids(), ["0", "0/reask1"]);
    let [_, _, assistant, user] = driven.asked[1].1.messages.as_slice() else { panic!("four messages") };
    assert_eq!((assistant.role, &*assistant.text()), (Role::Assistant, bad.as_str()));
    assert!(
        user.text().contains("at /accuracy: `accuracy` is 11, but must be a number from 0 to 10"),
        "{}",
        user.text()
    );
    assert_eq!(driven.number("accuracy"), 8.0);
    assert_eq!(driven.notes(NoteKind::Reasked).len(), 1);
}

/// CL-12: a re-ask shows the same sections in fences of another code, the same one every time; other judges get others.
#[test]
fn no_call_repeats_the_code_of_a_fence() {
    let code = |request: &ChatRequest| {
        let text = request.messages[1].text();
        let (_, rest) = text.split_once("fences is ").unwrap();
        rest[..16].to_owned()
    };
    let sections = |request: &ChatRequest| karat_text::fence::sections(&request.messages[1].text());
    let driven = claims(&["no", &changed(|_| {})]);
    let [first, again] = [0, 1].map(|at| &driven.asked[at].1);
    assert_ne!(code(first), code(again));
    assert_eq!(sections(first), sections(again));
    assert!(!again.messages.iter().any(|message| message.text().contains(&code(first))));
    assert_eq!(claims(&["no", "no"]).asked, driven.asked);
    let mut other = rubrics::Claims::new();
    other.model = json!({"id": "another"});
    assert_ne!(code(&Driven::new(other.machine(), [stop("no"), stop("no")]).asked[0].1), code(first));
}

/// PE-01, BY-07: what stays invalid is unscored, never a low score.
#[test]
fn a_reply_that_stays_invalid_is_unscored() {
    let driven = claims(&["I cannot judge this.", ""]);
    assert_eq!(driven.verdict.error.as_ref().unwrap().code, "parse");
    assert!(driven.verdict.scores.iter().all(|(_, score)| score.is_unscored()));
    assert!(driven.asked[1].1.messages.iter().any(|message| message.text() == "I cannot judge this."));
}

/// BY-07, CL-15: what stands in a reply that was refused, or ended by a filter, is not a verdict, however whole it looks.
#[test]
fn a_refused_reply_is_unscored() {
    let low = changed(|reply| reply["accuracy"] = json!(0));
    let refused = || reply(low.as_str(), FinishReason::Refusal);
    let driven = Driven::new(rubrics::Claims::new().machine(), [refused(), refused()]);
    let error = driven.verdict.error.as_ref().unwrap();
    assert!(error.code == "parse" && error.message.contains("refused"), "{error:?}");
    let again = Driven::new(rubrics::Claims::new().machine(), [refused(), stop(changed(|_| {}))]);
    assert_eq!(again.number("accuracy"), 8.0);
}

/// BY-07, CL-11: scores stand where a rubric may ask for them; whatever else names the dimensions grades nothing.
#[test]
fn other_objects_of_dimensions_are_no_scores() {
    let numbers = json!({"completeness": 1, "accuracy": 1, "topicCoverage": 1, "atomicity": 1});
    let whole = rubrics::claims_reply([7.0, 8.0, 6.5, 9.0]);
    for name in ["weights", "deductions", "previous", "minimum", "confidence"] {
        let alone = json!({name: numbers, "reasoning": "Two of three claims are there.",
            "missingClaims": [], "hallucinations": [], "redundancies": [], "gapAreas": []})
        .to_string();
        assert!(claims(&[&alone, &alone]).verdict.error.is_some(), "{name}");
        let only = json!({name: numbers}).to_string();
        assert!(claims(&[&only, &only]).verdict.error.is_some(), "{name}");
        let mut beside = whole.clone();
        beside[name] = numbers.clone();
        assert_eq!(claims(&[&beside.to_string()]).number("accuracy"), 8.0, "{name}");
    }
}

/// BY-07: a score on another scale, or beside another of its dimension, is not a score.
#[test]
fn scores_in_doubt_are_unscored() {
    let list = |accuracies: &[Value]| {
        let grade = |name: &str, score: Value| json!({"dimension": name, "score": score});
        let mut items: Vec<Value> =
            ["completeness", "topicCoverage", "atomicity"].iter().map(|name| grade(name, json!(7))).collect();
        items.extend(accuracies.iter().map(|score| grade("accuracy", score.clone())));
        json!({"dimensions": items, "reasoning": "Two of three claims are there.",
            "missingClaims": [], "hallucinations": [], "redundancies": [], "gapAreas": []})
        .to_string()
    };
    assert_eq!(claims(&[&list(&[json!(8), json!(8)])]).number("accuracy"), 8.0);
    let same = changed(|reply| reply["accuracy"] = json!({"score": 8, "max": 10}));
    assert_eq!(claims(&[&same]).number("accuracy"), 8.0);
    let cases = [
        (list(&[json!(8), json!(2)]), "`accuracy` is graded twice, with different values"),
        (changed(|reply| reply["scores"] = json!({"accuracy": 2})), "`accuracy` is graded twice"),
        (changed(|reply| reply["accuracy"] = json!({"score": 4, "max": 5})), "another scale (`max` is 5)"),
        (
            changed(|reply| reply["accuracy"] = json!({"value": 0.7, "maximum": 1.0})),
            "another scale (`maximum` is 1.0)",
        ),
        (changed(|reply| reply["accuracy"] = json!({"score": 4, "total": 5})), "another scale (`total` is 5)"),
        (changed(|reply| reply["accuracy"] = json!({"score": 2, "Score": 8})), "`accuracy` is graded twice"),
        (changed(|reply| reply["accuracy"] = json!({"score": 2, "Score": "8"})), "`accuracy` is graded twice"),
        (changed(|reply| reply["Accuracy"] = json!(2)), "`accuracy` is graded twice"),
        (changed(|reply| reply[" accuracy"] = json!(2)), "`accuracy` is graded twice"),
        (changed(|reply| reply["scale"] = json!("0-1")), "another scale (`scale` is \"0-1\")"),
        (changed(|reply| reply["status"] = json!("failed")), "/status: says that there is no verdict"),
        (changed(|reply| reply["success"] = json!(false)), "/success: says that there is no verdict"),
    ];
    for (reply, wanted) in cases {
        let driven = claims(&[&reply, &reply]);
        assert!(driven.error().contains(wanted), "{wanted}: {}", driven.error());
    }
}

/// BY-07: sums beside the scores, a status that is none of failure, and a scale of most dimensions are no doubt.
#[test]
fn remarks_beside_scores_are_no_doubt() {
    for (key, value) in
        [("total", json!(31)), ("status", json!("ok")), ("success", json!(true)), ("scale", json!("0-10"))]
    {
        assert_eq!(claims(&[&changed(|reply| reply[key] = value.clone())]).number("accuracy"), 8.0, "{key}");
    }
    let mut rubric = rubrics::claims();
    rubric["dimensions"][3]["scale"] = json!(karat_types::Scale::Range { lo: 1.0, hi: 5.0, step: None });
    let judged = rubrics::Claims::new();
    let judge = RubricJudge::new(&scorer(rubric, judged.labels.clone()), &model(judged.model.clone())).unwrap();
    let read = |stated: &str| {
        let mut reply = rubrics::claims_reply([4.0, 4.5, 3.0, 4.0]);
        reply["scale"] = json!(stated);
        let machine = judge.machine(JudgeInput { sample: &judged.sample, output: &judged.output, seed: 1 });
        Driven::new(machine, [stop(reply.to_string()), stop(reply.to_string())])
    };
    assert_eq!(read("0-10").number("atomicity"), 4.0);
    assert!(read("1-5").error().contains("another scale"));
}

/// BY-07, CL-15: a verdict that a person would read is read: within a call of a tool, written as a text, escaped for HTML, in a
/// quotation.
#[test]
fn wrapped_verdicts_are_read() {
    let whole = changed(|_| {});
    let pretty = serde_json::to_string_pretty(&rubrics::claims_reply([7.0, 8.0, 6.5, 9.0])).unwrap();
    for reply in [
        json!({"name": "submit", "arguments": whole}).to_string(),
        json!({"type": "function", "function": {"name": "submit", "arguments": whole}}).to_string(),
        format!("{{\"json\": {whole}}}"),
        whole.replace('"', "&quot;"),
        pretty.lines().map(|line| format!("> {line}\n")).collect(),
        format!("My verdict:\n\n> ```json\n> {whole}\n> ```"),
    ] {
        let driven = claims(&[&reply]);
        assert_eq!((driven.number("accuracy"), driven.ids().len()), (8.0, 1), "{reply}");
    }
}

/// BY-07: a draft that was thought aloud, or taken back for a verdict off the scale, does not count.
#[test]
fn drafts_are_no_verdicts() {
    let draft = changed(|reply| reply["accuracy"] = json!(1));
    let off = changed(|reply| reply["accuracy"] = json!(80));
    let replies = [
        format!("[THINK]{draft}[/THINK] I cannot judge this."),
        format!("<|channel|>analysis<|message|>{draft}<|end|>"),
        format!("<draft>{draft}</draft>\nSorry, no."),
        format!("< think >{draft}</ think >"),
        format!("{draft}\nCorrected:\n{off}"),
        format!("{draft}\nOn reflection:\n{off}"),
    ];
    for reply in replies {
        assert!(claims(&[&reply, &reply]).verdict.error.is_some(), "{reply}");
    }
    let final_one =
        format!("<|channel|>analysis<|message|>{draft}<|end|><|channel|>final<|message|>{}", changed(|_| {}));
    assert_eq!(claims(&[&final_one]).number("accuracy"), 8.0);
}

/// An empty reply is not sent back as an empty message, which providers refuse.
#[test]
fn an_empty_reply_is_named() {
    let driven = claims(&["  ", &changed(|_| {})]);
    assert_eq!(driven.asked[1].1.messages.len(), 3);
    assert!(driven.asked[1].1.messages[2].text().starts_with("Your reply was empty."));
}

/// CL-11: out of range, missing or of the wrong type is rejected, each with its pointer.
#[test]
fn invalid_replies_name_the_place() {
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: [(Change<'_>, &str); 14] = [
        (&|reply| reply["completeness"] = json!(-0.5), "/completeness: `completeness` is -0.5"),
        (&|reply| reply["completeness"] = json!(10.1), "/completeness: `completeness` is 10.1"),
        (&|reply| reply["accuracy"] = json!("high"), "/accuracy: `accuracy` is \"high\", which is not a number"),
        (&|reply| reply["accuracy"] = json!("8/12"), "/accuracy"),
        (&|reply| reply["accuracy"] = json!(true), "/accuracy: `accuracy` is true or false"),
        (&|reply| reply["accuracy"] = json!("NaN"), "/accuracy"),
        (&|reply| reply["accuracy"] = json!(null), "/accuracy: `accuracy` is missing"),
        (&|reply| drop(reply.as_object_mut().unwrap().remove("atomicity")), "/atomicity: `atomicity` is missing"),
        (
            &|reply| reply["reasoning"] = json!("short"),
            "/reasoning: `reasoning` has 5 characters, but needs at least 10",
        ),
        (&|reply| reply["reasoning"] = json!({"a": 1}), "/reasoning: `reasoning` is an object"),
        (&|reply| drop(reply.as_object_mut().unwrap().remove("gapAreas")), "/gapAreas: the list `gapAreas` is missing"),
        (
            &|reply| reply["missingClaims"] = json!("none"),
            "/missingClaims: `missingClaims` is a text, but must be a list",
        ),
        (
            &|reply| reply["hallucinations"] = json!([{"text": "x"}, {"text": 1.5}, {}]),
            "/hallucinations/2/text: is missing",
        ),
        (&|reply| reply["hallucinations"] = json!([{"text": ""}]), "/hallucinations/0/text: is an empty text"),
    ];
    for (change, expected) in cases {
        let bad = changed(change);
        let driven = claims(&[&bad, &bad]);
        assert!(driven.error().contains(expected), "{bad}\n{}", driven.error());
        assert!(driven.verdict.scores.iter().all(|(_, score)| score.is_unscored()));
    }
}

/// BY-07: numbers and shapes are read leniently only where there is no doubt, and each lenience is noted.
#[test]
fn lenient_readings_are_noted() {
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: [(Change<'_>, &str); 8] = [
        (&|reply| reply["accuracy"] = json!("8"), "`accuracy` was written as \"8\""),
        (&|reply| reply["accuracy"] = json!("8/10"), "`accuracy` was written as \"8/10\""),
        (&|reply| reply["accuracy"] = json!("8 out of 10"), "`accuracy` was written as \"8 out of 10\""),
        (&|reply| reply["missingClaims"] = json!(["New moon"]), "an item of `missingClaims` was a bare text"),
        (&|reply| reply["reasoning"] = json!(["Two of three", "claims are there."]), "`reasoning` was a list of texts"),
        (&|reply| *reply = json!({"evaluation": reply.clone()}), "the reply stood within `evaluation`"),
        (
            &|reply| {
                let object = reply.as_object_mut().unwrap();
                let scores = ["completeness", "accuracy", "topicCoverage", "atomicity"]
                    .map(|name| (name.to_owned(), object.remove(name).unwrap()));
                object.insert("scores".into(), Value::Object(scores.into_iter().collect()));
            },
            "the scores stood at `/scores`",
        ),
        (
            &|reply| {
                let score = reply.as_object_mut().unwrap().remove("topicCoverage").unwrap();
                reply["topic_coverage"] = score;
                reply["accuracy"] = json!({"score": "8", "reason": "Faithful."});
            },
            "`accuracy` was written as \"8\"",
        ),
    ];
    for (change, expected) in cases {
        let lenient = changed(change);
        let driven = claims(&[&lenient]);
        assert_eq!((driven.number("accuracy"), driven.number("topicCoverage")), (8.0, 6.5), "{lenient}");
        assert!(driven.notes(NoteKind::Lenience).contains(&expected), "{lenient}\n{:?}", driven.verdict.notes);
        assert_eq!(driven.verdict.reasoning.replace('\n', " "), "Two of three claims are there.");
    }
}

/// BR-06: fenced first, then a bare object with the axes, prose ignored; a fraction is refused, naming the axis.
#[test]
fn briefing_replies() {
    let good = r#"{"factuality": 4, "novelty": 3, "source_diversity": 2, "signal_density": 5, "coherence": 4, "notes": "Fine."}"#;
    let fenced = format!("Here {{it}} is:\n```json\n{good}\n```\nAs asked.");
    let driven = briefing(with_sources(), &[&fenced]);
    assert_eq!(driven.verdict.rung, Some(Rung::Fenced));
    assert_eq!(driven.number("composite"), 3.7);
    assert!(driven.notes(NoteKind::Lenient)[0].contains("fenced"));
    let embedded = format!("I saw {{\"draft\": true}}. {good}");
    assert_eq!(briefing(with_sources(), &[&embedded]).verdict.rung, Some(Rung::Embedded));
    for off in ["3.5", "3.0000001", "5.0000001", "0", "6"] {
        let reply = good.replace("\"novelty\": 3", &format!("\"novelty\": {off}"));
        let driven = briefing(with_sources(), &[&reply, &reply]);
        let wanted = format!("/novelty: `novelty` is {off}, but must be a number from 1 to 5 in steps of 1");
        assert!(driven.error().contains(&wanted), "{}", driven.error());
    }
    // Written as a text, the number is beyond doubt: it counts, and is noted.
    let text = briefing(with_sources(), &[&good.replace("\"novelty\": 3", "\"novelty\": \"3\"")]);
    assert_eq!(text.number("novelty"), 3.0);
    assert_eq!(text.notes(NoteKind::Lenience), ["`novelty` was written as \"3\""]);
}

/// BR-06, BY-07: a score that stands twice with different values is nobody's score; one that says the same twice is.
#[test]
fn scores_that_contradict_each_other_are_unscored() {
    let reply = |scores: &str| {
        format!(
            "{{{scores}, \"source_diversity\": 2, \"signal_density\": 5, \"coherence\": 4, \"notes\": \"Draft.\", \"notes\": \"Fine.\"}}"
        )
    };
    let twice = reply(r#""factuality": 4, "novelty": 3, "novelty": 5"#);
    let driven = briefing(with_sources(), &[&twice, &twice]);
    assert!(
        driven.error().contains("`novelty` stands twice in one object, with different values"),
        "{}",
        driven.error()
    );
    let same = briefing(with_sources(), &[&reply(r#""factuality": 4, "novelty": 3, "novelty": 3"#)]);
    assert_eq!((same.number("novelty"), same.ids().len()), (3.0, 1));
    assert!(same.notes(NoteKind::Lenient).iter().any(|note| note.contains("\"novelty\" stood twice")));
}

/// BR-03, BR-04: caps lower after parsing, before the composite; the rationale is cut where it is too long.
#[test]
fn caps_are_enforced_and_recorded() {
    let reply = json!({"factuality": 5, "novelty": 5, "source_diversity": 5, "signal_density": 1, "coherence": 5, "notes": "n".repeat(100)});
    let columns = json!({"source_urls": [], "empty_headings": ["Markets"]});
    let driven = briefing(columns, &[&reply.to_string()]);
    assert_eq!(driven.number("factuality"), 2.0);
    assert_eq!(driven.number("signal_density"), 1.0);
    assert_eq!(driven.verdict.caps, ["no_source", "empty_headings"]);
    assert!(
        serde_json::to_string(driven.score("factuality")).unwrap().contains("lowered from 5 by the cap `no_source`")
    );
    assert_eq!(driven.number("composite"), 3.3);
    assert_eq!(driven.verdict.reasoning.len(), 60);
    assert_eq!(driven.notes(NoteKind::Lenience), ["`notes` was cut from 100 to 60 characters"]);
}

/// PE-02, CL-06, SP-03: a reply that was cut off is never parsed as if it were complete.
#[test]
fn a_truncated_reply_is_asked_for_again() {
    let whole = changed(|_| {});
    let cut = &whole[..whole.len() - 2];
    let machine = rubrics::Claims::new().machine();
    let driven = Driven::new(machine, [reply(cut, FinishReason::Length), stop(whole.clone())]);
    assert_eq!(driven.notes(NoteKind::Truncated).len(), 1);
    assert_eq!(driven.number("accuracy"), 8.0);
    let driven = Driven::new(
        rubrics::Claims::new().machine(),
        [reply(cut, FinishReason::Length), reply(cut, FinishReason::Length)],
    );
    assert!(driven.error().contains("cut off"), "{}", driven.error());
}

/// SU-06: a list of scores with reasons; out of range is moved to the bound, absent is lowest, each noted; the overall is
/// the judge's.
#[test]
fn declared_leniences_are_used_and_noted() {
    let judge = RubricJudge::new(&scorer(rubrics::summary(), json!([])), &model(json!({}))).unwrap();
    let sample = sample("s", json!({}), None);
    let run = |reply: Value| {
        let machine = judge.machine(JudgeInput { sample: &sample, output: &json!({"title": "t"}), seed: 1 });
        Driven::new(machine, [stop(reply.to_string())])
    };
    let driven = run(rubrics::summary_reply());
    assert_eq!((driven.number("title"), driven.number("overall")), (0.8, 0.85));
    assert_eq!(serde_json::to_value(driven.score("title")).unwrap(), json!({"value": 0.8, "reason": "Names it."}));
    let driven = run(
        json!({"dimensions": [{"dimension": "title", "score": 1.2}], "overall": 0.5, "rationale": "x", "suggestions": ["a", "b", "c"]}),
    );
    assert_eq!((driven.number("title"), driven.number("outcome")), (1.0, 0.0));
    assert_eq!(driven.verdict.diagnostics["suggestions"], json!(["a", "b"]));
    let notes = [
        "`title` was 1.2 and was moved to 1",
        "`outcome` was missing and counts as 0",
        "`suggestions` had 3 items and was cut to 2",
    ];
    assert_eq!(driven.notes(NoteKind::Lenience), notes);
}

/// Words are worth their values; another case, or a boolean for a plain yes or no, is noted.
#[test]
fn words_have_values() {
    let judge = RubricJudge::new(&scorer(rubrics::answer(), json!([])), &model(json!({}))).unwrap();
    let sample = sample("s", json!({}), None);
    let run = |helpful: Value, safe: Value| {
        let reply = json!({"helpful": helpful, "safe": safe, "reasoning": ""}).to_string();
        let machine = judge.machine(JudgeInput { sample: &sample, output: &json!("Yes."), seed: 1 });
        Driven::new(machine, [stop(reply.clone()), stop(reply)])
    };
    let driven = run(json!("partly"), json!("fail"));
    assert_eq!((driven.number("helpful"), driven.number("safe")), (0.5, 0.0));
    assert!(driven.verdict.notes.is_empty());
    let driven = run(json!("Partly."), json!(true));
    assert_eq!((driven.number("helpful"), driven.number("safe")), (0.5, 1.0));
    assert_eq!(driven.notes(NoteKind::Lenience).len(), 2);
    assert!(run(json!("maybe"), json!("pass")).error().contains("must be one of \"yes\", \"partly\", \"no\""));
}

/// SP-02: what can be read counts, what was not graded is unscored, findings are filled; the error is kept beside it.
#[test]
fn a_degraded_reply_keeps_what_can_be_read() {
    let judge = RubricJudge::new(&scorer(rubrics::spans(), json!([])), &model(json!({}))).unwrap();
    let sample = sample("p", json!({}), None);
    let output = json!({"text": "x", "spans": [{"text": "a", "role": "r"}]});
    let reply = json!({
        "scores": {"coverage": 4}, "notes": "n", "missedElements": ["red coat"],
        "falsePositives": [{"spanIndex": 7, "text": "a", "reason": "weird"}, {"spanIndex": "0", "text": "b"}],
        "categoryScores": {"shot": {"coverage": 5}, "audio": null},
    });
    let machine = judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 });
    let driven = Driven::new(machine, [stop(reply.to_string()), stop(reply.to_string())]);
    assert_eq!(driven.number("coverage"), 4.0);
    assert!(driven.score("precision").is_unscored());
    assert!(driven.score("totalScore").is_unscored());
    assert_eq!(driven.verdict.diagnostics["missedElements"], json!([{"text": "red coat", "severity": "minor"}]));
    let found =
        json!([{"spanIndex": -1, "text": "a", "reason": "other"}, {"spanIndex": 0, "text": "b", "reason": "other"}]);
    assert_eq!(driven.verdict.diagnostics["falsePositives"], found);
    assert_eq!(
        driven.verdict.diagnostics["categoryScores"],
        json!({"shot": {"coverage": 5.0}, "audio": {"coverage": null}})
    );
    assert!(
        driven
            .notes(NoteKind::Lenience)
            .iter()
            .any(|note| note.starts_with("degraded: /scores/precision: `precision` is missing"))
    );
    assert!(driven.verdict.error.is_none());
}

/// A position refers to the list before it was shuffled.
#[test]
fn positions_are_mapped_back() {
    let mut rubric = rubrics::spans();
    rubric["show"][1]["shuffle"] = json!(true);
    rubric["show"][1]["chunk"] = json!({"items": 80});
    let judge = RubricJudge::new(&scorer(rubric, json!([])), &model(json!({}))).unwrap();
    let spans: Vec<Value> = (0..9).map(|at| json!({"text": format!("span {at}"), "role": "r"})).collect();
    let output = json!({"text": "x", "spans": spans});
    let sample = sample("p", json!({}), None);
    let input = JudgeInput { sample: &sample, output: &output, seed: 3 };
    let prompt = text(&request(&mut judge.machine(input)));
    let first = prompt.lines().find_map(|line| line.strip_prefix("[0] 'span ")?.chars().next()?.to_digit(10)).unwrap();
    assert_ne!(first, 0, "the seed leaves the first span in place; choose another");
    let reply = json!({
        "scores": {"coverage": 4, "precision": 4}, "notes": "n", "missedElements": [], "categoryScores": {},
        "falsePositives": [{"spanIndex": 0, "text": "a", "reason": "other"}],
    });
    let driven = Driven::new(judge.machine(input), [stop(reply.to_string())]);
    assert_eq!(driven.verdict.diagnostics["falsePositives"][0]["spanIndex"], json!(first));
}
