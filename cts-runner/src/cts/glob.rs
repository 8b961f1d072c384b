//! Patterns over case names and paths. `*` matches any text (including dots, as in deqp's own
//! `--deqp-case`), `?` matches any one character.

/// Returns true if a pattern matches a whole text. The algorithm uses linear memory and no
/// recursion, because only the last star is ever tried again.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

/// Returns true if a text contains `*` or `?`.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defines the meaning of patterns by recursion, as a reference for the tests.
    fn oracle(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.first(), text.first()) {
            (None, None) => true,
            (Some(b'*'), _) => oracle(&pattern[1..], text) || (!text.is_empty() && oracle(pattern, &text[1..])),
            (Some(b'?'), Some(_)) => oracle(&pattern[1..], &text[1..]),
            (Some(a), Some(b)) if a == b => oracle(&pattern[1..], &text[1..]),
            _ => false,
        }
    }

    #[test]
    fn matches_the_oracle_on_all_short_texts() {
        let words = |letters: &[u8], length: u32| -> Vec<Vec<u8>> {
            let base = letters.len();
            (0..=length)
                .flat_map(|n| (0..base.pow(n)).map(move |i| (0..n).map(|k| (i / base.pow(k)) % base).collect()))
                .map(|w: Vec<usize>| w.into_iter().map(|i| letters[i]).collect())
                .collect()
        };
        let mut matching = 0;
        for pattern in words(b"a*?", 4) {
            for text in words(b"ab", 4) {
                let (p, t) = (std::str::from_utf8(&pattern).unwrap(), std::str::from_utf8(&text).unwrap());
                assert_eq!(matches(p, t), oracle(&pattern, &text), "{p} {t}");
                matching += usize::from(matches(p, t));
            }
        }
        assert!(matching > 500);
    }

    #[test]
    fn stars_cross_dots() {
        assert!(matches("dEQP-VK.api.*device*", "dEQP-VK.api.object_management.single.device_group"));
        assert!(!matches("dEQP-VK.api.*", "dEQP-VK.apis"));
        assert!(is_pattern("a.?") && !is_pattern("dEQP-VK.api"));
    }
}
