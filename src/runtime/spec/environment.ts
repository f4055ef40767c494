import type { SpecRequest } from './spec-request.ts';

const DEFAULT_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TERMINAL = 'TERM=xterm';

/** Later values win, at the position of the first: the base spec's, the defaults, the image's, the container's. */
export function containerEnvironment({ container, sandbox, image, machine, handler }: SpecRequest): string[] {
  const hostname = sandbox.hostname || machine.hostname;
  const own = container.envs.map(({ key, value }) => `${key}=${new TextDecoder().decode(value)}`);
  const defaults = [DEFAULT_PATH, ...(container.tty ? [TERMINAL] : []), `HOSTNAME=${hostname}`];
  return mergeEnvironment([...(handler.baseSpec?.env ?? []), ...defaults], [...image.env, ...own]);
}

/** Returns the environment of an exec in a container with this environment. */
export function execEnvironment(env: readonly string[], tty: boolean): string[] {
  return mergeEnvironment(env, tty ? [TERMINAL] : []);
}

/** A name without `=` removes the variable. */
export function mergeEnvironment(base: readonly string[], changes: readonly string[]): string[] {
  const byName = new Map<string, string>();
  for (const entry of base) byName.set(variableName(entry), entry);
  for (const entry of changes) {
    if (entry.includes('=')) byName.set(variableName(entry), entry);
    else byName.delete(entry);
  }
  return [...byName.values()];
}

function variableName(entry: string): string {
  const end = entry.indexOf('=');
  return end < 0 ? entry : entry.slice(0, end);
}
