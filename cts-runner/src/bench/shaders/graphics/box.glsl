layout(push_constant) uniform Push { vec4 rectangle; vec4 tint; float radius, margin; };
// Distance from the edge of a rectangle with round corners, negative inside.
float box(vec2 p) {
    vec2 q = abs(p) - rectangle.zw * 0.5 + radius;
    return length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - radius;
}
