/**
 * The only place that matches error texts. Errors of container runtimes and registries reach the agent as text; errors
 * of the agent itself have a typed cause (`pod/pod-cause.ts`).
 */

/** Prefixes and suffixes that gRPC, containerd and kubelet put around an error, and what replaces them. */
const WRAPPINGS: ReadonlyArray<readonly [wrapping: RegExp, rest: string]> = [
  [/rpc error: code = \w+ desc = /g, ''],
  [/MountVolume\.SetUp failed for volume ("[^"]*") :/g, 'volume $1:'],
  [/^(?:Back-off pulling|Failed to pull) image "[^"]*": (?:[A-Z]\w+: )?/, ''],
  [/failed to pull (?:and unpack )?image "[^"]*": /, ''],
  [/failed to resolve (?:reference "[^"]*"|image): /, ''],
  [/^\w+ lifecycle hook \(.*?\) for Container "[^"]*" in Pod "[^"]*" failed - error: /s, ''],
  // The output of a hook is in the text before this suffix too.
  [/(?:: )?\s*, message: "(?:[^"\\]|\\.)*"$/, ''],
];

/** Returns the error on one line, without what gRPC, containerd and kubelet put around it. */
export function unwrapError(error: string): string {
  const text = WRAPPINGS.reduce((rest, [wrapping, replacement]) => rest.replace(wrapping, replacement), error);
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** What the text of a failed pull means, and what would fix it. */
const PULL_HELP: ReadonlyArray<readonly [text: RegExp, help: string]> = [
  [/via proxy (\S+): /, 'The proxy $1 does not lead there; HTTPS_PROXY, HTTP_PROXY and NO_PROXY say when it is used.'],
  [/dial tcp (\S+): connect: connection refused/, 'Nothing listens at $1: the registry is down, or elsewhere.'],
  [/connect ECONNREFUSED (\S+)/, 'Nothing listens at $1: the registry is down, or elsewhere.'],
  [/getaddrinfo ENOTFOUND (\S+)/, 'There is no machine called $1: the name of the image may be wrong.'],
  [/getaddrinfo \w+ (\S+)/, 'The address of $1 cannot be found out: the name server does not answer.'],
  [/lookup (\S+?)(?: on \S+)?: no such host/, 'There is no machine called $1: the name of the image may be wrong.'],
  [/lookup (\S+?)(?: on \S+)?: /, 'The address of $1 cannot be found out: the name server does not answer.'],
  [/i\/o timeout|deadline exceeded|TLS handshake timeout|ETIMEDOUT/, 'The registry did not answer in time.'],
  [/no route to host|network is unreachable|EHOSTUNREACH|ENETUNREACH/, 'This machine has no way to the registry.'],
  [
    /401 Unauthorized|403 Forbidden|status 40[13]\b|pull access denied|authorization failed|insufficient_scope/,
    'The registry wants credentials, or other ones: a Secret that has them can be named under imagePullSecrets.',
  ],
  [/x509: |certificate/, 'This machine does not trust the certificate of the registry.'],
  [
    /server gave HTTP response to HTTPS client|wrong version number|packet length too long/,
    'The registry speaks HTTP, where HTTPS is expected.',
  ],
  [/(?:: not found|manifest unknown)$|status 404\b/, 'The registry answers, but has no image of that name and tag.'],
  [/no space left on device|ENOSPC/, 'The disk is full.'],
];

/** Explains a failed pull in one sentence; `undefined` for errors that need no explanation. */
export function pullHelp(error: string): string | undefined {
  const known = PULL_HELP.find(([text]) => text.test(error));
  const [part = ''] = known?.[0].exec(error) ?? [];
  return known && part.replace(known[0], known[1]);
}

/** Returns the runtime handler that containerd does not have. */
export function missingHandler(error: string): string | undefined {
  return /no runtime for "([^"]*)" is configured/.exec(error)?.[1];
}

/** Returns the quoted path of a seccomp profile that the runtime did not find. */
export function missingSeccompProfile(error: string): string | undefined {
  if (!error.endsWith('no such file or directory')) return undefined;
  return /cannot load seccomp profile ("[^"]*"): /.exec(error)?.[1];
}
