/** Several hosts for one registry: their order and their requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HttpRequest, NetworkError } from '../../../host/network.ts';
import { digestOf } from '../../storage/digest.ts';
import { json, LAYER, MANIFEST, pullScripted, registryWith, type ScriptedAnswer } from './fake/scripted-pull.ts';
import { TEST_CERTIFICATE } from './fake/test-certificate.ts';

const plain = registryWith();
const hostOf = ({ target }: HttpRequest): string => ('host' in target ? target.host : '');
const authorizationOf = ({ headers = [] }: HttpRequest): string | undefined =>
  headers.find(([name]) => name === 'Authorization')?.[1];
const MIRRORED = { 'r.io/hosts.toml': '[host."https://m1"]\n[host."https://m2/up"]' };

/** Answers with the given script of the host, else as a registry; also below `/up`. */
const byHost =
  (answers: Readonly<Record<string, ScriptedAnswer>>): ScriptedAnswer =>
  (request, until) =>
    (answers[hostOf(request)] ?? plain)({ ...request, path: request.path.replace(/^\/up/, '') }, until);

const failWith =
  (status: number): ScriptedAnswer =>
  () => ({ status });
const away: ScriptedAnswer = () => {
  throw new NetworkError('ECONNREFUSED', 'connect ECONNREFUSED');
};

test('the first mirror gets all requests, with the name of the registry', async () => {
  const { urls, image, progress } = await pullScripted({
    image: 'r.io:5000/app:1',
    answer: plain,
    files: {
      'r.io_5000_/hosts.toml': '[host."https://m1"]',
    },
  });
  assert.deepEqual(urls, [
    'https://m1:443/v2/app/manifests/1?ns=r.io%3A5000',
    `https://m1:443/v2/app/blobs/${image ? digestOf(image.config) : ''}?ns=r.io%3A5000`,
    `https://m1:443/v2/app/blobs/${digestOf(LAYER)}?ns=r.io%3A5000`,
  ]);
  assert.equal(image?.references[0], 'r.io:5000/app:1');
  assert.equal(progress[0]?.kind === 'resolved' && progress[0].source, 'https://m1/v2');
});

const FALLBACKS: Record<string, ScriptedAnswer> = {
  'is unreachable': away,
  'does not have the image': failWith(404),
  'is broken': failWith(502),
  'rejects the credentials': failWith(401),
  'has invalid content': (request) =>
    request.path.includes('/manifests/') ? { data: json({ schemaVersion: 1 }) } : { status: 404 },
};

for (const [what, answer] of Object.entries(FALLBACKS)) {
  test(`the next host is tried if one ${what}`, async () => {
    const { urls, layers } = await pullScripted({
      image: 'r.io/app:1',
      files: MIRRORED,
      answer: byHost({ m1: answer, m2: answer }),
    });
    assert.deepEqual(layers, ['the bytes of a layer']);
    assert.deepEqual(urls.slice(0, 3), [
      'https://m1:443/v2/app/manifests/1?ns=r.io',
      'https://m2:443/up/v2/app/manifests/1?ns=r.io',
      'https://r.io:443/v2/app/manifests/1',
    ]);
  });
}

test('an unreachable mirror is tried last for the rest of the pull', async () => {
  const { urls } = await pullScripted({ image: 'r.io/app:1', files: MIRRORED, answer: byHost({ m1: away }) });
  assert.deepEqual(
    urls.map((url) => new URL(url).hostname),
    ['m1', 'm2', 'm2', 'm2'],
  );
});

test('a mirror without "resolve" is only used for digests', async () => {
  const files = { 'r.io/hosts.toml': '[host."https://m1"]\ncapabilities = ["pull"]' };
  const { urls } = await pullScripted({ image: 'r.io/app:1', answer: plain, files });
  assert.deepEqual(
    urls.map((url) => new URL(url).hostname),
    ['r.io', 'm1', 'm1'],
  );
  const digested = await pullScripted({ image: `r.io/app@${digestOf(MANIFEST)}`, answer: plain, files });
  assert.ok(digested.urls.every((url) => new URL(url).hostname === 'm1'));
});

test('a broken transfer is resumed at the next host', async () => {
  const ranges: unknown[] = [];
  const { layers } = await pullScripted({
    image: 'r.io/app:1',
    files: MIRRORED,
    answer: byHost({
      m1: (request) => {
        if (!request.path.includes(digestOf(LAYER))) return plain(request);
        if (request.headers?.some(([name]) => name === 'Range')) return { status: 503 };
        const body = (async function* () {
          yield LAYER.subarray(0, 9);
          throw new NetworkError('ECONNRESET', 'cut off');
        })();
        return { body };
      },
      m2: ({ headers }) => {
        ranges.push(headers?.find(([name]) => name === 'Range')?.[1]);
        return { status: 206, headers: { 'content-range': `bytes 9-19/20` }, data: LAYER.subarray(9) };
      },
    }),
  });
  assert.deepEqual([layers, ranges], [['the bytes of a layer'], ['bytes=9-']]);
});

test('each host gets its own token for the same credentials', async () => {
  const shown: string[] = [];
  const guarded: ScriptedAnswer = (request) => {
    const [host, authorization] = [hostOf(request), authorizationOf(request)];
    if (request.path.startsWith('/token')) {
      shown.push(`${host} ${authorization}`);
      return { data: json({ token: `of-${host}` }) };
    }
    if (authorization === `Bearer of-auth.${host}`) return host === 'm1' ? { status: 404 } : plain(request);
    return { status: 401, headers: { 'www-authenticate': `Bearer realm="https://auth.${host}/token"` } };
  };
  const { layers } = await pullScripted({
    image: 'r.io/app:1',
    files: { 'r.io/hosts.toml': '[host."https://m1"]' },
    answer: guarded,
    auth: { username: 'me', password: 'secret' },
  });
  const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`;
  assert.deepEqual([layers.length, shown], [1, [`auth.m1 ${basic}`, `auth.r.io ${basic}`]]);
});

test('credentials with a server address are sent to no other server', async () => {
  const seen = new Set<string>();
  await pullScripted({
    image: 'r.io/app:1',
    files: { 'r.io/hosts.toml': '[host."https://m1"]' },
    auth: { username: 'me', password: 'secret', serverAddress: 'https://r.io' },
    answer: (request) => {
      if (authorizationOf(request)) seen.add(hostOf(request));
      else return { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
      return plain(request);
    },
  });
  assert.deepEqual([...seen], ['r.io']);
});

test('headers of a host are sent to it alone', async () => {
  const seen: string[] = [];
  await pullScripted({
    image: 'r.io/app:1',
    files: { 'r.io/hosts.toml': '[host."https://m1"]\n[host."https://m1".header]\nX-Key = "k"' },
    answer: (request) => {
      if (request.headers?.some(([name]) => name === 'X-Key')) seen.push(hostOf(request));
      if (hostOf(request) === 'm1') return { status: 307, headers: { location: `https://cdn${request.path}` } };
      return plain(request);
    },
  });
  assert.deepEqual(new Set(seen), new Set(['m1']));
});

test('TLS settings apply to the host, its redirects and its authorization server', async () => {
  const seen = new Map<string, unknown>();
  await pullScripted({
    image: 'r.io/app:1',
    files: { 'r.io/ca.crt': TEST_CERTIFICATE },
    answer: (request) => {
      seen.set(hostOf(request), request.tls);
      if (hostOf(request) === 'auth') return { data: json({ token: 'T' }) };
      return authorizationOf(request)
        ? plain(request)
        : { status: 401, headers: { 'www-authenticate': 'Bearer realm="https://auth/t"' } };
    },
  });
  const tls = { authorities: [TEST_CERTIFICATE] };
  assert.deepEqual(Object.fromEntries(seen), { 'r.io': tls, auth: tls });
});

test('a registry on this machine is tried with TLS first, once', async () => {
  const answer: ScriptedAnswer = (request) => {
    if (request.scheme === 'https') throw new NetworkError('EPROTO', 'wrong version number');
    return plain(request);
  };
  const { urls, progress } = await pullScripted({ image: 'localhost:5000/app:1', answer });
  assert.deepEqual(
    urls.map((url) => new URL(url).protocol),
    ['https:', 'http:', 'http:', 'http:'],
  );
  assert.equal(progress[0]?.kind === 'resolved' && progress[0].source, 'http://localhost:5000/v2');
  await assert.rejects(pullScripted({ image: 'localhost:5000/app:none', answer }), {
    message: /": http:\/\/localhost:5000\/v2\/app\/manifests\/none: status 404: MANIFEST_UNKNOWN: unknown$/,
  });
});

test('a registry that fell back to plain HTTP on port 443 is used there, with its credentials', async () => {
  const { urls, layers } = await pullScripted({
    image: 'r.io/app:1',
    files: { 'r.io/hosts.toml': 'server = "http://r.io:443"\nskip_verify = true' },
    auth: { username: 'me', password: 'secret' },
    answer: (request) => {
      if (request.scheme === 'https') throw new NetworkError('EPROTO', 'wrong version number');
      if (authorizationOf(request) === undefined) return { status: 401, headers: { 'www-authenticate': 'Basic' } };
      return plain(request);
    },
  });
  assert.deepEqual([layers.length, new Set(urls.slice(1).map((url) => new URL(url).host))], [1, new Set(['r.io:443'])]);
});

test('a registry on this machine is found at any of its addresses, with either scheme', async () => {
  const { layers } = await pullScripted({
    image: 'localhost:5000/app:1',
    addresses: { localhost: ['127.0.0.1', '::1'] },
    answer: (request) => {
      if (hostOf(request) === '::1') throw new NetworkError('ECONNREFUSED', 'connect ECONNREFUSED');
      if (request.scheme === 'https') throw new NetworkError('EPROTO', 'wrong version number');
      return plain(request);
    },
  });
  assert.deepEqual(layers, ['the bytes of a layer']);
});

test('the error of the registry decides about a retry, also if mirrors are tried after it', async () => {
  let count = 0;
  const { layers } = await pullScripted({
    image: 'r.io/app:1',
    files: { 'r.io/hosts.toml': '[host."https://m1"]' },
    answer: byHost({
      m1: () => {
        throw new NetworkError('ENOTFOUND', 'getaddrinfo ENOTFOUND m1');
      },
      'r.io': (request) => (request.path.includes(digestOf(LAYER)) && count++ === 0 ? { status: 503 } : plain(request)),
    }),
  });
  assert.deepEqual(layers, ['the bytes of a layer']);
});

test('a busy registry is retried after its Retry-After', async () => {
  let count = 0;
  const { layers, urls } = await pullScripted({
    image: 'r.io/app:1',
    answer: (request) => (count++ < 2 ? { status: 429, headers: { 'retry-after': '50' } } : plain(request)),
  });
  assert.deepEqual([layers.length, urls.length], [1, 5]);
});

const REASONS: Record<string, { readonly answer: ScriptedAnswer; readonly code: string; readonly message: RegExp }> = {
  'each host has its reason': {
    answer: byHost({ m1: away, m2: failWith(404), 'r.io': failWith(403) }),
    code: 'Unknown',
    message:
      /": https:\/\/m1\/v2: connect ECONNREFUSED; https:\/\/m2\/up\/v2\/app\/manifests\/1: status 404; https:\/\/r\.io\/v2\/app\/manifests\/1: status 403$/,
  },
  'no host has it': {
    answer: failWith(404),
    code: 'NotFound',
    message: /m1.*status 404; .*m2.*status 404; .*r\.io.*status 404$/,
  },
  'the registry has a long Retry-After': {
    answer: byHost({ m1: away, m2: away, 'r.io': () => ({ status: 429, headers: { 'retry-after': '3600' } }) }),
    code: 'Unknown',
    message: /status 429 \(retry after 3600 seconds\)$/,
  },
};

for (const [what, { answer, code, message }] of Object.entries(REASONS)) {
  test(`the error of a pull says that ${what}`, async () => {
    const pulled = pullScripted({ image: 'r.io/app:1', files: MIRRORED, answer });
    await assert.rejects(pulled, { name: 'CriError', code, message });
  });
}

test('an invalid hosts.toml fails the pull with its path and field', async () => {
  const pulled = pullScripted({ image: 'r.io/app:1', files: { 'r.io/hosts.toml': 'mirror = "x"' }, answer: plain });
  await assert.rejects(pulled, {
    message: /^failed to pull .*: \/certs\.d\/r\.io\/hosts\.toml: mirror: unknown field$/,
  });
});
