#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() {
    while (data[0] != 12345u) { data[1] += 1; }
}
