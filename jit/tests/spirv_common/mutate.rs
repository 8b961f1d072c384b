//! Mutants of modules: one or two changes that keep the binary a list of instructions, so that they
//! reach the rules above the format.

use base::random::XorshiftStar as Rng;

/// Returns (start, length) of every instruction; nothing if the words are not a list of them.
pub fn instructions(words: &[u32]) -> Vec<(usize, usize)> {
    let mut at = 5;
    let mut list = Vec::new();
    while at < words.len() {
        let len = (words[at] >> 16) as usize;
        if len == 0 || at + len > words.len() {
            return Vec::new();
        }
        list.push((at, len));
        at += len;
    }
    list
}

/// Makes one change.
fn change(words: &mut Vec<u32>, rng: &mut Rng) {
    let list = instructions(words);
    if list.is_empty() {
        return;
    }
    let (at, len) = list[rng.below(list.len())];
    let operand = |rng: &mut Rng| if len > 1 { at + 1 + rng.below(len - 1) } else { at };
    match rng.below(9) {
        // Another id, or a literal as small as ids are.
        0 | 1 => {
            let bound = words[3].max(2) as usize;
            let o = operand(rng);
            if o != at {
                words[o] = rng.below(bound) as u32;
            }
        }
        // The operand in this position of another instruction of this opcode.
        2 | 3 => {
            let same: Vec<_> = list.iter().filter(|&&(b, l)| words[b] == words[at] && l == len && b != at).collect();
            if !same.is_empty() && len > 1 {
                let o = rng.below(len - 1) + 1;
                words[at + o] = words[same[rng.below(same.len())].0 + o];
            }
        }
        // A small literal.
        4 => {
            let o = operand(rng);
            if o != at {
                words[o] = rng.below(8) as u32;
            }
        }
        5 => drop(words.drain(at..at + len)),
        // Moved to another position.
        6 => {
            let inst: Vec<u32> = words.drain(at..at + len).collect();
            let list = instructions(words);
            if !list.is_empty() {
                let to = list[rng.below(list.len())].0;
                words.splice(to..to, inst);
            }
        }
        // A near opcode.
        7 => {
            let op = (words[at] & 0xffff).wrapping_add(rng.below(9) as u32).wrapping_sub(4);
            words[at] = words[at] & 0xffff_0000 | op & 0xffff;
        }
        // Swapped with the next one.
        _ => {
            let next = list.iter().position(|&(b, _)| b == at).and_then(|i| list.get(i + 1));
            if let Some(&(next, next_len)) = next {
                words[at..next + next_len].rotate_left(len);
            }
        }
    }
}

/// Returns a module with one or two changes.
pub fn mutant(words: &[u32], rng: &mut Rng) -> Vec<u32> {
    let mut words = words.to_vec();
    for _ in 0..=rng.below(2) {
        change(&mut words, rng);
    }
    words
}
