use super::*;

fn row(date: &str, judge: &str, made_at: i64, composite: f64) -> GradeRow {
    GradeRow {
        sample: date.to_owned(),
        date: Some(date.to_owned()),
        system: "published".to_owned(),
        trial: 0,
        judge: Some(judge.to_owned()),
        judge_model: Some(format!("{judge}-v1")),
        prompt_version: Some("v1".to_owned()),
        made_at: Moment(made_at),
        selected_at: Moment(made_at),
        run: format!("run-{made_at}"),
        is_golden_check: false,
        source: "cards".to_owned(),
        metric: "quality.composite".to_owned(),
        composite,
        axes: vec![("novelty".to_owned(), composite)],
        notes: String::new(),
        caps: Vec::new(),
        before_caps: Vec::new(),
        cell: 0,
        answered_as: BTreeMap::new(),
    }
}

/// BR-08, BR-17: a later grade replaces the row of that judge and prompt version only.
#[test]
fn the_latest_row_of_a_judge_counts() {
    let mut history = History::default();
    for row in [row("2026-03-01", "a", 2, 4.0), row("2026-03-01", "a", 1, 1.0), row("2026-03-01", "b", 1, 3.0)] {
        history.add(GradedCell::of(row));
    }
    history.add(GradedCell::of(GradeRow { prompt_version: Some("v2".to_owned()), ..row("2026-03-01", "a", 1, 2.0) }));
    let composites: Vec<f64> = history.rows().map(|row| row.composite).collect();
    assert_eq!(composites, [4.0, 2.0, 3.0]);
    // BR-13: the latest row of a date counts, whoever judged.
    assert_eq!(history.series()["published"][0].value(), 4.0);
}

/// F47: a run that goes back to an earlier judge or prompt reuses its grades, and they are the current ones again, wherever
/// one grade a sample is needed; they keep their run and their age.
#[test]
fn a_reused_grade_is_the_current_one() {
    for back in ["v1", "v2"] {
        let mut history = History::default();
        let first = GradeRow { prompt_version: Some(back.to_owned()), ..row("2026-03-01", "a", 1, 5.0) };
        history.add(GradedCell::of(first.clone()));
        history.add(GradedCell::of(row("2026-03-01", "b", 2, 3.95)));
        assert_eq!(history.series()["published"][0].value(), 3.95);
        history.add(GradedCell::of(GradeRow { selected_at: Moment(3), run: "run-3".to_owned(), ..first.clone() }));
        let day = history.series().remove("published").unwrap().remove(0);
        assert_eq!((day.value(), day.judges.len()), (5.0, 1));
        let cell = history.cells().next().unwrap();
        assert_eq!((cell.grade().unwrap().made_at, cell.selected_at()), (Moment(1), Moment(3)));
        let kept = history.rows().find(|row| row.judge.as_deref() == Some("a")).unwrap();
        assert_eq!((kept.run.as_str(), kept.selected_at), ("run-1", Moment(3)));
        // A run that judges anew after that is the latest again, and an older run that is read late changes nothing.
        history.add(GradedCell::of(row("2026-03-01", "b", 2, 3.95)));
        assert_eq!(history.series()["published"][0].value(), 5.0);
        history.add(GradedCell::of(row("2026-03-01", "b", 4, 3.0)));
        assert_eq!(history.series()["published"][0].value(), 3.0);
    }
}

/// BR-13, BR-17, CL-16: the judges of one run are merged, a later run of one of them replaces the merged grade, and a
/// filter by judge selects that judge's own grade.
#[test]
fn judges_of_one_run_give_one_grade() {
    let rows = vec![row("2026-03-01", "b", 1, 2.0), row("2026-03-01", "a", 1, 4.0)];
    let merged = Some(merge_judges(row("2026-03-01", "", 1, 3.0), &rows));
    let cell = GradedCell { rows, merged, content: BTreeMap::new() };
    let day = |cells: &[GradedCell]| {
        let mut history = History::default();
        cells.iter().for_each(|cell| history.add(cell.clone()));
        assert_eq!(history.len(), 2.min(cells.iter().map(|cell| cell.rows.len()).sum()));
        let day = history.series().remove("published").unwrap().remove(0);
        (day.value(), day.judges.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(day(std::slice::from_ref(&cell)), (3.0, vec!["a-v1 + b-v1".to_owned()]));
    let again = GradedCell::of(row("2026-03-01", "a", 2, 5.0));
    assert_eq!(day(&[cell.clone(), again]), (5.0, vec!["a-v1".to_owned()]));
    let choice = RowFilter { judge: Some("a".to_owned()), ..RowFilter::default() };
    assert_eq!(day(&[cell.clone().select(&choice).unwrap()]), (4.0, vec!["a-v1".to_owned()]));
    assert_eq!(cell.select(&RowFilter { judge: Some("c".to_owned()), ..choice }), None);
}

/// BR-12, BR-13: a golden check gives no day's grade, whenever it ran and in whichever trial, unless the sample has no
/// other grade, or none by that judge.
#[test]
fn golden_checks_do_not_enter_the_history() {
    let check = |row: GradeRow| GradedCell::of(GradeRow { is_golden_check: true, ..row });
    let day = || row("2026-03-01", "a", 1, 4.0);
    let checked = || row("2026-03-01", "a", 2, 1.0);
    let ordered = [
        [GradedCell::of(day()), check(checked()), check(GradeRow { trial: 1, ..checked() })],
        [check(GradeRow { trial: 1, ..checked() }), check(checked()), GradedCell::of(day())],
    ];
    for cells in ordered {
        let mut history = History::default();
        cells.into_iter().for_each(|cell| history.add(cell));
        assert_eq!((history.len(), history.series()["published"][0].value()), (1, 4.0));
        assert!(history.warnings().is_empty());
        history.add(check(row("2026-03-01", "b", 3, 2.0)));
        let judges: Vec<&str> = history.rows().filter_map(|row| row.judge.as_deref()).collect();
        assert_eq!((judges, history.series()["published"][0].value()), (vec!["a", "b"], 4.0));
    }
    let mut alone = History::default();
    alone.add(check(checked()));
    assert_eq!((alone.len(), alone.series()["published"][0].value()), (1, 1.0));
    assert!(alone.warnings()[0].starts_with("samples graded by golden checks only: 1, such as 2026-03-01; "));
}

#[test]
fn a_row_filter_selects_dates_judges_and_versions() {
    let row = row("2026-03-05", "a", 1, 4.0);
    let choice = |since: &str, until: &str, judge: Option<&str>| RowFilter {
        since: Some(since.to_owned()),
        until: Some(until.to_owned()),
        judge: judge.map(str::to_owned),
        ..RowFilter::default()
    };
    assert!(choice("2026-03-05", "2026-03-05", None).matches(&row));
    assert!(!choice("2026-03-06", "2026-03-09", None).matches(&row));
    assert!(choice("2026-03-01", "2026-03-09", Some("a-v1")).matches(&row));
    assert!(!choice("2026-03-01", "2026-03-09", Some("b")).matches(&row));
    assert!(!choice("2026-03-01", "2026-03-09", None).matches(&GradeRow { date: None, ..row }));
}

/// BR-13, BR-14: every system has its own series; a system is selected by its id, its model or its variant.
#[test]
fn each_system_has_its_days() {
    let mut history = History::default();
    for (system, composite) in [("gpt-5/raw", 4.0), ("gpt-5/rag", 2.0)] {
        for date in ["2026-03-01", "2026-03-02"] {
            history.add(GradedCell::of(GradeRow { system: system.to_owned(), ..row(date, "a", 1, composite) }));
        }
    }
    let values = |days: &Vec<Day>| days.iter().map(Day::value).collect::<Vec<_>>();
    assert_eq!(history.series().values().map(values).collect::<Vec<_>>(), [[2.0, 2.0], [4.0, 4.0]]);
    let taken = |name: &str| {
        let choice = RowFilter { system: Some(name.to_owned()), ..RowFilter::default() };
        history.rows().filter(|row| choice.matches(row)).count()
    };
    assert_eq!(["gpt-5/raw", "raw", "gpt-5", "gpt", ""].map(taken), [2, 2, 4, 0, 0]);
}

/// PE-16, BR-13: days with two models behind one alias are reported.
#[test]
fn days_of_two_models_behind_an_alias_are_reported() {
    let day = |date: &str, name: &str| Day {
        answered_as: [("alias".to_owned(), [name.to_owned()].into())].into(),
        ..Day::new(date, 4.0)
    };
    let said = |last: &str| judge_mix_warnings(&[day("2026-03-01", "alias-01"), day("2026-03-02", last)], "the window");
    let told = "the window contains several models behind `alias` (alias-01, alias-02)";
    assert!(said("alias-02").iter().any(|it| it.starts_with(told)), "{:?}", said("alias-02"));
    assert_eq!(said("alias-01"), Vec::<String>::new());
}
