/** Proxies of the environment: which requests use them, and how. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HttpRequest, NetworkError } from '../../../host/network.ts';
import { digestOf } from '../../storage/digest.ts';
import { LAYER, pullScripted, registryWith, type ScriptedAnswer } from './fake/scripted-pull.ts';

const plain = registryWith();
const PROXY = 'http://me:secret@proxy:3128/';

function recorded(answer: ScriptedAnswer = plain) {
  const ways: string[] = [];
  const way = ({ target, proxy = 'directly' }: HttpRequest): string =>
    `${'host' in target ? target.host : ''} ${proxy}`;
  return {
    ways,
    answer: (request: HttpRequest, until: AbortSignal) => {
      ways.push(way(request));
      return answer(request, until);
    },
  };
}

test('requests go through the proxy, which resolves the name of the registry', async () => {
  const { ways, answer } = recorded();
  const addresses = { 'r.io': ['10.0.0.1'] } as const;
  const { layers } = await pullScripted({ image: 'r.io/app:1', answer, addresses, env: { HTTPS_PROXY: PROXY } });
  assert.deepEqual([layers.length, new Set(ways)], [1, new Set([`r.io ${PROXY}`])]);
});

test('a redirect target has a proxy decision of its own', async () => {
  const { ways, answer } = recorded((request) => {
    if ('host' in request.target && request.target.host === 'cdn.internal') return { data: LAYER };
    if (!request.path.includes(digestOf(LAYER))) return plain(request);
    return { status: 307, headers: { location: 'https://cdn.internal/x' } };
  });
  await pullScripted({ image: 'r.io/app:1', answer, env: { https_proxy: PROXY, no_proxy: '.internal' } });
  assert.deepEqual(ways.slice(-2), [`r.io ${PROXY}`, 'cdn.internal directly']);
});

test('a registry on this machine is contacted directly', async () => {
  const { ways, answer } = recorded();
  await pullScripted({ image: 'localhost:5000/app:1', answer, env: { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY } });
  assert.deepEqual(new Set(ways), new Set(['localhost directly']));
});

test('an unreachable proxy is named without its password', async () => {
  const answer = (): never => {
    throw new NetworkError('ECONNREFUSED', 'connect ECONNREFUSED 10.0.0.9:3128');
  };
  await assert.rejects(pullScripted({ image: 'r.io/app:1', answer, env: { HTTPS_PROXY: PROXY } }), {
    code: 'Unknown',
    message:
      'failed to pull image "r.io/app:1": https://r.io/v2: via proxy proxy:3128: connect ECONNREFUSED 10.0.0.9:3128',
  });
});

test('an unsupported proxy fails the pull with the name of its variable', async () => {
  const pulled = pullScripted({ image: 'r.io/app:1', answer: plain, env: { HTTPS_PROXY: 'socks5://proxy:1080' } });
  await assert.rejects(pulled, { message: /: HTTPS_PROXY: must be an address such as/ });
});
