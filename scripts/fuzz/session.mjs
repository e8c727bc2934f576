// Sessions of messages: made by a grammar, changed at random, played against a wire, and judged by a model.
//
// A session is a list of steps: { send: message, text?, pieces?, binary? }, { noise: bytes }, { wait: kind, count }, { pause: ms },
// { end: 'end' | 'destroy' }. `text` is what is sent when it is not the message as it is.
import { setTimeout as delay } from 'node:timers/promises';
import { pieceSizes } from './cut.mjs';
import { mutateBytes } from './mutate-bytes.mjs';
import { mutateFields, mutateText } from './mutate-json.mjs';
import { Finding, HANG_MS, hold } from './oracles.mjs';

/** How long a step waits for what may never come. It is no oracle. */
const STEP_WAIT_MS = 400;
const MAX_PAUSE_MS = 15;
/** How long a session may take to come to its end by itself. Then it is told to. */
const PATIENCE_MS = 1_000;

/** Changes a valid session: its order, its messages, its bytes, its timing, its end. About a third are left as they are. */
export function mutateSession(random, steps) {
  const result = steps.map((step) => ({ ...step }));
  const safe = (step) => step?.send !== undefined && step.careful !== true;
  for (const step of result) if (step.send !== undefined && random.oneIn(6)) step.pieces = pieceSizes(random);
  for (const step of result) if (step.send !== undefined && random.oneIn(20)) step.binary = true;
  for (let left = random.below(3); left > 0 && result.length > 0; left -= 1) {
    const at = random.below(result.length);
    const step = result[at];
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
        if (safe(step)) step.send = mutateFields(random, step.send);
        break;
      case 3:
        if (safe(step)) step.text = mutateText(random, JSON.stringify(step.send));
        break;
      case 4:
        if (safe(step)) step.bytes = mutateBytes(random, Buffer.from(JSON.stringify(step.send)));
        break;
      case 5:
        result.splice(at, 1);
        break;
      case 6:
        result.splice(at, 0, { ...step });
        break;
      case 7: {
        const other = random.below(result.length);
        [result[at], result[other]] = [result[other], result[at]];
        break;
      }
      case 8:
        result.splice(
          at,
          0,
          random.oneIn(4) ? { noise: random.bytes(1 + random.below(40)) } : { pause: random.below(MAX_PAUSE_MS) },
        );
        break;
      default:
        result.splice(at, result.length, { end: random.pick(['end', 'destroy']) });
    }
  }
  return result;
}

/** Plays the steps. The model hears of everything that is sent and received, and says what is still owed. */
export async function play(wire, steps, model, patienceMs = PATIENCE_MS) {
  wire.onMessage = (message) => model.received(message);
  for (const message of wire.received) model.received(message);
  await run(wire, steps, model);
  const owesNothing = () => model.owed(wire.kind) === undefined;
  if (!(await wire.until(owesNothing, patienceMs))) await run(wire, model.rescue(), model);
  const settled = await wire.until(owesNothing, HANG_MS);
  wire.verify();
  if (wire.closed) {
    hold(model.mayClose(), `closed without a reason that we know of: ${wire.closeReason}`);
    const owed = model.owedAtClose(wire.kind);
    hold(owed === undefined, `closed, and still owed: ${owed}`);
  } else if (!settled) {
    throw new Finding(`hang: still owed after ${HANG_MS} ms: ${model.owed(wire.kind)}`);
  }
}

async function run(wire, steps, model) {
  const { constructor: Kind } = wire;
  for (const step of steps) {
    wire.verify();
    if (wire.closed || model.left !== undefined) break;
    if (step.send !== undefined) {
      const bytes = bytesOf(step, model);
      for (const unit of Kind.units(bytes)) model.sent(unit, step);
      await wire.send(bytes, step);
    } else if (step.noise !== undefined) {
      model.noise(step.noise, Kind);
      await wire.noise(step.noise);
    } else if (step.wait !== undefined) {
      await wire.until(() => model.count(step.wait) >= step.count, STEP_WAIT_MS);
    } else if (step.pause !== undefined) {
      await delay(step.pause);
    } else if (step.end !== undefined) {
      model.left = step.end;
      if (step.end === 'end') wire.end();
      else wire.destroy();
    }
  }
}

/** The bytes of a step. What only the session knows stands in them as @name@. */
function bytesOf(step, model) {
  if (step.bytes !== undefined) return step.bytes;
  const text = step.text ?? JSON.stringify(step.send) ?? '';
  return Buffer.from(text.replaceAll(/@(\w+)@/g, (whole, name) => model.known(name) ?? whole));
}
