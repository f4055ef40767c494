import type { HTTPHeader } from '../../api/generated/core-v1.ts';

/** The sender of the request: a probe, or a lifecycle hook. */
export type RequestPurpose = 'probe' | 'lifecycle';

/** Name and value, in the order in which they are sent. */
export type Headers = ReadonlyArray<readonly [name: string, value: string]>;

/** Headers of a request that do not come from the manifest. */
export interface RequestFacts {
  readonly purpose: RequestPurpose;
  /** The `Host` header. */
  readonly host: string;
  /** Where a redirect came from. */
  readonly referer: string | undefined;
}

/**
 * The headers of a request: the manifest's, and kubelet's own where the manifest has none of that name. An empty
 * `Accept` or `User-Agent` in the manifest means that none is sent.
 */
export function requestHeaders(given: readonly HTTPHeader[], { purpose, host, referer }: RequestFacts): Headers {
  const named = (name: string) => given.filter((header) => header.name.toLowerCase() === name);
  const own = (name: string, fallback: string): Headers => {
    const values = named(name.toLowerCase());
    if (values.length === 0) return [[name, fallback]];
    return values[0]?.value === '' ? [] : values.map(({ value }) => [name, value]);
  };
  const unlessGiven = (name: string, value: string | undefined): Headers =>
    value === undefined || named(name.toLowerCase()).length > 0 ? [] : [[name, value]];
  const others = given.filter(
    ({ name }) => !['host', 'user-agent', 'accept', 'connection'].includes(name.toLowerCase()),
  );
  return [
    ['Host', host],
    ...own('User-Agent', `kube-${purpose}/1.36`),
    ...others.map(({ name, value }) => [name, value] as const),
    ...own('Accept', '*/*'),
    ...unlessGiven('Referer', referer),
    ...unlessGiven('Accept-Encoding', purpose === 'lifecycle' ? 'gzip' : undefined),
    ['Connection', 'close'],
  ];
}

/** The `Host` header of the manifest, if it has one. */
export function hostHeader(given: readonly HTTPHeader[]): string | undefined {
  return given.find(({ name }) => name.toLowerCase() === 'host')?.value || undefined;
}
