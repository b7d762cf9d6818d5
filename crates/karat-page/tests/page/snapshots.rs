//! Snapshots of each chart in each state.

use karat_page::{render, style};

/// Returns the markup with a line for each element, without the tables behind charts.
fn readable(html: &str) -> String {
    let mut text = String::new();
    let html = html.replace(r#"<details class="fold">"#, "<details>");
    let mut rest = html.as_str();
    while let Some((before, after)) = rest.split_once("<details>") {
        text.push_str(before);
        rest = after.split_once("</details>").map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.replace("><", ">\n<")
}

/// DB-35, DB-36: each chart in each state: none, one, two, many, all equal, missing, fewer than five.
#[test]
fn every_chart_in_every_state() {
    let states = style::states();
    let mut charts: Vec<&str> = states.iter().map(|(chart, ..)| *chart).collect();
    charts.dedup();
    for chart in charts {
        // The two long states are bounded below; their markup is for no reader.
        let of_chart =
            states.iter().filter(|(of, state, _)| *of == chart && !matches!(*state, "long" | "more than 60 samples"));
        let shown: Vec<String> = of_chart
            .map(|(_, state, block)| format!("== {state}\n{}", readable(&render(block).into_string())))
            .collect();
        insta::assert_snapshot!(chart.to_lowercase().replace(' ', "_"), shown.join("\n\n"));
    }
}

/// DB-36: long data are thinned, so that a chart stays small.
#[test]
fn long_data_stay_small() {
    for (chart, state, block) in style::states() {
        let html = readable(&render(&block).into_string());
        assert!(html.len() < 120_000, "{chart}, {state}: {} bytes", html.len());
    }
}

/// DB-36: the empty state gives a reason and the command that would fill it.
#[test]
fn nothing_to_show_says_why() {
    for (chart, _, block) in style::states().iter().filter(|(_, state, _)| *state == "none") {
        let html = render(block).into_string();
        assert!(html.contains("data-testid=\"empty-state\"") && html.contains("karat resume"), "{chart}");
    }
}
