import type { Sentence, Specification } from '../specification.js';

/** One sentence: the last part of its id, its words, and why it cannot be tested, if it cannot. */
type Row = readonly [name: string, quote: string, untested?: string];

function section(id: string, title: string, rows: readonly Row[]): Sentence[] {
  return rows.map(([name, quote, untested]) => ({
    id: `duplex-rpc.${id}.${name}`,
    section: title,
    quote,
    ...(untested === undefined ? {} : { untested }),
  }));
}

/** The normative sentences of duplex-rpc, version 1. Facts of the tables count as sentences. */
export const DUPLEX_RPC: Specification = {
  id: 'duplex-rpc',
  title: 'duplex-rpc, version 1',
  sentences: [
    ...section('rationale', 'Rationale', [
      ['strict', 'interaction only through a strict, validated RPC protocol'],
      ['capabilities', 'The host process decides which capabilities are available'],
      [
        'no-access',
        'cannot directly access host resources',
        'what runs the guest confines it; a stream of messages does not show what else it reaches',
      ],
      [
        'narrow',
        'Keep exposed functions narrow, validate all inputs and outputs',
        'advice to the author of functions, not to an implementation',
      ],
    ]),
    ...section('architecture', 'High-level architecture', [
      ['byte-stream', 'communicate over stdin/stdout or another byte stream'],
      ['host-requests', 'The host can request that the WebAssembly side executes a function'],
      ['answers', 'can return results or errors'],
      ['callbacks', 'can request that the host executes an allowed callback function'],
      ['streams', 'Both sides can exchange stream events'],
    ]),
    ...section('wire', 'Wire format', [
      ['messagepack', 'Messages are encoded as MessagePack on the wire'],
      ['version', 'Version (always 1)'],
      ['reject-version', 'Receivers must reject frames with an unrecognized version'],
      ['length', 'Payload Length in bytes'],
      ['one-message', 'Each frame contains exactly one protocol message'],
    ]),
    ...section('ids', 'IDs', [
      ['string', 'identified by a unique string id'],
      [
        'before',
        'The caller generates the ID before sending a message',
        'a message shows its id, not when it was made',
      ],
      ['links-call', 'the id links a FunctionCall to its FunctionResponse or FunctionError'],
      ['lifetime', 'must be unique over the lifetime of a WebAssembly application instance'],
      ['links-stream', 'the id links all StreamChunk messages to their final StreamEnd or StreamError'],
      ['stream-by-caller', 'The stream ID is chosen by the caller of the function'],
      ['session', 'IDs must be unique within a session'],
      ['route', 'uses the id to route incoming messages'],
      ['interleave', 'Function executions can interleave'],
      ['type', 'Every message has a numeric type field'],
    ]),
    ...section('call', 'FunctionCall', [
      ['fields', 'type, id and functionName are required; params are not'],
      ['name', 'Name of the function to invoke'],
      ['expects-response', 'Omit when a response is expected, which is the default'],
    ]),
    ...section('response', 'FunctionResponse', [
      ['id', 'ID of the corresponding FunctionCall'],
      ['result', 'Return value of the function, if any'],
    ]),
    ...section('error', 'FunctionError', [
      ['failed', 'Indicates that a function call failed'],
      ['text', 'error: string, required, human-readable'],
    ]),
    ...section('chunk', 'StreamChunk', [
      ['id', 'ID of the stream this chunk belongs to'],
      ['chunk', 'chunk: JSON, required'],
    ]),
    ...section('end', 'StreamEnd', [
      ['completed', 'Signals that a stream has completed successfully'],
      ['not-on-error', 'not sent when a stream ends with an error'],
    ]),
    ...section('stream-error', 'StreamError', [
      ['text', 'Signals that a stream has ended with an error; error: string'],
    ]),
    ...section('examples', 'Examples', [
      ['any-json', 'params and result can be any JSON value'],
      ['no-answer', 'must not send a response or error for this ID'],
      ['same-types', 'call back into the host using the same message types'],
      ['allowed', 'The host decides which callbacks are allowed'],
      ['validate', 'must validate that getProductDetails is allowed before executing it'],
    ]),
    ...section('streaming', 'Streaming data', [
      ['chunks-then-end', 'multiple chunks followed by a StreamEnd'],
      ['id', 'chosen by the caller of the function that returns or consumes the stream'],
      ['around', 'can flow before and after the creating function returned'],
      ['error', 'a StreamError is sent instead of StreamEnd'],
    ]),
    ...section('failure', 'Failure handling', [
      ['terminate', 'should terminate the WebAssembly process and discard its state'],
      ['decode', 'A frame cannot be decoded'],
      ['version', 'A frame uses an unrecognized protocol version'],
      ['schema', 'A message does not match the protocol schema'],
      ['unauthorized', 'WebAssembly requests an unauthorized callback'],
      ['unknown-id', 'WebAssembly references an unknown id'],
      ['timeout', 'A call exceeds its timeout'],
      ['exit', 'The process exits unexpectedly'],
      ['non-protocol', 'The output stream contains non-protocol data'],
      ['fresh', 'should start a fresh WebAssembly process for subsequent work'],
    ]),
    ...section('why', 'Why an external process', [
      ['any-program', 'any external command-line application could implement the same protocol'],
    ]),
  ],
};
