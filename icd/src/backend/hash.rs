//! A 128-bit hash of bytes: two lanes of multiply-rotate mixing. Guards against damage and collisions by chance, not by intent.

/// Hashes the parts with their lengths.
pub fn hash128(parts: &[&[u8]]) -> [u8; 16] {
    let mut state = [0x9e37_79b9_7f4a_7c15u64, 0xc2b2_ae3d_27d4_eb4f];
    for part in parts {
        for chunk in part.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix(&mut state, u64::from_le_bytes(word));
        }
        mix(&mut state, part.len() as u64 ^ 0x5bd1_e995);
    }
    for _ in 0..4 {
        mix(&mut state, 0);
    }
    let mut out = [0; 16];
    out[..8].copy_from_slice(&state[0].to_le_bytes());
    out[8..].copy_from_slice(&state[1].to_le_bytes());
    out
}

fn mix(state: &mut [u64; 2], word: u64) {
    state[0] = (state[0] ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29).wrapping_add(state[1]);
    state[1] = (state[1] ^ word.rotate_left(32)).wrapping_mul(0xc4ce_b9fe_1a85_ec53).rotate_left(37) ^ state[0];
}
