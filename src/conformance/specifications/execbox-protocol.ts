import type { Specification } from '../specification.js';
import { sectionsOf } from './sections.js';

const INSIDE = 'what a side does inside is not visible from outside';

const section = sectionsOf('execbox-protocol');

/** The normative sentences of the execbox protocol reference. */
export const EXECBOX_PROTOCOL: Specification = {
  id: 'execbox-protocol',
  title: 'execbox protocol reference',
  sentences: [
    ...section(
      'execute',
      ['execute.once', 'Sent once at the start of a host transport session'],
      ['execute.id', 'execution correlation id for the session'],
      ['execute.code', 'full guest JavaScript source'],
      ['execute.options', 'runtime limits forwarded to the runner'],
      ['execute.providers', 'transport-safe namespace metadata used to inject guest tool proxies'],
    ),
    ...section(
      'cancel',
      ['cancel.when', 'Sent when the caller aborts or the host timeout backstop triggers'],
      ['cancel.id', 'execution id of the active session to cancel'],
    ),
    ...section(
      'started',
      ['started.when', 'after it has accepted the execution and started timing guest execution'],
      ['started.id', 'execution id of the session that has started'],
    ),
    ...section(
      'tool_call',
      ['tool-call.when', 'Emitted whenever guest code invokes an injected host tool'],
      ['tool-call.call-id', 'correlation id for exactly one tool call'],
      ['tool-call.provider-name', 'guest-visible namespace name'],
      ['tool-call.safe-tool-name', 'sanitized guest-visible tool name'],
      ['tool-call.input', 'JSON-serializable guest input payload'],
    ),
    ...section(
      'tool_result',
      ['tool-result.when', 'Sent by the dispatcher in response to one tool_call'],
      ['tool-result.call-id', 'must match the original tool_call'],
      ['tool-result.ok', 'distinguishes trusted success from trusted failure'],
      ['tool-result.result', 'JSON-serializable tool result when successful'],
      ['tool-result.error', 'trusted execution error when unsuccessful'],
    ),
    ...section('done', ['done.shape', 'normal execbox ExecuteResult plus the session id']),
    ...section(
      'Correlation Rules',
      ['correlation.other-id', 'runner messages with an id that does not match the active session are ignored'],
      ['correlation.call-id', 'tool_result is correlated by callId'],
      ['correlation.done', 'done settles the execution and ends the session'],
    ),
    ...section(
      'Provider Manifest Contract',
      ['manifest.metadata', 'carries only transport-safe metadata'],
      [
        'manifest.no-closures',
        'does not include: executable host closures',
        'a closure cannot be written as JSON, so no message over a wire can show one',
      ],
      [
        'manifest.no-clients',
        'upstream client objects',
        'a client object cannot be told from other data; what a message may have is checked with execbox-protocol.manifest.metadata',
      ],
      [
        'manifest.no-api-clients',
        'API clients',
        'a client object cannot be told from other data; what a message may have is checked with execbox-protocol.manifest.metadata',
      ],
      ['manifest.no-secrets', 'secrets or tenant maps'],
      ['manifest.use', 'only to inject guest-visible namespaces and Promise-returning proxy functions'],
    ),
    ...section('Session Lifecycle', ['lifecycle.done', 'expected to end with done unless the transport fails first']),
    ...section(
      'Cancellation And Failure Semantics',
      ['failure.cancel', 'caller abort or timeout sends cancel'],
      ['failure.abort-tools', 'host also aborts its own tool-dispatch signal immediately'],
      ['failure.grace', 'within the configured cancel grace window, the host may terminate the transport'],
      ['failure.close', 'unexpected transport close or transport error fails the session'],
      ['failure.request', 'a request for prompt termination, not a guarantee'],
      ['failure.classification', 'timeout classification is still decided by trusted host logic'],
    ),
    ...section(
      'JSON And Trust Boundaries',
      ['trust.json-safe', 'assumes JSON-safe payloads across the boundary'],
      ['trust.classifies', 'validates and classifies tool failures before sending tool_result'],
      ['trust.rejects', 'non-serializable host values are rejected before they are sent back'],
      [
        'trust.no-closures',
        'guest runtime does not receive host closures directly',
        'a closure cannot be written as JSON, so no message over a wire can show one',
      ],
      ['trust.proxies', 'guest tool proxies only emit transport messages', INSIDE],
      ['trust.resumes', 'resumes only after a trusted tool_result is received'],
    ),
  ],
};
