//! Finds the word that a user may have meant.

/// Finds the candidate within a typing slip of `word`. Case is ignored; of equals the first wins.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // No slip is that long, and the distance is quadratic.
    let length = word.chars().count();
    if length > 100 {
        return None;
    }
    let mut best: Option<(&str, usize, f64)> = None;
    for candidate in candidates {
        let lower = candidate.to_lowercase();
        let edits = strsim::damerau_levenshtein(&word, &lower);
        let likeness = strsim::jaro_winkler(&word, &lower);
        // One edit in every three letters; or a long common beginning, which the second measure favours.
        let shorter = length.min(lower.chars().count());
        if edits * 3 > shorter && likeness < 0.88 {
            continue;
        }
        if best.is_none_or(|(_, e, l)| edits < e || (edits == e && likeness > l)) {
            best = Some((candidate, edits, likeness));
        }
    }
    best.map(|(candidate, _, _)| candidate)
}

/// Makes the hint `did you mean …?` of an error about an unknown word, if a candidate is near it.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// Makes the hint `did you mean …?`, or else a list of the candidates: `there are a, b`.
pub fn did_you_mean_or_list<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = candidates.into_iter().collect();
    did_you_mean(word, known.iter().copied()).or_else(|| match known.as_slice() {
        [] => None,
        [only] => Some(format!("there is only `{only}`")),
        _ => Some(format!("there are {}", known.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean_or_list, nearest};

    #[test]
    fn a_hint_has_the_near_word_or_all() {
        let keys = ["clients", "script"];
        assert_eq!(did_you_mean_or_list("cleints", keys).unwrap(), "did you mean `clients`?");
        assert_eq!(did_you_mean_or_list("password", keys).unwrap(), "there are clients, script");
        assert_eq!(did_you_mean_or_list("x", []), None);
    }

    #[test]
    fn finds_slips_and_nothing_else() {
        let keys = ["clients", "script", "scale", "rate", "keys"];
        assert_eq!(nearest("client", keys), Some("clients"));
        assert_eq!(nearest("Clients", keys), Some("clients"));
        assert_eq!(nearest("cleints", keys), Some("clients"));
        assert_eq!(nearest("scirpt", keys), Some("script"));
        assert_eq!(nearest("rat", keys), Some("rate"));
        assert_eq!(nearest("password", keys), None);
        assert_eq!(nearest("x", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest(&"c".repeat(10_000), keys), None);
        assert_eq!(nearest("postgre", ["mysql", "postgres"]), Some("postgres"));
    }
}
