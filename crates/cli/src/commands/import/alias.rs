//! `--alias OLD=NEW`: two names for one thing.

use formats::Imported;
use model::{Point, Value};

use crate::error::CliError;

pub struct Aliases(Vec<(String, String)>);

impl Aliases {
    /// Parses `OLD=NEW` pairs.
    pub fn parse(texts: &[String]) -> Result<Aliases, CliError> {
        texts
            .iter()
            .map(|text| {
                let pair = text.split_once('=').filter(|(old, new)| !old.is_empty() && !new.is_empty());
                let pair = pair.map(|(old, new)| (old.to_owned(), new.to_owned()));
                pair.ok_or_else(|| {
                    CliError::user_error(format!("--alias {text}: no two names")).with_hint("write --alias OLD=NEW")
                })
            })
            .collect::<Result<_, _>>()
            .map(Aliases)
    }

    /// Renames benchmarks, keys and values of keys in all imports.
    ///
    /// # Errors
    /// No result has the old name.
    pub fn rename_all(&self, imports: &mut [Imported]) -> Result<(), CliError> {
        for (old, new) in &self.0 {
            let mut uses = 0;
            for import in imports.iter_mut() {
                let before = uses;
                for result in &mut import.results {
                    if result.benchmark == *old {
                        result.benchmark.clone_from(new);
                        uses += 1;
                    }
                    uses += rename_key(&mut result.keys, old, new);
                }
                if uses > before {
                    import.notes.push(format!("`{old}` was read as `{new}` (--alias)"));
                }
            }
            if uses == 0 {
                let what = format!("--alias {old}={new}: no benchmark, key or value of a key is `{old}`");
                return Err(CliError::user_error(what)
                    .with_hint("`etalon compare STORE` shows the names; quote those with blanks"));
            }
        }
        Ok(())
    }
}

/// Renames a key, and values that read like it; returns how many were renamed.
fn rename_key(keys: &mut Point, old: &str, new: &str) -> usize {
    let mut uses = 0;
    if let Some(value) = keys.remove(old) {
        keys.insert(new.to_owned(), value);
        uses += 1;
    }
    for value in keys.values_mut().filter(|value| value.to_string() == old) {
        *value = new.parse().map_or_else(|_| Value::Text(new.to_owned()), Value::Int);
        uses += 1;
    }
    uses
}

#[cfg(test)]
mod tests {
    use formats::reader;

    use super::*;

    #[test]
    fn an_alias_renames_benchmarks_keys_and_values() {
        let text = "system,benchmark,metric,value,size\na,x,iops,1,4 kB\n";
        let options = formats::Options::default();
        let input =
            reader::Input { system: "a", is_named: false, source: "t.csv", below: "t.csv", text, options: &options };
        let reader::Reads::Text(read) = formats::tidy::READER.reads else { panic!("tidy tables are texts") };
        let mut imports = vec![read(&input).unwrap().imported];
        let texts = ["x=y", "size=bs", "4 kB=4096"].map(str::to_owned);
        Aliases::parse(&texts).unwrap().rename_all(&mut imports).unwrap();
        let result = &imports[0].results[0];
        assert_eq!((result.benchmark.as_str(), result.keys.get("bs")), ("y", Some(&Value::Int(4096))));
        let absent = Aliases::parse(&["z=y".to_owned()]).unwrap();
        assert!(absent.rename_all(&mut imports).is_err());
        assert!(Aliases::parse(&["z".to_owned()]).is_err());
    }
}
