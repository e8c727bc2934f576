import { DUPLEX_RPC } from '../specifications/duplex-rpc.js';
import { defineSuite, type Suite } from '../suite.js';
import { CALL_CHECKS } from './call-checks.js';
import { CALLBACK_CHECKS } from './callback-checks.js';
import { FAILURE_CHECKS } from './failure-checks.js';
import { FRAME_CHECKS } from './frame-checks.js';
import { openGuest } from './session.js';
import { STREAM_CHECKS } from './stream-checks.js';
import { VALUE_CHECKS } from './value-checks.js';

/** Judges a duplex-rpc guest: any program that offers the agreed functions on a byte stream. */
export const WASM_SUITE: Suite = defineSuite({
  name: 'wasm',
  title: 'duplex-rpc guest',
  groups: ['Frames', 'Values', 'Calls', 'Callbacks', 'Streams', 'Failures'],
  specifications: [DUPLEX_RPC],
  checks: [...FRAME_CHECKS, ...VALUE_CHECKS, ...CALL_CHECKS, ...CALLBACK_CHECKS, ...STREAM_CHECKS, ...FAILURE_CHECKS],
  open: openGuest,
});
