import type { HTTPHeader } from '../../api/generated/core-v1.ts';

const USER_AGENT = 'kube-probe/1.36';

/** Name and value, in the order in which they are sent. */
export type Headers = ReadonlyArray<readonly [name: string, value: string]>;

/**
 * The headers of a probe's request: the manifest's, and kubelet's own where the manifest has none of that name. An
 * empty `Accept` or `User-Agent` in the manifest means that none is sent.
 */
export function probeHeaders(given: readonly HTTPHeader[], authority: string): Headers {
  const named = (name: string) => given.filter((header) => header.name.toLowerCase() === name);
  const own = (name: string, fallback: string): Headers => {
    const values = named(name.toLowerCase());
    if (values.length === 0) return [[name, fallback]];
    return values[0]?.value === '' ? [] : values.map(({ value }) => [name, value]);
  };
  const others = given.filter(
    ({ name }) => !['host', 'user-agent', 'accept', 'connection'].includes(name.toLowerCase()),
  );
  return [
    ['Host', named('host')[0]?.value || authority],
    ...own('User-Agent', USER_AGENT),
    ...others.map(({ name, value }) => [name, value] as const),
    ...own('Accept', '*/*'),
    ['Connection', 'close'],
  ];
}
