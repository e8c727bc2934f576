//! A guest with one function for each part of the protocol. `duplex.zig` carries the rest.
const std = @import("std");
const duplex = @import("duplex.zig");
const Host = duplex.Host;
const Value = duplex.Value;
const Writer = duplex.Writer;

fn run(host: *Host, name: []const u8, params: Value, result: *Writer) duplex.Error!void {
    const is = struct {
        fn is(wanted: []const u8, given: []const u8) bool {
            return std.mem.eql(u8, wanted, given);
        }
    }.is;
    if (is("add", name)) {
        try host.takes(params.isPair(), "add takes two numbers");
        result.number(try host.finite(params.index(0).number() + params.index(1).number()));
    } else if (is("divide", name)) {
        try host.takes(params.isPair(), "divide takes two numbers");
        try host.takes(params.index(1).number() != 0, "Division by zero");
        result.number(try host.finite(params.index(0).number() / params.index(1).number()));
    } else if (is("echo", name)) {
        result.value(params);
    } else if (is("callHost", name)) {
        try host.takes(params.get("name").isId(), "name must be the name of a function");
        result.value(try host.call(params.get("name"), params.get("params")));
    } else if (is("produce", name)) {
        try produce(host, params, result);
    } else if (is("consume", name)) {
        try consume(host, params.get("stream"), result);
    } else if (is("sleep", name)) {
        try host.takes(params.isWhole(2147483647), "sleep takes a whole number from 0 to 2147483647");
        duplex.sleep(params.number());
        result.number(1);
    } else return host.failed("There is no such function");
}

fn produce(host: *Host, params: Value, result: *Writer) duplex.Error!void {
    const stream = params.get("stream");
    const problem = params.get("error");
    try host.takes(stream.isId(), "stream must be the id of a stream");
    try host.takes(params.get("count").isWhole(4294967295), "count must be a whole number from 0 to 4294967295");
    try host.takes(params.get("size").isWhole(duplex.max_frame), "size must be a whole number from 0 to 67108864");
    try host.takes(problem.isNil() or problem.isText(), "error must be a text");
    const count: u32 = @intFromFloat(params.get("count").number());
    const bytes = try std.heap.wasm_allocator.alloc(u8, @intFromFloat(params.get("size").number()));
    defer std.heap.wasm_allocator.free(bytes);
    @memset(bytes, 0);
    for (0..count) |sent| {
        if (bytes.len >= 4) std.mem.writeInt(u32, bytes[0..4], @intCast(sent), .little);
        host.chunk(stream, bytes);
    }
    if (problem.isNil()) host.end(stream) else host.fail(stream, problem);
    result.number(@floatFromInt(count));
}

fn consume(host: *Host, stream: Value, result: *Writer) duplex.Error!void {
    try host.takes(stream.isId(), "stream must be the id of a stream");
    var count: f64 = 0;
    var sum: f64 = 0;
    while (try host.receive(stream)) |chunk| {
        count += 1;
        sum += chunk.number();
    }
    result.array(2);
    result.number(count);
    result.number(try host.finite(sum));
}

var session: Host = .{};

pub fn main() void {
    session.serve(run);
}
