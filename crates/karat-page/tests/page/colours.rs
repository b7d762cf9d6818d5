//! Contrast of the tokens and difference of the colours of series.

use std::collections::BTreeMap;

type Rgb = [f64; 3];

/// The colours of the style sheet by name, in light and dark.
fn tokens() -> BTreeMap<String, [Rgb; 2]> {
    let style = include_str!("../../assets/page.css");
    let colour = |text: &str| -> Rgb {
        let hex = text.trim().trim_start_matches('#');
        [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0)
    };
    let lines = style.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": light-dark("));
    lines
        .map(|(name, value)| {
            let (light, dark) = value.trim_end_matches(");").split_once(',').unwrap();
            (name.to_owned(), [colour(light), colour(dark)])
        })
        .collect()
}

fn linear(rgb: Rgb) -> Rgb {
    rgb.map(|it| if it <= 0.040_45 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) })
}

fn luminance(rgb: Rgb) -> f64 {
    let [r, g, b] = linear(rgb);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// DB-45: text has a contrast of at least 4.5, marks and edges of controls of at least 3, in both themes.
#[test]
fn contrast_is_enough() {
    let tokens = tokens();
    let mut pairs: Vec<(String, String, f64)> = Vec::new();
    let mut pair = |front: &str, back: &str, least: f64| pairs.push((front.to_owned(), back.to_owned(), least));
    for back in ["paper", "sunk"] {
        ["ink", "soft", "accent", "better", "worse", "undecided"].iter().for_each(|front| pair(front, back, 4.5));
        pair("edge", back, 3.0);
    }
    for name in ["accent", "better", "worse", "undecided"] {
        let tint = format!("{name}-tint");
        pair(name, &tint, 4.5);
        pair("ink", &tint, 4.5);
        pair("soft", &tint, 4.5);
    }
    for at in 1..=5 {
        pair(&format!("series-{at}"), "paper", 3.0);
        pair(&format!("on-heat-{at}"), &format!("heat-{at}"), 4.5);
    }
    for (front, back, least) in pairs {
        for theme in [0, 1] {
            let ratio = contrast(tokens[&front][theme], tokens[&back][theme]);
            assert!(ratio >= least, "{front} on {back}, theme {theme}: {ratio:.2} is below {least}");
        }
    }
}

/// Matrices of Machado, Oliveira and Fernandes (2009) for full protanopia, deuteranopia and tritanopia, in linear RGB.
const VISIONS: [(&str, [[f64; 3]; 3]); 4] = [
    ("full", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protan",
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    ),
    (
        "deutan",
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    ),
    (
        "tritan",
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ),
];

/// CIE L*a*b* of linear RGB under D65.
fn lab(rgb: Rgb) -> Rgb {
    let [r, g, b] = rgb.map(|it| it.clamp(0.0, 1.0));
    let x = (0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b) / 0.950_47;
    let y = 0.212_672_9 * r + 0.715_152_2 * g + 0.072_175_0 * b;
    let z = (0.019_333_9 * r + 0.119_192_0 * g + 0.950_304_1 * b) / 1.088_83;
    let [x, y, z] = [x, y, z].map(|t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// DB-45: the colours of series differ by at least 18 (CIE76), also for those who see two colours only.
#[test]
fn series_are_told_apart() {
    let tokens = tokens();
    let mut close = Vec::new();
    for (vision, matrix) in VISIONS {
        let seen = |rgb: Rgb| lab(matrix.map(|row| row.iter().zip(linear(rgb)).map(|(weight, it)| weight * it).sum()));
        for theme in [0, 1] {
            let series: Vec<Rgb> = (1..=5).map(|at| seen(tokens[&format!("series-{at}")][theme])).collect();
            for a in 0..5 {
                for b in a + 1..5 {
                    let difference = (0..3).map(|it| (series[a][it] - series[b][it]).powi(2)).sum::<f64>().sqrt();
                    if difference < 18.0 {
                        close.push(format!("{vision}, theme {theme}: series {} and {}: {difference:.1}", a + 1, b + 1));
                    }
                }
            }
        }
    }
    assert!(close.is_empty(), "{close:#?}");
}
