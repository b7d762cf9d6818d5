//! Two scripted agents with tools and a scripted customer, and the planted faults of one of them.

use serde_json::{Value, json};

use crate::place::Place;

/// TG-13, TG-20, TG-30 to TG-32, TG-40: `karat run agent` needs no network, finds every planted fault in its place, and puts `careful` first.
#[test]
fn planted_faults_are_found() {
    let place = Place::new();
    let result = place.succeed(&["run", "agent", "--run-id", "a", "--format", "md,json,html"]);
    let report = place.report("a");
    assert_eq!((&report["totals"]["cells"], &report["totals"]["errors"]), (&json!(24), &json!(0)), "{}", result.all());
    let cells = report["cells"].as_array().unwrap();
    let failing = |model: &str, scorer: &str| -> Vec<&str> {
        let of_model = cells.iter().filter(|cell| cell["model"] == model);
        let failing = of_model.filter(|cell| cell["scores"][scorer]["value"] != json!(1.0));
        failing.map(|cell| cell["sample"].as_str().unwrap()).collect()
    };
    for scorer in ["resolved", "end_state", "right_calls", "valid_calls", "tool_use.need", "tool_use.overall"] {
        assert_eq!(failing("careful", scorer), [""; 0], "{scorer}");
    }
    // `a02`, `a04`, `a06` and `a08` are refunded without looking up, and `a04` and `a08` may not be refunded.
    let faulty = ["a02", "a03", "a04", "a06", "a07", "a08", "a09"];
    assert_eq!(failing("hasty", "right_calls"), faulty);
    assert_eq!(failing("hasty", "tool_use.need"), faulty);
    assert_eq!([failing("hasty", "valid_calls"), failing("hasty", "tool_use.tool")], [["a03", "a09"]; 2]);
    assert_eq!(failing("hasty", "tool_use.results"), ["a07"]);
    // The end state is judged by what was refunded, not by what the agent says.
    let unsolved = ["a03", "a04", "a07", "a08", "a09"];
    assert_eq!([failing("hasty", "resolved"), failing("hasty", "end_state")], [unsolved; 2]);
    assert_eq!(failing("hasty", "ended"), ["a07", "a12"]);
    let reason = |model: &str, sample: &str| {
        let cell = cells.iter().find(|cell| cell["model"] == model && cell["sample"] == sample).unwrap();
        cell["scores"]["ended"]["reason"].as_str().unwrap()
    };
    assert_eq!(reason("hasty", "a07"), "it is \"turns\", not \"done\"");
    assert_eq!([reason("hasty", "a12"), reason("careful", "a12")], ["it is \"user\", not \"done\""; 2]);
    assert!(
        report["notes"].to_string().contains("did not end the conversation")
            || report.to_string().contains("did not end the conversation")
    );
    let page = place.text(".karat/runs/a/report.html");
    assert!(page.contains("data-testid=\"transcript\"") && page.contains("The refund of order A04 is booked."));
    let first = report["leaderboards"].to_string();
    assert!(first.find("careful").unwrap() < first.find("hasty").unwrap(), "{first}");
    assert!(report["cost"]["user_cost_usd"].as_f64().unwrap() > 0.0, "{}", report["cost"]);
}

/// TG-20: the canonical report is the same in a second run without reuse, and in one that was interrupted.
#[test]
fn the_canonical_report_is_the_same_in_every_run() {
    let places = [Place::new(), Place::new(), Place::new()];
    places[0].succeed(&["run", "agent", "--run-id", "a", "-q"]);
    places[1].succeed(&["run", "agent", "--run-id", "a", "-q", "-j", "1"]);
    let (mut parts, mut most) = (0, 20);
    loop {
        let result =
            places[2].karat(&["run", "agent", "--run-id", "a", "--resume", "-q", "--max-calls", &most.to_string()]);
        (parts, most) = (parts + 1, most + 20);
        if result.code == 0 {
            break;
        }
        assert!(result.code == 5 && parts < 60, "{}", result.all());
    }
    assert!(parts > 1);
    let canonical: Vec<Value> =
        places.iter().map(|place| serde_json::from_str(&place.canonical("a")).unwrap()).collect();
    assert_eq!(canonical[0]["cells"], canonical[1]["cells"]);
    assert_eq!(canonical[0]["cells"], canonical[2]["cells"]);
    assert_eq!(places[0].canonical("a"), places[1].canonical("a"));
}
