//! Within a crate too, arrows go one way: a test reads who names whom and refuses files that name each other in a circle.
//!
//! A file below a module may name that module's own things: that is what a module is for. Everything else counts, and
//! what a module hands on (`pub use`) counts as named in the file that it comes from.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// Names from the root of a crate: of a module, or of something in one.
type Names = Vec<String>;

/// What a file says of its crate.
#[derive(Default)]
struct Room {
    named: BTreeSet<Names>,
    /// What it hands on, by the name that others use.
    faces: BTreeMap<String, Names>,
}

/// Collects what a file of this module names.
struct Reader<'a> {
    module: &'a [String],
    room: Room,
}

impl Reader<'_> {
    /// The names from the root, where the path stays in the crate.
    fn inside(&self, path: &[String]) -> Option<Names> {
        let up = path.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (self.module, &path[1..]),
            "super" => (&self.module[..self.module.len().checked_sub(up)?], &path[up..]),
            _ => return None,
        };
        Some(base.iter().chain(rest).cloned().collect())
    }

    fn names(&mut self, path: &[String]) {
        let names = self.inside(path);
        self.room.named.extend(names);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(ItemMod { attrs, .. }) | Item::Use(ItemUse { attrs, .. }) => attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        for (path, name) in paths {
            match item.vis {
                Visibility::Inherited => self.names(&path),
                _ => {
                    let inside = self.inside(&path).unwrap_or_else(|| [self.module, &path].concat());
                    self.room.faces.insert(name, inside);
                }
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.names(&words);
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|what| what.is_ident("test"))
}

/// The paths of a `use`, each with the name that it gets.
fn flatten(tree: &UseTree, before: &mut Vec<String>, paths: &mut Vec<(Vec<String>, String)>) {
    let mut end = |name: String, shown: String| paths.push(([&before[..], &[name]].concat(), shown));
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, paths);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, paths)),
        UseTree::Name(name) if name.ident == "self" => {
            paths.push((before.clone(), before.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => end(name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(name) => end(name.ident.to_string(), name.rename.to_string()),
        UseTree::Glob(_) => paths.push((before.clone(), String::new())),
    }
}

/// The files of a crate by module, tests left out.
fn files(folder: &Path, module: &[String], found: &mut BTreeMap<Names, PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let inner = [module, std::slice::from_ref(&name)].concat();
        match (path.is_dir(), name.as_str()) {
            (_, "tests" | "testing" | "bin") => {}
            (true, _) => files(&path, &inner, found),
            (false, _) if path.extension().is_none_or(|form| form != "rs") => {}
            (false, "lib" | "main" | "mod") => drop(found.insert(module.to_vec(), path)),
            (false, _) => drop(found.insert(inner, path)),
        }
    }
}

/// The module whose file holds what these names lead to.
fn home(names: &[String], rooms: &BTreeMap<Names, Room>) -> Option<Names> {
    let module = (0..=names.len()).rev().map(|end| &names[..end]).find(|module| rooms.contains_key(*module))?;
    match names.get(module.len()).and_then(|name| rooms[module].faces.get(name)) {
        Some(inside) if inside != names => home(inside, rooms),
        _ => Some(module.to_vec()),
    }
}

/// The arrows of a crate's files.
fn arrows(source: &Path) -> BTreeMap<Names, BTreeSet<Names>> {
    let mut paths = BTreeMap::new();
    files(source, &[], &mut paths);
    let read = |(module, path): (&Names, &PathBuf)| {
        let text = fs::read_to_string(path).unwrap();
        let mut reader = Reader { module, room: Room::default() };
        reader.visit_file(&syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        (module.clone(), reader.room)
    };
    let rooms: BTreeMap<Names, Room> = paths.iter().map(read).collect();
    let of = |(module, room): (&Names, &Room)| {
        let homes = room.named.iter().filter_map(|names| home(names, &rooms));
        (module.clone(), homes.filter(|home| !module.starts_with(home)).collect())
    };
    rooms.iter().map(of).collect()
}

/// A circle that is found from here: the modules on the way, the first once more at its end.
fn circle(
    at: &Names,
    arrows: &BTreeMap<Names, BTreeSet<Names>>,
    way: &mut Vec<Names>,
    seen: &mut BTreeSet<Names>,
) -> Option<Vec<Names>> {
    if let Some(start) = way.iter().position(|module| module == at) {
        return Some(way[start..].iter().chain([at]).cloned().collect());
    }
    if !seen.insert(at.clone()) {
        return None;
    }
    way.push(at.clone());
    let found = arrows[at].iter().find_map(|next| circle(next, arrows, way, seen));
    way.pop();
    found
}

#[test]
fn no_files_name_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut circles = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let arrows = arrows(&folder.join("src"));
        let mut seen = BTreeSet::new();
        for module in arrows.keys() {
            if let Some(way) = circle(module, &arrows, &mut Vec::new(), &mut seen) {
                let way: Vec<String> = way.iter().map(|module| module.join("::")).collect();
                circles.push(format!("{}: {}", folder.file_name().unwrap().display(), way.join(" → ")));
            }
        }
    }
    assert!(circles.is_empty(), "move what both ends need into a file of its own:\n{}", circles.join("\n"));
}
