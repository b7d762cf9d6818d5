//! Tests of tasks and events.

use karat_types::{Key, Moment};

use super::tasks::{NewAnnotationTask, NewStoredItem};
use crate::tests::test_data::url_in;
use crate::{Store, StoreError};

fn item(text: &str) -> NewStoredItem {
    NewStoredItem { shown: Key::of("test", text.as_bytes()), body: text.to_owned() }
}

fn task<'a>(name: &'a str, hash: &str, items: &'a [NewStoredItem]) -> NewAnnotationTask<'a> {
    NewAnnotationTask {
        name,
        secret: [7; 32],
        hash: Key::of("hash", hash.as_bytes()),
        body: "{}",
        items,
        at: Moment(5),
    }
}

/// HU-01: a task is stored once; other content under its name is the next version, and the first one stays as it is.
#[test]
pub(crate) fn other_content_is_a_new_version() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&url_in(folder.path())).unwrap();
    let (two, three) = ([item("a"), item("b")], [item("a"), item("b"), item("c")]);
    let (first, is_new) = store.add_annotation_task(&task("t", "1", &two)).unwrap();
    assert_eq!((first.version, first.items, is_new), (1, 2, true));
    let again = store.add_annotation_task(&NewAnnotationTask { secret: [8; 32], ..task("t", "1", &two) }).unwrap();
    assert_eq!(again, (first.clone(), false));
    let (second, is_new) = store.add_annotation_task(&task("t", "2", &three)).unwrap();
    assert_eq!((second.version, second.items, is_new), (2, 3, true));
    assert_eq!(store.annotation_task("t", None).unwrap(), Some(second.clone()));
    assert_eq!(store.annotation_task("t", Some(1)).unwrap(), Some(first.clone()));
    assert_eq!(store.annotation_task("u", None).unwrap(), None);
    assert_eq!(store.annotation_twins(first.id).unwrap()[&item("b").shown], [(second.id, 1)]);
    assert_eq!(store.annotation_items(second.id).unwrap().len(), 3);
}

/// HU-04: a change that fails writes nothing; one that succeeds is there after the store was opened again.
#[test]
pub(crate) fn a_change_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_in(folder.path());
    let store = Store::open(&url).unwrap();
    let items = [item("a")];
    let (task, _) = store.add_annotation_task(&task("t", "1", &items)).unwrap();
    let failed = store.change_annotations(task.id, |change| {
        change.add_event(Some(0), "ann", "label", "{}", Moment(6))?;
        Err::<(), _>(StoreError::Closed)
    });
    assert!(failed.is_err() && store.annotation_events(task.id, 0).unwrap().is_empty());
    let written = store.change_annotations(task.id, |change| {
        change.set_lease(0, "ann", Moment(9))?;
        change.set_draft(0, "ann", Some("half"), Moment(6))?;
        change.add_event(Some(0), "ann", "label", "{\"x\":1}", Moment(6))?;
        Ok::<_, StoreError>(change.events(0)?.len())
    });
    assert_eq!(written.unwrap(), 1);
    drop(store);
    let store = Store::open(&url).unwrap();
    let events = store.annotation_events(task.id, 0).unwrap();
    assert_eq!((events[0].person.as_str(), events[0].item, events[0].body.as_str()), ("ann", Some(0), "{\"x\":1}"));
    let kept = store.change_annotations(task.id, |change| {
        Ok::<_, StoreError>((change.leases()?, change.draft(0, "ann")?, change.draft(0, "bob")?))
    });
    assert_eq!(kept.unwrap(), (vec![(0, "ann".to_owned(), Moment(9))], Some("half".to_owned()), None));
}

/// HU-40: the tasks that were closed are found by their last event.
#[test]
pub(crate) fn tasks_are_found_by_their_last_event() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&url_in(folder.path())).unwrap();
    let items = [item("a")];
    let [closed, open, untouched] =
        ["closed", "open", "untouched"].map(|name| store.add_annotation_task(&task(name, name, &items)).unwrap().0);
    let add = |task: i64, kind: &str| {
        let added = store.change_annotations(task, |change| change.add_event(None, "ann", kind, "{}", Moment(6)));
        added.map_err(|error: StoreError| error).unwrap();
    };
    for (task, kind) in [(closed.id, "label"), (open.id, "label"), (closed.id, "close")] {
        add(task, kind);
    }
    assert_eq!(store.annotation_tasks_ended_by("close").unwrap(), [closed]);
    assert_eq!(store.annotation_tasks().unwrap()[0], untouched);
}
