import { pathFor } from '../fields.js';
import type { Route } from '../routing.js';

const info: Route =
  () =>
  ({ handler, dialect }) => {
    const { shell, cwd, capabilities } = handler.environmentInfo();
    return { result: { shell, cwd: pathFor(dialect, cwd), capabilities } };
  };

const status: Route = () => () => ({ result: { status: 'ready' } });

export const ENVIRONMENT_ROUTES: Readonly<Record<string, Route>> = {
  'environment/info': info,
  'environment/status': status,
};
