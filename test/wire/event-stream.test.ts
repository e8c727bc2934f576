import { expect, test } from 'vitest';
import { acceptsEvents, eventText } from '../../src/wire/event-stream.js';

test.each([
  ['text/event-stream', true],
  ['application/json, Text/Event-Stream;q=0.9', true],
  ['application/json', false],
  ['*/*', false],
  [undefined, false],
])('an Accept of %s asks for events: %s', (accept, expected) => {
  expect(acceptsEvents(accept)).toBe(expected);
});

test('an event is text of one line of data', () => {
  expect(eventText('log', { line: 'a\nb' })).toBe('event: log\ndata: {"line":"a\\nb"}\n\n');
  expect(eventText('log', 1, 7)).toBe('id: 7\nevent: log\ndata: 1\n\n');
});
