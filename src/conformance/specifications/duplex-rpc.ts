import type { Specification } from '../specification.js';
import { sectionsOf } from './sections.js';

const section = sectionsOf('duplex-rpc');

/** The normative sentences of duplex-rpc, version 1. Facts of the tables count as sentences. */
export const DUPLEX_RPC: Specification = {
  id: 'duplex-rpc',
  title: 'duplex-rpc, version 1',
  sentences: [
    ...section(
      'Rationale',
      ['rationale.strict', 'interaction only through a strict, validated RPC protocol'],
      ['rationale.capabilities', 'The host process decides which capabilities are available'],
      [
        'rationale.no-access',
        'cannot directly access host resources',
        'what runs the guest confines it; a stream of messages does not show what else it reaches',
      ],
      [
        'rationale.narrow',
        'Keep exposed functions narrow, validate all inputs and outputs',
        'advice to the author of functions, not to an implementation',
      ],
    ),
    ...section(
      'High-level architecture',
      ['architecture.byte-stream', 'communicate over stdin/stdout or another byte stream'],
      ['architecture.host-requests', 'The host can request that the WebAssembly side executes a function'],
      ['architecture.answers', 'can return results or errors'],
      ['architecture.callbacks', 'can request that the host executes an allowed callback function'],
      ['architecture.streams', 'Both sides can exchange stream events'],
    ),
    ...section(
      'Wire format',
      ['wire.messagepack', 'Messages are encoded as MessagePack on the wire'],
      ['wire.version', 'Version (always 1)'],
      ['wire.reject-version', 'Receivers must reject frames with an unrecognized version'],
      ['wire.length', 'Payload Length in bytes'],
      ['wire.one-message', 'Each frame contains exactly one protocol message'],
    ),
    ...section(
      'IDs',
      ['ids.string', 'identified by a unique string id'],
      [
        'ids.before',
        'The caller generates the ID before sending a message',
        'a message shows its id, not when it was made',
      ],
      ['ids.links-call', 'the id links a FunctionCall to its FunctionResponse or FunctionError'],
      ['ids.lifetime', 'must be unique over the lifetime of a WebAssembly application instance'],
      ['ids.links-stream', 'the id links all StreamChunk messages to their final StreamEnd or StreamError'],
      ['ids.stream-by-caller', 'The stream ID is chosen by the caller of the function'],
      ['ids.session', 'IDs must be unique within a session'],
      ['ids.route', 'uses the id to route incoming messages'],
      ['ids.interleave', 'Function executions can interleave'],
      ['ids.type', 'Every message has a numeric type field'],
    ),
    ...section(
      'FunctionCall',
      ['call.fields', 'type, id and functionName are required; params are not'],
      ['call.name', 'Name of the function to invoke'],
      ['call.expects-response', 'Omit when a response is expected, which is the default'],
    ),
    ...section(
      'FunctionResponse',
      ['response.id', 'ID of the corresponding FunctionCall'],
      ['response.result', 'Return value of the function, if any'],
    ),
    ...section(
      'FunctionError',
      ['error.failed', 'Indicates that a function call failed'],
      ['error.text', 'error: string, required, human-readable'],
    ),
    ...section(
      'StreamChunk',
      ['chunk.id', 'ID of the stream this chunk belongs to'],
      ['chunk.chunk', 'chunk: JSON, required'],
    ),
    ...section(
      'StreamEnd',
      ['end.completed', 'Signals that a stream has completed successfully'],
      ['end.not-on-error', 'not sent when a stream ends with an error'],
    ),
    ...section('StreamError', ['stream-error.text', 'Signals that a stream has ended with an error; error: string']),
    ...section(
      'Examples',
      ['examples.any-json', 'params and result can be any JSON value'],
      ['examples.no-answer', 'must not send a response or error for this ID'],
      ['examples.same-types', 'call back into the host using the same message types'],
      ['examples.allowed', 'The host decides which callbacks are allowed'],
      ['examples.validate', 'must validate that getProductDetails is allowed before executing it'],
    ),
    ...section(
      'Streaming data',
      ['streaming.chunks-then-end', 'multiple chunks followed by a StreamEnd'],
      ['streaming.id', 'chosen by the caller of the function that returns or consumes the stream'],
      ['streaming.around', 'can flow before and after the creating function returned'],
      ['streaming.error', 'a StreamError is sent instead of StreamEnd'],
    ),
    ...section(
      'Failure handling',
      ['failure.terminate', 'should terminate the WebAssembly process and discard its state'],
      ['failure.decode', 'A frame cannot be decoded'],
      ['failure.version', 'A frame uses an unrecognized protocol version'],
      ['failure.schema', 'A message does not match the protocol schema'],
      ['failure.unauthorized', 'WebAssembly requests an unauthorized callback'],
      ['failure.unknown-id', 'WebAssembly references an unknown id'],
      ['failure.timeout', 'A call exceeds its timeout'],
      ['failure.exit', 'The process exits unexpectedly'],
      ['failure.non-protocol', 'The output stream contains non-protocol data'],
      ['failure.fresh', 'should start a fresh WebAssembly process for subsequent work'],
    ),
    ...section('Why an external process', [
      'why.any-program',
      'any external command-line application could implement the same protocol',
    ]),
  ],
};
