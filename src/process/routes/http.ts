import type { Route } from '../routing.js';

const request: Route = (fields, limits) => {
  const asked = {
    method: fields.string('method'),
    url: fields.string('url'),
    headers: fields.has('headers')
      ? fields.objects('headers').map((header) => ({ name: header.string('name'), value: header.string('value') }))
      : [],
    body: fields.optionalString('bodyBase64') === undefined ? undefined : fields.bytes('bodyBase64'),
    timeoutMs: fields.optionalInteger('timeoutMs'),
    redirectPolicy:
      fields.optionalString('redirectPolicy') === undefined
        ? ('follow' as const)
        : fields.oneOf('redirectPolicy', ['follow', 'stop']),
    requestId: fields.id('requestId', limits.idLength),
    streaming: fields.booleanOr('streamResponse', 'false') ? ('stream' as const) : ('whole' as const),
  };
  return async ({ handler, session }) => {
    const { status, headers, body, begin, left } = await handler.http.send(session, asked);
    return { result: { status, headers, bodyBase64: body.toString('base64') }, afterwards: begin, left };
  };
};

export const HTTP_ROUTES: Readonly<Record<string, Route>> = { 'http/request': request };
