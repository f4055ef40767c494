import fc from 'fast-check';
import { aborted } from '../../src/base/aborted.ts';
import { type HttpRequest, type HttpResponse, NetworkError } from '../../src/host/network.ts';

/** Replaces or changes a true response. */
export interface HostileAnswer {
  readonly failure: 'none' | 'network' | 'never';
  readonly code: string;
  /** Absent: the true one. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HostileBody;
}

type HostileBody =
  | { readonly kind: 'true' }
  | { readonly kind: 'data'; readonly data: Uint8Array }
  | { readonly kind: 'changed'; readonly at: number }
  | { readonly kind: 'cut'; readonly at: number; readonly breaks: boolean }
  | { readonly kind: 'longer'; readonly by: number }
  | { readonly kind: 'endless' }
  | { readonly kind: 'silent'; readonly at: number };

const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

const location = fc.constantFrom(
  '/v2/app/manifests/1',
  '?again',
  'file:///etc/passwd',
  'https://evil.example/x',
  'http://evil.example/x',
  'http://x.io/v2/app/manifests/1',
  '//evil.example/v2/',
  'https://user:word@evil.example/',
  'javascript:alert(1)',
  'http://[::1',
  '',
);

const challenge = fc.oneof(
  fc.constantFrom(
    'Basic realm="x"',
    'Bearer realm="https://auth.example/token",service="s",scope="repository:app:pull"',
    'Bearer realm="https://auth.example/token?a=b",error="insufficient_scope"',
    'Bearer realm="http://auth.example/token"',
    'Bearer realm="file:///etc/shadow"',
    'Bearer realm="not an address"',
    'Bearer realm="',
    'Negotiate, Bearer realm="https://auth.example/token", Basic',
    'Digest realm="x", nonce="y"',
  ),
  fc.string(),
  fc.nat(3000).map((length) => `Bearer ${'a="\\"'.repeat(length)}`),
);

const digits = fc.constantFrom('0', '1', '-1', '20', '1e9', '99999999999999999999', 'x', '');

const headers = fc.record(
  {
    location,
    'www-authenticate': challenge,
    'content-length': digits,
    'content-range': fc.constantFrom('bytes 0-9/10', 'bytes 5-9/10', 'bytes */10', 'bytes 0-0/0', 'x'),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'br', ''),
    'retry-after': fc.constantFrom('0', '1', '59', '100000', 'Fri, 31 Dec 1999 23:59:59 GMT', '-3', 'x'),
    'docker-content-digest': fc.constantFrom('sha256:0', 'x'),
  },
  { requiredKeys: [] },
);

const token = fc.constantFrom('T', 'a\r\nX-Evil: 1', '', 'ü', 5, null);

const body: fc.Arbitrary<HostileBody> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'true' } as const) },
  fc.record({ kind: fc.constant('changed' as const), at: fc.nat(2000) }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(600), breaks: fc.boolean() }),
  fc.record({ kind: fc.constant('longer' as const), by: fc.integer({ min: 1, max: 5000 }) }),
  fc.constant({ kind: 'endless' } as const),
  fc.record({ kind: fc.constant('silent' as const), at: fc.nat(600) }),
  fc.record({ kind: fc.constant('data' as const), data: fc.jsonValue().map(json) }),
  fc.record({ kind: fc.constant('data' as const), data: token.map((each) => json({ token: each })) }),
  fc.record({ kind: fc.constant('data' as const), data: manifest() }),
);

/** Manifests that are nearly valid. */
function manifest(): fc.Arbitrary<Uint8Array> {
  const odd = fc.constantFrom<unknown>(undefined, null, 0, -1, 1.5, 2 ** 60, '', 'x', [], {}, [[]], '__proto__');
  const descriptor = fc.record(
    {
      mediaType: fc.oneof(fc.constantFrom('application/vnd.oci.image.layer.v1.tar'), odd),
      digest: fc.oneof(fc.constantFrom(`sha256:${'0'.repeat(64)}`, `sha512:${'0'.repeat(128)}`), odd),
      size: fc.oneof(fc.nat(), odd),
      urls: fc.oneof(fc.constantFrom(['https://evil.example/l', 'file:///etc/passwd', 'x']), odd),
      platform: fc.oneof(fc.constantFrom({ os: 'linux', architecture: 'amd64' }), odd),
    },
    { requiredKeys: [] },
  );
  const many = fc.oneof(fc.array(descriptor, { maxLength: 4 }), odd);
  return fc
    .record(
      { schemaVersion: fc.oneof(fc.constant(2), odd), config: descriptor, layers: many, manifests: many },
      { requiredKeys: ['schemaVersion'] },
    )
    .map(json);
}

const status = fc.constantFrom(
  undefined,
  undefined,
  undefined,
  200,
  206,
  204,
  301,
  302,
  307,
  401,
  403,
  404,
  408,
  416,
  429,
  500,
  503,
);

export const hostileAnswer: fc.Arbitrary<HostileAnswer> = fc.record({
  failure: fc.oneof({ weight: 8, arbitrary: fc.constant('none' as const) }, fc.constantFrom('network', 'never')),
  code: fc.constantFrom(
    'ECONNREFUSED',
    'EPROTO',
    'ECONNRESET',
    'CERT_HAS_EXPIRED',
    'HPE_INVALID_CONSTANT',
    'ENOTFOUND',
  ),
  status,
  headers,
  body,
});

/** The largest number of bytes that were read of one response. */
export interface Taken {
  most: number;
}

const CHUNK = new Uint8Array(64 * 1024);

/** Returns a true response with hostile changes. */
export async function corruptAnswer(
  truth: { readonly status: number; readonly data: Uint8Array },
  hostile: HostileAnswer,
  taken: Taken,
  until: AbortSignal,
): Promise<HttpResponse> {
  if (hostile.failure === 'network') throw new NetworkError(hostile.code, `connect ${hostile.code}`);
  if (hostile.failure === 'never') {
    await aborted(until);
    throw until.reason;
  }
  const body = counted(bodyOf(truth.data, hostile.body, until), taken);
  return { status: hostile.status ?? truth.status, headers: hostile.headers, body };
}

async function* counted(chunks: AsyncIterable<Uint8Array>, taken: Taken): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    taken.most = Math.max(taken.most, length);
    yield chunk;
  }
}

async function* bodyOf(data: Uint8Array, body: HostileBody, until: AbortSignal): AsyncGenerator<Uint8Array> {
  switch (body.kind) {
    case 'true':
      return yield data;
    case 'data':
      return yield body.data;
    case 'changed': {
      const changed = Uint8Array.from(data);
      const at = body.at % Math.max(1, data.length);
      changed[at] = (changed[at] ?? 0) ^ 1;
      return yield changed;
    }
    case 'longer':
      yield data;
      return yield new Uint8Array(body.by);
    case 'endless':
      for (;;) yield CHUNK;
    case 'cut':
      yield data.subarray(0, body.at);
      if (body.breaks) throw new NetworkError('ECONNRESET', 'aborted');
      return;
    case 'silent':
      yield data.subarray(0, body.at);
      await aborted(until);
      throw until.reason;
  }
}

/** Returns the destination of a request, and what it sends. */
export function sentBy({ target, scheme, headers = [], body, path }: HttpRequest) {
  const host = 'host' in target ? target.host : '';
  return { host, scheme, text: JSON.stringify([headers, String(body ?? ''), path]) };
}
