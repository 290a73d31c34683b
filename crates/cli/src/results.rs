//! What is compared: one store, or several of experiments that were not run together.

use std::path::{Path, PathBuf};

use model::Series;
use report::cross_experiment::{JoinedSeries, Source, join};
use report::{Evidence, SeriesSource};
use store::{EXTENSION, Store, StoreError};

use crate::error::CliError;

/// A store's content with its histograms.
pub struct Results {
    pub evidence: Evidence,
    histograms: JoinedSeries<Store>,
}

impl SeriesSource for Results {
    fn series(&self, run: i64) -> Result<Vec<Series>, StoreError> {
        self.histograms.series(run)
    }
}

/// `STORE` or `STORE:SYSTEM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub store: PathBuf,
    pub system: Option<String>,
}

impl Side {
    /// A name that is a file's is that file, whatever colons it has.
    pub fn parse(text: &str) -> Side {
        let whole = Side { store: PathBuf::from(text), system: None };
        if Path::new(text).exists() {
            return whole;
        }
        text.match_indices(':')
            .map(|(at, _)| text.split_at(at))
            .find(|(store, _)| Path::new(store).exists() || has_extension(Path::new(store)))
            .map_or(whole, |(store, system)| Side { store: PathBuf::from(store), system: Some(system[1..].to_owned()) })
    }

    fn is_store(&self) -> bool {
        self.store.exists() || has_extension(&self.store)
    }
}

fn has_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// The store of the first argument alone, with the names of systems behind it; or the stores of all arguments.
pub fn split<'a>(first: &str, others: &'a [String]) -> Result<(Vec<Side>, &'a [String]), CliError> {
    let of_store = |other: &&String| Side::parse(other).is_store() && !is_system(first, other);
    let stores = others.iter().filter(of_store).count();
    if stores == 0 {
        return match others {
            [] | [_] | [_, _] => Ok((vec![Side::parse(first)], others)),
            [_, _, more, ..] => {
                Err(CliError::user(format!("`{more}` is one too many: a store is compared by two of its systems"))
                    .hint("`etalon compare STORE A B`, or several stores: `etalon compare OLD.etalon NEW.etalon`"))
            }
        };
    }
    if let Some(name) = others.iter().find(|other| !of_store(other)) {
        let stores = std::iter::once(first).chain(others.iter().filter(of_store).map(String::as_str));
        let named: Vec<String> = stores.map(|store| format!("{store}:{name}")).collect();
        return Err(CliError::user(format!("there is no store `{name}`")).hint(format!(
            "a system of several stores is named with each of them: `etalon compare {}`",
            named.join(" ")
        )));
    }
    Ok((std::iter::once(first).chain(others.iter().map(String::as_str)).map(Side::parse).collect(), &[]))
}

/// Whether it names a system of that store, which a file of that name then does not hide.
fn is_system(store: &str, name: &str) -> bool {
    !has_extension(Path::new(name))
        && Store::open_read_only(Path::new(store)).ok().is_some_and(|store| store.header().plan.system(name).is_some())
}

/// Opens one store, or joins several, of which the others are compared with the first.
pub fn open(sides: &[Side]) -> Result<Results, CliError> {
    if let [Side { store, system }] = sides {
        if let Some(system) = system {
            let path = store.display();
            return Err(CliError::user(format!("`{path}:{system}` is one side, and a comparison takes two"))
                .hint(format!("`etalon compare {path}` compares its systems; a second store may follow")));
        }
        let store = Store::open_read_only(store)?;
        return Ok(Results { evidence: Evidence::read(&store)?, histograms: JoinedSeries::of_one(store) });
    }
    let stores: Vec<Store> = sides.iter().map(|side| Store::open_read_only(&side.store)).collect::<Result<_, _>>()?;
    let sources: Vec<Source> = sides
        .iter()
        .zip(&stores)
        .map(|(side, store)| {
            let file = side.store.display().to_string();
            Ok(Source { file, system: side.system.clone(), evidence: Evidence::read(store)? })
        })
        .collect::<Result<_, CliError>>()?;
    let evidence = join(&sources).map_err(|error| CliError::user(error.to_string()).hint(error.hint()))?;
    let histograms = match &evidence.apart {
        Some(apart) => JoinedSeries::new(apart, stores),
        None => return Err(CliError::could_not("the stores could not be joined")),
    };
    Ok(Results { evidence, histograms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_store_with_or_without_a_system() {
        assert_eq!(side("a/old.etalon"), ("a/old.etalon".to_owned(), None));
        assert_eq!(side("a/old.etalon:pg"), parts("a/old.etalon", "pg"));
        assert_eq!(side(r"C:\old.etalon:pg: 18"), parts(r"C:\old.etalon", "pg: 18"));
        assert_eq!(side("wal"), ("wal".to_owned(), None));
    }

    fn parts(store: &str, system: &str) -> (String, Option<String>) {
        (store.to_owned(), Some(system.to_owned()))
    }

    fn side(text: &str) -> (String, Option<String>) {
        let Side { store, system } = Side::parse(text);
        (store.display().to_string(), system)
    }
}
