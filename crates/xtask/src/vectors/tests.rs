use super::*;
use serde_json::json;

fn mismatches(tolerance: Value, expected: Value, actual: Value) -> Vec<String> {
    let case = json!({ "tolerance": tolerance });
    tolerance::Tolerance::of_case(&case).unwrap().mismatches(&expected, &actual)
}

fn in_folder(files: &[(&str, Value)]) -> (Result<bool, String>, String) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(dir.path().join(name), content.to_string()).unwrap();
    }
    let mut out = Vec::new();
    let outcome = run(dir.path(), &mut out);
    (outcome, String::from_utf8(out).unwrap())
}

#[test]
fn floats_agree_within_absolute_plus_relative_tolerance() {
    let tolerance = json!({"abs": 0.1, "rel": 0.01});
    assert!(mismatches(tolerance.clone(), json!({"x": 10.0}), json!({"x": 10.19})).is_empty());
    assert_eq!(mismatches(tolerance, json!({"x": 10.0}), json!({"x": 10.21})).len(), 1);
}

#[test]
fn a_field_may_have_its_own_tolerance() {
    let tolerance = json!({"abs": 0.0, "rel": 0.0, "fields": {"p": {"abs": 0.5, "rel": 0.0}}});
    let found = mismatches(tolerance, json!({"p": 1.0, "q": 1.0}), json!({"p": 1.4, "q": 1.4}));
    assert_eq!(found, ["q: expected 1.0, got 1.4"]);
}

#[test]
fn integers_strings_booleans_and_nulls_are_exact() {
    let loose = json!({"abs": 9.0, "rel": 9.0});
    let expected = json!({"n": 3, "s": "inf", "b": true, "u": null, "list": [1.0, null]});
    assert!(mismatches(loose.clone(), expected.clone(), expected.clone()).is_empty());
    let actual = json!({"n": 4, "s": "-inf", "b": false, "u": 0.0, "list": [1.0]});
    assert_eq!(mismatches(loose, expected, actual).len(), 5);
}

#[test]
fn a_missing_field_is_a_mismatch_and_an_extra_one_is_not() {
    let found = mismatches(json!({}), json!({"a": {"b": null}}), json!({"a": {"c": 1}}));
    assert_eq!(found, ["a.b: expected null, missing"]);
}

#[test]
fn an_empty_folder_and_an_unknown_statistic_fail() {
    let (outcome, text) = in_folder(&[("index.json", json!({}))]);
    assert_eq!(outcome, Ok(false));
    assert!(text.ends_with("0 passed, 0 failed\n"), "{text}");

    let case = json!({"name": "a", "input": {}, "expected": {"x": 1}});
    let (outcome, text) = in_folder(&[("no_such.json", json!({"statistic": "?", "cases": [case]}))]);
    assert_eq!(outcome, Ok(false));
    assert!(text.contains("no adapter"), "{text}");
    assert!(text.ends_with("0 passed, 1 failed\n"), "{text}");
}

/// LI-20: vectors of a statistic that was withdrawn are named and do not fail, whole or in part; an unknown file fails beside them.
#[test]
fn withdrawn_statistics_are_named() {
    let case = |input: Value| json!({"name": "a", "input": input, "expected": {"x": 1}});
    let of = |statistic: &str, cases: &[Value]| json!({"statistic": statistic, "cases": cases});
    let withdrawn =
        [("ewma.json", of("?", &[case(json!({}))])), ("power.json", of("?", &[case(json!({"solve": "n_miller"}))]))];
    let sign = json!({
        "name": "s", "input": {"differences": [1.0]}, "tolerance": {"abs": 0.0, "rel": 0.0}, "expected": {"n_pos": 1},
    });
    let passing = ("sign_test.json", of("?", &[sign]));
    let (outcome, text) = in_folder(&[withdrawn[0].clone(), withdrawn[1].clone(), passing.clone()]);
    assert_eq!(outcome, Ok(true), "{text}");
    assert!(text.contains("withdrawn\n") && text.ends_with("1 passed, 0 failed, 2 withdrawn\n"), "{text}");
    let (outcome, text) = in_folder(&[withdrawn[0].clone(), passing, ("made_up.json", of("?", &[case(json!({}))]))]);
    assert!(outcome == Ok(false) && text.contains("made_up: no adapter"), "{text}");
}

/// LI-20: what is withdrawn has no adapter, and its vectors are there.
#[test]
fn withdrawn_files_are_checked_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors");
    for it in WITHDRAWN {
        if let Withdrawn::File(file) = it {
            assert!(REGISTRY.iter().copied().flatten().all(|(name, _)| name != file), "{file}");
            assert!(folder.join(format!("{file}.json")).is_file(), "{file}");
        }
    }
}

#[test]
fn a_file_under_another_name_is_found_by_its_statistic() {
    assert_eq!(stem_of_statistic("exact sign test").as_deref(), Some("sign_test"));
    assert_eq!(stem_of_statistic("unheard of"), None);
}

/// Other writers of JSON write 1 as 1.0: a label or a count is the same in either form.
#[test]
fn labels_and_counts_are_equal_by_value() {
    let kappa = json!({
        "name": "floats", "input": {"rater_a": [1.0, 2, null], "rater_b": [1, 2.0, 2], "labels": [1, 2.0]},
        "expected": {"n": 2, "percent_agreement": 1.0},
    });
    let fleiss = json!({
        "name": "floats", "input": {"counts": [[2.0, 1], [0, 3.0]]}, "expected": {"n_items": 2, "n_raters": 3},
    });
    let fraction = json!({"name": "part", "input": {"counts": [[0.5, 2.5]]}, "expected": {"n_items": 1}});
    let file = |cases: &[&Value]| json!({"statistic": "?", "cases": cases});
    let (outcome, text) =
        in_folder(&[("cohen_kappa.json", file(&[&kappa])), ("fleiss_kappa.json", file(&[&fleiss, &fraction]))]);
    assert_eq!(outcome, Ok(false));
    assert!(text.contains("part: reading the input") && text.ends_with("2 passed, 1 failed\n"), "{text}");
}

/// Ratings below 0 have no ratios; the other levels of measurement stand.
#[test]
fn one_level_that_does_not_apply_leaves_the_others() {
    let case = json!({
        "name": "below 0", "input": {"ratings_by_rater": [[-1, 0, 1], [-1, 0, 1]]},
        "expected": {"nominal": 1.0, "interval": 1.0, "ratio": null},
    });
    let (outcome, text) = in_folder(&[("krippendorff_alpha.json", json!({"statistic": "?", "cases": [case]}))]);
    assert_eq!(outcome, Ok(true), "{text}");
}

/// PW-02: a ranking equals that of an oracle, which fits strengths by another algorithm and resamples exactly.
#[test]
fn rankings_equal_their_oracle() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors/ranking.json");
    let (tally, complaints) = check_file("ranking", &load(&path).unwrap()).unwrap();
    assert!(tally.passed == 6 && complaints.is_empty(), "{complaints:#?}");
}
