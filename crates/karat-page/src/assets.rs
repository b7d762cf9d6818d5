//! Style, script and font: source files embedded in the program and addressed by their hash.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The style sheet's files in the order in which they are joined; the font's address is put before them.
const STYLES: &[&str] = &[
    include_str!("../assets/page.css"),
    include_str!("../assets/linked.css"),
    include_str!("../assets/browse.css"),
    include_str!("../assets/live.css"),
];

/// The script's files in the order in which they are joined.
const SCRIPTS: &[&str] = &[
    include_str!("../assets/linked.js"),
    include_str!("../assets/page.js"),
    include_str!("../assets/live.js"),
    include_str!("../assets/post.js"),
];

/// Style and script of the pages on which people label and decide. No other page needs them, and no file has them.
const ANNOTATE_STYLE: &str = include_str!("../assets/annotate/annotate.css");
const ANNOTATE_SCRIPTS: &[&str] = &[
    include_str!("../assets/annotate/texts.js"),
    include_str!("../assets/annotate/question.js"),
    include_str!("../assets/annotate/marked_text.js"),
    include_str!("../assets/annotate/span_tools.js"),
    include_str!("../assets/annotate/sending.js"),
    include_str!("../assets/annotate/label.js"),
    include_str!("../assets/annotate/decide.js"),
];

/// Inter, variable, Latin; its licence is `assets/inter-OFL.txt`.
const FONT: &[u8] = include_bytes!("../assets/inter-latin.woff2");

/// The licence of the font, which goes where the font goes.
pub const FONT_LICENCE: &str = include_str!("../assets/inter-OFL.txt");

/// A file that a live page loads.
#[derive(Debug, Clone)]
pub struct Asset {
    /// Its name, which contains its hash: the content never changes under a name.
    pub name: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The assets of a live page.
#[derive(Debug)]
pub struct Assets {
    /// The style sheet, which loads the font from the same folder.
    pub style: Asset,
    /// The script.
    pub script: Asset,
    /// Style and script of the pages on which people label and decide, in place of the two above.
    pub annotate: (Asset, Asset),
    /// The font.
    pub font: Asset,
}

/// Returns the assets of live pages, each under its hashed name.
pub fn live() -> &'static Assets {
    static LIVE: LazyLock<Assets> = LazyLock::new(|| {
        let font = asset("inter", "woff2", "font/woff2", FONT.to_vec());
        let style = |more: &str| format!("{}{}{more}", font_face(&font.name, "optional"), STYLES.concat()).into_bytes();
        let script = |more: &[&str]| [SCRIPTS.concat(), more.concat()].concat().into_bytes();
        let css = |stem: &str, style: Vec<u8>| asset(stem, "css", "text/css; charset=utf-8", style);
        let js = |stem: &str, script: Vec<u8>| asset(stem, "js", "text/javascript; charset=utf-8", script);
        Assets {
            style: css("page", style("")),
            script: js("page", script(&[])),
            annotate: (css("annotate", style(ANNOTATE_STYLE)), js("annotate", script(ANNOTATE_SCRIPTS))),
            font,
        }
    });
    &LIVE
}

/// The style and script of a page that is one file, and the hashes that its policy allows.
#[derive(Debug)]
pub(crate) struct Inline {
    pub(crate) style: String,
    pub(crate) script: String,
    pub(crate) policy: String,
}

/// Returns the policy of a page that is one file: its own style and script, by hash.
pub fn inline_policy() -> &'static str {
    &inline().policy
}

/// Returns what a page that is one file contains.
pub(crate) fn inline() -> &'static Inline {
    static INLINE: LazyLock<Inline> = LazyLock::new(|| {
        let address = format!("data:font/woff2;base64,{}", STANDARD.encode(FONT));
        let style = format!("{}{}", font_face(&address, "swap"), STYLES.concat());
        let script = SCRIPTS.concat();
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'",
            policy_hash(&script),
            policy_hash(&style)
        );
        Inline { style, script, policy }
    });
    &INLINE
}

/// The rule that loads the font. A live page preloads it, so one that comes late is not shown at all: no line moves.
fn font_face(address: &str, display: &str) -> String {
    format!(
        "@font-face {{ font-family: \"Inter Variable\"; font-weight: 100 900; font-style: normal; font-display: {display}; src: url({address}) format(\"woff2\"); }}\n"
    )
}

fn asset(stem: &str, extension: &str, media_type: &'static str, bytes: Vec<u8>) -> Asset {
    let hash: String = Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Asset { name: format!("{stem}-{hash}.{extension}"), media_type, bytes }
}

fn policy_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-60: script and style are small, the font apart.
    #[test]
    fn assets_are_small() {
        let live = live();
        let source = live.style.bytes.len() + live.script.bytes.len();
        assert!(source < 100_000, "{source} bytes before compression");
        assert!(live.font.bytes.len() < 50_000);
    }

    /// DB-40: nothing in a page can end its own element early.
    #[test]
    fn assets_can_stand_inline() {
        let inline = inline();
        assert!(!inline.style.contains("</") && !inline.script.contains("</script") && !inline.script.contains("<!--"));
    }
}
