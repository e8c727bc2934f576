//! duplex-rpc for Zig guests in one file: values as slices of the payload, frames, and a session that answers one call at a
//! time. While a function waits for the host or for a stream, everything else that arrives is kept for later.
const std = @import("std");
const allocator = std.heap.wasm_allocator;

const Iovec = extern struct { base: [*]const u8, len: usize };
extern "wasi_snapshot_preview1" fn fd_read(fd: i32, iovs: *const Iovec, count: usize, result: *usize) u16;
extern "wasi_snapshot_preview1" fn fd_write(fd: i32, iovs: *const Iovec, count: usize, result: *usize) u16;
extern "wasi_snapshot_preview1" fn poll_oneoff(from: *const anyopaque, to: *anyopaque, count: usize, result: *usize) u16;
extern "wasi_snapshot_preview1" fn proc_exit(code: u32) noreturn;

/// The largest frame that is taken, four times what a host sends by default. A larger one is refused on its header.
pub const max_frame = 64 << 20;

/// `Failed` has its reason in the session.
pub const Error = error{ Failed, OutOfMemory };

/// One encoded value. Empty when there is none.
pub const Value = struct {
    bytes: []const u8 = "",

    const Head = struct { kind: enum { scalar, text, binary, array, map }, size: usize, count: usize };

    fn big(bytes: []const u8) u64 {
        var value: u64 = 0;
        for (bytes) |byte| value = value << 8 | byte;
        return value;
    }

    fn head(bytes: []const u8) Head {
        const lead = bytes[0];
        return switch (lead) {
            0x80...0x8f => .{ .kind = .map, .size = 1, .count = lead & 15 },
            0x90...0x9f => .{ .kind = .array, .size = 1, .count = lead & 15 },
            0xa0...0xbf => .{ .kind = .text, .size = 1, .count = lead & 31 },
            0xc4 => .{ .kind = .binary, .size = 2, .count = bytes[1] },
            0xd9 => .{ .kind = .text, .size = 2, .count = bytes[1] },
            0xc5 => .{ .kind = .binary, .size = 3, .count = @intCast(big(bytes[1..3])) },
            0xda => .{ .kind = .text, .size = 3, .count = @intCast(big(bytes[1..3])) },
            0xc6 => .{ .kind = .binary, .size = 5, .count = @intCast(big(bytes[1..5])) },
            0xdb => .{ .kind = .text, .size = 5, .count = @intCast(big(bytes[1..5])) },
            0xdc => .{ .kind = .array, .size = 3, .count = @intCast(big(bytes[1..3])) },
            0xdd => .{ .kind = .array, .size = 5, .count = @intCast(big(bytes[1..5])) },
            0xde => .{ .kind = .map, .size = 3, .count = @intCast(big(bytes[1..3])) },
            0xdf => .{ .kind = .map, .size = 5, .count = @intCast(big(bytes[1..5])) },
            0xcc, 0xd0 => .{ .kind = .scalar, .size = 2, .count = 0 },
            0xcd, 0xd1 => .{ .kind = .scalar, .size = 3, .count = 0 },
            0xca, 0xce, 0xd2 => .{ .kind = .scalar, .size = 5, .count = 0 },
            0xcb, 0xcf, 0xd3 => .{ .kind = .scalar, .size = 9, .count = 0 },
            else => .{ .kind = .scalar, .size = 1, .count = 0 },
        };
    }

    /// Whether the bytes are one value, and nothing else. Checked when they come, so that nothing below reads beyond them.
    fn isWellFormed(bytes: []const u8) bool {
        // Bytes that come before the content, or are it, by what leads from 0xc0 to 0xdf. None for extensions, which have no place here.
        const heads = [32]u8{ 1, 0, 1, 1, 2, 3, 5, 0, 0, 0, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 0, 0, 0, 0, 0, 2, 3, 5, 3, 5, 3, 5 };
        var rest = bytes;
        var left: u64 = 1;
        while (left > 0) : (left -= 1) {
            if (rest.len == 0) return false;
            const size = if (rest[0] >= 0xc0 and rest[0] < 0xe0) heads[rest[0] - 0xc0] else 1;
            if (size == 0 or rest.len < size) return false;
            const item = head(rest);
            rest = rest[item.size..];
            switch (item.kind) {
                .scalar => {},
                .text, .binary => {
                    if (item.count > rest.len) return false;
                    rest = rest[item.count..];
                },
                .array => left += item.count,
                .map => left += 2 * @as(u64, item.count),
            }
            if (left - 1 > rest.len) return false; // a value takes a byte at least
        }
        return rest.len == 0;
    }

    /// Whether it has the fields of its type; others mean nothing.
    fn isMessage(self: Value) bool {
        const kind = self.get("type");
        if (!self.get("id").isId() or !kind.isWhole(5)) return false;
        const expects = self.get("expectsResponse").bytes;
        return switch (@as(u8, @intFromFloat(kind.number()))) {
            0 => self.get("functionName").isText() and (expects.len == 0 or expects[0] == 0xc2 or expects[0] == 0xc3),
            2, 5 => self.get("error").isText(),
            3 => self.get("chunk").bytes.len > 0,
            else => true,
        };
    }

    pub fn isText(self: Value) bool {
        return self.bytes.len > 0 and head(self.bytes).kind == .text;
    }

    /// Whether it can be the id of a stream, or the name of a function.
    pub fn isId(self: Value) bool {
        return self.isText() and self.text().len > 0;
    }

    pub fn isNumber(self: Value) bool {
        if (self.bytes.len == 0) return false;
        return switch (self.bytes[0]) {
            0x00...0x7f, 0xca...0xd3, 0xe0...0xff => true,
            else => false,
        };
    }

    /// Whether it is a whole number from 0 to `most`.
    pub fn isWhole(self: Value, most: f64) bool {
        const content = self.number();
        return self.isNumber() and content >= 0 and content <= most and content == @floor(content);
    }

    /// Whether it is a list that starts with two numbers.
    pub fn isPair(self: Value) bool {
        return self.index(0).isNumber() and self.index(1).isNumber();
    }

    pub fn isNil(self: Value) bool {
        return self.bytes.len == 0 or self.bytes[0] == 0xc0;
    }

    /// The first value of some bytes.
    fn first(bytes: []const u8) Value {
        var at: usize = 0;
        var left: usize = 1;
        while (left > 0) : (left -= 1) {
            const item = head(bytes[at..]);
            at += item.size;
            switch (item.kind) {
                .scalar => {},
                .text, .binary => at += item.count,
                .array => left += item.count,
                .map => left += 2 * item.count,
            }
        }
        return .{ .bytes = bytes[0..at] };
    }

    pub fn get(self: Value, key: []const u8) Value {
        if (self.bytes.len == 0) return .{};
        const item = head(self.bytes);
        if (item.kind != .map) return .{};
        var at = item.size;
        for (0..item.count) |_| {
            const name = first(self.bytes[at..]);
            const value = first(self.bytes[at + name.bytes.len ..]);
            if (std.mem.eql(u8, name.text(), key)) return value;
            at += name.bytes.len + value.bytes.len;
        }
        return .{};
    }

    pub fn index(self: Value, wanted: usize) Value {
        if (self.bytes.len == 0) return .{};
        const item = head(self.bytes);
        if (item.kind != .array or wanted >= item.count) return .{};
        var at = item.size;
        for (0..wanted) |_| at += first(self.bytes[at..]).bytes.len;
        return first(self.bytes[at..]);
    }

    /// The bytes of a text.
    pub fn text(self: Value) []const u8 {
        if (self.bytes.len == 0) return "";
        const item = head(self.bytes);
        return if (item.kind == .text) self.bytes[item.size..][0..item.count] else "";
    }

    pub fn number(self: Value) f64 {
        if (self.bytes.len == 0) return 0;
        const lead = self.bytes[0];
        const rest = self.bytes[1..];
        return switch (lead) {
            0x00...0x7f => @floatFromInt(lead),
            0xe0...0xff => @floatFromInt(@as(i8, @bitCast(lead))),
            0xca => @as(f32, @bitCast(@as(u32, @intCast(big(rest))))),
            0xcb => @as(f64, @bitCast(big(rest))),
            0xcc...0xcf => @floatFromInt(big(rest)),
            0xd0 => @floatFromInt(@as(i8, @bitCast(rest[0]))),
            0xd1 => @floatFromInt(@as(i16, @bitCast(@as(u16, @intCast(big(rest)))))),
            0xd2 => @floatFromInt(@as(i32, @bitCast(@as(u32, @intCast(big(rest)))))),
            0xd3 => @floatFromInt(@as(i64, @bitCast(big(rest)))),
            else => 0,
        };
    }
};

/// Builds encoded values.
pub const Writer = struct {
    bytes: []u8 = "",
    size: usize = 0,

    pub fn raw(self: *Writer, bytes: []const u8) void {
        if (self.size + bytes.len > self.bytes.len) {
            self.bytes = allocator.realloc(self.bytes, (self.size + bytes.len) * 2) catch @trap();
        }
        @memcpy(self.bytes[self.size..][0..bytes.len], bytes);
        self.size += bytes.len;
    }
    fn sized(self: *Writer, lead: u8, size: usize) void {
        self.raw(&.{ lead, @truncate(size >> 24), @truncate(size >> 16), @truncate(size >> 8), @truncate(size) });
    }
    pub fn text(self: *Writer, content: []const u8) void {
        self.sized(0xdb, content.len);
        self.raw(content);
    }
    pub fn binary(self: *Writer, content: []const u8) void {
        self.sized(0xc6, content.len);
        self.raw(content);
    }
    pub fn array(self: *Writer, count: usize) void {
        self.sized(0xdd, count);
    }
    pub fn number(self: *Writer, content: f64) void {
        const whole = @floor(content) == content and @abs(content) < 9e15;
        const bits: u64 = if (whole) @bitCast(@as(i64, @intFromFloat(content))) else @bitCast(content);
        self.raw(&.{if (whole) 0xd3 else 0xcb});
        var shift: u7 = 64;
        while (shift > 0) {
            shift -= 8;
            self.raw(&.{@truncate(bits >> @intCast(shift))});
        }
    }
    pub fn value(self: *Writer, item: Value) void {
        self.raw(if (item.bytes.len == 0) "\xc0" else item.bytes);
    }
};

/// The session with the host.
pub const Host = struct {
    later: std.ArrayList(Value) = .empty,
    issued: u32 = 0,
    /// Why a function failed.
    reason: []const u8 = "",

    /// Fails a function.
    pub fn failed(self: *Host, reason: []const u8) Error {
        self.reason = reason;
        return Error.Failed;
    }

    /// Fails a function whose result has no place on the wire.
    pub fn finite(self: *Host, result: f64) Error!f64 {
        return if (std.math.isFinite(result)) result else self.failed("the result is not a finite number");
    }

    /// Fails a function unless what it was given fits.
    pub fn takes(self: *Host, fits: bool, reason: []const u8) Error!void {
        if (!fits) return self.failed(reason);
    }

    fn transfer(comptime operation: anytype, fd: i32, bytes: []const u8) bool {
        var at: usize = 0;
        while (at < bytes.len) {
            const iovec: Iovec = .{ .base = bytes.ptr + at, .len = bytes.len - at };
            var count: usize = 0;
            if (operation(fd, &iovec, 1, &count) != 0 or count == 0) return false;
            at += count;
        }
        return true;
    }

    /// Sends a message: its type, its id, and further fields as they are.
    fn send(_: *Host, kind: u8, id: Value, fields: u8, rest: []const u8) void {
        var frame: Writer = .{};
        defer allocator.free(frame.bytes);
        frame.raw("\x01\x00\x00\x00\x00");
        frame.raw(&.{ 0x82 + fields, 0xa4, 't', 'y', 'p', 'e', kind, 0xa2, 'i', 'd' });
        frame.value(id);
        frame.raw(rest);
        const size = frame.size - 5;
        for (0..4) |place| frame.bytes[1 + place] = @truncate(size >> @intCast(8 * (3 - place)));
        if (!transfer(fd_write, 1, frame.bytes[0..frame.size])) @trap();
    }

    /// Waits for a message of one of the types, with an id if there is one, and keeps the others for later.
    fn wait(self: *Host, low: f64, high: f64, id: []const u8) Error!Value {
        for (self.later.items, 0..) |message, place| {
            if (wanted(message, low, high, id)) return self.later.orderedRemove(place);
        }
        while (true) {
            var header: [5]u8 = undefined;
            if (!transfer(fd_read, 0, &header)) return self.failed("the host is gone");
            const size = Value.big(header[1..]);
            // Whoever speaks another version, or sends what is no message, is not listened to any more.
            if (header[0] != 1 or size > max_frame) proc_exit(1);
            const payload = try allocator.alloc(u8, @intCast(size));
            if (!transfer(fd_read, 0, payload)) return self.failed("the host is gone");
            const message: Value = .{ .bytes = payload };
            if (!Value.isWellFormed(payload) or !message.isMessage()) proc_exit(1);
            if (wanted(message, low, high, id)) return message;
            // An answer that nobody waits for must not become that of a later call.
            if (wanted(message, 1, 2, "")) allocator.free(payload) else try self.later.append(allocator, message);
        }
    }

    fn wanted(message: Value, low: f64, high: f64, id: []const u8) bool {
        const kind = message.get("type").number();
        return kind >= low and kind <= high and (id.len == 0 or std.mem.eql(u8, message.get("id").text(), id));
    }

    /// Calls a function of the host and waits for its answer.
    pub fn call(self: *Host, name: Value, params: Value) Error!Value {
        var id: Writer = .{};
        var digits: [16]u8 = undefined;
        id.text(std.fmt.bufPrint(&digits, "g{d}", .{self.issued}) catch unreachable);
        self.issued += 1;
        var fields: Writer = .{};
        fields.text("functionName");
        fields.value(name);
        fields.text("params");
        fields.value(params);
        const issued: Value = .{ .bytes = id.bytes[0..id.size] };
        self.send(0, issued, 2, fields.bytes[0..fields.size]);
        const answer = try self.wait(1, 2, issued.text());
        return if (answer.get("type").number() == 2) self.failed(answer.get("error").text()) else answer.get("result");
    }

    /// Sends one chunk of a stream.
    pub fn chunk(self: *Host, stream: Value, bytes: []const u8) void {
        var fields: Writer = .{};
        defer allocator.free(fields.bytes);
        fields.text("chunk");
        fields.binary(bytes);
        self.send(3, stream, 1, fields.bytes[0..fields.size]);
    }

    /// Ends a stream.
    pub fn end(self: *Host, stream: Value) void {
        self.send(4, stream, 0, "");
    }

    /// Ends a stream with an error.
    pub fn fail(self: *Host, stream: Value, problem: Value) void {
        var fields: Writer = .{};
        defer allocator.free(fields.bytes);
        fields.text("error");
        fields.value(problem);
        self.send(5, stream, 1, fields.bytes[0..fields.size]);
    }

    /// The next chunk of a stream, or nothing at its end.
    pub fn receive(self: *Host, stream: Value) Error!?Value {
        const message = try self.wait(3, 5, stream.text());
        const kind = message.get("type").number();
        if (kind == 5) return self.failed(message.get("error").text());
        return if (kind == 4) null else message.get("chunk");
    }

    /// Answers calls until the host ends the input. A function writes its result.
    pub fn serve(self: *Host, run: *const fn (*Host, []const u8, Value, *Writer) Error!void) void {
        while (self.wait(0, 0, "") catch null) |message| {
            defer allocator.free(message.bytes);
            var fields: Writer = .{};
            defer allocator.free(fields.bytes);
            fields.text("result");
            var kind: u8 = 1;
            run(self, message.get("functionName").text(), message.get("params"), &fields) catch |problem| {
                kind = 2;
                fields.size = 0;
                fields.text("error");
                fields.text(if (problem == Error.Failed) self.reason else @errorName(problem));
            };
            const expects = message.get("expectsResponse").bytes;
            if (expects.len == 1 and expects[0] == 0xc2) continue;
            self.send(kind, message.get("id"), 1, fields.bytes[0..fields.size]);
        }
    }
};

/// Sleeps.
pub fn sleep(milliseconds: f64) void {
    var subscription: [6]u64 align(8) = @splat(0);
    var event: [4]u64 align(8) = undefined;
    var count: usize = 0;
    subscription[2] = 1; // the monotonic clock
    subscription[3] = @intFromFloat(milliseconds * 1e6);
    _ = poll_oneoff(&subscription, &event, 1, &count);
}
