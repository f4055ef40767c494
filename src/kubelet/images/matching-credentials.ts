import { byCodePoint } from '../../base/code-point-order.ts';
import { type LoginSource, loginHash, type PullCredential } from './registry-login.ts';
import { matchesRegistry, parseAddress, parseRegistryPattern, type RegistryPattern } from './registry-pattern.ts';

/** The address of Docker Hub's logins. */
const DOCKER_HUB = 'index.docker.io';

/**
 * The logins that apply to a repository, in the order in which they are tried: more specific addresses first, then in
 * the order of the sources. Several logins for one address are tried in turn, which allows rotation.
 */
export function matchingCredentials(repository: string, sources: readonly LoginSource[]): readonly PullCredential[] {
  const byRegistry = new Map<string, PullCredential[]>();
  for (const { config, owner } of sources) {
    for (const [address, login] of config) {
      const place = registryKey(address);
      if (place === undefined) continue;
      const credential = { login, hash: loginHash(login), owner };
      byRegistry.set(place, [...(byRegistry.get(place) ?? []), credential]);
    }
  }
  const target = parseOrUndefined(repository);
  if (!target) return [];
  const registries = [...byRegistry.keys()].sort(byCodePoint).reverse();
  const fitting = registries.filter((place) => {
    const pattern = parseOrUndefined(place);
    return pattern !== undefined && matchesRegistry(pattern, target);
  });
  const found = fitting.flatMap((place) => byRegistry.get(place) ?? []);
  if (found.length > 0 || !isOnDockerHub(repository)) return found;
  return byRegistry.get(DOCKER_HUB) ?? [];
}

/** `https://index.docker.io/v1/` becomes the host alone; `undefined` for an invalid address. */
function registryKey(address: string): string | undefined {
  try {
    const { host, path } = parseAddress(address.replace(/^https?:\/\//, ''));
    const below = path.replace(/^\/v[12](?=\/)/, '');
    return below === '' || below === '/' ? host : `${host}${below}`;
  } catch {
    return undefined;
  }
}

function parseOrUndefined(text: string): RegistryPattern | undefined {
  try {
    return parseRegistryPattern(text);
  } catch {
    return undefined;
  }
}

function isOnDockerHub(repository: string): boolean {
  const [registry = '', path] = repository.split('/', 2);
  if (registry === '') return false;
  return path === undefined || registry === 'docker.io' || registry === DOCKER_HUB || !/[.:]/.test(registry);
}
