/** What the end of a failed pull means, and what would put it right. */
const HELP: ReadonlyArray<readonly [mark: RegExp, help: string]> = [
  [
    /by the proxy (\S+): /,
    'The proxy $1 does not lead there; HTTPS_PROXY, HTTP_PROXY and NO_PROXY say when it is used.',
  ],
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

/** One sentence; `undefined` for a failure that speaks for itself. */
export function pullHelp(error: string): string | undefined {
  const known = HELP.find(([mark]) => mark.test(error));
  const [part = ''] = known?.[0].exec(error) ?? [];
  return known && part.replace(known[0], known[1]);
}
