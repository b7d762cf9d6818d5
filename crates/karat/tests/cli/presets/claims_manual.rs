//! The manual baseline of the claims preset.

use serde_json::Value;

use crate::place::Place;

fn snapshot(claims: &[&str]) -> String {
    let bullets: Vec<String> = claims.iter().map(|claim| format!("- {claim}")).collect();
    format!(
        "---\ndate: 2026-11-20\nui: copilot\nmodel: unknown\ntoggles: none\nprovenance: synthetic\n---\n\n# Claims\n\n{}\n\n\
         # What I excluded and why\n\n- an advertisement that is not a claim\n",
        bullets.join("\n")
    )
}

/// CL-09: snapshots of any provider become variants beside the harness, and items that the harness lacks are reported
/// by category.
#[test]
fn snapshots_are_scored_beside_the_harness() {
    let place = Place::new();
    let claims = [
        "After 4 weeks, walnuts had increased fasting glucose in 252 amateur cyclists.",
        "The host might have skipped breakfast on the day of the recording.",
    ];
    place.write("shots/kr-oats-01-copilot-high_recall.md", &snapshot(&claims));
    let said = place.succeed(&["import", "manual-baseline", "shots", "-o", "mine"]);
    assert!(said.stderr.contains("1 snapshots with 2 claims: manual-copilot-high-recall"), "{}", said.stderr);
    place.succeed(&["run", "mine", "-q", "--sample", "kr-oats-01", "--run-id", "r", "-o", "out"]);
    let report = place.report("r");
    let cells = report["cells"].as_array().unwrap();
    let own = cells.iter().find(|cell| cell["variant"] == "manual-copilot-high-recall").unwrap();
    assert_eq!(own["output"]["claims"].as_array().unwrap().len(), 2, "{own}");
    let found: &Value = &report["analyses"]["manual_baseline"];
    assert_eq!(found["groups"]["speculative"]["systematic"], 1, "{found}");
    assert_eq!(found["missing"][0]["text"], claims[1]);
    let markdown = std::fs::read_to_string(place.path().join("out/report.md")).unwrap();
    assert!(markdown.contains("speculative: 1 of 1 items are missing from every system (systematic)"), "{markdown}");
}

/// CL-09: every snapshot that is not in form is named, and nothing is written.
#[test]
fn snapshots_out_of_form_are_refused() {
    let place = Place::new();
    place.write("shots/oats.md", "- a claim");
    place.write("shots/kr-oats-01-copilot-high_recall.md", "# Claims\n- a claim");
    let said = place.karat(&["import", "manual-baseline", "shots"]);
    assert_eq!(said.code, 1);
    assert!(
        said.stderr.contains("shots/oats.md: the name") && said.stderr.contains("no front matter"),
        "{}",
        said.all()
    );
    assert!(!place.path().join("imported").exists());
    let nothing = place.karat(&["import", "manual-baseline", "nowhere"]);
    assert!(nothing.code == 1 && nothing.stderr.contains("nowhere"), "{}", nothing.all());
}
