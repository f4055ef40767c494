import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aborted } from '../../../base/aborted.ts';
import type { AuthConfig } from '../../../cri/generated/runtime-v1.ts';
import { type HttpResponse, NetworkError } from '../../../host/network.ts';
import { digestOf } from '../../storage/digest.ts';
import {
  CONFIG,
  indexOf,
  json,
  LAYER,
  MANIFEST,
  type PullRecord,
  PullWorld,
  pullScripted,
  registryWith,
  type ScriptedAnswer,
} from './fake/scripted-pull.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const INDEX = indexOf(
  ['arm64', 'amd64'].map((architecture) => ({
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    digest: architecture === 'amd64' ? digestOf(MANIFEST) : digestOf('another'),
    size: MANIFEST.length,
    platform: { os: 'linux', architecture },
  })),
);

const plain = registryWith({ many: INDEX });

const addresses = {
  'named.example.com': ['192.0.2.7'],
  'two.example.com': ['192.0.2.8', '192.0.2.9'],
} as const;

const pull = (image: string, answer: ScriptedAnswer = plain, auth?: Partial<AuthConfig>): Promise<PullRecord> =>
  pullScripted({ image, answer, addresses, ...(auth && { auth }) });

test('pull() stores an image with its names, configuration and layers', async () => {
  const { image, layers, urls } = await pull('localhost:5000/app:1');
  assert.deepEqual(
    { references: image?.references, size: image?.sizeBytes, layers, urls },
    {
      references: ['localhost:5000/app:1', `localhost:5000/app@${digestOf(MANIFEST)}`],
      size: MANIFEST.length + CONFIG.length + LAYER.length,
      layers: ['the bytes of a layer'],
      urls: [
        'https://localhost:5000/v2/app/manifests/1',
        `https://localhost:5000/v2/app/blobs/${digestOf(CONFIG)}`,
        `https://localhost:5000/v2/app/blobs/${digestOf(LAYER)}`,
      ],
    },
  );
});

test('pull() connects to the address of a registry, with its name in the Host header', async () => {
  const hosts = new Set<string | undefined>();
  const { urls } = await pull('named.example.com:5000/app:1', (request) => {
    hosts.add(request.headers?.find(([name]) => name === 'Host')?.[1]);
    return plain(request);
  });
  assert.equal(urls[0], 'https://192.0.2.7:5000/v2/app/manifests/1');
  assert.deepEqual([...hosts], ['named.example.com:5000']);
});

test('pull() chooses the image of this machine from an index, and keeps the digest of the index', async () => {
  const { image } = await pull('example.com/app:many');
  assert.deepEqual(image?.references, ['example.com/app:many', `example.com/app@${digestOf(INDEX)}`]);
  assert.equal(image?.layers[0]?.digest, digestOf(LAYER));
});

test('pull() tries the next address of a registry if one does not respond', async () => {
  const { layers, urls } = await pull('two.example.com/app:1', (request) => {
    if ('host' in request.target && request.target.host === '192.0.2.8')
      throw new NetworkError('EHOSTUNREACH', 'no route');
    return plain(request);
  });
  assert.deepEqual(layers, ['the bytes of a layer']);
  assert.deepEqual(urls.slice(0, 2), [
    'https://192.0.2.8:443/v2/app/manifests/1',
    'https://192.0.2.9:443/v2/app/manifests/1',
  ]);
});

test('pull() exchanges an identity token for an access token', async () => {
  const forms: unknown[] = [];
  const { layers } = await pull(
    'example.com/app:1',
    (request) => {
      if (request.path === '/token') {
        assert.equal(
          request.headers?.some(([name]) => name === 'Authorization'),
          false,
        );
        forms.push([request.method, Object.fromEntries(new URLSearchParams(String(request.body)))]);
        return { data: json({ access_token: 'T' }) };
      }
      if (request.headers?.some(([name, value]) => name === 'Authorization' && value === 'Bearer T'))
        return plain(request);
      const challenge = 'Bearer realm="https://auth.example.com/token",service="s"';
      return { status: 401, headers: { 'www-authenticate': challenge } };
    },
    { identityToken: 'I' },
  );
  assert.deepEqual(layers, ['the bytes of a layer']);
  const form = { grant_type: 'refresh_token', refresh_token: 'I', client_id: 'nodelet', service: 's' };
  assert.deepEqual(forms, [['POST', { ...form, scope: 'repository:app:pull' }]]);
});

test('pull() answers a challenge with a token, once', async () => {
  const realm = 'https://auth.example.com/token';
  const { urls } = await pull(
    'example.com/app:1',
    (request) => {
      const authorization = request.headers?.find(([name]) => name === 'Authorization')?.[1];
      if (request.path.startsWith('/token')) {
        assert.equal(authorization, `Basic ${Buffer.from('me:secret').toString('base64')}`);
        return { data: json({ token: 'T' }) };
      }
      if (authorization === 'Bearer T') return plain(request);
      return { status: 401, headers: { 'www-authenticate': `Bearer realm="${realm}",service="s"` } };
    },
    { username: 'me', password: 'secret' },
  );
  assert.deepEqual(urls.slice(0, 3), [
    'https://example.com:443/v2/app/manifests/1',
    'https://auth.example.com:443/token?service=s&scope=repository%3Aapp%3Apull',
    'https://example.com:443/v2/app/manifests/1',
  ]);
  assert.equal(urls.filter((url) => url.includes('/token')).length, 1);
});

test('pull() does not send credentials in plain text after a redirect', async () => {
  await pull(
    'example.com/app:1',
    (request) => {
      const authorized = request.headers?.some(([name]) => name === 'Authorization') ?? false;
      assert.equal(authorized, request.scheme === 'https');
      const location = `http://example.com${request.path}`;
      return request.scheme === 'https' ? { status: 307, headers: { location } } : plain(request);
    },
    { registryToken: 'R' },
  );
});

test('pull() follows a redirect without sending credentials there', async () => {
  const { layers } = await pull(
    'example.com/app:1',
    (request) => {
      const isElsewhere = 'host' in request.target && request.target.host === 'cdn.example.net';
      const authorized = request.headers?.some(([name]) => name === 'Authorization') ?? false;
      assert.equal(authorized, !isElsewhere);
      if (isElsewhere) return { data: LAYER };
      const isLayer = request.path.endsWith(digestOf(LAYER));
      return isLayer ? { status: 307, headers: { location: 'https://cdn.example.net/x?y=1' } } : plain(request);
    },
    { registryToken: 'R' },
  );
  assert.deepEqual(layers, ['the bytes of a layer']);
});

for (const [what, status] of [
  ['continues', 206],
  ['starts again', 200],
] as const) {
  test(`pull() resumes a broken transfer if the registry ${what}`, async () => {
    let isBroken = false;
    const { layers } = await pull('example.com/app:1', (request) => {
      if (!request.path.endsWith(digestOf(LAYER))) return plain(request);
      const range = request.headers?.find(([name]) => name === 'Range')?.[1];
      if (!isBroken) {
        isBroken = true;
        const body = (async function* () {
          yield LAYER.subarray(0, 9);
          throw new NetworkError('ECONNRESET', 'cut off');
        })();
        return { body };
      }
      assert.equal(range, 'bytes=9-');
      return { status, data: status === 206 ? LAYER.subarray(9) : LAYER };
    });
    assert.deepEqual(layers, ['the bytes of a layer']);
  });
}

/** Sends some data, then nothing, and keeps the connection open. */
function silentAfter(data: Uint8Array, until: AbortSignal): Partial<HttpResponse> {
  const body = (async function* () {
    yield data;
    await aborted(until);
    throw until.reason;
  })();
  return { body };
}

test('pull() resumes a transfer after the idle time-out', async () => {
  let isFirst = true;
  const { layers } = await pull('example.com/app:1', (request, until) => {
    if (!request.path.endsWith(digestOf(LAYER))) return plain(request);
    if (!isFirst) return { status: 206, data: LAYER.subarray(9) };
    isFirst = false;
    return silentAfter(LAYER.subarray(0, 9), until);
  });
  assert.deepEqual(layers, ['the bytes of a layer']);
});

const rejected: Record<string, { image?: string; answer?: ScriptedAnswer; code: string; message: RegExp }> = {
  'a missing image': {
    image: 'example.com/app:none',
    code: 'NotFound',
    message:
      /^failed to pull image "example\.com\/app:none": .*\/v2\/app\/manifests\/none: status 404: MANIFEST_UNKNOWN: unknown$/,
  },
  'a registry that rejects the credentials': {
    answer: () => ({
      status: 401,
      headers: { 'www-authenticate': 'Basic realm="x"' },
      data: json({ errors: [{ code: 'UNAUTHORIZED', message: 'authentication required' }] }),
    }),
    code: 'Unknown',
    message: /status 401: UNAUTHORIZED: authentication required \(requested without a login\)$/,
  },
  'a manifest that does not match its digest': {
    image: `example.com/app@${digestOf('another')}`,
    answer: () => ({ data: MANIFEST }),
    code: 'Unknown',
    message: /manifest: has digest sha256:\w+, expected sha256:\w+$/,
  },
  'an index without an image for this machine': {
    answer: () => ({ data: bytes(new TextDecoder().decode(INDEX).replaceAll('amd64', 's390x')) }),
    code: 'Unknown',
    message: /no image for linux\/amd64, only for linux\/arm64, linux\/s390x$/,
  },
  'an unreachable registry': {
    answer: () => {
      throw new NetworkError('ECONNREFUSED', 'connect ECONNREFUSED');
    },
    code: 'Unknown',
    message: /ECONNREFUSED/,
  },
  'a registry that stops sending each time': {
    answer: (request, until) =>
      request.path.endsWith(digestOf(LAYER)) ? silentAfter(bytes(''), until) : plain(request),
    code: 'Unknown',
    message: /no data of sha256:\w+ received for 5 minutes$/,
  },
  'a registry that never sends the manifest': {
    answer: (_request, until) => silentAfter(bytes('{'), until),
    code: 'Unknown',
    message: /manifests\/1 was not received in 5 minutes$/,
  },
  'an invalid name': {
    image: 'UPPER',
    code: 'InvalidArgument',
    message: /^image\.image: couldn't parse image name/,
  },
  'a redirect loop': {
    answer: () => ({ status: 302, headers: { location: '/again' } }),
    code: 'Unknown',
    message: /redirected more than 10 times$/,
  },
};

for (const [what, { image = 'example.com/app:1', answer = plain, code, message }] of Object.entries(rejected)) {
  test(`pull() rejects ${what}`, async () => {
    await assert.rejects(pull(image, answer), { name: 'CriError', code, message });
  });
}

test('an aborted pull ends its requests and closes its connections', async () => {
  const began = Promise.withResolvers<AbortSignal>();
  const world = new PullWorld({
    answer: (request, until) => {
      if (!request.path.endsWith(digestOf(LAYER))) return plain(request);
      began.resolve(until);
      return silentAfter(LAYER.subarray(0, 9), until);
    },
  });
  const enough = new AbortController();
  const pulling = world.puller.pull('example.com/app:1', undefined, enough.signal);
  const until = await began.promise;
  assert.equal(world.openPools, 1);
  enough.abort(new Error('enough'));
  await assert.rejects(pulling, { message: 'enough' });
  assert.deepEqual([until.aborted, world.openPools, world.image], [true, 0, undefined]);
  assert.equal(world.host.clock.sleeping, 0);
});
