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
        result.number(params.index(0).number() + params.index(1).number());
    } else if (is("divide", name)) {
        if (params.index(1).number() == 0) return error.DivisionByZero;
        result.number(params.index(0).number() / params.index(1).number());
    } else if (is("echo", name)) {
        result.value(params);
    } else if (is("callHost", name)) {
        result.value(try host.call(params.get("name"), params.get("params")));
    } else if (is("produce", name)) {
        produce(host, params, result);
    } else if (is("consume", name)) {
        try consume(host, params.get("stream"), result);
    } else if (is("sleep", name)) {
        duplex.sleep(params.number());
        result.number(1);
    } else return error.NoSuchFunction;
}

fn produce(host: *Host, params: Value, result: *Writer) void {
    var bytes: [65536]u8 = @splat(0);
    const size: usize = @intFromFloat(@min(params.get("size").number(), bytes.len));
    const count: u32 = @intFromFloat(params.get("count").number());
    for (0..count) |sent| {
        std.mem.writeInt(u32, bytes[0..4], @intCast(sent), .little);
        host.chunk(params.get("stream"), bytes[0..size]);
    }
    const problem = params.get("error");
    if (problem.bytes.len > 0) host.fail(params.get("stream"), problem) else host.end(params.get("stream"));
    result.number(@floatFromInt(count));
}

fn consume(host: *Host, stream: Value, result: *Writer) duplex.Error!void {
    var count: f64 = 0;
    var sum: f64 = 0;
    while (try host.receive(stream)) |chunk| {
        count += 1;
        sum += chunk.number();
    }
    result.array(2);
    result.number(count);
    result.number(sum);
}

var session: Host = .{};

pub fn main() void {
    session.serve(run);
}
