// The payload: a sum over the hits of a path, a hash of them, and their number.
struct Path {
    vec3 sum;
    uint hits;
    uint depth;
};
