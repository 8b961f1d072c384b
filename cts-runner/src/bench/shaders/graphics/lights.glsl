// Lists of lights by tile of 16x16 pixels: a count, then indices.
const uint LIST = 64u, TILES = 64u;
struct Light { vec2 middle; float radius; uint color; };
