import { describe, expect, it } from 'vitest';
import { hashKey, layerConfig, parseConfig } from '../../src/server/index.js';

const problem = (text: string): string => {
  try {
    parseConfig(text, 'sallyport.json');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'accepted';
};

describe('a configuration file', () => {
  it('is refused with the key and the line that are wrong', () => {
    expect(problem('{\n  "port": 7420,\n  "prot": 1\n}')).toBe(
      'sallyport.json:3: prot is not a setting; did you mean port?',
    );
    expect(problem('{\n  "port": "7420"\n}')).toMatch(/^sallyport\.json:2: port: /);
    expect(problem('{\n  "limits": {\n    "connections": -1\n  }\n}')).toMatch(
      /^sallyport\.json:3: limits\.connections: /,
    );
    expect(problem('{\n "keys": [\n  {"name": "a", "hash": "x"}\n ]\n}')).toMatch(
      /^sallyport\.json:3: keys\.0\.hash: /,
    );
    expect(problem('{\n "keys": [\n  {"name": "a",\n "hash": "x"}\n ]\n}')).toMatch(/^sallyport\.json:4: /);
    expect(problem('{\n "host": "a"\n "port": 1}')).toMatch(/^sallyport\.json(:3)?: it is not JSON/);
    expect(problem('[]')).toMatch(/^sallyport\.json:1: the configuration: /);
  });

  it('is refused with limits of tools that a server has for all boundaries', () => {
    expect(problem('{ "toolLimits": { "headersTimeoutMs": 1 } }')).toBe(
      'sallyport.json:1: toolLimits.headersTimeoutMs: one port serves all boundaries: set limits.headersTimeoutMs',
    );
    expect(problem('{ "toolLimits": { "maxHeaderBytes": 1 } }')).toContain('it cannot be set');
    expect(problem('{ "toolLimits": { "maxExecutions": 1 } }')).toBe('accepted');
  });

  it('takes every setting that there is', () => {
    const config = {
      port: 0,
      keys: [{ name: 'ci', hash: hashKey('x'), boundaries: ['guest'] }],
      limits: { guests: 3 },
    };
    expect(parseConfig(JSON.stringify(config), 'f')).toEqual(config);
  });
});

describe('layers', () => {
  it('put flags over the environment over the file over the defaults, and remember where each value came from', () => {
    const { config, origins } = layerConfig({
      defaults: { host: '127.0.0.1', port: 7420, logLevel: 'info', drainTimeoutMs: 1 },
      file: { path: 'f.json', config: { port: 1, logLevel: 'warn', drainTimeoutMs: 2 } },
      environment: { SALLYPORT_PORT: '2', SALLYPORT_LOG_LEVEL: 'error', SALLYPORT_WASM: '' },
      flags: { port: 3 },
    });
    expect(config).toEqual({ host: '127.0.0.1', port: 3, logLevel: 'error', drainTimeoutMs: 2 });
    expect(Object.fromEntries(origins)).toEqual({
      host: { from: 'default', name: '' },
      port: { from: 'flag', name: '--port' },
      logLevel: { from: 'environment', name: 'SALLYPORT_LOG_LEVEL' },
      drainTimeoutMs: { from: 'file', name: 'f.json' },
    });
  });

  it('refuse what a variable or a flag cannot be, by its name', () => {
    const defaults = {};
    expect(() => layerConfig({ defaults, environment: { SALLYPORT_PORT: 'x' }, flags: {} })).toThrow('SALLYPORT_PORT');
    expect(() => layerConfig({ defaults, environment: { SALLYPORT_ISOLATION: 'vm' }, flags: {} })).toThrow(
      'SALLYPORT_ISOLATION',
    );
    expect(() => layerConfig({ defaults, environment: {}, flags: { port: 99_999 } })).toThrow('port');
  });
});
