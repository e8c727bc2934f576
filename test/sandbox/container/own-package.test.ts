import { describe, expect, test } from 'vitest';
import { containerLevel } from '../../../src/sandbox/container/container-level.js';
import { ownPackagePaths, withOwnPackage } from '../../../src/sandbox/container/own-package.js';
import { GUEST_POLICY } from '../../../src/sandbox/container/policies.js';
import { here, run, testRefusalWithoutRooms } from './rooms.js';

test('grants the code and its dependencies, and nothing else of a project', () => {
  const names = ownPackagePaths().map((path) => path.split('/').at(-1));
  expect(names).toEqual(expect.arrayContaining(['package.json', 'node_modules']));
  expect(names.every((name) => ['dist', 'package.json', 'node_modules'].includes(String(name)))).toBe(true);
  expect(withOwnPackage(withOwnPackage(GUEST_POLICY))).toEqual(withOwnPackage(GUEST_POLICY));
});

testRefusalWithoutRooms();

describe.runIf(here.available)('in a room', () => {
  test('a child of ours finds what it is made of', async () => {
    const level = containerLevel({ policy: withOwnPackage(GUEST_POLICY) });
    const module = new URL('../../../dist/errors/index.js', import.meta.url).href;
    const script = `import(${JSON.stringify(module)}).then((errors) => console.log(typeof errors.SallyportError))`;
    const { text } = await run(level, '', { argv: [process.execPath, '-e', script] });
    expect(text).toBe('function\n');
    const bare = await run(containerLevel({ policy: GUEST_POLICY }), '', { argv: [process.execPath, '-e', script] });
    expect(bare.exitCode).not.toBe(0);
  });
});
