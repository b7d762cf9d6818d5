//! Pages of presets: the panels follow from the outcomes of a run, never from the name of a suite.

use crate::place::Place;

/// Returns the kind, the analysis and the title of each panel of a report, in order.
fn panels(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in page.split("<article class=\"panel\" data-testid=\"panel\"").skip(1) {
        let (attributes, rest) = part.split_once('>').unwrap();
        let title = rest.split_once("<h3>").unwrap().1.split_once("</h3>").unwrap().0;
        found.push((attributes.trim().to_owned(), title.to_owned()));
    }
    found
}

/// DB-03, DB-22: renamed copies of the presets show the same panels, among them those that each preset is known by.
#[test]
fn renamed_presets_show_the_same_panels() {
    let wanted: [(&str, &[&str], &[&str]); 3] = [
        ("spans", &[], &["Confusions", "Reliability of confidence", "Errors by section", "Reasons"]),
        (
            "rag",
            &["--limit", "12"],
            &["Key figures against the baseline", "Latency by stage", "Distribution of latency"],
        ),
        (
            "claims",
            &["--limit", "2", "--models", "sim-faithful,sim-merging"],
            &["Calibration of quality", "Missing items", "Cells worth reading"],
        ),
    ];
    for (preset, flags, titles) in wanted {
        let place = Place::new();
        place.succeed(&["init", preset, "copy"]);
        let suite = place.text("copy/karat.yaml");
        assert!(suite.contains(&format!("\nname: {preset}\n")));
        place.write("copy/karat.yaml", &suite.replace(&format!("\nname: {preset}\n"), "\nname: something-else\n"));
        let page = |suite: &str, run: &str| {
            // Gates of presets fail on purpose.
            let _ = place.karat(&[&["run", suite, "--run-id", run, "--layout", "folder", "-o", run], flags].concat());
            place.text(&format!("{run}/report.html"))
        };
        let (own, copy) = (page(preset, "own"), page("copy", "renamed"));
        let (own, copy) = (panels(&own), panels(&copy));
        assert_eq!(own, copy, "{preset}");
        for title in titles {
            assert!(own.iter().any(|(_, it)| it == title), "{preset}: {title}: {own:#?}");
        }
    }
}
