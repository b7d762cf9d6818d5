//! The reliability curve as SVG: stated confidence against the share of correct items.

use std::fmt::Write;

use karat_analysis::{Confidence, CurveBin};

const SIZE: f64 = 360.0;
const MARGIN: f64 = 44.0;
const PLOT: f64 = SIZE - 2.0 * MARGIN;
/// Radius of the largest dot, for the bin with the most items, in pixels.
const DOT: f64 = 9.0;

/// Returns a self-contained drawing without scripts, style sheets or external fonts. A dot on the diagonal means that
/// the stated confidence is accurate; its area shows the number of items.
pub fn svg(confidence: &Confidence) -> String {
    let points: Vec<Point> = confidence.reliability.iter().filter_map(Point::of).collect();
    let most = points.iter().map(|point| point.count).max().unwrap_or(1).max(1) as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" width=\"{SIZE}\" height=\"{SIZE}\" \
         font-family=\"sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"Reliability curve\">\n\
         <rect width=\"{SIZE}\" height=\"{SIZE}\" fill=\"#fff\"/>\n"
    );
    for step in 0..=5 {
        axis(&mut out, f64::from(step) / 5.0);
    }
    line(&mut out, (0.0, 0.0), (1.0, 1.0), "#999\" stroke-dasharray=\"4 4");
    for pair in points.windows(2) {
        if let [one, other] = pair {
            line(&mut out, (one.confidence, one.accuracy), (other.confidence, other.accuracy), "#1f6feb");
        }
    }
    for point in &points {
        let radius = DOT * (point.count as f64 / most).sqrt();
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\" fill=\"#1f6feb\" fill-opacity=\"0.7\"><title>{:.2} stated, \
             {:.2} right, n = {}</title></circle>",
            x(point.confidence),
            y(point.accuracy),
            radius.max(2.0),
            point.confidence,
            point.accuracy,
            point.count
        );
    }
    text(&mut out, SIZE / 2.0, SIZE - 8.0, "stated confidence");
    text(&mut out, SIZE / 2.0, 20.0, &caption(confidence));
    out.push_str("</svg>\n");
    out
}

/// Returns the file name of an analysis's drawing. Characters of the id other than ASCII letters and digits become
/// dashes.
pub fn file_name(id: &str) -> String {
    let safe: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{safe}-reliability.svg")
}

fn caption(confidence: &Confidence) -> String {
    match &confidence.ece {
        Some(ece) => format!("share that is right; ECE {:.3}, n = {}", ece.value(), ece.n()),
        None => "share that is right; no item has a confidence".to_owned(),
    }
}

struct Point {
    confidence: f64,
    accuracy: f64,
    count: usize,
}

impl Point {
    fn of(bin: &CurveBin) -> Option<Self> {
        Some(Self { confidence: bin.mean_confidence?, accuracy: bin.accuracy?, count: bin.count })
    }
}

fn x(share: f64) -> f64 {
    MARGIN + share * PLOT
}

fn y(share: f64) -> f64 {
    SIZE - MARGIN - share * PLOT
}

fn axis(out: &mut String, share: f64) {
    line(out, (share, 0.0), (share, 1.0), "#eee");
    line(out, (0.0, share), (1.0, share), "#eee");
    text(out, x(share), y(0.0) + 16.0, &format!("{share:.1}"));
    text(out, x(0.0) - 16.0, y(share) + 4.0, &format!("{share:.1}"));
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), stroke: &str) {
    let ((x1, y1), (x2, y2)) = ((x(from.0), y(from.1)), (x(to.0), y(to.1)));
    let _ = writeln!(out, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"/>");
}

fn text(out: &mut String, x: f64, y: f64, words: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" style=\"fill:#333\">{words}</text>");
}

#[cfg(test)]
mod tests {
    use karat_analysis::testing::confidence;

    use super::*;

    /// SP-07: the drawing has one dot for each bin with items, and nothing but shapes.
    #[test]
    fn the_curve_has_one_dot_a_bin() {
        let drawn = svg(&confidence(&[(0.95, false), (0.92, false), (0.35, true)]));
        assert_eq!(drawn.matches("<circle").count(), 2);
        assert!(drawn.contains("ECE") && drawn.contains("n = 2</title>"), "{drawn}");
        assert!(!drawn.contains("<script") && !drawn.contains("href"));
        assert!(svg(&confidence(&[])).contains("no item has a confidence"));
    }

    #[test]
    fn ids_become_safe_file_names() {
        assert_eq!(file_name("spans"), "spans-reliability.svg");
        assert_eq!(file_name("../x y"), "---x-y-reliability.svg");
    }
}
