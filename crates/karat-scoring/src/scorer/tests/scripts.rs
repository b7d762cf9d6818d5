//! Metrics of words on texts in other scripts than Latin.

use karat_types::UNICODE_WORDS;

use super::*;

/// Texts of ten words or more that differ in a word, in several scripts.
const TEXTS: [(&str, &str, &str); 9] = [
    ("Chinese", "公司第三季度的收入增长了百分之十二。", "公司第三季度的收入增长了百分之三十。"),
    (
        "Japanese",
        "会社の第三四半期の売上は十二パーセント増加した。",
        "会社の第三四半期の売上は三十パーセント増加した。",
    ),
    ("Thai", "รายได้ของบริษัทในไตรมาสที่สามเพิ่มขึ้น", "รายได้ของบริษัทในไตรมาสที่สามลดลง"),
    (
        "Arabic",
        "ارتفعت إيرادات الشركة في الربع الثالث بنسبة اثني عشر",
        "ارتفعت إيرادات الشركة في الربع الثاني بنسبة اثني عشر",
    ),
    ("Hebrew", "הכנסות החברה ברבעון השלישי עלו בשנים עשר אחוזים", "הכנסות החברה ברבעון השני עלו בשנים עשר אחוזים"),
    ("Hindi", "तीसरी तिमाही में कंपनी की आय बारह प्रतिशत बढ़ी", "दूसरी तिमाही में कंपनी की आय बारह प्रतिशत बढ़ी"),
    (
        "Russian",
        "Выручка компании в третьем квартале выросла на двенадцать процентов",
        "Выручка компании во втором квартале выросла на двенадцать процентов",
    ),
    ("Korean", "회사의 삼 분기 매출은 십이 퍼센트 증가했다", "회사의 이 분기 매출은 십이 퍼센트 증가했다"),
    (
        "Greek",
        "Τα έσοδα της εταιρείας το τρίτο τρίμηνο αυξήθηκαν",
        "Τα έσοδα της εταιρείας το δεύτερο τρίμηνο αυξήθηκαν",
    ),
];

/// F16: equal texts of any script are equal for every metric of words, and nearly equal ones are near.
#[test]
fn equal_texts_of_any_script_are_equal() {
    for (language, one, other) in TEXTS {
        for (metric, highest) in [
            ("rouge", 1.0),
            ("token_f1", 1.0),
            ("jaccard", 1.0),
            ("bleu", 100.0),
            ("chrf", 100.0),
            ("quote_match", 1.0),
        ] {
            let against =
                |reference: &str, output: &str| score(json!({"metric": metric, "value": reference}), json!(output));
            let same = against(one, one).number().unwrap();
            assert!((same - highest).abs() < 1e-9, "{metric} of equal texts in {language}: {same}");
            let near = against(one, other).number().unwrap();
            if metric == "quote_match" {
                assert!(near.abs() < 1e-12, "{language}: {near}");
            } else {
                assert!(near > 0.2 * highest && near < highest, "{metric} of near texts in {language}: {near}");
            }
        }
        for kind in ["rouge1", "rouge2", "rougeLsum"] {
            let rouge = json!({"metric": "rouge", "value": one, "with": {"type": kind}});
            assert_eq!(score(rouge, json!(one)).number(), Some(1.0), "{kind} in {language}");
        }
    }
    let quote = json!({"metric": "quote_match", "value": "收入增长"});
    assert_eq!(score(quote, json!("公司表示，收入增长了百分之十。")).number(), Some(1.0));
}

/// F16: scores by Unicode words say so; texts in Latin letters, and tokens that the suite names, are those of other tools.
#[test]
fn scores_by_unicode_words_say_so() {
    let said = |scorer: Value, output: &str| reason(&score(scorer, json!(output))).starts_with(UNICODE_WORDS);
    let chinese = "公司的收入增长了";
    for metric in ["rouge", "bleu", "token_f1", "jaccard"] {
        assert!(said(json!({"metric": metric, "value": chinese}), chinese), "{metric}");
        assert!(said(json!({"metric": metric, "value": "GPT 4 的收入增长了"}), "GPT 4 的收入增长了"), "{metric}");
        for latin in ["The café of Größe", "an angle α of 5 degrees in a longer text about x"] {
            assert!(!said(json!({"metric": metric, "value": latin}), latin), "{metric} {latin}");
        }
    }
    let ascii = score(json!({"metric": "rouge", "value": chinese, "with": {"tokens": "ascii"}}), json!(chinese));
    assert_eq!((ascii.number(), reason(&ascii)), (Some(0.0), ""));
    assert!(!said(json!({"metric": "bleu", "value": chinese, "with": {"tokenizer": "zh"}}), chinese));
    assert!(!said(json!({"metric": "token_f1", "value": "Выручка выросла"}), "Выручка выросла"), "SQuAD's words");
}
