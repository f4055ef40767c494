/** Where the registry of an image name answers. */
export interface RegistryPlace {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

/** `registry` is the first part of an image name: `docker.io`, `localhost:5000`. On this machine plain HTTP is spoken. */
export function registryPlace(registry: string): RegistryPlace {
  const named = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(named) ?? [];
  const host = bracketed ?? plain;
  const isHere = host === 'localhost' || host.endsWith('.localhost') || isLoopback(host);
  const scheme = isHere && port !== '443' ? 'http' : 'https';
  return { scheme, host, port: port === undefined ? (scheme === 'http' ? 80 : 443) : Number(port) };
}

function isLoopback(host: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(host) || host === '::1';
}
