// Integer noise with the same bits everywhere; bench/graphics/reference.rs has the same.
uint hash(uint x) {
    x ^= x >> 16; x *= 0x7feb352du;
    x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ (x >> 16);
}
float unit(uint x) { return float(hash(x) >> 8) * (1.0 / 16777216.0); }
