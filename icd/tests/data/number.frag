#version 450
layout(location = 0) flat in uint number;
layout(location = 0) out uint result;
void main() { result = number + 1; }
