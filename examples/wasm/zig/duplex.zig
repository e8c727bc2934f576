//! duplex-rpc for Zig guests in one file: values as slices of the payload, frames, and a session that answers one call at a
//! time. While a function waits for the host or for a stream, everything else that arrives is kept for later.
const std = @import("std");
const allocator = std.heap.wasm_allocator;

const Iovec = extern struct { base: [*]const u8, len: usize };
extern "wasi_snapshot_preview1" fn fd_read(fd: i32, iovs: *const Iovec, count: usize, result: *usize) u16;
extern "wasi_snapshot_preview1" fn fd_write(fd: i32, iovs: *const Iovec, count: usize, result: *usize) u16;
extern "wasi_snapshot_preview1" fn poll_oneoff(from: *const anyopaque, to: *anyopaque, count: usize, result: *usize) u16;

pub const Error = error{ DivisionByZero, HostGone, HostRefused, StreamFailed, NoSuchFunction, OutOfMemory };

/// One encoded value. Empty when there is none.
pub const Value = struct {
    bytes: []const u8 = "",

    const Head = struct { kind: enum { scalar, text, array, map }, size: usize, count: usize };

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
            0xc4, 0xd9 => .{ .kind = .text, .size = 2, .count = bytes[1] },
            0xc5, 0xda => .{ .kind = .text, .size = 3, .count = @intCast(big(bytes[1..3])) },
            0xc6, 0xdb => .{ .kind = .text, .size = 5, .count = @intCast(big(bytes[1..5])) },
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

    /// The first value of some bytes.
    fn first(bytes: []const u8) Value {
        var at: usize = 0;
        var left: usize = 1;
        while (left > 0) : (left -= 1) {
            const item = head(bytes[at..]);
            at += item.size;
            switch (item.kind) {
                .scalar => {},
                .text => at += item.count,
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

    /// The bytes of a text or binary.
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
    later: [256]?Value = @splat(null),
    issued: u32 = 0,

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
        for (&self.later) |*place| {
            const message = place.* orelse continue;
            if (!wanted(message, low, high, id)) continue;
            place.* = null;
            self.compact();
            return message;
        }
        while (true) {
            var header: [5]u8 = undefined;
            if (!transfer(fd_read, 0, &header) or header[0] != 1) return Error.HostGone; // gone, or of another version
            const payload = try allocator.alloc(u8, @intCast(Value.big(header[1..])));
            if (!transfer(fd_read, 0, payload)) return Error.HostGone;
            const message: Value = .{ .bytes = payload };
            if (message.get("type").bytes.len == 0) return Error.HostGone; // no message at all
            if (wanted(message, low, high, id)) return message;
            for (&self.later) |*place| {
                if (place.* != null) continue;
                place.* = message;
                break;
            } else return Error.OutOfMemory;
        }
    }

    /// Keeps what waits in the order it came.
    fn compact(self: *Host) void {
        var to: usize = 0;
        for (self.later) |place| {
            if (place == null) continue;
            self.later[to] = place;
            to += 1;
        }
        for (self.later[to..]) |*place| place.* = null;
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
        return if (answer.get("type").number() == 2) Error.HostRefused else answer.get("result");
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
        if (kind == 5) return Error.StreamFailed;
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
                fields.text(if (problem == Error.DivisionByZero) "Division by zero" else @errorName(problem));
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
