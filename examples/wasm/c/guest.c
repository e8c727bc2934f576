// A guest with one function for each part of the protocol. `duplex.h` carries the rest.
#include "duplex.h"

static void add(dx_call *call) {
  dx_value left = dx_at(call->params, 0), right = dx_at(call->params, 1);
  if (!dx_takes(call, dx_is_number(left) && dx_is_number(right), "add takes two numbers")) return;
  dx_return_number(call, dx_num(left, 0) + dx_num(right, 0));
}

static void divide(dx_call *call) {
  dx_value left = dx_at(call->params, 0), right = dx_at(call->params, 1);
  if (!dx_takes(call, dx_is_number(left) && dx_is_number(right), "divide takes two numbers")) return;
  if (dx_takes(call, dx_num(right, 0) != 0, "Division by zero")) dx_return_number(call, dx_num(left, 0) / dx_num(right, 0));
}

static void echo(dx_call *call) { dx_return(call, call->params); }

// { name, params, times? }: calls a function of the host, again and again, and returns its last answer.
typedef struct { dx_call *call; double left; } host_calls;
static void host_answered(void *state, int failed, dx_value value) {
  host_calls *calls = state;
  if (!failed && --calls->left >= 1) {
    dx_call_host(dx_param(calls->call, "name"), dx_param(calls->call, "params"), host_answered, calls);
    return;
  }
  if (failed) dx_fail_with(calls->call, value);
  else dx_return(calls->call, value);
  free(calls);
}
static void call_host(dx_call *call) {
  dx_value times = dx_param(call, "times");
  if (!dx_takes(call, dx_is_id(dx_param(call, "name")), "name must be the name of a function")) return;
  if (!dx_takes(call, !times.size || dx_is_whole(times, 4294967295), "times must be a whole number from 0 to 4294967295")) return;
  host_calls *calls = malloc(sizeof *calls);
  *calls = (host_calls){call, dx_num(times, 1)};
  dx_call_host(dx_param(call, "name"), dx_param(call, "params"), host_answered, calls);
}

// { stream, count, size, error? }: sends `count` chunks of `size` bytes, each a turn of the loop, then the end of the stream or
// the error, and returns how many.
typedef struct { dx_call *call; uint32_t sent, count, size; uint8_t *bytes; } producer;
static int produce_next(void *state) {
  producer *p = state;
  for (int turn = 0; turn < 64 && p->sent < p->count; turn++) {
    if (p->size >= 4) memcpy(p->bytes, &p->sent, 4);
    dx_send_chunk(dx_param(p->call, "stream"), p->bytes, p->size);
    p->sent++;
  }
  if (p->sent < p->count) return 1;
  dx_value error = dx_param(p->call, "error");
  if (error.size) dx_send_error(dx_param(p->call, "stream"), error);
  else dx_send_end(dx_param(p->call, "stream"));
  dx_return_number(p->call, p->sent);
  free(p->bytes);
  free(p);
  return 0;
}
static void produce(dx_call *call) {
  dx_value count = dx_param(call, "count"), size = dx_param(call, "size"), error = dx_param(call, "error");
  if (!dx_takes(call, dx_is_id(dx_param(call, "stream")), "stream must be the id of a stream")) return;
  if (!dx_takes(call, dx_is_whole(count, 4294967295), "count must be a whole number from 0 to 4294967295")) return;
  if (!dx_takes(call, dx_is_whole(size, DX_MAX_FRAME), "size must be a whole number from 0 to 67108864")) return;
  if (!dx_takes(call, !error.size || dx_kind(error) == 's', "error must be a text")) return;
  producer *p = malloc(sizeof *p);
  *p = (producer){call, 0, (uint32_t)dx_num(count, 0), (uint32_t)dx_num(size, 0), 0};
  if (!(p->bytes = calloc(1, p->size + 1))) __builtin_trap();
  dx_repeat(produce_next, p);
}

// { stream }: adds up the numbers and counts the chunks of a stream, returns both when it ends.
typedef struct { dx_call *call; double sum, count; } consumer;
static void consume_next(void *state, dx_value chunk, int ended) {
  consumer *c = state;
  if (!ended) { c->sum += dx_num(chunk, 0); c->count++; return; }
  if (ended == 2) dx_fail_with(c->call, chunk);
  else if (dx_takes(c->call, dx_is_finite(c->sum), "the result is not a finite number")) {
    size_t s = dx_result(c->call); dx_array(2); dx_number(c->count); dx_number(c->sum); dx_done(c->call, s);
  }
  free(c);
}
static void consume(dx_call *call) {
  if (!dx_takes(call, dx_is_id(dx_param(call, "stream")), "stream must be the id of a stream")) return;
  consumer *c = calloc(1, sizeof *c);
  c->call = call;
  dx_receive(dx_param(call, "stream"), consume_next, c);
}

// Returns after so many milliseconds; everything else goes on meanwhile.
static void awake(void *call) { dx_return_number(call, 1); }
static void sleep_for(dx_call *call) {
  if (!dx_takes(call, dx_is_whole(call->params, 2147483647), "sleep takes a whole number from 0 to 2147483647")) return;
  dx_after(dx_num(call->params, 0), awake, call);
}

static double events;
static void log_event(dx_call *call) { events++; dx_return_number(call, events); }
static void count_events(dx_call *call) { dx_return_number(call, events); }

int main(void) {
  dx_on("add", add);
  dx_on("divide", divide);
  dx_on("echo", echo);
  dx_on("callHost", call_host);
  dx_on("produce", produce);
  dx_on("consume", consume);
  dx_on("sleep", sleep_for);
  dx_on("logEvent", log_event);
  dx_on("countEvents", count_events);
  return dx_serve();
}
