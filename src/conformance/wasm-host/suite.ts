import { DUPLEX_RPC } from '../specifications/duplex-rpc.js';
import { defineSuite, type Suite } from '../suite.js';
import { CALL_CHECKS } from './call-checks.js';
import { CALLBACK_CHECKS } from './callback-checks.js';
import { FAILURE_CHECKS } from './failure-checks.js';
import { FRAME_CHECKS } from './frame-checks.js';
import { openHost } from './session.js';
import { STREAM_CHECKS } from './stream-checks.js';

/** Judges a duplex-rpc host: the suite plays its guests, and lies. */
export const WASM_HOST_SUITE: Suite = defineSuite({
  name: 'wasm-host',
  title: 'duplex-rpc host',
  groups: ['Frames', 'Calls', 'Callbacks', 'Streams', 'Failures'],
  specifications: [DUPLEX_RPC],
  checks: [...FRAME_CHECKS, ...CALL_CHECKS, ...CALLBACK_CHECKS, ...STREAM_CHECKS, ...FAILURE_CHECKS],
  open: openHost,
});
