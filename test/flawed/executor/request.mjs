import { Failure } from './failure.mjs';

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const texts = (value) => isObject(value) && Object.values(value).every((item) => typeof item === 'string');

/** Takes a request apart. Throws what a 400 says. */
export function requestOf(text, is) {
  const refuse = (message) => {
    throw new Failure('INVALID_REQUEST', message, 400);
  };
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    if (is('malformed-500')) throw new Error('no JSON');
    refuse('the body is no JSON');
  }
  if (!isObject(body)) refuse('the body is no object');
  const { packageName, version, name, params, env } = body;
  if (typeof packageName !== 'string' || packageName === '') refuse('packageName is missing');
  if (typeof name !== 'string' || (name === '' && !is('any-name'))) refuse('name is missing');
  if (is('any-types')) return body;
  if (version !== undefined && typeof version !== 'string') refuse('version is no text');
  if (params !== undefined && !isObject(params)) refuse('params are no object');
  if (env !== undefined && !texts(env)) refuse('env is no object of texts');
  return body;
}
